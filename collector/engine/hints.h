/* SPDX-License-Identifier: MIT */
/* Where programs went, by program and by file, in the order in which they came there: the fragments that they ran (cache_learn.c), or, where
 * that cannot be known, the places at which a task stopped because nothing was translated there. From the second process on also those
 * fragments as they were made (fragment_template.h). Hints, never more: a wrong one makes a fragment that nobody runs.
 *
 * They are kept in a directory from one recording to the next, a file for each program, named by its build-id, or by which file it is where
 * it has none (those of Go and of Rust's tools), and a second one beside it for what came later. The one that was written last has a name by its
 * interpreter, too, under which those find it that are not known yet. A file that is not ours alone to write,
 * or damaged, or another btrec's or processor's, is not used; what becomes of one while it is used is of no consequence (kept_file.h). */
#ifndef BT_HINTS_H
#define BT_HINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/address_space.h"
#include "collector/engine/fragment_kind.h"
#include "lib/slice.h"

struct hints;	      /* of all programs; opaque */
struct hint_program;  /* opaque */

#define HINT_NONE SIZE_MAX

/* None yet. dir: where they are kept, NULL: nowhere; stays the caller's. kind: of the fragments that their templates are of. stamp: files that
 * have another are not used. NULL without memory. */
struct hints *hints_new(const char *dir, struct fragment_kind kind, uint64_t stamp);
/* Keeps what is new, where that will spare more than it costs; whether it succeeded is nobody's concern. */
void hints_free(struct hints *h);

/* Those of the program that pid runs, in the space s, whose mappings are known. NULL when it cannot be told, or without memory. Valid until
 * hints_leave(), and as long as h. */
struct hint_program *hints_of(struct hints *h, pid_t pid, const struct address_space *s); /* of NULL: NULL */
/* What another program ran that has the same interpreter (ld.so), and so begins alike: of this recording, else as it is kept of one that was recorded
 * lately. NULL: there is none. Nothing is to be added to it. Valid until hints_leave(), and as long as h. */
struct hint_program *hints_kin(struct hint_program *p);
/* One user of p more, or less: of those that nobody uses the last few stay in memory, and others are kept as by hints_free(). NULL: nothing. */
void hints_use(struct hint_program *p);
void hints_leave(struct hint_program *p);

/* Whether they are what the program ran, not only where it stopped. */
bool hints_are_exact(const struct hint_program *p);
void hints_set_exact(struct hint_program *p);

/* A task came to pc, in the mapping m of a file; indirect: its fragment needs an indirect entry. What is known is not entered again. */
void hints_add(struct hint_program *p, const struct mapping *m, uint64_t pc, bool indirect);

/* Whether nothing more can be added. */
bool hints_are_full(const struct hint_program *p);

size_t hints_count(const struct hint_program *p);
/* How many files have a number. */
size_t hints_files(const struct hint_program *p);
/* The number of m's file in p, -1: it has no hints. */
int hints_file(const struct hint_program *p, const struct mapping *m);
/* The number of the hint at an offset of a file, HINT_NONE. */
size_t hints_find(const struct hint_program *p, int file, uint64_t offset);

struct hint {
	uint64_t offset : 55, file : 8, indirect : 1;
};
struct hint hints_get(const struct hint_program *p, size_t i);

/* The template of hint i, which others may have, too; valid until one is put or asked for. Empty: there is none. */
struct slice hints_template(const struct hint_program *p, size_t i);
/* By which it is known: hints that have it in common have one number. 0: there is none. */
uint64_t hints_template_key(const struct hint_program *p, size_t i);
/* It does not do, for want of a safe point: another is to be made. */
void hints_drop_template(struct hint_program *p, size_t i);
/* What hints_new() was told. */
struct fragment_kind hints_kind(const struct hint_program *p);
/* Whether so many new hints or templates will spare more than keeping them costs. */
bool hints_are_worth(const struct hint_program *p, size_t n);
/* Whether one was dropped. */
bool hints_template_was_weak(const struct hint_program *p, size_t i);
/* Whether one is to be made; and what was made, of all of these hints. Empty: none can be. */
bool hints_wants_template(const struct hint_program *p, size_t i);
void hints_put_template(struct hint_program *p, const size_t *hints, size_t n, struct slice bytes);

#endif
