#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# btview's reports: the JSON against its schema, filters, exit statuses, defaults, and that nothing from a trace or a
# symbol table acts on a terminal.
import fcntl
import http.server
import json
import os
import struct
import subprocess
import threading

from e2e import *

SCHEMA = "report.schema.json"
traces = {}


def crash(name):
    """The trace of faults.c dying of NAME, made once."""
    if name not in traces:
        traces[name] = record([build("faults.c", *STATIC), name]).trace
    return traces[name]


def view(*arguments, **kw):
    return execute([BTVIEW, *map(str, arguments)], cwd=TMP, **kw)


def last_block(trace, name, part=None):
    """Where the last block of a file begins; with part, the same and a part of it."""
    with open(os.path.join(trace, name), "rb") as file:
        bytes = file.read()
    begins = bytes.rindex(b"BTBK")
    return begins + (len(bytes) - begins) // part if part else begins


FORM = 50 # so many branches of each form are held against the schema


def validate(found):
    """Of many branches with the same fields and kind the first: a validator in Python takes a millisecond for each."""
    forms, few = {}, []
    for branch in found["branches"]:
        form = (*branch, branch["kind"])
        forms[form] = forms.get(form, 0) + 1
        if forms[form] <= FORM:
            few.append(branch)
    fits_schema({**found, "branches": few}, SCHEMA)


@case("the JSON of a fault fits its schema")
def schema_fault():
    found = report(crash("null-write"))
    validate(found)
    check(len(found["branches"]) > 1000, "all branches are there")
    equal(found["trace"]["command"][1:], ["null-write"], "command")
    equal([p["command"] for p in found["processes"]], ["faults"], "processes")
    equal(found["verdict"], {"state": "consistent", "from": None, "checked": len(found["branches"]) - 1}, "verdict")


@case("an address of data without a symbol is the linker's, as one of code is, and also once the file is gone")
def data_address():
    program = build("data_address.c", "-fpie", "-pie", name=os.path.basename(fresh("data_address")))
    recorded = record([program])
    place = "%s+%s" % (os.path.basename(program), recorded.out.decode().strip())
    equal(len(re.findall(re.escape(place) + r"\b", text(recorded.trace))), 2, "places " + place)
    os.rename(program, program + ".gone")
    equal(len(re.findall(re.escape(place) + r"\b", text(recorded.trace))), 2, "places " + place + " without the file")


@case("a stack longer than the memory that is kept goes on by the branch history, and the JSON tells which frames")
def long_stack():
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    trace = record([build("stacks.c", *STATIC, "-pthread"), "large-exit"], setup=lambda: resource.setrlimit(resource.RLIMIT_STACK, (16 << 20, hard))).trace
    found = report(trace, "-n", "10")
    validate(found)
    thread = found["threads"][0]
    equal(thread["stack_end"], "trace", "where the stack ends")
    check(20 < thread["unwound"] < len(thread["stack"]), "unwound %d of %d" % (thread["unwound"], len(thread["stack"])))
    check("The trace has no more of this stack. By the branch history it goes on:\n  #%d " % thread["unwound"] in text(trace), text(trace))
    check(re.search(r"#[0-9]+ +main\+", text(trace)), "main is not in the report's stack")
    short_one = report(crash("null-write"), "-n", "10")["threads"][0]
    equal(short_one["unwound"], len(short_one["stack"]), "frames that unwinding gave")


@case("the JSON of a wild return fits its schema")
def schema_wild():
    validate(report(crash("ret-unmapped"), "-n", "50"))


@case("the JSON of handled faults fits its schema")
def schema_handled():
    validate(report(crash("fault-in-fault-handler"), "-n", "50"))


@case("the JSON of an exit fits its schema")
def schema_exit():
    found = report(crash("exit-3"), "-n", "50")
    validate(found)
    equal(found["exit"], {"kind": "status", "status": 3}, "exit")


@case("the JSON of threads fits its schema")
def schema_threads():
    trace = record([build("threads.c", *STATIC, "-pthread"), "crash"]).trace
    found = report(trace)
    validate(found)
    check(len(found["threads"]) > 2, "threads: %d" % len(found["threads"]))
    task = found["threads"][1]["task"]
    other = report(trace, "--thread", task)
    validate(other)
    equal(other["threads"][0]["task"], task, "first thread")
    equal(other["fault"], found["fault"], "the fault is the trace's, whatever thread is asked for")
    check(all(b["task"] == task for b in other["branches"]), "branches of another task")
    by_tid = report(trace, "--thread", found["threads"][1]["tid"])
    equal(by_tid["threads"][0]["task"], task, "thread by its id")


@case("the JSON of a trace that was cut off fits its schema, and that is no damage")
def schema_torn():
    trace = fresh("trace")
    shutil.copytree(crash("null-read"), trace)
    events = os.path.join(trace, "events")
    os.truncate(events, os.path.getsize(events) - 7)
    result = view("--json", trace)
    equal(result.status, 0, "status")
    validate(json.loads(result.out))
    check(b"not closed" in result.err, "stderr says %r" % result.err)
    with open(events, "r+b") as locked:
        fcntl.fcntl(locked, fcntl.F_OFD_SETLK, struct.pack("hhqqixxxx", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        result = view("--stdio", trace)
        check(b"the recorder was writing here" in result.out, "a lock says that it is being written: %r" % result.out)
    check(b"the recorder was cut off here" in view("--stdio", trace).out, "no lock any more")


@case("where the end of the branches is cut off too, a gap says so, and what is there is relied on")
def branches_cut_off():
    trace = fresh("trace")
    shutil.copytree(crash("fault-in-fault-handler"), trace)
    for name, size in (("events", last_block(trace, "events")), ("branches-1", last_block(trace, "branches-1", 2))):
        os.truncate(os.path.join(trace, name), size)
    for snapshot in (1, 2):
        result = view("--json", "--snapshot", snapshot, trace)
        equal(result.status, 0, "status")
        found = json.loads(result.out)
        validate(found)
        equal(found["verdict"]["state"], "consistent", "verdict")
        last = [gap for gap in found["gaps"] if gap["before"] == len(found["branches"])]
        equal([gap["reason"] for gap in last], ["cut-off"] if snapshot == 2 else [], "gaps at the end")
    shown = view("--stdio", "--snapshot", "2", trace).out.decode()
    check("~~~ 1 branches are missing: their file ends here" in shown, shown) # the entry of the handler


@case("damage is told, what is readable is shown, and the status is 76")
def damaged():
    trace = fresh("trace")
    shutil.copytree(crash("null-read"), trace)
    path = os.path.join(trace, next(n for n in sorted(os.listdir(trace)) if n.startswith("branches")))
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        file.write(b"damage" * 4)
    for option in ("--json", "--stdio"):
        result = view(option, trace)
        equal(result.status, 76, "status of " + option)
        check(b"damaged" in result.err, "stderr says %r" % result.err)
    check(b"null structure pointer" in view("--stdio", trace).out, "the fault is shown")
    validate(json.loads(view("--json", trace).out))


@case("of a damaged trace the verdict is of what could be checked, and says so")
def partly():
    whole = record([build("threads.c", *STATIC, "-pthread"), "crash"]).trace
    states = {}
    for name in ("events", "branches-1", "branches-2", "objects"):
        trace = fresh("trace")
        shutil.copytree(whole, trace)
        with open(os.path.join(trace, name), "r+b") as file:
            file.seek(last_block(trace, name, 2))
            file.write(b"damage")
        found = json.loads(view("--json", "-n", "10", "--thread", "1", trace).out)
        validate(found)
        shown = view("--stdio", "-n", "5", "--thread", "1", trace).out.decode()
        check(re.search(r"^  Consistent: ", shown, re.M) is None or name == "branches-2", shown)
        check(re.search(r"^  (Consistent in part: .* \([0-9]+ of [0-9]+\)|Not checked: .* \([0-9]+ branches are left\))\.$", shown, re.M) or name == "branches-2", shown)
        states[name] = found["verdict"]["state"]
    equal(states, {"events": "partly", "branches-1": "partly", "branches-2": "consistent", "objects": "partly"}, "states")


@case("... also where the source does not tell every branch: nothing is said in the report, and the JSON does not call it consistent")
def partly_of_samples():
    capture, trace = fresh("capture"), fresh("trace")
    with open(capture, "w") as file:
        file.write(" 5595 0x1/0x2/P/-/-/0/ \n" * 100)
    execute([BTREC, "import", "-q", "-o", trace, capture])
    equal(json.loads(view("--json", trace).out)["verdict"]["state"], "consistent", "state of the whole trace")
    with open(os.path.join(trace, "branches-1"), "r+b") as file:
        file.seek(os.path.getsize(file.name) // 2)
        file.write(b"damage")
    found = json.loads(view("--json", trace).out)
    validate(found)
    equal((found["verdict"]["state"], found["verdict"]["checked"]), ("partly", 0), "verdict")
    check(b"Consistent" not in view("--stdio", trace).out, "the report calls it consistent")


@case("a file of the trace that is gone is told, and the status is 76")
def file_gone():
    for name in ("events", "branches-1"):
        trace = fresh("trace")
        shutil.copytree(crash("null-read"), trace)
        os.remove(os.path.join(trace, name))
        for option in ("--json", "--stdio"):
            equal(view(option, trace).status, 76, "status of %s without %s" % (option, name))
        shown = view("--stdio", trace)
        check(name.encode() in (shown.err if name == "events" else shown.out), "%s is not named" % name)


@case("a trace whose header is damaged is not shown, and the status is 76; damage behind it is told")
def header_damaged():
    for at, shown in ((40 + 32 + 5, False), (-5, True)):
        trace = fresh("trace")
        shutil.copytree(crash("null-read"), trace)
        with open(os.path.join(trace, "events"), "r+b") as file:
            file.seek(at, os.SEEK_SET if at > 0 else os.SEEK_END)
            byte = file.read(1)[0]
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte ^ 1]))
        result = view("--stdio", trace)
        equal(result.status, 76, "status")
        equal(b"null structure pointer" in result.out, shown, "the fault is shown")
        check(shown or b"/events, byte 40:" in result.err, "stderr says %r" % result.err)


@case("-n bounds the branches")
def count():
    equal(len(report(crash("null-write"), "-n", "7")["branches"]), 7, "branches")
    shown = text(crash("null-write"), "-n", "3").partition("Last branches")[2].partition("\n\n")[0].splitlines()
    check(4 <= len([line for line in shown if line]) < 8, "lines: %s" % shown)


@case("--function shows only its branches")
def function():
    found = report(crash("null-write"), "--function", "store")
    check(found["branches"], "no branches")
    for b in found["branches"]:
        check("store" in (b["from"]["function"], b["to"]["function"]), "not of store: %s" % b)
    for option in ("--stdio", "--json"):
        equal(view(option, "--function", "no_such_function", crash("null-write")).status, 1, "status of " + option)


@case("a thread that is not there gives status 1")
def no_thread():
    result = view("--stdio", "--thread", "999999", crash("null-write"))
    equal((result.status, result.out), (1, b""), "status and output")


@case("usage errors give status 2")
def usage():
    trace = crash("null-write")
    for arguments in (["--nonsense"], ["-n", "0", trace], ["-n", "many", trace], ["--thread", "-1", trace], ["--thread", "x", trace],
                      ["--function", "", trace], [trace, trace]):
        equal(view(*arguments).status, 2, "status of %s" % arguments)


@case("what is no trace gives its own status")
def no_trace():
    equal(view("--stdio", os.path.join(TMP, "nothing-here")).status, 66, "nothing there")
    equal(view("--stdio", fresh_dir("empty")).status, 76, "an empty folder")
    equal(view("--stdio", __file__).status, 76, "a file")


@case("a full disk gives status 74")
def full():
    trace = crash("null-write")
    for argument in (["--stdio", trace], ["--stdio", "-n", "5000", trace], ["--json", trace], ["--export", "perf-script", trace], ["--help"], ["--version"]):
        with open("/dev/full", "wb") as device:
            process = subprocess.run([BTVIEW, *argument], stdout=device, stderr=subprocess.PIPE)
        equal(process.returncode, 74, "status of %s" % argument)
        equal(process.stderr, b"btview: cannot write to standard output: No space left on device\n", "what %s says" % argument)


@case("without a trace the latest is shown, without a terminal as text")
def latest():
    home = fresh_dir("home")
    environment = {k: v for k, v in os.environ.items() if k not in ("BTREC_TRACE_DIR", "XDG_DATA_HOME")}
    for variable, folder in (("BTREC_TRACE_DIR", home), ("XDG_DATA_HOME", os.path.join(home, "btrec")),
                             ("HOME", os.path.join(home, ".local", "share", "btrec"))):
        os.makedirs(folder, exist_ok=True)
        link = os.path.join(folder, "latest")
        os.symlink(crash("null-write"), link)
        result = view(env={**environment, "HOME": TMP, variable: home})
        equal(result.status, 0, "status with " + variable)
        check(b"null structure pointer" in result.out, "no report with " + variable)
        os.unlink(link)


@case("btrec and btview agree on which trace is the latest, also without HOME and where XDG_DATA_HOME is relative")
def same_latest():
    home = fresh_dir("home")
    folder = os.path.join(home, ".local", "share", "btrec")
    os.makedirs(folder)
    os.symlink(crash("null-write"), os.path.join(folder, "latest"))
    plain = {k: v for k, v in os.environ.items() if k not in ("BTREC_TRACE_DIR", "XDG_DATA_HOME", "HOME")}
    for environment, found in (({"HOME": home, "XDG_DATA_HOME": "data"}, True), ({"HOME": home, "XDG_DATA_HOME": ""}, True), ({}, None), ({"HOME": ""}, None)):
        shown, info = (execute([*argv], env={**plain, **environment}, cwd=TMP) for argv in ([BTVIEW, "--stdio"], [BTREC, "info"]))
        equal(shown.status, info.status, "status of btview, of btrec info with %s" % environment)
        if shown.status:
            equal(shown.err.replace(b"btview: ", b""), info.err.replace(b"btrec: ", b""), "what btview says, what btrec info says with %s" % environment)
        check(not found or shown.status == 0, "no trace with %s: %r" % (environment, shown.err))


EVIL = "evil\x1b]0;title\x07\x1b[31m"


@case("names from outside cannot act on a terminal")
def escapes():
    folder = fresh_dir("evil \x1b[2J\u202e\x9b")
    source = os.path.join(TMP, "evil.s")
    with open(source, "w") as file:
        file.write('.globl _start\n_start: call "%s"\n"%s": movq $1, 0\n' % (EVIL, EVIL))
    program = os.path.join(folder, "prog\nram\x1b[H")
    subprocess.run([*CC, "-nostdlib", "-static", source, "-o", program], check=True, stderr=subprocess.DEVNULL)
    trace = record([program, "\x1b[2Jargument"]).trace
    for locale in ("C", "C.UTF-8"):
        result = view("--stdio", trace, env={**os.environ, "LC_ALL": locale})
        equal(result.status, 0, "status")
        shown = result.out.decode()
        bad = sorted({c for c in shown if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e")})
        equal(bad, [], "control characters in the report")
        check("\\x1b]0;title" in shown, "the symbol is not shown: " + shown)
    names = ["a\u0080\u009b31m", "\u202e\u2066\u061c", "caf\u00e9", "\U000e0041"]
    trace = record([program, *names]).trace
    found = view("--json", trace)
    equal(sorted({c for c in found.out if c != 10 and not 32 <= c < 127}), [], "bytes of the JSON that are not plain")
    validate(json.loads(found.out))
    equal(json.loads(found.out)["trace"]["command"][1:], names, "arguments")


@case("an export calls tasks as the program they run, and no byte of that acts on a terminal")
def export_names():
    tree = build("tree.c", *STATIC)
    names = {"plain": b"plain", "caf\u00e9 \u4e2d": "caf\u00e9 \u4e2d".encode(), b"c\x9b31m \xc2\x9b4m\x1b\n": b"c?31m ??4m??"}
    for name, shown in names.items():
        program = os.path.join(fresh_dir("named").encode(), os.fsencode(name))
        shutil.copy(tree, program)
        recorded = record([program, "fork-crash"])
        lines = view("--export", "perf-script", recorded.trace).out.split(b"\n")
        heads = [line for line in lines if re.search(rb" +[0-9]+/[0-9]+ ", line)]
        check(heads, "no sample")
        for head in heads: # of the child, which executes nothing
            equal(re.match(rb" *(.*?) +[0-9]+/[0-9]+ ", head).group(1), shown, "name")


@case("a source that was edited after the build is named once, as what may be wrong, and its lines are shown")
def edited_source():
    folder = fresh_dir("edited")
    source, program = os.path.join(folder, "edited.c"), os.path.join(folder, "edited")
    shutil.copy(os.path.join(PROGRAMS, "faults.c"), source)
    for name in os.listdir(PROGRAMS):
        if name.endswith(".h"):
            shutil.copy(os.path.join(PROGRAMS, name), folder)
    subprocess.run([*CC, *C_FLAGS, source, "-o", program, *STATIC], check=True)
    trace = record([program, "null-write"], ["--no-symbols"]).trace
    equal(report(trace, "-n", "50")["missing"], [], "missing of what was not edited")
    check("newer" not in text(trace), text(trace))
    now = time.time()
    os.utime(program, (now + 200, now + 200)) # as a copy that was installed later
    os.utime(source, (now + 100, now + 100))
    found = report(trace, "-n", "50")
    validate(found)
    equal([(m["what"], m["file"], os.path.basename(m["module"])) for m in found["missing"]], [("source", source, "edited")], "missing")
    shown = text(trace)
    equal(shown.count("edited.c: newer than the program: its lines may not be those that ran"), 1, "how often the report says so: " + shown)
    check(re.search(r"\n  %d: .*null-write" % line_of("faults.c", "null-write"), shown), "its line is not shown: " + shown)


@case("of a task that is no part of the moment that was asked for the report says so")
def outside_moment():
    program = build("faults.c", *STATIC)
    trace = record(["/bin/sh", "-c", "%s null-write; %s null-write; exit 0" % (program, program)]).trace
    found = report(trace, "-n", "5")
    first, second = [s["task"] for s in found["snapshots"] if s["kind"] == "fatal"][:2]
    said = "Task %d is no part of snapshot 1: what it did is shown to its end, also what came after that moment." % second
    check(said in text(trace, "--snapshot", "1", "--thread", second), text(trace, "--snapshot", "1", "--thread", second))
    for options in (["--thread", second], ["--snapshot", "1"], ["--snapshot", "1", "--thread", first]):
        check("is no part of" not in text(trace, *options), "%s: %s" % (options, text(trace, *options)))


@case("symbols of a separate debug file are found, and without it are named as missing")
def debug_link():
    program = build("faults.c", *STATIC, name="linked")
    folder = os.path.dirname(program)
    debug = os.path.join(folder, "linked.debug")
    trace = None
    for argv in (["objcopy", "--only-keep-debug", program, debug], ["strip", program],
                 ["objcopy", "--add-gnu-debuglink=" + debug, program]):
        subprocess.run(argv, check=True, cwd=folder)
    trace = record([program, "null-write"], ["--no-symbols"]).trace
    equal(report(trace, "-n", "5")["threads"][0]["stack"][0]["function"], "store", "function")
    equal(report(trace, "-n", "5")["missing"], [], "missing")
    os.unlink(debug)
    found = report(trace, "-n", "5")
    equal(found["threads"][0]["stack"][0]["function"], None, "function without the debug file")
    equal([(os.path.basename(m["module"]), m["what"]) for m in found["missing"]], [("linked", "symbols")], "missing")
    equal(text(trace, "-n", "5").count("stripped"), 1, "how often the report names it")


class DebugServer(http.server.BaseHTTPRequestHandler):
    """A debuginfod of one file: GET /buildid/ID/debuginfo."""
    files = {}
    asked = []

    def do_GET(self):
        self.asked.append(self.path)
        found = self.files.get(self.path)
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(found or b"")))
        self.end_headers()
        self.wfile.write(found or b"")

    def log_message(self, *arguments):
        pass


@case("debug information is fetched from debuginfod when DEBUGINFOD_URLS is set, and only then")
def debuginfod():
    program = build("faults.c", *STATIC, "-Wl,--build-id=0xb7ec0000000000000000000000000000000000fd", name="fetched")
    folder = os.path.dirname(program)
    debug = os.path.join(folder, "fetched.debug")
    path = "/buildid/b7ec0000000000000000000000000000000000fd/debuginfo"
    for argv in (["objcopy", "--only-keep-debug", program, debug], ["strip", program]):
        subprocess.run(argv, check=True, cwd=folder)
    with open(debug, "rb") as file:
        DebugServer.files[path] = file.read()
    os.unlink(debug)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), DebugServer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = "http://127.0.0.1:%d" % server.server_address[1]
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment.update(HOME=TMP, XDG_CACHE_HOME=fresh_dir("cache"))
    trace = record([program, "null-write"]).trace

    def top(**more):
        result = view("--json", "-n", "5", trace, env={**environment, **more})
        equal(result.status, 0, result.err.decode())
        found = json.loads(result.out)
        return found["threads"][0]["stack"][0], found["missing"]

    environment.pop("DEBUGINFOD_URLS", None)
    frame, missing = top()
    equal((frame["function"], frame["line"], len(missing)), (None, None, 1), "without a server")
    equal(DebugServer.asked, [], "what was asked without DEBUGINFOD_URLS")
    frame, missing = top(DEBUGINFOD_URLS=address)
    equal((frame["function"], frame["line"], missing), ("store", line_of("faults.c", "null-write"), []), "with a server")
    equal(DebugServer.asked, [path], "what was asked")
    os.unlink(program)
    frame, missing = top(DEBUGINFOD_URLS=address)
    equal(frame["function"], "store", "of a program that is gone")
    server.shutdown()
    server.server_close()
    frame, missing = top(DEBUGINFOD_URLS=address, XDG_CACHE_HOME=fresh_dir("cache"))
    equal((frame["function"], len(missing)), (None, 1), "with a server that is down")


@case("threads that wait in one place are told once, with all their numbers")
def pool():
    trace = record([build("pool.c", "-pthread")]).trace
    said, threads = text(trace), report(trace)["threads"]
    headings = re.findall(r"^Stack of (.*)$", said, re.M)
    check(len(headings) == 3 and headings[0].startswith("task 1 (thread "), headings)
    for heading, function, call, tasks in ((headings[1], "worker", "futex", "2, 4, 5, 7, 8"), (headings[2], "other", "read", "3, 6")):
        numbers = re.fullmatch(r"(\d) tasks: %s \(threads ([\d, -]+) of process %d, in the system call %s\)" % (tasks, threads[0]["pid"], call), heading)
        check(numbers and int(numbers[1]) == tasks.count(",") + 1, heading)
        ends = [part.split("-") for part in numbers[2].split(", ")]
        told = [tid for part in ends for tid in range(int(part[0]), int(part[-1]) + 1)]
        mine = [t for t in threads[1:] if any(f["function"] == function for f in t["stack"])]
        equal((told, {t["in_syscall"] for t in mine}), (sorted(t["tid"] for t in mine), {call}), "threads in " + function)
    equal(len(re.findall(r" worker\+", said.partition("Last branches")[0])), 1, "how often their frame is shown")


@case("a loop is folded with its count")
def loop():
    source = os.path.join(TMP, "loop.s")
    with open(source, "w") as file:
        file.write(".globl _start\n_start: mov $300, %ecx\n1: call f\n dec %ecx\n jnz 1b\n ud2\nf: ret\n")
    program = os.path.join(TMP, "loop")
    subprocess.run([*CC, "-nostdlib", "-static", source, "-o", program], check=True)
    trace = record([program]).trace
    shown = text(trace)
    check(re.search(r"loop +299 rounds of the next 3 lines|loop +300 rounds of the next 3 lines", shown), "no folded loop: " + shown)
    equal(len(report(trace)["branches"]), 900, "branches in the JSON")


@case("what a trace does not have is refused with what it has, in a line")
def refusals():
    source = os.path.join(fresh_dir("refusals"), "a.cc")
    with open(source, "w") as file:
        file.write("""#include <cstdlib>
namespace shop { __attribute__((noipa)) int price(int n) { return n * 2; } __attribute__((noipa)) void refund(int n) { if (n) abort(); } }
int main(int argc, char **) { shop::refund(shop::price(argc)); }
""")
    program = source[:-3]
    equal(execute([*CXX, "-g", source, "-o", program]).status, 0, "build")
    trace = record([program], ["-q"]).trace
    for options, said in ((["--snapshot", "99"], "no snapshot 99: the trace has 2 moments: 1 and 2"),
                          (["--thread", "99"], "no task or thread 99: the trace has 1 task: 1"),
                          (["--function", "prize"], "no function prize in this history; the nearest name is shop::price"),
                          (["--function", "shop::Refumd"], "no function shop::Refumd in this history; the nearest name is shop::refund"),
                          (["--function", "nothing_like_it"], "no function nothing_like_it in this history"),
                          (["--function", "b.cc:7"], "no branch from or to b.cc:7 in this history")):
        for form in "--stdio", "--json":
            done = execute([BTVIEW, form, *options, trace])
            equal((done.status, done.err.decode()), (1, "btview: %s\n" % said), "%s %s" % (form, options))


main()
