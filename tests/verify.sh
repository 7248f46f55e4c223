#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# goalc --verify: verify/*_ok.goal is proved and says so with the text of *.out; verify/*_bad.goal is refused with the
# text of *.err. "-- ARGS" in the first line of a file (behind //) adds arguments. VERIFY_UPDATE=1 writes .out and .err:
# read the difference before you keep it. Then all schedules of the library, and what is kept in a binary.
set -u
. "$(dirname "$0")/lib.sh"
cd "$TESTS/verify" || exit 1

for file in *_bad.goal *_ok.goal; do
	name=${file%.goal}
	args=$(sed -n '1s/^\/\/.* -- //p' "$file")
	# shellcheck disable=SC2086
	goalc --verify "$file" $args >"$TMP/out" 2>"$TMP/err"
	rc=$?
	case $name in
	*_bad) want=1 text=$name.err says=err silent=out ;;
	*) want=0 text=$name.out says=out silent=err ;;
	esac
	[ -z "${VERIFY_UPDATE:-}" ] || cp "$TMP/$says" "$text"
	if [ $rc -ne $want ]; then
		fail "verify.$name exit status $rc, not $want"
	elif ! cmp -s "$TMP/$says" "$text"; then
		fail "verify.$name the text differs"
		diff "$text" "$TMP/$says" | head -20 | sed 's/^/# /'
	elif [ -s "$TMP/$silent" ]; then
		fail "verify.$name said something else: $(head -n 1 "$TMP/$silent")"
	else
		ok "verify.$name"
	fi
done

# The library. The time is for people to read.
cd "$TMP" || exit 1
for file in "$ROOT"/schedules/*.goal; do
	name=$(basename "$file" .goal)
	start=$(date +%s%N)
	if goalc --verify "$file" >out 2>err && grep -q "^$name: proved for .*: it does what" out; then
		ok "verify.$name $((($(date +%s%N) - start) / 1000000)) ms"
	else
		fail "verify.$name $(cat out err | head -n 2 | tr '\n' '|')"
	fi
done

# What is proved stays with the binary, which does what it did.
bcast=$ROOT/schedules/bcast_binomial.goal
goalc --verify "$bcast" -n 3-5 -o proved.bin >out
check verify.record_shown [ "$(goalc --dump proved.bin | grep '^proved')" = 'proved for 3-5 ranks' ]
goalc "$bcast" -g -o bare.bin
check verify.record_same cmp -s <(goalc --emit=json -n 5 bare.bin) <(goalc --emit=json -n 5 proved.bin)
goalc --verify proved.bin -n 2 -o again.bin >out
check verify.record_replaced [ "$(goalc --dump again.bin | grep '^proved')" = 'proved for 2 ranks' ]
goalc --verify "$TESTS/verify/sizes_ok.goal" -n 1-9 -o even.bin >out
check verify.record_gaps [ "$(goalc --dump even.bin | grep '^proved')" = 'proved for 2, 4, 6, 8 ranks' ]
goalc --verify bare.bin -n 3-5 -o other.bin >out
check verify.record_bytes cmp -s proved.bin other.bin
goalc --verify "$TESTS/verify/order_bad.goal" -n 4 -o wrong.bin 2>err
check verify.record_nothing [ ! -e wrong.bin ]

# A concrete binary: its own size, every root, a count that is fixed.
goalc "$bcast" -n 5 -g -o five.bin
check verify.concrete grep -q '^bcast_binomial: proved for 5 ranks (20 cases): it does what MPI_Bcast does$' <(goalc --verify five.bin)
goalc "$bcast" -n 5 -D root=2 -D count=3 -o one.bin
check verify.fixed grep -q '^bcast_binomial: proved for 5 ranks (1 case): ' <(goalc --verify one.bin)
goalc --verify five.bin -n 4 >out 2>err
check verify.concrete_size [ $? -eq 1 ]
goalc --verify "$TESTS/verify/lower_race_bad.goal" -n 2 -Wno-race -Wno-size -Wsize >out 2>err
check verify.checks_on [ $? -eq 1 -a "$(grep -c ': warning: -Wno-.* has no effect: --verify proves a schedule by all checks$' err)" -eq 1 ]
check verify.checks_on_named grep -q 'warning: -Wno-race has no effect' err
check verify.checks_still_race grep -q '\[race\]$' err
goalc --verify "$bcast" -n 4-3 >out 2>err
check verify.range [ $? -eq 2 ]
goalc --verify "$bcast" -D root=1 -o x.bin >out 2>err
check verify.values [ $? -eq 2 ]
goalc --stats "$bcast" -n 2-3 >out 2>err
check verify.only_range [ $? -eq 2 ]
finish
