#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The calls of the library, through its shared object.
set -u
. "$(dirname "$0")/../lib.sh"
program rt 300 "$BUILD/tests/rt-cases"
program rt.sizes 300 "$BUILD/tests/rt-sizes"
program moved 120 "$BUILD/tests/rt-moved"
# What only happens to ranks that spin, that have threads, or that are on several nodes.
GOAL_SHM_DIRECT=0 GOAL_WAIT=spin program rt.spins 60 "$BUILD/tests/rt-cases" rebind_sender
GOAL_PROGRESS=thread KINDS=processes program rt.threads 60 "$BUILD/tests/rt-cases" child_frees child_frees_group
TEAM_NODES=2 KINDS=processes program rt.nodes 60 "$BUILD/tests/rt-cases" other_groups
why=$("$BUILD/tests/rt-moved" why)
program huge 120 "$BUILD/tests/rt-huge" ${why:+"$why"}
# Ranks that may not read each other's memory never do, whatever buffers they rebind to. On one core they take turns. The check for
# leaks cannot run in a traced process.
if can_trace rt.staged_only; then
	GOAL_SHM_DIRECT=0 ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 taskset -c "$(first_cpu)" timeout 120 \
		strace -f -o "$TMP/calls" -e trace=process_vm_readv,process_vm_writev "$BUILD/tests/rt-cases" rebind >"$TMP/out" 2>&1
	check rt.staged_only [ $? -eq 0 -a "$(grep -c process_vm_ "$TMP/calls")" -eq 0 ]
fi
# Of a long message from private memory the third epoch tries slots, but not beside a long copy of the receiver's own block. Calls for
# 8 bytes only find out whether the kernel allows them.
if can_trace rt.tried_long; then
	for case in bcast_linear:2 gather_linear:3; do
		ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 timeout 120 strace -f -o "$TMP/calls" \
			-e trace=process_vm_readv,process_vm_writev "$BUILD/bin/goalrun" -n 2 --warmup 0 --iters 3 \
			--memory private --type double --count 1048576 "$ROOT/schedules/${case%:*}.goal" >"$TMP/out" 2>&1
		check "rt.tried_long.${case%:*}" awk -v "epochs=${case#*:}" '/process_vm/ && $NF > 8 { n += $NF }
			END { exit n != epochs * 8388608 }' "$TMP/calls"
	done
fi
# Where userfaultfd is forbidden, memory stays where it is.
if can_trace moved.forbidden; then
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 timeout 120 strace -f -o "$TMP/calls" -e trace=userfaultfd \
		-e inject=userfaultfd:error=EPERM "$BUILD/bin/goalrun" -n 2 --verify --stats --iters 3 --memory moved --count 100000 \
		"$ROOT/schedules/allreduce_linear.goal" >"$TMP/out" 2>&1
	check "moved.forbidden $(tail -n 1 "$TMP/out")" awk '/moved bytes$/ { on = 1; next } on && NF == 6 { n++; bad += $6 }
		/^verified: all 1 case right/ { right = 1 } END { exit n != 2 || bad || !right }' "$TMP/out"
fi

# lie NAME RANKS TEXT [NAME=V,V]... : the schedule on standard input has buffers of its collective's sizes for a count of 63
# and others for 64: it is refused, with TEXT, as a text, as what goalc makes of that, and as what it makes for so many ranks
lie()
{
	local name=$1 ranks=$2 text=$3 form forms=(text parametric)

	shift 3
	cat >"$TMP/text"
	goalc "$TMP/text" -o "$TMP/parametric"
	if [ "$ranks" -gt 0 ]; then
		forms+=(concrete)
		goalc "$TMP/text" -n "$ranks" -o "$TMP/concrete"
	fi
	for form in "${forms[@]}"; do
		check "rt.lie.$name.$form" timeout 60 "$BUILD/tests/rt-sizes" lies "$TMP/$form" 64 "$text" "$@"
	done
}
lie bcast 2 'the buffer data has 4096 elements, in MPI_Bcast it has 64' <<-'END'
	schedule s(root = 0) implements MPI_Bcast
	buffer inout data[count + 4032 * (count == 64)]
	rank r of p { if r == root { for i = 1 to p - 1 { send data to (r + i) mod p } } else { recv data from root } }
END
# A file of the current directory comes before the installed schedule of that name.
cp "$TMP/text" "$TMP/bcast_binomial.goal"
check rt.own_file sh -c 'cd "$1" && timeout 60 "$2" lies bcast_binomial.goal 64 "the buffer data has 4096 elements"' sh "$TMP" \
	"$BUILD/tests/rt-sizes"
lie gather 2 'rank 0: the buffer all has 129 elements, in MPI_Gather it has 128' <<-'END'
	schedule s(root = 0) implements MPI_Gather
	buffer in mine[count]
	buffer out all[r == root ? p * count + (count == 64) : 0]
	rank r of p { send mine to root
	  if r == root { for i = 0 to p - 1 { recv all[i * count +: count] from i } } }
END
lie gatherv 0 'the buffer all has 10 elements, in MPI_Gatherv it has 9' mycount=3 counts=3,3 displs=0,6 <<-'END'
	schedule s(root = 0, local mycount, rootonly counts[p], rootonly displs[p]) implements MPI_Gatherv
	buffer in mine[mycount]
	buffer out all[r == root ? extent(counts, displs) + (count == 64) : 0]
	rank r of p { send mine to root
	  if r == root { for i = 0 to p - 1 { recv all[displs[i] +: counts[i]] from i } } }
END
lie neighbors 0 'the buffer all has 129 elements, in MPI_Neighbor_allgather it has 128' \
	indegree=2 outdegree=2 sources=0,1 destinations=0,1 <<-'END'
	schedule s(local indegree, local outdegree, local sources[indegree], local destinations[outdegree]) implements MPI_Neighbor_allgather
	buffer in mine[count]
	buffer out all[indegree * count + (count == 64)]
	rank r of p { for j = 0 to indegree - 1 { recv all[j * count +: count] from sources[j] }
	  for j = 0 to outdegree - 1 { send mine to destinations[j] } }
END
finish
