/* SPDX-License-Identifier: MIT */
/* For symbols: what a trace keeps of its files' symbols (kept.h), where it is to be used, and what
 * is noted to be kept. Kept answers are used of a file that tells less than it did then: it is
 * gone, changed or stripped. One thread. */
#ifndef BT_ANSWERS_H
#define BT_ANSWERS_H

#include "decoder/symbols/image.h"
#include "decoder/symbols/kept.h"

/* Zeroed: nothing was read, nothing is noted. */
struct answers {
	struct kept *kept;  /* of the trace; NULL: it has none */
	bool read;          /* kept was looked for */
	bool damaged;       /* not all of it could be read */
	struct kept *noted; /* NULL: nothing is noted; notes come from files alone */
};

void answers_release(struct answers *a);

/* The answers that the trace keeps, read at the first call; NULL: none. The functions below use
 * them once they have been read. */
const struct kept *answers_kept(struct answers *a, const struct trace *t);

/* The kept answers of a module that are to be used instead of its files; NULL: none. */
const struct kept_module *answers_instead(struct answers *a, struct image_module *mod);

/* Fills *loc from kept answers, but for its addr. mod: NULL where there is none. Returns the module
 * as it was then; NULL: nothing is kept, or it is not to be used, and *loc is as it was. */
const struct kept_module *answers_look_up(struct answers *a, struct image_module *mod,
					  const struct space_map *map, uint32_t space,
					  bool is_return, struct location *loc);

/* Copies up to n bytes of a module's file. Returns how many there are. */
size_t answers_bytes(struct answers *a, struct image_module *mod, uint64_t offset, uint8_t *out,
		     size_t n);

/* Note what was found out of the files, if it is to be noted. */
void answers_note_place(struct answers *a, struct image_module *mod, const struct space_map *map,
			uint32_t space, bool is_return, const struct location *loc);
void answers_note_bytes(struct answers *a, struct image_module *mod, struct slice file,
			uint64_t offset, size_t n);

#endif
