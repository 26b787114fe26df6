# SPDX-License-Identifier: MIT
# The first screen that a user sees of a failure (btview --summary on 24 lines of 80 columns), and what it is compared with:
# for gallery.py and debian_bugs.py.
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import e2e
from e2e import Failure, check

ROWS, COLUMNS = 24, 80


def descendants(pid):
    found = []
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/children" % (pid, task)) as file:
            for child in map(int, file.read().split()):
                found += [child] + descendants(child)
    return found


def tasks_of(pids):
    """(state, ticks of CPU) of each thread."""
    tasks = []
    for pid in pids:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/stat" % (pid, task)) as file:
                fields = file.read().rpartition(")")[2].split()
            tasks.append((task, fields[0], int(fields[11]) + int(fields[12])))
    return tasks


def programs_of(process):
    """The processes that are recorded: children of the recorder, and theirs."""
    try:
        return descendants(e2e.recorder_of(process))
    except (OSError, IndexError):
        return []


def wait_for_hang(process, busy):
    """Until every thread waits and goes on to, or, where it is busy, until it has computed for a while."""
    before, still = None, 0
    end = time.monotonic() + 60
    while time.monotonic() < end:
        check(process.poll() is None, "it has ended instead of hanging")
        try:
            now = tasks_of(programs_of(process))
        except (OSError, IndexError):
            now = None
        if now and busy:
            if sum(ticks for _, _, ticks in now) >= 50:
                return
        elif now and now == before and all(state in "SZ" for _, state, _ in now):
            still += 1
            if still == 15:
                return
        else:
            still = 0
        before = now
        time.sleep(0.02)
    raise Failure("it does not come to hang")


def end(process):
    for pid in programs_of(process):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    process.communicate(timeout=e2e.TIMEOUT)


def first_screen(trace):
    """What btview --summary shows on a terminal of 24 lines and 80 columns, without colours; what does not fit is off it."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    process = e2e.start([e2e.BTVIEW, "--summary", trace], stdin=its, stdout=its, stderr=subprocess.PIPE, env=dict(os.environ, TERM="xterm", LINES=str(ROWS), COLUMNS=str(COLUMNS), NO_COLOR="1", PAGER="cat"))
    os.close(its)
    said = b""
    limit = time.monotonic() + e2e.TIMEOUT
    while time.monotonic() < limit and select.select([ours], [], [], e2e.TIMEOUT)[0]:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        said += part
    os.close(ours)
    _, err = process.communicate(timeout=e2e.TIMEOUT)
    check(process.returncode == 0, "btview --summary: status %d: %s" % (process.returncode, err.decode(errors="replace")))
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", said.decode(errors="replace")).replace("\r", "").split("\n")


def on_screen(lines):
    """The lines that the first screen has room for; one that is wider than it takes several rows, and is read as one."""
    room, text = ROWS * COLUMNS, []
    for line in lines:
        rows = max(1, -(-len(line) // COLUMNS))
        text.append(line[:room])
        room -= rows * COLUMNS
        if room <= 0:
            break
    return "\n".join(text)


def recorded(argv, where, until=None):
    """The trace of argv, which runs in a directory, and what is to be called when it has been looked at. until: hang (every thread
    waits, then `btrec snap`), busy (it computes, then the same), or a signal that it is sent while it waits."""
    trace = e2e.fresh("trace")
    options = os.environ.get("BTREC_TEST_OPTIONS", "").split()
    process = e2e.start([e2e.BTREC, "run", "-o", trace, *options, "--", *argv], cwd=where, preexec_fn=lambda: e2e.limit_core(0))
    if not until:
        process.communicate(timeout=e2e.TIMEOUT)
        return trace, lambda: None
    wait_for_hang(process, until == "busy")
    if until in ("hang", "busy"):
        done = e2e.execute([e2e.BTREC, "snap", str(process.pid)])
        check(done.status == 0, "btrec snap: %s" % done.err.decode(errors="replace"))
        return trace, lambda: end(process)
    for pid in programs_of(process):
        os.kill(pid, getattr(signal, until))
    process.communicate(timeout=e2e.TIMEOUT)
    return trace, lambda: None


def lacking(screen, sentences, lines):
    """What of the sentences (patterns), and of the lines of sources (one of them is enough), a screen does not hold."""
    # A sentence goes on on the next line, deeper.
    screen += "\n" + re.sub(r"\n +", " ", screen)
    lacks = ["does not say: " + sentence for sentence in sentences if not re.search(sentence, screen, re.I)]
    if lines and not any(re.search(re.escape(line) + r"(?!\d)", screen) for line in lines):
        lacks.append("does not lead to " + (" or ".join(lines) if len(lines) < 4 else "%s to %s" % (lines[0], lines[-1])))
    return lacks


def as_shown(screen, lines):
    """The first screen, a rule, and what is below it."""
    return screen + "\n" + "-" * COLUMNS + "\n" + "\n".join(lines)[len(screen) + 1:]
