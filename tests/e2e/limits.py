#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Limits of memory: a recorded program sees its own, and gets to the very page as far as it would alone.
import os
import re
import shutil
import signal

from e2e import *

NOBODY = 65534
MB = 1 << 20
INF = resource.RLIM_INFINITY
BACKENDS = ("engine", "step")


def program():
    return build("limits.c", *STATIC)


def note(trace):
    return execute([BTREC, "dump", trace]).out.decode().count("no room for the code cache")


def content_of(path):
    with open(path, "rb") as file:
        return file.read()


def same(argv, options=(), **kw):
    """The program's output is the same alone and recorded, byte by byte. Nothing is stepped for want of room."""
    alone, recorded = same_as_native(argv, options, **kw)
    equal(note(recorded.trace), 0, "notes that there is no room")
    return alone


def limited(which, soft, hard):
    """To be called in the child that becomes btrec. A build with AddressSanitizer maps more than any limit."""
    def setup():
        resource.setrlimit(which, (soft, hard))

    if has_sanitizer():
        raise Skip("a sanitizer maps more than any limit")
    return setup


MODES = {
    "address-space": "RLIMIT_AS: how far mmap, brk, mremap, mprotect, malloc and the stack get",
    "data": "RLIMIT_DATA: how far mmap, brk, mremap, mprotect and malloc get; a soft limit of 0 (data-limit-zero)",
    "both": "both limits at once",
    "written-code": "RLIMIT_DATA: code that is written while it runs",
    "arguments": "arguments that are constant, unreadable, unwritable, on the edge; errors that come after the deed",
    "no-stack": "a call whose stack pointer points nowhere",
    "another": "another process's limits",
    "threads": "a thread's are the process's",
    "inherit": "limits go on over fork, vfork and execve, one that fails included",
    "too-small": "an execve that fails for want of memory",
    "unlimited": "no limit stays none",
    "rules-as-root": "who may raise which: root, or whoever runs the test",
}
AS_ROOT = {
    "namespace": "a pid namespace's own numbers",
    "rules-as-user": "who may raise which: a user",
    "other-user": "a process that has changed its user",
    "locks": "mlockall: the engine's memory does not count, and is not locked",
}

SYS_PTRACE, SYS_RESOURCE = 19, 24


def capable(number):
    with open("/proc/self/status") as file:
        return int(re.search(r"^CapEff:\s*(\w+)", file.read(), re.M).group(1), 16) >> number & 1


for name, what in {**MODES, **AS_ROOT}.items():
    @case(what)
    def one_mode(name=name):
        if name == "namespace":
            need_namespaces()
        elif name in AS_ROOT:
            need_root()
        if name in ("other-user", "locks") and not capable(SYS_PTRACE) and not capable(SYS_RESOURCE):
            raise Skip("another user's limits are out of reach: neither CAP_SYS_PTRACE nor CAP_SYS_RESOURCE")
        alone = same([program(), name])
        if name == "rules-as-user":
            equal((alone.out.count(b"EPERM"), alone.out.count(b"EINVAL")), (13, 6), "refusals")


@case("single-stepped, where nothing is added")
def stepped():
    same([program(), "arguments", "another", "threads"], ["--backend", "step"])


@case("threads side by side: the limits are as exact")
def side_by_side():
    for name in ("data", "address-space", "both"):
        same([program(), name], ["--parallel"])


@case("ulimit in a shell script before the program")
def in_shell():
    for limit in ("-v 70000", "-Sv 70000", "-d 30000", "-Sd 30000"):
        same(["sh", "-c", "ulimit %s; ulimit -v; ulimit -d; exec %s inherited" % (limit, program())])


@case("limits that btrec itself is started with")
def from_start():
    for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        for hard in (300 * MB, 400 * MB, INF) if capable(SYS_RESOURCE) else (400 * MB, INF):
            same([program(), "inherited"], setup=limited(which, 300 * MB, hard))


@case("a user's soft limits are the program's: btrec goes beyond them")
def own_limits():
    hard = {which: resource.getrlimit(which)[1] for which in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE)}

    def setup():
        for which in hard:
            resource.setrlimit(which, (32 if which == resource.RLIMIT_NOFILE else 4096, hard[which]))

    if any(0 <= limit < 1000 for limit in hard.values()):
        raise Skip("the test itself runs below hard limits")
    alone, recorded = same_as_native([program(), "crowd"], setup=setup)
    equal(alone.out, b"40; 32 descriptors\n", "native output")
    equal(len(report(recorded.trace)["processes"]), 41, "processes")
    check("early" not in recorded.own_err, recorded.own_err)


@case("reached by --from")
def from_function():
    same([program(), "inherited"], ["--from", "fill"], setup=limited(resource.RLIMIT_AS, 300 * MB, INF))
    same([program(), "inherited"], ["--from", "in_child"], setup=limited(resource.RLIMIT_DATA, 300 * MB, INF))


def as_nobody(argv, which, soft, hard):
    """Alone and recorded by one who may raise no hard limit."""
    need_root()
    setup = limited(which, soft, hard)
    folder = fresh_dir("nobody", 0o777)
    tool = shutil.copy(BTREC, os.path.join(folder, "btrec"))
    copy = shutil.copy(argv[0], os.path.join(folder, "program"))
    trace = os.path.join(folder, "trace")
    other = dict(user=NOBODY, group=NOBODY, extra_groups=[], cwd=folder, setup=setup)
    alone = execute([copy, *argv[1:]], **other)
    recorded = execute([tool, "run", "-o", trace, "--", copy, *argv[1:]], **other)
    equal(recorded.status, alone.status, "status (%s)" % recorded.own_err)
    recorded.trace = trace
    return alone, recorded


@case("limits that btrec itself is started with: a user's soft ones")
def from_start_soft():
    for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        for hard in (500 * MB, INF):
            alone, recorded = as_nobody([program(), "inherited"], which, 300 * MB, hard)
            equal(recorded.out, alone.out, "stdout")


@case("limits that btrec itself is started with: a user's hard one leaves less room, and is the program's all the same")
def from_start_hard():
    alone, recorded = as_nobody([program(), "inherited"], resource.RLIMIT_AS, 300 * MB, 300 * MB)
    equal(recorded.out.splitlines()[:2], alone.out.splitlines()[:2], "limits")
    room = [int(run.out.split(b"private ")[1].split()[0]) for run in (alone, recorded)]
    check(0 < room[0] - room[1] <= 72 * MB // 4096, "pages alone and recorded: %s" % room)
    alone, recorded = as_nobody([program(), "rules-as-user"], resource.RLIMIT_AS, 980 * MB, 1000 * MB)
    equal(recorded.out, alone.out, "stdout")
    equal(note(recorded.trace), 0, "notes that there is no room")


@case("a set-uid program, detached, has the limits of who ran it")
def detached_at_exec():
    need_root()
    folder = fresh_dir("setuid", 0o777)
    copies = [shutil.copy(program(), os.path.join(folder, name)) for name in ("first", "second")]
    tool = shutil.copy(BTREC, os.path.join(folder, "btrec"))
    os.chmod(copies[1], 0o4755)
    other = dict(user=NOBODY, group=NOBODY, extra_groups=[], cwd=folder, env=dict(os.environ, OTHER=copies[1]))
    alone = execute([copies[0], "other-program"], **other)
    recorded = execute([tool, "run", "-o", os.path.join(folder, "trace"), "--", copies[0], "other-program"], **other)
    equal((recorded.status, recorded.out), (0, alone.out), "end and output")
    if b"euid 0\n" not in alone.out:
        raise Skip("set-uid has no effect here (nosuid)")
    check("detached" in text(os.path.join(folder, "trace")), "it was not detached")


@case("a daemon that is detached has its own limits")
def detached():
    script = "ulimit -Sv 500000; ulimit -Sd 400000; exec %s leave" % program()
    run = record(["sh", "-c", script])
    daemon = int(run.out)

    def limits():
        with open("/proc/%d/limits" % daemon) as file:
            said = file.read()
        return [int(re.search(name + r" +(\d+)", said).group(1)) for name in ("Max address space", "Max data size")]

    try:
        raised = limits()
        check(raised[0] > 500000 << 10 and raised[1] >= 400000 << 10, "nothing was added: %s" % raised) # its data are shared memory
        recorder = int(re.search(r"recorder_pid=(\d+)", execute([BTREC, "dump", run.trace]).out.decode()).group(1))
        os.kill(recorder, signal.SIGTERM)
        wait_until(lambda: limits() == [500000 << 10, 400000 << 10], "limits taken back")
    finally:
        os.kill(daemon, signal.SIGKILL)


@case("a user's hard limit in which the engine does not fit: stepped, which is said while the program runs, once for all processes")
def no_room_said():
    need_root()
    folder = fresh_dir("tool")
    tool, program_ = (shutil.copy(path, folder) for path in (BTREC, program()))
    trace = os.path.join(fresh_dir("nobody", 0o777), "trace")
    for quiet in [], ["--quiet"]:
        said = fresh("stderr")
        with open(said, "wb") as file:
            run = start([tool, "run", *quiet, "-o", trace + "".join(quiet), "--", program_, "waits"], stdin=subprocess.PIPE, stderr=file,
                        user=NOBODY, group=NOBODY, extra_groups=[], cwd="/", preexec_fn=limited(resource.RLIMIT_AS, 60 * MB, 60 * MB))
        because = wait_until(lambda: Result(0, err=content_of(said)).stepped_because, "a line that says so")
        equal(because, ["a hard limit of memory that cannot be raised"], "what is said")
        check(run.poll() is None, "the program is over")
        run.communicate(b"")
        equal((run.returncode, content_of(said).count(b"\n")), (0, 1 if quiet else 2), "end, and lines (%s)" % content_of(said))


@case("a user's hard limit in which the engine does not fit: stepped, the trace says so, nothing is missing")
def no_room():
    alone, recorded = as_nobody([program(), "inherited"], resource.RLIMIT_AS, 60 * MB, 60 * MB)
    equal(recorded.out, alone.out, "stdout")
    check(note(recorded.trace), "the trace does not say why")


LITTLE = 64 << 10
TEXT = b"".join(b"program 7/7 %d.000000: branches: 401010 0x401000/0x401010/P/-/-/0\n" % second for second in range(1, 9))


@case("little stack, for a user who may not have more: every command does what it does, the program has its own limit")
def little_stack():
    need_root()
    tools = fresh_dir("tools")
    program_ = shutil.copy(build("ends.cc"), tools)
    btrec_, btview_ = (shutil.copy(tool, tools) for tool in (BTREC, BTVIEW))
    for hard in LITTLE, INF:
        folder = fresh_dir("nobody", 0o777)
        other = dict(user=NOBODY, group=NOBODY, extra_groups=[], cwd=folder, env=dict(os.environ, XDG_DATA_HOME=folder, HOME=folder, TMPDIR=folder),
                     setup=lambda: resource.setrlimit(resource.RLIMIT_STACK, (LITTLE, hard)))
        says_all = ["sh", "-c", "ulimit -Ss; ulimit -Hs; exec %s noexcept" % program_]
        alone = execute(says_all, **other)
        check(alone.out.startswith(b"64\n%s\n" % (b"unlimited" if hard == INF else b"%d" % (hard >> 10))), "native limits: %s" % alone.out)
        for options in [], ["--parallel"]:
            recorded = execute([btrec_, "run", *options, "-o", "trace" + "".join(options), "--", *says_all], **other)
            equal((recorded.status, recorded.out), (alone.status, alone.out), "end and output (%s)" % recorded.own_err)
        equal(execute([btrec_, "run", "-o", "from", "--from", "main", "--", program_, "noexcept"], **other).status, alone.status, "end with --from")
        equal(execute([btrec_, "import", "-o", "capture", "-"], stdin=TEXT, **other).status, 0, "import")
        for argv in (["info", "trace"], ["dump", "trace"], ["info", "capture"]):
            equal(execute([btrec_, *argv], **other).status, 0, "btrec " + " ".join(argv))
        equal(execute([btrec_, "list"], **other).status, 1, "btrec list, of none")
        # Its children end by _exit(), before which AddressSanitizer clears what it takes for the rest of the stack: of another one than they have.
        if not has_sanitizer():
            equal(execute([btrec_, "doctor"], **other).status, execute([btrec_, "doctor"]).status, "btrec doctor")
        for argv in (["--stdio", "trace"], ["--json", "trace"], ["--export", "perf-script", "trace"], ["--stdio", "from"], ["--stdio", "capture"]):
            shown = execute([btview_, *argv], **other)
            equal(shown.status, 0, "btview %s (%s)" % (" ".join(argv), shown.err))
        check(re.search(rb"main\+0x\w+ ends.cc:\d+", execute([btview_, "--stdio", "trace"], **other).out), "no lines of the source")


main()
