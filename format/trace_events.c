/* SPDX-License-Identifier: MIT */
#include "format/trace_events.h"

#include <stdlib.h>

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

static void own(struct arena *a, struct bt_record *rec)
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

/* Events are all kinds that begin with a seq. */
static bool is_event_kind(uint16_t kind)
{
	return bt_record_name(kind) && kind != BT_RECORD_HEADER && kind != BT_RECORD_UNIT &&
	       kind != BT_RECORD_BRANCHES && kind != BT_RECORD_OBJECT &&
	       kind != BT_RECORD_BRANCH_WORDS;
}

void trace_events_add(struct trace_events *ev, struct arena *a, uint32_t unit,
		      const struct bt_record *rec)
{
	struct trace_event *at;

	ev->unknown |= !bt_record_name(rec->kind);
	if (!is_event_kind(rec->kind) || !arena_charge(a, sizeof *at))
		return;
	at = array_grow(ev->at, ev->count, &ev->cap, sizeof *at);
	if (!at) {
		a->failed = true;
		return;
	}
	ev->at = at;
	at += ev->count;
	/* seq is the first member of every event, of END as of any other. */
	*at = (struct trace_event){.seq = rec->u.end.seq, .unit = unit, .rec = *rec};
	own(a, &at->rec);
	if (a->over || a->failed)
		return;
	ev->count++;
	ev->counts[rec->kind]++;
}

static int compare_events(const void *a, const void *b)
{
	const struct trace_event *const *x = a, *const *y = b;

	if ((*x)->seq != (*y)->seq)
		return (*x)->seq < (*y)->seq ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

static bool is_sorted(const struct trace_events *ev)
{
	for (size_t i = 1; i < ev->count; i++)
		if (ev->at[i - 1].seq > ev->at[i].seq)
			return false;
	return true;
}

/* Events are large: pointers are sorted, then each event is moved once. */
bool trace_events_sort(struct trace_events *ev)
{
	struct trace_event **order, *sorted;

	if (is_sorted(ev))
		return true;
	order = malloc(ev->count * sizeof *order);
	sorted = malloc(ev->count * sizeof *sorted);
	if (!order || !sorted) {
		free(order);
		free(sorted);
		return false;
	}
	for (size_t i = 0; i < ev->count; i++)
		order[i] = &ev->at[i];
	qsort(order, ev->count, sizeof *order, compare_events);
	for (size_t i = 0; i < ev->count; i++)
		sorted[i] = *order[i];
	free(order);
	free(ev->at);
	ev->at = sorted;
	ev->cap = ev->count;
	return true;
}

size_t trace_events_count(const struct trace_events *ev, uint16_t kind)
{
	return kind < TRACE_EVENT_KINDS ? ev->counts[kind] : 0;
}
