#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What a user of every day meets: the last line of run, the first screen alone, annotations, traces that are listed and
# removed, names as people write them.
import shlex

from e2e import *

SOURCES = {
    "port.c": r"""
        #include <assert.h>
        #include <stdlib.h>
        #include <string.h>
        struct config { char name[8]; int port; };
        static int port(const struct config *c) { return c->port; }          /* @null */
        static void give_up(int status) { exit(status); }                     /* @exit */
        static size_t measure(const char *name) { return strlen(name); }      /* @library */
        int main(int argc, char **argv)
        {
            char *volatile nobody = NULL;
            if (!strcmp(argv[1], "null"))
                return port((struct config *)nobody);
            if (!strcmp(argv[1], "assert"))
                assert(argc == 1);                                            /* @assert */
            if (!strcmp(argv[1], "library"))
                return (int)measure(nobody);
            give_up(atoi(argv[1]));
        }
        """,
}
PATIENT = ["--patience", "60000"]
made = {}


def program(name, *flags):
    if (name, flags) not in made:
        source = os.path.join(fresh_dir("source"), name)
        with open(source, "w") as file:
            file.write(SOURCES[name])
        target = os.path.splitext(source)[0]
        compiler = CXX if name.endswith(".cc") else CC
        done = execute([*compiler, "-g", "-O0", *flags, source, "-o", target])
        equal(done.status, 0, "%s: %s" % (name, done.err))
        made[name, flags] = target
    return made[name, flags]


def line_at(name, mark):
    return next(n for n, line in enumerate(SOURCES[name].splitlines(), 1) if "@" + mark in line)


def last_line(argv, *options):
    result = record(argv, [*PATIENT, *options])
    line = result.own_err.splitlines()[-1]
    check(line.endswith("; btview " + shlex.quote(result.trace)) or line.endswith("; trace: " + result.trace), line)
    return line[len("btrec: "):].replace(shlex.quote(result.trace), "DIR").replace(result.trace, "DIR")


def place(function, mark):
    return "%s port.c:%d" % (function, line_at("port.c", mark))


@case("run's last line says what happened, and where in the user's own code")
def cause():
    port = program("port.c")
    equal(last_line([port, "null"]), "SIGSEGV: null read in %s; btview DIR" % place("port", "null"), "null")
    equal(last_line([port, "library"]), "SIGSEGV: null read in %s; btview DIR" % place("measure", "library"), "in libc")
    equal(last_line([port, "assert"]), "SIGABRT: Assertion `argc == 1' failed in %s; btview DIR" % place("main", "assert"), "assertion")
    equal(last_line([port, "3"]), "exited with 3 in %s; btview DIR" % place("give_up", "exit"), "exit with failure")
    equal(last_line([port, "0"]), "exited with 0; trace: DIR", "good end")


@case("run's last line tells of a process that the first one started")
def cause_of_child():
    for status in (0, 2):
        line = last_line(["sh", "-c", '"$0" null 2>&-; exit %d' % status, program("port.c")])
        check(re.fullmatch(r"exited with %d; SIGSEGV in port \(process \d+\): null read in %s; btview DIR" % (status, re.escape(place("port", "null"))), line), line)


@case("run's last line without what happened: not in time, or with no btview beside btrec; and none with --quiet")
def cause_untold():
    port = program("port.c")
    equal(last_line([port, "null"], "--patience", "0"), "killed by SIGSEGV; btview DIR", "not in time")
    alone = os.path.join(fresh_dir("alone"), "btrec")
    shutil.copy(BTREC, alone)
    trace = fresh("it's a trace")
    result = execute([alone, "run", *PATIENT, "-o", trace, port, "4"], cwd=TMP)
    equal((result.status, result.own_err), (4, "btrec: exited with 4; btview %s\n" % (trace if shlex.quote(trace) == trace else "'" + trace.replace("'", "'\\''") + "'")), "no btview")
    equal(record([port, "null"], ["--quiet"]).own_err, "", "quiet")


@case("--summary is the first screen alone: what happened, where and the stack")
def summary():
    trace = record([program("port.c"), "null"]).trace
    shown, whole = text(trace, "--summary"), text(trace)
    headings = re.findall(r"^\S.*", shown, re.M)
    equal([heading.split()[0] for heading in headings], ["Program", "Recorded", "Ended", "What", "Where", "Stack"], "headings")
    before, stack = shown.split("\nStack of task 1")
    check(whole.startswith(before), "the report begins as it: " + shown)
    check("\nStack of task 1" + stack in whole, "its stack: " + shown)
    for option in (["-n", "3"], ["--all"], ["--json"], ["--by", "cpu"], ["--function", "main"]):
        equal(execute([BTVIEW, "--summary", *option, trace]).status, 2, "with " + option[0])


def annotation(trace, **env):
    return execute([BTVIEW, "--format", "github", trace], cwd=TMP, env={**os.environ, **env}).out.decode()


@case("--format github: an annotation of the line that failed, its file as seen from the checkout")
def github():
    port = program("port.c")
    trace = record([port, "null"]).trace
    line, folder = line_at("port.c", "null"), os.path.dirname(port)
    parts = re.fullmatch(r"::error file=(.*?),line=%d,title=SIGSEGV%%3A null read::(.*)\n" % line, annotation(trace, GITHUB_WORKSPACE=folder))
    check(parts, annotation(trace, GITHUB_WORKSPACE=folder))
    equal(parts.group(1), "port.c", "in the checkout")
    check(re.fullmatch(r"SIGSEGV: null read in port port.c:%d%%0Aread from 0x8 through .*" % line, parts.group(2)), parts.group(2))
    check("file=%s/port.c," % os.path.basename(folder) in annotation(trace, GITHUB_WORKSPACE=""), "from the working directory")
    check("file=%s/port.c," % folder in annotation(trace, GITHUB_WORKSPACE="/nowhere"), "outside")
    check(annotation(record([port, "3"]).trace).endswith("::exited with 3 in give_up port.c:%d\n" % line_at("port.c", "exit")), "exit with failure")
    equal(annotation(record([port, "0"]).trace), "", "a good end")
    equal(execute([BTVIEW, "--format", "gitlab", trace]).status, 2, "another one")


@case("--format github: no name can end the line, or a property of it")
def github_names():
    odd = os.path.join(fresh_dir("odd"), "50%, a:b\n::error::c.c")
    with open(odd, "w") as file:
        file.write("int main(void) { return *(volatile int *)0; }\n")
    equal(execute([*CC, "-g", odd, "-o", odd[:-2]]).status, 0, "compiler")
    said = annotation(record([odd[:-2]]).trace, GITHUB_WORKSPACE=os.path.dirname(odd))
    check(said.startswith("::error file=50%25%2C a%3Ab\\x0a%3A%3Aerror%3A%3Ac.c,line=1,title=SIGSEGV%3A null read::"), said)
    equal(said.count("\n"), 1, "lines")


main()
