#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# format.bash [--check]: brings all C code into the form of .clang-format; with --check only says which files are not in it, and ends with 1.
# The forms that different versions of clang-format make differ: Debian 12's counts.
cd "$(dirname "$0")/.." || exit 99
mapfile -t files < <(git ls-files '*.c' '*.h' 2>/dev/null || find . -name '*.[ch]' -not -path './build*')
if [ "${1-}" = --check ]; then
	printf '%s\0' "${files[@]}" | xargs -0 clang-format --dry-run --Werror 2>&1 | sed -n 's/^\([^:]*\):.*should be clang-formatted.*/\1/p' |
		sort -u | sed 's/$/: not in the form of .clang-format (scripts\/format.bash brings it there)/' | grep . && exit 1
	exit 0
fi
printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 40 clang-format -i
