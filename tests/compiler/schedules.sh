#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The schedules of the library compile without a warning, parametric and for many sizes. They have the messages, elements,
# reductions and rounds of their algorithms, given as formulas of the size p. The texts are short and have no duplicates. SWEEP=all
# (make allranks) takes more sizes and roots.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1
SIZES='1 2 3 5 8 9 16'
[ "${SWEEP:-}" != all ] || SIZES='1 2 3 4 5 6 7 8 9 13 16 17 33 64'

# expected NAME : for each line of stdin, a size p and a root: reductions, sends, elements sent for a count of 1, and the
# depth, or - where it has no simple form. A round is a send, its recv and what is done with it.
expected()
{
	awk -v name="$1" '
	# How many digits of x in base b are not 0
	function digits(x, b) { n = 0; while (x > 0) { n += x % b > 0; x = int(x / b) } return n }
	function lowbit(x) { b = 1; while (x % 2 == 0) { b *= 2; x /= 2 } return b }
	function row(reduces, sends, elements, depth) { print reduces, sends, elements, depth }
	{
		p = $1
		root = $2
		k = steps = ways = 0
		for (q = 1; 2 * q <= p; q *= 2)
			k++
		up = k + (q < p) # log2 of p, rounded up
		one = p == 1
		edge = p - 1
		all = p * (p - 1)
		two = q == p # a power of two
		most = most4 = subtrees = bits = before = shifted = high3 = flattest = 0
		for (v = 1; v < p; v++) {
			n = digits(v, 2)
			bits += n
			most = n > most ? n : most
			n = digits(v, 4)
			most4 = n > most4 ? n : most4
			n = lowbit(v)
			subtrees += n < p - v ? n : p - v
		}
		for (d = 1; d < p; d *= 2)
			before += p - d
		for (d = 1; d < p - 1; d *= 2)
			shifted += p - 1 - d
		for (v = edge; v > 0; v = int((v - 1) / 3))
			high3++ # of a trinary tree
		cube = p # the sides of the torus that is most like a cube, together
		for (x = 2; x < p; x++)
			for (y = 2; x * y < p; y++)
				if (p % (x * y) == 0 && p / (x * y) > 1 && x + y + p / (x * y) < cube) {
					cube = x + y + p / (x * y)
					flattest = x == 2 || y == 2 || 2 * x * y == p
				}
		for (d = 1; d < p; d *= 3) {
			steps++
			ways += 1 + (2 * d < p)
		}
		split_one = root > 0 && digits(p - root, 2) != 1 # the subtree with ranks p - 1 and 0
		tree = two ? 2 * k + one : "-"
		flat = one ? 0 : 2
		s = 8 # segments

		if (name == "barrier_dissemination") row(0, p * ways, 0, steps + ways)
		if (name == "barrier_linear") row(0, all, 0, flat)
		if (name == "barrier_tree") row(0, 2 * edge, 0, two ? 4 * k + 1 : "-")

		if (name == "bcast_linear") row(0, edge, edge, flat)
		if (name == "bcast_binomial") row(0, edge, edge, 2 * most)
		if (name == "bcast_knomial") row(0, edge, edge, 2 * most4)

		if (name == "bcast_chain") row(0, s * edge, edge, 2 * edge)
		if (name == "bcast_binary") row(0, s * edge, edge, 2 * k)
		if (name == "bcast_trinary") row(0, s * edge, edge, 2 * high3)
		if (name == "bcast_trinaryx3") row(0, 3 * s * edge, edge, 2 * (cube - (flattest ? 2 : 3)))
		if (name == "bcast_scatter_allgather") row(0, edge + all, edge, "-")

		if (name == "gather_linear" || name == "scatter_linear") row(0, edge, edge, flat + one)
		if (name == "gather_binomial" || name == "scatter_binomial") row(0, edge + split_one, subtrees, tree)

		if (name == "allgather_linear") row(0, all, all, flat + one)
		if (name == "allgather_ring") row(0, all, all, 2 * p - 1)
		if (name == "allgather_bruck") row(0, p * up, all, 2 * up + 2)
		if (name == "allgather_recursive_doubling")
			row(0, q * k + 2 * (p - q), two ? all : "-", two ? 2 * k + 1 : "-")
		if (name == "allgather_neighbor_exchange")
			row(0, p % 2 ? (p - 1) * (p - 1) / 2 + 2 * !one : p * p / 2, p % 2 ? "-" : all, p % 2 ? "-" : p + 1)

		if (name == "alltoall_linear") row(0, all, all, flat + one)
		if (name == "alltoall_pairwise") row(0, all, all, 2 * edge + one)
		if (name == "alltoall_bruck") row(0, p * up, p * bits, "-")

		if (name == "reduce_binomial") row(edge, edge, edge, root == 0 && two ? 3 * k + one : "-")
		if (name == "reduce_linear") row(edge, edge, edge, "-")
		if (name == "reduce_knomial") row(edge, edge, edge, "-")
		if (name == "reduce_rabenseifner") row(p - q + q * k, p - q + q * k + q - 1, "-", "-")
		if (name == "reduce_chain")
			row(s * edge, s * edge, edge, root == 0 || root == p - 1 ? (one ? 1 : 3 * edge) : "-")
		if (name == "allreduce_recursive_doubling")
			row(q * k + p - q, q * k + 2 * (p - q), q * k + 2 * (p - q), two ? 1 + 3 * k : "-")
		if (name == "allreduce_rabenseifner") row(p - q + q * k, 2 * (p - q) + 2 * q * k, "-", "-")
		if (name == "allreduce_ring") row(all, 2 * all, 2 * edge, "-")
		if (name == "allreduce_linear") row(all, all, all, "-")
		if (name == "allreduce_slices") row(all, 2 * all, 2 * edge, "-")
		if (name == "reduce_slices") row(all, all + edge, edge + (root != 0), "-")
		if (name == "allreduce_reduce_bcast") row(edge, 2 * edge, 2 * edge, "-")

		if (name ~ /^reduce_scatter_block_(linear|pairwise|ring)$/) row(all, all, all, "-")
		if (name == "reduce_scatter_block_recursive_halving")
			row(p - q + q * k, 2 * (p - q) + q * k, two ? all : "-", "-")

		if (name == "scan_chain") row(edge, edge, edge, one ? 1 : 3 * edge)
		if (name == "scan_binomial") row(before, before, before, "-")
		if (name == "scan_linear") row(all / 2, all / 2, all / 2, "-")
		if (name == "scan_slices") row(all, all + edge * edge, 2 * edge, "-")
		if (name == "exscan_chain") row(one ? 0 : p - 2, edge, edge, one ? 0 : 3 * edge)
		if (name == "exscan_linear") row(one ? 0 : edge * (p - 2) / 2, all / 2, all / 2, "-")
		if (name == "exscan_binomial") row(shifted, edge + shifted, edge + shifted, "-")
	}'
}

# forms NAME TEXT: what differs from the closed forms, and what does not compile without a word
forms()
{
	local p root rooted d row want got said k cases=() keys=(reduces sends bytes depth recvs)

	for p in $(fitting "$2" 1 5 8 100); do # for any count
		goalc "$2" -n "$p" -o "$TMP/s.bin" >"$TMP/err" 2>&1 || echo " -n $p"
		[ -s "$TMP/err" ] && echo " -n $p: $(head -n 1 "$TMP/err")"
	done
	rooted=$(grep -c '^schedule.*root = 0' "$2")
	# shellcheck disable=SC2086
	for p in $(fitting "$2" $SIZES); do
		cases+=("$p 0")
		[ "$rooted" -gt 0 ] && [ "$p" -gt 1 ] || continue
		case ${SWEEP:-}.$((p % 2)) in
		all.?) cases+=("$p $((p / 2))" "$p $((p - 1))") ;;
		*.1) cases+=("$p $((p / 2))") ;;
		*.0) cases+=("$p $((p - 1))") ;;
		esac
	done
	printf '%s\n' "${cases[@]}" >"$TMP/cases"
	expected "$1" <"$TMP/cases" >"$TMP/rows"
	[ "$(wc -l <"$TMP/rows")" -eq ${#cases[@]} ] || { echo " no closed form"; return; }
	while read -r p root row; do
		d=() got=()
		[ "$rooted" -eq 0 ] || d=(-D "root=$root")
		said=$(ulimit -t 60; exec "$GOALC" --stats --json "$2" -n "$p" -D count=1 "${d[@]}" 2>&1) # goalc, with one shell less
		read -r -a want <<<"$row"
		want+=("${want[1]}") # each send has its recv
		for k in "${!keys[@]}"; do
			[[ $said =~ \"${keys[k]}\":\ ([0-9]+) ]] && got[k]=${BASH_REMATCH[1]}
			[ "${want[k]}" = - ] && want[k]=${got[k]:-none}
		done
		[ "${got[*]}" = "${want[*]}" ] || echo " -n $p root $root: ${got[*]}, not ${want[*]};"
	done < <(paste -d ' ' "$TMP/cases" "$TMP/rows")
}

for s in schedules/*.goal; do
	name=$(basename "$s" .goal) bad=
	goalc "$s" -o "$TMP/s.bin" 2>"$TMP/err" || bad='does not compile'
	[ -s "$TMP/err" ] && bad=$(head -n 1 "$TMP/err")
	check "schedules.$name.parametric $bad" [ -z "$bad" ]
	check "schedules.$name.source" grep -q '^// Source: ' "$s"
	if grep -qE '^schedule.*(local|\[[^]]*\][,)])|^ .*implements' "$s"; then
		continue # what it does depends on vectors without a default
	fi
	bad=$(forms "$name" "$s")
	check "schedules.$name.sizes$bad" [ -z "$bad" ]
done

# As texts: at most 60 lines of at most 118 columns, and no six statements in a row that stand in two places.
long=$(awk 'FNR > 60 || length > 118 { print FILENAME ":" FNR; nextfile }' schedules/*.goal )
check "schedules.short $long" [ -z "$long" ]
# A program may leave out the scratch buffers, because they are declared last.
early=$(awk 'FNR == 1 { scratch = 0 } /^buffer/ && $2 != "scratch" && scratch { print FILENAME } /^buffer scratch/ { scratch = 1 }
	/^rank/ { scratch = 0 }' schedules/*.goal)
check "schedules.scratch_last $early" [ -z "$early" ]
twice()
{
	awk '
	FNR == 1 { n = 0 }
	{
		sub(/\/\/.*/, "")
		gsub(/[ \t}]+/, "")
		if ($0 == "")
			next
		line[n++] = $0
		run = ""
		for (i = n - 6; i >= 0 && i < n; i++)
			run = run line[i] "\n"
		if (run in seen)
			print FILENAME ":" FNR " and " seen[run]
		else if (run != "")
			seen[run] = FILENAME ":" FNR
	}' "$@"
}
found=$(twice schedules/*.goal schedules/lib/*.goal)
check "schedules.once $found" [ -z "$found" ]
cp schedules/reduce_chain.goal "$TMP/again.goal"
found=$(twice schedules/reduce_chain.goal "$TMP/again.goal")
check "schedules.once finds what stands twice" [ -n "$found" ]

# man/schedules.7 lists each of them under its collective, with the parameters that have defaults, and no others.
for s in schedules/*.goal; do
	tr '\n' ' ' <"$s" | grep -oE "schedule $(basename "$s" .goal)\>[^)]*\)? implements [A-Za-z_]+" |
		sed -E 's/^schedule ([a-z0-9_]+)(\((.*)\))? implements (.*)/\4 \1 \3/; s/root = [0-9]+,? ?//; s/(local|rootonly|global) //g' |
		awk '{
			row = $1 " " $2
			sub(/^[^ ]+ [^ ]+ */, "")
			n = split($0, param, / *, */)
			for (i = 1; i <= n; i++)
				if (sub(/(\[[0-9]+\])? *=.*/, "", param[i]))
					row = row " " param[i]
			print row
		}'
done | sort >"$TMP/there"
awk '/^\.Ss / { ss = $2 } /^\.It Cm / { sub(/^\.It Cm /, ""); sub(/ Va /, " "); gsub(/ *,/, ""); print ss, $0 }' \
	man/schedules.7 | sort >"$TMP/listed"
check "schedules.manual $(diff "$TMP/there" "$TMP/listed" | head -n 3 | tr '\n' ' ')" cmp -s "$TMP/there" "$TMP/listed"
finish
