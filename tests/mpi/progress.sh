#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A rank that is blocked in a call of MPI does not stall others that wait for a persistent collective. SWEEP=all tries all of it.
set -u
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/served"
more=
[ "${SWEEP:-}" != all ] || more=$(echo allreduce-{barrier,probe,fence})

# waited : true if a rank of the last run waited as the library does. Then the statistics have a time of waiting.
waited() { grep -Eq 'MPI_[A-Z][a-z]* by .*, wait ([1-9]|0\.[0-9]*[1-9])' "$TMP/out"; }

for mpi in "${INSTALLED[@]}"; do
	prog=$TMP/progress-$mpi
	compile $mpi "$prog" "$TESTS/mpi/progress.c" || continue
	for what in bcast-{recv,barrier,probe,fence} allreduce-recv $more; do
		if serve $mpi 200 4 "$prog" $what && grep -q "^progress: $what ends" "$TMP/out" && served && waited; then
			ok "progress.$mpi.$what"
		else
			fail "progress.$mpi.$what"
			told
		fi
	done
done

# Open MPI's requests move on also if it does not yield. Open MPI 5 yields, whatever it is told, where ranks outnumber the slots of the
# hosts.
echo localhost slots=3 >"$TMP/slots"
export OMPI_MCA_orte_default_hostfile=$TMP/slots PRTE_MCA_prte_default_hostfile=$TMP/slots
for what in bcast-{recv,barrier}; do
	[ -x "$TMP/progress-openmpi" ] || break
	if OMPI_MCA_mpi_yield_when_idle=0 serve openmpi 200 3 "$TMP/progress-openmpi" $what &&
		grep -q "^progress: $what ends" "$TMP/out" && waited; then
		ok "progress.openmpi.alone.$what"
	else
		fail "progress.openmpi.alone.$what"
		told
	fi
done
finish
