#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Lines of standard error that say why a program ended stand in "What happened", however much was written behind them.
import signal

from e2e import *

MODES = [], ["--parallel"], ["--history", "off"]


def compiled(compiler, name, content, *options):
    """The program of that source; skips where a compiler or a sanitizer's library is missing."""
    if not shutil.which(compiler[0]):
        raise Skip("%s is missing" % compiler[0])
    folder = fresh_dir("source")
    path, out = os.path.join(folder, name), os.path.join(folder, "program")
    with open(path, "w") as file:
        file.write(content)
    done = execute([*compiler, "-g", "-o", out, path, *options])
    if done.status and options:
        raise Skip("%s %s does not work here" % (compiler[0], " ".join(options)))
    equal(done.status, 0, "%s: %s" % (name, done.err.decode()))
    return out


def happened(trace):
    """The section "What happened"."""
    return re.search(r"\nWhat happened\n(.*?)\n\n", text(trace), re.S).group(1)


def says(program, status, *lines, modes=MODES[:1]):
    for mode in modes:
        result = record([program], ["-q", *mode])
        equal(result.status, status, "end, %s" % mode)
        said = happened(result.trace)
        for line in lines:
            check(re.search(line, said), "%s: %s is not in: %s" % (mode, line, said))
        fits_schema(report(result.trace, "-n", "10"), "report.schema.json")
    return result


@case("C++: terminate called, what()")
def terminate():
    program = compiled(CXX, "a.cc", '#include <stdexcept>\nint main() { throw std::runtime_error("no such tenant"); }\n')
    says(program, -signal.SIGABRT, r"\n    terminate called after throwing an instance of 'std::runtime_error'", r"\n      what\(\):  no such tenant")


STOPPED = r"""
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
struct guard {
	std::string name;
	~guard() { std::fputs("left\n", stderr); }
};
struct file {
	bool full;
	~file() noexcept(false) { if (full) throw std::runtime_error("disk full"); }
};
__attribute__((noinline)) static void inner(int n)
{
	guard g;
	if (n)
		throw std::logic_error("inner fails"); // THROW
	std::puts("on");
}
__attribute__((noinline)) static void outer(int n) noexcept
{
	inner(n); // CALL
	std::puts("on");
}
__attribute__((noinline)) static bool before(const int &a, const int &b) noexcept
{
	if (a < 0)
		throw std::runtime_error("negative key"); // COMPARE
	return a < b;
}
__attribute__((noinline)) static void twice(int n)
{
	file f{n > 0};
	if (n)
		throw 42;
}
int main(int argc, char **argv)
{
	std::string how = argv[1];
	int numbers[] = {-argc, argc};
	try {
		if (how == "outer") outer(argc);
		if (how == "before") std::puts(before(numbers[0], numbers[1]) ? "yes" : "no");
		if (how == "twice") twice(argc);
		if (how == "after") { try { inner(argc); } catch (...) {} before(numbers[0], numbers[1]); }
		if (how == "handler") { std::set_terminate([] { std::abort(); }); outer(argc); }
	} catch (const char *) {
	} catch (int) {
	}
	inner(how == "uncaught");
	return 0;
}
"""


def stopped_programs():
    """By gcc and clang, and what of them is run."""
    for compiler, level, kinds in ((CXX, "-O2", None), (CXX, "-O0", ["outer"]), (["clang++"], "-O2", ["outer", "before", "twice"])):
        if shutil.which(compiler[0]):
            yield compiled([*compiler, "-w", level], "a.cc", STOPPED), "%s %s" % (compiler[0], level), kinds


@case("an exception that may not leave a noexcept function: its type and text, and the function, in builds of gcc and clang")
def noexcept():
    lines = {mark: 1 + STOPPED[:STOPPED.index("// " + mark)].count("\n") for mark in ("THROW", "CALL", "COMPARE")}
    for program, build_, kinds in stopped_programs():
        for how, said in (("outer", r'std::logic_error: "inner fails" left the noexcept function outer\(int\)(?: \(a\.cc:%d\))?, at ' % lines["CALL"]),
                          ("handler", r'std::logic_error: "inner fails" left the noexcept function outer\(int\)(?: \(a\.cc:%d\))?, at ' % lines["CALL"]),
                          ("before", r'std::runtime_error: "negative key" left the noexcept function before\(int const&, int const&\), at before\([^()]*\)(?:\+0x\w+)? \(a\.cc:%d\)' % lines["COMPARE"]),
                          # An exception was thrown before: whether that is over is not known.
                          ("after", r'std::runtime_error: "negative key" met a function that no exception may leave then: before\(int const&, int const&\), at before\('),
                          ("uncaught", r"an exception was thrown and not caught, at inner\(int\)(?:\+0x\w+)? \(a\.cc:%d\)" % lines["THROW"])):
            if kinds and how not in kinds:
                continue
            trace = record([program, how], ["-q"]).trace
            found = happened(trace)
            check(re.search(r"\n  " + said, found), "%s %s: %s" % (build_, how, found))
            check(".cold" not in text(trace).partition("Last branches")[0], "%s %s: a name has .cold" % (build_, how))
            if how == "before":
                headline = btview("--headline", trace).out.decode()
                check(headline.startswith('SIGABRT: threw std::runtime_error: "negative key" out of noexcept before in before('), headline)


@case("an exception thrown while another unwinds the stack is not said to have left a noexcept function")
def unwinding():
    for program, build_, kinds in stopped_programs():
        if kinds and "twice" not in kinds:
            continue
        found = happened(record([program, "twice"], ["-q"]).trace)
        check("noexcept" not in found and "disk full" in found, "%s: %s" % (build_, found))


@case("an assertion, once: libc says it")
def assertion():
    program = compiled(CC, "a.c", "#include <assert.h>\nint main(int c, char **v) { (void)v; assert(c == 7); }\n")
    result = says(program, -signal.SIGABRT, r"libc says: .*Assertion `c == 7' failed\.")
    equal(happened(result.trace).count("Assertion"), 1, "how often")


@case("Rust: panicked at, and its message")
def panic():
    program = compiled(["rustc"], "a.rs", 'fn main() { let v: Vec<usize> = Vec::new(); println!("{}", v[std::env::args().count()]); }\n')
    says(program, 101, r"\n    thread 'main'.* panicked at .*a\.rs:1:", r"\n    index out of bounds: the len is 0 but the index is 1")


@case("AddressSanitizer: a report longer than what is kept of the last words, behind other lines")
def sanitizer():
    program = compiled(CC, "a.c", """#include <stdio.h>
#include <stdlib.h>
static __attribute__((noinline)) void deep(int n, char *p) { volatile char pad[64]; pad[0] = 1; if (n) deep(n - 1, p); else p[10] = 1; pad[1] = 2; }
int main(void) { for (int i = 0; i < 100; i++) fprintf(stderr, "working on item %d\\n", i); deep(90, malloc(10)); }
""", "-fsanitize=address")
    path = fresh("stderr") # execute() takes a report in a pipe for one of btrec's
    with open(path, "wb") as file: # ASAN_OPTIONS would send the report elsewhere
        result = record(["/usr/bin/env", "-u", "ASAN_OPTIONS", program], ["-q"], stderr=file)
    check(os.path.getsize(path) > 3 * 4096 // 2, "the report is short: %d" % os.path.getsize(path))
    said = happened(result.trace)
    check(re.search(r"\n    ==\d+==ERROR: AddressSanitizer: heap-buffer-overflow on address", said), said)
    check(re.search(r"\n    SUMMARY: AddressSanitizer: heap-buffer-overflow", said), said)
    check(re.search(r"\n  working on item 0\n(.*\n){4}  \[\.\.\. \d+ bytes left out \.\.\.\]\n", text(result.trace)), text(result.trace))


@case("where a program ends in libraries alone, the place is that of its first message, another thread's")
def place_of_message():
    program = compiled(CC, "a.c", """#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *complain(void *p) { fputs("bad input\\n", stderr); return p; }
int main(int c, char **v)
{
	pthread_t t;
	(void)v;
	pthread_create(&t, NULL, complain, NULL);
	pthread_join(t, NULL);
	if (c == 1)
		exit(4);
	return 3;
}
""", "-pthread")
    trace = record([program, "x"], ["-q"]).trace
    check(re.search(r"\nWhere[^\n]*\n  complain\S* \S*/a\.c:4 in .*\n  4: ", text(trace)), text(trace))
    equal(btview("--headline", trace).out.decode().strip(), "exited with 3 in complain a.c:4", "headline")
    trace = record([program], ["-q"]).trace
    check(re.search(r"\nCalled from\n  main\S* \S*/a\.c:12 ", text(trace)), text(trace))


@case("in the last line of run a line of standard error has up to 300 bytes, and then an ellipsis, between characters")
def long_line():
    program = compiled(CC, "a.c", """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int c, char **v) { (void)c; for (int i = atoi(v[1]); i-- > 0;) fputs("\\303\\274", stderr); fputs("!\\n", stderr); return 3; }
""")
    for count, said in (140, "\u00fc" * 140 + "!"), (151, "\u00fc" * 150 + "..."):
        result = record([program, str(count)])
        check("exited with 3: %s in main a.c:4;" % said in result.own_err, result.own_err)


@case("much more than is kept, however it is written, and in every mode: no line is missed")
def much():
    program = compiled(CC, "a.c", """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char big[100000];
int main(int c, char **v)
{
	(void)v;
	memset(big, '.', sizeof big);
	for (size_t i = 79; i < sizeof big; i += 80) big[i] = '\\n';
	write(2, "starting\\n", 9);
	for (int i = 0; i < 2000; i++) { fprintf(stderr, "item %d\\n", i); if (i == 1000) fprintf(stderr, "FATAL: the "), fprintf(stderr, "disk is gone\\n"); }
	write(2, big, sizeof big);
	write(2, "app: error: the end", 19);
	return c == 1 ? 3 : 0;
}
""")
    for mode in MODES:
        result = says(program, 3, r"\n    FATAL: the disk is gone\n", r"\n    app: error: the end", modes=[mode])
        check("\nWhat it wrote to its standard error\n  starting\n  item 0\n" in text(result.trace), "its first lines")
        words = report(result.trace, "-n", "10")["processes"][0]["last_words"]
        equal(int(words["total"]), len(result.program_err), "bytes, %s" % mode)
        equal((words["first"].encode(), words["text"].encode()), (result.program_err[:1024], result.program_err[-4096:]), "kept, %s" % mode)


@case("of many errors the first and the last that are kept; of a program that ends well nothing")
def errors():
    program = compiled(CC, "a.c", '#include <stdio.h>\nint main(int c, char **v) { for (int i = 0; i < 3000; i++) fprintf(stderr, "error: number %d\\n", i); return c < 2; (void)v; }\n')
    said = happened(says(program, 1, "error: number 2999").trace)
    check(said.count("\n    error: number") == 6 and "bytes left out" in said, said)
    result = record([program, "good"], ["-q"])
    equal(report(result.trace, "-n", "10")["processes"][0]["last_words"], None, "words of who ended well")


main()
