#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Communicators on several nodes, which are this one under several names: schedules send between them by messages of the MPI
# library. Random persistent collectives beside blocking ones, as in diff.sh; SWEEP=all has more. The same by schedules with
# passes. Ranks that are blocked in MPI while others wait. Two network namespaces, if these can be made.
set -u
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/served"
SEED=${SEED:-$RANDOM}
cases=15 passed=6 stalls="bcast-recv allreduce-recv"
cleanup()
{
	drop_spaces "goalmpi-$$"
	rm -rf "$TMP"
}
trap cleanup EXIT
[ "${SWEEP:-}" != all ] || { cases=300 passed=100; stalls=$(echo {bcast,allreduce}-{recv,barrier,probe,fence}); }

# on_nodes: each rank on the node that its number modulo NODES names
cat >"$TMP/on_nodes" <<'END'
#!/bin/sh
GOAL_NODE=$((${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-0}} % NODES)) exec "$@"
END
chmod +x "$TMP/on_nodes"

# Ranks that have RDMA devices would use them.
export GOAL_VERBS_DEVICE=none
# Shared memory of Open MPI 5, which connects no real nodes, has 512 fragments for messages on their way. At times it forgets those that
# wait for one.
export OMPI_MCA_btl_sm_free_list_max=-1

# judge NAME LIMIT COMMAND... : the differential test, which schedules must serve
judge()
{
	if ! GOAL_MPI_STATS=1 timeout -k 10 "$2" "${@:3}" >"$TMP/out" 2>&1 </dev/null; then
		fail "$1"
		told
	elif ! served; then
		fail "$1 is not served"
	elif ! grep -q 'communicators on several nodes: 0 send by RDMA, [1-9]' "$TMP/out"; then
		fail "$1 $(grep -m 1 'several nodes' "$TMP/out")"
	else
		ok "$1: $(grep -ao '[0-9]* cases.*' "$TMP/out")"
	fi
}

# judge_passes COLLECTIVE SCHEDULE: the same test of one collective, by a binary with passes. $TMP/COLLECTIVE.bin
judge_passes()
{
	local name="nodes.passes.$mpi.$1"

	export "GOAL_MPI_${1^^}=$TMP/$1.bin"
	judge "$name seed $SEED" 300 "$ROOT/mpi/goalmpi-run" mpirun.$mpi -n 4 "$TMP/on_nodes" "$prog" "$SEED" $passed "$1"
	unset "GOAL_MPI_${1^^}"
	check "$name.used" grep -q "rank 0: MPI_$1 by $2: " "$TMP/out"
}

# One message between nodes instead of several, in pieces; and reductions straight from messages. Pieces could divide the elements
# of a user's operation.
goalc --verify "$ROOT/schedules/bcast_binomial.goal" -T hierarchy:cyclic=2 -T segment:size=100 -o "$TMP/Bcast.bin" >/dev/null
goalc --verify "$ROOT/schedules/allreduce_reduce_bcast.goal" -T fuse -T reduce-deps -o "$TMP/Allreduce.bin" >/dev/null

for mpi in "${INSTALLED[@]}"; do
	prog=$TMP/diff-$mpi
	compile $mpi "$prog" "$TESTS"/mpi/{diff,types,ops,draw,sides,calls,waits}.c || continue
	while read -r ranks NODES level; do
		[ -n "$ranks" ] || continue
		export NODES
		judge "nodes.$mpi.$ranks.$NODES seed $SEED, thread level $level" 900 "$ROOT/mpi/goalmpi-run" mpirun.$mpi -n "$ranks" \
			"$TMP/on_nodes" "$prog" "$SEED" $cases --level "$level"
	done <<-END
		3 2 0
		4 3 3
		${SWEEP:+5 2 1}
	END
	export NODES=2
	judge_passes Bcast bcast_binomial_by_node
	judge_passes Allreduce allreduce_reduce_bcast
done

# Open MPI's progress engine turns in all its calls, and calls us. MPICH's does not.
export NODES=2
if [[ " ${INSTALLED[*]} " = *" openmpi "* ]] && compile openmpi "$TMP/progress" "$TESTS/mpi/progress.c"; then
	for what in $stalls; do
		if serve openmpi 200 4 "$TMP/on_nodes" "$TMP/progress" $what && grep -q "^progress: $what ends" "$TMP/out" && served; then
			ok "nodes.progress.openmpi.$what"
		else
			fail "nodes.progress.openmpi.$what"
			told
		fi
	done
fi

# On two hosts, which are namespaces. By slot, because Open MPI 5, if it may oversubscribe, puts all ranks on the first.
make_spaces "goalmpi-$$" 3 4 2>"$TMP/err"
case $? in
0) ;;
77)
	skip "nodes.spaces network namespaces cannot be made here: $(head -n 1 "$TMP/err")"
	finish
	;;
*)
	fail "nodes.spaces $(head -n 1 "$TMP/err")"
	finish
	;;
esac
space_rsh "goalmpi-$$" "$TMP/rsh"
export OMPI_MCA_btl=self,tcp
for mpi in "${INSTALLED[@]}"; do
	options=(--host a:2,b:2 --map-by slot --mca plm_rsh_agent "$TMP/rsh")
	[ $mpi = openmpi ] || options=(-hosts a:2,b:2 -launcher ssh -launcher-exec "$TMP/rsh" -iface veth3)
	judge "nodes.spaces.$mpi seed $SEED" 900 nsenter --net="/run/netns/goalmpi-$$-a" "$ROOT/mpi/goalmpi-run" mpirun.$mpi "${options[@]}" -n 4 \
		"$TMP/diff-$mpi" "$SEED" $cases
done
finish
