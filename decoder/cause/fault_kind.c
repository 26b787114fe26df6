/* SPDX-License-Identifier: MIT */
/* The kind of a failure in a few words, for signatures: the same for every build of the program.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "decoder/cause/fault_private.h"
#include "lib/array_size.h"
#include "lib/page.h"

void fault_set_kind(struct fault_context *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->f->kind, sizeof c->f->kind, fmt, ap);
	va_end(ap);
}

/* Memory that allows no access is one with memory that is not mapped: which of them lies behind an
 * array is chance. */
void fault_set_access_kind(struct fault_context *c, uint64_t addr, unsigned access)
{
	const struct space_map *map = fault_map(c, addr);
	bool readable = map && map->prot & BT_PROT_READ,
	     writable = map && map->prot & BT_PROT_WRITE;

	if (addr < NEAR_NULL)
		fault_set_kind(c, "null pointer");
	else if (readable && !writable && (!access || access & DISASM_WRITE))
		fault_set_kind(c, "read-only memory");
	else
		fault_set_kind(c, "wild pointer");
}

/* Between the first of `begin` and the next of `end`, on one line. False: not there. */
static bool find_between(struct slice text, const char *begin, const char *end, struct slice *found)
{
	const uint8_t *at = memmem(text.at, text.len, begin, strlen(begin)), *stop;
	size_t room;

	if (!at)
		return false;
	at += strlen(begin);
	room = text.len - (size_t)(at - text.at);
	stop = memchr(at, '\n', room);
	if (stop)
		room = (size_t)(stop - at);
	stop = memmem(at, room, end, strlen(end));
	*found = slice_of(at, stop ? (size_t)(stop - at) : room);
	return found->len;
}

static int shown_length(struct slice s)
{
	return (int)(s.len < FAULT_KIND_MAX ? s.len : FAULT_KIND_MAX);
}

/* Parts of glibc's messages. Its own functions have names only where its symbols are installed, and
 * a kind must not depend on that. */
static const struct {
	const char *part, *kind;
} messages[] = {
	{"stack smashing", "stack smashing"},
	{"buffer overflow", "buffer overflow"},
	{"free", "corrupt heap"}, /* free(), double free, tcache_free */
	{"alloc", "corrupt heap"},
	{"chunk", "corrupt heap"},
	{"tcache", "corrupt heap"},
	{"fastbin", "corrupt heap"},
	{"corrupted", "corrupt heap"}, /* size vs. prev_size, double-linked list */
};

/* "prog: file.c:12: f: Assertion `n > 0' failed." of glibc. */
void fault_set_message_kind(struct fault_context *c)
{
	struct slice message = slice_of(c->f->message, strlen(c->f->message)), what;

	if (find_between(message, "Assertion `", "' failed", &what)) {
		fault_set_kind(c, "assertion %.*s", shown_length(what), (const char *)what.at);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++)
		if (strstr(c->f->message, messages[i].part)) {
			fault_set_kind(c, "%s", messages[i].kind);
			return;
		}
}

/* Lines that runtimes write to standard error before they end the program. */
static const struct {
	const char *begin, *end, *words;
} last_words_rows[] = {
	{"after throwing an instance of '", "'", "uncaught"}, /* libstdc++ */
	{"uncaught exception of type ", ": ", "uncaught"},    /* libc++abi */
	{"SUMMARY: AddressSanitizer: ", " ", "AddressSanitizer"},
	{"SUMMARY: ThreadSanitizer: ", "\n", "ThreadSanitizer"},
	{"SUMMARY: MemorySanitizer: ", " ", "MemorySanitizer"},
	{"SUMMARY: UndefinedBehaviorSanitizer: ", " ", "UndefinedBehaviorSanitizer"},
};

/* The part before a place: "data race /src/x.c:15 in f", "data race (app+0x12) in f". */
static struct slice without_place(struct slice what)
{
	for (size_t i = 0; i + 1 < what.len; i++)
		if (what.at[i] == ' ' && (what.at[i + 1] == '(' || what.at[i + 1] == '/'))
			return slice_of(what.at, i);
	return what;
}

/* Go's runtime says at once which error of its own it is. */
static void set_go_kind(struct fault_context *c, const struct bt_record_last_words *words)
{
	static const char plain[] = "Go runtime error", error[] = "fatal error: ";
	struct slice what;

	if (strcmp(c->f->kind, plain) != 0 || (!find_between(words->first, error, "\n", &what) &&
					       !find_between(words->text, error, "\n", &what)))
		return;
	if (what.at[what.len - 1] == '!') /* deadlock! */
		what.len--;
	fault_set_kind(c, "%s: %.*s", plain, shown_length(what), (const char *)what.at);
	*c->f->brief = '\0';
	fault_brief(c, "%s", c->f->kind);
}

void fault_set_words_kind(struct fault_context *c)
{
	const struct bt_record_last_words *words = c->snap->last_words;
	struct slice what;

	if (words)
		set_go_kind(c, words);
	for (size_t i = 0; words && i < ARRAY_SIZE(last_words_rows); i++)
		if (find_between(words->text, last_words_rows[i].begin, last_words_rows[i].end,
				 &what)) {
			what = without_place(what);
			/* "32 byte(s) leaked in 1 allocation(s)" */
			if (isdigit(*what.at))
				what = bt_str("leak");
			fault_set_kind(c, "%s %.*s", last_words_rows[i].words, shown_length(what),
				       (const char *)what.at);
			return;
		}
}
