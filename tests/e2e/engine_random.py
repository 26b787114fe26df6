#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Random operations, one seed each, and what the program sees behind every one of them: under the engine, in each of its ways, as natively. On its
# signals (programs/signal_state.c: the Sig* lines of its status) and on pages of code (programs/page_state.c: mapped, protected, written, called);
# and what the trace says of its mappings at the end.
# BTREC_SEED (1) is the first seed, BTREC_STATE_SEEDS (12) the number of them.
import os
import re

from e2e import *
import engine_compare

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
        ended = 0
        for seed in range(FIRST, FIRST + SEEDS):
            argv = [program, str(seed), operations]
            expected, recorded = native(argv), record(argv, ["--backend", "engine", *options])
            # A seed may end itself: a signal that is pending twice whose handler is reset by the first.
            check(expected.out.endswith(b"\n") and expected.status in range(-64, 1), "natively seed %d gives %s" % (seed, expected.status))
            ended += expected.status == 0
            check((recorded.status, recorded.out) == (expected.status, expected.out), "seed %d: %s" % (seed, first_difference(recorded, expected)))
        check(ended * 4 >= SEEDS * 3, "natively only %d of %d seeds come to their end" % (ended, SEEDS))


def as_program(line):
    """(start, end, protection, shared) of a line of /proc/PID/maps."""
    where, how = line.split()[:2]
    start, end = (int(part, 16) for part in where.split("-"))
    return start, end, sum(bit for bit, letter in ((1, "r"), (2, "w"), (4, "x")) if letter in how), int("s" in how)


def at_end(trace):
    """The mappings of the first address space as the trace has them at its end."""
    found = set()
    for line in engine_compare.dump_of(trace):
        if not re.match(r"(UN)?MAP seq=\S+ space=1 ", line):
            continue
        start, end = (engine_compare.number_in(line, which) for which in ("start", "end"))
        if line.startswith("MAP"):
            found.add((start, end, engine_compare.number_in(line, "prot"), engine_compare.number_in(line, "shared")))
        else:
            found = {m for m in found if m[:2] != (start, end)}
    return found


def pages(mappings):
    """What each page is. Whether code can be written is not compared: what is write-protected for us is so for the kernel."""
    return {page: (protection | 2 if protection & 4 else protection, shared)
            for start, end, protection, shared in mappings for page in range(start >> 12, end >> 12)}


def add_mappings(mode, options):
    @case("pages of code: mappings in the trace are those that the program has: " + mode)
    def run():
        program = build("page_state.c")
        for seed in range(FIRST, FIRST + SEEDS):
            recorded = record([program, str(seed), "300", "mappings"], ["--backend", "engine", *options])
            lines = [line for line in recorded.err.decode().splitlines() if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line)]
            # The stack grows as it likes; the kernel's pages ([vvar], [vsyscall]) are told of differently.
            expected = {as_program(line) for line in lines if "[" not in line or "[heap]" in line}
            starts = {as_program(line)[0] for line in lines if "[" in line and "[heap]" not in line}
            ends = {as_program(line)[1] for line in lines if "[stack]" in line}
            seen = {m for m in at_end(recorded.trace) if m[0] not in starts and m[1] not in ends}
            check(len(expected) > 20, "seed %d: only %d mappings" % (seed, len(expected)))
            check(pages(seen) == pages(expected), "seed %d: only in the trace: %s; only of the program: %s" %
                  (seed, *(["%x-%x %d %d" % m for m in sorted(some)] for some in (seen - expected, expected - seen))))


for what_, program_ in PROGRAMS.items():
    for mode_, options_ in MODES.items():
        add(what_, *program_, mode_, options_)

@case("pages of code, as natively with an alarm at each 307th instruction of the cache's own")
def with_alarms():
    program = build("page_state.c")
    for seed in range(FIRST, FIRST + max(SEEDS // 6, 1)):
        argv = [program, str(seed), "12"]
        expected, recorded = native(argv), record(argv, ["--backend", "engine", "--alarm-each", "307"])
        check((recorded.status, recorded.out) == (expected.status, expected.out), "seed %d: %s" % (seed, first_difference(recorded, expected)))


for mode_, options_ in MODES.items():
    add_mappings(mode_, options_)

main(sanitized=3)
