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
 * interpreter, too, under which those find it that are not known yet. A file that others can write,
 * that is damaged, or that is another btrec's or processor's, is not used. Changes to a file in use
 * do no harm (untrusted_file.h).
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

/* No profiles yet. dir: the directory of their files, NULL: none; stays the caller's. kind: of the
 * fragments in their groups. stamp: files with another stamp are not used. NULL without memory. */
struct profiles *profiles_new(const char *dir, struct fragment_kind kind, uint64_t stamp);
/* Writes new entries and groups to files, where that will save more than it costs. A failure is not
 * told: nothing rests on these files. */
void profiles_free(struct profiles *h);

/* The profile of the program that pid runs, in the space s, whose mappings are known. NULL when the
 * program is unknown, or without memory. Valid until profile_leave(), and as long as h. */
struct profile *profiles_find(struct profiles *h, pid_t pid,
			      const struct address_space *s); /* of NULL: NULL */
/* The profile of a similar program: it has the same interpreter (ld.so), and so begins alike. It is
 * one of this recording, else one that was kept lately. NULL: there is none. Nothing is to be added
 * to it. Valid until profile_leave(), and as long as h. */
struct profile *profile_similar(struct profile *p);
/* One user of p more, or less. Of profiles without users the last few stay in memory; others are
 * written as by profiles_free(). NULL: does nothing. */
void profile_use(struct profile *p);
void profile_leave(struct profile *p);

/* Whether its entries are the fragments that the program ran, not only the places where it stopped.
 */
bool profile_is_exact(const struct profile *p);
void profile_set_exact(struct profile *p);

/* A task came to pc, in the mapping m of a file; indirect: its fragment needs an indirect entry. A
 * known place is not entered again. */
void profile_add(struct profile *p, const struct mapping *m, uint64_t pc, bool indirect);

/* Whether nothing more can be added. */
bool profile_is_full(const struct profile *p);

size_t profile_count(const struct profile *p);
/* The number of files that have a number. */
size_t profile_files(const struct profile *p);
/* The number of m's file in p; -1: the file has no entries. */
int profile_file(const struct profile *p, const struct mapping *m);
/* The number of the entry at an offset of a file; PROFILE_NONE: there is none. */
size_t profile_find(const struct profile *p, int file, uint64_t offset);

struct profile_entry {
	uint64_t offset : 55, file : 8, indirect : 1;
};
struct profile_entry profile_get(const struct profile *p, size_t i);

/* The group of entry i, which other entries may have, too. Valid until a group is put or asked for.
 * Empty: there is none. */
struct slice profile_group(const struct profile *p, size_t i);
/* The group's key: entries with the same group have the same key. 0: there is none. */
uint64_t profile_group_key(const struct profile *p, size_t i);
/* The group does not meet a demand, for want of a safe point: another is to be made. */
void profile_drop_group(struct profile *p, size_t i);
/* The kind that profiles_new() was given. */
struct fragment_kind profile_kind(const struct profile *p);
/* Whether n new entries or groups will save more than it costs to write them. */
bool profile_is_worth(const struct profile *p, size_t n);
/* Whether a group of entry i was dropped. */
bool profile_group_was_weak(const struct profile *p, size_t i);
/* Whether a group is to be made for entry i. profile_put_group() enters the group that was made for
 * all of these entries; empty: none can be made. */
bool profile_wants_group(const struct profile *p, size_t i);
void profile_put_group(struct profile *p, const size_t *entries, size_t n, struct slice bytes);

#endif
