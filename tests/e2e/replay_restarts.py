#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Calls that signals interrupt: made again by the kernel, continued by restart_syscall, or failed with EINTR, with and without a
# handler that runs in between. What the recorded program got is what it gets alone, and the replay gives it again.
from replays import *

TIMED = ("nanosleep clock_nanosleep clock_nanosleep-until poll ppoll select pselect futex-time semtimedop epoll_wait sigtimedwait recv-time "
         "read-timer").split()
ENDLESS = "read write recv read-event flock futex semop msgrcv pause sigsuspend".split()
EINTR = (-1, 4)
ENDED = {name: EINTR for name in ENDLESS + TIMED} | {"clock_nanosleep": (4, 0), "clock_nanosleep-until": (4, 0)}
# By what is done about the signal: the result and errno of each call.
RESULTS = {
    "restart": ENDED | {"read": (1, 0), "write": (4096, 0), "recv": (1, 0), "read-event": (8, 0), "flock": (0, 0), "futex": (-1, 11),
                        "read-timer": (8, 0)},
    "end": ENDED,
    "mixed": ENDED,
    "ignored": {name: (0, 0) for name in TIMED} | {"futex-time": (-1, 110), "semtimedop": (-1, 11), "sigtimedwait": (-1, 11), "recv-time": (-1, 11),
                                                   "read-timer": (8, 0)},
}


def add(how, text, record_options=(), replay_options=(), every="2"):
    @case("calls that signals interrupt: " + text)
    def run():
        result = recorded([build("restarts.c", *STATIC, "-O2"), how, every], *record_options)
        again = replayed(result.trace, "-q", *replay_options)
        equal((again.status, again.err, again.out), (0, result.err, result.out), "status, errors and output of the replay")
        got = {name: (int(value), int(error)) for name, value, error in re.findall(rb"^(\S+) (-?\d+) (\d+) alarms \d+$", result.out, re.M)}
        equal({name.decode(): value for name, value in got.items()}, RESULTS[how], "results of the calls")


add("restart", "a handler with SA_RESTART")
add("end", "a handler without it")
add("ignored", "an ignored signal")
add("mixed", "an ignored signal, then one with a handler")
# Stepped, a handler must end before the next alarm.
add("restart", "a handler with SA_RESTART, stepped", ["--backend", "step"], ["--backend", "step"], every="20")
add("mixed", "an ignored signal, then one with a handler, recorded by the stepper", ["--backend", "step"], every="20")

main()
