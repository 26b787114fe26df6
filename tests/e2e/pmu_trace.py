#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The sources bts and pt over a simulated kernel and processor (tests/simulated), whose branches are the stepper's: what comes out is what the
# stepper records itself, entry by entry. Each way in which the kernel refuses has its message.
from e2e import *

# On a machine that has the hardware, tests/hardware/prove.py sets this to the source that is to be proven: btrec itself is run then.
HARDWARE = os.environ.get("BTREC_HARDWARE")
SIMULATED = os.path.join(BUILD, "tests/simulated/btrec_simulated")
KEEP = ["--deterministic", "--snap-exit", "always", "--history", "4194304"]
ALL = 0xffffffffff
IPC_LOCK = 1 << 14
PERFMON = 1 << 38 | 1 << 21


def simulated(argv, machine, source, status=None):
    trace = fresh("trace")
    env = dict(os.environ, BTREC_SIMULATED=machine)
    if HARDWARE and (source != HARDWARE or machine not in ("", "pt=1")):
        raise Skip("of simulated machines only")
    result = execute([BTREC if HARDWARE else SIMULATED, "run", "-o", trace, "--source", source, *KEEP, "--", *argv], cwd=TMP, env=env)
    result.trace = trace
    if status is not None:
        equal(result.status, status, "status (%s)" % result.err.decode(errors="replace"))
    return result


stepped = {}


def truth(argv):
    key = tuple(argv)
    if key not in stepped:
        stepped[key] = branches(record(argv, ["--backend", "step", *KEEP]).trace)
    return stepped[key]


def tasks_of(rows):
    return sorted({row[0] for row in rows})


def entries(rows, task):
    return [row[2:] for row in rows if row[0] == task]


def taken(rows, task):
    """What the branch trace store has of a task, and what only a tracer knows of: handlers, and system calls that go on elsewhere."""
    return [row[2:] for row in rows if row[0] == task and row[3] and (row[2] != "syscall" or row[5] not in (row[4], row[4] + 2))]


def same(got, want, what):
    for number, (a, b) in enumerate(zip(got, want)):
        equal(a, b, "%s: entry %d" % (what, number))
    equal(len(got), len(want), "%s: entries" % what)


def programs():
    yield [build("faults.c", *STATIC), "null-write"]
    yield [build("transfers.S", *BARE)]
    yield [build("handlers.S", *BARE)]
    yield [build("conditionals.S", *BARE)]
    yield [build("threads.c", *STATIC, "-pthread")]
    if not HARDWARE:  # the kernel starts a dynamic program a little differently each time
        yield ["/usr/bin/env", "/bin/true"]


def scheds(trace):
    out = []
    for line in execute([BTREC, "dump", trace]).out.decode(errors="replace").splitlines():
        if line.startswith("SCHED "):
            out.append({k: int(v, 0) for k, v in re.findall(r"(\w+)=(\S+)", line)})
    return out


# The branch trace store ------------------------------------------------------------------------------------------------------

@case("bts: all taken branches, and nothing else")
def bts_whole():
    for argv in programs():
        for machine in ("",) if HARDWARE else ("", "store=7", "preempt=50,returns=3") if argv[0].startswith(TMP) else ("store=100",):
            result = simulated(argv, machine, "bts")
            rows = branches(result.trace)
            equal(tasks_of(rows), tasks_of(truth(argv)), "%s: tasks" % argv)
            for task in tasks_of(rows):
                same(entries(rows, task), taken(truth(argv), task), "%s, %s, task %d" % (argv[0], machine, task))


@case("bts: the code between two of them is known, with what was not taken")
def bts_code():
    result = simulated([build("conditionals.S", *BARE)], "", "bts")
    lines = execute([BRANCHES, "-i", result.trace]).out.decode().splitlines()
    unknown = sum(line == "i ?" for line in lines)
    check(unknown <= 2, "%d places without code" % unknown)
    equal(report(result.trace)["trace"]["source"], "bts", "source")


@case("bts: a ring that is too small is said to be, what was overwritten is a gap, the rest is true")
def bts_small():
    argv = ["/bin/true"]
    result = simulated(argv, "capabilities=%d,memlock=0,mlock=20480,store=100" % (ALL & ~IPC_LOCK), "bts")
    rows = branches(result.trace)
    whole = taken(truth(argv), 1)
    runs, run = [], []
    for entry in entries(rows, 1):
        if entry[0] == "gap":
            equal(entry[3], 1, "the gap's reason: overwritten")
            runs.append(run)
            run = []
        else:
            run.append(entry)
    runs.append(run)
    check(len(runs) > 1, "nothing was overwritten")
    places, at = {}, 0
    for i in range(len(whole) - 2):
        places.setdefault(tuple(whole[i:i + 3]), []).append(i)
    for run in runs:
        if len(run) < 3:
            continue
        some = run[:200]
        found = next((i for i in places.get(tuple(run[:3]), []) if i >= at and whole[i:i + len(some)] == some), None)
        check(found is not None, "a run of %d that did not happen: %s" % (len(run), short(run[:3])))
        at = found + 1
    check(runs[-1] == whole[len(whole) - len(runs[-1]):], "the newest are there")
    check(b"perf_event_mlock_kb" in result.err, result.err)


@case("bts: arrivals and departures, each at its place in the history")
def bts_switches():
    argv = [build("threads.c", *STATIC, "-pthread")]
    result = simulated(argv, "preempt=40", "bts")
    rows = scheds(result.trace)
    check(len(rows) > 20, "%d switches" % len(rows))
    for task in {row["task"] for row in rows}:
        own = [row for row in rows if row["task"] == task]
        check(all(a["position"] <= b["position"] for a, b in zip(own, own[1:])), "positions of task %d" % task)
        check(all(a["time"] <= b["time"] for a, b in zip(own, own[1:])), "times of task %d" % task)
        check(all((a["what"] == 0) != (b["what"] == 0) for a, b in zip(own, own[1:])), "task %d arrives and departs in turn" % task)
    equal({row["cpu"] for row in rows}, {2}, "CPUs")
    # Before Linux 6.3 contexts were compared, not tasks.
    check(len(scheds(simulated([build("conditionals.S", *BARE)], "kernel=510", "bts").trace)) > 1, "no switches with Linux 5.10")
    # A kernel without such records: the branches alone.
    argv = [build("conditionals.S", *BARE)]
    old = simulated(argv, "kernel=402", "bts")
    same(entries(branches(old.trace), 1), taken(truth(argv), 1), "an old kernel")
    equal(scheds(old.trace), [], "switches")


@case("bts: why it cannot be had, in one line")
def bts_refused():
    argv = ["/bin/true"]
    for machine, words in (("amd=1", "only Intel"), ("model=0x3a", "AAJ122"), ("model=0x2d", "AAJ122"), ("bts=0", "virtual machine"), ("pmu=0", "virtual machine"),
                           ("bts_used=1", "the branch trace store is busy: somebody records with"), ("pt_used=1", "is busy"), ("nosys=1", "the kernel has no"),
                           ("paranoid=3,capabilities=%d" % (ALL & ~PERFMON), "perf_event_paranoid")):
        result = simulated(argv, machine, "bts", 125)
        equal(result.err.count(b"\n"), 1, "lines of " + result.err.decode())
        check(words.encode() in result.err, "%s: %s" % (machine, result.err))
        check(not os.path.exists(result.trace), "there is a trace")


@case("bts, pt: what happened while the event had no counter is a gap, and nothing is made up")
def idle():
    # Intel PT is read at signals only: of a program that has some.
    signals = [build("handlers.S", *BARE)]
    for source, argv, machine in (("bts", [build("faults.c", *STATIC), "null-write"], "preempt=50,idle"), ("pt", signals, "pt=1,idle"), ("pt", signals, "pt=1,pt_off")):
        rows = truth(argv)
        code = to_next(rows) if source == "pt" else set()
        want = told(rows, 1, code) if source == "pt" else taken(rows, 1)
        for every in (3, 7, 11):
            got = untaken(entries(branches(simulated(argv, machine + "=%d" % every, source).trace), 1), code)
            runs, run = [], []
            for entry in got:
                if entry[0] == "gap":
                    runs.append(run)
                    run = []
                else:
                    run.append(entry)
            runs = [run for run in runs + [run] if run]
            check(any(entry[0] == "gap" for entry in got), "%s, %d: no gap" % (source, every))
            check(runs or every == 3, "%s, %d: nothing else" % (source, every))
            at = 0
            for run in runs:
                at = next((i + len(run) for i in range(at, len(want)) if want[i:i + len(run)] == run), None)
                check(at is not None, "%s, %d: a run that did not happen: %s" % (source, every, short(run)))


# Intel PT --------------------------------------------------------------------------------------------------------------------

def told(rows, task, code):
    """What Intel PT tells of a task: every branch; a signal that meets a task in a system call is one entry with it; a conditional jump to the
    instruction behind it counts as not taken."""
    out = []
    for entry in entries(rows, task):
        if entry[0] == "async" and out and out[-1][0] in ("syscall", "async") and out[-1][3] == entry[2]:
            out[-1] = out[-1][:3] + (entry[3],)
        else:
            out.append(entry)
    return untaken(out, code)


def to_next(rows):
    """Conditional jumps that lead to one place, taken or not. The short form has two bytes."""
    both = {}
    for row in rows:
        if row[2] == "jcc":
            both.setdefault((row[4], row[5]), set()).add(row[3])
    return {place for place, ways in both.items() if ways == {0, 1} or place[1] - place[0] == 2}


def untaken(entry_list, code):
    return [(k, 0 if (a, b) in code else t, a, b) for k, t, a, b in entry_list]


@case("pt: every branch, taken or not, with system calls and handlers")
def pt_whole():
    for argv in programs():
        rows = truth(argv)
        code = to_next(rows)
        for machine in ("pt=1",) if HARDWARE else ("pt=1", "pt=1,pt_psb=64", "pt=1,preempt=50") if argv[0].startswith(TMP) else ("pt=1",):
            result = simulated(argv, machine, "pt")
            got = branches(result.trace)
            equal(tasks_of(got), tasks_of(rows), "%s: tasks" % argv)
            for task in tasks_of(rows):
                same(untaken(entries(got, task), code), told(rows, task, code), "%s, %s, task %d" % (argv[0], machine, task))


@case("pt: what the kernel tells at every switch costs no history; where it had no room to, one gap does")
def pt_records():
    argv = [build("looked_at.S", *BARE)]
    rows = truth(argv)
    code = to_next(rows)
    want = told(rows, 1, code)
    for machine in ("pt=1",) if HARDWARE else ("pt=1", "pt=1,preempt=3"):
        same(untaken(entries(branches(simulated(argv, machine, "pt").trace), 1), code), want, machine)
    if HARDWARE:
        return
    # More switches between two looks than records have room, three times.
    got = untaken(entries(branches(simulated(argv, "pt=1,preempt=1", "pt").trace), 1), code)
    equal([entry[3] for entry in got if entry[0] == "gap"], [6] * 3, "the gaps' reasons")
    gaps = [i for i, entry in enumerate(got) if entry[0] == "gap"]
    same(got[:gaps[0]], want[:gaps[0]], "before the first gap")
    behind = got[gaps[-1] + 1:]
    same(behind, want[len(want) - len(behind):], "behind the last gap")
    check(len(got) > 600, "%d entries" % len(got))


@case("pt: of code with few branches nothing is lost from one look to the next", sanitized=False)
def pt_few_branches():
    # More instructions than bytes are good for, behind one synchronization point, and two signals each round.
    argv = [build("looked_at.S", *BARE, "-DCALLS=1", "-DBRANCHES=140", "-DBLOCK=6000", "-DROUNDS=2", name="few_branches")]
    rows = branches(record(argv, KEEP).trace)
    code = to_next(rows)
    same(untaken(entries(branches(simulated(argv, "pt=1", "pt").trace), 1), code), told(rows, 1, code), "the history")


@case("pt: a ring that went round is a gap, and its newest part is there")
def pt_small():
    argv = ["/bin/true"]
    rows = truth(argv)
    code = to_next(rows)
    result = simulated(argv, "pt=1,pt_psb=8,capabilities=%d,memlock=0,mlock=16384" % (ALL & ~IPC_LOCK), "pt")
    check(b"perf_event_mlock_kb" in result.err, result.err)
    got, want = untaken(entries(branches(result.trace), 1), code), told(rows, 1, code)
    gaps = [i for i, entry in enumerate(got) if entry[0] == "gap"]
    check(gaps, "nothing was overwritten")
    newest = got[gaps[-1] + 1:]
    check(len(newest) > 100, "%d branches are left" % len(newest))
    same(newest, want[len(want) - len(newest):], "the newest")


@case("pt: packets that the processor lost are a gap")
def pt_overflow():
    argv = [build("conditionals.S", *BARE)]
    got = entries(branches(simulated(argv, "pt=1,pt_overflow=60", "pt").trace), 1)
    gaps = [entry for entry in got if entry[0] == "gap"]
    equal({entry[3] for entry in gaps}, {6}, "reasons")
    code = to_next(truth(argv))
    happened = set(told(truth(argv), 1, code))
    wrong = [entry for entry in untaken(got, code) if entry[0] != "gap" and entry not in happened]
    equal(wrong, [], "entries that never were")
    check(len(got) > 150, "%d entries" % len(got))


@case("pt: why it cannot be had, in one line")
def pt_refused():
    for machine, words in (("pt=0", "there is no Intel PT here"), ("pt=1,pt_used=1", "Intel PT is busy: somebody records with it already"), ("pt=1,lbr_used=1", "is busy"),
                           ("pt=1,mlock=4096,memlock=0,capabilities=%d" % (ALL & ~IPC_LOCK), "perf_event_mlock_kb"),
                           ("pt=1,paranoid=3,capabilities=%d" % (ALL & ~PERFMON), "perf_event_paranoid")):
        result = simulated(["/bin/true"], machine, "pt", 125)
        equal(result.err.count(b"\n"), 1, "lines of " + result.err.decode())
        check(words.encode() in result.err, "%s: %s" % (machine, result.err))
        check(not os.path.exists(result.trace), "there is a trace")


main(sanitized=2)
