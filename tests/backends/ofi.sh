#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The engine ofi: command queues on libfabric's deferred work (provider sockets), and the limits of that provider.
# SWEEP=all (make matrix) has more schedules, and more starts of more segments. Each process that loads libfabric takes 0.15 s of CPU,
# in which a provider that is not asked for reads the names of the whole kernel.
set -u
. "$(dirname "$0")/../lib.sh"
export FI_SOCKETS_PE_WAITTIME=0 # its threads do not spin
export MALLOC_PERTURB_=165 # what is used after it has been freed is no longer what it was

# binary NAME RANKS SCHEDULE ARGS... : a lowered schedule
binary()
{
	local name=$1 n=$2 schedule=$3

	shift 3
	goalc "$ROOT/schedules/$schedule.goal" -n "$n" "$@" -o "$TMP/$name.bin"
}
# moved NAME TEXT ARGS... : goalrun says that every byte of every start is right
moved()
{
	local name=$1 text=$2

	shift 2
	timeout 100 "$BUILD/bin/goalrun" --verify --warmup 0 --backend smcq "$@" >"$TMP/out" 2>"$TMP/err"
	if [ $? -eq 0 ] && grep -qx "$text" "$TMP/out"; then ok "ofi.$name"; else
		fail "ofi.$name $(head -c 300 "$TMP/err")"; fi
}
all() { [ "${SWEEP:-}" = all ]; }
all && segments=300 starts=20 || segments=60 starts=6
chain() { binary "chain$1" "$1" bcast_chain -D root=0 -D count=600 -D segments=$segments -T lower-smcq; }

if ! ldconfig -p | grep -q 'libfabric\.so\.1'; then
	skip "ofi: there is no libfabric"
	finish
fi

# One binary, both engines. Each counter begins four starts before its largest value: all that start more often come
# past that.
for n in 3 $(all && echo 5 8); do
	chain $n
	moved "chain.$n" 'verified: all 1 case right' -n $n --count 600 --root 0 --iters $starts --engine ofi "$TMP/chain$n.bin"
done
binary torus 8 bcast_trinaryx3 -D count=60 -D segments=4 -T lower-smcq
for engine in model ofi; do
	moved "same.$engine" 'verified: all 2 cases right' -n 8 --ranks threads --count 60 --root 5 --memory heap,private \
		--iters 10 --seed 3 --engine $engine "$TMP/torus.bin"
done

# Ranks that make no call relay, each start from other memory, while a second request counts for itself.
chain 4
program relay 100 env GOAL_BACKEND=smcq GOAL_ENGINE=ofi "$BUILD/tests/rt-relay" 4 600 "$TMP/chain4.bin"

# Ranks that leave: who still waits for them is told, and who frees his request later does not wait for them.
truncate -s 4096 "$TMP/meet.0"
# offload MODE NUMBER : its output, of 4 ranks
offload()
{
	cp "$TMP/meet.0" "$TMP/meet"
	timeout 60 "$BUILD/bin/goalrun" -n 4 --backend smcq --engine ofi -- "$BUILD/tests/rt-offload" "$1" "$TMP/chain4.bin" \
		"$TMP/meet" 600 heap "$2" >"$TMP/out" 2>"$TMP/err"
}
offload leave 1
check ofi.left [ "$(grep -c '^told rank [023]: rank [012] has left the group$' "$TMP/out")" -eq 3 ]
check ofi.turns offload turns 400

# 3000 puts are released at once: more than the provider's ring holds.
binary burst 3 bcast_chain -D root=0 -D count=3000 -D segments=3000 -T lower-smcq:post=1
moved burst 'verified: all 1 case right' -n 3 --ranks threads --count 3000 --root 0 --iters 6 --engine ofi "$TMP/burst.bin"

# Queues of all kinds: many of them, much credit at a time, puts to oneself, and ops of the CPU.
for s in alltoall_pairwise barrier_tree allreduce_ring $(all && echo scatter_binomial allgather_bruck); do
	binary "$s" 4 $s -D count=24 -T lower-smcq:assist=1,sps=4,cqs=256
	moved "queues.$s" 'verified: all [1-9] cases* right' -n 4 --ranks threads --iters 8 --engine ofi \
		$(grep -q count "$ROOT/schedules/$s.goal" && echo --count 24) "$TMP/$s.bin"
done

# Reductions by deferred atomics.
binary armw 5 reduce_binomial -D count=24 -T lower-smcq:op=sum,type=int32
moved armw 'verified: all 1 case right' -n 5 --ranks threads --count 24 --type int32 --op sum --root 3 --iters 6 \
	--engine ofi "$TMP/armw.bin"

# Reads, of one or many peers: more at once than the ring holds, too.
for n in 2 4; do
	binary "gets$n" $n bcast_chain -D root=0 -D count=600 -D segments=$((n == 2 ? 300 : segments)) -T lower-smcq:get=1
	moved "gets.$n" 'verified: all 1 case right' -n $n --count 600 --root 0 --iters $starts --engine ofi "$TMP/gets$n.bin"
done
program gets.relay 100 env GOAL_BACKEND=smcq GOAL_ENGINE=ofi "$BUILD/tests/rt-relay" 4 600 "$TMP/gets4.bin"
for s in allgather_bruck $(all && echo alltoall_pairwise scatter_binomial); do
	binary "gets.$s" 4 $s -D count=24 -T lower-smcq:get=1,sps=4,cqs=256,length=7
	moved "gets.$s" 'verified: all [1-9] cases* right' -n 4 --ranks threads --iters 8 --count 24 --memory heap,private \
		--engine ofi "$TMP/gets.$s.bin"
done
binary gets.burst 2 bcast_linear -D root=0 -D count=3000 -T 'segment:size=1;lower-smcq:get=1'
moved gets.burst 'verified: all 1 case right' -n 2 --ranks threads --count 3000 --root 0 --iters 6 --engine ofi "$TMP/gets.burst.bin"

# Two threads of each rank are the first to bind.
program firsts 100 "$BUILD/bin/goalrun" -n 2 --backend smcq --engine ofi -- "$BUILD/tests/rt-firsts" "$TMP/gets2.bin" 600 6

# Another user of the node, who is refused.
binary bcast 2 bcast_chain -D root=0 -D count=60 -D segments=6 -T lower-smcq
program intrude 100 env GOAL_BACKEND=smcq GOAL_ENGINE=ofi "$BUILD/tests/rt-intrude" 2 60 "$TMP/bcast.bin"

# Few file descriptors: where the provider would die or wait for them, bind says so, and no sooner than that.
# few NAME ARGS... : goes up from a limit at which a group can just be made to that at which all is well
few()
{
	local name=$1 n why=

	shift
	for ((n = ${least[$name]}; n <= 200; n++)); do
		(ulimit -n $n && exec timeout 60 "$BUILD/bin/goalrun" -n 4 --count 24 --verify --warmup 0 --iters 2 \
			--memory heap --backend smcq --engine ofi "$@" "$TMP/alltoall_pairwise.bin") >"$TMP/out" 2>"$TMP/err" && break
		grep -q 'the engine ofi needs [0-9]* file descriptors' "$TMP/err" || why+=" limit $n: $(head -n 1 "$TMP/err")"
	done
	if [ $n -gt ${least[$name]} -a $n -le 200 -a -z "$why" ]; then ok "ofi.few_descriptors.$name up to $n"; else
		fail "ofi.few_descriptors.$name up to $n$why"; fi
}
declare -A least=([processes]=14 [threads]=90)
few processes
! all || few threads --ranks threads

# Programs. Work that is queued when a rank dies is not cancelled, but its domain is closed: all are told, and end.
binary world 3 bcast_chain -D root=0 -D count=100 -D segments=5 -T lower-smcq
cd "$TMP" || exit 1 # where libraries that libfabric brings have left a trace of who is aborted
timeout 60 "$BUILD/bin/goalrun" -n 3 --backend smcq --engine ofi -- "$BUILD/tests/rt-world" world.bin die >out 2>err
check ofi.died [ $? -ne 124 -a "$(grep -c 'rank 1 died' "$TMP/err")" -ge 2 ]

# Ranks that are killed in every phase. RUNS=120 LIMIT=1 is the campaign, on a machine that does nothing else.
program kill 600 "$BUILD/tests/rt-ofikill" "${RUNS:-6}" "${SEED:-1}" "${LIMIT:-5}" 3 600 chain3.bin
check ofi.no_backtraces [ -z "$(find . -name '*.btr')" ]

# Ranks in network namespaces of their own, so that puts have to go by TCP.
net=ofi$$
namespaces()
{
	local r

	ip netns add $net || return
	in_space $net ip link add hub type bridge && in_space $net ip link set hub up || return
	for r in 0 1 2; do
		ip netns add $net.$r && in_space $net ip link add p$r type veth peer name eth0 netns $net.$r &&
			in_space $net ip link set p$r up master hub && in_space $net.$r ip addr add 10.213.7.$((r + 1))/24 dev eth0 &&
			in_space $net.$r ip link set eth0 up && in_space $net.$r ip link set lo up || return
	done
}
trap 'for r in .0 .1 .2 ""; do ip netns del $net$r 2>/dev/null; done; rm -rf "$TMP"' EXIT
if namespaces 2>"$TMP/err"; then
	timeout 100 env GOAL_BACKEND=smcq GOAL_ENGINE=ofi "$BUILD/tests/rt-relay" 3 600 "$TMP/chain3.bin" $net >"$TMP/out" 2>"$TMP/err"
	check ofi.network_is_not_asked_for grep -q 'share no loopback interface; GOAL_OFI_NETWORK=1 allows it' "$TMP/err"
	program ofi.namespaces 100 env GOAL_OFI_NETWORK=1 GOAL_BACKEND=smcq GOAL_ENGINE=ofi \
		"$BUILD/tests/rt-relay" 3 600 "$TMP/chain3.bin" $net
	check ofi.namespaces_tcp [ "$(in_space $net.1 awk '$1 == "eth0:" { print $2 }' /proc/net/dev)" -gt 200000 ]
else
	skip "ofi.namespaces cannot be made: $(head -n 1 "$TMP/err")"
fi

FI_PROVIDER=^sockets timeout 60 "$BUILD/bin/goalrun" -n 3 --count 600 --backend smcq --engine ofi "$TMP/chain3.bin" >"$TMP/out" 2>&1
check ofi.no_provider grep -q 'the engine ofi: the provider sockets of libfabric: No data available' "$TMP/out"
finish
