#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Loops of several kinds are recorded while signals come into them, or until they are killed, and replayed: each signal comes to its place again.
# Others are killed at a chosen instruction of the engine's own code.
# A few of each by `make check`; `./check --full` records a thousand (BTREC_ALARM_RUNS of each case), and kills at each of those instructions
# (BTREC_SWEPT_EACH=7: at each seventh). With BTREC_KEEP=DIRECTORY what is not replayed exactly is kept there.
import json
import random

from counted_steps import steps_of
from replays import *

RUNS = int(os.environ.get("BTREC_ALARM_RUNS", "2"))
SEED = int(os.environ.get("BTREC_SEED", "1"))
KINDS = {"spin": "transfers without a conditional", "chain": "a long row of jumps", "line": "a long line without a branch", "branches": "two-byte branches", "jit": "two-byte branches of code that the program makes",
         "conditionals": "conditionals", "rep": "REP", "gather": "gathers",
         "results": "instructions with results of their own"}
STEPPED = ("spin", "rep", "gather") # by `make check`
SWEPT = {"where ticks are counted": ["--history", "off"], "with history": [], "without PEXT": ["--plain-processor", "--history", "off"],
         "eager guesses": ["--predict-eagerly"], "ticks alone near a stop point": ["--history", "off", "--snap-at", "250"],
         "history near a stop point": ["--snap-at", "250"]} # it counts from the start on (STOP_NEAR)
CLOCK_SWEPT = ("where ticks are counted", "with history", "history near a stop point")
EACH = int(os.environ.get("BTREC_SWEPT_EACH", "31"))
FIRST, LAST = 2000, 2900 # instructions of the cache's own when kill_at goes round: more than a round of it has
FOR_EVER = 1 << 40 # signals
STEPS = 40 # for a signal: to its point, at the end of its handler


def add_alarms(kind, text):
    @case("alarms: %s: each comes to its place again: %s" % (kind, text))
    def run():
        # Stepped, a place among transfers without a conditional takes minutes.
        program, chance, tried = build("alarmed.c", "-O2"), random.Random(SEED), Replays()
        for n in range(RUNS):
            each = chance.randint(101, 1000) if n % 4 == 3 else 100
            result = record([program, kind, str(each), str(max(10, 4000 // each))], ["--replayable", "--quiet"])
            if result.status == 77:
                raise Skip("no AVX2")
            equal(result.status, 0, "end of the program")
            tried.exact(result.trace, program, result.out, result.err, "run %d, a signal every %d us" % (n, each))
        tried.end()


@case("alarms: to those far in a straight line few instructions are stepped")
def few_steps():
    result = record([build("alarmed.c", "-O2"), "line", "1000", "40"], ["--replayable", "--quiet"])
    equal(result.status, 0, "end of the program")
    signals = execute([BTREC, "dump", "--no-branches", result.trace]).out.count(b"\nSIGNAL ")
    check(signals >= 40, "%d signals" % signals)
    without, steps = (steps_of("replay", "-q", "--no-output", *options, result.trace) for options in (["--to", "1"], []))
    check(steps - without <= STEPS * signals, "%d steps for %d signals" % (steps - without, signals))


@case("alarms: one whose transfers never come is found where its tick ends")
def never():
    result = record([build("alarmed.c", "-O2"), "conditionals", "1000", "10"], ["--replayable", "--quiet"])
    equal(result.status, 0, "end of the program")
    again = replayed(with_change(result, "transfers", "LOG_SIGNAL", 3), "--json")
    found = json.loads(again.out.splitlines()[-1])
    equal((again.status, found["kind"]), (65, "point"), "status and kind")
    expected, point = (int(found[name]["tick"]) for name in ("expected_point", "point"))
    equal(point, expected + 1, "where it is found")


def add_stepped(kind, text):
    @case("stepped: %s: signals that come while a loop is stepped come to their places again: %s" % (kind, text))
    def run():
        program, tried = build("alarmed.c", "-O2", *STATIC), Replays()
        for n in range(max(1, RUNS // 10)):
            result = record([program, kind, "1000", "10"], ["--replayable", "--quiet", "--backend", "step"])
            if result.status == 77:
                raise Skip("no AVX2")
            equal(result.status, 0, "end of the program")
            tried.exact(result.trace, program, result.out, result.err, "run %d" % n)
        tried.end()


def child_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return int(file.read().split()[0])


def add_kills(kind, text):
    @case("kills: %s: the end is where it was: %s" % (kind, text))
    def run():
        program, chance, tried = build("alarmed.c", "-O2"), random.Random(SEED), Replays()
        for n in range(max(RUNS, 12) if kind == "results" else RUNS):  # a third of them is killed behind such an instruction
            trace, options = fresh("trace"), ["--history", "off"] if n % 2 else []
            process = start([BTREC, "run", "--replayable", "-q", *options, "-o", trace, program, kind, "100", str(FOR_EVER)])
            first = process.stdout.readline()
            if not first and process.wait(60) == 77:
                raise Skip("no AVX2")
            equal(first, b"begins\n", "what it says first")
            time.sleep(chance.random() * 0.03)  # any moment will do
            os.kill(child_of(child_of(process.pid)), signal.SIGKILL)
            equal(process.wait(60), -signal.SIGKILL, "end")
            tried.exact(trace, program, first, b"", "run %d" % n)
        tried.end()


def add_swept(which, options, source="kill_at.S"):
    @case("swept: SIGKILL at instructions of the cache's own, one after the other: the end is where it was: " + which)
    def run():
        program, chance, tried = build(source, *BARE), random.Random(SEED), Replays()
        for at in range(FIRST + chance.randrange(EACH), LAST, EACH):
            result = record([program], ["--replayable", "--quiet", "--kill-at", str(at), *options])
            equal(result.status, -signal.SIGKILL, "end")
            tried.exact(result.trace, program, result.out, b"", "SIGKILL behind instruction %d" % at)
        tried.end()


ALARM_EACH = 307 # instructions of the cache's own: more than the handler has


@case("swept: SIGALRM at instructions of the cache's own while rdtsc and rdtscp are read: each comes to its place again")
def swept_alarms():
    program, tried = build("reads_clock.c", *STATIC), Replays()
    for options in CLOCK_SWEPT if RUNS > 2 else CLOCK_SWEPT[:1]: # the start of the program is stepped, too
        result = record([program, "alarms", "60"], ["--replayable", "--quiet", "--alarm-each", str(ALARM_EACH), *SWEPT[options]])
        equal(result.status, 0, "end of the program")
        tried.exact(result.trace, program, result.out, b"", options)
    tried.end()


for which_, options_ in SWEPT.items():
    add_swept(which_, options_)
    if which_ in CLOCK_SWEPT:
        add_swept("rdtsc and rdtscp, " + which_, options_, "kill_at_clock.S")

for each_kind, what in KINDS.items():
    add_alarms(each_kind, what)
    add_kills(each_kind, what)
    if RUNS > 2 or each_kind in STEPPED:
        add_stepped(each_kind, what)

main()
