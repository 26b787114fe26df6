/* SPDX-License-Identifier: MIT */
/* Programs whose own system call filters (seccomp(2)) end them for calls that they do not make: filters CASE. Each says "ok". Without
 * arguments: what there is. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *self;

static void is(int holds, const char *what)
{
	if (holds)
		return;
	printf("wrong: %s (errno %d)\n", what, errno);
	fflush(stdout);
	_exit(1);
}

/* What the cache does not do by itself: enough for a child to have come into it. */
static void work(void)
{
	volatile unsigned sum = 0;

	for (unsigned i = 0; i < 2000; i++)
		sum += i % 3 ? i : 1;
	is(sum != 0 && syscall(SYS_getpid) > 0, "work");
}

static void child_works(void)
{
	pid_t child = fork();
	int status;

	is(child >= 0, "fork");
	if (!child) {
		work();
		_exit(0);
	}
	is(waitpid(child, &status, 0) == child, "waitpid");
	is(!status, "the child's end");
}

/* Kills at each of the calls, if their first argument is beyond limit. */
static void install(const int *calls, size_t n, uint32_t limit_high, unsigned flags)
{
	struct sock_filter code[64];
	struct sock_fprog program = {.filter = code};

	for (size_t i = 0; i < n; i++) {
		const struct sock_filter piece[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0, 3),
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 4),
			BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, limit_high, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		};

		memcpy(code + program.len, piece, sizeof piece);
		program.len = (unsigned short)(program.len + sizeof piece / sizeof piece[0]);
	}
	code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	is(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program)) {
		is(errno == EINVAL || errno == ENOSYS, "seccomp");
		puts("no filters here");
		exit(0);
	}
}

static const int maps[] = {SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_rt_sigaction, SYS_memfd_create};

static void all_maps(uint32_t limit_high, unsigned flags) { install(maps, sizeof maps / sizeof maps[0], limit_high, flags); }

static void fork_behind(void)
{
	child_works();
	all_maps(0, 0);
	work();
	child_works();
}

/* Only where the region is: what the C library maps lies elsewhere. */
static void fork_behind_some(void)
{
	all_maps(0x5500, 0);
	child_works();
}

/* One that lets pass what is asked of it. */
static void fork_behind_harmless(void)
{
	all_maps(0xffffffff, 0);
	child_works();
}

static void fork_of_fork(void)
{
	pid_t child;
	int status;

	all_maps(0, 0);
	child = fork();
	if (!child) {
		child_works();
		_exit(0);
	}
	is(waitpid(child, &status, 0) == child && !status, "the child's end");
}

/* A second one, which allows all, changes nothing. */
static void two_filters(void)
{
	all_maps(0, 0);
	install(NULL, 0, 0, 0);
	child_works();
}

static int pipes[2];

static void *fork_when_told(void *arg)
{
	char c;

	is(read(pipes[0], &c, 1) == 1, "read");
	child_works();
	(void)arg;
	_exit(write(1, "ok\n", 3) != 3); /* no buffer: a thread's would be mapped */
}

/* One thread installs it for all, another forks. */
static void whole_process(void)
{
	pthread_t thread;

	is(!pipe(pipes), "pipe");
	is(!pthread_create(&thread, NULL, fork_when_told, NULL), "pthread_create");
	all_maps(0, SECCOMP_FILTER_FLAG_TSYNC);
	is(write(pipes[1], "", 1) == 1, "write");
	pthread_join(thread, NULL);
}

static void *only_work(void *arg)
{
	work();
	return arg;
}

/* Threads that come behind a filter that does not let memory be moved. */
static void threads_behind(void)
{
	static const int calls[] = {SYS_mremap};
	pthread_t threads[3];

	work();
	install(calls, 1, 0, 0);
	for (int i = 0; i < 3; i++)
		is(!pthread_create(&threads[i], NULL, only_work, NULL), "pthread_create");
	for (int i = 0; i < 3; i++)
		is(!pthread_join(threads[i], NULL), "pthread_join");
}

/* A static program needs no memory mapped. */
static void exec_behind(void)
{
	char *const args[] = {(char *)(uintptr_t)self, (char *)(uintptr_t)"again", NULL};

	install(maps, 3, 0, 0);
	execv(self, args);
	is(0, "execv");
}

static void again(void) { work(); }

/* Lets read, write, exit and sigreturn pass. */
static void strict(void)
{
	work();
	is(write(1, "ok\n", 3) == 3, "write");
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		_exit(0);
	for (volatile int i = 0; i < 2000; i++)
		;
	syscall(SYS_exit, 0);
}

/* As prctl() and seccomp() take their arguments, of which they look at the lower halves. */
static void upper_halves(void)
{
	static struct sock_filter code[64];
	static struct sock_fprog program = {.filter = code};
	const struct sock_filter all[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	memcpy(code, all, sizeof all);
	program.len = sizeof all / sizeof all[0];
	is(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	is(!syscall(SYS_prctl, 0xffffffff00000000u | PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "prctl");
	child_works();
}

/* By the table of 32-bit calls, where the program is another structure. */
static void by_int80(void)
{
	struct {
		uint16_t len;
		uint32_t filter;
	} *program = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	const struct sock_filter all[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	long result;

	is(program != MAP_FAILED, "mmap");
	memcpy(program + 1, all, sizeof all);
	program->len = sizeof all / sizeof all[0];
	program->filter = (uint32_t)(uintptr_t)(program + 1);
	is(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	/* 354: seccomp there */
	__asm__ volatile("int $0x80" : "=a"(result) : "0"(354L), "b"(1L), "c"(0L), "d"((long)(uintptr_t)program) : "memory");
	if (result == -ENOSYS) { /* no 32-bit calls here */
		puts("no filters here");
		exit(0);
	}
	is(!result, "seccomp by int 0x80");
	child_works();
}

/* A filter gives EINTR, which is nobody's signal. */
static void says_interrupted(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINTR),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};

	is(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		puts("no filters here");
		exit(0);
	}
	is(syscall(SYS_getppid) == -1 && errno == EINTR, "getppid");
}

static void *wait_for_byte(void *arg)
{
	char byte;

	(void)arg;
	return (void *)(read(pipes[0], &byte, 1) - 1);
}

static void says_interrupted_to_one_of_two(void)
{
	pthread_t thread;

	is(!pipe(pipes) && !pthread_create(&thread, NULL, wait_for_byte, NULL), "thread");
	says_interrupted();
	is(write(pipes[1], "", 1) == 1 && !pthread_join(thread, NULL), "its end");
}

static volatile int spins, stop_spinning;

static void *spin_strictly(void *arg)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		stop_spinning = 2;
	spins = 1;
	while (!stop_spinning)
		spins++;
	syscall(SYS_exit, 0);
	return arg;
}

/* A thread that may hardly call anything goes on while the others make code. */
static void strict_thread(void)
{
	static const unsigned char seven[] = {0xb8, 7, 0, 0, 0, 0xc3};
	pthread_t thread;
	int seen;

	child_works(); /* shares what the cache has until then */
	is(!pthread_create(&thread, NULL, spin_strictly, NULL), "pthread_create");
	while (!spins)
		sched_yield();
	for (int i = 0; i < 20; i++) {
		unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		is(code != MAP_FAILED, "mmap");
		memcpy(code, seven, sizeof seven);
		is(((int (*)(void))(uintptr_t)code)() == 7, "code");
		if (i < 10)
			munmap(code, 4096);
	}
	seen = spins;
	for (long i = 0; seen == spins && i < 10000000; i++)
		sched_yield();
	is(seen != spins || stop_spinning == 2, "the thread is dead");
	stop_spinning = 1;
}

static const struct row {
	const char *name;
	void (*function)(void);
} rows[] = {
	{"fork", fork_behind}, {"fork-some", fork_behind_some}, {"fork-harmless", fork_behind_harmless}, {"fork-fork", fork_of_fork}, {"two", two_filters},
	{"whole-process", whole_process}, {"threads", threads_behind}, {"exec", exec_behind}, {"again", again}, {"strict", strict},
	{"upper-halves", upper_halves}, {"int80", by_int80}, {"strict-thread", strict_thread},
	{"interrupted", says_interrupted}, {"interrupted-of-two", says_interrupted_to_one_of_two},
};

int main(int argc, char **argv)
{
	self = argv[0];
	for (size_t i = 0; argc == 2 && i < sizeof rows / sizeof rows[0]; i++)
		if (!strcmp(argv[1], rows[i].name)) {
			rows[i].function();
			return puts("ok") < 0;
		}
	for (size_t i = 0; argc == 1 && i < sizeof rows / sizeof rows[0]; i++)
		puts(rows[i].name);
	return argc != 1;
}
