// SPDX-License-Identifier: MIT
// A variable of the environment that is not set becomes a string.
#include <cstdio>
#include <cstdlib>
#include <string>

static std::string setting(const char *name)
{
	return std::string(std::getenv(name)); // HERE
}

struct Paths {
	std::string home, cache;
	Paths() : home(setting("PATH")), cache(setting("SURELY_NOT_SET_ANYWHERE")) {}
};

int main()
{
	Paths paths;
	std::printf("%s %s\n", paths.home.c_str(), paths.cache.c_str());
	return 0;
}
