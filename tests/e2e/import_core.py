#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Core files, the kernel's and gdb's: what a trace made of one tells is what the process was.
import shutil

from e2e import *


def import_bytes(data, status=0):
    path = fresh("capture")
    with open(path, "wb") as file:
        file.write(data)
    return import_file(path, status)


def import_file(path, status=0):
    trace = fresh("trace")
    result = execute([BTREC, "import", "-o", trace, path])
    equal(result.status, status, "status of import (%s)" % result.err.decode(errors="replace"))
    result.trace = trace
    check(status == 0 or not os.path.exists(trace), "a refused capture left a trace")
    return result


def dump(trace, kind):
    out = execute([BTREC, "dump", trace]).out.decode(errors="replace")
    return [line for line in out.splitlines() if line.startswith(kind + " ")]


def mappings(trace):
    """(name, offset, prot, start, end) of each."""
    rows = [re.search(r' start=(\w+) end=(\w+) prot=(\d+) .* offset=(\w+) .* path="(.*?)" ', line + " ").groups() for line in dump(trace, "MAP")]
    return [(path, int(offset, 0), int(prot), int(start, 16), int(end, 16)) for start, end, prot, offset, path in rows]


def core_of(program, *arguments):
    folder = fresh_dir("core")
    need_core_files()
    ended = execute([program, *arguments], cwd=folder, core=resource.getrlimit(resource.RLIMIT_CORE)[1])
    cores = os.listdir(folder)
    check(cores, "no core file was made (status %d)" % ended.status)
    return os.path.join(folder, cores[0]), ended


def stack_of(data):
    return [frame["function"] for frame in data["threads"][0]["stack"]]


def without_frames_of_libc(stack):
    return [name for name in stack if name in ("broken", "caller", "give_up", "raise_within", "handled", "handled_twice", "compare", "called_back", "main")]


@case("a core file: what happened, stacks, registers, no history")
def core():
    program = build("faults.c", *STATIC)
    path, ended = core_of(program, "null-write")
    trace = fresh("trace")
    equal(execute([BTREC, "import", "-q", "-o", trace, path]).status, 0, "status of import")
    data = report(trace)
    native_trace = record([program, "null-write"])
    check(native_trace.status == ended.status, "recorded and native end differ")
    wanted = report(native_trace.trace)
    for key in ("signal", "code", "address"):
        equal(data["fault"][key], wanted["fault"][key], key)
    equal(data["fault"]["text"], wanted["fault"]["text"], "what happened")
    equal([f["function"] for f in data["threads"][0]["stack"]], [f["function"] for f in wanted["threads"][0]["stack"]], "stack")
    equal(data["branches"], [], "branches")
    equal(data["exit"], wanted["exit"], "exit")
    path, _ = core_of(build("faults.c", "-fPIE", "-pie"), "double-free")
    trace = fresh("trace")
    equal(execute([BTREC, "import", "-q", "-o", trace, path]).status, 0, "status of import")
    fault = report(trace)["fault"]
    equal((fault["where"]["function"], fault["message"][:22]), ("double_free", "free(): double free de"), "where libc ended it, and why")


@case("a core file with its number of segments elsewhere")
def many_segments():
    path, _ = core_of(build("faults.c", *STATIC), "null-write")
    with open(path, "rb") as file:
        good = file.read()
    trace = import_bytes(good).trace
    moved = bytearray(good)
    count = int.from_bytes(moved[56:58], "little")
    moved[56:58] = b"\xff\xff"
    moved[40:48] = len(moved).to_bytes(8, "little")
    moved += bytes(44) + count.to_bytes(4, "little") + bytes(16)
    equal(dump(import_bytes(bytes(moved)).trace, "MAP"), dump(trace, "MAP"), "mappings")


@case("a damaged core file is refused or read, never a crash")
def bad_core():
    path, _ = core_of(build("faults.c", *STATIC), "null-write")
    with open(path, "rb") as file:
        good = file.read()
    for size in (10, 64, 100, 500, 3000, len(good) // 2):
        trace = fresh("trace")
        cut = fresh("cut")
        with open(cut, "wb") as file:
            file.write(good[:size])
        status = execute([BTREC, "import", "-q", "-o", trace, cut]).status
        check(status in (0, 76), "core of %d bytes: status %d" % (size, status))
    other = bytearray(good)
    other[18] = 183  # another machine
    import_bytes(bytes(other), status=69)


@case("core files of other machines are named")
def other_machines():
    path, _ = core_of(build("faults.c", *STATIC), "null-write")
    with open(path, "rb") as file:
        good = file.read()
    big = bytearray(good)
    big[5], big[16:18] = 2, b"\0\4"
    small, arm = bytearray(good), bytearray(good)
    small[4] = 1
    arm[18] = 183
    for core, said in ((big, "core file of a big-endian machine"), (small, "core file of a 32-bit process"), (arm, "core file of a process of another kind of machine")):
        result = import_bytes(bytes(core), status=69)
        check(said + ": only those of x86-64 processes" in result.err.decode(), result.err)


@case("a core file that is cut off is imported as far as it is there, and that is said: on stderr and in the trace")
def cut_core():
    path, _ = core_of(build("faults.c", *STATIC), "null-write")
    with open(path, "rb") as file:
        good = file.read()
    whole = import_bytes(good)
    check(b"cut off" not in whole.err and "cut off" not in text(whole.trace), "of one that is whole: %r" % whole.err)
    cut = import_bytes(good[:-5000])
    said = "the core file is cut off: %d of %d bytes are there; memory and stacks are missing" % (len(good) - 5000, len(good))
    check(("btrec: " + said) in cut.err.decode(), cut.err.decode())
    check(said in text(cut.trace), text(cut.trace))


@case("after a stack overflow rsp lies below the stack: that is kept all the same, as of a recording")
def overflow():
    program = build("core_stacks.c", *STATIC)
    path, _ = core_of(program, "overflow")
    got, wanted = report(import_file(path).trace), report(record([program, "overflow"]).trace)
    rsp = int(got["threads"][0]["registers"]["rsp"], 16)
    stack, = [m for m in mappings(import_file(path).trace) if m[0] == "[stack]"]
    check(rsp < stack[3], "rsp 0x%x is not below the stack 0x%x" % (rsp, stack[3]))
    check(len(stack_of(got)) > 8, "%d frames" % len(stack_of(got)))
    # How often it fits in depends on what lies above it: names, the environment.
    equal(list(dict.fromkeys(stack_of(got))), list(dict.fromkeys(stack_of(wanted))), "functions on the stack")
    equal(stack_of(got)[-4:], stack_of(wanted)[-4:], "who began it")
    check("stack overflow" in got["fault"]["text"], got["fault"]["text"])


@case("a core file without a siginfo note: the instruction and the registers tell what happened, and no code is made up")
def no_siginfo():
    program = build("faults.c", *STATIC)
    inferred = ["null-write", "wild-read", "non-canonical-read", "write-to-constant", "call-null", "call-non-canonical", "call-data", "ret-unmapped",
                "stack-overflow", "divide-by-zero", "illegal", "breakpoint", "bus-error", "misaligned", "alignment-check", "privileged", "forbidden-page",
                "torn-instruction", "string-fault", "seccomp-kill"]
    for mode in inferred[1::4] if a_part() else inferred: # the stack overflow takes most of the time
        told, untold = with_and_without_siginfo(program, mode)
        equal(untold["code"], "code unknown", "code of " + mode)
        for key in ("signal", "address", "text", "where", "caller"):
            equal(untold[key], told[key], "%s of %s" % (key, mode))
    for mode, said in (("abort", "abort was called"), ("raise-quit", "SIGQUIT: neither a code nor the instruction tells why"),
                       ("kill-by-abort", "SIGABRT: neither a code nor the instruction tells why"),
                       ("float-divide", "SIGFPE: neither a code nor the instruction tells why")):
        _, untold = with_and_without_siginfo(program, mode)
        check(untold["text"].startswith(said), "%s: %s" % (mode, untold["text"]))
        equal((untold["code"], untold["address"]), ("code unknown", "0x0"), "code and address of " + mode)


REGISTERS = {"rbx": 5, "rax": 10, "rcx": 11, "rdx": 12, "orig_rax": 15, "rip": 16} # of NT_PRSTATUS, by number


@case("... and what the instruction cannot have raised is not made of it: the signal may have been sent there")
def sent_unseen():
    program = build("untold.c", *STATIC)
    symbols = {line.split()[2]: int(line.split()[0], 16) for line in execute(["nm", program]).out.decode().splitlines() if len(line.split()) == 3}
    path, _ = core_of(program)
    with open(path, "rb") as file:
        data = file.read().replace(b"IGIS", b"NONE")
    status = data.index(b"\1\0\0\0CORE\0\0\0\0") + 12
    minus, lowest, counter = 2**64 - 1, 2**63, symbols["counter"]
    for signo, place, registers, said in (
            ("ILL", "jump", {}, None), ("ILL", "later", {}, "does not allow \"vpaddd"),
            ("BUS", "add_relative", {}, None), ("BUS", "add_through", {"rbx": counter}, None),
            ("FPE", "div_64", {"rdx": 2, "rcx": 3}, None), ("FPE", "div_64", {"rdx": 3, "rcx": 3}, "does not fit"), ("FPE", "div_64", {"rcx": 0}, "is 0"),
            ("FPE", "idiv_64", {"rdx": minus, "rax": minus, "rcx": minus}, None), ("FPE", "idiv_64", {"rdx": minus, "rax": lowest, "rcx": minus}, "does not fit"),
            ("FPE", "idiv_8", {"rax": 0x7f, "rcx": 1}, None), ("FPE", "idiv_8", {"rax": 0xff80, "rcx": 0xff}, "does not fit"),
            ("SEGV", "masked", {"rcx": 0}, None), ("SEGV", "masked_512", {"rcx": 0}, None)):
        core = bytearray(data)
        core[status + 12:status + 14] = getattr(signal, "SIG" + signo).to_bytes(2, "little")
        for name, value in {**registers, "rip": symbols[place], "orig_rax": 2**64 - 1}.items():
            at = status + 112 + 8 * REGISTERS[name]
            core[at:at + 8] = value.to_bytes(8, "little")
        told = report(import_bytes(bytes(core)).trace)["fault"]["text"]
        check((said or "SIG%s: neither a code nor the instruction tells why" % signo) in told, "%s at %s with %s: %s" % (signo, place, registers, told))


def with_and_without_siginfo(program, mode):
    """What happened, by a core file and by the same without NT_SIGINFO."""
    path, _ = core_of(program, mode)
    with open(path, "rb") as file:
        data = file.read()
    equal(data.count(b"IGIS"), 1, "notes")
    return [report(import_bytes(core).trace)["fault"] for core in (data, data.replace(b"IGIS", b"NONE"))]


@case("a handler on an alternate stack gives up: the stack that was interrupted is kept, too")
def alternate_stack():
    program = build("core_stacks.c")
    for mode, handlers in (("handled", ["give_up"]), ("handled-twice", ["give_up", "raise_within"])):
        path, _ = core_of(program, mode)
        equal(without_frames_of_libc(stack_of(report(import_file(path).trace))),
              [*handlers, "broken", "caller", mode.replace("-", "_"), "main"], "stack of " + mode)


@case("a handler on an alternate stack gives up after a stack overflow: the stack that overflowed is kept, too")
def alternate_stack_of_overflow():
    path, _ = core_of(build("core_stacks.c"), "handled-overflow")
    check(stack_of(report(import_file(path).trace)).count("descend") > 8, "stack: %s" % stack_of(report(import_file(path).trace)))


@case("the alternate stack and the one that was interrupted lie in one mapping: both are kept")
def stacks_in_one_mapping():
    path, _ = core_of(build("core_stacks.c"), "together")
    stack = stack_of(report(import_file(path).trace))
    equal([name for name in stack if name in ("give_up", "broken", "descend_some", "deep")], ["give_up", "broken"] + ["descend_some"] * 14 + ["deep"], "stack")


@case("only the initial thread's own stack is called [stack]")
def name_of_stack():
    path, _ = core_of(build("core_stacks.c"), "elsewhere")
    trace = import_file(path).trace
    data = report(trace)
    rsp = int(data["threads"][0]["registers"]["rsp"], 16)
    here = [m for m in mappings(trace) if m[3] <= rsp < m[4]]
    equal([m[0] for m in here], [""], "name of what rsp points to")
    others = [m for m in mappings(trace) if m[0] == "[stack]"]
    check(len(others) == 1 and others[0][2] == 3 and others[0][3] > 0x7f0000000000, "called [stack]: %s" % others)
    equal(without_frames_of_libc(stack_of(data))[:2], ["broken", "caller"], "stack")


@case("gdb's core file leaves out code that only its list of files tells of: mapped as the file says")
def core_of_gdb():
    if not shutil.which("gdb"):
        raise Skip("gdb is missing")
    program, made = build("core_stacks.c"), fresh("gdb-core")
    said = execute(["gdb", "-nx", "-batch", "-ex", "run called-back", "-ex", "generate-core-file " + made, program])
    if not os.path.exists(made):
        raise Failure("gdb: %s" % said.err.decode(errors="replace"))
    with open(made, "rb") as file:
        data = file.read()
    got = import_file(made).trace
    stack = stack_of(report(got))
    equal(without_frames_of_libc(stack), ["compare", "called_back", "main"], "stack")
    equal(stack[-1], "_start", "outermost frame")
    check(re.search(r"names and does not hold: \d+;", text(got)), "no note in %s" % text(got))
    here = mappings(got)
    check(all(a[4] <= b[3] for a, b in zip(here, here[1:])), "mappings overlap or are out of order: %s" % here)
    # The loader's own protections, as the kernel's core file has them.
    path, _ = core_of(program, "called-back")
    wanted = {m[:2] + (m[4] - m[3],): m[2] for m in mappings(import_file(path).trace) if "/" in m[0]}
    libc = [m for m in here if os.path.basename(m[0]).startswith("libc.")]
    check({m[2] for m in libc} >= {1, 3, 5}, "libc's mappings: %s" % libc)
    for m in libc:
        equal((m[:2], m[2]), (m[:2], wanted.get(m[:2] + (m[4] - m[3],))), "protection")


@case("gdb's core file of a process that goes on: no signal has ended it")
def core_of_process_that_goes_on():
    if not shutil.which("gdb"):
        raise Skip("gdb is missing")
    made = fresh("gdb-core")
    execute(["gdb", "-nx", "-batch", "-ex", "break broken", "-ex", "run elsewhere", "-ex", "generate-core-file " + made, build("core_stacks.c")])
    with open(made, "rb") as file:
        data = bytearray(file.read())
    # gdb tells of the breakpoint: a trap, which could have ended it. What it tells when it comes to a process is SIGSTOP.
    for signo in (signal.SIGSTOP, signal.SIGINT, signal.SIGUSR1):
        trap, other = (number.to_bytes(4, "little") + bytes(4) for number in (signal.SIGTRAP, signo))
        at = data.index(b"CORE\0\0\0\0" + trap)
        result = import_bytes(data[:at + 8] + other + data[at + 16:])
        got = report(result.trace)
        equal((got["fault"], got["exit"]["kind"]), (None, "unknown"), "what happened, and the end")
        check("broken" in stack_of(got), "stack: %s" % stack_of(got))


main()
