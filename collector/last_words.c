/* SPDX-License-Identifier: MIT */
#include "collector/last_words.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collector/call_numbers.h"
#include "collector/recorder_private.h"
#include "collector/tracee.h"

/* Memory that can be read no more leaves a hole: what was kept before it is not the end any more. */
static void hear(struct last_words *w, pid_t tid, uint64_t at, uint64_t len)
{
	size_t n = len < LAST_WORDS_MAX ? len : LAST_WORDS_MAX, kept = w->len < LAST_WORDS_MAX - n ? w->len : LAST_WORDS_MAX - n;

	memmove(w->text, w->text + w->len - kept, kept);
	w->total += len;
	w->len = tracee_read(tid, at + len - n, w->text + kept, n) == n ? kept + n : 0;
}

/* Of what the vectors name so much was written. */
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
		hear(w, tid, (uintptr_t)v[i % AT_ONCE].iov_base, n);
		len -= n;
	}
	if (len) {
		w->total += len;
		w->len = 0;
	}
}

void last_words_heard(struct task *task)
{
	const struct tracee_syscall *c = &task->call;
	const struct bt_regs *regs = &task->regs;
	bool vectors = !c->compat && c->nr == SYS_writev;
	uint64_t at = c->compat ? (uint32_t)regs->rcx : regs->rsi;

	if ((!vectors && !call_is(c, SYS_write)) || (int)(c->compat ? regs->rbx : regs->rdi) != STDERR_FILENO || (int64_t)regs->rax <= 0)
		return;
	if (!task->process->last_words)
		task->process->last_words = calloc(1, sizeof *task->process->last_words);
	if (!task->process->last_words)
		return;
	if (vectors)
		hear_vectors(task->process->last_words, task->tid, at, regs->rdx, regs->rax);
	else
		hear(task->process->last_words, task->tid, at, regs->rax);
}

void last_words_write(struct recorder *r, struct task *task)
{
	struct last_words *w = task->process->last_words;
	struct bt_record_last_words rec = {.task = task->number};

	if (!w || w->written == w->total)
		return;
	rec.total = w->written = w->total;
	rec.text = slice_of(w->text, w->len);
	RECORDER_EVENT(r, task->unit->number, LAST_WORDS, &rec);
}
