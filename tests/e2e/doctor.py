#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# btrec doctor: on machines of a table, against what it should say of each (doctor/*.txt; BTREC_TEST_UPDATE=1 writes them anew, to be read before
# they are believed); and on this machine, against what the machine says itself.
import ctypes
import errno
import json
import os
import platform
import resource

from e2e import *

SIMULATED = find_tool("SIMULATED_DOCTOR", "tests/tools/simulated_doctor")
BTREC_SIMULATED = find_tool("BTREC_SIMULATED_TOOL", "tests/simulated/btrec_simulated")
EXPECTED = os.path.join(HERE, "doctor")
SCHEMA = "doctor.schema.json"
UNABLE = 69
SYS_PTRACE, SYS_PERF_EVENT_OPEN, SYS_MEMFD_CREATE = 101, 298, 319


def validate(found):
    fits_schema(found, SCHEMA)


def machines():
    return execute([SIMULATED, "--list"]).out.decode().split()


def rows_of_text(text):
    """The table's rows, {name: (answer, why)}, and its remedies, {name: change}."""
    rows, changes, below = {}, {}, False
    for line in text.splitlines()[1:]:
        below |= line == "To change it"
        if not line.startswith("  "):
            continue
        if below:
            names, change = re.match(r"  ([a-z/, ]+): (.*)", line).groups()
            changes.update({name: change for name in names.split(", ")})
        else:
            rows[line[2:19].strip()] = (line[19:27].strip(), line[27:])
    return rows, changes


def rows_of_json(found):
    return {row["name"]: row for row in found["verdicts"]}


@case("what is said of each simulated machine")
def simulated_text():
    names = machines()
    check(len(names) >= 15, "machines: %s" % names)
    for name in names:
        result = execute([SIMULATED, name])
        path = os.path.join(EXPECTED, name + ".txt")
        if os.environ.get("BTREC_TEST_UPDATE"):
            with open(path, "wb") as file:
                file.write(result.out)
        with open(path, "rb") as file:
            equal(result.out.decode().splitlines(), file.read().decode().splitlines(), name)
        records = not result.out.startswith(b"btrec run cannot record here: ")
        equal(result.status, 0 if records else UNABLE, "status of " + name)
    equal(sorted(name + ".txt" for name in names), sorted(os.listdir(EXPECTED)), "expected texts")


@case("every answer of every row comes from some machine")
def every_answer():
    seen = {}
    for name in machines():
        for row in json.loads(execute([SIMULATED, "--json", name]).out)["verdicts"]:
            seen.setdefault(row["name"], set()).add(row["answer"])
    one = {name for name, answers in seen.items() if len(answers) == 1}
    # what cannot differ: facts; rdtsc can be trapped since Linux 2.6.26
    equal(one - {"hypervisor", "core files", "rdtsc trap"}, set(), "rows with one answer only")


@case("the JSON of each simulated machine fits its schema and says what the table says")
def simulated_json():
    for name in machines():
        text = execute([SIMULATED, name])
        found = execute([SIMULATED, "--json", name])
        equal(found.status, text.status, "status")
        found = json.loads(found.out)
        validate(found)
        same_rows(text.out.decode(), found, name)
        equal(found["run"]["backend"] is None, text.status == UNABLE, "backend of " + name)


def same_rows(text, found, name):
    rows, changes = rows_of_text(text)
    verdicts = rows_of_json(found)
    equal(list(rows), [row["name"] for row in found["verdicts"]], "rows of " + name)
    for row, (answer, why) in rows.items():
        equal((verdicts[row]["answer"].replace("fact", "-"), verdicts[row]["why"]), (answer, why), name + ", " + row)
    equal({row["name"]: row["change"] for row in found["verdicts"] if row["change"]}, changes, "remedies of " + name)
    check(found["run"]["reason"] in text.splitlines()[0], "the first line of " + name)


def doctor(*arguments, **kw):
    return execute([BTREC, "doctor", *arguments], cwd=TMP, **kw)


def verdicts(**kw):
    result = doctor("--json", **kw)
    found = json.loads(result.out)
    validate(found)
    return result, found, rows_of_json(found)


def perf_event(kind, config):
    """What perf_event_open gives for a disabled event of ring 3: 0 or an errno."""
    attr = (ctypes.c_uint8 * 128)()
    attr[0:4] = kind.to_bytes(4, "little")
    attr[4:8] = (128).to_bytes(4, "little")
    attr[8:16] = config.to_bytes(8, "little")
    attr[40] = 1 | 1 << 5 | 1 << 6  # disabled, exclude_kernel, exclude_hv
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(SYS_PERF_EVENT_OPEN, attr, 0, -1, -1, 0)
    if fd < 0:
        return ctypes.get_errno()
    os.close(fd)
    return 0


@case("here: the table and the JSON agree, and the status says whether recording works")
def here():
    result = doctor()
    equal(result.status, 0, "status")
    equal(result.err, b"", "stderr")
    _, found, _ = verdicts()
    same_rows(re.sub(r"\d+ MiB free", "N MiB free", result.out.decode()), json.loads(re.sub(r"\d+ MiB free", "N MiB free", json.dumps(found))), "here")


@case("here: what is said is what the machine says")
def true_here():
    _, found, rows = verdicts()
    capabilities = int(re.search(r"CapEff:\s*(\w+)", open("/proc/self/status").read()).group(1), 16)
    with open("/proc/cpuinfo") as file:
        cpuinfo = file.read()
    check(platform.release() in rows["kernel"]["why"], rows["kernel"]["why"])
    equal(rows["hypervisor"]["why"] != "none: the bare machine", " hypervisor" in cpuinfo.split("flags", 1)[1].split("\n")[0], rows["hypervisor"]["why"])
    equal(rows["perf events"]["answer"], "yes" if perf_event(1, 9) == 0 else "no", "perf events")
    cycles = perf_event(0, 0)
    equal(rows["pmu"]["answer"], "yes" if cycles == 0 else "no", "pmu, where perf_event_open of cycles gives %s" % (errno.errorcode.get(cycles, cycles)))
    if cycles == errno.ENOENT:
        check(rows["pmu"]["why"].startswith("no PMU"), rows["pmu"]["why"])
        for name in ("lbr", "bts", "pt"):
            equal(rows[name]["answer"], "no", name)
    for name, bit in (("SYS_PTRACE", 19), ("SYS_ADMIN", 21), ("SYS_RESOURCE", 24), ("PERFMON", 38), ("BPF", 39)):
        listed = name in rows["capabilities"]["why"].split("not ")[0]
        equal(listed, bool(capabilities >> bit & 1), "capability " + name)
    check(rows["ptrace"]["answer"] == rows["engine"]["answer"] == rows["step"]["answer"] == "yes", "recording")
    equal(found["run"]["backend"], "engine", "backend")


@case("here: stepping from branch to branch is measured")
def measured_blocks():
    _, _, rows = verdicts()
    row = rows["block stepping"]
    stops = re.match(r"(\d+) stops in 40 instructions with 4 branches", row["why"])
    if stops:
        equal(row["answer"], "yes" if int(stops.group(1)) <= 5 else "no", row["why"])
        check(int(stops.group(1)) in (4, 5, 40, 41), row["why"])
    else:
        equal(row["answer"], "no", row["why"])


@case("what the trace says was chosen is what the doctor says")
def chosen():
    _, found, _ = verdicts()
    result = record([build("status.S", *BARE)])
    if os.environ.get("BTREC_TEST_BACKEND"):
        raise Skip("a backend is asked for")
    info = execute([BTREC, "info", result.trace]).out.decode()
    line = re.search(r"^backend +(.*)$", info, re.M).group(1)
    equal(line, '"%s", branches from "%s", chosen: "%s"' % (found["run"]["backend"], found["run"]["source"], found["run"]["reason"]), "info")
    result = record([build("status.S", *BARE)], ["--backend", "step"])
    check('chosen: "asked for"' in execute([BTREC, "info", result.trace]).out.decode(), "a backend that was asked for")


@case("where ptrace is refused nothing records, and the status says so")
def no_ptrace():
    outer = build("no_ptrace.c", *STATIC)
    result = execute([outer, BTREC, "doctor"], cwd=TMP)
    if result.status == 77:
        raise Skip("no seccomp filters here")
    equal(result.status, UNABLE, "status")
    check(result.out.startswith(b"btrec run cannot record here: ptrace is refused by a seccomp filter"), short(result.out))
    rows, changes = rows_of_text(result.out.decode())
    equal(rows["seccomp"][:2], ("no", "a filter refuses ptrace"), "seccomp")
    check("seccomp=unconfined" in changes["ptrace"], changes["ptrace"])


@case("a filter that kills whoever asks for a perf event does not kill the doctor, nor a recording")
def killing_filter():
    outer = build("no_ptrace.c", *STATIC)
    result = execute([outer, "--kill", str(SYS_PERF_EVENT_OPEN), BTREC, "doctor"], cwd=TMP)
    if result.status == 77:
        raise Skip("no seccomp filters here")
    equal(result.status, 0, "status: " + short(result.err))
    rows, _ = rows_of_text(result.out.decode())
    equal(rows["seccomp"], ("no", "a filter refuses perf_event_open"), "seccomp")
    equal(rows["perf events"][0], "no", "perf events")
    trace = fresh("trace")
    result = execute([outer, "--kill", str(SYS_PERF_EVENT_OPEN), BTREC, "run", "-q", "-o", trace, "--", build("status.S", *BARE)], cwd=TMP)
    equal(result.status, native([build("status.S", *BARE)]).status, "status of the program: " + short(result.err))
    result = execute([outer, "--kill", str(SYS_MEMFD_CREATE), BTREC, "doctor"], cwd=TMP)
    rows, _ = rows_of_text(result.out.decode())
    equal((result.status, rows["engine"][0]), (0, "partly"), "without memory files: " + rows["engine"][1])


@case("a filter that kills whoever calls ptrace: nothing records, and no process stays behind")
def killing_ptrace():
    outer, tool = build("no_ptrace.c", *STATIC), shutil.copy(BTREC, fresh("btrec"))
    for _ in range(20):  # two children on one stack were a matter of luck
        result = execute([outer, "--kill", str(SYS_PTRACE), tool, "doctor"], cwd=TMP)
        if result.status == 77:
            raise Skip("no seccomp filters here")
        equal(result.status, UNABLE, "status: " + short(result.err))

    def left():
        commands = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as file:
                    commands[int(pid)] = file.read().split(b"\0")[0]
            except OSError:
                pass
        return [pid for pid, command in commands.items() if command == tool.encode()]

    try:
        wait_until(lambda: not left(), "the end of what it started")
    finally:
        for pid in left():
            os.kill(pid, signal.SIGKILL)


@case("little address space: the engine may not fit")
def little_room():
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (50 << 20, 50 << 20))

    if has_sanitizer():
        raise Skip("a sanitizer maps more than any limit")
    # With CAP_SYS_RESOURCE the limit would be raised: root asks as another.
    home = fresh_dir("home", 0o777)
    other = dict(user=65534, group=65534, extra_groups=[]) if os.geteuid() == 0 else {}
    result = execute([shutil.copy(BTREC, home), "doctor"], cwd=home, setup=limit, env=dict(os.environ, HOME=home, BTREC_TRACE_DIR=home), **other)
    equal(result.status, 0, "status")
    rows, changes = rows_of_text(result.out.decode())
    equal(rows["engine"][0], "partly", rows["engine"][1])
    check("RLIMIT_AS, 50 MiB" in rows["engine"][1] and "ulimit" in changes["engine"], rows["engine"][1])


@case("a /proc with processes only, as services have it (ProcSubset=pid)")
def processes_only():
    need_namespaces()
    trace = fresh("trace")

    def there(*argv, **kw):
        result = execute(["unshare", "-m", "sh", "-c", 'mount -t proc -o subset=pid proc /proc && exec "$@"', "sh", *argv], cwd=TMP, **kw)
        if result.err.startswith(b"mount:"):
            raise Skip("no such /proc can be mounted here")
        return result

    result = there(BTREC, "doctor", "--json")
    equal(result.status, 0, "status")
    found, usual = json.loads(result.out), json.loads(doctor("--json").out)
    validate(found)
    equal(found["run"], usual["run"], "what btrec run uses")
    for name in ("engine", "step", "ptrace", "kernel"):
        equal(rows_of_json(found)[name], rows_of_json(usual)[name], name)
    check(not re.search(r"paranoid is -|unknown: recording", result.out.decode()), result.out)
    equal(there(BTREC, "run", "-q", "-o", trace, "--", "true").status, 0, "status of btrec run")
    said = execute([BTREC, "info", trace]).out.decode()
    check('chosen: "%s"' % usual["run"]["reason"] in said, said)


@case("without a /proc: what is not known is said to be that, and a recording is refused with what to do")
def without_proc():
    need_namespaces()
    if has_sanitizer():
        raise Skip("a sanitizer needs a /proc")
    for argv, status in ([BTREC, "doctor"], None), ([BTREC, "run", "-o", fresh("trace"), "--", "true"], 125):
        result = execute(["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh", *argv], cwd=TMP, env=dict(os.environ, ASAN_OPTIONS=os.environ["ASAN_OPTIONS"] + ":detect_leaks=0"))
        if result.err.startswith(b"mount:"):
            raise Skip("nothing can be mounted here")
        if status:
            equal((result.status, result.err), (status, b"btrec: there is no proc(5) on /proc, which recording needs: mount -t proc proc /proc\n"), "run")
        else:
            equal(rows_of_text(result.out.decode())[0]["capabilities"][1], "unknown: there is no proc(5) on /proc", "capabilities")


@case("where no process can be started it is not ptrace that is blamed")
def no_process():
    need_root()
    home = fresh_dir("home", 0o777)
    result = execute([shutil.copy(BTREC, home), "doctor"], cwd=home, setup=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (1, 1)),
                     env=dict(os.environ, HOME=home, BTREC_TRACE_DIR=home, ASAN_OPTIONS=os.environ["ASAN_OPTIONS"] + ":detect_leaks=0"), # it starts a process for that
                     user=65533, group=65533, extra_groups=[])
    equal(result.status, UNABLE, "status")
    rows, changes = rows_of_text(result.out.decode())
    check("no process can be started" in rows["ptrace"][1] and "ulimit -u" in changes["ptrace"], rows["ptrace"][1])
    check("refused" not in rows["engine"][1], rows["engine"][1])


@case("what cannot be printed is told once")
def full_output():
    if not os.path.exists("/dev/full"):
        raise Skip("no /dev/full")
    for option in ([], ["--json"]):
        result = execute(["sh", "-c", 'exec "$@" >/dev/full', "sh", BTREC, "doctor", *option], cwd=TMP)
        equal((result.status, result.err), (74, b"btrec: cannot write to standard output: No space left on device\n"), "status and line")


@case("without privileges: what is lacking is named")
def unprivileged():
    need_root()

    def drop():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)

    home = fresh_dir("home", 0o777)
    tool = os.path.join(home, "btrec")
    shutil.copy(BTREC, tool)
    result = execute([tool, "doctor", "--json"], cwd=home, setup=drop, env=dict(os.environ, HOME=home, BTREC_TRACE_DIR=home))
    rows = rows_of_json(json.loads(result.out))
    equal(rows["capabilities"]["answer"], "fact", rows["capabilities"]["why"])
    equal(rows["bpf"]["answer"], "no", rows["bpf"]["why"])
    if "CAP_" in rows["bpf"]["why"]:
        check("setcap" in rows["bpf"]["change"], rows["bpf"]["change"])


@case("the place of traces: one that cannot be, a name that could act on a terminal")
def places():
    nowhere = dict(os.environ, BTREC_TRACE_DIR="/dev/null/btrec")
    row = rows_of_json(json.loads(doctor("--json", env=nowhere).out))["traces"]
    equal(row["answer"], "no", row["why"])
    folder = fresh_dir("places")
    os.symlink("/nowhere/at/all", os.path.join(folder, "dangling"))
    shutil.copy("/bin/true", os.path.join(folder, "file"))
    # What the doctor says of it is what btrec run does.
    for place, wanted in (("new", True), ("new/below/", True), (".", True), (folder + "/one", True), ("dangling", False), ("dangling/below", False), ("file", False),
                          (folder + "/file", False), ("file/below", False)):
        there = dict(os.environ, BTREC_TRACE_DIR=place)
        row = rows_of_json(json.loads(execute([BTREC, "doctor", "--json"], cwd=folder, env=there).out))["traces"]
        equal(row["answer"] != "no", wanted, "%s: %s" % (place, row["why"]))
        equal(execute([BTREC, "run", "-q", "true"], cwd=folder, env=there).status, 0 if wanted else 125, "status of btrec run: " + place)
    odd = dict(os.environ, BTREC_TRACE_DIR=TMP + "/\x1b[2J\xff")
    result = doctor(env=odd)
    check(b"\x1b" not in result.out and b"\\x1b[2J" in result.out, short(result.out))
    json.loads(doctor("--json", env=odd).out)


def on(machine, *arguments):
    return execute([BTREC_SIMULATED, *arguments], cwd=TMP, env=dict(os.environ, BTREC_SIMULATED=machine))


# what each simulated machine lets --source do: all of it, a part, nothing
MACHINES = {
    "lbr": {
        "depth=16": "yes", "depth=32,hybrid=1": "yes", "amd=1,kernel=610": "yes", "amd=1,kernel=605": "partly", "amd=1,kernel=515": "no", "depth=0": "no",
        "pmu=0": "no", "seccomp=1": "no", "nosys=1": "no", "paranoid=3,capabilities=0": "no", "paranoid=3": "yes", "capabilities=0": "partly", "bts_used=1": "no", "pt_used=1": "no",
        "pt_used=1,coexist=1": "yes", "lbr_used=1": "yes", "amd=1,kernel=610,brs=1": "no", "arch=1": "yes", "arch=1,counted=0": "partly",
        "built=0": "partly", "kernel=515": "partly", "amd=1,kernel=610,counted=0": "partly",
    },
    "bts": {
        "bts=1": "yes", "hybrid=1": "partly", "bts=0": "no", "amd=1": "no", "model=0x1a": "no", "model=0x3a": "no", "lbr_used=1": "yes", "bts_used=1": "no", "pt_used=1": "no", "pmu=0": "no", "seccomp=1": "no",
        "paranoid=3,capabilities=0": "no", "paranoid=3": "yes", "capabilities=0": "partly", "capabilities=0,memlock=8388608": "yes",
    },
    "pt": {
        "pt=1": "yes", "pt=0": "no", "pt=1,pt_used=1": "no", "pt=1,lbr_used=1": "no", "pt=1,bts_used=1": "no", "pt=1,lbr_used=1,coexist=1": "yes", "pt=1,nosys=1": "no", "pt=1,paranoid=3,capabilities=0": "no", "pt=1,paranoid=3": "yes",
        "pt=1,capabilities=0": "yes", "pt=1,capabilities=0,memlock=0,mlock=100000": "partly", "pt=1,capabilities=0,memlock=0,mlock=8192": "no",
    },
}


def compare(source, machine, wanted, program):
    found = json.loads(on(machine, "doctor").out)
    validate(found)
    row = rows_of_json(found)[source]
    what = "%s, %s: the doctor says %s" % (source, machine, row["why"])
    equal(row["answer"], wanted, what)
    trace = fresh("trace")
    run = on(machine, "run", "--source", source, "-o", trace, "--", program)
    said = run.own_err.splitlines()
    what += ", run says " + run.own_err
    if wanted == "no":
        equal((run.status, len(said), os.path.exists(trace)), (125, 1, False), what)
        return
    equal(run.status, native([program]).status, what)
    # a recording that lacks something says so before it begins
    equal(len(said), 2 if wanted == "partly" else 1, what)
    if wanted == "partly":
        check(row["why"][:60] in said[0], what)
        return
    chosen = re.search(r'^backend .*chosen: "(.*)"$', execute([BTREC, "info", trace]).out.decode(), re.M).group(1)
    equal(row["why"], chosen, what)


@case("what is said of lbr, bts and pt is what --source lbr, --source bts and --source pt do")
def agreement():
    program = build("status.S", *BARE)
    for source, machines_of_it in MACHINES.items():
        for machine, wanted in machines_of_it.items():
            compare(source, machine, wanted, program)


@case("usage")
def usage():
    equal(doctor("--help").status, 0, "--help")
    equal(doctor("--nonsense").status, 2, "an unknown option")
    equal(doctor("operand").status, 2, "an operand")
    with open("/dev/full", "wb") as full:
        equal(doctor(stdout=full).status, 74, "a full disk")


main()
