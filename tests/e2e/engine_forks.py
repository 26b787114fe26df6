#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Processes that a fork made of one another have one code cache as long as their code is the same: each runs its own code all the same, and its history can be
# read. What they cost in memory, and what a recording does that has too few descriptors for all of them.
import resource

from e2e import *
import engine_compare

CASES = [("nested", 40), ("many", 20), ("then-exec", 3), ("libraries", 6), ("written", 6), ("replaced", 0), ("only-there", 0), ("in-handler", 5),
         ("in-threads", 4), ("orphans", 6), ("left-out", 7), ("same-descriptors", 9)]
MODES = {"": ("--snap-exit", "always"), ", ticks only": ("--history", "off"),
         ", ticks only, eager to prediction": ("--history", "off", "--predict-eagerly"), ", history on and off": ("--switch-history",)}
CHILDREN = 200
# Of the recorder, a child: its task, its mappings, the pages that differ. (The bound of all is 2 MB.)
KB_A_CHILD = 300
WRITTEN_CHILDREN = 20
KB_A_WRITTEN_CHILD = 2500 # their pages are 4000
PROGRAMS, DESCRIPTORS = 60, 40
STEPPED = 1000 # instructions


def forks(*flags):
    return build("forks.c", *flags, "-pthread", "-ldl", name="forks-static" if flags else None)


def readable(trace):
    """All code that ran is in the trace, in the space in which it ran: only before a task's first branch nobody knows. Returns the number of tasks."""
    tasks, unknown = set(), False
    for line in execute([BRANCHES, "-i", trace]).out.decode().splitlines():
        if line.startswith("i "):
            unknown |= line == "i ?"
            continue
        task = line.split()[0]
        check(not unknown or task not in tasks, "code that cannot be read before " + line)
        tasks.add(task)
        unknown = False
    return len(tasks)


def add(name, number, mode, options):
    @case("forks: " + name + mode)
    def run():
        _, recorded = same_as_native([forks(), name, str(number)], ("--backend", "engine", *options))
        if not mode:
            check(readable(recorded.trace) > 1, "the history of one task only")


for name_, number_ in CASES:
    for mode_, options_ in MODES.items():
        add(name_, number_, mode_, options_)


@case("forks: left-out, which was asked for before the recording begins")
def left_out_before():
    for name in ("left-out", "left-out-in-thread"):
        _, recorded = same_as_native([forks(), name, "7"], ("--backend", "engine", "--from", "advised"))
        check(len(report(recorded.trace)["processes"]) > 2, "%s: the children are not in the trace" % name)


@case("a line of forks is as stepped")
def as_stepped():
    engine_compare.compare_runs([forks(*STATIC), "nested", "5"])


@case("a history that goes back through many images is as stepped")
def execs_as_stepped():
    engine_compare.compare_runs([forks(*STATIC), "exec-line", "5"])


@case("a history from before an execve is as stepped, also when the parent's code is gone by then")
def child_execs_as_stepped():
    engine_compare.compare_runs([forks(*STATIC), "child-execs", "20"])


def peak_with(children, which="alive"):
    return recorders_peak([forks(), which, str(children)], ["--backend", "engine"])


@case("%d children at once: memory of the recorder" % CHILDREN)
def memory():
    more = peak_with(CHILDREN) - peak_with(1)
    check(more < CHILDREN * KB_A_CHILD, "%d kB for %d children" % (more, CHILDREN))


@case("%d children that have a thousand pages of code that can be written: memory of the recorder" % WRITTEN_CHILDREN)
def memory_written():
    if has_sanitizer():
        raise Skip("a sanitizer's memory would be counted")
    more = peak_with(WRITTEN_CHILDREN, "alive-written") - peak_with(1, "alive-written")
    check(more < WRITTEN_CHILDREN * KB_A_WRITTEN_CHILD, "%d kB for %d children" % (more, WRITTEN_CHILDREN))


@case("%d programs at once, and fewer descriptors: none is stepped for that" % PROGRAMS)
def few_descriptors():
    script = "mkfifo f; exec 3<>f; for i in %s; do cat <f 3<&- & done; echo all; exec 3<&-; wait; rm f; echo ended" % " ".join(map(str, range(PROGRAMS)))
    _, recorded = same_as_native(["sh", "-c", script], ("--backend", "engine"), cwd=fresh_dir("few"),
                                 setup=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS)))
    processes = [line for line in engine_compare.dump_of(recorded.trace) if line.startswith("EXIT ")]
    equal(len(processes), PROGRAMS + 3, "ends in the trace")
    stepped = [line for line in processes if engine_compare.number_in(line, "stepped") > STEPPED]
    equal(stepped, [], "stepped")


main(sanitized=2)
