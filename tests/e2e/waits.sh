#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Calls that wait are not disturbed: by a snapshot (QUIRK interrupt-eintr), nor by stepping with SIGTRAP blocked (setsigmask-restore).
source "${BTREC_SRCDIR:?run by make check}/tests/sh.bash" || exit 99
${CC:-cc} -g -O1 -static -o "$work/waits" "$BTREC_SRCDIR/tests/programs/waits.c" 2>"$work/cc.log" ||
	skip "no static C library: $(tail -n 1 "$work/cc.log")"

"$work/waits" masked >"$work/native" || fail "natively it ends with $?"
"$BTREC" run --quiet -o "$work/t1" "$work/waits" masked >"$work/recorded" || fail "recorded it ends with $?"
expect "it has taken three signals" test "$(grep -c '^-1 .*handled [123], blocked USR1 1 TRAP 1$' "$work/native")" -eq 3
expect "signals under a temporary mask come as they do natively" diff "$work/native" "$work/recorded"

"$BTREC" run --quiet -o "$work/t2" "$work/waits" eintr >"$work/out" &
recorder=$!
for ((i = 0; i < 300; i++)); do
	grep -q waiting "$work/out" && break
	sleep 0.1
done
sleep 0.5
"$BTREC" snap "$recorder" >"$work/snap" 2>&1
expect "a snapshot is taken while it waits" test $? -eq 0
wait "$recorder" || fail "recorded it ends with $?"
expect_text "$work/out" '^0 timeout$'
expect "the snapshot is in the trace" grep -q '^SNAPSHOT .* kind=4 ' <("$BTREC" dump "$work/t2")
finish
