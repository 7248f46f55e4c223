#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Persistent collectives of each MPI library at its defaults, by the library and served by schedules, each beside the
# library's blocking collective in the same run (persistent_mpi.c says how).
# From the environment: COLLECTIVES, SIZES (bytes of a block), RANKS, ITERS (of small ones; large ones have fewer), LIBRARIES.
set -u
. "$(dirname "$0")/lib.sh"
COLLECTIVES=${COLLECTIVES:-barrier bcast gather scatter allgather alltoall reduce allreduce reduce_scatter_block}
SIZES=${SIZES:-8 1024 65536 1048576 16777216}
RANKS=${RANKS:-2 4}
ITERS=${ITERS:-1000}
LIBRARIES=${LIBRARIES:-$(mpis | tr '\n' ' ')}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

# iterations BYTES : fewer of long ones
iterations() { local n=$((ITERS * 65536 / ($1 < 65536 ? 65536 : $1))); echo $((n < 15 ? 15 : n)); }
# measure LIBRARY RANKS COLLECTIVE BYTES COMMAND... : a line of the program, or "none"
measure()
{
	local mpi=$1 n=$2 what=$3 bytes=$4

	shift 4
	timeout "$LIMIT" "$@" mpirun."$mpi" -n "$n" "$BUILD/bench/persistent-$mpi" "$what" "$bytes" "$(iterations "$bytes")" 2>"$TMP/err" ||
		echo "none: $(grep -v '^ *$' "$TMP/err" | head -n 1 | cut -c1-60)"
}

echo "# $(machine)"
echo "# Each line is one run of a library's persistent collective beside its blocking one: medians of $(iterations 1) iterations (of 1 MiB $(iterations 1048576)),"
echo "# the slowest rank of each, buffers rewritten before and checked after each. ratio: persistent / blocking, with the 10th and"
echo "# 90th percentile of neighbouring pairs. init: of the second request. native: the library's own; served: by schedules."
printf '%-8s %5s  %-21s %9s  %-7s %8s %11s %11s %6s %6s %6s\n' library ranks collective bytes by 'init us' 'persist. us' 'blocking us' ratio low high
for mpi in $LIBRARIES; do
	for n in $RANKS; do
		for what in $COLLECTIVES; do
			for bytes in $SIZES; do
				[ "$what" != barrier ] || [ "$bytes" = "${SIZES%% *}" ] || continue
				for by in native served; do
					with=(env); [ $by = native ] || with=("$ROOT/mpi/goalmpi-run")
					read -r init p b ratio low high note <<<"$(measure "$mpi" "$n" "$what" "$bytes" "${with[@]}")"
					[ "$init" != none: ] || { note="$init $p $b $ratio $low $high $note"; init=- p=- b=- ratio=- low=- high=-; }
					printf '%-8s %5d  %-21s %9d  %-7s %8s %11s %11s %6s %6s %6s%s\n' "$mpi" "$n" "$what" "$bytes" $by "$init" "$p" "$b" \
						"$ratio" "$low" "$high" "${note:+  $note}"
				done
			done
		done
	done
done
