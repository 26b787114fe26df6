#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# btrec replay --to: what a replay has at a place, engine and stepper alike, is what the recording had there.
import random
import struct

from replays import *
from counted_steps import far_in_line
from engine_points import places

PATIENCE = 3600 # seconds that one recording may take: python3 is stepped for ten minutes
ALL = ["--history", str(1 << 26)]
STARTS = ["rax", "rsi", "r8", "r12", "rip"] # of the lines of registers, which are those of btview
COMPARED = 0x10100 # of eflags all but TF and RF


def replay(trace, *options):
    return execute([BTREC, "replay", *map(str, options), trace], cwd="/")


def found_at(trace, where, *options):
    """What --json prints of a place: the replay ends there."""
    result = replay(trace, "--no-output", "--json", "--to", where, *options)
    equal(result.status, 0, "status of --to %s (%s)" % (where, result.err.decode(errors="replace")))
    found = json.loads(result.out)
    fits_schema(found, "replay.schema.json")
    return found


def registers_at(trace, where, *options):
    found = found_at(trace, where, "--registers", *options)["registers"]
    return {name: int(value, 16) for name, value in found.items()}


def records(trace, kind):
    """The records of a kind as dump prints them: {field: text}, in order."""
    out = execute([BTREC, "dump", "--no-branches", trace]).out.decode(errors="replace")
    return [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in out.splitlines() if line.startswith(kind + " ")]


def without_noise(registers):
    """Without what a stop itself may change, and what user code cannot see."""
    kept = {name: value for name, value in registers.items() if name not in ("orig_rax", "cs", "ss", "ds", "es", "fs", "gs")}
    kept["eflags"] &= ~COMPARED
    return kept


def kept_registers(thread):
    return without_noise({name: int(value, 16) for name, value in (pair.split(":") for pair in thread["regs"].split(","))})


def drawn(trace, chance, count):
    """So many instructions of the first task, drawn from all of them, in order; and how many there are."""
    found, n = [], 0
    for n, place in enumerate(places(trace), 1):
        if len(found) < count:
            found.append((n, place))
        elif chance.random() * n < count: # each of the first n is among the drawn with the same chance
            found[chance.randrange(count)] = n, place
    return [place for _, place in sorted(found)], n


def same_as_stepped(argv, count, seed, backends, more=lambda path: [], first_options=()):
    """Records argv twice, the same each time; stops the second, stepped, at points of the first, and replays to those."""
    # A locale's tables are hundreds of thousands of instructions.
    settings = dict(env={**os.environ, "LC_ALL": "C", "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0"}, timeout=PATIENCE)
    first = record(argv, ["--quiet", "--no-aslr", "--replayable", "--snap-exit", "always", *ALL, *first_options], **settings)
    path, length = drawn(first.trace, random.Random(seed), count)
    check(length > 1000, "only %d instructions" % length)
    wanted = ["%d+%d@%x" % place for place in path] + more(places(first.trace))
    shutil.rmtree(first.trace)
    asked = [word for point in wanted for word in ("--snap-at", point)]
    second = record(argv, ["--quiet", "--no-aslr", "--replayable", "--backend", "step", *asked], **settings)
    equal(second.status, first.status, "end of the second recording")
    moments = {row["snapshot"]: row["label"].strip('"') for row in records(second.trace, "SNAPSHOT") if row["kind"] == "4"}
    threads = {moments[row["snapshot"]]: row for row in records(second.trace, "THREAD") if row["snapshot"] in moments}
    check(len(threads) >= len(wanted) * 0.9, "only %d of %d points were reached" % (len(threads), len(wanted)))
    wrong = []
    for point, thread in threads.items():
        for backend in backends:
            replayed, kept = without_noise(registers_at(second.trace, point, "--backend", backend)), kept_registers(thread)
            if replayed != kept:
                wrong.append("registers at %s, replayed by %s: %s" % (point, backend, {name: (replayed.get(name), kept[name]) for name in kept if replayed.get(name) != kept[name]}))
    print("     %d of %d instructions drawn; the recording was at %d of these points; registers are equal at all but %d, replayed by %s" %
          (len(wanted), length, len(threads), len(wrong), " and ".join(backends)), flush=True)
    if wrong and KEEP:
        kept_as = tempfile.mkdtemp(prefix="points.", dir=KEEP)
        shutil.copytree(second.trace, os.path.join(kept_as, "trace"))
    check(not wrong, "\n".join(wrong[:10]))


def lines_of_text(line="line %d of %d\n"):
    path = fresh("text")
    with open(path, "w") as file:
        file.write("".join(line % (n * 7919 % 1000, n) for n in range(10)))
    return path


def real_program(name, seed, count=40, options=("-1c",), more=lambda path: []):
    if not shutil.which(name):
        raise Skip("no " + name)
    same_as_stepped([name, *options, lines_of_text()], count, seed, ["engine"], more)


@case("registers at random points are the stepper's: gzip")
def gzip():
    real_program("gzip", 1)


@case("registers at random points are the stepper's: bzip2")
def bzip2():
    real_program("bzip2", 2)


@case("registers at points far in straight lines are the stepper's: md5sum, whose rounds are unrolled")
def md5sum():
    real_program("md5sum", 4, 8, [], lambda path: ["%d+%d@%x" % place for place in random.Random(4).sample(far_in_line(list(path), 100), 12)])


@case("registers at random points are the stepper's: a made program, with iterations of REP")
def made_program():
    program = build("places.c", "-O1", *BARE)
    out = subprocess.run(["nm", program], stdout=subprocess.PIPE, check=True).stdout.decode()
    copying = int(re.search(r"^([0-9a-f]+) . copying$", out, re.M).group(1), 16)

    def iterations(path):
        found = ["%d+%d@%x,4" % place for place in path if place[2] == copying]
        equal(len(found), 8, "visits of the REP instruction")
        return found

    same_as_stepped([program], 30, 3, ["engine", "step"], iterations)


@case("registers behind and between rdtsc and rdtscp that were recorded in the cache are the stepper's")
def clock_reads():
    result = record([build("kill_at_clock.S", *BARE)], ["--quiet", "--replayable", "--kill-at", "2300"])
    equal(result.status, -signal.SIGKILL, "end")
    window = fresh("window")
    equal(replay(result.trace, "-q", "--no-output", "--window", "..", "-o", window).status, 0, "status of the window")
    path = list(places(window))[-120:]
    check(len(path) == 120, "only %d instructions" % len(path))
    for place in path[::3]:
        point = "%d+%d@%x" % place
        found = [registers_at(result.trace, point, "--backend", backend) for backend in ("engine", "step")]
        equal(found[0], found[1], "registers at %s, replayed by engine and stepper" % point)


# In ./check --full: so many points of each of more programs.
POINTS = int(os.environ.get("BTREC_REPLAY_POINTS", "0"))
TEXT, SUMS = object(), object() # the paths of some lines, and of some for bc
MORE_PROGRAMS = {
    "cat": ["cat", TEXT], "sort": ["sort", "--parallel=1", TEXT], "gawk": ["gawk", "{ n[$2 % 3]++ } END { for (w in n) print n[w], w }", TEXT],
    "sed": ["sed", "-E", "s/([a-z]+) ([0-9]+)/\\2 \\1/g", TEXT], "md5sum": ["md5sum", TEXT], "od": ["od", "-x", TEXT],
    "bash": ["bash", "-c", "while read -r a b c; do x[b%7]+=$b; done < $0; echo ${x[*]}", TEXT], "xz": ["xz", "-T1", "-0c", TEXT],
    "zstd": ["zstd", "--single-thread", "--no-asyncio", "-qc", TEXT], "ls": ["ls", "-la", TEXT], "gzip": ["gzip", "-1c", TEXT],
    "sqlite3": ["sqlite3", "-batch", ":memory:", "create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 200) insert into t select x, x * 7919 % 100 from c; "
                "create index i on t(b); select b, count(*), sum(a) from t group by b order by 2, 1 limit 9;"],
    "python3": ["/usr/bin/python3", "-S", "-s", "-c", "print(sorted({n * 7919 % 1000: str(n) for n in range(1000)}.items())[:9])"],
    "pcre2-jit": ["grep", "-nP", "(?:a|e|i)[^aeiou]{2,5}(\\w)|(\\d)\\d\\2", TEXT],
    "perl": ["perl", "-ne", "$n{$1} .= $2 if /(\\d+) of (\\d+)/; END { print map \"$_ $n{$_}\\n\", sort keys %n }", TEXT],
    "bc": ["bc", "-q", SUMS], "m4": ["m4", TEXT], "mawk": ["mawk", "{ n[$2 % 3]++ } END { for (w in n) print n[w], w }", TEXT], "dash": ["dash", "-c", "while read -r a b c; do x=$x$b; done < $0; echo $x", TEXT],
    "busybox": ["busybox", "sort", "-k2n", TEXT], "xmllint": ["xmllint", "--html", TEXT], "objdump": ["objdump", "-d", "--stop-address=1200", "/bin/true"],
}


# They read /proc/self/maps, where the engine is seen: the last two by libsigsegv, which looks for the stack.
SETTINGS = dict.fromkeys(("pcre2-jit", "gawk", "m4"), dict(first_options=["--backend", "step"]))


def add_more(name, argv, seed):
    @case("registers at more random points are the stepper's: " + name)
    def more_points():
        if not shutil.which(argv[0]):
            raise Skip("no " + argv[0])
        files = {TEXT: lines_of_text(), SUMS: lines_of_text("%d ^ %d\n")}
        same_as_stepped([files.get(word, word) for word in argv], POINTS, seed, ["engine"], **SETTINGS.get(name, {}))


for seed, name in enumerate(MORE_PROGRAMS if POINTS else [], 10):
    add_more(name, MORE_PROGRAMS[name], seed)


crashes = {} # traces, by how the program was built


def crashed(*flags):
    """A recording of a program that is killed by a fault, below some frames."""
    if flags not in crashes:
        source = fresh("crashed") + ".c"
        program = source[:-2]
        with open(source, "w") as file:
            file.write("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nchar *kept;\n"
                       "static int deep(int n, volatile int *p) { char there[64]; memset(there, n, sizeof there); return n ? deep(n - 1, p) + there[n] : (*p = 1); }\n"
                       "int main(void) { kept = malloc(100); strcpy(kept, \"hello heap\"); puts(kept); fflush(stdout); return deep(5, 0); }\n")
        subprocess.run([*CC, "-O0", "-g", *flags, source, "-o", program], check=True)
        result = record([program], ["--quiet", "--replayable"])
        equal(result.status, -signal.SIGSEGV, "end of the program")
        os.unlink(program)
        crashes[flags] = result.trace
    return crashes[flags]


GIVEN = r"""
#include <signal.h>
#include <string.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static char selector;
int main(int argc, char **argv)
{
    siginfo_t info = {.si_signo = SIGSEGV, .si_code = SEGV_MAPERR};
    char name[] = "givenXXXXXX";
    int fd;
    if (argc > 1 && !strcmp(argv[1], "file")) {
        fd = mkstemp(name);
        unlink(name);
        ((volatile char *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0))[5] = 1;
    } else if (argc > 1 && !strcmp(argv[1], "sent")) {
        syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGSEGV, &info);
    } else {
        if (prctl(59, 1, 0, 0, &selector)) /* PR_SET_SYSCALL_USER_DISPATCH, Linux 5.11 */
            return 77;
        selector = 1;
        getppid();
    }
    return 1;
}
"""


@case("the crash: registers as btview has them, in its words")
def at_crash():
    trace = crashed()
    shown = replay(trace, "--no-output", "--to", "crash", "--registers").out.decode().splitlines()
    lines = text(trace).splitlines()
    at = lines.index("Registers of task 1")
    equal(shown, lines[at:at + 6], "registers")
    equal([line.split()[0] for line in shown[1:]], STARTS, "first registers of the lines")
    equal(found_at(trace, "crash", "--registers")["registers"]["rip"], report(trace)["threads"][0]["registers"]["rip"], "rip")


def core_memory(path):
    """The bytes that a core file holds: (address, bytes)."""
    with open(path, "rb") as file:
        core = file.read()
    offset, = struct.unpack_from("<Q", core, 32)
    size, count = struct.unpack_from("<HH", core, 54)
    for n in range(count):
        kind, _, at, addr, _, length, _, _ = struct.unpack_from("<IIQQQQQQ", core, offset + n * size)
        if kind == 1 and length:
            yield addr, core[at:at + length]


@case("the crash: memory is what the exported core has")
def memory_at_crash():
    trace, core = crashed(), fresh("core")
    with open(core, "wb") as file:
        equal(subprocess.run([BTVIEW, "--export", "core", trace], stdout=file).returncode, 0, "status of the export")
    segments = [(addr, held[:1 << 16]) for addr, held in core_memory(core) if addr < 1 << 47]
    # Bytes that the trace has not are zeros in a core file: pages that have others are compared.
    wanted = [(addr + at, held[at:at + 256]) for addr, held in segments for at in range(0, len(held), 256) if any(held[at:at + 256])]
    random.Random(3).shuffle(wanted)
    wanted = wanted[:64]
    check(len(wanted) > 20, "only %d pieces of memory" % len(wanted))
    options = [word for addr, held in wanted for word in ("--memory", "0x%x,%d" % (addr, len(held)))]
    for (addr, held), got in zip(wanted, found_at(trace, "crash", *options)["memory"], strict=True):
        equal((int(got["address"], 16), got["bytes"]), (addr, held.hex()), "memory at 0x%x" % addr)


@case("memory as text, by a register, and where nothing is mapped")
def memory_text():
    trace = crashed()
    registers = registers_at(trace, "crash")
    shown = replay(trace, "--no-output", "--to", "crash", "--memory", "rbp-0x40,20", "--memory", "8,4").out.decode().splitlines()
    equal(shown[0], "Memory at 0x%x, 20 bytes" % (registers["rbp"] - 0x40), "heading")
    check(re.fullmatch(r"  %016x  ([0-9a-f]{2} ){8} ([0-9a-f]{2} ){8} \|.{16}\|" % (registers["rbp"] - 0x40), shown[1]), shown[1])
    check(re.fullmatch(r"  %016x  ([0-9a-f]{2} ){4} .*\|.{4}\|" % (registers["rbp"] - 0x30), shown[2]), shown[2])
    equal(shown[3:], ["Memory at 0x8, 4 bytes", "  0000000000000008  nothing is mapped"], "what is not mapped")
    found = found_at(trace, "crash", "--memory", "rsp+16,8", "--memory", "8,4")["memory"]
    equal((found[0]["address"], len(found[0]["bytes"])), ("0x%x" % (registers["rsp"] + 16), 16), "memory at rsp + 16")
    equal(found[1], {"address": "0x8", "length": 4, "bytes": ""}, "memory that is not mapped")


@case("each kind of event is a place, by its number")
def at_events():
    folder = fresh_dir("input")
    with open(os.path.join(folder, "text"), "w") as file:
        file.write("one line\nanother line\n")
    result = record([build("replayed.c"), os.path.join(folder, "text")], ["--quiet", "--replayable"])
    equal(result.status, 3, "end of the program")
    chance = random.Random(4)
    for kind in ("SYSCALL_ENTER", "SYSCALL_EXIT", "SIGNAL", "HANDLER", "SNAPSHOT", "EXIT"):
        rows = records(result.trace, kind)
        for row in chance.sample(rows, min(2, len(rows))):
            found = found_at(result.trace, row["seq"], "--registers")
            point = "%s+%s@%s" % tuple(found["point"][name] for name in ("tick", "transfers", "rip"))
            equal(point, row["point"], "point of %s %s" % (kind, row["seq"]))
            if kind == "SYSCALL_EXIT":
                equal(found["registers"]["rax"], row["result"], "result of the call that event %s ends" % row["seq"])
    decimal = int(rows[0]["seq"], 16)
    equal(found_at(result.trace, decimal)["point"], found_at(result.trace, rows[0]["seq"])["point"], "point of event %d in decimal" % decimal)


def window(trace, stretch, *options, status=0):
    """The trace of a stretch."""
    made = fresh("window")
    result = replay(trace, "-q", "--no-output", "--window", stretch, "-o", made, *options)
    equal((result.status, result.out), (status, b""), "status and output of --window %s (%s)" % (stretch, result.err.decode(errors="replace")))
    return made


def same_tail(trace, stretch, ticks, *options):
    """The window's history is the newest part of the recorded one, of so many ticks."""
    recorded, found = branches(trace), branches(window(trace, stretch, *options))
    check(found, "no branches")
    equal(len(found), len(recorded) if ticks is None else sum(row[1] + (row[2] != "jcc") > recorded[-1][1] - ticks for row in recorded), "branches in %s" % stretch)
    if found != recorded[-len(found):]:
        n = next(n for n, (a, b) in enumerate(zip(found, recorded[-len(found):])) if a != b)
        raise Failure("entry %d of %s is %s, recorded was %s" % (n, stretch, found[n], recorded[-len(found):][n]))


@case("the window before a crash is the history that was recorded at it")
def window_at_crash():
    trace = crashed()
    same_tail(trace, "-300..crash", 300)
    for backend in ("engine", "step"): # static: else its dynamic linker is stepped
        same_tail(crashed(*STATIC), "-300..crash", 300, "--backend", backend)
    same_tail(trace, "..crash", None)
    same_tail(trace, "..", None)
    same_tail(trace, "-20..", 20, "--to", "crash")
    same_tail(trace, "300", 300, "--to", "crash")
    same_tail(trace, "300", 300)
    same_tail(trace, "-2K..crash", 2000)
    for whole in "1M", "-1M..", "18446744073G":
        same_tail(trace, whole, None)


# Programs that crash, and what ends them. `make check` has the first of each kind, ./check --full all.
CRASHES = {"faults.c": "null-write abort fault-in-handler ret-unmapped call-null divide-by-zero illegal breakpoint bus-error stack-overflow handled-then-fatal double-free seccomp-trap "
                       "no-stack string-fault torn-instruction smashed-return assert privileged misaligned forbidden-page raise-again".split()}
REAL_CRASHES = {
    "bash: a function that calls itself": (["bash", "-c", "f() { f; }; f"], signal.SIGSEGV),
    "perl: an address that is none": (["perl", "-e", "my %n; $n{$_ % 7} += $_ for 1..3000; print unpack('p', pack('J', 8)), %n"], signal.SIGSEGV),
    "python3: an address that is none": (["/usr/bin/python3", "-c", "import ctypes; print(sum(range(1000)), flush=True); ctypes.string_at(8)"], signal.SIGSEGV),
}
SMALL_STACK = 256 * 1024 # bounds recursions


def small_stack():
    resource.setrlimit(resource.RLIMIT_STACK, (SMALL_STACK, SMALL_STACK))


def same_window(argv, backends, status=None):
    """The history that a recording has of its end is the end of the window before it, entry by entry."""
    result = record(argv, ["--quiet", "--replayable"], setup=small_stack)
    check(result.status == -status if status else result.status < 0, "the program ends with %d" % result.status)
    recorded = branches(result.trace)
    recorded = recorded[max([n for n, row in enumerate(recorded) if row[2] == "gap"], default=-1) + 1:]
    check(len(recorded) > 50, "only %d branches" % len(recorded))
    for backend in backends:
        made = window(result.trace, "%s..crash" % ("@%d" % (recorded[0][1] - 10) if recorded[0][1] > 10 else ""), "--backend", backend)
        found = branches(made)
        shutil.rmtree(made)
        for n in range(1, len(recorded) + 1):
            if n > len(found) or found[-n] != recorded[-n]:
                raise Failure("entry %d from the end is %s, recorded was %s; replayed by %s" % (n, found[-n] if n <= len(found) else "not there", recorded[-n], backend))
        print("     all %d entries recorded before the crash are those of the window, which has %d, replayed by %s" % (len(recorded), len(found), backend), flush=True)
    shutil.rmtree(result.trace)


def add_crash(source, name):
    @case("the window before a crash is what was recorded, entry by entry: %s %s" % (source, name))
    def run():
        same_window([build(source, *STATIC, "-pthread"), name], ["engine", "step"])


def add_real_crash(name, argv, status):
    @case("the window before a crash is what was recorded, entry by entry: " + name)
    def run():
        if not shutil.which(argv[0]):
            raise Skip("no " + argv[0])
        same_window(argv, ["engine"], status)


EVERY_CRASH = bool(os.environ.get("BTREC_REPLAY_ALL"))
for source, names in CRASHES.items():
    for name in names if EVERY_CRASH else names[:3]:
        add_crash(source, name)
for name in list(REAL_CRASHES)[:None if EVERY_CRASH else 1]:
    add_real_crash(name, *REAL_CRASHES[name])


@case("the window of a program with handlers, restarted calls and mappings")
def window_with_signals():
    folder = fresh_dir("input")
    with open(os.path.join(folder, "text"), "w") as file:
        file.write("one line\nanother line\n")
    result = record([build("replayed.c"), os.path.join(folder, "text")], ["--quiet", "--replayable", "--history", "60000"])
    equal(result.status, 3, "end of the program")
    # What the recording had when the last handler was entered is behind a gap.
    recorded = branches(result.trace)
    recorded = recorded[max([n for n, row in enumerate(recorded) if row[2] == "gap"], default=-1) + 1:]
    check(len(recorded) > 50000 and any(row[2] == "async" for row in recorded), "%d branches, handlers: %s" % (len(recorded), any(row[2] == "async" for row in recorded)))
    found = branches(window(result.trace, "@%d..end" % (recorded[0][1] - 10)))
    equal(found[-len(recorded):] == recorded, True, "whether the %d recorded branches are the end of the %d of the window" % (len(recorded), len(found)))


@case("a window at a crash is told as the recording is")
def window_told():
    trace = crashed()
    made = window(trace, "-300..crash")
    of_trace, of_window = report(trace), report(made)
    for key in ("exit", "fault", "signature", "processes"):
        equal(of_window[key], of_trace[key], key)
    equal(of_window["trace"]["command"], of_trace["trace"]["command"], "command")
    old, new = (text(which).splitlines() + [""] for which in (trace, made))
    for heading in ("What happened", "Where", "Last system calls of task 1", "Registers of task 1"):
        begin, end = old.index(heading), old.index("", old.index(heading))
        equal(new[new.index(heading):new.index(heading) + end - begin], old[begin:end], heading)
    for kind in ("SIGNAL", "EXIT", "SYSCALL_ENTER", "SYSCALL_EXIT"):
        points = [[row["point"] for row in records(which, kind)] for which in (trace, made)]
        equal(points[1], points[0], "points of %s" % kind)
    names = [sorted({row["path"] for row in records(which, "MAP")}) for which in (trace, made)]
    equal(names[1], names[0], "files that are mapped")


@case("a window that ends in the middle has the moment there, and ends before the program did")
def window_in_the_middle():
    trace = crashed()
    calls = records(trace, "SYSCALL_ENTER")
    made = window(trace, "-200..%s" % calls[len(calls) // 2]["seq"])
    moment, = records(made, "SNAPSHOT")
    equal((moment["point"], moment["kind"]), (calls[len(calls) // 2]["point"], "4"), "point and kind of the moment")
    equal(len(records(made, "SYSCALL_ENTER")), len(calls) // 2 + 1, "calls")
    equal(records(made, "EXIT"), [], "exits")
    check(b"the trace ends before the program did" in btview("--stdio", made).out, "btview does not say so")


@case("a window whose end is never reached, or comes before its beginning, leaves no trace; one that exists is not touched")
def window_not_made():
    trace = crashed()
    check(not os.path.exists(window(trace, "..5@1", status=1)), "a trace is there")
    for stretch, first, last in ("crash..@5", "the crash", "1:5+0"), ("@9..@8", "1:9+0", "1:8+0"):
        made = fresh("window")
        result = replay(trace, "--window", stretch, "-o", made)
        equal((result.status, result.out, result.err.decode()), (2, b"", "btrec: --window: %s comes after %s, where it is to end\n" % (first, last)), "a window that would end before it begins")
        check(not os.path.exists(made), "a trace is there")
    result = replay(trace, "--window", "..crash", "-o", trace)
    equal((result.status, result.out), (73, b""), "status and output")
    os.environ["BTREC_TRACE_DIR"] = fresh_dir("home")
    equal(replay(trace, "-q", "--no-output", "--window", "-9..crash").status, 0, "status without -o")
    check(len(os.listdir(os.environ["BTREC_TRACE_DIR"])) >= 1, "no trace in the trace directory")
    del os.environ["BTREC_TRACE_DIR"]


@case("checksums of two replays are the same, by engine and stepper")
def checksums():
    result = record([build("places.c", "-O1", *BARE)], ["--quiet", "--replayable"])
    equal(result.status, 5, "end of the program")
    found = [replay(result.trace, "-q", "--no-output", "--checksum", "1", "--backend", backend) for backend in ("engine", "step", "engine")]
    equal([again.status for again in found], [0, 0, 0], "statuses")
    lines = found[0].out.decode().splitlines()
    equal([again.out for again in found[1:]], [found[0].out] * 2, "what other replays print")
    check(len(lines) == 16 and all(re.fullmatch(r"%d: event \d+ of task 1 at \d+\+\d+@0x[0-9a-f]+: [0-9a-f]{16}" % n, line) for n, line in enumerate(lines, 1)), lines)
    equal(len({line.split()[-1] for line in lines}), 16, "different checksums")
    each_fifth = replay(result.trace, "-q", "--no-output", "--checksum", "5", "--json").out.splitlines()
    equal([json.loads(line)["checksum"] for line in each_fifth], [line.split()[-1] for line in lines[4::5]], "each fifth")
    dynamic = crashed()
    engine, step = (replay(dynamic, "-q", "--no-output", "--checksum", "4", "--backend", backend) for backend in ("engine", "step"))
    equal((step.status, step.out), (0, engine.out), "status and checksums of a dynamic program under the stepper")
    check(engine.out.count(b"\n") >= 8, engine.out)


@case("of a window that has more branches than are read it is said how many are not", sanitized=False)
def window_of_many():
    folder = fresh_dir("many")
    source = os.path.join(folder, "many.c")
    with open(source, "w") as file:
        file.write("#include <stdlib.h>\nint main(void) { for (volatile int i = 0; i < 8600000; i++) __asm__ volatile(\"jmp 1f\\n1:\"); abort(); }\n")
    equal(execute([*CC, "-O1", "-static", source, "-o", os.path.join(folder, "many")]).status, 0, "status of the compiler")
    made = window(record([os.path.join(folder, "many")], ["--quiet", "--replayable"]).trace, "1G")
    info = re.search(r"^branches +(\d+) kept$", execute([BTREC, "info", made]).out.decode(), re.M)
    check(info, "btrec info does not say how many there are")
    kept = int(info.group(1))
    # -n: only some of them are needed for the lines that are shown.
    for options in (), ("-n", "3"):
        said = text(made, *options)
        found = re.search(r"Last branches of task 1 \((\d+) in the trace\).*\n(?:.*\n)*?  The oldest (\d+) of them are not read, and nothing is said of them.\n", said)
        check(found, said[:2000])
        # Of the newest the few entries that tell of changed mappings are not counted: they are no branches.
        check(kept - 10 < int(found.group(1)) <= kept, "%s branches are said to be there, of %d" % (found.group(1), kept))
        equal(int(found.group(2)), kept - (1 << 24), "branches that are not read")


@case("a byte that is changed in what a call wrote changes the checksum of its event")
def checksum_of_change():
    trace = crashed()
    log = [name for name in os.listdir(trace) if name.startswith("log-")][0]
    lines = replay(trace, "-q", "--no-output", "--checksum", "1").out.splitlines()
    for n in range(1, 6):
        copy = fresh("changed")
        shutil.copytree(trace, copy)
        equal(execute([CHANGE_LOG, trace, os.path.join(copy, log), "byte", "LOG_DATA", str(n)]).status, 0, "status of change_log")
        found = replay(copy, "-q", "--no-output", "--checksum", "1").out.splitlines()
        check(found and found != lines[:len(found)], "all %d checksums are the same with byte %d changed" % (len(found), n))


@case("what the program wrote before the place is repeated, what it wrote behind it is not")
def output_before():
    trace = crashed()
    equal(replay(trace, "--to", "@0", "-q").out, b"", "output up to the beginning")
    equal(replay(trace, "--to", "crash", "-q").out, b"hello heap\n", "output up to the crash")
    equal(replay(trace, "--to", "end", "-q").out, b"hello heap\n", "output up to the end")


@case("an exit with failure is the crash of a program that no signal kills; a program that ends well has none")
def other_ends():
    failed = record(["/bin/false"], ["--quiet", "--replayable"])
    registers = registers_at(failed.trace, "crash")
    equal((registers["orig_rax"], registers["rdi"]), (231, 1), "number and argument of the call")
    equal(registers_at(failed.trace, "end"), registers, "registers at the end")
    well = record(["/bin/true"], ["--quiet", "--replayable"])
    result = replay(well.trace, "--to", "crash")
    equal((result.status, result.err.count(b"\n")), (1, 1), "status and lines")
    check(b"has no crash" in result.err, result.err)


@case("a program that kills itself has its crash in that call")
def killed_in_call():
    result = record(["/bin/sh", "-c", "kill -KILL $$"], ["--quiet", "--replayable"])
    equal(result.status, -signal.SIGKILL, "end of the program")
    registers = registers_at(result.trace, "crash")
    equal((registers["orig_rax"], registers["rsi"]), (62, signal.SIGKILL), "number and argument of the call")
    equal(registers_at(result.trace, "end"), registers, "registers at the end")
    made = window(result.trace, "-50..")
    equal(report(made)["exit"], report(result.trace)["exit"], "end")
    equal(records(made, "SNAPSHOT")[0]["point"], records(result.trace, "SNAPSHOT")[0]["point"], "point of the moment")


@case("the crash of a program that no instruction of the replay raises again: behind the end of a file, sent as a fault, in a call that it dispatches")
def crash_is_given():
    source = os.path.join(fresh_dir("given"), "given.c")
    with open(source, "w") as file:
        file.write(GIVEN)
    subprocess.run([*CC, "-O1", "-D_GNU_SOURCE", *STATIC, source, "-o", source + ".bin"], check=True)
    for how, signo in (("file", signal.SIGBUS), ("sent", signal.SIGSEGV), ("dispatched", signal.SIGSYS)):
        result = record([source + ".bin", how], ["--replayable", "--quiet"])
        if result.status == 77:
            continue  # no user dispatch
        equal(result.status, -signo, "end of the program")
        crash = [row for row in records(result.trace, "SIGNAL") if row["signo"] == str(int(signo))][-1]
        for options in ((), ("--backend", "step")):
            equal(registers_at(result.trace, "crash", *options)["rip"], int(crash["point"].split("@")[1], 16), "rip at the crash, of %s" % how)


@case("a place that is never reached is told in one line, with status 1")
def never():
    trace = crashed()
    last = records(trace, "EXIT")[0]["point"].split("+")[0]
    for where, why in (("@%d" % (int(last) + 1), b"the replay ends before it"), ("5@1", b"was never there"), ("@2:5", b"the replay ends before it"), ("999999", b"has no event"),
                       (records(trace, "MAP")[0]["seq"], b"is a MAP, which is at no point")):
        result = replay(trace, "--no-output", "--to", where, "--registers")
        equal((result.status, result.out, result.err.count(b"\n")), (1, b"", 1), "status, output and lines of --to %s (%s)" % (where, result.err))
        check(why in result.err, result.err)


@case("--window without an argument is 1M, whatever stands behind it")
def window_plain():
    trace = crashed()
    wanted = branches(window(trace, "1M", "--to", "crash"))
    for words in (["--to", "crash", "--window", trace], ["--to", "crash", trace, "--window"], ["--window", "--to", "crash", trace]):
        made = fresh("window")
        equal(execute([BTREC, "replay", "-q", "--no-output", "-o", made, *words]).status, 0, "status of %s" % words)
        equal(branches(made), wanted, "branches of %s" % words)
    # A name without a slash is the trace, too.
    made = fresh("window")
    result = execute([BTREC, "replay", "-q", "--no-output", "-o", made, "--to", "crash", "--window", os.path.basename(trace)], cwd=os.path.dirname(trace))
    equal((result.status, branches(made)), (0, wanted), "the trace in this directory")


@case("the window before an exit with failure has the moment of the first message, if the program wrote that in it")
def window_of_message():
    folder = fresh_dir("message")
    source = os.path.join(folder, "fails.c")
    with open(source, "w") as file:
        file.write("""#include <stdio.h>
#include <stdlib.h>
static void __attribute__((noinline)) work(int n) { if (n > 3) { fprintf(stderr, "too many: %d\\n", n); for (volatile int i = 0; i < 500; i++) ; exit(3); } }
int main(void) { for (int i = 0; i < 10; i++) work(i); }
""")
    equal(execute([*CC, "-g", "-O1", source, "-o", os.path.join(folder, "fails")]).status, 0, "status of the compiler")
    trace = record([os.path.join(folder, "fails")], ["--quiet", "--replayable"]).trace
    summary = execute([BTVIEW, "--summary", trace]).out
    check(b"first message to standard error was written" in summary and b"too many: 4" in summary, summary)
    for stretch, options in ("..", []), ("1M", []), ("1M", ["--to", "crash"]), ("5000", ["--to", "end"]):
        equal(execute([BTVIEW, "--summary", window(trace, stretch, *options)]).out, summary, "summary of the window %s %s" % (stretch, options))
    for stretch, options in ("100", []), ("..", ["--to", "@1000"]):
        made = window(trace, stretch, *options)
        equal(execute([BTREC, "dump", "--no-branches", made]).out.count(b"\nSNAPSHOT"), 1, "moments of the window %s %s" % (stretch, options))
        check(b"first message to standard error was written" not in execute([BTVIEW, "--summary", made]).out, "a message that is not in the window")


@case("a window is whole or not there: its output goes to a reader that is gone, or files may not become so large")
def half_windows():
    trace = record(["/usr/bin/seq", "1", "100000"], ["--quiet", "--replayable"]).trace
    out, into = os.pipe()
    os.close(out)
    made = fresh("window")
    found = subprocess.run([BTREC, "replay", "--window", "-o", made, trace], stdout=into, stderr=subprocess.PIPE)
    os.close(into)
    equal((found.returncode, b"exited with 0" in found.stderr), (0, True), "without a reader: %s" % found.stderr)
    check(b"exited with 0" in execute([BTREC, "info", made]).out, "the window does not reach the end")
    limited = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    for command in (["replay", "--no-output", "--window"], ["pack"]):
        made = fresh("made")
        found = subprocess.run([BTREC, *command, "-o", made, trace], preexec_fn=limited, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        equal((found.returncode, b"File too large" in found.stderr, os.path.exists(made)), (74, True, False), "%s: status, reason, and whether a part is left (%s)" % (command, found.stderr))


@case("misuse")
def misuse():
    trace = crashed()
    result = replay(trace, "--backend", "pmu")
    equal((result.status, result.err), (2, b"btrec: --backend: pmu is none of engine, step\n"), "a backend that does not replay")
    for options in (["--to", "12x"], ["--to", ""], ["--to", "@"], ["--to", "0:5"], ["--to", "99999999999999999999"], ["--memory", "rsp"], ["--memory", "rsp,0"], ["--memory", "rxx,4"],
                    ["--memory", "rsp*2,4"], ["--memory", "0x,4"], ["--memory", "0,1048577"], ["--memory", "0,4,4"], ["--memory", "0,1"] * 65,
                    ["--window", "5x"], ["--window", "0"], ["--window", "-5"], ["--window", "1m"], ["--window", "1MM"], ["--window", "99999999999999999999"], ["--window", "99999999999999999999999999999M"], ["--window", "18446744073710M"], ["--window", "-1X.."], ["--window", "x..5"], ["--window", "end..end"], ["--window", "-0..end"], ["--window", "-x.."], ["--window", "..x"], ["-o", "/x"], ["--checksum", "0"], ["--checksum", "x"],
                    ["--to", "crash", "--window", "..end"]):
        result = replay(trace, *options)
        equal((result.status, result.out, result.err.count(b"\n")), (2, b"", 1), "status, output and lines of %s (%s)" % (options, result.err))


main(sanitized=3)
