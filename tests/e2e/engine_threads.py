#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Threads in every form that C libraries make (programs/thread_forms.c), and one made without a library: they print what they print natively, in
# turns, side by side and only counted, and their histories hold. With glibc and with musl.
import os
import re
import subprocess

from e2e import *
from musl import musl

CHECK = os.path.join(BUILD, "tests/tools/check_history")
FORMS = "cancelled cancelled-computing keys robust locks barriers stacks signals first-ends spinning raw".split()
KEEP = ["--history", "50000"]
MODES = {"in turns": KEEP, "side by side": ["--parallel", *KEEP], "only counted": ["--history", "off"]}


def glibc():
    return build("thread_forms.c", "-pthread")


def of_musl():
    return musl("thread_forms.c", *STATIC)


def turns_hold(trace):
    """Each turn is taken from the task that had the last one, and each task's points, those where it lost its turn among them, go on and never back."""
    stands, had, turns = {}, None, 0
    for line in execute([BTREC, "dump", trace], cwd=TMP).out.decode(errors="replace").splitlines():
        switch = re.match(r"SWITCH .*\bfrom=(\d+) .*\bto=(\d+)", line)
        task = switch or re.search(r" task=(\d+)", line)
        point = re.search(r" point=(\d+)\+(\d+)@", line)
        if not task or not point:
            continue
        number, at = int(task.group(1)), tuple(map(int, point.groups()))
        check(at >= stands.get(number, at), "task %d was at %s, then: %s" % (number, stands.get(number), line))
        stands[number] = at
        if switch:
            check(had in (None, number), "task %s had the turn, not: %s" % (had, line))
            had, turns = int(switch.group(2)), turns + 1
    return turns


def add(name, library, program):
    @case("threads: %s, %s" % (name, library))
    def run():
        for mode, options in MODES.items():
            print("     " + mode, flush=True)
            recorded = same_as_native([program(), name], ["--backend", "engine", "--snap-exit", "always", *options])[1]
            if mode != "only counted":
                done = subprocess.run([CHECK, recorded.trace], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                equal(done.returncode, 0, "check_history: %s" % done.stdout.decode(errors="replace")[:400])
            if mode == "in turns":
                check(turns_hold(recorded.trace), "no thread lost its turn")


for each in FORMS:
    add(each, "glibc", glibc)
    add(each, "musl", of_musl)


@case("threads: every case is tried")
def all_tried():
    equal(sorted(native([glibc()]).out.decode().split()), sorted(FORMS), "cases")


main(sanitized=2)
