// SPDX-License-Identifier: MIT
/* twice_mapped CALLERS COMPUTING VERSIONS: code in a memory file that is mapped twice, to write to and to run, as JITs have it that want no
 * memory that is both. CALLERS threads run it, COMPUTING others compute meanwhile, and the first thread writes VERSIONS of it, one function
 * each, when all have run what was there before. Prints how much was wrong. tests/e2e/parallel.py */
#include <cpuid.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	FUNCTIONS = 64,
	FUNCTION = 64, /* bytes */
	NUMBER_AT = 4, /* of the number that it gives, which is aligned: it is written at once */
	ROUNDS = 20,
	MOST = 16, /* threads of either kind */
};

struct worker {
	pthread_t thread;
	int number;
	long wrong;
};

static unsigned char *writable, *runs;
static atomic_int begun[FUNCTIONS], written[FUNCTIONS];
static atomic_bool all_written;
static atomic_long rounds[MOST], left;

static void map_twice(void)
{
	static const unsigned char code[] = {0xeb, 1, 0, 0xb8, 0, 0, 0, 0, 0xc3}; /* jmp over; mov eax, 0; ret */
	int fd = memfd_create("code", 0);

	if (fd < 0 || ftruncate(fd, FUNCTIONS * FUNCTION))
		exit(3);
	writable = mmap(NULL, FUNCTIONS * FUNCTION, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	runs = mmap(NULL, FUNCTIONS * FUNCTION, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	if (writable == MAP_FAILED || runs == MAP_FAILED)
		exit(3);
	for (int i = 0; i < FUNCTIONS; i++)
		memcpy(writable + FUNCTION * i, code, sizeof code);
}

/* It gives a version that was there when it was called, or came meanwhile. */
static long call_one(int i)
{
	int before = atomic_load(&written[i]), got;
	unsigned a, b, c, d;

	__cpuid(0, a, b, c, d); /* else a processor may run what it has read earlier */
	got = ((int (*)(void))(uintptr_t)(runs + FUNCTION * i))();
	return got < before || got > atomic_load(&begun[i]);
}

static void *call_all(void *arg)
{
	struct worker *w = arg;

	for (long n = 0; n < ROUNDS || !atomic_load(&all_written); n++) {
		for (int i = 0; i < FUNCTIONS; i++)
			w->wrong += call_one((i + 7 * w->number) % FUNCTIONS);
		atomic_fetch_add(&rounds[w->number], 1);
		sched_yield();
	}
	atomic_fetch_sub(&left, 1);
	return NULL;
}

static void *compute(void *arg)
{
	volatile long sum = 1;

	(void)arg;
	while (atomic_load(&left))
		for (int i = 0; i < 1000; i++)
			sum = i % 3 ? sum + i : sum * 5 % 1000003;
	return NULL;
}

static void start(struct worker *w, int n, void *(*run)(void *))
{
	for (int i = 0; i < n; i++) {
		w[i].number = i;
		if (pthread_create(&w[i].thread, NULL, run, &w[i]))
			exit(3);
	}
}

static long join(struct worker *w, int n)
{
	long wrong = 0;

	for (int i = 0; i < n; i++) {
		pthread_join(w[i].thread, NULL);
		wrong += w[i].wrong;
	}
	return wrong;
}

static void write_version(int version, int callers)
{
	int i = version % FUNCTIONS;
	long before[MOST];

	for (int k = 0; k < callers; k++)
		before[k] = atomic_load(&rounds[k]);
	atomic_store(&begun[i], version);
	*(volatile int *)(void *)(writable + FUNCTION * i + NUMBER_AT) = version;
	atomic_store(&written[i], version);
	for (int k = 0; k < callers; k++)
		while (atomic_load(&rounds[k]) < before[k] + 2)
			sched_yield();
}

int main(int argc, char **argv)
{
	int callers = argc > 3 ? atoi(argv[1]) : 0, computing = argc > 3 ? atoi(argv[2]) : 0, versions = argc > 3 ? atoi(argv[3]) : 0;
	struct worker call[MOST] = {{0}}, other[MOST] = {{0}};
	long wrong;

	if (callers < 1 || callers > MOST || computing > MOST)
		return 2;
	map_twice();
	left = callers;
	start(other, computing, compute);
	start(call, callers, call_all);
	for (int version = 1; version <= versions; version++)
		write_version(version, callers);
	atomic_store(&all_written, true);
	wrong = join(call, callers);
	printf("%ld wrong\n", wrong + join(other, computing));
	return 0;
}
