#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# key_manual.bash [--check]: writes the keys of btview's viewer, from tui/keys.def, into man/btview.1 between its two marks.
# --check: only compares, with status 1 where they differ.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
manual=$root/man/btview.1
work=$(mktemp)
trap 'rm -f "$work"' EXIT

# "j Down", "one line down" -> .TP .BR j ", " Down / One line down. What a key does in some views alone has their names behind it.
keys() {
	sed -n 's/^BT_KEY([A-Z_]*, *\([A-Z_() |]*\), *"\([^"]*\)", *"\([^"]*\)").*/\2\t\3\t\1/p' "$root/tui/keys.def" |
		awk -F'\t' 'function views_of(set) {
			if (set == "VIEWS_ALL") return ""
			if (set == "VIEWS_PATH") return " (branches, and the code beside them)"
			gsub(/VIEW_BIT\(|\)/, "", set)
			gsub(/ *\| */, ", ", set)
			sub(/TREE/, "CALLS", set)
			return " (" tolower(set) ")"
		}
		{
			n = split($1, names, " ")
			line = ""
			for (i = 1; i <= n; i++) {
				name = names[i]
				gsub(/\\/, "\\e", name)
				gsub(/-/, "\\-", name)
				gsub(/\^/, "\\(ha", name)
				gsub(/'\''/, "\\(aq", name)
				line = line (i > 1 ? " \", \" " : "") "\"" name "\""
			}
			help = toupper(substr($2, 1, 1)) substr($2, 2)
			gsub(/'\''/, "\\(aq", help)
			printf ".TP\n.BR %s\n%s%s.\n", line, help, views_of($3)
		}'
}

awk -v keys="$(keys | sed 's/\\/\\\\/g')" '
	/^\.\\" keys: / { print; print keys; skipped = 1; next }
	/^\.\\" end of keys/ { skipped = 0 }
	!skipped { print }
' "$manual" >"$work"
if [ "${1-}" = --check ]; then
	diff -u "$manual" "$work" || { echo "man/btview.1 lacks what tui/keys.def has: scripts/key_manual.bash writes it"; exit 1; }
else
	cat "$work" >"$manual"
fi
