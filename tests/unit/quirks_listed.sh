#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# doc/QUIRKS.md has every QUIRK(id) of the code, and no other.
source "${BTREC_SRCDIR:?run by make check}/tests/sh.bash" || exit 99
cd "$BTREC_SRCDIR" || exit 99
grep -rhoE 'QUIRK\([a-z0-9-]+\)' lib format hardware_decoders import export collector decoder tui include | sed 's/QUIRK(\(.*\))/\1/' | sort -u >"$work/code"
sed -n 's/^| `\([a-z0-9-]*\)` |.*/\1/p' doc/QUIRKS.md | sort >"$work/page"
while read -r id; do fail "QUIRK($id) is in the code, not in doc/QUIRKS.md"; done < <(comm -23 "$work/code" "$work/page")
while read -r id; do fail "doc/QUIRKS.md has $id, the code has no QUIRK($id)"; done < <(comm -13 "$work/code" "$work/page")
echo "$(wc -l <"$work/code") quirks"
finish
