#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# ratios.py BUILDDIR [ROUNDS] [BEFORE]: what ordinary programs cost under btrec, against native: ratios of CPU time (user and system, of the program,
# the recorder and everything they start) and of wall time. Each round runs everything once, one after the other, so that a slow minute
# hits all; medians over the rounds. What btrec keeps in the user's cache directory from one recording of a program to the next is there:
# before the rounds each row has been recorded LEARNING times. Start-up has rows of its own, in milliseconds, and a column "first time" without that.
# BEFORE is another build directory, of the commit before: its engine runs in the same rounds, and behind the tables stands what BUILDDIR's
# costs of it, row by row and in the mean.
# Without BEFORE programs of one process are recorded for a replay and replayed in the same rounds, too: replay.py has those rows and their table.
# BTREC_BENCH, BTREC_BENCH_ONLY: as measuring.py says.
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import replay
from measuring import (BEFORE, BTREC, BUILD, FIRST_TIME, HERE, LEARNING, ROUNDS, SHORT, SMALL_FILES, SQL, TRACE, amount, geometric_mean, measure, median,
                       prepare, read_kept, show_rounds, wanted)

BEFORES = {"engine": "engine, before", "engine, ticks": "ticks, before"} # columns of BUILDDIR's, and BEFORE's of the same
HERD = "woken at once: "  # rows whose names begin so: btrec's columns alone; not in the mean. Twice the threads are to cost about twice as much
PARALLEL = ", --parallel" # rows whose names end so: btrec's columns alone, with that option; not in the mean
TREE = "tree: " # rows whose names begin so, of many short processes: btrec's columns alone, not in the mean
KERNEL = "short loop " # rows whose names begin so: one loop of a few instructions, which is no program; not in the mean
HANDOVER, HANDOVERS = "handover: ", 5000 # of threads that spin for one another (tests/programs/spins.c); so many of each


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
        times, replayed = {}, replay.Replays(folder) if not BEFORE else None
        for column, front in columns:
            for _, command in (loads + starts + turns) * LEARNING if column.startswith(("engine", "ticks")) and column != FIRST_TIME else []:
                measure(front, command, folder, column)
        if replayed:
            replayed.learn()
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
            if replayed:
                replayed.measure()
        show(columns, loads, starts, times)
        show_handovers(turns, times)
        show_before(loads + starts + turns, times)
        if replayed:
            replayed.show()
        show_rounds()
    finally:
        shutil.rmtree(folder, True)


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
