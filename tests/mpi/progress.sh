#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A rank that is blocked in a call of MPI does not stall others that wait for a persistent collective.
set -u
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/served"

for mpi in "${INSTALLED[@]}"; do
	prog=$TMP/progress-$mpi
	compile $mpi "$prog" "$TESTS/mpi/progress.c" || continue
	for what in {bcast,allreduce}-{recv,barrier,probe,fence}; do
		if serve $mpi 200 4 "$prog" $what && grep -q "^progress: $what ends" "$TMP/out" && served; then
			ok "progress.$mpi.$what"
		else
			fail "progress.$mpi.$what"
			told
		fi
	done
done
finish
