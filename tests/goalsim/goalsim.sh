#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# goalsim: the times of random schedules against a second implementation of LogGOPSim's rules (oracle.c), every form of input, the
# corrected rules, deadlocks, and parametric schedules against the same ones written out.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$TMP" || exit 1
unset "${!GOAL_@}"
sim() { timeout 60 "$BUILD/bin/goalsim" "$@" >out 2>err; }
# finish ARGS... : when each rank finishes, or "blocked"
finishes() { if sim --finish "$@"; then grep '^rank ' out; else grep -q 'deadlock\|waits for ever' err && echo blocked; fi; }

# ---- random schedules ----

bad=
for ((seed = 1; seed <= ${SEEDS:-80}; seed++)); do
	kind=$((seed % 4 > 0))
	case $((seed % 5)) in
	0) values="2500 1500 1000 6 0 65535" ;;
	1) values="1000 200 500 1 0 0" ;;
	2) values="1000 200 500 2 1 1000" ;;
	3) values="12 5 4 0 0 1000000" ;;
	4) values="0 4 3 3 0 500" ;;
	esac
	read -r L o g G O S <<<"$values"
	# shellcheck disable=SC2086
	"$BUILD/tests/oracle" $seed $values $kind >s.goal 2>want
	finishes --rules compatible -L $L -o $o -g $g -G $G -O $O -S $S s.goal >got
	cmp -s want got || bad="$bad $seed"
	[ $kind = 1 ] && continue
	finishes -L $L -o $o -g $g -G $G -O $O -S $S s.goal >got
	cmp -s want got || bad="$bad $seed(corrected)"
	goalc --emit=loggopsim s.goal >s.lgs 2>err
	finishes --rules compatible -L $L -o $o -g $g -G $G -O $O -S $S s.lgs >got
	cmp -s want got || bad="$bad $seed(loggopsim)"
done
check "goalsim.oracle$bad" [ -z "$bad" ]

# What is proved to end, also where messages of a channel come in another order than their recvs are posted.
bad= n=0
for s in "$ROOT"/schedules/*.goal; do
	for ranks in 2 3 4 8; do
		if sim -n $ranks --count 8 "$s"; then n=$((n + 1)); else ! grep -q 'deadlock\|waits for ever' err || bad="$bad ${s##*/}:$ranks"; fi
	done
done
check "goalsim.ends $n runs$bad" [ -z "$bad" -a $n -gt 150 ]
# The second recv is posted first, and what waits for it waits for the second message.
cat >order.goal <<'END'
schedule order
buffer inout data[2]
rank r of p {
  if r == 0 and p == 2 {
    one: send data[0] to 1
    pause: calc 50000
    two: send data[1] to 1
    pause requires one
    two requires pause
  } else if p == 2 {
    busy: calc 100
    first: recv data[0] from 0
    first requires busy
    second: recv data[1] from 0
    after: calc 30000
    after requires second
  }
}
END
check goalsim.order [ "$(finishes -L 1000 -o 0 -g 0 -G 0 -n 2 order.goal | tail -n 1)" = "rank 1: 81000" ]
check goalsim.order_posted [ "$(finishes --rules compatible -L 1000 -o 0 -g 0 -G 0 -n 2 order.goal | tail -n 1)" = "rank 1: 51000" ]

# ---- the faults of LogGOPSim ----

printf 'num_ranks 1\nrank 0 {\nl1: calc 1000\nl2: calc 1000 cpu 1\nl2 requires l1\n}\n' >cpus.goal
check goalsim.cpus_compatible [ "$(finishes --rules compatible cpus.goal)" = "rank 0: 1000" ]
check goalsim.cpus_corrected [ "$(finishes cpus.goal)" = "rank 0: 2000" ]
printf 'num_ranks 2\nrank 0 {\nsend 0b to 1\n}\nrank 1 {\nrecv 0b from 0\n}\n' >empty.goal
check goalsim.empty_compatible [ "$(finishes --rules compatible empty.goal | tail -n 1)" = "rank 1: 5494" ]
check goalsim.empty_corrected [ "$(finishes empty.goal | tail -n 1)" = "rank 1: 5500" ]
printf 'num_ranks 2\nrank 0 {\nsend 1b to 1 cpu 1\n}\nrank 1 {\nl1: calc 9000 cpu 1\nl2: recv 1b from 0 cpu 2\n}\n' >charged.goal
check goalsim.charged_compatible [ "$(finishes --rules compatible charged.goal | tail -n 1)" = "rank 1: 10500" ]
check goalsim.charged_corrected [ "$(finishes charged.goal | tail -n 1)" = "rank 1: 9000" ]

# ---- parametric schedules ----

for text in bcast_binomial barrier_dissemination allreduce_ring allreduce_slices allreduce_recursive_doubling alltoall_linear gather_binomial; do
	goalc "$ROOT/schedules/$text.goal" -n 13 -o concrete.bin 2>err
	goalc "$ROOT/schedules/$text.goal" -o program.bin 2>>err
	finishes --count 100 --type double concrete.bin >want
	bad=
	finishes --count 100 --type double -n 13 "$ROOT/schedules/$text.goal" | cmp -s want || bad=text
	finishes --count 100 --type double -n 13 program.bin | cmp -s want || bad="$bad binary"
	check "goalsim.parametric $text $bad" [ -s want -a -z "$bad" ]
done
# All ranks have the ops of rank 0 but for a shift, and one rank alone has an error.
cat >shift.goal <<'END'
schedule shift
buffer in  give[p]
buffer out take[100]
rank r of p {
  for k = 1 to p - 1 {
    c[k]: calc 100 * k
    s[k]: send give[(r + k) mod p +: 1] to (r + k) mod p
    q[k]: recv take[(r - k) mod p +: 1] from (r + p - k) mod p tag k mod 2
    s[k] requires c[k]
    s[k] requires q[k - 2]
    s[k + 1] irequires q[k]
  }
}
END
sed -i 's/to (r + k) mod p$/& tag k mod 2/' shift.goal
goalc shift.goal -n 13 -o concrete.bin 2>err
finishes concrete.bin >want
finishes -n 13 shift.goal >got
check goalsim.alike cmp want got
check "goalsim.alike_ranks $(cat err)" [ "$(grep -c . want)" = 13 ]
finishes --repeat 3 concrete.bin >want
finishes --repeat 3 -n 13 shift.goal >got
check goalsim.alike_repeated cmp want got
cat >fault.goal <<'END'
schedule fault
buffer in  give[100]
buffer out take[1]
rank r of p {
  send give[r +: 1] to (r + 1) mod p
  recv take from (r - 1) mod p
}
END
sim -n 101 fault.goal
check "goalsim.alike_fault $(cat err)" grep -q 'rank 100: \[100 +: 1\] is outside of the buffer give' err
sed 's/calc 100/calc 100 * (r mod 2 + 1)/' shift.goal >odd.goal
goalc odd.goal -n 13 -o concrete.bin 2>err
finishes concrete.bin >want
finishes -n 13 odd.goal >got
check goalsim.not_alike cmp want got
check "goalsim.not_alike_ranks $(cat err)" [ "$(grep -c . want)" = 13 ]
# Ranks of a concrete binary that are like the one before, but for what each of them does otherwise. With -g each one is made alone.
awk 'BEGIN {
	print "num_ranks 40"
	for (r = 0; r < 40; r++) {
		kind = r % 5 ? int(r / 5) : 0
		printf "rank %d {\n", r
		printf "c: calc %d\n", kind == 1 ? 900 : 100
		printf "s: send 8b to %d tag 1\nz: send %db to %d tag 2\n", (r + 1) % 40, r == 7 ? 90 : 9, (r + 3) % 40
		printf "a: recv 8b from %s tag 1\n", kind == 2 ? "any" : (r + 39) % 40
		printf "b: recv %db from %d tag %s\n", r == 10 ? 90 : 9, (r + 37) % 40, kind == 3 ? "any" : 2
		print "s requires c\nz requires " (kind == 4 ? "s" : "a")
		if (kind == 5)
			print "d: calc 50\nd requires b"
		if (kind == 6)
			print "z irequires b"
		print "}"
	}
}' | sed 's/any/-1/' >like.goal
goalc like.goal -o like.bin 2>err && goalc -g like.goal -o alone.bin 2>>err
finishes alone.bin >want
finishes like.bin >got
check "goalsim.like $(cat err)" cmp want got
check goalsim.like_ranks [ "$(grep -c . want)" = 40 ]
bad=
for ((at = 1; at < 40; at++)); do
	cp like.bin altered.bin
	printf '\x55' | dd of=altered.bin bs=1 seek=$(($(stat -c %s like.bin) - at * 17)) conv=notrunc status=none
	sim altered.bin
	grep -q 'rank [0-9]*: the binary is \(altered\|malformed\)' err || bad="$bad $at"
done
check "goalsim.like_altered$bad" [ -z "$bad" ]
sim -n 8 "$ROOT/schedules/bcast_binomial.goal" -T segment:size=4 --count 16 --json
check goalsim.passes [ "$("$BUILD/tests/report" out program cases.0.ranks cases.0.events | xargs)" = "goalsim 8 84" ]

# ---- ranks that do not finish ----

printf 'num_ranks 2\nrank 0 {\nl1: recv 8b from 1\nl2: send 8b to 1\nl2 requires l1\n}\n' >cycle.goal
printf 'rank 1 {\nl1: recv 8b from 0\nl2: send 8b to 0\nl2 requires l1\n}\n' >>cycle.goal
sim cycle.goal
check goalsim.deadlock_status [ $? -eq 1 ]
check "goalsim.deadlock $(head -n 1 err)" [ "$(grep -c '^  rank' err)" = 4 ]
check goalsim.deadlock_lines grep -qF '  rank 0, op 1 (line 4): send 8b to 1, requires the next one' err
sim -S 4 cycle.goal
check goalsim.deadlock_head grep -qF 'cycle.goal: error: deadlock: 2 of 2 ranks do not finish' err
printf 'num_ranks 2\nrank 0 {\nl1: send 8b to 1\nl2: recv 8b from 1\nl2 requires l1\n}\n' >rendezvous.goal
printf 'rank 1 {\nl1: send 8b to 0\nl2: recv 8b from 0\nl2 requires l1\n}\n' >>rendezvous.goal
check goalsim.rendezvous_eager sim rendezvous.goal
sim -S 4 rendezvous.goal
check goalsim.rendezvous grep -q 'as a rendezvous' err
printf 'num_ranks 2\nrank 0 {\nl1: recv 8b from 1\n}\nrank 1 {\ncalc 5\n}\n' >alone.goal
sim alone.goal
check goalsim.no_partner grep -qF 'rank 0, op 0 (line 3): recv 8b from 1, has no partner' err
printf 'num_ranks 2\nrank 0 {\nl1: send 8b to 1\n}\nrank 1 {\ncalc 5\n}\n' >unmatched.goal
check goalsim.unmatched sim unmatched.goal
check goalsim.unmatched_text grep -q '1 messages match no recv' err

# ---- a binary of which only a part is in memory: one that is larger than 4 MB, from a file ----

awk 'BEGIN {
	print "num_ranks 3"
	for (r = 0; r < 3; r++) {
		print "rank " r " {"
		for (i = 0; i < 200000; i++) print "calc 1"
		print "l1: recv 8b from " (r + 2) % 3 "\nl2: send 8b to " (r + 1) % 3
		print "l2 requires l1"
		print "}"
	}
}' >large.goal
awk '!(/l2 requires l1/ && !n++)' large.goal >open.goal
goalc large.goal -o large.bin 2>err && goalc open.goal -o open.bin 2>>err
finishes open.bin >want
finishes - <<<"$(cat open.goal)" | cmp -s want
check goalsim.window_result [ $? -eq 0 -a "$(grep -c . want)" = 3 ]
sim large.bin
check goalsim.window_deadlock [ $? -eq 1 -a "$(grep -c '^  rank' err)" = 6 ]
printf '\xff' | dd of=open.bin bs=1 seek=3000000 conv=notrunc status=none
sim open.bin
check "goalsim.window_altered $(cat err)" grep -q 'rank [0-2]: the binary is altered' err

# ---- repeated operation ----

S=$ROOT/schedules
printf 'num_ranks 2\nrank 0 {\nl1: send 1b to 1\nl2: calc 700\n}\nrank 1 {\nl1: calc 5000\nl2: recv 1b from 0\n}\n' >once.goal
{
	printf 'num_ranks 2\nrank 0 {\nl1: send 1b to 1\nl2: calc 700\nj: calc 0\nj requires l1\nj requires l2\n'
	printf 'l3: send 1b to 1\nl4: calc 700\nl3 requires j\nl4 requires j\n}\nrank 1 {\nl1: calc 5000\nl2: recv 1b from 0\n'
	printf 'j: calc 0\nj requires l1\nj requires l2\nl3: calc 5000\nl4: recv 1b from 0\nl3 requires j\nl4 requires j\n}\n'
} >twice.goal
finishes twice.goal >want
check goalsim.repeat [ "$(finishes --repeat 2 once.goal)" = "$(cat want)" ]
sim --repeat 3 -n 3 "$S/bcast_linear.goal" --json
report() { "$BUILD/tests/report" out "$@" | xargs; }
check "goalsim.repeat_json $(report cases.0.end cases.0.once cases.0.repeat)" \
	[ "$(report cases.0.end cases.0.once cases.0.repeat cases.0.finish.0 cases.0.finish.1)" = '13000 7000 3 9000 11500' ]
# Rank 1 has the message at 5500, and sends to rank 2 and then to rank 0; rank 2 has received two messages at 9000 then.
sim --repeat 2 --root rotate -n 3 "$S/bcast_linear.goal" --finish
check goalsim.rotate [ "$(grep '^rank ' out | xargs)" = 'rank 0: 12500 rank 1: 8500 rank 2: 11000' ]
goalc -n 3 "$S/bcast_linear.goal" -o roots.bin 2>err
sim --repeat 2 --root rotate roots.bin --finish
check goalsim.rotate_concrete [ "$(grep '^rank ' out | xargs)" = 'rank 0: 12500 rank 1: 8500 rank 2: 11000' ]
sim --repeat 2 cycle.goal
check goalsim.repeat_deadlock grep -qF '  rank 0, repetition 1, op 1 (line 4): send 8b to 1, requires the next one' err

# The error of benchmarks that loop, for the default machine: a column each of ranks, one operation, loop, loop with a rotating root.
sim --repeat 1000 --sweep 64-256 --svg sweep.svg "$S/bcast_binomial.goal" "$S/bcast_linear.goal"
awk '$1 == "bcast_binomial"' out >binomial
awk '$1 == "bcast_linear"' out >linear
check "goalsim.sweep_rows $(head -n 1 err)" [ "$(cat binomial linear | wc -l)" = 6 ]
check goalsim.sweep_looks_faster awk 'NR == FNR { b[$2] = $6; next } !($6 < b[$2]) { bad = 1 } END { exit bad }' binomial linear
check goalsim.sweep_is_slower awk 'NR == FNR { b[$2] = $3; next } $2 == 256 && !($3 >= 8 * b[$2]) { bad = 1 } END { exit bad }' binomial linear
check goalsim.sweep_too_low awk '!($3 >= 3 * $4) { bad = 1 } END { exit bad }' binomial
check goalsim.sweep_grows awk 'NR > 1 && !($7 > last) { bad = 1 } { last = $7 } END { exit bad }' linear
check goalsim.sweep_what grep -q '>blocks of 1 byte, unless the schedule has a count of its own<' sweep.svg
check goalsim.sweep_svg [ "$(grep -c 'bcast_linear, loop, rotating root' sweep.svg)" = 2 ]
check goalsim.sweep_json sim --repeat 2 --sweep 3-7 "$S/bcast_linear.goal" --json
check "goalsim.sweep_json_keys" [ "$(report cases.1.ranks cases.1.once cases.1.loop cases.1.schedule)" = "6 11500 9500.0 $S/bcast_linear.goal" ]

# ---- traces ----

# traced NAME OPS ARGS... : a trace that is right, and that has the end of the simulation
traced()
{
	local name=$1 ops=$2 rc

	shift 2
	sim --trace t.json "$@" && "$BUILD/tests/trace-check" t.json 1 "$ops" >got
	rc=$?
	check "goalsim.trace_$name $(cat got err)" [ $rc -eq 0 ]
}
traced broadcast 8 -n 5 "$S/bcast_binomial.goal"
traced alltoall 28 -n 4 "$S/alltoall_linear.goal" --count 3 --type double
traced rendezvous 28 -n 4 "$S/alltoall_linear.goal" --count 100 -S 8
traced plain 4 rendezvous.goal
sim --trace t.txt -n 2 "$S/reduce_binomial.goal" --reduce 10 --count 8
check goalsim.trace_reduction grep -qE '^5542 5622 5542 op rank0 0 0 0 0{16} 1 [0-9]+ reduce - - 8$' t.txt
sim --trace t.txt rendezvous.goal -S 4
check goalsim.trace_blocked [ $? -eq 1 -a "$(wc -l <t.txt)" -gt 3 ] # that of before

# ---- a measured trace over the simulated one ----

R="-n 3 --count 100 $S/reduce_binomial.goal"
# shellcheck disable=SC2086
{
	sim $R --trace same.txt
	sim $R --measured same.txt
	check "goalsim.measured_same $(tail -n 1 out)" grep -q '^part     nowhere' out
	sim $R -G 30 --measured same.txt
	check "goalsim.measured_part $(tail -n 1 out)" grep -qF 'part     at rank 0, op 1 (line 14): recv 100b from 1: done at 8470 ns, and 6094 ns measured' out
	# Of three epochs the last one has median length: ops 2 to 4 of rank 0 are late there.
	awk 'NR == 1 { print; next }
		{ for (k = 1; k <= 3; k++) {
			split($0, f)
			late = f[4] == "op" && f[8] == 0 && f[11] >= 2 ? (k == 1 ? 0 : k == 2 ? 90000 : 5000) : 0
			line = f[1] + 100000 * k + late " " f[2] + 100000 * k + late " " f[3] + 100000 * k
			f[10] = k
			for (i = 4; i <= 15; i++) line = line " " f[i]
			print line
		} }' same.txt >late.txt
	sim $R --measured late.txt --json --svg both.svg
}
check "goalsim.measured_epoch $(report cases.0.measured cases.0.epoch cases.0.parting)" [ "$(report cases.0.epoch cases.0.measured \
	cases.0.parting.op cases.0.parting.measured)" = '3 13188 2 13188' ]
check goalsim.measured_names_epoch grep -q '>measured: late.txt, epoch [0-9]*, which is of median length<' both.svg
check goalsim.measured_lines [ "$(grep -c "text-anchor='end'>rank [0-2] measured<" both.svg) $(grep -c "text-anchor='end'>rank [0-2] simulated<" both.svg)" = '3 3' ]
timeout 60 "$BUILD/bin/goalrun" -n 3 --count 100 --iters 3 --trace run.txt "$S/reduce_binomial.goal" >out 2>err
# shellcheck disable=SC2086
check "goalsim.measured_run $(cat err)" sim $R --measured run.txt

# ---- timelines ----

sim -n 5 "$S/bcast_binomial.goal" --svg t.svg --trace same.svg
check goalsim.timeline cmp -s t.svg same.svg
check goalsim.timeline_bars [ "$(grep -c '<title>rank [0-4], op [0-9]: send to [0-4], 1 bytes, ' t.svg)" = 4 -a "$(grep -c ': recv from' t.svg)" = 4 ]
check goalsim.timeline_messages [ "$(grep -c '^<path .* L' t.svg)" = 4 ]
check goalsim.timeline_title grep -qF 'bcast_binomial.goal, 5 ranks</text>' t.svg
sim -n 300 "$S/alltoall_linear.goal" --svg t.svg
check goalsim.timeline_sampled [ "$(grep -c '; 60 of 300 threads are shown, and messages between these<' t.svg)" = 1 -a \
	"$(grep -o "text-anchor='end'>rank [0-9]*<" t.svg | tr -dc '0-9\n' | tr '\n' ' ')" = "$(seq -s ' ' 0 5 295) " ]
sim -n 64 "$S/alltoall_linear.goal" --count 3 --svg t.svg
check goalsim.timeline_many grep -q '<text[^>]*>duration [0-9.]* .s; messages are too many to be shown<' t.svg
sim -n 1 "$S/bcast_binomial.goal" --svg t.svg
check goalsim.timeline_empty [ $? -eq 0 -a "$(tail -n 1 t.svg)" = '</svg>' -a "$(grep -c 'bcast_binomial.goal, 1 rank<' t.svg)" = 1 ]
# A picture says what was simulated, on which machine.
sim -n 4 "$S/reduce_binomial.goal" --count 2k --type double --reduce 0.5 --noise uniform:10 --start exponential:20 --svg t.svg
check goalsim.timeline_machine grep -q '>simulated in the LogGOPS model: latency L 2500, .*; copy 0 ns a byte, reduction 0.5 ns a byte<' t.svg
check goalsim.timeline_what grep -qF '>blocks of 16 KiB; ranks start 20 ns later on average, exponential; ops and messages end 0 to 10 ns later, uniform; seed 0<' t.svg

# ---- topologies ----

# Each rank sends a message to a random other one. If nothing but links takes time, it arrives after their number, which is counted
# in another way here.
# links KIND X Y Z : for each rank of a text the links from its sender
links()
{
	awk -v kind="$1" -v x="$2" -v y="$3" -v z="$4" '
		function far(a, b, n) { a = a > b ? a - b : b - a; return a < n - a ? a : n - a }
		function torus(a, b) { return far(a % x, b % x, x) + far(int(a / x) % y, int(b / x) % y, y) + far(int(a / x / y), int(b / x / y), z) }
		function tree(a, b) { return int(a / x) == int(b / x) ? 0 : int(a / x / y) == int(b / x / y) ? 2 : 4 }
		# The links of group g to the groups g + 1, g + 2, ... are z each at its switches 0, 1, ...
		function dragonfly(a, b, from, to, away) {
			from = int(a / x); to = int(b / x); away = (int(to / y) - int(from / y) + y * z + 1) % (y * z + 1)
			if (!away) return from != to
			return 1 + (int((away - 1) / z) != from % y) + (int((y * z - away) / z) != to % y) }
		/^rank/ { r = $2 + 0 }
		/^recv/ { print "rank " r ": " (kind == "torus" ? torus($4, r) : kind == "fat-tree" ? tree($4, r) : dragonfly($4, r)) }'
}
# shuffled RANKS : a text in which they send as in a random permutation
shuffled()
{
	awk -v n="$1" 'BEGIN { srand(7)
		for (i = 0; i < n; i++) to[i] = i
		for (i = n - 1; i > 0; i--) { k = int(rand() * (i + 1)); t = to[i]; to[i] = to[k]; to[k] = t }
		for (i = 0; i < n; i++) from[to[i]] = i
		print "num_ranks " n
		for (i = 0; i < n; i++) printf "rank %d {\nsend 1b to %d\nrecv 1b from %d\n}\n", i, to[i], from[i] }'
}
for shape in torus:5x4x3=60 fat-tree:4x3x5=60 dragonfly:2x3x2=42; do
	ranks=${shape#*=} shape=${shape%=*}
	shuffled "$ranks" >shuffled.goal
	IFS=:x read -r kind x y z <<<"$shape"
	links "$kind" "$x" "$y" "$z" <shuffled.goal >want
	finishes -L 0 -o 0 -g 0 -G 0 --topology "$shape" --hop 1 shuffled.goal >got
	check "goalsim.topology_links $shape" [ "$(grep -vc ': 0$' want)" -gt 30 -a "$(cat want)" = "$(cat got)" ]
done
# Four hosts of a switch send 1000 bytes each to those of another one. By one link up they come one after the other.
{
	echo num_ranks 8
	for r in 0 1 2 3; do printf 'rank %d {\nsend 1000b to %d\n}\n' $r $((r + 4)); done
	for r in 4 5 6 7; do printf 'rank %d {\nrecv 1000b from %d\n}\n' $r $((r - 4)); done
} >across.goal
last4() { finishes -L 0 -o 0 -g 0 -G 0 "$@" across.goal | awk '/^rank [4-7]/ { print $3 }' | xargs; }
check goalsim.topology_taper [ "$(last4 --topology fat-tree:4x2/4 --link 2)" = "1998 3998 5998 7998" ]
check goalsim.topology_full [ "$(last4 --topology fat-tree:4x2 --link 2)" = "1998 1998 1998 1998" ]
# Groups of two switches with two hosts each have one link to each other. Hosts 0 to 3 are the first one, and 4 to 7 the next.
check goalsim.topology_dragonfly [ "$(last4 --topology dragonfly:2x2x1 --link 2)" = "1998 3998 5998 7998" ]
check goalsim.topology_free [ "$(last4 --topology dragonfly:2x2x1 --hop 5)" = "10 10 10 10" ]
# The links are slow, or G is.
check goalsim.topology_slow [ "$(last4 --topology torus:8 --link 1 --hop 10)" = "4009 3019 2029 1039" ]
check goalsim.topology_nic [ "$(last4 -G 3 --topology torus:16 --link 1 --hop 10)" = "6007 5017 4027 3037" ]
# Without a cost there is no difference.
sim --finish -n 30 "$S/alltoall_linear.goal"
grep -v ^events out >want
sim --finish -n 30 --topology torus:6x5 "$S/alltoall_linear.goal"
check goalsim.topology_nothing cmp -s want <(grep -v ^events out)
sim -n 8 "$S/alltoall_linear.goal" --topology torus:2x4 --hop 20 --link 0.5 --svg t.svg
check goalsim.topology_said grep -q '; torus:2x4, a link 20 ns and 0.5 ns a byte<' t.svg

# ---- imbalance ----

B=$S/bcast_binomial.goal
printf '100 0\n7000 3\n' >start.txt
check goalsim.start [ "$(finishes -n 4 --start start.txt "$B" | xargs)" = 'rank 0: 3100 rank 1: 7100 rank 2: 10000 rank 3: 14000' ]
printf 'schedule s\nrank r of p { calc 0 }\n' >idle.goal
# mean DISTRIBUTION : of the start times of many ranks, and how many of 100 are above three times 1000 ns
mean() { finishes -n 20000 --start "$1" idle.goal | awk '{ sum += $3; n++; far += $3 > 3000 } END { printf "%d %d", sum / n, 100 * far / n + .5 }'; }
read -r average far <<<"$(mean uniform:1000)"
check "goalsim.start_uniform $average $far" [ "$average" -ge 480 -a "$average" -le 520 -a "$far" = 0 ]
read -r average far <<<"$(mean exponential:1000)"
check "goalsim.start_exponential $average $far" [ "$average" -ge 960 -a "$average" -le 1040 -a "$far" = 5 ]
goalc -n 13 "$B" -o concrete.bin 2>err
finishes --noise uniform:900 --start exponential:300 concrete.bin >want
check goalsim.noise [ "$(finishes --noise uniform:900 --start exponential:300 -n 13 "$B")" = "$(cat want)" ]
check goalsim.noise_seed [ "$(finishes --noise uniform:900 --start exponential:300 --seed 1 -n 13 "$B")" != "$(cat want)" ]
check goalsim.noise_none [ "$(finishes --noise uniform:0 -n 13 "$B")" = "$(finishes -n 13 "$B")" ]
traced noise 28 -n 4 "$S/alltoall_linear.goal" --noise exponential:700 --start uniform:9000
printf 'num_ranks 1\nrank 0 {\ncalc 10\n}\n' >one.goal
for ((seed = 0; seed < 20; seed++)); do finishes --noise uniform:3 --seed $seed one.goal; done | sort -u >got
check goalsim.noise_values [ "$(xargs <got)" = 'rank 0: 10 rank 0: 11 rank 0: 12 rank 0: 13' ]

# ---- parameters in a file: options behind it take precedence ----

printf '# a machine\nL 10\no 3 # ns\n\nG 0.5\nS 100\nstart 1000\n' >m.params
check goalsim.params [ "$(finishes -n 2 --count 11 --params m.params "$B" | xargs)" = 'rank 0: 1003 rank 1: 1021' ]
check goalsim.params_first [ "$(finishes -n 2 --count 11 -L 500 --params m.params -o 4 "$B" | xargs)" = 'rank 0: 1004 rank 1: 1023' ]
# G by size: 10 bytes behind the first one are between 8 and 16, 40 behind the last one, 4 before the first one.
printf 'L 10\no 3\nS 100\nG 8:100 16:300 32:400\n' >m.size
check goalsim.params_by_size [ "$(for n in 11 41 5; do finishes -n 2 --count $n --params m.size "$B" | tail -n 1; done | cut -d' ' -f3 | xargs)" = '166 466 66' ]
check goalsim.params_by_size_later [ "$(finishes -n 2 --count 11 --params m.size -G 1 "$B" | xargs)" = 'rank 0: 3 rank 1: 26' ]
printf 'copy 4:70\nreduce 4:90 8:100\n' >m.ops
check "goalsim.params_ops $(finishes -n 2 --count 6 -L 0 -o 0 -G 0 --params m.ops "$S/reduce_binomial.goal" | xargs)" \
	[ "$(finishes -n 2 --count 6 -L 0 -o 0 -g 0 -G 0 --params m.ops "$S/reduce_binomial.goal" | head -n 1)" = "rank 0: $((105 + 95))" ]
printf '5 7\n' >start.txt
check goalsim.params_start [ "$(finishes -n 2 --count 11 --params m.params --start start.txt "$B" | xargs)" = 'rank 0: 1008 rank 1: 1026' ]
printf '100 0\n7000 3\n' >start.txt

# ---- usage and bad input ----

refused() { local rc; sim "${@:4}"; rc=$?; check "goalsim.$1 $rc $(head -n 1 err)" [ $rc -eq "$2" ]; check "goalsim.$1_text" grep -qF -- "$3" err; }
refused no_input 2 'no input file'
refused two_inputs 2 'more than one input file' cycle.goal cpus.goal
refused start_few 1 'start.txt: error: it has the start times of 4 ranks, and the schedule has 5' --start start.txt -n 5 "$B"
refused start_many 1 'it has start times of more ranks' --start start.txt -n 3 "$B"
echo 1 2 x >bad.txt
refused start_bad 1 'the start time of rank 2 is no number from 0 to 2^40: x' --start bad.txt -n 3 "$B"
refused start_none 1 'none.txt: error: No such file' --start none.txt -n 3 "$B"
for bad in 'M 3:there is no parameter M' 'L:no value of L' 'L -1:this is no value of the parameter: -1' 'o 1.5:this is no value of the parameter: 1.5' \
	'G 1 2:one value is expected, and then there is 2' 'redcue 1:did you mean reduce?' \
	'G 8;1 8;2:the sizes do not ascend at 8:2' 'O 8;1 2:no size is before the cost 2' 'copy 8;x:this is no size with its cost, bytes:ns: 8:x' \
	'G 0;1:this is no size with its cost, bytes:ns: 0:1' "G$(printf ' %d;1' {1..25}):a table has at most 24 sizes, and then there is 25:1"; do
	text=${bad%%:*}
	printf 'L 1\n%s\n' "${text//;/:}" >bad.params
	refused "params $text" 1 "bad.params:2: error: " --params bad.params "$B"
	check "goalsim.params_text $text" grep -qF "${bad#*:}" err
done
printf 'L 5\0\no 3\n' >zero.params
refused params_zero 1 'zero.params:1: error: there is a zero byte behind L 5' --params zero.params "$B"
refused params_none 1 'none.params: No such file' --params none.params "$B"
refused measured_none 1 'none.txt: error: No such file' -n 3 --measured none.txt "$B"
refused measured_other 1 'run.txt: error: the trace is of another schedule: rank 0 has no op 0 that is a copy' -n 3 --measured run.txt "$B"
refused measured_no_trace 1 'start.txt: error: line 1 is none of a trace' -n 3 --measured start.txt "$B"
head -n 1 run.txt >empty.txt
refused measured_empty 1 'the trace has no ops' -n 3 --measured empty.txt "$B"
echo '1 2 x' >>empty.txt
refused measured_bad 1 'line 2 is none of a trace' -n 3 --measured empty.txt "$B"
{ cat run.txt; sed -n '2s/ [0-9a-f]\{16\} / 0000000000000003 /p' run.txt; } >several.txt
refused measured_several 1 'the trace has several requests' -n 3 --measured several.txt "$B"
refused noise_bad 2 'takes uniform:NS or exponential:NS' --noise uniform:-1 "$B"
refused topology_kind 2 '--topology tree:2x4: torus:SHAPE, fat-tree:SHAPE or dragonfly:SHAPE is expected' --topology tree:2x4 "$B"
for bad in torus: torus:0 torus:4x torus:4x-1 torus:4/2 torus:65536x65536 fat-tree:4x2/0 fat-tree:1x1x1x1x1x1x1x1x1 dragonfly:2x4 \
	dragonfly:2x4x2x2 dragonfly:16384x16384x1; do
	refused "topology_shape $bad" 2 "--topology $bad: ${bad%%:*}:" --topology "$bad" "$B"
done
refused topology_small 2 'torus:2x2 has 4 hosts, and there are 5 ranks' --topology torus:2x2 -n 5 "$B"
refused topology_node 2 '--topology' --topology torus:8 --cores 8 "$B"
refused hop_alone 2 '--hop goes with --topology' --hop 3 "$B"
refused seed_alone 2 '--seed' --seed 3 "$B"
refused svg_loop 2 'with --repeat, --svg needs --sweep' --repeat 2 --svg x.svg cycle.goal
refused trace_name 2 '--trace takes a name that ends with .json, .paje, .svg or .txt' --trace x.log cycle.goal
refused no_repeat 2 '--repeat' --sweep 2-4 "$S/bcast_linear.goal"
refused no_root 1 'its root cannot rotate' --repeat 2 --root rotate cycle.goal
refused sweep_ranks 1 'the schedule is for 2 ranks, not for 4' --repeat 2 --sweep 4-8 cycle.goal
refused no_ranks 1 'give the number of ranks with -n' "$ROOT/schedules/bcast_chain.goal"
refused other_ranks 1 'the schedule is for 1 ranks, not for 3' -n 3 cpus.goal
refused no_type 2 'did you mean double?' --type doubel cpus.goal
refused no_root_by_pass 1 'or a pass has been applied' --repeat 2 --root rotate -T segment:size=2 -n 4 "$B"
refused sweep_stdin 2 '--sweep reads a schedule for each number of ranks, so it cannot be -' --repeat 2 --sweep 2-4 -
refused counts 1 '--count and -D count differ' -n 4 --count 9 -D count=8 "$B"
cp cpus.goal $'\xff.goal' # a name that is no text
sim --json $'\xff.goal'
check goalsim.name_json grep -q $'"\xef\xbf\xbd.goal' out
check goalsim.define_global sim -n 4 -D count=8 -D segments=2 -T reorder "$ROOT/schedules/bcast_chain.goal"
goalc cycle.goal -o cycle.bin 2>err
refused passes_of_binary 1 'passes are for texts' -T segment:size=4 cycle.bin
head -c 100 cycle.bin >cut.bin
refused cut 1 'truncated' cut.bin
for at in 8 20 30 46 60 70; do
	goalc --emit=loggopsim rendezvous.goal >bad.lgs 2>err
	printf '\xff\xff\xff\x7f' | dd of=bad.lgs bs=1 seek=$at conv=notrunc status=none
	sim bad.lgs
	check "goalsim.loggopsim_bad $at" [ $? -le 1 ]
done
head -c 60 bad.lgs >cut.lgs
refused loggopsim_cut 1 'the binary of LogGOPSim is malformed' cut.lgs
finish
