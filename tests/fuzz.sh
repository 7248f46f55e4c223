#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Fuzzes the compiler with text and the reader with binaries, SECONDS_EACH each (default 10), under
# address and undefined-behaviour sanitizers; without clang and libFuzzer the seeds are only replayed.
# What is found is left in $BUILD/fuzz; add it to fuzz/corpus/*/ as NAME.seed once it is fixed.
set -u
. "$(dirname "$0")/lib.sh"
SECONDS_EACH=${SECONDS_EACH:-10}
DIR=$BUILD/fuzz
mkdir -p "$DIR"
cd "$ROOT" || exit 1

# All of the programs, although only the compiler is fuzzed: the one build with clang, which must not warn.
san='-fno-sanitize-recover=undefined -fsanitize=address,undefined'
if echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d == 0 && n; }' |
	clang -x c -fsanitize=fuzzer,address,undefined -o "$TMP/probe" - 2>/dev/null; then
	cc=clang objects=$san,fuzzer-no-link link=$san,fuzzer main=
else
	cc=gcc objects=$san link=$san main=tests/fuzz/replay.c
fi
# shellcheck disable=SC2046
variant fuzz CC=$cc SAN="$objects" CFLAGS='-O1 -g1' DATADIR=/nowhere $(programs fuzz tests/goalrun.sh) || finish
mapfile -t parts < <(find "$BUILD-fuzz"/{util,lang,compiler} -name '*.o' ! -name main.o)
for t in text bin; do
	# shellcheck disable=SC2086
	if ! $cc -std=gnu17 -O1 -g1 -D_GNU_SOURCE -I. -I"$BUILD" $link -o "$DIR/fuzz_$t" "tests/fuzz/fuzz_$t.c" $main "${parts[@]}" -ljson-c 2>"$TMP/log"; then
		fail "fuzz.build $(grep -m 3 error "$TMP/log" | tr "\n" " ")"
		finish
	fi
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
