#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Kills ranks that join, bind or run on Soft-RoCE in a guest. No survivor may hang, each must get an error within 5 s, and
# nothing may be left. RUNS=40 is the campaign (make kill-verbs).
set -u
. "$(dirname "$0")/../lib.sh"
RUNS=${RUNS:-6}
SEED=${SEED:-1}
cd "$ROOT" || exit 1
if [ -z "${GUEST_NODE:-}" ]; then
	guests verbs_kill $((RUNS * 40 + 120)) "-c 1" env BUILD="$BUILD" RUNS="$RUNS" SEED="$SEED" bash tests/backends/verbs_kill.sh
	finish
fi

for progress in app thread; do
	program verbs_kill.$progress $((RUNS * 20)) env GOAL_BACKEND=verbs GOAL_SHM=0 GOAL_PROGRESS=$progress "$BUILD/tests/rt-kill" \
		$((RUNS / 2)) "$SEED" 5
done
pairs=$(rdma resource show qp | grep -c 'type RC')
check "verbs_kill.nothing_left $pairs pairs" [ "$pairs $(ls -A /dev/shm)" = "0 " ]
finish
