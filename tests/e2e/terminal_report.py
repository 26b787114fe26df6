#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The text report on a terminal: lines that fit it, colours, the pager; and the same text as ever in a pipe.
import fcntl
import functools
import pty
import select
import struct
import termios

from e2e import *

LIMIT = 20


@functools.cache
def stale():
    path = os.path.join(HERE, "..", "..", "examples", "stale.c")
    program = fresh("stale")
    equal(execute([*CC, "-g", "-O1", "-o", program, path]).status, 0, "stale.c")
    return program


@functools.cache
def crash():
    return record([stale()], ["-q"]).trace


def on_terminal(*arguments, columns=80, environment=None):
    """What btview shows on a terminal of that width, and how it ended."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "PAGER", "BTREC_PAGER", "LESS", "COLUMNS")}
    env.update({"TERM": "xterm", "BTREC_PAGER": ""}, **(environment or {}))
    process = subprocess.Popen([BTVIEW, *arguments], stdin=follower, stdout=follower, stderr=follower, env=env, start_new_session=True)
    os.close(follower)
    out, end = b"", time.monotonic() + LIMIT
    while select.select([leader], [], [], max(0, end - time.monotonic()))[0]:
        try:
            piece = os.read(leader, 65536)
        except OSError: # all have closed it
            break
        if not piece:
            break
        out += piece
    os.close(leader)
    if time.monotonic() >= end:
        process.kill()
    return out.decode().replace("\r\n", "\n"), process.wait()


def words(shown):
    return re.sub(r"\033\[[0-9;]*m", "", shown).split()


@case("each line fits the terminal, and none of a stack's functions and lines is lost")
def fits():
    piped = text(crash())
    frames = re.findall(r"#\d+ +([a-z_]+)(?: \(.*\)|\S*) ([a-z.-]+:\d+)", piped)
    check(len(frames) >= 3, "frames: %s" % frames)
    for columns in 40, 80, 100, 200:
        shown, status = on_terminal("--stdio", "--color=never", crash(), columns=columns)
        equal(status, 0, "end")
        longest = max(len(line) for line in shown.splitlines())
        check(longest <= columns, "%d columns: a line has %d" % (columns, longest))
        for function, line in frames:
            check(re.search(r"#\d+\s+%s\b.{0,200}?%s" % (function, line), shown, re.S), "%d columns: no %s %s" % (columns, function, line))
        for line in re.findall(r"(stale\.c:\d+)", piped):
            check(line in shown, "%d columns: no %s" % (columns, line))


@case("a pipe gets whole lines without colours; --color=always colours them and breaks none")
def piped():
    plain, coloured = text(crash()), text(crash(), "--color", "always")
    check("\033" not in plain and max(len(line) for line in plain.splitlines()) > 80, plain)
    equal(re.sub(r"\033\[[0-9;]*m", "", coloured), plain, "without its colours")
    check("\033[1mWhat happened\033[0m\n" in coloured, coloured)


@case("colours on a terminal, unless NO_COLOR, TERM=dumb or --color=never say otherwise; they say nothing by themselves")
def colours():
    shown, _ = on_terminal("--stdio", crash())
    check("\033[1;31m" in shown, shown)
    for options, environment in ([], {"NO_COLOR": "1"}), ([], {"TERM": "dumb"}), (["--color=never"], {}):
        bare, _ = on_terminal("--stdio", *options, crash(), environment=environment)
        check("\033" not in bare, "%s %s: %s" % (options, environment, bare))
        equal(words(bare), words(shown), "the words")
    check("\033[" in on_terminal("--stdio", "--color=always", crash(), environment={"NO_COLOR": "1"})[0], "--color=always")
    equal(execute([BTVIEW, "--color", "x", crash()]).status, 2, "--color x")


@case("the pager gets the report; --no-pager, an empty one and cat are none")
def pager():
    whole = on_terminal("--stdio", crash())[0]
    for environment in {"BTREC_PAGER": "sed s/^/:/"}, {"BTREC_PAGER": "sed 's/^/:/'", "PAGER": "false"}:
        equal(on_terminal("--stdio", crash(), environment=environment), ("".join(":%s\n" % line for line in whole.splitlines()), 0), "by sed")
    for environment in {"BTREC_PAGER": "cat"}, {}:
        equal(on_terminal("--stdio", crash(), environment=environment), (whole, 0), "none")
    equal(on_terminal("--stdio", "--no-pager", crash(), environment={"BTREC_PAGER": "false"}), (whole, 0), "--no-pager")


# What is to be found on the first screen, wherever it fails.
SCREENS = {
    "assertion.c": (r"""#include <assert.h>
#include <stdio.h>
static void parse(int n) { assert(n == 7); }
int main(int c, char **v) { (void)v; fprintf(stderr, "starting\nreading\n"); parse(c); }
""", ["Assertion `n == 7'", "parse", "assertion.c:3", "main"]),
    "exception.cc": (r"""#include <map>
#include <string>
struct Tenants { std::map<std::string, int> all; int find(const std::string &n) { return all.at(n); } };
int main() { Tenants t; return t.find("no such tenant with a name that is long"); }
""", ["std::out_of_range", "Tenants::find", "exception.cc:3", "main"]),
    "overflow.c": (r"""int depth(int n, volatile char *p) { volatile char b[200]; b[n % 200] = p ? *p : 0; return depth(n + 1, b) + b[3]; }
int main(void) { return depth(0, 0); }
""", ["stack overflow", "overflow.c:1", "int depth(int n", "the same frame"]),
    "failure.c": (r"""#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void load(const char *f) { if (open(f, O_RDONLY) < 0) { for (int i = 0; i < 30; i++) fprintf(stderr, "app: error: cannot open %s: %s\n", f, strerror(errno)); exit(3); } }
int main(void) { for (int i = 0; i < 12; i++) if (!fork()) load("/nothing/here"); sleep(1); load("/nothing/here"); }
""", ["exit with status 3", "cannot open /nothing/here", "ENOENT", "load", "failure.c:7", "Failures:"]),
}


@case("--summary fits a terminal of 24 lines of 80, with the sentence, why, where, and the user's own frames")
def first_screen():
    for name, (content, expected) in SCREENS.items():
        folder = fresh_dir("source")
        path, program = os.path.join(folder, name), os.path.join(folder, "program")
        with open(path, "w") as file:
            file.write(content)
        equal(execute([*(CXX if name.endswith(".cc") else CC), "-g", "-O0", "-o", program, path]).status, 0, name)
        shown, status = on_terminal("--summary", "--color=never", record([program], ["-q"]).trace)
        lines = shown.splitlines()
        check(status == 0 and len(lines) <= 23 and max(map(len, lines)) <= 80, "%s: %d lines: %s" % (name, len(lines), shown))
        for word in expected:
            check(word in shown, "%s: no %s in: %s" % (name, word, shown))


@case("a command line of thousands of bytes leaves the rest its place on the first screen")
def long_command():
    trace = record([stale(), *(["argument"] * 2000)], ["-q"]).trace
    shown, status = on_terminal("--summary", "--color=never", trace)
    check(status == 0 and len(shown.splitlines()) <= 23, shown)
    for word in "read from 0x7d7", "stale.c:67", "checkout", "main":
        check(word in shown, "no %s in: %s" % (word, shown))


def without_numbers(lines):
    """Of a report what does not depend on where and when: the lines of the user's own code, and the sentence."""
    told = (line for line in lines if "stale.c" in line or line.startswith("  read from"))
    replaced = (r"\S*examples/", "examples/"), (r"\+0x\w+", "+0x"), (r"0x7f\w+", "0x7f"), (r"^ +\d+  ", "  "), (r"\(\d+ branches\)", "(branches)"), (r" +", " ")
    for line in told:
        for pattern, by in replaced:
            line = re.sub(pattern, by, line)
        yield line


@case("the README's example is what is printed")
def readme():
    if not shutil.which("gcc"):
        raise Skip("gcc, which compiles the example, is missing")
    root = os.path.join(HERE, "..", "..")
    with open(os.path.join(root, "README.md")) as file:
        page = file.read()
    ran, arguments, shown = re.search(r"\$ btrec run -o trace \./stale\n(.*?)    \$ btview (.*?) trace\n\n```\n(.*?)```", page, re.S).groups()
    folder = fresh_dir("readme")
    os.mkdir(os.path.join(folder, "examples"))
    shutil.copy(os.path.join(root, "examples", "stale.c"), os.path.join(folder, "examples"))
    equal(execute(["gcc", "-g", "-O1", "-o", "stale", "examples/stale.c"], cwd=folder).status, 0, "stale.c")
    result = execute([BTREC, "run", "-o", "trace", "./stale"], cwd=folder)
    # The last line, for which run does not wait for ever, is what this tells.
    told = ["btrec: %s; btview trace" % btview("--headline", os.path.join(folder, "trace")).out.decode().strip()]
    equal(result.out.decode().splitlines() + told, [line.strip() for line in ran.splitlines()], "the run")
    printed, status = on_terminal(*arguments.split(), "--color=never", os.path.join(folder, "trace"))
    equal((list(without_numbers(printed.splitlines())), status), (list(without_numbers(shown.splitlines())), 0), "the report")


@case("the README's replay of the example does what it says, as it is typed there")
def readme_replay():
    if not shutil.which("gcc"):
        raise Skip("gcc, which compiles the example, is missing")
    root = os.path.join(HERE, "..", "..")
    with open(os.path.join(root, "README.md")) as file:
        shown = re.search(r"^    \$ btrec run [^\n]*--replayable .*?(?=\n\n)", file.read(), re.S | re.M).group().replace("\n    ", "\n").strip()
    folder, tools = fresh_dir("readme"), fresh_dir("tools")
    for tool in BTREC, BTVIEW:
        os.symlink(tool, os.path.join(tools, os.path.basename(tool)))
    os.mkdir(os.path.join(folder, "examples"))
    shutil.copy(os.path.join(root, "examples", "stale.c"), os.path.join(folder, "examples"))
    equal(execute(["gcc", "-g", "-O1", "-o", "stale", "examples/stale.c"], cwd=folder).status, 0, "stale.c")
    commands = re.findall(r"^\$ (.*)", shown, re.M)
    check(len(commands) == 4 and "--to crash --window" in commands[2], "commands: %s" % commands)
    said = ""
    for command in commands:
        result = execute(["sh", "-c", "exec 2>&1; exec " + command], cwd=folder, env={**os.environ, "PATH": tools + ":" + os.environ["PATH"]})
        said += "$ %s\n%s" % (command, result.out.decode())
    numbers = r"\b[0-9]+ events"
    equal(re.sub(numbers, "N events", said.strip()), re.sub(numbers, "N events", shown), "what is said")


@case("a pager that is missing, ends at once or is killed does no harm")
def bad_pager():
    whole = on_terminal("--stdio", crash())[0]
    equal(on_terminal("--stdio", crash(), environment={"BTREC_PAGER": "no-such-pager -x"}), (whole, 0), "missing")
    shown, status = on_terminal("--stdio", crash(), environment={"BTREC_PAGER": "no-such-pager | cat -x 2>/dev/null; exit 127"})
    check(status == 0 and shown.endswith(whole), shown)
    # More than a pipe holds: the writer meets a closed one.
    for command in "true", "kill -9 $$", "head -n 1 >/dev/null":
        equal(on_terminal("--stdio", "--all", "-n", "5000", crash(), environment={"BTREC_PAGER": command}), ("", 0), command)


main()
