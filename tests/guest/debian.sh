#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# debian.sh SUITE DIR [COMMAND...]
# runs a command, "make deps check" if none is given, in a minimal root of a release of Debian, in a clone of HEAD. It needs
# root and mmdebstrap, and takes packages from the mirror that the host's apt uses.
#
# DIR keeps the root (git, gcc and make, and what the command installs) and the build for the next time. Processes, mounts, shared
# memory and queues are in namespaces of their own, so that nothing stays behind. As in any chroot, / is no mount point.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '3s/^# //p' "$0" >&2; exit 2; }
suite=$1 dir=$2
shift 2
[ $# -gt 0 ] || set -- make deps check
[ "$(id -u)" = 0 ] || { echo "debian.sh: chroot and mount need root" >&2; exit 1; }
command -v mmdebstrap >/dev/null || { echo "debian.sh: there is no mmdebstrap (apt-get install mmdebstrap)" >&2; exit 1; }
here=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
mkdir -p "$dir"
dir=$(readlink -f "$dir")
tree=$dir/system/srv/goalsched

# The host's lines of its own release, with the other suite; a host of another kind has none.
sources()
{
	local codename

	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
		sed -n "s/ $codename\(-[a-z]*\)\{0,1\} / $suite\1 /p" | sort -u
}

# A root that is there under its name is whole.
if [ ! -d "$dir/system" ]; then
	rm -rf "$dir/new"
	trap 'rm -rf "$dir/new"' EXIT
	apt-config dump | grep -iE '^Acquire::https?::Proxy' >"$dir/proxy" || true
	sources | mmdebstrap --quiet --mode=root --variant=apt --include=git,gcc,make,ca-certificates --aptopt="$dir/proxy" \
		"$suite" "$dir/new" -
	mv "$dir/new" "$dir/system"
	trap - EXIT
fi
cp -L /etc/resolv.conf "$dir/system/etc/resolv.conf"
# Launchers look up the name of the host, and wait for a server that does not know it.
echo "127.0.0.1 localhost $(uname -n)" >"$dir/system/etc/hosts"
[ -d "$tree" ] || git init -q "$tree"
git -C "$tree" fetch -q "$here" HEAD
git -C "$tree" checkout -qf --detach FETCH_HEAD
git -C "$tree" clean -fdq

# The first process waits for orphans; at its end the kernel kills all others.
# shellcheck disable=SC2016
exec unshare --mount --pid --ipc --fork --kill-child bash -euc '
	root=$1
	shift
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount --rbind /dev "$root/dev"
	mount -t tmpfs tmpfs "$root/dev/shm"
	mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
	exec chroot "$root" env -i HOME=/srv TERM="${TERM:-dumb}" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		LC_ALL=C.UTF-8 bash -c "cd /srv/goalsched; \"\$@\"; exit \$?" debian.sh "$@"
' debian.sh "$dir/system" "$@"
