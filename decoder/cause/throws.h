/* SPDX-License-Identifier: MIT */
/* The exceptions of C++ that a process threw, as far as their moments were kept: type and message.
 * The message of an exception is read only from types whose memory is known to hold it:
 * std::runtime_error and std::logic_error and what is derived from them, numbers and strings. Used
 * by the report, the JSON and the explanation of faults. Texts are from outside. */
#ifndef BT_THROWS_H
#define BT_THROWS_H

#include "decoder/symbols/symbols.h"

enum {
	THROWN_TYPE_MAX = 160,
	THROWN_WHAT_MAX = 200,
};

struct thrown {
	const struct model_snapshot *snap; /* at the entry of __cxa_throw */
	char type[THROWN_TYPE_MAX];        /* "std::runtime_error"; "" unknown */
	char what[THROWN_WHAT_MAX];        /* "\"no such port\"", 42; "": not known */
	bool has_place;                    /* in the program's own code */
	uint64_t addr;                     /* a return address: of the call of __cxa_throw */
	uint32_t epoch;
};

/* The moments of throws in the process of a moment, until then, newest first, at most max. Returns
 * their number; *all: of all that were kept. */
size_t throws_until(const struct model *m, const struct model_snapshot *snap,
		    const struct model_snapshot **out, size_t max, size_t *all);

/* Reads the thrown exception at such a moment. */
void thrown_read(struct thrown *t, struct symbols *s, const struct model_snapshot *snap);

/* The newest throw of the moment's task, if it is on its way in these frames: the stack has the
 * very call of __cxa_throw. NULL: none is, or its moment was not kept. */
const struct model_snapshot *throw_in_stack(const struct model *m, struct symbols *s,
					    const struct model_snapshot *snap,
					    const struct bt_record_thread *thread);

/* The throw of the task whose exception these frames handle, the thread's stack, which may have
 * lost the call of __cxa_throw. NULL: none is known, or several may be it. */
const struct model_snapshot *throw_handled(const struct model *m, struct symbols *s,
					   const struct model_snapshot *snap,
					   const struct bt_record_thread *thread,
					   const struct stack_frame *frames, size_t count);

/* `std::runtime_error: "no such port"`. Returns out. */
const char *thrown_text(const struct thrown *t, char *out, size_t cap);

#endif
