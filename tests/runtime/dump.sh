#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Dumps of a hang: ranks that wait for a rank that does not start print what each op waits for, on SIGUSR1 and after a time.
set -u
. "$(dirname "$0")/../lib.sh"
stuck=$BUILD/tests/rt-stuck
goalrun=$BUILD/bin/goalrun
cp "$ROOT/schedules/bcast_binomial.goal" "$TMP/bcast.goal"
cd "$TMP" || exit 1
recv=$(grep -n 'recv data' bcast.goal | cut -d: -f1) send=$(grep -n 'send data' bcast.goal | cut -d: -f1)

# until_true COMMAND... : within 20 s
until_true()
{
	local i

	for ((i = 0; i < 400; i++)); do
		"$@" && return 0
		sleep 0.05
	done
	return 1
}
waiting() { [ -e run/0 ] && [ -e run/1 ] && [ -e run/3 ]; }
# Rank 2 says what it waits for once it has started.
epoch=2
said() { [ "$(grep " epoch $epoch: op " err | grep -v '^rank 2:' | sort -u | tee got | wc -l)" -ge "$1" ]; }

# What rank 2's absence looks like; $1: " (FILE:LINE)" are known.
expected()
{
	cat <<-END
		rank 0: bcast_binomial epoch 2: op 0, recv data[0..1000) from rank 2 tag 0${1:+ (bcast.goal:$recv)}: waits for the message
		rank 0: bcast_binomial epoch 2: op 1, send data[0..1000) to rank 1 tag 0${1:+ (bcast.goal:$send)}: waits for op 0 (recv from rank 2)
		rank 1: bcast_binomial epoch 2: op 0, recv data[0..1000) from rank 0 tag 0${1:+ (bcast.goal:$recv)}: waits for the message
		rank 3: bcast_binomial epoch 2: op 0, recv data[0..1000) from rank 2 tag 0${1:+ (bcast.goal:$recv)}: waits for the message
	END
}

# try NAME LINES SIGNALS COMMAND... : LINES of output are expected; then rank 2 starts and all ends well.
try()
{
	local name=$1 lines=$2 signals=$3 pid rc

	shift 3
	rm -rf run diff && mkdir run
	: >got
	timeout 80 "$@" 2>err &
	pid=$!
	if ! until_true waiting; then
		fail "dump.$name the ranks do not wait: $(head -n 3 err)"
	else
		# For the child of timeout; goalrun passes it on to its ranks.
		[ "$signals" = 0 ] || kill -USR1 "$(pgrep -P $pid)"
		if [ "$lines" = 0 ]; then sleep 0.5; said 0; else until_true said "$lines"; fi
	fi
	touch run/go
	wait $pid
	rc=$?
	if [ "$rc" -eq 0 ] && diff want got >diff; then ok "dump.$name"; else
		fail "dump.$name status $rc: $(cat diff err 2>/dev/null | head -n 6 | tr '\n' '|')"; fi
}

expected lines >want
try signal.wait 4 1 "$goalrun" -n 4 -- "$stuck" bcast.goal run world wait
try signal.test 4 1 "$goalrun" -n 4 -- "$stuck" bcast.goal run world test
GOAL_WAIT=block try signal.asleep 4 1 "$goalrun" -n 4 -- "$stuck" bcast.goal run world wait
try signal.threads 4 1 "$stuck" bcast.goal run threads wait
try after.option 4 0 "$goalrun" --dump-after 1 -n 4 -- "$stuck" bcast.goal run world wait
GOAL_DUMP_AFTER=1 try after.threads 4 0 "$stuck" bcast.goal run threads test
goalc bcast.goal -o bcast.bin
expected '' >want
try signal.no_lines 4 1 "$stuck" bcast.bin run threads wait
# A multicast waits for one of its receivers.
cp "$ROOT/schedules/bcast_linear.goal" linear.goal
goalc linear.goal -o linear.bin
epoch=3
line="bcast_linear epoch 3: op"
cat >want <<-END
	rank 0: $line 0, send data[0..1000) to rank 1 tag 0: waits for another rank, to which the same bytes go
	rank 0: $line 1, send data[0..1000) to rank 2 tag 0: waits for the receiver to start its last epoch
	rank 0: $line 2, send data[0..1000) to rank 3 tag 0: waits for another rank, to which the same bytes go
	rank 1: $line 0, recv data[0..1000) from rank 0 tag 0: waits for the message
	rank 3: $line 0, recv data[0..1000) from rank 0 tag 0: waits for the message
END
try multicast 5 1 "$goalrun" -n 4 -- "$stuck" linear.bin run world wait 0
epoch=2
# The application's handler stays.
: >want
try signal.own 0 1 "$goalrun" -n 4 -- "$stuck" bcast.goal run world own
GOAL_DUMP_AFTER=soon timeout 20 "$goalrun" -n 2 --iters 2 bcast.bin >out 2>err
check dump.environment grep -q 'GOAL_DUMP_AFTER cannot be "soon"' err

# goalrun's own ranks: one is stopped.
timeout 60 "$goalrun" -n 2 --iters 1000000 bcast.goal >out 2>err &
pid=$!
rank_of() { pgrep -P "$(pgrep -P $pid || echo 0)" | sed -n "$1p"; }
until_true eval '[ -n "$(rank_of 2)" ]'
sleep 0.3
kill -STOP "$(rank_of 2)"
sleep 0.2
kill -USR1 "$(pgrep -P $pid)"
until_true grep -q '^rank 0: bcast_binomial epoch [0-9]*: op 0, send data.* to rank 1 tag 0 (bcast.goal:[0-9]*): waits for ' err
check dump.goalrun [ $? -eq 0 ]
kill -KILL "$(rank_of 2)"
wait $pid 2>/dev/null
finish
