/* SPDX-License-Identifier: MIT */
/* The failure and its place, in one line: "SIGSEGV: null read in port config.c:10". Used for the
 * last line of btrec run and for annotations of source files. Names come from outside: escape them.
 */
#ifndef BT_HEADLINE_H
#define BT_HEADLINE_H

#include "decoder/cause/fault.h"
#include "decoder/symbols/text.h"

struct headline {
	char name[64];              /* "SIGSEGV", "exited with 3" */
	bool is_exit;               /* name is the latter */
	char what[FAULT_BRIEF_MAX]; /* "null read", or "" */
	bool is_sender; /* `what` names the sender of the signal; the place is the receiver's */
	char text[FAULT_TEXT_MAX]; /* the same as a sentence (fault.h), or "" */
	const char *command;       /* of another process than the first; NULL: of the first */
	uint32_t pid;              /* of that process */
	/* The place; all "": not known. */
	char function[160];
	const char *file; /* as the debug information has it */
	int line;
	const char *module; /* path */
	uint64_t vaddr;     /* in module */
};

/* Tells of the moment that explains the end: its signal, or the status of an exit with failure; and
 * the innermost function on the stack that is the user's own (own_code.h), else, of a fault, the
 * place that fault.h blames. Strings live as long as m and s. Returns 0; 1 when there is nothing to
 * tell: no moment was kept, or it is no failure; -BT_E_NO_MEMORY. */
int headline_make(struct headline *h, const struct model *m, struct symbols *s,
		  struct bt_error *err) BT_MUST_USE;

/* "SIGSEGV in cc1 (process 12): null read in port config.c:10", "SIGTERM, sent by sh (pid 12),
 * while in wait_here faults.c:3"; escaped. */
void headline_put(const struct headline *h, struct text *t);

/* "SIGSEGV in cc1 (process 12): null read", "cc1 (process 12) exited with 4", escaped. */
void headline_put_event(const struct headline *h, struct text *t);

#endif
