#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Epoch safety of all schedules: STARTS starts with random delays on random ranks, data that change with every start, and
# buffers overwritten between wait and the next start. There are fewer starts with more data. The campaign (make epoch) has
# STARTS=20000; make check has few, with processes or threads and one kind of memory in turn.
set -u
. "$(dirname "$0")/../lib.sh"
STARTS=${STARTS:-1500}
KINDS=${KINDS:-processes threads}
LIMIT=${LIMIT:-600}
cd "$ROOT" || exit 1

soak() # NAME SCHEDULE OPTIONS...
{
	local name=$1 schedule=$2

	shift 2
	if timeout "$LIMIT" "$BUILD/bin/goalrun" -n "$(fitting "$schedule" "${RANKS:-3}")" --verify --delay 20 --warmup 0 --seed "${SEED:-7}" "$@" \
		"$schedule" >"$TMP/out" 2>&1; then
		ok "epoch.$name $(basename "$schedule" .goal) $*"
	else
		fail "epoch.$name $(basename "$schedule" .goal) $*: $(tail -n 3 "$TMP/out" | tr '\n' ' ')"
	fi
}

read -r -a all <<<"$KINDS"
few() { [ "$STARTS" -lt 10000 ]; }
# due MEMORY : true if this kind of memory has its turn; with many starts each has
due() { ! few || [ $((turn % 3)) = "$1" ]; }
turn=0
for s in schedules/*.goal; do
	turn=$((turn + 1))
	for kind in $(if few; then echo "${all[turn % ${#all[@]}]}"; else echo "$KINDS"; fi); do
		op=user
		grep -qE ' commutative( reproducible)?$' "$s" && op=max
		! due 0 && [[ $s != *barrier* ]] || soak "$kind" "$s" --ranks "$kind" --iters "$STARTS" --count 7 --op $op
		[[ $s != *barrier* ]] || continue # it has no data
		! due 1 || soak "$kind" "$s" --ranks "$kind" --iters $((STARTS / 4)) --count 700 --memory private
		! due 2 || soak "$kind" "$s" --ranks "$kind" --iters $((STARTS / 20)) --count 20000 --type int32 --memory staged
		! due 1 || soak "$kind" "$s" --ranks "$kind" --iters $((STARTS / 60)) --count 70000 --type int32 --memory private
	done
done
# Between two ranks that have a core each, messages up to 64 KiB go in smaller chunks, if they go one way only; and those of 6 to 8 KiB
# through a ring that is narrow at times.
for s in bcast_linear reduce_binomial scatter_linear; do
	RANKS=2 soak fine schedules/$s.goal --iters $((STARTS / 15)) --count 800,1000,1500,5000,8192 --memory private
done
# Messages that try two ways try them again after 64 epochs, and after 512.
for s in alltoall_linear bcast_linear; do
	RANKS=2 soak again schedules/$s.goal --iters $(few && echo 100 || echo 700) --count 9000,70000 --memory private
done
# Sends of the same bytes to three and more ranks share slots.
for s in bcast_linear allreduce_linear scan_linear; do
	for kind in $KINDS; do
		RANKS=5 soak multicast schedules/$s.goal --ranks "$kind" --iters $((STARTS / 3)) --count 8,200
	done
	RANKS=5 soak multicast.private schedules/$s.goal --iters $((STARTS / 30)) --count 700,5000,60000 --memory private
done
finish
