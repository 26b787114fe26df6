/* SPDX-License-Identifier: MIT */
/* The model and the history when memory runs out, at every single place where it can. Linked with
 * --wrap, so that each allocation goes through here. */
#include "decoder/model/history.h"

#include "tests/unit/model_maker.h"
#include "tests/unit/scarce_memory.h"
#include "tests/unit/unit.h"

static void make(struct maker *k)
{
	static const struct bt_branch jump = {
		.from = 1, .to = 2, .kind = BT_BRANCH_JMP, .flags = BT_BRANCH_TAKEN};

	maker_init(k);
	k->seq = 1000;
	maker_add(k, 1, NOTE, note, .text = bt_str("not where it belongs"));
	k->seq = 1;
	maker_add(k, 0, TASK, task, .task = 1, .how = BT_TASK_INITIAL, .space = 1);
	maker_add(k, 0, EXEC, exec, .task = 1, .space = 1, .path = bt_str("/bin/app"));
	/* More than one block of live mappings, then a hole in their middle. */
	for (uint64_t i = 0; i < 400; i++)
		maker_add(k, 0, MAP, map, .space = 1, .epoch = 1, .start = i * 16,
			  .end = i * 16 + 16, .path = bt_str("a"));
	maker_add(k, 0, UNMAP, unmap, .space = 1, .epoch = 2, .start = 1000, .end = 2000);
	maker_code(k, 1, 1, 0, 0, "\x90", 1);
	maker_add(k, 0, SPACE, space, .space = 2, .parent = 1, .parent_epoch = 2);
	maker_add(k, 0, SNAPSHOT, snapshot, .snapshot = 1, .task = 1, .space = 1);
	maker_add(k, 0, THREAD, thread, .snapshot = 1, .task = 1);
	maker_add(k, 0, MEMORY, memory, .snapshot = 1, .space = 1, .bytes = bt_str("memory"));
	maker_add(k, 0, NOTE, note, .text = bt_str("a note"));
	for (uint64_t i = 100; i-- > 0;)
		maker_branches(k, (struct bt_record_branches){.task = 1, .first = i * 3}, &jump, 1);
	model_free(maker_load(k));
}

/* What was made, opened again; the model of it, or NULL. */
static struct model *load(const struct maker *k, struct bt_error *err)
{
	struct trace_file files[MAKER_FILES_MAX];
	struct trace *t;
	struct model *m;
	int rc;

	rc = trace_open_memory(&t, files, maker_files(k, files), err);
	if (!rc)
		rc = model_load(&m, t, err);
	assert_int_equal(rc, rc ? -(int)err->code : 0);
	return rc ? NULL : m;
}

static void every_failed_allocation_of_a_model_is_survived(void **state)
{
	struct model *whole, *m;
	struct bt_error err;
	struct maker k;
	long n;
	(void)state;

	make(&k);
	whole = load(&k, &err);
	assert_non_null(whole);
	for (n = 0;; n++) {
		bool ran_out;

		allocations_left = n;
		m = load(&k, &err);
		ran_out = !allocations_left;
		allocations_left = -1;
		if (m && !ran_out)
			break;
		/* It may have been the last allocation; nothing is called damaged. */
		assert_true(m ? !m->damage_count && m->events.count == whole->events.count
			      : err.code == BT_E_NO_MEMORY && *err.text);
		model_free(m);
	}
	assert_true(n > 30);
	assert_int_equal(m->events.count, whole->events.count);
	model_free(m);
	model_free(whole);
	maker_release(&k);
}

static void every_failed_allocation_of_a_history_is_survived(void **state)
{
	struct bt_error err;
	struct history h;
	struct model *m;
	struct maker k;
	long n;
	(void)state;

	make(&k);
	m = load(&k, &err);
	assert_non_null(m);
	for (n = 0;; n++) {
		int rc;

		allocations_left = n;
		rc = history_load(&h, m, 1, &err);
		allocations_left = -1;
		if (!rc && h.count == 199)
			break;
		if (rc)
			assert_int_equal(rc, -BT_E_NO_MEMORY);
		history_release(&h);
		assert_true(n < 1000);
	}
	history_release(&h);
	model_free(m);
	maker_release(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_failed_allocation_of_a_model_is_survived),
		cmocka_unit_test(every_failed_allocation_of_a_history_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
