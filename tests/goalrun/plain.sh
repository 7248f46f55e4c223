#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# goalrun on plain GOAL: runs every sample that compiles without a warning and has no wildcards, and checks each message.
# The other samples are refused with a reason. SAMPLES, a pattern, takes some of them.
set -u
. "$(dirname "$0")/../lib.sh"
shopt -s extglob
# shellcheck disable=SC2231
for f in "$TESTS"/samples/${SAMPLES:-*}.goal; do
	name=$(basename "$f" .goal)
	warnings=$(goalc "$f" -o "$TMP/x.bin" 2>&1)
	timeout 60 "$BUILD/bin/goalrun" --iters 20 "$f" >"$TMP/out" 2>"$TMP/err"
	rc=$?
	if [ -n "$warnings" ] || grep -qE 'from *-1|tag *-1' "$f"; then
		if [ $rc -eq 1 ] && grep -qE 'error|warning' "$TMP/err"; then
			ok "plain.refuses $name"
		else
			fail "plain.refuses $name: status $rc"
		fi
	elif [ $rc -eq 0 ] && grep -q '^verified' "$TMP/out"; then
		ok "plain.runs $name"
	else
		fail "plain.runs $name: status $rc $(head -n 1 "$TMP/err")"
	fi
done
finish
