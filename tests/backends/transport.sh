#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The backend mpi, on a transport of the tests (tests/rt/transport.c): random delays, changing data, requests of two groups at
# once, in other orders on each rank; STARTS starts. All messages go through the transport, or those between two nodes.
set -u
. "$(dirname "$0")/../lib.sh"
export GOAL_BACKEND=mpi
starts()
{
	program "transport.$1.$2.$3" "${LIMIT:-300}" env GOAL_PROGRESS="$2" TEAM_TRANSPORT="$3" "${@:5}" \
		"$BUILD/tests/rt-starts" "$ROOT/schedules" "${STARTS:-200}" "$4" "${SEED:-7}"
}
for progress in app thread collab; do
	for threads in app threads; do
		starts all $progress $threads processes GOAL_SHM=0
		starts nodes $progress $threads processes TEAM_NODES=2
	done
done
starts ranks_are_threads app app threads GOAL_SHM=0
program transport.calls 100 "$BUILD/tests/rt-transport_calls"
# A machine with an RDMA device that cannot be opened. Groups ask for it, and sleepers could have to wait for it.
cat >"$TMP/with_device" <<'END'
mount -t tmpfs none /sys/class && mkdir -p /sys/class/infiniband/none0 && exec "$@"
END
if unshare -m true 2>/dev/null; then
	timeout 100 unshare -m sh "$TMP/with_device" "$BUILD/tests/rt-transport_calls" >"$TMP/out" 2>&1
	check "transport.device_without_use $(grep -v ^ok "$TMP/out" | head -n 3)" [ "$(grep -c ^ok "$TMP/out")" = 8 ]
else
	skip transport.device_without_use: no mount namespace can be made here
fi
program transport.kill 100 env TEAM_TRANSPORT=app TEAM_NODES=2 "$BUILD/tests/rt-kill" "${RUNS:-3}" 1 5
# A backend that does not reach other nodes leaves groups with a transport to this one.
GOAL_BACKEND=shm starts default app app processes TEAM_NODES=3
finish
