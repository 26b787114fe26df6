/* SPDX-License-Identifier: MIT */
/* One instruction, as the translator must know it: where its parts lie, which registers and flags
 * it touches, and whether it may run in the code cache at all. 64-bit mode. Pure, no allocation.
 * Used by the translator, the engine at stops, and spin.c. Any bytes can be decoded. An instruction
 * that is unknown, or does what the cache cannot do, must be X86_OUTSIDE or an error: the stepper
 * then makes it. */
#ifndef BT_X86_H
#define BT_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/insn.h"

/* The six arithmetic flags as a set. */
enum x86_flag {
	X86_CF = 1,
	X86_PF = 2,
	X86_AF = 4,
	X86_ZF = 8,
	X86_SF = 16,
	X86_OF = 32,
	X86_ARITHMETIC = 63,
};

enum x86_reg {
	X86_RAX,
	X86_RCX,
	X86_RDX,
	X86_RBX,
	X86_RSP,
	X86_RBP,
	X86_RSI,
	X86_RDI,
	X86_R8,
	X86_R9,
	X86_R10,
	X86_R11,
	X86_R12,
	X86_R13,
	X86_R14,
	X86_R15
};

#define X86_BIT(reg) (1u << (reg))

/* Bits of `traits` beside those of lib/insn.h. */
enum x86_trait {
	/* Must not run in the cache: it enters the kernel or another privilege or code size, raises
	 * a trap of its own, shows or changes what the engine uses (gs, TF), or we do not know it.
	 * The stepper executes it at its own address. */
	X86_OUTSIDE = 1,
	X86_RIP_RELATIVE =
		2,         /* its memory operand is [rip + disp32]; rewritten by the translator */
	X86_REPEATED = 4,  /* a REP string instruction: may be left and resumed in its middle */
	X86_ADDRESS32 = 8, /* has an address-size prefix */
	X86_SEGMENT = 16,  /* has an fs prefix (gs is X86_OUTSIDE) */
	X86_GATHERED = 32, /* a gather or scatter: may be left and resumed between two elements */
};

enum x86_map { X86_MAP_1, X86_MAP_0F, X86_MAP_0F38, X86_MAP_0F3A, X86_MAP_OTHER };

struct x86_insn {
	uint8_t len;
	uint8_t class;      /* enum bt_insn_class: its meaning to the history */
	uint8_t traits;     /* enum x86_trait */
	uint8_t flags_read; /* enum x86_flag: may depend on these (all that it might, in any case)
			     */
	uint8_t flags_written; /* certainly gives these a new or an undefined value, whatever the
				* operands are: a shift by zero or a REP with rcx = 0 writes none,
				* so shifts by cl, rotates and REP cmps/scas have nothing here */
	uint16_t regs; /* set of X86_BIT: general registers it reads, writes or addresses with,
			  implicit ones too, rsp of push and call included */
	uint8_t map, opcode; /* enum x86_map and the opcode byte in it; map OTHER for VEX, EVEX, XOP
				and 3DNow! */
	uint8_t rex;         /* the REX byte in force, 0: none */
	uint8_t prefix_66, prefix_f2_f3; /* 1 or 0; the last of f2 and f3, 0: none */
	uint8_t opcode_at, modrm_at;     /* offsets of bytes; modrm_at 0: it has none */
	uint8_t disp_at, disp_size;      /* of the memory operand; size 0: none */
	uint8_t imm_at, imm_size; /* of the first immediate, or of a direct branch's displacement;
				     size 0: none */
	int64_t displacement; /* of a direct branch, or of a rip-relative operand: from the end of
				 the instruction */
};

/* Decodes the instruction at bytes. Returns 0; -BT_E_TRUNCATED when n bytes are too few;
 * -BT_E_CORRUPT when they are no instruction. *insn is zeroed on error. */
int x86_decode(const uint8_t *bytes, size_t n, struct x86_insn *insn);

#endif
