#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Code that runs for the first time (programs/fresh_code.c): fragments for it are made without its task leaving the cache, until the cache is
# full, or another thread changes what is executable: no branch is lost, and each is of the image in which its code was. And libraries that
# come and go (programs/plugins.c).
import re
import subprocess

from e2e import *
import engine_compare

BACKEND = engine_compare.backends()[1]
CHECK = os.path.join(os.environ["abs_top_builddir"], "tests/tools/check_history")
NAMES = "much mapped-meanwhile unmapped-meanwhile".split()


def program():
    return build("fresh_code.c", *STATIC, "-pthread")


def dump(trace):
    return execute([BTREC, "dump", trace]).out.decode()


def history_holds(trace):
    done = subprocess.run([CHECK, trace], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    equal(done.returncode, 0, "check_history: %s" % done.stdout.decode(errors="replace")[:400])


def epochs_hold(said):
    """No branch is of an epoch in which nothing of its page had been seen yet."""
    seen, epoch, looked_at, wrong = {}, None, 0, []
    for space, at, addr in re.findall(r"^CODE .*?space=(\d+) epoch=(\d+) addr=0x([0-9a-f]+)", said, re.M):
        seen.setdefault(int(addr, 16), []).append(int(at))
    for line in said.splitlines():
        found = re.search(r"\bepoch space=\d+ epoch=(\d+)", line)
        if found:
            epoch = int(found.group(1))
            continue
        found = re.match(r"\s+\d+ \w+.* from=0x([0-9a-f]+)", line) or re.match(r"\s+\d+ \w+ (?:.*?)0x([0-9a-f]+)", line)
        page = int(found.group(1), 16) & ~0xfff if found else None
        if epoch is not None and page in seen:
            looked_at += 1
            if min(seen[page]) > epoch:
                wrong.append(line)
    check(looked_at > 1000, "%d branches were looked at" % looked_at)
    equal(wrong[:3], [], "branches of an image without their code")


def add(name):
    @case("fresh code: " + name)
    def natively():
        recorded = record([program(), name], ["--backend", BACKEND, "--history", "full", "--snap-exit", "always"])
        equal(recorded.out, b"0 wrong\n", "output")
        history_holds(recorded.trace)
        said = dump(recorded.trace)
        check("scribbled" not in said and "undecoded" not in said, "branches are missing")
        epochs_hold(said)

    for options in ["--history", "off"], ["--parallel"]:
        @case("fresh code, %s: %s" % (" ".join(options), name))
        def other(options=options):
            equal(record([program(), name], ["--backend", BACKEND, *options]).out, b"0 wrong\n", "output")


for name_ in NAMES:
    add(name_)


def plugins(rounds):
    files = [build("plugin.c", "-shared", "-fPIC", "-DVALUE=%d" % value, name="plugin%d.so" % value) for value in (1, 2, 3)]
    return [build("plugins.c", "-ldl"), str(rounds), *files]


@case("libraries that are loaded and unloaded, one where another was: values and history")
def loaded_again():
    alone, recorded = same_as_native(plugins(300), ["--backend", BACKEND, "--history", "full", "--snap-exit", "always"])
    equal(alone.out, b"at one place, 0 wrong\n", "output")
    history_holds(recorded.trace)
    epochs_hold(dump(recorded.trace))


@case("... also only counted, by turns, side by side, and stepped")
def loaded_again_otherwise():
    for options in ["--history", "off"], ["--switch-history"], ["--parallel"]:
        same_as_native(plugins(300), ["--backend", BACKEND, *options])
    same_as_native(plugins(6), ["--backend", "step", "--from", "main"])


@case("fresh code: every case is tried")
def all_tried():
    equal(sorted(native([program()]).out.decode().split()), sorted(NAMES), "cases")


main(sanitized=3)
