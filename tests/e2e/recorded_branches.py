# SPDX-License-Identifier: MIT
# What a processor's record of branches must be, compared with a recording of the same program by the stepper. For pmu.py, whose processor is simulated,
# and tests/hardware/prove.py, whose is not.
import bisect

from e2e import *

KEEP = ["--deterministic", "--snap-exit", "always"]
WINDOW_ENDS = ("syscall", "async")
stepped = {}


def truth(argv):
    """All branches of the program as the stepper records them."""
    key = tuple(argv)
    if key not in stepped:
        stepped[key] = branches(record(argv, ["--backend", "step", *KEEP, "--history", "4194304"]).trace)
    return stepped[key]


def windows(rows, task):
    """What the processor sees between two switches: taken branches that end in user code. Beside them the branches that only a tracer knows of."""
    window, out = [], []
    for row in rows:
        if row[0] != task:
            continue
        if row[2] in WINDOW_ENDS:
            out.append(window)
            window = []
            strange = row[2] == "async" or row[5] not in (row[4], row[4] + 2)
            if strange:
                out.append((row[2], row[4], row[5]))
        elif row[3]:
            window.append((row[2], row[4], row[5]))
    out.append(window)
    return out


def expected(rows, task, depth, joined=True):
    """The history that a record this deep gives: lists of consecutive entries. One slot goes to the return from the kernel that begins a window;
    the last slot is empty only when there are two fewer branches than slots."""
    runs, run = [], []
    for window in windows(rows, task):
        if isinstance(window, tuple):
            run.append(window)
            continue
        if window and not (joined and len(window) <= depth - 2):
            runs.append(run)
            run = []
        run += window[-depth:]
    runs.append(run)
    return [run for run in runs if run]


def recorded(trace, task):
    runs, run = [], []
    for row in branches(trace):
        if row[0] != task:
            continue
        if row[2] == "gap":
            runs.append(run)
            run = []
        else:
            equal(row[3], 1, "taken")
            equal(row[1], -1, "tick")
            run.append((row[2], row[4], row[5]))
    runs.append(run)
    return [run for run in runs if run]


def find_in_order(runs, whole):
    """The first run that does not stand in the list of all taken branches, one entry after the other and behind the runs before it; None: all do."""
    index = {}
    for i, entry in enumerate(whole):
        index.setdefault(entry, []).append(i)
    at = 0
    for run in runs:
        places = index.get(run[0], [])
        for place in places[bisect.bisect_left(places, at):]:
            if whole[place:place + len(run)] == run:
                at = place + len(run)
                break
        else:
            return run
    return None


def taken(rows, task):
    """All that a record could have of a task."""
    return [(r[2], r[4], r[5]) for r in rows if r[0] == task and r[3] and (r[2] != "syscall" or r[5] not in (r[4], r[4] + 2))]


def once(entries):
    """Rounds of a loop of one branch are one."""
    return [entry for i, entry in enumerate(entries) if not i or entry != entries[i - 1]]


def check_truth(trace, argv, what, least=20, shape=lambda entries: entries):
    """Every run of the trace happened, in order and with nothing left out. Returns the runs."""
    total = []
    for task in sorted({row[0] for row in truth(argv)}):
        runs = [shape(run) for run in recorded(trace, task)]
        wrong = find_in_order(runs, shape(taken(truth(argv), task)))
        check(wrong is None, "%s, task %d: this never happened: %s" % (what, task, short(wrong)))
        total += runs
    check(sum(map(len, total)) > least, "%s: hardly anything was recorded: %d" % (what, sum(map(len, total))))
    return total
