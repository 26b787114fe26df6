#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What a user of every day meets: the last line of run, the first screen alone, annotations, traces that are listed and
# removed, names as people write them.
import fcntl
import pty
import shlex
import struct
import termios

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
    "where.c": r"""
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/personality.h>
        int main(void)
        {
            void *block = malloc(1);
            return printf("%x %p %p %p %p\\n", (unsigned)personality(0xffffffff), (void *)main, (void *)qsort, block, (void *)getenv("PATH")) < 0;
        }
        """,
    "bus.cc": r"""
        #include <cstdio>
        #include <cstdlib>
        #define APART __attribute__((noinline))
        namespace app {
        template <class T> struct Bus {
            T v;
            APART int emit(const char *s) const { return printf("%s %d\\n", s, (int)v); } /* @emit */
        };
        struct Line {
            APART void emit() { puts("line"); }
            APART void draw() { puts("draw"); }                               /* @draw */
        };
        }
        namespace { APART void hidden(int n) { printf("%d\\n", n); } }
        int main()
        {
            app::Bus<int> bus{3};
            app::Line line;
            hidden(2);
            line.draw();
            line.emit();
            bus.emit("x");
            return 0;                                                         /* @end */
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
    equal(last_line([port, "null"]), "SIGSEGV: null read of c->port in %s; btview DIR" % place("port", "null"), "null")
    equal(last_line([port, "library"]), "SIGSEGV: null read by strlen of its argument name in %s; btview DIR" % place("measure", "library"), "in libc")
    equal(last_line([port, "assert"]), "SIGABRT: Assertion `argc == 1' failed in %s; btview DIR" % place("main", "assert"), "assertion")
    equal(last_line([port, "3"]), "exited with 3 in %s; btview DIR" % place("give_up", "exit"), "exit with failure")
    equal(last_line([port, "0"]), "exited with 0; trace: DIR", "good end")


@case("run's last line tells of a process that the first one started")
def cause_of_child():
    for status in (0, 2):
        line = last_line(["sh", "-c", '"$0" null 2>&-; exit %d' % status, program("port.c")])
        check(re.fullmatch(r"exited with %d; SIGSEGV in port \(process \d+\): null read of c->port in %s; btview DIR" % (status, re.escape(place("port", "null"))), line), line)


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


@case("a trace without moments and branches has no code, and no reader misses it; one with a moment of any process has all")
def without_code():
    cases = ([["true"]], False), ([["env", "ls", "/"]], False), ([["true"], ["--snap-exit", "always"]], True), ([["sh", "-c", "(exit 3); exit 0"]], True)
    for arguments, kept in cases:
        result = record(arguments[0], [*PATIENT, "-q", *(arguments[1] if len(arguments) > 1 else [])])
        trace = result.trace
        equal(result.status, 0, "end")
        equal(os.path.exists(os.path.join(trace, "objects")), kept, "objects of %s" % arguments)
        dumped = execute([BTREC, "dump", trace])
        equal((dumped.status, re.search(rb"^END .* code_left_out=(\d)$", dumped.out, re.M).group(1) == b"%d" % (not kept)), (0, True), "END of %s" % arguments)
        check(b"\nCODE " in dumped.out, "what ran is told: %s" % arguments)
        for command in [BTREC, "info", trace], [BTVIEW, "--stdio", trace], [BTVIEW, "--json", trace], [BTREC, "list", "--json"], [BTVIEW, "--export", "folded", trace]:
            read = execute(command)
            equal((read.status, read.err), (0, b""), "%s of %s" % (command[1:], arguments))


@case("--summary is the first screen alone: what happened, where and the stack")
def summary():
    trace = record([program("port.c"), "null"]).trace
    shown, whole = text(trace, "--summary"), text(trace)
    headings = re.findall(r"^\S.*", shown, re.M)
    equal([heading.split()[0] for heading in headings], ["Program", "Ended", "What", "Where", "Stack"], "headings")
    before, stack = shown.split("\nStack of task 1")
    check(before[before.index("\nWhat happened"):] in whole, "the report says it so: " + shown)
    own, libraries = re.findall(r"^  #.*", stack, re.M), re.findall(r"^  \.\.\.  .*", stack, re.M)
    check(own and all(frame + "\n" in whole for frame in own), "its stack: " + shown)
    equal(libraries, ["  ...  3 frames of libraries"], "what is left out")
    for option in (["-n", "3"], ["--all"], ["--json"], ["--by", "cpu"], ["--function", "main"]):
        equal(execute([BTVIEW, "--summary", *option, trace]).status, 2, "with " + option[0])


@case("--summary: where a frame's last parts have no room its last line says that there are more")
def cut_frame():
    folder = fresh_dir("inlined")
    lines = ["static int *volatile p;", "static inline __attribute__((always_inline)) int f0(int x) { return *p + x; }"]
    lines += ["static inline __attribute__((always_inline)) int f%d(int x) { return f%d(x) + 1; }" % (i, i - 1) for i in range(1, 30)]
    lines += ["int main(int argc, char **argv) { (void)argv; return f29(argc); }"]
    with open(os.path.join(folder, "inlined.c"), "w") as file:
        file.write("\n".join(lines) + "\n")
    target = os.path.join(folder, "inlined")
    equal(execute([*CC, "-g", "-O1", "inlined.c", "-o", target], cwd=folder).status, 0, "status of the compiler")
    shown = text(record([target]).trace, "--summary")
    check(re.search(r", inlined into \.\.\.\n$", shown), shown)


def annotation(trace, **env):
    return execute([BTVIEW, "--format", "github", trace], cwd=TMP, env={**os.environ, **env}).out.decode()


@case("--format github: an annotation of the line that failed, its file as seen from the checkout")
def github():
    port = program("port.c")
    trace = record([port, "null"]).trace
    line, folder = line_at("port.c", "null"), os.path.dirname(port)
    parts = re.fullmatch(r"::error file=(.*?),line=%d,title=SIGSEGV%%3A null read of c->port::(.*)\n" % line, annotation(trace, GITHUB_WORKSPACE=folder))
    check(parts, annotation(trace, GITHUB_WORKSPACE=folder))
    equal(parts.group(1), "port.c", "in the checkout")
    check(re.fullmatch(r"SIGSEGV: null read of c->port in port port.c:%d%%0Aread from 0x8 through .*" % line, parts.group(2)), parts.group(2))
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


def home():
    """A trace directory, and the environment that names it."""
    folder = fresh("home")
    return folder, {**os.environ, "BTREC_TRACE_DIR": folder}


def command(*words, env, status=0):
    result = execute([BTREC, *words], env=env, cwd=TMP)
    equal(result.status, status, "status of btrec %s (%s)" % (" ".join(words), result.err.decode()))
    return result


def run(env, *argv, status):
    command("run", "-q", *argv, env=env, status=status)


def traces(folder):
    return sorted(name for name in os.listdir(folder) if name != "latest") if os.path.isdir(folder) else []


def latest(folder):
    link = os.path.join(folder, "latest")
    return os.readlink(link) if os.path.islink(link) else None


def snapshot(folder):
    """All that is below it."""
    return sorted(os.path.join(at, name) for at, folders, files in os.walk(folder) for name in folders + files)


@case("list on a terminal: each line fits it, under the folder's name")
def list_fits():
    folder, env = home()
    port = program("port.c")
    run(env, "sh", "-c", '"$0" null 2>&-; exit 2', port, "and", "many", "more", "arguments", "than", "fit", status=2)
    for columns in (60, 80, 200):
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        listed = subprocess.run([BTREC, "list"], env=dict(os.environ, **env), stdin=subprocess.DEVNULL, stdout=follower)
        os.close(follower)
        equal(listed.returncode, 0, "end")
        lines = os.read(leader, 65536).decode().splitlines()
        os.close(leader)
        equal((len(lines), lines[0]), (2, "Traces in %s:" % folder), "lines")
        check(len(lines[1]) <= columns, "of %d columns: %s" % (columns, lines[1]))
        check(re.search(r"  exit 2; \S+.*  sh-0\b", lines[1]), lines[1])
        equal("arguments" in lines[1], columns == 200, "the whole command")


@case("list: how it ended, of any process, size and command; --json fits its schema")
def list_all():
    folder, env = home()
    port = program("port.c")
    run(env, port, "3", status=3)
    run(env, "sh", "-c", '"$0" null 2>&-; exit 2', port, status=2)
    os.mkdir(os.path.join(folder, "damaged"))
    with open(os.path.join(folder, "damaged", "events"), "wb") as file:
        file.write(b"btrec")
    size = sum(os.path.getsize(os.path.join(folder, "port-0", name)) for name in os.listdir(os.path.join(folder, "port-0")))
    lines = sorted(command("list", env=env).out.decode().splitlines(), key=lambda line: "damaged" in line)
    equal(len(lines), 3, "lines")
    check(re.search(r"  exit 3 +%.0f KB  %s/port-0  %s 3$" % (size / 1024, folder, port), lines[0]), lines[0])
    check(re.search(r"  exit 2; SIGSEGV in port +\d+ KB  %s/sh-0  sh -c " % folder, lines[1]), lines[1])
    check(re.search(r"  damaged +\d KB  %s/damaged$" % folder, lines[2]), lines[2])
    listed = json.loads(command("list", "--json", env=env).out)
    fits_schema(listed, "list.schema.json")
    first, second, third = sorted(listed["traces"], key=lambda trace: trace["state"] == "unreadable")
    equal((first["argv"], first["size"], first["end"], first["latest"]), ([port, "3"], size, {"status": 3}, False), "the first")
    equal([(f["command"], f["status"], f["crash"]) for f in first["failures"]], [("port", 3, False)], "failures of the first")
    equal([(f["command"], f.get("signal"), f.get("status"), f["crash"]) for f in second["failures"]], [("port", "SIGSEGV", None, True), (second["failures"][1]["command"], None, 2, False)], "failures")
    equal((first["failure_count"], second["failure_count"]), (1, 2), "their number")
    run(env, port, "null", status=-signal.SIGSEGV)
    check(re.search(r"  SIGSEGV +\d+ KB  %s/port-1 " % folder, command("list", env=env).out.decode()), "a crash of the first process is told once")
    equal((second["latest"], third["state"], third["why"]), (True, "unreadable", "damaged"), "states")
    equal(json.loads(command("list", "--json", env=home()[1]).out)["traces"], [], "of none")


@case("a trace's name is enough for each command, wherever it is typed")
def names():
    folder, env = home()
    for status in 3, 4:
        run(env, "--replayable", program("port.c"), str(status), status=status)
    where = fresh_dir("elsewhere")
    for argv in ([BTREC, "info", "port-0"], [BTREC, "dump", "port-0"], [BTREC, "replay", "--no-output", "port-0"], [BTVIEW, "--summary", "port-0"], [BTREC, "pack", "port-0"]):
        done = execute(argv, env=env, cwd=where)
        equal(done.status, 0, "status of %s: %s" % (argv[1:], done.err))
        check(b"exited with 4" not in done.out + done.err, "%s is about another trace" % argv)
    os.mkdir(os.path.join(where, "port-1"))
    equal(execute([BTREC, "info", "port-1"], env=env, cwd=where).status, 76, "a directory of that name here comes first")
    equal(execute([BTREC, "info", "port-9"], env=env, cwd=where).status, 66, "a name of nothing")


@case("rm: traces go, latest names the newest that is left; what is no trace, or is more, stays whole")
def rm():
    folder, env = home()
    for status in (3, 4, 5):
        run(env, program("port.c"), str(status), status=status)
    with open(os.path.join(folder, "port-0", "notes"), "w") as file:
        file.write("mine")
    other = fresh_dir("other")
    with open(os.path.join(other, "events"), "w") as file:
        file.write("no trace")
    before = snapshot(folder)
    for argument, status, why in ((other, 76, "not a btrec trace"), (fresh("nothing"), 66, "no such trace"), (os.path.join(folder, "port-0"), 2, "notes in it is not of a trace"), (folder, 76, "not a btrec trace")):
        refused = command("rm", argument, env=env, status=status)
        check(why in refused.err.decode() and refused.err.count(b"\n") == 1, refused.err)
    equal((snapshot(folder), os.listdir(other)), (before, ["events"]), "all that was there")
    command("rm", env=env, status=2)
    command("rm", "port-2", env=env)
    equal((traces(folder), latest(folder)), (["port-0", "port-1"], "port-1"), "after one")
    link = fresh("link")
    os.symlink(os.path.join(folder, "port-1"), link)
    os.unlink(os.path.join(folder, "port-0", "notes"))
    command("rm", link, os.path.join(folder, "port-0") + "/", env=env)
    equal((traces(folder), latest(folder)), ([], None), "after all")
    check(os.path.islink(link), "the user's own link is left alone")


@case("rm and prune leave alone what is being recorded; what a killed recorder left goes by name alone")
def rm_recorded():
    folder, env = home()
    run(env, program("port.c"), "3", status=3)
    process = start([BTREC, "run", "-q", "cat"], stdin=subprocess.PIPE, env=env, cwd=TMP)
    wait_until(lambda: latest(folder) == "cat-0", "the recording")
    refused = command("rm", "cat-0", env=env, status=2)
    check(b"it is being recorded" in refused.err, refused.err)
    command("prune", "--keep", "0", env=env)
    equal(traces(folder), ["cat-0"], "after prune")
    pid = recorder_of(process)
    os.kill(pid, signal.SIGKILL)
    process.wait()
    forget_recorder(pid)
    command("prune", "--keep", "0", env=env)
    equal(traces(folder), ["cat-0"], "of a killed recorder")
    command("rm", "cat-0", env=env)
    equal(traces(folder), [], "that, removed by name")


@case("prune: by number, by size, by age; -n only says it; what is no complete trace stays")
def prune():
    folder, env = home()
    for status in range(1, 6):
        run(env, program("port.c"), str(status), status=status)
    for name in ("notes", "damaged"):
        os.mkdir(os.path.join(folder, name))
    with open(os.path.join(folder, "damaged", "events"), "wb") as file:
        file.write(b"btrec")
    others = ["damaged", "notes"]
    said = command("prune", "-n", "--keep", "3", env=env).out.decode()
    equal([re.sub(r" \(\d+ KB\)$", "", line) for line in said.splitlines()], ["would remove %s/port-%d" % (folder, n) for n in (0, 1)], "a trial")
    equal(len(traces(folder)), 7, "after a trial")
    command("prune", "--keep", "3", env=env)
    equal(traces(folder), others + ["port-2", "port-3", "port-4"], "by number")
    size = {trace["path"]: trace["size"] for trace in json.loads(command("list", "--json", env=env).out)["traces"]}
    two = size[folder + "/port-3"] + size[folder + "/port-4"]
    command("prune", "--max-size", str(two), env=env)
    equal(traces(folder), others + ["port-3", "port-4"], "by size")
    command("prune", "--max-size", str(two - 1), env=env)
    equal(traces(folder), others + ["port-4"], "by one byte less")
    command("prune", "--older", "1h", env=env)
    equal((traces(folder), latest(folder)), (others + ["port-4"], "port-4"), "by age")
    time.sleep(2.1)
    command("prune", "--older", "1s", env=env)
    equal((traces(folder), latest(folder)), (others, None), "older than a second")
    for status in range(1, 5):
        run(env, program("port.c"), str(status), status=status)
    open(os.path.join(folder, "port-0", "notes"), "w").close()
    stuck = command("prune", "--keep", "2", env=env, status=2)
    equal((traces(folder), stuck.err.count(b"\n"), stuck.out.count(b"removed ")), (others + ["port-0", "port-2", "port-3"], 1, 1), "one that cannot be removed holds no other up")
    for words in ([], ["--keep", "x"], ["--max-size", "3X"], ["--max-size", "0"], ["--max-size", "99999999999T"], ["--older", "7"], ["--keep", "1", "more"]):
        equal(command("prune", *words, env=env, status=2).err.count(b"\n"), 1, "lines of %s" % words)


@case("run --only-crashes keeps nothing of a run that ends well, and all of one that fails")
def only_crashes():
    folder, env = home()
    port = program("port.c")
    run(env, port, "3", status=3)
    said = command("run", "--only-crashes", port, "0", env=env).err
    equal((said, traces(folder), latest(folder)), (b"btrec: exited with 0; no trace is kept\n", ["port-0"], "port-0"), "a good end")
    own = fresh("own")
    command("run", "--only-crashes", "-o", own, port, "0", env=env)
    check(not os.path.exists(own), "-o")
    run(env, "--only-crashes", port, "4", status=4)
    equal((traces(folder), latest(folder)), (["port-0", "port-1"], "port-1"), "a failure")
    run(env, "--only-crashes", "sh", "-c", '"$0" null 2>&-; :', port, status=0)
    equal((traces(folder), latest(folder)), (["port-0", "port-1", "sh-0"], "sh-0"), "a crash of another process")
    run(env, "--only-crashes", "--snap-at", "10", port, "0", status=0)
    equal((traces(folder), latest(folder)), (["port-0", "port-1", "port-2", "sh-0"], "port-2"), "a moment that was asked for")


@case("run --keep and --max-size remove older traces, and never the new one")
def keep():
    folder, env = home()
    port = program("port.c")
    for status in range(1, 5):
        run(env, port, str(status), status=status)
    run(env, "--keep", "2", port, "5", status=5)
    equal((traces(folder), latest(folder)), (["port-3", "port-4"], "port-4"), "by number")
    run(env, "--max-size", "1K", port, "6", status=6)
    equal(len(traces(folder)), 1, "by size")
    equal(latest(folder), traces(folder)[0], "latest")
    equal(command("run", "-o", fresh("own"), "--keep", "2", port, "0", env=env, status=125).err.count(b"\n"), 1, "with -o")


def begins_in(trace):
    """The function in which the recorded branches begin."""
    lines = text(trace, "--all", "-n", "1000000").partition("\nLast branches of task")[2].splitlines()[1:]
    return next(line for line in lines if re.match(r" +\d+ ", line)).split("->")[0].split(maxsplit=2)[2].split("+0x")[0]


@case("--from takes names as people write them, and lines")
def from_names():
    bus = program("bus.cc")
    emit, draw = "app::Bus<int>::emit(char const*) const", "app::Line::draw()"
    for name, function in (("Bus::emit", emit), ("app::Bus<int>::emit", emit), ("emit(char const*) const", emit), ("Line::dr*", draw), ("draw", draw),
                           ("::app::Line::draw", draw), ("hidden", "(anonymous namespace)::hidden(int)"), ("main", "main"), ("_ZN3app4Line4drawEv", draw),
                           ("bus.cc:%d" % line_at("bus.cc", "draw"), draw), ("bus.cc:%d" % line_at("bus.cc", "emit"), emit)):
        result = record([bus], ["--snap-exit", "always", "--from", name])
        equal((result.status, result.own_err.count("\n")), (0, 1), "end and lines of %s: %s" % (name, result.own_err))
        equal(begins_in(result.trace), function, "--from " + name)
        check("from %s on" % name in text(result.trace), "the report's head")


@case("--from: several functions are listed, unknown names and lines told, all before the program runs")
def from_candidates():
    bus, folder = program("bus.cc"), fresh_dir("cwd")
    for name, said in (("emit", "--from: emit names more than one function: app::Bus<int>::emit(char const*) const, app::Line::emit()"),
                       ("Line::*", "--from: Line::* names more than one function: app::Line::draw(), app::Line::emit()"),
                       ("bus.cc:1", "--from: %s has no code of bus.cc:1 (is it compiled with -g?)" % bus)):
        result = execute([BTREC, "run", "-o", "trace", "--from", name, bus], cwd=folder)
        words = sorted(re.split(": |, ", result.err.decode().strip()))
        equal((result.status, result.out, words, os.listdir(folder)), (125, b"", sorted(re.split(": |, ", "btrec: " + said)), []), name)
    result = record(["sh", "-c", "echo ran >&2"], ["--from", "no_such_function"])
    lines = result.err.decode().splitlines()
    equal(result.status, 0, "unknown: it runs")
    check(lines[0].startswith("btrec: --from: no function no_such_function in ") and lines[1] == "ran", lines)
    result = record([bus], ["--from", "qsort"])
    equal(result.own_err.count("\n"), 1, "one of a library, which is not called: " + result.own_err)


@case("--function takes the same names, and lists several functions")
def function_names():
    trace = record([program("bus.cc")], ["--snap-exit", "always", "--from", "main"]).trace
    for name, functions in (("Line::draw", ["app::Line::draw()"]), ("emit", ["app::Bus<int>::emit(char const*) const", "app::Line::emit()"]),
                            ("bus.cc:%d" % line_at("bus.cc", "draw"), ["app::Line::draw()"]), ("::main", ["main"])):
        lines = text(trace, "-n", "1000", "--function", name).partition("\nLast branches of task")[2].splitlines()[1:]
        rows = [line for line in lines if re.match(r" +\d+ ", line)]
        check(rows and all(any(function in row for function in functions) for row in rows), "\n".join(lines))
        check(all(any(function in row for row in rows) for function in functions), "\n".join(lines))
        listed = [line for line in lines if "Functions of that name" in line]
        equal([sorted(line.partition(": ")[2].split(", ")) for line in listed], [sorted(functions)] if len(functions) > 1 else [], "listed")
    for name in ("raw", "Line::nothing", "bus.cc:1"):
        equal(execute([BTVIEW, "--stdio", "--function", name, trace]).status, 1, name)


@case("--no-aslr: the same addresses each time, as natively without randomization")
def no_aslr():
    show = [program("where.c", "-fpie", "-pie")]
    first, second = (record(show, ["--no-aslr"]) for _ in range(2))
    alone = native(["setarch", "-R", *show])
    equal((first.status, first.out), (0, second.out), "twice")
    if alone.status == 0:
        equal(first.out, alone.out, "natively")
    equal(int(first.out.split()[0], 16) & 0x40000, 0x40000, "ADDR_NO_RANDOMIZE")
    equal(int(record(show).out.split()[0], 16) & 0x40000, 0, "without it")


@case("help COMMAND is COMMAND --help")
def help_command():
    for name in ("run", "snap", "import", "list", "rm", "prune", "info", "doctor", "dump"):
        equal(execute([BTREC, "help", name]).out, execute([BTREC, name, "--help"]).out, name)
    equal(execute([BTREC, "help"]).out, execute([BTREC, "--help"]).out, "help alone")
    for words in (["nothing"], ["run", "snap"]):
        result = execute([BTREC, "help", *words])
        equal((result.status, result.out, result.err.count(b"\n")), (2, b"", 1), words)


@case("options stand behind the trace as before it; help removes no trace")
def options_behind():
    trace = record(["true"]).trace
    for name in ("info", "dump", "pack", "replay", "import", "rm"):
        result = execute([BTREC, name, trace, "--help"])
        equal((result.status, result.out), (0, execute([BTREC, name, "--help"]).out), name)
    equal(execute([BTREC, "dump", trace, "--no-branches"]).out, execute([BTREC, "dump", "--no-branches", trace]).out, "dump --no-branches")
    missing = execute([BTREC, "info", "--", "--help"])
    equal((missing.status, missing.err.count(b"\n")), (66, 1), "a trace whose name looks like an option")
    equal(len(execute([BTREC, "run", "-q", "-o", fresh_dir("run") + "/trace", "printf", "%s", "--help"]).out), len("--help"), "options of the program")


def completed(*words):
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "_$1"; printf "%s\\n" "${COMPREPLY[@]}"'
    file = os.path.join(HERE, "..", "..", "completion", "btrec.bash")
    return execute(["bash", "-c", script, "_", file, *words]).out.decode().split()


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return [int(child) for child in file.read().split()]


@case("completion: snap offers what is recorded, and nothing else; help the commands")
def completion():
    process = start([BTREC, "run", "-q", "-o", fresh("trace"), "cat"], stdin=subprocess.PIPE, cwd=TMP)
    recorder = wait_until(lambda: children(process.pid), "the recorder")[0]
    child = str(wait_until(lambda: children(recorder), "the program")[0])
    wait_until(lambda: {child, str(process.pid)} <= set(completed("btrec", "snap", "")), "both in the completion")
    check(not {"1", str(os.getpid()), str(recorder)} & set(completed("btrec", "snap", "")), completed("btrec", "snap", ""))
    process.stdin.close()
    equal(process.wait(TIMEOUT), 0, "end")
    check(not {child, str(process.pid)} & set(completed("btrec", "snap", "")), "after its end")
    equal(completed("btrec", "help", "pr"), ["prune"], "help")


main()
