#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What is kept from one recording to the next: only a profile, whatever stands in the file.
import ctypes
import os
import resource
import stat
import struct

from e2e import *

PLACE = os.path.join(os.environ["XDG_CACHE_HOME"], "btrec")


def branches(trace):
    with open(fresh("listing"), "w+b") as out:
        equal(subprocess.run([BRANCHES, trace], stdout=out).returncode, 0, "status of branches")
        out.seek(0)
        return out.read()


def same_branches(got, expected, what):
    pairs = zip(got.splitlines() + [b"nothing more"], expected.splitlines() + [b"nothing more"])
    check(got == expected, "%s: entry %s" % (what, next(("%d: %s, not %s" % (n, *pair) for n, pair in enumerate(pairs) if pair[0] != pair[1]), "?")))


def program():
    return shutil.which("true")


def run():
    """The branches of a recording from the deterministic start, and what is kept then."""
    recorded = record([program()], ["--deterministic", "--snap-exit", "always"])
    build_id = re.search(r"Build ID: (\w+)", execute(["readelf", "-n", program()]).out.decode()).group(1)
    path = os.path.join(PLACE, build_id)
    return branches(recorded.trace), path


def own(source, *flags):
    """A program of ours, and its build-id."""
    path = fresh("program")
    text = path + ".c"
    with open(text, "w") as file:
        file.write(source)
    done = execute(["cc", "-O1", "-o", path, *flags, text])
    equal(done.status, 0, "status of cc: %s" % done.err.decode())
    return path


def kept_names():
    return [name for name in os.listdir(PLACE) if name != "files"]


def content(path):
    with open(path, "rb") as file:
        return file.read()


@case("the first recordings of a program leave a profile, and come to an end with that; branches stay the same")
def kept():
    first, path = run()
    check(os.path.exists(path), "no file %s" % path)
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, "mode")
    equal(stat.S_IMODE(os.stat(PLACE).st_mode), 0o700, "mode of the directory")
    sizes = [len(content(path))]
    for _ in range(6):
        record([program()], ["--deterministic"])
        sizes.append(len(content(path)))
    check(sizes[1] > 2 * sizes[0], "no fragments were kept after the second run: %s" % sizes)
    equal(sizes[1:], sizes[-1:] * 6, "size of the profile from the second run on")
    check(not os.path.exists(path + ".more"), "something had not been learned in two runs")
    same_branches(run()[0], first, "same branches with a profile")


@case("a recording that keeps a log has files of its own, and leaves those of others alone; the kept fragments replay")
def logged():
    shutil.rmtree(PLACE, ignore_errors=True)
    recorded = [record([program()], ["--replayable"]) for _ in range(3)]
    names = kept_names()
    check(names and all(".logged" in name for name in names), "files: %s" % names)
    path = os.path.join(PLACE, next(name for name in names if name.endswith(".logged")))
    mine = content(path)
    check(len(mine) > 100000, "hardly a fragment is kept: %d bytes" % len(mine))
    for result in recorded:
        equal(execute([BTREC, "replay", "-q", result.trace]).status, 0, "status of the replay")
        equal(own_results(result.trace), own_results(recorded[0].trace), "results of instructions in the log")
    for _ in range(3):
        record([program()])
    equal(content(path), mine, "the file of recordings that keep a log, behind others")
    plain = content(path.removesuffix(".logged"))
    record([program()], ["--replayable"])
    equal(content(path.removesuffix(".logged")), plain, "the file of others, behind a recording that keeps a log")


def own_results(trace):
    """How many instructions with a result of their own are in the log: of a fragment of another kind they would not be."""
    return len(re.findall(rb"^LOG_INSTRUCTION ", execute([BTREC, "dump", trace]).out, re.M))


def entries_in(path):
    return struct.unpack_from("<I", content(path), 36)[0]


SIDES = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#define LINE(n) if (x & n) x = x * n + 1; else x ^= n;
#define LINES(n) LINE(n) LINE(n + 1) LINE(n + 2) LINE(n + 3) LINE(n + 4) LINE(n + 5) LINE(n + 6) LINE(n + 7)
#define SIDE(n) static void *side##n(void *arg) { unsigned long x = (unsigned long)arg; LINES(n) LINES(n + 8) LINES(n + 16) return (void *)x; }
SIDE(10) SIDE(20) SIDE(30) SIDE(40)
int main(int argc, char **argv)
{
	void *(*const sides[])(void *) = {side10, side20, side30, side40};
	pthread_t threads[4];

	for (unsigned long i = 0; i < 4; i++)
		pthread_create(&threads[i], 0, sides[i], (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], 0);
	if (argc > 1 && !strcmp(argv[1], "die"))
		kill(getpid(), SIGKILL);
	return 0;
}
"""


@case("one recording tells all that ran: of one that is killed, of threads side by side, where branches are not kept, where a snapshot took them")
def learned():
    path = own(SIDES, "-pthread")
    build_id = re.search(r"Build ID: (\w+)", execute(["readelf", "-n", path]).out.decode()).group(1)
    ways = {"plain": ([], []), "parallel": (["--parallel"], []), "ticks": (["--history", "off"], []), "snapshot": (["--snap-exit", "always"], []),
            "killed": ([], ["die"])}
    counts = {}
    for name, (options, arguments) in ways.items():
        shutil.rmtree(PLACE, ignore_errors=True)
        record([path, *arguments], options)
        counts[name] = entries_in(os.path.join(PLACE, build_id + {"ticks": ".ticks", "parallel": ".apart"}.get(name, "")))
    check(counts["plain"] > 1000, "hardly an entry: %s" % counts)
    for name, count in counts.items():
        # Where branches are counted alone, fragments end elsewhere.
        check(abs(count - counts["plain"]) < counts["plain"] // 10, "entries of %s: %s" % (name, counts))


@case("of a program that comes back to more places than the cache has room for all that ran is known")
def more_than_fits():
    calls = 120000 # more than TABLE2_BITS allow for
    path = own(".globl main\nmain:\n.rept %d\ncall f\n.endr\nxor %%eax, %%eax\nret\nf: ret\n.section .note.GNU-stack\n" % calls, "-x", "assembler")
    build_id = re.search(r"Build ID: (\w+)", execute(["readelf", "-n", path]).out.decode()).group(1)
    for _ in range(2):
        equal(record([path]).status, 0, "status")
    check(entries_in(os.path.join(PLACE, build_id)) > calls, "entries: %d" % entries_in(os.path.join(PLACE, build_id)))


@case("damaged, foreign and linked files are not read, and replaced or left alone")
def mistrusted():
    expected, path = run()
    for _ in range(3):
        record([program()], ["--deterministic"])
    good = content(path)
    check(len(good) > 100000, "hardly a fragment is kept")
    (end,) = struct.unpack_from("<I", good, 44) # of all but the groups, each of which is checked when it is used
    check(20000 < end < len(good) // 2, "groups from byte %d on of %d" % (end, len(good)))
    for at in (0, 9, 12, 20, 30, 50, 500, 20000, end - 1, len(good) // 2, len(good) - 1):
        damaged = good[:at] + bytes([good[at] ^ 0xff]) + good[at + 1:]
        with open(path, "wb") as file:
            file.write(damaged)
        same_branches(run()[0], expected, "same branches with byte %d damaged" % at)
        check(at >= end or content(path) != damaged, "a file with byte %d damaged stays" % at)
    for bad in (b"", good[:40], b"\0" * 100, good[:end], good[:len(good) // 2]):
        with open(path, "wb") as file:
            file.write(bad)
        same_branches(run()[0], expected, "same branches with other content")
        check(content(path) != bad, "a file of %d bytes of other content stays" % len(bad))
    with open(path, "wb") as file:
        file.write(good + good)
    same_branches(run()[0], expected, "same branches with more behind it")
    with open(path, "wb") as file:
        file.write(good)
    os.chmod(path, 0o666)
    run()
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, "mode of a file that others could write")
    os.unlink(path)
    victim = fresh("victim")
    with open(victim, "wb") as file:
        file.write(b"mine")
    os.symlink(victim, path)
    run()
    equal(content(victim), b"mine", "what the link led to")


class Xxh128(ctypes.Structure):
    _fields_ = [("low64", ctypes.c_uint64), ("high64", ctypes.c_uint64)]


def content_hash(data):
    """The first half of what lib/content_hash.c makes of it, by the library that libxxhash-dev depends on."""
    function = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
    function.argtypes, function.restype = [ctypes.c_char_p, ctypes.c_size_t], Xxh128
    return function(data, len(data)).low64


@case("a file whose index leads nowhere, or never ends, is not read, whatever its sum")
def forged():
    expected, path = run()
    for _ in range(3):
        record([program()], ["--deterministic"])
    good = content(path)
    cap, end = struct.unpack_from("<II", good, 40)
    equal(struct.unpack_from("<Q", good, 8)[0], content_hash(good[16:end]), "the sum")
    for value in (1, 0x7fffffff):
        index = struct.pack("<I", value) * (2 * cap)
        forged = good[:end - len(index)] + index + good[end:]
        forged = forged[:8] + struct.pack("<Q", content_hash(forged[16:end])) + forged[16:]
        with open(path, "wb") as file:
            file.write(forged)
        same_branches(run()[0], expected, "same branches with an index of %d alone" % value)
        check(content(path) != forged, "a file with an index of %d alone stays" % value)


COUNT = """
#include <stdio.h>
#include <stdlib.h>
static unsigned long f(unsigned long n) { return n < 2 ? n : %s; }
static int by(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void)
{
	int v[500];
	for (int i = 0; i < 500; i++)
		v[i] = (int)((unsigned)i * 7919u %% 503);
	qsort(v, 500, sizeof v[0], by);
	printf("%%lu %%d\\n", f(12), v[250]);
	return 0;
}
"""


@case("what is kept of a program changes no branch: from the first recording to the sixth")
def warm():
    # No shell: it writes its parent's pid into a variable, in branches by digits.
    programs = [["/bin/ls", "-l", "/usr"], ["/bin/sed", "s/[aeiou]/(&)/g", os.path.join(PROGRAMS, "status.S")], [own(COUNT % "f(n - 1) + f(n - 2)")],
                [own(COUNT % "f(n - 1) + f(n - 2)", "-static")], [own(COUNT % "f(n - 1) + f(n - 2)", "-no-pie")]]
    for argv in programs:
        first = record(argv, ["--deterministic", "--snap-exit", "always"])
        listing = branches(first.trace)
        check(len(listing) > 1000, "no branches of %s" % argv)
        for i in range(3):
            again = record(argv, ["--deterministic", "--snap-exit", "always"])
            equal(again.out, first.out, "output of %s" % argv)
            same_branches(branches(again.trace), listing, "same branches of %s in recording %d" % (argv, 2 * i + 2))
            equal(record(argv).out, first.out, "output of %s, wherever it lies" % argv)
    sizes = [os.stat(os.path.join(PLACE, name)).st_size for name in os.listdir(PLACE)]
    check(sum(size > 100000 for size in sizes) >= len(programs), "hardly a fragment is kept: %s" % sizes)


@case("another program at the same path with the same build-id is recorded as what it is")
def changed():
    path = own(COUNT % "f(n - 1) + f(n - 2) + 3", "-Wl,--build-id=0x00112233445566778899aabbccddeeff00112233")
    other = own(COUNT % "f(n - 1) + f(n - 2) + 5", "-Wl,--build-id=0x00112233445566778899aabbccddeeff00112233")
    for _ in range(4):
        before = record([path])
    expected = execute([other]).out
    check(expected != before.out, "the two programs do the same")
    os.replace(other, path)
    once = record([path], ["--deterministic", "--snap-exit", "always"])
    equal(once.out, expected, "output")
    shutil.rmtree(PLACE)
    cold = record([path], ["--deterministic", "--snap-exit", "always"])
    same_branches(branches(once.trace), branches(cold.trace), "same branches as without a profile")


@case("a program without a build-id is known by its file, and not when that is written again")
def without_build_id():
    path, other = (own(COUNT % ("f(n - 1) + f(n - 2) + %d" % n), "-Wl,--build-id=none") for n in (3, 5))
    stored = []
    for _ in range(4):
        alone = record([path], ["--deterministic", "--snap-exit", "always"])
        stored.append({name: os.stat(os.path.join(PLACE, name)).st_size for name in os.listdir(PLACE)})
    equal(sorted(stored[1]), sorted(stored[0]), "files of profiles")
    grown = [name for name in stored[0] if stored[1][name] > 2 * stored[0][name] and len(name) > 64]
    equal(len(grown), 1, "files with fragments of a program without a build-id: %s" % stored)
    equal(stored[3][grown[0]], stored[2][grown[0]], "size of the profile from the third run on")
    with open(other, "rb") as new, open(path, "r+b") as old: # the same inode
        old.write(new.read())
    expected = execute([path]).out
    check(expected != alone.out, "the two programs do the same")
    os.utime(path, ns=(0, 0))
    for _ in range(3):
        equal(record([path]).out, expected, "output")
    check(len(os.listdir(PLACE)) > len(stored[0]), "the program that was written again has no profile of its own")


@case("two recordings of a program at once leave a file that the next one reads")
def together():
    argv = [own(COUNT % "f(n - 1) + f(n - 2)")]
    expected = execute(argv).out
    for _ in range(3):
        started = [subprocess.Popen([BTREC, "run", "-q", "-o", fresh("trace"), "--", *argv], stdout=subprocess.PIPE) for _ in range(3)]
        for process in started:
            equal(process.communicate()[0], expected, "output")
            equal(process.returncode, 0, "status")
    equal(record(argv).out, expected, "output afterwards")
    names = os.listdir(PLACE)
    check(not [name for name in names if not re.fullmatch(r"[0-9a-f]+(\.ticks)?(\.apart)?(\.more|\.similar)?", name)], "unfinished files: %s" % names)


MORE = """
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>
int main(int argc, char **argv)
{
	char text[200] = "", *end;
	struct tm tm = {.tm_year = 99, .tm_mon = 3, .tm_mday = 77};
	time_t t = 1000000000;
	wchar_t wide[50];

	double d = strtod(argv[1], &end);

	snprintf(text, sizeof text, "%g %a %.30f", d, d / 3, d * 1e10);
	strftime(text + 100, 90, "%c %V", gmtime(&t));
	printf("%s %s %s %ld\\n", text, text + 100, end, (long)mktime(&tm));
	if (argc > 2) {
		swprintf(wide, 50, L"%ls %f", L"wide", d);
		printf("%ls %s\\n", wide, strstr(text, "e") ? strpbrk(text, "xyz") : "none");
	}
	return 0;
}
"""


@case("what comes later stands in a second file, which changes no branch, whatever stands in it, and goes with the first")
def second():
    path = own(MORE, "-Wl,--build-id=0x" + "ae" * 20)
    for _ in range(3):
        record([path, "12.5abc"])
    first = os.path.join(PLACE, "ae" * 20)
    more = first + ".more"
    before = content(first)
    check(not os.path.exists(more), "a second file for nothing new")
    argv = [path, "12.5abc", "more"]
    expected = execute(argv).out
    seen = set()
    for i in range(3):
        recorded = record(argv, ["--deterministic", "--snap-exit", "always"])
        equal(recorded.out, expected, "output")
        seen.add(branches(recorded.trace))
    equal(content(first) == before, True, "the first file is as it was")
    good = content(more)
    check(len(good) > 5000, "hardly a fragment is kept: %d" % len(good))
    equal(stat.S_IMODE(os.stat(more).st_mode), 0o600, "mode")
    damaged = [good[:at] + bytes([good[at] ^ 0xff]) + good[at + 1:] for at in (0, 8, 16, 24, 40, 200, len(good) // 2)]
    whole = damaged[-1:] # but for a group, which is checked when it is used
    for bad in damaged + [b"", good[:50], before]:
        with open(more, "wb") as file:
            file.write(bad)
        recorded = record(argv, ["--deterministic", "--snap-exit", "always"])
        equal(recorded.out, expected, "output")
        seen.add(branches(recorded.trace))
        check(bad in whole or content(more) != bad, "a second file that is damaged stays")
    equal(len(seen), 1, "different histories")
    with open(more, "wb") as file:
        file.write(good)
    with open(first, "wb") as file:
        file.write(before[:30] + b"x" + before[31:])
    record(argv)
    check(not os.path.exists(more), "the second file of another first one stays")


RUINED = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static char *page;
static void open_page(int signo) { mprotect(page, 4096, PROT_READ | PROT_WRITE); }
static int by(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static unsigned long faulting(unsigned long n)
{
	unsigned long a = n * 3, b = n ^ 0x55, c = n << 7;

	mprotect(page, 4096, PROT_NONE);
	for (int i = 0; i < 50; i++) {
		a += b * (unsigned)i ^ c;
		page[i] += (char)a;
		c = c << 1 | (a & 1);
	}
	return a ^ b ^ c ^ (unsigned char)page[n %% 50];
}
static unsigned long later(const char *text)
{
	char buffer[200], *end;
	struct tm tm = {.tm_year = 99, .tm_mon = 3, .tm_mday = 77};
	double d = strtod(text, &end);
	int v[300];

	for (int i = 0; i < 300; i++)
		v[i] = (int)((unsigned)i * 7919u %% 503);
	qsort(v, 300, sizeof v[0], by);
	snprintf(buffer, sizeof buffer, "%%g %%a %%.30f %%s %%d %%ld", d, d / 3, d * 1e10, end, v[77], (long)mktime(&tm));
	puts(buffer);
	return strlen(strpbrk(buffer, "e.")) + faulting(9);
}
int main(void)
{
	char byte;

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	signal(SIGSEGV, open_page);
	printf("%%lu\\n", faulting(3));
	fflush(stdout);
	(void)!read(0, &byte, 1);
	printf("%%lu\\n", faulting(7));
	printf("%%lu\\n", later("12.5abc"));
	return 0;
}
""".replace("%%", "%")


def forget():
    shutil.rmtree(PLACE, True)


# Behind its output, as bytes whatever they are: how often it has waited. Each of its stops is a wait, and there is little else to wait for.
STOPS = MORE.replace("#include <time.h>", "#include <sys/resource.h>\n#include <time.h>\n#include <unistd.h>").replace("	return 0;", """
	struct rusage u;

	fflush(stdout);
	getrusage(RUSAGE_SELF, &u);
	return write(1, &u.ru_nvcsw, sizeof u.ru_nvcsw) != sizeof u.ru_nvcsw;""")


def stops_of(output):
    return int.from_bytes(output[-8:], "little")


def waits(argv):
    """How often STOPS stopped, and the trace, of a recording from the deterministic start."""
    trace = fresh("trace")
    done = execute([BTREC, "run", "-q", "--deterministic", "--snap-exit", "always", "-o", trace, "--", *argv], cwd=TMP)
    equal(done.status, 0, "status")
    return stops_of(done.out), trace


@case("a program that nobody knows starts with what another one of the same interpreter ran: it stops less often, what it did and what it learns are the same")
def similar():
    forget()
    path = own(STOPS, "-lm", "-Wl,--build-id=0xabababababababababababababababababababab")
    argv, kept = [path, "12.5", "more"], os.path.join(PLACE, "ab" * 20)
    alone, trace = waits(argv)
    expected, learned = branches(trace), entries_in(kept)
    forget()
    record([program()])
    (of_similar,) = [name for name in os.listdir(PLACE) if name.endswith(".similar")]
    linked = [name for name in os.listdir(PLACE) if os.path.samefile(os.path.join(PLACE, name), os.path.join(PLACE, of_similar))]
    equal(len(linked), 2, "names of what is kept of the other")
    stops, trace = waits(argv)
    check(stops < alone * 3 // 4, "%d waits with a similar program, %d without" % (stops, alone))
    same_branches(branches(trace), expected, "same branches")
    check(abs(entries_in(kept) - learned) <= learned // 20, "entries: %d with a similar program, %d without" % (entries_in(kept), learned))
    check(os.path.samefile(kept, os.path.join(PLACE, of_similar)), "the newest is not taken for those that come")
    stops, trace = waits(argv)
    check(stops < alone // 2, "%d waits the second time, %d the first" % (stops, alone))
    same_branches(branches(trace), expected, "same branches the second time")
    for damage in (b"", b"\0", content(kept)[:200], content(kept)[:100] + b"x" + content(kept)[101:]):
        os.unlink(kept)
        os.unlink(os.path.join(PLACE, of_similar))
        with open(os.path.join(PLACE, of_similar), "wb") as file:
            file.write(damage)
        same_branches(branches(waits(argv)[1]), expected, "same branches with a damaged similar profile")
        check(os.path.samefile(kept, os.path.join(PLACE, of_similar)), "damaged similar profile is still there")


@case("a similar program of this recording will do, and a program without an interpreter has none")
def kin_at_once():
    forget()
    paths = [own(STOPS, "-lm", "-Wl,--build-id=0x%s" % (byte * 20)) for byte in ("ac", "ad")]
    outputs = [fresh("output") for _ in paths]
    forget()
    equal(record(["sh", "-c", "".join("%s 1.5 >%s; " % pair for pair in zip(paths, outputs))]).status, 0, "status")
    first, then = (stops_of(content(output)) for output in outputs)
    check(then < first * 3 // 4, "stops of one program, then of another: %d, %d" % (first, then))
    forget()
    static = own(COUNT % "n + f(n - 1)", "-static")
    equal(record([static]).status, 0, "status")
    equal([name for name in os.listdir(PLACE) if name.endswith(".similar")], [], "similar profile of a static program")


def overwrite(path, bytes_of):
    with open(path, "r+b") as file: # the same inode
        file.write(bytes_of(os.fstat(file.fileno()).st_size))


RUINS = {"emptied": lambda path: os.truncate(path, 0), "cut short": lambda path: os.truncate(path, 4096),
         "its groups cut off": lambda path: os.truncate(path, os.stat(path).st_size // 2),
         "noise": lambda path: overwrite(path, os.urandom), "zeros": lambda path: overwrite(path, bytes), "deleted": os.unlink}


@case("a file that is cut short, overwritten or deleted while it is used changes nothing, and is whole again later")
def ruined():
    path = own(RUINED)
    expected = execute([path], b"x").out
    check(expected.count(b"\n") == 4, "output of the program: %r" % expected)
    listing, sizes = None, {}
    for how, ruin in RUINS.items():
        shutil.rmtree(PLACE, ignore_errors=True)
        for _ in range(3):
            equal(record([path], stdin=b"x").out, expected, "output")
        names = [os.path.join(PLACE, name) for name in os.listdir(PLACE)]
        check(any(os.stat(name).st_size > 100000 for name in names), "hardly a fragment is kept")
        trace = fresh("trace")
        process = start([BTREC, "run", "-q", "-o", trace, "--deterministic", "--snap-exit", "always", "--", path], stdin=subprocess.PIPE)
        out = process.stdout.readline()
        for name in names:
            ruin(name)
        rest, err = process.communicate(b"x")
        equal((process.returncode, out + rest, err), (0, expected, b""), "status and output with the file %s" % how)
        listing = listing or branches(trace)
        check(len(listing) > 10000 and branches(trace) == listing, "other branches with the file %s" % how)
        for _ in range(3):
            equal(record([path], stdin=b"x").out, expected, "output of the next recordings")
        sizes[how] = max(os.stat(os.path.join(PLACE, name)).st_size for name in os.listdir(PLACE))
    check(min(sizes.values()) > 100000, "fragments are not kept again: %s" % sizes)


def replay_stops(trace, expected):
    """How often btrec waited while it replayed the trace."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw
    done = execute([BTREC, "replay", "-q", trace])
    equal((done.status, done.err, done.out), (0, b"", expected), "status, errors and output of the replay")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw - before


@case("a replay keeps what it ran, by build-ids, for the next one and for those of other traces; its own files alone; what is in them changes nothing")
def replays():
    argv = ["/usr/bin/sort", "-r", "/etc/services"]
    shutil.rmtree(PLACE, ignore_errors=True)
    traces = [record(argv, ["--replayable"]) for _ in range(2)]
    mine = {name: content(os.path.join(PLACE, name)) for name in kept_names()}
    first = replay_stops(traces[0].trace, traces[0].out)
    replay_stops(traces[0].trace, traces[0].out)
    for trace in (traces[0], traces[1]): # the addresses are others
        stops = replay_stops(trace.trace, trace.out)
        check(stops < first // 2, "%d stops with kept fragments, %d without" % (stops, first))
    replays = [os.path.join(PLACE, name) for name in os.listdir(PLACE) if ".ticks.logged" in name]
    check(replays and os.stat(replays[0]).st_size > 100000, "hardly a fragment is kept: %s" % replays)
    equal({name: content(os.path.join(PLACE, name)) for name in mine}, mine, "files of recordings, behind replays")
    for ruin in RUINS.values():
        for path in replays:
            if os.path.exists(path):
                ruin(path)
        replay_stops(traces[0].trace, traces[0].out)


@case("where there are too many files, or too much in them, the oldest of btrec's own go, and nobody else's")
def shrunk():
    base = fresh_dir("base", 0o700)
    place = os.path.join(base, "btrec")
    os.mkdir(place, 0o700)
    old = lambda n: (1000000000 + n,) * 2
    others = ["letter", "abcdef", "0" * 15, "0" * 17, "0" * 40 + ".c", "0" * 40 + ".ticks.", "0" * 40 + ".more.ticks", "0" * 40 + ".apart.ticks", "0" * 40 + ".apartment", "0" * 40 + ".12a", "0" * 200, "A" * 40]
    others += ["letter%d" % n for n in range(520)]
    ours = ["%040x%s" % (n, suffix) for n in range(70) for suffix in ("", ".more", ".ticks", ".ticks.more", ".apart", ".apart.more", ".ticks.apart", ".ticks.apart.more")] + ["0" * 40 + ".123", "0" * 40 + ".ticks.4567", "0" * 40 + ".ticks.apart.89"]
    for n, name in enumerate(others + ours):
        with open(os.path.join(place, name), "w") as file:
            file.write("x")
        os.utime(file.name, old(n))
    large = os.path.join(place, "large")
    with open(large, "w") as file:
        file.truncate(1 << 30)
    os.utime(large, old(0))
    env = dict(os.environ, XDG_CACHE_HOME=base)
    equal(execute([BTREC, "run", "-q", "-o", fresh("trace"), "--", "/bin/true"], env=env).status, 0, "status")
    left = set(os.listdir(place))
    equal(sorted(set(others + ["large"]) - left), [], "files of others that have gone")
    gone = [name in left for name in ours]
    equal(gone, sorted(gone), "the oldest have gone")
    equal(len(left) - len(others) - 1, 512, "files of btrec's")


@case("another user's file is not read")
def foreign():
    need_root()
    expected, path = run()
    for _ in range(3):
        record([program()], ["--deterministic"])
    os.chown(path, 12345, -1)
    same_branches(run()[0], expected, "same branches")
    equal(os.stat(path).st_uid, os.geteuid(), "owner of the file that took its place")


@case("a cache directory that is not there is made")
def made():
    place = os.path.join(TMP, "caches", "of", "nobody")
    env = dict(os.environ, XDG_CACHE_HOME=place)
    for _ in range(2):
        done = execute([BTREC, "run", "-q", "-o", fresh("trace"), "--", "/bin/true"], env=env)
        equal(done.status, 0, "status")
    check(os.listdir(os.path.join(place, "btrec")), "nothing was kept")
    equal(os.stat(place).st_mode & 0o777, 0o700, "mode")


STRANGER = 12345


def layout(at_base=0o700, at_btrec=None, base_owner=None, btrec_owner=None, leads_to=None):
    """A base, and btrec in it if a mode is given or it is a link."""
    base = fresh_dir("base", at_base)
    place = os.path.join(base, "btrec")
    if leads_to:
        os.symlink(leads_to, place)
    elif at_btrec is not None:
        os.mkdir(place)
        os.chmod(place, at_btrec)
        if btrec_owner:
            os.chown(place, btrec_owner, -1)
    if base_owner:
        os.chown(base, base_owner, -1)
    return base


def is_kept(**environment):
    """Whether two recordings leave something below any of the places that are named in the environment, which must be as they were if not."""
    def found():
        return {os.path.join(root, name) for place in environment.values() for root, _, names in os.walk(place, followlinks=True) for name in names}

    env = {name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"}
    env.update(environment)
    before = found()
    for _ in range(2):
        done = execute([BTREC, "run", "-q", "-o", fresh("trace"), "--", "/bin/true"], env=env)
        equal((done.status, done.err), (0, b""), "end")
    return found() != before


@case("nothing is kept where others can write, or put another directory; in a directory of everybody's the user's own will do")
def trusted():
    good = {"private": layout(), "with a directory": layout(0o755, 0o755), "sticky": layout(0o1777), "sticky, with a directory": layout(0o1777, 0o700),
            "not there": os.path.join(layout(), "x", "y"), "not there, below a sticky one": os.path.join(layout(0o1777), "x", "y")}
    bad = {"all can write": layout(0o777), "a group can write": layout(0o770), "all can write the directory": layout(0o700, 0o777),
           "a group can write the directory": layout(0o700, 0o770), "all can write the sticky directory": layout(0o700, 0o1777),
           "not there, where all can write": os.path.join(layout(0o777), "x", "y")}
    if os.geteuid() == 0:
        bad.update({"another's": layout(0o755, None, STRANGER), "another's sticky one": layout(0o1777, None, STRANGER),
                    "another's directory": layout(0o700, 0o755, None, STRANGER), "another's directory in a sticky one": layout(0o1777, 0o700, None, STRANGER)})
    for name, base in good.items():
        check(is_kept(XDG_CACHE_HOME=base), "nothing is kept: %s" % name)
    for name, base in bad.items():
        check(not is_kept(XDG_CACHE_HOME=base), "something is kept: %s" % name)


@case("without XDG_CACHE_HOME the same holds for HOME and its .cache")
def trusted_home():
    def home(mode=0o755, cache=None, owner=None):
        place = fresh_dir("home", mode)
        if cache is not None:
            os.mkdir(os.path.join(place, ".cache"))
            os.chmod(os.path.join(place, ".cache"), cache)
            if owner:
                os.chown(os.path.join(place, ".cache"), owner, -1)
        return place

    check(is_kept(HOME=home()), "nothing is kept in a home")
    check(is_kept(HOME=home(0o700, 0o755)), "nothing is kept in .cache")
    check(not is_kept(HOME=home(0o777)), "kept in a home that all can write")
    check(not is_kept(HOME=home(0o777, 0o700)), "kept in .cache of a home that all can write")
    check(not is_kept(HOME=home(0o755, 0o777)), "kept in .cache that all can write")
    if os.geteuid() == 0:
        check(not is_kept(HOME=home(0o755, 0o755, STRANGER)), "kept in another's .cache")


@case("the directory may be a link to one of the user's own, but not where others can put links")
def linked():
    own_place, shared = fresh_dir("place", 0o700), fresh_dir("place", 0o777)
    check(is_kept(XDG_CACHE_HOME=layout(leads_to=own_place)), "nothing is kept behind a link")
    check(not is_kept(XDG_CACHE_HOME=layout(leads_to=shared)), "kept behind a link to what all can write")
    check(not is_kept(XDG_CACHE_HOME=layout(0o1777, leads_to=fresh_dir("place", 0o700))), "kept behind a link in a directory of everybody's")
    check(not is_kept(XDG_CACHE_HOME=layout(leads_to=fresh("nothing"))), "kept behind a link to nothing")


@case("without a place nothing is kept, and recording goes on")
def nowhere():
    env = dict(os.environ, XDG_CACHE_HOME="/proc/self/nothing", HOME="/nonexistent")
    done = execute([BTREC, "run", "-q", "-o", fresh("trace"), "--", "/bin/true"], env=env)
    equal(done.status, 0, "status")


main()
