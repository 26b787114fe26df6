# SPDX-License-Identifier: MIT
# What the end-to-end tests share: named cases, a temporary directory, building sample programs, running them with and
# without btrec, reading a trace through btview. Exit status of a test file: 0, 1 failed, 77 everything was skipped.
import atexit
import itertools
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.normpath(os.path.join(HERE, "..", "programs"))
BUILD = os.path.abspath(os.environ.get("abs_top_builddir", os.getcwd()))
CC = os.environ.get("CC", "cc").split()
CXX = os.environ.get("CXX", "c++").split()
# ASan of the build under test must not reach the programs it records; those are built without.
TIMEOUT = 120


def find_tool(variable, *places):
    if os.environ.get(variable):
        return os.path.abspath(os.environ[variable])
    for place in places:
        path = os.path.join(BUILD, place)
        if os.access(path, os.X_OK):
            return path
    return os.path.join(BUILD, places[0])


BTREC = find_tool("BTREC", "btrec", "collector/btrec")
BTVIEW = find_tool("BTVIEW", "btview", "tui/btview")
BRANCHES = find_tool("BRANCHES", "tests/tools/branches")

TMP = tempfile.mkdtemp(prefix="btrec-e2e.")
os.chmod(TMP, 0o755)
atexit.register(shutil.rmtree, TMP, True)
for signo_ in (signal.SIGQUIT, signal.SIGHUP): # ignored in the background of a script, or of nohup(1), and so by what is recorded
    signal.signal(signo_, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143)) # timeout(1)'s: what was started ends, and what was made goes
os.environ["XDG_CACHE_HOME"] = TMP
# What a sanitizer says of the recorder, whose standard error goes nowhere, and of all others: a file for each process that had something to say.
SAID = os.path.join(TMP, "sanitizer")
os.mkdir(SAID)
os.chmod(SAID, 0o1777)
for options_ in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
    os.environ[options_] = ":".join(filter(None, (os.environ.get(options_), "log_path=" + os.path.join(SAID, "of"))))
cases = []
started = []
plain = set() # the names of the cases that are left to the build without sanitizers
reasons = [] # of the cases that were skipped


class Failure(Exception):
    pass


class Skip(Exception):
    pass


def check(condition, why):
    if not condition:
        raise Failure(why)


def equal(got, expected, what):
    if got != expected:
        raise Failure("%s: got %s, expected %s" % (what, short(got), short(expected)))


def short(value):
    text = repr(value)
    return text if len(text) < 1500 else text[:1000] + " ... " + text[-400:]


def fits_schema(found, name):
    """Of one of doc/'s. Of very many branches the first and last are looked at: each takes a millisecond."""
    if isinstance(found, dict) and len(found.get("branches", ())) > 1000:
        found = {**found, "branches": found["branches"][:500] + found["branches"][-500:]}
    try:
        import jsonschema
    except ImportError:
        raise Skip("python3-jsonschema is missing")
    with open(os.path.join(HERE, "..", "..", "doc", name)) as file:
        schema = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    try:
        jsonschema.validate(found, schema)
    except jsonschema.ValidationError as error:
        raise Failure("at %s: %s" % ("/".join(map(str, error.absolute_path)), error.message))


def case(name, sanitized=True):
    """Registers the function below as the test case `name`. sanitized=False: a long case whose processes do nothing that a shorter one's do not;
    under sanitizers it runs only with BTREC_ALL_CASES."""

    def register(function):
        cases.append((name, function))
        if not sanitized:
            plain.add(name)
        return function

    return register


class Result:
    """How a process ended: status is its exit status, or minus the signal's number."""

    def __init__(self, status, out=b"", err=b"", trace=None, seconds=0.0):
        self.status, self.out, self.err, self.trace, self.seconds = status, out, err, trace, seconds

    @property
    def program_err(self):
        """stderr without the recorder's own lines."""
        return b"".join(line for line in self.err.splitlines(True) if not line.startswith(b"btrec:"))

    @property
    def own_err(self):
        return b"".join(line for line in self.err.splitlines(True) if line.startswith(b"btrec:")).decode()

    @property
    def stepped_because(self):
        """What is said at once of a program in which there is no room for the code cache."""
        return re.findall(r"^btrec: process \d+ is single-stepped, .*: there is no room in it for the code cache \((.*)\); \S", self.own_err, re.M)


SANITIZER = re.compile(rb"^.*(ERROR: (Address|Leak)Sanitizer|:\d+:\d+: runtime error: )", re.M)
serial = itertools.count(1) # next() of it is one step, for tests with threads


def fresh(stem):
    """A path in the temporary directory at which nothing is."""
    return os.path.join(TMP, "%s.%d" % (stem, next(serial)))


def fresh_dir(stem, mode=0o755):
    path = fresh(stem)
    os.mkdir(path)
    os.chmod(path, mode)
    return path


def start(argv, **kw):
    """Popen in a process group of its own, killed with the group when the test ends."""
    kw.setdefault("stdin", subprocess.DEVNULL)
    kw.setdefault("stdout", subprocess.PIPE)
    kw.setdefault("stderr", subprocess.PIPE)
    kw.setdefault("start_new_session", True)
    process = subprocess.Popen(argv, **kw)
    started.append(process)
    return process


def reap():
    for process in started:
        if process.poll() is None:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except OSError:
                process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()
    del started[:]


def limit_core(soft):
    resource.setrlimit(resource.RLIMIT_CORE, (soft, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def sanitizers_reports():
    """What sanitizers have said since this was asked last."""
    reports = []
    for name in sorted(os.listdir(SAID)):
        with open(os.path.join(SAID, name), "rb") as file:
            said = file.read()
        os.unlink(file.name)
        if SANITIZER.search(said):
            reports.append(said[:4000].decode(errors="replace"))
    return "\n".join(reports)


def execute(argv, stdin=b"", core=0, setup=None, timeout=TIMEOUT, **kw):
    def preexec():
        limit_core(core)
        if setup:
            setup()

    began = time.monotonic()
    process = start(argv, stdin=subprocess.PIPE if isinstance(stdin, bytes) else stdin, preexec_fn=preexec, **kw)
    try:
        out, err = process.communicate(stdin if isinstance(stdin, bytes) else None, timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise Failure("%s: not finished after %d s; stdout %s, stderr %s" % (" ".join(map(str, argv)), timeout, short(out), short(err)))
    found = SANITIZER.search(err or b"")
    check(not found, "%s: %s" % (" ".join(map(str, argv)), found and err[found.start():][:4000].decode(errors="replace")))
    return Result(process.returncode, out, err, None, time.monotonic() - began)


def native(argv, **kw):
    kw.setdefault("cwd", TMP)
    return execute(argv, **kw)


def record(argv, options=(), **kw):
    """Runs argv under `btrec run`; the result's trace is where the trace should be."""
    kw.setdefault("cwd", TMP)
    trace = fresh("trace")
    backend = os.environ.get("BTREC_TEST_BACKEND")
    if backend and "--backend" not in options:
        options = ["--backend", backend, *options]
    options = [*options, *os.environ.get("BTREC_TEST_OPTIONS", "").split()]
    result = execute([BTREC, "run", "-o", trace, *options, "--", *argv], **kw)
    result.trace = trace
    return result


def same_as_native(argv, options=(), **kw):
    """Runs argv both ways and checks what the outside sees of the program. Returns both results."""
    alone = native(argv, **kw)
    recorded = record(argv, options, **kw)
    equal(recorded.status, alone.status, "exit status (btrec said: %s)" % recorded.own_err.strip())
    equal(recorded.out, alone.out, "stdout")
    equal(recorded.program_err, alone.err, "stderr")
    check(recorded.own_err.count("\n") <= 1 + bool(recorded.stepped_because) + ("btrec: --from: " in recorded.own_err), "btrec said more than one line: " + recorded.own_err)
    return alone, recorded


def btview(*arguments):
    result = execute([BTVIEW, *map(str, arguments)], cwd=TMP)
    check(result.status == 0, "btview %s: status %d: %s" % (" ".join(map(str, arguments)), result.status, result.err.decode(errors="replace")))
    return result


def report(trace, *options):
    result = btview("--json", *options, trace)
    try:
        return json.loads(result.out)
    except ValueError as error:
        raise Failure("btview --json is no JSON: %s: %s" % (error, short(result.out)))


def text(trace, *options):
    return btview("--stdio", *options, trace).out.decode()


def branches(trace, *options):
    """The entries of all tasks: lists (task, tick, kind, taken, from, to)."""
    check(os.access(BRANCHES, os.X_OK), BRANCHES + " is not built")
    result = execute([BRANCHES, *options, trace])
    equal(result.status, 0, "status of branches (%s)" % result.err.decode(errors="replace"))
    rows = []
    for line in result.out.decode().splitlines():
        task, tick, kind, taken, source, target = line.split()
        rows.append((int(task), int(tick), kind, int(taken), int(source, 16), int(target, 16)))
    return rows


# glibc's start is the most of a small program: static saves the dynamic linker's hundred thousand instructions.
C_FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-fno-optimize-sibling-calls", "-fno-omit-frame-pointer", "-fcf-protection=none"]
STATIC = ["-static", "-fno-pie", "-no-pie"]
BARE = ["-nostdlib", "-static", "-fno-pie", "-no-pie", "-Wl,--build-id", "-fcf-protection=none"]
built = {}


def build(source, *flags, name=None, compiler=None):
    """Compiles tests/programs/SOURCE once per set of flags. Returns the program's path."""
    key = (source, flags, name, tuple(compiler or ()))
    if key not in built:
        if compiler is None:
            compiler = CXX if source.endswith(".cc") else CC
        target = os.path.join(fresh_dir("bin"), name or os.path.splitext(source)[0])
        base = [flag for flag in C_FLAGS if flag != "-std=gnu11" or source.endswith(".c")] if not source.endswith(".rs") else []
        # Sources first, so that -l flags behind them work.
        argv = [*compiler, *base, os.path.join(PROGRAMS, source), "-o", target, *flags]
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            raise Failure("%s: %s" % (" ".join(argv), done.stdout.decode(errors="replace")))
        built[key] = target
    return built[key]


def line_of(source, mark):
    """The number of the line of tests/programs/SOURCE that bears the comment @mark."""
    with open(os.path.join(PROGRAMS, source)) as file:
        for number, line in enumerate(file, 1):
            if re.search(r"@%s\b(?!-)" % re.escape(mark), line):
                return number
    raise Failure("no @%s in %s" % (mark, source))


def wait_until(condition, what, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise Failure("%s: not within %d s" % (what, seconds))


def recorder_of(process):
    """The pid of the recorder below a running `btrec run`."""
    with open("/proc/%d/task/%d/children" % (process.pid, process.pid)) as file:
        return int(file.read().split()[0])


def recorders_peak(argv, options=(), timeout=TIMEOUT):
    """The most memory, in kB, that the recorder of argv has had when that has printed a line; it ends when its standard input does."""
    process = start([BTREC, "run", "-o", fresh("trace"), *options, "--", *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=TMP)
    check(process.stdout.readline(), "the program said nothing")
    with open("/proc/%d/status" % recorder_of(process)) as file:
        peak = int(re.search(r"VmHWM:\s+(\d+) kB", file.read()).group(1))
    process.stdin.close()
    equal(process.wait(timeout), 0, "end")
    return peak


def forget_recorder(pid):
    """Removes the control socket that a killed recorder leaves."""
    try:
        os.unlink("/tmp/btrec-%d/%d" % (os.geteuid(), pid))
        os.rmdir("/tmp/btrec-%d" % os.geteuid())
    except OSError:
        pass


def need_root():
    if os.geteuid() != 0:
        raise Skip("needs root")


def need_namespaces():
    """As root of a container without CAP_SYS_ADMIN has none."""
    need_root()
    if execute(["unshare", "-mpf", "true"]).status:
        raise Skip("no namespaces can be made here")


def need_core_files():
    with open("/proc/sys/kernel/core_pattern") as file:
        pattern = file.read().strip()
    if pattern.startswith("|") or "/" in pattern:
        raise Skip("core files do not come to the working directory: kernel.core_pattern is %s" % pattern)
    if not resource.getrlimit(resource.RLIMIT_CORE)[1]:
        raise Skip("core files have a hard limit of 0 (ulimit -Hc)")


def has_sanitizer():
    """Whether btrec was built with AddressSanitizer."""
    with open(BTREC, "rb") as file:
        return b"__asan_init" in file.read()


def a_part():
    """Whether a long test is to do a part of what it does elsewhere: btrec was built with AddressSanitizer, and BTREC_ALL_CASES is not set."""
    return has_sanitizer() and not os.environ.get("BTREC_ALL_CASES")


def run_case(name, function):
    began = time.monotonic()
    try:
        function()
        verdict, why = "ok", ""
    except Skip as skipped:
        verdict, why = "skip", str(skipped)
        reasons.append(why)
    except Failure as failure:
        verdict, why = "FAIL", str(failure)
    except Exception:
        verdict, why = "FAIL", traceback.format_exc()
    finally:
        reap()
    reports = sanitizers_reports()
    if reports:
        verdict, why = "FAIL", "; ".join(filter(None, (why, "a sanitizer says:\n" + reports)))
    print("%-4s %s (%.1f s)%s" % (verdict, name, time.monotonic() - began, ": " + why if why else ""), flush=True)
    return verdict


def main(sanitized=1):
    """Runs the cases named on the command line (a part of the name is enough), else all. sanitized: of a long test that compares what programs do,
    under sanitizers each sanitized-th case: they watch the recorder, which does the same in all. A prime: cases come in twos, threes and fours.
    With BTREC_ALL_CASES all run there, too."""
    wanted = sys.argv[1:]
    for tool in (BTREC, BTVIEW):
        if not os.access(tool, os.X_OK):
            print("FAIL %s is not there" % tool)
            sys.exit(1)
    chosen = [(name, function) for name, function in cases if not wanted or any(w in name for w in wanted)]
    if not wanted and a_part():
        chosen = [(name, function) for name, function in cases[::sanitized] if name not in plain]
    verdicts = [run_case(name, function) for name, function in chosen]
    if not wanted and len(chosen) < len(cases):
        print("%d of %d cases, under a sanitizer; with BTREC_ALL_CASES all" % (len(chosen), len(cases)))
    print("%d ok, %d failed, %d skipped" % tuple(verdicts.count(v) for v in ("ok", "FAIL", "skip")))
    if "FAIL" in verdicts:
        sys.exit(1)
    if "ok" in verdicts:
        sys.exit(0)
    print("all are skipped: " + "; ".join(sorted(set(reasons)))) # the last line of a test that is skipped is its reason
    sys.exit(77)
