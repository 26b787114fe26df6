#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A program that unmaps, protects or maps over what the engine keeps in it (programs/region.c), without knowing of it: the same output as natively. What was
# unmapped is made anew, and it runs on in the cache; where something of the program's lies now, it is stepped, and the trace says so.
import re

from e2e import *
import engine_compare

MADE_ANEW = """unmap-all unmap-context unmap-data unmap-code unmap-much protect-data protect-context protect-code empty not-for-children
move-away""".split()
STEPPED = "map-all map-context map-code move-there".split()
MODES = {"": (), ", ticks only": ("--history", "off")}
STEPPED_FEW = 100


def program():
    return build("region.c", "-pthread")


def add(name, mode, options):
    @case("region: " + name + mode)
    def run():
        _, recorded = same_as_native([program(), name], ("--backend", "engine", "--snap-exit", "always", *options))
        info = execute([BTREC, "info", recorded.trace]).out.decode()
        stepped = int(re.search(r"^stepped +(\d+)", info, re.M).group(1))
        noted = "single-stepped" in execute([BTREC, "dump", recorded.trace]).out.decode()
        equal(noted, name in STEPPED, "whether it is said to be stepped")
        equal(stepped > STEPPED_FEW, name in STEPPED, "%d instructions stepped" % stepped)


for name_ in MADE_ANEW + STEPPED:
    for mode_, options_ in MODES.items():
        add(name_, mode_, options_)


@case("region: every case is tried")
def all_tried():
    equal(sorted(native([program()]).out.decode().split()), sorted(MADE_ANEW + STEPPED), "cases")


@case("region: unmap-all is as stepped")
def as_stepped():
    engine_compare.compare_runs([build("region.c", *STATIC, "-pthread", name="region-static"), "unmap-all", "300"])


main()
