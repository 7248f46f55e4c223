#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# goalrun --show-placement: the paper's examples on synthetic topologies of hwloc, the cores and the cpuset of this machine, and
# impossible placements. tests/unit/test_placement.c checks the properties of all placements.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$TMP" || exit 1
unset HWLOC_SYNTHETIC HWLOC_XMLFILE

# show TOPOLOGY ARGS... : the placement; TOPOLOGY "here" is this machine
show()
{
	local where=$1

	shift
	if [ "$where" = here ]; then timeout 60 "$BUILD/bin/goalrun" --show-placement "$@"; else
		HWLOC_SYNTHETIC=$where timeout 60 "$BUILD/bin/goalrun" --show-placement "$@"; fi
}
# is NAME WANT TOPOLOGY ARGS... : who communicates for whom, "CORE:RANKS ..."
is()
{
	local name=$1 want=$2 got

	shift 2
	got=$(show "$@" 2>&1 | sed -n 's/^core \([0-9]*\) communicates for ranks* /\1:/p' | tr '\n' ' ')
	if [ "$got" = "$want " ]; then ok "placement.$name"; else fail "placement.$name $got"; fi
}
two='numa:2 core:4 pu:1' knl='numa:1 core:64 pu:4' skl='pack:2 [numa] core:32 pu:2'
is figure_2 '0:0 1:1 2:2 4:3 5:4 6:5' "$two" -n 6 --placement bind
is figure_3 '3:0-2 7:3-5' "$two" -n 6 --placement numa
is default '3:0-2 7:3-5' "$two" -n 6
is one_node '31:0-30 63:31-61' "$knl" -n 62 --placement numa
is one_node_odd_even '31:0-60:2 63:1-61:2' "$knl" -n 62 --placement odd-even
is two_nodes '31:0-30 63:31-61' "$skl" -n 62 --placement numa
is two_nodes_odd_even '31:0-60:2 63:1-61:2' "$skl" -n 62 --placement odd-even
is list '5:1,4 6:2,5 7:0,3' "$two" -n 6 --placement 7,5-6
is comm_cores '3:0-9 7:10-19' "$two" -n 20 --comm-cores 2
is one_comm_core '7:0-5' "$two" -n 6 --comm-cores 1
is shared '0:0-1 1:2-3' 'core:2 pu:1' -n 4
is many '1:0-3' 'core:2 pu:1' -n 4 --comm-cores 1
is one_core '0:0-2' 'core:1 pu:1' -n 3 --comm-cores 1
is one_core_odd_even '0:0-2' 'core:1 pu:1' -n 3 --placement odd-even --comm-cores 4
is three '2:0,3 5:1 8:2' 'numa:3 core:3 pu:1' -n 4 --comm-cores 3 --placement odd-even

show "$two" -n 6 >table
check placement.table [ "$(sed -n '1,3p;6p' table | tr -s ' \n' ' ')" = '6 ranks on 8 cores, placement numa rank numa core comm 0 0 0 3 3 1 4 7 ' ]
show "$two" -n 3 --placement odd-even --comm-cores 2 --json >json
check placement.json [ "$(sed 's/.*"cases"/"cases"/' json)" = '"cases": [ { "rank": 0, "numa": 0, "core": 0, "comm": 3 }, { "rank": 1, "numa": 0, "core": 1, "comm": 7 }, { "rank": 2, "numa": 1, "core": 4, "comm": 3 } ], "ranks": 3, "placement": "odd-even", "comms": [ { "core": 3, "ranks": [ 0, 2 ] }, { "core": 7, "ranks": [ 1 ] } ] }' ]

# wrong NAME STATUS PATTERN TOPOLOGY ARGS...
wrong()
{
	local name=$1 want=$2 why=$3 rc

	shift 3
	show "$@" >out 2>err
	rc=$?
	check "placement.$name $(head -n 1 err)" [ $rc -eq "$want" -a ! -s out -a -n "$(grep -e "$why" err)" ]
}
wrong none_free 1 'none of the 8 cores is free' "$two" -n 8 --placement odd-even
wrong none_left 1 'no core is left' "$two" -n 2 --comm-cores 8
wrong no_core 1 'there is no core 8: the node has 8' "$two" -n 2 --placement 3,8
wrong name 2 '--placement is' "$two" -n 2 --placement odd
wrong list 2 '--placement is' "$two" -n 2 --placement 3-1
wrong list_cores 2 'does not go with a list' "$two" -n 2 --placement 3 --comm-cores 1
wrong synthetic 1 'HWLOC_SYNTHETIC is no topology: bogus' bogus -n 2
wrong ranks 2 'number of ranks is missing' "$two"
wrong schedule 2 'runs nothing' "$two" -n 2 x.goal

# This machine: no more cores than CPUs that this process may use, and only those.
cpus=$(nproc) first=$(first_cpu)
used=$(show here -n 1 --comm-cores 0 | sed -n 's/^1 rank on \([0-9]*\) cores*, .*/\1/p')
check placement.here [ "${used:-0}" -ge 1 -a "${used:-0}" -le "$cpus" ]
used=$(taskset -c "$first" "$BUILD/bin/goalrun" -n 5 --show-placement | sed -n 's/^core \([0-9]*\) .*ranks 0-4$/one/p; s/^\(5 ranks on 1 core\),.*/\1/p')
check placement.cpuset [ "$used" = "5 ranks on 1 core
one" ]
if [ "$(show here -n 1 --comm-cores 0 | sed -n 's/^1 rank on \([0-9]*\) core.*/\1/p')" -ge 2 ]; then
	taskset -c "$first" "$BUILD/bin/goalrun" -n 1 --show-placement --placement 0-1 2>err
	check placement.not_in_cpuset grep -q 'is not in the cpuset' err
fi

# Without hwloc.
cat >main.c <<'END'
#include "runtime/placement/topology.h"
#include <stdio.h>
int main(void)
{
	struct text why = { 0 };
	struct topology t;
	int err = topology_load(&t, false, &why);

	return printf("%d %s\n", err, why.at) < 0;
}
END
# without NAME WANT LIBRARY
without()
{
	gcc -std=c17 -D_GNU_SOURCE -I"$ROOT" "-DHWLOC_LIBRARY=\"$3\"" -o without main.c "$ROOT"/runtime/placement/topology.c \
	    "$ROOT"/util/{env,err,library,mem,text}.c &&
		./without >out
	check "placement.$1" grep -qF -- "$2" out
}
without no_library '-27 the cores are not known: none.so cannot be loaded: none.so: ' none.so
without no_function '-27 the cores are not known: hwloc_topology_init cannot be loaded: ' libm.so.6
finish
