#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Kills ranks: survivors must get an error, and nothing may be left. RUNS=300 is the campaign.
set -u
. "$(dirname "$0")/../lib.sh"
RUNS=${RUNS:-24}
share=$(((RUNS + 5) / 6))
for n in 1 2 3 4 5 6; do
	for count in 8 5000 300000; do
		goalc "$ROOT/schedules/bcast_binomial.goal" -n $n -D root=0 -D count=$count -T lower-smcq -o "$TMP/$n.$count.bin"
	done
done

# kills NAME COMMAND... : a share of the runs, and what the survivors were told
kills()
{
	local name=$1

	shift
	timeout $((share * 6 + 30)) "$@" "$BUILD/tests/rt-kill" "$share" "${SEED:-1}" >"$TMP/out" 2>&1
	grep -v '^ok' "$TMP/out"
	check "kill.$name $share runs" grep -q '^ok' "$TMP/out"
}
for progress in app thread collab; do
	export GOAL_PROGRESS=$progress
	kills shm.$progress env
	TEAM_BINS=$TMP kills smcq.$progress "$BUILD/bin/goalrun" --backend smcq -n 1 --
done
unset GOAL_PROGRESS

# All survivors name the rank that died, not one that has ended because of it.
heard=0
for ((i = 0; i < share * 2; i++)); do
	timeout 20 "$BUILD/bin/goalrun" -n 5 -- "$BUILD/tests/rt-meet" again none >"$TMP/out" 2>&1
	heard=$((heard + $(grep -c '^world: rank 4 died' "$TMP/out")))
done
check "kill.world $heard of $((share * 8)) survivors" [ $heard -eq $((share * 8)) ]

# Processes that still run; what waits to be reaped does not count.
alive()
{
	local n=0 p

	for p in "$@"; do
		case $(awk '/^State/ { print $2 }' "/proc/$p/status" 2>/dev/null) in '' | Z | X) ;; *) n=$((n + 1)) ;; esac
	done
	echo $n
}
children() { pgrep -P "$1" 2>/dev/null; }

# goalrun: a rank is killed.
"$GOALC" "$ROOT/schedules/bcast_binomial.goal" -o "$TMP/b.bin"
# Files in shared memory, but those of MPI programs that run beside this.
files() { find /dev/shm -mindepth 1 ! -name 'mpich_*' ! -name 'osc_*' ! -name 'sm_segment*' ! -name 'ucx_*' ! -name 'vader_*' | wc -l; }
shm=$(files)
# start : goalrun with four ranks in the background; sets run, goalrun and ranks
start()
{
	local i

	timeout 60 "$BUILD/bin/goalrun" -n 4 --iters 3000000 --delay 100 "$TMP/b.bin" >"$TMP/out" 2>"$TMP/err" &
	run=$!
	for ((i = 0; i < 200; i++)); do
		goalrun=$(children $run | head -n 1)
		ranks=$(children "${goalrun:-0}")
		[ "$(wc -w <<<"$ranks")" -eq 4 ] && break
		sleep 0.05
	done
	sleep 0.5
}
start
victim=$(sed -n 3p <<<"$ranks")
kill -9 "$victim"
t0=$(date +%s%N)
wait $run 2>/dev/null
rc=$?
ms=$((($(date +%s%N) - t0) / 1000000))
# Ranks with the same reason share a line, as in "ranks 0-1, 3".
told=$(sed -nE 's/^goalrun: ranks? ([-0-9, ]*): MPIX_Sched_.*: rank 2 died$/\1/p' "$TMP/err" | tr , '\n' |
	awk -F- '{ for (r = $1 + 0; r <= $NF; r++) print r }' | sort -n | xargs)
if [ $rc -eq 1 ] && [ "$told" = '0 1 3' ]; then
	ok kill.goalrun "all three survivors named rank 2; over after $ms ms"
else
	fail kill.goalrun "status $rc, survivors that were told: $told: $(head -c 300 "$TMP/err")"
fi

# goalrun itself is killed: its ranks go with it.
start
kill -9 "$goalrun"
wait $run 2>/dev/null
sleep 0.5
# shellcheck disable=SC2086
check kill.launcher [ "$(alive $ranks)" -eq 0 ]

# And when it is asked to end.
start
kill -TERM "$goalrun"
wait $run 2>/dev/null
rc=$?
# shellcheck disable=SC2086
check kill.term [ "$rc $(alive $ranks)" = "1 0" ]

# Programs behind a shell end with goalrun, however that ends, and with a rank that fails; those in a session of their own,
# and those without an environment, too.
seconds=$((RANDOM + 100000)).$$
sleeping() { pgrep -f "^sleep $seconds" | wc -l; }
# until_sleeping NUMBER : within 10 s
until_sleeping()
{
	local i

	for ((i = 0; i < 200; i++)); do
		[ "$(sleeping)" -eq "$1" ] && return 0
		sleep 0.05
	done
	return 1
}
# behind NAME NUMBER SIGNAL SCRIPT : two ranks run it, and NUMBER sleep; then goalrun is sent the signal, if it is one
behind()
{
	"$BUILD/bin/goalrun" -n 2 -- sh -c "$4" "$seconds" >"$TMP/out" 2>&1 &
	run=$!
	[ "$3" = none ] || until_sleeping "$2" || echo "# only $(sleeping) sleep"
	[ "$3" = none ] || kill -"$3" $run
	wait $run 2>/dev/null
	check "kill.behind.$1" until_sleeping 0
}
for signal in TERM INT HUP KILL; do
	behind $signal 2 $signal 'sleep "$0"; :'
	behind $signal.session 4 $signal 'setsid sleep "$0" & sleep "$0"; :'
	behind $signal.bare 4 $signal 'setsid env -i sleep "$0" & env -i sleep "$0"; :'
done
behind rank_fails 0 none '[ "$GOAL_RANK" = 0 ] || exit 3; sleep "$0"; :'
behind rank_killed 0 none '[ "$GOAL_RANK" = 0 ] || { sleep "$0" & kill -9 $$; }; sleep "$0"; :'
behind ends 0 none 'sleep "$0" &'
behind ends.bare 0 none 'setsid env -i sleep "$0" &'
check kill.nothing_left [ "$(files)" -eq "$shm" ]
finish
