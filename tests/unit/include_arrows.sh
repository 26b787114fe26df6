#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Dependencies point one way: a file includes of ours only what the table of rooms (rooms.bash) lets its room take from.
source "${BTREC_SRCDIR:?run by make check}/tests/sh.bash" || exit 99
source "$BTREC_SRCDIR/tests/unit/rooms.bash" || exit 99
cd "$BTREC_SRCDIR" || exit 99

while IFS=: read -r file line text; do
	room=${file%/*}
	into=${text#*\"}
	into=${into%%\"*}
	into=${into%/*}
	[[ -d $into ]] || continue # config.h
	[[ " ${rooms[$room]} " == *" $into "* ]] || fail "$file:$line: $room includes $into/: $text"
done < <(find "${!rooms[@]}" -maxdepth 1 '(' -name '*.[ch]' -o -name '*.def' ')' | sort | xargs -r grep -nH '^[[:space:]]*#[[:space:]]*include[[:space:]]*"')
while read -r folder; do
	[[ " include examples " == *" $folder "* || $folder == tests* || $folder == bench || -n ${rooms[$folder]-} ]] || fail "the table lacks $folder"
done < <(git ls-files '*.c' '*.h' 2>/dev/null | xargs -n1 dirname | sort -u)
finish
