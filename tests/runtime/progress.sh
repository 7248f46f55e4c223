#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Progress by communication cores, and by ranks that help each other: runs all schedules, each with one kind of ranks, one kind of
# memory and one number of communication cores in turn. tests/rt/progress.c tests what no schedule shows. ITERS (make epoch) is the
# number of starts of each; without it half of the schedules run.
set -u
. "$(dirname "$0")/../lib.sh"
[ -n "${ITERS:-}" ] && every=1 || every=2 ITERS=30
SCHEDULES=${SCHEDULES:-$(cd "$ROOT/schedules" && echo *.goal)}
MODES=${MODES:-thread collab}
KINDS=${KINDS:-processes threads}
goalrun=$BUILD/bin/goalrun
cd "$ROOT" || exit 1
read -r -a kinds <<<"$KINDS"
read -r -a modes <<<"$MODES"

first=$(first_cpu)
for mode in $MODES; do
	for kind in $KINDS; do
		program "progress.$mode.$kind" 120 "$BUILD/tests/rt-progress" "$mode" "$kind"
	done
	# Everything on one CPU; and communication cores of which some have to do with others' ranks.
	program "progress.$mode.one_cpu" 120 taskset -c "$first" "$BUILD/tests/rt-progress" "$mode" "${kinds[0]}"
	GOAL_COMM_CPUS=$first,-1 program "progress.$mode.two_cores" 120 "$BUILD/tests/rt-progress" "$mode" "${kinds[0]}"
done

for kind in $KINDS; do
	program "progress.fragments.$kind" 120 "$BUILD/tests/rt-fragments" "$kind"
done

# run NAME SCHEDULE OPTIONS...
run()
{
	local name=$1 schedule=$2 op=user

	shift 2
	grep -qE ' commutative( reproducible)?$' "$schedule" && op=max
	if timeout 120 "$goalrun" --verify --warmup 0 --iters "$ITERS" --delay 20 --seed "${SEED:-7}" --op $op \
		--count 7,200,700,20000 --type int32 "$@" "$schedule" >"$TMP/out" 2>&1; then
		ok "progress.$name $(basename "$schedule" .goal) $*"
	else
		fail "progress.$name $(basename "$schedule" .goal) $*: $(tail -n 3 "$TMP/out" | tr '\n' ' ')"
	fi
}
memories=(heap private staged)
turn=0
for s in $SCHEDULES; do
	s=schedules/$s turn=$((turn + 1))
	[ $((turn / 4 % every)) = 0 ] || continue
	mode=${modes[turn % ${#modes[@]}]}
	run "$mode" "$s" -n "$(fitting "$s" $((2 + turn % 4)))" --progress "$mode" --ranks "${kinds[turn / 2 % ${#kinds[@]}]}" \
		--memory "${memories[turn % 3]}"
done

# Where cores are scarce: one CPU for everything, and more ranks than there are.
for mode in $MODES; do
	for kind in $KINDS; do
		ITERS=20 run "$mode.many" schedules/allreduce_recursive_doubling.goal -n 9 --ranks "$kind" --progress "$mode"
	done
	# A CPU that is not there: its ranks' communication runs where they do.
	GOAL_COMM_CPUS=511,-1 GOAL_PROGRESS=$mode run "$mode.no_such_cpu" schedules/bcast_binomial.goal -n 3 --ranks "${kinds[0]}"
	# Other launchers: the library places communication. With ThreadSanitizer the ranks are threads (KINDS): it cannot see that a
	# process has learned by way of another one what its own thread has done.
	for p in bind numa odd-even; do
		GOAL_PLACEMENT=$p GOAL_PROGRESS=$mode run "$mode.placed" schedules/bcast_chain.goal -n 3 --ranks "${kinds[0]}"
	done
done

# refuses NAME PATTERN [VARIABLE=VALUE]... : what the environment may not say
refuses()
{
	local name=$1 why=$2

	shift 2
	env "$@" timeout 60 "$goalrun" -n 2 --iters 2 schedules/bcast_binomial.goal >"$TMP/out" 2>&1
	check "progress.refuses.$name" [ $? -eq 1 -a -n "$(grep -e "$why" "$TMP/out")" ]
}
refuses backend 'GOAL_BACKEND cannot be "nic"; it is one of shm, verbs, mpi, smcq, auto' GOAL_BACKEND=nic
refuses backend_sim 'GOAL_BACKEND cannot be "sim": ranks do not run there' GOAL_BACKEND=sim
refuses shm 'GOAL_SHM cannot be "no"' GOAL_BACKEND=verbs GOAL_SHM=no
refuses shm_number 'GOAL_SHM cannot be "2"' GOAL_BACKEND=verbs GOAL_SHM=2
refuses shm_direct 'GOAL_SHM_DIRECT cannot be "3"' GOAL_SHM_DIRECT=3
refuses verbs_port 'GOAL_VERBS_PORT cannot be "x"' GOAL_BACKEND=verbs GOAL_SHM=0 GOAL_VERBS_PORT=x
refuses verbs_port_number 'GOAL_VERBS_PORT cannot be "0"' GOAL_BACKEND=verbs GOAL_SHM=0 GOAL_VERBS_PORT=0
refuses dump_after 'GOAL_DUMP_AFTER cannot be "-1"' GOAL_DUMP_AFTER=-1
refuses verbs_device 'there is no RDMA device none' GOAL_BACKEND=verbs GOAL_SHM=0 GOAL_VERBS_DEVICE=none
refuses mode 'GOAL_PROGRESS cannot be "nic"' GOAL_PROGRESS=nic
refuses cpus 'GOAL_COMM_CPUS cannot be "1,x"' GOAL_PROGRESS=thread GOAL_COMM_CPUS=1,x
refuses cpus_end 'GOAL_COMM_CPUS cannot be "1,"' GOAL_PROGRESS=thread GOAL_COMM_CPUS=1,
refuses placement 'GOAL_PLACEMENT cannot be "odd"' GOAL_PROGRESS=thread GOAL_PLACEMENT=odd
refuses cores 'GOAL_COMM_CORES cannot be "some"' GOAL_PROGRESS=thread GOAL_COMM_CORES=some
refuses fragment 'GOAL_FRAGMENT cannot be "-1"' GOAL_FRAGMENT=-1
refuses huge 'GOAL_HUGE cannot be "2"' GOAL_HUGE=2
refuses list 'communication cannot be placed: there is no core 1000' GOAL_PROGRESS=thread GOAL_PLACEMENT=1000
finish
