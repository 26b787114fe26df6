#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Random operations, one seed each, and what the program sees behind every one of them: under the engine, in each of its ways, as natively. On its
# signals (programs/signal_state.c: the Sig* lines of its status) and on pages of code (programs/page_state.c: mapped, protected, written, called).
# BTREC_SEED (1) is the first seed, BTREC_STATE_SEEDS (12) the number of them.
import os

from e2e import *

FIRST = int(os.environ.get("BTREC_SEED", "1"))
SEEDS = int(os.environ.get("BTREC_STATE_SEEDS", "12"))
PROGRAMS = {"signals": ("signal_state.c", "80"), "pages of code": ("page_state.c", "400")}
MODES = {"engine": [], "side by side": ["--parallel"], "only counted": ["--history", "off"]}


def first_difference(ours, natives):
    pairs = zip(ours.out.decode().splitlines() + ["(ended)"], natives.out.decode().splitlines() + ["(ended)"])
    return next(("%s\n  natively %s" % pair for pair in pairs if pair[0] != pair[1]), "status %s, natively %s" % (ours.status, natives.status))


def add(what, source, operations, mode, options):
    @case("%s, operation by operation, as natively: %s" % (what, mode))
    def run():
        program = build(source)
        for seed in range(FIRST, FIRST + SEEDS):
            argv = [program, str(seed), operations]
            expected, recorded = native(argv), record(argv, ["--backend", "engine", *options])
            check(expected.out.endswith(b"\n") and expected.status == 0, "natively seed %d does not end well" % seed)
            check((recorded.status, recorded.out) == (expected.status, expected.out), "seed %d: %s" % (seed, first_difference(recorded, expected)))


for what_, program_ in PROGRAMS.items():
    for mode_, options_ in MODES.items():
        add(what_, *program_, mode_, options_)

main()
