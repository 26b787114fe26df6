/* SPDX-License-Identifier: MIT */
/* The values of a frame's variables, and the name of a failed access, as texts that a trace keeps
 * (doc/FORMAT.md, SAID). Used by frame_values.c and fault_name.c. A kept text is not trusted. */
#ifndef BT_SAID_VALUES_H
#define BT_SAID_VALUES_H

#include "decoder/values/frame_values.h"

/* The variable through which an instruction accessed memory, and what of it. */
struct fault_name {
	char accessed[100]; /* "c->port" */
	char pointer[80];   /* "c" */
	uint64_t value;     /* of the pointer */
	char member[48];    /* "port"; "": it is no member */
	char structure[64]; /* "struct config" */
	char function[64];  /* the library function that was called with the pointer; "": none */
	unsigned argument;  /* the pointer's number among its arguments, from 1; pointer may be ""
			       then */
	char caller[64];    /* the function that called it by a tail jump, so that it has no frame;
			       else "" */
};

/* The largest of a frame's variables, and where it is declared. */
struct large_variable {
	char name[80], file[256];
	uint64_t line, size; /* size: bytes */
};

/* Notes the values of frame n, if answers are to be noted. */
void said_values_note(struct symbols *s, const struct model_snapshot *snap,
		      const struct bt_record_thread *thread, size_t n,
		      const struct frame_values *v);

/* The kept values of frame n; none if there are none. Release them. */
void said_values_find(struct symbols *s, const struct model_snapshot *snap,
		      const struct bt_record_thread *thread, size_t n, struct frame_values *v);

/* The same of the access of the instruction that a thread stands at. Returns whether it is kept. */
void said_access_note(struct symbols *s, const struct model_snapshot *snap,
		      const struct bt_record_thread *thread, const struct fault_name *name);
bool said_access_find(struct symbols *s, const struct model_snapshot *snap,
		      const struct bt_record_thread *thread, struct fault_name *name);

/* The same of the largest variable of frame n. */
void said_largest_note(struct symbols *s, const struct model_snapshot *snap,
		       const struct bt_record_thread *thread, size_t n,
		       const struct large_variable *v);
bool said_largest_find(struct symbols *s, const struct model_snapshot *snap,
		       const struct bt_record_thread *thread, size_t n, struct large_variable *v);

#endif
