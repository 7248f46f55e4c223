#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Collectives side by side: written by hand (the limit), by the library alone, by the library in MPI programs, and by MPI libraries
# at several settings, blocking and persistent. All take turns in one session (collectives/drive.c says how it measures). Writes
# collectives.txt, with tables (collectives/report.awk), and a picture collectives-RANKS.svg for each number of ranks into OUT.
# From the environment, as lists of words:
#   COLLECTIVES, SIZES   what is measured; SIZES: bytes of a block. exscan and reduce_scatter_block are not written by hand, and those
#                        with counts (reduce_scatter allgatherv alltoallv gatherv scatterv) only MPI programs have, with equal counts
#   RANKS                numbers of ranks; MPICH takes part if ranks do not share cores
#   WHO                  limit ours served mpich openmpi: who takes part
#   SETTINGS             labels of the settings of MPI libraries that take part, such as default; empty: all
#   ITERS, TURNS         iterations of a turn, of short collectives, and turns of each side in a heat; the final has twice as many
#   MEMORY               MiB of buffers that all sides together may have
#   SECONDS_EACH         seconds for a number of ranks; what is left then is not measured
#   OUT                  directory
set -u
. "$(dirname "$0")/lib.sh"
COLLECTIVES=${COLLECTIVES:-barrier bcast reduce allreduce allgather alltoall gather scatter scan}
SIZES=${SIZES:-8 1024 65536 1048576 16777216}
RANKS=${RANKS:-2 4 8}
WHO=${WHO:-limit ours served mpich openmpi}
SETTINGS=${SETTINGS:-}
ITERS=${ITERS:-300}
TURNS=${TURNS:-5}
MEMORY=${MEMORY:-$(awk '/^MemAvailable/ { print int($2 / 4096) }' /proc/meminfo)}
SECONDS_EACH=${SECONDS_EACH:-3600}
OUT=${OUT:-$BUILD/experiments}
programs=$BUILD/bench/collectives
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

# The settings of MPI libraries: what is known to make one of them the fastest for some collective and size. MPICH gathers and
# scatters by its algorithm tsp_tree: with its default, persistent ones give wrong results from the second start on.
tree="MPIR_CVAR_IGATHER_INTRA_ALGORITHM=tsp_tree MPIR_CVAR_ISCATTER_INTRA_ALGORITHM=tsp_tree"
doubling="$tree MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=recursive_doubling MPIR_CVAR_IALLGATHER_INTRA_ALGORITHM=tsp_ring"
copies="OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_btl_vader_max_send_size=131072 OMPI_MCA_btl_vader_eager_limit=32768"
ucx="OMPI_MCA_pml=ucx OMPI_MCA_pml_ucx_tls=any OMPI_MCA_pml_ucx_devices=any"
sums="reduce.persistent allreduce.persistent"
# settings LIBRARY : lines "LABEL: WHAT: VARIABLE=VALUE ...". WHAT: the collectives and sides that it matters to, as drive takes them
settings()
{
	case $1 in
	mpich) cat <<-END ;;
		default: all: $tree
		algorithms: allreduce.blocking allgather.persistent: $doubling
		rndv_128k: all: $doubling UCX_RNDV_THRESH=128k
		put_zcopy: all: $doubling UCX_RNDV_SCHEME=put_zcopy
		END
	openmpi) cat <<-END ;;
		default: all:
		nbc_ring: $sums: OMPI_MCA_coll_libnbc_ireduce_algorithm=2 OMPI_MCA_coll_libnbc_iallreduce_algorithm=3
		nbc_halving: $sums: OMPI_MCA_coll_libnbc_ireduce_algorithm=2 OMPI_MCA_coll_libnbc_iallreduce_algorithm=4
		copies: all: $copies
		copies_nbc: $sums: $copies OMPI_MCA_coll_libnbc_ireduce_algorithm=2 OMPI_MCA_coll_libnbc_iallreduce_algorithm=4
		ucx: all: $ucx
		ucx_nbc: $sums: $ucx OMPI_MCA_coll_libnbc_ireduce_algorithm=2 OMPI_MCA_coll_libnbc_iallreduce_algorithm=4
		coll_sm: barrier.blocking bcast.blocking reduce.blocking allreduce.blocking: OMPI_MCA_coll_sm_priority=95
		END
	esac
}

# takes WORD LIST : the word is in the list
takes() { [[ " $2 " == *" $1 "* ]]; }
# launcher LIBRARY RANKS
launcher()
{
	case $1 in
	mpich) echo "mpirun.mpich -bind-to none -n $2" ;;
	openmpi) echo "mpirun.openmpi --bind-to none --oversubscribe -n $2" ;;
	esac
}
# libraries RANKS : the MPI libraries that are built; ranks of MPICH never yield a core
libraries()
{
	local m

	for m in mpich openmpi; do
		[ ! -x "$programs/mpi-$m" ] || ! command -v mpirun.$m >/dev/null || { [ $m = mpich ] && [ "$1" -gt ${#CPUS[@]} ]; } || echo $m
	done
}
# groups RANKS : the groups of the driver, as it takes them
groups()
{
	local n=$1 m label what variables

	! takes limit "$WHO" || {
		printf 'limit\thand\tall\t%s\n' "$GOALRUN -n $n -- $programs/limit"
		printf 'private\thand\tall\t%s\n' "$GOALRUN -n $n -- $programs/limit private"
	}
	! takes ours "$WHO" || printf 'ours\tgoalrun\tall\t%s\n' "$GOALRUN -n $n -- $programs/ours"
	for m in $(libraries "$n"); do
		! takes served "$WHO" || {
			printf 'served\t%s\tall\t%s\n' "$m" "$ROOT/mpi/goalmpi-run $(launcher "$m" "$n") $programs/mpi-$m served"
			printf 'served\t%s\tall\t%s\n' "$m" "env GOAL_MOVE=1 $ROOT/mpi/goalmpi-run $(launcher "$m" "$n") $programs/mpi-$m moved"
		}
		! takes "$m" "$WHO" || settings "$m" | while IFS=: read -r label what variables; do
			[ -n "$SETTINGS" ] && ! takes "$label" "$SETTINGS" ||
				printf 'peer\t%s\t%s\t%s\n' "$m/$label" "${what# }" "env $variables $(launcher "$m" "$n") $programs/mpi-$m"
		done
	done
}
# commas LIST : the words with commas between them
commas() { echo "$*" | tr " " ,; }

# known NAME LIST WORD... : exits if the variable has a word that is not in the list
known()
{
	local name=$1 list=$2 word

	shift 2
	for word; do
		takes "$word" "$list" || { echo "$name has no \"$word\": its words are $list" >&2; exit 2; }
	done
}
# shellcheck disable=SC2086
known WHO "limit ours served mpich openmpi" $WHO
# shellcheck disable=SC2086
known SETTINGS "$({ settings mpich; settings openmpi; } | cut -d: -f1 | awk '!seen[$0]++' | xargs)" $SETTINGS

mkdir -p "$OUT" || exit 1
txt=$OUT/collectives.txt status=0
{
	echo "# $(machine)"
	echo "# runs: medians of $((2 * TURNS)) turns of $ITERS iterations (fewer of long ones), all sides in turn; limit and peer chosen in $TURNS"
} | tee "$TMP/head"
: >"$TMP/tables" >"$TMP/all"
for n in $RANKS; do
	cp "$TMP/head" "$TMP/raw"
	groups "$n" >"$TMP/groups"
	[ -s "$TMP/groups" ] || { echo "none of \"$WHO\" is there for $n ranks" >&2; status=1; continue; }
	# shellcheck disable=SC2086
	"$programs/drive" -l "$SECONDS_EACH" -n "$n" -c "$(commas $COLLECTIVES)" -s "$(commas $SIZES)" -i "$ITERS" \
		-t "$TURNS" -m "$MEMORY" "$(mktemp -u /dev/shm/collectives.XXXXXX)" <"$TMP/groups" >>"$TMP/raw" || status=1
	grep -v '^#' "$TMP/raw" >>"$TMP/all"
	awk -v picture="$TMP/picture" -f "$ROOT/bench/collectives/report.awk" "$TMP/raw" | tee -a "$TMP/tables" || exit 1
	[ ! -s "$TMP/picture" ] || "$BUILD/bench/plot" "$TMP/picture" >"$OUT/collectives-$n.svg" || exit 1
	rm -f "$TMP/picture"
done
cat "$TMP/head" "$TMP/tables" "$TMP/all" >"$txt" || exit 1
exit $status
