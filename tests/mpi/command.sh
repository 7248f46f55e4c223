#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The command line of goalmpi-run: it ends with the status that its page says, wherever its output goes.
set -u
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/served"
cd "$TMP" || exit 1
run="timeout 10 $ROOT/mpi/goalmpi-run"

# ends NAME STATUS COMMAND : a command for bash ends with that status
ends()
{
	bash -c "$3" >out 2>err </dev/null
	local rc=$?

	check "command.$1 status $rc" [ $rc -eq "$2" ]
}
ends help 0 "$run --help"
check command.help_text grep -q '^usage: goalmpi-run' out
ends help_full 1 "$run --help >/dev/full"
ends option 2 "$run --no-such-option"
check command.option_text grep -q '^usage: goalmpi-run' err
ends option_closed 2 "$run --no-such-option 2>&-"
ends nothing 2 "$run"
ends nothing_closed 2 "$run --show 2>&-"
ends program 1 "$run ./no-such-program"
for mpi in "${INSTALLED[@]}"; do
	ends $mpi.show 0 "$run --show mpirun.$mpi -n 1 touch ran"
	check command.$mpi.shown grep -q "^env .*mpirun.$mpi .*-n 1 touch ran$" out
	ends $mpi.show_full 1 "$run --show mpirun.$mpi -n 1 touch ran >/dev/full"
	check command.$mpi.not_run [ ! -e ran ]
done
# The loader would not find the library, and MPICH would serve all calls itself.
mkdir 'a b' 'a b/bin' 'a b/lib' && cp "$ROOT/mpi/goalmpi-run" 'a b/bin' && touch 'a b/lib/libgoalmpi-mpich.so'
if [[ " ${INSTALLED[*]} " = *' mpich '* ]]; then
	ends blank 1 "'a b/bin/goalmpi-run' --show mpirun.mpich -n 1 touch ran"
	check command.blank_text grep -q 'its path has a blank or a colon' err
fi
finish
