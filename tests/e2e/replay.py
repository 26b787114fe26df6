#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Programs are recorded with --replayable, deleted with what they read, and run again by btrec replay: the same output, each event met.
# What is changed in a log is found, at its event; what is no log of ours is refused.
import collections
import ctypes
import random
import resource
import socket
import threading

from counted_steps import steps_of
from replays import *

def same(result, *options):
    again = replayed(result.trace, "-q", *options)
    equal((again.status, again.err, again.out), (0, result.err, result.out), "status, errors and output of the replay")


def gone(record_options=(), replay_options=(), flags=()):
    folder, argv = built(*flags)
    result = recorded(argv, *record_options, status=3)
    shutil.rmtree(folder)
    same(result, *replay_options)
    said = replayed(result.trace, "--no-output", *replay_options)
    equal(said.out, b"", "output with --no-output")
    check(b"exited with 3" in said.err, said.err)


@case("a static program is deleted with its input, and runs again")
def static():
    gone(flags=["-static"])


@case("a dynamic one")
def dynamic():
    gone()


NO_TABLES = {**os.environ, "LC_ALL": "C"} # a locale's are hundreds of thousands of instructions: for what is stepped


@case("recorded by the stepper, replayed by the engine")
def from_stepper():
    same(recorded(["/bin/date"], "--backend", "step", env=NO_TABLES))


@case("recorded by the engine, replayed by the stepper")
def by_stepper():
    same(recorded(["/bin/date"], env=NO_TABLES), "--backend", "step")


PROGRAMS_OF_DEBIAN = [
    ["bash", "-c", "for i in {1..50}; do a[i]=$((i*i)); printf '%s ' ${a[i]}; done; echo ${a[*]/1/x}; read -r x < /etc/hostname; echo $x $RANDOM $$"],
    ["cat", "/etc/services"], ["ls", "-la", "/usr"], ["date"], ["sort", "-r", "/etc/passwd"], ["md5sum", "/bin/ls"], ["gzip", "-9c", "/etc/services"],
    ["sed", "-n", "s/root/r/p", "/etc/passwd"], ["tar", "cf", "-", "/etc/hostname"],
    ["perl", "-e", "print time, ' ', rand(), ' ', join(',', sort { $a <=> $b } map { $_ * 7 % 11 } 1..10), qq(\\n)"],
    ["/usr/bin/python3", "-c", "import os, random, time; print(time.time(), random.random(), os.getpid(), sorted(os.environ)[:3])"],
    ["sqlite3", ":memory:", "create table t(a, b); insert into t values(1, random()), (2, datetime('now')); select * from t;"],
]


@case("programs of Debian")
def of_debian():
    tried = 0
    for argv in PROGRAMS_OF_DEBIAN:
        if not shutil.which(argv[0]):
            continue
        same(recorded(argv))
        tried += 1
    check(tried >= 8, "only %d of these programs are here" % tried)


@case("all memory that a program has at its end is what it had in the recording, with signals, too")
def sums():
    library = build("sums_memory.c", "-shared", "-fPIC", "-O1", name="libsums_memory.so")
    for argv in (["ls", "-la", "/usr"], ["sqlite3", ":memory:", "select random()"], ["/usr/bin/python3", "-c", "print(sum(range(1000)))"],
                 ["gzip", "-c", "/etc/services"]):
        if not shutil.which(argv[0]):
            continue
        for alarms in [], ["ALARMS=3000"]:
            result = recorded(["env", "LD_PRELOAD=" + library, *alarms, *argv])
            check(result.out.count(b"rw-p sum ") > 5, "sums: %r" % result.out[-300:])
            same(result)


@case("what the kernel copies from a file to standard output, past the program")
def copied():
    trace, out = fresh("trace"), os.path.join(TMP, "copied")
    with open(out, "wb") as file:
        argv = [BTREC, "run", "-q", "--replayable", "-o", trace, "--", "cat", "/etc/services", "/etc/passwd"]
        equal(subprocess.run(argv, stdout=file, stdin=subprocess.DEVNULL).returncode, 0, "end of cat")
    with open(out, "rb") as file:
        equal(replayed(trace, "-q").out, file.read(), "output of the replay")


@case("a program that a signal kills")
def killed():
    folder = fresh_dir("killed")
    source = os.path.join(folder, "killed.c")
    with open(source, "w") as file:
        file.write("#include <stdio.h>\nint main(int argc, char **argv) { puts(argv[0]); fflush(stdout); argv = 0; return argv[argc][0]; }\n")
    subprocess.run([*CC, "-O0", source, "-o", os.path.join(folder, "killed")], check=True)
    result = recorded([os.path.join(folder, "killed")], status=-signal.SIGSEGV)
    shutil.rmtree(folder)
    same(result)
    said = replayed(result.trace)
    check(b"killed by SIGSEGV" in said.err, said.err)


USES_UP_ITS_STACK = r"""
#include <stdio.h>
static int deeper(int n) { volatile char room[1000]; room[n % 1000] = 1; return deeper(n + 1) + room[0]; }
int main(void) { puts("begins"); fflush(stdout); return deeper(0); }
"""


@case("a stack that is used up, under another limit (ulimit -s) than the replay has: less, more, set before the program is executed")
def stack_used_up():
    program = os.path.join(fresh_dir("stack"), "program")
    with open(program + ".c", "w") as file:
        file.write(USES_UP_ITS_STACK)
    equal(subprocess.run([*CC, "-O0", "-static", program + ".c", "-o", program], stderr=subprocess.DEVNULL).returncode, 0, "status of the compiler")
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    larger = 3 * soft if soft != resource.RLIM_INFINITY else 24 << 20
    for argv, limit in ([program], 256 << 10), ([program], larger), (["sh", "-c", "ulimit -s 512; exec " + program], soft):
        if limit > hard >= 0:
            continue
        result = record(argv, ["--replayable", "--quiet"], setup=lambda: resource.setrlimit(resource.RLIMIT_STACK, (limit, hard)))
        equal(result.status, -signal.SIGSEGV, "end of the program")
        same(result)
        if limit < soft: # else a long way for the stepper
            same(result, "--backend", "step")


SOURCE = os.path.normpath(os.path.join(HERE, "..", ".."))
KB, MB = 1 << 10, 1 << 20
PR_CAPBSET_DROP, CAP_SYS_RESOURCE = 24, 24 # linux/prctl.h, linux/capability.h

# What tests/programs/own_stack_limit.c is told, the limit that it begins with, and how it ends.
OWN_STACK_LIMITS = [
    (["setrlimit", 192 * KB, MB], 8 * MB, -signal.SIGSEGV), (["setrlimit", 2 * MB, MB], 256 * KB, 0), (["setrlimit", 2 * MB, 4 * MB], 256 * KB, -signal.SIGSEGV),
    (["setrlimit", 0, MB], 8 * MB, -signal.SIGSEGV), (["setrlimit", resource.RLIM_INFINITY, MB], 256 * KB, 0), (["pid0", 192 * KB, MB], 8 * MB, -signal.SIGSEGV),
    (["pid", 2 * MB, MB], 256 * KB, 0), (["fails", 2 * MB, MB], 256 * KB, 0), (["compat", 192 * KB, MB], 8 * MB, -signal.SIGSEGV), (["refused", 192 * KB, MB], 8 * MB, 0),
]


def own_stack_limit(argv, limit, hard=resource.RLIM_INFINITY):
    """A recording of a program that begins with this limit of its stack."""
    setup = lambda: resource.setrlimit(resource.RLIMIT_STACK, (limit, hard))
    return record([str(a & (1 << 64) - 1) if isinstance(a, int) else a for a in argv], ["--replayable", "--quiet"], setup=setup)


@case("a stack whose limit the program sets itself: by each call, less, more, none at all, in vain, before another program")
def stack_limit_set():
    if resource.getrlimit(resource.RLIMIT_STACK)[1] != resource.RLIM_INFINITY:
        raise Skip("the stack has a hard limit")
    program = build("own_stack_limit.c", *STATIC)
    for argv, limit, status in OWN_STACK_LIMITS:
        result = own_stack_limit([program, *argv], limit)
        if argv[0] == "compat" and result.out != b"set\n": # CONFIG_IA32_EMULATION
            continue
        equal((result.status, result.out[:4]), (status, b"set\n"), "end and output of %s" % argv)
        same(result)
        if argv[0] == "setrlimit" and argv[2] == MB: # a way for the stepper
            same(result, "--backend", "step")
    # The second program has the first one's limit, or its own again, or is not executed, for its arguments are more than a page.
    for first, second, status in ((192 * KB, [], -signal.SIGSEGV), (2 * MB, [], 0), (0, [], -signal.SIGSEGV), (0, ["x" * 4096], 7),
                                  (192 * KB, ["setrlimit", 2 * MB], 0)):
        result = own_stack_limit([program, "setrlimit", first, 0, program, *(second or ["refused", 100]), MB], 512 * KB)
        equal(result.status, status, "end of the second program, %d, %.40s" % (first, second))
        same(result)
        if first == 192 * KB and not second:
            same(result, "--backend", "step")


@case("a stack that is larger than the hard limit where it is replayed, which nobody may raise")
def stack_limit_refused():
    def poor():
        resource.setrlimit(resource.RLIMIT_STACK, (256 * KB, 512 * KB))
        if not os.geteuid():
            ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE, 0, 0, 0)
    if resource.getrlimit(resource.RLIMIT_STACK)[1] != resource.RLIM_INFINITY:
        raise Skip("the stack has a hard limit")
    program = build("own_stack_limit.c", *STATIC)
    # Set by the program, set before it began, and not used to the end.
    for argv, limit, status in (["setrlimit", 2 * MB, MB], 256 * KB, 65), (["refused", 100, MB], 2 * MB, 65), (["setrlimit", 2 * MB, 100 * KB], 256 * KB, 0):
        result = own_stack_limit([program, *argv], limit)
        equal(result.status, 0, "end of the program")
        again = execute([BTREC, "replay", "-q", result.trace], cwd="/", setup=poor)
        equal(again.status, status, "status of the replay of %s: %s" % (argv, again.err))
        equal(b"ulimit -Hs" in again.err, status == 65, "the limit in what is said: %s" % again.err)


@case("a stack that is kept from growing by another limit than its own (RLIMIT_AS): step by step, within REP, with a handler")
def stack_kept_small():
    program = build("stack_kept_small.c", "-O1", *STATIC)
    for how, status, out in ("steps", -signal.SIGSEGV, b"full\n"), ("rep", -signal.SIGSEGV, b"full\n"), ("handled", 7, b"full\nkept\n"):
        result = recorded([program, how], status=status)
        equal(result.out, out, "output, %s" % how)
        same(result)
        if how == "rep":
            same(result, "--backend", "step")


# How often a program is killed in the midst of calls.
KILLS = 10


@case("a program whose timer sends more often than its signals are served")
def served_too_slowly():
    program = build("frequent_alarms.c", *STATIC)
    for argv in ["work", "3000000"], ["first", "50"], ["nested", "50"], ["jumps", "50"], ["mask", "50"], ["waits", "50"], ["ends", "50"], ["pipe", "50"]:
        result = record([program, *argv], ["--replayable", "--quiet"])
        equal((result.status, result.out), (0, b"ok\n"), "end and output of %s" % argv)
        same(result)


# By program: what changes code or mappings past the program's own instructions, and signals that no instruction raises a second time,
# or that the kernel forces upon a program that blocks them.
CHANGES = {
    "written_by_kernel": "by-read by-process-vm-writev by-proc-mem by-vsyscall".split(),
    "written_code": "moved replaced-fixed shortened protected-downward".split(),
    "written_signals": ["heap-again"],
    "changing_code": ["file-mapped"],
    "exact_state": ["cpuid", "seccomp", "vsyscall"],
    "sent_faults": "frame-header-handled frame-pointer handled-each with-others".split(),
    "trap_flag": "blocked-int3 blocked-int3-ignored blocked-int3-pending blocked-own-trap-flag int3-in-handler".split(),
    "calls_signals": ["user-dispatch"],
    "refused_calls": "dispatch dispatch-forged dispatched-away page-trapped page-failed page-untraced page-allowed page-killed".split(),
    "attached": ["once"],
    "calls": ["all"],
}


def add_changes(program, name):
    @case("replayed as it was: %s %s" % (program, name))
    def run():
        argv = [build(program + ".c", *STATIC, "-pthread", "-lm"), name]
        alone = native(argv)
        if alone.status == 77:
            raise Skip("the kernel does not let it")
        result = recorded(argv, status=alone.status)
        same(result)
        if program in ("trap_flag", "calls_signals", "refused_calls", "exact_state") and name != "cpuid": # a thousand lines: long for the stepper
            same(result, "--backend", "step")


for each_program, names in CHANGES.items():
    for each in names:
        add_changes(each_program, each)


ASKS_THE_VSYSCALL_PAGE = r"""
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
static sigjmp_buf back;
unsigned long stored;
static void on_fault(int signo) { siglongjmp(back, signo); }
int main(void)
{
    unsigned long jumped;
    signal(SIGSEGV, on_fault);
    if (sigsetjmp(back, 1))
        return puts("no such page") < 0;
    __asm__ volatile("movabsq $0xffffffffff600400, %%rax; xorl %%edi, %%edi; subq $128, %%rsp; call *%%rax; movq %%rax, stored(%%rip); addq $128, %%rsp"
                     :::"rax", "rcx", "rdi", "r11", "memory", "cc");
    __asm__ volatile("movabsq $0xffffffffff600400, %%rax; xorl %%edi, %%edi; subq $128, %%rsp; call *%%rax; jmp 1f; 1: addq $128, %%rsp; movq %%rax, %0"
                     : "=r"(jumped)::"rax", "rcx", "rdi", "r11", "memory", "cc");
    return printf("%lu %lu\n", stored, jumped) < 0;
}
"""


@case("calls of the vsyscall page: the instruction behind one finds its result, and the replay makes none")
def asks_vsyscall():
    source = os.path.join(fresh_dir("vsyscall"), "vsyscall.c")
    with open(source, "w") as file:
        file.write(ASKS_THE_VSYSCALL_PAGE)
    subprocess.run([*CC, "-O1", *STATIC, source, "-o", source + ".bin"], check=True)
    results = [recorded([source + ".bin"], "--backend", backend) for backend in ("engine", "step")]
    time.sleep(1.1)  # a call that were made would have another result
    for result in results:
        for options in ([], ["--backend", "step"]):
            same(result, *options)


MAPS_A_FILE = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int *waiting = malloc(1 << 20), ends[2], fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    char *shared;
    if (ftruncate(fd, 4096) || pipe(ends) || write(ends[1], "seven b", 7) != 7)
        return 2;
    shared = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    if (pwrite(fd, "into the file", 13, 100) != 13 || ioctl(ends[0], FIONREAD, &waiting[1000]))
        return 3;
    return printf("%s, %d\n", shared + 100, waiting[1000]) < 0;
}
"""


@case("what calls write to memory and to a file, of which a program has a shared mapping")
def written_file():
    source = os.path.join(fresh_dir("maps"), "maps.c")
    with open(source, "w") as file:
        file.write(MAPS_A_FILE)
    subprocess.run([*CC, "-O1", source, "-o", source + ".bin"], check=True)
    result = recorded([source + ".bin", source + ".file"])
    equal(result.out, b"into the file, 7\n", "output")
    same(result)


@case("where a program maps memory at address 0 the log ends, and the replay says so")
def at_null():
    program = build("maps_null.c", *STATIC)
    alone = native([program])
    if alone.status:
        raise Skip("nothing can be mapped there: vm.mmap_min_addr")
    result = recorded([program])
    equal(result.out, alone.out, "what it prints")
    again = replayed(result.trace)
    equal((again.status, again.out), (0, alone.out[:alone.out.index(b"mapped")]), "status and output of the replay")
    check(b"maps memory at address 0" in again.err, again.err)


@case("a program has its heap go on elsewhere (PR_SET_MM)")
def moves_heap():
    result = record([build("moves_heap.c", "-O1", *STATIC)], ["--replayable", "--quiet"])
    if result.status == 77:
        raise Skip("no PR_SET_MM_MAP (CONFIG_CHECKPOINT_RESTORE)")
    equal((result.status, result.out), (0, b"oooogggg" b"oooo"), "end and output")
    same(result)


@case("a program moves the end of its heap without having asked for it")
def first_break():
    program = build("first_break.S", *BARE)
    def fixed():
        ctypes.CDLL(None).personality(0x40000) # ADDR_NO_RANDOMIZE
    equal(native([program], setup=fixed).status, 0, "status without a recording")
    for argv, setup in ([program], fixed), (["setarch", "-R", program], None):
        result = record(argv, ["--replayable", "--quiet"], setup=setup)
        equal((result.status, result.out), (0, b"h\n"), "end and output of the program")
        same(result)


@case("what calls write past what their result or their length says: parts of calls that break off, and of structures with counts of their own")
def written_past():
    program = build("written_past.c", *STATIC, "-O1")
    alone, result = native([program]), recorded([program])
    equal(result.out, alone.out, "what it prints")
    check(b"recvmmsg: 1," in result.out and b"read: 4096," in result.out, result.out)
    same(result)
    same(recorded([program], "--backend", "step"))
    alone = native([program, "guards"])
    if alone.status != 77:
        result = recorded([program, "guards"])
        equal(result.out, alone.out, "what it prints, with guards")
        check(b"recvmmsg: 1," in result.out and b"read: 4096," in result.out, result.out)
        same(result)


@case("a file that is mapped again over itself: the same bytes are not logged again, others are")
def mapped_over():
    folder = fresh_dir("over")
    argv = [build("mapped_over.c", "-static"), os.path.join(folder, "file")]
    result, copied = recorded_alone(argv), recorded(argv)
    expected = native(argv).out
    shutil.rmtree(folder)
    for one in result, copied:
        equal(one.out, expected, "what the mappings hold, recorded and not")
        same(one)
        same(one, "--backend", "step")
    # BT_SHAPE_MAP is 0, BT_SHAPE_PROTECT 2
    shapes = re.findall(rb"^LOG_SHAPE what=(\d) start=0x(\w+) end=0x(\w+) prot=(\d)", execute([BTREC, "dump", result.trace]).out, re.M)
    first = next(int(start, 16) for what, start, end, _ in shapes if int(end, 16) - int(start, 16) == 18 << 12)
    got = [(int(what), (int(start, 16) - first) >> 12, int(prot)) for what, start, _, prot in shapes if 0 <= int(start, 16) - first < 18 << 12]
    equal(got, [(0, 0, 1), (2, 1, 5), (2, 4, 3), (0, 4, 1), (0, 7, 1), (2, 10, 1), (0, 11, 1), (0, 15, 1), (1, 1, 0), (0, 0, 3)], "changes of these mappings")


@case("where a program maps the same memory twice the log ends, and the replay says so")
def mapped_twice():
    for argv in ([build("written_code.c", *STATIC, "-pthread"), "by-masked-store"], [build("attached.c", *STATIC), "twice"]):
        result = recorded(argv)
        again = replayed(result.trace)
        equal(again.status, 0, "status up to there")
        check(b"maps memory at two places" in again.err, again.err)


@case("a window of a program that is gone, executed by one that is not: names are those that the trace has")
def executed_and_gone():
    folder = fresh_dir("executed")
    source, program = os.path.join(folder, "executed.c"), os.path.join(folder, "executed")
    with open(source, "w") as file:
        file.write("int main(int argc, char **argv) { argv = 0; return argv[argc][0]; }\n")
    subprocess.run([*CC, "-g", "-O0", source, "-o", program], check=True)
    result = recorded(["/bin/sh", "-c", "exec " + program], status=-signal.SIGSEGV)
    shutil.rmtree(folder)
    window = fresh("window")
    equal(replayed(result.trace, "-q", "--to", "crash", "--window", "-1000..", "-o", window).status, 0, "status of --window")
    said = execute([BTVIEW, "--stdio", "--summary", window]).out
    check(b"executed.c:1" in said, said)


@case("names of an executed program that is gone are there at its exit with failure, however long they take")
def failed_and_gone():
    folder = fresh_dir("failed")
    source, program = os.path.join(folder, "failed.c"), os.path.join(folder, "failed")
    with open(source, "w") as file:
        file.write("#include <unistd.h>\nstatic void give_up(int n) { _exit(n); }\nint main(int argc, char **argv) { give_up(argc + 2); }\n")
    subprocess.run([*CC, "-g", "-O0", source, "-o", program], check=True)
    # The line at the end waits for the names no millisecond longer than this.
    result = recorded(["/bin/bash", "-c", "exec env A=b " + program], "--patience", "1", status=3)
    shutil.rmtree(folder)
    for place in "crash", "end":
        made = fresh("window")
        equal(replayed(result.trace, "-q", "--to", place, "--window", "1000", "-o", made).status, 0, "status of --window")
        said = execute([BTVIEW, "--stdio", "--summary", made]).out
        for frame in rb"Where\n  give_up\S* \S*failed\.c:2 in failed\n", rb"give_up \(n=3\) failed\.c:2\n", rb"main \(argc=1, .* failed\.c:3\n":
            check(re.search(frame, said), said)


def shows_names(window):
    said = execute([BTVIEW, "--stdio", window]).out
    for line in rb"main\S* ends_well\.c:4 +-> worker ends_well\.c:3\n", rb"worker\S* ends_well\.c:3 +-> helper ends_well\.c:2\n":
        check(re.search(line, said), said[-2000:])


@case("a program that ended well and is gone, or is another now: a window of it has names of functions and lines")
def ended_well_and_gone():
    source = r"""#include <stdio.h>
static __attribute__((noinline)) int helper(int x) { int s = 0; for (int i = 0; i < x; i++) s += i & 3 ? 1 : x; return s; }
__attribute__((noinline)) int worker(int x) { int s = 0; for (int i = 0; i < x; i++) s += helper(i); return s; }
int main(void) { printf("%d\n", worker(50)); return 0; }
"""
    for flags in [], ["-Wl,--build-id=none"]:
        folder = fresh_dir("ended")
        text, program = os.path.join(folder, "ends_well.c"), os.path.join(folder, "ends_well")
        with open(text, "w") as file:
            file.write(source)
        subprocess.run([*CC, "-g", "-O1", *flags, text, "-o", program], check=True)
        result = recorded([program])
        os.remove(text)
        os.remove(program)
        window = fresh("window")
        equal(replayed(result.trace, "-q", "--window", "..", "-o", window).status, 0, "status of --window")
        shows_names(window)
        shutil.copy("/bin/true", program)
        shows_names(window)
        # In one file each, which has no files to link to.
        pack, packed_window, window_pack = (fresh(stem) for stem in ("pack", "window", "window_pack"))
        equal(execute([BTREC, "pack", "-o", pack, result.trace]).status, 0, "status of pack")
        equal(replayed(pack, "-q", "--window", "..", "-o", packed_window).status, 0, "status of --window of a pack")
        shows_names(packed_window)
        equal(execute([BTREC, "pack", "-o", window_pack, window]).status, 0, "status of pack")
        shows_names(window_pack)


@case("where another process begins the log ends, and the replay says so")
def ends_early():
    why = b"another process or thread"
    result = record(["/bin/sh", "-c", "echo before; /bin/true; echo behind"], ["--replayable", "--quiet"])
    equal(result.status, 0, "end of the program")
    again = replayed(result.trace)
    equal((again.status, again.out), (0, b"before\n"), "status and output up to there")
    check(why in again.err, again.err)
    check(why in execute([BTREC, "info", result.trace]).out, "btrec info does not say so")


@case("that the log has ended is said, too, where the program leaves a child and ends at once")
def leaves_child():
    result = record([build("leaves_child.c", *STATIC)], ["--replayable"], stdin=b"")
    equal((result.status, result.err.count(b"the log for btrec replay ends here")), (0, 1), "status, and how often it is said: %s" % result.err)


@case("a log of which nothing was written is not said to be replayable")
def empty_log():
    copy = os.path.join(fresh_dir("empty"), "trace")
    shutil.copytree(recorded(["/bin/true"]).trace, copy)
    open(os.path.join(copy, "log-1"), "wb").close()
    equal(info(copy, "replay"), "not possible: its log was cut off before the program began", "replay")
    again = replayed(copy)
    equal((again.status, copy.encode() + b": the log was cut off before the program began" in again.err), (76, True), "the replay: %s" % again.err)


@case("of a recording that goes on btrec info and btrec replay say that, not that it was cut off")
def still_recorded():
    # 6,000 lines are two megabytes that the log has from the pipe: more than a block.
    for lines in 0, 6000:
        trace = fresh("trace")
        going = subprocess.Popen([BTREC, "run", "-q", "--replayable", "-o", trace, "/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for number in range(lines):
            going.stdin.write(os.urandom(200).hex().encode() + b"\n")
            going.stdin.flush()
            going.stdout.readline()
        going.stdin.write(b"ready\n")
        going.stdin.flush()
        equal(going.stdout.readline(), b"ready\n", "what the program wrote")
        told, again = execute([BTREC, "info", trace]), replayed(trace, "--no-output")
        going.stdin.close()
        equal(going.wait(), 0, "status of the program")
        for text in told.out, again.err:
            check(b"still being written" in text and b"cut off" not in text, text)
        # Without lines the log is written when a second is over.
        check(re.search(rb"\nreplay +(possible .* still being written%s)" % (b"" if lines else b"|not possible yet: "), told.out), told.out)
        check(again.status == 0 or (again.status == 76 and not lines), "status of the replay: %d, %s" % (again.status, again.err))
        equal(replayed(trace, "--no-output").status, 0, "status of the replay when it is there whole")


@case("a copy of a file that the trace has lost: btrec info says so, as the replay does")
def lost_copy():
    result = recorded(["/bin/true"])
    lost = sorted(name for name in os.listdir(result.trace) if name.startswith("mapped-"))
    check(lost, "the trace has no copies")
    for name in lost:
        for change, why in (os.unlink, "the trace has no file %s" % name), (lambda path: os.truncate(path, 5), "the trace's file %s is shorter than its log says" % name):
            copy = fresh("trace")
            shutil.copytree(result.trace, copy)
            os.chmod(os.path.join(copy, name), 0o600)
            change(os.path.join(copy, name))
            told = execute([BTREC, "info", copy])
            equal((told.status, why.encode() in told.out), (76, True), "btrec info: %s" % told.out)
            again = replayed(copy)
            equal((again.status, why.encode() in again.err), (76, True), "the replay: %s" % again.err)


@case("a limit of file sizes that lets no log be written: btrec info and btrec replay say so")
def no_room_for_log():
    why = r'its log (ended before the program began: "?it cannot be written|was cut off before the program began: recording stopped): "?File too large' # whichever file comes first
    limited = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    for program, status in ("/bin/true", 0), ("/bin/false", 1):
        trace = fresh("trace")
        found = subprocess.run([BTREC, "run", "-q", "--replayable", "-o", trace, program], preexec_fn=limited, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        equal(found.returncode, status, "status of the program: %s" % found.stderr)
        check(re.fullmatch('not possible: %s"' % why, info(trace, "replay")), info(trace, "replay"))
        again = replayed(trace)
        check(again.status == 76 and re.search(why[4:].encode(), again.err), "the replay: %d, %s" % (again.status, again.err))


@case("a disk that the log fills: the log ends, or gives way to the rest, and the trace has the crash")
def log_fills_disk():
    disk = fresh_dir("disk")
    def recorded_there(size, *argv):
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % size, "tmpfs", disk], stderr=subprocess.DEVNULL).returncode:
            raise Skip("no tmpfs can be mounted here")
        try:
            trace = os.path.join(disk, "trace")
            said = execute([BTREC, "run", "--replayable", "-o", trace, *argv]).err
            sizes = {name: os.stat(os.path.join(trace, name)).st_size for name in os.listdir(trace)}
            return info(trace, "end"), info(trace, "replay"), said, sizes, replayed(trace).status
        finally:
            subprocess.run(["umount", "-l", disk])
    abort = ["/bin/sh", "-c", "kill -ABRT $$"]
    end, possible, said, sizes, status = recorded_there(100 << 20, *abort)
    equal((end, possible.split(":")[0], status), ("killed by SIGABRT", "possible (btrec replay)", 0), "with room: %s" % said)
    log = sizes.pop("log-1")
    check(log > 400000, "the log is small: %d" % log)
    for part in (0.1, 0.5, 0.8):
        end, possible, said, left, status = recorded_there(sum(sizes.values()) + int((part + 0.05) * log), *abort)
        equal(end, "killed by SIGABRT", "%s of the log have room: %s, %s" % (part, left, said))
        check("No space left on device" in possible and re.search(rb"the log for btrec replay ends here: it (cannot be written|gave way to the rest of the trace): No space left on device\n", said),
              "%s of the log have room: %s, %s" % (part, possible, said))
        check(status in (0, 76), "status of the replay: %d" % status)
    # A small one is not written before its end.
    small = [build("reads_clock.c", *STATIC), "flags", "0"]
    sizes = recorded_there(100 << 20, *small)[3]
    end, possible, said, left, status = recorded_there(sum(sizes.values()) - sizes["log-1"] // 2, *small)
    check(end == "exited with 0" and "No space left on device" in possible and b"the log for btrec replay ends here: " in said, "%s, %s, %s" % (end, possible, said))


@case("what cannot be repeated on standard output is said, and one that does not wait has all of it")
def unwritten():
    result = recorded(["/usr/bin/seq", "100000"])
    with open("/dev/full", "wb") as full:
        found = subprocess.run([BTREC, "replay", result.trace], stdout=full, stderr=subprocess.PIPE)
    equal(found.returncode, 74, "status with a full disk: %s" % found.stderr)
    check(b"cannot write to standard output: No space left on device" in found.stderr, found.stderr)
    equal(subprocess.run([BTREC, "replay", "--no-output", result.trace], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).returncode, 0, "status without output")
    out, into = os.pipe()
    os.set_blocking(into, False)
    replay = subprocess.Popen([BTREC, "replay", "-q", result.trace], stdout=into)
    os.close(into)
    with open(out, "rb") as file:
        equal((file.read() == result.out, replay.wait()), (True, 0), "all of it came, and the status")


@case("what a program gives to its standard output without a write (vmsplice, splice, tee, messages) is repeated")
def spliced():
    program = build("splices_out.c", *STATIC)
    result = recorded([program, "memory"])
    equal(result.out, b"first\nspliced, second piece\nlast\n", "what it prints")
    same(result)
    result = recorded([program, "pipe"])
    equal(result.out, b"first\none, two, two, three\n" + 20000 * b"m" + b"last\n", "what it prints")
    same(result)
    check(b"unseen" not in execute([BTREC, "info", result.trace]).out, "that something is not repeated is said")
    here, there = socket.socketpair()
    trace = fresh("trace")
    with there:
        process = subprocess.Popen([BTREC, "run", "-q", "--replayable", "-o", trace, program, "messages"], stdout=there)
    with here, here.makefile("rb") as file:
        out = file.read()
    equal((process.wait(60), out), (0, b"first\nsent\na message of two\nsecond\nthird\nlast\n"), "status, and what it sends")
    again = replayed(trace, "-q")
    equal((again.status, again.out), (0, out), "status and output of the replay")


@case("output that the recorder does not see is counted, and said")
def unseen():
    result = recorded([build("splices_out.c", *STATIC), "socket"])
    equal(result.out, b"first\nunseen\nlast\n", "what it prints")
    again = replayed(result.trace)
    equal((again.status, again.out), (0, b"first\nlast\n"), "status and output of the replay")
    check(b"note: 7 bytes of its output" in again.err, again.err)
    check(info(result.trace, "unseen").startswith("7 bytes"), "btrec info does not say so")
    check(b"note:" not in replayed(result.trace, "--no-output").err, "that is said where no output was asked for")


@case("what a program copies to its standard output from a file that is made when it is read (sendfile) is repeated")
def made_when_read():
    for backend in "engine", "step":
        result = recorded([build("splices_out.c", *STATIC), "made"], "--backend", backend)
        equal(len(result.out), 48, "bytes of output")
        same(result)


@case("/dev/null that a program opens is not its standard error, though that is /dev/null")
def opens_null():
    program = build("splices_out.c", *STATIC)
    for backend in "engine", "step":
        trace = fresh("trace")
        with open("/dev/null", "wb") as null:
            found = subprocess.run([BTREC, "run", "-q", "--replayable", "--backend", backend, "-o", trace, program, "null"], stdout=subprocess.PIPE, stderr=null)
        equal((found.returncode, found.stdout), (0, b"first\n"), "status and output")
        again = replayed(trace, "-q")
        equal((again.status, again.out, again.err), (0, b"first\n", 3 * b"error\n"), "status, output and standard error of the replay")


def calls_of_32_bits(width, *options):
    """64: a 64-bit program that makes them; 32: a 32-bit one. Other systems may have no libraries for such, and their kernel no such calls."""
    target = os.path.join(fresh_dir("bin"), "calls")
    source = os.path.join(PROGRAMS, "calls_of_32_bits.s")
    for argv in (["as", "--%d" % width, *options, source, "-o", target + ".o"], ["ld", "-m", "elf_i386" if width == 32 else "elf_x86_64", target + ".o", "-o", target]):
        subprocess.run(argv, check=True)
    try:
        if native([target]).out == b"yes\n":
            return target
    except OSError:
        pass
    raise Skip("the kernel has no calls of 32-bit code")


@case("calls of the 32-bit table, of 64-bit code and of a 32-bit program: what they map, write and free is replayed, and the end by one; io_uring is refused")
def table_of_32_bits():
    wide = calls_of_32_bits(64)
    for crash, status, end in ([], 9, b"exited with 9"), (["--defsym", "CRASH=1"], -signal.SIGSEGV, b"killed by SIGSEGV"):
        for argv in [calls_of_32_bits(64, *crash)], [wide, calls_of_32_bits(32, "--defsym", "NARROW=1", *crash)]:
            for backend in "engine", "step":
                result = recorded(argv, "--backend", backend, status=status)
                equal(result.out, b"yes\n", "output")
                again = replayed(result.trace, "--backend", "step" if backend == "engine" else "engine")
                equal((again.status, again.out), (0, b"yes\n"), "status and output of the replay (%s)" % again.err.decode(errors="replace"))
                check(end in again.err, again.err)
                other = changed(result, "register", "LOG_CALL", 3 if len(argv) == 1 else 4)
                found = json.loads(other.out.splitlines()[-1])
                equal((found["expected"], found["got"]), ("the 32-bit system call 125", "the same with other registers"), "a divergence's names")


@case("a program that sets segments of its own ends its log")
def has_ldt():
    for how in ("64", "32", "no"):
        program = build("has_ldt.c", "-O2")
        alone = native([program, how])
        if alone.status == 77:
            raise Skip("the kernel has no modify_ldt, or no int 0x80")
        result = recorded([program, how])
        equal(result.out, alone.out, "what it prints")
        again = replayed(result.trace)
        equal((again.status, again.out), (0, alone.out if how == "no" else b"before\n"), "status and output up to there")
        equal(b"sets segments of its own (modify_ldt, set_thread_area)" in again.err, how != "no", "the reason is told")


@case("a program that executes others, with other descriptors and handlers, and fails in the last one")
def executes():
    folder, argv = built()
    script = "trap : USR1; kill -USR1 $$; echo one; exec /bin/sh -c 'echo two; exec env LEFT=1 \"$0\" \"$1\"' %s %s" % tuple(argv)
    result = recorded(["/bin/bash", "-c", script], status=3)
    shutil.rmtree(folder)
    check(result.out.startswith(b"one\ntwo\n") and len(result.out) > 30, result.out)
    same(result)
    window = fresh("window")
    equal(replayed(result.trace, "--no-output", "-q", "--window", "-60000..", "-o", window).status, 0, "status of --window")
    done = subprocess.run([os.path.join(BUILD, "tests/tools/check_history"), window], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    equal(done.returncode, 0, "check_history of the window: %s" % done.stdout.decode(errors="replace")[:400])


@case("a file is changed that is mapped privately")
def private_file():
    folder = fresh_dir("private")
    argv = [build("private_file.c", "-static"), os.path.join(folder, "file")]
    result = recorded(argv)
    equal(result.out, native(argv).out, "what the mappings show, recorded and not")
    check(b"signal-7" in result.out, result.out)
    shutil.rmtree(folder)
    same(result)


@case("code in a file that is mapped privately, which the program writes other code to, and cuts")
def file_of_code():
    program, text = build("file_of_code.c", *STATIC), fresh("code")
    natively = execute([program, text])
    result = recorded([program, text])
    equal(result.out, natively.out, "what it prints, natively and recorded")
    equal(result.out.count(b": signal 7\n"), 2, "signals where the file has been cut")
    same(result)
    same(result, "--backend", "step")


@case("a table of bpf(2) is mapped, and changed by calls")
def mapped_table():
    result = record([build("mapped_table.c")], ["--replayable", "--quiet"])
    if result.status == 77:
        raise Skip("bpf(2) is not to be had")
    equal((result.status, result.out.count(b"1 ")), (0, 3), "end and output")
    same(result)


@case("programs executed through descriptors")
def executes_at():
    folder = fresh_dir("at")
    program = os.path.join(folder, "executes_at")
    shutil.copy(build("executes_at.c"), program)
    result = recorded([program, "folder", program, "memfd", program, "file", "/bin/echo", "the last one"])
    shutil.rmtree(folder)
    equal(result.out, b"by folder\nby memfd\nby file\nthe last one\n", "output")
    said = replayed(result.trace)
    equal((said.status, said.out), (0, result.out), "status and output of the replay")
    check(b"exited with 0" in said.err, said.err)  # and not where the log ends


@case("an instruction that raises a signal in the recording or in the replay alone")
def own_results():
    result = recorded([build("own_results.c", "-static")])
    stored = "0000" "0000feffffffffff" "0000" "0000ffffffffffff" "3300" "0000" "4000" "0000" "0000" "00000000" " 80050033\n"
    check(re.fullmatch(stored.encode() + rb"signal 11, code \d+\n\d+\n\d+\n", result.out), result.out)
    for options in ([], ["--backend", "step"]):
        same(result, *options)
        # the processor that replays has no such instruction
        again = replayed(with_change(result, "locked", "LOG_DATA", 1), "-q", *options)
        equal((again.status, again.err, again.out), (0, result.err, result.out), "status, errors and output where it is undefined")


@case("a program that steps itself over instructions with a result of their own")
def steps_over_results():
    program = build("steps_over_results.c", *STATIC)
    for options in [], ["--backend", "step"]:
        result = recorded([program], *options)
        check(result.out.startswith(b"9 steps, "), "what it prints: %r" % result.out)
        same(result)


CLOCK_READS = {"leaves": "100", "flags": "300", "line": "4", "cycle": "3", "alarms": "10", "calls": "100"}


@case("what rdtsc, rdtscp, xgetbv and cpuid gave comes again, by whom it is recorded and replayed: flags, lines, a cycle, alarms, calls")
def clock_reads():
    program = build("reads_clock.c", *STATIC)
    for what, n in CLOCK_READS.items():
        for backend in ("engine", "step"):
            # A stepped one takes seconds.
            if backend == "step" and what not in ("leaves", "flags"):
                continue
            result = record([program, what, n], ["--replayable", "--quiet", "--backend", backend], stdin=b"some bytes that it reads\n" * 50)
            equal(result.status, 0, "end of the program, %s, recorded by %s" % (what, backend))
            if what == "leaves":
                equal(result.out, native([program, what, n]).out, "what it prints, recorded by %s and not" % backend)
            same(result)
            same(result, "--window", "..")
            if backend == "engine" and what in ("leaves", "flags", "calls"):
                same(result, "--backend", "step")


@case("rdtsc and rdtscp stop neither the program nor its replay")
def clock_steps():
    program, steps, results = build("reads_clock.c", *STATIC), {}, {}
    for n in ("0", "20000"):
        trace = fresh("trace")
        steps[n] = [steps_of("run", "--replayable", "-q", "-o", trace, program, "flags", n), steps_of("replay", "-q", "--no-output", trace),
                    steps_of("replay", "-q", "--no-output", "--window", "..", trace)]
        results[n] = int(re.search(r"(\d+) results of instructions", info(trace, "log")).group(1))
    equal(results["20000"] - results["0"], 60000, "results in the log")
    # 60,000 of these instructions: what the notes have no room for is noted behind a stop, without a step
    check(all(many < few + 100 for few, many in zip(steps["0"], steps["20000"])), "steps with none of them, and with 60,000: %s" % steps)


@case("what is changed of rdtsc and rdtscp in a log is found")
def clock_changes():
    result = recorded([build("reads_clock.c", *STATIC), "line", "3"])
    for change, kinds, backends in (("result", ["output", "registers", "point"], ["engine"]), ("tick", ["point"], ["engine"]), ("form", ["event"], ["engine", "step"]),
                                    ("drop", ["event", "point", "registers", "output"], ["engine"]), ("double", ["event", "point", "registers", "output"], ["engine"])):
        for backend in backends:
            again = replayed(with_change(result, change, "instructions", 200), "--json", "--no-output", "--backend", backend)
            equal(again.status, 65, "status after %s, replayed by %s" % (change, backend))
            found = json.loads(again.out.splitlines()[-1])
            check(found["kind"] in kinds, "after %s, replayed by %s: %s" % (change, backend, found))


@case("what the x87 unit keeps of its last instruction is 0, by whom it is recorded")
def x87_pointers():
    program = build("x87_pointers.c", *STATIC)
    results = [recorded([program], "--backend", backend) for backend in ("engine", "step")]
    equal(results[0].out, results[1].out, "what it prints, recorded by the engine and by the stepper")
    told = re.findall(rb": (\w+) opcode (\w+)$", results[0].out, re.M)
    check(len(told) >= 21 and all(not int(part + opcode, 16) for part, opcode in told), results[0].out)
    for result in results:
        for backend in ("engine", "step"):
            same(result, "--backend", backend)


@case("which states xsave and its like find in use is replayed, by whom it is recorded")
def saved_parts():
    program = build("saved_parts.c", *STATIC)
    if native([program]).status == 77:
        raise Skip("no XSAVEC, XSAVEOPT or AVX")
    result = recorded([program])
    same(result)
    same(result, "--backend", "step")
    same(recorded([program], "--backend", "step"))


@case("a divergence names the memory that differs first")
def memory_differs():
    # Of a pipe: read at a stop, so that the log has what it wrote as LOG_DATA.
    result = record(["/bin/cat"], ["--replayable", "--quiet"], stdin=b"\x3e\x0f1 of the text\n" * 2)
    copy = with_change(result, "marked", "LOG_DATA", 1)
    again = replayed(copy, "--json")
    found = json.loads(again.out.splitlines()[-1])
    equal((again.status, found["kind"]), (65, "output"), "status and kind")
    memory = found["memory"]
    equal((found["registers"], found["point"]), ([], found["expected_point"]), "registers that differ, and the point")
    equal((memory["expected"], memory["got"], int(memory["end"], 16) - int(memory["start"], 16)), ("3e", "3f", 1), "bytes, and how many differ")
    line = "memory %s..%s: expected 3e, got 3f\n" % (memory["start"], memory["end"])
    check(line.encode() in replayed(copy).err, "the text has no %s" % line)


@case("what is changed in a log is found, with its kind")
def divergences():
    folder, argv = built()
    result = recorded_alone(argv, status=3)
    equal(changed(result, "none", "LOG_CALL", 1).status, 0, "status of a log that was copied")
    for change, kinds in ((("register", "LOG_CALL", 30), ["registers"]), (("tick", "LOG_CALL", 30), ["point"]), (("drop", "LOG_CALL", 40), ["event", "point", "registers"]),
                          (("double", "LOG_CALL", 40), ["event", "point", "registers"]), (("result", "LOG_CALLS", 3), ["event", "point", "registers"]),
                          (("tick", "LOG_SIGNAL", 5), ["point", "registers"]), (("drop", "LOG_SIGNAL", 5), ["event"]), (("tick", "LOG_INSTRUCTION", 1), ["point"]), (("drop", "LOG_INSTRUCTION", 2), ["event", "point"]), (("tick", "LOG_EXIT", 1), ["point"]),
                          (("argument", "LOG_CALLS", 3), ["registers"]), (("tick", "LOG_CALLS", 3), ["point"]), (("drop", "LOG_CALLS", 3), ["event", "point", "registers"]), (("double", "LOG_CALLS", 3), ["event", "point", "registers"]), (("address", "LOG_CALLS", 4), ["effect"]),
                          (("address", "LOG_DATA", 1), ["effect"]), (("address", "LOG_OBJECT", 1), ["effect"]), (("address", "LOG_SHAPE", 3), ["effect"])):
        again = changed(result, *change)
        equal(again.status, 65, "status after %s" % (change,))
        found = json.loads(again.out.splitlines()[-1])
        check(found["kind"] in kinds, "after %s: %s" % (change, found))
        check(found["expected"] != found["got"], "the same is expected and came, after %s: %s" % (change, found))
        if found["kind"] == "registers" and change[0] == "register" and change[1] == "LOG_CALL":
            equal([r["name"] for r in found["registers"]], ["rbx"], "registers that differ")


@case("bytes that the log has already are named again: of files that are mapped often, and of programs executed one after the other")
def objects():
    folder = fresh_dir("objects")
    path, program = calls_file(folder), build("maps_often.c")
    sizes = []
    for times in ("1", "40"):
        result = recorded_alone([program, path, times])
        equal(result.out, native([program, path, times]).out, "what it prints")
        same(result)
        sizes.append(os.path.getsize(os.path.join(result.trace, "log-1")))
    check(sizes[1] < sizes[0] + 100000, "bytes of a log with a file mapped once, and 40 times: %s" % sizes)
    once, often = recorded_alone(["/usr/bin/env", "/bin/true"]), recorded_alone(["/usr/bin/env"] * 5 + ["/bin/true"])
    check(os.path.getsize(os.path.join(often.trace, "log-1")) < 1.3 * os.path.getsize(os.path.join(once.trace, "log-1")), "bytes of a log of six programs")
    same(often)
    found = changed(result, "address", "LOG_AGAIN", 5)
    equal((found.status, json.loads(found.out.splitlines()[-1])["kind"]), (65, "effect"), "an address that is not the program's")
    again = replayed(with_change(result, "object", "LOG_AGAIN", 5))
    check(again.status == 76 and b"an object that it does not have" in again.err, "%d %s" % (again.status, again.err))
    equal(replayed(with_change(result, "byte", "LOG_OBJECT", 1)).status in (0, 65), True, "an object that was changed")


@case("pages that are freed when the kernel likes (MADV_FREE) are freed at once, where they can be")
def freed():
    path = os.path.join(fresh_dir("freed"), "file")
    with open(path, "wb") as file:
        file.write(b"x" * 8 * 4096)
    argv = [build("freed_lazily.c", *STATIC), path]
    plain, result = native(argv).out.splitlines(), recorded(argv)
    lines = result.out.splitlines()
    equal(lines[0], b"anonymous: 0, 0, rdx 8", "pages of no file")
    equal(lines[1], plain[1], "pages of a file")
    check(re.search(rb": -22, .* rdx 8$", lines[2]), lines[2])
    same(result)
    same(result, "--backend", "step")
    equal(recorded(argv, "--backend", "step").out.splitlines()[:2], lines[:2], "by the stepper")


@case("where others can write to memory of the program, a divergence says so")
def shared_with_others():
    for argv, shares in (([build("attached.c", *STATIC)], True), (["/bin/date"], False)):
        result = recorded(argv)
        again = replayed(with_change(result, "tick", "LOG_EXIT", 1), "--json")
        equal(again.status, 65, "status of a log that is changed")
        check((b"others could write to memory" in again.out) == shares, again.out)


@case("changes of mappings without files are made in the replay without a stop, with and without history")
def mappings_changed():
    program, times = build("mapping_often.c", "-O1", *STATIC), 2000
    result = recorded([program, str(times)])
    equal(result.out.count(b"\n"), 1, "lines of the program")
    window = fresh("window")
    for options in ((), ("--window", "..", "-o", window)):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw
        same(result, *options)
        switches = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw - before
        check(switches < times, "%d stops of %d rounds of calls, %s" % (switches, times, options))
    same(recorded([program, "40"]), "--backend", "step")


@case("a file that is mapped is cut, grown and written to: what the mappings hold then is replayed")
def cut_and_grown():
    program, path = build("changes_mapped.c", *STATIC), os.path.join(fresh_dir("cut"), "file")
    for how in "shared", "private":
        result = recorded([program, how, path])
        equal(result.out, native([program, how, path]).out, "what it prints")
        same(result)
        same(result, "--backend", "step")


@case("a mapping far larger than what is in its file takes no time, and replays")
def sparse():
    argv = [build("maps_sparse.c", *STATIC), os.path.join(fresh_dir("sparse"), "file")]
    alone = native(argv)
    if alone.status:
        raise Skip("no such file can be made here: status %d" % alone.status)
    for result in recorded(argv), recorded_alone(argv):
        equal(result.out, alone.out, "what it prints")
        same(result, "--memory-limit", "1T")


def machine_memory():
    """Bytes of memory and swap."""
    with open("/proc/meminfo") as file:
        return 1024 * sum(int(line.split()[1]) for line in file if line.startswith(("MemTotal:", "SwapTotal:")))


@case("a terabyte that is reserved, and advised of, takes no time, and replays")
def reserved():
    argv = [build("reserves_much.c", *STATIC)]
    alone = native(argv)
    if alone.status:
        raise Skip("so much cannot be reserved here")
    result = recorded_alone(argv)
    equal(result.out, alone.out, "what it prints")
    same(result, "--memory-limit", "2T")
    if machine_memory() >= 1 << 40: # then a replay needs no limit of its own
        return
    told = re.search(r"btrec replay --memory-limit (\d+G) is enough$", info(result.trace, "addresses")).group(1)
    refused = replayed(result.trace)
    equal((refused.status, b"--memory-limit %s is enough" % told.encode() in refused.err), (71, True), "status without, and what is said: %s" % refused.err)
    same(result, "--memory-limit", told)
    check(b"addresses" not in execute([BTREC, "info", recorded(["/bin/true"]).trace]).out, "that a small program needs no limit of its own is not seen")


@case("a hard limit of addresses is told, and no --memory-limit, which would not help", sanitized=False)
def hard_limit():
    argv = [build("reserves_much.c", *STATIC)]
    if native(argv).status:
        raise Skip("so much cannot be reserved here")
    result = recorded_alone(argv)
    limited = lambda: resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
    for argv, status in (["info"], 0), (["replay"], 71), (["replay", "--memory-limit", "2T"], 71):
        done = subprocess.run([BTREC, *argv, result.trace], preexec_fn=limited, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        equal((done.returncode, b"--memory-limit" in done.stdout), (status, False), "%s: %s" % (argv, done.stdout))
        check(re.search(rb"a replay may have (16 GB|16384 MB)( of addresses)? here \(ulimit -Hv\): the hard limit is less than the \d+ GB that are enough", done.stdout), done.stdout)


@case("changes of mappings that fail with a part done, and advice on pages that cannot be written")
def half_done():
    program = build("half_done.c", *STATIC, "-O1")
    expected = native([program, "1"]).out
    for backend in "engine", "step":
        equal(record([program, "1"], ["--quiet", "--backend", backend]).out, expected, "what it prints, without a log")
        result = recorded([program, "1"], "--backend", backend)
        equal(result.out, expected, "what it prints")
        same(result)
    same(recorded([program, "20"]))


@case("ancillary data of messages that do not come")
def no_message():
    program = build("no_message.c", *STATIC)
    result = recorded([program])
    equal(result.out, native([program]).out, "what it prints")
    same(result)


def odd_argv(what):
    """The program, with a file of its own: it may write to it."""
    path = os.path.join(fresh_dir("odd"), "file")
    with open(path, "wb") as file:
        file.write(b"".join(bytes([ord("A") + n]) * 4096 for n in range(4)))
    return [build("odd_mappings.c", *STATIC), what, path]


def odd_mapping(what):
    alone = native(odd_argv(what))
    if alone.status == 77:
        raise Skip("the kernel cannot do this: %s" % what)
    for backend in "engine", "step":
        result = recorded(odd_argv(what), "--backend", backend)
        equal(result.out, alone.out, "what it prints")
        same(result)


@case("a write to the program's own memory through another mount of procfs")
def other_proc():
    argv = [build("other_proc.c", *STATIC), fresh_dir("proc")]
    alone = native(argv)
    if alone.status == 77:
        raise Skip("procfs cannot be mounted here")
    equal(alone.out, b"4 bytes: he\n", "what it prints")
    result = recorded(argv)
    equal(result.out, alone.out, "what it prints")
    same(result)


@case("shared memory that is detached when its mapping is in parts")
def detached_parts():
    program = build("detached_parts.c", *STATIC, "-O1")
    alone, result = native([program]), recorded([program])
    equal((result.out, alone.out.count(b"9")), (alone.out, 4), "what it prints")
    same(result)


@case("a mapping that is moved and stays (MREMAP_DONTUNMAP)")
def odd_kept():
    odd_mapping("keep")


@case("guards (MADV_GUARD_INSTALL) fault in a replay, too, until they are taken away")
def odd_guards():
    odd_mapping("guard")


@case("guards are left by protections, emptying and moving, in a replay, too")
def odd_guards_kept():
    odd_mapping("guard-kept")


@case("guards that process_madvise makes of the program's own pages")
def odd_guards_of_itself():
    odd_mapping("guard-of-itself")


@case("what a request that no row knows writes behind guards is found")
def odd_behind_guards():
    odd_mapping("behind-guard")


@case("what a write to a file changes behind guards in its mapping is found")
def odd_guards_in_file():
    odd_mapping("guard-in-file")


@case("pages that process_madvise frees of the program's own (MADV_FREE)")
def odd_freed_of_itself():
    if native(odd_argv("free-of-itself")).status == 77:
        raise Skip("the kernel cannot do this: free-of-itself")
    for backend in "engine", "step":
        result = recorded(odd_argv("free-of-itself"), "--backend", backend)
        equal(result.out, b"12288 8 2\nfreed: 00w 00w 63w 64w\nfreed: 61w 00w 63w 64w\n12288 -1 22\n"
              b"up to a file's: 00w 00w 64w 65w\nup to a file's: 62w 00w 64w 65w\n", "what it prints")
        same(result)


@case("process_madvise that frees, by vectors of which one cannot be read: it fails, and frees nothing")
def odd_freed_by_bad_vectors():
    odd_mapping("free-by-bad-vectors")


@case("advice whose register has more than an int")
def odd_advice_by_half():
    odd_mapping("advice-by-half")


@case("remap_file_pages from within a page")
def odd_within():
    odd_mapping("within")


@case("a mapping that grows downward, behind advice that empties it")
def grows_when_emptied():
    odd_mapping("grows-when-emptied")


@case("pages that the program has paged out: calls that change them, or may have written to them")
def odd_paged_out():
    odd_mapping("paged-out")


@case("huge pages with a length that is no multiple of theirs")
def odd_huge():
    odd_mapping("huge")


@case("pages that are freed before those of a file, for which the call fails (MADV_FREE)")
def odd_freed():
    for backend in "engine", "step":
        result = recorded(odd_argv("free"), "--backend", backend)
        equal(result.out, b"-1 22\nfreed: 61w 62w 41w 64w\n", "what it prints")
        same(result)


@case("memory that comes to be at two places by remap_file_pages, mprotect or mremap ends the log")
def odd_twice():
    for what in "remapping", "protection", "growth":
        for backend in "engine", "step":
            again = replayed(recorded(odd_argv("twice-by-" + what), "--backend", backend).trace)
            equal(again.status, 0, "status up to there, by %s" % what)
            check(b"maps memory at two places" in again.err, again.err)


@case("a program goes on without io_uring and aio while a log is kept; what a request wrote that no row tells is found")
def falls_back():
    program, path = build("falls_back.c", "-O2", *STATIC), os.path.join(fresh_dir("falls_back"), "file")
    with open(path, "w") as file:
        file.write("the first bytes of a file")
    alone = native([program, path]).out
    link = alone[alone.index(b"request"):]
    if b"link 99" in link:
        raise Skip("the kernel tells of no link")
    for backend in "engine", "step":
        result = recorded([program, path], "--backend", backend)
        equal(result.out, b"io_uring_setup is not there\nio_setup is not there\npread 16 the first bytes \n" + link, "what it prints")
        same(result)


@case("a file that is mapped is in the trace as a link to the cache's copy, in its log by its pieces; whatever happens to file and cache")
def copied():
    folder, store = fresh_dir("copied"), os.path.join(os.environ["XDG_CACHE_HOME"], "btrec", "files")
    path, program = calls_file(folder), build("maps_often.c")
    argv = [program, path, "3"]
    expected = native(argv).out
    results = [recorded(argv) for _ in range(2)]
    for result in results:
        check(os.path.getsize(os.path.join(result.trace, "log-1")) < 100000, "bytes of the log")
        check(any(os.path.getsize(copy) == os.path.getsize(path) for copy in copies(result.trace)), "no copy of the file")
        check(all(os.stat(copy).st_nlink >= 3 for copy in copies(result.trace)), "copies that are not linked: %s" % copies(result.trace))
    with open(path, "r+b") as file:
        file.write(b"other")
    stepped = [build("maps_often.c", *STATIC), path, "3"]
    later = recorded(stepped)
    check(later.out != expected and later.out == native(stepped).out, "what another file holds")
    shutil.rmtree(folder)
    for name in os.listdir(store):
        ruined = os.path.join(store, name)
        size = os.path.getsize(ruined)
        os.unlink(ruined) # traces have it, too
        with open(ruined, "wb") as file:
            file.write(b"x" * size)
    for result in (*results, later):
        same(result)
    same(later, "--backend", "step")
    pack = fresh("pack")
    equal(execute([BTREC, "pack", "-o", pack, later.trace]).status, 0, "status of pack")
    shutil.rmtree(later.trace)
    later.trace = pack
    same(later)
    same(recorded(["/bin/date"]))  # by wrong copies
    shutil.rmtree(store)


REWRITTEN = """import mmap, os
fd = os.open("file", os.O_RDWR | os.O_CREAT, 0o600)
os.ftruncate(fd, 1 << 20)
for n in range(20):
    os.pwrite(fd, b"%d" % n, 4000)
    with mmap.mmap(fd, 8192, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ) as m: print(m[4000:4005])
"""


@case("of a file that is written to and mapped again and again the trace has few copies")
def rewritten():
    if not os.path.exists("/usr/bin/python3"):
        raise Skip("no python3")
    result = record(["/usr/bin/python3", "-c", REWRITTEN], ["--replayable", "--quiet"], cwd=fresh_dir("rewritten"))
    check(result.status == 0 and result.out.count(b"\n") == 20, result.out)
    same(result)
    equal(sum(os.path.getsize(copy) == 1 << 20 for copy in copies(result.trace)), 2, "copies of the file")


# Of the same programs and of different ones; what they print depends on nothing.
AT_ONCE = [["/bin/echo", "one"], ["/bin/echo", "two"], ["sort", "/etc/services"], ["sort", "-r", "/etc/services"], ["sed", "-n", "s/root/r/p", "/etc/passwd"], ["/bin/bash", "-c", "for i in {1..300}; do a[i]=$((i*i)); done; echo ${a[*]}"]]


def all_at_once(argvs, env):
    """The ends and outputs of processes that run at once."""
    processes = [start(argv, env=env) for argv in argvs]
    outputs = [process.communicate(timeout=120) for process in processes]
    return [(process.returncode, *output) for process, output in zip(processes, outputs)]


def dropped(store, stop):
    """Removes each copy as soon as it is there, as a recorder does where there are too many."""
    while not stop.is_set():
        for name in os.listdir(store) if os.path.isdir(store) else ():
            if not name.startswith("new-"):
                try:
                    os.unlink(os.path.join(store, name))
                except FileNotFoundError:
                    pass


def add_at_once(what, drops):
    @case("recorders and replays at once, with one cache that nothing lies in: " + what)
    def run():
        cache = fresh_dir("cache")
        env, store, stop = dict(os.environ, XDG_CACHE_HOME=cache), os.path.join(cache, "btrec", "files"), threading.Event()
        dropping = threading.Thread(target=dropped, args=(store, stop))
        expected = [native(argv).out for argv in AT_ONCE]
        if drops:
            dropping.start()
        try:
            traces = []
            for round in range(3): # replays of the round before, and recordings, together
                new = [fresh("trace") for _ in AT_ONCE]
                argvs = [[BTREC, "replay", "-q", trace] for trace in traces] + [[BTREC, "run", "-q", "--replayable", "-o", trace, "--", *argv] for trace, argv in zip(new, AT_ONCE)]
                equal(all_at_once(argvs, env), [(0, out, b"") for out in expected * (len(argvs) // len(AT_ONCE))], "ends, outputs and errors of round %d" % round)
                traces = new
        finally:
            stop.set()
            if drops:
                dropping.join()
        for trace, out in zip(traces, expected):
            again = execute([BTREC, "replay", "-q", trace], env=env, cwd="/")
            equal((again.status, again.out, again.err), (0, out, b""), "the last replay")
        left = [name for name in os.listdir(store) if name.startswith("new-")]
        equal(left, [], "copies that were never whole")
        kept = os.listdir(os.path.join(cache, "btrec"))
        equal([name for name in kept if re.search(r"\.\d+$", name)], [], "files that were never whole")
        check(any(name.endswith(".ticks.logged") for name in kept), "what replays keep: %s" % kept)


add_at_once("the same programs and others", False)
add_at_once("while others drop its copies", True)


@case("a trace whose copies of mapped files are gone or changed is refused there, with the file")
def copies_changed():
    result = recorded(["/bin/date"])
    same(result)
    for change in (("file", "LOG_PIECE", 2), ("size", "LOG_PIECE", 2), ("offset", "LOG_PIECE", 2), ("address", "LOG_PIECE", 2)):
        again = replayed(with_change(result, *change))
        check(again.status == (65 if change[0] == "address" else 76), "%d after %s: %s" % (again.status, change, again.err))
        check(change[0] == "address" or b"mapped-" in again.err, again.err)
    for change in "gone", "short", "other":
        copy = fresh("changed")
        shutil.copytree(result.trace, copy)
        path = copies(copy)[-1]
        with open(path, "rb") as file:
            content = file.read()
        os.unlink(path)
        if change != "gone":
            with open(path, "wb") as file:
                file.write(content[:1] if change == "short" else bytes(b ^ 1 for b in content))
        again = replayed(copy)
        check(again.status == 76 and os.path.basename(path).encode() in again.err, "%d, %s: %s" % (again.status, change, again.err))


@case("a byte that is changed in what a call wrote is found, or means nothing")
def bytes_changed():
    folder, argv = built()
    result = recorded_alone(argv, status=3)
    found = []
    for n in range(1, 21):
        again = changed(result, "byte", "LOG_OBJECT" if n % 2 else "LOG_DATA", n // 2 + 1)
        check(again.status in (0, 65), "status %d" % again.status)
        if again.status == 0:
            equal((again.out, again.program_err), (result.out, result.err), "output with a byte that means nothing")
        else:
            found.append(json.loads(again.out.splitlines()[-1])["kind"])
    check(len(found) >= 3, "found: %s" % found)


def calls_file(folder):
    """A file of more than a megabyte of which no two places are the same."""
    path = os.path.join(folder, "file")
    with open(path, "wb") as file:
        file.write(b"".join(b"%d\n" % n for n in range(170000)))
    return path


for what in ("sizes", "much", "holes", "ask", "list", "files", "devices", "maps", "outputs", "mapped", "restarts", "interrupts", "alarms"):

    @case("calls that are made without a stop, replayed as they were: %s" % what)
    def calls_made(what=what):
        folder = fresh_dir("calls")
        program = os.path.join(folder, "logged_calls")
        stepped = what in ("holes", "interrupts", "maps")
        shutil.copy(build("logged_calls.c", *(STATIC if stepped else [])), program)
        result = recorded([program, calls_file(folder), what])
        check(("%s: " % what).encode() in result.out, result.out)
        shutil.rmtree(folder)
        same(result)
        if stepped:
            same(result, "--backend", "step")
        for number, calls in FEW_STOPS.get(what, {}).items():
            check(stops(result.trace, number) <= calls, "stops of call %d: %d" % (number, stops(result.trace, number)))


# Of a part of that program: how many calls of a number are made at stops, at most, those of its start with them.
# Opened files are told of by fstat before they are read. Behind a change of mappings that fails, as the last mprotect there, the next is made
# at a stop.
FEW_STOPS = {"much": {0: 3}, "files": {0: 3, 257: 1}, "maps": {9: 15, 10: 2, 11: 2, 12: 42}, "devices": {0: 40}, "list": {217: 1}}


def stops(trace, number):
    return len(re.findall(rb"^SYSCALL_ENTER .* nr=0x%x " % number, execute([BTREC, "dump", trace]).out, re.M))


def into_files(folder, program, what):
    """Records it with standard output and error in files: the trace, and the process, running."""
    trace = fresh("trace")
    out, err = (os.path.join(folder, name) for name in ("out", "err"))
    with open(out, "wb") as o, open(err, "wb") as e:
        return trace, out, err, start([BTREC, "run", "--replayable", "-q", "-o", trace, program, what, out], stdout=o, stderr=e)


@case("what a program writes to files that are its standard output and error is in the log without a stop")
def outputs_into_files():
    folder, program = fresh_dir("outputs"), build("user_outputs.c")
    trace, out, err, process = into_files(folder, program, "all")
    equal(process.wait(60), 0, "status")
    again = execute([BTREC, "replay", "-q", trace])
    equal(again.status, 0, "status of the replay: %s" % again.err[-500:])
    # The file is as its last writes left it; the replay repeats all bytes in their order.
    for text, count in ((b"by a copy\n", 3), (b"by its name\n", 3), (b"at its place\n", 3), (b"not seen", 0), (b"seen again\n", 1), (b"holes: ", 1), (b"MAPPED\n", 3), (b"mapped\n", 2),
                        (b"not mapped any more\n", 1), (b"x\n", 5)):
        check(again.out.count(text) >= count and (count or text not in again.out), "%r in what is repeated: %d times" % (text, again.out.count(text)))
    check(again.err.count(b"by a high number\n") == 3 and again.err.endswith(b"large\n"), again.err[-200:])
    check(b"to standard error\n" in again.err, "what a copy of it wrote")
    with open(err, "rb") as file:
        equal(again.err, file.read(), "standard error")
    check(stops(trace, 1) < 60, "writes at stops: %d" % stops(trace, 1))


COPIES = r"""
#include <sys/uio.h>
#include <unistd.h>
static char bytes[20000];
int main(void)
{
	ssize_t n;

	while ((n = read(0, bytes, sizeof bytes)) > 0) {
		if (write(1, bytes, n) != n)
			return 1;
	}
	struct iovec two[2] = {{bytes, 9000}, {bytes + 9000, 5}};
	return writev(1, two, 2) != 9005;
}
"""


def copied_to(folder, path):
    """A recording of a program that copies a file of some pages to a file (without stops) or a pipe (path is None)."""
    source, program = os.path.join(folder, "copies.c"), os.path.join(folder, "copies")
    with open(source, "w") as file:
        file.write(COPIES)
    subprocess.run([*CC, "-O1", *STATIC, source, "-o", program], check=True)
    text, trace = os.path.join(folder, "text"), fresh("trace")
    with open(text, "wb") as file:
        file.write(b"".join(b"%d\n" % n for n in range(10000)))
    argv = [BTREC, "run", "-q", "--replayable", "-o", trace, "--", program]
    with open(text, "rb") as text, open(path or os.devnull, "wb") as out:
        equal(subprocess.run(argv, stdin=text, stdout=out if path else subprocess.PIPE).returncode, 0, "status")
    return Result(0, trace=trace)


def is_found(copy, kind, *options):
    """It says that the replay of a changed log has diverged, with that kind."""
    again = replayed(copy, "--json", "--no-output", *options)
    equal(again.status, 65, "status")
    equal(json.loads(again.out.splitlines()[-1])["kind"], kind, "kind")


@case("output that is doubled in a log, or missing, is found, also of calls that are answered without a stop")
def output_lost():
    folder = fresh_dir("lost")
    for path, stops_at_most in ((None, 4), (os.path.join(folder, "out"), 1)):
        result = copied_to(folder, path)
        check((stops(result.trace, 1) > 2) == (path is None), "writes at stops: %d" % stops(result.trace, 1))
        equal(replayed(result.trace, "-q", "--no-output").status, 0, "status of the replay")
        for change in "double", "drop":
            for n in 1, 2, 4:
                copy = with_change(result, change, "LOG_OUTPUT", n)
                is_found(copy, "output")
            is_found(copy, "output", "--backend", "step")
            is_found(copy, "output", "--window", "..", "-o", fresh("window"))


@case("a byte that a call without a stop has read is changed in the log: what the program writes of it, without a stop, is other output")
def other_output():
    folder = fresh_dir("other")
    result = copied_to(folder, os.path.join(folder, "out"))
    check(stops(result.trace, 1) < 2, "writes at stops")
    with open(os.path.join(folder, "text"), "rb") as file:
        second = file.read()[20000:20001]
    found = []
    for n in range(1, 30):
        copy = fresh("changed")
        shutil.copytree(result.trace, copy)
        log = [name for name in os.listdir(copy) if name.startswith("log-")]
        if execute([CHANGE_LOG, result.trace, os.path.join(copy, log[0]), "byte", "LOG_CALLS", str(n)]).status:
            continue # it wrote no memory
        again = replayed(copy, "--json", "--no-output")
        if again.status == 65:
            found.append(json.loads(again.out.splitlines()[-1]))
    check(any(f["kind"] == "output" and f["memory"]["expected"] == second.hex() for f in found), found)


@case("a program that is killed in the midst of writes without a stop: the replay has what its file has")
def outputs_killed():
    folder, program = fresh_dir("outputs"), build("user_outputs.c")
    for run in range(0, KILLS, 4):
        trace, out, _, process = into_files(folder, program, "for ever")
        while not os.path.getsize(out):
            time.sleep(0.001)
        time.sleep(0.0005 * run)
        recorder = children_of(process.pid)[0]
        os.kill(children_of(recorder)[0], signal.SIGKILL)
        equal(process.wait(60), -signal.SIGKILL, "end")
        again = execute([BTREC, "replay", "-q", trace])
        with open(out, "rb") as file:
            written = file.read()
        equal((again.status, again.err, len(again.out)), (0, b"", len(written)), "the replay")
        check(again.out == written, "bytes of the replay")


def waits_of(*argv):
    """How often a command waited for something: twice for each stop of what it traces."""
    process = start([BTREC, *argv])
    process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    equal(status, 0, "status of %s" % (argv,))
    return usage.ru_nvcsw


@case("calls are answered without a stop in a replay, and in a window of it")
def calls_answered():
    folder, calls = fresh_dir("answered"), 20000
    result = recorded(["dd", "if=" + calls_file(folder), "of=/dev/null", "bs=1", "count=%d" % calls, "status=none"])
    window = os.path.join(folder, "window")
    for options in ([], ["--window", "..", "-o", window]):
        waits = waits_of("replay", "-q", *options, result.trace)
        check(waits < calls / 2, "%d waits in a replay of %d calls with %s" % (waits, 2 * calls, options))
    done = subprocess.run([os.path.join(BUILD, "tests/tools/check_history"), window], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    equal(done.returncode, 0, "check_history of the window: %s" % done.stdout.decode(errors="replace")[:400])


@case("a window of calls that are answered without a stop has the branches that the stepper has; a call at another tick is found")
def calls_in_window():
    folder = fresh_dir("window")
    result = recorded(["/bin/cat", calls_file(folder)], env=NO_TABLES)
    branches = []
    for backend in ("engine", "step"):
        window = os.path.join(folder, backend)
        equal(replayed(result.trace, "--no-output", "-q", "--backend", backend, "--window", "..", "-o", window).status, 0, "status with " + backend)
        branches.append(execute([os.path.join(BUILD, "tests/tools/branches"), window]).out)
    check(branches[0] and branches[0] == branches[1], "the branches differ")
    noted = []
    for n in (3, 9):
        copy = with_change(result, "tick", "LOG_CALLS", n)
        again = replayed(copy, "--json", "--no-output", "--window", "..", "-o", fresh("window"))
        found = json.loads(again.out.splitlines()[-1])
        equal((again.status, found["kind"], found["registers"]), (65, "point", []), "status, kind and registers")
        noted.append((int(found["expected_point"]["tick"]) - int(found["point"]["tick"]), len(found["point"])))
    check((1, 1) in noted and all(difference == 1 for difference, _ in noted), "ticks, and what else is told of a point: %s" % noted)


def calls_of(trace):
    """Tick and number of each call that was made without a stop."""
    return re.findall(rb"^  tick=(\d+) nr=(\d+) ", execute([BTREC, "dump", "--no-branches", trace]).out, re.M)


@case("a window has the calls up to its end, none behind it: at the beginning of a tick, within one, and where mappings change without a stop")
def calls_of_window():
    folder = fresh_dir("window")
    result = recorded([build("window_calls.c")])
    dump = execute([BTREC, "dump", result.trace])
    equal((dump.status, dump.out.count(b": a copy of what the program mapped")), (0, sum(name.startswith("mapped-") for name in os.listdir(result.trace))), "status of btrec dump, and copies")
    all_calls = calls_of(result.trace)
    doubled = [tick for tick, number in collections.Counter(tick for tick, _ in all_calls).items() if number > 1]
    check(len(doubled) > 10, "%d ticks with two calls" % len(doubled))
    for tick in map(int, random.Random(1).sample(doubled, 4)):
        before = [call for call in all_calls if int(call[0]) < tick]
        within = [call for call in all_calls if int(call[0]) == tick]
        had = []
        for place in ["@%d" % tick, *("@%d+%d" % (tick, transfers) for transfers in range(1, 6)), "@%d" % (tick + 1)]:
            window = os.path.join(folder, place)
            again = replayed(result.trace, "-q", "--no-output", "--to", place, "--window", "..", "-o", window)
            if again.status == 65:  # the tick has not so many transfers
                continue
            equal(again.status, 0, "status of --to " + place)
            found = calls_of(window)
            equal(found[:len(before)], before, "calls before the tick of " + place)
            equal(found[len(before):], within[:len(found) - len(before)], "calls of the tick of " + place)
            had.append(len(found) - len(before))
        equal((had[0], had[-1], had), (0, len(within), sorted(had)), "calls of tick %d from place to place" % tick)
        check(0 < had[1] < len(within) or len(set(had)) > 1, "calls: %s" % had)


@case("calls, of the vsyscall page, too, that another process or thread answers by a filter's notification: the log has ended, and both go on")
def answered_elsewhere():
    program = build("answered_elsewhere.c", "-pthread", *STATIC, "-I" + SOURCE)
    if native([program]).status == 77:
        raise Skip("no notifications, or no vsyscall page")
    for how in ("child", "page"), ("thread", "page"), ("thread", "call"):
        alone = native([program, *how])
        equal((alone.status, alone.out), (0, b"1234\n1235\n"), "natively, %s" % (how,))
        for options in ["--replayable"], [], ["--history", "off"], ["--backend", "step"], ["--parallel"]:
            result = execute([BTREC, "run", "-q", *options, "-o", fresh("trace"), program, *how], timeout=60)
            equal((result.status, result.out), (alone.status, alone.out), "status and output, %s %s" % (how, options))


@case("a program that is killed in the midst of calls that are made without a stop")
def calls_killed():
    folder = fresh_dir("killed")
    program, path = build("logged_calls.c"), calls_file(folder)
    for run in range(KILLS):
        trace = os.path.join(folder, "trace%d" % run)
        process = start([BTREC, "run", "--replayable", "-q", *(["--history", "off"] if run % 2 else []), "-o", trace, program, path, "for ever"])
        equal(process.stdout.readline(), b"reads\n", "what it says first")
        time.sleep(0.002 * run)
        recorder = children_of(process.pid)[0]
        os.kill(children_of(recorder)[0], signal.SIGKILL)
        equal(process.wait(60), -signal.SIGKILL, "end")
        again = execute([BTREC, "replay", "-q", trace])
        equal((again.status, again.err, again.out), (0, b"", b"reads\n"), "the replay")


@case("calls that are made without a stop: bytes of the record that make no sense are damage")
def calls_damaged():
    folder, argv = built()
    result = recorded(argv, status=3)
    for n in (1, 3, 9):
        again = changed(result, "garbage", "LOG_CALLS", n)
        equal(again.status, 76, "status")
        check(b"calls that make no sense" in again.err, again.err)


@case("a log that was cut off is replayed up to there")
def cut_off():
    folder, argv = built()
    result = recorded(argv, status=3)
    again = changed(result, "end", "LOG_CALL", 30)
    equal(again.status, 0, "status")
    check(b"cut off" in again.err, again.err)


@case("calls through which memory is written later, or is hidden from others, are refused with ENOSYS, and so are pages that the kernel may drop or change, with EINVAL")
def rings():
    program = build("rings.c")
    refused = b"io_setup refused\nio_uring_setup refused\nuserfaultfd refused\n/dev/userfaultfd refused\nmemfd_secret refused\ndroppable refused\nvdso refused\n"
    result = recorded([program])
    equal(result.out, refused, "what the program was told")
    same(result)
    plain = record([program]).out
    if plain == refused:
        raise Skip("this kernel has none of them")
    equal(plain, execute([program]).out, "what it is told without --replayable")


@case("a program that reads the vdso where /proc/self/maps has it, though it is hidden")
def reads_vdso():
    result = record([build("reads_vdso.c")], ["--replayable", "--quiet"])
    if result.status == 77:
        raise Skip("this kernel has no vdso")
    check(result.out.endswith(b"\x7fELF"), "what it prints: %r" % result.out)
    same(result)


@case("where btrec must let go of the program the log ends, and the replay says so")
def let_go():
    if os.geteuid():
        raise Skip("needs root, to become another user")
    program = os.path.join(fresh_dir("let_go"), "program")
    with open(program + ".c", "w") as file:
        file.write("#include <sys/prctl.h>\n#include <unistd.h>\n"
                   "int main(void) { write(1, \"first\\n\", 6); prctl(PR_SET_DUMPABLE, 0); write(1, \"then\\n\", 5); return 3; }\n")
    equal(subprocess.run([*CC, program + ".c", "-o", program], stderr=subprocess.DEVNULL).returncode, 0, "status of the compiler")
    folder = fresh_dir("another")
    for path in TMP, folder, os.path.dirname(program):
        os.chmod(path, 0o777)
    trace = os.path.join(folder, "trace")
    def other():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    made = execute([BTREC, "run", "-q", "--replayable", "-o", trace, "--", program], cwd="/", setup=other, env=dict(os.environ, HOME=folder))
    equal((made.status, made.out), (3, b"first\nthen\n"), "end and output of the program")
    again = replayed(trace)
    equal((again.status, again.out), (0, b"first\n"), "end and output of the replay")
    check(b"up to where its log ends: the program was detached, and ran on unrecorded" in again.err, again.err)


@case("a log of a later version is refused")
def later():
    later = with_change(recorded(["/bin/true"]), "version", "LOG", 1)
    again = replayed(later)
    equal(again.status, 69, "status")
    check(b"the log is of a later version of btrec" in again.err, again.err)
    equal(info(later, "replay"), "not possible: its log is of a later version of btrec", "btrec info")


@case("features that this processor lacks are named beforehand")
def features():
    result = recorded(["/bin/true"])
    copy = with_change(result, "features", "LOG_PROCESSOR", 1)
    again = replayed(copy)
    equal((again.status, again.out), (69, b""), "status with features that are missing")
    with open("/proc/cpuinfo") as file:
        flags = set(re.search(r"^flags\s*: (.*)", file.read(), re.M).group(1).split())
    names = re.search(r"lacks what the recording had: ([a-z0-9_ ]+) \(--force", again.err.decode()).group(1).split()
    check(names and not flags & set(names), "named: %s" % names)
    check("rtm" in flags or "rtm" in names, "transactions are not among them: %s" % names)
    equal(replayed(copy, "--force", "-q").status, 0, "status with --force")
    for change in ("drop", "cut"):  # an older log; damage
        again = replayed(with_change(result, change, "LOG_PROCESSOR", 1), "-q")
        equal((again.status, again.err), (0, b""), "status and errors after %s" % change)


@case("registers of a processor whose XSAVE has another form")
def layout():
    folder, argv = built()
    result = recorded(argv, status=3)
    again = replayed(with_change(result, "layout", "LOG_PROCESSOR", 1), "-q")
    equal((again.status, again.err, again.out), (0, result.err, result.out), "status, errors and output")


@case("another maker's processor is named in a note, and with a divergence")
def makers():
    result = recorded(["/bin/true"])
    result.trace = with_change(result, "maker", "LOG_PROCESSOR", 1)
    again = replayed(result.trace)
    equal(again.status, 0, "status")
    check(re.search(rb"note: it was recorded on a processor of (GenuineIntel|AuthenticAMD), and this one is of", again.err), again.err)
    found = json.loads(changed(result, "register", "LOG_CALL", 5).out)
    check("recorded on a processor of" in found["cause"], found)
    check(b"it may come of this: it was recorded on" in replayed(with_change(result, "register", "LOG_CALL", 5)).err, "the text does not say it")


def info(trace, label, status=0):
    """The line of btrec info."""
    said = execute([BTREC, "info", trace])
    equal(said.status, status, "status of btrec info")
    return re.search(r"^%-12s(.*)" % label, said.out.decode(), re.M).group(1)


@case("btrec info: whether it can be replayed, or why not; sizes; what it holds")
def told():
    folder, argv = built()
    result = recorded(argv, status=3)
    log = [name for name in os.listdir(result.trace) if name.startswith("log-")][0]
    equal(info(result.trace, "replay"), "possible (btrec replay): its log has %d bytes" % os.path.getsize(os.path.join(result.trace, log)), "replay")
    sizes = {kind: sum(os.path.getsize(os.path.join(result.trace, name)) for name in os.listdir(result.trace) if name.split("-")[0] == kind)
             for kind in ("events", "branches", "objects", "symbols", "log", "mapped")}
    equal(dict((kind, int(size)) for kind, size in (part.split() for part in info(result.trace, "by kind").split(", "))), {kind: size for kind, size in sizes.items() if size}, "sizes")
    dump = execute([BTREC, "dump", "--no-branches", result.trace]).out
    kinds = [line.split(b" ", 1)[0] for line in dump.splitlines()]
    unstopped = sum(int(count, 16) for count in re.findall(rb"^CALLS .* count=0x([0-9a-f]+) ", dump, re.M))
    counts = tuple(kinds.count(kind) for kind in (b"LOG_CALL", b"LOG_SIGNAL", b"LOG_INSTRUCTION"))
    check(min(*counts, unstopped) > 0, "events: %s, calls without a stop: %s" % (counts, unstopped))
    found = re.fullmatch(r"(\d+) calls, (\d+) signals, (\d+) results of instructions; before packing: memory at the start (\d+) bytes, what calls wrote (\d+), signals (\d+), registers (\d+)", info(result.trace, "log"))
    events = tuple(map(int, found.groups()[:3]))
    equal(events[:2], (counts[0] + unstopped, counts[1]), "calls and signals of the log")
    check(events[2] > counts[2], "results of instructions: %d, rdtsc among them; by themselves %d" % (events[2], counts[2]))
    check(all(int(size) > 0 for size in found.groups()[3:]), "bytes of the log: %s" % (found.groups(),))
    check("memory" in info(result.trace, "privacy") and "input, environment" in info(result.trace, "privacy"), "what it holds is not said")
    check("lacks" in info(with_change(result, "features", "LOG_PROCESSOR", 1), "replay"), "features that are missing are not named")
    check("cut off" in info(with_change(result, "end", "LOG_CALL", 30), "replay"), "that it was cut off is not said")
    copy = fresh("damaged")
    shutil.copytree(result.trace, copy)
    with open(os.path.join(copy, log), "r+b") as file:
        file.seek(sizes["log"] // 2)
        file.write(b"\xff" * 40)
    check("damaged" in info(copy, "replay", status=76), "that it is damaged is not said")
    equal(info(record(["/bin/true"]).trace, "replay"), "not possible: it was not recorded with --replayable", "replay")


@case("what cannot be replayed is refused by name")
def refused():
    plain = record(["/bin/true"])
    again = replayed(plain.trace)
    equal((again.status, again.out), (69, b""), "status without a log")
    check(b"--replayable" in again.err, again.err)
    for options, why in ((["--parallel"], b"--parallel"), (["--from", "main"], b"--from"), (["--backend", "pmu"], b"--backend pmu")):
        misuse = execute([BTREC, "run", "--replayable", *options, "/bin/true"])
        equal(misuse.status, 125, "status with %s" % options)
        check(why in misuse.err, misuse.err)
    equal(replayed(plain.trace, "--backend", "pmu").status, 2, "status with --backend pmu")


@case("where the log is full it ends, the program goes on, and the replay reaches up to there")
def full():
    # Each line is a buffer from the kernel, of bytes that do not pack.
    script = "import os\nfor i in range(100):\n    print(i, len(os.urandom(100000)), flush=True)"
    result = record(["/usr/bin/python3", "-c", script], ["--replayable", "--log-size", "8M"])
    equal((result.status, len(result.out.splitlines())), (0, 100), "status of the program, and its lines")
    equal(result.err.count(b"the log for btrec replay ends here"), 1, "how often it is said: %s" % result.err)
    size = sum(os.path.getsize(os.path.join(result.trace, name)) for name in os.listdir(result.trace) if name.startswith("log-"))
    check(8 << 20 <= size < 10 << 20, "size of the log: %d" % size)
    again = replayed(result.trace)
    equal(again.status, 0, "status of the replay")
    check(0 < len(again.out) < len(result.out) and result.out.startswith(again.out), "lines of the replay: %d" % len(again.out.splitlines()))
    for text in (again.err, execute([BTREC, "info", result.trace]).out):
        check(b"--log-size" in text, text)
    for options, why in ((["--log-size", "1M"], b"--replayable"), (["--replayable", "--log-size", "much"], b"no size")):
        misuse = execute([BTREC, "run", *options, "/bin/true"])
        equal(misuse.status, 125, "status with %s" % options)
        check(why in misuse.err, misuse.err)


@case("where nothing but the beginning has room the replay ends there")
def smallest():
    result = recorded(["/bin/true"], "--log-size", "1")
    again = replayed(result.trace)
    equal((again.status, again.out), (0, b""), "status and output")


@case("a recorder that is killed leaves a trace that is replayed up to what was flushed")
def recorder_killed():
    trace = fresh("trace")
    process = start([BTREC, "run", "-q", "--replayable", "-o", trace, "--", "/usr/bin/python3", "-c", "import os\nwhile True: print(len(os.urandom(100000)), flush=True)"],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for _ in range(60):
        check(process.stdout.readline() == b"100000\n", "the program said something else")
    recorder = recorder_of(process)
    os.kill(recorder, signal.SIGKILL)
    process.stdout.close()
    process.wait(TIMEOUT)
    again = replayed(trace)
    equal(again.status, 0, "status")
    check(b"cut off" in again.err, again.err)
    lines = again.out.splitlines()
    check(lines and set(lines) == {b"100000"}, "lines: %s" % lines[:3])


@case("a log whose file was cut off anywhere is replayed up to there")
def file_cut_off():
    script = "import os\nfor i in range(40): print(i, len(os.urandom(100000)), flush=True)"
    result = recorded(["/usr/bin/python3", "-c", script])
    log = [name for name in os.listdir(result.trace) if name.startswith("log-")][0]
    size, reached = os.path.getsize(os.path.join(result.trace, log)), []
    statuses = []
    for part in (0.001, 0.1, 0.5, 0.8, 0.95):
        copy = fresh("cut")
        shutil.copytree(result.trace, copy)
        os.truncate(os.path.join(copy, log), int(size * part))
        again = replayed(copy)
        check(b"cut off" in again.err and len(again.err.splitlines()) == 1, again.err)
        statuses.append(again.status)
        check(result.out.startswith(again.out), "other output")
        reached.append(len(again.out))
    check((statuses[0], statuses[-1]) == (76, 0) and statuses == sorted(statuses, reverse=True) and set(statuses) == {0, 76}, "statuses: %s" % statuses)
    check(reached == sorted(reached) and reached[-1] > reached[0] == 0, "output up to the cuts: %s" % reached)


@case("a damaged log is told, with the status of damage")
def damaged():
    result = recorded(["/bin/true"])
    log = os.path.join(result.trace, [name for name in os.listdir(result.trace) if name.startswith("log-")][0])
    with open(log, "r+b") as file:
        size = os.path.getsize(log)
        for at in range(64, size, size // 7):
            file.seek(at)
            file.write(b"\xff" * 40)
    again = replayed(result.trace)
    equal(again.status, 76, "status")
    why = re.match(rb"btrec: \S+: the log is damaged behind \d+ events: (.+)\n", again.err)
    check(why, again.err)
    told = execute([BTREC, "info", result.trace])
    equal((told.status, b"is damaged" in told.out and why.group(1) in told.out), (76, True), "btrec info: %s" % told.out)


main(sanitized=2)
