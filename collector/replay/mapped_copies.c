/* SPDX-License-Identifier: MIT */
#include "collector/replay/mapped_copies.h"

#include <errno.h>

#include "format/log_values.h"
#include "lib/content_hash.h"

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

static void use_file(struct mapped_copies *c, const struct trace *t, uint32_t number)
{
	if (c->opened && c->number == number)
		return;
	mapped_copies_release(c);
	trace_file_window(&c->window, t, find_file(t, number));
	c->opened = true;
	c->number = number;
}

int mapped_copies_check(const struct trace *t, const struct bt_record_log_piece *piece,
			struct bt_error *err)
{
	const struct trace_file *file = find_file(t, piece->file);

	if (!file)
		return bt_fail(err, BT_E_CORRUPT, 0, "the trace has no file mapped-%u",
			       piece->file);
	if (piece->size > BT_LOG_PIECE || piece->size > file->size ||
	    piece->offset > file->size - piece->size)
		return bt_fail(err, BT_E_CORRUPT, 0,
			       "the trace's file mapped-%u is shorter than its log says",
			       piece->file);
	return 0;
}

int mapped_copies_get(struct mapped_copies *c, const struct trace *t,
		      const struct bt_record_log_piece *piece, struct slice *bytes,
		      struct bt_error *err)
{
	int rc = mapped_copies_check(t, piece, err);

	if (rc)
		return rc;
	use_file(c, t, piece->file);
	*bytes = file_window_at(&c->window, piece->offset, (size_t)piece->size);
	if (bytes->len < piece->size)
		return bt_fail(err, c->window.failure == ENOMEM ? BT_E_NO_MEMORY : BT_E_IO,
			       c->window.failure, "cannot read the trace's file mapped-%u",
			       piece->file);
	bytes->len = (size_t)piece->size;
	return content_hash(bytes->at, bytes->len).first != piece->hash
		       ? bt_fail(err, BT_E_CORRUPT, 0, "the trace's file mapped-%u has other bytes",
				 piece->file)
		       : 0;
}
