#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Schedules of other shapes than the library's: goalc --verify accepts those in corpus/correct, and refuses those in
# corpus/faulty for the right reason. An executor that shares nothing with the verifier gives the same verdicts.
#
# A case is a text after a line "=== NAME [CHECK [unseen]] [ARGUMENTS]". For faulty cases CHECK is the check that must fail.
# The word unseen says that no execution can show the fault. The comment at the head of the text says why.
set -u
. "$(dirname "$0")/../lib.sh"
referee=$BUILD/tests/mutants/referee
cd "$TMP" || exit 1

# correct NAME ARGUMENTS...
correct()
{
	local name=$1

	shift
	if ! goalc --verify "$name.goal" "$@" >out 2>&1; then
		fail "corpus.$name is refused: $(head -n 1 out)"
	elif ! timeout 60 "$referee" -s 50 "$@" "$name.goal" >out 2>&1; then
		fail "corpus.$name fails when executed: $(head -n 1 out)"
	else
		ok "corpus.$name"
	fi
}

# faulty NAME CHECK [unseen] ARGUMENTS...
faulty()
{
	local name=$1 check=$2 want=1 rc

	shift 2
	[ "${1:-}" = unseen ] && { want=; shift; }
	goalc --verify "$name.goal" "$@" >out 2>&1
	rc=$?
	if [ $rc -ne 1 ] || ! grep -q "\[$check\]\$" out; then
		fail "corpus.$name exit status $rc, not $check: $(head -n 1 out)"
		return
	fi
	timeout 60 "$referee" -s 1000 "$@" "$name.goal" >out 2>&1
	rc=$?
	if [ -n "$want" ] && [ $rc -ne 1 ]; then
		fail "corpus.$name is right when executed, exit status $rc"
	elif [ -z "$want" ] && [ $rc -eq 1 ]; then
		fail "corpus.$name can be seen after all: $(head -n 1 out)"
	else
		ok "corpus.$name"
	fi
}

for kind in correct faulty; do
	awk '/^=== / { name = $2; sub(/^=== /, ""); print > "cases"; next } { print > (name ".goal") }' "$TESTS/corpus/$kind"/*.cases
	while read -r line; do
		# shellcheck disable=SC2086
		$kind $line
	done <cases
	check "corpus.$kind.number $(wc -l <cases)" [ "$(wc -l <cases)" -ge 100 ]
	rm -f -- *
done
finish
