/* SPDX-License-Identifier: MIT */
#include "decoder/cause/passed_argument.h"

#include <stdlib.h>
#include <string.h>

#include "decoder/symbols/text.h"
#include "lib/array_size.h"

enum {
	SOUGHT_MAX = 1 << 16, /* entries of the history */
	SEGMENTS_MAX = 1 << 12,
	INSNS_MAX = 1 << 14,
	CALL_LENGTH_MAX = 15,
	SLOTS_MAX = 64,
	STUB_WORDS = 16, /* bytes */
};

/* The origin of a register's value: an argument plus an offset, or the value of rsp at the call
 * plus an offset. */
enum { OTHER = 0, STACK = 7 };

struct value_origin {
	unsigned number; /* of the argument; OTHER, STACK */
	uint64_t offset;
};

static const struct value_origin nothing = {.number = OTHER};

/* Eight bytes of the stack that a register was stored to. */
struct slot {
	uint64_t at;
	struct value_origin of;
};

struct argument_walk {
	const struct fault_context *c;
	const struct history *h;
	size_t end;
	struct own_code *own;
	size_t call; /* the entry that led into the library */
	struct value_origin of[BT_REG_COUNT];
	struct slot slots[SLOTS_MAX];
	size_t slot_count;
	uint32_t unchanged; /* registers since then */
	bool is_memory_written;
	size_t insns, open; /* instructions, and calls that have not returned */
};

static const unsigned argument_dwarf[] = {5, 4, 1, 2, 8, 9};

uint8_t passed_argument_register(unsigned number)
{
	for (uint8_t i = 0; i < BT_REG_COUNT; i++)
		if (number && number <= ARRAY_SIZE(argument_dwarf) &&
		    bt_reg_info[i].dwarf == (int)argument_dwarf[number - 1])
			return i;
	return DISASM_NO_REG;
}

static uint8_t register_named(const char *name)
{
	uint8_t reg = 0;

	while (strcmp(bt_reg_info[reg].name, name) != 0)
		reg++;
	return reg;
}

static bool is_register(uint8_t reg, const char *name)
{
	return reg != DISASM_NO_REG && !strcmp(bt_reg_info[reg].name, name);
}

static struct value_origin moved_origin(struct value_origin o, uint64_t by)
{
	o.offset += by;
	return o;
}

/* The place in the stack of a memory operand. */
static bool stack_place(const struct argument_walk *w, const struct disasm_memory *m, uint64_t *at)
{
	if (m->base == DISASM_NO_REG || m->index != DISASM_NO_REG || m->segment != DISASM_NO_REG ||
	    m->address_bits != 64 || w->of[m->base].number != STACK)
		return false;
	*at = w->of[m->base].offset + (uint64_t)m->displacement;
	return true;
}

static struct value_origin slot_at(const struct argument_walk *w, uint64_t at)
{
	for (size_t i = 0; i < w->slot_count; i++)
		if (w->slots[i].at == at)
			return w->slots[i].of;
	return nothing;
}

static void forget_slots(struct argument_walk *w, uint64_t at, uint64_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < w->slot_count; i++)
		if (w->slots[i].at - at >= size && at - w->slots[i].at >= 8)
			w->slots[n++] = w->slots[i];
	w->slot_count = n;
}

/* Whether a write cannot be to the stack: its address is the code's own. */
static bool is_of_data(const struct disasm_memory *m)
{
	return is_register(m->base, "rip") && m->segment == DISASM_NO_REG;
}

/* The origin of the value that an instruction leaves in d->result.to, or d->move_to. */
static struct value_origin result_of(const struct argument_walk *w, const struct disasm *d)
{
	const struct disasm_result *r = &d->result;
	const struct disasm_memory *m = &d->memory[0];
	uint64_t at;

	if (d->move_to != DISASM_NO_REG && d->move_from != DISASM_NO_REG)
		return w->of[d->move_from];
	if (d->move_to != DISASM_NO_REG)
		return stack_place(w, m, &at) ? slot_at(w, at) : nothing;
	if (r->effect == DISASM_ADD && r->is_number)
		return moved_origin(w->of[r->to], r->number);
	if (r->effect == DISASM_ADDRESS && m->base != DISASM_NO_REG && m->index == DISASM_NO_REG &&
	    m->segment == DISASM_NO_REG && m->address_bits == 64 && w->of[m->base].number)
		return moved_origin(w->of[m->base], (uint64_t)m->displacement);
	return nothing;
}

/* A register by its number in instructions. */
static uint8_t register_of_code(unsigned number)
{
	static const char *const names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
					    "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

	return register_named(names[number & 15]);
}

/* A push or pop of a whole register (50+r, 58+r); a store of one (REX.W 89 /r), which says its
 * source in no other way. */
struct stack_insn {
	bool pushes, pops, stores, leaves;
	uint8_t reg;
	uint64_t grows; /* rsp by so much; has_growth: it is known */
	bool has_growth;
};

/* push of anything, call, pushf; enter does more. */
static bool pushes_word(const struct disasm *d)
{
	for (size_t i = 0; i < d->memory_count; i++)
		if (d->push && d->bytes[0] != 0xc8 && d->memory[i].implicit &&
		    d->memory[i].access & DISASM_WRITE)
			return d->memory[i].size == 8;
	return false;
}

static struct stack_insn read_stack_insn(const struct disasm *d)
{
	const uint8_t *b = d->bytes;
	bool has_rex = (b[0] & 0xf0) == 0x40;
	unsigned rex = has_rex ? b[0] : 0;
	uint8_t op = b[has_rex];
	struct stack_insn s = {.pushes = (op & 0xf8) == 0x50,
			       .pops = (op & 0xf8) == 0x58,
			       .leaves = b[0] == 0xc9,
			       .stores = rex & 8 && op == 0x89 && b[has_rex + 1] < 0xc0};

	s.reg = s.stores ? register_of_code((b[has_rex + 1] >> 3 & 7) | (rex & 4) << 1)
			 : register_of_code((op & 7) | (rex & 1) << 3);
	s.has_growth = true;
	if (pushes_word(d))
		s.grows = -UINT64_C(8);
	else if ((s.pops && !is_register(s.reg, "rsp")) ||
		 (d->class == BT_INSN_RET && b[0] != 0xc2 && b[d->len - 1] == 0xc3))
		s.grows = 8;
	else if (rex == 0x48 && op == 0x83 && b[2] == 0xec)
		s.grows = -(uint64_t)(int8_t)b[3];
	else if (rex == 0x48 && op == 0x81 && b[2] == 0xec)
		s.grows =
			-(uint64_t)(int32_t)(b[3] | b[4] << 8 | b[5] << 16 | (uint32_t)b[6] << 24);
	else
		s.has_growth = false;
	return s;
}

/* Follows an instruction's writes to memory. */
static void step_memory(struct argument_walk *w, const struct disasm *d, const struct stack_insn *s)
{
	struct value_origin stored = s->stores || s->pushes ? w->of[s->reg] : nothing;
	uint64_t at;

	for (size_t i = 0; i < d->memory_count; i++) {
		const struct disasm_memory *m = &d->memory[i];

		if (!(m->access & DISASM_WRITE))
			continue;
		if (!is_register(m->base, "rsp"))
			w->is_memory_written = true;
		if (!stack_place(w, m, &at) || !m->size) {
			if (!is_of_data(m))
				w->slot_count = 0;
			continue;
		}
		forget_slots(w, at, m->size);
		if (stored.number && w->slot_count < SLOTS_MAX)
			w->slots[w->slot_count++] = (struct slot){at, stored};
	}
}

static void step_over(struct argument_walk *w, const struct disasm *d)
{
	struct stack_insn s = read_stack_insn(d);
	uint8_t rsp = register_named("rsp"), rbp = register_named("rbp");
	struct value_origin o = result_of(w, d), stack = w->of[rsp], frame = w->of[rbp],
			    popped = stack.number == STACK ? slot_at(w, stack.offset) : nothing;

	step_memory(w, d, &s);
	w->unchanged &= ~d->written;
	for (unsigned reg = 0; reg < BT_REG_COUNT; reg++)
		if (d->written >> reg & 1)
			w->of[reg] = nothing;
	if (d->move_to != DISASM_NO_REG)
		w->of[d->move_to] = o;
	else if (d->result.effect != DISASM_OTHER)
		w->of[d->result.to] = o;
	if (s.pops)
		w->of[s.reg] = popped;
	if (s.leaves && frame.number == STACK) {
		w->of[rsp] = moved_origin(frame, 8);
		w->of[rbp] = slot_at(w, frame.offset);
	} else if (s.has_growth && stack.number == STACK) {
		w->of[rsp] = moved_origin(stack, s.grows);
	}
}

/* Takes the instructions between entries i - 1 and i into account; of those before the moment, up
 * to its instruction. */
static bool walk_segment(struct argument_walk *w, size_t i)
{
	uint64_t pc = w->c->f->pc, at;
	struct history_insn *insns;
	long n = history_straight(w->h, w->c->m, i, pc, &insns);
	bool is_good = n >= 0 && history_start(w->h, i, &at);

	for (long k = 0; is_good && k < n && (i < w->end || insns[k].addr != pc); k++) {
		struct disasm d;

		is_good = w->insns++ < INSNS_MAX &&
			  !disasm_decode(&d, insns[k].bytes, insns[k].len, insns[k].addr);
		if (is_good)
			step_over(w, &d);
		at = insns[k].addr + insns[k].len;
	}
	if (n >= 0)
		free(insns);
	return is_good && (i < w->end || at == pc);
}

static bool is_of_loader(const struct argument_walk *w, uint64_t addr)
{
	const struct space_map *map = fault_map(w->c, addr);

	return map && !strncmp(text_basename(map->path), "ld-", 3);
}

/* The dynamic linker that finds the function of a stub, and jumps to it, preserves all arguments,
 * and takes the two words off the stack that the stub has put there. i: the entry that led there.
 * Returns the one that leads out; 0: none is known. */
static size_t behind_loader(struct argument_walk *w, size_t i)
{
	uint8_t rsp = register_named("rsp");
	struct value_origin stack = w->of[rsp];
	size_t open = 0;

	w->is_memory_written = true;
	w->slot_count = 0;
	for (unsigned reg = 0; reg < BT_REG_COUNT; reg++) {
		bool is_argument = false;

		for (unsigned n = 1; n <= ARRAY_SIZE(argument_dwarf); n++)
			is_argument |= reg == passed_argument_register(n);
		if (is_argument)
			continue;
		w->of[reg] = nothing;
		w->unchanged &= ~(UINT32_C(1) << reg);
	}
	if (stack.number == STACK)
		w->of[rsp] = moved_origin(stack, STUB_WORDS);
	for (i++; i < w->end; i++) {
		const struct history_entry *e = &w->h->entries[i];

		if (e->kind == BT_BRANCH_CALL || e->kind == BT_BRANCH_ICALL)
			open++;
		else if (e->kind == BT_BRANCH_RET && !open--)
			return 0;
		else if (e->kind == BT_BRANCH_IJMP && !open && !is_of_loader(w, e->to))
			return is_of_loader(w, e->from) ? i : 0;
	}
	return 0;
}

static bool is_branch(const struct history_entry *e)
{
	return e->kind == BT_BRANCH_JCC || e->kind == BT_BRANCH_JMP || e->kind == BT_BRANCH_CALL ||
	       e->kind == BT_BRANCH_RET || e->kind == BT_BRANCH_IJMP || e->kind == BT_BRANCH_ICALL;
}

static bool is_own(const struct argument_walk *w, const struct history_entry *e, uint64_t addr)
{
	return own_code_has(w->own, e->space, e->epoch, addr);
}

/* Whether the user's own code ends with that jump, which is its call of the library. */
static bool is_last_call(const struct argument_walk *w, const struct history_entry *e)
{
	return !w->open &&
	       (e->kind == BT_BRANCH_JMP || e->kind == BT_BRANCH_IJMP ||
		e->kind == BT_BRANCH_JCC) &&
	       is_own(w, e, e->from) && !is_own(w, e, e->to);
}

static void begin_at_call(struct argument_walk *w, size_t call)
{
	w->call = call;
	w->unchanged = ~(UINT32_C(1) << register_named("rsp"));
	w->is_memory_written = false;
	w->slot_count = 0;
	memset(w->of, 0, sizeof w->of);
	w->of[register_named("rsp")].number = STACK;
	for (unsigned n = 1; n <= ARRAY_SIZE(argument_dwarf); n++)
		w->of[passed_argument_register(n)] = (struct value_origin){.number = n};
}

/* Takes the entry behind a segment into account. Returns the one that the next segment is behind;
 * 0: it is not known. */
static size_t pass_entry(struct argument_walk *w, size_t i)
{
	const struct history_entry *e = &w->h->entries[i];

	if (is_last_call(w, e))
		begin_at_call(w, i);
	if (e->kind == BT_BRANCH_CALL || e->kind == BT_BRANCH_ICALL)
		w->open++;
	else if (e->kind == BT_BRANCH_RET && !w->open--)
		return 0;
	else if (e->kind == BT_BRANCH_IJMP && is_of_loader(w, e->to) && !is_of_loader(w, e->from))
		return behind_loader(w, i);
	return i;
}

/* Walks from the call to the moment. */
static bool walk_history(struct argument_walk *w, size_t call)
{
	size_t left = SEGMENTS_MAX;

	begin_at_call(w, call);
	for (size_t i = call + 1; i < w->end; i++) {
		if (!left-- || !is_branch(&w->h->entries[i]) || !walk_segment(w, i))
			return false;
		i = pass_entry(w, i);
		if (!i)
			return false;
	}
	return walk_segment(w, w->end);
}

/* The entry of the innermost open call that returns there. */
static bool find_call(const struct history *h, size_t end, uint64_t return_addr, size_t *entry)
{
	size_t open = 0;

	for (size_t i = end; i-- > 0 && end - i < SOUGHT_MAX;) {
		const struct history_entry *e = &h->entries[i];

		if (e->kind == BT_BRANCH_RET)
			open++;
		else if (e->kind == BT_BRANCH_GAP || e->kind == BT_BRANCH_ASYNC)
			return false;
		if ((e->kind != BT_BRANCH_CALL && e->kind != BT_BRANCH_ICALL) || (open && open--))
			continue;
		*entry = i;
		if (return_addr - e->from - 1 < CALL_LENGTH_MAX)
			return true;
	}
	return false;
}

bool passed_argument_find(const struct fault_context *c, const struct history *h, size_t end,
			  const struct disasm_memory *m, struct own_code *own, uint64_t return_addr,
			  struct passed_argument *p)
{
	struct argument_walk w = {.c = c, .h = h, .end = end, .own = own};
	const struct history_entry *call;
	struct value_origin *o;
	size_t entry;

	*p = (struct passed_argument){0};
	if (m->base == DISASM_NO_REG || m->segment != DISASM_NO_REG || m->address_bits != 64 ||
	    m->vector || !find_call(h, end, return_addr, &entry) || !walk_history(&w, entry))
		return false;
	o = &w.of[m->base];
	call = &h->entries[w.call];
	*p = (struct passed_argument){
		.number = o->number,
		.value = bt_regs_get(c->regs, m->base) - o->offset,
		.entry = w.call,
		.call = call->from,
		.callee = call->to,
		.is_jump = w.call != entry,
		.unchanged = w.unchanged,
		.is_memory_written = w.is_memory_written,
	};
	return o->number && o->number != STACK && !is_own(&w, call, call->to);
}
