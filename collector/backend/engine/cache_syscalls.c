/* SPDX-License-Identifier: MIT */
/* System calls in the cache, from the tracer's side: when they may be made there, and which were
 * made. */
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/backend/engine/cache/syscall_policy.h"
#include "collector/backend/engine/engine_private.h"
#include "collector/backend/engine/written_code/watch_syscalls.h"
#include "collector/task/cut_transfer.h"
#include "collector/task/last_words.h"
#include "collector/task/syscall_filter.h"
#include "collector/tracee/call_memory.h"
#include "collector/tracee/tracee.h"
#include "lib/array_size.h"
#include "lib/call_result.h"
#include "lib/syscall.h"

#ifndef ARCH_SET_CPUID
#define ARCH_SET_CPUID 0x1012 /* asm/prctl.h since Linux 4.12 */
#endif
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

enum {
	PTRACE_GET_DISPATCH_CONFIG = 0x4211, /* PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG */
	CODE_SECCOMP = 1,                    /* si_code SYS_SECCOMP; glibc lacks it */
};
#define X32_SYSCALL 0x40000000ull /* in the number of an x32 call */

/* ---- Which may be made ---- */

/* Whether the program looks at the address of each call (Linux 6.4; before, nobody can tell). */
static bool dispatches_syscalls(pid_t tid)
{
	struct {
		uint64_t mode, selector, offset, len;
	} config = {0};

	return !ptrace((enum __ptrace_request)PTRACE_GET_DISPATCH_CONFIG, tid, sizeof config,
		       &config) &&
	       config.mode;
}

/* Learns, once a task, its state from before the recording: filters, user dispatch, descriptors. */
static void look_at_adopted(struct task *task, struct engine_space *es)
{
	struct engine_task *et = task->backend;

	if (!es->adopted || et->looked_at)
		return;
	et->looked_at = true;
	es->filtered |= syscall_filter_may_refuse(task) || dispatches_syscalls(task->host_tid);
	descriptors_adopted(&es->descriptors, es->adopted, task->host_tid);
}

/* Those whose output the log of a recording could not copy. */
static uint64_t granted_unlogged(const struct task *task, const struct engine_space *es)
{
	return es->cache->kind.logged && (stepper_blocks_faults(task) || es->ignores_faults)
		       ? POLICY_WRITE
		       : 0;
}

static uint64_t granted_ticks(const struct backend *b, struct task *task, struct engine_space *es)
{
	const struct files_apart apart = {.outputs = b->outputs,
					  .mappings = &task->process->space->mappings};
	struct engine_task *et = task->backend;
	bool table;
	uint64_t grant = POLICY_ALL & ~granted_unlogged(task, es);

	look_at_adopted(task, es);
	es->descriptors.shared |= task->process->files_shared;
	table = descriptors_ready(&es->descriptors, &et->descriptors, &es->window, task->host_tid,
				  task->unit->tasks, b->logged ? &apart : NULL);
	es->filtered |= es->window.filtered;
	if (es->filtered)
		return 0;
	/* The kernel may fault for it, and another of the unit is to have the turn for serving
	 * that. */
	if (es->serves_faults && task->unit->tasks > 1 && !(es->parallel && !es->turns))
		return 0;
	if (task->unit->tasks > 1 && es->parallel &&
	    !es->turns) /* the facts that the tracer has just learned of it may not be true any more
			 */
		grant &= ~(uint64_t)(POLICY_CLOSE | POLICY_ACTION);
	else if (task->unit->tasks > 1) /* nobody has the turn while it waits; a slow file system
					   may be served by another of the unit */
		grant &= ~(uint64_t)(POLICY_PATHS | POLICY_WAIT);
	/* Others may look at them while it waits, and a signal that it blocks would wake it; or it
	 * waits for one that was sent again (tell_waited()). */
	if (stepper_hides_signals(task) || et->posted)
		grant &= ~(uint64_t)POLICY_WAIT;
	if (stepper_hides_signals(task) || task->unit->tasks > 1)
		grant &= ~(uint64_t)POLICY_MASKS;
	if (task->due) /* a signal that waits comes before such a call */
		grant &= ~(uint64_t)POLICY_ACTION;
	if (stepper_blocks_faults(task) ||
	    es->ignores_faults) /* one of the routines' (cache_syscalls_fault()) would change what
				   such signals do */
		grant &= ~(uint64_t)(POLICY_MASKS | POLICY_COPIES | POLICY_READS);
	if (es->watch.protected) /* the kernel cannot write there: at a stop the pages are given
				    back before */
		grant &= ~(uint64_t)POLICY_WRITE;
	if (es->parallel) /* each has memory of its own for that, and nobody knows in which order
			     they write */
		grant &= ~(uint64_t)POLICY_COPIES;
	if (!task->process->words_begun) /* the first is made at a stop: the session may keep it */
		grant &= ~(uint64_t)POLICY_COPIES;
	if (!table)
		grant &= ~(uint64_t)POLICY_TABLE;
	if (es->descriptors.closing) /* dup2() by another task may replace what a copy would be */
		grant &= ~(uint64_t)POLICY_COPY;
	return grant;
}

void cache_syscalls_grant(const struct backend *b, struct task *task, struct engine_space *es,
			  struct context *ctx)
{
	ctx->syscalls = b->logged && !b->outputs ? 0 : granted_ticks(b, task, es);
	/* Where nobody can close it meanwhile. */
	if (ctx->syscalls & POLICY_TABLE && ctx->syscalls & POLICY_COPY &&
	    !(es->parallel && task->unit->tasks > 1))
		ctx->device = descriptors_device(&es->descriptors);
	if (ctx->syscalls & POLICY_MAPS && !cache_mappings_allow(task, es, ctx))
		ctx->syscalls &= ~(uint64_t)POLICY_MAPS;
}

/* Whether the program now has something that looks at the address from which calls are made. */
static bool installs_filter(const struct tracee_syscall *c)
{
	return !c->compat &&
	       (c->nr == SYS_seccomp ||
		(c->nr == SYS_prctl && ((int)c->args[0] == PR_SET_SECCOMP ||
					(int)c->args[0] == PR_SET_SYSCALL_USER_DISPATCH)));
}

/* Whether CPUID may trap behind it; 32-bit calls have numbers of their own. */
static bool sets_cpuid(const struct tracee_syscall *c)
{
	return c->compat ||
	       ((c->nr & ~X32_SYSCALL) == SYS_arch_prctl && (int)c->args[0] == ARCH_SET_CPUID);
}

/* USERFAULTFD_IOC_NEW of /dev/userfaultfd and UFFDIO_REGISTER, however the program came by the
 * descriptor, are both number 0 of type 0xaa. */
static bool may_serve_faults(const struct tracee_syscall *c)
{
	return !c->compat && (c->nr == SYS_userfaultfd ||
			      (c->nr == SYS_ioctl && (c->args[1] & 0xffff) == 0xaa00));
}

void cache_syscalls_entered(struct task *task)
{
	struct engine_task *et = task->backend;
	struct engine_space *es = engine_space_made(task);
	bool filtered, shared;

	if (!es)
		return;
	filtered = es->filtered;
	shared = es->descriptors.shared;
	es->filtered |= installs_filter(&task->syscall) || task->syscall.compat;
	es->cpuid_traps |= sets_cpuid(&task->syscall);
	es->serves_faults |= may_serve_faults(&task->syscall);
	es->ignores_faults |=
		watch_syscall_ignores(task, SIGSEGV) || watch_syscall_ignores(task, SIGBUS);
	descriptors_entered(&es->descriptors, &et->descriptors, &es->window, task->host_tid,
			    &task->syscall, task->unit->tasks);
	if (es->parallel && (filtered != es->filtered ||
			     shared != es->descriptors.shared)) /* others have been granted more */
		es->quiesce = true;
}

void cache_syscalls_left(struct task *task)
{
	struct engine_task *et = task->backend;
	struct engine_space *es = engine_space_made(task);

	/* The kinds of the descriptors of the mapped file may be out of date. */
	if (es && es->cache->kind.logged && syscall_is(&task->syscall, SYS_mmap) &&
	    !(task->syscall.args[3] & MAP_ANONYMOUS))
		es->descriptors.stale = true;
	if (es)
		descriptors_left(&es->descriptors, &et->descriptors, &es->window, task->host_tid,
				 &task->syscall, task->regs.rax);
}

void cache_syscalls_forget_task(struct task *task)
{
	struct engine_task *et = task->backend;
	struct engine_space *es = engine_space_made(task);

	if (es)
		descriptors_forget_task(&es->descriptors, &et->descriptors);
}

/* ---- What was made ---- */

/* Reads the notes of the stretch into es->notes, and returns their number. The program may have
 * scribbled on them: nothing in them is believed but that. */
static size_t read_notes(struct task *task, struct engine_space *es, const struct stretch *s)
{
	uint64_t bytes = s->ctx.syscall_next + SYSCALL_NOTES_BYTES;
	size_t n = bytes > SYSCALL_NOTES_BYTES || bytes % NOTE_SIZE ? 0 : bytes / NOTE_SIZE;

	n += s->called && n < SYSCALL_NOTES_BYTES / NOTE_SIZE;
	if (n && !window_read(&es->window, task->host_tid, engine_window_at(task, SYSCALL_NOTES_AT),
			      es->notes, n * NOTE_SIZE))
		return 0;
	if (s->called && n)
		es->notes[n - 1].result = s->regs.rax;
	return n;
}

/* Reports a complete write to descriptor 2 that the task has just made and no routine has copied
 * yet. A partial write may be completed at a stop; all of it is reported then. */
static void hear_last_words(struct task *task, const struct engine_space *es,
			    const struct stretch *s, size_t n)
{
	if (s->called && n && es->notes[n - 1].nr == SYS_write &&
	    (int)s->regs.rdi == STDERR_FILENO && s->regs.rax && s->regs.rax == s->regs.rdx)
		last_words_wrote(task->process, task->host_tid, s->regs.rsi, s->regs.rax);
}

/* The pieces of the call's arguments that the note holds; end: of all notes. False: the program has
 * scribbled on it. */
static bool take_pieces(struct bt_syscall_details *d, const struct failed_note *note, uint64_t nr,
			const uint8_t *end)
{
	const uint8_t *bytes = (const uint8_t *)(note + 1);
	const struct syscall_shape *shape = syscall_shape(nr);
	size_t from = 0;
	unsigned piece = 0;

	for (unsigned i = 0; i < d->count && piece < FAILURE_PIECES; i++) {
		bool is_text;
		size_t n, to;

		if (!syscall_pointed_size(shape, i, d->args, &is_text))
			continue;
		to = note->ends[piece++];
		if (!to)
			continue;
		if (to < from || to - from > SYSCALL_POINTED_MAX || to > (size_t)(end - bytes))
			return false;
		n = is_text ? strnlen((const char *)bytes + from, to - from) : to - from;
		d->pointed[d->pointed_count++] = (struct bt_pointed){
			.arg = i,
			.is_cut = is_text && n == to - from,
			.bytes = slice_of(bytes + from, n),
		};
		from = to;
	}
	return true;
}

/* The arguments of a call that has failed, if they are noted at `at`. Returns how many notes these
 * take. */
static size_t take_failed(struct bt_syscall_details *d, const struct syscall_note *call,
			  const struct syscall_note *at, const struct syscall_note *end)
{
	const struct failed_note *note = (const void *)at;
	size_t bytes = 0, notes;

	*d = (struct bt_syscall_details){0};
	if ((size_t)(end - at) < FAILURE_LEAST / NOTE_SIZE ||
	    note->marker != (uint32_t)NOTE_OF_FAILURE)
		return 0;
	for (unsigned i = 0; i < FAILURE_PIECES; i++)
		bytes = note->ends[i] > bytes ? note->ends[i] : bytes;
	notes = (FAILURE_BYTES + bytes + NOTE_SIZE - 1) / NOTE_SIZE;
	notes = notes > FAILURE_LEAST / NOTE_SIZE ? notes : FAILURE_LEAST / NOTE_SIZE;
	d->count = syscall_arg_count(syscall_shape(call->nr));
	memcpy(d->args, note->args, d->count * sizeof d->args[0]);
	if (!take_pieces(d, note, call->nr, (const uint8_t *)end))
		d->pointed_count = 0;
	return notes < (size_t)(end - at) ? notes : (size_t)(end - at);
}

/* The same of a call that the task has been stopped behind. */
static void look_at_failed(struct bt_syscall_details *d, struct call_memory *memory,
			   const struct task *task, const struct syscall_note *note,
			   const struct bt_regs *regs)
{
	const struct tracee_syscall call = {
		.nr = note->nr,
		.args = {regs->rdi, regs->rsi, regs->rdx, regs->r10, regs->r8, regs->r9}};

	call_memory_read(memory, task->host_tid, &call);
	d->count = syscall_arg_count(syscall_shape(call.nr));
	memcpy(d->args, call.args, d->count * sizeof d->args[0]);
	d->pointed_count = memory->count;
	memcpy(d->pointed, memory->pointed, memory->count * sizeof d->pointed[0]);
}

int cache_syscalls_take(struct task *task, struct engine_space *es, struct stretch *s)
{
	const struct observer *observer = task->process->space->observer;
	const struct engine_task *et = task->backend;
	size_t n = read_notes(task, es, s);
	const struct args_note *args = NULL;
	struct bt_syscall_details details;
	struct call_memory memory;
	bool logs = es->cache->kind.logged && !es->answers && n;
	uint64_t tick = 0;
	size_t failed;

	if (logs && !cache_logged_begin(task, es, s))
		return -BT_E_GONE;
	words_take(task, es);
	hear_last_words(task, es, s, n);
	es->shares_file |= s->ctx.syscalls & POLICY_MAPS && !(s->ctx.syscalls & POLICY_PROTECTS);
	for (size_t i = 0; i < n; i++) {
		const struct syscall_note *note = &es->notes[i];
		int64_t before = (note->next + (int64_t)et->room) / RECORD_SIZE;
		struct bt_syscall call = {.nr = note->nr, .result = note->result};

		if (note->nr == (uint32_t)NOTE_OF_ARGS) {
			args = (const void *)note;
			continue;
		}
		if (before >= 0 && before <= (int64_t)s->records &&
		    stretch_take_records(task, es, s, (size_t)before))
			return -BT_E_GONE;
		call.tick = task_tick(task);
		if (call.tick != BT_TICKS_UNKNOWN)
			call.tick += et->ticks
					     ? ticks_of(note->bits) - ticks_of(et->ticks_start)
					     : branch_log_conditionals(branch_log_bits(note->bits));
		tick = call.tick = call.tick < tick ? tick : call.tick;
		cache_answers_noted(es, call.tick);
		if (cache_logged_is_instruction(note)) {
			i += cache_logged_instruction(task, note, es->notes + n, call.tick, logs);
			continue;
		}
		if (logs)
			i += cache_logged_take(task, es, s, &call, note, es->notes + n);
		failed = take_failed(&details, note, es->notes + i + 1, es->notes + n);
		if (!failed && i == n - 1 && s->called && call_has_failed(note->result))
			look_at_failed(&details, &memory, task, note, &s->regs);
		observer->ops->syscall(observer->arg, task, &call, details.count ? &details : NULL);
		i += failed;
		if (args)
			cache_mappings_changed(task, note, args);
		args = NULL;
	}
	return 0;
}

void cache_syscalls_interrupted(struct task *task, const struct stretch *s)
{
	const struct engine_space *es = engine_space_made(task);

	task->syscall_restarts = tracee_wants_restart(&task->regs);
	/* Where a log is kept no call that can be cut is made in the cache (logged_calls.c). */
	task->syscall_cut = s->called && !es->cache->kind.logged &&
			    (int64_t)task->regs.orig_rax >= 0 &&
			    ((int64_t)task->regs.rax == -EINTR || cut_transfer_is_short(task));
}

void cache_syscalls_signalled(const struct task *task, siginfo_t *info)
{
	if (info->si_signo == SIGSYS && info->si_code == CODE_SECCOMP &&
	    (uint64_t)(uintptr_t)info->si_call_addr - region_address(CODE_AT) < CODE_SIZE)
		info->si_call_addr = (void *)(uintptr_t)task->regs.rip;
}

bool cache_syscalls_fault(const struct task *task, const struct engine_space *es,
			  const siginfo_t *info, struct bt_regs *raw)
{
	const struct code_cache *c = es->cache;
	const struct {
		uint32_t from, end, to;
	} reads[] = {{c->copying, c->copy_end, c->copy_end},
		     {c->failing, c->failing_end, c->failing_end},
		     {c->answering, c->answered, c->answer_fails},
		     {c->masking, c->masked, c->syscall_stops}};
	uint64_t at = raw->rip - region_address(CODE_AT);

	if (info->si_code <= 0 || (info->si_signo != SIGSEGV && info->si_signo != SIGBUS))
		return false;
	/* The kernel has written as far as it could: up to the same byte. */
	if (cache_logged_finish(task, es, raw))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(reads); i++)
		if (at >= reads[i].from && at < reads[i].end) {
			raw->rip = region_address(CODE_AT) + reads[i].to;
			return true;
		}
	return false;
}
