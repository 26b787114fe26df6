#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The stepper is exact: programs whose branches are known by construction, and programs that look for its traces.
import os
import re
import signal
import struct

from e2e import *
import engine_compare

os.environ.setdefault("BTREC_TEST_BACKEND", "step")

# The whole history is wanted of programs that end well, too.
WHOLE = ["--deterministic", "--snap-exit", "always"]
KINDS = ["jcc", "jmp", "call", "ret", "ijmp", "icall", "syscall", "async"]


def section(path, wanted):
    """The bytes of an ELF section."""
    with open(path, "rb") as file:
        data = file.read()
    table, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
    for name, _, _, _, offset, length in headers:
        at = headers[names][4] + name
        if data[at:data.index(b"\0", at)].decode() == wanted:
            return data[offset:offset + length]
    raise Failure("%s has no section %s" % (path, wanted))


def expected_of(program):
    """What the program's .expect section says, as rows (tick, kind, taken, from, to)."""
    rows, ticks = [], 0
    for kind, taken, source, target in struct.iter_unpack("<QQQQ", section(program, ".expect")):
        ticks += kind == 0
        rows.append((ticks, KINDS[kind], taken, source, target))
    return rows


def describe(row):
    return "tick %d %s taken %d %x -> %x" % row if row else "nothing"


def compare(got, expected):
    for i in range(max(len(got), len(expected))):
        one = got[i] if i < len(got) else None
        two = expected[i] if i < len(expected) else None
        if one != two:
            around = "".join("\n  %s" % describe(row) for row in got[max(0, i - 3):i + 3])
            raise Failure("entry %d is %s, expected %s; around it:%s" % (i, describe(one), describe(two), around))


def recorded_branches(result):
    rows = branches(result.trace)
    equal(sorted({row[0] for row in rows}), [rows[0][0]] if rows else [], "tasks")
    return [row[1:] for row in rows]


def constructed(source, *flags, end=0, whole_code=True):
    program = build(source, *BARE, *flags)
    alone = native([program])
    equal(alone.status, end, "native end")
    result = record([program], WHOLE)
    equal(result.status, end, "end")
    compare(recorded_branches(result), expected_of(program))
    if whole_code:
        check_straight(result)


def add_constructed(name, source, *flags, **kw):
    @case(name)
    def run():
        constructed(source, *flags, **kw)


def check_straight(result):
    """Every instruction between two branches is reconstructed from the trace's own code bytes."""
    done = execute([BRANCHES, "-i", result.trace])
    lines = done.out.decode().splitlines()
    # Where a program began is not in its branches: the stretch before the first one is unknown.
    missing = [lines[i:i + 2] for i, line in enumerate(lines) if line == "i ?" and i > 0]
    check(not missing, "straight-line code is missing before: %s" % missing[:3])


def add_fault(define, end=-signal.SIGSEGV):
    add_constructed("a branch that leads nowhere: " + define.lower().replace("_", " "), "fault_at_branch.S", "-D" + define, end=end)


def runs(source, *flags):
    try:
        return native([build(source, *BARE, *flags)]).status == 0
    except Failure:
        return False


def add_where_it_runs(name, source, *flags, whole_code=True):
    """What a program needs can be missing from a kernel: the 32-bit system call entry, calls of the vsyscall page; or not be allowed."""
    @case(name)
    def run():
        if not runs(source, *flags):
            raise Skip("natively it does not run here")
        constructed(source, *flags, whole_code=whole_code)


add_constructed("every conditional branch, taken and not", "conditionals.S")
add_constructed("conditional branches behind prefixes", "prefixes.S")
# What the processor makes of these prefixes is the one or the other; natively only that runs to its end.
for what_, rules_ in (("LOOPcc with F2 and F3", ("-DREPEAT_RULES", "-DREPEAT_IGNORED")), ("66h before a near one", ("-DREL16", "-DREL32"))):
    add_constructed("conditional branches behind prefixes: " + what_, "prefixes.S", *([rule for rule in rules_ if runs("prefixes.S", rule)] or rules_))
add_constructed("every other branch", "transfers.S")
add_where_it_runs("every other branch, int 0x80 among them", "transfers.S", "-DWITH_INT80")
add_constructed("signal handlers", "handlers.S")
add_constructed("code that changes", "jit.S")
add_where_it_runs("what the kernel emulates", "emulated.S")
add_where_it_runs("what the kernel emulates: cli and sti", "emulated.S", "-DCLI")
add_where_it_runs("what the kernel emulates: calls of the vsyscall page", "emulated.S", "-DVSYSCALL", whole_code=False)
for define_ in engine_compare.LEADING_NOWHERE:
    add_fault(define_)


@case("the first instruction of a program sees no trap flag")
def first_flags():
    same_as_native([build("start_flags.S", *BARE)])
    same_as_native([build("tree.c", *STATIC), "fork-exec", build("start_flags.S", *BARE)])


@case("two recordings of one program are equal")
def repeatable():
    program = build("workload.c", *BARE, "-fno-stack-protector")
    first, second = (recorded_branches(record([program], WHOLE)) for _ in range(2))
    compare(first, second)
    check(len(first) > 3000, "%d branches" % len(first))


@case("a small ring keeps the newest branches")
def small_ring():
    program = build("workload.c", *BARE, "-fno-stack-protector")
    whole = recorded_branches(record([program], WHOLE))
    part = recorded_branches(record([program], [*WHOLE, "--history", "1000"]))
    real = [row for row in part if row[1] != "gap"]
    check(len(real) < len(whole), "%d branches of %d" % (len(real), len(whole)))
    check(len(real) >= 1000, "only %d branches" % len(real))
    compare(real[-1000:], whole[-1000:])


@case("a small ring with a small --history records a gap for what it lost")
def small_ring_gap():
    program = build("workload.c", *BARE, "-fno-stack-protector")
    part = recorded_branches(record([program], [*WHOLE, "--history", "1000"]))
    check(part[0][1] == "gap", "the first entry is " + describe(part[0]))


# The same output and end as without btrec.
TRAP_FLAG = """pushf pushf-16 pushf-after-ss pushf-twice-after-ss pushf-after-popf pushf-in-handler pushf-in-child pushf-in-thread
r11 r11-of-failure r11-after-ss frame-of-fault frame-of-sent-signal frame-of-timer flags-after-handler popf own-trap-flag
own-trap-flag-and-system-call own-trap-flag-before-repeated own-trap-flag-emulated own-trap-flag-by-sigreturn int3-handled int3-long-handled int1-handled int3-after-ss
int3-with-own-trap-flag blocked-handled blocked-ignored all-blocked sent-while-blocked waited-for ignored-and-sent sent-and-fatal
blocked-int3 blocked-int3-default blocked-int3-ignored blocked-int3-pending blocked-own-trap-flag int3-in-handler blocked-fault blocked-by-sa-mask one-shot string-instructions iret-faults popf-faults
iret-faults-with-own-trap-flag restarted interrupted""".split()


def add_trap_flag(name):
    @case("stepping does not show: " + name)
    def run():
        # From main on: glibc's start is stepped by other tests.
        same_as_native([build("trap_flag.c", *STATIC, "-pthread"), name], ["--from", "main"])


for name_ in TRAP_FLAG:
    add_trap_flag(name_)


@case("a blocked int3 kills in the engine, too")
def int3_in_the_engine():
    for name in "blocked-int3", "blocked-int3-default", "blocked-int3-ignored", "blocked-int3-pending", "blocked-own-trap-flag", "int3-in-handler":
        for options in [], ["--parallel"], ["--history", "off"]:
            same_as_native([build("trap_flag.c", *STATIC, "-pthread"), name], ["--backend", "engine", *options])


@case("restartable sequences and shadow stacks are refused")
def rseq():
    for options in ((), ("--backend", "engine")):
        result = record([build("rseq.c")], options)
        equal(result.out, b"refused\nrefused\n", "output")
        check("shadow stack (CET)" in execute([BTREC, "dump", result.trace]).out.decode(), "nothing is said of the shadow stack")


def forgetful():
    """The environment of a btrec that is not told of every trap why it came."""
    return {**os.environ, "LD_PRELOAD": build("lost_cause.c", "-shared", "-fPIC", name="liblost_cause.so"),
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}


@case("steps of which nobody knows why they ended are steps")
def lost_cause():
    for source in ("conditionals.S", "handlers.S"):
        program = build(source, *BARE)
        result = record([program], WHOLE, env=forgetful())
        equal(result.status, 0, "end")
        compare(recorded_branches(result), expected_of(program))
    for name in ("popf", "own-trap-flag", "string-instructions", "pushf-in-thread", "pushf-in-child", "flags-after-handler", "one-shot"):
        same_as_native([build("trap_flag.c", *STATIC, "-pthread"), name], ["--from", "main"], env=forgetful())


@case("every case of trap_flag is tried")
def all_tried():
    equal(sorted(native([build("trap_flag.c", *STATIC, "-pthread")]).out.decode().split()), sorted(TRAP_FLAG), "cases")


main(sanitized=5)
