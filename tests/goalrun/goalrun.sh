#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# goalrun's options, exit statuses and output, and the programs that it starts.
set -u
. "$(dirname "$0")/../lib.sh"
run() { timeout 60 "$BUILD/bin/goalrun" "$@" >"$TMP/out" 2>"$TMP/err"; }
bcast=$ROOT/schedules/bcast_binomial.goal

# status NAME WANT TEXT ARGS... : exit status, and TEXT on stderr
status()
{
	local name=$1 want=$2 text=$3 rc

	shift 3
	run "$@"
	rc=$?
	if [ $rc -eq "$want" ] && grep -qF -- "$text" "$TMP/err"; then
		ok "goalrun.$name"
	else
		fail "goalrun.$name status $rc: $(head -n 2 "$TMP/err" | tr '\n' ' ')"
	fi
}
status no_schedule 2 'no schedule' -n 2
status no_size 2 'parametric' "$bcast"
status bad_size 2 '-n takes' -n 0 "$bcast"
status bad_type 2 '--type widget: there is no such type; it is one of byte, int8, ' -n 2 --type widget "$bcast"
status near_type 2 '--type doubel: there is no such type; did you mean double?' -n 2 --type doubel "$bcast"
status near_op 2 '--op summ: there is no such op; did you mean sum?' -n 2 --op summ "$bcast"
status near_select 2 'there is no collective Allreduce; did you mean MPI_Allreduce?' -n 2 --select Allreduce
status near_option 2 'unknown option --itres; did you mean --iters?' -n 2 --itres 5 "$bcast"
status near_pass 2 'there is no pass segmnet; did you mean segment?' -n 2 -T segmnet:size=3 "$bcast"
status one_dash 2 'unknown option -iters; did you mean --iters?' -iters 5 -n 2 "$bcast"
status one_dash_last 2 'unknown option -x' -n 2 "$bcast" -x
status blamed 2 'goalrun: unknown option -W' --iters 100 -Wno-race "$bcast"
GOAL_PROGRES=thread GOAL_PROGRESS=app GOAL_SOMEBODY_ELSES=1 run -n 2 --iters 2 "$bcast"
check goalrun.near_variable [ "$? $(cat "$TMP/err")" = \
	'0 goalrun: warning: there is no environment variable GOAL_PROGRES; did you mean GOAL_PROGRESS?' ]
GOAL_SHMM=1 status near_variable_again 2 'did you mean GOAL_SHM?' -n 2
GOAL_WAIT=blok status choices_of_variable 1 'GOAL_WAIT cannot be "blok" (spin, yield, block or learn:' -n 2 --iters 2 "$bcast"
# The same error of all ranks is printed once, whether all have found it, or one of them has told the others.
check goalrun.once_from_one [ "$(grep 'cannot be' "$TMP/err" | cut -d '(' -f 1)" = \
	'goalrun: ranks 0-1: MPIX_Sched_init: rank 0: the environment variable GOAL_WAIT cannot be "blok" ' ]
GOAL_PROGRESS=thred status once_from_all 1 'goalrun: ranks 0-2: MPIX_Sched_group_create: the environment variable GOAL_PROGRESS cannot be "thred" (' \
	-n 3 --iters 2 "$bcast"
GOAL_BACKEND=vrebs status near_backend_variable 1 '"vrebs"; did you mean verbs?' -n 2 --iters 2 "$bcast"
status bad_count 2 '--count takes numbers of at least 0, not -1' -n 2 --count=-1 "$bcast"
status bad_op 2 '--op cannot be no_op' -n 2 --op no_op "$bcast"
status bad_sweep 2 '--sweep is all or pairs' -n 2 --sweep some "$bcast"
status bad_memory 2 '--memory core: there is no such memory; it is one of heap, private, staged, moved' -n 2 --memory core "$bcast"
status bad_define 2 '-D takes' -n 2 -D root "$bcast"
status bad_ranks 2 '--ranks is' -n 2 --ranks fibres "$bcast"
status unknown_option 2 'unknown option' -n 2 --frobnicate "$bcast"
status unknown_letter 2 'unknown option -x' -n 2 -x "$bcast"
status lacks_argument 2 '--iters needs an argument: N' "$bcast" -n 2 --iters
status flag_argument 2 '--verify takes no argument' -n 2 --verify=yes "$bcast"
status several_options 2 '--t may be --type, --topology, --table, --tests, --trace, --tune' -n 2 --t "$bcast"
check goalrun.usage_is_short [ "$(wc -l <"$TMP/err") $(tail -n 1 "$TMP/err")" = '2 try goalrun --help' ]
status unknown_backend 2 'there is no backend tcp; it is one of shm, verbs, mpi, smcq' -n 2 --backend tcp "$bcast"
status mpi_backend 2 'the backend mpi is for programs of MPI' -n 2 --backend mpi "$bcast"
status unknown_engine 2 'there is no engine steam; it is one of ' -n 2 --engine steam "$bcast"
# --backend sim: the times are those of goalsim, for each case.
simulated() { "$BUILD/bin/goalsim" -n 5 --type double "$@" | awk '$1 == "end" { printf "%.2f", $2 / 1000 }'; }
printf 'L 300\nG 0.25\nstart 90\n' >"$TMP/params"
check "goalrun.sim $(head -n 1 "$TMP/err")" run -n 5 --backend sim --params "$TMP/params" --count 3,1k --root 2 -T segment:size=100 "$bcast"
check goalrun.sim_times [ "$(awk '$2 == "double" { print $5 }' "$TMP/out" | xargs)" = \
	"$(for n in 3 1k; do simulated --params "$TMP/params" --count $n -D root=2 -T segment:size=100 "$bcast"; echo; done | xargs)" ]
check goalrun.sim_says grep -q ': 5 ranks, simulated: none ran$' "$TMP/out"
check goalrun.sim_samples run -n 5 --backend sim --sample all "$ROOT/schedules/gatherv_linear.goal"
check goalrun.sim_json run -n 5 --backend sim --count 3 --json "$bcast"
check "goalrun.sim_json_keys" [ "$("$BUILD/tests/report" "$TMP/out" backend iters verified cases.0.median_us | xargs)" = \
	"sim 1 false $("$BUILD/bin/goalsim" -n 5 --type double --count 3 "$bcast" | awk '$1 == "end" { print $2 / 1000 }')" ]
status sim_verify 2 '--verify does not go with --backend sim, which runs no ranks' -n 2 --backend sim --verify "$bcast"
status sim_program 2 '--backend sim takes a schedule, no program' -n 2 --backend sim -- true
status params_alone 2 '--params goes with --backend sim' -n 2 --params "$TMP/params" "$bcast"
# -n is also how many ranks a text is checked for.
cat >"$TMP/two.goal" <<'END'
schedule two
buffer in a[1]
buffer out b[1]
rank r of p { send a to 1 - r; recv b from 1 - r }
END
check goalrun.only_ranks run -n 2 --iters 2 "$TMP/two.goal"
status other_ranks 1 'the peer -1 is out of range' -n 3 --iters 2 "$TMP/two.goal"
status bad_dump_after 2 '--dump-after takes a number' -n 2 --dump-after -1 "$bcast"
status bad_seed 2 '--seed takes a number' -n 2 --seed x "$bcast"
n=0
for o in --count --type --op --root --memory --sample; do
	for s in '' , 0, ,0 0,,0; do
		status "list_$((++n))" 2 "$o cannot be empty, nor have an empty part" -n 2 $o "$s" "$bcast"
	done
done
for o in --iters --warmup --seed --delay --dump-after --comm-cores -n; do
	for s in '' -1 x 1x ' 1' +1 0x1 99999999999999999999; do
		status "number_$((++n))" 2 "$o takes a number" -n 2 $o "$s" "$bcast"
	done
done
for s in '' , 0, ,0 0,,1 1-0 -1 99999999999999999999 x; do
	status "placement_$((++n))" 2 '--placement is' -n 2 --placement "$s" "$bcast"
done
for s in '' , a, ,a a,,b; do
	status "hosts_$((++n))" 2 'a name is missing' -n 2 --hosts "$s" "$bcast"
done
# k, M and G are powers of 1024.
run -n 2 --iters 2 --count 1k,2Ki,1M,3 "$bcast"
counts=$(awk 'NR > 2 && $2 == "double" { print $1 }' "$TMP/out" | tr '\n' ' ')
check "goalrun.amounts $counts" [ "$counts" = '1024 2048 1048576 3 ' ]
status bad_amount 2 '--count takes numbers of at least 0, not 1kB' -n 2 --count 1kB "$bcast"
status large_amount 2 '--count takes numbers of at least 0, not 9999999999G' -n 2 --count 9999999999G "$bcast"
status root_amount 2 '--root takes numbers of at least 0, not 1k' -n 2 --root 1k "$bcast"
run -n 2 --iters 2 --count 1k -D count=1k -T segment:size=1Ki "$bcast"
check goalrun.amount_agrees [ $? -eq 0 ]
status count_differs 2 '--count and -D count differ' -n 2 --count 3 -D count=4 "$bcast"
status count_differs_list 2 '--count and -D count differ' -n 2 --count 3,4 -D count=4 "$bcast"
status root_differs 2 '--root and -D root differ' -n 2 --root all -D root=1 "$bcast"
run -n 2 --iters 2 --root 1 -D root=1 --count 3 -D count=3 "$bcast"
check goalrun.root_agrees [ $? -eq 0 ]
status key_twice 2 'is given twice' -n 2 -T segment:size=4,size=8 "$bcast"
status table_alone 2 '--table goes with --select' -n 2 --table x "$bcast"
status table_empty 2 'the argument of --table, FILE, cannot be empty' -n 2 --select MPI_Bcast --table ''
status topology_alone 2 '--topology goes with --select' -n 2 --topology cart "$bcast"
status program_count 2 '--count takes a schedule, no program' -n 2 --count 4 -- true
status program_define 2 '-D takes a schedule, no program' -n 2 -D a=4 -- true
status program_threads 2 '--ranks threads takes a schedule' -n 2 --ranks threads -- true
status no_program 2 'no program' -n 2 --
status overlap_program 2 'takes a schedule, no program' -n 2 --overlap -- true
status overlap_delay 2 'does not go with --delay' -n 2 --overlap --delay 5 "$bcast"
status no_overlap 2 '--tests goes with --overlap' -n 2 --tests 5 "$bcast"
status bad_work 2 '--work takes a number' -n 2 --overlap --work 0 "$bcast"
status program_no_size 2 'the number of ranks is missing: -n' -- true
status device 1 'neither a regular file nor a pipe' -n 2 /dev/zero
run -n 2 --iters 2 --verify - <"$bcast"
check goalrun.stdin grep -q '^<stdin>: 2 ranks' "$TMP/out"
run --hosts localhost:1,localhost:1 -n 2 --iters 2 --verify - <"$bcast"
check goalrun.stdin_hosts grep -q '^verified: all 1 case right' "$TMP/out"
echo schedule | run -n 2 -
check "goalrun.stdin_bad $(head -n 1 "$TMP/err")" grep -q '^<stdin>:' "$TMP/err"
status missing_file 1 'No such file' -n 2 "$TMP/none.goal"
status bad_root 1 'the root is out of range' -n 2 --root 2 --iters 2 "$bcast"
status unknown_parameter 1 'no parameter rot; did you mean root?' -n 2 -D rot=1 --iters 2 "$bcast"
status wrong_size 1 'for 8 ranks, not for 3' -n 3 "$TESTS/samples/bcast8.goal"
status no_root 1 'has no root' --root 1 "$TESTS/samples/bcast8.goal"
printf 'schedule s\nbuffer in a[count]\nrank r of p { nop }\n' >"$TMP/s.goal"
status nothing_to_verify 1 'does not say what it implements' -n 2 --verify "$TMP/s.goal"
sed 's/ s$/ s implements MPI_Broadcast/' "$TMP/s.goal" >"$TMP/s_of.goal"
status undefined_to_verify 1 's_of.goal implements MPI_Broadcast, which has no definition; did you mean MPI_Bcast?' -n 2 --verify "$TMP/s_of.goal"
head -c 100 "$BUILD/bin/goalc" >"$TMP/x.bin"
status no_text 1 'error' -n 2 "$TMP/x.bin"
"$GOALC" "$bcast" -o "$TMP/b.bin"
printf x | dd of="$TMP/b.bin" bs=1 seek=300 conv=notrunc 2>/dev/null
status altered 1 'altered' -n 2 "$TMP/b.bin"
GOAL_SHM_DIRECT=maybe status environment 1 'GOAL_SHM_DIRECT cannot be "maybe"' -n 2 --iters 2 --memory private "$bcast"

# Parameters of a schedule reach its ranks, and the command that repeats what failed.
cat >"$TMP/par.goal" <<'END'
schedule s(root = 0, n = 1, w[2]) implements MPI_Bcast
buffer inout data[count]
rank r of p {
  assert n == 2 and w[1] == 5, "n and w"
  if r == root { for q = 0 to p - 1 { if q != root { send data to q } } }
  if r != root { recv data from root }
}
END
run -n 3 --verify --seed 5 --progress app --iters 3 --root all -D n=2 -D w=4,5 "$TMP/par.goal"
check goalrun.parameters [ $? -eq 0 ]
check goalrun.parameters_cases grep -q '^verified: all 3 cases right' "$TMP/out"
status parameters_wrong 1 'n and w' -n 3 --iters 3 -D n=2 -D w=4,6 "$TMP/par.goal"
sed -i 's/send data to q/if r > p { send data to q }/; s/if r != root { recv.*//' "$TMP/par.goal"
status repeats 1 '--seed 5 -T reduce-deps -D n=2 -D w=4,5 ' -n 3 --verify --seed 5 -D n=2 -D w=4,5 -T reduce-deps "$TMP/par.goal"
"$GOALC" "$bcast" -o "$TMP/b.bin"
status passes_of_binary 2 '-T works on a schedule' -n 2 -T reduce-deps "$TMP/b.bin"
run -n 2 --iters 2 --json "$ROOT/schedules/barrier_dissemination.goal"
check goalrun.json_no_count grep -q '"count": null' "$TMP/out"
# What was compiled for use in place has buffers of that use, which its caller does not say.
for s in allreduce_ring gather_linear; do
	"$GOALC" "$ROOT/schedules/$s.goal" -n 2 -D inplace=1 -o "$TMP/in.bin"
	check goalrun.in_place.$s run -n 2 --verify --iters 2 --count 5 "$TMP/in.bin"
done
check goalrun.in_place.queues run -n 2 --backend smcq --sample inplace --verify --iters 2 --count 5 "$ROOT/schedules/allgather_ring.goal"
status bad_wait 2 '--wait is' -n 2 --wait long "$bcast"
status bad_placement 1 'there is no core 999999' -n 2 --placement 999999 "$bcast"
status bad_progress 2 '--progress is app' -n 2 --progress nic "$bcast"
run -n 3 --progress collab --iters 3 --json "$bcast"
check goalrun.steals grep -qE '"steals": \[ (\{ "rank": [0-2], "local": [0-9]+, "remote": [0-9]+ \},? ){3}\]' "$TMP/out"
run -n 3 --progress collab --iters 3 "$bcast"
check goalrun.steals_table [ "$(grep -A3 'steals on its NUMA node' "$TMP/out" | grep -cE '^ +[0-2] +[0-9]+ +[0-9]+$')" -eq 3 ]
run --help
check goalrun.help [ $? -eq 0 ]
check goalrun.help_text grep -q '^usage: goalrun' "$TMP/out"
check goalrun.help_explains grep -qE '^  --iters N +starts that are timed' "$TMP/out"
cp "$TMP/out" "$TMP/help"
run -h
check goalrun.help_letter cmp -s "$TMP/out" "$TMP/help"
timeout 60 "$BUILD/bin/goalrun" --help >/dev/full 2>"$TMP/err"
check goalrun.help_full [ $? -eq 1 ]
run -V
check goalrun.version_letter grep -q '^goalrun [0-9]' "$TMP/out"
run --version
check goalrun.version [ $? -eq 0 ]
check goalrun.version_text grep -q '^goalrun [0-9]' "$TMP/out"
timeout 60 "$BUILD/bin/goalrun" -n 2 --iters 3 "$bcast" >/dev/full 2>"$TMP/err"
check goalrun.full [ $? -eq 1 ]
# Closed descriptors stay closed: ranks do not read or write what goalrun has opened instead.
timeout 60 "$BUILD/bin/goalrun" -n 2 -- cat <&- >"$TMP/out" 2>/dev/null
check goalrun.no_stdin [ ! -s "$TMP/out" ]
timeout 60 "$BUILD/bin/goalrun" -n 2 -- sh -c 'echo on || exit 3' >&- 2>"$TMP/err"
check goalrun.no_stdout [ $? -eq 1 ]
timeout 60 "$BUILD/bin/goalrun" -n 2 --hosts localhost,localhost -- echo on <&- >"$TMP/out" 2>"$TMP/err"
check "goalrun.no_stdin_hosts $(head -n 1 "$TMP/err")" [ "$(grep -c '^on$' "$TMP/out")" -eq 2 ]

# Who starts goalrun may ignore SIGCHLD.
timeout -k 1 20 env --ignore-signal=CHLD "$BUILD/bin/goalrun" -n 2 -- sh -c 'exit $GOAL_RANK' >"$TMP/out" 2>"$TMP/err"
rc=$?
check "goalrun.chld_ignored status $rc" [ $rc -eq 1 ]

# Threads that are asked to end leave the command that repeats the case.
timeout 60 "$BUILD/bin/goalrun" -n 2 --ranks threads --delay 100 --iters 1000000 "$bcast" >"$TMP/out" 2>"$TMP/err" &
pid=$!
until child=$(pgrep -P $pid) && [ "$(ls "/proc/$child/task" | wc -l)" -eq 3 ]; do
	[ -d /proc/$pid ] || break
	sleep 0.02
done
kill -TERM "$child"
wait $pid
rc=$?
check "goalrun.term_threads status $rc" [ "$rc $(grep -c 'this case alone: .*--ranks threads.*--delay 100' "$TMP/err")" = '1 1' ]

# As do processes, once, however often they are asked.
timeout 60 "$BUILD/bin/goalrun" -n 2 --delay 100 --iters 1000000 "$bcast" >"$TMP/out" 2>"$TMP/err" &
pid=$!
until child=$(pgrep -P $pid -x goalrun) && [ "$(pgrep -c -P "$child")" -eq 2 ]; do
	[ -d /proc/$pid ] || break
	sleep 0.02
done
while kill -TERM "$child" 2>/dev/null; do :; done
wait $pid
check "goalrun.term_processes status $?" [ "$(grep -c 'this case alone: ' "$TMP/err")" -eq 1 ]

# interrupted NAME CHILDREN PROGRAM ARGS... : SIGINT, sent to the process group as a terminal does, ends the program with one
# line and status 130, and leaves no process of the group. Before, the program has to have so many child processes.
interrupted()
{
	local name=$1 children=$2 pid rc

	shift 2
	setsid env --default-signal=INT "$@" >"$TMP/out" 2>"$TMP/err" &
	pid=$!
	until [ "$(pgrep -c -P $pid)" -ge "$children" ] && grep -q '^SigBlk:.*[2367abef]$\|^SigCgt:.*[2367abef]$' /proc/$pid/status; do
		[ -d /proc/$pid ] || break
		sleep 0.02
	done
	sleep 0.2
	kill -INT -- -$pid
	wait $pid
	rc=$?
	for _ in $(seq 500); do pgrep -g $pid >/dev/null || break; sleep 0.02; done
	check "goalrun.interrupted $name: $rc, $(tr '\n' '|' <"$TMP/err")" \
		[ "$rc $(cat "$TMP/err") $(pgrep -g $pid)" = "130 ${1##*/}: interrupted " ]
}
# A SIGHUP that goalrun was started to ignore, as nohup(1) does, ends neither it nor its ranks. A SIGINT ends them, though the shell's &
# has it ignored.
for kind in processes threads program; do
	case $kind in
	program) set -- -n 2 -- sh -c "echo on; sleep 1; exit \$GOAL_RANK" ;;
	*) set -- -n 2 --ranks $kind --iters 1 --warmup 0 "$TMP/second.goal" ;;
	esac
	printf 'schedule s\nrank r of p { calc 1000000000 }\n' >"$TMP/second.goal"
	env --ignore-signal=HUP "$BUILD/bin/goalrun" "$@" >"$TMP/out" 2>"$TMP/err" &
	pid=$!
	sleep 0.3
	kill -HUP $pid
	wait $pid
	rc=$?
	check "goalrun.ignored_$kind status $rc $(tr '\n' '|' <"$TMP/err")" [ "$rc" = "$([ $kind = program ] && echo 1 || echo 0)" -a ! -s "$TMP/err" ]
done
env --ignore-signal=INT "$BUILD/bin/goalrun" -n 2 -- sleep 40 2>"$TMP/err" &
pid=$!
sleep 0.3
kill -INT $pid
wait $pid
rc=$?
check "goalrun.not_ignored status $rc $(cat "$TMP/err")" [ $rc -eq 130 ]
shm=$(ls /dev/shm)
long=(-n 2 --delay 100 --iters 1000000)
interrupted processes 2 "$BUILD/bin/goalrun" "${long[@]}" "$bcast"
interrupted threads 0 "$BUILD/bin/goalrun" "${long[@]}" --ranks threads "$bcast"
interrupted queues 3 "$BUILD/bin/goalrun" "${long[@]}" --backend smcq "$bcast"
interrupted program 3 "$BUILD/bin/goalrun" -n 2 -- sh -c 'sleep 1000 & wait'
interrupted proof 0 "$GOALC" --verify -n 500-1000 "$ROOT/schedules/allreduce_ring.goal"
check "goalrun.interrupted_shm $(ls /dev/shm)" [ -z "$(comm -13 <(echo "$shm") <(ls /dev/shm) | grep -i goal)" ]

run -n 3 --json --iters 5 "$bcast"
# json NAME WANT PATHS : what it says, at some paths
json()
{
	local got

	# shellcheck disable=SC2086
	got=$("$BUILD/tests/report" "$TMP/out" program $3 | tr '\n' '|')
	if [ "$got" = "goalrun|$2|" ]; then ok "goalrun.json_$1"; else fail "goalrun.json_$1 $got"; fi
}
json one "$bcast|3|shm|true|5|1|$bcast|1000|double|null|0|heap|null" \
	'schedule ranks backend verified iters cases.# cases.0.schedule cases.0.count cases.0.type cases.0.op cases.0.root cases.0.memory collective'
keys=$(tr -d ' {}\n' <"$TMP/out" | tr ',' '\n' | sed 's/:.*//; s/"//g' | grep _us | tr '\n' ' ')
check "goalrun.json_times $keys" [ "$keys" = "median_us min_us start_us init_us " ]
run -n 3 --json --iters 5 --count 1,2 --root 1 "$bcast"
json several '2|2|1' 'cases.# cases.1.count cases.1.root'
run -n 2 --json --show-placement
json placement 'null|2|1' 'schedule cases.# cases.1.rank'

# --select: each count has the schedule that the table has for it.
run -n 3 --select MPI_Allreduce --count 1,64k,1M,2 --iters 3 --warmup 1 --verify
words=$(awk '$2 == "double" && match($0, /[a-z_]+[.]goal/) { print $1, substr($0, RSTART, RLENGTH) }' "$TMP/out" | tr '\n' ' ')
check "goalrun.select_counts $words" [ "$words" = "1 allreduce_linear.goal 65536 allreduce_slices.goal \
1048576 allreduce_slices.goal 2 allreduce_linear.goal " ]
check goalrun.select_all [ "$(head -c 13 "$TMP/out") $(tail -n 1 "$TMP/out")" = 'MPI_Allreduce verified: all 4 cases right' ]
run -n 3 --select MPI_Allreduce --count 1,1M --iters 3 --warmup 1 --json
json select 'MPI_Allreduce|null|2|allreduce_linear.goal -T fuse|allreduce_slices.goal -T fuse|1048576|2' \
	'collective schedule cases.# cases.0.schedule cases.1.schedule cases.1.count counters.#'
run -n 3 --select MPI_Bcast --count 1,2 --iters 3 --json
json select_same "$ROOT/schedules/bcast_linear.goal|2|1" 'schedule cases.# counters.#'
run -n 3 --select MPI_Bcast --count 10,20 --iters 3 --backend smcq
check goalrun.select_queues grep -q '^verified: all 2 cases right' "$TMP/out"
status select_fails 1 'no row of the selection table' -n 3 --select MPI_Neighbor_alltoall --count 1,2
status select_trace 2 '--trace takes one schedule' -n 3 --select MPI_Allreduce --count 1,1M --trace "$TMP/t.json"
check goalrun.select_no_trace [ ! -e "$TMP/t.json" ]
status select_types 2 '--select takes one type' -n 3 --select MPI_Bcast --type int32,byte

# --calibrate: goalsim reads what it prints, whatever has been measured.
# Ranks that share CPUs with others take long.
calibrates() { timeout 300 "$BUILD/bin/goalrun" --calibrate >"$TMP/out" 2>"$TMP/err"; }
check goalrun.calibrate calibrates
check goalrun.calibrate_names [ "$(grep -v '^#' "$TMP/out" | grep -cE '^((L|o|g|start) [0-9]+|(G|O|copy|reduce)( [0-9]+:[0-9]+){11})$')" -eq 8 ]
check goalrun.calibrate_table [ "$(grep -cE '^# +[0-9]+( +[0-9]+){4}$' "$TMP/out")" -eq 11 ]
check goalrun.calibrate_read "$BUILD/bin/goalsim" -n 2 --params "$TMP/out" "$ROOT/schedules/bcast_binomial.goal"
status calibrate_schedule 2 '--calibrate takes no schedule' --calibrate "$bcast"
status calibrate_ranks 2 '--calibrate measures 2 ranks' -n 3 --calibrate
status calibrate_count 2 '--calibrate does not go with --count' --calibrate --count 3

# --tune: its rows load and select, whatever has been measured. The commands below it are those of its users.
# tuned COLLECTIVE RANKS COUNTS... : the rows are for all sizes, one range after the other
tuned()
{
	run -n "$2" --tune "$1" --count "$3" && cp "$TMP/out" "$TMP/tuned.table" && grep -v '^#' "$TMP/out" | awk -v c="$1" -v n="$2" '
		{ split($3, r, "-"); bad += $1 != c || $2 != n || r[1] != next_ || (NR > 1 && open) || $6 != "->"; next_ = r[2] + 1; open = r[2] == "" }
		END { exit bad || !NR || !open }' next_=0
}
check "goalrun.tune $(head -n 1 "$TMP/err")" tuned MPI_Bcast 3 1,2k
check goalrun.tune_measured [ "$(grep -c '^# .* bytes, median us: .*bcast_binomial.goal [0-9.]*; ' "$TMP/tuned.table")" -eq 2 ]
check goalrun.tune_unsuited [ "$(grep -c trinaryx3 "$TMP/tuned.table") $(wc -l <"$TMP/err")" = '0 0' ]
check goalrun.tune_selects [ -n "$("$GOALC" --select MPI_Bcast -n 3 -D bytes=8 --table "$TMP/tuned.table" | grep "^$TMP/tuned.table:")" ]
check goalrun.tune_other_size [ -z "$("$GOALC" --select MPI_Bcast -n 4 -D bytes=8 --table "$TMP/tuned.table" | grep "^$TMP/tuned.table:")" ]
GOAL_SELECT=$TMP/tuned.table run -n 3 --select MPI_Bcast --count 1,2k --verify --iters 5
check goalrun.tune_used grep -q '^verified: all 2 cases right' "$TMP/out"
check goalrun.tune_reduces tuned MPI_Allreduce 2 1
check goalrun.tune_builtin grep -q '^MPI_Allreduce 2 0- builtin any -> ' "$TMP/tuned.table"
check goalrun.tune_barrier tuned MPI_Barrier 2 1,2
# A schedule beside the user's table is measured, too, and the rows name it wherever they are.
mkdir "$TMP/mine"
cp "$bcast" "$TMP/mine/own.goal"
echo 'MPI_Bcast any any any any -> own.goal' >"$TMP/mine/table"
GOAL_SELECT=$TMP/mine/table run -n 2 --tune MPI_Bcast --count 1
check "goalrun.tune_own $(head -n 1 "$TMP/err")" grep -qF " bytes, median us: $TMP/mine/own.goal " "$TMP/out"
cp -r "$TMP/mine" "$TMP/not mine"
GOAL_SELECT="$TMP/not mine/table" status tune_blank 1 'has a blank or a #' -n 2 --tune MPI_Bcast --count 1
# What a measurement has kept is gone before the next one.
for backend in shm smcq; do
	timeout 60 "$BUILD/bin/goalrun" -n 2 --backend $backend --tune MPI_Bcast --count 1 >/dev/null 2>&1 &
	pid=$!
	most=0
	while [ -d /proc/$pid ] && [ $most -lt 60 ]; do
		maps=$(cat "/proc/$(pgrep -P $pid -x goalrun)/maps" 2>/dev/null | grep -c '/dev/zero')
		[ "$maps" -le $most ] || most=$maps
		sleep 0.02
	done
	kill -TERM $pid 2>/dev/null
	wait $pid
	check "goalrun.tune_keeps_nothing $backend: $most" [ $most -gt 0 -a $most -lt 60 ]
done
status tune_collective 2 'there is no collective MPI_Broadcast; did you mean MPI_Bcast' -n 2 --tune MPI_Broadcast
status tune_neighbor 2 'its time depends on the neighbours' -n 2 --tune MPI_Neighbor_alltoall
status tune_ranks 2 'needs the number of ranks' --tune MPI_Bcast
status tune_define 2 'takes no -D and no -T' -n 2 --tune MPI_Bcast -D k=2
status tune_order 2 'have to ascend' -n 2 --tune MPI_Bcast --count 2,1
status tune_types 2 '--tune takes one type' -n 2 --tune MPI_Bcast --type byte,int32
status tune_schedule 2 '--tune takes no schedule' -n 2 --tune MPI_Bcast "$bcast"

# The tables of OSU's benchmarks.
run -n 3 --select MPI_Bcast --count 1,1k,1M --type byte --iters 4 --warmup 1 --format osu
check goalrun.osu [ "$(sed -n '4p' "$TMP/out")" = '# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations' ]
check goalrun.osu_rows awk 'NR > 4 { n++; bad += NF != 5 || $1 != 1024 ^ (n - 1) || $2 < $3 || $2 > $4 || $5 != 4 }
	END { exit bad || n != 3 }' "$TMP/out"
run -n 2 --count 1k,2k --root all --iters 4 --format osu-bw "$bcast"
check goalrun.osu_bw [ "$(awk '!/^#/ { print $1 } / root / { print $NF }' "$TMP/out" | tr '\n' ' ')" = ' 0 8192 16384  1 8192 16384 ' ]
check goalrun.osu_bw_text grep -qx '# Size      Bandwidth (MB/s)' "$TMP/out"
run -n 2 --format osu --iters 4 "$ROOT/schedules/barrier_tree.goal"
check goalrun.osu_barrier awk 'NR == 4 { bad += $2 != "Avg" } NR > 4 { bad += NF != 4 } END { exit bad || NR != 5 }' "$TMP/out"
run -n 1 --backend sim --count 0 --format osu-bw "$bcast"
check "goalrun.osu_bw_nothing $(tail -n 1 "$TMP/out")" grep -qE '^0 +0\.00$' "$TMP/out"
run -n 2 --backend smcq --iters 4 --memory heap,heap --json "$bcast"
check "goalrun.same_memory $(last_line "$TMP/out"; grep -o '"packets": [0-9.]*' <<<"$REPLY")" grep -qF '"packets": 2.0,' "$TMP/out"
# What the environment says holds for a memory behind one that needs something else there: with 0 no rank reads another's.
if can_trace goalrun.memory_keeps; then
	for memory in staged,private private,staged; do
		GOAL_SHM_DIRECT=0 timeout 60 strace -f -e trace=process_vm_readv,process_vm_writev -o "$TMP/calls" \
			"$BUILD/bin/goalrun" -n 2 --iters 2 --count 100k --memory $memory "$bcast" >"$TMP/out" 2>"$TMP/err"
		rc=$?
		check goalrun.memory_keeps_$memory [ "$rc $(grep -c process_vm "$TMP/calls")" = '0 0' ]
	done
fi
status osu_bw_barrier 1 'moves no blocks of data' -n 2 --format osu-bw --iters 4 "$ROOT/schedules/barrier_tree.goal"
status osu_json 2 '--format does not go with --json' -n 2 --format osu --json "$bcast"
status bad_format 2 '--format is table, osu or osu-bw' -n 2 --format csv "$bcast"

run -n 2 --json --iters 5 --wait block "$bcast"
check "goalrun.json_wait $(tail -n 1 "$TMP/out")" grep -Eq '"cpu_s": *\[ *[0-9.e-]+, *[0-9.e-]+ *\], *"joules": *(null|[0-9])' "$TMP/out"
run -n 2 --iters 5 --wait learn "$bcast"
check goalrun.wait_costs grep -Eq 'cpu s +joules$' "$TMP/out"
bytes='"shared_bytes":[1-9][0-9]*,"scratch_bytes":0,"private_bytes":[1-9][0-9]*,"moved_bytes":0'
run -n 2 --json --stats --iters 5 --backend verbs "$bcast"
check "goalrun.json_stats $(tail -n 1 "$TMP/out")" [ "$(tr -d ' ' <"$TMP/out" |
	grep -cE '"stats":\[\{"rank":0,"links":0,"link_bytes":0,"posted":0,"sent":0,"sent_bytes":0,"requests":1,'"$bytes"'\},\{"rank":1,')" -eq 1 ]
# Memory of a request: a small collective of 8 ranks takes 64 KiB at most, without scratch buffers.
small_requests()
{
	awk '/private bytes/ { on = 1; next } !/^ *[0-9]/ { on = 0 } on { n++; if ($2 != 1 || !$3 || !$5 || $3 + $5 > 65536) bad = 1 }
	     END { exit n != 8 || bad }' "$TMP/out"
}
for s in allreduce_ring allreduce_slices alltoall_linear bcast_trinary reduce_scatter_ring; do
	run -n 8 --stats --iters 1 --warmup 0 --count 128 --type double "$ROOT/schedules/$s.goal"
	check "goalrun.small_request_$s $(tail -n 2 "$TMP/out" | head -n 1)" small_requests
done
# Ranks that take turns on a core send long messages from private memory through rings of 512 KiB, and operands of reductions through
# rings of 128 KiB: of the two messages to the root of the reduction one is stored. From the heap messages of up to 64 KiB
# have rings as well; those of up to 32 KiB from one rank to three share a ring, which holds a message.
first=$(first_cpu)
rings() # NAME LEAST MOST MEMORY RANKS COUNT ARGS... : bytes of shared memory that the root has, without its buffers
{
	local name=$1 least=$2 most=$3

	taskset -c "$first" timeout 60 "$BUILD/bin/goalrun" -n "$5" --verify --stats --iters 3 --count "$6" --type double --memory "$4" \
		"${@:7}" >"$TMP/out" 2>&1
	check "goalrun.rings.$name $(tail -n 2 "$TMP/out" | tr '\n' ' ')" awk -v least="$least" -v most="$most" '
		/private bytes/ { on = 1; next } on && $1 == 0 { bytes = $3; on = 0 } /^verified: all 1 case right/ { right = 1 }
		END { exit !right || bytes < least || bytes > most }' "$TMP/out"
}
rings deep 1048576 1060000 private 3 75000 "$ROOT/schedules/gather_linear.goal"
rings shallow 655360 660000 private 3 75000 -T fuse "$ROOT/schedules/reduce_linear.goal"
rings heap 262144 270000 heap 3 8192 "$ROOT/schedules/gather_linear.goal"
rings long 1 10000 heap 3 8193 "$ROOT/schedules/gather_linear.goal"
rings both 16384 20000 heap 2 1024 "$ROOT/schedules/allgather_linear.goal"
rings shared 32768 40000 heap 4 4096 "$ROOT/schedules/bcast_linear.goal"
rings apart 1 10000 heap 4 4097 "$ROOT/schedules/bcast_linear.goal"
GOAL_SHM_DIRECT=2 rings direct 1 10000 heap 3 8192 "$ROOT/schedules/gather_linear.goal"
# Between ranks with a core each rings begin with few slots, and have grown to all of them after so many epochs. That of 8 KiB is
# narrow at times.
for count in 1024 1100 2500; do
	timeout 60 "$BUILD/bin/goalrun" -n 2 --verify --iters 3000 --count $count --type double --memory private \
		"$ROOT/schedules/alltoall_linear.goal" >"$TMP/out" 2>&1
	check "goalrun.grown_$count $(tail -n 1 "$TMP/out")" grep -q '^verified: all 1 case right' "$TMP/out"
done
# Two ranks with a core each that exchange long messages through rings copy their own blocks in pieces of 128 KiB meanwhile.
for count in 16385 50000 100000; do
	GOAL_SHM_DIRECT=0 timeout 60 "$BUILD/bin/goalrun" -n 2 --verify --iters 3 --count $count --type double --memory private \
		"$ROOT/schedules/alltoall_linear.goal" >"$TMP/out" 2>&1
	check "goalrun.pieces_$count $(tail -n 1 "$TMP/out")" grep -q '^verified: all 1 case right' "$TMP/out"
done
# Where data exceed the caches, a block that is also sent is copied while it is stored in the ring. The last bytes are less than a line.
for s in allgather_linear scan_linear; do
	HWLOC_SYNTHETIC='l3:1(size=1048576) core:2 pu:1' GOAL_SHM_DIRECT=0 timeout 60 "$BUILD/bin/goalrun" -n 2 --verify --iters 3 \
		--count 400001 --type double --memory private "$ROOT/schedules/$s.goal" >"$TMP/out" 2>&1
	check "goalrun.twins_$s $(tail -n 1 "$TMP/out")" grep -q '^verified: all 1 case right' "$TMP/out"
done
# Of those from private memory that are stored, messages of more than 256 KiB are tried another way as well: copied between the ranks.
between() # NAME WANT COUNT ARGS... : WANT: 0 or some, copies between the ranks
{
	local name=$1 want=$2 n= calls

	taskset -c "$first" timeout 60 strace -f -o "$TMP/trace" -e trace=process_vm_readv,process_vm_writev \
		"$BUILD/bin/goalrun" -n 3 --verify --iters 3 --count "$3" --type double --memory private "${@:4}" >"$TMP/out" 2>&1
	# Receivers may be so fast that senders copy nothing. A rank also reads 8 bytes to find out whether it may.
	[ "$want" = some ] && calls=' = [0-9]{5,}$' || calls=process_vm_writev
	grep -q '^verified: all 1 case right' "$TMP/out" && n=$(grep -cE "$calls" "$TMP/trace")
	check "goalrun.between.$name $(tail -n 1 "$TMP/out") copies: $n" [ "${n/#[1-9]*/some}" = "$want" ]
}
if can_trace goalrun.between; then
	between most 0 32768 "$ROOT/schedules/gather_linear.goal"
	between tries some 32769 "$ROOT/schedules/gather_linear.goal"
	between reduces 0 75000 -T fuse "$ROOT/schedules/reduce_linear.goal"
fi
# What carried the messages of the backend verbs: here no device, whether there is one or not.
run -n 4 --verify --iters 5 --warmup 1 --memory heap,private,staged --backend verbs "$bcast"
check "goalrun.verbs_way $(tail -n 2 "$TMP/out" | head -n 1)" grep -qx 'messages: 0 by RDMA, 54 by shared memory' "$TMP/out"
run -n 4 --json --iters 5 --warmup 1 --ranks threads --progress collab --backend verbs "$bcast"
check "goalrun.json_verbs_way $(tail -n 1 "$TMP/out")" [ "$(tr -d ' ' <"$TMP/out" |
	grep -c '"messages":{"rdma":0,"shared_memory":18}')" -eq 1 ]
if [ -z "$(ls /sys/class/infiniband 2>/dev/null)" ]; then
	status no_device 1 'there is no RDMA device on this node' -n 2 --iters 2 --backend verbs --no-shm "$bcast"
fi

run -n 3 --json --iters 5 --count 1,2 "$bcast"
check goalrun.json_cases grep -q '"cases": *\[' "$TMP/out"

# A broadcast in pieces as long as a vector says.
cat >"$TMP/pieces.goal" <<'END'
schedule pieces(root = 0, n, len[n]) implements MPI_Bcast
buffer inout data[count]
rank r of p {
  at = 0
  for k = 0 to n - 1 {
    if r == root {
      for i = 1 to p - 1 { send data[at +: len[k]] to (r + i) mod p }
    } else {
      recv data[at +: len[k]] from root
    }
    at = at + len[k]
  }
}
END
"$GOALC" "$TMP/pieces.goal" -o "$TMP/pieces.bin"
for kind in processes threads; do
	for form in goal bin; do
		run -n 3 --ranks $kind --verify --iters 5 --count 10 --root all --memory heap,staged -D n=3 -D len=5,0,5 "$TMP/pieces.$form"
		check "goalrun.parameters_${kind}_$form $(tail -n 1 "$TMP/out" "$TMP/err" | tr '\n' ' ')" \
			grep -q '^verified: all 6 cases right' "$TMP/out"
	done
done
status parameter_missing 1 'a parameter is missing' -n 3 --iters 2 --count 10 "$TMP/pieces.bin"
for backend in shm smcq; do # an output file appears only when all went well
	echo old >"$TMP/old.txt"
	status trace_failed_$backend 1 'the result is wrong' -n 3 --backend $backend --verify --iters 2 --count 10 --trace "$TMP/old.txt" \
		-D n=2 -D len=5,4 "$TMP/pieces.goal"
	check goalrun.trace_kept_$backend [ "$(cat "$TMP/old.txt")" = old ]
done
status parameter_length 1 'len' -n 3 --iters 2 --count 10 -D n=3 -D len=5,5 "$TMP/pieces.bin"
# With a piece too short the result is wrong. What ranks say is whole, each is named once, and the command that is
# printed shows the same.
wrong()
{
	sed -n 's/^goalrun: ranks* \([0-9, -]*\): epoch 1: byte 7[2-9] of data: the result is wrong$/\1/p' "$TMP/err" |
		tr -s ', -' '\n' | sort
}
for kind in processes threads; do
	run -n 3 --ranks $kind --verify --iters 5 --count 10 --root 1,2 --seed 9 -D n=2 -D len=5,4 -T reduce-deps "$TMP/pieces.goal"
	check goalrun.wrong_$kind [ $? -eq 1 ]
	said=$(wrong)
	again=$(sed -n 's/^goalrun: this case alone: goalrun //p' "$TMP/err")
	check "goalrun.wrong_${kind}_said $(tr '\n' '|' <"$TMP/err")" \
		[ -n "$said" -a "$said" = "$(uniq <<<"$said")" -a "$(grep -c '^goalrun: ' "$TMP/err")" = "$(wc -l <"$TMP/err")" ]
	# shellcheck disable=SC2086
	run $again
	check "goalrun.wrong_${kind}_again goalrun $again" [ $? -eq 1 -a -n "$(wrong)" ]
done
mkdir "$TMP/it's a \$place"
cp "$TMP/pieces.goal" "$TMP/it's a \$place/"
run -n 3 --iters 5 --count 10 --root 1 -D n=2 -D len=5,4 --trace "$TMP/it's a \$place/t.txt" "$TMP/it's a \$place/pieces.goal"
again=$(sed -n 's/^goalrun: this case alone: goalrun //p' "$TMP/err")
(set +u; eval "run $again")
check "goalrun.wrong_quoted_again goalrun $again" [ $? -eq 1 -a -n "$(wrong)" ]
# The same hosts have the ranks again, and a vector without elements is one.
printf 'schedule s(k = 0, v[k])\nrank r of p {\n for i = 0 to k - 1 { calc v[i] }\n calc 1000000\n}\n' >"$TMP/empty.goal"
timeout 60 "$BUILD/bin/goalrun" -n 2 --hosts localhost:1,localhost:1 -D k=0 -D v= --iters 30000 "$TMP/empty.goal" >"$TMP/out" 2>"$TMP/err" &
pid=$!
until child=$(pgrep -P $pid -x goalrun) && [ "$(pgrep -c -P "$child")" -eq 2 ]; do
	[ -d /proc/$pid ] || break
	sleep 0.02
done
sleep 0.5
kill -TERM "$child"
wait $pid
again=$(sed -n 's/^goalrun: this case alone: goalrun //p' "$TMP/err")
eval "run $again --iters 3"
check "goalrun.again_hosts goalrun $again" [ "$? ${again/*--hosts localhost:1,localhost:1 *}" = '0 ' -a -n "$again" ]

# Progress is on terminals only.
printf 'schedule s\nrank r of p { calc 1200000000 }\n' >"$TMP/long.goal"
for kind in processes threads; do
	timeout 60 script -qec "$BUILD/bin/goalrun -n 1 --ranks $kind --warmup 0 --iters 1 $TMP/long.goal" /dev/null >"$TMP/out" </dev/null
	check goalrun.progress_$kind [ "$(tr '\r' '\n' <"$TMP/out" | grep -c '^goalrun: .*long.goal, heap memory: [01] cases done, 1 in all, 1 s')" -ge 1 ]
done

# A signal that asks what ranks wait for ends nobody.
printf 'schedule s\nrank r of p { calc 200000000 }\n' >"$TMP/calc.goal"
for kind in processes threads; do
	timeout 60 "$BUILD/bin/goalrun" -n 2 --ranks $kind --warmup 0 --iters 5 "$TMP/calc.goal" >"$TMP/out" 2>"$TMP/err" &
	pid=$!
	until child=$(pgrep -P $pid) && grep -q '^SigCgt:.*[2367abef]..$' "/proc/$child/status"; do
		[ -d /proc/$pid ] || break
		sleep 0.02
	done
	kill -USR1 "$child"
	wait $pid
	rc=$?
	check "goalrun.usr1_$kind status $rc" [ $rc -eq 0 ]
done

# Where ranks run, and what they are told about it: as --show-placement says, in hwloc's numbers of this machine.
cat >"$TMP/where.sh" <<'END'
echo "$GOAL_RANK $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status) $GOAL_PROGRESS $GOAL_COMM_CPUS $GOAL_WAIT"
END
where() { timeout 60 "$BUILD/bin/goalrun" "$@" -- bash "$TMP/where.sh" 2>&1 | sort; }
mine=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
check goalrun.not_pinned [ "$(where -n 2)" = "0 $mine   
1 $mine   " ]
check goalrun.environment_chosen [ "$(where -n 1 --progress collab --wait block)" = "0 $mine collab  block" ]
check goalrun.environment_kept [ "$(GOAL_PROGRESS=thread GOAL_WAIT=spin where -n 1)" = "0 $mine thread  spin" ]
check goalrun.synthetic_not_pinned [ "$(HWLOC_SYNTHETIC='core:4 pu:1' where -n 2 --progress thread)" = "0 $mine thread -1,-1 
1 $mine thread -1,-1 " ]
check goalrun.one_core [ "$(taskset -c "$first" "$BUILD/bin/goalrun" -n 1 --progress thread --comm-cores 1 -- bash "$TMP/where.sh")" = \
	"0 $first thread $first " ]
if [ "$("$BUILD/bin/goalrun" -n 1 --show-placement --comm-cores 0 | sed -n 's/^1 rank on \([0-9]*\) core.*/\1/p')" -ge 2 ]; then
	got=$(where -n 4 --comm-cores 1 --progress thread)
	comms=$(cut -d' ' -f4 <<<"$got" | sort -u)
	# One CPU communicates for all, and no rank may run on it.
	check "goalrun.comm_core $(tr '\n' '|' <<<"$got")" [ "$(tr , '\n' <<<"$comms" | sort | uniq -c | tr -s ' ')" = " 4 ${comms%%,*}" -a \
		"$(awk -v c="${comms%%,*}" '{ n = split($2, a, ","); for (i = 1; i <= n; i++) { split(a[i] "-" a[i], b, "-"); if (c >= b[1] && c <= b[2]) print } }' <<<"$got")" = '' ]
	check goalrun.pinned [ "$(where -n 1 --placement bind | cut -d' ' -f2)" != "$mine" ]
	for kind in processes threads; do
		run -n 5 --ranks $kind --verify --iters 20 --comm-cores 1 "$bcast"
		check goalrun.pinned_$kind grep -q '^verified: all 1 case right' "$TMP/out"
	done
fi

world=$BUILD/tests/rt-world
run -n 4 -- "$world" "$bcast"
check goalrun.program [ "$? $(sort "$TMP/out" | tr '\n' ' ')" = "0 rank 0 of 4 rank 1 of 4 rank 2 of 4 rank 3 of 4 " ]
timeout 20 "$world" "$bcast" >"$TMP/out" 2>&1
check goalrun.program_alone [ "$? $(cat "$TMP/out")" = "0 rank 0 of 1" ]
GOAL_BOOT_FD=abc timeout 20 "$world" "$bcast" >"$TMP/out" 2>&1
check goalrun.program_environment grep -q 'GOAL_BOOT_FD cannot be "abc"' "$TMP/out"
GOAL_BOOT_FD=0 GOAL_SIZE=3 GOAL_RANK=1 timeout 20 "$world" "$bcast" >"$TMP/out" 2>&1 </dev/null
check goalrun.program_no_board grep -q "are not goalrun's" "$TMP/out"
status program_dies 1 'rank 1: killed by signal 6' -n 4 -- "$world" "$bcast" die
check goalrun.program_survivors [ "$(grep -c '^wait: rank 1 died' "$TMP/err")" -eq 3 ]
run -n 4 -- sh -c 'kill -SEGV $$'
check "goalrun.program_reason_once $(tr '\n' '|' <"$TMP/err")" grep -q '^goalrun: ranks 0-3: killed by signal 11 ' "$TMP/err"
status program_missing 1 'No such file' -n 2 -- "$TMP/no-such-program"
finish
