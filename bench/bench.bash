#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bench.bash BUILDDIR [ROUNDS]: what a round of each kind of work costs under btrec, against native and against the
# peers that are installed. A round's cost is (time of many rounds - time of few) / the difference, so that start-up
# does not count. Every round of the measurement runs all of them once, so that a slow minute hits all; medians.
set -u
exec </dev/null
build=$1 rounds=${2:-5}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
program=$build/bench/work

# name, few rounds, many rounds, command in front of the program
runners=(
	"native 1000 4000000"
	"btrec 10 1000 $build/btrec run --quiet -o $work/trace --"
)
command -v valgrind >/dev/null && runners+=("valgrind-none 1000 2000000 valgrind -q --tool=none")
command -v gdb >/dev/null && runners+=("gdb-record 1 50 gdb -q -batch -ex start -ex record -ex continue --args")

# ns of a whole run, or nothing where the program did not come to its end (gdb's record does not know every instruction)
duration() {
	local start end
	rm -rf "$work/trace"
	start=$(date +%s%N)
	"$@" >"$work/out" 2>&1
	end=$(date +%s%N)
	grep -Eq '^[0-9]+$' "$work/out" && echo $((end - start))
}

# ns of one round of work KIND under a runner
measure() {
	local kind=$1 few=$2 many=$3 a b
	shift 3
	a=$(duration "$@" "$program" "$kind" "$few")
	b=$(duration "$@" "$program" "$kind" "$many")
	[ -n "$a" ] && [ -n "$b" ] || return
	awk -v d="$((b - a))" -v n="$((many - few))" 'BEGIN {printf "%.3f\n", d / n}'
}

median() { sort -n "$1" | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }

for ((i = 0; i < rounds; i++)); do
	for kind in branches shorts calls memory syscalls; do
		for runner in "${runners[@]}"; do
			# shellcheck disable=SC2086
			set -- $runner
			name=$1 few=$2 many=$3
			shift 3
			measure "$kind" "$few" "$many" "$@" >>"$work/$name.$kind"
		done
	done
done

printf '%-10s %-14s %14s %10s\n' work under 'ns a round' 'x native'
for kind in branches shorts calls memory syscalls; do
	native=$(median "$work/native.$kind")
	for runner in "${runners[@]}"; do
		name=${runner%% *}
		if ! [ -s "$work/$name.$kind" ]; then
			printf '%-10s %-14s %14s %10s\n' "$kind" "$name" - -
			continue
		fi
		m=$(median "$work/$name.$kind")
		awk -v k="$kind" -v u="$name" -v m="$m" -v n="$native" \
			'BEGIN {printf "%-10s %-14s %14.1f %10.1f\n", k, u, m, (n > 0 ? m / n : 0)}'
	done
done
echo "medians of $rounds interleaved rounds; $(nproc) CPUs, $(uname -r)"
