/* SPDX-License-Identifier: MIT */
/* The instructions around the place at the main view's cursor, with marks on those that ran since
 * the branch before. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/model/disasm.h"
#include "decoder/symbols/text.h"
#include "lib/grow.h"
#include "tui/label.h"

enum {
	BEFORE_MAX =
		1
		<< 16, /* bytes: a function is shown from its start unless that lies further back */
	BEHIND = 200,  /* instructions shown behind the place */
	COUNT_MAX = 20000,
};

struct instruction {
	uint64_t addr;
	uint8_t len; /* 0: no code bytes here */
	bool ran;
};

struct disassembly {
	struct view_place place;
	bool shown;
	struct instruction *at;
	size_t count, cap;
};

static int disassembly_view_load(struct viewer *v, struct view *view, struct bt_error *err)
{
	(void)v;
	if (!view->state)
		view->state = calloc(1, sizeof(struct disassembly));
	return view->state ? 0 : bt_no_memory(err, NULL);
}

static void disassembly_view_release(struct view *view)
{
	struct disassembly *d = view->state;

	if (d)
		free(d->at);
	free(d);
	view->state = NULL;
}

/* Straight-line code is one run of addresses: [*first, *end). */
static void find_run(struct viewer *v, const struct view_place *p, uint64_t *first, uint64_t *end)
{
	struct history_insn *insns = NULL;
	long n = p->entry == NO_ENTRY
			 ? 0
			 : history_straight(&v->history, v->m, p->entry, p->stop, &insns);

	*first = *end = p->addr;
	if (n > 0) {
		*first = insns[0].addr;
		*end = insns[n - 1].addr + insns[n - 1].len;
	}
	free(insns);
}

static uint64_t find_start(struct viewer *v, const struct view_place *p, uint64_t run)
{
	struct location loc;

	symbols_lookup(v->s, p->space, p->epoch, p->addr, false, &loc);
	if (*loc.function && loc.offset <= BEFORE_MAX)
		return loc.addr - loc.offset;
	return run <= p->addr ? run : p->addr;
}

static bool add_instruction(struct disassembly *d, struct instruction insn)
{
	struct instruction *at = array_grow(d->at, d->count, &d->cap, sizeof *at);

	if (!at)
		return false;
	d->at = at;
	at[d->count++] = insn;
	return true;
}

/* The length of the instruction at addr, 1 for a byte that begins none; 0 without code bytes. The
 * place, where an instruction is known to begin, begins one here, whatever the bytes before it
 * decode to. */
static uint8_t length_at(struct viewer *v, const struct view_place *p, uint64_t addr)
{
	uint8_t bytes[BT_INSN_MAX];
	size_t n = symbols_code(v->s, p->space, p->epoch, addr, bytes, sizeof bytes);
	struct bt_insn insn;
	uint8_t len = n && !bt_insn_decode(bytes, n, &insn) ? insn.len : n > 0;

	if (addr < p->addr && len > p->addr - addr)
		len = (uint8_t)(p->addr - addr);
	return len;
}

/* Behind the place a function ends where its name does. */
static bool is_behind(struct viewer *v, const struct view_place *p, uint64_t addr)
{
	struct location here, loc;

	if (addr <= p->addr)
		return false;
	symbols_lookup(v->s, p->space, p->epoch, p->addr, false, &here);
	symbols_lookup(v->s, p->space, p->epoch, addr, false, &loc);
	return *here.function && strcmp(here.function, loc.function);
}

static void list_instructions(struct viewer *v, struct disassembly *d)
{
	const struct view_place *p = &d->place;
	uint64_t run, end, addr;
	size_t behind = 0;

	find_run(v, p, &run, &end);
	addr = find_start(v, p, run);
	while (behind < BEHIND && d->count < COUNT_MAX && !is_behind(v, p, addr)) {
		uint8_t len = length_at(v, p, addr);
		struct instruction insn = {
			.addr = addr, .len = len, .ran = addr >= run && addr < end};

		if (!len && addr < p->addr) { /* a hole before the place: begin at the place */
			addr = p->addr;
			continue;
		}
		if (!add_instruction(d, insn) || !len)
			break;
		behind += addr >= p->addr;
		addr += len;
	}
}

static size_t line_of(const struct disassembly *d, uint64_t addr)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->at[i].addr == addr)
			return i;
	return 0;
}

void disassembly_view_show(struct viewer *v, const struct view_place *p)
{
	struct view *view = &v->views[VIEW_DISASSEMBLY];
	struct disassembly *d = view->state;

	d->count = 0;
	d->shown = p != NULL;
	view->cursor = view->top = 0;
	if (!p)
		return;
	d->place = *p;
	list_instructions(v, d);
	view_centre(view, line_of(d, p->addr));
}

static size_t disassembly_view_count(const struct view *view)
{
	const struct disassembly *d = view->state;

	return d && d->count ? d->count : 1;
}

static void put_text(struct viewer *v, const struct view_place *p, const struct instruction *insn,
		     struct row *out)
{
	struct text_names names = {.s = v->s, .space = p->space, .epoch = p->epoch};
	const struct disasm_style style = {
		.syntax = DISASM_INTEL, .name = text_address_name, .arg = &names};
	char text[DISASM_TEXT_MAX];
	uint8_t bytes[BT_INSN_MAX];
	size_t n = symbols_code(v->s, p->space, p->epoch, insn->addr, bytes, insn->len);
	struct disasm d;

	if (!n)
		row_put(out, STYLE_DIM, "no code bytes");
	else if (disasm_decode(&d, bytes, n, insn->addr))
		row_put(out, STYLE_GAP, "(bad) %02x", bytes[0]);
	else
		row_outside(out, insn->ran ? STYLE_NORMAL : STYLE_DIM,
			    disasm_text(&d, &style, text, sizeof text), 0);
}

/* The source line, if the instruction before has another. */
static void put_line(struct viewer *v, const struct disassembly *d, size_t i, struct row *out)
{
	const struct view_place *p = &d->place;
	struct location loc, before = {.file = ""};

	symbols_lookup(v->s, p->space, p->epoch, d->at[i].addr, false, &loc);
	if (i)
		symbols_lookup(v->s, p->space, p->epoch, d->at[i - 1].addr, false, &before);
	if (!loc.line || (loc.line == before.line && !strcmp(loc.file, before.file)))
		return;
	row_put(out, STYLE_FILE, "  ; ");
	row_outside(out, STYLE_FILE, label_basename(loc.file), 0);
	row_put(out, STYLE_FILE, ":%d", loc.line);
}

static void disassembly_view_row(struct viewer *v, const struct view *view, size_t line,
				 struct row *out)
{
	const struct disassembly *d = view->state;
	const struct instruction *insn;

	if (line >= d->count) {
		row_put(out, STYLE_DIM, "no code is known here");
		return;
	}
	insn = &d->at[line];
	row_put(out, STYLE_MARK, "%c ", insn->addr == d->place.addr ? '>' : insn->ran ? '|' : ' ');
	row_put(out, STYLE_ADDRESS, "%" PRIx64 "  ", insn->addr);
	put_text(v, &d->place, insn, out);
	put_line(v, d, line, out);
}

static void disassembly_view_title(struct viewer *v, const struct view *view, struct row *out)
{
	const struct disassembly *d = view->state;
	struct location loc;

	if (!d->shown)
		return;
	symbols_lookup(v->s, d->place.space, d->place.epoch, d->place.addr, d->place.is_return,
		       &loc);
	row_put(out, STYLE_NORMAL, " ");
	row_outside(out, STYLE_NORMAL, *loc.function ? loc.function : label_basename(loc.module),
		    32);
}

const struct view_ops disassembly_view = {
	.id = VIEW_DISASSEMBLY,
	.name = "disassembly",
	.load = disassembly_view_load,
	.release = disassembly_view_release,
	.count = disassembly_view_count,
	.row = disassembly_view_row,
	.title = disassembly_view_title,
};
