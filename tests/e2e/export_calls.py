#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# btview --export folded and perfetto: calls by the branch history, in the forms that other programs read.
from e2e import *

SOURCE = r"""
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int n;
__attribute__((noinline)) static void inner(int times) { for (int i = 0; i < times; i++) n += i & 1; }
__attribute__((noinline)) static void outer(int depth) { if (depth) outer(depth - 1); else inner(3); inner(depth); }
static void handle(int number) { inner(number); }
static volatile int done;
static void *thread(void *arg) { outer(2); done = 1; for (;;) pause(); return arg; } // one that has ended keeps no history
int main(int argc, char **argv)
{
    pthread_t t;
    signal(SIGUSR1, handle);
    outer(argc > 1 ? atoi(argv[1]) : 4);
    raise(SIGUSR1);
    pthread_create(&t, 0, thread, 0);
    while (!done) usleep(1000);
    return *(volatile int *)0;
}
"""


def made(name="calls"):
    source = os.path.join(TMP, "calls.c")
    with open(source, "w") as file:
        file.write(SOURCE)
    program = os.path.join(fresh_dir("bin"), name)
    equal(execute([*CC, "-g", "-O0", "-w", *STATIC, "-pthread", source, "-o", program]).status, 0, "build")
    return program


def folded(trace, *options):
    """Stacks as flamegraph.pl reads them: what is before the last blank, and the number behind it."""
    stacks = {}
    for line in btview("--export", "folded", *options, trace).out.decode().splitlines():
        found = re.fullmatch(r"([^;]+(?:;[^;]+)*) ([1-9][0-9]*)", line)
        check(found, "not a folded stack: " + line)
        check(found[1] not in stacks, "twice: " + line)
        stacks[found[1]] = int(found[2])
    return stacks


def entries(trace):
    return [row for row in branches(trace) if row[2] != "gap"]


# There is no schema of JSON that is published, but a description: "Trace Event Format" (docs.google.com/document/d/
# 1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU), sections JSON Object Format, Duration, Instant and Metadata Events. Perfetto reads
# it in src/trace_processor/importers/json/: numbers of 32 bits for pid and tid, names of threads by tid alone, and any other phase,
# scope or kind of metadata is dropped in silence. So: what an event of each phase has, all of it and nothing else.
WORD = lambda value: type(value) is int and 0 <= value < 1 << 32
TIME = lambda value: type(value) is int and 0 <= value < 1 << 63
NAME = lambda value: type(value) is str and value != ""
EVENT = {"ph": NAME, "pid": WORD, "tid": WORD, "ts": TIME}
PHASES = {
    "B": {**EVENT, "name": NAME},
    "E": EVENT,
    "i": {**EVENT, "name": NAME, "s": lambda value: value in ("g", "p", "t"), "args": lambda value: list(value) == ["reason"] and NAME(value["reason"])},
    "M": {**EVENT, "name": lambda value: value in ("process_name", "thread_name"), "args": lambda value: list(value) == ["name"] and NAME(value["name"])},
}
WHOLE = {
    "displayTimeUnit": lambda value: value in ("ms", "ns"),
    "otherData": lambda value: all(type(text) is str for text in value.values()),
    "traceEvents": lambda value: type(value) is list,
}


def fits(value, shape):
    return isinstance(value, dict) and set(value) == set(shape) and all(is_one(value[key]) for key, is_one in shape.items())


def no_double(pairs):
    equal(len({key for key, value in pairs}), len(pairs), "a key that is there twice: %s" % pairs)
    return dict(pairs)


def check_events(found):
    """The events of a file of the Trace Event Format, each as the description has it, and all of them in an order that makes tracks."""
    check(fits(found, WHOLE), "not the object: %s" % list(found))
    open_slices, times, named, process = {}, {}, set(), {}
    for event in found["traceEvents"]:
        check(event.get("ph") in PHASES and fits(event, PHASES[event["ph"]]), str(event))
        track = event["pid"], event["tid"]
        equal(process.setdefault(event["tid"], event["pid"]), event["pid"], "process of thread %d" % event["tid"])
        if event["ph"] == "M":
            check((event["name"], *track) not in named, "named twice: %s" % event)
            named.add((event["name"], *track))
            continue
        check(event["ts"] >= times.get(track, 0), "time goes back: %s" % event)
        times[track] = event["ts"]
        check({("process_name", *track), ("thread_name", *track)} <= named, "before its names: %s" % event)
        if event["ph"] == "B":
            open_slices.setdefault(track, []).append(event["name"])
        elif event["ph"] == "E":
            check(open_slices.get(track), "ends nothing: %s" % event)
            open_slices[track].pop()
    equal([names for names in open_slices.values() if names], [], "slices left open")


def events(trace, *options):
    found = json.loads(btview("--export", "perfetto", *options, trace).out.decode("ascii"), object_pairs_hook=no_double)
    check_events(found)
    return found["traceEvents"]


@case("folded: each branch is counted once, with its stack")
def counts():
    trace = record([made()]).trace
    stacks = folded(trace)
    rows = entries(trace)
    equal(sum(stacks.values()), len(rows), "sum")
    # By the calls alone: each level but the last is where a call was made.
    data = report(trace, "-n", 1 << 20)
    within = lambda name: sum(1 for b in data["branches"] if b["from"]["function"] == name)
    for name in ("inner", "outer", "handle"):
        equal(sum(n for stack, n in stacks.items() if ";main;" in stack and stack.split(";")[-1] == name), within(name), "branches in " + name)
    deepest = [stack for stack in stacks if stack.endswith(";main" + 5 * ";outer" + ";inner")]
    equal(len(deepest), 1, "the deepest stack")
    check(9 <= stacks[deepest[0]] < 20, "its branches, of three rounds and of none: %d" % stacks[deepest[0]])
    check(any(stack.endswith(";handle;inner") for stack in stacks), "of a handler")
    check(any(re.search(r";thread;outer;outer;outer;inner$", stack) for stack in stacks), "of the thread")


@case("folded: calls that are hundreds deep")
def deep():
    stacks = folded(record([made(), "400"]).trace)
    equal(max(stack.count(";outer") for stack in stacks), 401, "the deepest stack")


@case("perfetto: slices nest, each track has its names, a call is a slice")
def slices():
    trace = record([made()]).trace
    data = report(trace, "-n", 1 << 20)
    task = data["threads"][0]["task"]
    found = [event for event in events(trace, "--thread", task) if event["ph"] == "B"]
    for name in ("inner", "outer", "handle", "main"):
        calls = sum(1 for b in data["branches"] if b["kind"] in ("call", "icall", "async") and b["to"]["function"] == name and b["to"]["offset"] == 0)
        equal(sum(1 for event in found if event["name"] == name), calls, "slices of " + name)
    equal(len({event["tid"] for event in events(trace)}), 2, "tracks")


@case("perfetto: what its description does not allow is found")
def refused():
    names = [{"ph": "M", "pid": 1, "tid": 1, "ts": 0, "name": name, "args": {"name": "x"}} for name in ("process_name", "thread_name")]
    begin, end = {"ph": "B", "pid": 1, "tid": 1, "ts": 5, "name": "main"}, {"ph": "E", "pid": 1, "tid": 1, "ts": 6}
    gap = {"ph": "i", "pid": 1, "tid": 1, "ts": 6, "name": "gap", "s": "t", "args": {"reason": "lost"}}
    whole = lambda *found: {"displayTimeUnit": "ns", "otherData": {}, "traceEvents": [*names, *found]}
    check_events(whole(begin, end, gap))
    wrong = [
        [begin], [end], [begin, {**end, "ts": 4}], [{**begin, "ts": -1}, end], [{**begin, "ts": "5"}, end], [{**begin, "ts": True}, end],
        [{**begin, "name": ""}, end], [{**begin, "pid": 2}, end], [{**begin, "tid": 1 << 32}, end], [{**begin, "dur": 1}, end], [{**begin, "ph": "b"}, end],
        [{**gap, "s": "x"}], [{**gap, "args": {}}], [names[0]], [{**begin, "tid": 2}, {**end, "tid": 2}],
    ]
    for found in wrong:
        try:
            check_events(whole(*found))
        except Failure:
            continue
        raise Failure("taken: %s" % found)


@case("a history with gaps, one thread, one moment")
def parts():
    trace = record([made()], ["--history", "64"]).trace
    equal(sum(folded(trace).values()), len(entries(trace)), "sum")
    check(any(event["ph"] == "i" and event["name"] == "gap" for event in events(trace)), "no gap")
    trace = record([made()], ["--snap-at", "60"]).trace
    threads = report(trace, "-n", 1)["threads"]
    one = folded(trace, "--thread", threads[0]["task"])
    equal(sum(one.values()), sum(1 for row in entries(trace) if row[0] == threads[0]["task"]), "sum of one thread")
    early = folded(trace, "--snapshot", 1)
    equal(sum(early.values()), len(report(trace, "--snapshot", 1, "-n", 1 << 20)["branches"]), "sum up to a moment")
    check(0 < sum(early.values()) < sum(one.values()), "of a moment")
    events(trace, "--snapshot", 1)


@case("names from outside end no line and no string")
def hostile():
    program = made('a;b "c\\\nd\x01\u20ac')
    trace = record([program]).trace
    equal(sum(folded(trace).values()), len(entries(trace)), "sum")
    events(trace)


@case("what cannot be is told")
def errors():
    trace = record([made()]).trace
    for kind in "folded", "perfetto":
        equal(execute([BTVIEW, "--export", kind, "-n", "1", trace]).status, 2, "usage")
        equal(execute([BTVIEW, "--export", kind, "--thread", "99999", trace]).status, 69, "no such thread")
        with open("/dev/full", "wb") as full:
            equal(execute([BTVIEW, "--export", kind, trace], stdout=full, stderr=subprocess.PIPE).status, 74, "a full disk")


main()
