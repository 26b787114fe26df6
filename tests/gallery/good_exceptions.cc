// SPDX-License-Identifier: MIT
// Exceptions that are caught, as parsers use them.
#include <cstdio>
#include <stdexcept>
#include <string>

static int number(const std::string &text)
{
	try {
		return std::stoi(text);
	} catch (const std::invalid_argument &) {
		return -1;
	}
}

static int sum(std::initializer_list<const char *> texts)
{
	int all = 0;
	for (const char *text : texts) {
		int value = number(text);
		if (value < 0)
			std::printf("%s is no number\n", text);
		else
			all += value;
	}
	return all;
}

int main()
{
	std::printf("%d\n", sum({"1", "two", "3", "four"}));
	return 0;
}
