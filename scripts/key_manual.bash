#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# key_manual.bash [--check]: writes the keys of btview's viewer, from tui/keys.def, into man/btview.1 between its two marks.
# --check: only compares, with status 1 where they differ.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
manual=$root/man/btview.1
work=$(mktemp)
trap 'rm -f "$work"' EXIT

# "j Down", "one line down" -> .TP .BR j ", " Down / One line down.
keys() {
	sed -n 's/^BT_KEY([A-Z_]*, *[A-Z_() |]*, *"\([^"]*\)", *"\([^"]*\)").*/\1\t\2/p' "$root/tui/keys.def" |
		awk -F'\t' '{
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
			printf ".TP\n.BR %s\n%s.\n", line, help
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
