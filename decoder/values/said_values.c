/* SPDX-License-Identifier: MIT */
#include "decoder/values/said_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/symbols/symbols_private.h"
#include "lib/buf.h"

enum { KEPT_NAME_MAX = 256 }; /* longer names of variables are cut */

/* A field; the characters that end fields become spaces. */
static void put_field(struct buf *b, const char *text, char end)
{
	for (; *text; text++)
		buf_u8(b, (uint8_t)(*text == '\t' || *text == '\n' ? ' ' : *text));
	buf_u8(b, (uint8_t)end);
}

static void put_number(struct buf *b, uint64_t number, char end)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIx64, number);
	put_field(b, text, end);
}

static void note_words(struct symbols *s, enum kept_said what, const struct model_snapshot *snap,
		       const struct bt_record_thread *thread, size_t n, struct buf *b)
{
	buf_u8(b, 0);
	if (!b->failed)
		symbols_note_said(s, what, snap, thread, (uint32_t)n, (const char *)b->data);
	buf_release(b);
}

void said_values_note(struct symbols *s, const struct model_snapshot *snap,
		      const struct bt_record_thread *thread, size_t n, const struct frame_values *v)
{
	struct buf b = {0};

	if (!v->count)
		return;
	for (size_t i = 0; i < v->count; i++) {
		const struct frame_value *value = &v->at[i];

		put_field(&b, value->kind == VALUE_ARGUMENT ? "argument" : "local", '\t');
		put_field(&b, value->is_plain ? "plain" : "compound", '\t');
		put_number(&b, value->part, '\t');
		put_field(&b, value->name, '\t');
		put_field(&b, value->text, '\n');
	}
	note_words(s, KEPT_VALUES, snap, thread, n, &b);
}

/* Takes the field that ends with `end`, copied into out, cut to its room. False: there is none. */
static bool take_field(const char **at, char end, char *out, size_t cap)
{
	const char *stop = strchr(*at, end);
	size_t len;

	if (!stop)
		return false;
	len = (size_t)(stop - *at);
	len = len < cap ? len : cap - 1;
	memcpy(out, *at, len);
	out[len] = '\0';
	*at = stop + 1;
	return true;
}

static bool take_value(struct symbols *s, const char **at, struct frame_value *value)
{
	char kind[16], form[16], part[24], name[KEPT_NAME_MAX];

	if (!take_field(at, '\t', kind, sizeof kind) || !take_field(at, '\t', form, sizeof form) ||
	    !take_field(at, '\t', part, sizeof part) || !take_field(at, '\t', name, sizeof name) ||
	    !take_field(at, '\n', value->text, sizeof value->text))
		return false;
	value->kind = strcmp(kind, "argument") ? VALUE_LOCAL : VALUE_ARGUMENT;
	value->is_plain = !strcmp(form, "plain");
	value->part = strtoul(part, NULL, 16);
	value->name = intern_str(symbols_strings(s), name);
	return value->name;
}

void said_values_find(struct symbols *s, const struct model_snapshot *snap,
		      const struct bt_record_thread *thread, size_t n, struct frame_values *v)
{
	const char *at = symbols_kept_said(s, KEPT_VALUES, snap, thread, (uint32_t)n);

	*v = (struct frame_values){0};
	if (!at || !(v->at = calloc(FRAME_VALUES_MAX, sizeof *v->at)))
		return;
	while (v->count < FRAME_VALUES_MAX && take_value(s, &at, &v->at[v->count]))
		v->count++;
}

void said_access_note(struct symbols *s, const struct model_snapshot *snap,
		      const struct bt_record_thread *thread, const struct fault_name *name)
{
	struct buf b = {0};

	put_field(&b, name->accessed, '\t');
	put_field(&b, name->pointer, '\t');
	put_number(&b, name->value, '\t');
	put_field(&b, name->member, '\t');
	put_field(&b, name->structure, '\n');
	note_words(s, KEPT_ACCESS, snap, thread, 0, &b);
}

bool said_access_find(struct symbols *s, const struct model_snapshot *snap,
		      const struct bt_record_thread *thread, struct fault_name *name)
{
	const char *at = symbols_kept_said(s, KEPT_ACCESS, snap, thread, 0);
	char value[24];

	*name = (struct fault_name){.accessed = ""};
	if (!at || !take_field(&at, '\t', name->accessed, sizeof name->accessed) ||
	    !take_field(&at, '\t', name->pointer, sizeof name->pointer) ||
	    !take_field(&at, '\t', value, sizeof value) ||
	    !take_field(&at, '\t', name->member, sizeof name->member) ||
	    !take_field(&at, '\n', name->structure, sizeof name->structure))
		return false;
	name->value = strtoull(value, NULL, 16);
	return true;
}

void said_largest_note(struct symbols *s, const struct model_snapshot *snap,
		       const struct bt_record_thread *thread, size_t n,
		       const struct large_variable *v)
{
	struct buf b = {0};

	put_field(&b, v->name, '\t');
	put_field(&b, v->file, '\t');
	put_number(&b, v->line, '\t');
	put_number(&b, v->size, '\n');
	note_words(s, KEPT_LARGEST, snap, thread, n, &b);
}

bool said_largest_find(struct symbols *s, const struct model_snapshot *snap,
		       const struct bt_record_thread *thread, size_t n, struct large_variable *v)
{
	const char *at = symbols_kept_said(s, KEPT_LARGEST, snap, thread, (uint32_t)n);
	char line[24], size[24];

	*v = (struct large_variable){.name = ""};
	if (!at || !take_field(&at, '\t', v->name, sizeof v->name) ||
	    !take_field(&at, '\t', v->file, sizeof v->file) ||
	    !take_field(&at, '\t', line, sizeof line) || !take_field(&at, '\n', size, sizeof size))
		return false;
	v->line = strtoull(line, NULL, 16);
	v->size = strtoull(size, NULL, 16);
	return true;
}
