/* SPDX-License-Identifier: MIT */
/* System calls in the JSON: those that failed before the end, and the last ones of all. */
#include <inttypes.h>

#include "decoder/cause/failed_calls.h"
#include "decoder/report/json_private.h"
#include "syscalls/syscall_names.h"

enum {
	LAST_CALLS = 1000,
};

static json_t *json_of(struct buf *text)
{
	json_t *j;

	buf_u8(text, 0);
	j = text->failed ? NULL : json_text((const char *)text->data);
	buf_release(text);
	return j;
}

/* NULL where they are not known, as they are not of 32-bit code. */
static json_t *json_call_arguments(const struct syscall_known *known)
{
	const struct syscall_shape *shape = syscall_shape(known->nr);
	json_t *all = known->has_args && !known->compat ? json_array() : json_null();

	for (unsigned i = 0; json_is_array(all) && i < syscall_arg_count(shape); i++) {
		struct buf text = {0};

		syscall_put_arg(&text, known, i);
		json_array_append_new(all,
				      json_pack("{s:s, s:o, s:o}", "name", shape->args[i].name,
						"value", json_sprintf("0x%" PRIx64, known->args[i]),
						"text", json_of(&text)));
	}
	return all;
}

static json_t *json_call(const struct system_call *call)
{
	const struct syscall_known *known = &call->known;
	const char *error =
		syscall_has_failed(known) ? syscall_errno_name((uint32_t)-known->result) : NULL;
	char name[SYSCALL_NAME_MAX];
	struct buf text = {0};

	syscall_put_call(&text, known);
	syscall_put_result(&text, known);
	return json_pack(
		"{s:I, s:o, s:s, s:o, s:o, s:o, s:o}", "task", (json_int_t)call->task, "ticks",
		call->tick == BT_TICKS_UNKNOWN ? json_null() : json_sprintf("%" PRIu64, call->tick),
		"name", (known->compat ? syscall_name_32 : syscall_name)(known->nr, name),
		"arguments", json_call_arguments(known), "result",
		known->has_result ? json_sprintf("%" PRId64, (int64_t)known->result) : json_null(),
		"error", error ? json_string(error) : json_null(), "text", json_of(&text));
}

json_t *json_failed_calls(const struct json_report *r)
{
	struct failed_calls f;
	json_t *all = failed_calls_find(&f, r->m, &r->focus, NULL) ? NULL : json_array();

	for (size_t i = 0; all && i < f.count; i++) {
		json_t *call = json_call(f.shown[i]);

		json_object_set_new(call, "times", json_integer((json_int_t)f.repeated[i]));
		json_array_append_new(all, call);
	}
	failed_calls_release(&f);
	return all;
}

json_t *json_calls(const struct json_report *r)
{
	struct system_calls_wanted wanted = {
		.task = r->focus.task ? r->focus.task->task : 0,
		.until = r->focus.snap && !focus_is_outside(&r->focus) ? r->focus.snap->until
								       : UINT64_MAX,
		.most = LAST_CALLS,
	};
	struct system_calls calls = {0};
	json_t *all =
		wanted.task && system_calls_find(&calls, r->m, &wanted, NULL) ? NULL : json_array();

	for (size_t i = 0; all && i < calls.count; i++)
		json_array_append_new(all, json_call(&calls.at[i]));
	system_calls_release(&calls);
	return all;
}
