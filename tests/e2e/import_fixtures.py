#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Real captures: the exports equal, entry by entry, what perf itself printed of them, and each other file gives what it holds.
# The files are not part of the source: BTREC_FIXTURES names their directory, else it is ../shared/fixtures beside the source.
import lzma

from e2e import *

FIXTURES = os.environ.get("BTREC_FIXTURES") or os.path.join(HERE, "..", "..", "..", "shared", "fixtures")


def capture(name):
    path = os.path.join(FIXTURES, "perf-data", name + ".perf.data")
    if not os.path.exists(path):
        raise Skip("no fixtures: %s is not there (BTREC_FIXTURES)" % path)
    return path


def imported(name):
    trace = fresh("trace")
    result = execute([BTREC, "import", "-o", trace, capture(name)])
    equal(result.status, 0, "status of import (%s)" % result.err.decode())
    return trace


def info(trace):
    result = execute([BTREC, "info", trace])
    equal(result.status, 0, "status of info")
    return result.out.decode()


def lines(text):
    """Words of each line: perf pads the event's name to the longest one of the file, also of events without samples."""
    return [line.split() for line in text.splitlines()]


def equals_golden(name, samples, entries):
    golden = os.path.join(FIXTURES, "golden", name + ".brstack.txt.xz")
    got = lines(btview("--export", "perf-script", imported(name)).out.decode())
    with lzma.open(golden, "rt") as file:
        wanted = lines(file.read())
    equal(len(wanted), samples, "samples in the golden file")
    equal(sum(word.count("/") == 6 for line in wanted for word in line), entries, "entries in the golden file")
    equal(len(got), len(wanted), "samples")
    for number, (mine, perfs) in enumerate(zip(got, wanted), 1):
        equal(mine, perfs, "sample %d" % number)


@case("Westmere, 16 deep")
def westmere():
    equals_golden("westmere-lbr16", 9232, 147712)


@case("Skylake, 32 deep, kernel and user, empty slots")
def skylake():
    equals_golden("skylake-lbr32-kernel", 13, 416)


@case("the layout with the hardware's index")
def hw_index():
    equals_golden("hw-index-layout", 5, 116)


@case("every view reads an imported trace")
def views():
    trace = imported("skylake-lbr32-kernel")
    data = report(trace)
    equal(data["trace"]["backend"], "import", "backend")
    equal(data["trace"]["source"], "lbr", "source")
    equal(len(data["snapshots"]), 13, "snapshots")
    equal({b["ticks"] for b in data["branches"]}, {None}, "ticks")
    equal({g["reason"] for g in data["gaps"]}, {"unsampled", "empty"}, "gaps")
    # 416 slots less those that were empty
    golden = btview("--export", "perf-script", trace).out.decode().split()
    equal(len(data["branches"]), sum(w.count("/") == 6 and not w.startswith("0x0/0x0/") for w in golden), "branches")
    check("imported" in text(trace), "the report has no imported snapshot")


@case("Intel PT with the kernel, and without the files that ran: a gap for each thread that was traced, and their names")
def intel_pt():
    trace = imported("skylake-intel-pt")
    out = info(trace)
    check('branches from "pt"' in out, out)
    check("snapshots   15" in out, out)
    equal({row[2] for row in branches(trace)}, {"gap"}, "entries")
    equal({g["reason"] for g in report(trace)["gaps"]}, {"undecoded"}, "gaps")


@case("lost samples are told")
def lost():
    out = info(imported("lost-samples"))
    check("lost 2 samples" in out, out)
    check("snapshots   191" in out, out)


@case("switches of tasks")
def switches():
    trace = imported("context-switch-namespaces")
    dump = execute([BTREC, "dump", trace]).out.decode()
    scheds = [line for line in dump.splitlines() if line.startswith("SCHED ")]
    equal(sum(" what=0" in line for line in scheds), 1, "arrivals")
    equal(sum(" what=1" in line or " what=2" in line for line in scheds), 1, "departures")


@case("zstd-compressed records")
def compressed():
    trace = imported("zstd-compressed")
    out = info(trace)
    check("snapshots   8" in out, out)
    check('kernel      "6.5.0-1024-aws"' in out, out)
    names = [line.split()[0] for line in btview("--export", "perf-script", trace).out.decode().splitlines()]
    equal(set(names), {"perf-exec", "sleep"}, "names of the threads")


@case("a record of size zero is refused")
def zero_size():
    trace = fresh("trace")
    file = capture("bad-piped-zero-size-sample")
    result = execute([BTREC, "import", "-o", trace, file])
    equal(result.status, 76, "status")
    equal(result.err.decode(), "btrec: %s: perf.data: the record at byte 49104 has size 0, less than its header\n" % file, "stderr")
    check(not os.path.exists(trace), "a trace was left")


@case("a capture from a pipe is imported as its file is")
def pipe():
    with open(capture("skylake-lbr32-kernel"), "rb") as file:
        data = file.read()
    trace = fresh("trace")
    equal(execute([BTREC, "import", "-q", "-o", trace, "-"], stdin=data).err, b"", "stderr")
    equal(btview("--export", "perf-script", trace).out, btview("--export", "perf-script", imported("skylake-lbr32-kernel")).out, "export")


main()
