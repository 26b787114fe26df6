/* SPDX-License-Identifier: MIT */
/* Programs that hang, one by argument. Each prints "ready" before its last thread begins to wait. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SEATS = 3 };

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t forks[SEATS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t all;
static sem_t seats;
static char *volatile block_of_handler;

static void ready(void)
{
	static const char text[] = "ready\n";

	if (write(1, text, sizeof text - 1) < 0)
		_exit(9);
}

static void both(pthread_mutex_t *a, pthread_mutex_t *b)
{
	pthread_mutex_lock(a);
	if (pthread_barrier_wait(&all) == PTHREAD_BARRIER_SERIAL_THREAD)
		ready();
	pthread_mutex_lock(b); /* @both */
	pthread_mutex_unlock(b);
	pthread_mutex_unlock(a);
}

static void *backwards(void *unused)
{
	both(&second, &first);
	return unused;
}

static void *forwards(void *unused)
{
	both(&first, &second);
	return unused;
}

static void two(void)
{
	pthread_t thread;

	pthread_barrier_init(&all, NULL, 2);
	pthread_create(&thread, NULL, backwards, NULL);
	both(&first, &second);
	pthread_join(thread, NULL);
}

static void *dine(void *seat)
{
	size_t n = (size_t)seat;

	both(&forks[n], &forks[(n + 1) % SEATS]);
	return NULL;
}

static void ring(void)
{
	pthread_t threads[SEATS];

	pthread_barrier_init(&all, NULL, SEATS);
	for (size_t i = 0; i < SEATS; i++)
		pthread_create(&threads[i], NULL, dine, (void *)i);
	for (size_t i = 0; i < SEATS; i++)
		pthread_join(threads[i], NULL); /* @joins */
}

static void itself(void)
{
	pthread_mutex_lock(&first);
	ready();
	pthread_mutex_lock(&first); /* @itself */
}

static void robust(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&first, &attr);
	pthread_mutex_init(&second, &attr);
	two();
}

static void *lock_and_end(void *unused)
{
	pthread_mutex_lock(&first);
	return unused;
}

static void left(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, lock_and_end, NULL);
	pthread_join(thread, NULL);
	ready();
	pthread_mutex_lock(&first); /* @left */
}

static void forked(void)
{
	pid_t child;

	pthread_mutex_lock(&first);
	child = fork();
	if (!child) {
		ready();
		pthread_mutex_lock(&first); /* @forked */
		_exit(1);
	}
	waitpid(child, NULL, 0);
}

static void *take_first(void *unused)
{
	ready();
	pthread_mutex_lock(&first); /* @take_first */
	return unused;
}

/* The thread that has forked can let go of what it held. */
static void fork_holder(void)
{
	pthread_t thread;
	pid_t child;

	pthread_mutex_lock(&first);
	child = fork();
	if (!child) {
		pthread_create(&thread, NULL, take_first, NULL);
		pause();
	}
	waitpid(child, NULL, 0);
}

static void *hold_first(void *unused)
{
	pthread_mutex_lock(&first);
	pthread_barrier_wait(&all);
	pause();
	return unused;
}

/* Its child has the very same mutex. */
static void shares_memory(void)
{
	pthread_t thread;

	pthread_barrier_init(&all, NULL, 2);
	pthread_create(&thread, NULL, hold_first, NULL);
	pthread_barrier_wait(&all);
	if (!vfork()) {
		ready();
		pthread_mutex_lock(&first);
		_exit(1);
	}
}

/* A copy of what another thread held has no owner. */
static void forked_other(void)
{
	pthread_t thread;
	pid_t child;

	pthread_barrier_init(&all, NULL, 2);
	pthread_create(&thread, NULL, hold_first, NULL);
	pthread_barrier_wait(&all);
	child = fork();
	if (!child)
		take_first(NULL);
	waitpid(child, NULL, 0);
}

static void refused_for_a_time(void)
{
	pthread_mutexattr_t attr;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 1000;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&first, &attr);
	pthread_mutex_lock(&first);
	ready();
	pthread_mutex_timedlock(&first, &until);
}

static void writer(void)
{
	pthread_rwlock_wrlock(&table);
	ready();
	pthread_rwlock_rdlock(&table); /* @writer: glibc says EDEADLK for its own */
	pause();
}

static void *read_table(void *unused)
{
	pthread_mutex_lock(&second);
	pthread_barrier_wait(&all);
	pthread_rwlock_rdlock(&table); /* @reads */
	return unused;
}

static void readers(void)
{
	pthread_t thread;

	pthread_barrier_init(&all, NULL, 2);
	pthread_rwlock_wrlock(&table);
	pthread_create(&thread, NULL, read_table, NULL);
	pthread_barrier_wait(&all);
	ready();
	pthread_mutex_lock(&second); /* @holds */
}

static void join_holder(void)
{
	pthread_t thread;

	pthread_barrier_init(&all, NULL, 2);
	pthread_rwlock_wrlock(&table);
	pthread_create(&thread, NULL, read_table, NULL);
	pthread_barrier_wait(&all);
	ready();
	pthread_join(thread, NULL); /* @join_holder */
}

/* Ends, by its handler, the wait of a thread that it knows. */
static void unlock_table(void *unused)
{
	(void)unused;
	pthread_rwlock_unlock(&table);
}

static void *join_reader(void *unused)
{
	pthread_t thread;

	pthread_rwlock_wrlock(&table);
	pthread_cleanup_push(unlock_table, unused);
	pthread_create(&thread, NULL, read_table, NULL);
	pthread_barrier_wait(&all);
	pthread_join(thread, NULL); /* @join_reader */
	pthread_cleanup_pop(0);
	return unused;
}

/* After a signal that it sleeps until, the outsider ends the ring: all goes on. */
static void cancels(void)
{
	pthread_t thread;
	sigset_t usr1;
	int signo;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	pthread_barrier_init(&all, NULL, 2);
	pthread_create(&thread, NULL, join_reader, NULL);
	ready();
	sigwait(&usr1, &signo);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

/* The only thread outside the ring waits for it. */
static void cannot_cancel(void)
{
	pthread_t thread;

	pthread_barrier_init(&all, NULL, 2);
	pthread_create(&thread, NULL, join_reader, NULL);
	ready();
	pthread_join(thread, NULL);
}

static void on_signal(int signo)
{
	(void)signo;
}

/* The two have handled a signal in their waits. */
static void signalled(void)
{
	pthread_t threads[2];

	signal(SIGUSR1, on_signal);
	pthread_barrier_init(&all, NULL, 2);
	pthread_create(&threads[0], NULL, backwards, NULL);
	pthread_create(&threads[1], NULL, forwards, NULL);
	usleep(200000);
	for (size_t i = 0; i < 2; i++)
		pthread_kill(threads[i], SIGUSR1);
	pause();
}

static void robust_ring(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&first, &attr);
	pthread_mutex_init(&second, &attr);
	two();
}

static void *lock_for_a_time(void *unused)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 1000;
	pthread_mutex_lock(&second);
	pthread_barrier_wait(&all);
	pthread_mutex_timedlock(&first, &until); /* @for_a_time */
	return unused;
}

static void timed_ring(void)
{
	pthread_t thread;

	pthread_barrier_init(&all, NULL, 2);
	pthread_mutex_lock(&first);
	pthread_create(&thread, NULL, lock_for_a_time, NULL);
	pthread_barrier_wait(&all);
	ready();
	pthread_mutex_lock(&second);
}

static void *wait_for_seat(void *unused)
{
	pthread_mutex_lock(&second);
	pthread_barrier_wait(&all);
	sem_wait(&seats); /* anybody may post */
	return unused;
}

static void semaphore_ring(void)
{
	pthread_t thread;

	sem_init(&seats, 0, 0);
	pthread_barrier_init(&all, NULL, 2);
	pthread_create(&thread, NULL, wait_for_seat, NULL);
	pthread_barrier_wait(&all);
	ready();
	pthread_mutex_lock(&second);
}

static void *fill(void *unused)
{
	pthread_mutex_lock(&first);
	for (;;)
		pthread_cond_wait(&filled, &first); /* @condition */
	return unused;
}

static void condition(void)
{
	pthread_t threads[4];

	for (size_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, fill, NULL);
	ready();
	sem_init(&seats, 0, 0);
	sem_wait(&seats); /* @semaphore */
}

static void timed(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 1000;
	pthread_mutex_lock(&first);
	ready();
	pthread_mutex_timedlock(&first, &until); /* @timed */
}

static void *hold(void *unused)
{
	pthread_mutex_lock(&first);
	pthread_barrier_wait(&all);
	for (;;)
		sleep(1000); /* @sleeps */
	return unused;
}

static void held(void)
{
	pthread_t thread;

	pthread_barrier_init(&all, NULL, 2);
	pthread_create(&thread, NULL, hold, NULL);
	pthread_barrier_wait(&all);
	ready();
	pthread_mutex_lock(&first); /* @held */
}

static void allocate(int number)
{
	(void)number;
	ready();
	block_of_handler = malloc(5000); /* @handler */
}

static void *doze(void *unused)
{
	pause();
	return unused;
}

/* malloc finds its data overwritten while it holds its lock. Of one thread alone it takes none. */
static void handler(void)
{
	char *volatile block = malloc(3000), *volatile next = malloc(3000); /* the compiler keeps them */
	pthread_t thread;

	pthread_create(&thread, NULL, doze, NULL);
	signal(SIGABRT, allocate);
	explicit_bzero(block, 3016); /* no store that is left out */
	free(block);
	free(next);
}

static __attribute__((noinline)) unsigned next(unsigned x)
{
	return x & 1 ? 3 * x + 1 : x / 2;
}

static __attribute__((noinline)) void spin(unsigned x)
{
	while (x)
		x = next(x); /* @spins */
}

static void spins(void)
{
	ready();
	spin(27);
}

static void reads(void)
{
	char byte;
	int ends[2];

	if (pipe(ends))
		exit(9);
	ready();
	if (read(ends[0], &byte, 1) < 0) /* @reads_pipe */
		exit(9);
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = {
	{"two", two},         {"ring", ring},       {"itself", itself},       {"inherits", robust}, {"left", left},
	{"forked", forked},   {"writer", writer},   {"readers", readers},     {"join", join_holder}, {"condition", condition},
	{"timed", timed},     {"held", held},       {"handler", handler},     {"pipe", reads},       {"spins", spins},
	{"cancels", cancels}, {"cannot-cancel", cannot_cancel}, {"signalled", signalled}, {"robust-ring", robust_ring},
	{"timed-ring", timed_ring}, {"semaphore-ring", semaphore_ring},
	{"fork-holder", fork_holder}, {"vfork", shares_memory}, {"forked-other", forked_other}, {"refused", refused_for_a_time},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (argc > 1 && !strcmp(argv[1], kinds[i].name))
			kinds[i].run();
	return 0;
}
