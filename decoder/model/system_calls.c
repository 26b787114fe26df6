/* SPDX-License-Identifier: MIT */
#include "decoder/model/system_calls.h"

#include <stdlib.h>

#include "format/syscall_codec.h"
#include "format/syscall_details.h"
#include "lib/array_size.h"

_Static_assert((int)SYSCALL_ARGS == (int)BT_SYSCALL_ARGS, "the arguments of a call");

struct call_search {
	const struct model *m;
	const struct system_calls_wanted *wanted;
	struct system_calls *found;
	size_t next, cap;                            /* indexes of found, a ring */
	const struct bt_record_syscall_enter **open; /* calls at stops, by index of their task */
	bool failed;                                 /* without memory */
};

static bool is_wanted(const struct call_search *s, uint32_t number)
{
	const struct model_task *task;

	if (s->wanted->task)
		return number == s->wanted->task;
	task = model_task(s->m, number);
	return task && task->pid == s->wanted->pid;
}

/* Room for one more: that of the oldest, once there are enough. */
static struct system_call *room_for_call(struct call_search *s)
{
	struct system_calls *c = s->found;
	size_t cap = s->cap ? 2 * s->cap : 64;
	struct system_call *at;

	if (c->count == s->wanted->most) {
		c->before++;
		at = &c->at[s->next];
		s->next = (s->next + 1) % c->count;
		return at;
	}
	if (c->count < s->cap)
		return &c->at[c->count++];
	cap = cap < s->wanted->most ? cap : s->wanted->most;
	at = realloc(c->at, cap * sizeof *at);
	if (!at) {
		s->failed = true;
		return NULL;
	}
	c->at = at;
	s->cap = cap;
	return &at[c->count++];
}

static void add_call(struct call_search *s, const struct system_call *call)
{
	struct system_call *at;

	if (!s->wanted->most || s->failed ||
	    (s->wanted->failed && !syscall_has_failed(&call->known)))
		return;
	at = room_for_call(s);
	if (at)
		*at = *call;
}

static void put_pointed(struct syscall_known *known, const struct bt_pointed *p)
{
	known->pointed[p->arg].is_known = true;
	known->pointed[p->arg].is_cut = p->is_cut;
	known->pointed[p->arg].bytes = p->bytes;
}

/* A call at a stop. left: its end; NULL: it has none. */
static void add_at_stop(struct call_search *s, const struct bt_record_syscall_enter *r,
			const struct bt_record_syscall_exit *left)
{
	struct system_call call = {
		.task = r->task,
		.tick = r->point.tick,
		.seq = left ? left->seq : r->seq,
		.known = {.nr = r->nr,
			  .compat = r->compat,
			  .has_args = true,
			  .args = {r->arg0, r->arg1, r->arg2, r->arg3, r->arg4, r->arg5},
			  .has_result = left != NULL,
			  .result = left ? left->result : 0},
	};
	struct slice in = r->pointed;
	struct bt_pointed p;

	while (bt_pointed_decode(&in, &p) == 1)
		put_pointed(&call.known, &p);
	add_call(s, &call);
}

/* The next call of which the arguments were noted; UINT64_MAX: there is none. */
static uint64_t next_details(struct bt_details_codec *codec, struct slice *in,
			     struct bt_syscall_details *d)
{
	uint64_t call;

	return bt_details_decode(codec, in, &call, d) == 1 ? call : UINT64_MAX;
}

static void add_in_cache(struct call_search *s, const struct bt_record_calls *r)
{
	struct bt_syscall_codec codec = {r->tick};
	struct bt_details_codec details_codec = {0};
	struct slice in = r->calls, details_in = r->details;
	struct bt_syscall_details d;
	uint64_t noted = next_details(&details_codec, &details_in, &d);
	struct bt_syscall made;

	for (uint64_t i = 0; bt_syscall_decode(&codec, &in, &made) == 1; i++) {
		struct system_call call = {
			.task = r->task,
			.tick = made.tick,
			.seq = r->seq,
			.known = {.nr = made.nr, .has_result = true, .result = made.result},
		};

		if (i == noted) {
			call.known.has_args = true;
			for (unsigned k = 0; k < d.count; k++)
				call.known.args[k] = d.args[k];
			for (unsigned k = 0; k < d.pointed_count; k++)
				put_pointed(&call.known, &d.pointed[k]);
			noted = next_details(&details_codec, &details_in, &d);
		}
		add_call(s, &call);
	}
}

static const struct bt_record_syscall_enter **open_of(const struct call_search *s, uint32_t task)
{
	return &s->open[model_task(s->m, task) - s->m->tasks];
}

static void take_event(struct call_search *s, const struct bt_record *rec)
{
	const struct bt_record_syscall_enter **open;

	if (rec->kind == BT_RECORD_CALLS && is_wanted(s, rec->u.calls.task)) {
		add_in_cache(s, &rec->u.calls);
	} else if (rec->kind == BT_RECORD_SYSCALL_ENTER &&
		   is_wanted(s, rec->u.syscall_enter.task) &&
		   model_task(s->m, rec->u.syscall_enter.task)) {
		open = open_of(s, rec->u.syscall_enter.task);
		if (*open)
			add_at_stop(s, *open, NULL);
		*open = &rec->u.syscall_enter;
	} else if (rec->kind == BT_RECORD_SYSCALL_EXIT && is_wanted(s, rec->u.syscall_exit.task) &&
		   model_task(s->m, rec->u.syscall_exit.task)) {
		open = open_of(s, rec->u.syscall_exit.task);
		if (*open)
			add_at_stop(s, *open, &rec->u.syscall_exit);
		*open = NULL;
	}
}

static void reverse_calls(struct system_call *at, size_t from, size_t end)
{
	for (; from + 1 < end; from++) {
		struct system_call one = at[from];

		at[from] = at[--end];
		at[end] = one;
	}
}

int system_calls_find(struct system_calls *c, const struct model *m,
		      const struct system_calls_wanted *wanted, struct bt_error *err)
{
	struct call_search s = {.m = m,
				.wanted = wanted,
				.found = c,
				.open = calloc(m->task_count + 1, sizeof(void *))};

	*c = (struct system_calls){0};
	s.failed = !s.open;
	for (size_t i = 0;
	     !s.failed && i < m->events.count && m->events.at[i]->seq <= wanted->until; i++)
		take_event(&s, &m->events.at[i]->rec);
	for (size_t i = 0; !s.failed && i < m->task_count; i++)
		if (s.open[i])
			add_at_stop(&s, s.open[i], NULL);
	free(s.open);
	if (s.failed)
		return bt_no_memory(err, "the system calls");
	/* The ring's oldest to the front. */
	reverse_calls(c->at, 0, s.next);
	reverse_calls(c->at, s.next, c->count);
	reverse_calls(c->at, 0, c->count);
	return 0;
}

void system_calls_release(struct system_calls *c)
{
	free(c->at);
	*c = (struct system_calls){0};
}
