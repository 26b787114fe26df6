/* SPDX-License-Identifier: MIT */
#include "commands/replay_look.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collector/task/task.h"
#include "collector/tracee/tracee.h"

enum {
	COLUMNS = 4, /* of registers */
	LINE = 16,   /* bytes of memory in a line */
};

/* ---- What is asked for ---- */

/* Reads a number, decimal or with 0x, and moves *at behind it. */
static bool take_number(const char **at, uint64_t *out)
{
	bool hex = !strncmp(*at, "0x", 2);
	const char *digits = *at + (hex ? 2 : 0);
	size_t n = strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789");

	if (!n)
		return false;
	errno = 0;
	*out = strtoull(digits, NULL, hex ? 16 : 10);
	*at = digits + n;
	return !errno;
}

static bool take_address(const char **at, struct look_range *r)
{
	size_t len = strcspn(*at, "+-,");
	bool minus;

	r->base = bt_reg_find(*at, len);
	if (r->base < 0)
		return take_number(at, &r->offset);
	*at += len;
	minus = **at == '-';
	if (**at != '+' && !minus)
		return true;
	++*at;
	if (!take_number(at, &r->offset))
		return false;
	if (minus)
		r->offset = -r->offset;
	return true;
}

int replay_look_add(struct replay_look *look, const char *text, struct bt_error *err)
{
	struct look_range r = {0};
	const char *at = text;

	if (look->range_count == LOOK_RANGES)
		return bt_fail(err, BT_E_MISUSE, 0, "--memory: more than %d of them", LOOK_RANGES);
	if (!take_address(&at, &r) || *at++ != ',' || !take_number(&at, &r.length) || *at ||
	    !r.length || r.length > LOOK_BYTES)
		return bt_fail(err, BT_E_MISUSE, 0,
			       "--memory: %s is not ADDR,LEN: an address or a register (rsp, "
			       "rbp-0x20), and 1 to %d bytes",
			       text, LOOK_BYTES);
	look->ranges[look->range_count++] = r;
	return 0;
}

/* ---- What is there ---- */

static bool take_range(struct look_range *r, const struct task *task)
{
	r->addr = r->offset + (r->base < 0 ? 0 : bt_regs_get(&task->regs, (unsigned)r->base));
	if (!buf_reserve(&r->bytes, r->length))
		return false;
	r->bytes.len = tracee_read(task->host_tid, r->addr, r->bytes.data, r->length);
	return true;
}

bool replay_look_take(struct replay_look *look, const struct task *task)
{
	look->task = task->number;
	look->point = task_point(task);
	look->regs = task->regs;
	for (size_t i = 0; i < look->range_count; i++)
		if (!take_range(&look->ranges[i], task))
			return false;
	return true;
}

/* ---- Text ---- */

static void print_registers(const struct replay_look *look, FILE *to)
{
	fprintf(to, "Registers of task %" PRIu32 "\n", look->task);
	for (unsigned i = 0; i < BT_REGS_SHOWN; i++)
		fprintf(to, "  %-7s %016" PRIx64 "%s", bt_reg_info[bt_regs_shown[i]].name,
			bt_regs_get(&look->regs, bt_regs_shown[i]),
			i % COLUMNS == COLUMNS - 1 || i == BT_REGS_SHOWN - 1 ? "\n" : "");
}

static void print_line(uint64_t addr, const uint8_t *bytes, size_t n, FILE *to)
{
	fprintf(to, "  %016" PRIx64 " ", addr);
	for (size_t i = 0; i < LINE; i++) {
		fputs(i == LINE / 2 ? "  " : " ", to);
		if (i < n)
			fprintf(to, "%02x", bytes[i]);
		else
			fputs("  ", to);
	}
	fputs("  |", to);
	for (size_t i = 0; i < n; i++)
		fputc(bytes[i] >= ' ' && bytes[i] < 0x7f ? bytes[i] : '.', to);
	fputs("|\n", to);
}

static void print_range(const struct look_range *r, FILE *to)
{
	size_t len = r->bytes.len;

	fprintf(to, "Memory at 0x%" PRIx64 ", %" PRIu64 " bytes\n", r->addr, r->length);
	for (size_t i = 0; i < len; i += LINE)
		print_line(r->addr + i, r->bytes.data + i, len - i < LINE ? len - i : LINE, to);
	if (len < r->length)
		fprintf(to, "  %016" PRIx64 "  nothing is mapped\n", r->addr + len);
}

void replay_look_print(const struct replay_look *look, FILE *to)
{
	if (look->registers)
		print_registers(look, to);
	for (size_t i = 0; i < look->range_count; i++)
		print_range(&look->ranges[i], to);
}

/* ---- JSON ---- */

static void print_registers_json(const struct replay_look *look, FILE *to)
{
	fputs(", \"registers\": {", to);
	for (unsigned i = 0; i < BT_REG_COUNT; i++)
		fprintf(to, "%s\"%s\": \"0x%" PRIx64 "\"", i ? ", " : "", bt_reg_info[i].name,
			bt_regs_get(&look->regs, i));
	fputc('}', to);
}

static void print_range_json(const struct look_range *r, FILE *to)
{
	fprintf(to, "{\"address\": \"0x%" PRIx64 "\", \"length\": %" PRIu64 ", \"bytes\": \"",
		r->addr, r->length);
	for (size_t i = 0; i < r->bytes.len; i++)
		fprintf(to, "%02x", r->bytes.data[i]);
	fputs("\"}", to);
}

void replay_look_print_json(const struct replay_look *look, FILE *to)
{
	fprintf(to,
		"\"task\": %" PRIu32 ", \"point\": {\"tick\": \"%" PRIu64
		"\", \"transfers\": \"%" PRIu64 "\", \"rip\": \"0x%" PRIx64
		"\", \"rcx\": \"0x%" PRIx64 "\"}",
		look->task, look->point.tick, look->point.transfers, look->point.rip,
		look->point.rcx);
	if (look->registers)
		print_registers_json(look, to);
	if (look->range_count)
		fputs(", \"memory\": [", to);
	for (size_t i = 0; i < look->range_count; i++) {
		fputs(i ? ", " : "", to);
		print_range_json(&look->ranges[i], to);
	}
	if (look->range_count)
		fputc(']', to);
}

void replay_look_release(struct replay_look *look)
{
	for (size_t i = 0; i < look->range_count; i++)
		buf_release(&look->ranges[i].bytes);
}
