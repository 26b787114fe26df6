/* SPDX-License-Identifier: MIT */
/* Dies on a stack that is not simply its own: core_stacks MODE. What a core file of each must give: tests/e2e/import_core.py. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline))

enum {
	SIZE = 1 << 16,
};

static int *volatile nowhere;
static volatile int zero, sink;
static ucontext_t here, there;

/* A compiler may keep of an array what is used. */
static void use(volatile char *all)
{
	__asm__ volatile("" : : "r"(all) : "memory");
}

NOINLINE static void broken(void)
{
	*nowhere = 1;
	sink = 1;
}

NOINLINE static void caller(void)
{
	broken();
	sink = 2;
}

/* So large that rsp lies below the stack's last page when that is missed. */
NOINLINE static int descend(int depth)
{
	volatile char room[16384];

	use(room);
	room[0] = (char)depth;
	return zero ? room[0] : descend(depth + 1) + room[0];
}

static void overflow(void)
{
	sink = descend(0);
}

static void give_up(int signo)
{
	(void)signo;
	abort();
}

static void raise_within(int signo)
{
	(void)signo;
	raise(SIGUSR1);
	sink = 3;
}

static void handle(void (*on_fault)(int), void *on)
{
	stack_t stack = {.ss_sp = on, .ss_size = SIZE};
	struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};

	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &action, NULL);
	action.sa_handler = give_up;
	sigaction(SIGUSR1, &action, NULL);
}

static void handled(void)
{
	handle(give_up, malloc(SIZE));
	caller();
}

static void handled_twice(void)
{
	handle(raise_within, malloc(SIZE));
	caller();
}

static void handled_overflow(void)
{
	handle(give_up, malloc(SIZE));
	overflow();
}

static char *map(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void run_on(char *stack, size_t size, void (*function)(void))
{
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = size;
	makecontext(&there, function, 0);
	swapcontext(&here, &there);
}

static void elsewhere(void)
{
	run_on(map(SIZE), SIZE, caller);
}

NOINLINE static int descend_some(int depth)
{
	volatile char room[16384];

	use(room);
	room[0] = (char)depth;
	if (!depth)
		broken();
	return depth ? descend_some(depth - 1) + room[0] : room[0];
}

static void deep(void)
{
	sink = descend_some(13);
}

/* The stack for signals, and right above it the one that is interrupted, of which so much is in use that not all lies near the former. */
static void together(void)
{
	char *both = map(6 * SIZE);

	handle(give_up, both);
	run_on(both + SIZE, 5 * SIZE, deep);
}

static int compare(const void *a, const void *b)
{
	(void)a;
	(void)b;
	abort();
}

/* Between it and main there is code of a library. */
static void called_back(void)
{
	int numbers[] = {2, 1, 3};

	qsort(numbers, 3, sizeof numbers[0], compare);
	sink = 4;
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{"overflow", overflow},
	{"handled", handled},
	{"handled-twice", handled_twice},
	{"handled-overflow", handled_overflow},
	{"together", together},
	{"elsewhere", elsewhere},
	{"called-back", called_back},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
		if (argc > 1 && !strcmp(argv[1], modes[i].name))
			modes[i].run();
	return sink;
}
