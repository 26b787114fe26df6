/* SPDX-License-Identifier: MIT */
#include "lib/room_for_stack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

enum {
	ENOUGH = 1 << 20,
	STACK = 8 << 20,
	GUARD = 1 << 16, /* at the end: an overflow is a fault there, too */
};

struct call {
	int (*command)(int argc, char **argv);
	int argc;
	char **argv;
	int result;
};

/* makecontext(3) passes numbers of 32 bits. */
static void make_call(unsigned low, unsigned high)
{
	struct call *c = (struct call *)((uintptr_t)high << 32 | low);

	c->result = c->command(c->argc, c->argv);
}

static bool is_enough(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= ENOUGH;
}

static bool call_on(struct call *c, char *stack)
{
	ucontext_t here, there;

	if (mprotect(stack, GUARD, PROT_NONE) || getcontext(&there))
		return false;
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = STACK;
	there.uc_link = &here;
	makecontext(&there, (void (*)(void))make_call, 2, (unsigned)(uintptr_t)c,
		    (unsigned)((uintptr_t)c >> 32));
	return !swapcontext(&here, &there);
}

int with_room_for_stack(int (*command)(int argc, char **argv), int argc, char **argv)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
	struct call c = {.command = command, .argc = argc, .argv = argv};
	char *stack =
		is_enough() ? MAP_FAILED : mmap(NULL, STACK, PROT_READ | PROT_WRITE, flags, -1, 0);
	bool called = stack != MAP_FAILED && call_on(&c, stack);

	if (stack != MAP_FAILED)
		munmap(stack, STACK);
	return called ? c.result : command(argc, argv);
}
