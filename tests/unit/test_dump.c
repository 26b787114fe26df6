/* SPDX-License-Identifier: MIT */
#include "decoder/model/dump.h"

#include <stdio.h>

#include "tests/unit/model_maker.h"
#include "tests/unit/unit.h"

/* The text of a dump of what was made; free() it. */
static char *dump_of(struct maker *k, bool entries, size_t *damage)
{
	struct model *m = maker_load(k);
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	*damage = trace_dump(to, m->trace, entries);
	fclose(to);
	model_free(m);
	return text;
}

static char *dump(struct maker *k, size_t *damage) { return dump_of(k, true, damage); }

static void expect(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

static void every_record_and_entry_has_a_line(void **state)
{
	static const struct bt_branch b[] = {
		{.kind = BT_BRANCH_GAP, .from = 12, .to = BT_GAP_NOT_KEPT},
		{.kind = BT_BRANCH_JCC,
		 .from = 0x401000,
		 .to = 0x401002,
		 .flags = BT_BRANCH_PREDICTION_KNOWN | BT_BRANCH_MISPREDICTED},
		{.kind = BT_BRANCH_CALL,
		 .from = 0x401002,
		 .to = 0x402000,
		 .flags = BT_BRANCH_TAKEN,
		 .cycles = 9},
		{.kind = BT_BRANCH_EPOCH, .from = 3, .to = 4},
	};
	struct maker k;
	size_t damage;
	char *text;
	(void)state;

	maker_init(&k);
	maker_add(&k, 2, NOTE, note, .task = 7, .text = bt_str("with \x1b[31m in it"));
	maker_flush(&k, MAKER_EVENTS);
	maker_add(&k, 0, END, end, .status = 3);
	maker_branches(&k, (struct bt_record_branches){.task = 1, .first = 100}, b, 4);
	text = dump(&k, &damage);
	assert_int_equal(damage, 0);
	expect(text, "file events, ");
	expect(text, "HEADER started=");
	expect(text,
	       "\nUNIT unit=2\nNOTE seq=0x1 time=0x0 task=7 text=\"with \\x1b[31m in it\"\n"
	       "block begins: unit 0\nEND seq=0x2 time=0x0 kind=0 status=3 code_left_out=0\n");
	expect(text, "\n  100 gap missing=12 reason=not-kept\n");
	expect(text, "\n  101 jcc 0x401000 -> 0x401002 not taken mispredicted\n");
	expect(text, "\n  102 call 0x401002 -> 0x402000 cycles=9\n");
	expect(text, "\n  103 epoch space=3 epoch=4\n");
	assert_null(strchr(text, '\x1b'));
	free(text);
	maker_release(&k);
}

static void entries_are_read_also_where_they_are_left_out(void **state)
{
	static const struct bt_branch jump = {.kind = BT_BRANCH_JMP, .flags = BT_BRANCH_TAKEN};
	struct maker k;
	size_t damage;
	char *text;
	(void)state;

	maker_init(&k);
	maker_flush(&k, MAKER_EVENTS);
	maker_branches(&k, (struct bt_record_branches){.task = 1, .count = 1}, &jump, 1);
	maker_branches(&k, (struct bt_record_branches){.task = 1, .first = 1, .count = 3}, &jump,
		       1);
	text = dump_of(&k, false, &damage);
	expect(text, "\nBRANCHES ");
	assert_null(strstr(text, " jmp "));
	expect(text, "  damage: 1 of 3 entries can be read\n");
	assert_int_equal(damage, 1);
	free(text);
	maker_release(&k);
}

static void damage_is_a_line_with_its_offset(void **state)
{
	static const struct bt_branch jump = {.kind = BT_BRANCH_JMP, .flags = BT_BRANCH_TAKEN};
	char line[64];
	struct maker k;
	size_t damage, at;
	char *text;
	(void)state;

	maker_init(&k);
	maker_add(&k, 1, NOTE, note, .text = bt_str("lost"));
	at = maker_flush(&k, MAKER_EVENTS);
	k.files[MAKER_EVENTS].data[at + BT_BLOCK_HEADER_SIZE] ^= 1;
	maker_add(&k, 1, NOTE, note, .text = bt_str("found"));
	maker_flush(&k, MAKER_EVENTS);
	maker_add(&k, 1, NOTE, note, .text = bt_str("cut off"));
	maker_flush(&k, MAKER_EVENTS);
	k.files[MAKER_EVENTS].len -= 5;
	maker_branches(&k, (struct bt_record_branches){.task = 1, .count = 3}, &jump, 1);
	text = dump(&k, &damage);
	snprintf(line, sizeof line, "damage at byte %zu: ", at);
	expect(text, line);
	assert_null(strstr(text, "lost"));
	expect(text, "found");
	expect(text, "\ntorn at byte ");
	expect(text, "  damage: 1 of 3 entries can be read\n");
	/* The block, the ordinal that is missed behind it, the chunk. */
	assert_int_equal(damage, 3);
	free(text);
	maker_release(&k);
}

/* END is written last: what is cut then was whole. */
static void a_cut_file_of_a_closed_trace_is_damage(void **state)
{
	static const struct bt_branch jump = {.kind = BT_BRANCH_JMP, .flags = BT_BRANCH_TAKEN};
	size_t damage;
	char *text;
	(void)state;

	for (size_t closed = 0; closed < 2; closed++) {
		struct maker k;

		maker_init(&k);
		maker_add(&k, 1, NOTE, note, .text = bt_str("here"));
		if (closed)
			maker_add(&k, 0, END, end, .status = 0);
		maker_flush(&k, MAKER_EVENTS);
		maker_branches(&k, (struct bt_record_branches){.task = 1, .count = 1}, &jump, 1);
		maker_flush(&k, MAKER_BRANCHES + 1);
		k.files[MAKER_BRANCHES + 1].len -= 5;
		text = dump(&k, &damage);
		expect(text, closed ? "\ndamage at byte " : "\ntorn at byte ");
		assert_int_equal(damage, closed);
		free(text);
		maker_release(&k);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_record_and_entry_has_a_line),
		cmocka_unit_test(entries_are_read_also_where_they_are_left_out),
		cmocka_unit_test(damage_is_a_line_with_its_offset),
		cmocka_unit_test(a_cut_file_of_a_closed_trace_is_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
