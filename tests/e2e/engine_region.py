#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A program that unmaps, protects or maps over what the engine keeps in it (programs/region.c), without knowing of it: the same output as natively. What was
# unmapped is made anew, and it runs on in the cache; where something of the program's lies now, it is stepped, and the trace says so. What it writes there
# (natively it would fault) makes the verdict that its history cannot be relied on from there.
import itertools
import json
import re

from e2e import *
import engine_compare

MADE_ANEW = """unmap-all unmap-context unmap-data unmap-code unmap-much protect-data protect-context protect-code empty empty-locked empty-itself guard
not-for-children move-away attach-before""".split()
STEPPED = "map-all map-context map-code move-there attach-over".split()
MODES = {"": (), ", ticks only": ("--history", "off")}
STEPPED_FEW = 100
TAKEN = "memory of the program's lies at its addresses, from 0x550000000000 on"


def program():
    return build("region.c", "-pthread")


def add(name, mode, options):
    @case("region: " + name + mode)
    def run():
        _, recorded = same_as_native([program(), name], ("--backend", "engine", "--snap-exit", "always", *options))
        info = execute([BTREC, "info", recorded.trace]).out.decode()
        stepped = int(re.search(r"^stepped +(\d+)", info, re.M).group(1))
        noted = "single-stepped" in execute([BTREC, "dump", recorded.trace]).out.decode()
        equal(noted, name in STEPPED, "whether the trace says that it is stepped")
        equal(recorded.stepped_because, [TAKEN] if name in STEPPED else [], "what is said at once")
        equal(stepped > STEPPED_FEW, name in STEPPED, "%d instructions stepped" % stepped)


for name_ in MADE_ANEW + STEPPED:
    for mode_, options_ in MODES.items():
        add(name_, mode_, options_)


def verdict_of(what, status, word):
    recorded = record([program(), what], ["--backend", "engine", "--snap-exit", "always"])
    equal(recorded.status, status, "status")
    check(recorded.out.startswith(word), "output %r" % recorded.out)
    report = json.loads(execute([BTVIEW, "--json", "-n", "100", recorded.trace]).out)
    equal(report["verdict"]["state"], "inconsistent", "verdict")
    dump = execute([BTREC, "dump", recorded.trace]).out.decode()
    check("reason=scribbled" in dump, "no gap where the program wrote")
    return dump


@case("region: records written over: the verdict")
def records():
    dump = verdict_of("scribble-records", 0, b"written ")
    check("changed the code cache" not in dump and "changed what the engine keeps" not in dump, "a note, though the cache works")


@case("region: a limit written over, so that branches are lost: the verdict")
def limit():
    dump = verdict_of("scribble-limit", 0, b"written ")
    check("changed what the engine keeps" in dump, "no note of it")


@case("region: table of fragments written over: the program is told by a fault, and goes on in a region made anew")
def table():
    dump = verdict_of("scribble-table", 5, b"handler ")
    check("changed the code cache" in dump, "no note of it")


@case("region: a context written over: the trace says that registers may be wrong")
def context():
    dump = verdict_of("scribble-context", 0, b"written ")
    equal(dump.count("changed what the engine keeps"), 1, "notes of it")


FAR = ["scribble-%s-%s" % what for what in itertools.product(("next", "calls", "sample"), ("high", "low"))]


@case("region: the farthest numbers that there are, and nonsense, where the engine keeps offsets and notes: the recorder reads them as nonsense")
def far_numbers():
    for name in [*FAR, "scribble-notes", "scribble-words"]:
        for options in [*MODES.values(), ("--parallel",)]:
            recorded = record([program(), name], ["--backend", "engine", *options])
            check((recorded.status, recorded.out[:8]) in ((0, b"written "), (5, b"handler ")),
                  "%s %s: status %s, output %s, %s" % (name, options, recorded.status, recorded.out, recorded.own_err))
            equal(execute([BTREC, "info", recorded.trace]).status, 0, "status of btrec info")


@case("region: a program that lies in it is stepped, and nothing of it overwritten")
def in_its_place():
    for at in "0x550000000000", "0x550000001000", "0x550000010000":
        program_ = build("status.S", *BARE, "-Wl,-Ttext-segment=" + at, name="status-" + at)
        for options in [], ["--parallel"], ["--history", "off"]:
            _, recorded = same_as_native([program_], ["--backend", "engine", *options])
            check("single-stepped" in execute([BTREC, "dump", recorded.trace]).out.decode(), "at %s, %s: not stepped" % (at, options))
            equal(recorded.stepped_because, [TAKEN], "what is said at once, at %s, %s" % (at, options))


@case("region: every case is tried")
def all_tried():
    equal(sorted(native([program()]).out.decode().split()), sorted(MADE_ANEW + STEPPED), "cases")


@case("region: unmap-all is as stepped")
def as_stepped():
    engine_compare.compare_runs([build("region.c", *STATIC, "-pthread", name="region-static"), "unmap-all", "300"])


main(sanitized=5)
