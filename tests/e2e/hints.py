#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What is kept from one recording to the next: only hints, whatever stands in the file.
import os
import stat

from e2e import *

PLACE = os.path.join(os.environ["XDG_CACHE_HOME"], "btrec")


def branches(trace):
    with open(fresh("listing"), "w+b") as out:
        equal(subprocess.run([BRANCHES, trace], stdout=out).returncode, 0, "status of branches")
        out.seek(0)
        return out.read()


def program():
    return shutil.which("true")


def run():
    """The branches of a recording from the deterministic start, and what is kept then."""
    recorded = record([program()], ["--deterministic", "--snap-exit", "always"])
    build_id = re.search(r"Build ID: (\w+)", execute(["readelf", "-n", program()]).out.decode()).group(1)
    path = os.path.join(PLACE, build_id)
    return branches(recorded.trace), path


def content(path):
    with open(path, "rb") as file:
        return file.read()


@case("the first recordings of a program leave hints, and come to an end with that; branches stay the same")
def kept():
    first, path = run()
    check(os.path.exists(path), "no file %s" % path)
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, "mode")
    equal(stat.S_IMODE(os.stat(PLACE).st_mode), 0o700, "mode of the directory")
    sizes = [len(content(path))]
    for _ in range(6):
        record([program()], ["--deterministic"])
        sizes.append(len(content(path)))
    check(sizes[-1] > 2 * sizes[0], "nothing was learned from the second run: %s" % sizes)
    equal(sizes[-1], sizes[-2], "size of the hints after the last two runs")
    equal(run()[0] == first, True, "same branches with hints")


@case("damaged, foreign and linked files are not read, and replaced or left alone")
def mistrusted():
    expected, path = run()
    good = content(path)
    for at in (0, 9, 12, len(good) // 2, len(good) - 1):
        with open(path, "wb") as file:
            file.write(good[:at] + bytes([good[at] ^ 0xff]) + good[at + 1:])
        equal(run()[0] == expected, True, "same branches with byte %d damaged" % at)
    for bad in (b"", good[:40], b"\0" * 100, good + good):
        with open(path, "wb") as file:
            file.write(bad)
        equal(run()[0] == expected, True, "same branches with other content")
    with open(path, "wb") as file:
        file.write(good)
    os.chmod(path, 0o666)
    run()
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, "mode of a file that others could write")
    os.unlink(path)
    victim = fresh("victim")
    with open(victim, "wb") as file:
        file.write(b"mine")
    os.symlink(victim, path)
    run()
    equal(content(victim), b"mine", "what the link led to")


@case("without a place nothing is kept, and recording goes on")
def nowhere():
    env = dict(os.environ, XDG_CACHE_HOME="/proc/self/nothing", HOME="/nonexistent")
    done = execute([BTREC, "run", "-q", "-o", fresh("trace"), "--", "/bin/true"], env=env)
    equal(done.status, 0, "status")


main()
