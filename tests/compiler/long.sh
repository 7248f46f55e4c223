#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Long tokens and many declarations: the time of goalc must grow linearly with the text, whichever part is long. Each text has
# 15 s of CPU time and 200 MB, several times what it needs on a slow day; in quadratic time most would take tens of seconds.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$TMP" || exit 1
shopt -s lastpipe # what is piped into long is counted here
MANY=65000

# long NAME STATUS TEXT [OPTION] : goalc of the text on standard input ends in time, with that exit status, and a message with
# TEXT where there is any. Without an option it writes a binary.
long()
{
	local name=$1 want=$2 text=$3 rc

	cat >"$name.goal"
	(ulimit -t 15 -v 204800; exec "$GOALC" "$name.goal" ${4:--o out.bin}) >out 2>err
	rc=$?
	if [ $rc -eq "$want" ] && { cat out err | grep -qF -- "$text" || [ -z "$text" ]; }; then
		ok "long.$name"
	else
		fail "long.$name status $rc: $(head -c 200 err)"
	fi
	rm -f "$name.goal"
}

# run N CHARACTER
run() { head -c "$1" /dev/zero | tr '\0' "$2"; }
# each FORMAT : printf of each number from 0 on
each() { seq 0 $((MANY - 1)) | awk -v f="$1" '{ printf f, $1, $1, $1 }'; }

decls() { printf 'schedule s\nbuffer inout a[count]\n'; }
body() { printf 'rank r of p { %s }\n' "${1:-nop}"; }

# ---- tokens of 5 MB ----

M=5000000
{ printf '/* '; run $M x; printf ' */\n'; decls; body; } | long comment 0 ''
{ run $M ' '; decls; body; } | long blanks 0 ''
{ decls; printf 'rank r of p { assert r >= 0, "'; run $M x; printf '"\nnop }\n'; } | long string 0 ''
{ decls; printf 'rank r of p { '; run $M x; printf ' = 1\nnop }\n'; } | long name 0 ''
{ decls; printf 'rank r of p { x = '; run $M 9; printf '\nnop }\n'; } | long number 1 'is larger than 9223372036854775807'
{ decls; body; run $M '\n'; } | long newlines 0 ''
plain() { printf 'num_ranks 1\nrank 0 {\n'; cat; printf '\n}\n'; }
{ printf '/* '; run $M x; printf ' */\ncalc 1'; } | plain | long plain_comment 0 ''
{ run $M ' '; printf 'calc 1'; } | plain | long plain_blanks 0 ''
{ run $M l; printf ': calc 1'; } | plain | long plain_label 0 ''
{ printf 'calc '; run $M 9; } | plain | long plain_number 1 'is larger than 9223372036854775807'
# Keywords without blanks: each is a token.
{ printf 'calc 1'; run 1000000 b; } | plain | long plain_keywords 1 'expected "tag", "cpu", "nic" or "}", not "b"'

# ---- declarations ----

{ printf 'schedule s\n'; each 'buffer in b%d[count]\n'; body; } | long buffers 0 ''
{ printf 'schedule s('; each 'q%d = 1, '; printf 'last = 1)\n'; body; } | long parameters 0 ''
{ printf 'schedule s('; each 'q%d[2] = 1, '; printf 'last = 1)\n'; body; } | long vectors 0 ''
# Buffers that no op writes and parameters that all ranks share cost a case next to nothing.
{ printf 'schedule s\n'; each 'buffer in b%d[count]\n'; body; } | long verify_buffers 0 '83 cases' --verify
{ printf 'schedule s('; each 'q%d = 1, '; printf 'last = 1)\n'; body; } |
	long verify_parameters 0 'q7 = 1 and 64993 others' --verify
{ printf 'schedule s\n'; each 'buffer in b%d[count]\n' | head -n 65000; each 'buffer in c%d[count]\n' | head -n 535; body; } |
	long many_buffers 1 's has more than 65534 buffers, with those of its calls'
{ printf 'schedule s('; each 'q%d = 1, '; each 'p%d = 1, ' | head -c 6000; printf 'last = 1)\n'; body; } |
	long many_parameters 1 's has more than 65534 parameters'
# nest BEGIN : 950 levels
nest() { decls; printf 'rank r of p {\n'; seq 950 | awk -v f="$1\n" '{ printf f, $1 }'; printf nop; run 950 '}'; printf '\n}\n'; }
nest 'for i%d = 0 to 0 {' | long nested_for 0 ''
nest 'if r >= 0 {' | long nested_if 0 ''
nest 'if r < 0 { nop } else {' | long nested_else 0 ''
{ decls; printf 'rank r of p {\nif r < 0 { nop }'; seq -f ' else if r < -%.0f { nop }' 950 | tr -d '\n'; printf ' else { nop }\n}\n'; } | long else_if 0 ''
{ decls; printf 'rank r of p {\n'; seq -f 'l%.0f: nop' 950; printf 'last: nop\nlast requires '; seq -f 'l%.0f' 950 | paste -sd ,; printf '}\n'; } |
	long label_list 0 ''
{ decls; printf 'rank r of p {\n'; each 'l%d: nop\n'; printf '}\n'; } |
	long labels 1 'the schedule is long: not checked for sizes' # what checking takes has an end, and -o says so
{ decls; printf 'rank r of p {\n'; each 'x%d = 1\n'; printf 'nop }\n'; } | long variables 1 'the schedule has too many variables'
each 'schedule s%d\nrank r of p { nop }\n' | long schedules 0 ''
{ printf 'schedule t\n'; body; printf 'schedule s\nrank r of p {\n'; each 'call t()\n'; printf '}\n'; } | long calls 1 'there are too many calls'
{ each 'schedule s%d\nrank r of p { nop }\n'; printf 'schedule s\nrank r of p {\n'; each 'call s%d()\n'; printf '}\n'; } |
	long callees 1 'there are too many calls'
{ printf 'schedule t('; each 'q%d = 1, '; printf 'last = 1)\n'; body; printf 'schedule s\n'
	printf 'rank r of p { call t('; each 'q%d = 2, '; printf 'last = 2) }\n'; } | long arguments 0 ''
{ printf 'schedule t\n'; each 'buffer in b%d[count]\n'; body; printf 'schedule s\nbuffer in a[count]\n'
	printf 'rank r of p { call t('; each 'a, ' | sed 's/, $//'; printf ') }\n'; } | long ranges 0 ''
{ each 'import "none.goal"\n'; printf 'schedule s\n'; body; } | long imports 1 'cannot import none.goal'
{ printf 'schedule s\nbuffer in a[count]\nbuffer out b[count]\nresult {\n'; each 'b gets a of r\n'; printf '}\n'; body 'copy a into b'; } |
	long results 0 ''
finish
