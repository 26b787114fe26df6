#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Programs of musl, which starts, handles signals, makes processes and ends otherwise than glibc: as stepped, and as natively.
from e2e import *
from musl import musl
import engine_compare

ENGINE = ["--backend", "engine"]
KINDS = {"static": STATIC, "static-pie": ["-static-pie", "-fPIE"], "dynamic": ["-fPIE", "-pie"]}
SIGNALS = "registers alternative-stack nested jumps edits moves strings calls sleeps threads queued faults written-code".split()


def add_start(kind, flags):
    @case("as stepped: musl's start, %s" % kind)
    def run():
        _, count, _ = engine_compare.compare_runs([musl("world.c", *flags), "status", "3"])
        check(count >= 100, "only %d branches" % count)


def add_signals(name):
    @case("signals, musl: " + name)
    def run():
        alone, _ = same_as_native([musl("torture.c", *STATIC), name, "100"], ENGINE)
        check(alone.status == 0 and alone.out, "natively: %d %s" % (alone.status, alone.out))


def add_tree(name, *arguments):
    @case("processes, musl: " + name)
    def run():
        for flags in KINDS.values():
            same_as_native([musl("tree.c", *flags), name, *arguments], ENGINE)


for each in KINDS.items():
    add_start(*each)
for each in SIGNALS:
    add_signals(each)
add_tree("fork-crash")
for each in "exec", "fork-exec", "vfork-exec", "spawn":
    add_tree(each, "/bin/echo", "a program of glibc")
add_tree("failed-exec")
add_tree("children")


@case("a crash in a program of musl: what the report says of it")
def crash():
    alone, recorded = same_as_native([musl("tree.c", *KINDS["dynamic"]), "fork-crash"], ENGINE)
    found = report(recorded.trace, "-n", "300")
    frames = [frame.get("function") for frame in found["threads"][0]["stack"]]
    equal(frames[:2], ["child_crash", "fork_crash"], "stack")


main()
