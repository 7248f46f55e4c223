#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# run.sh TEST... : runs test scripts or programs, each for RUN_LIMIT seconds at most (1500), and counts their lines "ok", "FAIL" and "skip".
# JOBS of them run at a time; the default is one more than there are cores, because they often wait, but at most 4.
# VERBOSE=1 also shows the lines that passed. For each test the elapsed seconds are printed, and the seconds of CPU of the test and
# of the processes that it has waited for. The last line has the totals.
set -u
cd "$(dirname "$0")/.." || exit 1
cores=$(nproc)
JOBS=${JOBS:-$((cores < 3 ? cores + 1 : 4))}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'kill $(jobs -rp) 2>/dev/null; wait; exit 1' HUP INT TERM

# cpu FILE : seconds of CPU, user's and system's, of the children in what `times` has printed
cpu() { awk -F '[ms ]+' 'NR == 2 { printf "%.0f", 60 * ($1 + $3) + $2 + $4 }' "$1"; }

# one NUMBER TEST : what it has to say goes to $dir/NUMBER, and at its end in one piece to stdout
one()
{
	local t=$2 out=$dir/$1 began=$SECONDS run=() rc o f s

	[[ $t = *.sh ]] && run=(bash)
	JOBS=1 timeout "${RUN_LIMIT:-1500}" "${run[@]}" "$t" >"$out" 2>&1 </dev/null &
	trap "kill $! 2>/dev/null" TERM # a group of its own
	wait $!
	rc=$?
	times >"$out.times"
	{
		flock 9
		o=$(grep -c '^ok ' "$out") f=$(grep -c '^FAIL ' "$out") s=$(grep -c '^skip ' "$out")
		# A test that fails without saying where has failed all the same.
		[ $rc -ne 0 ] && [ $rc -ne 77 ] && [ "$f" -eq 0 ] && { f=1; echo "FAIL $t: exit status $rc"; tail -n 20 "$out"; }
		[ $rc -eq 77 ] && [ "$s" -eq 0 ] && { s=1; echo "skip $t: $(tail -n 1 "$out")"; }
		[ $rc -eq 0 ] && [ $((o + f + s)) -eq 0 ] && { f=1; echo "FAIL $t: it tested nothing"; }
		if [ "$f" -gt 0 ] || [ "${VERBOSE:-0}" = 1 ]; then cat "$out"; else grep -E '^(skip |coverage:)' "$out"; fi
		printf '%-28s %4d passed %3d failed %3d skipped %5d s %5d s of CPU\n' "$(basename "$t")" "$o" "$f" "$s" \
			$((SECONDS - began)) "$(cpu "$out.times")"
		echo "$o $f $s" >>"$dir/counts"
	} 9>"$dir/lock"
}

n=0
for t in "$@"; do
	most=$JOBS
	# These run alone: the first looks for what is left behind, and the others' guests wait for their turn by spinning.
	case $t in */kill.sh | */verbs*.sh | */guest.sh | */rdma.sh) most=1 ;; esac
	while [ "$(jobs -rp | wc -l)" -ge "$most" ]; do wait -n; done
	n=$((n + 1)) # here: what stands in the next line is another shell's
	one $n "$t" &
	[ "$most" -gt 1 ] || wait
done
wait
read -r pass bad skipped tests < <(awk '{ o += $1; f += $2; s += $3 } END { print o + 0, f + 0, s + 0, NR }' "$dir/counts")
[ "$tests" -eq $# ] || { echo "FAIL $(($# - tests)) tests have not told how they ended"; bad=$((bad + 1)); }
times >"$dir/times"
echo "$SECONDS s, $(cpu "$dir/times") s of CPU"
echo "$pass passed, $bad failed, $skipped skipped"
[ "$bad" -eq 0 ]
