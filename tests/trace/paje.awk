# SPDX-License-Identifier: BSD-3-Clause
# Reads a Paje trace by its own definitions: every line has the fields that the header says, uses only what is defined
# before, and comes in the order of time; what is pushed is popped, what is linked has two ends. Prints what is wrong, or
# "STATES states, LINKS links in CONTAINERS containers".
function wrong(why) { print FILENAME ":" FNR ": " why ": " $0; failed = 1; exit 1 }
function use(table, key, what) { if (!(key in table)) wrong("no " what " " key) }
# A line's words; what stands in quotes is one.
function split_line(s,    n, m) {
	for (n = 0; s != ""; sub(/^ +/, "", s)) {
		m = match(s, /^"[^"]*"/) ? RLENGTH : match(s, /^[^ ]+/) ? RLENGTH : 0
		if (!m) wrong("cannot be split")
		word[++n] = substr(s, 1, m)
		s = substr(s, m + 1)
	}
	return n
}
$1 == "%EventDef" { name = $2; if ($3 in event) wrong("defined twice"); event[$3] = name; fields = 0; number = $3; next }
$1 == "%EndEventDef" { many[number] = fields; next }
$1 == "%" {
	if ($3 !~ /^(date|int|double|hex|string|color)$/) wrong("no type of a field")
	field[number, ++fields] = $2; type[number, fields] = $3; next
}
{
	n = split_line($0)
	use(event, word[1], "event")
	if (n != many[word[1]] + 1) wrong("has " n - 1 " fields, not " many[word[1]])
	delete v
	for (i = 1; i < n; i++) {
		v[field[word[1], i]] = w = word[i + 1]
		t = type[word[1], i]
		if (t ~ /^(date|double)$/ && w !~ /^-?[0-9]+(\.[0-9]+)?$/ || t == "int" && w !~ /^-?[0-9]+$/ ||
		    t == "color" && w !~ /^"[01](\.[0-9]+)? [01](\.[0-9]+)? [01](\.[0-9]+)?"$/) wrong(field[word[1], i] " is no " t)
	}
	what = event[word[1]]
	if ("Time" in v) { if (v["Time"] + 0 < now) wrong("goes back in time"); now = v["Time"] + 0 }
}
what ~ /^PajeDefine(Container|State|Link|Entity)/ {
	if (v["Alias"] in types) wrong("defined twice")
	if (v["Type"] != "0") use(types, v["Type"], "type")
	types[v["Alias"]] = what; above[v["Alias"]] = v["Type"]
	if (what == "PajeDefineLinkType") { use(types, v["StartContainerType"], "type"); use(types, v["EndContainerType"], "type") }
}
what == "PajeCreateContainer" {
	use(types, v["Type"], "type")
	if (v["Container"] != "0") use(containers, v["Container"], "container")
	if (above[v["Type"]] != (v["Container"] == "0" ? "0" : containers[v["Container"]])) wrong("is in the wrong container")
	if (v["Alias"] in containers) wrong("created twice")
	containers[v["Alias"]] = v["Type"]; open[v["Alias"]] = 1; ncontainers++
}
what == "PajeDestroyContainer" { use(open, v["Name"], "open container"); if (depth[v["Name"]]) wrong("a state is left"); delete open[v["Name"]] }
what ~ /^Paje(Push|Pop)State$/ {
	use(open, v["Container"], "open container"); use(types, v["Type"], "type")
	if (above[v["Type"]] != containers[v["Container"]]) wrong("the container has no such states")
}
what == "PajePushState" { use(types, v["Value"], "value"); if (above[v["Value"]] != v["Type"]) wrong("no value of the type"); depth[v["Container"]]++; states++ }
what == "PajePopState" && --depth[v["Container"]] < 0 { wrong("nothing was pushed") }
what ~ /^Paje(Start|End)Link$/ {
	use(open, v["Container"], "open container"); use(types, v["Type"], "type")
	if (above[v["Type"]] != containers[v["Container"]]) wrong("the container has no such links")
}
what == "PajeStartLink" { use(open, v["StartContainer"], "open container"); if (v["Key"] in link) wrong("linked twice"); link[v["Key"]] = 1; links++ }
what == "PajeEndLink" { use(open, v["EndContainer"], "open container"); use(link, v["Key"], "link"); delete link[v["Key"]] }
END {
	if (failed) exit 1
	for (k in link) { print "link " k " has one end"; exit 1 }
	for (c in open) { print "container " c " is left"; exit 1 }
	print states + 0 " states, " links + 0 " links in " ncontainers + 0 " containers"
}
