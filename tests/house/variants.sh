#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Another build, by clang with AddressSanitizer and UBSan, and what the library exports. SWEEP=all (make variants) has more builds:
# clang without warnings, failing allocations, and ThreadSanitizer. Each build has objects of its own next to BUILD, and only the
# programs that it runs.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1

asan="-fsanitize=address,undefined -fno-sanitize-recover=all"
# What is freed is kept from being used again for 8 MiB, not for 256: fresh pages are dear on some machines.
export ASAN_OPTIONS=quarantine_size_mb=8:handle_sigill=1
if [ "${SWEEP:-}" = all ]; then
	variant clang-plain CC=clang CFLAGS=-O0 all # with other flags than what fuzz.sh builds
	addresses=(tests/compiler/{diag,alloc}.sh tests/house/unit.sh tests/goalrun/plain.sh tests/runtime/{rt,matrix,starts}.sh) # alloc.sh makes allocations fail
	threads=(tests/runtime/{rt,wait,matrix}.sh)
	# shellcheck disable=SC2046
	variant hooked HOOK=1 SAN="$asan" CFLAGS="-O1 -g1" $(programs hooked "${addresses[@]}") &&
		SWEEP=pairs SCHEDULES=$SOME HOOKED=$BUILD-hooked LARGE=20000 KINDS=processes SIZES=3 STARTS=200 share hooked "${addresses[@]}"
	# shellcheck disable=SC2046
	variant tsan SAN=-fsanitize=thread CFLAGS="-O1 -g1" $(programs tsan "${threads[@]}" tests/runtime/{starts,progress}.sh) &&
		SWEEP=pairs SCHEDULES=$SOME LARGE=20000 KINDS=threads SIZES=3 STARTS=400 WAITS=200 share tsan "${threads[@]}" &&
		KINDS=threads STARTS=4000 share tsan tests/runtime/starts.sh &&
		KINDS=threads ITERS=5 SCHEDULES="bcast_chain.goal reduce_binomial.goal" share tsan tests/runtime/progress.sh
else
	addresses=(tests/compiler/diag.sh tests/house/unit.sh tests/goalrun/plain.sh)
	# shellcheck disable=SC2046
	# Without the samples of 64 and 100 ranks, each of which is a process that starts slowly here.
	variant clang "${CLANG[@]}" $(programs clang "${addresses[@]}") &&
		SAMPLES='!(bcast64|bcast100*)' FOLDERS='@(call|overflow|plain)' SUITES='collective engine loop board sweep svg nic verify' share clang "${addresses[@]}"
fi

# Only the public names leave the library.
extra=$(nm -D --defined-only "$BUILD/lib/libgoalsched.so" | awk '$2 != "A" { print $3 }' | grep -v '^MPIX_Sched_' | tr '\n' ' ')
check "variant.symbols $extra" [ -z "$extra" ]
# No state but that of contexts, and what SIGUSR1 and handlers of fork need; initialised pointers to constants are relocations only.
state=$(objdump -t "$BUILD/lib/libgoalsched.a" | awk '/ [.](bss|data)[^ \t]*\t/ && $NF !~ /^([.]|__)/ && !/[.]data[.]rel[.]ro/ { print $NF }' | sort | tr '\n' ' ')
check "variant.state $state" [ "$state" = "forks usr1 " ]
finish
