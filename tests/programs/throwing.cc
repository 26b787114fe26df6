// SPDX-License-Identifier: MIT
/* throwing NAME: C++ exceptions, many of them: through many frames, thrown again, kept and thrown elsewhere, out of a handler of a fault, in
 * several threads at once. Counts what is left on the way and what arrives, and says what was wrong. tests/e2e/engine_signals.py */
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

namespace {

/* One on each frame that is left. */
struct guard {
	long &count;
	explicit guard(long &c) : count(c) {}
	~guard() { count++; }
};

NOINLINE long deep(int depth, int value, long &left)
{
	guard here{left};

	if (!depth)
		throw std::runtime_error(std::to_string(value));
	return deep(depth - 1, value, left) + 1;
}

long throw_deep(int rounds, int depth)
{
	long left = 0, bad = 0;

	for (int i = 0; i < rounds; i++) {
		try {
			bad += deep(depth, i, left) != 0;
			bad++;
		} catch (const std::exception &e) {
			bad += std::to_string(i) != e.what();
		}
	}
	return bad + (left != (long)rounds * (depth + 1));
}

long frames() { return throw_deep(1000, 5) + throw_deep(300, 50) + throw_deep(10, 2000); }

/* Caught and thrown again on each third frame, by itself or another in its place. */
NOINLINE void again(int depth, long &left)
{
	guard here{left};

	if (!depth)
		throw 1000;
	try {
		again(depth - 1, left);
	} catch (int &value) {
		if (depth % 3 == 0) {
			value++;
			throw;
		}
		if (depth % 3 == 1)
			throw value + 1;
		throw;
	}
}

long rethrown()
{
	long bad = 0;

	for (int i = 0; i < 200; i++) {
		long left = 0;

		try {
			again(30, left);
			bad++;
		} catch (int value) {
			bad += value != 1020 || left != 31;
		}
	}
	return bad;
}

/* Destructors that throw and catch while another exception is on its way; an exception that is kept. */
struct thrower {
	long &caught;
	~thrower()
	{
		try {
			throw std::bad_alloc();
		} catch (const std::bad_alloc &) {
			caught += std::uncaught_exceptions();
		}
	}
};

NOINLINE void throw_past(long &caught)
{
	thrower a{caught}, b{caught};

	throw std::logic_error("outer");
}

long nested()
{
	std::exception_ptr kept;
	long bad = 0, caught = 0;

	for (int i = 0; i < 300; i++) {
		try {
			throw_past(caught);
		} catch (const std::logic_error &) {
			kept = std::current_exception();
		}
		try {
			std::rethrow_exception(kept);
		} catch (const std::logic_error &e) {
			bad += std::strcmp(e.what(), "outer") != 0;
		}
	}
	return bad + (caught != 600);
}

int *volatile nowhere = reinterpret_cast<int *>(8);

void on_fault(int, siginfo_t *info, void *)
{
	throw info->si_addr;
}

/* The compiler must not see that what faults throws nothing. */
NOINLINE int load(const int *from) { return *const_cast<const volatile int *>(from); }
int (*volatile load_it)(const int *) = load;

NOINLINE int load_deep(int depth, long &left)
{
	guard here{left};

	return depth ? load_deep(depth - 1, left) + 1 : load_it(nowhere);
}

long from_handler()
{
	struct sigaction action = {};
	long bad = 0, left = 0;

	action.sa_sigaction = on_fault;
	action.sa_flags = SA_SIGINFO | SA_NODEFER;
	sigaction(SIGSEGV, &action, nullptr);
	for (int i = 0; i < 200; i++) {
		try {
			load_deep(i % 20, left);
			bad++;
		} catch (void *at) {
			bad += at != nowhere;
		}
#ifndef __clang__
		/* In the very function (-fnon-call-exceptions). */
		try {
			bad += *const_cast<volatile int *>(nowhere) != 0;
			bad++;
		} catch (void *at) {
			bad += at != nowhere;
		}
#endif
	}
	return bad + (left != 10 * (20 * 21 / 2));
}

long in_threads()
{
	std::atomic<long> bad{0};
	std::vector<std::thread> all;

	for (int i = 0; i < 3; i++)
		all.emplace_back([&bad] { bad += throw_deep(100, 20); });
	for (auto &one : all)
		one.join();
	return bad;
}

const struct {
	const char *name;
	long (*run)();
} rows[] = {{"frames", frames}, {"rethrown", rethrown}, {"nested", nested}, {"from-handler", from_handler}, {"in-threads", in_threads}};

} // namespace

int main(int argc, char **argv)
{
	for (const auto &row : rows) {
		if (argc < 2)
			std::puts(row.name);
		else if (!std::strcmp(argv[1], row.name)) {
			std::printf("%ld wrong\n", row.run());
			return 0;
		}
	}
	return argc < 2 ? 0 : 2;
}
