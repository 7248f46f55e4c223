#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# MPI programs on two nodes with RDMA devices, in a guest whose ranks are on nodes of different names: schedules send between them
# by RDMA, without being told, if all ranks can; else, or if the user says so, by messages of the MPI library.
set -u
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/served"
cd "$ROOT" || exit 1
[ "${#INSTALLED[@]}" -gt 0 ] || finish
if [ -z "${GUEST_NODE:-}" ]; then
	# Fewer elements and starts: an emulated machine with an emulated device is slow.
	sed 's/COUNT 100000/COUNT 1000/; s/STARTS 20/STARTS 4/' examples/mpi_persistent.c >"$TMP/program.c"
	for mpi in "${INSTALLED[@]}"; do
		options=(-Impi/openmpi -L"$BUILD/lib" "-Wl,-rpath,$BUILD/lib" -lgoalmpi-openmpi)
		[ $mpi = openmpi ] || options=()
		compile $mpi "$TMP/program-$mpi" "$TMP/program.c" "${options[@]}" || finish
	done
	guests rdma 1200 "-m 1024" env BUILD="$BUILD" PROGRAMS="$TMP" bash tests/mpi/rdma.sh
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
# The MPI libraries leave the device to us: their own messages would time out on it.
export UCX_TLS=self,sm,tcp OMPI_MCA_pml=ob1

# judge NAME WANT : the program on two ranks, all served, whose communicator sends as WANT says
judge()
{
	if ! serve $mpi 300 2 "$TMP/on_nodes" "$PROGRAMS/program-$mpi" || ! grep -q ' 0 wrong elements$' "$TMP/out"; then
		fail "rdma.$mpi.$1"
		told
	elif ! served; then
		fail "rdma.$mpi.$1 is not served"
	else
		check "rdma.$mpi.$1: $(grep -om 1 'communicators on.*' "$TMP/out") ($SECONDS s)" \
			[ "$(grep -c "goalmpi: rank .: communicators on several nodes: $2 " "$TMP/out")" = 2 ]
	fi
}
rdma='1 send by RDMA, 0 by' messages='0 send by RDMA, 1 by'
for mpi in "${INSTALLED[@]}"; do
	judge all "$rdma"
	WITHOUT=1 judge one_without "$messages"
	GOAL_BACKEND=mpi judge chosen "$messages"
done
check rdma.nothing_left [ -z "$(rdma resource show qp | grep 'type RC')" ]
finish
