#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs every schedule of the library and checks every byte of every start: ranks 1-9, 13 and 16 as processes and as threads;
# first, middle and last root; counts 0, 1, 7, 1000 and, on up to 4 ranks, a large one; three types and operations; heap, private,
# staged and moved memory; all samples of arguments, in place too. One launch runs many cases.
# SWEEP=all runs all combinations, for hours. SWEEP=pairs (make matrix) runs every other size of each schedule, each with one kind
# of ranks and of memory in turn, and a set of the other values in which every two values occur together. SWEEP=share (make check)
# runs one size of each schedule in the same way, another size for the next schedule, and one kind of binary.
set -u
. "$(dirname "$0")/../lib.sh"
SIZES=${SIZES:-1 2 3 4 5 6 7 8 9 13 16}
KINDS=${KINDS:-processes threads}
MEMORY=${MEMORY:-heap,private,staged,moved}
SWEEP=${SWEEP:-share}
every=$([ "$SWEEP" = share ] && echo 9 || echo 2)
pairs=${SWEEP/share/pairs} # how the values of one launch are combined
# The count that is for up to 4 ranks only; with pairs for one size.
LARGE=${LARGE:-$([ "$SWEEP" = all ] && echo 1048576 || echo 131072)}
SCHEDULES=${SCHEDULES:-$(cd "$ROOT/schedules" && echo *.goal)}
cd "$ROOT" || exit 1

has_root=$'\nschedule [^\n]*root = 0' # a line of a text

# sweep NAME SCHEDULE RANKS OPTIONS... : one launch; what failed comes with the command that repeats it
sweep()
{
	local name=$1 schedule=$2 n=$3 memory=$MEMORY

	shift 3
	[ "$SWEEP" = all ] || memory=${memories[turn / 2 % ${#memories[@]}]}
	if timeout 900 "$BUILD/bin/goalrun" -n "$n" --verify --sweep "$pairs" --sample all --memory "$memory" --type int32,double,uint8 \
		"$@" "$schedule" >"$TMP/out" 2>"$TMP/err"; then
		last_line "$TMP/out"
		ok "matrix.$name $n ${schedule##*/}: $REPLY"
	else
		fail "matrix.$name $n ${schedule##*/}: $(grep -v 'killed by' "$TMP/err" | sort -u | tail -n 3)"
	fi
}

# options RANKS : to o, the roots and operations of the schedule, whose text is in text
options()
{
	local roots=0

	[ "$1" -lt 3 ] || roots+=,$(($1 / 2))
	[ "$1" -lt 2 ] || roots+=,$(($1 - 1))
	o=()
	[[ $text =~ $has_root ]] && o+=(--root "$roots")
	[[ ${text,,} =~ implements\ [a-z_]*(reduce|scan) ]] || return
	if [[ $text =~ \ commutative(\ reproducible)?$'\n' ]]; then o+=(--op sum,max); else o+=(--op sum,max,user); fi
}

# binary NAME RANKS SCHEDULE COMPILE-OPTIONS OPTIONS...
binary()
{
	local name=$1 n=$2 s=$3 c=$4 bin

	shift 4
	bin=$TMP/${s##*/}
	bin=${bin%.goal}.bin
	# shellcheck disable=SC2086
	check "matrix.compiles $name $s: goalc $s $c" goalc "$s" $c -o "$bin"
	sweep "$name" "$bin" "$n" --iters 3 "$@"
}

# due KIND : true if this kind of binary has its turn
due() { [ "$SWEEP" != share ] || [ $((number % 3)) = "$1" ]; }

read -r -a all_kinds <<<"$KINDS"
IFS=, read -r -a memories <<<"$MEMORY"
number=0
few=$(tr ' ' '\n' <<<"$SIZES" | awk '$1 <= 4' | sort -n | tail -n 1) # of pairs, the size for the large count
for s in $SCHEDULES; do
	s=schedules/$s
	text=$(<"$s")
	number=$((number + 1)) turn=$number # the next schedule begins with another kind
	# shellcheck disable=SC2086
	sizes=$(fitting "$s" $SIZES)
	for n in $sizes; do
		turn=$((turn + 1))
		[ "$SWEEP" = all ] || [ $((turn % every)) = 0 ] || [ "$SWEEP$n" = "pairs$few" ] || [ "$n" = "$sizes" ] || continue
		options "$n"
		kinds=("${all_kinds[@]}")
		[ "$SWEEP" = all ] || kinds=("${all_kinds[turn / 2 % ${#all_kinds[@]}]}")
		for kind in "${kinds[@]}"; do
			case $s in
			*/barrier*) # everybody comes late twice
				sweep "$kind" "$s" "$n" --ranks "$kind" --iters 10 --warmup $((2 * n))
				continue
				;;
			esac
			counts=0,1,7,1000
			if [ "$SWEEP" = all ]; then [ "$n" -le 4 ]; else [ "$n" = "$few" ]; fi && counts=$counts,$LARGE
			sweep "$kind" "$s" "$n" --ranks "$kind" "${o[@]}" --count $counts --iters 2 --warmup 1
		done
	done
	# Binaries: parametric, and for one size with and without a fixed count.
	root=
	[[ $text =~ $has_root ]] && root='-D root=2'
	due 0 && binary parametric "$(fitting "$s" 3)" "$s" "" --count 7
	grep -qE '^schedule.*(local|\[[^]]*\][,)])' "$s" && continue # it needs values, and then no other fit
	n=$(fitting "$s" 5)
	due 1 && binary concrete "$n" "$s" "-n $n" --count 0,7,1000
	due 2 && binary fixed "$n" "$s" "-n $n -D count=33 $root"
done
sweep passes schedules/bcast_binomial.goal 3 --iters 4 -D root=1 -D count=5 -T reduce-deps
size=$(goalc schedules/bcast_binomial.goal -o "$TMP/b.bin"; stat -c %s "$TMP/b.bin")
check "matrix.size $size bytes" [ "$size" -lt 4096 ]
finish
