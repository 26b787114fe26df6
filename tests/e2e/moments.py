#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Which moments a trace keeps, and where it begins: --from, --snap-exit, btrec snap, btrec.h, rate limits; the commands that tell.
import socket

from e2e import *

SOURCE = os.path.normpath(os.path.join(HERE, "..", ".."))
MOMENTS = ("moments.c", "-I" + SOURCE, "-pthread", *STATIC)


def moments(*arguments):
    return [build(*MOMENTS), *arguments]


def dynamic(*arguments):
    return [build("moments.c", "-I" + SOURCE, "-pthread", "-rdynamic", "-ldl"), *arguments]


def kinds(trace):
    return [s["kind"] for s in report(trace)["snapshots"]]


def dump(trace, record_kind):
    result = execute([BTREC, "dump", trace])
    equal(result.status, 0, "status of dump")
    return [line for line in result.out.decode().splitlines() if line.startswith(record_kind + " ")]


def field(line, name):
    return re.search(r" %s=(\"[^\"]*\"|\S+)" % name, line).group(1).strip('"')


@case("btrec.h: nothing happens when not recorded")
def header_alone():
    equal(native(moments("mark")).out, b"recorded 0 0\n", "stdout")


@case("btrec.h: snapshots with their labels")
def header_recorded():
    run = record(moments("mark"), ["--from", "main"])
    equal(run.out, b"recorded 1 1\n", "stdout")
    snapshots = dump(run.trace, "SNAPSHOT")
    equal([field(s, "label") for s in snapshots], ["after the third", ""], "labels")
    equal(kinds(run.trace), ["request", "request"], "kinds")
    ticks = [int(field(s, "point").split("+")[0]) for s in snapshots]
    # interesting(5) at -O1: one tick to enter the loop, one for each of its rounds; and the label's test.
    check(ticks[1] - ticks[0] in range(6, 9), "ticks between the two: %s" % ticks)


@case("--from a function: the history begins there")
def from_function():
    run = record(moments("from"), ["--from", "interesting"])
    equal(run.status, -signal.SIGKILL, "status")
    found = report(run.trace, "-n", "1000")
    equal([g["reason"] for g in found["gaps"]][:1], ["start"], "first gap")
    first = found["branches"][0]
    equal(first["from"]["function"], "interesting", "function of the first branch")
    inside = [b for b in found["branches"] if b["from"]["function"] == "interesting" and b["kind"] == "jcc"]
    equal(len(inside), 8, "conditionals of interesting(7)")
    equal(inside[0]["ticks"], "1", "ticks of the first conditional")


@case("--from an address as nm prints it, also of a PIE")
def from_address():
    for program in (moments("from"), dynamic("from")):
        listing = subprocess.run(["nm", program[0]], stdout=subprocess.PIPE, check=True).stdout.decode()
        address = re.search(r"^([0-9a-f]+) T interesting$", listing, re.M).group(1)
        for written in (address, "0x" + address, "0X" + address.upper()):
            run = record(program, ["--from", written])
            equal(run.own_err.count("never reached"), 0, "what is said of %s" % written)
            equal(report(run.trace, "-n", "1000")["branches"][0]["from"]["function"], "interesting", "function of the first branch")


@case("--from a function whose name is a number, too")
def from_hex_name():
    run = record(moments("from-fade"), ["--from", "fade"])
    equal(report(run.trace, "-n", "1000")["branches"][0]["from"]["function"], "fade", "function of the first branch (%s)" % run.own_err)


@case("--from: a thread that sleeps in a system call is recorded from there too")
def from_thread():
    run = record(moments("from-thread"), ["--from", "interesting"])
    equal(run.status, -signal.SIGSEGV, "status")
    starts = dump(run.trace, "START")
    equal(len(starts), 2, "START records")
    rows = branches(run.trace)
    equal({row[0] for row in rows}, {int(field(s, "task")) for s in starts}, "tasks with branches")
    found = report(run.trace)
    stacks = [[f["function"] for f in t["stack"]] for t in found["threads"]]
    equal(["other" in stacks[0], "main" in stacks[-1], len(stacks)], [True, True, 2], "the raising thread's stack and the sleeping one's: %s" % stacks)


@case("--from: each process begins when it comes there")
def from_child():
    run = record(moments("from-child"), ["--from", "interesting"])
    equal(run.status, -signal.SIGABRT, "status")
    equal(len(dump(run.trace, "START")), 2, "START records")


@case("--from a function of a library that is loaded later")
def from_library():
    library = build("library.c", "-shared", "-fPIC", name="liblate.so")
    run = record(dynamic("from-library", library), ["--from", "ledger_add"])
    equal(run.status, -signal.SIGSEGV, "status")
    equal(len(dump(run.trace, "START")), 1, "START records")


# While the place is not found system calls are watched; as an ordinary user always.
@case("--from a function of a library that is loaded later: a thread that sleeps in a system call is recorded from there too")
def from_library_beside():
    library = build("library.c", "-shared", "-fPIC", name="liblate.so")
    run = record(dynamic("from-library-beside", library), ["--from", "ledger_add"])
    equal(run.status, -signal.SIGSEGV, "status")
    equal(len(dump(run.trace, "START")), 2, "START records")


@case("--from: a place that is never reached is told")
def from_nowhere():
    for options in ([], ["-q"]):
        run = record(moments("exit", "3"), [*options, "--from", "no_such_function"])
        equal(run.status, 3, "status")
        check("no_such_function was never reached" in run.own_err, run.own_err)
        equal(dump(run.trace, "START"), [], "START records")


@case("--from: not called unreached while what the program left running may reach it")
def from_in_daemon():
    run = record(["sh", "-c", "{ sleep 0.5; times; } >/dev/null 2>&1 </dev/null &"], ["--from", "times"])
    equal(run.status, 0, "status")
    check("recorded on" in run.own_err and "never" not in run.own_err, run.own_err)
    wait_until(lambda: execute([BTREC, "dump", run.trace]).out.count(b"\nSTART ") and b"\nEND " in execute([BTREC, "dump", run.trace]).out, "the START and the end")


@case("--snap-at: a point that is never reached is told, also with -q")
def snap_at_nowhere():
    run = record(moments("exit", "3"), ["-q", "--snap-at", "999999999"])
    equal(run.status, 3, "status")
    check("1 of 1 points of --snap-at were never reached: 1:999999999+0; btview " in run.own_err, run.own_err)


@case("--snap-at: of many points those that are never reached are named, a few of them")
def snap_at_missed():
    points = ["7:1", "5", "999999999", "5", "6@1000"]
    run = record(moments("exit", "3"), [option for point in points for option in ("--snap-at", point)])
    check("; 3 of 5 points of --snap-at were never reached: 1:6+0@0x1000, 1:999999999+0, 7:1+0; btview " in run.own_err, run.own_err)
    run = record(moments("exit", "3"), [option for n in range(20) for option in ("--snap-at", "%d:1" % (n + 2))])
    check("; 20 of 20 points of --snap-at were never reached: 2:1+0, 3:1+0, 4:1+0 and 17 more; btview " in run.own_err, run.own_err)


@case("--snap-exit")
def snap_exit():
    for when, status, expected in (("never", "3", []), ("failure", "0", []), ("failure", "3", ["exit"]), ("always", "0", ["exit"])):
        run = record(moments("exit", status), ["--snap-exit", when, "--from", "main"])
        equal(run.status, int(status), "status")
        equal(kinds(run.trace), expected, "snapshots with --snap-exit %s and status %s" % (when, status))
    check(kinds(record(moments("exit", "3"), ["--from", "main"]).trace) == ["exit"], "the default keeps failures")


@case("without a moment the report says why, and shows no branches of nobody")
def no_moment():
    for status, said in (("0", "no moment of its end was kept: the program ended with 0 (btrec run --snap-exit always keeps it)"),
                         ("3", "no moment of its end was kept")):
        shown = text(record(moments("exit", status), ["--snap-exit", "never"]).trace)
        check("\nWhat happened\n  %s\n" % said in shown, shown)
        check("Last branches of task 1 " in shown, shown)
    cut = fresh_dir("cut")
    with open(os.path.join(record(moments("exit", "3")).trace, "events"), "rb") as whole, open(os.path.join(cut, "events"), "wb") as file:
        begin = whole.read(72) # the file's header, and that of the block that holds the trace's
        file.write(begin + whole.read(int.from_bytes(begin[48:52], "little")))
    shown = text(cut)
    check("Last branches" not in shown and "no moment was kept before" in shown, shown)


def only_child(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        children = file.read().split()
    equal(len(children), 1, "children of process %d" % pid)
    return int(children[0])


def snap(what, options, times):
    trace = fresh("trace")
    recorder = start([BTREC, "run", "-o", trace, *options, "--", *moments(what)], stdout=subprocess.PIPE, cwd=TMP)
    equal(recorder.stdout.readline(), b"ready\n", "the program's line")
    program = only_child(only_child(recorder.pid))
    for n in range(times):
        result = execute([BTREC, "snap", str(program)])
        equal((result.status, result.out, result.err), (0, b"kept 1 snapshot\n", b""), "snap")
        kept = re.search(rb"^snapshots +(\d+)$", execute([BTREC, "info", trace]).out, re.M)
        equal(int(kept.group(1)), n + 1, "snapshots in the trace when it is said")
    result = execute([BTREC, "snap", str(recorder.pid)])
    equal((result.status, result.out, result.err), (0, b"kept 1 snapshot\n", b""), "snap by the recorder's pid")
    os.kill(program, signal.SIGTERM)
    recorder.communicate(timeout=30)
    equal(recorder.returncode, -signal.SIGTERM, "status")
    equal(kinds(trace).count("request"), times + 1, "snapshots asked for")
    return trace


@case("btrec snap: a program that sleeps goes on sleeping")
def snap_sleeping():
    trace = snap("wait", [], 2)
    # The stops of the snapshots are not seen: pause is made again, and returns nothing, not EINTR either.
    ends = [line for line in dump(trace, "SYSCALL_EXIT") if int(field(line, "nr"), 0) == 34]
    results = [(1 << 64) - int(field(line, "result"), 0) for line in ends]
    check(results and all(512 <= result <= 516 for result in results), "pause returned: %s" % ends) # ERESTARTSYS and its kin


@case("btrec snap: a program that runs")
def snap_running():
    trace = snap("spin", ["--from", "interesting"], 3)
    found = [int(field(s, "position"), 16) for s in dump(trace, "SNAPSHOT")]
    equal(found, sorted(found), "positions")
    check(found[0] < found[2], "nothing ran between snapshots")


@case("btrec snap: of a program that runs on, not of a thread of its")
def snap_threads():
    trace = fresh("trace")
    recorder = start([BTREC, "run", "-o", trace, "--", *moments("wait-with-threads")], stdout=subprocess.PIPE, cwd=TMP)
    equal(recorder.stdout.readline(), b"ready\n", "the program's line")
    program = only_child(only_child(recorder.pid))
    equal(execute([BTREC, "snap", str(program)]).status, 0, "status of snap")
    wait_until(lambda: kinds(trace) == ["request"], "the snapshot")
    said, found = text(trace), report(trace)
    check(re.search(r"^Ended +not yet$", said, re.M), said)
    equal(found["exit"]["kind"], "unknown", "end")
    equal(found["threads"][0]["tid"], program, "thread")
    os.kill(program, signal.SIGTERM)
    recorder.communicate(timeout=30)
    equal(recorder.returncode, -signal.SIGTERM, "status")


@case("btrec snap: of a program that waits uninterruptibly, when it goes on; one for all who asked")
def snap_uninterruptible():
    trace, fifo = fresh("trace"), fresh("fifo")
    os.mkfifo(fifo)
    # The child of a vfork waits for who opens the other end, and its parent for it.
    program = "import os, sys\nos.waitpid(os.posix_spawn('/bin/true', ['true'], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 0, %r, os.O_RDONLY, 0)]), 0)" % fifo
    recorder = start([BTREC, "run", "-o", trace, "--", sys.executable, "-S", "-c", program], stdout=subprocess.PIPE, cwd=TMP)

    def waits():
        try:
            pid = only_child(only_child(recorder.pid))
            only_child(pid)
            with open("/proc/%d/stat" % pid) as file:
                return pid if file.read().rpartition(")")[2].split()[0] == "D" else None
        except (Failure, OSError, IndexError):
            return None

    pid = wait_until(waits, "the program's wait")
    for _ in range(2):
        result = execute([BTREC, "snap", str(pid)])
        equal((result.status, result.out), (0, b"kept 0 snapshots; 1 process has not stopped yet: kept when it does\n"), "snap (%r)" % result.err)
    os.close(os.open(fifo, os.O_WRONLY))
    equal(recorder.wait(30), 0, "status")
    equal(kinds(trace).count("request"), 1, "snapshots")


@case("btrec snap: an ordinary user whose umask takes everything away")
def snap_umask():
    need_root()
    other, home = 65533, fresh_dir("home", 0o777) # nobody's own directory for sockets may be there
    tool, trace = shutil.copy(BTREC, home), os.path.join(home, "trace")
    as_other = dict(user=other, group=other, extra_groups=[], cwd=home)
    places = ["/run/user/%d/btrec" % other, "/tmp/btrec-%d" % other]
    check(not any(map(os.path.exists, places)), "one of %s is there already" % places)
    recorder = start([tool, "run", "-q", "-o", trace, "--", *moments("wait")], stdout=subprocess.PIPE, umask=0o777, **as_other)
    try:
        equal(recorder.stdout.readline(), b"ready\n", "the program's line")
        result = execute([tool, "snap", str(recorder.pid)], **as_other)
        equal((result.status, result.out), (0, b"kept 1 snapshot\n"), "snap (%r)" % result.err)
    finally:
        os.kill(recorder.pid, signal.SIGTERM)
        recorder.communicate(timeout=30)
        for place in filter(os.path.isdir, places):
            os.rmdir(place)


@case("btrec snap: another user who has taken the place of the sockets is not believed")
def snap_impostor():
    need_root()
    user, impostor, home = 65532, 65533, fresh_dir("home", 0o777)
    tool, place = shutil.copy(BTREC, home), "/tmp/btrec-%d" % user
    as_user = dict(user=user, group=user, extra_groups=[], cwd=home)
    if os.path.exists("/run/user/%d" % user) or os.path.exists(place):
        raise Skip("user %d is there" % user)
    os.mkdir(place)
    os.chown(place, impostor, impostor)
    os.chmod(place, 0o777)
    recorder = start([tool, "run", "-q", "-o", os.path.join(home, "trace"), "--", *moments("wait")], stdout=subprocess.PIPE, **as_user)
    try:
        equal(recorder.stdout.readline(), b"ready\n", "the program's line")
        with socket.socket(socket.AF_UNIX) as listener:
            os.seteuid(impostor)
            try:
                listener.bind("%s/%d" % (place, only_child(recorder.pid)))
                os.chmod(listener.getsockname(), 0o777)
                listener.listen()
            finally:
                os.seteuid(0)
            asked = start([tool, "snap", str(recorder.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **as_user)
            try:
                out, err = asked.communicate(timeout=20) # nobody answers
            except subprocess.TimeoutExpired:
                raise Failure("it waits for whoever listens there")
        equal((asked.returncode, out), (69, b""), "snap (%r)" % err)
        check(b"no control socket" in err and b"not recorded" not in err, err)
    finally:
        os.kill(recorder.pid, signal.SIGTERM)
        recorder.communicate(timeout=30)
        shutil.rmtree(place)


@case("btrec snap: a recorder that is stopped is not waited for without end")
def snap_of_stopped():
    process = start([BTREC, "run", "-o", fresh("trace"), "--", "sh", "-c", "echo runs; read x"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=TMP)
    check(process.stdout.readline(), "the program said nothing")
    recorder = recorder_of(process)
    wait_until(lambda: execute([BTREC, "snap", str(process.pid)], cwd=TMP).status == 0, "a recorder that answers")
    os.kill(recorder, signal.SIGSTOP)
    try:
        asked = execute([BTREC, "snap", str(process.pid)], cwd=TMP, timeout=60)
    finally:
        os.kill(recorder, signal.SIGCONT)
    equal((asked.status, asked.err.count(b"\n")), (74, 1), "end: %r" % asked.err)
    check(b"has not answered" in asked.err, "%r" % asked.err)
    process.stdin.close()
    equal(process.wait(TIMEOUT), 1, "end of the program") # read finds nothing


@case("btrec snap: what is not recorded is told")
def snap_refused():
    for pid, why in ((os.getpid(), "not recorded"), (4194000, "no process"), (4294967297, "no process")):
        result = execute([BTREC, "snap", str(pid)])
        equal(result.status, 69, "status")
        check(why in result.err.decode() and str(pid) in result.err.decode(), result.err)
    equal(execute([BTREC, "snap", "x"]).status, 2, "status of a wrong pid")


def runs(pid):
    """Whether a process is there and is no zombie."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@case("a daemon's recorder ends when asked to, and the daemon goes on alone")
def leave_daemon():
    for arguments in (["daemon"], ["daemon", "busy"], ["daemon", "code"], ["daemon", "busy-code"]):
        run = record(moments(*arguments), ["--from", "main"])
        equal(run.status, 0, "status")
        daemon = int(run.out)
        try:
            recorder = int(field(dump(run.trace, "HEADER")[0], "recorder_pid"))
            check(runs(recorder) and runs(daemon), "daemon or recorder are not there")
            os.kill(recorder, signal.SIGTERM)
            wait_until(lambda: not runs(recorder), "end of the recorder")
            with open("/proc/%d/status" % daemon) as file:
                check("TracerPid:\t0\n" in file.read(), "the daemon is still traced")
            time.sleep(0.5)
            check(runs(daemon), "the daemon has died")
            equal(len(dump(run.trace, "DETACH")), 1, "DETACH records")
            equal(len(dump(run.trace, "END")), 1, "END records")
        finally:
            os.kill(daemon, signal.SIGKILL)


@case("many handled signals: some kept, the rest counted")
def rate_limit():
    run = record(moments("signals"), ["--from", "main"])
    equal(run.status, 0, "status")
    kept = len(dump(run.trace, "SNAPSHOT"))
    suppressed = sum(int(field(s, "count"), 16) for s in dump(run.trace, "SUPPRESSED"))
    equal(kept + suppressed, 200, "kept and suppressed")
    check(kept >= 32 and suppressed > 0, "kept %d" % kept)


@case("where traces go: BTREC_TRACE_DIR, names with numbers, latest, list")
def places():
    home = fresh("traces")
    environment = dict(os.environ, BTREC_TRACE_DIR=home)
    empty = execute([BTREC, "list"], env=environment)
    equal(empty.status, 1, "status of an empty list")
    for _ in range(2):
        equal(execute([BTREC, "run", *moments("exit", "5")], env=environment).status, 5, "status")
    names = sorted(os.listdir(home))
    equal(names, ["latest", "moments-0", "moments-1"], "names")
    equal(os.readlink(os.path.join(home, "latest")), "moments-1", "latest")
    equal(os.stat(os.path.join(home, "moments-0")).st_mode & 0o777, 0o700, "mode of a trace")
    equal({os.stat(os.path.join(home, "moments-0", f)).st_mode & 0o777 for f in os.listdir(os.path.join(home, "moments-0"))}, {0o600},
          "modes of its files")
    listed = execute([BTREC, "list"], env=environment)
    equal(listed.status, 0, "status of list")
    lines = listed.out.decode().splitlines()
    check(len(lines) == 2 and all("exit 5" in line for line in lines) and re.search(r"/moments-1  \S*moments exit 5$", lines[1]), listed.out)
    for place, status, why in ((os.path.join(home, "moments-0", "events"), 74, "Not a directory"), (fresh("none"), 1, "no traces in")):
        refused = execute([BTREC, "list"], env=dict(environment, BTREC_TRACE_DIR=place))
        equal(refused.status, status, "status of list of %s" % place)
        check(why in refused.err.decode() and place in refused.err.decode() and refused.err.count(b"\n") == 1, refused.err)
    information = execute([BTREC, "info"], env=environment)
    equal(information.status, 0, "status of info")
    for part in ("exited with 5", "Jcc JrCXZ LOOPcc", "moments-1", "replay"):
        check(part in information.out.decode(), "info says nothing of %s" % part)


@case("without a place for traces: run names -o, what reads them the trace")
def no_place():
    need_root() # a user without an account has no home
    tool, viewer = shutil.copy(BTREC, fresh("btrec")), shutil.copy(BTVIEW, fresh("btview"))
    env = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_DATA_HOME", "BTREC_TRACE_DIR")}
    for argv, status, way in (([tool, "run", "true"], 125, "use -o DIR"), ([tool, "import", "/dev/null"], 74, "use -o DIR"),
                              ([tool, "info"], 74, "name the trace"), ([viewer], 74, "name the trace")):
        result = execute(argv, env=env, user=54321, group=54321, extra_groups=[])
        equal((result.status, result.err.decode().split(": ", 1)[1]),
              (status, "no place for traces: HOME is not set; set BTREC_TRACE_DIR, or %s\n" % way), "status and line of %s" % argv[1:])


@case("list: names that begin with a dot, real-time signals")
def list_names():
    home, hidden = fresh("traces"), os.path.join(fresh_dir("hidden", 0o700), ".sh")
    shutil.copy(shutil.which("sh"), hidden)
    environment = dict(os.environ, BTREC_TRACE_DIR=home)
    for argv in ([hidden, "-c", ":"], ["sh", "-c", "kill -%d $$" % (signal.SIGRTMIN + 3)]):
        said = execute([BTREC, "run", "--patience", "60000", *argv], env=environment)
    check(said.err.startswith(b"btrec: SIGRTMIN+3"), said.err)
    lines = execute([BTREC, "list"], env=environment).out.decode().splitlines()
    check(len(lines) == 2 and "/_sh-0  " in lines[0] and " SIGRTMIN+3 " in lines[1], lines)


@case("list: traces that cannot be read are told with what is wrong; what is no trace is left out")
def list_unreadable():
    home = fresh_dir("traces", 0o755)
    environment = dict(os.environ, BTREC_TRACE_DIR=home)
    for _ in range(3):
        equal(execute([BTREC, "run", "-q", *moments("exit", "5")], env=environment).status, 5, "status")
    os.unlink(os.path.join(home, "latest"))
    os.mkdir(os.path.join(home, "notes"))
    with open(os.path.join(home, "moments-0", "events"), "r+b") as file:
        file.truncate(60)
    with open(os.path.join(home, "moments-1", "events"), "r+b") as file:
        file.seek(8)
        file.write(b"\xff")
    shutil.rmtree(os.path.join(home, "moments-2")) # so that all that is left cannot be read
    os.mkdir(os.path.join(home, "moments-2"), 0)
    tool, keywords = BTREC, {}
    if os.geteuid() == 0:
        for name in ("moments-0", "moments-1"):
            os.chmod(os.path.join(home, name), 0o755)
            os.chmod(os.path.join(home, name, "events"), 0o644)
        tool, keywords = shutil.copy(BTREC, fresh("btrec")), dict(user=65534, group=65534, extra_groups=[])
    listed = execute([tool, "list"], env=environment, **keywords)
    os.chmod(os.path.join(home, "moments-2"), 0o700)
    equal((listed.status, listed.err), (0, b""), "status and stderr")
    rows = dict(re.match(r"\S+ \S+  (.*?) +\d+ KB  \S*/(\S+)$", line).group(2, 1) for line in listed.out.decode().splitlines())
    equal(rows, {"moments-0": "damaged", "moments-1": "unknown version", "moments-2": "no permission"}, "what is listed")


@case("list: a directory that may not be read is not called empty")
def list_forbidden():
    folder = fresh_dir("forbidden", 0o700)
    keywords = {}
    if os.geteuid() == 0:
        keywords = dict(user=65534, group=65534, extra_groups=[])
        tool = shutil.copy(BTREC, fresh("btrec"))
    else:
        os.chmod(folder, 0)
        tool = BTREC
    result = execute([tool, "list"], env=dict(os.environ, BTREC_TRACE_DIR=folder), **keywords)
    equal((result.status, result.err.decode()), (77, "btrec: cannot read %s: Permission denied\n" % folder), "status and line")


@case("commands on what is no trace")
def no_trace():
    for command in (["info"], ["dump"]):
        equal(execute([BTREC, *command, fresh("nothing")]).status, 66, "status for nothing")
        equal(execute([BTREC, *command, "/etc"]).status, 76, "status for another directory")
        equal(execute([BTREC, *command, "/etc/passwd"]).status, 76, "status for a file")
    equal(execute([BTREC, "nonsense"]).status, 2, "status of an unknown command")
    equal(execute([BTREC]).status, 2, "status of no command")
    equal(execute([BTREC, "run"]).status, 125, "status of run without a program")
    equal(execute([BTREC, "run", "--nonsense", "true"]).status, 125, "status of a wrong option")


main()
