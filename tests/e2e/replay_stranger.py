#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Traces of strangers are replayed: what their logs say, and what their code does, stays in the process that replays it. One line tells how it ended.
from replays import *

ESCAPED = os.path.join(TMP, "escaped")
CALLS = """
	mov $85, %eax		# creat
	lea path(%rip), %rdi
	mov $0666, %esi
	syscall
	mov $41, %eax		# socket
	mov $1, %edi
	mov $1, %esi
	xor %edx, %edx
	syscall
	mov $59, %eax		# execve
	lea program(%rip), %rdi
	lea arguments(%rip), %rsi
	xor %edx, %edx
	syscall
	mov $231, %eax		# exit_group
	mov $33, %edi
	syscall
path:	.asciz "PATH"
program:	.asciz "/bin/true"
	.balign 8
arguments:	.quad 0
"""
# The tables of the code cache are written: an indirect branch then leads to code of the program's own, which is not translated.
OUT_OF_CACHE = """
	movabs $TABLE, %rdi
	lea native(%rip), %rax
	mov $ENTRIES, %ecx
	rep stosq
	lea other(%rip), %rax
	jmp *%rax
other:	mov $1, %eax
	jmp other
native:
"""
# All that can be written of the region is.
SCRIBBLE = """
	movabs $REGION, %rdi
	mov $-1, %rax
	mov $WINDOW / 8, %ecx
	rep stosq
"""


def layout():
    """Where the engine's region has what code of a stranger may write to."""
    source, program = fresh("layout.c"), fresh("layout")
    with open(source, "w") as file:
        file.write('#include <stdio.h>\n#include "collector/backend/engine/cache/layout.h"\nint main(void) { printf("%llu %llu %llu %u\\n", '
                   "(unsigned long long)WORLD_RESERVED_START, (unsigned long long)(WORLD_RESERVED_START + TABLE1_AT), "
                   "(unsigned long long)TABLE1_BYTES / 8, (unsigned)WINDOW_SIZE); return 0; }\n")
    subprocess.run([*CC, "-I", os.environ["BTREC_SRCDIR"], "-x", "c", source, "-o", program], check=True)
    names = ("REGION", "TABLE", "ENTRIES", "WINDOW")
    return dict(zip(names, execute([program]).out.decode().split()))


def code(text):
    """The bytes of assembler code, in a file."""
    source, made = fresh("code.S"), fresh("code")
    for name, value in (("PATH", ESCAPED), *layout().items()):
        text = text.replace(name, value)
    with open(source, "w") as file:
        file.write(text)
    subprocess.run([*CC, "-c", "-x", "assembler", source, "-o", made + ".o"], check=True)
    subprocess.run(["objcopy", "-O", "binary", "-j", ".text", made + ".o", made], check=True)
    return made


def ended_well(again, *statuses):
    check(again.status in statuses, "status %s: %s" % (again.status, again.err))
    check(not os.path.exists(ESCAPED), "a file was made")
    if again.status:
        check(re.fullmatch(rb"btrec: [^\n]*\n", again.err), again.err)


@case("code that makes system calls which were not recorded")
def own_calls():
    result = recorded(["/bin/true"])
    copy = with_change(result, "code", "LOG", 1, code(CALLS))
    for options in ([], ["--backend", "step"]):
        again = replayed(copy, "--json", *options)
        ended_well(again, 65)
        equal(json.loads(again.out)["kind"], "event", "kind of the divergence")


@case("code that leaves the code cache and makes system calls there")
def out_of_cache():
    result = recorded(["/bin/true"])
    again = replayed(with_change(result, "code", "LOG", 1, code(OUT_OF_CACHE + CALLS)), "--json")
    ended_well(again, 65)
    check(b"its filter ended the process" in again.out, again.out)


@case("code that writes all over the engine's memory")
def scribbled():
    result = recorded(["/bin/true"])
    for what in (SCRIBBLE + CALLS, SCRIBBLE + OUT_OF_CACHE + CALLS, SCRIBBLE + "\thlt\n"):
        ended_well(replayed(with_change(result, "code", "LOG", 1, code(what)), "--json"), 65, 69)


EFFECTS = {
    (65,): ["map-region", "map-gate", "map-over-region", "map-all", "map-kernel", "map-petabytes", "map-backwards", "map-odd", "unmap-region", "unmap-all", "protect-region",
            "move-region", "move-wraps", "move-over-itself", "shape-unknown", "data-region", "data-gate", "data-kernel", "data-wraps", "state-0", "state-kernel",
            "state-gate", "state-32", "state-base", "state-extended"],
    (71,): ["map-terabytes"],
    (0, 65): ["map-0", "map-strange", "data-0"],  # harmless, if the kernel lets it be done
}


@case("effects that no recorder writes, before the program and before a call")
def effects():
    result = recorded(["/bin/true"])
    for statuses, plants in EFFECTS.items():
        for plant in plants:
            for event in (("LOG", 1), ("LOG_CALL", 3)):
                again = replayed(with_change(result, plant, *event), "--json")
                ended_well(again, *statuses)


@case("effects of one event that would take all memory")
def flood():
    result = recorded(["/bin/true"])
    for event in (("LOG", 1), ("LOG_CALL", 3)):
        again = replayed(with_change(result, "flood", *event), "--memory-limit", "100M")
        ended_well(again, 71)
        check(b"takes more than 50 MB" in again.err, again.err)


@case("more objects than a log may have, by number or by their bytes, are damage")
def objects():
    result = recorded(["/bin/true"])
    for change in "objects", "much":
        again = replayed(with_change(result, change, "LOG_CALL", 3))
        ended_well(again, 76)
        check(b"more objects than a log may have" in again.err, again.err)


@case("memory that a replay may not have is told with the limit")
def memory():
    result = recorded(["/bin/true"])
    again = replayed(result.trace, "--memory-limit", "1M")
    ended_well(again, 71)
    check(b"--memory-limit" in again.err, again.err)
    equal(replayed(result.trace, "--memory-limit", "1G", "-q").status, 0, "status with enough")
    equal(replayed(result.trace, "--memory-limit", "much").status, 2, "status with no size")


main()
