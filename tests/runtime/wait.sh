#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks that sleep while they wait: WAITS waits with random delays for each path of a message. The campaign (make epoch) has
# 20000.
set -u
. "$(dirname "$0")/../lib.sh"
for kind in ${KINDS:-processes threads}; do
	program wait.$kind "${LIMIT:-900}" "$BUILD/tests/rt-wait" "${WAITS:-1500}" "$kind" "${SEED:-1}"
	program wait.crowd.$kind 60 "$BUILD/tests/rt-crowd" "$kind"
done

# Who sleeps hears of deaths, too.
case " ${KINDS:-processes} " in
*processes*)
	GOAL_WAIT=block timeout 100 "$BUILD/tests/rt-kill" 5 "${SEED:-1}" >"$TMP/out" 2>&1
	check "wait.kill $(tail -n 1 "$TMP/out")" grep -q '^ok' "$TMP/out"
	;;
esac
GOAL_WAIT=nap timeout 20 "$BUILD/bin/goalrun" -n 2 --iters 2 "$ROOT/schedules/bcast_binomial.goal" >"$TMP/out" 2>&1
check wait.environment grep -q 'GOAL_WAIT cannot be "nap"' "$TMP/out"
finish
