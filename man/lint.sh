#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks the man pages: they are clean under mandoc and groff, both render what is meant (rendered.awk), every public function
# has a page, and what they say about names is what the programs say. What they show is compiled and run by
# tests/house/docs.sh.
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

for tool in mandoc groff col "$cc"; do
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

# has_name PAGE NAME: whether the page's NAME has it.
has_name() {
  local line

  while IFS= read -r line; do
    case $line in ".Nm $2" | ".Nm $2 ,") return 0 ;; esac
  done <"$1"
  return 1
}

# What mandoc and groff say of all pages but stubs, in lines that name the page.
found=$(pages=$(grep -L '^\.so' man/*.[1-9])
  mandoc -Tlint -Wwarning $pages 2>&1
  groff -mdoc -ww -z -t $pages 2>&1)

# lint PAGE: what is wrong with its markup; a stub must name a page that names it.
lint() {
  local page=$1 name=${1##*/} target lines
  name=${name%.?}
  mapfile -t lines <"$page"
  [ "${lines[0]}" = '.\" SPDX-License-Identifier: BSD-3-Clause' ] || echo "the first line is no SPDX line"
  case ${lines[1]} in
  ".so man"*)
    target=${lines[1]#.so man?/}
    [ ${#lines[@]} -eq 2 ] || echo "a stub has two lines"
    has_name "man/$target" "$name" 2>/dev/null || echo "man/$target does not name $name"
    return ;;
  esac
  case $found in *"$page"*) grep -F "$page:" <<<"$found" ;; esac
  has_name "$page" "$name" || echo "its NAME does not have $name"
}

# ---- what is rendered ----

# The pages that may be referred to: ours, and these of Debian.
pages="$(for p in man/*.[1-9]; do basename "$p" | sed 's/\.\(.\)$/(\1)/'; done)
fi_sockets(7) ibv_devinfo(1) malloc(3) mpirun(1) process_vm_readv(2) ssh(1) userfaultfd(2)"

# The options of a program, each with a + if it takes an argument: as its --help shows them.
options_of_help() {
  "$1" --help | sed -n 's/^  \(-.\{37\}\).*/\1/p' | awk '{ i = 1; while ($i ~ /,$/) i++
    for (k = 1; k <= i; k++) { sub(/,$/, "", $k); print $k (NF > i ? "+" : "") } }' | sort -u
}
file_of() { case $1 in goalmpi-run) echo "mpi/$1" ;; *) echo "$build/bin/$1" ;; esac; }
programs='goalc goalrun goalsim goalinfo goalmpi-run'
options=$(for p in $programs; do options_of_help "$(file_of "$p")"; done)

# rendered PAGE [ROWS]: what is wrong with the page as readers see it; see rendered.awk.
rendered() {
  {
    mandoc -T html -O fragment "$1"
    echo TEXT
    mandoc -T ascii -O width=80 "$1" | col -bx
    echo TEXT
    groff -mdoc -t -Tascii -rLL=80n -P-c "$1" 2>/dev/null | col -bx
  } | awk -v pages=" $(tr '\n' ' ' <<<"$pages")" -v options=" $(tr '\n+' '  ' <<<"$options")" \
    -v rows="${2:-0}" -f man/rendered.awk
}

stubs=$(grep -l '^\.so' man/*.[1-9])
for page in man/*.[1-9]; do
  verdict "${page##*/}" "$(lint "$page")"
  case $stubs in *"$page"*) ;; *) verdict "${page##*/}-rendered" "$(rendered "$page")" ;; esac
done

# offends NAME TEXT: a page with the source on standard input, behind a head, is refused with TEXT; with an empty TEXT it is
# accepted. So each rule of rendered.awk has a page that breaks it.
offends() {
  local found

  { printf '.Dd January 1, 2026\n.Dt GOALC 1\n.Os\n.Sh NAME\n.Nm goalc\n.Nd a page\n'; cat; } >"$tmp/offender.1"
  found=$(rendered "$tmp/offender.1")
  verdict "offender-$1" "$({ [ "${2:+1}" = "${found:+1}" ] && grep -qF -- "$2" <<<"$found"; } ||
    echo "not '$2' but: ${found:-nothing}")"
}
offends none '' <<'END'
.Sh SYNOPSIS
.Nm
.Fl Fl stats Oo Fl Fl json Oc | Fl Fl dump
.Ar input
.Op Fl n Ar ranks
.Nm
.Fl Fl help
.Sh DESCRIPTION
In a page of
.Xr goal 5 ,
.Fl D Ar name
is
.Ql -of ( x ) Nm tag(9)
and
.Fl T No of Xr goalc 1 .
.Bl -tag -width Ds
.It Fl D Ar name Ns Oo @ Ns Ar rank Oc
No tag; a file
.Pa <stdin> .
.El
.Bd -literal
$ an example with a line that is longer than a page is wide, as examples may be if they must: <in place>
.Ed
END
offends heading 'taken for the macro In: <place>' <<'END'
.Sh DESCRIPTION
.Ss In place
Text.
END
offends glued 'the word -ranks is rendered as an option' <<'END'
.Sh DESCRIPTION
268435456 ranks in
.Nm
.Fl n ; 2048 ranks for a binary
END
offends glued-word 'the word -of is rendered as an option' <<'END'
.Sh DESCRIPTION
.Pq as for Fl T of Xr goalc 1
END
offends joined 'the option --dump is glued' <<'END'
.Sh DESCRIPTION
.Fl Fl dump Ns prints.
END
offends forms 'are these two forms?' <<'END'
.Sh SYNOPSIS
.Nm
.Fl Fl verify
.Ar input
.Op Fl o Ar output
.Fl Fl select Ar collective
.Sh DESCRIPTION
Text.
END
offends synopsis 'the synopsis is empty' <<'END'
.Sh SYNOPSIS
.Sh DESCRIPTION
Text.
END
offends reference 'there is no page sched(7)' <<'END'
.Sh DESCRIPTION
See
.Xr sched 7 .
END
offends macro 'the macro Ns is rendered as a word' <<'END'
.Sh DESCRIPTION
The range
.Ql x
Ns y.
END
offends blank 'a stray blank' <<'END'
.Sh DESCRIPTION
.Bl -tag -width Ds
.It Fl Fl hosts Ar name Oo : Ns Ar k Oc
Text.
.El
END
offends long 'more than 80 columns' <<'END'
.Sh SYNOPSIS
.Bd -literal
typedef enum MPIX_Sched_way MPIX_Sched_energy_fn(const struct MPIX_Sched_energy_info *info, void *arg);
.Ed
.Sh DESCRIPTION
Text.
END
offends display 'does not fit on its line' <<'END'
.Sh DESCRIPTION
.Dl $ goalc --emit=promela schedules/bcast_chain.goal -n 4 -D root=0 -D count=8 -T lower-smcq
END
offends column 'a column is too narrow' <<'END'
.Sh DESCRIPTION
.Bl -column "kind" "recv-reduce-with" "read and written, b = received op b" "second"
.It Sy kind Ta Sy op Ta Sy first range Ta Sy second range
.El
END

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

# The options of a program, and those of the list that its page is rendered to.
# differ HELP PAGE : options that only one of them has
differ() {
  comm -23 "$1" "$2" | sed 's/$/ is not in the page/'
  comm -13 "$1" "$2" | sed 's/$/ is no option of the program/'
}
for program in $programs; do
  [ -x "$(file_of "$program")" ] || { echo "skipped: $program is not built"; continue; }
  options_of_help "$(file_of "$program")" >"$tmp/help"
  rendered "man/$program.1" 1 | sort -u >"$tmp/page"
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
