#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Programs that are killed at a random moment: whatever was under way, the history that is kept leads to where the task stood.
# BTREC_KILLS: how often each. BTREC_SEED: of the moments.
import random

from e2e import *

KILLS = int(os.environ.get("BTREC_KILLS", "40"))
SEED = int(os.environ.get("BTREC_SEED", "1"))


def killed(options, after, flags, *arguments):
    trace = fresh("trace")
    process = start([BTREC, "run", "-q", *options, "-o", trace, "--", build("kill_any_time.c", *STATIC, *flags), *arguments], cwd=TMP)
    equal(process.stdout.readline(), b"ready\n", "what it says")
    recorder = recorder_of(process)
    with open("/proc/%d/task/%d/children" % (recorder, recorder)) as file:
        pid = int(file.read().split()[0])
    time.sleep(after)
    os.kill(pid, signal.SIGKILL)
    equal(process.wait(TIMEOUT), -signal.SIGKILL, "end")
    return trace


def add(name, options, kills, *arguments, most=1 / 3, flags=()):
    @case("killed %d times, seed %d, %s" % (kills, SEED, name))
    def run():
        moments, cut = random.Random(SEED), 0
        for _ in range(kills):
            after = moments.random() * 0.02
            trace = killed(options, after, flags, *arguments)
            found = report(trace, "-n", "20")
            equal(found["exit"]["signal"], "SIGKILL", "exit signal")
            equal(found["verdict"]["state"], "consistent", "verdict %.6f s behind ready (%s)" % (after, trace))
            cut += any(gap["before"] == len(found["branches"]) for gap in found["gaps"])
            shutil.rmtree(trace)
        # Where nobody can tell what has run since the last record, a gap says so: in the midst of a sequence of the cache's, some 15 of a hundred
        # times; some 27 where sequences are longer.
        check(cut <= kills * most, "%d histories of %d do not lead to the end" % (cut, kills))


for name_, options_, kills_ in (("engine", [], KILLS), ("side by side", ["--parallel"], KILLS), ("step", ["--backend", "step"], KILLS // 4)):
    add(name_, [*options_, "--history", "20000"], kills_)

# Wherever it stands in the cache's code.
for name_, options_, most_ in (("engine", [], 0.5), ("without PEXT and LZCNT", ["--plain-processor"], 0.75)):
    add(name_ + ", while it computes", [*options_, "--history", "20000"], KILLS, "computes", most=most_)
# Behind such a cycle, which a return leaves, the engine still counts its rounds for some instructions.
add("engine, while it returns from calls of itself", ["--history", "20000"], KILLS, "returns", most=0.5, flags=["-O2", "-fomit-frame-pointer"])

main(sanitized=2)
