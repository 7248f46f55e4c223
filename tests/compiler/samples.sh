#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Compiles files of real generators (samples/): checks the result, and that goalc's own text of a file gives the same binary.
# Then compares parametric with concrete binaries, of more sizes with SWEEP=all (make matrix).
set -u
. "$(dirname "$0")/../lib.sh"

# stats FILE : the object of its only case
stats() { goalc --stats --json "$1" | sed 's/.*"cases": \[ //; s/ \] }$//'; }
# An independent count of a plain file, in the words of goalc --stats --json.
cat >"$TMP/count.awk" <<'END'
{
	sub(/\/\/.*/, "")
	n = split($0, part, /[;{}]/)
	for (i = 1; i <= n; i++) {
		s = part[i]
		gsub(/[ \t\r]+/, " ", s)
		if (match(s, /num_ranks ?[0-9]+/)) {
			ranks = substr(s, RSTART + 9, RLENGTH - 9) + 0
		} else if (match(s, /^ ?rank ?[0-9]+/)) {
			rank = substr(s, RSTART + 5, RLENGTH - 5) + 0
		} else if (match(s, /(^|[: ])send ?[0-9]+ ?b/)) {
			sends++
			bytes += substr(s, index(s, "send") + 4) + 0
		} else if (match(s, /(^|[: ])recv ?[0-9]+ ?b/)) {
			recvs++
		} else if (match(s, /(^|[: ])calc ?[0-9]+/)) {
			calcs++
		} else if (match(s, / i?requires ?/)) {
			edge = rank " " s
			gsub(/ +$/, "", edge)
			if (!(edge in seen))
				edges++
			seen[edge] = 1
		}
	}
}
END {
	printf "\"ranks\": %d, \"sends\": %d, \"recvs\": %d, \"calcs\": %d, \"copies\": 0, \"reduces\": 0, ",
		ranks, sends, recvs, calcs
	printf "\"nops\": 0, \"bytes\": %d, \"edges\": %d,\n", bytes, edges
}
END

# By hand: hops of the longest chain times two, plus what is calculated in between.
depths='zero=2 crosscpu=2 mismatch=2 a2a8=2 bcast8=6 bcast64=12 diss8=6 linbarrier8=5 gather8=2 pipering8=14
ring8=28 nospace=null'

for file in "$TESTS"/samples/*.goal; do
	name=$(basename "$file" .goal)
	bin=$TMP/$name.bin
	warn=0
	[ "$name" = mismatch ] && warn=3
	goalc "$file" -o "$bin" 2>"$TMP/err"
	rc=$?
	if [ $rc -ne 0 ] || [ "$(wc -l <"$TMP/err")" -ne $warn ]; then
		fail "samples.$name.compile exit status $rc: $(head -1 "$TMP/err")"
		continue
	fi
	ok "samples.$name.compile"

	goalc --emit=goal "$file" -o "$TMP/text.goal" 2>/dev/null
	goalc "$TMP/text.goal" -o "$TMP/again.bin" 2>/dev/null
	check "samples.$name.emit_same_binary" cmp -s "$bin" "$TMP/again.bin"
	goalc --emit=goal "$bin" >"$TMP/from_bin.goal" 2>/dev/null
	check "samples.$name.emit_from_binary" cmp -s "$TMP/text.goal" "$TMP/from_bin.goal"

	want=$(awk -f "$TMP/count.awk" "$file")
	got=$(stats "$bin")
	case $got in
	"{ $want"*) ok "samples.$name.stats" ;;
	*) fail "samples.$name.stats $got, not $want" ;;
	esac
	case " $(echo $depths) " in
	*" $name="*)
		want=$(echo $depths | tr ' ' '\n' | sed -n "s/^$name=//p")
		case $got in
		*"\"depth\": $want }") ok "samples.$name.depth" ;;
		*) fail "samples.$name.depth $got, not $want" ;;
		esac
		;;
	esac
	got2=$(stats "$file" 2>/dev/null)
	check "samples.$name.stats_of_text" [ "$got" = "$got2" ]

	goalc -g "$file" -o "$TMP/debug.bin" 2>/dev/null
	goalc --emit=goal "$TMP/debug.bin" >"$TMP/from_debug.goal"
	check "samples.$name.debug_same_ops" cmp -s "$TMP/text.goal" "$TMP/from_debug.goal"
	goalc --dump "$bin" >"$TMP/dump"
	goalc --dump "$TMP/debug.bin" >"$TMP/dump.g"
	ops=$(grep -c '^ *[0-9]* *waits' "$TMP/dump")
	total=$(echo "$got" | tr -dc '0-9 ' | awk '{ print $2 + $3 + $4 }')
	if [ "$ops" -eq "$total" ] && ! grep -q '; line' "$TMP/dump" &&
	   [ "$(grep -c '; line [1-9]' "$TMP/dump.g")" -eq "$total" ]; then
		ok "samples.$name.dump"
	else
		fail "samples.$name.dump $ops ops, not $total, or lines without -g or none with it"
	fi
	sed 's/  ; line [0-9]*$//; /^version/d' "$TMP/dump.g" >"$TMP/dump.g2"
	sed '/^version/d' "$TMP/dump" >"$TMP/dump2"
	check "samples.$name.dump_same_but_lines" cmp -s "$TMP/dump2" "$TMP/dump.g2"

	ranks=$(echo "$got" | sed 's/.*"ranks": \([0-9]*\),.*/\1/')
	goalc "$file" -n $((ranks + 1)) -o "$TMP/no.bin" 2>"$TMP/err"
	rc=$?
	if [ $rc -eq 1 ] && [ ! -e "$TMP/no.bin" ] && grep -q "for $ranks ranks" "$TMP/err"; then
		ok "samples.$name.other_size"
	else
		fail "samples.$name.other_size exit status $rc: $(head -1 "$TMP/err")"
	fi
	goalc --stats "$bin" -n $((ranks + 1)) >/dev/null 2>"$TMP/err"
	check "samples.$name.other_size_of_binary" [ $? -eq 1 ]
	goalc -n "$ranks" "$file" -o "$TMP/same.bin" 2>/dev/null
	check "samples.$name.own_size" cmp -s "$bin" "$TMP/same.bin"
	goalc -T reduce-deps "$file" -o "$TMP/reduced.bin" 2>/dev/null
	a=$(stats "$TMP/reduced.bin" | sed 's/"edges": [0-9]*, //')
	b=$(echo "$got" | sed 's/"edges": [0-9]*, //')
	check "samples.$name.reduce_deps_keeps_the_rest" [ "$a" = "$b" ]
done

# ---- concrete binaries hold what the parametric one yields ----
src=$ROOT/schedules/bcast_binomial.goal
goalc "$src" -o "$TMP/p.bin"
bad=
for size in 1 3 8 $([ "${SWEEP:-}" != all ] || echo 2 5 9); do
	goalc "$src" -n $size -o "$TMP/any.bin" || bad="$bad -n$size"
	goalc "$src" -n $size -g -o "$TMP/any.g.bin" || bad="$bad -n$size-g"
	goalc "$src" -n $size -D count=5 -o "$TMP/five.bin" || bad="$bad -n$size-count"
	for root in $(printf '%s\n' 0 $((size / 2)) $((size - 1)) | sort -u); do
		goalc "$src" -n $size -D root=$root -D count=5 -o "$TMP/fixed.bin" || bad="$bad -n$size-root"
		goalc --emit=json "$TMP/p.bin" -n $size -D root=$root -D count=5 >"$TMP/want"
		[ -s "$TMP/want" ] || bad="$bad $size/$root:empty"
		for bin in any any.g five fixed; do
			goalc --emit=json "$TMP/$bin.bin" -D root=$root -D count=5 >"$TMP/got"
			cmp -s "$TMP/want" "$TMP/got" || bad="$bad $size/$root:$bin"
		done
		goalc --emit=json "$src" -n $size -D root=$root -D count=5 >"$TMP/got"
		cmp -s "$TMP/want" "$TMP/got" || bad="$bad $size/$root:text"
		for count in 0 1 1000000; do
			goalc --emit=json "$TMP/p.bin" -n $size -D root=$root -D count=$count >"$TMP/want"
			goalc --emit=json "$TMP/any.bin" -D root=$root -D count=$count >"$TMP/got"
			cmp -s "$TMP/want" "$TMP/got" || bad="$bad $size/$root/$count"
		done
	done
	goalc --emit=json "$TMP/five.bin" -D count=6 >/dev/null 2>"$TMP/err" && bad="$bad $size:count-6"
	grep -q 'another count' "$TMP/err" || bad="$bad $size:count-6-text"
	goalc --emit=json "$TMP/any.bin" -D root=$size >/dev/null 2>"$TMP/err" && bad="$bad $size:root"
	goalc --emit=json "$TMP/any.bin" -n $((size + 1)) >/dev/null 2>&1 && bad="$bad $size:size"
done
[ -z "$bad" ] && ok samples.concrete_same_as_parametric || fail "samples.concrete_same_as_parametric$bad"
goalc "$src" -n 4 -D root=2 -o "$TMP/fixed.bin"
if goalc --emit=json "$TMP/fixed.bin" -D root=1 >/dev/null 2>"$TMP/err" || ! grep -q root "$TMP/err"; then
	fail "samples.concrete_fixed_root another root is accepted"
else
	ok samples.concrete_fixed_root
fi
if goalc --stats "$TMP/p.bin" >/dev/null 2>"$TMP/err" || ! grep -q -e -n "$TMP/err"; then
	fail samples.parametric_needs_a_size
else
	ok samples.parametric_needs_a_size
fi
finish
