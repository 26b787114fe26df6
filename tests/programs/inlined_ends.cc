// SPDX-License-Identifier: MIT
/* inlined_ends throw|abort|null: ends itself in what is inlined into functions of the C++ library. tests/e2e/crashes.py */
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

struct item {
	const int *key;
};

namespace shop
{
struct by_key {
	bool operator()(const item &a, const item &b) const
	{
		return *a.key < *b.key; /* @compare */
	}
};
}

static void sort_items(const char *how)
{
	static int keys[40];
	std::vector<item> items(40);

	for (int i = 0; i < 40; i++)
		items[i].key = i == 33 && !std::strcmp(how, "null") ? nullptr : &keys[i];
	std::sort(items.begin(), items.end(), shop::by_key()); /* @sort */
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	std::thread thread([=] {
		std::vector<int> values(3);

		if (!std::strcmp(how, "throw"))
			values.at(argc + 7) = 1; /* @throw */
		if (!std::strcmp(how, "abort"))
			std::abort(); /* @abort */
		sort_items(how); /* @null */
	});
	thread.join();
	return 0;
}
