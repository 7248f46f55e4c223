#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# goalsim --cores: ranks that share a node. Times that are computed by hand, the rules of ranks with a node each where both rules must
# agree, deadlocks, and what Denis et al. (IJHPCA 33(6), 2019) say about placements and split trees.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$TMP" || exit 1
unset "${!GOAL_@}"
S=$ROOT/schedules
sim() { timeout 60 "$BUILD/bin/goalsim" "$@" >out 2>err; }
finishes() { sim --finish "$@" && sed -n 's/^rank [0-9]*: //p' out | xargs; }
report() { "$BUILD/tests/report" out "$@" | xargs; }
# is NAME WANT ARGS... : when the ranks finish
is() { local got; got=$(finishes "${@:3}"); check "node.$1 $got $(head -n 1 err)" [ "$got" = "$2" ]; }

# ---- times by hand: L 20, o 3, G 2, O 1, messages of 11 bytes: a send takes 13 ns, a recv 23, and a message is there after 23 ----

cat >tree.goal <<'END'
schedule tree
buffer inout data[count]
buffer scratch part[2 * count]
rank r of p {
  if p == 3 and r == 0 {
    got[0]: recv part[0 +: count] from 1 level 0
    add[0]: reduce part[0 +: count] into data
    got[1]: recv part[count +: count] from 2 level 1
    add[1]: reduce part[count +: count] into data
    add[0] requires got[0]
    add[1] requires got[1], add[0]
  } else if p == 3 {
    send data to 0 level r - 1
  }
}
END
M="-n 3 -L 20 -o 3 -G 2 -O 1 --reduce 5 --count 11"
# Cores 0, 1 and 2 are of ranks. Core 3 sends twice (26), receives twice (72) and reduces twice (182).
is one_core '182 13 26' $M --cores 4 tree.goal
# Each on its own core: both messages are there at 23, are copied until 69, and reduced until 179.
is bind '179 13 13' $M --cores 4 --placement bind tree.goal
# Cores 2 and 4 communicate: rank 0 has the first one, which also sends for rank 2.
is odd_even '179 13 13' $M --cores 5 --placement odd-even tree.goal
is list '182 13 26' $M --cores 8 --placement 7 tree.goal
# Rank 0 computes 40 ns, while core 3 does the rest: 30 ns on all four cores.
is compute '182 40 40' $M --cores 4 --compute 30 tree.goal
# With bind all begins after that.
is compute_bind '219 53 53' $M --cores 4 --compute 30 --placement bind tree.goal
# S = 1: rank 1 sends until 13 on its own core, rank 0 receives until 46 and reduces until 101, and then computes.
# Core 3 has the second message at 46, and reduces it from 101 on.
is split '156 53 40' $M --cores 4 --compute 30 -T split-tree:S=1 tree.goal
# The second level begins at 101: sent until 114 on core 3, received from 124 to 147, and reduced until 202.
is barrier '202 13 114' $M --cores 4 --level-barrier -T split-tree:S=1 tree.goal
is rendezvous '182 49 72' $M --cores 4 -S 10 tree.goal
printf '100 0 5\n' >start.txt
is start '256 13 18' $M --cores 4 --start start.txt --placement bind tree.goal
# Without cores that communicate, each op runs on a core that is free: both messages are copied until 46, and reduced one after the other.
is collab '156 13 13' $M --cores 3 --placement bind --progress collab tree.goal
is collab_compute '186 43 43' $M --cores 3 --placement bind --progress collab --compute 30 tree.goal
# Rank 0 starts late, and then the others copy and reduce for it.
is collab_start '233 13 18' $M --cores 3 --placement bind --progress collab --start start.txt tree.goal
is app '179 13 13' $M --cores 4 --progress app tree.goal
cat >busy.goal <<'END'
schedule busy
buffer in x[count]
buffer out y[count]
rank r of p {
  if p == 2 and r == 0 {
    send x to 1
    recv y from 1
  } else if p == 2 {
    calc 1000 on app
    got: recv y from 0
    back: send x to 0
    back requires got
  }
}
END
is busy '1069 1036' ${M/-n 3/-n 2} --cores 2 --progress app busy.goal
is busy_collab '92 1000' ${M/-n 3/-n 2} --cores 2 --placement bind --progress collab busy.goal

# ---- a node each, and a core each: the same times, if messages come after their recvs ----

A="-n 13 --count 100 -o 50 -O 3 -G 3 -g 20 -L 70 --copy 2 --reduce 4"
for s in bcast_binomial bcast_chain bcast_linear allreduce_ring alltoall_linear gather_binomial barrier_dissemination reduce_binomial; do
	# shellcheck disable=SC2086
	is "as_hosts $s" "$(finishes $A "$S/$s.goal")" $A --cores 13 --placement bind "$S/$s.goal"
done
# A binary with a section for each rank.
goalc "$S/reduce_binomial.goal" -n 13 -o concrete.bin 2>err
# shellcheck disable=SC2086
is concrete "$(finishes $A --cores 15 "$S/reduce_binomial.goal")" $A --cores 15 concrete.bin

# ---- ranks that do not finish ----

cat >dead.goal <<'END'
schedule dead(way = 0)
buffer in a[count]
buffer out b[count]
rank r of p {
  if way == 1 {
    got: recv b from (r + 1) mod p
    out: send a to (r - 1) mod p
    out requires got
  }
  if way == 2 {
    out: send a to (r - 1) mod p
    got: recv b from (r + 1) mod p
    got requires out
  }
  if way == 3 and r == 0 { recv b from 1 }
  if way == 4 and r == 0 { send a to 1 }
  if way == 5 {
    got: recv b from (r + 1) mod p
    out: send a to (r - 1) mod p
    out irequires got
  }
}
END
# stuck NAME LINES TEXT ARGS...
stuck()
{
	local rc

	sim -n 3 --cores 4 "${@:4}" dead.goal
	rc=$?
	check "node.$1 $(head -n 1 err)" [ $rc -eq 1 -a "$(grep -c '^  rank' err)" = "$2" ]
	check "node.$1_text" grep -qF "$3" err
}
stuck deadlock 6 '  rank 0, op 0 (line 6): recv 1b from 1, waits for the message of the next one' -D way=1
stuck deadlock_at_once 6 '  rank 0, op 0 (line 6): recv 1b from 1, waits for the message of the next one' -D way=1 -L 0 -o 0
stuck rendezvous_deadlock 6 '  rank 0, op 0 (line 11): send 1b to 2, waits for the next one, as a rendezvous' -D way=2 -S 0
stuck no_send 1 '  rank 0, op 0 (line 15): recv 1b from 1, has no partner' -D way=3
stuck no_recv 1 '  rank 0, op 0 (line 16): send 1b to 1, has no partner' -D way=4 -S 0
check node.eager sim -n 3 --cores 4 -D way=2 dead.goal
check node.starts sim -n 3 --cores 4 -D way=5 -S 0 dead.goal
check node.unmatched sim -n 3 --cores 4 -D way=4 dead.goal
check node.unmatched_text grep -q '1 messages match no recv' err

# ---- traces ----

sim -n 6 --cores 8 --count 1k -O 1 -G 1 --trace t.json "$S/scan_chain.goal" -T segment:size=250
check "node.trace $("$BUILD/tests/trace-check" t.json 1 105)" "$BUILD/tests/trace-check" t.json 1 105
check node.trace_core grep -q '"core 3"' t.json
sim -n 6 --cores 8 --placement bind -S 8 --count 100 --trace t.json "$S/alltoall_linear.goal"
check "node.trace_rendezvous $("$BUILD/tests/trace-check" t.json 1 66)" "$BUILD/tests/trace-check" t.json 1 66
sim -n 6 --cores 8 --svg t.svg "$S/scan_chain.goal"
check node.timeline [ "$(grep -c "text-anchor='end'>core [37]<" t.svg)" = 2 ]

# ---- the paper ----

# Level after level, the best S is the cost model's, which computes it by Eq. 4 to 7.
"$BUILD/bin/goalc" --model split-tree --cores 64 --ranks 44-63 --json | tr '{}' '\n\n' | sed -n 's/^ *"ranks": \([0-9]*\), "S": \([0-9]\) *$/\1 \2/p' |
	head -n 20 >want
M="--cores 64 -L 0 -o 0 -G 1 --count 2M --sweep 44-63 --split 0-3"
for s in bcast_binomial reduce_binomial; do
	# shellcheck disable=SC2086
	sim $M --level-barrier "$S/$s.goal" --json
	tr '{}' '\n\n' <out | sed -n 's/^ *"ranks": \([0-9]*\), "S": \([0-9]\), "model": [0-9] *$/\1 \2/p' >got
	check "node.model $s $(diff want got | head -n 3 | xargs)" [ "$(wc -l <got)" = 20 -a -z "$(diff want got)" ]
done
# shellcheck disable=SC2086
sim $M --svg sweep.svg "$S/reduce_binomial.goal"
check "node.greedy $(tail -n 1 out)" grep -q "other best S than the cost model's\|the cost model's for all 20" out
check node.greedy_rows [ "$(grep -c '^ *[4-6][0-9] .*\*' out)" = 20 ]
check node.sweep_svg [ "$(grep -c '>S = 3<' sweep.svg)" = 2 ]
# Both cores of odd-even are always busy, those of numa one after the other, also if messages are segments.
for list in '' segment:size=16k; do
	sim --cores 64 -L 0 -o 0 -G 1 -O 1 --count 1M ${list:+-T "$list"} --sweep 62 "$S/scan_chain.goal" --json
	check "node.odd_even_is_faster $(report cases.1.end cases.2.end)" [ "$(report cases.1.placement cases.2.placement)" = 'numa odd-even' \
		-a "$(report cases.1.end)" -ge $(($(report cases.2.end) * 3 / 2)) ]
done
sim --cores 64 -O 1 --sweep 60-62 --svg bars.svg "$S/scan_chain.goal"
check node.timeline_says grep -q '; one node, 8 cores; a line "core" is a core that communicates for ranks<' t.svg
check node.bars grep -q '>61 ranks<' bars.svg

# ---- usage and bad input ----

refused() { local rc; sim "${@:4}"; rc=$?; check "node.$1 $rc $(head -n 1 err)" [ $rc -eq "$2" ]; check "node.$1_text" grep -qF -- "$3" err; }
B=$S/bcast_binomial.goal
printf 'num_ranks 1\nrank 0 {\ncalc 5\n}\n' >plain.goal
refused plain 1 'the ops of plain GOAL name cpus of their rank' --cores 2 plain.goal
refused no_cores 2 '--placement goes with --cores' --placement bind "$B"
refused no_placement 2 '--placement takes bind, numa, odd-even, or a list' --cores 4 --placement near "$B"
refused no_such_core 1 'there is no core 9: the node has 4' -n 2 --cores 4 --placement 9 "$B"
refused none_free 1 'none of the 3 cores is free for communication' -n 3 --cores 3 --placement odd-even "$B"
refused list_and_number 2 '--comm-cores does not go with a list' --cores 4 --placement 1 --comm-cores 1 "$B"
refused numa 2 '--numa has more NUMA nodes than there are cores' --cores 4 --numa 5 "$B"
refused sweep 2 '--sweep has to leave a core of 4' --cores 4 --sweep 2-4 "$B"
refused sweep_placement 2 '--sweep without --split compares the placements' --cores 4 --placement bind --sweep 2-3 "$B"
refused sweep_many 2 'more than one input file' --cores 4 --sweep 2-3 "$B" "$B"
refused split 2 '--split goes with --sweep' --cores 4 --split 1 "$B"
refused levels 1 'the levels of the ops are not those of a tree' -n 5 --cores 8 --level-barrier "$S/allreduce_reduce_bcast.goal"
refused split_levels 1 'split-tree cannot be applied' --cores 8 --sweep 4 --split 1 "$S/scan_chain.goal"
finish
