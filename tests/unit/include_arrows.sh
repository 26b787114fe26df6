#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Dependencies point one way: lib <- syscalls <- { collector, decoder }, lib <- format <- { import, collector, decoder }, lib <- hardware <-
# { import, collector }, tui -> decoder; commands may include all but the viewer. What a folder may include of ours is in the table. What runs programs
# knows no format.
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

# What runs programs - spaces, backends, tasks - knows no trace: it tells an observer (collector/observer.h). Nothing there includes anything of
# format/, nor what does. Of the collector only these may: the record session, and the program btrec.
records="recorder* record_observer* snapshot* missed_stop_points* control* front* btrec_*"

# included FILE: what it includes of ours, one a line.
included() { sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"([^"]*)".*/\1/p' "$1"; }

keeps_records() {
	local pattern
	for pattern in $records; do
		# shellcheck disable=SC2053 # a pattern
		[[ $1 == collector/$pattern ]] && return
	done
	return 1
}

# arrows: what each file includes. reaches: how it comes to format/, once that is known.
declare -A arrows reaches
while read -r file; do
	arrows[$file]=$(included "$file")
done < <(find lib hardware collector -name '*.[ch]' | sort)

# way FILE: how it comes to format/, if it does.
way() {
	local into got
	if [[ -z ${reaches[$1]+known} ]]; then
		reaches[$1]=
		for into in ${arrows[$1]-}; do
			[[ $into == format/* ]] && got=$into || { way "$into" && got="$into, ${reaches[$into]}"; } || continue
			reaches[$1]=$got
			break
		done
	fi
	[[ ${reaches[$1]} ]]
}

while read -r file; do
	keeps_records "$file" || ! way "$file" || fail "$file includes ${reaches[$file]}: only the record session knows format/"
done < <(find collector -name '*.[ch]' | sort)
expect "more than a hundred files are followed" test "${#arrows[@]}" -gt 100

while read -r folder; do
	[[ " include tests bench examples " == *" $folder "* || -n $(allowed "$folder") ]] || fail "the table lacks $folder"
done < <(printf '%s\n' */*.[ch] */*/*.[ch] | cut -d/ -f1 | grep -Ev '^(_?build|_inst|autom4te)' | sort -u)
finish
