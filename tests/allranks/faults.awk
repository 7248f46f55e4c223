# SPDX-License-Identifier: BSD-3-Clause
# Prints faults of a schedule that no sampled size shows, each as an expression of sed: one variable in a rank's program is one too
# large where a condition holds that needs more than 64 ranks, a high root, a late iteration or a large count.
# The buffers keep their declarations, and a level means nothing to a proof.

# What the program counts with. "to" and "from" are keywords as well.
BEGIN {
	split("r p k n v d to from steps root count", names)
	for (i in names)
		variable[names[i]] = 1
}

FNR == NR {
	text = text $0 "\n"
	next
}

FNR == 1 {
	late = text ~ /3\^k/ ? "k >= 4" : text ~ /2\^k/ ? "k >= 7" : ""
}

/^schedule / {
	inside = 0
	has_root = /\(root = /
}

/^rank / {
	inside = 1
	always = split("p > 64;p == 100;" $2 " == 77;" $2 " * 2^25 >= 2^31", conditions, ";")
	if (has_root)
		conditions[++always] = "root > 70"
	if (text ~ /count/)
		conditions[++always] = "count >= 2^20"
	next
}

!inside {
	next
}

{
	sub(/ *\/\/.*/, "")
	indent = match($0, /[^ ]/)
	if (loop && indent <= loop)
		loop = 0
	change(indent)
	if (match($0, /for [kn] = /)) {
		loop = indent
		index_name = substr($0, RSTART + 4, 1)
	}
}

# Prints the faults of a line.
function change(indent,    rest, at, name, before, after, last, seen, c, n) {
	rest = $0
	before = last = ""
	while (match(rest, /[A-Za-z_][A-Za-z_0-9]*/)) {
		name = substr(rest, RSTART, RLENGTH)
		before = before substr(rest, 1, RSTART - 1)
		rest = substr(rest, RSTART + RLENGTH)
		seen[name]++
		if (name == "level")
			return
		if (name in variable && used(name, before, rest, last)) {
			n = always
			if (loop)
				conditions[++n] = late != "" ? late : index_name " == 99"
			for (c = 1; c <= n; c++)
				printf "%ds/\\<%s\\>/(%s + (%s))/%d\n", FNR, name, name, conditions[c], seen[name]
		}
		before = before name
		last = name
	}
}

# Whether the value of this variable is used here, and it is not a keyword.
function used(name, before, rest, last) {
	if (rest ~ /^ = /)
		return 0
	if (name == "to" || name == "from")
		return last == name && before ~ /(to|from) $/ || before ~ /\[$/
	return rest !~ /^(\[|:| i?requires )/
}
