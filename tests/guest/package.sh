#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the Debian packages of HEAD, inspects them, and installs, tests and removes them. It runs as root in a Debian that may be
# changed: `make check-package` starts it in roots made by debian.sh. There it leaves the packages in /var/tmp/package.
#
# One line a step, `ok NAME` or `FAIL NAME why`; what a step printed is in /var/tmp/package/NAME.log.
set -u
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
cd "$(dirname "$0")/../.." || exit 1
dir=/var/tmp/package
release=debian$(. /etc/os-release && echo "$VERSION_ID")
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)
failed=0
rm -rf "$dir" && mkdir -p "$dir/goalsched-$version" && git archive HEAD | tar -x -C "$dir/goalsched-$version" || exit 1

# step NAME COMMAND...
step()
{
	local name=$1

	shift
	if ("$@") >"$dir/$name.log" 2>&1 </dev/null; then echo "ok package.$release.$name"; return; fi
	echo "FAIL package.$release.$name $(tail -n 3 "$dir/$name.log" | tr '\n' '|')"
	failed=1
	case $name in deps | build | install) exit 1 ;; esac # the others need it
}

deps()
{
	apt-get -q update && apt-get -qy install --no-install-recommends build-essential lintian autopkgtest &&
		apt-get -qy build-dep "$dir/goalsched-$version"
}
build() { cd "$dir/goalsched-$version" && dpkg-buildpackage -us -uc; }
# The lintian of an older release does not know the newest policy. Lines with N: are notes about lintian itself.
lint()
{
	lintian --pedantic -I --suppress-tags newer-standards-version "$dir"/*.changes | tee "$dir/lintian"
	! grep -v '^N:' "$dir/lintian"
}
files() { for deb in "$dir"/*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -t | sed -n 's,^\./\(.*[^/]\)$,\1,p'; done | sort -u; }
# The names of all files of the release, with their packages: the lists beside those of packages. apt-file would refuse a list
# that a mirror has renewed, or not yet renewed.
contents()
{
	local list

	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sort -u |
		sed 's,\(.*\) \(.*\) \(.*\),\1dists/\2/\3/Contents,' | while read -r list; do
		for arch in "$(dpkg --print-architecture)" all; do
			/usr/lib/apt/apt-helper -o APT::Sandbox::User=root download-file "$list-$arch.gz" "$dir/list.gz" >&2 && zcat "$dir/list.gz"
			rm -f "$dir/list.gz"
		done
	done
}
# No other package of the release has a file of ours, be / and /usr one or two. Both lists are there if a file of dpkg is found,
# and one of manpages, which is for all architectures.
names()
{
	files >"$dir/files"
	contents | awk '{ name = $1; sub(/^usr\//, "") }
		FNR == NR { is[$0] = 1; next }
		$1 == "bin/dpkg" || $1 == "share/man/man7/sched.7.gz" { seen++ }
		$1 in is && $2 !~ /(lib)?goalsched(0|-dev|-mpi)?$/ { print "/" name " is in " $2; bad = 1 }
		END { if (seen < 2) print "lists are missing"; exit bad || seen < 2 }' "$dir/files" -
}
install_all()
{
	apt-get -qy install --no-install-recommends "$dir"/{goalsched,goalsched-mpi,libgoalsched*}_*.deb &&
		goalrun --version && goalmpi-run --help
}
run_tests()
{
	autopkgtest --no-built-binaries "$dir/goalsched_$version.dsc" "$dir"/{goalsched,goalsched-mpi,libgoalsched*}_*.deb -- null
}
remove()
{
	apt-get -qy purge goalsched goalsched-mpi libgoalsched0 libgoalsched-dev && ! ldconfig -p | grep goalsched &&
		! (cd / && xargs -d '\n' ls -d) <"$dir/files" 2>/dev/null | grep .
}

step deps deps
step build build
step lintian lint
step names names
step install install_all
step autopkgtest run_tests
step remove remove
exit $failed
