#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# build.sh PACKAGE DIR : makes DIR/vmlinux and DIR/initrd for run.sh from Debian's kernel package, which is only unpacked.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
package=$(readlink -f "$1") dir=$(readlink -f "$2")
# rdma_rxe needs crc32_generic and does not say so: "rdma link add" would find no such file.
MODULES="virtio_pci virtio_net virtio_console 9p 9pnet_virtio overlay crc32_generic ib_uverbs rdma_rxe sch_netem"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
cd "$tmp"
# Modules are in /lib, or since Debian 13 in /usr/lib.
dpkg-deb --fsys-tarfile "$package" | tar x --wildcards './boot/vmlinuz*' '*/lib/modules/*/modules.*' \
	'*/lib/modules/*/kernel/drivers/infiniband/*' '*/lib/modules/*/kernel/drivers/virtio/*' \
	'*/lib/modules/*/kernel/drivers/net/*.ko*' '*/lib/modules/*/kernel/drivers/char/*.ko*' \
	'*/lib/modules/*/kernel/'{net,fs,lib,crypto}'/*'
[ -d lib ] || ln -s usr/lib lib
version=$(ls lib/modules)
depmod -b . "$version"

# A vmlinux is started as it is (PVH), where a bzImage would have to unpack itself first, in emulation. The places are
# those of Documentation/x86/boot.rst: setup_sects, payload_offset, payload_length, the last four bytes of which are a size.
number() { od -An -tu"$2" -j"$1" -N"$2" "boot/vmlinuz-$version" | tr -d ' '; }
begin=$((($(number 0x1f1 1) + 1) * 512 + $(number 0x248 4)))
dd if="boot/vmlinuz-$version" of=payload bs=1M iflag=skip_bytes,count_bytes skip=$begin count=$(($(number 0x24c 4) - 4)) status=none
case $(od -An -tx1 -N4 payload | tr -d ' ') in
fd377a58) xz -dc payload >vmlinux ;;
28b52ffd) zstd -dcq payload >vmlinux ;;
*) echo "$package: its kernel is compressed in a way that this script does not know" >&2; exit 1 ;;
esac

# Modules by the order in which they are loaded, without what only debuggers read.
mkdir -p root/{bin,modules,proc,dev,new,lower,writes}
cp /bin/busybox root/bin/busybox
install -m 755 "$here/init" "$here/node" root
n=100
for m in $MODULES; do modprobe -d . -S "$version" --show-depends "$m"; done |
	awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r file; do
	name=root/modules/$((n++)).ko
	case $file in *.xz) xz -dc "$file" ;; *.zst) zstd -dcq "$file" ;; *) cat "$file" ;; esac >$name
	strip --strip-debug -R .BTF $name
done
(cd root && find . | cpio -o -H newc -R 0:0 --quiet) >initrd
mv vmlinux initrd "$dir"
