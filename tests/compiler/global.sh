#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# sparse-rounds and coalesce in goalc: the schedules that they make, those that they refuse, and that the results run.
# tests/unit/test_rounds.c and test_coalesce.c test their effect on graphs of all kinds.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$TMP" || exit 1

# The example of the talk: of four neighbours two are heavy, not the same for all ranks, and a loop of sendrecv
# over the directions takes four rounds with heavy messages. A side of 1 sends to itself.
cat >four.goal <<'END'
schedule four(cols = 4, much = 100)
buffer in  mine[4 * much]
buffer out theirs[4 * much]
buffer out all[4 * much]
rank r of p {
  x = r mod cols
  y = r / cols
  rows = p / cols
  for d = 0 to 3 {                            // left, right, up, down
    by = d mod 2 == 0 ? 1 : -1
    to = d < 2 ? y * cols + (x - by) mod cols : (y - by) mod rows * cols + x
    from = d < 2 ? y * cols + (x + by) mod cols : (y + by) mod rows * cols + x
    s[d]: send mine[d * much +: (x + y + d) mod 2 == 1 ? much : 1] to to
    t[d]: recv theirs[d * much +: (x + y + d) mod 2 == 0 ? much : 1] from from
    s[d] requires s[d - 1], t[d - 1]
    t[d] requires s[d - 1], t[d - 1]
  }
  last: copy theirs into all                  // which comes behind all of them, by way of the last ones
  last requires s[3], t[3]
}
END

# lengths FILE RANK : those of the sends of a rank, in order
lengths()
{
	goalc --dump "$1" | awk -v r="rank $2:" '
		/^rank / { in_rank = index($0, r) == 1 }
		in_rank && /send/ { sub(/.*\+: /, ""); sub(/\].*/, ""); printf "%s ", $0 }'
}

goalc four.goal -n 16 -D count=1 -o naive.bin
goalc four.goal -n 16 -D count=1 -T sparse-rounds -o rounds.bin
check rounds.naive test "$(lengths naive.bin 0) / $(lengths naive.bin 1)" = "1 100 1 100  / 100 1 100 1 "
for r in 0 1 6 15; do check "rounds.heavy_first.$r" test "$(lengths rounds.bin $r)" = "100 100 1 1 "; done

# goalrun_ok ARGS... : it runs, and finds nothing wrong
goalrun_ok() { timeout 60 "$BUILD/bin/goalrun" --iters 20 "$@" >out 2>&1; }
check rounds.runs goalrun_ok -n 16 rounds.bin

# From a limit beyond all on, or from 1 on, all are alike.
goalc four.goal -n 16 -D count=1 -T sparse-rounds:heavy=101 -o light.bin
goalc four.goal -n 16 -D count=1 -T sparse-rounds:heavy=1 -o heavy.bin
goalc --dump light.bin | grep -v version >light
goalc --dump heavy.bin | grep -v version >heavy
check rounds.limit cmp light heavy

# What a rank sends to itself is copied, with the dependencies of both.
goalc four.goal -n 4 -D count=1 -D cols=1 -D much=1 -T sparse-rounds -o column.bin
goalc --stats column.bin >out
check rounds.copies grep -qx 'copies   12' out
check rounds.copies_sends grep -qx 'sends    8' out
for p in 1 2 5; do
	goalc "$ROOT/schedules/alltoall_pairwise.goal" -n $p -D count=9 -T sparse-rounds -o all.bin
	check "rounds.alltoall.$p" goalrun_ok -n $p --count 9 --verify all.bin
done

# refused NAME TEXT ARGS... : goalc refuses, and says so
refused()
{
	local name=$1 text=$2

	shift 2
	if goalc "$@" -o never.bin 2>err || ! grep -qF "$text" err; then fail "rounds.$name $(head -n 1 err)"; else
		ok "rounds.$name"; fi
}

# Only what rank 1 waits for keeps the recv of rank 0 behind its send; as rounds, the longer message would come first.
cat >there_and_back.goal <<'END'
schedule there_and_back
buffer inout b[2 * count]
buffer scratch c[2 * count]
rank r of p {
  if r == 0 {
    send b[count +: count] to 1
    recv b from 1
  } else {
    got: recv b[count +: count] from 0
    back: send c to 0
    back requires got
  }
}
END
refused order_elsewhere 'there_and_back.goal:7:5: error: size 2, count 1: the pass sparse-rounds cannot be applied: rank 0: other messages see to it that this recv comes after the send of rank 0 in line 6, which touches the same elements; in rounds they would not' \
	there_and_back.goal -n 2 -D count=1 -T sparse-rounds
refused messages_wait 'the pass sparse-rounds cannot be applied: rank 2: this send waits for the recv of rank 2 in line ' \
	"$ROOT/schedules/bcast_binomial.goal" -n 4 -D root=0 -D count=1 -T sparse-rounds
# A token says that c has been read; and in a barrier there is nothing but order.
cat >token.goal <<'END'
schedule token
buffer in    a[count]
buffer inout c[count]
buffer out   d[count]
buffer scratch t[2]
rank r of p {
  if r == 0 {
    k: recv t[1 +: 1] from 1 tag 1
    o: send a to 1
    o requires k
  } else {
    x: copy c into d
    recv c from 0
    k: send t[0 +: 1] to 0 tag 1
    k requires x
  }
}
END
refused token 'token.goal:13:5: error: size 2, count 3: the pass sparse-rounds cannot be applied: rank 1: other messages see to it that this recv comes after the copy of rank 1 in line 12, ' \
	token.goal -n 2 -D count=3 -T sparse-rounds
sed '/k requires x/d' token.goal >unread.goal
sed -i 's/    x: copy c into d/    x: copy a into d/' unread.goal
check rounds.token_for_nothing goalc unread.goal -n 2 -D count=3 -T sparse-rounds -o never.bin
rm -f never.bin
refused barrier ': error: size 7, count 1: the pass sparse-rounds cannot be applied: rank 0: this send waits for the send of rank 0 in line ' \
	"$ROOT/schedules/barrier_dissemination.goal" -n 7 -D count=1 -T sparse-rounds
printf 'num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\n}\n' >lone.goal
refused unmatched 'lone.goal:3:1: error: the pass sparse-rounds cannot be applied: rank 0: no recv is sure to meet this send' lone.goal -T sparse-rounds

# Plain GOAL has no copies: a message to oneself is one like others.
cat >plain.goal <<'END'
num_ranks 2
rank 0 {
a: send 1b to 1
b: send 9b to 0
c: recv 9b from 0
d: send 9b to 1
c requires a
d requires c
}
rank 1 {
recv 1b from 0
recv 9b from 0
}
END
goalc plain.goal -T sparse-rounds -o plain.bin && goalc --emit=goal plain.bin | grep -E 'send|recv' >out
printf 'l%s\n' '1: send 9b to 0 tag 0' '2: recv 9b from 0 tag 0' '3: send 9b to 1 tag 0' '4: send 1b to 1 tag 0' \
	'1: recv 9b from 0 tag 0' '2: recv 1b from 0 tag 0' >want
check rounds.plain cmp want out

# Messages that lie side by side become one; others only where copies are allowed.
cat >pieces.goal <<'END'
schedule pieces(gap = 0)
buffer in  give[4 * (count + gap)]
buffer out take[4 * count]
rank r of p {
  for i = 0 to 3 {
    send give[i * (count + gap) +: count] to (r + 1) mod p
    recv take[i * count +: count] from (r - 1) mod p
  }
}
END

# stats NAME WANT ARGS... : "sends copies" of what goalc makes, which then runs
stats()
{
	local name=$1 want=$2

	shift 2
	goalc pieces.goal -n 3 -D count=5 "$@" -o pieces.bin
	goalc --stats pieces.bin | awk '/^(sends|copies) / { printf "%s ", $2 }' >out
	check "coalesce.$name" test "$(cat out)" = "$want "
	check "coalesce.$name.runs" goalrun_ok -n 3 --count 5 pieces.bin
}

stats none '12 0'
stats side_by_side '3 0' -T coalesce
stats gaps '12 0' -T coalesce -D gap=1
stats copies '3 12' -T coalesce:most=5 -D gap=1
stats too_long '12 0' -T coalesce:most=4 -D gap=1
stats both '3 12' -T coalesce:most=5 -T sparse-rounds -D gap=1

# What they leave of schedules of the library is proved: edges in parallel, to oneself, and 7 ranks all to all.
proved() # NAME ARGS...
{
	local name=$1

	shift
	if goalc --verify "$@" >out 2>&1; then ok "global.verify.$name"; else
		fail "global.verify.$name $(head -n 1 out)"; fi
}
edges='-D indegree=6 -D outdegree=6 -D sources=0,1,2,0,1,2 -D destinations=2,1,0,2,1,0'
for t in sparse-rounds sparse-rounds:heavy=9 coalesce coalesce:most=8 'coalesce:most=8;sparse-rounds' \
	'sparse-rounds;reduce-deps' 'fuse;sparse-rounds'; do
	for s in alltoall allgather reduce; do
		# shellcheck disable=SC2086
		proved "$s.$t" "$ROOT/schedules/neighbor_${s}_graph.goal" -n 3 $edges -T "$t"
	done
	proved "all.$t" "$ROOT/schedules/alltoall_linear.goal" -n 1-7 -T "$t"
	# one partner at a time; in place, what is saved first is ordered by way of other messages
	proved "pairs.$t" "$ROOT/schedules/alltoall_pairwise.goal" -n 1-7 -T "$t"
done
printf 'num_ranks 2\nrank 0 {\nsend 1b to 1\nsend 2b to 1 tag 1\n}\nrank 1 {\nrecv 1b from 0\nrecv 2b from 0 tag 1\n}\n' >two.goal
goalc two.goal -T coalesce -o two.bin
check coalesce.plain test "$(goalc --emit=goal two.bin | grep -c 3b)" = 2

# What a pass leaves is proved before it is written, also what it claims: here nobody sends anything.
cat >idle.goal <<'END'
schedule idle(root) implements MPI_Bcast
buffer inout data[count]
rank r of p { calc 5 }
END
check global.unproved goalc idle.goal -n 2 -D count=1 -o idle.bin
rm -f idle.bin
goalc idle.goal -n 2 -D count=1 -T reorder -o idle.bin 2>err
check global.proved_before_written [ $? -eq 1 -a ! -e idle.bin ]
check global.proved_as_verified grep -q 'idle.goal: error: size 2, count 1, root 0: after reorder: rank 1: at the end data\[0 +: 1\] .*\[result\]$' err
check global.proved_unless_off goalc idle.goal -n 2 -D count=1 -T reorder -Wno-race -o idle.bin
check global.printed_unproved grep -q '^ranks  *2$' <(goalc --stats idle.goal -n 2 -D count=1 -T reorder)
# Of a long lowered schedule in part.
goalc "$ROOT/schedules/alltoall_pairwise.goal" -n 64 -D count=7 -T lower-smcq -o long.bin 2>err
check global.proved_in_part grep -q 'warning: the queues are proved in part, as all of it would take long: goalc --verify proves the rest$' err
check global.proved_in_part_written [ -s long.bin ]
finish
