// SPDX-License-Identifier: MIT
/* parallel_code NAME: threads that run side by side while code changes under them, or what the engine has in their memory goes. Prints how much
 * was wrong. tests/e2e/parallel.py */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parallel.inc"

/* ---- Code that changes ---- */

static unsigned char *common;

/* Each its own function, all on one page. */
static void *rewrite_own(void *arg)
{
	struct worker *w = arg;
	unsigned char *at = common + 64 * w->number;

	for (int i = 0; i < TIMES; i++) {
		encode(at, i);
		for (int k = 0; k < 5; k++)
			w->wrong += call(at, k) != i + k;
	}
	return NULL;
}

static long same_page(void)
{
	common = pages(1, RWX);
	return run_all(rewrite_own);
}

/* The first writes, the others call what it has written, when they are told. */
static pthread_barrier_t barrier;
static atomic_long version, seen[THREADS];

static void *write_for_others(void *arg)
{
	struct worker *w = arg;

	for (long i = 1; i <= TIMES; i++) {
		if (!w->number) {
			encode(common, (int32_t)i);
			atomic_store(&version, i);
			for (int k = 1; k < THREADS; k++)
				while (atomic_load(&seen[k]) != i)
					sched_yield();
			continue;
		}
		while (atomic_load(&version) != i)
			sched_yield();
		w->wrong += call(common, 3) != i + 3;
		atomic_store(&seen[w->number], i);
	}
	return NULL;
}

static long for_others(void)
{
	common = pages(1, RWX);
	return run_all(write_for_others);
}

/* The first makes a new mapping for each function, and takes it away when all have called it: the next comes to the same place. */
static _Atomic(unsigned char *) current;

static void *map_for_others(void *arg)
{
	struct worker *w = arg;

	for (long i = 1; i <= FEW; i++) {
		if (!w->number) {
			unsigned char *at = pages(1, PROT_READ | PROT_WRITE);

			encode(at, (int32_t)i);
			mprotect(at, PAGE, PROT_READ | PROT_EXEC);
			atomic_store(&current, at);
			atomic_store(&version, i);
			for (int k = 1; k < THREADS; k++)
				while (atomic_load(&seen[k]) != i)
					sched_yield();
			munmap(at, PAGE);
			continue;
		}
		while (atomic_load(&version) != i)
			sched_yield();
		w->wrong += call(atomic_load(&current), 3) != i + 3;
		atomic_store(&seen[w->number], i);
	}
	return NULL;
}

static long mapped(void)
{
	return run_all(map_for_others);
}

/* Two mappings of one memory, one to write to, one to run. */
static void *write_elsewhere(void *arg)
{
	struct worker *w = arg;
	int fd = (int)syscall(SYS_memfd_create, "code", 0);
	unsigned char *writable, *runs;

	if (fd < 0 || ftruncate(fd, PAGE))
		exit(3);
	writable = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	runs = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	if (writable == MAP_FAILED || runs == MAP_FAILED)
		exit(3);
	close(fd);
	for (int i = 0; i < TIMES; i++) {
		encode(writable, i);
		w->wrong += call(runs, 7) != i + 7;
	}
	return NULL;
}

static long two_mappings(void)
{
	return run_all(write_elsewhere);
}

/* The first writes a number into code, and then that it has; the others wait for that in this very code, order, and give the number. */
static unsigned char *writable, *runs;
static volatile int number;

static void *give_number(void *arg)
{
	/* f(volatile int *at, int awaited): push rbx; 1: mov eax, [rdi]; cmp eax, esi; jne 1b; xor eax, eax; cpuid; mov eax, 0; pop rbx; ret */
	static const unsigned char code[] = {0x53, 0x8b, 0x07, 0x39, 0xf0, 0x75, 0xfa, 0x31, 0xc0, 0x0f, 0xa2, 0xb8, 0, 0, 0, 0, 0x5b, 0xc3};
	struct worker *w = arg;

	if (!w->number)
		memcpy(writable, code, sizeof code);
	pthread_barrier_wait(&barrier);
	for (int i = 1; i <= TIMES; i++) {
		if (w->number) {
			w->wrong += ((int (*)(volatile int *, int))(uintptr_t)runs)(&number, i) != i;
			atomic_store(&seen[w->number], i);
			continue;
		}
		memcpy(writable + 12, &i, sizeof i);
		number = i;
		for (int k = 1; k < THREADS - 1; k++)
			while (atomic_load(&seen[k]) != i)
				sched_yield();
	}
	return NULL;
}

static long give_numbers(void)
{
	struct worker w[THREADS - 1] = {{0}};

	pthread_barrier_init(&barrier, NULL, THREADS - 1);
	start(w, THREADS - 1, give_number);
	return join(w, THREADS - 1);
}

static long rewritten(void)
{
	writable = runs = pages(1, RWX);
	return give_numbers();
}

static long rewritten_elsewhere(void)
{
	int fd = (int)syscall(SYS_memfd_create, "code", 0);

	if (fd < 0 || ftruncate(fd, PAGE))
		exit(3);
	writable = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	runs = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	if (writable == MAP_FAILED || runs == MAP_FAILED)
		exit(3);
	return give_numbers();
}

/* One system call writes code, and then that it has; who runs on that page comes to the code from what takes longer than the call, without
 * a branch between. */
static unsigned char *slow_page;
static volatile int told, at_it;

static void *run_slowly(void *arg)
{
	/* long f(char *to, long n, volatile int *told): fills n bytes, looks whether it was told, orders, gives {number, told} */
	static const unsigned char code[] = {
		0x53, 0x49, 0x89, 0xd0, 0x48, 0x89, 0xf1, 0x31, 0xc0, 0xf3, 0xaa, /* push rbx; mov r8, rdx; mov rcx, rsi; xor eax, eax; rep stosb */
		0x45, 0x8b, 0x00, 0x31, 0xc0, 0x0f, 0xa2,	    /* mov r8d, [r8]; xor eax, eax; cpuid */
		0xb8, 1, 0, 0, 0,				    /* mov eax, 1 */
		0x49, 0xc1, 0xe0, 0x20, 0x4c, 0x09, 0xc0, 0x5b, 0xc3, /* shl r8, 32; or rax, r8; pop rbx; ret */
	};
	enum {
		BYTES = 64 << 20,
		RUNS = 3,
	};
	struct worker *w = arg;
	char *bytes = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long seen;

	if (bytes == MAP_FAILED)
		exit(3);
	memcpy(slow_page, code, sizeof code);
	for (int i = 0; i < RUNS; i++) {
		at_it = i == RUNS - 1;
		seen = ((long (*)(char *, long, volatile int *))(uintptr_t)slow_page)(bytes, i < RUNS - 1 ? 4096 : BYTES, &told);
		w->wrong += (seen & INT32_MAX) != ((seen >> 32) ? 2 : 1);
	}
	while (!told)
		sched_yield();
	w->wrong += (((long (*)(char *, long, volatile int *))(uintptr_t)slow_page)(bytes, 1, &told) & INT32_MAX) != 2;
	return NULL;
}

static long one_call(void)
{
	static const struct {
		int number, told;
	} written = {2, 1};
	struct worker w = {0};
	struct iovec to[2] = {{NULL, sizeof(int)}, {(void *)(uintptr_t)&told, sizeof(int)}};
	int ends[2];

	slow_page = pages(1, RWX);
	to[0].iov_base = slow_page + 19; /* mov eax's */
	if (pipe(ends) || write(ends[1], &written, sizeof written) != sizeof written)
		exit(3);
	start(&w, 1, run_slowly);
	while (!at_it)
		;
	if (readv(ends[0], to, 2) != sizeof written)
		exit(3);
	return join(&w, 1);
}

/* One runs code, one has the kernel write the same code over it, one forks: the child writes to it and runs it. */
enum {
	COPIED = 8, /* pages */
	FORKS = 150,
};
static int file_of_code;
static atomic_long done;

static void copied_code(void)
{
	common = pages(COPIED, RWX);
	for (int i = 0; i < COPIED; i++)
		encode(common + i * PAGE, 1);
	file_of_code = (int)syscall(SYS_memfd_create, "code", 0);
	if (file_of_code < 0 || write(file_of_code, common, 8) != 8)
		exit(3);
}

static void *run_copied(void *arg)
{
	struct worker *w = arg;

	for (long i = 0; !atomic_load(&done); i++) {
		unsigned char *at = common + i % COPIED * PAGE;

		if (w->number)
			w->wrong += pread(file_of_code, at, 8, 0) != 8;
		w->wrong += call(at, 3) != 4;
	}
	return NULL;
}

static long write_copied(void)
{
	long wrong = 0;

	for (int i = 0; i < COPIED; i++) {
		common[i * PAGE + 3] = 5;
		wrong += call(common + i * PAGE, 3) != 8;
	}
	return wrong;
}

static long forks(void)
{
	struct worker w[2] = {{0}};
	long wrong = 0;

	copied_code();
	start(w, 2, run_copied);
	for (int i = 0; i < FORKS; i++) {
		pid_t child = fork();
		int status = 1;

		if (!child)
			_exit((int)write_copied());
		wrong += waitpid(child, &status, 0) != child || status;
	}
	atomic_store(&done, 1);
	return wrong + join(w, 2);
}

/* Two run code, one has the kernel write the same over it, while the process is stopped and goes on, again and again. */
static void *run_stopped(void *arg)
{
	struct worker *w = arg;

	for (long i = 0; !atomic_load(&done); i++) {
		unsigned char *at = common + i % COPIED * PAGE;

		if (!w->number)
			w->wrong += pread(file_of_code, at, 8, 0) != 8;
		w->wrong += call(at, 3) != 4;
	}
	return NULL;
}

static long be_stopped(void)
{
	struct worker w[THREADS - 1] = {{0}};
	sigset_t end;
	int signo;

	sigemptyset(&end);
	sigaddset(&end, SIGUSR1);
	sigprocmask(SIG_BLOCK, &end, NULL);
	start(w, THREADS - 1, run_stopped);
	sigwait(&end, &signo);
	atomic_store(&done, 1);
	return join(w, THREADS - 1);
}

static long stopped(void)
{
	int status;
	pid_t child;

	copied_code();
	child = fork();
	if (!child)
		_exit(be_stopped() != 0);
	usleep(100000);
	for (int i = 0; i < TIMES; i++) {
		kill(child, SIGSTOP);
		if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status))
			exit(3);
		kill(child, SIGCONT);
		usleep(2000);
	}
	kill(child, SIGUSR1);
	return waitpid(child, &status, 0) != child || status;
}

/* ---- The addresses at which the engine keeps its own are taken away, or taken ---- */

#define REGION ((char *)0x550000000000)
#define REGION_SIZE ((size_t)68 << 20)

static long compute(long n)
{
	long sum = 1;

	for (long i = 0; i < n; i++)
		sum = i % 3 ? sum + i : sum * 5 % 1000003;
	return sum;
}

static void *compute_until_done(void *arg)
{
	struct worker *w = arg;
	long right = 0;

	while (!atomic_load(&done)) {
		long sum = compute(20);

		w->wrong += right && sum != right;
		right = sum;
		seen[w->number]++;
	}
	return NULL;
}

/* While the others compute, and again when all have gone on. */
static long region(void (*change)(void), int times)
{
	struct worker w[THREADS] = {{0}};
	long before[THREADS];

	start(w, THREADS, compute_until_done);
	for (int i = 0; i < times; i++) {
		for (int k = 0; k < THREADS; k++)
			before[k] = seen[k];
		change();
		for (int k = 0; k < THREADS; k++)
			while (seen[k] < before[k] + 3)
				sched_yield();
	}
	atomic_store(&done, 1);
	return join(w, THREADS);
}

static void unmap_region(void) { munmap(REGION, REGION_SIZE); }

static void map_over_region(void)
{
	mmap(REGION, REGION_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static long unmapped(void) { return region(unmap_region, 3); }
static long mapped_over(void) { return region(map_over_region, 1); }

static const struct row rows[] = {
	{"same-page", same_page}, {"for-others", for_others}, {"mapped", mapped}, {"two-mappings", two_mappings},
	{"one-call", one_call}, {"rewritten", rewritten}, {"rewritten-elsewhere", rewritten_elsewhere}, {"forks", forks}, {"stopped", stopped},
	{"unmapped", unmapped}, {"mapped-over", mapped_over},
};

int main(int argc, char **argv) { return run_case(argc, argv, rows, sizeof rows / sizeof rows[0]); }
