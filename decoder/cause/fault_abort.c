/* SPDX-License-Identifier: MIT */
/* The program's place to look at when the snapshot's own place is in the language's runtime: why
 * the program ended itself, and where it called the library that faulted or waits.
 *
 * The stack is unwound. For an abort its functions are looked up in a table, most telling first
 * (abort_reasons), which gives the words. The place to blame is the first one behind that is the
 * program's own (own_place()). If memory does not tell one, it is the newest call that the branch
 * history left open (own_open_call()).
 *
 * A place is the runtime's by its module, by the function's name, or by where its source is.
 * Inlining puts functions of both into one place: a place is the program's own if any of its
 * functions is, and the innermost of these is named (own_part()).
 *
 * libc's message (__abort_msg) is shown if the stack shows that libc has ended the program, or if
 * there is no stack to contradict it: an old message stays in memory. */
#include <stdio.h>
#include <string.h>

#include "decoder/cause/callstack.h"
#include "decoder/cause/fault_private.h"
#include "decoder/cause/own_code.h"
#include "decoder/cause/throws.h"
#include "decoder/symbols/text.h"
#include "lib/abort_message.h"
#include "lib/array_size.h"

enum {
	FRAMES_MAX = 32, /* between the moment and the program's own place */
};

/* Where a panic of a destructor has unwound to, which ran for another panic (library/core). */
static const char cleanup_panic[] = "core::panicking::panic_in_cleanup";

/* Names that mark the end of a program for an exception that may not leave a function
 * (fault_noexcept.c). */
static const char personality[] = "__gxx_personality_v0",
		  clang_landing[] = "__clang_call_terminate",
		  stopped_exception[] = "an exception met a function that none may leave";

/* Functions on the stack when a program ends itself, most telling first. */
static const struct abort_reason {
	const char *function;
	const char *kind; /* of struct fault */
	const char *text;
	bool is_libc; /* libc's own function: it leaves a message before it aborts */
} abort_reasons[] = {
	{"__assert_fail", "assertion", "an assertion failed", true},
	{"__assert_fail_base", "assertion", "an assertion failed", true},
	{"__assert_perror_fail", "assertion", "an assertion failed", true},
	{"std::__glibcxx_assert_fail", "assertion", "an assertion of the C++ library failed",
	 false},
	{"__stack_chk_fail", "stack smashing",
	 "stack smashing detected: a function wrote past a buffer on its stack", true},
	{"__chk_fail", "buffer overflow", "buffer overflow detected by a checking library function",
	 true},
	{"__fortify_fail", "fortify check", "a checking library function found an error", true},
	{"__cxa_pure_virtual", "pure virtual call", "a pure virtual function was called", false},
	{personality, "uncaught exception", stopped_exception, false},
	{clang_landing, "uncaught exception", stopped_exception, false},
	{"__cxa_throw", "uncaught exception", "an exception was thrown and not caught", false},
	{"__cxa_rethrow", "uncaught exception", "an exception was thrown again and not caught",
	 false},
	{cleanup_panic, "panic in a destructor",
	 "Rust code panicked in a destructor while another panic unwound the stack", false},
	{"rust_begin_unwind", "panic", "Rust code panicked", false},
	{"__rustc::rust_begin_unwind", "panic", "Rust code panicked", false},
	{"std::panicking::panic_with_hook", "panic", "Rust code panicked",
	 false}, /* names of runtimes change */
	{"std::sys::unix::stack_overflow::imp::signal_handler", "stack overflow",
	 "stack overflow, found by Rust's handler", false},
	{"std::sys::pal::unix::stack_overflow::imp::signal_handler", "stack overflow",
	 "stack overflow, found by Rust's handler", false},
	{"std::thread::~thread", "terminate",
	 "a std::thread was destroyed that was neither joined nor detached", false},
	{"std::terminate", "terminate", "std::terminate was called", false},
	{"malloc_printerr", "corrupt heap",
	 "malloc found its data overwritten, memory freed twice, or a pointer to no block of its "
	 "own",
	 true},
	{"__libc_fatal", "libc error", "libc found an error it cannot go on from", true},
	{"__asan_report_error", "AddressSanitizer", "AddressSanitizer found an error", false},
	{"__asan::ScopedInErrorReport::~ScopedInErrorReport", "AddressSanitizer",
	 "AddressSanitizer found an error", false},
	{"__sanitizer::Die", "sanitizer", "a sanitizer ended the program", false},
	{"abort", "abort", "abort was called", false},
};

/* Some have names with __ or __libc_ before. */
static const char *const allocators[] = {"malloc",  "free",     "cfree",        "calloc",
					 "realloc", "memalign", "operator new", "operator delete"};

/* Functions of the runtime in statically linked programs. */
static const char *const runtime_functions[] = {"_start",
						"restore_rt",
						"__clang_call_terminate",
						"_int_malloc",
						"_int_free",
						"_int_realloc",
						"_int_memalign",
						"malloc_consolidate",
						"munmap_chunk",
						"unlink_chunk",
						"sysmalloc",
						"_int_free_chunk",
						"_int_free_merge_chunk",
						"tcache_double_free_verify",
						"rust_panic",
						"rust_begin_unwind",
						"rust_eh_personality"};

/* Beginnings of names: of C++ and Rust, of Go, of sanitizers. */
static const char *const runtime_scopes[] = {
	"std::",    "__rustc::",     "__gnu_cxx::",   "__cxxabiv1::", "_Unwind_",
	"runtime.", "__sanitizer::", "__asan",        "__ubsan",      "__tsan",
	"__msan",   "__lsan",        "__interceptor_"};

/* For Rust alone: a C++ program may have a namespace core. */
static const char *const rust_scopes[] = {"core::", "alloc::", "<std::", "<core::", "<alloc::"};

struct place_on_stack {
	uint64_t addr;
	bool is_return;
	struct location loc;
};

static bool is_named(const char *function, const char *wanted)
{
	static const char alias[] = "__GI_"; /* libc's internal names of its own functions */
	size_t n = strlen(wanted);

	if (!strncmp(function, alias, sizeof alias - 1))
		function += sizeof alias - 1;
	return !strncmp(function, wanted, n) && (!function[n] || strchr("(@.[", function[n]));
}

static bool is_one_of(const char *function, const char *const *all, size_t n)
{
	if (!strncmp(function, "__libc_", 7))
		function += 7;
	else if (!strncmp(function, "__", 2))
		function += 2;
	for (size_t i = 0; i < n; i++)
		if (is_named(function, all[i]))
			return true;
	return false;
}

static bool begins_as_one_of(const char *name, const char *const *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(name, all[i], strlen(all[i])))
			return true;
	return false;
}

static bool is_in_runtime(const struct location *loc)
{
	return own_code_is_toolchain_library(loc->module);
}

/* Names of C++ functions have their parameters behind them. */
static bool has_parameters(const char *function)
{
	unsigned depth = 0;

	for (; *function && (depth || *function != '('); function++)
		depth += *function == '<' ? 1 : *function == '>' && depth ? -1u : 0;
	return *function;
}

/* A Rust runtime trait's method of a built-in type: <usize as
 * core::slice::index::SliceIndex<[T]>>::index. */
static bool is_of_builtin_type(const char *function)
{
	const char *trait = *function == '<' ? strstr(function, " as ") : NULL,
		   *scope = trait ? strstr(function, "::") : NULL;

	return trait && scope > trait &&
	       (!strncmp(trait + 4, "core::", 6) || !strncmp(trait + 4, "std::", 5) ||
		!strncmp(trait + 4, "alloc::", 7));
}

/* The beginning of the name itself: names of templates have their return type before it. */
static const char *name_behind_type(const char *function)
{
	const char *word = function;
	unsigned depth = 0;

	for (const char *at = function; *at; at++) {
		if (!depth && *at == '(' && at > word)
			return word;
		if (!depth && *at == ' ')
			word = at + 1;
		depth += strchr("<(", *at) ? 1 : strchr(">)", *at) && depth ? -1u : 0;
	}
	return function;
}

static bool is_rust(const char *file)
{
	size_t n = strlen(file);

	return !n || (n > 3 && !strcmp(file + n - 3, ".rs"));
}

/* Whether it is a stub that jumps to a library's function. */
static bool is_stub(const char *function)
{
	size_t n = strlen(function);

	return n > 4 && !strcmp(function + n - 4, "@plt");
}

/* By its name, and by where its source is; "": not known. */
static bool is_runtime_function(const char *function, const char *file)
{
	if (is_of_builtin_type(function) || own_code_is_library_source(file) || is_stub(function))
		return true;
	if (begins_as_one_of(name_behind_type(function), runtime_scopes,
			     ARRAY_SIZE(runtime_scopes)))
		return true;
	if (begins_as_one_of(function, rust_scopes, ARRAY_SIZE(rust_scopes)))
		return !has_parameters(function) && is_rust(file);
	return is_one_of(function, allocators, ARRAY_SIZE(allocators)) ||
	       is_one_of(function, runtime_functions, ARRAY_SIZE(runtime_functions));
}

/* A function of a place: number i of those inlined, innermost first, and behind them the one that
 * has the code; with the line in it. */
static struct inlined_frame part_of(const struct location *loc, size_t i)
{
	return (struct inlined_frame){
		.function = i < loc->inlined_count ? loc->inlined[i].function : loc->function,
		.file = i ? loc->inlined[i - 1].file : loc->file,
		.line = i ? loc->inlined[i - 1].line : loc->line,
	};
}

/* The index of a place's innermost function that is the program's own: a library's template inlines
 * functions of the program, and the program those of the library. The number of functions if there
 * is none. */
static size_t own_part(const struct location *loc)
{
	size_t i = 0, n = loc->inlined_count + 1;

	if (is_in_runtime(loc))
		return n;
	while (i < n && is_runtime_function(part_of(loc, i).function, part_of(loc, i).file))
		i++;
	return i;
}

static bool is_of_runtime(const struct location *loc) { return own_part(loc) > loc->inlined_count; }

/* The places that called one another, innermost first, as far as they are known. */
static size_t stack_of(const struct fault_context *c, struct place_on_stack *places)
{
	struct stack_frame frames[FRAMES_MAX];
	bool complete;
	size_t n = c->thread
			   ? symbols_unwind(c->s, c->snap, c->thread, frames, FRAMES_MAX, &complete)
			   : 0;

	for (size_t i = 0; i < n; i++) {
		if (frames[i].is_guess)
			return i;
		places[i] = (struct place_on_stack){.addr = frames[i].pc,
						    .is_return = frames[i].is_return};
		symbols_lookup(c->s, c->f->space, c->f->epoch, places[i].addr, places[i].is_return,
			       &places[i].loc);
	}
	return n;
}

/* The return address of a handler: a function's first byte, with no code before it that could end
 * in a call. */
static bool is_trampoline(const struct fault_context *c, const struct place_on_stack *p)
{
	struct location loc;

	symbols_lookup(c->s, c->f->space, c->f->epoch, p->addr, false, &loc);
	return p->is_return && !*p->loc.function && *loc.function && !loc.offset;
}

/* The index of the program's own place behind place i; n if there is none. */
static size_t own_place(const struct fault_context *c, const struct place_on_stack *places,
			size_t n, size_t i)
{
	for (i++; i < n; i++)
		if (!is_of_runtime(&places[i].loc) && !is_trampoline(c, &places[i]))
			break;
	return i;
}

/* The program's own place from the calls that the branches left open, if memory does not tell or
 * was not kept. through_handlers: also code that a signal has interrupted. */
static bool own_open_call(const struct fault_context *c, bool through_handlers, uint64_t *from)
{
	struct callstack calls;
	struct location loc;
	bool found = false;

	if (!c->h)
		return false;
	callstack_build(&calls, c->h, c->s, c->end);
	for (size_t i = calls.count;
	     i-- > 0 && !found && (through_handlers || !calls.calls[i].is_handler);) {
		*from = calls.calls[i].from;
		symbols_lookup(c->s, c->f->space, c->f->epoch, *from, false, &loc);
		found = *loc.module && !is_of_runtime(&loc);
	}
	callstack_release(&calls);
	return found;
}

static bool is_allocator(const struct location *loc)
{
	return is_one_of(loc->function, allocators, ARRAY_SIZE(allocators)) &&
	       (is_in_runtime(loc) || !*loc->file);
}

/* By the program's own function, which may be inlined into the library's, or have that inlined. */
static void say_own_place(struct fault_context *c, const struct place_on_stack *p)
{
	struct inlined_frame part;
	struct location loc;
	char name[160];
	size_t own;

	symbols_lookup(c->s, c->f->space, c->f->epoch, p->addr, p->is_return, &loc);
	own = own_part(&loc);
	if (!loc.inlined_count || own > loc.inlined_count) {
		fault_say_place(c, ", at ", p->addr, p->is_return);
		return;
	}
	part = part_of(&loc, own);
	text_brief_name(name, sizeof name, part.function);
	fault_say(c, ", at %s", name);
	if (*part.file)
		fault_say(c, " (%.200s:%d)", text_basename(part.file), part.line);
}

/* The program's own place is of more interest than the end in libc. */
static void blame_place(struct fault_context *c, const struct place_on_stack *p)
{
	struct fault *f = c->f;

	say_own_place(c, p);
	f->where = p->addr;
	f->where_is_return = p->is_return;
	f->has_insn = false;
	f->value_count = 0;
}

static void take_message(struct fault_context *c)
{
	struct slice message = c->signal->message;

	snprintf(c->f->message, sizeof c->f->message, "%.*s",
		 (int)(message.len < FAULT_MESSAGE_MAX ? message.len : FAULT_MESSAGE_MAX),
		 (const char *)message.at);
}

/* Whether a caller of abort is one of libc's functions that leave a message: not one that runs
 * functions of the program. */
static bool may_have_said_it(const struct location *caller)
{
	static const char *const others[] = {"run_exit_handlers", "exit", "start_thread",
					     "start_call_main", "start_main"};

	return bt_is_libc(caller->module) &&
	       !is_one_of(caller->function, others, ARRAY_SIZE(others));
}

/* kill and raise send the same signal. */
static bool has_called_abort(const struct fault_context *c, const struct place_on_stack *places,
			     size_t n)
{
	struct callstack calls = {0};
	struct location loc;
	bool found = false;

	for (size_t i = 0; i < n && !found; i++)
		found = is_named(places[i].loc.function, "abort");
	if (c->h && !found)
		callstack_build(&calls, c->h, c->s, c->end);
	for (size_t i = calls.count; i-- > 0 && !found && !calls.calls[i].is_handler;) {
		symbols_lookup(c->s, c->f->space, c->f->epoch, calls.calls[i].to, false, &loc);
		found = is_named(loc.function, "abort");
	}
	callstack_release(&calls);
	return found;
}

bool fault_brief_thrown(struct fault_context *c)
{
	const struct model_snapshot *snap =
		c->thread ? throw_in_stack(c->m, c->s, c->snap, c->thread) : NULL;
	struct thrown t;
	char text[FAULT_BRIEF_MAX];

	if (!snap)
		return false;
	thrown_read(&t, c->s, snap);
	if (!*t.type)
		return false;
	fault_brief(c, "threw %s", thrown_text(&t, text, sizeof text));
	return true;
}

/* In libc's words: of "prog: file.c:3: f: Assertion `x' failed." from the assertion on. Without
 * any, the text up to its explanation. */
static void brief_abort(struct fault_context *c, const char *text)
{
	const char *message = c->f->message, *assertion = strstr(message, "Assertion `"),
		   *explained = strstr(text, ": ");
	size_t len;

	if (assertion)
		message = assertion;
	len = strcspn(message, "\n");
	if (len)
		fault_brief(c, "%.*s", (int)len - (message[len - 1] == '.'), message);
	else if (!fault_brief_thrown(c))
		fault_brief(c, "%.*s", (int)(explained ? (size_t)(explained - text) : strlen(text)),
			    text);
}

/* Parts of malloc's messages, which say it better than its function does. */
static const char *heap_text(const char *message, const char *otherwise)
{
	static const struct {
		const char *part, *text;
	} rows[] = {
		{"double free", "memory was freed twice"},
		{"corrupt", "malloc found its data overwritten"},
		{"free(): invalid pointer", "free was given a pointer to no block of malloc's, or "
					    "to one whose header was overwritten"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strstr(message, rows[i].part))
			return rows[i].text;
	return otherwise;
}

static bool is_panic(const struct model_snapshot *s)
{
	return s->rec->kind == BT_SNAPSHOT_FUNCTION &&
	       (slice_is(s->rec->label, "begin_panic") ||
		slice_is(s->rec->label, "rust_begin_unwind"));
}

/* The destructor's panic has left the stack: its moment, the newest that began elsewhere than where
 * it has unwound to, tells its place. False: that was not kept. */
static bool blame_panic_before(struct fault_context *c, const struct place_on_stack *unwound_to)
{
	enum { LOOKED_AT = 8 };
	struct own_place place;
	unsigned left = LOOKED_AT;

	for (const struct model_snapshot *s = c->snap; left && s-- > c->m->snapshots;)
		if (s->rec->task == c->snap->rec->task && s->rec->space == c->snap->rec->space &&
		    is_panic(s) && left-- && fault_own_place(c, s, &place) &&
		    place.addr != unwound_to->addr) {
			blame_place(c, &(struct place_on_stack){.addr = place.addr,
								.is_return = place.is_return});
			return true;
		}
	return false;
}

void fault_explain_abort(struct fault_context *c, const char *raised)
{
	struct place_on_stack places[FRAMES_MAX];
	size_t n = stack_of(c, places), own;
	const char *text, *with = "";
	uint64_t from;

	if (n <= 1) /* nothing contradicts it */
		take_message(c);
	if (*c->f->message || has_called_abort(c, places, n)) {
		fault_set_kind(c, "abort");
		with = " with abort";
	}
	for (size_t r = 0; r < ARRAY_SIZE(abort_reasons); r++)
		for (size_t i = 0; i < n; i++) {
			if (!is_named(places[i].loc.function, abort_reasons[r].function))
				continue;
			/* an alias may have called it */
			while (i + 1 < n &&
			       is_named(places[i + 1].loc.function, abort_reasons[r].function))
				i++;
			text = abort_reasons[r].text;
			/* An old message stays: of an abort that a handler has left. Without libc's
			 * symbols its own functions have no names. */
			if (abort_reasons[r].is_libc) {
				take_message(c);
			} else if (i + 1 < n && c->signal->message.len &&
				   may_have_said_it(&places[i + 1].loc)) {
				take_message(c);
				text = "libc found an error it cannot go on from";
			}
			if (!strcmp(abort_reasons[r].function, "malloc_printerr"))
				text = heap_text(c->f->message, text);
			own = own_place(c, places, n, i);
			if (text != stopped_exception ||
			    !fault_say_noexcept(c, places[i].addr,
						abort_reasons[r].function == clang_landing,
						own < n ? places[own].addr : 0))
				fault_say(c, "%s", text);
			brief_abort(c, text);
			fault_set_kind(c, "%s", abort_reasons[r].kind);
			fault_set_message_kind(c);
			if (own < n && abort_reasons[r].function == cleanup_panic &&
			    blame_panic_before(c, &places[own]))
				return;
			if (own < n)
				blame_place(c, &places[own]);
			else if (own_open_call(c, true, &from))
				blame_place(c, &(struct place_on_stack){.addr = from});
			else if (i + 1 < n)
				blame_place(c, &places[i + 1]);
			return;
		}
	fault_say(c, "%s%s", raised, with);
}

bool fault_blame_own_place(struct fault_context *c)
{
	struct place_on_stack places[FRAMES_MAX];
	size_t n = stack_of(c, places), own = n ? own_place(c, places, n, 0) : 0;
	uint64_t from;

	if (own < n)
		blame_place(c, &places[own]);
	else if (own_open_call(c, true, &from))
		blame_place(c, &(struct place_on_stack){.addr = from});
	else
		return false;
	return true;
}

static void set_caller(struct fault *f, uint64_t addr, bool is_return)
{
	f->has_caller = true;
	f->caller = addr;
	f->caller_is_return = is_return;
}

/* Whether the failed address may be one that an allocator read from memory. */
static bool may_be_the_heap(const struct fault_context *c)
{
	return c->signal && c->signal->sync &&
	       (c->signal->signo == SIG_SEGV || c->signal->signo == SIG_BUS) && !c->is_overflow;
}

void fault_find_caller(struct fault_context *c)
{
	struct place_on_stack places[FRAMES_MAX];
	struct location loc;
	uint64_t from;
	size_t n, own;

	symbols_lookup(c->s, c->f->space, c->f->epoch, c->f->where, c->f->where_is_return, &loc);
	if (c->f->where_is_return || c->f->pc_is_wild || !is_of_runtime(&loc))
		return;
	n = stack_of(c, places);
	own = own_place(c, places, n, 0);
	if (own < n)
		set_caller(c->f, places[own].addr, places[own].is_return);
	else if (own_open_call(c, false, &from))
		set_caller(c->f, from, false);
	for (size_t i = 0; i < own && i < n && may_be_the_heap(c); i++)
		if (is_allocator(&places[i].loc)) {
			fault_say(c, ", in the allocator: its data was overwritten before, or it "
				     "was given what is no block of its own");
			break;
		}
}
