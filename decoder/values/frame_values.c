/* SPDX-License-Identifier: MIT */
/* The function at a frame's pc is found in its unit of DWARF, and gone through once: parameters and
 * variables of the function, of blocks with the pc, and of what is inlined there (walk_entries()).
 * Each is located (object_place.h) and put in words (value_text.h).
 *
 * Before a function's prologue has ended, code without optimization has not yet stored what was
 * passed to it: such variables are said not to be set. */
#include "decoder/values/frame_values.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/symbols/debug_type.h"
#include "decoder/symbols/symbols_private.h"
#include "decoder/values/said_values.h"
#include "lib/array_size.h"

enum {
	DEPTH_MAX = 128,     /* of blocks and what is inlined */
	ENTRY_DEPTH_MAX = 4, /* values at entries that are told by those of callers */
	SITES_SOUGHT_MAX = 256,
	ENTRIES_MAX = 1 << 16, /* looked at in one function */
};

struct thread_values {
	struct symbols *s;
	struct known_memory memory;
	const struct bt_record_thread *thread;
	struct stack_frame frames[VALUED_FRAMES_MAX];
	struct frame_registers registers[VALUED_FRAMES_MAX];
	size_t count;
	size_t settled;        /* frames whose registers are behind forget_registers() */
	bool lost;             /* the registers of the next are */
	bool has_entered;      /* frame 0 is not where the thread stands */
	unsigned sites_sought; /* calls that were looked for */
};

int thread_values_open(struct thread_values **out, struct symbols *s,
		       const struct model_snapshot *snap, const struct bt_record_thread *thread,
		       struct bt_error *err)
{
	struct thread_values *t = calloc(1, sizeof *t);

	if (!t)
		return bt_no_memory(err, "values of variables");
	t->s = s;
	t->thread = thread;
	t->memory = (struct known_memory){
		.s = s, .snap = snap, .space = snap->rec->space, .epoch = thread->epoch};
	t->count = symbols_unwind_registers(s, snap, thread, t->frames, t->registers,
					    VALUED_FRAMES_MAX);
	*out = t;
	return 0;
}

void thread_values_close(struct thread_values *t) { free(t); }

const struct known_memory *thread_values_memory(const struct thread_values *t)
{
	return &t->memory;
}

/* A function's variables being gone through. */
struct variable_walk {
	struct frame_place place;
	struct thread_values *t;
	size_t n;         /* the frame */
	unsigned callees; /* the number of callees, one inside the other, that ask for values at
			     their entry */
	Dwarf_Die function;
	Dwarf_Addr prologue_end; /* 0: the pc is behind it */
	Dwarf_Off last;          /* the entry that was visited last: each is visited once */
	unsigned entries;
	size_t levels; /* levels of inlined functions at the pc that were met */
	void (*found)(void *arg, const struct frame_variable *v);
	void *arg;
};

/* Where the code begins that finds all arguments stored; 0 where the pc has reached it. */
static Dwarf_Addr prologue_end(Dwarf_Die *function, Dwarf_Addr pc, bool is_return)
{
	Dwarf_Addr *ends = NULL, entry, end = 0;
	int n;

	if (is_return || dwarf_entrypc(function, &entry) || pc < entry)
		return 0;
	n = dwarf_entry_breakpoints(function, &ends);
	for (int i = 0; i < n; i++)
		if (ends[i] > pc && (!end || ends[i] < end))
			end = ends[i];
	free(ends);
	return end;
}

static bool value_at_entry(void *arg, unsigned reg, uint64_t *value);

/* The CFA by unwind information, where the stack was not unwound further. 0: unknown. */
static uint64_t cfa_of(struct image_module *mod, uint64_t pc, const struct frame_place *place)
{
	static Dwarf_CFI *(*const tables[])(Dwfl_Module *, Dwarf_Addr *) = {dwfl_module_dwarf_cfi,
									    dwfl_module_eh_cfi};
	uint64_t cfa = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tables) && !cfa; i++) {
		Dwarf_Addr bias;
		Dwarf_CFI *cfi = tables[i](mod->mod, &bias);
		Dwarf_Frame *frame;
		Dwarf_Op *ops;
		size_t count;

		if (!cfi || dwarf_cfi_addrframe(cfi, pc - mod->moved - bias, &frame))
			continue;
		if (dwarf_frame_cfa(frame, &ops, &count) ||
		    object_operations(place, ops, count, &cfa) != OBJECT_KNOWN)
			cfa = 0;
		free(frame);
	}
	return cfa;
}

static struct debug_unit *unit_at(struct thread_values *t, uint64_t pc, struct image_module **mod,
				  Dwarf_Addr *bias)
{
	*mod = symbols_module(t->s, t->memory.space, t->memory.epoch, pc);
	return *mod && (*mod)->mod ? image_module_unit(*mod, pc, bias) : NULL;
}

/* Whether a frame's code may have changed registers that the System V ABI has callees preserve,
 * which unwind information does not say: Go preserves none. */
static bool preserves_nothing(struct thread_values *t, size_t n)
{
	static const char go[] = "Go ";
	struct image_module *mod;
	Dwarf_Addr bias;
	struct debug_unit *unit = unit_at(t, t->frames[n].pc - t->frames[n].is_return, &mod, &bias);
	Dwarf_Attribute attr;
	const char *producer =
		unit ? dwarf_formstring(dwarf_attr(&unit->die, DW_AT_producer, &attr)) : NULL;

	return producer && !strncmp(producer, go, sizeof go - 1);
}

/* Takes back what unwinding believes of registers behind frames that preserve none, up to frame n.
 * Those further out are left until they are asked for: to learn who made their code, debug files of
 * libraries are opened, which takes longer than all else where they are compressed. */
static void forget_registers(struct thread_values *t, size_t n)
{
	enum { KEPT = 1 << 7 | 1 << 16 }; /* rsp, the return address */

	if (!t->settled)
		t->settled = 1;
	for (size_t i = t->settled; i <= n; i++) {
		if (t->frames[i - 1].is_trampoline)
			t->lost = false; /* the kernel has saved all */
		else
			t->lost = t->lost || preserves_nothing(t, i - 1);
		if (t->lost)
			t->registers[i].known &= KEPT;
	}
	if (t->settled <= n)
		t->settled = n + 1;
}

static bool find_function(struct variable_walk *w, struct thread_values *t, size_t n, uint64_t pc)
{
	const struct stack_frame *f = &t->frames[n];
	struct image_module *mod;
	struct debug_unit *unit;
	Dwarf_Addr bias;
	bool missing;

	*w = (struct variable_walk){.place = {.memory = &t->memory,
					      .registers = &t->registers[n],
					      .cfa = f->cfa,
					      .function = &w->function,
					      .at_entry = value_at_entry,
					      .arg = w},
				    .t = t,
				    .n = n};
	/* Only where the thread stands: behind a call they may have changed, and before it they may
	 * have been others. */
	if (!n && !t->has_entered && (pc == f->pc || pc + f->is_return == f->pc))
		w->place.extended = &t->thread->extended;
	if (f->is_guess || f->is_history || f->is_trampoline)
		return false;
	forget_registers(t, n);
	unit = unit_at(t, pc, &mod, &bias);
	if (!unit)
		return false;
	unit = unit_with_functions(&mod->units, unit, &missing);
	w->place.bias = bias;
	w->place.pc = pc - bias;
	if (!unit_function_at(unit, w->place.pc, &w->function))
		return false;
	if (!f->cfa)
		w->place.cfa = cfa_of(mod, pc, &w->place);
	w->prologue_end = prologue_end(&w->function, w->place.pc, f->is_return);
	return true;
}

/* At the function at the pc of a frame. False: none is known. */
static bool begin_walk(struct variable_walk *w, struct thread_values *t, size_t n, uint64_t pc)
{
	struct strange_time *time = symbols_strange_time(t->s);
	bool found;

	strange_time_begin(time);
	found = find_function(w, t, n, pc);
	strange_time_end(time);
	return found;
}

/* ---- What registers had when a function was entered ---- */

/* A call among the entries of a function. */
struct site_search {
	Dwarf_Addr return_pc; /* of the wanted one; 0: a jump to a function */
	Dwarf_Die site;       /* found */
	Dwarf_Off last;
	unsigned entries;
	struct strange_time *time;
	bool (*fits)(struct site_search *s, Dwarf_Die *site);
};

static bool is_site(int tag) { return tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site; }

static bool find_site(struct site_search *s, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die))
		return false;
	do {
		Dwarf_Off at = dwarf_dieoffset(&die);

		if (at <= s->last || ++s->entries > ENTRIES_MAX || strange_time_is_over(s->time))
			return false;
		s->last = at;
		if (is_site(dwarf_tag(&die))) {
			if (s->fits(s, &die)) {
				s->site = die;
				return true;
			}
		} else if (dwarf_haschildren(&die) > 0 && find_site(s, &die, depth + 1)) {
			return true;
		}
	} while (!dwarf_siblingof(&die, &die));
	return false;
}

static bool address_of(Dwarf_Die *die, unsigned name, Dwarf_Addr *addr)
{
	Dwarf_Attribute attr;

	return !dwarf_formaddr(dwarf_attr(die, name, &attr), addr);
}

static bool returns_to(struct site_search *s, Dwarf_Die *site)
{
	Dwarf_Addr addr;

	return (address_of(site, DW_AT_call_return_pc, &addr) ||
		(dwarf_tag(site) == DW_TAG_GNU_call_site &&
		 address_of(site, DW_AT_low_pc, &addr))) &&
	       addr == s->return_pc;
}

static const char *link_name(Dwarf_Die *function)
{
	static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
	Dwarf_Attribute attr;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *name =
			dwarf_formstring(dwarf_attr_integrate(function, names[i], &attr));

		if (name)
			return name;
	}
	return NULL;
}

enum call_target {
	CALLS_UNKNOWN,
	CALLS_CALLEE,
	CALLS_OTHER,
};

static enum call_target target_of(Dwarf_Die *site, Dwarf_Die *callee)
{
	Dwarf_Attribute attr;
	Dwarf_Die target, origin;
	const char *name, *wanted = link_name(callee);

	if ((!dwarf_attr(site, DW_AT_call_origin, &attr) &&
	     !dwarf_attr(site, DW_AT_abstract_origin, &attr)) ||
	    !dwarf_formref_die(&attr, &target))
		return CALLS_UNKNOWN;
	if (target.addr == callee->addr ||
	    (dwarf_attr(callee, DW_AT_abstract_origin, &attr) &&
	     dwarf_formref_die(&attr, &origin) && origin.addr == target.addr))
		return CALLS_CALLEE;
	name = link_name(&target);
	return name && wanted && !strcmp(name, wanted) ? CALLS_CALLEE : CALLS_OTHER;
}

/* A function that jumped to another may have been jumped to by it, with other values than its
 * caller gave. */
static bool is_jump(struct site_search *s, Dwarf_Die *site)
{
	(void)s;
	return dwarf_hasattr(site, DW_AT_call_tail_call) ||
	       dwarf_hasattr(site, DW_AT_GNU_tail_call);
}

static bool has_register(Dwarf_Die *parameter, unsigned reg)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t count;

	return dwarf_attr(parameter, DW_AT_location, &attr) &&
	       !dwarf_getlocation(&attr, &ops, &count) && count == 1 &&
	       ops->atom == DW_OP_reg0 + reg;
}

/* The call that made the frame of a callee: in its caller's frame w. */
static bool find_call(struct variable_walk *w, Dwarf_Die *callee, uint64_t return_addr,
		      Dwarf_Die *site)
{
	struct site_search call = {.return_pc = return_addr - w->place.bias,
				   .last = dwarf_dieoffset(&w->function),
				   .time = symbols_strange_time(w->t->s),
				   .fits = returns_to},
			   jump = {.last = dwarf_dieoffset(callee),
				   .time = call.time,
				   .fits = is_jump};

	if (!find_site(&call, &w->function, 0) || target_of(&call.site, callee) != CALLS_CALLEE ||
	    find_site(&jump, callee, 0))
		return false;
	*site = call.site;
	return true;
}

static bool value_at_entry(void *arg, unsigned reg, uint64_t *value)
{
	struct variable_walk *callee = arg, caller;
	struct thread_values *t = callee->t;
	size_t n = callee->n + 1;
	Dwarf_Die site, die = {0};
	Dwarf_Attribute attr;

	if (n >= t->count || !t->frames[n].is_return || callee->callees == ENTRY_DEPTH_MAX ||
	    ++t->sites_sought > SITES_SOUGHT_MAX ||
	    !begin_walk(&caller, t, n, t->frames[n].pc - 1) ||
	    !find_call(&caller, &callee->function, t->frames[n].pc, &site))
		return false;
	caller.callees = callee->callees + 1;
	for (unsigned i = 0; i < DEBUG_MEMBERS_MAX && debug_next_child(&site, &die); i++)
		if (has_register(&die, reg))
			return (dwarf_attr(&die, DW_AT_call_value, &attr) ||
				dwarf_attr(&die, DW_AT_GNU_call_site_value, &attr)) &&
			       object_expression(&caller.place, &attr, value) == OBJECT_KNOWN;
	return false;
}

/* ---- Variables ---- */

static bool has_addresses(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
}

/* Whether its place does not change, so that it is not yet there in the prologue. */
static bool is_always_in_memory(Dwarf_Die *variable, const struct object *o)
{
	Dwarf_Attribute attr;

	return o->in_memory && dwarf_attr_integrate(variable, DW_AT_location, &attr) &&
	       dwarf_whatform(&attr) == DW_FORM_exprloc;
}

/* Go tells results as parameters, with a mark: nothing has been passed in them. */
static bool is_result(Dwarf_Die *parameter)
{
	Dwarf_Attribute attr;
	bool marked = false;

	return dwarf_attr_integrate(parameter, DW_AT_variable_parameter, &attr) &&
	       !dwarf_formflag(&attr, &marked) && marked;
}

static void tell_variable(struct variable_walk *w, Dwarf_Die *die, size_t level)
{
	bool is_parameter = dwarf_tag(die) == DW_TAG_formal_parameter;
	struct frame_variable v = {.level = level, .entry = *die};
	Dwarf_Attribute attr;

	v.name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attr));
	if (!v.name || !*v.name || *v.name == '~' ||
	    dwarf_hasattr_integrate(die, DW_AT_declaration) ||
	    (dwarf_hasattr_integrate(die, DW_AT_artificial) && strcmp(v.name, "this") != 0))
		return; /* nobody has written them */
	v.kind = is_parameter && !is_result(die) ? VALUE_ARGUMENT : VALUE_LOCAL;
	v.has_type = debug_type_of(die, &v.type);
	object_locate(&v.object, &w->place, die);
	if (w->prologue_end && is_always_in_memory(die, &v.object))
		v.object = (struct object){.why = OBJECT_NOT_SET};
	w->found(w->arg, &v);
}

/* tells: variables directly below are told of; else only what is inlined is looked for. */
static void walk_entries(struct variable_walk *w, Dwarf_Die *parent, size_t level, bool tells,
			 unsigned depth)
{
	Dwarf_Die die;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die))
		return;
	do {
		Dwarf_Off at = dwarf_dieoffset(&die);
		int tag = dwarf_tag(&die);

		if (at <= w->last || ++w->entries > ENTRIES_MAX ||
		    strange_time_is_over(symbols_strange_time(w->t->s)))
			return;
		w->last = at;
		if (tag == DW_TAG_formal_parameter || tag == DW_TAG_variable) {
			if (tells)
				tell_variable(w, &die, level);
		} else if (debug_is_block(tag)) {
			bool here = dwarf_haspc(&die, w->place.pc) > 0;

			if (here || !has_addresses(&die))
				walk_entries(w, &die, level, tells && here, depth + 1);
		} else if (tag == DW_TAG_inlined_subroutine && w->levels == level &&
			   dwarf_haspc(&die, w->place.pc) > 0) {
			w->levels = level + 1;
			walk_entries(w, &die, level + 1, true, depth + 1);
		}
	} while (!dwarf_siblingof(&die, &die));
}

static void walk_function(struct variable_walk *w)
{
	struct strange_time *time = symbols_strange_time(w->t->s);

	w->last = dwarf_dieoffset(&w->function);
	strange_time_begin(time);
	walk_entries(w, &w->function, 0, true, 0);
	strange_time_end(time);
}

void frame_variables_each(struct thread_values *t, size_t n, uint64_t pc,
			  void (*found)(void *arg, const struct frame_variable *v), void *arg)
{
	struct variable_walk w;

	if (n >= t->count || !begin_walk(&w, t, n, pc))
		return;
	w.found = found;
	w.arg = arg;
	walk_function(&w);
}

bool frame_function_range(struct thread_values *t, size_t n, uint64_t pc, uint64_t *start,
			  uint64_t *end)
{
	Dwarf_Addr low, high;
	struct variable_walk w;

	if (n >= t->count || !begin_walk(&w, t, n, pc) || dwarf_lowpc(&w.function, &low) ||
	    dwarf_highpc(&w.function, &high) || w.place.pc < low || w.place.pc >= high)
		return false;
	*start = low + w.place.bias;
	*end = high + w.place.bias;
	return true;
}

bool thread_values_find(const struct thread_values *t, uint64_t pc, size_t *n)
{
	for (*n = 0; *n < t->count; ++*n)
		if (t->frames[*n].pc == pc)
			return true;
	return false;
}

/* rsp and those that callees preserve, by DWARF number. */
enum { PRESERVED = 1 << 3 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15 };

void thread_values_registers(struct thread_values *t, size_t n, struct bt_regs *regs,
			     uint32_t *known)
{
	*regs = (struct bt_regs){0};
	*known = 0;
	if (n >= t->count)
		return;
	forget_registers(t, n);
	for (unsigned i = 0; i < BT_REG_COUNT; i++) {
		int dwarf = bt_reg_info[i].dwarf;

		if (dwarf < 0 || !((t->registers[n].known & PRESERVED) >> dwarf & 1))
			continue;
		bt_regs_set(regs, i, t->registers[n].value[dwarf]);
		*known |= UINT32_C(1) << i;
	}
}

void thread_values_enter(struct thread_values *t, size_t n, uint64_t pc)
{
	struct frame_registers *r = &t->registers[0];
	uint64_t cfa;

	if (n >= t->count)
		return;
	forget_registers(t, n);
	*r = t->registers[n];
	r->known &= PRESERVED;
	cfa = r->known & 1 << 7 ? r->value[7] : 0;
	r->value[7] -= 8;
	t->frames[0] = (struct stack_frame){.pc = pc, .cfa = cfa};
	t->count = 1;
	t->lost = false;
	t->has_entered = true;
}

struct collection {
	struct thread_values *t;
	struct frame_values *v;
};

static void collect_variable(void *arg, const struct frame_variable *found)
{
	struct collection *c = arg;
	struct frame_value *value;
	Dwarf_Die type = found->type;

	if (c->v->count == FRAME_VALUES_MAX)
		return;
	value = &c->v->at[c->v->count++];
	value->name = intern_str(symbols_strings(c->t->s), found->name);
	value->kind = found->kind;
	value->part = found->level;
	value->is_plain = !found->has_type || value_is_plain(&type);
	value_text(value->text, &c->t->memory, found->has_type ? &type : NULL, &found->object);
}

/* Arguments first; the order within them stays. */
static void sort_arguments(struct frame_values *v)
{
	struct frame_value *sorted = calloc(v->count, sizeof *sorted);
	size_t n = 0;

	if (!sorted)
		return;
	for (unsigned kind = VALUE_ARGUMENT; kind <= VALUE_LOCAL; kind++)
		for (size_t i = 0; i < v->count; i++)
			if (v->at[i].kind == kind)
				sorted[n++] = v->at[i];
	free(v->at);
	v->at = sorted;
}

void frame_values_get(struct thread_values *t, size_t n, struct frame_values *v)
{
	const struct kept_stack *kept = symbols_kept_stack(t->s, t->memory.snap, t->thread);
	struct collection c = {.t = t, .v = v};
	struct variable_walk w;

	said_values_find(t->s, t->memory.snap, t->thread, n, v);
	if (v->count)
		return;
	frame_values_release(v);
	/* The stack that is shown may be a kept one, in which frame n is another. */
	if (kept && (n >= kept->count || n >= t->count || kept->frames[n].pc != t->frames[n].pc))
		return;
	if (n >= t->count || !begin_walk(&w, t, n, t->frames[n].pc - t->frames[n].is_return))
		return;
	v->at = calloc(FRAME_VALUES_MAX, sizeof *v->at);
	if (!v->at)
		return;
	w.found = collect_variable;
	w.arg = &c;
	walk_function(&w);
	for (size_t i = 0; i < v->count; i++)
		v->at[i].part = w.levels - v->at[i].part;
	if (v->count)
		sort_arguments(v);
	said_values_note(t->s, t->memory.snap, t->thread, n, v);
}

void frame_values_release(struct frame_values *v)
{
	free(v->at);
	*v = (struct frame_values){0};
}

/* The beginning of a text, not cut in the midst of a character. */
static void put_begin(struct text *t, const char *text, size_t n)
{
	char *begin;

	while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	begin = strndup(text, n);
	text_outside(t, begin ? begin : "");
	text_printf(t, "...");
	free(begin);
}

static void put_argument(struct text *t, const struct frame_value *a, size_t width)
{
	text_outside(t, a->name);
	text_printf(t, "=");
	if (!a->is_plain || !width)
		text_printf(t, "...");
	else if (strlen(a->text) <= width)
		text_outside(t, a->text);
	else
		put_begin(t, a->text, width);
}

bool frame_values_put_arguments(struct text *t, const struct frame_values *v, size_t part,
				size_t width)
{
	enum { VALUE_WIDTH = 40 };
	size_t begin = t->buf.len;
	bool any = false;

	for (size_t i = 0; i < v->count; i++) {
		const struct frame_value *a = &v->at[i];
		size_t before;

		if (a->kind != VALUE_ARGUMENT || a->part != part)
			continue;
		text_printf(t, any ? ", " : " (");
		before = t->buf.len;
		put_argument(t, a, VALUE_WIDTH);
		if (any && text_width(t, begin) > width) {
			t->buf.len = before;
			put_argument(t, a, 0);
		}
		if (any && text_width(t, begin) > width) {
			t->buf.len = before;
			text_printf(t, "...");
			break;
		}
		any = true;
	}
	text_printf(t, any ? ")" : "");
	return any;
}
