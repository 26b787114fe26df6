#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The engine is exact: what it records of a program is what the stepper records, branch by branch, register by register.
# BTREC_SEED (1) is the first seed of the generated programs, BTREC_SEEDS (24) their number.
import os
import shutil

from e2e import *
import engine_compare
from engine_seeds import kept, made

FIRST = int(os.environ.get("BTREC_SEED", "1"))
SEEDS = int(os.environ.get("BTREC_SEEDS", "24"))


def same_history(argv, least, options=(), **kw):
    """Records argv under both backends; both see `least` branches or more. Returns the result of the second."""
    result, count, _ = engine_compare.compare_runs(argv, options, **kw)
    check(count >= least, "only %d branches" % count)
    return result


def add_bare(name, source, *flags):
    @case("as stepped: " + name)
    def run():
        same_history([build(source, *BARE, *flags)], 1)


for bare in engine_compare.BARE_PROGRAMS:
    add_bare(*bare)


@case("as stepped: a branch that mostly leads to one place, then to another, then nowhere")
def predicted():
    for program in engine_compare.guessed_programs():
        same_history([program], 1)


@case("as stepped: glibc's start, dynamic")
def dynamic():
    same_history([build("library_user.c", shutil.copy(build("library.c", "-shared", "-fPIC", name="liblibrary.so"), fresh("library.so")))], 10000)


@case("as stepped: glibc's start, static")
def static():
    same_history([build("world.c", *STATIC), "status", "3"], 500)


WORDS = 8


def first_word(one, two):
    """Where two outputs of a generated program differ first."""
    for at in range(0, max(len(one), len(two)), WORDS):
        if one[at:at + WORDS] != two[at:at + WORDS]:
            shown = [int.from_bytes(of[at:at + WORDS], "little") for of in (one, two)]
            return "at byte %d: %x natively, %x recorded" % (at, *shown)
    return ""


@case("as stepped, with code for processors without PEXT and LZCNT")
def plain_processor():
    for source, flags in (("conditionals.S", BARE), ("transfers.S", BARE), ("handlers.S", BARE), ("world.c", (*STATIC, "-O1"))):
        same_history([build(source, *flags), "status", "3"], 1, ["--plain-processor"])
    for seed in range(FIRST, FIRST + SEEDS // 6 + 1):
        run_seed(seed, ["--plain-processor"])


def run_seed(seed, options=()):
    path = made(seed)
    alone = native([path])
    equal(alone.status, 0, "native end of seed %d" % seed)
    try:
        result = same_history([path], 100, options)
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


main(sanitized=5)
