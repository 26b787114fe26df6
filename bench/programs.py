#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# programs.py [--complete] BUILDDIR [NAME...]: do real programs (tests/e2e/real_programs.py) do the same under btrec? Prints a table:
# same output, exit status, instructions that ran outside of the code cache and their share of all (as far as `btrec info` says so), wall time
# against native. Fails if one does not, or more than 0.1 % ran outside; with --complete also if one of those promised is not installed.
# BTREC_BACKEND (engine) is the backend; BTREC_TIMEOUT (300) how many seconds one run may take.
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "e2e"))
from real_programs import OTHERS, OUTSIDE_MOST, REQUIRED, different, outside, run, there

BACKEND = os.environ.get("BTREC_BACKEND", "engine")
ASKED_AGAIN = 3


def verdict(native, recorded, again, required):
    """What is the same, and whether that fails. What differs from one native run to the next is left out."""
    found = different(native, recorded)
    for _ in range(ASKED_AGAIN if found else 0):
        found -= different(native, again())
    if native[0] == "hangs":
        found.add("it does not end natively")
    if required and (native[0] or not native[1]):
        found.add("natively it fails: status %s" % native[0])
    if found:
        return "NO: " + ", ".join(sorted(found)), True
    return "yes" if not different(native, recorded) else "yes, but for what differs natively, too", False


def main():
    arguments = [a for a in sys.argv[1:] if a != "--complete"]
    build, wanted, complete = os.path.abspath(arguments[0]), arguments[1:], "--complete" in sys.argv
    btrec = os.path.join(build, "btrec")
    scratch = tempfile.mkdtemp(prefix="btrec-programs.")
    trace = os.path.join(scratch, "trace")
    count, failed, over, missing, lacking = 0, [], [], [], []
    print("| program | same | exit | instructions outside the cache | % of all, at most | time / native |\n|---|---|---|---|---|---|", flush=True)
    try:
        for required, (name, need, command) in [*((True, row) for row in REQUIRED), *((False, row) for row in OTHERS)]:
            if wanted and not any(w in name for w in wanted):
                continue
            if not there(need):
                print("| %s | not installed | | | | |" % name, flush=True)
                (lacking if required and complete else missing).append(name)
                continue
            native = run(command, scratch)
            recorded = run(command, scratch, [btrec, "run", "--backend", BACKEND, "-q", "-o", trace, "--"])
            same, fails = verdict(native, recorded, lambda: run(command, scratch), required)
            count += 1
            stepped, share = outside(btrec, trace)
            line = "| %s | %s | %s | %s | %.4f | %.1f |" % (name, same, recorded[0], stepped, share, recorded[4] / native[4])
            print(line, flush=True)
            if fails:
                failed.append(line)
            if BACKEND == "engine" and share > OUTSIDE_MOST:
                over.append(line)
            for a, b in zip(native[1:3], recorded[1:3]) if wanted or fails else ():
                if a != b:
                    print("  natively: %r\n  recorded: %r" % (a[-1500:], b[-1500:]))
            shutil.rmtree(trace, True)
    finally:
        shutil.rmtree(scratch, True)
    for what, lines in (("not the same", failed), ("more than %.1f %% outside the cache" % OUTSIDE_MOST, over), ("promised, and not installed", lacking)):
        if lines:
            print("%s:" % what, *lines, sep="\n  ")
    if missing:
        print("not installed: " + "; ".join(missing))
    print("%d programs, %d not the same, %d with more than %.1f %% outside the cache, %d not installed; backend %s, %s" %
          (count, len(failed), len(over), OUTSIDE_MOST, len(missing) + len(lacking), BACKEND, os.uname().release))
    sys.exit(1 if failed or over or lacking or not count else 0)


main()
