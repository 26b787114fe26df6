#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Signals from outside while btrec replay runs: of the terminal, of job control, of anybody who sends one to the process in which the
# program runs again. None is the log's, so none makes a difference.
from replays import *
from terminals import *

LOOPS = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
static volatile sig_atomic_t alarms;
static void count(int signo) { alarms += signo == SIGALRM; }
int main(int argc, char **argv)
{
	unsigned long rounds = strtoul(argv[argc - 1], 0, 10), x = 1;
	struct itimerval often = {{0, 20000}, {0, 20000}};

	signal(SIGALRM, count);
	setitimer(ITIMER_REAL, &often, 0);
	puts("begins");
	fflush(stdout);
	for (unsigned long i = 0; i < rounds; i++)
		x = x * 6364136223846793005 + (x >> 60 & 1 ? 1 : alarms);
	printf("%lu with %d\n", x, (int)alarms);
}
"""

# By backend, the rounds of a loop that takes some seconds.
ROUNDS = {"engine": 500000000, "step": 10000}
# All that somebody may send and that a process without handlers would die of, stop at, go on for, or ignore.
SENT = [signal.SIGUSR1, signal.SIGCONT, signal.SIGWINCH, signal.SIGTSTP, signal.SIGALRM, signal.SIGTERM, signal.SIGSEGV, signal.SIGTRAP, signal.SIGRTMIN]
recordings = {}


def loop_recorded(backend):
    source = os.path.join(TMP, "loops.c")
    program = os.path.join(TMP, "loops")
    if not os.path.exists(program):
        with open(source, "w") as file:
            file.write(LOOPS)
        subprocess.run([*CC, "-O1", *STATIC, source, "-o", program], check=True)
    if backend not in recordings:
        recordings[backend] = recorded([program, str(ROUNDS[backend])], "--backend", backend)
        check(int(recordings[backend].out.split()[-1]) > 10, "alarms in the recording: %r" % recordings[backend].out)
    return recordings[backend]


def state_of(pid):
    with open("/proc/%d/stat" % pid) as file:
        return file.read().rpartition(")")[2].split()[0]


def host_of(replay):
    """The process in which the program runs again."""
    return children_of(replay)[0]


for backend in "engine", "step":

    @case("signals that are sent to a replay's process are not the log's: " + backend)
    def sent(backend=backend):
        result = loop_recorded(backend)
        process = start([BTREC, "replay", "-q", "--backend", backend, result.trace])
        first, times = process.stdout.readline(), 0
        host = host_of(process.pid)
        while process.poll() is None and times < 200:
            for signo in SENT:
                try:
                    os.kill(host, signo)
                except ProcessLookupError:
                    break
            times += 1
            time.sleep(0.002)
        out, err = process.communicate(timeout=120)
        equal((process.returncode, err, first + out), (0, b"", result.out), "status, errors and output of the replay")
        check(times >= 20, "signals were sent %d times only" % times)

    @case("a terminal that is resized, ^Z and fg make no difference to a replay: " + backend)
    def at_terminal(backend=backend):
        result = loop_recorded(backend)
        with shell() as t:
            t.send(command([BTREC, "replay", "--backend", backend, result.trace]) + "\r")
            t.expect("begins\r")
            replay = os.tcgetpgrp(t.fd)
            host = host_of(replay)
            for lines in range(20, 30):
                fcntl.ioctl(t.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, 97, 0, 0))
            t.send("\x1a")
            t.expect("Stopped")
            wait_until(lambda: state_of(replay) == "T" and state_of(host) in "tT", "the replay and its process stopped")
            fcntl.ioctl(t.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 97, 0, 0))
            t.send("fg\r")
            t.expect(r"fg\r\n")
            t.expect(re.escape(result.out.split(b"\n")[1].decode()) + "\r", 120)
            t.expect("events, exited with 0")
            t.expect(r"\$ ")
            equal(ask_status(t), 0, "status")
            t.send("exit\r")
            t.wait()

    @case("^C ends a replay at once: " + backend)
    def interrupted(backend=backend):
        result = loop_recorded(backend)
        with Terminal([BTREC, "replay", "--backend", backend, result.trace]) as t:
            t.expect("begins\r")
            host = host_of(t.pid)
            t.send("\x03")
            equal(t.wait(), -signal.SIGINT, "end of btrec replay")
            wait_until(lambda: not os.path.exists("/proc/%d" % host), "the end of the replay's process")


@case("signals that are sent while a replay begins, and while it makes mappings, are not the log's")
def sent_early():
    path, times = os.path.join(TMP, "mapped"), 0
    with open(path, "wb") as file:
        file.write(b"".join(b"%d\n" % n for n in range(170000)))
    result = recorded([build("maps_often.c"), path, "40"])
    # The search for leaks has a process of its own, which is not to be killed.
    env = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
    for _ in range(30):
        process, until = start([BTREC, "replay", "-q", result.trace], env=env), time.monotonic() + 60
        while process.poll() is None and time.monotonic() < until:
            for host in children_of(process.pid):
                try:
                    os.kill(host, SENT[times % len(SENT)])
                except ProcessLookupError:
                    continue
                times += 1
            time.sleep(0.0005) # each is a stop: it is to get on
        out, err = process.communicate(timeout=60)
        equal((process.returncode, err, out), (0, b"", result.out), "status, errors and output of the replay")
    check(times >= 30, "signals were sent %d times only" % times)


def with_early(*signals):
    """The environment of a btrec whose process gets these signals between its fork and its execve."""
    return dict(os.environ, LD_PRELOAD=build("early_signals.c", "-shared", "-fPIC", "-D_GNU_SOURCE", name="libearly_signals.so"),
                EARLY_SIGNALS=" ".join(str(int(signo)) for signo in signals), ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")


@case("signals that nobody can block reach the process before its execve, of a recording and of a replay: it goes on, once it is continued")
def before_execve():
    program = ["/bin/echo", "here"]
    for signals in [signal.SIGCONT], [signal.SIGCONT, signal.SIGCONT, signal.SIGWINCH, signal.SIGCONT], [signal.SIGSTOP, signal.SIGCONT]:
        result = record(program, ["--replayable", "--quiet"], env=with_early(*signals))
        equal((result.status, result.out), (0, b"here\n"), "end and output of the recording, after %s" % signals)
        again = execute([BTREC, "replay", "-q", result.trace], env=with_early(*signals))
        equal((again.status, again.err, again.out), (0, b"", result.out), "status, errors and output of the replay, after %s" % signals)


@case("a replay whose process is stopped before its execve waits until it is continued")
def stopped_before_execve():
    result = recorded(["/bin/echo", "here"])
    process = start([BTREC, "replay", "-q", result.trace], env=with_early(signal.SIGSTOP))
    wait_until(lambda: children_of(process.pid) and state_of(host_of(process.pid)) in "tT", "the stop")
    equal(process.poll(), None, "end of the replay")
    os.kill(host_of(process.pid), signal.SIGCONT)
    out, err = process.communicate(timeout=60)
    equal((process.returncode, err, out), (0, b"", result.out), "status, errors and output of the replay")


@case("a replay whose process is killed is no divergence")
def killed_from_outside():
    result = loop_recorded("engine")
    process = start([BTREC, "replay", "-q", result.trace])
    process.stdout.readline()
    os.kill(host_of(process.pid), signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    equal(process.returncode, 69, "status")
    check(b"was killed" in err and b"divergence" not in err, err)


main()
