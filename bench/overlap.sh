#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The overlap of five collectives, the library's beside those of MPI libraries, measured in one way (goalrun(1),
# Overlap). Ranks share one core, and one communicates; then, without any that does, ranks with a core each.
# From the environment: COLLECTIVES, SIZES (bytes of a block), RANKS, ITERS, TESTS, RUNS (launches of each row), LAYOUTS, LIBRARIES.
set -u
. "$(dirname "$0")/lib.sh"
COLLECTIVES=${COLLECTIVES:-bcast reduce allreduce gather scatter}
SIZES=${SIZES:-1048576 16777216}
RANKS=${RANKS:-2}
ITERS=${ITERS:-25}
TESTS=${TESTS:-0}
RUNS=${RUNS:-5}
LAYOUTS=${LAYOUTS:-shared apart}
LIBRARIES=${LIBRARIES-$(mpis | tr '\n' ' ')}
[ ${#CPUS[@]} -ge 2 ] || { echo "overlap.sh: this takes two cores" >&2; exit 1; }
core=${CPUS[0]} comm=${CPUS[1]}

# bar : the least overlap with a core that communicates, %
bar() { if [ "$bytes" -ge 16777216 ]; then echo 90; elif [ "$bytes" -ge 1048576 ]; then echo 80; else echo -; fi; }
# row WHO BAR COMMAND... : what it measures, or why it does not: of several launches that with the median overlap
row()
{
	local who=$1 least=$2 c w t o run

	shift 2
	printf '%-10s %9d  %-36s' "$what" "$bytes" "$who"
	for ((run = 0; run < RUNS; run++)); do "$@" || break; done >"$TMP/rows" 2>"$TMP/why"
	if [ "$(wc -l <"$TMP/rows")" -eq "$RUNS" ]; then
		read -r c w t o < <(sort -gk4,4 "$TMP/rows" | sed -n "$(((RUNS + 1) / 2))p")
		awk -v c="$c" -v w="$w" -v t="$t" -v o="$o" -v bar="$least" \
			'BEGIN { printf " %10.1f %10.1f %10.1f %9.1f %5s\n", c, w, t, 100 * o, bar }'
	else
		echo " none: $(head -n 1 "$TMP/why")"
	fi
}
# ours CPU-LIST OPTIONS...
ours()
{
	local cpus=$1

	shift
	overlap "$cpus" -n "$RANKS" --select "MPI_${what^}" --type double --count $((bytes / 8)) --iters "$ITERS" \
		--tests "$TESTS" "$@"
}
# peer LIBRARY CPU-LIST COMM-CPU KIND
peer() { overlap_mpi "$1" "$2" "$3" "$RANKS" "$what" "$4" "$bytes" "$ITERS" "$TESTS" 0; }
# async KIND : MPICH's threads for progress
async() { MPICH_ASYNC_PROGRESS=1 peer mpich "$core" "$comm" "$1"; }

# Ranks share a core.
shared()
{
	local mpi kind

	row 'ours, core that communicates' "$(bar)" ours "$core,$comm" --progress thread --placement numa --comm-cores 1
	row 'ours, own threads' - ours "$core,$comm" --progress app --placement numa --comm-cores 1
	for mpi in $LIBRARIES; do
		for kind in blocking nonblocking persistent; do row "$mpi, $kind" - peer "$mpi" "$core" "$comm" $kind; done
	done
	[[ " $LIBRARIES " != *' mpich '* ]] ||
		for kind in nonblocking persistent; do row "mpich, $kind, asynchronous progress" - async $kind; done
}
# They have a core each, and none communicates.
apart()
{
	local mpi kind

	row 'ours, own threads' - ours "$core,$comm" --progress app --placement bind
	for mpi in $LIBRARIES; do
		for kind in blocking nonblocking persistent; do row "$mpi, $kind" - peer "$mpi" "$core,$comm" "$comm" $kind; done
	done
}

machine
cat <<END
method: goalrun(1), Overlap; $RANKS ranks are processes, rank 0 is the root; medians of $ITERS; of $RUNS launches that with the median
overlap; $TESTS calls of test in the work; the library's buffers are in its shared heap, those of MPI in private memory; threads
that MPI makes run on the core that communicates. Open MPI yields (mpi_yield_when_idle); MPICH does not: where ranks share a
core, its times are those of time slices, and what it hides is that one rank waits until the other has had its own. MPICH's
asynchronous progress is MPICH_ASYNC_PROGRESS=1; Open MPI 4.1 has none in shared memory. Persistent collectives are MPI 4.0's in
MPICH and the extension MPIX_*_init in Open MPI. MPICH gathers and scatters by its algorithm tsp_tree: with its default a
persistent one gives wrong results from the second start on.
END
for layout in $LAYOUTS; do
	case $layout in
	shared) printf '\nranks share core %s, and core %s communicates\n' "$core" "$comm" ;;
	*) printf '\nranks are on cores %s and %s in turns, and no other communicates\n' "$core" "$comm" ;;
	esac
	printf '%-10s %9s  %-36s %10s %10s %10s %9s %5s\n' collective bytes who 'comm us' 'compute us' 'total us' 'overlap %' bar
	for bytes in $SIZES; do
		for what in $COLLECTIVES; do $layout; done
	done
done
