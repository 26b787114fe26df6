#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Where a recording begins (--from): in every kind of file, process and thread. What the trace keeps then: moments.py
import os
import re
import signal

from e2e import *


def begin():
    return build("begin.c", *STATIC, "-pthread")


def functions_of(found):
    return {b[end].get("function") for b in found["branches"] for end in ("from", "to")}


def from_branches(found):
    """How often begin_here's loop goes back: one time less than its turns in each call."""
    inside = [b for b in found["branches"] if b["kind"] == "jcc" and b["from"].get("function") == "begin_here"]
    return len([b for b in inside if b["taken"]])


@case("--from a function")
def from_function():
    alone, recorded = same_as_native([begin(), "crash-after"], ["--from", "begin_here"])
    found = report(recorded.trace)
    equal(from_branches(found), 49, "jumps back of the loop")
    check("main" not in functions_of(found), "recorded before: %s" % functions_of(found))
    equal(found["threads"][0]["stack"][0]["line"], line_of("begin.c", "crash-after"), "line")
    check(any("start" in gap["reason"] or "from" in gap["reason"] for gap in found["gaps"]), "gaps %s" % found["gaps"])


@case("--from a label in code")
def from_label():
    alone, recorded = same_as_native([begin(), "crash-after-label"], ["--from", "label_in_code"])
    equal(from_branches(report(recorded.trace)), 49, "jumps back of the loop")


NOT_THERE = ": no function of that name, nor code at that address, was found in the program and the libraries it loaded"


@case("--from a label of data: nothing of the program's is written over")
def from_label_of_data():
    alone, recorded = same_as_native([begin(), "crash-after"], ["--from", "label_in_data"])
    check("label_in_data was never reached" + NOT_THERE in recorded.own_err, recorded.own_err)


@case("--from an address")
def from_address():
    done = execute(["nm", begin()])
    address = re.search(r"^(\w+) T begin_here$", done.out.decode(), re.M).group(1)
    alone, recorded = same_as_native([begin(), "crash-after"], ["--from", "0x" + address.lstrip("0")])
    equal(from_branches(report(recorded.trace)), 49, "jumps back of the loop")


@case("--from a function of a position-independent program")
def from_function_pie():
    program = build("begin.c", "-fPIE", "-pie", "-pthread")
    alone, recorded = same_as_native([program, "crash-after"], ["--from", "begin_here"])
    equal(from_branches(report(recorded.trace)), 49, "jumps back of the loop")


@case("--from a function of a shared library")
def from_library():
    library = build("library.c", "-shared", "-fPIC", name="libledger.so")
    user = build("library_user.c", "-L" + os.path.dirname(library), "-lledger", "-Wl,-rpath," + os.path.dirname(library))
    alone, recorded = same_as_native([user], ["--from", "ledger_add"])
    found = report(recorded.trace)
    equal(found["threads"][0]["stack"][0]["function"], "ledger_note", "function")
    check(len(found["branches"]) < 50, "%d branches" % len(found["branches"]))


@case("--from a function that is never reached")
def from_never():
    alone, recorded = same_as_native([begin(), "twice"], ["--from", "never_called"])
    equal(alone.status, 5, "native end")
    found = report(recorded.trace)
    equal(found["exit"]["status"], 5, "exit status")
    equal(found["branches"], [], "branches")
    check("never_called was never reached" in recorded.own_err and NOT_THERE not in recorded.own_err, recorded.own_err)
    check("never_called was never reached" in text(recorded.trace), "the report does not say so")


@case("--from a function that is not there: the program ends as it does alone, and it is said")
def from_unknown():
    result = record([begin(), "twice"], ["--from", "no_such_function"])
    equal(result.status, 5, "status")
    check("no_such_function was never reached" + NOT_THERE in result.err.decode(), "what is said: %r" % result.err.decode())


@case("--from what begins as a number and is no address: 125, and the program is not started")
def from_no_address():
    for place in ("0xzz", "0x", "12g", "-1", "+main", "123456789abcdef01", "0x10000000000000000", ""):
        result = record([begin(), "twice"], ["--from", place])
        equal(result.status, 125, "status for %r" % place)
        check("--from: %s" % (place or "an empty name") in result.own_err and result.own_err.count("\n") == 1, result.own_err)
        check(not os.path.exists(result.trace), "a trace was made for %r" % place)


@case("--from a function called twice")
def from_twice():
    alone, recorded = same_as_native([begin(), "twice"], ["--from", "begin_here"])
    equal(from_branches(report(recorded.trace)), 5, "jumps back of the loop")


@case("--from a function that a child calls")
def from_child():
    alone, recorded = same_as_native([begin(), "in-child"], ["--from", "begin_here", "--snap-exit", "always"])
    equal(alone.out, b"child 4\n", "native output")
    found = report(recorded.trace, "--thread=2")
    equal(from_branches(found), 29, "jumps back of the loop in the child")


@case("--from a function that a thread calls")
def from_thread():
    alone, recorded = same_as_native([begin(), "in-thread"], ["--from", "begin_here", "--snap-exit", "always"])
    found = report(recorded.trace, "--thread=2")
    equal(from_branches(found), 29, "jumps back of the loop in the thread")


@case("--from a function that a thread calls while another one makes children or threads")
def among_children():
    program = build("from_among.c", "-pthread")
    for what in "fork", "thread", "vfork":
        for options in [], ["--parallel"], ["--backend", "step"]:
            for _ in range(6):
                recorded = record([program, what], ["--from", "place", *options])
                equal((recorded.status, recorded.out), (0, b"0 wrong\n"), "%s with %s" % (what, options))


@case("--from a function of a program started by execve")
def from_exec():
    program = build("begin.c", *STATIC, "-pthread", name="other")
    alone, recorded = same_as_native([begin(), "exec", program, "crash-after"], ["--from", "begin_here"])
    equal(alone.status, -signal.SIGSEGV, "native end")
    equal(from_branches(report(recorded.trace)), 49, "jumps back of the loop")


main()
