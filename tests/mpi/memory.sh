#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# MPI_Alloc_mem under MPICH: programs with persistent collectives get memory of the shared heap, others the MPI library's.
set -u
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/served"

# right NAME RANKS COMMAND...
right()
{
	local name=$1 ranks=$2

	shift 2
	if serve mpich 100 "$ranks" "$@" && grep -q '^memory: right' "$TMP/out"; then
		ok "memory.$name"
	else
		fail "memory.$name"
		told
	fi
}

[[ " ${INSTALLED[*]} " = *" mpich "* ]] || finish
if compile mpich "$TMP/memory" "$TESTS/mpi/memory.c"; then
	right shared 1 "$TMP/memory"
	right shared.3 3 "$TMP/memory"
	check memory.served served
	# The program checks that its memory is of the shared heap.
	GOAL_MPI_ALLOC=0 serve mpich 100 1 "$TMP/memory"
	check memory.off grep -q '^memory: rank 0: false: shared(in)' "$TMP/out"
fi
if compile mpich "$TMP/plain" -DPLAIN "$TESTS/mpi/memory.c"; then
	right plain 2 "$TMP/plain"
	GOAL_MPI_ALLOC=1 serve mpich 100 1 "$TMP/plain"
	check memory.on grep -q '^memory: rank 0: false: !shared(p)' "$TMP/out"
fi
for way in MPIFH MPI F08; do
	if ! command -v mpifort.mpich >/dev/null || ! command -v gfortran >/dev/null; then
		skip "memory.$way there is no mpifort.mpich"
	elif ! mpifort.mpich -O1 -ffree-line-length-none -DWITH_$way -o "$TMP/$way" "$TESTS/mpi/memory.F90" >"$TMP/log" 2>&1; then
		fail "memory.$way cannot be built: $(grep -m 2 Error "$TMP/log" | tr '\n' '|')"
	else
		right $way 2 "$TMP/$way"
	fi
done
finish
