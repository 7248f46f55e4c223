#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every command that README shows (behind "$ ") runs as shown and prints what stands below it, numbers aside.
# The manual's commands are replayed by man/lint.sh.
set -u
. "$(dirname "$0")/lib.sh"
PATH=$BUILD/bin:$PATH
cd "$TMP" && ln -s "$ROOT/schedules" . || exit 1
# Times differ from run to run, and so does the width of their column.
blur() { sed -E 's/[0-9]+\.[0-9]+/#/g; s/ +/ /g'; }

n=0
: >want
: >got
while IFS= read -r line; do
	case $line in
	'    $ '*)
		n=$((n + 1))
		timeout 60 bash -c "${line#    \$ }" </dev/null >>got 2>&1
		rc=$?
		if [ $rc -eq 0 ]; then ok "docs.command ${line#    \$ }"; else fail "docs.command ${line#    \$ } status $rc"; fi
		shown=1
		;;
	'    '*) [ "${shown:-0}" = 1 ] && printf '%s\n' "${line#    }" >>want ;;
	*) shown=0 ;;
	esac
done <"$ROOT/README.md"
check docs.found [ "$n" -ge 2 ]
if diff <(blur <want) <(blur <got) >diff; then ok docs.output; else fail "docs.output $(head -n 6 diff | tr '\n' '|')"; fi
# The schedule in README is the file itself.
check docs.schedule [ "$(sed -n '/^    schedule bcast/,/^    }/p' "$ROOT/README.md" | sed 's/^    //; s, *//.*,,' | md5sum)" = \
	"$(sed -n '/^schedule/,$p' "$ROOT/schedules/bcast_binomial.goal" | sed 's, *//.*,,' | md5sum)" ]
# One list of environment variables.
missing=
for v in $(sed -n 's/^ENV(\([A-Z_]*\),.*/\1/p' "$ROOT/util/env.def"); do
	grep -q "$v" "$ROOT/man/sched.7" || missing="$missing $v"
done
check "docs.environment$missing" [ -z "$missing" ]
finish
