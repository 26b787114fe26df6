#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Processes and threads: the whole tree is recorded, behaves as without btrec, and the report names the one that failed.
import os
import re
import shutil
import signal
import stat
import subprocess

from e2e import *

NOBODY = 65534


def tree():
    return build("tree.c", *STATIC)


def threads():
    return build("threads.c", *STATIC, "-pthread")


def functions(thread):
    return [frame.get("function") for frame in thread["stack"]]


def process_ends(found):
    """How each process of the report that ended did so, as sorted (command, status or signal name)."""
    ends = [(os.path.basename(p["command"]), p["exit"]) for p in found["processes"]]
    return sorted((name, str(end.get("signal") or end["status"])) for name, end in ends if end and (end.get("signal") or "status" in end))


@case("a forked child crashes, the parent reports it and ends with 0")
def fork_crash():
    alone, recorded = same_as_native([tree(), "fork-crash"])
    equal((alone.status, alone.out), (0, b"child died by signal 11\n"), "native end")
    found = report(recorded.trace, "-n", "300")
    equal(found["exit"].get("status"), 0, "exit status")
    equal(found["fault"]["signal"], "SIGSEGV", "signal")
    check(found["fault"]["pid"] != min(p["pid"] for p in found["processes"]), "the fault is the parent's")
    frame = found["threads"][0]["stack"][0]
    equal((frame["function"], frame["line"]), ("child_crash", line_of("tree.c", "child-crash")), "where")
    equal(process_ends(found), [("tree", "0"), ("tree", "SIGSEGV")], "processes")


@case("a crash is explained although another process died of SIGPIPE before it")
def crash_behind_a_pipe():
    script = "yes | head -n 1 >/dev/null; sh -c 'kill -SEGV $$'; exit 1"
    found = report(record(["sh", "-c", script]).trace, "-n", "10")
    ends = [signal for _, signal in process_ends(found)]
    check("SIGPIPE" in ends and "SIGSEGV" in ends, "processes: %s" % ends)
    equal(found["fault"] and found["fault"]["signal"], "SIGSEGV", "the fault")


@case("events of all processes stand in one order, each in its process's unit")
def units():
    recorded = record([tree(), "fork-crash"])
    unit, newest, unit_of, ended = 0, 0, {}, {}
    for line in execute([BTREC, "dump", recorded.trace]).out.decode(errors="replace").splitlines():
        kind, _, fields = line.partition(" ")
        values = dict(re.findall(r"(\w+)=(\w+)", fields))
        if kind == "UNIT" or line == "block begins: unit 0":
            unit = int(values.get("unit", 0))
        elif "seq" in values:
            check(int(values["seq"], 0) == newest + 1, "%s behind event %d" % (line, newest))
            newest += 1
        if kind == "TASK":
            unit_of[values["task"]] = int(values["unit"])
        elif kind == "EXIT":
            ended[values["task"]] = unit
        elif kind == "END":
            equal(unit, 0, "unit of END")
    equal(sorted(unit_of.values()), [1, 2], "units")
    equal(ended, unit_of, "units of the ends")


@case("a program crashes after exec")
def exec_crash():
    faults = build("faults.c", *STATIC)
    alone, recorded = same_as_native([tree(), "exec", faults, "null-write"])
    equal(alone.status, -signal.SIGSEGV, "native end")
    found = report(recorded.trace, "-n", "300")
    equal(os.path.basename(found["processes"][0]["command"]), "faults", "command")
    equal(found["threads"][0]["stack"][0]["function"], "store", "function")
    if found["trace"]["source"] == "none":
        return
    leads = [(b["from"]["module"], b["to"]["module"], b["to"]["function"]) for b in report(recorded.trace)["branches"] if b["kind"] == "syscall"]
    check((tree(), faults, "_start") in leads, "execve leads to the new program: %s" % leads)
    check("execve, then _start" in text(recorded.trace, "--function", "_start"), "the text and its filter do not know")


@case("a program that is not the first one crashes: fork, exec")
def fork_exec_crash():
    tree_runs("fork-exec", "null-write", b"program died by signal 11\n")


@case("a program that traces its child is refused, and the trace says so once")
def traces():
    recorded = record([tree(), "traces"])
    equal((recorded.status, recorded.out), (0, b"TRACEME 1\nATTACH 1\nchild died by signal 9\n"), "end")
    equal(len([line for line in text(recorded.trace).splitlines() if "cannot be traced by another program" in line]), 1, "notes")


@case("vfork and exec")
def vfork_exec():
    tree_runs("vfork-exec", "null-write", b"program died by signal 11\n")


@case("posix_spawn")
def spawn():
    tree_runs("spawn", "null-write", b"program died by signal 11\n")


def tree_runs(how, fault, said):
    alone, recorded = same_as_native([tree(), how, build("faults.c", *STATIC), fault])
    equal((alone.status, alone.out), (0, said), "native end")
    found = report(recorded.trace, "-n", "300")
    equal(process_ends(found), [("faults", "SIGSEGV"), ("tree", "0")], "processes")
    equal(found["threads"][0]["stack"][0]["function"], "store", "function")


@case("posix_spawn of a program that exits with 3")
def spawn_status():
    alone, recorded = same_as_native([tree(), "spawn", build("faults.c", *STATIC), "exit-3"])
    equal(alone.out, b"program exited with 3\n", "native output")
    equal(process_ends(report(recorded.trace)), [("faults", "3"), ("tree", "0")], "processes")


@case("an execve that fails")
def failed_exec():
    alone, recorded = same_as_native([tree(), "failed-exec"])
    equal(alone.out, b"still here\n", "native output")


@case("twelve children side by side")
def children():
    alone, recorded = same_as_native([tree(), "children"])
    equal(alone.out, b"sum 66\n", "native output")
    equal(len(report(recorded.trace)["processes"]), 13, "processes")


@case("SIGSTOP and SIGCONT of a child, seen by waitpid")
def stopped_child():
    alone, recorded = same_as_native([tree(), "stopped-child"])
    equal(alone.out, b"stopped 1 by 19\ncontinued 1\nchild exited with 6\n", "native output")


@case("root records a set-uid program in the tree, with its privileges")
def set_uid():
    need_root()
    helper = shutil.copy(tree(), fresh("setuid"))
    os.chown(helper, NOBODY, -1)
    os.chmod(helper, 0o4755)
    alone, recorded = same_as_native([tree(), "fork-exec", helper, "who"])
    equal(alone.out, b"uid 0 euid %d\nprogram exited with 0\n" % NOBODY, "native output")


@case("an ordinary user's set-uid program in the tree gets its privileges and is detached")
def set_uid_of_other():
    need_root()
    folder = fresh_dir("other", 0o777)
    helper = shutil.copy(tree(), os.path.join(folder, "helper"))
    os.chmod(helper, 0o4755)
    program = shutil.copy(tree(), os.path.join(folder, "tree"))
    tool = shutil.copy(BTREC, os.path.join(folder, "btrec"))
    trace = os.path.join(folder, "trace")
    argv = [program, "fork-exec", helper, "who"]
    other = dict(user=NOBODY, group=NOBODY, extra_groups=[], cwd=folder)
    alone = execute(argv, **other)
    if alone.out != b"uid %d euid 0\nprogram exited with 0\n" % NOBODY:
        raise Skip("set-uid has no effect here (nosuid): " + alone.out.decode())
    # Also while the tree still runs natively, on the way to a place that never comes.
    for options in ([], ["--from", "no_such_place"]):
        shutil.rmtree(trace, True)
        recorded = execute([tool, "run", "-o", trace, *options, "--", *argv], **other)
        equal((recorded.status, recorded.out), (alone.status, alone.out), "end and output (%s)" % recorded.err.decode())
        said = text(trace)
        check("detached" in said, "that it was detached is not told: " + said[:2000])


@case("a thread crashes while others block and spin")
def thread_crash():
    alone, recorded = same_as_native([threads(), "crash"])
    equal(alone.status, -signal.SIGSEGV, "native end")
    found = report(recorded.trace, "-n", "200")
    first = found["threads"][0]
    equal((first["stack"][0]["function"], first["stack"][0]["line"]), ("write_through", line_of("threads.c", "thread-crash")), "where")
    check("crash_when_ready" in functions(first), "stack %s" % functions(first))
    check(first["tid"] != first["pid"], "the fault is the first thread's")
    equal(len(found["threads"]), 4, "threads")
    others = [name for thread in found["threads"][1:] for name in functions(thread)]
    for name in ("wait_for_lock", "spin", "main"):
        check(name in others, "no other thread is in %s: %s" % (name, others))


@case("the first thread ends before the process does")
def leader_ends():
    alone, recorded = same_as_native([threads(), "leader-ends"])
    equal((alone.status, alone.out), (7, b"outlived\n"), "native end")
    equal(report(recorded.trace)["exit"]["status"], 7, "exit status")


@case("execve by another thread than the first")
def thread_execs():
    alone, recorded = same_as_native([threads(), "thread-execs", build("faults.c", *STATIC), "null-write"])
    equal(alone.status, -signal.SIGSEGV, "native end")
    equal(report(recorded.trace)["threads"][0]["stack"][0]["function"], "store", "function")


# The tid of the leader is the new program's, whatever the leader was just doing.
def execs_beside(what, options=(), program=None):
    children = 30
    recorded = record([program or threads(), "execs-beside", what, str(children)], options)
    equal((recorded.status, recorded.out), (0, b""), "ends that are not those of the new program")
    dump = execute([BTREC, "dump", recorded.trace], cwd=TMP).out.decode(errors="replace").splitlines()
    equal(len([line for line in dump if line.startswith("EXEC ")]), children + 1, "programs in the trace")


@case("execve by another thread while the first one spins, makes calls, maps, ends")
def thread_execs_beside():
    for what in ("spins", "calls", "maps", "ends"):
        execs_beside(what)


@case("the same, only counted")
def thread_execs_counted():
    for what in ("spins", "maps"):
        execs_beside(what, ["--history", "off"])


@case("the same, side by side")
def thread_execs_parallel():
    for what in ("spins", "maps", "ends"):
        execs_beside(what, ["--backend", "engine", "--parallel"])


@case("the same, side by side, while the first one loads the library that unwinds it")
def thread_execs_unwinding():
    execs_beside("unwinds", ["--backend", "engine", "--parallel"], build("threads.c", "-pthread", name="threads-dynamic"))


@case("the first process of a PID namespace crashes")
def namespace_init():
    need_namespaces()
    program = build("faults.c", *STATIC)
    argv = ["unshare", "-pf", program, "null-read"]
    alone = native(argv)
    recorded = record(argv, timeout=30)
    equal(recorded.status, alone.status, "end")
    told = report(recorded.trace, "-n", "1")
    equal([s["kind"] for s in told["snapshots"]][:1], ["fatal"], "the first snapshot")
    check("first process of a PID namespace" in execute([BTREC, "info", recorded.trace]).out.decode(), "the trace does not say why it was detached")


@case("four threads and a mutex")
def counters():
    alone, recorded = same_as_native([threads(), "counters"])
    equal(alone.out, b"1200\n", "native output")


@case("exit while other threads block and spin")
def exit_group():
    alone, recorded = same_as_native([threads(), "exit-group"])
    equal(alone.status, 8, "native end")


def old_program(*options):
    """A 32-bit one; what the tests compile with may have no libraries for such."""
    if "BTREC_TEST_BACKEND" in os.environ:
        raise Skip("each of these says how it is recorded")
    target = os.path.join(fresh_dir("bin"), "old_program")
    for argv in (["as", "--32", *options, os.path.join(PROGRAMS, "old_program.s"), "-o", target + ".o"], ["ld", "-m", "elf_i386", target + ".o", "-o", target]):
        subprocess.run(argv, check=True)
    try:
        native([target])
    except OSError as error:
        raise Skip("32-bit programs do not run here: %s" % error)
    return target


EACH_WAY = ["--backend", "engine"], ["--backend", "engine", "--history", "off"], ["--backend", "engine", "--parallel"], ["--backend", "step", "--from", "main"]


def ticks_of_child(trace):
    """Ticks of the second task since its execve."""
    dump = execute([BTREC, "dump", trace], cwd=TMP).out.decode(errors="replace")
    began, = re.findall(r"^SYSCALL_EXIT .* task=2 point=(\d+)\S* nr=0x3b result=0x0$", dump, re.M)
    ended, = re.findall(r"^EXIT .* task=2 point=(\d+)", dump, re.M)
    return int(ended) - int(began)


@case("a 32-bit program in the tree: its ticks are counted")
def exec_32():
    program = old_program()
    for options in EACH_WAY:
        alone, recorded = same_as_native([tree(), "fork-exec", program], options)
        equal(alone.out, b"32 bits\nprogram exited with 7\n", "native output")
        equal(process_ends(report(recorded.trace, "-n", "1")), [("old_program", "7"), ("tree", "0")], "processes")
        equal(ticks_of_child(recorded.trace), 53, "ticks")


@case("a 32-bit program in the tree handles a signal: its registers are as they were, and the trace has the signal")
def exec_32_signal():
    for flags in ("4", "0"):
        program = old_program("--defsym", "SIGNAL=" + flags)
        for options in EACH_WAY:
            alone, recorded = same_as_native([tree(), "fork-exec", program], options)
            equal(alone.out, b"32 bits\nprogram exited with 0\n", "native output")
            dump = execute([BTREC, "dump", recorded.trace], cwd=TMP).out.decode(errors="replace")
            equal(re.findall(r"^HANDLER .* task=2 .* signo=(\w+)", dump, re.M), ["10"], "handlers")


@case("a 32-bit program in the tree crashes: a gap says why there are no branches of it")
def exec_32_crash():
    program = old_program("--defsym", "CRASH=1")
    for options in EACH_WAY:
        alone, recorded = same_as_native([tree(), "fork-exec", program], options)
        equal(alone.out, b"32 bits\nprogram died by signal 11\n", "native output")
        found = report(recorded.trace)
        equal((found["fault"]["signal"], found["fault"]["address"]), ("SIGSEGV", "0x10"), "fault")
        equal(found["fault"]["text"], "access to 0x10, close to null, by 32-bit code; the first process exited with status 0 all the same", "what happened")
        equal(ticks_of_child(recorded.trace), 53, "ticks")
        if "off" in options:
            continue
        # What its system calls are is known.
        equal({b["kind"] for b in found["branches"] if b["from"]["module"] == program}, {"syscall"}, "its branches")
        equal([(gap["reason"], gap["before"]) for gap in found["gaps"]], [("code-32", len(found["branches"]) - n) for n in (1, 0)], "gaps")
        said = text(recorded.trace)
        check("32-bit code: stepped, and counted, but not recorded" in said and "-> 32-bit system call 4, then" in said, said)


@case("a 32-bit program's end is seen before it happens: it has its exit snapshot")
def exec_32_exit():
    for options in EACH_WAY:
        alone, recorded = same_as_native([tree(), "fork-exec", old_program()], [*options, "--snap-exit", "always"])
        equal(alone.out, b"32 bits\nprogram exited with 7\n", "native output")
        dump = execute([BTREC, "dump", recorded.trace], cwd=TMP).out.decode(errors="replace")
        equal(len(re.findall(r"^SNAPSHOT .* task=2 kind=3 ", dump, re.M)), 1, "snapshots of its end")


@case("a 32-bit program becomes a 64-bit one, whose branches are recorded")
def exec_32_exec():
    program = old_program()
    for options in EACH_WAY:
        alone, recorded = same_as_native([tree(), "fork-exec", program, build("faults.c", *STATIC), "null-write"], options)
        equal(alone.out, b"32 bits\nprogram died by signal 11\n", "native output")
        found = report(recorded.trace)
        equal(found["threads"][0]["stack"][0]["function"], "store", "function")
        if "off" not in options:
            check(len([b for b in found["branches"] if b["from"]["module"] == build("faults.c", *STATIC)]) > 1000, "branches of the new program")


@case("btrec ends with the initial process; a daemon is recorded on")
def daemon():
    done = fresh("daemon-file")
    recorded = record([tree(), "daemon", done])
    equal(recorded.status, 0, "end of btrec (%s)" % recorded.err.decode())
    check(not os.path.exists(done), "btrec waited for the daemon")
    check(b"left running" in recorded.err, "nothing is said of the daemon: %r" % recorded.err)
    alive = btview("--stdio", recorded.trace)
    equal(alive.status, 0, "status of btview while the daemon is recorded")
    check(b"still being written" in alive.out and b"cut off" not in alive.out + alive.err, "the trace that is being written: %r" % alive.out)
    equal(process_ends(report(recorded.trace)), [("tree", "0")], "ends while the daemon is recorded")
    open(done + ".go", "w").close()
    wait_until(lambda: os.path.exists(done) and os.path.getsize(done), "the daemon's file")
    with open(done) as file:
        equal(file.read(), "daemon was here\n", "the daemon's file")
    ends = wait_until(lambda: (lambda e: e if len(e) == 2 else None)(process_ends(report(recorded.trace))), "the daemon's end in the trace")
    equal(ends, [("tree", "0"), ("tree", "5")], "processes")
    wait_until(lambda: b"still being written" not in btview("--stdio", recorded.trace).out, "the end of the recording")
    check(b"not closed" not in btview("--stdio", recorded.trace).out, "the trace was not closed")


main()
