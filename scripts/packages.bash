# SPDX-License-Identifier: MIT
# For quickstart and check: Debian packages, installed only where they are missing.
build_packages=(autoconf automake pkg-config gcc g++ make libc6-dev libdw-dev libelf-dev libncurses-dev libzstd-dev zlib1g-dev
	libzydis-dev libipt-dev libjansson-dev libxxhash-dev libiberty-dev)
test_packages=(libcmocka-dev libdebuginfod1 dwz gdb tmux python3 python3-jsonschema binutils man-db musl-tools)
# What is recorded: small programs of tests/e2e/real_programs.py; with --full the large ones that are promised, too.
test_packages+=(bzip2 git less luajit libpython3.11-testsuite openssl perl sqlite3 xz-utils zstd)
ci_packages=(clang clang-format libbpf-dev libclang-rt-dev cppcheck)
full_packages=(bc jq gawk busybox libxml2-utils nodejs default-jdk-headless golang-go rustc cmake googletest dpkg-dev patch libpng-dev libxpm-dev debhelper debootstrap)

say() { printf '== %s\n' "$*"; }

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif [ -t 2 ] && [ -z "${CI:-}" ]; then
		sudo "$@" </dev/tty
	else
		sudo -n "$@"
	fi
}

# missing_packages NAME...: those of the names that are not installed, one a line.
missing_packages() {
	local name
	for name; do
		dpkg-query -W -f='${Status}\n' "$name" 2>/dev/null | grep -q '^install ok installed$' || echo "$name"
	done
}

install_packages() { as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"; }

# need_packages NAME...: installs what is missing and says so. Returns 1 when something is still missing: what needs it will say so.
need_packages() {
	local missing name
	if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
		say "not a Debian system: what Debian calls $* is taken to be there"
		return 0
	fi
	mapfile -t missing < <(missing_packages "$@")
	if [ "${#missing[@]}" -eq 0 ]; then
		say "all Debian packages are there"
		return 0
	fi
	if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
		say "cannot install packages: neither root nor sudo. Missing: ${missing[*]}"
		return 1
	fi
	say "installing Debian packages: ${missing[*]}"
	install_packages "${missing[@]}" && return 0
	say "updating the list of packages, then once more"
	as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q && install_packages "${missing[@]}" && return 0
	# One that cannot be had, as on another release, must not keep the others away.
	for name in "${missing[@]}"; do
		install_packages "$name"
	done
	mapfile -t missing < <(missing_packages "${missing[@]}")
	[ "${#missing[@]}" -gt 0 ] || return 0
	say "could not install: ${missing[*]}"
	return 1
}

# need_configure: makes configure where there is none or where what it is made from is newer.
need_configure() {
	local newer
	if [ -x configure ] && [ -f Makefile.in ]; then
		newer=$(find configure.ac Makefile.am ./*/local.mk -newer configure -print -quit 2>/dev/null)
		[ -z "$newer" ] && return 0
	fi
	say "autoreconf -i"
	autoreconf -i
}
