// SPDX-License-Identifier: MIT
// A thread object goes while its thread runs.
#include <chrono>
#include <cstdio>
#include <thread>

class Ticker {
public:
	Ticker() : thread_([] { std::this_thread::sleep_for(std::chrono::seconds(1)); }) {}

private:
	std::thread thread_;
};

static void work()
{
	Ticker ticker;
	std::puts("working");
} // HERE

int main()
{
	work();
	return 0;
}
