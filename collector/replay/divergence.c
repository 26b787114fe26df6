/* SPDX-License-Identifier: MIT */
#include "collector/replay/divergence.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

static const char *const kind_names[DIVERGENCE_KINDS] = {
	[DIVERGENCE_EVENT] = "event",         [DIVERGENCE_POINT] = "point",
	[DIVERGENCE_REGISTERS] = "registers", [DIVERGENCE_END] = "end",
	[DIVERGENCE_OUTPUT] = "output",       [DIVERGENCE_EFFECT] = "effect",
};

/* The bits of register i that count. */
static uint64_t bits_that_count(unsigned i)
{
	static const size_t left_out[] = {
		offsetof(struct bt_regs, cs), offsetof(struct bt_regs, ss),
		offsetof(struct bt_regs, ds), offsetof(struct bt_regs, es),
		offsetof(struct bt_regs, fs), offsetof(struct bt_regs, gs)};

	for (size_t k = 0; k < sizeof left_out / sizeof left_out[0]; k++)
		if (i * sizeof(uint64_t) == left_out[k])
			return 0;
	return i * sizeof(uint64_t) == offsetof(struct bt_regs, eflags)
		       ? ~(uint64_t)(EFLAGS_TF | EFLAGS_RF)
		       : UINT64_MAX;
}

static bool register_differs(const struct bt_regs *a, const struct bt_regs *b, unsigned i)
{
	return (bt_regs_get(a, i) ^ bt_regs_get(b, i)) & bits_that_count(i);
}

bool divergence_regs_differ(const struct bt_regs *a, const struct bt_regs *b)
{
	for (unsigned i = 0; i < BT_REG_COUNT; i++)
		if (register_differs(a, b, i))
			return true;
	return false;
}

void divergence_came(struct divergence *d, const char *came)
{
	static const char *const same[DIVERGENCE_KINDS] = {
		[DIVERGENCE_POINT] = "the same at another point",
		[DIVERGENCE_REGISTERS] = "the same with other registers"};

	if (same[d->kind] && !strcmp(d->expected, came))
		came = same[d->kind];
	snprintf(d->came, sizeof d->came, "%s", came);
	/* Output is looked at behind its call: the call was met, and the task has gone on since. */
	if (d->kind == DIVERGENCE_OUTPUT) {
		d->came_at = d->expected_at;
		d->has_regs = false;
	}
}

static void print_hex(const uint8_t *bytes, size_t n, FILE *to)
{
	for (size_t i = 0; i < n; i++)
		fprintf(to, "%02x", bytes[i]);
}

static void print_memory(const struct memory_difference *m, FILE *to)
{
	const char *more = m->end - m->start > m->count ? "..." : "";

	fprintf(to, "  memory 0x%" PRIx64 "..0x%" PRIx64 ": expected ", m->start, m->end);
	print_hex(m->expected, m->count, to);
	fprintf(to, "%s, got ", more);
	if (m->readable)
		print_hex(m->came, m->count, to);
	fprintf(to, "%s\n", m->readable ? more : "memory that cannot be read");
}

void divergence_print(const struct divergence *d, FILE *to)
{
	char expected[BT_POINT_TEXT], came[BT_POINT_TEXT];

	fprintf(to,
		"divergence (%s) %s event %" PRIu64 " of task %" PRIu32 ": expected %s, got %s\n",
		kind_names[d->kind], d->is_behind ? "behind" : "at", d->seq, d->task, d->expected,
		d->came);
	if (d->has_points && d->ticks_only) {
		fprintf(to, "  tick: expected %" PRIu64 ", got %" PRIu64 "\n", d->expected_at.tick,
			d->came_at.tick);
	} else if (d->has_points) {
		bt_point_print(&d->expected_at, expected);
		bt_point_print(&d->came_at, came);
		fprintf(to, "  point: expected %s, got %s\n", expected, came);
	}
	for (unsigned i = 0; d->has_regs && i < BT_REG_COUNT; i++)
		if (register_differs(&d->expected_regs, &d->came_regs, i))
			fprintf(to, "  %s: expected 0x%" PRIx64 ", got 0x%" PRIx64 "\n",
				bt_reg_info[i].name, bt_regs_get(&d->expected_regs, i),
				bt_regs_get(&d->came_regs, i));
	if (d->memory.end)
		print_memory(&d->memory, to);
	if (*d->cause)
		fprintf(to, "  it may come of this: %s\n", d->cause);
}

static void print_point_json(const char *name, const struct bt_point *p, bool tick_only, FILE *to)
{
	fprintf(to, ", \"%s\": {\"tick\": \"%" PRIu64 "\"", name, p->tick);
	if (!tick_only)
		fprintf(to,
			", \"transfers\": \"%" PRIu64 "\", \"rip\": \"0x%" PRIx64
			"\", \"rcx\": \"0x%" PRIx64 "\"",
			p->transfers, p->rip, p->rcx);
	fputs("}", to);
}

static void print_memory_json(const struct memory_difference *m, FILE *to)
{
	fprintf(to,
		", \"memory\": {\"start\": \"0x%" PRIx64 "\", \"end\": \"0x%" PRIx64
		"\", \"expected\": \"",
		m->start, m->end);
	print_hex(m->expected, m->count, to);
	fputs("\", \"got\": ", to);
	if (m->readable) {
		fputs("\"", to);
		print_hex(m->came, m->count, to);
	}
	fputs(m->readable ? "\"}" : "null}", to);
}

void divergence_print_json(const struct divergence *d, FILE *to)
{
	bool first = true;

	fprintf(to,
		"{\"schema\": \"btrec-divergence/1\", \"kind\": \"%s\", \"event\": %" PRIu64
		", \"task\": %" PRIu32 ", \"expected\": \"%s\", \"got\": \"%s\"",
		kind_names[d->kind], d->seq, d->task, d->expected, d->came);
	if (d->has_points) {
		print_point_json("expected_point", &d->expected_at, d->ticks_only, to);
		print_point_json("point", &d->came_at, d->ticks_only, to);
	}
	fputs(", \"registers\": [", to);
	for (unsigned i = 0; d->has_regs && i < BT_REG_COUNT; i++) {
		if (!register_differs(&d->expected_regs, &d->came_regs, i))
			continue;
		fprintf(to,
			"%s{\"name\": \"%s\", \"expected\": \"0x%" PRIx64
			"\", \"got\": \"0x%" PRIx64 "\"}",
			first ? "" : ", ", bt_reg_info[i].name, bt_regs_get(&d->expected_regs, i),
			bt_regs_get(&d->came_regs, i));
		first = false;
	}
	fputs("]", to);
	if (d->memory.end)
		print_memory_json(&d->memory, to);
	if (d->is_behind)
		fputs(", \"behind_event\": true", to);
	if (*d->cause)
		fprintf(to, ", \"cause\": \"%s\"", d->cause);
	fputs("}\n", to);
}
