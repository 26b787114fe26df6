#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What a program sees of its signals (programs/signal_state.c: random operations, one seed each, and the Sig* lines behind every one of them): under
# the engine, in each of its ways, as natively. BTREC_SEED (1) is the first seed, BTREC_STATE_SEEDS (12) the number of them.
import os

from e2e import *

FIRST = int(os.environ.get("BTREC_SEED", "1"))
SEEDS = int(os.environ.get("BTREC_STATE_SEEDS", "12"))
OPERATIONS = "80"
MODES = {"engine": [], "side by side": ["--parallel"], "only counted": ["--history", "off"]}


def first_difference(ours, natives):
    pairs = zip(ours.out.decode().splitlines() + ["(ended)"], natives.out.decode().splitlines() + ["(ended)"])
    return next(("%s\n  natively %s" % pair for pair in pairs if pair[0] != pair[1]), "status %s, natively %s" % (ours.status, natives.status))


def add(mode, options):
    @case("signals as natively, operation by operation: " + mode)
    def run():
        program = build("signal_state.c")
        for seed in range(FIRST, FIRST + SEEDS):
            argv = [program, str(seed), OPERATIONS]
            expected, recorded = native(argv), record(argv, ["--backend", "engine", *options])
            check(expected.out.endswith(b"\n") and expected.status == 0, "natively seed %d does not end well" % seed)
            check((recorded.status, recorded.out) == (expected.status, expected.out), "seed %d: %s" % (seed, first_difference(recorded, expected)))


for name, options_ in MODES.items():
    add(name, options_)

main()
