/* SPDX-License-Identifier: MIT */
#include "decoder/callstack.h"

#include <stdlib.h>

enum {
	SYSCALL_SIZE = 2, /* of syscall, sysenter and int 0x80 */
};

static uint64_t behind(struct symbols *s, const struct history_entry *e)
{
	uint8_t bytes[BT_INSN_MAX];
	size_t n = symbols_code(s, e->space, e->epoch, e->from, bytes, sizeof bytes);
	struct bt_insn insn;

	return bt_insn_decode(bytes, n, &insn) ? 0 : e->from + insn.len;
}

static void push(struct callstack *c, size_t *cap, struct open_call call)
{
	if (c->count == *cap) {
		struct open_call *calls;

		*cap = *cap ? *cap * 2 : 64;
		calls = realloc(c->calls, *cap * sizeof *calls);
		if (!calls)
			return;
		c->calls = calls;
	}
	c->calls[c->count++] = call;
}

/* A return closes the newest call it can belong to, and with it those that longjmp or an exception left open above. */
static void pop(struct callstack *c, uint64_t to)
{
	for (size_t i = c->count; i-- > 0;)
		if (c->calls[i].ret == to) {
			c->count = i;
			return;
		}
	/* Nothing known is left of a stack that was left at an older level; an exception's landing is no such thing. */
	if (!c->count)
		c->unmatched++;
}

/* A system call that goes on elsewhere is sigreturn: it ends the newest handler. */
static void pop_handler(struct callstack *c)
{
	for (size_t i = c->count; i-- > 0;)
		if (c->calls[i].is_handler) {
			c->count = i;
			return;
		}
}

static void forget(struct callstack *c)
{
	c->count = 0;
	c->unmatched = 0;
}

static uint32_t space_behind(const struct history *h, size_t i)
{
	return i + 1 < h->count ? h->entries[i + 1].space : h->space;
}

void callstack_build(struct callstack *c, const struct history *h, struct symbols *s, size_t n)
{
	size_t cap = 0;

	*c = (struct callstack){0};
	for (size_t i = 0; i < n && i < h->count; i++) {
		const struct history_entry *e = &h->entries[i];

		switch (e->kind) {
		case BT_BRANCH_CALL:
		case BT_BRANCH_ICALL:
			push(c, &cap, (struct open_call){.from = e->from, .to = e->to, .ret = behind(s, e), .entry = i});
			break;
		case BT_BRANCH_ASYNC:
			push(c, &cap, (struct open_call){.from = e->from, .to = e->to, .entry = i, .is_handler = true});
			break;
		case BT_BRANCH_RET:
			pop(c, e->to);
			break;
		case BT_BRANCH_SYSCALL:
			if (e->to != e->from + SYSCALL_SIZE)
				pop_handler(c);
			break;
		case BT_BRANCH_GAP:
			forget(c);
			break;
		}
		/* execve: the program that called has no frame in the new one's stack */
		if (space_behind(h, i) != e->space)
			forget(c);
	}
}

void callstack_release(struct callstack *c)
{
	free(c->calls);
	*c = (struct callstack){0};
}

/* The newest open call below `top` that a frame may be the return of; top itself when there is none. */
static size_t find(const struct callstack *c, size_t top, uint64_t ret)
{
	for (size_t i = top; i-- > 0;)
		if (c->calls[i].ret == ret)
			return i;
	return top;
}

static size_t ordinary(const struct callstack *c, size_t from, size_t to)
{
	size_t n = 0;

	for (size_t i = from; i < to; i++)
		n += !c->calls[i].is_handler;
	return n;
}

/* The trampoline that a handler returns to is nobody's call: the frame it interrupted follows. */
static bool is_called(const struct stack_frame *frames, size_t count, size_t i)
{
	return frames[i].is_return && (i + 1 == count || frames[i + 1].is_return);
}

struct stack_check callstack_check(const struct callstack *c, const struct stack_frame *frames, size_t count)
{
	struct stack_check r = {.verdict = STACK_UNKNOWN};
	size_t top = c->count;

	for (size_t i = 1; i < count; i++) {
		size_t at;

		if (!is_called(frames, count, i))
			continue;
		r.callers++;
		if (r.verdict == STACK_DISAGREES || !ordinary(c, 0, top))
			continue;
		at = find(c, top, frames[i].pc);
		if (at == top) {
			r.verdict = STACK_DISAGREES;
			r.frame = i;
			continue;
		}
		r.left += ordinary(c, at + 1, top);
		top = at;
		r.checked++;
		r.verdict = STACK_AGREES;
	}
	r.outer = top;
	return r;
}

size_t callstack_extend(const struct callstack *c, const struct stack_check *check, struct stack_frame *frames, size_t count, size_t max)
{
	if (check->verdict == STACK_DISAGREES)
		return count;
	/* A handler has no return address of its own: the place it interrupted goes on. */
	for (size_t i = check->outer; i-- > 0 && count < max; count++)
		frames[count] = c->calls[i].is_handler ? (struct stack_frame){.pc = c->calls[i].from}
						       : (struct stack_frame){.pc = c->calls[i].ret, .is_return = true};
	return count;
}
