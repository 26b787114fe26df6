/* SPDX-License-Identifier: MIT */
/* Optimized code has variables in registers, and the DWARF says which at each address. Other code
 * loads a variable from its place in memory first: the instructions since the last branch, by the
 * history or by the function's code, are followed (follow_instructions()). Each register that gets
 * a variable's value, or what a named pointer's target holds, has that as its expression until it
 * is written again. A variable of no function is one whose address the code itself has, as base or
 * displacement: a pointer may lead to it, too.
 *
 * Nothing is concluded from values: many variables may be null. */
#include "decoder/cause/follower.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/cause/code_before.h"
#include "decoder/symbols/debug_type.h"
#include "decoder/values/program_object.h"

enum {
	VARIABLES_MAX = 256,
	GLOBALS_SOUGHT_MAX = 32,
	CALL_SOUGHT_MAX = 1 << 20, /* entries of the history */
	CALL_LENGTH_MAX = 15,
	STUB_MAX = 16, /* bytes */
	RED_ZONE = 128,
	STACK_REACH = 1 << 20,
};

bool follower_join(char *out, size_t cap, const char *a, const char *b, const char *c)
{
	int n = snprintf(out, cap, "%s%s%s", a, b, c);

	return n >= 0 && (size_t)n < cap;
}

static uint8_t register_of_dwarf(unsigned dwarf)
{
	for (uint8_t i = 0; i < BT_REG_COUNT; i++)
		if (bt_reg_info[i].dwarf == (int)dwarf)
			return i;
	return DISASM_NO_REG;
}

/* A later variable of the same place is of an inner block, or of what is inlined: but what the
 * program calls an object counts more than the "this" of a function inlined for it, or than a name
 * of a library's function. */
static void take_register(struct follower *f, const struct frame_variable *v)
{
	uint8_t reg = v->object.reg ? register_of_dwarf(v->object.reg - 1) : DISASM_NO_REG;

	if (reg == DISASM_NO_REG || !v->has_type ||
	    (v->level && *f->held[reg].text &&
	     (!strcmp(v->name, "this") || !strncmp(v->name, "__", 2))))
		return;
	f->held[reg] = (struct expression){.type = v->type};
	if (!follower_join(f->held[reg].text, FOLLOWER_TEXT_MAX, v->name, "", ""))
		*f->held[reg].text = 0;
}

static bool has_arrows(Dwarf_Die *die)
{
	Dwarf_Die unit;
	int language = dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_srclang(&unit) : -1;

	return language != DW_LANG_Rust && language != DW_LANG_Go;
}

static void take_variable(void *arg, const struct frame_variable *v)
{
	struct follower *f = arg;
	struct variable_in_memory *in;
	Dwarf_Die type = v->type, entry = v->entry;
	uint64_t size;

	f->arrow = has_arrows(&entry) ? "->" : ".";
	take_register(f, v);
	if (!v->object.in_memory || !v->has_type || f->variable_count == VARIABLES_MAX ||
	    !debug_type_size(&type, &size) || !size)
		return;
	in = &f->variables[f->variable_count];
	in->addr = v->object.addr;
	in->size = size;
	in->type = type;
	f->variable_count += follower_join(in->name, FOLLOWER_TEXT_MAX, v->name, "", "");
}

static void take_register_only(void *arg, const struct frame_variable *v) { take_register(arg, v); }

/* The value of that size at an offset of a variable: itself, its member or its element. */
static bool name_part(const struct variable_in_memory *v, uint64_t offset, uint64_t size,
		      struct expression *e)
{
	Dwarf_Die type = v->type;
	char member[FOLLOWER_TEXT_MAX];

	e->type = v->type;
	if (!debug_is_structure(&type) && dwarf_tag(&type) != DW_TAG_array_type)
		return !offset && v->size == size &&
		       follower_join(e->text, FOLLOWER_TEXT_MAX, v->name, "", "");
	return debug_member_at(&type, offset, 0, member, sizeof member, &e->type) &&
	       follower_join(e->text, FOLLOWER_TEXT_MAX, v->name,
			     *member && *member != '[' ? "." : "", member);
}

/* The function's variable, or the part of one, that has that many bytes at an address. */
static bool value_at(const struct follower *f, uint64_t addr, uint64_t size, struct expression *e)
{
	for (size_t i = f->variable_count; i-- > 0;) {
		const struct variable_in_memory *v = &f->variables[i];

		if (!v->is_global && addr - v->addr < v->size)
			return name_part(v, addr - v->addr, size, e);
	}
	return false;
}

/* The address that instruction i's code has as part of its operand's; false: it has none. */
static bool named_address(const struct follower *f, size_t i, const struct disasm_memory *m,
			  uint64_t *addr)
{
	const struct disasm *d = &f->insns[i];
	uint32_t known, constant = f->straight.constant;
	struct bt_regs regs = straight_values_before(&f->straight, i, &known);

	*addr = (uint64_t)m->displacement;
	if (m->base == DISASM_NO_REG)
		return true;
	if (!strcmp(bt_reg_info[m->base].name, "rip"))
		*addr += d->addr + d->len;
	else if (constant >> m->base & 1)
		*addr += bt_regs_get(&regs, m->base);
	else if (m->index != DISASM_NO_REG && m->scale == 1 && constant >> m->index & 1)
		*addr += bt_regs_get(&regs, m->index);
	else
		return false;
	return true;
}

/* Whether two parts of a variable are elements of one array. */
static bool is_same_array(const char *a, const char *b)
{
	const char *end_a = strrchr(a, '['), *end_b = strrchr(b, '[');

	return end_a && end_b && end_a - a == end_b - b && !strncmp(a, b, (size_t)(end_a - a));
}

/* The same of a variable of no function, which is from here on among those that are known. An index
 * that leads out of its array reaches another variable or member. */
static bool global_value_at(struct follower *f, size_t i, const struct disasm_memory *m,
			    uint64_t addr, struct expression *e)
{
	struct variable_in_memory *v = &f->variables[f->variable_count];
	struct expression first;
	struct program_object o;
	uint64_t named;

	if (f->variable_count == VARIABLES_MAX || !named_address(f, i, m, &named) ||
	    ++f->globals_sought > GLOBALS_SOUGHT_MAX ||
	    !program_variable_at(thread_values_memory(f->values), f->pc, addr, &o))
		return false;
	*v = (struct variable_in_memory){
		.addr = o.addr, .size = o.size, .type = o.type, .is_global = true};
	if (!follower_join(v->name, FOLLOWER_TEXT_MAX, o.name, "", "") ||
	    named - v->addr >= v->size)
		return false;
	f->variable_count++;
	return name_part(v, addr - v->addr, m->size, e) &&
	       (m->index == DISASM_NO_REG || (name_part(v, named - v->addr, m->size, &first) &&
					      is_same_array(first.text, e->text)));
}

bool follower_pointer_target(Dwarf_Die *pointer, Dwarf_Die *target)
{
	int tag = dwarf_tag(pointer);

	return (tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
		tag == DW_TAG_rvalue_reference_type) &&
	       debug_type_of(pointer, target);
}

/* Where an operand lies in what its base points to. */
struct element {
	bool is_indexed;
	int64_t number;  /* of the element, of a pointer to several */
	uint64_t offset; /* in it */
};

static bool register_is_known(const struct known_registers *r, uint8_t reg)
{
	return r->known >> reg & 1;
}

static bool find_element(Dwarf_Die *target, const struct disasm_memory *m,
			 const struct known_registers *r, const struct expression *base,
			 struct element *e)
{
	int64_t at = m->displacement;
	uint64_t size;

	*e = (struct element){0};
	if (!debug_type_size(target, &size) || !size || size > INT32_MAX)
		return false;
	e->is_indexed =
		base->is_moved || m->index != DISASM_NO_REG || (at && !debug_is_structure(target));
	if (base->is_moved) {
		int64_t moved =
			(int64_t)(base->is_moved_by ? base->moved_by
						    : bt_regs_get(&r->regs, m->base) - base->value);

		if ((!base->is_moved_by && (!base->has_value || !register_is_known(r, m->base))) ||
		    moved > INT32_MAX || moved < INT32_MIN)
			return false;
		at += moved;
	}
	if (m->index != DISASM_NO_REG) {
		int64_t index = (int64_t)bt_regs_get(&r->regs, m->index);

		if (!register_is_known(r, m->index) || m->index_bits != 64 || index > INT32_MAX ||
		    index < INT32_MIN)
			return false;
		at += index * m->scale;
	}
	if (!e->is_indexed && (at < 0 || (uint64_t)at >= size))
		return false;
	e->number = at / (int64_t)size - (at % (int64_t)size < 0);
	e->offset = (uint64_t)(at - e->number * (int64_t)size);
	return true;
}

/* Go reads a byte of what a pointer points to only to see whether it is null. */
static bool is_null_check(const struct follower *f, const struct disasm_memory *m, Dwarf_Die *type)
{
	uint64_t size;

	return *f->arrow == '.' && m->size == 1 && !m->displacement &&
	       debug_type_size(type, &size) && size > 1;
}

/* Writes the expression of a pointer's target, or a reference's. */
static bool join_target(const struct follower *f, char *text, size_t cap,
			const struct expression *base, Dwarf_Die *pointer, const char *member)
{
	bool is_reference = dwarf_tag(pointer) != DW_TAG_pointer_type;
	char held[FOLLOWER_TEXT_MAX];

	if (!*member)
		return follower_join(text, cap, is_reference ? "" : "*", base->text, "");
	return follower_join(held, sizeof held, *base->text == '*' ? "(" : "", base->text,
			     *base->text == '*' ? ")" : "") &&
	       follower_join(text, cap, held, is_reference ? "." : f->arrow, member);
}

/* Whether an index leads to another element of an array in the structure, and not out of it. */
static bool stays_in_array(Dwarf_Die *target, const struct disasm_memory *m, const char *member)
{
	char first[FOLLOWER_TEXT_MAX];
	Dwarf_Die type;
	uint64_t size;

	return debug_is_structure(target) && m->displacement >= 0 &&
	       debug_type_size(target, &size) && (uint64_t)m->displacement < size &&
	       debug_member_at(target, (uint64_t)m->displacement, m->size, first, sizeof first,
			       &type) &&
	       is_same_array(first, member);
}

/* An element by the name of its index: the value is not known. */
static bool name_by_index(const struct follower *f, const struct disasm_memory *m,
			  const struct expression *base, char *text, size_t cap,
			  char member[FOLLOWER_TEXT_MAX], Dwarf_Die *target, Dwarf_Die *type)
{
	const struct expression *index = &f->held[m->index];
	Dwarf_Die pointer = base->type, number = index->type;
	char array[FOLLOWER_TEXT_MAX], element[FOLLOWER_TEXT_MAX];
	uint64_t size;
	size_t n;

	if (!*index->text || index->is_moved || base->is_moved || m->index_bits != 64 ||
	    dwarf_tag(&number) != DW_TAG_base_type || m->displacement < 0 ||
	    snprintf(element, sizeof element, "[%s]", index->text) >= (int)sizeof element)
		return false;
	*type = *target;
	if (!debug_is_structure(target))
		return !m->displacement && debug_type_size(target, &size) && size == m->scale &&
		       follower_join(text, cap, base->text, element, "");
	if (!debug_member_at(target, (uint64_t)m->displacement, m->size, array, sizeof array,
			     type) ||
	    !debug_type_size(type, &size) || size != m->scale)
		return false;
	n = strlen(array);
	if (n < 3 || strcmp(array + n - 3, "[0]") != 0)
		return false;
	array[n - 3] = 0;
	return follower_join(member, FOLLOWER_TEXT_MAX, array, element, "") &&
	       join_target(f, text, cap, base, &pointer, member);
}

bool follower_name_operand(const struct follower *f, const struct disasm_memory *m, uint64_t size,
			   const struct known_registers *r, const struct expression *base,
			   char *text, size_t cap, char member[FOLLOWER_TEXT_MAX],
			   Dwarf_Die *target, Dwarf_Die *type)
{
	char indexed[FOLLOWER_TEXT_MAX];
	Dwarf_Die pointer = base->type;
	struct element e;

	*member = 0;
	if (!*base->text || m->segment != DISASM_NO_REG || m->address_bits != 64 || m->vector ||
	    !follower_pointer_target(&pointer, target))
		return false;
	if (m->index != DISASM_NO_REG && !register_is_known(r, m->index))
		return name_by_index(f, m, base, text, cap, member, target, type);
	if (!find_element(target, m, r, base, &e))
		return false;
	*type = *target;
	if (debug_is_structure(target) &&
	    !debug_member_at(target, e.offset, size, member, FOLLOWER_TEXT_MAX, type))
		return false;
	if (!*member && e.offset)
		return false;
	if (is_null_check(f, m, type)) {
		*member = 0;
		*type = *target;
	}
	if (e.is_indexed && !e.number && !base->is_moved && stays_in_array(target, m, member))
		e.is_indexed = false;
	if (e.is_indexed) {
		int n = snprintf(indexed, sizeof indexed, "%s[%" PRId64 "]", base->text, e.number);

		return n >= 0 && (size_t)n < sizeof indexed &&
		       follower_join(text, cap, indexed, *member ? "." : "", member);
	}
	return join_target(f, text, cap, base, &pointer, member);
}

/* The same of a variable of the function, whose place is told by registers that stay. An element
 * that an index reaches outside of its array is no part of it. */
static bool local_value_at(const struct follower *f, size_t i, const struct disasm_memory *m,
			   uint64_t addr, struct expression *e)
{
	struct disasm_memory array = *m;
	struct expression first;
	uint64_t begin;

	array.index = DISASM_NO_REG;
	if (m->base != DISASM_NO_REG && strcmp(bt_reg_info[m->base].name, "rip") != 0 &&
	    !(f->unchanged[i] >> m->base & 1))
		return false;
	return value_at(f, addr, m->size, e) &&
	       (m->index == DISASM_NO_REG ||
		(straight_values_address(&f->straight, i, &array, &begin) &&
		 value_at(f, begin, m->size, &first) && is_same_array(first.text, e->text)));
}

/* Names the value that a load gives its register. */
static bool name_load(struct follower *f, size_t i, struct expression *e)
{
	const struct disasm *d = &f->insns[i];
	const struct disasm_memory *m = &d->memory[0];
	struct known_registers r;
	char member[FOLLOWER_TEXT_MAX];
	Dwarf_Die target;
	uint64_t addr = 0;
	bool has_address = straight_values_address(&f->straight, i, m, &addr);

	if (m->size != 8 && m->size != 4)
		return false;
	e->has_value =
		has_address && straight_values_read(&f->straight, i, addr, m->size, &e->value);
	if (has_address && local_value_at(f, i, m, addr, e))
		return true;
	r.regs = straight_values_before(&f->straight, i, &r.known);
	return (m->base != DISASM_NO_REG &&
		follower_name_operand(f, m, 0, &r, &f->held[m->base], e->text, FOLLOWER_TEXT_MAX,
				      member, &target, &e->type)) ||
	       (has_address && global_value_at(f, i, m, addr, e));
}

/* Whether an address is of the stack of the frame, or above it. */
static bool is_of_stack(const struct follower *f, uint64_t addr)
{
	return addr - (f->regs.rsp - RED_ZONE) < STACK_REACH;
}

/* A name that begins with a variable's, or that goes through a pointer, may tell of what memory
 * held before it was written. Of the stack only variables are written. */
static void forget_written(struct follower *f, size_t i, const struct disasm_memory *m)
{
	uint64_t addr;
	bool certain = straight_values_address(&f->straight, i, m, &addr);

	for (unsigned reg = 0; reg < BT_REG_COUNT; reg++) {
		char *text = f->held[reg].text;

		if ((!certain || !is_of_stack(f, addr)) && strpbrk(text, "*.>["))
			*text = 0;
		for (size_t k = 0; certain && k < f->variable_count; k++) {
			const struct variable_in_memory *v = &f->variables[k];
			size_t n = strlen(v->name);

			if (addr + m->size > v->addr && addr < v->addr + v->size &&
			    !strncmp(text + (*text == '*'), v->name, n))
				*text = 0;
		}
	}
}

/* Says that a pointer has had something added. */
static void move_pointer(struct expression *e, bool is_known, uint64_t by)
{
	e->is_moved_by = is_known && (!e->is_moved || e->is_moved_by);
	e->moved_by = e->is_moved ? e->moved_by + by : by;
	e->is_moved = true;
}

/* An element of an array is at its pointer plus something. */
static bool moves_pointer(struct follower *f, size_t i)
{
	const struct disasm_result *r = &f->insns[i].result;
	struct expression *e = &f->held[r->to];
	Dwarf_Die pointer = e->type, target;
	uint64_t by = 0;
	bool is_known;

	if (r->effect != DISASM_ADD || !*e->text || !follower_pointer_target(&pointer, &target))
		return false;
	is_known = straight_values_source(&f->straight, i, &by);
	move_pointer(e, is_known, by);
	return true;
}

/* The pointer may also be added to what it is moved by. */
static bool adds_pointer(const struct follower *f, size_t i, struct expression *e)
{
	const struct disasm_result *r = &f->insns[i].result;
	Dwarf_Die target;
	uint32_t known;
	struct bt_regs regs;

	if (r->effect != DISASM_ADD || r->is_number || r->from == DISASM_NO_REG || r->size != 8 ||
	    *f->held[r->to].text)
		return false;
	*e = f->held[r->from];
	if (!*e->text || !follower_pointer_target(&e->type, &target))
		return false;
	regs = straight_values_before(&f->straight, i, &known);
	move_pointer(e, known >> r->to & 1, bt_regs_get(&regs, r->to));
	return true;
}

/* A whole number of four bytes, which may get its sign, stays what it is. */
static bool name_number(struct follower *f, size_t i, struct expression *e)
{
	const struct disasm *d = &f->insns[i];
	const struct disasm_result *r = &d->result;
	uint64_t size;

	*e = (struct expression){.text = ""};
	if ((r->effect != DISASM_COPY && r->effect != DISASM_EXTEND) || r->size != 4 ||
	    r->is_number)
		return false;
	if (r->from != DISASM_NO_REG)
		*e = f->held[r->from];
	else if (!name_load(f, i, e))
		*e->text = 0;
	return *e->text && !e->is_moved && dwarf_tag(&e->type) == DW_TAG_base_type &&
	       debug_type_size(&e->type, &size) && size == 4;
}

static void follow_one(struct follower *f, size_t i)
{
	const struct disasm *d = &f->insns[i];
	struct expression e = {.text = ""}, added, number;
	bool adds = adds_pointer(f, i, &added), is_number = name_number(f, i, &number);

	if (d->move_to != DISASM_NO_REG && d->move_from != DISASM_NO_REG)
		e = f->held[d->move_from];
	else if (d->move_to != DISASM_NO_REG && !name_load(f, i, &e))
		*e.text = 0;
	for (unsigned reg = 0; reg < BT_REG_COUNT; reg++)
		if (d->written >> reg & 1) {
			if (d->result.to != reg || !moves_pointer(f, i))
				f->held[reg] = (struct expression){.text = ""};
		}
	if (d->move_to != DISASM_NO_REG)
		f->held[d->move_to] = e;
	if (is_number)
		f->held[d->result.to] = number;
	if (adds)
		f->held[d->result.to] = added;
	for (size_t k = 0; k < d->memory_count; k++)
		if (d->memory[k].access & DISASM_WRITE)
			forget_written(f, i, &d->memory[k]);
	straight_values_step(&f->straight, i);
}

/* Those before the place. A new array. */
static size_t instructions_before(struct follower *f, struct history_insn **out)
{
	struct code_place place = {.pc = f->pc};
	size_t n;

	if (!frame_function_range(f->values, f->frame, f->pc, &place.start, &place.end))
		return 0;
	n = code_before_by_history(f->c, f->h, f->end, &place, out);
	f->is_history = n;
	return n ? n : code_before_by_function(f->c, &place, out);
}

static bool take_instructions(struct follower *f)
{
	struct history_insn *insns;
	size_t n = instructions_before(f, &insns);
	uint32_t unchanged = f->known;

	if (!n)
		return false;
	f->insns = calloc(n, sizeof *f->insns);
	f->unchanged = calloc(n, sizeof *f->unchanged);
	if (f->insns && f->unchanged)
		f->count = n;
	for (size_t i = f->count; i-- > 0;) {
		if (disasm_decode(&f->insns[i], insns[i].bytes, insns[i].len, insns[i].addr))
			f->insns[i].written = UINT32_MAX;
		f->unchanged[i] = unchanged &= ~f->insns[i].written;
	}
	free(insns);
	f->straight = (struct straight_values){.c = f->c,
					       .regs = &f->regs,
					       .is_memory_written = f->is_memory_written,
					       .insns = f->insns,
					       .unchanged = f->unchanged,
					       .count = f->count};
	return f->count != 0;
}

/* The entry of the function that the call of the history led to which the newest return ended. A
 * stub of the PLT jumps on. 0: it is not known. */
static uint64_t called_function(const struct history *h, size_t end)
{
	const struct history_entry *ret = &h->entries[end - 1];
	size_t open = 0;

	for (size_t i = end - 1; i-- > 0 && end - i < CALL_SOUGHT_MAX;) {
		const struct history_entry *e = &h->entries[i];

		if (e->kind == BT_BRANCH_GAP || e->space != ret->space)
			return 0;
		if (e->kind == BT_BRANCH_RET)
			open++;
		if ((e->kind != BT_BRANCH_CALL && e->kind != BT_BRANCH_ICALL) || open-- > 0)
			continue;
		if (ret->to - e->from - 1 >= CALL_LENGTH_MAX)
			return 0;
		return e[1].kind == BT_BRANCH_IJMP && e[1].from - e->to < STUB_MAX ? e[1].to
										   : e->to;
	}
	return 0;
}

/* The first instruction after a call finds in rax what the function returned. */
static void take_returned(struct follower *f)
{
	const struct history_entry *last = f->h && f->end ? &f->h->entries[f->end - 1] : NULL;
	uint64_t start = f->count ? f->insns[0].addr : f->pc,
		 entry = last && last->kind == BT_BRANCH_RET && last->to == start &&
					 (f->is_history || !f->count)
				 ? called_function(f->h, f->end)
				 : 0;
	uint8_t rax = register_of_dwarf(0);
	struct program_object o;

	if (!entry || !program_function_at(thread_values_memory(f->values), entry, &o))
		return;
	f->held[rax] = (struct expression){.type = o.type};
	if (!follower_join(f->held[rax].text, FOLLOWER_TEXT_MAX, o.name, "()", ""))
		*f->held[rax].text = 0;
}

static void follow_instructions(struct follower *f)
{
	struct thread_values *t = f->values;

	bool has_instructions = take_instructions(f);

	memset(f->held, 0, sizeof f->held);
	take_returned(f);
	if (has_instructions)
		frame_variables_each(t, f->frame, f->insns[0].addr, take_register_only, f);
	for (size_t i = 0; i < f->count; i++)
		follow_one(f, i);
	/* The DWARF's registers at the instruction itself take precedence. */
	frame_variables_each(t, f->frame, f->pc, take_register_only, f);
}

bool follower_follow(struct follower *f)
{
	f->variables = calloc(VARIABLES_MAX, sizeof *f->variables);
	if (!f->variables)
		return false;
	frame_variables_each(f->values, f->frame, f->pc, take_variable, f);
	follow_instructions(f);
	return true;
}

void follower_release(struct follower *f)
{
	free(f->variables);
	free(f->insns);
	free(f->unchanged);
}
