#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Epoch safety: STARTS starts with random delays on random ranks, data that changes with every start, and
# buffers overwritten between wait and the next start. The campaign (make epoch) has 100000 each.
set -u
. "$(dirname "$0")/lib.sh"
STARTS=${STARTS:-20000}
KINDS=${KINDS:-processes threads}
LIMIT=${LIMIT:-600}
"$GOALC" "$ROOT/schedules/bcast_binomial.goal" -o "$TMP/b.bin"

soak() # NAME OPTIONS...
{
	local name=$1

	shift
	if timeout "$LIMIT" "$BUILD/bin/goalrun" -n 3 --verify --delay 20 --warmup 0 --seed "${SEED:-7}" "$@" "$TMP/b.bin" \
		>"$TMP/out" 2>&1; then
		ok "epoch.$name $*"
	else
		fail "epoch.$name $*: $(tail -n 3 "$TMP/out" | tr '\n' ' ')"
	fi
}

for kind in $KINDS; do
	soak "$kind" --ranks "$kind" --iters "$STARTS" --count 7
	soak "$kind" --ranks "$kind" --iters "$STARTS" --count 700 --memory private
	soak "$kind" --ranks "$kind" --iters $((STARTS / 4)) --count 20000 --type int32 --memory staged
done
finish
