#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The files that goalc writes, those that it leaves behind, and its exit statuses.
set -u
. "$(dirname "$0")/../lib.sh"

good=$TMP/in/good.goal bad=$TMP/in/bad.goal
mkdir "$TMP/in" "$TMP/out"
printf 'num_ranks 1\nrank 0 {\ncalc 1\n}\n' >"$good"
printf 'num_ranks 1\nrank 0 {\ncalc x\n}\n' >"$bad"
goalc "$good" -o "$TMP/in/good.bin"
cd "$TMP/out" || exit 1

# status NAME WANT ARGS... : the exit status, and a sentence on stderr for every failure
status()
{
	local name=$1 want=$2 rc

	shift 2
	goalc "$@" >"$TMP/stdout" 2>"$TMP/stderr"
	rc=$?
	if [ $rc -ne "$want" ]; then
		fail "output.$name exit status $rc, not $want: $(head -1 "$TMP/stderr")"
	elif [ "$want" -ne 0 ] && [ ! -s "$TMP/stderr" ]; then
		fail "output.$name says nothing"
	else
		ok "output.$name"
	fi
}

# only NAME FILES... : nothing else is in the directory, which is then emptied
only()
{
	local name=$1 there

	shift
	there=$(ls -A | tr '\n' ' ')
	if [ "$there" = "${*:+$* }" ]; then ok "output.$name"; else fail "output.$name there is: $there"; fi
	rm -rf ./* ./.[!.]*
}

# ---- the output file ----
status success 0 "$good" -o new.bin
check output.success_same cmp -s new.bin "$TMP/in/good.bin"
(umask 027; goalc "$good" -o umask.bin)
check output.success_umask [ "$(stat -c %a umask.bin)" = 640 ]
only success_files new.bin umask.bin

status error 1 "$bad" -o new.bin
only error_leaves_nothing
echo old >old.bin
chmod 604 old.bin
status error_existing 1 "$bad" -o old.bin
check output.error_keeps_old [ "$(cat old.bin)" = old ]
status replaces 0 "$good" -o old.bin
check output.replaces_all cmp -s old.bin "$TMP/in/good.bin"
check output.replaces_mode [ "$(stat -c %a old.bin)" = 604 ]
only replaces_files old.bin

printf 'schedule s\nrank r of p { send x to 0 }\n' >"$TMP/in/par.goal"
status error_parametric 1 "$TMP/in/par.goal" -o new.bin
only error_parametric_leaves_nothing
head -c 100 "$TMP/in/good.bin" >"$TMP/in/cut.bin"
status error_binary 1 --stats "$TMP/in/cut.bin" -o new.txt
only error_binary_leaves_nothing
status binary_again 1 "$TMP/in/good.bin" -o new.bin
only binary_again_leaves_nothing

# Files may not be as large: that is told, and nothing is left.
{ printf 'num_ranks 1\nrank 0 {\n'; seq 10000 | sed 's/.*/calc &/'; echo '}'; } >"$TMP/in/large.goal"
echo old >old.bin
for to in new.bin old.bin; do
	(ulimit -f 8; exec "$GOALC" "$TMP/in/large.goal" -o $to) 2>"$TMP/stderr"
	check "output.limited_$to status $?" grep -qx "goalc: $to: File too large" "$TMP/stderr"
done
check output.limited_keeps_old [ "$(cat old.bin)" = old ]
only limited_leaves_nothing old.bin
# Nor does who kills it in the middle find anything beside the file.
for delay in ${KILLS:-0.02 0.04}; do
	timeout -s KILL "$delay" "$GOALC" "$TMP/in/large.goal" -o new.bin
done 2>/dev/null
rm -f new.bin
only killed_leaves_nothing
name=$(head -c 250 /dev/zero | tr '\0' n)
status long_name 0 "$good" -o "$name"
only long_name_files "$name"

# What has no end is not read: neither a device, nor more of a pipe than fits.
for to in input dump verify select; do
	case $to in
	input) args=(/dev/zero -o new.bin) ;;
	dump | verify) args=(--$to /dev/zero) ;;
	select) args=(--select MPI_Bcast -n 2 --table /dev/zero) ;;
	esac
	status device_$to 1 "${args[@]}"
	check output.device_${to}_text grep -qx '.*/dev/zero: .*this is neither a regular file nor a pipe' "$TMP/stderr"
done
printf 'import "/dev/zero"\nschedule s\nrank r of p { nop }\n' >"$TMP/in/zero.goal"
status device_import 1 "$TMP/in/zero.goal" -o new.bin
check output.device_import_text grep -q 'cannot import /dev/zero: it is no regular file' "$TMP/stderr"
printf 'schedule s\nrank r of p { nop }\n' | (exec "$GOALC" /dev/stdin -o new.bin)
check output.pipe [ $? -eq 0 ]
rm new.bin
# A path with control characters is no string of a binary.
cp "$good" "$TMP/in/"$'a\033[31m.goal'
status odd_path 0 "$TMP/in/"$'a\033[31m.goal' -g -o new.bin
status odd_path_binary 0 --dump new.bin
check output.odd_path_text grep -qaF 'a?[31m.goal' new.bin
only device_leaves_nothing new.bin

status null 0 "$good" -o /dev/null
check output.null_is_a_device [ -c /dev/null ]
status full 1 "$good" -o /dev/full
check output.full_says_why grep -q '/dev/full: No space' "$TMP/stderr"
goalc --stats "$good" >/dev/full 2>"$TMP/stderr"
check output.full_stdout [ $? -eq 1 ]
goalc --list-checks >/dev/full 2>"$TMP/stderr"
check output.full_list [ $? -eq 1 ]
goalc --version >/dev/full 2>"$TMP/stderr"
check output.full_version [ $? -eq 1 ]

mkfifo pipe
timeout 20 cat pipe >"$TMP/piped" &
reader=$!
status fifo 0 "$good" -o pipe
wait $reader
check output.fifo_same cmp -s "$TMP/piped" "$TMP/in/good.bin"
check output.fifo_kept [ -p pipe ]
status fifo_error 1 "$bad" -o pipe
only fifo_files pipe
mkfifo pipe
timeout 20 cat "$good" >pipe &
status fifo_input 0 pipe -o new.bin
wait $!
check output.fifo_input_same cmp -s new.bin "$TMP/in/good.bin"
only fifo_input_files new.bin pipe

echo old >target
ln -s target link
status link 0 "$good" -o link
check output.link_kept [ -L link ]
check output.link_target cmp -s target "$TMP/in/good.bin"
echo old >target
status link_error 1 "$bad" -o link
check output.link_error_target [ "$(cat target)" = old ]
only link_files link target
ln -s nowhere link
status link_dangling 0 "$good" -o link
check output.link_dangling_result cmp -s link "$TMP/in/good.bin"
rm -rf ./*

mkdir dir
status directory 1 "$good" -o dir
only directory_files dir
status no_directory 1 "$good" -o no/such/dir.bin
status name_too_long 1 "$good" -o "$(printf '%0300d' 0)"
only no_directory_files
# Permissions: root has them all, so somebody else tries.
if [ "$(id -u)" -eq 0 ]; then
	cp "$GOALC" "$TMP/goalc"
	chown 65534 "$TMP/out"
	chmod 755 "$TMP" "$TMP/goalc"
	chmod -R a+rX "$TMP/in"
	as="setpriv --reuid=65534 --regid=65534 --clear-groups --"
	goalc() { $as timeout 60 "$TMP/goalc" "$@"; }
fi
if ${as:-} test -r "$good"; then
	mkdir closed
	chmod 555 closed
	status closed_directory 1 "$good" -o closed/new.bin
	chmod 755 closed
	echo old >readonly.bin
	chmod 444 readonly.bin
	status readonly_file 1 "$good" -o readonly.bin
	check output.readonly_kept [ "$(cat readonly.bin)" = old ]
	only closed_files closed readonly.bin
	cp "$good" secret.goal
	chmod 000 secret.goal
	status unreadable 1 secret.goal -o new.bin
	only unreadable_files secret.goal
else
	skip output.permissions nobody else can use "$TMP"
fi
goalc() { (ulimit -t 60; exec "$GOALC" "$@"); }
(ulimit -f 0; trap '' XFSZ; goalc "$good" -o limited.bin 2>"$TMP/stderr")
check output.file_limit [ $? -eq 1 ]
only file_limit_files
status missing_input 1 none.goal -o new.bin
check output.missing_input_names_it grep -q 'none.goal: No such file' "$TMP/stderr"
status directory_input 1 . -o new.bin
status itself 0 "$good" -o /dev/stdout
cp "$good" self.goal
status over_itself 0 self.goal -o self.goal
only itself_files self.goal

# ---- options ----
status no_arguments 2
status no_output 2 "$good"
status two_inputs 2 "$good" "$bad" -o new.bin
status unknown_option 2 --nonsense "$good"
status unknown_short 2 -x "$good"
status missing_argument 2 "$good" -o
status bad_size 2 "$good" -o new.bin -n 0
status bad_size_word 2 "$good" -o new.bin -n many
status bad_size_large 2 "$good" -o new.bin -n 999999999999
status bad_define 2 "$good" -o new.bin -D count
status bad_define_value 2 "$good" -o new.bin -D count=x
status bad_define_name 2 "$good" -o new.bin -D =3
status bad_define_empty 2 "$good" -o new.bin -D a=1,,2
status bad_pass 2 "$good" -o new.bin -T nonsense
check output.bad_pass_text grep -qx 'goalc: there is no pass nonsense; it is one of hierarchy, .*' "$TMP/stderr"
status bad_pass_key 2 "$good" -o new.bin -T reduce-deps:x=1
check output.bad_pass_key_text grep -qx 'goalc: the pass reduce-deps has no key x' "$TMP/stderr"
status bad_pass_list 2 "$good" -o new.bin -T 'reduce-deps;'
check output.bad_pass_list_text grep -qx 'goalc: there is no pass ; it is one of hierarchy, .*' "$TMP/stderr"
status bad_check 2 "$good" -o new.bin -Wnonsense
status bad_check_off 2 "$good" -o new.bin -Wno-nonsense
status fixed_check 2 "$good" -o new.bin -Wno-syntax
status bad_emit 2 "$good" --emit=nonsense
status parametric_without_size 2 --stats "$ROOT/schedules/bcast_binomial.goal"
status help 0 --help
check output.help_text grep -q '^usage: goalc' "$TMP/stdout"
cp "$TMP/stdout" "$TMP/help"
status help_letter 0 -h
check output.help_same cmp -s "$TMP/stdout" "$TMP/help"
check output.help_explains grep -qE '^  --stats  +print numbers' "$TMP/help"
goalc --help >/dev/full 2>"$TMP/stderr"
check output.help_full [ $? -eq 1 ]
status version_letter 0 -V
check output.version_letter_text grep -q '^goalc [0-9]' "$TMP/stdout"
status version 0 --version
check output.version_text grep -q '^goalc [0-9]' "$TMP/stdout"
status list_checks 0 --list-checks
check output.list_checks_text grep -q '^deadlock ' "$TMP/stdout"
status list_passes 0 --list-passes
check output.list_passes_text grep -q '^reduce-deps ' "$TMP/stdout"
for what in goal dot json; do
	status "emit_$what" 0 --emit=$what "$good"
	cp "$TMP/stdout" "$TMP/printed"
	status "emit_${what}_file" 0 --emit=$what "$good" -o new.txt
	check "output.emit_${what}_same" cmp -s new.txt "$TMP/printed"
done
status emit_promela_unlowered 1 --emit=promela "$good"
check output.emit_promela_text grep -q 'error: the schedule has no command queues, .*: apply -T lower-smcq' "$TMP/stderr"
rm -f new.txt

# usage NAME TEXT ARGS... : refused, with the text
usage()
{
	local name=$1 text=$2

	shift 2
	status "$name" 2 "$@"
	check "output.${name}_text" grep -qF -- "$text" "$TMP/stderr"
}
usage two_actions '--dump does not go with --verify' --verify --dump "$good"
usage two_forms '--emit=dot does not go with --emit=goal' --emit=goal --emit=dot "$good"
usage two_modes '--model does not go with --select' --select MPI_Bcast --model split-tree --cores 4
usage two_lists '--list-checks does not go with --list-passes' --list-passes --list-checks
usage list_of_file '--list-passes takes no input file' --list-passes "$good"
usage table_alone '--table goes with --select' "$good" -o new.bin --table x
usage table_empty 'the argument of --table, FILE, cannot be empty' --select MPI_Bcast -n 2 --table ''
usage topology_alone '--topology goes with --select' "$good" -o new.bin --topology cart
usage cores_alone '--cores goes with --model' "$good" -o new.bin --cores 4
usage json_alone '--json goes with --stats, --verify, --select, --model, --list-passes or --list-checks' "$good" -o new.bin --json
usage select_pass '-T does not go with --select' --select MPI_Bcast -n 2 -T reduce-deps
usage select_output '-o does not go with --select' --select MPI_Bcast -n 2 -o new.bin
usage model_size '-n does not go with --model' --model split-tree --cores 4 -n 2
usage select_rank '-D bytes is one number' --select MPI_Bcast -n 2 -D bytes@0=1
usage select_commutative '-D commutative is 0 or 1' --select MPI_Bcast -n 2 -D commutative=2
usage select_debug '-g does not go with --select' --select MPI_Bcast -n 2 -g
usage select_check '-W does not go with --select' --select MPI_Bcast -n 2 -Wno-race
usage model_define '-D does not go with --model' --model split-tree --cores 4 -D a=1
usage no_such 'unknown option --nonsense' "$good" --nonsense=3 -o new.bin
usage no_such_letter 'unknown option -x' "$good" -gx -o new.bin
usage lacks_argument '-o needs an argument: FILE' "$good" -o
usage lacks_long '--table needs an argument: FILE' --select MPI_Bcast -n 2 --table
usage too_much '--json takes no argument' --stats --json=yes "$good"
usage several '--list may be --list-passes, --list-checks' --list
check output.usage_is_short [ "$(wc -l <"$TMP/stderr") $(tail -n 1 "$TMP/stderr")" = '2 try goalc --help' ]
usage key_twice 'the key size of the pass segment is given twice' "$good" -o new.bin -T segment:size=4,size=8
n=0
for s in '' 3- - -3 3-2 2,3 ' 3' +3 0x3 3x 99999999999999999999 1e1; do
	usage "size_$((++n))" "-n takes a number from 1 to 268435456, or a range A-B, not $s" --verify "$good" -n "$s"
done
for s in '' =1 a a=x a=1, a=,1 a=1,,2 a@=1 a@x=1 a@-1=1 a=99999999999999999999 'a= 1'; do
	usage "define_$((++n))" '-D takes name=value' "$good" -o new.bin -D "$s"
done
for s in '' ';' segment: segment:, 'segment:size=4;' segment:size=4, segment:size= segment:=4 segment:size=99999999999999999999; do
	usage "pass_$((++n))" 'pass' "$good" -o new.bin -T "$s"
done

# ---- JSON: one shape, whatever it is about ----

# values NAME WANT PATHS ARGS... : what goalc --json ARGS says, at some paths
values()
{
	local name=$1 want=$2 paths=$3 got

	shift 3
	goalc --json "$@" >"$TMP/stdout" 2>"$TMP/stderr"
	# shellcheck disable=SC2086
	got=$("$BUILD/tests/report" "$TMP/stdout" program $paths | tr '\n' '|')
	if [ "$got" = "goalc|$want|" ]; then ok "output.json_$name"; else fail "output.json_$name $got"; fi
}
binomial=$ROOT/schedules/bcast_binomial.goal
values stats "$good|1|1|0" 'schedule cases.# cases.0.ranks cases.0.sends' --stats "$good"
values verify 'true|3|3|true|MPI_Bcast|9' 'verified cases.# cases.1.ranks cases.1.verified collective proved' --verify -n 2-4 -D count=3 "$binomial"
values verify_excluded '2|true|null|false|assertions of the schedule' 'cases.# cases.0.verified cases.0.why cases.1.verified cases.1.why' \
	--verify -n 8-9 "$ROOT/schedules/bcast_trinaryx3.goal"
values verify_reproducible true reproducible --verify -n 3 "$ROOT/schedules/reduce_binomial.goal"
values verify_not_reproducible false reproducible --verify -n 3 "$ROOT/schedules/allreduce_ring.goal"
values verify_stdin '<stdin>|true' 'schedule verified' --verify - <"$good"
values verify_bad 'false|0' 'verified cases.#' --verify "$bad"
values verify_none 'false|0' 'verified cases.#' --verify none.goal
values select "$ROOT/schedules/bcast_linear.goal|1|MPI_Bcast|16|65536" \
	'schedule cases.# cases.0.collective cases.0.ranks cases.0.bytes' --select MPI_Bcast -n 16 -D bytes=64k
values list_checks "null|$(goalc --list-checks | sed 1d | wc -l)|syntax|error" 'schedule cases.# cases.0.name cases.0.plain' --list-checks
values list_passes "$(goalc --list-passes | grep -c '^[^ ]')|segment|local|size|null" 'cases.# cases.1.name cases.1.kind cases.1.keys.0.name cases.1.keys.0.default' --list-passes
values model 'null|5|2|4|constant|2' 'schedule cases.# cases.0.ranks cores shape best.#' --model split-tree --cores 4

# "-" is standard input and standard output.
status stdin 0 - -o new.bin <"$good"
check output.stdin_same cmp -s new.bin "$TMP/in/good.bin"
status stdout 0 - -o - <"$good"
check output.stdout_same cmp -s "$TMP/stdout" "$TMP/in/good.bin"
status stdin_binary 0 --dump - -o - <"$TMP/in/good.bin"
check output.stdin_binary_text grep -q calc "$TMP/stdout"
status stdin_bad 1 - -o - <"$bad"
check "output.stdin_bad_text $(head -n 1 "$TMP/stderr")" [ ! -s "$TMP/stdout" -a "$(grep -c '^<stdin>:3:6: error' "$TMP/stderr")" -eq 1 ]
status stdin_closed 1 - -o - <&-
status stdin_directory 1 - -o - <.
status verify_stdout 0 --verify - -o - <"$good"
check output.verify_stdout_apart [ "$(head -c 1 "$TMP/stdout" | od -An -tx1)$(grep -c proved "$TMP/stderr")" = ' 891' ]
timeout 20 script -qec "$GOALC $good -o -" /dev/null >"$TMP/stdout" </dev/null
check output.terminal [ $? -eq 2 ]
check output.terminal_text grep -q 'a binary is not for a terminal' "$TMP/stdout"
# A line about work that takes over a second is on terminals only, and is erased.
slow="(sleep 1.3; cat $good) | $GOALC - -o new.bin"
timeout 20 script -qec "$slow" /dev/null >"$TMP/stdout" </dev/null
check output.progress [ "$(tr '\r' '\n' <"$TMP/stdout" | grep -c '^goalc: <stdin>, 1 s')" -ge 1 ]
check output.progress_erased [ "$(tail -c 4 "$TMP/stdout" | od -An -c | tr -d ' ')" = '\r033[K' ]
timeout 20 bash -c "$slow" >"$TMP/stdout" 2>&1
check output.progress_pipe [ ! -s "$TMP/stdout" ]
timeout 20 script -qec "$GOALC $good -o new.bin" /dev/null >"$TMP/stdout" </dev/null
check output.progress_short [ ! -s "$TMP/stdout" ]
usage svg_stdout 'would both be on standard output' --model split-tree --cores 8 --svg -
status svg_alone 0 --model split-tree --cores 8 --svg - -o new.txt
check output.svg_alone_text grep -q '</svg>' "$TMP/stdout"
only dash_files new.bin new.txt

# The binary of LogGOPSim is read by goalsim (tests/goalsim/goalsim.sh).
printf 'num_ranks 1\nrank 0 {\nl1: calc 5 cpu 256\n}\n' >cpu256.goal
status loggopsim_cpu 1 --emit=loggopsim cpu256.goal
check output.loggopsim_cpu_text grep -q 'cpu 256' "$TMP/stderr"
rm cpu256.goal

# What is not there yet says so.
status later_svg 2 --svg x.svg "$good"
check output.later_svg_text grep -q 'not built yet' "$TMP/stderr"
only options_files
finish
