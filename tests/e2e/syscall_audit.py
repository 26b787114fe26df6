#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The rows of syscalls/syscall_writes.def against the kernel: the memory of a program is compared before and after each of its
# calls, and no byte may have changed that lies outside the ranges of the call's row. Says which rows no program here used.
import pwd

from e2e import *

AUDIT = find_tool("AUDIT_SYSCALLS", "tests/tools/audit_syscalls")
ROWS = os.path.join(HERE, "..", "..", "syscalls")
SMALL = [["true"], ["ls", "-la", "/"], ["cat", "/etc/passwd"], ["sort", "/etc/passwd"], ["wc", "/etc/passwd"], ["date"], ["id"],
         ["df", "/"], ["stat", "/"], ["uname", "-a"], ["sleep", "0.01"], ["timeout", "5", "true"], ["md5sum", "/etc/passwd"],
         ["bash", "-c", "for i in 1 2 3; do echo $i; done; read x </etc/passwd; (exit 3); echo $?; echo a | cat"],
         ["perl", "-e", "print join(',', sort(map { $_ * 2 } 1..9)); print `echo x`"]]
LARGE = [["python3", "-c", "import os, socket, tempfile; a, b = socket.socketpair(); a.send(b'x'); b.recv(9); os.listdir('/')"]]
# It goes on with another call, whose row says it.
NO_ROW = {"restart_syscall 0"}
# How rows say that the kernel writes; their other words are about arguments.
OUTPUT = re.compile(r"\b(FIXED|EVER|INTERRUPTED|BY_ARG|EVER_BY_ARG|RESULT|LENGTH|IOVECS|OPERATION|FUNCTION|UNKNOWN)\b")
made = set()


def audit(argv, *options, setup=None):
    """The lines of the audit's log of one run."""
    place = fresh_dir("audit", 0o777)
    log = os.path.join(place, "log")
    result = execute([AUDIT, *options, log, *argv], cwd=place, setup=setup)
    with open(log) as f:
        lines = f.read().splitlines()
    check("made execve 0" in lines, "%s did not run: %s %s" % (argv, result.status, result.err))
    return result.status, lines


def expect_inside(argv, **kw):
    status, lines = audit(argv, **kw)
    outside = [line for line in lines if line.startswith("outside")]
    unknown = {line[8:] for line in lines if line.startswith("unknown ")} - NO_ROW
    equal((status, outside, unknown), (0, [], set()), " ".join(argv))
    made.update(line[5:] for line in lines if line.startswith("made "))


def rows_with_output():
    """(call, operation) of each row that says that something is written."""
    numbers = {}
    with open(os.path.join(ROWS, "syscall_writes.def")) as f:
        for name, rest in re.findall(r"^BT_WRITES\((\w+), (.*)\)$", f.read(), re.M):
            if OUTPUT.search(rest) and "OPERATION(" not in rest and name != "ioctl":
                numbers[name + " 0"] = name
    with open(os.path.join(ROWS, "syscall_operations.def")) as f:
        for call, number, name, rest in re.findall(r"^BT_OPERATION\((\w+), (\w+), (\w+), (.*)\)$", f.read(), re.M):
            if rest != "NOTHING":
                numbers["%s %x" % (call, int(number, 0))] = "%s(%s)" % (call, name)
    with open(os.path.join(ROWS, "ioctl_writes.def")) as f:
        for number, name, rest in re.findall(r"^BT_IOCTL\((\w+), (\w+), (.*)\)$", f.read(), re.M):
            if rest not in ("NOTHING", "UNKNOWN"):
                numbers["ioctl %x" % int(number, 0)] = "ioctl(%s)" % name
    return numbers


def every_call():
    return build("every_call.c", "-static")


@case("a program that makes every call: nothing is written outside the rows")
def every():
    expect_inside([every_call()])


@case("the same without privileges")
def unprivileged():
    need_root()
    nobody = pwd.getpwnam("nobody")

    def drop():
        os.setgroups([])
        os.setgid(nobody.pw_gid)
        os.setuid(nobody.pw_uid)

    expect_inside([every_call()], setup=drop)


@case("ordinary programs")
def ordinary():
    for argv in SMALL + (LARGE if os.environ.get("BTREC_ALL_CASES") else []):
        if shutil.which(argv[0]):
            expect_inside(argv)


@case("a row that is a byte too short is found")
def too_short():
    status, lines = audit([every_call()], "--short")
    equal(status, 1, "status")
    for call in "fstat", "uname", "getrusage", "recvmsg", "getsockname", "ioctl", "waitid", "mincore":
        check(any(line.startswith("outside %s(" % call) for line in lines), "%s was not found" % call)


@case("most rows are used")
def used():
    if not made: # this case alone
        every()
    rows = rows_with_output()
    missing = sorted(text for key, text in rows.items() if key not in made)
    print("%d of %d rows with output were used; not used here: %s" % (len(rows) - len(missing), len(rows), ", ".join(missing)))
    check(len(missing) * 2 < len(rows), "fewer than half")


main()
