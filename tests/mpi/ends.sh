#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How programs with persistent collectives end: a rank is killed, aborts, or exits without MPI_Finalize; requests are left over, or
# freed while they are active; the application forks; communicators are freed in different orders. Nothing hangs, crashes or is
# left in /dev/shm.
set -u
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/served"

# Files of other programs that run now may appear, and go.
ours() { find /dev/shm -maxdepth 1 -name '*goal*' | sort; }

for mpi in "${INSTALLED[@]}"; do
	prog=$TMP/ends-$mpi
	compile $mpi "$prog" "$TESTS/mpi/ends.c" || continue
	before=$(ours)
	for what in unfreed active fork order; do
		if serve $mpi 100 3 "$prog" $what && grep -q "^ends: $what ends" "$TMP/out" && served; then
			ok "ends.$mpi.$what"
		else
			fail "ends.$mpi.$what"
			told
		fi
	done
	# MPICH 4.2's launcher sometimes says 0 where a rank was killed or exited, in any program.
	for what in kill abort exit; do
		began=$SECONDS
		serve $mpi 100 3 "$prog" $what
		rc=$?
		case $mpi.$what.$rc in mpich.kill.0 | mpich.exit.0) ended=1 ;; *.0) ended=0 ;; *) ended=1 ;; esac
		if [ $ended = 0 ] || [ $((SECONDS - began)) -ge 55 ] || grep -qE '^ends: (a rank hangs|.* ends)' "$TMP/out"; then
			fail "ends.$mpi.$what exit status $rc"
			told
		else
			ok "ends.$mpi.$what exit status $rc"
		fi
		# The launcher ends its ranks; none must go on.
		for ((i = 0; i < 100; i++)); do
			pgrep -f "^$prog" >/dev/null || break
			sleep 0.1
		done
		check ends.$mpi.$what.none_left [ $i -lt 100 ]
	done
	check ends.$mpi.nothing_left [ "$(ours)" = "$before" ]
done
finish
