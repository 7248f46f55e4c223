#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Open MPI: counters of MPI_T, and several programs in a job.
set -u
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/served"

[[ " ${INSTALLED[*]} " = *" openmpi "* ]] || finish
if compile openmpi "$TMP/tool" "$TESTS/mpi/tool.c"; then
	if serve openmpi 60 2 "$TMP/tool" && [ "$(grep -c '^tool: right' "$TMP/out")" = 2 ]; then
		ok tool.counters
	else
		fail tool.counters
		told
	fi
fi
# A program with names of MPI-4, which Open MPI 4 does not have: they come from a library, for each of several programs.
if ! mpirun.openmpi --version | grep -q ' 4\.'; then
	skip tool.several Open MPI has the names of MPI-4 itself
elif compile openmpi "$TMP/names" -x c - -x none -L"$BUILD/lib" -lgoalmpi-openmpi <<'END'
#include <mpi.h>
#include <stdio.h>
int MPI_Bcast_init(void *, int, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request *);
int main(int argc, char **argv)
{
	MPI_Request request;
	int rank, x = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (!rank)
		x = 5;
	MPI_Bcast_init(&x, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
	MPI_Start(&request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Request_free(&request);
	MPI_Finalize();
	return !printf("names: %d\n", x);
}
END
then
	serve openmpi 60 1 "$TMP/names" : -n 1 "$TMP/names"
	check tool.several [ "$(grep -c '^names: 5' "$TMP/out")" = 2 ]
fi
finish
