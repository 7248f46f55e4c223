#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares the verifier with executions. Schedules of the library are changed in one place each, and each mutant is executed in
# random orders. A mutant that ever fails must be rejected, and one that means the same must be accepted. Then small random graphs
# must do in executions what the verifier says. Before all that, mutants are made of statements of the texts; these are wrong for
# all counts but 0, or for the counts that an added assertion leaves, and must be rejected.
# TEXTS=n: n statements of each text. MOST=n: n mutants of a schedule at a size; with 5 and 8 ranks n is shared by all arguments of
# the schedule. GRAPHS=n: n graphs. JOBS=n: n processes at a time. LIMIT=n: n seconds for each.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1
: "${MOST:=4}" "${TEXTS:=1}" "${GRAPHS:=1500}" "${JOBS:=$(nproc)}" "${LIMIT:=900}"
export BUILD MOST LIMIT TMP GOALC

one()
{
	timeout "$LIMIT" "$BUILD/tests/mutants/mutants" -n "$1" -m "$MOST" "$2" >"$TMP/$1.$(basename "$2" .goal).mut" 2>&1
	echo "exit status $?" >>"$TMP/$1.$(basename "$2" .goal).mut"
}

text()
{
	timeout "$LIMIT" bash tests/mutants/text.sh "$TEXTS" "$1" >"$TMP/text.$(basename "$1" .goal).mut" 2>&1
	echo "exit status $?" >>"$TMP/text.$(basename "$1" .goal).mut"
}
export -f one text

# turn N : true for each fourth number; with TEXTS=1, in a share, schedules and sizes take turns
turn() { [ "$TEXTS" -gt 1 ] || [ $(($1 % 4)) -eq 0 ]; }

i=0
for s in schedules/*.goal; do
	i=$((i + 1))
	! takes "$s" 5 || ! turn $i || echo "5 $s"
	! takes "$s" 8 || ! turn $((i + 2)) || echo "8 $s"
done | xargs -P "$JOBS" -n 2 bash -c 'one "$0" "$1"'

for s in schedules/*.goal schedules/lib/*.goal; do
	i=$((i + 1))
	! turn $i || echo "$s"
done | xargs -P "$JOBS" -n 1 bash -c 'text "$0"'

verdicts mutants
echo "# schedule                            ranks mutants wrong rejected unseen  same accepted executions"
grep -h '^[a-z]' "$TMP"/[0-9]*.mut | grep -v '^exit' | sort | sed 's/^/# /'
grep -h '^[a-z]' "$TMP"/[0-9]*.mut | grep -v '^exit' | awk '
	{ for (i = 3; i <= 9; i++) sum[i] += $i }
	END {
		printf "# in all: %d mutants, %d went wrong in execution, %d rejected, of which %d without an observed failure;", sum[3], sum[4], sum[5], sum[6]
		printf " %d that mean the same, %d of them accepted; %d executions\n", sum[7], sum[8], sum[9]
	}'

grep -h "^[a-z].*\.goal " "$TMP"/text.*.mut | awk '{ n += $2; accepted += $3 } END { printf "# of texts: %d mutants, %d accepted\n", n, accepted }'
timeout "$LIMIT" "$BUILD/tests/mutants/random" -g "$GRAPHS" >"$TMP/random" 2>&1
check mutants.random [ $? -eq 0 ]
sed 's/^#* */# /' "$TMP/random"
finish
