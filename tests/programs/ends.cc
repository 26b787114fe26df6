// SPDX-License-Identifier: MIT
/* ends noexcept|assert|terminate|null|element: ends itself that way. tests/e2e/crashes.py */
#include <cassert>
#include <cstring>
#include <exception>
#include <vector>

static volatile int sink;

namespace core
{
__attribute__((noinline)) static void check(int n)
{
	assert(n == 1);
	sink = n;
}

__attribute__((noinline)) static int read(const int *p)
{
	return *p + 1;
}
}

__attribute__((noinline)) static void careful(int n) noexcept
{
	if (n)
		throw n;
	sink = n;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	try {
		if (!strcmp(how, "noexcept"))
			careful(argc);
		else if (!strcmp(how, "assert"))
			core::check(argc);
		else if (!strcmp(how, "element"))
			sink = std::vector<int>(1)[(size_t)argc];
		else if (!strcmp(how, "null"))
			sink = core::read(argc > 9 ? &argc : nullptr);
		else
			std::terminate();
	} catch (int n) {
		sink = n;
	}
	return 0;
}
