/* SPDX-License-Identifier: MIT */
/* move_outputs [--stay | --lose] LOG PROGRAM [ARGUMENT]...: runs the program, and has the kernel
 * write the output of each system call whose row allows it (SYSCALL_SCRATCH_YES, _ALIGNED) to other
 * memory, from which it is copied when the call has returned. Says in LOG, a line each: call NAME
 * OPERATION = 0 or ERRNO         a call that returned moved NAME OPERATION                     its
 * output was elsewhere outside NAME OPERATION: ADDRESS          the kernel wrote to the program's
 * memory nevertheless
 * --stay: moves nothing. --lose: copies nothing back, to show that this would be found. Children
 * are not followed, and a program with threads is left alone. Ends with the program's status, 98 if
 * something was written outside, 99 if the program could not be run so. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/call_result.h"
#include "lib/page.h"
#include "syscalls/syscall_names.h"
#include "syscalls/syscall_ranges.h"

enum {
	ROOM = 64 << 20,    /* bytes of other memory */
	COMPARED = 1 << 20, /* bytes that are compared of an output's old place */
	RESTARTED = -516,   /* ERESTART_RESTARTBLOCK: only a tracer sees it */
	INPUT = 8192,       /* bytes behind an output that the kernel may read, too */
};

struct moved {
	uint64_t from, to, length;
	uint8_t *before; /* what was at `from` */
};

struct mover {
	pid_t pid;
	FILE *log;
	bool stays, loses, in_call, outside;
	uint64_t room;                 /* where that memory is, 0: not yet */
	struct user_regs_struct entry; /* of the call */
	uint64_t args[SYSCALL_ARGS];   /* with which it is made */
	struct moved moved[SYSCALL_ARGS];
	size_t count;
	struct syscall_range ranges[SYSCALL_RANGES_ENOUGH];
};

static size_t read_process(void *arg, uint64_t at, void *bytes, size_t n)
{
	const struct mover *m = arg;
	struct iovec here = {bytes, n}, there = {(void *)(uintptr_t)at, n};
	ssize_t got = process_vm_readv(m->pid, &here, 1, &there, 1, 0);

	return got < 0 ? 0 : (size_t)got;
}

static bool write_process(const struct mover *m, uint64_t at, void *bytes, size_t n)
{
	struct iovec here = {bytes, n}, there = {(void *)(uintptr_t)at, n};

	return process_vm_writev(m->pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

static void args_of(const struct user_regs_struct *r, uint64_t args[SYSCALL_ARGS])
{
	memcpy(args, (const uint64_t[]){r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9},
	       SYSCALL_ARGS * sizeof *args);
}

static void set_args(struct user_regs_struct *r, const uint64_t args[SYSCALL_ARGS])
{
	r->rdi = args[0];
	r->rsi = args[1];
	r->rdx = args[2];
	r->r10 = args[3];
	r->r8 = args[4];
	r->r9 = args[5];
}

/* Has the program map the room, in the place of the call at whose entry it is, which it makes again
 * then. */
static bool make_room(struct mover *m, const struct user_regs_struct *at)
{
	const uint64_t args[SYSCALL_ARGS] = {0,
					     ROOM,
					     PROT_READ | PROT_WRITE,
					     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
					     UINT64_MAX,
					     0};
	struct user_regs_struct r = *at;
	int status;

	r.orig_rax = SYS_mmap;
	set_args(&r, args);
	if (ptrace(PTRACE_SETREGS, m->pid, NULL, &r) ||
	    ptrace(PTRACE_SYSCALL, m->pid, NULL, NULL) || waitpid(m->pid, &status, 0) != m->pid ||
	    !WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, m->pid, NULL, &r))
		return false;
	m->room = r.rax;
	r = *at;
	r.rax = at->orig_rax;
	r.rip -= 2; /* the length of syscall */
	return !call_has_failed(m->room) && !ptrace(PTRACE_SETREGS, m->pid, NULL, &r);
}

static uint64_t operation_of(const struct mover *m)
{
	const struct user_regs_struct *r = &m->entry;

	switch (r->orig_rax) {
	case SYS_fcntl:
	case SYS_shmctl:
	case SYS_msgctl:
	case SYS_futex:
		return (uint32_t)r->rsi;
	case SYS_prctl:
	case SYS_arch_prctl:
	case SYS_keyctl:
		return (uint32_t)r->rdi;
	default:
		return 0;
	}
}

static void tell(const struct mover *m, const char *what, const char *rest)
{
	char name[SYSCALL_NAME_MAX];

	fprintf(m->log, "%s %s %" PRIx64 "%s\n", what, syscall_name(m->entry.orig_rax, name),
		operation_of(m), rest);
}

/* The most that is written where an argument says; 0: nothing. */
static uint64_t longest_at(const struct syscall_ranges *ranges, uint64_t at)
{
	uint64_t most = 0;

	for (size_t i = 0; i < ranges->count; i++)
		if (ranges->ranges[i].start == at && ranges->ranges[i].length > most)
			most = ranges->ranges[i].length;
	return most;
}

/* Whether each output starts where an argument says. */
static bool are_at_arguments(const struct mover *m, const struct syscall_ranges *ranges)
{
	for (size_t i = 0; i < ranges->count; i++) {
		bool is_argument = false;

		for (unsigned k = 0; k < SYSCALL_ARGS; k++)
			is_argument |= m->args[k] == ranges->ranges[i].start;
		if (!is_argument)
			return false;
	}
	return true;
}

static struct syscall_ranges ranges_of(struct mover *m)
{
	const struct syscall_memory memory = {read_process, m};
	struct syscall_ranges ranges = {.room = SYSCALL_RANGES_ENOUGH, .ranges = m->ranges};

	syscall_ranges_enter(m->entry.orig_rax, m->args, &memory, &ranges);
	return ranges;
}

/* Argument k's output goes elsewhere, with the same offset in its page. What cannot be read is left
 * where it is: the call is to fail as it would. */
static void move_argument(struct mover *m, unsigned k, uint64_t length, uint64_t *used)
{
	struct moved *out = &m->moved[m->count];
	uint64_t to = m->room + *used + m->args[k] % BT_PAGE;
	uint8_t *before = malloc(length + INPUT);
	size_t n = before ? read_process(m, m->args[k], before, length + INPUT) : 0;

	if (n < length || *used + length + INPUT + 2 * BT_PAGE > ROOM ||
	    !write_process(m, to, before, n)) {
		free(before);
		return;
	}
	*out = (struct moved){m->args[k], to, length, before};
	m->count++;
	m->args[k] = to;
	*used = page_up(*used + m->args[k] % BT_PAGE + length + INPUT) + BT_PAGE;
}

static void move_outputs(struct mover *m)
{
	const struct syscall_facts *facts = syscall_facts(m->entry.orig_rax);
	struct syscall_ranges ranges = ranges_of(m);
	struct user_regs_struct r = m->entry;
	uint64_t lengths[SYSCALL_ARGS], used = 0;

	if (m->stays || !facts ||
	    (facts->scratch != SYSCALL_SCRATCH_YES && facts->scratch != SYSCALL_SCRATCH_ALIGNED) ||
	    ranges.known != SYSCALL_RANGES_KNOWN || !are_at_arguments(m, &ranges))
		return;
	for (unsigned k = 0; k < SYSCALL_ARGS; k++)
		lengths[k] = m->args[k] ? longest_at(&ranges, m->args[k]) : 0;
	for (unsigned k = 0; k < SYSCALL_ARGS; k++)
		if (lengths[k] && m->count < SYSCALL_ARGS)
			move_argument(m, k, lengths[k], &used);
	set_args(&r, m->args);
	if (m->count && !ptrace(PTRACE_SETREGS, m->pid, NULL, &r))
		tell(m, "moved", "");
}

static void forget(struct mover *m)
{
	while (m->count)
		free(m->moved[--m->count].before);
}

/* The kernel has written nothing where the output would have been. */
static void look_at_old_place(struct mover *m, const struct moved *moved)
{
	static uint8_t now[COMPARED];
	size_t n = moved->length < COMPARED ? moved->length : COMPARED;
	char where[40];

	if (read_process(m, moved->from, now, n) != n || !memcmp(now, moved->before, n))
		return;
	snprintf(where, sizeof where, ": %" PRIx64, moved->from);
	tell(m, "outside", where);
	m->outside = true;
}

static void bring_back(struct mover *m, const struct moved *moved)
{
	uint8_t *bytes = malloc(moved->length);

	if (bytes && read_process(m, moved->to, bytes, moved->length) == moved->length)
		write_process(m, moved->from, bytes, moved->length);
	free(bytes);
}

static void enter_call(struct mover *m, const struct user_regs_struct *r)
{
	if (!m->room && !m->stays) {
		m->in_call = false;
		if (!make_room(m, r))
			exit(99);
		return;
	}
	if (r->orig_rax == SYS_restart_syscall) /* it goes on where it was begun */
		return;
	forget(m);
	m->entry = *r;
	args_of(r, m->args);
	move_outputs(m);
}

static void leave_call(struct mover *m, struct user_regs_struct *r)
{
	uint64_t args[SYSCALL_ARGS];
	char rest[32];

	for (size_t i = 0; i < m->count; i++) {
		look_at_old_place(m, &m->moved[i]);
		if (!m->loses)
			bring_back(m, &m->moved[i]);
	}
	if (m->count) {
		args_of(&m->entry, args);
		set_args(r, args);
		ptrace(PTRACE_SETREGS, m->pid, NULL, r);
	}
	snprintf(rest, sizeof rest, " = %d", call_has_failed(r->rax) ? -(int)r->rax : 0);
	tell(m, "call", rest);
	if ((int64_t)r->rax != RESTARTED)
		forget(m);
}

/* Of a stop: what is to be sent with the program's next run. */
static int look_at_stop(struct mover *m, int status)
{
	struct user_regs_struct r;

	if (status >> 16 == PTRACE_EVENT_EXEC)
		m->room = 0;
	if (WSTOPSIG(status) != (SIGTRAP | 0x80))
		return status >> 16 || WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status);
	if (ptrace(PTRACE_GETREGS, m->pid, NULL, &r))
		return 0;
	m->in_call = !m->in_call;
	if (m->in_call)
		enter_call(m, &r);
	else
		leave_call(m, &r);
	return 0;
}

static int run(struct mover *m)
{
	int status, sent = 0;

	if (waitpid(m->pid, &status, 0) != m->pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, m->pid, NULL,
		   PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC))
		return 99;
	while (!ptrace(PTRACE_SYSCALL, m->pid, NULL, sent) &&
	       waitpid(m->pid, &status, __WALL) == m->pid && WIFSTOPPED(status))
		sent = look_at_stop(m, status);
	return m->outside ? 98 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	static struct mover m;
	int status;

	for (; argc > 1 && *argv[1] == '-'; argc--, argv++) {
		m.stays |= !strcmp(argv[1], "--stay");
		m.loses |= !strcmp(argv[1], "--lose");
	}
	m.log = argc > 2 ? fopen(argv[1], "we") : NULL;
	if (!m.log) {
		fprintf(stderr, "move_outputs [--stay | --lose] LOG PROGRAM [ARGUMENT]...\n");
		return 99;
	}
	setvbuf(m.log, NULL, _IOLBF, 0);
	m.pid = fork();
	if (!m.pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	status = m.pid < 0 ? 99 : run(&m);
	forget(&m);
	fclose(m.log);
	return status;
}
