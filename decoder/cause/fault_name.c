/* SPDX-License-Identifier: MIT */
/* Names the pointer that an access went through, in the words of the source: "c->port". In a
 * library, names the argument that the user's code passed to it. */
#include <dwarf.h>
#include <string.h>

#include "decoder/cause/fault_private.h"
#include "decoder/cause/follower.h"
#include "decoder/cause/own_code.h"
#include "decoder/cause/passed_argument.h"
#include "decoder/symbols/text.h"

enum { NEWEST = 1 << 14 }; /* branches to read anew if the loaded history has only calls */

static const char *keyword(Dwarf_Die *structure)
{
	switch (dwarf_tag(structure)) {
	case DW_TAG_union_type:
		return "union ";
	case DW_TAG_class_type:
		return "class ";
	default:
		return "struct ";
	}
}

static bool name_by_base(struct follower *f, const struct disasm_memory *m, struct fault_name *name)
{
	struct expression *base = &f->held[m->base];
	struct known_registers r = {.regs = *f->c->regs, .known = UINT32_MAX};
	Dwarf_Die target, type;
	char member[FOLLOWER_TEXT_MAX];

	if (!*base->text)
		return false;
	if (!follower_name_operand(f, m, m->size, &r, base, name->accessed, sizeof name->accessed,
				   member, &target, &type))
		return false;
	follower_join(name->pointer, sizeof name->pointer, base->text, "", "");
	name->value = bt_regs_get(f->c->regs, m->base);
	if (base->is_moved)
		name->value = base->is_moved_by ? name->value - base->moved_by : base->value;
	if (*member && dwarf_diename(&target)) {
		if (!follower_join(name->member, sizeof name->member, member, "", "") ||
		    !follower_join(name->structure, sizeof name->structure, keyword(&target),
				   dwarf_diename(&target), ""))
			*name->member = 0;
	}
	return true;
}

/* The registers at the call: those that were preserved, and those that are as they were. */
static void take_registers(struct follower *f, const struct passed_argument *p)
{
	thread_values_registers(f->values, f->frame, &f->regs, &f->known);
	for (unsigned reg = 0; reg < BT_REG_COUNT; reg++)
		if (p->unchanged >> reg & 1)
			bt_regs_set(&f->regs, reg, bt_regs_get(f->c->regs, reg));
	f->known |= p->unchanged;
}

/* Names the argument by the expression that the user's code has in its register at the call. */
static bool name_argument(struct fault_context *c, size_t frame, const struct history *h,
			  const struct passed_argument *p, bool is_pointer, struct fault_name *name)
{
	struct follower f = {.c = c,
			     .arrow = "->",
			     .frame = p->is_jump ? 0 : frame,
			     .pc = p->call,
			     .h = h,
			     .end = p->entry,
			     .is_memory_written = p->is_memory_written};
	const struct expression *e = &f.held[passed_argument_register(p->number)];
	Dwarf_Die type, target;
	bool found;

	if (thread_values_open(&f.values, c->s, c->snap, c->thread, NULL))
		return false;
	if (p->is_jump)
		thread_values_enter(f.values, frame, p->call);
	take_registers(&f, p);
	found = follower_follow(&f) && *e->text && !e->is_moved;
	type = e->type;
	found = found && (!is_pointer || follower_pointer_target(&type, &target)) &&
		follower_join(name->pointer, sizeof name->pointer, e->text, "", "") &&
		follower_join(name->accessed, sizeof name->accessed, "*", e->text, "");
	follower_release(&f);
	thread_values_close(f.values);
	return found;
}

/* Names the called function as the user's code does: without the suffix of a stub. */
static void name_callee(struct fault_context *c, uint64_t addr, struct fault_name *name)
{
	static const char stub[] = "@plt";
	struct location loc;
	size_t n;

	symbols_lookup(c->s, c->f->space, c->f->epoch, addr, false, &loc);
	text_brief_name(name->function, sizeof name->function, loc.function);
	n = strlen(name->function);
	if (n >= sizeof stub && !strcmp(name->function + n - (sizeof stub - 1), stub))
		name->function[n - (sizeof stub - 1)] = 0;
}

static void name_caller(struct fault_context *c, uint64_t addr, struct fault_name *name)
{
	struct location loc;

	symbols_lookup(c->s, c->f->space, c->f->epoch, addr, false, &loc);
	text_brief_name(name->caller, sizeof name->caller, own_code_part(&loc).function);
}

/* Whether it explains the failure. A value that leads to memory does not: the library went on from
 * there. Of an operand with an index only the type tells which of the two is the pointer. */
static bool is_bad(const struct fault_context *c, const struct disasm_memory *m,
		   const struct passed_argument *p)
{
	return !p->value || (!m->implicit && m->index == DISASM_NO_REG && !fault_map(c, p->value));
}

/* The innermost frame of the user's own code, which has called a library. */
struct own_frame {
	struct own_code *own;
	size_t number;
	uint64_t return_addr;
};

static bool name_passed(struct fault_context *c, const struct history *h, size_t end,
			const struct disasm_memory *m, const struct own_frame *frame,
			struct fault_name *name)
{
	bool has_index = m->index != DISASM_NO_REG;
	struct passed_argument p;
	struct fault_name kept;

	if (!passed_argument_find(c, h, end, m, frame->own, frame->return_addr, &p) ||
	    !is_bad(c, m, &p))
		return false;
	name_callee(c, p.callee, name);
	if (!*name->function)
		return false;
	if (p.is_jump)
		name_caller(c, p.call, name);
	name->argument = p.number;
	name->value = p.value;
	/* It is kept as an access to what the pointer leads to, with the function for a structure.
	 */
	if (said_access_find(c->s, c->snap, c->thread, &kept)) {
		if (!strcmp(kept.structure, name->function) && !*kept.member)
			follower_join(name->pointer, sizeof name->pointer, kept.pointer, "", "");
	} else if (name_argument(c, frame->number, h, &p, has_index, name)) {
		kept = *name;
		follower_join(kept.structure, sizeof kept.structure, name->function, "", "");
		said_access_note(c->s, c->snap, c->thread, &kept);
	}
	return *name->pointer || !has_index;
}

/* The same with a history that has all branches. */
static bool name_by_history(struct fault_context *c, const struct disasm_memory *m,
			    const struct own_frame *frame, struct fault_name *name)
{
	struct history newest;
	bool found;

	if (!c->h->is_calls)
		return name_passed(c, c->h, c->end, m, frame, name);
	if (history_load_newest(&newest, c->m, c->h->task, NEWEST, NEWEST, NULL))
		return false;
	found = name_passed(c, &newest, history_index(&newest, c->snap->rec->position), m, frame,
			    name);
	history_release(&newest);
	return found;
}

static bool name_library_access(struct fault_context *c, const struct disasm_memory *m,
				const struct thread_values *t, struct fault_name *name)
{
	struct own_frame frame;
	struct own_place place;
	bool found;

	if (!c->h || own_code_open(&frame.own, c->m, c->s, c->snap, c->thread, NULL))
		return false;
	found = own_code_frame(frame.own, c->snap, c->thread, &place) && place.is_return &&
		thread_values_find(t, place.addr, &frame.number);
	frame.return_addr = place.addr;
	found = found && name_by_history(c, m, &frame, name);
	own_code_close(frame.own);
	return found;
}

static bool name_own_access(struct fault_context *c, const struct disasm_memory *m,
			    struct thread_values *t, struct fault_name *name)
{
	struct follower f = {.c = c,
			     .values = t,
			     .arrow = "->",
			     .pc = c->f->pc,
			     .h = c->h,
			     .end = c->end,
			     .regs = *c->regs,
			     .known = UINT32_MAX};
	bool found;

	if (said_access_find(c->s, c->snap, c->thread, name))
		return true;
	found = follower_follow(&f) && name_by_base(&f, m, name);
	follower_release(&f);
	if (found)
		said_access_note(c->s, c->snap, c->thread, name);
	return found;
}

bool fault_name_access(struct fault_context *c, const struct disasm_memory *m,
		       struct fault_name *name)
{
	struct thread_values *t;
	bool found;

	*name = (struct fault_name){.accessed = ""};
	if (!c->thread || !c->regs || m->base == DISASM_NO_REG || c->f->where != c->f->pc ||
	    thread_values_open(&t, c->s, c->snap, c->thread, NULL))
		return false;
	found = name_library_access(c, m, t, name);
	if (!found) {
		*name = (struct fault_name){.accessed = ""};
		found = name_own_access(c, m, t, name);
	}
	thread_values_close(t);
	return found;
}
