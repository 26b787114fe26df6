# SPDX-License-Identifier: MIT
# The pmu backend: natively with no branches, here; with the processor's branch record over a simulated kernel and processor (tests/simulated), whose
# branches are the stepper's: what comes out is compared with a recording by the stepper itself, entry by entry.
from e2e import *
from recorded_branches import *

SIMULATED = os.path.join(BUILD, "tests/simulated/btrec_simulated")


def simulated(argv, machine, options=("--source", "lbr"), **kw):
    """Runs argv under btrec run on a machine of the simulation."""
    trace = fresh("trace")
    env = dict(os.environ, BTREC_SIMULATED=machine)
    result = execute([SIMULATED, "run", "-o", trace, *options, "--", *argv], cwd=TMP, env=env, **kw)
    result.trace = trace
    check(result.status == 125 or os.path.isdir(trace), "no trace: status %d: %s" % (result.status, result.err.decode(errors="replace")))
    return result


def compare(argv, machine, depth, joined=True, tasks=(1,)):
    result = simulated(argv, "%s,depth=%d" % (machine, depth), ["--source", "lbr", *KEEP])
    for task in tasks:
        want, got = expected(truth(argv), task, depth, joined), recorded(result.trace, task)
        for i, (a, b) in enumerate(zip(want, got)):
            equal(b, a, "%s, depth %d, task %d: run %d of %d" % (machine, depth, task, i, len(want)))
        equal(len(got), len(want), "%s, depth %d, task %d: runs (status %s: %s)" % (machine, depth, task, result.status, result.own_err))
    return result


def only_truth(argv, machine, depth, least=20, shape=lambda entries: entries):
    """Weaker than compare, for machines whose gaps nobody can foresee. Returns the runs."""
    result = simulated(argv, "%s,depth=%d" % (machine, depth), ["--source", "lbr", *KEEP])
    return check_truth(result.trace, argv, "%s, depth %d" % (machine, depth), least, shape)


def fault(name):
    return [build("faults.c", *STATIC), name]


def crash():
    return fault("null-write")


def bare(source):
    return [build(source, *BARE)]


# Natively, here --------------------------------------------------------------------------------------------------------------

@case("natively, without branches: as natively, whatever it does")
def _():
    for argv in (["/bin/sh", "-c", "echo a; ls / | sort | wc -l; exit 3"], [build("torture.c", "-pthread")] , crash()):
        alone, got = same_as_native(argv, ["--backend", "pmu", "--source", "none"])
    seen = report(got.trace)
    equal((seen["trace"]["backend"], seen["trace"]["source"]), ("pmu", "none"), "backend and source")
    equal(seen["fault"]["signal"], "SIGSEGV", "signal")
    equal(seen["fault"]["ticks"], None, "ticks")
    check("none: recorded natively (--backend pmu) with --source none, neither ticks nor branches were counted\n" in text(got.trace), text(got.trace))


@case("natively: signals, children and all that programs see, as the tests of these have it")
def _():
    for name in ("signals.py", "trees.py", "behaviour.py"):
        env = dict(os.environ, BTREC_TEST_BACKEND="pmu", BTREC_TEST_OPTIONS="--source none")
        result = execute([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), name)], cwd=TMP, env=env, timeout=400)
        wrong = [line for line in result.out.decode().splitlines() if line.startswith("FAIL")]
        check(result.status == 0, "%s: status %d: %s" % (name, result.status, wrong))


@case("natively threads run side by side")
def _():
    # Three spin until the fourth has made many system calls: a turn for each would take a slice of each spinner between two calls.
    result = record([build("side_by_side.c", "-pthread")], ["--backend", "pmu", "--source", "none"])
    equal(result.status, 0, "status: " + result.err.decode())
    check(not any(line.startswith("SWITCH ") for line in execute([BTREC, "dump", result.trace]).out.decode().splitlines()), "turns were taken")


@case("without a PMU: one line, what is lacking, 125")
def _():
    if os.path.exists("/sys/bus/event_source/devices/cpu") or os.path.exists("/sys/bus/event_source/devices/cpu_core"):
        raise Skip("this machine has a PMU")
    for options in (["--source", "lbr"], ["--backend", "pmu"]):
        result = record(["/bin/echo", "ran"], options)
        equal(result.status, 125, "status")
        equal(result.out, b"", "stdout")
        equal(result.err.count(b"\n"), 1, "lines")
        check(b"no performance counters (PMU) here" in result.err and b"use the engine" in result.err, result.err)
        check(not re.search(rb"use the (?!engine)", result.err), "cut: %s" % result.err)
        check(not os.path.exists(result.trace), "there is a trace")


# Modes -----------------------------------------------------------------------------------------------------------------------

@case("what does not go together is said")
def _():
    for options, words in ((["--backend", "engine", "--source", "lbr"], "its sources are bits, none"),
                           (["--backend", "step", "--source", "pt"], "its sources are bits, none"),
                           (["--backend", "pmu", "--source", "bits"], "its sources are lbr, bts, pt, none"),
                           (["--history", "off", "--source", "lbr"], "--history off"),
                           (["--history", "100", "--source", "none"], "--source none keeps no branches"),
                           (["--source", "nothing"], "is none of auto"),
                           (["--backend", "nothing"], "is none of auto")):
        result = record(["/bin/true"], options)
        equal(result.status, 125, "status of " + " ".join(options))
        check(words in result.own_err, "%s: %s" % (options, result.own_err))


@case("a source named means its backend")
def _():
    for options, backend, source in ((["--source", "none"], "engine", "none"), (["--source", "bits"], "engine", "bits"),
                                     (["--backend", "step", "--history", "off"], "step", "none"),
                                     (["--backend", "pmu", "--history", "off"], "pmu", "none")):
        header = report(record(bare("status.S"), [*options, "--snap-exit", "always"]).trace)["trace"]
        equal((header["backend"], header["source"]), (backend, source), " ".join(options))


# The simulated processor -----------------------------------------------------------------------------------------------------

@case("each depth: the stepper's taken branches, window by window")
def _():
    for argv in (crash(), bare("handlers.S"), bare("transfers.S"), bare("conditionals.S")):
        for depth in (4, 8, 16, 32):
            compare(argv, "kernel=618", depth)
        compare(argv, "returns_dropped=1", 16)


@case("without the kernel's counts: the same, but for loops of one branch")
def _():
    for depth in (4, 8, 16, 32):
        only_truth(crash(), "counted=0", depth, 40)


@case("two PMUs")
def _():
    compare(crash(), "hybrid=1", 32)


@case("the fault: its record comes last, and code leads from it to the fault")
def _():
    result = simulated(crash(), "depth=16", ["--source", "lbr", *KEEP])
    equal(result.status, -signal.SIGSEGV, "status")
    seen = report(result.trace)
    equal((seen["trace"]["backend"], seen["trace"]["source"]), ("pmu", "lbr"), "backend and source")
    equal(seen["fault"]["ticks"], None, "ticks")
    last = expected(truth(crash()), 1, 16)[-1]
    got = [branch for branch in seen["branches"]][-len(last):]
    equal([branch["kind"] for branch in got], [entry[0] for entry in last], "the last branches")
    check("LBR: the last 16 taken branches at each fault and each switch" in execute([BTREC, "info", result.trace]).out.decode(), "btrec info does not say how")
    walked = execute([BRANCHES, "-i", result.trace]).out.decode().splitlines()
    before = walked[[i for i, line in enumerate(walked) if " gap " in line][-1]:]
    check("i ?" not in before[2:], "the code does not lead from the last gap to the fault: " + short(before))


@case("a call of a null pointer is not in the record: a gap says so")
def _():
    result = simulated(fault("call-null"), "depth=16", ["--source", "lbr", *KEEP])
    rows = branches(result.trace)
    equal(rows[-1][2], "gap", "the last entry")
    check(("icall", rows[-2][4], 0) not in taken(truth(fault("call-null")), 1), "the call to 0 was recorded")
    equal([row[2] for row in truth(fault("call-null"))][-1], "icall", "what the stepper saw")
    rows = branches(simulated(fault("call-unmapped"), "depth=16", ["--source", "lbr", *KEEP]).trace)
    equal(rows[-1][2], "icall", "the last entry where the target is not 0")


@case("natively: kinds and the code between entries are in the trace, which nobody stepped through")
def _():
    want = expected(truth(crash()), 1, 16)[-1][-16:]
    path = fresh("record")
    with open(path, "w") as file:
        file.writelines("%x %x\n" % entry[1:] for entry in reversed(want))
    os.environ["BTREC_SIMULATED_RECORD"] = path
    result = simulated(crash(), "native=1,depth=16", ["--source", "lbr", *KEEP])
    equal(recorded(result.trace, 1)[-1], want, "the last run")
    walked = execute([BRANCHES, "-i", result.trace]).out.decode().splitlines()
    last = walked[[i for i, line in enumerate(walked) if " gap " in line][-1] + 1:]
    equal([line for line in last if line == "i ?"], ["i ?"], "code that is not known: that before the run")
    check(len([line for line in last if line.startswith("i ")]) > 30, "instructions: %d" % len(last))


@case("nested faults: each is kept, the outermost marked, and the handler's branches cost it nothing")
def _():
    for depth in (4, 32):
        result = compare(fault("fault-in-fault-handler"), "", depth)
        lines = [line for line in execute([BTREC, "dump", result.trace]).out.decode().splitlines() if line.startswith("SNAPSHOT ")]
        depths = [int(re.search(r" depth=(\d+)", line).group(1)) for line in lines]
        equal(depths, [0, 1], "handlers active at each snapshot")
        positions = [int(re.search(r" position=(0x)?([0-9a-f]+)", line).group(2), 16) for line in lines]
        check(0 < positions[0] < positions[1], "positions %s" % positions)
    compare(fault("handled-then-fatal"), "", 16)


@case("returns from the kernel, counted or not")
def _():
    for counted in (1, 0):
        for returns in (1, 2, 3, 5, 13):
            for depth, dropped in ((4, 1), (16, 0), (16, 1)):
                only_truth(crash(), "counted=%d,returns=%d,returns_dropped=%d" % (counted, returns, dropped), depth)


@case("preempted: windows that did not overflow follow each other")
def _():
    for every in (3, 7, 13, 30): # counted with those that are not taken
        runs = only_truth(crash(), "preempt=%d" % every, 16)
        longest = max(map(len, runs))
        check(longest > (16 if every == 30 else 2 * every), "with a switch every %d the longest run has %d" % (every, longest))
    only_truth(crash(), "preempt=1", 16) # more switches between two stops than are kept


@case("the newest entry twice")
def _():
    # Where the code allows that the branch was taken twice, nobody can tell.
    for machine in ("dup0=1", "dup0=1,counted=0", "dup0=3"):
        for depth in (4, 16, 32):
            only_truth(crash(), machine, depth, shape=once)
    twice = simulated(bare("transfers.S"), "dup0=1,depth=32", ["--source", "lbr", *KEEP])
    for run in recorded(twice.trace, 1):
        check(all(a != b or a[2] <= a[1] for a, b in zip(run, run[1:])), "a branch twice that leads forward: " + short(run))


@case("AMD: speculative entries, a tail of another time")
def _():
    compare(crash(), "amd=1", 16)
    compare(crash(), "amd=1,returns_dropped=1", 16, joined=False)
    only_truth(crash(), "amd=1,speculative=3", 16)
    only_truth(crash(), "amd=1,speculative=1,returns=4", 16)


@case("the architectural record: a tail of another time")
def _():
    for depth in (8, 32):
        compare(crash(), "arch=1", depth)
        compare(crash(), "arch=1,returns_dropped=1", depth, joined=False)
    compare(bare("transfers.S"), "arch=1,hybrid=1", 32)
    for returns in (1, 2, 3, 7):
        for dropped in (0, 1):
            only_truth(crash(), "arch=1,returns=%d,returns_dropped=%d,preempt=7" % (returns, dropped), 8)
    # Where the kernel does not tell how many are valid, the tail would be believed.
    result = simulated([*bare("status.S"), "x"], "arch=1,counted=0,depth=32")
    check("which entries are valid" in result.own_err and "only samples" in result.own_err, result.own_err)


@case("an empty slot")
def _():
    for machine in ("zero=2", "zero=1,counted=0", "zero=1,amd=1"):
        result = simulated(crash(), machine + ",depth=16", ["--source", "lbr", *KEEP])
        rest = iter(taken(truth(crash()), 1))
        for entry in (entry for run in recorded(result.trace, 1) for entry in run):
            check(any(entry == other for other in rest), "%s: this never happened, or not then: %s" % (machine, entry))


@case("aborted transactions")
def _():
    for counted in (0, 1):
        for depth in (8, 16, 32):
            only_truth(crash(), "aborts=2,counted=%d" % counted, depth)


@case("no counter for a while: nothing of another time is believed")
def _():
    for counted in (0, 1):
        for every in (3, 5, 7):
            only_truth(crash(), "idle=%d,counted=%d" % (every, counted), 16)


@case("somebody else's filter: what the code does not connect has a gap")
def _():
    for counted in (0, 1):
        result = simulated(crash(), "other_filter=1,counted=%d,depth=16" % counted, ["--source", "lbr", *KEEP])
        runs = recorded(result.trace, 1)
        happened = set(taken(truth(crash()), 1))
        check(all(entry in happened for run in runs for entry in run), "branches that never were")
        check(not {entry[0] for run in runs for entry in run} & {"call", "ret", "icall"}, "the filter is not in force")
        walked = execute([BRANCHES, "-i", result.trace]).out.decode().splitlines()
        broken = [i for i, line in enumerate(walked) if line == "i ?" and 0 < i < len(walked) - 1 and " gap " not in walked[i - 1] + walked[i + 1]]
        check(not broken, "entries that the code does not connect: line %s" % broken)


@case("everything at once")
def _():
    for counted in (0, 1):
        only_truth(crash(), "counted=%d,returns=5,preempt=50,dup0=2,idle=7,aborts=9" % counted, 16)
    only_truth(bare("handlers.S"), "amd=1,speculative=4,returns=5,preempt=50,idle=7", 16)


@case("threads and children: each its own")
def _():
    result = simulated([build("branchy.c", "-pthread", *STATIC), "3", "300"], "depth=16", ["--source", "lbr", "--snap-exit", "always"])
    equal(result.status, -signal.SIGSEGV, "status")
    tasks = {row[0] for row in branches(result.trace) if row[2] == "jcc"}
    equal(tasks, {1, 2, 3}, "tasks with branches")
    result = simulated([build("tree.c", *STATIC), "fork-crash"], "depth=16", ["--source", "lbr", "--snap-exit", "always"])
    check(len({row[0] for row in branches(result.trace) if row[2] != "gap"}) > 1, "the child has no branches: " + result.own_err)


@case("without the capabilities for BPF: samples, and a word")
def _():
    for machine in ("", "returns=7", "amd=1"):
        only_truth(crash(), "capabilities=0,period=211," + machine, 16)
    result = simulated(crash(), "capabilities=0,period=5,depth=32")
    check("no branches at faults, only samples" in result.own_err and "BPF and PERFMON" in result.own_err, result.own_err)
    rows = branches(result.trace)
    equal(rows[-1][2], "gap", "the last entry: nobody knows what came behind the last sample")
    check("samples of the last 32 taken branches" in execute([BTREC, "info", result.trace]).out.decode(), "btrec info does not say how")
    equal(simulated(crash(), "capabilities=0,memlock=0,depth=32").status, -signal.SIGSEGV, "status with little memory to lock")


# Facilities ------------------------------------------------------------------------------------------------------------------

@case("the script for real hardware: it proves what holds, refutes what does not, and skips where there is nothing")
def _():
    prove = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hardware", "prove.py")
    for machine, status, word in (("depth=32", 0, "proved  lbr: "), ("depth=16,amd=1,speculative=3", 0, "proved  lbr: "), ("depth=32,lies=40", 1, "REFUTED lbr: what is recorded"),
                                  ("pmu=0", 77, "skipped lbr: "), ("capabilities=0", 77, "only samples")):
        env = dict(os.environ, BTREC=SIMULATED, BTREC_SIMULATED=machine, BTREC_PROVE_ROUNDS="1")
        result = execute([sys.executable, prove, "lbr", "--build", BUILD], cwd=TMP, env=env)
        equal(result.status, status, "%s: %s%s" % (machine, result.out.decode(), result.err.decode()))
        check(word in result.out.decode(), "%s: %s" % (machine, result.out.decode()))


@case("the real BPF programs, where the kernel lets them be loaded: what the helper says here is handled")
def _():
    result = simulated([*bare("status.S"), "x"], "real_bpf=1")
    equal(result.status, 1, "status")
    said = result.own_err
    if "built without BPF" in said or "need the capabilities" in said or "does not load" in said or "cannot be loaded" in said:
        raise Skip("no BPF programs here: " + said.splitlines()[0])
    if os.path.exists("/sys/bus/event_source/devices/cpu") or os.path.exists("/sys/bus/event_source/devices/cpu_core"):
        raise Skip("this machine has a PMU")
    check("only samples" in said and "finds no branch record" in said, said)


@case("facilities: what is lacking, each in its own words")
def _():
    program = bare("status.S")
    for machine, words in (("pmu=0", "no performance counters"), ("depth=0", "no last branch record"),
                           ("paranoid=3,capabilities=0", "perf_event_paranoid is 3"), ("seccomp=1", "seccomp filter"),
                           ("nosys=1", "no perf_event_open"), ("bts_used=1", "busy: somebody records with Intel PT or the PMU intel_bts"), ("pt_used=1", "busy: "),
                           ("amd=1,kernel=600", "no last branch record"), ("amd=1,brs=1", "AMD before Zen 4")):
        result = simulated([*program, "x"], machine)
        equal(result.status, 125, machine)
        equal(result.err.count(b"\n"), 1, "lines of " + machine)
        check(words in result.own_err, "%s: %s" % (machine, result.own_err))
        check(not os.path.exists(result.trace), machine + ": there is a trace")
    for machine, words in (("built=0", "built without BPF"), ("capabilities=0", "BPF and PERFMON"), ("kernel=515", "Linux 5.16"),
                           ("amd=1,kernel=601", "finds no branch record"), ("amd=1,kernel=609", "finds no branch record"), ("amd=1,counted=0", "which entries are valid"), ("kernel=618", None), ("lbr_used=1,pt_used=1,coexist=1", None)):
        result = simulated([*program, "x"], machine)
        equal(result.status, 1, machine)
        said = result.own_err.splitlines()
        equal(len(said), 2 if words else 1, "lines of " + machine)
        check(not words or (words in said[0] and "only samples" in said[0]), "%s: %s" % (machine, said))


if __name__ == "__main__":
    if not os.access(SIMULATED, os.X_OK):
        print("FAIL %s is not built" % SIMULATED)
        sys.exit(1)
    main(sanitized=3)
