#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Surroundings that are hostile, or poor: another user at the control socket, things in the place of kept files, no memory for histories, a disk that
# fails, calls at stops for a long time (BTREC_CALLS; ./check --full makes it an hour).
import re
import shutil
import signal
import socket

from e2e import *

USER, OTHER = 65500, 65501 # whose places for sockets no other test uses
MB = 1 << 20


def as_user(number, home):
    return dict(user=number, group=number, extra_groups=[], cwd=home, env=dict(os.environ, HOME=home, XDG_CACHE_HOME=home))


def waiting(home, user, *options):
    """btrec run of a program that waits, by that user; when it waits."""
    tool = shutil.copy(BTREC, home)
    process = start([tool, "run", *options, "-o", os.path.join(home, "trace"), "--", "sh", "-c", "echo waits; read x"], stdin=subprocess.PIPE,
                    **as_user(user, home))
    equal(process.stdout.readline(), b"waits\n", "what the program says")
    return tool, process


def own_socket(user, recorder):
    places = ["/run/user/%d/btrec/%d" % (user, recorder), "/tmp/btrec-%d/%d" % (user, recorder)]
    return wait_until(lambda: next(filter(os.path.exists, places), None), "the control socket")


def say_as(user, path, line):
    """What is answered to that user, b"" where the connection is closed; PermissionError where it cannot be made."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        os.seteuid(user)
        try:
            client.connect(path)
            try:
                client.sendall(line)
                return client.recv(100)
            except (ConnectionResetError, BrokenPipeError):
                return b""
        finally:
            os.seteuid(0)


def snapshots(trace):
    return execute([BTREC, "dump", trace]).out.decode().count("\nSNAPSHOT ")


@case("the control socket lets nobody else in: not by its place, and not where its owner has opened that to all")
def control_socket():
    need_root()
    home = fresh_dir("home", 0o777)
    tool, process = waiting(home, USER)
    path = own_socket(USER, recorder_of(process))
    try:
        asked = execute([tool, "snap", str(process.pid)], **as_user(OTHER, home))
        check(asked.status in (69, 77) and asked.err.count(b"\n") == 1, "snap by another user: %d, %s" % (asked.status, asked.err))
        try:
            raise Failure("the socket can be reached: %s" % say_as(OTHER, path, b"snap 0\n"))
        except PermissionError:
            pass
        os.chmod(os.path.dirname(path), 0o755)
        os.chmod(path, 0o777)
        equal(say_as(OTHER, path, b"snap 0\n"), b"", "answer to another user")
        for line in b"", b"\n", b"snap", b"snap x\n", b"snap -1\n", b"snap 99999999999999999999\n", b"s" * 10000, bytes(range(256)):
            answer = say_as(USER, path, line) if line else b""
            check(answer == b"" or answer.startswith(b"error "), "answer to %r: %s" % (line[:30], answer))
        equal(say_as(USER, path, b"snap 0\n")[:4], b"ok 1", "answer to the user")
        equal(say_as(0, path, b"snap 0\n")[:4], b"ok 1", "answer to root")
    finally:
        process.communicate(b"\n", timeout=60)
        os.rmdir(os.path.dirname(path))
    equal(snapshots(os.path.join(home, "trace")), 2, "snapshots")


def kept_files(home):
    return [os.path.join(folder, name) for folder, _, names in os.walk(home) for name in names if os.path.isfile(os.path.join(folder, name))]


def put_fifo(path):
    os.mkfifo(path, 0o600)


def put_folder(path):
    os.mkdir(path, 0o700)


def put_socket(path):
    with socket.socket(socket.AF_UNIX) as s:
        here = os.open(os.path.dirname(path), os.O_DIRECTORY)
        os.fchdir(here)
        s.bind(os.path.basename(path))
        os.chdir(TMP)
        os.close(here)


def put_holes(path):
    with open(path, "wb") as file:
        os.chmod(path, 0o600)
        file.write(content)
        file.truncate(1 << 40)


def put_zeros(path):
    os.symlink("/dev/zero", path)


def put_link_to_itself(path):
    os.symlink(path, path)


def put_of_another_program(path):
    with open(path, "wb") as file:
        os.chmod(path, 0o600)
        file.write(foreign)


content = foreign = b""


@case("the translation cache's own directory: whatever lies in the place of a kept file changes no branch and takes no time")
def forged():
    global content, foreign
    home = fresh_dir("cache", 0o700)
    program_ = build("branchy.c", "-O1", "-pthread", *STATIC)
    other = build("workload.c", *BARE, "-fno-stack-protector")
    env = dict(os.environ, XDG_CACHE_HOME=home)

    def run():
        recorded = record([program_, "1", "3000"], ["--deterministic"], env=env)
        equal(recorded.status, -signal.SIGSEGV, "status (%s)" % recorded.own_err)
        return branches(recorded.trace)

    record([other], env=env)
    record([other], env=env)
    of_other = kept_files(home)
    check(of_other, "nothing is kept")
    expected = run()
    run()
    files = [path for path in kept_files(home) if path not in of_other]
    check(files, "nothing is kept of the program")
    with open(max(of_other, key=os.path.getsize), "rb") as file:
        foreign = file.read()
    for path in files:
        with open(path, "rb") as file:
            content = file.read()
        for put in put_fifo, put_folder, put_socket, put_holes, put_zeros, put_link_to_itself, put_of_another_program:
            if os.path.isdir(path) and not os.path.islink(path):
                os.rmdir(path)
            elif os.path.lexists(path):
                os.unlink(path)
            put(path)
            equal(run(), expected, "branches with %s at %s" % (put.__name__, os.path.basename(path)))
        if os.path.lexists(path) and not os.path.isdir(path):
            os.unlink(path)


@case("histories under a limit of memory: the newest are kept, as many as a quarter of that holds, and the program does not notice")
def no_memory_for_history():
    need_root()
    if has_sanitizer():
        raise Skip("a sanitizer maps more than any limit")
    program_, number = build("many_records.c", *STATIC), 4000000
    alone = native([program_, str(number)])
    for limit in 160 * MB, 120 * MB:
        home = fresh_dir("home", 0o777)
        tool, copy = shutil.copy(BTREC, home), shutil.copy(program_, home)
        trace = os.path.join(home, "trace")
        recorded = execute([tool, "run", "--history", "100000000", "--history-memory", "4096", "-o", trace, "--", copy, str(number)],
                           setup=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)), **as_user(USER, home))
        equal((recorded.status, recorded.out), (alone.status, alone.out), "end and output below %d MB (%s)" % (limit // MB, recorded.own_err))
        info = execute([BTREC, "info", trace])
        equal(info.status, 0, "btrec info, below %d MB" % (limit // MB))
        kept = int(re.search(r"^branches +(\d+) kept", info.out.decode(), re.M).group(1))
        check(1000000 < kept < 3 * number, "below %d MB %d branches are kept of %d" % (limit // MB, kept, 3 * number))
        check("--history-memory" in info.out.decode(), "nothing is said of it: %s" % info.out.decode())



def failing(which, number):
    return dict(os.environ, LD_PRELOAD=build("failing_disk.c", "-shared", "-fPIC", name="libfailing_disk.so"), **{which: str(number)},
                ASAN_OPTIONS=os.environ["ASAN_OPTIONS"] + ":verify_asan_link_order=0")


@case("a disk that fails (EIO) when the trace is written: that is said, the program runs on, what was written can be read")
def failing_writes():
    disk = os.path.join(fresh_dir("disk"), "failing-disk")
    os.mkdir(disk)
    program_ = build("branchy.c", "-O1", *STATIC, "-pthread")
    alone = native([program_, "1", "20000"])
    for number in 1, 2, 3, 5, 8, 13:
        trace = os.path.join(disk, "trace-%d" % number)
        recorded = execute([BTREC, "run", "-o", trace, "--snap-exit", "always", "--", program_, "1", "20000"], env=failing("FAIL_WRITE", number), cwd=TMP)
        if recorded.status == 125: # before the program began
            check("Input/output error" in recorded.own_err and recorded.own_err.count("\n") == 1, recorded.own_err)
            continue
        equal((recorded.status, recorded.out), (alone.status, alone.out), "end and output, write %d (%s)" % (number, recorded.own_err))
        if "stopped early" in recorded.own_err:
            check("Input/output error" in recorded.own_err, recorded.own_err)
        shown = execute([BTVIEW, "--json", trace])
        check(shown.status in (0, 66, 76), "btview of what write %d left: %d, %s" % (number, shown.status, shown.err))


@case("a disk that fails when a trace is read: one line, and status 74 or what could be read")
def failing_reads():
    disk = os.path.join(fresh_dir("disk"), "failing-disk")
    os.mkdir(disk)
    trace = os.path.join(disk, "trace")
    execute([BTREC, "run", "-q", "-o", trace, "--", build("status.S", *BARE)])
    for number in 1, 2, 3, 4:
        for argv in [BTREC, "info", trace], [BTREC, "dump", trace], [BTVIEW, "--json", trace], [BTVIEW, "--stdio", trace]:
            result = execute(argv, env=failing("FAIL_READ", number), cwd=TMP)
            check(result.status in (0, 74, 76), "read %d, %s: %d, %s" % (number, argv[1], result.status, result.err))
            check(result.status == 0 or result.err.count(b"\n") >= 1, "nothing said of read %d, %s" % (number, argv[1]))


@case("many system calls at stops: each is in the trace, and the recorder's memory does not grow with them")
def calls_for_long():
    number = int(os.environ.get("BTREC_CALLS", "40000"))
    trace = fresh("trace")
    if number > 1000000 and shutil.disk_usage(TMP).free < number * 40:
        raise Skip("not enough room for the trace of so many calls")
    process = start([BTREC, "run", "-q", "-o", trace, "--", build("calls_at_stops.c", *STATIC), str(number)], stdin=subprocess.PIPE, cwd=TMP)
    peaks = []
    for expected in number // 20, number:
        equal(int(process.stdout.readline()), expected, "calls so far")
        with open("/proc/%d/status" % recorder_of(process)) as file:
            peaks.append(int(re.search(r"VmHWM:\s+(\d+) kB", file.read()).group(1)))
        process.stdin.write(b"\n")
        process.stdin.flush()
    equal(process.wait(TIMEOUT), 0, "end")
    check(has_sanitizer() or peaks[1] - peaks[0] < 8192, "kB that the recorder had at most after a twentieth and after all: %s" % peaks)
    dump = start([BTREC, "dump", trace])
    equal(sum(line.startswith(b"SYSCALL_ENTER ") and b" nr=0x3e " in line for line in dump.stdout), number, "calls in the trace")


main()
