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


WHOLE = ["leaf", "in_frame_of", "begin"]


def deep_threads(shallow, deep, kib, options=()):
    """The stacks of those in a large frame, as the program's own functions, and what is said of them; with the result."""
    result = record([build("deep_thread.c", "-pthread"), *map(str, (shallow, deep, kib))], options)
    threads = report(result.trace, "-n", "1")["threads"][1:]
    equal(len(threads), shallow + deep, "other threads (%s)" % result.own_err)
    deep_ones = sorted(threads, key=lambda thread: thread["task"])[shallow:]
    return [[frame for frame in thread["stack"] if "deep_thread" in (frame["module"] or "")] for thread in deep_ones], deep_ones, result


@case("a thread in a frame of 300 KiB, of 4 MiB, alone and among a hundred others: its stack is whole")
def deep_thread():
    for shallow, deep, kib in (0, 1, 300), (100, 1, 4096), (0, 4, 7000):
        for mode in ["--history", "off"], ["--parallel"]:
            stacks, threads, _ = deep_threads(shallow, deep, kib, mode)
            for stack, thread in zip(stacks, threads):
                equal([frame["function"] for frame in stack], [*WHOLE, "deep"], "stack among %d, %s" % (shallow, mode))
                check(not any(frame["by_history"] for frame in thread["stack"]), "frames that memory does not tell of")


@case("... of more than there is room for: the trace, not the program, ends there, and what only the history tells is marked")
def deep_threads_cut():
    for mode in ["--history", "off"], []:
        stacks, threads, result = deep_threads(0, 120, 400, mode)
        known = 2 if mode else 4
        for stack, thread in zip(stacks, threads):
            equal(thread["stack_end"], "trace", "end of a stack")
            equal([(frame["function"], frame["by_history"]) for frame in stack], [(name, i >= 2) for i, name in enumerate([*WHOLE, "deep"][:known])],
                  "stack, %s" % mode)
        said = text(result.trace, "-n", "1")
        words = "The trace has no more of this stack; the program's goes on." if mode else "The trace has no more of this stack. By the branch history it goes on:"
        check("  %s\n" % words in said, said)
        check(mode or re.search(r"  #3 +begin\S* .*\(by the branch history\)\n", said), said)
        fits_schema(report(result.trace, "-n", "1"), "report.schema.json")


@case("... in a core file, too")
def deep_thread_core():
    need_core_files()
    program_ = build("deep_thread.c", "-pthread")
    folder = fresh_dir("core")
    execute([program_, "3", "2", "1000"], core=resource.RLIM_INFINITY if resource.getrlimit(resource.RLIMIT_CORE)[1] < 0 else resource.getrlimit(resource.RLIMIT_CORE)[1], cwd=folder)
    trace = fresh("trace")
    equal(execute([BTREC, "import", "-o", trace, os.path.join(folder, os.listdir(folder)[0])]).status, 0, "status of import")
    stacks = [[frame["function"] for frame in thread["stack"] if "deep_thread" in (frame["module"] or "")] for thread in report(trace)["threads"]]
    equal(sorted(stacks), sorted([["main", "_start"], *[[*WHOLE, "shallow"]] * 3, *[[*WHOLE, "deep"]] * 2]), "stacks")


def far_calls(*arguments):
    """The summary and the report of a crash more than two million branches behind calls that have not returned."""
    def limit():
        resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    trace = record([build("far_calls.c", "-O1", "-w", "-fno-stack-protector"), *arguments], ["-q", "--history", "4194304"], setup=limit).trace
    return btview("--summary", trace).out.decode(), text(trace)


@case("a stack that was overwritten, millions of branches behind its calls: the summary and the report tell the same callers")
def smashed_far():
    for said in far_calls():
        check(re.search(r"  #1 +main\S* .*\(by the branch history\)\n", said), said)


@case("a stack that was used up by calls of millions of branches: the summary and the report tell the same number of them")
def overflow_far():
    summary, whole = [re.findall(r" was entered (\d+) times without returning", said) for said in far_calls("overflow")]
    equal(summary, whole, "times")
    check(len(whole) == 1 and int(whole[0]) > 8000, "times: %s" % whole)


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
