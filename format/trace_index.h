/* SPDX-License-Identifier: MIT */
/* The mapping and the code bytes at an address of a space at an epoch. The decoder's model asks it;
 * a replaying session can, without the model.
 *
 * Built in four steps: every OBJECT record is added, then the spaces that events name are begun,
 * then every event is applied in the order of seq, then the index is finished. After that it never
 * changes, and any number of readers may share it. Spaces and epochs need not be in the trace: a
 * look-up finds nothing there.
 *
 * Memory is the arena's, or charged to it; the arena must live as long as the index. A step that
 * fails past the budget or without memory does nothing, and the arena says so. */
#ifndef BT_TRACE_INDEX_H
#define BT_TRACE_INDEX_H

#include "format/space_maps.h"
#include "format/trace_events.h"

struct trace_index;

/* NULL without memory. */
struct trace_index *trace_index_new(struct arena *a);
void trace_index_free(struct trace_index *x); /* NULL does nothing */

void trace_index_add_object(struct trace_index *x, const struct bt_record_object *r);
void trace_index_begin(struct trace_index *x, const struct trace_events *events);

/* SPACE, MAP, UNMAP and CODE change the index; other kinds do nothing. The strings are borrowed
 * from the record: they must live as long as the index. */
void trace_index_apply(struct trace_index *x, const struct bt_record *rec);

/* Returns how many CODE records name objects that were not added. */
size_t trace_index_finish(struct trace_index *x);

/* The mapping at addr, or NULL. */
const struct space_map *trace_index_map_at(const struct trace_index *x, uint32_t space,
					   uint32_t epoch, uint64_t addr);

/* All mappings of a space at an epoch, by address, in a new array: free() it. Returns their number.
 * Without memory *out is NULL. */
size_t trace_index_maps(const struct trace_index *x, uint32_t space, uint32_t epoch,
			const struct space_map ***out);

/* Copies up to n code bytes at addr as they were at an epoch. They come from CODE records alone,
 * and only if the same was mapped when the page was read as at the epoch. Returns how many
 * consecutive bytes are known. */
size_t trace_index_code(const struct trace_index *x, uint32_t space, uint32_t epoch, uint64_t addr,
			uint8_t *out, size_t n);

#endif
