#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# --parallel: threads under the engine run side by side. Programs that look themselves whether what they share is right
# (programs/parallel*.c), and histories that the code bears out, task by task.
import glob
import os
import re
import resource
import shutil
import signal
import subprocess

from e2e import *

SOURCE = os.path.normpath(os.path.join(HERE, "..", ".."))
CHECK = os.path.join(BUILD, "tests/tools/check_history")
OPTIONS = ["--backend", "engine", "--parallel"]
KEEP = ["--snap-exit", "always", "--history", "50000"]
CODE = "same-page for-others mapped two-mappings one-call unmapped mapped-over rewritten rewritten-elsewhere forks stopped".split()
QUIET = "handed-over whole traded came-and-went many outnumbered descriptors children asking-child signalled faulted left-running execed alone".split() + CODE
CRASHES = ["crashes", "crash-at-once"]
ENDLESS = ["goes-on"]


def program(name=None):
    return build("parallel_code.c" if name in CODE else "parallel.c", "-pthread", "-mcx16")


def history_holds(trace):
    done = subprocess.run([CHECK, trace], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    equal(done.returncode, 0, "check_history: %s" % done.stdout.decode(errors="replace")[:400])


def dumped(trace, kind):
    return [line for line in execute([BTREC, "dump", trace], cwd=TMP).out.decode(errors="replace").splitlines() if line.startswith(kind + " ")]


def takes_turns(trace):
    return any("take turns" in line for line in dumped(trace, "NOTE"))


def add(name):
    @case("side by side: " + name)
    def run():
        recorded = record([program(name), name], [*OPTIONS, *KEEP])
        equal((recorded.status, recorded.out), (0, b"0 wrong\n"), "end and what was wrong")
        history_holds(recorded.trace)
        equal(dumped(recorded.trace, "SWITCH"), [], "turns")
        equal(takes_turns(recorded.trace), name in ("many", "unmapped"), "a note that says that turns are taken")


for each in QUIET:
    add(each)


@case("side by side: many threads, as the user ignores SIGCHLD: what stops is heard of at once, not when it is looked for some time")
def many_unheard():
    recorded = record([program(), "many"], OPTIONS, setup=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN), timeout=20)
    equal((recorded.status, recorded.out), (0, b"0 wrong\n"), "end and what was wrong")


@case("side by side: a code cache that becomes full while two threads run in it is emptied")
def full():
    recorded = record([build("full_cache.c", "-pthread"), "100000"], OPTIONS)
    equal((recorded.status, recorded.out), (0, b"0 wrong\n"), "end and what was wrong")


@case("side by side, only counted: as recorded")
def counted():
    for name in ("whole", "came-and-went", "mapped"):
        recorded = record([program(name), name], [*OPTIONS, "--history", "off"])
        equal((recorded.status, recorded.out), (0, b"0 wrong\n"), name)


@case("side by side, now recorded, now only counted")
def switched():
    for name in ("traded", "for-others"):
        recorded = record([program(name), name], [*OPTIONS, "--switch-history"])
        equal((recorded.status, recorded.out), (0, b"0 wrong\n"), name)


def stepped(trace):
    info = execute([BTREC, "info", trace]).out.decode()
    return int(re.search(r"^stepped +(\d+) instructions outside the code cache", info, re.M).group(1))


def add_twice_mapped(what, *rows):
    @case("side by side: code in a file that is mapped twice, %s: next to nothing is stepped" % what)
    def run():
        for row in rows:
            recorded = same_as_native([build("twice_mapped.c", "-pthread"), *map(str, row)], [*OPTIONS, *KEEP])[1]
            equal(recorded.out, b"0 wrong\n", "what was wrong")
            check(stepped(recorded.trace) <= 100, "%s: %d instructions were stepped" % (row, stepped(recorded.trace)))
            history_holds(recorded.trace)


add_twice_mapped("run by 1 to 8 threads", *((n, 0, 0) for n in range(1, 9)))
add_twice_mapped("run by some while others compute", (2, 3, 0))
add_twice_mapped("rewritten while others run it", (2, 0, 15), (4, 2, 5))


@case("two threads run at a time: one waits for what the other does without a system call")
def overlap():
    recorded = record([build("side_by_side.c", "-pthread")], OPTIONS)
    equal(recorded.status, 0, "status: " + recorded.err.decode())
    equal(dumped(recorded.trace, "SWITCH"), [], "turns")
    info = execute([BTREC, "info", recorded.trace]).out.decode()
    check("threads of a process ran side by side" in info and "not possible: threads ran side by side" in info, info)
    check(report(recorded.trace)["trace"]["parallel"], "the report's JSON does not say it")


@case("in turns, unless told: the trace says so")
def in_turns():
    recorded = record([program(), "whole"], ["--backend", "engine"])
    equal((recorded.status, recorded.out), (0, b"0 wrong\n"), "end and what was wrong")
    check("side by side" not in execute([BTREC, "info", recorded.trace]).out.decode(), "info")
    check(not report(recorded.trace)["trace"]["parallel"], "JSON")


@case("in turns: who makes a call does not wait for a slice of each that computes")
def in_turns_outnumbered():
    recorded = record([program(), "outnumbered"], ["--backend", "engine"])
    equal((recorded.status, recorded.out), (0, b"0 wrong\n"), "end and what was wrong")
    # 100 calls, 16 that compute: 1600 switches to these, if one waits for each of them. From time to time the caller has used its slice up.
    computed = sum(not line.endswith(" to=1") for line in dumped(recorded.trace, "SWITCH"))
    check(computed < 800, "%d switches to those that compute" % computed)


@case("in turns: a thread takes away what the engine keeps while others run")
def in_turns_taken():
    for name in ("unmapped", "mapped-over"):
        recorded = record([program(name), name], ["--backend", "engine", *KEEP])
        equal((recorded.status, recorded.out), (0, b"0 wrong\n"), name)
        history_holds(recorded.trace)


@case("--parallel does not go with the stepper: one line, 125")
def not_stepped():
    refused = record(["/bin/true"], ["--backend", "step", "--parallel"])
    equal((refused.status, refused.own_err.count("\n")), (125, 1), "status, lines")
    check("--parallel does not go with --backend step" in refused.own_err, refused.own_err)
    for options in (["--parallel"], ["--parallel", "--backend", "pmu", "--source", "none"], ["--parallel", "--history", "off"]):
        equal(record(["/bin/true"], options).status, 0, " ".join(options))


@case("a crash among threads that run: the stacks and histories of all")
def crash():
    alone, recorded = same_as_native([program(), "crashes"], OPTIONS)
    seen = report(recorded.trace)
    equal((seen["fault"]["signal"], seen["threads"][0]["stack"][0]["function"]), ("SIGSEGV", "crash"), "fault")
    equal(len(seen["threads"]), 6, "threads")
    spinning = [t["stack"] for t in seen["threads"] if t["stack"][0]["function"] in ("spin_until_done", "deep")]
    equal(len(spinning), 4, "threads in their loops")
    for n, stack in enumerate(sorted(spinning, key=len)):
        equal(sum(f["function"] in ("spin_until_done", "deep") for f in stack) - (stack[0]["function"] == "spin_until_done"), n + 2, "calls of deep()")
    equal(seen["verdict"]["state"], "consistent", "verdict")
    history_holds(recorded.trace)


VSYSCALL_TIME = 0xffffffffff600400
WAYS = [["--parallel"], ["--parallel", "--history", "off"], [], ["--history", "off"], ["--backend", "step"]]


def answered_elsewhere(call, deed, options, **kw):
    """A recording of a thread whose call waits for the answer of another, which does something before. At most a minute."""
    program = build("answered_elsewhere.c", "-pthread", *STATIC, "-I" + SOURCE)
    alone = native([program, "thread", call])
    if alone.status == 77:
        raise Skip("no notifications, or no vsyscall page")
    equal((alone.status, alone.out), (0, b"1234\n1235\n"), "natively")
    return record([program, "thread", call, deed], ["-q", *options], timeout=60, **kw)


def waiting(seen, call, what):
    """That of two threads one waits in that call."""
    calls = [t["in_syscall"] or int(t["registers"]["rip"], 16) for t in seen["threads"]]
    equal(len(calls), 2, "threads, " + what)
    check(calls[1] == {"page": VSYSCALL_TIME, "call": "time"}[call], "where the other waits, %s: %s" % (what, calls))


@case("a thread that waits for another's answer to its call, of the vsyscall page, too, while that crashes: both are in the moment")
def waits_for_a_crash():
    for call in "page", "call":
        for options in WAYS:
            recorded = answered_elsewhere(call, "crashes", options)
            equal(recorded.status, -signal.SIGSEGV, "end, %s %s" % (call, options))
            waiting(report(recorded.trace), call, "%s %s" % (call, options))


@case("the same, while that asks for a snapshot, and while it changes the code that it runs: the call is answered as without")
def waits_for_more():
    for call in "page", "call":
        for options in WAYS:
            for deed in "snap", "code":
                recorded = answered_elsewhere(call, deed, options)
                equal((recorded.status, recorded.out), (0, b"1234\n1235\n"), "end and output, %s %s %s" % (call, deed, options))
                if deed == "snap":
                    waiting(report(recorded.trace, "--snapshot", 1), call, "%s %s" % (call, options))


@case("the same, while that crashes: there is a core file")
def waits_for_a_core():
    need_core_files()
    folder = fresh_dir("core")
    setup = lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    recorded = answered_elsewhere("page", "crashes", ["--parallel"], cwd=folder, setup=setup)
    equal((recorded.status, len(glob.glob(os.path.join(folder, "core*")))), (-signal.SIGSEGV, 1), "end, core files")


@case("threads that crash at once: one death, one fatal snapshot")
def crashes():
    for _ in range(3):
        alone, recorded = same_as_native([program(), "crash-at-once"], [*OPTIONS, "--history", "50000"])
        seen = report(recorded.trace)
        equal(seen["fault"]["signal"], "SIGSEGV", "signal")
        equal([s["kind"] for s in seen["snapshots"]].count("fatal"), 1, "fatal snapshots")
        ticks = sorted(int(t["ticks"]) for t in seen["threads"])[1:] # but the one that waits for them
        check(len(ticks) == 4 and ticks[0] > 100000, "threads are shown as they were long before: %s" % ticks)
        equal(seen["verdict"]["state"], "consistent", "verdict")
        history_holds(recorded.trace)


@case("what each thread did is what it does when it is stepped")
def as_stepped():
    def of_threads(options):
        recorded = record([built, "alone"], [*options, "--deterministic", "--snap-exit", "always"])
        equal((recorded.status, recorded.out), (0, b"0 wrong\n"), "end")
        rows = {}
        for task, _, kind, taken, source, target in branches(recorded.trace):
            if task > 1 and start <= source < end:
                rows.setdefault(task, []).append((kind, taken, source, target))
        return rows

    built = build("parallel.c", "-pthread", "-mcx16", *STATIC, name="parallel-static")
    listing = subprocess.run(["nm", "-S", built], stdout=subprocess.PIPE, check=True).stdout.decode()
    found = re.search(r"^([0-9a-f]+) ([0-9a-f]+) t steer$", listing, re.M)
    start = int(found.group(1), 16)
    end = start + int(found.group(2), 16)
    stepped, here = of_threads(["--backend", "step"]), of_threads(OPTIONS)
    equal((len(stepped), sorted(map(len, stepped.values()))[0] > 1000), (4, True), "threads that are stepped, with enough branches")
    equal(sorted(here.values()), sorted(stepped.values()), "branches of the threads")


@case("a snapshot of threads that run and wait, asked for; then a signal ends them")
def asked_for():
    trace = fresh("trace")
    recorder = start([BTREC, "run", "-q", "-o", trace, *OPTIONS, "--history", "50000", "--", program(), "goes-on"], cwd=TMP)
    equal(recorder.stdout.readline(), b"goes on\n", "what the program says")
    below = recorder_of(recorder)
    with open("/proc/%d/task/%d/children" % (below, below)) as file:
        pid = int(file.read().split()[0])
    for _ in range(2):
        result = execute([BTREC, "snap", str(pid)])
        equal((result.status, result.err), (0, b""), "snap")
    os.kill(pid, signal.SIGTERM)
    equal(recorder.wait(TIMEOUT), -signal.SIGTERM, "end")
    seen = report(trace)
    equal([s["kind"] for s in seen["snapshots"]].count("request"), 2, "snapshots asked for")
    equal(len(seen["threads"]), 5, "threads")
    equal(seen["verdict"]["state"], "consistent", "verdict")
    history_holds(trace)


@case("threads that run and wait are killed")
def killed():
    recorder = start([BTREC, "run", "-q", "-o", fresh("trace"), *OPTIONS, "--", program(), "goes-on"], cwd=TMP)
    equal(recorder.stdout.readline(), b"goes on\n", "what the program says")
    below = recorder_of(recorder)
    with open("/proc/%d/task/%d/children" % (below, below)) as file:
        pid = int(file.read().split()[0])
    os.kill(pid, signal.SIGKILL)
    equal(recorder.wait(TIMEOUT), -signal.SIGKILL, "end")
    equal(recorder.stderr.read(), b"", "what btrec says")


def need(name):
    if not shutil.which(name):
        raise Skip(name + " is not installed")


@case("a child whose code cache cannot be made, and which faults: an ordinary user's process that is not dumpable")
def undumpable():
    need_root()
    folder = fresh_dir("nobody", 0o777)
    program, tool = (shutil.copy(path, folder) for path in (build("undumpable.c"), BTREC))
    user = dict(user=65534, group=65534, extra_groups=[], cwd=folder)
    alone = native([program], **user)
    for options in [], ["--parallel"]:
        recorded = execute([tool, "run", "-q", *options, "-o", os.path.join(folder, "trace%d" % len(options)), "--", program], env=dict(os.environ, HOME=folder), **user)
        equal((recorded.status, recorded.out), (alone.status, alone.out), "end " + " ".join(options))


@case("node: a worker thread, timers, many small objects")
def node():
    need("node")
    script = os.path.join(fresh_dir("node"), "a.js")
    with open(script, "w") as file:
        file.write("""
const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");
function work(n) {
  let o = {};
  for (let i = 0; i < n; i++) o["k" + i % 997] = (o["k" + i % 997] || 0) + i;
  return Object.values(o).reduce((a, b) => a + b, 0);
}
if (isMainThread) {
  let left = 2, sum = 0;
  for (let i = 0; i < 2; i++)
    new Worker(__filename, { workerData: 20000 + i }).on("message", m => { sum += m; if (!--left) console.log(sum); });
  setTimeout(() => {}, 1);
  work(20000);
} else parentPort.postMessage(work(workerData));
""")
    same_as_native(["node", script], ["-q", *OPTIONS])


@case("java: threads of a pool, and the collector's")
def java():
    need("java")
    need("javac")
    folder = fresh_dir("java")
    with open(os.path.join(folder, "A.java"), "w") as file:
        file.write("""
import java.util.*; import java.util.concurrent.*;
public class A { public static void main(String[] a) throws Exception {
  ExecutorService pool = Executors.newFixedThreadPool(3);
  List<Future<Long>> all = new ArrayList<>();
  ConcurrentHashMap<Integer, Long> map = new ConcurrentHashMap<>();
  for (int i = 0; i < 12; i++) { final int n = i; all.add(pool.submit(() -> { long s = 0;
    for (int k = 0; k < 20000; k++) { s = s * 31 + (k ^ n); map.merge(k % 101, 1L, Long::sum); } return s; })); }
  long t = 0; for (Future<Long> f : all) t += f.get(); pool.shutdown(); System.gc();
  System.out.println(t + " " + map.values().stream().mapToLong(x -> x).sum()); } }
""")
    equal(subprocess.run(["javac", "A.java"], cwd=folder).returncode, 0, "javac")
    same_as_native(["java", "-cp", folder, "A"], ["-q", *OPTIONS], timeout=240)


@case("Go: goroutines, a mutex, the collector")
def go():
    need("go")
    folder = fresh_dir("go")
    with open(os.path.join(folder, "a.go"), "w") as file:
        file.write("""
package main
import ("fmt"; "runtime"; "sync")
func main() {
	runtime.GOMAXPROCS(4)
	var m sync.Mutex
	var all sync.WaitGroup
	n, s := 0, make([][]byte, 8)
	for i := range s {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			for k := 0; k < 5000; k++ { m.Lock(); n += i; m.Unlock(); if k%100 == 0 { s[i] = make([]byte, 10000) } }
		}(i)
	}
	all.Wait()
	runtime.GC()
	fmt.Println(n, len(s[7]))
}
""")
    made = subprocess.run(["go", "build", "-o", "a", "a.go"], cwd=folder, env=dict(os.environ, HOME=folder, GO111MODULE="off"))
    equal(made.returncode, 0, "go build")
    same_as_native([os.path.join(folder, "a")], ["-q", *OPTIONS])


@case("side by side: every case is tried")
def all_tried():
    found = native([program()]).out.decode().split() + native([program(CODE[0])]).out.decode().split()
    equal(sorted(found), sorted(QUIET + CRASHES + ENDLESS), "cases")


main(sanitized=3)
