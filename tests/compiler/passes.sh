#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every schedule after every pass: the checks pass on the result, it is proved, and every byte of every start is right.
# Ranks are 1-9, 13 and 16, alternately processes and threads; memory is heap, private and staged. SWEEP=all runs
# all combinations. SWEEP=pairs runs some of the sizes for each schedule and list of passes, with one kind of memory for each in
# turn; SWEEP=share (make check) runs a tenth of those. tests/unit/test_passes.c runs all of them on the reference executor.
set -u
. "$(dirname "$0")/../lib.sh"
SIZES=${SIZES:-1 2 3 4 5 6 7 8 9 13 16}
KINDS=${KINDS:-processes threads}
cd "$ROOT" || exit 1
read -r -a kinds <<<"$KINDS"
SWEEP=${SWEEP:-share}
every=$([ "$SWEEP" = share ] && echo 107 || echo 11)
memories=(heap private staged)
turn=0 combination=0

# Whether this combination of schedule, size and passes is due.
due() { [ "$SWEEP" = all ] || [ $((combination++ % every)) -eq 0 ]; }

# run NAME RANKS SCHEDULE OPTIONS... : one launch, which sweeps
run()
{
	local name=$1 n=$2 s=$3 kind=${kinds[turn % ${#kinds[@]}]} memory=heap,private,staged

	[ "$SWEEP" = all ] || memory=${memories[turn / 2 % 3]}
	turn=$((turn + 1))
	shift 3
	if timeout 300 "$BUILD/bin/goalrun" -n "$n" --verify --sweep pairs --memory "$memory" --ranks "$kind" \
		--iters 2 --warmup 1 "$@" "$s" >"$TMP/out" 2>"$TMP/err"; then
		last_line "$TMP/out"
		ok "passes.$name $n $kind: $REPLY"
	else
		fail "passes.$name $n $kind: $(grep -v 'killed by' "$TMP/err" | sort -u | tail -n 3)"
	fi
}

# May wait=1 be applied? If not goalc has to say that ranks would wait for each other.
waits()
{
	goalc "$1" -n "$2" -D count=700 -T fuse:wait=1 -o "$TMP/wait.bin" 2>"$TMP/err" && return
	check "passes.deadlock $1 $2: $(head -n 1 "$TMP/err")" grep -q ' after fuse:wait=1: deadlock: ' "$TMP/err"
	goalc --verify "$1" -n "$2" -D count=700 -T fuse:wait=1 >/dev/null 2>"$TMP/err"
	check "passes.deadlock.verify $1 $2: $(head -n 1 "$TMP/err")" grep -q ' after fuse:wait=1: deadlock: ' "$TMP/err"
	return 1
}

# The options of the schedule, to o, and to vectors the parameters without a default. A binary for a number of ranks needs their
# values, so it is left out; --verify goes through them.
options()
{
	[ -z "$options" ] || return 0
	options=known
	goalc "$s" -o "$TMP/plain.bin" && goalc --dump "$TMP/plain.bin" >"$TMP/dump"
	vectors=$(grep -E '^parameter [a-z]+ [a-z_]+(\[\])?$' "$TMP/dump")
	o=(--type int32,uint8 --sample all)
	! grep -q '^parameter global root' "$TMP/dump" || o+=(--root all)
	! grep -q ' reduce ' "$TMP/dump" || o+=(--op sum,max)
}

proved() { goalc --verify -n 1-8 -T "$2" "$1" >"$TMP/out" 2>"$TMP/err" || { head -n 1 "$TMP/err"; false; }; }

for s in schedules/*.goal tests/passes/*.goal; do
	base=${s##*/}
	base=${base%.goal}
	for list in segment:size=1 'segment:size=3;fuse' fuse 'fuse;segment:size=2;reduce-deps' 'segment:size=2;reorder'; do
		due && check "passes.proved $base $list" proved "$s" "$list"
	done
	options=
	# shellcheck disable=SC2086
	for n in $(fitting "$s" $SIZES); do
		for list in segment:size=1 segment:size=300 fuse 'segment:size=256;fuse' reduce-deps 'fuse;segment:size=7;reduce-deps'; do
			due && options && run "$base.$list" "$n" "$s" "${o[@]}" --count 0,7,700 -T "$list"
		done
		due && options && [ -z "$vectors" ] && waits "$s" "$n" && run "$base.fuse:wait=1" "$n" "$TMP/wait.bin" "${o[@]}"
		for list in reorder 'segment:size=100;reorder;fuse'; do
			due && options && [ -z "$vectors" ] || continue
			goalc "$s" -n "$n" -D count=700 -T "$list" -o "$TMP/global.bin" 2>"$TMP/err" ||
				{ fail "passes.$base.$list $n: $(head -n 1 "$TMP/err")"; continue; }
			run "$base.$list" "$n" "$TMP/global.bin" "${o[@]}"
		done
	done
done

# A barrier whose messages have elements: rank 3 comes to rank 0 by way of elements that the last message does not have.
cat >"$TMP/barrier.goal" <<'END'
schedule barrier implements MPI_Barrier
buffer scratch t[2]
rank r of p {
  assert p == 4, "for four ranks"
  if r == 0 or r == 3 { send t[0 +: 1] to 1 }
  if r == 1 {
    first: recv t[0 +: 1] from 3
    second: recv t[1 +: 1] from 0
    both: send t to 2
    both requires first, second
  }
  if r == 2 {
    come: recv t from 1
    on: send t[1 +: 1] to 0
    on requires come
  }
  if r == 0 { all: recv t[1 +: 1] from 2 }
  for k = 1 to r == 0 ? 3 : 0 {
    out[k]: send t[0 +: 0] to k tag 1
    out[k] requires all
  }
  if r > 0 { recv t[0 +: 0] from 0 tag 1 }
}
END
check passes.barrier proved "$TMP/barrier.goal" segment:size=1

# Two ranks that exchange, and add what they get into what they send.
waits schedules/allreduce_recursive_doubling.goal 2

# Long messages, all types and operations, by both kinds of recv-reduce. The ring is not in the order of the ranks.
types=$(sed -n 's/^\tX([A-Z0-9_]*, \([a-z0-9_]*\), [A-Z]*, .*/\1/p' include/mpix_sched_basic.h | paste -sd,)
ops=$(sed -n 's/^\tX([A-Z_]*, \([a-z_]*\)).*/\1/p' include/mpix_sched_basic.h | grep -v no_op | paste -sd,)
for n in 2 3; do
	run types.tree "$n" schedules/reduce_binomial.goal --type "$types" --op "$ops,user" --count 5,30000 -T fuse:wait=1
	for list in fuse 'segment:size=5000;fuse'; do
		run "types.ring.$list" "$n" tests/passes/ring.goal --type "$types" --op "${ops#sum,prod,}" --count 5,30000 \
			-T "$list"
	done
done
finish
