// SPDX-License-Identifier: MIT
// find() did not find, and what it gave is used.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

struct Country {
	std::string capital;
	std::vector<int> *codes;
};

static int first_code(const std::map<std::string, Country> &countries, const std::string &name)
{
	auto found = countries.find(name);
	return found->second.codes->front(); // HERE
}

int main()
{
	std::vector<int> codes{33, 34};
	std::map<std::string, Country> countries;
	countries["France"] = {"Paris", &codes};
	std::printf("%d\n", first_code(countries, "France"));
	std::printf("%d\n", first_code(countries, "Atlantis"));
	return 0;
}
