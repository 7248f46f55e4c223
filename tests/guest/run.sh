#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# run.sh [-n NODES] [-d DEVICES] [-c CPUS] [-m MIB] [-t SECONDS] [-s DIR] [-p] COMMAND [ARGUMENT...]
# runs COMMAND as root in one guest, or in each of two guests that are joined by a wire. A guest is an emulated machine with
# Debian's kernel and a Soft-RoCE device rxe0 on eth0. Its address is 10.77.0.1 on node 0 and 10.77.0.2 on node 1 ("ssh node1").
# With more DEVICES there are rxe1 on eth1 (10.77.1.1 and 10.77.1.2) and so on, with a wire each. A guest unplugs its end of the
# first wire by "echo set_link net0 off >$GUEST_MONITOR", a command to its emulator.
#
# A guest sees the files of the host, in this directory. Files that it writes are lost when it ends, except in GUEST_SHARED,
# which is DIR and the same in both guests. COMMAND also gets GUEST_NODE, GUEST_NODES, GUEST_IP, and GUEST_PEER, the address of
# the other guest. Its stdout and stderr are passed on at once; with two nodes each line begins with "NODE: ".
#
# The exit status is that of COMMAND on the first node where it is not 0. It is 125 if a guest died, whose console is then
# shown, or could not be started, and 124 if a guest still ran after SECONDS. The guests end with this script.
# A guest that is meant to die first writes its exit status to GUEST_SHARED/.run/status.NODE.
#
# With -p each CPU of a guest is pinned to a CPU of this machine. Otherwise two of them that poll for each other may share a CPU;
# then each waits for the other's time slice to end, and the scheduler of a busy machine does not separate them.
# One in some hundred emulated machines never starts. If the start takes more than GUEST_PATIENCE seconds, all guests are started
# again, at most twice; COMMAND has not run by then.
set -u
patience=${GUEST_PATIENCE:-90}
try=${GUEST_TRY:-1}
args=("$@")
here=$(dirname "$(readlink -f "$0")")
images=$here/../../build/guest
nodes=1 devices=1 cpus='' mib=512 limit=120 shared='' pinned=''
while getopts n:d:c:m:t:s:p o; do
	case $o in n) nodes=$OPTARG ;; d) devices=$OPTARG ;; c) cpus=$OPTARG ;; m) mib=$OPTARG ;; t) limit=$OPTARG ;; s) shared=$OPTARG ;; p) pinned=1 ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
{ [ $# -gt 0 ] && [[ $nodes = [12] ]]; } || { sed -n '3,4s/^# //p' "$0" >&2; exit 2; }
# Where two processes poll on one CPU, each waits for the other's time slice.
cpus=${cpus:-$((nodes == 1 ? 2 : 1))}

why() { echo "guest: $*" >&2; exit 125; }
[ "$(uname -m)" = x86_64 ] || why "this is $(uname -m), and guests are for x86_64"
command -v qemu-system-x86_64 >/dev/null || why "there is no qemu-system-x86_64 (make deps check)"
fresh() { local f; for f in build.sh init node; do [ "$images/initrd" -nt "$here/$f" ] || return; done; }
mkdir -p "$images"
fresh || made=$(flock "$images" make -s -C "$here/../.." guest 2>&1) || why "its kernel cannot be made: $made"

tmp=$(mktemp -d) || exit 125
children=()
trap 'kill -KILL "${children[@]}" 2>/dev/null; wait; rm -rf "$tmp"' EXIT
trap 'exit 125' HUP INT TERM
shared=${shared:-$tmp/shared}
run=$shared/.run
rm -rf "$run" && mkdir -p "$run" || exit 125
[ "$nodes" = 1 ] || ssh-keygen -q -t ed25519 -N '' -f "$run/key" || exit 125
{ printf 'cd %q && exec' "$PWD"; printf ' %q' "$@"; } >"$run/command"

# reader NODE PORT : the other end of a port of the guest
reader()
{
	if [ "$nodes" = 1 ]; then exec cat "$tmp/$2.$1"; else exec sed -u "s/^/$1: /" "$tmp/$2.$1"; fi
}
# What is started dies with this script, however that ends.
start() { setpriv --pdeathsig KILL timeout --foreground "$limit" setpriv --pdeathsig KILL "$@" & children+=($!); }
# pin PID : the CPUs of the guest that PID has started
pin()
{
	local try qemu='' task on n=0

	mapfile -t on < <(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }')
	for ((try = 0; try < 100; try++)); do
		qemu=$(pgrep -P "$1") && [ "$(grep -ls '^CPU ' /proc/"$qemu"/task/*/comm | wc -l)" = "$cpus" ] && break
		sleep 0.05
	done
	for task in $(grep -ls '^CPU ' /proc/"$qemu"/task/*/comm); do
		task=${task%/comm}
		taskset -pc "${on[n++ % ${#on[@]}]}" "${task##*/}" >/dev/null
	done
}
# guest NODE
guest()
{
	local i=$1 d wire nets=()

	for ((d = 0; d < devices; d++)); do
		wire=user,id=net$d,restrict=on
		[ "$nodes" = 1 ] ||
			wire=dgram,id=net$d,local.type=unix,local.path=$tmp/wire$d.$i,remote.type=unix,remote.path=$tmp/wire$d.$((1 - i))
		nets+=(-netdev "$wire" -device "virtio-net-pci,netdev=net$d,host_mtu=9000,mac=52:54:00:77:0$d:0$i,romfile=")
	done
	start qemu-system-x86_64 -name guest,debug-threads=on -nodefaults -no-user-config -display none -no-reboot \
		-M q35,sata=off,smbus=off,usb=off,i8042=off -accel tcg,thread=multi -cpu max -smp "$cpus" -m "$mib" \
		-kernel "$images/vmlinux" -initrd "$images/initrd" \
		-append "console=ttyS0 quiet panic=-1 mitigations=off cryptomgr.notests audit=0 apparmor=0 tsc=reliable no_timer_check GUEST_NODE=$i GUEST_NODES=$nodes GUEST_DEVICES=$devices GUEST_MTU=4200" \
		-serial "file:$tmp/console.$i" \
		-fsdev local,id=root,path=/,security_model=none,readonly=on,multidevs=remap -device virtio-9p-pci,fsdev=root,mount_tag=root \
		-fsdev local,id=shared,path="$shared",security_model=none -device virtio-9p-pci,fsdev=shared,mount_tag=shared \
		"${nets[@]}" \
		-device virtio-serial-pci \
		-chardev file,id=out,path="$tmp/out.$i" -device virtserialport,chardev=out,nr=1 \
		-chardev file,id=err,path="$tmp/err.$i" -device virtserialport,chardev=err,nr=2 \
		-chardev socket,id=monitor,path="$tmp/monitor.$i",server=on,wait=off -mon monitor \
		-chardev socket,id=own,path="$tmp/monitor.$i" -device virtserialport,chardev=own,nr=3 \
		</dev/null >"$tmp/qemu.$i" 2>&1
	[ -z "$pinned" ] || pin "${children[-1]}"
}

for ((i = 0; i < nodes; i++)); do
	mkfifo "$tmp/out.$i" "$tmp/err.$i" || exit 125
	reader $i out & children+=($!) readers[i * 2]=$!
	reader $i err >&2 & children+=($!) readers[i * 2 + 1]=$!
	guest $i
	guests[i]=${children[-1]}
done

up() { local i; for ((i = 0; i < nodes; i++)); do [ -e "$run/up.$i" ] || return; done; }
# Ends all of them if they are not up in time.
watch()
{
	local n

	for ((n = 0; n < patience; n++)); do
		sleep 1
		! up && kill -0 $$ 2>/dev/null || return
	done
	: >"$tmp/stuck"
	kill "${guests[@]}"
}
watch & children+=($!)

# Whoever ends without having said how gets the status of its emulator; the other node does not wait for it then.
for ((left = nodes; left > 0; left--)); do
	wait -n -p ended "${guests[@]}"
	rc=$?
	for ((i = 0; i < nodes; i++)); do
		[ "${guests[i]:-}" = "$ended" ] || continue
		unset "guests[i]"
		[ ! -s "$run/status.$i" ] || continue
		[ ! -e "$tmp/stuck" ] || rc=125
		if [ $rc = 124 ]; then echo "guest: node $i is not done after $limit s; its console:"
		else echo "guest: node $i died; its console:"; fi >&2
		cat "$tmp/qemu.$i" >&2
		tail -n 100 "$tmp/console.$i" >&2
		echo $((rc == 124 ? 124 : 125)) >"$run/status.$i"
	done
done
# An emulator that did not come as far as to open them leaves them without another end.
for ((i = 0; i < nodes; i++)); do [ -s "$tmp/console.$i" ] || [ ! -s "$tmp/qemu.$i" ] || kill "${readers[i * 2]}" "${readers[i * 2 + 1]}" 2>/dev/null; done
wait "${readers[@]}"
if [ -e "$tmp/stuck" ] && [ "$try" -lt 3 ]; then
	trap - EXIT
	kill -KILL "${children[@]}" 2>/dev/null
	wait
	rm -rf "$tmp"
	GUEST_TRY=$((try + 1)) exec bash "$0" "${args[@]}"
fi
for ((i = 0; i < nodes; i++)); do
	read -r rc <"$run/status.$i"
	[ "$rc" = 0 ] || exit "$rc"
done
