/* SPDX-License-Identifier: MIT */
#include "decoder/cause/straight_values.h"

#include <string.h>

static bool is_rip(uint8_t reg) { return !strcmp(bt_reg_info[reg].name, "rip"); }

struct bt_regs straight_values_before(const struct straight_values *v, size_t i, uint32_t *known)
{
	struct bt_regs regs = *v->regs;

	*known = v->unchanged[i] | v->known;
	for (unsigned reg = 0; reg < BT_REG_COUNT; reg++)
		if (!(v->unchanged[i] >> reg & 1) && v->known >> reg & 1)
			bt_regs_set(&regs, reg, bt_regs_get(&v->computed, reg));
	return regs;
}

bool straight_values_address(const struct straight_values *v, size_t i,
			     const struct disasm_memory *m, uint64_t *addr)
{
	uint32_t used = 0, known;
	struct bt_regs regs = straight_values_before(v, i, &known);

	if (m->base != DISASM_NO_REG && !is_rip(m->base))
		used |= UINT32_C(1) << m->base;
	if (m->index != DISASM_NO_REG)
		used |= UINT32_C(1) << m->index;
	if (m->bit_index != DISASM_NO_REG)
		used |= UINT32_C(1) << m->bit_index;
	return !(used & ~known) && disasm_address(&v->insns[i], m, &regs, addr);
}

/* Whether a write of an instruction behind i may have changed those bytes. Values computed up to i
 * do not hold behind it. */
static bool may_change(const struct straight_values *v, size_t i, uint64_t addr, unsigned size)
{
	struct straight_values later = *v;

	if (v->is_memory_written)
		return true;
	later.known = 0;
	for (size_t k = i + 1; k < v->count; k++)
		for (size_t n = 0; n < v->insns[k].memory_count; n++) {
			const struct disasm_memory *m = &v->insns[k].memory[n];
			uint64_t at;

			if (m->access & DISASM_WRITE &&
			    (!straight_values_address(&later, k, m, &at) || m->masked ||
			     (at < addr + size && addr < at + m->size)))
				return true;
		}
	return false;
}

bool straight_values_read(const struct straight_values *v, size_t i, uint64_t addr, unsigned size,
			  uint64_t *value)
{
	return size && size <= 8 && !may_change(v, i, addr, size) &&
	       fault_read(v->c, addr, size, value);
}

bool straight_values_source(const struct straight_values *v, size_t i, uint64_t *value)
{
	const struct disasm_result *r = &v->insns[i].result;
	const struct disasm_memory *m = &v->insns[i].memory[0];
	uint32_t known;
	struct bt_regs regs = straight_values_before(v, i, &known);
	uint64_t addr;

	if (r->is_number) {
		*value = r->number;
		return true;
	}
	if (r->from != DISASM_NO_REG) {
		*value = bt_regs_get(&regs, r->from);
		if (r->size < 8)
			*value &= (UINT64_C(1) << 8 * r->size) - 1;
		return known >> r->from & 1;
	}
	return straight_values_address(v, i, m, &addr) &&
	       straight_values_read(v, i, addr, r->size, value);
}

static bool compute_value(const struct straight_values *v, size_t i, uint64_t *value)
{
	const struct disasm_result *r = &v->insns[i].result;
	uint32_t known;
	struct bt_regs regs = straight_values_before(v, i, &known);
	uint64_t before = bt_regs_get(&regs, r->to);
	unsigned unused;

	if (r->effect == DISASM_ADDRESS)
		return straight_values_address(v, i, &v->insns[i].memory[0], value);
	if (r->effect == DISASM_OTHER || !r->size || r->size > 8 ||
	    !straight_values_source(v, i, value))
		return false;
	switch (r->effect) {
	case DISASM_EXTEND:
		unused = 64 - 8u * r->size;
		*value = (uint64_t)((int64_t)(*value << unused) >> unused);
		return true;
	case DISASM_ADD:
		*value += before;
		return known >> r->to & 1;
	case DISASM_SHIFT_UP:
		*value = before << (*value & 63);
		return r->is_number && known >> r->to & 1;
	default:
		return true;
	}
}

/* Whether an instruction puts an address of the program into a register as its code has it. */
static bool names_address(const struct disasm *d)
{
	const struct disasm_memory *m = &d->memory[0];

	if (d->result.effect == DISASM_COPY)
		return d->result.is_number;
	return d->result.effect == DISASM_ADDRESS && m->index == DISASM_NO_REG &&
	       (m->base == DISASM_NO_REG || is_rip(m->base));
}

void straight_values_step(struct straight_values *v, size_t i)
{
	const struct disasm *d = &v->insns[i];
	uint32_t bit = UINT32_C(1) << d->result.to;
	uint64_t value;
	bool is_known = d->result.effect != DISASM_OTHER && compute_value(v, i, &value);
	bool is_constant = is_known &&
			   (names_address(d) ||
			    (d->result.effect == DISASM_COPY && d->result.size == 8 &&
			     d->result.from != DISASM_NO_REG && v->constant >> d->result.from & 1));

	v->known &= ~d->written;
	v->constant &= ~d->written;
	if (!is_known)
		return;
	v->known |= bit;
	bt_regs_set(&v->computed, d->result.to, value);
	if (is_constant)
		v->constant |= bit;
}
