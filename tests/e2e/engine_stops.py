#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Stops at given points (--snap-at): the engine stops there exactly, in the state in which the stepper does, whether branches are recorded or only
# counted. BTREC_SEED (1) is the first seed of the generated programs and of the points, BTREC_STOP_SEEDS (4) the number of programs,
# BTREC_STOPS (8) that of points in each.
import os
import random
import re
import shutil

from counted_steps import far_in_line, steps_of
from e2e import *
import engine_compare
from engine_compare import START, WHOLE, same_stops
from engine_points import first_wrong_instruction, kept_at, places, wanted_options
from engine_seeds import kept, made

FIRST = int(os.environ.get("BTREC_SEED", "1"))
SEEDS = int(os.environ.get("BTREC_STOP_SEEDS", "4"))
STOPS = int(os.environ.get("BTREC_STOPS", "8"))


def add_bare(name, source, *flags):
    @case("stops, as stepped: " + name)
    def run():
        same_stops([build(source, *BARE, *flags)], FIRST, STOPS)


for bare in engine_compare.BARE_PROGRAMS:
    if bare[1] != "fault_at_branch.S": # hardly more than one branch
        add_bare(*bare)


for name_, flags_ in {"long straight lines": [], "long straight lines where no displacement reaches": [engine_compare.FAR],
                     "long straight lines of code that can be written": ["-Wl,-N"]}.items():
    add_bare(name_, "straight.S", *flags_)


@case("stops, as stepped: glibc's start, static")
def static():
    # What CPUID says there of the processor it runs on is in a register: it is to be the same one each time.
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    try:
        check(same_stops([build("world.c", *STATIC), "status", "3"], FIRST, 2 * STOPS) > STOPS, "few points")
    finally:
        os.sched_setaffinity(0, processors)


@case("stops, as stepped: glibc's start, dynamic")
def dynamic():
    # ld.so asks the time.
    same_stops([build("world.c"), "status", "3"], FIRST, 2 * STOPS, asks_outside=True)


@case("stops, as stepped: generated programs")
def generated_programs():
    for seed in range(FIRST, FIRST + SEEDS):
        path = made(seed)
        try:
            same_stops([path], seed, STOPS)
        except Failure as failure:
            kept(seed, path)
            raise Failure("engine_generate.py %d: %s" % (seed, failure)) from None
        os.unlink(path)


# For each stop.
MEAN_STEPS = 10
MOST_STEPS = 34 # the instructions of a block (STOP_BLOCK), the branch before, what is not for the cache
COUNTING = {"with history": [], "ticks alone": ["--history", "off"], "side by side": ["--parallel"]}


def steps_to(program, options, points):
    """How many more instructions are stepped because the program is to be stopped at these points."""
    run = ["run", "-q", "-o", fresh("trace"), *START, *options]
    without = steps_of(*run, *program)
    run[3] = fresh("trace")
    return steps_of(*run, *wanted_options(points), *program) - without


def add_few_steps(name, argv, count, *more):
    @case("near a stop point few instructions are stepped: " + name)
    def run():
        program, chance = argv(), random.Random(FIRST)
        path = list(places(record(program, START).trace))
        points = ["%d+%d@%x" % path[n] for n in sorted(chance.sample(range(len(path)), count))] + list(more)
        for mode, options in COUNTING.items():
            steps = steps_to(program, options, points)
            print("     %d steps for %d points, %s" % (steps, len(points), mode), flush=True)
            check(steps <= MEAN_STEPS * len(points), "%d steps for %d points, %s" % (steps, len(points), mode))


add_few_steps("a made program", lambda: [build("places.c", "-O1", *BARE)], 40)
add_few_steps("glibc's start", lambda: [build("world.c", *STATIC), "status", "3"], 40)
add_few_steps("transfers without a conditional", lambda: [build("near_stop_point.S", *BARE, "-DROUNDS=20000")], 8, "11+30001", "11+50002")


def add_long_lines(name, argv, least, count):
    @case("to each point few instructions are stepped, however long the straight line before it is: " + name)
    def run():
        program, chance = argv(), random.Random(FIRST)
        far = far_in_line(list(places(record(program, START).trace)), least)
        check(len(far) > count, "only %d places are so far in a line" % len(far))
        asked = ["%d+%d@%x" % place for place in chance.sample(far, count)]
        for mode, options in COUNTING.items():
            steps = {point: steps_to(program, options, [point]) for point in asked}
            print("     steps, %s: %s" % (mode, " ".join(map(str, steps.values()))), flush=True)
            check(max(steps.values()) <= MOST_STEPS, "%s: steps to each point: %s" % (mode, steps))


def md5sum():
    if not shutil.which("md5sum"):
        raise Skip("no md5sum")
    text = fresh("text")
    with open(text, "w") as file:
        file.write("a line\n" * 100)
    return ["md5sum", text]


add_long_lines("a made program", lambda: [build("straight.S", *BARE)], 40, 8)
add_long_lines("md5sum", md5sum, 300, 4)


@case("transfers that never come: the task was not there, and is at the points behind")
def transfers_that_never_come():
    program = [build("near_stop_point.S", *BARE, "-DROUNDS=20000", "-DBEFORE=1000")]
    never, there = ["1000+70000", "1004+1"], ["1001+0", "1002+0", "1003+0", "1005+0"] # of all ticks it has transfers in the 1,000th alone
    asked = [word for point in [*never, *there] for word in ("--snap-at", point)]
    for mode, options in {"step": ["--backend", "step"], **COUNTING}.items():
        recorded = record(program, [*START, *options, *asked])
        equal(list(kept_at(recorded.trace)), ["1:" + point for point in there], "kept, " + mode)
        notes = [line for line in engine_compare.dump_of(recorded.trace) if line.startswith("NOTE ") and "--snap-at" in line]
        equal(re.findall(r"--snap-at 1:(\S+): the task was never there", "\n".join(notes)), never, "notes, " + mode)


@case("where two runs part that have the same branches: the first instruction that differs is named")
def parted():
    for flags, wanted in ([], r"at 3000\+0@0x(\S+):\n  \1:.*\badd +\$0x1,%rdx\n.*\brdx:bb9 / \S*rdx:bba\b"), (["-DMEMORY"], r"what differs is in memory"):
        programs = {name: build("parted.S", *BARE, *flags, "-DBY=%d" % n, name="parted-%d" % n) for n, name in enumerate(("step", "engine"), 1)}

        def run(name, more):
            return record([programs[name]], [*WHOLE, "--backend", name, *more])

        said = first_wrong_instruction(run, list(programs))
        check(re.search(wanted, said), said)


@case("stops in a process that another one makes, and in what it has become")
def processes():
    tree, faults = build("tree.c", *STATIC), build("faults.c", *STATIC)
    options = [*START, "--snap-at", "2:50", "--snap-at", "2:51+1", "--snap-at", "2:1000"]
    runs = [record([tree, "fork-exec", faults, "null-write"], [*options, "--backend", name]) for name in ("step", "engine")]
    kept = [kept_at(run.trace) for run in runs]
    equal(kept[0], kept[1], "where they were")
    check(len(kept[0]) >= 2, "kept: %s" % kept[0])
    engine_compare.compare_events(*[run.trace for run in runs], ("step", "engine"))


@case("a stop of one thread among others: all of them are shown, in turns and side by side")
def threads():
    for options in [], ["--parallel"]:
        # The threads hand a turn to each other thousands of times: while one has 40 ticks the other has not ended.
        recorded = record([build("parallel.c", "-pthread", "-mcx16"), "handed-over"], ["--backend", "engine", *options, "--snap-at", "3:40", "--snap-at", "2:40"])
        equal((recorded.status, recorded.out), (0, b"0 wrong\n"), "end and what was wrong")
        equal(sorted(kept_at(recorded.trace)), ["2:40+0", "3:40+0"], "kept")
        lines = [re.match(r"THREAD .* snapshot=(\d+) task=(\d+) point=(\d+\+\d+)@", line).groups()
                 for line in engine_compare.dump_of(recorded.trace) if line.startswith("THREAD ")]
        asked = [snapshot for snapshot, task, point in lines if (task, point) == ("3", "40+0")]
        check(asked, "task 3 was not there")
        equal({task for snapshot, task, point in lines if snapshot == asked[0]}, {"1", "2", "3"}, "shown")


@case("with --from ticks count from there")
def from_there():
    program = [build("world.c", *STATIC), "status", "3"]
    runs = [record(program, [*START, "--from", "main", "--snap-at", "30", "--backend", name]) for name in ("step", "engine")]
    kept = [kept_at(run.trace) for run in runs]
    equal(list(kept[0]), ["1:30+0"], "kept")
    equal(kept[0], kept[1], "where it was")


@case("the report of a moment that was asked for")
def shown():
    recorded = record([build("world.c", *STATIC), "status", "0"], ["--backend", "engine", "--snap-at", "300", "--snap-at", "100"])
    where = list(kept_at(recorded.trace).values())
    found = report(recorded.trace) # the last one explains the end as well as any
    equal([(s["kind"], s["ticks"]) for s in found["snapshots"]], [("request", "100"), ("request", "300")], "snapshots")
    for options, ticks, rip in ((), "300", where[1]), (("--snapshot", "1"), "100", where[0]), (("--snapshot", "2"), "300", where[1]):
        thread = report(recorded.trace, *options)["threads"][0]
        equal((thread["ticks"], int(thread["registers"]["rip"], 16)), (ticks, rip), "what is shown with %s" % (options,))
    said = text(recorded.trace, "--snapshot", "1")
    check("  1: on request (1:100+0), task 1 at tick 100" in said, said)
    none = execute([BTVIEW, "--stdio", "--snapshot", "3", recorded.trace])
    equal((none.status, none.err), (1, b"btview: no snapshot 3: the trace has 2 moments: 1 and 2\n"), "a number that no snapshot has")


@case("points that are never reached: a line, and a note for what was passed")
def unreached():
    recorded = record([build("world.c", *STATIC), "status", "3"], ["--backend", "engine", "--snap-at", "99999999", "--snap-at", "7:1", "--snap-at", "10+999", "--snap-at", "5"])
    equal(recorded.status, 3, "status")
    check("; 3 of 4 points of --snap-at were never reached" in recorded.own_err, recorded.own_err)
    notes = [line for line in engine_compare.dump_of(recorded.trace) if line.startswith("NOTE ") and "--snap-at" in line]
    equal(len(notes), 1, "notes")
    check("--snap-at 1:10+999: the task was never there" in notes[0], notes[0])


def kept_with_registers(trace):
    """Of the moments that were asked for, in their order: their points, and the registers of their task."""
    labels, rows = [], []
    for line in engine_compare.dump_of(trace):
        asked = re.match(r'SNAPSHOT .* kind=4 .*label="([^"]*)"', line)
        if asked:
            labels.append(asked.group(1))
        elif line.startswith("THREAD "):
            rows.append({name: int(value, 16) for name, value in re.findall(r"[=,](r\w\w?|eflags):([0-9a-f]+)", line)})
    return labels, rows[:len(labels)]


@case("a stop at an iteration of a REP instruction, far in a straight line")
def iterations_far_in_line():
    program = build("straight.S", *BARE)
    store = [line.split()[0] for line in execute(["nm", program]).out.decode().splitlines() if line.endswith(" store")][0]
    points = ["%d+%d@%s%s" % (tick, 4, store, left) for tick in (2, 3) for left in ("", ",4", ",1")]
    runs = [record([program], [*START, "--backend", name, *options, *wanted_options(points)]) for name, options in (("step", []), *(("engine", more) for more in COUNTING.values()))]
    labels, rows = zip(*(kept_with_registers(run.trace) for run in runs))
    equal(len(rows[0]), len(points), "points at which the task was (%s)" % labels[0])
    for found in zip(labels[1:], rows[1:]):
        equal(found, (labels[0], rows[0]), "points and registers")


@case("a stop at an iteration of a REP instruction, as stepped")
def iterations():
    program = build("repeats.S", *BARE)
    symbols = dict(reversed(line.split()[::2]) for line in execute(["nm", program]).out.decode().splitlines())
    points = ["3@%s,%x" % (symbols["store"], left) for left in range(7, 0, -1)] + ["3@%s" % symbols["store"], "3@%s,8" % symbols["store"]]
    runs = [record([program], [*START, "--backend", name, *(word for point in points for word in ("--snap-at", point))]) for name in ("step", "engine")]
    for run in runs:
        equal(run.status, 42, "status")
        check("1 of 9 points of --snap-at were never reached" in run.own_err, run.own_err)
    labels, rows = zip(*(kept_with_registers(run.trace) for run in runs))
    equal(labels[0], labels[1], "points")
    equal([(row["rcx"], row["rdi"] - rows[0][0]["rdi"]) for row in rows[0]], [(7, 0)] + [(7 - done, done) for done in range(7)], "iterations")
    equal(rows[0], rows[1], "registers")


@case("what is no point, and a backend without ticks: 125, with the reason")
def wrong():
    for text in "", "x", "1:", ":5", "0:5", "5+", "5@", "5@0", "5+1@zz", "5 ", "-5", "99999999999999999999", "4294967296:1":
        refused = record(["/bin/true"], ["--snap-at", text])
        equal(refused.status, 125, "status for %r" % text)
        check("%s is no point: [TASK:]TICK[+TRANSFERS][@ADDRESS[,RCX]]" % text in refused.own_err, refused.own_err)
    refused = record(["/bin/true"], ["--backend", "pmu", "--source", "none", "--snap-at", "5"])
    equal(refused.status, 125, "status under pmu")
    check("--snap-at needs ticks" in refused.own_err, refused.own_err)


main(sanitized=3)
