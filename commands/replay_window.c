/* SPDX-License-Identifier: MIT */
/* Epochs are those of the replay's space, in which all is memory of no file. Its mappings are told
 * as the recording had them: whenever the replay's space changes, the trace's records up to there
 * are copied, with that epoch. */
#include "config.h"

#include "commands/replay_window.h"

#include <elf.h>
#include <string.h>

#include "collector/record/first_message.h"
#include "collector/record/record_observer.h"
#include "collector/record/snapshot.h"
#include "collector/replay/silent_observer.h"
#include "decoder/symbols/kept.h"
#include "format/syscall_codec.h"
#include "format/syscall_details.h"
#include "lib/canonical.h"

enum {
	HISTORY = 1 << 24,       /* entries that may wait in memory until the task stops */
	COPIES_MOST = 256 << 20, /* bytes of files that cannot be linked */
	RELIEVED = 1 << 18,      /* entries from which on they are written where it stops */
};

/* ---- Records of the trace that is replayed ---- */

/* Whether there is a next record; w->held. Damage is passed over: the replay's log tells. */
static bool hold_record(struct replay_window *w)
{
	struct bt_error err;

	while (!w->has_held && !w->over) {
		int rc = trace_cursor_next(&w->cursor, &w->held, &err);

		w->has_held = rc == 1;
		w->over = !rc || rc == -BT_E_TRUNCATED || rc == -BT_E_NO_MEMORY || rc == -BT_E_IO;
	}
	return w->has_held;
}

static bool is_deadly(const struct bt_record *rec)
{
	return rec->kind == BT_RECORD_SIGNAL && (rec->u.signal.action == BT_ACTION_TERMINATE ||
						 rec->u.signal.action == BT_ACTION_CORE);
}

static void note_copied(struct replay_window *w, const struct bt_record *rec)
{
	if (is_deadly(rec))
		w->deadly = rec->u.signal.seq;
	if (rec->kind == BT_RECORD_SYSCALL_ENTER)
		w->entered = rec->u.syscall_enter.seq;
	if (rec->kind != BT_RECORD_EXIT)
		return;
	w->last_exit = true;
	w->outcome = (struct supervisor_outcome){.ended = true,
						 .kind = (enum bt_exit_kind)rec->u.exit.kind,
						 .status = (int)rec->u.exit.status,
						 .core = rec->u.exit.core};
}

/* seq is the first member of every event (trace_events.c). */
static void put_event(struct replay_window *w, struct bt_record *rec)
{
	rec->u.end.seq = trace_writer_next_seq(w->writer);
	note_copied(w, rec);
	trace_writer_event(w->writer, w->unit, (enum bt_record_kind)rec->kind, &rec->u);
}

static bool is_of_task(const struct replay_window *w, const struct bt_record *rec)
{
	return bt_record_task(rec) == w->task;
}

/* Whether a mapping in that space of the trace is the task's. Spaces are numbered as they come to
 * be: a new one is that of a program that the task executes. In the replay it is the old one, in
 * which nothing is left of the program before. */
static bool is_of_space(struct replay_window *w, uint32_t space, uint32_t epoch)
{
	struct bt_record all = {.kind = BT_RECORD_UNMAP,
				.u.unmap = {.space = w->space, .epoch = epoch, .end = BT_USER_END}};

	if (space > w->recorded && w->recorded)
		put_event(w, &all);
	if (space > w->recorded)
		w->recorded = space;
	return space == w->recorded;
}

/* How many calls that were made without a stop the replay has made and the window has not. The
 * log has as many of them as the CALLS records (LOG_CALLS). */
static uint64_t calls_to_copy(const struct replay_window *w)
{
	return w->replaying->log.passed_calls - w->copied_calls;
}

/* Leaves those of the calls that are to be copied. */
static void cut_calls(struct replay_window *w, struct bt_record_calls *r)
{
	struct bt_syscall_codec from = {.tick = r->tick}, to = {.tick = r->tick};
	struct bt_details_codec details_from = {0}, details_to = {0};
	struct slice calls = r->calls, details = r->details;
	uint64_t left = calls_to_copy(w), number;
	struct bt_syscall_details d;
	struct bt_syscall call;

	buf_reset(&w->calls);
	buf_reset(&w->details);
	r->count = 0;
	while (r->count < left && bt_syscall_decode(&from, &calls, &call) == 1) {
		bt_syscall_encode(&to, &w->calls, &call);
		r->count++;
	}
	while (bt_details_decode(&details_from, &details, &number, &d) == 1 && number < r->count)
		bt_details_encode(&details_to, &w->details, number, &d);
	r->calls = slice_of(w->calls.data, w->calls.len);
	r->details = slice_of(w->details.data, w->details.len);
}

/* Whether the replay has made all calls of the record that is held. */
static bool calls_are_made(const struct replay_window *w)
{
	return w->held.kind != BT_RECORD_CALLS || !is_of_task(w, &w->held) ||
	       w->held.u.calls.count <= calls_to_copy(w);
}

/* Copies a record, if it is of the task: with the replay's space and its present epoch. */
static void copy_record(struct replay_window *w, uint32_t epoch, struct bt_record *rec)
{
	switch (rec->kind) {
	case BT_RECORD_TASK:
		if (!w->task) /* the first one is that of the program */
			w->task = rec->u.task.task;
		rec->u.task.unit = w->unit;
		rec->u.task.space = w->space;
		break;
	case BT_RECORD_EXEC:
		rec->u.exec.space = w->space;
		break;
	case BT_RECORD_MAP:
		if (!is_of_space(w, rec->u.map.space, epoch))
			return;
		rec->u.map.space = w->space;
		rec->u.map.epoch = epoch;
		put_event(w, rec);
		return;
	case BT_RECORD_UNMAP:
		if (!is_of_space(w, rec->u.unmap.space, epoch))
			return;
		rec->u.unmap.space = w->space;
		rec->u.unmap.epoch = epoch;
		put_event(w, rec);
		return;
	case BT_RECORD_CALLS:
		if (is_of_task(w, rec))
			w->copied_calls += rec->u.calls.count;
		break;
	case BT_RECORD_SYSCALL_ENTER:
	case BT_RECORD_SYSCALL_EXIT:
	case BT_RECORD_SIGNAL:
	case BT_RECORD_HANDLER:
	case BT_RECORD_EXIT:
	case BT_RECORD_COMM:
	case BT_RECORD_LAST_WORDS:
	case BT_RECORD_MAIN:
		break;
	default: /* moments and history are the replay's */
		return;
	}
	if (is_of_task(w, rec))
		put_event(w, rec);
}

/* Whether the record is of an event that the replay meets. The records behind such an event,
 * mappings above all, belong to it. */
static bool is_met(const struct replay_window *w, const struct bt_record *rec)
{
	return is_of_task(w, rec) &&
	       (rec->kind == BT_RECORD_SYSCALL_ENTER || rec->kind == BT_RECORD_SYSCALL_EXIT ||
		rec->kind == BT_RECORD_SIGNAL || rec->kind == BT_RECORD_HANDLER ||
		rec->kind == BT_RECORD_EXIT) &&
	       /* the execve that led to the program comes before the log */
	       bt_record_point(rec)->tick + bt_record_point(rec)->transfers > 0;
}

/* Copies records up to the first of an event behind seq, or up to calls that are not all made:
 * records behind such calls, a mapping, say, belong to the last of them. */
static void copy_records_up_to(struct replay_window *w, uint32_t epoch, uint64_t seq)
{
	while (hold_record(w) && !(is_met(w, &w->held) && w->held.u.end.seq > seq) &&
	       calls_are_made(w)) {
		copy_record(w, epoch, &w->held);
		w->has_held = false;
	}
}

/* Of the calls at which copy_records_up_to() ended those that are made. */
static void copy_last_calls(struct replay_window *w, uint32_t epoch)
{
	if (!w->has_held || calls_are_made(w))
		return;
	cut_calls(w, &w->held.u.calls);
	if (w->held.u.calls.count && !w->calls.failed && !w->details.failed)
		copy_record(w, epoch, &w->held);
}

/* ---- What the replay tells ---- */

static const struct observer *window_observer(const struct replay_window *w)
{
	return &w->recording.observer;
}

static void see_space(void *arg, const struct address_space *s, const struct address_space *parent)
{
	struct replay_window *w = arg;

	w->unit = s->unit;
	w->space = s->number;
	window_observer(w)->ops->space(window_observer(w)->arg, s, parent);
}

static void see_mapping(void *arg, const struct address_space *s, const struct mapping *m)
{
	struct replay_window *w = arg;

	(void)m;
	copy_records_up_to(w, s->epoch, w->replaying->met);
}

static void see_code(void *arg, const struct address_space *s, uint64_t addr, const uint8_t *bytes,
		     uint64_t *content)
{
	struct replay_window *w = arg;

	copy_records_up_to(w, s->epoch, w->replaying->met);
	window_observer(w)->ops->code(window_observer(w)->arg, s, addr, bytes, content);
}

static void see_branches(void *arg, const struct branch_run *run)
{
	struct replay_window *w = arg;

	window_observer(w)->ops->branches(window_observer(w)->arg, run);
}

static void settle_branches(struct supervisor *sup, struct task *task)
{
	if (sup->backend.ops->settle)
		sup->backend.ops->settle(&sup->backend, task);
}

/* ---- The stretch ---- */

/* Numbers of moments: symbols that are kept tell stacks and values by them. */
static void count_moments(struct replay_window *w)
{
	while (hold_record(w)) {
		const struct bt_record_snapshot *s = &w->held.u.snapshot;

		bool sane = w->held.kind == BT_RECORD_SNAPSHOT && s->snapshot < UINT32_MAX;

		if (sane && s->snapshot > w->moments)
			w->moments = s->snapshot;
		if (sane && (s->kind == BT_SNAPSHOT_FATAL || s->kind == BT_SNAPSHOT_EXIT))
			w->last = s->snapshot;
		w->has_held = false;
	}
	w->over = false;
}

static bool is_elf(struct file_window *w)
{
	struct slice head = file_window_at(w, 0, SELFMAG);

	return head.len >= SELFMAG && !memcmp(head.at, ELFMAG, SELFMAG);
}

/* The window gets the trace's copies of programs and libraries, by links where it can: they have
 * the names of whatever address it shows. A copy for which there is no room is left out. */
static void take_copies(struct replay_window *w, const struct trace *t)
{
	uint64_t left = COPIES_MOST;

	for (size_t i = 0; i < t->file_count; i++) {
		const struct trace_file *file = &t->files[i];
		struct file_window bytes;

		if (file->kind != BT_FILE_MAPPED)
			continue;
		trace_file_window(&bytes, t, file);
		if (is_elf(&bytes) &&
		    (t->dir < 0 ||
		     trace_writer_link(w->writer, t->dir, file->name, file->number)) &&
		    file->size <= left && !trace_writer_copy(w->writer, &bytes, file->number))
			left -= file->size;
		file_window_release(&bytes);
	}
}

int replay_window_open(struct replay_window *w, const struct trace *t, const char *path,
		       const char *backend, const struct replaying *replaying, struct bt_error *err)
{
	const struct recording_options options = {.history = HISTORY, .history_memory = UINT64_MAX};
	struct bt_record_header h = t->header;
	int rc;

	h.backend = bt_str(backend);
	h.source = bt_str("bits");
	h.reason = bt_str("a stretch of a replay");
	h.ring = 0; /* all are kept */
	h.version = bt_str(PACKAGE_VERSION);
	rc = trace_writer_open(&w->writer, path, &h, err);
	if (rc)
		return rc;
	/* Of calls the trace tells; notes are about how it is replayed. */
	w->ops = silent_observer_ops;
	w->ops.space = see_space;
	w->ops.mapped = w->ops.unmapped = see_mapping;
	w->ops.code = see_code;
	w->ops.branches = see_branches;
	w->observer = (struct observer){.ops = &w->ops, .arg = w};
	recording_init(&w->recording, w->writer, &options);
	w->trace = t;
	w->replaying = replaying;
	trace_cursor_init(&w->cursor, t, &t->files[0]);
	take_copies(w, t);
	count_moments(w);
	trace_cursor_release(&w->cursor);
	trace_cursor_init(&w->cursor, t, &t->files[0]);
	return 0;
}

void replay_window_begin(struct replay_window *w, struct supervisor *sup, struct task *task)
{
	struct ring_state now;

	settle_branches(sup, task);
	task_settle(task);
	now = task->ring.now;
	/* Of before there are counts, and entries of handlers: none of them is in the trace. */
	branch_ring_release(&task->ring);
	branch_ring_init(&task->ring, task->history, &now);
	sup->backend.ticks = false;
	w->told_tick = now.tick;
}

uint64_t replay_window_find_message(const struct trace *t)
{
	struct replay_window w = {.trace = t};
	uint64_t event = 0;

	trace_cursor_init(&w.cursor, t, &t->files[0]);
	for (; hold_record(&w); w.has_held = false)
		if (w.held.kind == BT_RECORD_SNAPSHOT &&
		    w.held.u.snapshot.kind == BT_SNAPSHOT_MESSAGE)
			event = w.held.u.snapshot.event;
	trace_cursor_release(&w.cursor);
	return event;
}

void replay_window_message(struct replay_window *w, struct supervisor *sup, struct task *task,
			   uint64_t event)
{
	copy_records_up_to(w, task->process->space->epoch, event);
	settle_branches(sup, task);
	first_message_hold_here(&w->recording, task, w->entered);
	first_message_find(task);
}

void replay_window_relieve(struct replay_window *w, struct supervisor *sup, struct task *task)
{
	/* A log holds rounds of a loop as one: ticks tell what they will be. */
	if (sup->backend.ticks || task->mid_run ||
	    (task_tick(task) - w->told_tick < REPLAY_WINDOW_PAUSE / 2 &&
	     task_unsettled(task) < RELIEVED))
		return;
	settle_branches(sup, task);
	task_tell_history(task, &w->observer);
	w->told_tick = task_tick(task);
}

/* Whether the next record is of an end by a signal. */
static bool is_killed(const struct replay_window *w)
{
	return w->has_held && w->held.kind == BT_RECORD_EXIT &&
	       w->held.u.exit.kind == BT_EXIT_SIGNAL;
}

void replay_window_end(struct replay_window *w, struct supervisor *sup, struct task *task,
		       const struct destination *to, uint64_t exit)
{
	enum bt_snapshot_kind kind = BT_SNAPSHOT_REQUEST;
	uint64_t seq = to->is == BT_RECORD_EXIT ? to->event : exit;
	uint32_t epoch = task->process->space->epoch;
	char text[DESTINATION_TEXT];
	bool ends;

	/* The moment of an exit comes before its record; the moment of a signal comes behind it. */
	copy_records_up_to(w, epoch, seq ? seq - 1 : to->is ? to->event : w->replaying->met);
	copy_last_calls(w, epoch);
	ends = w->deadly || seq;
	if (ends)
		kind = w->deadly || is_killed(w) ? BT_SNAPSHOT_FATAL : BT_SNAPSHOT_EXIT;
	/* The moment of the same end has the same number, another one a number of its own. That of
	 * a first message comes before it. */
	w->recording.snapshots =
		ends && w->last ? w->last - 1 - first_message_is_due(task) : w->moments;
	destination_print(to, text, sizeof text);
	snapshot_take(&w->recording, sup, task, kind, w->deadly, ends ? NULL : text);
	if (ends)
		copy_records_up_to(w, task->process->space->epoch, UINT64_MAX);
	w->kept = true;
}

int replay_window_close(struct replay_window *w, const char *path, struct bt_error *err)
{
	int failure = trace_writer_stopped(w->writer);

	trace_cursor_release(&w->cursor);
	buf_release(&w->calls);
	buf_release(&w->details);
	if (!w->kept || failure)
		recording_discard(&w->recording, path);
	else
		recording_close(&w->recording, &w->outcome);
	return failure ? bt_fail(err, BT_E_IO, failure, "%s: cannot be written", path) : 0;
}

bool replay_window_keep_symbols(const struct trace *from, const char *path)
{
	struct bt_error err;
	struct trace *to;
	struct kept *k;
	bool damaged, ok = false;

	k = kept_read(from, &damaged);
	if (k && !trace_open(&to, path, &err)) {
		ok = !kept_write(k, to, &err);
		trace_close(to);
	}
	kept_free(k);
	return ok;
}
