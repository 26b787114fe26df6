/* SPDX-License-Identifier: MIT */
/* What an access went through, in the words of the source: "c->port".
 *
 * Optimized code has variables in registers, and the DWARF says which at each address. Other code
 * loads a variable from its place in memory first: the instructions since the last branch, by the
 * history or by the function's code, are followed (follow()). Each register that gets a variable's
 * value, or what a named pointer's target holds, has that as its expression until it is written
 * again.
 *
 * Nothing is concluded from values: many variables may be null. */
#include <dwarf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/cause/fault_private.h"
#include "decoder/symbols/debug_type.h"
#include "decoder/values/frame_values.h"

enum {
	FOLLOWED_MAX = 256,     /* instructions */
	FUNCTION_MAX = 1 << 16, /* bytes */
	VARIABLES_MAX = 256,
	TEXT_MAX = sizeof((struct fault_name *)0)->pointer,
};

/* What a register holds; text "": nothing that has a name. */
struct expression {
	char text[TEXT_MAX];
	Dwarf_Die type;
	bool has_value; /* value is that of the text */
	bool is_moved;  /* the register holds a pointer to another element */
	uint64_t value;
};

struct variable_in_memory {
	char name[TEXT_MAX];
	uint64_t addr, size;
	Dwarf_Die type;
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

/* A later variable of the same place is of an inner block, or of what is inlined. */
static void take_register(struct follower *f, const struct frame_variable *v)
{
	uint8_t reg = v->object.reg ? register_of_dwarf(v->object.reg - 1) : DISASM_NO_REG;

	if (reg == DISASM_NO_REG || !v->has_type)
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

/* The variable, or the member of one, that has 8 bytes at an address. */
static bool value_at(const struct follower *f, uint64_t addr, struct expression *e)
{
	for (size_t i = f->variable_count; i-- > 0;) {
		struct variable_in_memory *v = &f->variables[i];
		char member[TEXT_MAX];
		uint64_t offset = addr - v->addr;

		if (offset >= v->size)
			continue;
		e->type = v->type;
		if (!debug_is_structure(&v->type))
			return !offset && v->size == 8 && join(e->text, TEXT_MAX, v->name, "", "");
		return debug_member_at(&v->type, offset, 8, member, sizeof member, &e->type) &&
		       join(e->text, TEXT_MAX, v->name, ".", member);
	}
	return false;
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

static bool find_element(Dwarf_Die *target, const struct disasm_memory *m,
			 const struct bt_regs *regs, const struct expression *base,
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
		int64_t moved = regs ? (int64_t)(bt_regs_get(regs, m->base) - base->value) : 0;

		if (!regs || moved > INT32_MAX || moved < INT32_MIN)
			return false;
		at += moved;
	}
	if (m->index != DISASM_NO_REG) {
		int64_t index = regs ? (int64_t)bt_regs_get(regs, m->index) : 0;

		if (!regs || m->index_bits != 64 || index > INT32_MAX || index < INT32_MIN)
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

/* What an operand whose base register holds an expression refers to. member: text of the member,
 * "" for none. */
static bool name_operand(const struct follower *f, const struct disasm_memory *m,
			 const struct bt_regs *regs, const struct expression *base, char *text,
			 size_t cap, char member[TEXT_MAX], Dwarf_Die *target, Dwarf_Die *type)
{
	char indexed[TEXT_MAX];
	struct element e;
	Dwarf_Die pointer = base->type;

	*member = 0;
	if (!*base->text || m->segment != DISASM_NO_REG || m->address_bits != 64 || m->vector ||
	    !pointer_target(&pointer, target) || !find_element(target, m, regs, base, &e))
		return false;
	*type = *target;
	if (debug_is_structure(target) &&
	    !debug_member_at(target, e.offset, m->size, member, TEXT_MAX, type))
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
	return *member ? join(text, cap, base->text, f->arrow, member)
		       : join(text, cap, "*", base->text, "");
}

/* Whether the address of an operand at instruction i is told by the registers at the end. */
static bool is_certain(const struct follower *f, size_t i, const struct disasm_memory *m)
{
	uint32_t used = 0;

	if (m->base != DISASM_NO_REG && strcmp(bt_reg_info[m->base].name, "rip") != 0)
		used |= UINT32_C(1) << m->base;
	if (m->index != DISASM_NO_REG)
		used |= UINT32_C(1) << m->index;
	return !(used & ~f->unchanged[i]);
}

/* What a load gives its register. */
static bool name_load(const struct follower *f, size_t i, struct expression *e)
{
	const struct disasm *d = &f->insns[i];
	const struct disasm_memory *m = &d->memory[0];
	char member[TEXT_MAX];
	Dwarf_Die target;
	uint64_t addr;

	if (m->size != 8)
		return false;
	if (is_certain(f, i, m) && disasm_address(d, m, f->c->regs, &addr) &&
	    value_at(f, addr, e)) {
		e->has_value = fault_read(f->c, addr, 8, &e->value);
		return true;
	}
	return m->base != DISASM_NO_REG && m->index == DISASM_NO_REG &&
	       name_operand(f, m, NULL, &f->held[m->base], e->text, TEXT_MAX, member, &target,
			    &e->type);
}

/* A name that begins with a variable's, or that goes through a pointer, may tell of what memory
 * held before it was written. */
static void forget_written(struct follower *f, size_t i, const struct disasm_memory *m)
{
	uint64_t addr;
	bool certain = is_certain(f, i, m) && disasm_address(&f->insns[i], m, f->c->regs, &addr);

	for (unsigned reg = 0; reg < BT_REG_COUNT; reg++) {
		char *text = f->held[reg].text;

		if (!certain && strpbrk(text, "*.>["))
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

/* An element of an array is at its pointer plus something. */
static bool moves_pointer(struct follower *f, const struct disasm *d, unsigned reg)
{
	char text[DISASM_TEXT_MAX];
	struct expression *e = &f->held[reg];
	Dwarf_Die target;
	struct register_part part;
	size_t end;

	return *e->text && e->has_value && pointer_target(&e->type, &target) &&
	       !strncmp(disasm_text(d, NULL, text, sizeof text), "add ", 4) &&
	       fault_first_register(text + 4, &part, &end) && part.number == reg && part.size == 8;
}

static void follow_one(struct follower *f, size_t i)
{
	const struct disasm *d = &f->insns[i];
	struct expression e = {.text = ""};

	if (d->move_to != DISASM_NO_REG && d->move_from != DISASM_NO_REG)
		e = f->held[d->move_from];
	else if (d->move_to != DISASM_NO_REG && !name_load(f, i, &e))
		*e.text = 0;
	for (unsigned reg = 0; reg < BT_REG_COUNT; reg++)
		if (d->written >> reg & 1) {
			if (moves_pointer(f, d, reg))
				f->held[reg].is_moved = true;
			else
				f->held[reg] = (struct expression){.text = ""};
		}
	if (d->move_to != DISASM_NO_REG)
		f->held[d->move_to] = e;
	for (size_t k = 0; k < d->memory_count; k++)
		if (d->memory[k].access & DISASM_WRITE)
			forget_written(f, i, &d->memory[k]);
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
	return f->count != 0;
}

static void follow(struct follower *f)
{
	struct thread_values *t = f->values;

	if (!take_instructions(f))
		return;
	memset(f->held, 0, sizeof f->held);
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
	Dwarf_Die target, type;
	char member[TEXT_MAX];

	if (!*base->text)
		return false;
	if (!name_operand(f, m, f->c->regs, base, name->accessed, sizeof name->accessed, member,
			  &target, &type))
		return false;
	join(name->pointer, sizeof name->pointer, base->text, "", "");
	name->value = base->is_moved ? base->value : bt_regs_get(f->c->regs, m->base);
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
