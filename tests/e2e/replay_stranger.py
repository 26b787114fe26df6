#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Traces of strangers are replayed: what their logs say, and what their code does, stays in the process that replays it. One line tells how it ended.
import lzma
import random
import struct
import threading
import zlib

from replays import *

ESCAPED = os.path.join(TMP, "escaped")
CALLS = """
	mov $85, %eax		# creat
	lea path(%rip), %rdi
	mov $0666, %esi
	syscall
	mov $41, %eax		# socket
	mov $1, %edi
	mov $1, %esi
	xor %edx, %edx
	syscall
	mov $59, %eax		# execve
	lea program(%rip), %rdi
	lea arguments(%rip), %rsi
	xor %edx, %edx
	syscall
	mov $231, %eax		# exit_group
	mov $33, %edi
	syscall
path:	.asciz "PATH"
program:	.asciz "/bin/true"
	.balign 8
arguments:	.quad 0
"""
# The tables of the code cache are written: an indirect branch then leads to code of the program's own, which is not translated.
OUT_OF_CACHE = """
	movabs $TABLE, %rdi
	lea native(%rip), %rax
	mov $ENTRIES, %ecx
	rep stosq
	lea other(%rip), %rax
	jmp *%rax
other:	mov $1, %eax
	jmp other
native:
"""
# All that can be written of the region is.
SCRIBBLE = """
	movabs $REGION, %rdi
	mov $-1, %rax
	mov $WINDOW / 8, %ecx
	rep stosq
"""


def layout():
    """Where the engine's region has what code of a stranger may write to."""
    source, program = fresh("layout.c"), fresh("layout")
    with open(source, "w") as file:
        file.write('#include <stdio.h>\n#include "collector/backend/engine/cache/layout.h"\nint main(void) { printf("%llu %llu %llu %u\\n", '
                   "(unsigned long long)WORLD_RESERVED_START, (unsigned long long)(WORLD_RESERVED_START + TABLE1_AT), "
                   "(unsigned long long)TABLE1_BYTES / 8, (unsigned)WINDOW_SIZE); return 0; }\n")
    subprocess.run([*CC, "-I", os.environ["BTREC_SRCDIR"], "-x", "c", source, "-o", program], check=True)
    names = ("REGION", "TABLE", "ENTRIES", "WINDOW")
    return dict(zip(names, execute([program]).out.decode().split()))


def code(text):
    """The bytes of assembler code, in a file."""
    source, made = fresh("code.S"), fresh("code")
    for name, value in (("PATH", ESCAPED), *layout().items()):
        text = text.replace(name, value)
    with open(source, "w") as file:
        file.write(text)
    subprocess.run([*CC, "-c", "-x", "assembler", source, "-o", made + ".o"], check=True)
    subprocess.run(["objcopy", "-O", "binary", "-j", ".text", made + ".o", made], check=True)
    return made


def ended_well(again, *statuses):
    check(again.status in statuses, "status %s: %s" % (again.status, again.err))
    check(not os.path.exists(ESCAPED), "a file was made")
    if again.status:
        check(re.fullmatch(rb"btrec: [^\n]*\n", again.err), again.err)


@case("code that makes system calls which were not recorded")
def own_calls():
    result = recorded(["/bin/true"])
    copy = with_change(result, "code", "LOG", 1, code(CALLS))
    for options in ([], ["--backend", "step"]):
        again = replayed(copy, "--json", *options)
        ended_well(again, 65)
        equal(json.loads(again.out)["kind"], "event", "kind of the divergence")


@case("code that leaves the code cache and makes system calls there")
def out_of_cache():
    result = recorded(["/bin/true"])
    again = replayed(with_change(result, "code", "LOG", 1, code(OUT_OF_CACHE + CALLS)), "--json")
    ended_well(again, 65)
    check(b"its filter ended the process" in again.out, again.out)


@case("code that writes all over the engine's memory")
def scribbled():
    result = recorded(["/bin/true"])
    for what in (SCRIBBLE + CALLS, SCRIBBLE + OUT_OF_CACHE + CALLS, SCRIBBLE + "\thlt\n"):
        ended_well(replayed(with_change(result, "code", "LOG", 1, code(what)), "--json"), 65, 69)


EFFECTS = {
    (65,): ["map-region", "map-gate", "map-over-region", "map-all", "map-kernel", "map-petabytes", "map-backwards", "map-odd", "unmap-region", "unmap-all", "protect-region",
            "move-region", "move-wraps", "move-over-itself", "shape-unknown", "data-region", "data-gate", "data-kernel", "data-wraps", "state-0", "state-kernel",
            "state-gate", "state-32", "state-base", "state-extended"],
    (71,): ["map-terabytes"],
    (0, 65): ["map-0", "map-strange", "data-0"],  # harmless, if the kernel lets it be done
}


@case("effects that no recorder writes, before the program and before a call")
def effects():
    result = recorded(["/bin/true"])
    for statuses, plants in EFFECTS.items():
        for plant in plants:
            for event in (("LOG", 1), ("LOG_CALL", 3)):
                again = replayed(with_change(result, plant, *event), "--json")
                ended_well(again, *statuses)


@case("effects of one event that would take all memory")
def flood():
    result = recorded(["/bin/true"])
    for event in (("LOG", 1), ("LOG_CALL", 3)):
        again = replayed(with_change(result, "flood", *event), "--memory-limit", "100M")
        ended_well(again, 71)
        check(b"takes more than 50 MB" in again.err, again.err)


@case("more objects than a log may have, by number or by their bytes, are damage")
def objects():
    result = recorded(["/bin/true"])
    for change in "objects", "much":
        again = replayed(with_change(result, change, "LOG_CALL", 3))
        ended_well(again, 76)
        check(b"more objects than a log may have" in again.err, again.err)


@case("memory that a replay may not have is told with the limit")
def memory():
    result = recorded(["/bin/true"])
    again = replayed(result.trace, "--memory-limit", "1M")
    equal((again.status, b"takes more than 512 KB (--memory-limit" in again.err), (71, True), "status and reason: %s" % again.err)
    again = replayed(recorded([build("status.S", *BARE)]).trace, "--memory-limit", "10M")
    equal((again.status, again.err.count(b"single-stepped, at a hundred thousand instructions a second")), (0, 1), "no room for the code cache: %s" % again.err)
    equal(replayed(result.trace, "--memory-limit", "1G", "-q").status, 0, "status with enough")
    equal(replayed(result.trace, "--memory-limit", "much").status, 2, "status with no size")


@case("a hard limit of the shell's that is less than a replay may have is told, and a soft one is none", sanitized=False)
def limits_of_shell():
    if not shutil.which("perl"):
        raise Skip("no perl")
    result = recorded(["perl", "-e", "$x = 'x' x (100 << 20); print length $x, qq(\n)"])
    for what, option in (resource.RLIMIT_AS, b"ulimit -Hv"), (resource.RLIMIT_DATA, b"ulimit -Hd"):
        few, all_of_it = 90 << 20, resource.getrlimit(what)[1]
        again = execute([BTREC, "replay", result.trace], cwd="/", setup=lambda: resource.setrlimit(what, (few, few)))
        equal((again.status, b"a replay may have 90 MB of addresses here (%s)" % option in again.err), (71, True), "status and limit: %s" % again.err)
        again = execute([BTREC, "replay", "-q", result.trace], cwd="/", setup=lambda: resource.setrlimit(what, (few, all_of_it)))
        equal((again.status, again.out), (0, b"104857600\n"), "status and output under a soft limit: %s" % again.err)


NAMED = r"""
#include <stdio.h>
struct node { int value; struct node *next; char name[16]; double d; };
static inline int sum(struct node *n, int k) { int sum = 0; for (; ; n = n->next) { sum += n->value; if (sum > 1000) break; } return sum + k; }
static int walk(struct node *list, int depth, const char *text, double d)
{
	struct node here = {depth * 2, list, "abc", d};
	return depth ? walk(&here, depth - 1, text, d + 1) + here.value : sum(list, 1);
}
int main(int argc, char **argv) { struct node n = {1, 0, "first", 2.5}; return printf("%d\n", walk(&n, argc + 3, argv[0], 1.5)); }
"""
# What a report of a small program may take: seconds, and megabytes of memory (a sanitizer takes some hundreds).
SECONDS, MEGABYTES = 60, 1000
strange = []


def strange_trace():
    """A trace of a program that is gone, without names of its own, and the trace's copy of the program: path and content."""
    if not strange:
        folder = fresh_dir("strange")
        source, program = os.path.join(folder, "named.c"), os.path.join(folder, "named")
        with open(source, "w") as file:
            file.write(NAMED)
        subprocess.run([*CC, "-g", "-O1", source, "-o", program], check=True)
        with open(program, "rb") as file:
            content = file.read()
        result = recorded([program], status=-signal.SIGSEGV)
        shutil.rmtree(folder)
        own = fresh("trace") # links lead to the cache
        shutil.copytree(result.trace, own)
        if os.path.exists(os.path.join(own, "symbols")):
            os.unlink(os.path.join(own, "symbols"))
        strange.append((own, content))
    own, content = strange[0]
    trace = fresh("strange")
    shutil.copytree(own, trace)
    for path in copies(trace):
        os.chmod(path, 0o600)
        with open(path, "rb") as file:
            if file.read() == content:
                return trace, path, content
    raise AssertionError("no copy of the program in %s" % trace)


def shown(trace, *options):
    """What btview says, in bounded time and memory."""
    with open(fresh("shown"), "w+b") as out:
        process = subprocess.Popen([BTVIEW, *options, trace], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        timer.cancel()
        out.seek(0)
        text = out.read()
    check(process.returncode in (0, 76), "btview ended with %d, of %s: %s" % (process.returncode, trace, text[-500:]))
    check(usage.ru_maxrss < MEGABYTES << 10, "btview took %d MB" % (usage.ru_maxrss >> 10))
    return text


def sections(elf):
    """By name, place and size of what a file has there."""
    at, = struct.unpack_from("<Q", elf, 0x28)
    count, names = struct.unpack_from("<HH", elf, 0x3c)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, at + 64 * n) for n in range(count)]
    found = {elf[headers[names][4] + h[0]:].split(b"\0", 1)[0].decode(): (h[4], h[5]) for h in headers if h[1] != 8 and h[5]}
    return dict(found, elf_header=(16, 48), program_headers=(64, 56 * struct.unpack_from("<H", elf, 0x38)[0]), section_headers=(at, 64 * count))


ODD = [0, 0x7f, 0x80, 0xff, 0x7fffffff, 0xffffffff, 1 << 63, (1 << 64) - 1]


def damaged(elf, dice):
    """A copy of the file with a few wrong numbers where symbols, lines, frames and types are, or cut."""
    where = [place for name, place in sorted(sections(elf).items()) if re.match(r"\.debug|\.eh_frame|\.(dyn)?symtab|\.(dyn|sh)?str|\.dyn|\.gnu\.(hash|version)|\.rela|[a-z]", name)]
    elf = bytearray(elf)
    for _ in range(dice.choice((1, 1, 2, 4, 8))):
        start, size = dice.choice(where)
        at, width, value = start + dice.randrange(size), dice.choice((1, 1, 1, 2, 4, 8)), dice.choice((*ODD, dice.getrandbits(64), dice.getrandbits(12)))
        elf[at:at + width] = (value % (1 << 8 * width)).to_bytes(width, "little")
    if dice.random() < 0.05:
        del elf[dice.randrange(64, len(elf)):]
    return elf


@case("btview of a trace whose copy of the program is damaged: it ends, soon, and without much memory")
def damaged_copies():
    trace, path, content = strange_trace()
    check(b"n->value" in shown(trace, "--stdio"), "what the whole copy tells")
    for n in range(int(os.environ.get("BTREC_DAMAGED", "25"))):
        with open(path, "wb") as file:
            file.write(damaged(content, random.Random(n)))
        shown(trace, "--json" if n % 3 else "--stdio")


def with_section(name, content):
    """A trace whose copy of the program has one more section, and no symbols."""
    trace, path, _ = strange_trace()
    added = fresh("section")
    with open(added, "wb") as file:
        file.write(content)
    subprocess.run(["objcopy", "--strip-all", "--add-section", "%s=%s" % (name, added), path], check=True)
    return trace


def number(n):
    """As .xz files have it."""
    return bytes([n]) if n < 0x80 else bytes([n & 0x7f | 0x80]) + number(n >> 7)


def padded(head):
    head += bytes(-len(head) % 4)
    return head + struct.pack("<I", zlib.crc32(head))


def bomb(megabytes):
    """An .xz file of some kilobytes that unpacks to that many megabytes (tukaani.org/xz/xz-file-format.txt)."""
    once, flags = 16, b"\0\0" # no checksum
    packed = lzma.compress(bytes(once << 20), lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}])[:-1] * (megabytes // once) + b"\0"
    block = padded(b"\x02\0\x21\x01\x10" + bytes(3)) # LZMA2, 1 MB
    index = padded(b"\0" + number(1) + number(len(block) + len(packed)) + number(megabytes // once * once << 20))
    foot = struct.pack("<I", len(index) // 4 - 1) + flags
    return b"\xfd7zXZ\0" + flags + struct.pack("<I", zlib.crc32(flags)) + block + packed + bytes(-len(packed) % 4) + index + struct.pack("<I", zlib.crc32(foot)) + foot + b"YZ"


@case("btview of a trace whose copy of the program unpacks to gigabytes, or names other files, does not unpack it, nor open them")
def copies_that_lead_on():
    if not shutil.which("objcopy"):
        raise Skip("no objcopy")
    packed = bomb(2000)
    equal(len(lzma.decompress(bomb(32))), 32 << 20, "what a small bomb unpacks to")
    shown(with_section(".gnu_debugdata", packed), "--stdio")
    fifo = fresh("fifo")
    os.mkfifo(fifo) # who opens it waits for ever
    up = "../" * 30 + fifo.lstrip("/")
    link = up.encode() + b"\0"
    shown(with_section(".gnu_debuglink", link + bytes(-len(link) % 4) + b"\1\2\3\4"), "--stdio")
    shown(with_section(".gnu_debugaltlink", fifo.encode() + b"\0" + bytes(range(20))), "--stdio")


@case("btview of a trace whose copy of the program has large packed symbols has their names")
def packed_symbols():
    if not shutil.which("objcopy"):
        raise Skip("no objcopy")
    _, _, content = strange_trace()
    symbols, junk = fresh("symbols"), fresh("junk")
    with open(symbols, "wb") as file:
        file.write(content)
    with open(junk, "wb") as file:
        file.write(random.Random(1).randbytes(300 << 10)) # it packs to itself
    subprocess.run(["objcopy", "--only-keep-debug", "--remove-section=.debug*", "--add-section", ".junk=" + junk, symbols], check=True)
    with open(symbols, "rb") as file:
        packed = lzma.compress(file.read())
    check(b"walk" not in shown(with_section(".junk", b"junk"), "--stdio"), "a function that is not exported has no name without symbols")
    check(b"walk" in shown(with_section(".gnu_debugdata", packed), "--stdio"), "it has one by its packed symbols")


@case("btview of a trace whose copy of the program has split debug information does not open the .dwo that it names")
def split_copies():
    trace, path, content = strange_trace()
    at, size = sections(content)[".note.gnu.build-id"]
    folder = fresh_dir("split")
    with open(os.path.join(folder, "named.c"), "w") as file:
        file.write(NAMED)
    subprocess.run([*CC, "-g", "-gsplit-dwarf", "-O1", "-Wl,--build-id=0x" + content[at + 16:at + size].hex(), "named.c", "-o", "named"], cwd=folder, check=True)
    shutil.copyfile(os.path.join(folder, "named"), path)
    split = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".dwo")]
    check(split, "a .dwo")
    os.unlink(split[0])
    os.mkfifo(split[0]) # who opens it waits for ever
    check(b"named.c" in shown(trace, "--stdio"), "lines, which are not split")


main()
