#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What ran in libraries is folded in the report, the user's own code is not, and no branch is left out of the counts.
from e2e import *

SOURCES = {
    "sorts.c": r"""
        #include <stdio.h>
        #include <stdlib.h>
        static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
        int main(void)
        {
            int n[] = {2, 1};
            char text[64];
            qsort(n, 2, sizeof *n, compare);
            snprintf(text, sizeof text, "%d", n[0]);
            return *(volatile int *)(long)(text[0] - '1');
        }
        """,
    "templates.cc": r"""
        #include <algorithm>
        #include <map>
        #include <string>
        static bool before(const std::string &a, const std::string &b) { return a > b; }
        int main()
        {
            std::string words[] = {"one", "two", "three"};
            std::map<std::string, int> seen;
            std::sort(words, words + 3, before);
            for (const auto &word : words)
                seen[word]++;
            return *(volatile int *)(seen.size() - 3);
        }
        """,
    "handler.c": r"""
        #include <signal.h>
        #include <stdlib.h>
        static void handle(int number) { if (number == SIGUSR1) abort(); }
        int main(void) { signal(SIGUSR1, handle); raise(SIGUSR1); return 0; }
        """,
    "inlined.cc": r"""
        #include <cstdlib>
        #include <map>
        #include <vector>
        static std::map<int, int> stock;
        static std::vector<int> sizes;
        __attribute__((noinline)) int price(int id)
        {
            if (id < 0)
                abort();
            return stock.at(id) + sizes[id % sizes.size()];
        }
        __attribute__((noinline)) int total(int n)
        {
            int sum = 0;
            for (int i = 0; i < n; i++) {
                stock[i * 7 % 11] = i;
                sizes.push_back(i);
            }
            for (int i = 0; i < n; i++)
                sum += price(i * 7 % 11);
            return sum + price(-1);
        }
        int main(int argc, char **argv) { return total(10 + argc); }
        """,
    "nothing.c": "int main(void) { return 0; }",
}


def made(name, *flags):
    source = os.path.join(TMP, name)
    with open(source, "w") as file:
        file.write(SOURCES[name])
    program = source + "-" + "".join(flags).replace("/", "")
    compiler = [os.environ.get("CXX", "g++")] if name.endswith(".cc") else [os.environ.get("CC", "gcc")]
    done = execute([*compiler, "-O0", *flags, source, "-o", program])
    equal(done.status, 0, "%s: %s" % (program, done.err))
    return program


def branches(trace, *arguments):
    """The lines of the list, without its title and what is said above it."""
    lines = text(trace, "-n", "1000000", *arguments).partition("\nLast branches of task")[2].splitlines()
    return int(re.search(r"\((\d+) in the trace\)", lines[0]).group(1)), [line for line in lines[1:] if re.match(r" +(\d+|\?|\.\.\.|loop) ", line)]


def told(lines):
    """Of lines without loops how many branches they stand for."""
    return sum(int(re.search(r"(\d+) branch(es)? in libraries|inlined \((\d+) branch(es)?\)$", line).expand(r"\1\3")) if re.match(r" +\.\.\. ", line) else
               1 + int((re.search(r"back after (\d+) branch", line) or [0, 0])[1]) for line in lines)


def froms(lines):
    return {re.match(r" +\d+ +\S+(?: not)? +(\S+)", line).group(1).split("+")[0] for line in lines if re.match(r" +\d+ ", line)}


@case("calls into libraries are a line each, calls back are shown, and every branch is accounted for")
def calls():
    trace = record([made("sorts.c", "-g")]).trace
    total, lines = branches(trace)
    check(len(lines) < 60 and not any(" loop " in line for line in lines), "\n".join(lines))
    equal(told(lines), total, "branches that the lines stand for")
    check("in libraries" in lines[0], "the loader's: " + lines[0])
    check(re.search(r"-> main ", lines[1]), "main is called: " + lines[1])
    equal(len([line for line in lines if re.search(r"-> compare ", line)]), 1, "calls back")
    check(any(re.search(r"main\S* sorts\.c:\d+ +-> snprintf@plt, back after \d+ branches$", line) for line in lines), "\n".join(lines))


@case("--all shows every branch, and --function those of a library")
def everything():
    trace = record([made("sorts.c", "-g")]).trace
    shown = text(trace, "--all", "-n", "100000")
    check("in libraries" not in shown and "Code of libraries" not in shown, "folded")
    check(len(branches(trace, "--all")[1]) > 1000, "lines")
    check("in libraries" not in text(trace, "--function", "compare"), "folded with --function")


@case("-n counts lines")
def count():
    lines = text(record([made("sorts.c", "-g")]).trace, "-n", "5").partition("\nLast branches of task")[2].splitlines()
    equal(len([line for line in lines[1:] if re.match(r" +(\d+|\.\.\.) ", line)]), 5, "lines")


@case("functions made of a library's templates are the library's, what they call is not")
def templates():
    _, lines = branches(record([made("templates.cc", "-g")]).trace)
    check({"before", "main"} <= {name.split("(")[0] for name in froms(lines)}, str(froms(lines)))
    inside = [line for line in lines if re.match(r" +\d+ +(jcc|jmp|call).* std::\S+.* -> std::", line)]
    check(not inside, "\n".join(inside))


@case("library code that is inlined into the user's functions is a line that says what was called, and every branch is accounted for")
def inlined():
    trace = record([made("inlined.cc", "-g", "-O2")]).trace
    total, lines = branches(trace)
    shown = [line for line in lines if " loop " not in line]
    inside = [line for line in lines if re.search(r"\d+ +jcc\S*( not)? +\S+ \[std::", line)]
    check(not inside, "\n".join(inside))
    check(any(re.search(r"\.\.\. +price\S*: std::map<\.\.\.>::at inlined \(\d+ branch(es)?\)$", line) for line in shown), "\n".join(lines))
    check({"price", "total"} <= {name.split("(")[0] for name in froms(shown)}, str(froms(shown)))
    check(len([line for line in shown if re.search(r"call +total\S+ .*-> price", line)]) > 1, "\n".join(lines))
    _, every = branches(trace, "--all")
    check(any(re.search(r"jcc.* \[std::", line) for line in every), "--all does not unfold it")


@case("a statically linked library is one by its lack of lines; without any lines the program is the user's")
def linked():
    for flags in ("-g", "-static"), ("-s",):
        total, lines = branches(record([made("sorts.c", *flags)]).trace)
        equal(told(lines), total, "branches, " + " ".join(flags))
        check(len(lines) < 90, "%d lines, %s" % (len(lines), " ".join(flags)))


@case("a crash within a library shows the call that led into it, and a handler's own code")
def ends():
    _, lines = branches(record([made("handler.c", "-g")]).trace)
    check(re.search(r"handle\+\S+ handler\.c:\d+ +-> abort@plt", lines[-2]), "\n".join(lines[-4:]))
    check("in libraries" in lines[-1], lines[-1])
    check(any(re.search(r" async .*-> handle handler", line) for line in lines), "\n".join(lines))


@case("where nothing but libraries ran, they are shown")
def only_libraries():
    found = text(record(["true"], ["--snap-at", "100"]).trace, "--snapshot", "1")
    check("in libraries" not in found and re.search(r"\n +100 +j", found), found)


@case("an interpreter is a library where it runs code of the user's")
def interpreter():
    source = os.path.join(TMP, "user.c")
    with open(source, "w") as file:
        file.write("int user(int *p) { return *p; }\n")
    library = os.path.join(TMP, "libuser.so")
    equal(execute([os.environ.get("CC", "gcc"), "-g", "-shared", "-fPIC", source, "-o", library]).status, 0, "build")
    trace = record(["/usr/bin/python3", "-c", "import ctypes; ctypes.CDLL(%r).user(None)" % library]).trace
    lines = text(trace).partition("\nLast branches of task")[2]
    check(re.search(r" in libraries\n +\d+ +i?call .*-> user user\.c:1\n", lines), lines)


main()
