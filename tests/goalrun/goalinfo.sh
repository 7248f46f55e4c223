#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# goalinfo: what it says about backends, cores and the environment, and which row of a table serves a call, and why.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$TMP" || exit 1
unset "${!GOAL_@}"
info() { timeout 60 "$BUILD/bin/goalinfo" "$@" >out 2>err; }

# says NAME LINE ARGS... : a line of the output begins so
says()
{
	local name=$1 line=$2

	shift 2
	info "$@"
	check "goalinfo.$name $(head -n 1 err)" grep -qE -- "^$line" out
}
# values NAME WANT PATHS ARGS... : what the JSON says, at some paths
values()
{
	local name=$1 want=$2 paths=$3 got

	shift 3
	info --json "$@"
	# shellcheck disable=SC2086
	got=$("$BUILD/tests/report" out program $paths | tr '\n' '|')
	if [ "$got" = "goalinfo|$want|" ]; then ok "goalinfo.json_$name"; else fail "goalinfo.json_$name $got"; fi
}
says version "goalsched $("$GOALC" --version | awk '{ print $NF }')$"
says table "selection table: $ROOT/schedules/select.table$"
says shm '  shm    yes$'
says sim '  sim    no: no ranks run there: goalrun --backend sim simulates them$'
says model '  model  yes$'
if [ -z "$(ls /sys/class/infiniband 2>/dev/null)" ]; then
	says verbs '  verbs  no: (there is no RDMA device on this node; ranks of one node need none$|.* cannot be loaded)'
	says devices 'RDMA devices: none$'
fi
export HWLOC_SYNTHETIC='numa:2 core:4 pu:1'
says topology 'topology \(not of this machine\): 8 cores, 8 for ranks, 2 NUMA nodes$'
says placement '  placement numa of 6 ranks, core/communication: 0/3 1/3 2/3 4/7 5/7 6/7$' -n 6
says no_placement '  placement odd-even of 8 ranks, core/communication: none: none of the 8 cores is free'
values placements '8|2|6|[ 3, 3, 3, 7, 7, 7 ]|null' 'topology.cores topology.numas ranks placements.1.comms topology.why' -n 6
unset HWLOC_SYNTHETIC
GOAL_WAIT=spin says set '  GOAL_WAIT=spin$'
GOAL_PROGRES=spin says unknown '  GOAL_PROGRES=spin  \(unknown: nothing reads this variable\)$'
GOAL_PROGRES=spin values environment 'GOAL_PROGRES|spin|false' 'environment.0.name environment.0.value environment.0.known'
values backends 'null|5|shm|true|null|sim|false|2' \
	'schedule cases.# cases.0.name cases.0.usable cases.0.why cases.4.name cases.4.usable engines.#'

# ---- the row for a call: the one that goalc finds ----
printf '%s\n' '# mine' 'MPI_Bcast 9- any any any -> a.goal' 'MPI_Bcast any:pow2 1k-64Ki any any -> b.goal -D k=8' \
	'MPI_Allreduce any any builtin any -> c.goal' >my.table
: >a.goal
: >b.goal
says serves 'serves the call: my.table:3: MPI_Bcast any:pow2 1k-64Ki any any -> b.goal -D k=8$' MPI_Bcast -n 8 --bytes 64k --table my.table
check goalinfo.passed_over grep -q '^passed over for its ranks: my.table:2: ' out
check goalinfo.others_unnamed [ "$(grep -c Allreduce out)" -eq 0 ]
# JSON has characters only, whatever the bytes of a row or of a variable's name are.
mkdir bytes
: >"bytes/caf"$'\351'.goal
printf 'MPI_Bcast any any any any -> caf\351.goal\n' >bytes/table
info MPI_Bcast -n 2 --table bytes/table --json
check goalinfo.json_bytes_row iconv -f utf-8 -t utf-8 -o /dev/null out
goalc --select MPI_Bcast -n 2 -D bytes=8 --table bytes/table --json >out
check goalinfo.json_bytes_goalc iconv -f utf-8 -t utf-8 -o /dev/null out
env $'GOAL_X\351=1' "$BUILD/bin/goalinfo" --json >out
check goalinfo.json_bytes_variable iconv -f utf-8 -t utf-8 -o /dev/null out
printf '%s\n' 'MPI_Bcast 2:cache any any any -> a.goal' 'MPI_Bcast any any any any -> b.goal' >cache.table
# Two ranks on one core share it.
[ "$(nproc)" -eq 1 ] ||
	HWLOC_SYNTHETIC="l3:$(nproc --all) core:1 pu:1" says passed_cache 'passed over for its ranks: cache.table:1: ' MPI_Bcast -n 2 --table cache.table
HWLOC_SYNTHETIC="l3:1 core:$(nproc --all) pu:1" says serves_cache 'serves the call: cache.table:1: ' MPI_Bcast -n 2 --table cache.table
says passed_shape 'passed over for its ranks: my.table:3: ' MPI_Bcast -n 7 --bytes 4k --table my.table
says passed_bytes 'passed over for its bytes: my.table:3: ' MPI_Bcast -n 8 --bytes 65537 --table my.table
says passed_op 'passed over for its op: my.table:4: ' MPI_Allreduce -n 8 --op any --table my.table
says passed_topology 'passed over for its topology: .*cart ' MPI_Neighbor_allgather -n 8 --topology graph
values call "b.goal|2|ranks|true|null|8|4096" \
	'schedule cases.# cases.0.misfit cases.1.serves cases.1.misfit ranks bytes' MPI_Bcast -n 8 --bytes 4k --table my.table
for n in 1 2 7 8 64; do
	for bytes in 0 4k 1M; do
		info MPI_Allgather -n $n --bytes $bytes
		check goalinfo.same_$n.$bytes [ "$(sed -n 's/^serves the call: //p' out)" = "$(goalc --select MPI_Allgather -n $n -D bytes=$bytes)" ]
	done
done

# status NAME WANT TEXT ARGS...
status()
{
	local name=$1 want=$2 text=$3 rc

	shift 3
	info "$@"
	rc=$?
	check "goalinfo.$name status $rc: $(head -n 1 err)" [ $rc -eq "$want" -a -n "$(cat out err | grep -F -- "$text")" ]
}
status no_row 1 'no row serves the call' MPI_Neighbor_allgather -n 8
status bad_collective 2 'there is no collective MPI_Broadcast; did you mean MPI_Bcast' MPI_Broadcast -n 8
status no_ranks 2 'needs the number of ranks' MPI_Bcast
status bytes_alone 2 '--bytes is for a call' --bytes 4
status bad_bytes 2 '--bytes takes a number' MPI_Bcast -n 2 --bytes 4kB
status two_calls 2 'more than one collective' MPI_Bcast MPI_Scan -n 2
status many_ranks 2 'takes at most 4096 ranks' -n 5000
status no_table 1 'No such file' MPI_Bcast -n 2 --table none.table
status help 0 'usage: goalinfo' --help
finish
