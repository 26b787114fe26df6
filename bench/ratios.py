#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ratios.py BUILDDIR [ROUNDS] [BEFORE]: what ordinary programs cost under btrec, against native: ratios of CPU time (user and system, of the program,
# the recorder and everything they start) and of wall time. Each round runs everything once, one after the other, so that a slow minute
# hits all; medians over the rounds. What btrec keeps in the user's cache directory from one recording of a program to the next is there:
# before the rounds each row has been recorded LEARNING times. Start-up has rows of its own, in milliseconds, and a column "first time" without that.
# BEFORE is another build directory, of the commit before: its engine runs in the same rounds, and behind the tables stands what BUILDDIR's
# costs of it, row by row and in the mean.
# BTREC_BENCH=short does a tenth of the work; BTREC_BENCH_ONLY=WORD,WORD only rows whose names hold one of the words.
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
BEFORE = os.path.join(os.path.abspath(sys.argv[3]), "btrec") if len(sys.argv) > 3 else None
SHORT = os.environ.get("BTREC_BENCH") == "short"
ONLY = [w for w in os.environ.get("BTREC_BENCH_ONLY", "").split(",") if w]
BTREC = os.path.join(BUILD, "btrec")


FIRST_TIME = "engine, first time"
BEFORES = {"engine": "engine, before", "engine, ticks": "ticks, before"} # columns of BUILDDIR's, and BEFORE's of the same
TRACE = "trace"
HERD = "woken at once: "  # rows whose names begin so: btrec's columns alone; not in the mean. Twice the threads are to cost about twice as much
PARALLEL = ", --parallel" # rows whose names end so: btrec's columns alone, with that option; not in the mean
TREE = "tree: " # rows whose names begin so, of many short processes: btrec's columns alone, not in the mean
SMALL_FILES = 24
KERNEL = "short loop " # rows whose names begin so: one loop of a few instructions, which is no program; not in the mean
CACHES, FRESH = ("cache", "cache-starts"), "cache-fresh" # of the loads, of the starts; removed before each run
HANDOVER, HANDOVERS = "handover: ", 5000 # of threads that spin for one another (tests/programs/spins.c); so many of each
LEARNING = 2 # times: which fragments a program runs; those themselves


def amount(n):
    return n // 10 if SHORT else n


PYTHON = """
import json, re
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
class Node:
    def __init__(self, value): self.value, self.left, self.right = value, None, None
    def add(self, value):
        side = "left" if value < self.value else "right"
        if getattr(self, side): getattr(self, side).add(value)
        else: setattr(self, side, Node(value))
state, root = 1, Node(500)
for i in range(%d):
    state = state * 1103515245 + 12345 & 0x7fffffff
    root.add(state %% 1000003)
print(fib(%d), sum(len(m) for m in re.findall(r"[a-f]+", "".join(hex(i) for i in range(%d)))), len(json.dumps(list(range(%d)))))
"""
SQL = ("create table t(a integer primary key, b, c); with recursive n(x) as (select 1 union all select x+1 from n where x<%d) "
       "insert into t select x, x*7919 %% 10007, 'text '||(x*31 %% 997) from n; create index i on t(b); "
       "select c, count(*), sum(b) from t group by c order by 2 desc, 1 limit 5; select count(*) from t x join t y on x.b=y.a where y.c like '%%7%%'; "
       "update t set b=b+1 where a%%3=0; select sum(b) from t;")


# What configure scripts mostly do: compile and run small programs, and ask the shell's tools.
CONFIGURE = """AC_INIT([probe], [1])
AC_PROG_CC
AC_PROG_RANLIB
AC_PROG_GREP
AC_PROG_SED
AC_PROG_AWK
AC_SYS_LARGEFILE
AC_C_CONST
AC_CHECK_HEADERS([fcntl.h sys/mman.h sys/socket.h netinet/in.h pthread.h dlfcn.h poll.h sys/epoll.h])
AC_CHECK_FUNCS([mmap fork strlcpy getrandom memfd_create epoll_create1 qsort_r clock_gettime])
AC_CHECK_SIZEOF([long])
AC_TYPE_SIZE_T
AC_SEARCH_LIBS([sin], [m])
AC_CONFIG_FILES([result])
AC_OUTPUT
"""
SMALL_FILE = """#include <stdio.h>
#include <stdlib.h>
int compute_%(n)d(int x) { int s = 0; for (int i = 0; i < x; i++) s += (i ^ %(n)d) %% 7; return s; }
void print_%(n)d(void) { printf("%%d\\n", compute_%(n)d(rand())); }
"""


def workloads(folder):
    """Rows: name, argv (or a shell pipeline)."""
    tree = os.path.dirname(HERE)
    decoder = ("decoder/symbols/symbols.c", "decoder/model/model.c", "decoder/model/history.c")
    sources = " ".join(os.path.join(tree, f) for f in (("lib/insn.c",) if SHORT else decoder))
    work = os.path.join(folder, "work")
    return [
        ("branchy loop", "%s branches %d" % (work, amount(12000000))),
        ("loop of short branches", "%s shorts %d" % (work, amount(8000000))),
        ("gzip -9, 10 MB", "gzip -9 < big | md5sum"),
        ("bzip2, 10 MB", "bzip2 < big | md5sum"),
        ("gcc -O2 -c", "for f in %s; do gcc -O2 -D_GNU_SOURCE -I%s -I%s -c $f -o o.o && md5sum < o.o; done" % (sources, tree, BUILD)),
        ("sqlite3 in memory", "sqlite3 :memory: \"%s\"" % (SQL % amount(300000))),
        ("python3", "/usr/bin/python3 script.py"),
        ("dd bs=1", "dd if=/dev/zero bs=1 count=%d status=none | md5sum" % amount(500000)),
        ("closing what is not open", "%s closes %d" % (work, amount(3000000))),
        ("find | sort | wc", "find /usr/share /usr/include -type f | sort | wc -l" if not SHORT else "find /usr/include -type f | sort | wc -l"),
        ("four threads with mutexes", "%s %d" % (os.path.join(folder, "threads"), amount(1200000))),
        (KERNEL + "of a call and a return, no conditional", "%s returns %d" % (work, amount(1000))),
        (KERNEL + "of an interpreter, no conditional", "%s operations %d" % (work, amount(400))),
        (KERNEL + "of a system call, no conditional", "%s asks %d" % (work, amount(1000))),
        (KERNEL + "on a counter", "%s %d" % (os.path.join(folder, "counter"), amount(300000000))),
        (KERNEL + "on a counter" + PARALLEL, "%s %d" % (os.path.join(folder, "counter"), amount(300000000))),
        ("four threads" + PARALLEL, "%s %d" % (os.path.join(folder, "threads"), amount(1200000))),
        *trees(),
        (HERD + "800 threads", "%s %d" % (os.path.join(folder, "herd"), amount(800))),
        (HERD + "1600 threads", "%s %d" % (os.path.join(folder, "herd"), amount(1600))),
    ]


def trees():
    rows = [(TREE + "make -j2, %d small files" % SMALL_FILES, "cd small && make -s clean && make -s -j2 && cat *.o | md5sum")]
    if shutil.which("autoconf"):
        rows.append((TREE + "configure script", "rm -rf configured && mkdir configured && cd configured && ../configure && md5sum < result"))
    return rows


def start_ups():
    rows = [("start: true", "exec /bin/true"), ("start: ls", "exec ls /usr/include")]
    compiler = subprocess.run(["gcc", "-print-prog-name=cc1"], stdout=subprocess.PIPE).stdout.decode().strip()
    if os.access(compiler, os.X_OK):
        rows.append(("start: cc1, an empty file", "exec %s -quiet /dev/null -o /dev/null" % compiler))
    return rows


def handovers(folder):
    """Two threads that spin for one another, there and back; so often that the start is little of it."""
    ways = ("loads", "pause", "calls", "counting")
    return [(HANDOVER + way, "exec %s %s %d" % (os.path.join(folder, "spins"), way, amount(HANDOVERS))) for way in ways]


def runners(folder):
    """Columns: name, argv in front of the program. qemu runs one program, so a shell pipeline's programs are run by a qemu each, through PATH."""
    engine = [BTREC, "run", "-q", "--backend", "engine", "-o", TRACE]
    rows = [("native", []), ("engine", [*engine, "--"]), (FIRST_TIME, [*engine, "--"])]
    probe = subprocess.run([*engine[:-1], os.path.join(folder, TRACE), "--history", "off", "--", "/bin/true"], stderr=subprocess.PIPE)
    if probe.returncode == 0:
        rows.append(("engine, ticks", [*engine, "--history", "off", "--"]))
    if BEFORE:
        for column in [c for c, _ in rows if c in BEFORES]:
            rows.append((BEFORES[column], [BEFORE, *dict(rows)[column][1:]]))
        return rows
    if shutil.which("valgrind"):
        rows.append(("valgrind none", ["valgrind", "-q", "--tool=none", "--trace-children=yes", "--error-limit=no"]))
    if shutil.which("qemu-x86_64"):
        rows.append(("qemu-user", ["QEMU"]))
    return rows


def wrapped(command):
    """Each program of a pipeline under qemu-x86_64, which does not follow an execve; gcc runs its parts through it, too."""
    out = []
    for part in re.split(r"( \| | && |; do |; done|^for f in [^;]*|^)", command):
        words = part.split(" ", 1)
        if words[0] and shutil.which(words[0]):
            more = " -wrapper ./emulated" if words[0] == "gcc" else ""
            part = "qemu-x86_64 " + shutil.which(words[0]) + more + part[len(words[0]):]
        out.append(part)
    return "".join(out)


def measure(front, command, folder, column):
    """command: for the shell, or an argv. (CPU seconds, wall seconds, output). wait4 counts the process and all that it and its children have waited for."""
    starts = isinstance(command, str) and command.startswith("exec ") # start-up: of that program alone
    cache = os.path.join(folder, FRESH if column == FIRST_TIME else CACHES[starts] + (".before" if "before" in column else ""))
    shutil.rmtree(os.path.join(folder, FRESH), True)
    # Traces stay: a file system may pass over what has just been deleted, one by one, when it makes new files.
    there = sum(name.startswith(TRACE) for name in os.listdir(folder))
    front = [os.path.join(folder, "%s-%d" % (TRACE, there)) if word == TRACE else word for word in front]
    if starts:
        argv = [*(["qemu-x86_64"] if front == ["QEMU"] else front), *command.split()[1:]]
        argv = [shutil.which(word) if word == "ls" else word for word in argv]
    elif isinstance(command, list):
        argv = [*front, *command]
    else:
        argv = ["sh", "-c", wrapped(command)] if front == ["QEMU"] else [*front, "sh", "-c", command]
    with open(os.path.join(folder, "out"), "w+b") as out:
        began = time.monotonic()
        process = subprocess.Popen(argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL,
                                   env=dict(os.environ, XDG_CACHE_HOME=cache))
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        process.returncode = status
        out.seek(0)
        return usage.ru_utime + usage.ru_stime, wall, (status, out.read())


def read_kept(folder):
    """What btrec has kept, as the native run before each row reads what programs are made of: a machine may have put files aside that nobody
    has read for a minute, and then their way back from the disk would be measured."""
    for cache in [*CACHES, *(cache + ".before" for cache in CACHES)]:
        for where, _, names in os.walk(os.path.join(folder, cache)):
            for name in names:
                with open(os.path.join(where, name), "rb") as file:
                    while file.read(1 << 20):
                        pass


def prepare(folder):
    flags = ["-O2", "-g"]
    for name, more in (("work", ["-static"]), ("threads", ["-pthread"]), ("herd", ["-pthread"]), ("counter", ["-fPIE", "-pie"]),
                       ("../tests/programs/spins", ["-pthread"])):
        subprocess.run(["cc", *flags, os.path.join(HERE, name + ".c"), "-o", os.path.join(folder, os.path.basename(name)), *more], check=True)
    emulated = os.path.join(folder, "emulated") # for gcc's parts: qemu does not search PATH
    with open(emulated, "w") as file:
        file.write("#!/bin/sh\nprogram=$(command -v \"$1\")\nshift\nexec qemu-x86_64 \"$program\" \"$@\"\n")
    os.chmod(emulated, 0o755)
    prepare_trees(folder)
    with open(os.path.join(folder, "script.py"), "w") as file:
        file.write(PYTHON % (amount(100000), 18 if SHORT else 23, amount(500000), amount(500000)))
    # Some text and some of a program's bytes, as much of both in each run.
    with open(shutil.which("gdb") or "/bin/bash", "rb") as file:
        binary = file.read(amount(2000000))
    words, state, lines = sorted(set(re.findall(r"[A-Za-z]{2,12}", open(os.path.join(HERE, "ratios.py")).read()))), 7, []
    size = amount(8000000)
    while size > 0:
        state = (state * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
        line = "%s %x %s" % (words[(state >> 33) % len(words)], state >> 50, words[(state >> 20) % len(words)])
        lines.append(line)
        size -= len(line) + 1
    with open(os.path.join(folder, "big"), "wb") as file:
        file.write(binary + "\n".join(lines).encode())


def prepare_trees(folder):
    small = os.path.join(folder, "small")
    os.mkdir(small)
    for n in range(SMALL_FILES):
        with open(os.path.join(small, "f%d.c" % n), "w") as file:
            file.write(SMALL_FILE % {"n": n})
    with open(os.path.join(small, "Makefile"), "w") as file:
        file.write("all: %s\nclean:; rm -f *.o\n%%.o: %%.c; gcc -O1 -c $< -o $@\n" % " ".join("f%d.o" % n for n in range(SMALL_FILES)))
    if shutil.which("autoconf"):
        for name, text in (("configure.ac", CONFIGURE), ("result.in", "@CC@ @LIBS@ @DEFS@\n")):
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        subprocess.run(["autoconf"], cwd=folder, check=True)


def wanted(name):
    words = [w for w in ONLY if w]
    return not words or any(w in name for w in words)


def has_own_columns(name):
    return name.endswith(PARALLEL) or name.startswith((TREE, HERD, HANDOVER))


def has_cell(name, column):
    if has_own_columns(name):
        return column in ("native", *BEFORES, *BEFORES.values())
    return column != FIRST_TIME or name.startswith("start")


def parallel(front):
    return [*front[:2], "--parallel", *front[2:]] if front else front


def main():
    folder = tempfile.mkdtemp(prefix="btrec-ratios.")
    try:
        prepare(folder)
        loads, starts, turns = [[r for r in rows if wanted(r[0])] for rows in (workloads(folder), start_ups(), handovers(folder))]
        columns = runners(folder)
        times = {}
        for column, front in columns:
            for _, command in (loads + starts + turns) * LEARNING if column.startswith(("engine", "ticks")) and column != FIRST_TIME else []:
                measure(front, command, folder, column)
        for _ in range(ROUNDS):
            for name, command in loads + starts + turns:
                right = None
                measure([], command, folder, "native") # files that the machine has put aside since the last round are read again by this one
                read_kept(folder)
                for column, front in columns:
                    if not has_cell(name, column):
                        continue
                    cpu, wall, said = measure(parallel(front) if name.endswith(PARALLEL) else front, command, folder, column)
                    right = said if column == "native" else right
                    if said != right:
                        print("%s under %s: another output or status than natively" % (name, column), file=sys.stderr)
                        cpu = wall = float("nan")
                    times.setdefault((name, column), []).append((cpu, wall))
        show(columns, loads, starts, times)
        show_handovers(turns, times)
        show_before(loads + starts + turns, times)
        print("medians of %d interleaved rounds; %d CPUs, %s%s" % (ROUNDS, os.cpu_count(), os.uname().release, "; short" if SHORT else ""))
    finally:
        shutil.rmtree(folder, True)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def median(times, name, column, which):
    values = [t[which] for t in times[name, column]]
    return float("nan") if any(math.isnan(v) for v in values) else statistics.median(values)


def show(columns, loads, starts, times):
    others, at_start = ([column for column, _ in columns if column not in ("native", but)] for but in (FIRST_TIME, None))
    cell = "%%-%ds" % max(len(name) for name, _ in loads + starts + [("geometric mean", "")])
    print("CPU time (wall time), times native")
    print((cell + " %12s") % ("", "native") + "".join(" %16s" % c for c in others))
    for name, _ in loads:
        line = (cell + " %9.0f ms") % (name, 1000 * median(times, name, "native", 0))
        for column in others:
            if not has_cell(name, column):
                line += " %16s" % ""
                continue
            ratios = [median(times, name, column, i) / median(times, name, "native", i) for i in (0, 1)]
            line += " %16s" % ("%.2f (%.2f)" % tuple(ratios))
        print(line.rstrip())
    loads = [row for row in loads if not has_own_columns(row[0]) and not row[0].startswith(KERNEL)]
    if loads:
        line = (cell + " %12s") % ("geometric mean", "")
        for column in others:
            ratios = [median(times, name, column, 0) / median(times, name, "native", 0) for name, _ in loads]
            line += " %16s" % ("%.2f" % geometric_mean(ratios))
        print(line.rstrip())
    if starts:
        print("Start-up, ms of CPU (wall)")
        print((cell + " %12s") % ("", "native") + "".join(" %18s" % c for c in at_start))
    for name, _ in starts:
        line = (cell + " %12s") % (name, "%.1f (%.1f)" % tuple(1000 * median(times, name, "native", i) for i in (0, 1)))
        for column in at_start:
            line += " %18s" % ("%.1f (%.1f)" % tuple(1000 * median(times, name, column, i) for i in (0, 1)))
        print(line.rstrip())


def show_handovers(rows, times):
    columns = ("native", "engine", "engine, ticks")
    if rows:
        print("Handovers of threads that spin, us of CPU each; natively two threads spin on two processors at once")
        print("%-20s" % "" + "".join(" %18s" % c for c in columns))
    for name, _ in rows:
        print("%-20s" % name + "".join(" %18.1f" % (1e6 * median(times, name, c, 0) / amount(HANDOVERS)) if (name, c) in times else "" for c in columns))


def show_before(rows, times):
    """What this build costs of what the one before it does: medians of the ratios of each round."""
    all_ratios = []
    for column, before in BEFORES.items() if BEFORE else ():
        ratios = {name: statistics.median(now[0] / then[0] for now, then in zip(times[name, column], times[name, before]))
                  for name, _ in rows if (name, column) in times and (name, before) in times}
        for name, ratio in ratios.items():
            print("%-40s %-14s %.3f of before%s" % (name, column, ratio, "  <-- more than 1.05" if ratio > 1.05 else ""))
        all_ratios += ratios.values()
    if all_ratios:
        print("geometric mean: %.3f of before" % geometric_mean(all_ratios))


if __name__ == "__main__":
    main()
