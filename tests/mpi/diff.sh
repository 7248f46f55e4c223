#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Persistent collectives against blocking ones, with random arguments, in all forms of starting and waiting; diff.c has the details.
# A failure can be repeated: it prints the seed and the round. Two ranks of Open MPI wait as if each had a core of its own; the
# memory of three, and of seven, is moved to the shared heap; five help each other. 360 cases for each MPI library, or with
# SWEEP=all 40 times CASES (default 125), at 1 to 8 ranks and all thread levels.
set -u
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/served"
SEED=${SEED:-$RANDOM}
if [ "${SWEEP:-}" = all ]; then
	runs=$(for i in {0..39}; do echo "$((i % 8 + 1)) $((SEED + i)) ${CASES:-125} $((i / 8 % 4))"; done)
else
	runs="1 $SEED 60 0
		2 $((SEED + 1)) 140 1
		3 $((SEED + 2)) 100 2
		5 $((SEED + 3)) 60 3"
fi

for mpi in "${INSTALLED[@]}"; do
	prog=$TMP/diff-$mpi
	compile $mpi "$prog" "$TESTS"/mpi/{diff,types,ops,draw,sides,calls,waits}.c || continue
	while read -r ranks seed cases level; do
		name="diff.$mpi.$ranks seed $seed, thread level $level"
		yields=$((ranks != 2)) moves=$((ranks % 4 == 3)) progress=app
		[ "$ranks" != 5 ] || progress=collab
		if ! GOAL_MOVE=$moves GOAL_PROGRESS=$progress OMPI_MCA_mpi_yield_when_idle=$yields \
			serve $mpi 900 "$ranks" "$prog" "$seed" "$cases" --level "$level"; then
			fail "$name"
			told
		elif ! served; then
			fail "$name is not served"
		else
			ok "$name: $(grep -ao '[0-9]* cases.*' "$TMP/out")"
		fi
	done <<<"$runs"
	# Threads, each with communicators and requests of its own
	if ! serve $mpi 900 2 "$prog" "$SEED" 30 --threads 2; then
		fail "diff.$mpi.threads seed $SEED"
		told
	else
		ok "diff.$mpi.threads seed $SEED"
	fi
done
finish
