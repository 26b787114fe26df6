#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# --parallel: threads under the engine run side by side. Programs that look themselves whether what they share is right
# (programs/parallel.c), and histories that the code bears out, task by task.
import os
import subprocess

from e2e import *

CHECK = os.path.join(BUILD, "tests/tools/check_history")
OPTIONS = ["--backend", "engine", "--parallel"]
KEEP = ["--snap-exit", "always", "--history", "50000"]
QUIET = """handed-over whole traded came-and-went many same-page for-others mapped two-mappings descriptors children signalled faulted
one-call unmapped mapped-over rewritten rewritten-elsewhere""".split()
CRASHES = ["crashes", "crash-at-once"]


def program():
    return build("parallel.c", "-pthread", "-mcx16")


def history_holds(trace):
    done = subprocess.run([CHECK, trace], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    equal(done.returncode, 0, "check_history: %s" % done.stdout.decode(errors="replace")[:400])


def dumped(trace, kind):
    return [line for line in execute([BTREC, "dump", trace], cwd=TMP).out.decode(errors="replace").splitlines() if line.startswith(kind + " ")]


def takes_turns(trace):
    return any("take turns" in line for line in dumped(trace, "NOTE"))


def add(name):
    @case("side by side: " + name)
    def run():
        recorded = record([program(), name], [*OPTIONS, *KEEP])
        equal((recorded.status, recorded.out), (0, b"0 wrong\n"), "end and what was wrong")
        history_holds(recorded.trace)
        equal(dumped(recorded.trace, "SWITCH"), [], "turns")
        equal(takes_turns(recorded.trace), name in ("many", "unmapped"), "a note that says that turns are taken")


for each in QUIET:
    add(each)


@case("side by side, only counted: as recorded")
def counted():
    for name in ("whole", "came-and-went", "mapped"):
        recorded = record([program(), name], [*OPTIONS, "--history", "off"])
        equal((recorded.status, recorded.out), (0, b"0 wrong\n"), name)


@case("side by side, now recorded, now only counted")
def switched():
    for name in ("traded", "for-others"):
        recorded = record([program(), name], [*OPTIONS, "--switch-history"])
        equal((recorded.status, recorded.out), (0, b"0 wrong\n"), name)


@case("two threads run at a time: one waits for what the other does without a system call")
def overlap():
    recorded = record([build("side_by_side.c", "-pthread")], OPTIONS)
    equal(recorded.status, 0, "status: " + recorded.err.decode())
    equal(dumped(recorded.trace, "SWITCH"), [], "turns")
    info = execute([BTREC, "info", recorded.trace]).out.decode()
    check("threads of a process ran side by side" in info and "not possible: threads ran side by side" in info, info)
    check(report(recorded.trace)["trace"]["parallel"], "the report's JSON does not say it")


@case("in turns, unless told: the trace says so")
def in_turns():
    recorded = record([program(), "whole"], ["--backend", "engine"])
    equal((recorded.status, recorded.out), (0, b"0 wrong\n"), "end and what was wrong")
    check("side by side" not in execute([BTREC, "info", recorded.trace]).out.decode(), "info")
    check(not report(recorded.trace)["trace"]["parallel"], "JSON")


@case("in turns: a thread takes away what the engine keeps while others run")
def in_turns_taken():
    for name in ("unmapped", "mapped-over"):
        recorded = record([program(), name], ["--backend", "engine", *KEEP])
        equal((recorded.status, recorded.out), (0, b"0 wrong\n"), name)
        history_holds(recorded.trace)


@case("--parallel does not go with the stepper: one line, 125")
def not_stepped():
    refused = record(["/bin/true"], ["--backend", "step", "--parallel"])
    equal((refused.status, refused.own_err.count("\n")), (125, 1), "status, lines")
    check("--parallel does not go with --backend step" in refused.own_err, refused.own_err)
    for options in (["--parallel"], ["--parallel", "--backend", "pmu", "--source", "none"], ["--parallel", "--history", "off"]):
        equal(record(["/bin/true"], options).status, 0, " ".join(options))


@case("a crash among threads that run: the stacks and histories of all")
def crash():
    alone, recorded = same_as_native([program(), "crashes"], OPTIONS)
    seen = report(recorded.trace)
    equal((seen["fault"]["signal"], seen["threads"][0]["stack"][0]["function"]), ("SIGSEGV", "crash"), "fault")
    equal(len(seen["threads"]), 6, "threads")
    spinning = [t["stack"] for t in seen["threads"] if t["stack"][0]["function"] in ("spin_until_done", "deep")]
    equal(len(spinning), 4, "threads in their loops")
    for n, stack in enumerate(sorted(spinning, key=len)):
        equal(sum(f["function"] in ("spin_until_done", "deep") for f in stack) - (stack[0]["function"] == "spin_until_done"), n + 2, "calls of deep()")
    equal(seen["verdict"]["state"], "consistent", "verdict")
    history_holds(recorded.trace)


@case("threads that crash at once: one death, one fatal snapshot")
def crashes():
    for _ in range(3):
        alone, recorded = same_as_native([program(), "crash-at-once"], OPTIONS)
        seen = report(recorded.trace)
        equal(seen["fault"]["signal"], "SIGSEGV", "signal")
        equal([s["kind"] for s in seen["snapshots"]].count("fatal"), 1, "fatal snapshots")
        equal(seen["verdict"]["state"], "consistent", "verdict")
        history_holds(recorded.trace)


@case("side by side: every case is tried")
def all_tried():
    equal(sorted(native([program()]).out.decode().split()), sorted(QUIET + CRASHES), "cases")


main()
