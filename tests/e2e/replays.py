# SPDX-License-Identifier: MIT
# Recordings with a log, their replays, and logs that are changed; for the scripts beside it.
from e2e import *

# A directory. What is not replayed exactly goes there, with its program, and the rest of the case is tried all the same.
KEEP = os.environ.get("BTREC_KEEP")

# Of the environment these are left. glibc looks in each variable for settings of its own (GLIBC_TUNABLES): with those of a shell and of make
# that was more than half of the start of a static program, of which every instruction is stepped here.
LEFT = "ASAN_OPTIONS HOME LC_ALL LD_LIBRARY_PATH LLVM_PROFILE_FILE PATH PYTHONDONTWRITEBYTECODE TERM TMPDIR UBSAN_OPTIONS XDG_CACHE_HOME".split()
for variable_ in list(os.environ):
    if variable_ not in LEFT and not variable_.startswith("BTREC_"):
        del os.environ[variable_]

CHANGE_LOG = os.path.join(BUILD, "tests", "tools", "change_log")

# Each in a directory with a text, input.txt, which it has as its standard input, too.
COREUTILS = [
    "cat input.txt", "ls -laR /usr/include/linux/netfilter", "sort --parallel=1 -k2 input.txt", "md5sum input.txt", "sha512sum input.txt", "b2sum input.txt", "cksum input.txt",
    "head -c 3000 input.txt", "tail -n 50 input.txt", "wc input.txt", "cut -c3-40 input.txt", "uniq -c input.txt", "tr a-z A-Z", "seq 1 2000", "factor 1234567890123 97 600851475143",
    "expr 3 * 4", "date -u", "printf '%08.3f %s\\n' 2.5 x", "dd if=input.txt bs=512 count=40", "tee made", "nl input.txt", "od -x input.txt", "base64 input.txt", "fold -w 20 input.txt",
    "shuf input.txt", "stat input.txt", "tac input.txt", "paste input.txt input.txt", "join input.txt input.txt", "comm input.txt input.txt", "cp -v input.txt made", "df /", "du -a .", "id",
    "uname -a", "env", "pr input.txt", "tsort /dev/null", "numfmt --to=iec 1234567", "mktemp -d made.XXXX", "split -l 100 --verbose input.txt", "csplit input.txt 100 200", "realpath .", "truncate -s 5 made",
    "rm -v input.txt", "mv -v input.txt made", "mkdir -v made", "ln -sv input.txt made", "touch made", "sum input.txt", "ptx input.txt", "test -f input.txt", "sleep 0.01", "nproc", "who", "install -v input.txt made",
]


def built(*flags):
    """The program and its input, in a folder of their own."""
    folder = fresh_dir("replayed")
    program, text = os.path.join(folder, "replayed"), os.path.join(folder, "text")
    status = subprocess.run([*CC, "-O2", "-g", *flags, os.path.join(PROGRAMS, "replayed.c"), "-o", program], stderr=subprocess.DEVNULL).returncode
    if status and "-static" in flags:
        raise Skip("no static C library")
    equal(status, 0, "status of the compiler")
    with open(text, "w") as file:
        file.write("one line\nanother line\n")
    return folder, [program, text]


def recorded(argv, *options, status=0, **kw):
    result = record(argv, ["--replayable", "--quiet", *options], **kw)
    equal(result.status, status, "end of the program")
    return result


def recorded_alone(argv, *options, status=0):
    """The same without copies of mapped files: their place in the cache is taken."""
    cache = fresh_dir("cache")
    os.mkdir(os.path.join(cache, "btrec"), 0o700)
    with open(os.path.join(cache, "btrec", "files"), "w"):
        pass
    result = record(argv, ["--replayable", "--quiet", *options], env=dict(os.environ, XDG_CACHE_HOME=cache))
    equal(result.status, status, "end of the program")
    check(not copies(result.trace), "copies of files: %s" % copies(result.trace))
    return result


def copies(trace):
    """The files of a trace that the program had mapped."""
    return sorted(os.path.join(trace, name) for name in os.listdir(trace) if name.startswith("mapped-"))


def replayed(trace, *options):
    return execute([BTREC, "replay", *options, trace], cwd="/")


class Replays:
    """The recordings of one case. Each is replayed, and its trace removed; end() says how many were replayed exactly."""

    def __init__(self):
        self.count, self.wrong = 0, []

    def exact(self, trace, program, out, err, text):
        """That its replay has this output and these errors, and status 0."""
        self.count += 1
        try:
            again = replayed(trace, "-q")
            equal((again.status, again.err, again.out), (0, err, out), "status, errors and output of the replay, " + text)
        except Failure as failure:
            if not KEEP:
                raise
            folder = tempfile.mkdtemp(prefix="replay.", dir=KEEP)
            shutil.copytree(trace, os.path.join(folder, "trace"))
            shutil.copy(program, folder)
            with open(os.path.join(folder, "failure"), "w") as file:
                file.write(str(failure) + "\n")
            self.wrong.append("%s: %s" % (folder, failure))
        shutil.rmtree(trace)

    def end(self):
        print("     %d recordings, %d replays are exact" % (self.count, self.count - len(self.wrong)), flush=True)
        check(not self.wrong, "\n".join(self.wrong))


def with_change(result, *change):
    """A copy of the trace whose log is changed."""
    copy = fresh("changed")
    shutil.copytree(result.trace, copy)
    log = [name for name in os.listdir(copy) if name.startswith("log-")]
    equal(len(log), 1, "logs of the trace")
    equal(execute([CHANGE_LOG, result.trace, os.path.join(copy, log[0]), *map(str, change)]).status, 0, "status of change_log %s" % (change,))
    return copy


def changed(result, *change):
    return replayed(with_change(result, *change), "--json")


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return [int(child) for child in file.read().split()]
