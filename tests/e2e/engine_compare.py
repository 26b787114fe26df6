#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Two recordings of one program from the deterministic start, entry by entry: branches with their ticks, then events with points,
# results and registers. What differs first is shown with the entries and the code that led there.
#
# engine_compare.py TRACE TRACE                                    compares two traces
# engine_compare.py --run [-b BACKEND,BACKEND] [OPTION...] -- PROGRAM ARG...   records the program twice (step, engine) and compares
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys

from e2e import *

# 2^26 entries: more than the stepper makes in the time that a test has.
WHOLE = ["--deterministic", "--guess-eagerly", "--snap-exit", "always", "--history", str(1 << 26)]
CONTEXT = 12 # entries shown before the first that differs
CODE = 80 # instructions shown
EVENTS = {"EXEC", "SYSCALL_ENTER", "SYSCALL_EXIT", "SIGNAL", "HANDLER", "EXIT", "DETACH", "SNAPSHOT", "THREAD"}
# Differ from run to run, or number what each backend numbers in its own way.
DROPPED = re.compile(r" (?:seq|time|epoch|position|event|snapshot|sender|stepped)=\S*")
RESUME_FLAG = 0x10000
# System calls that tell of the world outside: getpgrp, getsid and their kin, getppid, times, time.
OUTSIDE = {110, 111, 121, 124, 100, 201}


# Of fault_at_branch.S.
LEADING_NOWHERE = """
    JCC_UNMAPPED JMP_UNMAPPED CALL_UNMAPPED ICALL_UNMAPPED IJMP_NULL RET_UNMAPPED ICALL_NON_CANONICAL RET_NON_CANONICAL
    IJMP_NON_CANONICAL CALL_NO_STACK RET_NO_STACK RET_POPS_NO_STACK ICALL_MEMORY_FAULT ICALL_NO_STACK ICALL_RCX_NO_STACK
    ICALL_R11_NO_STACK ICALL_RIP_NO_STACK ICALL_RCX_FAULT ICALL_R11_FAULT IJMP_R11_FAULT IJMP_RIP_FAULT IJMP_STACK_FAULT
""".split()
# Programs without a library: what they are, source, flags.
BARE_PROGRAMS = [
    ("every conditional branch, taken and not", "conditionals.S"),
    ("every other branch", "transfers.S"),
    ("returns that no call foretells, deep and thrown away frames", "returns.S"),
    ("cycles without a conditional branch", "cycles.S"),
    ("a long line of conditionals that lead forward", "forward.S"),
    ("signal handlers", "handlers.S"),
    ("code that changes", "jit.S"),
    ("a small program of everything", "workload.c", "-fno-stack-protector"),
    *[("a branch that leads nowhere: " + name.lower().replace("_", " "), "fault_at_branch.S", "-D" + name) for name in LEADING_NOWHERE],
]


def guessed_programs(*flags):
    """Builds guessed.S for each branch and each way in which it may lead nowhere at last."""
    for kind in "RET RET_POPS IJMP IJMP_MEMORY IJMP_NEAR ICALL".split():
        ends = ["-DBAD=0", "-DBAD=0x123456789000", "-DBAD=0x8000000000001234"] + ([] if kind in ("IJMP", "IJMP_NEAR") else ["-DOPERAND"])
        for end in ends:
            print("     %s %s" % (kind, end), flush=True)
            yield build("guessed.S", *BARE, "-D" + kind, end, *flags)



def backends():
    """The two that are compared: the stepper against itself as long as there is nothing else."""
    if os.environ.get("BTREC_COMPARE"):
        return os.environ["BTREC_COMPARE"].split(",")
    return ["step", "engine" if has_engine() else "step"]


def has_engine():
    said = execute([BTREC, "run", "--backend", "engine", "-o", fresh("trace"), "--", "/bin/true"], cwd=TMP)
    return b"is none of" not in said.err


# Branches -------------------------------------------------------------------------------------------------------------------

def listing(trace):
    """The file of all branch entries of a trace, one a line."""
    path = fresh("listing")
    with open(path, "wb") as out:
        done = subprocess.run([BRANCHES, trace], stdout=out, stderr=subprocess.PIPE)
    equal(done.returncode, 0, "status of branches (%s)" % done.stderr.decode(errors="replace"))
    return path


def first_difference(one, two):
    """(number of the first line that differs, lines before it, the two lines), or None when the files are equal."""
    before, number = [], 0
    with open(one, "rb") as a, open(two, "rb") as b:
        while True:
            left, right = a.readline(), b.readline()
            if left != right:
                return number, before, left.decode().strip(), right.decode().strip()
            if not left:
                return None
            before = before[-CONTEXT:] + [left.decode().strip()]
            number += 1


def last_map(trace, address):
    """(start, offset, path) of the file that was mapped last at an address."""
    found = None
    for line in dump_of(trace):
        if line.startswith("MAP "):
            start, end, offset = (int(re.search(r" %s=0x([0-9a-f]+)" % name, line).group(1), 16) for name in ("start", "end", "offset"))
            path = re.search(r' path="([^"]*)"', line).group(1)
            if start <= address < end:
                found = start, offset, path
    return found


def disassembled(trace, start, end):
    """The code between two addresses of one mapped file, as objdump shows it."""
    found = last_map(trace, start)
    if not found or not found[2].startswith("/"):
        return "  no file is mapped at %x" % start
    if not shutil.which("objdump"):
        return "  objdump is missing"
    shift = found[0] - found[1]
    done = subprocess.run(["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "--adjust-vma=0x%x" % shift, "--start-address=0x%x" % start,
                           "--stop-address=0x%x" % (end + 16), found[2]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = [line for line in done.stdout.decode(errors="replace").splitlines() if re.match(r"\s+[0-9a-f]+:\t", line)]
    return "\n".join(lines[:CODE])


def stretch(trace, before, entries):
    """The code from where the last common entry led to the entries that differ."""
    last = before[-1].split() if before else None
    sources = [int(e.split()[4], 16) for e in entries if e]
    if not last or not sources:
        return ""
    start = int(last[5], 16)
    ends = [s for s in sources if start <= s < start + 4096]
    return "\ncode from %x:\n%s" % (start, disassembled(trace, start, max(ends) if ends else start + 64))


def compare_branches(one, two, names):
    left, right = listing(one), listing(two)
    found = first_difference(left, right)
    if not found:
        with open(left, "rb") as file:
            count = sum(1 for _ in file)
        os.unlink(left)
        os.unlink(right)
        return count
    number, before, a, b = found
    said = ["branch entry %d differs (task tick kind taken from to):" % number, *("  both   " + line for line in before)]
    said += ["  %-6s %s" % (name, line or "nothing more") for name, line in zip(names, (a, b))]
    raise Failure("\n".join(said) + stretch(one, before, (a, b)))


# Events ---------------------------------------------------------------------------------------------------------------------

def by_unit(lines):
    """The lines of a dump with the events of each unit together: those of two units have an order, but not one that two runs share."""
    file, unit, units = 0, 0, {}
    for line in lines:
        if line.startswith("file "):
            file, unit = file + 1, 0
        elif line.startswith("UNIT "):
            unit = number_in(line, "unit")
        elif line == "block begins: unit 0":
            unit = 0
        else:
            units.setdefault((file, unit), []).append(line)
    return [line for key in sorted(units) for line in units[key]]


def dump_of(trace):
    done = execute([BTREC, "dump", trace], cwd=TMP, timeout=600)
    equal(done.status, 0, "status of btrec dump (%s)" % done.err.decode(errors="replace"))
    return by_unit(done.out.decode(errors="replace").splitlines())


def without_resume_flag(match):
    return "eflags:%x" % (int(match.group(1), 16) & ~RESUME_FLAG)


def is_limited(line, limited):
    """Snapshots of handled signals: how many are kept depends on the time between them."""
    found = re.match(r"(SNAPSHOT|THREAD) .*?\bsnapshot=(\d+)", line)
    if not found:
        return False
    if found.group(1) == "SNAPSHOT" and re.search(r" kind=[01]\b", line):
        limited.add(found.group(2))
    return found.group(2) in limited


def number_in(line, name):
    return int(re.search(r" %s=(\S+)" % name, line).group(1), 0)


class Calls:
    """Counts the system calls of each task, and brings those that one of two traces has in a CALLS record and the other with an event at entry
    and exit into one form: a row (task, number of the call) -> "CALL ...", where the one with events has its exit."""

    def __init__(self, without_stop=None):
        self.count, self.rows, self.wanted = {}, {}, without_stop

    @staticmethod
    def row(task, tick, nr, result):
        return "CALL task=%d tick=%d nr=%d%s" % (task, tick, nr, "" if nr in OUTSIDE else " result=0x%x" % result)

    def number(self, task):
        self.count[task] = self.count.get(task, 0) + 1
        return task, self.count[task]

    def without_stop(self, task, line):
        key = self.number(task)
        self.rows[key] = self.row(task, *(number_in(line, n) for n in ("tick", "nr", "result")))
        return self.rows[key]

    def at_stop(self, line):
        """The row for a line of an event: None where it is only half of one."""
        task = number_in(line, "task")
        if line.startswith("SYSCALL_ENTER "):
            self.number(task)
            return None if self.is_wanted(task) else line
        if line.startswith("SYSCALL_EXIT ") and self.is_wanted(task):
            tick = int(re.search(r" point=(\d+)", line).group(1))
            return self.row(task, tick, number_in(line, "nr"), number_in(line, "result"))
        return line

    def is_wanted(self, task):
        return self.wanted is not None and (task, self.count.get(task, 0)) in self.wanted


def calls_without_stop(trace):
    """The keys (task, number of the call) of those in CALLS records."""
    calls, task = Calls(), 0
    for line in dump_of(trace):
        if line.startswith("CALLS "):
            task = number_in(line, "task")
        elif line.startswith("  tick="):
            calls.without_stop(task, line)
        elif line.startswith("SYSCALL_ENTER "):
            calls.at_stop(line)
    return calls.rows.keys()


class Row(str):
    """An event; named: the same with pidN for what may be a pid, N counting them in the order of TASK records. A small pid is a number that
    registers hold, too, so words are the same when either form of them is."""

    def __new__(cls, text, named):
        row = super().__new__(cls, text)
        row.named = named
        return row

    def words(self):
        return list(itertools.zip_longest(re.split(r"[ ,]", self), re.split(r"[ ,]", self.named)))

    def differing(self, other):
        """The registers and fields of two records that are not the same."""
        if self == other or self.named == other.named:
            return []
        pairs = itertools.zip_longest(self.words(), other.words(), fillvalue=("nothing", "nothing"))
        return ["%s / %s" % (a[1], b[1]) for a, b in pairs if a[0] != b[0] and a[1] != b[1]]


NOTHING_MORE = Row("nothing more", "nothing more")


def events(trace, without_stop=None, points_only=False):
    """What happened, with everything taken out that may differ but pids. without_stop: keys of the calls that need not have stopped.
    points_only: where and what, and no values."""
    pids, rows, limited, calls, caller = {}, [], set(), Calls(without_stop), 0
    for line in dump_of(trace):
        kind = line.split(" ", 1)[0]
        if kind == "CALLS":
            caller = number_in(line, "task")
        if line.startswith("  tick="):
            rows.append(calls.without_stop(caller, line))
            continue
        if kind in ("SYSCALL_ENTER", "SYSCALL_EXIT"):
            line = calls.at_stop(line)
            if not line:
                continue
            if line.startswith("CALL "):
                rows.append(line)
                continue
        if kind == "HEADER": # the parent of the first process
            pids[number_in(line, "recorder_pid")] = "recorder"
        if kind == "TASK":
            for value in re.findall(r" [pt]id=(\d+)", line):
                pids.setdefault(int(value), "pid%d" % len(pids))
        if kind not in EVENTS or is_limited(line, limited):
            continue
        if points_only:
            line = " ".join([kind, *re.findall(r"\b(?:task|point|nr|signo|kind|status)=\S+", line)])
        line = DROPPED.sub("", line)
        line = re.sub(r"eflags:([0-9a-f]+)", without_resume_flag, line)
        rows.append(line)
    numbers = re.compile(r"(?<==0x)(%s)\b|(?<=:)(%s)\b|(?<=tid=)(%s)\b" % (
        "|".join("%x" % p for p in pids), "|".join("%x" % p for p in pids), "|".join("%d" % p for p in pids)))

    def name(match):
        return pids[int(match.group(3))] if match.group(3) else pids[int(match.group(1) or match.group(2), 16)]

    return [Row(row, numbers.sub(name, row) if pids else row) for row in rows]


def compare_events(one, two, names, points_only=False):
    free = calls_without_stop(one) | calls_without_stop(two)
    left, right = events(one, free, points_only), events(two, free, points_only)
    for i in range(max(len(left), len(right))):
        a, b = (rows[i] if i < len(rows) else NOTHING_MORE for rows in (left, right))
        differing = a.differing(b)
        if differing:
            said = ["event %d differs: %s" % (i, ", ".join(differing)), *("  both   " + line for line in left[max(0, i - 3):i])]
            raise Failure("\n".join(said + ["  %-6s %s" % pair for pair in zip(names, (a, b))]))
    return len(left)


def compare_traces(one, two, names=("first", "second"), points_only=False):
    """Returns (branch entries, events) that are equal in two traces; a Failure tells the first difference."""
    count = compare_branches(one, two, names)
    return count, compare_events(one, two, names, points_only)


def compare_runs(argv, options=(), stdin=b"", timeout=TIMEOUT, normal_output=None, env=None, points_only=False):
    """Records argv under both backends. Returns (result of the second, branch entries, events)."""
    names = backends()
    # One path for both: a program can see it (auxv's AT_EXECFN, /proc/self/exe), and the trace's directory cannot be seen.
    results = [record(argv, [*WHOLE, "--backend", name, *options], stdin=stdin, timeout=timeout, env=env) for name in names]
    one, two = results
    equal(two.status, one.status, "exit status (%s)" % two.own_err.strip())
    if normal_output:
        one.out, two.out = normal_output(one.out), normal_output(two.out)
    try:
        counts = compare_traces(one.trace, two.trace, names, points_only)
    except Failure as failure:
        kept = os.environ.get("BTREC_KEEP")
        if kept:
            for name, result in zip(names, results):
                shutil.copytree(result.trace, os.path.join(kept, name), dirs_exist_ok=True)
        raise Failure("%s\n%s" % (" ".join(map(str, argv)), failure)) from None
    equal(two.out, one.out, "stdout")
    for result in results:
        shutil.rmtree(result.trace)
    return two, *counts


def command_line():
    words = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: (reap(), os._exit(1)))
    try:
        if words[:1] == ["--run"]:
            split = words.index("--")
            options = words[1:split]
            if "-b" in options:
                at = options.index("-b")
                os.environ["BTREC_COMPARE"] = options[at + 1]
                del options[at:at + 2]
            _, entries, count = compare_runs(words[split + 1:], options, timeout=3600)
        else:
            one, two = words
            entries, count = compare_traces(os.path.abspath(one), os.path.abspath(two))
    except Failure as failure:
        print(failure)
        sys.exit(1)
    except ValueError:
        print("usage: engine_compare.py TRACE TRACE | engine_compare.py --run [-b BACKEND,BACKEND] [OPTION...] -- PROGRAM ARG...")
        sys.exit(2)
    print("equal: %d branch entries, %d events" % (entries, count))


if __name__ == "__main__":
    command_line()
