/* SPDX-License-Identifier: MIT */
#include "collector/task/last_words.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collector/task/task.h"
#include "collector/tracee/tracee.h"
#include "lib/telling.h"

/* ---- What is kept ---- */

/* The line's beginning is known. Drops the oldest lines that say why for it. */
static void keep_telling(struct last_words *w)
{
	size_t over = w->telling_len + w->line_len + 1, dropped = 0;

	while (over - dropped > TELLING_WORDS_MAX) {
		const char *end = memchr(w->telling + dropped, '\n', w->telling_len - dropped);

		dropped = end ? (size_t)(end - w->telling) + 1 : w->telling_len;
	}
	memmove(w->telling, w->telling + dropped, w->telling_len - dropped);
	w->telling_len -= dropped;
	memcpy(w->telling + w->telling_len, w->line, w->line_len);
	w->telling_len += w->line_len;
	w->telling[w->telling_len++] = '\n';
}

void last_words_end_line(struct last_words *w)
{
	if (w->line_len) {
		if (telling_line(slice_of(w->line, w->line_len), &w->more)) {
			keep_telling(w);
		} else if (w->more) {
			w->more--;
			keep_telling(w);
		}
	}
	w->line_len = 0;
}

static void look_at_lines(struct last_words *w, const char *bytes, size_t n)
{
	while (n) {
		const char *end = memchr(bytes, '\n', n);
		size_t part = end ? (size_t)(end - bytes) : n, room = WORDS_LINE_MAX - w->line_len,
		       kept = part < room ? part : room;

		memcpy(w->line + w->line_len, bytes, kept);
		w->line_len += kept;
		if (end)
			last_words_end_line(w);
		bytes += part + (end != NULL);
		n -= part + (end != NULL);
	}
}

static void keep_first(struct last_words *w, const char *bytes, size_t n)
{
	size_t room = FIRST_WORDS_MAX - w->first_len;

	if (w->first_ended)
		return;
	n = n < room ? n : room;
	memcpy(w->first + w->first_len, bytes, n);
	w->first_len += n;
}

/* Drops the oldest bytes. */
static void keep_last(struct last_words *w, const char *bytes, size_t n)
{
	size_t kept;

	if (n > LAST_WORDS_MAX) {
		bytes += n - LAST_WORDS_MAX;
		n = LAST_WORDS_MAX;
	}
	kept = w->len < LAST_WORDS_MAX - n ? w->len : LAST_WORDS_MAX - n;
	memmove(w->text, w->text + w->len - kept, kept);
	memcpy(w->text + kept, bytes, n);
	w->len = kept + n;
}

static void hear_bytes(struct last_words *w, const char *bytes, size_t n)
{
	w->total += n;
	keep_first(w, bytes, n);
	keep_last(w, bytes, n);
	look_at_lines(w, bytes, n);
}

/* Bytes that nobody saw leave a hole: the kept ones before it are not the end any more, and go. */
static void miss_bytes(struct last_words *w, uint64_t n)
{
	if (!n)
		return;
	w->total += n;
	w->len = w->line_len = 0;
	w->first_ended = true;
}

/* ---- What is written ---- */

static void hear_piece(struct last_words *w, pid_t tid, uint64_t at, uint64_t len)
{
	char bytes[LAST_WORDS_MAX];

	for (uint64_t done = 0; done < len;) {
		size_t n = len - done < sizeof bytes ? (size_t)(len - done) : sizeof bytes;

		if (tracee_read(tid, at + done, bytes, n) == n)
			hear_bytes(w, bytes, n);
		else
			miss_bytes(w, n);
		done += n;
	}
}

static void hear_range(struct last_words *w, pid_t tid, uint64_t at, uint64_t len)
{
	uint64_t begin = len <= 2 * WORDS_AT_ONCE ? len : WORDS_AT_ONCE,
		 end = len - begin < WORDS_AT_ONCE ? len - begin : WORDS_AT_ONCE;

	hear_piece(w, tid, at, begin);
	miss_bytes(w, len - begin - end);
	hear_piece(w, tid, at + len - end, end);
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
	miss_bytes(w, len);
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
	miss_bytes(w, unknown);
	hear_bytes(w, bytes, n);
}

void last_words_wrote(struct process *process, pid_t tid, uint64_t at, uint64_t len)
{
	struct last_words *w = words_of(process);

	if (w)
		hear_range(w, tid, at, len);
}

static bool is_saying(const struct tracee_syscall *c)
{
	return (syscall_is(c, SYS_write) || syscall_is(c, SYS_writev)) &&
	       (int)c->args[0] == STDERR_FILENO;
}

bool last_words_begin_here(const struct task *task)
{
	return !task->process->words_begun && is_saying(&task->syscall);
}

void last_words_entered(struct task *task)
{
	task->process->words_begun |= is_saying(&task->syscall);
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
