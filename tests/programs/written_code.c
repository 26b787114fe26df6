// SPDX-License-Identifier: MIT
/* written_code NAME: code in writable pages that run and are written by turns, in every way there is to write memory. Each case counts
 * what comes out wrong. tests/e2e/engine_written.py */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	TIMES = 24,
	SIZE = 8 /* of a function */
};

#define RWX (PROT_READ | PROT_WRITE | PROT_EXEC)

typedef long function(long);

/* lea value(%rdi), %rax; ret */
static void encode(unsigned char *at, int32_t value)
{
	static const unsigned char code[SIZE] = {0x48, 0x8d, 0x87, 0, 0, 0, 0, 0xc3};

	memcpy(at, code, sizeof code);
	memcpy(at + 3, &value, sizeof value);
}

static long call(void *at, long x)
{
	return ((function *)at)(x);
}

static unsigned char *pages(int n)
{
	unsigned char *at = mmap(NULL, (size_t)n * PAGE, RWX, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		exit(3);
	return at;
}

/* A function that has run: its page is watched. */
static unsigned char *warm(int n)
{
	unsigned char *at = pages(n);

	for (int i = 0; i < n; i++) {
		encode(at + i * PAGE, -1);
		if (call(at + i * PAGE, 1) != 0)
			exit(3);
	}
	return at;
}

/* ---- The kernel writes ---- */

static long by_read(void)
{
	unsigned char *page = warm(1), bytes[SIZE];
	int ends[2];
	long bad = pipe(ends) != 0;

	for (int i = 0; i < TIMES; i++) {
		encode(bytes, i);
		bad += write(ends[1], bytes, SIZE) != SIZE || read(ends[0], page, SIZE) != SIZE;
		bad += call(page, 2) != i + 2;
	}
	return bad;
}

static long compat_call(long number, long first, long second, long third)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(first), "c"(second), "d"(third) : "r8", "r9", "r10", "r11", "memory");
	return result;
}

/* Whether the kernel has 32-bit calls. */
static int has_compat_calls(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		_exit(compat_call(20, 0, 0, 0) != getpid());
	}
	return waitpid(pid, &status, 0) == pid && !status;
}

/* By calls whose numbers and arguments are not those of 64-bit ones; while SIGTRAP is ignored, too. */
static long by_int80(void)
{
	unsigned char *page = mmap(NULL, 2 * PAGE, RWX, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	int ends[2];
	long bad = pipe(ends) != 0;

	if (!has_compat_calls())
		return 0;
	encode(page, -1);
	bad += call(page, 1) != 0; /* it is watched */
	for (int i = 0; i < TIMES; i++) {
		encode(page + PAGE, i);
		bad += write(ends[1], page + PAGE, SIZE) != SIZE;
		bad += compat_call(3, ends[0], (long)page, SIZE) != SIZE;
		bad += call(page, 2) != i + 2 || call(page + PAGE, 3) != i + 3;
		if (i == TIMES / 2)
			signal(SIGTRAP, SIG_IGN);
	}
	return bad + (signal(SIGTRAP, SIG_DFL) != SIG_IGN);
}

static long by_readv(void)
{
	unsigned char *page = warm(2), bytes[2 * SIZE];
	struct iovec parts[2] = {{page, SIZE}, {page + PAGE, SIZE}};
	int ends[2];
	long bad = pipe(ends) != 0;

	for (int i = 0; i < TIMES; i++) {
		encode(bytes, i);
		encode(bytes + SIZE, -i);
		bad += write(ends[1], bytes, sizeof bytes) != sizeof bytes || readv(ends[0], parts, 2) != sizeof bytes;
		bad += call(page, 2) != i + 2 || call(page + PAGE, 2) != 2 - i;
	}
	return bad;
}

static long by_recvmsg(void)
{
	unsigned char *page = warm(1), bytes[SIZE];
	struct iovec part = {page, SIZE};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	int ends[2];
	long bad = socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0;

	for (int i = 0; i < TIMES; i++) {
		encode(bytes, i);
		bad += send(ends[1], bytes, SIZE, 0) != SIZE || recvmsg(ends[0], &message, 0) != SIZE;
		bad += call(page, 2) != i + 2;
	}
	return bad;
}

static long by_file(void)
{
	unsigned char *page = warm(1), bytes[SIZE];
	int fd = memfd_create("file", 0);
	long bad = fd < 0;

	for (int i = 0; i < TIMES; i++) {
		encode(bytes, i);
		bad += pwrite(fd, bytes, SIZE, 0) != SIZE || pread(fd, page, SIZE, 0) != SIZE;
		bad += call(page, 2) != i + 2;
	}
	return bad;
}

static long by_process_vm_writev(void)
{
	unsigned char *page = warm(1), bytes[SIZE];
	struct iovec from = {bytes, SIZE}, to = {page, SIZE};
	long bad = 0;

	for (int i = 0; i < TIMES; i++) {
		encode(bytes, i);
		bad += process_vm_writev(getpid(), &from, 1, &to, 1, 0) != SIZE;
		bad += call(page, 2) != i + 2;
	}
	return bad;
}

static long by_proc_mem(void)
{
	unsigned char *page = warm(1), *fixed = pages(1), bytes[SIZE];
	int fd = open("/proc/self/mem", O_RDWR);
	long bad = fd < 0;

	encode(fixed, -1);
	bad += mprotect(fixed, PAGE, PROT_READ | PROT_EXEC) != 0 || call(fixed, 1) != 0;
	for (int i = 0; i < TIMES; i++) {
		encode(bytes, i);
		bad += pwrite(fd, bytes, SIZE, (off_t)(uintptr_t)page) != SIZE;
		bad += call(page, 2) != i + 2;
		bad += lseek(fd, (off_t)(uintptr_t)fixed, SEEK_SET) < 0 || write(fd, bytes, SIZE) != SIZE;
		bad += call(fixed, 3) != i + 3;
	}
	return bad;
}

/* What the kernel writes is a number in a page of code. */
static long by_small_calls(void)
{
	unsigned char *page = warm(1);
	struct rlimit *limit = (struct rlimit *)(page + 256);
	struct timespec *now = (struct timespec *)(page + 512);
	int *status = (int *)(page + 768);
	long bad = 0;

	for (int i = 0; i < TIMES; i++) {
		pid_t child;

		bad += getrlimit(RLIMIT_NOFILE, limit) != 0 || limit->rlim_cur == 0;
		bad += call(page, 1) != 0;
		bad += syscall(SYS_clock_gettime, CLOCK_MONOTONIC, now) != 0 || now->tv_sec + now->tv_nsec == 0;
		bad += call(page, 1) != 0;
		if (i % 8 == 0) {
			child = fork();
			if (!child)
				_exit(i);
			bad += waitpid(child, status, 0) != child || !WIFEXITED(*status) || WEXITSTATUS(*status) != i;
			bad += call(page, 1) != 0;
		}
	}
	return bad;
}

/* A thread waits in a read into a page that begins to be watched meanwhile. */
struct reader {
	int fd;
	unsigned char *to;
	ssize_t n;
};

static void *read_late(void *argument)
{
	struct reader *r = argument;

	r->n = read(r->fd, r->to, SIZE);
	return NULL;
}

static long read_in_flight(void)
{
	long bad = 0;

	for (int i = 0; i < TIMES / 4; i++) {
		unsigned char *page = pages(1), bytes[SIZE];
		struct reader r = {.to = page + 64};
		pthread_t thread;
		int ends[2];

		bad += pipe(ends) != 0;
		r.fd = ends[0];
		encode(page, i);
		if (pthread_create(&thread, NULL, read_late, &r))
			exit(3);
		usleep(2000);
		for (int k = 0; k < 20; k++)
			bad += call(page, k) != i + k;
		encode(bytes, -i);
		bad += write(ends[1], bytes, SIZE) != SIZE || pthread_join(thread, NULL) || r.n != SIZE;
		bad += call(page + 64, 1) != 1 - i || call(page, 1) != i + 1;
		close(ends[0]);
		close(ends[1]);
	}
	return bad;
}

/* ---- The program writes ---- */

static long data_beside_code(void)
{
	unsigned char *page = warm(1);
	volatile long *counter = (long *)(page + 1024);
	long bad = 0;

	for (int i = 0; i < 50 * TIMES; i++) {
		++*counter;
		bad += call(page, i) != i - 1;
	}
	return bad + (*counter != 50 * TIMES);
}

static long across_pages(void)
{
	unsigned char *page = warm(3), bytes[2 * PAGE];
	long bad = 0;

	for (int i = 0; i < TIMES; i++) {
		for (int k = 0; k + SIZE <= 2 * PAGE; k += SIZE)
			encode(bytes + k, i + k);
		memcpy(page + PAGE / 2, bytes, sizeof bytes);
		bad += call(page + PAGE / 2, 0) != i || call(page + PAGE, 0) != i + PAGE / 2 || call(page + 2 * PAGE, 0) != i + PAGE + PAGE / 2;
		encode(page + PAGE - 5, -i); /* half here, half there */
		bad += call(page + PAGE - 5, 0) != -i;
	}
	return bad;
}

/* Each round of a loop writes the constant of the instruction behind the store:
 * 1: movb %cl, 2f+1(%rip); 2: movl $0, %eax (its constant's low byte); addq %rax, %rdx; decq %rcx; jnz 1b; movq %rdx, %rax; ret */
static long own_loop(void)
{
	static const unsigned char code[] = {0x31, 0xd2, 0x48, 0x89, 0xf9, 0x88, 0x0d, 0x01, 0x00, 0x00, 0x00, 0xb8, 0, 0, 0, 0,
					     0x48, 0x01, 0xc2, 0x48, 0xff, 0xc9,
					      0x75, 0xed, 0x48, 0x89, 0xd0, 0xc3};
	unsigned char *page = warm(1);
	long bad = 0;

	memcpy(page + 100, code, sizeof code);
	for (int n = 1; n < 200; n += 13)
		bad += call(page + 100, n) != (long)n * (n + 1) / 2;
	return bad;
}

/* rep movsb and rep stosb over code, and over its own next instructions' page. */
static long by_string_instructions(void)
{
	unsigned char *page = warm(2), bytes[PAGE];
	long bad = 0;

	for (int i = 0; i < TIMES; i++) {
		void *to = page, *from = bytes;
		size_t n = sizeof bytes;

		memset(bytes, 0x90, sizeof bytes);
		encode(bytes + PAGE - SIZE, i);
		__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
		bad += call(page, 1) != i + 1;
		to = page + PAGE / 2;
		n = 64;
		__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(0x90) : "memory");
		bad += call(page, 2) != i + 2;
	}
	return bad;
}

static long on_the_stack(void)
{
	unsigned char code[64] __attribute__((aligned(64)));
	uintptr_t page = (uintptr_t)code & ~(uintptr_t)(PAGE - 1);
	long bad = mprotect((void *)page, PAGE, RWX) != 0;

	for (int i = 0; i < TIMES; i++) {
		encode(code, i);
		bad += call(code, i) != 2L * i;
	}
	return bad;
}

struct handshake {
	unsigned char *page;
	atomic_int turn;
	long bad;
};

static void *write_by_turns(void *argument)
{
	struct handshake *h = argument;

	for (int i = 0; i < TIMES; i++) {
		while (atomic_load(&h->turn) != 2 * i)
			sched_yield();
		encode(h->page, i);
		atomic_store(&h->turn, 2 * i + 1);
	}
	return NULL;
}

static long by_a_thread(void)
{
	struct handshake h = {.page = warm(1)};
	pthread_t thread;

	if (pthread_create(&thread, NULL, write_by_turns, &h))
		exit(3);
	for (int i = 0; i < TIMES; i++) {
		while (atomic_load(&h.turn) != 2 * i + 1)
			sched_yield();
		h.bad += call(h.page, 7) != i + 7;
		atomic_store(&h.turn, 2 * i + 2);
	}
	pthread_join(thread, NULL);
	return h.bad;
}

/* ---- Mappings ---- */

static volatile sig_atomic_t faults;

static void on_fault(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	faults++;
	mprotect((void *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1)), PAGE, RWX);
}

/* A write to a page that the program itself has protected is the program's fault; to one that it has not, nobody's. */
static long own_protection(void)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	unsigned char *page = warm(1);
	long bad = 0;

	sigaction(SIGSEGV, &action, NULL);
	for (int i = 0; i < TIMES; i++) {
		encode(page, i);
		bad += call(page, 1) != i + 1 || faults != i;
		bad += mprotect(page, PAGE, PROT_READ | PROT_EXEC) != 0;
		bad += call(page, 2) != i + 2;
		encode(page, -i); /* faults */
		bad += faults != i + 1 || call(page, 3) != 3 - i;
	}
	return bad;
}

static long moved(void)
{
	long bad = 0;

	for (int i = 0; i < TIMES; i++) {
		unsigned char *a = warm(2), *b = warm(2);

		encode(a, i);
		bad += call(a, 0) != i || call(b, 1) != 0;
		bad += mremap(a, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, b) != b;
		bad += call(b, 0) != i || call(b + PAGE, 1) != 0;
		encode(b, -i);
		bad += call(b, 0) != -i;
		munmap(b, 2 * PAGE);
	}
	return bad;
}

static long replaced(void)
{
	unsigned char *page = warm(1);
	long bad = 0;

	for (int i = 0; i < TIMES; i++) {
		bad += mmap(page, PAGE, RWX, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != page;
		bad += page[0] != 0;
		encode(page, i);
		bad += call(page, 0) != i;
		if (i % 2) {
			bad += munmap(page, PAGE) != 0 || mmap(page, PAGE, RWX, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != page;
			encode(page, -i);
			bad += call(page, 0) != -i;
		}
		bad += madvise(page, PAGE, MADV_DONTNEED) != 0;
		bad += page[0] != 0;
		page[0] = 0xb8; /* mov $0, %eax; ret */
		page[5] = 0xc3;
		bad += call(page, 5) != 0;
	}
	return bad;
}

/* The same attributes before and after: only the contents differ. */
static long replaced_fixed(void)
{
	unsigned char *page = pages(1);
	long bad = 0;

	for (int i = 0; i < TIMES; i++) {
		unsigned char *other = pages(1);

		encode(other, i);
		bad += mprotect(other, PAGE, PROT_READ | PROT_EXEC) != 0;
		bad += mremap(other, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, page) != page;
		bad += call(page, 1) != i + 1;
	}
	return bad;
}

/* ---- Processes ---- */

static long forked(void)
{
	unsigned char *page = warm(2);
	long bad = 0;

	for (int i = 0; i < 8; i++) {
		pid_t child;
		int status;

		encode(page, i);
		bad += call(page, 1) != i + 1;
		child = fork();
		if (!child) {
			long wrong = call(page, 2) != i + 2;

			for (int k = 0; k < 5; k++) {
				encode(page, 100 + k);
				wrong += call(page, 0) != 100 + k || call(page + PAGE, 1) != 0;
			}
			_exit((int)wrong);
		}
		encode(page + 64, -i);
		bad += call(page + 64, 0) != -i || call(page, 3) != i + 3;
		bad += waitpid(child, &status, 0) != child || status != 0;
	}
	return bad;
}

static void *keep_busy(void *argument)
{
	struct handshake *h = argument;

	for (int i = 0; !atomic_load(&h->turn); i++) {
		encode(h->page + PAGE, i);
		h->bad += call(h->page + PAGE, 0) != i;
		if (i % 16 == 0)
			sched_yield();
	}
	return NULL;
}

static long forked_with_threads(void)
{
	struct handshake h = {.page = warm(2)};
	pthread_t thread;
	long bad = 0;

	if (pthread_create(&thread, NULL, keep_busy, &h))
		exit(3);
	for (int i = 0; i < 8; i++) {
		pid_t child = fork();
		int status;

		if (!child) {
			long wrong = call(h.page, 1) != i;

			encode(h.page + PAGE, 5);
			wrong += call(h.page + PAGE, 0) != 5;
			encode(h.page, 6);
			wrong += call(h.page, 0) != 6;
			_exit((int)wrong);
		}
		bad += waitpid(child, &status, 0) != child || status != 0;
		encode(h.page, i);
		bad += call(h.page, 1) != i + 1;
	}
	atomic_store(&h.turn, 1);
	pthread_join(thread, NULL);
	return bad + h.bad;
}

/* ---- Signals ---- */

/* The Sig* lines of /proc/self/status are what the program has made them. */
static long signal_state(uint64_t blocked, uint64_t caught, uint64_t ignored)
{
	char line[256];
	long found = 0;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof line, f)) {
		unsigned long long v;

		found += sscanf(line, "SigBlk: %llx", &v) == 1 && v == blocked;
		found += sscanf(line, "SigCgt: %llx", &v) == 1 && (v & 1 << 10) == caught;
		found += sscanf(line, "SigIgn: %llx", &v) == 1 && (v & 1 << 10) == ignored;
	}
	if (f)
		fclose(f);
	return found != 3;
}

static long with_signals_blocked(void)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	unsigned char *page = warm(1);
	sigset_t all;
	long bad = 0;

	sigaction(SIGSEGV, &action, NULL);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (int i = 0; i < TIMES; i++) {
		encode(page, i);
		bad += call(page, 1) != i + 1;
	}
	bad += signal_state(0xfffffffffffbfeff & ~(1ull << 31 | 1ull << 32), 1 << 10, 0) && signal_state(0xfffffffe7ffbfeff, 1 << 10, 0);
	kill(getpid(), SIGSEGV); /* waits */
	for (int i = 0; i < TIMES; i++) {
		encode(page, i);
		bad += call(page, 1) != i + 1;
	}
	bad += faults != 0;
	action.sa_sigaction = NULL;
	action.sa_flags = 0;
	action.sa_handler = SIG_IGN;
	sigaction(SIGSEGV, &action, NULL); /* and is gone */
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	return bad;
}

static long with_faults_ignored(void)
{
	unsigned char *page = warm(1);
	long bad = 0;

	signal(SIGSEGV, SIG_IGN);
	for (int i = 0; i < TIMES; i++) {
		encode(page, i);
		bad += call(page, 1) != i + 1;
	}
	bad += signal_state(0, 0, 1 << 10);
	signal(SIGSEGV, SIG_DFL);
	return bad;
}

/* A fault of the program's while it blocks SIGSEGV kills it, whatever handler there is. */
static long blocked_fault(void)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	unsigned char *page = warm(1);
	pid_t child;
	int status;

	sigaction(SIGSEGV, &action, NULL);
	child = fork();
	if (!child) {
		sigset_t one;

		sigemptyset(&one);
		sigaddset(&one, SIGSEGV);
		sigprocmask(SIG_BLOCK, &one, NULL);
		encode(page, 5);
		if (call(page, 1) != 6)
			_exit(1);
		*(volatile char *)8 = 1;
		_exit(2);
	}
	return waitpid(child, &status, 0) != child || !WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV;
}

static unsigned char *signal_page;
static volatile sig_atomic_t handled;

static void use_page(int signo)
{
	encode(signal_page, signo);
	handled += call(signal_page, 0) == signo;
}

/* The frame is written to a page whose code has run. */
static long stack_beside_code(void)
{
	enum { STACK = 16 };
	unsigned char *area = pages(STACK);
	struct sigaction action = {.sa_handler = use_page, .sa_flags = SA_ONSTACK};
	stack_t stack = {.ss_sp = area, .ss_size = STACK * PAGE};
	long bad = 0;

	signal_page = area;
	bad += sigaltstack(&stack, NULL) != 0;
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < TIMES; i++) {
		for (int k = 0; k < STACK; k++) {
			encode(area + k * PAGE + 128, i);
			bad += call(area + k * PAGE + 128, 1) != i + 1;
		}
		raise(SIGUSR1);
	}
	return bad + (handled != TIMES);
}

/* The code has run there before the stack is one. */
static long stack_over_code(void)
{
	enum { STACK = 16 };
	unsigned char *area = pages(STACK);
	struct sigaction action = {.sa_handler = use_page, .sa_flags = SA_ONSTACK};
	stack_t stack = {.ss_sp = area, .ss_size = STACK * PAGE};
	long bad = 0;

	signal_page = pages(1);
	for (int k = 0; k < STACK; k++) {
		encode(area + k * PAGE + 64, k);
		for (int i = 0; i < TIMES; i++)
			bad += call(area + k * PAGE + 64, i) != i + k;
	}
	bad += sigaltstack(&stack, NULL) != 0;
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	return bad + (handled != 1);
}

/* The heap, where code may be without another call, shrinks and grows again: other pages at the same place. */
static long heap_again(void)
{
	unsigned char *heap = sbrk(0);
	long bad = personality((unsigned long)personality(0xffffffff) | READ_IMPLIES_EXEC) < 0;

	heap = (unsigned char *)(((uintptr_t)heap + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
	for (int i = 0; i < TIMES; i++) {
		bad += brk(heap + 4 * PAGE) != 0;
		encode(heap + 2 * PAGE, i);
		bad += call(heap + 2 * PAGE, i) != 2L * i;
		encode(heap + 2 * PAGE, i + 1);
		bad += call(heap + 2 * PAGE, i) != 2L * i + 1;
		bad += brk(heap + PAGE) != 0;
	}
	return bad;
}

/* A frame on a stack that the program has switched to, below which lies code that has run. */
static long switched_stack(void)
{
	enum { STACK = 16 };
	static unsigned char *area;
	static ucontext_t back, there;
	struct sigaction action = {.sa_handler = use_page};
	static long bad;

	signal_page = warm(1);
	sigaction(SIGUSR1, &action, NULL);
	area = pages(STACK);
	for (int i = 0; i < TIMES; i++) {
		for (int k = 0; k < STACK - 1; k++) {
			encode(area + k * PAGE + 128, i);
			bad += call(area + k * PAGE + 128, 1) != i + 1;
		}
		getcontext(&there);
		there.uc_stack.ss_sp = area;
		there.uc_stack.ss_size = STACK * PAGE - 2048;
		there.uc_link = &back;
		makecontext(&there, (void (*)(void))raise, 1, SIGUSR1);
		swapcontext(&back, &there);
	}
	return bad + (handled != TIMES);
}

/* ---- The end of all addresses ---- */

/* Ranges that reach to it, or wrap: the kernel refuses them. */
static long at_the_end(void)
{
	static const uintptr_t starts[] = {-(uintptr_t)PAGE, -(uintptr_t)9 * PAGE, (uintptr_t)1 << 63};
	unsigned char *page = warm(2);
	long bad = 0;

	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++) {
			void *at = (void *)starts[i];
			size_t n = k ? k * (size_t)PAGE : -starts[i];

			bad += !syscall(SYS_munmap, at, n) || !syscall(SYS_madvise, at, n, MADV_DONTNEED) || !syscall(SYS_mprotect, at, n, PROT_READ);
			bad += syscall(SYS_mremap, at, n, n, MREMAP_MAYMOVE) != -1;
			encode(page, i + k);
			bad += call(page, 1) != i + k + 1 || call(page + PAGE, 1) != 0;
		}
	return bad;
}

/* ---- Filters ---- */

/* From now on mprotect() kills. */
static long filtered(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof code / sizeof code[0], code};
	unsigned char *page = warm(2);
	long bad = 0;

	bad += prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
	for (int i = 0; i < TIMES; i++) {
		encode(page, i);
		bad += call(page, 1) != i + 1 || call(page + PAGE, 1) != 0;
	}
	return bad;
}

/* ---- The end ---- */

static long ends_protected(void)
{
	warm(20);
	return 0;
}

static long dies_protected(void)
{
	warm(20);
	abort();
}

/* ---- Memory that nothing has been written to ---- */

#define NOTHING ((unsigned char *)0x310000000000)

static unsigned char *fault_at;

static void leave_function(int signo, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signo;
	(void)info;
	fault_at = (unsigned char *)(uintptr_t)regs[REG_RIP];
	regs[REG_RIP] = *(greg_t *)(uintptr_t)regs[REG_RSP];
	regs[REG_RSP] += 8;
}

/* Megabytes of it behind a function that ends before: add %al,(%rax), again and again. */
static long before_nothing(void)
{
	static const unsigned char start[] = {0x48, 0x89, 0xf8}; /* mov %rdi,%rax */
	struct sigaction action = {.sa_sigaction = leave_function, .sa_flags = SA_SIGINFO};
	unsigned char *at = mmap(NOTHING, 16 << 20, RWX, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), byte, sum;
	long bad = at != NOTHING;

	sigaction(SIGSEGV, &action, NULL);
	for (int i = 0; i < TIMES && !bad; i++) {
		unsigned char *here = at + i * 64;

		memcpy(here, start, sizeof start);
		call(here, i);
		bad += fault_at != here + sizeof start;
		here[43] = 0xc3; /* ret, behind twenty of them */
		byte = sum = (unsigned char)i;
		for (int k = 0; k < 20; k++)
			sum += (unsigned char)(uintptr_t)&byte;
		call(here, (long)(uintptr_t)&byte);
		bad += byte != sum;
	}
	return bad;
}

/* ---- The file of shared code gets shorter ---- */

static int shrunk;
static unsigned char *shrunk_code;
static greg_t shrunk_regs[4];

static void lengthen(int signo, siginfo_t *info, void *context)
{
	const greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signo;
	fault_at = info->si_addr;
	shrunk_regs[0] = regs[REG_RIP] - (greg_t)(uintptr_t)shrunk_code;
	shrunk_regs[1] = regs[REG_RAX];
	shrunk_regs[2] = regs[REG_RCX];
	shrunk_regs[3] = regs[REG_RDX];
	if (ftruncate(shrunk, 2 * PAGE))
		_exit(3);
	memcpy(shrunk_code + PAGE - 3, "\x48\x89\xd0\x48\x01\xc8\xc3", 7); /* mov %rdx,%rax; add %rcx,%rax on the second page; ret */
}

static long shortened(void)
{
	struct sigaction action = {.sa_sigaction = lengthen, .sa_flags = SA_SIGINFO};
	long bad = 0, result;

	shrunk = memfd_create("code", 0);
	if (shrunk < 0 || ftruncate(shrunk, 2 * PAGE))
		return -1;
	shrunk_code = mmap(NULL, 2 * PAGE, RWX, MAP_SHARED, shrunk, 0);
	sigaction(SIGBUS, &action, NULL);
	lengthen(0, &(siginfo_t){0}, &(ucontext_t){0});
	for (int i = 0; i < TIMES; i++) {
		bool first = i & 1; /* page, or the second alone */

		fault_at = NULL;
		if (i >= TIMES / 2 && ftruncate(shrunk, first ? 0 : PAGE))
			return -1;
		__asm__ volatile("call *%1" : "=a"(result) : "r"(shrunk_code + PAGE - 3), "a"(0x77l), "d"(1000l), "c"(24l + i) : "memory", "cc", "r11");
		bad += result != 1024 + i;
		if (i < TIMES / 2)
			bad += fault_at != NULL;
		else
			bad += fault_at != shrunk_code + PAGE - (first ? 3 : 0) || shrunk_regs[0] != PAGE - (first ? 3 : 0) ||
			       shrunk_regs[1] != (first ? 0x77 : 1000) || shrunk_regs[2] != 24 + i || shrunk_regs[3] != 1000;
	}
	return bad;
}

/* ---- Instructions write over what follows them, through another mapping, where no operand says so ---- */

extern const char masked_legacy[], masked_vex[], masked_end[];

/* At 8 from the beginning: mov $1, %eax; ret. */
__asm__(".pushsection .text; masked_legacy: movq %rdi, %rdi; maskmovdqu %xmm1, %xmm0; nop; movl $1, %eax; ret; .fill 16, 1, 0x90\n"
	"masked_vex: movq %rdi, %rdi; vmaskmovdqu %xmm1, %xmm0; nop; movl $1, %eax; ret; .fill 16, 1, 0x90; masked_end: .popsection");

static long write_behind(const char *code, const char *end)
{
	int file = memfd_create("code", 0), result;
	unsigned char *data, *run, mask[16] = {[1] = 0x80};
	long bad = file < 0 || ftruncate(file, PAGE);

	data = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	run = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
	memcpy(data, code, (size_t)(end - code));
	for (int i = 0; i < TIMES; i++) {
		unsigned char bytes[16] = {[1] = (unsigned char)i};
		register unsigned char *at __asm__("rdi") = data + 8;

		__asm__ volatile("movdqu %1, %%xmm0; movdqu %2, %%xmm1; call *%3"
				 : "=a"(result) : "m"(bytes), "m"(mask), "r"(run), "r"(at) : "xmm0", "xmm1", "rcx", "rdx", "r11", "memory", "cc");
		bad += result != i;
	}
	return bad;
}

static long by_masked_store(void)
{
	long bad = write_behind(masked_legacy, masked_vex);

	return __builtin_cpu_supports("avx") ? bad + write_behind(masked_vex, masked_end) : bad;
}

static const struct {
	const char *name;
	long (*run)(void);
} table[] = {
	{"by-read", by_read}, {"by-int80", by_int80}, {"by-readv", by_readv}, {"by-recvmsg", by_recvmsg}, {"by-file", by_file},
	{"by-process-vm-writev", by_process_vm_writev}, {"by-proc-mem", by_proc_mem}, {"by-small-calls", by_small_calls},
	{"read-in-flight", read_in_flight}, {"data-beside-code", data_beside_code}, {"across-pages", across_pages},
	{"own-loop", own_loop}, {"by-string-instructions", by_string_instructions}, {"on-the-stack", on_the_stack},
	{"by-a-thread", by_a_thread}, {"own-protection", own_protection}, {"moved", moved}, {"replaced", replaced},
	{"replaced-fixed", replaced_fixed}, {"forked", forked}, {"forked-with-threads", forked_with_threads},
	{"with-signals-blocked", with_signals_blocked}, {"with-faults-ignored", with_faults_ignored},
	{"blocked-fault", blocked_fault}, {"stack-beside-code", stack_beside_code},
	{"stack-over-code", stack_over_code}, {"heap-again", heap_again}, {"switched-stack", switched_stack},
	{"at-the-end", at_the_end}, {"filtered", filtered}, {"ends-protected", ends_protected}, {"dies-protected", dies_protected},
	{"before-nothing", before_nothing}, {"shortened", shortened}, {"by-masked-store", by_masked_store},
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
