#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# MPI_Alloc_mem: programs with persistent collectives get memory of the shared heap, others the MPI library's. GOAL_MOVE: memory of
# malloc is moved there.
set -u
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/served"

# right MPI NAME RANKS COMMAND...
right()
{
	local mpi=$1 name=$1.$2 ranks=$3

	shift 3
	if serve $mpi 100 "$ranks" "$@" && grep -q '^memory: right' "$TMP/out"; then
		ok "memory.$name"
	else
		fail "memory.$name"
		told
	fi
}

# moves : true if memory can be moved here; else `why` says why not
moves()
{
	why=$("$BUILD/tests/rt-moved" why)
	[ -z "$why" ]
}

for mpi in "${INSTALLED[@]}"; do
	if compile $mpi "$TMP/memory-$mpi" "$TESTS/mpi/memory.c"; then
		right $mpi shared 1 "$TMP/memory-$mpi"
		right $mpi shared.3 3 "$TMP/memory-$mpi"
		check memory.$mpi.served served
		# The program checks that its memory is of the shared heap.
		GOAL_MPI_ALLOC=0 serve $mpi 100 1 "$TMP/memory-$mpi"
		check memory.$mpi.off grep -q '^memory: rank 0: false: moved || (shared(in)' "$TMP/out"
	fi
	if ! moves; then
		skip "memory.$mpi.moved $why"
	elif compile $mpi "$TMP/moved-$mpi" -DMOVED "$TESTS/mpi/memory.c"; then
		GOAL_MOVE=1 right $mpi moved 3 "$TMP/moved-$mpi"
		check memory.$mpi.moved.served served
		GOAL_MOVE=1 GOAL_MPI_NBC=1 right $mpi moved.nbc 2 "$TMP/moved-$mpi"
		GOAL_MOVE=2 serve $mpi 100 2 "$TMP/moved-$mpi"
		check memory.$mpi.moved.wrong grep -q 'GOAL_MOVE cannot be "2"' "$TMP/out"
	fi
	if compile $mpi "$TMP/plain-$mpi" -DPLAIN "$TESTS/mpi/memory.c"; then
		right $mpi plain 2 "$TMP/plain-$mpi"
		GOAL_MPI_ALLOC=1 serve $mpi 100 1 "$TMP/plain-$mpi"
		check memory.$mpi.on grep -q '^memory: rank 0: false: !shared(p)' "$TMP/out"
	fi
done
[[ " ${INSTALLED[*]} " = *" mpich "* ]] || finish
for way in MPIFH MPI F08; do
	if ! command -v mpifort.mpich >/dev/null || ! command -v gfortran >/dev/null; then
		skip "memory.$way there is no mpifort.mpich"
	elif ! mpifort.mpich -O1 -ffree-line-length-none -DWITH_$way -o "$TMP/$way" "$TESTS/mpi/memory.F90" >"$TMP/log" 2>&1; then
		fail "memory.$way cannot be built: $(grep -m 2 Error "$TMP/log" | tr '\n' '|')"
	else
		right mpich $way 2 "$TMP/$way"
	fi
done
finish
