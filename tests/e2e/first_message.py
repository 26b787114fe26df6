#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The first write to standard error of a process that then fails: a moment of its own, and what happened, where nothing tells more.
from e2e import *

PROGRAM = "complains.c"
MESSAGE = "first message to standard error"


def complaining(way):
    return [build(PROGRAM, "-g", "-O0", "-pthread"), way]


def happened(trace, *options):
    return text(trace, *options).partition("\nWhat happened\n")[2].partition("\n\n")[0]


def place(function, mark):
    return r"%s(?:\+0x\w+)? \(%s:%d\)" % (function, PROGRAM, line_of(PROGRAM, mark))


def says(said, *expected):
    for pattern in expected:
        check(re.search(pattern, said), "%s is not said: %s" % (pattern, said))


def moments(trace):
    return [s["kind"] for s in report(trace, "-n", "1")["snapshots"]]


def first_frame(trace, *options):
    """Of the program's own."""
    for frame in report(trace, "-n", "1", *options)["threads"][0]["stack"]:
        if (frame["file"] or "").endswith(PROGRAM):
            return frame["function"], frame["line"]
    return None


WAYS = [  # way, status, functions and marks: of the message, of the exit (None: main has returned)
    ("exited", 3, ("refuse", "refuse"), ("exited", "exit")),
    ("returned", 3, ("refuse", "refuse"), None),
    ("twice", 3, ("twice", "first"), None),
    ("pieces", 3, ("in_pieces", "pieces"), None),
    ("thread", 5, ("refuse", "refuse"), ("refuse_and_exit", "exit-thread")),
    ("exec", 3, ("refuse", "refuse"), None),
]
CALLED = r"openat\(AT_FDCWD, \"/no/such/file\", O_RDONLY\) = -1 ENOENT" # what fails before the message; another call does so behind it

for way_ in WAYS:
    @case("a message, then an exit with failure: %s" % way_[0])
    def fails(way=way_):
        name, status, (function, mark), end = way
        recorded = same_as_native(complaining(name))[1]
        equal(recorded.status, status, "status")
        said = happened(recorded.trace)
        exit_place = ", at " + place(*end) if end else ""
        says(said, r"exit with status %d%s; its first message to standard error was written \d+ ticks? before, at %s" % (status, exit_place, place(function, mark)))
        equal(first_frame(recorded.trace), (function, line_of(PROGRAM, mark)), "the stack's first frame of the program")
        equal(moments(recorded.trace), ["message", "exit"], "moments")
        found = report(recorded.trace, "-n", "200")
        equal(found["verdict"]["state"], "consistent", "verdict")
        check(found["branches"], "no branches before the message")
        check(re.search(CALLED, said) and ("/no/such/folder" not in said or name == "exec"), "the call that failed before it: " + said)
        line = btview("--headline", "--", recorded.trace).out.decode()
        check(line.startswith("exited with %d: " % status) and "%s:%d" % (PROGRAM, line_of(PROGRAM, mark)) in line, "in one line: " + line)


@case("the same moment under engine and stepper, and side by side")
def same_moment():
    points = []
    for options in ["--backend", "engine"], ["--backend", "step"], ["--parallel"]:
        found = report(record(complaining("exited"), [*options, "--deterministic"]).trace)
        points.append([(s["kind"], s["ticks"]) for s in found["snapshots"]])
    equal([kind for kind, _ in points[0]], ["message", "exit"], "moments")
    equal(points[1:], points[:1] * 2, "moments")


@case("a program that ends well: nothing is kept, and nothing claimed")
def ends_well():
    recorded = same_as_native(complaining("well"))[1]
    equal((recorded.status, moments(recorded.trace)), (0, []), "status and moments")
    check("no moment of its end was kept: the program ended with 0" in happened(recorded.trace), happened(recorded.trace))
    size = sum(os.path.getsize(os.path.join(recorded.trace, name)) for name in os.listdir(recorded.trace))
    check(size < 20000, "%d bytes" % size)


@case("what tells more comes first: a crash, an abort")
def crashes():
    for way, mark, sentence in ("null", "null", "null pointer"), ("abort", "abort", "abort was called"):
        recorded = record(complaining(way))
        said = happened(recorded.trace)
        says(said, sentence)
        check("message" not in said and "message" not in moments(recorded.trace), said)


@case("a message long before the end: the end is what happened, and the distance is said")
def long_before():
    recorded = record(complaining("long-before"))
    said = happened(recorded.trace)
    says(said, r"exit with status 3; its first message to standard error was written 20\d{5} ticks before, at %s \(--snapshot 1\)" % place("refuse", "refuse"))
    equal(first_frame(recorded.trace), ("long_before", line_of(PROGRAM, "exit-long-after")), "the stack's first frame of the program")
    equal(first_frame(recorded.trace, "--snapshot", "1"), ("refuse", line_of(PROGRAM, "refuse")), "of the message")


@case("another thread wrote it: the end is what happened")
def other_thread():
    recorded = record(complaining("other-thread"))
    says(happened(recorded.trace), "exit with status 5; its first message to standard error was written, at " + place("refuse", "refuse"))
    equal(first_frame(recorded.trace), ("refuse_and_exit", line_of(PROGRAM, "exit-thread")), "the stack's first frame of the program")


@case("a handler of a fault wrote it: the fault is what happened")
def handler():
    recorded = record(complaining("handler"))
    says(happened(recorded.trace), r"exit with status 6; the SIGSEGV before it, which a handler got: .*null pointer.*, at " + place("handled", "handled"))


@case("a child failed before: that is said, and the child's message is its last moment")
def child():
    recorded = record(complaining("child"))
    equal(recorded.status, 3, "status")
    says(happened(recorded.trace), r"exit with status 3; before that task 2 .* exited with status 4, at %s: refused: in a child" % place("of_a_child", "exit-child"))
    for way in "child", "child-alone":
        trace = record(complaining(way)).trace
        failures = report(trace, "-n", "1")["failures"]
        shown = str(failures[0]["snapshot"])
        equal(report(trace, "-n", "1")["snapshots"][int(shown) - 1]["kind"], "message", "the child's moment")
        equal(first_frame(trace, "--snapshot", shown), ("refuse", line_of(PROGRAM, "refuse")), "the child's stack")
        found = report(trace, "-n", "200", "--snapshot", shown)
        check(found["branches"] and found["verdict"]["state"] == "consistent", "the child's branches")


@case("--snap-exit never: the message is shown, where the program fails")
def never():
    recorded = record(complaining("returned"), ["--snap-exit", "never"])
    equal(moments(recorded.trace), ["message"], "moments")
    says(happened(recorded.trace), "exit with status 3; its first message to standard error was written, at " + place("refuse", "refuse"))
    check(report(recorded.trace)["branches"], "no branches")
    equal(moments(record(complaining("well"), ["--snap-exit", "never"]).trace), [], "moments of a program that ends well")


@case("a message that begins with an empty line: the headline has the first line that says something")
def blank_line():
    line = btview("--headline", "--", record(complaining("blank-line")).trace).out.decode()
    check("refused: too old" in line, "the message's words: " + line)


@case("the shell: the command that failed is what happened")
def shells():
    program, way = complaining("exited")
    for script, status in ("%s %s || { echo it failed >&2; exit 7; }" % (program, way), 7), ("%s %s" % (program, way) + "; exit $?", 3):
        recorded = record(["sh", "-c", script])
        equal(recorded.status, status, "status")
        says(happened(recorded.trace), r"exit with status 3, at %s; its first message .*; after it sh \(task 1\) exited with status %d" %
             (place("exited", "exit"), status))
        line = btview("--headline", "--", recorded.trace).out.decode()
        check("%s:%d" % (PROGRAM, line_of(PROGRAM, "refuse")) in line, "in one line: " + line)


main()
