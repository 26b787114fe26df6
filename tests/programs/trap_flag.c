// SPDX-License-Identifier: MIT
/* trap_flag NAME: looks for the traces that single-stepping leaves in a program's own view: the trap flag (TF) in what it
 * reads, and the handling of SIGTRAP. Prints what it sees; alone it prints "0" or numbers that are the same when stepped.
 * tests/e2e/stepper.py compares both. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define TF 0x100UL
#define RF 0x10000UL
#define KEEP_RED_ZONE "lea -128(%%rsp), %%rsp\n\t"
#define GIVE_RED_ZONE "lea 128(%%rsp), %%rsp\n\t"

static void say(unsigned long flags)
{
	printf("%d\n", (flags & TF) != 0);
}

static void pushf(void)
{
	unsigned long flags;

	__asm__ volatile(KEEP_RED_ZONE "pushfq\n\tpop %0\n\t" GIVE_RED_ZONE : "=r"(flags));
	say(flags);
}

static void pushf_16(void)
{
	unsigned short flags;

	__asm__ volatile(KEEP_RED_ZONE "pushfw\n\tpopw %0\n\t" GIVE_RED_ZONE : "=r"(flags));
	say(flags);
}

/* A load of ss holds the trap off until the next instruction has run: the stepper does not see pushf alone. */
static void pushf_after_ss(void)
{
	unsigned long flags;

	__asm__ volatile(KEEP_RED_ZONE "mov %%ss, %%eax\n\tmov %%eax, %%ss\n\tpushfq\n\tpop %0\n\t" GIVE_RED_ZONE
			 : "=r"(flags)::"rax");
	say(flags);
}

static void pushf_twice_after_ss(void)
{
	unsigned long flags, second;

	__asm__ volatile(KEEP_RED_ZONE
			 "mov %%ss, %%eax\n\tmov %%eax, %%ss\n\tmov %%eax, %%ss\n\tpushfq\n\tpushfq\n\tpop %1\n\tpop %0\n\t" GIVE_RED_ZONE
			 : "=r"(flags), "=r"(second)::"rax");
	say(flags | second);
}

static void pushf_after_popf(void)
{
	unsigned long flags;

	__asm__ volatile(KEEP_RED_ZONE "push $0x203\n\tpopfq\n\tpushfq\n\tpop %0\n\t" GIVE_RED_ZONE : "=r"(flags)::"cc");
	printf("%lx\n", flags);
}

/* System calls leave the flags in r11. */
static unsigned long r11_after(long nr)
{
	register unsigned long r11 __asm__("r11");
	long result;

	__asm__ volatile("syscall" : "=a"(result), "=r"(r11) : "a"(nr), "D"(0), "S"(0), "d"(0) : "rcx", "memory");
	return r11;
}

static void r11(void)
{
	say(r11_after(SYS_getpid));
}

static void r11_of_failure(void)
{
	say(r11_after(99999));
}

static void r11_after_ss(void)
{
	unsigned long flags;

	__asm__ volatile("mov $39, %%edx\n\tmov %%ss, %%ecx\n\tmov %%edx, %%eax\n\tmov %%ecx, %%ss\n\tsyscall\n\tmov %%r11, %0"
			 : "=r"(flags)::"rax", "rcx", "rdx", "r11");
	say(flags);
}

static volatile unsigned long seen_flags;
static volatile int seen_count, seen_code, seen_signo;

static void look(int signo, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	seen_signo = signo;
	seen_code = info->si_code;
	seen_flags |= (unsigned long)c->uc_mcontext.gregs[REG_EFL];
	/* The kernel clears rcx and r11's flag; a frame made by the stop of a system call has them. */
	if (signo == SIGUSR1)
		seen_flags |= (unsigned long)c->uc_mcontext.gregs[REG_R11] & TF;
	if (signo == SIGILL)
		c->uc_mcontext.gregs[REG_RIP] += 2;
	seen_count++;
}

static void handle(int signo, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};

	sigaction(signo, &action, NULL);
}

static void frame_of_fault(void)
{
	handle(SIGILL, look, 0);
	__asm__ volatile("ud2");
	printf("%d %d\n", seen_count, (seen_flags & TF) != 0);
}

static void frame_of_sent_signal(void)
{
	handle(SIGUSR1, look, 0);
	raise(SIGUSR1);
	printf("%d %d\n", seen_count, (seen_flags & TF) != 0);
}

static void frame_of_timer(void)
{
	struct itimerval soon = {.it_value = {.tv_usec = 20000}};

	handle(SIGALRM, look, 0);
	setitimer(ITIMER_REAL, &soon, NULL);
	while (!seen_count)
		;
	printf("%d %d\n", seen_count, (seen_flags & TF) != 0);
}

static void flags_after_handler(void)
{
	handle(SIGUSR1, look, 0);
	raise(SIGUSR1);
	pushf();
}

static void in_handler(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
	pushf();
}

static void pushf_in_handler(void)
{
	handle(SIGUSR1, in_handler, 0);
	raise(SIGUSR1);
}

static void pushf_in_child(void)
{
	int status;

	fflush(stdout);
	if (fork() == 0) {
		pushf();
		fflush(stdout);
		_exit(0);
	}
	wait(&status);
	say(r11_after(SYS_getpid));
}

static void *run_pushf(void *unused)
{
	(void)unused;
	pushf();
	return NULL;
}

static void pushf_in_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run_pushf, NULL);
	pthread_join(thread, NULL);
}

/* Flags that popf sets come through. */
static void popf(void)
{
	unsigned long flags;

	__asm__ volatile(KEEP_RED_ZONE "push $0x244ad5\n\tandq $0xcd7, (%%rsp)\n\tpopfq\n\tpushfq\n\tpop %0\n\tcld\n\t" GIVE_RED_ZONE
			 : "=r"(flags)::"cc");
	printf("%lx\n", flags);
}

/* The program steps itself: each trap's distance from the first, and that pushf shows its own flag. */
static uintptr_t trap_rips[256];
static int trap_codes[256];
static volatile int traps;

static void note_trap(int signo, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	(void)signo;
	if (traps < 256) {
		trap_codes[traps] = info->si_code;
		trap_rips[traps++] = (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
	}
}

static void print_traps(void)
{
	printf("%d traps:", traps);
	for (int i = 0; i < traps; i++)
		printf(" +%ld/%d", (long)(trap_rips[i] - trap_rips[0]), trap_codes[i]);
	printf("\n");
}

static void own_trap_flag(void)
{
	unsigned long flags;

	handle(SIGTRAP, note_trap, 0);
	__asm__ volatile(KEEP_RED_ZONE
			 "pushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\t"
			 "nop\n\tmov $3, %%ecx\n1:\tdec %%ecx\n\tjnz 1b\n\t"
			 "pushfq\n\tpop %0\n\t"
			 "pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\tnop\n\tnop\n\t" GIVE_RED_ZONE
			 : "=r"(flags)::"rcx", "cc");
	print_traps();
	printf("own flag %d\n", (flags & TF) != 0);
	pushf();
}

/* RF in the frames of its own traps, behind a popf. */
static void note_resume_flag(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	if (traps < 256)
		trap_codes[traps++] = (((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] & RF) != 0;
}

static void own_trap_flag_before_repeated(void)
{
	static char from[64], to[64];
	char *s = from, *d = to;

	handle(SIGTRAP, note_resume_flag, 0);
	__asm__ volatile(KEEP_RED_ZONE
			 "mov $5, %%ecx\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\trep movsb\n\tnop\n\t"
			 "xor %%eax, %%eax\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tcpuid\n\tnop\n\t"
			 "pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\tnop\n\t" GIVE_RED_ZONE
			 : "+S"(s), "+D"(d)::"rax", "rbx", "rcx", "rdx", "memory", "cc");
	for (int i = 0; i < traps; i++)
		printf("%d", trap_codes[i]);
	printf("\n");
}

/* Its own trap flag across a system call. */
static void own_trap_flag_and_system_call(void)
{
	unsigned long flags;

	handle(SIGTRAP, note_trap, 0);
	__asm__ volatile(KEEP_RED_ZONE
			 "pushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\t"
			 "mov $39, %%eax\n\tsyscall\n\tmov %%r11, %0\n\tnop\n\t"
			 "pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\tnop\n\t" GIVE_RED_ZONE
			 : "=r"(flags)::"rax", "rcx", "r11", "cc");
	print_traps();
	printf("own flag in r11 %d\n", (flags & TF) != 0);
}

/* Across instructions that the kernel may emulate: it does so without a trap. The last two load the flag, and clear it, right behind one. */
static void own_trap_flag_emulated(void)
{
	unsigned long flags;

	handle(SIGTRAP, note_trap, 0);
	__asm__ volatile(KEEP_RED_ZONE
			 "pushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\t"
			 "nop\n\tsmsw %%eax\n\tjmp 1f\n1:\tsmsw %%eax\n\tsmsw %%eax\n\tpushfq\n\tpop %0\n\t"
			 "pushfq\n\tandq $~0x100, (%%rsp)\n\tsmsw %%eax\n\tpopfq\n\tnop\n\tnop\n\t"
			 "pushfq\n\torq $0x100, (%%rsp)\n\tsmsw %%eax\n\tpopfq\n\tnop\n\tnop\n\t"
			 "pushfq\n\tandq $~0x100, (%%rsp)\n\tsmsw %%eax\n\tpopfq\n\tnop\n\tnop\n\t" GIVE_RED_ZONE
			 : "=r"(flags)::"rax", "cc");
	print_traps();
	printf("own flag %d\n", (flags & TF) != 0);
	pushf();
}

/* A handler sets the flag in its frame, the next one clears it. */
static void toggle(int signo, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	(void)signo;
	(void)info;
	c->uc_mcontext.gregs[REG_EFL] ^= TF;
	traps++;
}

static void own_trap_flag_by_sigreturn(void)
{
	handle(SIGTRAP, toggle, 0);
	handle(SIGUSR1, toggle, 0);
	raise(SIGUSR1);
	printf("%d handlers\n", traps);
	pushf();
}

static void note_break(int signo, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	printf("signal %d code %d behind %d\n", signo, info->si_code, ((unsigned char *)c->uc_mcontext.gregs[REG_RIP])[-1]);
	/* Some hypervisors leave rip at int1: it would trap for ever. */
	if (++traps == 5)
		exit(5);
}

static void int3_handled(void)
{
	handle(SIGTRAP, note_break, 0);
	__asm__ volatile("int3");
	printf("%d\n", traps);
}

static void int3_long_handled(void)
{
	handle(SIGTRAP, note_break, 0);
	__asm__ volatile(".byte 0xcd, 0x03");
	printf("%d\n", traps);
}

static void int1_handled(void)
{
	handle(SIGTRAP, note_break, 0);
	__asm__ volatile(".byte 0xf1");
	printf("%d\n", traps);
}

static void int3_after_ss(void)
{
	handle(SIGTRAP, note_break, 0);
	__asm__ volatile("mov %%ss, %%eax\n\tmov %%eax, %%ss\n\tint3" ::: "rax");
	printf("%d\n", traps);
}

static void int3_with_own_trap_flag(void)
{
	handle(SIGTRAP, note_trap, 0);
	__asm__ volatile(KEEP_RED_ZONE "pushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tint3\n\tnop\n\t"
				       "pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\tnop\n\t" GIVE_RED_ZONE ::: "cc");
	print_traps();
}

/* What the kernel does to a blocked SIGTRAP when a trap comes: unblocks it and sets the default. */
static void print_trap_state(void)
{
	struct sigaction action;
	sigset_t mask;

	sigaction(SIGTRAP, NULL, &action);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	printf("blocked %d default %d ignored %d ours %d\n", sigismember(&mask, SIGTRAP), action.sa_handler == SIG_DFL,
	       action.sa_handler == SIG_IGN, (void *)action.sa_sigaction == (void *)note_break);
}

static void status_lines(void)
{
	static const char *const names[] = {"SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt"};
	char line[256];
	FILE *file = fopen("/proc/self/status", "r");

	while (fgets(line, sizeof(line), file))
		for (int i = 0; i < 5; i++)
			if (!strncmp(line, names[i], strlen(names[i])))
				fputs(line, stdout);
	fclose(file);
}

static void mask_trap(int how)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTRAP);
	sigprocmask(how, &mask, NULL);
}

static void blocked_handled(void)
{
	handle(SIGTRAP, note_break, 0);
	mask_trap(SIG_BLOCK);
	print_trap_state();
	status_lines();
	mask_trap(SIG_UNBLOCK);
	print_trap_state();
	__asm__ volatile("int3");
	printf("%d\n", traps);
}

static void blocked_ignored(void)
{
	signal(SIGTRAP, SIG_IGN);
	mask_trap(SIG_BLOCK);
	print_trap_state();
	status_lines();
	mask_trap(SIG_UNBLOCK);
	print_trap_state();
	status_lines();
}

static void all_blocked(void)
{
	sigset_t all, before;

	handle(SIGTRAP, note_break, SA_RESTART | SA_NODEFER);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	status_lines();
	sigprocmask(SIG_SETMASK, &before, NULL);
	status_lines();
	print_trap_state();
}

/* A real SIGTRAP that waits while it is blocked. */
static void sent_while_blocked(void)
{
	handle(SIGTRAP, note_break, 0);
	mask_trap(SIG_BLOCK);
	kill(getpid(), SIGTRAP);
	status_lines();
	printf("not yet %d\n", traps);
	handle(SIGTRAP, look, 0);
	mask_trap(SIG_UNBLOCK);
	printf("%d by %d code %d\n", seen_count, seen_signo, seen_code);
}

static void waited_for(void)
{
	sigset_t mask;
	siginfo_t info;

	mask_trap(SIG_BLOCK);
	sigemptyset(&mask);
	sigaddset(&mask, SIGTRAP);
	kill(getpid(), SIGTRAP);
	printf("%d code %d\n", sigwaitinfo(&mask, &info), info.si_code);
	status_lines();
}

static void ignored_and_sent(void)
{
	signal(SIGTRAP, SIG_IGN);
	kill(getpid(), SIGTRAP);
	status_lines();
}

static void sent_and_fatal(void)
{
	kill(getpid(), SIGTRAP);
}

static void blocked_int3(void)
{
	handle(SIGTRAP, note_break, 0);
	mask_trap(SIG_BLOCK);
	__asm__ volatile("int3");
	printf("not reached\n");
}

static void blocked_int3_default(void)
{
	mask_trap(SIG_BLOCK);
	__asm__ volatile("int3");
	printf("not reached\n");
}

static void blocked_int3_ignored(void)
{
	signal(SIGTRAP, SIG_IGN);
	mask_trap(SIG_BLOCK);
	raise(SIGTRAP);
	__asm__ volatile("int3");
	printf("not reached\n");
}

static void blocked_int3_pending(void)
{
	mask_trap(SIG_BLOCK);
	raise(SIGTRAP);
	kill(getpid(), SIGTRAP);
	__asm__ volatile("int3");
	printf("not reached\n");
}

/* The trap comes behind the instruction that follows popf. */
static void blocked_own_trap_flag(void)
{
	handle(SIGTRAP, note_break, 0);
	mask_trap(SIG_BLOCK);
	__asm__ volatile(KEEP_RED_ZONE "pushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tnop\n\t" GIVE_RED_ZONE ::: "cc");
	printf("not reached\n");
}

static void break_in_handler(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
	__asm__ volatile("int3");
	printf("not reached\n");
}

/* As where a handler has all signals blocked. */
static void int3_in_handler(void)
{
	struct sigaction action = {.sa_sigaction = break_in_handler, .sa_flags = SA_SIGINFO};

	sigfillset(&action.sa_mask);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

/* A fault whose signal is blocked kills although there is a handler. */
static void blocked_fault(void)
{
	sigset_t mask;

	handle(SIGILL, look, 0);
	sigemptyset(&mask);
	sigaddset(&mask, SIGILL);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	__asm__ volatile("ud2");
	printf("not reached\n");
}

static void mask_in_handler(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
	print_trap_state();
}

static void blocked_by_sa_mask(void)
{
	struct sigaction action = {.sa_sigaction = mask_in_handler, .sa_flags = SA_SIGINFO};

	handle(SIGTRAP, note_break, 0);
	sigfillset(&action.sa_mask);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	print_trap_state();
	status_lines();
}

/* One-shot handlers stay until their signal comes. */
static void one_shot(void)
{
	handle(SIGTRAP, note_break, (int)SA_RESETHAND);
	mask_trap(SIG_BLOCK);
	print_trap_state();
	mask_trap(SIG_UNBLOCK);
	print_trap_state();
	__asm__ volatile("int3");
	print_trap_state();
}

static void string_instructions(void)
{
	static unsigned char from[20000], to[20000];
	unsigned long sum = 0;
	void *d = to, *s = from;
	size_t n = sizeof(to);

	for (size_t i = 0; i < sizeof(from); i += 100)
		from[i] = (unsigned char)(i / 100);
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n)::"memory");
	for (size_t i = 0; i < sizeof(to); i += 100)
		sum = sum * 31 + to[i];
	printf("%lu %zu\n", sum, n);
}

/* A system call that a handler interrupts and that is begun again. */
static void restarted(void)
{
	struct itimerval soon = {.it_value = {.tv_usec = 20000}};
	int ends[2];
	char c = 'x';

	if (pipe(ends))
		exit(3);
	fflush(stdout);
	if (fork() == 0) {
		usleep(300000);
		_exit(write(ends[1], &c, 1) == 1 ? 0 : 4);
	}
	handle(SIGALRM, look, SA_RESTART);
	setitimer(ITIMER_REAL, &soon, NULL);
	c = 0;
	printf("%zd", read(ends[0], &c, 1));
	printf(" %c %d %d\n", c, seen_count, (seen_flags & TF) != 0);
	wait(NULL);
}

static void interrupted(void)
{
	struct itimerval soon = {.it_value = {.tv_usec = 20000}};
	int ends[2];
	char c;

	if (pipe(ends))
		exit(3);
	handle(SIGALRM, look, 0);
	setitimer(ITIMER_REAL, &soon, NULL);
	printf("%zd ", read(ends[0], &c, 1));
	printf("%d %d %d\n", errno == EINTR, seen_count, (seen_flags & TF) != 0);
}

/* Instructions that set the flags and fault, as the operands are wrong: nothing traps behind them, and no flags have TF. */
static uintptr_t go_on_at;

static void skip_fault(int signo, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	printf("signal %d code %d flag %d\n", signo, info->si_code, (c->uc_mcontext.gregs[REG_EFL] & TF) != 0);
	if (++traps == 20)
		exit(20);
	if (signo != SIGTRAP)
		c->uc_mcontext.gregs[REG_RIP] = (greg_t)go_on_at;
}

static void skip_faults(void)
{
	static char memory[1 << 16];
	const stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};

	sigaltstack(&stack, NULL);
	handle(SIGSEGV, skip_fault, SA_ONSTACK);
	handle(SIGBUS, skip_fault, SA_ONSTACK);
	handle(SIGILL, skip_fault, SA_ONSTACK);
	handle(SIGTRAP, skip_fault, SA_ONSTACK);
}

#define FAULTING(text)                                                                                                                   \
	__asm__ volatile("mov %%rsp, %%r12\n\tlea -128(%%rsp), %%rsp\n\tlea 9f(%%rip), %%rax\n\tmov %%rax, %0\n\t" text                    \
			 "\n9:\tmov %%r12, %%rsp"                                                                                        \
			 : "=m"(go_on_at)::"rax", "r12", "cc", "memory")
#define IRET_FRAME(rip, flags, selector) "push $0\n\tpush %%rsp\n\tpush $" flags "\n\tpush $" selector "\n\tpush " rip "\n\t"

static void iret_faults(void)
{
	skip_faults();
	FAULTING(IRET_FRAME("$0", "0x202", "0x1234") "iretq");
	FAULTING(IRET_FRAME("%%rax", "0x202", "0x1234") "iretq");
	FAULTING(IRET_FRAME("$0", "0x302", "0x1234") "iretq");
	FAULTING("xor %%esp, %%esp\n\tiretq");
	FAULTING(".byte 0xf0\n\tiretq");
	pushf();
}

static void popf_faults(void)
{
	skip_faults();
	FAULTING("xor %%esp, %%esp\n\tpopfq");
	FAULTING("push $0x202\n\t.byte 0xf0\n\tpopfq");
	FAULTING("push $0x302\n\t.byte 0xf0\n\tpopfq");
	pushf();
}

/* The flag that the program has set itself stays, and traps behind each instruction but the one that faults. */
static void iret_faults_with_own_trap_flag(void)
{
	skip_faults();
	FAULTING(IRET_FRAME("$0", "0x202", "0x1234") "pushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tiretq");
	__asm__ volatile(KEEP_RED_ZONE "pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\tnop\n\t" GIVE_RED_ZONE ::: "cc");
	pushf();
}

static const struct {
	const char *name;
	void (*run)(void);
} table[] = {
	{"pushf", pushf},
	{"pushf-16", pushf_16},
	{"pushf-after-ss", pushf_after_ss},
	{"pushf-twice-after-ss", pushf_twice_after_ss},
	{"pushf-after-popf", pushf_after_popf},
	{"pushf-in-handler", pushf_in_handler},
	{"pushf-in-child", pushf_in_child},
	{"pushf-in-thread", pushf_in_thread},
	{"r11", r11},
	{"r11-of-failure", r11_of_failure},
	{"r11-after-ss", r11_after_ss},
	{"frame-of-fault", frame_of_fault},
	{"frame-of-sent-signal", frame_of_sent_signal},
	{"frame-of-timer", frame_of_timer},
	{"flags-after-handler", flags_after_handler},
	{"popf", popf},
	{"own-trap-flag", own_trap_flag},
	{"own-trap-flag-before-repeated", own_trap_flag_before_repeated},
	{"own-trap-flag-and-system-call", own_trap_flag_and_system_call},
	{"own-trap-flag-emulated", own_trap_flag_emulated},
	{"own-trap-flag-by-sigreturn", own_trap_flag_by_sigreturn},
	{"int3-handled", int3_handled},
	{"int3-long-handled", int3_long_handled},
	{"int1-handled", int1_handled},
	{"int3-after-ss", int3_after_ss},
	{"int3-with-own-trap-flag", int3_with_own_trap_flag},
	{"blocked-handled", blocked_handled},
	{"blocked-ignored", blocked_ignored},
	{"all-blocked", all_blocked},
	{"sent-while-blocked", sent_while_blocked},
	{"waited-for", waited_for},
	{"ignored-and-sent", ignored_and_sent},
	{"sent-and-fatal", sent_and_fatal},
	{"blocked-int3", blocked_int3},
	{"blocked-int3-default", blocked_int3_default},
	{"blocked-int3-ignored", blocked_int3_ignored},
	{"blocked-int3-pending", blocked_int3_pending},
	{"blocked-own-trap-flag", blocked_own_trap_flag},
	{"int3-in-handler", int3_in_handler},
	{"blocked-fault", blocked_fault},
	{"blocked-by-sa-mask", blocked_by_sa_mask},
	{"one-shot", one_shot},
	{"string-instructions", string_instructions},
	{"iret-faults", iret_faults},
	{"popf-faults", popf_faults},
	{"iret-faults-with-own-trap-flag", iret_faults_with_own_trap_flag},
	{"restarted", restarted},
	{"interrupted", interrupted},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		if (argc == 1)
			puts(table[i].name);
		else if (!strcmp(argv[1], table[i].name)) {
			table[i].run();
			return 0;
		}
	}
	return argc == 1 ? 0 : 2;
}
