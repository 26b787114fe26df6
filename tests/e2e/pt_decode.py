#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Intel PT: streams that libipt's encoder makes of the stepper's recorded history, as a processor would, are decoded back to that history.
# Overflows, streams that begin or end anywhere and damaged bytes are gaps; what comes out between them is true.
import random

from e2e import *

PT_STREAM = os.path.join(BUILD, "tests/tools/pt_stream")
SYNC = bytes((2, 0x82)) * 8
made = {}


def recorded(source):
    """A program's complete history, recorded once."""
    if source not in made:
        program = build(source, *(BARE if source.endswith(".S") else STATIC))
        made[source] = record([program], ["--backend", "step", "--history", "4194304", "--snap-exit", "always"]).trace
    return made[source]


def encode(trace, seed, flags):
    stream = fresh("stream")
    result = execute([PT_STREAM, "encode", trace, "1", str(seed), flags, stream])
    equal(result.status, 0, "encoding (%s)" % result.err.decode(errors="replace"))
    return stream, result.out.decode().splitlines()


def decode(trace, stream):
    result = execute([PT_STREAM, "decode", trace, "1", stream])
    equal(result.status, 0, "decoding (%s)" % result.err.decode(errors="replace"))
    return result.out.decode().splitlines()


def decode_bytes(trace, data):
    stream = fresh("stream")
    with open(stream, "wb") as file:
        file.write(data)
    return decode(trace, stream)


def pieces(entries):
    """What lies between gaps."""
    out = [[]]
    for entry in entries:
        if entry.startswith("gap "):
            out.append([])
        else:
            out[-1].append(entry)
    return out


def first_difference(got, expected):
    for number, (a, b) in enumerate(zip(got, expected)):
        if a != b:
            return "entry %d is %s, not %s" % (number, a, b)
    return "%d entries, not %d" % (len(got), len(expected))


SOURCES = ("branchy.c", "transfers.S", "handlers.S", "conditionals.S")


@case("a stream of the whole history gives it back, entry by entry, not-taken branches and all", sanitized=False)
def whole():
    for source in SOURCES:
        trace = recorded(source)
        history = [line.split()[2:] for line in execute([BRANCHES, trace]).out.decode().splitlines() if line.startswith("1 ")]
        for seed, flags in enumerate(("n", "l", "c", "i", "p", "cipl", "cipl")):
            stream, expected = encode(trace, seed, flags)
            got = decode(trace, stream)
            check(got == expected, "%s, seed %d, %s: %s" % (source, seed, flags, first_difference(got, expected)))
        # Nothing is told but what was recorded: only a signal that meets a system call is one entry with it.
        asynchronous = sum(1 for line in history if line[0] == "async")
        check(len(history) - asynchronous <= len(expected) <= len(history), "%s: %d entries of %d" % (source, len(expected), len(history)))


@case("packets that the processor lost are a gap; all that was told before and behind is there")
def overflows():
    trace = recorded("branchy.c")
    for seed in range(2 if a_part() else 5):
        stream, expected = encode(trace, seed, "ol")
        got, wanted = pieces(decode(trace, stream)), pieces(expected)
        equal(len(got), len(wanted), "pieces between gaps")
        check(len(wanted) > 10, "no overflow was made")
        for a, b in zip(got, wanted):
            # Where the last branch before an overflow led is not told, nor the direct jumps behind it.
            check(a == b[:len(a)] and len(b) - len(a) < 8, "a piece: " + first_difference(a, b))


def too_long(rounds, block, flags):
    """A stream that takes too long: the trace, the stream, the history, and what comes out in pieces."""
    # By the engine: it is many instructions for the stepper.
    program = build("long_blocks.S", *BARE, "-DROUNDS=%d" % rounds, "-DBLOCK=%d" % block, name="long_blocks%d" % block)
    trace = record([program], ["--history", "4194304", "--snap-exit", "always"]).trace
    stream, expected = encode(trace, 1, flags)
    got = pieces(decode(trace, stream))
    check(len(got) > 1, "all of it came out")
    for piece in got[:1] + got[-1:]:
        check(len(piece) > 20, "pieces: %s" % [len(piece) for piece in got])
    check(got[0] == expected[:len(got[0])], first_difference(got[0], expected))
    check(got[-1] == expected[-len(got[-1]):], first_difference(got[-1], expected[-len(got[-1]):]))
    return trace, stream, expected, got


@case("where all of it would take too long, the newest is what comes out", sanitized=False)
def newest():
    too_long(20000, 2000, "p")
    # With synchronization points as far apart as they are, the last 2 KiB at least, with six branches a byte.
    trace, stream, expected, got = too_long(100000, 2000, "s")
    with open(stream, "rb") as file:
        data = file.read()
    check(len(data) > 16 << 10, "%d bytes" % len(data))
    equal(len(got), 2, "pieces")
    check(len(got[1]) > 2000 * 6, "the newest has %d entries" % len(got[1]))
    # What was decoded before comes to the same again, when more follows it.
    part = fresh("stream")
    with open(part, "wb") as file:
        file.write(data[data.index(SYNC, 1):][:5000])
    result = execute([PT_STREAM, "decode", trace, "1", part, "1000"])
    known, got = int(result.err.split()[0]), result.out.decode().splitlines()
    check(known > 900 * 6, "%d entries are known" % known)
    check("gap undecoded" in got, "all of it came out")
    check(got.index("gap undecoded") >= known, "%d entries of %d" % (got.index("gap undecoded"), known))


@case("a ring that begins and ends anywhere gives what lies between, behind a gap")
def rings():
    trace = recorded("branchy.c")
    stream, expected = encode(trace, 7, "cp")
    with open(stream, "rb") as file:
        data = file.read()
    text = "\n".join(expected)
    rng = random.Random(1)
    for _ in range(20):
        start = rng.randrange(1, len(data))
        piece = data[start:start + rng.randrange(len(data))]
        got = decode_bytes(trace, piece)
        if got and not piece.startswith(SYNC):
            equal(got.pop(0), "gap overwritten", "the first entry")
        check("\n".join(got) in text, "what lies between is not in the history")


@case("damaged bytes end in gaps, and never in a crash or a loop")
def damaged():
    trace = recorded("branchy.c")
    stream, expected = encode(trace, 3, "cipl")
    with open(stream, "rb") as file:
        data = bytearray(file.read())
    rng = random.Random(2)
    known = set(expected)
    for _ in range(30):
        changed = bytearray(data)
        for _ in range(rng.randrange(1, 5)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        got = decode_bytes(trace, bytes(changed))
        # A changed bit may lead anywhere in the code; most of it is told as it was.
        true = sum(1 for entry in got if entry in known)
        check(true > len(got) // 2 and len(got) > len(expected) // 4, "%d of %d entries are true, %d were told" % (true, len(got), len(expected)))
    equal(decode_bytes(trace, b""), [], "an empty stream")
    equal(decode_bytes(trace, b"\0" * 10000), ["gap overwritten"], "padding only")
    equal(decode_bytes(trace, bytes(rng.randrange(256) for _ in range(10000))), ["gap overwritten"], "noise")


@case("code that is not at hand is a gap that says so, and decoding goes on at the next synchronization point")
def no_code():
    trace, other = recorded("branchy.c"), recorded("transfers.S")
    stream, expected = encode(trace, 5, "p")
    result = execute([PT_STREAM, "decode", other, "1", stream])
    equal(result.status, 0, "decoding")
    equal(set(result.out.decode().splitlines()), {"gap undecoded"}, "entries")
    check(b"no memory mapped at this address" in result.err, "cause: %s" % result.err[:300])


main()
