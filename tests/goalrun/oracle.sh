#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The checks of goalrun can fail: each finds schedules of the library with one fault each. Also tests what the matrix leaves
# out: every type with every operation, and collectives for which the library has no schedule yet.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1

# run NAME STATUS TEXT RANKS OPTIONS... SCHEDULE: its exit status, and TEXT in what it prints
run()
{
	local name=$1 want=$2 text=$3 n=$4 rc

	shift 4
	timeout 120 "$BUILD/bin/goalrun" -n "$n" --verify "$@" >"$TMP/out" 2>&1
	rc=$?
	if [ $rc -eq "$want" ] && grep -qF -- "$text" "$TMP/out"; then
		ok "oracle.$name"
	else
		fail "oracle.$name status $rc: $(tail -n 2 "$TMP/out" | tr '\n' ' ')"
	fi
}

# mutant NAME SCHEDULE[:FILE] SED STATUS TEXT RANKS OPTIONS... : the fault is in that file, else in the schedule's own
mutant()
{
	local name=$1 schedule=${2%:*} file=${2#*:} sed=$3 dir=$TMP/$1

	shift 3
	cp -r schedules "$dir"
	sed "$sed" "schedules/$file.goal" >"$dir/$file.goal"
	if diff -r schedules "$dir" >/dev/null; then fail "oracle.$name is no mutant"; else
		run "$name" "$@" --warmup 8 --iters 2 "$dir/$schedule.goal"
	fi
}

swap='s/reduce sum with got\(.*\) into sum/reduce got\1 into sum/'
mutant order_allreduce allreduce_recursive_doubling "$swap" 1 'result is wrong' 4 --op user
mutant order_allreduce_sum allreduce_recursive_doubling "$swap" 0 verified 4 --op sum
mutant order_fold allreduce_recursive_doubling:lib/fold 's/reduce got into sum/reduce sum with got into sum/' \
	1 'result is wrong' 3 --op user
mutant order_reduce reduce_binomial:lib/reduce_pairs 's/reduce sum with part\(.*\) into sum/reduce part\1 into sum/' 1 'result is wrong' 4 --op user --root 2
mutant order_linear reduce_linear 's/reduce part\[0 +: count\] into result/reduce result with part[0 +: count] into result/' 1 'result is wrong' 4 \
	--op user --root 2
mutant order_blocks reduce_scatter_linear:lib/add_all 's/reduce part into sum/reduce sum with part into sum/' 1 'result is wrong' 3 --op user
mutant order_scan scan_chain 's/reduce before into sum/reduce sum with before into sum/' 1 'result is wrong' 3 --op user
mutant sum_left_out scan_chain 's/reduce before into sum/nop/' 1 'result is wrong' 3
mutant block_alltoall alltoall_pairwise:lib/alltoall 's/send give\[to/send give[from/' 1 'result is wrong' 3 --type byte --count 1
mutant block_allgather allgather_ring 's/copy mine into all\[r \* count +: count\]/nop/' 1 'result is wrong' 3
mutant block_allgatherv allgatherv_linear 's/copy mine into all.*/nop/' 1 'result is wrong' 3
mutant block_reduce_scatter reduce_scatter_linear 's/mine\[own +: n\], sum/mine[0 +: n], sum/' 1 'result is wrong' 3
mutant block_gather gather_binomial 's/copy mine into all\[.*/nop/' 1 'result is wrong' 5 --root 2
mutant block_scatter scatter_binomial 's/send all\[0 +: (n - low)/send all[count +: (n - low)/' 1 'result is wrong' 7 --root 2
mutant torus_fragment bcast_trinaryx3 's/for t = 0 to 2/for t = 0 to 1/' 1 'result is wrong' 8 --root 3
mutant root_bcast bcast_binomial 's/send data to/send data[0 +: count] to/; s/data\[count\]/data[count + 1]/' 1 'elements' 2
mutant barrier_round barrier_dissemination 's/ceillog2(p) - 1/ceillog2(p) - 2/' 1 'left the barrier before rank' 4
mutant barrier_order barrier_dissemination '/near\[k\] i*requires/d' 1 'left the barrier before rank' 5
mutant barrier_none barrier_dissemination 's/nothing to .*/nothing to r/; s/nothing from .*/nothing from r/' \
	1 'left the barrier before rank' 2 --ranks threads
mutant size_out allgather_ring 's/all\[p \* count\]/all[p * count + 1]/' 1 'elements, in MPI_Allgather it has' 2
mutant mode_out scan_chain 's/buffer out/buffer inout/' 1 'MPI_Scan has 1 out buffer' 2
mutant not_at_root reduce_chain 's/result\[r.*\]/result[count]/' 0 verified 3 --root 1
mutant used_not_at_root reduce_chain 's/result\[r.*\]/result[count]/; s/^  after = .*/&; if r != root { copy mine into result }/' \
	1 'result has 1000 elements, in MPI_Reduce it has 0' 3 --root 0
grep -qF "goalrun: this case alone: goalrun -n 3 --verify --count 1000 --type double --op sum --root 0 --memory heap" "$TMP/out" &&
	ok oracle.reproduce || fail "oracle.reproduce $(tail -n 1 "$TMP/out")"

types=byte,int8,uint8,int16,uint16,int32,uint32,int64,uint64,float,double,long_double,float_complex,double_complex
types=$types,long_double_complex,bool,logical,float_int,double_int,long_double_int,short_int,int_int,long_int,float_float
types=$types,double_double
ops=sum,prod,min,max,land,lor,lxor,band,bor,bxor,minloc,maxloc,user
for kernels in best base; do
	GOAL_KERNELS=$kernels run "types_ops.$kernels" 0 'verified: all 296 cases' 3 --type $types --op $ops --count 1,67 --iters 2 \
		--warmup 1 schedules/allreduce_recursive_doubling.goal
done
run undefined_op 1 'not defined for the basic datatype' 2 --type byte --op sum schedules/scan_chain.goal
GOAL_KERNELS=sse9 run unknown_kernels 1 'GOAL_KERNELS cannot be "sse9"' 2 schedules/scan_chain.goal

cat >"$TMP/exscan.goal" <<'END'
schedule exscan implements MPI_Exscan
buffer in mine[count]
buffer out sum[count]
buffer scratch next[count]
rank r of p {
  if r > 0 { got: recv sum from r - 1 }
  if r < p - 1 {
    own: copy mine into next
    if r > 0 {
      add: reduce sum into next
      add requires got, own
    }
    on: send next to r + 1
    on requires own, add
  }
}
END
run exscan 0 verified 5 --op sum,user "$TMP/exscan.goal"
cat >"$TMP/rsb.goal" <<'END'
schedule reduce_scatter_block_linear implements MPI_Reduce_scatter_block
buffer in mine[p * count]
buffer out sum[count]
buffer scratch got[p * count]
rank r of p {
  for q = 0 to p - 1 {
    send mine[q * count +: count] to q
    come[q]: recv got[q * count +: count] from q
  }
  add[0]: copy got[0 +: count] into sum
  add[0] requires come[0]
  for q = 1 to p - 1 {
    add[q]: reduce sum with got[q * count +: count] into sum
    add[q] requires add[q - 1], come[q]
  }
}
END
run reduce_scatter_block 0 verified 4 --op max,user "$TMP/rsb.goal"

# A binary for a fixed size has its values, and what follows from them, in it.
bin=$TMP/gatherv.bin
goalc schedules/gatherv_linear.goal -n 3 -D counts=2,0,3 -D displs=4,90,0 -D mycount@0=2 -D mycount@1=0 -D mycount@2=3 -o "$bin"
run fixed_values 0 'verified: all 3 cases' 3 --root all --count 1 "$bin"
run values 0 verified 3 --count 1 -D counts=2,0,3 -D displs=4,90,0 -D mycount@0=2 -D mycount@1=0 -D mycount@2=3 \
	schedules/gatherv_linear.goal
mutant own_block gatherv_linear 's/copy mine into all.*/nop/' 1 'result is wrong' 3 --sample uneven

# A result of one's own, with a part that nobody claims.
cat >"$TMP/own.goal" <<'END'
schedule pairs
buffer in mine[2 * count]
buffer out sum[2 * count]
buffer scratch theirs[count]
result {
  if r xor 1 < p {
    sum[0 +: count] gets mine[0 +: count] of min(r, r xor 1)
    sum[0 +: count] gets mine[0 +: count] of max(r, r xor 1)
  } else {
    sum gets mine of r
  }
}
rank r of p {
  own: copy mine into sum
  if r xor 1 < p {
    send mine[0 +: count] to r xor 1
    got: recv theirs from r xor 1
    if r & 1 {
      add: reduce theirs into sum[0 +: count]
    } else {
      add: reduce sum[0 +: count] with theirs into sum[0 +: count]
    }
    add requires got, own
  }
}
END
run own_result 0 'verified: all 6 cases' 5 --op sum,user --count 0,1,70 "$TMP/own.goal"
sed 's/if r & 1 {/if r \& 1 == 0 {/' "$TMP/own.goal" >"$TMP/own_order.goal"
run own_result_order 1 'byte 0 of sum: the result is wrong' 2 --op user "$TMP/own_order.goal"
run no_sample 1 'no sample of arguments called even' 2 --sample even "$TMP/own.goal"
run in_place 0 'verified: all 4 cases' 4 --sample all --op user,max schedules/scan_chain.goal
mutant in_place_lost scan_chain 's/^\( *\)own: copy mine into sum/\1own: nop/' 1 'result is wrong' 2 --sample apart
finish
