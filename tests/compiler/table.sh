#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# goalc --check-table: the table of the library is right, and so is the table below. Each faulty table differs from it in one
# line, and is refused with that line and the reason. The library refuses a row when it selects it.
set -u
. "$(dirname "$0")/../lib.sh"
unset GOAL_SELECT
cd "$TMP" || exit 1
lib=$ROOT/schedules

# ---- schedules that are not for all calls ----

# with NAME FILE TEXT : the library's schedule with a statement more
with()
{
	sed -e "s/^schedule $2/schedule $1/" -e "s/^rank r of p {/&\n  $3/" -e "s,^import \",&$lib/," "$lib/$2.goal" >"$1.goal"
}
with pow2 bcast_linear 'assert p == 2 ^ log2(p), "it is for a power of two"'
with even allgather_ring 'assert p mod 2 == 0, "it is for an even number"'
with upto scan_chain 'assert p <= 4096, "it is for 4096 ranks at most"'
with long alltoall_linear 'assert count >= 32, "it is for 32 elements at least"'
with whole gather_linear 'assert count mod 4 == 0, "it is for blocks of 4 elements"'
with root gather_linear 'assert root < 2, "it is for the roots 0 and 1"'
with apart allgather_ring 'assert not inplace, "it is not for data in place"'
sed -e 's/^schedule reduce_binomial/schedule commutes/' -e 's/ reproducible/ commutative/' -e "s,import \",&$lib/," \
	"$lib/reduce_binomial.goal" >commutes.goal
sed -e 's/^schedule bcast_knomial/schedule given/' -e 's/k = 4)/k)/' "$lib/bcast_knomial.goal" >given.goal
sed -e 's/^schedule bcast_binomial/schedule wrong/' -e '/requires/d' "$lib/bcast_binomial.goal" >wrong.goal
sed -e 's/^schedule bcast_linear/schedule third/' -e 's/k = 1 to p - 1/k = 1 to min(p - 1, 6)/' "$lib/bcast_linear.goal" >third.goal
sed -e 's/^schedule bcast_linear(root = 0) implements MPI_Bcast/schedule silent(root = 0)/' "$lib/bcast_linear.goal" >silent.goal
sed -e 's/recv data from/recv date from/' "$lib/bcast_linear.goal" >unread.goal
printf 'num_ranks 2\nrank 0 { send 8b to 1 }\nrank 1 { recv 8b from 0 }\n' >plain.goal
goalc "$lib/allreduce_recursive_doubling.goal" -n 8 -o eight.bin
goalc "$lib/allreduce_recursive_doubling.goal" -n 8 -D count=100 -o count.bin
goalc "$lib/bcast_knomial.goal" -D k=3 -T segment:size=64 -o knomial.bin
head -c 300 eight.bin >short.bin

cat >right.table <<'END'
MPI_Bcast              any:pow2  0-8191   any          any    -> pow2.goal
MPI_Bcast              3-64      8K-      any          any    -> bcast_chain.goal -D segments=4 -T segment:size=512
MPI_Bcast              65-       any      any          any    -> bcast_knomial.goal -D k=8
MPI_Bcast              any       any      any          any    -> given.goal -D k=2
MPI_Allgather          any:even  any      any          any    -> even.goal
MPI_Allgather          any       any      any          any    -> allgather_ring.goal
MPI_Scan               2-4096    any      any          any    -> upto.goal
MPI_Scan               any       any      any          any    -> scan_binomial.goal
MPI_Alltoall           any       1K-      any          any    -> long.goal
MPI_Alltoall           any       0-1023   any          any    -> alltoall_linear.goal
MPI_Reduce             any       any      commutative  any    -> commutes.goal
MPI_Reduce             any       any      any          any    -> reduce_binomial.goal -T hierarchy
MPI_Allreduce          8         any      any          any    -> eight.bin
MPI_Allreduce          any       64K-     builtin      any    -> allreduce_ring.goal
MPI_Allreduce          any:node  any      any          any    -> allreduce_recursive_doubling.goal -T fuse
MPI_Allreduce          any       any      any          any    -> allreduce_recursive_doubling.goal
MPI_Gather             any       any      any          any    -> gather_linear.goal
MPI_Allreduce          any       any      any:reproducible  any  -> allreduce_recursive_doubling.goal
MPI_Neighbor_alltoall  any       any      any          cart   -> neighbor_alltoall_cartesian.goal
MPI_Neighbor_alltoall  any       any      any          graph  -> neighbor_alltoall_graph.goal
END

goalc --check-table "$lib/select.table" >out 2>err
check "table.library $(head -n 1 err)" grep -qE 'select.table: [0-9]{2} rows are right; [0-9]{3} proofs of schedules$' out
goalc --check-table right.table >out 2>err
check "table.right $(head -n 1 err)" grep -q '^right.table: 20 rows are right; ' out

# faulty LINE CHANGE WANT [OPTION...] : the table with a change of a line, by sed, is refused at that line, or at the line that WANT
# begins with, and for no other reason. Proofs for two and three ranks are enough, unless OPTION says something else.
faulty()
{
	local at=$1 want=$3 options=(-n 2-3)

	[ $# -lt 4 ] || options=("${@:4}")
	if [[ $want =~ ^[0-9]+:\  ]]; then
		at=${want%%: *} want=${want#*: }
	fi
	sed "$1$2" right.table >faulty.table
	if goalc --check-table faulty.table "${options[@]}" >out 2>err || [ -s out ] || cmp -s right.table faulty.table ||
		! grep -qE "^faulty.table:$at:[0-9]+: error: " err || ! grep -qF -- "$want" err || [ "$(grep -c '^faulty.*: error: ' err)" != 1 ]; then
		fail "table.faulty $1$2: $(grep -v '^ ' err | tr '\n' '|')"
	else ok "table.faulty $want"; fi
}

# Numbers of ranks, counts, roots and data in place that a schedule excludes
faulty 1 's/any:pow2/any     /' 'pow2.goal is not for all calls of the row: size 3, count 0, root 0: it is for a power of two'
faulty 1 's/any:pow2/5-9     /' 'size 5, count 0, root 0: it is for a power of two'
faulty 1 's/any:pow2/any:even/' 'size 6, count 0, root 0: it is for a power of two'
faulty 5 's/any:even/2-      /' 'even.goal is not for all calls of the row: size 3, count 0, apart: it is for an even number'
faulty 5 's/any:even/any:node/' 'size 1, count 0, apart: it is for an even number'
faulty 5 's/even.goal/apart.goal/' 'size 2, count 0, inplace: it is not for data in place'
faulty 7 's/4096/5000/' 'size 4097, count 0, apart: it is for 4096 ranks at most'
faulty 7 's/2-4096/2-    /' 'size 4097, count 0, apart: it is for 4096 ranks at most'
faulty 7 's/2-4096/2-:even/' 'size 4098, count 0, apart: it is for 4096 ranks at most'
faulty 9 's/1K- /512-/' 'size 1, count 16, apart: it is for 32 elements at least'
faulty 9 's/1K-/1000-1010,/' 'the number of bytes is any, N, N- or N-M with K, M or G, not 1000-1010,'
faulty 17 's/gather_linear/whole/' 'size 1, count 1, root 0, apart: it is for blocks of 4 elements'
faulty 17 's,gather_linear,root,' 'size 3, count 0, root 2, apart: it is for the roots 0 and 1'
faulty 2 's/bcast_chain.*/bcast_trinaryx3.goal/' 'size 3, count 256, root 0: each side of the torus is at least 2'

# Parameters
faulty 3 's/k=8/k=1/' 'size 65, count 0, root 0: a k-nomial tree has k of at least 2'
faulty 2 's/bcast_chain.*/bcast_chain.goal -D segments=0/' 'size 3, count 256, root 0: the data is sent in at least one segment'
faulty 3 's/k=8/K=8/' 'the schedule has no parameter K; did you mean k?'
faulty 3 's/k=8/root=0/' '-D root: the caller of MPI_Bcast gives root its value'
faulty 4 's/ -D k=2//' 'the parameter k of given.goal has no default: the row has to give it with -D'
faulty 3 's/k=8/k=two/' '-D takes name=number, not k=two'
faulty 8 's/scan_binomial.goal/& -D inplace=1/' '-D inplace: the caller of MPI_Scan gives inplace its value'

# Passes
faulty 2 's/size=512/sise=512/' 'the pass segment has no key sise'
faulty 2 's/size=512/size=0/' 'the key size of the pass segment is a number from 1 to'
faulty 2 's/segment:size=512/segments/' 'there is no pass segments; did you mean segment?'
faulty 2 's/segment:size=512/reorder/' 'the pass reorder needs the ops of all ranks, and binding has those of one'
faulty 8 's/scan_binomial.goal/& -T hierarchy/' 'hierarchy'
faulty 12 's/hierarchy/hierarchy:cyclic=2/' 'reduce_binomial.goal is for operations that commute, and the row for any operation'
faulty 16 's/$/ -T segment:size=7/' 'allreduce_recursive_doubling.goal cuts elements of users'"'"' operations, and the row takes these'

# Operations
faulty 11 's/commutative/any        /' '12: no call comes to this row: line 11 takes all'
faulty 12 's/reduce_binomial.goal -T hierarchy/commutes.goal/' 'commutes.goal is for operations that commute, and the row for any operation'
faulty 14 's/builtin    /commutative/' 'allreduce_ring.goal cuts elements of users'"'"' operations, and the row takes these: with 2 ranks and'

# Reproducible results
faulty 18 's/any:repro/commutative:repro/; 18s/recursive_doubling/ring/' 'allreduce_ring.goal is not marked as reproducible, and the row is for calls that ask for it'
faulty 18 's/any      any:/1K-      any:/' 'reproducible results depend on neither bytes nor nodes'
faulty 18 's/any  /any:node/' 'reproducible results depend on neither bytes nor nodes'
faulty 18 's/any  /any:cache/' 'reproducible results depend on neither bytes nor nodes'
faulty 18 's/any  /4-/' 'no row takes MPI_Allreduce with 1 rank and 0 bytes, reproducibly'
faulty 17 's/any          any/any:reproducible any/' 'MPI_Gather has no operation'

# The collective and the topology
faulty 17 's/gather_linear/scatter_linear/' 'scatter_linear.goal implements MPI_Scatter, not MPI_Gather'
faulty 1 's/pow2.goal/silent.goal/' 'silent.goal implements no collective, not MPI_Bcast'
faulty 13 's/eight.bin/plain.goal/' 'plain.goal implements no collective, not MPI_Allreduce'
faulty 20 's/graph  -/any    -/' 'neighbor_alltoall_graph.goal is for ranks in a graph, and the row for other calls, too'
faulty 19 's/cartesian/graph/' 'neighbor_alltoall_graph.goal is for ranks in a graph, and the row for other calls, too'
faulty 20 's/_graph/_cartesian/' 'neighbor_alltoall_cartesian.goal is for ranks in a grid, and the row for other calls, too'
faulty 19 's/Neighbor_alltoall /neighbor_alltoall /' 'there is no collective MPI_neighbor_alltoall; did you mean MPI_Neighbor_alltoall?'

# Binaries
faulty 13 's/  8  /  8-9/' 'eight.bin is a binary for 8 ranks, and the row for other numbers of ranks, too'
faulty 13 's/  8  /  4  /' 'eight.bin is a binary for 8 ranks, and the row for other numbers of ranks, too'
faulty 13 's/eight/count/' 'count.bin is a binary for the count 100, and the row for other counts, too'
faulty 13 's/eight/short/' 'short.bin: the binary is truncated'
faulty 3 's/bcast_knomial.goal/knomial.bin/' '-D k: knomial.bin is a binary, and keeps the values that it was made with'
faulty 2 's/bcast_chain.*-T/knomial.bin -T/' '-T segment:size=512: knomial.bin is a binary, and keeps the passes that it was made with'

# Rows that no call reaches, and calls that no row takes
faulty 4 's/any   /2-2K  /; 4i MPI_Bcast 2- any any cart -> given.goal -D k=2\nMPI_Bcast 2-2048 any any any -> given.goal -D k=3' \
	'6: no call comes to this row: line 5 takes all'
faulty 4 's/any       any  /3-64:even 9K-  /; 4a MPI_Bcast any any any any -> bcast_binomial.goal' '4: no call comes to this row: line 2 takes all'
faulty 4 's/any       any  /3-        9K-  /; 4a MPI_Bcast any any any any -> bcast_binomial.goal' '4: no call comes to this row: lines 2, 3 take all'
faulty 10 's/0-1023/0-1000/' 'no row takes MPI_Alltoall with 1 rank and 1001 bytes; --partial leaves such calls to the installed table'
faulty 6 's/  any/ 1-99/' 'no row takes MPI_Allgather with 101 ranks and 0 bytes'
faulty 8 's/any  /any:even/' 'no row takes MPI_Scan with 1 rank and 0 bytes'
faulty 8 's/any  /any:core/' 'no row takes MPI_Scan with 1 rank and 0 bytes, with a core each'
faulty 15 's/any:node.*/&\nMPI_Allreduce 2:core any any any -> allreduce_ring.goal/' '16: no call comes to this row: line 15 takes all'
faulty 8 's/any  /any:cache/' 'no row takes MPI_Scan with 1 rank and 0 bytes, without a common cache'
faulty 15 's/any:node.*/&\nMPI_Allreduce 2:cache any any any -> allreduce_ring.goal/' '16: no call comes to this row: line 15 takes all'
faulty 16 's/any      any/8K-      any/' 'no row takes MPI_Allreduce with 1 rank and 0 bytes, on several nodes'
faulty 8 's/any          any/commutative  any/' 'no row takes MPI_Scan with 1 rank and 0 bytes, with an operation that does not commute'
faulty 20 's/.*//' '19: no row takes MPI_Neighbor_alltoall with 1 rank and 0 bytes, in a graph'

# The file
faulty 8 's/scan_binomial/scan_binomal/' 'scan_binomal.goal: No such file or directory'
faulty 1 's/pow2.goal/unread.goal/' 'unread.goal'
faulty 1 's/pow2.goal/wrong.goal/' 'it is not proved what the schedule does: wrong.goal' -n 4-5
faulty 1 's/any:pow2/any     /; 1s/pow2/third/' 'it is not proved what the schedule does: third.goal' -n 7-9

# Calls that the installed table takes
sed '10s/0-1023/0-1000/; 16d' right.table >some.table
goalc --check-table some.table --partial -n 2-3 >out 2>err
check "table.partial $(head -n 1 err)" grep -q '^some.table: 19 rows are right; ' out
check table.no_file test "$(goalc --check-table none.table 2>&1)" = 'none.table: error: No such file or directory'
finish
