#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Moments at the entries of functions that are first signs of failure: what reports the failure may overwrite the history, and the report
# shows how the program came there all the same.
from e2e import *

SOURCES = {
    "asserts.c": r"""
        #include <assert.h>
        #include <signal.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static void handle(int number) { (void)number; for (volatile int i = 0; i < 3000; i++) ; _exit(4); }
        static int check(int n) { assert(n > 5); return n; }
        int main(int argc, char **argv)
        {
            if (argc > 1 && !strcmp(argv[1], "child")) {
                if (!fork())
                    check(argc);
                int status;
                wait(&status);
                return WIFSIGNALED(status) ? 7 : 0;
            }
            if (argc > 1 && !strcmp(argv[1], "exec")) {
                execl(argv[0], argv[0], (char *)0);
                return 9;
            }
            signal(SIGABRT, handle);
            return check(argc);
        }
        """,
    "throws.cc": r"""
        #include <cstdio>
        #include <cstdlib>
        #include <stdexcept>
        #include <string>
        #include <thread>
        static int parse(const std::string &text)
        {
            if (text.empty())
                throw std::invalid_argument("empty");
            return text[0] == 'x';
        }
        static int times(int n)
        {
            int caught = 0;
            for (int i = 0; i < n; i++)
                try { parse(i % 2 ? "x" : ""); } catch (const std::exception &) { caught++; }
            return caught;
        }
        int main(int argc, char **argv)
        {
            if (argc > 2) {
                int n = atoi(argv[1]);
                std::thread one([n] { std::printf("%d\n", times(n)); });
                one.join();
                std::printf("%d\n", times(n));
                return 0;
            }
            if (argc > 1) {
                std::printf("%d\n", times(atoi(argv[1])));
                return 0;
            }
            try { return parse(""); } catch (const std::exception &e) { std::fprintf(stderr, "%s\n", e.what()); return 1; }
        }
        """,
    "loops.c": r"""
        #include <stdlib.h>
        #include <unistd.h>
        int main(int argc, char **argv)
        {
            int n = argc > 1 ? atoi(argv[1]) : 0;
            if (argc > 2) {
                execl(argv[2], argv[2], argv[1], (char *)0);
                return 9;
            }
            for (volatile int i = 0; i < n; i++)
                ;
            abort();
        }
        """,
    "what.cc": r"""
        #include <stdexcept>
        #include <string>
        #include <cstring>
        struct Plain : std::runtime_error { using std::runtime_error::runtime_error; };
        struct Deep : Plain { using Plain::Plain; };
        struct Own : std::runtime_error { std::string own; Own(const char *t) : std::runtime_error(t), own(std::string("own ") + t) {} const char *what() const noexcept override { return own.c_str(); } };
        struct OfOwn : Own { using Own::Own; };
        struct Range : std::out_of_range { using std::out_of_range::out_of_range; };
        int main(int argc, char **argv)
        {
            const char *way = argc > 1 ? argv[1] : "";
            if (!strcmp(way, "plain")) throw Plain("base text");
            if (!strcmp(way, "deep")) throw Deep("base text");
            if (!strcmp(way, "own")) throw Own("base text");
            if (!strcmp(way, "of-own")) throw OfOwn("base text");
            if (!strcmp(way, "range")) throw Range("base text");
            throw std::runtime_error("base text");
        }
        """,
    "asan.c": r"""
        #include <stdlib.h>
        static int use(int *p, int n) { return p[n]; }
        int main(int argc, char **argv) { int *p = malloc(4 * sizeof *p), n = use(p, argc - 1); if (argc > 1) free(p + 1); free(p); return n ? use(p, 0) : use(p, 0); }
        """,
    "survives.c": r"""
        #include <setjmp.h>
        #include <signal.h>
        #include <stdlib.h>
        #include <sys/time.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static sigjmp_buf back;
        static void handle(int number) { (void)number; siglongjmp(back, 1); }
        static void alarmed(int number) { (void)number; }
        static void give_up(void) { if (!sigsetjmp(back, 1)) abort(); }
        __attribute__((noinline)) void visited(int n) { __asm__ volatile("" :: "r"(n)); }
        int main(int argc, char **argv)
        {
            struct itimerval timer = {{0, 300}, {0, 300}};
            (void)argv;
            signal(SIGABRT, handle);
            signal(SIGALRM, alarmed);
            if (argc > 1) {
                setitimer(ITIMER_REAL, &timer, 0);
                for (int i = 0; i < 20; i++)
                    visited(i);
                return 0;
            }
            for (int i = 0; i < 12; i++)
                give_up();
            if (!fork()) {
                give_up();
                _exit(0);
            }
            wait(0);
            return 0;
        }
        """,
    "virtual.cc": r"""
        struct A { virtual ~A() {} virtual int value() { return 0; } };
        struct B : A { int value() override { return 3; } };
        __attribute__((noinline)) static int use(A *a) { return a->value(); }
        int main(int argc, char **) { B b; int sum = 2147483647; volatile int one = argc > 1; sum += one; return use(&b) == 3 ? sum < 0 : 9; }
        """,
    "tail.c": r"""
        __attribute__((noinline)) void last(int n) { __asm__ volatile("" :: "r"(n)); }
        __attribute__((noinline)) void middle(int n) { last(n + 1); }
        int main(void) { for (int i = 0; i < 5; i++) middle(i); return 0; }
        """,
}


def made(name, *flags):
    source = os.path.join(TMP, name)
    with open(source, "w") as file:
        file.write(SOURCES[name])
    program = source + "-" + "".join(flags).replace("/", "")
    compiler = [os.environ.get("CXX", "g++")] if name.endswith(".cc") else [os.environ.get("CC", "gcc")]
    done = execute([*compiler, "-g", *(flags or ["-O0"]), source, "-o", program])
    equal(done.status, 0, "%s: %s" % (program, done.err))
    return program


def snapshots(trace):
    return [line.strip() for line in text(trace).partition("\nSnapshots\n")[2].partition("\n\n")[0].splitlines()]


def happened(trace):
    return text(trace).partition("\nWhat happened\n")[2].partition("\n\n")[0]


for backend in "engine", "step":
    @case("an assertion that a handler reports, and ends with a status: %s" % backend)
    def handled(backend=backend):
        recorded = record([made("asserts.c")], ["--backend", backend, "--history", "2000"])
        equal(recorded.status, 4, "status")
        said = happened(recorded.trace)
        check("an assertion failed, at check+" in said and "later the process exited with status 4" in said, said)
        line = btview("--headline", "--", recorded.trace).out.decode()
        check(line.startswith("exited with 4: an assertion failed in check asserts.c:"), "in one line: " + line)
        lines = text(recorded.trace).partition("\nLast branches of task")[2]
        check(re.search(r"call +check\+0x\w+ asserts.c:\d+ +-> __assert_fail", lines), lines)
        # abort lies inside it: once is enough
        kept = snapshots(recorded.trace)
        equal(["(%s)" % name in "".join(kept) for name in ("__assert_fail", "abort")], [True, False], "moments: %s" % kept)


@case("the same moment under engine and stepper")
def same_moment():
    points = []
    for backend in "engine", "step":
        found = report(record([made("asserts.c")], ["--backend", backend, "--deterministic"]).trace)
        points.append([(s["kind"], s["ticks"]) for s in found["snapshots"]])
    check(any(kind == "function" for kind, _ in points[0]), points)
    equal(points[0], points[1], "moments")


@case("in a child, and behind an execve")
def elsewhere():
    for how, status in ("child", 7), ("exec", 4):
        recorded = record([made("asserts.c"), how])
        equal(recorded.status, status, how)
        kept = [line.split(":")[0] for line in snapshots(recorded.trace) if "(__assert_fail)" in line]
        equal(len(kept), 1, "moments of %s" % how)


@case("an exception that is caught: the end is what happened, the throw is kept")
def caught():
    recorded = record([made("throws.cc")])
    equal(recorded.status, 1, "status")
    said = happened(recorded.trace)
    check("exit with status 1; its first message to standard error was written" in said and "It threw std::invalid_argument" in said, said)
    kept = [line for line in snapshots(recorded.trace) if "(__cxa_throw)" in line]
    equal(len(kept), 1, "throws kept")
    shown = text(recorded.trace, "--snapshot", kept[0].split(":")[0])
    check("an exception was thrown, at parse+" in shown and "__cxa_throw" in shown.partition("\nStack of task")[2], shown)


@case("a program that ends well is not said to have failed")
def well():
    recorded = record([made("throws.cc"), "10"])
    equal(recorded.status, 0, "status")
    check("no moment of its end was kept: the program ended with 0" in happened(recorded.trace), happened(recorded.trace))


for options_ in [], ["--parallel"], ["--history", "off"]:
    @case("many exceptions: a few are kept, which is said, and the program is as it is natively: %s" % " ".join(options_))
    def many(options=options_):
        for arguments in ["20000"], ["5000", "threads"]:
            recorded = same_as_native([made("throws.cc"), *arguments], options)[1]
            kept = [line for line in snapshots(recorded.trace) if "(__cxa_throw)" in line]
            check(0 < len(kept) <= 64, kept)
            check("__cxa_throw was entered 64 times" in text(recorded.trace), text(recorded.trace))


@case("AddressSanitizer's report does not hide its cause")
def sanitizer():
    program = made("asan.c", "-fsanitize=address")
    # its words are for itself: they would look like the recorder's own sanitizer
    command = ["/bin/sh", "-c", 'exec "$0" "$@" 2>said', program]
    plain = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
    read = record(command, ["--history", "20000"], env=plain)
    check("AddressSanitizer found a bad read, at use+" in happened(read.trace), happened(read.trace))
    freed = record([*command, "x"], ["--history", "20000"], env=plain)
    check("AddressSanitizer found an error, at main+" in happened(freed.trace), happened(freed.trace))


@case("UndefinedBehaviorSanitizer: what it reports, and not what correct programs ask it")
def undefined():
    program = made("virtual.cc", "-fsanitize=undefined")
    command = ["/bin/sh", "-c", 'unset UBSAN_OPTIONS; exec "$0" "$@" 2>said', program]
    equal([line for line in snapshots(record(command, ["--snap-exit", "always"]).trace) if "(__ubsan" in line], [], "moments")
    # the last line has the program's words, which would look like the recorder's own sanitizer
    kept = snapshots(record([*command, "overflow"], ["--quiet"]).trace)
    equal(len([line for line in kept if "(__ubsan_handle_)" in line]), 1, "moments: %s" % kept)


@case("a child has a budget of its own")
def child():
    found = report(record([made("survives.c")]).trace)
    tasks = [s["task"] for s in found["snapshots"] if s["kind"] == "function"]
    equal((tasks.count(1), tasks.count(2)), (8, 1), "moments of the process, of its child")


@case("a signal that comes while a moment is kept makes no second one")
def interrupted():
    recorded = record([made("survives.c"), "timer"], ["--snap-at-function", "visited"])
    equal(sum(s["kind"] == "request" for s in report(recorded.trace)["snapshots"]), 20, "moments")


@case("functions that the user names: each entry, also by a jump; what is reached is counted")
def named():
    for flags in ["-O2"], ["-O0"], ["-O2", "-static"]:
        recorded = record([made("tail.c", *flags)], ["--snap-at-function", "last", "--snap-at-function", "middle"])
        kept = [re.search(r"\((\w+)\)", line).group(1) for line in snapshots(recorded.trace)]
        equal(kept, ["middle", "last"] * 5, "kept with %s" % flags)
        shown = text(recorded.trace, "--snapshot", "2")
        check(re.search(r"#0 +last ", shown), shown)


@case("names of C++ as people write them, and with *")
def named_in_cxx():
    for name, times in ("times", 1), ("parse", 4), ("par*", 4), ("parse(std::string const&)", 0):
        recorded = record([made("throws.cc"), "4"], ["--snap-at-function", name])
        equal(sum(s["kind"] == "request" for s in report(recorded.trace, "-n", 10)["snapshots"]), times, "moments of " + name)


@case("--snap-at-function: a name that no file has, and wrong ones")
def unnamed():
    program = made("tail.c", "-O2")
    recorded = record([program], ["--snap-at-function", "lost", "--snap-at-function", "last"])
    equal(recorded.status, 0, "status")
    check(b"--snap-at-function lost: the program and the libraries it loaded have no such function" in recorded.err and b"last:" not in recorded.err, recorded.err)
    empty = execute([BTREC, "run", "--snap-at-function", "", program])
    equal((empty.status, b"--snap-at-function: an empty name" in empty.err), (125, True), "an empty name: %s" % empty.err)
    native_code = execute([BTREC, "run", "--backend", "pmu", "--snap-at-function", "last", program])
    equal((native_code.status, b"--snap-at-function" in native_code.err), (125, True), "--backend pmu: %s" % native_code.err)


@case("code of an earlier recording does not run past the function")
def kept_code():
    program = made("tail.c", "-O2")
    for _ in range(4):
        record([program])
    recorded = record([program], ["--snap-at-function", "last"])
    equal(len(snapshots(recorded.trace)), 5, "moments")
    # caches that processes of one recording leave to one another
    script = "for i in 1 2 3 4 5; do %s; done" % program
    recorded = record(["/bin/sh", "-c", script], ["--snap-at-function", "last"])
    equal(sum(s["kind"] == "request" for s in report(recorded.trace)["snapshots"]), 25, "moments")


@case("ticks since main: the same with more to load, under each backend, behind an execve, and in the text")
def since_main():
    program, found = made("loops.c"), {}

    def since(argv, *options, **kw):
        recorded = record(argv, options, **kw)
        thread = report(recorded.trace, "-n", "1")["threads"][0]
        said = re.search(r", tick (\d+)(?: \((\d+) since main\))?$", happened(recorded.trace).splitlines()[0])
        check(said and (said.group(1), said.group(2)) == (thread["ticks"], thread["ticks_since_main"]), happened(recorded.trace))
        return thread["ticks_since_main"]

    first = since([program, "1000"])
    check(first and int(first) > 1000, first)
    equal(int(since([program, "3000"])) - int(first), 2000, "with 2,000 rounds more")
    more = dict(os.environ, **{"BTREC_OF_NO_USE_%d" % i: "x" * 100 for i in range(200)})
    equal(since([program, "1000"], env=more), first, "with a larger environment")
    for options in ["--backend", "step"], ["--parallel"], ["--snap-at-function", "main"]:
        equal(since([program, "1000"], *options), first, " ".join(options))
    equal(since([program, "1000", program]), first, "behind an execve")
    stripped = made("loops.c", "-s")
    equal(since([program, "1000", stripped]), None, "of a program without symbols, behind one that has them")


for flags_ in ["-O0"], ["-O2", "-static"], ["-O0", "-no-pie"]:
    @case("what an exception says is not claimed of a type that says it itself: %s" % " ".join(flags_))
    def what(flags=flags_):
        program = made("what.cc", *flags)
        rows = [("plain", 'Plain: "base text"'), ("own", "Own"), ("deep", 'Deep: "base text"'), ("range", 'Range: "base text"'), ("", 'std::runtime_error: "base text"'), ("of-own", "OfOwn")]
        for way, thrown in rows if flags == ["-O0"] else rows[:2]:
            said = happened(record([program, way]).trace)
            check(re.search(r"It threw %s, in main" % re.escape(thrown), said), "%s: %s" % (way, said))


if __name__ == "__main__":
    IN_HANDLER = r"""
#include <signal.h>
#include <unistd.h>

static const char *volatile name;

static void on_fault(int signo)
{
	(void)signo;
	_exit(4);
}

static char first(const char *of)
{
	return *of; /* HERE */
}

int main(void)
{
	signal(SIGSEGV, on_fault);
	return first(name);
}
"""


@case("where a handler of a fault ends the program, the line says the place of the fault")
def handler_exits():
    source = os.path.join(TMP, "in_handler.c")
    with open(source, "w") as file:
        file.write(IN_HANDLER)
    here = 1 + IN_HANDLER[:IN_HANDLER.index("HERE")].count("\n")
    subprocess.run([*CC, "-O0", "-g", source, "-o", os.path.join(TMP, "in_handler")], check=True)
    recorded = record([os.path.join(TMP, "in_handler")])
    equal(recorded.status, 4, "status")
    line = btview("--headline", "--", recorded.trace).out.decode()
    check(line.startswith("exited with 4: null read"), line)
    check(re.search(r"in first \S*in_handler\.c:%d$" % here, line.strip()), line)


main()
