# SPDX-License-Identifier: MIT
# The stages of ./check: each builds in a directory of its own below build-check/ and adds to the counts.
passed=0 failed=0 skipped=0
check_arguments=() # of make check in stage_tests
jobs=$(nproc 2>/dev/null || echo 1)
started=$SECONDS
out=$PWD/build-check
source_dir=$PWD
mkdir -p "$out"

stage_failed() {
	failed=$((failed + 1))
	echo "FAIL: $*"
}

# The end of every run, whatever happened before.
summary() {
	say "took $((SECONDS - started)) s"
	[ "$passed" -gt 0 ] || [ "$failed" -gt 0 ] || stage_failed "no test ran"
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
	exit
}

# may_skip TEST [WHY] or TEST::CASE WHY: a line of tests/allowed-skips says so. Of a case that tells why, that begins as the line's reason does.
may_skip() {
	local line
	[ "$mode" != default ] || return 0
	while IFS= read -r line; do
		[[ $line == "$1: "* ]] || continue
		[[ -n ${2-} && $2 != "${line#"$1: "}"* ]] || return 0
	done <"$source_dir/tests/allowed-skips"
	return 1
}

# skipped_cases LOG: the name of each and, behind a tab, why. cmocka names each twice and has no reasons.
skipped_cases() {
	sed -nE 's/^skip (.*) \([0-9.]+ s\)(: (.*))?$/\1\t\3/p; s/^\[  SKIPPED \] (\w+)$/\1\t/p' "$1" | awk '!seen[$0]++'
}

# count_skipped_cases STAGE TEST LOG
count_skipped_cases() {
	local name why
	while IFS=$'\t' read -r name why; do
		if may_skip "$2::$name" "$why"; then
			skipped=$((skipped + 1))
			echo "SKIP: $1: $2: $name${why:+: $why}"
		else
			stage_failed "$1: $2: $name may not skip (tests/allowed-skips)${why:+: $why}"
		fi
	done < <(skipped_cases "$3")
}

# count_results STAGE: reads the results of automake's test harness in the current directory. A case that skips in a test that does not counts
# as one more.
count_results() {
	local stage=$1 trs name result log
	while read -r trs; do
		name=${trs#./}
		name=${name%.trs}
		log=${trs%.trs}.log
		result=$(sed -n 's/^:test-result: *//p' "$trs")
		case $result in
		PASS*) passed=$((passed + 1)) ;;
		SKIP*)
			if may_skip "$name"; then
				skipped=$((skipped + 1))
				echo "SKIP: $stage: $name: $(grep -v '^SKIP .*(exit status' "$log" | tail -n 1)"
			else
				stage_failed "$stage: $name may not skip (tests/allowed-skips): $(grep -v '^SKIP .*(exit status' "$log" | tail -n 1)"
			fi
			continue
			;;
		*)
			stage_failed "$stage: $name: $result"
			sed 's/^/  | /' "$log" | tail -n 60
			;;
		esac
		count_skipped_cases "$stage" "$name" "$log"
	done < <(find . -name '*.trs' | sort)
}

# run_quietly LOG COMMAND...: the output is shown only when the command fails.
run_quietly() {
	local log=$1
	shift
	"$@" >"$log" 2>&1 && return 0
	tail -n 60 "$log" | sed 's/^/  | /'
	return 1
}

# stage_build NAME CONFIGURE-ARGUMENTS...: configures (once) and builds all and the test programs.
stage_build() {
	local stage=$1 dir="$out/$1"
	shift
	say "$stage: build ($*)"
	mkdir -p "$dir" && cd "$dir" || return 1
	if ! [ -f config.status ] || [ "$(cat arguments 2>/dev/null)" != "$*" ]; then
		run_quietly configure.log "$source_dir/configure" "$@" || return 1
		echo "$*" >arguments
	fi
	run_quietly make.log make -j"$jobs" all
}

# stage_tests NAME CONFIGURE-ARGUMENTS...
stage_tests() {
	local stage=$1 before=$SECONDS counted=$((passed + failed + skipped)) failed_before=$failed status
	if ! stage_build "$@"; then
		stage_failed "$stage: build"
		cd "$source_dir" || exit 99
		return
	fi
	say "$stage: make check ${check_arguments[*]}"
	find . \( -name '*.trs' -o -name 'test-suite.log' \) -delete
	make -j"$jobs" check "${check_arguments[@]}" >check.log 2>&1
	status=$?
	count_results "$stage"
	if ! [ -f test-suite.log ]; then
		tail -n 60 check.log | sed 's/^/  | /'
		stage_failed "$stage: make check did not come to the end of its tests"
	elif [ "$counted" -eq $((passed + failed + skipped)) ]; then
		stage_failed "$stage: no test ran"
	elif [ "$status" -ne 0 ] && [ "$failed" -eq "$failed_before" ]; then # as where it was killed, or a result is missing
		tail -n 60 check.log | sed 's/^/  | /'
		stage_failed "$stage: make check ended with $status"
	fi
	cd "$source_dir" || exit 99
	say "$stage: $((SECONDS - before)) s; so far $passed passed, $failed failed, $skipped skipped"
}

# A few tests of every kind: distcheck is about what is packed and about read-only sources.
dist_smoke="tests/unit/test_slice tests/unit/test_trace tests/unit/include_arrows.sh tests/unit/folder_readmes.sh
	tests/unit/format_example.sh tests/e2e/options_documented.sh"

stage_distcheck() {
	local before=$SECONDS n
	# The sources are packed from a build that is there, and built from the package without optimization.
	if ! stage_build gcc-werror CC=gcc --enable-werror; then
		stage_failed "dist: build"
		cd "$source_dir" || exit 99
		return
	fi
	say "dist: make distcheck"
	if make -j"$jobs" distcheck DISTCHECK_CONFIGURE_FLAGS="CC=gcc CFLAGS=-O0" TESTS="$(echo $dist_smoke)" >distcheck.log 2>&1; then
		n=$(sed -n 's/^# PASS: *//p' distcheck.log | tail -n 1)
		passed=$((passed + ${n:-0}))
		[ "${n:-0}" -eq "$(wc -w <<<"$dist_smoke")" ] || stage_failed "dist: ${n:-0} tests passed, not all of these: $(echo $dist_smoke)"
	else
		tail -n 80 distcheck.log | sed 's/^/  | /'
		stage_failed "dist: make distcheck"
		chmod -R u+w btrec-*/ 2>/dev/null
		rm -rf btrec-*/
	fi
	cd "$source_dir" || exit 99
	say "dist: $((SECONDS - before)) s"
}

stage_cppcheck() {
	command -v cppcheck >/dev/null || {
		stage_failed "cppcheck is not installed"
		return
	}
	say "cppcheck"
	if run_quietly "$out/cppcheck.log" cppcheck --quiet -j"$jobs" --std=c11 --error-exitcode=1 --inline-suppr \
		--enable=warning,portability --suppressions-list=scripts/cppcheck-suppressions -I. -D_GNU_SOURCE --max-configs=2 \
		lib syscalls format hardware_decoders import export collector decoder tui commands; then
		passed=$((passed + 1))
	else
		stage_failed "cppcheck"
	fi
}

stage_format() {
	command -v clang-format >/dev/null || {
		stage_failed "clang-format is not installed"
		return
	}
	say "clang-format"
	if scripts/format.bash --check; then
		passed=$((passed + 1))
	else
		stage_failed "clang-format"
	fi
}

# The names of the steps that are done for this commit; of none, or of files that have changed since, nobody knows for what they were.
full_done() { echo "$out/full/done-$(git rev-parse --short HEAD 2>/dev/null || echo nogit)"; }
forget_unknown() { git diff --quiet HEAD 2>/dev/null || rm -f "$(full_done)"; }

# piece NAME COMMAND...: a part of --ci. In --full one that passed for this commit is not done again; what it passed and skipped is counted.
piece() {
	local name=$1 before=("$passed" "$failed" "$skipped") was
	shift
	if [ "$mode" = full ] && was=$(grep -E "^ci: $name: [0-9]+ [0-9]+$" "$(full_done)" 2>/dev/null | tail -n 1) && [ -n "$was" ]; then
		read -r -a was <<<"${was#"ci: $name: "}"
		passed=$((passed + was[0])) skipped=$((skipped + was[1]))
		say "$name was done before: ${was[0]} passed, ${was[1]} skipped"
		return
	fi
	"$@"
	if [ "$mode" = full ] && [ "$failed" -eq "${before[1]}" ]; then
		echo "ci: $name: $((passed - before[0])) $((skipped - before[2]))" >>"$(full_done)"
	fi
}

stages_ci() {
	piece format stage_format
	piece gcc stage_tests gcc-werror CC=gcc --enable-werror
	check_arguments=(SOURCE_TESTS= PYTHON_TESTS=) # the long recordings run with gcc and under the sanitizers
	piece clang stage_tests clang-werror CC=clang CXX=clang++ --enable-werror
	check_arguments=(SOURCE_TESTS=)
	piece sanitizers stage_tests sanitizers CC=gcc --enable-werror --enable-sanitizers CFLAGS="-g -O1"
	check_arguments=()
	piece cppcheck stage_cppcheck
	piece distcheck stage_distcheck
}

# step NAME COMMAND...: a step of --full, beside as many others as there are processors; finish_steps counts it. One that is done for this
# commit is not done again; of those whose names do not begin with BTREC_STEPS none is.
full_steps=()
step() {
	local name=$1 done_file
	shift
	[[ $name == "${BTREC_STEPS-}"* ]] || return 0
	done_file=$(full_done)
	full_steps+=("$name")
	if grep -Fxq "$name" "$done_file" 2>/dev/null; then
		say "full: $name was done before"
		return
	fi
	while [ "$(jobs -pr | wc -l)" -ge "$jobs" ]; do wait -n; done
	say "full: $name"
	set -m # a process group of its own, for stop_steps
	{
		local before=$SECONDS
		"$@" && echo "$name" >>"$done_file" && say "full: $name: passed, $((SECONDS - before)) s"
	} &
	set +m
}

# Who stops --full stops the steps that run; the tests end what they have started.
stop_steps() {
	local pid
	for pid in $(jobs -pr); do kill -TERM -- "-$pid"; done
	wait
	say "full: stopped"
	exit 1
}

finish_steps() {
	local name
	wait
	for name in "${full_steps[@]}"; do
		if grep -Fxq "$name" "$(full_done)" 2>/dev/null; then
			passed=$((passed + 1))
		else
			stage_failed "full: $name"
		fi
	done
	full_steps=()
}

fuzz_target() {
	local target=$1 seconds=$2 seed=$3 corpus="$out/full/corpus-$1" log="$out/full/$1.log" slowest=20 memory=2048
	# With files of strangers libdw may take 4 GB and a minute of processor time.
	[ "$target" != elf ] || slowest=200 memory=6144
	mkdir -p "$corpus"
	"$out/fuzz/tests/fuzz/generate_corpus" "$target" "$corpus" || return 1
	[ ! -e "$source_dir/tests/fuzz/corpus_$target.sh" ] || "$source_dir/tests/fuzz/corpus_$target.sh" "$corpus" || return 1
	ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}allocator_may_return_null=1" \
		"$out/fuzz/tests/fuzz/libfuzzer_$target" -seed="$seed" -max_total_time="$seconds" -timeout="$slowest" -rss_limit_mb="$memory" \
		-max_len=65536 -print_final_stats=1 -artifact_prefix="$out/full/" "$corpus" >"$log" 2>&1
	local status=$?
	[ "$status" -eq 0 ] || tail -n 40 "$log"
	grep -E '^stat::number_of_executed_units|^SUMMARY' "$log" | sed "s/^/  $target: /"
	return $status
}

repeat_tests() {
	(cd "$out/$1" && find . -name '*.trs' -delete && make -j"$jobs" check >repeat.log 2>&1)
}

# Each program of tests/e2e/real_programs.py; one of those promised that is not there is a failure.
real_programs() {
	local log="$out/full/programs.log"
	run_quietly "$log" env BTREC_TIMEOUT=1800 python3 "$source_dir/bench/programs.py" --complete "$out/gcc-werror" || return 1
	sed -nE 's/^(not installed: .*|[0-9]+ programs, .*)/  \1/p' "$log"
}

# The package is built, and installed and removed in a fresh root.
debian_package() {
	local log="$out/full/debian.log" status
	"$source_dir/scripts/debian_package.bash" >"$log" 2>&1
	status=$?
	[ "$status" -eq 0 ] || tail -n 20 "$log"
	[ "$status" -eq 0 ] || [ "$status" -eq 77 ] # without the network there is no fresh root
}

# gallery NAME TEST: what first screens say, of all builds, or of past bugs of Debian's programs; the figures are shown. Without the network
# there are no sources: that is said, and no failure.
gallery() {
	local log="$out/full/gallery-$1.log" status=0
	env abs_top_builddir="$out/gcc-werror" CC=gcc CXX=g++ BTREC_GALLERY_FULL=1 python3 "$source_dir/tests/e2e/$2.py" >"$log" 2>&1 || status=$?
	[ "$status" -eq 0 ] || [ "$status" -eq 77 ] || tail -n 60 "$log" | sed 's/^/  | /'
	grep -E '^(right|other programs|signatures|skip|[0-9]+ ok|all are skipped)' "$log" | sed 's/^/  /'
	[ "$status" -eq 0 ] || [ "$status" -eq 77 ]
}

# engine_test NAME TEST [CASE...], with BTREC_CALLS, BTREC_SEED, BTREC_SEEDS, BTREC_ALARMS and BTREC_BRANCHES: one of the end-to-end tests of the engine.
engine_test() {
	local log="$out/full/engine-$1.log" test=$2
	shift 2
	run_quietly "$log" env abs_top_builddir="$out/gcc-werror" CC=gcc CXX=g++ python3 "$source_dir/tests/e2e/$test.py" "$@" || return 1
	sed -nE 's/^     (.*(branches are equal|left out|replays are exact|registers are equal .*|those of the window.*|other backend are exact.*))$/  \1/p' "$log"
}

# The engine is the stepper's equal: generated programs, programs of the system, and signals at any instruction.
stages_engine() {
	local seed=$1 i programs=50 rounds=5 alarms=5000 torture=2000 tortures=12 name
	local generated=${BTREC_PROGRAMS:-1800} signals=${BTREC_SIGNALS:-1000000} branches=${BTREC_BRANCHES:-1000000}
	if ! run_quietly "$out/full/engine-make.log" make -C "$out/gcc-werror" all tests/tools/branches; then
		stage_failed "full: engine: does not build"
		return
	fi
	for name in python3 ls perl awk sort bzip2 gzip sed; do # the longest first
		BTREC_SEED=$seed BTREC_BRANCHES=$branches \
			step "engine: $name as stepped, $branches branches or more, seed $seed" engine_test "$name" engine_programs "stepped: $name"
	done
	# As timers allow, and as many again while the cache is stepped.
	for ((i = 0; i * 4 * rounds * alarms < signals; i++)); do
		BTREC_SEED=$((seed + i * rounds)) BTREC_SEEDS=$rounds BTREC_ALARMS=$alarms \
			step "engine: 2 times $alarms alarms in each of the seeds $((seed + i * rounds)) to $((seed + (i + 1) * rounds - 1))" \
			engine_test "alarms-$i" engine_alarms
	done
	for ((i = 0; i * 2 * tortures * torture < signals; i++)); do
		BTREC_ALARMS=$torture step "engine: $torture signals in each of $tortures programs that check themselves, run $((i + 1))" \
			engine_test "signals-$i" engine_signals signals:
	done
	BTREC_CALLS=${BTREC_CALLS:-100000000} step "system calls at stops: ${BTREC_CALLS:-100000000}, an hour or so of them" \
		engine_test calls surroundings "many system calls"
	BTREC_SEED=$seed BTREC_STOP_SEEDS=50 BTREC_STOPS=40 step "engine: 40 stops and more in each of 50 generated programs, seed $seed" engine_test stops engine_stops
	BTREC_SEED=$seed BTREC_STATE_SEEDS=300 step "engine: random operations on signals and on pages of code, 300 seeds from $seed on" engine_test random engine_random
	for name in spin chain line branches jit conditionals rep gather results; do
		for i in alarms kills stepped; do
			BTREC_SEED=$seed BTREC_ALARM_RUNS=75 step "replay: recordings of loops, 75 times: $i, $name" engine_test "replayed-$i-$name" replay_alarms "$i: $name:"
		done
	done
	for name in "where ticks are counted" "with history" "without PEXT" "eager guesses" "ticks alone near a stop point" "history near a stop point"; do
		BTREC_SEED=$seed BTREC_SWEPT_EACH=1 step "replay: SIGKILL at each instruction of a round in the engine's own code: $name" \
			engine_test "replayed-swept-${name// /-}" replay_alarms "swept: SIGKILL at instructions of the cache's own, one after the other: the end is where it was: $name"
	done
	for name in compiled killed cat echo ls bash awk sed bc jq gzip sort date coreutils: made: generated:; do
		BTREC_SEED=$seed BTREC_REPLAY_ALL=1 step "replay: by the other backend: ${name%:}" engine_test "replayed-other-${name%:}" replay_backends "by the other backend: $name"
	done
	for name in python3 sqlite3 pcre2-jit perl xmllint objdump cat sort gawk mawk sed md5sum od bash dash busybox bc m4 xz zstd ls gzip; do
		BTREC_REPLAY_POINTS=100 step "replay: registers at 100 random points of $name" engine_test "replayed-points-$name" replay_places "registers at more random points are the stepper's: $name"
	done
	BTREC_REPLAY_ALL=1 step "replay: the windows before crashes" engine_test replayed-windows replay_places "the window before a crash is what was recorded"
	for name in promised coreutils python3 typed others; do
		BTREC_REPLAY_ALL=1 step "replay: real programs that are gone: $name" engine_test "replayed-$name" replay_programs "$name:"
	done
	BTREC_SEED=$seed BTREC_KILLS=2000 step "2000 kills at random moments and as many side by side, 500 while it is stepped, seed $seed" engine_test kills kills
	for ((i = 0; i * programs < generated; i++)); do
		BTREC_SEED=$((seed + i * programs)) BTREC_SEEDS=$programs \
			step "engine: generated programs, seeds $((seed + i * programs)) to $((seed + (i + 1) * programs - 1))" \
			engine_test "generated-$i" engine generated
	done
}

stages_full() {
	local target targets i seconds=${BTREC_FUZZ_SECONDS:-300} seed=${BTREC_SEED:-1} repeat=${BTREC_REPEAT:-5}
	trap stop_steps INT TERM HUP
	say "full: commit $(git rev-parse --short HEAD 2>/dev/null), seed $seed, $seconds s for each fuzz target, $repeat runs"
	if [ -n "${BTREC_STEPS-}" ] && ! stage_build gcc-werror CC=gcc --enable-werror; then
		stage_failed "full: build"
	fi
	cd "$source_dir" || exit 99
	step "real programs: the same output, and next to nothing outside the cache" real_programs
	step "the Debian package, in a fresh root" debian_package
	step "gallery: signatures of all builds" gallery builds gallery
	step "gallery: past bugs of Debian's programs" gallery debian debian_bugs
	stages_engine "$seed"
	if [[ fuzz != "${BTREC_STEPS-}"* && ${BTREC_STEPS-} != fuzz* ]]; then
		say "full: no fuzzing"
	elif stage_build fuzz CC=clang CXX=clang++ --enable-sanitizers CFLAGS="-g -O1 -fsanitize=fuzzer-no-link" &&
		run_quietly fuzz.log make -j"$jobs" fuzz-targets; then
		cd "$source_dir" || exit 99
		targets=$(sed -n 's/^FUZZ_TARGETS = //p' "$out/fuzz/Makefile")
		[ -n "$targets" ] || stage_failed "full: no fuzz targets"
		for target in $targets; do
			step "fuzz $target, seed $seed, $seconds s" fuzz_target "$target" "$seconds" "$seed"
		done
	else
		cd "$source_dir" || exit 99
		stage_failed "full: fuzz targets do not build"
	fi
	finish_steps
	BTREC_ALL_CASES=1 step "tests once more, with sanitizers, all cases" repeat_tests sanitizers
	for ((i = 1; i <= repeat; i++)); do
		step "tests once more, run $i" repeat_tests gcc-werror
		finish_steps
	done
}
