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
# face SVG : what its face lacks: a title, the machine, the runs, words in place of 1e+06; and colours that a legend has twice
face()
{
	local what

	for what in "font-weight='bold'>[A-Z]" '>machine: ' '>runs: '; do grep -q "$what" "$1" || echo "no $what"; done
	grep -m 1 -o '>[0-9.]*e[+-][0-9]*.*<' "$1"
	awk '/class=.legend/ { split("", seen); on = 1 } /<\/g>/ { on = 0 }
		on && /^<(path|rect)/ && !/^<path class/ { match($0, /(stroke|fill)=.(#|black)[^ ]*/)
			if (seen[substr($0, RSTART, RLENGTH)]++) print "twice: " $0 }' "$1"
}
# The colours of the legend are what face looks at, so it has to find a fault.
printf '%s\n' "<g class='legend'>" "<path d='' stroke='#777'/><text>" "<path d='' stroke='#777'/><text>" '</g>' >"$TMP/bad.svg"
check bench.face_can_fail [ "$(face "$TMP/bad.svg" | wc -l)" -eq 4 ]
if [ "$(bash -c '. bench/lib.sh; echo ${#CPUS[@]}')" -ge 2 ]; then
	peers= want=1
	for mpi in mpich openmpi; do [ ! -x "$BUILD/bench/overlap-$mpi" ] || peers="$peers $mpi" want=$((want + 3)); done
	overlaps $want apart "$peers"
	overlaps 2 shared '' # MPICH takes long there
	OUT=$TMP/exp RANKS=3 BYTES=4096 ITERS=2 RUNS=2 SPLITS='0 1' LIBRARIES='' timeout 240 bash bench/experiment.sh >"$TMP/out" 2>"$TMP/err"
	check bench.experiments [ $? -eq 0 -a "$(wc -l <"$TMP/out")" -eq 4 ]
	for e in iscan bcast reduce steals; do
		f=$TMP/exp/$e.txt svg=$TMP/exp/$e.svg
		check "bench.experiment_$e $(grep -m 1 'goalrun: ' "$f")" [ "$(grep -cE '^[0-9]( [0-9.]+:[0-9.]+:[0-9.]+)+$' "$f")" -ge 2 -a \
			"$(tail -n 1 "$svg")" = "</svg>" -a -z "$(grep '^#.*: goalrun: ' "$f")" ]
		check "bench.experiment_${e}_face $(face "$svg" | head -n 2 | tr '\n' '|')" [ -z "$(face "$svg")" ]
		[ $e = steals ] || check bench.experiment_${e}_spread grep -q "class='spread'" "$svg" # its counts may be the same
		! command -v xmllint >/dev/null || check "bench.experiment_${e}_is_xml" xmllint --noout "$svg"
	done
else
	skip "bench.overlap there is one core"
fi
OUT=$TMP/exp RANKS=8 SIZES='8192 400000' EACH=0.1 timeout 240 bash bench/smcq.sh >"$TMP/out" 2>"$TMP/err"
check "bench.smcq $(head -n 1 "$TMP/err")" [ "$(grep -cE '^ +(8192|400000) +[12] +[0-9]+( +[0-9.]+){5}$' "$TMP/out")" -eq 2 -a \
	"$(tail -n 1 "$TMP/exp/smcq.svg")" = "</svg>" ]
check "bench.smcq_face $(face "$TMP/exp/smcq.svg" | head -n 2 | tr '\n' '|')" [ -z "$(face "$TMP/exp/smcq.svg")" ]
check bench.smcq_units grep -q '>16 KiB<' "$TMP/exp/smcq.svg"
check bench.spread [ "$(bash -c '. bench/lib.sh; printf "%s\n" 3 10 2 | spread; bytes_of 16384; bytes_of 100' | tr '\n' ' ')" = '3:2:10 16 KiB 100 B ' ]
# plot says where a result is wrong.
# refused NAME WHAT LINE... : a result with these lines is refused
refused()
{
	local name=$1 what=$2

	shift 2
	printf '%s\n' "$@" >"$TMP/bad"
	check "bench.plot_$name" grep -q "$what" <("$BUILD/bench/plot" "$TMP/bad" 2>&1 >/dev/null)
}
refused face ': error: a picture says what it shows, where, and from how many runs' 'title: t' 'machine: m' 'plot: a' 'x: x' 'y: y'
refused unit ':3: error: a unit is ' 'title: t' 'plot: a' 'x: x [miles]'
refused spread ':5: error: a spread is value:low:high' 'plot: a' 'x: x' 'y: y' 'series: points one' '1 2:3'
refused meaning ':3: error: there is no such series' 'plot: a' 'series: points one' 'meaning: two: 2'
printf 'plot: a\nx: x\ny: y\nseries: points one, bars two\n1 2 3\n2 -\n' >"$TMP/bad"
check bench.plot_position [ "$("$BUILD/bench/plot" "$TMP/bad" 2>&1)" = "$TMP/bad:6: error: a value is missing" ]
check bench.usage sh -c "! '$BUILD/bench/latency' -w x 2>/dev/null"
finish
