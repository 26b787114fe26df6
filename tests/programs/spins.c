/* SPDX-License-Identifier: MIT */
/* spins CASE COUNT: threads that spin for one another hand over COUNT times, each in its own way of waiting. Without arguments: the
 * names of the cases. Prints how often that was. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum {
	THREADS = 4,
	GIVE_UP = 1 << 30, /* rounds */
};

static atomic_long pending, stop, queues[THREADS];
static long work, count;

static void pause_once(void) { __asm__ volatile("pause" ::: "memory"); }

/* ---- Ways to wait until *at is `wanted` ---- */

static void by_loads(atomic_long *at, long wanted)
{
	while (atomic_load(at) != wanted)
		if (atomic_load(&stop))
			break;
}

static void by_pause(atomic_long *at, long wanted)
{
	while (atomic_load_explicit(at, memory_order_relaxed) != wanted)
		pause_once();
}

static __attribute__((noinline)) long look(atomic_long *at) { return atomic_load(at); }
static __attribute__((noinline)) int is_over(void) { return atomic_load(&stop) == 2; }

static void by_calls(atomic_long *at, long wanted)
{
	while (look(at) != wanted && !is_over())
		;
}

static void by_compare_exchange(atomic_long *at, long wanted)
{
	long expected = wanted;

	while (!atomic_compare_exchange_strong(at, &expected, wanted))
		expected = wanted;
}

/* Up to a number of times, after which it would do something else. */
static void by_counting(atomic_long *at, long wanted)
{
	for (int i = 0; i < GIVE_UP; i++)
		if (atomic_load(at) == wanted)
			break;
}

/* Over several places, as a thread that waits for many does. */
static void by_sum(atomic_long *at, long wanted)
{
	long sum;

	do {
		sum = 0;
		for (int i = 0; i < THREADS; i++)
			sum += atomic_load(&queues[i]);
	} while (sum || atomic_load(at) != wanted);
}

/* Twice as many PAUSEs each time: what it counts lies in memory. */
static void by_backing_off(atomic_long *at, long wanted)
{
	for (volatile int n = 1; atomic_load(at) != wanted; n = n < 64 ? 2 * n : n)
		for (volatile int i = 0; i < n; i++)
			pause_once();
}

/* Between two looks it counts: a loop in a loop, and the inner one ends by itself. */
static void by_delays(atomic_long *at, long wanted)
{
	while (atomic_load(at) != wanted)
		for (volatile int i = 0; i < 20; i++)
			;
}

static void by_yield(atomic_long *at, long wanted)
{
	for (int i = 0; atomic_load(at) != wanted; i++)
		if (i % 100 == 99)
			sched_yield();
}

/* ---- Two threads that wait so for one another ---- */

static void (*wait_until)(atomic_long *, long);

static void *helper(void *unused)
{
	for (;;) {
		wait_until(&pending, 1);
		if (atomic_load(&stop))
			return unused;
		work++;
		atomic_store(&pending, 0);
	}
}

static void hand_over(void (*way)(atomic_long *, long))
{
	pthread_t thread;

	wait_until = way;
	if (pthread_create(&thread, NULL, helper, NULL))
		abort();
	for (long i = 0; i < count; i++) {
		atomic_store(&pending, 1);
		wait_until(&pending, 0);
	}
	atomic_store(&stop, 1);
	atomic_store(&pending, 1);
	pthread_join(thread, NULL);
}

/* ---- Threads that do something in turn ---- */

static pthread_barrier_t all_run;

static void in_threads(void *(*run)(void *))
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&all_run, NULL, THREADS);
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)i))
			abort();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* A ticket lock that each takes as often as the others: whoever has it served hands over to the next. */
static atomic_uint next_ticket, served;

static void *take_tickets(void *unused)
{
	unsigned ticket = atomic_fetch_add(&next_ticket, 1);

	pthread_barrier_wait(&all_run);
	for (long i = 0; i < count / THREADS; i++) {
		unsigned mine = ticket;

		while (atomic_load(&served) != mine)
			pause_once();
		work++;
		ticket = atomic_fetch_add(&next_ticket, 1); /* while it has the lock: it comes behind all others */
		atomic_store(&served, mine + 1);
	}
	while (atomic_load(&served) != ticket)
		pause_once();
	atomic_store(&served, ticket + 1);
	return unused;
}

/* Each in its turn, by its number: three wait, and one of them has something to do. */
static void *go_round(void *argument)
{
	long me = (long)argument;

	pthread_barrier_wait(&all_run);
	for (long i = me; i < count; i += THREADS) {
		while (atomic_load(&pending) != i)
			;
		work++;
		atomic_store(&pending, i + 1);
	}
	return NULL;
}

static void by_tickets(void) { in_threads(take_tickets); }
static void by_number(void) { in_threads(go_round); }

/* Locks of the C library's that spin, one of each thread: it waits for its own, and lets the next have his. */
static pthread_spinlock_t locks[THREADS];

static void *pass_on(void *argument)
{
	long me = (long)argument;

	pthread_barrier_wait(&all_run);
	for (long i = me; i < count; i += THREADS) {
		pthread_spin_lock(&locks[me]);
		work++;
		pthread_spin_unlock(&locks[(me + 1) % THREADS]);
	}
	return NULL;
}

static void by_spin_lock(void)
{
	for (int i = 0; i < THREADS; i++) {
		pthread_spin_init(&locks[i], PTHREAD_PROCESS_PRIVATE);
		if (i)
			pthread_spin_lock(&locks[i]);
	}
	in_threads(pass_on);
}

/* One computes for long, and the others wait for it all the while. */
static void *compute_or_wait(void *argument)
{
	volatile unsigned x = 1;

	pthread_barrier_wait(&all_run);
	for (long i = 0; !argument && i < 1000 * count; i++)
		x = x * 1103515245 + 12345;
	if (!argument)
		atomic_store(&pending, 1);
	while (!atomic_load(&pending))
		;
	return NULL;
}

static void for_long(void)
{
	in_threads(compute_or_wait);
	work = count;
}

/* All compute, in loops that only count, each for a short time, and wait for nobody; or for a lock that they spin for before they sleep. */
static pthread_mutex_t shared;
static bool locks_it;

static void *count_shortly(void *argument)
{
	long own = 0;

	pthread_barrier_wait(&all_run);
	for (long i = 0; i < 100 * count; i++) {
		if (locks_it)
			pthread_mutex_lock(&shared);
		for (volatile int k = 0; k < 50; k++)
			;
		own++;
		if (locks_it)
			pthread_mutex_unlock(&shared);
	}
	return own == 100 * count ? NULL : argument;
}

static void for_nobody(void)
{
	in_threads(count_shortly);
	work = count;
}

static void for_owner(void)
{
	pthread_mutexattr_t adaptive;

	pthread_mutexattr_init(&adaptive);
	pthread_mutexattr_settype(&adaptive, PTHREAD_MUTEX_ADAPTIVE_NP);
	pthread_mutex_init(&shared, &adaptive);
	locks_it = true;
	for_nobody();
}

/* All of them wait, for a call of the kernel's that takes its time. */
static void *all_wait(void *argument)
{
	pthread_barrier_wait(&all_run);
	while (argument && !atomic_load(&pending))
		;
	if (!argument)
		usleep(50000);
	atomic_store(&pending, 1);
	return NULL;
}

static void for_kernel(void)
{
	in_threads(all_wait);
	work = count;
}

/* One waits for a signal, which nobody else takes, and the other computes until that has come. */
static void set_pending(int signo)
{
	(void)signo;
	atomic_store(&pending, 1);
}

static void *compute(void *unused)
{
	volatile unsigned x = 1;

	while (!atomic_load(&pending))
		x = x * 1103515245 + 12345;
	return unused;
}

static void for_signal(void)
{
	const struct itimerval soon = {.it_value = {.tv_usec = 20000}};
	pthread_t thread;
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	signal(SIGALRM, set_pending);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	if (pthread_create(&thread, NULL, compute, NULL))
		abort();
	pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	while (!atomic_load(&pending))
		;
	pthread_join(thread, NULL);
	work = count;
}

/* The same among many that sleep. */
static void *sleep_on(void *semaphore)
{
	sem_wait(semaphore);
	return NULL;
}

static void for_signal_among(void)
{
	enum {
		SLEEPERS = 400,
		STACK = 65536,
	};
	pthread_t sleepers[SLEEPERS];
	pthread_attr_t small;
	sigset_t alarm;
	sem_t end;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	sem_init(&end, 0, 0);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK);
	for (int i = 0; i < SLEEPERS; i++)
		if (pthread_create(&sleepers[i], &small, sleep_on, &end))
			abort();
	for_signal();
	for (int i = 0; i < SLEEPERS; i++)
		sem_post(&end);
	for (int i = 0; i < SLEEPERS; i++)
		pthread_join(sleepers[i], NULL);
}

static const struct way {
	const char *name;
	void (*way)(atomic_long *, long);
	void (*run)(void);
} ways[] = {
	{"loads", by_loads, NULL},
	{"pause", by_pause, NULL},
	{"calls", by_calls, NULL},
	{"compare-exchange", by_compare_exchange, NULL},
	{"counting", by_counting, NULL},
	{"sum", by_sum, NULL},
	{"backing-off", by_backing_off, NULL},
	{"delays", by_delays, NULL},
	{"yield", by_yield, NULL},
	{"tickets", NULL, by_tickets},
	{"number", NULL, by_number},
	{"spin-lock", NULL, by_spin_lock},
	{"long", NULL, for_long},
	{"nobody", NULL, for_nobody},
	{"owner", NULL, for_owner},
	{"kernel", NULL, for_kernel},
	{"signal", NULL, for_signal},
	{"signal-among", NULL, for_signal_among},
};

int main(int argc, char **argv)
{
	count = argc > 2 ? atol(argv[2]) : 0;
	for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
		if (argc < 2)
			puts(ways[i].name);
		else if (!strcmp(argv[1], ways[i].name))
			(void)(ways[i].run ? ways[i].run() : hand_over(ways[i].way));
	}
	if (argc > 1)
		printf("%ld\n", work);
	return 0;
}
