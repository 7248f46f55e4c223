#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Figures 5 to 8 of Y. Morie et al. (2017) on this machine: a persistent broadcast Trinaryx3 that command queues carry out,
# by the model of a network interface, beside the same one that the ranks' CPUs carry out and that is bound anew for each
# call. Writes smcq.txt, which says where it was measured, and smcq.svg, drawn from it, into OUT.
# Ranks sleep while they wait, unless GOAL_WAIT says otherwise: the model needs a core, too.
# From the environment: RANKS, SIZES (bytes), EACH (seconds for a size), SEGMENT (bytes), OUT.
set -u
. "$(dirname "$0")/lib.sh"
OUT=${OUT:-$BUILD/experiments}
RANKS=${RANKS:-12}
SIZES=${SIZES:-$(for k in $(seq 13 27); do echo $((1 << k)); done)}
EACH=${EACH:-4}
SEGMENT=${SEGMENT:-131072}
export GOAL_WAIT=${GOAL_WAIT:-block}
mkdir -p "$OUT" || exit 1
txt=$OUT/smcq.txt

# measure BYTES : a row of smcq_rank.c, and before it the segments of a third of the message
measure()
{
	local n=$((($1 / 3 + SEGMENT - 1) / SEGMENT))

	"$BUILD/bin/goalc" "$ROOT/schedules/bcast_trinaryx3.goal" -n "$RANKS" -D root=0 -D count="$1" -D segments=$n \
		-T lower-smcq:bytes=1 -o "$TMP/b.bin" 2>"$TMP/err" &&
		timeout "$LIMIT" "$GOALRUN" -n "$RANKS" --backend smcq --engine model -- "$BUILD/bench/smcq_rank" "$TMP/b.bin" "$1" \
			"$EACH" >"$TMP/row" 2>"$TMP/err" && [ -s "$TMP/row" ] || { head -n 1 "$TMP/err" >&2; return 1; }
	echo "$n $(cat "$TMP/row")"
}

printf '%9s %8s %6s %14s %14s %7s %10s %10s\n' bytes segments turns 'persistent us' 'rebuilt us' ratio 'init us' 'start us'
for bytes in $SIZES; do
	row=$(measure "$bytes") || continue
	echo "$row" >>"$TMP/rows"
	echo "$row" | awk '{ printf "%9d %8d %6d %14.1f %14.1f %7.2f %10.1f %10.2f\n", $2, $1, $3, $4, $5, $6, $7, $8 }'
done
[ -s "$TMP/rows" ] || exit 1

# plot TITLE NAME-OF-Y SCALE SERIES AWK-COLUMNS : one plot of the rows, over the logarithm of the size
plot()
{
	printf 'plot: %s\nx: log2 of the bytes\n%s: %s\nseries: %s\n' "$1" "$3" "$2" "$4"
	awk "{ print log(\$2) / log(2), $5 }" "$TMP/rows"
}
{
	echo "title: Trinaryx3 on $RANKS ranks: command queues, and CPUs"
	echo "# $(machine)"
	echo "# method: medians; persistent and rebuilt take turns, from when the first rank begins until the last has done"
	echo "# GOAL_WAIT=$GOAL_WAIT"
	echo "# segments of at most $SEGMENT bytes; columns: segments bytes turns persistent rebuilt ratio init start (us)"
	sed 's/^/# /' "$TMP/rows"
	plot 'Figure 5: execution time' 'time, us' 'log y' 'points persistent, points rebuilt for each call' '$4, $5'
	plot 'Figure 6: bandwidth' 'GB/s' 'log y' 'points persistent, points rebuilt for each call' '$2 / $4 / 1e3, $2 / $5 / 1e3'
	plot 'Figure 7: MPI_Bcast_init and MPI_Start' 'time, us' 'log y' 'points init, points start' '$7, $8'
	plot 'Figure 8: MPI_Start followed by MPI_Wait' 'time, us' 'log y' 'points start and wait, points start' '$4, $8'
} >"$txt"
"$BUILD/bench/plot" "$txt" >"$OUT/smcq.svg" && echo "$txt $OUT/smcq.svg"
