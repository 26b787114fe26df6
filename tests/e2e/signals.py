#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Signals that come from outside of the instruction stream: nothing is lost, doubled or seen elsewhere because of stepping.
import os
import signal

from e2e import *

NAMES = """alarms profiling restarted-reads restarted-sleep suspended by-descriptor several jump-out between-threads queued
child-ends children-ignored""".split()


def storm():
    return build("storm.c", *STATIC, "-pthread")


def add(name):
    @case("signals: " + name)
    def run():
        same_as_native([storm(), name], ["--from", "main"])


for name_ in NAMES:
    add(name_)


@case("every case of storm is tried")
def all_tried():
    equal(sorted(native([storm()]).out.decode().split()), sorted(NAMES), "cases")


@case("a snapshot of each asynchronous signal, limited in number")
def snapshots_of_signals():
    recorded = record([storm(), "queued"], ["--from", "main"])
    kinds = [s["kind"] for s in report(recorded.trace)["snapshots"]]
    equal(len(kinds), 1, "snapshots " + repr(kinds))


def outside(mode, *options):
    """Starts the recorded program that waits, blocked or spinning. Returns the process and the program's pid."""
    trace = fresh("trace")
    process = start([BTREC, "run", "-o", trace, *options, "--", build("outside.c", *STATIC), *mode], cwd=TMP,
                    preexec_fn=lambda: limit_core(0))
    return process, int(process.stdout.readline()), trace


def state(pid):
    with open("/proc/%d/stat" % pid) as file:
        return file.read().rsplit(")", 1)[1].split()[0]


def stays_stopped(pid):
    """For as long as somebody would need who is about to continue it."""
    end = time.monotonic() + 0.1
    while state(pid) == "T" and time.monotonic() < end:
        time.sleep(0.01)
    return state(pid) == "T"


def cpu(pid):
    with open("/proc/%d/stat" % pid) as file:
        return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))


def add_stop(mode):
    @case("SIGSTOP and SIGCONT from outside, " + (mode[0] if mode else "blocked"))
    def run():
        process, pid, trace = outside(mode)
        for _ in range(3):
            os.kill(pid, signal.SIGSTOP)
            wait_until(lambda: state(pid) in "tT", "the stop")
            time.sleep(0.1)
            before = cpu(pid)
            time.sleep(0.1)
            check(cpu(pid) - before <= 1, "the stopped program runs")
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.1)
        os.kill(pid, signal.SIGTERM)
        equal(process.wait(30), -signal.SIGTERM, "end of btrec")

    @case("SIGKILL of a stopped program, " + (mode[0] if mode else "blocked"))
    def kill():
        process, pid, trace = outside(mode)
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: state(pid) in "tT", "the stop")
        os.kill(pid, signal.SIGKILL)
        equal(process.wait(30), -signal.SIGKILL, "end of btrec")
        equal(report(trace)["exit"]["signal"], "SIGKILL", "exit signal")


for mode_ in ([], ["spin"]):
    add_stop(mode_)


@case("SIGTERM to btrec is passed on to the program, once")
def passed_on():
    process, pid, trace = outside(["spin"])
    os.kill(process.pid, signal.SIGTERM)
    equal(process.wait(30), -signal.SIGTERM, "end of btrec")
    equal(report(trace)["exit"]["signal"], "SIGTERM", "exit signal")
    process, pid, trace = outside([])
    os.kill(process.pid, signal.SIGABRT) # as a watchdog does
    equal(process.wait(30), -signal.SIGABRT, "end of btrec")
    with open("/proc/self/comm") as file:
        whose = "(btrec, passed on from process %d (%s), user %d)" % (os.getpid(), file.read().strip(), os.getuid())
    check(whose in report(trace)["fault"]["text"], "whose signal: " + report(trace)["fault"]["text"])


COUNTS = """
import signal, sys, time
n = 0
def handler(*_):
    global n
    n += 1
if sys.argv[1] == "handled":
    signal.signal(signal.SIGINT, handler)
else:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
print("waits", flush=True)
end = time.monotonic() + 2
while time.monotonic() < end:
    if sys.argv[1] == "handled":
        time.sleep(0.1) # the handler counts
    elif signal.sigtimedwait([signal.SIGINT], 0.1):
        n += 1
print(n)
"""


@case("what the whole process group is sent reaches the program once")
def group_sent():
    for how in ("handled", "waited"):
        process = start([BTREC, "run", "-o", fresh("trace"), "--", "/usr/bin/python3", "-c", COUNTS, how], cwd=TMP)
        check(process.stdout.readline(), "the program said nothing")
        os.killpg(process.pid, signal.SIGINT)
        equal(process.stdout.read(), b"1\n", "signals (%s)" % how)
        equal(process.wait(30), 0, "end of btrec")


def is_gone(pid):
    try:
        return state(pid) in "ZX"
    except OSError:
        return True


def gone_with(victim, process, pid, trace):
    recorder = recorder_of(process)
    os.kill(victim, signal.SIGKILL)
    process.wait(30)
    try:
        wait_until(lambda: is_gone(pid) and is_gone(recorder), "the end of the program and the recorder")
    finally:
        for left in (recorder, pid):
            if not is_gone(left):
                os.kill(left, signal.SIGKILL)
        forget_recorder(recorder)
    equal(execute([BTVIEW, "--stdio", trace]).status, 0, "status of btview")


@case("signals that come before the recorder runs are passed on")
def early_signals():
    program = build("status.S", *BARE)
    for _ in range(20):
        process = start([BTREC, "run", "-o", fresh("trace"), "--", program])
        while process.poll() is None:
            os.kill(process.pid, signal.SIGWINCH)
        equal(process.returncode, 0, "status (%s)" % process.stderr.read().decode())


@case("a program that goes on while btrec is about to stop with it takes btrec along")
def late_stop():
    told = fresh("late")
    preload = {"LD_PRELOAD": build("late_raise.c", "-shared", "-fPIC", name="liblate_raise.so"), "LATE_RAISE": told,
               "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
    process = start([BTREC, "run", "-o", fresh("trace"), "--", build("outside.c", *STATIC)], cwd=TMP, env={**os.environ, **preload})
    pid = int(process.stdout.readline())
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: os.path.exists(told), "btrec to read of the stop")
    os.kill(pid, signal.SIGCONT)
    wait_until(lambda: os.path.getsize(told), "btrec to go on")
    os.kill(pid, signal.SIGTERM)
    equal(process.wait(30), -signal.SIGTERM, "end of btrec")


@case("a program that is stopped again at once stays stopped")
def stopped_again():
    for round_ in range(8):
        process, pid, _ = outside([])
        for signo in (signal.SIGSTOP, signal.SIGCONT, signal.SIGSTOP):
            os.kill(pid, signo)
            time.sleep(round_ * 0.002)
        wait_until(lambda: stays_stopped(process.pid), "btrec to be stopped")
        os.kill(pid, signal.SIGTERM)
        os.kill(pid, signal.SIGCONT)
        equal(process.wait(30), -signal.SIGTERM, "end of btrec")


@case("the program ends with a killed btrec")
def killed_front():
    process, pid, trace = outside(["spin"])
    gone_with(process.pid, process, pid, trace)
    equal(process.returncode, -signal.SIGKILL, "end of btrec")


@case("the program ends with a killed recorder: 125")
def killed_recorder():
    process, pid, trace = outside(["spin"])
    gone_with(recorder_of(process), process, pid, trace)
    equal(process.returncode, 125, "end of btrec")
    check(b"killed" in process.stderr.read(), "nothing said")


@case("the next recorder removes the socket that a killed one left")
def swept_socket():
    for _ in range(10): # another test's recorder may come by and remove it
        process, pid, trace = outside(["spin"])
        recorder = recorder_of(process)
        paths = ["/tmp/btrec-%d/%d" % (os.geteuid(), recorder), "/run/user/%d/btrec/%d" % (os.geteuid(), recorder)]
        path = wait_until(lambda: next((p for p in paths if os.path.exists(p)), None), "a control socket")
        os.kill(recorder, signal.SIGKILL)
        process.wait(30)
        wait_until(lambda: is_gone(recorder), "the end of the recorder")
        if os.path.exists(path):
            break
    check(os.path.exists(path), "a killed recorder removed its socket")
    equal(record(["sleep", "0.5"]).status, 0, "status") # one that listens: it does from its first tick on, a tenth of a second from its start
    check(not os.path.exists(path), "the socket is still there")


@case("btrec snap of a program that has just started: it waits for the recorder to listen")
def early_snap():
    trace = fresh("trace")
    process = start([BTREC, "run", "-q", "-o", trace, "--", "sleep", "1"], cwd=TMP)
    asked = execute([BTREC, "snap", str(process.pid)])
    equal((asked.status, asked.err), (0, b""), "snap")
    equal(process.wait(TIMEOUT), 0, "status")
    equal([s["kind"] for s in report(trace)["snapshots"]], ["request"], "snapshots")


main()
