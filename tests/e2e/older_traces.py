#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Traces that an older btrec wrote (older/, an archive for each commit that wrote some) still open, and say the same: what `btrec dump` of that
# commit printed lies beside each. They were made of tests/programs: cycles, die, handlers, jit and returns (stepped: jit by the stepper;
# ticks: handlers without history; short: cycles with 200 branches of history), and, with musl, of threads and forks (parallel, tree, from).
# sorted has its source beside it: it has a graph of branches, and a log.
import tarfile

from e2e import *

# Fields that records have got since, as a trace without them reads.
LATER = {b"SNAPSHOT": b" brief=0", b"THREAD": b" extended=[0]", b"SYSCALL_ENTER": b" pointed=[0]", b"CALLS": b" details=[0]", b"END": b" code_left_out=0",
         b"LOG_CALL": b" told=0", b"LOG_SHAPE": b" dev=0x0 ino=0x0 offset=0x0 shared=0"}

OLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "older")


def traces():
    """Path of each trace, unpacked."""
    for archive in sorted(os.listdir(OLDER)):
        with tarfile.open(os.path.join(OLDER, archive)) as tar:
            tar.extractall(TMP)
    return sorted(name[:-len(".dump")] for folder, _, names in os.walk(TMP) for name in (os.path.join(folder, n) for n in names)
                  if name.endswith(".dump"))


def as_now(line):
    """With the fields that its record has got since."""
    later = LATER.get(line.split(b" ", 1)[0], b"")
    return line + b"".join(b" " + field for field in later.split() if b" " + field.split(b"=")[0] + b"=" not in line)


def each(what):
    for trace in ALL:
        what(trace, os.path.basename(trace))


ALL = traces()


@case("they are there")
def there():
    check(len(ALL) >= 12, "traces: %s" % ALL)


@case("btrec dump prints what it printed then")
def dumps():
    def dump(trace, name):
        result = execute([BTREC, "dump", trace])
        equal(result.status, 0, "status of dump, %s: %s" % (name, result.err))
        with open(trace + ".dump", "rb") as file:
            expected = [as_now(line) for line in file.read().split(b"\n")]
        equal(result.out.split(b"\n"), expected, "dump of %s" % name)
    each(dump)


@case("btrec info and btview read them")
def reads():
    def read(trace, name):
        for argv in ([BTREC, "info", trace], [BTVIEW, "--stdio", trace], [BTVIEW, "--json", trace]):
            result = execute(argv, cwd=TMP)
            equal(result.status, 0, "status of %s, %s: %s" % (argv[:2], name, result.err))
    each(read)


@case("how the program ended, its branches and whether they are consistent")
def told():
    seven = {"kind": "status", "status": 7}
    ends = {"threads": {"kind": "signal", "signal": "SIGSEGV"}, "parallel": seven, "from": seven, "sorted": {"kind": "status", "status": 5}}

    def tell(trace, name):
        found = report(trace)
        equal(found["exit"], ends.get(name, {"kind": "status", "status": 0}), "end of %s" % name)
        if name == "threads":
            equal((found["fault"]["signal"], len(found["branches"])), ("SIGSEGV", 26), "fault of threads")
        check(found["verdict"] is None or found["verdict"]["state"] == "consistent", "verdict of %s: %s" % (name, found["verdict"]))
    each(tell)


@case("a log is replayed, and the branches before its end are those that were recorded")
def replays():
    replayed = 0
    for trace in ALL:
        if not os.path.exists(os.path.join(trace, "log-1")):
            continue
        # None of these programs asks what the processor has.
        result = execute([BTREC, "replay", "--force", trace], cwd=TMP)
        with open(trace + ".out", "rb") as file:
            equal((result.status, result.out), (0, file.read()), "status and output (%s)" % result.err)
        check(b"exited with 5" in result.err, result.err)
        made = fresh("window")
        equal(execute([BTREC, "replay", "--force", "-q", "--no-output", "--window", "..", "-o", made, trace]).status, 0, "status of --window")
        check(branches(made) == branches(trace), "other branches in the window")
        with open(trace + ".dump", "rb") as file:
            check(b"\nBRANCH_GRAPH " in file.read(), "it has no graph")
        replayed += 1
    equal(replayed, 1, "traces that have a log")


main()
