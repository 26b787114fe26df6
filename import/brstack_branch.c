/* SPDX-License-Identifier: MIT */
#include "import/brstack_branch.h"

#include <string.h>

#include "import/text_cursor.h"
#include "lib/array_size.h"

enum {
	FILE_NAME_MAX = 4096 + 32, /* PATH_MAX, and +0xOFFSET of the field dsoff */
	FLAGS_MAX_LEN = 256,       /* of a branch: events, cycles and names */
	TYPE_EXTENDED = 15,
	NEW_TYPE_SHIFT = 26,
};

static bool is_prediction(uint8_t c) { return c == 'P' || c == 'M' || c == '-'; }

/* Whether an address, or an event and a slash, follows the slash behind a file's name, as perf
 * prints it. */
static bool is_end_of_name(struct slice behind, bool address)
{
	if (address)
		return behind.len > 2 && behind.at[0] == '0' && behind.at[1] == 'x';
	return (behind.len > 1 && is_prediction(behind.at[0]) && behind.at[1] == '/') ||
	       (behind.len > 2 && is_prediction(behind.at[0]) && behind.at[1] == 'N' &&
		behind.at[2] == '/');
}

/* Takes (FILE)/ if there is one, else the slash. Names hold blanks, brackets and slashes: the
 * file's name ends before a text that must follow one. */
static bool take_file(struct slice *in, bool address, struct slice *file)
{
	struct slice rest = *in, name;

	*file = (struct slice){0};

	text_take_char(&rest, ' ');
	if (!text_take_char(&rest, '('))
		return text_take_char(in, '/');
	name = rest;
	if (name.len > FILE_NAME_MAX)
		name.len = FILE_NAME_MAX;
	while (name.len) {
		const uint8_t *end = memchr(name.at, ')', name.len);
		struct slice behind = rest;

		if (!end)
			return false;
		slice_take(&name, (size_t)(end - name.at) + 1);
		slice_take(&behind, (size_t)(end - rest.at) + 1);
		if (text_take_char(&behind, '/') && is_end_of_name(behind, address)) {
			*file = slice_of(rest.at, (size_t)(end - rest.at));
			*in = behind;
			return true;
		}
	}
	return false;
}

static bool take_address(struct slice *in, uint64_t *out)
{
	return text_take_char(in, '0') && text_take_char(in, 'x') && text_take_number(in, 16, out);
}

static bool take_from(struct slice *in, uint64_t *from, struct slice *file)
{
	return take_address(in, from) && take_file(in, true, file) && in->len > 2 &&
	       in->at[0] == '0' && in->at[1] == 'x';
}

bool brstack_branch_begins(struct slice text)
{
	struct slice file;
	uint64_t from;

	return take_from(&text, &from, &file);
}

/* The text up to the next slash, which is taken too. */
static struct slice take_field(struct slice *in)
{
	const uint8_t *end = in->len ? memchr(in->at, '/', in->len) : NULL;
	struct slice field = slice_take(in, end ? (size_t)(end - in->at) : in->len);

	if (end)
		slice_take(in, 1);
	return field;
}

static bool has_char(struct slice field, char c)
{
	return field.len && memchr(field.at, c, field.len);
}

/* One of the characters, or a dash for none. */
static bool is_flag(struct slice field, const char *set)
{
	if (slice_is(field, "-"))
		return true;
	for (size_t i = 0; i < field.len; i++)
		if (!memchr(set, field.at[i], strlen(set)))
			return false;
	return field.len;
}

/* Empty: perf before 4.3 prints none. */
static bool take_cycles(struct slice *in, uint64_t *cycles)
{
	struct slice field = take_field(in);

	*cycles = 0;
	return !field.len || slice_is(field, "-") ||
	       (text_take_number(&field, 10, cycles) && !field.len && *cycles <= UINT16_MAX);
}

/* Names of tools/perf/util/branch.c, by the bits that they stand for. Others are of later versions,
 * and leave the type open. */
static uint64_t type_flags(struct slice name)
{
	static const char *const types[] = {"",         "COND", "UNCOND",  "IND",    "CALL",
					    "IND_CALL", "RET",  "SYSCALL", "SYSRET", "COND_CALL",
					    "COND_RET", "ERET", "IRQ",     "SERROR", "NO_TX"};
	static const char *const more[] = {
		"FAULT_ALGN",      "FAULT_DATA",       "FAULT_INST",       "ARCH_1",
		"ARCH_2",          "ARCH_3",           "ARCH_4",           "ARCH_5",
		"ARM64_FIQ",       "ARM64_DEBUG_HALT", "ARM64_DEBUG_EXIT", "ARM64_DEBUG_INST",
		"ARM64_DEBUG_DATA"};
	enum { ARCH_1 = 3, ARM64_FIQ = 8 }; /* the second set is Arm's ARCH_1 to ARCH_5 */

	for (uint64_t i = 1; i < ARRAY_SIZE(types); i++)
		if (slice_is(name, types[i]))
			return i << IMPORT_TYPE_SHIFT;
	for (uint64_t i = 0; i < ARRAY_SIZE(more); i++)
		if (slice_is(name, more[i]))
			return (uint64_t)TYPE_EXTENDED << IMPORT_TYPE_SHIFT |
			       (i < ARM64_FIQ ? i : i - ARM64_FIQ + ARCH_1) << NEW_TYPE_SHIFT;
	return 0;
}

static uint64_t speculation_flags(struct slice name)
{
	static const char *const specs[] = {"", "SPEC_WRONG_PATH", "NON_SPEC_CORRECT_PATH",
					    "SPEC_CORRECT_PATH"};

	for (uint64_t i = 1; i < ARRAY_SIZE(specs); i++)
		if (slice_is(name, specs[i]))
			return i << IMPORT_SPEC_SHIFT;
	return 0;
}

/* A word that is too long is refused before it is read to its end: it is tried at every slash of a
 * line. */
static bool take_flags(struct slice *in, uint64_t *flags, bool *taken)
{
	struct slice window = slice_of(in->at, in->len < FLAGS_MAX_LEN ? in->len : FLAGS_MAX_LEN),
		     word = text_take_word(&window);
	struct slice event, in_tx, aborted;
	uint64_t cycles;

	if (word.len == FLAGS_MAX_LEN)
		return false;
	slice_take(in, (size_t)(window.at - in->at));
	event = take_field(&word);
	in_tx = take_field(&word);
	aborted = take_field(&word);
	if (!is_flag(event, "PMN") || !is_flag(in_tx, "X") || !is_flag(aborted, "A") ||
	    !take_cycles(&word, &cycles))
		return false;
	*taken = !has_char(event, 'N');
	*flags = has_char(event, 'P')   ? IMPORT_PREDICTED
		 : has_char(event, 'M') ? IMPORT_MISPREDICTED
					: 0;
	*flags |= has_char(in_tx, 'X') ? IMPORT_IN_TX : 0;
	*flags |= has_char(aborted, 'A') ? IMPORT_ABORT : 0;
	*flags |= cycles << IMPORT_CYCLES_SHIFT;
	*flags |= type_flags(take_field(&word));
	*flags |= speculation_flags(take_field(&word));
	return true;
}

bool brstack_branch_take(struct slice *text, struct brstack_branch *b)
{
	struct slice in = *text, file;
	struct import_branch *e = &b->entry;

	*b = (struct brstack_branch){.taken = true};
	if (!take_from(&in, &e->from, &b->file) || !take_address(&in, &e->to) ||
	    !take_file(&in, false, &file) || !take_flags(&in, &e->flags, &b->taken))
		return false;
	*text = in;
	return true;
}

size_t brstack_branch_find(struct slice line)
{
	for (size_t i = 0; i + 1 < line.len; i++) {
		const uint8_t *at = memchr(line.at + i, '0', line.len - i - 1);
		struct slice rest = line;

		if (!at)
			break;
		i = (size_t)(at - line.at);
		slice_take(&rest, i);
		if (at[1] == 'x' && (!i || text_is_blank(at[-1])) && brstack_branch_begins(rest))
			return i;
	}
	return line.len;
}

bool brstack_flags_stand_in(struct slice line)
{
	for (size_t i = 0; i + 6 < line.len; i++) {
		const uint8_t *at = memchr(line.at + i, '/', line.len - i - 6);
		struct slice rest = line;
		uint64_t flags;
		bool taken;

		if (!at)
			break;
		i = (size_t)(at - line.at);
		slice_take(&rest, i + 1);
		if (is_end_of_name(rest, false) && take_flags(&rest, &flags, &taken))
			return true;
	}
	return false;
}
