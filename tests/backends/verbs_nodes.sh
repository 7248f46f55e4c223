#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks on two nodes, which are guests joined by two wires. Within one schedule, ranks of a node use shared memory and others
# Soft-RoCE. The ranks are started by goalrun --hosts over ssh. Every byte of every start is checked, and the
# device of each message. For schedules that go node by node, each message must cross the network once. SWEEP=pairs runs
# more schedules and choices of devices, and starts ranks by mpirun; SWEEP=all (make check-verbs) also an example.
set -u
. "$(dirname "$0")/../lib.sh"
SWEEP=${SWEEP:-share}
cd "$ROOT" || exit 1
if [ -z "${GUEST_NODE:-}" ]; then
	cc -O2 -Iinclude -o "$TMP/program" examples/overlap_bcast.c -L"$BUILD/lib" -lgoalsched -Wl,-rpath,"$BUILD/lib" ||
		fail verbs_nodes.program
	guests verbs_nodes 400 "-n 2 -d 2" env BUILD="$BUILD" SWEEP="$SWEEP" PROGRAM="$TMP/program" bash tests/backends/verbs_nodes.sh
	finish
fi
if [ "$GUEST_NODE" = 1 ]; then # its ranks come by ssh
	until [ -e "$GUEST_SHARED/done" ]; do sleep 0.2; done
	exit 0
fi
trap 'rm -rf "$TMP"; : >"$GUEST_SHARED/done"' EXIT

# hosts NAME SCHEDULE OPTIONS...
hosts()
{
	local name=$1 s=$2

	shift 2
	if timeout 120 "$BUILD/bin/goalrun" --hosts node0,node1 --backend verbs --verify "$@" "schedules/$s.goal" \
		>"$TMP/out" 2>"$TMP/err" </dev/null && grep -q '^messages: [1-9][0-9]* by RDMA, [1-9][0-9]* by shared memory$' "$TMP/out"; then
		ok "verbs_nodes.$name $s: $(tail -n 1 "$TMP/out") ($SECONDS s)"
	else
		fail "verbs_nodes.$name $s $*: $(sort -u "$TMP/err" | tail -n 3)"
	fi
}
# Ranks that poll keep a guest's only CPU from the others, which costs the share twice the time.
[ "$SWEEP" != share ] || export GOAL_WAIT=block
[ "$SWEEP" = share ] || hosts bcast bcast_binomial -n 4 --root 0,3 --count 1,1000,20000 --iters 3 --warmup 1
[ "$SWEEP" = all ] && hosts allreduce allreduce_recursive_doubling -n 4 --count 1,1000,20000 --iters 3 --warmup 1

# once SCHEDULE MESSAGES ELEMENTS RANKS HOSTS OPTIONS... : node by node, one start and three more send so many messages from
# node to node, of so many doubles
once()
{
	local s=$1 want="$(($2 * 4)) $(($2 * 4 * $3 * 8))" got

	if ! timeout 120 "$BUILD/bin/goalrun" -n "$4" --hosts "$5" --backend verbs --verify --stats -T hierarchy --count "$3" --iters 3 \
		--warmup 1 "${@:6}" "schedules/$s.goal" >"$TMP/out" 2>"$TMP/err" </dev/null; then
		fail "verbs_nodes.once $s ${*:2}: $(sort -u "$TMP/err" | tail -n 3)"
		return
	fi
	got=$(awk '/^ rank/ { on = /links/; next } on && NF == 6 { m += $5; b += $6 } END { print m, b }' "$TMP/out")
	check "verbs_nodes.once $s ${*:2}: messages and bytes over the network: $got ($SECONDS s)" [ "$got" = "$want" ]
}
[ "$SWEEP" = all ] && once bcast_binomial 1 20000 5 node0:2,node1:3 --root 4
once allreduce_recursive_doubling 2 1000 5 node0:3,node1:2

# Both devices, by turns; the one that ops name, or the user; and one that is down on one node only.
packets() { cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts /sys/class/infiniband/rxe1/ports/1/hw_counters/sent_pkts; }
# devices NAME WANT OPTIONS... : which devices send more than what a connection takes
devices()
{
	local name=$1 want=$2 before after d got=''

	shift 2
	mapfile -t before < <(packets)
	timeout 120 "$BUILD/bin/goalrun" --backend verbs --iters 20 --warmup 0 "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	mapfile -t after < <(packets)
	for d in 0 1; do [ $((after[d] - before[d])) -lt 20 ] || got+=$d; done
	check "verbs_nodes.devices $name: $((after[0] - before[0])) packets by rxe0, $((after[1] - before[1])) by rxe1 ($SECONDS s)" \
		[ "$got" = "$want" ]
}
cat >"$TMP/nics.goal" <<'END'
schedule nics(from, to)
buffer inout data[count]
rank r of p {
  if r == 0 { for i = 0 to 3 { send data[i] to p / 2 tag i nic from } }
  if r == p / 2 { for i = 0 to 3 { recv data[i] from 0 tag i nic to } }
}
END
nodes="--hosts node0,node1 -n 4" alone="--no-shm -n 2"
# shellcheck disable=SC2086
{
	devices turns 01 $nodes --verify --count 1000 schedules/allgather_ring.goal
	[ "$SWEEP" = share ] || devices named 1 $alone --count 4 -D from=1 -D to=3 "$TMP/nics.goal"
	devices unlike '' $alone --count 4 -D from=1 -D to=0 "$TMP/nics.goal"
	check "verbs_nodes.devices unlike: $(head -n 1 "$TMP/err")" \
		grep -q 'rank 0: 4 messages with rank 1 have 0 partners on the same nic$' "$TMP/err"
	[ "$SWEEP" = share ] || GOAL_VERBS_DEVICE=rxe1 devices chosen 1 $alone --verify --count 1000 schedules/allgather_ring.goal
	[ "$SWEEP" = share ] || GOAL_VERBS_DEVICE=rxe1,rxe0,rxe2 devices missing '' $alone --count 1000 schedules/allgather_ring.goal
	if [ "$SWEEP" != share ]; then
		ssh node1 ip link set eth1 down
		devices down 0 $nodes --verify --count 1000 schedules/allgather_ring.goal
		ssh node1 ip link set eth1 up
	fi
}

# The peer's wire is not found while ranks bind; by their other wire they can talk.
ssh node1 ip link set eth1 arp off
ip neigh flush dev eth1
GOAL_VERBS_DEVICE=rxe1 devices lost '' --hosts node0,node1 -n 2 --count 1000 schedules/bcast_binomial.goal
check "verbs_nodes.lost $(head -n 1 "$TMP/err")" grep -q ': rank 0: rank 1 cannot be reached: Connection timed out$' "$TMP/err"
ssh node1 ip link set eth1 arp on

# A rank leaves the group while what it has sent is on a slow wire; the ranks' other wire, by which they learn that, is fast.
tc qdisc add dev eth1 root netem delay 200ms
GOAL_VERBS_DEVICE=rxe1 timeout 60 "$BUILD/bin/goalrun" --hosts node0,node1 -n 2 --backend verbs --verify --count 1 --iters 1 --warmup 0 \
	schedules/bcast_binomial.goal >"$TMP/out" 2>"$TMP/err" </dev/null
check "verbs_nodes.left $(tail -qn 1 "$TMP/out" "$TMP/err" | tr '\n' ' ')($SECONDS s)" grep -q '^verified: all 1 case right' "$TMP/out"
tc qdisc del dev eth1 root

[ "$SWEEP" != share ] || finish # starting mpirun takes as long as all before

# By mpirun, with PMIx: programs that look at every element.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# mpirun NAME COMMAND... : on 4 ranks
mpirun()
{
	local name=$1

	shift
	timeout 200 mpirun.openmpi --host node0:2,node1:2 -n 4 -x GOAL_BACKEND=verbs -x GOAL_SELECT --mca oob_tcp_if_include 10.77.0.0/24 \
		"$@" >"$TMP/out" 2>"$TMP/err" </dev/null && return
	fail "verbs_nodes.$name $(cat "$TMP/out" "$TMP/err" | tail -n 5 | tr '\n' '|')"
	return 1
}
if ! command -v mpirun.openmpi >/dev/null; then
	skip verbs_nodes.mpirun there is no mpirun.openmpi
	finish
fi
[ "$SWEEP" = all ] && mpirun mpirun "$PROGRAM" schedules/bcast_binomial.goal &&
	check "verbs_nodes.mpirun $(head -n 1 "$TMP/out") ($SECONDS s)" grep -q 'to 4 ranks, every element right' "$TMP/out"

# The nodes are those that PMIx tells; in the second group their ranks take turns.
printf '%s any any %s any -> %s/schedules/%s.goal -T hierarchy\n' MPI_Bcast any "$ROOT" bcast_binomial \
	MPI_Allreduce builtin "$ROOT" allreduce_recursive_doubling >"$GUEST_SHARED/table"
export GOAL_SELECT=$GUEST_SHARED/table
# sent COLLECTIVE MESSAGES : over the network in five starts
sent()
{
	check "verbs_nodes.mpirun_once $(grep "^$1:" "$TMP/out" | sort | tr '\n' ' ')($SECONDS s)" \
		[ "$(awk -v name="$1:" '$1 == name { n++; m += $5 } END { print n, m }' "$TMP/out")" = "4 $((5 * $2))" ]
}
if mpirun mpirun_once "$BUILD/tests/rt-hierarchy" MPI_Bcast turns MPI_Allreduce; then
	sent MPI_Bcast 1
	sent MPI_Allreduce 2
fi
finish
