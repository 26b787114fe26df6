#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Two recordings of one program from the deterministic start, entry by entry: branches with their ticks, then events with points,
# results and registers. What differs first is shown with the entries and the code that led there.
#
# engine_compare.py TRACE TRACE                                    compares two traces
# engine_compare.py --run [-b BACKEND,BACKEND] [OPTION...] -- PROGRAM ARG...   records the program twice (step, engine) and compares
import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import sys

from e2e import *
from engine_events import *
from engine_points import *

# 2^26 entries: more than the stepper makes in the time that a test has.
ALL = ["--history", str(1 << 26)]
START = ["--deterministic", "--predict-eagerly", "--snap-exit", "always"]
WHOLE = [*START, *ALL]
MODES = {
    "engine": ["--backend", "engine", *ALL],
    "only counted": ["--backend", "engine", "--history", "off"],
    "now recorded, now only counted": ["--backend", "engine", "--switch-history", *ALL],
    "without PEXT and LZCNT": ["--backend", "engine", "--plain-processor", *ALL],
    "only counted, without PEXT and LZCNT": ["--backend", "engine", "--plain-processor", "--history", "off"],
}
CONTEXT = 12 # entries shown before the first that differs
OUTSIDE_MOST = 4 # fields of one event
FAR = "-Wl,-Ttext-segment=0x555500000000" # addresses of more than 32 bits


# Of fault_at_branch.S.
LEADING_NOWHERE = """
    JCC_UNMAPPED JMP_UNMAPPED CALL_UNMAPPED ICALL_UNMAPPED IJMP_NULL RET_UNMAPPED ICALL_NON_CANONICAL ICALL_OWN_SLOT ICALL_OWN_SLOT_INDEXED ICALL_OWN_SLOT_FS RET_NON_CANONICAL
    IJMP_NON_CANONICAL IJMP_LONG_WAY_NON_CANONICAL CALL_NO_STACK RET_NO_STACK RET_POPS_NO_STACK ICALL_MEMORY_FAULT ICALL_NO_STACK ICALL_RCX_NO_STACK
    ICALL_R11_NO_STACK ICALL_RIP_NO_STACK ICALL_RCX_FAULT ICALL_R11_FAULT IJMP_R11_FAULT IJMP_RIP_FAULT IJMP_STACK_FAULT
""".split()
# Programs without a library: what they are, source, flags.
BARE_PROGRAMS = [
    ("every conditional branch, taken and not", "conditionals.S"),
    ("every other branch", "transfers.S"),
    ("returns that no call foretells, deep and thrown away frames", "returns.S"),
    ("cycles without a conditional branch", "cycles.S"),
    ("cycles without a conditional branch, each ended by a fault", "rounds.S"),
    ("cycles without a conditional branch, again and again", "guessed_cycles.S"),
    ("cycles where no displacement reaches", "rounds.S", FAR),
    ("a long line of conditionals that lead forward", "forward.S"),
    ("signal handlers", "handlers.S"),
    ("code that changes", "jit.S"),
    ("a small program of everything", "workload.c", "-fno-stack-protector"),
    *[("a branch that leads nowhere: " + name.lower().replace("_", " "), "fault_at_branch.S", "-D" + name) for name in LEADING_NOWHERE],
]


def guessed_programs(*flags):
    """Builds predicted.S for each branch and each way in which it may lead nowhere at last."""
    for kind in "RET RET_POPS IJMP IJMP_MEMORY IJMP_NEAR ICALL".split():
        ends = ["-DBAD=0", "-DBAD=0x123456789000", "-DBAD=0x8000000000001234"] + ([] if kind in ("IJMP", "IJMP_NEAR") else ["-DOPERAND"])
        for end in ends:
            print("     %s %s" % (kind, end), flush=True)
            yield build("predicted.S", *BARE, "-D" + kind, end, *flags)



def backends():
    """The two that are compared."""
    return os.environ.get("BTREC_COMPARE", "step,engine").split(",")


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

def point_of(row):
    """(tick, transfers) of an event; None where it has none."""
    found = re.search(r" point=(\d+)\+(\d+)", row) or re.search(r" tick=(\d+)()", row)
    return (int(found.group(1)), int(found.group(2) or 1 << 32)) if found else None


def paired_events(one, two, free, points_only=False):
    """(number, the two events, what differs) for all events of two traces. free: keys of the calls that need not have stopped."""
    pairs = itertools.zip_longest(events(one, free, points_only), events(two, free, points_only), fillvalue=NOTHING_MORE)
    return [(i, a, b, a.differing(b)) for i, (a, b) in enumerate(pairs)]


def field(differing):
    """The name of the field or register of what Row.differing() gives."""
    return re.match(r"(?:regs=)?(\w*)", differing).group(1)


def from_outside(one, two, free):
    """What differs in two recordings by the same backend, {(number of the event, field)}: what the kernel and the time have put there."""
    found = [(i, field(d)) for i, _, _, differing in paired_events(one, two, free) for d in differing]
    many = [i for i, _ in found if sum(j == i for j, _ in found) > OUTSIDE_MOST]
    check(not many, "more than %d fields of an event differ in two recordings by one backend" % OUTSIDE_MOST)
    return set(found)


def compare_events(one, two, names, points_only=False, again=None):
    """Returns how many there are. again: a second trace by the first's backend; where that differs, the two need not be the same."""
    free = calls_without_stop(one) | calls_without_stop(two)
    outside = from_outside(one, again, free) if again else set()
    rows = paired_events(one, two, free, points_only)
    for i, a, b, differing in rows:
        differing = [d for d in differing if (i, field(d)) not in outside]
        if differing:
            left = [row[1] for row in rows]
            said = ["event %d differs: %s" % (i, ", ".join(differing)), *("  both   " + line for line in left[max(0, i - 3):i])]
            failure = Failure("\n".join(said + ["  %-6s %s" % pair for pair in zip(names, (a, b))]))
            failure.upto = point_of(a) or point_of(b)
            raise failure
    return len(rows)


def compare_traces(one, two, names=("first", "second"), points_only=False):
    """Returns (branch entries, events) that are equal in two traces; a Failure tells the first difference."""
    count = compare_branches(one, two, names)
    return count, compare_events(one, two, names, points_only)


def where_first(failure, run, names):
    """The words of first_wrong_instruction(), or why there are none: the failure stays the one that there was."""
    try:
        return "\n" + first_wrong_instruction(run, names, getattr(failure, "upto", None))
    except Failure as another:
        return "\nwhere its registers differ first could not be found out: %s" % another


def compare_runs(argv, options=(), stdin=b"", timeout=TIMEOUT, normal_output=None, env=None, points_only=False):
    """Records argv under both backends. Returns (result of the second, branch entries, events)."""
    names = backends()
    # One path for both: a program can see it (auxv's AT_EXECFN, /proc/self/exe), and the trace's directory cannot be seen.
    def run(name, more=()):
        return record(argv, [*WHOLE, "--backend", name, *options, *more], stdin=stdin, timeout=timeout, env=env)

    results = one, two = [run(name) for name in names]
    equal(two.status, one.status, "exit status (%s)" % two.own_err.strip())
    if normal_output:
        one.out, two.out = normal_output(one.out), normal_output(two.out)
    try:
        counts = compare_traces(one.trace, two.trace, names, points_only)
        equal(two.out, one.out, "stdout")
    except Failure as failure:
        kept = os.environ.get("BTREC_KEEP")
        if kept:
            for name, result in zip(names, results):
                shutil.copytree(result.trace, os.path.join(kept, name), dirs_exist_ok=True)
        raise Failure("%s\n%s%s" % (" ".join(map(str, argv)), failure, where_first(failure, run, names))) from None
    for result in results:
        shutil.rmtree(result.trace)
    return two, *counts


# Stops ----------------------------------------------------------------------------------------------------------------------

def behind_loads_of_ss(path):
    """Addresses at which nobody can stop: the processor holds traps off there (QUIRKS, step-mov-ss)."""
    found, behind = set(), False
    for line in execute(["objdump", "-d", "--no-show-raw-insn", path]).out.decode().splitlines():
        words = re.match(r"\s*([0-9a-f]+):\s*(.*)", line)
        if not words:
            continue
        if behind:
            found.add(int(words.group(1), 16))
        behind = bool(re.match(r"(mov\S* .*,%ss|pop\S* +%ss)\b", words.group(2)))
    return found


def points(trace, chance, count, never):
    """So many points at which the task was, not at an address of `never`: texts for --snap-at; and what its rip is then."""
    found = {}
    every = list(places(trace))
    for at in chance.sample(range(len(every)), min(count, len(every))):
        tick, transfers, rip = every[at]
        if rip in never:
            continue
        found["%d+%d@0x%x" % every[at]] = rip
        if at and every[at - 1][:2] != (tick, transfers): # the first instruction then
            found["%d+%d" % (tick, transfers)] = rip
    return found


def same_stops(argv, seed, count, asks_outside=False, timeout=TIMEOUT):
    """Stops a program that does the same each time at random points, under the stepper and in each mode. Returns how many points there were.
    asks_outside: it asks for the time or for random numbers; what two stepped runs differ in need not be the same."""
    first = record(argv, [*START, "--backend", "step", *ALL], timeout=timeout)
    found = points(first.trace, random.Random(seed), count, behind_loads_of_ss(shutil.which(argv[0])))
    check(found, "no points")
    shutil.rmtree(first.trace)
    stepped = record(argv, [*START, "--backend", "step", *ALL, *wanted_options(found)], timeout=timeout)
    equal((stepped.status, stepped.out), (first.status, first.out), "end, stepped")
    again = record(argv, [*START, "--backend", "step", *ALL, *wanted_options(found)], timeout=timeout).trace if asks_outside else None
    for mode, options in {"step": None, **MODES}.items():
        run = stepped if not options else record(argv, [*START, *options, *wanted_options(found)], timeout=timeout)
        equal((run.status, run.out), (first.status, first.out), "end, " + mode)
        check("never reached" not in run.own_err, "%s: %s" % (mode, run.own_err))
        rips = kept_at(run.trace)
        equal(rips, {"1:" + text: rip for text, rip in found.items()}, "where it was, " + mode)
        if options:
            compare_events(stepped.trace, run.trace, ("step", mode), again=again)
            shutil.rmtree(run.trace)
    shutil.rmtree(stepped.trace)
    return len(found)


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
