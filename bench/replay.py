#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# replay.py BUILDDIR [ROUNDS]: what it costs to record programs of one process for a replay, and to replay them: CPU time (user and system, of the
# program, btrec and all that they start) and wall time, interleaved, medians over the rounds. The columns are ratios: the engine and the recording
# for a replay to native; that recording to the engine without a log; the replay to its recording. ratios.py prints the same table behind its own.
# BTREC_BENCH, BTREC_BENCH_ONLY: as measuring.py says.
import os
import shutil
import subprocess
import sys
import tempfile

import measuring
from measuring import BTREC, LEARNING, ROUNDS, SQL, TRACE, amount, geometric_mean, median, wanted

RUN = [BTREC, "run", "-q", "--backend", "engine"]
COLUMNS = (("native", []), ("engine", [*RUN, "-o", TRACE, "--"]), ("record", [*RUN, "--replayable", "-o", TRACE, "--"]), ("replay", None))
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
        ("cc1 -O2", [compiler, "-quiet", "-O2", *(["-imultiarch", system] if system else []), "-D_GNU_SOURCE", "-I" + os.path.dirname(measuring.HERE), "-I" + measuring.BUILD,
                     os.path.join(os.path.dirname(measuring.HERE), "lib/insn.c"), "-o", "o.s"]),
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
    last = max(int(name.rsplit("-", 1)[1]) for name in os.listdir(folder) if name.startswith(TRACE + "-"))
    return [BTREC, "replay", "-q", "%s-%d" % (TRACE, last)]


class Replays:
    """The rows and their times, in a folder that measuring.prepare has filled."""

    def __init__(self, folder):
        self.folder, self.rows, self.times = folder, rows(folder), {}
        with open(os.path.join(folder, "zeros"), "wb") as file:
            file.truncate(amount(1000) << 20)

    def run(self, column, front, argv):
        return measuring.measure(front_of(front, self.folder), [] if front is None else argv, self.folder, column)

    def learn(self):
        """Each of the columns keeps fragments of its own kind."""
        for _, argv in self.rows * LEARNING:
            for column, front in COLUMNS[1:]:
                self.run(column, front, argv)

    def measure(self):
        """One round."""
        for name, argv in self.rows:
            said = {}
            for column, front in COLUMNS:
                cpu, wall, said[column] = self.run(column, front, argv)
                self.times.setdefault((name, column), []).append((cpu, wall))
            if said["replay"] != (0, said["record"][1]):
                print("%s: the replay is not as its recording: status %d" % (name, said["replay"][0]), file=sys.stderr)
                self.times[name, "replay"][-1] = (float("nan"), float("nan"))

    def show(self):
        if not self.rows:
            return
        cell = "%%-%ds %%12s" % max(len(name) for name, _ in [*self.rows, ("geometric mean", "")])
        print("One process, recorded for a replay, and replayed: CPU time (wall time)")
        print(cell % ("", "native") + "".join(" %16s" % ("%s/%s" % quotient) for quotient in QUOTIENTS))
        in_mean = []
        for name, _ in self.rows:
            values = [[median(self.times, name, a, i) / median(self.times, name, b, i) for i in (0, 1)] for a, b in QUOTIENTS]
            print(cell % (name, "%.0f ms" % (1000 * median(self.times, name, "native", 0))) + "".join(" %16s" % ("%.2f (%.2f)" % tuple(v)) for v in values))
            if not name.startswith(START):
                in_mean.append(values)
        if in_mean:
            print(cell % ("geometric mean", "") + "".join(" %16s" % ("%.2f" % geometric_mean([v[i][0] for v in in_mean])) for i in range(len(QUOTIENTS))))


def main():
    folder = tempfile.mkdtemp(prefix="btrec-replay.")
    try:
        measuring.prepare(folder)
        replays = Replays(folder)
        replays.learn()
        for _ in range(ROUNDS):
            replays.measure()
        replays.show()
        measuring.show_rounds()
    finally:
        shutil.rmtree(folder, True)


if __name__ == "__main__":
    main()
