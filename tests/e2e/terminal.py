#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A recorded program at a terminal: keys that make signals, job control of an interactive shell, the hangup.
from terminals import *


def world():
    return build("world.c", *STATIC)


def recorded(trace, *arguments):
    return [BTREC, "run", "-o", trace, "--", world(), *arguments]


def closed_cleanly(trace):
    shown = execute([BTVIEW, "--stdio", trace])
    equal((shown.status, shown.err), (0, b""), "status and notes of btview")
    return report(trace, "-n", "10")


@case("the terminal is the program's own")
def own_terminal():
    with Terminal(recorded(fresh("trace"), "terminal")) as t:
        t.expect(r"tty 111 foreground 1 leader 0")
        equal(t.wait(), 0, "status")


@case("an interactive program reads a line")
def ask():
    with Terminal(recorded(fresh("trace"), "ask")) as t:
        t.expect(r"name\? ")
        t.send("Ada\r")
        t.expect(r"hello Ada")
        equal(t.wait(), 0, "status")


@case("^C reaches a program that handles it")
def handled_interrupt():
    trace = fresh("trace")
    with Terminal(recorded(trace, "interrupt")) as t:
        t.expect("waiting")
        t.send("\x03")
        t.expect("handled 2")
        equal(t.wait(), 9, "status")
    equal(closed_cleanly(trace)["exit"]["status"], 9, "exit status in the trace")


@case("^C ends a program that does not handle it")
def fatal_interrupt():
    trace = fresh("trace")
    with Terminal(recorded(trace, "loop", "30")) as t:
        t.expect("looping")
        t.send("\x03")
        equal(t.wait(), -signal.SIGINT, "status")
    equal(closed_cleanly(trace)["exit"]["signal"], "SIGINT", "exit signal in the trace")


@case("^C while the program starts")
def early_interrupt():
    trace = fresh("trace")
    with Terminal(recorded(trace, "loop", "30")) as t:
        wait_until(lambda: os.path.isdir(trace), "the trace directory")
        t.send("\x03")
        equal(t.wait(), -signal.SIGINT, "status")


@case("^\\ ends a program with a fault in the report")
def quit_key():
    trace = fresh("trace")
    with Terminal(recorded(trace, "loop", "30")) as t:
        t.expect("looping")
        t.send("\x1c")
        equal(t.wait(), -signal.SIGQUIT, "status")
    equal(closed_cleanly(trace)["fault"]["signal"], "SIGQUIT", "signal in the trace")


@case("hangup")
def hangup():
    trace = fresh("trace")
    with Terminal(recorded(trace, "loop", "30")) as t:
        t.expect("looping")
        t.close()
        equal(t.wait(), -signal.SIGHUP, "status")
    equal(closed_cleanly(trace)["exit"]["signal"], "SIGHUP", "exit signal in the trace")


def foreground(t):
    """fg: returns when the shell has given the terminal to its job, and let it go on."""
    t.send("fg\r")
    t.expect(r"fg\r\n[^\n]*world[^\n]*\n")
    wait_until(lambda: os.tcgetpgrp(t.fd) != t.pid, "the job in the foreground")
    time.sleep(0.3)


def states_of(name, session):
    """The states, as in proc(5), of all processes of that name in a terminal's session."""
    states = ""
    for pid in os.listdir("/proc"):
        try:
            with open("/proc/%d/stat" % int(pid)) as file:
                comm, rest = re.fullmatch(r"\d+ \((.*)\) (.*)\n", file.read(), re.DOTALL).groups()
        except (ValueError, OSError):
            continue
        if comm == name and int(rest.split()[3]) == session:
            states += rest[0]
    return states


def all_are(states, name, t, what):
    """Waits until all processes of that name are in one of the states, and stay there."""
    wait_until(lambda: all(time.sleep(0.02) or re.fullmatch("[%s]+" % states, states_of(name, t.pid)) for _ in range(5)), what)


@case("^Z stops, fg goes on, ^C is handled")
def stop_and_foreground():
    trace = fresh("trace")
    with shell() as t:
        t.send(command(recorded(trace, "interrupt")) + "\r")
        t.expect("waiting\r")
        t.send("\x1a")
        t.expect("Stopped")
        t.expect(r"\$ ")
        equal(ask_status(t), 128 + signal.SIGTSTP, "status of the stopped job")
        foreground(t)
        t.send("\x03")
        t.expect("handled 2")
        t.expect(r"\$ ")
        equal(ask_status(t), 9, "status")
        t.send("exit\r")
        t.wait()
    equal(closed_cleanly(trace)["exit"]["status"], 9, "exit status in the trace")


@case("^Z twice, then bg lets the program finish")
def stop_and_background():
    trace = fresh("trace")
    with shell() as t:
        t.send(command(recorded(trace, "loop", "4")) + "\r")
        t.expect("looping")
        t.send("\x1a")
        t.expect("Stopped")
        foreground(t)
        t.send("\x1a")
        t.expect("Stopped")
        t.send("bg\r")
        t.send("wait %1; echo status=$?.\r")
        equal(int(t.expect(r"status=(\d+)\.\r").group(1)), 0, "status")
        t.send("exit\r")
        t.wait()
    equal(closed_cleanly(trace)["exit"]["status"], 0, "exit status in the trace")


@case("a program in the background that reads is stopped until fg")
def background_read():
    trace = fresh("trace")
    with shell() as t:
        t.send(command(recorded(trace, "ask")) + " &\r")
        t.expect(r"name\? ")
        time.sleep(0.3)
        t.send("\r")
        t.expect("Stopped")
        foreground(t)
        t.send("Ada\r")
        t.expect("hello Ada")
        t.expect(r"\$ ")
        equal(ask_status(t), 0, "status")
        t.send("exit\r")
        t.wait()


@case("a program that leads a group of its own reads, stops by ^Z, goes on with fg")
def own_group():
    for prefix in [], [BTREC, "run", "-q", "-o", fresh("trace"), "--"]:
        with shell() as t:
            t.send(command([*prefix, "timeout", "60", world(), "ask"]) + "\r")
            t.expect(r"name\? ")
            t.send("\x1a")
            t.expect("Stopped")
            t.expect(r"\$ ")
            all_are("Tt", "world", t, "all of the job stopped") # a read that ^Z has yet to end would take what is typed next
            foreground(t)
            t.send("Ada\r")
            t.expect("hello Ada")
            t.expect(r"\$ ")
            equal(ask_status(t), 0, "status")
            t.send("exit\r")
            t.wait()


@case("^C reaches a program that leads a group of its own, and its children")
def own_group_interrupt():
    for prefix in [], [BTREC, "run", "-q", "-o", fresh("trace"), "--"]:
        with shell() as t:
            t.send(command([*prefix, "timeout", "60", world(), "interrupt"]) + "\r")
            t.expect("waiting\r")
            all_are("S", "timeout", t, "timeout waiting") # before its fork(2) returned to it, a signal would end it alone
            t.send("\x03")
            t.expect("handled 2")
            t.expect(r"\$ ")
            equal(ask_status(t), 9, "status")
            t.send("exit\r")
            t.wait()


@case("in a pipeline")
def pipeline():
    with shell() as t:
        t.send("echo through | " + command(recorded(fresh("trace"), "copy")) + " | sed s/through/passed/\r")
        t.expect(r"\npassed\r")
        t.send("exit\r")
        t.wait()


@case("$? of a shell after a crash")
def shell_status():
    with shell() as t:
        t.send(command(recorded(fresh("trace"), "crash")) + "\r")
        t.expect("Segmentation fault")
        t.expect(r"\$ ")
        equal(ask_status(t), 128 + signal.SIGSEGV, "status")
        t.send("exit\r")
        t.wait()


@case("the viewer marks what is guessed of a stack")
def viewer_guesses():
    trace = record([build("without_cfi.c"), "chain"], ["--history", "off"]).trace
    with Terminal([BTVIEW, trace], {**os.environ, "TERM": "vt100", "LC_ALL": "C"}) as t:
        t.expect("What happened|SIGILL")
        t.send("t")
        t.expect(r"main\+0x[^\n]* \(guessed: no unwind information\)")
        t.send("q")
        t.send("q")
        equal(t.wait(), 0, "status")


main()
