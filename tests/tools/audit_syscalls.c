/* SPDX-License-Identifier: MIT */
/* audit_syscalls [--short] LOG PROGRAM [ARGUMENT]...: runs the program and compares its private
 * writable memory before and after each of its system calls. Says in LOG, a line each: outside
 * NAME(ARGUMENTS) = RESULT: ADDRESS+LENGTH   bytes changed that no range has unknown NAME OPERATION
 * no row says what it writes guessed NAME OPERATION                             the size in the
 * ioctl's number did made NAME OPERATION                                it succeeded, and a row
 * knows it failed NAME OPERATION                              the same of one that failed threads
 * the program had several: looked at no longer OPERATION is the second argument in hexadecimal (the
 * first, of prctl and its like). Ends with 0 if nothing lay outside, 1 if something did, 99 if the
 * program could not be run so. Children are not followed. --short takes a byte off each range, to
 * show that the audit would find it. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/call_result.h"
#include "lib/page.h"
#include "syscalls/syscall_names.h"
#include "syscalls/syscall_ranges.h"

enum {
	REGIONS_MAX = 256,
	REGION_MAX = 32 << 20, /* bytes of the largest mapping that is compared */
	TOLD_MAX = 4096,
};

struct region {
	uint64_t start, length;
	uint8_t *before;
};

struct audit {
	pid_t pid;
	FILE *log;
	struct region regions[REGIONS_MAX];
	size_t count;
	struct syscall_range room[SYSCALL_RANGES_ENOUGH];
	struct syscall_ranges ranges;
	uint64_t nr, args[SYSCALL_ARGS];
	uint64_t told[TOLD_MAX]; /* call, operation, what is said of it */
	size_t told_count;
	uint64_t short_by;
	bool in_call, has_threads, is_outside;
};

static size_t read_process(void *arg, uint64_t at, void *bytes, size_t n)
{
	const struct audit *a = arg;
	struct iovec here = {bytes, n}, there = {(void *)(uintptr_t)at, n};
	ssize_t got = process_vm_readv(a->pid, &here, 1, &there, 1, 0);

	return got < 0 ? 0 : (size_t)got;
}

static void forget_regions(struct audit *a)
{
	while (a->count)
		free(a->regions[--a->count].before);
}

/* Copies all private writable memory. */
static void copy_regions(struct audit *a)
{
	char path[64], line[512], rights[5];
	FILE *f;

	forget_regions(a);
	snprintf(path, sizeof path, "/proc/%d/maps", (int)a->pid);
	f = fopen(path, "r");
	while (f && a->count < REGIONS_MAX && fgets(line, sizeof line, f)) {
		struct region *r = &a->regions[a->count];
		uint64_t end;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &r->start, &end, rights) != 3 ||
		    rights[0] != 'r' || rights[1] != 'w' || rights[3] != 'p' ||
		    end - r->start > REGION_MAX)
			continue;
		r->length = end - r->start;
		r->before = malloc(r->length);
		if (!r->before)
			abort();
		if (read_process(a, r->start, r->before, r->length) == r->length)
			a->count++;
		else
			free(r->before);
	}
	if (f)
		fclose(f);
}

static bool lies_in(uint64_t at, uint64_t start, uint64_t length)
{
	return at >= start && at - start < length;
}

static bool is_in_ranges(const struct audit *a, uint64_t at)
{
	for (size_t i = 0; i < a->ranges.count; i++)
		if (lies_in(at, a->room[i].start, a->room[i].length - a->short_by))
			return true;
	return false;
}

/* Pages that a call of mappings replaced have other contents, which is no write. */
static bool is_remapped(const struct audit *a, uint64_t at, uint64_t result)
{
	const struct syscall_facts *facts = syscall_facts(a->nr);

	if (!facts || !(facts->changes & SYSCALL_CHANGES_MAPS))
		return false;
	return lies_in(at, a->args[0], page_up(a->args[1])) ||
	       (!call_has_failed(result) &&
		(lies_in(at, result, page_up(a->args[1])) || lies_in(at, result, a->args[2])));
}

static uint64_t operation_of(const struct audit *a)
{
	switch (a->nr) {
	case SYSCALL_NR_ioctl:
	case SYSCALL_NR_fcntl:
	case SYSCALL_NR_shmctl:
	case SYSCALL_NR_msgctl:
	case SYSCALL_NR_quotactl_fd:
		return (uint32_t)a->args[1];
	case SYSCALL_NR_semctl:
		return (uint32_t)a->args[2];
	case SYSCALL_NR_futex:
		return a->args[1] & 0x7f;
	case SYSCALL_NR_prctl:
	case SYSCALL_NR_arch_prctl:
	case SYSCALL_NR_ptrace:
	case SYSCALL_NR_keyctl:
	case SYSCALL_NR_syslog:
	case SYSCALL_NR_seccomp:
	case SYSCALL_NR_sysfs:
	case SYSCALL_NR_modify_ldt:
	case SYSCALL_NR_bpf:
		return (uint32_t)a->args[0];
	case SYSCALL_NR_quotactl:
		return (uint32_t)a->args[0] >> 8;
	default:
		return 0;
	}
}

/* Once of each call, operation and word. */
static void tell(struct audit *a, char what, const char *word)
{
	uint64_t key = a->nr << 40 | operation_of(a) << 8 | (uint8_t)what;
	char name[SYSCALL_NAME_MAX];

	for (size_t i = 0; i < a->told_count; i++)
		if (a->told[i] == key)
			return;
	if (a->told_count < TOLD_MAX)
		a->told[a->told_count++] = key;
	fprintf(a->log, "%s %s %" PRIx64 "\n", word, syscall_name(a->nr, name), operation_of(a));
}

static void tell_outside(struct audit *a, uint64_t start, uint64_t n, uint64_t result)
{
	char name[SYSCALL_NAME_MAX];

	a->is_outside = true;
	fprintf(a->log,
		"outside %s(%" PRIx64 ", %" PRIx64 ", %" PRIx64 ", %" PRIx64 ", %" PRIx64
		", %" PRIx64 ") = %" PRId64 ": %" PRIx64 "+%" PRIu64 "\n",
		syscall_name(a->nr, name), a->args[0], a->args[1], a->args[2], a->args[3],
		a->args[4], a->args[5], (int64_t)result, start, n);
}

static void compare_page(struct audit *a, uint64_t at, const uint8_t *before, const uint8_t *after,
			 uint64_t result)
{
	uint64_t first = 0, n = 0;

	for (uint64_t i = 0; i < BT_PAGE; i++)
		if (before[i] != after[i] && !is_in_ranges(a, at + i) &&
		    !is_remapped(a, at + i, result)) {
			if (!n)
				first = at + i;
			n = at + i + 1 - first;
		}
	if (n)
		tell_outside(a, first, n, result);
}

/* Memory that is there no longer is no write. */
static void compare_regions(struct audit *a, uint64_t result)
{
	static uint8_t now[1 << 20];

	for (size_t i = 0; i < a->count; i++)
		for (uint64_t done = 0, n; done < a->regions[i].length; done += n) {
			const struct region *r = &a->regions[i];

			n = r->length - done < sizeof now ? r->length - done : sizeof now;
			if (read_process(a, r->start + done, now, n) != n)
				continue;
			if (!memcmp(now, r->before + done, n))
				continue;
			for (uint64_t p = 0; p < n; p += BT_PAGE)
				compare_page(a, r->start + done + p, r->before + done + p, now + p,
					     result);
		}
}

/* Whether other threads, or a child that shares the memory, may write it meanwhile. */
static bool is_shared(struct audit *a)
{
	char path[64], line[256];
	int threads = 1;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/status", (int)a->pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "Threads: %d", &threads) == 1)
			break;
	if (f)
		fclose(f);
	if (threads > 1 && !a->has_threads)
		fprintf(a->log, "threads\n");
	a->has_threads |= threads > 1;
	return a->has_threads;
}

static bool is_compared(uint64_t nr)
{
	const struct syscall_facts *facts = syscall_facts(nr);

	return !facts || !(facts->changes & SYSCALL_CHANGES_TASKS);
}

static void enter_call(struct audit *a, const struct user_regs_struct *regs)
{
	const struct syscall_memory memory = {read_process, a};

	a->nr = regs->orig_rax;
	memcpy(a->args,
	       (const uint64_t[]){regs->rdi, regs->rsi, regs->rdx, regs->r10, regs->r8, regs->r9},
	       sizeof a->args);
	a->ranges = (struct syscall_ranges){.room = SYSCALL_RANGES_ENOUGH, .ranges = a->room};
	syscall_ranges_enter(a->nr, a->args, &memory, &a->ranges);
	if (is_compared(a->nr))
		copy_regions(a);
}

static void leave_call(struct audit *a, uint64_t result)
{
	const struct syscall_memory memory = {read_process, a};
	bool failed = call_has_failed(result);

	if (is_shared(a))
		return;
	syscall_ranges_exit(result, &memory, &a->ranges);
	if (a->ranges.known == SYSCALL_RANGES_UNKNOWN) {
		tell(a, 'u', "unknown");
		return;
	}
	if (a->ranges.known == SYSCALL_RANGES_GUESSED)
		tell(a, 'g', "guessed");
	tell(a, failed ? 'f' : 'm', failed ? "failed" : "made");
	if (is_compared(a->nr))
		compare_regions(a, result);
	forget_regions(a);
}

/* Of a stop: what is to be sent with the program's next run. */
static int look_at_stop(struct audit *a, int status)
{
	struct user_regs_struct regs;

	if (WSTOPSIG(status) != (SIGTRAP | 0x80))
		return status >> 16 || WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status);
	if (ptrace(PTRACE_GETREGS, a->pid, NULL, &regs))
		return 0;
	a->in_call = !a->in_call;
	if (a->in_call && !a->has_threads)
		enter_call(a, &regs);
	else if (!a->has_threads)
		leave_call(a, regs.rax);
	return 0;
}

static int run(struct audit *a)
{
	int status, sent = 0;

	if (waitpid(a->pid, &status, 0) != a->pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, a->pid, NULL,
		   PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC))
		return 99;
	while (!ptrace(PTRACE_SYSCALL, a->pid, NULL, sent) &&
	       waitpid(a->pid, &status, __WALL) == a->pid && WIFSTOPPED(status))
		sent = look_at_stop(a, status);
	return a->is_outside ? 1 : 0;
}

int main(int argc, char **argv)
{
	static struct audit a;
	int status;

	if (argc > 1 && !strcmp(argv[1], "--short")) {
		a.short_by = 1;
		argc--;
		argv++;
	}
	a.log = argc > 2 ? fopen(argv[1], "w") : NULL;
	if (!a.log) {
		fprintf(stderr, "audit_syscalls [--short] LOG PROGRAM [ARGUMENT]...\n");
		return 99;
	}
	setvbuf(a.log, NULL, _IOLBF, 0);
	a.pid = fork();
	if (!a.pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	status = a.pid < 0 ? 99 : run(&a);
	forget_regions(&a);
	fclose(a.log);
	return status;
}
