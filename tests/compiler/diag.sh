#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The messages of goalc: *_bad.goal in the folders of tests/goal must fail with exactly the text of *.err, *_warn.goal compile
# with the text of *.err, *_ok.goal compile silently. A folder is named after the check, or the part of the language, that its
# files are about; FOLDERS, a pattern, takes some of them. "-- ARGS" in the first line of a file (behind //) adds arguments.
# DIAG_UPDATE=1 writes the .err files: read the difference before you keep it.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$TESTS/goal" || exit 1

shopt -s extglob nullglob
FOLDERS=${FOLDERS:-*}
# shellcheck disable=SC2231
for path in $FOLDERS/*_bad.goal $FOLDERS/*_warn.goal $FOLDERS/*_ok.goal; do
	cd "$TESTS/goal/${path%/*}" || exit 1
	file=${path##*/} name=${path##*/}
	name=${name%.goal}
	IFS= read -r first <"$file" || :
	case $first in //*' -- '*) args=${first##*' -- '} args=${args%$'\r'} ;; *) args= ;; esac
	# shellcheck disable=SC2086
	goalc "$file" -o "$TMP/out.bin" $args >"$TMP/out" 2>"$TMP/err"
	rc=$?
	want=0 text=/dev/null left=yes
	case $name in
	*_bad) want=1 text=$name.err left=no ;;
	*_warn) text=$name.err ;;
	esac
	[ -z "${DIAG_UPDATE:-}" ] || [ $text = /dev/null ] || cp "$TMP/err" "$text"
	there=no
	[ ! -e "$TMP/out.bin" ] || { there=yes; rm "$TMP/out.bin"; }
	files=("$TMP"/*) # out and err
	if [ $rc -ne $want ]; then
		fail "diag.$name exit status $rc, not $want"
	elif ! cmp -s "$TMP/err" "$text"; then
		fail "diag.$name the text differs"
		diff "$text" "$TMP/err" | head -20 | sed 's/^/# /'
	elif [ -s "$TMP/out" ]; then
		fail "diag.$name printed on standard output"
	elif [ $there != $left ]; then
		fail "diag.$name output file there: $there, not $left"
	elif [ ${#files[@]} -ne 2 ]; then
		fail "diag.$name left a file behind: $(ls "$TMP")"
		rm -rf "${TMP:?}"/out.bin*
	else
		ok "diag.$name"
	fi
done
cd "$TESTS/goal" || exit 1

# Every check of the table has a file that trips it.
goalc --list-checks >"$TMP/checks"
while read -r check _; do
	[ "$check" = check ] && continue
	if grep -q -s "\[$check\]\$" -- */*_bad.err */*_warn.err; then
		ok "diag.covers.$check"
	else
		fail "diag.covers.$check no file trips it"
	fi
done <"$TMP/checks"

# Found while reading, hence not to be turned off; the others go with -W no-.
for check in long unmatched size deadlock race; do
	if goalc "$check/${check}_off_bad.goal" -o "$TMP/out.bin" -Wno-"$check" 2>"$TMP/err" && [ ! -s "$TMP/err" ]; then
		ok "diag.off.$check"
	else
		fail "diag.off.$check it still speaks"
	fi
done

# What a collective without a definition does cannot be proved.
goalc --verify -n 2-3 implements/implements_undefined_warn.goal -o "$TMP/undefined.bin" >"$TMP/out" 2>"$TMP/err"
rc=$?
check "diag.undefined_proof $rc" [ "$rc,$(grep -c 'not proved .* MPI_Broadcast does, .*; did you mean MPI_Bcast?$' "$TMP/err")" = 1,1 ]
check diag.undefined_output [ ! -e "$TMP/undefined.bin" ]
goalc --select allreduce -n 2 2>"$TMP/err"
check diag.near_select [ "$(head -n 1 "$TMP/err")" = 'goalc: there is no collective allreduce; did you mean MPI_Allreduce?' ]
GOAL_MAX_OP=1 goalc -Wno-rac x -o y 2>"$TMP/err"
check diag.near_check [ "$(sed -n 's/.*; //p' "$TMP/err" | tr '\n' ' ')" = 'did you mean GOAL_MAX_OPS? did you mean race? ' ]

# How many ops a rank may have, in all that makes them.
for i in 0 1; do printf 'schedule s\nrank r of p { for i = 1 to %d { nop } }\n' $((50000 + i)) >"$TMP/ops$i.goal"; done
for what in "-o $TMP/out.bin" --stats --verify; do
	# shellcheck disable=SC2086
	if GOAL_MAX_OPS=50000 goalc -n 1 "$TMP/ops0.goal" $what >/dev/null 2>"$TMP/err" &&
		! GOAL_MAX_OPS=50000 goalc -n 1 "$TMP/ops1.goal" $what >/dev/null 2>"$TMP/err" && grep -q 'more than 50000 ops' "$TMP/err"
	then ok "diag.ops${what%% *}"; else fail "diag.ops${what%% *} $(head -n 1 "$TMP/err")"; fi
done
GOAL_MAX_OPS=many goalc -n 1 "$TMP/ops0.goal" --stats 2>"$TMP/err"
[ $? -eq 2 ] && grep -q 'GOAL_MAX_OPS cannot be "many"' "$TMP/err" && ok diag.ops.none || fail "diag.ops.none $(head -n 1 "$TMP/err")"
goalc -Wno-cycle cycle/cycle_plain_bad.goal -o "$TMP/out.bin" 2>"$TMP/err"
[ $? -eq 2 ] && ok diag.off.cycle || fail "diag.off.cycle a fixed check can be turned off"
finish
