/* SPDX-License-Identifier: MIT */
/* In the JSON: what the threads of a moment from outside wait for, and why some can never go on. */
#include <inttypes.h>

#include "decoder/cause/fault.h"
#include "decoder/cause/waits.h"
#include "decoder/report/json_private.h"

static json_t *json_wait(const struct json_report *r, const struct wait *w)
{
	static const char *const kinds[] = {
		[WAIT_NONE] = "none",       [WAIT_CALL] = "call",
		[WAIT_FUTEX] = "futex",     [WAIT_LOCK] = "lock",
		[WAIT_OBJECT] = "object",   [WAIT_PRIVATE] = "library lock",
		[WAIT_JOIN] = "thread end", [WAIT_REFUSED] = "refused lock",
	};
	static const char *const owners[] = {
		[OWNER_LIVES] = "lives",
		[OWNER_ENDED] = "ended",
		[OWNER_ELSEWHERE] = "other process",
	};
	char text[WAIT_TEXT_MAX];

	wait_text(text, w, r->s, r->focus.snap);
	return json_pack(
		"{s:I, s:s, s:o, s:o, s:o, s:o, s:b, s:b, s:o}", "task",
		(json_int_t)w->thread->task, "kind", kinds[w->kind], "what",
		*w->what ? json_text(w->what) : json_null(), "address",
		w->object ? json_sprintf("0x%" PRIx64, w->object) : json_null(), "owner",
		w->owner_task ? json_integer((json_int_t)w->owner_task->task) : json_null(),
		"owner_state",
		owners[w->owner_state] ? json_string(owners[w->owner_state]) : json_null(), "timed",
		w->is_timed, "deadlocked", wait_is_dead(w), "text", json_text(text));
}

json_t *json_waits(const struct json_report *r)
{
	const struct model_snapshot *snap = r->focus.snap;
	const struct wait *first;
	char text[WAIT_TEXT_MAX];
	struct waits w = {0};
	json_t *threads = json_array();

	if (!snap || !fault_is_from_outside(r->m, snap)) {
		json_decref(threads);
		return json_null();
	}
	if (waits_find(&w, r->m, r->s, snap, NULL)) {
		json_decref(threads);
		waits_release(&w);
		return NULL;
	}
	for (size_t i = 0; i < w.count; i++)
		json_array_append_new(threads, json_wait(r, &w.at[i]));
	waits_deadlock_text(text, &w, r->s, snap, &first);
	waits_release(&w);
	return json_pack("{s:o, s:o}", "deadlock", *text ? json_text(text) : json_null(), "threads",
			 threads);
}
