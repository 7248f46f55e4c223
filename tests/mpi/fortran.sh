#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Persistent collectives from Fortran, by mpif.h, "use mpi" and "use mpi_f08".
set -u
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/served"

for mpi in "${INSTALLED[@]}"; do
	if ! command -v mpifort.$mpi >/dev/null || ! command -v gfortran >/dev/null; then
		skip "fortran.$mpi there is no mpifort.$mpi"
		continue
	fi
	prefix=
	if [ $mpi = openmpi ] && mpirun.openmpi --version | grep -q ' 4\.'; then prefix=-DWITH_PREFIX; fi
	for way in MPIFH MPI F08; do
		prog=$TMP/fortran-$mpi-$way
		if ! mpifort.$mpi -O1 -ffree-line-length-none -DWITH_$way $prefix -o "$prog" "$TESTS/mpi/persistent.F90" >"$TMP/log" 2>&1; then
			fail "fortran.$mpi.$way cannot be built: $(grep -m 2 Error "$TMP/log" | tr '\n' '|')"
		elif serve $mpi 100 3 "$prog" && grep -q '^fortran: right' "$TMP/out" && served; then
			ok "fortran.$mpi.$way"
		else
			fail "fortran.$mpi.$way"
			told
		fi
	done
done
finish
