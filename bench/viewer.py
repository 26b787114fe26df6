#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# viewer.py BUILDDIR [ROUNDS]: the viewer on a capture of ten million branches, made as export.bash makes it. Time and memory until the first screen
# stands, against what `perf script` needs to print the capture, interleaved, medians; and how long a key takes: the median and the 99th percentile
# of 1,000 keys, each with a redraw of the whole screen behind it, so that its end can be seen.
import fcntl
import os
import pty
import random
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
CAPTURE = os.path.join(os.environ.get("BTREC_FIXTURES", os.path.join(HERE, "..", "..", "shared", "fixtures")), "perf-data", "westmere-lbr16.perf.data")
ENTRIES = 1000000 if os.environ.get("BTREC_BENCH") == "short" else 10000000
KEYS = [b"j"] * 30 + [b"k"] * 30 + [b"\x06"] * 8 + [b"\x02"] * 8 + [b"b", b"s", b"t", b"r", b"S", b"p", b"c", b"\t", b"g", b"G", b"%", b"u", b".", b",", b">", b"<", b"o"]
REDRAW, CLEARED = b"\x0c", b"\x1b[H\x1b[2J"


class Viewer:
    def __init__(self, trace):
        self.begun = time.monotonic()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 150, 0, 0))
            os.execve(os.path.join(BUILD, "btview"), ["btview", trace], dict(os.environ, TERM="xterm", LC_ALL="C.UTF-8"))

    def read_until(self, wanted, quiet):
        """Seconds until `wanted` and all behind it has come."""
        begun, seen, last = time.monotonic(), b"", None
        while True:
            ready, _, _ = select.select([self.fd], [], [], quiet if wanted in seen else 120)
            if not ready:
                if last is None or wanted not in seen:
                    sys.exit("viewer.py: the viewer does not answer")
                return last - begun
            seen += os.read(self.fd, 1 << 16)
            last = time.monotonic()

    def first_screen(self):
        self.read_until(b"[summary]", 0.05)
        with open("/proc/%d/status" % self.pid) as file:
            peak = int(file.read().split("VmHWM:")[1].split()[0])
        return time.monotonic() - self.begun - 0.05, peak

    def key(self, key):
        os.write(self.fd, key + REDRAW)
        return self.read_until(CLEARED, 0.004)

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def perf_script(capture):
    begun = time.monotonic()
    process = subprocess.Popen(["perf", "script", "-F", "ip,brstack", "-i", capture], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    return time.monotonic() - begun, usage.ru_maxrss


def main():
    if not os.path.exists(CAPTURE) or not shutil.which("perf"):
        print("viewer: no capture, or no perf to compare with")
        return
    folder = tempfile.mkdtemp(prefix="btrec-viewer.")
    try:
        capture, trace = os.path.join(folder, "capture"), os.path.join(folder, "trace")
        entries = int(subprocess.run([sys.executable, os.path.join(HERE, "replicate.py"), CAPTURE, str(ENTRIES), capture], check=True, capture_output=True).stdout)
        subprocess.run([os.path.join(BUILD, "btrec"), "import", "-q", "-o", trace, capture], check=True)
        firsts, scripts = [], []
        for _ in range(ROUNDS):
            viewer = Viewer(trace)
            firsts.append(viewer.first_screen())
            viewer.end()
            scripts.append(perf_script(capture))
        ours, theirs = ([statistics.median(column) for column in zip(*rows)] for rows in (firsts, scripts))
        viewer, rnd = Viewer(trace), random.Random(39)
        viewer.first_screen()
        times = sorted(viewer.key(rnd.choice(KEYS)) for _ in range(1000))
        viewer.end()
        print("\n%-40s %12s %12s %8s" % ("%d branches" % entries, "btview", "perf script", "ratio"))
        print("%-40s %12.2f %12.2f %8.2f" % ("seconds to the first screen, to print", ours[0], theirs[0], ours[0] / theirs[0]))
        print("%-40s %12.0f %12.0f %8.2f" % ("memory, MiB", ours[1] / 1024, theirs[1] / 1024, ours[1] / theirs[1]))
        print("a key with a redraw, ms: median %.1f, 99 %% %.1f, longest %.0f" % (1000 * times[500], 1000 * times[990], 1000 * times[-1]))
    finally:
        shutil.rmtree(folder, True)


main()
