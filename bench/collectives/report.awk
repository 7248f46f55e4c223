# SPDX-License-Identifier: BSD-3-Clause
# Makes tables of the output of drive (drive.c) for one number of ranks, and a text for plot in the file `picture`.
# Limit and peer are those that have come to the final of a cell; heats have lines of their own. Cells that miss a bar (bench/README.md)
# are marked with its number.

BEGIN { CONVFMT = "%.6g"; OFMT = "%.4g" }
/^# machine: / { machine = substr($0, 3) }
/^# runs: / { runs = substr($0, 3) }
/^none/ {
	text = $0
	sub(/^none /, "", text)
	nones[++nnones] = text
}
/^cell/ {
	n = $2; key = $3 " " $4; us = $8
	if (!(n in ranks)) { ranks[n] = 1; order[++nranks] = n }
	if (!((n, key) in seen)) { seen[n, key] = 1; cells[n, ++ncells[n]] = key }
	if ($5 == "limit" && $11 != "-" && (!((n, key) in hand) || $11 < hand[n, key])) hand[n, key] = $11
	if ($5 == "ours" && $7 == "call") { call[n, key] = $11; next }
	if ($5 == "peer") peers[n] = 1
	if ($5 == "limit" || $5 == "private" || $5 == "peer") {
		who = $5 == "peer" ? $6 " " $7 : $7
		if (!((n, key, $5) in best) || us < best[n, key, $5]) {
			best[n, key, $5] = us
			name[n, key, $5] = who
			spread[n, key, $5] = $9 " " $10
		}
		next
	}
	side = $5 == "ours" ? $7 : $6 " " $7
	if (!((n, side) in known)) { known[n, side] = 1; sides[n, ++nsides[n]] = side; role[side] = $5 }
	time[n, key, side] = us
	spread[n, key, side] = $9 " " $10
	start[n, key, side] = $11
	init[n, key, side] = $12
	first[n, key, side] = $13
}

function ratio(a, b) { return a == "" || b == "" || a == "-" || b == "-" ? "-" : a / b }
function shown(x) { return x == "-" || x == "" ? "-" : sprintf("%.2f", x) }
function time_of(x) { return x == "-" || x == "" ? "-" : sprintf(x < 10 ? "%.3f" : x < 1000 ? "%.1f" : "%.0f", x) }
function words(bytes) {
	if (bytes >= 1048576 && bytes % 1048576 == 0) return bytes / 1048576 " MiB"
	if (bytes >= 1024 && bytes % 1024 == 0) return bytes / 1024 " KiB"
	return bytes " B"
}
# Adds to the geometric mean of that name.
function count(what, x) { if (x != "-") { logs[what] += log(x); numbers[what]++ } }
function mean(what) { return what in numbers ? exp(logs[what] / numbers[what]) : "-" }

# The bars that a cell misses: ours, the limit and the best peer.
function missed(n, ours, limit, peer,    m) {
	m = ""
	if (n == 2 && ratio(ours, limit) != "-" && ours / limit > 1.5) m = m " 1"
	if (ratio(peer, ours) == "-") return m
	if (n > 2) return peer / ours < 1 ? m " 4" : m
	if (peer / ours < 1 || (ratio(peer, limit) != "-" && peer / limit >= 1.35 && peer / ours < 1.15)) m = m " 2"
	return m
}

# The library with its buffers in the shared heap, the limit and the best peer.
function print_lead(n,    i, key, f, limit, ours, peer) {
	printf "%d ranks, buffers of the library in its shared heap; us\n", n
	printf "%-20s %8s %10s %-8s %10s %10s %-30s %10s %10s %10s %s\n", "collective", "bytes", "limit", "", "ours", "peer", "", "ours/limit",
		"peer/ours", "peer/limit", "misses"
	for (i = 1; i <= ncells[n]; i++) {
		key = cells[n, i]
		split(key, f, " ")
		limit = best[n, key, "limit"]; peer = best[n, key, "peer"]; ours = time[n, key, "shared"]
		count(n " ours/limit", ratio(ours, limit))
		count(n " peer/ours", ratio(peer, ours))
		count(n " peer/limit", ratio(peer, limit))
		printf "%-20s %8d %10s %-8s %10s %10s %-30s %10s %10s %10s%s\n", f[1], f[2], time_of(limit), name[n, key, "limit"], time_of(ours),
			time_of(peer), name[n, key, "peer"], shown(ratio(ours, limit)), shown(ratio(peer, ours)), shown(ratio(peer, limit)),
			missed(n, ours, limit, peer)
	}
	printf "%-29s %10s %-8s %10s %10s %-30s %10s %10s %10s\n", "geometric mean", "", "", "", "", "", shown(mean(n " ours/limit")),
		shown(mean(n " peer/ours")), shown(mean(n " peer/limit"))
	printf "%-105s %10s %10s\n\n", "its bar", n == 2 ? "1.12" : "-", mean_bar(n, "shared")
}

# The bar of the geometric mean of peer / ours, for a memory of the library.
function mean_bar(n, side) {
	if (n > 2) return side == "shared" ? "1.50" : "-"
	return side == "shared" ? "1.55" : side ~ / (alloc_mem|moved)$/ ? "1.40" : side ~ / ordinary$/ ? "1.20" : "-"
}
# The head of a table with columns of those names, and one for each memory of the library.
function print_head(n, text, width, before,    k) {
	printf "%d ranks, %s\n%-20s %8s%s", n, text, "collective", "bytes", before
	for (k = 1; k <= nsides[n]; k++) printf " %" width "s", sides[n, k]
	printf "\n"
}
# The collective and the bytes of a cell.
function print_cell(key,    f) {
	split(key, f, " ")
	printf "%-20s %8d", f[1], f[2]
}
# peer / ours for each memory of the library, and peer / what is written by hand in private memory.
function print_memory(n,    i, k, key, r) {
	print_head(n, "best peer / ours; * is slower than the peer; by hand: best peer / by hand in private memory", 20, "  by hand")
	for (i = 1; i <= ncells[n]; i++) {
		key = cells[n, i]
		print_cell(key)
		r = ratio(best[n, key, "peer"], best[n, key, "private"])
		count(n " by hand", r)
		printf " %8s", shown(r)
		for (k = 1; k <= nsides[n]; k++) {
			r = ratio(best[n, key, "peer"], time[n, key, sides[n, k]])
			count(n " " sides[n, k], r)
			printf " %20s", (r != "-" && r < 1 ? "* " : "") shown(r)
		}
		printf "\n"
	}
	printf "%-29s %8s", "geometric mean", shown(mean(n " by hand"))
	for (k = 1; k <= nsides[n]; k++) printf " %20s", shown(mean(n " " sides[n, k]))
	printf "\n%-29s %8s", "its bar", "-"
	for (k = 1; k <= nsides[n]; k++) printf " %20s", mean_bar(n, sides[n, k])
	printf "\n\n"
}

# x as a time, and a star if it is above the bar.
function barred(x, bar) { return (x != "-" && x > bar ? "*" : "") time_of(x) }
# What start and init cost. The bars are for the library alone: a start of up to 8 ranks, an init of 2. Beside them is what the machine
# takes where the data have filled the caches: a call of the library that does nothing, and a start by hand, which stores a number in a
# line that the ranks share.
function print_starts(n,    i, k, key, s) {
	print_head(n, "start, init after the first, and the first init; us; * is above the bar; call: of a function that does nothing", 26,
		"     call  by hand")
	for (i = 1; i <= ncells[n]; i++) {
		key = cells[n, i]
		print_cell(key)
		printf " %8s %8s", barred(call[n, key], .1), barred(hand[n, key], .1)
		for (k = 1; k <= nsides[n]; k++) {
			s = sides[n, k]
			printf " %26s", sprintf("%8s %8s %8s", barred(start[n, key, s], role[s] == "ours" ? .1 : 1e9),
				barred(init[n, key, s], role[s] == "ours" && n == 2 ? 10 : 1e9), time_of(first[n, key, s]))
		}
		printf "\n"
	}
	printf "\n"
}

# A time and its spread in units of the limit, as plot wants them.
function in_limits(n, key, side, x,    f, limit) {
	limit = best[n, key, "limit"]
	if (x == "" || x == "-") return "-"
	split(spread[n, key, side], f, " ")
	return x / limit ":" f[1] / limit ":" f[2] / limit
}
# A plot for each collective: times in units of the limit, as bars.
function draw(n, file,    i, key, f, at, what, nplots, plots, rows, labels) {
	for (i = 1; i <= ncells[n]; i++) {
		key = cells[n, i]
		split(key, f, " ")
		what = f[1]
		if (!((n, key, "limit") in best)) continue
		if (!(what in at)) { at[what] = 0; plots[++nplots] = what }
		labels[what] = labels[what] (at[what] ? ", " : "") (f[2] ? words(f[2]) : "no data")
		rows[what] = rows[what] at[what]++ " " in_limits(n, key, "shared", time[n, key, "shared"]) " " \
			in_limits(n, key, "peer", best[n, key, "peer"]) " 1\n"
	}
	if (!nplots) return
	print "title: Time of collectives on " n " ranks, beside MPI libraries and versions written by hand" >file
	print machine "\n" runs "; a bar is the median, its line goes from the 10th to the 90th percentile" >file
	print "note: A time lasts from the common start until the last rank has read what it received. It is divided by that of the fastest version written by hand." >file
	for (i = 1; i <= nplots; i++) {
		print "plot: " plots[i] "\nx: size of a block\ny: relative time\nseries: bars ours, bars best peer, line limit" >file
		print "meaning: ours: goalsched, buffers in its shared heap\nmeaning: best peer: the fastest setting of an MPI library\nmeaning: limit: the fastest version written by hand\nnames: " labels[plots[i]] >file
		printf "%s", rows[plots[i]] >file
	}
	close(file)
}

END {
	for (k = 1; k <= nranks; k++) {
		n = order[k]
		print_lead(n)
		if (n in peers) print_memory(n)
		print_starts(n)
		draw(n, picture)
	}
	for (k = 1; k <= nnones; k++) print "not measured: " nones[k]
}
