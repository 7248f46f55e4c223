#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Signals to a job, and limits of its processes. The campaign has STORM=100 rounds, and FILES=64 tries each limit of file
# descriptors up to that number.
set -u
. "$(dirname "$0")/../lib.sh"
STORM=${STORM:-1}
FILES=${FILES:-0}
goalrun=$BUILD/bin/goalrun
bcast=$ROOT/schedules/bcast_binomial.goal
for n in 1 2 3 4; do
	goalc "$bcast" -n $n -D root=0 -D count=5000 -T lower-smcq -o "$TMP/$n.5000.bin"
done

# storm NAME COMMAND... : signals all the time, and nothing goes wrong
storm()
{
	local name=$1 rc

	shift
	timeout $((STORM * 10 + 60)) "$@" >"$TMP/out" 2>"$TMP/err"
	rc=$?
	check "faults.storm.$name $(grep -m 1 -e ': rank [0-9]*: ' -e '^goalrun' "$TMP/err")" [ $rc -eq 0 ]
}
for progress in app thread collab; do
	export GOAL_PROGRESS=$progress
	storm shm.$progress "$BUILD/tests/rt-storm" "$STORM"
	TEAM_BINS=$TMP storm smcq.$progress "$goalrun" --backend smcq -n 1 -- "$BUILD/tests/rt-storm" "$STORM"
done
unset GOAL_PROGRESS
meet=("$BUILD/tests/rt-meet" world "$bcast")
# shellcheck disable=SC2016
wrapped=(sh -c '"$@"; exit $?' sh)
storm usr1.program "$BUILD/tests/rt-storm" exec "$goalrun" -n 3 -- "${meet[@]}"
storm usr1.wrapped "$BUILD/tests/rt-storm" exec "$goalrun" -n 3 -- "${wrapped[@]}" "${meet[@]}"
storm usr1.schedule "$BUILD/tests/rt-storm" exec "$goalrun" -n 3 --iters 500 "$bcast"

# The reader of a pipe goes: that is no rank that was killed.
{ timeout 20 "$goalrun" -n 3 -- yes 2>"$TMP/err"; echo $? >"$TMP/rc"; } | head -n 1 >"$TMP/out"
check faults.closed_pipe [ "$(cat "$TMP/rc" "$TMP/out" "$TMP/err" | tr '\n' ' ')" = "1 y " ]

# limited NAME LIMIT SENTENCE COMMAND... : it succeeds, or says what the limit is, soon
limited()
{
	local name=$1 limit=$2 text=$3 rc

	shift 3
	# shellcheck disable=SC2086
	(ulimit $limit && exec timeout 5 "$@") 2>&1 >/dev/null | cat >"$TMP/err" # cat has no limit
	rc=${PIPESTATUS[0]}
	[ $rc -eq 0 ] && return
	[ $rc -ne 124 ] && ! grep -q 'killed by signal' "$TMP/err" && grep -q "$text" "$TMP/err" && return
	bad="$bad, $limit: status $rc, $(head -n 2 "$TMP/err" | tr '\n' '|')"
}
# limits NAME LETTER SENTENCE NUMBER... : of schedules and programs
limits()
{
	local name=$1 letter=$2 text=$3 n bad=''

	shift 3
	for n; do
		limited $name "-$letter $n" "$text" "$goalrun" -n 3 --iters 20 "$bcast"
		limited $name "-$letter $n" "$text" "$goalrun" -n 3 --backend smcq --iters 20 "$bcast"
		limited $name "-$letter $n" "$text" "$goalrun" -n 3 -- "${meet[@]}"
		limited $name "-$letter $n" "$text" "$goalrun" -n 3 -- sh -c "$limit_one" sh $n "${meet[@]}"
	done
	check "faults.limit.$name$bad" [ -z "$bad" ]
}
# The last rank alone has the limit, goalrun has another.
limit_one='n=$1; shift; [ "$GOAL_RANK" -lt 2 ] || ulimit -n $n; exec "$@"'
files='file descriptors\|Too many open files\|Error 24' # the last are the loader's
# shellcheck disable=SC2046
if [ "$FILES" -gt 0 ]; then limits files n "$files" $(seq 3 "$FILES"); else limits files n "$files" 3 7 9 12 15 18; fi
nodes() { limited files "-n $1" "$files" "$goalrun" -n 3 -- sh -c 'GOAL_NODE=n$GOAL_RANK exec "$@"' sh "${meet[@]}"; }
files="$files\|is on another node" # far enough: shared memory does not reach it
bad=''
for n in $([ "$FILES" -gt 0 ] && seq 3 "$FILES" || echo 9 11); do nodes "$n"; done
check "faults.limit.nodes$bad" [ -z "$bad" ]
limit_one='n=$1; shift; [ "$GOAL_RANK" -lt 2 ] || ulimit -f $n; exec "$@"'
limits file_size f 'ulimit -f' 0 1 64 1024

# A program unloads the library, in which objects are left.
check faults.unload timeout 20 "$BUILD/tests/unload" "$BUILD/lib/libgoalsched.so"

# A rank that ends well without having joined: the others need not wait for it.
timeout 20 "$goalrun" -n 3 -- sh -c '[ "$GOAL_RANK" = 1 ] || exec "$0" world "$1"' "$BUILD/tests/rt-meet" "$bcast" \
	>"$TMP/out" 2>"$TMP/err"
rc=$?
check faults.ends_before [ $rc -eq 1 -a "$(grep -c '^world: rank 1 has ended, it did not join the group' "$TMP/err")" -eq 2 ]
finish
