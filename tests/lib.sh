# SPDX-License-Identifier: BSD-3-Clause
# Shared by the test scripts, which start with
#   set -u; . "$(dirname "$0")/lib.sh"
# Sets ROOT, BUILD (absolute), GOALC and TMP, a directory that goes away by itself.
# A case prints one line; finish ends the script with 0, 1 (a case failed) or 77 (all were skipped).

TESTS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(dirname "$TESTS")
BUILD=${BUILD:-build}
case $BUILD in
/*) ;;
*) BUILD=$ROOT/$BUILD ;;
esac
GOALC=$BUILD/bin/goalc
TMP=$(mktemp -d) || exit 1
trap 'rm -rf "$TMP"' EXIT
trap 'exit 1' HUP INT TERM
NOK=0 NFAIL=0 NSKIP=0

ok() { NOK=$((NOK + 1)); echo "ok $*"; }
fail() { NFAIL=$((NFAIL + 1)); echo "FAIL $*"; }
skip() { NSKIP=$((NSKIP + 1)); echo "skip $*"; }

# check NAME COMMAND... : ok when the command succeeds
check()
{
	local name=$1

	shift
	if "$@"; then ok "$name"; else fail "$name $*"; fi
}

# own_build : BUILD becomes a copy, but for the guest. "make install PREFIX=..." links again what the scripts that run meanwhile use.
own_build()
{
	mkdir "$TMP/build" && find "$BUILD" -mindepth 1 -maxdepth 1 ! -name guest -exec cp -a -t "$TMP/build" {} + || exit 1
	BUILD=$TMP/build GOALC=$TMP/build/bin/goalc
}

# first_cpu : the first CPU that this script may use; ranks on it take turns
first_cpu() { taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/'; }

# can_trace NAME : true if strace can trace here; else NAME is skipped
can_trace()
{
	strace -o /dev/null true 2>/dev/null && return
	skip "$1" strace cannot trace here
	return 1
}

# last_line FILE : to REPLY. Without a process, which is what many small launches spend their time on.
last_line()
{
	local lines

	mapfile -t lines <"$1"
	REPLY=
	[ ${#lines[@]} -eq 0 ] || REPLY=${lines[-1]}
}

# The compiler, bounded by what it computes, as it waits for nobody.
goalc() { (ulimit -t 60; exec "$GOALC" "$@"); }

# takes SCHEDULE RANKS : whether a schedule of the library is for that many; a torus has three sides of at least 2
takes() { [[ $1 != *bcast_trinaryx3* ]] || [ "$(factor "$2" | wc -w)" -gt 3 ]; }

# fitting SCHEDULE RANKS... : those of the numbers that it takes, or else the least that it does
fitting()
{
	local s=$1 n some=()

	shift
	for n; do
		takes "$s" "$n" && some+=("$n")
	done
	echo "${some[@]:-8}"
}

# program NAME LIMIT COMMAND... : a program that prints the lines of its cases itself
program()
{
	local name=$1 limit=$2 rc

	shift 2
	timeout "$limit" "$@" >"$TMP/out" 2>"$TMP/err"
	rc=$?
	grep -E '^(ok|FAIL|skip) ' "$TMP/out"
	NOK=$((NOK + 1))
	[ $rc -eq 0 ] && return
	grep -q '^FAIL' "$TMP/out" || fail "$name exit status $rc"
	NFAIL=$((NFAIL + 1))
	tail -n 20 "$TMP/err"
}

# variant NAME MAKE-ARGUMENTS... : another build, with objects of its own beside BUILD. Scripts that run at the same time may share
# it, so one of them makes it at a time.
variant()
{
	local name=$1

	shift
	mkdir -p "$BUILD-$name"
	if flock "$BUILD-$name" timeout 600 make --no-print-directory -j"$(nproc)" BUILD="$BUILD-$name" "$@" >"$TMP/log" 2>&1; then
		ok "variant.$name builds"
	else
		fail "variant.$name builds: $(grep -E 'error|warning' "$TMP/log" | head -n 3 | tr '\n' ' ')"
		return 1
	fi
}

# The build of variants.sh, of which fuzz.sh takes objects: compiling takes much longer than what they run. Without optimisation
# it takes a third of the time, with traps in place of UBSan's messages two thirds.
CLANG=(CC=clang SAN='-fsanitize=address,undefined -fsanitize-trap=undefined -fsanitize=fuzzer-no-link' CFLAGS='-O0 -g1')

# programs NAME SCRIPT... : what these scripts run, in the variant NAME: to build no more of it, as all of it takes minutes
programs()
{
	local name=$1

	shift
	grep -ohE '\$(BUILD|hooked)/(bin|tests)/[a-z_/-]*[a-z](\.o)?' "$TESTS/lib.sh" "$@" | grep -v '\.o$' | sort -u | sed "s,^[^/]*,$BUILD-$name,"
}

# The schedules that a share takes where all would take long: every way that messages travel and are reduced.
SOME="bcast_chain.goal reduce_binomial.goal allreduce_ring.goal reduce_scatter_ring.goal alltoall_pairwise.goal
	gatherv_linear.goal scan_binomial.goal neighbor_alltoallw_graph.goal barrier_tree.goal"

# share NAME TEST... : runs tests on that build
share()
{
	local name=$1 sum

	shift
	BUILD="$BUILD-$name" timeout 600 bash tests/run.sh "$@" >"$TMP/log" 2>&1
	sum=$(tail -n 1 "$TMP/log")
	if [ "${sum#* 0 failed}" != "$sum" ]; then ok "variant.$name $sum"; else
		fail "variant.$name $sum"
		grep -A5 '^FAIL' "$TMP/log" | head -n 30
	fi
}

# verdicts PREFIX : a case for each file in TMP of a run over mutants, whose last line is its exit status and whose findings
# begin with #
verdicts()
{
	local f name

	for f in "$TMP"/*.mut; do
		name=$1.$(basename "$f" .mut)
		if [ "$(tail -n 1 "$f")" = 'exit status 0' ]; then ok "$name"; else
			fail "$name $(tail -n 1 "$f"): $(grep -c '^#' "$f") findings"
			grep '^#' "$f" | head -n 10
		fi
	done
}

# open_mpi : lets mpirun.openmpi run here: as root, with more ranks than cores, and without asking for a network. Since Open MPI 5
# the launcher is PRRTE, whose settings have another prefix.
open_mpi()
{
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,vader OMPI_MCA_mpi_yield_when_idle=1
	export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
}

# in_space NAME COMMAND... : in a network namespace that "ip netns" has made. "ip -n" and "ip netns exec" would mount another /sys,
# which fails where / is no mount point.
in_space() { nsenter --net=/run/netns/"$1" "${@:2}"; }

# make_spaces PREFIX N M : makes the namespaces PREFIX-a and PREFIX-b, with the addresses 10.77.0.N and 10.77.0.M at the two ends of
# a link. Returns 77 if namespaces cannot be made here. Afterwards, too, drop_spaces PREFIX removes them.
make_spaces()
{
	local name n

	{ unshare -n true && ip link add "veth$2" type veth peer name "veth$3"; } || return 77
	for name in a:"$2" b:"$3"; do
		n=${name#*:} name=$1-${name%:*}
		ip netns add "$name" && ip link set "veth$n" netns "$name" && in_space "$name" ip link set lo up &&
			in_space "$name" ip addr add "10.77.0.$n/24" dev "veth$n" && in_space "$name" ip link set "veth$n" up || return
	done
}
drop_spaces()
{
	local name

	for name in "$1-a" "$1-b"; do
		[ ! -e "/run/netns/$name" ] || ip netns del "$name"
	done
}
# space_rsh PREFIX FILE : makes a program that takes the place of ssh for hosts a and b. Each has its own name: Open MPI 5 finds by it
# which ranks share a node. And its own temporary files: daemons of Open MPI on one machine may make the same directory at the same
# time, and then one of them fails.
space_rsh()
{
	cat >"$2" <<-END
		#!/bin/sh
		while [ "\${1#-}" != "\$1" ]; do shift; done
		host=\$1; shift
		TMPDIR=$TMP/tmp-\$host
		mkdir -p "\$TMPDIR"
		export TMPDIR
		exec unshare --uts nsenter --net=/run/netns/$1-\$host sh -c "hostname \$host; \$*"
	END
	chmod +x "$2"
}

# guest [OPTIONS OF run.sh] COMMAND... : in a machine with an RDMA device
guest() { bash "$TESTS/guest/run.sh" "$@"; }

# guests NAME LIMIT OPTIONS COMMAND... : a command in a guest, or in both, of which node 0 prints the lines of its cases itself;
# the options are one word
guests()
{
	local name=$1 limit=$2 options=$3

	shift 3
	# shellcheck disable=SC2016,SC2086
	program "$name" $((limit + 20)) bash -o pipefail -c 'bash "$0" "$@" | sed -u "s/^0: //"' \
		"$TESTS/guest/run.sh" -t "$limit" $options "$@"
}

finish()
{
	[ "$NFAIL" -eq 0 ] || exit 1
	[ "$NOK" -gt 0 ] || exit 77
	exit 0
}

[ -x "$GOALC" ] || { skip "$(basename "$0" .sh) there is no ${GOALC#"$ROOT"/}"; finish; }
