/* SPDX-License-Identifier: MIT */
/* endless LOOP END: a loop without a conditional, for ever. Before its end it has run for long enough that btrec knows where it leads.
 * LOOP: returns (a call and a return), calls (of a method), operations (of an interpreter), itself (an indirect jump to itself).
 * END: alarms (SIGPROF, fifteen times), limit (SIGXCPU), turn (another thread comes to have done something), code (another thread changes what is
 * executable, again and again, and runs it).
 * tests/e2e/engine_history.py */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { ALARMS = 15, CHANGES = 40, PAGE = 4096 };

static void returns(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n1: call 2f\n\tjmp 1b\n2: inc %%rbx\n\tret" ::: "rbx", "memory");
}

static void calls(void)
{
	static void *class[2], **object = class;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tlea 2f(%%rip), %%rax\n\tmov %%rax, 8(%0)\n1: mov (%1), %%rax\n\tcall *8(%%rax)\n\tjmp 1b\n"
			 "2: inc %%rbx\n\tret" ::"r"(class), "r"(&object)
			 : "rax", "rbx", "memory");
}

static void operations(void)
{
	static void *table[3];

	__asm__ volatile("lea 1f(%%rip), %%rax\n\tmov %%rax, (%0)\n\tlea 2f(%%rip), %%rax\n\tmov %%rax, 8(%0)\n\tlea 3f(%%rip), %%rax\n\tmov %%rax, 16(%0)\n\t"
			 "xor %%eax, %%eax\n1: mov $1, %%eax\n\tjmp *(%0,%%rax,8)\n2: lea 1(%%rax), %%eax\n\tjmp *(%0,%%rax,8)\n"
			 "3: inc %%rbx\n\tmov $0, %%eax\n\tjmp *(%0,%%rax,8)" ::"r"(table)
			 : "rax", "rbx", "memory");
}

static void itself(void)
{
	__asm__ volatile("lea 1f(%%rip), %%rax\n1: jmp *%%rax" ::: "rax");
}

static void write_out(const char *text)
{
	(void)!write(STDOUT_FILENO, text, strlen(text));
}

static void count_alarm(int signo)
{
	static volatile sig_atomic_t count;

	(void)signo;
	if (++count < ALARMS)
		return;
	write_out("alarms\n");
	_exit(0);
}

static void meet_limit(int signo)
{
	(void)signo;
	write_out("limit\n");
	_exit(0);
}

static void wait_a_moment(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
}

static void *take_turns(void *arg)
{
	wait_a_moment();
	for (volatile int i = 0; i < 10000000; i++)
		;
	write_out("turn\n");
	_exit(0);
	return arg;
}

static void *change_code(void *arg)
{
	static const uint8_t code[] = {0xb8, 0, 0, 0, 0, 0xc3}; /* mov eax, i; ret */
	int sum = 0;

	wait_a_moment();
	for (int i = 0; i < CHANGES; i++) {
		uint8_t *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (page == MAP_FAILED)
			_exit(1);
		memcpy(page, code, sizeof code);
		page[1] = (uint8_t)i;
		if (mprotect(page, PAGE, PROT_READ | PROT_EXEC))
			_exit(1);
		sum += ((int (*)(void))(uintptr_t)page)();
		munmap(page, PAGE);
	}
	write_out(sum == CHANGES * (CHANGES - 1) / 2 ? "code\n" : "wrong code\n");
	_exit(0);
	return arg;
}

static void start_alarms(void)
{
	signal(SIGPROF, count_alarm);
	setitimer(ITIMER_PROF, &(struct itimerval){{0, 20000}, {0, 20000}}, NULL);
}

static void start_limit(void)
{
	signal(SIGXCPU, meet_limit);
	setrlimit(RLIMIT_CPU, &(struct rlimit){1, 10});
}

static void start(void *(*what)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, what, NULL))
		_exit(1);
}

static void start_turns(void) { start(take_turns); }
static void start_changes(void) { start(change_code); }

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} loops[] = {{"returns", returns}, {"calls", calls}, {"operations", operations}, {"itself", itself}},
	  ends[] = {{"alarms", start_alarms}, {"limit", start_limit}, {"turn", start_turns}, {"code", start_changes}};

	for (size_t i = 0; argc == 3 && i < sizeof ends / sizeof ends[0]; i++)
		if (!strcmp(argv[2], ends[i].name))
			ends[i].run();
	for (size_t i = 0; argc == 3 && i < sizeof loops / sizeof loops[0]; i++)
		if (!strcmp(argv[1], loops[i].name))
			loops[i].run();
	return 2;
}
