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

# measure BYTES : segments of a third of the message, and a row of smcq_rank.c: bytes, turns, and as median:low:high the times
# in us of persistent and rebuilt, their ratio, and the times of start and init
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
	echo "$row" | awk '{ printf "%9d %8d %6d %14.1f %14.1f %7.2f %10.1f %10.2f\n", $2, $1, $3, $4, $5, $6, $8, $7 }'
done
[ -s "$TMP/rows" ] || exit 1

# plot TITLE AXIS-Y SERIES AWK-COLUMNS [MEANING...] : one plot of the rows, over the size
plot()
{
	printf 'plot: %s\nlog2 x: message [bytes]\nlog y: %s\nseries: %s\n' "$1" "$2" "$3"
	[ $# -lt 5 ] || printf 'meaning: %s\n' "${@:5}"
	awk "function rate(t, v) { split(t, v, \":\"); return \$2 / v[1] / 1e3 \":\" \$2 / v[3] / 1e3 \":\" \$2 / v[2] / 1e3 }
		{ print \$2, $4 }" "$TMP/rows"
}
queues='persistent: on command queues, bound once; time of start and wait'
cpus="rebuilt: on the ranks' CPUs, bound again for each call; time of init, start, wait and free"
start='start: MPIX_Sched_start, which posts the queues'
{
	echo "title: Broadcast Trinaryx3 on $RANKS ranks: command queues by an emulated network interface, and CPUs"
	machine
	echo "runs: one launch for each size; a point is the median of $(awk '{ print $3 }' "$TMP/rows" | sort -n |
		sed -n '1p;$p' | uniq | paste -sd- | sed 's/-/ to /') turns (of 3 for init), its bar goes from the 10th to the 90th percentile"
	echo "note: persistent and rebuilt take turns. A time lasts from the moment when the first rank begins until the last one is done." \
		"Segments have at most $(bytes_of "$SEGMENT"); GOAL_WAIT=$GOAL_WAIT. Figures as numbered by Morie et al. (2017)."
	echo "# columns: segments bytes turns persistent rebuilt ratio start init (us)"
	sed 's/^/# /' "$TMP/rows"
	plot 'Figure 5: execution time' 'time [us]' 'points persistent, points rebuilt' '$4, $5' "$queues" "$cpus"
	plot 'Figure 6: bandwidth' 'bytes of the message per second [GB/s]' 'points persistent, points rebuilt' 'rate($4), rate($5)' \
		"$queues" "$cpus"
	plot 'Figure 7: init and start' 'time [us]' 'points init, points start' '$8, $7' \
		'init: MPIX_Sched_init, which binds' "$start"
	plot 'Figure 8: start, and start with wait' 'time [us]' 'points start and wait, points start' '$4, $7' \
		'start and wait: until the broadcast is done' "$start"
} >"$txt"
"$BUILD/bench/plot" "$txt" >"$OUT/smcq.svg" && echo "$txt $OUT/smcq.svg"
