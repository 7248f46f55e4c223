#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The program in Python of goalmpi(7) is served by schedules, with the MPI library that mpi4py was built with.
set -u
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/served"

awk '/^\.Bd / { getline; on = $0 == "# program.py" } /^\.Ed/ { on = 0 } on' "$ROOT/man/goalmpi.7" >"$TMP/program.py"
grep -q Bcast_init "$TMP/program.py" || fail 'python goalmpi(7) shows no program'
# The version of mpi4py, whether it has the calls, and its MPI library
about='import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
print(mpi4py.__version__, hasattr(MPI.Comm, "Bcast_init"), MPI.Get_library_version().split()[0])'
read -r version has_calls library < <(timeout 60 python3 -c "$about" 2>/dev/null)
case ${library:-} in
Open) mpi=openmpi ;;
MPICH) mpi=mpich ;;
*) mpi=none ;;
esac
if [ -z "${version:-}" ]; then
	skip "python there is no mpi4py"
elif [ "$has_calls" = False ]; then
	skip "python mpi4py $version has no persistent collectives"
elif [[ " ${INSTALLED[*]} " != *" $mpi "* ]]; then
	skip "python mpi4py uses $library, for which nothing is built"
elif serve $mpi 100 3 python3 "$TMP/program.py" && [ "$(grep -cx 'rank . has 0 wrong elements' "$TMP/out")" = 3 ] && served; then
	ok "python.$mpi mpi4py $version"
else
	fail "python.$mpi mpi4py $version"
	told
fi
finish
