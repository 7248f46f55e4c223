#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The pass hierarchy. Every schedule that it accepts is proved for nodes of even and uneven size. The number of messages between
# nodes is that of the schedule among one rank of each node. Results are right when the schedule runs, with nodes from hosts,
# NUMA nodes and the ranks of a group. Other schedules are refused with a reason. tests/backends/verbs_nodes.sh has real nodes.
set -u
. "$(dirname "$0")/../lib.sh"
goalrun=$BUILD/bin/goalrun program=$BUILD/tests/rt-hierarchy
cd "$ROOT" || exit 1

# ---- what it makes ----

proved()
{
	goalc --verify "$1" -n "$2" -T "hierarchy:$3" >"$TMP/out" 2>"$TMP/err" && grep -q "it does what MPI_" "$TMP/out" ||
		{ head -n 1 "$TMP/out" "$TMP/err"; false; }
}
for s in schedules/{bcast,reduce,allreduce,barrier}_*.goal; do
	case $s in *reduce_scatter* | *trinaryx3*) continue ;; esac
	for nodes in ranks=1 ranks=2 ranks=3 ranks=4.1.2 ranks=1.3 cyclic=1 cyclic=2 cyclic=3; do
		check "hierarchy.proved $(basename "$s" .goal) $nodes" proved "$s" 1-7 $nodes
	done
done
check hierarchy.proved.others proved schedules/reduce_knomial.goal 16 ranks=2.5
goalc --verify -n 6 -T 'segment:size=3;hierarchy:ranks=2;fuse' schedules/allreduce_ring.goal >"$TMP/out" 2>"$TMP/err"
check hierarchy.proved.list grep -q 'proved for 6 ranks' "$TMP/out"

# messages SCHEDULE RANKS OPTIONS... : "from to" of each
messages()
{
	local s=$1 n=$2

	shift 2
	goalc --emit=goal "schedules/$s.goal" -n "$n" -D count=8 "$@" |
		awk '$1 == "rank" { from = $2 } { for (i = 1; i < NF; i++) if ($i == "to" && / send /) print from, $(i + 1) }'
}
declare -A MESSAGES # of a schedule on so many ranks: how many
# crosses SCHEDULE "RANKS OF EACH NODE" OPTIONS... : crossing messages are as many as with a rank of each node, the others
# stay within
crosses()
{
	local s=$1 nodes=$2 node=() k=0 n want got with

	shift 2
	for n in ${nodes/cyclic/}; do
		while [ "$n" -gt 0 ]; do node+=($k) n=$((n - 1)); done
		k=$((k + 1))
	done
	with=ranks=${nodes// /.}
	if [ "$nodes" = cyclic ]; then node=(0 1 2 0 1 2 0 1) k=3 with=cyclic=3; fi
	: "${MESSAGES[$s $k]:=$(messages "$s" $k | wc -l)}"
	want=${MESSAGES[$s $k]}
	got=$(messages "$s" ${#node[@]} -T "hierarchy:$with" "$@" | while read -r from to; do
		[ "${node[from]}" = "${node[to]}" ] || echo
	done | wc -l)
	[ "$got" -eq "$want" ] || { echo "$s, nodes of $nodes, $*: $got cross, not $want"; return 1; }
	case $s in *_binomial) [ "$want" -eq $((k - 1)) ] ;; *_reduce_bcast) [ "$want" -eq $((2 * k - 2)) ] ;; esac
}
for nodes in 3 '2 2' '3 1' '1 2' '2 3 1' '1 1 1' '2 2 2 2' '1 4 2 1' cyclic; do
	bad=
	for s in bcast_binomial reduce_binomial; do
		ranks=${nodes/cyclic/8} ranks=$((${ranks// /+}))
		for root in 0 1 $((ranks / 2)) $((ranks - 1)); do
			crosses $s "$nodes" -D root=$root >"$TMP/out" || bad="$bad $(cat "$TMP/out")"
		done
	done
	for s in allreduce_reduce_bcast allreduce_recursive_doubling barrier_tree; do
		crosses $s "$nodes" >"$TMP/out" || bad="$bad $(cat "$TMP/out")"
	done
	check "hierarchy.crosses $nodes$bad" [ -z "$bad" ]
done

# ---- it runs ----

runs()
{
	local name=$1

	shift
	timeout 100 "$goalrun" "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	check "hierarchy.$name $(tail -n 1 "$TMP/err")" grep -q '^verified: all' "$TMP/out"
}
runs bcast -n 5 -T hierarchy:ranks=2 --root all --count 0,7,700 --iters 3 schedules/bcast_binomial.goal
runs reduce -n 5 -T 'hierarchy:ranks=1.3;fuse' --root all --op sum,user --count 7,700 --iters 3 schedules/reduce_binomial.goal
runs allreduce -n 5 -T hierarchy:ranks=3 --op sum,user --ranks threads --count 7,700 --iters 3 schedules/allreduce_recursive_doubling.goal
runs cyclic -n 5 -T hierarchy:cyclic=2 --root all --op sum --count 7,700 --iters 3 schedules/reduce_binomial.goal
runs barrier -n 5 -T hierarchy:ranks=2 --iters 10 schedules/barrier_tree.goal
runs lowered -n 4 -T hierarchy:ranks=2 --backend smcq --iters 3 schedules/bcast_binomial.goal

# ---- which nodes ----

# A reduction that six ranks cannot carry out, but two or three.
sed 's/^rank r of p {/&\n  assert p < 4, "too many ranks"/; s/reduce_binomial(/few(/' schedules/reduce_knomial.goal |
	sed "s|lib/|$ROOT/schedules/lib/|" >"$TMP/few.goal"
cat >"$TMP/rsh" <<'EOS'
#!/bin/sh
host=$1; shift
export GOAL_NODE=$host
exec sh -c "exec $*"
EOS
chmod +x "$TMP/rsh"
export GOAL_RSH=$TMP/rsh
# says NAME STATUS TEXT COMMAND...
says()
{
	local name=$1 status=$2 text=$3 rc

	shift 3
	timeout 60 "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	rc=$?
	if [ $rc -eq "$status" ] && cat "$TMP/out" "$TMP/err" | grep -q -e "$text"; then ok "hierarchy.$name"; else
		fail "hierarchy.$name status $rc: $(head -qn 2 "$TMP/out" "$TMP/err" | tr '\n' '|')"; fi
}
says too_many 1 'too many ranks' "$goalrun" -n 6 "$TMP/few.goal"
HWLOC_SYNTHETIC='numa:2 core:4 pu:1' says numa 0 '^verified' "$goalrun" -n 6 --placement numa -T hierarchy --iters 2 "$TMP/few.goal"
says one_host 1 'too many ranks' "$goalrun" -n 6 --hosts a -T hierarchy "$TMP/few.goal"
says hosts 1 'is on another node' "$goalrun" -n 6 --hosts a,b -T hierarchy "$TMP/few.goal"
printf 'MPI_Bcast any any any any -> %s -T hierarchy\n' "$ROOT/schedules/bcast_binomial.goal" >"$TMP/table"
export GOAL_SELECT=$TMP/table
says selected 0 '^MPI_Bcast: rank 3 sent 0' "$goalrun" -n 4 -- "$program" MPI_Bcast
says apart 0 'nodes whose ranks follow each other, or take turns: rank 3 is on the node of rank 0, and rank 2 is not' \
	"$goalrun" -n 4 --hosts a,b -- "$program" apart
says turns 1 'is on another node' "$goalrun" -n 4 --hosts a,b -- "$program" turns MPI_Bcast
unset GOAL_SELECT

# ---- what is refused ----

says no_nodes 2 'needs nodes: --hosts' "$goalrun" -n 4 -T hierarchy schedules/bcast_binomial.goal
says no_number 2 'needs the number of ranks' "$goalrun" --hosts a -T hierarchy schedules/bcast_binomial.goal
says no_ranks 1 'needs the number of ranks of a node' "$GOALC" -T hierarchy -o "$TMP/x.bin" schedules/bcast_binomial.goal
says zero 2 'numbers from 1 to' "$GOALC" -T hierarchy:ranks=2.0 -o "$TMP/x.bin" schedules/bcast_binomial.goal
says twice 2 'can be given once' "$GOALC" -T 'hierarchy:ranks=2;fuse;hierarchy:ranks=3' -o "$TMP/x.bin" schedules/bcast_binomial.goal
says both 1 'takes ranks or cyclic, and once' "$GOALC" -T hierarchy:ranks=2,cyclic=2 -o "$TMP/x.bin" schedules/bcast_binomial.goal
says commutes 1 'needs an operation that commutes' "$goalrun" -n 4 -T hierarchy:cyclic=2 --op user schedules/reduce_binomial.goal
says collective 1 'not for MPI_Alltoall\|this schedule implements MPI_Alltoall' \
	"$GOALC" -T hierarchy:ranks=2 -o "$TMP/x.bin" schedules/alltoall_linear.goal
says plain 1 'for parametric schedules' "$GOALC" -T hierarchy:ranks=2 -o "$TMP/x.bin" tests/samples/linbarrier8.goal
says vector 1 'the parameter shape is a vector' "$GOALC" -T hierarchy:ranks=2 -o "$TMP/x.bin" schedules/bcast_trinaryx3.goal
sed 's/ inplace sum//' schedules/allreduce_recursive_doubling.goal | sed "s|lib/|$ROOT/schedules/lib/|" >"$TMP/place.goal"
says in_place 1 'no buffer that says inplace' "$GOALC" -T hierarchy:ranks=2 -o "$TMP/x.bin" "$TMP/place.goal"
sed 's/inout data/in data/' schedules/bcast_linear.goal >"$TMP/modes.goal"
says modes 1 'not those of MPI_Bcast' "$GOALC" -T hierarchy:ranks=2 -o "$TMP/x.bin" "$TMP/modes.goal"
sed 's/(root = 0)/(root = 0, half = p \/ 2)/' schedules/bcast_linear.goal >"$TMP/computed.goal"
says computed 1 'the parameter half is computed by default' "$GOALC" -T hierarchy:ranks=2 -o "$TMP/x.bin" "$TMP/computed.goal"
check hierarchy.no_output [ ! -e "$TMP/x.bin" ]
finish
