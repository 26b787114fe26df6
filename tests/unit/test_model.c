/* SPDX-License-Identifier: MIT */
#include "decoder/model/model.h"

#include <stdio.h>
#include <time.h>
#include <zlib.h>

#include "lib/array_size.h"
#include "tests/unit/model_maker.h"
#include "tests/unit/unit.h"

static void events_of_all_units_are_in_order(void **state)
{
	struct made *t = *state;

	for (uint32_t i = 0; i < 30; i++) {
		uint32_t place = i * 7 % 30;

		t->k.seq = place + 1;
		maker_add(&t->k, place % 3, NOTE, note, .task = place, .text = bt_str("text"));
		if (i % 8 == 7)
			maker_flush(&t->k, MAKER_EVENTS);
	}
	made_load(t);
	assert_int_equal(t->m->events.count, 30);
	for (uint32_t i = 0; i < 30; i++) {
		assert_int_equal(t->m->events.at[i]->rec.u.note.task, i);
		assert_int_equal(t->m->events.at[i]->seq, i + 1);
		assert_int_equal(t->m->events.at[i]->unit, i % 3);
		assert_string_equal((const char *)t->m->events.at[i]->rec.u.note.text.at, "text");
	}
	assert_null(t->m->end);
	assert_int_equal(t->m->damage_count, 0);
}

static void an_empty_trace_is_a_model(void **state)
{
	struct made *t = *state;
	const struct space_map **maps;
	uint8_t byte;

	made_load(t);
	assert_int_equal(t->m->events.count + t->m->task_count + t->m->snapshot_count +
				 t->m->damage_count,
			 0);
	assert_null(model_final_snapshot(t->m));
	assert_null(model_task(t->m, 1));
	assert_null(trace_index_map_at(t->m->index, 1, 0, 0));
	assert_int_equal(trace_index_maps(t->m->index, 1, 0, &maps), 0);
	assert_int_equal(trace_index_code(t->m->index, 1, 0, 0x1000, &byte, 1), 0);
	free(maps);
}

static void code_without_its_bytes_is_damage(void **state)
{
	struct made *t = *state;
	uint8_t out[4];

	maker_add(&t->k, 0, CODE, code, .space = 1, .addr = 0x1000, .object = 99);
	made_load(t);
	assert_int_equal(trace_index_code(t->m->index, 1, 0, 0x1000, out, 4), 0);
	assert_int_equal(t->m->damage_count, 1);
	assert_false(t->m->damage[0].torn);
}

static void processes_know_what_they_ran_last(void **state)
{
	struct made *t = *state;

	maker_add(&t->k, 0, TASK, task, .task = 1, .how = BT_TASK_INITIAL, .space = 1, .pid = 10,
		  .tid = 10);
	maker_add(&t->k, 0, EXEC, exec, .task = 1, .space = 1, .path = bt_str("/bin/sh"));
	maker_add(&t->k, 0, TASK, task, .task = 9, .parent = 1, .how = BT_TASK_FORK, .space = 2,
		  .pid = 11, .tid = 11);
	maker_add(&t->k, 0, TASK, task, .task = 4, .parent = 9, .how = BT_TASK_THREAD, .space = 2,
		  .pid = 11, .tid = 12);
	maker_add(&t->k, 0, TASK, task, .task = 5, .parent = 1, .how = BT_TASK_VFORK, .space = 1,
		  .pid = 13, .tid = 13);
	maker_add(&t->k, 0, EXEC, exec, .task = 4, .space = 3, .path = bt_str("/usr/bin/worker"));
	maker_add(&t->k, 0, EXIT, exit, .task = 9, .kind = BT_EXIT_STATUS, .status = 3);
	maker_add(&t->k, 0, END, end, .kind = BT_EXIT_STATUS);
	made_load(t);
	assert_int_equal(t->m->task_count, 4);
	assert_string_equal(model_task(t->m, 1)->command, "sh");
	assert_string_equal(model_task(t->m, 9)->command, "worker");
	assert_string_equal(model_task(t->m, 4)->command, "worker");
	assert_string_equal(model_task(t->m, 5)->command, "sh");
	assert_null(model_task(t->m, 2));
	assert_int_equal(model_task(t->m, 9)->exit->status, 3);
	assert_null(model_task(t->m, 1)->exit);
	assert_non_null(t->m->end);
}

static void impossible_tasks_are_survived(void **state)
{
	struct made *t = *state;

	maker_add(&t->k, 0, TASK, task, .task = 3, .parent = 3, .how = BT_TASK_THREAD);
	maker_add(&t->k, 0, TASK, task, .task = 4, .parent = 5, .how = BT_TASK_THREAD);
	maker_add(&t->k, 0, TASK, task, .task = 5, .parent = 4, .how = BT_TASK_THREAD, .pid = 1);
	maker_add(&t->k, 0, TASK, task, .task = 5, .parent = 77, .how = 200, .pid = 2);
	maker_add(&t->k, 0, EXEC, exec, .task = 1000, .path = bt_str("x"));
	maker_add(&t->k, 0, EXIT, exit, .task = 1000);
	made_load(t);
	assert_int_equal(t->m->task_count, 3);
	assert_int_equal(model_task(t->m, 5)->pid, 1);
}

static void a_snapshot_has_its_own_thread_first_and_its_memory(void **state)
{
	struct made *t = *state;
	const struct model_snapshot *s;
	uint8_t out[16];

	maker_add(&t->k, 0, SIGNAL, signal, .task = 2, .signo = 11);
	maker_add(&t->k, 0, SNAPSHOT, snapshot, .snapshot = 1, .task = 2, .space = 1,
		  .kind = BT_SNAPSHOT_FAULT, .event = 1);
	maker_add(&t->k, 0, THREAD, thread, .snapshot = 1, .task = 1);
	maker_add(&t->k, 0, THREAD, thread, .snapshot = 1, .task = 2);
	maker_add(&t->k, 0, THREAD, thread, .snapshot = 2, .task = 7);
	maker_add(&t->k, 0, THREAD, thread, .snapshot = 1, .task = 3);
	maker_add(&t->k, 0, MEMORY, memory, .snapshot = 1, .space = 1, .addr = 0x1008,
		  .bytes = bt_str("89abcdef"));
	maker_add(&t->k, 0, MEMORY, memory, .snapshot = 1, .space = 1, .addr = 0x1000,
		  .bytes = bt_str("01234567"));
	maker_add(&t->k, 0, MEMORY, memory, .snapshot = 1, .space = 1, .addr = 0x1002,
		  .bytes = bt_str("23"));
	maker_add(&t->k, 0, MEMORY, memory, .snapshot = 1, .space = 2, .addr = 0x2000,
		  .bytes = bt_str("elsewhere"));
	maker_add(&t->k, 0, MEMORY, memory, .snapshot = 1, .space = 1, .addr = UINT64_MAX - 2,
		  .bytes = bt_str("around the end"));
	made_load(t);
	assert_int_equal(t->m->snapshot_count, 1);
	s = &t->m->snapshots[0];
	assert_ptr_equal(s, model_final_snapshot(t->m));
	assert_int_equal(s->signal->signo, 11);
	assert_int_equal(s->thread_count, 3);
	assert_int_equal(s->threads[0]->task, 2);
	assert_int_equal(s->threads[1]->task, 1);
	assert_int_equal(s->threads[2]->task, 3);
	assert_int_equal(model_memory(t->m, s, 0x1002, out, 12), 12);
	assert_memory_equal(out, "23456789abcd", 12);
	assert_int_equal(model_memory(t->m, s, 0x100e, out, 12), 2);
	assert_int_equal(model_memory(t->m, s, 0x1010, out, 12), 0);
	assert_int_equal(model_memory(t->m, s, 0xfff, out, 12), 0);
	assert_int_equal(model_memory(t->m, s, 0x2000, out, 12), 0);
	assert_int_equal(model_memory(t->m, s, UINT64_MAX, out, 12), 0);
}

static void snapshots_do_not_mix(void **state)
{
	struct made *t = *state;

	for (uint32_t i = 6; i-- > 1;) {
		maker_add(&t->k, 0, SNAPSHOT, snapshot, .snapshot = i, .task = i, .space = 1);
		for (uint32_t n = 0; n < i; n++) {
			maker_add(&t->k, 0, THREAD, thread, .snapshot = i, .task = n);
			maker_add(&t->k, 0, MEMORY, memory, .snapshot = i, .space = 1,
				  .addr = n * 16, .bytes = bt_str("memory"));
		}
	}
	maker_add(&t->k, 0, SNAPSHOT, snapshot, .snapshot = 3, .task = 99, .space = 1);
	made_load(t);
	assert_int_equal(t->m->snapshot_count, 6);
	for (uint32_t i = 0; i < 5; i++) {
		const struct model_snapshot *s = &t->m->snapshots[i];

		assert_int_equal(s->rec->snapshot, 5 - i);
		assert_int_equal(s->thread_count, 5 - i);
		assert_int_equal(s->memory_count, 5 - i);
		for (size_t n = 0; n < s->thread_count; n++)
			assert_int_equal(s->threads[n]->snapshot, 5 - i);
	}
	/* A second one of the same number can only be damage. */
	assert_int_equal(t->m->snapshots[5].thread_count + t->m->snapshots[5].memory_count, 0);
}

static void a_recording_that_stopped_says_why(void **state)
{
	struct made *t = *state;

	maker_add(&t->k, 0, STOPPED, stopped, .os_errno = 28,
		  .text = bt_str("No space left on device"));
	maker_add(&t->k, 0, STOPPED, stopped, .os_errno = 5);
	made_load(t);
	assert_int_equal(t->m->stopped->os_errno, 28);
	assert_string_equal((const char *)t->m->stopped->text.at, "No space left on device");
	assert_string_equal(model_unclosed(t->m),
			    "not known: recording stopped before the program ended");
}

static void the_end_is_explained_by_the_initial_process(void **state)
{
	struct made *t = *state;

	maker_add(&t->k, 0, TASK, task, .task = 1, .how = BT_TASK_INITIAL);
	maker_add(&t->k, 0, TASK, task, .task = 2, .parent = 1, .how = BT_TASK_FORK);
	maker_add(&t->k, 0, TASK, task, .task = 3, .parent = 1, .how = BT_TASK_THREAD);
	maker_add(&t->k, 0, SNAPSHOT, snapshot, .snapshot = 1, .task = 2,
		  .kind = BT_SNAPSHOT_FATAL);
	maker_add(&t->k, 0, SNAPSHOT, snapshot, .snapshot = 2, .task = 1,
		  .kind = BT_SNAPSHOT_FAULT);
	maker_add(&t->k, 0, SNAPSHOT, snapshot, .snapshot = 3, .task = 3,
		  .kind = BT_SNAPSHOT_FATAL);
	maker_add(&t->k, 0, SNAPSHOT, snapshot, .snapshot = 4, .task = 1, .kind = BT_SNAPSHOT_EXIT);
	made_load(t);
	assert_int_equal(model_final_snapshot(t->m)->rec->snapshot, 3);
}

static void without_it_by_the_first_in_the_tree_that_died(void **state)
{
	struct made *t = *state;

	maker_add(&t->k, 0, TASK, task, .task = 1, .how = BT_TASK_INITIAL);
	maker_add(&t->k, 0, TASK, task, .task = 2, .parent = 1, .how = BT_TASK_FORK);
	maker_add(&t->k, 0, SNAPSHOT, snapshot, .snapshot = 1, .task = 1,
		  .kind = BT_SNAPSHOT_FAULT);
	maker_add(&t->k, 0, SNAPSHOT, snapshot, .snapshot = 2, .task = 2,
		  .kind = BT_SNAPSHOT_FATAL);
	maker_add(&t->k, 0, SNAPSHOT, snapshot, .snapshot = 3, .task = 5,
		  .kind = BT_SNAPSHOT_FATAL);
	made_load(t);
	assert_int_equal(model_final_snapshot(t->m)->rec->snapshot, 2);
}

/* sh -c 'yes | head -1; crash; exit 1': the death of yes comes first and is none to explain. */
static void a_death_that_dumps_core_goes_before_others(void **state)
{
	static const struct {
		uint8_t initial, first, second; /* enum bt_signal_action of each one's death, in
						   this order; 0: it is not killed */
		uint32_t final;
	} rows[] = {
		{0, BT_ACTION_TERMINATE, BT_ACTION_CORE, 3},
		{0, BT_ACTION_CORE, BT_ACTION_CORE, 2},
		{BT_ACTION_TERMINATE, BT_ACTION_TERMINATE, BT_ACTION_CORE, 3},
		{BT_ACTION_CORE, BT_ACTION_CORE, BT_ACTION_TERMINATE, 4},
		{BT_ACTION_TERMINATE, BT_ACTION_TERMINATE, BT_ACTION_TERMINATE, 4},
		{0, BT_ACTION_TERMINATE, BT_ACTION_TERMINATE, 2},
	};
	struct made *t = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const uint8_t actions[] = {rows[i].first, rows[i].second, rows[i].initial};
		static const uint32_t tasks[] = {2, 3, 1};

		maker_add(&t->k, 0, TASK, task, .task = 1, .how = BT_TASK_INITIAL);
		maker_add(&t->k, 0, TASK, task, .task = 2, .parent = 1, .how = BT_TASK_FORK);
		maker_add(&t->k, 0, TASK, task, .task = 3, .parent = 1, .how = BT_TASK_FORK);
		for (uint32_t k = 0; k < 3; k++) {
			uint64_t event = t->k.seq;

			if (!actions[k])
				continue;
			maker_add(&t->k, 0, SIGNAL, signal, .task = tasks[k],
				  .signo = actions[k] == BT_ACTION_CORE ? 11 : 13,
				  .action = actions[k]);
			maker_add(&t->k, 0, SNAPSHOT, snapshot, .snapshot = k + 2, .task = tasks[k],
				  .kind = BT_SNAPSHOT_FATAL, .event = event);
		}
		made_load(t);
		assert_int_equal(model_final_snapshot(t->m)->rec->snapshot, rows[i].final);
		made_clear(t);
	}
}

/* Where it is known how the first process ended. */
static void what_a_program_went_on_from_explains_no_end(void **state)
{
	enum { NOT_KNOWN, KILLED = 100 }; /* else 1 more than the status */
	static const struct {
		uint8_t end;
		struct {
			uint8_t task; /* 1 is the initial process's */
			uint8_t kind, signo, action;
			uint8_t sender; /* task whose pid it is */
			uint8_t brief;
			uint32_t tick;
		} snaps[3];
		uint32_t final; /* 0: none */
	} rows[] = {
		{1, {{.task = 1, .kind = BT_SNAPSHOT_SIGNAL, .signo = 17}}, 0},
		{4,
		 {{.task = 1, .kind = BT_SNAPSHOT_SIGNAL, .signo = 17},
		  {.task = 1, .kind = BT_SNAPSHOT_FAULT, .signo = 11}},
		 0},
		{NOT_KNOWN,
		 {{.task = 1, .kind = BT_SNAPSHOT_FAULT, .signo = 11},
		  {.task = 1, .kind = BT_SNAPSHOT_SIGNAL, .signo = 17}},
		 1},
		{NOT_KNOWN,
		 {{.task = 1, .kind = BT_SNAPSHOT_SIGNAL, .signo = 17},
		  {.task = 1, .kind = BT_SNAPSHOT_SIGNAL, .signo = 17}},
		 2},
		{4,
		 {{.task = 1, .kind = BT_SNAPSHOT_EXIT},
		  {.task = 2, .kind = BT_SNAPSHOT_SIGNAL, .signo = 17}},
		 1},
		{4,
		 {{.task = 2, .kind = BT_SNAPSHOT_FAILURE},
		  {.task = 1, .kind = BT_SNAPSHOT_EXIT},
		  {.task = 3, .kind = BT_SNAPSHOT_FAILURE}},
		 2},
		{1, {{.task = 2, .kind = BT_SNAPSHOT_FAILURE}}, 0},
		{1, {{.task = 2, .kind = BT_SNAPSHOT_EXIT}}, 1},
		{1,
		 {{.task = 1, .kind = BT_SNAPSHOT_EXIT}, {.task = 2, .kind = BT_SNAPSHOT_EXIT}},
		 1},
		{KILLED,
		 {{.task = 1,
		   .kind = BT_SNAPSHOT_FATAL,
		   .signo = 15,
		   .action = BT_ACTION_TERMINATE},
		  {.task = 1, .kind = BT_SNAPSHOT_SIGNAL, .signo = 17}},
		 1},
		/* a panic that was caught, and one that ended the program */
		{1, {{.task = 1, .kind = BT_SNAPSHOT_FUNCTION}}, 0},
		{1,
		 {{.task = 1, .kind = BT_SNAPSHOT_FUNCTION}, {.task = 1, .kind = BT_SNAPSHOT_EXIT}},
		 2},
		{4,
		 {{.task = 1, .kind = BT_SNAPSHOT_FUNCTION}, {.task = 1, .kind = BT_SNAPSHOT_EXIT}},
		 1},
		{4,
		 {{.task = 2, .kind = BT_SNAPSHOT_FUNCTION}, {.task = 1, .kind = BT_SNAPSHOT_EXIT}},
		 2},
		{4,
		 {{.task = 1, .kind = BT_SNAPSHOT_FUNCTION, .brief = 1},
		  {.task = 1, .kind = BT_SNAPSHOT_EXIT}},
		 2},
		/* a first message near the end, and long before it; where no end was kept */
		{4,
		 {{.task = 1, .kind = BT_SNAPSHOT_MESSAGE},
		  {.task = 1, .kind = BT_SNAPSHOT_EXIT, .tick = 1000}},
		 1},
		{4,
		 {{.task = 1, .kind = BT_SNAPSHOT_MESSAGE},
		  {.task = 1, .kind = BT_SNAPSHOT_EXIT, .tick = 2000000}},
		 2},
		{4,
		 {{.task = 1, .kind = BT_SNAPSHOT_MESSAGE, .tick = 1000},
		  {.task = 1, .kind = BT_SNAPSHOT_EXIT}},
		 2},
		{4,
		 {{.task = 2, .kind = BT_SNAPSHOT_MESSAGE}, {.task = 1, .kind = BT_SNAPSHOT_EXIT}},
		 2},
		{4, {{.task = 1, .kind = BT_SNAPSHOT_MESSAGE}}, 1},
		{1, {{.task = 1, .kind = BT_SNAPSHOT_MESSAGE}}, 0},
		/* first signs go before it, and where no end was kept brief ones are better than
		 * nothing */
		{4,
		 {{.task = 1, .kind = BT_SNAPSHOT_FUNCTION},
		  {.task = 1, .kind = BT_SNAPSHOT_MESSAGE},
		  {.task = 1, .kind = BT_SNAPSHOT_EXIT}},
		 1},
		{4,
		 {{.task = 1, .kind = BT_SNAPSHOT_FUNCTION},
		  {.task = 1, .kind = BT_SNAPSHOT_MESSAGE}},
		 1},
		{4, {{.task = 1, .kind = BT_SNAPSHOT_FUNCTION, .brief = 1}}, 1},
		{4, {{.task = 2, .kind = BT_SNAPSHOT_FUNCTION, .brief = 1}}, 0},
		/* yes | head -1 */
		{1,
		 {{.task = 2,
		   .kind = BT_SNAPSHOT_FATAL,
		   .signo = 13,
		   .action = BT_ACTION_TERMINATE,
		   .sender = 2}},
		 0},
		{4,
		 {{.task = 2,
		   .kind = BT_SNAPSHOT_FATAL,
		   .signo = 13,
		   .action = BT_ACTION_TERMINATE,
		   .sender = 2},
		  {.task = 1, .kind = BT_SNAPSHOT_EXIT}},
		 2},
		/* kill, of a helper; timeout(1), of a program that hangs; from outside */
		{1,
		 {{.task = 2,
		   .kind = BT_SNAPSHOT_FATAL,
		   .signo = 15,
		   .action = BT_ACTION_TERMINATE,
		   .sender = 1}},
		 0},
		{125,
		 {{.task = 2,
		   .kind = BT_SNAPSHOT_FATAL,
		   .signo = 15,
		   .action = BT_ACTION_TERMINATE,
		   .sender = 1},
		  {.task = 1, .kind = BT_SNAPSHOT_EXIT}},
		 1},
		{1,
		 {{.task = 2,
		   .kind = BT_SNAPSHOT_FATAL,
		   .signo = 9,
		   .action = BT_ACTION_TERMINATE}},
		 1},
		{1,
		 {{.task = 2,
		   .kind = BT_SNAPSHOT_FATAL,
		   .signo = 11,
		   .action = BT_ACTION_CORE,
		   .sender = 1}},
		 1},
	};
	struct made *t = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool killed = rows[i].end == KILLED;

		for (uint32_t task = 1; task <= 3; task++)
			maker_add(&t->k, 0, TASK, task, .task = task, .parent = task > 1,
				  .pid = 10 * task, .tid = 10 * task,
				  .how = task == 1 ? BT_TASK_INITIAL : BT_TASK_FORK);
		for (uint32_t k = 0; k < 3 && rows[i].snaps[k].task; k++) {
			uint64_t event = t->k.seq;

			if (rows[i].snaps[k].signo)
				maker_add(&t->k, 0, SIGNAL, signal, .task = rows[i].snaps[k].task,
					  .signo = rows[i].snaps[k].signo,
					  .action = rows[i].snaps[k].action,
					  .sender = 10 * (uint32_t)rows[i].snaps[k].sender);
			maker_add(&t->k, 0, SNAPSHOT, snapshot, .snapshot = k + 1,
				  .task = rows[i].snaps[k].task, .kind = rows[i].snaps[k].kind,
				  .event = rows[i].snaps[k].signo ? event : 0,
				  .brief = rows[i].snaps[k].brief,
				  .point.tick = rows[i].snaps[k].tick);
		}
		if (rows[i].end)
			maker_add(&t->k, 0, EXIT, exit, .task = 1, .last = 1,
				  .kind = killed ? BT_EXIT_SIGNAL : BT_EXIT_STATUS,
				  .status = killed ? 15 : rows[i].end - 1u);
		made_load(t);
		if (rows[i].final)
			assert_int_equal(model_final_snapshot(t->m)->rec->snapshot, rows[i].final);
		else
			assert_null(model_final_snapshot(t->m));
		made_clear(t);
	}
}

static void failures_stand_in_the_order_of_their_ends_with_their_moments(void **state)
{
	struct made *t = *state;

	maker_add(&t->k, 0, TASK, task, .task = 1, .how = BT_TASK_INITIAL);
	maker_add(&t->k, 0, EXEC, exec, .task = 1, .path = bt_str("/bin/sh"), .argv = bt_str("sh"));
	maker_add(&t->k, 0, TASK, task, .task = 2, .parent = 1, .how = BT_TASK_FORK);
	maker_add(&t->k, 0, TASK, task, .task = 3, .parent = 2, .how = BT_TASK_THREAD);
	maker_add(&t->k, 0, TASK, task, .task = 4, .parent = 1, .how = BT_TASK_VFORK);
	maker_add(&t->k, 0, TASK, task, .task = 5, .parent = 1, .how = BT_TASK_FORK);
	maker_add(&t->k, 0, EXEC, exec, .task = 4, .path = bt_str("/bin/cc"), .argv = bt_str("cc"));
	/* the first thread of process 2 has ended before, with a status of its own */
	maker_add(&t->k, 0, EXIT, exit, .task = 2, .status = 0);
	maker_add(&t->k, 0, SNAPSHOT, snapshot, .snapshot = 1, .task = 4,
		  .kind = BT_SNAPSHOT_FAILURE);
	maker_add(&t->k, 0, EXIT, exit, .task = 4, .status = 1, .last = 1);
	maker_add(&t->k, 0, SNAPSHOT, snapshot, .snapshot = 2, .task = 3,
		  .kind = BT_SNAPSHOT_FATAL);
	maker_add(&t->k, 0, EXIT, exit, .task = 3, .kind = BT_EXIT_SIGNAL, .status = 11, .last = 1);
	maker_add(&t->k, 0, SUPPRESSED, suppressed, .task = 5, .kind = BT_SNAPSHOT_FAILURE,
		  .count = 1);
	maker_add(&t->k, 0, EXIT, exit, .task = 5, .status = 3, .last = 1);
	maker_add(&t->k, 0, SUPPRESSED, suppressed, .task = 1, .kind = BT_SNAPSHOT_SIGNAL,
		  .count = 6);
	maker_add(&t->k, 0, EXIT, exit, .task = 1, .status = 0, .last = 1);
	made_load(t);
	assert_int_equal(t->m->failure_count, 3);
	assert_int_equal(t->m->failures[0].task->task, 4);
	assert_int_equal(t->m->failures[0].snap->rec->snapshot, 1);
	assert_string_equal((const char *)t->m->failures[0].argv.at, "cc");
	assert_int_equal(t->m->failures[1].task->task, 2);
	assert_int_equal(t->m->failures[1].exit->task, 3);
	assert_int_equal(t->m->failures[1].snap->rec->snapshot, 2);
	assert_string_equal((const char *)t->m->failures[1].argv.at, "sh");
	assert_int_equal(t->m->failures[2].task->task, 5);
	assert_null(t->m->failures[2].snap);
	assert_int_equal(t->m->failures_suppressed, 1);
	assert_int_equal(model_task(t->m, 1)->suppressed, 6);
}

static void the_newest_end_of_threads_is_the_process_s_where_none_is_called_the_last(void **state)
{
	struct made *t = *state;

	for (uint32_t open = 0; open < 2; open++) {
		maker_add(&t->k, 0, TASK, task, .task = 1, .how = BT_TASK_INITIAL);
		maker_add(&t->k, 0, TASK, task, .task = 2, .parent = 1, .how = BT_TASK_THREAD);
		maker_add(&t->k, 0, TASK, task, .task = 3, .parent = 1, .how = BT_TASK_THREAD);
		maker_add(&t->k, 0, EXIT, exit, .task = 1, .status = 7);
		maker_add(&t->k, 0, EXIT, exit, .task = 3, .status = 7);
		if (!open)
			maker_add(&t->k, 0, EXIT, exit, .task = 2, .status = 7);
		made_load(t);
		assert_int_equal(t->m->failure_count, !open);
		if (!open) {
			assert_int_equal(t->m->failures[0].task->task, 1);
			assert_int_equal(t->m->failures[0].exit->task, 2);
			assert_ptr_equal(model_process_end(t->m, 3), t->m->failures[0].exit);
		}
		made_clear(t);
	}
}

static void damage_is_listed_and_the_rest_is_read(void **state)
{
	struct made *t = *state;
	size_t offsets[3];

	for (uint32_t block = 0; block < 3; block++) {
		maker_add(&t->k, block, NOTE, note, .task = 1,
			  .text = bt_str(
				  "a note long enough to be found in its block, block, block"));
		offsets[block] = maker_flush(&t->k, MAKER_EVENTS);
	}
	t->k.files[MAKER_EVENTS].data[offsets[1] + BT_BLOCK_HEADER_SIZE + 5] ^= 1;
	made_load(t);
	assert_int_equal(t->m->events.count, 2);
	assert_true(t->m->damage_count >= 1);
	assert_int_equal(t->m->events.at[0]->unit, 0);
	assert_int_equal(t->m->events.at[1]->unit, 2);
	assert_string_equal(t->m->damage[0].file, "events");
	assert_int_equal(t->m->damage[0].offset, offsets[1]);
	assert_false(t->m->damage[0].torn);
}

/* A closed trace has every event up to its END. */
static void a_hole_in_the_numbers_of_events_is_damage(void **state)
{
	struct made *t = *state;

	for (int missing = 0; missing < 2; missing++) {
		maker_add(&t->k, 1, NOTE, note, .task = 1);
		t->k.seq += (uint64_t)missing;
		maker_add(&t->k, 0, END, end, .status = 0);
		made_load(t);
		assert_int_equal(t->m->damage_count, missing);
		if (missing) {
			assert_string_equal(t->m->damage[0].file, "events");
			assert_non_null(strstr(t->m->damage[0].text, "events are missing"));
		}
		made_clear(t);
	}
}

/* Moments have counted more entries than a closed trace's file holds, of which every block is
 * whole. */
static void branches_that_lack_at_the_end_of_a_closed_trace_are_damage(void **state)
{
	static const struct bt_branch some[10] = {
		{.from = 1, .to = 2, .kind = BT_BRANCH_JMP, .flags = BT_BRANCH_TAKEN}};
	static const struct {
		size_t entries;
		const char *text;
	} rows[] = {{10, NULL},
		    {9, "the end of this file is gone"},
		    {0, "this file of the trace is gone"}};
	struct made *t = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		maker_add(&t->k, 0, TASK, task, .task = 1);
		maker_add(&t->k, 0, SNAPSHOT, snapshot, .snapshot = 1, .task = 1, .position = 10);
		maker_add(&t->k, 0, END, end, .status = 0);
		if (rows[i].entries)
			maker_branches(&t->k, (struct bt_record_branches){.task = 1}, some,
				       rows[i].entries);
		made_load(t);
		assert_int_equal(t->m->damage_count, rows[i].text != NULL);
		if (rows[i].text) {
			assert_string_equal(t->m->damage[0].file, "branches-1");
			assert_non_null(strstr(t->m->damage[0].text, rows[i].text));
		}
		made_clear(t);
	}
}

static void a_torn_tail_is_told_from_damage(void **state)
{
	struct made *t = *state;

	maker_add(&t->k, 1, NOTE, note, .task = 1);
	maker_flush(&t->k, MAKER_EVENTS);
	maker_add(&t->k, 1, NOTE, note, .task = 1);
	maker_flush(&t->k, MAKER_EVENTS);
	t->k.files[MAKER_EVENTS].len -= 3;
	made_load(t);
	assert_int_equal(t->m->events.count, 1);
	assert_int_equal(t->m->damage_count, 1);
	assert_true(t->m->damage[0].torn);
}

/* END is written last. */
static void a_torn_tail_of_a_closed_trace_is_damage(void **state)
{
	static const struct bt_branch some[10] = {
		{.from = 1, .to = 2, .kind = BT_BRANCH_JMP, .flags = BT_BRANCH_TAKEN}};
	struct made *t = *state;

	for (int closed = 0; closed < 2; closed++) {
		maker_add(&t->k, 0, TASK, task, .task = 1);
		if (closed)
			maker_add(&t->k, 0, END, end, .status = 0);
		maker_flush(&t->k, MAKER_EVENTS);
		maker_branches(&t->k, (struct bt_record_branches){.task = 1}, some, 10);
		maker_flush(&t->k, MAKER_BRANCHES + 1);
		t->k.files[MAKER_BRANCHES + 1].len -= 3;
		made_load(t);
		assert_int_equal(t->m->damage_count, 1);
		assert_string_equal(t->m->damage[0].file, "branches-1");
		assert_int_equal(t->m->damage[0].torn, !closed);
		if (closed) {
			assert_int_equal(t->m->damage[0].code, BT_E_CORRUPT);
			assert_non_null(strstr(model_damage_text(t->m, t->m->damage),
					       "shorter than it was written"));
			assert_null(model_unclosed(t->m));
		}
		made_clear(t);
	}
}

static void the_list_of_damage_ends(void **state)
{
	struct made *t = *state;

	for (int block = 0; block < 3000; block++) {
		size_t at;

		maker_add(&t->k, 1, NOTE, note, .task = 1);
		at = maker_flush(&t->k, MAKER_EVENTS);
		if (block % 2)
			t->k.files[MAKER_EVENTS].data[at + BT_BLOCK_HEADER_SIZE] ^= 1;
	}
	made_load(t);
	assert_int_equal(t->m->events.count, 1500);
	assert_true(t->m->damage_count < 300);
	assert_non_null(strstr(t->m->damage[t->m->damage_count - 1].text, "more"));
}

static void block_headers_without_end_are_given_up(void **state)
{
	struct made *t = *state;
	enum { COUNT = 60000 };
	clock_t begin;

	/* Each header is right and promises all that follows; its payload's checksum is wrong. */
	for (uint32_t i = 0; i < COUNT; i++) {
		uint32_t rest = (COUNT - 1 - i) * BT_BLOCK_HEADER_SIZE, crc;
		size_t at = maker_flush(&t->k, MAKER_EVENTS);
		uint8_t *header = t->k.files[MAKER_EVENTS].data + at;

		for (unsigned byte = 0; byte < 4; byte++)
			header[8 + byte] = (uint8_t)(rest >> 8 * byte);
		header[24] ^= 1;
		crc = (uint32_t)crc32(0, header, BT_BLOCK_HEADER_SIZE - 4);
		for (unsigned byte = 0; byte < 4; byte++)
			header[28 + byte] = (uint8_t)(crc >> 8 * byte);
	}
	begin = clock();
	made_load(t);
	assert_true(t->m->damage_count > 100);
	/* Some 30 seconds without a limit, with this many headers; 16 times that with four times as
	 * many. */
	assert_true(clock() - begin < 20 * CLOCKS_PER_SEC);
}

static void a_bomb_is_not_unpacked(void **state)
{
	struct made *t = *state;
	size_t len = 15u << 20;
	uint8_t *zeros = calloc(1, len);

	/* Half a gigabyte of zeros in a few kilobytes of file. */
	for (int i = 0; i < 30; i++) {
		maker_add(&t->k, 1, MEMORY, memory, .snapshot = 1, .bytes = slice_of(zeros, len));
		maker_flush(&t->k, MAKER_EVENTS);
	}
	made_load(t);
	assert_true(t->m->events.count > 5 && t->m->events.count < 25);
	assert_int_equal(t->m->damage_count, 1);
	free(zeros);
}

static void branches_are_counted_with_their_gaps(void **state)
{
	struct made *t = *state;
	static const struct bt_branch some[10] = {
		{.from = 1, .to = 2, .kind = BT_BRANCH_JMP, .flags = BT_BRANCH_TAKEN}};

	maker_add(&t->k, 0, TASK, task, .task = 1);
	maker_add(&t->k, 0, TASK, task, .task = 2);
	maker_branches(&t->k, (struct bt_record_branches){.task = 1, .first = 100}, some, 10);
	maker_branches(&t->k, (struct bt_record_branches){.task = 1, .first = 0}, some, 10);
	maker_branches(&t->k, (struct bt_record_branches){.task = 1, .first = 105}, some, 10);
	maker_branches(&t->k, (struct bt_record_branches){.task = 2, .first = UINT64_MAX - 3}, some,
		       10);
	made_load(t);
	assert_int_equal(model_task(t->m, 1)->branch_count, 10 + 1 + 15);
	assert_int_equal(model_task(t->m, 2)->branch_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MADE_TEST(events_of_all_units_are_in_order),
		MADE_TEST(an_empty_trace_is_a_model),
		MADE_TEST(code_without_its_bytes_is_damage),
		MADE_TEST(processes_know_what_they_ran_last),
		MADE_TEST(impossible_tasks_are_survived),
		MADE_TEST(a_snapshot_has_its_own_thread_first_and_its_memory),
		MADE_TEST(snapshots_do_not_mix),
		MADE_TEST(a_recording_that_stopped_says_why),
		MADE_TEST(the_end_is_explained_by_the_initial_process),
		MADE_TEST(without_it_by_the_first_in_the_tree_that_died),
		MADE_TEST(a_death_that_dumps_core_goes_before_others),
		MADE_TEST(what_a_program_went_on_from_explains_no_end),
		MADE_TEST(failures_stand_in_the_order_of_their_ends_with_their_moments),
		MADE_TEST(damage_is_listed_and_the_rest_is_read),
		MADE_TEST(the_newest_end_of_threads_is_the_process_s_where_none_is_called_the_last),
		MADE_TEST(a_hole_in_the_numbers_of_events_is_damage),
		MADE_TEST(branches_that_lack_at_the_end_of_a_closed_trace_are_damage),
		MADE_TEST(a_torn_tail_is_told_from_damage),
		MADE_TEST(a_torn_tail_of_a_closed_trace_is_damage),
		MADE_TEST(the_list_of_damage_ends),
		MADE_TEST(block_headers_without_end_are_given_up),
		MADE_TEST(a_bomb_is_not_unpacked),
		MADE_TEST(branches_are_counted_with_their_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
