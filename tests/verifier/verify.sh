#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# goalc --verify: verify/*_ok.goal is proved with the text of *.out, and verify/*_bad.goal is refused with the text of *.err.
# "-- ARGS" in the first line of a file (after //) adds arguments. VERIFY_UPDATE=1 writes .out and .err: read the difference
# before you keep it. Then all schedules of the library are proved, and what a binary keeps of the proof is checked.
set -u
. "$(dirname "$0")/../lib.sh"
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

cd "$TMP" || exit 1

# Only an assertion of the text says that a schedule is not for some values. Any other error that comes up with them is a
# fault, with its place, whoever looks: it must not leave count 0, for which none of these is wrong, to be proved alone.
cat >lib.goal <<'END'
schedule none
rank r of p { }
schedule third(w[2] = 1)
rank r of p { if w[min(2, count)] < 0 { nop } }
schedule secret(root = 0, rootonly v = 0)
rank r of p { if count > 0 { if v < 0 { nop } } }
schedule length(global w[count])
rank r of p { }
schedule rooted(root = 0)
rank r of p { }
END
printf 'import "inner.goal"\nschedule calls(global v[1])\nbuffer in a[count]\nbuffer inout b[2 * count]\n%s\n' \
	'rank r of p { call inner(a, b, v = v) }' >calls.goal

# error NAME MESSAGE STATEMENT : also in a schedule that is called, with a pass, and with one count
error()
{
	local name=$1 message=$2 args

	printf 'import "lib.goal"\nschedule inner(global v[1])\nbuffer in a[count]\nbuffer inout b[2 * count]\n%s\n' \
		"rank r of p { $3 }" >inner.goal
	for args in '--verify inner.goal' '--verify calls.goal' '--verify inner.goal -T segment:size=2' \
		'-o x.bin inner.goal' '-o x.bin calls.goal' '-o x.bin inner.goal -D count=9'; do
		# shellcheck disable=SC2086
		goalc $args -n 3 -D v=1 >out 2>err
		check "verify.error_$name: $args" \
			[ "$?,$(grep -cE "^(inner|lib).goal:[0-9]+:[0-9]+: error: .*rank [0-2]: $message" err)" = 1,1 ]
	done
}
error lengths 'the two ranges differ in length' 'copy a into b'
error written 'the range that is written is not the one that is reduced' 'reduce b[0 +: count] with a into b[count +: count]'
error step 'the step of a loop is not positive' 'for i = 0 to 3 by 1 - min(count, 1) { nop }'
error rank 'the rank in the call is not the rank that calls' 'call none() as (r + count) mod 4 of 4'
error ranks 'the peer . is out of range' 'call none() as r of p - min(count, 2)'
error element 'there is no such element of the vector w' 'call third()'
error rootonly 'an op uses a parameter that its rank does not know' 'call secret()'
error length 'the vector w has the wrong length' 'call length(w = v, count = 1 + min(count, 1))'
error root 'the root is out of range' 'call rooted(root = min(count, 3))'
# goalrun looks, too, and other ranks do not wait for the one at fault.
error lengths_of_one 'the two ranges differ in length' 'if r == 1 { copy a into b }'
timeout 20 "$BUILD/bin/goalrun" -n 3 --iters 2 --count 9 inner.goal -D v=1 >out 2>&1
check verify.error_run [ "$?,$(grep -c 'inner.goal:5:.*the two ranges differ in length' out)" = 1,1 ]



# The library. The time is for people to read.
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

# Assertions on the count leave no proof that has tried nothing: other counts are found for which the schedule is, so that a
# broadcast that sends nothing is refused, and a right one proved.
# asserted NAME STATEMENT [TEXT OF THE PROOF]
asserted()
{
	local head='schedule s(root = 0, k = 16) implements MPI_Bcast\nbuffer inout data[count]\nrank r of p {' name=$1

	# shellcheck disable=SC2059
	printf "$head\n%s\n}\n" "$2" >empty.goal
	# shellcheck disable=SC2059
	printf "$head\n%s\nif r == root { for k = 1 to p - 1 { send data to (r + k) mod p } } else { recv data from root }\n}\n" \
		"$2" >whole.goal
	goalc --verify empty.goal -n 5-10 -o x.bin >out 2>err
	check "verify.asserted_$name refused" [ "$?,$(head -n 1 err | grep -c 'at the end data.* is as it was at the start.*\[result\]$')" = 1,1 ]
	check "verify.asserted_$name not kept" [ ! -e x.bin ]
	goalc --verify whole.goal -n 5-10 >out 2>err
	check "verify.asserted_$name proved" [ "$?,$(grep -c -F -- "${3:-proved for 5-10 ranks}" out)" = 0,1 ]
}
asserted even 'assert count mod 2 == 0, "x"' 'passed over by its own assertions: counts 1, 7, 2p + 1'
asserted ranks 'assert count mod p == 0, "x"'
asserted lines 'assert count mod (p * k) == 0, "x"' 'tried: counts 0, 80, 96,'
asserted several 'assert count mod k == 0 and count mod 9 == 0, "x"; assert count mod 25 == 0, "x"' 'tried: counts 0, 3600, '
asserted least 'assert count >= 100, "x"' 'passed over by its own assertions: counts 0, 1, 7, 2p + 1'
asserted large 'assert count >= 100000, "x"'
asserted one 'assert count == 1000003, "x"' 'tried: counts 1000003;'
asserted range 'assert count > 100 and count < 104, "x"' 'tried: counts 101, 102, 103;'
asserted power 'assert count > 0 and 2^log2(count) == count, "x"'
asserted rest 'assert count mod 97 == 31, "x"'
asserted roots 'assert root == 1, "x"' '5-10 ranks: 1 root of each;'
asserted root 'assert count mod (root + 16) == 0, "x"' '5-9 ranks: all roots; 10 ranks: 3 of 10 roots (0, 4, 9);'
asserted other_roots 'assert root == 0 or count mod 16 == 0, "x"' '5-9 ranks: all roots;'
asserted one_rank 'if r == p - 1 { assert count mod 12 == 0, "x" }'
asserted other_fault 'if r == p - 1 { assert count mod 12 == 0, "x" } else { for k = 1 to 2 by 1 - count mod 12 { } }'
asserted sizes 'assert p mod 2 == 0, "x"' 'not for 5, 7, 9 ranks, by its own assertions'
# What is passed over is told by what the assertion is about.
# passed NAME STATEMENT TEXT [COLLECTIVE SIZE]
passed()
{
	sed "/^rank/s/\$/ $2/" "$ROOT/schedules/${4:-bcast_linear}.goal" >passed.goal
	goalc --verify passed.goal -n "${5:-5}" >out 2>err
	check "verify.passed_$1" [ "$?,$(sed -n 's/^  passed over by its own assertions: //p' out)" = "0,$3" ]
}
passed nothing '' ''
passed count 'assert count != 7, "x"' 'count 7'
passed counts 'assert count < 2, "x"' 'counts 7, 2p + 1'
passed root 'assert root != 3, "x"' 'root 3'
passed roots 'assert root == 0, "x"' 'roots 1, 2, 3, 4'
passed many_roots 'assert root == 0, "x"' 'roots 1, 2, 3, 4, 5, 6, 7, 8, and 291 more up to 299' bcast_linear 300
passed sample 'assert inplace == 0, "x"' 'sample inplace' allgather_bruck
passed both 'assert root != 2 and count != 1, "x"' 'count 1; root 2'
passed together 'assert root == 0 or count mod 16 == 0, "x"' 'cases such as size 5, count 1, root 1 (12)'
passed by_turns 'assert inplace == 0, "x"' 'cases such as size 300, count 1, inplace (2)' allgather_bruck 300
printf 'schedule only\nrank r of p { assert count mod 3 == 0, "x" }\n' >only.goal
printf 'import "only.goal"\n' >import.goal
sed '/^}/s/^/call only(count = count \/ 4)\n/' empty.goal >>import.goal
goalc --verify import.goal -n 4 >out 2>err
check verify.asserted_called grep -q 'at the end data' err

# Without a count above 0 there is no proof, and without any nothing to prove.
for one in 'count == 0:nothing is proved of 3 ranks, since' 'count == 0 or p != 4:nothing is proved of 4 ranks, since' \
	'p > 4:the schedule is for none of the values that were tried'; do
	asserted=${one%%:*} says=${one#*:}
	printf 'schedule s\nbuffer in a[count]\nrank r of p {\n  assert %s, "x"\n}\n' "$asserted" >none.goal
	goalc --verify none.goal -n 3-4 -o x.bin >out 2>err
	check "verify.nothing $asserted" [ "$?,$(grep -c "^none.goal:4:3: error: .*$says" err),$(wc -c <out)" = 1,1,0 ]
	check "verify.nothing $asserted kept" [ ! -e x.bin ]
done
goalc --verify none.goal -n 4 -D count=0 >out 2>err
check verify.nothing_asked [ $? -eq 1 ]
# What is tried is told, with what -D and defaults give.
goalc --verify whole.goal -n 10 -D k=3 >out
check verify.tried_default grep -qx '  tried: counts 0, 1, 7, 2p + 1; 10 ranks: 3 of 10 roots (0, 4, 9); k = 3' out
goalc --verify whole.goal -n 10 -D root=2 -D count=5 >out
check verify.tried_given grep -qx '  tried: count 5; root = 2, k = 16' out
# What goalc checks while it compiles follows assertions, too.
printf 'schedule s\nbuffer inout a[count]\nrank r of p {\n  assert count mod 16 == 0, "x"\n%s}\n' \
	'send a to (r + 1) mod p; recv a from (r - 1) mod p' >race.goal
goalc race.goal -o x.bin 2>err
check verify.asserted_compiled grep -q '\[race\]$' err

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

# Of many ranks counts and samples go by turns: each of them is tried, so what is wrong for one of them is found, also
# where the only sample there is to choose from is given.
for wrong in 'count == 1' 'count == 7' 'count == 2 * p + 1' 'inplace'; do
	sed "s/if r == root {/if $wrong and r == root {\n    nop\n  } else if r == root {/" "$ROOT/schedules/scatter_linear.goal" >turn.goal
	for given in '' '-D inplace=0'; do
		[ "$wrong$given" != 'inplace-D inplace=0' ] || continue
		# shellcheck disable=SC2086
		goalc --verify turn.goal -n 300 $given >out 2>err
		check "verify.turns_find.${wrong// /}${given:+.given}" grep -q 'has no send' err
	done
done

# large SCHEDULE SECONDS MEGABYTES ARGS: proved within these bounds, of CPU and of address space; a sanitizer takes its own
large()
{
	local name=$1 seconds=$2 kb=$(($3 * 1024)) took

	shift 3
	if nm -D "$GOALC" 2>err | grep -q __asan_init; then kb=unlimited; fi
	took=$( (ulimit -v $kb; ulimit -t "$seconds"; "$GOALC" --verify "$ROOT/schedules/$name.goal" "$@" >out 2>err; times) | tail -n 1)
	if grep -q "^$name: proved for $2 ranks" out; then
		ok "verify.large.$name $*: $took, $(grep -o 'messages of [0-9]* ranks: [0-9]*' out)"
	else
		fail "verify.large.$name $*: $took, $(cat out err | head -n 2 | tr '\n' '|')"
	fi
}

# A range of values is for --verify, for one parameter, on all ranks, and of numbers that ascend. All roots can be named so.
# wrong NAME TEXT ARGUMENTS... : wrong usage
wrong()
{
	local name=$1 text=$2 rc

	shift 2
	goalc "$ROOT/schedules/bcast_chain.goal" "$@" >out 2>err
	rc=$?
	check "verify.range.$name $(head -n 1 err)" [ $rc -eq 2 -a ! -s out -a "$(grep -cF -e "$text" err)" = 1 ]
}
wrong compile 'a range is for --verify' -o x.bin -D segments=1-4
wrong stats 'a range is for --verify' --stats -n 4 -D segments=1-4
wrong two 'not both segments and count' --verify -D segments=1-4 -D count=1-2
wrong falls 'name=a-b with --verify, not segments=4-1' --verify -D segments=4-1
wrong open 'name=a-b with --verify, not segments=4-' --verify -D segments=4-
wrong negative 'name=a-b with --verify, not segments=-4-4' --verify -D segments=-4-4
wrong rank 'name=a-b with --verify, not segments@1=1-4' --verify -D segments@1=1-4
wrong output '-D and global passes do not go with -o' --verify -D segments=1-4 -o x.bin
goalc --verify "$ROOT/schedules/bcast_chain.goal" -n 12 -D root=0-11 -D count=5 >out 2>&1
check verify.range.root grep -q 'tried: count 5; root = 0-11, segments = 8' out
goalc --verify "$ROOT/schedules/bcast_chain.goal" -n 3 -D count=0-9 -D segments=2 >out 2>&1
check verify.range.count grep -q 'tried: count 0-9; 3 ranks: all roots; segments = 2' out

# Each took more than that before its paths were looked for near by. SWEEP=all (make verify-large): the whole library with
# 1,024 ranks in a minute each, in 10 s with up to 10^6 messages, and in 1 GiB.
large allreduce_ring 10 330 -n 512 -D count=3
large alltoall_bruck 10 90 -n 256 -D count=3
large reduce_scatter_ring 10 90 -n 256 -D count=3
if [ "${SWEEP:-}" = all ]; then
	for file in "$ROOT"/schedules/*.goal; do
		name=$(basename "$file" .goal)
		case $name in
		allgather_ring | allgatherv_* | allreduce_ring | alltoall_linear | alltoall_pairwise | alltoallv_linear | \
			alltoallw_linear | bcast_scatter_allgather | *_pairwise | reduce_scatter_linear | reduce_scatter*_ring | *_slices) seconds=60 ;;
		*) seconds=10 ;;
		esac
		large "$name" $seconds 1024 -n 1024 -D count=3
		large "$name" $seconds 1024 -n 1024
	done
fi
finish
