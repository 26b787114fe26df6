#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# doc/: ARCHITECTURE.md can be read at once, links lead somewhere, all pages are distributed, and what pages name in
# backquotes (files, functions, structs, constants) is there.
source "${BTREC_SRCDIR:?run by make check}/tests/sh.bash" || exit 99
cd "$BTREC_SRCDIR" || exit 99
folders=(lib syscalls hardware_decoders format collector import export decoder tui commands include man completion tests bench scripts)

words=$(wc -w <doc/ARCHITECTURE.md)
expect "doc/ARCHITECTURE.md has $words words, at most 1500" test "$words" -le 1500

for page in ./*.md doc/*.md doc/*/*.md "${folders[@]/%//README.md}"; do
	[ -f "$page" ] || continue
	[[ $page == doc/* ]] && { grep -qwF "$page" doc/local.mk || fail "$page is not in doc/local.mk"; }
	while read -r link; do
		[ -e "${page%/*}/$link" ] || fail "$page: $link leads nowhere"
	done < <(grep -oE '\]\([^):# ]+' "$page" | cut -c3-)
done

# Pages that tell of the code.
pages=(doc/ARCHITECTURE.md doc/HOWTO.md doc/ROOMS.md doc/recording.md doc/turns.md doc/hardware.md doc/trace-reading.md doc/engine/*.md)
find "${folders[@]}" doc -type f | grep -vE '\.(o|trs|log)$' >"$work/files"
find "${folders[@]}" -name '*.[ch]' -exec cat {} + | grep -oE '[A-Za-z_][A-Za-z0-9_]*' | sort -u >"$work/names"
for page in "${pages[@]}"; do
	while read -r name; do
		case $name in
		*NAME* | *'*'* | *=* | *_) ;; # a pattern, a setting, a prefix
		*.[ch] | *.def | *.py | *.sh | *.bash | *.mk)
			grep -qE "(^|/)${name//./\\.}\$" "$work/files" || fail "$page: there is no file $name" ;;
		collector/replay/) ;; # still to come
		*/) grep -qE "(^|/)${name//./\\.}" "$work/files" || fail "$page: there is no folder $name" ;;
		*_* | *'()')
			name=${name%'()'}
			grep -Fxq "${name##*.}" "$work/names" || fail "$page: the code has no $name" ;;
		esac
	done < <(grep -oE '`((struct|enum) )?[^` ]+`' "$page" | tr -d '`' | sed 's/.* //' | sort -u)
done
finish
