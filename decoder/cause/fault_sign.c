/* SPDX-License-Identifier: MIT */
/* The moment at which a function is entered that is a first sign of failure. The function says what
 * has failed, the stack where. How the process ended is said behind it, without a claim that one
 * led to the other. */
#include <string.h>

#include "decoder/cause/fault_private.h"
#include "decoder/cause/goroutine.h"
#include "decoder/model/signals.h"
#include "decoder/symbols/text.h"
#include "lib/array_size.h"

static const struct {
	const char *function;
	const char *kind; /* of struct fault */
	const char *text;
} sign_texts[] = {
	{"abort", "abort", "the program called abort"},
	{"__assert_fail", "assertion", "an assertion failed"},
	{"__assert_perror_fail", "assertion", "an assertion failed"},
	{"__stack_chk_fail", "stack smashing",
	 "stack smashing detected: a function wrote past a buffer on its stack"},
	{"__fortify_fail", "fortify check", "a checking library function found an error"},
	{"__chk_fail", "buffer overflow",
	 "buffer overflow detected by a checking library function"},
	{"__libc_fatal", "libc error", "libc found an error it cannot go on from"},
	{"__cxa_throw", "exception", "an exception was thrown"},
	{"__cxa_rethrow", "exception", "an exception was thrown again"},
	{"std::terminate", "terminate", "std::terminate was called"},
	{"__cxa_pure_virtual", "pure virtual call", "a pure virtual function was called"},
	{"rust_begin_unwind", "panic", "Rust code panicked"},
	{"begin_panic", "panic", "Rust code panicked"},
	{"runtime.gopanic", "panic", "Go code panicked"},
	{"runtime.fatalpanic", "panic", "Go code panicked, and no deferred function recovered"},
	{"runtime.throw", "Go runtime error", "the Go runtime found an error it cannot go on from"},
	{"runtime.fatal", "Go runtime error", "the Go runtime found an error it cannot go on from"},
	{"__asan_report_load", "AddressSanitizer", "AddressSanitizer found a bad read"},
	{"__asan_report_store", "AddressSanitizer", "AddressSanitizer found a bad write"},
	{"__asan_on_error", "AddressSanitizer", "AddressSanitizer found an error"},
	{"__ubsan_handle_", "UndefinedBehaviorSanitizer",
	 "UndefinedBehaviorSanitizer found an error"},
	{"__tsan_on_report", "ThreadSanitizer", "ThreadSanitizer found an error"},
	{"__msan_warning", "MemorySanitizer",
	 "MemorySanitizer found a use of a value that was never set"},
};

static bool is_of_exceptions(struct slice label)
{
	return slice_is(label, "__cxa_throw") || slice_is(label, "std::terminate");
}

static void say_function(struct fault_context *c, struct slice label)
{
	for (size_t i = 0; i < ARRAY_SIZE(sign_texts); i++)
		if (label.len == strlen(sign_texts[i].function) &&
		    !memcmp(label.at, sign_texts[i].function, label.len)) {
			fault_say(c, "%s", sign_texts[i].text);
			fault_set_kind(c, "%s", sign_texts[i].kind);
			if (!is_of_exceptions(label) || !fault_brief_thrown(c))
				fault_brief(c, "%s", sign_texts[i].text);
			return;
		}
	fault_set_kind(c, "%.*s", (int)(label.len > 200 ? 200 : label.len), (const char *)label.at);
	fault_say(c, "%.*s was entered", (int)(label.len > 200 ? 200 : label.len),
		  (const char *)label.at);
}

/* Of an error of Go's runtime no thread may have the stack of a goroutine. */
static void say_goroutine(struct fault_context *c)
{
	const struct bt_record_last_words *words = c->snap->last_words;
	struct goroutine_frame frame;
	struct goroutine g;

	if (!words || strcmp(c->f->kind, "Go runtime error") != 0 ||
	    (!goroutine_find(&g, words->text) && !goroutine_find(&g, words->first)) ||
	    !goroutine_next_own(&g, &frame))
		return;
	fault_say(c, "; goroutine 1 was at %s (%s:%d)", frame.function, text_basename(frame.file),
		  frame.line);
}

void fault_explain_sign(struct fault_context *c)
{
	const struct bt_record_exit *end = model_process_end(c->m, c->snap->rec->task);
	char name[SIGNAL_NAME_MAX];

	say_function(c, c->snap->rec->label);
	if (!fault_blame_own_place(c))
		say_goroutine(c);
	if (end && end->kind == BT_EXIT_SIGNAL)
		fault_say(c, "; later the process was killed by %s",
			  signal_name(end->status, name));
	else if (end && end->kind == BT_EXIT_STATUS)
		fault_say(c, "; later the process exited with status %u", end->status);
}
