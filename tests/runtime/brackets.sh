#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reproducibility of the library's reductions. What goalc --verify says of a schedule agrees with the mark in its head and with
# schedules(7). If it says reproducible, tests/rt/brackets.c gets the same bits of sums of random doubles, whatever the counts,
# segments, memory, kinds of ranks, backends and progress; if not, it shows two bracketings.
# SWEEP=share (make check) runs each schedule in one or two ways, and SWEEP=all in all ways.
set -u
. "$(dirname "$0")/../lib.sh"
SWEEP=${SWEEP:-share}
RANKS=${RANKS:-$([ "$SWEEP" = all ] && echo 2 3 4 5 6 7 8 13 16 || echo 6)}
PROVED=${PROVED:-$([ "$SWEEP" = all ] && echo 1-33 || echo 5-6)}
COUNTS=$([ "$SWEEP" = all ] && echo 1,2,7,100,1000,20000,300000 || echo 1,7,1000,20000)
PROGRESS="app thread collab"
cd "$ROOT" || exit 1

# Ways of a run: memory, kind of ranks, and variables. With TEAM_TRANSPORT all messages go by a transport of the program.
ways=()
for progress in $PROGRESS; do
	for kind in processes threads; do
		for memory in heap private; do
			ways+=("$memory $kind GOAL_PROGRESS=$progress GOAL_SHM_DIRECT=1")
		done
	done
	ways+=("private processes GOAL_PROGRESS=$progress GOAL_SHM_DIRECT=0 GOAL_KERNELS=base")
	for kind in processes threads; do
		ways+=("private $kind GOAL_PROGRESS=$progress TEAM_TRANSPORT=threads GOAL_BACKEND=mpi GOAL_SHM=0")
	done
done

# bits FILE RANKS COUNTS WAY [NAME=VALUE]... : to the standard output, what the ranks got
bits()
{
	local memory kind vars

	read -r memory kind vars <<<"$4"
	# shellcheck disable=SC2086
	env $vars timeout 100 "$BUILD/tests/rt-brackets" "$1" "$memory" "$kind" "$2" "$3" "${@:5}" 2>"$TMP/err"
}

# unlike NAME : reports the run that has just given other bits, or failed
unlike() { fail "brackets.same $1: $(diff "$TMP/want" "$TMP/got" | head -n 3 | tr '\n' ' ') $(head -n 1 "$TMP/err")"; }

# same NAME FILE RANKS WAY [NAME=VALUE]... : the run has the bits in $TMP/want
same()
{
	if ! bits "$2" "$3" "$COUNTS" "${@:4}" >"$TMP/got" || ! cmp -s "$TMP/want" "$TMP/got"; then
		unlike "$1 $3 ${*:4}"
		return 1
	fi
}

# queued NAME FILE RANKS : the same bits from command queues. They are for one count, and their parameters are in the binary.
queued()
{
	local name=$1 count root=()

	[[ $name != *neighbor* && $name != reduce_scatter_r* ]] || return 0
	! grep -q "^schedule .*root = 0" "$2" || root=(-D root=0)
	for count in 7 24; do
		goalc "$2" -n "$3" -D count=$count "${root[@]}" -T lower-smcq:assist=1,sps=4,cqs=256 -o "$TMP/queued/$name.bin" &&
			bits "$TMP/queued/$name.bin" "$3" $count \
				"private processes GOAL_BACKEND=smcq GOAL_ENGINE=ofi FI_SOCKETS_PE_WAITTIME=0" >"$TMP/got" &&
			cmp -s "$TMP/want" "$TMP/got" || { unlike "$name queued $3 $count"; return 1; }
	done
}

# runs NAME FILE : the same bits in all ways, for single counts and more segments, and on all ranks of one result
runs()
{
	local name=$1 file=$2 n way k

	for n in $RANKS; do
		bits "$file" "$n" "$COUNTS" "${ways[0]}" >"$TMP/want" || { unlike "$name $n"; return; }
		if grep -q differ "$TMP/want"; then
			fail "brackets.same $name $n: bits differ: $(grep -m 1 differ "$TMP/want")"
			return
		fi
		case $name in allreduce_* | reduce_scatter_*)
			check "brackets.ranks $name $n" [ "$(cut -d' ' -f2- "$TMP/want" | sort -u | wc -l)" = 1 ] ;;
		esac
		for ((k = 0; k < ${#ways[@]}; k++)); do
			way=${ways[k]}
			[ "$SWEEP" = all ] || [ $(((k + turn) % 16)) = 0 ] || continue
			same "$name" "$file" "$n" "$way" || return
		done
		goalc "$file" -T segment:size=100 -o "$TMP/cut/$name.bin" && same "$name.cut" "$TMP/cut/$name.bin" "$n" "${ways[0]}" ||
			return
		! grep -q "^schedule .*segments = " "$file" || for k in 1 3 100; do
			same "$name" "$file" "$n" "${ways[1]}" "segments=$k" || return
		done
		[ "$SWEEP" != all ] && [ $turn != 2 ] || [ "$n" -gt 6 ] || queued "$name" "$file" "$n" || return
	done
	ok "brackets.same $name"
}

turn=0
mkdir "$TMP/cut" "$TMP/queued"
listed=$(sed -n '/^\.Ss Reproducible/,/^In the other/s/^\.Cm //p' man/schedules.7 | tr -d ' ,.' | sort)
reproducible=
for file in $(grep -lE '^schedule .*implements (MPI_[A-Za-z_]*(Reduce|reduce|Scan|scan)|neighbor_reduce)|^ .*implements neighbor_reduce' \
	schedules/*.goal); do
	name=${file##*/} name=${name%.goal} turn=$((turn + 1))
	goalc --verify -n "$PROVED" "$file" >"$TMP/out" 2>"$TMP/err"
	says=$(sed -n 's/^  \(\(not \)\?reproducible\):.*/\1/p' "$TMP/out")
	marked=$(grep -qE '(implements .*) reproducible$' "$file" && echo reproducible || echo 'not reproducible')
	check "brackets.marked $name is marked $marked and is $says $(head -n 1 "$TMP/err")" [ "$says" = "$marked" ]
	if [ "$says" = reproducible ]; then
		reproducible+=$name$'\n'
		runs "$name" "$file"
		continue
	fi
	shown=$(grep -cE '^  not reproducible: with [0-9]+ ranks.*, (sum|result)\[[0-9]+\] of rank [0-9]+ (is|has) .*[0-9)] and (sum|result)\[[0-9]+\] of rank [0-9]+ (is|has) ' "$TMP/out")
	check "brackets.shown $name" [ "$shown" = 1 ]
done
check "brackets.listed schedules(7) lists what is reproducible: $(diff <(sort <<<"${reproducible%$'\n'}") - <<<"$listed" | tr '\n' ' ')" \
	[ "$(sort <<<"${reproducible%$'\n'}")" = "$listed" ]
finish
