#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares plain texts that are compiled in one pass (compiler/lower/stream.c) with the same texts compiled through the graph,
# which -n selects. Both give the same bytes and the same messages. Also checks how much memory the one pass takes.
set -u
. "$(dirname "$0")/../lib.sh"
text="$BUILD/bench/compile"
[ -x "$text" ] || { skip "stream there is no ${text#"$ROOT"/}"; finish; }

# same NAME FILE RANKS
same()
{
	local a b

	rm -f "$TMP/one.bin" "$TMP/graph.bin"
	goalc "$2" -o "$TMP/one.bin" 2>"$TMP/one.err"
	a=$?
	goalc "$2" -n "$3" -o "$TMP/graph.bin" 2>"$TMP/graph.err"
	b=$?
	[ $a -eq $b ] && cmp -s "$TMP/one.err" "$TMP/graph.err" &&
		{ [ $a -ne 0 ] || cmp -s "$TMP/one.bin" "$TMP/graph.bin"; }
}

for what in dissemination:1 dissemination:2 dissemination:100 dissemination:5000 binomial:1 binomial:77 \
	binomial:5000 chain:1 chain:30000 chain:100000; do
	"$text" -t "$what" >"$TMP/x.goal"
	ranks=${what#*:}
	[ "${what%:*}" = chain ] && ranks=1
	check "stream.same.$what" same "$what" "$TMP/x.goal" "$ranks"
	check "stream.silent.$what" [ ! -s "$TMP/one.err" ]
done

# Random messages: a few tags, sizes and sorts of dependencies; some texts have a fault, or a wildcard.
cat >"$TMP/random.awk" <<'END'
function pick(n) { return int(rand() * n) }
function add(r, s) { line[r, n[r]++] = s }
BEGIN {
	srand(seed)
	p = 1 + pick(6)
	fault = seed % 2 ? 0 : 1 + pick(9)
	for (i = 0; i < 3 + pick(30); i++) {
		from = pick(p); to = pick(p); tag = pick(2); size = 1 + pick(2); last = i
		add(from, "send " size "b to " to " tag " tag)
		if (fault == 1 && pick(9) == 0) size = 3
		if (fault == 2 && pick(9) == 0) tag = 7
		if (fault == 3 && pick(9) == 0) to = pick(p)
		if (fault == 4 && pick(9) == 0) from = -1
		if (fault == 5 && pick(20) == 0) continue
		add(to, "recv " size "b from " from " tag " tag)
		if (pick(4) == 0) add(to, "calc " (pick(2) ? "500000000" : "") pick(3))
	}
	print "num_ranks " p
	for (k = 0; k < p; k++) {
		r = fault == 6 ? p - 1 - k : k
		print "rank " r " {"
		for (i = 0; i < n[r]; i++)
			print "l" (fault == 7 && pick(20) == 0 ? 1 : i) ": " line[r, i] (pick(5) ? "" : " cpu 1")
		for (i = 1; i < n[r]; i++)
			for (m = pick(3); m > 0; m--) {
				a = i; b = pick(i)
				if (fault == 8 && pick(9) == 0) { a = pick(n[r]); b = pick(n[r]) }
				print "l" a " " (pick(3) ? "" : "i") "requires l" (fault == 9 && pick(20) == 0 ? "x" : b)
			}
		print "}"
	}
}
END
bad= clean=0
for ((seed = 1; seed <= ${TEXTS:-100}; seed++)); do
	awk -v seed=$seed -f "$TMP/random.awk" >"$TMP/x.goal"
	same "$seed" "$TMP/x.goal" "$(sed -n 's/num_ranks //p' "$TMP/x.goal")" || bad="$bad $seed"
	[ -s "$TMP/one.err" ] || clean=$((clean + 1))
done
check "stream.random clean: $clean, differ:$bad" [ -z "$bad" ]
check "stream.random_clean_ones" [ $clean -ge $((${TEXTS:-100} / 3)) ]
check "stream.random_others" [ $clean -lt "${TEXTS:-100}" ]

# All the address space that it gets is as large as the text (a large rank: twice that, where its arrays have not just
# grown), which includes its code;
# by way of the graph that is not enough.
memory()
{
	local limit

	"$text" -t "$1" >"$TMP/x.goal"
	limit=$(($(stat -c %s "$TMP/x.goal") / 1024 * $2))
	if (ulimit -v $limit && goalc "$TMP/x.goal" -o "$TMP/one.bin") 2>"$TMP/err"; then
		ok "stream.memory.$1"
	else
		fail "stream.memory.$1 $limit KiB are not enough: $(head -1 "$TMP/err")"
	fi
	if (ulimit -v $limit && goalc "$TMP/x.goal" -n "$3" -o "$TMP/two.bin") 2>"$TMP/err"; then
		fail "stream.memory_graph.$1 $limit KiB are enough for the graph: the limit says nothing"
	else
		ok "stream.memory_graph.$1"
	fi
}
if (ulimit -v 100000 && "$GOALC" --version) >"$TMP/out" 2>&1; then
	memory dissemination:20000 1 20000
	memory binomial:200000 1 200000
	memory chain:650000 2 1
else
	skip "stream.memory goalc does not start in 100 MB (a sanitizer?)"
fi
finish
