/* SPDX-License-Identifier: MIT */
/* Shared by the files of kept.h, and by nobody else. */
#ifndef BT_KEPT_PRIVATE_H
#define BT_KEPT_PRIVATE_H

#include "decoder/symbols/kept.h"
#include "lib/arena.h"
#include "lib/hash_table.h"

enum {
	PLACES_MAX = 1 << 16,
	INLINED_MAX = 256, /* at one place */
	STACKS_MAX = 1 << 10,
	STACK_FRAMES_MAX = 1 << 18, /* of all stacks */
	PIECES_MAX = 1 << 14,
	MODULES_MAX = 1 << 12,
	SOURCES_MAX = 1 << 10,
	SAID_MAX = 1 << 12,
};

struct kept_place {
	struct kept_where where;
	uint32_t module; /* the number of its module */
	struct location loc;
};

struct kept_piece {
	uint32_t module;
	uint64_t offset;
	size_t len;
	uint8_t bytes[KEPT_PIECE];
};

struct said_words {
	uint32_t what, snapshot, task, frame;
	const char *text;
};

struct kept {
	struct arena arena;
	struct kept_module *modules;
	size_t module_count, module_cap;
	struct kept_place *places;
	size_t place_count, place_cap;
	struct hash_table by_where; /* the number of a place + 1 */
	struct kept_stack *stacks;
	size_t stack_count, stack_cap, frame_count;
	struct kept_piece *pieces;
	size_t piece_count, piece_cap;
	struct hash_table by_offset; /* the number of a piece + 1 */
	struct kept_source *sources;
	size_t source_count, source_cap;
	struct hash_table by_path; /* the number of a source + 1 */
	struct said_words *said;
	size_t said_count, said_cap;
};

/* A new source without lines; NULL where there is no room, or it is there. */
struct kept_source *kept_new_source(struct kept *k, const struct kept_source *source);

/* Adds lines, further down than those that are there. The text is borrowed. */
void kept_add_lines(struct kept *k, struct kept_source *source, uint32_t first, struct slice text);

#endif
