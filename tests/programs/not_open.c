/* SPDX-License-Identifier: MIT */
/* Uses descriptors that are not open, with every kind of call that is made on one: not_open CASE ROUNDS. All of it fails with EBADF, and registers stay
 * as they are, also as a handler of SIGALRM finds them before and behind a call. Says how often it called. "forever": one of these calls, without an end. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	STACK = 1 << 16,
	FOREVER = 999, /* the descriptor, and what is in registers meanwhile */
	RSI = 0x5151,
	RDX = 0xd2d2,
	R10 = 0x1010,
	R8 = 0x88,
	R9 = 0x99,
	R11 = 0x1111,
	RCX = 0x2222,
	CARRY = 1,
};

static const struct call {
	const char *name;
	long nr, arg1, arg2;
} calls[] = {
	{"read", SYS_read, 0x1000, 1}, {"pread64", SYS_pread64, 0x1000, 1}, {"write", SYS_write, 0x1000, 1}, {"lseek", SYS_lseek, 0, 0},
	{"fstat", SYS_fstat, 0x1000, 0}, {"close", SYS_close, 0, 0}, {"dup", SYS_dup, 0, 0}, {"F_GETFD", SYS_fcntl, F_GETFD, 0},
	{"F_SETFD", SYS_fcntl, F_SETFD, FD_CLOEXEC}, {"F_DUPFD", SYS_fcntl, F_DUPFD, 3}, {"F_GETPIPE_SZ", SYS_fcntl, F_GETPIPE_SZ, 0},
	{"FIOCLEX", SYS_ioctl, FIOCLEX, 0}, {"TCGETS", SYS_ioctl, 0x5401, 0x1000}, {"fsync", SYS_fsync, 0, 0}, {"getdents64", SYS_getdents64, 0x1000, 64},
};
static const int descriptors[] = {700, 1023, 1024, 5000, 70000, 1 << 20, 1 << 30, INT_MAX, -1, INT_MIN};

/* Only those that return at once whatever the descriptor is: in a unit of several tasks others are made at stops. */
static int any_only;

static int is_any(long nr) { return nr != SYS_read && nr != SYS_pread64 && nr != SYS_write && nr != SYS_fsync; }

static int rounds;
extern char before_call[], behind_call[];

/* The newest call, and what a handler found strange. */
static const struct call *made;
static int made_of;
static volatile sig_atomic_t strange;

static void look(int signo, siginfo_t *info, void *context)
{
	const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	int before = r[REG_RIP] == (greg_t)before_call, behind = r[REG_RIP] == (greg_t)behind_call;

	(void)signo;
	(void)info;
	if (!before && !behind)
		return;
	strange += r[REG_RDI] != made_of || r[REG_RSI] != made->arg1 || r[REG_RDX] != made->arg2 || r[REG_R10] != R10 || r[REG_R8] != R8 ||
		   r[REG_R9] != R9 || !(r[REG_EFL] & CARRY);
	if (before)
		strange += r[REG_RAX] != made->nr || r[REG_R11] != R11 || r[REG_RCX] != RCX;
	else
		strange += r[REG_RAX] != -EBADF || !(r[REG_R11] & CARRY) || r[REG_RCX] != (greg_t)behind_call;
}

/* The call fails with EBADF and changes no register but those that each call changes. */
static int __attribute__((noinline)) fails(const struct call *c, int fd)
{
	long rax = c->nr, rdi = fd, rsi = c->arg1, rdx = c->arg2, rcx = RCX, r11;
	register long r10 __asm__("r10") = R10, r8 __asm__("r8") = R8, r9 __asm__("r9") = R9;

	made = c;
	made_of = fd;
	__asm__ volatile(".global before_call, behind_call\n\tmov %[number], %%r11\n\tstc\nbefore_call: syscall\nbehind_call: mov %%r11, %[flags]"
			 : "+a"(rax), "+D"(rdi), "+S"(rsi), "+d"(rdx), "+c"(rcx), "+r"(r10), "+r"(r8), "+r"(r9), [flags] "=b"(r11)
			 : [number] "i"(R11)
			 : "r11", "memory", "cc");
	return rax == -EBADF && rdi == fd && rsi == c->arg1 && rdx == c->arg2 && r10 == R10 && r8 == R8 && r9 == R9 && r11 & CARRY &&
	       rcx == (long)behind_call && !strange;
}

static int call_all(void *count)
{
	for (int round = 0; round < rounds; round++)
		for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
			for (size_t k = 0; k < sizeof descriptors / sizeof descriptors[0]; k++) {
				if (any_only && !is_any(calls[i].nr))
					continue;
				if (!fails(&calls[i], descriptors[k])) {
					printf("wrong: %s of %d\n", calls[i].name, descriptors[k]);
					fflush(stdout);
					_exit(1);
				}
				++*(int *)count;
			}
	return 0;
}

static void alone(int *count) { call_all(count); }

static void *wait_for_end(void *end)
{
	char c;

	return read(*(int *)end, &c, 1) == 1 ? NULL : end;
}

/* Another thread waits meanwhile. */
static void beside_another(int *count)
{
	pthread_t thread;
	int ends[2];

	any_only = 1;
	if (pipe(ends) || pthread_create(&thread, NULL, wait_for_end, &ends[0]))
		exit(1);
	call_all(count);
	if (write(ends[1], "p", 1) != 1 || pthread_join(thread, NULL))
		exit(1);
}

/* A process with descriptors of its own in this memory, as libraries have them that close what a new program is not to have. */
static void by_vfork(int *count)
{
	int status;
	pid_t child;

	any_only = 1;
	child = vfork();
	if (!child) {
		call_all(count);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		exit(1);
}

/* Another process has the same descriptors. */
static void by_sharing(int *count)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status, of_child = 0;
	pid_t child = clone(call_all, stack + STACK, CLONE_FILES | SIGCHLD, &of_child);

	call_all(count);
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		exit(1);
}

static void *open_and_close(void *stop)
{
	while (!*(volatile int *)stop) {
		int fd = open("/dev/null", O_RDONLY);

		if (fd < 0 || close(fd))
			return stop;
		sched_yield();
	}
	return NULL;
}

/* Another thread opens the lowest descriptor again and again; whether this one finds it open is chance. */
static void beside_opening(int *count)
{
	volatile int stop = 0;
	int lowest = dup(0);
	pthread_t thread;

	close(lowest);
	if (pthread_create(&thread, NULL, open_and_close, (void *)&stop))
		exit(1);
	for (int i = 0; i < 20 * rounds; i++) {
		int flags = fcntl(lowest, F_GETFD);

		if (flags && !(flags == -1 && errno == EBADF)) {
			printf("wrong: %d, errno %d\n", flags, errno);
			exit(1);
		}
		++*count;
	}
	stop = 1;
	if (pthread_join(thread, NULL))
		exit(1);
}

static void forever(int *count)
{
	(void)count;
	puts("calling");
	fflush(stdout);
	__asm__ volatile("1: mov %[nr], %%eax\n\tmov %[number], %%r11d\n\tsyscall\n\tjmp 1b"
			 :
			 : [nr] "i"(SYS_read), "D"((long)FOREVER), "S"((long)RSI), "d"((long)RDX), [number] "i"(R11)
			 : "rax", "rcx", "r11", "memory");
}

static const struct row {
	const char *name;
	void (*function)(int *count);
} rows[] = {{"alone", alone}, {"thread", beside_another}, {"vfork", by_vfork}, {"shared", by_sharing}, {"opening", beside_opening}, {"forever", forever}};

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = look, .sa_flags = SA_SIGINFO | SA_RESTART};
	int count = 0;

	rounds = argc > 2 ? atoi(argv[2]) : 1;
	sigaction(SIGALRM, &action, NULL);

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (argc > 1 && !strcmp(argv[1], rows[i].name)) {
			rows[i].function(&count);
			printf("%d calls\n", count);
			return 0;
		}
	return 1;
}
