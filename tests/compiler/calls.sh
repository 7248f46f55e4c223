#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Calls of other schedules: calls/*.goal compute what they claim to implement (goalrun --verify). A binary for a fixed size,
# which keeps the count open, has the same ops as the parametric one. SWEEP=all (make matrix) takes more sizes.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$TESTS/calls" || exit 1
SIZES=${SIZES:-$([ "${SWEEP:-}" = all ] && echo 1 2 3 4 5 6 7 8 9 13 16 || echo 1 2 5 8 13)}

# Arguments of parameters without a default.
values()
{
	local n=$2

	[ "$1" = gather_vector ] || return
	echo "-D count=3 -D n=$(yes 3 | head -n "$n" | paste -sd,) -D at=$(seq -s, 0 3 $((3 * n - 3)))"
}

# The ops of all ranks, without the head of the dump.
ops() { goalc --dump "$@" 2>&1 | grep -E '^(rank|buffer) |waits'; }

for file in *.goal; do
	name=${file%.goal}
	if ! goalc "$file" -o "$TMP/$name.bin" 2>"$TMP/err" || [ -s "$TMP/err" ]; then
		fail "calls.$name does not compile: $(head -n 1 "$TMP/err")"
		continue
	fi
	for n in $SIZES; do
		args=$(values "$name" "$n")
		# shellcheck disable=SC2086
		if [ -z "$args" ] && ! timeout 60 "$BUILD/bin/goalrun" -n "$n" --iters 3 --warmup 0 --verify "$TMP/$name.bin" >"$TMP/out" 2>"$TMP/err"; then
			fail "calls.$name runs on $n: $(head -n 3 "$TMP/err")"
		elif [ -z "$args" ] && ! grep -q '^verified' "$TMP/out"; then
			fail "calls.$name is not verified on $n"
		elif ! goalc "$file" -n "$n" $args -o "$TMP/fixed.bin" 2>"$TMP/err"; then
			fail "calls.$name for $n ranks: $(head -n 1 "$TMP/err")"
		elif ! ops "$TMP/$name.bin" -n "$n" -D count=3 $args >"$TMP/a" || ! [ -s "$TMP/a" ] ||
			! ops "$TMP/fixed.bin" -D count=3 >"$TMP/b" || ! cmp -s "$TMP/a" "$TMP/b"; then
			fail "calls.$name the binary for $n ranks has other ops: $(diff "$TMP/a" "$TMP/b" | head -n 3)"
		else
			ok "calls.$name $n"
		fi
	done
done

# Imports are found beside the text that has them, whoever reads it.
mkdir "$TMP/lib" && cat >"$TMP/lib/part.goal" <<'END'
schedule part
buffer inout data[count]
rank r of p { nop }
END
cat >"$TMP/whole.goal" <<'END'
import "lib/part.goal"
schedule whole
buffer inout data[count]
rank r of p { call part(data) }
END
check calls.imports_of_goalrun timeout 60 "$BUILD/bin/goalrun" -n 2 --iters 1 "$TMP/whole.goal" >"$TMP/out"
finish
