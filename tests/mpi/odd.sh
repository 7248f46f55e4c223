#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Calls at the border of what MPI allows are served, and wrong ones get the error class of the MPI library.
set -u
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/served"

for mpi in "${INSTALLED[@]}"; do
	compile $mpi "$TMP/odd-$mpi" "$TESTS/mpi/odd.c" || continue
	if serve $mpi 100 3 "$TMP/odd-$mpi" && grep -q '^odd: right' "$TMP/out"; then ok "odd.$mpi"; else
		fail "odd.$mpi"
		told
	fi
	for collective in Neighbor_alltoallw Bcast Exscan; do
		check "odd.$mpi.$collective" grep -q "rank 0: MPI_$collective by [a-z_]*: [0-9]* inits" "$TMP/out"
	done
	check "odd.$mpi.alone" grep -q 'rank 0: MPI_Gather by the MPI library: 1 inits: rank 2: a rank sends itself' "$TMP/out"
	if serve $mpi 100 3 "$TMP/odd-$mpi" between && grep -q '^odd: right' "$TMP/out"; then ok "odd.$mpi.between"; else
		fail "odd.$mpi.between"
		told
	fi
	check "odd.$mpi.between.told" grep -q 'MPI_Bcast by the MPI library: 1 inits: an intercommunicator' "$TMP/out"
	if [ $mpi = mpich ]; then # Open MPI does not look
		GOAL_MPI_NBC=1 serve $mpi 100 2 "$TMP/odd-$mpi" buffer
		check "odd.$mpi.buffer" grep -q '^odd: right' "$TMP/out"
	fi
done
finish
