/* SPDX-License-Identifier: MIT */
/* The application's state at a place of the cache's code, and what it is made of. Used by
 * cache_stretch.c, of tasks that are stopped, and cache_killed.c, of those that have died. All of
 * them change s, which begins with the tracee's own registers and (stretch_read_context()) the
 * context. */
#ifndef BT_STRETCH_STATE_H
#define BT_STRETCH_STATE_H

#include "collector/backend/engine/engine_private.h"

static inline bool stretch_rip_in_code(uint64_t rip)
{
	return rip >= region_address(CODE_AT) && rip < region_address(CODE_AT + CODE_SIZE);
}

/* Reads s->ctx. False: the task is gone. */
bool stretch_read_context(struct task *task, const struct engine_space *es, struct stretch *s);

/* The record that is at ctx.next, or was, as the log has it. False where there is no such place. */
bool stretch_read_record(struct task *task, const struct engine_space *es, uint64_t next,
			 struct branch_log_record *r);

/* The bits, or the count, of the cache's code. */
uint64_t stretch_bits_as(const struct code_cache *c, uint64_t kept);

/* Fills in s->bits, or s->rounds, as they are kept at s->regs.rip, or before the int3 there, which
 * lies in the fragment (NULL: in none). */
void stretch_take_kept(const struct code_cache *c, struct stretch *s,
		       const struct fragment *fragment, uint64_t kept);

/* In rounds of a cycle some registers are lent: they become the application's. */
void stretch_take_lent(struct stretch *s, const struct fragment *fragment,
		       const struct state_entry *p);

/* The application's state at a stop in the middle of the code. False: in the middle of a sequence;
 * s is as it was. */
bool stretch_state_at_entry(struct task *task, const struct engine_space *es, struct stretch *s);

/* The same behind an int3 of ours. False: there is none. */
bool stretch_state_at_trap(struct task *task, const struct engine_space *es, struct stretch *s);

/* An indirect branch has led to where there is no fragment. Its record is taken back: it goes to
 * the log as the stretch's end. Where there is none, that is damage. */
void stretch_state_at_miss(struct task *task, const struct engine_space *es, struct stretch *s);

#endif
