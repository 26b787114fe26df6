#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What a recording costs in memory: so many bytes for each byte of translated code, and a little for each address space. Counted at a moment at which
# a large program waits, in the recorder, which has all of it but table 1; what it maps of files that are there anyway (its libraries, kept groups) is not.
import re

from e2e import *

PER_BYTE = 8
PER_SPACE = 2048 # kB
FEW, MANY, KB_A_PROGRAM = 400, 800, 20
# The file that holds code, and table 2 before it, from there on (SHARED_AT in layout.h).
CODE_FILE = re.compile(r"^\S+ \S+ 001f0000 .*memfd:btrec.*\n(?:\w+:.*\n)*?Rss: +(\d+) kB", re.M)
LARGE = """
import json, re, sys, decimal, argparse, subprocess, email.parser, xml.dom.minidom, ctypes, asyncio, unittest
for i in range(200):
    re.compile("a%d(b|c)*[d-f]+" % i)
    json.loads(json.dumps(list(range(100))))
    decimal.Decimal(i).sqrt()
print("waits", flush=True)
sys.stdin.read()
"""


def memory(argv, options):
    """Of the recorder when the program has printed a line: its own memory, what it shares with the program, the most it ever had; and what is
    code (kB)."""
    process = start([BTREC, "run", "-o", fresh("trace"), "--backend", "engine", *options, "--", *argv], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=TMP)
    check(process.stdout.readline(), "the program said nothing")
    pid = recorder_of(process)
    with open("/proc/%d/status" % pid) as status, open("/proc/%d/smaps" % pid) as maps:
        said = status.read()
        code = sum(map(int, CODE_FILE.findall(maps.read())))
    process.stdin.close()
    equal(process.wait(TIMEOUT), 0, "end")
    return [int(re.search(r"%s:\s+(\d+) kB" % what, said).group(1)) for what in ("RssAnon", "RssShmem", "VmHWM")] + [code]


def add(name, *options):
    @case("memory for each byte of code: " + name)
    def run():
        if has_sanitizer():
            raise Skip("a sanitizer's memory would be counted")
        own, *_ = memory(["sh", "-c", "echo waits; read x || :"], options)
        for how in ("the first time", "the second", "the third, with groups"):
            anon, shared, _, code = memory(["/usr/bin/python3", "-c", LARGE], options)
            check(code > 3000, "only %d kB of code" % code)
            used = anon - own + shared
            print("     %s: %.1f bytes for each of %d kB of code" % (how, (used - PER_SPACE) / code, code))
            check(used <= PER_BYTE * code + PER_SPACE, "%s: %d kB for %d kB of code" % (how, used, code))


@case("histories keep to their limit also while all of them grow")
def histories():
    if has_sanitizer():
        raise Skip("a sanitizer's memory would be counted")
    limit, processes = 16, 16
    tree = [build("branchy_tree.c", "-O1"), str(processes), "1000000"]
    most = [memory(tree, options)[2] for options in (["--history", "off"], ["--history-memory", str(limit)], [])]
    print("     without, limited, unlimited: %s kB" % most)
    check(most[2] - most[0] > 4 * limit << 10, "no limit was reached: %s kB" % most)
    # Beside them stands the room of each process that its branches come through, one of its 2 MB, and 8 MB for all the rest.
    check(most[1] - most[0] < limit + processes + 8 << 10, "%s kB" % most)


@case("a script that runs hundreds of programs once, each another: what is known of them does not stay")
def many_programs():
    if has_sanitizer():
        raise Skip("a sanitizer's memory would be counted")
    script = "for i in $(seq %d); do cp /bin/true t && ./t && rm t || exit 1; done; echo waits; read x || :"
    few, many = (memory(["sh", "-c", script % n], ["--history", "1000"])[0] for n in (FEW, MANY))
    print("     %d programs: %d kB; %d: %d kB" % (FEW, few, MANY, many))
    check(many - few < (MANY - FEW) * KB_A_PROGRAM, "%d kB for %d programs more" % (many - few, MANY - FEW))


add("with history", "--history", "1000")
add("ticks only", "--history", "off")

main()
