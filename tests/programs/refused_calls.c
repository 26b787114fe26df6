/* SPDX-License-Identifier: MIT */
/* System calls that the program has sent back to itself: by user dispatch, with prefixes before the
 * instruction, and by a filter of its own, called through the vsyscall page. It compares what its
 * handler is told with what the kernel says natively. 77: the kernel has no such thing. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { DISPATCH = 59, RESULT = 77 }; /* PR_SET_SYSCALL_USER_DISPATCH, Linux 5.11 */

static char selector;
static struct {
	uint64_t address, rip, rax, rcx;
	int nr, code, count;
} told;

static void on_call(int signo, siginfo_t *info, void *arg)
{
	ucontext_t *uc = arg;
	greg_t *regs = uc->uc_mcontext.gregs;

	(void)signo;
	selector = 0; /* PR_SYS_DISPATCH_ALLOW */
	told.address = (uint64_t)(uintptr_t)info->si_call_addr;
	told.nr = info->si_syscall;
	told.code = info->si_code;
	told.rip = (uint64_t)regs[REG_RIP];
	told.rax = (uint64_t)regs[REG_RAX];
	told.rcx = (uint64_t)regs[REG_RCX];
	told.count++;
	regs[REG_RAX] = RESULT;
}

static int handle_calls(void)
{
	const struct sigaction sa = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO};

	return sigaction(SIGSYS, &sa, NULL);
}

/* ---- User dispatch ---- */

/* Calls getpid by an instruction of these bytes: from *begin to *behind. */
#define CALL(name, bytes)                                                                          \
	static void name(uint64_t *begin, uint64_t *behind, long *result)                          \
	{                                                                                          \
		selector = 1;                                                                      \
		__asm__ volatile("leaq 1f(%%rip), %0; leaq 2f(%%rip), %1\n1: .byte " bytes "\n2:" \
				 : "=&r"(*begin), "=&r"(*behind), "=a"(*result)                    \
				 : "2"((long)SYS_getpid)                                           \
				 : "rcx", "r11", "memory");                                        \
	}

CALL(call_plain, "0x0f, 0x05")
CALL(call_66, "0x66, 0x0f, 0x05")
CALL(call_48, "0x48, 0x0f, 0x05")
CALL(call_f2, "0xf2, 0x0f, 0x05")
CALL(call_f3, "0xf3, 0x0f, 0x05")
CALL(call_four, "0x2e, 0x66, 0x65, 0x48, 0x0f, 0x05")
CALL(call_longest, "0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x4f, 0x0f, 0x05")

/* The byte before it is the operand of another instruction, and looks like a prefix. */
static void call_behind_operand(uint64_t *begin, uint64_t *behind, long *result)
{
	selector = 1;
	__asm__ volatile("leaq 1f(%%rip), %0; leaq 2f(%%rip), %1; movb $0x66, %%dl\n"
			 "1: syscall\n2:"
			 : "=&r"(*begin), "=&r"(*behind), "=a"(*result)
			 : "2"((long)SYS_getpid)
			 : "rcx", "rdx", "r11", "memory");
}

static int user_dispatch(void)
{
	static void (*const calls[])(uint64_t *, uint64_t *, long *) = {
		call_plain, call_66,   call_48,	     call_f2,
		call_f3,    call_four, call_longest, call_behind_operand};
	int expected = 0;

	if (handle_calls() || prctl(DISPATCH, 1, 0, 0, &selector))
		return 77;
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
			uint64_t begin, behind;
			long result;

			calls[i](&begin, &behind, &result);
			/* syscall_user_dispatch(), Linux 6.18: the address is the one behind it. */
			if (result != RESULT || told.count != ++expected || told.nr != SYS_getpid ||
			    told.code != 2 || told.address != behind || told.rip != behind ||
			    told.rax != SYS_getpid || told.rcx != behind) {
				printf("wrong: %zu, round %d\n", i, round);
				return 1;
			}
		printf("%zu: %d bytes\n", i, (int)(behind - begin));
		}
	return 0;
}

/* It sends itself what looks as if a call had been dispatched, behind an instruction of its own. */
static int dispatch_forged(void)
{
	siginfo_t info = {.si_signo = SIGSYS, .si_code = 2};

	info.si_syscall = SYS_getpid;
	if (handle_calls())
		return 77;
	for (int round = 0; round < 3; round++)
		if (syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGSYS, &info) !=
			    RESULT ||
		    told.count != round + 1 || told.code != 2)
			return 1;
	return printf("%d\n", told.nr) < 0;
}

/* A call that is dispatched kills it. */
static int dispatched_away(void)
{
	uint64_t begin, behind;
	long result;

	if (prctl(DISPATCH, 1, 0, 0, &selector))
		return 77;
	call_four(&begin, &behind, &result);
	return 1;
}

/* ---- Calls of the vsyscall page ---- */

/* The entry at 0xffffffffff600000 + entry * 0x400: gettimeofday, time, getcpu (vsyscall_emu_64.S in
 * Linux' arch/x86/entry/vsyscall). *behind is where it returns to. */
static long call_page(unsigned entry, void *first, void *second, uint64_t *behind)
{
	uint64_t at = 0xffffffffff600000 + entry * 0x400;
	long result;

	__asm__ volatile("leaq 1f(%%rip), %1; subq $128, %%rsp; call *%0; 1: addq $128, %%rsp"
			 : "=a"(result), "=&r"(*behind)
			 : "0"(at), "D"(first), "S"(second), "d"(NULL)
			 : "rcx", "r11", "memory", "cc");
	return result;
}

static int has_page(void)
{
	char line[256];
	FILE *maps = fopen("/proc/self/maps", "r");
	int found = 0;

	while (maps && !found && fgets(line, sizeof line, maps))
		found = strstr(line, "[vsyscall]") != NULL;
	if (maps)
		fclose(maps);
	return found;
}

/* Calls of `time` have this end where their instruction is in the page; of getcpu none but where it
 * is not; all else is allowed. */
static int filter(uint32_t end)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getcpu, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, instruction_pointer)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xff600800, 4, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_time, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, instruction_pointer)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xff600400, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, end),
	};
	const struct sock_fprog program = {sizeof code / sizeof *code, code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int page_filtered(uint32_t end)
{
	uint64_t behind;
	unsigned cpu = 1 << 30;
	struct timeval now = {0};
	time_t seconds = 0;
	long result;

	if (handle_calls() || !has_page() || filter(end))
		return 77;
	for (int round = 0; round < 3; round++) {
		result = call_page(0, &now, NULL, &behind);
		printf("gettimeofday: %ld, %lu.%06lu\n", result, (unsigned long)now.tv_sec,
		       (unsigned long)now.tv_usec);
		result = call_page(1, &seconds, NULL, &behind);
		printf("time: %ld, %lu; told %d: %d by %d, at %lx, behind +%ld, rax %ld\n", result,
		       (unsigned long)seconds, told.count, told.nr, told.code,
		       (unsigned long)told.address, (long)(told.rip - behind), (long)told.rax);
		result = call_page(2, &cpu, NULL, &behind);
		printf("getcpu: %ld, %u\n", result, cpu);
	}
	return 0;
}

static int page_trapped(void)
{
	int end = page_filtered(SECCOMP_RET_TRAP | 5);

	/* emulate_vsyscall(), Linux 6.18: it has returned, and rax has the number. */
	return end || told.count != 3 || told.nr != SYS_time || told.rax != SYS_time ||
	       told.address != 0xffffffffff600400;
}

static int page_failed(void) { return page_filtered(SECCOMP_RET_ERRNO | ENOTTY); }
static int page_untraced(void) { return page_filtered(SECCOMP_RET_TRACE); }
static int page_allowed(void) { return page_filtered(SECCOMP_RET_ALLOW); }
static int page_killed(void) { return page_filtered(SECCOMP_RET_KILL_PROCESS); }

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} cases[] = {{"dispatch", user_dispatch},
		     {"dispatch-forged", dispatch_forged},
		     {"dispatched-away", dispatched_away},
		     {"page-trapped", page_trapped},
		     {"page-failed", page_failed},
		     {"page-untraced", page_untraced},
		     {"page-allowed", page_allowed},
		     {"page-killed", page_killed}};

	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
		if (!strcmp(argv[1], cases[i].name))
			return cases[i].run();
	return 2;
}
