# SPDX-License-Identifier: BSD-3-Clause
#
# Reports what a reader of a man page would see as a mistake. Input: the page as `mandoc -T html -O fragment` renders it, then,
# after a line "TEXT" each, the page as text of 80 columns, from any number of programs. Examples are not looked at.
#
# Variables: pages, options: the pages that may be referred to, as name(n), and the options that may be named, with blanks
# before and after each. rows: if it is 1, prints the options of the list below "Options" instead, each with a + if it takes
# an argument.

BEGIN {
	n = split("Ad Ao Ap Aq Ar Bc Bd Bf Bk Bl Bo Bq Brq Bx Cd Cm D1 Dd Dl Dq Dt Dv Ed Ef Ek El Em Er Ev Fa Fc Fd Fl Fn " \
		"Fo Ft Ic Lb Li Lk Mt Nd Nm Ns Oc Oo Os Ot Pa Pc Pf Po Pp Pq Qc Ql Qo Qq Rs Rv Sc Sh Sm Sq Ss St Sx Sy Ta Tn Ud Va Vt " \
		"Xc Xo Xr", w)
	for (i = 1; i <= n; i++)
		macro[w[i]] = 1
}

function report(text) { if (!rows) print text }

# Returns the characters that entities stand for.
function decode(s) {
	gsub(/&lt;/, "<", s); gsub(/&gt;/, ">", s); gsub(/&quot;/, "\"", s); gsub(/&#x00A0;/, " ", s); gsub(/&#x2212;/, "-", s)
	gsub(/&#x[0-9A-F]*;/, "'", s); gsub(/&amp;/, "\\&", s)
	return s
}

function squeeze(s) { gsub(/[ \t]+/, " ", s); sub(/^ /, "", s); sub(/ $/, "", s); return s }

# Returns text without the marks of options and of the macro In.
function plain(s) { gsub(/[\002\004\005]/, "", s); return s }

# Stores the lines of examples, and joins the rest of the HTML.
function take_html(line,   before, example) {
	if (line ~ /<h1/)
		in_synopsis = line ~ /id="SYNOPSIS"/
	if (in_pre || line ~ /<pre>/) {
		before = in_pre ? "" : line
		sub(/<pre>.*/, "", before)
		html = html before
		example = line
		sub(/.*<pre>/, "", example)
		in_pre = example !~ /<\/pre>/
		sub(/<\/pre>.*/, "", example)
		gsub(/<[^>]*>/, "", example)
		if (!in_synopsis)
			examples[squeeze(decode(example))] = 1
		if (!in_pre) {
			sub(/.*<\/pre>/, "", line)
			html = html line
		}
		return
	}
	html = html " " line
}

# Splits the HTML into lines, one for each block. After \003 a letter says what the block is: H a heading, T a tag of a list, D a
# display of one line, X the head or foot of the page. An option is between \002 and \004; \005 follows the <
# that the macro In has written; \001 replaces literal text.
function blocks(s) {
	gsub(/[ \t]+/, " ", s)
	gsub(/<td class="(head|foot)[^>]*>/, "\n\003X", s)
	gsub(/<h[12][^>]*>/, "\n\003H", s)
	gsub(/<dt[^>]*>/, "\n\003T", s)
	gsub(/<div class="Bd Bd-indent">(<code class="Li">)?/, "\n\003D", s)
	gsub(/<(p|div|td|tr|table|li|dl|dd|section|br|head)[ >\/][^>]*>?/, "\n", s)
	gsub(/<\/(h1|h2|dt|dd|td|table|section|div|p|li|dl)>/, "\n", s)
	gsub(/<code class="Fl">[^<]*/, "\002&\004", s)
	gsub(/<code class="Li">[^<]*<\/code>/, "\001", s)
	gsub(/<code class="In">&lt;/, "\\&lt;\005", s)
	gsub(/<[^>]*>/, "", s)
	return decode(s)
}

function check_references(s,   ref) {
	while (match(s, /[A-Za-z][A-Za-z0-9_.-]*\([1-8]\)/)) {
		ref = substr(s, RSTART, RLENGTH)
		s = substr(s, RSTART + RLENGTH)
		if (!index(pages, " " ref " "))
			report("there is no page " ref)
	}
}

function check_words(s,   i, n, w, word) {
	n = split(s, w, /[ ,.;:()\[\]]+/)
	for (i = 1; i <= n; i++)
		if (w[i] in macro)
			report("the macro " w[i] " is rendered as a word: " s)
	if (s ~ /[^ ] +[,;)]/ || s ~ /[A-Za-z0-9] \[[:,@=]/ || s ~ /\( /)
		report("there is a stray blank: " s)
}

function check_options(s,   n, w, i, option) {
	n = split(s, w, "\002")
	for (i = 2; i <= n; i++) {
		option = substr(w[i], 1, index(w[i], "\004") - 1)
		sub(/[^\004]*\004/, "", w[i])
		if (option != "--" && !index(options, " " option " "))
			report("the word " option " is rendered as an option: " plain(s))
		else if (w[i] ~ /^[A-Za-z0-9]/ && option != "-W")
			report("the option " option " is glued to the next word: " plain(s))
	}
}

# A form of a command: required options come before optional ones, so that two forms that have become one are found.
function check_form(s) {
	while (gsub(/\[[^][]*\]/, "?", s))
		;
	gsub(/\| *\002/, "|", s)
	gsub(/\002--\004/, "", s)
	if (s ~ /\?.*\002/)
		report("a required option follows an optional one: are these two forms? " plain(s))
}

function print_rows(s,   n, w, i, o) {
	n = split(s, w, "\002")
	for (i = 2; i <= n && rows; i++) {
		o = substr(w[i], 1, index(w[i], "\004") - 1)
		sub(/[^\004]*\004[ ,]*/, "", w[i])
		print o (w[i] == "" ? "" : "+")
	}
}

function check_block(s,   kind) {
	if (s ~ /^\003/) {
		kind = substr(s, 2, 1)
		s = substr(s, 3)
	}
	s = squeeze(s)
	if (s == "" || kind == "X")
		return
	if (kind == "H") {
		if (section == "SYNOPSIS" && !synopsis)
			report("the synopsis is empty")
		if (s ~ /^[A-Z][A-Z ]+$/)
			section = s
		heading = s
	} else if (section == "SYNOPSIS") {
		synopsis++
		check_form(s)
	}
	if (kind == "T" && heading == "Options" && s ~ /^\002/)
		print_rows(s)
	if (kind == "D" && length(plain(s)) > 69)
		report("an example does not fit on its line: " plain(s))
	check_options(s)
	if (match(s, /<\005[^>]*>/) && substr(s, RSTART, RLENGTH) !~ /\.h>$/)
		report("a word is taken for the macro In: " plain(substr(s, RSTART, RLENGTH)))
	s = plain(s)
	check_references(s)
	check_words(s)
}

function check_html(   n, b, i) {
	n = split(blocks(html), b, "\n")
	for (i = 1; i <= n; i++)
		check_block(b[i])
	if (section == "SYNOPSIS" && !synopsis)
		report("the synopsis is empty")
}

# A line of the page as text.
function check_line(s,   t) {
	t = squeeze(s)
	if (t == "" || t in examples || s ~ /^[A-Z].*[a-zA-Z]/ && s ~ /  /)
		return
	if (length(s) > 80)
		report("a line has more than 80 columns: " t)
	match(s, /^ */) # groff 1.23 indents a page by 2 columns more than 1.22 and mandoc
	if (RLENGTH > 62)
		report("a column is too narrow: " t)
}

$0 == "TEXT" { texts++; if (texts == 1) check_html(); next }
!texts { take_html($0) }
texts { check_line($0) }
END { if (!texts) check_html() }
