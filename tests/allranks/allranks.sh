#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# goalc --verify -n all. First the sites that proofs are about are compared with the ops of specialised ranks. Then schedules are
# proved, and schedules that are wrong only at sizes that nobody samples are refused. SWEEP=all proves every schedule that can
# be proved, and tries all faults of faults.txt; make allranks does that.
set -u
. "$(dirname "$0")/../lib.sh"
export BUILD
cd "$ROOT" || exit 1

# ---- the sites are the program's ----

# These schedules are translated, so each has to be equal. Others say why they are not.
TRANSLATED='allgather_bruck allgather_linear allgather_ring allreduce_ring alltoall_linear alltoall_pairwise barrier_dissemination
	barrier_tree bcast_binomial bcast_chain bcast_linear bcast_scatter_allgather exscan_binomial exscan_chain gather_binomial
	gather_linear reduce_chain reduce_scatter_block_pairwise reduce_scatter_block_ring scan_binomial scan_chain
	scatter_binomial scatter_linear'
"$BUILD/tests/allranks/evaluate" schedules/*.goal >"$TMP/evaluated"
check "allranks.evaluate $(grep -m 1 FAIL "$TMP/evaluated")" [ -z "$(grep FAIL "$TMP/evaluated")" ]
for s in $TRANSLATED; do
	check "allranks.evaluate.$s $(grep -m 1 "/$s" "$TMP/evaluated")" grep -q "^ok schedules/$s.goal: " "$TMP/evaluated"
done

# ---- usage ----

# refuses NAME TEXT ARGS... : wrong usage, with this text
refuses()
{
	local name=$1 text=$2

	shift 2
	goalc "$@" >"$TMP/out" 2>&1
	check "allranks.$name" [ $? -eq 2 ]
	check "allranks.$name.text $(head -n 1 "$TMP/out")" grep -qF -- "$text" "$TMP/out"
}
refuses compile 'all is for --verify' schedules/bcast_linear.goal -n all -o "$TMP/x.bin"
refuses define '-n all does not go with' --verify -n all -D root=1 schedules/bcast_linear.goal
refuses smt 'go with -n all' --verify --smt "$TMP" schedules/bcast_linear.goal

# ---- proofs ----

# The line that cannot be translated is named, and what was verified is printed all the same.
goalc --verify -n all schedules/bcast_knomial.goal >"$TMP/out" 2>"$TMP/err"
check allranks.fallback [ $? -eq 1 ]
check "allranks.fallback.text $(cat "$TMP/out")" grep -q '^bcast_knomial: not proved for every number of ranks: .*bcast_knomial.goal:[0-9]*: ' "$TMP/out"
check allranks.fallback.some grep -q '^bcast_knomial: proved for 1-17' "$TMP/out"

PATH=/nonexistent "$GOALC" --verify -n all schedules/bcast_linear.goal >"$TMP/out" 2>&1
check "allranks.no_solver $(tail -n 1 "$TMP/out")" grep -q 'there is no solver: install cvc5 or z3' "$TMP/out"

command -v cvc5 >/dev/null || command -v z3 >/dev/null || { skip "allranks.proofs neither cvc5 nor z3 is installed"; finish; }

# The bound of goalc() is on what it computes itself.
every() { timeout 900 "$GOALC" --verify -n all "$@" >"$TMP/out" 2>"$TMP/err"; }

# proves SCHEDULE OPTIONS... : it is proved
proves()
{
	every "schedules/$1.goal" "${@:2}"
	check "allranks.proves.$1" [ $? -eq 0 ]
	check "allranks.proves.$1.text" grep -q "^$1: proved for every number of ranks below 2^31 (" "$TMP/out"
}

# refused NUMBER SCHEDULE EXPRESSION : the text, with what it imports, changed by this expression of sed is not proved; counted is
# whether the verifier confirms the counterexample
CONFIRMED=0 FAULTS=0
refused()
{
	rm -rf "$TMP/faulty" && mkdir "$TMP/faulty" && cp -r "schedules/$2.goal" schedules/lib "$TMP/faulty"
	sed -i "$3" "$TMP/faulty/$2.goal" "$TMP"/faulty/lib/*.goal
	if cmp -s "$TMP/faulty/$2.goal" "schedules/$2.goal" && diff -r "$TMP/faulty/lib" schedules/lib >/dev/null; then
		fail "allranks.fault.$1 the expression changes nothing: $3"
		return
	fi
	every --solver-time 30 "$TMP/faulty/$2.goal"
	check "allranks.fault.$1 $2 $3" [ $? -eq 1 ]
	FAULTS=$((FAULTS + 1))
	if grep -q 'and so does the schedule' "$TMP/out" || [ -s "$TMP/err" ]; then
		CONFIRMED=$((CONFIRMED + 1))
	else
		echo "# fault $1 is not confirmed: $(tail -n 2 "$TMP/out" | tr '\n' ' ')"
	fi
}

n=0
while IFS=$'\t' read -r schedule expression; do
	[ -n "$schedule" ] && [ "${schedule#\#}" = "$schedule" ] || continue
	n=$((n + 1))
	if [ "${SWEEP:-}" = all ] || [ $n -le 2 ]; then
		refused $n "$schedule" "$expression"
	fi
done <tests/allranks/faults.txt
check "allranks.confirmed $CONFIRMED of $FAULTS" [ $((CONFIRMED * 10)) -ge $((FAULTS * 8)) ]

# agrees SCHEDULE : it is proved, and no solver contradicts an obligation, also of those that were settled without one
agrees()
{
	local f n=0

	rm -rf "$TMP/smt" && mkdir "$TMP/smt"
	proves "$1" --smt "$TMP/smt"
	for f in "$TMP"/smt/*.smt2; do
		n=$((n + $(grep -c '^; line [0-9]*: ' "$f")))
		{ timeout 10 cvc5 --lang=smt2 "$f" || timeout 10 z3 -smt2 "$f"; } 2>/dev/null | head -n 1 >>"$TMP/answers"
	done
	check "allranks.smt.$1" [ "$n" -ge 4 ]
	check "allranks.smt.$1.agrees" [ "$(grep -c '^sat' "$TMP/answers")" -eq 0 ]
}

if [ "${SWEEP:-}" = all ]; then
	PROVED='allgather_bruck allgather_linear allgather_ring allreduce_ring alltoall_linear alltoall_pairwise
		barrier_dissemination barrier_tree bcast_binomial bcast_chain bcast_scatter_allgather exscan_binomial exscan_chain
		gather_linear reduce_chain reduce_scatter_block_ring scan_binomial scan_chain scatter_linear'
	for s in $PROVED; do
		agrees "$s"
	done
fi
proves scan_chain
agrees bcast_linear
check "allranks.smt.settled $(sort "$TMP/answers" | uniq -c | tr '\n' ' ')" grep -q '^unsat' "$TMP/answers"
finish
