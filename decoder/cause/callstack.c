/* SPDX-License-Identifier: MIT */
/* The history is gone through once, from its beginning to the moment. A call opens an entry of the
 * stack; a return closes the newest one that it can belong to, and all above it. A handler is an
 * entry, too; the system call that leads elsewhere (sigreturn) closes it.
 *
 * longjmp and exceptions leave calls without a return. They are known by the function that makes
 * the last jump of them. The newest open call of the function that it leads to is closed, with all
 * above it; where there is none, all are.
 *
 * What lies behind a gap or an execve is another stack: nothing is open then.
 *
 * To check an unwound stack, each of its return addresses is looked for among the open calls, from
 * the newest to older ones. It agrees as long as they are found in that order. */
#include "decoder/cause/callstack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/symbols/text.h"
#include "lib/array_size.h"

enum {
	SYSCALL_SIZE = 2, /* of syscall, sysenter and int 0x80 */
	NEAR = 4096,
	PLACES_KNOWN = 256,
	LEAVERS_KNOWN = 16,
};

/* A cache of calls' return addresses. */
struct return_places {
	struct {
		uint64_t from, ret;
		uint32_t space, epoch;
	} known[PLACES_KNOWN];
};

static uint64_t return_address(struct return_places *p, struct symbols *s,
			       const struct history_entry *e)
{
	size_t i = e->from % PLACES_KNOWN;
	uint8_t bytes[BT_INSN_MAX];
	struct bt_insn insn;
	size_t n;

	if (p->known[i].from == e->from && p->known[i].space == e->space &&
	    p->known[i].epoch == e->epoch)
		return p->known[i].ret;
	n = symbols_code(s, e->space, e->epoch, e->from, bytes, sizeof bytes);
	p->known[i].from = e->from;
	p->known[i].space = e->space;
	p->known[i].epoch = e->epoch;
	p->known[i].ret = bt_insn_decode(bytes, n, &insn) ? 0 : e->from + insn.len;
	return p->known[i].ret;
}

static void push_call(struct callstack *c, size_t *cap, struct open_call call)
{
	if (c->count == *cap) {
		size_t larger = *cap ? *cap * 2 : 64;
		struct open_call *calls = realloc(c->calls, larger * sizeof *calls);

		if (!calls)
			return;
		c->calls = calls;
		*cap = larger;
	}
	c->calls[c->count++] = call;
}

/* A return closes the newest call it can belong to, and with it those that were left open above.
 * False when it belongs to none. */
static bool pop_calls(struct callstack *c, uint64_t to)
{
	for (size_t i = c->count; i-- > 0;)
		if (c->calls[i].ret == to) {
			c->count = i;
			return true;
		}
	return false;
}

/* The length of a function's name without what marks the part of it that compilers put elsewhere,
 * f.cold: landings of exceptions are there. */
static size_t whole_name(const char *function)
{
	static const char *const marks[] = {".cold", " [clone .cold]"};
	size_t n = strlen(function);

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		size_t mark = strlen(marks[i]);

		if (n > mark && !strcmp(function + n - mark, marks[i]))
			return n - mark;
	}
	return n;
}

static bool is_same_function(const struct location *a, const struct location *b)
{
	size_t n = whole_name(a->function);

	return a->addr - a->offset == b->addr - b->offset ||
	       (n == whole_name(b->function) && !strncmp(a->function, b->function, n) &&
		!strcmp(a->module, b->module));
}

/* An exception or longjmp goes on in a function that is active already: the call that it has made
 * is left, with those above. Where it has made none of them, it was made before all of them. */
static void land_in_caller(struct callstack *c, struct symbols *s, const struct history_entry *e)
{
	struct location landing, caller;

	symbols_lookup(s, e->space, e->epoch, e->to, false, &landing);
	if (!*landing.function)
		return;
	while (c->count) {
		symbols_lookup(s, e->space, e->epoch, c->calls[--c->count].from, false, &caller);
		if (is_same_function(&landing, &caller))
			return;
	}
}

/* Whether the branch is one that ends an unwinder's or longjmp's work, by the function it is in: of
 * GCC's and LLVM's, of C libraries. */
static bool leaves_frames(struct symbols *s, const struct history_entry *e)
{
	static const char *const functions[] = {"Unwind_RaiseException",
						"Unwind_Resume",
						"Unwind_ForcedUnwind",
						"longjmp",
						"siglongjmp",
						"libunwind_Registers",
						"unw_resume"};
	static const char library[] =
		"libunwind.so"; /* its last steps have no name where it is stripped */
	struct location loc;
	const char *name;

	symbols_lookup(s, e->space, e->epoch, e->from, false, &loc);
	name = loc.function + strspn(loc.function, "_");
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (!strncmp(name, functions[i], strlen(functions[i])))
			return !strchr(name, '@'); /* f@plt only leads to it */
	return !*name && !strncmp(text_basename(loc.module), library, sizeof library - 1);
}

/* Switches and interpreters make most jumps: these need not be looked up. */
static bool is_far(const struct history_entry *e) { return e->to - e->from + NEAR > 2 * NEAR; }

/* A system call that goes on elsewhere is sigreturn: it ends the newest handler. */
static void pop_handler(struct callstack *c)
{
	for (size_t i = c->count; i-- > 0;)
		if (c->calls[i].is_handler) {
			c->count = i;
			return;
		}
}

static void forget_calls(struct callstack *c)
{
	c->count = 0;
	c->unmatched = 0;
}

static uint32_t space_behind(const struct history *h, size_t i)
{
	return i + 1 < h->count ? h->entries[i + 1].space : h->space;
}

int callstack_walk_init(struct callstack_walk *w, struct bt_error *err)
{
	*w = (struct callstack_walk){.places = calloc(1, sizeof *w->places)};
	return w->places ? 0 : bt_no_memory(err, "the open calls");
}

void callstack_walk_release(struct callstack_walk *w)
{
	callstack_release(&w->stack);
	free(w->places);
}

void callstack_walk_take(struct callstack_walk *w, const struct history *h, struct symbols *s,
			 size_t i)
{
	const struct history_entry *e = &h->entries[i];
	struct callstack *c = &w->stack;
	uint64_t ret;

	switch (e->kind) {
	case BT_BRANCH_CALL:
	case BT_BRANCH_ICALL:
		ret = return_address(w->places, s, e);
		if (ret != e->to) /* else it only asks where it is: call 1f; 1: pop */
			push_call(c, &w->cap,
				  (struct open_call){
					  .from = e->from, .to = e->to, .ret = ret, .entry = i});
		break;
	case BT_BRANCH_ASYNC:
		push_call(c, &w->cap,
			  (struct open_call){
				  .from = e->from, .to = e->to, .entry = i, .is_handler = true});
		break;
	case BT_BRANCH_RET:
		if (pop_calls(c, e->to))
			break;
		if (!c->count) /* nothing known is left of a stack that was left at an older
				  level */
			c->unmatched++;
		else if (leaves_frames(s, e))
			land_in_caller(c, s, e);
		break;
	case BT_BRANCH_IJMP:
		if (c->count && is_far(e) && leaves_frames(s, e))
			land_in_caller(c, s, e);
		break;
	case BT_BRANCH_SYSCALL:
		if (e->to != e->from + SYSCALL_SIZE)
			pop_handler(c);
		break;
	case BT_BRANCH_GAP:
		forget_calls(c);
		break;
	}
	/* execve: the program that called has no frame in the new one's stack */
	if (space_behind(h, i) != e->space)
		forget_calls(c);
}

/* Functions that leave the caller's stack for another one's work, and do not come back as a call
 * does: Go's, between goroutines and the scheduler. */
static const char *const stack_leavers[] = {"runtime.mcall", "runtime.gogo"};

static bool is_stack_leaver(const char *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(stack_leavers); i++) {
		size_t len = strlen(stack_leavers[i]);

		if (!strncmp(function, stack_leavers[i], len) &&
		    (!function[len] || function[len] == '.'))
			return true;
	}
	return false;
}

/* Drops the calls that were open when a function left its stack for another: they did not call the
 * code that runs now. Deep stacks are recursions of few functions, so few are looked up. */
static void forget_left_stacks(struct callstack *c, const struct history *h, struct symbols *s)
{
	uint64_t known[LEAVERS_KNOWN] = {0};

	for (size_t i = c->count, n = 0; s && i-- > 0;) {
		const struct history_entry *e = &h->entries[c->calls[i].entry];
		uint32_t space, epoch;
		struct location loc;
		bool is_known = false;

		for (size_t k = 0; k < LEAVERS_KNOWN; k++)
			is_known |= known[k] == c->calls[i].to;
		if (is_known)
			continue;
		history_target(h, e, &space, &epoch);
		symbols_lookup(s, space, epoch, c->calls[i].to, false, &loc);
		if (!is_stack_leaver(loc.function)) {
			known[n++ % LEAVERS_KNOWN] = c->calls[i].to;
			continue;
		}
		c->count -= i + 1;
		memmove(c->calls, c->calls + i + 1, c->count * sizeof *c->calls);
		return;
	}
}

void callstack_build(struct callstack *c, const struct history *h, struct symbols *s, size_t n)
{
	struct return_places places = {0};
	struct callstack_walk w = {.places = &places};

	for (size_t i = 0; i < n && i < h->count; i++)
		callstack_walk_take(&w, h, s, i);
	*c = w.stack;
	forget_left_stacks(c, h, s);
}

void callstack_release(struct callstack *c)
{
	free(c->calls);
	*c = (struct callstack){0};
}

/* The newest open call below `top` that a frame may be the return of; top itself when there is
 * none. */
static size_t find_open_call(const struct callstack *c, size_t top, uint64_t ret)
{
	for (size_t i = top; i-- > 0;)
		if (c->calls[i].ret == ret)
			return i;
	return top;
}

static size_t count_ordinary(const struct callstack *c, size_t from, size_t to)
{
	size_t n = 0;

	for (size_t i = from; i < to; i++)
		n += !c->calls[i].is_handler;
	return n;
}

/* The newest handler below `top`; top itself when there is none. */
static size_t find_handler(const struct callstack *c, size_t top)
{
	for (size_t i = top; i-- > 0;)
		if (c->calls[i].is_handler)
			return i;
	return top;
}

/* A frame that no call made: a handler's trampoline, behind which lies where the handler
 * interrupted the program. Frames older than the handler are the stack of that place. */
static size_t pass_handler(const struct callstack *c, size_t top, const struct stack_frame *f)
{
	size_t at = find_handler(c, top);

	return at < top && f->is_trampoline ? at + 1 : at;
}

struct stack_check callstack_check(const struct callstack *c, const struct stack_frame *frames,
				   size_t count)
{
	struct stack_check r = {.verdict = STACK_UNKNOWN};
	size_t top = c->count;

	for (size_t i = 1; i < count; i++) {
		size_t at;

		r.callers += frames[i].is_return;
		if (r.verdict == STACK_DISAGREES)
			continue;
		if (!frames[i].is_return) {
			at = pass_handler(c, top, &frames[i]);
			r.left += count_ordinary(c, at, top);
			top = at;
			continue;
		}
		if (!count_ordinary(c, 0, top))
			continue;
		at = find_open_call(c, top, frames[i].pc);
		if (at == top) {
			r.verdict = STACK_DISAGREES;
			r.frame = i;
			continue;
		}
		r.left += count_ordinary(c, at + 1, top);
		top = at;
		r.checked++;
		r.verdict = STACK_AGREES;
	}
	r.outer = top;
	return r;
}

size_t callstack_call_of(const struct callstack *c, const struct stack_frame *frames, size_t frame)
{
	size_t top = c->count, at = c->count;

	for (size_t i = 1; i <= frame; i++) {
		at = frames[i].is_return ? find_open_call(c, top, frames[i].pc)
					 : pass_handler(c, top, &frames[i]);
		if (at == top && frames[i].is_return)
			return c->count;
		top = at;
	}
	return frame && frames[frame].is_return ? at : c->count;
}

const char *callstack_words(const struct stack_check *check, char words[STACK_WORDS_MAX])
{
	*words = '\0';
	if (check->verdict == STACK_DISAGREES)
		snprintf(words, STACK_WORDS_MAX,
			 "The stack and the branch history disagree from frame #%zu on: the "
			 "history has no such call.",
			 check->frame);
	else if (check->verdict == STACK_AGREES)
		snprintf(words, STACK_WORDS_MAX,
			 "The branch history agrees with %zu of %zu callers%s.", check->checked,
			 check->callers,
			 check->checked < check->callers
				 ? " (the others were called before it begins)"
				 : "");
	return words;
}

const char *callstack_end_words(const struct stack_frame *last, bool goes_on)
{
	static const char *const words[2][2] = {
		{"It could not be unwound further.",
		 "It could not be unwound further. By the branch history it goes on:"},
		{"The trace has no more of this stack; the program's goes on.",
		 "The trace has no more of this stack. By the branch history it goes on:"},
	};

	return words[last->is_cut][goes_on];
}

size_t callstack_extend(const struct callstack *c, const struct stack_check *check,
			struct stack_frame *frames, size_t count, size_t max)
{
	if (check->verdict == STACK_DISAGREES)
		return count;
	/* A handler has no return address of its own: the place it interrupted goes on. */
	for (size_t i = check->outer; i-- > 0 && count < max; count++)
		frames[count] =
			c->calls[i].is_handler
				? (struct stack_frame){.pc = c->calls[i].from, .is_history = true}
				: (struct stack_frame){.pc = c->calls[i].ret,
						       .is_return = true,
						       .is_history = true};
	return count;
}
