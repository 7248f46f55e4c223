#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Start and wait make no system call and no allocation if the peers have already started.
set -u
. "$(dirname "$0")/../lib.sh"
prog=$BUILD/tests/rt-fastpath

if timeout 100 "$prog" >"$TMP/out" 2>&1; then
	ok fastpath.no_allocation "$(grep -c ' 0 allocations' "$TMP/out") phases"
else
	fail fastpath.no_allocation "$(tail -n 1 "$TMP/out")"
fi
can_trace fastpath.no_syscall || finish
# -ff: a file per process. What stands between a pair of getppid is counted.
timeout 200 strace -ff -o "$TMP/trace" "$prog" >/dev/null 2>&1 || fail fastpath.no_syscall the traced run failed
calls=$(awk '
	FNR == 1 { on = 0 }
	/^getppid/ { on = !on; marks++; next }
	on { n++; if (n <= 3) print "  " $0 > "/dev/stderr" }
	END { print n + 0, marks + 0 }' "$TMP"/trace.*)
if [ "$calls" = "0 12" ]; then
	ok fastpath.no_syscall 297 starts and waits on both ranks
else
	fail fastpath.no_syscall "system calls and marks: $calls"
fi
finish
