#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What only some processors have: protection keys (programs/protection_keys.c) and AMX (programs/tiles.c). The same output as natively.
import re

from e2e import *

MODES = {"": (), ", ticks only": ("--history", "off"), ", side by side": ("--parallel",)}
LACKING = 77
STEPPED_FEW = 3000


def add(name, source, options, lacking, *arguments, stepped=False):
    @case(name)
    def run():
        program = build(source, "-pthread")
        argv = [program, *arguments]
        if native(argv).status == LACKING:
            raise Skip(lacking)
        _, recorded = same_as_native(argv, options)
        equal(recorded.status, 0, "exit status: %s" % recorded.out.decode(errors="replace"))
        if not stepped:
            info = execute([BTREC, "info", recorded.trace]).out.decode()
            outside = int(re.search(r"^stepped +(\d+)", info, re.M).group(1))
            check(outside < STEPPED_FEW, "%d instructions were stepped" % outside)


for mode_, options_ in MODES.items():
    add("protection keys" + mode_, "protection_keys.c", ("--backend", "engine", *options_), "no protection keys here")
    add("tiles" + mode_, "tiles.c", ("--backend", "engine", *options_), "no AMX here")
add("protection keys, stepped", "protection_keys.c", ("--backend", "step"), "no protection keys here", stepped=True)
add("tiles, stepped", "tiles.c", ("--backend", "step"), "no AMX here", "20", stepped=True)

main()
