#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# perf.data with AUX area data: Intel PT and BTS. Recorded histories, written as a processor and perf would have written them, come out of
# the trace as they were; what cannot be decoded is a gap, and a note names the file that lacks.
from e2e import *
import perf_made as perf

PT_STREAM = os.path.join(BUILD, "tests/tools/pt_stream")
FIELDS = ("identifier", "ip", "tid", "time", "cpu")


def event(**options):
    return perf.Event(*FIELDS, ids=[1], name="intel_pt//u", pmu=perf.AUX_PMU, config=perf.PT_CONFIG, **options)


class Program:
    """A recorded program without libraries; its history as a stream."""

    def __init__(self, source, pid):
        self.path, self.pid = build(source, *BARE), pid
        self.recorded = record([self.path], ["--backend", "step", "--snap-exit", "always"]).trace

    def maps(self, e, time=1, build_id=None):
        data = b""
        for line in execute([BTREC, "dump", self.recorded]).out.decode(errors="replace").splitlines():
            row = dict(re.findall(r"(\w+)=(\"[^\"]*\"|\S+)", line))
            if not line.startswith("MAP ") or row["path"].strip('"') != self.path or int(row["prot"]) != 5:
                continue
            own = bytes.fromhex(re.search(r"build_id=\[\d+\]([0-9a-f]+)", line).group(1))
            start, end = int(row["start"], 16), int(row["end"], 16)
            data += e.mmap2(start, end - start, int(row["offset"], 16), self.path, pid=self.pid, time=time, build_id=build_id or own)
        check(data, "no code mapping with a build-id in the recording")
        return data

    def stream(self, seed, flags):
        path = fresh("stream")
        result = execute([PT_STREAM, "encode", self.recorded, "1", str(seed), flags, path])
        equal(result.status, 0, "encoding (%s)" % result.err.decode(errors="replace"))
        with open(path, "rb") as file:
            return file.read(), [line.split() for line in result.out.decode().splitlines()]


def import_bytes(data):
    path, trace = fresh("capture"), fresh("trace")
    with open(path, "wb") as file:
        file.write(data)
    result = execute([BTREC, "import", "-o", trace, path])
    equal(result.status, 0, "status of import (%s)" % result.err.decode(errors="replace"))
    return trace


def history(trace, pid):
    """The entries of the process of that number: [kind, taken, from, to]."""
    tasks = {}
    for line in execute([BTREC, "dump", trace]).out.decode(errors="replace").splitlines():
        if line.startswith("TASK "):
            row = dict(re.findall(r"(\w+)=(\S+)", line))
            tasks[int(row["task"])] = int(row["pid"])
    return [[row[2], str(row[3]), "%x" % row[4], "%x" % row[5]] for row in branches(trace) if tasks[row[0]] == pid]


def info(trace):
    return execute([BTREC, "info", trace]).out.decode()


def same(got, expected):
    for number, (a, b) in enumerate(zip(got, expected)):
        equal(a, b, "entry %d" % number)
    equal(len(got), len(expected), "entries (more: %s, missing: %s)" % (got[len(expected):], expected[len(got):]))


@case("Intel PT of one thread, without times")
def one_thread():
    program = Program("conditionals.S", 100)
    e = event()
    for flags in ("n", "cipl"):
        data, expected = program.stream(1, flags)
        records = perf.auxtrace_info(1, timed=False) + e.comm("prog") + program.maps(e) + e.itrace_start() + e.aux(0, len(data), time=5)
        trace = import_bytes(perf.file_mode([e], records + perf.auxtrace(data, tid=100, cpu=-1)))
        same(history(trace, 100), expected)
        check('branches from "pt"' in info(trace), info(trace))
        functions = {b["from"]["function"] for b in report(trace)["branches"] if b["from"]["function"]}
        check(functions, "no function is named")


@case("Intel PT in pieces: what follows is put together, what overlaps is taken once, what does not follow is a gap")
def pieces():
    program = Program("conditionals.S", 100)
    e = event()
    data, expected = program.stream(1, "cp")
    head = perf.auxtrace_info(1, timed=False) + e.comm("prog") + program.maps(e) + e.itrace_start()
    cut, other = len(data) // 3, len(data) // 2
    joined = perf.auxtrace(data[:other], 0, 0, 100, -1) + perf.auxtrace(data[cut:], cut, 0, 100, -1)
    same(history(import_bytes(perf.file_mode([e], head + joined)), 100), expected)
    parted = perf.auxtrace(data[:cut], 0, 0, 100, -1) + perf.auxtrace(data[other:], other, 0, 100, -1)
    got = history(import_bytes(perf.file_mode([e], head + parted)), 100)
    gaps = [i for i, entry in enumerate(got) if entry[0] == "gap"]
    check(gaps, "no gap between pieces")
    same(got[:gaps[0]], expected[:gaps[0]])
    behind = got[gaps[-1] + 1:]
    same(behind, expected[len(expected) - len(behind):])
    check(len(behind) > 10, "nothing behind the gap")


def with_one_gap(got, expected, what):
    """What is there before the gap and behind it happened, in order; the gap is neither first nor last."""
    gaps = [i for i, entry in enumerate(got) if entry[0] == "gap"]
    equal([got[i][3] for i in gaps], ["6"], what + ": the gaps' reasons")
    same(got[:gaps[0]], expected[:gaps[0]])
    behind = got[gaps[0] + 1:]
    same(behind, expected[len(expected) - len(behind):])
    check(gaps[0] > 3 and len(behind) > 3, "%s: the gap is entry %d of %d" % (what, gaps[0], len(got)))


@case("Intel PT: what the kernel says is missing is a gap where it was, and a note")
def missing():
    program = Program("conditionals.S", 100)
    e = event()
    data, expected = program.stream(1, "pi")
    for flags, words in ((1, "was too small 1 times"), (4, "was not recorded in whole 1 times"), (8, "was not recorded in whole 1 times")):
        # By the time of the record,
        head = e.comm("prog", time=1) + program.maps(e) + e.itrace_start(time=2, cpu=1) + e.aux(0, len(data), flags, time=(1 << 32) + 2500, cpu=1)
        trace = import_bytes(perf.file_mode([e], perf.auxtrace_info(1) + head + perf.auxtrace(data, 0, 0, 0, 1)))
        with_one_gap(history(trace, 100), expected, "timed, flags %d" % flags)
        check(words in info(trace), info(trace))
        # or by its place in the stream,
        cut = len(data) // 2
        head = e.comm("prog") + program.maps(e) + e.itrace_start() + e.aux(0, cut, flags, time=5) + e.aux(cut, len(data) - cut, time=6)
        trace = import_bytes(perf.file_mode([e], perf.auxtrace_info(1, timed=False) + head + perf.auxtrace(data, tid=100, cpu=-1)))
        with_one_gap(history(trace, 100), expected, "without times, flags %d" % flags)
        check(words in info(trace), info(trace))
    # or at its end.
    head = e.comm("prog") + program.maps(e) + e.itrace_start() + e.aux(0, len(data), 1, time=5)
    trace = import_bytes(perf.file_mode([e], perf.auxtrace_info(1, timed=False) + head + perf.auxtrace(data, tid=100, cpu=-1)))
    same(history(trace, 100), expected + [["gap", "0", "0", "6"]])


@case("Intel PT of a thread that the first records say nothing of is its process's")
def thread_told_late():
    program = Program("conditionals.S", 100)
    e = event()
    data, expected = program.stream(1, "pi")
    told = e.comm("prog", tid=100, time=10) + e.comm("prog", tid=101, time=11) + program.maps(e, time=12) + e.itrace_start(tid=101, time=13)
    tail = perf.auxtrace(data, tid=101, cpu=-1)
    # An AUX record comes first, which says that something is missing,
    trace = import_bytes(perf.file_mode([e], perf.auxtrace_info(1, timed=False) + e.aux(0, len(data) // 2, 1, tid=101, time=5) + told + tail))
    with_one_gap(history(trace, 100), expected, "without times")
    # or one of another process.
    trace = import_bytes(perf.file_mode([e], perf.auxtrace_info(1) + e.comm("other", 200, 200, 5) + told + tail))
    same(history(trace, 100), expected)


@case("Intel PT: a snapshot without times of which something is missing is told as it is, with a note")
def snapshot():
    program = Program("conditionals.S", 100)
    e = event()
    data, expected = program.stream(1, "n")
    for flags in (1 | 2, 4 | 2):
        head = e.comm("prog") + program.maps(e) + e.itrace_start() + e.aux(0, len(data), flags, time=5)
        trace = import_bytes(perf.file_mode([e], perf.auxtrace_info(1, timed=False) + head + perf.auxtrace(data, tid=100, cpu=-1)))
        same(history(trace, 100), expected)
        check("data are missing there" in info(trace), info(trace))


@case("Intel PT of one CPU, without times: of one thread its history, of several nobody's, and a note")
def no_times():
    program = Program("conditionals.S", 100)
    e = event()
    data, expected = program.stream(1, "n")
    head = perf.auxtrace_info(1, timed=False) + e.comm("prog", time=1) + program.maps(e) + e.itrace_start(time=2, cpu=3)
    tail = perf.auxtrace(data, 0, 3, 0, 3)
    trace = import_bytes(perf.file_mode([e], head + e.switch(False, time=3, cpu=3) + tail))
    same(history(trace, 100), expected)
    trace = import_bytes(perf.file_mode([e], head + e.switch(False, 200, 200, time=3, cpu=3) + tail))
    equal(history(trace, 100) + history(trace, 200), [], "entries")
    check("Intel PT of CPU 3 has no times" in info(trace), info(trace))


@case("Intel PT of one CPU, on which two processes run in turn: switches and times tell whose branches they are")
def two_processes():
    one, two = Program("conditionals.S", 100), Program("handlers.S", 200)
    e = event()
    for flags in ("n", "cil"):
        first, expected_one = one.stream(1, flags)
        second, expected_two = two.stream(2, flags)
        stream = first + second
        data = perf.auxtrace_info(1)
        data += e.comm("one", 100, 100, 1) + e.comm("two", 200, 200, 1) + one.maps(e) + two.maps(e)
        data += e.itrace_start(100, 100, 10, 3)
        data += e.switch(True, 100, 100, (2 << 32) - 10, 3) + e.switch(False, 200, 200, (2 << 32) - 5, 3)
        data += e.switch(True, 200, 200, 3 << 32, 3)
        trace = import_bytes(perf.file_mode([e], data + perf.auxtrace(stream, 0, 3, 0, 3)))
        same(history(trace, 100), expected_one)
        same(history(trace, 200), expected_two)
        # a pipe has the same
        trace = import_bytes(perf.pipe_mode([e], data + perf.auxtrace(stream, 0, 3, 0, 3)))
        same(history(trace, 200), expected_two)


@case("Intel PT of one CPU: what lacks of one process costs the others nothing, and nobody's code is that of who runs next")
def others_code():
    one, two = Program("conditionals.S", 100), Program("transfers.S", 200)
    e = event()
    first, expected_one = one.stream(1, "p")
    seed = next((seed for seed in range(2, 40) if two.stream(seed, "p")[0].count(perf.PSB) > 2), None)
    check(first.count(perf.PSB) > 1 and seed, "no synchronization points on the way")
    second, expected_two = two.stream(seed, "p")
    head = perf.auxtrace_info(1) + e.comm("one", 100, 100, 1) + e.comm("two", 200, 200, 1) + two.maps(e)
    tail = e.itrace_start(100, 100, 10, 3) + e.switch(True, 100, 100, (seed << 32) - 10, 3)
    tail += e.switch(False, 200, 200, (seed << 32) - 5, 3) + e.switch(True, 200, 200, seed + 1 << 32, 3)
    trace = import_bytes(perf.file_mode([e], head + one.maps(e, build_id=b"\x55" * 20) + tail + perf.auxtrace(first + second, 0, 3, 0, 3)))
    same(history(trace, 200), expected_two)
    equal([entry[0] for entry in history(trace, 100)], ["gap"], "entries of the process without code")
    check("Intel PT: 1 gaps" in info(trace), info(trace))
    # A stream that begins in the middle of user code, of a thread that is told of later than the first records are.
    middle = first[first.index(perf.PSB, 16):]
    trace = import_bytes(perf.file_mode([e], head + one.maps(e) + tail + perf.auxtrace(middle + second, 0, 3, 0, 3)))
    got = history(trace, 100)
    same(got, expected_one[len(expected_one) - len(got):])
    check(len(got) > 10, "%d entries" % len(got))
    same(history(trace, 200), expected_two)


@case("a mapping that comes later is known when its code runs")
def mapped_later():
    program = Program("conditionals.S", 100)
    e = event()
    data, expected = program.stream(1, "n")
    head = perf.auxtrace_info(1) + e.comm("prog", time=1) + e.itrace_start(time=2, cpu=1)
    tail = perf.auxtrace(data, 0, 0, 0, 1)
    early = import_bytes(perf.file_mode([e], head + program.maps(e, (1 << 32) + 500) + tail))
    same(history(early, 100), expected)
    # An event in between takes what came before the mapping: there is no code for it yet.
    late = import_bytes(perf.file_mode([e], head + e.switch(True, time=(1 << 32) + 5000, cpu=1) + program.maps(e, (1 << 32) + 6000) + tail))
    equal(history(late, 100)[0][0], "gap", "the first entry")


@case("code that is not at hand: a gap, and a note that names the file")
def no_code():
    program = Program("conditionals.S", 100)
    e = event()
    data, _ = program.stream(1, "p")
    records = perf.auxtrace_info(1, timed=False) + e.comm("prog") + program.maps(e, build_id=b"\x55" * 20) + e.itrace_start()
    trace = import_bytes(perf.file_mode([e], records + perf.auxtrace(data, tid=100, cpu=-1)))
    equal([entry[0] for entry in history(trace, 100)], ["gap"], "entries")
    check("the code of %s is not at hand" % program.path in info(trace), info(trace))


@case("samples among Intel PT stand in the history as they are, and have no branches of their own")
def samples_among():
    program = Program("conditionals.S", 100)
    e = event()
    data, expected = program.stream(1, "n")
    head = perf.auxtrace_info(1) + e.comm("prog", time=1) + program.maps(e) + e.itrace_start(time=2, cpu=1)
    head += e.sample(time=(1 << 32) + 3000, cpu=1) + e.sample(time=(1 << 32) + 5000, cpu=1)
    trace = import_bytes(perf.file_mode([e], head + perf.auxtrace(data, 0, 0, 0, 1)))
    same(history(trace, 100), expected)
    lines = btview("--export", "perf-script", trace).out.decode().splitlines()
    equal(len(lines), 2, "samples")
    check(all("/" not in line.split()[-1] for line in lines), "a sample got branches: %s" % short(lines))


def bts_bytes(rows):
    import struct
    return b"".join(struct.pack("<QQQ", source, target, 0x10) for source, target in rows)


@case("BTS: records of a thread, in the order of the AUX records that tell of them, with kinds from the code")
def bts():
    program = Program("conditionals.S", 100)
    taken = [row for row in branches(program.recorded) if row[3] and row[2] not in ("syscall", "async", "gap")]
    check(len(taken) > 100, "%d branches" % len(taken))
    e = event()
    data = bts_bytes([(row[4], row[5]) for row in taken])
    half = len(data) // 48 * 24
    records = perf.auxtrace_info(2) + e.comm("prog", time=1) + program.maps(e) + e.itrace_start(time=2)
    records += e.aux(0, half, time=10) + e.aux(half, len(data) - half, 1, time=20) + perf.auxtrace(data + bytes(24), tid=100, cpu=-1)
    trace = import_bytes(perf.file_mode([e], records))
    got = history(trace, 100)
    same([[row[0], row[2], row[3]] for row in got if row[0] != "gap"], [[row[2], "%x" % row[4], "%x" % row[5]] for row in taken])
    equal([row[0] for row in got if row[0] == "gap"], ["gap"], "gaps: the second piece was truncated")
    check('branches from "bts"' in info(trace), info(trace))
    # Between two of them lies the code that was run, with what was not taken.
    lines = execute([BRANCHES, "-i", trace]).out.decode().splitlines()
    check(sum(line == "i ?" for line in lines) < len(taken) // 10, "the code between branches is not known")


main()
