#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Broadcasts between two ranks over a device of Soft-RoCE beside perftest on the same device, in one guest with two CPUs:
# 8 bytes beside the latency of ib_send_lat, 1 MiB beside the bandwidth of ib_write_bw. All take turns, ROUNDS times.
# Only the ratios mean something, as the machine is emulated. From the environment: ROUNDS, ITERS, LARGE (starts of 1 MiB).
# ib_send_lat gives half of a round trip of messages whose receives are posted before; so what is beside it is the time from
# the root's start until the wait of the other rank returns, which has been waiting. bench/verbs_bcast.c says what the other
# columns are.
set -u
. "$(dirname "$0")/lib.sh"
ROUNDS=${ROUNDS:-5}
ITERS=${ITERS:-1000}
LARGE=${LARGE:-30}
cd "$ROOT" || exit 1
if [ -z "${GUEST_NODE:-}" ]; then
	machine
	exec bash tests/guest/run.sh -p -c 2 -m 768 -t "$LIMIT" env BUILD="$BUILD" ROUNDS="$ROUNDS" ITERS="$ITERS" LARGE="$LARGE" bash "$0"
fi

# perftest TOOL COLUMN OPTIONS... : both ends on this device, a CPU each
perftest()
{
	local tool=$1 column=$2 server try

	shift 2
	timeout 60 taskset -c 0 "$tool" -d rxe0 -x 1 -F "$@" >/dev/null 2>&1 &
	server=$!
	for try in 1 2 3 4 5 6 7 8 9; do
		sleep 0.3
		timeout 60 taskset -c 1 "$tool" -d rxe0 -x 1 -F "$@" "$GUEST_IP" >"$TMP/out" 2>"$TMP/err" && break
	done
	kill $server 2>/dev/null
	wait $server
	awk -v column="$column" '$1 ~ /^[0-9]+$/ && NF >= 5 { print $column }' "$TMP/out"
}
# small : what verbs_bcast prints
small() { GOAL_BACKEND=verbs GOAL_SHM=0 GOAL_WAIT=spin timeout 60 "$BUILD/bench/verbs_bcast" "$ITERS" 2>"$TMP/err"; }
# large : MiB/s of broadcasts of 1 MiB
large()
{
	timeout 60 "$GOALRUN" -n 2 --backend verbs --no-shm --wait spin --placement bind --count 131072 --iters "$LARGE" --json \
		schedules/bcast_binomial.goal >"$TMP/json" 2>"$TMP/err" || head -n 1 "$TMP/err" >&2
	key median_us "$TMP/json" | awk '{ print 1e6 / $1 }'
}
median() { sort -g | awk '{ v[NR] = $1 } END { if (NR) print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
column() { awk -v n="$1" '{ print $n }' "$TMP/rows"; }

echo "guest: $(nproc) CPUs, $(uname -sr), device $(rdma link show | awk '{ print $2; exit }'), RoCE v2, MTU $(ibv_devinfo -d rxe0 | awk '/active_mtu/ { print $2 }'); $ROUNDS rounds"
printf '%5s  %14s %14s %12s %12s  %17s %17s\n' round 'ib_send_lat us' 'bcast 8 B us' 'in turns' 'together' 'ib_write_bw MiB/s' 'bcast 1 MiB MiB/s'
for ((i = 1; i <= ROUNDS; i++)); do
	lat=$(perftest ib_send_lat 5 -s 8 -n "$ITERS")
	ours=$(small)
	bw=$(perftest ib_write_bw 4 -s 1048576 -n "$LARGE")
	large=$(large)
	{ [ -n "$lat" ] && [ -n "$ours" ] && [ -n "$bw" ] && [ -n "$large" ]; } || {
		echo "verbs.sh: round $i measured nothing: $(tail -n 1 "$TMP/err")" >&2
		exit 1
	}
	echo "$lat $ours $bw $large" >>"$TMP/rows"
	# shellcheck disable=SC2086
	printf '%5d  %14.2f %14.2f %12.2f %12.2f  %17.1f %17.1f\n' "$i" "$lat" $ours "$bw" "$large"
done
awk -v lat="$(column 1 | median)" -v ours="$(column 2 | median)" -v turns="$(column 3 | median)" -v together="$(column 4 | median)" \
	-v bw="$(column 5 | median)" -v large="$(column 6 | median)" 'BEGIN {
	printf "medians: 8 B %.2f us, %.2f times ib_send_lat (bar: at most 1.3; in turns %.2f, together %.2f); 1 MiB %.1f MiB/s, %.2f times ib_write_bw (bar: at least 0.8)\n",
		ours, ours / lat, turns / lat, together / lat, large, large / bw }'
