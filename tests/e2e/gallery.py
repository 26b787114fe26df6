# SPDX-License-Identifier: MIT
# The gallery (tests/gallery/table.ini): forty failures as people meet them, each with the sentence and the line that the first
# screen must hold, and ten controls of which no cause may be claimed. An entry that is wrong and not known to be fails, and so
# does one that is right and known to be wrong; so do fewer right ones than MUST_BE_RIGHT, or one false cause.
# Named entries alone: gallery.py list_null. With --show the screens are printed.
import concurrent.futures
import configparser
import fcntl
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

import e2e
from e2e import Failure, Skip, case, check, equal

GALLERY = os.path.join(e2e.HERE, "..", "gallery")
SOURCES = os.path.normpath(GALLERY)
OF, MUST_BE_RIGHT = 40, 34
# All builds of all failures whose signatures are compared, and not a few of them: some minutes.
FULL = bool(os.environ.get("BTREC_GALLERY_FULL"))
ROWS, COLUMNS = 24, 80
# What claims a cause, where nothing has failed or all that is known is how it ended.
NO_CAUSE = r"null|overflow|freed|free\(\)|non-canonical|too small|uninitiali[sz]ed|deadlock|divi|SIGSEGV|SIGBUS|SIGABRT|SIGFPE|SIGILL|SIGCHLD|SIGPIPE|exception|assert|panic|terminate called|read from 0x|write to 0x"
TOOLS = {
    "{cc}": e2e.CC,
    "{cxx}": e2e.CXX,
}


class Entry:
    def __init__(self, name, row):
        self.name, self.row = name, row
        self.control, self.other, self.known = row.getboolean("control"), row.getboolean("other"), row.get("known")
        self.run = shlex.split(row.get("run", "./" + name))
        self.sentences = [line for line in row.get("sentence", "").splitlines() if line]
        self.never = [line for line in row.get("never", "").splitlines() if line]

    def without_facts(self, said):
        """Of what is told of another process, and claims nothing of the program."""
        facts = self.row.get("facts")
        return re.sub(facts, "", said, flags=re.I) if facts else said

    def steps(self):
        told = self.row.get("compile")
        if told:
            return [line for line in told.splitlines() if line]
        if os.path.exists(os.path.join(SOURCES, self.name + ".cc")):
            return ["{cxx} -g -O0 %s.cc -o %s" % (self.name, self.name)]
        return ["{cc} -g -O0 %s.c -o %s" % (self.name, self.name)]

    def wanted_lines(self):
        """file:line of each line that is marked, or none."""
        file = self.row["line"]
        if file == "none":
            return []
        with open(os.path.join(SOURCES, file)) as source:
            numbers = [number for number, line in enumerate(source, 1) if line.rstrip().endswith("// HERE")]
        check(numbers, "no line of %s is marked" % file)
        return ["%s:%d" % (file, number) for number in numbers]


class Seen:
    """Of one entry: the first screen, and what it lacks (or says too much)."""

    def __init__(self, screen="", wrong=(), false=(), skipped=None):
        self.screen, self.wrong, self.false, self.skipped = screen, list(wrong), list(false), skipped
        self.signature = None


def expand(step):
    return [word for told in shlex.split(step) for word in TOOLS.get(told, [told])]


def compiled(entry, where):
    """Makes the entry's program. The reason why not, or None."""
    if entry.run[0][0] != "." and not shutil.which(entry.run[0]):
        return "%s is missing" % entry.run[0]
    for step in entry.steps():
        argv = expand(step)
        if not shutil.which(argv[0]):
            return "%s is missing" % argv[0]
        done = subprocess.run(argv, cwd=where, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(os.environ, GO111MODULE="off", GOCACHE=os.path.join(e2e.TMP, "go"), GOFLAGS="-p=1"))
        if done.returncode:
            said = done.stdout.decode(errors="replace")
            if re.search(r"cannot find .*lib(asan|tsan|ubsan)|unsupported option '-fsanitize", said):
                return "no sanitizer's library is here"
            raise Failure("%s: %s" % (" ".join(argv), said))
    return None


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


def recorded(entry, where):
    """The trace, recorded as the table says, and what is to be called when it has been looked at."""
    trace = e2e.fresh("trace")
    options = os.environ.get("BTREC_TEST_OPTIONS", "").split()
    until = entry.row.get("until")
    argv = [e2e.BTREC, "run", "-o", trace, *options, "--", *entry.run]
    # A sanitizer's own options are the user's; those of the test's environment are for btrec.
    environment = {name: value for name, value in os.environ.items() if not name.endswith("SAN_OPTIONS")}
    environment["ASAN_OPTIONS"] = "detect_leaks=0"
    process = e2e.start(argv, cwd=where, env=environment, preexec_fn=lambda: e2e.limit_core(0))
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


def judge(entry, shown):
    screen = on_screen(shown)
    # What the program's name or a line of its source says is no claim.
    said = re.sub(r"^ *\d+: .*", "", screen, flags=re.M).replace(entry.name, "")
    seen = Seen(screen + "\n" + "-" * COLUMNS + "\n" + "\n".join(shown)[len(screen) + 1:])
    for sentence in entry.sentences:
        if not re.search(sentence, screen, re.I):
            seen.wrong.append("does not say: " + sentence)
    lines = entry.wanted_lines()
    if lines and not any(re.search(re.escape(line) + r"(?!\d)", screen) for line in lines):
        seen.wrong.append("does not lead to " + " or ".join(lines))
    for never in entry.never + ([NO_CAUSE] if entry.control else []):
        claimed = re.search(never, entry.without_facts(said), re.I)
        if claimed:
            seen.false.append("claims: " + claimed.group(0))
    return seen


def signature(trace):
    """The line, or None: nothing has failed."""
    found = e2e.execute([e2e.BTVIEW, "--signature", trace])
    check(found.status in (0, 1), "btview --signature: status %d: %s" % (found.status, found.err.decode(errors="replace")))
    return found.out.decode().strip() or None


def builds_of(entry):
    """How its program is made, each a list of flags behind the compiler: all eight ways, or in a short run four of them."""
    compilers = {".c": ("gcc", "clang"), ".cc": ("g++", "clang++")}
    source = entry.name + (".cc" if os.path.exists(os.path.join(SOURCES, entry.name + ".cc")) else ".c")
    told = expand(entry.steps()[0])
    kept = [word for word in told if word.startswith(("-pthread", "-fstack-protector"))]
    rows = []
    for number, compiler in enumerate(compilers[os.path.splitext(source)[1]]):
        for optimised, level in enumerate(("-O0", "-O2")):
            for pie, flags in enumerate((["-fno-pie", "-no-pie"], ["-fPIE", "-pie"])):
                if shutil.which(compiler) and (FULL or (number + optimised + pie) % 2):
                    rows.append([compiler, "-g", level, "-w", *flags, source, "-o", entry.name, *kept])
    return rows


def built_signature(entry, argv):
    where = folder()
    done = subprocess.run(argv, cwd=where, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(not done.returncode, "%s: %s" % (" ".join(argv), done.stdout.decode(errors="replace")))
    return signature(recorded(entry, where)[0])


def folder():
    """A fresh one with all sources."""
    where = e2e.fresh_dir("gallery")
    for name in os.listdir(SOURCES):
        os.symlink(os.path.join(SOURCES, name), os.path.join(where, name))
    return where


def look(entry):
    where = folder()
    why = compiled(entry, where)
    if why:
        return Seen(skipped=why)
    trace, done = recorded(entry, where)
    try:
        seen = judge(entry, first_screen(trace))
        seen.signature = signature(trace)
        return seen
    finally:
        done()


def read_table():
    table = configparser.ConfigParser(interpolation=None)
    with open(os.path.join(SOURCES, "table.ini")) as file:
        table.read_file(file)
    return [Entry(name, table[name]) for name in table.sections()]


SHOW = "--show" in sys.argv
sys.argv = [argument for argument in sys.argv if argument != "--show"]
entries = read_table()
wanted = [entry for entry in entries if not sys.argv[1:] or any(word in entry.name for word in sys.argv[1:])]
del sys.argv[1:] # all cases of these
pool = concurrent.futures.ThreadPoolExecutor(max(2, len(os.sched_getaffinity(0))))
looks = {}


def seen_of(entry):
    return looks[entry.name].result()


def entry_case(entry):
    @case(entry.name)
    def is_told():
        seen = seen_of(entry)
        if seen.skipped:
            raise Skip(seen.skipped)
        if SHOW:
            print(seen.screen)
        wrong = seen.wrong + seen.false
        if entry.known:
            check(wrong, "is right, and the table says that it is not: " + entry.known)
            return
        check(not wrong, "; ".join(wrong) + "\n" + seen.screen)


for entry_ in wanted:
    entry_case(entry_)


def count(which):
    """Of these entries: those that are right, and those that were tried."""
    tried = [entry for entry in which if not seen_of(entry).skipped]
    return [entry for entry in tried if not seen_of(entry).wrong and not seen_of(entry).false], tried


@case("figures")
def figures():
    gallery = [entry for entry in wanted if not entry.control and not entry.other]
    controls = [entry for entry in wanted if entry.control]
    (right, tried), (others_right, others) = count(gallery), count([entry for entry in wanted if entry.other])
    false = [entry.name for entry in wanted if seen_of(entry).false]
    print("right %d of %d, false causes %d of %d" % (len(right), len(gallery), sum(1 for entry in controls if seen_of(entry).false), len(controls)))
    print("other programs: right %d of %d; false causes of all: %d of %d" % (len(others_right), len(others), len(false), len(wanted)))
    if len(tried) < len(gallery):
        print("not tried: " + " ".join(entry.name for entry in gallery if entry not in tried))
    check(not false, "false causes: " + " ".join(false))
    if len(wanted) == len(entries):
        equal(len(gallery), OF, "failures in the table")
        check(len(right) * OF >= len(tried) * MUST_BE_RIGHT, "fewer than %d of %d are right" % (MUST_BE_RIGHT, OF))


@case("signatures of different failures differ")
def differ():
    known = {entry.name: seen_of(entry).signature for entry in wanted if not entry.control and seen_of(entry).signature}
    hashes = {}
    for name, line in known.items():
        hashes.setdefault(line.split()[0], []).append("%s: %s" % (name, line))
    print("signatures: %d distinct of %d failures" % (len(hashes), len(known)))
    twice = [lines for lines in hashes.values() if len(lines) > 1]
    check(not twice, "two failures have one signature:\n" + "\n".join("\n".join(lines) for lines in twice))


@case("one failure has one signature, built by gcc and clang, optimised or not, PIE or not")
def agree():
    chosen = [entry for entry in wanted if entry.row.get("builds") == "short" or (FULL and entry.row.get("builds"))]
    jobs = [(entry, argv, pool.submit(built_signature, entry, argv)) for entry in chosen for argv in builds_of(entry)]
    if not jobs:
        raise Skip("none of them is to be built so")
    found = {}
    for entry, argv, job in jobs:
        found.setdefault(entry.name, {}).setdefault(job.result(), []).append(" ".join(argv[:6]))
    parted = {name: lines for name, lines in found.items() if len(lines) > 1 or None in lines}
    print("signatures: equal over %d builds for %d of %d failures" % (len(jobs) // len(chosen), len(found) - len(parted), len(found)))
    check(not parted, "\n".join("%s: %s: %s" % (name, line, "; ".join(how)) for name, lines in parted.items() for line, how in lines.items()))


# As threads end what they have started (e2e.reap), nothing may run on when a case ends: all is looked at first.
for entry_ in wanted:
    looks[entry_.name] = pool.submit(look, entry_)
concurrent.futures.wait(looks.values())
e2e.main()
