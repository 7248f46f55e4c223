#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Counts how many lines of lang/, format/, compiler/, runtime/, goalrun/, goalinfo/ and backends/ the tests run. It makes a
# separate build with counters and runs a small share of the scripts. Lines are those of the sources, including .l and .y files; the code that
# flex and bison add is left out. BUILD-cov/uncovered.txt has the lines that no test runs.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1
LEAST=85 # percent, in all and in each directory
cov=$BUILD-cov

command -v gcov >/dev/null || { skip "coverage there is no gcov"; finish; }
# Beside the scripts for single functions: whole programs that fail or die. SWEEP=all (make coverage) takes those too that
# run the same lines many times.
scripts=(
	tests/compiler/{diag,output,print,calls,queues,select,global,model}.sh
	tests/backends/{smcq,ofi}.sh
	tests/runtime/{hosts,rt,starts}.sh
	tests/goalrun/{goalrun,goalinfo,trace,overlap,placement}.sh
	tests/house/unit.sh
)
if [ "${SWEEP:-}" = all ]; then
	scripts+=(
		tests/compiler/{samples,alloc,table}.sh
		tests/allranks/allranks.sh
		tests/goalsim/{goalsim,node}.sh
		tests/backends/transport.sh
		tests/goalrun/{plain,oracle}.sh
		tests/runtime/{dump,meet,kill,matrix}.sh
		tests/verifier/verify.sh
	)
	SUITES='' RANKS=1-5
else
	SUITES='loop passes coalesce rounds' RANKS=1-3
fi
# What a device with RDMA is for, in a guest.
cat >"$TMP/verbs" <<'END'
run() { timeout 200 "$BUILD/bin/goalrun" --backend verbs --no-shm --verify --warmup 1 "$@" schedules/allreduce_ring.goal || exit; }
"$BUILD/bin/goalinfo" && "$BUILD/bin/goalinfo" --json || exit
run -n 3 --sweep pairs --memory heap,private --count 0,7,1000 --iters 2
run -n 2 --count 1,128,8192 --iters 40
run -n 2 --count 1048576 --iters 1
GOAL_BACKEND=verbs GOAL_SHM=0 exec "$BUILD/tests/rt-untouched" 3
END
# shellcheck disable=SC2046
variant cov CC=gcc HOOK=1 SAN="--coverage -fprofile-update=atomic -include tests/house/coverage.h" CFLAGS=-O1 \
	tabled $(programs cov "${scripts[@]}" "$TMP/verbs") || finish
find "$cov" -name '*.gcda' -delete
# What guests run counts into the folder that is shared with them. First: others add to it.
guest -t 600 -m 1024 -s "$TMP/guest" env GCOV_PREFIX=/run/guest/counts BUILD="$cov" bash "$TMP/verbs" >"$TMP/log" 2>&1
rc=$?
check "coverage.guest $(tail -n 3 "$TMP/log" | tr '\n' '|')" [ $rc -eq 0 -a -d "$TMP/guest/counts" ]
cp -r "$TMP/guest/counts$cov" "$cov/.." 2>"$TMP/log"
SWEEP='' SCHEDULES=$SOME HOOKED=$cov LARGE=20000 SIZES=3 STARTS=200 RUNS=4 SUITES=$SUITES RANKS=$RANKS share cov "${scripts[@]}"

mapfile -t notes < <(find "$cov"/{lang,format,compiler,runtime,goalrun,goalinfo,backends} -name '*.gcno')
gcov -t "${notes[@]}" 2>/dev/null | awk -v report="$cov/uncovered.txt" -f tests/house/coverage.awk >"$TMP/lines"
percent() { awk -v name="$1" '$1 == name && $3 { printf "%.1f", 100 * $2 / $3 }' "$TMP/lines"; }
echo "coverage: $(percent total) % of lines (lang $(percent lang), format $(percent format), compiler $(percent compiler)," \
	"runtime $(percent runtime), goalrun $(percent goalrun), goalinfo $(percent goalinfo), backends $(percent backends))"
for part in total lang format compiler runtime goalrun goalinfo backends; do
	p=$(percent $part)
	if awk -v p="${p:-0}" -v least=$LEAST 'BEGIN { exit !(p + 0 >= least) }'; then ok "coverage.$part $p %"; else
		fail "coverage.$part ${p:-none} %, not $LEAST; see $cov/uncovered.txt"; fi
done
finish
