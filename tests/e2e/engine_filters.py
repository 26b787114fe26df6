#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Programs whose own system call filters end them for calls that they do not make: none of the engine's does.
import engine_compare
from e2e import *

ENGINE = ["--backend", "engine"]
STEPPED = "fork fork-some fork-fork two whole-process exec upper-halves int80".split()
IN_CACHE = "fork-harmless threads again strict interrupted interrupted-of-two".split()
EITHER = ["strict-thread"] # whether the process needs memory anew at a time when the thread is to make the call
REFUSED = "no room for the code cache in this process"


def program():
    return build("filters.c", *STATIC, "-pthread")


def stepped(trace):
    """Instructions that ran outside the cache."""
    info = execute([BTREC, "info", trace]).out.decode()
    return int(info.split("\nstepped", 1)[1].split()[0])


def add(name, *options):
    @case("%s %s" % (name, " ".join(options)))
    def run():
        alone, recorded = same_as_native([program(), name], [*ENGINE, *options])
        if b"no filters here" in alone.out:
            raise Skip("the kernel has no seccomp filters")
        equal(alone.out, b"ok\n", "what it says")
        dump = "\n".join(engine_compare.dump_of(recorded.trace))
        if name not in EITHER:
            equal((REFUSED in dump, stepped(recorded.trace) > 5000), (name in STEPPED,) * 2, "whether a process was stepped")
            equal(recorded.stepped_because, ["a system call filter of the program's"] if name in STEPPED else [], "what is said of that")


for case_name in STEPPED + IN_CACHE + EITHER:
    add(case_name)
    add(case_name, "--parallel")


@case("history as stepped: fork")
def as_stepped():
    _, entries, _ = engine_compare.compare_runs([program(), "fork"])
    check(entries > 2000, "only %d entries" % entries)


@case("every case is tried")
def all_tried():
    equal(sorted(native([program()]).out.decode().split()), sorted(STEPPED + IN_CACHE + EITHER), "cases")


main(sanitized=5)
