# SPDX-License-Identifier: MIT
# How ratios.py and replay.py measure: BUILDDIR [ROUNDS] [BEFORE] of the command line, the programs' inputs, one run, and what is made of the times of many.
# BTREC_BENCH=short does a tenth of the work; BTREC_BENCH_ONLY=WORD,WORD only rows whose names hold one of the words.
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
BEFORE = os.path.join(os.path.abspath(sys.argv[3]), "btrec") if len(sys.argv) > 3 else None
SHORT = os.environ.get("BTREC_BENCH") == "short"
ONLY = [w for w in os.environ.get("BTREC_BENCH_ONLY", "").split(",") if w]
BTREC = os.path.join(BUILD, "btrec")

FIRST_TIME = "engine, first time"
TRACE = "trace"
SMALL_FILES = 24
CACHES, FRESH = ("cache", "cache-starts"), "cache-fresh" # of the loads, of the starts; removed before each run
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
    words, state, lines = sorted(set(re.findall(r"[A-Za-z]{2,12}", open(os.path.join(HERE, "measuring.py")).read()))), 7, []
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


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def median(times, name, column, which):
    values = [t[which] for t in times[name, column]]
    return float("nan") if any(math.isnan(v) for v in values) else statistics.median(values)


def wanted(name):
    words = [w for w in ONLY if w]
    return not words or any(w in name for w in words)


def show_rounds():
    print("medians of %d interleaved rounds; %d CPUs, %s%s" % (ROUNDS, os.cpu_count(), os.uname().release, "; short" if SHORT else ""))
