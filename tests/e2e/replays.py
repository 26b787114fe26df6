# SPDX-License-Identifier: MIT
# Recordings with a log, their replays, and logs that are changed; for the scripts beside it.
from e2e import *

CHANGE_LOG = os.path.join(BUILD, "tests", "tools", "change_log")


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


def recorded(argv, *options, status=0):
    result = record(argv, ["--replayable", "--quiet", *options])
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
