#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Programs made of random instructions, the same for the same seed: every form that touches flags, operands of all sorts, all sixteen
# registers, string instructions, x87 to AVX-512, branches with flags live across them, faults with a handler that looks at
# everything. A program writes its registers, flags and vector state at many places to stdout, so that two ways of running it can be
# compared byte for byte. It has no library, does not depend on addresses of the stack, and does not look at flags that the
# architecture leaves undefined, nor at x87's last instruction and operand pointers.
#
# engine_generate.py SEED FILE      makes the program FILE (and FILE.s)
# FILE                              runs once and writes what it saw
# FILE MICROSECONDS COUNT           the same again and again under an alarm, until COUNT alarms came; each round must come out as the first
import os
import random
import subprocess
import sys

FLAGS = {"C": 1, "P": 4, "A": 0x10, "Z": 0x40, "S": 0x80, "O": 0x800}
ALL = set(FLAGS)
FIXED = 0x202 | 0x400 # reserved, interrupts, direction: always looked at
CONDITIONS = {"o": "O", "no": "O", "b": "C", "ae": "C", "e": "Z", "ne": "Z", "be": "CZ", "a": "CZ", "s": "S", "ns": "S", "p": "P", "np": "P",
              "l": "SO", "ge": "SO", "le": "SOZ", "g": "SOZ"}
REGS = ["rax", "rcx", "rdx", "rbx", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"]
OLD = REGS[:7]
NARROW = {"rax": "a", "rcx": "c", "rdx": "d", "rbx": "b"}
SUFFIX = {8: "b", 16: "w", 32: "l", 64: "q"}
MEM = 4096 # bytes of scratch memory
# Text and data: near, data far above and far below (rip-relative displacements near their limits), high.
LAYOUTS = [(0x401000, 0x601000, True), (0x401000, 0x7f001000, True), (0x7e001000, 0x10001000, True), (0x555555555000, 0x555555757000, False),
           (0x7e0000001000, 0x7e0070001000, False)]


def cpu_features():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("flags"):
                return set(line.split(":")[1].split())
    return set()


def register(name, size):
    if size == 64:
        return "%" + name
    if name[1:].isdigit():
        return "%" + name + {32: "d", 16: "w", 8: "b"}[size]
    if size == 32:
        return "%e" + name[1:]
    if size == 16:
        return "%" + name[1:]
    return "%" + (NARROW[name] + "l" if name in NARROW else name[1:] + "l")


class Program:
    def __init__(self, seed, cpu=None, functions=6, fuel=4):
        self.random = random.Random(seed)
        self.cpu = cpu_features() if cpu is None else cpu
        self.text, self.data, self.low = self.random.choice(LAYOUTS)
        self.gs = self.random.random() < 0.25
        self.faults = self.random.random() < 0.4
        self.lines, self.tables, self.labels = [], [], 0
        self.undefined = set()
        self.functions, self.fuel = functions, fuel
        self.counters = 0
        self.current = 0

    # Words -------------------------------------------------------------------------------------------------------------

    def chance(self, p):
        return self.random.random() < p

    def pick(self, *of):
        return self.random.choice(of)

    def put(self, *lines):
        """Adds instructions; {m} becomes a memory operand that is set up just before."""
        for line in lines:
            if "{m}" in line:
                line = line.replace("{m}", self.memory())
            self.lines.append("\t" + line)

    def label(self):
        self.labels += 1
        return ".L%d" % self.labels

    def place(self, label):
        self.lines.append(label + ":")

    def op(self, line, defined="", undefined="", maybe=False):
        """An instruction and what it does to flags; maybe: with a count of zero, nothing."""
        self.put(line)
        if not maybe:
            self.undefined -= set(defined)
        self.undefined |= set(undefined)

    def mask(self):
        return FIXED | sum(FLAGS[f] for f in ALL - self.undefined)

    def size(self):
        return self.pick(8, 16, 32, 64, 32, 64)

    def reg(self, *but):
        return self.random.choice([r for r in REGS if r not in but])

    def imm(self, size):
        bits = self.pick(8, min(size, 32))
        value = self.random.getrandbits(bits) - (1 << (bits - 1))
        return self.pick(value, value, 0, 1, -1)

    def at(self, align=1):
        return self.random.randrange(64, MEM - 512) // align * align

    def memory(self, old=False):
        """A memory operand; its registers are set up, so there is one in an instruction. old: none that needs a REX prefix."""
        off = self.at()
        regs = OLD if old else REGS
        base, index = self.random.choice(regs), self.random.choice(regs)
        kind = self.random.random()
        if kind < 0.40:
            return "mem+%d(%%rip)" % off
        if kind < 0.46:
            return ("mem+%d" if self.low else "mem+%d(%%rip)") % off
        if kind < 0.50:
            return "%%fs:%d" % off
        if kind < 0.54:
            return ("%%gs:%d" if self.gs else "%%fs:%d") % off
        if kind < 0.58:
            self.put("movq $%d, %%%s" % (off, base))
            return "%%%s:(%%%s)" % (self.pick("fs", "gs") if self.gs else "fs", base)
        if kind < 0.63:
            return "%d(%%rsp)" % self.random.randrange(64, 300) # in the function's frame, above what was pushed
        disp = self.pick(0, self.random.randrange(-128, 128), self.random.randrange(-5000, 5000))
        self.put("leaq mem+%d(%%rip), %%%s" % (off, base) if self.chance(0.7) else "movabsq $mem+%d, %%%s" % (off, base))
        if disp:
            self.put("leaq %d(%%%s), %%%s" % (-disp, base, base))
        shown = "" if disp == 0 else str(disp)
        if self.low and kind < 0.66:
            return "%s(%s)" % (shown, register(base, 32))
        if kind < 0.8 or base == index:
            return "%s(%%%s)" % (shown, base)
        scale, step = self.pick(1, 2, 4, 8), self.random.randrange(0, 16) * 8
        self.put("movl $%d, %s" % (step, register(index, 32)))
        return "%s(%%%s,%%%s,%d)" % (shown, base, index, scale)

    def operand(self, size, high=True):
        """A register operand. High bytes cannot be named beside a REX prefix: (operand, needs an old partner)."""
        if size == 8 and high and self.chance(0.3):
            return "%" + self.pick("ah", "bh", "ch", "dh"), True
        return register(self.reg(), size), False

    def pair(self, size):
        """Two operands, at most one of them memory, in both directions: (source, destination, destination is memory)."""
        one, old = self.operand(size)
        if self.chance(0.5):
            memory = self.memory(old=old)
            return (memory, one, False) if self.chance(0.5) else (one, memory, True)
        if old:
            return one, "%" + self.pick("al", "cl", "dl", "bl", "ah", "ch", "dh", "bh"), False
        return one, register(self.reg(), size), False

    def one_operand(self, size):
        return self.memory() if self.chance(0.5) else self.operand(size)[0]

    def define_flags(self):
        a, b = self.reg(), self.reg()
        self.op("%s %%%s, %%%s" % (self.pick("addq", "subq", "cmpq"), a, b), ALL)

    def condition(self):
        known = [c for c, f in CONDITIONS.items() if not set(f) & self.undefined]
        if not known:
            self.define_flags()
            known = list(CONDITIONS)
        return self.random.choice(known)

    def checkpoint(self):
        self.put("movl $0x%x, cp_mask(%%rip)" % self.mask(), "call checkpoint")

    # Straight code -----------------------------------------------------------------------------------------------------

    def alu(self):
        name, size = self.pick("add", "adc", "sub", "sbb", "cmp", "and", "or", "xor", "test", "cmp", "test"), self.size()
        if name in ("adc", "sbb") and "C" in self.undefined:
            self.define_flags()
        undefined = "A" if name in ("and", "or", "xor", "test") else ""
        if self.chance(0.35):
            target = self.one_operand(size)
            self.op("%s%s $%d, %s" % (name, SUFFIX[size], self.imm(size), target), ALL - set(undefined), undefined)
            return
        source, target, memory = self.pair(size)
        if memory and name not in ("cmp", "test") and self.chance(0.15):
            target = "mem+%d(%%rip)" % self.at(8)
            self.put("lock")
        self.op("%s%s %s, %s" % (name, SUFFIX[size], source, target), ALL - set(undefined), undefined)

    def unary(self):
        name, size = self.pick("inc", "dec", "neg", "not"), self.size()
        lock = "lock " if self.chance(0.1) else ""
        target = "mem+%d(%%rip)" % self.at(8) if lock else self.one_operand(size)
        self.op("%s%s%s %s" % (lock, name, SUFFIX[size], target), {"not": "", "neg": ALL}.get(name, "PAZSO"))

    def shift(self):
        name, size = self.pick("rol", "ror", "rcl", "rcr", "shl", "shr", "sar"), self.size()
        if name in ("rcl", "rcr") and "C" in self.undefined:
            self.define_flags()
        rotate = name[0] == "r"
        defined = "C" if rotate else "CPZS"
        count = self.pick(0, 1, 2, 3, 7, 31, 32, 33, 63, 64, self.random.randrange(256))
        effective = count & (63 if size == 64 else 31)
        how = self.pick("one", "imm", "cl", "random")
        target = self.one_operand(size)
        if how == "one":
            self.op("%s%s %s" % (name, SUFFIX[size], target), defined + "O", "" if rotate else "A")
            return
        # Undefined: OF unless the count is one, AF, CF of narrow shifts by their width and more.
        undefined = ("O" if effective != 1 or how == "random" else "") + ("" if rotate else "A")
        if not rotate and size < 32:
            undefined += "C"
        if how == "random":
            self.put("%s%s %%cl, %s" % (name, SUFFIX[size], target))
            self.undefined |= set(undefined)
            return
        if how == "cl" and "rcx" not in target and "%ecx" not in target and target not in ("%cl", "%ch", "%cx"):
            self.put("movb $%d, %%cl" % count)
            line = "%s%s %%cl, %s" % (name, SUFFIX[size], target)
        else:
            line = "%s%s $%d, %s" % (name, SUFFIX[size], count, target)
        if effective == 0:
            self.put(line)
            return
        self.op(line, defined + ("O" if effective == 1 else ""), undefined, maybe=rotate and size < 32)

    def double_shift(self):
        name, size, count = self.pick("shld", "shrd"), self.pick(32, 64), self.pick(0, 1, 5, 31, self.random.randrange(32))
        target = self.one_operand(size)
        source = register(self.reg("rcx"), size)
        by = "$%d" % count
        if self.chance(0.5) and "rcx" not in target and "ecx" not in target:
            self.put("movb $%d, %%cl" % count)
            by = "%cl"
        line = "%s%s %s, %s, %s" % (name, SUFFIX[size], by, source, target)
        if count == 0:
            self.put(line)
        else:
            self.op(line, "CPZS" + ("O" if count == 1 else ""), "A" if count == 1 else "AO")

    def bit_test(self):
        name, size = self.pick("bt", "bts", "btr", "btc"), self.pick(16, 32, 64)
        if self.chance(0.4):
            line = "%s%s $%d, %s" % (name, SUFFIX[size], self.random.randrange(256), self.one_operand(size))
        elif self.chance(0.5):
            line = "%s%s %s, %s" % (name, SUFFIX[size], register(self.reg(), size), register(self.reg(), size))
        else:
            index = self.reg()
            self.put("movq $%d, %%%s" % (self.random.randrange(-400, 400), index))
            line = "%s%s %s, mem+%d(%%rip)" % (name, SUFFIX[size], register(index, size), self.at())
        self.op(line, "C", "OSAP")

    def multiply(self):
        size = self.size()
        if self.chance(0.5):
            self.op("%s%s %s" % (self.pick("mul", "imul"), SUFFIX[size], self.one_operand(size)), "CO", "SZAP")
            return
        size = self.pick(16, 32, 64)
        target = register(self.reg(), size)
        if self.chance(0.5):
            source = self.memory() if self.chance(0.5) else register(self.reg(), size)
            self.op("imul%s %s, %s" % (SUFFIX[size], source, target), "CO", "SZAP")
            return
        source = self.memory() if self.chance(0.5) else register(self.reg(), size)
        self.op("imul%s $%d, %s, %s" % (SUFFIX[size], self.imm(size), source, target), "CO", "SZAP")

    def divide(self):
        size = self.pick(16, 32, 64)
        divisor = self.reg("rax", "rdx")
        self.put("movq $%d, %%%s" % (self.random.randrange(1, 30000), divisor))
        if self.chance(0.4):
            self.put("movq %%%s, mem+%d(%%rip)" % (divisor, 128))
            divisor_text = "mem+128(%rip)"
        else:
            divisor_text = register(divisor, size)
        signed = self.chance(0.5)
        self.put({16: "cwtd", 32: "cltd", 64: "cqto"}[size] if signed else "movl $0, %edx")
        self.op("%s%s %s" % ("idiv" if signed else "div", SUFFIX[size], divisor_text), "", ALL)

    def exchange(self):
        size = self.size()
        name = self.pick("cmpxchg", "xadd", "xchg", "cmpxchg")
        lock = self.chance(0.4) and name != "xchg"
        source = register(self.reg(), size)
        if self.chance(0.6):
            at = "mem+%d(%%rip)" % self.at(8)
            if name == "cmpxchg" and self.chance(0.5):
                self.put("mov%s %s, %s" % (SUFFIX[size], at, register("rax", size)))
            self.put("lock" if lock else "nop")
            target = at
        else:
            target = register(self.reg(), size)
        self.op("%s%s %s, %s" % (name, SUFFIX[size], source, target), "" if name == "xchg" else ALL)

    def exchange_double(self):
        at = self.at(16)
        if self.chance(0.5):
            self.put("movq mem+%d(%%rip), %%rax" % at, "movq mem+%d(%%rip), %%rdx" % (at + 8))
        self.op("%scmpxchg%s mem+%d(%%rip)" % (self.pick("", "lock "), self.pick("8b", "16b"), at), "Z")

    def move(self):
        size = self.size()
        kind = self.random.randrange(12)
        a, b = self.reg(), self.reg()
        if kind == 0:
            self.put("movabsq $0x%x, %%%s" % (self.random.getrandbits(64), a))
        elif kind == 1:
            self.put("mov%s $%d, %s" % (SUFFIX[size], self.imm(size), self.one_operand(size)))
        elif kind == 2:
            self.put("mov%s %s, %s" % ((SUFFIX[size],) + self.pair(size)[:2]))
        elif kind == 3:
            wide, narrow = self.pick((16, 8), (32, 8), (64, 8), (32, 16), (64, 16))
            source = self.memory() if self.chance(0.5) else register(b, narrow)
            self.put("mov%s%s%s %s, %s" % (self.pick("z", "s"), SUFFIX[narrow], SUFFIX[wide], source, register(a, wide)))
        elif kind == 4:
            self.put("movslq %s, %%%s" % (self.memory() if self.chance(0.5) else register(b, 32), a))
        elif kind == 5:
            wide = self.pick(32, 64)
            self.put("bswap%s %s" % (SUFFIX[wide], register(a, wide)))
        elif kind == 6:
            self.put(self.pick("cbtw", "cwtl", "cltq", "cwtd", "cltd", "cqto"))
        elif kind == 7:
            wide = self.pick(16, 32, 64)
            self.put("lea%s %s, %s" % (SUFFIX[wide], self.pick("mem+%d(%%rip)" % self.at(), "%d(%%%s,%%%s,%d)" % (
                self.imm(32), a, b, self.pick(1, 2, 4, 8)), "-8(%rsp)", "0(,%%%s,8)" % b), register(self.reg(), wide)))
        elif kind == 8:
            self.put("leaq mem+%d(%%rip), %%rbx" % self.random.randrange(0, MEM - 256), "xlatb")
        elif kind == 9:
            size = self.pick(16, 32, 64)
            if "movbe" in self.cpu:
                source, target = (self.memory(), register(a, size)) if self.chance(0.5) else (register(a, size), self.memory())
                self.put("movbe%s %s, %s" % (SUFFIX[size], source, target))
        elif kind == 10:
            self.put("xchg%s %s, %s" % (SUFFIX[size], register(a, size), register(b, size)))
        else:
            self.put("movabs%s %%%s, mem+%d" % (SUFFIX[size], {8: "al", 16: "ax", 32: "eax", 64: "rax"}[size], self.at()))

    def flag_moves(self):
        kind = self.random.randrange(7)
        if kind == 0:
            self.put("lahf", "movb $0x%x, %%dl" % (self.mask() & 0xff))
            self.op("andb %dl, %ah", ALL - {"A"}, "A")
        elif kind == 1:
            self.put("movb $0x%x, %%ah" % self.random.getrandbits(8))
            self.op("sahf", "SZAPC")
        elif kind == 2:
            mask = self.mask()
            self.put("pushfq")
            self.op("andq $0x%x, (%%rsp)" % mask, ALL - {"A"}, "A")
            self.put("popq %" + self.reg())
        elif kind == 3:
            self.put("pushq $0x%x" % (0x202 | self.random.getrandbits(12) & sum(FLAGS.values())))
            self.op("popfq", ALL)
        elif kind == 4:
            self.op(self.pick("clc", "stc"), "C")
        elif kind == 5 and "C" not in self.undefined:
            self.put("cmc")
        else:
            for _ in range(self.random.randrange(1, 4)):
                condition = self.condition()
                if self.chance(0.5):
                    self.put("set%s %s" % (condition, self.one_operand(8)))
                else:
                    size = self.pick(16, 32, 64)
                    source = self.memory() if self.chance(0.4) else register(self.reg(), size)
                    # Setting up an operand leaves flags alone.
                    self.put("cmov%s%s %s, %s" % (condition, SUFFIX[size], source, register(self.reg(), size)))

    def bits(self):
        size = self.pick(32, 64)
        target, first = register(self.reg(), size), register(self.reg(), size)
        source = self.memory() if self.chance(0.4) else register(self.reg(), size)
        s = SUFFIX[size]
        table = [("popcnt%s %s, %s" % (s, source, target), ALL, "", "popcnt"), ("tzcnt%s %s, %s" % (s, source, target), "CZ", "OSPA", "bmi1"),
                 ("lzcnt%s %s, %s" % (s, source, target), "CZ", "OSPA", "abm"),
                 ("andn%s %s, %s, %s" % (s, source, first, target), "SZOC", "AP", "bmi1"),
                 ("blsr%s %s, %s" % (s, source, target), "SZOC", "AP", "bmi1"), ("blsi%s %s, %s" % (s, source, target), "SZOC", "AP", "bmi1"),
                 ("blsmsk%s %s, %s" % (s, source, target), "SZOC", "AP", "bmi1"),
                 ("bextr%s %s, %s, %s" % (s, first, source, target), "ZCO", "ASP", "bmi1"),
                 ("bzhi%s %s, %s, %s" % (s, first, source, target), "ZSCO", "AP", "bmi2"),
                 ("pdep%s %s, %s, %s" % (s, source, first, target), "", "", "bmi2"), ("pext%s %s, %s, %s" % (s, source, first, target), "", "", "bmi2"),
                 ("rorx%s $%d, %s, %s" % (s, self.random.randrange(64), source, target), "", "", "bmi2"),
                 ("%s%s %s, %s, %s" % (self.pick("shlx", "shrx", "sarx"), s, first, source, target), "", "", "bmi2"),
                 ("mulx%s %s, %s, %s" % (s, source, register("r11", size), register("r9", size)), "", "", "bmi2"),
                 ("crc32%s %s, %s" % (s, source, target), "", "", "sse4_2"), ("bsf%s %s, %s" % (s, source, target), "Z", "COSAP", "fpu"),
                 ("bsr%s %s, %s" % (s, source, target), "Z", "COSAP", "fpu")]
        if not {"C", "O"} & self.undefined:
            table += [("adcx%s %s, %s" % (s, source, target), "C", "", "adx"), ("adox%s %s, %s" % (s, source, target), "O", "", "adx")] * 3
        line, defined, undefined, needs = self.random.choice(table)
        if needs in self.cpu:
            self.op(line, defined, undefined)

    def string(self):
        name, suffix, count = self.pick("movs", "stos", "lods", "cmps", "scas"), self.pick("b", "w", "l", "q"), self.pick(0, 1, 2, 5, 16, 17)
        back, prefix = self.chance(0.3), self.pick("", "rep", "rep", "rep")
        if name in ("cmps", "scas") and prefix:
            prefix = self.pick("repe", "repne")
        source, target = self.random.randrange(256, 1024), self.random.randrange(256, 1024)
        self.put("leaq mem+%d(%%rip), %%rsi" % source, "leaq mem+%d(%%rip), %%rdi" % target, "movl $%d, %%ecx" % count)
        if name == "cmps" and self.chance(0.4):
            self.put("movq %rsi, %rdi") # equal all along
        if back:
            self.put("std")
        line = "%s %s%s" % (prefix, name, suffix)
        if name in ("cmps", "scas"):
            self.op(line, "" if prefix and count == 0 else ALL)
        else:
            self.put(line)
        if back:
            self.put("cld")

    def stack(self):
        kind = self.random.randrange(10)
        a, b = self.reg(), self.reg()
        if kind == 0:
            self.put("pushq %" + a, "pushq %" + b, "popq %" + self.reg(), "popq %" + self.reg())
        elif kind == 1:
            self.put("pushq {m}", "popq mem+%d(%%rip)" % self.at(), "pushq mem+%d(%%rip)" % self.at(), "popq {m}")
        elif kind == 2:
            self.put("pushq $%d" % self.imm(32), "popq %" + a)
        elif kind == 3:
            self.put("pushw %s" % register(a, 16), "pushw $%d" % self.imm(16), "pop_two %s, %s" % (register(b, 16), register(self.reg(), 16)))
        elif kind == 4:
            self.put("pushq %rsp", "popq %" + a, "pushq (%rsp)", "popq %" + b)
        elif kind == 5:
            self.put("pushq %" + a, "pushq 8(%rsp)", "popq 8(%rsp)", "popq %" + a)
        elif kind == 6:
            self.put("pushq %rbp", "movq %rsp, %rbp", "leaq -64(%rsp), %rsp", "movq %%%s, -64(%%rbp)" % a, "leave")
        elif kind == 7:
            self.put("enter $%d, $0" % self.pick(0, 16, 128), "movq %%%s, -8(%%rsp)" % a, "leave")
        elif kind == 8:
            self.put("movq %rsp, %rbx", "pushq %rbx", "popq %rsp", "movq %%%s, -16(%%rsp)" % a, "movq -16(%rsp), %" + b)
        else:
            self.put("pushq %" + a, "xchgq %%%s, (%%rsp)" % b, "popq %" + self.reg())

    def x87(self):
        at, other = "mem+%d(%%rip)" % self.at(), "{m}"
        table = ["fld1", "fldz", "fldpi", "fldl " + at, "flds " + other, "fildl " + at, "fildq " + other, "fstl " + at, "fstpl " + other, "fistpl " + at,
                 "fxch", "fxch %st(3)", "faddp", "fmulp", "fadd %st(1)", "fsubl " + at, "fdivs " + other, "fsqrt", "fchs", "fabs", "fnstcw " + at,
                 "fnstsw %ax", "fnstsw " + other, "fninit", "fstpt " + at, "fldt " + other, "ffree %st(2)", "fincstp", "frndint", "fprem", "emms"]
        if not {"C", "Z", "P"} & self.undefined:
            table += ["fcmov%s %%st(1), %%st" % c for c in ("b", "e", "be", "u", "nb", "ne", "nbe", "nu")]
        for line in self.random.sample(table, 4):
            self.put(line)
        if self.chance(0.3):
            self.op(self.pick("fcomi", "fucomi") + " %st(1), %st", "ZPC", "OSA")

    def xmm(self, name="xmm", top=16):
        return "%%%s%d" % (name, self.random.randrange(top))

    def sse(self):
        m, m16 = "{m}", "mem+%d(%%rip)" % self.at(16)
        x, y, r = self.xmm(), self.xmm(), self.reg()
        table = ["movdqu %s, %s" % (m, x), "movups %s, %s" % (x, m), "movaps %s, %s" % (m16, x), "movdqa %s, %s" % (x, m16), "addpd %s, %s" % (m16, x),
                 "mulps %s, %s" % (y, x), "paddq %s, %s" % (m16, x), "pxor %s, %s" % (y, x), "pshufd $0x%x, %s, %s" % (self.random.randrange(256), m16, x),
                 "shufps $0x1b, %s, %s" % (m16, x), "palignr $5, %s, %s" % (m16, x), "pmovmskb %s, %s" % (x, register(r, 32)), "movq %s, %%%s" % (x, r),
                 "movd %s, %s" % (register(r, 32), x), "movq %%%s, %s" % (r, x), "cvtsi2sdq %s, %s" % (m, x), "cvttsd2siq %s, %%%s" % (m, r),
                 "cvtsi2ssl %s, %s" % (register(r, 32), x), "sqrtsd %s, %s" % (m, x), "pinsrq $1, %s, %s" % (m, x), "pextrw $3, %s, %s" % (x, m),
                 "pextrq $1, %s, %%%s" % (x, r), "movsd %s, %s" % (m, x), "movss %s, %s" % (x, m), "movntdq %s, %s" % (x, m16), "movhps %s, %s" % (m, x),
                 "pshufb %s, %s" % (m16, x), "pmulld %s, %s" % (y, x), "cmppd $2, %s, %s" % (m16, x), "roundsd $1, %s, %s" % (m, x),
                 "stmxcsr " + m, "movnti %%%s, %s" % (r, m), "movq2dq %%mm%d, %s" % (self.random.randrange(8), x), "paddb %s, %%mm2" % m,
                 "pinsrw $2, %s, %s" % (register(r, 32), x)]
        for line in self.random.sample(table, 3):
            self.put(line)
        kind = self.random.randrange(8)
        if kind == 0:
            self.op("%s %s, %s" % (self.pick("ucomisd", "comisd", "ucomiss", "comiss"), "{m}", x), ALL)
        elif kind == 1:
            self.op("ptest %s, %s" % (m16, x), ALL)
        elif kind == 2:
            self.op("pcmpistri $0x%x, %s, %s" % (self.pick(0, 8, 0x0c, 0x18, 0x40), m16, x), ALL)
        elif kind == 3:
            self.put("movl $%d, %%eax" % self.random.randrange(20), "movl $%d, %%edx" % self.random.randrange(20))
            self.op("pcmpestri $0x0c, %s, %s" % (m16, x), ALL)
        elif kind == 4:
            self.put("leaq mem+%d(%%rip), %%rdi" % self.at(), "maskmovdqu %s, %s" % (x, y))
        elif kind == 5 and "aes" in self.cpu and "pclmulqdq" in self.cpu:
            self.put("aesenc %s, %s" % (m16, x), "pclmulqdq $1, %s, %s" % (m16, y))

    def avx(self):
        if "avx2" not in self.cpu:
            return
        m, x, y, z = "{m}", self.xmm("ymm"), self.xmm("ymm"), self.xmm("ymm")
        table = ["vaddpd %s, %s, %s" % (m, y, x), "vpxor %s, %s, %s" % (z, y, x), "vmovdqu %s, %s" % (m, x), "vmovups %s, %s" % (x, m),
                 "vpshufd $0x4e, %s, %s" % (m, x), "vpermq $0x1b, %s, %s" % (m, x), "vbroadcastsd %s, %s" % (m, x), "vinserti128 $1, %s, %s, %s" % (m, y, x),
                 "vextracti128 $1, %s, %s" % (x, m), "vpmovmskb %s, %s" % (x, register(self.reg(), 32)), "vpblendvb %s, %s, %s, %s" % (z, m, y, x),
                 "vpmaskmovq %s, %s, %s" % (m, y, x), "vcvtsi2sdq %s, %s, %s" % (m, self.xmm(), self.xmm()), "vpsllvq %s, %s, %s" % (m, y, x), "vzeroupper"]
        if "fma" in self.cpu:
            table.append("vfmadd231pd %s, %s, %s" % (m, y, x))
        for line in self.random.sample(table, 3):
            self.put(line)
        if self.chance(0.2):
            self.op("%s %s, %s" % (self.pick("vptest", "vtestpd"), "{m}", x), ALL)
        if self.chance(0.2):
            base = self.reg()
            self.put("vpxor %ymm3, %ymm3, %ymm3", "vpcmpeqd %ymm4, %ymm4, %ymm4", "leaq mem+%d(%%rip), %%%s" % (self.at(), base),
                     "vpgatherdd %%ymm4, 8(%%%s,%%ymm3,4), %%ymm5" % base)

    def avx512(self):
        if not {"avx512f", "avx512bw", "avx512vl", "avx512dq"} <= self.cpu:
            return
        m, x, y = "{m}", self.xmm("zmm", 32), self.xmm("zmm", 32)
        k, j = self.random.randrange(1, 8), self.random.randrange(1, 8)
        table = ["vaddpd %s, %s, %s{%%k%d}" % (m, y, x, k), "vmovdqu64 %s, %s{%%k%d}{z}" % (m, x, k), "vmovdqu8 %s, %s" % (x, m),
                 "vpternlogq $0x96, %s, %s, %s" % (m, y, x), "vpaddd (%%rsp){1to16}, %s, %s" % (y, x), "vpcmpud $1, %s, %s, %%k%d" % (m, y, k),
                 "kmovq %%k%d, %%%s" % (k, self.reg()), "kmovd %s, %%k%d" % (register(self.reg(), 32), k), "kandq %%k%d, %%k%d, %%k%d" % (k, j, j),
                 "kmovw mem+%d(%%rip), %%k%d" % (self.at(), k), "vpermt2d %s, %s, %s" % (m, y, x), "vpbroadcastq %%%s, %s" % (self.reg(), x),
                 "vmulpd mem+%d(%%rip){1to8}, %s, %s" % (self.at(), y, x), "vshufi64x2 $0x1b, %s, %s, %s" % (m, y, x),
                 "vpcompressd %s, mem+%d(%%rip){%%k%d}" % (x, self.at(), k)]
        for line in self.random.sample(table, 3):
            self.put(line)
        if self.chance(0.3):
            self.op("%s %%k%d, %%k%d" % (self.pick("kortestw", "kortestq", "ktestb", "ktestq"), k, j), ALL)

    def nothing(self):
        self.put(self.pick("nop", "pause", "endbr64", "nopw 0x1234(%rax,%rax,1)", "nopl (%r11)", "data16 nop", "mfence", "lfence", "prefetcht0 mem(%rip)",
                           ".byte 0xf3, 0x48, 0x90", "nopq 8(%r15,%r9,2)", ".byte 0x66, 0x66, 0x90", "clflush mem(%rip)"))

    def bases(self):
        if "fsgsbase" not in self.cpu:
            return
        seg = self.pick("fs", "gs") if self.gs else "fs"
        a, b = self.reg(), self.reg()
        if a == b:
            self.put("rd%sbase %%%s" % (seg, a))
            return
        self.put("rd%sbase %%%s" % (seg, a), "leaq 64(%%%s), %%%s" % (a, b), "wr%sbase %%%s" % (seg, b), "movq %%%s:8, %%%s" % (seg, b),
                 "wr%sbase %%%s" % (seg, a))

    def system_call(self):
        self.put("movl $%d, %%eax" % self.pick(0x5000, 0x12345, -1))
        mask = self.mask()
        self.put("syscall")
        self.put("movl $0x%x, %%eax" % mask)
        self.op("andl %eax, %r11d", ALL - {"A"}, "A")

    # Control -----------------------------------------------------------------------------------------------------------

    def jump(self, condition, label):
        """A conditional jump in one of its encodings."""
        prefix = self.pick("", "", "", "{disp32} ", "{disp32} ")
        if self.chance(0.05):
            prefix = self.pick("cs ", "ds ", "rex.w ")
        self.put("%sj%s %s" % (prefix, condition, label))

    def branch(self, depth):
        """One or two conditional jumps over code, flags live on both ways."""
        over = self.label()
        joined = set()
        for _ in range(self.pick(1, 1, 2, 3)):
            condition = self.condition()
            self.jump(condition, over)
            joined |= self.undefined
            if self.chance(0.3):
                self.op(self.pick("incl", "decl") + " " + register(self.reg(), 32), "PAZSO")
            elif self.chance(0.3):
                self.nothing()
        self.block(self.random.randrange(1, 5), depth + 1)
        if self.chance(0.4):
            beyond = self.label()
            after = set(self.undefined)
            self.put("%sjmp %s" % (self.pick("", "{disp32} "), beyond))
            self.place(over)
            self.undefined = joined
            self.block(self.random.randrange(1, 4), depth + 1)
            self.undefined |= after
            self.place(beyond)
        else:
            self.undefined |= joined
            self.place(over)

    def counter(self):
        self.counters += 1
        return "counters+%d(%%rip)" % (8 * (self.counters - 1))

    def loop(self, depth):
        """A backward branch, its count in memory, in rcx, or in a register that inc or dec keeps from CF."""
        head, count = self.label(), self.random.randrange(2, 6)
        kind = self.random.randrange(5)
        if kind == 0: # memory
            at = self.counter()
            self.put("movl $%d, %s" % (count, at))
            self.define_flags()
            self.place(head)
            begin = len(self.lines)
            self.block(self.random.randrange(2, 6), depth + 1)
            self.op("subl $1, " + at, ALL)
            # A call in the body may come here again and leave the count at its end.
            calls = any("call" in line and "checkpoint" not in line for line in self.lines[begin:])
            self.jump("g" if calls else self.pick("ne", "a", "g"), head)
        elif kind == 1: # saved rcx, loop; the flags of the body arrive at the head
            self.put("movl $%d, %%ecx" % count)
            self.op("cmpq %%%s, %%%s" % (self.reg(), self.reg()), ALL)
            self.place(head)
            self.put("pushq %rcx")
            self.block(self.random.randrange(1, 4), depth + 1, short=True)
            if self.undefined:
                self.define_flags()
            self.put("popq %rcx")
            self.far_loop(self.pick("loop", "loopne", "loope", "addr32 loop"), head)
        elif kind == 2: # adc chain: dec keeps CF
            self.put("leaq mem+%d(%%rip), %%rsi" % self.at(), "leaq mem+%d(%%rip), %%rdi" % self.at(), "movl $%d, %%edx" % count)
            self.op("clc", "C")
            self.place(head)
            self.put("movq (%rsi), %rax", "adcq (%rdi), %rax", "movq %rax, (%rdi)", "leaq 8(%rsi), %rsi", "leaq 8(%rdi), %rdi", "decl %edx")
            self.undefined = set()
            self.jump("ne", head)
        elif kind == 3: # two exits
            at, out = self.counter(), self.label()
            self.put("movl $%d, %s" % (count, at))
            self.define_flags()
            self.place(head)
            self.block(self.random.randrange(1, 4), depth + 1)
            if self.undefined:
                self.define_flags()
            self.jump(self.condition(), out)
            self.op("decl " + at, "PAZSO")
            self.jump("ns", head)
            self.place(out)
        else: # the test at the top, jmp back
            at, out = self.counter(), self.label()
            self.put("movl $%d, %s" % (count, at))
            self.place(head)
            self.op("subl $1, " + at, ALL)
            self.jump(self.pick("s", "l"), out)
            self.block(self.random.randrange(1, 4), depth + 1)
            self.put("jmp " + head)
            self.place(out)
            self.undefined = set()

    def far_loop(self, name, head):
        """loop has a displacement of one byte."""
        back, out = self.label(), self.label()
        self.put("%s %s" % (name, back), "jmp " + out)
        self.place(back)
        self.put("jmp " + head)
        self.place(out)

    def count_branch(self, depth):
        out, in_ = self.label(), self.label()
        if self.chance(0.5):
            self.put("movl $%d, %%ecx" % self.pick(0, 0, 1))
        if self.chance(0.2):
            self.put("movabsq $0x100000000, %rcx")
        self.put("%s %s" % (self.pick("jrcxz", "jecxz", "loop", "loope", "loopne") if not {"Z"} & self.undefined else self.pick("jrcxz", "jecxz", "loop"), in_))
        self.put("jmp " + out)
        self.place(in_)
        before = set(self.undefined)
        self.block(1, depth + 1)
        self.undefined |= before
        self.place(out)

    def call(self, depth):
        """Calls of other functions: direct, through registers, memory, tables and the stack."""
        skip, target = self.label(), "f%d" % self.random.randrange(self.functions)
        self.put("subl $1, fuel(%rip)", "js " + skip)
        self.undefined = set()
        kind = self.random.randrange(8)
        register_ = self.reg()
        if kind == 0:
            self.put("leaq %s(%%rip), %%%s" % (target, register_))
            line = "call *%" + register_
        elif kind == 1:
            table = self.table([target, "f%d" % self.random.randrange(self.functions)])
            self.put("leaq %s(%%rip), %%%s" % (table, register_))
            line = "call *8(%%%s)" % register_
        elif kind == 2:
            line = "call *%s(%%rip)" % self.table([target])
        elif kind == 3:
            self.put("leaq %s(%%rip), %%%s" % (target, register_), "pushq %" + register_)
            line = "call *(%rsp)"
        elif kind == 4 and self.low:
            self.put("movl $1, " + register(register_, 32))
            line = "call *%s(,%%%s,8)" % (self.table([target, target]), register_)
        elif kind == 5:
            line = "notrack call *%s(%%rip)" % self.table([target])
        else:
            line = "call " + target
        if self.chance(0.5):
            self.op("cmpq %%%s, %%%s" % (self.reg(), self.reg()), ALL)
        self.put(line)
        if kind == 3:
            self.put("leaq 8(%rsp), %rsp")
        self.undefined = set()
        self.place(skip)

    def table(self, targets):
        name = "table%d" % len(self.tables)
        self.tables.append((name, targets))
        return name

    def jump_table(self, depth):
        """A switch: absolute or relative table, or a register, flags live at the targets."""
        ways = [self.label() for _ in range(4)]
        out, kind = self.label(), self.random.randrange(5)
        index, base = self.random.sample(REGS, 2)
        at = self.counter()
        self.put("incl " + at)
        self.put("movl %s, %s" % (at, register(index, 32)), "andl $3, " + register(index, 32))
        if kind == 0:
            self.put("leaq %s(%%rip), %%%s" % (self.table(ways), base))
            line = "jmp *(%%%s,%%%s,8)" % (base, index)
        elif kind == 1:
            table = self.table([("relative", way) for way in ways])
            self.put("leaq %s(%%rip), %%%s" % (table, base), "movslq (%%%s,%%%s,4), %%%s" % (base, index, index), "addq %%%s, %%%s" % (base, index))
            line = "%sjmp *%%%s" % (self.pick("", "notrack "), index)
        elif kind == 2:
            self.put("leaq %s(%%rip), %%%s" % (self.table(ways), base), "pushq (%%%s,%%%s,8)" % (base, index))
            line = self.pick("ret", "rep ret", "bnd ret")
        elif kind == 3:
            self.put("leaq %s(%%rip), %%%s" % (self.table(ways), base), "movq (%%%s,%%%s,8), %%%s" % (base, index, index),
                     "movq %%%s, -64(%%rsp)" % index)
            line = "jmp *-64(%rsp)"
        else:
            self.put("leaq %s(%%rip), %%%s" % (self.table(ways), base), "leaq (%%%s,%%%s,8), %%rcx" % (base, index), "movq (%rcx), %rcx")
            line = "jmp *%rcx"
        self.undefined = {"A"}
        if self.chance(0.7):
            self.op("cmpb $%d, mem+%d(%%rip)" % (self.imm(8), self.at()), ALL)
        before = set(self.undefined)
        self.put(line)
        after = set()
        for way in ways:
            self.place(way)
            self.undefined = set(before)
            if self.chance(0.5):
                self.jump(self.condition(), out)
                after |= self.undefined
            self.block(self.random.randrange(0, 3), depth + 1)
            if way != ways[-1]:
                self.put("jmp " + out)
            after |= self.undefined
        self.undefined = after
        self.place(out)

    def odd_jumps(self):
        """call to the next instruction, code that overlaps itself, push and ret, calls that do not return."""
        kind, a, b = self.random.randrange(6), self.reg(), self.label()
        if kind == 0:
            self.put("call " + b)
            self.place(b)
            self.put("popq %" + a)
        elif kind == 1: # into the immediate of a mov: b8 imm32, the immediate is inc %ecx; jmp +0; nop
            inner = self.label()
            self.put("jmp %s" % inner, ".byte 0xb8")
            self.place(inner)
            self.put(".byte 0xff, 0xc1, 0x66, 0x90")
            self.undefined -= set("PAZSO")
        elif kind == 2:
            self.put("leaq %s(%%rip), %%%s" % (b, a), "pushq %" + a, "ret")
            self.place(b)
        elif kind == 3:
            self.put("pushq %" + a, "pushw $3", "pushq $4", "leaq -6(%rsp), %rsp", "call " + b, "popq %" + a)
            inner = self.label()
            self.put("jmp " + inner)
            self.place(b)
            self.put("ret $16")
            self.place(inner)
        elif kind == 4: # a return address that the callee moves on
            inner = self.label()
            self.put("call " + b, ".byte 0x0f, 0x0b") # jumped over
            self.put("jmp " + inner)
            self.place(b)
            self.op("addq $2, (%rsp)", ALL)
            self.put("ret")
            self.place(inner)
        else: # a tail of overlapping code in both alignments: eb ff c0 is jmp -1, then inc %eax from the ff on
            self.put(".byte 0xeb, 0xff, 0xc0")
            self.undefined -= set("PAZSO")

    def fault(self):
        """An instruction that faults; the handler writes all it is shown, sets registers, goes on behind."""
        resume, a = self.label(), self.reg()
        table = ["ud2", "int3", ".byte 0xcd, 3", ".byte 0xf1", "hlt", "movq 16, %rax", "movq %%%s, 8" % a, "callq *64", "jmpq *72", "lock addl $1, 24",
                 "rep_null", "movaps mem+8(%rip), %xmm3", "divl zero(%rip)", "idivq zero(%rip)", "wild jmp", "wild call", "wild ret", "null jmp", "null call",
                 "null ret", "pushq 80", "popq 88", "outb %al, %dx", "rip store", "wide load", "cli", "fs load", "adc fault", "cmpxchg fault",
                 "wild jmp memory", "wild call memory", *["scas fault", "cmps fault"] * 3]
        if not self.faults:
            return
        kind, edit = self.random.choice(table), self.random.randrange(2)
        self.put("leaq %s(%%rip), %%%s" % (resume, a), "movq %%%s, resume(%%rip)" % a, "movq %rsp, resume_rsp(%rip)",
                 "movl $%d, edit(%%rip)" % edit, "movl $0x%x, cp_mask(%%rip)" % self.mask())
        where, wild = self.reg(), self.random.choice([0x8000000000000000, 0x0000800000000000, 0xdeadbeefdeadbeef, 0xffff7fffffffffff])
        if kind == "rep_null":
            self.put("movl $3, %ecx", "movl $40, %edi", "rep stosq")
        elif kind.startswith("wild"):
            self.put("movabsq $0x%x, %%%s" % (wild, where))
            if kind.endswith("memory"):
                self.put("movq %%%s, -72(%%rsp)" % where, "%s *-72(%%rsp)" % kind.split()[1])
            else:
                self.put(*(["pushq %" + where, "ret"] if kind == "wild ret" else ["%s *%%%s" % (kind.split()[1], where)]))
        elif kind.startswith("null"):
            self.put("movq $%d, %%%s" % (self.pick(0, 8, 0x1234), where))
            self.put(*(["pushq %" + where, "ret"] if kind == "null ret" else ["%s *%%%s" % (kind.split()[1], where)]))
        elif kind == "rip store":
            self.put("movl $0x1234, _start(%rip)") # text is not writable
        elif kind == "wide load":
            self.put("movabsq $0x%x, %%%s" % (wild, where), "movq (%%%s), %%%s" % (where, self.reg()))
        elif kind == "fs load":
            self.put("movabsq $0x7ff000000000, %%%s" % where, "movq %%fs:(%%%s), %%rax" % where)
        elif kind in ("scas fault", "cmps fault"): # in the last round of a loop: before the first no checkpoint is likely to stand
            again, at = self.label(), self.random.randrange(256, 1024)
            self.put("leaq mem+%d(%%rip), %%rsi" % at, "leaq mem+%d(%%rip), %%rdi" % at, "movl $%d, %%ecx" % self.pick(1, 2, 3), "movl $40, %edx")
            self.place(again)
            self.put(kind[:4] + self.pick("b", "w", "l", "q"), "leal -1(%rcx), %ecx", "testl %ecx, %ecx", "cmovzq %rdx, %rdi", "jns " + again)
        elif kind == "adc fault":
            self.put("adcq %%%s, 104" % a)
        elif kind == "cmpxchg fault":
            self.put("lock cmpxchgq %%%s, 112" % a)
        else:
            self.put(kind)
        self.place(resume)
        if edit: # the handler has set the flags
            self.undefined = set()
        self.checkpoint()

    # Blocks ------------------------------------------------------------------------------------------------------------

    STRAIGHT = [("alu", 14), ("unary", 6), ("shift", 9), ("double_shift", 2), ("bit_test", 3), ("multiply", 3), ("divide", 1), ("exchange", 3),
                ("exchange_double", 1), ("move", 10), ("flag_moves", 7), ("bits", 5), ("string", 5), ("stack", 5), ("x87", 2), ("sse", 4), ("avx", 3),
                ("avx512", 2), ("nothing", 1), ("bases", 1), ("system_call", 0.5), ("odd_jumps", 2), ("fault", 1.2)]
    CONTROL = [("branch", 10), ("loop", 3), ("count_branch", 3), ("call", 4), ("jump_table", 3)]

    def block(self, count, depth=0, short=False):
        for _ in range(count):
            if depth < 3 and self.chance(0.30) and not short:
                names, weights = zip(*self.CONTROL)
                getattr(self, self.random.choices(names, weights)[0])(depth)
            else:
                names, weights = zip(*self.STRAIGHT)
                getattr(self, self.random.choices(names, weights)[0])()
            if self.chance(0.2):
                self.checkpoint()

    def function(self, number):
        self.current, self.undefined = number, set()
        if self.chance(0.5):
            self.lines.append("\t.p2align 4")
        self.lines.append("f%d:" % number)
        self.put("leaq -512(%rsp), %rsp")
        if self.chance(0.3): # flags of the caller decide
            early = self.label()
            self.jump(self.condition(), early)
            self.block(2)
            if self.undefined:
                self.define_flags()
            self.place(early)
        self.block(self.random.randrange(8, 16))
        if self.undefined:
            self.define_flags()
        self.put("leaq 512(%rsp), %rsp", self.pick("ret", "ret", "rep ret"))

    def source(self):
        for number in range(self.functions):
            self.function(number)
        body = "\n".join(self.lines)
        tables = []
        for name, targets in self.tables:
            tables.append("\t.p2align 3\n%s:" % name)
            for target in targets:
                tables.append("\t.long %s-%s" % (target[1], name) if isinstance(target, tuple) else "\t.quad " + target)
        seeds = [self.random.getrandbits(64) for _ in range(MEM // 8)]
        # Not all of it noise: small numbers, equal ones, floating point.
        for i in range(0, len(seeds), 3):
            seeds[i] = self.pick(0, 1, 0xffffffffffffffff, self.random.randrange(100), 0x3ff0000000000000, 0x4008000040400000)
        memory = "\n".join("\t.quad 0x%x" % s for s in seeds)
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs", "engine_frame.S")) as file:
            frame = file.read()
        options = "#define WITH_AVX %d\n#define WITH_AVX512 %d\n#define WITH_GS %d\n#define FUNCTIONS %s\n#define FUEL %d\n#define COUNTERS %d\n" % (
            "avx2" in self.cpu, {"avx512f", "avx512bw"} <= self.cpu, self.gs, ",".join("f%d" % i for i in range(self.functions)), self.fuel, max(1, self.counters))
        macro = "\t.macro pop_two a, b\n\tpopw \\a\n\tpopw \\b\n\t.endm\n"
        memory += "\n\t.zero 1024\n"
        return "%s%s%s\n\t.text\n%s\ntext_end:\n\t.data\n%s\n\t.p2align 6\nmem:\n%smem0:\n%s" % (
            options, macro, frame, body, "\n".join(tables), memory, memory)


def generate(seed, target, compiler=("cc",), cpu=None):
    """Makes the program `target` of a seed; raises CalledProcessError when it does not assemble."""
    program = Program(seed, cpu)
    with open(target + ".S", "w") as file:
        file.write(program.source())
    subprocess.run([*compiler, "-nostdlib", "-static", "-fno-pie", "-no-pie", "-Wl,--build-id", "-Wl,-Ttext=0x%x" % program.text,
                    "-Wl,-Tdata=0x%x" % program.data, "-Wl,-z,noexecstack", "-o", target, target + ".S"], check=True)
    return program


if __name__ == "__main__":
    generate(int(sys.argv[1]), sys.argv[2])
