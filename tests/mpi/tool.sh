#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Counters of MPI_T, with Open MPI.
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
finish
