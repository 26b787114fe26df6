#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What the stepper records the engine replays, and the reverse: the same output, the same end, and the same registers and memory at each event.
# Programs of at most some 5 million instructions. `make check` runs the shortest, `./check --full` all (BTREC_REPLAY_ALL=1). BTREC_SEED (1) is the
# first seed of the generated programs, BTREC_SEEDS (24) their number.
import shlex

import engine_compare
import real_programs
from engine_seeds import kept, made
from replays import *

PATIENCE = 900 # seconds that one run may take
ALL = bool(os.environ.get("BTREC_REPLAY_ALL"))
FIRST = int(os.environ.get("BTREC_SEED", "1"))
SEEDS = int(os.environ.get("BTREC_SEEDS", "24"))
os.environ["LC_ALL"] = "C" # the tables of a locale are hundreds of thousands of instructions
C_SOURCE = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile sig_atomic_t seen;
static void handle(int signo) { seen += signo; }
int main(int argc, char **argv) {
	char line[200]; FILE *f = fopen(argv[1], "r"); long sum = 0;
	char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	signal(SIGUSR1, handle);
	while (fgets(line, sizeof line, f)) { sum = sum * 31 + (long)strlen(line); memcpy(page, line, strlen(line)); raise(SIGUSR1); }
	printf("%s %ld %d %d %.20s\n", argv[0], sum, (int)seen, (int)getpid(), page);
	return 3;
}
"""


def compiled(*command):
    def make(folder):
        source = os.path.join(folder, "a.c")
        with open(source, "w") as file:
            file.write(C_SOURCE)
        if not real_programs.there(command[0]):
            raise Skip("no " + command[0])
        subprocess.run([*command, source, "-o", os.path.join(folder, "a")], check=True)
        return [os.path.join(folder, "a"), "input.txt"]
    return make


# Name, command or what makes it, status, whether `make check` runs it. The input has twenty lines.
PROGRAMS = [
    ("compiled, static-pie", compiled("gcc", "-O2", "-static-pie"), 3, True), ("compiled, musl", compiled("musl-gcc", "-O1"), 3, True), ("cat", "cat input.txt", 0, False),
    ("echo", "/bin/echo one two", 0, False), ("ls", "ls -la", 0, False), ("bash", ["bash", "-c", "for i in {1..50}; do a[i]=$((i*i)); done; echo ${a[*]} $RANDOM $$; read -r x < input.txt; echo ${x^^}; exit 4"], 4, False),
    ("awk", ["awk", "{for(i=1;i<=NF;i++) n[$i]++} END {for (w in n) print n[w], w}", "input.txt"], 0, False), ("sed", ["sed", "-E", "s/([a-z]+) ([a-z]+)/\\2 \\1/g", "input.txt"], 0, False),
    ("bc", "bc -q numbers", 0, False), ("jq", "jq -s add numbers", 0, False), ("gzip", "gzip -1c input.txt", 0, False), ("sort", "sort --parallel=1 input.txt", 0, False), ("date", "date", 0, False),
    ("killed by a signal", ["sh", "-c", "echo before; kill -BUS $$"], -signal.SIGBUS, False),
]


def at_events(trace, backend):
    """The number of each event with its point, registers and memory in one number; and the output."""
    again = execute([BTREC, "replay", "-q", "--no-output", "--checksum", "1", "--backend", backend, trace], cwd="/", timeout=PATIENCE)
    equal((again.status, again.err), (0, b""), "status and errors of a replay by %s" % backend)
    return again.out


def at_end(trace, backend):
    again = execute([BTREC, "replay", "-q", "--no-output", "--to", "end", "--registers", "--memory", "rsp,64", "--backend", backend, trace], cwd="/", timeout=PATIENCE)
    equal((again.status, again.err), (0, b""), "status and errors of a replay by %s to the end" % backend)
    return again.out


def both_ways(argv_in, status=None, states=at_events):
    """argv_in(folder): the command, in a directory with some input, which is its standard input, too. status: how it ends, if that is the same
    everywhere. states(trace, backend): what has to be the same by both backends."""
    seconds = []
    for recorder, replayer in ("step", "engine"), ("engine", "step"):
        folder = fresh_dir("work")
        text = "".join(real_programs.text().splitlines(True)[:20])
        with open(os.path.join(folder, "input.txt"), "w") as file:
            file.write(text)
        with open(os.path.join(folder, "numbers"), "w") as file:
            file.write("1\n22\n333\n")
        argv = argv_in(folder)
        if not real_programs.there(argv[0]):
            raise Skip("no " + argv[0])
        result = record(argv, ["--replayable", "--quiet", "--backend", recorder], cwd=folder, stdin=text.encode(), timeout=PATIENCE)
        check(status in (None, result.status), "end of the program, recorded by %s: %d (%s)" % (recorder, result.status, result.err[-300:]))
        shutil.rmtree(folder)
        again = execute([BTREC, "replay", "--backend", replayer, result.trace], cwd="/", timeout=PATIENCE)
        seconds.append(again.seconds)
        try:
            equal((again.status, again.out, again.program_err), (0, result.out, result.err), "status, output and errors of the replay by %s" % replayer)
            check(("killed by" if result.status < 0 else "exited with %d" % result.status) in again.own_err, again.own_err)
            engine, step = (states(result.trace, backend) for backend in ("engine", "step"))
            check(engine, "nothing is compared")
            check(engine == step, "recorded by %s, registers or memory are not the same: %s, %s" % (recorder, short(engine), short(step)))
        except Failure:
            if KEEP:
                shutil.copytree(result.trace, os.path.join(tempfile.mkdtemp(prefix="backends.", dir=KEEP), "trace"))
            raise
        shutil.rmtree(result.trace)
    print("     2 replays by the other backend are exact; stepped in %.1f s" % seconds[1], flush=True)


def add(name, command, status, short):
    if not short and not ALL:
        return

    @case("by the other backend: " + name)
    def both():
        both_ways(lambda folder: command(folder) if callable(command) else shlex.split(command) if isinstance(command, str) else command, status)


for row in PROGRAMS:
    add(*row)


def add_coreutils(command):
    @case("by the other backend: coreutils: " + command.split()[0])
    def both():
        both_ways(lambda folder: shlex.split(command))


# Programs without a library, what each is for in engine_compare.py; more of them, made at random. Many have no event but their end.
def add_bare(name, source, *flags):
    @case("by the other backend: made: " + name)
    def both():
        both_ways(lambda folder: [build(source, *BARE, *flags)], states=at_end)


def add_generated(seed):
    @case("by the other backend: generated: seed %d" % seed)
    def both():
        path = made(seed)
        try:
            both_ways(lambda folder: [path], 0)
        except Failure:
            kept(seed, path)
            raise


for each in COREUTILS if ALL else []:
    add_coreutils(each)
for each in engine_compare.BARE_PROGRAMS if ALL else engine_compare.BARE_PROGRAMS[:2]:
    add_bare(*each)
for each in range(FIRST, FIRST + (SEEDS if ALL else 0)):
    add_generated(each)

main(sanitized=2)
