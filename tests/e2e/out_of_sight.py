#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Processes whose memory btrec may not look into any more: they are detached, with the reason, and do what they do natively.
import os
import re
import shutil
import subprocess

from e2e import *

NOBODY = dict(user=65534, group=65534, extra_groups=[])
WITHOUT = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"] # root, as in a container
MODES = [], ["--parallel"], ["--backend", "step"]
WHY = "its memory may not be looked at any more"


def program():
    return build("out_of_sight.c", "-pthread")


def copies(*files):
    """A folder of everybody's, with btrec and the files in it."""
    need_root()
    folder = fresh_dir("everybody", 0o777)
    return folder, [shutil.copy(path, folder) for path in (BTREC, *files)]


def runs_alike(prefix, files, argv, as_whom, detached=2, modes=MODES):
    """Recorded by a btrec that prefix is put before; {0}, {1} in argv stand for copies of the files. detached: tasks, at least."""
    for mode in modes:
        folder, (tool, *names) = copies(*files)
        argv_here = [names[int(a[1])] if re.match(r"\{\d\}$", a) else a for a in argv]
        trace = os.path.join(folder, "trace")
        alone = native(argv_here, cwd=folder, **as_whom)
        recorded = execute([*prefix, tool, "run", *mode, "-o", trace, "--", *argv_here], env=dict(os.environ, HOME=folder), cwd=folder, **as_whom)
        equal((recorded.status, recorded.out), (alone.status, alone.out), "end, %s (%s)" % (mode, recorded.err.decode()))
        check("it was detached, and ran on unrecorded" in recorded.err.decode(), "btrec says: " + recorded.err.decode())
        said = execute([BTREC, "dump", trace]).out.decode(errors="replace")
        reasons = re.findall(r'^DETACH .*reason="?([^"\n]*)', said, re.M)
        check(len(reasons) >= detached and all(reason.startswith(WHY) for reason in reasons), "detached, %s: %s" % (mode, reasons))
        check('"' + WHY in execute([BTREC, "info", trace]).out.decode(), "btrec info does not say why")


@case("an ordinary user's process that makes itself undumpable")
def undumpable():
    runs_alike([], [program(), "/bin/echo"], ["{0}", "dumpable", "{1}", "executed"], NOBODY)


@case("root without CAP_SYS_PTRACE: a process that becomes another user, and executes something")
def another_user():
    if not shutil.which("setpriv"):
        raise Skip("no setpriv(1)")
    runs_alike(WITHOUT, [program(), "/bin/echo"], ["{0}", "user", "{1}", "executed"], {})
    runs_alike(WITHOUT, ["/bin/echo"], ["setpriv", "--reuid=65534", "--clear-groups", "{0}", "of nobody"], {}, 1, MODES[:2])


@case("... where /proc does not even show another's processes (hidepid)")
def hidden():
    if not shutil.which("setpriv"):
        raise Skip("no setpriv(1)")
    need_namespaces()
    mounted = ["unshare", "-m", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh"]
    runs_alike([*mounted, *WITHOUT], [program(), "/bin/echo"], ["{0}", "user", "{1}", "executed"], {})


def left(name, *options):
    folder, (tool, program_) = copies(build("left_running.c", "-pthread", "-rdynamic"))
    trace = os.path.join(folder, "trace")
    result = execute([tool, "run", *options, "-o", trace, "--", program_, name], env=dict(os.environ, HOME=folder), cwd=folder, **NOBODY)
    return result, execute([BTREC, "dump", trace]).out.decode(errors="replace")


@case("... while its threads, stopped in the midst of something, wait for their turns")
def stopped():
    for mode in [], [], [], ["--parallel"]:
        result, said = left("stopped", *mode)
        equal((result.status, result.out), (0, b"went on\n"), "end, %s (%s)" % (mode, result.err.decode()))
        check("\nDETACH " in said, "it was not detached")


@case("... while signals come: none is lost")
def signals():
    for mode in [], ["--parallel"]:
        for _ in range(4):
            result, said = left("signals", *mode)
            equal((result.status, result.out), (0, b"1500 signals\n"), "end, %s (%s)" % (mode, result.err.decode()))
            check("\nDETACH " in said, "it was not detached")


@case("... before the place of --from is reached: it does not meet the breakpoint")
def place():
    result, said = left("place", "--from", "begin_here")
    equal((result.status, result.out), (0, b"here\n"), "end (%s)" % result.err.decode())
    check("the place of --from is not watched for" in said, said)


@case("a program that the user may execute, but not read: refused as the first one, else detached")
def unreadable():
    folder, (tool, echo) = copies("/bin/echo")
    os.chmod(echo, 0o711)
    for argv, status in ([echo, "said"], 126), (["sh", "-c", '"$@"; exit 3', "sh", echo, "said"], 3):
        trace = os.path.join(folder, "trace%d" % status)
        result = execute([tool, "run", "-o", trace, "--", *argv], env=dict(os.environ, HOME=folder), cwd=folder, **NOBODY)
        equal(result.status, status, "status (%s)" % result.err.decode())
        if status == 126:
            check("may be executed by you, but not read" in result.err.decode(), result.err.decode())
            continue
        equal(result.out, b"said\n", "stdout")
        check('reason="' + WHY in execute([BTREC, "dump", trace]).out.decode(errors="replace"), "it is not detached")


@case("with CAP_SYS_PTRACE all of these are recorded to their ends")
def with_capability():
    need_root()
    if not int(re.search(r"CapEff:\s*(\w+)", open("/proc/self/status").read()).group(1), 16) >> 19 & 1:
        raise Skip("without CAP_SYS_PTRACE")
    for how in "dumpable", "user":
        result = record([program(), how, "/bin/echo", "executed"])
        equal((result.status, result.out), (0, native([program(), how, "/bin/echo", "executed"]).out), how)
        check(b"\nDETACH " not in execute([BTREC, "dump", result.trace]).out, "detached of, " + how)


main()
