/* SPDX-License-Identifier: MIT */
/* Each part of the report is a function that makes a value of jansson's; the value is written as
 * one member, and freed, before the next is made. Branches, which may be millions, are written one
 * by one. Locations are kept as text in a small cache: a history visits the same places again and
 * again.
 *
 * A member that could not be made marks the report as failed. All that is not ASCII is escaped. */
#include "decoder/report/json.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "decoder/cause/callstack.h"
#include "decoder/cause/fault.h"
#include "decoder/cause/signature.h"
#include "decoder/cause/throws.h"
#include "decoder/model/signals.h"
#include "decoder/model/verdict.h"
#include "decoder/report/json_private.h"
#include "decoder/report/report_private.h"
#include "decoder/symbols/text.h"
#include "decoder/values/frame_values.h"
#include "lib/array_size.h"
#include "lib/escape.h"
#include "lib/extended_state.h"
#include "syscalls/syscall_names.h"

enum {
	FRAMES_MAX = 4096, /* of one stack */
	OPEN_CALLS_MAX = 64,
	THROWS_MAX = 64,
};

/* JSON has only UTF-8, and many readers have no NUL: a path or an argument may hold anything. */
static json_t *json_bytes(struct slice bytes)
{
	bool plain = bytes.len && !memchr(bytes.at, 0, bytes.len);
	json_t *j = plain ? json_stringn((const char *)bytes.at, bytes.len) : NULL;
	struct buf b = {0};

	if (j || !bytes.len)
		return j ? j : json_string("");
	bt_escape(&b, bytes, true);
	j = json_stringn((const char *)b.data, b.len);
	buf_release(&b);
	return j;
}

json_t *json_text(const char *s) { return json_bytes(slice_of(s, strlen(s))); }

static json_t *json_hex(uint64_t value) { return json_sprintf("0x%" PRIx64, value); }

static json_t *json_ticks(uint64_t ticks)
{
	return ticks == BT_TICKS_UNKNOWN ? json_null() : json_sprintf("%" PRIu64, ticks);
}

static json_t *json_signal(uint32_t signo)
{
	char name[SIGNAL_NAME_MAX];

	return json_string(signal_name(signo, name));
}

static json_t *json_known(const char *s) { return *s ? json_text(s) : json_null(); }

static json_t *json_line(int line) { return line ? json_integer(line) : json_null(); }

/* file and line are the inlined call's, in the next frame out. */
static json_t *json_inlined(const struct location *loc)
{
	json_t *all = json_array();

	for (size_t i = 0; i < loc->inlined_count; i++) {
		const struct inlined_frame *f = &loc->inlined[i];

		json_array_append_new(
			all, json_pack("{s:o, s:o, s:o}", "function", json_known(f->function),
				       "file", json_known(f->file), "line", json_line(f->line)));
	}
	return all;
}

static json_t *json_location(struct json_report *r, uint32_t space, uint32_t epoch, uint64_t addr,
			     bool is_return)
{
	struct location loc;

	symbols_lookup(r->s, space, epoch, addr, is_return, &loc);
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "addr", json_hex(addr),
			 "module", json_known(loc.module), "vaddr",
			 loc.in_file ? json_hex(loc.vaddr) : json_null(), "build_id",
			 json_known(loc.build_id), "function", json_known(loc.function), "offset",
			 *loc.function ? json_integer((json_int_t)loc.offset) : json_null(), "file",
			 json_known(loc.file), "line", json_line(loc.line), "inlined",
			 json_inlined(&loc));
}

static json_t *json_arguments(struct slice argv)
{
	json_t *all = json_array();

	for (size_t at = 0; at < argv.len;) {
		size_t len = strnlen((const char *)argv.at + at, argv.len - at);

		json_array_append_new(all, json_bytes(slice_of(argv.at + at, len)));
		at += len + 1;
	}
	return all;
}

static json_t *json_time(uint64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;
	char text[40];

	if (!gmtime_r(&seconds, &tm) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm))
		return json_null();
	return json_sprintf("%s.%09uZ", text, (unsigned)(ns % 1000000000));
}

static json_t *json_uuid(const uint8_t u[BT_UUID_SIZE])
{
	char text[2 * BT_UUID_SIZE + 5];
	size_t n = 0;

	for (size_t i = 0; i < BT_UUID_SIZE; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%02x",
				      i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
	return json_string(text);
}

static json_t *json_tick_classes(uint32_t classes)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} rows[] = {{BT_TICK_JCC, "jcc"}, {BT_TICK_JRCXZ, "jrcxz"}, {BT_TICK_LOOP, "loop"}};
	json_t *all = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (classes & rows[i].bit)
			json_array_append_new(all, json_string(rows[i].name));
	return all;
}

json_t *json_trace(const struct json_report *r)
{
	const struct bt_record_header *h = &r->m->trace->header;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "uuid",
			 json_uuid(r->m->trace->uuid), "command", json_arguments(h->argv),
			 "started", json_time(h->started), "backend", json_bytes(h->backend),
			 "source", json_bytes(h->source), "tick_classes",
			 json_tick_classes(h->tick_classes), "parallel", h->parallel != 0);
}

static json_t *json_exit(enum bt_exit_kind kind, uint32_t status)
{
	switch (kind) {
	case BT_EXIT_STATUS:
		return json_pack("{s:s, s:I}", "kind", "status", "status", (json_int_t)status);
	case BT_EXIT_SIGNAL:
		return json_pack("{s:s, s:o}", "kind", "signal", "signal", json_signal(status));
	default:
		return json_pack("{s:s}", "kind", "unknown");
	}
}

static json_t *json_end(const struct json_report *r)
{
	enum bt_exit_kind kind;
	uint32_t status;
	bool core;

	return focus_exit(r->m, &kind, &status, &core) ? json_exit(kind, status)
						       : json_exit(BT_EXIT_UNKNOWN, 0);
}

/* The fault is the trace's, even if the branches are another thread's. */
static json_t *json_fault(struct json_report *r, const struct model_snapshot *snap)
{
	const struct model_task *task;
	char code[SIGNAL_NAME_MAX];
	struct fault f;

	if (!focus_is_crash(snap))
		return json_null();
	task = model_task(r->m, snap->rec->task);
	if (fault_explain_snapshot(&f, r->m, r->s, snap, NULL))
		return NULL;
	return json_pack("{s:o, s:s, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "signal",
			 json_signal(snap->signal->signo), "code",
			 signal_code_name(snap->signal->signo, snap->signal->code, code), "address",
			 json_hex(f.address), "pc", json_hex(f.pc), "ticks",
			 json_ticks(snap->rec->point.tick), "task", (json_int_t)snap->rec->task,
			 "pid", (json_int_t)(task ? task->pid : 0), "tid",
			 (json_int_t)(task ? task->tid : 0), "text", json_text(f.text), "message",
			 *f.message ? json_text(f.message) : json_null(), "where",
			 json_location(r, f.space, f.epoch, f.where, f.where_is_return), "caller",
			 f.has_caller
				 ? json_location(r, f.space, f.epoch, f.caller, f.caller_is_return)
				 : json_null());
}

static json_t *json_signature_of_failure(const struct json_report *r)
{
	struct signature sig;
	json_t *functions;
	int rc = signature_make(&sig, r->m, r->s, NULL);

	if (rc)
		return rc > 0 ? json_null() : NULL;
	functions = json_array();
	for (size_t i = 0; i < sig.count; i++)
		json_array_append_new(functions, json_text(sig.functions[i]));
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "hash", json_sprintf("%016" PRIx64, sig.hash),
			 "text", json_text(sig.text), "kind", json_text(sig.kind), "file",
			 json_known(sig.file), "functions", functions);
}

static json_t *json_last_words(const struct bt_record_last_words *r)
{
	return r ? json_pack("{s:o, s:o, s:o, s:o}", "text", json_bytes(r->text), "total",
			     json_sprintf("%" PRIu64, r->total), "first", json_bytes(r->first),
			     "telling", json_bytes(r->telling))
		 : json_null();
}

static json_t *json_processes(const struct json_report *r)
{
	json_t *all = json_array();

	for (size_t i = 0; i < r->m->task_count; i++) {
		const struct model_task *task = &r->m->tasks[i];

		if (task->how == BT_TASK_THREAD)
			continue;
		json_array_append_new(
			all, json_pack("{s:I, s:I, s:o, s:o, s:o}", "pid", (json_int_t)task->pid,
				       "task", (json_int_t)task->task, "command",
				       json_text(task->command), "exit",
				       task->exit ? json_exit(task->exit->kind, task->exit->status)
						  : json_exit(BT_EXIT_UNKNOWN, 0),
				       "last_words", json_last_words(task->last_words)));
	}
	return all;
}

static json_t *json_failures(const struct json_report *r)
{
	json_t *all = json_array();

	for (size_t i = 0; i < r->m->failure_count; i++) {
		const struct model_failure *f = &r->m->failures[i];

		json_array_append_new(
			all, json_pack("{s:I, s:I, s:o, s:o, s:o}", "pid", (json_int_t)f->task->pid,
				       "task", (json_int_t)f->task->task, "command",
				       json_arguments(f->argv), "exit",
				       json_exit(f->exit->kind, f->exit->status), "snapshot",
				       f->snap ? json_integer((json_int_t)f->snap->rec->snapshot)
					       : json_null()));
	}
	return all;
}

static json_t *json_registers(const struct bt_regs *regs)
{
	json_t *j = json_object();

	for (unsigned i = 0; i < BT_REG_COUNT; i++)
		json_object_set_new(j, bt_reg_info[i].name, json_hex(bt_regs_get(regs, i)));
	return j;
}

/* null: the moment has none. */
static json_t *json_vectors(struct slice extended)
{
	json_t *j = extended.len ? json_object() : json_null();
	struct extended_text v;

	for (unsigned i = 0; i < EXTENDED_VECTORS; i++)
		if (extended_state_text(extended, i, &v))
			json_object_set_new(j, v.name, json_string(v.value));
	return j;
}

static json_t *json_values(const struct frame_values *v, enum frame_value_kind kind, size_t part)
{
	json_t *all = json_array();

	for (size_t i = 0; i < v->count; i++)
		if (v->at[i].kind == kind && v->at[i].part == part)
			json_array_append_new(all, json_pack("{s:o, s:o}", "name",
							     json_text(v->at[i].name), "value",
							     json_text(v->at[i].text)));
	return all;
}

static void add_values(json_t *frame, const struct frame_values *v, size_t part)
{
	json_object_set_new(frame, "arguments", json_values(v, VALUE_ARGUMENT, part));
	json_object_set_new(frame, "locals", json_values(v, VALUE_LOCAL, part));
}

/* The values of frame n, in it and in what is inlined into it. values may be NULL. */
static void add_frame_values(json_t *frame, struct thread_values *values, size_t n)
{
	const json_t *inlined = json_object_get(frame, "inlined");
	struct frame_values v = {0};
	size_t parts = json_array_size(inlined);

	if (values)
		frame_values_get(values, n, &v);
	for (size_t i = 0; i < parts; i++)
		add_values(json_array_get(inlined, i), &v, i);
	add_values(frame, &v, parts);
	frame_values_release(&v);
}

static json_t *json_frames(struct json_report *r, const struct bt_record_thread *thread,
			   const struct stack_frame *frames, size_t n,
			   const struct stack_check *check)
{
	size_t valued = check->verdict == STACK_DISAGREES ? check->frame : n;
	json_t *all = json_array();
	struct thread_values *values;

	if (thread_values_open(&values, r->s, r->focus.snap, thread, NULL))
		values = NULL;
	for (size_t i = 0; i < n; i++) {
		json_t *frame = json_location(r, r->focus.snap->rec->space, thread->epoch,
					      frames[i].pc, frames[i].is_return);

		json_object_set_new(frame, "guessed", json_boolean(frames[i].is_guess));
		json_object_set_new(frame, "by_history", json_boolean(frames[i].is_history));
		add_frame_values(frame, i >= valued || frames[i].is_history ? NULL : values, i);
		json_array_append_new(all, frame);
	}
	thread_values_close(values);
	return all;
}

/* The places of the calls, innermost first, without handlers. */
static json_t *json_open_calls(struct json_report *r, const struct bt_record_thread *thread,
			       const struct callstack *calls)
{
	json_t *all = json_array();

	for (size_t i = calls->count; i-- > 0 && json_array_size(all) < OPEN_CALLS_MAX;)
		if (!calls->calls[i].is_handler)
			json_array_append_new(all, json_location(r, r->focus.snap->rec->space,
								 thread->epoch,
								 calls->calls[i].from, false));
	return all;
}

static json_t *json_stack_check(struct json_report *r, const struct bt_record_thread *thread,
				const struct callstack *calls, const struct stack_check *check)
{
	static const char *const verdicts[] = {[STACK_AGREES] = "agrees",
					       [STACK_DISAGREES] = "disagrees",
					       [STACK_UNKNOWN] = "unknown"};
	bool disagrees = check->verdict == STACK_DISAGREES;

	return json_pack(
		"{s:s, s:I, s:I, s:o, s:o}", "verdict", verdicts[check->verdict], "callers",
		(json_int_t)check->callers, "checked", (json_int_t)check->checked, "frame",
		disagrees ? json_integer((json_int_t)check->frame) : json_null(), "open_calls",
		disagrees ? json_open_calls(r, thread, calls) : json_array());
}

/* The unwound frames, those that only the branch history still has, and its judgement of the
 * first. */
static json_t *json_thread(struct json_report *r, const struct bt_record_thread *thread)
{
	bool is_focus = r->focus.task && thread->task == r->focus.task->task, complete = true;
	const struct model_task *task = model_task(r->m, thread->task);
	struct stack_frame *frames = calloc(FRAMES_MAX, sizeof *frames);
	size_t unwound = frames ? symbols_unwind(r->s, r->focus.snap, thread, frames, FRAMES_MAX,
						 &complete)
				: 0,
	       n = unwound;
	struct history own = {0};
	const struct history *h = is_focus ? &r->focus.history : &own;
	struct callstack calls = {0};
	struct stack_check check = {.verdict = STACK_UNKNOWN};
	char call[SYSCALL_NAME_MAX];
	json_t *j;

	if (frames && (is_focus || !history_load_calls(&own, r->m, thread->task, NULL, NULL))) {
		callstack_build(&calls, h, r->s, history_index(h, thread->position));
		check = callstack_check(&calls, frames, n);
	}
	if (!complete)
		n = callstack_extend(&calls, &check, frames, n, FRAMES_MAX);
	j = json_pack(
		"{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o}", "task",
		(json_int_t)thread->task, "pid", (json_int_t)(task ? task->pid : 0), "tid",
		(json_int_t)(task ? task->tid : 0), "ticks", json_ticks(thread->point.tick),
		"ticks_since_main",
		json_ticks(model_since_main(r->m, thread->task, thread->point.tick)), "in_syscall",
		thread->in_syscall ? json_string(syscall_of(&thread->regs, call)) : json_null(),
		"registers", json_registers(&thread->regs), "vectors",
		json_vectors(thread->extended), "stack", json_frames(r, thread, frames, n, &check),
		"unwound", (json_int_t)unwound, "stack_end",
		json_string(complete                                ? "outermost"
			    : unwound && frames[unwound - 1].is_cut ? "trace"
								    : "unknown"),
		"by_history", json_stack_check(r, thread, &calls, &check));
	callstack_release(&calls);
	history_release(&own);
	free(frames);
	return j;
}

/* Newest first. */
static json_t *json_throws(struct json_report *r)
{
	const struct model_snapshot *throws[THROWS_MAX];
	size_t all,
		n = r->focus.snap ? throws_until(r->m, r->focus.snap, throws, THROWS_MAX, &all) : 0;
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		struct thrown t;

		thrown_read(&t, r->s, throws[i]);
		json_array_append_new(
			list, json_pack("{s:I, s:I, s:o, s:o, s:o, s:o}", "snapshot",
					(json_int_t)throws[i]->rec->snapshot, "task",
					(json_int_t)throws[i]->rec->task, "ticks",
					json_ticks(throws[i]->rec->point.tick), "type",
					json_known(t.type), "what", json_known(t.what), "where",
					t.has_place ? json_location(r, throws[i]->rec->space,
								    t.epoch, t.addr, true)
						    : json_null()));
	}
	return list;
}

static json_t *json_threads(struct json_report *r)
{
	const struct model_snapshot *snap = r->focus.snap;
	json_t *all = json_array();

	if (r->focus.thread)
		json_array_append_new(all, json_thread(r, r->focus.thread));
	for (size_t i = 0; snap && i < snap->thread_count; i++)
		if (snap->threads[i] != r->focus.thread)
			json_array_append_new(all, json_thread(r, snap->threads[i]));
	return all;
}

static json_t *json_snapshots(const struct json_report *r)
{
	static const char *const kinds[BT_SNAPSHOT_KINDS] = {
		[BT_SNAPSHOT_FAULT] = "fault",       [BT_SNAPSHOT_SIGNAL] = "signal",
		[BT_SNAPSHOT_FATAL] = "fatal",       [BT_SNAPSHOT_EXIT] = "exit",
		[BT_SNAPSHOT_REQUEST] = "request",   [BT_SNAPSHOT_IMPORT] = "import",
		[BT_SNAPSHOT_FUNCTION] = "function", [BT_SNAPSHOT_FAILURE] = "failure",
		[BT_SNAPSHOT_MESSAGE] = "message",
	};
	json_t *all = json_array();

	for (size_t i = 0; i < r->m->snapshot_count; i++) {
		const struct bt_record_snapshot *s = r->m->snapshots[i].rec;

		json_array_append_new(
			all,
			json_pack("{s:I, s:s, s:I, s:o}", "event", (json_int_t)s->event, "kind",
				  s->kind < BT_SNAPSHOT_KINDS ? kinds[s->kind] : "unknown", "task",
				  (json_int_t)s->task, "ticks", json_ticks(s->point.tick)));
	}
	return all;
}

/* The text of a location, from the cache. A million branches are at a few thousand places. */
static const char *location_text(struct json_report *r, uint32_t space, uint32_t epoch,
				 uint64_t addr)
{
	uint64_t hash =
		(addr ^ (uint64_t)epoch << 40 ^ (uint64_t)space << 52) * 0x9e3779b97f4a7c15u;
	struct location_text *at = &r->cache[hash >> (64 - JSON_CACHE_BITS)];
	json_t *location;

	if (at->text && at->addr == addr && at->space == space && at->epoch == epoch)
		return at->text;
	location = json_location(r, space, epoch, addr, false);
	free(at->text);
	*at = (struct location_text){addr, space, epoch,
				     location ? json_dumps(location, JSON_FLAGS) : NULL};
	json_decref(location);
	r->failed |= !at->text;
	return at->text ? at->text : "null";
}

/* Names of kinds are words: nothing in them needs an escape. */
void json_put_branch(struct json_report *r, const struct history *h, const struct history_entry *e)
{
	uint32_t space, epoch;

	fprintf(r->to, "{\"task\":%" PRIu32 ",\"ticks\":", h->task);
	if (e->tick == BT_TICKS_UNKNOWN)
		fputs("null", r->to);
	else
		fprintf(r->to, "\"%" PRIu64 "\"", e->tick);
	fprintf(r->to, ",\"kind\":\"%s\",\"taken\":%s,\"from\":", bt_branch_info[e->kind].name,
		e->flags & BT_BRANCH_TAKEN ? "true" : "false");
	fputs(location_text(r, e->space, e->epoch, e->from), r->to);
	fputs(",\"to\":", r->to);
	history_target(h, e, &space, &epoch);
	fputs(location_text(r, space, epoch, e->to), r->to);
	fputs("}", r->to);
}

/* The entry to begin with, so that `count` branches that pass the filter follow. */
static size_t first_entry(struct json_report *r)
{
	size_t i = r->focus.end, found = 0;

	while (i > 0 && (!r->o->count || found < r->o->count)) {
		const struct history_entry *e = &r->focus.history.entries[--i];

		found += e->kind != BT_BRANCH_GAP &&
			 focus_shows(&r->focus.history, e, r->s, r->o->function);
	}
	return i;
}

/* One member of the report, a line; takes the value over. */
void json_put_member(struct json_report *r, const char *name, json_t *value)
{
	if (!value)
		r->failed = true;
	fprintf(r->to, ",\n\"%s\": ", name);
	json_dumpf(value, r->to, JSON_FLAGS | JSON_ENCODE_ANY);
	json_decref(value);
}

static json_t *json_gap(const struct json_report *r, const struct history_entry *e)
{
	return json_pack("{s:I, s:I, s:s}", "task", (json_int_t)r->focus.history.task, "before",
			 (json_int_t)r->branches, "reason",
			 e->to < BT_GAP_REASONS ? bt_gap_info[e->to].name : "unknown");
}

/* A history is long: its branches are written one by one, never all in memory. */
static void put_branches(struct json_report *r)
{
	json_t *gaps = json_array();

	fputs(",\n\"branches\": [", r->to);
	for (size_t i = first_entry(r); i < r->focus.end && !r->failed; i++) {
		const struct history_entry *e = &r->focus.history.entries[i];

		if (e->kind == BT_BRANCH_GAP)
			json_array_append_new(gaps, json_gap(r, e));
		if (e->kind == BT_BRANCH_GAP ||
		    !focus_shows(&r->focus.history, e, r->s, r->o->function))
			continue;
		r->reliable += i < r->verdict.from;
		fputs(r->branches++ ? ",\n" : "\n", r->to);
		json_put_branch(r, &r->focus.history, e);
	}
	fputs("]", r->to);
	json_put_member(r, "gaps", gaps);
}

json_t *json_missing(const struct json_report *r)
{
	static const char *const whats[] = {
		[MISSING_FILE] = "file",       [MISSING_CHANGED] = "changed",
		[MISSING_UNKNOWN] = "unknown", [MISSING_SYMBOLS] = "symbols",
		[MISSING_DEBUG] = "debug",     [MISSING_UNPACKED] = "unpacked",
		[MISSING_SPLIT] = "split",     [MISSING_PACKAGE] = "package",
		[MISSING_SOURCE] = "source",   [MISSING_KEPT] = "kept",
		[MISSING_VOUCHED] = "vouched", [MISSING_REFUSED] = "refused",
		[MISSING_SLOW] = "slow"};
	json_t *all = json_array();
	size_t count;
	const struct missing_module *missing = symbols_missing(r->s, &count);

	for (size_t i = 0; i < count; i++)
		json_array_append_new(
			all,
			json_pack("{s:o, s:o, s:s, s:o*}", "module", json_text(missing[i].module),
				  "build_id", json_known(missing[i].build_id), "what",
				  whats[missing[i].what], "file",
				  missing[i].source ? json_text(missing[i].source) : NULL));
	return all;
}

static json_t *json_verdict(const struct json_report *r)
{
	const struct verdict *v = &r->verdict;
	bool bad = v->state == VERDICT_INCONSISTENT;

	return json_pack("{s:s, s:o, s:I}", "state",
			 bad          ? "inconsistent"
			 : v->damaged ? "partly"
				      : "consistent",
			 "from", bad ? json_integer((json_int_t)r->reliable) : json_null(),
			 "checked", (json_int_t)v->checked);
}

static void put_report(struct json_report *r)
{
	fputs("{\"schema\": \"btrec-report/1\"", r->to);
	json_put_member(r, "trace", json_trace(r));
	json_put_member(r, "exit", json_end(r));
	json_put_member(r, "fault", json_fault(r, focus_explaining(r->m)));
	json_put_member(r, "signature", json_signature_of_failure(r));
	json_put_member(r, "processes", json_processes(r));
	json_put_member(r, "failures", json_failures(r));
	json_put_member(r, "threads", json_threads(r));
	json_put_member(r, "snapshots", json_snapshots(r));
	json_put_member(r, "throws", json_throws(r));
	json_put_member(r, "waits", json_waits(r));
	json_put_member(r, "failed_calls", json_failed_calls(r));
	json_put_member(r, "calls", json_calls(r));
	put_branches(r);
	/* missing comes last: look-ups find more of it */
	json_put_member(r, "missing", json_missing(r));
	json_put_member(r, "verdict", json_verdict(r));
	fputs("}\n", r->to);
}

bool json_report_init(struct json_report *r, FILE *to, const struct model *m, struct symbols *s,
		      const struct report_options *o)
{
	*r = (struct json_report){.to = to,
				  .m = m,
				  .s = s,
				  .o = o,
				  .cache = calloc((size_t)1 << JSON_CACHE_BITS, sizeof *r->cache)};
	return r->cache;
}

void json_report_release(struct json_report *r)
{
	for (size_t i = 0; r->cache && i < (size_t)1 << JSON_CACHE_BITS; i++)
		free(r->cache[i].text);
	free(r->cache);
}

int json_print(FILE *to, const struct model *m, struct symbols *s, const struct report_options *o,
	       struct bt_error *err)
{
	struct json_report r;
	bool ready = json_report_init(&r, to, m, s, o);
	int rc = focus_open(&r.focus, m, o, err);

	if (!rc && !ready)
		rc = bt_no_memory(err, "the report");
	if (!rc)
		rc = verdict_find(&r.verdict, &r.focus.history, r.focus.end, m, r.focus.thread,
				  err);
	if (!rc) {
		put_report(&r);
		if (r.failed)
			rc = bt_no_memory(err, "the report");
		else if (o->function && !r.branches)
			rc = 1;
	}
	focus_close(&r.focus);
	json_report_release(&r);
	return rc;
}
