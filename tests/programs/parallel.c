// SPDX-License-Identifier: MIT
/* parallel NAME: threads that run side by side and look whether what they share is as it should be. Prints how much was wrong.
 * tests/e2e/parallel.py */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	THREADS = 4,
	PAGE = 4096,
	TIMES = 200,
	HANDED = 60,
	FEW = 4, /* where more threads spin than there may be processors */
	RWX = PROT_READ | PROT_WRITE | PROT_EXEC,
};

extern char **environ;

typedef long function(long);

struct worker {
	pthread_t thread;
	long number, wrong;
};

static void start(struct worker *w, long n, void *(*run)(void *))
{
	for (long i = 0; i < n; i++) {
		w[i].number = i;
		if (pthread_create(&w[i].thread, NULL, run, &w[i]))
			exit(3);
	}
}

static long join(struct worker *w, long n)
{
	long wrong = 0;

	for (long i = 0; i < n; i++) {
		pthread_join(w[i].thread, NULL);
		wrong += w[i].wrong;
	}
	return wrong;
}

static long run_all(void *(*run)(void *))
{
	struct worker w[THREADS] = {{0}};

	start(w, THREADS, run);
	return join(w, THREADS);
}

/* ---- No system call in between ---- */

static atomic_long turn;

static void await_turn(long n)
{
	while (atomic_load_explicit(&turn, memory_order_acquire) != n)
		;
}

static void *hand_over(void *arg)
{
	struct worker *w = arg;

	for (long i = 0; i < HANDED; i++) {
		await_turn(2 * i + w->number);
		atomic_store_explicit(&turn, 2 * i + w->number + 1, memory_order_release);
	}
	return NULL;
}

static long handed_over(void)
{
	struct worker w[2] = {{0}};

	start(w, 2, hand_over);
	join(w, 2);
	return turn != 2 * HANDED;
}

/* ---- Instructions that must be whole ---- */

static struct {
	_Alignas(64) long add, xadd, swap, compared, bits;
	_Alignas(16) uint64_t wide[2];
} shared;

static void add_wide(void)
{
	uint64_t low = shared.wide[0], high = shared.wide[1];
	uint8_t done;

	do {
		__asm__ volatile("lock cmpxchg16b %1; setz %0"
				 : "=q"(done), "+m"(shared.wide), "+a"(low), "+d"(high) : "b"(low + 1), "c"(high + 2) : "cc", "memory");
	} while (!done);
}

static void *add_whole(void *arg)
{
	long old;

	for (int i = 0; i < 20000; i++) {
		__asm__ volatile("lock incq %0" : "+m"(shared.add)::"cc");
		old = 1;
		__asm__ volatile("lock xaddq %1, %0" : "+m"(shared.xadd), "+r"(old)::"cc");
		do
			old = __atomic_load_n(&shared.compared, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(&shared.compared, &old, old + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
		do { /* a lock made of xchg, around what is not whole */
			old = 1;
			__asm__ volatile("xchgq %1, %0" : "+m"(shared.swap), "+r"(old)::"memory");
		} while (old);
		shared.bits++;
		__atomic_store_n(&shared.swap, 0, __ATOMIC_RELEASE);
		add_wide();
	}
	(void)arg;
	return NULL;
}

static long whole(void)
{
	long n = THREADS * 20000;

	run_all(add_whole);
	return (shared.add != n) + (shared.xadd != n) + (shared.compared != n) + (shared.bits != n) + (shared.wide[0] != (uint64_t)n) +
	       (shared.wide[1] != 2 * (uint64_t)n);
}

/* ---- Locks of the library ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long stock, made, taken;

static void *trade(void *arg)
{
	struct worker *w = arg;

	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&mutex);
		if (w->number % 2) {
			while (!stock)
				pthread_cond_wait(&changed, &mutex);
			stock--;
			taken++;
		} else {
			while (stock >= 5)
				pthread_cond_wait(&changed, &mutex);
			stock++;
			made++;
		}
		w->wrong += stock < 0 || stock > 5 || made - taken != stock;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static long traded(void)
{
	return run_all(trade) + (stock != 0);
}

/* ---- Threads that come and go ---- */

static atomic_long lived;

static void *live(void *arg)
{
	(void)arg;
	lived++;
	return NULL;
}

static void *breed(void *arg)
{
	for (int i = 0; i < 50; i++) {
		pthread_t children[4];

		for (int k = 0; k < 4; k++)
			if (pthread_create(&children[k], NULL, live, NULL))
				exit(3);
		for (int k = 0; k < 4; k++)
			pthread_join(children[k], NULL);
	}
	return arg;
}

static long came_and_went(void)
{
	run_all(breed);
	return lived != THREADS * 50 * 4;
}

/* ---- More of them than there are data areas ---- */

enum {
	MANY = 300
};

static pthread_barrier_t barrier;

static void *meet(void *arg)
{
	struct worker *w = arg;
	unsigned long x = (unsigned long)w->number;

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 200; i++)
		x = x * 25 % 1021;
	pthread_barrier_wait(&barrier);
	w->wrong = x > 1020;
	return NULL;
}

static long many(void)
{
	static struct worker w[MANY];

	pthread_barrier_init(&barrier, NULL, MANY);
	start(w, MANY, meet);
	return join(w, MANY);
}

/* ---- Code that changes ---- */

/* lea value(%rdi), %rax; ret */
static void encode(unsigned char *at, int32_t value)
{
	static const unsigned char code[] = {0x48, 0x8d, 0x87, 0, 0, 0, 0, 0xc3};

	memcpy(at, code, sizeof code);
	memcpy(at + 3, &value, sizeof value);
}

static long call(void *at, long x)
{
	return ((function *)(uintptr_t)at)(x);
}

static unsigned char *pages(size_t n, int prot)
{
	unsigned char *at = mmap(NULL, n * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		exit(3);
	return at;
}

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

	while (!atomic_load(&turn)) {
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
	atomic_store(&turn, 1);
	return join(w, THREADS);
}

static void unmap_region(void) { munmap(REGION, REGION_SIZE); }

static void map_over_region(void)
{
	mmap(REGION, REGION_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static long unmapped(void) { return region(unmap_region, 3); }
static long mapped_over(void) { return region(map_over_region, 1); }

/* ---- Descriptors ---- */

static const struct {
	const char *path, *begins;
	int flags;
} files[] = {
	{"/dev/zero", "", O_RDWR},
	{"/proc/self/comm", "parallel", O_RDONLY},
	{"/proc/self/exe", "\177ELF", O_RDONLY},
	{"/proc/self/comm", "parallel", O_RDWR},
};

static int ring[THREADS][2];

/* The same number is now this file, now that, opened by one thread and read and closed by the next. */
static void *pass_on(void *arg)
{
	struct worker *w = arg;
	long to = (w->number + 1) % THREADS;
	int held[2]; /* which file, and its descriptor */

	for (int i = 0; i < TIMES; i++) {
		char seen[9] = "";

		if (read(ring[w->number][0], held, sizeof held) != sizeof held)
			exit(3);
		if (held[1] >= 0) {
			w->wrong += read(held[1], seen, 8) < 8;
			w->wrong += strncmp(seen, files[held[0]].begins, strlen(files[held[0]].begins)) != 0;
			close(held[1]);
		}
		held[0] = (held[0] + 1) % (int)(sizeof files / sizeof files[0]);
		held[1] = open(files[held[0]].path, files[held[0]].flags);
		if (i % 3 == 0)
			held[1] = dup2(held[1], fcntl(held[1], F_GETFD) >= 0 ? held[1] : 0);
		if (write(ring[to][1], held, sizeof held) != sizeof held)
			exit(3);
	}
	return NULL;
}

static long descriptors(void)
{
	int first[2] = {0, -1};

	for (int i = 0; i < THREADS; i++)
		if (pipe(ring[i]))
			exit(3);
	for (int i = 0; i < 2; i++)
		if (write(ring[2 * i][1], first, sizeof first) != sizeof first)
			exit(3);
	return run_all(pass_on);
}

/* ---- Children ---- */

static int status_of(pid_t pid)
{
	int status = -1;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void *spin_until_done(void *arg)
{
	while (!atomic_load_explicit(&turn, memory_order_relaxed))
		;
	return arg;
}

static long make_children(void)
{
	char *const argv[] = {(char *)(uintptr_t)"true", NULL};
	long wrong = 0;

	for (int i = 0; i < FEW; i++) {
		unsigned char *at = pages(1, RWX);
		pid_t pid = fork();

		if (!pid) { /* it has threads and code of its own */
			encode(at, 3);
			pthread_create(&(pthread_t){0}, NULL, live, NULL);
			while (!lived)
				sched_yield();
			_exit((int)call(at, i));
		}
		wrong += status_of(pid) != i + 3;
		if (posix_spawnp(&pid, "true", NULL, NULL, argv, environ))
			exit(3);
		wrong += status_of(pid) != 0;
	}
	return wrong;
}

static long children(void)
{
	struct worker w[2] = {{0}};
	long wrong;

	start(w, 2, spin_until_done);
	wrong = make_children();
	turn = 1;
	join(w, 2);
	return wrong;
}

__attribute__((noinline)) static long steer(long x)
{
	long n = 0;

	while (x != 1 && n < 400) {
		x = x & 1 ? 3 * x + 1 : x / 2;
		n++;
	}
	return n;
}

/* ---- The end, while others run and wait ---- */

static int never[2];

static void *wait_for_ever(void *arg)
{
	struct worker *w = arg;
	char byte;

	lived++;
	switch (w->number % 4) {
	case 0:
		return spin_until_done(NULL);
	case 1:
		return (void *)(uintptr_t)read(never[0], &byte, 1);
	case 2:
		pthread_mutex_lock(&mutex);
		for (;;)
			pthread_cond_wait(&changed, &mutex);
	default:
		for (;;)
			usleep(100);
	}
	return NULL;
}

static void start_waiting(struct worker *w)
{
	if (pipe(never))
		exit(3);
	start(w, THREADS, wait_for_ever);
	while (lived < THREADS)
		sched_yield();
}

static long left_running(void)
{
	static struct worker w[THREADS];

	start_waiting(w);
	return 0; /* main() ends the process */
}

/* A thread that is not the first becomes another program. */
static void *exec(void *arg)
{
	char *const argv[] = {(char *)(uintptr_t)"parallel", (char *)(uintptr_t)"whole", NULL};

	execv("/proc/self/exe", argv);
	return arg;
}

static long execed(void)
{
	static struct worker w[THREADS], other;

	start_waiting(w);
	start(&other, 1, exec);
	join(&other, 1);
	return 1;
}

/* Until it is killed. */
static long goes_on(void)
{
	static struct worker w[THREADS];

	start_waiting(w);
	puts("goes on");
	fflush(stdout);
	pause();
	return 1;
}

/* ---- Each thread alone decides what it does ---- */

static void *steer_alone(void *arg)
{
	struct worker *w = arg;

	for (long i = 1; i < 60; i++)
		w->wrong += steer(i * THREADS + w->number) == 0;
	return NULL;
}

static long alone(void)
{
	return run_all(steer_alone);
}

/* ---- Signals ---- */

static _Thread_local volatile sig_atomic_t here;
static atomic_long handled;

static void on_signal(int signo)
{
	(void)signo;
	here++;
	handled++;
}

static void *be_signalled(void *arg)
{
	while (here < FEW)
		;
	return arg;
}

static long signalled(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct worker w[THREADS] = {{0}};

	sigaction(SIGUSR1, &action, NULL);
	start(w, THREADS, be_signalled);
	for (long i = 1; i <= FEW; i++)
		for (int k = 0; k < THREADS; k++) {
			while (handled < (i - 1) * THREADS + k)
				sched_yield();
			pthread_kill(w[k].thread, SIGUSR1);
		}
	join(w, THREADS);
	return handled != FEW * THREADS;
}

/* Timers interrupt whoever runs, while memory faults that the program handles are made. */
static void on_fault(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	mprotect((void *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1)), PAGE, PROT_READ | PROT_WRITE);
}

static void *fault(void *arg)
{
	struct worker *w = arg;
	unsigned char *page = pages(1, PROT_READ);

	for (int i = 0; i < 50; i++) {
		page[i] = (unsigned char)i;
		w->wrong += page[i] != (unsigned char)i;
		mprotect(page, PAGE, PROT_READ);
	}
	return NULL;
}

static long faulted(void)
{
	struct sigaction ticks = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, faults = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	struct itimerval each = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
	long wrong;

	sigaction(SIGALRM, &ticks, NULL);
	sigaction(SIGSEGV, &faults, NULL);
	setitimer(ITIMER_REAL, &each, NULL);
	wrong = run_all(fault);
	setitimer(ITIMER_REAL, &never, NULL);
	return wrong;
}

/* ---- One of them crashes ---- */

__attribute__((noinline)) static long deep(long n)
{
	if (n)
		return deep(n - 1) + 1;
	lived++;
	return (long)spin_until_done(NULL);
}

static void *wait_deep(void *arg)
{
	return (void *)deep(((struct worker *)arg)->number + 1);
}

static void *crash(void *arg)
{
	while (lived < THREADS)
		;
	*(volatile int *)arg = 1;
	return NULL;
}

static long crashes(void)
{
	struct worker w[THREADS] = {{0}};
	pthread_t other;

	start(w, THREADS, wait_deep);
	pthread_create(&other, NULL, crash, NULL);
	pthread_join(other, NULL);
	return 1;
}

/* All at once, when all have taken so many branches, without a system call. */
static void *crash_together(void *arg)
{
	struct worker *w = arg;

	for (long i = 1; i < 3000; i++)
		w->wrong += steer(i) < 0;
	lived++;
	while (lived < THREADS)
		;
	*(volatile int *)(uintptr_t)16 = 1;
	return arg;
}

static long crash_at_once(void)
{
	return run_all(crash_together) + 1;
}

static const struct {
	const char *name;
	long (*run)(void);
} table[] = {
	{"handed-over", handed_over}, {"whole", whole}, {"traded", traded}, {"came-and-went", came_and_went}, {"many", many},
	{"same-page", same_page}, {"for-others", for_others}, {"mapped", mapped}, {"two-mappings", two_mappings},
	{"one-call", one_call}, {"rewritten", rewritten}, {"rewritten-elsewhere", rewritten_elsewhere}, {"unmapped", unmapped},
	{"mapped-over", mapped_over}, {"descriptors", descriptors}, {"children", children}, {"left-running", left_running},
	{"execed", execed}, {"goes-on", goes_on}, {"alone", alone}, {"signalled", signalled}, {"faulted", faulted},
	{"crashes", crashes}, {"crash-at-once", crash_at_once},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		if (argc < 2)
			puts(table[i].name);
		else if (!strcmp(argv[1], table[i].name)) {
			printf("%ld wrong\n", table[i].run());
			return 0;
		}
	}
	return argc < 2 ? 0 : 2;
}
