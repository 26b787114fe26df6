#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Threads in every form that C libraries make (programs/thread_forms.c), and one made without a library: they print what they print natively, in
# turns, side by side and only counted, and their histories hold. With glibc and with musl.
import os
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


def add(name, library, program):
    @case("threads: %s, %s" % (name, library))
    def run():
        for mode, options in MODES.items():
            print("     " + mode, flush=True)
            recorded = same_as_native([program(), name], ["--backend", "engine", "--snap-exit", "always", *options])[1]
            if mode != "only counted":
                done = subprocess.run([CHECK, recorded.trace], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                equal(done.returncode, 0, "check_history: %s" % done.stdout.decode(errors="replace")[:400])


for each in FORMS:
    add(each, "glibc", glibc)
    add(each, "musl", of_musl)


@case("threads: every case is tried")
def all_tried():
    equal(sorted(native([glibc()]).out.decode().split()), sorted(FORMS), "cases")


main()
