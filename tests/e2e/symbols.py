#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Symbols travel: what a report shows of a program is kept with its trace, and reads the same when program, library and sources are gone,
# stripped or built anew; also in the viewer. What is damaged or left out is told.
import fcntl
import pty
import select
import struct
import termios

from e2e import *

VIEWS = {"report": ["--stdio"], "all": ["--stdio", "--all", "-n", "300"], "json": ["--json", "-n", "300"], "summary": ["--summary"],
         "signature": ["--signature"], "headline": ["--headline"], "github": ["--format", "github"]}

PROGRAM = r"""
#include <stdio.h>

void store(int **where, int *from);

static int *places[4];
int answers[1000];

static inline __attribute__((always_inline)) void store_behind(int n)
{
	store(&places[n], answers + n);
}

__attribute__((noinline)) int fill(int n)
{
	store_behind(n);
	return n;
}

int main(int argc, char **argv)
{
	(void)argv;
	return fill(argc) + 1;
}
"""

LIBRARY = r"""
struct message { int kind, *body[4]; };
__attribute__((noinline)) static void put(int *to, int *from)
{
	struct message *m = (struct message *)to;
	m->body[2] = from;
}

void store(int **where, int *from)
{
	put(*where, from);
	*where = 0;
}
"""


def put(path, text):
    with open(path, "w") as file:
        file.write(text)


def make(folder, *flags, program_flags=()):
    """The program and its library, in a folder of their own."""
    put(os.path.join(folder, "fill.c"), PROGRAM)
    put(os.path.join(folder, "store.c"), LIBRARY)
    library, program = os.path.join(folder, "libstore.so"), os.path.join(folder, "fill")
    for argv in ([*CC, *C_FLAGS, *flags, "-shared", "-fPIC", os.path.join(folder, "store.c"), "-o", library],
                 [*CC, *C_FLAGS, *flags, *program_flags, os.path.join(folder, "fill.c"), "-o", program, "-L" + folder, "-lstore", "-Wl,-rpath," + folder]):
        equal(subprocess.run(argv).returncode, 0, "status of " + " ".join(argv))
    return program


def recorded(options=(), flags=(), program_flags=()):
    folder = fresh_dir("made")
    program = make(folder, *flags, program_flags=program_flags)
    result = record([program], ["--patience", "20000", *options])
    equal(result.status, -signal.SIGSEGV, "end of the program")
    return result.trace, folder


def screen(trace):
    """The bytes of the viewer's first screen."""
    pid, terminal = pty.fork()
    if not pid:
        os.environ.update(TERM="xterm", LC_ALL="C.UTF-8", LINES="40", COLUMNS="120")
        os.execv(BTVIEW, [BTVIEW, trace])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    seen = b""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        ready = select.select([terminal], [], [], 1.0 if seen else 20.0)[0]
        if not ready:
            break
        seen += os.read(terminal, 65536)
    os.write(terminal, b"q")
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        pass
    os.close(terminal)
    os.waitpid(pid, 0)
    check(b"fill" in seen, "no screen: %s" % short(seen))
    return seen


def views(trace):
    return {name: execute([BTVIEW, *options, trace], cwd=TMP).out for name, options in VIEWS.items()}


def delete(folder):
    shutil.rmtree(folder)


def move(folder):
    os.rename(folder, folder + ".elsewhere")


def strip(folder):
    for name in "fill", "libstore.so":
        equal(subprocess.run(["strip", os.path.join(folder, name)]).returncode, 0, "status of strip")


def rebuild(folder):
    """With other sources, where the old ones were."""
    make(folder, "-O2", "-DNDEBUG")
    for name in "fill.c", "store.c":
        path = os.path.join(folder, name)
        with open(path) as file:
            text = file.read()
        put(path, "\n\n/* another one */\n" + text.replace("m->body[2]", "m->body[3]"))
    subprocess.run([*CC, *C_FLAGS, "-shared", "-fPIC", os.path.join(folder, "store.c"), "-o", os.path.join(folder, "libstore.so")], check=True)


def same_after(what, flags=(), program_flags=()):
    trace, folder = recorded(flags=flags, program_flags=program_flags)
    then = views(trace)
    for wanted in b"fill.c:", b"store.c:", b"m->body[2] = from;", b"answers", b"store_behind":
        check(wanted in then["report"], "the report lacks %s:\n%s" % (wanted, then["report"].decode()))
    what(folder)
    now = views(trace)
    for name in VIEWS:
        equal(now[name].decode(), then[name].decode(), "%s after %s" % (name, what.__name__))
    return trace


@case("program, library and sources are deleted")
def deleted():
    same_after(delete)


@case("they are moved away, and the program had fixed addresses")
def moved():
    same_after(move, program_flags=["-no-pie", "-fno-pie"])


@case("they are stripped")
def stripped():
    same_after(strip)


@case("they are built anew from other sources")
def rebuilt():
    same_after(rebuild)


@case("without build-ids, too")
def no_build_id():
    same_after(rebuild, ["-Wl,--build-id=none"])


@case("the viewer's first screen is the same")
def viewer():
    trace, folder = recorded()
    then = screen(trace)
    check(b"body[2]" in then, "the first screen has no source: %s" % short(then))
    delete(folder)
    equal(screen(trace), then, "first screen")


@case("where the files are there, they are what is read")
def files_first():
    trace, folder = recorded()
    then = views(trace)
    os.unlink(os.path.join(trace, "symbols"))
    equal(views(trace), then, "views without what is kept")


@case("--no-symbols leaves them out")
def left_out():
    trace, folder = recorded(["--no-symbols"])
    check(not os.path.exists(os.path.join(trace, "symbols")), "there are symbols")
    delete(folder)
    said = text(trace)
    check("the file is gone" in said and "store.c" not in said, said)


HANDLED = r"""
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf back;

static void on_fault(int signo)
{
	siglongjmp(back, signo);
}

int main(void)
{
	signal(SIGSEGV, on_fault);
	if (!sigsetjmp(back, 1))
		*(volatile int *)8 = 1;
	return 0;
}
"""


def ended_well(*argv):
    """Whether there are symbols with the trace of a program that ends well; and how many snapshots."""
    result = record(list(argv), ["--patience", "200000"])
    equal(result.status, 0, "end of the program")
    snapshots = int(re.search(r"^snapshots +(\d+)", execute([BTREC, "info", result.trace]).out.decode(), re.M).group(1))
    return os.path.exists(os.path.join(result.trace, "symbols")), snapshots


@case("of a run that ended well they are kept for a fault that a handler saw, not for a shell's children")
def handled():
    source = os.path.join(TMP, "handled.c")
    put(source, HANDLED)
    equal(subprocess.run([*CC, *C_FLAGS, source, "-o", os.path.join(TMP, "handled")]).returncode, 0, "status of the compiler")
    equal(ended_well(os.path.join(TMP, "handled")), (True, 1), "symbols and snapshots of the fault")
    kept, snapshots = ended_well("/bin/sh", "-c", "trap : CHLD; /bin/true; exit 0")
    check(snapshots, "the shell's handler kept no moment")
    check(not kept, "there are symbols of a shell that had a child")


def vouched(place, trace):
    return text(trace, "--symbols", place, "-n", "1")


@case("--symbols: a program and its library from elsewhere, by build-id, path or name")
def from_elsewhere():
    trace, folder = recorded(["--no-symbols"])
    elsewhere = folder + ".elsewhere"
    move(folder)
    for place, wanted in (elsewhere, ["put", "main (argc"]), (os.path.join(elsewhere, "libstore.so"), ["put store.c:6", "store.c:11"]), \
            (os.path.join(elsewhere, "fill"), ["main+0x"]):
        said = vouched(place, trace)
        for name in wanted:
            check(name in said, "%s: no %s in\n%s" % (place, name, said))
        check("on your word" not in said, "a build-id is no evidence: " + said)
    check("store.c" not in vouched(os.path.join(elsewhere, "fill"), trace), "of a file that was not named")
    by_id = fresh_dir("debug")
    build_id = next(m["build_id"] for m in report(trace, "-n", "1")["missing"] if m["module"].endswith("libstore.so"))
    os.makedirs(os.path.join(by_id, ".build-id", build_id[:2]))
    subprocess.run(["objcopy", "--only-keep-debug", os.path.join(elsewhere, "libstore.so"),
                    os.path.join(by_id, ".build-id", build_id[:2], build_id[2:] + ".debug")], check=True)
    check("put store.c:6" in vouched(by_id, trace) or "put " in vouched(by_id, trace), "the debug file by build-id was not taken")


@case("--symbols: without a build-id code that ran decides")
def by_code():
    trace, folder = recorded(["--no-symbols"], ["-Wl,--build-id=none"])
    elsewhere = folder + ".elsewhere"
    move(folder)
    said = vouched(elsewhere, trace)
    check("put store.c:6" in said or "put " in said, said)
    check("on your word" not in said, "code is no evidence: " + said)
    put(os.path.join(elsewhere, "store.c"), LIBRARY.replace("put(*where, from)", "if (from[0] < 7) put(*where, from)"))
    subprocess.run([*CC, *C_FLAGS, "-Wl,--build-id=none", "-shared", "-fPIC", os.path.join(elsewhere, "store.c"), "-o",
                    os.path.join(elsewhere, "libstore.so")], check=True)
    said = vouched(elsewhere, trace)
    check("what --symbols names is another one" in said and "libstore.so+0x" in said, said)


@case("--symbols: with neither, the user's word is taken, and that is said")
def by_word():
    trace, folder = recorded(["--no-symbols"], ["-Wl,--build-id=none"])
    shutil.copytree(folder, folder + ".elsewhere") # other inodes
    delete(folder)
    os.unlink(os.path.join(trace, "objects"))
    said = execute([BTVIEW, "--stdio", "-n", "1", "--symbols", folder + ".elsewhere", trace], cwd=TMP).out.decode()
    check("put " in said and "store.c:6" in said, said)
    check(re.search(r"libstore.so: taken from --symbols on your word", said), said)


@case("--symbols: what cannot be is refused")
def not_there():
    trace, folder = recorded(["--no-symbols"])
    for place in os.path.join(TMP, "nowhere"), "/dev/null":
        result = execute([BTVIEW, "--stdio", "--symbols", place, trace], cwd=TMP)
        equal(result.status, 2, "status with %s: %s" % (place, result.err))
    result = execute([BTVIEW, "--stdio", "-n", "1", "--symbols", "/bin/true", trace], cwd=TMP)
    check(b"nothing of it was needed" in result.err, result.err)


@case("btrec pack: one file, which every command opens, without the program")
def packed():
    trace, folder = recorded()
    then = views(trace)
    pack = fresh("packed")
    equal(execute([BTREC, "pack", "-o", pack, trace], cwd=TMP).status, 0, "status of pack")
    delete(folder)
    dumped = execute([BTREC, "dump", trace], cwd=TMP).out
    core = execute([BTVIEW, "--export", "core", trace], cwd=TMP).out
    shutil.rmtree(trace)
    equal(views(pack), then, "views of the pack")
    equal(execute([BTREC, "dump", pack], cwd=TMP).out, dumped, "dump of the pack")
    equal(execute([BTVIEW, "--export", "core", pack], cwd=TMP).out, core, "core of the pack")
    said = execute([BTREC, "info", pack], cwd=TMP)
    equal(said.status, 0, "status of info")
    check(b"all of the trace is in this file" in said.out, said.out)
    unpacked = fresh_dir("unpacked")
    equal(subprocess.run(["tar", "-xf", pack, "-C", unpacked]).returncode, 0, "status of tar")
    equal(views(os.path.join(unpacked, os.path.basename(trace))), then, "views of what tar has unpacked")
    subprocess.run(["tar", "-cf", pack + ".tar", "-C", unpacked, os.path.basename(trace)], check=True)
    equal(views(pack + ".tar"), then, "views of what tar has packed")


@case("a file of symbols that was left unfinished is no part of the trace, and goes with it")
def unfinished():
    trace, _ = recorded()
    copy = fresh("unfinished")
    shutil.copytree(trace, copy)
    os.rename(os.path.join(copy, "symbols"), os.path.join(copy, "symbols.new"))
    equal(execute([BTREC, "dump", copy], cwd=TMP).status, 0, "status of dump")
    removed = execute([BTREC, "rm", copy], cwd=TMP)
    equal((removed.status, os.path.exists(copy)), (0, False), "rm: %s" % removed.err)


@case("btrec pack: symbols that are missing are made; --no-symbols leaves them out")
def pack_makes_symbols():
    trace, folder = recorded(["--no-symbols"])
    shutil.copytree(trace, trace + ".bare")
    for source, options, there in (trace, [], True), (trace, ["--no-symbols"], False), (trace + ".bare", ["--no-symbols"], False):
        pack = fresh("packed")
        equal(execute([BTREC, "pack", "-o", pack, *options, source], cwd=TMP).status, 0, "status of pack")
        names = subprocess.run(["tar", "-tf", pack], stdout=subprocess.PIPE, check=True).stdout
        equal(b"/symbols\n" in names, there, "symbols in the pack %s" % options)


@case("btrec pack: what is no pack, cut off, changed or there already is told")
def bad_packs():
    trace, folder = recorded()
    pack = fresh("packed")
    equal(execute([BTREC, "pack", "-o", pack, trace], cwd=TMP).status, 0, "status of pack")
    with open(pack, "rb") as file:
        whole = file.read()
    for what, changed, status, why in ("cut in a file", whole[:5000], 76, b"cut off"), ("cut between files", whole[:-1024], 76, b"cut off"), \
            ("a header", whole[:3] + b"X" + whole[4:], 76, b"not a btrec trace"), ("text", b"text\n" * 1000, 76, b"not a btrec trace"), ("empty", b"", 76, b"not a btrec trace"):
        bad = fresh("bad")
        with open(bad, "wb") as file:
            file.write(changed)
        result = execute([BTVIEW, "--stdio", bad], cwd=TMP)
        equal(result.status, status, "status, " + what)
        check(why in result.err and result.err.count(b"\n") == 1, "%s: %s" % (what, result.err))
    result = execute([BTREC, "pack", "-o", pack, trace], cwd=TMP)
    equal(result.status, 73, "status where the file is there")
    result = execute([BTREC, "pack", "-o", fresh("none"), fresh("nothing")], cwd=TMP)
    equal(result.status, 66, "status without a trace")
    equal(execute([BTREC, "rm", pack], cwd=TMP).status, 0, "status of rm")
    check(not os.path.exists(pack), "the pack is there")


def without_memory(argv, most):
    """What argv prints in a terminal where it may have so many bytes of memory, and its status."""
    pid, terminal = pty.fork()
    if not pid:
        os.environ.update(TERM="xterm", LC_ALL="C.UTF-8")
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        os.execv(argv[0], argv)
    seen = b""
    while select.select([terminal], [], [], TIMEOUT)[0]:
        try:
            seen += os.read(terminal, 65536)
        except OSError: # it has ended
            break
    else:
        os.kill(pid, signal.SIGKILL) # it waits for keys
    os.close(terminal)
    return seen, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@case("debug information that takes more memory than there is: left out, or one line and status 71; the terminal is given back before")
def no_memory():
    if has_sanitizer():
        raise Skip("a sanitizer's memory would be counted")
    program = build("many_rows.S", "-nostdlib", "-static")
    trace = record([program], ["--no-symbols"]).trace
    ended = []
    for most in range(100 << 20, 700 << 20, 25 << 20):
        said = execute([BTVIEW, "--stdio", trace], setup=lambda: resource.setrlimit(resource.RLIMIT_DATA, (most, most)))
        check(said.status in (0, 71), "status with %d bytes: %d" % (most, said.status))
        check(said.status == 0 or re.fullmatch(rb"btview: no memory for the debug information [^\n]*\n", said.err), said.err)
        ended += [most] if said.status else []
    check(ended, "there was always memory enough, or all was left out")
    seen, status = without_memory([BTVIEW, trace], ended[len(ended) // 2])
    equal(status, 71, "status in a terminal (%s)" % short(seen))
    check(seen.rfind(b"\x1b[?1049l") > seen.rfind(b"\x1b[?1049h"), "the terminal is not given back: %s" % short(seen))
    check(b"no memory" in seen[seen.rfind(b"\x1b[?1049l"):], "nothing is said where it can be seen: %s" % short(seen))


@case("a damaged file of symbols is told, and the trace can be read")
def damaged():
    trace, folder = recorded()
    delete(folder)
    path = os.path.join(trace, "symbols")
    with open(path, "rb") as file:
        whole = file.read()
    for name, changed in ("cut", whole[:-20]), ("header", whole[:12] + b"\7" + whole[13:]), ("byte", whole[:90] + bytes([whole[90] ^ 1]) + whole[91:]), ("empty", b""):
        with open(path, "wb") as file:
            file.write(changed)
        said = text(trace, "-n", "1")
        check("symbols: this file of the trace is damaged" in said, "%s: %s" % (name, said))
        equal(report(trace, "-n", "1")["missing"][0]["what"], "kept", "in the JSON, " + name)


main()
