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
#   predict goalsim with the parameters of goalrun --calibrate: simulated and measured time of schedules at 2 ranks, and by how much
#           they differ. SCHEDULES (names), SIZES (bytes of a block) and PARAMS (a file, instead of measuring) in the environment
#
# Ranks have a core each, and the other cores communicate, two of them for iscan. With fewer than four cores there is
# one that communicates, and ranks share the rest.
# Each value is measured in several launches; the picture has their median, and a bar from the lowest to the highest.
# From the environment: RANKS (a list), BYTES, ITERS, RUNS (launches), SPLITS, LIBRARIES, OUT.
set -u
. "$(dirname "$0")/lib.sh"
OUT=${OUT:-$BUILD/experiments}
ITERS=${ITERS:-15}
RUNS=${RUNS:-5}
SPLITS=${SPLITS:-0 1 2 3}
LIBRARIES=${LIBRARIES-$(mpis | tr '\n' ' ')}
cores=${#CPUS[@]}
all=$(IFS=,; echo "${CPUS[*]}")
mkdir -p "$OUT" || exit 1
[ $cores -ge 2 ] || { echo "experiment.sh: this takes two cores" >&2; exit 1; }

# say TEXT... : a line of the result
say() { echo "$*" >>"$txt"; }
# head_of TITLE RUNS EXPECTED TEXT... : how the result begins; EXPECTED is what is to hold on 8 cores and more, or nothing
head_of()
{
	local title=$1 runs=$2 expected=$3

	shift 3
	printf 'title: %s\n' "$title" >"$txt"
	say "$(machine)"
	say "runs: $runs"
	say "note: $*"
	[ -z "$expected" ] || say "# On 8 cores and more $expected.$([ $cores -ge 8 ] || echo ' Fewer were measured here.')"
}
medians="a point is the median of $RUNS launches, its bar goes from the lowest to the highest; a launch gives the median of $ITERS starts"
# cell COLUMN COMMAND... : one column of what is measured (1 comm, 2 compute, 3 total) in ms with its spread, or "-" and why
cell()
{
	local column=$1 k

	shift
	: >"$TMP/rows"
	for ((k = 0; k < RUNS; k++)); do
		"$@" >"$TMP/new" 2>"$TMP/why" && [ -s "$TMP/new" ] || {
			say "# $label: $(head -n 1 "$TMP/why")"
			: >"$TMP/rows"
			break
		}
		cat "$TMP/new" >>"$TMP/rows"
	done
	column "$column"
}
# column N : that column of the last cell
column() { awk -v c="$1" '{ printf "%.4f\n", $c / 1000 }' "$TMP/rows" | spread; }
draw() { "$BUILD/bench/plot" "$txt" >"$OUT/$name.svg" && echo "$txt ${txt%.txt}.svg"; }
# sizes MOST : numbers of ranks, some twenty at most, all of the last ones
sizes()
{
	if [ -n "${RANKS-}" ]; then echo "$RANKS"; else
		{ seq 2 $(($1 / 16 + 1)) "$1"; seq $(($1 > 5 ? $1 - 3 : 2)) "$1"; } | sort -nu; fi
}
# ratio A B : A / B of the medians, if there are both
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (a == "-" || b == "-") print "not measured"; else printf "%.2f\n", a / b }'; }

# ---- the chain ----

iscan()
{
	local bytes=${BYTES:-1048576} k=2 n memory placement v

	[ $cores -ge 4 ] || k=1
	head_of "Scan of $(bytes_of "$bytes") on a chain, with three placements of communication threads" "$medians" \
		"odd-even is to be at least 1.5 times as fast as numa where sender and receiver both copy" \
		"goalrun --overlap; ranks are processes. $([ $k -eq 1 ] && echo 'One core communicates for all ranks with numa and with odd-even,' \
			'so that these two are the same placement.' || echo "$k cores communicate for all ranks with numa and with odd-even.")"
	for memory in staged heap; do
		say "plot: $([ $memory = staged ] && echo 'staged: sender and receiver copy' || echo 'direct: one copy')"
		say "x: ranks"
		say "log y: time of the communication [ms]"
		say "series: points bind, points numa, points odd-even"
		say "meaning: bind: each rank's thread communicates on the rank's core"
		say "meaning: numa: threads communicate on the free cores of the rank's NUMA node"
		say "meaning: odd-even: as numa, ranks with even and with odd numbers on different cores"
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

# meanings : of the words that both plots have in their legends
meanings()
{
	say "meaning: model's S: as many levels as the cost model chooses"
	say "meaning: own threads: goalsched, with a tree that is not split, and progress only in test and wait"
}
# tree COLLECTIVE : computing and communicating, a fixed amount of work in all
tree()
{
	local bytes=${BYTES:-2097152} work n s own comm free args v best mpi
	local schedule=$ROOT/schedules/$1_binomial.goal

	read -r work _ < <(overlap "$all" -n "$cores" --progress app --placement bind --iters "$ITERS" \
		--count $((bytes / 8)) "$schedule")
	work=$(awk -v c="$work" -v n="$cores" 'BEGIN { printf "%.0f\n", c * n + 1 }')
	head_of "Binomial $1 of $(bytes_of "$bytes"), overlapped with $work µs of work" "$medians" \
		"the model's S is to take at most 1.1 times as long as the best one" \
		"goalrun --overlap; ranks are processes. The work is that of one core, divided by the ranks: on all" \
		"$cores cores it takes as long as the communication alone."
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
		v+=("$(column 2)") # of the same launches
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
	say "plot: goalsched: S levels of the tree left to the ranks"
	say "x: ranks"
	say "log y: computing and communicating [ms]"
	say "series: $(for s in $SPLITS; do printf 'points S = %s, ' "$s"; done)line model's S, dashes own threads, dots computing alone"
	meanings
	say "meaning: computing alone: without any communication"
	cat "$TMP/left" >>"$txt"
	say "plot: goalsched and MPI libraries"
	say "x: ranks"
	say "log y: computing and communicating [ms]"
	say "series: line model's S, dashes own threads$(for mpi in $LIBRARIES; do
		printf ', points %s nonblocking, points %s persistent' "$mpi" "$mpi"; done)$(
		[[ " $LIBRARIES " != *' mpich '* ]] || printf ', points mpich asynchronous')"
	meanings
	[[ " $LIBRARIES " != *' mpich '* ]] || say "meaning: mpich asynchronous: nonblocking, with MPICH_ASYNC_PROGRESS=1"
	cat "$TMP/right" >>"$txt"
	draw
}
bcast() { tree bcast; }
reduce() { tree reduce; }

# ---- collaborative polling ----

# has_others : whether there are other NUMA nodes, for whose ranks progress can be made
has_others() { awk '$3 { other = 1 } END { exit !other }' "$TMP/steals"; }
# of_rank COLUMN : that column of the lines of rank $r, with its spread
of_rank() { awk -v r="$r" -v c="$1" '$1 == r { print $c }' "$TMP/steals" | spread; }
# Ranks dawdle at random, so that others wait for them.
steals()
{
	local n=${RANKS:-8} bytes=${BYTES:-65536} k r

	n=${n##* }
	head_of "How often ranks that wait make progress for others: binomial reduction of $(bytes_of "$bytes") on $n ranks" \
		"a bar is the median of $RUNS launches of $((ITERS * 20)) starts, its line goes from the lowest to the highest" "" \
		"Ranks pause at random, for up to 300 µs, before start and between start and wait; the others wait for them."
	say "plot: progress made for another rank"
	say "x: rank that waits"
	say "y: times in $((ITERS * 20)) starts"
	for ((k = 0; k < RUNS; k++)); do
		timeout "$LIMIT" "$GOALRUN" -n "$n" --progress collab --delay 300 --iters $((ITERS * 20)) --count $((bytes / 8)) --json \
			"$ROOT/schedules/reduce_binomial.goal" >"$TMP/json" || return 1
		tr '{' '\n' <"$TMP/json" | sed -n 's/.*"rank": \([0-9]*\), "local": \([0-9]*\), "remote": \([0-9]*\).*/\1 \2 \3/p'
	done >"$TMP/steals"
	say "series: bars own node$(! has_others || echo ', bars other nodes')"
	say "meaning: own node: for a rank of the same NUMA node"
	! has_others || say "meaning: other nodes: for a rank of another NUMA node"
	say "names: $(seq -s ', ' 0 $((n - 1)))"
	for ((r = 0; r < n; r++)); do
		say "$r $(of_rank 2)$(! has_others || echo " $(of_rank 3)")"
	done
	draw
}

# ---- prediction ----

# measured_times SCHEDULE : a line "BYTES US" for each of $SIZES, by goalrun
measured_times()
{
	local counts=

	for bytes in $SIZES; do counts=$counts,$((bytes / 8)); done
	timeout "$LIMIT" taskset -c "$all" "$GOALRUN" -n 2 --placement bind --type double --count "${counts#,}" --iters $((ITERS * 20)) \
		"$ROOT/schedules/$1.goal" | awk '$2 == "double" { print 8 * $1, $6 }'
}
# parameters SCHEDULE : those with which it is simulated, in $TMP/SCHEDULE.params. They are measured anew for each, because on a virtual
# machine two CPUs are threads of one core for some seconds, and cores of their own in others.
parameters()
{
	if [ -n "${PARAMS-}" ]; then cp "$PARAMS" "$TMP/$1.params"; else
		timeout "$LIMIT" taskset -c "$all" "$GOALRUN" -n 2 --placement bind --calibrate >"$TMP/$1.params"; fi
}
# simulated_time SCHEDULE BYTES : in us, by goalsim
simulated_time()
{
	"$BUILD/bin/goalsim" -n 2 --params "$TMP/$1.params" --type double --count $(($2 / 8)) "$ROOT/schedules/$1.goal" |
		awk '$1 == "end" { print $2 / 1000 }'
}
# Each schedule is a curve of its sizes, on the diagonal if it takes what is simulated.
predict()
{
	local s bytes us i=0 errors median

	SIZES=${SIZES:-8 64 512 4096 32768 262144 1048576}
	SCHEDULES=${SCHEDULES:-bcast_binomial reduce_binomial allreduce_recursive_doubling allreduce_ring allreduce_reduce_bcast
		allgather_ring alltoall_pairwise gather_binomial scatter_binomial scan_chain exscan_chain reduce_scatter_block_ring}
	for s in $SCHEDULES; do
		parameters "$s" || return
		measured_times "$s" | while read -r bytes us; do echo "$s $bytes $us $(simulated_time "$s" "$bytes")"; done
	done >"$TMP/times"
	errors='{ d = $4 - $3; print 100 * (d < 0 ? -d : d) / $3 }'
	median=$(awk "$errors" "$TMP/times" | sort -g | awk '{ v[NR] = $1 } END { if (NR) printf "%.0f", v[int((NR + 1) / 2)] }')
	[ -n "$median" ] || { echo "experiment.sh: no schedule has been measured" >&2; return 1; }
	head_of "Simulated and measured time of schedules, 2 ranks" "a measured time is the median of $((ITERS * 20)) starts of one launch" "" \
		"For each schedule goalrun --calibrate, goalrun, then goalsim --params. Median of the relative errors: $median %."
	say "note: parameters of the first, in ns, those but L, o, g and start for a byte; S in bytes: $(grep -v '^#' "$TMP/${SCHEDULES%% *}.params" | paste -sd',' | sed 's/,/, /g')"
	say "plot: each schedule with blocks of $(bytes_of "${SIZES%% *}") to $(bytes_of "${SIZES##* }")"
	say "log x: measured [us]"
	say "log y: simulated [us]"
	say "series: dashes equal$(for s in $SCHEDULES; do printf ', points %s' "$s"; done)"
	awk '{ print $3 }' "$TMP/times" | sort -g | sed -n '1p; $p' | while read -r us; do
		echo "$us $us$(for s in $SCHEDULES; do printf ' -'; done)"
	done >>"$txt"
	for s in $SCHEDULES; do
		i=$((i + 1))
		awk -v name="$s" -v at=$i -v n="$(wc -w <<<"$SCHEDULES")" '$1 == name {
			printf "%s -", $3
			for (k = 1; k <= n; k++) printf " %s", k == at ? $4 : "-"
			print ""
		}' "$TMP/times" | sort -g >>"$txt"
	done
	say "plot: by how much they differ, over all schedules"
	say "log2 x: size of a block [bytes]"
	say "y: relative error, %"
	say "series: points median, dots 25 %"
	say "meaning: median: of the schedules; its bar goes from the smallest error to the largest"
	say "meaning: 25 %: the error that is aimed at"
	for bytes in $SIZES; do
		say "$bytes $(awk -v b="$bytes" '$2 == b' "$TMP/times" | awk "$errors" | spread) 25"
	done
	awk '{ printf "# %-32s %9d bytes: measured %10.2f us, simulated %10.2f us, %6.1f %%\n", $1, $2, $3, $4, 100 * ($4 / $3 - 1) }' \
		"$TMP/times" >>"$txt"
	say "# median of the relative errors: $median %"
	draw
}

[ $# -gt 0 ] || set -- iscan bcast reduce steals predict
for name in "$@"; do
	case $name in
	iscan | bcast | reduce | steals | predict) ;;
	*) echo "experiment.sh: there is no experiment $name" >&2; exit 2 ;;
	esac
done
for name in "$@"; do
	txt=$OUT/$name.txt
	$name || exit 1
done
