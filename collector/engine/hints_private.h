/* SPDX-License-Identifier: MIT */
/* What hints consist of: what hints.c, hint_list.c and hints_kept.c share, and nobody else. */
#ifndef BT_HINTS_PRIVATE_H
#define BT_HINTS_PRIVATE_H

#include <sys/stat.h>

#include "collector/engine/fragment_template.h"
#include "collector/engine/hints.h"
#include "collector/engine/kept_file.h"
#include "lib/buf.h"
#include "lib/build_id.h"

enum {
	HINT_NAME_MIN = 8,    /* bytes of a build-id that is likely to be nobody else's */
	HINTS_MAX = 1 << 18,  /* of a program */
	HINT_FILES_MAX = 256, /* as many as a hint has numbers for */
	HINT_TEMPLATES_MAX = 96 << 20, /* bytes, of a program */
	KIN_HINTS_MIN = 1 << 8, /* of a program that is to be kin to others: one that has just been forked tells little, ... */
	KIN_HINTS_MAX = 1 << 15, /* ... and the list is read as a whole */
};

/* What tells a file from others: its build-id; or, of one that has none, which it is and since when (stat(2)), behind a byte that makes it
 * as long as no build-id is. len 0: not known. */
struct hint_identity {
	uint8_t len, bytes[BT_BUILD_ID_MAX];
};

struct hint_file {
	uint64_t dev, ino;
	struct hint_identity id;
};

_Static_assert(TEMPLATE_BYTES <= (int)KEPT_PIECE_MAX, "a template is a piece of a file");

/* Where the template of a hint is; hints that have one in common have one place. */
struct place_of_template {
	uint32_t at; /* in the file, in the second one (more), or in what was made */
	uint32_t size : 24, made : 1, tried : 1, more : 1, weak : 1; /* weak: one that had no safe point did not do */
};

struct hint_list {
	struct hint *hints;
	struct place_of_template *templates; /* by hint */
	size_t count, cap;
	uint32_t *index; /* of hints, + 1; open addressing, twice cap */
	bool borrowed;	 /* they lie in the first file's head */
};

struct hint_program {
	struct hint_program *next;
	struct hints *all;
	unsigned uses;
	uint64_t left; /* when its last user left: a count */
	struct stat exe;
	struct hint_file *files;
	size_t file_count;
	struct {
		uint64_t dev, ino;
		int number;
	} last; /* file that had hints entered; ino 0: none */
	struct hint_list list;
	bool exact;
	bool changed;	 /* since it was read, in what matters */
	size_t added;	 /* hints and templates since then */
	char name[2 * BT_BUILD_ID_MAX + 1]; /* of its file: the identity; "": none */
	char interpreter[2 * BT_BUILD_ID_MAX + 1]; /* that file's, by which it is known to be others' kin; "": none */
	struct kept_file first, more; /* a new one takes a file's place by rename */
	uint8_t *head;	 /* of the first one, all but the templates; NULL: there is none */
	struct buf made; /* templates that are not in the file */
};

struct hints {
	const char *dir;
	struct fragment_kind kind;
	uint64_t stamp;
	struct hint_program *programs;
	struct hint_program *kin; /* what is kept of others, named by their interpreters */
	struct kept_window window;
	size_t made; /* bytes of templates */
	uint64_t leavings;
};

/* ---- hint_list.c ---- */

void hint_list_release(struct hint_list *l);
/* What is in the file stays as it is: what has changed since is known by that. False without memory. */
bool hint_list_own(struct hint_list *l);
/* The number of the hint, HINT_NONE. */
size_t hint_list_find(const struct hint_list *l, uint64_t file, uint64_t offset);
/* Whether something is new. */
bool hint_list_enter(struct hint_list *l, const struct hint *h, const struct place_of_template *template);

/* ---- hints.c ---- */

struct slice hints_template_at(const struct hint_program *p, const struct place_of_template *t);

/* Whether it can be kin to others. */
bool hints_can_be_kin(const struct hint_program *p);

/* ---- hints_kept.c ---- */

/* What is kept of the program comes to it, if there is something. */
void hints_load(struct hints *h, struct hint_program *p);
/* What is kept of one of the programs whose interpreter has the name of p comes to p. */
void hints_load_kin(struct hints *h, struct hint_program *p);
/* Keeps what is new. */
void hints_save(const struct hints *h, struct hint_program *p);

#endif
