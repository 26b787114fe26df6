/* SPDX-License-Identifier: MIT */
#include "hardware_decoders/bts_flow.h"

#include <string.h>

enum {
	FLAG_PREDICTED = 1 << 4,
	/* struct perf_event_header (include/uapi/linux/perf_event.h). */
	HEADER = 8,
	TYPE_SAMPLE = 9,
	TYPE_SWITCH = 14,
	MISC_SWITCH_OUT = 1 << 13,
	MISC_SWITCH_PREEMPT = 1 << 14,
};

struct bts_reader {
	const struct bts_code *code;
	bts_take *take;
	void *arg;
	struct flow_item departure; /* waits for the branches before it */
	bool departed;
};

static void give_item(struct bts_reader *r, const struct flow_item *item) { r->take(r->arg, item); }

static void give_gap(struct bts_reader *r, enum bt_gap_reason reason, const char *cause)
{
	const struct flow_item item = {
		.kind = FLOW_GAP, .branch = {.kind = BT_BRANCH_GAP, .to = reason}, .cause = cause};

	give_item(r, &item);
}

/* Between kernel and kernel nothing is told; into it and out of it user code is left and entered.
 */
static void give_branch(struct bts_reader *r, uint64_t from, uint64_t to, uint8_t flags)
{
	struct flow_item item = {
		.branch = {.from = from, .to = to, .flags = flags | BT_BRANCH_TAKEN}};
	bool from_kernel = flow_is_kernel(from), to_kernel = flow_is_kernel(to);
	enum bt_branch_kind kind;

	if (from_kernel && to_kernel)
		return;
	item.kind = from_kernel ? FLOW_ENTER : to_kernel ? FLOW_LEAVE : FLOW_BRANCH;
	kind = from_kernel ? BT_BRANCH_BRANCH : flow_kind_at(r->code->code, r->code->arg, from);
	if (item.kind == FLOW_BRANCH)
		item.branch.kind = kind == BT_BRANCH_ASYNC || kind == BT_BRANCH_SYSCALL
					   ? BT_BRANCH_BRANCH
					   : kind;
	else
		item.branch.kind = kind == BT_BRANCH_SYSCALL ? BT_BRANCH_SYSCALL : BT_BRANCH_ASYNC;
	give_item(r, &item);
}

/* --- records of the processor --- */

void bts_records(struct slice in, const struct bts_code *code, bts_take *take, void *arg)
{
	struct bts_reader r = {.code = code, .take = take, .arg = arg};

	while (in.len >= BTS_RECORD) {
		uint64_t from = slice_u64(&in), to = slice_u64(&in), flags = slice_u64(&in);

		if (!from && !to)
			continue;
		/* A clear bit does not mean a misprediction: not every model sets it. */
		if (!from || !to)
			give_gap(&r, BT_GAP_LOST, "a record without an address");
		else
			give_branch(&r, from, to,
				    flags & FLAG_PREDICTED ? BT_BRANCH_PREDICTION_KNOWN : 0);
	}
	if (in.len)
		give_gap(&r, BT_GAP_LOST, "a piece of a record");
}

/* --- the ring --- */

static struct slice record_at(const struct bts_ring *ring, uint64_t at, uint8_t bytes[BTS_RECORD])
{
	size_t start = (size_t)(at & (ring->size - 1)), first = (size_t)(ring->size - start);

	if (first >= BTS_RECORD)
		return slice_of(ring->data + start, BTS_RECORD);
	memcpy(bytes, ring->data + start, first);
	memcpy(bytes + first, ring->data, BTS_RECORD - first);
	return slice_of(bytes, BTS_RECORD);
}

static bool is_record(struct slice s)
{
	uint32_t type = slice_u32(&s);

	slice_u16(&s);
	return (type == TYPE_SAMPLE || type == TYPE_SWITCH) && slice_u16(&s) == BTS_RECORD;
}

/* The position of the oldest record from which records reach the head without a break. */
static uint64_t oldest_record(const struct bts_ring *ring, uint64_t limit)
{
	uint8_t bytes[BTS_RECORD];
	uint64_t at = ring->head;

	while (at - limit >= BTS_RECORD && is_record(record_at(ring, at - BTS_RECORD, bytes)))
		at -= BTS_RECORD;
	return at;
}

static void give_departure(struct bts_reader *r)
{
	if (r->departed)
		give_item(r, &r->departure);
	r->departed = false;
}

static void take_switch(struct bts_reader *r, uint16_t misc, struct slice in)
{
	struct flow_item item = {.kind = misc & MISC_SWITCH_OUT ? FLOW_DEPART : FLOW_ARRIVE,
				 .preempted = misc & MISC_SWITCH_PREEMPT};

	item.time = slice_u64(&in);
	item.cpu = slice_u32(&in);
	give_departure(r);
	if (item.kind == FLOW_ARRIVE) {
		give_item(r, &item);
	} else {
		r->departure = item;
		r->departed = true;
	}
}

static void take_record(struct bts_reader *r, struct slice in)
{
	uint32_t type = slice_u32(&in);
	uint16_t misc = slice_u16(&in);
	uint64_t from, to;

	slice_u16(&in);
	if (type == TYPE_SWITCH) {
		take_switch(r, misc, in);
		return;
	}
	from = slice_u64(&in);
	to = slice_u64(&in);
	if (from && to)
		give_branch(r, from, to, 0);
	else
		give_gap(r, BT_GAP_LOST, "a record without an address");
}

void bts_ring_read(const struct bts_ring *ring, const struct bts_code *code, bts_take *take,
		   void *arg)
{
	struct bts_reader r = {.code = code, .take = take, .arg = arg};
	uint64_t limit = ring->seen, at;
	uint8_t bytes[BTS_RECORD];

	if (ring->head - limit > ring->size)
		limit = ring->head - ring->size;
	at = oldest_record(ring, limit);
	if (limit != ring->seen)
		give_gap(&r, BT_GAP_OVERWRITTEN,
			 "the ring was too small for what came between two looks at it");
	else if (at != limit)
		give_gap(&r, BT_GAP_LOST, "what is no record in the ring");
	for (; at < ring->head; at += BTS_RECORD)
		take_record(&r, record_at(ring, at, bytes));
	give_departure(&r);
}
