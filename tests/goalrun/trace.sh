#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# goalrun --trace: a trace has every op of every rank, at the right time, and the three formats agree. Also tests traces of
# programs, traces with too many events, and runs that fail.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$TMP" || exit 1
run() { timeout 60 "$BUILD/bin/goalrun" "$@" >out 2>err; }
# ops SCHEDULE RANKS : of one epoch
ops()
{
	goalc --stats --json "$1" -n "$2" | tr -d ' {}"' | tr ',' '\n' |
		awk -F: '/^(sends|recvs|calcs|copies|reduces|nops):/ { n += $2 } END { print n }'
}

# traced NAME SCHEDULE RANKS ARGS... : a run of 8 epochs, whose trace is right in each format
traced()
{
	local name=$1 file=$ROOT/schedules/$2.goal ranks=$3 rc

	shift 3
	rm -f got t.json
	run -n "$ranks" --warmup 3 --iters 5 --verify --trace t.json "$@" "$file" &&
		"$BUILD/tests/trace-check" t.json 8 "$(ops "$file" "$ranks")" >got
	rc=$?
	check "trace.$name $(cat got err)" [ $rc -eq 0 ]
}
for kind in processes threads; do
	traced bcast_$kind bcast_binomial 5 --ranks $kind
	traced allreduce_$kind allreduce_recursive_doubling 4 --ranks $kind --count 10
	traced reduce_$kind reduce_binomial 3 --ranks $kind --count 100000 --memory private
done
# Who has nothing to send waits for what comes.
check trace.waits grep -q ' [1-9][0-9]* waits' got
traced staged bcast_binomial 3 --memory staged --count 100000
traced alltoall alltoall_linear 4
traced alone allgather_ring 1
traced many scan_chain 9 --count 3

# Where others make progress: a row for each rank and one for each core that communicates.
if [ "$("$BUILD/bin/goalrun" -n 1 --show-placement --comm-cores 0 | sed -n 's/^1 rank on \([0-9]*\) core.*/\1/p')" -ge 2 ]; then
	for kind in processes threads; do
		traced thread_$kind allreduce_recursive_doubling 4 --ranks $kind --progress thread --comm-cores 1
		check trace.rows_$kind [ "$(grep -c '"name":"process_name","args":{"name":"\(rank\|communication on CPU\) [0-9]*"}' t.json)" -eq 5 -a \
			"$(grep -c '"name":"communication of rank' t.json)" -gt 0 ]
	done
	# Ranks that wait join in large copies.
	traced fragments reduce_binomial 3 --progress thread --comm-cores 1 --count 400000
	# A core that has just had work polls for a moment, and sleeps then.
	printf 'schedule s\nrank r of p {\na: calc 100000\nb: calc 100000\nb requires a\nc: calc 200000000\nc requires b\n}\n' >calc.goal
	run -n 2 --progress thread --placement numa --comm-cores 1 --warmup 0 --iters 2 --trace sleep.txt calc.goal
	check trace.sleeps [ "$(awk '$4 == "sleep" && $2 - $1 > 2e7' sleep.txt | wc -l)" -ge 2 ]
fi
for kind in processes threads; do
	GOAL_PROGRESS=thread GOAL_COMM_CPUS=-1 traced thread_unpinned_$kind reduce_binomial 4 --ranks $kind
	traced collab_$kind allreduce_recursive_doubling 4 --ranks $kind --progress collab
done

# The same in each format: what there is, and how much of it.
for format in json txt paje; do
	run -n 4 --iters 20 --warmup 0 --trace f.$format "$ROOT/schedules/allreduce_recursive_doubling.goal"
	check "trace.written_$format" [ $? -eq 0 ]
done
all=$(($(ops "$ROOT/schedules/allreduce_recursive_doubling.goal" 4) * 20))
check trace.text_ops [ "$(grep -c '^[0-9]* [0-9]* [0-9]* op ' f.txt)" -eq "$all" ]
check "trace.text_lines $(awk 'NF != 15 && NR > 1' f.txt | head -n 1)" [ -z "$(awk 'NF != 15 && NR > 1 || NR > 1 && ($2 < $1 || $3 > $1)' f.txt)" ]
check trace.text_heading [ "$(head -n 1 f.txt | wc -w)" -eq 16 ]
said=$(awk -f "$TESTS/trace/paje.awk" f.paje)
check "trace.paje $said" grep -q '^[0-9]* states, 160 links in 9 containers$' <<<"$said"
check trace.paje_states [ "${said%% *}" -ge "$all" ]
# The checkers find what is wrong.
sed '/ S t1$/{x;s/^/x/;/^x\{5\}$/{x;d};x}' f.paje >bad.paje
check "trace.paje_bad $(awk -f "$TESTS/trace/paje.awk" bad.paje)" [ -n "$(awk -f "$TESTS/trace/paje.awk" bad.paje | grep 'a state is left')" ]
"$BUILD/tests/trace-check" f.json 21 "$((all / 20))" >got
check trace.json_bad [ $? -eq 1 ]
run -n 1 --trace empty.json "$ROOT/schedules/bcast_binomial.goal"
check trace.empty grep -q '"traceEvents":\[$' empty.json
run -n 4 --iters 2 --warmup 0 --trace f.svg "$ROOT/schedules/allreduce_recursive_doubling.goal"
check trace.svg [ "$(grep -c "text-anchor='end'>rank [0-3]<" f.svg)" = 4 -a "$(grep -c ': recv from [0-3], ' f.svg)" -ge 16 -a \
	"$(grep -c '^<path .* L' f.svg)" = 16 ]
check trace.svg_says [ "$(grep -c -e 'allreduce_recursive_doubling.goal, 4 ranks<' -e '>measured on: .*[0-9] CPUs online' \
	-e '>2 starts after 0 for warmup; blocks of .* double; ranks are processes; backend shm' f.svg)" = 3 ]
run -n 1 --trace empty.paje "$ROOT/schedules/bcast_binomial.goal"
check trace.empty_paje [ "$(awk -f "$TESTS/trace/paje.awk" empty.paje)" = '0 states, 0 links in 1 containers' ]

# A program, here with contexts of its own, and one that has none.
run -n 3 --trace p.txt -- "$BUILD/tests/rt-world" "$ROOT/schedules/bcast_binomial.goal"
check trace.program [ $? -eq 0 -a "$(grep -c ' op rank' p.txt)" -gt 0 ]
run -n 2 --trace n.txt -- true
check trace.nothing [ $? -eq 1 -a -n "$(grep 'nothing was traced' err)" -a ! -e n.txt ]

# More than a rank keeps is counted, and told.
GOAL_TRACE_EVENTS=10 run -n 2 --iters 20 --warmup 0 --trace few.json "$ROOT/schedules/bcast_binomial.goal"
check trace.dropped [ $? -eq 0 -a -n "$(grep 'few.json lacks [1-9][0-9]* events: GOAL_TRACE_EVENTS is 10' err)" \
	-a "$(grep -c '"cat":"\(op\|issued\|part\|wait\)"' few.json)" -eq 20 ]

# wrong NAME STATUS TEXT ARGS...
wrong()
{
	local name=$1 want=$2 text=$3 rc

	shift 3
	run "$@"
	rc=$?
	check "trace.$name status $rc $(head -n 1 err)" [ $rc -eq "$want" -a -n "$(grep -F -- "$text" err)" ]
}
bcast=$ROOT/schedules/bcast_binomial.goal
wrong format 2 '--trace takes a name' -n 2 --trace x.png "$bcast"
wrong no_name 2 '--trace takes a name' -n 2 --trace .json "$bcast"
wrong nowhere 1 'No such file' -n 2 --iters 2 --trace none/x.json "$bcast"
echo old >kept.json
GOAL_SHM_DIRECT=maybe wrong failed 1 'GOAL_SHM_DIRECT cannot be' -n 2 --iters 2 --trace kept.json --memory private "$bcast"
check trace.kept [ "$(cat kept.json)" = old ]
GOAL_TRACE_EVENTS=x wrong events 1 'GOAL_TRACE_EVENTS cannot be "x"' -n 2 --iters 2 --trace x.json "$bcast"
check trace.none_left [ ! -e x.json ]
# A descriptor that is something else is left alone.
echo mine >mine
GOAL_TRACE_FD=7 timeout 20 "$BUILD/tests/rt-world" "$bcast" >out 2>&1 7>>mine
check "trace.foreign $(cat out)" [ "$(cat mine)" = mine -a -n "$(grep "GOAL_TRACE_FD cannot be \"7\": that is not goalrun's" out)" ]
finish
