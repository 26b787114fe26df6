#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# debian_package.bash [WORKDIR]: builds the package of the commit that is checked out, installs it in a fresh root (debootstrap), runs
# examples/ci.sh there on a program that crashes and one that does not, and removes the package again. As root, with the network. Ends
# with 77 where a tool is missing.
cd "$(dirname "$0")/.." || exit 99
for tool in debootstrap dpkg-buildpackage dh unshare git; do
	command -v "$tool" >/dev/null || { echo "skipped: $tool is missing (Debian packages debootstrap, dpkg-dev, debhelper, util-linux, git)"; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root"; exit 77; }
work=${1:-$(mktemp -d)} failures=0
mkdir -p "$work" || exit 99
work=$(cd "$work" && pwd)
[ $# -gt 0 ] || trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root

expect() {
	local what=$1
	shift
	if "$@"; then echo "ok: $what"; else
		echo "FAIL: $what"
		failures=$((failures + 1))
	fi
}
# In the root, with a /proc of its own and as its first process.
inside() { unshare --fork --pid --mount --mount-proc --root="$root" --wd=/ env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root XDG_CACHE_HOME=/tmp/cache TERM=dumb "$@"; }
apt() { inside env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" >>"$work/apt.log" 2>&1; }
# Files, but for what apt and dpkg note for themselves, and caches of ld.so.
files() { (cd "$root" && find . -xdev \( -path ./proc -o -path ./tmp -o -path ./var -o -path ./etc/ld.so.cache \) -prune -o -print | sort); }

[ -d "$root" ] || debootstrap --variant=minbase bookworm "$root" >"$work/debootstrap.log" 2>&1 ||
	{ echo "skipped: no fresh root: $(tail -n 1 "$work/debootstrap.log")"; exit 77; }
[ ! -f /etc/resolv.conf ] || cp /etc/resolv.conf "$root/etc/"
cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"

if ! ls "$work"/btrec_*_amd64.deb >/dev/null 2>&1; then
	rm -rf "$work/source"
	git clone -q . "$work/source" && (cd "$work/source" && dpkg-buildpackage -b -us -uc -Pnobpf -j"$(nproc)") >"$work/build.log" 2>&1
	expect "the package is built" test $? -eq 0
fi
cp "$work"/btrec_*_amd64.deb "$root/tmp/" || exit 1
apt update
mapfile -t needed < <(dpkg-deb -f "$root"/tmp/btrec_*_amd64.deb Depends | sed 's/([^)]*)//g' | tr -d ' ' | tr ',' '\n')
apt install --no-install-recommends "${needed[@]}"
files >"$work/before"
apt install --no-install-recommends "/tmp/$(basename "$root"/tmp/btrec_*_amd64.deb)"
expect "it is installed" test -x "$root/usr/bin/btrec"
expect "btrec runs" inside btrec --version
expect "btview runs" inside btview --version

mkdir -p "$root/tmp/ci/examples"
cp examples/stale.c examples/ci.sh "$root/tmp/ci/examples/"
(cd "$root/tmp/ci" && gcc -g -O1 -static -ffile-prefix-map="$root"= -o stale examples/stale.c && printf 'int main(void) { return 0; }\n' | gcc -static -o good -xc -)
inside sh -c 'cd /tmp/ci && sh examples/ci.sh ./good' >"$work/good.out" 2>&1
expect "tests that pass end well, and leave nothing" test $? -eq 0 -a ! -s "$work/good.out" -a ! -e "$root/tmp/ci/btrec-trace"
inside sh -c 'cd /tmp/ci && sh examples/ci.sh ./stale' >"$work/stale.out" 2>&1
expect "a crash ends as a crash" test $? -eq 139
expect "its line is annotated" grep -q '^::error file=examples/stale.c,line=67,' "$work/stale.out"
expect "its first screen is printed" grep -q '^  read from 0x7d7 through ' "$work/stale.out"
expect "its trace is kept" test -d "$root/tmp/ci/btrec-trace"

rm -rf "$root/tmp/ci" "$root/tmp/cache"
apt purge btrec
expect "it is removed" test ! -e "$root/usr/bin/btrec"
files >"$work/after"
expect "nothing of it is left" diff "$work/before" "$work/after"
exit $((failures > 0))
