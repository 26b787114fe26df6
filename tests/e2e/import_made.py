#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Captures made here: every layout of perf.data that the kernel can be asked for, each quirk of the hardware, each fault of a file,
# the text of perf script. What comes out of the trace is what went in.
import random
import shutil
import subprocess
import time

from e2e import *
import perf_made as perf

EVENT = ("identifier", "ip", "tid", "time", "cpu", "branches")


def import_bytes(data, *options, status=0):
    path = fresh("capture")
    with open(path, "wb") as file:
        file.write(data)
    trace = fresh("trace")
    result = execute([BTREC, "import", *options, "-o", trace, path])
    equal(result.status, status, "status of import (%s)" % result.err.decode(errors="replace"))
    result.trace = trace
    check(status == 0 or not os.path.exists(trace), "a refused capture left a trace")
    return result


def export(trace):
    return btview("--export", "perf-script", trace).out.decode()


def dump(trace, kind):
    out = execute([BTREC, "dump", trace]).out.decode(errors="replace")
    return [line for line in out.splitlines() if line.startswith(kind + " ")]


TYPES = ["", "COND", "UNCOND", "IND", "CALL", "IND_CALL", "RET", "SYSCALL", "SYSRET", "COND_CALL", "COND_RET", "ERET", "IRQ", "SERROR", "NO_TX"]


def entry_text(entry):
    source, target, flags = entry
    prediction = "P" if flags & 2 else "M" if flags & 1 else "-"
    return "0x%x/0x%x/%s/%s/%s/%d/%s" % (source, target, prediction, "X" if flags & 4 else "-", "A" if flags & 8 else "-",
                                       flags >> 4 & 0xffff, TYPES[flags >> 20 & 15])


def line_words(event, comm, sample, name=None):
    head = [comm, "%d/%d" % (sample["pid"], sample["tid"])]
    if sample["time"]:
        head.append("%d.%06d:" % (sample["time"] // 10**9, sample["time"] // 1000 % 10**6))
    return head + [(name or event.name) + ":", "%x" % sample["ip"]] + [entry_text(e) for e in sample["branches"]]


def words(text):
    return [" ".join(line.split()).replace("/ /", "/").split() for line in text.splitlines()]


def random_entries(rng, count):
    entries = []
    for _ in range(count):
        kernel = rng.random() < 0.3
        base = 0xffffffff81000000 if kernel else 0x401000
        entries.append((base + rng.randrange(1 << 20), base + rng.randrange(1 << 20),
                        rng.choice([1, 2, 0]) | rng.choice([0, 0, 4, 8]) | rng.choice([0, 7, 65535]) << 4 | rng.choice([0, 0, 1, 4, 6, 7, 12]) << 20))
    return entries


def random_layout(rng):
    fields = {"ip", "tid", "time", "branches"} | {f for f in perf.FIELDS if rng.random() < 0.5}
    return perf.Event(*fields, branch_type=rng.choice([0, perf.HW_INDEX, perf.COUNTERS, perf.HW_INDEX | perf.COUNTERS]),
                      read_format=rng.randrange(32), ids=[rng.randrange(1, 1 << 40)], sample_id_all=rng.random() < 0.8,
                      regs=rng.choice([0xff0fff, 0x100, 0]), size=rng.choice([104, 112, 120, 136]), name="some:event/x=1/u")


@case("every field of the sample layout may come before or behind the branches")
def layouts():
    for seed in range(40):
        rng = random.Random(seed)
        event = random_layout(rng)
        samples, data = [], b"".join([event.comm("prog"), event.mmap(0x400000, 0x10000, 0, "/bin/prog")])
        for number in range(5):
            sample = dict(pid=100, tid=100, time=10**9 + number * 12345, ip=rng.randrange(1 << 47), branches=random_entries(rng, rng.choice([0, 1, 5, 32])))
            regs = [rng.randrange(1 << 64) for _ in range(bin(event.regs).count("1"))] if rng.random() < 0.7 else None
            data += event.sample(cpu=number, regs=regs, stack=rng.choice([b"", b"stackful" * 4]), used=8,
                                 counters=[rng.randrange(1 << 64) for _ in sample["branches"]], **sample)
            samples.append(sample)
        for make in (perf.file_mode, perf.pipe_mode):
            trace = import_bytes(make([event], data)).trace
            equal([l for l in words(export(trace))], [line_words(event, "prog", s) for s in samples], "seed %d, %s" % (seed, make.__name__))


@case("several events are told apart by their ids")
def events():
    for fields in (EVENT, ("ip", "tid", "time", "id", "cpu", "branches")):
        first = perf.Event(*fields, ids=[11, 12], name="one")
        second = perf.Event(*[f for f in fields if f != "branches"], ids=[21], name="two:u")
        data = first.comm("prog") + first.sample(time=10**9, branches=[(1, 2, 2)]) + second.sample(time=10**9 + 1000) + first.sample(time=10**9 + 2000, branches=[(3, 4, 1)])
        for make in (perf.file_mode, perf.pipe_mode):
            lines = words(export(import_bytes(make([first, second], data)).trace))
            equal([l[3] for l in lines], ["one:", "two:u:", "one:"], "events")
            equal([l[5:] for l in lines], [["0x1/0x2/P/-/-/0/"], [], ["0x3/0x4/M/-/-/0/"]], "branches")


@case("samples of an event that nobody describes are left out, and counted")
def unknown_event():
    first, second, other = (perf.Event(*EVENT, ids=[n], name="event%d" % n) for n in (11, 21, 31))
    data = first.sample(time=1, branches=[(1, 2, 2)]) + other.sample(time=2) + second.sample(time=3) + other.sample(time=4)
    for make in (perf.file_mode, perf.pipe_mode):
        trace = import_bytes(make([first, second], data)).trace
        equal([l[3] for l in words(export(trace))], ["event11:", "event21:"], "events")
        check("2 samples are of events that the capture does not describe" in text(trace), "no note")


@case("events that no name is told of are named by their attributes, as perf does")
def made_names():
    user = perf.EXCLUDE_KERNEL | perf.EXCLUDE_HV
    named = [("cycles", 0), ("cycles", perf.EXCLUDE_GUEST), ("cycles:u", user), ("cycles:uH", user | perf.EXCLUDE_GUEST), ("cycles:pp", 2 * perf.PRECISE),
             ("cycles:ppH", 2 * perf.PRECISE | perf.EXCLUDE_GUEST), ("cycles:G", perf.EXCLUDE_HOST), ("cycles:kh", perf.EXCLUDE_USER),
             ("cycles:uhpppH", perf.EXCLUDE_KERNEL | 3 * perf.PRECISE | perf.EXCLUDE_GUEST)]
    events = [perf.Event(*EVENT, ids=[n + 1], flags=flags) for n, (_, flags) in enumerate(named)]
    data = b"".join(e.sample(time=10**9 + n, branches=[(1, 2, 2)]) for n, e in enumerate(events))
    lines = words(export(import_bytes(perf.pipe_mode_undescribed(events, data)).trace))
    equal([l[3] for l in lines], [name + ":" for name, _ in named], "names")


@case("tracepoints in pipes are named by their formats")
def tracepoints():
    numbers = [314, 7, 314, 99, 314]
    events = [perf.Event(*EVENT, ids=[n + 1], pmu=perf.TRACEPOINT if n < 4 else 0, config=number) for n, number in enumerate(numbers)]
    data = b"".join(e.sample(time=10**9 + n, branches=[(1, 2, 2)]) for n, e in enumerate(events))
    formats = perf.tracing_data([("sched", ("sched_switch", 314), ("sched_wakeup", 313)), ("syscalls", ("sys_enter_read", 7))])
    names = ["sched:sched_switch:", "syscalls:sys_enter_read:", "sched:sched_switch:", "type", "type"]
    for cut, expected in ((len(formats), names), (len(formats) - 70, names[:1] + ["type"] + names[2:]), (60, ["type"] * 5)):
        lines = words(export(import_bytes(perf.pipe_mode_undescribed(events, perf.tracing_data_record(formats[:cut]) + data)).trace))
        equal([l[3] for l in lines], expected, "names of %d bytes" % cut)


@case("names with slashes are whole; the idle tasks are called swapper")
def names_of_tasks():
    event = perf.Event(*EVENT, ids=[1], name="cycles")
    data = event.comm("kworker/3:0", pid=9, tid=9) + event.comm("/", pid=8, tid=8) + event.fork(10, 10, 9, 9)
    data += event.comm("a/b", pid=7, tid=7) + event.comm("c/d", pid=7, tid=7, exec=True)
    data += b"".join(event.sample(pid=pid, tid=pid, time=10**9 + pid, branches=[(1, 2, 2)]) for pid in (0, 7, 8, 9, 10))
    trace = import_bytes(perf.pipe_mode([event], data)).trace
    equal([l[:2] for l in words(export(trace))], [["swapper", "0/0"], ["c/d", "7/7"], ["/", "8/8"], ["kworker/3:0", "9/9"], ["kworker/3:0", "10/10"]], "names")


@case("bits of the flags that nobody knows, counters and the hardware's index are kept")
def words_kept():
    event = perf.Event(*EVENT, branch_type=perf.HW_INDEX | perf.COUNTERS, ids=[1])
    unknown = 0x7fffffff << 33
    data = event.sample(time=1, branches=[(1, 2, unknown | 2), (3, 4, 2 | 5 << 4)], counters=[0x123, 0], hw_index=41)
    trace = import_bytes(perf.file_mode([event], data)).trace
    # oldest first: the gap before the run and the older entry have none (2 times 0), then one with the word
    flags, counters = dump(trace, "BRANCH_WORDS")
    leb = bytearray()
    for value in (2, 0, 1, unknown):
        while value > 127:
            leb.append(value & 127 | 128)
            value >>= 7
        leb.append(value)
    check("first=0x0 count=0x3 what=0 words=[%d]%s" % (len(leb), leb.hex()) in flags, flags)
    check("what=1 words=[5]020001a302" in counters, counters)
    check(" hw_index=0x2a" in dump(trace, "SNAPSHOT")[0], "hardware's index")


@case("without trailers and times records are taken in their order")
def old_kernel():
    event = perf.Event("ip", "tid", "branches", sample_id_all=False, size=80)
    data = event.sample(pid=7, tid=8, branches=[(1, 2, 0)]) + event.comm("late", 7, 8) + event.sample(pid=7, tid=8, branches=[])
    trace = import_bytes(perf.file_mode([event], data, features=False)).trace
    equal([l[:2] for l in words(export(trace))], [[":8", "7/8"], ["late", "7/8"]], "threads")


@case("rounds: records of several buffers are put in order")
def rounds():
    event = perf.Event(*EVENT, ids=[1])
    times = [[5, 9, 12], [3, 7, 11], [13, 20], [14, 15]]
    data = b""
    for pair in (times[:2], times[2:]):
        for cpu, buffer in enumerate(pair):
            data += b"".join(event.sample(time=t * 10**9, cpu=cpu, branches=[(t, t, 2)]) for t in buffer)
        data += perf.finished_round()
    trace = import_bytes(perf.file_mode([event], data)).trace
    equal([int(l[2].split(".")[0]) for l in words(export(trace))], sorted(sum(times, [])), "order")


@case("quirk: slots that are empty are kept as such")
def empty_slots():
    event = perf.Event(*EVENT, ids=[1])
    entries = [(0x10, 0x20, 2), (0, 0, 2), (0, 0, 2), (0, 0, 0), (0x30, 0x40, 1), (0, 0, 0)]
    trace = import_bytes(perf.file_mode([event], event.sample(time=1000, branches=entries))).trace
    equal(words(export(trace))[0][-6:], [entry_text(e) for e in entries], "export")
    data = report(trace)
    equal([b["from"]["addr"] for b in data["branches"]], ["0x30", "0x10"], "branches")
    equal([g["reason"] for g in data["gaps"]], ["unsampled", "empty", "empty", "empty"], "gaps")


@case("lost records: a gap of its own and a note")
def lost():
    event = perf.Event(*EVENT, ids=[1])
    data = event.sample(time=1000, branches=[(1, 2, 0)]) + event.lost(17, time=2000) + event.sample(time=3000, branches=[(3, 4, 0)]) + \
        event.sample(time=4000, branches=[(5, 6, 0)])
    trace = import_bytes(perf.file_mode([event], data)).trace
    equal([g["reason"] for g in report(trace)["gaps"]], ["unsampled", "lost", "unsampled"], "gaps")
    check("the kernel lost 17 records" in text(trace), "no note")


@case("threads, processes, names, exits")
def tasks():
    event = perf.Event(*EVENT, ids=[1])
    s = lambda pid, tid, time: event.sample(pid=pid, tid=tid, time=time, branches=[(1, 2, 0)])
    data = b"".join([event.comm("parent", 10, 10, 1), event.mmap2(0x400000, 0x1000, 0, "/bin/parent", 10, 2), s(10, 10, 3), event.fork(10, 11, 10, 10, 4),
                     s(10, 11, 5), event.fork(20, 20, 10, 10, 6), s(20, 20, 7), event.comm("child", 20, 20, 8, exec=True),
                     event.mmap2(0x500000, 0x1000, 0, "/bin/child", 20, 9), s(20, 20, 10), event.exit(20, 20, 11), event.fork(20, 20, 10, 10, 12),
                     s(20, 20, 13)])
    trace = import_bytes(perf.file_mode([event], data)).trace
    equal([l[:2] for l in words(export(trace))],
          [["parent", "10/10"], ["parent", "10/11"], ["parent", "20/20"], ["child", "20/20"], ["parent", "20/20"]], "names")
    data = report(trace)
    equal([(p["pid"], p["task"], p["command"]) for p in data["processes"]], [(10, 1, "parent"), (20, 3, "child"), (20, 4, "parent")], "processes")
    maps = [re.search(r"space=(\d+) epoch=(\d+).*path=\"([^\"]*)", line).groups() for line in dump(trace, "MAP")]
    equal([m[2] for m in maps], ["/bin/parent", "/bin/child"], "mappings")
    check(maps[0][0] != maps[1][0], "exec begins a new address space")


@case("a process that ran already has mappings of its own, and not those of its parent today")
def ran_already():
    event = perf.Event(*EVENT, ids=[1])

    def place(made):
        data = event.comm("bash", 50, 50) + event.mmap2(0x400000, 0x100000, 0, "/bin/bash", 50) + event.fork(60, 60, 50, 50, made=made) + \
            event.comm("other", 60, 60) + event.mmap2(0x700000, 0x1000, 0, "/bin/other", 60) + \
            event.sample(60, 60, 5, ip=0x410000, branches=[(0x410000, 0x700010, 0)])
        return [(b["from"]["module"], b["to"]["module"]) for b in report(import_bytes(perf.file_mode([event], data)).trace)["branches"]]

    equal(place(True), [(None, "/bin/other")], "modules")
    equal(place(False), [("/bin/bash", "/bin/other")], "modules of a forked one")


@case("words of branches are kept where entries do not say them already")
def no_words():
    event = perf.Event(*EVENT, ids=[1])
    # What an entry says itself: predicted or not, and cycles.
    plain = [(1, 2, perf.PREDICTED), (3, 4, perf.MISPREDICTED | 7 << 4)]
    for stack, want in ((plain, 0), (plain + [(5, 6, 1 << 40)], 1)):
        trace = import_bytes(perf.file_mode([event], event.sample(branches=stack))).trace
        equal(len(dump(trace, "BRANCH_WORDS")), want, "records of words")


@case("mappings that come between samples belong to a new epoch")
def epochs():
    event = perf.Event(*EVENT, ids=[1])
    data = event.mmap(0x400000, 0x1000, 0, "/bin/a", time=1) + event.sample(time=2, branches=[(0x400010, 0x400020, 0)]) + \
        event.mmap(0x400000, 0x1000, 0, "/bin/b", time=3) + event.sample(time=4, branches=[(0x400010, 0x400020, 0)])
    data = report(import_bytes(perf.file_mode([event], data)).trace)
    equal([b["from"]["module"] for b in data["branches"]], ["/bin/a", "/bin/b"], "modules")


@case("switches, AUX data, records of unknown types")
def others():
    event = perf.Event(*EVENT, ids=[1])
    data = event.switch(False, time=1, cpu=3) + perf.auxtrace(b"\x02\x82" * 512) + perf.record(63, b"12345678") + perf.record(99, b"") + \
        event.switch(True, time=2, cpu=3, preempt=True) + event.sample(time=3)
    trace = import_bytes(perf.file_mode([event], data)).trace
    equal([re.search(r"cpu=(\d+) what=(\d)", l).groups() for l in dump(trace, "SCHED")], [("4", "0"), ("4", "2")], "switches")
    check("1024 bytes of AUX area data" in text(trace), "no note about AUX data")


def raw_zstd(data, window=20):
    """One frame with raw blocks (RFC 8878): the packing does not matter, the framing does."""
    out = struct_pack("<IBB", 0xfd2fb528, 0, window - 10 << 3)
    for at in range(0, len(data), 1000):
        block = data[at:at + 1000]
        out += struct_pack("<I", (at + 1000 >= len(data)) | len(block) << 3)[:3] + block
    return out


def struct_pack(*args):
    import struct
    return struct.pack(*args)


@case("compressed records: one stream, cut anywhere")
def zstd():
    event = perf.Event(*EVENT, ids=[1])
    rng = random.Random(5)
    samples = [dict(pid=1, tid=1, time=10**9 + n * 1000, ip=n, branches=random_entries(rng, 20)) for n in range(50)]
    inner = event.comm("prog", 1, 1) + b"".join(event.sample(**s) for s in samples)
    packed = raw_zstd(inner)
    cuts = sorted(rng.sample(range(1, len(packed)), 9))
    chunks = [packed[a:b] for a, b in zip([0] + cuts, cuts + [len(packed)])]
    trace = import_bytes(perf.file_mode([event], perf.compressed(chunks))).trace
    equal(words(export(trace)), [line_words(event, "prog", s) for s in samples], "samples")


@case("build-ids from either place name the module")
def build_ids():
    event = perf.Event(*EVENT, ids=[1])
    mine, table = bytes(range(1, 21)), bytes(range(21, 41))
    data = event.mmap2(0x400000, 0x1000, 0, "/bin/own", time=1, build_id=mine) + event.mmap2(0x500000, 0x1000, 0, "/bin/table", time=1) + \
        event.sample(time=2, branches=[(0x400010, 0x500010, 0)])
    for make in (perf.file_mode, perf.pipe_mode):
        branch = report(import_bytes(make([event], data, build_ids=[(table, "/bin/table")])).trace)["branches"][0]
        equal((branch["from"]["build_id"], branch["to"]["build_id"]), (mine.hex(), table.hex()), make.__name__)


@case("user registers and stack of a sample are a thread of its snapshot")
def registers():
    event = perf.Event(*EVENT, "regs", "stack", ids=[1], regs=1 << 7 | 1 << 8 | 1 << 16)
    data = event.sample(time=1, regs=[0x7ffc1000, 0x401234, 88], stack=b"A" * 64, used=16)
    trace = import_bytes(perf.file_mode([event], data)).trace
    registers = report(trace)["threads"][0]["registers"]
    equal((registers["rsp"], registers["rip"], registers["r8"]), ("0x7ffc1000", "0x401234", "0x58"), "registers")
    check("addr=0x7ffc1000 bytes=[16]" in dump(trace, "MEMORY")[0], "stack")


@case("a capture that was cut off gives what is there")
def cut_off():
    event = perf.Event(*EVENT, ids=[1])
    data = b"".join(event.sample(time=n, branches=[(n, n + 1, 0)]) for n in range(1, 11))
    whole = perf.pipe_mode([event], data)
    trace = import_bytes(whole[:-30]).trace
    equal(len(words(export(trace))), 9, "samples")
    check("the capture was cut off" in text(trace), "no note")
    # perf record that was killed leaves a data size of 0
    killed = bytearray(perf.file_mode([event], data, features=False))
    killed[48:56] = bytes(8)
    trace = import_bytes(bytes(killed)).trace
    equal(len(words(export(trace))), 10, "samples of a killed recording")
    check("the capture was cut off" in text(trace), "no note of a killed recording")


@case("what is damaged is refused with the place")
def damaged():
    event = perf.Event(*EVENT, ids=[1])
    data = event.sample(time=1, branches=[(1, 2, 0)])
    good = perf.file_mode([event], data)
    at = good.index(data)

    def changed(offset, value):
        return good[:offset] + value + good[offset + len(value):]

    sample = bytearray(data)
    sample[8 + 40:8 + 48] = b"\xff" * 8  # nr of branches
    for what, bad, said in (
            ("size 0", changed(at + 6, b"\0\0"), "byte %d has size 0" % at),
            ("size 7", changed(at + 6, b"\7\0"), "byte %d has size 7" % at),
            ("branches without end", good.replace(data, bytes(sample)), "the sample at byte %d" % at),
            ("header size", changed(8, b"\x60"), "header of 96 bytes"),
            ("attributes outside", changed(24, b"\xff" * 8), "event descriptions lie outside"),
            ("attribute rows", changed(16, b"\1" + b"\0" * 7), "event descriptions of 1 bytes"),
            ("data outside", changed(40, b"\xff" * 8), "records lie outside"),
            ("ids outside", changed(104 + 8 + 120, b"\xff" * 8), "ids of the event"),
            ("other byte order", b"2ELIFREP" + good[8:], "byte order"),
            ("version 1", b"PERFFILE" + good[8:], "version 1"),
            ("bad zstd", perf.file_mode([event], perf.compressed([b"nothing of the sort"])), "cannot be unpacked"),
            ("header only", good[:20], "ends in its header"),
            ("no capture", b"\x01\x02\x03", "no capture that can be imported"),
            ("nothing", b"", "no capture that can be imported")):
        result = import_bytes(bad, status=69 if what in ("other byte order", "version 1") else 76)
        equal(result.err.count(b"\n"), 1, "%s: lines of the message" % what)
        check(said in result.err.decode(), "%s: %s" % (what, result.err.decode()))
        check(re.search(r"^btrec: \S+/capture\.\d+: ", result.err.decode()), "%s: no file is named: %s" % (what, result.err.decode()))


@case("a file that is not there, a directory, an existing trace")
def places():
    equal(execute([BTREC, "import", "-o", fresh("trace"), "/nonexistent"]).status, 66, "no such file")
    equal(execute([BTREC, "import", "-o", fresh("trace"), TMP]).status, 69, "a directory")
    event = perf.Event(*EVENT, ids=[1])
    path = fresh("capture")
    with open(path, "wb") as file:
        file.write(perf.file_mode([event], event.sample(time=1)))
    equal(execute([BTREC, "import", "-o", TMP, path]).status, 73, "an existing directory")
    equal(execute([BTREC, "import"]).status, 2, "no file")
    home = fresh_dir("home")
    result = execute([BTREC, "import", path], env=dict(os.environ, BTREC_TRACE_DIR=home))
    listed = execute([BTREC, "list"], env=dict(os.environ, BTREC_TRACE_DIR=home))
    check(listed.out.count(b"\n") == 1 and b"  unknown " in listed.out and b"exit" not in listed.out, "list, of an end that is not known: %s" % listed.out)
    equal(result.status, 0, "status without -o")
    equal(os.readlink(os.path.join(home, "latest")), os.path.basename(path) + "-0", "latest")


@case("a name that another takes while the capture is read: the next one")
def taken_name():
    event = perf.Event(*EVENT, ids=[1])
    home = fresh_dir("home")
    there = dict(os.environ, BTREC_TRACE_DIR=os.path.join(home, "traces"))
    importer = start([BTREC, "import", "-q", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=there)
    wait_until(lambda: os.path.isdir(there["BTREC_TRACE_DIR"]), "the directory of traces")
    time.sleep(0.3)
    os.mkdir(os.path.join(there["BTREC_TRACE_DIR"], "stdin-0"))
    os.symlink("/nowhere", os.path.join(there["BTREC_TRACE_DIR"], "stdin-1"))
    _, said = importer.communicate(perf.pipe_mode([event], event.sample(time=1)), timeout=30)
    equal((importer.returncode, said), (0, b""), "status and line")
    equal(os.readlink(os.path.join(there["BTREC_TRACE_DIR"], "latest")), "stdin-2", "latest")
    equal(execute([BTREC, "info"], env=there).status, 0, "status of info")


@case("a capture that comes through a pipe, and finds no room: it is the copy that is named")
def no_room():
    event = perf.Event(*EVENT, ids=[1])
    data = perf.pipe_mode([event], b"".join(event.sample(time=n, branches=[(1, 2, 0)]) for n in range(1, 100)))

    def small():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    result = execute([BTREC, "import", "-o", fresh("trace"), "-"], stdin=data, setup=small)
    equal(result.status, 74, "status (%s)" % result.err)
    check(b"temporary" in result.err and b"TMPDIR" in result.err and b"cannot read" not in result.err, result.err)


@case("what has no end is no capture: by how it begins, before anything is copied")
def endless():
    for name in ("/dev/zero", "/dev/urandom"):
        for argument, stdin in ((name, None), ("-", name)):
            with open(stdin or "/dev/null", "rb") as file:
                done = subprocess.run([BTREC, "import", "-o", fresh("trace"), argument], stdin=file, stderr=subprocess.PIPE, timeout=20)
            equal((done.returncode, done.stderr.count(b"\n")), (76, 1), "status and lines of %s" % name)
            said = "btrec: %s: no capture that can be imported: " % (argument if stdin is None else "standard input")
            check(done.stderr.decode().startswith(said), done.stderr)
    words = start(["yes"], stdout=subprocess.PIPE)
    done = subprocess.run([BTREC, "import", "-o", fresh("trace"), "-"], stdin=words.stdout, stderr=subprocess.PIPE, timeout=20)
    words.kill()
    equal(done.returncode, 76, "status of an endless pipe (%s)" % done.stderr)


@case("a capture comes through a named pipe in small pieces; one that is standard input is read as the file that it is")
def pieces():
    event = perf.Event(*EVENT, ids=[1])
    data = perf.pipe_mode([event], b"".join(event.sample(time=n, branches=[(1, 2, 0)]) for n in range(1, 100)))
    wanted, pipe, trace = export(import_bytes(data).trace), fresh("pipe"), fresh("trace")
    os.mkfifo(pipe)
    importer = start([BTREC, "import", "-q", "-o", trace, pipe])
    with open(pipe, "wb", buffering=0) as file:
        for at in range(0, len(data), 701):
            file.write(data[at:at + 701])
    equal(importer.wait(timeout=30), 0, "status of a named pipe")
    equal(export(trace), wanted, "samples of a named pipe")
    path, trace = fresh("capture"), fresh("trace")
    with open(path, "wb") as file:
        file.write(b"before" + data)
    with open(path, "rb") as file:
        os.lseek(file.fileno(), 6, os.SEEK_SET)
        equal(subprocess.run([BTREC, "import", "-q", "-o", trace, "-"], stdin=file).returncode, 0, "status from amid a file")
    equal(export(trace), wanted, "samples from amid a file")


@case("the text that an export makes is read back as the same")
def text_round_trip():
    rng = random.Random(3)
    event = perf.Event(*EVENT, ids=[1])
    data = b"".join(event.sample(pid=5, tid=6, time=10**9 * n, ip=n, branches=random_entries(rng, 16)) for n in range(1, 20))
    first = export(import_bytes(perf.file_mode([event], event.comm("some name", 5, 6) + data)).trace)
    equal(export(import_bytes(first.encode()).trace), first, "text")


@case("text with callchains, periods, CPUs, functions, files")
def text_forms():
    form = b"""# a comment
app one  100/101  [003]  12.000001500:     1000 cycles:u:
\t401000 main+0x10 (/bin/app)
\t401100 _start (/bin/app)  0x401020(/bin/app)/0x401000(/bin/app)/M/X/A/12/COND/NON_SPEC_CORRECT_PATH  0x1/0x2/-/-/-/0

app one  102  [003]  12.000002: cycles:u:  401000 main+0x10 (/bin/app) 0x5/0x6/P/-/-/-
"""
    trace = import_bytes(form).trace
    equal(words(export(trace)), [["app", "one", "100/101", "12.000001:", "cycles:u:", "401000", "0x401020/0x401000/M/X/A/12/COND", "0x1/0x2/-/-/-/0/"],
                                 ["app", "one", "102/102", "12.000002:", "cycles:u:", "401000", "0x5/0x6/P/-/-/0/"]], "samples")
    equal(words(export(import_bytes(b"  401000 0x1/0x2/P/-/-/0\n  401001 0x3/0x4/P/-/-/0\n").trace)),
          [[":0", "0/0", "snapshot:", "401000", "0x1/0x2/P/-/-/0/"], [":0", "0/0", "snapshot:", "401001", "0x3/0x4/P/-/-/0/"]], "addresses alone")
    said = execute([BTREC, "info", import_bytes(b"  401000 0x1/0x2/P/-/-/0\n").trace]).out
    check(re.search(rb"^command +$", said, re.M), "info of a trace without a command: %r" % said)
    check("Program   unknown: the capture does not say\n" in text(import_bytes(b"  401000 0x1/0x2/P/-/-/0\n").trace), "the report of one")
    result = import_bytes(b"  401000 0x1/0x2/P/-/-/0 0x1/0x2/P/-/-/x\n", status=76)
    check("byte 25 is none" in result.err.decode(), result.err.decode())


@case("text of pid and branches alone, and of files behind the addresses, with blanks")
def text_of_few_fields():
    pids = b" 5595  0x5629ec7428f4/0x5629ec742901/P/-/-/19/  0x5629ec742967/0x5629ec7428d0/P/-/-/1/ \n 5596  0x5629ec7428f4/0x5629ec742901/P/-/-/19/ \n"
    trace = import_bytes(pids).trace
    equal([l[:4] for l in words(export(trace))], [[":5595", "5595/5595", "snapshot:", "0"], [":5596", "5596/5596", "snapshot:", "0"]], "tasks and addresses")
    files = (b" a.out    5595 914937.301714:        168 cycles:u:      5629ec742901 [unknown] (/bin/x) 0x5629ec7428f4 (/bin/x)/0x5629ec742901 (/bin/x)"
             b"/P/-/-/19//-  0x5629ec742967 (/tmp/a b)/0x5629ec7428d0 (/tmp/a b (deleted))/P/-/-/1//- \n")
    equal(words(export(import_bytes(files).trace)), [["a.out", "5595/5595", "914937.301714:", "cycles:u:", "5629ec742901",
                                                     "0x5629ec7428f4/0x5629ec742901/P/-/-/19/", "0x5629ec742967/0x5629ec7428d0/P/-/-/1/"]], "sample")
    for line, task in ((b"kworker/3:0 9/9 1.0: cycles: 10 0x1/0x2/P/-/-/0/\n", ["kworker/3:0", "9/9"]), (b"    0/0     0x1/0x2/P/-/-/0/\n", ["swapper", "0/0"])):
        equal([l[:2] for l in words(export(import_bytes(line).trace))], [task], "name")


@case("what is compressed is called that, as a file and in a pipe")
def compressed_file():
    for magic, name in ((b"\x1f\x8b\x08", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ\0", "xz"), (b"BZh9", "bzip2"), (b"\x04\x22\x4d\x18", "lz4")):
        data = magic + bytes(100)
        piped = execute([BTREC, "import", "-o", fresh("trace"), "-"], stdin=data)
        for result in (import_bytes(data, status=69), piped):
            check("compressed with %s: unpack it first" % name in result.err.decode(), result.err)
        equal(piped.status, 69, "status")


@case("a file without a name: said so")
def empty_name():
    result = execute([BTREC, "import", ""])
    equal((result.status, result.err), (66, b"btrec: '': the file's name is empty\n"), "status and line")


def taken_branches(trace):
    """The first task's taken branches in user space: what the hardware would have recorded. Those the kernel makes look different to it."""
    return [(row[4], row[5]) for row in branches(trace) if row[0] == 1 and row[3] and row[2] not in ("syscall", "async", "gap")]


def samples_of(event, history, depth, step, rng, quirks):
    """The history as samples of a branch record of some depth, every `step` branches, with what hardware and kernel do to it: [(end, entries as they
    are recorded, newest first)]."""
    records = []
    for end in range(step, len(history) + 1, step):
        entries = []
        for source, target in reversed(history[max(0, end - depth):end]):
            flags = 2 | rng.randrange(100) << 4
            if "unknown" in quirks:  # bits that nobody knows yet
                flags |= rng.getrandbits(31) << 33
            if "speculative" in quirks:
                flags |= rng.choice((2, 3)) << 24  # of the right path
                while rng.random() < 0.2:
                    entries.append((rng.getrandbits(40), rng.getrandbits(40), 1 << 24 | rng.randrange(3)))
            entries.append((source, target, flags))
        if "empty" in quirks and rng.random() < 0.3:
            keep = rng.randrange(len(entries))
            entries = entries[:keep] + [(0, 0, 2)] * (len(entries) - keep)
        if "duplicate" in quirks and rng.random() < 0.3:
            entries = entries[:1] + entries
        records.append((end, entries))
    return records


def with_kernel(history, rng):
    """The history where the record holds the kernel's branches, too: there and back, and some in between."""
    out = []
    for source, target in history:
        out.append((source, target))
        if rng.random() < 0.1:
            at = 0xffffffff81000000 + rng.randrange(1 << 16)
            out += [(target, at), (at + 8, at + 64), (at + 72, target)]
    return out


def buffers_of(event, parts, quirks, rng):
    """Samples, as (time, CPU, record), as the kernel hands them over, with what else is in its buffers."""
    data = b""
    if "others" in quirks:
        mixed = []
        for time, cpu, sample in parts:
            other = rng.choice((event.switch(False, time=time - 1, cpu=cpu), event.switch_cpu_wide(True, other=(1, 1), time=time - 1, cpu=cpu),
                                event.itrace_start(time=time - 1), event.aux(0, 4096, 1, time=time - 1), event.throttle(time=time - 1), b""))
            mixed.append((time, cpu, other + sample))
        parts = mixed
    if "wrap" not in quirks:  # two buffers, each in its order, one behind the other
        data = b"".join(part for _, _, part in parts)
    else:
        for at in range(0, len(parts), 10):
            some = parts[at:at + 10]
            data += b"".join(p for _, cpu, p in some if cpu) + b"".join(p for _, cpu, p in some if not cpu) + perf.finished_round()
    if "lost" in quirks:
        data += event.lost(9) + event.lost_samples(4)
    return data


QUIRKS = ((), ("empty",), ("duplicate",), ("empty", "duplicate"), ("lost",), ("wrap",), ("speculative",), ("unknown",), ("kernel",), ("others",),
          ("others", "wrap", "lost", "speculative", "unknown", "empty"))


def check_import(event, history, depth, step, quirks, rng):
    """Makes a capture of the history, imports it, and compares what comes out of the trace."""
    if "kernel" in quirks:
        history = with_kernel(history, rng)
    records = samples_of(event, history, depth, step, rng, quirks)
    if "lost" in quirks:
        records = [r for r in records if rng.random() < 0.7]
    parts = [(end * 1000, end // step % 2, event.sample(time=end * 1000, cpu=end // step % 2, branches=entries, ip=end,
                                                        counters=[rng.getrandbits(64) for _ in entries])) for end, entries in records]
    trace = import_bytes(perf.file_mode([event], event.comm("prog") + buffers_of(event, parts, quirks, rng))).trace
    what = "depth %d, step %d, %s" % (depth, step, quirks)
    lines = words(export(trace))
    equal(len(lines), len(records), "samples, " + what)
    for line, (end, entries) in zip(lines, records):
        equal(line[4], "%x" % end, "the samples' order, " + what)
        equal([spec_less(word) for word in line[5:]], [entry_text(e) for e in entries], "%s: sample at %d" % (what, end))
    retired = [[e[:2] for e in reversed(entries) if e[2] >> 24 & 3 != 1 and e[:2] != (0, 0)] for _, entries in records]
    runs = runs_of(trace)
    if "duplicate" not in quirks:  # what of these is real is another case's
        equal([run for run in runs if run], [run for run in retired if run], "the history, " + what)
    if step == depth and not set(quirks) & {"empty", "duplicate", "lost"}:  # without overlap the samples are the whole history
        equal(sum(runs, []), history[:len(records) * step], "the whole history, " + what)


def spec_less(word):
    """An entry of an export without the field that only some have behind the type."""
    return "/".join(word.split("/")[:7])


def runs_of(trace):
    """The branches of the first task between gaps that stand before samples."""
    runs = [[]]
    for row in branches(trace):
        if row[2] != "gap":
            runs[-1].append((row[4], row[5]))
        elif runs[-1] and row[5] != EMPTY:
            runs.append([])
    return runs


EMPTY = 7  # reason of the gap of empty slots (lib/gap.def)


@case("a recorded history, seen as samples of a branch record, decodes back to itself")
def from_stepper():
    recorded = record([build("conditionals.S", *BARE)], ["--snap-exit", "always"])
    history = taken_branches(recorded.trace)
    check(len(history) > 100, "a history of %d taken branches" % len(history))
    event = perf.Event(*EVENT, ids=[1])
    for depth in (4, 8, 16, 32):
        for step in (depth // 2, depth):
            for quirks in QUIRKS:
                check_import(event, history[:1200], depth, step, quirks, random.Random("%d %d %s" % (depth, step, quirks)))
    check_import(event, history[:200], 16, 1, (), random.Random(1))


@case("a recorded history comes back whatever the layout of its samples")
def layouts_of_a_history():
    recorded = record([build("conditionals.S", *BARE)], ["--snap-exit", "always"])
    history = taken_branches(recorded.trace)
    for seed in range(16):
        rng = random.Random(seed)
        event = random_layout(rng)
        quirks = rng.choice([q for q in QUIRKS if "wrap" not in q and "others" not in q])  # these need CPU and trailers
        check_import(event, history[:400], rng.choice((4, 8, 16, 32)), 32, quirks, rng)


@case("quirk: the newest entry twice")
def duplicate_newest():
    event = perf.Event(*EVENT, ids=[1])
    forward, loop = (0x401000, 0x402000, 2), (0x401020, 0x401000, 2)
    # a jump ahead cannot follow itself; the branch of a loop can
    data = event.sample(time=1000, branches=[forward, forward, loop]) + event.sample(time=2000, branches=[loop, loop, forward])
    trace = import_bytes(perf.file_mode([event], data)).trace
    equal([b["from"]["addr"] for b in report(trace)["branches"]], ["0x401020", "0x401000", "0x401000", "0x401020", "0x401020"], "branches")
    equal([len(l) for l in words(export(trace))], [8, 8], "what was recorded is exported")


@case("a recorded trace, exported and imported, has the same taken branches")
def export_recorded():
    recorded = record([build("conditionals.S", *BARE)], ["--snap-exit", "always"])
    wanted = [(row[2], row[4], row[5]) for row in branches(recorded.trace) if row[0] == 1 and row[3] and row[2] != "gap"]
    kinds = {"syscall": "branch", "async": "branch"}  # as perf they mean other targets
    got = [(row[2], row[4], row[5]) for row in branches(import_bytes(export(recorded.trace).encode()).trace) if row[2] != "gap"]
    equal(got, [(kinds.get(k, k), a, b) for k, a, b in wanted], "branches")


def history_as_capture(recorded, program, depth, quirks=()):
    """A recorded history of a program without libraries as a capture with its mapping and build-id."""
    history = taken_branches(recorded.trace)[:1500]
    event = perf.Event(*EVENT, ids=[1])
    data = b""
    for line in dump(recorded.trace, "MAP"):
        row = dict(re.findall(r"(\w+)=(\"[^\"]*\"|\S+)", line))
        if row["path"].strip('"') != program or int(row["prot"]) != 5:
            continue
        build_id = bytes.fromhex(re.search(r"build_id=\[\d+\]([0-9a-f]+)", line).group(1))
        start, end = int(row["start"], 16), int(row["end"], 16)
        data += event.mmap2(start, end - start, int(row["offset"], 16), program, time=1, build_id=build_id)
    check(data, "no code mapping with a build-id in the recording")
    for end, entries in samples_of(event, history, depth, depth, random.Random(1), quirks):
        data += event.sample(time=end * 1000, branches=entries, ip=history[end - 1][1])
    return history, perf.file_mode([event], event.comm("prog") + data)


@case("with the program at hand kinds, functions and the code between branches are those of the recording")
def code_at_hand():
    program = build("conditionals.S", *BARE)
    recorded = record([program], ["--snap-exit", "always"])
    wanted = {(row[4], row[5]): row[2] for row in branches(recorded.trace) if row[3]}
    for quirks in ((), ("duplicate",)):
        history, capture = history_as_capture(recorded, program, 16, quirks)
        trace = import_bytes(capture).trace
        rows = [row for row in branches(trace) if row[2] != "gap"]
        if not quirks:
            equal([(row[4], row[5]) for row in rows], history[:len(rows)], "branches")
        else:
            check(len(rows) < sum(e.count("/") == 6 for line in words(export(trace)) for e in line[5:]), "no duplicate was dropped")
        equal([row[2] for row in rows], [wanted[row[4], row[5]] for row in rows], "kinds")
    functions = {b["from"]["addr"]: b["from"]["function"] for b in report(recorded.trace)["branches"]}
    for branch in report(trace)["branches"]:
        equal(branch["from"]["function"], functions[branch["from"]["addr"]], "function at " + branch["from"]["addr"])
    # the code between two branches of a run leads from one to the other
    lines = execute([BRANCHES, "-i", trace]).out.decode().splitlines()
    rows = [line for line in lines if not line.startswith("i ")]
    unknown = sum(line == "i ?" for line in lines)
    runs = sum(" gap " in row for row in rows)
    # none before a run, none behind the last of it, none at the end
    check(unknown <= 2 * runs + 1, "%d places without code, %d runs of %d entries" % (unknown, runs, len(rows)))


@case("code of another program than the one that was mapped is not believed")
def other_build_id():
    program = build("conditionals.S", *BARE)
    recorded = record([program], ["--snap-exit", "always"])
    _, capture = history_as_capture(recorded, program, 16)
    build_id = re.search(r"build_id=\[\d+\]([0-9a-f]+)", [l for l in dump(recorded.trace, "MAP") if program in l][0]).group(1)
    trace = import_bytes(capture.replace(bytes.fromhex(build_id), b"\x55" * (len(build_id) // 2))).trace
    equal({row[2] for row in branches(trace)}, {"gap", "branch"}, "kinds")
    equal(dump(trace, "CODE"), [], "code pages")


main()
