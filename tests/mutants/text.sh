#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# text.sh MOST FILE : makes mutants of the text of one schedule of the library, or of a part that others call, from MOST of its
# statements. goalc --verify must refuse all of them, although some are right for count 0:
#   length   the ranges of a copy or a reduce differ in length, except for count 0
#   step     the step of a loop is 0, except for count 0
#   drop     a copy, a reduce or a dependency is removed, and an added assertion excludes some counts, but not all wrong ones
# A statement that is not executed at this size makes no mutant; a division by 0 in its place shows whether it is executed.
# Prints a line that begins with # for each mutant that is accepted, and a row with their number.
set -u
most=$1 file=$2
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cp -r schedules/. "$dir"
cp -r schedules "$dir/whole"
cd "$dir" || exit 1
part=${file#schedules/}
users=("$part")
[ "${part#lib/}" = "$part" ] || mapfile -t users < <(grep -l "$part" *.goal)
whole=whole/$part
mutants=0 accepted=0

# accepts ARGUMENTS...
accepts() { (ulimit -t 60; exec "$GOALC" --verify "$main" -n "$ranks" "$@") >/dev/null 2>&1; }

# mutate SCRIPT : the part, changed by sed
mutate() { sed -E -e "$1" "$whole" >"$part"; }

# executed LINE : whether a schedule executes the statement; it becomes main
executed()
{
	mutate "$1s/^/zz_ = 1 \/ 0;/"
	for main in "${users[@]}"; do
		ranks=5
		[ "$main" != bcast_trinaryx3.goal ] || ranks=8
		accepts || return 0
	done
	return 1
}

# tried KIND LINE ARGUMENTS... : the mutant that is there must not be accepted
tried()
{
	mutants=$((mutants + 1))
	accepts "${@:3}" || return
	accepted=$((accepted + 1))
	echo "# accepted: $1, $part:$2, $ranks ranks: $(diff "$whole" "$part" | grep '^[<>]' | tr '\n' ' ')"
}

# The assertion, and a count for which it lets the schedule be.
assertions=('count mod 2 == 0' 70 "count mod 40 == 0" 280 "count mod (40 * 16) == 0" 4480 'count >= 100' 103
	'count mod 97 == 31' 128 'count > 0 and popcount(count) == 1' 256)
turn=0
mapfile -t lines < <(grep -nE '^ *([a-z_]+(\[[^]]*\])?: )?(copy|reduce) .* into |^ *for .*\{$| requires ' "$whole" | cut -d: -f1)
for ((i = 0; i < ${#lines[@]}; i += (${#lines[@]} + most - 1) / most)); do
	n=${lines[i]}
	executed "$n" || continue
	# The first t resets the flag that the removal of a comment has set.
	mutate "${n}{s, *//.*,,; t a
		:a
		s/\+: ([^:]*)\]\$/+: (\1) + min(count, 1)]/; t
		s/( into [a-z_]+)\$/\1[0 +: 1 - min(count, 1)]/}"
	if sed -n "${n}p" "$whole" | grep -qE '(copy|reduce) ' && ! cmp -s "$whole" "$part"; then
		tried length "$n"
	fi
	mutate "${n}s/^( *for .*[^ ]) \{\$/\1 by 1 - min(count, 1) {/"
	if ! cmp -s "$whole" "$part"; then
		tried step "$n"
		continue
	fi
	assertion=${assertions[turn]} count=${assertions[turn + 1]}
	turn=$(((turn + 2) % ${#assertions[@]}))
	mutate "${n}s/^.*\$//"
	accepts -D count="$count" && continue # it means the same
	cp "$main" changed
	last=$(grep -n '^rank ' changed | tail -n 1 | cut -d: -f1)
	sed -e "${last}s/\$/ assert $assertion, \"$assertion\"/" changed >"$main"
	tried "drop, assert $assertion" "$n"
	cp "whole/$main" "$main"
done
printf '%-40s %6u %6u\n' "$part" "$mutants" "$accepted"
[ "$accepted" -eq 0 ]
