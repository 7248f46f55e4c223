#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Groups with ranks on several nodes, by goalrun --hosts and by mpirun. The nodes are this machine under several names, and network
# namespaces that are joined by a link, if these can be made.
set -u
. "$(dirname "$0")/../lib.sh"
goalrun=$BUILD/bin/goalrun nodes=$BUILD/tests/rt-nodes
cleanup()
{
	drop_spaces "goal-$$"
	rm -rf "$TMP"
}
trap cleanup EXIT
cd "$TMP" || exit 1

program nodes 300 "$nodes"
# Who carries messages leaves while others are still told: a matter of moments, so several times, and beside others.
for ((i = 0; i < 16; i++)); do
	timeout 60 "$nodes" splits.4 >out.$i 2>&1 &
	[ $((i % 4)) -lt 3 ] || wait
done
check "nodes.splits.often $(grep -hv '^ok' out.*)" [ "$(cat out.* | grep -cx 'ok nodes.splits.4')" -eq 16 ]
for mode in thread collab; do
	GOAL_PROGRESS=$mode timeout 60 "$nodes" binds >out 2>&1
	check "nodes.$mode" grep -q '^ok nodes.binds$' out
done

# ---- hosts that are names ----

cat >rsh <<'EOS'
#!/bin/sh
host=$1; shift
export GOAL_NODE=$host
exec sh -c "exec $*"
EOS
chmod +x rsh
export GOAL_RSH=$TMP/rsh
# Messages that stay on a host of two ranks, which is what shared memory carries.
cat >pairs.goal <<'EOS'
num_ranks 4
rank 0 {
a: send 100b to 1
b: recv 70b from 1
}
rank 1 {
a: recv 100b from 0
b: send 70b to 0
}
rank 2 {
a: send 100000b to 3
b: recv 70b from 3
}
rank 3 {
a: recv 100000b from 2
b: send 70b to 2
}
EOS

# gives NAME STATUS TEXT OPTIONS... : goalrun ends with that status, having printed that
gives()
{
	local name=$1 status=$2 text=$3 rc

	shift 3
	timeout 60 "$goalrun" "$@" >out 2>err </dev/null
	rc=$?
	if [ $rc -eq "$status" ] && cat out err | grep -q -e "$text"; then ok "hosts.$name"; else
		fail "hosts.$name status $rc: $(cat out err | head -n 3 | tr '\n' '|')"; fi
}
# prints NAME WANT OPTIONS... : these lines, in any order
prints()
{
	local name=$1 want=$2

	shift 2
	timeout 60 "$goalrun" "$@" </dev/null >out 2>err
	if [ "$(sort out)" = "$want" ]; then ok "hosts.$name"; else
		fail "hosts.$name $(cat out err | head -n 5 | tr '\n' '|')"; fi
}
four=$(printf 'rank %d of 4\n' 0 1 2 3)

# An agent that is busy for longer than a host may be silent, before its ranks begin; meanwhile the rest.
cat >busy.c <<'EOS'
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int memfd_create(const char *name, unsigned flags)
{
	unsetenv("LD_PRELOAD");
	sleep(7);
	return (int)syscall(SYS_memfd_create, name, flags);
}
EOS
cc -shared -fPIC -o busy.so busy.c
printf '#!/bin/sh\nLD_PRELOAD=%s/busy.so exec %s/rsh "$@"\n' "$TMP" "$TMP" >busy_rsh
chmod +x busy_rsh
{ GOAL_RSH=$TMP/busy_rsh timeout 60 "$goalrun" -n 2 --hosts a,b -- echo it runs >busy 2>&1 </dev/null; echo $? >>busy; } &
busy=$!

gives schedule 0 '^verified: all 1 case right' --hosts a,b --iters 20 pairs.goal
gives cases 0 '^verified: all 4 cases right' --hosts a,b --iters 10 --memory heap,private,staged,moved pairs.goal
gives json 0 '"median_us": [1-9].*"ranks": 4, "backend": "shm", "verified": true, "iters": 20' --hosts a,b --iters 20 --json pairs.goal
gives one_host 0 '^verified: all 4 cases right' -n 4 --hosts a --iters 10 --root all "$ROOT/schedules/bcast_binomial.goal"
gives pass 0 '^verified: all 1 case right' -n 4 --hosts a --iters 10 -T segment:size=512 "$ROOT/schedules/bcast_binomial.goal"
gives placed 0 '^verified: all 1 case right' -n 4 --hosts a,b --iters 10 --progress thread --comm-cores 1 pairs.goal
gives refused 1 'rank 2 is on another node, which shared memory does not reach: GOAL_BACKEND=verbs does' \
	-n 4 --hosts a,b "$ROOT/schedules/bcast_binomial.goal"
check hosts.refused_by_all [ "$(sed -n 's/^goalrun: \(ranks* [0-9, -]*\): .*is on another node.*/\1/p' err | tr '\n' ' ')" = 'ranks 0-3 ' ]
prints world "$four" -n 4 --hosts a,b -- "$nodes" world 2
prints even "$(printf '%s\n' '0 a' '1 a' '2 a' '3 b' '4 b' '5 c' '6 c')" -n 7 --hosts a,b,c -- sh -c 'echo $GOAL_RANK $GOAL_NODE'
prints counts "$(printf '%s\n' '0 a' '1 b' '2 b')" --hosts a:1,b:2 -- sh -c 'echo $GOAL_RANK $GOAL_NODE'
prints fewer "$(printf '%s\n' '0 a' '1 b')" -n 2 --hosts a:1,b:2,c:4 -- sh -c 'echo $GOAL_RANK $GOAL_NODE'
mkdir here && cd here || exit 1
MINE='two words' prints environment "$(printf '%s\n' here here 'two words' 'two words')" -n 2 --hosts a,b -- \
	sh -c 'echo "$MINE"; basename "$PWD"'
cd ..
prints localhost "$(printf '%s\n' 0 1)" -n 2 --hosts a,localhost -- sh -c 'echo $GOAL_RANK'
head -c 300000 /dev/urandom >data
timeout 60 "$goalrun" -n 3 --hosts a,b -- sh -c 'if [ $GOAL_RANK = 0 ]; then cat; else cat >&2; fi' <data >out 2>err
check hosts.input cmp -s data out
check hosts.input_of_others [ ! -s err ]
timeout 60 "$goalrun" -n 2 --hosts a,b -- sh -c 'head -c 3000000 /dev/zero' </dev/null 2>err | (sleep 0.5; wc -c) >out
check hosts.output [ "$(cat out)" = 6000000 ]

# What ranks print is lost: the job fails, and ends if a pipe has no reader.
timeout 60 "$goalrun" -n 2 --hosts a,b -- echo hi >/dev/full 2>err </dev/null
rc=$?
check "hosts.full status $rc" [ "$rc $(cat err)" = '1 goalrun: standard output: No space left on device' ]
{ timeout 60 "$goalrun" -n 2 --hosts a,b -- yes 2>err </dev/null; echo $? >status; } | sed -n 1q
check "hosts.pipe $(cat status err)" [ "$(cat status err)" = 1 ]

# Energy is measured where the ranks are, and not told.
gives joules 0 '"joules": null' --hosts a,b --iters 5 --wait block --json pairs.goal

gives usage.nobody 2 'a name is missing' --hosts , pairs.goal
gives usage.count 2 'from 1 to 4096' --hosts a:0 pairs.goal
gives usage.many 2 '--hosts gives 4097 ranks; there are at most 4096' --hosts a:4096,b:1 -- true
gives usage.mixed 2 'either all hosts have a number of ranks' --hosts a:2,b pairs.goal
gives usage.option 2 'no name of a host' --hosts -oProxyCommand=x pairs.goal
gives usage.room 2 'has room for 3 ranks, not for 4' --hosts a:1,b:2 pairs.goal
gives usage.overlap 2 'does not go with --hosts' --hosts a,b --overlap pairs.goal
gives usage.ranks 2 'number of ranks is missing' --hosts a,b -- true
GOAL_RSH=/no/such gives no_shell 1 'host [ab]: the remote shell ended with status 127' --hosts a,b pairs.goal
GOAL_RSH='false' gives shell_fails 1 'host [ab]: the remote shell ended with status 1 before goalrun answered' --hosts a,b pairs.goal
GOAL_RSH='echo welcome to' gives shell_talks 1 'host [ab]: its login prints something' --hosts a,b pairs.goal
GOAL_RSH=' ' gives shell_blank 0 '^on$' -n 1 --hosts localhost -- echo on # as without GOAL_RSH
GOAL_RSH="env $(printf 'A%s=1 ' {1..70}) LONG=$(printf '%0600d' 0) $TMP/rsh" gives shell_long 0 '^on$' -n 1 --hosts a -- echo on
gives no_program 1 'no_such_program: No such file' -n 2 --hosts a,b -- no_such_program

# ---- ends: nothing is left ----

# end : the status of the job, which has half a minute
end()
{
	local i

	for ((i = 0; i < 300; i++)); do kill -0 $pid 2>/dev/null || break; sleep 0.1; done
	kill -KILL $pid 2>/dev/null
	wait $pid 2>/dev/null
}
mark=98765.$$
left() { pgrep -f "sleep $mark" >/dev/null; }
# gone NAME STATUS TEXT : soon nothing is left of a job, whose status and text these were
gone()
{
	local name=$1 status=$2 text=$3 rc i

	end
	rc=$?
	for ((i = 0; i < 100; i++)); do left || break; sleep 0.1; done
	if ! left && [ $rc -eq "$status" ] && grep -q -e "$text" out; then ok "hosts.$name"; else
		fail "hosts.$name status $rc, left: $(pgrep -f "sleep $mark" | wc -l): $(tail -n 3 out | tr '\n' '|')"; fi
}
# job PROGRAM : on two hosts, in the background; it has printed "on" on all ranks
job()
{
	local i

	: >out # what the one before has said does not count
	"$goalrun" -n 4 --hosts a,b -- sh -c "echo on; $1" >out 2>&1 </dev/null &
	pid=$!
	for ((i = 0; i < 200; i++)); do [ "$(grep -c '^on' out)" -eq 4 ] && break; sleep 0.05; done
}
job "[ \$GOAL_RANK = 3 ] && exit 3; sleep $mark"
gone fails 1 on
job "[ \$GOAL_RANK = 1 ] && kill -SEGV \$\$; sleep $mark"
gone crashes 1 '^goalrun: rank 1: killed by signal 11'
job "exec sleep $mark"
kill -INT $pid
gone interrupted 130 '^goalrun: interrupted$'
job "exec sleep $mark"
kill -KILL $pid
gone killed 137 on
job "exec sleep $mark"
kill -KILL "$(pgrep -P $pid | head -n 1)" # the shell of a host, which has become its agent
gone agent_killed 1 '^goalrun: host [ab]: the connection has ended'
job 'trap "echo took it; exit 0" USR1; i=0; while [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done'
kill -USR1 $pid
gone usr1 0 'took it'
check hosts.usr1_on_all [ "$(grep -c '^took it' out)" -eq 4 ]

wait $busy
check hosts.busy_agent [ "$(tr '\n' ' ' <busy)" = 'it runs it runs 0 ' ]

# A rank is killed: the others hear of it, on whatever host.
: >out
"$goalrun" -n 4 --hosts a,b -- "$nodes" until >out 2>&1 </dev/null &
pid=$!
for ((i = 0; i < 200; i++)); do [ "$(grep -c pid out)" -eq 4 ] && break; sleep 0.05; done
kill -KILL "$(sed -n 's/^rank 2 is pid //p' out)"
end
check hosts.rank_dies [ "$(grep -c 'heard after less than 5 s: .*rank 2 died' out)" -eq 3 ]

# ---- hosts that are network namespaces ----

make_spaces "goal-$$" 1 2 2>err
case $? in
0) ;;
77)
	skip "hosts.spaces network namespaces cannot be made here: $(head -n 1 err)"
	finish
	;;
*)
	fail "hosts.spaces $(head -n 1 err)"
	finish
	;;
esac
space_rsh "goal-$$" rsh
# Takes as long as nodes wait for each other; meanwhile the rest.
GOAL_ADDRESS=lo timeout 60 "$goalrun" -n 2 --hosts a,b -- "$nodes" world 1 >wrong 2>&1 </dev/null &
wrong=$!
gives spaces.schedule 0 '^verified: all 1 case right' --hosts a,b --iters 20 pairs.goal
prints spaces.world "$four" -n 4 --hosts a,b -- "$nodes" world 2
GOAL_ADDRESS=10.77.0.0/16 prints spaces.network "$four" -n 4 --hosts a,b -- "$nodes" world 2
: >out
"$goalrun" -n 4 --hosts a,b -- "$nodes" until >out 2>&1 </dev/null &
pid=$!
for ((i = 0; i < 200; i++)); do [ "$(grep -c pid out)" -eq 4 ] && break; sleep 0.05; done
in_space "goal-$$-b" ip link set veth2 down
end
check hosts.spaces.link_down [ "$(grep -c 'heard after less than 5 s: .*died, or its node cannot be reached' out)" -eq 4 ]
in_space "goal-$$-b" ip link set veth2 up

wait $wrong
check hosts.spaces.wrong_network grep -q 'the node of rank 0 cannot be reached at port .*; GOAL_ADDRESS can name the network' wrong

if ! command -v mpirun.openmpi >/dev/null || ! pkg-config --exists pmix; then
	skip "hosts.spaces.mpirun there is no mpirun.openmpi, or no PMIx"
	finish
fi
open_mpi
# By name: PRRTE forgets how many ranks an address may have.
in_space "goal-$$-a" timeout 100 mpirun.openmpi --host a:2,b:2 --mca plm_rsh_agent "$TMP/rsh" -n 4 "$nodes" world 2 >out 2>err </dev/null
if [ "$(sort out)" = "$four" ]; then ok hosts.spaces.mpirun; else
	fail "hosts.spaces.mpirun $(cat out err | head -n 5 | tr '\n' '|')"; fi
finish
