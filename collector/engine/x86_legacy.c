/* SPDX-License-Identifier: MIT */
/* One row an opcode. Flags that the manuals call undefined count as written where processors do write them; of mul, div, bsf and bt, which
 * leave some of them alone on one processor or other, only the defined ones do. */
#include "collector/engine/x86_forms.h"

#include <assert.h>

/* add, or, adc, sbb, and, sub, xor, cmp: six opcodes each. */
#define ARITHMETIC(first, reads)                           \
	[(first) + 0] = {EBGB, 0, reads, ALL},             \
	[(first) + 1] = {EG, 0, reads, ALL},               \
	[(first) + 2] = {EBGB, 0, reads, ALL},             \
	[(first) + 3] = {EG, 0, reads, ALL},               \
	[(first) + 4] = {PLAIN | IMM(8), RAX, reads, ALL}, \
	[(first) + 5] = {PLAIN | IMM(Z), RAX, reads, ALL}

/* Something for each condition code: o b z be s p l le, and their opposites; what it reads of the flags. */
#define CONDITIONS(first, what)                 \
	[(first) + 0x0] = {what, 0, OF, 0},           \
	[(first) + 0x1] = {what, 0, OF, 0},           \
	[(first) + 0x2] = {what, 0, CF, 0},           \
	[(first) + 0x3] = {what, 0, CF, 0},           \
	[(first) + 0x4] = {what, 0, ZF, 0},           \
	[(first) + 0x5] = {what, 0, ZF, 0},           \
	[(first) + 0x6] = {what, 0, CF | ZF, 0},      \
	[(first) + 0x7] = {what, 0, CF | ZF, 0},      \
	[(first) + 0x8] = {what, 0, SF, 0},           \
	[(first) + 0x9] = {what, 0, SF, 0},           \
	[(first) + 0xa] = {what, 0, PF, 0},           \
	[(first) + 0xb] = {what, 0, PF, 0},           \
	[(first) + 0xc] = {what, 0, SF | OF, 0},      \
	[(first) + 0xd] = {what, 0, SF | OF, 0},      \
	[(first) + 0xe] = {what, 0, ZF | SF | OF, 0}, \
	[(first) + 0xf] = {what, 0, ZF | SF | OF, 0}

/* Vector instructions: the registers are no general ones. */
#define NP_66 MANDATORY(1 << PP_NONE | 1 << PP_66)
#define ONLY_NP MANDATORY(1 << PP_NONE)
#define ONLY_66 MANDATORY(1 << PP_66)
#define ONLY_F3 MANDATORY(1 << PP_F3)
#define ONLY_F2 MANDATORY(1 << PP_F2)

static_assert(BT_INSN_CLASSES <= 16, "a class has four bits");

const struct x86_form x86_legacy_forms[4][256] = {
	[X86_MAP_1] = {
		ARITHMETIC(0x00, 0),
		ARITHMETIC(0x08, 0),
		ARITHMETIC(0x10, CF),
		ARITHMETIC(0x18, CF),
		ARITHMETIC(0x20, 0),
		ARITHMETIC(0x28, 0),
		ARITHMETIC(0x30, 0),
		ARITHMETIC(0x38, 0),
		[0x50 ... 0x57] = {PLAIN | FORM_OPCODE_REG, RSP, 0, 0}, /* push */
		[0x58 ... 0x5f] = {PLAIN | FORM_OPCODE_REG, RSP, 0, 0}, /* pop */
		[0x63] = {EG, 0, 0, 0},					/* movsxd */
		[0x68] = {PLAIN | IMM(Z), RSP, 0, 0},			/* push */
		[0x69] = {EG | IMM(Z), 0, 0, CF | OF},			/* imul */
		[0x6a] = {PLAIN | IMM(8), RSP, 0, 0},
		[0x6b] = {EG | IMM(8), 0, 0, CF | OF},
		[0x6c ... 0x6f] = {OUTSIDE | FORM_STRING, 0, 0, 0}, /* ins, outs */
		CONDITIONS(0x70, PLAIN | CLASS(JCC) | IMM(REL8)),
		[0x80] = BY_REG(80),
		[0x81] = BY_REG(81),
		[0x83] = BY_REG(83),
		[0x84] = {EBGB, 0, 0, ALL}, /* test */
		[0x85] = {EG, 0, 0, ALL},
		[0x86] = {EBGB, 0, 0, 0}, /* xchg */
		[0x87] = {EG, 0, 0, 0},
		[0x88] = {EBGB, 0, 0, 0}, /* mov */
		[0x89] = {EG, 0, 0, 0},
		[0x8a] = {EBGB, 0, 0, 0},
		[0x8b] = {EG, 0, 0, 0},
		[0x8c] = BY_REG(8C), /* from a segment register */
		[0x8d] = {G | FORM_ONLY_MEMORY, 0, 0, 0},
		[0x8e] = {OUTSIDE_E, 0, 0, 0}, /* to one */
		[0x8f] = BY_REG(8F),
		[0x90] = {PLAIN | FORM_QUIRK, 0, 0, 0}, /* nop, pause; with REX.B xchg */
		[0x91 ... 0x97] = {PLAIN | FORM_OPCODE_REG, RAX, 0, 0},
		[0x98] = {PLAIN, RAX, 0, 0},	   /* cbw */
		[0x99] = {PLAIN, RAX | RDX, 0, 0}, /* cwd */
		[0x9b] = {PLAIN, 0, 0, 0},	   /* fwait */
		[0x9c] = {PLAIN, RSP, ALL, 0},	   /* pushf */
		[0x9d] = {OUTSIDE, 0, 0, 0},	   /* popf */
		[0x9e] = {PLAIN, RAX, 0, CF | PF | AF | ZF | SF}, /* sahf */
		[0x9f] = {PLAIN, RAX, CF | PF | AF | ZF | SF, 0}, /* lahf */
		[0xa0 ... 0xa3] = {PLAIN | IMM(OFFSET), RAX, 0, 0},
		[0xa4 ... 0xa5] = {PLAIN | FORM_STRING, RSI | RDI, 0, 0},   /* movs */
		[0xa6 ... 0xa7] = {PLAIN | FORM_STRING, RSI | RDI, 0, ALL}, /* cmps */
		[0xa8] = {PLAIN | IMM(8), RAX, 0, ALL},			    /* test */
		[0xa9] = {PLAIN | IMM(Z), RAX, 0, ALL},
		[0xaa ... 0xab] = {PLAIN | FORM_STRING, RAX | RDI, 0, 0},   /* stos */
		[0xac ... 0xad] = {PLAIN | FORM_STRING, RAX | RSI, 0, 0},   /* lods */
		[0xae ... 0xaf] = {PLAIN | FORM_STRING, RAX | RDI, 0, ALL}, /* scas */
		[0xb0 ... 0xb7] = {PLAIN | FORM_OPCODE_REG | FORM_BYTE_RM | IMM(8), 0, 0, 0},
		[0xb8 ... 0xbf] = {PLAIN | FORM_OPCODE_REG | IMM(V), 0, 0, 0},
		[0xc0] = BY_REG(C0),
		[0xc1] = BY_REG(C1),
		[0xc2] = {PLAIN | CLASS(RET) | IMM(16), RSP, 0, 0},
		[0xc3] = {PLAIN | CLASS(RET), RSP, 0, 0},
		[0xc6] = BY_REG_SPLIT(C6),
		[0xc7] = BY_REG_SPLIT(C7),
		[0xc8] = {PLAIN | IMM(ENTER), RSP | RBP, 0, 0},
		[0xc9] = {PLAIN, RSP | RBP, 0, 0}, /* leave */
		[0xca] = {OUTSIDE | CLASS(RET) | IMM(16), 0, 0, 0}, /* retf */
		[0xcb] = {OUTSIDE | CLASS(RET), 0, 0, 0},
		[0xcc] = {OUTSIDE, 0, 0, 0},	      /* int3 */
		[0xcd] = {OUTSIDE | FORM_QUIRK | IMM(8), 0, 0, 0}, /* int; 80 is a system call */
		[0xcf] = {OUTSIDE | CLASS(IRET), 0, 0, 0},
		[0xd0] = BY_REG(D0),
		[0xd1] = BY_REG(D1),
		[0xd2] = BY_REG(D2),
		[0xd3] = BY_REG(D3),
		[0xd7] = {PLAIN, RAX | RBX, 0, 0}, /* xlat */
		[0xd8] = {MODRM, 0, 0, 0},	   /* x87 */
		[0xd9] = BY_REG_SPLIT(D9),
		[0xda] = BY_REG_SPLIT(DA),
		[0xdb] = BY_REG_SPLIT(DB),
		[0xdc] = {MODRM, 0, 0, 0},
		[0xdd] = BY_REG_SPLIT(DD),
		[0xde] = {MODRM, 0, 0, 0},
		[0xdf] = BY_REG_SPLIT(DF),
		[0xe0 ... 0xe1] = {PLAIN | CLASS(LOOP) | IMM(REL8), RCX, ZF, 0},
		[0xe2] = {PLAIN | CLASS(LOOP) | IMM(REL8), RCX, 0, 0},
		[0xe3] = {PLAIN | CLASS(JRCXZ) | IMM(REL8), RCX, 0, 0},
		[0xe4 ... 0xe7] = {OUTSIDE | IMM(8), 0, 0, 0}, /* in, out */
		[0xe8] = {PLAIN | CLASS(CALL) | IMM(REL32), RSP, 0, 0},
		[0xe9] = {PLAIN | CLASS(JMP) | IMM(REL32), 0, 0, 0},
		[0xeb] = {PLAIN | CLASS(JMP) | IMM(REL8), 0, 0, 0},
		[0xec ... 0xef] = {OUTSIDE, 0, 0, 0}, /* in, out */
		[0xf1] = {OUTSIDE, 0, 0, 0},	      /* int1 */
		[0xf4] = {OUTSIDE, 0, 0, 0},	      /* hlt */
		[0xf5] = {PLAIN, 0, CF, CF},	      /* cmc */
		[0xf6] = BY_REG(F6),
		[0xf7] = BY_REG(F7),
		[0xf8 ... 0xf9] = {PLAIN, 0, 0, CF},   /* clc, stc */
		[0xfa ... 0xfb] = {OUTSIDE, 0, 0, 0}, /* cli, sti */
		[0xfc ... 0xfd] = {PLAIN, 0, 0, 0},   /* cld, std */
		[0xfe] = BY_REG(FE),
		[0xff] = BY_REG_SPLIT(FF),
	},
	[X86_MAP_0F] = {
		[0x00] = BY_REG(0F00),
		[0x01] = {MODRM | FORM_OUTSIDE | FORM_QUIRK, 0, 0, 0}, /* x86_forms_0f01 has what may run inside */
		[0x02 ... 0x03] = {EG, 0, 0, ZF}, /* lar, lsl */
		[0x05] = {OUTSIDE | CLASS(SYSCALL), 0, 0, 0},
		[0x06 ... 0x09] = {OUTSIDE, 0, 0, 0}, /* clts, sysret, invd, wbinvd */
		[0x0b] = {OUTSIDE, 0, 0, 0},	      /* ud2 */
		[0x0d] = {MODRM, 0, 0, 0},	      /* prefetch */
		[0x0e] = {OUTSIDE, 0, 0, 0},	      /* femms */
		[0x0f] = {MODRM | FORM_OUTSIDE | FORM_QUIRK | IMM(8), 0, 0, 0}, /* 3DNow!: its opcode is the immediate */
		[0x10 ... 0x11] = {MODRM, 0, 0, 0},
		[0x12] = BY_PREFIX(0F12),
		[0x13] = {MODRM | FORM_ONLY_MEMORY | NP_66, 0, 0, 0},
		[0x14 ... 0x15] = {MODRM | NP_66, 0, 0, 0},
		[0x16] = BY_PREFIX(0F16),
		[0x17] = {MODRM | FORM_ONLY_MEMORY | NP_66, 0, 0, 0},
		[0x18 ... 0x19] = {MODRM, 0, 0, 0}, /* prefetch, nop */
		[0x1a ... 0x1b] = {E, 0, 0, 0}, /* MPX */
		[0x1c ... 0x1d] = {MODRM, 0, 0, 0}, /* nop */
		[0x1e] = BY_PREFIX(0F1E),
		[0x1f] = {MODRM, 0, 0, 0},
		[0x20 ... 0x23] = {OUTSIDE_E | FORM_MOD_IGNORED, 0, 0, 0}, /* control and debug registers */
		[0x28 ... 0x29] = {MODRM | NP_66, 0, 0, 0},
		[0x2a] = BY_PREFIX(0F2A),
		[0x2b] = {MODRM | FORM_ONLY_MEMORY, 0, 0, 0},
		[0x2c ... 0x2d] = BY_PREFIX(0F2C),
		[0x2e ... 0x2f] = {MODRM | NP_66, 0, 0, ALL}, /* ucomis, comis */
		[0x30] = {OUTSIDE, 0, 0, 0},		      /* wrmsr */
		[0x31] = {PLAIN, RAX | RDX, 0, 0},	      /* rdtsc */
		[0x32 ... 0x33] = {OUTSIDE, 0, 0, 0},	      /* rdmsr, rdpmc */
		[0x34] = {OUTSIDE | CLASS(SYSCALL), 0, 0, 0}, /* sysenter */
		[0x35] = {OUTSIDE, 0, 0, 0},		      /* sysexit */
		[0x37] = {OUTSIDE, 0, 0, 0},		      /* getsec */
		CONDITIONS(0x40, EG),			      /* cmov */
		[0x50] = {G | FORM_NO_MEMORY | NP_66, 0, 0, 0},
		[0x51] = {MODRM, 0, 0, 0},
		[0x52 ... 0x53] = {MODRM | MANDATORY(1 << PP_NONE | 1 << PP_F3), 0, 0, 0},
		[0x54 ... 0x57] = {MODRM | NP_66, 0, 0, 0},
		[0x58 ... 0x5a] = {MODRM, 0, 0, 0},
		[0x5b] = {MODRM | MANDATORY(7), 0, 0, 0},
		[0x5c ... 0x5f] = {MODRM, 0, 0, 0},
		[0x60 ... 0x6b] = {MODRM | NP_66, 0, 0, 0},
		[0x6c ... 0x6d] = {MODRM | ONLY_66, 0, 0, 0},
		[0x6e] = BY_PREFIX(0F6E),
		[0x6f] = {MODRM | MANDATORY(7), 0, 0, 0},
		[0x70] = {MODRM | IMM(8), 0, 0, 0},
		[0x71] = BY_REG(0F71),
		[0x72] = BY_REG(0F72),
		[0x73] = BY_REG(0F73),
		[0x74 ... 0x76] = {MODRM | NP_66, 0, 0, 0},
		[0x77] = {PLAIN | ONLY_NP, 0, 0, 0}, /* emms */
		[0x78] = BY_PREFIX(0F78),
		[0x79] = BY_PREFIX(0F79),
		[0x7c ... 0x7d] = {MODRM | MANDATORY(1 << PP_66 | 1 << PP_F2), 0, 0, 0},
		[0x7e] = BY_PREFIX(0F7E),
		[0x7f] = {MODRM | MANDATORY(7), 0, 0, 0},
		CONDITIONS(0x80, PLAIN | CLASS(JCC) | IMM(REL32)),
		CONDITIONS(0x90, EB), /* setcc */
		[0xa0] = {PLAIN, RSP, 0, 0},   /* push fs */
		[0xa1] = {OUTSIDE, 0, 0, 0},   /* pop fs */
		[0xa2] = {PLAIN, RAX | RBX | RCX | RDX, 0, 0}, /* cpuid */
		[0xa3] = {EG, 0, 0, CF},		       /* bt */
		[0xa4] = {EG | FORM_SHIFT | IMM(8), 0, 0, ALL}, /* shld */
		[0xa5] = {EG, RCX, 0, 0},
		[0xa6 ... 0xa7] = {OUTSIDE_E | FORM_STRING | FORM_NO_MEMORY, 0, 0, 0}, /* VIA's */
		[0xa8] = {PLAIN, RSP, 0, 0},			 /* push gs */
		[0xa9] = {OUTSIDE, 0, 0, 0},			 /* pop gs */
		[0xaa] = {OUTSIDE, 0, 0, 0},			 /* rsm */
		[0xab] = {EG, 0, 0, CF},			 /* bts */
		[0xac] = {EG | FORM_SHIFT | IMM(8), 0, 0, ALL},	 /* shrd */
		[0xad] = {EG, RCX, 0, 0},
		[0xae] = BY_PREFIX(0FAE),
		[0xaf] = {EG, 0, 0, CF | OF},	    /* imul */
		[0xb0] = {EBGB, RAX, 0, ALL}, /* cmpxchg */
		[0xb1] = {EG, RAX, 0, ALL},
		[0xb2] = {OUTSIDE_E | FORM_ONLY_MEMORY, 0, 0, 0}, /* lss */
		[0xb3] = {EG, 0, 0, CF},			  /* btr */
		[0xb4 ... 0xb5] = {OUTSIDE_E | FORM_ONLY_MEMORY, 0, 0, 0}, /* lfs, lgs */
		[0xb6] = {EG | FORM_BYTE_RM, 0, 0, 0},		     /* movzx */
		[0xb7] = {EG, 0, 0, 0},
		[0xb8] = BY_PREFIX(0FB8),
		[0xb9] = {OUTSIDE_E, 0, 0, 0}, /* ud1 */
		[0xba] = BY_REG(0FBA),
		[0xbb] = {EG, 0, 0, CF},	       /* btc */
		[0xbc ... 0xbd] = {EG, 0, 0, ZF}, /* bsf, tzcnt, bsr, lzcnt */
		[0xbe] = {EG | FORM_BYTE_RM, 0, 0, 0}, /* movsx */
		[0xbf] = {EG, 0, 0, 0},
		[0xc0] = {EBGB, 0, 0, ALL}, /* xadd */
		[0xc1] = {EG, 0, 0, ALL},
		[0xc2] = {MODRM | IMM(8), 0, 0, 0},
		[0xc3] = {G | FORM_ONLY_MEMORY | ONLY_NP, 0, 0, 0}, /* movnti */
		[0xc4] = {E | NP_66 | IMM(8), 0, 0, 0},		    /* pinsrw */
		[0xc5] = {G | FORM_NO_MEMORY | NP_66 | IMM(8), 0, 0, 0},
		[0xc6] = {MODRM | NP_66 | IMM(8), 0, 0, 0},
		[0xc7] = BY_PREFIX(0FC7),
		[0xc8 ... 0xcf] = {PLAIN | FORM_OPCODE_REG, 0, 0, 0}, /* bswap */
		[0xd0] = {MODRM | MANDATORY(1 << PP_66 | 1 << PP_F2), 0, 0, 0},
		[0xd1 ... 0xd5] = {MODRM | NP_66, 0, 0, 0},
		[0xd6] = BY_PREFIX(0FD6),
		[0xd7] = {G | FORM_NO_MEMORY | NP_66, 0, 0, 0},
		[0xd8 ... 0xe5] = {MODRM | NP_66, 0, 0, 0},
		[0xe6] = {MODRM | MANDATORY(1 << PP_66 | 1 << PP_F3 | 1 << PP_F2), 0, 0, 0},
		[0xe7] = {MODRM | FORM_ONLY_MEMORY | NP_66, 0, 0, 0},
		[0xe8 ... 0xef] = {MODRM | NP_66, 0, 0, 0},
		[0xf0] = {MODRM | FORM_ONLY_MEMORY | ONLY_F2, 0, 0, 0},
		[0xf1 ... 0xf6] = {MODRM | NP_66, 0, 0, 0},
		[0xf7] = {MODRM | FORM_NO_MEMORY | NP_66, RDI, 0, 0}, /* maskmov */
		[0xf8 ... 0xfe] = {MODRM | NP_66, 0, 0, 0},
		[0xff] = {OUTSIDE_E, 0, 0, 0}, /* ud0 */
	},
	[X86_MAP_0F38] = {
		[0x00 ... 0x0b] = {MODRM | NP_66, 0, 0, 0},
		[0x10] = {MODRM | ONLY_66, 0, 0, 0},
		[0x14 ... 0x15] = {MODRM | ONLY_66, 0, 0, 0},
		[0x17] = {MODRM | ONLY_66, 0, 0, ALL}, /* ptest */
		[0x1c ... 0x1e] = {MODRM | NP_66, 0, 0, 0},
		[0x20 ... 0x25] = {MODRM | ONLY_66, 0, 0, 0},
		[0x28 ... 0x29] = {MODRM | ONLY_66, 0, 0, 0},
		[0x2a] = {MODRM | FORM_ONLY_MEMORY | ONLY_66, 0, 0, 0},
		[0x2b] = {MODRM | ONLY_66, 0, 0, 0},
		[0x30 ... 0x35] = {MODRM | ONLY_66, 0, 0, 0},
		[0x37 ... 0x41] = {MODRM | ONLY_66, 0, 0, 0},
		[0x80 ... 0x82] = {MODRM | FORM_OUTSIDE | FORM_ONLY_MEMORY | ONLY_66, 0, 0, 0}, /* invept, invvpid, invpcid */
		[0xc8 ... 0xcd] = {MODRM | ONLY_NP, 0, 0, 0},					/* SHA */
		[0xcf] = {MODRM | ONLY_66, 0, 0, 0},
		[0xd8] = {MODRM | FORM_OUTSIDE | FORM_ONLY_MEMORY | ONLY_F3, 0, 0, 0}, /* key locker */
		[0xdb] = {MODRM | ONLY_66, 0, 0, 0},				       /* AES */
		[0xdc ... 0xdf] = BY_PREFIX(0F38DC),
		[0xf0] = BY_PREFIX(0F38F0),
		[0xf1] = BY_PREFIX(0F38F1),
		[0xf5] = BY_PREFIX(0F38F5),
		[0xf6] = BY_PREFIX(0F38F6),
		[0xf8] = BY_PREFIX(0F38F8),
		[0xf9] = {G | FORM_ONLY_MEMORY | ONLY_NP, 0, 0, 0},				/* movdiri */
		[0xfa ... 0xfb] = {MODRM | FORM_OUTSIDE | FORM_NO_MEMORY | ONLY_F3, 0, 0, 0}, /* key locker */
	},
	[X86_MAP_0F3A] = {
		[0x08 ... 0x0e] = {MODRM | ONLY_66 | IMM(8), 0, 0, 0},
		[0x0f] = {MODRM | NP_66 | IMM(8), 0, 0, 0},
		[0x14 ... 0x17] = {E | ONLY_66 | IMM(8), 0, 0, 0}, /* pextr, extractps */
		[0x20] = {E | ONLY_66 | IMM(8), 0, 0, 0},	   /* pinsrb */
		[0x21] = {MODRM | ONLY_66 | IMM(8), 0, 0, 0},
		[0x22] = {E | ONLY_66 | IMM(8), 0, 0, 0},
		[0x40 ... 0x42] = {MODRM | ONLY_66 | IMM(8), 0, 0, 0},
		[0x44] = {MODRM | ONLY_66 | IMM(8), 0, 0, 0},
		[0x60] = {MODRM | ONLY_66 | IMM(8), RAX | RDX, 0, ALL}, /* pcmpestrm */
		[0x61] = {MODRM | ONLY_66 | IMM(8), RAX | RDX | RCX, 0, ALL},
		[0x62] = {MODRM | ONLY_66 | IMM(8), 0, 0, ALL},
		[0x63] = {MODRM | ONLY_66 | IMM(8), RCX, 0, ALL},
		[0xcc] = {MODRM | ONLY_NP | IMM(8), 0, 0, 0}, /* sha1rnds4 */
		[0xce ... 0xcf] = {MODRM | ONLY_66 | IMM(8), 0, 0, 0},
		[0xdf] = {MODRM | ONLY_66 | IMM(8), 0, 0, 0},
		[0xf0] = {MODRM | FORM_OUTSIDE | FORM_NO_MEMORY | ONLY_F3 | IMM(8), 0, 0, 0}, /* hreset */
	},
};

const struct x86_form x86_forms_by_prefix[PREFIX_ROWS][PP_COUNT] = {
	[PREFIX_0F12] = {{MODRM, 0, 0, 0}, {MODRM | FORM_ONLY_MEMORY, 0, 0, 0}, {MODRM, 0, 0, 0}, {MODRM, 0, 0, 0}},
	[PREFIX_0F16] = {{MODRM, 0, 0, 0}, {MODRM | FORM_ONLY_MEMORY, 0, 0, 0}, {MODRM, 0, 0, 0}},
	[PREFIX_0F1E] = {{MODRM, 0, 0, 0}, {MODRM, 0, 0, 0}, BY_REG_SPLIT(0F1E_F3), {MODRM, 0, 0, 0}},
	[PREFIX_0F2A] = {{MODRM, 0, 0, 0}, {MODRM, 0, 0, 0}, {E, 0, 0, 0}, {E, 0, 0, 0}},
	[PREFIX_0F2C] = {{MODRM, 0, 0, 0}, {MODRM, 0, 0, 0}, {G, 0, 0, 0}, {G, 0, 0, 0}},
	[PREFIX_0F6E] = {[PP_NONE] = {E, 0, 0, 0}, [PP_66] = {E, 0, 0, 0}},
	[PREFIX_0F78] = {
		[PP_NONE] = {OUTSIDE_E, 0, 0, 0}, /* vmread */
		[PP_66] = BY_REG(0F78_66), /* extrq */
		[PP_F2] = {MODRM | FORM_NO_MEMORY | IMM(TWO_8), 0, 0, 0}, /* insertq */
	},
	[PREFIX_0F79] = {
		[PP_NONE] = {OUTSIDE_E, 0, 0, 0}, /* vmwrite */
		[PP_66] = {MODRM | FORM_NO_MEMORY, 0, 0, 0},
		[PP_F2] = {MODRM | FORM_NO_MEMORY, 0, 0, 0},
	},
	[PREFIX_0F7E] = {[PP_NONE] = {E, 0, 0, 0}, [PP_66] = {E, 0, 0, 0}, [PP_F3] = {MODRM, 0, 0, 0}},
	[PREFIX_0FAE] = {BY_REG_SPLIT(0FAE), BY_REG_SPLIT(0FAE_66), BY_REG_SPLIT(0FAE_F3), BY_REG_SPLIT(0FAE_F2)},
	[PREFIX_0FB8] = {[PP_F3] = {EG, 0, 0, ALL}}, /* popcnt */
	[PREFIX_0FC7] = {BY_REG_SPLIT(0FC7), BY_REG_SPLIT(0FC7), BY_REG_SPLIT(0FC7_F3), BY_REG_SPLIT(0FC7)},
	[PREFIX_0FD6] = {[PP_66] = {MODRM, 0, 0, 0}, [PP_F3] = {MODRM | FORM_NO_MEMORY, 0, 0, 0}, [PP_F2] = {MODRM | FORM_NO_MEMORY, 0, 0, 0}},
	[PREFIX_0F38DC] = {[PP_66] = {MODRM, 0, 0, 0}, [PP_F3] = {MODRM | FORM_OUTSIDE, 0, 0, 0}}, /* AES, key locker */
	[PREFIX_0F38F0] = {{G | FORM_ONLY_MEMORY, 0, 0, 0}, {G | FORM_ONLY_MEMORY, 0, 0, 0}, [PP_F2] = {EG | FORM_BYTE_RM, 0, 0, 0}}, /* movbe, crc32 */
	[PREFIX_0F38F1] = {{G | FORM_ONLY_MEMORY, 0, 0, 0}, {G | FORM_ONLY_MEMORY, 0, 0, 0}, [PP_F2] = {EG, 0, 0, 0}},
	[PREFIX_0F38F5] = {[PP_66] = {MODRM | FORM_OUTSIDE | FORM_ONLY_MEMORY, 0, 0, 0}}, /* wruss */
	[PREFIX_0F38F6] = {
		[PP_NONE] = {MODRM | FORM_OUTSIDE | FORM_ONLY_MEMORY, 0, 0, 0}, /* wrss */
		[PP_66] = {EG, 0, CF, CF},					/* adcx */
		[PP_F3] = {EG, 0, OF, OF},					/* adox */
	},
	[PREFIX_0F38F8] = {
		[PP_66] = {G | FORM_ONLY_MEMORY, 0, 0, 0}, /* movdir64b */
		[PP_F3] = {MODRM | FORM_OUTSIDE | FORM_ONLY_MEMORY, 0, 0, 0},
		[PP_F2] = {MODRM | FORM_OUTSIDE | FORM_ONLY_MEMORY, 0, 0, 0}, /* enqcmd */
	},
};

/* The arithmetic of 80, 81 and 83. */
#define ARITHMETIC_IMMEDIATE(what) \
	{{what, 0, 0, ALL}, {what, 0, 0, ALL}, {what, 0, CF, ALL}, {what, 0, CF, ALL}, {what, 0, 0, ALL}, {what, 0, 0, ALL}, {what, 0, 0, ALL}, {what, 0, 0, ALL}}

/* rol, ror, rcl, rcr, shl, shr, sal, sar. */
#define SHIFTS(rotate, shift, regs, writes) \
	{{rotate, regs, 0, 0}, {rotate, regs, 0, 0}, {rotate, regs, CF, 0}, {rotate, regs, CF, 0}, \
	 {shift, regs, 0, writes}, {shift, regs, 0, writes}, {shift, regs, 0, writes}, {shift, regs, 0, writes}}

#define INC_WRITES (PF | AF | ZF | SF | OF) /* inc and dec */
#define VECTOR_SHIFT {MODRM | FORM_NO_MEMORY | NP_66 | IMM(8), 0, 0, 0}
#define VECTOR_SHIFT_66 {MODRM | FORM_NO_MEMORY | ONLY_66 | IMM(8), 0, 0, 0}
#define XSAVE {MODRM, RAX | RDX, 0, 0}

const struct x86_form x86_forms_by_reg[REG_ROWS][8] = {
	[REG_80] = ARITHMETIC_IMMEDIATE(EB | IMM(8)),
	[REG_81] = ARITHMETIC_IMMEDIATE(E | IMM(Z)),
	[REG_83] = ARITHMETIC_IMMEDIATE(E | IMM(8)),
	[REG_8C] = {[0 ... 5] = {E, 0, 0, 0}},
	[REG_8F] = {{E, RSP, 0, 0}}, /* pop; the others are XOP */
	[REG_C0] = SHIFTS(EB | IMM(8), EB | FORM_SHIFT | IMM(8), 0, ALL),
	[REG_C1] = SHIFTS(E | IMM(8), E | FORM_SHIFT | IMM(8), 0, ALL),
	[REG_C6] = {{EB | IMM(8), 0, 0, 0}}, /* mov */
	[REG_C6_SPLIT] = {{EB | IMM(8), 0, 0, 0}, [7] = {MODRM | FORM_OUTSIDE | IMM(8), 0, 0, 0}}, /* xabort */
	[REG_C7] = {{E | IMM(Z), 0, 0, 0}},
	[REG_C7_SPLIT] = {{E | IMM(Z), 0, 0, 0}, [7] = {MODRM | FORM_OUTSIDE | IMM(Z), 0, 0, 0}}, /* xbegin */
	[REG_D0] = SHIFTS(EB, EB, 0, ALL), /* by 1 */
	[REG_D1] = SHIFTS(E, E, 0, ALL),
	[REG_D2] = SHIFTS(EB, EB, RCX, 0), /* by cl */
	[REG_D3] = SHIFTS(E, E, RCX, 0),
	/* x87: fcmov and fcomi know the flags, fnstsw rax */
	[REG_D9] = {{MODRM, 0, 0, 0}, [2 ... 7] = {MODRM, 0, 0, 0}},
	[REG_D9_SPLIT] = {[0 ... 7] = {MODRM, 0, 0, 0}},
	[REG_DA] = {[0 ... 7] = {MODRM, 0, 0, 0}},
	[REG_DA_SPLIT] = {{MODRM, 0, CF, 0}, {MODRM, 0, ZF, 0}, {MODRM, 0, CF | ZF, 0}, {MODRM, 0, PF, 0}, [5] = {MODRM, 0, 0, 0}},
	[REG_DB] = {[0 ... 3] = {MODRM, 0, 0, 0}, [5] = {MODRM, 0, 0, 0}, [7] = {MODRM, 0, 0, 0}},
	[REG_DB_SPLIT] = {{MODRM, 0, CF, 0}, {MODRM, 0, ZF, 0}, {MODRM, 0, CF | ZF, 0}, {MODRM, 0, PF, 0}, {MODRM, 0, 0, 0},
			  {MODRM, 0, 0, ALL}, {MODRM, 0, 0, ALL}},
	[REG_DD] = {[0 ... 4] = {MODRM, 0, 0, 0}, [6 ... 7] = {MODRM, 0, 0, 0}},
	[REG_DD_SPLIT] = {[0 ... 5] = {MODRM, 0, 0, 0}},
	[REG_DF] = {[0 ... 7] = {MODRM, 0, 0, 0}},
	[REG_DF_SPLIT] = {[0 ... 3] = {MODRM, 0, 0, 0}, {MODRM, RAX, 0, 0}, {MODRM, 0, 0, ALL}, {MODRM, 0, 0, ALL}},
	[REG_F6] = {{EB | IMM(8), 0, 0, ALL}, {EB | IMM(8), 0, 0, ALL}, {EB, 0, 0, 0}, {EB, 0, 0, ALL},	   /* test, test, not, neg */
		    {EB, RAX, 0, CF | OF}, {EB, RAX, 0, CF | OF}, {EB, RAX, 0, 0}, {EB, RAX, 0, 0}}, /* mul, imul, div, idiv */
	[REG_F7] = {{E | IMM(Z), 0, 0, ALL}, {E | IMM(Z), 0, 0, ALL}, {E, 0, 0, 0}, {E, 0, 0, ALL},
		    {E, RAX | RDX, 0, CF | OF}, {E, RAX | RDX, 0, CF | OF}, {E, RAX | RDX, 0, 0}, {E, RAX | RDX, 0, 0}},
	[REG_FE] = {{EB, 0, 0, INC_WRITES}, {EB, 0, 0, INC_WRITES}},
	[REG_FF] = {{E, 0, 0, INC_WRITES}, {E, 0, 0, INC_WRITES}, {E | CLASS(ICALL), RSP, 0, 0}, {OUTSIDE_E | CLASS(ICALL), 0, 0, 0},
		    {E | CLASS(IJMP), 0, 0, 0}, {OUTSIDE_E | CLASS(IJMP), 0, 0, 0}, {E, RSP, 0, 0}},
	[REG_FF_SPLIT] = {{E, 0, 0, INC_WRITES}, {E, 0, 0, INC_WRITES}, {E | CLASS(ICALL), RSP, 0, 0}, {0},
			  {E | CLASS(IJMP), 0, 0, 0}, {0}, {E, RSP, 0, 0}},
	[REG_0F00] = {[0 ... 3] = {OUTSIDE_E, 0, 0, 0}, {E, 0, 0, ZF}, {E, 0, 0, ZF}}, /* sldt str lldt ltr; verr verw */
	[REG_0F1E_F3] = {[0 ... 7] = {MODRM, 0, 0, 0}},
	[REG_0F1E_F3_SPLIT] = {{MODRM, 0, 0, 0}, {E, 0, 0, 0}, [2 ... 7] = {MODRM, 0, 0, 0}}, /* rdssp; endbr */
	[REG_0F71] = {[2] = VECTOR_SHIFT, [4] = VECTOR_SHIFT, [6] = VECTOR_SHIFT},
	[REG_0F72] = {[2] = VECTOR_SHIFT, [4] = VECTOR_SHIFT, [6] = VECTOR_SHIFT},
	[REG_0F73] = {[2] = VECTOR_SHIFT, [3] = VECTOR_SHIFT_66, [6] = VECTOR_SHIFT, [7] = VECTOR_SHIFT_66},
	/* fxsave, fxrstor, ldmxcsr, stmxcsr, xsave, xrstor, xsaveopt, clflush; fences */
	[REG_0F78_66] = {{MODRM | FORM_NO_MEMORY | IMM(TWO_8), 0, 0, 0}},
	[REG_0FAE] = {[0 ... 3] = {MODRM, 0, 0, 0}, XSAVE, XSAVE, XSAVE, {MODRM, 0, 0, 0}},
	[REG_0FAE_SPLIT] = {[5 ... 7] = {MODRM, 0, 0, 0}},
	[REG_0FAE_66] = {[6 ... 7] = {MODRM, 0, 0, 0}},		     /* clwb, clflushopt */
	[REG_0FAE_66_SPLIT] = {[6] = {E, RAX | RDX, 0, ALL}}, /* tpause */
	[REG_0FAE_F3] = {[4] = {E, 0, 0, 0}, [6] = {OUTSIDE_E, 0, 0, 0}}, /* ptwrite, clrssbsy */
	/* rdfsbase, rdgsbase, wrfsbase, wrgsbase, ptwrite, incssp, umonitor */
	[REG_0FAE_F3_SPLIT] = {{E, 0, 0, 0}, {OUTSIDE_E, 0, 0, 0}, {E, 0, 0, 0}, {OUTSIDE_E, 0, 0, 0}, {E, 0, 0, 0}, {E, 0, 0, 0}, {E, 0, 0, 0}},
	[REG_0FAE_F2_SPLIT] = {[6] = {E, RAX | RDX, 0, ALL}}, /* umwait */
	[REG_0FBA] = {[4 ... 7] = {E | IMM(8), 0, 0, CF}}, /* bt, bts, btr, btc */
	/* cmpxchg8b and 16b; xrstors, xsavec, xsaves; vmx; rdrand, rdseed; senduipi, rdpid */
	[REG_0FC7] = {[1] = {MODRM, RAX | RBX | RCX | RDX, 0, ZF}, [3] = {MODRM | FORM_OUTSIDE, 0, 0, 0}, [4] = {MODRM | ONLY_NP, RAX | RDX, 0, 0},
		      [5 ... 7] = {MODRM | FORM_OUTSIDE, 0, 0, 0}},
	[REG_0FC7_SPLIT] = {[6 ... 7] = {E | NP_66, 0, 0, ALL}},
	[REG_0FC7_F3] = {[1] = {MODRM, RAX | RBX | RCX | RDX, 0, ZF}, [3] = {MODRM | FORM_OUTSIDE, 0, 0, 0},
			 [5 ... 7] = {MODRM | FORM_OUTSIDE, 0, 0, 0}},
	[REG_0FC7_F3_SPLIT] = {[6] = {OUTSIDE_E, 0, 0, 0}, [7] = {E, 0, 0, 0}},
	[REG_VEX_0F71] = {[2] = {MODRM | IMM(8), 0, 0, 0}, [4] = {MODRM | IMM(8), 0, 0, 0}, [6] = {MODRM | IMM(8), 0, 0, 0}},
	[REG_VEX_0F72] = {[0 ... 2] = {MODRM | IMM(8), 0, 0, 0}, [4] = {MODRM | IMM(8), 0, 0, 0}, [6] = {MODRM | IMM(8), 0, 0, 0}},
	[REG_VEX_0F73] = {[2 ... 3] = {MODRM | IMM(8), 0, 0, 0}, [6 ... 7] = {MODRM | IMM(8), 0, 0, 0}},
	[REG_VEX_0FAE] = {[2 ... 3] = {MODRM | FORM_ONLY_MEMORY, 0, 0, 0}}, /* vldmxcsr, vstmxcsr */
	[REG_VEX_0F38F3] = {[1 ... 3] = {E | FORM_VVVV, 0, 0, ALL}},	      /* blsr, blsmsk, blsi */
};

#define NP (1 << PP_NONE)
#define ANY 15

const struct x86_form_0f01 x86_forms_0f01[] = {
	{0xd0, NP, {MODRM, RAX | RCX | RDX, 0, 0}}, /* xgetbv */
	{0xe8, NP, {MODRM, 0, 0, 0}},		    /* serialize */
	{0xee, NP, {MODRM, RAX | RCX | RDX, 0, 0}}, /* rdpkru */
	{0xf9, ANY, {MODRM, RAX | RCX | RDX, 0, 0}}, /* rdtscp */
	{0xfa, NP, {MODRM, RAX | RCX | RDX, 0, 0}}, /* monitorx */
	{0xfb, NP, {MODRM, RAX | RCX | RBX, 0, 0}}, /* mwaitx */
	{0xfc, ANY, {MODRM, RAX, 0, 0}},		    /* clzero */
};
const size_t x86_forms_0f01_count = sizeof x86_forms_0f01 / sizeof x86_forms_0f01[0];
