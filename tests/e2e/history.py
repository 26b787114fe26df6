#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# How much branch history is kept, and what a trace says of what is not.
from e2e import *


LIMIT = 8  # doc/FORMAT.md, reasons of gaps
PROCESSES = 8


def dump(trace):
    return execute([BTREC, "dump", trace]).out.decode().splitlines()


def notes(result):
    return [line for line in dump(result.trace) if line.startswith("NOTE")]


@case("a million branches are kept unless told")
def default_million():
    result = record([build("branchy.c", "-O1", "-pthread"), "1", "1000000"])
    rows = branches(result.trace)
    check(1 << 20 <= len(rows) < 3 << 19, "%d entries" % len(rows))
    check("Consistent:" in text(result.trace), "the verdict")
    equal(notes(result), [], "notes")


@case("all histories together keep to their limit of memory, and what is cut off says so")
def limited():
    result = record([build("branchy.c", "-O1", "-pthread"), "8", "2000000"], ["--history-memory", "1"])
    equal(len([line for line in notes(result) if "--history-memory" in line]), 1, "notes about it")
    rows = branches(result.trace)
    tasks = sorted({row[0] for row in rows})
    equal(len(tasks), 8, "tasks with branches")
    cut = {row[0] for row in rows if row[2] == "gap" and row[5] == LIMIT}
    check(len(cut) >= 7, "only tasks %s have such a gap" % cut)
    # Without the limit each task would keep its million (the case above).
    check(8 << 10 <= len(rows) < 8 << 20, "%d entries" % len(rows))
    check("Consistent:" in text(result.trace), "the verdict")


def tree_branches(options):
    """The trace and branches, by task, of processes that have all taken more branches than are kept, when they end."""
    trace = fresh("trace")
    process = start([BTREC, "run", "-q", "-o", trace, "--snap-exit", "always", *options, "--", build("branchy_tree.c", "-O1"), str(PROCESSES), "300000"],
                    cwd=TMP, stdin=subprocess.PIPE)
    equal(process.stdout.readline(), b"all stand\n", "what the program says")
    process.stdin.close()
    equal(process.wait(TIMEOUT), 0, "end")
    found = {}
    for row in branches(trace):
        found.setdefault(row[0], []).append(row)
    return trace, found


@case("so do those of processes, all together")
def limited_tree():
    trace, found = tree_branches(["--history-memory", "1"])
    equal(len(found), PROCESSES + 1, "tasks with branches")
    notes_ = [line for line in dump(trace) if line.startswith("NOTE") and "--history-memory" in line]
    equal(len(notes_), 1, "notes about it")
    cut = [len(rows) for rows in found.values() if rows[0][2] == "gap" and rows[0][5] == LIMIT]
    equal(len(cut), PROCESSES, "processes whose branches are cut off")
    check(min(cut) >= 1000, "entries of processes: %s" % cut) # each keeps some
    # An entry of these has some 8 bytes of memory. A process alone may have 131072, then, and would take a million.
    total = sum(map(len, found.values()))
    check(total < 2 << 17, "%d entries" % total)
    check("Consistent:" in text(trace), "the verdict")


main()
