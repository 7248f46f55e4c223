#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Two guests whose ranks run schedules over Soft-RoCE and shared memory. At a random moment a rank is killed, the link goes
# down, or a whole guest ends. Each survivor must get an error within 5 s that names the lost rank or node, must be able to free
# all it has, and must leave nothing behind. EACH rounds use the same two guests; the end of a guest is only tried in the last
# of them. RUNS=40 is the campaign (make kill-verbs).
set -u
. "$(dirname "$0")/../lib.sh"
RUNS=${RUNS:-3}
EACH=${EACH:-10}
RANDOM=${SEED:-1}
cd "$ROOT" || exit 1

# plan KIND WHEN RANKS SHM : a line of tests/rt/cut.c
plan()
{
	local ranks=$3 victim=$((RANDOM % 2)) s progress

	[ "$1" = rank ] && victim=$((RANDOM % (2 * ranks)))
	case $((RANDOM % 3)) in
	0) s='bcast_binomial.goal 1' ;;
	1) s='alltoall_pairwise.goal 2' ;;
	2) s='allreduce_recursive_doubling.goal 3' ;;
	esac
	[ $((RANDOM % 2)) = 0 ] && progress=app || progress=thread
	echo "$1 $victim $2 $((RANDOM * 30)) $ranks $((RANDOM % 3 ? RANDOM % 2000 + 1 : 100000)) $((RANDOM % 2)) $4 $((RANDOM % 2)) $progress $s"
}

# survivor RANK : what is wrong with what it has to say, in the directory of its round
survivor()
{
	local r=$1 name among='' died=died right who phase rc text late

	[ -e "report.$r" ] || { echo "rank $r has heard nothing"; return; }
	read -r phase rc text <"report.$r"
	echo "$phase" >>"$TMP/phases"
	late=$(echo "$(stat -c %.3Y "report.$r") $(stat -c %.3Y event)" | awk '{ printf "%.1f", $1 - $2 }')
	echo "$late" >>"$TMP/late"
	for ((who = 0; who < 2 * ranks; who++)); do # those that it may name
		case $kind in
		rank) [ $who -eq "$victim" ] ;;
		node) [ $((who / ranks)) -eq "$victim" ] ;;
		link) [ $((who / ranks)) -ne $((r / ranks)) ] ;;
		esac || continue
		name=$who
		[ "$split" = 0 ] || [ "$phase" = splitting ] || name=$((2 * ranks - 1 - who)) # in the group that it has split off
		among="$among${among:+|}$name"
	done
	[ $kind = rank ] || died='died, or its node' # nobody else may be said to have died
	right="(^|: )rank ($among) ($died|cannot be reached)|cannot reach rank ($among) "
	# Where all goes by the device, its port that is down also keeps ranks of a node apart.
	[ "$kind $shm $((r / ranks))" = "link 0 $victim" ] &&
		right="$right|rank [0-9] cannot be reached: the port of this rank's RDMA device is down|cannot reach rank [0-9] "
	awk -v late="$late" 'BEGIN { exit late > 5 }' || echo "rank $r has heard after $late s: $text"
	[ "$rc" -ne 0 ] && [[ $text =~ $right ]] ||
		echo "rank $r, $phase, has heard $rc $text"
}

# judge : of the round in this directory
judge()
{
	local kind victim when after ranks count heap shm split progress schedule r n

	read -r kind victim when after ranks count heap shm split progress schedule <plan
	[ -e event ] || { echo 'nothing has happened'; return; }
	for ((r = 0; r < 2 * ranks; r++)); do
		case $kind in rank) [ "$r" -eq "$victim" ] ;; node) [ $((r / ranks)) -eq "$victim" ] ;; *) false ;; esac || survivor "$r"
	done
	[ ! -e wrong ] || cat wrong
	for ((n = 0; n < 2; n++)); do
		[ "$kind $victim" = "node $n" ] && continue
		if [ ! -e left.$n ]; then echo "node $n has not come to the end"
		elif [ -n "$(cat left.$n)" ]; then echo "node $n: $(cat left.$n)"; fi
	done
}

wrong=0
: >"$TMP/phases"
: >"$TMP/late"
for ((done = 0; done < RUNS; done += rounds)); do
	rounds=$((RUNS - done < EACH ? RUNS - done : EACH))
	dir=$TMP/$done
	for ((i = 0; i < rounds; i++)); do
		mkdir -p "$dir/$i"
		kinds=(rank link)
		kind=${kinds[i < 2 ? i : RANDOM % 2]}
		[ $((i + 1)) -lt $rounds ] || kind=node
		whens=(runs up)
		if [ $i -eq 1 ]; then plan $kind runs 2 0; else plan $kind ${whens[RANDOM % 2]} $((1 + RANDOM % 2)) $((RANDOM % 4 > 0)); fi >"$dir/$i/plan"
	done
	timeout $((rounds * 60 + 100)) bash tests/guest/run.sh -n 2 -t $((rounds * 60 + 80)) -s "$dir" \
		sh -c 'exec "$0" "$GUEST_SHARED" "$GUEST_NODE" "$1"' "$BUILD/tests/rt-cut" "$ROOT/schedules" >"$TMP/out" 2>&1 ||
		fail "verbs_cut.guests $(tail -n 5 "$TMP/out" | tr '\n' '|')"
	! pgrep -f "path=$dir" >"$TMP/pids" || fail "verbs_cut.guest_left $(tr '\n' ' ' <"$TMP/pids")"
	for ((i = 0; i < rounds; i++)); do
		cd "$dir/$i" || exit 1
		judge >"$TMP/bad"
		cd "$ROOT" || exit 1
		[ -s "$TMP/bad" ] || continue
		wrong=$((wrong + 1))
		sed "s/^/# round $((done + i)): $(cat "$dir/$i/plan"): /" "$TMP/bad"
	done
done
check "verbs_cut.random $RUNS rounds, survivors were $(sort "$TMP/phases" | uniq -c | sort -rn | awk '{ printf "%s%s %d", sep, $2, $1; sep = ", " }'); the last heard after $(sort -n "$TMP/late" | tail -n 1) s; wrong: $wrong" \
	[ "$wrong" -eq 0 ]
finish
