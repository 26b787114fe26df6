/* SPDX-License-Identifier: MIT */
/* Stacks that are used up: a frame that does not fit, or calls without end. */
#include <dwarf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/cause/callstack.h"
#include "decoder/cause/fault_private.h"
#include "decoder/symbols/debug_type.h"
#include "decoder/symbols/text.h"
#include "decoder/values/frame_values.h"
#include "lib/page.h"

enum {
	STACK_REACH = 1 << 20, /* as far below its stack pointer a program may write, and below a
				  mapping that may be a stack: the kernel's guard gap */
	STACK_LIMIT_MAX =
		1 << 30,   /* as far below a mapping that is surely a stack: a frame of any size */
	RECURSION_MIN = 4, /* entries of one function that are worth telling */
	FRAMES_MAX = 64,   /* looked through for a large one */
};

struct stack_range {
	uint64_t start, end;
};

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The address that occurs most, and how often. Sorts them. */
static size_t most_frequent(uint64_t *addrs, size_t n, uint64_t *which)
{
	size_t best = 0;

	qsort(addrs, n, sizeof *addrs, compare_addresses);
	for (size_t i = 0, same; i < n; i += same) {
		for (same = 1; i + same < n && addrs[i + same] == addrs[i];)
			same++;
		if (same > best) {
			best = same;
			*which = addrs[i];
		}
	}
	return best;
}

/* Where the function was called most often; nothing where that is not half of its calls. Overwrites
 * addrs. */
static void say_recursive_call(struct fault_context *c, const struct callstack *calls,
			       uint64_t function, size_t times, uint64_t *addrs)
{
	uint64_t from;
	size_t n = 0;

	for (size_t i = 0; i < calls->count; i++)
		if (calls->calls[i].to == function)
			addrs[n++] = calls->calls[i].from;
	if (most_frequent(addrs, n, &from) * 2 > times) {
		fault_say_place(c, ", called from ", from, false);
		fault_say(c, ",");
	}
}

/* Whether the place of the variable is in its function's frame, and not a static one. */
static bool is_in_frame(const struct frame_variable *v)
{
	Dwarf_Die die = v->entry;
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t count;

	return dwarf_attr_integrate(&die, DW_AT_location, &attr) &&
	       !dwarf_getlocation(&attr, &ops, &count) && count && ops[0].atom == DW_OP_fbreg;
}

static void take_larger(void *arg, const struct frame_variable *v)
{
	struct large_variable *largest = arg;
	Dwarf_Die die = v->entry, type = v->type;
	const char *file;
	uint64_t size;
	int line = 0;

	if (!v->has_type || !debug_type_size(&type, &size) || size <= largest->size ||
	    !is_in_frame(v))
		return;
	file = dwarf_decl_file(&die);
	(void)dwarf_decl_line(&die, &line);
	snprintf(largest->name, sizeof largest->name, "%s", v->name);
	snprintf(largest->file, sizeof largest->file, "%s", file ? file : "");
	largest->line = line > 0 ? (uint64_t)line : 0;
	largest->size = size;
}

static bool find_largest(const struct fault_context *c, size_t n, uint64_t pc,
			 struct large_variable *largest)
{
	struct thread_values *values;

	*largest = (struct large_variable){.name = ""};
	if (thread_values_open(&values, c->s, c->snap, c->thread, NULL))
		return false;
	frame_variables_each(values, n, pc, take_larger, largest);
	thread_values_close(values);
	if (!*largest->name)
		return said_largest_find(c->s, c->snap, c->thread, n, largest);
	return true;
}

/* The variable that takes more than half of frame n, which is so large. */
static void say_large_variable(struct fault_context *c, size_t n, uint64_t pc, uint64_t frame)
{
	struct large_variable v;

	if (!find_largest(c, n, pc, &v) || v.size <= frame / 2 || v.size > frame)
		return;
	said_largest_note(c->s, c->snap, c->thread, n, &v);
	fault_say(c, ", its %s", v.name);
	if (*v.file && v.line)
		fault_say(c, " (%.200s:%" PRIu64 ")", text_basename(v.file), v.line);
	fault_say(c, " %" PRIu64 " KiB", v.size >> 10);
}

/* The frame that takes more than half of the stack. depth: bytes of that in use. */
static void say_large_frame(struct fault_context *c, uint64_t depth)
{
	struct stack_frame frames[FRAMES_MAX];
	uint64_t below = c->regs->rsp;
	bool complete;
	size_t n = symbols_unwind(c->s, c->snap, c->thread, frames, FRAMES_MAX, &complete);

	for (size_t i = 0; i < n && frames[i].cfa > below; below = frames[i++].cfa) {
		if (frames[i].cfa - below <= depth / 2)
			continue;
		fault_say_place(c, "; the frame of ", frames[i].pc, frames[i].is_return);
		fault_say(c, " takes %" PRIu64 " KiB of it", (frames[i].cfa - below) >> 10);
		say_large_variable(c, i, frames[i].pc - frames[i].is_return, frames[i].cfa - below);
		return;
	}
}

/* The calls that were open at the moment: of a part of a history all the same. */
static void build_calls(const struct fault_context *c, struct callstack *calls)
{
	struct history all;

	if (!c->h->is_part || history_load_calls(&all, c->m, c->h->task, NULL, NULL)) {
		callstack_build(calls, c->h, c->s, c->end);
		return;
	}
	callstack_build(calls, &all, c->s, history_index(&all, c->snap->rec->position));
	history_release(&all);
}

/* The function that stands most often in the open calls. False: none does. */
static bool say_recursion(struct fault_context *c)
{
	struct callstack calls;
	uint64_t *addrs, which = 0;
	size_t times = 0;

	if (!c->h)
		return false;
	build_calls(c, &calls);
	addrs = calloc(calls.count + 1, sizeof *addrs);
	for (size_t i = 0; addrs && i < calls.count; i++)
		addrs[i] = calls.calls[i].to;
	if (addrs && calls.count)
		times = most_frequent(addrs, calls.count, &which);
	if (times > RECURSION_MIN) {
		fault_say_place(c, "; ", which, false);
		say_recursive_call(c, &calls, which, times, addrs);
		fault_say(c, " was entered %zu times without returning", times);
	}
	free(addrs);
	callstack_release(&calls);
	return times > RECURSION_MIN;
}

static bool may_be_stack(const struct space_map *map)
{
	return map && map->prot & BT_PROT_READ && map->prot & BT_PROT_WRITE;
}

/* glibc and musl keep a thread's control block at the end of its stack, except the first
 * thread's. */
static bool find_threads_stack(const struct fault_context *c, struct stack_range *stack)
{
	const struct model_task *task = model_task(c->m, c->thread->task);
	const struct space_map *map;

	if (!task || task->tid == task->pid)
		return false;
	map = fault_map(c, c->regs->fs_base);
	if (!may_be_stack(map))
		return false;
	*stack = (struct stack_range){map->start, c->regs->fs_base};
	return true;
}

/* The stack that would have to grow to addr: the mapping right above, with its guard, or the
 * thread's. */
static bool find_stack_above(const struct fault_context *c, uint64_t addr,
			     struct stack_range *stack)
{
	const struct space_map *below, *above, *here = fault_map(c, addr);

	if (here && here->prot)
		return false;
	fault_neighbours(c, here ? here->end - 1 : addr, &below, &above);
	if (may_be_stack(above)) {
		*stack = (struct stack_range){above->start, above->end};
		/* The [stack] that was recorded may be smaller than it has become. */
		if (stack->start - addr <=
		    (strcmp(above->path, "[stack]") ? STACK_REACH : STACK_LIMIT_MAX))
			return true;
	}
	return find_threads_stack(c, stack) && addr < stack->start &&
	       stack->start - addr <= STACK_LIMIT_MAX;
}

/* The stack pointer lies in the stack, or below it where no memory is. */
static bool is_on(const struct fault_context *c, const struct stack_range *stack)
{
	uint64_t rsp = c->regs->rsp;
	const struct space_map *map = fault_map(c, rsp);

	return rsp < stack->end && (rsp >= stack->start || !map || !map->prot);
}

bool fault_explain_overflow(struct fault_context *c, uint64_t addr, const struct disasm_memory *m)
{
	uint64_t rsp = c->regs->rsp;
	bool by_stack = m->base != DISASM_NO_REG && (!strcmp(bt_reg_info[m->base].name, "rsp") ||
						     !strcmp(bt_reg_info[m->base].name, "rbp"));
	struct stack_range stack;

	if (rsp > addr + (by_stack ? STACK_REACH : BT_PAGE) || !find_stack_above(c, addr, &stack) ||
	    !is_on(c, &stack))
		return false;
	fault_say(c,
		  "stack overflow: %s 0x%" PRIx64 ", below the end of the stack (rsp = 0x%" PRIx64
		  ", %" PRIu64 " KiB deep)",
		  fault_access_verb(m), addr, rsp, (stack.end - rsp) >> 10);
	fault_brief(c, "stack overflow");
	if (!say_recursion(c))
		say_large_frame(c, stack.end - rsp);
	fault_set_kind(c, "stack overflow");
	c->is_overflow = true;
	return true;
}
