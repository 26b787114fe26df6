# SPDX-License-Identifier: MIT
# The gallery (tests/gallery/table.ini): forty failures as people meet them, each with the sentence and the line that the first
# screen must hold, and ten controls of which no cause may be claimed. An entry that is wrong and not known to be fails, and so
# does one that is right and known to be wrong; so do fewer right ones than MUST_BE_RIGHT, or one false cause.
# Named entries alone: gallery.py list_null. With --show the screens are printed.
import concurrent.futures
import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys

import e2e
from e2e import Failure, Skip, case, check, equal
from first_screen import as_shown, first_screen, lacking, on_screen, recorded

SOURCES = os.path.normpath(os.path.join(e2e.HERE, "..", "gallery"))
OF, MUST_BE_RIGHT = 40, 34
# All builds of all failures whose signatures are compared, and not a few of them: some minutes.
FULL = bool(os.environ.get("BTREC_GALLERY_FULL"))
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


def judge(entry, shown):
    screen = on_screen(shown)
    # What the program's name or a line of its source says is no claim.
    said = re.sub(r"^( *\d+| {6}\S.*\.\w+:\d+): .*", "", screen, flags=re.M).replace(entry.name, "")
    seen = Seen(as_shown(screen, shown), lacking(screen, entry.sentences, entry.wanted_lines()))
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
    return signature(recorded(entry.run, where)[0])


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
    trace, done = recorded(entry.run, where, entry.row.get("until"))
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
