/* SPDX-License-Identifier: MIT */
/* Infers the code of signals whose source does not tell it (core files without NT_SIGINFO) from the
 * instruction and its registers. Only certain results count: the signal may have been sent, and
 * then the instruction is unrelated. */
#include <assert.h>
#include <string.h>

#include "decoder/cause/fault_private.h"
#include "lib/array_size.h"
#include "lib/canonical.h"
#include "lib/page.h"

enum {
	SEGV_MAPERR = 1,
	SEGV_ACCERR = 2,
	BUS_ADRALN = 1,
	BUS_ADRERR = 2,
	FPE_INTDIV = 1,
	SYS_SECCOMP = 1,
	ILL_ILLOPN = 2, /* the only one of x86 */
};

/* An access needs the same bits in a mapping's prot. */
static_assert((int)DISASM_READ == BT_PROT_READ && (int)DISASM_WRITE == BT_PROT_WRITE,
	      "as of a mapping");

/* Why the byte at addr cannot be accessed so; 0: it can. */
static uint32_t access_refusal(const struct fault_context *c, uint64_t addr, unsigned access)
{
	const struct space_map *map = fault_map(c, addr);

	if (!map)
		return SEGV_MAPERR;
	return (access & ~(unsigned)map->prot) ? SEGV_ACCERR : 0;
}

/* The first byte of an operand that cannot be accessed. */
static bool infer_refused(struct fault_context *c, struct bt_record_signal *g)
{
	const struct disasm *d = &c->f->insn;

	for (size_t i = 0; i < d->memory_count; i++) {
		const struct disasm_memory *m = &d->memory[i];
		uint64_t addr, last;

		/* Access to a non-canonical address is a protection fault, whatever is mapped. */
		if (!m->access || m->masked || !disasm_address(d, m, c->regs, &addr) ||
		    !is_canonical(addr))
			continue;
		last = addr + (m->size ? m->size - 1u : 0);
		g->addr = addr;
		g->code = access_refusal(c, addr, m->access);
		if (!g->code && last > addr) {
			g->addr = page_down(last);
			g->code = access_refusal(c, last, m->access);
		}
		if (g->code)
			return true;
	}
	return false;
}

static bool infer_segv(struct fault_context *c, struct bt_record_signal *g)
{
	if (c->f->pc_is_wild) {
		g->addr = c->f->pc;
		g->code = fault_map(c, c->f->pc) ? SEGV_ACCERR : SEGV_MAPERR;
		return true;
	}
	/* An instruction that reaches into where no code can be. */
	if (c->f->code_is_cut && !fault_is_executable(c, c->f->pc + c->f->code_len)) {
		g->addr = c->f->pc + c->f->code_len;
		g->code = fault_map(c, g->addr) ? SEGV_ACCERR : SEGV_MAPERR;
		return true;
	}
	if (!c->regs || !c->f->has_insn)
		return false;
	if (infer_refused(c, g))
		return true;
	g->addr = 0;
	g->code = SI_KERNEL_CODE;
	return fault_is_protection(c);
}

static bool is_relative(const struct disasm_memory *m)
{
	return m->base != DISASM_NO_REG && !strcmp(bt_reg_info[m->base].name, "rip");
}

/* The kernel sends SIGBUS for an access to a mapped file, unless the core file has the bytes there.
 * This is not known of a program's own variables: of a core file's memory only parts near registers
 * are kept. */
static bool infer_bus(struct fault_context *c, struct bt_record_signal *g)
{
	const struct disasm *d = &c->f->insn;

	if (!c->regs || !c->f->has_insn)
		return false;
	if (fault_is_misaligned(c)) {
		g->code = BUS_ADRALN;
		return true;
	}
	for (size_t i = 0; i < d->memory_count; i++) {
		const struct disasm_memory *m = &d->memory[i];
		const struct space_map *map;
		uint64_t held;

		if (!m->access || m->masked || is_relative(m) ||
		    !disasm_address(d, m, c->regs, &g->addr))
			continue;
		map = fault_map(c, g->addr);
		g->code = BUS_ADRERR;
		if (map && *map->path == '/' && !fault_read(c, g->addr, 1, &held))
			return true;
	}
	return false;
}

static bool infer_fpe(struct fault_context *c, struct bt_record_signal *g)
{
	g->addr = c->f->pc;
	g->code = FPE_INTDIV;
	return (fault_insn_is(c, "div") || fault_insn_is(c, "idiv")) &&
	       !(c->regs && fault_division_fits(c));
}

/* The task stands behind a system call, in which signals that are sent arrive. */
static bool is_behind_call(const struct fault_context *c)
{
	uint8_t bytes[2];

	return symbols_code(c->s, c->f->space, c->f->epoch, c->f->pc - 2, bytes, 2) == 2 &&
	       bytes[0] == 0x0f && bytes[1] == 0x05;
}

static bool infer_ill(struct fault_context *c, struct bt_record_signal *g)
{
	g->addr = c->f->pc;
	g->code = ILL_ILLOPN;
	if (fault_insn_is(c, "ud2"))
		return true;
	return c->f->code_len && !c->f->pc_is_wild && !is_behind_call(c) &&
	       !(c->f->has_insn && c->f->insn.is_basic);
}

static bool infer_trap(struct fault_context *c, struct bt_record_signal *g)
{
	g->code = SI_KERNEL_CODE;
	return c->f->has_trapped;
}

/* The kernel rolls the call back before it sends the signal: rax is its number again. */
static bool infer_sys(struct fault_context *c, struct bt_record_signal *g)
{
	g->addr = c->f->pc;
	g->code = SYS_SECCOMP;
	return c->regs && is_behind_call(c) && c->regs->rax == c->regs->orig_rax &&
	       c->regs->rax < SYS_NR_MAX;
}

static const struct {
	uint32_t signo;
	bool (*infer)(struct fault_context *c, struct bt_record_signal *g);
} inferences[] = {
	{SIG_SEGV, infer_segv}, {SIG_BUS, infer_bus},   {SIG_FPE, infer_fpe},
	{SIG_ILL, infer_ill},   {SIG_TRAP, infer_trap}, {SIG_SYS, infer_sys},
};

bool fault_infer(struct fault_context *c)
{
	c->inferred = *c->signal;
	c->inferred.sync = true;
	for (size_t i = 0; i < ARRAY_SIZE(inferences); i++)
		if (inferences[i].signo == c->signal->signo)
			return inferences[i].infer(c, &c->inferred);
	return false;
}
