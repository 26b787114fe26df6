# SPDX-License-Identifier: MIT
# For every test that is a script: `source "${BTREC_SRCDIR:?}/tests/sh.bash" || exit 99`. Gives $work, a directory of its own
# that goes away with the test, and a few words to say what is expected.
set -u
exec </dev/null
work=$(mktemp -d "${TMPDIR:-/tmp}/btrec-test.XXXXXX") || exit 99
cleanup() { :; } # a test may define its own
# What a sanitizer says, of the recorder, too, whose standard error goes nowhere.
mkdir -m 1777 "$work/sanitizer"
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}log_path=$work/sanitizer/of" UBSAN_OPTIONS="${UBSAN_OPTIONS:+$UBSAN_OPTIONS:}log_path=$work/sanitizer/of"
sanitizers_are_silent() {
	! grep -rhE -A 40 'ERROR: (Address|Leak)Sanitizer|:[0-9]+:[0-9]+: runtime error: ' "$work/sanitizer"
}
trap 'status=$?; trap - EXIT; cleanup; sanitizers_are_silent || status=1; chmod -R u+rwX "$work" 2>/dev/null; rm -rf "$work"; exit "$status"' EXIT
trap 'exit 130' INT TERM
export LC_ALL=C.UTF-8 HOME="$work" XDG_DATA_HOME="$work/data" XDG_CACHE_HOME="$work/cache" XDG_RUNTIME_DIR="$work/run"
unset BTREC_TRACE_DIR DEBUGINFOD_URLS
mkdir -p -m 0700 "$work/run"
failures=0

skip() { echo "SKIP: $*"; exit 77; }

fail() { echo "FAIL: $*"; failures=$((failures + 1)); }

# expect NAME COMMAND...: the command succeeds.
expect() {
	local name=$1
	shift
	if "$@"; then echo "ok: $name"; else fail "$name: $*"; fi
}

# expect_status N COMMAND...: the command ends with status N; its output goes to $work/out and $work/err.
expect_status() {
	local want=$1 got
	shift
	"$@" >"$work/out" 2>"$work/err"
	got=$?
	if [ "$got" -eq "$want" ]; then
		echo "ok: status $want: $*"
	else
		fail "status $got instead of $want: $*"
		sed 's/^/  out: /' "$work/out" | head -40
		sed 's/^/  err: /' "$work/err" | head -40
	fi
}

# expect_text FILE REGEX: a line of the file matches (grep -E).
expect_text() {
	if grep -Eq -e "$2" "$1"; then
		echo "ok: $(basename "$1") has /$2/"
	else
		fail "$1 has no line like /$2/:"
		sed 's/^/  | /' "$1" | head -60
	fi
}

# The last line of a test.
finish() {
	[ "$failures" -eq 0 ] && exit 0
	echo "$failures failed"
	exit 1
}
