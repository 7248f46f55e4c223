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
bench simulate 'MB'
bench bind init -n 2
bench collab ratio
if [ "$(nproc)" -ge 2 ]; then
	bench latency ratio -w 2
	bench wait 'late us'
else
	skip "bench.latency, bench.wait there is one core"
fi
# overlaps ROWS LAYOUT LIBRARIES RUNS : as many measurements, with numbers
overlaps()
{
	local rows

	LAYOUTS=$2 LIBRARIES=$3 RUNS=$4 COLLECTIVES=scatter SIZES=4096 ITERS=2 timeout 240 bash bench/overlap.sh >"$TMP/out" 2>"$TMP/err"
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
	overlaps $want apart "$peers" 1
	overlaps 2 shared '' 3 # MPICH takes long there
	printf 'L 300\no 20\nG 0.03\n' >"$TMP/params"
	OUT=$TMP/exp RANKS=3 BYTES=4096 ITERS=2 RUNS=2 SPLITS='0 1' LIBRARIES='' SIZES='8 4096' SCHEDULES='bcast_binomial scan_chain' \
		PARAMS=$TMP/params timeout 240 bash bench/experiment.sh iscan bcast steals predict >"$TMP/out" 2>"$TMP/err"
	rc=$?
	check "bench.experiments $(head -n 1 "$TMP/err")" [ $rc -eq 0 -a "$(wc -l <"$TMP/out")" -eq 4 ]
	check "bench.predicts $(tail -n 1 "$TMP/exp/predict.txt")" [ "$(grep -c '^# .*bytes: measured .* us, simulated ' "$TMP/exp/predict.txt")" -eq 4 -a \
		-z "$(face "$TMP/exp/predict.svg")" -a -n "$(grep '^# median of the relative errors: [0-9]* %' "$TMP/exp/predict.txt")" ]
	for e in iscan bcast steals; do
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
# All sides that are built take part in a short session, and their results are right.
timeout 240 env OUT="$TMP/exp" RANKS=2 SIZES='8 16384' COLLECTIVES='barrier allreduce gather scan' ITERS=4 TURNS=1 SETTINGS=default \
	bash bench/collectives.sh >"$TMP/out" 2>"$TMP/err"
rc=$?
number=' +[0-9.]+'
check "bench.collectives $(cat "$TMP/err" "$TMP/out" | grep -m 1 -e 'not measured' -e drive:)" [ $rc -eq 0 -a \
	"$(grep -cE "^(barrier|allreduce|gather|scan) +[0-9]+$number [a-z]+ +$number +.*$number( [1-4])*$" "$TMP/out")" -eq 7 ]
sides=('limit hand posted' 'private hand owned' 'ours goalrun shared' 'ours goalrun private')
for m in mpich openmpi; do
	[ -x "$BUILD/bench/collectives/mpi-$m" ] && { [ $m = openmpi ] || [ "$(nproc)" -ge 2 ]; } || continue
	sides+=("served $m alloc_mem" "served $m ordinary" "peer $m/default blocking" "peer $m/default persistent")
done
for side in "${sides[@]}"; do
	check "bench.collectives_${side// /_}" [ "$(grep -cE "^(heat|cell) 2 .* $side " "$TMP/exp/collectives.txt")" -ge 4 ]
done
check bench.collectives_staged grep -qE '^heat 2 (allreduce|gather|scan) 16384 private hand staged ' "$TMP/exp/collectives.txt"
# The fastest in the heats of a cell comes to its final: one limit in each memory, and one peer if there are any.
finals()
{
	awk '$1 == "heat" { k = $3 " " $4 " " $5; if (!(k in least) || $8 < least[k]) { least[k] = $8; first[k] = $6 $7 } }
		$1 == "cell" && ($5 == "limit" || $5 == "private" || $5 == "peer") { k = $3 " " $4 " " $5; n[k]++; if (k in first && first[k] != $6 $7) bad = 1 }
		END { for (k in n) bad += n[k] != 1; for (k in first) bad += n[k] != 1; exit bad }' "$1"
}
check bench.collectives_finals finals "$TMP/exp/collectives.txt"
check bench.collectives_heats grep -q '^heat 2 .* limit ' "$TMP/exp/collectives.txt"
check bench.collectives_starts_by_hand grep -qE '^(heat|cell) 2 allreduce 16384 limit hand own( [0-9.]+){4} - -$' "$TMP/exp/collectives.txt"
check "bench.collectives_face $(face "$TMP/exp/collectives-2.svg" | head -n 2 | tr '\n' '|')" [ -z "$(face "$TMP/exp/collectives-2.svg")" ]
# So are those of the collectives that are not written by hand.
timeout 240 env OUT="$TMP/others" RANKS=2 SIZES=16384 WHO='ours served openmpi' ITERS=4 TURNS=1 SETTINGS=default \
	COLLECTIVES='exscan reduce_scatter_block reduce_scatter allgatherv alltoallv gatherv scatterv' \
	bash bench/collectives.sh >"$TMP/out" 2>"$TMP/err"
rc=$?
check "bench.collectives_others $(cat "$TMP/err" "$TMP/out" | grep -m 1 -e 'not measured' -e drive:)" [ $rc -eq 0 -a \
	"$(grep -c '^cell 2 .* ours goalrun shared ' "$TMP/others/collectives.txt")" -eq 2 ]
for side in 'served openmpi ordinary' 'peer openmpi/default [a-z]*'; do
	[ ! -x "$BUILD/bench/collectives/mpi-openmpi" ] ||
		check "bench.collectives_others_${side%% *}" [ "$(grep -c "^cell 2 .* $side " "$TMP/others/collectives.txt")" -eq 7 ]
done
# A side that does not start is named, and its first message.
drives() { timeout 60 "$BUILD/bench/collectives/drive" -t 1 -i 4 "$@" "$TMP/board"; }
check bench.collectives_none [ "$(printf 'peer\tnobody\tall\tls /nowhere\nlimit\tempty\tall\ttrue\n' | drives -c barrier || echo $?)" = \
	"none 2 all 0 peer nobody - $(ls /nowhere 2>&1)"$'\nnone 2 all 0 limit empty - the ranks ended\n1' ]
check bench.collectives_leaves_nothing [ -z "$(ls "$TMP"/board* 2>/dev/null)" ]
check bench.collectives_usage grep -q '^drive: a collective is barrier, ' <(drives -c bcast,broadcast 2>&1 </dev/null)
# A measurement of nothing is no success.
for given in 'WHO="ours limt"' SETTINGS=defaults 'WHO=mpich RANKS=100'; do
	eval "OUT=$TMP/exp COLLECTIVES=barrier $given timeout 60 bash bench/collectives.sh" >"$TMP/out" 2>"$TMP/err"
	check "bench.collectives_refuses $given" [ $? -ne 0 -a "$(wc -l <"$TMP/err")" -eq 1 ]
done
# The report marks the cells that miss a bar.
reported()
{
	printf 'cell 2 bcast 8 limit hand own 1 1 1 - - -\ncell 2 bcast 8 ours goalrun shared %s 1 1 .1 1 2\ncell 2 bcast 8 peer %s blocking %s 1 1 - - -\n' \
		"$1" x "$2" | awk -v picture="$TMP/pic" -f bench/collectives/report.awk | sed -n 's/^bcast  *8 .*x blocking  *//p' | tr -s ' '
}
reported 1.2 1.5 >"$TMP/out"
check bench.report_spread grep -q '^0 1\.2:1:1 1\.5:1:1 1$' "$TMP/pic"
check bench.report_leads [ "$(reported 1.2 1.5)" = '1.20 1.25 1.50' ]
check bench.report_close [ "$(reported 1.2 1.3)" = '1.20 1.08 1.30' ]
check bench.report_not_ahead [ "$(reported 1.4 1.5)" = '1.40 1.07 1.50 2' ]
check bench.report_behind [ "$(reported 2 1)" = '2.00 0.50 1.00 1 2' ]
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
