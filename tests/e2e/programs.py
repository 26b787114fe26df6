#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Real programs print, write and return the same under btrec, byte for byte, and next to nothing of them runs outside the code cache.
# The short ones of real_programs.py; `./check --full` and `make bench-programs` run all.
from e2e import *
from real_programs import OTHERS, OUTSIDE_MOST, REQUIRED, SHORT, outside, run, there


def add(name, need, command):
    @case(name)
    def compared():
        if not there(need):
            raise Skip("%s is not there" % need)
        scratch, trace = fresh_dir("scratch"), fresh("trace")
        native = run(command, scratch)
        equal(native[0], 0, "status natively (%s)" % native[2].decode(errors="replace"))
        check(native[1], "natively it says nothing")
        recorded = run(command, scratch, [BTREC, "run", "--backend", "engine", "-q", "-o", trace, "--"])
        for name, got, expected in zip(("status", "stdout", "stderr", "files"), recorded, native):
            equal(got, expected, "%s (standard error: %s)" % (name, recorded[2].decode(errors="replace")[-300:]))
        stepped, share = outside(BTREC, trace)
        check(share <= OUTSIDE_MOST, "%s instructions ran outside the cache, %s %% of all" % (stepped, share))
        print("     recorded %.1f s, natively %.1f s" % (recorded[4], native[4]))


rows = [row for row in [*REQUIRED, *OTHERS] if row[0] in SHORT]
assert len(rows) == len(SHORT)
for row in rows:
    add(*row)

main(sanitized=3)
