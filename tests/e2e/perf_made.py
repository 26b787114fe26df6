# SPDX-License-Identifier: MIT
# Writes perf.data as the kernel and perf do, from Python: every layout that the tests want, and faults on demand.
# Layouts: include/uapi/linux/perf_event.h, tools/perf/Documentation/perf.data-file-format.txt.
import struct

IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM_ID, RAW, BRANCH_STACK, REGS_USER, STACK_USER = (1 << n for n in range(14))
IDENTIFIER = 1 << 16
HW_INDEX, COUNTERS = 1 << 17, 1 << 19
SAMPLE_ID_ALL = 1 << 18
EXCLUDE_USER, EXCLUDE_KERNEL, EXCLUDE_HV, PRECISE, EXCLUDE_HOST, EXCLUDE_GUEST = 1 << 4, 1 << 5, 1 << 6, 1 << 15, 1 << 19, 1 << 20
TRACEPOINT = 2
FIELDS = {"ip": IP, "tid": TID, "time": TIME, "addr": ADDR, "read": READ, "callchain": CALLCHAIN, "id": ID, "cpu": CPU,
          "period": PERIOD, "stream": STREAM_ID, "raw": RAW, "branches": BRANCH_STACK, "regs": REGS_USER, "stack": STACK_USER,
          "identifier": IDENTIFIER}
MMAP, LOST, COMM, EXIT, THROTTLE, UNTHROTTLE, FORK, SAMPLE, MMAP2, AUX, ITRACE_START, LOST_SAMPLES, SWITCH, SWITCH_CPU_WIDE = \
    1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15
HEADER_ATTR, TRACING_DATA, HEADER_BUILD_ID, FINISHED_ROUND, AUXTRACE_INFO, AUXTRACE, HEADER_FEATURE, COMPRESSED = 64, 66, 67, 68, 70, 71, 80, 81
MISPREDICTED, PREDICTED = 1, 2


def string(text):
    """With its length, padded, as perf writes strings into sections."""
    data = text.encode() + b"\0"
    data += b"\0" * (-len(data) % 64)
    return struct.pack("<I", len(data)) + data


def padded(data):
    return data + b"\0" * (-len(data) % 8)


def record(kind, body, misc=2):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


class Event:
    """The attributes of an event and how its records look."""

    def __init__(self, *fields, branch_type=0, read_format=0, ids=(), name="cycles:u", sample_id_all=True, regs=0, size=120, pmu=0, config=0, flags=0):
        self.type = 0
        for field in fields:
            self.type |= FIELDS[field]
        self.branch_type, self.read_format, self.ids, self.name, self.regs, self.size = branch_type, read_format, list(ids), name, regs, size
        self.flags = (SAMPLE_ID_ALL if sample_id_all else 0) | flags
        self.pmu, self.config = pmu, config

    def attr(self):
        data = struct.pack("<IIQQQQQIIQQQQIiQ", self.pmu, self.size, self.config, 1000, self.type, self.read_format, self.flags, 0, 0, 0, 0,
                           self.branch_type, self.regs, 4096, 0, 0)
        return data.ljust(self.size, b"\0")[:self.size]

    def trailer(self, pid, tid, time, cpu):
        if not self.flags & SAMPLE_ID_ALL:
            return b""
        out = b""
        if self.type & TID:
            out += struct.pack("<II", pid, tid)
        if self.type & TIME:
            out += struct.pack("<Q", time)
        if self.type & ID:
            out += struct.pack("<Q", self.ids[0])
        if self.type & STREAM_ID:
            out += struct.pack("<Q", 77)
        if self.type & CPU:
            out += struct.pack("<II", cpu, 0)
        if self.type & IDENTIFIER:
            out += struct.pack("<Q", self.ids[0])
        return out

    def read_values(self):
        """Whatever the format asks for; the numbers do not matter."""
        times = bin(self.read_format & 3).count("1")
        item = 1 + bool(self.read_format & 4) + bool(self.read_format & 16)
        if self.read_format & 8:
            return struct.pack("<Q", 3) + b"\x11" * 8 * (times + 3 * item)
        return b"\x11" * 8 * (times + item)

    def sample(self, pid=100, tid=100, time=1, cpu=0, ip=0x401000, branches=(), hw_index=5, counters=None, regs=None, stack=b"", used=None):
        """branches: (from, to, flags), newest first."""
        t, out = self.type, b""
        if t & IDENTIFIER:
            out += struct.pack("<Q", self.ids[0])
        if t & IP:
            out += struct.pack("<Q", ip)
        if t & TID:
            out += struct.pack("<II", pid, tid)
        if t & TIME:
            out += struct.pack("<Q", time)
        if t & ADDR:
            out += struct.pack("<Q", 0xdead)
        if t & ID:
            out += struct.pack("<Q", self.ids[0])
        if t & STREAM_ID:
            out += struct.pack("<Q", 77)
        if t & CPU:
            out += struct.pack("<II", cpu, 0)
        if t & PERIOD:
            out += struct.pack("<Q", 1000)
        if t & READ:
            out += self.read_values()
        if t & CALLCHAIN:
            out += struct.pack("<QQQQ", 3, 0xfffffffffffffe00, ip, 0x401001)
        if t & RAW:
            out += struct.pack("<I", 12) + b"raw bytes 12"
        if t & BRANCH_STACK:
            out += struct.pack("<Q", len(branches))
            if self.branch_type & HW_INDEX:
                out += struct.pack("<Q", hw_index)
            for entry in branches:
                out += struct.pack("<QQQ", *entry)
            if self.branch_type & COUNTERS:
                for value in counters or [0] * len(branches):
                    out += struct.pack("<Q", value)
        if t & REGS_USER:
            count = bin(self.regs).count("1")
            out += struct.pack("<Q", 2 if regs else 0) + (struct.pack("<%dQ" % count, *regs) if regs else b"")
        if t & STACK_USER:
            out += struct.pack("<Q", len(stack)) + stack + (struct.pack("<Q", len(stack) if used is None else used) if stack else b"")
        return record(SAMPLE, out + b"\xee" * 16)  # fields of the future behind those that are known

    def _with(self, kind, body, pid, tid, time, cpu, misc=2):
        return record(kind, padded(body) + self.trailer(pid, tid, time, cpu), misc)

    def comm(self, name, pid=100, tid=100, time=0, exec=False):
        return self._with(COMM, struct.pack("<II", pid, tid) + name.encode() + b"\0", pid, tid, time, 0, 2 | exec << 13)

    def mmap(self, start, length, offset, path, pid=100, time=0):
        return self._with(MMAP, struct.pack("<IIQQQ", pid, pid, start, length, offset) + path.encode() + b"\0", pid, pid, time, 0)

    def mmap2(self, start, length, offset, path, pid=100, time=0, build_id=b"", prot=5):
        if build_id:
            identity = struct.pack("<BBH", len(build_id), 0, 0) + build_id.ljust(20, b"\0")
        else:
            identity = struct.pack("<IIQQ", 8, 1, 1234, 0)
        body = struct.pack("<IIQQQ", pid, pid, start, length, offset) + identity + struct.pack("<II", prot, 2) + path.encode() + b"\0"
        return self._with(MMAP2, body, pid, pid, time, 0, 2 | bool(build_id) << 14)

    def fork(self, pid, tid, parent, parent_tid, time=0, made=False):
        """made: by perf, of a process that ran already (PERF_RECORD_MISC_FORK_EXEC)."""
        return self._with(FORK, struct.pack("<IIIIQ", pid, parent, tid, parent_tid, time), pid, tid, time, 0, 2 | made << 13)

    def exit(self, pid, tid, time=0):
        return self._with(EXIT, struct.pack("<IIIIQ", pid, 1, tid, 1, time), pid, tid, time, 0)

    def lost(self, count, time=0):
        return self._with(LOST, struct.pack("<QQ", 1, count), 0, 0, time, 0)

    def aux(self, offset, size, flags=0, pid=100, tid=100, time=0, cpu=0):
        """flags: 1 truncated."""
        return self._with(AUX, struct.pack("<QQQ", offset, size, flags), pid, tid, time, cpu)

    def itrace_start(self, pid=100, tid=100, time=0, cpu=0):
        return self._with(ITRACE_START, struct.pack("<II", pid, tid), pid, tid, time, cpu)

    def switch(self, out, pid=100, tid=100, time=0, cpu=0, preempt=False):
        return self._with(SWITCH, b"", pid, tid, time, cpu, 2 | out << 13 | preempt << 14)

    def lost_samples(self, count, time=0):
        return self._with(LOST_SAMPLES, struct.pack("<Q", count), 0, 0, time, 0)

    def throttle(self, pid=100, tid=100, time=0):
        return self._with(THROTTLE, struct.pack("<QQQ", time, 1, 1), pid, tid, time, 0)

    def switch_cpu_wide(self, out, other, pid=100, tid=100, time=0, cpu=0, preempt=False):
        """other: pid and tid of who runs next, or ran before."""
        return self._with(SWITCH_CPU_WIDE, struct.pack("<II", *other), pid, tid, time, cpu, 2 | out << 13 | preempt << 14)


def finished_round():
    return record(FINISHED_ROUND, b"", 0)


def auxtrace(data, offset=0, idx=0, tid=0, cpu=0):
    return record(AUXTRACE, struct.pack("<QQQIIiI", len(data), offset, 0, idx, tid, cpu, 0), 0) + data


PT_CONFIG = 0x402  # tsc, mtc off
PSB = bytes((2, 0x82)) * 8
AUX_PMU = 8


def auxtrace_info(kind, timed=True):
    """kind: 1 Intel PT, 2 BTS. The capture's clock is the processor's."""
    words = [AUX_PMU, 0, 1, 0, int(timed), 1 << 10 if timed else 0, 1 << 11, 0, 0, 1, 1 << 9, 0x3c000, 0, 0, 2, 0, 0]
    return record(AUXTRACE_INFO, struct.pack("<II", kind, 0) + struct.pack("<%dQ" % len(words), *words), 0)


def build_id_record(build_id, path):
    return record(HEADER_BUILD_ID, struct.pack("<i", -1) + build_id.ljust(20, b"\0") + struct.pack("<B3x", len(build_id)) +
                  padded(path.encode() + b"\0"), 2 | 1 << 15)


def file_mode(events, data, build_ids=(), features=True):
    """A whole file; data are its records."""
    head = 104
    ids = b"".join(struct.pack("<%dQ" % len(e.ids), *e.ids) for e in events)
    attr_size = max(e.size for e in events)
    attrs_at = head + len(ids)
    attrs, at = b"", head
    for e in events:
        attrs += e.attr().ljust(attr_size, b"\0") + struct.pack("<QQ", at, 8 * len(e.ids))
        at += 8 * len(e.ids)
    data_at = attrs_at + len(attrs)
    sections = {}
    if features:
        sections[5] = string("6.12.0")
        sections[4] = string("Linux 6.12.0")
        sections[8] = string("Test CPU")
        sections[11] = struct.pack("<I", 3) + string("perf") + string("record") + string("-b")
        description = struct.pack("<II", len(events), attr_size)
        for e in events:
            description += e.attr().ljust(attr_size, b"\0") + struct.pack("<I", len(e.ids)) + string(e.name) + struct.pack("<%dQ" % len(e.ids), *e.ids)
        sections[12] = description
        if build_ids:
            sections[2] = b"".join(build_id_record(*pair) for pair in build_ids)
    bits, tables, bodies = 0, b"", b""
    at = data_at + len(data) + 16 * len(sections)
    for number in sorted(sections):
        bits |= 1 << number
        tables += struct.pack("<QQ", at + len(bodies), len(sections[number]))
        bodies += sections[number]
    header = b"PERFILE2" + struct.pack("<QQQQQQQQ", head, attr_size + 16, attrs_at, len(attrs), data_at, len(data), 0, 0)
    return header + bits.to_bytes(32, "little") + ids + attrs + data + tables + bodies


def tracing_data(systems):
    """The formats of tracepoints. systems: (name, (event, number)...)."""
    def sized(data):
        return struct.pack("<Q", len(data)) + data

    out = b"\x17\x08\x44tracing" + b"0.6\0" + b"\0\x08" + struct.pack("<I", 4096)
    out += b"header_page\0" + sized(b"\tfield: u64 timestamp;\n") + b"header_event\0" + sized(b"# compressed entry header\n")
    out += struct.pack("<I", 1) + sized(b"name: function\nID: 1\nformat:\n") + struct.pack("<I", len(systems))
    for name, *events in systems:
        out += name.encode() + b"\0" + struct.pack("<I", len(events))
        for event, number in events:
            out += sized(b"name: %s\nID: %d\nformat:\n\tfield:int common_pid;\n\nprint fmt: \"x\"\n" % (event.encode(), number))
    return out + struct.pack("<IIQ", 0, 0, 0)


def tracing_data_record(data):
    return record(TRACING_DATA, struct.pack("<I", len(data)), 0) + padded(data)


def pipe_mode_undescribed(events, data):
    """As perf before 4.17, which tells no names in pipes."""
    out = b"PERFILE2" + struct.pack("<Q", 16)
    return out + b"".join(record(HEADER_ATTR, e.attr() + struct.pack("<%dQ" % len(e.ids), *e.ids), 0) for e in events) + data


def pipe_mode(events, data, build_ids=()):
    out = b"PERFILE2" + struct.pack("<Q", 16)
    for e in events:
        out += record(HEADER_ATTR, e.attr() + struct.pack("<%dQ" % len(e.ids), *e.ids), 0)
    size = events[0].size
    description = struct.pack("<II", len(events), size)
    for e in events:
        description += e.attr() + struct.pack("<I", len(e.ids)) + string(e.name) + struct.pack("<%dQ" % len(e.ids), *e.ids)
    out += record(HEADER_FEATURE, struct.pack("<Q", 12) + description, 0)
    out += record(HEADER_FEATURE, struct.pack("<Q", 8) + string("Test CPU"), 0)
    return out + data + b"".join(build_id_record(*pair) for pair in build_ids)


def compressed(chunks):
    """Pieces of one zstd stream as records."""
    return b"".join(record(COMPRESSED, chunk, 0) for chunk in chunks)
