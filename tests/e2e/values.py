#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Arguments and local variables of frames: as gdb shows them of the same moment's core file, and never guessed.
import random

from e2e import *

SOURCES = {
    "config.c": r"""
        #include <stdlib.h>
        #include <string.h>
        enum mode { OFF, ON = 3 };
        struct inner { short port; char name[8]; };
        struct config {
            struct config *next; int port; enum mode mode; struct inner in; double ratio; float part; const char *host;
            unsigned flag : 3; int sign : 5; union { int i; unsigned char c; } u; void (*call)(int); long double wide;
        };
        typedef const struct config setting;
        volatile int looked_up;
        static void called(int n) { (void)n; }
        __attribute__((noinline)) static int lookup(setting *c, const char *key, unsigned long size, signed char letter)
        {
            int sum = (int)size;
            looked_up++;
            if (strcmp(key, "port") == 0)
                sum += c->port;
            return sum + letter;
        }
        static inline __attribute__((always_inline)) int inlined(setting *where, const char *key)
        {
            int before = where->port;
            return before + lookup(where->next, key, before, 'x');
        }
        __attribute__((noinline)) int run(setting *c, int depth, char **names, double d, _Bool yes)
        {
            int numbers[12] = {1, -2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, grid[2][2] = {{1, 2}, {3, 4}};
            char text[] = "hi \"there\"\n\001";
            struct config copy = *c;
            char *heap = strdup("on the heap");
            volatile unsigned char byte = 200;
            long long far = -5000000000;
            int r = inlined(c, "port");
            return r + numbers[depth] + grid[1][0] + text[depth] + copy.port + *heap + byte + (int)far + (int)d + yes + **names;
        }
        int main(int argc, char **argv)
        {
            struct config c = {0, 80, ON, {7, "inner"}, 0.1, 1.5f, "localhost", 5, -3, {65}, called, 2.25L};
            (void)argc;
            return run(&c, 3, argv, 2.5, 1);
        }
        """,
    "bus.cc": r"""
        #include <string>
        #include <string_view>
        #include <vector>
        namespace city {
        enum class Colour { red, green = 7 };
        struct Base { int id; virtual ~Base() = default; };
        struct Stop : Base { std::string name; Colour colour; Stop *next; };
        class Bus {
        public:
            __attribute__((noinline)) int emit(const std::string &what, Colour c, const int &count, std::string_view view)
            {
                int left = count - 1;
                Stop *stop = first.next;
                return stop->id + left + (int)what.size() + (int)c + (int)view.size() + seats[0];
            }
            std::vector<int> seats;
            Stop first;
        };
        }
        int main()
        {
            city::Bus bus;
            bus.seats = {4, 5, 6};
            bus.first.name = "centre";
            bus.first.colour = city::Colour::green;
            bus.first.next = nullptr;
            return bus.emit("a name of more than sixteen letters", city::Colour::red, 3, "view");
        }
        """,
    "lookup.rs": r"""
        enum Shape { Circle { r: f64 }, Square(u32), Nothing }
        struct Conf<'a> { name: String, tags: Vec<u32>, host: &'a str, next: Option<Box<Conf<'a>>>, shape: Shape, limit: Option<u32> }
        #[inline(never)]
        fn lookup(c: &Conf, key: &str, nums: &[i32], idx: usize, letter: char, flag: bool) -> i32 {
            let total = c.tags.len() + key.len();
            let p: *const i32 = std::ptr::null();
            if flag { unsafe { return *p + nums[idx] + total as i32 + letter as i32; } }
            0
        }
        fn main() {
            let c = Conf { name: String::from("the name"), tags: vec![1, 2, 3], host: "localhost", next: None, shape: Shape::Square(7), limit: Some(5) };
            let round = Shape::Circle { r: 2.5 };
            let none = Shape::Nothing;
            let n = lookup(&c, "port", &[4, 5, 6], 2, 'x', std::env::args().count() > 0);
            for shape in [&round, &none, &c.shape] {
                match shape { Shape::Circle { r } => println!("{}", r), Shape::Square(n) => println!("{}", n), Shape::Nothing => println!("-") }
            }
            println!("{} {} {} {:?} {}", n, c.name, c.host, c.limit, c.next.is_some());
        }
        """,
    "lookup.go": r"""
        package main
        import "fmt"
        type conf struct { name string; port int; next *conf; tags []int }
        //go:noinline
        func lookup(c *conf, key string, list []string, n int) int {
            total := len(key) + n
            if list[0] == "a" { total += c.next.port }
            return total
        }
        func main() {
            c := &conf{name: "main", port: 80, tags: []int{1, 2}}
            fmt.Println(lookup(c, "port", []string{"a", "b"}, 3))
        }
        """,
    "inner.f90": r"""
        module m
        contains
          subroutine inner(n, name)
            integer, intent(in) :: n
            character(len=4), intent(in) :: name
            integer, pointer :: p
            nullify(p)
            p = n + len(name)
          end subroutine
        end module
        program main
          use m
          call inner(2, "port")
        end program
        """,
}

# Tells of each frame what gdb thinks of its variables, one JSON list a line: function, name, value.
ASKS_GDB = r"""
import gdb, json
def value_of(symbol, frame):
    try:
        value = symbol.value(frame)
        kind = value.type.strip_typedefs()
        numbers = kind.code == gdb.TYPE_CODE_ARRAY and kind.target().sizeof > 1
        return value.format_string(raw=True, symbols=False, max_elements=8 if numbers else 64, repeat_threshold=0)
    except gdb.MemoryError:
        return "<not kept>"
frame = gdb.newest_frame()
while frame:
    seen = set()
    try:
        block = frame.block()
    except RuntimeError:
        block = None
    while block and not block.is_global and not block.is_static:
        for symbol in block:
            if (symbol.is_variable or symbol.is_argument) and symbol.name not in seen:
                seen.add(symbol.name)
                print("VALUE " + json.dumps([frame.name(), symbol.name, value_of(symbol, frame), symbol.is_argument]))
        if block.function:
            break
        block = block.superblock
    frame = frame.older()
"""


def made(name, compiler, *flags):
    if not shutil.which(compiler):
        raise Skip(compiler + " is missing")
    source = os.path.join(fresh_dir("source"), name)
    with open(source, "w") as file:
        file.write(SOURCES[name])
    program = source + "-" + os.path.basename(compiler) + "".join(flags).replace("=", "")
    command = [compiler, "build", *flags, "-o", program, source] if compiler == "go" else [compiler, "-g", *flags, source, "-o", program]
    done = execute(command, cwd=os.path.dirname(source), env={**os.environ, "GOCACHE": os.path.join(TMP, "gocache")} if compiler == "go" else None)
    equal(done.status, 0, "%s: %s" % (program, done.err))
    return program


def bare(function):
    return re.split(r"[(.]", function)[0]


def values(frame):
    """Of a frame of the JSON and what is inlined there: function, name, value, is an argument."""
    for part in [*frame["inlined"], frame]:
        for kind in ("arguments", "locals"):
            for value in part[kind]:
                yield bare(part["function"]), value["name"], value["value"], kind == "arguments"


def crash_thread(found):
    return next(thread for thread in found["threads"] if thread["task"] == found["fault"]["task"])


def ours(trace):
    found = report(trace, "-n", "10")
    fits_schema(found, "report.schema.json")
    return [value for frame in crash_thread(found)["stack"] for value in values(frame)]


def gdbs(program, trace):
    if not shutil.which("gdb"):
        raise Skip("gdb is missing")
    core, script = fresh("core"), os.path.join(TMP, "asks.py")
    with open(core, "wb") as file:
        file.write(btview("--export", "core", trace).out)
    with open(script, "w") as file:
        file.write(ASKS_GDB)
    said = execute(["gdb", "-q", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "set print null-stop on", "-x", script, program, core])
    found = [json.loads(line[6:]) for line in said.out.decode().splitlines() if line.startswith("VALUE ")]
    check(found, "gdb told nothing: %s" % (said.out + said.err).decode(errors="replace"))
    return [(bare(function), name, value, argument) for function, name, value, argument in found]


def plain(value):
    """What is the same in other words."""
    value = re.sub(r"<error: Cannot access memory at address 0x[0-9a-f]+>", "<not kept>", value)
    return value.replace("<synthetic pointer>", "<optimized out>").replace("<no such memory>", "<not kept>")


def differs(mine, theirs):
    if mine is None:
        return theirs != "<optimized out>"
    if mine == "<not saved>":
        return False  # gdb takes registers that calls may change for unchanged
    if "<optimized out>" in mine and "<optimized out>" in theirs:
        return False  # of an array gdb tells it for each element
    return mine != theirs


def compare(program, least):
    trace = record([program]).trace
    mine, theirs = {v[:2]: v[2:] for v in ours(trace)}, {v[:2]: v[2:] for v in gdbs(program, trace)}
    differ = ["%s: %s, gdb: %s" % (key, mine.get(key), theirs[key]) for key in theirs
              if differs(plain(mine[key][0]) if key in mine else None, plain(theirs[key][0])) or (key in mine and mine[key][1] != theirs[key][1])]
    check(not differ, "\n".join(differ))
    check(len(theirs) >= 16, "gdb tells of %d variables" % len(theirs))
    known = [value for value, _ in mine.values() if "<" not in value]
    check(len(known) >= least, "known: %s" % known)


for compiler in ("gcc", "clang"):
    for flags in (["-O0"], ["-O2"], ["-Og", "-gdwarf-4"]):

        @case("variables of C are as gdb shows them, %s %s" % (compiler, " ".join(flags)))
        def like_gdb(compiler=compiler, flags=flags):
            compare(made("config.c", compiler, *flags), 16 if "-O0" in flags else 4)


def headline(trace):
    """What run's last line tells, for which it does not wait for ever."""
    return btview("--headline", trace).out.decode().strip()


def has(trace, expected):
    """Of the stack: function, name and value."""
    found = {}
    for function, name, value, _ in ours(trace):
        found.setdefault((function, name), value)
    for key, value in expected.items():
        equal(found.get(key), value, str(key))


FLOATS = r"""
static volatile float shifted = 3.5f;
static volatile int four = 4;

__attribute__((noinline, noclone)) double scale(double factor, float shift, int n, double *to)
{
	*to = factor * shift + n;
	return factor;
}

__attribute__((noinline, noclone)) double outer(double kept, double *to)
{
	return scale(kept * 2, shifted, four, to) + kept;
}

int main(int argc, char **argv)
{
	(void)argv;
	return outer(0.25 * argc, argc > 5 ? (double *)argv : 0) > 0;
}
"""


@case("what lies in registers of floating point is told of the innermost frame, and of no other")
def floats():
    source = os.path.join(TMP, "floats.c")
    with open(source, "w") as file:
        file.write(FLOATS)
    for compiler in "gcc", "clang":
        if not shutil.which(compiler):
            continue
        program = os.path.join(TMP, "floats-" + compiler)
        subprocess.run([compiler, "-w", "-g", "-O2", source, "-o", program], check=True)
        trace = record([program]).trace
        has(trace, {("scale", "factor"): "0.5", ("scale", "to"): "0x0"})
        kept = [value for function, name, value, _ in ours(trace) if (function, name) == ("outer", "kept")]
        check(all(value == "0.25" or value.startswith("<") for value in kept), kept)


HALF = r"""
struct two { double x, y; };
static int *volatile nowhere;
static volatile double source = 2.25;

__attribute__((noinline, noclone)) static double half_made(int n)
{
	struct two t;

	t.x = source;
	*nowhere = n;
	t.y = source;
	return t.x * t.y;
}

int main(int argc, char **argv)
{
	(void)argv;
	return (int)half_made(argc);
}
"""


@case("of a structure in pieces, one in a vector register, the piece that is nowhere is optimized out")
def pieces():
    source = os.path.join(TMP, "half.c")
    with open(source, "w") as file:
        file.write(HALF)
    for compiler in "gcc", "clang":
        if not shutil.which(compiler):
            continue
        program = os.path.join(TMP, "half-" + compiler)
        subprocess.run([compiler, "-w", "-g", "-O2", source, "-o", program], check=True)
        has(record([program]).trace, {("half_made", "t"): "{x = 2.25, y = <optimized out>}"})


@case("strings, vectors, base classes and enumerations of C++")
def of_cpp():
    trace = record([made("bus.cc", "g++", "-O0")]).trace
    has(trace, {("city::Bus::emit", "c"): "red", ("city::Bus::emit", "left"): "2", ("city::Bus::emit", "stop"): "0x0"})
    found = {value[:2]: value[2] for value in ours(trace)}
    what = found["city::Bus::emit", "what"]
    check(re.fullmatch(r'@0x[0-9a-f]+: "a name of more than sixteen letters"', what), what)
    check(re.fullmatch(r"@0x[0-9a-f]+: 3", found["city::Bus::emit", "count"]), found["city::Bus::emit", "count"])
    equal(found["city::Bus::emit", "view"], '"view"', "view")
    bus = found["main", "bus"]
    check(re.match(r"\{seats = length 3 \{4, 5, 6\}, first = \{<Base> = \{_vptr\.Base = 0x[0-9a-f]+, id = -?\d+\}, name = \"centre\", colour = green, next = 0x0\}\}", bus), bus)
    said = text(trace)
    check(re.search(r"\n  #0   city::Bus::emit \(this=0x[0-9a-f]+, what=.*, c=red, .*\) bus\.cc:\d+\n         left = 2\n", said), said)


@case("strings, slices, vectors and enumerations of Rust")
def of_rust():
    trace = record([made("lookup.rs", "rustc")]).trace
    has(trace, {
        ("lookup::lookup", "key"): '"port"', ("lookup::lookup", "nums"): "length 3 {4, 5, 6}", ("lookup::lookup", "letter"): "120 'x'",
        ("lookup::lookup", "flag"): "true", ("lookup::lookup", "total"): "7", ("lookup::lookup", "p"): "0x0", ("lookup::main", "round"): "Circle{r = 2.5}",
        ("lookup::main", "none"): "Nothing",
        ("lookup::main", "c"): '{name = "the name", tags = length 3 {1, 2, 3}, host = "localhost", next = None, shape = Square{__0 = 7}, limit = Some{__0 = 5}}',
    })


@case("strings and slices of Go; what its handler interrupted is unwound; of registers that Go changes nothing is told")
def of_go():
    for flags, expected in (["-gcflags=-N -l"], {"key": '"port"', "list": 'length 2 {"a", "b"}', "n": "3", "total": "7"}), ([], {"c": "<not saved>"}):
        recorded = record([made("lookup.go", "go", *flags)], env={**os.environ, "GOTRACEBACK": "crash"})
        frames = [frame for frame in crash_thread(report(recorded.trace, "-n", "1"))["stack"] if not frame["by_history"]]
        lookup = next((frame for frame in frames if frame["function"] == "main.lookup"), None)
        check(lookup, [frame["function"] for frame in frames])
        found = {value["name"]: value["value"] for value in lookup["arguments"] + lookup["locals"]}
        for name, value in expected.items():
            equal(found.get(name), value, "%s %s" % (flags, name))
        check("c.next.port" in text(recorded.trace) or "*c.next (c.next is null)" in text(recorded.trace), "the null pointer's name")


@case("Fortran's procedures have the names that are written")
def of_fortran():
    recorded = record([made("inner.f90", "gfortran", "-O0")])
    check(re.search(r"^SIGSEGV: null write of \*p in m::inner inner\.f90:\d+$", headline(recorded.trace)), headline(recorded.trace))
    check(re.search(r'\n  #\d+ +m::inner \(n=(@0x[0-9a-f]+: )?2, name="port"\) inner\.f90:', text(recorded.trace)), text(recorded.trace))


UNUSUAL = r"""
#include <stdlib.h>
enum side { NONE, LEFT = 200, RIGHT = 40000 };
enum sign { MINUS = -1, PLUS = 1 };
struct packed { signed char low : 3; enum sign sign : 2; };
static void fail(struct packed p, enum side side, __float128 quad, _Decimal64 decimal, long double wide, __int128 big)
{
    *(volatile int *)8 = p.low + (int)side + (int)quad + (int)decimal + (int)wide + (int)big;
}
int main(void)
{
    struct packed p = {-1, MINUS};
    fail(p, RIGHT, 1.5Q, 2.5DD, 2.25L, -5);
    return 0;
}
"""


@case("what is not decoded says so; bit fields and enumerations have their signs")
def unusual():
    source = os.path.join(TMP, "unusual.c")
    with open(source, "w") as file:
        file.write(UNUSUAL)
    if not shutil.which("gcc"):
        raise Skip("gcc is missing")
    equal(execute(["gcc", "-g", "-O0", source, "-o", source + ".out"]).status, 0, "unusual.c")
    has(record([source + ".out"]).trace, {
        ("fail", "p"): "{low = -1, sign = MINUS}", ("fail", "side"): "RIGHT", ("fail", "quad"): "<not decoded>", ("fail", "decimal"): "<not decoded>",
        ("fail", "wide"): "2.25", ("fail", "big"): "-5"})


@case("debug information that is damaged ends nothing")
def damaged():
    program = made("config.c", "gcc", "-O2")
    trace = record([program]).trace
    with open(program, "rb") as file:
        whole = file.read()
    sections = execute(["readelf", "-SW", program]).out.decode()
    places = [(int(m.group(2), 16), int(m.group(3), 16)) for m in re.finditer(r"(\.debug_\w+) +PROGBITS +0+ ([0-9a-f]+) ([0-9a-f]+)", sections)]
    check(len(places) >= 5, sections)
    shown = 0
    dice = random.Random(39)
    for _ in range(60):
        bytes = bytearray(whole)
        for _ in range(dice.choice((1, 3, 20))):
            start, size = dice.choice(places)
            bytes[start + dice.randrange(size)] = dice.randrange(256)
        os.remove(program)
        with open(program, "wb") as file:
            file.write(bytes)
        os.chmod(program, 0o755)
        done = execute([BTVIEW, "--stdio", "--summary", trace])
        equal(done.status, 0, "btview: %s" % done.err)
        shown += b"port" in done.out
    check(shown, "nothing was shown of any")


POINTERS = r"""
#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noipa))
#endif
#include <stdlib.h>
struct leaf { long id; char tag[8]; };
struct node { struct node *next; int port; struct leaf leaf; int list[4]; union { int a; long b; } u; };
typedef struct node *handle;
static struct node *volatile none;
KEPT static int member(handle c, int n) { return c->port + n; }
KEPT static int chain(struct node *c, int n) { return c->next->leaf.tag[0] + n; }
KEPT static int plain(int *count, int n) { *count += n; return n; }
KEPT static long indexed(long *sums, long n) { return sums[n] + n; }
KEPT static int written(struct node *c, int n) { c->leaf.id = n; return n; }
KEPT static int of_union(struct node *c, int n) { return c->u.a + n; }
KEPT static struct node *find(int n) { return n > 100 ? malloc(9) : none; }
KEPT static int result(struct node *other, int n) { return find(n)->port + (other ? 1 : 2); }
struct { struct node *ends[4], *behind[4]; } two;
struct node *config, whole, *volatile aliased = &whole, **moving = two.ends;
static struct node *hidden;
KEPT static int global(int n) { return config->port + n; }
KEPT static int of_file(int n) { return hidden->port + n; }
KEPT static int element(int i) { return two.ends[i]->port + i; }
KEPT static int part(int n) { return whole.next->port + n; }
KEPT static void keep(struct node **where) { *where = none; }
KEPT static int once(int n) { static struct node *kept; keep(&kept); return kept->port + n; }
KEPT static int through(int i) { return moving[i]->port + i; }
KEPT static int deep(int n) { return config->next->leaf.tag[3] + n; }
KEPT static int alias(struct node *q, int n) { return q->next->port + n; }
KEPT static int replaced(struct node **at, int n) { struct node *was = *at; *at = none + 1; return was->port + n; }
KEPT static int swap(struct node *q, int n) { struct node *was = config->next; config->next = q; return was->port + n; }
int main(int argc, char **argv)
{
    struct node first = {.next = none};
    hidden = config;
    if (argv[1][0] == '1' && argv[1][1] > '2')
        config = &whole;
    switch (atoi(argv[1])) {
    case 0: return member(none, argc);
    case 1: return chain(&first, argc);
    case 2: return plain((int *)none, argc);
    case 3: return (int)indexed((long *)none, argc + 1);
    case 4: return written(none, argc);
    case 5: return of_union(none, argc);
    case 6: return result(none, argc);
    case 7: return global(argc);
    case 8: return of_file(argc);
    case 9: return element(argc);
    case 10: return part(argc);
    case 11: return once(argc);
    case 12: return through(argc + 1);
    case 13: return deep(argc);
    case 14: return alias(aliased, argc);
    case 15: return element(argc + 3);
    case 16: return replaced(&whole.next, argc);
    case 17: return swap(&first, argc);
    }
    return 0;
}
"""

# What is said of the failed access, and its brief form; None: nothing has a name that is proven.
NAMED = [
    ("c->port (member port of struct node, c is null)", "null read of c->port"),
    ("c->next->leaf.tag[0] (member leaf.tag[0] of struct node, c->next is null)", r"null read of c->next->leaf.tag\[0\]"),
    ("*count (count is null)", r"null (read|update) of \*count"),
    ("sums[3] (sums is null)", r"null read of sums\[3\]"),
    ("c->leaf.id (member leaf.id of struct node, c is null)", "null write of c->leaf.id"),
    (None, "null read"),
    ("find()->port (member port of struct node, find() returned null)", r"null read of find\(\)->port"),
    ("config->port (member port of struct node, config is null)", "null read of config->port"),
    ("hidden->port (member port of struct node, hidden is null)", "null read of hidden->port"),
    ("two.ends[2]->port (member port of struct node, two.ends[2] is null)", r"null read of two\.ends\[2\]->port"),
    ("whole.next->port (member port of struct node, whole.next is null)", "null read of whole.next->port"),
    ("kept->port (member port of struct node, kept is null)", "null read of kept->port"),
    ("moving[3]->port (member port of struct node, moving[3] is null)", r"null read of moving\[3\]->port"),
    ("config->next->leaf.tag[3] (member leaf.tag[3] of struct node, config->next is null)", r"null read of config->next->leaf.tag\[3\]"),
    ("q->next->port (member port of struct node, q->next is null)", "null read of q->next->port"), # not whole.next: the code has q
    (None, "null read"), # of two.ends[5], which is two.behind[1]
    ("was->port (member port of struct node, was is null)", "null read of was->port"), # *at is another one by now
    ("was->port (member port of struct node, was is null)", "null read of was->port"),
]


@case("a failed access is named by the variable that it went through, where that is proven")
def named():
    source = os.path.join(TMP, "pointers.c")
    with open(source, "w") as file:
        file.write(POINTERS)
    for compiler in ("gcc", "clang"):
        if not shutil.which(compiler):
            continue
        for flag in ("-O0", "-O2"):
            if a_part() and (compiler == "gcc") == (flag == "-O2"):
                continue
            program = "%s-%s%s" % (source, compiler, flag)
            equal(execute([compiler, "-g", flag, source, "-o", program]).status, 0, program)
            of_this = NAMED[:7] if (compiler, flag) == ("clang", "-O0") else NAMED # the others take their time
            for number, (text_of_it, brief) in enumerate(of_this):
                recorded = record([program, str(number)])
                said = report(recorded.trace, "-n", "1")["fault"]["text"]
                where = "%s %s %d: " % (compiler, flag, number)
                if text_of_it:
                    check(said.endswith(": " + text_of_it), where + said)
                else:
                    check("(" not in said and "->" not in said, where + said)
                check(re.search("^SIGSEGV: %s in " % brief, headline(recorded.trace)), where + headline(recorded.trace))


PASSED = r"""
#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noipa))
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
struct list { int n; char *names[8]; struct list *next; };
static char *volatile none;
static char buffer[4000];
KEPT static int length(struct list *c) { return (int)strlen(c->names[c->n]) + 1; }
KEPT static int copy(struct list *p, size_t n) { memcpy(buffer, p->next, n); return buffer[1]; }
KEPT static int compare(struct list *a, const char *b) { return strcmp(a->names[1], b) + 1; }
KEPT static int second(struct list *a, const char *b) { return strcmp(a->names[0], b) + 1; }
KEPT static char *last(const char *s) { return strdup(s); }
KEPT static int fill(struct list *c, size_t n) { memset(c->next, 1, n); return 1; }
KEPT static int number(struct list *c) { return (int)strtol(c->names[2], NULL, 10) + 1; }
KEPT static int near(const char *low) { return (int)strlen(low) + 1; }
KEPT static int unended(char *at) { return (int)strlen(at) + 1; }
KEPT static int token(char **save) { return strtok_r(none, " ", save) ? 1 : 2; }
KEPT static int was(char **at) { char *it = *at; *at = buffer; return (int)strlen(it) + 1; }
KEPT static int shown(const char *format, char *s) { return snprintf(buffer, sizeof buffer, format, s) + 1; }
static char *fresh(void)
{
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(pages, 'x', 4096);
    munmap(pages + 4096, 4096);
    return pages;
}
int main(int argc, char **argv)
{
    struct list c = {3, {"zero", none}, (struct list *)none};
    char *save = none;
    switch (atoi(argv[1])) {
    case 0: return length(&c);
    case 1: return copy(&c, argc + 6);
    case 2: return copy(&c, argc + 3000);
    case 3: return compare(&c, "one");
    case 4: return second(&c, none);
    case 5: return last(none)[0];
    case 6: return fill(&c, argc + 38);
    case 7: return number(&c);
    case 8: return near((char *)none + 5);
    case 9: return unended(fresh());
    case 10: return token(&save);
    case 11: return was(&c.names[1]);
    case 12: return shown("%s", (char *)none + 5);
    }
    return 0;
}
"""

# Of each failure in libc: what the headline says of the argument that the user's code has passed.
PASSES = [
    r"null read by strlen of its argument c->names\[(3|c->n)\]",
    r"null read by memcpy of its argument p->next",
    r"null read by memcpy of its argument p->next",
    r"null read by strcmp of its argument a->names\[1\]",
    r"null read by strcmp of its argument b",
    r"null read by strdup of its argument s",
    r"null write by memset of its argument c->next",
    r"null read by (__isoc23_)?strtol of its argument c->names\[2\]",
    r"read close to null by strlen of its argument low \(0x5\)",
    r"read where nothing is mapped", # behind memory that the argument leads to
    r"null read( of \*s)?", # of what the argument leads to; the first one is null, too
    r"null read by strlen of its argument (it|1)", # by now *at is another one
    r"read close to null", # through memory
]


@case("a null argument of a library's function is named as the caller has it, where that is proven")
def passed():
    source = os.path.join(TMP, "passed.c")
    with open(source, "w") as file:
        file.write(PASSED)
    for compiler in ("gcc", "clang"):
        if not shutil.which(compiler):
            continue
        for flag in ("-O0", "-O1", "-O2"):
            if a_part() and (compiler == "gcc") != (flag == "-O2"):
                continue
            program = "%s-%s%s" % (source, compiler, flag)
            equal(execute([compiler, "-g", "-fno-builtin-strdup", flag, source, "-o", program]).status, 0, program)
            for number, brief in enumerate(PASSES):
                if number not in (0, 1, 3, 4, 7) and (compiler == "clang" or flag == "-O1"):
                    continue # they take their time
                said = headline(record([program, str(number)]).trace)
                # A function that ends with its call jumps there, and has no frame any more.
                brief = brief.replace(r" \(0x5\)", r"( \(in \w+\))? \(0x5\)")
                check(re.search(r"^SIGSEGV: %s( \(in \w+\))? in " % brief, said), "%s %s %d: %s" % (compiler, flag, number, said))
                if (compiler, flag, number) == ("gcc", "-O2", 5):
                    check(" s (in last) in main " in said, said)


@case("what was passed is said by a trace whose program is gone, in run's last line and in the report alike")
def passed_and_gone():
    source = os.path.join(TMP, "passed.c")
    with open(source, "w") as file:
        file.write(PASSED)
    equal(execute([*CC, "-g", "-O1", source, "-o", source + ".gone"]).status, 0, "build")
    recorded = record([source + ".gone", "3"])
    os.remove(source + ".gone")
    brief = "null read by strcmp of its argument a->names[1]"
    check(("btrec: SIGSEGV: " + brief).encode() in recorded.err, recorded.err)
    check(brief in headline(recorded.trace), headline(recorded.trace))
    said = report(recorded.trace, "-n", "1")["fault"]["text"]
    check(said.endswith(": argument 1 of strcmp, a->names[1], was null"), said)


OWNERS = r"""
#include <cstdlib>
#include <memory>
struct Node { int pad; int v; std::unique_ptr<Node> next; int plain() const { return v; } virtual ~Node() {} };
namespace app { std::unique_ptr<Node> root; struct Cfg { static Node *current; }; Node *Cfg::current; }
#define KEPT __attribute__((noinline))
KEPT int owned(std::unique_ptr<Node> &p) { return p->v + 1; }
KEPT int shared(const std::shared_ptr<Node> &p) { return p->v + 1; }
KEPT int root(int n) { return app::root->v + n; }
KEPT int current(int n) { return app::Cfg::current->v + n; }
KEPT int object(Node *n) { return n->plain() + 1; }
KEPT int reference(Node &n) { return n.v + 1; }
KEPT int next(Node *n) { return n->next->v + 1; }
int main(int argc, char **argv)
{
    Node n, *none = n.next.get();
    std::unique_ptr<Node> p;
    std::shared_ptr<Node> q;
    switch (atoi(argv[1])) {
    case 0: return owned(p);
    case 1: return shared(q);
    case 2: return root(argc);
    case 3: return next(&n);
    case 4: return current(argc);
    case 5: return object(none);
    case 6: return reference(*none);
    }
}
"""

# Of code without optimization; of optimized code.
OWNED = [
    (r"null read of std::unique_ptr::operator->\(\)->v", "null read of p->v"),
    (r"null read of std::__shared_ptr_access::operator->\(\)->v", "null read of p->v"),
    (r"null read of std::unique_ptr::operator->\(\)->v", "null read of app::root->v"),
    (r"null read of std::unique_ptr::operator->\(\)->v", "null read of n->next->v"),
    ("null read of app::Cfg::current->v", "null read of app::Cfg::current->v"),
    ("null read of this->v", "null read of n->v"),
    (r"null read of n\.v", r"null read of n\.v"),
]


@case("C++: a null pointer that is owned, static, this, or behind a reference")
def owned():
    source = os.path.join(TMP, "owners.cc")
    with open(source, "w") as file:
        file.write(OWNERS)
    for compiler, column, flag in (("g++", 0, "-O0"), ("g++", 1, "-O2"), ("clang++", 1, "-O2")):
        if not shutil.which(compiler):
            continue
        program = "%s-%s%s" % (source, compiler, flag)
        equal(execute([compiler, "-g", flag, source, "-o", program]).status, 0, program)
        for number, briefs in enumerate(OWNED):
            said = headline(record([program, str(number)]).trace)
            check(re.search("^SIGSEGV: %s in " % briefs[column], said), "%s %s %d: %s" % (compiler, flag, number, said))


THROWS = r"""
#include <cstdio>
#include <stdexcept>
#include <string>
struct port_error : std::runtime_error { int port; explicit port_error(int p) : std::runtime_error("no such port: " + std::to_string(p)), port(p) {} };
struct odd { long a, b; };
static void parse(int n)
{
    switch (n) {
    case 0: throw std::out_of_range("an index that is out of range, long enough to be on the heap");
    case 1: throw 42;
    case 2: throw "plain \\ text";
    case 3: throw odd{7, 8};
    default: throw port_error(n);
    }
}
int main()
{
    for (int i = 0; i < 4; i++)
        try { parse(i); } catch (...) { puts("caught"); }
    parse(4);
}
"""


@case("exceptions have type and message, the newest first, and the one on its way is in run's last line")
def thrown():
    source = os.path.join(TMP, "throws.cc")
    with open(source, "w") as file:
        file.write(THROWS)
    program = source[:-3]
    equal(execute([*CXX, "-g", "-O1", source, "-o", program]).status, 0, "build")
    recorded = record([program])
    check(headline(recorded.trace).startswith('SIGABRT: threw port_error: "no such port: 4" in '), headline(recorded.trace))
    found = report(recorded.trace, "-n", "1")
    fits_schema(found, "report.schema.json")
    equal([(t["type"], t["what"]) for t in found["throws"]],
          [("port_error", '"no such port: 4"'), ("odd", None), ("char const*", '"plain \\ text"'), ("int", "42"),
           ("std::out_of_range", '"an index that is out of range, long enough to be on the heap"')], "throws")
    said = text(recorded.trace)
    check(re.search(r'\n  It threw exceptions, the newest first:\n    port_error: "no such port: 4", in parse.* throws.cc:14\n    odd, in ', said), said[:1500])
    check("\n    and 1 older\n" in said, said[:1500])


def crashed(source, compiler, *flags):
    """The trace of a program that is built of a text; None: the compiler is missing."""
    if not shutil.which(compiler):
        return None
    path = os.path.join(fresh_dir("source"), {"gcc": "it.c", "g++": "it.cc", "gfortran": "it.f90"}[compiler])
    with open(path, "w") as file:
        file.write(source)
    done = execute([compiler, "-g", *flags, path, "-o", path + ".bin"])
    equal(done.status, 0, "%s: %s" % (path, done.err))
    return record([path + ".bin"]).trace


CONSTANTS = r"""
int *volatile none;
enum big { SMALL = 200, LARGE = 40000, LARGEST = 0x80000001u };
__attribute__((noipa)) static int f(enum big e, enum big none_of_them)
{
    int a = 200, negative = -1; long b = 40000; unsigned char c = 255; short s = 200; unsigned long m = 0x90000000;
    return *none + (int)e + (int)none_of_them;
}
int main(void) { return f(SMALL, 0x80000002u); }
"""


@case("arrays of characters are strings where they hold text, else bytes with their number")
def characters():
    source = os.path.join(fresh_dir("characters"), "a.c")
    with open(source, "w") as file:
        file.write(r"""
            #include <stdint.h>
            #include <string.h>
            struct packet { uint8_t magic[4]; unsigned char name[8]; char tag[4]; };
            __attribute__((noinline)) static int work(struct packet *p, int *bad)
            {
                uint8_t digest[20] = {0x7f, 0xa4, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p'};
                uint8_t label[8] = "eth0", zero[3] = {0}, *at = digest, mixed[6] = {'a', 'b', 0, 1};
                char binary[8] = {-1, 0, 0, 0, 2}, reused[32] = "a longer line was here", plain[16] = "plain", none[16] = "", empty[4] = {0, 'x'}, utf[8] = "\303\274", latin[8] = "caf\351", exact[4] = {'a', 'b', 'c', 'd'};
                char numbers[4] = {3, 0, 0, 1}, cut[70] = "0123456789012345678901234567890123456789012345678901234567890123\303\274";
                struct packet copy = *p;
                strcpy(reused, "short");
                return *bad + digest[3] + label[0] + zero[0] + *at + mixed[1] + binary[1] + reused[1] + plain[1] + none[1] + empty[1] + utf[1] + latin[1] + exact[1] + numbers[0] + cut[1] + copy.magic[0];
            }
            int main(void)
            {
                struct packet p = {{0xde, 0xad, 0, 1}, "eth1", "ab"};
                return work(&p, 0);
            }
            """)
    program = source[:-2]
    equal(execute([*CC, "-g", "-O0", source, "-o", program]).status, 0, "build")
    frame = report(record([program]).trace, "-n", "1")["threads"][0]["stack"][0]
    found = {v["name"]: v["value"] for v in frame["locals"]}
    check(re.fullmatch(r"0x[0-9a-f]+ \{7f a4 61 62 63 64 65 66 \.\.\.\}", found.pop("at")), "a pointer")
    equal(found, {
        "digest": "20 bytes {7f a4 61 62 63 64 65 66 67 68 69 6a 6b 6c 6d 6e ...}",
        "label": '"eth0"', "zero": "3 bytes {00 00 00}", "mixed": "6 bytes {61 62 00 01 00 00}",
        "binary": "8 bytes {ff 00 00 00 02 00 00 00}", "reused": '"short" and more behind its end', "plain": '"plain"', "none": '""',
        "empty": "4 bytes {00 78 00 00}", "utf": '"\u00fc"', "latin": "8 bytes {63 61 66 e9 00 00 00 00}", "exact": '"abcd"',
        "numbers": "4 bytes {03 00 00 01}", "cut": '"0123456789012345678901234567890123456789012345678901234567890123"...',
        "copy": '{magic = 4 bytes {de ad 00 01}, name = "eth1", tag = "ab"}'}, "values")


@case("of functions inlined in a frame, a variable passed on under its name is one line, and a library's are none")
def passed_on():
    source = os.path.join(fresh_dir("passed"), "a.cc")
    with open(source, "w") as file:
        file.write(r"""
            #include <algorithm>
            #include <vector>
            struct item { int key, other; };
            int *volatile nowhere;
            static bool before(const item &a, const item &b) { return a.key + *nowhere < b.key; }
            static inline __attribute__((always_inline)) void order(std::vector<item> &items, item &last)
            {
                std::sort(items.begin(), items.end(), before);
                last.other++;
            }
            int main(int argc, char **)
            {
                std::vector<item> items;
                item last = {argc, 2};
                for (int i = 0; i < 3; i++)
                    items.push_back({i, argc});
                order(items, last);
                return items[0].key + last.other;
            }
            """)
    program = source[:-3]
    equal(execute([*CXX, "-g", "-O2", "-w", source, "-o", program]).status, 0, "build")
    trace = record([program]).trace
    shown = text(trace).partition("\nStack of")[2].partition("\n\n")[0]
    names = re.findall(r"^         (\w+) = ", shown, re.M)
    for name in ("items", "last"):
        equal(names.count(name), 1, "lines of %s: %s" % (name, shown))
    check(not any(name.startswith("_") for name in names), shown)
    names = re.findall(r"^         (\w+) = ", text(trace, "--all").partition("\nStack of")[2].partition("\n\n")[0], re.M)
    check(any(name.startswith("_") for name in names), "--all: %s" % names)


@case("constants have the sign of their type, not of the form that holds them")
def constants():
    trace = crashed(CONSTANTS, "gcc", "-O2")
    if trace:
        expected = {"a": "200", "negative": "-1", "b": "40000", "c": "255 '\\377'", "s": "200", "m": "2415919104", "e": "SMALL", "none_of_them": "2147483650"}
        has(trace, {("f", name): value for name, value in expected.items()})


TAILS = r"""
#include <stdlib.h>
volatile int zero; int *volatile np; extern void use(int);
__attribute__((noinline,noclone)) int g(int a,int n);
__attribute__((noinline,noclone)) void use(int x){ zero+=x; asm volatile("":::"memory"); asm volatile("xor %%edi,%%edi\n xor %%esi,%%esi":::"rdi","rsi"); }
__attribute__((noinline,noclone)) int f(int a,int n){
  if(n==0){ use(7); return *np; }
  return g(a+1,n-1);
}
__attribute__((noinline,noclone)) int g(int a,int n){ return f(a+10,n); }
int main(int c,char**v){ return f(100,3)+1; }
"""


@case("of functions that jump to each other no value at the entry is told by the caller")
def tails():
    trace = crashed(TAILS, "gcc", "-O2")
    if trace:
        has(trace, {("f", "a"): "<optimized out>"})


main()
