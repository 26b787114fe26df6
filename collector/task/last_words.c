/* SPDX-License-Identifier: MIT */
#include "collector/task/last_words.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collector/task/task.h"
#include "collector/tracee/tracee.h"

/* Makes room for n bytes behind the kept ones, and drops the oldest for it. */
static char *make_words_room(struct last_words *w, size_t n)
{
	size_t kept = w->len < LAST_WORDS_MAX - n ? w->len : LAST_WORDS_MAX - n;

	memmove(w->text, w->text + w->len - kept, kept);
	w->len = kept + n;
	return w->text + kept;
}

/* Unreadable memory leaves a hole: the kept bytes before it are not the end any more, and go. */
static void hear_range(struct last_words *w, pid_t tid, uint64_t at, uint64_t len)
{
	size_t n = len < LAST_WORDS_MAX ? (size_t)len : LAST_WORDS_MAX;

	w->total += len;
	if (tracee_read(tid, at + len - n, make_words_room(w, n), n) != n)
		w->len = 0;
}

/* len bytes were written, of the memory that the vectors name. */
static void hear_vectors(struct last_words *w, pid_t tid, uint64_t at, uint64_t count, uint64_t len)
{
	enum {
		AT_ONCE = 16,
	};
	struct iovec v[AT_ONCE];

	for (uint64_t i = 0; i < count && len; i++) {
		uint64_t n;

		if (i % AT_ONCE == 0) {
			size_t bytes = (count - i < AT_ONCE ? count - i : AT_ONCE) * sizeof v[0];

			if (tracee_read(tid, at + i * sizeof v[0], v, bytes) != bytes)
				break;
		}
		n = v[i % AT_ONCE].iov_len < len ? v[i % AT_ONCE].iov_len : len;
		hear_range(w, tid, (uintptr_t)v[i % AT_ONCE].iov_base, n);
		len -= n;
	}
	if (len) {
		w->total += len;
		w->len = 0;
	}
}

/* NULL without memory. */
static struct last_words *words_of(struct process *process)
{
	if (!process->last_words)
		process->last_words = calloc(1, sizeof *process->last_words);
	return process->last_words;
}

void last_words_add(struct process *process, const void *bytes, size_t n, uint64_t unknown)
{
	struct last_words *w = words_of(process);

	if (!w)
		return;
	if (unknown)
		w->len = 0;
	w->total += unknown + n;
	memcpy(make_words_room(w, n), bytes, n);
}

void last_words_wrote(struct process *process, pid_t tid, uint64_t at, uint64_t len)
{
	struct last_words *w = words_of(process);

	if (w)
		hear_range(w, tid, at, len);
}

void last_words_heard(struct task *task)
{
	const struct tracee_syscall *c = &task->syscall;
	const struct bt_regs *regs = &task->regs;
	bool vectors = !c->compat && c->nr == SYS_writev;
	struct last_words *w;
	uint64_t at = c->compat ? (uint32_t)regs->rcx : regs->rsi;

	if ((!vectors && !syscall_is(c, SYS_write)) ||
	    (int)(c->compat ? regs->rbx : regs->rdi) != STDERR_FILENO || (int64_t)regs->rax <= 0)
		return;
	if (!vectors) {
		last_words_wrote(task->process, task->host_tid, at, regs->rax);
		return;
	}
	w = words_of(task->process);
	if (w)
		hear_vectors(w, task->host_tid, at, regs->rdx, regs->rax);
}
