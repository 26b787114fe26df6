#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# btview --by cpu: schedules made here, as captures with switches and samples, come back CPU by CPU in the order of their times.
import random

from e2e import *
import perf_made as perf

EVENT = ("identifier", "ip", "tid", "time", "cpu", "branches")
BLOCKED, PREEMPTED = "departs: it waits", "departs: it was preempted"


def view(trace, *options):
    return execute([BTVIEW, "--stdio", "--by", "cpu", *map(str, options), trace], cwd=TMP)


def import_bytes(data):
    path, trace = fresh("capture"), fresh("trace")
    with open(path, "wb") as file:
        file.write(data)
    equal(execute([BTREC, "import", "-q", "-o", trace, path]).status, 0, "status of import")
    return trace


def parse(text):
    """{cpu: [(task's tid, start, end, ending, [(from, to)])]}, and what is said of the rest. Times are text, ? where they are unknown."""
    cpus, rest, now, start, branches = {}, [], None, None, []
    for line in text.splitlines():
        if line.startswith("CPU "):
            now, branches = cpus.setdefault(line[4:], []), []
        elif line.startswith("Without a CPU"):
            now = None
        elif now is None and line.startswith("  task "):
            rest.append(re.match(r"  task \d+ \(.*thread (\d+)\): (\d+) of (\d+) entries", line).groups())
        elif now is not None and " -> " in line:
            branches.append(tuple(int(word, 16) for word in re.match(r" +\? +branch +(\S+) +-> (\S+)", line).groups()))
        elif now is not None and "thread " in line:
            time, tid, what = re.match(r" +(\S+)  task \d+ \(.*thread (\d+)\) (.*)", line).groups()
            if what.startswith("arrives"):
                start = time
            else:
                now.append((int(tid), start, time, re.split("[;,] ", what)[0], branches))
                start, branches = None, []
    return cpus, rest


def seconds(ns):
    return "%d.%09d" % (ns // 10**9, ns % 10**9)


class Schedule:
    """Tasks that run on CPUs; what a capture of that holds, and what the view should say."""

    def __init__(self, seed, cpus=4, tasks=3, stretches=40):
        self.rng, self.event = random.Random(seed), perf.Event(*EVENT, ids=[1])
        self.records, self.expected = [], {}
        free = [10**9] * cpus
        ready = [10**9] * tasks
        address = 0x401000
        for _ in range(stretches):
            task, cpu = self.rng.randrange(tasks), self.rng.randrange(cpus)
            start = max(free[cpu], ready[task]) + self.rng.randrange(1, 5000)
            end = start + self.rng.randrange(100, 100000)
            free[cpu] = ready[task] = end
            tid, preempt, branches = 100 + task, self.rng.random() < 0.5, []
            self.records.append((start, self.event.switch(False, tid=tid, time=start, cpu=cpu)))
            for at in sorted(self.rng.sample(range(start + 1, end), self.rng.randrange(3))):
                sampled = []
                for _ in range(self.rng.randrange(1, 6)):
                    sampled.append((address, address + 0x800))
                    address += 0x1010
                branches += sampled
                self.records.append((at, self.event.sample(tid=tid, time=at, cpu=cpu, branches=[(a, b, 2) for a, b in reversed(sampled)])))
            self.records.append((end, self.event.switch(True, tid=tid, time=end, cpu=cpu, preempt=preempt)))
            self.expected.setdefault(str(cpu), []).append((tid, seconds(start), seconds(end), PREEMPTED if preempt else BLOCKED, branches))

    def capture(self):
        # as the kernel hands it over: a buffer a CPU, one behind the other
        return perf.file_mode([self.event], self.event.comm("prog") + b"".join(record for _, record in sorted(self.records)))


@case("random schedules come back CPU by CPU")
def schedules():
    for seed in range(12):
        schedule = Schedule(seed)
        result = view(import_bytes(schedule.capture()), "-n", "100000")
        equal(result.status, 0, "status")
        cpus, rest = parse(result.out.decode())
        equal(cpus, schedule.expected, "seed %d" % seed)
        equal(list(cpus), sorted(cpus), "order of the CPUs")
        equal(rest, [], "entries without a CPU")


@case("the newest of each CPU, as many as asked for; of one thread; of one function")
def filters():
    schedule = Schedule(99)
    trace = import_bytes(schedule.capture())
    cpus, _ = parse(view(trace, "-n", "7").out.decode())
    for cpu, stretches in cpus.items():
        whole = schedule.expected[cpu]
        equal([s[:4] for s in stretches], [s[:4] for s in whole[-len(stretches):]], "stretches of CPU " + cpu)
        # every sample has a gap before it, which counts as an entry
        shown = sum((s[4] for s in stretches), [])
        all_of_it = sum((s[4] for s in whole), [])
        check(len(shown) <= 7 and shown == all_of_it[len(all_of_it) - len(shown):], "branches of CPU %s: %s" % (cpu, shown))
    cpus, _ = parse(view(trace, "-n", "100000", "--thread", "101").out.decode())
    wanted = {cpu: [s for s in stretches if s[0] == 101] for cpu, stretches in schedule.expected.items()}
    equal(cpus, {cpu: stretches for cpu, stretches in wanted.items() if stretches}, "one thread")
    result = view(trace, "--function", "nothing_of_that_name")
    equal((result.status, result.out), (1, b""), "a function that is nowhere")
    result = view(trace, "--thread", "77777")
    equal((result.status, result.err.partition(b": the trace has ")[0]), (1, b"btview: no task or thread 77777"), "a thread that is nowhere")


@case("switches of a whole system: the other side of the switch is no task of ours")
def cpu_wide():
    event = perf.Event(*EVENT, ids=[1])
    data = b"".join([event.switch_cpu_wide(False, other=(0, 0), time=1000, cpu=5), event.sample(time=1500, cpu=5, branches=[(0x10, 0x20, 2)]),
                     event.switch_cpu_wide(True, other=(200, 201), time=2000, cpu=5, preempt=True),
                     event.switch_cpu_wide(False, other=(100, 100), pid=200, tid=201, time=2000, cpu=5),
                     event.switch_cpu_wide(True, other=(0, 0), pid=200, tid=201, time=2500, cpu=5),
                     event.switch_cpu_wide(False, other=(200, 201), pid=0, tid=0, time=2500, cpu=5)])
    cpus, _ = parse(view(import_bytes(perf.file_mode([event], data))).out.decode())
    equal(cpus, {"5": [(100, seconds(1000), seconds(2000), PREEMPTED, [(0x10, 0x20)]), (201, seconds(2000), seconds(2500), BLOCKED, [])]}, "CPU 5")


@case("arrivals and departures that were lost are told as unknown")
def lost():
    event = perf.Event(*EVENT, ids=[1])
    data = b"".join([event.switch(True, time=1000, cpu=0), event.switch(False, time=2000, cpu=1), event.lost(3, time=2500),
                     event.switch(False, time=3000, cpu=2), event.sample(time=3100, cpu=2, branches=[(0x10, 0x20, 2)]),
                     event.switch(True, time=4000, cpu=2)])
    cpus, rest = parse(view(import_bytes(perf.file_mode([event], data))).out.decode())
    equal(cpus, {"0": [(100, "?", seconds(1000), BLOCKED, [])], "1": [(100, seconds(2000), "?", "departs: when is not in the trace", [])],
                 "2": [(100, seconds(3000), seconds(4000), BLOCKED, [(0x10, 0x20)])]}, "CPUs")


@case("samples that name their CPU are enough; those that do not have no place")
def samples_only():
    event = perf.Event(*EVENT, ids=[1])
    data = event.sample(time=1000, cpu=1, branches=[(0x10, 0x20, 2)]) + event.sample(tid=101, time=2000, cpu=0, branches=[(0x30, 0x40, 2)])
    cpus, rest = parse(view(import_bytes(perf.file_mode([event], data))).out.decode())
    equal(cpus, {"0": [(101, None, seconds(2000), "is sampled", [(0x30, 0x40)])], "1": [(100, None, seconds(1000), "is sampled", [(0x10, 0x20)])]}, "CPUs")
    nowhere = perf.Event(*[f for f in EVENT if f != "cpu"], ids=[1])
    with_cpu = perf.Event(*EVENT, ids=[2])
    data = with_cpu.sample(time=500, cpu=1, branches=[(0x50, 0x60, 2)]) + nowhere.sample(tid=102, time=1000, branches=[(0x10, 0x20, 2)])
    cpus, rest = parse(view(import_bytes(perf.file_mode([nowhere, with_cpu], data))).out.decode())
    equal(list(cpus), ["1"], "CPUs")
    equal(rest, [("102", "2", "2")], "entries without a CPU: the branch and the gap before it")


@case("a trace without CPUs and times says so")
def nothing():
    event = perf.Event("ip", "tid", "branches", sample_id_all=False)
    for trace in (import_bytes(perf.file_mode([event], event.sample(branches=[(0x10, 0x20, 2)]))), record([build("status.S", *BARE)]).trace):
        result = view(trace)
        equal((result.status, result.out), (1, b""), "status and output")
        equal(result.err.decode().count("\n"), 1, "lines on stderr: " + result.err.decode())
        check(b"does not tell when a task ran where" in result.err, result.err.decode())


def json_view(trace, *options):
    result = execute([BTVIEW, "--json", "--by", "cpu", *map(str, options), trace], cwd=TMP)
    equal(result.status, 0, "status of --json")
    found = json.loads(result.out)
    fits_schema(found, "cpus.schema.json")
    return found


ENDINGS = {"blocked": BLOCKED, "preempted": PREEMPTED, "sampled": "is sampled", "exited": "ends", "lost": "departs: when is not in the trace"}


def of_json(found):
    """The same form as parse() gives."""
    tids = {task["task"]: task["tid"] for task in found["tasks"]}
    time = lambda text: "?" if text is None else seconds(int(text))
    cpus = {}
    for cpu in found["cpus"]:
        name = "unknown" if cpu["cpu"] is None else str(cpu["cpu"])
        for row in cpu["stretches"]:
            s = row["stretch"]
            branches = [(int(b["from"]["addr"], 16), int(b["to"]["addr"], 16)) for b in row["branches"]]
            start = None if s["start"] is None and s["ending"] == "sampled" else time(s["start"])
            cpus.setdefault(name, []).append((tids[s["task"]], start, time(s["end"]), ENDINGS[s["ending"]], branches))
    return cpus


@case("the JSON fits its schema and says what the text says")
def as_json():
    for seed in range(3):
        schedule = Schedule(seed)
        trace = import_bytes(schedule.capture())
        equal(of_json(json_view(trace)), schedule.expected, "seed %d" % seed)
        for options in (("-n", 7), ("-n", 100000, "--thread", 101)):
            equal(of_json(json_view(trace, *options)), parse(view(trace, *options).out.decode())[0], "seed %d, %s" % (seed, options))
    event = perf.Event(*[f for f in EVENT if f != "cpu"], ids=[1])
    data = event.switch(True, time=1000) + event.switch(False, tid=101, time=2000) + event.sample(tid=102, time=3000, branches=[(0x10, 0x20, 2)])
    found = json_view(import_bytes(perf.file_mode([event], data)))
    equal(of_json(found), {"unknown": [(100, "?", seconds(1000), BLOCKED, []), (101, seconds(2000), "?", ENDINGS["lost"], [])]}, "unknown CPU")
    equal([(row["task"], row["entries"]) for row in found["rest"]], [(3, 2)], "entries without a CPU")


@case("a recording from a branch trace store (simulated) tells of its switches: its branches, stretch by stretch, are the history")
def recorded():
    simulated = os.path.join(BUILD, "tests/simulated/btrec_simulated")
    trace = fresh("trace")
    argv = [simulated, "run", "-q", "--source", "bts", "--snap-exit", "always", "-o", trace, "--", build("conditionals.S", *BARE)]
    equal(execute(argv, cwd=TMP, env=dict(os.environ, BTREC_SIMULATED="preempt=50")).status, 0, "status of the recording")
    found = json_view(trace)
    rows = [row for cpu in found["cpus"] for row in cpu["stretches"]]
    check(len(rows) >= 3, "stretches: %d" % len(rows))
    rows.sort(key=lambda row: int(row["stretch"]["start"]))
    for before, after in zip(rows, rows[1:]):
        check(int(before["stretch"]["end"]) <= int(after["stretch"]["start"]), "a task is on two CPUs at once")
    whole = [(b["from"]["addr"], b["to"]["addr"]) for b in report(trace)["branches"]]
    check(len(whole) > 100, "branches: %d" % len(whole))
    equal([(b["from"]["addr"], b["to"]["addr"]) for row in rows for b in row["branches"]], whole, "branches")


@case("usage")
def usage():
    trace = import_bytes(Schedule(1, stretches=2).capture())
    equal(execute([BTVIEW, "--by", "cpu", trace]).status, 0, "without --stdio")
    equal(execute([BTVIEW, "--by", "thread", trace]).status, 2, "another word")
    for option in (["--by", "cpu"], ["-n", "3"], ["--thread", "1"], ["--snapshot", "1"], ["--function", "main"]):
        equal(execute([BTVIEW, "--export", "perf-script", *option, trace]).status, 2, "%s with --export" % option[0])


@case("a real capture with switches")
def fixture():
    folder = os.environ.get("BTREC_FIXTURES", os.path.join(HERE, "..", "..", "..", "shared", "fixtures"))
    path = os.path.join(folder, "perf-data", "context-switch-namespaces.perf.data")
    if not os.path.exists(path):
        raise Skip("no fixtures in " + os.path.normpath(folder))
    trace = fresh("trace")
    equal(execute([BTREC, "import", "-q", "-o", trace, path]).status, 0, "import")
    cpus, _ = parse(view(trace).out.decode())
    equal(cpus, {"unknown": [(5969, "?", "1056482.247756146", BLOCKED, []), (5969, "1056482.248805312", "1056482.248919966", "ends", [])]}, "CPUs")


main()
