#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Signals at any instruction of translated code, and code that changes under it: programs that check themselves print what they print
# natively. BTREC_ALARMS (300) is the number of alarms in each program of the torture.
import os
import re
import resource
import struct
import subprocess

from e2e import *
import engine_compare

BACKEND = engine_compare.backends()[1]
CHECK = os.path.join(BUILD, "tests/tools/check_history")
ALARMS = os.environ.get("BTREC_ALARMS", "300")
TORTURE = "registers alternative-stack nested jumps edits moves strings calls sleeps threads queued faults written-code".split()
CODE = "rewritten toggled double-mapped file-mapped privately-mapped remapped patched-by-thread own-text unaligned-store many-pages copied loaded-twice executed".split()
FAULTS = """int3 long-int3 ud2 divide fpe-sse x87-compare null-call wild-call wild-jump wild-return null-jump bad-load bad-store privileged vsyscall transactions gs-base
fs-base selectors kernel-bases contexts deep-backtrace seccomp limits single-step cpuid cpuid-trap locked enter-nested without-sib astray rip-relative
code-32 string-compare after-jump long-branches loop-prefix""".split()
SENT = """handled-each blocked-each with-others fault-again trap-again frame-mxcsr frame-mxcsr-handled frame-header frame-header-handled frame-pointer
frame-pointer-handled frame-unaligned frame-unaligned-handled""".split()
THROWING = "frames rethrown nested from-handler in-threads".split()
HANDLERS = "no-child-wait autodisarm unknown-flags edited-state flags-at-alarm".split()
PENDING = """waited-for waited-for-later sent-by-itself queued read polled polled-later epoll asked-for status unblocked sigsuspend asked-for-at-once
behind-another behind-its-own handled-elsewhere own-while-stopped""".split()


def history_holds(trace):
    done = subprocess.run([CHECK, trace], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    equal(done.returncode, 0, "check_history: %s" % done.stdout.decode(errors="replace")[:400])


def torture():
    return build("torture.c", *STATIC, "-pthread")


def add(title, program, name, *arguments):
    @case("%s: %s" % (title, name))
    def run():
        same_as_native([program(), name, *arguments], ["--backend", BACKEND])


def add_all(title, program, names, *arguments):
    for name in names:
        add(title, program, name, *arguments)

    @case("%s: every case is tried" % title)
    def all_tried():
        equal(sorted(native([program()]).out.decode().split()), sorted(names), "cases")


def changing():
    return build("changing_code.c", *STATIC, "-pthread")


def exact():
    return build("exact_state.c", *STATIC, "-lm")


def shared():
    return build("shared_signals.c", *STATIC, "-pthread")


def sent_faults():
    return build("sent_faults.c", *STATIC)


def handler_state():
    return build("handler_state.c", *STATIC)


def add_pending(name):
    # SIGTRAP and SIGSEGV are what the engine needs unblocked, whatever the program does.
    @case("blocked signals that the process has: " + name)
    def run():
        for signal in "trap", "segv":
            same_as_native([shared(), name, signal], ["--backend", BACKEND])
            # Side by side, one that was sent this instant may not be there yet (btrec(1), LIMITS).
            if name not in ("sent-by-itself", "asked-for-at-once", "behind-another", "behind-its-own"):
                same_as_native([shared(), name, signal], ["--backend", BACKEND, "--parallel"])
        same_as_native([shared(), name, "trap"], ["--backend", "step"])


for name_ in PENDING:
    add_pending(name_)


CUT = "pipe-ignored socket-ignored pipe-handled pipe-both socket-both registers receive-ignored receive-both receive-messages random-bytes file-to-pipe".split()


def cut_transfers():
    return build("cut_transfers.c")


def add_cut(name):
    # Natively an ignored signal wakes nobody.
    @case("calls that a signal cuts short, or would not: " + name)
    def run():
        for options in [], ["--parallel"], ["--history", "off"]:
            same_as_native([cut_transfers(), name], ["--backend", BACKEND, *options])


for name_ in CUT:
    add_cut(name_)


@case("calls that a signal cuts short, or would not: every case is tried")
def all_cut():
    equal(sorted(native([cut_transfers()]).out.decode().split()), sorted(CUT), "cases")


@case("ignored signals that another thread takes do not end a call")
def taken():
    program = build("ignored_signals.c", "-pthread")
    for options in [], [], ["--parallel"], ["--history", "off"]:
        recorded = record([program, "taken"], ["--backend", BACKEND, *options])
        equal((recorded.status, recorded.out), (0, b"0 interrupted\n"), "with %s" % options)


@case("ignored signals that come again and again do not keep a call beyond its timeout")
def timeouts():
    program = build("ignored_signals.c", *STATIC, "-pthread")
    for what in "epoll", "wait", "semaphore", "receive", "read", "accept", "send":
        for options in ["--backend", BACKEND], ["--backend", BACKEND, "--parallel"], ["--backend", "step"]:
            same_as_native([program, what], options)


@case("processes that are stopped as soon as they are made")
def stopped_at_once():
    program = build("stopped_at_once.c", *STATIC)
    for options in [], ["--parallel"]:
        same_as_native([program], ["--backend", BACKEND, *options])


@case("blocked signals that the process has: every case is tried")
def all_pending():
    equal(sorted(native([shared()]).out.decode().split()), sorted(PENDING), "cases")


@case("a process that is sent a signal, stopped at once and continued goes on")
def stopped_by_signals():
    for options in ["--parallel", "--history", "off"], ["--parallel"], []:
        same_as_native([build("stopped_by_signals.c", "-pthread"), "50"], ["--backend", BACKEND, *options])


@case("blocked signals that the process has: recordings side by side, more than there are processors")
def crowded():
    # Threads are interrupted in the midst of a step, and have to wait where they are awake in the kernel.
    command = [BTREC, "run", "--backend", BACKEND, "-o"]
    running = [start([*command, fresh("trace"), "--", shared(), "behind-another", "trap"], cwd=TMP, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE) for _ in range(4 * os.cpu_count() + 2)]
    outputs = [process.communicate(timeout=TIMEOUT) for process in running]
    equal([out for out, _ in outputs], [b"100 100\n"] * len(running), "counted, taken")


add_all("signals", torture, TORTURE, ALARMS)
add_all("signals like faults", sent_faults, SENT)
add_all("code that changes", changing, CODE)
add_all("what handlers are given and change", handler_state, HANDLERS)
add_all("what a program sees of itself", exact, FAULTS)


@case("what handlers are given and change: where it is only counted, side by side, stepped")
def handlers_otherwise():
    for name in HANDLERS:
        for options in ["--history", "off"], ["--backend", BACKEND, "--parallel"], ["--backend", "step", "--from", "main"]:
            alone, _ = same_as_native([handler_state(), name], options)
            check(alone.status == 0 and alone.out, "natively: %d %s" % (alone.status, alone.out))


@case("transactions that are given up, or cannot begin: the history holds")
def transactions():
    history_holds(record([exact(), "transactions"], ["--backend", BACKEND, "--snap-exit", "always"]).trace)


@case("operands beside the code, where they are far from the cache and above what 32 bits name")
def far_operands():
    same_as_native([build("exact_state.c", "-pie", "-fPIE", "-lm"), "rip-relative"], ["--backend", BACKEND])


@case("operands beside the code are no reason to leave the cache")
def operands():
    info = execute([BTREC, "info", record([exact(), "rip-relative"], ["--backend", BACKEND]).trace]).out.decode()
    stepped = int(re.search(r"^stepped +(\d+)", info, re.M).group(1))
    check(20 <= stepped < 1000, "%d instructions stepped" % stepped)


@case("the address of the last x87 instruction is shown to nobody: in what saves it, in frames, in children")
def x87_address():
    program = build("x87_address.c", *STATIC, "-pthread", "-lm")
    # The kernel saves the state without the selector of the code segment: where the processor still has it, a task switch clears it.
    # A switch may come at any time, natively too, and each step is one.
    def output_of(end):
        return end.out.decode().replace("; 33 00", "; 00 00")
    alone = output_of(native([program]))
    check("another's" not in alone and alone.count("none") + alone.count("own") > 30, alone)
    wanted = alone.replace(": own", ": none")
    for options in [], [], ["--history", "off"], ["--parallel"], ["--plain-processor"]: # the second time from what was kept
        equal(output_of(record([program], ["--backend", BACKEND, *options])), wanted, " ".join(options))
    equal(output_of(record([program], ["--backend", "step"])), wanted, "step")
    beside_code = build("x87_address.c", "-pie", "-fPIE", "-pthread", "-lm")
    equal(output_of(record([beside_code], ["--backend", BACKEND])), wanted, "far from the cache")


def x87_addresses(core):
    """Of each thread, from its two notes (elf(5)): NT_FPREGSET, NT_X86_XSTATE."""
    with open(core, "rb") as file:
        data = file.read()
    start, = struct.unpack_from("<Q", data, 32)
    count, = struct.unpack_from("<H", data, 56)
    headers = [struct.unpack_from("<IIQQQQ", data, start + 56 * i) for i in range(count)]
    at, size = next((h[2], h[5]) for h in headers if h[0] == 4)
    end, found = at + size, []
    while at < end:
        name, length, kind = struct.unpack_from("<III", data, at)
        at += 12 + (name + 3 & ~3)
        if kind in (2, 0x202):
            found.append(struct.unpack_from("<Q", data, at + 8)[0])
        at += length + 3 & ~3
    return found


@case("the address of the last x87 instruction is shown to nobody: in core files")
def x87_core():
    need_core_files()
    programs = [build("x87_address.c", *STATIC, "-pthread", "-lm"), "crash"], [build("x87_cycle.S", *BARE)]
    for options in [], ["--parallel"]:
        for program in programs:
            folder = fresh_dir("core")
            argv = [BTREC, "run", "-q", "-o", fresh("trace"), "--backend", BACKEND, *options, *program]
            execute(argv, cwd=folder, core=resource.getrlimit(resource.RLIMIT_CORE)[1])
            addresses = x87_addresses(os.path.join(folder, os.listdir(folder)[0]))
            check(len(addresses) >= 4 and not any(addresses), "%s: %s" % (program[0], " ".join(hex(a) for a in addresses)))


@case("what saves the x87 unit's state runs once, whatever an alarm interrupts")
def x87_saves_once():
    program = build("x87_prefixes.S", *BARE)
    for each in 89, 97, 127, 131, 139: # more instructions than the handler has
        equal(record([program], ["--backend", BACKEND, "--alarm-each", str(each)]).status, 0, "status, each %d" % each)


@case("32-bit code: counted as stepped, and a gap says so")
def code_32():
    for options in (), ("--history", "off"):
        engine_compare.compare_runs([exact(), "code-32"], options)
    recorded = record([exact(), "code-32"], ["--backend", BACKEND, "--snap-exit", "always"])
    report = btview("--stdio", "-n", "100000", recorded.trace).out.decode()
    equal(report.count("32-bit code: stepped"), 6, "gaps for 32-bit code")
    check("  Consistent: " in report, report[:2000])


def throwing():
    return build("throwing.cc", "-pthread", "-fnon-call-exceptions")


def add_throwing(name):
    @case("C++ exceptions: " + name)
    def run():
        for options in ["--snap-exit", "always"], ["--history", "off"], ["--parallel"]:
            alone, recorded = same_as_native([throwing(), name], ["--backend", BACKEND, *options])
            equal((alone.status, alone.out), (0, b"0 wrong\n"), "natively")
            if "--snap-exit" in options:
                history_holds(recorded.trace)


for name_ in THROWING:
    add_throwing(name_)


@case("C++ exceptions: every case is tried")
def all_thrown():
    equal(sorted(native([throwing()]).out.decode().split()), sorted(THROWING), "cases")


main(sanitized=5)
