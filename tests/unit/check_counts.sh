#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What ./check counts (scripts/stages.bash): whatever goes wrong with a stage's tests is a failure in the last line and in the status. The stages
# here are of a tree whose configure and tests are a line of shell each.
source "${BTREC_SRCDIR:?run by make check}/tests/sh.bash" || exit 99
unset MAKEFLAGS MAKELEVEL MFLAGS
tree=$work/tree
mkdir -p "$tree/tests"
cat >"$tree/configure" <<'END'
#!/bin/sh
printf 'all:\n\t@sh ../../build\ncheck:\n\t@sh ../../recipe\n' >Makefile
touch config.status
END
chmod +x "$tree/configure"
cat >"$tree/tests/allowed-skips" <<'END'
tests/may: its reason
tests/cases::a case: this is missing
tests/units::a_unit: its reason
END

# ended MODE COMMAND...: what these stages end with: the last line and the status.
ended() {
	local mode=$1 status
	shift
	(
		cd "$tree" || exit
		source "$BTREC_SRCDIR/scripts/packages.bash"
		source "$BTREC_SRCDIR/scripts/stages.bash"
		mkdir -p "$out/full"
		"$@"
		summary
	) >"$work/said" 2>&1
	status=$?
	echo "$(tail -n 1 "$work/said") $status"
}

counts() { # counts WHAT EXPECTED MODE COMMAND...
	local got
	got=$(ended "${@:3}")
	if [ "$got" = "$2" ]; then
		echo "ok: $1"
	else
		fail "$1: got '$got', expected '$2'"
		sed 's/^/  | /' "$work/said"
	fi
}

# What make check does here: lines of shell, some of which leave the result and the log of a test.
result() { printf 'mkdir -p tests; echo ":test-result: %s" >tests/%s.trs; printf "%s\\n" >tests/%s.log\n' "$2" "$1" "${3-}" "$1"; }
tests() { printf '%s\n' "$@" >"$tree/recipe"; }
whole='echo all >test-suite.log'
echo true >"$tree/build"

tests "$(result one PASS)" "$(result two PASS)" "$whole"
counts "what passed" "2 passed, 0 failed, 0 skipped 0" default stage_tests fake
tests "$(result one PASS)" "$(result two FAIL)" "$whole" 'exit 1'
counts "a test that fails" "1 passed, 1 failed, 0 skipped 1" default stage_tests fake
tests "$(result one PASS)" "$(result two ERROR)" "$whole" 'exit 1'
counts "a test that could not be run" "1 passed, 1 failed, 0 skipped 1" default stage_tests fake
tests "$(result one PASS)" 'echo >tests/two.trs' "$whole"
counts "a test without a result" "1 passed, 1 failed, 0 skipped 1" default stage_tests fake
tests "$(result one PASS)" 'kill -KILL $$'
counts "tests that are killed" "1 passed, 1 failed, 0 skipped 1" default stage_tests fake
tests "$(result one PASS)" "$whole" 'exit 3'
counts "a make check that fails, whatever its tests say" "1 passed, 1 failed, 0 skipped 1" default stage_tests fake
tests "$whole"
counts "no tests" "0 passed, 1 failed, 0 skipped 1" default stage_tests fake
one_of_two() {
	stage_tests fake
	tests "$whole"
	stage_tests fake
}
tests "$(result one PASS)" "$whole"
counts "no tests, and those of a stage before it" "1 passed, 1 failed, 0 skipped 1" default one_of_two
echo false >"$tree/build"
counts "what does not build" "0 passed, 1 failed, 0 skipped 1" default stage_tests fake
echo true >"$tree/build"

tests "$(result one PASS)" "$(result may SKIP 'why')" "$(result other SKIP 'why')" "$whole"
counts "tests that skip" "1 passed, 0 failed, 2 skipped 0" default stage_tests fake
counts "one that may not skip" "1 passed, 1 failed, 1 skipped 1" ci stage_tests fake
tests "$(result cases PASS 'skip a case (0.1 s): this is missing\nskip a case (0.1 s): this is missing')" \
	"$(result units PASS '[  SKIPPED ] a_unit\n[  SKIPPED ] 1 test(s).\n[  SKIPPED ] a_unit')" "$whole"
counts "cases that may skip, each of them once" "2 passed, 0 failed, 2 skipped 0" ci stage_tests fake
tests "$(result cases PASS 'skip a case (0.1 s): that is missing\nskip another (0.1 s): this is missing')" \
	"$(result units PASS '[  SKIPPED ] b_unit')" "$whole"
counts "cases that skip" "2 passed, 0 failed, 3 skipped 0" default stage_tests fake
counts "cases that may not" "2 passed, 3 failed, 0 skipped 1" ci stage_tests fake

steps() {
	forget_unknown
	step good true
	step bad false
	step killed sh -c 'kill -KILL $$'
	finish_steps
}
counts "steps: done, failed, killed" "1 passed, 2 failed, 0 skipped 1" full steps
counts "steps of nobody knows which files are done again" "1 passed, 2 failed, 0 skipped 1" full steps
grep -q 'was done before' "$work/said" && fail "a step was not done again"
without_tools() {
	passed=1
	PATH=/nonexistent stage_cppcheck
}
counts "no cppcheck" "1 passed, 1 failed, 0 skipped 1" ci without_tools
counts "nothing at all" "0 passed, 1 failed, 0 skipped 1" default true
finish
