#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# btview --export core: gdb finds in the core file what the program was.
from e2e import *

SOURCE = r"""
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
struct pair { int a, b; };
static volatile int ready;
static char far_away[1 << 20];
static void *waits(void *arg) { int mine = *(int *)arg; far_away[mine << 16] = 1; ready = mine; for (;;) pause(); return arg; }
__attribute__((noinline)) static int fails(struct pair *p, int n)
{
    volatile int local = n * 3;
    assert(p->a == local);
    return local;
}
int main(void)
{
    pthread_t thread;
    int seven = 7;
    struct pair p = {4, 5};
    pthread_create(&thread, 0, waits, &seven);
    while (!ready)
        sched_yield();
    return fails(&p, 14);
}
"""


def core_of(trace, *options):
    made = btview("--export", "core", *options, trace).out
    path = fresh("core")
    with open(path, "wb") as file:
        file.write(made)
    return path


def gdb(program, core, *commands):
    if not shutil.which("gdb"):
        raise Skip("gdb is missing")
    said = execute(["gdb", "-q", "-nx", "-batch", "-iex", "set debuginfod enabled off", *(word for command in commands for word in ("-ex", command)),
                    program, core])
    return (said.out + said.err).decode(errors="replace")


def made(*flags):
    source = os.path.join(TMP, "fails.c")
    with open(source, "w") as file:
        file.write(SOURCE)
    program = os.path.join(TMP, "fails" + "".join(flags))
    equal(execute([*CC, "-g", *flags, "-pthread", source, "-o", program]).status, 0, "build")
    return program


@case("gdb shows stacks through libraries, all threads and variables, of PIE and others")
def debugger():
    for flags in (["-fPIE", "-pie"], ["-fno-pie", "-no-pie"], ["-static", "-no-pie"]):
        program = made(*flags)
        said = gdb(program, core_of(record([program]).trace), "bt", "info threads", "frame function fails", "p local", "p *p", "p $_siginfo.si_signo", "thread 2", "bt", "frame function waits", "p mine")
        check(re.search(r"#\d+ .* in fails \(p=0x[0-9a-f]+, n=14\)", said) and re.search(r"#\d+ .* in main \(\)", said), "stack: " + said)
        check(re.search(r"#\d+ .* abort \(|#\d+ .* in __GI_abort ", said) or "-static" in flags, "in libc: " + said)
        check(re.search(r"^\* 1 .*\n  2 ", said, re.M) and not re.search(r"^  3 ", said, re.M), "threads: " + said)
        equal(re.findall(r"^\$\d = (.*)$", said, re.M), ["42", "{a = 4, b = 5}", "6", "7"], "values, " + " ".join(flags))


FLOATS = r"""
#include <stdlib.h>
#include <string.h>
typedef float four __attribute__((vector_size(16)));
__attribute__((noinline, noclone)) static double scale(double factor, float shift, four all, double *to)
{
    *to = factor * shift + all[2]; /* null */
    return factor;
}
int main(int argc, char **argv)
{
    double *none = argc > 5 ? malloc(8) : 0;
    four all = {1.5f, -2.25f, (float)argc, 1e9f};
    (void)argv;
    __asm__ volatile("movl $0x12345678, %%eax; movd %%eax, %%xmm9" ::: "eax", "xmm9");
    return scale(0.1 * argc, 3.5f, all, none) > 0;
}
"""


@case("registers of floating point and vectors are those of the crash, as gdb shows them live")
def floats():
    source = os.path.join(TMP, "floats.c")
    with open(source, "w") as file:
        file.write(FLOATS)
    for level in "-O0", "-O2":
        program = os.path.join(TMP, "floats" + level)
        equal(execute([*CC, "-g", level, "-w", source, "-o", program]).status, 0, "build")
        commands = ["p factor", "p shift", "p all", "p $xmm0.uint128", "p $xmm9.v4_int32", "p $xmm2.v4_float", "p $mxcsr", "p $fctrl", "p $ymm1.v8_int32"]
        trace = record([program]).trace
        live = execute(["gdb", "-q", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "run", *(word for command in commands for word in ("-ex", command)), program])
        expected = re.findall(r"^\$\d = (.*)$", live.out.decode(errors="replace"), re.M)
        if "SIGSEGV" not in live.out.decode(errors="replace"):
            raise Skip("gdb runs no program here")
        check(len(expected) >= 7, live.out)
        equal(re.findall(r"^\$\d = (.*)$", gdb(program, core_of(trace), *commands), re.M), expected, "values, " + level)


@case("what the trace did not keep cannot be read, and is not zeros")
def unknown():
    program = made("-fPIE", "-pie")
    said = gdb(program, core_of(record([program]).trace), "p far_away[7 << 16]")
    check(re.search(r"Cannot access memory", said) and "$1" not in said, said)


@case("the signal's address and the registers are the trace's")
def signal_information():
    program = build("faults.c", "-fPIE", "-pie")
    trace = record([program, "null-write"]).trace
    said = gdb(program, core_of(trace), "info registers rip", "p $_siginfo._sifields._sigfault.si_addr")
    fault = report(trace, "-n", "1")["fault"]
    check(re.search(r"^rip +%s " % fault["pc"], said, re.M), said)
    check(re.search(r"= \(void \*\) %s" % fault["address"], said), said)


@case("btrec import reads it: the same signal, stack and registers")
def imported():
    trace = record([build("faults.c", "-fPIE", "-pie"), "double-free"]).trace
    again = fresh("trace")
    result = execute([BTREC, "import", "-q", "-o", again, core_of(trace)])
    equal(result.status, 0, result.err.decode())
    first, second = report(trace, "-n", "1"), report(again, "-n", "1")
    for key in ("signal", "code", "pc", "pid", "tid"):
        equal(second["fault"][key], first["fault"][key], key)
    equal([frame["function"] for frame in second["threads"][0]["stack"]], [frame["function"] for frame in first["threads"][0]["stack"]], "stack")
    equal(second["threads"][0]["registers"], first["threads"][0]["registers"], "registers")


@case("another moment, another thread first")
def chosen():
    program = made("-fPIE", "-pie")
    trace = record([program]).trace
    threads = report(trace, "-n", "1")["threads"]
    said = gdb(program, core_of(trace, "--snapshot", 1, "--thread", threads[1]["tid"]), "bt")
    check("waits (arg=" in said, said)
    equal(execute([BTVIEW, "--export", "core", "--snapshot", "9", trace]).status, 69, "no such moment")
    equal(execute([BTVIEW, "--export", "core", "-n", "9", trace]).status, 2, "usage")
    nothing = execute([BTVIEW, "--export", "core", record(["true"], ["--snap-exit", "never"]).trace])
    equal((nothing.status, nothing.out), (69, b""), "a trace without a moment")
    check(b"no registers" in nothing.err, nothing.err)


main()
