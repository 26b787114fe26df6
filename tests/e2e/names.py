#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Names of functions that are inlined: those that they have where they are not.
from e2e import *

SOURCE = r"""
    #include <cstdarg>
    namespace city {
    struct Item { int *p; };
    namespace { struct Shop { int *q; HOW int peek(const char *const name, unsigned long n, int (*f)(int)) const; }; }
    HOW int Shop::peek(const char *const name, unsigned long n, int (*f)(int)) const { return *q + name[n] + f(1); } // @peek
    template <class T> struct Box { T *p; static HOW T get(const Box &b, volatile T *, short, unsigned, ...) { return *b.p; } }; // @get
    static HOW int price(const Item *i, const Item &other, Item &&third) { return *i->p + *other.p + *third.p; } // @price
    static HOW int nothing() { return *static_cast<volatile int *>(nullptr); } // @nothing
    }
    extern "C" { static HOW int plain(volatile int *p) { return *p; } }
    extern "C" { HOW int seen(volatile int *p) { return *p; } }
    static int same(int x) { return x; }
    int main(int argc, char **argv)
    {
        city::Item i{nullptr};
        city::Shop s{nullptr};
        switch (argc) {
        case 1: return city::price(&i, i, city::Item{nullptr}) + 1;
        case 2: return s.peek(argv[0], 0, same) + 1;
        case 3: return city::nothing() + 1;
        case 4: return city::Box<int>::get(city::Box<int>{nullptr}, nullptr, 1, 2) + 1;
        case 5: return seen(i.p) + 1;
        }
        return plain(i.p) + 1;
    }
    """
INLINE, CALL = "__attribute__((always_inline)) inline", "__attribute__((noinline))"


def program(how, *flags, compiler=CXX):
    path = os.path.join(fresh_dir("names"), "names.cc")
    with open(path, "w") as file:
        file.write(SOURCE.replace("HOW", how))
    out = path[:-3]
    run = subprocess.run([*compiler, *flags, path, "-o", out], capture_output=True, text=True)
    equal(run.returncode, 0, "compiler: " + run.stderr)
    return out


def crashed(path, arguments):
    """The newest frame of a crash: the names of what is inlined there, and of the function; the signature."""
    result = record([path, *["x"] * arguments])
    equal(result.status, -signal.SIGSEGV, "end of %s with %d" % (path, arguments))
    frame = report(result.trace, "-n", 1)["threads"][0]["stack"][0]
    return [i["function"] for i in frame["inlined"]], frame["function"], btview("--signature", result.trace).out.decode().split(None, 1)[1]


@case("C++: a function is called the same whether or not it is inlined, and so is a failure in it")
def alike():
    inlined, called = program(INLINE, "-g", "-O0"), program(CALL, "-g", "-O0")
    for arguments, name in enumerate(["city::price(city::Item const*, city::Item const&, city::Item&&)",
                                      "city::(anonymous namespace)::Shop::peek(char const*, unsigned long, ...) const", # a pointer to a function has no name
                                      "city::nothing()", "city::Box<int>::get(city::Box<int> const&, int volatile*, short, unsigned int, ...)",
                                      "seen"]):
        names, function, signature = crashed(inlined, arguments)
        equal((names, function), ([name], "main"), "inlined")
        names, function, same = crashed(called, arguments)
        equal((names, function.replace("int (*)(int)", "...")), ([], name), "called")
        equal(signature, same, "signature")


@case("C++ with little debug information: an inlined function has its parentheses, as debuggers show it")
def little():
    for compiler in (CXX, ["clang++"]):
        if shutil.which(compiler[0]):
            path = program(INLINE, "-g1", "-O0", compiler=compiler)
            check(crashed(path, 2)[0] in (["nothing()"], ["city::nothing()"]), "%s: %s" % (compiler, crashed(path, 2)))
            equal(crashed(path, 0)[2].split()[3], "price", "%s: signature's function" % compiler)


@case("C++ through dwz: what is common to units has its whole name")
def through_dwz():
    if not shutil.which("dwz"):
        raise Skip("dwz is missing")
    folder = fresh_dir("dwz")
    units = []
    for name in ("one", "two"):
        units.append(os.path.join(folder, name + ".cc"))
        with open(units[-1], "w") as file:
            file.write("#include <string>\n#include <vector>\n" + SOURCE.replace("HOW", INLINE).replace("int main", "int main" if name == "one" else "int " + name)
                       .replace("city::nothing() +", "city::nothing() + (int)std::vector<std::string>(2).size() +"))
    out = os.path.join(folder, "program")
    run = subprocess.run([*CXX, "-g", "-O0", *units, "-o", out], capture_output=True, text=True)
    equal(run.returncode, 0, "compiler: " + run.stderr)
    size = os.path.getsize(out)
    shutil.copy(out, out + ".2")
    subprocess.run(["dwz", out, out + ".2"], check=True)
    subprocess.run(["dwz", "-m", os.path.join(folder, "common"), out, out + ".2"], check=True)
    check(os.path.getsize(out) < size * 0.8, "size through dwz: %d of %d" % (os.path.getsize(out), size))
    equal(crashed(out, 0)[0], ["city::price(city::Item const*, city::Item const&, city::Item&&)"], "inlined")
    equal(crashed(out, 3)[0], ["city::Box<int>::get(city::Box<int> const&, int volatile*, short, unsigned int, ...)"], "inlined")


if __name__ == "__main__":
    main()
