#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Lowering to command queues: what goalc prints of the queues, which schedules it refuses with which words, and that the verifier
# proves the lowered schedules of the library, under default and under tight limits.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1
RANKS=${RANKS:-1-4}

# Lines of the library's texts may move.
lines() { sed -E 's/line [0-9]+/line N/g; s/(goal:)[0-9]+:[0-9]+: /\1N: /'; }

# The broadcast of the poster: four ranks, two segments.
poster=(schedules/bcast_chain.goal -n 4 -D root=0 -D count=8 -D segments=2 -T lower-smcq)
goalc --dump "${poster[@]}" | sed -n '/queues/,$p' | lines >"$TMP/out"
cat >"$TMP/want" <<'END'
rank 0: 1 queues, 4 entries, done when told of 1 of its own and 0 of others
  queue 0 session tni 0 cq 0
    0  nop
    1  nop
    2  put data[0 +: 4] to 1 data[0 +: 4] queue 1 sps 1 strong  for op 0 and op 0 of 1  ; line N
    3  put data[4 +: 4] to 1 data[4 +: 4] queue 1 sps 1 strong local remote  for op 1 and op 2 of 1  ; line N
rank 1: 2 queues, 3 entries, done when told of 1 of its own and 1 of others
  queue 0 normal tni 0 cq 0
    0  put-piggyback to 0 queue 0 sps 2 strong
  queue 1 session tni 1 cq 0
    0  put data[0 +: 4] to 2 data[0 +: 4] queue 1 sps 1 strong  for op 1 and op 0 of 2  ; line N
    1  put data[4 +: 4] to 2 data[4 +: 4] queue 1 sps 1 strong local remote  for op 3 and op 2 of 2  ; line N
rank 2: 2 queues, 3 entries, done when told of 1 of its own and 1 of others
  queue 0 session tni 0 cq 0
    0  put-piggyback to 0 queue 0 sps 2 strong
  queue 1 session tni 1 cq 0
    0  put data[0 +: 4] to 3 data[0 +: 4] strong  for op 1 and op 0 of 3  ; line N
    1  put data[4 +: 4] to 3 data[4 +: 4] strong local remote  for op 3 and op 1 of 3  ; line N
rank 3: 1 queues, 1 entries, done when told of 0 of its own and 1 of others
  queue 0 normal tni 0 cq 0
    0  put-piggyback to 2 queue 0 sps 1 strong
END
check queues.poster diff "$TMP/want" "$TMP/out"

# As on the poster itself: rank 0 posts two puts to a normal queue when it knows that all are ready.
goalc --dump "${poster[@]}:post=1" | sed -n '/queues/,$p' | lines >"$TMP/posted"
sed -e '/^    [01]  nop/d; s/^rank 0: 1 queues, 4/rank 0: 1 queues, 2/; 2s/session tni 0 cq 0/posted tni 0 cq 0 when told 2/' \
	-e '5,6{s/^    2/    0/; s/^    3/    1/}; s/\(piggyback to 0 queue 0\) sps 2/\1 sps 1/' "$TMP/want" >"$TMP/want.posted"
check queues.posted diff "$TMP/want.posted" "$TMP/posted"
check queues.posted_json grep -qF '{"mode":"posted","tni":0,"cq":0,"told":2,"entries":[{"entry":"put","peer":1,' \
	<(goalc --emit=json "${poster[@]}:post=1" | tr -d ' \n')
check queues.posted_stats grep -qx 'rank 0: 1 command queues, 2 entries; posts queue 0 itself' \
	<(goalc --stats "${poster[@]}:post=1")
check queues.posted_stats_json grep -qF '{ "rank": 0, "cqs": 1, "entries": 2, "cpu": [ ], "posted": [ 0 ] }' \
	<(goalc --stats --json "${poster[@]}:post=1")

goalc --emit=json "${poster[@]}" | tr -d ' \n' >"$TMP/out"
check queues.json grep -qF '{"entry":"put","peer":1,"from":{"name":"data","off":4},"to":{"name":"data","off":4},"len":4,"queue":1,"sps":1,"op":1,"at":2,"flags":["strong","local","remote"]}' "$TMP/out"
check queues.json_queue grep -qF '{"mode":"session","tni":1,"cq":0,"entries":[{"entry":"put","peer":2,' "$TMP/out"

# The model for spin (tests/verifier/promela.sh has spin look at it), of the text and of the binary.
goalc --emit=promela "${poster[@]}" >"$TMP/text.pml"
goalc "${poster[@]}" -g -o "$TMP/poster.bin"
check queues.promela.binary diff "$TMP/text.pml" <(goalc --emit=promela "$TMP/poster.bin")
check queues.promela.put grep -q '/\* put to 2 for the send of rank 1 in line [0-9]* \*/ CHECK(OPEN, open\[1\]' "$TMP/text.pml"
check queues.promela.ways [ "$(grep -c 'd_step { flying' "$TMP/text.pml")" -eq 6 ]

# The CPU's ops, in both forms.
goalc --stats schedules/reduce_binomial.goal -n 3 -D root=0 -D count=8 -T lower-smcq:assist=1 | grep '^rank ' | lines >"$TMP/out"
cat >"$TMP/want" <<'END'
rank 0: 2 command queues, 6 entries; needs the CPU for op 2 (reduce in line N), op 4 (reduce in line N)
rank 1: 2 command queues, 2 entries
rank 2: 2 command queues, 3 entries
END
check queues.stats diff "$TMP/want" "$TMP/out"
goalc --stats --json schedules/reduce_binomial.goal -n 3 -D root=0 -D count=8 -T lower-smcq:assist=1 >"$TMP/out"
check queues.stats_json grep -qF '{ "rank": 0, "cqs": 2, "entries": 6, "cpu": [ 2, 4 ], "posted": [ ] }' "$TMP/out"

# Sums of integers by the interface: two ranks add to what the root has put there, in whatever order.
armw=(schedules/reduce_knomial.goal -n 3 -D root=0 -D k=3 -D count=2 -T 'fuse:wait=1;lower-smcq:op=sum,type=int32')
goalc --dump "${armw[@]}" | sed -n '/queues/,$p' | lines >"$TMP/out"
cat >"$TMP/want" <<'END'
rank 0: 2 queues, 4 entries, done when told of 1 of its own and 2 of others
  queue 0 session tni 0 cq 0
    0  nop
    1  put mine[0 +: 2] to 0 result[0 +: 2] queue 1 sps 2 strong local  for op 0  ; line N
  queue 1 session tni 1 cq 0
    0  put-piggyback to 1 queue 1 sps 2 strong
    1  put-piggyback to 2 queue 1 sps 2 strong
rank 1: 2 queues, 3 entries, done when told of 1 of its own and 0 of others
  queue 0 normal tni 0 cq 0
    0  put-piggyback to 0 queue 0 sps 1 strong
  queue 1 session tni 1 cq 0
    0  armw add4 mine[0 +: 1] to 0 result[0 +: 1] strong  for op 0 and op 1 of 0  ; line N
    1  armw add4 mine[1 +: 1] to 0 result[1 +: 1] strong local remote  for op 0 and op 1 of 0  ; line N
rank 2: 2 queues, 3 entries, done when told of 1 of its own and 0 of others
  queue 0 normal tni 0 cq 0
    0  put-piggyback to 0 queue 0 sps 1 strong
  queue 1 session tni 1 cq 0
    0  armw add4 mine[0 +: 1] to 0 result[0 +: 1] strong  for op 0 and op 2 of 0  ; line N
    1  armw add4 mine[1 +: 1] to 0 result[1 +: 1] strong local remote  for op 0 and op 2 of 0  ; line N
END
check queues.armw diff "$TMP/want" "$TMP/out"
goalc --emit=json "${armw[@]}" | tr -d ' \n' >"$TMP/out"
check queues.armw_json grep -qF '{"entry":"armw","armw":"add4","peer":0,"from":{"name":"mine","off":1},"to":{"name":"result","off":1},"len":1,"op":0,"at":1,"flags":["strong","local","remote"]}' "$TMP/out"

# Receivers that get: what a rank has is announced to the next one, which fetches it.
gets=("${poster[@]/%lower-smcq/lower-smcq:get=1}")
goalc --dump "${gets[@]}" | sed -n '/queues/,/^rank 2/p' | lines >"$TMP/out"
cat >"$TMP/want" <<'END'
rank 0: 1 queues, 4 entries, done when told of 0 of its own and 1 of others
  queue 0 session tni 0 cq 0
    0  nop
    1  nop
    2  put-piggyback to 1 queue 1 sps 1 strong
    3  put-piggyback to 1 queue 1 sps 1 strong
rank 1: 3 queues, 5 entries, done when told of 1 of its own and 1 of others
  queue 0 normal tni 0 cq 0
    0  put-piggyback to 0 queue 0 sps 2 strong
  queue 1 session tni 1 cq 0
    0  get data[0 +: 4] from 0 data[0 +: 4] queue 2 sps 1 strong  for op 0 and op 0 of 0  ; line N
    1  get data[4 +: 4] from 0 data[4 +: 4] queue 2 sps 1 strong local remote  for op 2 and op 1 of 0  ; line N
  queue 2 session tni 2 cq 0
    0  put-piggyback to 2 queue 1 sps 1 strong
    1  put-piggyback to 2 queue 1 sps 1 strong
rank 2: 3 queues, 5 entries, done when told of 1 of its own and 1 of others
rank 3: 2 queues, 3 entries, done when told of 1 of its own and 0 of others
  queue 0 normal tni 0 cq 0
    0  put-piggyback to 2 queue 0 sps 1 strong
  queue 1 session tni 1 cq 0
    0  get data[0 +: 4] from 2 data[0 +: 4] strong  for op 0 and op 1 of 2  ; line N
    1  get data[4 +: 4] from 2 data[4 +: 4] strong local remote  for op 1 and op 3 of 2  ; line N
END
check queues.gets diff "$TMP/want" "$TMP/out"
# However many ranks and segments: one queue that gets, one that passes on, and one for the start.
check queues.gets_pipeline [ "$(goalc --stats schedules/bcast_chain.goal -n 24 -D root=0 -D count=640 -D segments=64 -T lower-smcq:get=1 |
	grep -o '^rank [0-9]*: [0-9]*' | cut -d ' ' -f 3 | sort -nu | tail -n 1)" -eq 3 ]
goalc --emit=json "${gets[@]}" | tr -d ' \n' >"$TMP/out"
check queues.gets_json grep -qF '{"entry":"get","peer":1,"from":{"name":"data","off":4},"to":{"name":"data","off":4},"len":4,' "$TMP/out"
goalc --emit=promela "${gets[@]}" >"$TMP/gets.pml"
check queues.gets_promela grep -q '/\* get from 1 for the recv of rank 2 in line [0-9]* \*/ CHECK(OPEN, open\[2\]' "$TMP/gets.pml"
goalc "${gets[@]}" -o "$TMP/gets.bin"
check queues.gets_reader [ "$(od -An -tu2 -j10 -N2 "$TMP/gets.bin" | tr -d ' ')" -eq 5 ]
check queues.puts_reader [ "$(od -An -tu2 -j10 -N2 "$TMP/poster.bin" | tr -d ' ')" -eq 4 ]

# Interfaces that the schedule names.
cat >"$TMP/nics.goal" <<'END'
schedule nics
buffer inout a[3 * count]
rank r of p {
  for k = 0 to 2 {
    if r > 0 { got[k]: recv a[k * count +: count] from r - 1 tag k }
    if r < p - 1 { out[k]: send a[k * count +: count] to r + 1 tag k nic k + 2; out[k] requires got[k] }
  }
}
END
goalc --dump "$TMP/nics.goal" -n 3 -D count=2 -T lower-smcq | sed -n '/^rank 1:.*queues/,/^rank 2/p' >"$TMP/out"
for k in 0 1 2; do
	check queues.nic.$k grep -q "session tni $((k + 2)) cq" "$TMP/out"
done
check queues.nics.proved grep -q '^nics: proved' <(goalc --verify "$TMP/nics.goal" -n 1-4 -T lower-smcq)

# refused NAME SENTENCE ARGS... : no output, and the sentence at a line of the source
refused()
{
	local name=$1 text=$2

	shift 2
	goalc "$@" -o "$TMP/no.bin" >"$TMP/out" 2>"$TMP/err"
	if [ $? -eq 1 ] && [ ! -e "$TMP/no.bin" ] && lines <"$TMP/err" | grep -qF "$text"; then ok "queues.refused.$name"; else
		fail "queues.refused.$name $(head -n 1 "$TMP/err")"; fi
}
at='the pass lower-smcq cannot be applied: rank'
# no_alu NAME SENTENCE PASSES : of a schedule that reduces four elements
no_alu()
{
	refused "$1" "schedules/lib/reduce_pairs.goal:N: error: size 4, count 4, root 0: $at 0: a network interface has no arithmetic unit for this $2" \
		schedules/reduce_binomial.goal -n 4 -D count=4 -T "$3"
}
no_alu alu 'reduce: if it is given op and type there may be ARMWs, and with assist=1 the CPU may do it' lower-smcq
no_alu op 'reduce: an ARMW is for integers of 4 or 8 bytes, and max is not sum, bxor, band or bor; with assist=1 the CPU may do it' \
	lower-smcq:op=max,type=int32
no_alu float 'reduce: an ARMW is for integers of 4 or 8 bytes, and double is no integer; with' lower-smcq:op=sum,type=double
no_alu size 'reduce: an ARMW is for integers of 4 or 8 bytes, and int16 has 2 bytes; with' lower-smcq:op=sum,type=int16
no_alu elements 'reduce: an ARMW for each of its 4 elements would be more than 3 (elements), and with assist=1 the CPU may do it' \
	lower-smcq:op=band,type=uint64,elements=3
no_alu fused 'recv-reduce-with: if it is given op and type there may be ARMWs, and the CPU does not reduce on the way: leave out the pass that made this op' \
	'fuse:wait=1;lower-smcq:assist=1'
refused cqs "schedules/lib/alltoall.goal:N: error: size 8, count 4: $at 0: for this send there is no command queue left of 2 (cqs) on each of 1 interfaces (tnis)" \
	schedules/alltoall_pairwise.goal -n 8 -D count=4 -T lower-smcq:tnis=1,cqs=2
refused cpu_cq "schedules/scan_chain.goal:N: error: size 3, count 8: $at 1: for the credit that this reduce of the CPU gives there is no command queue left of 2 (cqs)" \
	schedules/scan_chain.goal -n 3 -D count=8 -T lower-smcq:assist=1,tnis=1,cqs=2
refused nic "nics.goal:N: error: size 2, count 2: $at 0: this send is for nic 4, and the target has 4 (tnis)" \
	"$TMP/nics.goal" -n 2 -D count=2 -T lower-smcq:tnis=4
refused depth "schedules/lib/bcast_kary.goal:N: error: size 3, count 5000, root 0: $at 0: the queue of this send has 3000 entries, and one of the target 2^11 (depth)" \
	schedules/bcast_chain.goal -n 3 -D count=5000 -D segments=3000 -D root=0 -T lower-smcq:depth=0
refused pieces "schedules/bcast_linear.goal:N: error: size 2, count 100000, root 0: $at 0: this send takes puts of 7 elements (length, bytes), and of those more than the 2^11" \
	schedules/bcast_linear.goal -n 2 -D root=0 -D count=100000 -T lower-smcq:length=8,depth=0
refused armws "schedules/lib/reduce_pairs.goal:N: error: size 4, count 4000, root 0: $at 0: this reduce takes ARMWs of 1 element, and of those more than the 2^11" \
	schedules/reduce_binomial.goal -n 4 -D count=4000 -T lower-smcq:op=sum,type=int32,elements=5000,depth=0
refused offset "schedules/lib/bcast_kary.goal:N: error: size 4, count 50, root 0: $at 0: the queue of this send has 30 entries, and a scheduling pointer is less than 2^4 ahead (offset)" \
	schedules/bcast_chain.goal -n 4 -D count=50 -D segments=30 -D root=0 -T lower-smcq:offset=4
refused length 'an element of 20 bytes does not fit into a put of less than 2^4 (length)' \
	schedules/bcast_linear.goal -n 3 -D count=4 -T lower-smcq:bytes=20,length=4
refused last 'the pass reorder cannot be applied: lower-smcq must be the last pass' schedules/bcast_linear.goal -n 3 -D count=4 -T 'lower-smcq;reorder'
refused count 'the pass lower-smcq works on the ops of all ranks: fix count with -D count=N' \
	schedules/bcast_linear.goal -n 3 -T lower-smcq
printf 'num_ranks 2\nrank 0 { send 8b to 1 }\nrank 1 { recv 8b from 0 }\n' >"$TMP/plain.goal"
refused plain 'plain GOAL has no buffers' "$TMP/plain.goal" -T lower-smcq
printf 'schedule s\nrank r of p { calc 5 }\n' >"$TMP/calc.goal"
refused calc "calc.goal:N: error: size 2, count 1: $at 0: a network interface has no arithmetic unit for this calc" \
	"$TMP/calc.goal" -n 2 -D count=1 -T lower-smcq
goalc schedules/bcast_linear.goal -n 3 -D count=4 -T lower-smcq:sps=16 -o "$TMP/no.bin" 2>"$TMP/err"
check queues.refused.sps grep -q 'the key sps of the pass lower-smcq is a number from 2 to 15, not 16' "$TMP/err"
goalc schedules/bcast_linear.goal -n 3 -D count=4 -T lower-smcq:op=avg -o "$TMP/no.bin" 2>"$TMP/err"
check queues.refused.word grep -q 'the key op of the pass lower-smcq is one of open|no_op|sum|.*|maxloc, not avg' "$TMP/err"
check queues.passes_words grep -q '^  type=WORD  *the type of an element.*; default open$' <(goalc --list-passes)

# The library: offloaded as it is, but for what reduces, which is refused or takes ARMWs; then with the CPU and under tight
# limits, which make pieces, and signals of signals.
proved()
{
	local sizes=$RANKS

	[ "$1" != bcast_trinaryx3 ] || sizes=8 # of a torus
	goalc --verify "schedules/$1.goal" -n "$sizes" -T "$2" >"$TMP/out" 2>"$TMP/err"
	grep -q "^$1: proved for .*: it does what" "$TMP/out" || { head -n 1 "$TMP/err"; false; }
}
without_cpu() { proved "$@" && grep -q '; ops for CPUs: 0$' "$TMP/out"; }
tight=sps=2,length=7,cqs=256,post=1
for s in schedules/*.goal; do
	name=$(basename "$s" .goal)
	case $name in
	*reduce* | *scan*)
		check "queues.no_alu.$name" grep -q 'has no arithmetic unit' <(proved "$name" lower-smcq)
		check "queues.armw.$name" without_cpu "$name" lower-smcq:op=sum,type=int32,elements=200
		check "queues.armw_tight.$name" without_cpu "$name" "fuse;lower-smcq:op=bor,type=uint64,elements=200,$tight"
		;;
	*) check "queues.offloaded.$name" without_cpu "$name" lower-smcq ;;
	esac
	check "queues.gets.$name" proved "$name" "segment:size=2;lower-smcq:assist=1,get=1,$tight"
	check "queues.tight.$name" proved "$name" "lower-smcq:assist=1,$tight"
done

# A rank that posts a queue waits until it has, also where nobody waits for what is in the queue; and a rank without others
# tells its CPU that it has started.
for n in 2 3; do
	check queues.posted_before_done.$n grep -q "^rank 0: 1 queues, $((n - 1)) entries, done when told of 1 of its own " \
		<(goalc --dump tests/queues/nobody.goal -n $n -D count=1 -T lower-smcq:post=1)
done
check queues.posted_before_done.proved grep -q '^nobody: proved' <(goalc --verify tests/queues/nobody.goal -n 1-5 -T lower-smcq:post=1)
for with in '' ,post=1 ,sps=2; do
	check "queues.cpu_alone$with" grep -q '^alone: proved' <(goalc --verify tests/queues/alone.goal -n 1-3 -T "lower-smcq:assist=1$with")
done

# Many ranks: lowering takes seconds at most, for which the time of a whole test is room enough.
for s in 'alltoall_pairwise lower-smcq' 'allreduce_ring lower-smcq:op=bxor,type=int64' 'bcast_chain lower-smcq'; do
	check "queues.many.${s% *}" grep -q '^rank 63: [0-9]* command queues, [0-9]* entries$' \
		<(goalc --stats "schedules/${s% *}.goal" -n 64 -D count=64 -T "${s#* }")
done

# In a binary: any root, proved from the binary, which keeps the queues when what is proved is added.
goalc schedules/scatter_binomial.goal -n 5 -D count=3 -T lower-smcq -g -o "$TMP/five.bin"
check queues.binary grep -q '^scatter_binomial: proved for 5 ranks (5 cases)' <(goalc --verify "$TMP/five.bin" -o "$TMP/proved.bin")
check queues.binary_needs grep -qx '  command queues of a rank: at most [1-9], with at most [0-9]* entries; ops for CPUs: 0' \
	<(goalc --verify "$TMP/five.bin")
check queues.binary_kept diff <(goalc --dump "$TMP/five.bin" | sed '/^version/d') \
	<(goalc --dump "$TMP/proved.bin" | sed '/^version/d; /^proved/d')
check queues.binary_proved grep -qx 'proved for 5 ranks' <(goalc --dump "$TMP/proved.bin")
check queues.binary_again grep -q 'proved for 5 ranks' <(goalc --verify "$TMP/proved.bin" -o "$TMP/again.bin")
check queues.binary_same cmp -s "$TMP/proved.bin" "$TMP/again.bin"
finish
