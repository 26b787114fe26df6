// SPDX-License-Identifier: MIT
/* region NAME [ROUNDS, then without threads]: does something to the addresses at which the engine keeps its own, where natively nothing
 * is, and computes on, in a forked child, too; or scribble-...: writes there. tests/e2e/engine_region.py */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define START ((char *)0x550000000000)
#define DATA ((size_t)4 << 20)
#define SIZE ((size_t)68 << 20)
#define PAGE ((size_t)4096)
#define RECORDS 0x10000
#define TABLE1 0x110000
#define TABLE1_ENTRIES 0x10000
#define NEXT 0x28 /* of the context: where the next record goes */
#define LIMIT 0x30 /* and when one is written */
#define CALL_NEXT 0x70 /* where the next system call is noted */
#define SAMPLE 0xe0 /* and an arrival of a sample */
#define WORDS_TOTAL 0x1800 /* how much was written to standard error */
#define NOTES 0x4000

enum {
	ROUNDS = 300000,
	ADVICE_DONTNEED_LOCKED = 24, /* Linux 5.18 */
	ADVICE_GUARD_INSTALL = 102   /* Linux 6.13 */
};

static int rounds, threads;

__attribute__((noinline)) static unsigned compute(unsigned n)
{
	unsigned sum = 1;

	for (unsigned i = 0; i < n; i++)
		sum = i % 3 ? sum + i : sum * 5;
	return sum;
}

/* Code on a page that the engine has protected: it must be given back though the region is no more. */
static unsigned char *page;

static int call_page(int value)
{
	static const unsigned char code[] = {0xb8, 0, 0, 0, 0, 0xc3}; /* mov value, %eax; ret */

	memcpy(page, code, sizeof code);
	memcpy(page + 1, &value, sizeof value);
	return ((int (*)(void))(void *)page)();
}

static void *map_over(void *at, size_t n)
{
	void *got = mmap(at, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	rounds = 300; /* stepped from here on */
	if (got == at)
		memset(at, 0x5a, n < PAGE ? n : PAGE);
	return got;
}

static void unmap_all(void) { munmap(START, SIZE); }
static void unmap_context(void) { munmap(START, PAGE); }
static void unmap_data(void) { munmap(START, DATA); }
static void unmap_code(void) { munmap(START + DATA, SIZE - DATA); }
static void unmap_much(void) { munmap((void *)0x100000000000, 0x400000000000); }
static void protect_data(void) { mprotect(START, DATA, PROT_NONE); }
static void protect_context(void) { mprotect(START, PAGE, PROT_READ); }
static void protect_code(void) { mprotect(START + DATA, SIZE - DATA, PROT_READ); }
static void empty(void) { madvise(START, SIZE, MADV_DONTNEED); }
static void empty_locked(void) { madvise(START, SIZE, ADVICE_DONTNEED_LOCKED); }
static void guard(void) { madvise(START, SIZE, ADVICE_GUARD_INSTALL); }

static void empty_itself(void)
{
	struct iovec part = {START, SIZE};

	syscall(SYS_process_madvise, syscall(SYS_pidfd_open, getpid(), 0), &part, 1l, (long)MADV_DONTNEED, 0l);
}

static void not_for_children(void) { madvise(START, SIZE, MADV_DONTFORK); }
static void move_away(void) { mremap(START, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)0x300000000000); }
static void map_all(void) { map_over(START, SIZE); }
static void map_context(void) { map_over(START, PAGE); }
static void map_code(void) { map_over(START + DATA, SIZE - DATA); }

static void move_there(void)
{
	char *from = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	rounds = 300;
	mremap(from, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, START + DATA);
}

/* A segment that ends behind the region's first page, or before that. */
static char *attach(char *at, size_t size)
{
	int id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);
	char *got = shmat(id, at, SHM_REMAP);

	shmctl(id, IPC_RMID, NULL);
	if (got != at)
		exit(3);
	return got;
}

static void attach_over(void)
{
	rounds = 300;
	attach(START - 2 * SIZE, 2 * SIZE + PAGE)[2 * SIZE] = 0x5a;
}

static void attach_before(void) { attach(START - SIZE / 2, SIZE / 2)[0] = 0x5a; }

static const struct {
	const char *name;
	void (*run)(void);
} table[] = {
	{"unmap-all", unmap_all}, {"unmap-context", unmap_context}, {"unmap-data", unmap_data}, {"unmap-code", unmap_code},
	{"unmap-much", unmap_much}, {"protect-data", protect_data}, {"protect-context", protect_context}, {"protect-code", protect_code},
	{"empty", empty}, {"empty-locked", empty_locked}, {"empty-itself", empty_itself}, {"guard", guard},
	{"not-for-children", not_for_children}, {"move-away", move_away}, {"map-all", map_all},
	{"map-context", map_context}, {"map-code", map_code}, {"move-there", move_there},
	{"attach-over", attach_over}, {"attach-before", attach_before},
};

static void *thread(void *arg)
{
	(void)arg;
	return (void *)(uintptr_t)compute(300);
}

static void go_on(const char *who)
{
	pthread_t t;
	void *result = NULL;

	if (threads) {
		pthread_create(&t, NULL, thread, NULL);
		pthread_join(t, &result);
	}
	printf("%s %u %d %u\n", who, compute((unsigned)rounds), call_page(rounds), (unsigned)(uintptr_t)result);
	fflush(stdout);
}

/* Writes over what the engine notes of this very stretch, without a stop between: all its code has run before. */
__attribute__((noinline)) static void scribble(volatile uint64_t *at, size_t n, uint64_t value)
{
	for (size_t i = 0; i < n; i++)
		at[i] = value;
}

static void on_fault(int signo)
{
	(void)signo;
	go_on("handler");
	_exit(5);
}

static const struct scribble {
	const char *name;
	size_t at, n; /* in the region, how many words */
	uint64_t value;
} scribbles[] = {
	{"scribble-context", NEXT, 1, 8},
	{"scribble-limit", LIMIT, 1, 0},
	{"scribble-table", TABLE1, TABLE1_ENTRIES, 0x5a5a5a5a5a5a5a5a},
	{"scribble-records", RECORDS, 1000, 0x5a5a5a5a5a5a5a5a},
	{"scribble-next-high", NEXT, 1, INT64_MAX},
	{"scribble-next-low", NEXT, 1, 1ull << 63},
	{"scribble-calls-high", CALL_NEXT, 1, INT64_MAX},
	{"scribble-calls-low", CALL_NEXT, 1, 1ull << 63},
	{"scribble-sample-high", SAMPLE, 1, INT64_MAX},
	{"scribble-sample-low", SAMPLE, 1, 1ull << 63},
	{"scribble-notes", NOTES, 6000, INT64_MAX},
	{"scribble-words", WORDS_TOTAL, 1, INT64_MAX},
};

static int scribble_as(const struct scribble *s)
{
	static uint64_t elsewhere[1];

	signal(SIGSEGV, on_fault);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 100; i++)
			compute(10);
		scribble(round ? (void *)(START + s->at) : elsewhere, round ? s->n : 1, s->value);
	}
	go_on("written");
	return 0;
}

static int scribbles_named(const char *name)
{
	for (size_t i = 0; i < sizeof scribbles / sizeof scribbles[0]; i++)
		if (!strcmp(scribbles[i].name, name))
			return scribble_as(&scribbles[i]);
	return 99;
}

int main(int argc, char **argv)
{
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	rounds = 3000;
	if (argc > 1 && !strncmp(argv[1], "scribble", 8))
		return scribbles_named(argv[1]);
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		int status = 0;

		if (argc < 2) {
			puts(table[i].name);
			continue;
		}
		if (strcmp(argv[1], table[i].name))
			continue;
		rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
		threads = argc == 2;
		call_page(7);
		table[i].run();
		go_on("parent");
		if (!fork()) {
			go_on("child");
			_exit(3);
		}
		wait(&status);
		printf("%d\n", WEXITSTATUS(status));
	}
	return 0;
}
