#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# btview's terminal viewer as its users meet it: that it says what the text report says, opens on source that can be read, that each key at
# three sizes leaves it standing, and so do many random ones, also in a storm of sizes. Screens are compared in btview_tmux.sh.
import fcntl
import pty
import random
import select
import struct
import termios

from e2e import *
import perf_made as perf

KEYS_DEF = os.path.join(HERE, "..", "..", "tui", "keys.def")
SIZES = (80, 24), (150, 50), (40, 12)
RANDOM_KEYS = int(os.environ.get("RANDOM_KEYS", "10000"))
RANDOM_SECONDS = float(os.environ.get("RANDOM_SECONDS", "20"))

LIBRARY_CRASH = r"""
#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct entry { const char *name; };
static struct entry entries[4] = {{"one"}, {"two"}, {"three"}, {0}};

static size_t measure(const struct entry *e) { return strlen(e->name); }

int main(void)
{
	size_t sum = 0;

	open("/nonexistent/config", O_RDONLY);
	for (int i = 0; i < 4; i++)
		sum += measure(&entries[i]); /* the last has no name */
	return (int)sum;
}
"""

THREADS_CRASH = r"""
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static volatile int handled, *nowhere;
static void handle(int signo) { handled = signo; }
static void *wait_for_ever(void *p) { for (;;) pause(); return p; }

int main(void)
{
	pthread_t t[2];

	signal(SIGUSR1, handle);
	raise(SIGUSR1);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], 0, wait_for_ever, 0);
	usleep(20000);
	*nowhere = 1;
	return 0;
}
"""

MANY_THREADS_CRASH = r"""
#include <pthread.h>
#include <unistd.h>

static volatile int *nowhere;
static pthread_barrier_t ready;
static void *work(void *p)
{
	for (volatile int i = 0; i < 60000; i++)
		;
	pthread_barrier_wait(&ready);
	for (;;)
		pause();
	return p;
}

int main(void)
{
	pthread_t t[40];

	pthread_barrier_init(&ready, 0, 41);
	for (int i = 0; i < 40; i++)
		pthread_create(&t[i], 0, work, 0);
	pthread_barrier_wait(&ready);
	*nowhere = 1;
	return 0;
}
"""

LONG_PROGRAM = r"""
void begun_early(void) { __asm__ volatile(""); }
void step(void) { __asm__ volatile(""); }
void _start(void) { begun_early(); step(); for (;;); }
"""


class Screen:
    """A program in a terminal of tmux."""

    def __init__(self, argv, columns, rows):
        self.socket = os.path.basename(fresh("viewer")) # each its own: a server that ends takes no new session
        environment = dict(os.environ, LC_ALL="C.UTF-8", TMUX_TMPDIR=TMP)
        environment.pop("TMUX", None)
        self.environment = environment
        self.tmux("new-session", "-d", "-s", "v", "-x", str(columns), "-y", str(rows), *argv)
        self.tmux("set", "status", "off")
        self.tmux("resize-window", "-t", "v", "-x", str(columns), "-y", str(rows))

    def tmux(self, *argv, fails=False):
        done = subprocess.run(["tmux", "-u", "-L", self.socket, "-f", "/dev/null", *argv], env=self.environment, capture_output=True, text=True)
        if done.returncode and not fails:
            raise Failure("tmux %s: %s" % (argv[0], done.stderr.strip() or "the viewer has ended"))
        return done.stdout

    def keys(self, *keys):
        self.tmux("send-keys", "-t", "v", *keys)

    def type(self, text):
        self.tmux("send-keys", "-t", "v", "-l", text)

    def lines(self):
        return self.tmux("capture-pane", "-p", "-t", "v").rstrip("\n").split("\n")

    def until(self, wanted, what):
        """The lines of the screen once they are as wanted."""
        lines = []
        for _ in range(400):
            lines = self.lines()
            if wanted(lines):
                return lines
            time.sleep(0.05)
        raise Failure("%s: the screen shows\n%s" % (what, "\n".join(lines)))

    def title(self, name):
        return self.until(lambda lines: any(line.startswith("[%s]" % name) for line in lines), name)

    def all_lines(self, name):
        """Each line of a view, which has the whole screen."""
        seen, at = [], 1
        self.keys("g")
        while True:
            place = re.compile(r"^\[%s\].* %d/(\d+)$" % (re.escape(name), at))
            lines = self.until(lambda lines: len(lines) > 1 and place.match(lines[-2]), "%s, line %d" % (name, at))
            count = int(place.match(lines[-2]).group(1))
            height = len(lines) - 2
            top = max(0, min(at - 1, count - height))
            seen[top:] = lines[:min(height, count)]
            if at == count:
                return seen
            at = min(count, at + height)
            self.keys("PageDown")

    def end(self):
        self.tmux("kill-server", fails=True)


def need_tmux():
    if not shutil.which("tmux"):
        raise Skip("tmux is missing")


def compile_source(name, source, *options):
    folder = fresh_dir("source")
    path = os.path.join(folder, name + ".c")
    with open(path, "w") as file:
        file.write(source)
    done = execute([*CC, "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", *options, path, "-o", os.path.join(folder, name)])
    equal(done.status, 0, "the compiler's status (%s)" % short(done.err))
    return os.path.join(folder, name)


def record_source(name, source, *options):
    return record([compile_source(name, source, *options)], ["-q"]).trace


def long_history(entries):
    """The arguments that show a capture of so many branches, of a program that calls begun_early() and then step(). The viewer loads the newest 65536
    of them at first where there are eight times as many."""
    program = compile_source("long", LONG_PROGRAM, "-fno-inline", "-nostdlib", "-static", "-no-pie", "-fcf-protection=none")
    at = {line.split()[2]: int(line.split()[0], 16) for line in execute(["nm", program]).out.decode().splitlines() if len(line.split()) == 3}
    event, caller, in_sample = perf.Event("tid", "time", "branches"), at["_start"], 500

    def calls(callee):
        return [(callee, caller + 5, 2), (caller, callee, 2)] * (in_sample // 2) # the newest first

    data = bytearray(event.comm("long", exec=True) + event.mmap(caller & ~0xfff, 0x1000, (caller & 0xfff000) - 0x400000, program))
    data += event.sample(time=1, branches=calls(at["begun_early"]))
    sample = bytearray(event.sample(branches=calls(at["step"])))
    for n in range(entries // in_sample):
        struct.pack_into("<Q", sample, 16, 2 + n) # its time, behind its head, pid and tid
        data += sample
    capture, trace = fresh("capture"), fresh("trace")
    with open(capture, "wb") as file:
        file.write(perf.file_mode([event], bytes(data)))
    done = execute([BTREC, "import", "-q", "-o", trace, capture])
    equal(done.status, 0, "the status of import (%s)" % short(done.err))
    return ["--symbols", program, trace] # the capture has no build-id


def sections(report):
    """The report's text by its headings."""
    found, heading = {"": []}, ""
    for line in report.split("\n"):
        if line and not line.startswith(" ") and heading + line and not re.match(r"(Program|Recorded|Ended) ", line):
            heading = line
            found[heading] = []
        elif line:
            found[heading].append(line)
    return found


def spaced(line):
    return re.sub(r" +", " ", line.replace("|", " ")).strip()


def stack_lines(report):
    return [line for heading, lines in sections(report).items() if heading.startswith("Stack of") for line in lines]


def bare(line):
    """A frame without its arguments, which the report leaves out of threads that have the same stack."""
    return re.sub(r"^(  #\d+ +[^ +]+)(\+0x\w+| \(.*\)) ", r"\1 ", line)


def says_the_same(trace):
    report = text(trace)
    screen = Screen([BTVIEW, trace], 300, 60)
    try:
        screen.title("summary")
        screen.keys("c")
        summary = [line.rstrip() for line in screen.all_lines("summary")]
        screen.keys("b")
        screen.title("branches")
        screen.keys("G")
        branches = {spaced(line) for line in screen.lines()}
        screen.keys("r")
        screen.title("registers")
        registers = spaced(" ".join(screen.all_lines("registers")))
        screen.keys("S")
        screen.title("system calls")
        calls = {spaced(line).split(" ", 1)[-1] for line in screen.all_lines("system calls")}
        screen.keys("t")
        screen.title("threads")
        threads = [line.rstrip() for line in screen.all_lines("threads")]
        screen.keys("a")
        screen.until(lambda lines: lines[-1].startswith("frames of libraries are shown"), "the frames of libraries")
        unfolded = [line.rstrip() for line in screen.all_lines("threads")]
    finally:
        screen.end()
    lacking = []
    whole = text(trace, "--all")
    for report_text, seen in (report, threads), (whole, unfolded):
        frames = stack_lines(report_text)
        bare_ones = set(map(bare, seen))
        check(any(line.startswith("  #") for line in frames), "the report has no stack:\n%s" % report_text)
        lacking += [line for line in frames if line not in seen and bare(line) not in bare_ones]
    check(any("frames of libraries" in line for line in threads) and len(unfolded) > len(threads), "nothing is folded:\n%s" % "\n".join(threads))
    for heading, lines in sections(report).items():
        if heading.startswith("Registers"):
            for name, value in re.findall(r"(\w+) +([0-9a-f]{16})", " ".join(lines)):
                if not re.search(r"\b%s\b\W+(0x)?0*%x\b" % (name, int(value, 16)), registers):
                    lacking.append("%s %s" % (name, value))
        elif heading.startswith("Last branches"):
            words = [line for line in lines if line.startswith("  ") and re.match(r"  [A-Z]", line)]
            lacking += [line for line in words if line not in summary and "--all" not in line]
            lacking += [line for line in lines if line not in words and spaced(line) not in branches]
        elif heading.startswith("Last system calls"):
            lacking += [line for line in lines if spaced(line) not in calls]
        else:
            lacking += [line for line in [heading] * bool(heading) + lines if line not in summary]
    check(not lacking, "the viewer lacks:\n%s\nits summary:\n%s" % ("\n".join(lacking), "\n".join(summary)))


@case("the viewer says what the report says")
def the_viewer_says_what_the_report_says():
    need_tmux()
    for name, source, options in ("library", LIBRARY_CRASH, ["-fno-builtin"]), ("threads", THREADS_CRASH, ["-pthread"]):
        says_the_same(record_source(name, source, *options))


@case("it opens on the first source that can be read")
def it_opens_on_the_first_source_that_can_be_read():
    need_tmux()
    trace = record_source("opens", LIBRARY_CRASH, "-fno-builtin")
    screen = Screen([BTVIEW, trace], 120, 40)
    try:
        lines = screen.until(lambda lines: any("> static size_t measure" in line for line in lines), "the source pane")
        check(any("null pointer" in line for line in lines), "what happened is not on the first screen:\n%s" % "\n".join(lines))
        screen.keys("Enter") # on the caller: its call in the history
        screen.until(lambda lines: any(line.startswith("[branches]") for line in lines) and any("> static size_t measure" in line for line in lines)
                     and any(re.match(r"\[branches\].* 7/9$", line) for line in lines), "the call")
    finally:
        screen.end()


INLINED_CRASH = r"""
#include <vector>
__attribute__((noipa)) int note(std::vector<int> *sizes, int size)
{
	sizes->push_back(size); // HERE
	return size;
}
int main(int argc, char **)
{
	return note(nullptr, argc);
}
"""


@case("where a function of the C++ library is inlined, it opens on the user's own line, and the report shows that line")
def it_opens_on_the_users_own_line():
    need_tmux()
    source = os.path.join(fresh_dir("inlined"), "inlined.cc")
    with open(source, "w") as file:
        file.write(INLINED_CRASH)
    program = source[:-3]
    equal(execute([*CXX, "-g", "-O2", source, "-o", program]).status, 0, "build")
    trace = record([program], ["-q"]).trace
    check(re.search(r"\nWhere\n(  std::.*\n)+  note\(.*/inlined\.cc:5 in inlined\n  5: sizes->push_back\(size\); // HERE\n", text(trace)), text(trace))
    screen = Screen([BTVIEW, trace], 120, 40)
    try:
        screen.until(lambda lines: any(re.search(r"\b5 > +sizes->push_back\(size\); // HERE", line) for line in lines), "the source pane")
    finally:
        screen.end()


@case("24 lines show what happened and the user's frame at once, and name the keys that lead on")
def what_happened_fits_24_lines():
    need_tmux()
    screen = Screen([BTVIEW, record_source("low", LIBRARY_CRASH, "-fno-builtin")], 80, 24)
    try:
        lines = screen.until(lambda lines: any("> static size_t measure" in line for line in lines), "the source pane")
        shown = "\n".join(lines)
        check(re.search(r"SIGSEGV[^$]*a null pointer[^$]*\n  measure\b.* /[^$]*low\.c:9\b", shown), "what happened, and its frame, are not there:\n%s" % shown)
        check("b branches" in lines[-1] and lines[-1].endswith("h help  q close"), "the bottom line: %r" % lines[-1])
        screen.keys("G")
        screen.until(lambda lines: any(line.startswith("  b shows them") for line in lines), "where the branches are")
        screen.keys("b")
        screen.until(lambda lines: "u caller" in lines[-1], "the keys of the branches")
    finally:
        screen.end()


def cursor(lines, name):
    """The number of the cursor's line in a view, and how many there are."""
    for line in lines:
        found = re.match(r"\[%s\].* (\d+)/(\d+)$" % re.escape(name), line)
        if found:
            return int(found.group(1)), int(found.group(2))
    return 0, 0


@case("a search finds what is folded, and unfolds it")
def a_search_finds_what_is_folded():
    need_tmux()
    screen = Screen([BTVIEW, record_source("folded", LIBRARY_CRASH, "-fno-builtin")], 150, 50)
    try:
        screen.title("summary")
        screen.keys("b", "G")
        before = cursor(screen.title("branches"), "branches")[1]
        check(not any("_start+0x3" in line for line in screen.lines()), "the start is not folded")
        screen.type("/_start\\+0x3 ")
        screen.keys("Enter")
        screen.until(lambda lines: any(re.match(r" *0  call +_start\+0x3 ", line) for line in lines) and cursor(lines, "branches")[1] > before, "the first branch")
        screen.keys("f", "f")
        screen.until(lambda lines: cursor(lines, "branches")[1] == before, "folded again")
    finally:
        screen.end()


@case("goto, filter, the tree of calls, moments")
def ways():
    need_tmux()
    screen = Screen([BTVIEW, record_source("ways", THREADS_CRASH, "-pthread")], 150, 50)
    try:
        screen.title("summary")
        screen.keys("[")
        screen.until(lambda lines: lines[-1].startswith("moment 1 of 2"), "the moment before")
        screen.keys("[")
        screen.until(lambda lines: lines[-1].startswith("no moment before"), "the first moment")
        screen.keys("]")
        screen.until(lambda lines: lines[-1].startswith("moment 2 of 2"), "the next moment")
        screen.type("b:handle")
        screen.keys("Enter")
        screen.until(lambda lines: any("[source]" in line for line in lines) and any("> static void handle" in line for line in lines), "a function")
        screen.type(":ways.c:%d" % (1 + THREADS_CRASH.split("\n").index("\traise(SIGUSR1);")))
        screen.keys("Enter")
        screen.until(lambda lines: any(">         raise(SIGUSR1)" in line for line in lines), "a line")
        screen.type(":no_such_function")
        screen.keys("Enter")
        screen.until(lambda lines: lines[-1].startswith("not in this history"), "no function")
        screen.type("&kind:call function:main")
        screen.keys("Enter")
        lines = screen.until(lambda lines: any("only kind:call function:main" in line for line in lines), "the filter")
        rows = [line for line in lines[:[line.startswith("[branches]") for line in lines].index(True)] if line.strip() and "=>" not in line]
        check(rows and all(re.search(r"\bcall\b.*\bmain\b", line) or "loop" in line for line in rows), "the filter shows\n%s" % "\n".join(rows))
        screen.keys("&", "Enter")
        screen.until(lambda lines: any(line.startswith("[branches]") and "only" not in line for line in lines), "no filter")
        screen.type("&thread:2")
        screen.keys("Enter")
        screen.until(lambda lines: any(line.startswith("[branches] of task 2") for line in lines), "another thread")
        screen.type("&kind:nosuchkind")
        screen.keys("Enter")
        screen.until(lambda lines: lines[-1].startswith("no branch passes"), "nothing passes")
        screen.type("&thread:1")
        screen.keys("Enter", "T")
        screen.until(lambda lines: any("main" in line and "has not returned" in line for line in lines), "the calls")
        screen.keys("C-c")
        screen.until(lambda lines: lines[-1].startswith("nothing runs"), "^C")
    finally:
        screen.end()


@case("--function finds what lies before the part of a history that is loaded at first")
def a_function_is_found_before_the_first_part():
    need_tmux()
    arguments = long_history(600000)
    screen = Screen([BTVIEW, "--function", "begun_early", *arguments], 150, 50)
    try:
        screen.until(lambda lines: any("[branches]" in line for line in lines) and any(re.search(r"branch +begun_early long.c:2", line) for line in lines), "the function")
    finally:
        screen.end()
    screen = Screen(["sh", "-c", '"$0" --function nosuchfunction "$@"; echo status $?; sleep 60', BTVIEW, *arguments], 150, 50)
    try:
        screen.until(lambda lines: "status 1" in lines, "no such function")
    finally:
        screen.end()


COUNTING_CRASH = r"""
#include <stdlib.h>
int main(void)
{
	for (volatile int i = 0; i < 2200000; i++)
		;
	abort();
}
"""


@case("of a long history that is checked the newest million is read and checked at first, and all when it is wanted; the summary says which")
def judged_in_part():
    need_tmux()
    trace = record([compile_source("counting", COUNTING_CRASH)], ["-q", "--history", "4194304"]).trace
    whole = re.search(r"\(\d+ of (\d+) checked\)", text(trace))
    check(whole and int(whole.group(1)) > 1 << 21, "the report does not check all")

    def has(words):
        return lambda lines: words in spaced(" ".join(lines))

    screen = Screen([BTVIEW, trace], 150, 50)
    try:
        screen.title("summary")
        screen.keys("c", "G")
        screen.until(has("Only the newest %d of them have been read, and this is about these:" % (1 << 20)), "that older ones are not read")
        screen.until(has("(%d of %d checked)" % ((1 << 20) - 1, 1 << 20)), "the verdict on the newest")
        screen.keys("b", "g")
        screen.until(has("loop 2199999 rounds"), "all branches")
        screen.keys("s", "G")
        screen.until(has(whole.group()), "the verdict on all")
        check(not has("have been read")(screen.lines()), "older ones are not read still:\n%s" % "\n".join(screen.lines()))
    finally:
        screen.end()


@case("what takes long in a long history can be stopped, and the viewer goes on")
def what_takes_long_can_be_stopped():
    need_tmux()
    screen = Screen([BTVIEW, *long_history(3000000)], 150, 50)
    try:
        screen.title("summary")
        screen.keys("b")
        part = cursor(screen.title("branches"), "branches")[1]
        screen.keys("g", "C-g") # what stops it waits already when it begins
        screen.until(lambda lines: lines[-1].startswith("stopped: older branches are read when the cursor comes to them"), "the reading is stopped")
        equal(cursor(screen.lines(), "branches"), (2, part), "the cursor, in the part")
        screen.keys("T", "C-g")
        screen.until(lambda lines: any(re.match(r"\[calls\] of task 1, in the newest \d+ branches ", line) for line in lines), "the calls of the part")
        screen.keys("T")
        screen.until(lambda lines: any(re.match(r"\[calls\] of task 1 +\d", line) for line in lines), "the calls of all branches")
        screen.keys("b", "g")
        whole = cursor(screen.until(lambda lines: cursor(lines, "branches")[1] > part, "all branches"), "branches")[1]
        screen.keys("f", "C-g")
        screen.until(lambda lines: lines[-1].startswith("stopped: the lines are as before"), "the folding is stopped")
        equal(cursor(screen.lines(), "branches")[1], whole, "lines")
        screen.keys("f")
        screen.until(lambda lines: lines[-1].startswith("every round is shown") and cursor(lines, "branches")[1] > whole, "every round")
        screen.keys("f")
        screen.until(lambda lines: lines[-1].startswith("loops are folded") and cursor(lines, "branches")[1] == whole, "folded again")
    finally:
        screen.end()


@case("making the stacks of many threads can be stopped")
def making_stacks_can_be_stopped():
    need_tmux()
    screen = Screen([BTVIEW, record_source("many", MANY_THREADS_CRASH, "-pthread")], 150, 50)
    try:
        screen.title("summary")
        screen.keys("t", "C-g")
        screen.until(lambda lines: lines[-1].startswith("stopped: f shows the stack of a thread"), "the stacks are stopped")
        screen.keys("c", "G")
        lines = screen.until(lambda lines: any(re.match(r"task 2, tid", line) for line in lines), "the last thread")
        check(lines[-3].startswith("task 2,"), "the last thread has a stack:\n%s" % "\n".join(lines))
        screen.keys("f")
        screen.until(lambda lines: any(re.match(r"  #\d+ +work ", line) for line in lines), "its stack")
    finally:
        screen.end()


VECTORS_CRASH = r"""
int main(void)
{
	static volatile int *nowhere;
	__asm__ volatile("movabs $0x0123456789abcdef, %%rax; movq %%rax, %%xmm9; movlhps %%xmm9, %%xmm9; movl $0, (%0)" :: "r"(nowhere) : "rax", "xmm9");
	return 0;
}
"""
TWICE = "0123456789abcdef" * 2


@case("vector registers are told alike in report, JSON and viewer")
def vector_registers():
    need_tmux()
    trace = record_source("vectors", VECTORS_CRASH)
    vectors = report(trace)["threads"][0]["vectors"]
    nine, = [name for name in ("xmm9", "ymm9") if name in vectors]
    check(len(vectors) == 16 and re.match(r"0x(0{32})?%s$" % TWICE, vectors[nine]), "JSON: %r" % vectors)
    values = {name: value for name, value in vectors.items() if int(value, 16)}
    registers, = [lines for heading, lines in sections(text(trace, "--all")).items() if heading.startswith("Registers")]
    equal(dict(re.findall(r"^  ([xy]mm\d+) +(0x\w+)$", "\n".join(registers), re.M)), values, "the report's with --all")
    equal(registers[-1], "  the other vector registers are 0", "the report's last line")
    check("vector registers" not in text(trace), "the report has them without --all")
    screen = Screen([BTVIEW, trace], 100, 50)
    try:
        screen.title("summary")
        screen.keys("c", "r")
        screen.title("registers")
        shown = [line.rstrip() for line in screen.all_lines("registers")]
        equal(dict(re.findall(r"^  ([xy]mm\d+) +(0x\w+)$", "\n".join(shown), re.M)), values, "the viewer's")
        check("  the other vector registers are 0" in shown, "the viewer: %r" % shown)
    finally:
        screen.end()


@case("80 columns have room for each view; a system call leads to its branch")
def eighty_columns():
    need_tmux()
    screen = Screen([BTVIEW, record_source("narrow", LIBRARY_CRASH, "-fno-builtin")], 80, 24)
    try:
        screen.title("summary")
        screen.keys("S")
        screen.title("system calls")
        shown = spaced(" ".join(screen.all_lines("system calls")))
        check('openat(AT_FDCWD, "/nonexistent/config", O_RDONLY) = -1 ENOENT (No such file or directory)' in shown, "the calls:\n%s" % shown)
        screen.keys("g")
        screen.type("/nonexistent")
        screen.keys("Enter", "Enter")
        screen.until(lambda lines: any(line.startswith("[branches]") for line in lines) and any("openat, then" in line for line in lines)
                     and any(re.match(r"> [0-9a-f]+ +syscall", line) for line in lines), "the call among the branches")
        screen.keys("S", "G", "g", "Enter")
        screen.until(lambda lines: any("brk, then" in line for line in lines), "the first call")
        screen.keys("T")
        screen.until(lambda lines: any(re.search(r" measure|strlen.*has not returned", line) for line in lines), "the calls")
        screen.keys("p")
        screen.title("processes")
        check("killed by SIGSEGV" in screen.lines()[0] and "snapshot" in " ".join(screen.lines()[:2]), "the process: %s" % screen.lines()[0])
        screen.keys("h")
        screen.until(lambda lines: any(re.match(r" {18}file:, kind:, thread:", line) for line in lines), "help that is wrapped")
    finally:
        screen.end()


NAMES = {"Space": "Space", "PgDn": "PageDown", "PgUp": "PageUp", "BackTab": "BTab", "Esc": "Escape"}


def key_table():
    keys = []
    with open(KEYS_DEF) as file:
        for names in re.findall(r'^BT_KEY\(\w+, *[^"]*"([^"]*)"', file.read(), re.M):
            keys += names.split(" ")
    return keys


def tmux_key(name):
    return "C-" + name[1].lower() if re.match(r"\^.$", name) else NAMES.get(name, name)


@case("each key leaves it standing at three sizes")
def each_key_leaves_it_standing_at_three_sizes():
    need_tmux()
    trace = record_source("each", THREADS_CRASH, "-pthread")
    ends = {"q", "Q", "^Z"}
    keys = [key for key in key_table() if key not in ends]
    check(len(keys) > 50, "keys.def was not read: %r" % keys)
    for columns, rows in SIZES:
        screen = Screen([BTVIEW, trace], columns, rows)
        try:
            screen.until(lambda lines: any("[" in line for line in lines), "the first screen")
            for view in "sbtrSTph":
                for key in keys:
                    screen.keys("Escape", view, tmux_key(key), *(["a", "Enter"] if key in "m'/?:&" else []))
                screen.keys("Escape", "h")
                screen.until(lambda lines: any(line.startswith("[help]") for line in lines), "help after the keys of %s at %dx%d" % (view, columns, rows))
        finally:
            screen.end()


class Pty:
    """The viewer on a terminal whose output nobody looks at, or a display alone."""

    def __init__(self, trace, terminal="xterm"):
        self.display = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                os.execvpe(BTVIEW, [BTVIEW, trace], dict(os.environ, TERM=terminal, LC_ALL="C.UTF-8"))
            finally: # not what this test does at its own end
                os._exit(127)
        self.resize(100, 30)
        self.wait_for(b"[summary]") # what is typed before is lost

    def wait_for(self, wanted):
        """False: it has ended."""
        seen, end = b"", time.monotonic() + 60
        while wanted not in seen:
            check(time.monotonic() < end, "the viewer does not answer")
            if select.select([self.fd], [], [], 1)[0]:
                try:
                    seen = seen[-20:] + os.read(self.fd, 1 << 16)
                except OSError:
                    return False
        return True

    def resize(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def drain(self, seconds):
        """Reads until it is quiet. False: it has ended."""
        while select.select([self.fd], [], [], seconds)[0]:
            try:
                drawn = os.read(self.fd, 1 << 16)
            except OSError:
                return False
            if not drawn:
                return False
            if self.display:
                self.display.draw(drawn)
        return True

    def send(self, text):
        try:
            os.write(self.fd, text)
        except OSError:
            return False
        select.select([self.fd], [], [], 0.01) # most keys change the screen; a terminal drops keys for which it has no room
        return self.drain(0.001)

    def end(self):
        """How it has ended; None: it has not, in a minute, and is killed."""
        for _ in range(600):
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return status
            if not self.drain(0.1):
                time.sleep(0.1)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)
        return None


class Display:
    """What a vt100 shows of what is written to it. At first each place holds what no viewer has drawn."""

    COMMAND = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|\x1b[()].|\x1b([78M=>])|(\x1b.{0,10}$)", re.S)

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.cells = [["\u2592"] * columns for _ in range(rows)]
        self.x, self.y, self.saved, self.top, self.bottom, self.rest = 0, 0, (0, 0), 0, rows - 1, b""

    def draw(self, written):
        whole = self.rest + written
        text = whole.decode(errors="ignore") # what is cut off at its end is drawn with what follows
        self.rest = whole[len(text.encode()):]
        check(len(self.rest) < 4, "no text: %r" % self.rest)
        while text:
            command = self.COMMAND.match(text)
            if command and command.group(4):
                self.rest = text.encode() + self.rest
                return
            if command:
                self.do(command.group(2) or command.group(3), [int(n or 0) for n in (command.group(1) or "").lstrip("?").split(";")])
            else:
                self.put(text[0])
            text = text[command.end() if command else 1:]

    def scroll(self, at, end):
        del self.cells[at]
        self.cells.insert(end, [" "] * self.columns)

    def put(self, char):
        if char == "\r":
            self.x = 0
        elif char == "\b":
            self.x = max(0, min(self.x, self.columns - 1) - 1)
        elif char == "\t":
            self.x = min(self.columns - 1, self.x // 8 * 8 + 8)
        elif char == "\n":
            if self.y == self.bottom:
                self.scroll(self.top, self.bottom)
            self.y += self.y < self.rows - 1 and self.y != self.bottom
        elif char >= " ":
            if self.x == self.columns: # it stands behind the last column until something follows
                self.put("\r")
                self.put("\n")
            self.cells[self.y][self.x] = char
            self.x += 1

    def erase(self, y, first, end):
        self.cells[y][first:end] = [" "] * (end - first)

    def do(self, command, numbers):
        n, x = max(1, numbers[0]), min(self.x, self.columns - 1)
        if command in list("ABCDHMr"):
            self.x = x
        if command == "A":
            self.y = max(0, self.y - n)
        elif command == "B":
            self.y = min(self.rows - 1, self.y + n)
        elif command == "C":
            self.x = min(self.columns - 1, x + n)
        elif command == "D":
            self.x = max(0, x - n)
        elif command == "H":
            self.y, self.x = min(self.rows, n) - 1, min(self.columns, max(1, numbers[-1] if len(numbers) > 1 else 1)) - 1
        elif command == "K":
            self.erase(self.y, 0 if numbers[0] else x, x + 1 if numbers[0] == 1 else self.columns)
        elif command == "J":
            check(numbers[0] == 0, "J %r" % numbers)
            self.erase(self.y, x, self.columns)
            for y in range(self.y + 1, self.rows):
                self.erase(y, 0, self.columns)
        elif command == "M" and self.y == self.top:
            self.scroll(self.bottom, self.top)
        elif command == "M":
            self.y = max(0, self.y - 1)
        elif command == "r":
            self.top, self.bottom = n - 1, (numbers[1] if len(numbers) > 1 and numbers[1] else self.rows) - 1
            self.y = self.x = 0
        elif command == "7":
            self.saved = self.x, self.y
        elif command == "8":
            self.x, self.y = self.saved
        else:
            check(command in (None, "m", "h", "l", "=", ">"), "no command of this display: %s %r" % (command, numbers))

    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]


SEQUENCES = {"Down": b"\x1b[B", "Up": b"\x1b[A", "Right": b"\x1b[C", "Left": b"\x1b[D", "PgDn": b"\x1b[6~", "PgUp": b"\x1b[5~", "Home": b"\x1b[1~",
             "End": b"\x1b[4~", "Enter": b"\r", "Tab": b"\t", "BackTab": b"\x1b[Z", "Space": b" ", "F1": b"\x1bOP", "Esc": b"\x1b"}
PROMPTS = {b"/", b"?", b":", b"&"}
TEXTS = [b"main", b"strlen|jcc", b"(", b"kind:call", b"!module:libc*", b"function:ma*", b"file:*.c", b"thread:1", b"thread:2", b"thread:99", b"0x401000", b"100",
         b"0", b"99999999999999999999", b"x.c:3", b"library.c:9", b"", b"\xff\xfe", b"a" * 300, b"[[:alpha:]]+ ret", b"kind:", b"a b c d e f g h i j"]
ALL_KEYS = [SEQUENCES.get(name, name.encode() if len(name) == 1 else bytes([ord(name[1]) & 31])) for name in key_table() if name not in ("^Z", "^C", "Q")]


def random_key(rnd, keys):
    key = rnd.choice(keys) if rnd.random() < 0.9 else bytes([rnd.choice([n for n in range(1, 256) if n not in (3, 17, 19, 26, 28)])])
    if key in PROMPTS:
        key += rnd.choice(TEXTS) + rnd.choice([b"\r", b"\r", b"\r", b"\x07"])
    elif key in (b"m", b"'"):
        key += bytes([rnd.randrange(97, 123)])
    return key


@case("random keys leave it standing")
def random_keys_leave_it_standing():
    traces = [record_source("rand_library", LIBRARY_CRASH, "-fno-builtin"), record_source("rand_threads", THREADS_CRASH, "-pthread")]
    seed = int(os.environ.get("RANDOM_SEED", "39"))
    rnd = random.Random(seed)
    begun, pressed, viewer = time.monotonic(), 0, None
    while pressed < RANDOM_KEYS and time.monotonic() - begun < RANDOM_SECONDS:
        viewer = viewer or Pty(rnd.choice(traces))
        if rnd.random() < 0.01:
            viewer.resize(rnd.choice([1, 2, 20, 80, 100, 200]), rnd.choice([1, 2, 5, 16, 24, 60]))
        key = random_key(rnd, ALL_KEYS)
        if not viewer.send(key):
            status = viewer.end()
            check(status == 0, "seed %d, key %d (%r): the viewer ended with %r" % (seed, pressed, key, status))
            viewer = None
        pressed += 1
    if viewer:
        for _ in range(60):
            if not viewer.send(b"\x07" * 8) or not viewer.send(b"Q") or not viewer.drain(1):
                break
        status = viewer.end()
        check(status == 0, "seed %d, at the end (%d keys): %r" % (seed, pressed, status))
    print("%d random keys, seed %d" % (pressed, seed))


def random_size(rnd):
    return (rnd.randint(1, 300), rnd.randint(1, 100)) if rnd.random() < 0.7 else (rnd.randint(1, 12), rnd.randint(1, 6))


# Keys that do not change what a view shows, but where; and those that show each view from its beginning.
WANDERING = [bytes([key]) for key in b"jkgG\t\x06\x02\x04\x15bstrSTphn"]
VIEWS = {"summary": b"sg", "branches": b"bg", "threads": b"tg", "registers": b"rg", "system calls": b"Sg", "calls": b"Tg", "processes": b"pg", "help": b"hg"}


def screens_at(viewer, columns, rows, is_right):
    """What each view shows once the terminal has this size, when it is right or half a minute has gone."""
    check(viewer.drain(0.3), "the viewer has ended")
    viewer.display = Display(columns, rows)
    viewer.resize(columns, rows)
    shown = {}
    for name, keys in VIEWS.items():
        check(viewer.send(keys), "the viewer has ended")
        for _ in range(150):
            check(viewer.drain(0.2), "the viewer has ended")
            shown[name] = "\n".join(viewer.display.lines())
            if is_right(name, shown[name]):
                break
    return shown


def leave(viewer):
    viewer.send(b"Q")
    equal(viewer.end(), 0, "how it has ended")


@case("after a storm of sizes the screen is as if there had been none")
def a_storm_of_sizes_leaves_the_screen_right():
    rnd = random.Random(int(os.environ.get("RANDOM_SEED", "39")))
    trace = record_source("storm", THREADS_CRASH, "-pthread")
    viewer = Pty(trace, "vt100")
    wanted = screens_at(viewer, 80, 24, lambda name, screen: "[%s]" % name in screen)
    leave(viewer)
    check(all("[%s]" % name in screen and "\u2592" not in screen for name, screen in wanted.items()), "the display shows\n%s" % "\n\n".join(wanted.values()))
    viewer = Pty(trace, "vt100")
    for n in range(400):
        viewer.resize(*random_size(rnd))
        check(rnd.random() < 0.5 or viewer.send(rnd.choice(WANDERING)), "size %d: the viewer has ended" % n)
    viewer.resize(81, 25)
    shown = screens_at(viewer, 80, 24, lambda name, screen: screen == wanted[name])
    leave(viewer)
    for name, screen in shown.items():
        check(screen == wanted[name], "%s: the display shows\n%s\nand not\n%s" % (name, screen, wanted[name]))


@case("random keys in a storm of sizes leave it standing")
def random_keys_in_a_storm_of_sizes_leave_it_standing():
    rnd = random.Random(int(os.environ.get("RANDOM_SEED", "39")))
    trace = record_source("storm_keys", THREADS_CRASH, "-pthread")
    viewer = None
    for n in range(400):
        viewer = viewer or Pty(trace)
        viewer.resize(*random_size(rnd))
        key = random_key(rnd, ALL_KEYS)
        if rnd.random() < 0.3 and key[:1] in PROMPTS: # while it asks
            check(viewer.send(key[:-1]), "size %d: the viewer has ended" % n)
            viewer.resize(*random_size(rnd))
            key = b"\x07"
        if not viewer.send(key):
            status = viewer.end()
            equal(status, 0, "how it has ended, at size %d with %r" % (n, key))
            viewer = None
    if viewer:
        viewer.send(b"\x07" * 8)
        leave(viewer)


main()
