#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Unit tests of the compiler's parts.
set -u
. "$(dirname "$0")/lib.sh"
cd "$ROOT" || exit 1
timeout 300 "$BUILD/tests/unit-all" >"$TMP/out" 2>"$TMP/err"
rc=$?
grep -E '^(ok|FAIL|skip) ' "$TMP/out"
NOK=1
if [ "$rc" -ne 0 ] && ! grep -q '^FAIL' "$TMP/out"; then fail unit "exit status $rc"; fi
[ "$rc" -eq 0 ] || { NFAIL=1; tail -n 20 "$TMP/err"; }
finish
