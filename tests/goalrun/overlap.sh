#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# goalrun --overlap runs, checks the received data, and prints values that are defined as in the manual. The amount of overlap is
# not checked.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$TMP" || exit 1
run() { timeout 120 "$BUILD/bin/goalrun" --overlap --iters 5 --warmup 2 "$@" >out 2>err; }
# sound FILE : the keys, three times, and the overlap that follows from them
sound()
{
	tr -d '{} "' <"$1" | tr ',:' '\n ' | awk '
		{ v[$1] = $2 }
		END {
			c = v["comm_us"]; w = v["compute_us"]; t = v["total_us"]
			n = split("ranks backend verified iters median_us min_us start_us init_us comm_us compute_us total_us overlap", key, " ")
			for (i = 1; i <= n; i++) if (!(key[i] in v)) bad = 1
			is = (c + w - t) / (c < w ? c : w)
			off = is - v["overlap"]
			exit bad || v["verified"] != "true" || c <= 0 || w <= 0 || t <= 0 || off > 1e-6 || off < -1e-6
		}'
}
# measures NAME ARGS...
measures()
{
	local name=$1

	shift
	if run --json "$@" && sound out; then ok "overlap.$name"; else fail "overlap.$name $(cat out err | head -n 3)"; fi
}
s=$ROOT/schedules
for n in 1 2 3; do
	measures bcast_$n -n $n --count 2000 "$s/bcast_binomial.goal"
	measures reduce_$n -n $n --count 2000 "$s/reduce_binomial.goal"
	measures allreduce_$n -n $n --count 2000 --tests 4 "$s/allreduce_rabenseifner.goal"
	measures gather_$n -n $n --count 2000 --memory private "$s/gather_binomial.goal"
	measures scatter_$n -n $n --count 2000 --memory staged "$s/scatter_binomial.goal"
done
# Others make progress.
for name in bcast_linear reduce_binomial allreduce_recursive_doubling gather_binomial scatter_binomial; do
	measures comm_core_$name -n 3 --count 2000 --progress thread --comm-cores 1 "$s/$name.goal"
done
measures split -n 4 --count 2000 --progress thread --comm-cores 1 -T split-tree:S=1 "$s/reduce_binomial.goal"
measures collab -n 3 --count 2000 --progress collab "$s/bcast_binomial.goal"
measures threads -n 3 --ranks threads --tests 1 "$s/scan_chain.goal"
measures barrier -n 2 "$s/barrier_dissemination.goal"
measures work -n 2 --work 500 "$s/bcast_binomial.goal"
measures every_byte -n 2 --verify --type long_double "$s/reduce_binomial.goal"
measures in_place -n 2 --sample inplace "$s/allreduce_recursive_doubling.goal"

# Where a core communicates, a rank's own thread carries nothing out before it has waited for long; how long ago the last
# start was has nothing to do with it.
timeout 60 "$BUILD/bin/goalrun" -n 2 --verify --progress thread --comm-cores 1 --iters 4 --warmup 1 --count 1000000 \
	--trace trace.txt "$s/scatter_linear.goal" >out 2>err
check overlap.own_threads_stay_out awk '
	$4 == "wait" { began[$5, $10] = $1 }
	$4 == "op" { ops++ }
	$4 == "op" && $5 ~ /^rank/ && (!(($5, $10) in at) || $1 < at[$5, $10]) { at[$5, $10] = $1 }
	END { for (k in at) bad += !(k in began) || at[k] < began[k]; exit bad || ops < 10 }' trace.txt

# A wait for 3 ms that needs no core: what contains it cannot be shorter.
printf 'num_ranks 2\nrank 0 {\nl: calc 3000000\n}\nrank 1 {\nl: calc 1000\n}\n' >calc.goal
measures calc calc.goal
check overlap.calc_is_contained awk -F'[:,}]' '{ for (i = 1; i < NF; i++) if ($i ~ /(comm|total)_us/ && $(i + 1) < 3000) exit 1 }' out

run -n 2 --count 5,6 "$s/bcast_binomial.goal"
check overlap.table [ $? -eq 0 -a "$(grep -c ' %$' out)" -eq 2 -a -n "$(grep 'comm us  compute us    total us     overlap$' out)" ]
check overlap.all_checked grep -q 'every byte of every start checked' out

# A wrong result ends it, with the command that repeats it.
sed 's/send data to/send data[0 +: 0] to/; s/recv data from/recv data[0 +: 0] from/' "$s/bcast_linear.goal" >wrong.goal
run -n 2 --tests 3 wrong.goal
check overlap.wrong_result [ $? -eq 1 -a -n "$(grep 'epoch 1: byte 0 of data: the result is wrong' err)" ]
check overlap.repeats grep -q -e ' --overlap --tests 3 ' err
finish
