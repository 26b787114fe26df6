#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# How much branch history is kept, and what a trace says of what is not.
from e2e import *


LIMIT = 8  # doc/FORMAT.md, reasons of gaps


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


main()
