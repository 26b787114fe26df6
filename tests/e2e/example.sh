#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The example of quickstart and README: recorded, it behaves as it does alone, and the report shows the crash and, among the
# branches, its cause. Its JSON, and that of programs that end otherwise, is valid by doc/report.schema.json.
source "${BTREC_SRCDIR:?run by make check}/tests/sh.bash" || exit 99

# btrec dies by the program's signal: keep the shell's word about it, and core files, out.
run() { (ulimit -c 0; exec "$@") 2>>"$work/stderr"; }

# recorded NAME ARGUMENTS... -- PROGRAM ARGUMENTS...
recorded() {
	local name=$1
	shift
	{ run "$BTREC" run -o "$work/trace-$name" "$@" >"$work/$name.out"; } 2>/dev/null
}

# A relative path, as make would give: the source is found all the same.
(cd "$BTREC_SRCDIR" && ${CC:-cc} -g -O1 -fno-inline -static -o "$work/stale" examples/stale.c) 2>"$work/cc.log" || skip "no static C library: $(tail -n 1 "$work/cc.log")"
{ run "$work/stale" >"$work/native.out"; } 2>/dev/null
native=$?
recorded stale "$work/stale"
status=$?
expect "the same end: $status, alone $native" test "$status" -eq "$native" -a "$status" -eq 139
expect "the same output" cmp "$work/native.out" "$work/stale.out"

expect_status 0 "$BTVIEW" --stdio -n 80 "$work/trace-stale"
cp "$work/out" "$work/report"
expect_text "$work/report" 'SIGSEGV \(SEGV_MAPERR\)'
expect_text "$work/report" 'read from 0x7d7 through r[a-z0-9]+ = 0x7cf, too small to be a pointer,'
expect_text "$work/report" 'account_charge .*stale\.c:'
expect_text "$work/report" '[0-9]+: if \(a->balance >= cents\)'
expect_text "$work/report" '#1 +checkout.* .*stale\.c:'
expect_text "$work/report" '#2 +main.* .*stale\.c:'
expect_text "$work/report" 'call +main.*-> cart_add .*stale\.c:'
expect_text "$work/report" 'call +checkout.*-> account_charge .*stale\.c:'
expect_text "$work/report" 'ret +customer_close.*-> main'

printf 'int main(void) { return 3; }\n' >"$work/three.c"
${CC:-cc} -g -static -o "$work/three" "$work/three.c"
recorded failure "$work/three"
expect "its status" test $? -eq 3
recorded kept --snap-exit always "$work/three"
recorded nothing --snap-exit never "$work/three"

validator=
for python in python3 /usr/bin/python3; do
	"$python" -c 'import jsonschema' 2>/dev/null && validator=$python && break
done
for name in stale failure kept nothing; do
	expect_status 0 "$BTVIEW" --json "$work/trace-$name"
	cp "$work/out" "$work/$name.json"
	if [ -n "$validator" ]; then
		expect "$name.json is valid" "$validator" -c 'import json, jsonschema, sys
jsonschema.validate(json.load(open(sys.argv[2])), json.load(open(sys.argv[1])))' "$BTREC_SRCDIR/doc/report.schema.json" "$work/$name.json"
	fi
done
[ "$failures" -gt 0 ] || [ -n "$validator" ] || skip "JSON was not validated: install the Debian package python3-jsonschema"
finish
