/* SPDX-License-Identifier: MIT */
/* What an access went through, in the words of the source: "c->port".
 *
 * Optimized code has variables in registers, and the DWARF says which at each address. Other code
 * loads a variable from its place in memory first: the instructions since the last branch, by the
 * history or by the function's code, are followed (follow()). Each register that gets a variable's
 * value, or what a named pointer's target holds, has that as its expression until it is written
 * again. A variable of no function is one whose address the code itself has, as base or
 * displacement: a pointer may lead to it, too.
 *
 * Nothing is concluded from values: many variables may be null. */
#include <dwarf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/cause/fault_private.h"
#include "decoder/cause/straight_values.h"
#include "decoder/symbols/debug_type.h"
#include "decoder/values/frame_values.h"
#include "decoder/values/program_object.h"

enum {
	FOLLOWED_MAX = 256,     /* instructions */
	FUNCTION_MAX = 1 << 16, /* bytes */
	VARIABLES_MAX = 256,
	GLOBALS_SOUGHT_MAX = 32,
	CALL_SOUGHT_MAX = 1 << 20, /* entries of the history */
	CALL_LENGTH_MAX = 15,
	STUB_MAX = 16, /* bytes */
	RED_ZONE = 128,
	STACK_REACH = 1 << 20,
	TEXT_MAX = sizeof((struct fault_name *)0)->pointer,
};

/* What a register holds; text "": nothing that has a name. */
struct expression {
	char text[TEXT_MAX];
	Dwarf_Die type;
	bool has_value; /* value is that of the text */
	uint64_t value;
	bool is_moved;    /* the register holds a pointer to another element, */
	bool is_moved_by; /* which is so many bytes away */
	uint64_t moved_by;
};

struct variable_in_memory {
	char name[TEXT_MAX];
	uint64_t addr, size;
	Dwarf_Die type;
	bool is_global; /* of no function */
};

/* Those of an instruction's registers that are known. */
struct known_registers {
	struct bt_regs regs;
	uint32_t known;
};

struct follower {
	struct fault_context *c;
	struct thread_values *values;
	struct expression held[BT_REG_COUNT];
	struct variable_in_memory *variables;
	size_t variable_count;
	const char *arrow; /* how members of what a pointer points to are written */
	struct disasm *insns;
	uint32_t *unchanged; /* registers that neither it nor a later instruction changes */
	size_t count;
	struct straight_values straight;
	unsigned globals_sought;
	bool is_history; /* the instructions are of the history */
};

static bool join(char *out, size_t cap, const char *a, const char *b, const char *c)
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
 * program calls an object counts more than the "this" of a function inlined for it. */
static void take_register(struct follower *f, const struct frame_variable *v)
{
	uint8_t reg = v->object.reg ? register_of_dwarf(v->object.reg - 1) : DISASM_NO_REG;

	if (reg == DISASM_NO_REG || !v->has_type ||
	    (v->level && *f->held[reg].text && !strcmp(v->name, "this")))
		return;
	f->held[reg] = (struct expression){.type = v->type};
	if (!join(f->held[reg].text, TEXT_MAX, v->name, "", ""))
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
	f->variable_count += join(in->name, TEXT_MAX, v->name, "", "");
}

static void take_register_only(void *arg, const struct frame_variable *v) { take_register(arg, v); }

/* The 8 bytes at an offset of a variable: itself, its member or its element. */
static bool name_part(const struct variable_in_memory *v, uint64_t offset, struct expression *e)
{
	Dwarf_Die type = v->type;
	char member[TEXT_MAX];

	e->type = v->type;
	if (!debug_is_structure(&type) && dwarf_tag(&type) != DW_TAG_array_type)
		return !offset && v->size == 8 && join(e->text, TEXT_MAX, v->name, "", "");
	return debug_member_at(&type, offset, 0, member, sizeof member, &e->type) &&
	       join(e->text, TEXT_MAX, v->name, *member && *member != '[' ? "." : "", member);
}

/* The function's variable, or the part of one, that has 8 bytes at an address. */
static bool value_at(const struct follower *f, uint64_t addr, struct expression *e)
{
	for (size_t i = f->variable_count; i-- > 0;) {
		const struct variable_in_memory *v = &f->variables[i];

		if (!v->is_global && addr - v->addr < v->size)
			return name_part(v, addr - v->addr, e);
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

/* The same of a variable of no function, which is from here on among those that are known. What an
 * index leads to out of its array is another variable's or member's. */
static bool global_value_at(struct follower *f, size_t i, const struct disasm_memory *m,
			    uint64_t addr, struct expression *e)
{
	struct variable_in_memory *v = &f->variables[f->variable_count];
	struct expression first;
	struct program_object o;
	uint64_t named;

	if (f->variable_count == VARIABLES_MAX || !named_address(f, i, m, &named) ||
	    ++f->globals_sought > GLOBALS_SOUGHT_MAX ||
	    !program_variable_at(thread_values_memory(f->values), f->c->f->pc, addr, &o))
		return false;
	*v = (struct variable_in_memory){
		.addr = o.addr, .size = o.size, .type = o.type, .is_global = true};
	if (!join(v->name, TEXT_MAX, o.name, "", "") || named - v->addr >= v->size)
		return false;
	f->variable_count++;
	return name_part(v, addr - v->addr, e) &&
	       (m->index == DISASM_NO_REG ||
		(name_part(v, named - v->addr, &first) && is_same_array(first.text, e->text)));
}

static bool pointer_target(Dwarf_Die *pointer, Dwarf_Die *target)
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

/* What a pointer's expression, or a reference's, leads to. */
static bool join_target(const struct follower *f, char *text, size_t cap,
			const struct expression *base, Dwarf_Die *pointer, const char *member)
{
	bool is_reference = dwarf_tag(pointer) != DW_TAG_pointer_type;
	char held[TEXT_MAX];

	if (!*member)
		return join(text, cap, is_reference ? "" : "*", base->text, "");
	return join(held, sizeof held, *base->text == '*' ? "(" : "", base->text,
		    *base->text == '*' ? ")" : "") &&
	       join(text, cap, held, is_reference ? "." : f->arrow, member);
}

/* What an operand whose base register holds an expression refers to. member: text of the member,
 * "" for none. size: of what is accessed, 0: a pointer, which may be all that a structure has. */
static bool name_operand(const struct follower *f, const struct disasm_memory *m, uint64_t size,
			 const struct known_registers *r, const struct expression *base, char *text,
			 size_t cap, char member[TEXT_MAX], Dwarf_Die *target, Dwarf_Die *type)
{
	char indexed[TEXT_MAX];
	Dwarf_Die pointer = base->type;
	struct element e;

	*member = 0;
	if (!*base->text || m->segment != DISASM_NO_REG || m->address_bits != 64 || m->vector ||
	    !pointer_target(&pointer, target) || !find_element(target, m, r, base, &e))
		return false;
	*type = *target;
	if (debug_is_structure(target) &&
	    !debug_member_at(target, e.offset, size, member, TEXT_MAX, type))
		return false;
	if (!*member && e.offset)
		return false;
	if (is_null_check(f, m, type)) {
		*member = 0;
		*type = *target;
	}
	if (e.is_indexed) {
		int n = snprintf(indexed, sizeof indexed, "%s[%" PRId64 "]", base->text, e.number);

		return n >= 0 && (size_t)n < sizeof indexed &&
		       join(text, cap, indexed, *member ? "." : "", member);
	}
	return join_target(f, text, cap, base, &pointer, member);
}

/* The same of a variable of the function, whose place is told by registers that stay. What an
 * index leads to out of its array is no part of it. */
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
	return value_at(f, addr, e) &&
	       (m->index == DISASM_NO_REG ||
		(straight_values_address(&f->straight, i, &array, &begin) &&
		 value_at(f, begin, &first) && is_same_array(first.text, e->text)));
}

/* What a load gives its register. */
static bool name_load(struct follower *f, size_t i, struct expression *e)
{
	const struct disasm *d = &f->insns[i];
	const struct disasm_memory *m = &d->memory[0];
	struct known_registers r;
	char member[TEXT_MAX];
	Dwarf_Die target;
	uint64_t addr = 0;
	bool has_address = straight_values_address(&f->straight, i, m, &addr);

	if (m->size != 8)
		return false;
	e->has_value = has_address && straight_values_read(&f->straight, i, addr, 8, &e->value);
	if (has_address && local_value_at(f, i, m, addr, e))
		return true;
	r.regs = straight_values_before(&f->straight, i, &r.known);
	return (m->base != DISASM_NO_REG && name_operand(f, m, 0, &r, &f->held[m->base], e->text,
							 TEXT_MAX, member, &target, &e->type)) ||
	       (has_address && global_value_at(f, i, m, addr, e));
}

/* Whether an address is of the stack of the frame, or above it. */
static bool is_of_stack(const struct follower *f, uint64_t addr)
{
	return addr - (f->c->regs->rsp - RED_ZONE) < STACK_REACH;
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

	if (r->effect != DISASM_ADD || !*e->text || !pointer_target(&pointer, &target))
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
	if (!*e->text || !pointer_target(&e->type, &target))
		return false;
	regs = straight_values_before(&f->straight, i, &known);
	move_pointer(e, known >> r->to & 1, bt_regs_get(&regs, r->to));
	return true;
}

static void follow_one(struct follower *f, size_t i)
{
	const struct disasm *d = &f->insns[i];
	struct expression e = {.text = ""}, added;
	bool adds = adds_pointer(f, i, &added);

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
	if (adds)
		f->held[d->result.to] = added;
	for (size_t k = 0; k < d->memory_count; k++)
		if (d->memory[k].access & DISASM_WRITE)
			forget_written(f, i, &d->memory[k]);
	straight_values_step(&f->straight, i);
}

/* The last instructions before the pc that the history knows to have run one after the other. A new
 * array. */
static size_t executed_instructions(const struct follower *f, struct history_insn **out)
{
	const struct fault_context *c = f->c;
	struct history_insn *all;
	long n = c->h && c->end ? history_straight(c->h, c->m, c->end, c->f->pc, &all) : 0;
	uint64_t start, end;

	if (n <= 0)
		return 0;
	if (n <= FOLLOWED_MAX && frame_function_range(f->values, 0, c->f->pc, &start, &end) &&
	    all[0].addr >= start && all[0].addr < end) {
		*out = all;
		return (size_t)n;
	}
	free(all);
	return 0;
}

/* The block of the function that ends with the pc: what must have run before it, from the last
 * place that a jump leads to. */
struct block {
	uint64_t start, pc;
	bool is_known; /* no jump of the function may lead elsewhere */
};

static void note_target(struct block *b, uint64_t target)
{
	if (target <= b->pc && target > b->start)
		b->start = target;
}

/* Takes an instruction of the function into account. */
static void note_instruction(struct block *b, uint64_t addr, const struct bt_insn *insn)
{
	uint64_t behind = addr + insn->len;

	switch (insn->class) {
	case BT_INSN_PLAIN:
		if (insn->traits & BT_TRAIT_BEGINS)
			b->is_known = false;
		return;
	case BT_INSN_IJMP:
	case BT_INSN_IRET:
		b->is_known = false;
		return;
	case BT_INSN_JCC:
	case BT_INSN_JRCXZ:
	case BT_INSN_LOOP:
	case BT_INSN_JMP:
	case BT_INSN_CALL:
		note_target(b, behind + (uint64_t)insn->displacement);
		break;
	default:
		break;
	}
	note_target(b, behind);
}

/* For a history that does not tell it: a core file has none. */
static size_t block_instructions(const struct follower *f, struct history_insn **out)
{
	const struct fault_context *c = f->c;
	struct block b = {.pc = c->f->pc, .is_known = true};
	uint64_t end, at, size;
	uint8_t *code;
	size_t n = 0;

	if (!frame_function_range(f->values, 0, b.pc, &b.start, &end) ||
	    end - b.start > FUNCTION_MAX)
		return 0;
	at = b.start;
	size = end - at;
	code = malloc(size);
	*out = calloc(FOLLOWED_MAX, sizeof **out);
	if (!code || !*out || symbols_code(c->s, c->f->space, c->f->epoch, at, code, size) < size)
		b.is_known = false;
	for (uint64_t i = 0; b.is_known && i < size;) {
		struct bt_insn insn;

		if (bt_insn_decode(code + i, size - i, &insn))
			b.is_known = false;
		else
			note_instruction(&b, at + i, &insn);
		i += insn.len;
	}
	for (uint64_t i = b.start - at; b.is_known && at + i < b.pc;) {
		struct bt_insn insn;

		if (n == FOLLOWED_MAX || bt_insn_decode(code + i, size - i, &insn)) {
			n = 0;
			break;
		}
		(*out)[n].addr = at + i;
		(*out)[n].len = insn.len;
		memcpy((*out)[n++].bytes, code + i, insn.len);
		i += insn.len;
	}
	free(code);
	if (!n)
		free(*out);
	return n;
}

static bool take_instructions(struct follower *f)
{
	struct history_insn *insns;
	size_t n = executed_instructions(f, &insns);
	uint32_t unchanged = UINT32_MAX;

	f->is_history = n;
	if (!n)
		n = block_instructions(f, &insns);
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
	f->straight = (struct straight_values){
		.c = f->c, .insns = f->insns, .unchanged = f->unchanged, .count = f->count};
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
	const struct fault_context *c = f->c;
	const struct history_entry *last = c->h && c->end ? &c->h->entries[c->end - 1] : NULL;
	uint64_t start = f->count ? f->insns[0].addr : c->f->pc,
		 entry = last && last->kind == BT_BRANCH_RET && last->to == start &&
					 (f->is_history || !f->count)
				 ? called_function(c->h, c->end)
				 : 0;
	uint8_t rax = register_of_dwarf(0);
	struct program_object o;

	if (!entry || !program_function_at(thread_values_memory(f->values), entry, &o))
		return;
	f->held[rax] = (struct expression){.type = o.type};
	if (!join(f->held[rax].text, TEXT_MAX, o.name, "()", ""))
		*f->held[rax].text = 0;
}

static void follow(struct follower *f)
{
	struct thread_values *t = f->values;

	bool has_instructions = take_instructions(f);

	memset(f->held, 0, sizeof f->held);
	take_returned(f);
	if (has_instructions)
		frame_variables_each(t, 0, f->insns[0].addr, take_register_only, f);
	for (size_t i = 0; i < f->count; i++)
		follow_one(f, i);
	/* What the DWARF says of the instruction itself counts more. */
	frame_variables_each(t, 0, f->c->f->pc, take_register_only, f);
}

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
	char member[TEXT_MAX];

	if (!*base->text)
		return false;
	if (!name_operand(f, m, m->size, &r, base, name->accessed, sizeof name->accessed, member,
			  &target, &type))
		return false;
	join(name->pointer, sizeof name->pointer, base->text, "", "");
	name->value = bt_regs_get(f->c->regs, m->base);
	if (base->is_moved)
		name->value = base->is_moved_by ? name->value - base->moved_by : base->value;
	if (*member && dwarf_diename(&target)) {
		if (!join(name->member, sizeof name->member, member, "", "") ||
		    !join(name->structure, sizeof name->structure, keyword(&target),
			  dwarf_diename(&target), ""))
			*name->member = 0;
	}
	return true;
}

bool fault_name_access(struct fault_context *c, const struct disasm_memory *m,
		       struct fault_name *name)
{
	struct follower f = {.c = c, .arrow = "->"};
	struct thread_values *t;
	bool found = false;

	*name = (struct fault_name){.accessed = ""};
	if (!c->thread || !c->regs || m->base == DISASM_NO_REG || c->f->where != c->f->pc)
		return false;
	if (said_access_find(c->s, c->snap, c->thread, name))
		return true;
	if (thread_values_open(&t, c->s, c->snap, c->thread, NULL))
		return false;
	f.values = t;
	f.variables = calloc(VARIABLES_MAX, sizeof *f.variables);
	if (f.variables) {
		frame_variables_each(t, 0, c->f->pc, take_variable, &f);
		follow(&f);
		found = name_by_base(&f, m, name);
	}
	free(f.variables);
	free(f.insns);
	free(f.unchanged);
	thread_values_close(t);
	if (found)
		said_access_note(c->s, c->snap, c->thread, name);
	return found;
}
