#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The reader of binaries compiles with -ffreestanding, and needs only the four functions that gcc requires.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1
for f in format/*.c; do
	o=$TMP/$(basename "$f" .c).o
	gcc -std=c17 -Wall -Wextra -Werror -I. -O2 -fno-stack-protector -ffreestanding -c "$f" -o "$o" || fail "freestanding.$f"
done
ld -r "$TMP"/*.o -o "$TMP/reader.o" || fail freestanding.link
needs=$(nm -u "$TMP/reader.o" | awk '{ print $2 }' | grep -vE '^(memcpy|memset|memcmp|memmove|_GLOBAL_OFFSET_TABLE_)$' | tr '\n' ' ')
if [ -z "$needs" ]; then ok freestanding.reader; else fail freestanding.reader "needs $needs"; fi
finish
