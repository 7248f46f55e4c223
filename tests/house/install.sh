#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# make install: programs that are built against the installed tree alone run, and manual and schedules are found; so does what
# is installed for bash, vim and CMake. No installed file names the directory of the build, and make uninstall removes all files.
set -u
. "$(dirname "$0")/../lib.sh"
for tool in pkg-config man; do
	command -v "$tool" >/dev/null || { skip "install there is no $tool"; finish; }
done

own_build
# make_it TARGET NAME=VALUE... : make, from the top of the source tree
make_it() { timeout 300 make -C "$ROOT" --no-print-directory BUILD="$BUILD" "$@" >"$TMP/log" 2>&1; }
# What is installed below a directory, by name.
files() { (cd "$1" && find . ! -type d | sort); }

# ---- flags that a packager gives ----

make -n -C "$ROOT" --no-print-directory BUILD="$TMP/none" V=1 CC=gcc CPPFLAGS=-DGIVEN CFLAGS='-O1 -given' LDFLAGS=-Wl,-given all |
	sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}' >"$TMP/commands"
bad=$(grep -E '^gcc .* -c ' "$TMP/commands" | grep -v -e '-DGIVEN .*-O1 -given' | head -n 1)
check "install.flags_compile $bad" [ -z "$bad" -a "$(grep -cE '^gcc .* -c ' "$TMP/commands")" -ge 100 ]
bad=$(grep '^gcc ' "$TMP/commands" | grep -v -e ' -c ' | grep -v -e '-O1 -given .*-Wl,-given' | head -n 1)
check "install.flags_link $bad" [ -z "$bad" -a "$(grep -c -e '^gcc .*-Wl,-given' "$TMP/commands")" -ge 5 ]

# ---- an installed tree: the prefix of a user ----

tree=$TMP/user
check install.prefix make_it install PREFIX="$tree"
files "$tree" >"$TMP/first"
check install.again make_it install PREFIX="$tree"
check install.again_same diff "$TMP/first" <(files "$tree")
for f in bin/goalc bin/goalinfo bin/goalrun bin/goalsim lib/libgoalsched.so lib/libgoalsched.so.0 lib/libgoalsched.a include/mpix_sched.h \
	include/mpix_sched_basic.h include/mpix_sched_transport.h include/mpix_sched_ways.h include/mpix_sched_mpi.h lib/pkgconfig/goalsched.pc lib/cmake/goalsched/goalsched-config.cmake \
	share/doc/goalsched/doc/tour.md share/doc/goalsched/examples/Makefile share/bash-completion/completions/goalrun \
	share/vim/vimfiles/syntax/goal.vim; do
	grep -qx "./$f" "$TMP/first" || fail "install.files $f is missing"
done
soname=$(readelf -d "$tree/lib/libgoalsched.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
check install.soname [ -e "$tree/lib/$soname" -a "$(readlink "$tree/lib/libgoalsched.so")" = "$soname" ]
# goalmpi-run is there if an MPI library is.
modes=$(cd "$tree" && find . -type f -perm 755 ! -name goalmpi-run | sort | tr '\n' ' '; find "$tree" ! -type l ! -perm 755 ! -perm 644)
check "install.modes $modes" [ "$modes" = './bin/goalc ./bin/goalinfo ./bin/goalrun ./bin/goalsim ' ]
lost=$(find "$tree" -xtype l)
check "install.links $lost" [ -z "$lost" ]
found=$(grep -rlaF -e "$ROOT" -e "$BUILD" "$tree" | tr '\n' ' ')
check "install.no_build_path $found" [ -z "$found" ]

# From here on only the installed tree counts. The examples are built with their own Makefile, and statically.
PATH=$tree/bin:$PATH
export PKG_CONFIG_PATH=$tree/lib/pkgconfig
schedules=$(pkg-config --variable=schedulesdir goalsched)
check install.version [ "$(pkg-config --modversion goalsched)" = "$(goalc --version | awk '{ print $NF }')" ]
cp -r "$(pkg-config --variable=examplesdir goalsched)" "$TMP/examples" && cd "$TMP/examples" || exit 1
check install.examples make -s CFLAGS="-O2 -g -std=c17 -Werror"
needs=$(readelf -d overlap_bcast | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | tr '\n' ' ')
check "install.shared $needs" [ "${needs#*"$soname" }" != "$needs" ]
for e in overlap_bcast neighbor_exchange; do
	# The linker says that dlopen needs the shared libc; it is only called under a launcher with PMIx.
	# shellcheck disable=SC2046
	gcc -static -Wall -Wextra -o $e.static $e.c $(pkg-config --static --cflags --libs goalsched) 2>"$TMP/err" ||
		fail "install.static $e: $(tail -n 1 "$TMP/err")"
done
check install.static_alone [ "$(readelf -d overlap_bcast.static | grep -c NEEDED)" = 0 ]
goalc "$schedules/bcast_binomial.goal" -o bcast.bin || fail "install.goalc"

# run NAME COMMAND... : an example on RANKS ranks; it verifies its data itself, and rank 0 says so
run()
{
	local name=$1 want=$2

	shift 2
	if timeout 120 goalrun -n "${RANKS:-4}" -- "$@" >"$TMP/out" 2>"$TMP/err" && grep -q "$want" "$TMP/out"; then ok "install.$name"; else
		fail "install.$name $(tail -n 3 "$TMP/out" "$TMP/err" | tr '\n' '|')"; fi
}
memory='valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=all'
for how in '' .static; do
	run "overlap_bcast$how" 'every element right' "./overlap_bcast$how" bcast.bin
	run "neighbor_exchange$how" 'the same as on one' "./neighbor_exchange$how" neighbor_exchange.goal
done
# Old valgrinds cannot read what newer compilers write for debuggers.
if valgrind -q ./overlap_bcast >"$TMP/out" 2>&1; [ $? -eq 2 ]; then # its usage
	RANKS=2
	# shellcheck disable=SC2086
	run overlap_bcast.valgrind 'every element right' $memory ./overlap_bcast "$schedules/bcast_binomial.goal"
	# shellcheck disable=SC2086
	run neighbor_exchange.valgrind 'the same as on one' $memory ./neighbor_exchange neighbor_exchange.goal
else
	skip "install.valgrind $(tail -n 1 "$TMP/out")"
fi
# C++ takes the header as well, and finds the functions.
cat >"$TMP/version.cc" <<'EOF'
#include <mpix_sched.h>
int main() { int major, minor, patch; return MPIX_Sched_get_version(&major, &minor, &patch) || major != MPIX_SCHED_VERSION_MAJOR; }
EOF
# shellcheck disable=SC2046
if gcc -x c++ -Wall -Wextra -Werror -o version "$TMP/version.cc" -x none $(pkg-config --cflags --libs goalsched) 2>"$TMP/err"; then
	check install.cxx env LD_LIBRARY_PATH="$tree/lib" ./version
elif echo | gcc -x c++ -fsyntax-only - 2>/dev/null; then
	fail "install.cxx $(tail -n 1 "$TMP/err")"
fi
# A program with the static library has no files beside it: it knows the directory that it was installed to.
cat >select.c <<'EOF'
#include <mpix_sched.h>
int main(void)
{
	struct MPIX_Sched_call call = { .struct_size = sizeof call, .collective = "MPI_Barrier" };
	MPIX_Sched_ctx ctx;
	MPIX_Sched_group group;
	MPIX_Sched sched;
	return MPIX_Sched_ctx_create(&ctx) || MPIX_Sched_group_world(ctx, &group) || MPIX_Sched_select(group, &call, &sched);
}
EOF
# shellcheck disable=SC2046
gcc -static -o select select.c $(pkg-config --static --cflags --libs goalsched) 2>/dev/null
check install.static_finds timeout 60 ./select
# They fail as they say.
timeout 60 goalrun -n 2 -- ./overlap_bcast neighbor_exchange.goal >"$TMP/out" 2>"$TMP/err"
check install.example_fails [ $? -eq 1 -a "$(grep -c '^init: ' "$TMP/err")" -ge 1 ]
check install.goalrun timeout 60 goalrun -n 3 --verify --iters 10 "$schedules/allgather_ring.goal" >"$TMP/out"
goalc neighbor_exchange.goal -o exchange.bin
check install.own_schedule [ $? -eq 0 ]

missing=
for page in "$ROOT"/man/*.[1-9]; do
	page=$(basename "$page")
	man -M "$tree/share/man" -w "${page##*.}" "${page%.*}" >/dev/null 2>&1 || missing="$missing $page"
done
man -M "$tree/share/man" 1 goalc 2>/dev/null | grep -q DESCRIPTION || missing="$missing and no text"
check "install.man$missing" [ -z "$missing" ]

# ---- for bash, vim and CMake ----

# table FILE : the options in the table of a source file, and the two that every program has
table()
{
	grep -oE "\.letter = '.'|\.name = \"[a-z-]+\"" "$ROOT/$1" | sed "s/.*'\(.\)'/-\1/; s/.*\"\(.*\)\"/--\1/"
	printf '%s\n' -h --help -V --version
}
# offered WORD... : what bash offers for the last word, on one line
offered()
{
	bash -c '. "$0"; complete -p "$1" >/dev/null || exit 1; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _goalsched "$1"
		printf "%s\n" "${COMPREPLY[@]}"' "$tree/share/bash-completion/completions/$1" "$@" | sort | xargs
}
# offers WORD... WANT : whether it offers WANT for the last but one
offers()
{
	local got

	got=$(offered "${@:1:$#-1}")
	check "install.bash ${*:1:$#-1} ($got)" [ "$got" = "${*: -1}" ]
}
for program in goalc:compiler/options.c goalinfo:goalinfo/main.c goalrun:goalrun/options.c goalsim:goalsim/options.c; do
	check "install.bash_options ${program%:*}" [ "$(offered "${program%:*}" -)" = "$(table "${program#*:}" | sort | xargs)" ]
done
offers goalc --ver '--verify --version'
offers goalc --emit = d dot
offers goalc -T '' "$(goalc --list-passes | awk '/^[^ ]/ { print $1 }' | sort | xargs)"
offers goalc -W no-ra no-race
offers goalc --select MPI_Bc MPI_Bcast
offers goalrun -n ''
offers goalrun --memory heap,p heap,private
offers goalrun --root = a all
offers goalrun neighbor_e neighbor_exchange.goal
offers goalrun -n 2 -- --ver ''

# The words of the language: of the lexer, and the modes, scopes, executors and functions.
{
	sed -nE 's/^\t\t\{ "([a-z]*)", (STATEMENT|OPERATOR|CALL), .*/\1/p' "$ROOT/lang/parametric.l"
	sed -nE '/^static enum goal_(mode|scope) .*[^;]$/,/goal_diag/p' "$ROOT/lang/parametric.y" | grep -oE '"[a-z]+"' |
		tr -d '"' | grep -v syntax
	sed -n 's/^EXEC(.*"\(.*\)")/\1/p' "$ROOT/format/execs.def"
	sed -n '/^static uint16_t gen_function/,/};/p' "$ROOT/compiler/lower/gen_expr.c" | grep -oE '"[a-z0-9]+"' | tr -d '"'
	echo not num_ranks | tr ' ' '\n'
} | sort -u >"$TMP/words"
sed -nE 's/^syntax keyword goal[A-Z][a-z]* //p; s/^syntax match goalFunction .*\((.*)\\\).*/\1/p' \
	"$tree/share/vim/vimfiles/syntax/goal.vim" | sed -E 's/^contained //; s/ nextgroup=.*//; s/[\\|]+/ /g' |
	tr ' ' '\n' | sort -u >"$TMP/words.vim"
differ=$(diff "$TMP/words" "$TMP/words.vim" | xargs)
check "install.vim_words $differ" [ -z "$differ" -a "$(wc -l <"$TMP/words")" -ge 60 ]
if vim --version 2>/dev/null | grep -q '+syntax'; then
	cat >"$TMP/shown.goal" <<'EOF'
schedule x(root = 0) implements MPI_Bcast // if
  got: send data to max(r, 1) on nic
EOF
	cat >"$TMP/groups.vim" <<'EOF'
for [line, col] in [[1, 1], [1, 19], [1, 22], [1, 33], [1, 46], [2, 3], [2, 8], [2, 18], [2, 21], [2, 31], [2, 34]]
  echo synIDattr(synID(line, col, 1), 'name')[4:]
endfor
EOF
	vim -u NONE -i NONE -n -es --not-a-term -c "set nocompatible runtimepath^=$tree/share/vim/vimfiles" \
		-c 'filetype on' -c 'syntax on' -c "edit $TMP/shown.goal" -c "redir! > $TMP/groups" -c "source $TMP/groups.vim" \
		-c 'redir END' -c 'qa!' </dev/null >/dev/null 2>&1
	groups=$(xargs <"$TMP/groups")
	check "install.vim $groups" [ "$groups" = \
		'Statement Number Clause Collective Comment Label Statement Clause Function Clause Executor' ]
else
	skip "install.vim there is no vim that knows syntax files"
fi
if command -v cmake >/dev/null; then
	mkdir "$TMP/cmake"
	if CMAKE_PREFIX_PATH=$tree AUTOPKGTEST_TMP=$TMP/cmake timeout 120 sh "$ROOT/debian/tests/cmake" "$TMP/examples" >"$TMP/log" 2>&1
	then ok install.cmake; else fail "install.cmake $(grep -i -m 3 error "$TMP/log" | tr '\n' '|')"; fi
else
	skip "install.cmake there is no cmake"
fi

# ---- nothing is left ----

cd "$TMP" || exit 1
check install.uninstall make_it uninstall PREFIX="$tree"
left=$(files "$tree" | tr '\n' ' ')$(find "$tree" -name '*goalsched*')
check "install.uninstall_all $left" [ -z "$left" ]

# ---- a package: DESTDIR, and directories of a distribution ----

dirs='PREFIX=/usr LIBDIR=/usr/lib/x86_64-any MANDIR=/opt/man BINDIR=/opt/bin'
# shellcheck disable=SC2086
check install.destdir make_it install DESTDIR="$TMP/package" $dirs
check install.destdir_dirs [ "$(cd "$TMP/package" && echo opt/bin/goal[cirs]* usr/lib/x86_64-any/pkgconfig/* opt/man/man5/goal.5)" = \
	'opt/bin/goalc opt/bin/goalinfo opt/bin/goalrun opt/bin/goalsim usr/lib/x86_64-any/pkgconfig/goalsched.pc opt/man/man5/goal.5' ]
found=$(grep -rlaF -e "$ROOT" -e "$TMP" "$TMP/package" | tr '\n' ' ')
check "install.destdir_in_no_file $found" [ -z "$found" ]
export PKG_CONFIG_PATH=$TMP/package/usr/lib/x86_64-any/pkgconfig PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1
check install.destdir_pc [ "$(pkg-config --cflags --libs goalsched | xargs)" = \
	'-I/usr/include -L/usr/lib/x86_64-any -lgoalsched' ]
# What debian/ says about them.
version=$(goalc --version | awk '{ print $NF }')
check install.versions [ "$(sed -n '1s/goalsched (\([^-)]*\).*/\1/p' "$ROOT/debian/changelog")" = "$version" -a \
	"$(sed -n '/^[0-9]/{p;q}' "$ROOT/CHANGES")" = "$version" ]
symbols=$(diff <(nm -D --defined-only "$BUILD/lib/libgoalsched.so" | awk '$2 != "A" { sub(/@@/, "@", $3); print $3 }' | sort) \
	<(sed -n 's/^ \(MPIX.*\) [0-9.]*$/\1/p' "$ROOT"/debian/libgoalsched*.symbols | sort))
check "install.debian_symbols $symbols" [ -z "$symbols" ]
# shellcheck disable=SC2086
check install.destdir_uninstall make_it uninstall DESTDIR="$TMP/package" $dirs
left=$(files "$TMP/package" | tr '\n' ' ')
check "install.destdir_uninstall_all $left" [ -z "$left" ]

# ---- directories that lists and files cannot have ----

for given in "PREFIX=$TMP/with blank" "LIBDIR=$TMP/with blank" "PREFIX=$TMP/with&" "DATADIR=$TMP/with|" "BINDIR=$TMP/with*" 'PREFIX=with'; do
	make_it install DESTDIR="$TMP/refused" PREFIX=/usr "$given" && fail "install.refused $given"
	check "install.refused_message $given" grep -q "^${given%%=*} has to be an absolute path" "$TMP/log"
done
check install.refused_nothing [ ! -e "$TMP/refused" -a ! -e "$ROOT/with" ]
check install.blank_destdir make_it install DESTDIR="$TMP/with blank" PREFIX=/usr
check install.blank_destdir_files [ -x "$TMP/with blank/usr/bin/goalrun" ]

check install.clean [ "$(make -n -C "$ROOT" --no-print-directory BUILD="$TMP/none" clean | xargs)" = "rm -rf $TMP/none" ]

# The tree may lie below one, and the build elsewhere.
mkdir "$TMP/with blank/tree" && cp -r "$ROOT"/{Makefile,format,include,lang,schedules,util} "$TMP/with blank/tree"
timeout 60 make -C "$TMP/with blank/tree" BUILD="$TMP/objects" "$TMP"/objects/{util/mem,lang/plain.tab}.o >"$TMP/log" 2>&1
check install.blank_tree [ $? -eq 0 ]
found=$(grep -rlaF "$TMP" "$TMP/objects" --include=*.o)
check "install.blank_in_no_file $found" [ -z "$found" ]
finish
