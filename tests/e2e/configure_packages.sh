#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Each library that is missing stops configure with the name of its Debian package, and the scripts install every package so named.
source "${BTREC_SRCDIR:?run by make check}/tests/sh.bash" || exit 99
source "$BTREC_SRCDIR/scripts/packages.bash" || exit 99
[ -x "$BTREC_SRCDIR/configure" ] || { echo "no configure in $BTREC_SRCDIR"; exit 99; }
unset CFLAGS CPPFLAGS CXXFLAGS LDFLAGS CONFIG_SITE

# What pkg-config finds here, to be searched less one.
mkdir "$work/pc" "$work/build"
IFS=: read -ra folders <<<"${PKG_CONFIG_LIBDIR:-$(pkg-config --variable pc_path pkg-config)}:${PKG_CONFIG_PATH-}"
for folder in "${folders[@]}"; do
	[ -n "$folder" ] && cp -n "$folder"/*.pc "$work/pc" 2>/dev/null
done
unset PKG_CONFIG_PATH
export PKG_CONFIG_LIBDIR=$work/pc

# configure_with ARGUMENT...: in an empty directory, with what the first run found out of compiler and C library.
configure_with() {
	rm -rf "$work/build"
	mkdir "$work/build"
	[ ! -f "$work/known" ] || cp "$work/known" "$work/cache"
	(cd "$work/build" && "$BTREC_SRCDIR/configure" -q --cache-file="$work/cache" "$@" >"$work/out" 2>&1)
}

expect "with everything there configure succeeds" configure_with
cat "$work/out"
grep -Ev 'pkg_cv_|Zydis|ipt|intel_pt|supc|iberty|prog_CXX|PKG_CONFIG' "$work/cache" >"$work/known"

# stops WHAT PACKAGE ARGUMENT...
stops() {
	local what=$1 package=$2
	shift 2
	if configure_with "$@"; then
		fail "configure succeeded without $what"
	else
		expect "$what is missing: $(cat "$work/out")" \
			grep -Fxq "configure: error: $what is missing: install the Debian package $package" "$work/out"
	fi
	[[ " ${build_packages[*]} " == *" $package "* ]] || fail "scripts/packages.bash does not install $package"
}

# without MODULE PACKAGE
without() {
	mv "$work/pc/$1.pc" "$work/hidden.pc" || fail "no $1.pc here"
	stops "$@"
	mv "$work/hidden.pc" "$work/pc/$1.pc"
}

without zlib zlib1g-dev
without libzstd libzstd-dev
without libelf libelf-dev
without libdw libdw-dev
without ncursesw libncurses-dev
without jansson libjansson-dev
without libxxhash libxxhash-dev
stops Zydis libzydis-dev ac_cv_header_Zydis_Zydis_h=no
stops libZydis libzydis-dev ac_cv_lib_Zydis_ZydisDecoderInit=no
stops intel-pt.h libipt-dev ac_cv_header_intel_pt_h=no
stops libipt libipt-dev ac_cv_lib_ipt_pt_insn_event=no
stops libsupc++ g++ ac_cv_lib_supcpp___cxa_demangle=no
stops libiberty/demangle.h libiberty-dev ac_cv_header_libiberty_demangle_h=no
stops libiberty libiberty-dev ac_cv_lib_iberty_rust_demangle_callback=no
stops pkg-config pkg-config PKG_CONFIG=/nonexistent
named=$(sed -n 's/.*BTREC_NEEDS(\[[^]]*\], \[[^]]*\], \[\([a-z0-9-]*\)\]).*/\1/p' "$BTREC_SRCDIR/configure.ac" | wc -l)
expect "every library that configure.ac asks for was tried" [ "$named" -eq 7 ]

# Without cmocka it goes on; make check says what did not run.
mv "$work/pc/cmocka.pc" "$work/hidden.pc"
expect "cmocka is for the tests only" configure_with
expect_text "$work/build/Makefile" '^am__append_[0-9]+ = tests/unit/cmocka_missing.sh'
finish
