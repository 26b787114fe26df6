#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Programs of the system from the deterministic start: every branch, tick and point that the engine records is the stepper's.
# BTREC_BRANCHES: the least that each of them has to make. Where it is set (./check --full: a million) all of them run, else the first, with 40000.
# At random points, BTREC_STOPS (8), registers and all that events hold are the same, too. BTREC_SEED (1): the seed of what they read and of these.
import os
import random
import re
import shutil

from e2e import *
import engine_compare

SEED = int(os.environ.get("BTREC_SEED", "1"))
OUTSIDE_MOST = 0.1 # percent
BRANCHES = int(os.environ.get("BTREC_BRANCHES", "40000"))
FULL = "BTREC_BRANCHES" in os.environ
STOPS = int(os.environ.get("BTREC_STOPS", "8"))
RATE = 8000 # branches a second that the stepper makes at the very least, on a loaded machine, recorded, listed and dumped
START = 20000 # of a dynamic program, at least
# Not GNU's, which reads /proc/self/maps (libsigsegv): there the two backends differ.
AWK = shutil.which("mawk") or "awk"
# Branches for each byte that they read, rounded down. sort would look at the machine's free memory.
ROWS = [
    ("gzip", ["gzip", "-9", "-n", "-c"], 20),
    ("bzip2", ["bzip2", "-9", "-c"], 30),
    ("sort", ["sort", "--parallel=1", "-S", "8M"], 4),
    ("awk", [AWK, "{ for (i = 1; i <= NF; i++) n[$i]++ } END { for (w in n) print n[w], w }"], 15),
    ("sed", ["sed", "-E", "s/(.*)a(.*)e/\\2-\\1/; y/abc/bca/"], 90),
    ("perl", ["env", "PERL_HASH_SEED=0", "PERL_PERTURB_KEYS=0", "perl", "-ne", "$n{lc $_} += length for /\\w+/g; END { print join q( ), map { qq($_ $n{$_}) } sort keys %n }"], 120),
    ("python3", ["env", "PYTHONHASHSEED=0", "python3", "-S", "-c", "import sys; print(sorted(open(sys.argv[1]).read().split()))"], 100),
]


def text(size):
    """Lines of words, some of them rare, the same for one seed."""
    chance = random.Random(SEED)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(1, 9))) for _ in range(500)]
    out = []
    while size > 0:
        out.append(" ".join(words[int(500 * chance.random() ** 2)] for _ in range(chance.randint(1, 14))) + "\n")
        size -= len(out[-1])
    return "".join(out).encode()


def compare(argv):
    """Both recordings, without what time and the kernel's random numbers leave in registers at system calls."""
    _, count, _ = engine_compare.compare_runs(argv, timeout=600 + BRANCHES // RATE * 10, points_only=True)
    check(count >= BRANCHES, "only %d branches" % count)
    print("     %d branches are equal" % count, flush=True)


def add(name, argv, per_byte):
    @case("as stepped: " + name)
    def run():
        if not shutil.which(name):
            raise Skip("%s is not installed" % name)
        path = fresh("words") # not a pipe: how much one read gives is chance
        with open(path, "wb") as file:
            file.write(text(max(BRANCHES - START, 3000) // per_byte))
        compare([*argv, path])


@case("at most %s %% of the instructions run outside the cache" % OUTSIDE_MOST)
def outside():
    path = fresh("words")
    with open(path, "wb") as file:
        file.write(text(3000))
    shell = "for i in 1 2 3; do echo $i | sort; done; (exit 3); trap 'echo caught' USR1; kill -USR1 $$"
    programs = [[*row[1], path] for row in ROWS if shutil.which(row[0])]
    # The second as on processors with RTM and without AVX-512, where string functions execute XTEST each time.
    for argv in [*programs, ["env", "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512VL,-AVX512F", *programs[0]], ["sh", "-c", shell], ["ls", "-l", "/"], ["true"]]:
        recorded = record(argv, ["--backend", "engine"])
        info = execute([BTREC, "info", recorded.trace]).out.decode()
        found = re.search(r"^stepped +(\d+) instructions outside the code cache(?:, less than ([\d.]+) % of all)?$", info, re.M)
        check(found and (found.group(1) == "0" or float(found.group(2)) <= OUTSIDE_MOST), "%s: %s" % (" ".join(argv), found and found.group(0)))


def add_stopped(name, argv, per_byte):
    @case("stopped, as stepped, registers and all: " + name)
    def run():
        if not shutil.which(name):
            raise Skip("%s is not installed" % name)
        path = fresh("words")
        with open(path, "wb") as file:
            file.write(text(3000 // per_byte))
        engine_compare.same_stops([*argv, path], SEED, STOPS, asks_outside=True, timeout=600)


for row in ROWS if FULL else ROWS[:1]:
    add(*row)
for row in ROWS[:5] if FULL else ROWS[:1]: # those that have no million branches behind them when they begin
    add_stopped(*row)

if FULL:
    @case("as stepped: ls")
    def long_list():
        top = fresh_dir("tree")
        for n in range(BRANCHES // 1500):
            folder = os.path.join(top, str(n // 40))
            os.makedirs(folder, exist_ok=True)
            path = os.path.join(folder, "file-%d" % n)
            open(path, "w").close()
            os.utime(path, (10 ** 9 + n, 10 ** 9 + n))
        compare(["ls", "-lnR", top])


main()
