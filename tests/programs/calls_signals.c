/* SPDX-License-Identifier: MIT */
/* System calls with signals in their midst, and under filters: calls_signals CASE. Each says "ok" when everything was as the kernel
 * promises. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

extern char __executable_start, etext;
static volatile unsigned long handled;
static volatile int wrong;

static void fail(const char *what)
{
	printf("wrong: %s (errno %d)\n", what, errno);
	fflush(stdout);
	_exit(1);
}

static void is(int holds, const char *what)
{
	if (!holds)
		fail(what);
}

static int in_text(uint64_t pc)
{
	return pc >= (uintptr_t)&__executable_start && pc < (uintptr_t)&etext;
}

/* Where the engine has its region (collector/space/world.h). */
static int in_region(uint64_t pc)
{
	return pc - 0x550000000000 < 0x40000000;
}

static void on_signal(int signo, siginfo_t *info, void *arg)
{
	const ucontext_t *uc = arg;
	uint64_t pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	uint8_t bytes[2] = {0};

	(void)signo;
	(void)info;
	handled++;
	if (in_region(pc) || in_region((uint64_t)uc->uc_mcontext.gregs[REG_RCX]))
		wrong = 1;
	if (!in_text(pc)) /* the vdso's */
		return;
	memcpy(bytes, (const void *)(pc - 2), 2);
	/* Behind a system call: rcx is its address, r11 the flags. Where it is to be made again rip is at it. */
	if (bytes[0] == 0x0f && bytes[1] == 0x05 && (uint64_t)uc->uc_mcontext.gregs[REG_RCX] != pc)
		wrong = 2;
	if (bytes[0] == 0x0f && bytes[1] == 0x05 && (uc->uc_mcontext.gregs[REG_R11] ^ uc->uc_mcontext.gregs[REG_EFL]) & 0x300)
		wrong = 3;
}

static void handle(int signo, int flags)
{
	struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};

	is(!sigaction(signo, &sa, NULL), "sigaction");
}

static void alarms(int microseconds, int flags)
{
	struct itimerval t = {{0, microseconds}, {0, microseconds}};

	handle(SIGALRM, flags);
	is(!setitimer(ITIMER_REAL, &t, NULL), "setitimer");
}

static void no_alarms(void)
{
	struct itimerval none = {{0, 0}, {0, 0}};

	is(!setitimer(ITIMER_REAL, &none, NULL), "setitimer");
	if (wrong == 1)
		fail("the frame of a handler");
	if (wrong == 2)
		fail("rcx behind a system call in the frame of a handler");
	if (wrong)
		fail("r11 behind a system call in the frame of a handler");
}

/* A system call with every register known: those that it must keep are kept, rcx and r11 are as the processor leaves them. */
static long checked_call(long nr, long a, long b, long c)
{
	uint64_t got[13], flags, behind;
	long result;
	static const uint64_t want[8] = {0xb1b1b1b1b1b1b1b1, 0x8888888888888888, 0x9999999999999999, 0xaaaaaaaaaaaaaaaa,
					 0xc2c2c2c2c2c2c2c2, 0xd3d3d3d3d3d3d3d3, 0xe4e4e4e4e4e4e4e4, 0xf5f5f5f5f5f5f5f5};
	const struct {
		long nr, a, b, c;
		const uint64_t *want;
		uint64_t *got;
	} in = {nr, a, b, c, want, got};

	__asm__ volatile("push %%rbx\n\tpush %%rbp\n\tpush %%r12\n\tpush %%r13\n\tpush %%r14\n\tpush %%r15\n\t"
			 "mov %[in], %%rbp\n\t"
			 "mov 32(%%rbp), %%r15\n\t"
			 "mov (%%r15), %%rbx\n\tmov 8(%%r15), %%r8\n\tmov 16(%%r15), %%r9\n\tmov 24(%%r15), %%r10\n\t"
			 "mov 32(%%r15), %%r12\n\tmov 40(%%r15), %%r13\n\tmov 48(%%r15), %%r14\n\tmov 56(%%r15), %%r15\n\t"
			 "mov (%%rbp), %%rax\n\tmov 8(%%rbp), %%rdi\n\tmov 16(%%rbp), %%rsi\n\tmov 24(%%rbp), %%rdx\n\t"
			 "mov $0x1234, %%r11\n\tmov $0x5678, %%rcx\n\t"
			 "cmp $-1, %%rbx\n\tstc\n\t"
			 "syscall\n"
			 "1:\n\t"
			 "pushfq\n\t"
			 "xchg %%rbp, (%%rsp)\n\t" /* flags in rbp, the frame on the stack */
			 "push %%rbp\n\t"
			 "mov 8(%%rsp), %%rbp\n\t"
			 "mov 40(%%rbp), %%rbp\n\t"
			 "mov %%rbx, (%%rbp)\n\tmov %%r8, 8(%%rbp)\n\tmov %%r9, 16(%%rbp)\n\tmov %%r10, 24(%%rbp)\n\t"
			 "mov %%r12, 32(%%rbp)\n\tmov %%r13, 40(%%rbp)\n\tmov %%r14, 48(%%rbp)\n\tmov %%r15, 56(%%rbp)\n\t"
			 "mov %%rcx, 64(%%rbp)\n\tmov %%r11, 72(%%rbp)\n\t"
			 "pop %%rcx\n\tmov %%rcx, 80(%%rbp)\n\t"
			 "lea 1b(%%rip), %%rcx\n\tmov %%rcx, 88(%%rbp)\n\t"
			 "add $8, %%rsp\n\t"
			 "pop %%r15\n\tpop %%r14\n\tpop %%r13\n\tpop %%r12\n\tpop %%rbp\n\tpop %%rbx\n\t"
			 : "=a"(result)
			 : [in] "r"(&in)
			 : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
	flags = got[10];
	behind = got[11];
	is(!memcmp(got, want, sizeof want), "a register that a system call must keep");
	is(got[8] == behind, "rcx behind a system call");
	is(!((got[9] ^ flags) & 0xfffff), "r11 behind a system call is not the flags");
	is(flags & 1, "flags behind a system call");
	return result;
}

static void registers(long rounds)
{
	char name[100];
	long pid = getpid();

	for (long i = 0; i < rounds; i++) {
		is(checked_call(SYS_getpid, 1, 2, 3) == pid, "getpid");
		is(checked_call(SYS_getcwd, (long)name, sizeof name, 0) > 0, "getcwd");
		is(checked_call(SYS_close, -1, 0, 0) == -EBADF, "close");
		is(checked_call(SYS_sched_yield, 0, 0, 0) == 0, "sched_yield");
	}
}

/* Files written, read and compared. */
static void files(int zero_too)
{
	static unsigned char out[70000], in[70000];
	char path[] = "calls.XXXXXX";
	int fd = mkstemp(path), zero = open("/dev/zero", O_RDONLY);

	is(fd >= 0 && zero >= 0, "open");
	unlink(path);
	for (int round = 0; round < 60; round++) {
		size_t n = sizeof out - (size_t)round * 1000;

		for (size_t i = 0; i < n; i++)
			out[i] = (unsigned char)(i * 7 + (size_t)round);
		is(pwrite(fd, out, n, 0) == (ssize_t)n, "pwrite");
		is(lseek(fd, 0, SEEK_SET) == 0, "lseek");
		for (size_t at = 0; at < n; at += 1000)
			is(read(fd, in + at, 1000) > 0, "read");
		is(!memcmp(in, out, n / 1000 * 1000), "what was read");
		if (zero_too) { /* a signal may cut this one short */
			ssize_t got = read(zero, in, sizeof in);

			is(got > 0, "read of zeros");
			for (ssize_t i = 0; i < got; i++)
				is(!in[i], "a zero");
		}
	}
	close(zero);
	close(fd);
}

static void under_alarms(int flags)
{
	alarms(400, flags); /* what recording costs an alarm must leave time for something else */
	registers(2000);
	files(1);
	while (handled < 500)
		is(getuid() == geteuid(), "getuid");
	no_alarms();
}

/* A file's size limit: SIGXFSZ comes at the exit of the write. */
static void size_limit(void)
{
	struct rlimit limit = {1000, 1000};
	static const char path[] = "calls.limit"; /* no random name: its branches are compared */
	char bytes[600] = "";
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	is(fd >= 0, "open");
	unlink(path);
	is(!setrlimit(RLIMIT_FSIZE, &limit), "setrlimit");
	handle(SIGXFSZ, 0);
	is(write(fd, bytes, 600) == 600, "write");
	is(write(fd, bytes, 600) == 400, "write up to the limit");
	is(handled == 0, "no signal for part of a write");
	for (unsigned i = 1; i <= 50; i++) {
		is(write(fd, bytes, 600) < 0 && errno == EFBIG, "write beyond the limit");
		is(handled == i, "SIGXFSZ");
	}
	no_alarms();
}

/* Signals that another process sends, SIGSTOP and SIGCONT among them. */
static void stopped_and_continued(void)
{
	pid_t self = getpid(), child;
	long n = 0;
	int status;

	handle(SIGUSR1, 0);
	child = fork();
	if (!child) {
		for (int i = 0; i < 60; i++) {
			kill(self, SIGSTOP);
			usleep(300);
			kill(self, SIGCONT);
			usleep(300);
			kill(self, SIGUSR1);
		}
		_exit(0);
	}
	while (waitpid(child, &status, WNOHANG) == 0)
		for (int i = 0; i < 200; i++, n++)
			is(checked_call(SYS_getpid, 0, 0, 0) == self, "getpid");
	is(!status && n && handled, "signals");
	no_alarms();
}

static void *call_forever(void *arg)
{
	volatile int *stop = arg;

	while (!*stop)
		syscall(SYS_getppid);
	return NULL;
}

/* One thread that does nothing but call must not keep the others from running. */
static void turns(void)
{
	volatile int stop = 0;
	pthread_t thread;

	is(!pthread_create(&thread, NULL, call_forever, (void *)&stop), "pthread_create");
	for (int i = 0; i < 20; i++)
		usleep(1000);
	stop = 1;
	is(!pthread_join(thread, NULL), "pthread_join");
}

/* ---- Filters ---- */

static volatile uint64_t trapped_at;
static volatile int trapped_nr;

static void on_trap(int signo, siginfo_t *info, void *arg)
{
	ucontext_t *uc = arg;

	(void)signo;
	trapped_at = (uint64_t)(uintptr_t)info->si_call_addr;
	trapped_nr = info->si_syscall;
	if (trapped_at != (uint64_t)uc->uc_mcontext.gregs[REG_RIP] || !in_text(trapped_at))
		wrong = 1;
	uc->uc_mcontext.gregs[REG_RAX] = 4242;
}

static void install(const struct sock_filter *code, size_t n)
{
	struct sock_fprog program = {.len = (unsigned short)n, .filter = (struct sock_filter *)(uintptr_t)code};
	struct sigaction sa = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};

	is(!sigaction(SIGSYS, &sa, NULL), "sigaction");
	is(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	is(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "seccomp");
}

/* getpriority traps: the recorder does without. */
static void install_trap(void)
{
	static const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpriority, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(code, sizeof code / sizeof code[0]);
}

/* Calls from anywhere but the low 2 GiB, where a static program is, fail. */
static void install_by_address(void)
{
	static const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};

	install(code, sizeof code / sizeof code[0]);
}

static void use_trap(void)
{
	for (int i = 0; i < 20; i++) {
		is(syscall(SYS_getpriority, 0, 0) == 4242, "what the handler gave");
		is(trapped_nr == SYS_getpriority && !wrong, "SIGSYS");
		is(getppid() > 0, "another call");
	}
}

static void filter_trap(void)
{
	for (int i = 0; i < 20; i++)
		is(syscall(SYS_getpriority, 0, 0) > 0, "getpriority");
	install_trap();
	use_trap();
}

static void filter_by_address(void)
{
	is(getppid() > 0, "getppid");
	install_by_address();
	for (int i = 0; i < 20; i++)
		is(getuid() == geteuid() && syscall(SYS_getpid) > 0, "calls behind a filter that looks at addresses");
}

static void filter_of_child(void)
{
	pid_t child;
	int status;

	install_by_address();
	child = fork();
	if (!child) {
		for (int i = 0; i < 20; i++)
			if (syscall(SYS_getpid) < 0)
				_exit(1);
		_exit(0);
	}
	is(waitpid(child, &status, 0) == child && !status, "the same of a child");
}

static void *filter_in_thread(void *arg)
{
	(void)arg;
	install_by_address();
	for (int i = 0; i < 20; i++)
		is(syscall(SYS_getpid) > 0, "getpid in a thread with a filter");
	return NULL;
}

static void filter_of_thread(void)
{
	pthread_t thread;

	is(!pthread_create(&thread, NULL, filter_in_thread, NULL), "pthread_create");
	for (int i = 0; i < 20; i++)
		is(syscall(SYS_getpid) > 0, "getpid");
	is(!pthread_join(thread, NULL), "pthread_join");
}

static char selector;

static void on_dispatch(int signo, siginfo_t *info, void *arg)
{
	ucontext_t *uc = arg;

	(void)signo;
	selector = 0; /* PR_SYS_DISPATCH_ALLOW */
	wrong |= (uint64_t)(uintptr_t)info->si_call_addr != (uint64_t)uc->uc_mcontext.gregs[REG_RIP] || !in_text((uint64_t)uc->uc_mcontext.gregs[REG_RIP]);
	handled++;
	uc->uc_mcontext.gregs[REG_RAX] = 77;
}

static void user_dispatch(void)
{
	struct sigaction sa = {.sa_sigaction = on_dispatch, .sa_flags = SA_SIGINFO};

	is(!sigaction(SIGSYS, &sa, NULL), "sigaction");
	is(syscall(SYS_getpid) > 0, "getpid");
	if (prctl(59, 1, 0, 0, &selector)) { /* PR_SET_SYSCALL_USER_DISPATCH, Linux 5.11 */
		puts("no user dispatch");
		return;
	}
	for (unsigned long i = 1; i <= 10; i++) {
		is(syscall(SYS_getpid) > 0, "getpid while calls are allowed");
		selector = 1;
		is(syscall(SYS_getpid) == 77 && handled == i && !wrong, "a call that is dispatched");
	}
}

/* Executes what follows with a filter that was there before it. */
static void filtered_before(char **argv)
{
	install_trap();
	execvp(argv[0], argv);
	fail("exec");
}

static void registers_few(void) { registers(40); }
static void alarms_cut(void) { under_alarms(0); }
static void alarms_restart(void) { under_alarms(SA_RESTART); }

static void filter_before(void)
{
	struct sigaction sa = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};

	is(!sigaction(SIGSYS, &sa, NULL), "sigaction");
	use_trap();
}

static long set_mask(int how, const void *set, void *old) { return syscall(SYS_rt_sigprocmask, how, set, old, sizeof(uint64_t)); }

static uint64_t mask_now(void)
{
	uint64_t mask = 0;

	is(!set_mask(SIG_BLOCK, NULL, &mask), "asking for the mask");
	return mask;
}

#define SIGNAL_BIT(signo) (1ull << ((signo) - 1))

/* Which fail as they do natively, also where a fault of whoever reads the set would find SIGSEGV blocked. */
static void masks_fail(void)
{
	enum {
		PAGE = 4096,
	};
	uint8_t *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t set = SIGNAL_BIT(SIGUSR2), before = mask_now();

	is(!mprotect(pages + PAGE, PAGE, PROT_NONE), "mprotect");
	is(set_mask(SIG_BLOCK, (void *)8, NULL) == -1 && errno == EFAULT, "a set that is nowhere");
	is(set_mask(SIG_SETMASK, pages + PAGE, NULL) == -1 && errno == EFAULT, "a set that cannot be read");
	is(set_mask(SIG_SETMASK, pages + PAGE - 4, NULL) == -1 && errno == EFAULT, "half a set");
	is(set_mask(77, &set, NULL) == -1 && errno == EINVAL, "how");
	is(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 4) == -1 && errno == EINVAL, "the size of a set");
	is(mask_now() == before, "a mask that nobody set");
	is(set_mask(SIG_BLOCK, &set, pages + PAGE) == -1 && errno == EFAULT, "a mask that cannot be told");
	is(mask_now() == (before | set), "it is set all the same");
	is(!set_mask(SIG_SETMASK, &before, NULL), "back");
	munmap(pages, 2 * PAGE);
}

/* Nothing of it is the recorder's to see, but the two signals that it uses. */
static void masks(void)
{
	const uint64_t ours[] = {SIGNAL_BIT(SIGTRAP), SIGNAL_BIT(SIGSEGV), SIGNAL_BIT(SIGTRAP) | SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGINT)};
	uint64_t usr1 = SIGNAL_BIT(SIGUSR1), chld = SIGNAL_BIT(SIGCHLD), none = 0, old = 1;
	struct sigaction action;

	handle(SIGUSR1, 0);
	handle(SIGSEGV, 0);
	for (int i = 0; i < 1000; i++) {
		is(!set_mask(SIG_BLOCK, &chld, &old) && !old, "the mask before");
		is(!set_mask(SIG_SETMASK, &old, NULL) && !mask_now(), "the mask behind");
	}
	for (int i = 0; i < 20; i++) {
		is(!set_mask(SIG_BLOCK, &usr1, NULL), "block");
		raise(SIGUSR1);
		is(handled == (unsigned)i, "a signal that is blocked");
		is(!set_mask(i % 2 ? SIG_UNBLOCK : SIG_SETMASK, i % 2 ? &usr1 : &none, NULL), "unblock");
		is(handled == (unsigned)i + 1, "a signal that comes as soon as it may");
	}
	masks_fail();
	for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
		is(!set_mask(SIG_BLOCK, &ours[i], &old) && !old, "block what the recorder uses");
		is(mask_now() == ours[i], "what is blocked");
		masks_fail();
		is(!set_mask(SIG_BLOCK, &chld, &old) && old == ours[i] && mask_now() == (ours[i] | chld), "one more");
		is(!set_mask(SIG_UNBLOCK, &ours[i], NULL) && mask_now() == chld, "unblock what the recorder uses");
		is(!set_mask(SIG_SETMASK, &none, NULL) && !mask_now(), "none");
	}
	is(!sigaction(SIGSEGV, NULL, &action) && action.sa_sigaction == on_signal, "what SIGSEGV does");
	raise(SIGSEGV);
	is(handled == 21, "SIGSEGV is handled");
}

static int does(int signo, void (*what)(int))
{
	struct sigaction now;

	is(!sigaction(signo, NULL, &now), "what it does");
	return now.sa_handler == what;
}

/* Memory that cannot be read is named in calls that fail for it, or (/dev/null) do not look at it: what its signal does, and whether that is
 * blocked, stays as the program has said. */
static void unread(int signo, const void *memory, void (*what)(int), uint64_t blocked)
{
	is(signal(signo, what) != SIG_ERR, "signal");
	for (int i = 0; i < 3; i++) {
		is(set_mask(SIG_BLOCK, memory, NULL) == -1 && errno == EFAULT, "a set that cannot be read");
		is(write(2, memory, 10) == 10, "to where nobody reads it");
		is(does(signo, what), "what a signal does that nothing has raised");
		is(mask_now() == blocked, "the mask behind it");
	}
	is(signal(signo, SIG_DFL) == what, "signal");
}

static void nothing(int signo) { (void)signo; }

static void unread_memory(void)
{
	enum {
		PAGE = 4096,
	};
	int file = memfd_create("short", 0), null = open("/dev/null", O_WRONLY);
	const uint64_t bus = SIGNAL_BIT(SIGBUS);
	uint8_t *pages;

	is(file >= 0 && !ftruncate(file, PAGE) && null >= 0 && dup2(null, 2) == 2, "files");
	pages = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, file, 0);
	is(pages != MAP_FAILED, "mmap");
	unread(SIGSEGV, (void *)8, SIG_DFL, 0);
	unread(SIGBUS, pages + PAGE, nothing, 0);
	is(!set_mask(SIG_BLOCK, &bus, NULL), "block");
	unread(SIGBUS, pages + PAGE, nothing, bus);
	is(!set_mask(SIG_UNBLOCK, &bus, NULL), "unblock");
	unread(SIGBUS, pages + PAGE, SIG_IGN, 0);
	unread(SIGSEGV, (void *)8, nothing, 0);
	unread(SIGSEGV, (void *)8, SIG_IGN, 0);
}

/* A signal comes at any of the instructions. */
static void masks_alarms(void)
{
	uint64_t alarm = SIGNAL_BIT(SIGALRM), old;

	alarms(300, 0);
	while (handled < 1000) {
		is(!set_mask(SIG_BLOCK, &alarm, &old), "block");
		is(!old && mask_now() == alarm, "the mask within");
		is(!set_mask(SIG_SETMASK, &old, NULL) && !mask_now(), "the mask behind");
	}
	no_alarms();
}

static void on_timer(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	handled++;
	if (info->si_code != SI_KERNEL)
		wrong = 1;
}

/* Without a conditional between two of them. */
static inline long plain_call(long nr, long a, const void *b, void *c, const void *d)
{
	register const void *r10 __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return result;
}

/* A timer sends more often than the moments of its signal can be kept; what has come once it is blocked again is asked for. */
static void alarms_told(void)
{
	const struct itimerval often = {{0, 2000}, {0, 2000}};
	const struct sigaction action = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO};
	const struct timespec at_once = {0, 0};
	const uint64_t alarm = SIGNAL_BIT(SIGALRM);
	const void *size = (void *)sizeof alarm;
	volatile unsigned x = 0;

	for (unsigned i = 0; i < 3000000; i++) /* history: keeping a moment takes its time */
		x = x * 3 + i;
	is(!sigaction(SIGALRM, &action, NULL) && !set_mask(SIG_BLOCK, &alarm, NULL) && !setitimer(ITIMER_REAL, &often, NULL), "a timer");
	for (int i = 0; i < 400; i++) {
		siginfo_t info;

		usleep(100);
		plain_call(SYS_rt_sigprocmask, SIG_UNBLOCK, &alarm, NULL, size);
		plain_call(SYS_rt_sigprocmask, SIG_BLOCK, &alarm, NULL, size);
		if (plain_call(SYS_rt_sigtimedwait, (long)&alarm, &info, (void *)&at_once, size) == SIGALRM)
			is(info.si_code == SI_KERNEL, "whose signal it is that was waited for");
	}
	is(handled && !wrong, "whose signal it is that was handled");
}

static const struct row {
	const char *name;
	void (*function)(void);
} rows[] = {
	{"masks", masks}, {"masks-alarms", masks_alarms}, {"unread-memory", unread_memory}, {"alarms-told", alarms_told},
	{"registers", registers_few}, {"alarms", alarms_cut}, {"alarms-restart", alarms_restart}, {"size-limit", size_limit},
	{"stops", stopped_and_continued}, {"turns", turns}, {"filter-trap", filter_trap}, {"filter-address", filter_by_address},
	{"filter-child", filter_of_child}, {"filter-thread", filter_of_thread}, {"user-dispatch", user_dispatch}, {"filter-before", filter_before},
};

/* Without arguments: what there is. forever: calls until it is killed. exec-filtered PROGRAM...: executes it with the filter that
 * filter-before needs. */
int main(int argc, char **argv)
{
	int known = argc < 2;

	if (argc > 2 && !strcmp(argv[1], "exec-filtered"))
		filtered_before(argv + 2);
	if (argc > 1 && !strcmp(argv[1], "forever")) {
		puts("calling");
		fflush(stdout);
		call_forever((void *)&wrong);
	}
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (argc < 2)
			puts(rows[i].name);
		if (argc > 1 && !strcmp(argv[1], rows[i].name)) {
			rows[i].function();
			known = 1;
		}
	}
	is(known, "no such case");
	if (argc > 1)
		puts("ok");
	return 0;
}
