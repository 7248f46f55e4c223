#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Experiments of the papers on this machine: experiment.sh NAME..., or all of them. Each writes NAME.txt, which says
# where it was measured, and NAME.svg, drawn from it, into OUT.
#
#   iscan   Denis et al. (IJHPCA 2019), Figure 7: a chain scan with the placements bind, numa and odd-even
#   bcast   Figure 17: a binomial broadcast and a fixed amount of work on N ranks, with S = 0 ... 3 levels of the tree
#           left to the ranks, beside what the model chooses; and Figures 20 and 21: beside MPI libraries
#   reduce  Figures 18 to 21: the same for a binomial reduction
#   steals  Didelot et al. (2012), Figure 6: how often ranks that wait have made progress for others
#
# Ranks have a core each, and the other cores communicate, two of them for iscan. With fewer than four cores there is
# one that communicates, and ranks share the rest.
# From the environment: RANKS (a list), BYTES, ITERS, SPLITS, LIBRARIES, OUT.
set -u
. "$(dirname "$0")/lib.sh"
OUT=${OUT:-$BUILD/experiments}
ITERS=${ITERS:-15}
SPLITS=${SPLITS:-0 1 2 3}
LIBRARIES=${LIBRARIES-$(mpis | tr '\n' ' ')}
cores=${#CPUS[@]}
all=$(IFS=,; echo "${CPUS[*]}")
mkdir -p "$OUT" || exit 1
[ $cores -ge 2 ] || { echo "experiment.sh: this takes two cores" >&2; exit 1; }

# say TEXT... : a line of the result
say() { echo "$*" >>"$txt"; }
# head TITLE TEXT... : how the result begins
head_of()
{
	local title=$1

	shift
	printf 'title: %s\n' "$title" >"$txt"
	say "# $(machine)"
	say "# $*"
	[ $cores -ge 8 ] || say "# Fewer than 8 cores: what is to hold for 8 and more was not measured here."
}
# cell COLUMN COMMAND... : one column of what is measured (1 comm, 2 compute, 3 total) in ms, or "-" and why
cell()
{
	local column=$1

	shift
	if "$@" >"$TMP/new" 2>"$TMP/why" && mv "$TMP/new" "$TMP/row" && [ -s "$TMP/row" ]; then
		awk -v c="$column" '{ printf "%.4f\n", $c / 1000 }' "$TMP/row"
	else
		say "# $label: $(head -n 1 "$TMP/why")"
		rm -f "$TMP/row"
		echo -
	fi
}
draw() { "$BUILD/bench/plot" "$txt" >"$OUT/$name.svg" && echo "$txt ${txt%.txt}.svg"; }
# sizes MOST : numbers of ranks, some twenty at most, all of the last ones
sizes()
{
	if [ -n "${RANKS-}" ]; then echo "$RANKS"; else
		{ seq 2 $(($1 / 16 + 1)) "$1"; seq $(($1 > 5 ? $1 - 3 : 2)) "$1"; } | sort -nu; fi
}
# ratio A B : A / B, if there are both
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (a == "-" || b == "-") print "not measured"; else printf "%.2f\n", a / b }'; }

# ---- the chain ----

iscan()
{
	local bytes=${BYTES:-1048576} k=2 n memory placement v

	[ $cores -ge 4 ] || k=1
	head_of "chain scan, $bytes bytes" "method: goalrun(1), Overlap; ranks are processes; medians of $ITERS; cores that communicate, but for bind: $k. odd-even is to be at least 1.5 times as fast" \
		"as numa where send and receive both copy (staged), on 8 cores and more. On one core they are the same."
	for memory in staged heap; do
		say "plot: $([ $memory = staged ] && echo 'staged: sender and receiver copy' || echo 'direct: one copy')"
		say "x: ranks"
		say "y: communication, ms"
		say "series: points bind, points numa, points odd-even"
		for n in $(sizes $((cores >= 4 ? cores - k : 8))); do
			label="$n ranks, $memory"
			v=()
			for placement in bind numa odd-even; do
				v+=("$(cell 1 overlap "$all" -n "$n" --progress thread --placement $placement \
					$([ $placement = bind ] || echo --comm-cores $k) --memory $memory --iters "$ITERS" \
					--count $((bytes / 8)) "$ROOT/schedules/scan_chain.goal")")
			done
			say "$n ${v[*]}"
			say "# $n ranks, $memory: numa / odd-even: $(ratio "${v[1]}" "${v[2]}")"
		done
	done
	draw
}

# ---- trees ----

# tree COLLECTIVE : computing and communicating, a fixed amount of work in all
tree()
{
	local bytes=${BYTES:-2097152} work n s own comm free args v best mpi
	local schedule=$ROOT/schedules/$1_binomial.goal

	read -r work _ < <(overlap "$all" -n "$cores" --progress app --placement bind --iters "$ITERS" \
		--count $((bytes / 8)) "$schedule")
	work=$(awk -v c="$work" -v n="$cores" 'BEGIN { printf "%.0f\n", c * n + 1 }')
	head_of "$1, $bytes bytes, and $work us of work" "method: goalrun(1), Overlap; ranks are processes; medians of" \
		"$ITERS. The work is that of one core, divided by the ranks: together on all" \
		"$cores cores it takes as long as the communication alone. The model's S is to take at most 1.1 times as long as" \
		"the best one, on 8 cores and more."
	: >"$TMP/left" && : >"$TMP/right"
	for n in $(sizes $((cores >= 4 ? cores - 1 : 8))); do
		if [ "$n" -lt "$cores" ]; then free=$((cores - n)); else free=1; fi
		own=$(IFS=,; echo "${CPUS[*]:0:$((cores - free))}")
		comm=$(IFS=,; echo "${CPUS[*]:$((cores - free))}")
		args="-n $n --placement numa --comm-cores $free --work $work --iters $ITERS --count $((bytes / 8)) $schedule"
		label="$n ranks"
		v=()
		for s in $SPLITS auto; do
			# shellcheck disable=SC2086
			v+=("$(cell 3 overlap "$all" --progress thread -T "split-tree:S=$s,cores=$((n + free))" $args)")
		done
		best=$(printf '%s\n' "${v[@]:0:$((${#v[@]} - 1))}" | grep -v '^-$' | sort -n | head -n 1)
		say "# $n ranks, $free cores that communicate: model's S / best S: $(ratio "${v[-1]}" "${best:--}")"
		# shellcheck disable=SC2086
		v+=("$(cell 3 overlap "$all" --progress app $args)")
		v+=("$(cell 2 cat "$TMP/row")") # of the same run
		echo "$n ${v[*]}" >>"$TMP/left"
		v=("${v[-3]}" "${v[-2]}")
		for mpi in $LIBRARIES; do
			for kind in nonblocking persistent; do
				v+=("$(cell 3 overlap_mpi "$mpi" "$own" "$comm" "$n" "$1" $kind "$bytes" "$ITERS" 0 "$work")")
			done
		done
		[[ " $LIBRARIES " != *' mpich '* ]] || v+=("$(MPICH_ASYNC_PROGRESS=1 \
			cell 3 overlap_mpi mpich "$own" "$comm" "$n" "$1" nonblocking "$bytes" "$ITERS" 0 "$work")")
		echo "$n ${v[*]}" >>"$TMP/right"
	done
	say "plot: levels of the tree left to the ranks"
	say "x: ranks"
	say "y: computing and communicating, ms"
	say "series: $(for s in $SPLITS; do printf 'points S = %s, ' "$s"; done)line the model's S, dashes own threads, dots computing alone"
	cat "$TMP/left" >>"$txt"
	say "plot: libraries"
	say "x: ranks"
	say "log y: computing and communicating, ms"
	say "series: line the model's S, dashes own threads$(for mpi in $LIBRARIES; do
		printf ', points %s nonblocking, points %s persistent' "$mpi" "$mpi"; done)$(
		[[ " $LIBRARIES " != *' mpich '* ]] || printf ', points mpich asynchronous')"
	cat "$TMP/right" >>"$txt"
	draw
}
bcast() { tree bcast; }
reduce() { tree reduce; }

# ---- collaborative polling ----

# Ranks dawdle at random, so that others wait for them.
steals()
{
	local n=${RANKS:-8} bytes=${BYTES:-65536}

	n=${n##* }
	head_of "steals of $n ranks: a binomial reduction of $bytes bytes" "$((ITERS * 20)) starts, in which ranks pause at random, for up to" \
		"300 us, between start and wait as well; the others wait for them."
	say "plot: made progress for another rank"
	say "x: rank"
	say "y: times"
	say "series: bars own NUMA node, bars other NUMA nodes"
	say "names: $(seq -s ', ' 0 $((n - 1)))"
	timeout "$LIMIT" "$GOALRUN" -n "$n" --progress collab --delay 300 --iters $((ITERS * 20)) --count $((bytes / 8)) --json \
		"$ROOT/schedules/reduce_binomial.goal" >"$TMP/json" || return 1
	tr '{' '\n' <"$TMP/json" | sed -n 's/.*"rank": \([0-9]*\), "local": \([0-9]*\), "remote": \([0-9]*\).*/\1 \2 \3/p' >>"$txt"
	draw
}

[ $# -gt 0 ] || set -- iscan bcast reduce steals
for name in "$@"; do
	case $name in
	iscan | bcast | reduce | steals) ;;
	*) echo "experiment.sh: there is no experiment $name" >&2; exit 2 ;;
	esac
done
for name in "$@"; do
	txt=$OUT/$name.txt
	$name || exit 1
done
