#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks on two nodes, which are guests joined by a wire: those of a node use shared memory, others Soft-RoCE, in one schedule;
# started by goalrun --hosts over ssh, and by mpirun. Every byte of every start is checked.
set -u
. "$(dirname "$0")/lib.sh"
cd "$ROOT" || exit 1
if [ -z "${GUEST_NODE:-}" ]; then
	cc -O2 -Iruntime -o "$TMP/program" examples/overlap_bcast.c -L"$BUILD/lib" -lgoalsched -Wl,-rpath,"$BUILD/lib" ||
		fail verbs_nodes.program
	guests verbs_nodes 400 "-n 2" env BUILD="$BUILD" PROGRAM="$TMP/program" bash tests/verbs_nodes.sh
	finish
fi
if [ "$GUEST_NODE" = 1 ]; then # its ranks come by ssh
	until [ -e "$GUEST_SHARED/done" ]; do sleep 0.2; done
	exit 0
fi
trap 'rm -rf "$TMP"; : >"$GUEST_SHARED/done"' EXIT

# hosts NAME SCHEDULE OPTIONS...
hosts()
{
	local name=$1 s=$2

	shift 2
	if timeout 120 "$BUILD/bin/goalrun" --hosts node0,node1 --backend verbs --verify "$@" "schedules/$s.goal" \
		>"$TMP/out" 2>"$TMP/err" </dev/null; then
		ok "verbs_nodes.$name $s: $(tail -n 1 "$TMP/out")"
	else
		fail "verbs_nodes.$name $s $*: $(sort -u "$TMP/err" | tail -n 3)"
	fi
}
hosts bcast bcast_binomial -n 4 --root 0,3 --count 1,1000,20000 --iters 3 --warmup 1
hosts allreduce allreduce_recursive_doubling -n 4 --count 1,1000,20000 --iters 3 --warmup 1

# By mpirun, with PMIx: a program that looks at every element.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
if ! command -v mpirun.openmpi >/dev/null; then
	skip verbs_nodes.mpirun there is no mpirun.openmpi
elif timeout 200 mpirun.openmpi --host node0:2,node1:2 -n 4 -x GOAL_BACKEND=verbs --mca oob_tcp_if_include 10.77.0.0/24 \
	"$PROGRAM" schedules/bcast_binomial.goal >"$TMP/out" 2>"$TMP/err" </dev/null &&
	grep -q 'to 4 ranks, every element right' "$TMP/out"; then
	ok "verbs_nodes.mpirun $(head -n 1 "$TMP/out")"
else
	fail "verbs_nodes.mpirun $(cat "$TMP/out" "$TMP/err" | tail -n 5 | tr '\n' '|')"
fi
finish
