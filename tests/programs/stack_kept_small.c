/* SPDX-License-Identifier: MIT */
/* stack_kept_small HOW: uses up its addresses (RLIMIT_AS), and then a stack that is within its own limit: SIGSEGV.
 * steps: piece after piece, downward; rep: by one instruction;
 * handled: as steps, with a handler on an alternate stack, which ends the program with 7. */
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MB = 1 << 20, ADDRESSES = 200 * MB, STACK = MB / 2, PIECE = 512 };

static void handle(int signo)
{
	(void)signo;
	(void)!write(1, "kept\n", 5);
	_exit(7);
}

static void use_up_addresses(void)
{
	const struct rlimit limit = {ADDRESSES, ADDRESSES};

	setrlimit(RLIMIT_AS, &limit);
	for (size_t n = 64 * MB; n >= 4096; n /= 2)
		while (mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED)
			;
}

static void use_stack(int at_once)
{
	long words[STACK / sizeof(long)];
	size_t count = sizeof words / sizeof *words;
	void *last = &words[count - 1];

	if (at_once)
		__asm__ volatile("std; rep stosq; cld" : "+D"(last), "+c"(count) : "a"(1) : "memory", "cc");
	for (size_t i = sizeof words; i; i -= PIECE)
		((volatile long *)words)[(i - PIECE) / sizeof *words] = 1;
}

int main(int argc, char **argv)
{
	static char room[1 << 16];
	const stack_t other = {.ss_sp = room, .ss_size = sizeof room};
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};

	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "handled")) {
		sigaltstack(&other, NULL);
		sigaction(SIGSEGV, &action, NULL);
	}
	use_up_addresses();
	(void)!write(1, "full\n", 5);
	use_stack(!strcmp(argv[1], "rep"));
	(void)!write(1, "grew\n", 5);
	return 0;
}
