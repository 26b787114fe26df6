#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A tree in which something fails: what is kept of the processes that are not the first, what the report and the viewer say of them, and that nothing
# that was handled is taken for the end.
import shlex

from e2e import *

SHORT, SECOND, MOST = 256, 32, 1000 # exits with failure: branches of each, how many in a second, how many in a trace


def shell(*argv):
    """A command line of sh."""
    return " ".join(map(shlex.quote, argv))


def failing(*ways):
    return [build("failing.c", *STATIC), *ways]


def dump(trace, kind):
    """The fields of the records of one kind, in order."""
    lines = execute([BTREC, "dump", trace]).out.decode(errors="replace").splitlines()
    return [dict(re.findall(r"(\w+)=(\S+)", line)) for line in lines if line.startswith(kind + " ")]


def number(fields, name):
    return int(fields[name], 0)


def kept(trace, kind):
    """Snapshots of one kind: (number, task)."""
    found = report(trace, "-n", "1")["snapshots"]
    return [(i + 1, s["task"]) for i, s in enumerate(found) if s["kind"] == kind]


def suppressed(trace, kind):
    return sum(number(s, "count") for s in dump(trace, "SUPPRESSED") if number(s, "kind") == kind)


def functions(thread):
    return [frame["function"] for frame in thread["stack"]]


@case("a compiler-like child of make dies: its registers, its whole stack and history are in the trace")
def killed_child():
    folder = fresh_dir("make")
    with open(os.path.join(folder, "Makefile"), "w") as file:
        file.write("all:\n\t@test -d /; %s\n" % shell(*failing("work=5000", "say=in-x.c", "null")))
    alone, recorded = same_as_native(["make", "-C", folder])
    equal(alone.status, 2, "native end")
    fatal = kept(recorded.trace, "fatal")
    equal(len(fatal), 1, "deaths that are kept")
    number_, task = fatal[0]
    found = report(recorded.trace, "-n", "100000")
    equal((found["fault"]["signal"], found["fault"]["task"]), ("SIGSEGV", task), "the fault")
    thread = found["threads"][0]
    equal(functions(thread)[:5], ["parse"] * 4 + ["main"], "stack")
    equal((thread["stack"][0]["line"], thread["stack_end"]), (line_of("failing.c", "parse"), "outermost"), "stack")
    equal(int(thread["registers"]["rip"], 0), int(found["fault"]["pc"], 0), "rip")
    jccs = [b for b in found["branches"] if b["kind"] == "jcc" and b["from"]["function"] == "work"]
    equal((len(jccs), found["gaps"]), (5001, []), "branches of the loop, and gaps")
    equal(found["verdict"]["state"], "consistent", "verdict")
    equal(report(recorded.trace, "-n", "1", "--snapshot", str(number_))["threads"][0]["task"], task, "the moment by its number")


@case("a child that is killed by SIGKILL is kept whole")
def killed_outside():
    result = record(["sh", "-c", "%s & sleep 0.2; kill -KILL $!; wait $!; exit 3" % shell(*failing("work=1000", "work=1000000000000"))])
    equal(result.status, 3, "end")
    fatal = kept(result.trace, "fatal")
    equal(len(fatal), 1, "deaths that are kept")
    found = report(result.trace, "--snapshot", str(fatal[0][0]), "-n", "1000")
    equal(functions(found["threads"][0])[:2], ["work", "main"], "stack")
    check(found["branches"] and found["verdict"]["state"] == "consistent", "branches")


@case("an exit with failure of a process that is not the first keeps its newest branches and what it said")
def failed_child():
    result = record(["sh", "-c", shell(*failing("say=no such thing", "work=3000", "exit=4")) + "; exit 0"])
    equal(result.status, 0, "end")
    failures = kept(result.trace, "failure")
    equal(len(failures), 1, "failures that are kept")
    number_, task = failures[0]
    found = report(result.trace, "--snapshot", str(number_), "-n", "100000")
    thread = found["threads"][0]
    equal((thread["task"], thread["in_syscall"]), (task, "exit_group"), "whose moment")
    equal([name for name in functions(thread) if name in ("exit", "give_up", "main")], ["exit", "give_up", "main"], "stack")
    leads = [b["from"]["function"] for b in found["branches"] if b["kind"] == "call"]
    check("give_up" in leads, "the branches do not show who called exit: %s" % leads)
    # from some before its first message on
    check(3000 < len(found["branches"]) <= 3000 + 3 * SHORT, "%d branches" % len(found["branches"]))
    equal([gap["reason"] for gap in found["gaps"]], ["not-kept"], "gaps")
    equal(found["verdict"]["state"], "consistent", "verdict")
    said = text(result.trace, "--snapshot", str(number_))
    check(re.search(r"\n  exit with status 4; its first message .* before, at main \(failing.c:\d+\) \(--snapshot 1\); the first process exited with status 0 all the same\n", said) and "\n  no such thing\n" in said, said)


@case("--snap-exit: never keeps no exit, failure the first process's whole and of others the newest branches, always all whole")
def snap_exit():
    script = shell(*failing("work=3000", "exit=4")) + "; exit 5"
    for when, exits, failures in (("never", 0, 0), ("failure", 1, 1), ("always", 2, 0)):
        trace = record(["sh", "-c", script], ["--snap-exit", when]).trace
        equal((len(kept(trace, "exit")), len(kept(trace, "failure"))), (exits, failures), "--snap-exit %s" % when)
        equal(suppressed(trace, 7), 0, "suppressed with --snap-exit %s" % when)
    trace = record(["sh", "-c", "(exit 0); exit 0"]).trace
    equal([s["kind"] for s in report(trace, "-n", "1")["snapshots"]], ["signal"], "of ends without failure")


@case("of thousands of exits with failure at most 32 a second and 1,000 a trace are kept, and the rest is counted")
def rate_limit():
    result = record(failing("children=3000"), ["-q"])
    equal(result.status, 0, "end")
    times = [number(s, "time") for s in dump(result.trace, "SNAPSHOT") if number(s, "kind") == 7]
    equal(len(times) + suppressed(result.trace, 7), 3000, "kept and suppressed")
    said = text(result.trace, "-n", "1")
    check("\n  %d exits with failure were counted and not kept: " % (3000 - len(times)) in said, said[-2000:])
    check(SECOND <= len(times) <= MOST, "%d are kept" % len(times))
    # The clock is read again for the record, behind what is written before it.
    close = [b - a for a, b in zip(times, times[SECOND:]) if b - a < 990000000]
    equal(close, [], "times in which more than %d were kept" % SECOND)


def happened(said):
    """The lines under What happened."""
    return re.search(r"^What happened\n((?:  .*\n)+)", said, re.M).group(1)


def listed(said):
    """The lines under Failures: (shown here, snapshot or None, end, command)."""
    part = re.search(r"^Failures: (\d+) of (\d+) processes, in the order of their ends\n((?:[> ] .*\n)+)", said, re.M)
    check(part, "no failures are listed:\n" + said[:2000])
    rows = [re.match(r"([> ]) (?:--snapshot (\d+)|not kept) +((?:killed by|exited with) .*?)  +task (\d+): (.*)$", line) for line in part.group(3).splitlines()]
    check(all(rows), "a line of another form:\n" + part.group(3))
    return [(row.group(1) == ">", row.group(2) and int(row.group(2)), row.group(3), row.group(5)) for row in rows]


@case("from `make: *** Error` to the child that died: the first screen says each failure and how to see it")
def make_leads():
    folder = fresh_dir("make")
    crashing = shell(*failing("work=100", "null"))
    with open(os.path.join(folder, "Makefile"), "w") as file:
        file.write("all:\n\t%s\n" % shell("sh", "-c", crashing + "; exit $?").replace("$", "$$"))
    result = record(["make", "-C", folder])
    check(b"Error 139" in result.err, result.err)
    said = text(result.trace, "-n", "5")
    rows = listed(said)
    equal([(row[0], row[2]) for row in rows], [(True, "killed by SIGSEGV"), (False, "exited with status 139"), (False, "exited with status 2")], "failures")
    equal([row[3].split()[0] for row in rows], ["failing", "sh", "make"], "commands")
    check("SIGSEGV" in happened(said) and "a null pointer" in happened(said), said)
    check(said.index("\nFailures") < said.index("\nWhere\n"), "the list is below:\n" + said)
    for shown, snapshot, end, command in rows:
        one = text(result.trace, "-n", "5", "--snapshot", str(snapshot))
        check(end.replace("exited", "exit") in happened(one) or shown, one)
        equal([row[0] for row in listed(one)], [row[1] == snapshot for row in rows], "which is shown")
    found = report(result.trace, "-n", "1")
    fits_schema(found, "report.schema.json")
    equal([(f["exit"].get("signal") or f["exit"]["status"], f["snapshot"], os.path.basename(f["command"][0])) for f in found["failures"]],
          [("SIGSEGV", rows[0][1], "failing"), (139, rows[1][1], "sh"), (2, rows[2][1], "make")], "JSON")


@case("a make whose compiler exits with failure: the compiler's exit is listed, with what it said")
def make_error():
    folder = fresh_dir("make")
    with open(os.path.join(folder, "Makefile"), "w") as file:
        file.write("all:\n\ttrue\n\t%s\n" % shell(*failing("say=x.c:1: error", "exit=1")))
    result = record(["make", "-C", folder])
    equal(result.status, 2, "end")
    rows = listed(text(result.trace, "-n", "5"))
    equal([row[2] for row in rows], ["exited with status 1", "exited with status 2"], "failures")
    one = text(result.trace, "-n", "5", "--snapshot", str(rows[0][1]))
    check("  x.c:1: error\n" in one and "exit with status 1" in happened(one), one)


@case("nested shells: each process that failed has a line, in the order of their ends")
def nested():
    script = "sh -c '%s; sh -c \"exit 9\"; kill -TERM $$'; exit 6" % shell(*failing("exit=8"))
    rows = listed(text(record(["sh", "-c", script]).trace, "-n", "5"))
    equal([row[2] for row in rows], ["exited with status 8", "exited with status 9", "killed by SIGTERM", "exited with status 6"], "failures")


@case("a failure that is all there is, and ends that are none, have no list")
def no_list():
    for argv in (failing("exit=3"), failing("null"), ["sh", "-c", "true; (exit 0)"]):
        said = text(record(argv, ["-q"]).trace, "-n", "5")
        check("\nFailures" not in said, said[:2000])


@case("what was handled is never what happened when something else ended the program")
def handled():
    for ways, status, expected in ((["see-child", "null"], -signal.SIGSEGV, "read from 0x0 through"), (["see-child", "exit=1"], 1, "exit with status 1\n"),
                                   (["survive-fault", "exit=1"], 1, "exit with status 1\n"),
                                   (["see-child"], 0, "no moment of its end was kept: the program ended with 0 "),
                                   (["survive-fault", "see-child"], 0, "no moment of its end was kept: the program ended with 0 ")):
        result = record(failing(*ways), ["-q"])
        equal(result.status, status, "end of %s" % ways)
        said = text(result.trace, "-n", "5")
        check(expected in happened(said), "%s: %s" % (ways, happened(said)))
        check("SIGCHLD" not in happened(said) and "handler" not in happened(said), "%s: %s" % (ways, happened(said)))
        check(("SIGSEGV" in happened(said)) == (status < 0), "%s: %s" % (ways, happened(said)))
        check("handled, " in said[said.index("\nSnapshots\n"):], "what was handled is not told of:\n" + said)


@case("bash, which handles SIGCHLD, exits with failure: that is what happened")
def handled_by_shell():
    bash = shutil.which("bash")
    if not bash:
        raise Skip("bash is missing")
    said = text(record([bash, "-c", "/bin/true; /bin/false; /bin/true; exit 4"], ["--snap-exit", "never"]).trace, "-n", "5")
    equal(happened(said), "  no moment of its end was kept\n", "what happened")
    said = text(record([bash, "-c", "/bin/true; /bin/false; /bin/true; exit 4"]).trace, "-n", "5")
    check("  exit with status 4\n" in happened(said) and "SIGCHLD" not in happened(said), said)


@case("run's last line tells the child that failed before, and where in it")
def last_line():
    script = "%s || exit 3" % shell(*failing("exit=4"))
    result = record(["sh", "-c", script])
    told = btview("--headline", result.trace).out.decode() # the line, for which run does not wait for ever
    check(re.search(r"^failing \(process \d+\) exited with 4 in give_up failing\.c:%d$" % line_of("failing.c", "give-up"), told, re.M), told)


def begins_in(trace, function):
    """Every form that shows a moment shows the one of the program failing, which this function ended. What happened there."""
    said = text(trace, "-n", "20")
    rows = [row for row in listed(said) if row[0]]
    equal([row[3].split()[0] for row in rows], ["failing"], "whose moment is shown")
    check(re.search(r"#\d+ +%s " % function, said), said)
    task = report(trace, "-n", "1")["threads"][0]["task"]
    check("\n  task %d, " % task in said and "\nStack of task %d " % task in said, "text and JSON differ:\n" + said)
    signature = btview("--signature", trace).out.decode()
    check("exit 4: %s (failing.c) < main" % function in signature, signature)
    check("failing.c" in btview("--format", "github", trace).out.decode(), "the annotation is another one")
    core = os.path.join(fresh_dir("core"), "core")
    with open(core, "wb") as file:
        file.write(btview("--export", "core", trace).out)
    frames = gdb_frames(core) if shutil.which("gdb") else None
    check(frames is None or function in frames, "the core file is another one's: %s" % frames)
    return happened(said)


def gdb_frames(core):
    return execute(["gdb", "-q", "-nx", "-batch", "-ex", "bt", build("failing.c", *STATIC), core]).out.decode()


@case("sh ends as the program under it: the report, the viewer's lines, signature and core file are of that")
def passed_on_by_sh():
    trace = record(["sh", "-c", "%s; exit $?" % shell(*failing("exit=4"))]).trace
    said = begins_in(trace, "give_up")
    check("exit with status 4; after it sh (task 1) exited with status 4\n" in said, said)
    other = text(trace, "-n", "5", "--thread", "1")
    check("exit with status 4; before that task 2 (" in happened(text(trace, "-n", "5", "--snapshot", "3")) and "Stack of task 1 " in other, other)


@case("make, sh, a program: the deepest, and make says itself that it ended because of a command")
def passed_on_by_make():
    folder = fresh_dir("make")
    with open(os.path.join(folder, "Makefile"), "w") as file:
        file.write("both: late early\nearly:\n\t@sleep 0.2; %s\nlate:\n\t@sleep 0.6\nignored:\n\t-@%s\n\t@true; exit 7\n" %
                   (shell(*failing("exit=4")), shell(*failing("exit=4"))))
    trace = record(["make", "-s", "-C", folder, "early"]).trace
    said = begins_in(trace, "give_up")
    check(re.search(r"exit with status 4; after it sh \(task 2\) exited with status 4, then make \(task 1\) exited with status 2\n", said), said)
    # Another command ends well after the one that failed.
    begins_in(record(["make", "-s", "-j2", "-C", folder, "both"], ["--parallel"]).trace, "give_up")
    # A failure that make was told to ignore is none.
    said = text(record(["make", "-s", "-C", folder, "ignored"]).trace, "-n", "5")
    check("exit with status 7; because of it make (task 1) exited with status 2\n" in happened(said), said)


@case("a moment that the program went on from is not said to have led to another's failure")
def went_on():
    trace = record(["sh", "-c", "%s; exit $?" % shell(*failing("survive-fault", "exit=4"))]).trace
    faults = kept(trace, "fault")
    check(faults, "no fault is kept")
    said = happened(text(trace, "-n", "5", "--snapshot", str(faults[0][0])))
    check("SIGSEGV" in said and "after it" not in said and "because" not in said, said)
    check("; after it sh " in happened(text(trace, "-n", "5")), "the end")


@case("a program of the user's that ends in its own way after a child failed is told of itself")
def not_passed_on():
    trace = record(failing("children=1", "exit=9"), ["-q"]).trace
    said = text(trace, "-n", "5")
    check("\n  task 1, " in said and "exit with status 9; before that task 2 (" in happened(said), said)


@case("an exit out of a handler of a fault names the fault")
def leave_handler():
    result = record(failing("leave-fault", "null"), ["-q"])
    equal(result.status, 7, "end")
    said = happened(text(result.trace, "-n", "5"))
    check("exit with status 7" in said and "the SIGSEGV before it, which a handler got: read from 0x0 through" in said, said)


@case("of very many failures the first crashes and the newest are listed, and the rest is counted")
def many():
    script = "%s; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do (exit $i); done; exit 33" % shell(*failing("null"))
    trace = record(["sh", "-c", script]).trace
    said = text(trace, "-n", "5")
    rows = listed(said.replace("  and 7 more, which --json lists\n", ""))
    equal([row[2] for row in rows], ["killed by SIGSEGV"] + ["exited with status %d" % n for n in (*range(8, 16), 33)], "failures")
    check("  and 7 more, which --json lists\n" in said, said)
    equal(len(report(trace, "-n", "1")["failures"]), 17, "failures in the JSON")


@case("the viewer's summary lists the same failures, and Enter goes to one's moment")
def viewer():
    if not shutil.which("tmux"):
        raise Skip("tmux is missing")
    trace = record(["sh", "-c", "%s; %s; exit 3" % (shell(*failing("null")), shell(*failing("say=no such thing", "exit=4")))]).trace
    rows = listed(text(trace, "-n", "1"))
    tmux = ["tmux", "-u", "-L", "failures", "-f", "/dev/null"]
    env = dict(os.environ, TMUX_TMPDIR=fresh_dir("tmux"), TERM="xterm")

    def screen():
        return execute([*tmux, "capture-pane", "-p"], env=env).out.decode()

    def shows(what):
        return wait_until(lambda: re.search(what, screen()) and screen(), "on the screen: " + what)

    def keys(*names):
        equal(execute([*tmux, "send-keys", *names], env=env).status, 0, "send-keys")

    execute([*tmux, "new-session", "-d", "-x", "120", "-y", "50", "env LC_ALL=C.UTF-8 %s %s" % (BTVIEW, trace)], env=env)
    try:
        seen = shows(r"Failures: 3 of 3 processes, in the order of their ends")
        for shown, _, end, command in rows:
            line = re.search(r"^%s%s +%s +task \d+: %s$" % ("> " if shown else "  ", r"--snapshot \d+", re.escape(end), re.escape(command)), seen, re.M)
            check(line, "no line of %s:\n%s" % (end, seen))
        keys("/", "3    exited with status 4", "Enter")
        keys("Enter", "s")
        seen = shows(r"> --snapshot \d+ +exited with status 4")
        check("exit with status 4" in seen and "no such thing" in seen, seen)
    finally:
        execute([*tmux, "kill-server"], env=env)


main()
