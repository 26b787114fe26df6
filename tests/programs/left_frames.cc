// SPDX-License-Identifier: MIT
/* left_frames exception|longjmp|exception-and-longjmp|nothing: leaves some frames at once, and crashes in one that was entered long before.
 * tests/e2e/crashes.py */
#include <setjmp.h>
#include <string.h>

#include <stdexcept>

enum { LONG = 20000 };

static volatile long sink;
static volatile long zero;
static jmp_buf landing;

struct guard {
	~guard() { sink++; }
};

__attribute__((noinline)) static void spin()
{
	for (int i = 0; i < LONG; i++)
		sink += i & 3 ? 1 : 2;
}

__attribute__((noinline)) static void leave(bool throws)
{
	sink++;
	if (throws)
		throw std::runtime_error("left");
	longjmp(landing, 1);
}

__attribute__((noinline)) static void inner(bool throws)
{
	leave(throws);
	sink++;
}

/* An exception lands here on its way. */
__attribute__((noinline)) static void middle(bool throws)
{
	guard g;

	inner(throws);
	sink++;
}

__attribute__((noinline)) static void crash()
{
	*reinterpret_cast<volatile int *>(16 + zero) = 1;
	sink++;
}

__attribute__((noinline)) static void work(bool jumps)
{
	spin();
	if (jumps && !setjmp(landing))
		inner(false);
	crash();
	sink++;
}

__attribute__((noinline)) static void outer(const char *how)
{
	spin();
	if (!strncmp(how, "exception", 9)) {
		try {
			middle(true);
		} catch (const std::exception &) {
			sink++;
		}
	}
	if (!strcmp(how, "exception"))
		crash();
	else
		work(strcmp(how, "nothing"));
	sink++;
}

int main(int argc, char **argv)
{
	outer(argc > 1 ? argv[1] : "nothing");
	return 0;
}
