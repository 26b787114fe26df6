/* SPDX-License-Identifier: MIT */
/* Where programs went, by program and by file, in the order in which they came there: the fragments
 * that they ran (cache_learn.c), or, where that cannot be known, the places at which a task stopped
 * because nothing was translated there. From the second process on also those fragments as they
 * were made (persisted_groups.h). It only guides the translator: a wrong entry makes a fragment
 * that nobody runs.
 *
 * They are kept in a directory from one recording to the next, a file for each program, named by
 * its build-id, or by which file it is where it has none (those of Go and of Rust's tools), and a
 * second one beside it for what came later. The one that was written last has a name by its
 * interpreter, too, under which those find it that are not known yet. A file that is not ours alone
 * to write, or damaged, or another btrec's or processor's, is not used; what becomes of one while
 * it is used is of no consequence (kept_file.h).
 *
 * Used by engine_space.c, cache_profile.c, cache_learn.c and cache_entry.c. One thread. */
#ifndef BT_PROFILE_H
#define BT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/backend/engine/cache/fragment_kind.h"
#include "collector/space/address_space.h"
#include "lib/slice.h"

struct profiles; /* of all programs; opaque */
struct profile;  /* opaque */

#define PROFILE_NONE SIZE_MAX

/* None yet. dir: where they are kept, NULL: nowhere; stays the caller's. kind: of the fragments
 * that their groups are of. stamp: files that have another are not used. NULL without memory. */
struct profiles *profiles_new(const char *dir, struct fragment_kind kind, uint64_t stamp);
/* Keeps what is new, where that will spare more than it costs; whether it succeeded is nobody's
 * concern. */
void profiles_free(struct profiles *h);

/* Those of the program that pid runs, in the space s, whose mappings are known. NULL when it cannot
 * be told, or without memory. Valid until profile_leave(), and as long as h. */
struct profile *profiles_find(struct profiles *h, pid_t pid,
			      const struct address_space *s); /* of NULL: NULL */
/* What another program ran that has the same interpreter (ld.so), and so begins alike: of this
 * recording, else as it is kept of one that was recorded lately. NULL: there is none. Nothing is to
 * be added to it. Valid until profile_leave(), and as long as h. */
struct profile *profile_similar(struct profile *p);
/* One user of p more, or less: of those that nobody uses the last few stay in memory, and others
 * are kept as by profiles_free(). NULL: nothing. */
void profile_use(struct profile *p);
void profile_leave(struct profile *p);

/* Whether they are what the program ran, not only where it stopped. */
bool profile_is_exact(const struct profile *p);
void profile_set_exact(struct profile *p);

/* A task came to pc, in the mapping m of a file; indirect: its fragment needs an indirect entry.
 * What is known is not entered again. */
void profile_add(struct profile *p, const struct mapping *m, uint64_t pc, bool indirect);

/* Whether nothing more can be added. */
bool profile_is_full(const struct profile *p);

size_t profile_count(const struct profile *p);
/* How many files have a number. */
size_t profile_files(const struct profile *p);
/* The number of m's file in p, -1: it has no entries. */
int profile_file(const struct profile *p, const struct mapping *m);
/* The number of the entry at an offset of a file, PROFILE_NONE. */
size_t profile_find(const struct profile *p, int file, uint64_t offset);

struct profile_entry {
	uint64_t offset : 55, file : 8, indirect : 1;
};
struct profile_entry profile_get(const struct profile *p, size_t i);

/* The group of entry i, which others may have, too; valid until one is put or asked for. Empty:
 * there is none. */
struct slice profile_group(const struct profile *p, size_t i);
/* By which it is known: entries that have it in common have one number. 0: there is none. */
uint64_t profile_group_key(const struct profile *p, size_t i);
/* It does not do, for want of a safe point: another is to be made. */
void profile_drop_group(struct profile *p, size_t i);
/* What profiles_new() was told. */
struct fragment_kind profile_kind(const struct profile *p);
/* Whether so many new entries or groups will spare more than keeping them costs. */
bool profile_is_worth(const struct profile *p, size_t n);
/* Whether one was dropped. */
bool profile_group_was_weak(const struct profile *p, size_t i);
/* Whether one is to be made; and what was made, of all of these entries. Empty: none can be. */
bool profile_wants_group(const struct profile *p, size_t i);
void profile_put_group(struct profile *p, const size_t *entries, size_t n, struct slice bytes);

#endif
