#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# doc/FORMAT.md against the code: its worked example is what the real encoders make and the real reader says, and it
# has every record with its fields in their order, every kind of branch entry, every reason of a gap, every file header
# constant.
source "${BTREC_SRCDIR:?run by make check}/tests/sh.bash" || exit 99
document=$BTREC_SRCDIR/doc/FORMAT.md
program=$BTREC_BUILDDIR/tests/unit/format_example

awk '/^```example/ {on = 1; next} /^```/ {on = 0} on' "$document" >"$work/document"
"$program" >"$work/program" || exit 99
if diff -u "$work/document" "$work/program"; then
	echo "ok: the example"
else
	fail "the example of doc/FORMAT.md (-) is not what the code makes (+)"
fi

"$program" layouts >"$work/layouts" || exit 99
while read -r layout; do
	grep -Fxq "\`$layout\`" "$document" || fail "doc/FORMAT.md lacks the line: \`$layout\`"
done <"$work/layouts"
sed -n 's/^BT_BRANCH([A-Z_]*, *"\([^"]*\)".*/\1/p' "$BTREC_SRCDIR/lib/branch.def" | {
	i=0
	while read -r name; do
		grep -Eq "^\| $i \| $name \|" "$document" || echo "entry kind $i $name"
		i=$((i + 1))
	done
} >"$work/missing"
sed -n 's/^BT_GAP([A-Z_0-9]*, *"\([^"]*\)".*/\1/p' "$BTREC_SRCDIR/lib/gap.def" | {
	i=0
	while read -r name; do
		grep -Eq "^\| $i \| $name \|" "$document" || echo "gap reason $i $name"
		i=$((i + 1))
	done
} >>"$work/missing"
for of in BRANCH GAP; do
	file=$BTREC_SRCDIR/lib/${of,,}.def
	expect "every BT_$of was read" test "$(sed -n "s/^BT_$of([A-Z_0-9]*, *\"[^\"]*\".*/x/p" "$file" | wc -l)" -eq "$(grep -c "^BT_$of(" "$file")"
done
while read -r what; do fail "doc/FORMAT.md lacks the row of $what"; done <"$work/missing"
expect "record kinds were compared" test "$(wc -l <"$work/layouts")" -ge 20
finish
