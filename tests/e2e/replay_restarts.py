#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Calls that signals interrupt: made again by the kernel, continued by restart_syscall, or failed with EINTR, with and without a
# handler that runs in between. What the recorded program got is what it gets alone, and the replay gives it again.
import fcntl
import socket
import struct
import termios

from replays import *

TIMED = ("nanosleep clock_nanosleep clock_nanosleep-until poll ppoll select pselect futex-time semtimedop epoll_wait sigtimedwait recv-time "
         "read-timer mq_timedreceive mq_timedsend futex-lock-pi futex_waitv-time accept-time").split()
ENDLESS = ("read write recv read-event flock futex semop msgrcv fcntl-lock fcntl-own-lock mq_receive mq_send accept connect open-to-read open-to-write "
           "read-inotify read-signal read-terminal splice recvmmsg msgsnd futex_waitv wait4 waitid "
           "pause sigsuspend").split()
EINTR, TIMES_OUT, AGAIN = (-1, 4), (-1, 110), (-1, 11)
# No signal ends what waits for a lock with priorities inherited.
ENDED = {name: EINTR for name in ENDLESS + TIMED} | {"clock_nanosleep": (4, 0), "clock_nanosleep-until": (4, 0), "futex-lock-pi": TIMES_OUT}
# By what is done about the signal: the result and errno of each call.
RESULTS = {
    "restart": ENDED | {"read": (1, 0), "write": (4096, 0), "recv": (1, 0), "read-event": (8, 0), "futex": AGAIN, "futex_waitv": AGAIN,
                        "read-timer": (8, 0), "mq_receive": (1, 0), "read-inotify": (16, 0), "read-signal": (128, 0), "read-terminal": (5, 0),
                        "splice": (1, 0), "recvmmsg": (1, 0)}
                     | {name: (0, 0) for name in "flock fcntl-lock fcntl-own-lock mq_send accept connect open-to-read open-to-write wait4 waitid".split()}
                     | {name: TIMES_OUT for name in "mq_timedreceive mq_timedsend futex_waitv-time".split()},
    "end": ENDED,
    "mixed": ENDED,
    "ignored": {name: (0, 0) for name in TIMED} | {"read-timer": (8, 0)} | {name: AGAIN for name in "semtimedop sigtimedwait recv-time accept-time".split()}
               | {name: TIMES_OUT for name in "futex-time mq_timedreceive mq_timedsend futex-lock-pi futex_waitv-time".split()},
}


interrupted = {} # recordings, by how and by whom


def interrupted_calls(how, every, *record_options):
    if (how, *record_options) not in interrupted:
        # A process that the program traces can be waited for; at a child of its own the log would end.
        traced = subprocess.Popen(["sleep", "1000"])
        try:
            interrupted[(how, *record_options)] = recorded([build("restarts.c", *STATIC, "-O2"), how, every, str(traced.pid)], *record_options)
        finally:
            traced.kill()
            traced.wait()
    return interrupted[(how, *record_options)]


def add(how, text, record_options=(), replay_options=(), every="2"):
    @case("calls that signals interrupt: " + text, sanitized=not (record_options or replay_options))
    def run():
        result = interrupted_calls(how, every, *record_options)
        again = replayed(result.trace, "-q", *replay_options)
        equal((again.status, again.err, again.out), (0, result.err, result.out), "status, errors and output of the replay")
        got = {name: (int(value), int(error)) for name, value, error in re.findall(rb"^(\S+) (-?\d+) (\d+) alarms \d+$", result.out, re.M)}
        equal({name.decode(): value for name, value in got.items()}, RESULTS[how], "results of the calls")


add("restart", "a handler with SA_RESTART")
add("end", "a handler without it")
add("ignored", "an ignored signal")
add("mixed", "an ignored signal, then one with a handler")
add("restart", "a handler with SA_RESTART, replayed by the stepper", replay_options=["--backend", "step"])
# Stepped, a handler must end before the next alarm.
add("mixed", "an ignored signal, then one with a handler, recorded by the stepper", ["--backend", "step"], every="20")

MOVED = b"".join(b"%d\n" % n for n in range(90000))  # more than a pipe or a socket holds


def status_of(pid, name):
    with open("/proc/%d/status" % pid) as file:
        return re.search(r"^%s:\s*(\S+)" % name, file.read(), re.M)[1]


def wait_for(happened):
    limit = time.monotonic() + 60
    while not happened():
        check(time.monotonic() < limit, "it does not happen: %s" % happened.__name__)
        time.sleep(0.001)


def size_by(request, end):
    return struct.unpack("i", fcntl.ioctl(end, request, b"    "))[0]


def add_cut(how, text, signals, *record_options):
    @case("a transfer that is made again for its rest: " + text)
    def run():
        folder = fresh_dir("cut")
        program, path, trace = os.path.join(folder, "cut_alone"), os.path.join(folder, "file"), os.path.join(folder, "trace")
        shutil.copy(build("cut_alone.c", "-O2", *STATIC), program)
        with open(path, "wb") as file:
            file.write(MOVED)
        ours, its = [end.detach() for end in socket.socketpair()]
        child = subprocess.Popen([BTREC, "run", "-q", "--replayable", *record_options, "-o", trace, program, how, path], stdin=its, stderr=subprocess.PIPE)
        os.close(its)
        came = b""
        if how == "recv":
            os.write(ours, MOVED[:300])
        wait_for(lambda: children_of(child.pid) and children_of(children_of(child.pid)[0]))
        pid = children_of(children_of(child.pid)[0])[0]

        def waits_in_the_call():
            moved = size_by(termios.TIOCOUTQ, ours) == 0 if how == "recv" else size_by(termios.FIONREAD, ours) > 0
            return moved and status_of(pid, "State") == "S"

        def has_taken_it():
            return not int(status_of(pid, "SigPnd"), 16) | int(status_of(pid, "ShdPnd"), 16)

        wait_for(waits_in_the_call)
        for signo in signals:
            os.kill(pid, signo)
            wait_for(has_taken_it)
            wait_for(waits_in_the_call)
        if how == "recv":
            os.write(ours, MOVED[300:])
        else:
            while piece := os.read(ours, 1 << 16):
                came += piece
        said = child.communicate(timeout=60)[1]
        os.close(ours)
        equal((child.returncode, came), (0, b"" if how == "recv" else MOVED), "end, and what came")
        if signal.SIGUSR1 not in signals:
            check(("%s all, signals 0\n" % how).encode() in said, said)
        shutil.copytree(trace, folder + "-trace")
        shutil.rmtree(folder)
        for options in {(), record_options}:
            again = execute([BTREC, "replay", "-q", *options, folder + "-trace"])
            equal((again.status, again.err, again.out), (0, said, b""), "status, errors and output of the replay")


for each in ("write", "send", "copy", "recv"):
    add_cut(each, each + ", ignored signals", [signal.SIGWINCH, signal.SIGURG, signal.SIGWINCH])
    add_cut(each, each + ", an ignored one and one with a handler", [signal.SIGWINCH, signal.SIGUSR1, signal.SIGURG])
add_cut("write", "write, stepped", [signal.SIGWINCH, signal.SIGUSR1, signal.SIGURG], "--backend", "step")


def same_by(how, program, status, backend, by):
    result = recorded([program, *how.split()], "--backend", backend, status=status)
    again = replayed(result.trace, "-q", "--backend", by)
    equal((again.status, again.err, again.out), (0, result.err, result.out), "the replay of %s, %s by %s" % (how, backend, by))


@case("handlers whose frame has no room on the stack: SIGSEGV comes in their place, with what was written of the frame")
def failed_frames():
    program = build("failed_frame.c", *STATIC, "-O1")
    # How large a frame is depends on the processor: some room is found of which a part is written.
    apart = ["apart %d" % room for room in range(64, 4096, 64) if re.search(rb" [1-9]\d* words", native([program, "apart", str(room)]).out)]
    check(apart, "what is written of a frame on an alternate stack")
    killed, handled = -signal.SIGSEGV, 4
    for how, status in (("deep 0", killed), ("sent 600", killed), ("sent 600 x", handled), ("sent 3000 x", handled), ("waits 3000 x", handled),
                        ("again 1200 x", handled), (apart[-1], handled)):
        expected = native([program, *how.split()])
        equal(expected.status, status, "end of the program, " + how)
        same_by(how, program, status, "engine", "engine")
        if how == "sent 3000 x":
            same_by(how, program, status, "engine", "step")
            same_by(how, program, status, "step", "engine")


main()
