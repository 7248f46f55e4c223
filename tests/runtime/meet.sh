#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks find each other by goalrun, by PMIx, and by an allgather over TCP, pipes or MPI, with the same program. It is built for
# Open MPI and for MPICH if they are installed. Debian's packages of both can be installed together, as mpicc.openmpi and
# mpicc.mpich. mpix_sched_mpi.h compiles with the headers of both, in C and in C++.
set -u
. "$(dirname "$0")/../lib.sh"
bcast=$ROOT/schedules/bcast_binomial.goal
open_mpi

# meet NAME TIMES COMMAND... : four ranks say who they are, TIMES times. The program has an alarm.
meet()
{
	local name=$1 times=$2 rc want

	shift 2
	"$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	rc=$?
	want=$(for ((i = 0; i < times; i++)); do printf 'rank %d of 4\n' 0 1 2 3; done | sort)
	if [ $rc -eq 0 ] && [ "$(sort "$TMP/out")" = "$want" ]; then ok "meet.$name"; else
		fail "meet.$name status $rc: $(head -n 3 "$TMP/err" "$TMP/out" | tr '\n' '|')"; fi
}

# star PROGRAM WAY : four processes that nobody launches together
star()
{
	local r pids='' rc=0

	rm -rf "$TMP/star" && mkdir "$TMP/star" || exit 1
	for r in 1 2 3; do mkfifo "$TMP/star/up.$r" "$TMP/star/down.$r"; done
	for r in 0 1 2 3; do
		timeout 90 "$1" "$2" "$bcast" "$TMP/star" $r 4 &
		pids="$pids $!"
	done
	for r in $pids; do wait "$r" || rc=1; done
	return $rc
}

plain=$BUILD/tests/rt-meet
meet goalrun 1 "$BUILD/bin/goalrun" -n 4 -- "$plain" world "$bcast"
meet tcp 1 star "$plain" tcp
meet pipes 1 star "$plain" pipes

# Without PMIx in the build, or where it runs, there is a message.
without() # NAME TEXT OPTIONS... : a program with a world.c of its own
{
	local name=$1 text=$2 others

	shift 2
	others=$( (make -s --no-print-directory -C "$ROOT" BUILD="$BUILD" list-library; ls "$BUILD/tests/alloc/hook.o" 2>/dev/null) |
		sort -u | grep -v '/runtime/bootstrap/world\.o$')
	if ! (cd "$ROOT" && for cov in '' --coverage; do
		# shellcheck disable=SC2086
		cc -std=c17 -D_GNU_SOURCE -I. -Iinclude "$@" $cov -pthread -o "$TMP/without" tests/rt/world.c runtime/bootstrap/world.c \
			$others -lsodium && exit 0
	done; exit 1) >"$TMP/log" 2>&1; then
		fail "meet.$name cannot be built: $(grep -m 2 error "$TMP/log" | tr '\n' '|')"
		return
	fi
	PMIX_NAMESPACE=none timeout 60 "$TMP/without" "$bcast" >"$TMP/out" 2>&1
	check "meet.$name" grep -q "^world: the launcher speaks PMIx, but $text" "$TMP/out"
}
pmix=$(pkg-config --cflags-only-I pmix 2>/dev/null)
without no_header 'this library was built without pmix.h'
if [ -n "$pmix" ]; then
	# shellcheck disable=SC2086
	without no_library 'none.so cannot be loaded: none.so: ' '-DPMIX_LIBRARY="none.so"' $pmix
	without no_function 'PMIx_Init cannot be loaded: ' '-DPMIX_LIBRARY="libm.so.6"' $pmix
fi

for mpi in openmpi mpich; do
	if ! command -v mpicc.$mpi >/dev/null || ! command -v mpirun.$mpi >/dev/null; then
		skip "meet.$mpi there is no mpicc.$mpi"
		continue
	fi
	prog=$TMP/meet-$mpi
	if ! mpicc.$mpi -std=gnu17 -O1 -Wall -Wextra -Werror -DWITH_MPI -I"$ROOT/include" -o "$prog" "$TESTS/rt/meet.c" \
		-L"$BUILD/lib" -lgoalsched -Wl,-rpath,"$BUILD/lib" >"$TMP/log" 2>&1; then
		fail "meet.$mpi cannot be built: $(head -n 3 "$TMP/log" | tr '\n' '|')"
		continue
	fi
	for lang in c99 c++11; do
		case $lang in c++*) cc=mpicxx.$mpi lang="$lang -x c++" ;; *) cc=mpicc.$mpi lang="$lang -x c" ;; esac
		command -v $cc >/dev/null || continue
		# shellcheck disable=SC2086
		check meet.$mpi.header.${lang%% *} $cc -std=$lang -pedantic -Wall -Wextra -Werror -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX \
			-fsyntax-only -I"$ROOT/include" - <<<'#include <mpix_sched_mpi.h>'
	done
	meet $mpi.mpi 1 timeout 100 mpirun.$mpi -n 4 "$prog" mpi "$bcast"
	meet $mpi.goalrun 1 "$BUILD/bin/goalrun" -n 4 -- "$prog" world "$bcast"
	meet $mpi.tcp 1 star "$prog" tcp
	if [ $mpi = mpich ]; then # it has no PMIx: an error, not four worlds
		for _ in 1 2 3 4 5; do # if ranks end early, the launcher may die of SIGPIPE, before it has passed on what they print
			timeout 60 mpirun.mpich -n 4 "$plain" world "$bcast" >"$TMP/out" 2>&1
			[ $? -eq 141 ] || break
		done
		check meet.mpich.no_pmix grep -q 'the launcher speaks PMI-1' "$TMP/out"
	elif [ -n "$pmix" ]; then
		meet openmpi.pmix 1 timeout 100 mpirun.openmpi -n 4 "$plain" world "$bcast"
		meet openmpi.pmix_in_mpi 2 timeout 100 mpirun.openmpi -n 4 "$prog" both "$bcast"
		PMIX_NAMESPACE=none timeout 60 "$plain" world "$bcast" >"$TMP/out" 2>&1
		check meet.openmpi.no_server grep -q '^world: PMIx_Init' "$TMP/out"
	else
		timeout 60 mpirun.openmpi -n 4 "$plain" world "$bcast" >"$TMP/out" 2>&1
		check meet.openmpi.without grep -q 'built without pmix.h' "$TMP/out"
	fi
done
finish
