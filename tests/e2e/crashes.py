#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Programs that crash, each recorded, each behaving as without btrec, and what btview says of each.
import os
import re
import signal

from e2e import *

# libstdc++ takes a million instructions to start, glibc some ten thousand: few cases need to step them.
FROM_MAIN = ["--from", "main"]
FROM_START = ("null-write", "abort", "ret-unmapped", "fault-in-handler")

# How much stack a program may use: bounds the recursion that overflows it.
SMALL_STACK = 256 * 1024
ANY = object()

# argument: signal, si_code, fault address (ANY: not checked), function at the fault, and then
#   mark: of the line at the fault (default: the argument); words: patterns of the report's text; calls: functions that the
#   last branches enter, in this order; stack: functions on the stack, innermost first, others may stand between;
#   said: a pattern of what btview --stdio prints.
FAULTS = {
    "null-write": ("SIGSEGV", "SEGV_MAPERR", 0x10, "store", dict(
        words=["write", r"0x10\b", "null"], calls=["null_write", "store"], stack=["store", "null_write", "main"])),
    "null-read": ("SIGSEGV", "SEGV_MAPERR", 0x10, "load", dict(
        words=["read", r"0x10\b", "null"], calls=["null_read", "load"], stack=["load", "null_read", "main"])),
    "wild-write": ("SIGSEGV", "SEGV_MAPERR", 0x123456789000, "wild_write", dict(
        words=["write", "0x123456789000"], calls=["wild_write"], stack=["wild_write", "main"])),
    "wild-read": ("SIGSEGV", "SEGV_MAPERR", 0x123456789000, "wild_read", dict(
        words=["read", "0x123456789000"], calls=["wild_read"], stack=["wild_read", "main"])),
    # The kernel does not know the address of a general protection fault: si_addr is 0, the report reads the operand.
    "non-canonical-read": ("SIGSEGV", "SI_KERNEL", ANY, "non_canonical_read", dict(
        words=["non-canonical", "0x8000000000001234"], stack=["non_canonical_read", "main"])),
    "write-to-constant": ("SIGSEGV", "SEGV_ACCERR", ANY, "write_to_constant", dict(
        words=["write", "read-only"], stack=["write_to_constant", "main"])),
    "call-null": ("SIGSEGV", "SEGV_MAPERR", 0, None, dict(
        pc=0, words=["call", "null"], calls=["call_null", "call_it"], stack=["call_it", "call_null", "main"], last="icall")),
    "call-unmapped": ("SIGSEGV", "SEGV_MAPERR", 0x123456789000, None, dict(
        pc=0x123456789000, words=["call", "0x123456789000"], stack=["call_it", "call_unmapped", "main"], last="icall")),
    "call-non-canonical": ("SIGSEGV", "SI_KERNEL", ANY, "call_it", dict(
        mark="call", words=["call", "non-canonical", "0x8000000000001234"], stack=["call_it", "call_non_canonical", "main"])),
    "call-data": ("SIGSEGV", "SEGV_ACCERR", ANY, ANY, dict(
        mark=None, words=["execut"], stack=["call_it", "call_data", "main"], last="icall")),
    "ret-unmapped": ("SIGSEGV", "SEGV_MAPERR", 0x123456789000, None, dict(
        pc=0x123456789000, words=["return", "0x123456789000"], calls=["ret_unmapped", "smash"], last="ret")),
    "ret-non-canonical": ("SIGSEGV", "SI_KERNEL", ANY, "smash", dict(
        mark=None, words=["return", "non-canonical", "0x4141414141414141"], calls=["ret_non_canonical", "smash"], stack=["smash"])),
    "smashed-return": ("SIGSEGV", "SEGV_MAPERR", 0x10, "smash_and_store", dict(
        words=["write", "null"], calls=["smashed_return", "smash_and_store"], stack=["smash_and_store", "never_entered"])),
    "stack-overflow": ("SIGSEGV", "SEGV_MAPERR", ANY, "descend", dict(
        mark=None, words=["stack overflow"], calls=["descend", "descend", "descend"], stack=["descend", "descend", "descend"])),
    "large-frame": ("SIGSEGV", ANY, ANY, "use_large_frame", dict(
        mark=None, words=["stack overflow: (write|update)"], stack=["use_large_frame", "run_large_frame"])),
    "library-read": ("SIGSEGV", "SEGV_MAPERR", 0, ANY, dict(
        mark=None, words=["read from 0x0"], stack=["library_read", "main"])),
    "free-wild": ("SIGSEGV", "SEGV_MAPERR", 0x123456788ff8, ANY, dict(
        mark=None, words=["read from 0x123456788ff8 .*, in the allocator: its data was overwritten before, or it was given"], stack=["free_wild", "main"])),
    "free-inner": ("SIGABRT", "SI_TKILL", ANY, ANY, dict(
        mark=None, where="free_inner", words=["a pointer to no block of its own, at free_inner"], stack=["abort", "free_inner", "main"])),
    "allocate-deep": ("SIGSEGV", "SEGV_MAPERR", ANY, ANY, dict(
        mark=None, words=["^stack overflow: .*, called from descend_allocating.*, was entered [0-9]+ times without returning$"], stack=["descend_allocating", "descend_allocating"])),
    "abort": ("SIGABRT", "SI_TKILL", ANY, ANY, dict(
        mark=None, where="call_abort", words=["abort"], calls=["call_abort", "abort"], stack=["raise", "abort", "call_abort", "main"])),
    "raise-again": ("SIGSEGV", "SI_TKILL", ANY, "store", dict(
        mark="null-write", words=["^SIGSEGV, raised by the program itself; the SIGSEGV before it, which a handler got: write to 0x10 .*, at store"],
        snapshots=2, stack=["store", "raise_again", "main"])),
    "kill-by-abort": ("SIGABRT", "SI_USER", ANY, ANY, dict(
        mark=None, words=["^SIGABRT, raised by the program itself$"], stack=["kill_by_abort", "main"])),
    "assert": ("SIGABRT", "SI_TKILL", ANY, ANY, dict(
        mark=None, where="fail_assert", words=["^an assertion failed, at fail_assert"], calls=["fail_assert", "__assert_fail"], stack=["abort", "fail_assert", "main"])),
    "divide-by-zero": ("SIGFPE", "FPE_INTDIV", ANY, "divide", dict(
        words=["division by zero"], stack=["divide", "main"])),
    "divide-overflow": ("SIGFPE", "FPE_INTDIV", ANY, "divide_overflow", dict(
        words=["division", "overflow"], stack=["divide_overflow", "main"])),
    "illegal": ("SIGILL", "ILL_ILLOPN", ANY, "illegal", dict(
        words=["illegal instruction|ud2"], stack=["illegal", "main"])),
    "privileged": ("SIGSEGV", "SI_KERNEL", ANY, "privileged", dict(
        words=["privileged|hlt"], stack=["privileged", "main"])),
    "breakpoint": ("SIGTRAP", "SI_KERNEL", ANY, "breakpoint", dict(
        where="breakpoint", words=["breakpoint instruction int3 at breakpoint"], stack=["breakpoint", "main"])),
    "breakpoint-at-end": ("SIGTRAP", "SI_KERNEL", ANY, "trap_at_end", dict(
        mark=None, where="trap_at_end", words=["int3 at trap_at_end"], stack=["trap_at_end", "breakpoint_at_end", "main"])),
    "bus-error": ("SIGBUS", "BUS_ADRERR", ANY, "bus_error", dict(
        words=["beyond the end|past the end|end of the file"], stack=["bus_error", "main"])),
    "misaligned": ("SIGSEGV", "SI_KERNEL", ANY, "misaligned", dict(
        words=["align"], stack=["misaligned", "main"])),
    "fault-in-handler": ("SIGSEGV", "SEGV_MAPERR", 0x123456789000, "write_in_handler", dict(
        words=["write", "0x123456789000"], calls=["fault_in_handler", "raise"], kinds=["async"],
        stack=["write_in_handler", "raise", "fault_in_handler", "main"])),
    "fault-in-fault-handler": ("SIGSEGV", "SEGV_MAPERR", 0x123456789000, "write_in_handler", dict(
        mark="fault-in-handler", calls=["store"], kinds=["async"], snapshots=2,
        stack=["write_in_handler", "store", "fault_in_fault_handler", "main"])),
    "handled-then-fatal": ("SIGSEGV", "SEGV_MAPERR", 0x10, "load", dict(
        mark="null-read", calls=["store", "load"], kinds=["async"], snapshots=2, stack=["load", "handled_then_fatal", "main"])),
    "float-divide": ("SIGFPE", "FPE_FLTDIV", ANY, "float_divide", dict(
        words=["float|division"], stack=["float_divide", "main"])),
    "alignment-check": ("SIGBUS", "BUS_ADRALN", ANY, "alignment_check", dict(
        words=["write to 0x[0-9a-f]*[19], which is not aligned to its 4 bytes, and alignment is checked"], stack=["alignment_check", "main"])),
    "software-interrupt": ("SIGSEGV", "SI_KERNEL", ANY, "software_interrupt", dict(
        words=["int 0x21|interrupt|privileged"], stack=["software_interrupt", "main"])),
    "forbidden-page": ("SIGSEGV", "SEGV_ACCERR", ANY, "forbidden_page", dict(
        words=["write", "not permitted|no access|inaccessible|PROT_NONE|protect|may not"], stack=["forbidden_page", "main"])),
    "unmapped-page": ("SIGSEGV", "SEGV_MAPERR", ANY, "unmapped_page", dict(
        words=["write"], stack=["unmapped_page", "main"])),
    "no-stack": ("SIGSEGV", "SEGV_MAPERR", 0xff8, "no_stack", dict(
        words=["write|push", "0xff8"])),
    "no-stack-to-call": ("SIGSEGV", "SEGV_MAPERR", 0xff8, "no_stack_to_call", dict(
        words=["write to 0xff8"], said=r"\n  [0-9]+: .*; /\* @no-stack-to-call \*/\n  0x[0-9a-f]+: call call_it\n")),
    "no-stack-for-handler": ("SIGSEGV", ANY, ANY, "no_stack_for_handler", dict(words=[])),
    "torn-instruction": ("SIGSEGV", "SEGV_MAPERR", ANY, None, dict(
        words=["execution at 0x[0-9a-f]*000, where nothing is mapped.*, within the instruction that begins at 0x[0-9a-f]*ff[0-9a-f]$"],
        said="ff[0-9a-f]:( [0-9a-f]{2})+, the beginning of an instruction\n", stack=["torn_instruction", "main"])),
    "torn-after-syscall": ("SIGSEGV", "SEGV_MAPERR", ANY, None, dict(
        words=["execut|fetch|instruction"], last="syscall", stack=["call_it", "torn_after_syscall", "main"])),
    "string-fault": ("SIGSEGV", "SEGV_MAPERR", ANY, "string_fault", dict(
        words=["write"], stack=["string_fault", "main"])),
    "double-free": ("SIGABRT", "SI_TKILL", ANY, ANY, dict(
        mark=None, where="double_free", words=["^malloc found its data overwritten, memory freed twice.*, at double_free"],
        stack=["raise", "abort", "double_free", "main"])),
    "close-range-all": ("SIGSEGV", "SEGV_MAPERR", 0x123456789000, "close_range_all", dict(
        words=["write"], stack=["close_range_all", "main"])),
    "seccomp-trap": ("SIGSYS", "SYS_SECCOMP", ANY, ANY, dict(
        mark=None, words=["seccomp", "getppid"], stack=["seccomp_trap", "main"])),
    "raise-quit": ("SIGQUIT", "SI_TKILL", ANY, ANY, dict(
        mark=None, words=["SIGQUIT"], stack=["raise", "raise_quit", "main"])),
}

# glibc's names for one function differ between versions and between linked statically and not.
ALIASES = {
    "raise": {"raise", "gsignal", "__GI_raise", "__pthread_kill_implementation", "__pthread_kill_internal", "pthread_kill",
              "__pthread_kill", "__GI___pthread_kill", "pthread_kill@@GLIBC_2.34"},
    "abort": {"abort", "__GI_abort"},
    "__assert_fail": {"__assert_fail", "__GI___assert_fail", "__assert_fail_base"},
}


def is_function(name, wanted):
    return name in ALIASES.get(wanted, {wanted})


def contains_in_order(names, wanted):
    rest = iter(names)
    return all(any(is_function(name, one) for name in rest) for one in wanted)


def names_of(locations):
    """Functions of locations, the inlined ones too, innermost first."""
    out = []
    for location in locations:
        out += [frame["function"] for frame in location.get("inlined", [])] + [location.get("function")]
    return out


def entered(report_, kinds=("call", "icall", "jmp", "ijmp")):
    """The functions at whose first instruction a branch arrived."""
    return [b["to"]["function"] for b in report_["branches"] if b["kind"] in kinds and b["to"].get("offset") == 0]


def number(text_):
    return int(text_, 16)


def check_line(location, source, mark):
    equal(os.path.basename(location.get("file") or ""), source, "file")
    equal(location["line"], line_of(source, mark), "line")


def check_fault(found, words, expected, source):
    name, code, address, function, more = expected
    fault = found["fault"]
    check(fault, "no fault in the report: %s" % found["exit"])
    equal(found["exit"]["signal"], name, "exit signal")
    equal(fault["signal"], name, "signal")
    equal(found["verdict"]["state"], "consistent", "verdict (%s)" % found["verdict"])
    check(code in (ANY, fault["code"]), "code %s, expected %s" % (fault["code"], code))
    if address is not ANY:
        equal(number(fault["address"]), address, "fault address")
    if "pc" in more:
        equal(number(fault["pc"]), more["pc"], "pc")
    thread = found["threads"][0]
    equal((thread["task"], thread["tid"], thread["pid"]), (fault["task"], fault["tid"], fault["pid"]), "first thread")
    equal(number(thread["stack"][0]["addr"]), number(fault["pc"]), "innermost frame's address")
    equal(number(thread["registers"]["rip"]), number(fault["pc"]), "rip")
    if function is not ANY:
        equal(thread["stack"][0].get("function") or None, function, "function")
    if function is not ANY and function is not None and more.get("mark", True):
        check_line(thread["stack"][0], source, more["mark"])
    stack = names_of(thread["stack"])
    check(contains_in_order(stack, more.get("stack", [])), "stack is %s, expected %s" % (stack, more.get("stack")))
    calls = entered(found)
    check(contains_in_order(calls, more.get("calls", [])), "the branches enter %s, expected %s" % (calls[-30:], more.get("calls")))
    for kind in more.get("kinds", []):
        check(any(b["kind"] == kind for b in found["branches"]), "no branch of kind " + kind)
    if "where" in more:
        equal(fault["where"]["function"], more["where"], "place to look at")
    if "last" in more:
        equal(found["branches"][-1]["kind"], more["last"], "kind of the last branch")
        equal(found["branches"][-1]["to"]["addr"], fault["pc"], "target of the last branch")
    if "snapshots" in more:
        equal(len(found["snapshots"]), more["snapshots"], "number of snapshots")
    for pattern in more.get("words", []):
        check(re.search(pattern, fault["text"], re.I), "the text %r does not say %r" % (fault["text"], pattern))
    check(re.search(more.get("said", ""), words), "btview --stdio does not print %r: %s" % (more.get("said"), words))
    first = "\n".join(words.splitlines()[:12])
    check(name in first, "btview --stdio does not name %s at its top: %s" % (name, first))
    check(fault["text"] in words, "btview --stdio does not say %r: %s" % (fault["text"], first))


def small_stack():
    resource.setrlimit(resource.RLIMIT_STACK, (SMALL_STACK, SMALL_STACK))


def add_fault(name, expected):
    signal_, code, address, function, more = expected
    more.setdefault("mark", name)

    @case("fault: " + name)
    def run():
        program = build("faults.c", *STATIC)
        setup = small_stack if name in ("stack-overflow", "allocate-deep") else None
        alone, recorded = same_as_native([program, name], () if name in FROM_START else FROM_MAIN, setup=setup)
        if alone.status == 77:
            raise Skip("the kernel has no seccomp filters")
        equal(alone.status, -getattr(signal, signal_), "native end")
        found = report(recorded.trace, "-n", "2000")
        check_fault(found, text(recorded.trace), expected, "faults.c")


for fault_name, fault_row in FAULTS.items():
    add_fault(fault_name, fault_row)


@case("a return address that was written over: the report says that stack and history disagree, and what was called")
def smashed():
    program = build("faults.c", *STATIC)
    recorded = record([program, "smashed-return"], FROM_MAIN)
    said = text(recorded.trace)
    check("  The stack and the branch history disagree from frame #1 on: the history has no such call.\n" in said, said)
    called = said.partition("By the branch history these calls were open, innermost first:\n")[2].splitlines()
    check(re.match(r" +call at smashed_return\+", called[0]) and re.match(r" +call at main\+", called[1]), "open calls: %s" % called[:3])
    # The stack is as it is in memory, and nothing of the history's added to it.
    thread = report(recorded.trace)["threads"][0]
    equal(([f["function"] for f in thread["stack"][:2]], thread["unwound"]), (["smash_and_store", "never_entered"], len(thread["stack"])), "stack and its length")
    found = thread["by_history"]
    equal((found["verdict"], found["frame"], [c["function"] for c in found["open_calls"]][:2]), ("disagrees", 1, ["smashed_return", "main"]), "by the history")
    for name in "null-write", "abort":
        said = text(record([program, name], FROM_MAIN).trace)
        check("disagree" not in said and "agrees with" in said, "of one that is whole: " + said)


@case("a handler on a stack of its own: its frames, what it interrupted and what called that stand once")
def handler_elsewhere():
    recorded = record([build("faults.c", *STATIC), "abort-in-handler"], FROM_MAIN)
    thread = report(recorded.trace, "-n", "1")["threads"][0]
    stack = [f["function"] for f in thread["stack"]]
    equal(thread["unwound"], len(stack), "what was unwound of it")
    after = [f for f in stack[stack.index("give_up"):] if "restore_rt" not in (f or "")]
    equal(after[:4], ["give_up", "store", "abort_in_handler", "main"], "the stack from the handler on")
    equal(len(set(after)), len(after), "the stack has %s" % after)
    said = report(recorded.trace, "-n", "1")["fault"]["text"]
    check(re.search("abort was called, at give_up.*; the SIGSEGV before it, which a handler got: write to 0x10 .*, at store", said), said)
    found = thread["by_history"]
    # Up to give_up all but the first were called; store was interrupted; what called main is older.
    equal((found["verdict"], found["checked"]), ("agrees", stack.index("give_up") + len(["abort_in_handler", "main"])), "by the history")


@case("frames that an exception or longjmp has left, of functions that are older than the history, contradict no stack")
def left_frames():
    short, long = ["crash", "outer", "main"], ["crash", "work", "outer", "main"]
    for flags, how, stack in (((), "exception", short), ((), "longjmp", long), ((), "exception-and-longjmp", long), ((), "nothing", long),
                              (STATIC, "exception", short), (STATIC, "longjmp", long), (("-O2",), "exception", short)):
        for history in "12000", "1000000":
            recorded = record([build("left_frames.cc", *flags), how], ["--history", history])
            thread = report(recorded.trace, "-n", "1")["threads"][0]
            names = [frame["function"].partition("(")[0] for frame in thread["stack"]]
            equal(names[:len(stack)], stack, "stack")
            found = thread["by_history"]
            check(found["verdict"] == "agrees" and found["checked"] >= 1, "%s, %s kept: %s" % (how, history, found))
            if history == "1000000":
                equal(found["checked"], found["callers"], "callers that the history knows")


@case("seccomp kills the process")
def seccomp_kill():
    alone, recorded = same_as_native([build("faults.c", *STATIC), "seccomp-kill"])
    equal(alone.status, -signal.SIGSYS, "native end")
    equal(report(recorded.trace)["exit"]["signal"], "SIGSYS", "exit signal")


@case("nested faults are kept each, the outermost of nested faults is marked")
def nested_depth():
    recorded = record([build("faults.c", *STATIC), "fault-in-fault-handler"], ["--from", "main"])
    lines = execute([BTREC, "dump", recorded.trace]).out.decode().splitlines()
    depths = [re.search(r" depth=(\d+)", line).group(1) for line in lines if line.startswith("SNAPSHOT ")]
    equal(depths, ["0", "1"], "depths of the snapshots")


@case("a handled stack overflow on an alternate stack")
def overflow_handled():
    alone, recorded = same_as_native([build("faults.c", *STATIC), "stack-overflow-handled"], setup=small_stack)
    equal(alone.status, 3, "native end")
    found = report(recorded.trace, "-n", "2000")
    equal(found["exit"]["status"], 3, "exit status")
    equal(found["fault"], None, "fault")
    check("say_and_leave" in names_of(b["to"] for b in found["branches"] if b["kind"] == "async"), "no handler entry")


@case("thousands of handled faults are rate-limited")
def handled_faults():
    alone, recorded = same_as_native([build("faults.c", *STATIC), "handled-faults"])
    equal(alone.out, b"3000 faults handled\n", "native output")
    found = report(recorded.trace)
    equal(found["fault"], None, "fault")
    count = len(found["snapshots"])
    check(1 <= count <= 1000, "%d snapshots of 3000 handled faults" % count)
    size = sum(os.path.getsize(os.path.join(recorded.trace, f)) for f in os.listdir(recorded.trace))
    check(size < 20 << 20, "the trace has %d bytes" % size)
    said = text(recorded.trace)
    check(re.search(r"suppress|not kept|not taken", said), "what was suppressed is not told: " + said[:2000])


@case("an exit status other than 0 is shown")
def exit_status():
    alone, recorded = same_as_native([build("faults.c", *STATIC), "exit-3"])
    equal(alone.status, 3, "native end")
    found = report(recorded.trace)
    equal(found["exit"]["status"], 3, "exit status")
    equal(found["fault"], None, "fault")


@case("position-independent program")
def pie():
    alone, recorded = same_as_native([build("faults.c", "-static-pie", "-fPIE"), "null-write"])
    check_fault(report(recorded.trace, "-n", "2000"), text(recorded.trace), FAULTS["null-write"], "faults.c")


@case("dynamic program")
def dynamic():
    alone, recorded = same_as_native([build("faults.c", "-fPIE", "-pie"), "null-write"])
    check_fault(report(recorded.trace, "-n", "2000"), text(recorded.trace), FAULTS["null-write"], "faults.c")


@case("abort in a dynamic program")
def dynamic_abort():
    alone, recorded = same_as_native([build("faults.c", "-fPIE", "-pie"), "abort"])
    check_fault(report(recorded.trace, "-n", "2000"), text(recorded.trace), FAULTS["abort"], "faults.c")


@case("a crash in a library: the program's place, and what libc says of why it ended it")
def in_library():
    program = build("faults.c", "-fPIE", "-pie")
    for name, function, says in (("assert", "fail_assert", "faults: .*faults.c:[0-9]+: fail_assert: Assertion `zero == 1' failed."),
                                 ("double-free", "double_free", "free\\(\\): double free detected in .*"), ("abort", "call_abort", None)):
        recorded = record([program, name])
        fault, said = report(recorded.trace, "-n", "1")["fault"], text(recorded.trace)
        equal((fault["where"]["function"], fault["caller"]), (function, None), name)
        check(re.fullmatch(says, fault["message"]) if says else fault["message"] is None, "%s: the message is %r" % (name, fault["message"]))
        check("\n  libc says: %s\n" % fault["message"] in said if says else "libc says" not in said, said)
        check_line(fault["where"], "faults.c", name)
    recorded = record([program, "library-read"])
    fault, said = report(recorded.trace, "-n", "1")["fault"], text(recorded.trace)
    check("libc.so" in fault["where"]["module"], "where: %s" % fault["where"])
    equal(fault["caller"]["function"], "library_read", "caller")
    check_line(fault["caller"], "faults.c", "library-read")
    check(re.search(r"\nCalled from\n  library_read\+.*\n  \d+: .*@library-read", said), said)
    equal(report(record([program, "null-read"]).trace, "-n", "1")["fault"]["caller"], None, "caller of what is no library's")


@case("Rust: a panic that ends the program is told, at the program's own place")
def rust():
    if not shutil.which("rustc"):
        raise Skip("rustc is not installed")
    program = build("panics.rs", "-C", "panic=abort", "-g", compiler=["rustc"])
    for how, line in ("index", "index"), ("unwrap", None), ("abort", "abort"), ("overflow", None):
        recorded = record([program, how]) # what it says has its number in it
        equal(recorded.status, -signal.SIGABRT, "end of " + how)
        fault = report(recorded.trace, "-n", "1")["fault"]
        check(fault["where"]["function"] in ("panics::look_up", "panics::main", "panics::descend"), "%s: where: %s" % (how, fault["where"]))
        said = {"abort": "abort was called, at panics::main", "overflow": "stack overflow, found by Rust's handler, at panics::descend"}
        check(said.get(how, "Rust code panicked, at panics::") in fault["text"], fault["text"])
        if line:
            check_line(fault["where"], "panics.rs", line)


@case("Rust: what is inlined is told")
def rust_inlined():
    if not shutil.which("rustc"):
        raise Skip("rustc is not installed")
    found = report(record([build("panics.rs", "-O", "-g", compiler=["rustc"]), "index"]).trace, "-n", "20000")
    own = [place for b in found["branches"] for place in (b["from"], b["to"]) if place["function"] == "panics::main"]
    inlined = [frame for place in own for frame in place["inlined"]]
    check(any(re.search("(core|alloc|std)::", frame["function"]) for frame in inlined), "inlined into main: %s" % inlined)
    check(any(os.path.basename(frame["file"]) == "panics.rs" for frame in inlined), "none called from its source: %s" % inlined)


@case("stripped program")
def stripped():
    program = build("faults.c", *STATIC, "-s", name="stripped")
    alone, recorded = same_as_native([program, "null-write"])
    found = report(recorded.trace, "-n", "500")
    equal((found["fault"]["signal"], number(found["fault"]["address"])), ("SIGSEGV", 0x10), "fault")
    frame = found["threads"][0]["stack"][0]
    check(not frame.get("function"), "a function in stripped code: %s" % frame.get("function"))
    check(os.path.basename(frame["module"]) == "stripped", "module " + str(frame["module"]))
    check(len(found["branches"]) > 100, "%d branches" % len(found["branches"]))
    check(any(os.path.basename(m["module"]) == "stripped" for m in found["missing"]), "missing: %s" % found["missing"])
    said = text(recorded.trace)
    check("stripped" in said and "write" in said, said[:1000])


@case("program deleted after the run")
def deleted():
    program = build("faults.c", *STATIC, name="deleted")
    alone, recorded = same_as_native([program, "null-write"], ["--no-symbols"])
    os.unlink(program)
    found = report(recorded.trace, "-n", "100")
    equal(number(found["fault"]["address"]), 0x10, "fault address")
    equal(len(found["branches"]), 100, "branches")
    check(any(os.path.basename(m["module"]) == "deleted" for m in found["missing"]), "missing: %s" % found["missing"])


def rebuilt(*options):
    program = build("faults.c", *STATIC, *options, name="rebuilt")
    alone, recorded = same_as_native([program, "null-write"], ["--no-symbols"])
    equal(report(recorded.trace, "-n", "1")["threads"][0]["stack"][0].get("function"), "store", "function before")
    os.rename(build("faults.c", *STATIC, *options, "-O2", name="rebuilt"), program)
    found = report(recorded.trace, "-n", "100")
    changed = [m for m in found["missing"] if os.path.basename(m["module"]) == "rebuilt"]
    check(changed and re.search("changed|build-id", changed[0]["what"]), "missing: %s" % found["missing"])
    check(not found["threads"][0]["stack"][0].get("function"), "symbols of another program are shown")


@case("program rebuilt after the run")
def rebuilt_with_id():
    rebuilt()


@case("program without a build-id rebuilt after the run")
def rebuilt_without_id():
    rebuilt("-Wl,--build-id=none")


@case("shared library")
def shared_library():
    library = build("library.c", "-shared", "-fPIC", name="libledger.so")
    user = build("library_user.c", "-L" + os.path.dirname(library), "-lledger", "-Wl,-rpath," + os.path.dirname(library))
    alone, recorded = same_as_native([user])
    check_library(recorded)


@case("library loaded by dlopen")
def plugin():
    library = build("library.c", "-shared", "-fPIC", name="libledger.so")
    alone, recorded = same_as_native([build("plugin_host.c"), library])
    check_library(recorded)


def check_library(recorded):
    equal(recorded.status, -signal.SIGSEGV, "end")
    found = report(recorded.trace, "-n", "200")
    frame = found["threads"][0]["stack"][0]
    equal((frame["function"], os.path.basename(frame["module"])), ("ledger_note", "libledger.so"), "function and module")
    check_line(frame, "library.c", "library")
    check(contains_in_order(names_of(found["threads"][0]["stack"]), ["ledger_note", "ledger_add", "main"]), "stack")
    check(contains_in_order(entered(found), ["ledger_add", "ledger_note"]), "calls are %s" % entered(found))


@case("code that a program has mapped from its own file anew, also one of fixed addresses")
def moved_code():
    for flags in ("-no-pie", "-fno-pie"), ("-pie", "-fPIE"):
        recorded = record([build("moved_code.c", *flags)])
        equal(recorded.status, -signal.SIGSEGV, "end")
        found = report(recorded.trace, "-n", "10")
        equal(found["fault"]["where"]["function"], "store", "where")
        check_line(found["fault"]["where"], "moved_code.c", "moved-code")
        check(any(b["kind"] == "icall" and b["from"]["function"] == "main" and b["to"]["function"] == "store" for b in found["branches"]), "no call of it")
        check("\nWhere\n  store " in text(recorded.trace), "the report has another place")


@case("C++ with inlined functions, after a caught exception")
def cxx_inlined():
    alone, recorded = same_as_native([build("exceptions.cc"), "inlined"], FROM_MAIN)
    equal(recorded.status, -signal.SIGSEGV, "end")
    found = report(recorded.trace, "-n", "400")
    equal(number(found["fault"]["address"]), 0x28, "fault address")
    frame = found["threads"][0]["stack"][0]
    check(frame["function"].startswith("shop::total("), "function %s" % frame["function"])
    inlined = [f["function"] for f in frame["inlined"]]
    check(any("price" in f for f in inlined), "inlined functions %s" % inlined)
    check_line(frame, "exceptions.cc", "inlined")
    outer = names_of(found["threads"][0]["stack"])
    check(contains_in_order(outer, ["main"]), "stack %s" % outer)


@case("C++: noexcept, and a namespace that Rust has, too")
def cxx_ends():
    program = build("ends.cc", "-D_GLIBCXX_ASSERTIONS")
    for how, function, says in (("element", "main", "an assertion of the C++ library failed"),
                                ("noexcept", "careful(int)", "int 2 left the noexcept function careful(int), at "),
                                ("assert", "core::check(int)", "an assertion failed"), ("terminate", "main", "std::terminate was called")):
        recorded = record([program, how])
        equal(recorded.status, -signal.SIGABRT, "end of " + how)
        fault = report(recorded.trace, "-n", "1")["fault"]
        equal(fault["where"]["function"].partition(" [clone")[0], function, "where")
        check(fault["text"].startswith(says), fault["text"])
    fault = report(record([program, "null"]).trace, "-n", "1")["fault"]
    equal((fault["where"]["function"], fault["caller"]), ("core::read(int const*)", None), "of a namespace")


@case("C++: the program's own place where it is inlined into the library's functions, or has those inlined")
def cxx_inlined_ends():
    program = build("inlined_ends.cc", "-O2", "-pthread")
    for how in "throw", "abort", "null":
        recorded = record([program, how])
        fault = report(recorded.trace, "-n", "1")["fault"]
        place = fault["caller"] if how == "null" and fault["caller"] else fault["where"]
        names = names_of([place])
        lines = [(os.path.basename(i["file"] or ""), i["line"]) for i in [place, *place["inlined"]]]
        # What compares is the program's own, too, where the compiler tells of it.
        if ("inlined_ends.cc", line_of("inlined_ends.cc", "compare")) not in lines:
            check(("inlined_ends.cc", line_of("inlined_ends.cc", how)) in lines, "%s: %s" % (how, place))
            check(any(re.match(r"main::.*::operator\(\)", name) for name in names), "%s: names: %s" % (how, names))
        check(not any(re.match("__(?!gnu_cxx::)", name) for name in names), "%s: names without their namespace: %s" % (how, names))
        if how != "null":
            equal(recorded.status, -signal.SIGABRT, "end")
            place = r", at main::.*::operator\(\).* \(inlined_ends.cc:%d\)" % line_of("inlined_ends.cc", how)
            check(re.search(place, fault["text"]), "%s: %s" % (how, fault["text"]))


@case("C++ exception that nobody catches")
def cxx_uncaught():
    alone, recorded = same_as_native([build("exceptions.cc"), "uncaught"], FROM_MAIN)
    equal(recorded.status, -signal.SIGABRT, "end")
    stack = names_of(report(recorded.trace, "-n", "10")["threads"][0]["stack"])
    functions = [name.split("(")[0] for name in stack if name]
    check("shop::parse" in functions and "main" in functions, "stack %s" % functions)


def killed_from_outside(signo, mode):
    """The program, blocked or spinning under btrec, gets a signal by kill(2). Returns its report."""
    program = build("outside.c", *STATIC)
    trace = fresh("trace")
    process = start([BTREC, "run", "-o", trace, "--", program, *mode], cwd=TMP, preexec_fn=lambda: limit_core(0))
    pid = int(process.stdout.readline())
    time.sleep(0.1)
    os.kill(pid, signo)
    process.wait(30)
    equal(process.returncode, -signo, "end of btrec")
    return report(trace, "-n", "50")


def add_outside(signo, mode, function):
    @case("killed from outside by %s, %s" % (signo.name, mode[0] if mode else "blocked"))
    def run():
        found = killed_from_outside(signo, mode)
        equal(found["exit"]["signal"], signo.name, "exit signal")
        if signo in (signal.SIGTERM, signal.SIGKILL):
            equal(found["fault"], None, "fault")
            return
        fault = found["fault"]
        equal((fault["signal"], fault["code"]), (signo.name, "SI_USER"), "signal and code")
        with open("/proc/self/comm") as file:
            sender = "sent by process %d (%s, user %d)" % (os.getpid(), file.read().strip(), os.getuid())
        check(sender in fault["text"], "the sender is not named: %r" % fault["text"])
        stack = names_of(found["threads"][0]["stack"])
        check(contains_in_order(stack, [function, "main"]), "stack %s" % stack)


for mode_, function_ in (([], "wait_here"), (["spin"], "spin_here")):
    for signo_ in (signal.SIGSEGV, signal.SIGTERM, signal.SIGKILL, signal.SIGABRT):
        add_outside(signo_, mode_, function_)

main()
