#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Dependencies point one way: lib <- syscalls <- { collector, decoder }, lib <- format <- { import, collector, decoder }, lib <- hardware <-
# { import, collector }, tui -> decoder; commands may include all but the viewer. What a folder may include of ours is in the table.
source "${BTREC_SRCDIR:?run by make check}/tests/sh.bash" || exit 99
cd "$BTREC_SRCDIR" || exit 99

allowed() {
	case $1 in
	lib) echo "lib include" ;;
	syscalls) echo "lib syscalls" ;;
	format) echo "lib format" ;;
	hardware) echo "lib hardware" ;;
	import) echo "lib format hardware import" ;;
	collector) echo "lib syscalls format hardware collector include" ;;
	decoder) echo "lib syscalls format decoder" ;;
	commands) echo "lib syscalls format hardware import collector decoder commands include" ;;
	tui) echo "lib syscalls format decoder tui" ;;
	esac
}

for folder in lib syscalls format hardware import collector decoder tui commands; do
	while IFS=: read -r file line text; do
		into=${text#*\"}
		into=${into%%/*}
		case $into in lib | syscalls | format | hardware | import | collector | decoder | tui | commands | include) ;; *) continue ;; esac
		case " $(allowed "$folder") " in *" $into "*) continue ;; esac
		fail "$file:$line includes $into/: $text"
	done < <(find "$folder" -name '*.[ch]' -o -name '*.def' | sort | xargs -r grep -nH '^[[:space:]]*#[[:space:]]*include[[:space:]]*"')
done
while read -r folder; do
	[[ " include tests bench examples " == *" $folder "* || -n $(allowed "$folder") ]] || fail "the table lacks $folder"
done < <(printf '%s\n' */*.[ch] */*/*.[ch] | cut -d/ -f1 | grep -Ev '^(_?build|_inst|autom4te)' | sort -u)
finish
