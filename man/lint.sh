#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks the man pages: they are clean under mandoc and groff, every public function has a page, and what they say
# about names is what the programs say. What they show is compiled and run by tests/house/docs.sh.
#
# One line a case, `ok NAME` or `FAIL NAME why`; exit 0, 1, or 77 without mandoc, groff or a compiler.
# BUILD is the build directory, relative to the top of the source tree.

set -u
export LC_ALL=C.UTF-8

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
root=$PWD
build=${BUILD:-build}
case $build in /*) ;; *) build=$root/$build ;; esac
goalc=$build/bin/goalc
cc=${CC:-cc}

for tool in mandoc groff "$cc"; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
[ -x "$goalc" ] || { echo "skipped: $goalc is not built"; exit 77; }

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

# verdict NAME WHY: an empty WHY is a pass.
verdict() {
  if [ -z "$2" ]; then
    echo "ok $1"
  else
    echo "FAIL $1 $(head -n 1 <<<"$2")"
    sed 1d <<<"$2" >&2
    failed=1
  fi
}

# lint PAGE: what is wrong with its markup; a stub must name a page that names it.
lint() {
  local page=$1 name target
  name=$(basename "$page" | sed 's/\.[0-9]$//')
  sed -n 1p "$page" | grep -q '^\.\\" SPDX-License-Identifier: BSD-3-Clause$' || echo "the first line is no SPDX line"
  target=$(sed -n 's/^\.so man[0-9]\///p' "$page")
  if [ -n "$target" ]; then
    [ "$(wc -l <"$page")" -eq 2 ] || echo "a stub has two lines"
    grep -qE "^\.Nm $name( ,)?$" "man/$target" 2>/dev/null || echo "man/$target does not name $name"
    return
  fi
  mandoc -Tlint -Wwarning "$page" 2>&1
  groff -mdoc -ww -z -t "$page" 2>&1
  grep -qE "^\.Nm $name( ,)?$" "$page" || echo "its NAME does not have $name"
}

for page in man/*.[1-9]; do
  verdict "$(basename "$page")" "$(lint "$page")"
done

# References to pages of this directory.
missing=$(for ref in $(sed -n 's/^\.Xr \([^ ]*\) \([0-9]\).*/\1.\2/p; s/^.* Xr \([^ ]*\) \([0-9]\).*/\1.\2/p' man/*.[1-9] |
  grep -E '^(MPIX|goal|sched)' | sort -u); do [ -e "man/$ref" ] || echo "there is no man/$ref"; done)
verdict references "$missing"

# The headers and section 3 say the same.
functions=$(cat include/*.h | grep -v '^typedef' | grep -o 'MPIX_Sched_[a-z_]*(' | tr -d '(' | sort -u)
verdict functions-have-pages "$(for f in $functions; do [ -e "man/$f.3" ] || echo "$f has no page"; done)"
verdict pages-have-functions "$(for p in man/*.3; do
  f=$(basename "$p" .3)
  grep -qx "$f" <<<"$functions" || echo "$f is in no header"
done)"
verdict errors-are-listed "$(grep -o 'MPIX_SCHED_ERR_[A-Z_]*' include/mpix_sched.h | grep -v '_$' | sort -u | while read -r e; do
  grep -q "^\.It Dv $e$" man/MPIX_Sched_error_string.3 || echo "$e is not in MPIX_Sched_error_string.3"
done)"

# Names of checks and passes, and the options, in the pages and in the programs.
"$goalc" --list-checks | awk 'NR > 1 { print $1, $2, $3 }' >"$tmp/checks"
sed -n 's/^\.It Cm \([a-z-]*\) Ta \([a-z]*\) Ta \([a-z]*\) Ta .*/\1 \2 \3/p' man/goal.5 >"$tmp/checks.5"
verdict checks-goal.5 "$(diff "$tmp/checks" "$tmp/checks.5")"
cut -d' ' -f1 "$tmp/checks" | sort >"$tmp/names"
sed -n '/^\.Ss Checks/,/^\.Ss Stat/p' man/goalc.1 | sed -n 's/^\.Cm \([a-z-]*\).*/\1/p' | sort >"$tmp/names.1"
verdict checks-goalc.1 "$(diff "$tmp/names" "$tmp/names.1")"
"$goalc" --list-passes | awk '/^[^ ]/ { print $1 }' | sort >"$tmp/passes"
sed -n '/^\.Ss Passes/,/^\.Ss Checks/p' man/goalc.1 | sed -n 's/^\.It Cm \([a-z-]*\)$/\1/p' | sort >"$tmp/passes.1"
verdict passes-goalc.1 "$(diff "$tmp/passes" "$tmp/passes.1")"

# words_of PAGE MACRO : the words of the lists whose items begin with a macro
words_of() { sed -n "s/^\.It $2 //p" "$1" | sed 's/ Pq .*//; s/ , /\n/g'; }
verdict collectives-goal.5 "$(sed -n 's/^schedule \([A-Za-z_]*\).*/\1/p' compiler/collectives/collectives.goal | sort -u |
  while read -r c; do words_of man/goal.5 Dv | grep -qx "$c" || echo "the collective $c is not in the page"; done)"
verdict statistics-goalc.1 "$("$goalc" --stats -n 4 schedules/bcast_binomial.goal | while read -r s _; do
  words_of man/goalc.1 Va | grep -qx "$s" || echo "the statistic $s is not in the page"; done)"

# The options of a program and those of the lists in its page, each with a + if it takes an argument.
options_of_help() {
  sed -n 's/^  \(-.\{37\}\).*/\1/p' | awk '{ i = 1; while ($i ~ /,$/) i++
    for (k = 1; k <= i; k++) { sub(/,$/, "", $k); print $k (NF > i ? "+" : "") } }' | sort -u
}
options_of_page() {
  awk '/^\.It Fl / { for (i = 2; i < NF; i++) if ($i == "Fl") {
      o = $(i + 1) == "Fl" ? "--" $(i += 2) : "-" $(++i); print o (i < NF && $(i + 1) != "," ? "+" : "") } }' "$1" | sort -u
}
# differ HELP PAGE : options that only one of them has
differ() {
  comm -23 "$1" "$2" | sed 's/$/ is not in the page/'
  comm -13 "$1" "$2" | sed 's/$/ is no option of the program/'
}
for program in goalc goalrun; do
  [ -x "$build/bin/$program" ] || { echo "skipped: $program is not built"; continue; }
  "$build/bin/$program" --help | options_of_help >"$tmp/help"
  options_of_page "man/$program.1" >"$tmp/page"
  verdict "options-$program.1" "$([ -s "$tmp/help" ] || echo "--help shows no options"; differ "$tmp/help" "$tmp/page")"
  # An option that only one of them has is found, and so is one whose argument only one of them has.
  sed '1d; 2s/$/+/' "$tmp/page" >"$tmp/other"
  verdict "options-$program.1-differ" "$([ "$(differ "$tmp/help" "$tmp/other" | wc -l)" -eq 3 ] || echo "that is not found")"
  # Nor does the text speak of others.
  verdict "options-$program.1-text" "$(grep -oE 'Fl Fl [a-z-]+' "man/$program.1" | sort -u | while read -r _ _ o; do
    grep -qE "^--$o\+?$" "$tmp/help" || echo "--$o is no option of $program"
  done)"
done

# Basic types and operations.
# names LIST: the rows of a list of the header, name and word.
names() {
  printf '#include <mpix_sched.h>\n#define X(NAME, name, ...) @NAME name@\n%s(X)\n' "$1" |
    "$cc" -E -P -Iinclude - | grep -o '@[A-Z0-9_]* [a-z0-9_]*@' | tr -d @
}
basics=$(names MPIX_SCHED_BASIC_LIST)
builtins=$(names MPIX_SCHED_BUILTIN_LIST)
verdict types-are-listed "$(while read -r upper lower; do
  grep -q "MPIX_SCHED_$upper\b" man/MPIX_Sched_type_create.3 || echo "MPIX_SCHED_$upper is not in MPIX_Sched_type_create.3"
  grep -q "^\.Cm.*\b$lower\b\|^$lower\b" man/goalrun.1 || echo "$lower is not in goalrun.1"
done <<<"$basics")"
verdict operations-are-listed "$(while read -r upper lower; do
  grep -q "MPIX_SCHED_$upper\b" man/MPIX_Sched_init.3 || echo "MPIX_SCHED_$upper is not in MPIX_Sched_init.3"
  [ "$upper" = NO_OP ] || grep -q "^\.Cm.*\b$lower\b" man/goalrun.1 || echo "$lower is not in goalrun.1"
done <<<"$builtins")"
# Instructions and environment variables.
if [ -e format/insn.def ]; then
  sed -nE 's/^(INSN|ARITH)\([A-Z0-9]*, *([0-9]*), *"([^"]*)".*/\2 \3/p' format/insn.def >"$tmp/insns"
  sed -n 's/^\.It \([0-9]*\) Ta \([^ ]*\) Ta .*Ta .*/\1 \2/p' man/goal-bin.5 | sed 's/\\-/-/' >"$tmp/insns.5"
  verdict instructions-goal-bin.5 "$(while read -r line; do
    grep -qxF -- "$line" "$tmp/insns.5" || echo "instruction $line is not in goal-bin.5"
  done <"$tmp/insns")"
fi
if [ -e util/env.def ]; then
  verdict environment-goalsched.7 "$(diff <(sed -n 's/^ENV(\([A-Z_]*\),.*/\1/p' util/env.def | sort) \
    <(sed -n 's/^\.It Ev \([A-Z_]*\) Ta.*/\1/p' man/goalsched.7 | sort))"
fi

exit $failed
