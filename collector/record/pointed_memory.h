/* SPDX-License-Identifier: MIT */
/* Memory that a moment keeps because pointers of a task lead there: its registers, and words near
 * where they point and in the newest part of its stack. Strings and objects that the frames of the
 * moment know are told by it. Bounded. Used by snapshots alone. */
#ifndef BT_POINTED_MEMORY_H
#define BT_POINTED_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "collector/task/task.h"

enum { POINTED_RANGES_MAX = 160 };

struct memory_range {
	uint64_t start, end;
};

/* The stack that sp points to, from the red zone up, at most so many bytes. */
struct memory_range pointed_stack(const struct task *task, uint64_t sp, uint64_t most);

/* Fills ranges with the memory that the task's pointers lead to, outside of `stack`, sorted and
 * disjoint. with_words: also with the memory that words lead to. Returns their number. */
size_t pointed_memory(const struct task *task, struct memory_range stack, bool with_words,
		      struct memory_range ranges[POINTED_RANGES_MAX]);

#endif
