#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# System calls that the engine makes in its cache, without a stop: they give what they give natively, leave the history that the stepper sees,
# and what cannot be made there is not.
import re

from e2e import *
import engine_compare

ENGINE = ["--backend", "engine"]
SIGNALS = """registers masks masks-alarms unread-memory alarms-told alarms alarms-restart size-limit stops turns filter-trap filter-address filter-child filter-thread user-dispatch filter-before""".split()
DESCRIPTORS = """dup2 dup3 dupfd open pipe close-range message vfork clone other-process unshare compat fork exec another nothing""".split()
NUMBERS = "40", "5000" # of the descriptor
DISTURBED = "nothing handler handler-restart stop ignored stopped-handler fatal kill".split()
SOURCE = os.path.normpath(os.path.join(HERE, "..", ".."))


def calls():
    return build("calls.c", *STATIC)


def waiting():
    return build("waiting_calls.c", *STATIC)


def signals():
    return build("calls_signals.c", *STATIC, "-pthread")


def descriptors():
    return build("descriptors.c", *STATIC, "-pthread")


def not_open():
    return build("not_open.c", *STATIC, "-pthread")


def counts(trace):
    """How many system calls info counts: (at stops, without)."""
    said = execute([BTREC, "info", trace], cwd=TMP).out.decode()
    found = re.search(r"^calls +(\d+) at stops(?:, (\d+) without)?$", said, re.M)
    check(found, "btrec info counts no calls: " + said)
    return int(found.group(1)), int(found.group(2) or 0)


def numbers(trace):
    """(numbers of the calls made without a stop, how many of each)."""
    found = {}
    for line in engine_compare.dump_of(trace):
        if line.startswith("  tick="):
            nr = engine_compare.number_in(line, "nr")
            found[nr] = found.get(nr, 0) + 1
    return found


def listed():
    """The calls of the table, by number: {number: name}."""
    with open(os.path.join(SOURCE, "syscalls", "syscall_names.def")) as file:
        by_name = {name: int(number) for number, name in re.findall(r"^BT_SYSCALL\((\d+), (\w+)\)", file.read(), re.M)}
    with open(os.path.join(SOURCE, "collector", "backend", "engine", "cache", "syscall_policy.c")) as file:
        names = re.findall(r"^\t\[SYS_(\w+)\] = ", file.read(), re.M)
    return {by_name[name]: name for name in names}


@case("every call of the table is made without a stop, and gives what it gives natively")
def every_call():
    _, waited = same_as_native([waiting(), "nothing"], ENGINE, cwd=fresh_dir("waiting"))
    _, recorded = same_as_native([calls(), os.path.join(TMP, "calls.file")], ENGINE)
    made, table = numbers(recorded.trace), listed()
    equal(sorted(set(made) - set(table)), [], "calls that are not in the table")
    equal([table[nr] for nr in sorted(set(table) - set(made) - set(numbers(waited.trace)))], [], "calls that were made at stops only")
    stops, without = counts(recorded.trace)
    equal(without, sum(made.values()), "calls without a stop, as info counts them")
    stops_seen = sum(line.startswith("SYSCALL_ENTER ") for line in engine_compare.dump_of(recorded.trace))
    equal(stops, stops_seen, "calls at stops, as info counts them")


@case("the stepper stops at every call")
def stepped_calls():
    recorded = record([signals(), "registers"], ["--backend", "step"])
    equal((recorded.status, recorded.out), (0, b"ok\n"), "end")
    equal(counts(recorded.trace)[1], 0, "calls without a stop")


@case("a loop of calls needs no stop for each")
def few_stops():
    script = fresh("zeros")
    with open(script, "wb") as file:
        file.write(bytes(20000))
    recorded = record(["dd", "if=" + script, "of=/dev/null", "bs=1", "status=none"], ENGINE)
    equal(recorded.status, 0, "status of dd")
    stops, without = counts(recorded.trace)
    check(without >= 40000 and stops < 200, "%d calls at stops, %d without" % (stops, without))


@case("files that the program has asked about (fstat) are read without a stop, and those of procfs are not")
def told():
    folder = fresh_dir("many")
    for i in range(200):
        with open(os.path.join(folder, "%03d" % i), "w") as file:
            file.write("%d\n" % i)
    names = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    stops = []
    for argv in (["cat", *names], ["cat", *["/proc/filesystems"] * 100]):
        _, recorded = same_as_native(argv, ENGINE)
        stops.append(counts(recorded.trace)[0])
    check(stops[0] < 60, "%d calls at stops of 200 files" % stops[0])
    check(stops[1] >= 100, "%d calls at stops of 100 files of procfs" % stops[1])


@case("what a program asks into memory that another process takes away is the kernel's to answer alone")
def told_elsewhere():
    program = build("told_elsewhere.c")
    for options in ([], ["--history", "off"]):
        _, recorded = same_as_native([program], [*ENGINE, *options], cwd=TMP)
        check(counts(recorded.trace)[1] > 100000, "calls at stops, without: %s" % (counts(recorded.trace),))


@case("registers before and behind a call that tells what a descriptor is, whatever instruction a signal comes at")
def told_state():
    program = build("told_state.c")
    for options in ([], ["--alarm-each", "307"], ["--alarm-each", "353", "--history", "off"]):
        alone, _ = same_as_native([program], [*ENGINE, *options])
        equal(alone.out, b"strange: 0\n", "what it finds natively")


@case("a start needs few stops: mappings without code and actions of signals change in the cache")
def few_stops_to_start():
    _, recorded = same_as_native(["/usr/bin/python3", "-c", "import signal; signal.signal(signal.SIGUSR1, signal.SIG_IGN); print(bytes(1 << 22).count(0))"], ENGINE)
    stops, without = counts(recorded.trace)
    check(stops < 60 and without > 300, "%d calls at stops, %d without" % (stops, without))


@case("signal masks change in the cache, but where they hold signals that the recorder uses")
def masks_need_no_stops():
    _, recorded = same_as_native([signals(), "masks"], ENGINE)
    stops, without = counts(recorded.trace)
    check(stops < 200 and without > 3000, "%d calls at stops, %d without" % (stops, without))


@case("calls that change more than they say, fail, or wait for another thread, as natively")
def mapping_calls():
    program = build("mapping_calls.c", *STATIC, "-pthread")
    for which in ("huge", "readable", "failed", "served"):
        for options in ([], ["--parallel"], ["--history", "off"]):
            expected, _ = same_as_native([program, which], [*ENGINE, *options], cwd=fresh_dir(which))
            check(expected.out.count(b"\n") >= 1, "natively %s says nothing" % which)


@case("the kernel's code, mapped anew, runs in the cache")
def vdso_again():
    for options in ([], ["--parallel"]):
        _, recorded = same_as_native([build("mapping_calls.c", *STATIC, "-pthread"), "vdso"], [*ENGINE, *options])
        if b"cannot" in recorded.out:
            raise Skip("the kernel does not map it (CONFIG_CHECKPOINT_RESTORE)")
        info = execute([BTREC, "info", recorded.trace]).out.decode()
        stepped = int(re.search(r"^stepped +(\d+)", info, re.M).group(1))
        check(stepped < 1000, "%d instructions stepped" % stepped)


def add_compared(name, program, *arguments):
    @case("history as stepped: " + name)
    def run():
        _, entries, _ = engine_compare.compare_runs([program(), *arguments])
        check(entries > 2000, "only %d entries" % entries)


add_compared("calls of every kind", calls, os.path.join(TMP, "calls.file"))
add_compared("descriptors that are not open", not_open, "alone", "2")
for name in ("registers", "masks", "unread-memory", "size-limit", "filter-trap", "filter-address", "user-dispatch"):
    add_compared(name, signals, name)


def add_counted(name, program, *arguments):
    @case("counted as recorded: " + name)
    def run():
        options = ["--deterministic", "--snap-exit", "always", *ENGINE]
        traces = [record([program(), *arguments], options + more).trace for more in ([], ["--history", "off"], ["--switch-history"])]
        for other, mode in zip(traces[1:], ("off", "turns")):
            count = engine_compare.compare_events(traces[0], other, ("recorded", mode))
            check(count > 50, "only %d events" % count)


add_counted("calls of every kind", calls, os.path.join(TMP, "calls.file"))
add_counted("descriptors that are not open", not_open, "alone", "2")
for name in ("registers", "size-limit", "filter-trap", "filter-address", "user-dispatch"):
    add_counted(name, signals, name)


def add(title, program, name):
    @case("%s: %s" % (title, name))
    def run():
        same_as_native([program(), name], ENGINE)


def add_all(title, program, names):
    for name in names:
        add(title, program, name)

    @case("%s: every case is tried" % title)
    def all_tried():
        equal(sorted(native([program()]).out.decode().split()), sorted(names), "cases")


SIGNALS.remove("filter-before")
for name in SIGNALS:
    add("signals and filters", signals, name)


@case("a filter from before the recording: calls are made without a stop, and its signal tells where the program made them")
def filtered_before():
    program, trace = signals(), fresh("trace")
    result = execute([program, "exec-filtered", BTREC, "run", *ENGINE, "-o", trace, "--", program, "filter-before"], cwd=TMP)
    equal((result.status, result.out), (0, b"ok\n"), "end (%s)" % result.err.decode(errors="replace"))
    check(numbers(trace).get(140, 0) > 0, "getpriority was not made without a stop")


@case("signals and filters: every case is tried")
def every_signal():
    equal(sorted(native([signals()]).out.decode().split()), sorted(SIGNALS + ["filter-before"]), "cases")


def add_descriptor(name, number):
    @case("descriptor %s: %s" % (number, name))
    def run():
        alone, _ = same_as_native([descriptors(), name, number], ENGINE)
        if alone.out == b"no limit\n":
            raise Skip("so many descriptors cannot be had (ulimit -Hn)")


for name in DESCRIPTORS:
    for number in NUMBERS:
        add_descriptor(name, number)


@case("descriptors: every case is tried")
def every_descriptor():
    equal(sorted(native([descriptors()]).out.decode().split()), sorted(DESCRIPTORS), "cases")


@case("calls on a descriptor need no stop, whatever its number is")
def high_descriptors():
    for number in NUMBERS:
        alone, recorded = same_as_native([descriptors(), "nothing", number], ENGINE)
        stops, without = counts(recorded.trace)
        check(alone.out == b"no limit\n" or (stops < 60 and without >= 6000), "descriptor %s: %d calls at stops, %d without" % (number, stops, without))


@case("a server of many connections, and its client, call without stops")
def many_connections():
    for options in ([], ["--parallel"]):
        alone, recorded = same_as_native([build("connections.c", *STATIC), "1500", "2"], [*ENGINE, *options])
        if alone.out == b"no limit\n":
            raise Skip("so many descriptors cannot be had (ulimit -Hn)")
        stops, without = counts(recorded.trace)
        check(stops < 300 and without > 12000, "%d calls at stops, %d without" % (stops, without))


def add_not_open(name, *options):
    @case("calls on descriptors that are not open need no stop: %s" % " ".join([name, *options]))
    def run():
        alone, recorded = same_as_native([not_open(), name, "50"], [*ENGINE, *options])
        stops, without = counts(recorded.trace)
        check(stops < 60 and without >= int(alone.out.split()[0]), "%d calls at stops, %d without" % (stops, without))


for name in "alone thread vfork shared".split():
    add_not_open(name)
add_not_open("alone", "--parallel")
add_not_open("alone", "--history", "off")
add_not_open("thread", "--history", "off")


@case("calls on descriptors that another thread opens meanwhile, or shares, give what they give natively")
def opened_meanwhile():
    for name in "thread opening".split():
        for options in ([], ["--parallel"]):
            same_as_native([not_open(), name, "20"], [*ENGINE, *options])


@case("registers before and behind a call on a descriptor that is not open, whatever instruction a signal comes at")
def not_open_state():
    for options in (["--alarm-each", "307"], ["--alarm-each", "353", "--history", "off"]):
        same_as_native([not_open(), "alone", "1"], [*ENGINE, *options])


def add_begun_later(program, name, where):
    @case("recorded from %s on: %s" % (where, name))
    def run():
        _, recorded = same_as_native([program(), name], [*ENGINE, "--from", where])
        check(sum(counts(recorded.trace)) > 0, "nothing was recorded")


for name in ("dup2", "vfork", "other-process", "unshare", "fork"):
    add_begun_later(descriptors, name, "pthread_create")
for name in ("filter-address", "filter-thread", "user-dispatch"):
    add_begun_later(signals, name, "syscall")


def add_disturbed(disturbance, backend):
    @case("calls that wait, %s: %s" % (backend, disturbance))
    def run():
        same_as_native([waiting(), disturbance], ["--backend", backend], cwd=fresh_dir("waiting"))


for name in DISTURBED:
    add_disturbed(name, "engine")
    add_disturbed(name, "step")


@case("calls that wait: every disturbance is tried")
def every_disturbance():
    names = native([waiting()]).out.decode().split()
    equal(names[:len(DISTURBED) + 1], DISTURBED + ["outside"], "disturbances")


def add_moment(call):
    @case("a snapshot of one that waits: %s" % call)
    def run():
        folder, trace = fresh_dir("waiting"), fresh("trace")
        expected = native([waiting(), "outside", call], cwd=folder, stdin=b"x").out.decode().split("\n", 1)[1]
        process = start([BTREC, "run", *ENGINE, "-o", trace, "--", waiting(), "outside", call], cwd=folder, stdin=subprocess.PIPE)
        said = process.stdout.readline().split()
        check(said[:1] == [b"waiting"], "the program said %r" % said)
        taken = execute([BTREC, "snap", said[1].decode()], cwd=TMP)
        equal(taken.status, 0, "status of snap (%s)" % taken.err.decode(errors="replace"))
        out, _ = process.communicate(b"x", timeout=60)
        equal((process.returncode, out.decode()), (0, expected), "end")
        stack = [line for line in engine_compare.dump_of(trace) if line.startswith(("SNAPSHOT ", "THREAD "))]
        asked = [k for k, line in enumerate(stack) if " kind=4 " in line]
        check(len(asked) == 1 and " in_syscall=1 " in stack[asked[0] + 1], "no thread in a call in the snapshot: %s" % stack)


for name in "read write ppoll select epoll_wait epoll_pwait nanosleep clock_nanosleep-until sigsuspend sigtimedwait futex flock wait4 recvfrom-until accept semop timerfd terminal".split():
    add_moment(name)


def start_calling(program, *options):
    """A program that does nothing but call: (process, pid of its recorder, trace)."""
    trace = fresh("trace")
    process = start([BTREC, "run", *ENGINE, *options, "-o", trace, "--", program(), "forever"], cwd=TMP)
    check(process.stdout.readline() == b"calling\n", "the program did not begin")
    return process, recorder_of(process), trace


def ticks_of(pid):
    """Clock ticks of CPU time that a process has had (proc_pid_stat(5))."""
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def add_killed(name, program, *options, registers=()):
    @case("killed in the midst of calls, " + name)
    def run():
        for _ in range(4):
            process, recorder, trace = start_calling(program, *options)
            with open("/proc/%d/task/%d/children" % (recorder, recorder)) as file:
                pid = int(file.read().split()[0])
            begun = ticks_of(pid)
            wait_until(lambda: ticks_of(pid) > begun, "the program calls")
            os.kill(pid, signal.SIGKILL)
            equal(process.wait(20), -signal.SIGKILL, "end")
            ends = [line for line in engine_compare.dump_of(trace) if line.startswith("EXIT ")]
            rip = int(re.search(r" point=[^@]*@0x([0-9a-f]+)", ends[0]).group(1), 16)
            check(0x400000 <= rip < 0x600000, "it ended at %x, which is not in the program" % rip)
            for register in registers:
                check(re.search(r"[=,]%s," % register, ends[0]), "not %s when it ended: %s" % (register, ends[0]))
            check(counts(trace)[1] > 0, "the calls are lost")


add_killed("with its history", signals, "--history", "1000")
add_killed("without", signals, "--history", "off")
for mode, options in (("with its history", ["--history", "1000"]), ("without", ["--history", "off"])):
    add_killed("of a descriptor that is not open, " + mode, not_open, *options, registers=("rdi:3e7", "rsi:5151", "rdx:d2d2"))


@case("a snapshot of a program that does nothing but call")
def snapshot_of_calls():
    process, recorder, trace = start_calling(signals, "--history", "1000")
    taken = execute([BTREC, "snap", str(recorder)], cwd=TMP)
    equal(taken.status, 0, "status of snap (%s)" % taken.err.decode(errors="replace"))
    os.kill(process.pid, signal.SIGTERM)
    process.wait(20)
    kinds = [s["kind"] for s in report(trace)["snapshots"]]
    check("request" in kinds, "no snapshot: %s" % kinds)


@case("page faults that another thread serves: the turn is taken from a task that waits in one")
def userfault():
    # A build-id that has never been recorded: what is predicted of a program that is known is another thing.
    argv = [build("userfault.c", "-pthread", "-Wl,--build-id=0x%s" % os.urandom(16).hex())]
    alone = native(argv)
    if alone.out == b"none\n":
        raise Skip("userfaultfd is not to be had")
    equal(alone.out, b"0 wrong\n", "natively")
    for options in ([], ["--history", "off"], ["--parallel"]):
        recorded = record(argv, ["--backend", "engine", "--snap-exit", "always", *options])
        equal((recorded.status, recorded.out), (0, alone.out), "end with %s" % options)
    found = report(record(argv, ["--backend", "engine", "--snap-exit", "always"]).trace, "-n", "100")
    equal(found["verdict"]["state"], "consistent", "verdict")


main(sanitized=5)
