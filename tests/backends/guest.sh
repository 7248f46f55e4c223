#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests the guests in which other tests run (tests/guest/run.sh): their equipment, how they end, and that they leave nothing
# behind.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1

# A device, files that are not the host's to change, a folder that is, output and exit status as they are.
cat >"$TMP/one" <<'END'
ibv_devinfo -d rxe0 | grep -q 'state:.*PORT_ACTIVE' && echo device
echo changed >"$1" && echo given >"$GUEST_SHARED/given"
echo complaint >&2
exit 42
END
echo kept >"$TMP/file"
guest -t 300 -s "$TMP/shared" bash "$TMP/one" "$TMP/file" >"$TMP/out" 2>"$TMP/err"
rc=$?
check "guest.status $rc" [ $rc = 42 ]
check guest.output [ "$(cat "$TMP/out" "$TMP/err")" = $'device\ncomplaint' ]
check guest.files [ "$(cat "$TMP/file" "$TMP/shared/given")" = $'kept\ngiven' ]

# Two: their devices and their shells reach each other; then one of them dies.
cat >"$TMP/two" <<'END'
ping() { timeout 30 ibv_rc_pingpong -d rxe0 -g 1 -m 4096 -s 65536 -n 20 -e "$@"; }
if [ "$GUEST_NODE" = 0 ]; then
	ping
	sleep 2
	echo survived
else
	for try in 1 2 3 4 5 6 7 8 9; do ping "$GUEST_PEER" 2>/dev/null && break; sleep 0.5; done
	timeout 60 ssh node0 hostname >"$GUEST_SHARED/name" # what it has just printed may be lost with it
	echo c >/proc/sysrq-trigger
	sleep 60
fi
END
guest -t 150 -n 2 -s "$TMP/shared" bash "$TMP/two" >"$TMP/out" 2>"$TMP/err"
rc=$?
check "guest.wire $(grep -c iters "$TMP/out")" [ "$(grep -c '^[01]: 20 iters' "$TMP/out")" = 2 ]
check guest.ssh grep -qx node0 "$TMP/shared/name"
check "guest.dies $rc" [ $rc = 125 ]
check guest.survives grep -qx '0: survived' "$TMP/out"
check guest.console grep -q 'node 1 died.*console' "$TMP/err" && check guest.console.panic grep -q 'Kernel panic' "$TMP/err"

# One that is not done in time, and one whose script is killed. What stays of them would be seen in a folder of their own.
mkdir "$TMP/tmp" "$TMP/bin"
TMPDIR=$TMP/tmp guest -t 2 sleep 1000 2>"$TMP/err"
rc=$?
check "guest.late $rc" [ "$rc $(grep -c 'not done after 2 s' "$TMP/err")" = "124 1" ]
for signal in TERM KILL; do
	TMPDIR=$TMP/tmp bash tests/guest/run.sh -s "$TMP/$signal" sleep 1000 >/dev/null 2>&1 &
	script=$!
	for ((i = 0; i < 600; i++)); do
		emulators=$(pgrep -f "path=$TMP/$signal,")
		[ -n "$emulators" ] && break
		sleep 0.05
	done
	kill -$signal $script
	wait $script 2>/dev/null
	for ((i = 0; i < 600; i++)); do
		left=$(pgrep -f "path=$TMP/$signal,")
		[ -n "$left" ] || break
		sleep 0.05
	done
	check "guest.killed $signal" [ "${emulators:+ran} $left" = "ran " ]
	[ $signal = KILL ] || check guest.nothing_left [ -z "$(ls -A "$TMP/tmp")" ]
done

# One that does not come up is begun anew, and given up in the end.
GUEST_PATIENCE=1 guest -t 60 true 2>"$TMP/err"
rc=$?
check "guest.stuck $rc" [ "$rc $(grep -c 'node 0 died; its console:' "$TMP/err")" = "125 3" ]

# A machine without an emulator.
for tool in bash dirname readlink uname sed; do ln -s "$(command -v $tool)" "$TMP/bin"; done
PATH=$TMP/bin bash tests/guest/run.sh true 2>"$TMP/err"
rc=$?
check "guest.missing $rc" [ "$rc $(grep -c 'there is no qemu' "$TMP/err")" = "125 1" ]
finish
