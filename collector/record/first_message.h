/* SPDX-License-Identifier: MIT */
/* The moment at which a program writes to its standard error for the first time: most often that
 * says what it fails of. It is held in memory until the process ends with failure, and written
 * then: a program that ends well leaves nothing of it, and what it costs is one stop. Its branches
 * are those of the task's history, as far as that reaches back at the end. Used by the recording
 * and by a stretch of a replay; a moment is held by its process (process_record), and freed with
 * that. */
#ifndef BT_FIRST_MESSAGE_H
#define BT_FIRST_MESSAGE_H

#include "collector/record/recording.h"

struct first_message;

/* The task is entering a system call, of which the record `event` tells: holds the moment, if that
 * is the first such write. Without memory, or where nothing counts ticks, nothing is held. */
void first_message_hold(const struct recording *r, const struct task *task, uint64_t event);

/* The same where it is known that it is the first such write, unless one is held already. */
void first_message_hold_here(const struct recording *r, const struct task *task, uint64_t event);

/* Whether a moment is held that is to be written now: the task is entering the call that ends its
 * process with failure. */
bool first_message_is_due(const struct task *task);

/* How many of its newest branches the task has to decode to have those before the held moment,
 * about; 0: none is held of this task, or so many that it is not worth it. */
uint64_t first_message_reach(const struct task *task);

/* The task's history is about to be told: settles it, and finds where in it the held moment lies.
 * Does nothing where none is held, or that is known. */
void first_message_find(struct task *task);

/* Writes the held moment, of which nothing is held any more. */
void first_message_write(struct recording *r, const struct task *task);

/* NULL is allowed. */
void first_message_free(struct first_message *m);

#endif
