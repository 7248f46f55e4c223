#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The library's calls, by way of its shared object.
set -u
. "$(dirname "$0")/lib.sh"
timeout 300 "$BUILD/tests/rt-cases" >"$TMP/out" 2>"$TMP/err"
rc=$?
grep -E '^(ok|FAIL|skip) ' "$TMP/out"
NOK=1
if [ "$rc" -ne 0 ] && ! grep -q '^FAIL' "$TMP/out"; then fail rt "exit status $rc"; fi
[ "$rc" -eq 0 ] || { NFAIL=1; tail -n 20 "$TMP/err"; }
finish
