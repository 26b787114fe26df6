/* SPDX-License-Identifier: MIT */
/* Instructions for people: their text, and what they do with memory, for explaining a fault.
 * Decoded by Zydis. Pure: no state, any bytes. Used by the explanation of faults and the
 * disassembly view. */
#ifndef BT_DISASM_H
#define BT_DISASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/insn.h"
#include "lib/regs.h"

enum {
	DISASM_MEMORY_MAX = 4,
	DISASM_TEXT_MAX = 256,
	DISASM_NO_REG = 255,
};

enum disasm_access {
	DISASM_READ = 1,
	DISASM_WRITE = 2,
};

/* A memory operand. Registers are numbers of lib/regs.def (bt_reg_info), DISASM_NO_REG where there
 * is none. */
struct disasm_memory {
	uint8_t access; /* enum disasm_access bits; 0: the address is only computed (lea, nop,
			   prefetch) */
	bool implicit;  /* not in the text: the stack of push, pop, call, ret and the like; string
			   operations */
	bool masked;    /* a mask says which part of it is accessed, if any */
	bool vector;    /* gather and scatter: one address per lane, none of them known here */
	uint16_t size;  /* bytes */
	uint8_t base, index;  /* the full register where a part of one is used; base is rip where
				 rip-relative */
	uint8_t index_bits;   /* 64, 32, or 8 (xlat) */
	uint8_t scale;        /* 1, 2, 4, 8; 0 without index */
	uint8_t address_bits; /* 64, or 32 with the address-size prefix */
	uint8_t segment; /* number of fs_base or gs_base where that is added, else DISASM_NO_REG */
	uint8_t bit_index;    /* bt, bts, btr, btc with a register: it reaches past the operand */
	int64_t displacement; /* also what push, pop, call and ret add to rsp before they use it */
};

enum disasm_effect {
	DISASM_OTHER,    /* any other effect */
	DISASM_COPY,     /* the register becomes the source, zero-extended */
	DISASM_EXTEND,   /* the register becomes the source, sign-extended */
	DISASM_ADDRESS,  /* lea: the register becomes the address of memory[0]; nothing is read */
	DISASM_ADD,      /* the source is added to the register */
	DISASM_SHIFT_UP, /* the register is shifted left by the source */
};

/* The value that a few plain instructions, which compute addresses, leave in a whole register. */
struct disasm_result {
	uint8_t effect;  /* enum disasm_effect */
	uint8_t to;      /* the register */
	uint8_t from;    /* the source: a register; DISASM_NO_REG: memory[0], or number */
	bool is_number;  /* not memory[0] */
	uint8_t size;    /* bytes of the source */
	uint64_t number; /* with its sign before it */
};

struct disasm {
	uint64_t addr;
	uint8_t len;
	uint8_t class;  /* enum bt_insn_class */
	bool push, pop; /* it writes or reads the stack at rsp: push, call, enter, pushf; pop, ret,
			   leave, popf */
	bool is_basic;  /* every x86-64 processor has it: it is never an illegal one */
	bool has_target;
	uint64_t target;                                /* of a direct branch */
	struct disasm_memory memory[DISASM_MEMORY_MAX]; /* explicit ones first */
	size_t memory_count;
	uint32_t written; /* bit n: register n of lib/regs.def is changed, or a part of it */
	uint8_t move_to;  /* the register that a mov of 64 bits sets; its source is memory[0] or
			     move_from. DISASM_NO_REG: no such mov */
	uint8_t move_from;
	struct disasm_result result;
	uint8_t bytes[BT_INSN_MAX];
};

/* Decodes the instruction at bytes, which stand at addr. Returns 0; -BT_E_TRUNCATED when n bytes
 * are too few, -BT_E_CORRUPT when they are no instruction; *d is zeroed then. */
int disasm_decode(struct disasm *d, const uint8_t *bytes, size_t n, uint64_t addr);

/* The address a memory operand has with these registers, those before the instruction. False for a
 * vector operand. */
bool disasm_address(const struct disasm *d, const struct disasm_memory *m,
		    const struct bt_regs *regs, uint64_t *addr);

enum disasm_syntax {
	DISASM_INTEL,
	DISASM_ATT,
};

struct disasm_style {
	enum disasm_syntax syntax;
	/* Puts a name for addr into out[size] ("main+0x1c"), or returns false; may be NULL. The
	 * name is put into the text as it is: escape the text to show it. */
	bool (*name)(void *arg, uint64_t addr, char *out, size_t size);
	void *arg;
};

/* The text of an instruction, "mov rax, qword ptr [rbx+0x10]", with names for branch targets and
 * rip-relative addresses where style has them. style may be NULL: Intel syntax, no names. Always
 * ends in NUL. Returns out. */
const char *disasm_text(const struct disasm *d, const struct disasm_style *style, char *out,
			size_t size);

/* One memory operand alone, as in Intel syntax: "[rbx+rcx*4+0x10]", "fs:[0x28]". Returns out. */
const char *disasm_memory_text(const struct disasm_memory *m, char *out, size_t size);

#endif
