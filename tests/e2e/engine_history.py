#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The engine's two kinds of code count alike: every system call, signal, snapshot and exit has the same point and registers whether branches are
# recorded, only counted (--history off), or one and the other in turn. The stepper is compared where it is quick.
# BTREC_SEED (1) is the first seed of the generated programs, BTREC_HISTORY_SEEDS (6) their number.
import os
import resource
import shutil
import subprocess

from e2e import *
import engine_compare
from engine_seeds import kept, made

CHECK = os.path.join(os.environ["abs_top_builddir"], "tests/tools/check_history")
FIRST = int(os.environ.get("BTREC_SEED", "1"))
SEEDS = int(os.environ.get("BTREC_HISTORY_SEEDS", "6"))
WHOLE = ["--deterministic", "--snap-exit", "always"]
FULL = ("engine", ["--backend", "engine"])
OFF = ("off", ["--backend", "engine", "--history", "off"])
TURNS = ("turns", ["--backend", "engine", "--switch-history"])
STEP = ("step", ["--backend", "step"])


def same_points(argv, modes=(OFF, TURNS, STEP), points_only=False, points=(), **kw):
    """Records argv with its history and in other ways, each with these options. Returns the first result and the number of its events."""
    first = record(argv, [*WHOLE, *FULL[1], *points], **kw)
    for name, options in modes:
        other = record(argv, [*WHOLE, *options, *points], **kw)
        equal(other.status, first.status, "exit status, " + name)
        equal(other.out, first.out, "stdout, " + name)
        count = engine_compare.compare_events(first.trace, other.trace, (FULL[0], name), points_only)
        shutil.rmtree(other.trace)
    return first, count


def add_bare(name, source, *flags, modes=(OFF, TURNS, STEP)):
    @case("counted as recorded: " + name)
    def run():
        same_points([build(source, *BARE, *flags)], modes)


for bare in engine_compare.BARE_PROGRAMS:
    add_bare(*bare)


@case("counted as recorded: a branch that mostly leads to one place, then to another, then nowhere")
def predicted():
    for program in engine_compare.guessed_programs("-DROUNDS=1500"):
        same_points([program], (OFF, ("off, plain processor", [*OFF[1], "--plain-processor"])))


@case("counted as recorded: glibc's start, dynamic, and a crash")
def dynamic():
    _, count = same_points([build("faults.c", "-rdynamic"), "null-read"], (OFF, TURNS))
    check(count > 20, "only %d events" % count)


@case("counted as recorded: short loops around operands beside their code, and faults in them")
def beside_loops():
    program = build("beside_loops.c", "-O1", "-static-pie", "-fPIE")
    first, count = same_points([program], (OFF, TURNS, ("elsewhere", ["--parallel", "--plain-processor"]), STEP))
    equal(first.out, native([program]).out, "output")
    check(count > 10, "only %d events" % count)
    check(first.out.count(b"division:") > 1 and first.out.count(b"memory:") > 1, "faults")


@case("counted as recorded: a real program")
def real_program():
    # From its third recording on fragments are what the second one has kept.
    _, count = same_points(["gzip", "-9", "-c", engine_compare.__file__], (OFF, OFF, OFF, TURNS))
    check(count > 50, "only %d events" % count)


@case("counted as recorded: processes and what they run")
def processes():
    # Random numbers of the allocator are in registers. xargs asks which of its descriptors are ready: an input that is being closed
    # would be so or not, as it comes; and a child ends when it does.
    words = os.path.join(TMP, "words")
    with open(words, "w") as file:
        file.write("/a/b /c/d /e")
    _, count = same_points(["env", "--block-signal=CHLD", "xargs", "-a", words, "-n1", "basename"], (OFF, TURNS), points_only=True, stdin=subprocess.DEVNULL)
    check(count > 200, "only %d events" % count)


@case("generated programs are counted as recorded")
def generated_programs():
    failures = []
    for seed in range(FIRST, FIRST + SEEDS):
        path = made(seed)
        try:
            same_points([path], (OFF, TURNS))
        except Failure as failure:
            kept(seed, path)
            failures.append("engine_generate.py %d: %s" % (seed, failure))
        os.unlink(path)
    check(not failures, "%d of %d programs from seed %d on; the first: %s" % (len(failures), SEEDS, FIRST, failures[0] if failures else ""))


def last_point(program, options, event="SIGNAL"):
    """(tick, transfers) of the one event of this kind: of the signal that ends a program, or of its end."""
    result = record(program, [*WHOLE, *options])
    row, = [row for row in engine_compare.events(result.trace) if row.startswith(event + " ")]
    return tuple(map(int, re.search(r" point=(\d+)\+(\d+)", row).groups()))


def add_silent(name, rounds, transfers, *flags):
    @case("a cycle without a conditional, more rounds than the engine counts at once: " + name)
    def run():
        program = [build("silent.S", *BARE, "-DBYTES=%d" % rounds, *flags)]
        # The jump on, the fault in the round that is one too many; no transfers before.
        expected = (1, rounds * transfers)
        equal(last_point(program, OFF[1]), expected, "off")
        equal(last_point(program, FULL[1]), expected, "full")


add_silent("a jump", 20 << 20, 1)
add_silent("an indirect jump", 20 << 20, 1, "-DINDIRECT")
add_silent("calls and returns", 8 << 20, 3, "-DRETURN")


@case("cycles without a conditional come out the same, and have the same history, whichever instruction an alarm interrupts")
def swept_rounds():
    near, far = ([build("rounds.S", *BARE, "-DLEN=17", *flags)] for flags in ((), (engine_compare.FAR,)))
    eager = ["--predict-eagerly"]
    for program, options in (near, [*eager, "--plain-processor"]), (near, [*eager, "--history", "off"]), (far, [*eager, "--parallel"]):
        result = record(program, ["--backend", "engine", "--alarm-each", "101", "--snap-exit", "always", *options])
        equal(result.status, native(program).status, "exit status, %s" % options)
        if "off" not in options:
            done = execute([CHECK, result.trace])
            equal(done.status, 0, "check_history, %s: %s" % (options, done.out.decode(errors="replace")[:400]))
        shutil.rmtree(result.trace)


def switches():
    """So often has what ran here so far given up the processor: each stop of a tracee does."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw


def add_endless(name, transfers, *flags):
    @case("a cycle without a conditional does not stop: " + name)
    def run():
        taken = []
        for rounds in 8 << 20, 200 << 20:
            program = build("silent.S", *BARE, "-DBYTES=%d" % rounds, *flags, name="silent%d" % rounds)
            before = switches()
            equal(last_point([program], [*FULL[1], "--history", "5000"]), (1, rounds * transfers), "where it ends")
            taken.append(switches() - before)
        check(taken[1] < taken[0] + 500, "%d and %d switches" % tuple(taken)) # with a record each round 3200 stops, two or three each


add_endless("a jump", 1)
add_endless("an indirect jump", 1, "-DINDIRECT")
add_endless("calls and returns", 3, "-DRETURN")


def add_met(loop, end, *options):
    @case("what comes in an endless loop without a conditional: %s" % " ".join([loop, end, *options]))
    def run():
        result = record([build("endless.c", "-O1", "-pthread"), loop, end], ["--backend", "engine", "--snap-exit", "always", *options])
        equal((result.status, result.out), (0, end.encode() + b"\n"), "status and output")
        if "off" not in options:
            equal(execute([CHECK, result.trace]).status, 0, "check_history")


for met in (("returns", "alarms"), ("calls", "alarms", "--history", "off"), ("itself", "alarms"), ("itself", "alarms", "--history", "off"),
            ("operations", "limit"), ("returns", "turn"), ("returns", "code"), ("calls", "code", "--parallel")):
    add_met(*met)


@case("counted as recorded: cycles without a conditional whose branches mostly lead to one place")
def guessed_cycles():
    eager = ("--predict-eagerly",)
    for flags in (), (engine_compare.FAR,):
        modes = [(name, [*options, *eager]) for name, options in (OFF, TURNS, ("off, plain processor", [*OFF[1], "--plain-processor"]))]
        same_points([build("guessed_cycles.S", *BARE, *flags)], [*modes, STEP], points=eager)
        many = [build("guessed_cycles.S", *BARE, "-DROUNDS=100000", *flags)] # so many that predictions are made as they mostly are
        for options in OFF[1], [*TURNS[1], "--history", "5000"], ["--parallel", "--history", "5000"]:
            equal(last_point(many, options, "EXIT"), last_point(many, [*FULL[1], "--history", "5000"], "EXIT"), "end, %s" % options)
    points = [option for point in ("1+3", "2+500", "3+100", "4+40", "5") for option in ("--snap-at", point)]
    same_points([build("guessed_cycles.S", *BARE)], (OFF, STEP), points=points)


@case("more transfers without a conditional than half of r11 has room for")
def many_transfers():
    rounds = (1 << 32) + 1000
    program = [build("many_transfers.S", *BARE, "-DROUNDS=%d" % rounds)]
    for options in ((), ("--plain-processor",)):
        equal(last_point(program, [*OFF[1], *options]), (1, rounds), "off" + " ".join(options))


@case("more conditionals than the engine counts at once")
def many_ticks():
    program = [build("branchy.c", *STATIC, "-pthread"), "1", "10000000"]
    off, full = last_point(program, OFF[1]), last_point(program, FULL[1])
    equal(off, full, "where it crashes")
    check(off[0] > 18 << 20, "only %d ticks" % off[0])


@case("more ticks than 32 bits have room for, and a moment behind that")
def ticks_beyond_32_bits():
    rounds, left = (1 << 32) + 1000, 7
    program = [build("many_ticks.S", *BARE, "-DROUNDS=%d" % rounds)]
    for name, options in ("engine", [*FULL[1], "--history", "5000"]), OFF:
        result = record(program, [*WHOLE, *options, "--snap-at", str(rounds - left)])
        rows = engine_compare.events(result.trace)
        points = [re.search(r"^(\w+) .*\bpoint=(\d+\+\d+)", row).groups() for row in rows if re.match(r"(EXIT|SNAPSHOT) ", row)]
        equal(points, [("SNAPSHOT", "%d+0" % (rounds - left)), ("SNAPSHOT", "%d+0" % rounds), ("EXIT", "%d+0" % rounds)], name)
        check([row for row in rows if row.startswith("THREAD ") and ",rcx:%x," % left in row], "rcx at the moment, " + name)
        equal(int(report(result.trace, "-n", "1")["fault"]["ticks"]), rounds, "ticks in the report, " + name)
        last = [row[1] for row in branches(result.trace)[-5000:]]
        equal(last, list(range(rounds - 4999, rounds + 1)) if name == "engine" else [], "ticks of the last branches, " + name)
    result = record(program, [*WHOLE, *FULL[1], "--history", "5000"]) # with nothing to stop for
    equal(int(report(result.trace, "-n", "1")["fault"]["ticks"]), rounds, "ticks in the report")
    equal([row[1] for row in branches(result.trace)[-5000:]], list(range(rounds - 4999, rounds + 1)), "ticks of the last branches")


@case("a point a few ticks ahead, and before it many rounds of a cycle without one")
def near_stop_point():
    few = [build("near_stop_point.S", *BARE, "-DROUNDS=1200")]
    points = [option for point in ("9", "10+3000", "11", "60", "110") for option in ("--snap-at", point)]
    same_points(few, points=points)
    many = [build("near_stop_point.S", *BARE, "-DROUNDS=2000000")] # stepped they would take minutes
    for name, options in FULL, OFF:
        result = record(many, [*WHOLE, *options, "--snap-at", "50"])
        threads = [row for row in engine_compare.events(result.trace) if row.startswith("THREAD ")]
        equal([re.search(r"point=(\d+\+\d+)", row).group(1) for row in threads], ["50+0", "110+0"], "moments, " + name)
        check(",rcx:3c," in threads[0] and ",rdi:0," in threads[0], "registers at the moment, %s: %s" % (name, threads[0]))
        shutil.rmtree(result.trace)


@case("records of all kinds where their room ends")
def full_room():
    program = build("full_room.c", "-O1")
    for options in ([], ["--predict-eagerly"], ["--plain-processor"]):
        first, _ = same_points([program, "300000"], (OFF, ("other", ["--backend", "engine", *options])))
        equal(first.out, native([program, "300000"]).out, "stdout")
        result = record([program, "300000"], ["--snap-exit", "always", *options])
        done = execute([CHECK, result.trace])
        equal(done.status, 0, "check_history: %s" % done.out.decode(errors="replace")[:400])
        shutil.rmtree(result.trace)


@case("a jump to nowhere behind where the room for records was full")
def wild_behind_room():
    program = build("wild_behind_room.c", "-D_GNU_SOURCE", "-O1")
    for conditionals in range(44, 49): # to a record of the loop, about
        full = 65536 * conditionals
        result = record([program, str(full - 300), str(full + 20)], ["--backend", "engine"])
        equal((result.status, result.out), (0, b"320 jumps\n"), "%d conditionals to a record" % conditionals)
        shutil.rmtree(result.trace)


def interrupted(program, rounds):
    """Where it ends, a row for each way it was run, and the fewest alarms that came in one."""
    ends, fewest = [], None
    short = ["--history", "5000"]
    for options, letter in ([*FULL[1], *short], "a"), ([*FULL[1], *short], "b"), (OFF[1], "b"), ([*TURNS[1], *short], "c"), (OFF[1], "c"):
        result = record([program, letter, str(rounds)], [*WHOLE, *options])
        equal(result.status, 0, "exit status")
        rows = engine_compare.events(result.trace)
        ends += [re.search(r"^EXIT .* point=(\d+)", row).group(1) for row in rows if row.startswith("EXIT ")]
        if letter != "a":
            signals = sum(row.startswith("SIGNAL ") for row in rows)
            fewest = signals if fewest is None else min(fewest, signals)
        shutil.rmtree(result.trace)
    return ends, fewest


@case("ticks do not depend on where alarms interrupt")
def alarms():
    program = build("ticking.c", *STATIC)
    for rounds in (400000, 1600000, 6400000, 25600000): # how much work takes ten alarms is the machine's to say
        ends, fewest = interrupted(program, rounds)
        equal(len(set(ends)), 1, "where it ends: %s" % ends)
        if fewest > 10:
            return
    check(False, "only %d alarms" % fewest)


@case("with turns, what was only counted is a gap, and the rest is consistent")
def turns():
    result = record([build("faults.c"), "null-read"], [*WHOLE, *TURNS[1]])
    rows = branches(result.trace)
    check([row for row in rows if row[2] == "gap" and row[5] == 9], "no gap says that branches were only counted")
    check([row for row in rows if row[2] == "jcc"], "no branches were recorded")
    check("Consistent:" in text(result.trace), "the verdict: " + text(result.trace))


@case("without history a report has ticks, registers and stacks, and says why there are no branches")
def report_of_off():
    result = record([build("faults.c"), "null-read"], ["--history", "off"])
    said = text(result.trace)
    check("--history off" in said, said)
    one = report(result.trace)
    equal(one["trace"]["source"], "none", "source")
    equal(one["branches"], [], "branches")
    equal(one["gaps"], [], "gaps")
    check(int(one["fault"]["ticks"]) > 1000, "ticks %s" % one["fault"]["ticks"])
    check(len(one["threads"][0]["stack"]) > 2, "stack %s" % one["threads"][0]["stack"])


if __name__ == "__main__":
    main(sanitized=5)
