/* A program that runs itself again and again (again.py): what the one process leaves behind must not show in the next.
 *   runs N      N processes with different work, one behind the other
 *   together N  the same, up to three at a time
 *   forks N     the same; each forks, too, and both go on
 *   changed     processes that change code of theirs, in ways that leave the mappings as they were, and ones that do not
 *   region      prints which memory file the code of the recorder's lies in ("-" natively, or when it is private) of three processes
 *   silent      two processes, of which the second comes to a cycle without conditionals that the first had cut; an alarm ends it
 *   cut-here    the same in one process
 *   limited     a process that may have little data (RLIMIT_DATA) and filters its system calls, behind one that may have what it likes
 *   elsewhere DIR  a process in other namespaces, in which the recorder's number is another process's, whose descriptors must not be opened.
 *               (root only)
 *   jailed DIR  region, but the second process has no /proc: it has DIR for its root. (root only)
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef VALUE /* builds that differ in this alone have their code at the same places */
#define VALUE 1
#endif

enum {
	ROUNDS = 20,
};

static volatile int sink;

/* On pages of its own: these are changed. */
__attribute__((noinline, noipa, aligned(4096))) static int constant(void) { return 0x1000 + VALUE; }
__attribute__((noinline, noipa)) static int behind_constant(int x) { return x * 3 + VALUE; }
__attribute__((noinline, noipa, aligned(4096))) static int elsewhere(int x) { return x + 1; }

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static int collatz(int n)
{
	int steps = 0;

	for (; n > 1; steps++)
		n = n % 2 ? 3 * n + 1 : n / 2;
	return steps;
}

typedef int (*worker)(int);

static int by_string(int n)
{
	char text[32];
	int sum = 0;

	for (int i = 0; i < n % 50 + 10; i++) {
		snprintf(text, sizeof text, "%d-%x", i * n, i);
		sum += (int)strlen(text) + (int)strtol(text, NULL, 10);
	}
	return sum;
}

static int by_sort(int n)
{
	int list[64];

	for (int i = 0; i < 64; i++)
		list[i] = (i + n) * 7919 % 101;
	qsort(list, 64, sizeof list[0], compare);
	return list[n % 64];
}

/* Each number comes by other code than the one before. */
static int work(int n, int rounds)
{
	static const worker workers[] = {collatz, by_string, by_sort};
	int sum = 0;

	for (int i = 0; i < rounds; i++)
		sum = sum * 31 + workers[(i * n + i / 7) % 3](i + n);
	if (n % 2)
		sum += behind_constant(n);
	return sum + constant() + elsewhere(n);
}

static const char *self;

/* A cycle of two jumps, on a page each. */
__asm__(".text\n.balign 4096\n.globl cycle_low\ncycle_low: jmp cycle_high\n.balign 4096\n.globl cycle_high\ncycle_high: nop\n jmp cycle_low\n.balign 4096\n");
extern uint8_t cycle_low[], cycle_high[];
static void (*volatile enter_cycle)(void) = (void (*)(void))(void *)cycle_high; /* not by a branch that is looked along */

static pid_t run(const char *what, const char *argument)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		execl(self, self, what, argument, (char *)NULL);
		_exit(99);
	}
	return pid;
}

static int wait_for_one(void)
{
	int status = -1;

	return wait(&status) < 0 ? -1 : status;
}

static int runs(int n, int at_once, const char *what)
{
	char number[16];
	int status = 0, running = 0;

	for (int i = 0; i < n; i++) {
		snprintf(number, sizeof number, "%d", i);
		run(what, number);
		if (++running == at_once) {
			status |= wait_for_one();
			running--;
		}
	}
	for (; running; running--)
		status |= wait_for_one();
	return status != 0;
}

static void *page_of(const void *p) { return (void *)((uintptr_t)p & ~(uintptr_t)4095); }

static int protect(const void *code, int prot) { return mprotect(page_of(code), 4096, prot); }

/* The immediate operand in the code of constant(). */
static uint8_t *operand(void)
{
	const uint32_t value = 0x1000 + VALUE;

	return memmem((void *)(uintptr_t)constant, 64, &value, sizeof value);
}

/* As a debugger writes: into a page that nobody may write to. */
static int write_memory(const void *at, uint8_t byte)
{
	FILE *memory = fopen("/proc/self/mem", "r+");

	return !memory || fseek(memory, (long)(uintptr_t)at, SEEK_SET) || fputc(byte, memory) == EOF || fclose(memory);
}

/* The other page of a function: what lies there natively stays. */
static void write_elsewhere(void)
{
	protect((void *)(uintptr_t)elsewhere, PROT_READ | PROT_WRITE | PROT_EXEC);
	for (uint8_t *p = (uint8_t *)(uintptr_t)elsewhere; p < (uint8_t *)(uintptr_t)elsewhere + 64; p++)
		if (p[0] == 0x83 && p[2] == 1) { /* add eax, 1 */
			p[2] = 5;
			break;
		}
}

/* Code of each process's own, where the one before had its: above where the heap may begin (a gigabyte behind the program). */
static int placed(int n)
{
	uint8_t *code = mmap((void *)0x50000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	const uint8_t mov_ret[] = {0xb8, (uint8_t)n, 0, 0, 0, 0xc3};

	if (code == MAP_FAILED)
		return -1;
	memcpy(code, mov_ret, sizeof mov_ret);
	mprotect(code, 4096, PROT_READ | PROT_EXEC);
	return ((int (*)(void))(void *)code)();
}

static int by_number(int n)
{
	uint8_t *at;

	switch (n % 6) {
	case 1: /* written, and the mapping as it was */
		protect((void *)(uintptr_t)constant, PROT_READ | PROT_WRITE);
		at = operand();
		at[1] ^= 0x20;
		protect((void *)(uintptr_t)constant, PROT_READ | PROT_EXEC);
		break;
	case 2: /* written while it may be executed */
		sink = constant();
		protect((void *)(uintptr_t)constant, PROT_READ | PROT_WRITE | PROT_EXEC);
		sink = constant();
		operand()[1] ^= 0x40;
		break;
	case 3: /* gone when the process ends */
		sink = elsewhere(n);
		munmap(page_of((void *)(uintptr_t)elsewhere), 4096);
		printf("%d %x\n", n, constant());
		return 0;
	case 4:
		write_elsewhere();
		break;
	case 5: /* written without any change of a mapping */
		sink = constant();
		at = operand();
		if (write_memory(at + 1, at[1] ^ 0x60))
			return 95;
		printf("%d\n", work(n, 3)); /* most of the code that is left is of after that */
		break;
	default:
		break;
	}
	printf("%d %x %d %d\n", n, constant(), elsewhere(n) + behind_constant(n), placed(n));
	return 0;
}

static int memory_file(void)
{
	char line[512];
	unsigned long inode;
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof line, maps))
		if (strstr(line, "memfd:btrec") && strstr(line, " r-xs ") && sscanf(line, "%*s %*s %*s %*s %lu", &inode) == 1) {
			printf("%lu\n", inode);
			return 0;
		}
	printf("-\n");
	return 0;
}

static int forked(int n)
{
	pid_t pid = fork();
	int status = 0, result = work(n + !pid, ROUNDS);

	if (pid)
		waitpid(pid, &status, 0);
	printf("%d %d\n", n, result);
	fflush(stdout);
	return status != 0;
}

static void cut(uint8_t byte)
{
	protect(cycle_low, PROT_READ | PROT_WRITE);
	cycle_low[0] = byte;
	protect(cycle_low, PROT_READ | PROT_EXEC);
}

static sigjmp_buf out;

static void on_alarm(int signo)
{
	(void)signo;
	siglongjmp(out, 1);
}

static int go_round(void)
{
	const struct itimerval soon = {.it_value = {0, 100000}};

	signal(SIGALRM, on_alarm);
	if (!sigsetjmp(out, 1)) {
		setitimer(ITIMER_REAL, &soon, NULL);
		enter_cycle();
	}
	printf("out of it\n");
	return 0;
}

static int cut_and_go_round(bool whole_again)
{
	uint8_t jump = cycle_low[0];

	cut(0xc3);
	enter_cycle();
	cut(jump);
	return whole_again ? go_round() : printf("%d\n", work(2, 3)) < 0;
}

static int limited(void)
{
	const struct rlimit little = {1 << 20, RLIM_INFINITY};
	struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	const struct sock_fprog filter = {1, all};

	if (setrlimit(RLIMIT_DATA, &little) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		return 94;
	execl(self, self, "work", "6", (char *)NULL);
	return 93;
}

static pid_t tracer(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];
	int pid = 0;

	while (status && fgets(line, sizeof line, status))
		if (sscanf(line, "TracerPid: %d", &pid) == 1)
			break;
	return pid;
}

/* The first process of a namespace; pid there is a process that has nothing but a pipe nobody writes to. */
static int in_namespace(pid_t pid, const char *pipe)
{
	struct clone_args how = {.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&pid, .set_tid_size = 1};
	int ready[2], status = -1;
	pid_t other;
	char byte;

	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("proc", "/proc", "proc", 0, NULL) || pipe2(ready, 0))
		return 92;
	other = pid ? (pid_t)syscall(SYS_clone3, &how, sizeof how) : fork();
	if (!other) {
		int fd = open(pipe, O_RDONLY | O_NONBLOCK);

		for (int i = 3; i < 200; i++)
			if (i != ready[1] && i != fd)
				dup2(fd, i);
		if (write(ready[1], "r", 1) == 1)
			pause();
		_exit(1);
	}
	if (other < 0 || read(ready[0], &byte, 1) != 1)
		return 91;
	waitpid(run("work", "6"), &status, 0);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	return status;
}

static int elsewhere_in_number(const char *folder)
{
	pid_t pid = tracer(), first;
	char pipe[512];
	int status = -1;

	snprintf(pipe, sizeof pipe, "%s/pipe", folder);
	waitpid(run("work", "6"), &status, 0);
	if (status || mkfifo(pipe, 0600) || unshare(CLONE_NEWPID | CLONE_NEWNS))
		return 90;
	fflush(stdout);
	first = fork();
	if (!first)
		_exit(in_namespace(pid, pipe) != 0);
	waitpid(first, &status, 0);
	unlink(pipe);
	return status;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;

	self = argv[0];
	if (!strcmp(what, "runs"))
		return runs(n, 1, "work");
	if (!strcmp(what, "together"))
		return runs(n, 3, "quiet");
	if (!strcmp(what, "forks"))
		return runs(n, 1, "forked");
	if (!strcmp(what, "changed"))
		return runs(18, 1, "by-number");
	if (!strcmp(what, "region"))
		return runs(3, 1, "memory-file");
	if (!strcmp(what, "jailed"))
		return run("memory-file", ""), wait_for_one(), run("in", argv[2]), wait_for_one() || (run("memory-file", ""), wait_for_one());
	if (!strcmp(what, "silent"))
		return run("cut", ""), wait_for_one() || (run("round", ""), wait_for_one());
	if (!strcmp(what, "cut") || !strcmp(what, "cut-here"))
		return cut_and_go_round(what[3]);
	if (!strcmp(what, "round"))
		return go_round();
	if (!strcmp(what, "limited"))
		return run("work", "6"), wait_for_one() || (run("with-limits", ""), wait_for_one());
	if (!strcmp(what, "with-limits"))
		return limited();
	if (!strcmp(what, "elsewhere"))
		return elsewhere_in_number(argv[2]) != 0;
	if (!strcmp(what, "in")) {
		if (chroot(argv[2]) || chdir("/"))
			return 98;
		execl("/again", "/again", "work", "5", (char *)NULL);
		return 97;
	}
	if (!strcmp(what, "work"))
		printf("%d %d\n", n, work(n, ROUNDS));
	else if (!strcmp(what, "quiet"))
		return work(n, ROUNDS) == 0;
	else if (!strcmp(what, "forked"))
		return forked(n);
	else if (!strcmp(what, "by-number"))
		return by_number(n);
	else if (!strcmp(what, "memory-file"))
		return memory_file();
	else
		return 96;
	return 0;
}
