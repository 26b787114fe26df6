#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# btview --export folded and perfetto: calls by the branch history, in the forms that other programs read.
from e2e import *

SOURCE = r"""
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static volatile int n;
__attribute__((noinline)) static void inner(int times) { for (int i = 0; i < times; i++) n += i & 1; }
__attribute__((noinline)) static void outer(int depth) { if (depth) outer(depth - 1); else inner(3); inner(depth); }
static void handle(int number) { inner(number); }
static volatile int done;
static void *thread(void *arg) { outer(2); done = 1; for (;;) pause(); return arg; } // one that has ended keeps no history
int main(void)
{
    pthread_t t;
    signal(SIGUSR1, handle);
    outer(4);
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


def events(trace, *options):
    """What the Trace Event Format asks for: (google.com/document: "Trace Event Format", sections Duration, Metadata and Instant Events)"""
    found = json.loads(btview("--export", "perfetto", *options, trace).out.decode("ascii"))
    check(isinstance(found["traceEvents"], list), "traceEvents")
    open_slices, times, named = {}, {}, set()
    for event in found["traceEvents"]:
        check(all(isinstance(event[key], int) and event[key] >= 0 for key in ("pid", "tid", "ts")), str(event))
        track = event["pid"], event["tid"]
        check(event["ph"] in "BEiM", str(event))
        if event["ph"] != "E":
            check(event["name"] and isinstance(event["name"], str), str(event))
        if event["ph"] == "M":
            check(event["name"] in ("process_name", "thread_name") and isinstance(event["args"]["name"], str), str(event))
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
        else:
            equal(event["s"], "t", "scope of an instant event")
    equal([names for names in open_slices.values() if names], [], "slices left open")
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
