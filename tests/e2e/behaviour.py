#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A recorded program meets the world it would meet alone, and btrec ends as it does or refuses with a reason.
import os
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess

from e2e import *

NOBODY = 65534


def world():
    return build("world.c", *STATIC)


def same(*arguments, **kw):
    return same_as_native([world(), *arguments], **kw)


@case("arguments, byte by byte")
def arguments():
    alone, recorded = same("arguments", b"", b"two words", b"\xff\xfe\x01", b"-n", b"--help", "ü".encode(), b"'\"\\\n")
    equal(len(alone.out.splitlines()), 7, "native output")


@case("environment, in its order")
def environment():
    alone, recorded = same("environment", env={"ZZ": "1", "A": "two words", "EMPTY": "", "LD_BIND_NOW": "1", "MALLOC_CHECK_": "3"})
    check(b"EMPTY=\n" in alone.out, "native output")


@case("an empty environment")
def no_environment():
    alone, recorded = same("environment", env={})
    equal(alone.out, b"", "native output")


@case("working directory")
def directory():
    same("directory", cwd=fresh_dir("cwd"))


@case("umask")
def mask():
    alone, recorded = same("mask", setup=lambda: os.umask(0o137))
    equal(alone.out, b"137\n", "native output")
    _, recorded = same("mask", setup=lambda: os.umask(0o777))
    equal(os.stat(recorded.trace).st_mode & 0o777, 0o700, "mode of the trace")


@case("resource limits")
def limits():
    def setup():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 77))
        resource.setrlimit(resource.RLIMIT_CPU, (1000, 2000))
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 22))

    for core in (0, 4096):
        same("limits", setup=setup, core=core)


@case("open descriptors and their flags")
def descriptors():
    alone, recorded = same("descriptors")
    equal(len(alone.out.splitlines()), 3, "native output")


@case("closed and inherited descriptors")
def odd_descriptors():
    def setup():
        os.close(0)
        os.dup2(1, 9, inheritable=True)

    alone, recorded = same("descriptors", setup=setup, stdin=subprocess.DEVNULL, close_fds=False)
    check(b"\n9 type" in alone.out and not alone.out.startswith(b"0 "), "native output: %s" % alone.out)


@case("signal dispositions and masks")
def signals():
    def setup():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTRAP, signal.SIGCHLD])
        for one in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGCHLD, signal.SIGTRAP):
            signal.signal(one, signal.SIG_IGN)

    same("signals", restore_signals=False)
    same("signals", setup=setup, restore_signals=False)


@case("ids, capabilities, niceness, auxiliary vector")
def attributes():
    same("attributes", options=["--unbound"])
    # It is on its recorder's processor else; what it asks for is in affinity.py.
    alone, recorded = (run([world(), "attributes"]).out.splitlines() for run in (native, record))
    bound = [line.startswith(b"Cpus_allowed_list:") for line in alone]
    equal(sum(bound), 1, "lines about processors")
    equal([line for line, b in zip(recorded, bound) if not b], [line for line, b in zip(alone, bound) if not b], "attributes")


@case("process group and session are those of btrec's parent")
def group():
    program = world()
    for argv in ([program, "group"], [BTREC, "run", "-o", fresh("trace"), "--", program, "group"]):
        result = execute(["sh", "-c", '"$@"; exit $?', "sh", *argv], cwd=TMP)
        equal((result.status, result.out), (0, b"group 1 session 1\n"), " ".join(argv[:2]))


@case("stdin is passed through")
def stdin():
    data = bytes(range(256)) * 300
    alone, recorded = same("copy", stdin=data)
    equal(alone.out, data, "native output")


@case("stdin is not read by btrec")
def unread_stdin():
    read, write = os.pipe()
    os.write(write, b"untouched")
    result = record([world(), "status", "0"], stdin=read)
    equal(result.status, 0, "status")
    equal(os.read(read, 100), b"untouched", "what is left in the pipe")
    os.close(read)
    os.close(write)


@case("the order of output on one pipe")
def streams():
    program = world()
    alone = native([program, "streams"], stderr=subprocess.STDOUT)
    result = record([program, "streams"], stderr=subprocess.STDOUT)
    lines = b"".join(line for line in result.out.splitlines(True) if not line.startswith(b"btrec:"))
    equal(lines, alone.out, "output")


@case("every exit status")
def statuses():
    program = build("status.S", *BARE)
    for status in range(0, 256, 15 if a_part() else 1):
        result = record([program] + ["x"] * status)
        equal(result.status, status, "status of btrec (%s)" % result.own_err)
        shutil.rmtree(result.trace)


def send_itself(number):
    return same_as_native([build("die.S", *BARE)] + ["x"] * number)


@case("death by every signal that kills")
def deaths():
    ignored = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH}
    stops = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
    for number in sorted(set(range(1, 65)) - {32, 33} - ignored - stops):
        alone, recorded = send_itself(number)
        equal(alone.status, -number, "native end")
        shutil.rmtree(recorded.trace)


@case("a signal that is ignored by default")
def ignored():
    for number in (signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH):
        alone, recorded = send_itself(number)
        equal(alone.status, 0, "native end")


# In a session of its own: starts the command in a process group that stop signals stop, with SIGTSTP ignored, or in one that they do not;
# as an ordinary user.
SHELL = """
import os, signal, sys
child = os.fork()
if not child:
    if sys.argv[1] == "ignored":
        os.setpgid(0, 0)
        signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    if sys.argv[1] == "nobody":
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
    os.execv(sys.argv[2], sys.argv[2:])
_, status = os.waitpid(child, os.WUNTRACED)
print("stopped" if os.WIFSTOPPED(status) else "not stopped: %x" % status, flush=True)
if os.WIFSTOPPED(status):
    os.kill(child, signal.SIGCONT)
    _, status = os.waitpid(child, 0)
print(status >> 8)
"""
STOPS_ITSELF = """
import os, signal, sys
signal.signal(signal.SIGTSTP, signal.SIG_DFL)
if sys.argv[1] == "orphaned":
    os.setpgid(0, 0)
os.kill(os.getpid(), signal.SIGTSTP)
sys.exit(3)
"""


@case("a program that stops itself where SIGTSTP has no effect in btrec: ignored when it was started, or in an orphaned process group")
def stops_itself():
    for how in "ignored", "orphaned":
        for prefix in [], [BTREC, "run", "-q", "-o", fresh("trace"), "--"]:
            done = execute([sys.executable, "-c", SHELL, how, *prefix, sys.executable, "-c", STOPS_ITSELF, how], cwd=TMP)
            equal(done.out, b"stopped\n3\n", "%s, %s" % (how, "recorded" if prefix else "natively"))


@case("a program that stops itself when its first thread has ended")
def stops_leaderless():
    program = build("stops_itself.c", "-pthread")
    for prefix in [], [BTREC, "run", "-q", "-o", fresh("trace"), "--"], [BTREC, "run", "-q", "--parallel", "-o", fresh("trace"), "--"]:
        done = execute([sys.executable, "-c", SHELL, "plain", *prefix, program, "leaderless"], cwd=TMP)
        equal(done.out, b"stopped\n3\n", " ".join(prefix))


@case("a program that stops itself when it was detached at its execve")
def stops_detached():
    need_root()
    folder = fresh_dir("detached", 0o777)
    tool = shutil.copy(BTREC, os.path.join(folder, "btrec"))
    program = shutil.copy(build("stops_itself.c", "-pthread"), os.path.join(folder, "program"))
    os.chmod(program, 0o4755)
    trace = os.path.join(folder, "trace")
    for prefix in [], [tool, "run", "-q", "-o", trace, "--"]:
        done = execute([sys.executable, "-c", SHELL, "nobody", *prefix, "/usr/bin/env", program, "leader"], cwd=folder)
        equal(done.out, b"stopped\n3\n", " ".join(prefix))
    if execute([program, "euid"], user=NOBODY, group=NOBODY, extra_groups=[]).out != b"0\n":
        raise Skip("set-uid has no effect here (nosuid)")
    check("detached" in text(trace), "it was not detached")


@case("a broken pipe")
def broken_pipe():
    program = world()
    for argv in ([program, "streams"], [BTREC, "run", "-o", fresh("trace"), "--", program, "streams"]):
        read, write = os.pipe()
        os.close(read)
        process = start(argv, stdout=write, stderr=subprocess.DEVNULL, cwd=TMP)
        os.close(write)
        equal(process.wait(TIMEOUT), -signal.SIGPIPE, "end of " + " ".join(argv[:2]))


@case("a program found through PATH, a script with #!")
def script():
    folder = fresh_dir("path")
    path = os.path.join(folder, "greet")
    with open(path, "w") as file:
        file.write("#!%s streams\n" % world())
    os.chmod(path, 0o755)
    result = record(["greet"], env={"PATH": folder})
    equal((result.status, result.out.count(b"out")), (0, 5), "status and output (%s)" % result.err.decode())


@case("programs and directories with any name: the line about the trace is right and cannot act on a terminal")
def any_name():
    target = build("status.S", *BARE)
    for name, kept in ((b"a b", b"a b"), (b"esc\x1b]2;x\x07\n", b"esc_]2;x__"), (b"\xc3\xb6\xff", b"\xc3\xb6_"), (b"n" * 255, b"n" * 239)):
        folder = fresh_dir("names").encode()
        os.symlink(target, os.path.join(folder, name))
        env = {"BTREC_TRACE_DIR": os.path.join(folder, b"d" * 200, b"d" * 200, b"d" * 200), "LC_ALL": "C.UTF-8"}
        result = execute([BTREC, "run", os.path.join(folder, name), "x"], env=env, cwd=TMP)
        trace = os.path.join(env["BTREC_TRACE_DIR"], kept + b"-0")
        equal(result.status, 1, "status")
        check(re.fullmatch(b"btrec: exited with 1( in .*)?; btview " + re.escape(os.fsencode(shlex.quote(os.fsdecode(trace)))) + b"\n", result.err), "line: " + short(result.err))
        check(os.path.isdir(trace), "no directory of that name")
        listed = execute([BTREC, "list"], env=env)
        check(b"  " + trace + b"  " in listed.out, "list: " + short(listed.out))
    refused = execute([BTREC, "run", b"\x1b]2;x\x07"], cwd=TMP)
    equal((refused.status, refused.err.count(b"\x1b"), refused.err.count(b"\\x1b")), (127, 0, 1), "a name that is not there")


@case("--quiet")
def quiet():
    result = record([build("status.S", *BARE), "x"], ["--quiet"])
    equal((result.status, result.err), (1, b""), "status and stderr")


# Core files ---------------------------------------------------------------------------------------------------------

GDB_REGISTERS = ["rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip"]


def read_by_gdb(program, place):
    """What gdb says of the core file in a directory: functions of each thread's stack, and registers that only the file has."""
    core, = os.listdir(place)
    said = execute(["gdb", "-nx", "-batch", "-ex", "thread apply all bt", "-ex", "thread 1", "-ex", "printf \"%lx\\n\", $xmm9.v2_int64[0]", "-ex", "output $st0", program,
                    os.path.join(place, core)]).out.decode()
    threads = [re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\w+)", part, re.M) for part in said.split("\nThread ")[1:]]
    check("\n1122334455667788\n3.14159" in said, "xmm9 and st0: %s" % said[-300:])
    return sorted(threads)


@case("the core file of a dynamic program with threads: gdb reads their stacks from it as it does natively")
def core_of_threads():
    need_core_files()
    if not shutil.which("gdb"):
        raise Skip("gdb is missing")
    program = build("core_threads.c", "-pthread")
    places = [fresh_dir("core"), fresh_dir("core"), fresh_dir("core")]
    equal(native([program], core=resource.RLIM_INFINITY, cwd=places[0]).status, -signal.SIGSEGV, "native end")
    check(os.listdir(places[0]), "no core file without btrec either")
    alone = read_by_gdb(program, places[0])
    equal(sum("compute" in stack for stack in alone), 3, "threads that compute")
    for place, options in zip(places[1:], ([], ["--parallel"])):
        equal(record([program], options, core=resource.RLIM_INFINITY, cwd=place).status, -signal.SIGSEGV, "end")
        equal(read_by_gdb(program, place), alone, "stacks, %s" % options)


@case("the core file is made where it would be, with the program's registers")
def core_file():
    need_core_files()
    program = world()
    places = [fresh_dir("core"), fresh_dir("core")]
    alone = native([program, "crash"], core=resource.RLIM_INFINITY, cwd=places[0])
    check(os.listdir(places[0]), "no core file without btrec either")
    recorded = record([program, "crash"], core=resource.RLIM_INFINITY, cwd=places[1])
    equal(recorded.status, alone.status, "status")
    check(os.listdir(places[1]), "no core file")
    equal(len(os.listdir(places[1])), len(os.listdir(places[0])), "number of core files")
    core = os.path.join(places[1], os.listdir(places[1])[0])
    found = report(recorded.trace, "-n", "1")
    registers = found["threads"][0]["registers"]
    equal(int(registers["r12"], 16), 0x2222, "r12 in the trace")
    if not shutil.which("gdb"):
        raise Skip("gdb is missing: registers of the core file are not compared")
    show = [part for name in GDB_REGISTERS for part in ("-ex", "printf \"%s %%lx\\n\", $%s" % (name, name))]
    said = execute(["gdb", "-nx", "-batch", *show, program, core]).out.decode()
    dumped = dict(re.findall(r"^(r\w+) ([0-9a-f]+)$", said, re.M))
    equal({n: int(dumped[n], 16) for n in GDB_REGISTERS}, {n: int(registers[n], 16) for n in GDB_REGISTERS}, "registers of the core file")


@case("no core file with a core limit of 0")
def no_core():
    place = fresh_dir("core")
    record([world(), "crash"], core=0, cwd=place)
    equal(os.listdir(place), [], "files")


# Refusals -----------------------------------------------------------------------------------------------------------

def refused(status, pattern, argv, options=(), leaves_trace=False, **kw):
    result = record(argv, options, **kw)
    equal(result.status, status, "status (%s)" % result.err.decode())
    said = result.err.decode()
    check(said.startswith("btrec:") and said.count("\n") == 1, "not one line of btrec: %r" % said)
    check(re.search(pattern, said, re.I), "%r does not say %r" % (said, pattern))
    if not leaves_trace:
        check(not os.path.exists(result.trace), "a trace was left behind")
    return result


@case("not found: 127")
def not_found():
    refused(127, "not found|no such", ["/does/not/exist"])
    refused(127, "not found|no such", ["does-not-exist-anywhere"])


def executable(text):
    path = fresh("script")
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o755)
    return path


@case("a script whose interpreter is not there: 127, and both are named")
def no_interpreter():
    path = executable("#!/no/such\n")
    equal(refused(127, "", [path]).err.decode(), "btrec: %s: its interpreter /no/such: No such file or directory\n" % path, "line")
    outer = executable("#!%s\n" % path)
    refused(127, re.escape("%s: its interpreter %s: its interpreter /no/such: No such" % (outer, path)), [outer])


@case("a script whose interpreter the kernel cannot read: 126, with the reason; the longest that it can is executed")
def odd_interpreters():
    for text in ("#!\nexit 3\n", "#! \t\nexit 3\n", "#!"):
        path = executable(text)
        equal(refused(126, "", [path]).err.decode(), "btrec: %s: its #! names no interpreter\n" % path, "line")
    for length in (253, 254): # of the 256 bytes that it reads
        path = executable("#!%s\n" % "/bin/sh".rjust(length, "/") + "exit 3\n")
        if length == 253:
            equal(record([path]).status, native([path]).status, "status")
        else:
            refused(126, re.escape(path + ": the name of its interpreter is too long"), [path])


@case("a script without #!: 126, with what runs it")
def no_shebang():
    path = executable("echo here\n")
    refused(126, re.escape("neither a program nor a script with #!; try btrec run sh %s" % path), [path])
    refused(126, "neither a program nor a script with #!$", [executable("\x01\x02")])
    equal(record(["sh", path]).out, b"here\n", "what is advised")


@case("an empty name is seen as one")
def empty_name():
    refused(127, "''", [""])
    result = execute([BTREC, "run", "-o", "", "--", world(), "status", "3"], cwd=TMP)
    equal((result.status, result.err), (125, b"btrec: cannot make the trace directory '': No such file or directory\n"), "an empty -o")
    for argv, status in (([BTVIEW, ""], 66), ([BTREC, "info", ""], 66), ([BTREC, ""], 2)):
        result = execute(argv, cwd=TMP)
        equal(result.status, status, "status of %s" % argv)
        check(b"''" in result.err.splitlines()[0], result.err)


@case("a program where a command should be: what records it is said")
def no_command():
    for name in (world(), "./x", "true"):
        result = execute([BTREC, name], cwd=TMP)
        equal((result.status, result.err.decode()), (2, "btrec: unknown command %s; to record it: btrec run %s\n" % (name, name)), "status and line")
    result = execute([BTREC, "nonsense"], cwd=TMP)
    check(result.err.startswith(b"btrec: unknown command nonsense\n") and b"btrec run" not in result.err, result.err)


@case("-V as --version, of both")
def version():
    for tool in (BTREC, BTVIEW):
        short_, long_ = (execute([tool, option]) for option in ("-V", "--version"))
        equal((short_.status, short_.out), (0, long_.out), "what -V prints")


@case("not executable: 126")
def not_executable():
    path = fresh("plain")
    open(path, "w").close()
    refused(126, re.escape(path), [path])
    refused(126, "directory|permission|execut", [TMP])
    if os.geteuid() == 0 and not execute(["unshare", "-m", "mount", "-t", "tmpfs", "-o", "noexec", "none", "/mnt"]).status:
        script = 'mount -t tmpfs -o noexec none /mnt && cp /bin/true /mnt && exec "$@" /mnt/true'
        result = execute(["unshare", "-m", "sh", "-c", script, "sh", BTREC, "run", "-o", fresh("trace"), "--"])
        equal((result.status, "/mnt/true: its file system is mounted noexec" in result.err.decode()), (126, True), result.err.decode())


def elf_header(bits):
    """An ELF file for i386 or x86-64 that consists of little else."""
    machine, kind = (3, 1) if bits == 32 else (62, 2)
    ident = b"\x7fELF" + bytes([kind, 1, 1]) + bytes(9)
    if bits == 32:
        return ident + struct.pack("<HHIIIIIHHHHHH", 2, machine, 1, 0x8048000, 52, 0, 0, 52, 32, 1, 40, 0, 0) + \
            struct.pack("<IIIIIIII", 1, 0, 0x8048000, 0x8048000, 84, 84, 5, 4096)
    return ident + struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0x400000, 64, 0, 0, 64, 56, 0, 64, 0, 0)


@case("a 32-bit program: 126")
def not_64_bit():
    path = fresh("old")
    with open(path, "wb") as file:
        file.write(elf_header(32))
    os.chmod(path, 0o755)
    refused(126, "32-bit", [path])


@case("a file that is no program: 126")
def no_program():
    path = fresh("noise")
    with open(path, "wb") as file:
        file.write(b"\x7fELF" + b"noise" * 20)
    os.chmod(path, 0o755)
    refused(126, re.escape(path), [path])


@case("an existing trace directory: 125")
def existing_trace():
    path = fresh_dir("trace")
    result = execute([BTREC, "run", "-o", path, "--", world(), "status", "0"])
    equal(result.status, 125, "status")
    equal(result.err.decode(), "btrec: %s exists already: give -o another name, or remove it\n" % path, "line")
    equal(os.listdir(path), [], "files in the directory")


@case("a trace directory that cannot be made: 125")
def unwritable_trace():
    result = execute([BTREC, "run", "-o", "/does/not/exist/trace", "--", world(), "status", "0"])
    equal(result.status, 125, "status")
    check("/does/not/exist" in result.err.decode(), result.err.decode())


@case("wrong usage: 125")
def usage():
    for argv in (["run"], ["run", "--no-such-option", "x"], ["run", "-o"]):
        result = execute([BTREC, *argv], cwd=TMP)
        equal(result.status, 125, "status of " + " ".join(argv))
        check(b"btrec" in result.err, "nothing said")


def as_nobody(files, argv, **kw):
    """Runs btrec as nobody on copies of files; {0}, {1} in argv stand for them."""
    need_root()
    folder = fresh_dir("nobody", 0o777)
    tool = shutil.copy(BTREC, os.path.join(folder, "btrec"))
    return folder, execute([tool, "run", "-o", os.path.join(folder, "trace"), "--", *argv], user=NOBODY, group=NOBODY,
                           extra_groups=[], cwd=folder, **kw)


@case("a set-uid program as the first one, not as root: 126")
def set_uid():
    need_root()
    program = shutil.copy(world(), fresh("setuid"))
    os.chmod(program, 0o4755)
    folder, result = as_nobody([], [program, "status", "3"])
    equal(result.status, 126, "status (%s)" % result.err.decode())
    check(re.search("set-uid|setuid", result.err.decode(), re.I), result.err.decode())


@case("a set-gid program as the first one, not as root: 126")
def set_gid():
    need_root()
    program = shutil.copy(world(), fresh("setgid"))
    os.chmod(program, 0o2755)
    folder, result = as_nobody([], [program, "status", "3"])
    equal(result.status, 126, "status (%s)" % result.err.decode())
    check(re.search("set-gid|setgid", result.err.decode(), re.I), result.err.decode())


@case("a program with file capabilities as the first one, not as root: 126")
def file_capabilities():
    need_root()
    program = shutil.copy(world(), fresh("capable"))
    # VFS_CAP_REVISION_2, effective, CAP_NET_RAW permitted (linux/capability.h).
    try:
        os.setxattr(program, "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 13, 0, 0, 0))
    except OSError as error:
        raise Skip("file capabilities cannot be set here: %s" % error)
    folder, result = as_nobody([], [program, "status", "3"])
    equal(result.status, 126, "status (%s)" % result.err.decode())
    check("capabilit" in result.err.decode(), result.err.decode())


@case("a set-uid program that nothing would give privileges (no_new_privs), not as root: recorded")
def set_uid_without_effect():
    need_root()
    if not shutil.which("setpriv"):
        raise Skip("no setpriv(1)")
    program = shutil.copy(world(), fresh("setuid"))
    os.chmod(program, 0o4755)
    for argv in ([program, "status", "3"], ["sh", "-c", '"$@"; exit $?', "sh", program, "status", "3"]):
        folder = fresh_dir("nobody", 0o777)
        tool, trace = shutil.copy(BTREC, os.path.join(folder, "btrec")), os.path.join(folder, "trace")
        result = execute(["setpriv", "--no-new-privs", tool, "run", "-o", trace, "--", *argv], user=NOBODY, group=NOBODY, extra_groups=[],
                         cwd=folder)
        equal(result.status, 3, "status (%s)" % result.err.decode())
        said = execute([BTREC, "dump", trace]).out
        check(b"\nDETACH " not in said, "let go of: %s" % said)


@case("an ordinary user records")
def ordinary_user():
    folder, result = as_nobody([], [world(), "crash"])
    equal(result.status, -signal.SIGSEGV, "status (%s)" % result.err.decode())
    trace = os.path.join(folder, "trace")
    equal(os.stat(trace).st_mode & 0o777, 0o700, "mode of the trace")
    equal({os.stat(os.path.join(trace, f)).st_mode & 0o777 for f in os.listdir(trace)}, {0o600}, "modes of its files")
    equal(report(trace)["exit"]["signal"], "SIGSEGV", "exit signal")


@case("a program that the user may not read is refused or recorded, never broken")
def unreadable():
    need_root()
    program = shutil.copy(world(), fresh("unreadable"))
    os.chmod(program, 0o711)
    folder, result = as_nobody([], [program, "status", "3"])
    check(result.status in (3, 126), "status %d (%s)" % (result.status, result.err.decode()))


@case("ptrace denied by seccomp, as in a container: 125")
def no_ptrace():
    outer = build("no_ptrace.c", *STATIC)
    # A build with LeakSanitizer would want ptrace for itself.
    result = execute([outer, BTREC, "run", "-o", fresh("trace"), "--", world(), "status", "3"],
                     env=dict(os.environ, ASAN_OPTIONS=os.environ["ASAN_OPTIONS"] + ":detect_leaks=0"))
    if result.status == 77:
        raise Skip("the kernel has no seccomp filters")
    equal(result.status, 125, "status (%s)" % result.err.decode())
    check(re.search("ptrace.*seccomp|seccomp.*ptrace", result.err.decode(), re.I | re.S), result.err.decode())


@case("a recording inside a recording: 125, with the reason")
def nested():
    result = record([BTREC, "run", "-o", fresh("trace"), "--", world(), "status", "3"], env=dict(os.environ, ASAN_OPTIONS=os.environ["ASAN_OPTIONS"] + ":detect_leaks=0"))
    equal(result.status, 125, "status (%s)" % result.err.decode())
    check("a program has one tracer" in result.err.decode(), result.err.decode())


@case("/proc of another PID namespace, or none: 125, and 69 of a replay, with the reason")
def other_proc():
    need_namespaces()
    trace = fresh("trace") # by the usual backend: a native recording has no log
    execute([BTREC, "run", "--replayable", "--quiet", "-o", trace, "--", world(), "status", "3"])
    for first, what in (([], "another PID namespace"), (["sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"], "no proc")):
        for status, argv in (125, ["run", "-o", fresh("trace"), "--", world(), "status", "3"]), (69, ["replay", trace]):
            result = execute(["unshare", "-mpf", *first, BTREC, *argv])
            if result.err.startswith(b"mount:"):
                raise Skip("no tmpfs can be mounted here")
            check(what in result.err.decode(), result.err.decode())
            if b"LeakSanitizer has encountered" in result.err: # it wants /proc, for its options, too
                continue
            equal(result.status, status, "status (%s)" % result.err.decode())


@case("as the first process of a PID namespace (a container): who loses its parent does not stay a zombie")
def first_process():
    need_namespaces()
    # Three that a child leaves behind, one after another, and who is a zombie then.
    program = """import os, time
for _ in range(3):
    if not os.fork():
        os.fork() or time.sleep(0.05)
        os._exit(0)
    os.wait()
def zombies():
    return [p for p in os.listdir("/proc") if p.isdigit() and " (python" in open("/proc/%s/stat" % p).read() and ") Z " in open("/proc/%s/stat" % p).read()]
end = time.monotonic() + 10
time.sleep(0.3)
while zombies() and time.monotonic() < end:
    time.sleep(0.05)
print(zombies())
os._exit(4)
"""
    result = execute(["unshare", "-fp", "--mount-proc", BTREC, "run", "-q", "-o", fresh("trace"), "--", sys.executable, "-S", "-c", program], cwd=TMP)
    equal((result.status, result.out), (4, b"[]\n"), "status and zombies (%s)" % result.err.decode())


# Losses -------------------------------------------------------------------------------------------------------------

@case("a full disk: the program goes on, the trace says where it stopped")
def full_disk():
    need_root()
    disk = fresh_dir("disk")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], stderr=subprocess.DEVNULL).returncode:
        raise Skip("no tmpfs can be mounted here")
    try:
        trace = os.path.join(disk, "trace")
        result = execute([BTREC, "run", "-o", trace, "--", build("tree.c", *STATIC), "children"], cwd=TMP)
        equal((result.status, result.out), (0, b"sum 66\n"), "end and output (%s)" % result.err.decode())
        check(re.search("no space", result.err.decode(), re.I), "nothing said of the full disk: %r" % result.err.decode())
        shown = execute([BTVIEW, "--stdio", trace])
        equal(shown.status, 0, "status of btview (%s)" % shown.err.decode())
        check(re.search("stopped", (shown.out + shown.err).decode()), "the trace does not say that it stopped")
        info = execute([BTREC, "info", trace])
        equal(info.status, 0, "status of btrec info (%s)" % info.err.decode())
        check(re.search(rb"^end +not known: recording stopped before the program ended$", info.out, re.M), "how it ended: %r" % info.out)
        check(re.search(rb"^stopped +recording stopped early: \"No space left", info.out, re.M), "why it stopped: %r" % info.out)
        check(b"cut off" not in info.out + info.err + shown.out + shown.err, "the recorder was not cut off: %r" % (info.out + info.err + shown.out))
        shutil.rmtree(trace)
        quietly = execute([BTREC, "run", "-q", "-o", trace, "--", build("tree.c", *STATIC), "children"], cwd=TMP)
        equal((quietly.status, quietly.out), (0, b"sum 66\n"), "end and output (%s)" % quietly.err.decode())
        check(b"recording stopped early: No space left on device" in quietly.err, "nothing said of the full disk with -q: %r" % quietly.err.decode())
    finally:
        subprocess.run(["umount", "-l", disk])


@case("a disk that becomes full: it is said at once, also with -q, and nobody is told that a snapshot was kept")
def disk_becomes_full():
    need_root()
    disk = fresh_dir("disk")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], stderr=subprocess.DEVNULL).returncode:
        raise Skip("no tmpfs can be mounted here")
    try:
        recorder = start([BTREC, "run", "-q", "-o", os.path.join(disk, "trace"), "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do /bin/true; done; echo $$; read line"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=TMP)
        program = int(recorder.stdout.readline())
        check(select.select([recorder.stderr], [], [], 20)[0], "nothing is said of the full disk")
        said = recorder.stderr.readline().decode()
        check(re.search("No space left on device.*the program runs on", said), "what is said of the full disk: %r" % said)
        asked = execute([BTREC, "snap", str(program)])
        equal(asked.status, 74, "status of snap")
        check("No space left on device" in asked.err.decode(), "why: %r" % asked.err.decode())
        recorder.communicate(b"\n", timeout=30)
        equal(recorder.returncode, 0, "status of the program")
    finally:
        subprocess.run(["umount", "-l", disk])


@case("what a command prints and cannot write, on a full disk or a closed output, is status 74 and one line; a recording has none to write")
def unwritable_output():
    trace = record([world(), "crash"]).trace
    env = dict(os.environ, BTREC_TRACE_DIR=os.path.dirname(trace))
    commands = [["info", trace], ["dump", trace], ["list"], ["doctor"], ["--help"], ["--version"],
                *([name, "--help"] for name in ("run", "snap", "import", "list", "rm", "prune", "info", "doctor", "dump"))]
    for command in commands:
        with open("/dev/full", "wb") as full:
            done = execute([BTREC, *command], stdout=full, env=env)
            closed = execute([BTREC, *command], setup=lambda: os.close(1), env=env)
        equal((done.status, closed.status), (74, 74), "status of %s" % command)
        for said, why in ((done.err, b"No space left on device"), (closed.err, b"Bad file descriptor")):
            equal(said, b"btrec: cannot write to standard output: %s\n" % why, "what %s says" % command)
    with open("/dev/full", "wb") as full:
        equal(execute([BTREC, "run", "-q", "-o", fresh("trace"), "--", "/bin/true"], stdout=full).status, 0, "status of a recording")
    equal(execute([BTREC, "run", "-q", "-o", fresh("trace"), "--", "/bin/true"], setup=lambda: os.close(1)).status, 0, "status without an output")
    equal(execute([BTREC, "nonsense"], setup=lambda: os.close(1)).status, 2, "status of nothing printed")


@case("a disk that is full from the start: 125, or the program runs")
def no_room():
    need_root()
    disk = fresh_dir("disk")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=2", "tmpfs", disk], stderr=subprocess.DEVNULL).returncode:
        raise Skip("no tmpfs can be mounted here")
    try:
        result = execute([BTREC, "run", "-o", os.path.join(disk, "trace"), "--", world(), "status", "3"], cwd=TMP)
        check(result.status in (3, 125), "status %d (%s)" % (result.status, result.err.decode()))
        check(result.err, "nothing said")
    finally:
        subprocess.run(["umount", "-l", disk])


@case("the recorder killed by SIGKILL: the trace opens")
def torn():
    trace = fresh("trace")
    process = start([BTREC, "run", "-o", trace, "--", world(), "loop", "20"], cwd=TMP)
    equal(process.stdout.readline(), b"looping\n", "output")
    time.sleep(2.5)
    recorder = recorder_of(process)
    os.kill(recorder, signal.SIGKILL)
    equal(process.wait(30), 125, "end of btrec")
    equal(process.stderr.read().decode(), "btrec: the recorder was killed, and the program with it; what it had written can be read; trace: %s\n" % trace, "line")
    forget_recorder(recorder)
    shown = execute([BTVIEW, "--stdio", trace])
    equal(shown.status, 0, "status of btview (%s)" % shown.err.decode())
    check(shown.err, "no note on stderr")
    check(b"loop" in shown.out, "what was flushed is not shown: %s" % short(shown.out))


@case("a trace cut short anywhere opens or is refused, never misread")
def truncated():
    result = record([world(), "crash"])
    sizes = {f: os.path.getsize(os.path.join(result.trace, f)) for f in os.listdir(result.trace)}
    for file, size in sorted(sizes.items()):
        for keep in sorted({0, 1, size // 2, size - 1}):
            copy = fresh("cut")
            shutil.copytree(result.trace, copy)
            os.truncate(os.path.join(copy, file), keep)
            shown = execute([BTVIEW, "--stdio", copy])
            check(shown.status in (0, 66, 76), "%s cut to %d of %d bytes: status %d (%s)" % (file, keep, size, shown.status, shown.err))
            told = shown.err or (file == "symbols" and b"\n  symbols: this file of the trace is damaged" in shown.out)
            check(told, "%s cut to %d of %d bytes: no note" % (file, keep, size))
            if file not in ("events", "symbols"): # its END says that the others were whole; symbols are made after it
                infos = [execute([BTREC, command, copy]) for command in ("info", "dump")]
                equal([shown.status, *(i.status for i in infos)], [76] * 3, "statuses of %s cut to %d of %d bytes" % (file, keep, size))
                check(b"cut off" not in shown.out + shown.err + infos[0].out + infos[0].err, "%s cut to %d bytes: %r" % (file, keep, shown.err))
                check(not keep or b"shorter than it was written" in infos[0].err, "%s cut to %d bytes: %r" % (file, keep, infos[0].err))
            shutil.rmtree(copy)


@case("while nobody waits for a turn the recorder sleeps")
def sleeps():
    process = start([BTREC, "run", "-q", "-o", fresh("trace"), "--", "/bin/sleep", "3"], stdin=subprocess.DEVNULL)
    time.sleep(0.5)

    def wakings():
        with open("/proc/%d/status" % recorder_of(process)) as file:
            return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", file.read(), re.M).group(1))

    before = wakings()
    time.sleep(1.5)
    woken = wakings() - before # every 5 ms that would be 300
    equal(process.wait(), 0, "status")
    check(woken < 60, "the recorder woke up %d times" % woken)


@case("no process of btrec is left behind")
def nothing_left():
    marker = "btrec-left-%d" % os.getpid()
    record([world(), "crash", marker])
    time.sleep(0.2)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                check(marker.encode() not in file.read(), "process %s is left" % pid)
        except OSError:
            pass


@case("a process of which the kernel refuses a request is ended, and the trace says so")
def refused_request():
    preload = {**os.environ, "LD_PRELOAD": build("refused_request.c", "-shared", "-fPIC", name="librefused_request.so"),
               "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
    for request in 3, 10, 15, 20:
        result = record([build("workload.c", *BARE, "-fno-stack-protector")], ["--backend", "engine"], env={**preload, "REFUSED_FROM": str(request)})
        equal(result.status, -signal.SIGKILL, "end")
        check("refused a ptrace request" in execute([BTREC, "dump", result.trace]).out.decode(), "nothing is said of the request")


main()
