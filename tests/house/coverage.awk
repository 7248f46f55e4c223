# SPDX-License-Identifier: BSD-3-Clause
# What gcov -t prints of all objects -> for lang, format, compiler, runtime, goalrun, goalinfo, backends and their total:
# lines run, lines that could have run. A line that was compiled several times counts once. -v report=FILE: the lines that did not run.
BEGIN {
	FS = ":"
	printf "" >report
}
# "        -:    0:Source:lang/parse.c" begins each file; "    #####:   88:	text" are its lines.
$2 + 0 == 0 {
	if ($3 == "Source") {
		source = $4
		dir = source
		sub(/\/.*/, "", dir)
		counts = dir ~ /^(lang|format|compiler|runtime|goalrun|goalinfo|backends)$/
	}
	next
}
counts && $1 !~ /^ *-$/ {
	at = source ":" $2 + 0
	if (!(at in text)) {
		order[n++] = at
		text[at] = substr($0, length($1) + length($2) + 3)
		all[dir]++
	}
	if ($1 ~ /[0-9]/ && !(at in ran)) {
		ran[at] = 1
		hit[dir]++
	}
}
END {
	for (i = 0; i < n; i++)
		if (!(order[i] in ran))
			print order[i] ":" text[order[i]] >report
	for (dir in all) {
		print dir, hit[dir] + 0, all[dir]
		lines += all[dir]
		hits += hit[dir]
	}
	print "total", hits + 0, lines + 0
}
