#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Several requests of two groups at once, STARTS starts of each; the campaign (make epoch) has 20000. A tenth of these starts uses
# trees that are split between ranks and communication cores, for every number of levels, with and without such cores.
set -u
. "$(dirname "$0")/../lib.sh"
for kind in ${KINDS:-processes threads}; do
	program starts.$kind "${LIMIT:-600}" "$BUILD/tests/rt-starts" "$ROOT/schedules" "${STARTS:-5000}" "$kind" "${SEED:-7}"
done

# split S : the trees of their kinds, under the names that the program knows
split()
{
	local file

	mkdir -p "$TMP/split"
	for file in reduce_binomial:reduce_binomial allreduce_reduce_bcast:allreduce_recursive_doubling \
		barrier_tree:barrier_dissemination; do
		goalc "$ROOT/schedules/${file%:*}.goal" -T "split-tree:S=$1;odd-even" -o "$TMP/split/${file#*:}.goal" || return
	done
}
for s in 0 1 2 3; do
	check "starts.split S=$s" split $s
	for kind in ${KINDS:-processes threads}; do
		for progress in app thread; do
			export GOAL_PROGRESS=$progress
			program "starts.split.$s.$progress.$kind" "${LIMIT:-600}" "$BUILD/tests/rt-starts" "$TMP/split" \
				$((${STARTS:-5000} / 10)) "$kind" "${SEED:-7}"
		done
	done
done
finish
