#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A tree in which something fails: what is kept of the processes that are not the first, what the report and the viewer say of them, and that nothing
# that was handled is taken for the end.
import shlex

from e2e import *

SHORT, SECOND, MOST = 256, 32, 1000 # exits with failure: branches of each, how many in a second, how many in a trace


def shell(*argv):
    """A command line of sh."""
    return " ".join(map(shlex.quote, argv))


def failing(*ways):
    return [build("failing.c", *STATIC), *ways]


def dump(trace, kind):
    """The fields of the records of one kind, in order."""
    lines = execute([BTREC, "dump", trace]).out.decode(errors="replace").splitlines()
    return [dict(re.findall(r"(\w+)=(\S+)", line)) for line in lines if line.startswith(kind + " ")]


def number(fields, name):
    return int(fields[name], 0)


def kept(trace, kind):
    """Snapshots of one kind: (number, task)."""
    found = report(trace, "-n", "1")["snapshots"]
    return [(i + 1, s["task"]) for i, s in enumerate(found) if s["kind"] == kind]


def suppressed(trace, kind):
    return sum(number(s, "count") for s in dump(trace, "SUPPRESSED") if number(s, "kind") == kind)


def functions(thread):
    return [frame["function"] for frame in thread["stack"]]


@case("a compiler-like child of make dies: its registers, its whole stack and history are in the trace")
def killed_child():
    folder = fresh_dir("make")
    with open(os.path.join(folder, "Makefile"), "w") as file:
        file.write("all:\n\t@test -d /; %s\n" % shell(*failing("work=5000", "say=in-x.c", "null")))
    alone, recorded = same_as_native(["make", "-C", folder])
    equal(alone.status, 2, "native end")
    fatal = kept(recorded.trace, "fatal")
    equal(len(fatal), 1, "deaths that are kept")
    number_, task = fatal[0]
    for found in report(recorded.trace, "-n", "100000"), report(recorded.trace, "-n", "100000", "--snapshot", str(number_)):
        equal((found["fault"]["signal"], found["fault"]["task"]), ("SIGSEGV", task), "the fault")
        thread = found["threads"][0]
        equal(functions(thread)[:5], ["parse"] * 4 + ["main"], "stack")
        equal((thread["stack"][0]["line"], thread["stack_end"]), (line_of("failing.c", "parse"), "outermost"), "stack")
        equal(int(thread["registers"]["rip"], 0), int(found["fault"]["pc"], 0), "rip")
        jccs = [b for b in found["branches"] if b["kind"] == "jcc" and b["from"]["function"] == "work"]
        equal((len(jccs), found["gaps"]), (5001, []), "branches of the loop, and gaps")
        equal(found["verdict"]["state"], "consistent", "verdict")


@case("a child that is killed by SIGKILL is kept whole")
def killed_outside():
    result = record(["sh", "-c", "%s & sleep 0.2; kill -KILL $!; wait $!; exit 3" % shell(*failing("work=1000", "work=1000000000000"))])
    equal(result.status, 3, "end")
    fatal = kept(result.trace, "fatal")
    equal(len(fatal), 1, "deaths that are kept")
    found = report(result.trace, "--snapshot", str(fatal[0][0]), "-n", "1000")
    equal(functions(found["threads"][0])[:2], ["work", "main"], "stack")
    check(found["branches"] and found["verdict"]["state"] == "consistent", "branches")


@case("an exit with failure of a process that is not the first keeps its newest branches and what it said")
def failed_child():
    result = record(["sh", "-c", shell(*failing("say=no such thing", "work=3000", "exit=4")) + "; exit 0"])
    equal(result.status, 0, "end")
    failures = kept(result.trace, "failure")
    equal(len(failures), 1, "failures that are kept")
    number_, task = failures[0]
    found = report(result.trace, "--snapshot", str(number_), "-n", "100000")
    thread = found["threads"][0]
    equal((thread["task"], thread["in_syscall"]), (task, "exit_group"), "whose moment")
    leads = [b["from"]["function"] for b in found["branches"] if b["kind"] == "call"]
    check("give_up" in leads, "the branches do not show who called exit: %s" % leads)
    check(SHORT // 2 < len(found["branches"]) <= SHORT, "%d branches" % len(found["branches"]))
    equal([gap["reason"] for gap in found["gaps"]], ["not-kept"], "gaps")
    equal(found["verdict"]["state"], "consistent", "verdict")
    said = text(result.trace, "--snapshot", str(number_))
    check("\n  exit with status 4\n" in said and "\n  no such thing\n" in said, said)


@case("--snap-exit: never keeps no exit, failure the first process's whole and of others the newest branches, always all whole")
def snap_exit():
    script = shell(*failing("work=3000", "exit=4")) + "; exit 5"
    for when, exits, failures in (("never", 0, 0), ("failure", 1, 1), ("always", 2, 0)):
        trace = record(["sh", "-c", script], ["--snap-exit", when]).trace
        equal((len(kept(trace, "exit")), len(kept(trace, "failure"))), (exits, failures), "--snap-exit %s" % when)
        equal(suppressed(trace, 6), 0, "suppressed with --snap-exit %s" % when)
    trace = record(["sh", "-c", "(exit 0); exit 0"]).trace
    equal([s["kind"] for s in report(trace, "-n", "1")["snapshots"]], ["signal"], "of ends without failure")


@case("of thousands of exits with failure at most 32 a second and 1,000 a trace are kept, and the rest is counted")
def rate_limit():
    result = record(failing("children=3000"), ["-q"])
    equal(result.status, 0, "end")
    times = [number(s, "time") for s in dump(result.trace, "SNAPSHOT") if number(s, "kind") == 6]
    equal(len(times) + suppressed(result.trace, 6), 3000, "kept and suppressed")
    check(SECOND <= len(times) <= MOST, "%d are kept" % len(times))
    # The clock is read again for the record, behind what is written before it.
    close = [b - a for a, b in zip(times, times[SECOND:]) if b - a < 990000000]
    equal(close, [], "times in which more than %d were kept" % SECOND)


main()
