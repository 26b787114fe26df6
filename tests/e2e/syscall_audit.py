#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The rows of syscalls/syscall_writes.def against the kernel: the memory of a program is compared before and after each of its
# calls, and no byte may have changed that lies outside the ranges of the call's row. Says which rows no program here used.
import pwd

from e2e import *

AUDIT = find_tool("AUDIT_SYSCALLS", "tests/tools/audit_syscalls")
MOVE = find_tool("MOVE_OUTPUTS", "tests/tools/move_outputs")
ROWS = os.path.join(HERE, "..", "..", "syscalls")
SMALL = [["true"], ["ls", "-la", "/"], ["cat", "/etc/passwd"], ["sort", "/etc/passwd"], ["wc", "/etc/passwd"], ["date"], ["id"],
         ["df", "/"], ["stat", "/"], ["uname", "-a"], ["sleep", "0.01"], ["timeout", "5", "true"], ["md5sum", "/etc/passwd"],
         ["bash", "-c", "for i in 1 2 3; do echo $i; done; read x </etc/passwd; (exit 3); echo $?; echo a | cat"],
         ["perl", "-e", "print join(',', sort(map { $_ * 2 } 1..9)); print `echo x`"]]
LARGE = [["python3", "-c", "import os, socket, tempfile; a, b = socket.socketpair(); a.send(b'x'); b.recv(9); os.listdir('/')"]]
# It goes on with another call, whose row says it.
NO_ROW = {"restart_syscall 0"}
# Rows of calls that nothing here makes, or that fail on most machines, and why.
UNTRIED = {
    r"arch_prctl\(ARCH_(GET_MAX_TAG_BITS|GET_UNTAG_MASK|SHSTK_STATUS)\)": "it needs another processor",
    r"fcntl\(F_GET_FILE_RW_HINT\)": "Linux 5.17 and later do not have it",
    r"futex\(FUTEX_(CMP_REQUEUE_PI|WAIT_REQUEUE_PI)\)": "it needs a second thread, and the audit follows one",
    r"ioctl\(FB\w+\)": "it needs a frame buffer",
    r"ioctl\((KDKBDREP|VT_WAITEVENT|GIO_FONT)\)": "it changes the console, waits for it, or is gone",
    r"ioctl\((LOOP_|HDIO_|SG_|SCSI_|BLKREPORTZONE)\w*\)": "it needs a disk, and privileges",
    r"ioctl\((CDROM|DVD_)\w+\)": "it needs a drive with a disc",
    r"ioctl\((EVIOC|SNDRV_|USBDEVFS_|I2C_|VIDIOC_)\w+\)": "it needs devices for input, sound, video, or on a bus",
    r"ioctl\((BTRFS_|FS_IOC_(GET_ENCRYPTION|MEASURE_VERITY|READ_VERITY))\w*\)": "it needs a file system that can do this",
    r"ioctl\(RTC_\w+\)": "it needs a clock's device",
    r"ioctl\(TUN\w+\)": "it needs a network device of its own",
    r"ioctl\(TIOC(GICOUNT|GRS485|SRS485|GSERIAL|MGET|SERGETLSR|SERGWILD)\)": "it needs a serial line",
    r"ioctl\(TIOCGSID\)": "it needs a session of its own",
    r"ioctl\((SIOC(GARP|GRARP|GIFPFLAGS|GIFENCAP|GIFSLAVE|GMIIPHY|GMIIREG|GIFVLAN|SIFVLAN|SIFNAME|SHWTSTAMP|GHWTSTAMP))\)": "it needs a network",
    r"ioctl\((FIBMAP|FITRIM|FIDEDUPERANGE)\)": "it needs a file system of its own",
    r"ioctl\(PERF_EVENT_IOC_(ID|QUERY_BPF|MODIFY_ATTRIBUTES)\)": "it needs performance events, which guests lack",
    r"keyctl\(KEYCTL_(DH_COMPUTE|PKEY_QUERY)\)": "it needs keys of a kind that kernels need not have",
    r"lookup_dcookie": "Linux 6.8 and later do not have it",
    r"prctl\(PR_SCHED_CORE\)": "it needs simultaneous threads of a processor",
    r"quotactl(_fd)?\(\w+\)": "it needs a file system with quotas",
    r"syslog\(SYSLOG_ACTION_READ(_CLEAR)?\)": "it takes the kernel's messages from others",
}
# How rows say that the kernel writes; their other words are about arguments.
OUTPUT = re.compile(r"\b(FIXED|EVER|INTERRUPTED|BY_ARG|EVER_BY_ARG|RESULT|ENTRIES|LENGTH|IOVECS|OPERATION|FUNCTION)\b")
made, failed = set(), set()


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
    failed.update(line[7:] for line in lines if line.startswith("failed "))


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


def moved(argv, *options):
    """Status, output, and the lines of the log of a run whose outputs go to other memory first."""
    place = fresh_dir("moved")
    log = os.path.join(place, "log")
    result = execute([MOVE, *options, log, *argv], cwd=place)
    with open(log) as f:
        return result.status, result.out, f.read().splitlines()


def rows_that_move():
    with open(os.path.join(ROWS, "syscall_writes.def")) as f:
        return set(re.findall(r"^BT_WRITES\((\w+), .*, (?:YES|ALIGNED), ", f.read(), re.M))


# Their outputs lie where memory that an argument leads to says.
NESTED = {"getxattrat", "preadv", "preadv2", "process_vm_readv", "readv", "recvmmsg", "recvmsg", "sendmmsg"}


@case("where a row says so, the kernel writes to other memory first, and the program does not notice")
def other_memory():
    status, _, plain = moved([every_call()], "--stay")
    equal(status, 0, "status of the program")
    status, _, lines = moved([every_call()])
    equal((status, [line for line in lines if line.startswith("outside")]), (0, []), "status, and what was written to the program's memory")
    names = {line.split()[1] for line in lines if line.startswith("moved")}
    # A call that a signal broke off is made again, or is not, as it comes.
    results = [{line for line in log if line.startswith("call ") and line.split()[1] in names and int(line.split()[-1]) < 512} for log in (plain, lines)]
    equal(results[1], results[0], "results of calls whose output is moved")
    equal(sorted(rows_that_move() - names), sorted(NESTED), "rows that say so, and calls that were not made so")
    for argv in (["ls", "-la", "/usr"], ["cat", "/etc/passwd"], ["sort", "/etc/passwd"], ["stat", "/usr"], ["uname", "-a"], ["md5sum", "/etc/passwd"]):
        equal(moved(argv)[:2], (0, native(argv).out), "status and output of %s" % argv)


@case("an output that is not brought back from there is found")
def lost():
    check(moved([every_call()], "--lose")[0], "status of a program that does not get what it asks for")


@case("a row that is a byte too short is found")
def too_short():
    status, lines = audit([every_call()], "--short")
    equal(status, 1, "status")
    for call in "fstat", "uname", "getrusage", "recvmsg", "getsockname", "ioctl", "waitid", "mincore":
        check(any(line.startswith("outside %s(" % call) for line in lines), "%s was not found" % call)


@case("every row with output is tried, or has a reason")
def used():
    if not made: # this case alone
        every()
    rows = rows_with_output()
    missing = {text for key, text in rows.items() if key not in made}
    refused = {text for key, text in rows.items() if text in missing and key in failed}
    reasons = {text: reason for text in missing - refused for name, reason in UNTRIED.items() if re.fullmatch(name, text)}
    print("%d of %d rows with output were used" % (len(rows) - len(missing), len(rows)))
    print("tried, and refused by this machine or meant to fail: %s" % ", ".join(sorted(refused)))
    for reason in sorted(set(reasons.values())):
        print("not tried, as %s: %s" % (reason, ", ".join(sorted(text for text in reasons if reasons[text] == reason))))
    equal(sorted(missing - refused - set(reasons)), [], "rows that nothing here tries, without a reason")
    idle = [name for name in UNTRIED if not any(re.fullmatch(name, text) for text in rows.values())]
    equal(idle, [], "reasons of rows that there are not")


main()
