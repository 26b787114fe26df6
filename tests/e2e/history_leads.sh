#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs of every sort are recorded, and each history must lead, instruction by instruction, from one entry to the next
# (tests/tools/check_history). Nothing here knows what the programs do.
source "${BTREC_SRCDIR:?run by make check}/tests/sh.bash" || exit 99
programs=$BTREC_SRCDIR/tests/programs
check=$BTREC_BUILDDIR/tests/tools/check_history
read -ra cc <<<"$CC"

build() { # build NAME SOURCE FLAG...
	local name=$1 source=$2
	shift 2
	"${cc[@]}" -g -O1 -o "$work/$name" "$programs/$source" "$@" 2>"$work/$name.log" && return
	cat "$work/$name.log"
	fail "$name does not compile"
}

# leads NAME ARG...: records the program, which ends as it does natively, and checks its trace.
leads() {
	local name=$1 native recorded
	rm -rf "$work/trace"
	{ timeout 100 "$work/$name" "${@:2}" >"$work/out" 2>"$work/err"; } 2>"$work/killed"
	native=$?
	{ timeout 100 "$BTREC" run --snap-exit always -o "$work/trace" "$work/$name" "${@:2}" >"$work/out" 2>"$work/err"; } 2>"$work/killed"
	recorded=$?
	if [ ! -d "$work/trace" ]; then
		cat "$work/err"
		grep -q "ptrace" "$work/err" && skip "no permission to ptrace"
		fail "$* was not recorded"
		return
	fi
	expect "$*" "$check" "$work/trace"
	[ "$native" -ne 124 ] && [ "$recorded" -eq "$native" ] || fail "$* ended with $recorded, natively with $native: $(cat "$work/err")"
}

ulimit -c 0
build faults faults.c -static -D_GNU_SOURCE
build threads threads.c -static -D_GNU_SOURCE -pthread
build tree tree.c -static -D_GNU_SOURCE
build storm storm.c -static -D_GNU_SOURCE -pthread
build workload workload.c -nostdlib -static -ffreestanding -fno-stack-protector
for source in conditionals transfers handlers jit; do
	build "$source" "$source.S" -nostdlib -static -I"$programs"
	leads "$source"
done
for fault in null-write call-null call-non-canonical ret-unmapped stack-overflow-handled divide-by-zero breakpoint \
	fault-in-handler handled-then-fatal seccomp-trap; do
	leads faults "$fault"
done
leads workload
leads storm restarted-reads
leads storm between-threads
leads storm child-ends
leads threads crash
leads threads exit-group
leads threads thread-execs "$work/transfers"
leads tree fork-crash
leads tree fork-exec "$work/transfers"
leads tree vfork-exec "$work/transfers"
leads tree children
finish
