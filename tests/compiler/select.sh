#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Selection tables. The table of the library names schedules that exist and fit, and has a row for every call. The table of a
# user comes before it. Mistakes in tables give exact messages. goalc, goalrun and the library select the same row.
set -u
. "$(dirname "$0")/../lib.sh"
table=$ROOT/schedules/select.table
unset GOAL_SELECT
cd "$TMP" || exit 1

goalrun() { timeout 60 "$BUILD/bin/goalrun" "$@"; }
# chosen ARGS... : the schedule that goalc selects, and what stands behind it
chosen() { goalc --select "$@" 2>err | sed 's/.*-> *//'; }

# ---- the library's table ----

check select.parses goalc --select MPI_Bcast -n 2 >/dev/null

# There is no hole: each collective, size, block and kind of operation has a row; those of neighbours are called on a
# grid or a graph.
collectives=$(sed -n 's/^schedule \([A-Za-z_]*\).*/\1/p' "$ROOT/compiler/collectives/collectives.goal" |
	cat - <(sed -n 's/^\t{ "\(MPI_[A-Za-z_]*\)", "MPI_.*/\1/p' "$ROOT/compiler/collectives/names.c") | sort -u)
check select.collectives test "$(wc -l <<<"$collectives")" = 23
for c in $collectives; do
	on=any
	[ "${c#*eighbor_}" = "$c" ] || on='cart graph'
	for n in 1 2 3 4 7 8 9 16 17 33 63 64 65 1000 1024 1048576; do
		for commutative in 0 1 2; do
			for b in 0 1 8 80 81 255 256 257 2048 8191 12288 65536 524287 524288 1073741824; do
				for topology in $on; do echo "$c $n $b $commutative $topology"; done
			done
		done
	done
done >calls
# One call of the compiler for each would take minutes. The ranks of these calls have a core each, and no common cache.
awk '
	function limit(s,   k, unit) {
		unit = substr(s, length(s)); k = index("KMG", unit)
		return k ? substr(s, 1, length(s) - 1) * 1024 ^ k : s + 0
	}
	function range(s, v,   p, a) {
		if (s == "any") return 1
		p = index(s, "-"); if (!p) return v == limit(s)
		a = substr(s, p + 1)
		return v >= limit(substr(s, 1, p - 1)) && (a == "" || v <= limit(a))
	}
	function pow2(v) { while (v % 2 == 0) v /= 2; return v == 1 }
	NR == FNR { sub(/#.*/, ""); if (NF && !/:(reproducible|cache|core)/) { n++; c[n] = $1; r[n] = $2; b[n] = $3; o[n] = $4; t[n] = $5; f[n] = $7 }; next }
	{
		for (i = 1; i <= n; i++) {
			k = split(r[i], part, ":")
			if (c[i] == $1 && range(part[1], $2) && (k < 2 || (part[2] == "pow2" ? pow2($2) : part[2] == "node" || $2 % 2 == 0)) &&
			    range(b[i], $3) && (o[i] == "any" || $4 > (o[i] == "builtin")) && (t[i] == "any" || t[i] == $5)) break
		}
		print $0, (i <= n ? f[i] : "none")
	}' "$table" calls >answers
check "select.no_hole $(grep -m 3 none answers | tr '\n' ';')" test -z "$(grep none answers)"
# That reading of the table is held against the compiler's on a sample.
bad=''
while read -r c n b commutative topology want; do
	op="-D commutative=$commutative"
	[ "$commutative" != 2 ] || op=
	# shellcheck disable=SC2086
	got=$(chosen "$c" -n "$n" -D "bytes=$b" $op --topology "$topology")
	[ "${got%% *}" = "$want" ] || bad="$bad $c/$n/$b/$commutative:$got"
done < <(awk 'NR % 197 == 1' answers)
check "select.same$bad" test -z "$bad"

# What is selected runs, for short and long messages, and operations that do not commute.
bad='' runs=0
for c in Barrier Bcast Gather Scatter Allgather Allgatherv Alltoall Reduce Allreduce Reduce_scatter_block Reduce_scatter Scan Exscan; do
	ops=sum
	case $c in Reduce* | Allreduce | Scan | Exscan) ops='sum user' ;; esac
	for op in $ops; do
		for n in 3 9; do
			for count in 3 40000; do
				runs=$((runs + 1))
				goalrun -n $n --select MPI_$c --count $count --op $op --iters 2 --warmup 0 --verify >out 2>&1 ||
					bad="$bad $c/$n/$count/$op:$(head -n 1 out)"
			done
		done
	done
done
check "select.runs $runs$bad" test -z "$bad"

# ---- a user's table ----

cat >own.table <<'END'
# before those of the library
MPI_Bcast  any  0-511   any  none    ->  never.goal
END
sed -i 's/none    /graph   /' own.table
cat >>own.table <<'END'
MPI_Bcast   any        any     any           cart   ->  bcast_knomial.goal -D k=3 -T reduce-deps -T reduce-deps
MPI_Bcast   any        0-511   any           any    ->  bcast_linear.goal   # short
MPI_Bcast   2-1K:even  1M-2G   any           any    ->  mine.goal
MPI_Bcast   4-:pow2    2049    any           any    ->  /none.goal
MPI_Reduce  any        any     commutative   any    ->  reduce_chain.goal -D segments=2
END
cp "$ROOT/schedules/bcast_binomial.goal" mine.goal
own() { chosen "$@" --table own.table; }
check select.first test "$(own MPI_Bcast -n 3 -D bytes=511)" = bcast_linear.goal
check select.next test "$(own MPI_Bcast -n 3 -D bytes=512 -D nodes=2)" = bcast_binomial.goal
check select.rest test "$(own MPI_Bcast -n 3 --topology cart)" = \
	'bcast_knomial.goal -D k=3 -T reduce-deps -T reduce-deps'
check select.graph test "$(own MPI_Bcast -n 3 --topology graph)" = never.goal
check select.even test "$(own MPI_Bcast -n 1024 -D bytes=2147483648)" = mine.goal
check select.odd test "$(own MPI_Bcast -n 1023 -D bytes=1048576)" = bcast_scatter_allgather.goal
check select.above test "$(own MPI_Bcast -n 1026 -D bytes=1048576)" = bcast_scatter_allgather.goal
check select.pow2 test "$(own MPI_Bcast -n 8 -D bytes=2049)" = /none.goal
check select.not_pow2 test "$(own MPI_Bcast -n 12 -D bytes=2049 -D nodes=2)" = bcast_binomial.goal
printf '%s\n' 'MPI_Bcast 2-8:node any any any -> bcast_chain.goal' >node.table
printf '%s\n' 'MPI_Bcast 2-8:cache any any any -> bcast_chain.goal' >cache.table
printf '%s\n' 'MPI_Bcast 2-8:core any any any -> bcast_chain.goal' >core.table
check select.node test "$(chosen MPI_Bcast -n 8 -D nodes=1 --table node.table)" = bcast_chain.goal
check select.not_cache test "$(chosen MPI_Bcast -n 8 --table cache.table)" = bcast_linear.goal
check select.cache test "$(chosen MPI_Bcast -n 8 -D cache=1 --table cache.table)" = bcast_chain.goal
check select.cache_on_node test "$(chosen MPI_Bcast -n 8 -D cache=1 --table node.table)" = bcast_chain.goal
check select.cache_nodes test "$(chosen MPI_Bcast -n 8 -D cache=1 -D nodes=2 --table cache.table)" = bcast_binomial.goal
check select.core test "$(chosen MPI_Bcast -n 8 -D core=1 --table core.table)" = bcast_chain.goal
check select.not_core test "$(chosen MPI_Bcast -n 8 -D cache=1 --table core.table)" = bcast_linear.goal
check select.core_cache test "$(chosen MPI_Bcast -n 8 -D core=1 --table cache.table)" = bcast_chain.goal
check select.nodes test "$(chosen MPI_Bcast -n 8 -D nodes=2 --table node.table)" = bcast_binomial.goal
check select.reproduces test "$(own MPI_Reduce -n 4 -D bytes=1M -D reproducible=1)" = reduce_binomial.goal
check select.reproduces_env test "$(GOAL_REPRODUCIBLE=1 own MPI_Reduce -n 4)" = reduce_binomial.goal
check select.commutes test "$(own MPI_Reduce -n 4)" = 'reduce_chain.goal -D segments=2'
check select.commutes_too test "$(own MPI_Reduce -n 4 -D commutative=1)" = 'reduce_chain.goal -D segments=2'
check select.does_not test "$(own MPI_Reduce -n 4 -D commutative=0)" = 'reduce_linear.goal -T fuse'
goalc --select MPI_Bcast -n 3 -D bytes=511 --table own.table >out
check select.line test "$(cat out)" = \
	'own.table:4: MPI_Bcast   any        0-511   any           any    ->  bcast_linear.goal'
check select.env test "$(GOAL_SELECT=own.table chosen MPI_Bcast -n 3)" = bcast_linear.goal

# runs NAME WANT ARGS... : goalrun takes that schedule and finds its result right
runs()
{
	local name=$1 want=$2

	shift 2
	if goalrun --iters 3 --verify "$@" >out 2>&1 && grep -q "^$want: " out && grep -q '^verified: all 1 case right' out; then
		ok "select.goalrun.$name"; else fail "select.goalrun.$name $(head -n 2 out | tr '\n' '|')"; fi
}
runs installed "$ROOT/schedules/allreduce_linear.goal" -n 3 --select MPI_Allreduce --count 100
runs own "$ROOT/schedules/bcast_linear.goal" -n 3 --select MPI_Bcast --count 63 --table own.table
runs count "$ROOT/schedules/bcast_knomial.goal" -n 9 --select MPI_Bcast -D count=64 --table own.table
runs type "$ROOT/schedules/bcast_linear.goal" -n 3 --select MPI_Bcast --count 511 --type byte --table own.table
runs beside ./mine.goal -n 2 --select MPI_Bcast --count 131072 --table ./own.table
runs values "$ROOT/schedules/bcast_knomial.goal" -n 4 --select MPI_Bcast --topology cart --table own.table
GOAL_REPRODUCIBLE=1 runs reproducible "$ROOT/schedules/reduce_binomial.goal" -n 3 --select MPI_Reduce --table own.table
runs user "$ROOT/schedules/reduce_linear.goal" -n 3 --select MPI_Reduce --op user --table own.table
goalrun -n 4 --select MPI_Bcast --topology cart --table own.table -D k=1 --iters 1 >out 2>&1
check select.goalrun.given grep -q 'a k-nomial tree has k of at least 2' out

# ---- mistakes ----

# wrong WANT LINE... : what goalc says of a table, without the lines that quote it
wrong()
{
	local want=$1

	shift
	printf '%s\n' "$@" >bad.table
	if goalc --select MPI_Bcast -n 2 --table bad.table >out 2>err || ! grep -qF "bad.table:$want" err || [ -s out ]; then
		fail "select.wrong $want: $(head -n 1 err)"
	else ok "select.wrong $want"; fi
}
row='any any any any -> bcast_linear.goal'
wrong '1:1: error: there is no collective MPI_Broadcast' "MPI_Broadcast $row"
wrong '3:11: error: the number of ranks is any, N, N- or N-M, perhaps with :pow2, :even, :node, :cache or :core, not 4-x' '# a' '' 'MPI_Bcast 4-x'
wrong '1:11: error: the number of ranks is any, N, N- or N-M, perhaps with :pow2, :even, :node, :cache or :core, not 4:odd' 'MPI_Bcast 4:odd any'
wrong '1:11: error: the number of ranks 9-8 is empty' 'MPI_Bcast 9-8 any'
wrong '1:11: error: the number of ranks 5-7:pow2 is empty' 'MPI_Bcast 5-7:pow2 any'
wrong '1:11: error: the number of ranks 3:even is empty' 'MPI_Bcast 3:even any'
wrong '1:11: error: the number of ranks 0 is empty' 'MPI_Bcast 0 any'
wrong '1:15: error: the number of bytes is any, N, N- or N-M with K, M or G, not 1T' 'MPI_Bcast any 1T any'
wrong '1:15: error: the number of bytes is any, N, N- or N-M with K, M or G, not 99999999999G' 'MPI_Bcast any 99999999999G any'
wrong '1:14: error: the number of bytes is missing' 'MPI_Bcast any'
wrong '1:19: error: there is no kind of operation sum' 'MPI_Bcast any any sum'
wrong '1:23: error: there is no topology torus' 'MPI_Bcast any any any torus -> x'
wrong '1:27: error: -> is expected here, not x' 'MPI_Bcast any any any any x'
wrong '1:30: error: the file of the schedule is missing' 'MPI_Bcast any any any any -> # x'
wrong '1:48: error: -D or -T is expected here, not k=2' "MPI_Bcast $row k=2"
for d in k k= =3 k=1,2 k=9223372036854775808; do
	wrong "1:51: error: -D takes name=number, not $d" "MPI_Bcast $row -D $d"
done
wrong '1:58: error: the name of -D k=2 is there already' "MPI_Bcast $row -D k=1 -D k=2"
wrong '1:51: error: there is no pass x' "MPI_Bcast $row -T x"
wrong '1:51: error: the pass coalesce needs the ops of all ranks' "MPI_Bcast $row -T coalesce"
wrong '2:1: error: no call comes to this row: line 1 takes all' "MPI_Bcast $row" "MPI_Bcast 4-:pow2 0-7 any any -> x"
printf 'MPI_Bcast\0 any any any any -> bcast_linear.goal\n' >bad.table
goalc --select MPI_Bcast -n 2 --table bad.table 2>err
check select.no_text grep -qx 'bad.table: error: this is no text' err
# Each line has its own message.
goalc --select MPI_Bcast -n 2 --table bad.table 2>err
printf 'MPI_A\nMPI_B\n' >bad.table
goalc --select MPI_Bcast -n 2 --table bad.table 2>err
check select.each test "$(grep -c error err)" = 2

# status NAME STATUS ARGS... : and nothing on standard output
status()
{
	local name=$1 want=$2

	shift 2
	"$@" >out 2>err
	check "select.$name" test "$?$(cat out)" = "$want"
}
status no_table 1 goalc --select MPI_Bcast -n 2 --table none.table
check select.no_table_text grep -qx 'none.table: error: No such file or directory' err
status no_row 1 goalc --select neighbor_reduce -n 2
status no_collective 2 goalc --select MPI_Nothing -n 2
status no_ranks 2 goalc --select MPI_Bcast
status range 2 goalc --select MPI_Bcast -n 2-4
status no_topology 2 goalc --select MPI_Bcast -n 2 --topology torus
status not_reproducible 1 goalc --select MPI_Reduce_scatter -n 4 -D commutative=0 -D reproducible=1
status unknown_value 2 goalc --select MPI_Bcast -n 2 -D byte=2
status goalrun_list 2 goalrun --select MPI_Bcast -n 2 --type byte,int32
status goalrun_schedule 2 goalrun --select MPI_Bcast -n 2 mine.goal
status goalrun_no_row 1 goalrun --select neighbor_reduce -n 2
status goalrun_no_file 1 goalrun --select MPI_Bcast -n 4 --count 2049 --type byte --table own.table
check select.goalrun_no_file_text grep -qx 'goalrun: /none.goal: No such file or directory' err

# The environment of a program with more rights than its caller names no file that it reads, and quotes.
cp "$GOALC" setuid
if chown 65534 setuid 2>err && chmod 4755 setuid && [ "$(./setuid --version 2>&1)" = "$(goalc --version)" ]; then
	chmod 755 .
	printf 'secret line\n' >secret.table
	GOAL_SELECT=$PWD/secret.table ./setuid --select MPI_Bcast -n 2 >out 2>&1
	check select.setuid test "$(grep -c secret out)" = 0
else
	skip select.setuid "only root can give a program to another user"
fi

# ---- the library ----

cat >rt.table <<'END'
MPI_Bcast      any  0-500  any          any   -> bcast_linear.goal
MPI_Bcast      any  any    any          cart  -> bcast_knomial.goal -D k=3
MPI_Bcast      any  any    any          any   -> bcast_binomial.goal -T reduce-deps
MPI_Reduce     any  any    builtin      any   -> reduce_rabenseifner.goal
MPI_Reduce     any  any    commutative  any   -> reduce_chain.goal -D segments=2
MPI_Reduce     any  any    any          any   -> reduce_binomial.goal
MPI_Scan       any:node any any         any   -> scan_chain.goal -T fuse
MPI_Scan       any  any    any          any   -> scan_binomial.goal
END
export GOAL_SELECT=$PWD/rt.table
program select.library 120 "$BUILD/tests/rt-select" && ok select.library
check select.reproducible env GOAL_SELECT= GOAL_REPRODUCIBLE=1 timeout 60 "$BUILD/tests/rt-select" reproducible
# What the library has compiled is not compiled again. The check for leaks cannot run in a traced process.
if can_trace select.compiled; then
	for call in MPI_Bcast:bcast_chain,segments=16 MPI_Reduce:reduce_linear+fuse@wait=1; do
		binary=${call#*:}
		options=$(sed "s|\([a-z_]*\)|\1.goal|; s|,| -D |g; s|+| -T |g; s|@|:|g" <<<"$binary")
		printf '%s any any any any -> %s\n' "${call%:*}" "$options" >compiled.table
		GOAL_SELECT=$PWD/compiled.table ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 timeout 60 strace -f -o calls -e trace=openat \
			"$BUILD/tests/rt-select" on "${binary%%[,+]*}" "${call%:*}" >out 2>&1
		check "select.compiled.${binary%%[,+]*}" [ $? -eq 0 -a "$(grep -c "/$binary.bin\".* = [0-9]" calls)" -gt 0 -a \
			"$(grep -c "/${binary%%[,+]*}.goal\"" calls)" -eq 0 ]
	done
fi
# on_machine NAME WANT TABLE TOPOLOGY : the schedule that two ranks get there, which run on any core
on_machine()
{
	check "select.library.$1" env HWLOC_SYNTHETIC="$4" GOAL_SELECT="$PWD/$3" timeout 60 "$BUILD/tests/rt-select" on "$2"
	HWLOC_SYNTHETIC=$4 runs "$1" "$ROOT/schedules/$2.goal" -n 2 --select MPI_Bcast --count 100 --table "$PWD/$3"
}
if [ "$(nproc)" -gt 1 ]; then
	on_machine cache bcast_chain cache.table "l3:1 core:$(nproc --all) pu:1"
	on_machine caches bcast_linear cache.table "l3:$(nproc --all) core:1 pu:1"
	on_machine cores bcast_linear core.table ''
else
	on_machine core bcast_chain core.table ''
fi
first=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
check select.library.turns env GOAL_SELECT="$PWD/core.table" taskset -c "$first" timeout 60 "$BUILD/tests/rt-select" on bcast_chain
check select.apart env TEAM_TRANSPORT=app TEAM_NODES=2 timeout 60 "$BUILD/tests/rt-select" apart
# refused NAME WANT TABLE : what the library says
refused()
{
	printf '%s\n' "$3" >bad.table
	GOAL_SELECT=$PWD/bad.table timeout 60 "$BUILD/tests/rt-select" refused >out 2>&1
	check "select.library.$1" grep -qF "$2" out
}
refused table "the schedule's text has errors: $PWD/bad.table:1:1: error: there is no collective x" 'x'
refused file "a system call failed: $PWD/none.goal: No such file or directory" "MPI_Bcast any any any any -> none.goal"
refused parameter 'the schedule has no parameter k' "MPI_Bcast $row -D k=3"
refused unreached "bad.table:3:1: error: no call comes to this row: lines 1, 2 take all" "MPI_Bcast any 0-49 any any -> bcast_linear.goal
MPI_Bcast any 50-99 any any -> bcast_linear.goal
MPI_Bcast 2-8 0-99 any any -> bcast_linear.goal"
refused other "$PWD/bad.table:2: scatter_linear.goal implements MPI_Scatter, not MPI_Bcast" "
MPI_Bcast any any any any -> scatter_linear.goal"
refused given "$PWD/bad.table:1: -D root: the caller of MPI_Bcast gives root its value" "MPI_Bcast $row -D root=0"
goalc "$ROOT/schedules/bcast_linear.goal" -n 3 -o three.bin
refused ranks "$PWD/bad.table:1: three.bin is a binary for 3 ranks, and the row for other numbers of ranks, too" \
	"MPI_Bcast any any any any -> three.bin"
sed 's/^rank r of p {/&\n  assert p > 1, "it is for two ranks at least"/' "$ROOT/schedules/bcast_linear.goal" >two.goal
refused assertion "the row $PWD/bad.table:1 selects a schedule that is not for this call: it is for two ranks at least" \
	"MPI_Bcast any any any any -> two.goal"
finish
