#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares the verifier of lowered schedules with executions: three starts of each rank, packets in random orders, and each
# arrival, start and completion once as late as possible. What the verifier accepts must leave the right bytes; mutants that do
# not must be rejected. Half of the schedules run at one size of 2 to 4 ranks with mutants, under default or tight limits, and at
# one size of 5 or 6 ranks without, in turn. SWEEP=all runs each schedule at each size under both limits, up to 9 ranks. MOST=n: n
# mutants of a schedule at a size. ORDERS=n: n random orders of each. JOBS=n: n processes at a time. LIMIT=n: n seconds for each.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1
: "${MOST:=6}" "${SWEEP:=turns}" "${ORDERS:=5}" "${JOBS:=$(nproc)}" "${LIMIT:=900}"
export BUILD LIMIT TMP

one()
{
	timeout "$LIMIT" "$BUILD/tests/queues/queues" -n "$1" -m "$2" -s "$3" -T "$4" "$5" >"$TMP/$1.$6.$(basename "$5" .goal).mut" 2>&1
	echo "exit status $?" >>"$TMP/$1.$6.$(basename "$5" .goal).mut"
}
export -f one

usual=lower-smcq:assist=1
tight='segment:size=2;lower-smcq:assist=1,sps=2,length=7,cqs=256,post=1'
armw='fuse;lower-smcq:op=sum,type=int32'
gets='segment:size=2;lower-smcq:assist=1,get=1,cqs=256,length=7'
posts=lower-smcq:assist=1,post=1
turn=0
largest=$([ "$SWEEP" = all ] && echo 9 || echo 6)
due() { [ "$SWEEP" = all ] || [ $((turn % $1)) -eq "$2" ]; }
for s in schedules/*.goal; do
	turn=$((turn + 1))
	[ "$SWEEP" = all ] || [ $((turn / 4 % 2)) -eq 0 ] || continue # four in turn, so that each has another remainder below
	for n in 2 3 4; do
		due 3 $((n - 2)) || continue
		! due 2 $((n % 2)) || echo "$n $MOST $ORDERS $usual $s usual"
		! due 2 $(((n + 1) % 2)) || echo "$n $MOST $ORDERS $tight $s tight"
		! due 2 $(((n / 2) % 2)) || echo "$n $MOST $ORDERS $gets $s gets"
		case $s in *reduce* | *scan*) ! due 2 $((n % 2)) || echo "$n $MOST $ORDERS $armw $s armw" ;; esac
	done
	for ((n = 5; n <= largest; n++)); do
		! due $((2 * largest - 8)) $((n - 5)) || echo "$n 0 2 $usual $s whole"
		! due $((2 * largest - 8)) $((n + largest - 9)) || echo "$n 0 2 $usual,get=1 $s whole_gets"
	done
done >"$TMP/list"
for n in 2 3; do
	echo "$n 390 $ORDERS $posts tests/queues/nobody.goal posts" # small enough for all mutants there are
	echo "$n $MOST $ORDERS $posts tests/queues/alone.goal posts"
done >>"$TMP/list"
xargs -P "$JOBS" -n 6 bash -c 'one "$@"' one <"$TMP/list"

verdicts queues.mutants
grep -h '^schedules' "$TMP"/*.mut | awk '
	{ for (i = 3; i <= 7; i++) sum[i] += $i }
	END {
		printf "# %d mutants, %d went wrong in execution, %d rejected, of which %d without an observed failure; %d executions\n",
			sum[3], sum[4], sum[5], sum[6], sum[7]
	}'
grep -h '^# rejected, and' "$TMP"/*.mut | awk '{ n[$9] += $7 } END { for (k in n) printf "#   %d of %s\n", n[k], k }'
finish
