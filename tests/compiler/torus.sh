#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# bcast_trinaryx3 on tori. Every link of its trees is one between neighbours, and is used by one tree only and once for each
# segment. No rank has more than three children in a tree, and levels are distances from the leaves. A link is a pair of ranks
# in one direction; if a side is 2, up and down count as one link. Then the verifier proves all shapes of up to 36 ranks, and
# some are run.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1
trinaryx3=schedules/bcast_trinaryx3.goal

# shapes RANKS : all with sides of at least 2 and at most that many places
shapes()
{
	awk -v most="$1" 'BEGIN {
		for (x = 2; 4 * x <= most; x++)
			for (y = 2; 2 * x * y <= most; y++)
				for (z = 2; x * y * z <= most; z++)
					print x "," y "," z
	}'
}

# links SHAPE ROOT SEGMENTS SCHEDULE : what is wrong with the messages. An element is a segment of a fragment.
links()
{
	goalc --emit=json "$4" -n $((${1//,/*})) -D shape="$1" -D root="$2" -D segments="$3" -D count=$((3 * $3)) |
		awk -F'[:,]' -v shape="$1" -v root="$2" -v segments="$3" '
		function wrong(text) { if (bad++ < 3) printf " %s from %s to %s;", text, rank, peer }
		function neighbours(u, v,    d, n, by, a, b) {
			for (d = 3; d >= 1; d--) {
				a = u % side[d]; b = v % side[d]
				u = (u - a) / side[d]; v = (v - b) / side[d]
				if (a != b) {
					n++
					by = (b - a + side[d]) % side[d]
				}
				if (a != b && by != 1 && by != side[d] - 1)
					n = 2
			}
			return n == 1
		}
		function message(    tree, link) {
			tree = int(off / segments)
			if (op == "recv") {
				got[rank, off]++
				parent[rank, tree] = peer
				below[rank, tree] = level
				return
			}
			link = rank "-" peer
			above[peer, tree] = level
			if (level >= rows[rank, tree]) rows[rank, tree] = level + 1
			if (len != 1 || nic != tree) wrong("another fragment, or interface, than its tree has")
			if (!neighbours(rank, peer)) wrong("a message to no neighbour")
			if (++used[link, off] > 1) wrong("a segment goes twice")
			if (link in owner && owner[link] != tree) wrong("two trees share the link")
			if (!(link in owner) && ++children[rank, tree] > 3) wrong("four children")
			owner[link] = tree
		}
		BEGIN { split(shape, side, ","); p = side[1] * side[2] * side[3]; rank = -1 }
		/^    \[/ { rank++ }
		/"op":/ { op = $2; gsub(/"/, "", op); nic = level = 0 }
		/"peer":/ { peer = $2 }
		/"off":/ { off = $2 }
		/"len":/ { len = $2 }
		/"nic":/ { nic = $2 }
		/"level":/ { level = $2 }
		/"requires":/ { message() }
		END {
			if (rank != p - 1) printf " it ends at rank %d;", rank
			for (rank = 0; rank < p; rank++)
				for (e = 0; e < 3 * segments; e++)
					if (got[rank, e] != (rank != root)) wrong("a segment of fragment " int(e / segments) " missing")
			for (t = 0; t < 3; t++)
				for (rank = 0; rank < p; rank++) {
					hops = 0
					if (rank != root && (below[rank, t] != above[rank, t] || below[rank, t] != rows[rank, t] + 0))
						wrong("a level that is not the distance from the leaves")
					for (peer = rank; peer != root && hops < p; hops++)
						peer = parent[peer, t]
					if (hops > side[1] + side[2] + side[3] - 2) wrong(hops " hops")
				}
		}'
}

# all SEGMENTS SHAPE... : from the first, a middle and the last root
all()
{
	local segments=$1 shape p root found

	shift
	for shape; do
		p=$((${shape//,/*}))
		for root in 0 $((p / 2 + 1)) $((p - 1)); do
			found=$(links "$shape" "$root" "$segments" $trinaryx3)
			[ -z "$found" ] || echo " $shape root $root:$found"
		done
	done
}
bad=$(all 2 $(shapes 36))
check "torus.links of $(shapes 36 | wc -l) shapes$bad" [ -z "$bad" ]
bad=$(all 1 5,4,3 2,2,25 2,25,2 25,2,2 7,5,3 6,6,6)
check "torus.links of larger shapes$bad" [ -z "$bad" ]
bad=$(links 8,8,8 77 1 $trinaryx3)
check "torus.links of 512 ranks$bad" [ -z "$bad" ]

# mutant NAME SED FAULT : it is found where the trees are laid out otherwise
mutant()
{
	cp -r schedules "$TMP/$1"
	sed -i "$2" "$TMP/$1/bcast_trinaryx3.goal" "$TMP/$1/lib/bcast_torus.goal"
	bad=$(links 4,3,2 5 2 "$TMP/$1/bcast_trinaryx3.goal")
	check "torus.mutant $1:$bad" [ "${bad#*"$3"}" != "$bad" ]
}
mutant one_tree '/^    first = x/,/^    dz = first/d' 'two trees share the link'
mutant other_strides 's/^  dx = y \* z/  dx = 1/; s/^  dz = 1$/  dz = x * y/; s/^  dy = z$/  dy = x/' 'to no neighbour'
mutant level 's/level min(low - 1, 65535)/level min(low, 65535)/' 'the distance from the leaves'
mutant one_interface 's/tni = t/tni = 0/' 'another fragment, or interface'

# The default is what MPI_Dims_create chooses; these are from MPICH 4.0 and Open MPI 4.1.
for shape in 2,2,2 3,2,2 4,2,2 3,3,2 5,2,2 4,3,2 3,3,3 7,2,2 5,3,2 4,4,2 4,3,3 5,4,3 5,5,4 13,13,3; do
	p=$((${shape//,/*}))
	check "torus.default $shape" cmp -s <(goalc --emit=goal $trinaryx3 -n $p -D count=9 -D root=1) \
		<(goalc --emit=goal $trinaryx3 -n $p -D count=9 -D root=1 -D shape=$shape)
done

# refused WHY RANKS OPTIONS...
refused()
{
	local why=$1 n=$2

	shift 2
	goalc $trinaryx3 -n "$n" "$@" -o "$TMP/x.bin" 2>"$TMP/err"
	check "torus.refused $n $* $(head -n 1 "$TMP/err")" [ -n "$(grep "error: .*$why" "$TMP/err")" -a ! -e "$TMP/x.bin" ]
}
for p in $(seq 1 40); do
	if takes $trinaryx3 "$p"; then
		check "torus.taken $p" goalc $trinaryx3 -n "$p" -o "$TMP/fits.bin"
	else
		refused 'each side of the torus is at least 2' "$p"
	fi
done
refused 'each side of the torus is at least 2' 12 -D shape=6,2,1
refused 'each side of the torus is at least 2' 36 -D shape=-6,-3,2
refused 'as many places as there are ranks' 12 -D shape=4,3,2
refused 'as many places as there are ranks' 12 -D shape=0,3,4
refused 'the vector shape has the wrong length' 12 -D shape=6,2

for shape in $(shapes 36) 5,4,3 4,5,6; do
	p=$((${shape//,/*}))
	goalc --verify $trinaryx3 -n $p -D shape="$shape" >"$TMP/out" 2>&1
	check "torus.proved $shape $(head -n 1 "$TMP/out")" grep -q ': it does what MPI_Bcast does' "$TMP/out"
done

# runs RANKS OPTIONS...
runs()
{
	local n=$1

	shift
	timeout 120 "$BUILD/bin/goalrun" -n "$n" --verify --warmup 1 --iters 20 --count 0,2,1000,30011 "$@" $trinaryx3 >"$TMP/out" 2>"$TMP/err"
	check "torus.runs $n $*: $(tail -n 1 "$TMP/err")" grep -q '^verified' "$TMP/out"
}
runs 8 --root all
runs 12 -D shape=2,3,2 --root 0,5,11 --ranks threads
runs 18 -D shape=2,3,3 -D segments=3 --root 7 --memory private
runs 36 -D shape=3,4,3 --root 31 --ranks threads --memory staged
finish
