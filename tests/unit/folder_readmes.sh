#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every folder says what it is, its files, its invariants and what it must never do, in at most 40 lines.
source "${BTREC_SRCDIR:?run by make check}/tests/sh.bash" || exit 99
cd "$BTREC_SRCDIR" || exit 99
for folder in lib format hardware import collector collector/doctor collector/engine collector/pmu decoder tui tests bench; do
	if [ ! -f "$folder/README.md" ]; then
		fail "$folder/README.md is missing"
		continue
	fi
	lines=$(wc -l <"$folder/README.md")
	expect "$folder/README.md has $lines lines, at most 40" test "$lines" -le 40
done
finish
