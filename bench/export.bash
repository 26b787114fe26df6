#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# export.bash BUILDDIR [ROUNDS]: printing a capture of ten million branch entries, `btview --export perf-script` against
# `perf script -F ip,brstack`, processor time and elapsed time, interleaved, medians. The capture is a real one, repeated: BTREC_FIXTURES names the
# directory of the captures (perf-data/westmere-lbr16.perf.data), else it is ../shared/fixtures beside the source.
set -u
exec </dev/null
build=$1 rounds=${2:-5}
here=$(cd "$(dirname "$0")" && pwd)
capture=${BTREC_FIXTURES:-$here/../../shared/fixtures}/perf-data/westmere-lbr16.perf.data
[ -f "$capture" ] || { echo "export: no capture at $capture"; exit 0; }
command -v perf >/dev/null || { echo "export: no perf to compare with"; exit 0; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
entries=$(python3 "$here/replicate.py" "$capture" 10000000 "$work/capture") || exit 1
"$build/btrec" import -q -o "$work/trace" "$work/capture" || exit 1

# elapsed and processor seconds of a command go to its file
run() {
	local name=$1
	shift
	TIMEFORMAT='%R %U %S'
	{ time "$@" >/dev/null 2>"$work/err"; } 2>>"$work/$name" || { cat "$work/err"; exit 1; }
}

for ((i = 0; i < rounds; i++)); do
	run btview "$build/btview" --export perf-script "$work/trace"
	run perf perf script -F ip,brstack -i "$work/capture"
done

median() { awk -v c="$2" '{print c == 1 ? $1 : $2 + $3}' "$work/$1" | sort -n | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }
printf '\n%-30s %12s %12s\n' "export of $entries entries" 'elapsed s' 'processor s'
for name in btview perf; do
	printf '%-30s %12.2f %12.2f\n' "$name" "$(median $name 1)" "$(median $name 2)"
done
awk -v a="$(median perf 1)" -v b="$(median btview 1)" -v c="$(median perf 2)" -v d="$(median btview 2)" \
	'BEGIN {printf "%-30s %12.1f %12.1f\n", "perf / btview", a / b, c / d}'
