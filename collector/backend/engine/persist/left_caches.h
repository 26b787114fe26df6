/* SPDX-License-Identifier: MIT */
/* Code caches that processes have left behind. A later process of the program that has the same
 * code at the same addresses takes one over, with all that was translated: one of a program that is
 * not position independent, or whose addresses are not random. Code that lies elsewhere in it, or
 * is not there yet, is forgotten. Used by the engine. A cache has one owner: a space, or this list.
 */
#ifndef BT_LEFT_CACHES_H
#define BT_LEFT_CACHES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/backend/engine/cache/code_cache.h"
#include "collector/space/address_space.h"

/* A program whose next process may have its code at the same addresses. */
struct left_program {
	uint64_t start, dev,
		ino;  /* of the first mapping of a file; ino 0: it will have its code elsewhere */
	uint64_t end; /* code behind it will be elsewhere */
	uid_t user;
};

struct left_caches; /* opaque */

/* None yet. NULL without memory. */
struct left_caches *left_caches_new(void);
void left_caches_free(struct left_caches *l); /* of NULL: nothing */

/* The program of a process whose mappings are those behind its execve, and that has this persona
 * (tracee_personality()). */
struct left_program left_program_of(const struct address_space *s, pid_t pid,
				    unsigned long persona);

/* The pages of a space's code that may be the same in the next process; the caller puts them. NULL
 * without memory. */
struct code_pages *left_pages_of(const struct left_program *program, const struct address_space *s);

/* Takes over a cache that no space uses but the one that is about to go, and that no record refers
 * to, and the pages. Older ones go for it: of the same program, where there are two. */
void left_caches_put(struct left_caches *l, const struct left_program *program,
		     struct code_cache *c, struct code_pages *pages);

/* A cache, with one user and mapped by nobody, whose fragments are made of code of this new space
 * only (the observer knows its pages then), and which counts ticks or does not. NULL: there is
 * none. tid: a stopped task of the space. */
struct code_cache *left_caches_take(struct left_caches *l, const struct left_program *program,
				    bool ticks, struct address_space *s, pid_t tid);

#endif
