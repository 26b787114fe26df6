#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Each room links with the rooms below it alone: what its objects use of ours is defined there (rooms.bash). The system's libraries are
# everybody's.
source "${BTREC_SRCDIR:?run by make check}/tests/sh.bash" || exit 99
source "$BTREC_SRCDIR/tests/unit/rooms.bash" || exit 99
cd "${abs_top_builddir:?}" || exit 99

# symbols ROOM OPTION: "symbol room" of each that its objects define (--defined-only) or want (--undefined-only).
symbols() {
	compgen -G "$1/*.o" >/dev/null || return 0
	nm --extern-only --format=just-symbols "$2" "$1"/*.o 2>/dev/null | grep -E '^[A-Za-z_.]+[A-Za-z0-9_.]*$' | sort -u | sed "s|\$| $1|"
}

for room in "${!rooms[@]}"; do symbols "$room" --defined-only; done | grep -vE '^(main|__asan|__ubsan|__odr_asan)' | sort >"$work/defined"
expect "objects define symbols" test -s "$work/defined"
for room in "${!rooms[@]}"; do
	symbols "$room" --undefined-only | sort >"$work/wanted"
	while read -r symbol _ where; do
		[[ " ${rooms[$room]} " == *" $where "* ]] || fail "$room uses $symbol() of $where"
	done < <(join "$work/wanted" "$work/defined")
done
finish
