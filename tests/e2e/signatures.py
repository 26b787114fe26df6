#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A signature is the same for every build of a program and every run, and another one for another bug.
from concurrent.futures import ThreadPoolExecutor

from e2e import *

NAMES = { # what each bug of signatures.cc is called
    1: "SIGSEGV null pointer: list::sum (signatures.cc) < list::total < main",
    2: "SIGSEGV null pointer: list::sum (signatures.cc) < list::total < square::area < main",
    3: "SIGSEGV wild pointer: each::{lambda}::operator() (signatures.cc) < each < main",
    4: "SIGABRT uncaught std::runtime_error: refuse (signatures.cc) < last < middle < first < main",
    5: "SIGSEGV stack overflow: down < up",
    6: "SIGABRT assertion n != 6: check (signatures.cc) < main",
    7: "SIGABRT assertion n < 7: check (signatures.cc) < main",
    8: "SIGSEGV wrong return address: overwrite (signatures.cc) < main",
    9: "SIGFPE division by zero, or overflow: divide (signatures.cc) < main",
    10: "SIGSEGV call of a null pointer: call (signatures.cc) < main",
    11: "SIGABRT corrupt heap: give_back_twice (signatures.cc) < main",
    12: "SIGSEGV null pointer: leaf (signatures.cc) < main",
    13: "SIGSEGV null pointer: length_of (signatures.cc) < main",
    14: "SIGSEGV read-only memory: write_constant (signatures.cc) < main",
    15: "exit 3: give_up (signatures.cc) < main",
}
FLAGS = ["-w", "-fno-stack-protector", "-fno-builtin-strnlen", "-foptimize-sibling-calls", "-fomit-frame-pointer"]


def small_stack():
    resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, resource.RLIM_INFINITY))


def signature(trace):
    line = btview("--signature", trace).out.decode()
    found = re.fullmatch(r"([0-9a-f]{16})  (.+)\n", line)
    check(found, "not a line: " + line)
    return found.groups()


def builds():
    """Each compiler with and without optimisation, with and without PIE."""
    rows = []
    for compiler in ("g++", "clang++"):
        if shutil.which(compiler):
            rows += [(compiler, "-O0", "-fPIE", "-pie"), (compiler, "-O2", "-fno-pie", "-no-pie", "-DMOVED")]
    if rows and shutil.which("clang++"):
        rows.append(("clang++", "-O2", "-fPIE", "-pie"))
    if not rows:
        raise Skip("neither g++ nor clang++ is there")
    return rows


def of_build(build_row, bugs):
    compiler, *flags = build_row
    program = build("signatures.cc", *FLAGS, *flags, compiler=[compiler])
    return {bug: signature(record([program, str(bug)], setup=small_stack).trace) for bug in bugs}


@case("one bug has one signature, in builds of gcc and clang, optimised or not, PIE or not")
def equal_for_one_bug():
    rows = builds()
    bugs = list(NAMES)
    with ThreadPoolExecutor(2) as pool:
        # The first two have all bugs, each of the others a part of them.
        found = list(pool.map(of_build, rows, [bugs] * 2 + [bugs[::2], bugs[1::2], bugs[::4]]))
    for row, signatures in zip(rows, found):
        for bug, (_, text_) in signatures.items():
            equal(text_, NAMES[bug], "bug %d by %s" % (bug, " ".join(row)))
            equal(signatures[bug][0], found[0][bug][0], "hash of bug %d by %s" % (bug, " ".join(row)))
    equal(len({hash_ for hash_, _ in found[0].values()}), len(NAMES), "different signatures")


@case("a deadlock of Go: the functions of main's goroutine, which no thread has")
def goroutines():
    if not shutil.which("go"):
        raise Skip("go is missing")
    folder = fresh_dir("go")
    with open(os.path.join(folder, "app.go"), "w") as file:
        file.write("""package main
import ("os"; "sync")
type store struct { lock sync.Mutex }
//go:noinline
func (s *store) save() { s.lock.Lock(); s.lock.Lock() }
//go:noinline
func produce(out chan<- int) { out <- 1 }
func main() {
	if len(os.Args) > 1 { (&store{}).save() }
	produce(make(chan int))
}
""")
    program = os.path.join(folder, "app")
    done = execute(["go", "build", "-o", program, "app.go"], cwd=folder, env=dict(os.environ, GO111MODULE="off", GOCACHE=os.path.join(TMP, "gocache")))
    equal(done.status, 0, "build: %s" % done.err)
    found = {}
    for arguments, functions in ([], "main.produce (app.go) < main.main"), (["lock"], "main.(*store).save (app.go) < main.main"):
        trace = record([program, *arguments], ["-q"]).trace
        hash_, text_ = signature(trace)
        equal(text_, "exit 2 Go runtime error: all goroutines are asleep - deadlock: " + functions, "signature")
        found[hash_] = text_
        check(re.search(r"; goroutine 1 was at main\.\S+ \(app\.go:[57]\); later the process exited with status 2\n", text(trace)), text(trace))
        equal(btview("--headline", trace).out.decode().strip(), "exited with 2: Go runtime error: all goroutines are asleep - deadlock", "headline")
    equal(len(found), 2, "different signatures")


@case("the JSON has it, too")
def in_json():
    trace = record([build("signatures.cc", *FLAGS, "-O0"), "9"]).trace
    found = report(trace, "-n", "9")
    fits_schema(found, "report.schema.json")
    hash_, text_ = signature(trace)
    equal(found["signature"], {"hash": hash_, "text": text_, "kind": "SIGFPE division by zero, or overflow", "file": "signatures.cc", "functions": ["divide", "main"]}, "signature")


@case("without a failure there is none, and a status says so")
def none():
    trace = record(["true"]).trace
    result = execute([BTVIEW, "--signature", trace])
    equal((result.status, result.out), (1, b""), "end")
    check(b"nothing has failed" in result.err, result.err)
    equal(report(trace, "-n", "9")["signature"], None, "signature")
    equal(execute([BTVIEW, "--signature", "-n", "1", trace]).status, 2, "with a filter")


@case("a fault that a handler has ended the program for has its signature")
def handled():
    source = os.path.join(TMP, "handled.c")
    with open(source, "w") as file:
        file.write(r"""
            #include <signal.h>
            static int *volatile nothing;
            static void handle(int number) { signal(number, SIG_DFL); raise(number); }
            static int fails(void) { return *nothing; }
            int main(int argc, char **argv) { (void)argv; if (argc > 1) signal(SIGSEGV, handle); return fails(); }
            """)
    program = os.path.join(TMP, "handled")
    equal(execute([*CC, "-g", source, "-o", program]).status, 0, "build")
    plain, with_handler = signature(record([program]).trace), signature(record([program, "x"]).trace)
    equal(plain[1], "SIGSEGV null pointer: fails (handled.c) < main", "signature")
    equal(with_handler, plain, "signature with a handler")


@case("btrec list --group signature puts failures of one bug together, the most frequent first")
def groups():
    home = fresh_dir("home")
    program = build("signatures.cc", *FLAGS, "-O0")
    traces = []
    for argument in ("9", "12", "9", "0"):
        traces.append(os.path.join(home, "t%d" % len(traces)))
        execute([BTREC, "run", "-q", "-o", traces[-1], "--", program, argument])
    os.mkdir(os.path.join(home, "damaged"))
    with open(os.path.join(home, "damaged", "events"), "wb") as file:
        file.write(b"BTREC")
    environment = dict(os.environ, BTREC_TRACE_DIR=home)
    listed = execute([BTREC, "list", "--group", "signature"], env=environment)
    equal(listed.status, 0, listed.err.decode())
    lines = listed.out.decode().splitlines()
    found = [(*re.fullmatch(r" *(\d+)  [\d-]+ [\d:]+  (.*)", line).groups(), place.strip()) for line, place in zip(lines[::2], lines[1::2])]
    equal(found[0], ("2", "  ".join(signature(traces[2])), traces[2]), "the most frequent")
    equal(sorted(found[1:])[:2], sorted([("1", "  ".join(signature(traces[1])), traces[1]), ("1", "no failure", traces[3])]), "the others")
    equal(execute([BTREC, "list", "--group", "size"], env=environment).status, 2, "another group")
    equal(execute([BTREC, "list", "--group", "signature"], env=dict(environment, BTREC_TRACE_DIR=fresh_dir("none"))).status, 1, "no traces")


@case("without debug information functions have names, without symbols the program has one")
def stripped():
    flags = ["-fno-optimize-sibling-calls", "-g0"]
    equal(signature(record([build("signatures.cc", *FLAGS, *flags, "-O0"), "12"]).trace)[1], "SIGSEGV null pointer: leaf (signatures) < main", "without -g")
    equal(signature(record([build("signatures.cc", *FLAGS, *flags, "-O0", "-s"), "12"]).trace)[1], "SIGSEGV null pointer: signatures (signatures)", "with -s")


RACE = r"""
#include <pthread.h>

static long count;

static void *add(void *arg)
{
	for (int i = 0; i < 1000; i++)
		count++;
	return arg;
}

int main(void)
{
	pthread_t one, two;

	pthread_create(&one, 0, add, 0);
	pthread_create(&two, 0, add, 0);
	pthread_join(one, 0);
	pthread_join(two, 0);
	return 0;
}
"""


@case("a data race has one signature, wherever its source lies and on whichever line")
def race():
    found = []
    for lines in (0, 3):
        folder = fresh_dir("race")
        source = os.path.join(folder, "race.c")
        with open(source, "w") as file:
            file.write("\n" * lines + RACE)
        if subprocess.run([*CC, "-g", "-fsanitize=thread", source, "-o", os.path.join(folder, "race"), "-pthread"], stderr=subprocess.DEVNULL).returncode:
            raise Skip("no ThreadSanitizer")
        recorded = record([os.path.join(folder, "race")], ["--quiet"])
        if b"data race" not in recorded.err:
            raise Skip("ThreadSanitizer does not run here")
        found.append(signature(recorded.trace))
    equal(found[0], found[1], "signatures")
    check("race.c" not in found[0][1].split("(")[0], found[0][1])


main()
