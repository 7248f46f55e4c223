#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Lets one allocation fail in each run, under the address sanitizer: goalc must return an error, without a crash or a leak.
# SWEEP=all (make alloc) tries each of the first 40 allocations and a sample of the others; without it, one in four of these is
# tried. HOOKED names an existing build with HOOK=1.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1
hooked=${HOOKED:-$BUILD-alloc}
if [ "${SWEEP:-}" = all ]; then step=1 part=12 least=10; else step=4 part=3 least=2; fi
sweeps=0
if [ -z "${HOOKED:-}" ] && ! timeout 600 make --no-print-directory -j"$(nproc)" BUILD="$hooked" HOOK=1 CFLAGS="-O1 -g" \
	SAN="-fsanitize=address,undefined -fno-sanitize-recover=all" all "$hooked/tests/nomem" >"$TMP/log" 2>&1; then
	fail "alloc.build $(grep error "$TMP/log" | head -n 1)"
	finish
fi

# sweep NAME COMMAND...: the n-th allocation fails, until there is none; then the command succeeds.
sweep()
{
	local name=$1 n=$((1 + sweeps++ % step)) rc failed=0

	shift
	while :; do
		rm -f "$TMP/unused"
		GOAL_FAIL_ALLOC=$n GOAL_FAIL_UNUSED=$TMP/unused timeout 60 "$@" >"$TMP/out" 2>"$TMP/err"
		rc=$?
		if [ $rc -gt 2 ] || grep -q 'Sanitizer\|runtime error' "$TMP/err"; then
			fail "alloc.$name allocation $n: status $rc $(grep -m 1 'ERROR\|error' "$TMP/err")"
			return
		fi
		if [ $rc -ne 0 ]; then
			failed=$((failed + 1))
			[ -s "$TMP/err" ] || { fail "alloc.$name allocation $n: no message"; return; }
		fi
		[ -e "$TMP/unused" ] && break
		n=$((n < 40 ? n + step : n + n / part))
	done
	if [ $failed -gt $least ]; then ok "alloc.$name $failed runs failed as they should"; else
		fail "alloc.$name only $failed runs failed"; fi
}
g=$hooked/bin/goalc
sweep one_pass "$g" tests/samples/linbarrier8.goal -o "$TMP/o.bin"
sweep plain "$g" tests/samples/linbarrier8.goal -g -o "$TMP/o.bin"
sweep parametric "$g" schedules/bcast_binomial.goal -g -o "$TMP/o.bin"
sweep concrete "$g" schedules/bcast_binomial.goal -n 3 -T reduce-deps -o "$TMP/o.bin"
sweep global "$g" schedules/neighbor_alltoall_graph.goal -n 3 -D indegree=6 -D outdegree=6 -D sources=0,1,2,0,1,2 \
	-D destinations=2,1,0,2,1,0 -D count=5 -T 'coalesce:most=8;sparse-rounds' -o "$TMP/o.bin"
sweep reorder "$g" schedules/reduce_binomial.goal -n 3 -D root=0 -D count=5 -T 'reorder' -o "$TMP/o.bin"
sweep lower "$g" schedules/reduce_binomial.goal -n 4 -D root=0 -D count=9 -T 'segment:size=4;lower-smcq:assist=1,sps=2,length=7' \
	-o "$TMP/l.bin"
sweep queues "$g" --emit=json "$TMP/l.bin"
sweep dot "$g" --emit=dot "$TMP/l.bin"
sweep promela "$g" --emit=promela "$TMP/l.bin"
sweep queue_stats "$g" --stats "$TMP/l.bin"
sweep verify_queues "$g" --verify "$TMP/l.bin"
"$g" schedules/reduce_binomial.goal -T 'segment:size=2;fuse:wait=1;reduce-deps;split-tree:S=auto,cores=9;odd-even' -o "$TMP/p.bin"
sweep passes "$g" --dump -n 4 -D count=5 "$TMP/p.bin"
sweep hierarchy "$g" schedules/allreduce_recursive_doubling.goal -T 'fuse;hierarchy:ranks=1.2' -o "$TMP/o.bin"
echo 'MPI_Bcast any any any any -> bcast_knomial.goal -D k=3 -T reduce-deps' >"$TMP/table"
sweep select "$g" --select MPI_Bcast -n 3 --table "$TMP/table"
sweep check_table "$g" --check-table "$TMP/table" --partial -n 2
sweep run_selected "$hooked/bin/goalrun" -n 2 --select MPI_Bcast --count 3 --iters 1 --warmup 0 --table "$TMP/table"
sweep model "$g" --model split-tree --cores 9 --svg "$TMP/o.svg"
sweep stats "$g" --stats tests/samples/recd8.goal
sweep emit "$g" --emit=goal tests/samples/recd8.goal
sweep dump "$g" --dump -n 3 schedules/bcast_binomial.goal
sweep verify "$g" --verify -n 3 -D count=7 schedules/allreduce_recursive_doubling.goal
sweep refute "$g" --verify tests/verify/transpose_bad.goal -n 3 -D count=7
sweep verify_values "$g" --verify tests/verify/range_ok.goal -n 2-3 -D k=1-2 -D count=3
HWLOC_SYNTHETIC='numa:2 core:4 pu:1' sweep placement "$hooked/bin/goalrun" -n 6 --show-placement --placement odd-even
"$g" schedules/bcast_binomial.goal -o "$TMP/b.bin"
sweep run "$hooked/bin/goalrun" -n 2 --verify --iters 1 --warmup 0 --count 3 -D root=1 --memory private,heap \
	"$TMP/b.bin"
sweep run_fused "$hooked/bin/goalrun" -n 2 --verify --iters 1 --warmup 0 --count 3,1000 --op user -D root=1 -T fuse:wait=1 \
	schedules/reduce_binomial.goal
sweep trace "$hooked/bin/goalrun" -n 2 --iters 1 --warmup 0 --count 3 --trace "$TMP/o.paje" "$TMP/b.bin"
if GOAL_SELECT=$TMP/table timeout 300 "$hooked/tests/nomem" >"$TMP/out" 2>&1; then
	ok "alloc.bind $(head -n 3 "$TMP/out" | tr "\n" " ")"
else
	fail "alloc.bind $(tail -n 3 "$TMP/out" | tr '\n' ' ')"
fi
finish
