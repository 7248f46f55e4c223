#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Plain GOAL in the form of generators does not pass through lexer and grammar (lang/plain_lines.c). With a comment after each
# line it does. Both ways must give the same binary and the same messages.
set -u
. "$(dirname "$0")/../lib.sh"

# both NAME FILE: as it is, and with comments
both()
{
	local name=$1 file=$2 args want got

	args=$(LC_ALL=C sed -n '1s/^\/\/.* -- //p' "$file" | tr -d '\r\0')
	# shellcheck disable=SC2086
	(cp "$file" "$TMP/x.goal" && cd "$TMP" && goalc x.goal -g -o want.bin $args 2>want.err)
	want=$?
	LC_ALL=C sed 's,$, //,' "$file" >"$TMP/x.goal"
	# shellcheck disable=SC2086
	(cd "$TMP" && goalc x.goal -g -o got.bin $args 2>got.err)
	got=$?
	LC_ALL=C sed 's,?* //$,,' "$TMP/got.err" >"$TMP/got" # a return before the comment shows
	LC_ALL=C sed 's, //$,,' "$TMP/want.err" >"$TMP/want"
	if grep -q 'not the end of the line' "$TMP/want"; then
		: # that end is elsewhere now
	elif [ $want -ne $got ] || ! cmp -s "$TMP/want" "$TMP/got"; then
		fail "usual.$name status $got, not $want: $(diff "$TMP/want" "$TMP/got" | head -n 4 | tr '\n' '|')"
	elif [ $want -eq 0 ] && ! cmp -s "$TMP/want.bin" "$TMP/got.bin"; then
		fail "usual.$name another binary"
	else
		ok "usual.$name"
	fi
	rm -f "$TMP"/*
}

for file in "$TESTS"/samples/*.goal "$TESTS"/goal/*/*plain*.goal "$TESTS"/goal/*/un*_warn.goal; do
	case $file in
	# The comment would show in what is quoted, or stand where the text ends.
	*_long_line_bad.goal | *_crlf_bad.goal | *_no_newline_bad.goal | *_comment_bad.goal | *_brace_open_bad.goal)
		continue ;;
	esac
	both "$(basename "$file" .goal)" "$file"
done

# Some of everything, over many of the pieces in which the text is read: usual statements and others, blanks,
# empty lines, and lines longer than a piece.
awk 'BEGIN {
	srand(7); n = 40
	print "num_ranks " n
	for (r = 0; r < n; r++) {
		print (r % 7 ? "" : "  ") "rank" (r % 5 ? " " : "  ") r (r % 3 ? " {" : "{")
		for (i = 0; i < 300; i++) {
			pre = rand() < .1 ? "\t " : ""
			post = rand() < .1 ? "  " : rand() < .1 ? "\r" : rand() < .05 ? " cpu 3" : rand() < .05 ? " nic 1 cpu 2" : ""
			k = int(rand() * 9)
			l = rand() < .3 ? "" : "l" i (rand() < .1 ? " : " : ": ")
			if (l != "") have[r, i] = 1
			if (k < 3) print pre l "send " i "b to " (r + 1) % n (k ? " tag " k : "") post
			else if (k < 5) print pre l "calc " i * 1000003 post
			else if (k == 5) print pre l "recv " i "b from -1" post
			else if (k == 6) print l "send" i "bto" (r + 2) % n "tag1"
			else print l "calc " i "; calc 1"
			if (have[r, i] && have[r, i - 1])
				print pre "l" i (k % 2 ? " requires " : " irequires  ") "l" (i - 1) (k == 4 ? " " : "")
			if (rand() < .01) print ""
		}
		if (r % 9 == 8) { printf "calc 1"; for (i = 0; i < 70000; i++) printf " "; print "" }
		if (r % 9 == 7) { for (i = 0; i < 70000; i++) printf " "; print "calc 2" }
		print (r % 4 ? "}" : " } ")
		if (r % 2) print ""
	}
}' >"$TMP.goal"
both mixed "$TMP.goal"
# The same without anything that would be told, and with ranks of a name that no number is.
sed 's/^\(.*\)recv .*/\1calc 1/' "$TMP.goal" >"$TMP.2.goal"
both calm "$TMP.2.goal"
for bad in 's/^rank 20 .*/rank 5000000000 {/' 's/^l150: .*/l150: send 5000000000b to 4294967295/' \
	's/^l77: .*/l77: calc 99999999999999999999/' 's/^l9: /l8: /' 's/requires l1$/requires x1/' '200s/ /?/' \
	's/^num_ranks.*/num_ranks 41/' '$d'; do
	sed "$bad" "$TMP.2.goal" >"$TMP.3.goal"
	both "fault.$(echo "$bad" | tr -cd 'a-z0-9')" "$TMP.3.goal"
done
rm -f "$TMP.goal" "$TMP".?.goal
finish
