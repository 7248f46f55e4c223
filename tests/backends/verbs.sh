#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The nine basic schedules on Soft-RoCE in a guest, each message by a queue pair (--no-shm), every byte of every start checked.
# On two devices: 2-9 ranks; first, middle and last root; several counts; memory of both kinds. SWEEP=all runs
# all combinations. SWEEP=pairs (make check-verbs) runs a set that has every pair of values, and one number of ranks for each schedule. SWEEP=share
# (make check) does this with few ranks and every third schedule, with a quarter of the starts, and kills some ranks.
# On one device: many starts of each schedule, with the kinds of progress in turn. These are 1,000 starts of up to 1 KiB and 20 of
# 64 KiB, with ranks that sleep while they wait, and 2 starts of 8 MiB. Also checked are the accesses to the bytes, and which
# ranks are connected.
set -u
. "$(dirname "$0")/../lib.sh"
SWEEP=${SWEEP:-share}
cd "$ROOT" || exit 1
if [ -z "${GUEST_NODE:-}" ]; then
	guests verbs "$([ "$SWEEP" = all ] && echo 3600 || echo 900)" "-m 1024 -d 2" env BUILD="$BUILD" SWEEP="$SWEEP" SCHEDULES="${SCHEDULES:-}" bash tests/backends/verbs.sh
	finish
fi

basic='bcast_binomial reduce_binomial allreduce_recursive_doubling barrier_dissemination allgather_ring gather_binomial
	scatter_binomial alltoall_pairwise scan_chain'
[ "$SWEEP" != share ] || basic='allreduce_recursive_doubling barrier_dissemination scatter_binomial'
SCHEDULES=${SCHEDULES:-$basic}

# run NAME SCHEDULE RANKS OPTIONS... : one launch
run()
{
	local name=$1 s=$2 n=$3

	shift 3
	if timeout 300 "$BUILD/bin/goalrun" -n "$n" --backend verbs --no-shm --verify "$@" "schedules/$s.goal" >"$TMP/out" 2>"$TMP/err" &&
		grep -q '^messages: [1-9][0-9]* by RDMA, 0 by shared memory$' "$TMP/out"; then
		ok "verbs.$name $n $s: $(tail -n 1 "$TMP/out") ($SECONDS s)"
	else
		fail "verbs.$name $n $s $*: $(grep -v 'killed by' "$TMP/err" | sort -u | tail -n 3)"
	fi
}

# sizes NUMBER : the numbers of ranks for a schedule; of pairs one, so that all have their turn
sizes() { if [ "$SWEEP" = all ]; then seq 2 9; elif [ "$SWEEP" = pairs ]; then echo $((2 + $1 % 8)); else echo $((2 + $1 % 2)); fi; }

# who NUMBER : the kinds of progress for a schedule, likewise
who() { local all=(app thread collab); if [ "$SWEEP" = all ]; then echo "${all[@]}"; else echo "${all[$1 % 3]}"; fi; }

many=$([ "$SWEEP" = share ] && echo 60 || echo 250) # starts of each of four counts
few=$([ "$SWEEP" = all ] && echo 3 || echo 2) # ranks of those that start often
number=0
for s in $SCHEDULES; do
	unset GOAL_VERBS_DEVICE
	number=$((number + 1))
	for n in $(sizes $number); do
		case $s in
		barrier*) # everybody comes late twice
			run cover "$s" "$n" --iters 10 --warmup $((2 * n))
			continue
			;;
		esac
		o=()
		grep -q '^schedule.*root = 0' "schedules/$s.goal" &&
			o+=(--root "$(printf '%s\n' 0 $((n / 2)) $((n - 1)) | sort -nu | paste -sd,)")
		run cover "$s" "$n" --sweep "${SWEEP/share/pairs}" --memory heap,private --count 0,7,1000 "${o[@]}" --iters 2 --warmup 1
	done
	export GOAL_VERBS_DEVICE=rxe0
	case $s in
	barrier*)
		run starts "$s" "$few" --iters $((4 * many))
		continue
		;;
	esac
	run starts "$s" "$few" --count 1,16,100,128 --iters "$many" --warmup 0
	for progress in $(who $number); do
		run starts "$s" "$few" --count 8192 --iters $(((many + 5) / 12)) --warmup 0 --wait block --progress "$progress"
	done
	[ "$SWEEP" = share ] || run starts "$s" 2 --count 1048576 --iters 2 --warmup 0
done
unset GOAL_VERBS_DEVICE

# Groups of some of the ranks; memory that a rank has given back, but the device still has.
[ "$SWEEP" = all ] && program verbs.cases 300 env GOAL_BACKEND=verbs GOAL_SHM=0 "$BUILD/tests/rt-cases" split vanished

# Ranks that sleep until their device has something, or a rank of their node.
if [ "$SWEEP" = all ]; then
	for shm in 0 1; do
		for kind in processes threads; do program "verbs.wait_$kind" 600 env GOAL_BACKEND=verbs GOAL_SHM=$shm "$BUILD/tests/rt-wait" 300 $kind; done
	done
fi

# Random delays, changing data and memory, requests of two groups at once, in other orders on each rank.
starts() { program "verbs.starts_$1_$2" 300 env GOAL_BACKEND=verbs GOAL_SHM=0 GOAL_PROGRESS="$2" "$BUILD/tests/rt-starts" schedules "$3" "$1" 7; }
if [ "$SWEEP" = all ]; then
	for kind in processes threads; do for progress in app thread collab; do starts $kind $progress 2000; done; done
elif [ "$SWEEP" = pairs ]; then
	starts processes thread 200
else
	program verbs.kill 100 env GOAL_BACKEND=verbs GOAL_SHM=0 GOAL_PROGRESS=thread "$BUILD/tests/rt-kill" 2 1 5
fi

# A rank that makes no call relays, as its communication core does.
goalc schedules/bcast_chain.goal -o "$TMP/chain.bin"
program verbs.relay 300 env GOAL_BACKEND=verbs GOAL_SHM=0 GOAL_PROGRESS=thread "$BUILD/tests/rt-relay" 3 600 "$TMP/chain.bin"

# A rank frees its requests before its peer does.
program verbs.byes 100 env GOAL_BACKEND=verbs GOAL_SHM=0 "$BUILD/tests/rt-byes"

# Bytes travel without a process that touches them.
program verbs.untouched 300 env GOAL_BACKEND=verbs GOAL_SHM=0 "$BUILD/tests/rt-untouched" 3

# What the device, or the system, does not have: told on all ranks, with the limit; and a queue that grows.
cat >"$TMP/many.goal" <<'END'
schedule many()
buffer inout data[count]
rank r of p {
  for i = 0 to count - 1 {
    if r == 0 and p > 1 { send data[i] to 1 tag i }
    if r == 1 { recv data[i] from 0 tag i }
  }
}
END
# limit NAME TEXT COMMAND...
limit()
{
	local name=$1 text=$2 rc

	shift 2
	timeout 100 "$@" --backend verbs --no-shm -n 2 --iters 2 --warmup 0 >"$TMP/out" 2>"$TMP/err"
	rc=$?
	check "verbs.limit $name: $(head -n 1 "$TMP/err")" [ "$rc.$(grep -c "^goalrun: ranks 0-1: .*$text" "$TMP/err")" = 1.1 ]
}
check verbs.grows timeout 100 "$BUILD/bin/goalrun" --backend verbs --no-shm -n 2 --iters 2 --warmup 0 --count 5000 "$TMP/many.goal"
limit max_cqe 'completion queue needs 48008 entries, and the RDMA device has at most 32767 (max_cqe): bind fewer' \
	env GOAL_VERBS_DEVICE=rxe0 "$BUILD/bin/goalrun" --count 12000 "$TMP/many.goal"
# shellcheck disable=SC2016
limit memlock '800000 bytes of a buffer cannot be registered: .* at most 64 KiB may be locked: raise that (ulimit -l)' \
	setpriv --bounding-set -ipc_lock bash -c 'ulimit -l 64; exec "$@"' limited \
	"$BUILD/bin/goalrun" --count 100000 schedules/bcast_binomial.goal

# A user who may not use the devices.
chmod 600 /dev/infiniband/uverbs*
limit opened 'no RDMA device can be opened: Permission denied' setpriv --reuid 65534 "$BUILD/bin/goalrun" schedules/bcast_binomial.goal
chmod 666 /dev/infiniband/uverbs*
# Few file descriptors: that, and not that there is no device, or none that works.
why= n=12
until (ulimit -n $n && exec timeout 60 "$BUILD/bin/goalrun" --backend verbs --no-shm -n 3 --ranks threads --iters 2 --warmup 0 \
	schedules/bcast_binomial.goal) >"$TMP/out" 2>"$TMP/err"; do
	grep -q 'too few file descriptors\|Too many open files' "$TMP/err" || why+=" limit $n: $(head -n 1 "$TMP/err")"
	[ $((++n)) -lt 60 ] || break
done
check "verbs.few_descriptors up to $n$why" [ $n -gt 12 -a $n -lt 60 -a -z "$why" ]

# pairs : the processes that have queue pairs, and how many each; one of the device's own is left out
pairs() { rdma resource show qp | awk '/type RC/ { sub(/.* pid /, ""); n[$1]++ } END { for (p in n) print p, n[p] }'; }
# memory PID : the private memory of a process, KiB
memory() { awk '/^Private/ { n += $2 } END { print n }' "/proc/$1/smaps_rollup"; }
# connections RANKS : a binomial tree of so many has no more than its edges
connections()
{
	local n=$1 most degree=0 i goalrun

	while [ $((1 << degree)) -lt "$n" ]; do degree=$((degree + 1)); done
	timeout 300 "$BUILD/bin/goalrun" -n "$n" --backend verbs --no-shm --iters 1000000 --count 1 schedules/bcast_binomial.goal \
		>"$TMP/out" 2>"$TMP/err" &
	goalrun=$!
	for ((i = 0; i < 1000; i++)); do
		[ "$(pairs | awk '{ n += $2 } END { print n + 0 }')" -lt $((2 * (n - 1))) ] && kill -0 $goalrun 2>/dev/null || break
		sleep 0.2
	done
	pairs | sort -k2n | while read -r pid pairs; do echo "$pairs $(memory "$pid")"; done >"$TMP/pairs"
	most=$(tail -n 1 "$TMP/pairs" | cut -d' ' -f1)
	check "verbs.connections $n ranks: $(wc -l <"$TMP/pairs") with queue pairs, at most $most; KiB of their own for each number: $(
		awk '{ n[$1]++; m[$1] += $2 } END { for (i = 1; i in n; i++) printf "%d: %d ", i, m[i] / n[i] }' "$TMP/pairs")" \
		[ "$(wc -l <"$TMP/pairs") $most $(awk '{ n += $1 } END { print n }' "$TMP/pairs")" = "$n $degree $((2 * (n - 1)))" ]
	pkill -TERM -P $goalrun
	wait $goalrun
}
case $SWEEP in all) connections 64 ;; pairs) connections 16 ;; *) connections 5 ;; esac

check "verbs.nothing_left $(rdma resource show)" [ -z "$(pairs)" ]
check verbs.no_memory_left [ -z "$(ls -A /dev/shm)" ]
finish
