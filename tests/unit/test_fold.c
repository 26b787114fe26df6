/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "decoder/cause/fold.h"

enum { MAX = 4096 };

static const struct fold_options all_loops = {.stop = SIZE_MAX, .loops = true};

/* A history from letters: equal letters are equal branches; '-' is a gap. */
static struct history history_of(const char *letters, struct history_entry entries[MAX])
{
	size_t n = strlen(letters);

	assert_true(n <= MAX);
	for (size_t i = 0; i < n; i++)
		entries[i] = (struct history_entry){.number = i,
						    .tick = i,
						    .from = (uint64_t)letters[i] * 16,
						    .to = (uint64_t)letters[i] * 32,
						    .kind = letters[i] == '-' ? BT_BRANCH_GAP
									      : BT_BRANCH_JCC,
						    .flags = BT_BRANCH_TAKEN};
	return (struct history){.entries = entries, .count = n};
}

/* The lines as text: an entry is its letter, a heading "3(", the end of a nesting ")", the stop
 * line "!". */
static void assert_folds(const char *letters, size_t stop, bool loops, const char *want)
{
	static struct history_entry entries[MAX];
	struct history h = history_of(letters, entries);
	const struct fold_options o = {.stop = stop, .loops = loops};
	struct fold f;
	static char got[4 * MAX];
	char *p = got;
	unsigned nesting = 0;

	assert_int_equal(fold_init(&f, &h, &o, NULL), 0);
	for (size_t i = 0; i < f.count; i++) {
		const struct fold_line *l = &f.lines[i];

		for (; nesting > l->nesting; nesting--)
			*p++ = ')';
		nesting = l->nesting;
		if (l->kind == FOLD_LOOP) {
			p += sprintf(p, "%u(", l->count);
			nesting++;
		} else {
			*p++ = l->kind == FOLD_STOP ? '!' : letters[l->entry];
		}
	}
	while (nesting--)
		*p++ = ')';
	*p = '\0';
	assert_string_equal(got, want);
	fold_release(&f);
}

static void what_does_not_repeat_is_left_alone(void **state)
{
	(void)state;
	assert_folds("", SIZE_MAX, true, "");
	assert_folds("abcabd", SIZE_MAX, true, "abcabd");
	assert_folds("abab", SIZE_MAX, true, "abab");
}

static void rounds_are_folded(void **state)
{
	(void)state;
	assert_folds("xaaay", SIZE_MAX, true, "x3(a)y");
	assert_folds("xabababay", SIZE_MAX, true, "x3(ab)ay");
	assert_folds("abcabcabcabc", SIZE_MAX, true, "4(abc)");
}

static void not_when_folding_is_off(void **state)
{
	(void)state;
	assert_folds("xaaay", SIZE_MAX, false, "xaaay");
}

static void loops_in_loops_are_folded(void **state)
{
	(void)state;
	assert_folds("aaabaaabaaabc", SIZE_MAX, true, "3(3(a)b)c");
}

static void an_outer_loop_is_seen_though_its_inner_rounds_differ(void **state)
{
	(void)state;
	assert_folds("aaabaaaabaaaaab", SIZE_MAX, true, "3(5(a)b)");
}

static void missing_branches_are_no_round(void **state)
{
	(void)state;
	assert_folds("----", SIZE_MAX, true, "----");
	assert_folds("aa-aa", SIZE_MAX, true, "aa-aa");
}

static void the_stop_stands_between_entries_and_is_never_folded(void **state)
{
	(void)state;
	assert_folds("ab", 0, true, "!ab");
	assert_folds("ab", 1, true, "a!b");
	assert_folds("ab", 2, true, "ab!");
	assert_folds("aaaaaa", 3, true, "3(a)!3(a)");
	assert_folds("", 0, true, "!");
}

static void an_entry_is_found_by_its_line_or_its_heading(void **state)
{
	static struct history_entry entries[MAX];
	struct history h = history_of("xabababy", entries);
	const struct fold_options o = {.stop = 8, .loops = true};
	struct fold f;

	(void)state;
	assert_int_equal(fold_init(&f, &h, &o, NULL), 0); /* x 3( a b ) y ! */
	assert_int_equal(f.count, 6);
	assert_int_equal(fold_line_of(&f, 0), 0);
	assert_int_equal(fold_line_of(&f, 1), 1);
	assert_int_equal(fold_line_of(&f, 4), 1);
	assert_int_equal(fold_line_of(&f, 5), 2);
	assert_int_equal(fold_line_of(&f, 6), 3);
	assert_int_equal(fold_line_of(&f, 7), 4);
	assert_int_equal(fold_line_of(&f, 8), 5);
	fold_release(&f);
}

/* Unfolding a line shows what was executed: every entry that shows is one of the history, in order,
 * and a heading's rounds account for those that do not. */
static void random_histories_keep_their_order(void **state)
{
	uint64_t seed = 11;

	(void)state;
	for (int round = 0; round < 300; round++) {
		static struct history_entry entries[MAX];
		char letters[400];
		struct history h;
		struct fold f;
		size_t n = unit_random(&seed) % sizeof letters;

		for (size_t i = 0; i < n; i++)
			letters[i] = "ab"[unit_random(&seed) % 4 == 0];
		letters[n ? n - 1 : 0] = '\0';
		h = history_of(letters, entries);
		assert_int_equal(fold_init(&f, &h, &all_loops, NULL), 0);
		for (size_t i = 1; i < f.count; i++)
			assert_true(f.lines[i].entry >=
				    f.lines[i - 1].entry + (f.lines[i - 1].kind == FOLD_ENTRY));
		for (size_t i = 0; i < h.count; i++) {
			const struct fold_line *l = &f.lines[fold_line_of(&f, i)];

			assert_true(l->entry == i || (l->kind == FOLD_LOOP && l->entry < i));
		}
		fold_release(&f);
	}
}

/* Folds libraries: 'c' calls from the user's own code into a library, 'r' returns to behind that
 * call, 'w' returns to elsewhere, 'k' calls back, 'l' stays in the library, others are the user's
 * own; '-' is a gap. In library code that is inlined 'I' jumps, 'C' calls into a library, 'R'
 * returns from there, 'K' calls the user's own. A library's run shows as "[n]", a call with its
 * return as "(n)". */
static void assert_libraries_fold(const char *letters, size_t stop, const char *want)
{
	static struct history_entry entries[MAX];
	static uint8_t sides[MAX];
	struct history h = history_of(letters, entries);
	const struct fold_options o = {.stop = stop, .sides = sides, .loops = true};
	struct fold f;
	static char got[4 * MAX];
	char *p = got;

	for (size_t i = 0; i < h.count; i++) {
		struct history_entry *e = &entries[i];

		sides[i] = 0;
		switch (letters[i]) {
		case 'c':
			sides[i] = FOLD_TO_LIBRARY;
			e->kind = BT_BRANCH_CALL;
			break;
		case 'r':
		case 'w':
			sides[i] = FOLD_FROM_LIBRARY;
			e->kind = BT_BRANCH_RET;
			e->to = 'c' * 16 + (letters[i] == 'r' ? 5 : 16);
			break;
		case 'k':
			sides[i] = FOLD_FROM_LIBRARY;
			e->kind = BT_BRANCH_ICALL;
			break;
		case 'l':
			sides[i] = FOLD_FROM_LIBRARY | FOLD_TO_LIBRARY;
			break;
		case 'I':
			sides[i] = FOLD_FROM_INLINED;
			e->kind = BT_BRANCH_JCC;
			break;
		case 'C':
			sides[i] = FOLD_FROM_INLINED | FOLD_TO_LIBRARY;
			e->kind = BT_BRANCH_CALL;
			break;
		case 'R':
			sides[i] = FOLD_FROM_LIBRARY | FOLD_TO_INLINED;
			e->kind = BT_BRANCH_RET;
			break;
		case 'K':
			sides[i] = FOLD_FROM_INLINED;
			e->kind = BT_BRANCH_CALL;
			break;
		default:
			break;
		}
	}
	assert_int_equal(fold_init(&f, &h, &o, NULL), 0);
	for (size_t i = 0; i < f.count; i++) {
		const struct fold_line *l = &f.lines[i];

		if (l->kind == FOLD_LOOP)
			p += sprintf(p, "%ux", l->count);
		else if (l->kind == FOLD_LIBRARY)
			p += sprintf(p, l->inlined ? "{%u}" : "[%u]", l->count);
		else if (l->kind == FOLD_CALL)
			p += sprintf(p, "(%u)", l->count);
		else
			*p++ = l->kind == FOLD_STOP ? '!' : letters[l->entry];
	}
	*p = '\0';
	assert_string_equal(got, want);
	for (size_t i = 0; i < h.count; i++) {
		const struct fold_line *l = &f.lines[fold_line_of(&f, i)];

		assert_true(l->entry == i || l->kind == FOLD_LOOP ||
			    (l->entry < i && i <= l->entry + l->count));
	}
	fold_release(&f);
}

static void what_runs_in_libraries_is_one_line(void **state)
{
	(void)state;
	assert_libraries_fold("lllla", SIZE_MAX, "[4]a");
	assert_libraries_fold("al", SIZE_MAX, "a[1]");
	assert_libraries_fold("ll-ll", SIZE_MAX, "[2]-[2]");
}

static void a_call_into_a_library_and_its_return_are_one_line(void **state)
{
	(void)state;
	assert_libraries_fold("acllrb", SIZE_MAX, "a(3)b");
	assert_libraries_fold("acrb", SIZE_MAX, "a(1)b");
}

static void a_call_that_does_not_come_back_is_shown_as_it_went_on(void **state)
{
	(void)state;
	assert_libraries_fold("cll", SIZE_MAX, "c[2]");
	assert_libraries_fold("c", SIZE_MAX, "c");
	assert_libraries_fold("cllwb", SIZE_MAX, "c[2]wb");
	assert_libraries_fold("cl-lr", SIZE_MAX, "c[1]-[1]r");
}

static void calls_back_are_shown(void **state)
{
	(void)state;
	assert_libraries_fold("cllkaplr", SIZE_MAX, "c[2]kap[1]r");
}

static void a_loop_that_calls_a_library_is_a_loop(void **state)
{
	(void)state;
	assert_libraries_fold("aclrb"
			      "acllrb"
			      "acrb",
			      SIZE_MAX, "3xa(1)b");
}

static void a_library_is_cut_where_the_task_stood(void **state)
{
	(void)state;
	assert_libraries_fold("cllr", 2, "c[1]![1]r");
	assert_libraries_fold("cllr", 1, "c![2]r");
	assert_libraries_fold("cllr", 3, "c[2]!r");
	assert_libraries_fold("cllr", 4, "(3)!");
}

static void inlined_code_of_a_library_is_one_line(void **state)
{
	(void)state;
	assert_libraries_fold("aIIIb", SIZE_MAX, "a{3}b");
	assert_libraries_fold("aICllRIb", SIZE_MAX, "a{6}b");
	assert_libraries_fold("aIKaIb", SIZE_MAX, "a{1}Ka{1}b");
	assert_libraries_fold("acllrIb", SIZE_MAX, "a(3){1}b");
	assert_libraries_fold("aIIII", 3, "a{2}!{2}");
}

/* Each entry that is open has a line of its own: in a loop, which is cut there, and in libraries.
 * One that is left out has none. */
static void marked_entries_have_lines_or_none(void **state)
{
	static struct history_entry entries[MAX];
	struct history h = history_of("abababababab", entries);
	uint8_t marks[12] = {0}, sides[12];
	struct fold_options o = {.stop = SIZE_MAX, .marks = marks, .loops = true};
	struct fold f;

	(void)state;
	marks[5] = FOLD_OPEN;
	assert_int_equal(fold_init(&f, &h, &o, NULL), 0);
	assert_int_equal(f.lines[fold_line_of(&f, 5)].kind, FOLD_ENTRY);
	assert_int_equal(f.lines[fold_line_of(&f, 5)].entry, 5);
	assert_int_equal(f.lines[fold_line_of(&f, 5)].nesting, 0);
	assert_int_equal(f.lines[fold_line_of(&f, 8)].kind, FOLD_LOOP);
	fold_release(&f);

	memset(sides, FOLD_FROM_LIBRARY | FOLD_TO_LIBRARY, sizeof sides);
	o.sides = sides;
	assert_int_equal(fold_init(&f, &h, &o, NULL), 0);
	assert_int_equal(f.count, 3); /* 5 in a library, the open one, 6 in a library */
	assert_int_equal(f.lines[1].kind, FOLD_ENTRY);
	assert_int_equal(f.lines[1].entry, 5);
	fold_release(&f);

	memset(marks, FOLD_LEFT_OUT, sizeof marks);
	marks[3] = marks[4] = 0;
	o.sides = NULL;
	assert_int_equal(fold_init(&f, &h, &o, NULL), 0);
	assert_int_equal(f.count, 2);
	assert_int_equal(f.lines[0].entry, 3);
	assert_int_equal(f.lines[1].entry, 4);
	fold_release(&f);
}

/* Who waits for some questions, and then stops it. */
static bool is_patient(void *arg, size_t done, size_t total)
{
	size_t *left = arg;

	assert_true(done <= total);
	return *left && (*left)--;
}

static void what_is_stopped_has_no_lines(void **state)
{
	enum { COUNT = 3 * 4096 };
	static struct history_entry e[COUNT];
	struct history h = {.entries = e, .count = COUNT};
	size_t left;
	const struct history_watch watch = {.goes_on = is_patient, .arg = &left};
	struct fold_options o = {.stop = SIZE_MAX, .loops = true, .watch = &watch};
	struct fold f;

	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		e[i] = (struct history_entry){
			.number = i, .from = i % 7, .to = i, .kind = BT_BRANCH_JMP};
	/* Once for each of its entries, then for the loops among them. */
	for (size_t n = 0; n < 6; n++) {
		left = n;
		assert_int_equal(fold_init(&f, &h, &o, NULL), 1);
		assert_null(f.lines);
		assert_int_equal(f.count, 0);
	}
	left = SIZE_MAX;
	assert_int_equal(fold_init(&f, &h, &o, NULL), 0);
	assert_int_equal(f.count, COUNT);
	fold_release(&f);
}

static void marks_that_are_ignored_count_for_nothing(void **state)
{
	struct history_entry e[2] = {{.from = 1, .kind = BT_BRANCH_JMP},
				     {.from = 2, .kind = BT_BRANCH_JMP}};
	struct history h = {.entries = e, .count = 2};
	const uint8_t marks[] = {FOLD_LEFT_OUT | FOLD_OPEN, 0};
	struct fold_options o = {.stop = SIZE_MAX, .marks = marks, .ignored = FOLD_OPEN};
	struct fold f;

	(void)state;
	assert_int_equal(fold_init(&f, &h, &o, NULL), 0);
	assert_int_equal(f.count, 1);
	fold_release(&f);
	o.ignored = FOLD_LEFT_OUT;
	assert_int_equal(fold_init(&f, &h, &o, NULL), 0);
	assert_int_equal(f.count, 2);
	fold_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_does_not_repeat_is_left_alone),
		cmocka_unit_test(rounds_are_folded),
		cmocka_unit_test(not_when_folding_is_off),
		cmocka_unit_test(loops_in_loops_are_folded),
		cmocka_unit_test(an_outer_loop_is_seen_though_its_inner_rounds_differ),
		cmocka_unit_test(missing_branches_are_no_round),
		cmocka_unit_test(the_stop_stands_between_entries_and_is_never_folded),
		cmocka_unit_test(an_entry_is_found_by_its_line_or_its_heading),
		cmocka_unit_test(random_histories_keep_their_order),
		cmocka_unit_test(what_runs_in_libraries_is_one_line),
		cmocka_unit_test(a_call_into_a_library_and_its_return_are_one_line),
		cmocka_unit_test(a_call_that_does_not_come_back_is_shown_as_it_went_on),
		cmocka_unit_test(calls_back_are_shown),
		cmocka_unit_test(a_loop_that_calls_a_library_is_a_loop),
		cmocka_unit_test(inlined_code_of_a_library_is_one_line),
		cmocka_unit_test(a_library_is_cut_where_the_task_stood),
		cmocka_unit_test(marked_entries_have_lines_or_none),
		cmocka_unit_test(what_is_stopped_has_no_lines),
		cmocka_unit_test(marks_that_are_ignored_count_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
