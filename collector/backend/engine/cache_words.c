/* SPDX-License-Identifier: MIT */
/* What the program writes to its descriptor 2 in the cache: a routine copies it behind the call,
 * where the kernel has just read it, and the tracer takes it at the next stop (last_words.h). */
#include "collector/backend/engine/engine_private.h"
#include "collector/task/last_words.h"

_Static_assert((int)WORDS_BYTES == (int)LAST_WORDS_MAX, "no more is kept");

void words_take(const struct task *task, struct engine_space *es)
{
	uint8_t ring[WORDS_BYTES], bytes[WORDS_BYTES];
	uint64_t total, before = es->words;
	size_t n;

	if (es->parallel ||
	    !window_read(&es->window, task->host_tid, WORDS_TOTAL_AT, &total, sizeof total) ||
	    total == before)
		return;
	es->words = total;
	if (total < before) /* nonsense, which the program has written there */
		return;
	n = total - before < WORDS_BYTES ? (size_t)(total - before) : WORDS_BYTES;
	if (!window_read(&es->window, task->host_tid, WORDS_AT, ring, sizeof ring))
		return;
	for (size_t i = 0; i < n; i++)
		bytes[i] = ring[(total - n + i) % WORDS_BYTES];
	last_words_add(task->process, bytes, n, total - before - n);
}

void words_begin(const struct task *task, struct engine_space *es)
{
	es->words = 0;
	if (!es->parallel)
		(void)!window_write(&es->window, task->host_tid, WORDS_TOTAL_AT, &es->words,
				    sizeof es->words);
}
