#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Fuzzes the compiler with texts and the reader with binaries, for SECONDS_EACH seconds each (default 2), under address and
# undefined-behaviour sanitizers. Less than 60 seconds do the same each time, more go where chance leads. Without clang and
# libFuzzer only the seeds are replayed. Inputs that fail are left in $BUILD/fuzz; once the bug is fixed, add them to
# fuzz/corpus/*/ as NAME.seed.
set -u
. "$(dirname "$0")/../lib.sh"
SECONDS_EACH=${SECONDS_EACH:-2}
DIR=$BUILD/fuzz
mkdir -p "$DIR"
cd "$ROOT" || exit 1

if ! echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d == 0 && n; }' |
	clang -x c -fsanitize=fuzzer,address,undefined -o "$TMP/probe" - 2>/dev/null; then
	san='-fsanitize=address,undefined -fno-sanitize-recover=undefined'
	name=fuzz how=(CC=gcc SAN="$san" CFLAGS=-O0) link="gcc $san" main=tests/fuzz/replay
elif [ "$SECONDS_EACH" -lt 60 ]; then # what this run compiles costs more than what it runs
	name=clang how=("${CLANG[@]}") link='clang -fsanitize=fuzzer,address,undefined' main=
else
	name=fuzz how=("${CLANG[@]}" CFLAGS='-O1 -g1') link='clang -fsanitize=fuzzer,address,undefined' main=
fi
# What the library has of the compiler, and what prints.
parts=$(make -s --no-print-directory BUILD="$BUILD-$name" list-objects | grep -E "^$BUILD-$name/(util|lang|format|compiler)/" |
	grep -vE '/(main|print_model)\.o$|/util/(command_line|progress|report)\.o$|/compiler/(every|options|show|check_table|check_row)\.o$')
# shellcheck disable=SC2086
variant $name "${how[@]}" $parts "$BUILD-$name"/tests/fuzz/fuzz_{text,bin}.o ${main:+"$BUILD-$name/$main.o"} || finish
for t in text bin; do
	# shellcheck disable=SC2086
	$link -o "$DIR/fuzz_$t" "$BUILD-$name/tests/fuzz/fuzz_$t.o" ${main:+"$BUILD-$name/$main.o"} $parts -ljson-c >"$TMP/log" 2>&1 ||
		{ fail "fuzz.link $(grep -m 3 -E 'error|undefined' "$TMP/log" | tr '\n' ' ')"; finish; }
done

for t in text bin; do
	if timeout 300 "$DIR/fuzz_$t" tests/fuzz/corpus/$t/*.seed >"$TMP/log" 2>&1; then
		ok "fuzz.$t.seeds"
	else
		fail "fuzz.$t.seeds"
		tail -n 30 "$TMP/log"
		continue
	fi
	if [ -n "$main" ]; then
		skip "fuzz.$t.campaign there is no clang with libFuzzer"
		continue
	fi
	found=$DIR/$t seed=0
	# To read all that long runs have found takes longer than a short one.
	[ "$SECONDS_EACH" -ge 60 ] || found=$TMP/found-$t seed=1
	mkdir -p "$found"
	if timeout $((SECONDS_EACH + 60)) "$DIR/fuzz_$t" -seed=$seed -max_total_time="$SECONDS_EACH" -timeout=10 \
		-rss_limit_mb=2048 -malloc_limit_mb=600 -max_len=8192 -artifact_prefix="$DIR/$t-" \
		"$found" "tests/fuzz/corpus/$t" >"$TMP/log" 2>&1; then
		ok "fuzz.$t.campaign $(sed -n 's/^Done \([0-9]* runs\).*/\1/p' "$TMP/log")"
	else
		fail "fuzz.$t.campaign"
		tail -n 40 "$TMP/log"
	fi
done
finish
