/* SPDX-License-Identifier: MIT */
/* Shared by the files that make a core file. Nobody else includes this. */
#ifndef BT_EXPORT_CORE_PRIVATE_H
#define BT_EXPORT_CORE_PRIVATE_H

#include "decoder/cause/focus.h"
#include "export/linker_list.h"

struct core_extent {
	uint64_t start, end;
	uint8_t prot;
};

struct core_export {
	const struct model *m;
	struct symbols *s;
	struct focus focus;
	const struct space_map **maps; /* by address */
	size_t map_count;
	struct linker_list list;
	struct core_extent *ranges; /* of what is known, by address; they do not overlap */
	size_t range_count, range_cap;
};

/* All notes: process, threads, signal, files. The chosen thread comes first. */
void core_notes_put(struct buf *b, const struct core_export *c);

/* Finds the ranges of memory that are known. Errors: BT_E_NO_MEMORY. */
int core_memory_find(struct core_export *c, struct bt_error *err) BT_MUST_USE;

/* Copies bytes of a range. Returns how many, at least 1 within a range. */
size_t core_memory_read(const struct core_export *c, uint64_t addr, uint8_t *out, size_t n);

#endif
