#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# GOAL_MPI_NBC=1: collectives that do not block are served by schedules, and their calls wait for no other rank; nbc.c has the
# details. A failure can be repeated with its SEED. ROUNDS is the number of rounds of each run.
set -u
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/served"
SEED=${SEED:-$RANDOM}

for mpi in "${INSTALLED[@]}"; do
	prog=$TMP/nbc-$mpi
	compile $mpi "$prog" "$TESTS/mpi/nbc.c" || continue
	for ranks in 1 2 3 5; do
		name="nbc.$mpi.$ranks seed $SEED"
		if ! GOAL_MPI_NBC=1 serve $mpi 120 $ranks "$prog" "$SEED" "${ROUNDS:-$((24 / ranks + 2))}" || ! grep -q '^nbc: .* right' "$TMP/out"; then
			fail "$name"
			told
		elif ! grep -q 'MPI_Iallreduce by' "$TMP/out" || ! served; then
			fail "$name is not served"
		else
			ok "$name: $(grep -ao '[0-9]* calls.*' "$TMP/out")"
		fi
	done
	serve $mpi 120 2 "$prog" "$SEED" 2
	check "nbc.$mpi.off" [ "$(grep -c 'MPI_I[a-z_]* by' "$TMP/out")" -eq 0 ]
	if ! command -v mpifort.$mpi >/dev/null || ! command -v gfortran >/dev/null; then
		skip "nbc.$mpi.F08 there is no mpifort.$mpi"
	elif ! mpifort.$mpi -O1 -o "$prog" "$TESTS/mpi/nbc.F90" >"$TMP/log" 2>&1; then
		fail "nbc.$mpi.F08 cannot be built: $(grep -m 2 Error "$TMP/log" | tr '\n' '|')"
	else
		GOAL_MPI_NBC=1 serve $mpi 100 2 "$prog"
		check "nbc.$mpi.F08" grep -q '^nbc: 20 calls right' "$TMP/out"
		check "nbc.$mpi.F08.served" served
		# Where nothing can be bound, calls are the MPI library's.
		GOAL_MPI_NBC=1 GOAL_BACKEND=nonsense serve $mpi 100 2 "$prog"
		check "nbc.$mpi.F08.unbound" grep -q '^nbc: 20 calls right' "$TMP/out"
	fi
done
finish
