#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# System calls with their arguments, paths and errors; those that failed before an end with failure stand on the first screen.
from e2e import *

MODES = [], ["--parallel"], ["--backend", "step"], ["--history", "off"]
NO_FILE = "= -1 ENOENT (No such file or directory)"


def program():
    return build("failed_calls.c", *STATIC) # so that little has symbols to be read


def happened(trace, *options):
    """The section "What happened"."""
    return re.search(r"\nWhat happened\n(.*?)\n\n", text(trace, *options), re.S).group(1)


def failed_of(*ways, mode=()):
    result = record([program(), *ways], ["-q", *mode])
    return result, [call["text"] for call in report(result.trace, "-n", "10")["failed_calls"]]


@case("a configuration that is not there, however it is asked for, and whoever makes the call")
def no_configuration():
    path = fresh("no-such.conf")
    expected = {"open": 'openat(AT_FDCWD, "%s", O_RDONLY) ' + NO_FILE,
                "write": 'openat(AT_FDCWD, "%s", O_WRONLY|O_CREAT|O_EXCL, 0640) = -1 EEXIST (File exists)',
                "stat": 'newfstatat(AT_FDCWD, "%s", ',
                "rename": 'rename("%s", "%s.new") ' + NO_FILE,
                "chdir": 'chdir("%s") ' + NO_FILE}
    for mode in MODES:
        for way, wanted in expected.items() if not mode else [("open", expected["open"])]:
            name = "/etc/passwd" if way == "write" else path
            result, failed = failed_of(way, name, mode=mode)
            equal(result.status, 1, "%s %s" % (way, mode))
            wanted = wanted % ((name,) * wanted.count("%s"))
            check(failed and failed[-1].startswith(wanted), "%s %s: %s" % (way, mode, failed))
            check(wanted in happened(result.trace), "%s %s is not on the first screen: %s" % (way, mode, happened(result.trace)))


@case("a connection that nobody takes, and a socket in a folder that is not there")
def no_connection():
    for mode in MODES[:2]:
        result, failed = failed_of("connect", mode=mode)
        equal(failed, ["connect(3, {AF_INET, 127.0.0.1:1}, 16) = -1 ECONNREFUSED (Connection refused)"], "%s" % mode)
        result, failed = failed_of("unix", "/nowhere/x.sock", mode=mode)
        equal(failed, ['connect(3, {AF_UNIX, "/nowhere/x.sock"}, 110) ' + NO_FILE], "%s" % mode)


@case("of abort, too; not of a program that ends well, or of a fault")
def endings():
    result, failed = failed_of("open", "/nowhere", "abort")
    check(len(failed) == 1 and '"/nowhere"' in failed[0], failed)
    check('"/nowhere"' in happened(result.trace), happened(result.trace))
    for way in ("good", "fault"):
        result, failed = failed_of("open", "/nowhere", way)
        equal(failed, [], way)


@case("many that fail: the last ones, each once; what every program asks for is left out")
def many():
    result, failed = failed_of("many", "1500")
    equal([re.search(r'"(.*?)"', call).group(1) for call in failed], ["/nowhere/%d" % n for n in range(1496, 1500)], "the last")
    result, failed = failed_of("again", "1500")
    said = happened(result.trace)
    check(len(failed) == 1 and re.search(r'openat\(AT_FDCWD, "/nowhere/again", O_RDONLY\) %s, \d+ times' % re.escape(NO_FILE), said), said)
    calls = report(result.trace, "-n", "10")["calls"]
    equal(len(calls), 1000, "calls")


@case("a path that cannot be read, or is long, does no harm")
def wild():
    for mode in MODES[:3]:
        alone = native([program(), "wild"])
        result = record([program(), "wild"], ["-q", *mode])
        equal((result.status, result.out), (alone.status, alone.out), "%s" % mode)
        failed = [call["text"] for call in report(result.trace, "-n", "10")["failed_calls"]]
        check(any("= -1 EFAULT (Bad address)" in call and "0x1" in call for call in failed), "%s: %s" % (mode, failed))
        check(any('"' + "a" * 512 + '"...' in call and "ENAMETOOLONG" in call for call in failed), "%s: %s" % (mode, failed))
        check(any(r'"/\x1b[31m\"q\\' in json_escaped(call) for call in failed), "%s: %s" % (mode, failed))
        check("\x1b" not in text(result.trace), "an escape reaches the terminal")


def json_escaped(call):
    return call.replace("\x1b", r"\x1b")


@case("registers and flags behind calls that fail, whenever a signal comes")
def registers():
    for mode, each in ([], 211), (["--history", "off"], 307):
        result = record([program(), "checked"], ["-q", "--backend", "engine", "--alarm-each", str(each), *mode])
        equal((result.status, result.out), (1, b"50 failed\n"), "%s, a signal each %d" % (mode, each))


@case("which file was opened; the schema of what JSON says of it")
def opened():
    result = record([program(), "read", "/etc/passwd"], ["-q"])
    found = report(result.trace)
    equal(result.status, 3, "status")
    check('openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 3' in [call["text"] for call in found["calls"]], found["calls"])
    check('openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 3\n' in text(result.trace), "the report")
    fits_schema(report(result.trace, "-n", "10"), "report.schema.json")


main()
