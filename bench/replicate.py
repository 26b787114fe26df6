#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# replicate.py PERF.DATA ENTRIES OUT: a larger capture, made of a real one (file mode) by repeating its records with later times until
# it has so many branch entries.
import struct
import sys

IP, TID, TIME, BRANCH_STACK, IDENTIFIER = 1, 2, 4, 1 << 11, 1 << 16
KNOWN = IP | TID | TIME | 1 << 6 | 1 << 7 | 1 << 8 | BRANCH_STACK | IDENTIFIER
SAMPLE, USER = 9, 64


def main():
    source, wanted, target = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with open(source, "rb") as file:
        data = file.read()
    magic, size, attr_size, attrs_at, attrs_size, at, length = struct.unpack_from("<8s6Q", data)
    sample_type, = struct.unpack_from("<Q", data, attrs_at + 24)
    if magic != b"PERFILE2" or size != 104 or sample_type & ~KNOWN or not sample_type & TIME or not sample_type & BRANCH_STACK:
        sys.exit("replicate.py: a capture of this layout is not known to it")
    time_at = 8 * bin(sample_type & (IP | TID | IDENTIFIER)).count("1")
    branches_at = 8 * bin(sample_type & (KNOWN & ~BRANCH_STACK)).count("1")
    records, rest, end, entries, times = [], b"", at + length, 0, []
    where = at
    while where < end:
        kind, misc, n = struct.unpack_from("<IHH", data, where)
        if kind == SAMPLE:
            times.append(struct.unpack_from("<Q", data, where + 8 + time_at)[0])
            entries += struct.unpack_from("<Q", data, where + 8 + branches_at)[0]
            records.append(where - at)
        elif kind < USER:
            rest += data[where:where + n]
        where += n
    span = max(times) - min(times) + 1000
    copies = -(-wanted // entries)
    # Only samples repeat: the first copy has the other records before it.
    samples = bytearray()
    offsets = []
    for offset in records:
        offsets.append(len(samples))
        samples += data[at + offset:at + offset + struct.unpack_from("<H", data, at + offset + 6)[0]]
    body = len(rest) + copies * len(samples)
    shift = body - length
    head = bytearray(data[:at])
    struct.pack_into("<Q", head, 48, body)
    tail = bytearray(data[end:])
    features = int.from_bytes(data[72:104], "little")
    for row in range(bin(features).count("1")):
        offset, = struct.unpack_from("<Q", tail, 16 * row)
        struct.pack_into("<Q", tail, 16 * row, offset + shift)
    with open(target, "wb") as file:
        file.write(head)
        file.write(rest)
        for copy in range(copies):
            for offset, time in zip(offsets, times):
                struct.pack_into("<Q", samples, offset + 8 + time_at, time + copy * span)
            file.write(samples)
        file.write(tail)
    print(entries * copies)


main()
