#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# run.sh TEST... : runs test scripts or programs, each bounded, and counts their lines "ok", "FAIL" and
# "skip". VERBOSE=1 shows the lines that passed as well. The last line sums up.
set -u
cd "$(dirname "$0")/.." || exit 1
pass=0 bad=0 skipped=0
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
for t in "$@"; do
	began=$SECONDS
	case $t in
	*.sh) timeout 1500 bash "$t" >"$out" 2>&1 </dev/null ;;
	*) timeout 1500 "$t" >"$out" 2>&1 </dev/null ;;
	esac
	rc=$?
	o=$(grep -c '^ok ' "$out") f=$(grep -c '^FAIL ' "$out") s=$(grep -c '^skip ' "$out")
	# A test that fails without saying where has failed all the same.
	[ $rc -ne 0 ] && [ $rc -ne 77 ] && [ "$f" -eq 0 ] && { f=1; echo "FAIL $t: exit status $rc"; tail -n 20 "$out"; }
	[ $rc -eq 77 ] && [ "$s" -eq 0 ] && { s=1; echo "skip $t: $(tail -n 1 "$out")"; }
	[ $rc -eq 0 ] && [ $((o + f + s)) -eq 0 ] && { f=1; echo "FAIL $t: it tested nothing"; }
	pass=$((pass + o)) bad=$((bad + f)) skipped=$((skipped + s))
	if [ "$f" -gt 0 ] || [ "${VERBOSE:-0}" = 1 ]; then cat "$out"; else grep -E '^(skip |coverage:)' "$out"; fi
	printf '%-28s %4d passed %3d failed %3d skipped %5d s\n' "$(basename "$t")" "$o" "$f" "$s" $((SECONDS - began))
done
echo "$pass passed, $bad failed, $skipped skipped"
[ "$bad" -eq 0 ]
