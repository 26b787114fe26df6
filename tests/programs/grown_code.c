/* SPDX-License-Identifier: MIT */
/* Code where nothing was known to be mapped, and which changes: on pages that a stack (argument: stack) or a mapping like one (mapping) has grown
 * over. It is called while it can be written, changed, and called where it cannot any more. Needs an executable stack (-z execstack). */
#define _GNU_SOURCE
#include <alloca.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, GROWN = 20, ROOM = 300, STACK = 1 << 20, CALLS = 50 };

static void write_function(volatile uint8_t *at, uint8_t result)
{
	const uint8_t code[] = {0xb8, result, 0, 0, 0, 0xc3}; /* mov eax, result; ret */

	for (size_t i = 0; i < sizeof code; i++)
		at[i] = code[i];
}

static int call(uint8_t *at)
{
	int result = 0;

	for (int i = 0; i < CALLS; i++)
		result = ((int (*)(void))(uintptr_t)at)();
	return result;
}

/* Down from its top, page by page. */
static void touch(volatile uint8_t *top, int pages)
{
	for (int i = 1; i <= pages; i++)
		top[-i * PAGE] = 1;
}

static uint8_t *grown_mapping(void)
{
	uint8_t *room = mmap(NULL, ROOM * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *top;

	munmap(room, ROOM * PAGE);
	top = mmap(room + (ROOM - 1) * PAGE, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED, -1, 0);
	touch(top, GROWN);
	return top - GROWN / 2 * PAGE;
}

static void try(uint8_t *at)
{
	int first, second, third;

	write_function(at, 1);
	first = call(at);
	write_function(at, 2);
	second = call(at);
	write_function(at, 3);
	if (mprotect(at, PAGE, PROT_READ | PROT_EXEC))
		perror("mprotect");
	third = call(at);
	printf("%d %d %d\n", first, second, third);
	mprotect(at, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
}

static __attribute__((noinline)) void on_stack(void)
{
	uint8_t *room = alloca(STACK);

	touch(room + STACK, STACK / PAGE);
	try((uint8_t *)(((uintptr_t)room + STACK / 2) & ~(uintptr_t)(PAGE - 1)));
}

int main(int argc, char **argv)
{
	puts("begins"); /* mappings are known by now */
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "mapping"))
		try(grown_mapping());
	else
		on_stack();
	return 0;
}
