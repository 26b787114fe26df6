/* SPDX-License-Identifier: MIT */
/* Where programs went, by program and by file. The next process that runs the same program has it translated before it comes there. First that is the
 * places at which a task stopped because nothing was translated there; what lies ahead of them is translated with them. From the branches of the second
 * run one learns exactly which chains there were. Hints, never more: a wrong one makes a chain that nobody runs.
 *
 * They are kept in a directory from one recording to the next, a file for each program, named by its build-id; what has no build-id is forgotten. A file that
 * is not ours alone to write, or damaged, is not read. */
#ifndef BT_HINTS_H
#define BT_HINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/address_space.h"

struct hints;	      /* of all programs; opaque */
struct hint_program;  /* opaque */

/* None yet. dir: where they are kept, NULL: nowhere; stays the caller's. NULL without memory. */
struct hints *hints_new(const char *dir);
/* Keeps what is new; whether that succeeded is nobody's concern. */
void hints_free(struct hints *h);

/* Those of the program that pid runs, in the space s, whose mappings are known. NULL when it cannot be told, or without memory. Valid as long as h. */
struct hint_program *hints_of(struct hints *h, pid_t pid, const struct address_space *s);

/* Whether they are exactly what the program came to. */
bool hints_are_exact(const struct hint_program *p);
void hints_set_exact(struct hint_program *p);

/* A task came to pc, in the mapping m of a file; indirect: by an indirect branch. What is known is not entered again. */
void hints_add(struct hint_program *p, const struct mapping *m, uint64_t pc, bool indirect);

size_t hints_count(const struct hint_program *p);
/* The number of m's file in p, -1: it has no hints. */
int hints_file(const struct hint_program *p, const struct mapping *m);
/* Whether hint number i lies in the mapping m of the file: then *pc and *indirect. */
bool hints_get(const struct hint_program *p, size_t i, int file, const struct mapping *m, uint64_t *pc, bool *indirect);

#endif
