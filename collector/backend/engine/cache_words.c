/* SPDX-License-Identifier: MIT */
/* The program's output to its descriptor 2 in the cache. A routine copies it behind the call, where
 * the kernel has just read it. The tracer takes the copy at the next stop (last_words.h). A write
 * for which the ring has no room is made at a stop, so the tracer sees every line. */
#include "collector/backend/engine/engine_private.h"
#include "collector/task/last_words.h"

/* The ring holds what is written from here on until it is full. */
static void set_most(const struct task *task, struct engine_space *es)
{
	const uint64_t words[] = {es->words, es->words + WORDS_BYTES};

	_Static_assert(WORDS_MOST_AT == WORDS_TOTAL_AT + 8, "one behind the other");
	(void)!window_write(&es->window, task->host_tid, WORDS_TOTAL_AT, words, sizeof words);
}

void words_take(const struct task *task, struct engine_space *es)
{
	uint8_t ring[WORDS_BYTES];
	uint64_t total, before = es->words;
	size_t n, from, part;

	if (es->parallel ||
	    !window_read(&es->window, task->host_tid, WORDS_TOTAL_AT, &total, sizeof total) ||
	    total == before)
		return;
	es->words = total;
	set_most(task, es);
	if (total < before) /* nonsense that the program has written there */
		return;
	n = total - before < WORDS_BYTES ? (size_t)(total - before) : WORDS_BYTES;
	if (!window_read(&es->window, task->host_tid, WORDS_AT, ring, sizeof ring))
		return;
	from = (total - n) % WORDS_BYTES;
	part = n < WORDS_BYTES - from ? n : WORDS_BYTES - from;
	last_words_add(task->process, ring + from, part, total - before - n);
	last_words_add(task->process, ring, n - part, 0);
}

void words_begin(const struct task *task, struct engine_space *es)
{
	es->words = 0;
	if (!es->parallel)
		set_most(task, es);
}
