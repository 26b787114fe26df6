/* SPDX-License-Identifier: MIT */
/* Where programs went: the places at which a task stopped because nothing was translated there, by program and by file. The next process that runs
 * the same program has them translated before it comes to them. Hints, never more: a wrong one makes a chain that nobody runs. */
#ifndef BT_HINTS_H
#define BT_HINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/address_space.h"

struct hints;	      /* of all programs; opaque */
struct hint_program;  /* opaque */

/* None yet. NULL without memory. */
struct hints *hints_new(void);
void hints_free(struct hints *h);

/* Those of the program that pid runs, made empty when new. NULL when it cannot be told, or without memory. Valid as long as h. */
struct hint_program *hints_of(struct hints *h, pid_t pid);

/* A task stopped at pc, in the mapping m of a file; indirect: it came there by an indirect branch. */
void hints_add(struct hint_program *p, const struct mapping *m, uint64_t pc, bool indirect);

size_t hints_count(const struct hint_program *p);
/* The number of m's file in p, -1: it has no hints. */
int hints_file(const struct hint_program *p, const struct mapping *m);
/* Whether hint number i lies in the mapping m of the file: then *pc and *indirect. */
bool hints_get(const struct hint_program *p, size_t i, int file, const struct mapping *m, uint64_t *pc, bool *indirect);

#endif
