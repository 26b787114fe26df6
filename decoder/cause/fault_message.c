/* SPDX-License-Identifier: MIT */
/* The moment at which a process wrote to its standard error for the first time, which failed later.
 * Both places are said, and how far they are from each other: that the one led to the other is not
 * known. */
#include <inttypes.h>
#include <string.h>

#include "decoder/cause/fault_private.h"
#include "decoder/cause/focus.h"
#include "decoder/cause/own_code.h"
#include "decoder/model/signals.h"
#include "decoder/symbols/text.h"

/* The newest snapshot of a wanted kind of the moment's process and program. NULL: none was kept. */
static const struct model_snapshot *moment_of(const struct fault_context *c, bool wanted(uint8_t))
{
	const struct model_task *task = model_task(c->m, c->snap->rec->task), *other;

	for (size_t i = c->m->snapshot_count; task && i-- > 0;) {
		other = model_task(c->m, c->m->snapshots[i].rec->task);
		if (wanted(c->m->snapshots[i].rec->kind) && other && other->pid == task->pid &&
		    c->m->snapshots[i].rec->space == c->snap->rec->space)
			return &c->m->snapshots[i];
	}
	return NULL;
}

static bool is_exit(uint8_t kind)
{
	return kind == BT_SNAPSHOT_EXIT || kind == BT_SNAPSHOT_FAILURE;
}

static bool is_message(uint8_t kind) { return kind == BT_SNAPSHOT_MESSAGE; }

bool fault_own_place(struct fault_context *c, const struct model_snapshot *snap,
		     struct own_place *place)
{
	const struct bt_record_thread *thread = focus_thread(snap, snap->rec->task);
	struct fault f = {.space = snap->rec->space};
	struct fault_context other = {
		.f = &f, .m = c->m, .s = c->s, .snap = snap, .thread = thread};
	struct own_code *own;
	bool found = false;

	if (!thread)
		return false;
	if (!own_code_open(&own, c->m, c->s, snap, thread, NULL)) {
		found = own_code_frame(own, snap, thread, place);
		own_code_close(own);
	}
	if (found)
		return true;
	f.pc = thread->regs.rip;
	f.epoch = thread->epoch;
	other.regs = &thread->regs;
	other.h = c->h && c->h->task == snap->rec->task ? c->h : NULL;
	other.end = other.h ? history_index(c->h, snap->rec->position) : 0;
	if (!fault_blame_own_place(&other))
		return false;
	*place = (struct own_place){f.where, f.where_is_return};
	return true;
}

static void say_place(struct fault_context *c, const struct model_snapshot *snap,
		      struct own_place place)
{
	const struct bt_record_thread *thread = focus_thread(snap, snap->rec->task);
	struct inlined_frame part;
	struct location loc;
	char name[160];

	symbols_lookup(c->s, snap->rec->space, thread->epoch, place.addr, place.is_return, &loc);
	part = own_code_part(&loc);
	if (!*part.function)
		return;
	text_brief_name(name, sizeof name, part.function);
	fault_say(c, ", at %s", name);
	if (*part.file)
		fault_say(c, " (%.200s:%d)", text_basename(part.file), part.line);
}

static void say_place_of(struct fault_context *c, const struct model_snapshot *snap)
{
	struct own_place place;

	if (fault_own_place(c, snap, &place))
		say_place(c, snap, place);
}

/* Ticks from a message to an end of the same task. */
static void say_distance(struct fault_context *c, const struct model_snapshot *message,
			 const struct model_snapshot *end)
{
	uint64_t from = message->rec->point.tick, to = end->rec->point.tick;

	if (message->rec->task == end->rec->task && from <= to && to != BT_TICKS_UNKNOWN)
		fault_say(c, " %" PRIu64 " tick%s before", to - from, to - from == 1 ? "" : "s");
}

static void say_end(struct fault_context *c, const struct bt_record_exit *end,
		    const struct model_snapshot *snap)
{
	char name[SIGNAL_NAME_MAX];

	if (!end)
		fault_say(c, "the process");
	else if (end->kind == BT_EXIT_SIGNAL)
		fault_say(c, "killed by %s", signal_name(end->status, name));
	else
		fault_say(c, "exit with status %u", end->status);
	if (snap)
		say_place_of(c, snap);
}

/* The first line that is not blank, as far as it is known: many programs set their message off by
 * an empty line. */
static void brief_message(struct fault_context *c)
{
	const struct bt_record_last_words *words = c->snap->last_words;
	struct slice text = words && words->first.len ? words->first
			    : words                   ? words->text
						      : (struct slice){0};
	const char *end;
	size_t len;

	while (text.len && text.at[0] && strchr(" \t\r\n", text.at[0]))
		slice_take(&text, 1);
	end = text.len ? memchr(text.at, '\n', text.len) : NULL;
	len = end ? (size_t)(end - (const char *)text.at) : text.len;
	if (len)
		fault_brief(c, "%.*s", (int)(len < FAULT_TEXT_MAX ? len : FAULT_TEXT_MAX),
			    (const char *)text.at);
}

/* Says it, and makes it the one to look at. */
static void take_own_place(struct fault_context *c, const struct model_snapshot *snap)
{
	const struct bt_record_thread *thread = focus_thread(snap, snap->rec->task);
	struct own_place place;

	if (!fault_own_place(c, snap, &place))
		return;
	say_place(c, snap, place);
	c->f->where = place.addr;
	c->f->where_is_return = place.is_return;
	c->f->epoch = thread->epoch;
	c->f->has_insn = false;
	c->f->value_count = 0;
}

void fault_explain_message(struct fault_context *c)
{
	const struct model_snapshot *end = moment_of(c, is_exit);

	say_end(c, model_process_end(c->m, c->snap->rec->task), end);
	fault_say(c, "; its first message to standard error was written");
	if (end)
		say_distance(c, c->snap, end);
	take_own_place(c, c->snap);
	brief_message(c);
}

void fault_say_message_before(struct fault_context *c)
{
	const struct model_snapshot *message = moment_of(c, is_message);
	struct own_place end;

	if (!message)
		return;
	fault_say(c, "; its first message to standard error was written");
	say_distance(c, message, c->snap);
	/* Of an end in a library's code, as a sanitizer's behind exit(3), the message tells more.
	 */
	if (fault_own_place(c, c->snap, &end))
		say_place_of(c, message);
	else
		take_own_place(c, message);
	fault_say(c, " (--snapshot %u)", message->rec->snapshot);
}
