#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares the verifier with spin: lowered schedules of the library, and mutants of them, as Promela programs (goalc
# --emit=promela) of which spin explores all orders, with three starts of each rank. The verifier must reject all that spin finds
# wrong. What only the verifier rejects is listed, and may be at most 2 % of the mutants. Programs for which spin needs more than
# LIMIT seconds or 4 GiB are named.
#
# SIZES: numbers of ranks. MUTATED: those of 2 and 3 ranks of which there are mutants, MUTANTS in all. SCHEDULES: the schedules.
# JOBS: number of programs at a time. KEEP=DIR: leaves the programs and the output of spin there.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1
: "${SIZES:=3}" "${MUTATED:=3}" "${MUTANTS:=24}" "${SCHEDULES:=$SOME}" "${LIMIT:=10}" "${JOBS:=$(nproc)}"
for tool in spin tcc gcc; do
	command -v $tool >/dev/null || { skip "promela $tool is not installed"; finish; }
done

# The usual lowering, and what makes pieces, signals of signals, and queues that the rank fills.
usual=lower-smcq:assist=1
pieces='segment:size=2;lower-smcq:assist=1,sps=2,length=7,cqs=256'
tight=lower-smcq:assist=1,sps=2,cqs=256,post=1
armw='fuse;lower-smcq:op=sum,type=int32'
gets=lower-smcq:assist=1,get=1,cqs=256

# print SCHEDULE RANKS LOWERING MUTANTS [MOST] : the models, and a line for each; or only so many
print()
{
	mkdir -p "$TMP/$3"
	"$BUILD/tests/queues/queues" -p "$TMP/$3" -n "$2" -m "$4" -T "${!3}" "schedules/$1" >"$TMP/lines" &&
		head -n "${5:-100000}" "$TMP/lines" >>"$TMP/list" || fail "promela.$1.$2.$3 $(head -n 1 "$TMP/lines")"
}
for s in $SCHEDULES; do
	for n in $(fitting "$s" $SIZES); do
		some=$([[ " $MUTATED " = *" $n "* ]] && echo 8 || echo 0)
		case $n.$s in 3.*reduce* | 3.*scan*) print "$s" 3 armw "$some" ;; esac
		case $n in
		2) print "$s" 2 pieces "$some" && print "$s" 2 gets "$some" ;;
		3) print "$s" 3 usual "$some" && print "$s" 3 tight "$some" && print "$s" 3 gets "$some" ;;
		4 | 5) print "$s" "$n" usual 0 1 ;; # the first sample of arguments
		*) skip "promela.$s is for $n ranks at least, too many for spin" ;;
		esac
	done
done

# Of models that are the same, one, which stands for all; and of the mutants so many as asked for.
cut -f 1 "$TMP/list" | xargs sha256sum | cut -d ' ' -f 1 | paste "$TMP/list" - |
	awk -F '\t' '{ k = $6 ($2 == "-") } !seen[k]++' >"$TMP/distinct"
awk -F '\t' -v most="$MUTANTS" -v all="$(cut -f 2 "$TMP/distinct" | grep -vc '^-$')" '
	$2 == "-" { more[++m] = $0; next }
	int(++n * most / all) > int((n - 1) * most / all)
	END { for (i = 1; i <= m; i++) print more[i] }' "$TMP/distinct" >"$TMP/todo"

# pan SECONDS COMPILER... : spin's verdict of model.pml, with the property that fails; fails if it has none
pan()
{
	local seconds=$1

	shift
	"$@" -w -DSAFETY -DNOREDUCE -DMEMLIM=4096 -o pan pan.c >out 2>&1 && (ulimit -t "$seconds"; exec ./pan -m200000 -w18) >out 2>&1
	if grep -qE 'search depth too small|MEMLIM|out of memory' out; then return 1
	elif grep -q 'errors: 0$' out; then printf 'accepted\t-\n'
	else
		sed -n -e '/^pan:1: /!d' -e 's///' -e 's/^assertion violated (\([A-Z]*\)&&.*/rejected\t\1/' \
			-e 's/^invalid end state.*/rejected\tDEADLOCK/' -e p out | grep '^rejected'
	fi
}

# try MODEL : its verdict, beside it; first with the compiler that is faster than its code
try()
{
	mkdir "$1.d" && cd "$1.d" || return
	{ spin '-Ptcc -E -x c' -a "$1" >out 2>&1 && { pan 2 tcc || pan "$LIMIT" gcc -O2; } || printf 'unfinished\t-\n'; } >"$1.verdict"
	rm -rf "$1.d"
}
export -f try pan
export LIMIT
cut -f 1 "$TMP/todo" | xargs -P "$JOBS" -n 1 bash -c 'try "$1"' try 2>/dev/null # which spin runs out of time

# 1 model, 2 kind of mutant or -, 3 verifier, 4 what it is, 5 why, 6 sum, 7 spin, 8 property
cut -f 1 "$TMP/todo" | while read -r model; do cat "$model.verdict"; done | paste "$TMP/todo" - >"$TMP/all"
[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && cp -r "$TMP"/*/ "$TMP/all" "$KEEP"; }

while IFS=$'\t' read -r model kind verifier what why _ spin property; do
	name=$(basename "$(dirname "$model")").$(basename "$model" .pml)
	case $kind.$verifier.$spin in
	-.accepted.accepted) ok "promela.$name" ;;
	-.accepted.unfinished) skip "promela.$name is too large for spin" ;;
	-.* | *.accepted.rejected) fail "promela.$name ($what): verifier $verifier $why; spin $spin $property" ;;
	*.rejected.accepted) echo "# promela.$name ($what): $why; spin finds nothing" ;;
	esac
done <"$TMP/all"
awk -F '\t' '
	{ n[($2 == "-") ":" $3 ":" $7]++; mutants += $2 != "-" }
	$2 != "-" { kinds[$2]++ }
	$8 != "-" { broken[$8]++ }
	END {
		print "#                                 spin accepts  rejects  does not finish"
		for (m = 1; m >= 0; m--)
			for (v = 1; v >= 0; v--) {
				verdict = v ? "accepted" : "rejected"
				printf "# %-10s verifier %s %12d %8d %8d\n", m ? "schedules:" : "mutants:", verdict,
					n[m ":" verdict ":accepted"], n[m ":" verdict ":rejected"], n[m ":" verdict ":unfinished"]
			}
		printf "# %d mutants:", mutants
		for (k in kinds) printf " %d %s", kinds[k], k
		printf "\n# what spin finds first:"
		for (k in broken) printf " %d %s", broken[k], k
		printf "\n"
		exit n["0:rejected:accepted"] > mutants / 50
	}' "$TMP/all"
check promela.precision [ $? -eq 0 ]
finish
