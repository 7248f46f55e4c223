#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# goalc --model: the optima are those that the paper reports. Every value is compared with a computation that walks the tree
# transfer by transfer, in integers. The picture shows these values, and wrong arguments are reported.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$TMP" || exit 1
model() { goalc --model split-tree "$@"; }

# ---- what the paper reports ----

# says NAME PATTERN ARGS... : the table has a line that starts so
says()
{
	local name=$1 line=$2

	shift 2
	if model "$@" >out 2>err && grep -q "^$line" out; then ok "model.$name"; else
		fail "model.$name $(cat err) $(tail -n 2 out | tr '\n' '|')"; fi
}
says optima64 'best S: 0 for 2-51 ranks, 1 for 52-57, 2 for 58-61, 3 for 62-63$' --cores 64 --shape constant
says least64 'least time: 7.53 with 51 ranks and S = 0$' --cores 64
says least48 'least time: 7.58 with 38 ranks and S = 0$' --cores 48
# The figures of section 6.1: 15 transfers of 16 ranks on 2 cores take 8 rounds; with S = 2, 2 levels and 2 rounds.
model --cores 18 --ranks 16 --json >out
check model.figures_9_10 grep -q '"S": 0, "t_blocking": 4.0, "t_nonblocking": 8.0,.*"S": 2, "t_blocking": 4.0, "t_nonblocking": 4.0,' out
says one_size 'best S: 3 for 62 ranks$' --cores 64 --ranks 62

# ---- every value ----

cat >referee.awk <<'END'
# Rank v of a k-nomial tree with the root 0 sends on level i when k divides it exactly i - 1 times, to the next lower
# multiple of k^i. A core does one transfer at a time, and so does the vertex that receives. The paper counts one
# transfer more where the number of ranks is no power: that of rank N, on any level that the others have.
function level(v,   i) { for (i = 1; v % k == 0; i++) v /= k; return i }
# How many rounds it takes until `have[c]` parents with c children have all of them, with so many cores.
function rounds(cores,   n, c, left, serve, some) {
	for (n = 0; ; n++) {
		some = 0
		for (c = k; c > 0; c--) some += have[c]
		if (!some) return n
		left = cores
		for (c = k; c > 0; c--) { serve[c] = have[c] < left ? have[c] : left; left -= serve[c] }
		for (c = k; c > 0; c--) { have[c] -= serve[c]; have[c - 1] += serve[c] }
	}
}
# Makes height, app[i] and comm[i]: the time of level i on the ranks' cores, and on those that are left.
function tree(n,   v, i, p, kids, weight) {
	height = 0
	split("", kids)
	for (v = 1; v < n; v++) {
		i = level(v)
		if (i > height) height = i
		kids[i, v - v % k ^ i]++
	}
	for (i = 1; i <= height; i++) {
		split("", have)
		for (p = 0; p < n; p++) if ((i, p) in kids) have[kids[i, p]]++
		weight = growing ? k ^ (i - 1) : 1
		app[i] = weight * rounds(n)
		for (p = 0; p < n; p++) if ((i, p) in kids) have[kids[i, p]]++
		if (level(n) == i) have[1]++
		comm[i] = n < cores ? weight * rounds(cores - n) : 0
	}
}
function differs(x, y) { return x - y > 1e-6 || y - x > 1e-6 }
function bad(what) { if (!wrong++) print what; }
# All is compared N-fold, which makes the times whole numbers, in copies.
function ranks(n,   s, i, a, f, t, busy, best) {
	tree(n)
	a = 0
	for (i = 1; i <= height; i++) a += app[i]
	blocking = a
	for (s = height; s >= 0; s--) {
		f = 0
		for (i = s + 1; i <= height; i++) f += comm[i]
		a = blocking
		for (i = s + 1; i <= height; i++) a -= app[i]
		busy = compute >= 0 ? cores * compute / ratio : cores * whole
		t = n * a + (busy > n * f ? busy : n * f)
		want[n, s] = blocking " " a + f " " t
		if (s == height || t <= best) { best = t; want[n] = s }
	}
	heights[n] = height
	if (!least || best * least < n * least_time) { least = n; least_time = best }
}
function number(key,   s) { s = $0; sub(".*\"" key "\": *", "", s); return s + 0 }
BEGIN {
	tree(cores)
	for (i = 1; i <= height; i++) whole += app[i]
	for (n = 2; n < cores; n++) ranks(n)
	at = 2; s = 0; chosen = 2
}
/"t_overlapped"/ {
	split(want[at, s], w, " ")
	if (number("ranks") != at || number("S") != s) bad("row of " at " ranks, S = " s ": " $0)
	if (differs(number("t_blocking") / ratio, w[1]) || differs(number("t_nonblocking") / ratio, w[2]) ||
	    differs(number("t_overlapped") / ratio * at, w[3])) bad($0 " and not, N-fold the last, " want[at, s])
	rows++
	if (++s > heights[at]) { at++; s = 0 }
	next
}
/"least"/ { last = 1; next }
/"ranks"/ && last { if (number("ranks") != least || number("S") != want[least]) bad("least: " $0 " and not " least); next }
/"ranks"/ { if (number("ranks") != chosen || number("S") != want[chosen]) bad("best: " $0 " and not " want[chosen]); chosen++ }
END { if (at != cores || chosen != cores || !last) bad("there are " rows " rows"); if (!wrong) print "same " rows " rows" }
END

# same CORES SHAPE K RATIO COMPUTE
same()
{
	local args="--cores $1 --shape $2 --tree k=$3 --ratio $4" got

	[ "$5" = -1 ] || args="$args --compute $5"
	# shellcheck disable=SC2086
	got=$(model $args --json 2>&1 | tr '{}' '\n\n' |
		awk -v cores="$1" -v growing="$([ "$2" = growing ] && echo 1)" -v k="$3" -v ratio="$4" -v compute="$5" -f referee.awk)
	if [ "${got#same }" != "$got" ]; then ok "model.$2_$1_k$3_ratio$4_compute$5 $got"; else fail "model $args: $got"; fi
}
for cores in 40 48 64 96; do
	for shape in constant growing; do same $cores $shape 2 1 -1; done
done
for cores in 3 4 5 17 33 130; do same $cores constant 2 1 -1; done
for k in 3 4 7 64 100; do
	for shape in constant growing; do same 64 $shape $k 1 -1; done
done
same 64 constant 2 1 2
same 64 constant 2 1 0
same 96 growing 2 1.5 -1
same 81 constant 3 2.5 40
same 64 growing 4 0.25 100

# ---- the forms ----

model --cores 64 --ranks 60-62 --json -o part.json
check model.ranks [ "$(grep -o '"t_overlapped"' part.json | wc -l)" = 21 ]
model --cores 64 --ranks 60-62 >part
check model.ranks_table [ "$(grep -cE '^ +6[0-2] ' part)" = 3 ]
check model.marks [ "$(grep -c '[0-9]\*' part)" = 3 ]

# The picture: for each S a curve left and right, over these the blocking collective, and the computation.
model --cores 64 --svg 64.svg >table
check model.svg_table grep -q '^best S' table
check model.svg_curves [ "$(grep -c '<polyline' 64.svg)" = 17 ]
command -v xmllint >/dev/null && check model.svg_is_xml xmllint --noout 64.svg
# The curve of S = 1 to the right has the values of the table, as heights above the axis at `zero`, on a scale to 30.
zero=$(sed -n "s/.*y='\([0-9.]*\)' text-anchor='end'>0<.*/\1/p" 64.svg | tail -n 1)
model --cores 64 --json | tr '{}' '\n\n' | awk '/"t_overlapped"/ && /"S": 1,/ { sub(/.*: /, ""); printf "%.1f\n", zero - 4 - $0 * 300 / 30 }' zero="$zero" >heights
grep -o "stroke='#e69f00'.*points='[^']*" 64.svg | sed -n "2s/.*points='//p" | tr ' ' '\n' | sed -n 's/.*,//p' >drawn
check model.svg_values cmp -s heights drawn
check model.svg_says grep -q '>modelled, not measured' 64.svg
model --cores 48 --ratio 2.5 --compute 7 --ranks 40 --svg 48.svg >table
check model.svg_unit grep -q 'A transfer of that message takes 2.5, the computation on all cores 7\.<' 48.svg
# Curves of one number of ranks are dots.
check model.svg_dots [ "$(grep -c "class='dot' d='M\(307\|863\).0 " 48.svg)" = 17 ]
# Each legend has a colour once, also that of 13 values of S.
model --cores 4096 --ranks 4000-4095 --svg 4096.svg >table
check model.svg_colours [ "$(awk '/class=.legend/ { k++; n = 0; split("", seen) } /<\/g>/ { k0 = k }
	k > k0 && match($0, /stroke=.[^ ]*/) { if (seen[substr($0, RSTART, RLENGTH)]++) twice++; n++ } END { print k, n, twice + 0 }' 4096.svg)" = '2 14 0' ]
model --cores 4 --ranks 2 --svg one.svg >table
check model.svg_one_size [ $? -eq 0 -a -s one.svg ]
if model --cores 64 --svg none/64.svg >table 2>err; then fail model.svg_nowhere; else
	check model.svg_nowhere [ ! -s table -a -s err ]; fi

# wrong NAME PATTERN ARGS... : usage
wrong()
{
	local name=$1 why=$2 rc

	shift 2
	goalc "$@" >out 2>err
	rc=$?
	check "model.$name $(head -n 1 err)" [ $rc -eq 2 -a ! -s out -a -n "$(grep -e "$why" err)" ]
}
wrong other 'there is no model' --model tree --cores 64
wrong no_cores 'needs the cores' --model split-tree
wrong few_cores '--cores takes' --model split-tree --cores 2
wrong many_cores '--cores takes' --model split-tree --cores 4097
wrong shape '--shape is' --model split-tree --cores 8 --shape round
wrong ranks '--ranks takes' --model split-tree --cores 8 --ranks 1-4
wrong all_ranks 'leave a core' --model split-tree --cores 8 --ranks 8
wrong tree '--tree takes' --model split-tree --cores 8 --tree k=1
wrong ratio '--ratio takes' --model split-tree --cores 8 --ratio 0
wrong nan '--compute takes' --model split-tree --cores 8 --compute nan
wrong compute '--compute takes' --model split-tree --cores 8 --compute=-1
wrong input 'no input file' --model split-tree --cores 8 x.goal
finish
