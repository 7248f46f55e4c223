#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What a job meets from outside: signals, limits of the process. STORM=100 rounds and FILES=64, each limit up to that, are
# the campaign.
set -u
. "$(dirname "$0")/lib.sh"
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

# A rank that ends well without having joined: the others need not wait for it.
timeout 20 "$goalrun" -n 3 -- sh -c '[ "$GOAL_RANK" = 1 ] || exec "$0" world "$1"' "$BUILD/tests/rt-meet" "$bcast" \
	>"$TMP/out" 2>"$TMP/err"
rc=$?
check faults.ends_before [ $rc -eq 1 -a "$(grep -c '^world: rank 1 has ended, it did not join the group' "$TMP/err")" -eq 2 ]
finish
