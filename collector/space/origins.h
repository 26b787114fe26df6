/* SPDX-License-Identifier: MIT */
/* Of which files the bytes of anonymous memory are. A replayed program has no mapping of a file;
 * its log says what lay there. Nothing rests on its truth: it only helps to find what is kept of
 * the same files. Used by address spaces. */
#ifndef BT_ORIGINS_H
#define BT_ORIGINS_H

#include "collector/space/mappings.h"

/* A file, and the offset in it. ino 0: none. */
struct origin {
	uint64_t dev, ino, offset;
};

/* By address. All 0: nothing is known. */
struct origins {
	struct origin_range {
		uint64_t start, end;
		struct origin origin; /* of start */
	} * list;
	size_t count, cap;
};

void origins_release(struct origins *o);

/* [start, end) holds bytes of that file, or (ino 0) of none. Without memory, or with a great many
 * ranges, it is known of no file. */
void origins_set(struct origins *o, uint64_t start, uint64_t end, const struct origin *origin);

/* The bytes of [from, from + n) have moved to `to`, and their files with them. */
void origins_move(struct origins *o, uint64_t from, uint64_t to, uint64_t n);

/* Splits anonymous mappings where their bytes' files change, and gives each part its file, without
 * a path. Without memory the list stays as it is. */
void origins_show(const struct origins *o, struct mapping_list *l);

#endif
