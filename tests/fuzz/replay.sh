#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every fuzz target over its corpus, which is made now, and over changes of it.
source "${BTREC_SRCDIR:?run by make check}/tests/sh.bash" || exit 99
fuzz=$BTREC_BUILDDIR/tests/fuzz
ASAN_OPTIONS=$ASAN_OPTIONS:allocator_may_return_null=1 # libdw asks for more than its limit
for replay in "$fuzz"/replay_*; do
	[ -x "$replay" ] && [ -f "$replay" ] || continue
	case $replay in *.o) continue ;; esac
	target=${replay##*/replay_}
	mkdir "$work/$target"
	expect "corpus of $target" "$fuzz/generate_corpus" "$target" "$work/$target"
	script=$BTREC_SRCDIR/tests/fuzz/corpus_$target.sh # of what compilers make
	[ ! -e "$script" ] || expect "more of it" "$script" "$work/$target"
	changes=200
	[ "$target" != elf ] || changes=40 # each takes milliseconds
	expect "replay of $target" "$replay" -m "$changes" "$work/$target"
done
for source in "$BTREC_SRCDIR"/tests/fuzz/fuzz_*.c; do # the long check goes by that list
	target=${source##*/fuzz_}
	expect "there was a replay of ${target%.c}" test -d "$work/${target%.c}"
	expect "FUZZ_TARGETS names ${target%.c}" grep -qE "^FUZZ_TARGETS = .*\<${target%.c}\>" "$BTREC_SRCDIR/tests/local.mk"
done
finish
