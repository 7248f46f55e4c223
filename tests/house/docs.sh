#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks that README, doc/tour.md and the manual are right about the commands and declarations that they show. Checked are
# blocks indented by four blanks in the first two, and literal displays (.Bd -literal, .Dl) of man pages. A block is known by a
# word in it:
#
#   $ COMMAND             The command is run and must print the lines below it. Numbers with a point may differ, and "..."
#                         stands for any lines. The command must fail if and only if these lines contain "error:"; the
#                         status of an mpirun whose ranks fail may be any.
#                         The commands of a page are one session, with the installed programs, in a copy of the top
#                         directory. Commands of MPI are skipped if it is not installed; those of a page with mpicc are
#                         run by Open MPI and by MPICH.
#   /* NAME.c  // NAME.goal  In the first line: the session finds the block as a file with this name. A block with
#                         "NAME.goal is wrong" need not compile.
#   #include   /* NAME.c  The block is a program and must compile.
#   schedule   num_ranks  // NAME.goal  The block is a schedule and must compile.
#   struct     typedef    The header must have the declaration, and each line of a SYNOPSIS of section 3.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1
for tool in mandoc col; do
	command -v $tool >/dev/null || { skip "docs there is no $tool"; finish; }
done
# These call this script.
CALLERS=$'make deps demo\nmake deps check'

# What a reader of the manual has: an installed tree, an MPI that may run as root with more ranks than cores. README installs
# goalsched itself.
export HOME=$TMP/home
unset MAKEFLAGS MFLAGS MAKELEVEL
own_build
make --no-print-directory BUILD="$BUILD" PREFIX="$TMP/usr" install >"$TMP/log" 2>&1 || {
	fail "docs.install $(tail -n 1 "$TMP/log")"
	finish
}
# By Debian's names, or as they are called elsewhere. The folder of each has mpicc and mpirun.
LIBRARIES=
for mpi in openmpi mpich; do
	command -v mpicc.$mpi >/dev/null && command -v mpirun.$mpi >/dev/null && mkdir "$TMP/$mpi" || continue
	for program in mpicc mpirun; do printf '#!/bin/sh\nexec %s.%s "$@"\n' $program $mpi >"$TMP/$mpi/$program"; done
	chmod +x "$TMP/$mpi"/* && LIBRARIES="$LIBRARIES $mpi"
done
if [ -z "$LIBRARIES" ] && command -v mpicc >/dev/null && command -v mpirun >/dev/null; then LIBRARIES=any; fi
MPI_CFLAGS=$(pkg-config --cflags mpich 2>/dev/null || pkg-config --cflags ompi-c 2>/dev/null)
installed="PKG_CONFIG_PATH=$TMP/usr/lib/pkgconfig LD_LIBRARY_PATH=$TMP/usr/lib"
open_mpi
include=$TMP/usr/include

# slurp FILE : its text to REPLY, without the line ends at its end
slurp()
{
	REPLY=
	[ ! -e "$1" ] || IFS= read -r -d '' REPLY <"$1"
	while [[ $REPLY == *$'\n' ]]; do REPLY=${REPLY%$'\n'}; done
}
STUBS=" $(grep -l '^\.so' man/*.[1-9] | tr '\n' ' ')"

# blocks FILE DIR : the blocks of a page, as DIR/1, DIR/2, ...
blocks()
{
	rm -rf "$2" && mkdir "$2" || exit 1
	case $1 in
	*.md) awk -v dir="$2/" '
		/^    / { if (!on) n++; on = 1; while (blank) { print "" > (dir n); blank-- }; print substr($0, 5) > (dir n); next }
		/^$/ { blank += on; next }
		{ on = blank = 0 }' "$1" ;;
	*) awk -v dir="$2/" '
		/^\.Bd -literal/ { n++; on = 1; next }
		/^\.Dl / { sub(/^\.Dl /, ""); on = 2; n++ }
		/^\.Ed/ { on = 0 }
		on { gsub(/\\e/, "\\"); gsub(/\\&/, ""); gsub(/\\-/, "-"); print > (dir n); if (on == 2) on = 0 }' "$1" ;;
	esac
}

# Compilers that are there, by language.
declare -A COMPILERS
for lang in c c++; do
	for cc in gcc clang; do
		if echo | $cc -x $lang -fsyntax-only - 2>/dev/null; then COMPILERS[$lang]+=" $cc"; fi
	done
done
# compiles LANGUAGE FILE : with gcc and clang
compiles()
{
	local cc

	for cc in ${COMPILERS[$1]-}; do
		# shellcheck disable=SC2086
		$cc -x "$1" -std="${1}17" -Wall -Wextra -Werror -fsyntax-only -I"$include" $MPI_CFLAGS "$2" 2>&1 | head -n 3
	done
}
# without_mpi FILE : true if it needs an MPI library, and there is none
without_mpi() { [ -z "$MPI_CFLAGS" ] && grep -q '<mpix_sched_mpi.h>' "$1"; }
# verdict NAME WHY : no reason, no fault
verdict() { if [ -z "$2" ]; then ok "$1"; else fail "$1 $(head -n 3 <<<"$2" | tr '\n' '|')"; fi; }

# ---- what is shown of the header ----

# squeeze : C without blanks that mean nothing
squeeze() { tr '\n\t' '  ' | sed -E 's/MPIX_SCHED_API//g; s/ +/ /g; s/ ?([][*(),;{}]) ?/\1/g'; }
header=$(cat include/*.h | gcc -fpreprocessed -E -P -x c - 2>/dev/null | squeeze)
# in_header FILE : which declarations are not in the header to the letter
in_header()
{
	squeeze <"$1" | if [ "${2-}" ]; then cat; else tr ';' '\n'; fi | while IFS= read -r d || [ -n "$d" ]; do
		d=${d# } d=${d% }
		case $d in '' | '#'*) continue ;; esac
		[[ $header == *"$d"* ]] || echo "the header has no $d"
	done
}
for lang in c c++; do
	echo '#include <mpix_sched.h>' >"$TMP/header.c"
	verdict "docs.header.$lang" "$(compiles $lang "$TMP/header.c")"
done
# The synopses of all pages are compiled in one piece; messages then name the page. The header comes first, so that a prototype that
# differs does not compile; in C++ it would overload. A page that includes more than the header is compiled alone.
mkdir "$TMP/synopses"
echo '#include <mpix_sched.h>' >"$TMP/all.c"
{ cat "$TMP/all.c"; echo 'extern "C" {'; } >"$TMP/all.cc"
pages=
for page in man/*.3; do
	[[ $STUBS != *" $page "* ]] || continue
	name=${page#man/} name=${name%.3} synopsis=$TMP/synopses/$name
	pages="$pages $name"
	mandoc -Tutf8 -O width=200 "$page" | col -bx | awk '/^[A-Z]/ { on = $0 == "SYNOPSIS"; next } on' >"$synopsis"
	grep -v '#include' "$synopsis" >"$synopsis.declarations"
	grep '#include' "$synopsis" | grep -qvF '<mpix_sched.h>' ||
		{ echo "#line 1 \"$name\""; cat "$synopsis.declarations"; } | tee -a "$TMP/all.c" >>"$TMP/all.cc"
done
echo '}' >>"$TMP/all.cc"
faults=$(compiles c "$TMP/all.c"; compiles c++ "$TMP/all.cc")
for name in $pages; do
	synopsis=$TMP/synopses/$name why=$(grep "^$name:" <<<"$faults")
	if without_mpi "$synopsis"; then skip "docs.synopsis.$name there is no MPI library"; continue; fi
	if ! grep -qF "#line 1 \"$name\"" "$TMP/all.c"; then
		{ echo '#include <mpix_sched.h>'; cat "$synopsis"; } >"$TMP/synopsis.c"
		{ echo '#include <mpix_sched.h>'; grep '#include' "$synopsis"; echo 'extern "C" {'; cat "$synopsis.declarations"; echo '}'; } \
			>"$TMP/synopsis.cc"
		why=$(compiles c "$TMP/synopsis.c"; compiles c++ "$TMP/synopsis.cc")
	fi
	why=$why$(in_header "$synopsis.declarations")
	slurp "$synopsis.declarations"
	for f in $(sed -n 's/^\.Nm \(MPIX_[a-z_A-Z]*\).*/\1/p' "man/$name.3"); do
		[[ $REPLY == *"$f("* ]] || why="$why$f is not in the SYNOPSIS"
	done
	verdict "docs.synopsis.$name" "$why"
done
verdict docs.synopses "$faults"

# ---- programs, schedules and commands ----

# session BLOCK... : writes a script that runs their commands, and for each N.command, N.want; it makes N.got, N.status
session()
{
	awk -v dir="$TMP/session/" '
		function done() { if (part != "") print part "\n} >" dir n ".got 2>&1 </dev/null; echo $? >" dir n ".status"; part = "" }
		function add(s) { part = part "\n" s; print s > (dir n ".command"); more = s ~ /\\$/; if (!more) done() }
		FNR == 1 { on = /^\$ / }
		!on { next }
		more { add($0); next }
		/^\$ / { n++; printf "" > (dir n ".want"); part = "{ #" n; add(substr($0, 3)); next }
		{ print > (dir n ".want") }' "$@"
}
# What may differ from run to run: numbers with a point, their sign, and the width of their columns.
BLUR='s/ -([0-9]+\.[0-9])/ \1/g; s/[0-9]+\.[0-9]+/#/g; s/ +/ /g'
# What is wanted becomes a pattern of bash, in which a line "..." is anything.
PATTERN='s/[][\\*?(){}|!+@]/\\&/g; s/^\.\.\.$/*/'
# edit EXPRESSION SUFFIX : edits the files of the session with that suffix, and keeps what they were as *.SUFFIX.raw
edit()
{
	local files=("$TMP"/session/*."$2")

	[ ! -e "${files[0]}" ] || sed -E -s -i.raw "$1" "${files[@]}"
}

# leave_out LIBRARY : the commands of the session that are not run, as N.leave with a reason or "other". Callers of this script
# are none, nor those of MPI without it; with an MPI library that is not the first, all but its own and the environment's.
leave_out()
{
	local c n text

	rm -f "$TMP"/session/*.leave
	for c in "$TMP"/session/*.command; do
		slurp "$c"
		text=$REPLY n=${c%.command}
		case ${text%% *} in
		mpicc | mpirun) [ "$1" != none ] || echo 'there is no MPI library' >"$n.leave" ;;
		export) ;;
		*) case $1 in any | none | "$FIRST") ;; *) echo other >"$n.leave" ;; esac ;;
		esac
		[[ $'\n'$CALLERS$'\n' != *$'\n'"$text"$'\n'* ]] || echo other >"$n.leave"
	done
}

# run_session PAGE LIBRARY : runs the session of a page, and compares what it prints
run_session()
{
	local page=$1 name=${1##*/} user n s got text rc expected

	[ "$2" = "$FIRST" ] || name=$name.$2
	leave_out "$2"
	awk -v dir="$TMP/session/" '/^\{ #/ { n = substr($2, 2); leave = (getline none < (dir n ".leave")) > 0 } !leave' \
		"$TMP/script" >"$TMP/left"
	case $page in README.md) user="PATH=$TMP/$2:$PATH" ;; *) user="PATH=$TMP/$2:$TMP/usr/bin:$PATH $installed" ;; esac
	# shellcheck disable=SC2086
	(cd "$TMP/top" && env -u BUILD $user timeout 300 bash "$TMP/left") >"$TMP/log" 2>&1
	edit "$BLUR" got
	for ((n = 1; ; n++)); do
		s=$TMP/session/$n
		[ -e "$s.command" ] || break
		slurp "$s.command"
		read -r -d '' -a text <<<"${REPLY//\\/ }"
		text="${text[*]}"
		if [ -e "$s.leave" ]; then
			slurp "$s.leave"
			[ "$REPLY" = other ] || skip "docs.$name $text: $REPLY"
			continue
		fi
		commands=$((commands + 1))
		slurp "$s.status"
		rc=${REPLY:-none: the session ended}
		slurp "$s.want.raw"
		expected=0
		[[ $REPLY != *error:* ]] || expected=1
		# If a rank fails, MPICH 4.2's mpirun ends with the low byte of the error's number, or sometimes with 0.
		case $expected$text in 1*mpirun*) rc=1 ;; esac
		slurp "$s.got"
		got=$REPLY
		slurp "$s.want"
		# shellcheck disable=SC2053
		if [ "$rc" != "$expected" ]; then fail "docs.$name \$ $text: status $rc, $(head -n 3 "$s.got.raw" 2>/dev/null | tr '\n' '|')"
		elif [[ $got == $REPLY ]]; then ok "docs.$name \$ $text"
		else fail "docs.$name \$ $text: $(diff "$s.want.raw" "$s.got.raw" | head -n 6 | tr '\n' '|')"; fi
	done
}

commands=0
# shellcheck disable=SC2086
set -- ${LIBRARIES:-none}
FIRST=$1
for page in README.md doc/tour.md man/*.[1-9]; do
	name=${page##*/}
	[[ $STUBS != *" $page "* ]] || continue
	blocks "$page" "$TMP/blocks"
	[ -e "$TMP/blocks/1" ] || continue
	rm -rf "$TMP/top" "$TMP/session" && mkdir "$TMP/top" "$TMP/session" || exit 1
	ln -s "$ROOT"/* "$TMP/top" && rm -f "$TMP/top/examples" "$TMP/top/build" "$TMP"/top/*.bin && ln -s "$BUILD" "$TMP/top/build" &&
		mkdir "$TMP/top/examples" && cp examples/Makefile examples/*.c examples/*.goal "$TMP/top/examples" || exit 1
	shown=
	for ((n = 1; ; n++)); do
		block=$TMP/blocks/$n file= why=
		[ -e "$block" ] || break
		read -r first <"$block"
		case $first in
		'/* '*.c*) file=${first#'/* '} file=${file%%.c*}.c ;;
		'// '*.goal*) file=${first#'// '} file=${file%%.goal*}.goal ;;
		esac
		[ -z "$file" ] || cp "$block" "$TMP/top/$file"
		case $first in
		*.goal' is wrong') ;; # a command shows why
		'#include'* | '/* '*.c*)
			if without_mpi "$block"; then skip "docs.$name.$n there is no MPI library"; else
				verdict "docs.$name.$n" "$(compiles c "$block")"; fi ;;
		'schedule '* | 'num_ranks '* | '// '*.goal*)
			cp "$block" "$TMP/shown.goal"
			verdict "docs.$name.$n" "$(goalc "$TMP/shown.goal" -o "$TMP/shown.bin" 2>&1)" ;;
		'struct '* | 'typedef '*) verdict "docs.$name.$n" "$(in_header "$block" whole)" ;;
		'$ '*) shown="$shown $block" ;;
		*) ! grep -qE '^(\$ |(make|goalc|goalrun|cc|man|pkg-config|mpicc|mpirun) )' "$block" ||
			fail "docs.$name.$n a command that is not run" ;;
		esac
	done
	[ -n "$shown" ] || continue
	# shellcheck disable=SC2086
	session $shown >"$TMP/script"
	edit "$BLUR; $PATTERN" want
	run_session "$page" "$FIRST"
	if [[ $(<"$TMP/script") == *$'\nmpicc '* ]]; then
		for mpi in "${@:2}"; do run_session "$page" "$mpi"; done
	fi
done
check docs.found [ "$commands" -ge 20 ]

# ---- what is shown elsewhere ----

# Commands are shown in blocks, where they are run.
why=$(grep -nE '`(make|goalc|goalrun|cc|man|pkg-config|mpicc|mpirun) ' README.md doc/tour.md)
verdict docs.prose "$why"
# The functions that they name are there, and so are the figures of README's table.
why=$(grep -ohE 'MPIX_Sched_[a-z_]+' README.md doc/tour.md | sort -u | while read -r f; do
	grep -q "$f(" include/*.h || echo "there is no $f"; done)
verdict docs.functions "$why"
why=$(sed -n 's/^| [a-z]* |//p' README.md | grep -oE -e '-?[0-9]+\.[0-9]+' | while read -r figure; do
	grep -qF -e " $figure " "$(grep -om 1 'bench/results/[a-z-]*\.txt' README.md)" || echo "$figure is no result"; done)
verdict docs.figures "$why"
check docs.short [ "$(wc -l <README.md)" -le 100 ]
# The schedule in README is the file itself.
check docs.schedule [ "$(sed -n '/^    schedule bcast/,/^    }/p' README.md | sed 's/^    //; s, *//.*,,' | md5sum)" = \
	"$(sed -n '/^schedule/,$p' schedules/bcast_binomial.goal | sed 's, *//.*,,' | md5sum)" ]
# README names the pages to begin with, and every part of the tree.
missing=
for p in goalc.1 goalrun.1 goal.5 goal-bin.5 goalsched.7 schedules.7; do grep -q "\`${p%.*}(${p##*.})\`" README.md || missing="$missing $p"; done
for d in */; do case $d in build*) ;; *) grep -q "\`$d" README.md || missing="$missing $d" ;; esac; done
check "docs.table$missing" [ -z "$missing" ]
# One list of environment variables.
missing=
for v in $(sed -n 's/^ENV(\([A-Z_]*\),.*/\1/p' util/env.def); do
	grep -q "$v" man/goalsched.7 || missing="$missing $v"
done
check "docs.environment$missing" [ -z "$missing" ]
finish
