#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# split-tree and odd-even change where ops run, and not what they do. Every tree and chain of the library is proved with every S
# up to its height, and gives the right bytes when it runs. A schedule without levels is refused, with a reason.
# SWEEP=all (make matrix) takes all numbers of ranks from 1 to 33; without it some are taken for each S, in turn.
# tests/unit/test_split.c checks the executors of the ops, and that no rank hangs.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1
SWEEP=${SWEEP:-some}
TREES='bcast_binomial bcast_knomial bcast_linear bcast_binary bcast_trinary reduce_binomial reduce_knomial gather_binomial
	gather_linear gatherv_linear scatter_binomial scatter_linear scatterv_linear allreduce_reduce_bcast barrier_tree'
CHAINS='bcast_chain reduce_chain'
turn=0

# Numbers of ranks that are due: all, or four of them.
sizes()
{
	if [ "$SWEEP" = all ]; then echo 1-33; else
		turn=$((turn + 4))
		echo $((turn % 30 + 1))-$((turn % 30 + 4))
	fi
}

proved() { goalc --verify "schedules/$1.goal" -n "$2" -T "$3" >"$TMP/out" 2>"$TMP/err" || { head -n 1 "$TMP/err"; false; }; }

# every NAME S... : all values of S
every()
{
	local name=$1 s n bad=

	shift
	for s; do
		n=$(sizes)
		proved "$name" "$n" "split-tree:S=$s" || bad="$bad S=$s ($n ranks)"
	done
	n=$(sizes)
	proved "$name" "$n" 'split-tree:S=1;odd-even' || bad="$bad odd-even"
	check "split.proved $name S = $1 to $s$bad" [ -z "$bad" ]
}
for s in $TREES; do
	every "$s" 0 1 2 3 4 5 6
done
for s in $CHAINS; do
	every "$s" 0 1 2 3 5 8 13 31 32 33
done
for s in bcast_binomial reduce_knomial gather_binomial allreduce_reduce_bcast; do
	check "split.proved $s S=auto" proved "$s" "$(sizes)" split-tree:S=auto,cores=36
done
for s in scan_chain exscan_chain allreduce_ring; do
	check "split.proved $s odd-even" proved "$s" "$(sizes)" odd-even
done

# runs NAME LIST ARGS... : right bytes, more ranks than cores
runs()
{
	local name=$1 list=$2

	shift 2
	timeout 120 "$BUILD/bin/goalrun" --verify --iters 20 --warmup 1 --count 0,7,3000 -T "$list" "$@" "schedules/$name.goal" \
		>"$TMP/out" 2>"$TMP/err" || { tail -n 1 "$TMP/err"; false; }
}
kinds=(processes threads)
for s in bcast_binomial bcast_knomial bcast_chain bcast_trinary reduce_binomial reduce_chain gather_binomial scatter_binomial \
	allreduce_reduce_bcast barrier_tree; do
	n=$((turn % 7 + 2)) kind=${kinds[turn++ % 2]}
	for list in split-tree:S=1 'segment:size=100;split-tree:S=2;odd-even;fuse'; do
		check "split.runs $s $n $kind $list" runs "$s" "$list" -n $n --ranks $kind
		check "split.runs $s $n $kind $list communication core" runs "$s" "$list" -n $n --ranks $kind \
			--progress thread --comm-cores 1
	done
done
check "split.runs S=auto" runs reduce_binomial split-tree:S=auto,cores=7 -n 6 --root 3

# refused NAME WHY SCHEDULE LIST
refused()
{
	goalc "schedules/$3.goal" -T "$4" -o "$TMP/x.bin" 2>"$TMP/err"
	check "split.refuses.$1 $(head -n 1 "$TMP/err")" [ ! -e "$TMP/x.bin" -a -n "$(grep "$2" "$TMP/err")" ]
}
refused chain 'split-tree cannot be applied: the levels of the ops are not those of a tree' scan_chain split-tree:S=1
refused all_to_all 'split-tree cannot be applied: the levels' alltoall_linear split-tree:S=1
refused auto_chain 'split-tree cannot be applied: the levels' bcast_chain split-tree:S=auto,cores=64
refused no_cores 'S=auto needs cores=N too' bcast_binomial split-tree:S=auto
printf 'num_ranks 1\nrank 0 {\na: calc 1\n}\n' >"$TMP/plain.goal"
goalc "$TMP/plain.goal" -T odd-even -o "$TMP/x.bin" 2>"$TMP/err"
check split.refuses.plain [ ! -e "$TMP/x.bin" -a -n "$(grep 'odd-even cannot be applied: GOAL is plain' "$TMP/err")" ]
finish
