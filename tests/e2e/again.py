#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A code cache that a process leaves is the next one's, where that is the same program at the same addresses: each runs its own code all the same,
# and its history can be read.
import re

from e2e import *
import engine_compare

FIXED = ["-no-pie", "-fno-pie"]
MODES = {"": ("--snap-exit", "always"), ", ticks only": ("--history", "off"), ", history on and off": ("--switch-history",),
         ", eager guesses": ("--predict-eagerly", "--snap-exit", "always"), ", side by side": ("--parallel",)}


def again(*flags):
    return build("again.c", *flags, *FIXED, name="again" + "".join(flags))


def static(*flags):
    return again("-static", *flags)


def add(program, words, mode, options):
    @case("again: " + " ".join(words) + mode)
    def run():
        same_as_native([program(), *words], ("--backend", "engine", *options))


for words_ in (["runs", "6"], ["together", "9"], ["forks", "4"], ["changed"]):
    add(again, words_, ", with libraries", ())
    for mode_, options_ in MODES.items():
        add(static, words_, mode_, options_)


def memory_files(argv, *options):
    result = record(argv, ("--backend", "engine", *options))
    equal(result.status, 0, "exit status")
    return result.out.decode().split()


@case("a process has the code that the one before it left")
def has_it():
    files = memory_files([static(), "region"])
    check(files[0] != "-", "no memory file")
    equal(files[1], files[0], "the second process's memory file")


@case("addresses that are random: nothing is left")
def random_addresses():
    files = memory_files([build("again.c", "-pie", "-fPIE", name="again-pie"), "region"])
    equal(len(set(files)), 3, "different memory files")


@case("addresses that are not random: position independent code is left, too")
def fixed_addresses():
    files = memory_files([build("again.c", "-pie", "-fPIE", name="again-pie"), "region"], "--deterministic")
    equal(files[1], files[0], "the second process's memory file")


@case("what was left cannot be had in a jail without /proc: it is copied")
def jailed():
    need_root()
    folder = fresh_dir("jail")
    shutil.copy(static(), os.path.join(folder, "again"))
    alone, recorded = native([os.path.join(folder, "again"), "jailed", folder]), record([os.path.join(folder, "again"), "jailed", folder], ("--backend", "engine"))
    equal(recorded.status, 0, "exit status")
    one, work, two = recorded.out.decode().splitlines()
    equal(work, alone.out.decode().splitlines()[1], "what the one in the jail printed")
    check(one != "-" and two not in ("-", one), "memory files %s and, behind the jail, %s" % (one, two))


@case("the recorder's number is another process's in the namespace of a process: nothing is opened there")
def other_namespace():
    need_namespaces()
    same_as_native([static(), "elsewhere", fresh_dir("pipe")], ("--backend", "engine"))


@case("little room for data and a filter: the code is private, and nothing is stepped")
def limited():
    _, recorded = same_as_native([static(), "limited"], ("--backend", "engine"))
    check("single-stepped" not in execute([BTREC, "dump", recorded.trace]).out.decode(), "it is stepped")


def add_silent(what, mode, options):
    @case("a cycle of jumps that was cut when it was first seen, %s%s" % (what, mode))
    def run():
        _, recorded = same_as_native([static(), what], ("--backend", "engine", *options))
        at = [re.search(r"point=\d+\+(\d+)@", line) for line in engine_compare.dump_of(recorded.trace) if line.startswith("SIGNAL ") and " signo=14 " in line]
        check(len(at) == 1 and int(at[0].group(1)) > 10000, "transfers at the alarm: %s" % [a and a.group(1) for a in at])


for what_ in ("silent", "cut-here"):
    for mode_ in ("", ", ticks only"):
        add_silent(what_, mode_, MODES[mode_])


@case("a program that is written over, or replaced, between two processes")
def replaced():
    one, two, target = static(), static("-DVALUE=2"), os.path.join(fresh_dir("bin"), "program")
    equal(os.path.getsize(one), os.path.getsize(two), "sizes")
    script = "; ".join("%s && %s changed && %s runs 2" % (command, target, target) for command in (
        "cp %s %s" % (one, target), "cat %s > %s" % (two, target), "cp %s %s.new && mv %s.new %s" % (one, target, target, target),
        "cp %s %s.new && mv %s.new %s" % (two, target, target, target)))
    _, recorded = same_as_native(["sh", "-c", script], ("--backend", "engine"))
    check(b"1001" in recorded.out and b"1002" in recorded.out, "both programs ran")


@case("processes of one program are as stepped")
def as_stepped():
    engine_compare.compare_runs([static(), "runs", "3"])


@case("processes that change their code are as stepped")
def changed_as_stepped():
    engine_compare.compare_runs([static(), "changed"])


@case("processes of a dynamic program are as stepped")
def dynamic_as_stepped():
    engine_compare.compare_runs([again(), "runs", "2"])


main(sanitized=5)
