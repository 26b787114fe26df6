#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The recorder and the program on one processor: the program sees the processors it may use, and sets them, as it would alone; two
# processes that compute get two.
import os
import signal
import time

from e2e import *

ALL = sorted(os.sched_getaffinity(0))


def program():
    return build("affinity.c", "-pthread")


def seen_alike(argv):
    for backend in ("engine", "step"):
        same_as_native(argv, ["--backend", backend])


for mode, what in {
    "see": "what sched_getaffinity gives, in threads and children too",
    "set": "what is set, of itself and of another process, stays: over fork and execve, for threads",
    "badly": "calls that fail",
}.items():
    @case(what)
    def alike(mode=mode):
        seen_alike([program(), mode])


@case("... after two processes have computed for a while")
def alike_after_computing():
    for mode in ("see", "set"):
        same_as_native([program(), "compute", "0.5", "2", mode])


@case("--from: nothing is bound, before the place is reached and behind it")
def from_main():
    same_as_native([program(), "status"], ["--from", "main"])
    same_as_native([program(), "set"], ["--from", "main"])


@case("--unbound: what /proc says, too")
def unbound():
    for mode in ("status", "see", "set"):
        same_as_native([program(), mode], ["--unbound"])


def allowed(pid):
    with open("/proc/%d/status" % pid) as status:
        return next(line.split(":")[1].strip() for line in status if line.startswith("Cpus_allowed_list"))


def recorded_pids(btrec):
    """The recorded processes below btrec's front."""
    pids = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, errors="replace") as stat:
                    comm, rest = stat.read().split("(", 1)[1].rsplit(")", 1)
                pids[int(name)] = (comm, int(rest.split()[1]))
            except (OSError, IndexError):
                pass
    below, grown = {btrec}, True
    while grown:
        more = {pid for pid, (_, parent) in pids.items() if parent in below} - below
        below |= more
        grown = bool(more)
    return [pid for pid in below if pids.get(pid, ("",))[0] == "affinity"]


def await_allowed(btrec, count, right, what):
    """Until so many processes run, each with processors that are right; at most a minute."""
    end = time.time() + 60
    lists = []
    while time.time() < end:
        try:
            lists = [allowed(pid) for pid in recorded_pids(btrec.pid)]
        except OSError:
            continue
        if len(lists) == count and all(right(each) for each in lists):
            return
        time.sleep(0.01)
    equal(lists, "%d processes with %s" % (count, what), "allowed processors")


def placed(processes, right, what):
    if len(ALL) < 2:
        raise Skip("one processor")
    btrec = start([BTREC, "run", "-q", "-o", fresh("trace"), "--", program(), "compute", "600", str(processes)])
    try:
        await_allowed(btrec, processes, right, what)
    finally:
        for pid in recorded_pids(btrec.pid):
            os.kill(pid, signal.SIGKILL)
        btrec.wait(timeout=TIMEOUT)


@case("a program alone comes to be on one processor, with its recorder")
def together():
    placed(1, lambda each: each.isdigit(), "one processor")


@case("two processes that compute come to have all processors")
def apart():
    before = allowed(os.getpid())
    placed(2, lambda each: each == before, "all processors")


main()
