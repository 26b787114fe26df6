#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Code in pages that the program can write, run and written by turns (programs/written_*.c), or in a file that is written to
# (programs/rewritten_file.c): the same output as natively, a history that
# the code bytes bear out, and, where one thread decides what happens, the very branches and events that the stepper records.
import os
import re
import resource
import signal
import struct
import subprocess
import time

from e2e import *
import engine_compare

BACKEND = engine_compare.backends()[1]
CHECK = os.path.join(os.environ["abs_top_builddir"], "tests/tools/check_history")

# By program. ALONE: one thread decides what happens.
ALONE = {
    "written_by_kernel": "by-read by-readv by-recvmsg by-vmsplice by-file by-process-vm-writev by-proc-mem".split(),
    "written_code": """data-beside-code across-pages own-loop by-string-instructions on-the-stack own-protection moved replaced replaced-fixed
        filtered at-the-end ends-protected before-nothing shortened by-masked-store
        from-below low-pages protected-downward""".split(),
    "written_signals": "stack-beside-code stack-over-code heap-again switched-stack stack-by-sigreturn".split(),
    "written_at_end": [],
}
# Times, processes, threads, /proc/self/status, and the library's abort(), which blocks signals by calls of its own:
# only outcome and history are compared.
OTHERS = {
    "written_by_kernel": "by-small-calls by-getxattrat by-received-mem by-int80 by-vsyscall read-in-flight by-io-submit by-io-uring".split(),
    "written_code": "by-a-thread forked forked-with-threads dies-protected".split(),
    "written_signals": "with-signals-blocked with-faults-ignored blocked-fault".split(),
    "written_at_end": """id-of-a-thread id-at-exit-group id-at-kill id-at-execve id-by-itself lock-of-a-thread lock-at-kill lock-at-execve
        beside-local-code""".split(),
}


def program(which):
    return build(which + ".c", *STATIC, "-pthread")


def history_holds(trace):
    done = subprocess.run([CHECK, trace], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    equal(done.returncode, 0, "check_history: %s" % done.stdout.decode(errors="replace")[:400])


def as_natively(which, name, *options):
    alone = native([program(which), name])
    recorded = record([program(which), name], ["--backend", BACKEND, "--snap-exit", "always", *options])
    equal(recorded.out, alone.out, "stdout")
    equal(recorded.status, alone.status, "status")
    check(name == "dies-protected" or alone.out == b"0 wrong\n", "natively: %s" % alone.out)
    if name != "by-vsyscall": # which has no code
        history_holds(recorded.trace)


def add(which, name):
    @case("written code: " + name)
    def natively():
        as_natively(which, name)

    if name in ALONE[which]:
        @case("written code, as stepped: " + name)
        def as_stepped():
            engine_compare.compare_runs([program(which), name])


for each_program in ALONE:
    for each in ALONE[each_program] + OTHERS[each_program]:
        add(each_program, each)


@case("what the kernel writes at a task's end, on a page of code: the same with --parallel")
def at_end_in_parallel():
    for name in OTHERS["written_at_end"]:
        as_natively("written_at_end", name, "--parallel")


@case("... and by a thread that began before --from")
def at_end_unseen():
    for options in ([], ["--parallel"]):
        as_natively("written_at_end", "beside-local-code", "--from", "from_here", *options)


@case("written code: every case is tried")
def all_tried():
    for which in ALONE:
        equal(sorted(native([program(which)]).out.decode().split()), sorted(ALONE[which] + OTHERS[which]), "cases")


WATCHED = "forgotten dispatched mapped forked untraced served".split()


def watched():
    return build("watched_pages.c", "-pthread")


def add_watched(name):
    @case("pages that can be written, and what is known of them: " + name)
    def run():
        for options in [], ["--parallel"]:
            _, recorded = same_as_native([watched(), name], ["--backend", BACKEND, "--snap-exit", "always", *options])
            history_holds(recorded.trace)


for each_watched in WATCHED:
    add_watched(each_watched)


@case("pages that can be written, and what is known of them: every case is tried")
def all_watched():
    equal(sorted(native([watched()]).out.decode().split()), sorted(WATCHED), "cases")


def mappings(trace):
    """What the trace says of the program's mappings, without places in the stream of events, and the region's files."""
    found = []
    for line in engine_compare.dump_of(trace):
        if line.startswith(("MAP ", "UNMAP ")) and "memfd:btrec" not in line:
            found.append(re.sub(r"seq=\S+ ", "", line))
    return found


@case("mappings are the same whether all are read or what calls have changed, with pages that are write-protected for us among them")
def read_and_asked():
    names = {"written_code": ("own-protection", "moved", "replaced-fixed", "across-pages"), "written_signals": ("stack-over-code", "heap-again")}
    for which, name in ((which, name) for which in names for name in names[which]):
        argv = [program(which), name]
        each, asked = (mappings(record(argv, ["--backend", BACKEND, "--deterministic", *options]).trace) for options in (["--whole-maps"], []))
        check(len(asked) > 10, "%s: %d changes" % (name, len(asked)))
        equal(asked, each, name)


@case("no branch is looked for in memory that nothing has been written to")
def nothing():
    recorded = record([program("written_code"), "before-nothing"], ["--backend", BACKEND])
    pages = {line.split(" addr=")[1].split()[0] for line in engine_compare.dump_of(recorded.trace) if line.startswith("CODE ") and " addr=0x31000" in line}
    equal(pages, {"0x310000000000"}, "pages of it that were taken for code")


def segments(core):
    """(flags of each loaded segment) of a core file, counted."""
    done = subprocess.run(["readelf", "-lW", core], stdout=subprocess.PIPE, check=True)
    found = {}
    for line in done.stdout.decode().splitlines():
        words = line.split()
        if words[:1] == ["LOAD"]:
            flags = "".join(words[6:-1])
            found[flags] = found.get(flags, 0) + 1
    return found


@case("a core file shows the program's protections")
def core_file():
    need_core_files()
    places = [fresh_dir("core"), fresh_dir("core")]
    native([program("written_code"), "dies-protected"], core=resource.RLIM_INFINITY, cwd=places[0])
    check(os.listdir(places[0]), "no core file without btrec either")
    record([program("written_code"), "dies-protected"], ["--backend", BACKEND], core=resource.RLIM_INFINITY, cwd=places[1])
    cores = [os.path.join(place, os.listdir(place)[0]) for place in places]
    equal(segments(cores[1]).get("RWE"), segments(cores[0]).get("RWE"), "writable and executable segments")


def places_of_threads(core):
    """Where each thread of a core file was (NT_PRSTATUS, elf_prstatus)."""
    data = open(core, "rb").read()
    at, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    found = []
    for i in range(count):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", data, at + i * size)
        end = offset + length
        while kind == 4 and offset < end: # PT_NOTE
            name, desc, note = struct.unpack_from("<III", data, offset)
            offset += 12 + (name + 3 & ~3)
            if note == 1:
                found.append(struct.unpack_from("<Q", data, offset + 112 + 16 * 8)[0])
            offset += desc + 3 & ~3
    return found


@case("a core file has threads that run side by side where they were")
def core_of_threads():
    need_core_files()
    for _ in range(3):
        place = fresh_dir("core")
        recorded = record([build("core_threads.c", *STATIC, "-pthread")], ["--backend", BACKEND, "--parallel"], core=resource.RLIM_INFINITY, cwd=place)
        equal(recorded.status, -signal.SIGSEGV, "end")
        check(os.listdir(place), "no core file")
        threads = places_of_threads(os.path.join(place, os.listdir(place)[0]))
        equal(len(threads), 4, "threads")
        check(all(at < 1 << 32 for at in threads), "not in the program: %s" % [hex(at) for at in threads])


def rewritten(who, end):
    """Code in a file that is written to while it is mapped. It is seen to change within a second or two."""
    argv = [build("rewritten_file.c", "-pthread"), who, fresh("code")]
    alone = native(argv)
    recorded = record(argv, ["--backend", BACKEND, "--snap-exit", "always"])
    equal((alone.status, recorded.status), (end, end), "status, natively and recorded")
    equal(recorded.out, alone.out, "stdout")
    check("%s, whose code is mapped at 0x" % argv[2] in text(recorded.trace) or who in ("itself", "backdated", "through", "through-later", "made-writable"), "no note: %s" % text(recorded.trace)[:2000])
    history_holds(recorded.trace)


@case("code that changes where a stack has grown, or a mapping like one, and cannot be written any more when it runs again")
def grown_code():
    program = build("grown_code.c", "-O1", "-z", "execstack", "-fno-stack-protector")
    for which in ("stack", "mapping"):
        for options in ([], ["--parallel"], ["--history", "off"], ["--backend", "step"]):
            alone, _ = same_as_native([program, which], options)
            equal(alone.out.split(), b"begins 1 2 3".split(), "what it does natively")


REPLACED = "advised advised-locked advised-by-itself mapped moved-there moved-away shortened".split()


def add_replaced(name):
    @case("code that cannot be written, replaced: " + name)
    def run():
        for options in ([], ["--parallel"], ["--history", "off"], ["--backend", "step"]):
            alone, _ = same_as_native([build("replaced_code.c"), name], options)
            check(alone.out.split()[-1] in (b"2", b"3", b"SIGBUS"), "natively: %s" % alone.out)


for each_replaced in REPLACED:
    add_replaced(each_replaced)


@case("code that cannot be written, replaced: every case is tried")
def all_replaced():
    equal(sorted(native([build("replaced_code.c")]).out.decode().split()), sorted(REPLACED), "cases")


@case("code that another process changes while it is waited for")
def shared_code():
    for options in ([], ["--history", "off"], ["--parallel"], ["--backend", "step"]):
        same_as_native([build("shared_code.c"), "40"], options)


@case("code in a file that a child writes to while it is mapped")
def by_a_child():
    rewritten("child", 0)


@case("... when the first thread has ended")
def leaderless():
    rewritten("leaderless", 0)


@case("... that then sets the file's time back")
def backdated():
    rewritten("backdated", 0)


@case("... that the program itself writes to through a mapping, again and again")
def through():
    rewritten("through", 0)


@case("... through one that could only be read when it was made")
def made_writable():
    rewritten("made-writable", 0)


@case("... through one that was made when code that could be written, too, had run")
def through_later():
    rewritten("through-later", 0)


@case("... that becomes shorter, where the code could be written, too")
def shortened():
    rewritten("shortened", 0)


@case("... that the program itself writes to")
def by_itself():
    rewritten("itself", 0)


@case("... so that it ends the program")
def deadly():
    rewritten("crash", -signal.SIGILL)


@case("code that is made without end: memory of the recorder")
def endless():
    program = build("endless_code.c")
    less, more = (recorders_peak([program, str(rounds)], ["--backend", BACKEND, "--history", "1000"]) for rounds in (100, 300))
    check(more - less < 20000, "%d kB for a hundred rounds, %d for three hundred" % (less, more))


def children_of(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            return [int(child) for child in file.read().split()]
    except FileNotFoundError:
        return []


def program_of(process, name):
    """The recorder's child, once that has become the program; 0: not yet."""
    for pid in [pid for recorder in children_of(process.pid) for pid in children_of(recorder)]:
        with open("/proc/%d/comm" % pid) as file:
            if file.read().strip() == name:
                return pid
    return 0


@case("killed while code is made without end: the history holds")
def killed():
    """Mostly it stands where it left the cache then, or is on its way in."""
    program = build("endless_code.c")
    for i in range(60):
        trace = fresh("trace")
        process = start([BTREC, "run", "--backend", BACKEND, "--history", "20000", "-o", trace, "--", program, "1000000"], cwd=TMP)
        pid = wait_until(lambda: program_of(process, os.path.basename(program)), "the program did not begin")
        time.sleep(i % 20 * 0.002)
        os.kill(pid, signal.SIGKILL)
        equal(process.wait(20), -signal.SIGKILL, "end")
        shown = text(trace, "-n", "5")
        check("has written over" not in shown and "may not be exact" not in shown and "Inconsistent" not in shown, shown[-1500:])


main(sanitized=5)
