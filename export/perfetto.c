/* SPDX-License-Identifier: MIT */
/* Trace Event Format in JSON, which Perfetto (ui.perfetto.dev) and chrome://tracing read: a track
 * for each thread, its calls as nested slices. A trace tells when a branch was made by its number,
 * so time is that: one branch is a microsecond.
 *
 * The outermost slice of a track is the function that the history begins in; a return beyond what
 * is known ends it and begins that of the caller. A gap ends all slices, and is an event of its
 * own. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/calls_private.h"
#include "export/export_private.h"
#include "lib/escape.h"
#include "lib/output.h"

enum { OUT_FLUSH = 1 << 16 };

struct perfetto {
	FILE *to;
	struct buf out;
	bool has_events, failed;
	struct bt_error *err;
	/* Of the task that is shown. */
	uint32_t pid, tid;
	size_t open;   /* slices of open calls */
	bool has_base; /* the outermost slice is open */
};

static void put(struct perfetto *p, const char *text) { buf_put(&p->out, text, strlen(text)); }

/* JSON text in ASCII. */
static void put_string(struct perfetto *p, const char *text)
{
	struct buf safe = {0};

	bt_escape(&safe, slice_of(text, strlen(text)), false);
	put(p, "\"");
	for (size_t i = 0; i < safe.len; i++) {
		if (safe.data[i] == '"' || safe.data[i] == '\\')
			buf_u8(&p->out, '\\');
		buf_u8(&p->out, safe.data[i]);
	}
	put(p, "\"");
	p->out.failed |= safe.failed;
	buf_release(&safe);
}

static void flush_events(struct perfetto *p)
{
	if (!p->failed && p->out.failed)
		p->failed = bt_no_memory(p->err, "the export");
	if (!p->failed)
		p->failed = bt_output(p->to, p->out.data, p->out.len, p->err) != 0;
	buf_reset(&p->out);
}

/* Begins an event; the caller ends it. */
static void put_event(struct perfetto *p, const char *phase, uint64_t time)
{
	char text[160];

	snprintf(text, sizeof text, "%s\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%" PRIu64,
		 p->has_events ? "," : "", phase, p->pid, p->tid, time);
	p->has_events = true;
	put(p, text);
}

static void end_event(struct perfetto *p)
{
	put(p, "}");
	if (p->out.len >= OUT_FLUSH)
		flush_events(p);
}

static void put_named(struct perfetto *p, const char *phase, uint64_t time, const char *name)
{
	put_event(p, phase, time);
	put(p, ",\"name\":");
	put_string(p, name);
}

static void put_metadata(struct perfetto *p, const char *what, const char *name)
{
	put_named(p, "M", 0, what);
	put(p, ",\"args\":{\"name\":");
	put_string(p, name);
	put(p, "}");
	end_event(p);
}

static void begin_slice(struct perfetto *p, struct task_calls *c, uint64_t time, uint32_t space,
			uint32_t epoch, uint64_t addr)
{
	char name[FUNCTION_NAME_MAX];

	put_named(p, "B", time, calls_name(c->s, space, epoch, addr, name));
	end_event(p);
}

static void end_slices(struct perfetto *p, size_t down_to, uint64_t time)
{
	for (; p->open > down_to; p->open--) {
		put_event(p, "E", time);
		end_event(p);
	}
}

static void end_base(struct perfetto *p, uint64_t time)
{
	end_slices(p, 0, time);
	if (p->has_base) {
		put_event(p, "E", time);
		end_event(p);
	}
	p->has_base = false;
}

static void show_gap(struct perfetto *p, uint64_t time, const struct history_entry *e)
{
	put_named(p, "i", time, "gap");
	put(p, ",\"s\":\"t\",\"args\":{\"reason\":");
	put_string(p, e->to < BT_GAP_REASONS ? bt_gap_info[e->to].name : "unknown");
	put(p, "}");
	end_event(p);
}

/* Entry i was taken: calls have ended, one has begun, or neither. */
static void show_entry(struct perfetto *p, struct task_calls *c, size_t i, size_t unmatched)
{
	const struct callstack *stack = &c->walk.stack;
	const struct history_entry *e = &c->h.entries[i];
	uint32_t space, epoch;

	end_slices(p, stack->count, e->number);
	if (e->kind == BT_BRANCH_GAP) {
		end_base(p, e->number);
		show_gap(p, e->number, e);
		return;
	}
	history_target(&c->h, e, &space, &epoch);
	if (stack->unmatched > unmatched || space != e->space)
		end_base(p, e->number);
	if (!p->has_base) /* a return, or another program */
		begin_slice(p, c, e->number, space, epoch, e->to);
	p->has_base = true;
	for (; p->open < stack->count; p->open++)
		begin_slice(p, c, e->number, space, epoch, e->to);
}

static int show_task(void *arg, struct task_calls *c, struct bt_error *err)
{
	struct perfetto *p = arg;
	char name[40];
	uint64_t end = c->end ? c->h.entries[c->end - 1].number : 0;

	(void)err;
	p->pid = c->task->pid;
	p->tid = c->task->tid;
	snprintf(name, sizeof name, "task %u", c->task->task);
	put_metadata(p, "process_name", c->task->command);
	put_metadata(p, "thread_name", name);
	while (c->at < c->end && !p->failed) {
		size_t i = c->at, unmatched = c->walk.stack.unmatched;
		const struct history_entry *e = &c->h.entries[i];

		if (!p->has_base && e->kind != BT_BRANCH_GAP) {
			begin_slice(p, c, e->number, e->space, e->epoch, e->from);
			p->has_base = true;
		}
		calls_take(c);
		show_entry(p, c, i, unmatched);
	}
	end_base(p, end);
	return p->failed ? (int)-p->err->code : 0;
}

int export_perfetto(FILE *to, const struct model *m, struct symbols *s,
		    const struct report_options *o, struct bt_error *err)
{
	struct perfetto p = {.to = to, .err = err};
	int rc;

	put(&p, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"time\":\"a branch of the thread is a "
		"microsecond\"},\"traceEvents\":[");
	rc = calls_of_tasks(m, s, o, show_task, &p, err);
	if (!rc) {
		put(&p, "\n]}\n");
		flush_events(&p);
		rc = p.failed ? (int)-err->code : 0;
	}
	buf_release(&p.out);
	return rc;
}
