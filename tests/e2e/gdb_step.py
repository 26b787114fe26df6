#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The stepper's branches against gdb's: both step the same static program, entry by entry they are equal.
import os
import shutil

from e2e import *

os.environ.setdefault("BTREC_TEST_BACKEND", "step")

CONDITIONAL = {"loop", "loope", "loopne", "jrcxz", "jecxz", "jcxz"}


def gdb_instructions(program):
    """(address, length, mnemonic, indirect) of every instruction that gdb stepped."""
    if not shutil.which("gdb"):
        raise Skip("gdb is missing")
    if execute(["gdb", "-nx", "-batch", "-ex", "python print(6 * 7)"]).out.strip() != b"42":
        raise Skip("this gdb has no python")
    out = fresh("gdb-trace")
    done = execute(["gdb", "-nx", "-batch", "-x", os.path.join(HERE, "gdb_trace.py"), program], env=dict(os.environ, GDB_TRACE_OUT=out))
    if not os.path.exists(out):
        raise Failure("gdb: " + done.err.decode(errors="replace"))
    with open(out) as file:
        rows = [line.split() for line in file]
    return [(int(a, 16), int(n), mnemonic, indirect == "1") for a, n, mnemonic, indirect in rows]


def kind_of(mnemonic, indirect):
    if mnemonic.startswith("call"):
        return "icall" if indirect else "call"
    if mnemonic.startswith("ret"):
        return "ret"
    if mnemonic.startswith("jmp"):
        return "ijmp" if indirect else "jmp"
    if mnemonic == "syscall":
        return "syscall"
    base = mnemonic.split(",")[0]
    return "jcc" if base in CONDITIONAL or base.startswith("j") else None


def branches_of(instructions):
    rows, ticks = [], 0
    for (pc, length, mnemonic, indirect), (after, _, _, _) in zip(instructions, instructions[1:]):
        kind = kind_of(mnemonic, indirect)
        if kind is None:
            # A repeated string instruction is one instruction, however often it is stepped.
            check(after in (pc, pc + length), "gdb: %x %s goes to %x" % (pc, mnemonic, after))
            continue
        ticks += kind == "jcc"
        rows.append((ticks, kind, int(kind != "jcc" or after != pc + length), pc, after))
    return rows


def without_repeats(addresses):
    return [a for i, a in enumerate(addresses) if i == 0 or addresses[i - 1] != a]


def compare_with_gdb(source, *flags):
    program = build(source, *BARE, *flags)
    instructions = gdb_instructions(program)
    expected = branches_of(instructions)
    result = record([program], ["--deterministic", "--snap-exit", "always"])
    got = [row[1:] for row in branches(result.trace)]
    for i, (one, two) in enumerate(zip(got, expected)):
        check(one == two, "entry %d is %s, gdb says %s" % (i, one, two))
    equal(len(got), len(expected), "number of branches")
    listed = execute([BRANCHES, "-i", result.trace]).out.decode().splitlines()
    # Where a program began is not in its branches: the stretch before the first one is unknown.
    addresses = [line[2:] for line in listed[1:] if line.startswith("i ")]
    check("?" not in addresses, "straight-line code that could not be reconstructed")
    stepped = without_repeats(["%x" % row[0] for row in instructions])
    first = "%x" % expected[0][3]
    equal(without_repeats(addresses), stepped[stepped.index(first) + 1:], "instructions")
    print("     %d instructions, %d branches" % (len(instructions), len(expected)))


@case("compiled code, -O2 with jump tables")
def fast():
    compare_with_gdb("workload.c", "-fno-stack-protector", "-O2")


@case("every conditional branch")
def conditionals():
    compare_with_gdb("conditionals.S")


main()
