#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The schedules of the library compile without a warning, parametric and for many sizes, and have the messages,
# elements, reductions and rounds of their algorithms: closed forms of the size p.
set -u
. "$(dirname "$0")/lib.sh"
cd "$ROOT" || exit 1
SIZES='1 2 3 4 5 6 7 8 9 11 13 16 17 31 33 64 100'

# expected NAME P ROOT: sends, reductions, elements sent for a count of 1, and the depth, or - where it has no
# simple form. A round is a send, its recv and what is done with it.
expected()
{
	awk -v name="$1" -v p="$2" -v root="$3" '
	function bits(x) { b = 0; while (x > 0) { b += x % 2; x = int(x / 2) } return b }
	function lowbit(x) { b = 1; while (x % 2 == 0) { b *= 2; x /= 2 } return b }
	BEGIN {
		for (q = 1; 2 * q <= p; q *= 2)
			k++
		k += 0
		up = k + (q < p) # log2 of p, rounded up
		one = p == 1
		most = subtrees = 0
		for (v = 1; v < p; v++) {
			most = bits(v) > most ? bits(v) : most
			n = lowbit(v)
			subtrees += n < p - v ? n : p - v
		}
		split_one = root > 0 && bits(p - root) != 1 # the subtree with ranks p - 1 and 0
		tree = q == p ? 2 * k + one : "-"
		if (name == "bcast_binomial") print p - 1, 0, p - 1, 2 * most
		if (name == "reduce_binomial") print p - 1, p - 1, p - 1, root == 0 && q == p ? 3 * k + 1 + one : "-"
		if (name == "allreduce_recursive_doubling")
			print q * k + 2 * (p - q), q * k + p - q, q * k + 2 * (p - q), q == p ? 1 + 3 * k : "-"
		for (d = 1; d < p; d *= 3) {
			steps++
			ways += 1 + (2 * d < p)
		}
		if (name == "barrier_dissemination") print p * ways, 0, 0, steps + ways
		if (name == "allgather_ring") print p * (p - 1), 0, p * (p - 1), 2 * p - 1
		if (name == "gather_binomial") print p - 1 + split_one, 0, subtrees, tree
		if (name == "scatter_binomial") print p - 1 + split_one, 0, subtrees, tree
		if (name == "alltoall_pairwise") print p * (p - 1), 0, p * (p - 1), 2 * (p - 1) + one
		if (name == "scan_chain") print p - 1, p - 1, p - 1, 3 * p - 2
	}'
}

key() { sed -E "s/.*\"$1\": ([0-9]+).*/\1/" "$TMP/stats"; }

for s in schedules/*.goal; do
	name=$(basename "$s" .goal) bad=
	goalc "$s" -o "$TMP/s.bin" 2>"$TMP/err" || bad='does not compile'
	[ -s "$TMP/err" ] && bad=$(head -n 1 "$TMP/err")
	check "schedules.$name.parametric $bad" [ -z "$bad" ]
	check "schedules.$name.source" grep -q '^// Source: ' "$s"
	for p in $SIZES; do
		goalc "$s" -n "$p" -o "$TMP/s.bin" 2>"$TMP/err" || bad="$bad -n $p"
		[ -s "$TMP/err" ] && bad="$bad -n $p: $(head -n 1 "$TMP/err")"
		roots=0
		grep -q 'root = 0' "$s" && roots=$(printf '%s\n' 0 $((p / 2)) $((p - 1)) | sort -nu)
		for root in $roots; do
			d=()
			grep -q 'root = 0' "$s" && d=(-D "root=$root")
			goalc --stats --json "$s" -n "$p" -D count=1 "${d[@]}" >"$TMP/stats" 2>&1
			read -r sends reduces bytes depth < <(expected "$name" "$p" "$root")
			[ "$depth" = - ] && depth=$(key depth)
			got="$(key sends) $(key recvs) $(key reduces) $(key bytes) $(key depth)"
			[ "$got" = "$sends $sends $reduces $bytes $depth" ] ||
				bad="$bad -n $p root $root: $got, not $sends $sends $reduces $bytes $depth;"
		done
	done
	check "schedules.$name.sizes$bad" [ -z "$bad" ]
done
finish
