/* SPDX-License-Identifier: MIT */
/* Models and histories of traces made in memory, for tests of their readers. */
#ifndef BT_MODEL_MAKER_H
#define BT_MODEL_MAKER_H

#include "decoder/model/history.h"
#include "tests/unit/trace_maker.h"

/* The model of the trace made; k's bytes must live as long as it. */
static inline struct model *maker_load(struct maker *k)
{
	struct trace *t = maker_open(k);
	struct model *m = NULL;
	struct bt_error err;

	if (model_load(&m, t, &err))
		fail_msg("%s", err.text);
	return m;
}

/* A trace being made, and its model and history: a test's state, ready for records when the test
 * begins. */
struct made {
	struct maker k;
	struct model *m;
	struct history h;
};

static inline int made_setup(void **state)
{
	struct made *t = calloc(1, sizeof *t);

	if (!t)
		return -1;
	maker_init(&t->k);
	*state = t;
	return 0;
}

/* For another trace in the same test. */
static inline void made_clear(struct made *t)
{
	history_release(&t->h);
	model_free(t->m);
	maker_release(&t->k);
	t->m = NULL;
	maker_init(&t->k);
}

static inline int made_teardown(void **state)
{
	struct made *t = *state;

	made_clear(t);
	maker_release(&t->k);
	free(t);
	return 0;
}

#define MADE_TEST(test) cmocka_unit_test_setup_teardown(test, made_setup, made_teardown)

/* Loads the model; the trace takes no more records. */
static inline void made_load(struct made *t) { t->m = maker_load(&t->k); }

/* Loads the model and the history of a task. */
static inline void made_history(struct made *t, uint32_t task)
{
	struct bt_error err;

	made_load(t);
	if (history_load(&t->h, t->m, task, &err))
		fail_msg("%s", err.text);
}

#endif
