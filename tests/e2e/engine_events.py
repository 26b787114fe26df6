# SPDX-License-Identifier: MIT
# What a trace says of events, in a form that two recordings of one program share whatever backend made them.
import itertools
import re

from e2e import *

EVENTS = {"EXEC", "SYSCALL_ENTER", "SYSCALL_EXIT", "SIGNAL", "HANDLER", "EXIT", "DETACH", "SNAPSHOT", "THREAD"}
# Differ from run to run, or number what each backend numbers in its own way.
DROPPED = re.compile(r" (?:seq|time|epoch|position|event|snapshot|sender|stepped)=\S*")
RESUME_FLAG = 0x10000
# System calls that tell of the world outside: getpgrp, getsid and their kin, getppid, times, time.
OUTSIDE = {110, 111, 121, 124, 100, 201}


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
    """The lines of its records; branches are compared on their own."""
    done = execute([BTREC, "dump", "--no-branches", trace], cwd=TMP, timeout=600)
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


def without_states_in_use(match):
    """The length of extended registers whose last byte that is not 0 lies in the legacy region or in XSTATE_BV behind it (Intel SDM volume 1, 13.4.2).
    Of a register that was computed to be 0 the processor may say either, until the task is switched."""
    return "extended=[legacy]" if int(match.group(1)) <= 512 + 8 else match.group(0)


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
        line = re.sub(r"extended=\[(\d+)\]", without_states_in_use, line)
        rows.append(line)
    numbers = re.compile(r"(?<==0x)(%s)\b|(?<=:)(%s)\b|(?<=tid=)(%s)\b" % (
        "|".join("%x" % p for p in pids), "|".join("%x" % p for p in pids), "|".join("%d" % p for p in pids)))

    def name(match):
        return pids[int(match.group(3))] if match.group(3) else pids[int(match.group(1) or match.group(2), 16)]

    return [Row(row, numbers.sub(name, row) if pids else row) for row in rows]
