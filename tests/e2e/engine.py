#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The engine is exact: what it records of a program is what the stepper records, branch by branch, register by register.
# BTREC_SEED (1) is the first seed of the generated programs, BTREC_SEEDS (24) their number, BTREC_ALARMS (200) the alarms of those
# that run under a timer.
import os
import shutil
import subprocess

from e2e import *
import engine_compare
import engine_generate

FIRST = int(os.environ.get("BTREC_SEED", "1"))
SEEDS = int(os.environ.get("BTREC_SEEDS", "24"))
ALARMS = os.environ.get("BTREC_ALARMS", "200")
BACKEND = engine_compare.backends()[1]
# Shorter than this, the stepper does nothing but enter handlers.
INTERVAL = "300" if BACKEND == "engine" else "30000"


def same_history(argv, least, options=(), **kw):
    """Records argv under both backends; both see `least` branches or more. Returns the result of the second."""
    result, count, _ = engine_compare.compare_runs(argv, options, **kw)
    check(count >= least, "only %d branches" % count)
    return result


def add_bare(name, source, *flags):
    @case("as stepped: " + name)
    def run():
        same_history([build(source, *BARE, *flags)], 1)


add_bare("every conditional branch, taken and not", "conditionals.S")
add_bare("every other branch", "transfers.S")
add_bare("signal handlers", "handlers.S")
add_bare("code that changes", "jit.S")
add_bare("a small program of everything", "workload.c", "-fno-stack-protector")
for define_ in ("JCC_UNMAPPED", "JMP_UNMAPPED", "CALL_UNMAPPED", "ICALL_UNMAPPED", "IJMP_NULL", "RET_UNMAPPED", "ICALL_NON_CANONICAL",
                "RET_NON_CANONICAL", "IJMP_NON_CANONICAL", "CALL_NO_STACK", "ICALL_MEMORY_FAULT"):
    add_bare("a branch that leads nowhere: " + define_.lower().replace("_", " "), "fault_at_branch.S", "-D" + define_)


@case("as stepped: glibc's start, dynamic")
def dynamic():
    same_history([build("library_user.c", shutil.copy(build("library.c", "-shared", "-fPIC", name="liblibrary.so"), fresh("library.so")))], 10000)


@case("as stepped: glibc's start, static")
def static():
    same_history([build("world.c", *STATIC), "status", "3"], 500)


def generated(seed):
    path = fresh("seed-%d" % seed)
    try:
        engine_generate.generate(seed, path, CC)
    except subprocess.CalledProcessError as error:
        raise Failure("seed %d does not assemble: %s" % (seed, error))
    return path


def kept(seed, path):
    """Where a program that failed is left for a person, if they asked for it."""
    if os.environ.get("BTREC_KEEP"):
        shutil.copy(path, os.path.join(os.environ["BTREC_KEEP"], "seed-%d" % seed))
        shutil.copy(path + ".S", os.path.join(os.environ["BTREC_KEEP"], "seed-%d.S" % seed))


WORDS = 8


def first_word(one, two):
    """Where two outputs of a generated program differ first."""
    for at in range(0, max(len(one), len(two)), WORDS):
        if one[at:at + WORDS] != two[at:at + WORDS]:
            shown = [int.from_bytes(of[at:at + WORDS], "little") for of in (one, two)]
            return "at byte %d: %x natively, %x recorded" % (at, *shown)
    return ""


def run_seed(seed):
    path = generated(seed)
    alone = native([path])
    equal(alone.status, 0, "native end of seed %d" % seed)
    try:
        result = same_history([path], 100)
        check(result.out == alone.out, "output differs from native %s" % first_word(alone.out, result.out))
    except Failure as failure:
        kept(seed, path)
        raise Failure("engine_generate.py %d: %s" % (seed, failure)) from None
    os.unlink(path)


@case("generated programs are as stepped, and as natively")
def generated_programs():
    failures = []
    for seed in range(FIRST, FIRST + SEEDS):
        try:
            run_seed(seed)
        except Failure as failure:
            failures.append(str(failure))
    check(not failures, "%d of %d programs from seed %d on; the first: %s" % (len(failures), SEEDS, FIRST, failures[0] if failures else ""))


@case("generated programs come out the same whatever instruction an alarm interrupts")
def generated_alarms():
    for seed in range(FIRST, FIRST + max(1, SEEDS // 8)):
        path = generated(seed)
        argv = [path, INTERVAL, ALARMS if BACKEND == "engine" else "4"]
        equal(native(argv).out, b"same\n", "native output of seed %d" % seed)
        result = record(argv, ["--backend", BACKEND])
        try:
            equal((result.status, result.out), (0, b"same\n"), "end and output of seed %d (%s)" % (seed, result.own_err))
        except Failure:
            kept(seed, path)
            raise


main()
