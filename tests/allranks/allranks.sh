#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# goalc --verify -n all. First the sites that proofs are about are compared with the ops of specialised ranks. Then schedules are
# proved, and schedules that are wrong only at sizes that nobody samples are refused. SWEEP=all proves every schedule that can
# be proved, and tries all faults of faults.txt and at most MOST faults of faults.awk for each schedule; make allranks does that.
set -u
. "$(dirname "$0")/../lib.sh"
: "${MOST:=20}"
export BUILD
cd "$ROOT" || exit 1

# ---- the sites are the program's ----

# What schedules(7) lists is proved. These schedules are translated, so each has to be equal. The rest say why they are not.
PROVED=$(awk '/goal-proof 7 :/ { on = 1 } /^\.Pp/ { on = 0 } on && /^\.Cm/ { print $2 }' man/schedules.7)
check "allranks.listed $(wc -w <<<"$PROVED")" [ "$(wc -w <<<"$PROVED")" -ge 33 ]
"$BUILD/tests/allranks/evaluate" schedules/*.goal >"$TMP/evaluated"
check "allranks.evaluate $(grep -m 1 FAIL "$TMP/evaluated")" [ -z "$(grep FAIL "$TMP/evaluated")" ]
for s in $PROVED; do
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

# refused NAME SCHEDULE EXPRESSION [PARTS] : the text changed by this expression of sed, with PARTS also the texts that it may import,
# is not proved, unless it means the same. Counted is whether the verifier confirms the counterexample.
CONFIRMED=0 FAULTS=0 SAME=0
refused()
{
	rm -rf "$TMP/faulty" && mkdir "$TMP/faulty" && cp -r "schedules/$2.goal" schedules/lib "$TMP/faulty"
	sed -i "$3" "$TMP/faulty/$2.goal" ${4:+"$TMP"/faulty/lib/*.goal}
	if cmp -s "$TMP/faulty/$2.goal" "schedules/$2.goal" && diff -r "$TMP/faulty/lib" schedules/lib >/dev/null; then
		fail "allranks.fault.$1 the expression changes nothing: $3"
		return
	fi
	every --solver-time "$SOLVER_TIME" "$TMP/faulty/$2.goal"
	if [ $? -eq 0 ] && right "$TMP/faulty/$2.goal"; then
		SAME=$((SAME + 1))
		return
	fi
	check "allranks.fault.$1 $2 $3" grep -q ': not proved for every number of ranks: ' "$TMP/out"
	FAULTS=$((FAULTS + 1))
	if grep -q 'and so does the schedule' "$TMP/out" || [ -s "$TMP/err" ]; then
		CONFIRMED=$((CONFIRMED + 1))
	else
		echo "# fault $1 is not confirmed: $3: $(tail -n 2 "$TMP/out" | tr '\n' ' ')"
	fi
}

# right FILE : the verifier finds nothing wrong at sizes where faults of faults.awk show
right()
{
	local size root count roots=-

	grep -q '(root = ' "$1" && roots='99 71'
	for size in 100 128 200; do
		for root in $roots; do
			for count in 1 $((1 << 20)); do
				[ "$root" = - ] || set -- "$1" -D root="$root"
				goalc --verify -n $size -D count=$count "$@" >/dev/null 2>&1 || return
			done
		done
	done
}

SOLVER_TIME=30 n=0
while IFS=$'\t' read -r schedule expression; do
	[ -n "$schedule" ] && [ "${schedule#\#}" = "$schedule" ] || continue
	n=$((n + 1))
	if [ "${SWEEP:-}" = all ] || [ $n -le 2 ]; then
		refused $n "$schedule" "$expression" parts
	fi
done <tests/allranks/faults.txt

if [ "${SWEEP:-}" = all ]; then
	SOLVER_TIME=10
	for s in $PROVED; do
		awk -f tests/allranks/faults.awk "schedules/$s.goal" "schedules/$s.goal" >"$TMP/faults"
		# A prime spreads them over lines and conditions.
		while read -r n expression; do
			refused "$s.$n" "$s" "$expression"
		done < <(awk -v all="$(wc -l <"$TMP/faults")" -v most="$MOST" 'NR * 7919 % all < most { print NR, $0 }' "$TMP/faults")
	done
	echo "# $FAULTS faults, $CONFIRMED confirmed by the verifier; $SAME changes mean the same"
fi
check "allranks.confirmed $CONFIRMED of $FAULTS" [ $((CONFIRMED * 10)) -ge $((FAULTS * 8)) ]

# ---- what the solvers are asked ----

# answer SOLVER [SECONDS] : what the obligation on stdin is
answer()
{
	case $1 in
	cvc5) cvc5 --lang smt2 --tlimit="${2:-3}000" - ;;
	z3) z3 -smt2 -T:"${2:-3}" -in ;;
	esac 2>/dev/null | grep -xE -m 1 'sat|unsat'
}

# asked DIR NAME : no solver contradicts an obligation of a proved schedule, also of those that were settled without a solver
asked()
{
	local file answer agree=0 wrong=''

	for file in "$1"/*.smt2; do
		for answer in $(answer cvc5 <"$file") $(answer z3 <"$file"); do
			[ "$answer" = unsat ] && agree=$((agree + 1)) || wrong+=" ${file##*/}"
		done
	done
	check "allranks.asked.$2 $agree answers$wrong" [ -z "$wrong" -a $agree -ge 4 ]
}

# met DIR NAME : what the terms of an obligation mean can be met; otherwise it would be proved whatever it says
met()
{
	local file met n=0 wrong=''

	for file in "$1"/*.smt2; do
		n=$((n + 1))
		{ sed '/^; the hypotheses/,$d' "$file"; echo '(check-sat)'; } >"$TMP/terms"
		met=$(answer "$SOLVER" <"$TMP/terms")
		[ "${met:-$(answer "$SOLVER" 100 <"$TMP/terms")}" = sat ] || wrong+=" ${file##*/}"
	done
	check "allranks.met.$2 $n$wrong" [ $n -gt 0 -a -z "$wrong" ]
}

# models DIR NAME SIZE... : what the text in integers states about powers and bits is true: values of the variables that meet the
# hypotheses in vectors, at these numbers of ranks, meet them in integers as well.
models()
{
	local dir=$1 name=$2 file bits vars size width n=0 wrong=''

	shift 2
	for file in "$dir"/*-integers.smt2; do
		bits=${file%-integers.smt2}.smt2
		vars=$(sed -n 's/^; \(t[0-9]*\) is .*/\1/p' "$bits" | tr '\n' ' ')
		width=$(sed -n 's/^(declare-const t0 (_ BitVec \([0-9]*\)))/\1/p' "$bits")
		for size in "$@"; do
			{
				grep -vE '^\((assert \(not |check-sat|get-value)' "$bits"
				echo "(assert (= t0 (_ bv$size $width))) (check-sat) (get-value ($vars))"
			} | z3 -in -T:20 >"$TMP/model" 2>&1
			[ "$(head -n 1 "$TMP/model")" = sat ] || continue
			{
				grep -vE '^\((assert \(not |check-sat)' "$file"
				sed -nE 's/.*\((t[0-9]+) #b([01]+)\).*/\1 2#\2/p; s/.*\((t[0-9]+) #x([0-9a-f]+)\).*/\1 16#\2/p' "$TMP/model" |
					while read -r var value; do grep -q "^; $var is" "$file" && echo "(assert (= $var $((value >> (width - 1) ? value - (1 << width) : value))))"; done
				echo '(check-sat)'
			} >"$TMP/integers"
			n=$((n + 1))
			[ "$(answer z3 200 <"$TMP/integers")" = sat ] || wrong+=" ${file##*/}:$size"
		done
	done
	check "allranks.models.$name $n$wrong" [ $n -gt 0 -a -z "$wrong" ]
}

# proves SCHEDULE : it is proved
proves()
{
	mkdir "$TMP/$1"
	every --smt "$TMP/$1" "schedules/$1.goal"
	check "allranks.proves.$1" [ $? -eq 0 ]
	check "allranks.proves.$1.text" grep -q "^$1: proved for every number of ranks below 2^31 (" "$TMP/out"
}

# What is proved is recorded, and a proof for some sizes takes its place. A binary on stdout is alone there.
RECORD='^proved for 1-2147483647 ranks, by [0-9]* obligations with the sum [0-9a-f]{16}$'
every schedules/scatter_linear.goal -o "$TMP/all.bin"
check allranks.record grep -qE "$RECORD" <(goalc --dump "$TMP/all.bin")
goalc --verify -n all schedules/scatter_linear.goal -o - 2>"$TMP/err" | cmp -s - "$TMP/all.bin"
check allranks.record.stdout [ $? -eq 0 ]
check allranks.record.stderr grep -q '^scatter_linear: proved for every number of ranks' "$TMP/err"
goalc --verify -n 3 "$TMP/all.bin" -o "$TMP/some.bin" >"$TMP/out"
check allranks.record.replaced grep -qx 'proved for 3 ranks' <(goalc --dump "$TMP/some.bin")
sed 's/for k = 1 to p - 1 {/for k = 1 to p - 1 - (p > 64) {/' schedules/scatter_linear.goal >"$TMP/wrong.goal"
every "$TMP/wrong.goal" -o "$TMP/wrong.bin"
check allranks.record.wrong [ $? -eq 1 -a ! -e "$TMP/wrong.bin" ]

SOLVER=$(command -v cvc5 >/dev/null && echo cvc5 || echo z3)
ASKED=bcast_linear
if [ "${SWEEP:-}" = all ]; then
	ASKED+=' bcast_chain bcast_binomial scan_chain exscan_chain scatter_linear'
else
	PROVED="$ASKED bcast_binomial"
fi
for s in $PROVED; do
	proves "$s"
done
for s in $ASKED; do
	asked "$TMP/$s" "$s"
done
for s in $PROVED; do
	met "$TMP/$s" "$s"
done
if command -v z3 >/dev/null; then
	if [ "${SWEEP:-}" = all ]; then
		for s in $PROVED; do
			case $s in # powers, bits and halves: larger groups show more of them
			*_recursive_doubling | *_recursive_halving | *_rabenseifner | *_exchange) models "$TMP/$s" $s 5 14 1000 ;;
			*) models "$TMP/$s" $s 6 13 100 ;;
			esac
		done
	else
		models "$TMP/bcast_binomial" bcast_binomial 6 13
	fi
fi
finish
