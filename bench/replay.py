#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# replay.py BUILDDIR [ROUNDS]: what it costs to record programs of one process for a replay, and to replay them: CPU time (user and system, of the
# program, btrec and all that they start) and wall time, interleaved, medians over the rounds. The columns are ratios: the engine and the recording
# for a replay to native; that recording to the engine without a log; the replay to its recording.
# BTREC_BENCH and BTREC_BENCH_ONLY as of ratios.py, which has the programs' inputs.
import os
import shutil
import subprocess
import sys
import tempfile

import ratios
from ratios import BTREC, PYTHON, ROUNDS, SHORT, SQL, amount, geometric_mean, measure, median, wanted

RUN = [BTREC, "run", "-q", "--backend", "engine"]
COLUMNS = (("native", []), ("engine", [*RUN, "-o", ratios.TRACE, "--"]), ("record", [*RUN, "--replayable", "-o", ratios.TRACE, "--"]), ("replay", None))
QUOTIENTS = (("engine", "native"), ("record", "native"), ("record", "engine"), ("replay", "record"))
START = "start: " # rows whose names begin so are not in the mean
CLOCK = "import time\nn, end = 0, time.monotonic() + %g\nwhile time.monotonic() < end: n += 1\n"
# The same work whatever number of signals is served in it.
SIGNALS = """import signal
n = x = 0
def seen(*_):
    global n
    n += 1
signal.signal(signal.SIGALRM, seen)
signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
for i in range(%d): x = (x * 31 + i) %% 1000003
signal.setitimer(signal.ITIMER_REAL, 0)
"""


def rows(folder):
    """Name, argv."""
    compiler, system = (subprocess.run(["gcc", option], stdout=subprocess.PIPE).stdout.decode().strip() for option in ("-print-prog-name=cc1", "-print-multiarch"))
    python = "/usr/bin/python3"
    work = os.path.join(folder, "work")
    all_rows = [
        ("branchy loop", [work, "branches", str(amount(12000000))]),
        ("gzip -9, 10 MB", ["gzip", "-9c", "big"]),
        ("bzip2, 10 MB", ["bzip2", "-c", "big"]),
        ("cc1 -O2", [compiler, "-quiet", "-O2", *(["-imultiarch", system] if system else []), "-D_GNU_SOURCE", "-I" + os.path.dirname(ratios.HERE), "-I" + ratios.BUILD,
                     os.path.join(os.path.dirname(ratios.HERE), "lib/insn.c"), "-o", "o.s"]),
        ("sqlite3 in memory", ["sqlite3", ":memory:", SQL % amount(300000)]),
        ("python3", [python, "script.py"]),
        ("dd bs=1", ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=%d" % amount(100000), "status=none"]),
        ("find", ["find", "/usr/include", "-type", "f"]),
        ("md5sum of %d MB" % amount(1000), ["md5sum", "zeros"]),
        ("a loop on the clock", [python, "-c", CLOCK % (amount(10) / 10)]),
        ("10,000 signals a second", [python, "-c", SIGNALS % amount(10000000)]),
        (START + "true", ["/bin/true"]),
        (START + "ls", ["ls", "/usr/include"]),
    ]
    return [(name, argv) for name, argv in all_rows if shutil.which(argv[0]) and wanted(name)]


def front_of(front, folder):
    """Of the column of a replay: that of the trace that was recorded last."""
    if front is not None:
        return front
    last = max(int(name.rsplit("-", 1)[1]) for name in os.listdir(folder) if name.startswith(ratios.TRACE + "-"))
    return [BTREC, "replay", "-q", "%s-%d" % (ratios.TRACE, last)]


def main():
    folder = tempfile.mkdtemp(prefix="btrec-replay.")
    times = {}
    try:
        ratios.prepare(folder)
        with open(os.path.join(folder, "zeros"), "wb") as file:
            file.truncate(amount(1000) << 20)
        all_rows = rows(folder)
        for name, argv in all_rows * ratios.LEARNING:
            for column, front in COLUMNS[1:]: # each keeps fragments of its own kind
                measure(front_of(front, folder), [] if front is None else argv, folder, column)
        for _ in range(ROUNDS):
            for name, argv in all_rows:
                said = {}
                for column, front in COLUMNS:
                    cpu, wall, said[column] = measure(front_of(front, folder), [] if front is None else argv, folder, column)
                    times.setdefault((name, column), []).append((cpu, wall))
                if said["replay"] != (0, said["record"][1]):
                    print("%s: the replay is not as its recording: status %d" % (name, said["replay"][0]), file=sys.stderr)
                    times[name, "replay"][-1] = (float("nan"), float("nan"))
        show(all_rows, times)
    finally:
        shutil.rmtree(folder, True)


def show(all_rows, times):
    cell = "%%-%ds %%12s" % max(len(name) for name, _ in [*all_rows, ("geometric mean", "")])
    print("CPU time (wall time)")
    print(cell % ("", "native") + "".join(" %16s" % ("%s/%s" % quotient) for quotient in QUOTIENTS))
    in_mean = []
    for name, _ in all_rows:
        values = [[median(times, name, a, i) / median(times, name, b, i) for i in (0, 1)] for a, b in QUOTIENTS]
        print(cell % (name, "%.0f ms" % (1000 * median(times, name, "native", 0))) + "".join(" %16s" % ("%.2f (%.2f)" % tuple(v)) for v in values))
        if not name.startswith(START):
            in_mean.append(values)
    if in_mean:
        print(cell % ("geometric mean", "") + "".join(" %16s" % ("%.2f" % geometric_mean([v[i][0] for v in in_mean])) for i in range(len(QUOTIENTS))))
    print("medians of %d interleaved rounds; %d CPUs, %s%s" % (ROUNDS, os.cpu_count(), os.uname().release, "; short" if SHORT else ""))


if __name__ == "__main__":
    main()
