/* SPDX-License-Identifier: MIT */
#include "format/trace_events.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"

void trace_events_release(struct trace_events *ev)
{
	free(ev->at);
	*ev = (struct trace_events){0};
}

/* Copies a record's slices, which it borrowed from its block, kind by kind (records.def). */
#define OWN_u8(field)
#define OWN_u16(field)
#define OWN_u32(field)
#define OWN_u64(field)
#define OWN_point(field)
#define OWN_regs(field)
#define OWN_str(field)  field = arena_slice(a, field);
#define OWN_blob(field) field = arena_slice(a, field);
#define F(type, field)  OWN_##type(r->field)
#define R(number, NAME, name, text)                                         \
	static void own_##name(struct arena *a, struct bt_record_##name *r) \
	{                                                                   \
		(void)a;                                                    \
		(void)r;                                                    \
		BT_FIELDS_##name(F)                                         \
	}
BT_RECORDS(R)
#undef R
#undef F

static void own_record(struct arena *a, struct bt_record *rec)
{
	switch (rec->kind) {
#define R(number, NAME, name, text)          \
	case BT_RECORD_##NAME:               \
		own_##name(a, &rec->u.name); \
		break;
		BT_RECORDS(R)
#undef R
	}
}

/* Bytes of an event of a kind. */
static size_t event_size(uint16_t kind)
{
	static const uint16_t sizes[TRACE_EVENT_KINDS] = {
#define R(number, NAME, name, text) [BT_RECORD_##NAME] = sizeof(struct bt_record_##name),
		BT_RECORDS(R)
#undef R
	};

	return offsetof(struct trace_event, rec.u) + sizes[kind];
}

/* Events are all kinds that begin with a seq. */
static bool is_event_kind(uint16_t kind)
{
	return bt_record_name(kind) && kind != BT_RECORD_HEADER && kind != BT_RECORD_UNIT &&
	       kind != BT_RECORD_BRANCHES && kind != BT_RECORD_BRANCH_GRAPH &&
	       kind != BT_RECORD_OBJECT && kind != BT_RECORD_BRANCH_WORDS;
}

void trace_events_add(struct trace_events *ev, struct arena *a, uint32_t unit,
		      const struct bt_record *rec)
{
	/* seq is the first member of every event, of END as of any other. */
	struct trace_event whole = {.seq = rec->u.end.seq, .unit = unit, .rec = *rec}, *event, **at;

	ev->unknown |= !bt_record_name(rec->kind);
	if (!is_event_kind(rec->kind) || !arena_charge(a, sizeof *at))
		return;
	at = array_grow(ev->at, ev->count, &ev->cap, sizeof *at);
	if (!at) {
		a->failed = true;
		return;
	}
	ev->at = at;
	own_record(a, &whole.rec);
	event = arena_alloc(a, event_size(rec->kind));
	if (!event || a->over || a->failed)
		return;
	memcpy(event, &whole, event_size(rec->kind));
	at[ev->count++] = event;
	ev->counts[rec->kind]++;
}

struct event_place {
	struct trace_event *event;
	size_t index;
};

static int compare_places(const void *a, const void *b)
{
	const struct event_place *x = a, *y = b;

	if (x->event->seq != y->event->seq)
		return x->event->seq < y->event->seq ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static bool is_sorted(const struct trace_events *ev)
{
	for (size_t i = 1; i < ev->count; i++)
		if (ev->at[i - 1]->seq > ev->at[i]->seq)
			return false;
	return true;
}

bool trace_events_sort(struct trace_events *ev)
{
	struct event_place *order;

	if (is_sorted(ev))
		return true;
	order = malloc(ev->count * sizeof *order);
	if (!order)
		return false;
	for (size_t i = 0; i < ev->count; i++)
		order[i] = (struct event_place){ev->at[i], i};
	qsort(order, ev->count, sizeof *order, compare_places);
	for (size_t i = 0; i < ev->count; i++)
		ev->at[i] = order[i].event;
	free(order);
	return true;
}

size_t trace_events_count(const struct trace_events *ev, uint16_t kind)
{
	return kind < TRACE_EVENT_KINDS ? ev->counts[kind] : 0;
}
