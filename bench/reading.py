#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# reading.py BUILDDIR [ROUNDS]: how what btview takes grows with a trace: CPU time for traces of so many mappings and of twice as many, and the ratio,
# which is 2 where it grows with their number and 4 where it grows with its square. Interleaved; medians over the rounds.
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
SIZES = (1000, 2000) if os.environ.get("BTREC_BENCH") == "short" else (10000, 20000)


def cpu(argv, folder):
    process = subprocess.Popen(argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, process.returncode, usage = os.wait4(process.pid, 0)
    return usage.ru_utime + usage.ru_stime


def main():
    folder = tempfile.mkdtemp(prefix="btrec-reading.")
    try:
        subprocess.run(["cc", "-O2", os.path.join(HERE, "many_mappings.c"), "-o", os.path.join(folder, "many_mappings")], check=True)
        for n in SIZES:
            cpu([os.path.join(BUILD, "btrec"), "run", "-q", "-o", "trace-%d" % n, "--", "./many_mappings", str(n)], folder)
        print("%-28s %10s %10s %8s" % ("CPU ms of reading", *("%d" % n for n in SIZES), "ratio"))
        for name, option in ("many mappings, --stdio", "--stdio"), ("many mappings, --json", "--json"):
            times = [[cpu([os.path.join(BUILD, "btview"), option, "trace-%d" % n], folder) for n in SIZES] for _ in range(ROUNDS)]
            small, large = (statistics.median(column) for column in zip(*times))
            print("%-28s %10.0f %10.0f %8.2f" % (name, 1000 * small, 1000 * large, large / small))
        print("medians of %d interleaved rounds" % ROUNDS)
    finally:
        shutil.rmtree(folder, True)


main()
