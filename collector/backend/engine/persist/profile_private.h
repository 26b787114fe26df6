/* SPDX-License-Identifier: MIT */
/* The parts of a profile, shared by profile.c, profile_entries.c and profile_store.c, and nobody
 * else. */
#ifndef BT_PROFILE_PRIVATE_H
#define BT_PROFILE_PRIVATE_H

#include <sys/stat.h>

#include "collector/backend/engine/persist/persisted_groups.h"
#include "collector/backend/engine/persist/profile.h"
#include "collector/backend/engine/persist/untrusted_file.h"
#include "lib/buf.h"
#include "lib/build_id.h"

enum {
	PROFILE_NAME_MIN = 8,    /* bytes of a build-id that is likely to be nobody else's */
	PROFILE_MAX = 1 << 18,   /* of a program */
	PROFILE_FILES_MAX = 256, /* as many as an entry has numbers for */
	PROFILE_PERSISTED_MAX = 96 << 20, /* bytes, of a program */
	SIMILAR_ENTRIES_MIN = 1 << 8,  /* of a program that is to stand in for similar programs: one
					  that has just been forked tells little, ... */
	SIMILAR_ENTRIES_MAX = 1 << 15, /* ... and the list is read as a whole */
};

/* A file's identity: its build-id; or, if it has none, device, inode, size and time (stat(2)),
 * behind a byte that makes it longer than any build-id. len 0: not known. */
struct profile_identity {
	uint8_t len, bytes[BT_BUILD_ID_MAX];
};

struct profile_file {
	uint64_t dev, ino;
	struct profile_identity id;
};

_Static_assert(PERSISTED_BYTES <= (int)UNTRUSTED_PIECE_MAX, "a group is a piece of a file");

/* Where the group of an entry is. Entries with the same group have the same place. */
struct persisted_location {
	uint32_t at; /* offset in the first file, in the second one (more), or in `made` */
	uint32_t size : 24, made : 1, tried : 1, more : 1,
		weak : 1; /* weak: a group without a safe point there did not meet a demand */
};

struct profile_entries {
	struct profile_entry *entries;
	struct persisted_location *groups; /* by entry */
	size_t count, cap;
	uint32_t *index; /* of entries, + 1; open addressing, twice cap */
	bool borrowed;   /* they lie in the first file's head */
};

struct profile {
	struct profile *next;
	struct profiles *all;
	unsigned uses;
	uint64_t left; /* the time at which its last user left, as a count */
	struct stat exe;
	struct profile_file *files;
	size_t file_count;
	struct {
		uint64_t dev, ino;
		int number;
	} last; /* file that had entries made; ino 0: none */
	struct profile_entries list;
	bool exact;
	bool changed;                       /* since it was read, so that it must be written */
	size_t added;                       /* entries and groups since then */
	char name[2 * BT_BUILD_ID_MAX + 1]; /* of its file: the identity; "": none */
	char interpreter[2 * BT_BUILD_ID_MAX + 1]; /* its interpreter's name: programs with the same
						      are similar; "": none */
	struct untrusted_file first, more;         /* a new one takes a file's place by rename */
	uint8_t *head;   /* of the first one, all but the groups; NULL: there is none */
	struct buf made; /* groups that are not in the file */
};

struct profiles {
	const char *dir;
	struct fragment_kind kind;
	uint64_t stamp;
	struct profile *programs;
	struct profile *similar; /* kept profiles of others, named by their interpreters */
	struct untrusted_window window;
	size_t made; /* bytes of groups */
	uint64_t leavings;
};

/* ---- profile_entries.c ---- */

void profile_entries_release(struct profile_entries *l);
/* Copies the list out of the file's head, so that it can change: changes are found by comparing
 * with the head. False without memory. */
bool profile_entries_own(struct profile_entries *l);
/* The number of the entry; PROFILE_NONE: there is none. */
size_t profile_entries_find(const struct profile_entries *l, uint64_t file, uint64_t offset);
/* Enters an entry. Returns whether anything is new. */
bool profile_entries_enter(struct profile_entries *l, const struct profile_entry *h,
			   const struct persisted_location *group);

/* ---- profile.c ---- */

struct slice profile_group_at(const struct profile *p, const struct persisted_location *t);

/* Whether the profile can stand in for similar programs. */
bool profile_can_be_similar(const struct profile *p);

/* ---- profile_store.c ---- */

/* Reads the program's files into p, if there are any. */
void profile_load(struct profiles *h, struct profile *p);
/* Reads into p the kept profile of a program whose interpreter has p's name. */
void profile_load_similar(struct profiles *h, struct profile *p);
/* Writes new entries and groups to files. */
void profile_save(const struct profiles *h, struct profile *p);

#endif
