#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Proves on real hardware what the simulation cannot: tests/hardware/README.md.
import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser(description="Proves on real hardware what btrec claims of the processor's branch records.")
parser.add_argument("sources", nargs="*", metavar="lbr|bts|pt", help="which sources (all)")
parser.add_argument("--build", default=os.getcwd(), help="the build directory (the current one), after `make check TESTS=`")
arguments = parser.parse_args()
os.environ["abs_top_builddir"] = os.path.abspath(arguments.build)
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
sys.argv[1:] = []

from e2e import *
from recorded_branches import *

ROUNDS = int(os.environ.get("BTREC_PROVE_ROUNDS", "0")) # of each; fewer over a simulation, where nothing is left to chance
claims = []


def claim(source, text):
    """Registers the function below as what proves a claim about a source."""

    def register(function):
        claims.append((source, text, function))
        return function

    return register


def usable(source):
    """Skips where the source cannot be used, with btrec's own words. Returns the recording of a program that only ends."""
    result = record([build("status.S", *BARE)], ["--source", source, *KEEP])
    if result.status == 125:
        raise Skip(result.own_err.strip())
    return result


def caps(name):
    for pmu in ("cpu", "cpu_core"):
        try:
            with open("/sys/bus/event_source/devices/%s/caps/%s" % (pmu, name)) as file:
                return file.read().strip()
        except OSError:
            pass
    return None


# Without a C library, so that code is the same under the stepper, which refuses rseq.
def programs():
    return [[build(source, *BARE)] for source in ("conditionals.S", "transfers.S", "handlers.S", "jit.S")]


# LBR -------------------------------------------------------------------------------------------------------------------------

def lbr(argv):
    result = record(argv, ["--source", "lbr", *KEEP])
    if "no branches at faults" in result.own_err:
        raise Skip(result.own_err.splitlines()[0])
    return result


@claim("lbr", "the BPF programs load and the helper gives as many entries as the record is deep")
def _():
    usable("lbr")
    said = lbr([build("status.S", *BARE)])
    text = execute([BTREC, "info", said.trace]).out.decode()
    depth = caps("branches")
    check("at each fault and each switch" in text, "btrec info: " + text)
    check(not depth or "the last %s taken" % depth in text, "depth %s: %s" % (depth, text))


@claim("lbr", "what is recorded happened, in order, with nothing left out between gaps")
def _():
    usable("lbr")
    for argv in programs():
        for _ in range(ROUNDS or 20):
            check_truth(lbr(argv).trace, argv, os.path.basename(argv[0]), 5)


@claim("lbr", "windows are as the simulation has them: their ends at switches, one slot for the return from the kernel")
def _():
    usable("lbr")
    depth = int(caps("branches") or 0)
    if not depth:
        raise Skip("the kernel does not say how deep the record is (before Linux 5.12)")
    argv = [build("transfers.S", *BARE)]
    with open("/proc/cpuinfo") as file:
        cpu = file.read()
    # What came first in a window is not told there where the kernel leaves out returns from itself.
    ways = (True, False) if "AuthenticAMD" in cpu or " arch_lbr" in cpu else (True,)
    want = [expected(truth(argv), 1, depth, joined) for joined in ways]
    for _ in range(ROUNDS or 50): # until no interrupt and no preemption came in between
        if recorded(lbr(argv).trace, 1) in want:
            return
    raise Failure("of %d recordings none had the expected runs; the last: %s, expected %s" % (ROUNDS or 50, short(recorded(lbr(argv).trace, 1)), short(want)))


@claim("lbr", "code leads from the newest entry to the fault")
def _():
    usable("lbr")
    program = build("faults.c", *STATIC)
    for name in ("null-write", "divide-by-zero", "illegal", "fault-in-handler"):
        for _ in range(ROUNDS or 10):
            result = lbr([program, name])
            seen = report(result.trace)
            check(seen["branches"], name + ": no branches")
            walked = execute([BRANCHES, "-i", result.trace]).out.decode().splitlines()
            check(walked[-1] != "i ?", name + ": code does not lead from the last branch to the fault")


@claim("lbr", "a call of a null pointer is not recorded, and a gap says so")
def _():
    usable("lbr")
    rows = branches(lbr([build("faults.c", *STATIC), "call-null"]).trace)
    equal(rows[-1][2], "gap", "the last entry")


@claim("lbr", "each thread has its own")
def _():
    usable("lbr")
    result = lbr([build("branchy.c", "-pthread", *STATIC), "4", "200" if ROUNDS else "100000"])
    equal({row[0] for row in branches(result.trace) if row[2] == "jcc"}, {1, 2, 3, 4}, "threads with branches")


# BTS, PT ---------------------------------------------------------------------------------------------------------------------

def as_simulated(source, case):
    """The case of pmu_trace.py, with btrec itself on this machine."""
    usable(source)
    env = dict(os.environ, BTREC_HARDWARE=source)
    result = execute([sys.executable, os.path.join(HERE, "..", "e2e", "pmu_trace.py"), case], env=env, timeout=900)
    check(result.status == 0 and b"1 ok" in result.out, result.out.decode() + result.err.decode())


@claim("bts", "all taken branches, and nothing else")
def _():
    as_simulated("bts", "bts: all taken branches, and nothing else")


@claim("pt", "every branch, taken or not")
def _():
    as_simulated("pt", "pt: every branch, taken or not")


def main_loop():
    verdicts = []
    for source, text, function in claims:
        if arguments.sources and source not in arguments.sources:
            continue
        verdict, why = "proved", ""
        try:
            function()
        except Skip as skipped:
            verdict, why = "skipped", ": " + str(skipped)
        except Failure as failure:
            verdict, why = "REFUTED", ": " + str(failure)
        finally:
            reap()
        verdicts.append(verdict)
        print("%-7s %s: %s%s" % (verdict, source, text, why), flush=True)
    print("%d proved, %d refuted, %d skipped" % tuple(verdicts.count(v) for v in ("proved", "REFUTED", "skipped")))
    return 1 if "REFUTED" in verdicts else 0 if "proved" in verdicts else 77


if __name__ == "__main__":
    sys.exit(main_loop())
