#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs bcast_trinaryx3 on the emulator of the network interface: tori, random orders of packets, every byte of every start
# checked. SHAPES, ORDERS and STARTS select how much is run.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1
SHAPES=${SHAPES:-2,2,2 3,2,2 4,3,3}
ORDERS=${ORDERS:-4}
STARTS=${STARTS:-100}

for shape in $SHAPES; do
	p=$((${shape//,/*})) right=0
	for seed in $(seq "$ORDERS"); do
		# Elements and segments change, so that fragments are not all of one size.
		args=(-D shape="$shape" -D segments=$((2 + seed % 5)) --count $((50 + 37 * seed)) --root $((seed * 5 % p)))
		[ $((seed % 2)) -eq 0 ] || args+=(--memory private)
		if timeout 300 "$BUILD/bin/goalrun" --backend smcq -n $p --seed "$seed" --verify --warmup 0 --iters "$STARTS" "${args[@]}" \
			schedules/bcast_trinaryx3.goal >"$TMP/out" 2>"$TMP/err" && grep -q '^verified' "$TMP/out"; then
			right=$((right + 1))
		else
			tail -n 2 "$TMP/err"
		fi
	done
	check "offload.$shape $right orders of $ORDERS, $STARTS starts each" [ $right -eq "$ORDERS" ]
	goalc --verify schedules/bcast_trinaryx3.goal -n $p -D shape="$shape" -T lower-smcq >"$TMP/out" 2>&1
	check "offload.proved $shape $(head -n 1 "$TMP/out")" grep -q ': it does what MPI_Bcast does' "$TMP/out"
done
finish
