/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/symbols/function_name.h"
#include "lib/array_size.h"
#include "lib/escape.h"

enum {
	NAME_SHORT = 40, /* characters of a name that needs no shortening */
	NAME_BRIEF_MAX = 120,
	PLACE_ROOM = 32,         /* beside a name: its number, its line */
	NAME_MAX_COLUMNS = 1000, /* shown of a name: those of deep templates have megabytes */
};

void text_printf(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !buf_reserve(&t->buf, (size_t)n + 1))
		return;
	va_start(ap, fmt);
	vsnprintf((char *)t->buf.data + t->buf.len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	t->buf.len += (size_t)n;
}

void text_mark(struct text *t, enum text_mark mark)
{
	if (t->marks)
		buf_u8(&t->buf, (uint8_t)mark);
}

void text_outside(struct text *t, const char *s)
{
	bt_escape(&t->buf, slice_of(s, strlen(s)), t->utf8);
}

const char *text_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* < and > of an operator's own name open and close nothing. */
static size_t operator_len(const char *name)
{
	static const char *const operators[] = {"operator<<=", "operator>>=", "operator<=>",
						"operator->*", "operator<<",  "operator>>",
						"operator<=",  "operator>=",  "operator->",
						"operator<",   "operator>",   "operator()"};

	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (!strncmp(name, operators[i], strlen(operators[i])))
			return strlen(operators[i]);
	return 0;
}

static void append_text(char *out, size_t cap, size_t *n, const char *text, size_t len)
{
	if (len > cap - 1 - *n)
		len = cap - 1 - *n;
	memcpy(out + *n, text, len);
	*n += len;
}

/* A name without parameters; its template arguments as "..." where `arguments` is false. Returns
 * its length. */
static size_t bare_name(char *out, size_t cap, const char *name, bool arguments)
{
	static const char anonymous[] = "(anonymous namespace)";
	size_t n = 0, keep;
	unsigned depth = 0;
	bool in_self = *name == '<'; /* Rust's <type as trait>::function */

	for (const char *s = name; *s && n + 1 < cap; s += keep ? keep : 1) {
		keep = depth ? 0 : operator_len(s);
		if (!keep && !depth && !strncmp(s, anonymous, sizeof anonymous - 1))
			keep = sizeof anonymous - 1;
		if (keep) {
			append_text(out, cap, &n, s, keep);
			continue;
		}
		if (*s == '(' && !depth && !in_self)
			break;
		if (*s == '>' && depth)
			depth--;
		else if (*s == '>')
			in_self = false;
		if (!depth || arguments)
			append_text(out, cap, &n, s, 1);
		if (*s == '<' && s > name && !depth++ && !arguments)
			append_text(out, cap, &n, "...", 3);
	}
	out[n] = 0;
	return n;
}

void text_brief_name(char *out, size_t cap, const char *name)
{
	size_t len = function_name_written(name);

	if (len <= NAME_SHORT)
		snprintf(out, cap, "%.*s", (int)len, name);
	else if (bare_name(out, cap, name, true) > NAME_SHORT)
		bare_name(out, cap, name, false);
}

bool text_address_name(void *arg, uint64_t addr, char *out, size_t size)
{
	const struct text_names *names = arg;
	char name[NAME_BRIEF_MAX];
	struct location loc;

	symbols_lookup(names->s, names->space, names->epoch, addr, false, &loc);
	if (!*loc.function)
		return false;
	text_brief_name(name, sizeof name, loc.function);
	snprintf(out, size, loc.offset ? "%s+0x%" PRIx64 : "%s", name, loc.offset);
	return true;
}

/* A function's name, in whole but where it is of no use to anybody. */
static void put_name(struct text *t, const char *name)
{
	size_t len = function_name_written(name),
	       keep = len <= NAME_MAX_COLUMNS ? len : NAME_MAX_COLUMNS;

	while (keep < len && keep && ((unsigned char)name[keep] & 0xc0) == 0x80)
		keep--; /* not in the midst of a character */
	bt_escape(&t->buf, slice_of(name, keep), t->utf8);
	if (keep < len)
		text_printf(t, "...");
}

void text_place(struct text *t, const struct location *loc, bool brief)
{
	char name[NAME_BRIEF_MAX];

	if (*loc->function) {
		if (brief)
			text_brief_name(name, sizeof name, loc->function);
		put_name(t, brief ? name : loc->function);
		if (loc->offset)
			text_printf(t, "+0x%" PRIx64, loc->offset);
	} else if (loc->in_file) {
		text_outside(t, text_basename(loc->module));
		text_printf(t, "+0x%" PRIx64, loc->vaddr);
	} else {
		text_printf(t, "0x%" PRIx64, loc->addr);
		if (*loc->module) {
			text_printf(t, " ");
			text_outside(t, loc->module);
		}
	}
}

void text_line(struct text *t, const char *file, int line, bool full)
{
	if (!*file)
		return;
	text_printf(t, " ");
	text_outside(t, full ? file : text_basename(file));
	if (line)
		text_printf(t, ":%d", line);
}

/* The name, or its brief form where a line would have no room for it and a place. */
static const char *fitting_name(const struct text *t, const char *name, char brief[NAME_BRIEF_MAX])
{
	if (!t->width || strlen(name) + PLACE_ROOM <= t->width)
		return name;
	text_brief_name(brief, NAME_BRIEF_MAX, name);
	return brief;
}

/* The length of a name without the types of its parameters. */
static size_t bare_length(const char *name)
{
	static const char const_member[] = " const";
	size_t written = function_name_written(name), n = written, depth = 0;

	if (n > sizeof const_member &&
	    !strncmp(name + n - (sizeof const_member - 1), const_member, sizeof const_member - 1))
		n -= sizeof const_member - 1;
	if (!n || name[n - 1] != ')')
		return written;
	for (size_t i = n; i-- > 1;) {
		depth += name[i] == ')';
		if (name[i] == '(' && !--depth)
			return i;
	}
	return written;
}

/* Puts the arguments of a part with its name before them. */
static bool put_called(struct text *t, const char *name, size_t part,
		       bool (*put)(void *arg, struct text *t, size_t part), void *arg)
{
	size_t begin = t->buf.len;
	char *bare = put ? strndup(name, bare_length(name)) : NULL;
	bool any = false;

	if (bare && *bare) {
		put_name(t, bare);
		any = put(arg, t, part);
	}
	free(bare);
	if (!any)
		t->buf.len = begin;
	return any;
}

void text_frame_arguments(struct text *t, const struct location *loc, unsigned indent, bool full,
			  bool (*put)(void *arg, struct text *t, size_t part), void *arg)
{
	const char *file = loc->file;
	int line = loc->line;
	char brief[NAME_BRIEF_MAX];
	const char *name;

	for (size_t i = 0; i < loc->inlined_count; i++) {
		name = *loc->inlined[i].function ? loc->inlined[i].function : "?";

		name = fitting_name(t, name, brief);
		if (!put_called(t, name, i, put, arg))
			put_name(t, name);
		text_line(t, file, line, full);
		text_printf(t, ", inlined into\n%*s", (int)indent, "");
		file = loc->inlined[i].file;
		line = loc->inlined[i].line;
	}
	name = fitting_name(t, loc->function, brief);
	if (!put_called(t, name, loc->inlined_count, put, arg))
		text_place(t, loc, name == brief);
	text_line(t, file, line, full);
	if (*loc->module && *loc->function && (full || !*file)) {
		text_printf(t, " in ");
		text_outside(t, text_basename(loc->module));
	}
}

void text_frame(struct text *t, const struct location *loc, unsigned indent, bool full)
{
	text_frame_arguments(t, loc, indent, full, NULL, NULL);
}

size_t text_width(const struct text *t, size_t from)
{
	size_t width = 0;

	for (size_t i = from; i < t->buf.len; i++)
		width += (t->buf.data[i] & 0xc0) != 0x80 && t->buf.data[i] >= TEXT_MARKS;
	return width;
}

void text_pad(struct text *t, size_t from, size_t width)
{
	for (size_t have = text_width(t, from); have < width; have++)
		buf_u8(&t->buf, ' ');
}
