/* SPDX-License-Identifier: MIT */
#include "collector/replay/mapped_copies.h"

#include <stdio.h>

#include "format/log_values.h"
#include "lib/content_hash.h"

enum { WHY = 100 };

static const struct trace_file *find_file(const struct trace *t, uint32_t number)
{
	for (size_t i = 0; i < t->file_count; i++)
		if (t->files[i].kind == BT_FILE_MAPPED && t->files[i].number == number)
			return &t->files[i];
	return NULL;
}

void mapped_copies_release(struct mapped_copies *c)
{
	if (c->opened)
		file_window_release(&c->window);
	*c = (struct mapped_copies){0};
}

static bool use_file(struct mapped_copies *c, const struct trace *t, uint32_t number)
{
	const struct trace_file *file;

	if (c->opened && c->number == number)
		return true;
	mapped_copies_release(c);
	file = find_file(t, number);
	if (!file)
		return false;
	trace_file_window(&c->window, t, file);
	c->opened = true;
	c->number = number;
	return true;
}

bool mapped_copies_get(struct mapped_copies *c, const struct trace *t,
		       const struct bt_record_log_piece *piece, struct slice *bytes, char why[WHY])
{
	if (!use_file(c, t, piece->file)) {
		snprintf(why, WHY, "the trace has no file mapped-%u", piece->file);
		return false;
	}
	*bytes = slice_of(NULL, 0);
	if (piece->size <= BT_LOG_PIECE && piece->size <= c->window.size &&
	    piece->offset <= c->window.size - piece->size)
		*bytes = file_window_at(&c->window, piece->offset, (size_t)piece->size);
	if (bytes->len < piece->size) {
		snprintf(why, WHY, "the trace's file mapped-%u is shorter than its log says",
			 piece->file);
		return false;
	}
	bytes->len = (size_t)piece->size;
	if (content_hash(bytes->at, bytes->len).first != piece->hash) {
		snprintf(why, WHY, "the trace's file mapped-%u has other bytes", piece->file);
		return false;
	}
	return true;
}
