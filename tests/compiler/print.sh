#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The exact output of goalc for a schedule that has every kind of op: program, ops, graph, JSON, text.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$TMP" || exit 1

# same NAME ARGS... : goalc prints what is on standard input; the line with size and checksum is left out.
same()
{
	local name=$1

	shift
	cat >want
	goalc "$@" >out 2>err
	if [ $? -eq 0 ] && sed '/^version /d' out | diff want - >diff; then ok "print.$name"; else
		fail "print.$name $(head -n 4 diff err | tr '\n' '|')"; fi
}

cat >all.goal <<'END'
schedule all(root = 0, w[2], local k = 3) implements everything
buffer in x[count]
buffer inout y[4]
buffer scratch t[count]
rank r of p {
  a: copy x into t
  b: reduce t with x into t on comm
  c: reduce y[w[1]] into y[k]
  if r == 0 { d: send x to 1 tag 7 cpu 1 nic 2; d irequires a }
  if r == 1 { d: recv t from 0 tag 7; d requires b }
  e: calc 5
  f: nop
  b requires a
  f requires b, d
  assert k > 0, "positive"
}
END
goalc all.goal -g -o all.bin 2>err
same program --dump all.bin <<'END'
schedule all implements everything
buffer in x
buffer inout y
buffer scratch t
parameter global root = 0
parameter global w[]
parameter local k = 3
    0  jmp       36  ; line 1
    1  param     r19 root  ; line 1
    2  <         r20 r19 r1  ; line 1
    3  check     r20 "the root is out of range"  ; line 1
    4  <=        r20 r3 r19  ; line 1
    5  check     r20 "the root is out of range"  ; line 1
    6  length    r4 w  ; line 1
    7  bufsize   x r2  ; line 2
    8  bufsize   y r5  ; line 3
    9  bufsize   t r2  ; line 4
   10  emit      copy x[0 +: r2] into t[0 +: r2] label 0  ; line 6
   11  ==        r20 r3 r3  ; line 7
   12  check     r20 "the range that is written is not the one that is reduced"  ; line 7
   13  ==        r20 r2 r2  ; line 7
   14  check     r20 "the range that is written is not the one that is reduced"  ; line 7
   15  emit      reduce t[0 +: r2] with x[0 +: r2] into t[0 +: r2] on comm label 1  ; line 7
   16  elem      r20 w r6  ; line 8
   17  param     r21 k  ; line 8
   18  emit      reduce y[r20 +: r6] into y[r21 +: r6] label 2  ; line 8
   19  ==        r20 r0 r3  ; line 9
   20  jz        r20 23  ; line 9
   21  emit      send x[0 +: r2] peer r6 tag r7 cpu r6 nic r4 label 3  ; line 9
   22  dep       label 3 irequires label 0  ; line 9
   23  ==        r20 r0 r6  ; line 10
   24  jz        r20 27  ; line 10
   25  emit      recv t[0 +: r2] peer r3 tag r7 label 3  ; line 10
   26  dep       label 3 requires label 1  ; line 10
   27  emit      calc r8 ns label 4  ; line 11
   28  emit      nop label 5  ; line 12
   29  dep       label 1 requires label 0  ; line 13
   30  dep       label 5 requires label 1  ; line 14
   31  dep       label 5 requires label 3  ; line 14
   32  param     r20 k  ; line 15
   33  <         r21 r3 r20  ; line 15
   34  assert    r21 "positive"  ; line 15
   35  end        ; line 15
   36  imm       r3 0  ; line 1
   37  imm       r4 2  ; line 1
   38  imm       r5 4  ; line 1
   39  imm       r6 1  ; line 1
   40  imm       r7 7  ; line 1
   41  imm       r8 5  ; line 1
   42  jmp       1  ; line 1
   43  end        ; line 1
END
both=(-n 2 -D w=0,1 -D count=2)
same ops --dump "${both[@]}" all.goal <<'END'
schedule all implements everything
buffer in x
buffer inout y
buffer scratch t
parameter global root = 0
parameter global w[]
parameter local k = 3
rank 0: 6 ops, 4 dependencies
    0  waits 0  copy x[0 +: 2] into t[0 +: 2]  ; line 6
    1  waits 1  reduce t[0 +: 2] with x[0 +: 2] into t[0 +: 2] on comm  after 0  ; line 7
    2  waits 0  reduce y[1 +: 1] into y[3 +: 1]  ; line 8
    3  waits 1  send x[0 +: 2] to 1 tag 7 cpu 1 nic 2  after start of 0  ; line 9
    4  waits 0  calc 5 ns  ; line 11
    5  waits 2  nop  after 1, 3  ; line 12
rank 1: 6 ops, 4 dependencies
    0  waits 0  copy x[0 +: 2] into t[0 +: 2]  ; line 6
    1  waits 1  reduce t[0 +: 2] with x[0 +: 2] into t[0 +: 2] on comm  after 0  ; line 7
    2  waits 0  reduce y[1 +: 1] into y[3 +: 1]  ; line 8
    3  waits 1  recv t[0 +: 2] from 0 tag 7  after 1  ; line 10
    4  waits 0  calc 5 ns  ; line 11
    5  waits 2  nop  after 1, 3  ; line 12
END
same dot --emit=dot "${both[@]}" all.goal <<'END'
digraph schedule {
  graph [layout=neato, splines=line, outputorder=edgesfirst, labelloc=t, labeljust=l, fontname="sans-serif",
    label="all on 2 ranks\la row is a rank; an op stands to the right of the ops that it waits for\larrows: black from an op to the one that requires it (dashed: irequires), blue messages\l \l"];
  node [shape=box, style=filled, fillcolor=white, fontname="sans-serif", fontsize=10, fixedsize=true, width=1.35, height=0.58];
  rank_0 [label="rank 0", pos="0,0.00!", shape=plaintext, fontsize=14];
  r0_0 [label="0: copy\nx[0 +: 2]\ninto t[0 +: 2]", pos="1.70,0.00!"];
  r0_1 [label="1: reduce\nwith x[0 +: 2]\ninto t[0 +: 2]", pos="8.50,0.00!"];
  r0_2 [label="2: reduce\ny[1 +: 1]\ninto y[3 +: 1]", pos="5.10,0.00!"];
  r0_3 [label="3: send to 1\nx[0 +: 2]\ntag 7", pos="3.40,0.00!"];
  r0_4 [label="4: calc\n5 ns", pos="6.80,0.00!"];
  r0_5 [label="5: nop", pos="10.20,0.00!"];
  w0_0_1 [pos="5.10,0.64!", shape=point, width=0.01];
  r0_0:n -> w0_0_1 [arrowhead=none];
  w0_0_1 -> r0_1:n;
  r0_0 -> r0_3 [style=dashed];
  r0_1 -> r0_5;
  w0_3_5 [pos="6.80,0.64!", shape=point, width=0.01];
  r0_3:n -> w0_3_5 [arrowhead=none];
  w0_3_5 -> r0_5:n;
  rank_1 [label="rank 1", pos="0,-1.13!", shape=plaintext, fontsize=14];
  r1_0 [label="0: copy\nx[0 +: 2]\ninto t[0 +: 2]", pos="1.70,-1.13!"];
  r1_1 [label="1: reduce\nwith x[0 +: 2]\ninto t[0 +: 2]", pos="6.80,-1.13!"];
  r1_2 [label="2: reduce\ny[1 +: 1]\ninto y[3 +: 1]", pos="3.40,-1.13!"];
  r1_3 [label="3: recv from 0\nt[0 +: 2]\ntag 7", pos="8.50,-1.13!"];
  r1_4 [label="4: calc\n5 ns", pos="5.10,-1.13!"];
  r1_5 [label="5: nop", pos="10.20,-1.13!"];
  w1_0_1 [pos="4.25,-0.49!", shape=point, width=0.01];
  r1_0:n -> w1_0_1 [arrowhead=none];
  w1_0_1 -> r1_1:n;
  r1_1 -> r1_3;
  w1_1_5 [pos="8.50,-0.49!", shape=point, width=0.01];
  r1_1:n -> w1_1_5 [arrowhead=none];
  w1_1_5 -> r1_5:n;
  r1_3 -> r1_5;
  r0_3 -> r1_3 [color=blue];
}
END
# The picture of 64 ranks: rows in the order of the ranks, a place for each op, and arrows that run to the right.
cat >layout.awk <<'END'
/pos="/ { name = $1; at = $0; sub(/.*pos="/, "", at); split(at, p, /[,!]/); x[name] = p[1]; y[name] = p[2]
	if (seen[p[1], p[2]]++) print "two at " p[1] "," p[2] }
/^  rank_/ { if (rows++ && p[2] >= row) print name " is not below the one before"; row = p[2] }
/^  w/ { if (p[2] <= row) print name " is not above its row" }
/^  r[0-9]+_[0-9]+ \[/ { if (p[2] != row || p[1] <= 0) print name " is not in its row"; ops++ }
/ -> / { sub(/:n/, "", $1); sub(/(:n)?;$/, "", $3); sub(/:n$/, "", $3); if (x[$3] <= x[$1]) print $0 " runs back"; edges += $3 !~ /^w/ }
END { print rows " rows, " ops " ops, " edges " edges" }
END
# laid_out NAME WANT ARGS...
laid_out()
{
	local name=$1 want=$2

	shift 2
	goalc --emit=dot "$@" 2>err >laid.dot
	check "print.dot_layout.$name $(awk -f layout.awk laid.dot | head -n 2 | tr '\n' ' ')" [ "$(awk -f layout.awk laid.dot)" = "$want" ]
	! command -v dot >/dev/null || check "print.dot_is_read.$name" timeout 60 dot -Tplain laid.dot -o laid.plain
}
laid_out tree '64 rows, 126 ops, 120 edges' "$ROOT/schedules/bcast_binomial.goal" -n 64
laid_out ring '4 rows, 68 ops, 96 edges' "$ROOT/schedules/allreduce_ring.goal" -n 4
laid_out queues '8 rows, 14 ops, 11 edges' "$ROOT/schedules/bcast_binomial.goal" -n 8 -D count=3 -T lower-smcq
check print.dot_queue grep -q '"0: send to 4\\ndata\[0 +: 3\]\\ntag 0\\nqueue 0"' laid.dot
same goal --emit=goal "${both[@]}" all.goal <<'END'
num_ranks 2

rank 0 {
l1: calc 0
l2: calc 0
l2 requires l1
l3: calc 0
l4: send 2b to 1 tag 7 cpu 1 nic 2
l4 irequires l1
l5: calc 5
l6: calc 0
l6 requires l2
l6 requires l4
}

rank 1 {
l1: calc 0
l2: calc 0
l2 requires l1
l3: calc 0
l4: recv 2b from 0 tag 7
l4 requires l2
l5: calc 5
l6: calc 0
l6 requires l2
l6 requires l4
}
END
same stats --stats "${both[@]}" all.goal <<'END'
ranks    2
sends    1
recvs    1
calcs    2
copies   2
reduces  4
nops     2
bytes    2
edges    8
depth    4
safe     0
ready    1
END
goalc --emit=json "${both[@]}" all.goal 2>err | tr -d ' \n' >json
# has NAME TEXT : the JSON has an op like that
has() { check "print.json.$1" grep -qF -- "$2" json; }
has buffers '"buffers":[{"name":"x","mode":"in"},{"name":"y","mode":"inout"},{"name":"t","mode":"scratch"}]'
has copy '{"op":"copy","buffer":{"name":"x","off":0},"into":{"name":"t","off":0},"len":2,"requires":[],"irequires":[]}'
has reduce_with '{"op":"reduce","buffer":{"name":"x","off":0},"into":{"name":"t","off":0},"len":2,"with":true,"on":"comm","requires":[0],"irequires":[]}'
has reduce '{"op":"reduce","buffer":{"name":"y","off":1},"into":{"name":"y","off":3},"len":1,"requires":[],"irequires":[]}'
has send '{"op":"send","peer":1,"tag":7,"buffer":{"name":"x","off":0},"len":2,"cpu":1,"nic":2,"requires":[],"irequires":[0]}'
has recv '{"op":"recv","peer":0,"tag":7,"buffer":{"name":"t","off":0},"len":2,"requires":[1],"irequires":[]}'
has calc '{"op":"calc","ns":5,"requires":[],"irequires":[]}'

# Clauses and labels with indices, without the registers.
printf 'schedule s\nrank r of p {\nfor k = 0 to 3 {\na[k, r]: nop level k tag 2 * k on app\nb[k]: calc k\n' >clauses.goal
printf 'b[k] irequires a[k - 1, r]\n}\n}\n' >>clauses.goal
goalc --dump clauses.goal | sed -nE 's/  ;.*//; s/^ *[0-9]+ +(emit|dep) +//p' | sed -E 's/r[0-9]+/r/g' >out
check "print.clauses $(tr '\n' '|' <out)" diff out - <<'END'
nop tag r level r on app label 0[r, r]
calc r ns label 1[r]
label 1[r] irequires label 0[r, r]
END

# Executors: the word comes back from the program, from a binary for one size, and in JSON.
words=$(sed -n 's/^EXEC(.*"\(.*\)")$/\1/p' "$ROOT/format/execs.def")
{ printf 'schedule s\nrank r of p {\n'; printf 'nop on %s\n' $words; echo '}'; } >execs.goal
goalc execs.goal -n 1 -o execs.bin
goalc execs.goal -o execs_any.bin
for form in execs.goal execs.bin execs_any.bin; do
	check "print.executors $form" [ "$(goalc --dump $form | sed -n 's/.* nop on //p' | sed 's/ .*//')" = "$words" ]
	check "print.executors.json $form" [ "$(goalc --emit=json -n 1 $form | grep -o '"on":"[a-z]*"' | cut -d'"' -f4)" = "$words" ]
done
check print.executors_all [ "$(wc -w <<<"$words")" = 4 ]

# Without -n, -D changes what a parameter is when nobody gives it.
goalc all.goal -D root=1 -D k=2 -o other.bin 2>err
goalc --dump other.bin >out
check print.default [ "$(grep -c -x -e 'parameter global root = 1' -e 'parameter local k = 2' out)" = 2 ]
goalc --dump other.bin "${both[@]}" >out
check print.default_used [ "$(grep -c 'reduce y\[1 +: 1\] into y\[2 +: 1\]$' out)" = 2 ]
# A binary prints as its text does, with and without names and lines.
goalc all.goal -o bare.bin 2>err
for form in dot json goal; do
	goalc --emit=$form "${both[@]}" all.goal >want 2>err
	goalc --emit=$form "${both[@]}" bare.bin >out
	check print.binary.$form cmp -s want out
done
# Passes of a parametric binary are kept, in their order, and applied when its ops are made.
printf 'schedule s\nrank r of p {\na: nop\nb: nop\nc: nop\nb requires a\nc requires a, b\n}\n' >chain.goal
goalc chain.goal -T reduce-deps -T reduce-deps -o chain.bin
goalc --dump chain.bin >out
check print.passes grep -qx 'passes at bind: reduce-deps;reduce-deps' out
goalc --dump chain.bin -n 1 >out
check print.passes_applied grep -qx ' *2  waits 1  nop  after 1' out
# The last -W of a check holds.
goalc "$TESTS/goal/race/race_bad.goal" -Wno-race -o x.bin 2>err
check print.check_off [ $? -eq 0 ]
goalc "$TESTS/goal/race/race_bad.goal" -Wno-race -Wrace -o x.bin 2>err
check print.check_on_again [ $? -eq 1 ]

printf 'num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 3 cpu 1 nic 2\nl2: calc 4 cpu 3\nl2 irequires l1\n}\n' >plain.goal
printf 'rank 1 {\nl1: recv 8b from -1 tag -1\n}\n' >>plain.goal
same plain.goal --emit=goal plain.goal <<'END'
num_ranks 2

rank 0 {
l1: send 8b to 1 tag 3 cpu 1 nic 2
l2: calc 4 cpu 3
l2 irequires l1
}

rank 1 {
l1: recv 8b from -1 tag -1
}
END
same plain.dot --emit=dot plain.goal <<'END'
digraph schedule {
  graph [layout=neato, splines=line, outputorder=edgesfirst, labelloc=t, labeljust=l, fontname="sans-serif",
    label="schedule on 2 ranks\la row is a rank; an op stands to the right of the ops that it waits for\larrows: black from an op to the one that requires it (dashed: irequires), blue messages\l \l"];
  node [shape=box, style=filled, fillcolor=white, fontname="sans-serif", fontsize=10, fixedsize=true, width=1.51, height=0.58];
  rank_0 [label="rank 0", pos="0,0.00!", shape=plaintext, fontsize=14];
  r0_0 [label="0: send to 1\n8 B\ntag 3", pos="1.86,0.00!"];
  r0_1 [label="1: calc\n4 ns", pos="3.72,0.00!"];
  r0_0 -> r0_1 [style=dashed];
  rank_1 [label="rank 1", pos="0,-1.13!", shape=plaintext, fontsize=14];
  r1_0 [label="0: recv from any\n8 B\ntag any", pos="1.86,-1.13!"];
}
END
same plain.stats --stats plain.goal <<'END'
ranks    2
sends    1
recvs    1
calcs    1
copies   0
reduces  0
nops     0
bytes    8
edges    1
depth    none: there are wildcards or a deadlock
END
# Sends that wait only for the starts of recvs are no deadlock.
cat >exchange.goal <<'END'
num_ranks 2
rank 0 {
l1: recv 8b from 1
l2: send 8b to 1
l2 irequires l1
}
rank 1 {
l1: recv 8b from 0
l2: send 8b to 0
l2 irequires l1
}
END
same plain.exchange --stats exchange.goal <<'END'
ranks    2
sends    2
recvs    2
calcs    0
copies   0
reduces  0
nops     0
bytes    16
edges    2
depth    3
END
# With -n a text is checked for that many ranks and the values that are given, and shown although it is wrong for others.
cat >two.goal <<'END'
schedule two(w[p], k = 1)
buffer in a[2]
buffer out b[count]
rank r of p {
  send a[0 +: k] to 1 - r
  recv b[w[r] +: 1] from 1 - r
}
END
for what in --emit=goal --emit=json --emit=dot --stats --dump; do
	goalc $what two.goal -n 2 -D w=0,2 -D count=3 >out 2>err
	check "print.only_ranks $what" [ "$?,$(wc -c <err)" = 0,0 ]
	goalc $what two.goal -n 3 -D w=0,2,2 -D count=3 >out 2>err
	check "print.other_ranks $what" [ "$?,$(grep -c '^two.goal:5:3: error: size 3, count 3: rank 2: the peer -1 ' err)" = 1,1 ]
	goalc $what two.goal -n 2 -D w=0,2 -D count=3 -D k=2 >out 2>err
	check "print.other_values $what" [ "$?,$(grep -c '^two.goal:[56]:3: error: .* (and 1 like it, of ranks 0-1) \[size\]$' err)" = 1,1 ]
done
# Numbers that do not fit, and options that have no effect.
goalc --stats "$ROOT/schedules/bcast_linear.goal" -n 3 -D count=$(((1 << 63) - 1)) >out 2>err
check print.stats_overflow [ "$?,$(wc -c <out),$(grep -c 'all sends together have more than 9223372036854775807 bytes$' err)" = 1,0,1 ]
goalc "$ROOT/schedules/bcast_binomial.goal" -o b.bin
for what in --verify --stats --emit=goal; do
	goalc $what b.bin -n 3 -T segment:size=2 >out 2>err
	check "print.passes_of_binary $what" [ "$?,$(wc -c <out),$(cat err)" = '1,0,b.bin: error: passes are for texts, and this is a binary' ]
done
for option in '-o x' '-n 3' -g '-D a=1' '-T reorder' -Wrace; do
	# shellcheck disable=SC2086
	goalc --list-passes $option >out 2>err
	check "print.list $option" [ "$?,$(wc -c <out),$(head -n 1 err)" = "2,0,goalc: ${option:0:2} does not go with --list-passes" ]
done
GOAL_MAX_OPS=2 goalc --verify -n 2-6 "$ROOT/schedules/bcast_linear.goal" >out 2>err
check print.no_place grep -q '^[^ ]*bcast_linear.goal: error: size 4, count 0, root 0: rank 0: there are more than 2 ops' err
goalc --verify -n 4 -n all "$ROOT/schedules/bcast_binomial.goal" >out 2>err
check print.last_sizes grep -q 'proved for 1-17' out
finish
