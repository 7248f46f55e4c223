#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Rules for the tree. Includes follow doc/arrows, which has no cycle. Files call each other in no cycle but those that doc/arrows
# names. Folders, headers, functions and lines of the Makefile keep to their limits. Each header compiles alone. The Makefile
# lists every test script, and every script is executable. CONTRIBUTING names every folder. The checks of includes and of cycles are
# tried on faulty ones.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1
PRODUCT="util format include lang compiler backends runtime trace goalrun goalsim"
LINES_OF_A_FOLDER=9000 FILES_OF_A_FOLDER=30 LINES_OF_A_HEADER=320 LINES_OF_A_FUNCTION=80 WIDTH_OF_THE_MAKEFILE=160

# sources_of ROOT : the files of the product
sources_of() { (cd "$1" && find $PRODUCT -name '*.[chlyd]' -o -name '*.def' | sort); }

# arrows FILE : the part of doc/arrows with the arrows
arrows() { sed -e '/^# ---- circles of files/,$d' -e 's/#.*//' "$1"; }

# against ROOT ARROWS : includes that no arrow allows
against()
{
	(cd "$1" && sources_of . | xargs grep -H '^#include "' | sed 's/^\([^:]*\):#include "\(.*\)".*/\1 \2/') |
		awk 'function room(f) { sub(/\/[^\/]*$/, "", f); return f }
		FNR == NR { if (!NF) next; sub(/:/, "", $1); known[$1] = 1; for (i = 2; i <= NF; i++) may[$1, $i] = 1; next }
		{ from = room($1); to = $2 ~ /\// ? room($2) : from; if (from != to && !((from, to) in may)) print $1 " includes " $2 }
		!(room($1) in known) { print $1 ": doc/arrows has no room " room($1) }' <(arrows "$2") -
}

# circles ARROWS : rooms in a circle
circles() { arrows "$1" | sed 's/://' | awk '{ for (i = 2; i <= NF; i++) print $1, $i }' | tsort 2>&1 >/dev/null | sed -n 's/^tsort: //p'; }

# calls : which file of the product uses what of which other, by the objects: "file file"
calls()
{
	make -s --no-print-directory BUILD="$BUILD" list-objects | grep -v /loops- | xargs nm -A -P -g | sed "s,^$BUILD/,," |
		awk '{ sub(/\.o:$/, "", $1) }
		$3 == "U" { users[$2] = users[$2] " " $1; next }
		!($2 in home) { home[$2] = $1 }
		END { for (symbol in home) { n = split(users[symbol], user); for (i = 1; i <= n; i++) print user[i], home[symbol] } }' |
		grep -v '^backends/.* runtime/' | sort -u
}

# file_circles CALLS ARROWS : files in a circle that ARROWS does not name; files that it names and that are in none
file_circles()
{
	local named

	named=$(sed -n 's/^circle: //p' "$2")
	awk 'FNR == NR { for (i = 1; i <= NF; i++) circle[$i] = $1; next }
		{ for (k = 1; k <= 2; k++) if ($k in circle) $k = circle[$k]; print $1, $2 }' <(echo "$named") "$1" |
		tsort 2>&1 >/dev/null | sed -n '/input contains a loop/d; s/^tsort: //p' | paste -sd' ' | grep .
	echo "$named" | while read -r files; do
		grep -wF "${files// /$'\n'}" "$1" | awk -v files="$files" 'BEGIN { n = split(files, f); for (i in f) is[f[i]] = 1 }
			$1 in is && $2 in is { to[$1, $2] = 1 }
			END { for (k in f) for (i in f) for (j in f) if ((f[i], f[k]) in to && (f[k], f[j]) in to) to[f[i], f[j]] = 1
				for (i = 1; i <= n; i++) if (!((f[i], f[1]) in to && (f[1], f[i]) in to)) print f[i] " is in no circle" }'
	done
}

bad=$(against . doc/arrows)
check "house.arrows $bad" [ -z "$bad" ]
bad=$(circles doc/arrows)
check "house.circles $bad" [ -z "$bad" ]
calls >"$TMP/calls"
bad=$(file_circles "$TMP/calls" doc/arrows)
check "house.file_circles $bad" [ -z "$bad" ]

# Both find what is wrong.
mkdir -p "$TMP/house" && cp -r $PRODUCT "$TMP/house"
echo '#include "compiler/compile.h"' >>"$TMP/house/lang/loc.h"
check house.arrows.offender [ "$(against "$TMP/house" doc/arrows)" = "lang/loc.h includes compiler/compile.h" ]
sed 's/^lang: /lang: compiler/' doc/arrows >"$TMP/arrows"
check house.circles.offender [ -n "$(circles "$TMP/arrows")" ]
(cat "$TMP/calls" && echo runtime/error runtime/trace) >"$TMP/offender"
check house.file_circles.offender [ "$(file_circles "$TMP/offender" doc/arrows)" = "runtime/error runtime/trace" ]
check house.file_circles.stale [ "$(file_circles "$TMP/calls" <(cat doc/arrows; echo 'circle: util/err util/mem'))" = \
	"util/err is in no circle"$'\n'"util/mem is in no circle" ]

bad=$(for d in $(sources_of . | xargs -n1 dirname | sort -u); do
	files=$(find "$d" -maxdepth 1 -name '*.c' | wc -l)
	lines=$(find "$d" -maxdepth 1 -name '*.[chly]' -exec cat {} + | wc -l)
	[ "$files" -le $FILES_OF_A_FOLDER ] && [ "$lines" -le $LINES_OF_A_FOLDER ] || echo "$d: $files C files, $lines lines"
done)
check "house.folders $bad" [ -z "$bad" ]
bad=$(sources_of . | grep '\.h$' | xargs wc -l | awk -v most=$LINES_OF_A_HEADER '$2 != "total" && $1 > most')
check "house.headers $bad" [ -z "$bad" ]
make -k --no-print-directory BUILD="$BUILD" hdrcheck >"$TMP/log" 2>&1
rc=$?
check "house.hdrcheck $(grep -m 3 -e error: -e 'No rule' "$TMP/log" | tr '\n' '|')" [ $rc -eq 0 ]
# A function begins behind "{" in the first column and ends at "}" there.
bad=$(sources_of . | grep '\.c$' | xargs awk -v most=$LINES_OF_A_FUNCTION 'FNR == 1 { begin = 0 }
	/^\{/ { begin = FNR } /^\}/ && begin { if (FNR - begin - 1 > most) print FILENAME ":" begin ": " FNR - begin - 1 " lines"; begin = 0 }')
check "house.functions $bad" [ -z "$bad" ]
bad=$(awk -v most=$WIDTH_OF_THE_MAKEFILE 'length > most { print FNR }' Makefile)
check "house.makefile $bad" [ -z "$bad" ]

# A script is in a list of the Makefile, or another one calls it; what is in a list is there.
make -s --no-print-directory list-tests | sort >"$TMP/listed"
bad=$(comm -13 "$TMP/listed" <(git ls-files 'tests/*/*.sh' | sort) | while read -r script; do
	git grep -qF "${script#tests/}" -- Makefile 'tests/*.sh' ":!$script" || echo "$script"
done; xargs ls <"$TMP/listed" 2>&1 >/dev/null)
check "house.scripts_run $bad" [ -z "$bad" ]
# README, CONTRIBUTING and the tour name files that are there, and CONTRIBUTING every folder but those of data.
bad=$(grep -ohE '`[a-z]+/[A-Za-z0-9_./-]+`' README.md CONTRIBUTING.md doc/tour.md | tr -d '`' | sort -u | while read -r path; do
	case $path in *NAME* | *COLLECTIVE*) ;; *) [ ! -d "${path%%/*}" ] || [ -e "$path" ] || echo "no $path" ;; esac
done
git ls-files | sed -n 's,^\(\([^/.][^/]*/\)\{1\,2\}\).*,\1,p' | grep -v '^bench/\|^tests/.*/.*/' | sort -u | while read -r folder; do
	name=${folder%/} name=${name##*/}
	grep -qE "\`([a-z/]*/)?$name/" CONTRIBUTING.md || echo "CONTRIBUTING has no $folder"
done)
check "house.documents $bad" [ -z "$bad" ]
# A new kind of ops stops the build wherever the effect of ops is decided.
# shellcheck disable=SC2046
bad=$(grep -Lw BIN_LAST_OP $(grep -lEw 'BIN_OP_REDUCE(_WITH)?' compiler/a*/*.c backends/shm/*.c tests/loop/*.c tests/mutants/exec.c))
check "house.kinds $bad" [ -z "$bad" ]
bad=$(git grep -lI '^#!' | while read -r script; do [ "$(head -c 2 "$script")" != '#!' ] || [ -x "$script" ] || echo "$script"; done)
check "house.executable $bad" [ -z "$bad" ]
# Retired words are in the last table of doc/words.md: none is an identifier of the product, whose comments and strings are free.
retired=$(sed -n '/^## Retired/,$s/^| \(.*`\) |.*/\1/p' doc/words.md | grep -o '[A-Za-z_*]*' | sed 's/\*/[A-Za-z0-9_]*/' | paste -sd'|')
# retired_in ROOT : where they are
retired_in()
{
	(cd "$1" && sources_of . | grep '\.[chyl]$' | xargs awk -v retired="$retired" '
		FNR == 1 { comment = 0 }
		{ gsub(/"([^"\\]|\\.)*"/, "\"\""); gsub(/\/\*([^*]|\*[^\/])*\*\//, "") }
		comment && !/\*\// { next }
		comment { sub(/.*\*\//, ""); comment = 0 }
		/\/\*/ { sub(/\/\*.*/, ""); comment = 1 }
		{ gsub(/[^A-Za-z0-9_]+/, " "); for (i = 1; i <= NF; i++) if ($i ~ "^(" retired ")$") print FILENAME ":" FNR ": " $i }')
}
bad=$(retired_in . | head -n 5)
check "house.words $bad" [ -z "$bad" ]
echo 'struct rt_local; /* told */' >>"$TMP/house/lang/loc.h"
check house.words.offender [ "$(retired_in "$TMP/house" | sed 's/:[0-9]*//' | grep '^lang')" = "lang/loc.h: rt_local" ]
finish
