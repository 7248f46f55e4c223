#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# goalrun --backend smcq on the emulator of the network interface. Checks the poster's broadcast step by step, and every
# schedule of the library that can be lowered, with random orders of packets. Also checks that ranks take no part, and which
# schedules are refused.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1
run() { timeout 120 "$BUILD/bin/goalrun" --backend smcq "$@" >"$TMP/out" 2>"$TMP/err"; }

# The poster's single-path broadcast: four ranks, two segments. What is behind the ready phase is in its order.
chain=(-n 4 --verify --warmup 0 --iters 1 -D segments=2 --count 8 --trace "$TMP/t.txt" schedules/bcast_chain.goal)
cat >"$TMP/want" <<'END'
rank 0 queue 0 put 32 bytes to rank 1: producer 2 consumer 1
rank 1 queue 1 credit 1 from rank 0 queue 0: producer 2 scheduling 1 consumer 0
rank 0 queue 0 put 32 bytes to rank 1: producer 2 consumer 2
rank 1 queue 1 credit 1 from rank 0 queue 0: producer 2 scheduling 2 consumer 0
rank 1 queue 1 put 32 bytes to rank 2: producer 2 scheduling 2 consumer 1
rank 2 queue 1 credit 1 from rank 1 queue 1: producer 2 scheduling 1 consumer 0
rank 1 queue 1 put 32 bytes to rank 2: producer 2 scheduling 2 consumer 2
rank 2 queue 1 credit 1 from rank 1 queue 1: producer 2 scheduling 2 consumer 0
rank 2 queue 1 put 32 bytes to rank 3: producer 2 scheduling 2 consumer 1
rank 2 queue 1 put 32 bytes to rank 3: producer 2 scheduling 2 consumer 2
END
steps() { sed -n 's/^[0-9]* //; /: producer/!d; '"$1"',$p' "$TMP/t.txt"; }
run -T lower-smcq:post=1 "${chain[@]}"
check smcq.poster diff "$TMP/want" <(steps '/^rank 0 queue 0 put/')
check smcq.poster.ready [ "$(steps '/^rank 0 queue 0 post/' | head -n 1)" = 'rank 0 queue 0 post 2: producer 2 consumer 0' ]
check smcq.poster.posted [ "$(steps 1 | grep -c 'rank [12] queue 1 post 2: producer 2 scheduling 0 consumer 0')" -eq 2 ]
# Where no rank has to look at anything before its wait, the root's entries lie behind two NOPs, and the rest is the same.
run "${chain[@]}"
sed -i 's/^rank 0 queue 0 put.*consumer 1$/rank 0 queue 0 put 32 bytes to rank 1: producer 4 scheduling 4 consumer 3/
	s/^rank 0 queue 0 put.*consumer 2$/rank 0 queue 0 put 32 bytes to rank 1: producer 4 scheduling 4 consumer 4/' "$TMP/want"
check smcq.offloaded diff "$TMP/want" <(steps '/^rank 0 queue 0 put/')
GOAL_TRACE_EVENTS=5 run "${chain[@]}"
check smcq.trace_most [ "$(grep -c producer "$TMP/t.txt")" -eq 5 -a "$(tail -n 1 "$TMP/t.txt")" = 'and 19 more steps' ]

# The same seed gives the same order, from when all ranks have started; another one another.
order()
{
	run -n 5 --warmup 0 --iters 1 --seed "$1" --count 64 --trace "$TMP/t.txt" schedules/bcast_binary.goal
	steps '/put [0-9]/' >"$TMP/order.$2"
}
order 1 a && order 1 b && order 2 c
check smcq.seed cmp -s "$TMP/order.a" "$TMP/order.b"
check smcq.seeds [ -s "$TMP/order.a" -a -n "$(cmp "$TMP/order.a" "$TMP/order.c")" ]

# all NAME ARGS... SCHEDULE : every byte of every start is right
all()
{
	local name=$1

	shift
	run --verify --warmup 0 "$@"
	check "smcq.$name $(head -n 1 "$TMP/err")" grep -q '^verified' "$TMP/out"
}
seed=1
for s in schedules/*.goal; do
	name=$(basename "$s" .goal) n=$((2 + seed % 4)) with=()
	case $name in
	*reduce* | *scan*) with=(-T 'lower-smcq:assist=1' --type int32) ;;
	bcast_trinaryx3) n=8 ;;
	esac
	all "library.$name" -n $n --count $((7 + seed)) --seed $((seed++)) --memory heap,private --iters 20 "${with[@]}" "$s"
done
# Integers are reduced by the interface, wherever they are.
for s in reduce_binomial reduce_chain allreduce_ring scan_binomial reduce_scatter_block_pairwise; do
	all "armw.$s" -n 4 --count 9 --seed $((seed++)) --memory heap,private --iters 20 --type int32 "schedules/$s.goal"
	check "smcq.armw.$s.no_cpu" grep -q ' armw 4 bytes ' <(run -n 4 --count 9 --iters 1 --type uint32 --trace "$TMP/t.txt" \
		"schedules/$s.goal" && cat "$TMP/t.txt")
done
for op in sum bxor band bor; do
	all "armw.$op" -n 3 --count 5 --seed $((seed++)) --iters 20 --type uint64 --op $op schedules/reduce_knomial.goal
done
# Receivers get what is there.
for s in allgather_bruck allgather_ring alltoall_linear bcast_binary bcast_scatter_allgather gatherv_linear \
	neighbor_alltoall_cartesian scatter_binomial scan_chain allreduce_rabenseifner; do
	all "gets.$s" -n $((2 + seed % 4)) --count $((7 + seed)) --seed $((seed++)) --memory heap,private --iters 20 --type int32 \
		-T lower-smcq:get=1,assist=1,op=sum,type=int32 "schedules/$s.goal"
done
all gets.torus -n 8 --count 500 --seed $((seed++)) --memory heap,private --iters 20 -T lower-smcq:get=1 schedules/bcast_trinaryx3.goal
all gets.pieces -n 3 --count 3000 --iters 20 --seed 8 -T lower-smcq:get=1,length=9 schedules/bcast_binomial.goal
all gets.long -n 3 --count 700000 --iters 3 --seed 7 --memory heap,private -T lower-smcq:get=1 schedules/bcast_chain.goal
all gets.posted -n 4 --iters 20 --seed 9 -T lower-smcq:get=1,post=1 schedules/alltoall_pairwise.goal
run -T lower-smcq:get=1 "${chain[@]}"
check smcq.gets.trace [ "$(grep -c 'rank [123] queue [0-9]* get 32 bytes from rank [012]: producer' "$TMP/t.txt")" -eq 6 ]

# What only passes on that all have started, the rank posts before it is done; and the CPU of a single rank gets to its ops.
runs() { run --warmup 2 --iters 5 "$@"; }
for n in 2 3; do
	check smcq.posted_before_done.$n runs -n $n -T lower-smcq:post=1 tests/queues/nobody.goal
done
for s in gatherv_linear alltoallv_linear; do
	all "posted_zero.$s" -n 3 --iters 20 --sample zero -T lower-smcq:post=1 schedules/$s.goal
done
check smcq.cpu_alone runs -n 1 --type int32 -T lower-smcq:assist=1 tests/queues/alone.goal
all cpu_cq -n 3 --iters 5 -T 'lower-smcq:assist=1,tnis=1,cqs=3' schedules/scan_chain.goal # which needs them all
all alone -n 1 --iters 5 schedules/allgather_ring.goal
all nothing -n 3 --count 0 --iters 20 schedules/bcast_binomial.goal
all roots -n 5 --root all --iters 20 --seed 3 schedules/scatter_binomial.goal
all threads -n 4 --ranks threads --iters 50 --seed 4 --memory heap,private schedules/allgather_ring.goal
all late -n 4 --delay 500 --iters 100 --seed 5 schedules/alltoall_linear.goal
all late_barrier -n 5 --delay 500 --iters 100 --seed 6 schedules/barrier_dissemination.goal
all long -n 3 --count 700000 --iters 3 --seed 7 --memory heap,private schedules/bcast_chain.goal
all pieces -n 3 --count 3000 --iters 20 --seed 8 -T lower-smcq:length=9 schedules/bcast_binomial.goal
all sps -n 4 --count 30 --iters 20 --seed 9 -T lower-smcq:sps=2 schedules/gather_linear.goal
all passes -n 4 --count 64 --iters 20 --seed 10 -T segment:size=7 schedules/scatter_linear.goal
all sample -n 4 --sample uneven --iters 20 schedules/alltoallv_linear.goal
all block -n 4 --wait block --iters 20 schedules/bcast_binary.goal
all overlap -n 3 --overlap --iters 3 schedules/bcast_binary.goal
run -n 3 --count 30000 --iters 30 --json schedules/bcast_chain.goal
check smcq.json grep -q '"wait_us": .*"queues": 2, "entries": [0-9]*, "packets": [0-9.]*, "bytes": 480000' "$TMP/out"

# The ranks are stopped, or compute, or die; and so does the interface.
for n in 4 8; do
	s=$([ $n -eq 8 ] && echo bcast_trinaryx3 || echo bcast_chain)
	goalc "schedules/$s.goal" -n $n -D root=0 -D count=100003 -T lower-smcq -o "$TMP/$n.bin"
	goalc "schedules/$s.goal" -n $n -D root=0 -D count=100003 -T lower-smcq:get=1 -o "$TMP/$n.get.bin"
done
truncate -s 4096 "$TMP/meet.0"
# offload RANKS[.get] MODE MEMORY NUMBER : its output
offload()
{
	cp "$TMP/meet.0" "$TMP/meet"
	run -n "${1%.*}" -- "$BUILD/tests/rt-offload" "$2" "$TMP/$1.bin" "$TMP/meet" 100003 "$3" "$4"
}
for memory in heap private; do
	for args in '4 stop 0' '4 stop 3' '8 stop 5' '4 busy 1' '8 busy 0' '4 twice 3' '4.get stop 2' '8.get stop 0' '4.get busy 1'; do
		# shellcheck disable=SC2086
		set -- $args
		check "smcq.$2 $1 ranks $memory $3 $(tail -n 1 "$TMP/out")" offload "$1" "$2" $memory "$3"
	done
done
for binary in 4 4.get; do
	offload $binary dead heap 2
	check smcq.dead_rank.$binary [ "$(grep -cx 'told rank [013]: rank 2 died' "$TMP/out")" -eq 3 ]
done
offload 4 leave heap 1
check smcq.left [ "$(grep -cx 'told rank [023]: rank 1 has left the group' "$TMP/out")" -eq 3 ]
offload 4 dead private 4
check smcq.dead_interface [ "$(grep -cx 'told rank [0-3]: the network interface of this node is gone' "$TMP/out")" -eq 4 ]
check smcq.dead_interface_told grep -qx 'goalrun: the network interface has died' "$TMP/err"

# Two threads of each rank are the first to bind.
check smcq.firsts run -n 4 -- "$BUILD/tests/rt-firsts" "$TMP/4.bin" 100003 60

# refused NAME SENTENCE COMMAND... : with an error that says why
refused()
{
	local name=$1 text=$2 rc

	shift 2
	timeout 60 "$@" >"$TMP/err" 2>&1
	rc=$?
	check "smcq.refused.$name" [ $rc -ne 0 -a -n "$(grep -F "$text" "$TMP/err")" ]
}
goalrun=("$BUILD/bin/goalrun" -n 2)
bin=$TMP/2.bin
goalc schedules/bcast_linear.goal -n 2 -D count=8 -T lower-smcq:bytes=4,cqs=1,tnis=2 -o "$bin"
goalc schedules/bcast_linear.goal -n 2 -D count=8 -o "$TMP/ops.bin"
refused ops 'not lowered to command queues' "${goalrun[@]}" --backend smcq "$TMP/ops.bin"
refused bytes 'lowered for elements of at most 4 bytes, and these have 8' "${goalrun[@]}" --backend smcq "$bin"
refused engine 'GOAL_ENGINE cannot be "steam"; it is one of ' env GOAL_ENGINE=steam "${goalrun[@]}" --backend smcq --type float "$bin"
refused staged 'is private memory, which nobody else may touch' "${goalrun[@]}" --backend smcq --type float --memory staged "$bin"
refused counts 'takes one count' "${goalrun[@]}" --backend smcq --count 1,2 schedules/bcast_linear.goal
refused samples 'takes one sample' "${goalrun[@]}" --backend smcq --sample all schedules/alltoallv_linear.goal
refused alu 'has no arithmetic unit' "${goalrun[@]}" --backend smcq --type double schedules/scan_chain.goal
goalc schedules/reduce_binomial.goal -n 2 -D count=8 -T lower-smcq:op=sum,type=int32 -o "$TMP/sum.bin"
refused operation 'lowered for another operation or datatype' "${goalrun[@]}" --backend smcq --type int32 --op bxor "$TMP/sum.bin"
refused trace 'a name that ends with .txt' "${goalrun[@]}" --backend smcq --trace t.json schedules/bcast_linear.goal
cp "$TMP/meet.0" "$TMP/meet"
world=("$BUILD/tests/rt-offload" twice "$bin" "$TMP/meet" 8 heap)
refused none 'no network interface with command queues' "${goalrun[@]}" -- env GOAL_BACKEND=smcq "${world[@]}" 1
refused gone 'the network interface "nobody" (GOAL_NIC) cannot be reached' \
	"${goalrun[@]}" -- env GOAL_BACKEND=smcq GOAL_NIC=nobody "${world[@]}" 1
# Few file descriptors: who cannot connect says so, rank or interface.
goalc schedules/alltoall_pairwise.goal -n 4 -D count=8 -T lower-smcq -o "$TMP/few.bin"
for ranks in processes threads; do
	why= n=8
	until (ulimit -n $n && run -n 4 --ranks $ranks --count 8 --iters 2 "$TMP/few.bin"); do
		grep -q 'too few file descriptors' "$TMP/err" || why+=" limit $n: $(head -n 1 "$TMP/err")"
		[ $((++n)) -lt 100 ] || break
	done
	check "smcq.few_descriptors.$ranks up to $n$why" [ $n -gt 8 -a $n -lt 100 -a -z "$why" ]
done
refused cqs 'no command queue of 1 is left on interface' "${goalrun[@]}" --backend smcq -- "${world[@]}" 2
finish
