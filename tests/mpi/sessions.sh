#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs with sessions alone: schedules serve their persistent collectives, too.
set -u
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/served"

for mpi in "${INSTALLED[@]}"; do
	prog=$TMP/sessions-$mpi
	compile $mpi "$prog" "$TESTS/mpi/sessions.c" || continue
	serve $mpi 60 2 "$prog"
	if grep -q '^sessions: there are none' "$TMP/out"; then
		skip "sessions.$mpi it has no sessions"
	elif [ "$(grep -c 'sessions: rank [0-9]* has 0 wrong' "$TMP/out")" -eq 2 ] && grep -q 'MPI_Bcast by ' "$TMP/out"; then
		ok "sessions.$mpi"
	else
		fail "sessions.$mpi"
		told
	fi
done
finish
