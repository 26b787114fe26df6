// SPDX-License-Identifier: MIT
/* exceptions NAME: C++ that throws, catches, inlines, and then crashes. tests/e2e/crashes.py */
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

namespace shop {

struct item {
	long number;
	long price;
};

/* Inlined twice over: the report must name both functions at the faulting address. */
struct shelf {
	item *items;

	__attribute__((always_inline)) inline item &at(long i) const { return items[i]; }
	__attribute__((always_inline)) inline long price(long i) const
	{
		/* Volatile, or the compiler makes the load the caller's. */
		return *const_cast<volatile long *>(&at(i).price); /* @inlined */
	}
};

shelf *volatile empty = new shelf{nullptr};

NOINLINE long total(const shelf &s, long first)
{
	long sum = 1;

	sum += s.price(first);
	return sum;
}

struct guard {
	const char *name;
	~guard() { std::puts(name); }
};

NOINLINE void parse(const std::string &text)
{
	guard left{"parse left"};

	if (text.size() > 3)
		throw std::runtime_error("too long: " + text); /* @uncaught */
}

NOINLINE void caught()
{
	try {
		parse("receipt");
	} catch (const std::exception &e) {
		std::puts(e.what());
	}
	std::fflush(stdout);
}

} // namespace shop

int main(int argc, char **argv)
{
	std::string name = argc > 1 ? argv[1] : "";

	if (name == "inlined") {
		shop::caught();
		return (int)shop::total(*shop::empty, 2);
	}
	if (name == "uncaught")
		shop::parse("receipt");
	return 2;
}
