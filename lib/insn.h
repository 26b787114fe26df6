/* SPDX-License-Identifier: MIT */
/* Facts about one instruction that a branch recorder needs: its length, whether and how it
 * transfers control, and the traits a single-stepper must know. Decoded by Zydis. Pure. */
#ifndef BT_INSN_H
#define BT_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/branch.h"

enum bt_insn_class {
	BT_INSN_PLAIN, /* continues behind itself */
	BT_INSN_JCC,
	BT_INSN_JRCXZ, /* jcxz, jecxz, jrcxz */
	BT_INSN_LOOP,  /* loop, loope, loopne */
	BT_INSN_JMP,
	BT_INSN_CALL,
	BT_INSN_RET,
	BT_INSN_IJMP, /* far jumps too */
	BT_INSN_ICALL,
	BT_INSN_SYSCALL, /* syscall, sysenter, int 0x80 */
	BT_INSN_IRET,
	BT_INSN_CLASSES
};

enum bt_insn_trait {
	BT_TRAIT_PUSHF = 1,
	BT_TRAIT_LOADS_SS =
		2,        /* mov ss / pop ss: hold traps off until the next instruction has run */
	BT_TRAIT_REP = 4, /* a REP string instruction: may be left and resumed in its middle */
	BT_TRAIT_BREAKPOINT = 8, /* int3, int n, into, int1: its trap is the program's own */
	BT_TRAIT_COMPAT = 16,    /* int 0x80, sysenter: 32-bit system call numbers */
	BT_TRAIT_POPF = 32,      /* popf: the program may set TF */
	BT_TRAIT_EMULATED = 64,  /* sgdt, sidt, smsw, str, sldt, cli, sti: may fault, and then the
				    kernel may emulate them */
	BT_TRAIT_BEGINS = 128,   /* xbegin: jumps by its displacement when the transaction aborts */
	BT_TRAIT_SAVES_X87 = 256, /* fnstenv, fnsave, fxsave, xsave, xsavec, xsaveopt: they may save
				     the address of an x87 instruction */
	BT_TRAIT_OWN_RESULT = 512, /* rdtsc, rdrand, cpuid and their like: general registers behind
				      it do not follow from those before */
	BT_TRAIT_SAVES_PARTS = 1024, /* xsave, xsavec, xsaveopt: their stores depend on the states
					in use (XINUSE) */
};

enum {
	BT_INSN_MAX = 15,
	BT_SYSCALL_LEN = 2, /* of syscall, sysenter and int 0x80 */
};

struct bt_insn {
	uint8_t len;
	uint8_t class;        /* enum bt_insn_class */
	uint16_t traits;      /* enum bt_insn_trait */
	int64_t displacement; /* of a direct branch, and of xbegin: target = address + len +
				 displacement */
};

/* Decodes the instruction at bytes (64-bit mode). Returns 0; -BT_E_TRUNCATED when n bytes are too
 * few; -BT_E_CORRUPT when they are no instruction. *insn is zeroed on error. */
int bt_insn_decode(const uint8_t *bytes, size_t n, struct bt_insn *insn);

/* bt_insn_decode() for 32-bit code (compatibility mode). */
int bt_insn_decode_32(const uint8_t *bytes, size_t n, struct bt_insn *insn);

/* The branch kind of a class, or -1 for one that is no branch. */
int bt_insn_branch_kind(enum bt_insn_class class);

/* The tick class (enum bt_tick_class bits: 1 Jcc, 2 JrCXZ, 4 LOOPcc) of a class, or 0. */
unsigned bt_insn_tick_class(enum bt_insn_class class);

#endif
