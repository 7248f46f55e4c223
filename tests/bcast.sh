#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# bcast_binomial, every byte checked: ranks 1-9, 13, 16 as processes and threads, every root, counts, types,
# heap, private and staged memory. One launch sweeps many cases.
set -u
. "$(dirname "$0")/lib.sh"
SIZES=${SIZES:-1 2 3 4 5 6 7 8 9 13 16}
KINDS=${KINDS:-processes threads}
MEMORY=${MEMORY:-heap,private,staged}

"$GOALC" "$ROOT/schedules/bcast_binomial.goal" -o "$TMP/b.bin"
size=$(stat -c %s "$TMP/b.bin")
check "bcast.size $size bytes" [ "$size" -lt 4096 ]

sweep() # NAME RANKS OPTIONS...
{
	local name=$1 n=$2

	shift 2
	if timeout 300 "$BUILD/bin/goalrun" -n "$n" --verify --memory "$MEMORY" "$@" "$TMP/b.bin" >"$TMP/out" 2>&1; then
		ok "bcast.$name $n: $(tail -n 1 "$TMP/out")"
	else
		fail "bcast.$name $n: $(tail -n 2 "$TMP/out" | tr '\n' ' ')"
	fi
}

for kind in $KINDS; do
	for n in $SIZES; do
		sweep "$kind" "$n" --ranks "$kind" --root all --count 0,1,7,1000 --type int32,double,uint8 \
			--iters 4 --warmup 1
		[ "$n" -le 4 ] || continue
		sweep "large.$kind" "$n" --ranks "$kind" --root all --count 1048576 --type int32,double,uint8 \
			--iters 2 --warmup 1
	done
done
# A concrete binary, with and without a fixed count.
"$GOALC" "$ROOT/schedules/bcast_binomial.goal" -n 5 -o "$TMP/b.bin"
sweep concrete 5 --root all --count 0,7,1000 --iters 4 --warmup 1
"$GOALC" "$ROOT/schedules/bcast_binomial.goal" -n 5 -D count=33 -D root=2 -o "$TMP/b.bin"
sweep fixed 5 --iters 4 --warmup 1
# The text is compiled in process.
cp "$ROOT/schedules/bcast_binomial.goal" "$TMP/b.bin"
sweep text 3 --iters 4 -D root=1 -D count=5 -T reduce-deps
finish
