#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# MPI programs on two nodes with RDMA devices, in a guest whose ranks are on nodes of different names: schedules send between them
# by RDMA, without being told, if all ranks can; else, or if the user says so, by messages of the MPI library. SWEEP=all: by both
# MPI libraries, random persistent collectives beside blocking ones, as in diff.sh; and two guests.
set -u
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/served"
SEED=${SEED:-$RANDOM} SWEEP=${SWEEP:-share}
cd "$ROOT" || exit 1
[ "${#INSTALLED[@]}" -gt 0 ] || finish
[ "$SWEEP" = all ] || INSTALLED=("${INSTALLED[0]}")
if [ -z "${GUEST_NODE:-}" ]; then
	programs=$TMP
	for mpi in "${INSTALLED[@]}"; do
		compile $mpi "$TMP/diff-$mpi" tests/mpi/{diff,types,ops,draw,sides,calls,waits}.c || finish
		compile $mpi "$TMP/small-$mpi" tests/mpi/progress.c || finish
	done
	in_guest() { guests "$1" 900 "-m 1024 $2" env BUILD="$BUILD" SWEEP="$SWEEP" SEED="$SEED" PROGRAMS="$programs" bash tests/mpi/rdma.sh; }
	in_guest rdma ''
	[ "$SWEEP" != all ] || in_guest rdma_nodes '-n 2'
	finish
fi

# The MPI libraries leave the device to us: on one that is emulated their own messages time out.
export UCX_TLS=self,sm,tcp OMPI_MCA_pml=ob1

# judge NAME WANT COMMAND... : what schedules serve, sending between nodes as WANT says
judge()
{
	local name=$1 want=$2

	if ! GOAL_MPI_STATS=1 timeout -k 10 300 mpi/goalmpi-run "${@:3}" >"$TMP/out" 2>&1 </dev/null; then
		fail "$name"
		told
	elif ! served; then
		fail "$name is not served"
	else
		check "$name: $(grep -om 1 'communicators on.*' "$TMP/out") ($SECONDS s)" \
			[ "$(grep -c 'goalmpi: rank .: communicators on several nodes: '"$want" "$TMP/out")" = "$(grep -c 'goalmpi: rank .: communicators on' "$TMP/out")" ]
	fi
}
rdma='[1-9][0-9]* send by RDMA, 0 by' messages='0 send by RDMA, [1-9][0-9]* by'

if [ "$GUEST_NODES" = 2 ]; then
	if [ "$GUEST_NODE" = 1 ]; then # its ranks come by ssh
		until [ -e "$GUEST_SHARED/done" ]; do sleep 0.2; done
		exit 0
	fi
	trap 'rm -rf "$TMP"; : >"$GUEST_SHARED/done"' EXIT
	for mpi in "${INSTALLED[@]}"; do
		options=(--host node0:2,node1:2 --mca oob_tcp_if_include 10.77.0.0/24 --mca btl_tcp_if_include 10.77.0.0/24 -x GOAL_MPI_STATS)
		[ $mpi = openmpi ] || options=(-hosts node0:2,node1:2 -iface eth0)
		OMPI_MCA_btl=self,vader,tcp judge "rdma.nodes.$mpi" "$rdma" mpirun.$mpi "${options[@]}" -n 4 "$PROGRAMS/diff-$mpi" "$SEED" 4
	done
	finish
fi

# on_nodes: each rank on the node that its number modulo 2 names; WITHOUT: a rank that finds no device
cat >"$TMP/on_nodes" <<'END'
#!/bin/sh
rank=${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-0}}
[ "$rank" != "${WITHOUT:-}" ] || export GOAL_VERBS_DEVICE=none
GOAL_NODE=$((rank % 2)) exec "$@"
END
chmod +x "$TMP/on_nodes"
for mpi in "${INSTALLED[@]}"; do
	small=(mpirun.$mpi -n 4 "$TMP/on_nodes" "$PROGRAMS/small-$mpi" bcast-recv)
	judge "rdma.$mpi.all" "$rdma" "${small[@]}"
	WITHOUT=1 judge "rdma.$mpi.one_without" "$messages" "${small[@]}"
	[ "$SWEEP" = all ] || continue
	GOAL_BACKEND=mpi judge "rdma.$mpi.chosen" "$messages" "${small[@]}"
	GOAL_BACKEND=verbs judge "rdma.$mpi.verbs" "$rdma" "${small[@]}"
	judge "rdma.$mpi.cases" "$rdma" mpirun.$mpi -n 4 "$TMP/on_nodes" "$PROGRAMS/diff-$mpi" "$SEED" 10
done
check rdma.nothing_left [ -z "$(rdma resource show qp | grep 'type RC')" ]
finish
