#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every folder says what it is, its files, its invariants and what it must never do, in at most 600 words. Its table knows every source file and
# folder with some (headers that files of one module share have its name), and what a row begins with is there.
source "${BTREC_SRCDIR:?run by make check}/tests/sh.bash" || exit 99
cd "$BTREC_SRCDIR" || exit 99

# The names in backquotes of standard input, without what stands behind a space.
quoted() { grep -oE '`[^` ]+`' | tr -d '`'; }

# Whether one of these names, a pattern with or without its ending, is that of the file or folder $1.
named() {
	local file=$1 name
	shift
	for name; do
		# shellcheck disable=SC2053 # a pattern
		[[ $file == ${name%/} || ${file%.*} == $name ]] && return
	done
	return 1
}

folders="lib syscalls format hardware_decoders import export commands collector collector/tracee collector/space collector/history collector/task collector/backend collector/supervisor collector/record collector/replay collector/backend/step
collector/backend/engine collector/backend/engine/x86 collector/backend/engine/cache collector/backend/engine/translate collector/backend/engine/written_code
collector/backend/engine/persist collector/backend/pmu collector/doctor decoder decoder/model decoder/symbols decoder/values decoder/cause decoder/report tui tests bench"
while read -r folder; do
	[[ " ${folders//$'\n'/ } include examples " == *" $folder "* || $folder == tests/* ]] || fail "nobody looks at $folder/README.md"
done < <(printf '%s\n' */*.[ch] */*/*.[ch] */*/*/*.[ch] */*/*/*/*.[ch] | xargs -n1 dirname | grep -Ev '^(_?build|_inst|autom4te)' | sort -u)
for folder in $folders; do
	if [ ! -f "$folder/README.md" ]; then
		fail "$folder/README.md is missing"
		continue
	fi
	words=$(wc -w <"$folder/README.md")
	expect "$folder/README.md has $words words, at most 600" test "$words" -le 600
	mapfile -t names < <(grep '^|' "$folder/README.md" | quoted)
	while read -r file; do
		[[ $file == *'*'* || $file == *_private.h ]] || named "$file" "${names[@]}" || fail "$folder/README.md: its table lacks $file"
	done < <(cd "$folder" && printf '%s\n' *.[ch] *.def *.py *.bash */*.[ch] | cut -d/ -f1 | sort -u)
	mapfile -t names < <(grep '^|' "$folder/README.md" | cut -d'|' -f2 | quoted)
	for name in "${names[@]}"; do
		compgen -G "$folder/$name" >/dev/null || compgen -G "$folder/$name.[ch]" >/dev/null || fail "$folder/README.md: there is no $name"
	done
done
finish
