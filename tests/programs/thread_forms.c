// SPDX-License-Identifier: MIT
/* thread_forms NAME: the ways in which threads are made, wait for one another and end, by the C library and without it. Each prints what
 * must be the same in every run. Without NAME: the names. tests/e2e/engine_threads.py */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 2000, RAW_STACK = 1 << 16, FUTEX_WAIT = 0 /* futex(2); musl has no header of the kernel's */ };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static atomic_int ready, cleaned;
static int ends[2]; /* of a pipe into which nobody writes */

static pthread_t begin(void *(*function)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, argument))
		abort();
	return thread;
}

static void *end_of(pthread_t thread)
{
	void *result = NULL;

	if (pthread_join(thread, &result))
		abort();
	return result;
}

static void until(atomic_int *value, int least)
{
	while (atomic_load(value) < least)
		sched_yield();
}

/* Cancellation: while it waits in a call, for a condition, for a thread's end; while it computes. */
static void clean(void *argument)
{
	(void)argument;
	atomic_fetch_add(&cleaned, 1);
}

static void unlock(void *argument)
{
	pthread_mutex_unlock(argument);
	atomic_fetch_add(&cleaned, 1);
}

static void *reads(void *argument)
{
	char byte;

	(void)argument;
	pthread_cleanup_push(clean, NULL);
	atomic_fetch_add(&ready, 1);
	while (read(ends[0], &byte, 1) != 1)
		;
	pthread_cleanup_pop(0);
	return NULL;
}

static void *waits(void *argument)
{
	(void)argument;
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	atomic_fetch_add(&ready, 1);
	for (;;)
		pthread_cond_wait(&condition, &mutex);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *joins(void *argument)
{
	pthread_cleanup_push(clean, NULL);
	atomic_fetch_add(&ready, 1);
	pthread_join(*(pthread_t *)argument, NULL);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *computes(void *argument)
{
	volatile uint64_t *count = argument;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	pthread_cleanup_push(clean, NULL);
	atomic_fetch_add(&ready, 1);
	for (;;)
		++*count;
	pthread_cleanup_pop(0);
	return NULL;
}

static int cancelled(void)
{
	pthread_t reading = begin(reads, NULL), all[] = {reading, begin(waits, NULL), begin(joins, &reading)};

	until(&ready, 3);
	for (int i = 2; i >= 0; i--) {
		pthread_cancel(all[i]);
		printf("%s, ", end_of(all[i]) == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
		printf("%d cleaned\n", atomic_load(&cleaned));
	}
	return 0;
}

static int cancelled_computing(void)
{
	uint64_t counts[THREADS] = {0};
	pthread_t all[THREADS];

	for (int i = 0; i < THREADS; i++)
		all[i] = begin(computes, &counts[i]);
	until(&ready, THREADS);
	for (int i = 0; i < THREADS; i++) {
		pthread_cancel(all[i]);
		printf("%s\n", end_of(all[i]) == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
	}
	printf("%d cleaned\n", atomic_load(&cleaned));
	return 0;
}

/* What a thread has for itself, and what is done with it at its end. */
static pthread_key_t key;
static __thread uintptr_t own = 7;
static atomic_int destroyed;

static void destroy(void *value)
{
	uintptr_t left = (uintptr_t)value;

	atomic_fetch_add(&destroyed, 1);
	if (left > 1)
		pthread_setspecific(key, (void *)(left - 1));
}

static void *has_its_own(void *argument)
{
	pthread_setspecific(key, argument);
	for (int i = 0; i < ROUNDS; i++) {
		own += (uintptr_t)argument;
		if (i % 100 == 0)
			sched_yield();
	}
	return (void *)own;
}

static int keys(void)
{
	pthread_t all[THREADS];

	pthread_key_create(&key, destroy);
	for (uintptr_t i = 0; i < THREADS; i++)
		all[i] = begin(has_its_own, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		printf("%lu\n", (unsigned long)(uintptr_t)end_of(all[i]));
	printf("%d destroyed, %lu in the first\n", atomic_load(&destroyed), (unsigned long)own);
	return 0;
}

/* Mutexes whose owner dies; in another process, too. */
static void *dies_with(void *argument)
{
	pthread_mutex_lock(argument);
	return NULL;
}

static int robust(void)
{
	pthread_mutexattr_t kind;
	pthread_mutex_t *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	pthread_mutexattr_init(&kind);
	pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(shared, &kind);
	for (int process = 0; process < 2; process++) {
		int error;

		if (!process) {
			end_of(begin(dies_with, shared));
		} else if (!fork()) {
			pthread_mutex_lock(shared);
			kill(getpid(), SIGKILL);
		} else {
			wait(NULL);
		}
		error = pthread_mutex_lock(shared);
		printf("%s, ", error == EOWNERDEAD ? "its owner died" : strerror(error));
		printf("%d, ", pthread_mutex_consistent(shared));
		printf("%d\n", pthread_mutex_unlock(shared));
	}
	return 0;
}

/* One counter, under each kind of lock. */
static long counter;
static pthread_mutex_t inheriting;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;

static void *inherits(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&inheriting);
		counter++;
		if (i % 50 == 0)
			sched_yield();
		pthread_mutex_unlock(&inheriting);
	}
	return argument;
}

static void *writes(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (i % 4) {
			pthread_rwlock_rdlock(&rwlock);
		} else {
			pthread_rwlock_wrlock(&rwlock);
			counter++;
		}
		pthread_rwlock_unlock(&rwlock);
	}
	return argument;
}

static void *posts(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		while (sem_wait(&semaphore))
			;
		counter++;
		sem_post(&semaphore);
	}
	return argument;
}

static void count(const char *what, void *(*function)(void *))
{
	pthread_t all[THREADS];

	counter = 0;
	for (int i = 0; i < THREADS; i++)
		all[i] = begin(function, NULL);
	for (int i = 0; i < THREADS; i++)
		end_of(all[i]);
	printf("%s %ld\n", what, counter);
}

static int locks(void)
{
	pthread_mutexattr_t kind;

	pthread_mutexattr_init(&kind);
	/* musl before 1.2.0 has none of these; what the library says is part of what must be the same. */
	printf("inheriting: %d\n", pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT));
	pthread_mutex_init(&inheriting, &kind);
	sem_init(&semaphore, 0, 1);
	count("inheriting", inherits);
	count("for writing", writes);
	count("semaphore", posts);
	return 0;
}

/* In step: barriers, and a condition with a time limit that is never kept. */
static pthread_barrier_t barrier;
static atomic_int serial, behind;

static void *steps(void *argument)
{
	for (int i = 0; i < 100; i++) {
		if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			atomic_fetch_add(&serial, 1);
		if (atomic_fetch_add(&behind, 1) / THREADS != i)
			abort();
		pthread_barrier_wait(&barrier);
	}
	return argument;
}

static int barriers(void)
{
	struct timespec past = {.tv_sec = 1};
	pthread_t all[THREADS];

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		all[i] = begin(steps, NULL);
	for (int i = 0; i < THREADS; i++)
		end_of(all[i]);
	pthread_mutex_lock(&mutex);
	printf("%d serial of %d; ", atomic_load(&serial), atomic_load(&behind));
	printf("%s\n", pthread_cond_timedwait(&condition, &mutex, &past) == ETIMEDOUT ? "timed out" : "not timed out");
	pthread_mutex_unlock(&mutex);
	return 0;
}

/* A stack that the program gave, and detached threads. */
static atomic_int detached_done;

static void *on_given_stack(void *argument)
{
	int here;

	return (char *)&here >= (char *)argument && (char *)&here < (char *)argument + (1 << 20) ? argument : NULL;
}

static void *detached(void *argument)
{
	atomic_fetch_add(&detached_done, 1);
	return argument;
}

static int stacks(void)
{
	void *stack = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack, 1 << 20);
	if (pthread_create(&thread, &attributes, on_given_stack, stack))
		return 1;
	puts(end_of(thread) == stack ? "on the given stack" : "elsewhere");
	for (int i = 0; i < 50; i++)
		pthread_detach(begin(detached, NULL));
	until(&detached_done, 50);
	puts("50 detached");
	return 0;
}

/* Signals to one thread, from another. */
static atomic_int signalled;
static __thread int mine;

static void on_signal(int signo)
{
	(void)signo;
	mine++;
	atomic_fetch_add(&signalled, 1);
}

static void *counts_signals(void *argument)
{
	atomic_fetch_add(&ready, 1);
	until(argument, 1);
	return (void *)(uintptr_t)mine;
}

static int signals(void)
{
	struct sigaction handle = {.sa_handler = on_signal};
	pthread_t all[THREADS];
	atomic_int over = 0;

	sigaction(SIGUSR1, &handle, NULL);
	for (int i = 0; i < THREADS; i++)
		all[i] = begin(counts_signals, &over);
	until(&ready, THREADS);
	for (int i = 0, sent = 0; i < THREADS; i++) {
		for (int k = 0; k <= 10 * i; k++) {
			pthread_kill(all[i], SIGUSR1);
			until(&signalled, ++sent);
		}
	}
	atomic_store(&over, 1);
	for (int i = 0; i < THREADS; i++)
		printf("%d\n", (int)(uintptr_t)end_of(all[i]));
	return 0;
}

/* The first thread ends, by the library; the last one ends the process. */
static void *last(void *argument)
{
	end_of(*(pthread_t *)argument);
	puts("the first one has ended");
	exit(3);
}

static int first_ends(void)
{
	static pthread_t first;

	first = pthread_self();
	begin(last, &first);
	pthread_exit(NULL);
}

/* Two that spin, each until the other has gone on. */
static atomic_int turn;

static void *spins(void *argument)
{
	int me = (int)(uintptr_t)argument;

	for (int i = 0; i < 100; i++) {
		while (atomic_load_explicit(&turn, memory_order_relaxed) != 2 * i + me)
			;
		atomic_store(&turn, 2 * i + me + 1);
	}
	return argument;
}

static int spinning(void)
{
	pthread_t all[] = {begin(spins, (void *)0), begin(spins, (void *)1)};

	end_of(all[0]);
	end_of(all[1]);
	printf("%d turns\n", atomic_load(&turn));
	return 0;
}

/* Without the library: a thread as runtimes of their own make it, with no thread-local storage; and a process that shares all memory. */
static atomic_int raw_tid, raw_done;

__attribute__((noinline)) static void raw_body(void)
{
	for (int i = 0; i < ROUNDS; i++)
		atomic_fetch_add(&raw_done, 1);
}

/* clone(2) onto STACK, on which the new task calls raw_body() and ends with 7. */
static long raw_clone(unsigned long flags, char *stack)
{
	long result;
	register void *child_tid __asm__("r10") = &raw_tid;
	register long tls __asm__("r8") = 0;

	__asm__ volatile("syscall\n"
			 "testq %%rax, %%rax\n"
			 "jnz 1f\n"
			 "xorl %%ebp, %%ebp\n"
			 "call *%[body]\n"
			 "movl $7, %%edi\n"
			 "movl $60, %%eax\n"
			 "syscall\n"
			 "ud2\n"
			 "1:"
			 : "=a"(result)
			 : "a"(SYS_clone), "D"(flags), "S"(stack), "d"(&raw_tid), "r"(child_tid), "r"(tls), [body] "b"(raw_body)
			 : "rcx", "r11", "memory");
	return result;
}

static int raw(void)
{
	const unsigned long thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_PARENT_SETTID |
				     CLONE_CHILD_CLEARTID;
	const unsigned long process = CLONE_VM | CLONE_FILES | SIGCHLD;

	for (int i = 0; i < 8; i++) {
		char *stack = mmap(NULL, RAW_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		long made = raw_clone(i % 2 ? process : thread, stack + RAW_STACK);
		int tid, status = -1;

		if (made < 0)
			return 1;
		if (i % 2)
			waitpid((pid_t)made, &status, 0);
		else
			while ((tid = atomic_load(&raw_tid)))
				syscall(SYS_futex, &raw_tid, FUTEX_WAIT, tid, NULL, NULL, 0);
		printf("%d rounds, status %d\n", atomic_load(&raw_done), status < 0 ? status : WEXITSTATUS(status));
		munmap(stack, RAW_STACK);
	}
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} cases[] = {
	{"cancelled", cancelled}, {"cancelled-computing", cancelled_computing},
	{"keys", keys},		  {"robust", robust},
	{"locks", locks},	  {"barriers", barriers},
	{"stacks", stacks},	  {"signals", signals},
	{"first-ends", first_ends}, {"spinning", spinning},
	{"raw", raw},
};

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	if (pipe(ends))
		return 2;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (argc < 2)
			puts(cases[i].name);
		else if (!strcmp(argv[1], cases[i].name))
			return cases[i].run();
	}
	return argc < 2 ? 0 : 2;
}
