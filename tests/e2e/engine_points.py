# SPDX-License-Identifier: MIT
# Points of a program (tick, transfers since, address): where its first task was, what it held there, and at which instruction two recordings of it
# part that have the same branches.
import array
import os
import re
import shutil
import subprocess

from e2e import *
from engine_events import *

CODE = 80 # instructions shown
TRANSFERS = b"jmp call ret ijmp icall syscall async".split()
AT_ONCE = 200 # points that one recording is stopped at


def places(trace):
    """Every instruction of the first task, in order: (tick, transfers since, address). Read line by line: a program of seconds has a hundred million."""
    process = start([BRANCHES, "-i", trace], stderr=None)
    tick = transfers = 0
    for line in process.stdout:
        words = line.split()
        if words[0] == b"i":
            if words[1] != b"?":
                yield tick, transfers, int(words[1], 16)
        elif words[0] != b"1":
            process.kill()
            break
        elif words[2] == b"jcc":
            tick, transfers = int(words[1]), 0
        elif words[2] in TRANSFERS:
            transfers += 1
    else:
        equal(process.wait(), 0, "status of branches")


def kept_at(trace):
    """The moments that were asked for: {point as btrec names it: the rip of its task}."""
    rips = {}
    for line in dump_of(trace):
        found = re.match(r'SNAPSHOT .* kind=4 point=\d+\+\d+@0x([0-9a-f]+) .*label="(\d+:[^"]*)"', line)
        if found:
            rips[found.group(2)] = int(found.group(1), 16)
    return rips


def wanted_options(found):
    return [word for text in found for word in ("--snap-at", text)]


def states_at(trace, free):
    """What the first task held at the moments that were asked for: {point: row of its THREAD record}."""
    found, label = {}, None
    for row in events(trace, free):
        asked = re.match(r'SNAPSHOT .* label="1:([^"]*)"', row)
        label = asked.group(1) if asked else label if row.startswith("THREAD ") else None
        if label and row.startswith("THREAD ") and number_in(row, "task") == 1:
            found[label] = row
    return found


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


def instruction_at(trace, address):
    lines = disassembled(trace, address, address).splitlines()
    return lines[0].strip() if lines else "%x" % address


class Path:
    """The instructions of a trace's first task up to a point (tick, transfers) or to its end, in order."""

    def __init__(self, trace, upto=None):
        self.columns = [array.array("Q") for _ in range(3)]
        for place in places(trace):
            if upto and place[:2] > upto:
                break
            for column, value in zip(self.columns, place):
                column.append(value)

    def __len__(self):
        return len(self.columns[0])

    def text(self, n):
        return "%d+%d@0x%x" % tuple(column[n] for column in self.columns)


def first_wrong_instruction(run, names, upto=None):
    """Words on where two runs of a program part whose branches are the same. run(name, options) records it in the way of that name. upto: a point
    (tick, transfers) by which they have. Both are stopped at points between, then between those at which their registers are still the same and
    those at which they are not, until no instruction is between."""
    trace = run(names[0], []).trace
    path = Path(trace, upto)
    last = len(path) - 1
    tried, same, differs, said = range(last, -1, -max(1, len(path) // AT_ONCE))[:AT_ONCE][::-1], -1, len(path), []
    while tried:
        traces = [run(name, wanted_options(path.text(n) for n in tried)).trace for name in names]
        free = set().union(*map(calls_without_stop, traces))
        states = [states_at(t, free) for t in traces]
        for t in traces:
            shutil.rmtree(t)
        for n in tried:
            one, two = (s.get(path.text(n), NOTHING_MORE) for s in states)
            if one.differing(two):
                differs, said = n, one.differing(two)
                break
            same = n
        if not said:
            return "registers are the same at all of %d points of %d instructions: what differs is in memory, or they were the same again" % (len(tried), len(path))
        tried = range(same + 1, differs, max(1, (differs - same) // (AT_ONCE + 1)))[:AT_ONCE]
    if differs == 0:
        return "registers differ before the first instruction, at %s: %s" % (path.text(0), ", ".join(said))
    return "the first instruction that differs, at %s:\n  %s\n  behind it: %s" % (path.text(same), instruction_at(trace, path.columns[2][same]), ", ".join(said))
