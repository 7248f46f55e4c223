#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The benchmarks run and print the right fields; the times that they measure are not checked.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1

# bench NAME KEY ARGS...: a short run prints a report in which some row has the key
bench()
{
	local name=$1 key=$2

	shift 2
	if ! timeout 240 "$BUILD/bench/$name" -q -j "$@" >"$TMP/out" 2>"$TMP/err"; then
		fail "bench.$name exit status $?"
		tail -n 5 "$TMP/err"
	elif ! grep -q "\"bench\": *\"$name\"" "$TMP/out" || ! grep -q "\"$key\": *[0-9]" "$TMP/out" ||
		[ "$(tail -c 2 "$TMP/out")" != "}" ]; then
		fail "bench.$name has no \"$key\""
	else
		ok "bench.$name"
	fi
}

bench specialise 'of the bar'
bench bind init -n 2
bench collab ratio
if [ "$(nproc)" -ge 2 ]; then
	bench latency ratio -w 2
	bench wait 'late us'
else
	skip "bench.latency, bench.wait there is one core"
fi
# overlaps ROWS LAYOUT LIBRARIES : as many measurements, with numbers
overlaps()
{
	local rows

	LAYOUTS=$2 LIBRARIES=$3 COLLECTIVES=scatter SIZES=4096 ITERS=2 timeout 240 bash bench/overlap.sh >"$TMP/out" 2>"$TMP/err"
	rows=$(grep -cE '^scatter +4096 .*( +-?[0-9]+\.[0-9]){4} +-$' "$TMP/out")
	check "bench.overlap_$2 $(grep none: "$TMP/out" "$TMP/err" | head -n 1)" [ "$rows" -eq "$1" ]
}
if [ "$(bash -c '. bench/lib.sh; echo ${#CPUS[@]}')" -ge 2 ]; then
	peers= want=1
	for mpi in mpich openmpi; do [ ! -x "$BUILD/bench/overlap-$mpi" ] || peers="$peers $mpi" want=$((want + 3)); done
	overlaps $want apart "$peers"
	overlaps 2 shared '' # MPICH takes long there
	OUT=$TMP/exp RANKS='2 3' BYTES=4096 ITERS=2 SPLITS='0 1' LIBRARIES='' timeout 240 bash bench/experiment.sh >"$TMP/out" 2>"$TMP/err"
	check bench.experiments [ $? -eq 0 -a "$(wc -l <"$TMP/out")" -eq 4 ]
	for e in iscan bcast reduce steals; do
		f=$TMP/exp/$e.txt svg=$TMP/exp/$e.svg
		check "bench.experiment_$e $(grep -m 1 'goalrun: ' "$f")" [ "$(grep -cE '^[0-9]( [0-9.]+)+$' "$f")" -ge 3 -a \
			"$(tail -n 1 "$svg")" = "</svg>" -a -z "$(grep '^#.*: goalrun: ' "$f")" ]
		! command -v xmllint >/dev/null || check "bench.experiment_${e}_is_xml" xmllint --noout "$svg"
	done
else
	skip "bench.overlap there is one core"
fi
OUT=$TMP/exp RANKS=8 SIZES='8192 400000' EACH=0.1 timeout 240 bash bench/smcq.sh >"$TMP/out" 2>"$TMP/err"
check "bench.smcq $(head -n 1 "$TMP/err")" [ "$(grep -cE '^ +(8192|400000) +[12] +[0-9]+( +[0-9.]+){5}$' "$TMP/out")" -eq 2 -a \
	"$(tail -n 1 "$TMP/exp/smcq.svg")" = "</svg>" ]
# plot says where a result is wrong.
printf 'plot: a\nx: x\ny: y\nseries: points one, bars two\n1 2 3\n2 -\n' >"$TMP/bad"
check bench.plot_position [ "$("$BUILD/bench/plot" "$TMP/bad" 2>&1)" = "$TMP/bad:6: error: a value is missing" ]
check bench.usage sh -c "! '$BUILD/bench/latency' -w x 2>/dev/null"
finish
