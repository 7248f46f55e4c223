# SPDX-License-Identifier: BSD-3-Clause
# Shared by the benchmark scripts, which start with
#   set -u; . "$(dirname "$0")/lib.sh"
# Sets ROOT, BUILD (absolute), GOALRUN, TMP, a directory that goes away by itself, and CPUS.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$ROOT/$BUILD ;; esac
GOALRUN=$BUILD/bin/goalrun
TMP=$(mktemp -d) || exit 1
trap 'rm -rf "$TMP"' EXIT
trap 'exit 1' HUP INT TERM
LIMIT=${LIMIT:-600} # seconds for one measurement
# One of each core that these may use.
mapfile -t CPUS < <({
	taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }'
	lscpu -p=CPU,CORE,SOCKET
} | awk -F, 'NF == 1 && !/^#/ { may[$1] = 1 } NF == 3 && !/^#/ && may[$1] && !seen[$2, $3]++ { print $1 }')

# busy : the share of all CPUs that others use at the moment, in percent, measured for two seconds. Load averages would still
# contain what this script ran before.
busy()
{
	{ head -n 1 /proc/stat; sleep 2; head -n 1 /proc/stat; } |
		awk '{ all = 0; for (i = 2; i <= 9; i++) all += $i; idle = $5 + $6 }
			NR == 1 { was = all; idled = idle }
			END { printf "%d\n", 100 * (1 - (idle - idled) / (all - was)) + 0.5 }'
}

# machine : in words, for the head of results. If others use a tenth of the CPUs or more when it begins, the results are said to be falsified.
machine()
{
	local others

	others=$(busy)
	LC_ALL=C lscpu | awk -F': *' '{ v[$1] = $2 }
		END { printf "machine: %s, %s", v["Model name"], v["Hypervisor vendor"] == "" && v["Flags"] !~ / hypervisor / ? "no hypervisor" : "virtual"
			for (i = 2; i <= 3; i++) if (v["L" i " cache"] != "") printf ", L%d %s", i, v["L" i " cache"] }'
	echo "; measured on ${#CPUS[@]} cores; $(uname -s) $(uname -r | cut -d. -f1-2); other work at the start: $others% of the CPUs$(
		if chrt -p $$ 2>/dev/null | grep -q SCHED_FIFO; then
			echo ', over which the measurement had priority (SCHED_FIFO)'
		elif [ "$others" -ge 10 ]; then
			echo ': MEASURED UNDER LOAD'
		fi)"
}

# key NAME FILE : a number of goalrun's JSON
key() { sed -n "s/.*\"$1\": \([-0-9.e+]*\).*/\1/p" "$2"; }

# overlap CPU-LIST ARGS... : "COMM COMPUTE TOTAL OVERLAP" of goalrun, or what went wrong on stderr
overlap()
{
	local cpus=$1

	shift
	timeout "$LIMIT" taskset -c "$cpus" "$GOALRUN" --overlap --json "$@" >"$TMP/json" 2>"$TMP/err" || { head -n 1 "$TMP/err" >&2; return 1; }
	echo "$(key comm_us "$TMP/json") $(key compute_us "$TMP/json") $(key total_us "$TMP/json") $(key overlap "$TMP/json")"
}

# overlap_mpi LIBRARY CPU-LIST COMM-CPU-LIST RANKS COLLECTIVE KIND BYTES ITERS TESTS WORK-USEC : the same of an MPI library
overlap_mpi()
{
	local mpi=$1 cpus=$2 comm=$3 n=$4 launch

	shift 4
	case $mpi in
	mpich) launch="mpirun.mpich -bind-to none" ;;
	*) launch="mpirun.openmpi --bind-to none --oversubscribe --mca btl self,vader --mca mpi_yield_when_idle 1" ;; # ranks may share a core
	esac
	# shellcheck disable=SC2086
	MPIR_CVAR_IGATHER_INTRA_ALGORITHM=tsp_tree MPIR_CVAR_ISCATTER_INTRA_ALGORITHM=tsp_tree \
	OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout "$LIMIT" $launch -n "$n" \
		"$BUILD/bench/overlap-$mpi" "$@" "$cpus" "$comm" 2>"$TMP/err" || { head -n 1 "$TMP/err" >&2; return 1; }
}

# bytes_of N : in words
bytes_of() { awk -v n="$1" 'BEGIN { split("B KiB MiB GiB", u, " "); for (i = 1; i < 4 && n % 1024 == 0 && n; i++) n /= 1024; print n " " u[i] }'; }

# spread : median:lowest:highest of the numbers on the input, one a line; "-" if there are none
spread() { sort -g | awk '{ v[NR] = $1 } END { if (!NR) print "-"; else printf "%.6g:%.6g:%.6g\n", v[int((NR + 1) / 2)], v[1], v[NR] }'; }

# mpis : the libraries whose benchmark is built
mpis() { for m in mpich openmpi; do if [ -x "$BUILD/bench/overlap-$m" ] && command -v mpirun.$m >/dev/null; then echo $m; fi; done; }
