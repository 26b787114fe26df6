/* SPDX-License-Identifier: MIT */
#include "commands/log_digest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collector/replay/host.h"
#include "collector/replay/mapped_copies.h"
#include "collector/space/world.h"
#include "commands/mapped_ranges.h"
#include "format/log_calls.h"
#include "format/log_processor.h"
#include "format/trace_cursor.h"
#include "lib/array_size.h"

/* The events, with the part that the effects before each are of. */
static const struct {
	uint16_t kind;
	enum log_part part;
} event_parts[] = {
	{BT_RECORD_LOG, LOG_PART_START},
	{BT_RECORD_LOG_CALL, LOG_PART_CALLS},
	{BT_RECORD_LOG_SIGNAL, LOG_PART_SIGNALS},
	{BT_RECORD_LOG_HANDLER, LOG_PART_SIGNALS},
	{BT_RECORD_LOG_EXIT, LOG_PART_CALLS},
	{BT_RECORD_LOG_INSTRUCTION, LOG_PART_INSTRUCTIONS},
};

static void add_event(struct log_digest *d, const struct bt_record *rec, uint64_t *bytes)
{
	for (size_t i = 0; i < ARRAY_SIZE(event_parts); i++) {
		if (event_parts[i].kind != rec->kind)
			continue;
		d->bytes[event_parts[i].part] += *bytes;
		/* A handler is entered for a signal that was counted; an end is none of these. */
		d->events[event_parts[i].part] +=
			rec->kind != BT_RECORD_LOG_HANDLER && rec->kind != BT_RECORD_LOG_EXIT;
		*bytes = 0;
	}
}

static void add_calls(struct log_digest *d, const struct bt_record_log_calls *rec)
{
	struct log_calls_codec codec = {.tick = rec->tick};
	struct slice calls = rec->calls;
	struct bt_logged_call call;

	while (log_calls_decode(&codec, &calls, &call) == 1) {
		d->events[call.form == BT_LOGGED_CALL ? LOG_PART_CALLS : LOG_PART_INSTRUCTIONS]++;
		for (unsigned i = 0; i < call.data_count; i++)
			d->bytes[LOG_PART_CALLS] += call.data[i].bytes.len;
	}
}

static void add_record(struct log_digest *d, const struct bt_record *rec, uint64_t *bytes)
{
	switch (rec->kind) {
	case BT_RECORD_LOG_PROCESSOR:
		d->has_processor = true;
		log_processor_decode(&rec->u.log_processor, &d->processor);
		break;
	case BT_RECORD_LOG:
		d->version = rec->u.log.version;
		add_event(d, rec, bytes);
		break;
	case BT_RECORD_LOG_DATA:
		*bytes += rec->u.log_data.bytes.len;
		break;
	case BT_RECORD_LOG_OBJECT:
		*bytes += rec->u.log_object.bytes.len;
		break;
	case BT_RECORD_LOG_STATE:
		d->registers += sizeof rec->u.log_state.regs + rec->u.log_state.extended.len;
		break;
	case BT_RECORD_LOG_UNSEEN:
		d->unseen += rec->u.log_unseen.count;
		break;
	case BT_RECORD_LOG_CALLS:
		add_calls(d, &rec->u.log_calls);
		break;
	case BT_RECORD_LOG_END:
		d->ended_early = true;
		snprintf(d->reason, sizeof d->reason, "%.*s", (int)rec->u.log_end.reason.len,
			 (const char *)rec->u.log_end.reason.at);
		break;
	default:
		d->ended |= rec->kind == BT_RECORD_LOG_EXIT;
		add_event(d, rec, bytes);
		break;
	}
}

bool log_digest_read(struct log_digest *d, const struct trace *t)
{
	const struct trace_file *file = NULL;
	struct trace_cursor c;
	struct bt_record rec;
	struct bt_error err;
	struct mapped_ranges mapped = {0};
	uint64_t bytes = 0;
	bool known = true;
	int rc;

	*d = (struct log_digest){0};
	for (size_t i = 0; i < t->file_count && !file; i++)
		file = t->files[i].kind == BT_FILE_LOG ? &t->files[i] : NULL;
	if (!file)
		return false;
	d->size = file->size;
	trace_cursor_init(&c, t, file);
	while ((rc = trace_cursor_next(&c, &rec, &err)) == 1) {
		if (rec.kind == BT_RECORD_LOG_PIECE &&
		    (rc = mapped_copies_check(t, &rec.u.log_piece, &err)))
			break;
		add_record(d, &rec, &bytes);
		if (rec.kind == BT_RECORD_LOG_SHAPE)
			known = known && mapped_ranges_change(&mapped, &rec.u.log_shape);
	}
	trace_cursor_release(&c);
	d->addresses = known ? mapped.most : 0;
	mapped_ranges_release(&mapped);
	if (rc && rc != -BT_E_TRUNCATED)
		d->damage = err;
	return true;
}

const char *log_damage_words(enum bt_error_code code)
{
	return code == BT_E_NO_MEMORY || code == BT_E_IO ? "cannot be read on" : "is damaged";
}

uint64_t log_digest_memory(const struct log_digest *d)
{
	const uint64_t gb = UINT64_C(1) << 30;

	return (d->addresses + WORLD_RESERVED_SIZE + gb - 1) / gb * gb;
}

const char *log_digest_memory_remedy(const struct log_digest *d, char text[LOG_REMEDY_MAX])
{
	uint64_t needed = log_digest_memory(d);

	snprintf(text, LOG_REMEDY_MAX,
		 host_allowed_memory(needed) < needed
			 ? "the hard limit is less than the %" PRIu64 " GB that are enough"
			 : "btrec replay --memory-limit %" PRIu64 "G is enough",
		 needed >> 30);
	return text;
}
