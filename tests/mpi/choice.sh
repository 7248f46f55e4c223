#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Schedules that the user chooses for an unmodified program, by the environment, a table, or MPI_Info: they serve if they are
# right, and are refused with the reason if not. Reasons do not depend on the MPI library: another one meets them with SWEEP=all
# (make check-mpi).
set -u
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/served"
cd "$TMP" || exit 1

library=$ROOT/schedules
goalc --verify "$library/bcast_chain.goal" -o proved.bin >/dev/null
goalc "$library/bcast_binomial.goal" -n 3 -o three.bin
sed '/requires got/d' "$library/bcast_binomial.goal" >dropped.goal
goalc -Wno-race dropped.goal -o dropped.bin
echo "MPI_Bcast any any any any -> $library/bcast_chain.goal" >table

sed 's/^rank r of p {/&\n  assert p < 4, "it is for three ranks at most"/' "$library/bcast_linear.goal" >three.goal
echo "MPI_Bcast any any any any -> three.goal" >asserted.table
echo "MPI_Bcast any any any any -> $library/scatter_linear.goal" >other.table

# leaves NAME REASON : all is right, and the calls are left to the MPI library for that reason
leaves()
{
	if serve $mpi 60 4 "$prog" && grep -qx 'choice: 0 wrong' out && grep -q "rank 0: MPI_Bcast by the MPI library: .*$2" out; then
		ok "choice.$mpi.$1"
	else
		fail "choice.$mpi.$1"
		told
	fi
}

# uses NAME SCHEDULE [ARGUMENT] : all is right, and the statistics have that schedule
uses()
{
	if serve $mpi 60 4 "$prog" "${@:3}" && grep -qx 'choice: 0 wrong' out && grep -q "rank 0: MPI_Bcast by $2: " out; then
		ok "choice.$mpi.$1"
	else
		fail "choice.$mpi.$1"
		told
	fi
}
# refuses NAME REQUEST REASON [ARGUMENT] : that request fails with the reason, which is also printed whole
refuses()
{
	if serve $mpi 60 4 "$prog" "${@:4}" && grep -q "^choice: request $2: .*is refused: .*$3" out &&
		grep -q "^goalmpi: .* is refused for MPI_Bcast: .*$3" out && grep -q 'rank 3: MPI_Bcast refused: ' out; then
		ok "choice.$mpi.$1"
	else
		fail "choice.$mpi.$1"
		told
	fi
}

for mpi in "${INSTALLED[@]}"; do
	prog=$TMP/choice-$mpi
	compile $mpi "$prog" "$TESTS/mpi/choice.c" || continue
	uses default bcast_linear
	uses info bcast_chain proved.bin
	GOAL_MPI_BCAST=proved.bin uses recorded bcast_chain
	GOAL_MPI_BCAST=dropped.bin refuses dropped 0 'of rank 2'
	GOAL_MPI_TRUST=1 GOAL_MPI_BCAST=dropped.bin serve $mpi 60 2 "$prog"
	check choice.$mpi.trusted grep -q 'rank 0: MPI_Bcast by bcast_binomial: ' out
	[ "${SWEEP:-}" = all ] || [ $mpi = "${INSTALLED[0]}" ] || continue
	GOAL_MPI_BCAST=bcast_knomial.goal uses installed bcast_knomial
	GOAL_SELECT=table uses table bcast_chain
	GOAL_SELECT=asserted.table leaves asserted 'asserted.table:1 selects a schedule that is not for this call: it is for three ranks at most'
	GOAL_SELECT=other.table leaves wrong_row 'other.table:1: .*/scatter_linear.goal implements MPI_Scatter, not MPI_Bcast'
	GOAL_MPI_BCAST=dropped.goal refuses text 0 'nothing orders them'
	GOAL_MPI_BCAST=three.bin refuses ranks 0 'for 3 ranks, not 4'
	GOAL_MPI_BCAST=allreduce_ring.goal refuses other 0 'implements MPI_Allreduce, not MPI_Bcast'
	GOAL_MPI_BCAST=nowhere.goal refuses missing 0 'nowhere.goal'
	refuses info_dropped 1 'of rank 2' dropped.bin
done
finish
