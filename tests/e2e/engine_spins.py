#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Threads that spin for one another (programs/spins.c), in turns: a turn ends when its task only waits for others. So a handover takes some
# thousand conditionals, and not the millions of a slice; one that computes while others spin has nearly all of the time; and the history
# holds. What the looks themselves see is tests/unit/test_spin.
import re
import subprocess

from e2e import *

CHECK = os.path.join(BUILD, "tests/tools/check_history")
COUNT = 100
MODES = {"history": ["--history", "50000"], "only counted": ["--history", "off"]}
MOST = 20000 # conditionals of all threads for each handover; a slice of 5 ms has more than a million
SWITCHES = 4 # for each handover
ASIDE = 100 # switches for beginning and end
SLICES = 300 # switches of threads that compute
BEGINNING = 10000000 # conditionals, some slices: on a busy machine one may spin until another has had a processor for the first time


def spins(optimize="-O2"):
    return build("spins.c", "-pthread", optimize)


def record_spins(name, optimize, count, options):
    """Conditionals of all threads, and switches."""
    recorded = record([spins(optimize), name, str(count)], ["--backend", "engine", "--snap-exit", "always", *options])
    equal((recorded.status, recorded.out), (0, b"%d\n" % count), "status and output")
    lines = execute([BTREC, "dump", recorded.trace], cwd=TMP).out.decode(errors="replace").splitlines()
    ends = [int(re.search(r" point=(\d+)\+", line).group(1)) for line in lines if line.startswith("EXIT ")]
    if "off" not in options:
        done = subprocess.run([CHECK, recorded.trace], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        equal(done.returncode, 0, "check_history: %s" % done.stdout.decode(errors="replace")[:400])
    return sum(ends), sum(line.startswith("SWITCH ") for line in lines)


def add(name, optimize):
    @case("spins: %s, %s" % (name, optimize))
    def run():
        for mode, options in MODES.items():
            ticks, switches = record_spins(name, optimize, COUNT, options)
            print("     %s: %d conditionals, %.1f switches a handover" % (mode, ticks // COUNT, switches / COUNT), flush=True)
            check(ticks < MOST * COUNT + BEGINNING, "%s: %d conditionals for %d handovers" % (mode, ticks, COUNT))
            check(switches < SWITCHES * COUNT + ASIDE, "%s: %d switches for %d handovers" % (mode, switches, COUNT))


for each in "loads pause calls compare-exchange counting sum backing-off delays yield tickets number spin-lock".split():
    add(each, "-O2")
for each in "loads calls counting sum delays tickets".split():
    add(each, "-O0")


@case("spins: one computes, and three wait for it all the while")
def one_computes():
    rounds = 50000
    for mode, options in MODES.items():
        ticks, switches = record_spins("long", "-O2", rounds, options)
        check(ticks < 1.2 * 1000 * rounds + BEGINNING, "%s: %d conditionals, of which %d are the work" % (mode, ticks, 1000 * rounds))


@case("spins: loops that only count are work, also where a lock is held in them")
def work_counts():
    for name in "nobody", "owner":
        for mode, options in MODES.items():
            switches = record_spins(name, "-O2", 500, options)[1]
            print("     %s, %s: %d switches" % (name, mode, switches), flush=True)
            check(switches < SLICES, "%s, %s: %d switches" % (name, mode, switches))


@case("spins: all wait for the kernel, and do not hand the turn round meanwhile")
def all_wait():
    for mode, options in MODES.items():
        switches = record_spins("kernel", "-O2", 1, options)[1]
        check(switches < ASIDE, "%s: %d switches" % (mode, switches))


@case("spins: one that waits gets its signal while another computes")
def signalled():
    for options in MODES.values():
        record_spins("signal", "-O2", 1, options)


@case("spins: one that waits gets its signal no later where many others sleep")
def signalled_among():
    for mode, options in MODES.items():
        ticks = record_spins("signal-among", "-O2", 1, options)[0]
        print("     %s: %d conditionals" % (mode, ticks), flush=True)
        check(ticks < 10 * BEGINNING, "%s: %d conditionals before it comes" % (mode, ticks))


@case("spins: every case is tried")
def all_tried():
    with open(__file__) as file:
        tried = set(re.findall(r"[\w-]+", file.read()))
    equal([name for name in native([spins()]).out.decode().split() if name not in tried], [], "cases left out")


main(sanitized=5)
