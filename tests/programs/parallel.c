// SPDX-License-Identifier: MIT
/* parallel NAME: threads that run side by side and look whether what they share is as it should be. Prints how much was wrong.
 * tests/e2e/parallel.py */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parallel.inc"

extern char **environ;

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

/* ---- One that makes calls among many that compute ---- */

enum {
	COMPUTING = 16,
	ROUNDS = 100,
};

static atomic_bool over;

static void *compute(void *arg)
{
	while (!atomic_load_explicit(&over, memory_order_relaxed))
		;
	return arg;
}

static long outnumbered(void)
{
	struct worker w[COMPUTING] = {{0}};

	start(w, COMPUTING, compute);
	for (int i = 0; i < ROUNDS; i++)
		usleep(1);
	atomic_store(&over, true);
	return join(w, COMPUTING);
}

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

/* The child of a task that waits for its end asks another thread, which answers. */
static int question[2], answer[2];

static void *answer_all(void *arg)
{
	char c;

	while (read(question[0], &c, 1) == 1)
		if (write(answer[1], &c, 1) != 1)
			exit(3);
	return arg;
}

static long copied_and_waited_for(void)
{
	struct worker w = {0};
	long wrong = 0;
	char c = 1;

	if (pipe(question) || pipe(answer))
		exit(3);
	start(&w, 1, answer_all);
	for (int i = 0; i < FEW; i++) {
		pid_t pid = (pid_t)syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);

		if (!pid)
			_exit(write(question[1], &c, 1) != 1 || read(answer[0], &c, 1) != 1);
		wrong += status_of(pid) != 0;
	}
	close(question[1]);
	return wrong + join(&w, 1);
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

static const struct row rows[] = {
	{"handed-over", handed_over}, {"whole", whole}, {"traded", traded}, {"came-and-went", came_and_went}, {"many", many},
	{"outnumbered", outnumbered}, {"descriptors", descriptors}, {"children", children}, {"asking-child", copied_and_waited_for},
	{"left-running", left_running}, {"execed", execed},
	{"goes-on", goes_on}, {"alone", alone}, {"signalled", signalled}, {"faulted", faulted}, {"crashes", crashes},
	{"crash-at-once", crash_at_once},
};

int main(int argc, char **argv) { return run_case(argc, argv, rows, sizeof rows / sizeof rows[0]); }
