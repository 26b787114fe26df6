#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Stacks that a crash leaves, from memory alone: large ones, those that a handler on another has interrupted, all threads' of a killed process.
import re
import resource
import signal

from e2e import *

MODES = [], ["--parallel"], ["--history", "off"]


def program():
    return build("stacks.c", "-pthread")


def stack_of(result):
    thread = report(result.trace, "-n", "1")["threads"][0]
    return [frame["function"] for frame in thread["stack"]], thread


@case("frames of 400,000 bytes")
def big():
    for mode in ["--history", "1000"], ["--history", "off"]:
        stack, thread = stack_of(record([program(), "big"], mode))
        equal(stack[:7], ["leaf", *["parse"] * 5, "main"], "stack, %s" % mode)
        check(thread["unwound"] >= 7, "it was not unwound: %s" % thread["unwound"])


@case("many frames")
def deep():
    stack, thread = stack_of(record([program(), "deep"], ["--history", "1000"]))
    equal((stack[:1502], stack[1502]), (["leaf", *["descend"] * 1501], "main"), "stack")
    check(thread["unwound"] >= 1503, "it was not unwound: %s" % thread["unwound"])


@case("an overflow of 8 MiB: who began it is told")
def overflow():
    def limit():
        resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))

    said = text(record([program(), "overflow"], ["--history", "1000"], setup=limit).trace, "-n", "1")
    check(re.search(r"the same frame [0-9]+ times\n  #[0-9]+ +main\+", said), said)


@case("what a handler on an alternate stack has interrupted")
def alternate():
    for mode in ["--history", "1000"], ["--history", "off"]:
        stack, thread = stack_of(record([program(), "alternate"], mode))
        at = stack.index("on_alternate")
        equal(stack[at + 2:at + 6], ["innermost", "caller", "die_in_handler", "main"], "stack, %s: %s" % (mode, stack))
        check(thread["unwound"] >= at + 6, "it was not unwound: %s" % thread["unwound"])


def all_wait(pid, how):
    """In pause(), but for a first thread that has ended."""
    for tid in map(int, os.listdir("/proc/%d/task" % pid)):
        with open("/proc/%d/task/%d/syscall" % (pid, tid)) as file:
            call = file.read().split()[0]
        if call != "34" and (how, tid) != ("headless", pid):
            return False
        with open("/proc/%d/task/%d/stat" % (pid, tid)) as file:
            if (how, tid) == ("headless", pid) and file.read().rpartition(")")[2].split()[0] != "Z":
                return False
    return True


def killed(how, mode):
    trace = fresh("trace")
    process = start([BTREC, "run", "-q", *mode, "-o", trace, "--", program(), how], cwd=TMP)
    pid = int(process.stdout.readline())
    wait_until(lambda: all_wait(pid, how), "all threads in pause()")
    os.kill(pid, signal.SIGKILL)
    equal(process.wait(30), -signal.SIGKILL, "end of btrec")
    return report(trace, "-n", "1")


def without_cfi(how):
    result = record([build("without_cfi.c"), how], ["--history", "off"])
    said, stack = text(result.trace, "-n", "1"), report(result.trace, "-n", "1")["threads"][0]["stack"]
    frames = re.findall(r"^  #[0-9]+ +(.*)$", said, re.M)
    equal([frame["guessed"] for frame in stack], [" (guessed: " in frame for frame in frames], "marks in the JSON and the report: " + said)
    return [(frame["function"], frame["guessed"]) for frame in stack], said


@case("of a function without unwind information what is found by rbp is marked, and what is found on from there")
def guessed():
    stack, said = without_cfi("chain")
    equal(stack[:3], [("die_without_cfi", False), ("call_without_cfi", True), ("main", True)], "stack")
    check(all(is_guess for _, is_guess in stack[1:]), "marks: %s" % stack)


@case("... and nothing, where rbp leads down the stack, nowhere, or to itself")
def not_guessed():
    for how in "down", "null", "same":
        stack, said = without_cfi(how)
        equal(stack, [("die_without_cfi", False)], how)
        check("It could not be unwound further." in said, said)


@case("of a process that is killed all threads, whichever ends first")
def threads():
    for mode in MODES:
        for _ in range(6):
            found = killed("threads", mode)["threads"]
            equal(sorted(thread["task"] for thread in found), [1, 2, 3, 4], "threads, %s" % mode)
            for thread in found:
                check("wait_for_end" in [frame["function"] for frame in thread["stack"]], "where it waits: %s" % thread["stack"])


@case("... and without its first thread")
def headless():
    for mode in MODES:
        found = killed("headless", mode)["threads"]
        equal(sorted(thread["task"] for thread in found), [2, 3, 4], "threads, %s" % mode)


main()
