#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What a process wrote to its standard error last: in the trace, the report, the JSON and the viewer.
import signal

from e2e import *

KEPT = 4096
MODES = [], ["--parallel"], ["--backend", "step"], ["--history", "off"]


def program():
    return build("last_words.c", "-pthread", *STATIC)


def words(trace, index=0):
    process = report(trace)["processes"][index]["last_words"]
    return process and (process["text"].encode(), int(process["total"]))


def kept_as_written(*ways, modes=MODES):
    written = native([program(), *ways]).err
    check(written, "nothing was written")
    for mode in modes:
        for target in ("pipe",) if "step" in mode else ("pipe", "file", "/dev/null"):
            path = fresh("stderr") if target == "file" else target
            with open(os.devnull if target == "pipe" else path, "wb") as file:
                result = record([program(), *ways], ["-q", *mode], **({} if target == "pipe" else dict(stderr=file)))
            equal(words(result.trace), (written[-KEPT:], len(written)), "%s to %s, %s" % (ways, target, mode))


@case("write and writev, much and little, to a pipe, a file, nowhere")
def written():
    kept_as_written("lines")
    kept_as_written("pieces", "lines", "pieces", "pieces", modes=MODES[:1])


@case("a write that fails is none")
def failing():
    result = record([program(), "lines", "failing", "pieces"], ["-q"])
    equal(words(result.trace), (result.err[-KEPT:], len(result.err)), "kept")

@case("what /dev/null takes without looking at it does no harm")
def wild():
    for mode in MODES:
        with open(os.devnull, "wb") as file:
            result = record([program(), "wild", "=before", "wild", "=seen"], ["-q", *mode], stderr=file)
        equal(result.status, -signal.SIGABRT, "end, %s" % mode)
        check(words(result.trace)[0].endswith(b"seen"), "%s: %s" % (mode, words(result.trace)))


@case("registers and flags, whenever a signal comes")
def registers():
    path = fresh("stderr")
    written = native([program(), "checked"]).err
    for mode in [], ["--history", "off"], ["--parallel"]:
        for each in (307, 509) if not mode else (353,): # with fewer than a handler takes nothing else would run
            with open(path, "wb") as file:
                result = record([program(), "checked"], ["-q", "--backend", "engine", "--alarm-each", str(each), *mode], stderr=file)
            equal(result.status, -signal.SIGABRT, "end, %s, %d" % (mode, each))
            equal(words(result.trace), (written[-KEPT:], len(written)), "%s, a signal each %d" % (mode, each))


@case("more than one execve, and an end by a status, or by SIGKILL")
def executed():
    kept_as_written("lines", "killed", modes=MODES[:2])
    kept_as_written("lines", "exec", "pieces", "status", modes=MODES[:2])


@case("of writes that are cut short what was taken")
def cut_short():
    for mode in MODES:
        result = record([program(), "short"], ["-q", *mode])
        total, text_ = result.out.split(b" ", 1)
        equal(words(result.trace), (text_, int(total)), "%s" % mode)


@case("of threads, whichever wrote when")
def threads():
    for mode in MODES[:3]:
        result = record([program(), "threads"], ["-q", *mode])
        equal(words(result.trace), (result.err[-KEPT:], len(result.err)), "%s" % mode)


@case("each process its own; none of one that ended well")
def processes():
    result = record([program(), "child"], ["-q"])
    equal(words(result.trace), (b"the parent's\n", 13), "the parent's")
    equal(words(result.trace, 1), (b"the child's\n", 12), "the child's")
    result = record(["/bin/ls", "/nonexistent"], ["-q", "--snap-exit", "never"])
    check(words(result.trace)[0].startswith(b"/bin/ls: cannot access"), "of one that ended with a status")
    result = record(["/bin/dd", "count=0"], ["-q"])
    check(result.err, "nothing was written")
    equal(words(result.trace), None, "of who ended well")
    check("standard error" not in text(result.trace), "the report has some")


@case("a moment has what was said until then")
def moments():
    result = record([program(), "lines", "child"], ["-q", "--snap-at", "1:0", "--snap-exit", "always"])
    first = text(result.trace, "--snapshot", "1")
    last = text(result.trace)
    check("the parent's" not in first, first)
    check("\n  line 39 of 40, " + "." * 149 + "\n  the parent's\n" in last, last)


@case("the report shows the last lines as they looked, and nothing in them acts on the terminal (the viewer: btview_tmux.sh)")
def shown():
    script = b"=one\ntwo\n\033[31mred\033[0m\tafter a tab\n10%\r20%\r100%\r\n\033]0;title\007\033c\303\244\377\n"
    result = record([program(), script], ["-q"])
    said = text(result.trace)
    expected = ["one", "two", "red     after a tab", "100%", r"\x1bc" "ä" r"\xff"]
    check("\nWhat it wrote to its standard error\n" + "".join("  %s\n" % line for line in expected) in said, said)


main(sanitized=3)
