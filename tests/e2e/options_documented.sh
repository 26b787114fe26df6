#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every option that --help knows is in the man page and in the completion, and neither has one that --help does not
# know; the completion offers what it should; every exit status of ours is in the man page.
source "${BTREC_SRCDIR:?run by make check}/tests/sh.bash" || exit 99
man=$BTREC_SRCDIR/man completion=$BTREC_SRCDIR/completion/btrec.bash

options() { grep -oE '(^|[][ ,|(])(--[a-z][a-z-]+|-[A-Za-z])([] ,=|)]|$)' | grep -oE -- '--?[A-Za-z][a-z-]*' | sort -u; }

# Options in the man page: those that a tagged paragraph begins with.
man_options() {
	grep -A1 '^\.TP' "$man/$1.1" | grep -E '^\.BR? ' | sed 's/\\-/-/g; s/\\f.[^\\]*//g; s/[",]/ /g' | sed 's/\\.*//' |
		grep -oE -- '(^| )--?[A-Za-z][a-z-]*' | tr -d ' ' | sort -u
}

# What the completion offers after these words, for a word that begins with a dash.
offered() {
	bash -c 'source "$1"; shift; COMP_WORDS=("$@" "-"); COMP_CWORD=$#; "_$1"; printf "%s\n" "${COMPREPLY[@]}"' _ "$completion" "$@" |
		grep -vx -- -- | sort -u
}

same() {
	if diff "$1" "$2" >"$work/diff"; then
		echo "ok: $3 ($(wc -l <"$1"))"
	else
		fail "$3: < only in the first, > only in the second"
		cat "$work/diff"
	fi
}

if ! [ -x "$BTREC" ] || ! [ -x "$BTVIEW" ]; then
	fail "btrec and btview are not built"
	finish
fi
for words in "btrec --help" "btrec run --help" "btrec doctor --help" "btrec list --help" "btrec prune --help" "btrec replay --help" "btview --help" "btrec --version" "btview --version"; do
	set -- $words
	case $1 in btrec) program=$BTREC ;; *) program=$BTVIEW ;; esac
	expect_status 0 "$program" "${@:2}"
	expect "$words says nothing on stderr" test ! -s "$work/err"
	[ "${words##* }" = --help ] && options <"$work/out" >"$work/help.${words// /.}"
done
cat "$work"/help.btrec.*--help | sort -u >"$work/help.btrec"
cp "$work/help.btview.--help" "$work/help.btview"

for program in btrec btview; do
	expect "$program has options" test "$(wc -l <"$work/help.$program")" -ge 3
	man_options "$program" >"$work/man.$program"
	same "$work/help.$program" "$work/man.$program" "$program --help and $program.1"
done
{
	offered btrec
	offered btrec run
	offered btrec doctor
	offered btrec list
	offered btrec prune
	offered btrec replay
} | sort -u >"$work/completion.btrec"
offered btview >"$work/completion.btview"
# = ends a word for bash, as it comes.
completes() {
	local expected=$1
	shift
	expect "after $*: $expected" test "$expected" = "$(bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _btrec; echo "$(_btrec_program_at):${COMPREPLY[*]}"' _ "$completion" "$@")"
}
completes ":step" btrec run --backend = s
completes ":step" btrec run --backend s
completes ":full off 65536" btrec run --history =
completes ":" btrec run --snap-at ""
completes "2:" btrec run make -
completes "3:" btrec run -q make --back
program_after() { bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _btrec_program_at' _ "$completion" "$@"; }
expect "the program behind --history = full" test "$(program_after btrec run --history = full ls -l)" = 5
expect "the program behind --history full" test "$(program_after btrec run --history full ls -l)" = 4
for program in btrec btview; do
	same "$work/help.$program" "$work/completion.$program" "$program --help and the completion"
done

expect "every error's status was read" test "$(grep -c '^BT_ERR([A-Z_]*, *[0-9]*)' "$BTREC_SRCDIR/lib/err.def")" -eq "$(grep -c '^BT_ERR(' "$BTREC_SRCDIR/lib/err.def")"
for status in $(sed -n 's/^BT_ERR([A-Z_]*, *\([0-9]*\)).*/\1/p' "$BTREC_SRCDIR/lib/err.def" | sort -u); do
	expect "status $status is in btrec.1" grep -qx "$status" "$man/btrec.1"
done
if command -v man >/dev/null; then
	for page in btrec btview; do
		expect "$page.1 has no errors" test -z "$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$man/$page.1" 2>&1 >/dev/null)"
	done
elif [ "$failures" -eq 0 ]; then
	skip "the man pages were not looked through: install the Debian package man-db"
fi
finish
