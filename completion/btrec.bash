# SPDX-License-Identifier: MIT
# bash completion for btrec(1) and btview(1).

_btrec_traces() {
	local dir=${BTREC_TRACE_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/btrec}
	[ -d "$dir" ] && (cd "$dir" && compgen -d -S / -- "$1" | sed "s|^|$dir/|; s|/\$||")
	compgen -d -- "$1"
}

# The pids of processes that are recorded, and of the btrec run above them.
_btrec_recorded() {
	local status tracer
	while IFS=: read -r status _ tracer; do
		tracer=${tracer//[[:space:]]/}
		[ "$(cat "/proc/$tracer/comm" 2>/dev/null)" = btrec ] || continue
		status=${status#/proc/}
		echo "${status%/status}"
		sed -n 's/^PPid:[[:space:]]*//p' "/proc/$tracer/status" 2>/dev/null
	done < <(grep -s '^TracerPid:[[:space:]]*[1-9]' /proc/[0-9]*/status) | sort -un
}

# Where the recorded program's name is among the words, or nothing.
_btrec_program_at() {
	local i
	for ((i = 2; i < COMP_CWORD; i++)); do
		# --option=value is three words where = is among COMP_WORDBREAKS, as it is by default.
		if [ "${COMP_WORDS[i + 1]}" = = ]; then
			((i += 2))
			continue
		fi
		case ${COMP_WORDS[i]} in
		--) echo $((i + 1)); return ;;
		-o | --output | --keep | --max-size | --history | --history-memory | --log-size | --from | --snap-at | --snap-at-function | --snap-exit | --backend | --source) ((i++)) ;;
		-*) ;;
		*) echo "$i"; return ;;
		esac
	done
}

# The word before the one to be completed, or the option of which it is the value: --option value, --option=value.
_btrec_option_before() {
	local at=$((COMP_CWORD - 1))
	if [ "${COMP_WORDS[COMP_CWORD]}" != = ] && [ "${COMP_WORDS[at]}" = = ]; then
		((at--))
	fi
	echo "${COMP_WORDS[at]}"
}

_btrec() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev at
	prev=$(_btrec_option_before)
	COMPREPLY=()
	[ "$cur" != = ] || cur=
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "run snap import list rm prune pack info replay doctor dump help --help -h --version -V" -- "$cur")
		return
	fi
	case ${COMP_WORDS[1]} in
	run)
		at=$(_btrec_program_at)
		# Behind the program its own words come. bash-completion(7) knows many programs'.
		if [ -n "$at" ] && declare -F _command_offset >/dev/null; then
			_command_offset "$at"
			return
		elif [ -n "$at" ]; then
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			return
		fi
		case $prev in
		-o | --output) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
		--history) mapfile -t COMPREPLY < <(compgen -W "full off 65536" -- "$cur") ;;
		--history-memory) mapfile -t COMPREPLY < <(compgen -W "128 512 2048" -- "$cur") ;;
		--from | --snap-at | --snap-at-function | --keep | --max-size | --log-size) ;;
		--snap-exit) mapfile -t COMPREPLY < <(compgen -W "never failure always" -- "$cur") ;;
		--source) mapfile -t COMPREPLY < <(compgen -W "auto bits lbr bts pt none" -- "$cur") ;;
		--backend) mapfile -t COMPREPLY < <(compgen -W "auto engine step pmu" -- "$cur") ;;
		*)
			if [[ $cur == -* ]]; then
				mapfile -t COMPREPLY < <(compgen -W "-o --output --only-crashes --keep --max-size --history --history-memory --from --snap-at --snap-at-function --snap-exit --backend --source --no-aslr --parallel --replayable --log-size --unbound --no-symbols -q --quiet -h --help --" -- "$cur")
			else
				mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -f -- "$cur")
			fi
			;;
		esac
		;;
	import)
		if [[ $cur == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "-o --output --no-symbols -q --quiet -h --help" -- "$cur")
		else
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		fi
		;;
	pack)
		case $prev in
		-o | --output) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
		*)
			if [[ $cur == -* ]]; then
				mapfile -t COMPREPLY < <(compgen -W "-o --output --no-symbols -h --help" -- "$cur")
			else
				mapfile -t COMPREPLY < <(_btrec_traces "$cur")
			fi
			;;
		esac
		;;
	list)
		case $prev in
		--group) mapfile -t COMPREPLY < <(compgen -W "signature" -- "$cur") ;;
		*) mapfile -t COMPREPLY < <(compgen -W "--group --json -h --help" -- "$cur") ;;
		esac
		;;
	prune)
		case $prev in
		--keep | --max-size | --older) ;;
		*) mapfile -t COMPREPLY < <(compgen -W "--keep --max-size --older -n --dry-run -h --help" -- "$cur") ;;
		esac
		;;
	doctor) mapfile -t COMPREPLY < <(compgen -W "--json -h --help" -- "$cur") ;;
	snap) mapfile -t COMPREPLY < <(compgen -W "$(_btrec_recorded)" -- "$cur") ;;
	help) mapfile -t COMPREPLY < <(compgen -W "run snap import list rm prune pack info replay doctor dump" -- "$cur") ;;
	dump)
		if [[ $cur == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "--no-branches -h --help" -- "$cur")
		else
			mapfile -t COMPREPLY < <(_btrec_traces "$cur")
		fi
		;;
	replay)
		case $prev in
		--backend) mapfile -t COMPREPLY < <(compgen -W "engine step" -- "$cur") ;;
		--to) mapfile -t COMPREPLY < <(compgen -W "crash end" -- "$cur") ;;
		-o | --output) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
		--memory | --memory-limit | --checksum) ;;
		*)
			if [[ $cur == -* ]]; then
				mapfile -t COMPREPLY < <(compgen -W "--backend --to --registers --memory --memory-limit --force --checksum --window -o --output --no-output --json -q --quiet -h --help" -- "$cur")
			else
				mapfile -t COMPREPLY < <(_btrec_traces "$cur")
			fi
			;;
		esac
		;;
	info | rm) mapfile -t COMPREPLY < <(_btrec_traces "$cur") ;;
	esac
}

_btview() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev
	prev=$(_btrec_option_before)
	COMPREPLY=()
	[ "$cur" != = ] || cur=
	case $prev in
	-n | --snapshot | --thread | --function) ;;
	--format) mapfile -t COMPREPLY < <(compgen -W "github" -- "$cur") ;;
	--color) mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$cur") ;;
	--by) mapfile -t COMPREPLY < <(compgen -W "cpu" -- "$cur") ;;
	--export) mapfile -t COMPREPLY < <(compgen -W "core folded perfetto perf-script" -- "$cur") ;;
	*)
		if [[ $cur == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "--stdio --summary --color --no-pager --format --json --export --signature --symbols --by -n --all --snapshot --thread --function -h --help -V --version" -- "$cur")
		else
			mapfile -t COMPREPLY < <(_btrec_traces "$cur")
		fi
		;;
	esac
}

complete -o filenames -F _btrec btrec
complete -o filenames -F _btview btview
