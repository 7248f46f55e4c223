#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Fuzzes the compiler with texts and the reader with binaries, for SECONDS_EACH seconds each (default 15), under address and
# undefined-behaviour sanitizers. Without clang and libFuzzer only the seeds are replayed. Inputs that fail are left in
# $BUILD/fuzz; once the bug is fixed, add them to fuzz/corpus/*/ as NAME.seed.
set -u
. "$(dirname "$0")/../lib.sh"
SECONDS_EACH=${SECONDS_EACH:-3}
# For a short run the build matters more than the speed of the fuzzers.
optimise=$([ "$SECONDS_EACH" -lt 60 ] && echo -O0 || echo -O1)
DIR=$BUILD/fuzz
mkdir -p "$DIR"
cd "$ROOT" || exit 1

san='-fsanitize=address,undefined -fno-sanitize-recover=undefined'
flags="-std=gnu17 $optimise -g -Wall -Werror -Wno-unused-but-set-variable -D_GNU_SOURCE -DGOAL_SCHEDDIR=\"/nowhere\" -I. -I$BUILD"
if echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d == 0 && n; }' |
	clang -x c -fsanitize=fuzzer,address,undefined -o "$TMP/probe" - 2>/dev/null; then
	compile="clang $flags $san -fsanitize=fuzzer-no-link" link="clang $san -fsanitize=fuzzer" main=
else
	compile="gcc $flags $san" link="gcc $san" main=tests/fuzz/replay.c
fi

sources=$(ls util/*.c lang/*.c format/*.c compiler/*.c compiler/*/*.c "$BUILD"/lang/*.c | grep -v "/main.c\|/embed.c\|/command_line.c\|compiler/options.c\|compiler/show.c")
build()
{
	local c o objects=

	for c in $sources $main; do
		o=$TMP/$(echo "${c#"$BUILD"/}" | tr / _).o
		$compile -c -o "$o" "$c" || return 1
		objects="$objects $o"
	done
	for t in text bin; do
		$compile -c -o "$TMP/$t.o" "tests/fuzz/fuzz_$t.c" || return 1
		# shellcheck disable=SC2086
		$link -o "$DIR/fuzz_$t" "$TMP/$t.o" $objects -ljson-c || return 1
	done
}
if ! build >"$TMP/log" 2>&1; then
	fail "fuzz.build $(grep -m 3 error "$TMP/log" | tr "\n" " ")"
	finish
fi

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
	mkdir -p "$DIR/$t"
	if timeout $((SECONDS_EACH + 60)) "$DIR/fuzz_$t" -max_total_time="$SECONDS_EACH" -timeout=10 \
		-rss_limit_mb=2048 -malloc_limit_mb=600 -max_len=8192 -artifact_prefix="$DIR/$t-" \
		"$DIR/$t" "tests/fuzz/corpus/$t" >"$TMP/log" 2>&1; then
		ok "fuzz.$t.campaign $(sed -n 's/^Done \([0-9]* runs\).*/\1/p' "$TMP/log")"
	else
		fail "fuzz.$t.campaign"
		tail -n 40 "$TMP/log"
	fi
done
finish
