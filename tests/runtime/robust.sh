#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Disturbs progress by communication cores and progress by ranks for each other: many requests in any order, ranks crowded on one
# CPU, a communication core that is taken away, and a rank that leaves although it hosts the communication of others. Also runs
# trees that are split at any level, with two and more ranks on a core, while ranks are slow. MODES, KINDS, STARTS and RUNS select
# how much is run; SWEEP=all (make matrix) runs each tree in each way, with more starts
# and runs.
set -u
. "$(dirname "$0")/../lib.sh"
MODES=${MODES:-thread collab}
KINDS=${KINDS:-processes threads}
[ "${SWEEP:-}" = all ] || : "${STARTS:=500}" "${RUNS:=6}"
goalrun=$BUILD/bin/goalrun
allreduce=$ROOT/schedules/allreduce_recursive_doubling.goal
cd "$TMP" || exit 1

# verified NAME COMMAND... : a run of goalrun whose result is right
verified()
{
	local name=$1

	shift
	if timeout 120 "$@" >out 2>&1 && grep -q '^verified: all' out; then ok "robust.$name"; else
		fail "robust.$name $* $(tail -n 3 out | tr '\n' ' ')"; fi
}

# Four CPUs, if there are as many, for else it takes hundreds of ranks to crowd them. The first one is for everything, or
# for ranks, the last one communicates.
list=$(taskset -cp $$ | sed 's/.*: *//' | tr , '\n' | awk -F- '{ for (i = $1; i <= $NF; i++) print i }' | head -n 4)
cpus=$(paste -sd, <<<"$list") first=${list%%$'\n'*} last=${list##*$'\n'}
taskset -cp "$cpus" $$ >/dev/null

# Six requests of two groups, and many of one, started in another order on each rank.
for mode in $MODES; do
	for kind in $KINDS; do
		GOAL_PROGRESS=$mode program "robust.starts_$mode.$kind" 120 "$BUILD/tests/rt-starts" "$ROOT/schedules" \
			"${STARTS:-1500}" "$kind" "${SEED:-7}"
		GOAL_PROGRESS=$mode program "robust.many_$mode.$kind" 120 "$BUILD/tests/rt-many" "$kind" "${SEED:-7}"
	done
	# Rank 0 leaves, exits, is killed; and any rank is.
	GOAL_PROGRESS=$mode program "robust.host_$mode" 300 "$BUILD/tests/rt-host" "${RUNS:-18}" "${SEED:-3}"
	GOAL_PROGRESS=$mode GOAL_COMM_CPUS=$last program "robust.kill_$mode" 300 "$BUILD/tests/rt-kill" "$((${RUNS:-18} / 2))" "${SEED:-5}"
done

for kind in $KINDS; do
	GOAL_PROGRESS=thread program "robust.pause_$kind" 120 "$BUILD/tests/rt-pause" "$kind"
done

# Everything on one CPU. Who spins there only loses time.
for mode in $MODES; do
	for kind in $KINDS; do
		for how in yield block; do
			verified "one_cpu_$mode.$kind.$how" taskset -c "$first" "$goalrun" -n 5 --ranks "$kind" --progress "$mode" \
				--comm-cores 1 --wait $how --verify --iters 10 --count 7,700,20000 --op user "$allreduce"
		done
	done
done

# More ranks than cores, and several communication cores where there are as many.
cores=$("$goalrun" -n 1 --show-placement --comm-cores 0 | sed -n 's/^1 rank on \([0-9]*\) core.*/\1/p')
for kind in $KINDS; do
	verified "crowd_$kind" "$goalrun" -n $((4 * cores + 1)) --ranks "$kind" --progress thread \
		--comm-cores $(((cores + 1) / 2)) --verify --iters 10 --count 7,700,20000 --op user "$allreduce"
done

# Trees with every S, or in a share every other, from each root, by turns in one way to make progress, one kind of ranks and of memory.
read -r -a modes <<<"$MODES"
read -r -a kinds <<<"$KINDS"
memories=(heap private staged)
n=$((2 * cores + 1 > 6 ? 2 * cores + 1 : 6)) turn=0
if [ "${SWEEP:-}" = all ]; then all=$((${#modes[@]} * ${#kinds[@]})) step=1; else all=1 step=2; fi
lowest=0
for s in bcast_binomial bcast_knomial reduce_binomial reduce_knomial gather_binomial scatter_binomial allreduce_reduce_bcast; do
	for S in $(seq "$lowest" "$step" "$(awk -v n=$n 'BEGIN { for (h = 0; 2 ^ h < n; h++); print h }')"); do
		for _ in $(seq "$all"); do
			mode=${modes[turn % ${#modes[@]}]} kind=${kinds[turn / ${#modes[@]} % ${#kinds[@]}]} root=
			[ $s = allreduce_reduce_bcast ] || root="--root $((turn % n))"
			# shellcheck disable=SC2086
			verified "tree.$s S=$S $mode $kind" "$goalrun" -n $n --verify --warmup 0 --iters 10 --delay 20 --op user \
				--count 7,700,20000 --type int32 --progress "$mode" --ranks "$kind" --comm-cores $(((cores + 1) / 2)) \
				--memory "${memories[turn % 3]}" $root -T "split-tree:S=$S" "$ROOT/schedules/$s.goal"
			turn=$((turn + 1))
		done
	done
	turn=$((turn + 1)) lowest=$((step - 1 - lowest)) # another mode for each S of the next tree, and in a share other S
done

# disturbed FUNCTION KIND : while ranks run FUNCTION PID is called for goalrun and each of them, with 0 and 1 by turns; the
# delays make it last half a second at least
disturbed()
{
	local run parent p

	timeout 120 "$goalrun" -n 3 --ranks "$2" --progress thread --comm-cores 1 --verify --warmup 0 --iters 600 \
		--delay 5000 --count 700 "$allreduce" >out 2>&1 &
	run=$! turns=0
	while [ -n "$(jobs -r)" ]; do
		sleep 0.03
		parent=$(pgrep -P $run)
		for p in $parent ${parent:+$(pgrep -P "$parent")}; do
			$1 $((turns % 2)) "$p" 2>/dev/null && turns=$((turns + 1))
		done
	done
	wait $run && grep -q '^verified: all 1 case right' out
}
# disturb NAME FUNCTION : where the machine is too busy for that to come to pass, once more
disturb()
{
	local kind try right=

	for kind in $KINDS; do
		for try in 1 2 3; do
			if disturbed "$2" "$kind"; then right=1; else right=; fi
			[ -n "$right" ] && [ $turns -lt 4 ] || break
		done
		check "robust.$1_$kind $turns times at try $try $(tail -n 1 out)" [ -n "$right" -a $turns -ge 4 ]
	done
}

# The CPU of the communication core is taken from all threads, and given back.
move() { taskset -acp "$([ "$1" = 1 ] && echo "$first" || echo "$cpus")" "$2" >/dev/null; }
if [ "$cores" -ge 2 ]; then disturb vanishes move; else skip robust.vanishes there is one core; fi

# The same by a cpuset of the kernel's, in which a thread cannot be pinned to that CPU.
sets=/sys/fs/cgroup/cpuset set=/sys/fs/cgroup/cpuset/goal-test-$$
enter() { if [ "$1" = 1 ]; then echo "$2" >$set/cgroup.procs; else echo "$2" >$sets/cgroup.procs; fi; }
if [ "$cores" -ge 2 ] && mkdir $set 2>/dev/null; then
	trap 'rmdir $set; rm -rf "$TMP"' EXIT
	if cat $sets/cpuset.mems >$set/cpuset.mems && echo "$first" >$set/cpuset.cpus; then
		(enter 1 $BASHPID && GOAL_PROGRESS=thread GOAL_COMM_CPUS=$last timeout 120 "$goalrun" -n 3 --verify --iters 20 "$allreduce") >out 2>&1
		check "robust.cpuset_without $(tail -n 1 out)" grep -q '^verified: all' out
		disturb cpuset enter
	else
		skip robust.cpuset cannot be set here
	fi
else
	skip robust.cpuset needs two cores, and the right to make cpusets
fi
finish
