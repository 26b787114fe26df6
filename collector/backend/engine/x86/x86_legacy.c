/* SPDX-License-Identifier: MIT */
/* One row an opcode. Flags that the manuals call undefined count as written where processors do
 * write them; of mul, div, bsf and bt, which leave some of them alone on one processor or other,
 * only the defined ones do. */
#include "collector/backend/engine/x86/x86_forms.h"
#include "lib/array_size.h"

#include <assert.h>

/* add, or, adc, sbb, and, sub, xor, cmp: six opcodes each. */
#define ARITHMETIC(first, reads)                                                               \
	[(first) + 0] = {EBGB, 0, reads, ALL}, [(first) + 1] = {EG, 0, reads, ALL},            \
		   [(first) + 2] = {EBGB, 0, reads, ALL}, [(first) + 3] = {EG, 0, reads, ALL}, \
		   [(first) + 4] = {PLAIN | IMM(8), RAX, reads, ALL},                          \
		   [(first) + 5] = {PLAIN | IMM(Z), RAX, reads, ALL}

/* Something for each condition code: o b z be s p l le, and their opposites; the flags that it
 * reads. */
#define CONDITIONS(first, what)                                                                 \
	[(first) + 0x0] = {what, 0, OF, 0}, [(first) + 0x1] = {what, 0, OF, 0},                 \
		   [(first) + 0x2] = {what, 0, CF, 0}, [(first) + 0x3] = {what, 0, CF, 0},      \
		   [(first) + 0x4] = {what, 0, ZF, 0}, [(first) + 0x5] = {what, 0, ZF, 0},      \
		   [(first) + 0x6] = {what, 0, CF | ZF, 0},                                     \
		   [(first) + 0x7] = {what, 0, CF | ZF, 0}, [(first) + 0x8] = {what, 0, SF, 0}, \
		   [(first) + 0x9] = {what, 0, SF, 0}, [(first) + 0xa] = {what, 0, PF, 0},      \
		   [(first) + 0xb] = {what, 0, PF, 0}, [(first) + 0xc] = {what, 0, SF | OF, 0}, \
		   [(first) + 0xd] = {what, 0, SF | OF, 0},                                     \
		   [(first) + 0xe] = {what, 0, ZF | SF | OF, 0},                                \
		   [(first) + 0xf] = {what, 0, ZF | SF | OF, 0}

/* Vector instructions: the registers are no general ones. */
#define NP_66   MANDATORY(1 << PP_NONE | 1 << PP_66)
#define ONLY_NP MANDATORY(1 << PP_NONE)
#define ONLY_66 MANDATORY(1 << PP_66)
#define ONLY_F3 MANDATORY(1 << PP_F3)
#define ONLY_F2 MANDATORY(1 << PP_F2)

static_assert(BT_INSN_CLASSES <= 16, "a class has four bits");

/* clang-format off */
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
		[0x63] = JUST(EG), /* movsxd */
		[0x68] = {PLAIN | IMM(Z), RSP, 0, 0}, /* push */
		[0x69] = {EG | IMM(Z), 0, 0, CF | OF}, /* imul */
		[0x6a] = {PLAIN | IMM(8), RSP, 0, 0},
		[0x6b] = {EG | IMM(8), 0, 0, CF | OF},
		[0x6c ... 0x6f] = JUST(OUTSIDE | FORM_STRING), /* ins, outs */
		CONDITIONS(0x70, PLAIN | CLASS(JCC) | IMM(REL8)),
		[0x80] = BY_REG(80),
		[0x81] = BY_REG(81),
		[0x83] = BY_REG(83),
		[0x84] = {EBGB, 0, 0, ALL}, /* test */
		[0x85] = {EG, 0, 0, ALL},
		[0x86] = JUST(EBGB), /* xchg */
		[0x87] = JUST(EG),
		[0x88] = JUST(EBGB), /* mov */
		[0x89] = JUST(EG),
		[0x8a] = JUST(EBGB),
		[0x8b] = JUST(EG),
		[0x8c] = BY_REG(8C), /* from a segment register */
		[0x8d] = JUST(G | FORM_ONLY_MEMORY),
		[0x8e] = JUST(OUTSIDE_E), /* to one */
		[0x8f] = BY_REG(8F),
		[0x90] = JUST(PLAIN | FORM_QUIRK), /* nop, pause; with REX.B xchg */
		[0x91 ... 0x97] = {PLAIN | FORM_OPCODE_REG, RAX, 0, 0},
		[0x98] = {PLAIN, RAX, 0, 0}, /* cbw */
		[0x99] = {PLAIN, RAX | RDX, 0, 0}, /* cwd */
		[0x9b] = JUST(PLAIN), /* fwait */
		[0x9c] = {PLAIN, RSP, ALL, 0}, /* pushf */
		[0x9d] = JUST(OUTSIDE), /* popf */
		[0x9e] = {PLAIN, RAX, 0, CF | PF | AF | ZF | SF}, /* sahf */
		[0x9f] = {PLAIN, RAX, CF | PF | AF | ZF | SF, 0}, /* lahf */
		[0xa0 ... 0xa3] = {PLAIN | IMM(OFFSET), RAX, 0, 0},
		[0xa4 ... 0xa5] = {PLAIN | FORM_STRING, RSI | RDI, 0, 0}, /* movs */
		[0xa6 ... 0xa7] = {PLAIN | FORM_STRING, RSI | RDI, 0, ALL}, /* cmps */
		[0xa8] = {PLAIN | IMM(8), RAX, 0, ALL}, /* test */
		[0xa9] = {PLAIN | IMM(Z), RAX, 0, ALL},
		[0xaa ... 0xab] = {PLAIN | FORM_STRING, RAX | RDI, 0, 0}, /* stos */
		[0xac ... 0xad] = {PLAIN | FORM_STRING, RAX | RSI, 0, 0}, /* lods */
		[0xae ... 0xaf] = {PLAIN | FORM_STRING, RAX | RDI, 0, ALL}, /* scas */
		[0xb0 ... 0xb7] = JUST(PLAIN | FORM_OPCODE_REG | FORM_BYTE_RM | IMM(8)),
		[0xb8 ... 0xbf] = JUST(PLAIN | FORM_OPCODE_REG | IMM(V)),
		[0xc0] = BY_REG(C0),
		[0xc1] = BY_REG(C1),
		[0xc2] = {PLAIN | CLASS(RET) | IMM(16), RSP, 0, 0},
		[0xc3] = {PLAIN | CLASS(RET), RSP, 0, 0},
		[0xc6] = BY_REG_SPLIT(C6),
		[0xc7] = BY_REG_SPLIT(C7),
		/* enter; with a level outside */
		[0xc8] = {PLAIN | FORM_QUIRK | IMM(ENTER), RSP | RBP, 0, 0},
		[0xc9] = {PLAIN, RSP | RBP, 0, 0}, /* leave */
		[0xca] = JUST(OUTSIDE | CLASS(RET) | IMM(16)), /* retf */
		[0xcb] = JUST(OUTSIDE | CLASS(RET)),
		[0xcc] = JUST(OUTSIDE), /* int3 */
		[0xcd] = JUST(OUTSIDE | FORM_QUIRK | IMM(8)), /* int; 80 is a system call */
		[0xcf] = JUST(OUTSIDE | CLASS(IRET)),
		[0xd0] = BY_REG(D0),
		[0xd1] = BY_REG(D1),
		[0xd2] = BY_REG(D2),
		[0xd3] = BY_REG(D3),
		[0xd7] = {PLAIN, RAX | RBX, 0, 0}, /* xlat */
		[0xd8] = JUST(MODRM), /* x87 */
		[0xd9] = BY_REG_SPLIT(D9),
		[0xda] = BY_REG_SPLIT(DA),
		[0xdb] = BY_REG_SPLIT(DB),
		[0xdc] = JUST(MODRM),
		[0xdd] = BY_REG_SPLIT(DD),
		[0xde] = JUST(MODRM),
		[0xdf] = BY_REG_SPLIT(DF),
		[0xe0 ... 0xe1] = {PLAIN | CLASS(LOOP) | IMM(REL8), RCX, ZF, 0},
		[0xe2] = {PLAIN | CLASS(LOOP) | IMM(REL8), RCX, 0, 0},
		[0xe3] = {PLAIN | CLASS(JRCXZ) | IMM(REL8), RCX, 0, 0},
		[0xe4 ... 0xe7] = JUST(OUTSIDE | IMM(8)), /* in, out */
		[0xe8] = {PLAIN | CLASS(CALL) | IMM(REL32), RSP, 0, 0},
		[0xe9] = JUST(PLAIN | CLASS(JMP) | IMM(REL32)),
		[0xeb] = JUST(PLAIN | CLASS(JMP) | IMM(REL8)),
		[0xec ... 0xef] = JUST(OUTSIDE), /* in, out */
		[0xf1] = JUST(OUTSIDE), /* int1 */
		[0xf4] = JUST(OUTSIDE), /* hlt */
		[0xf5] = {PLAIN, 0, CF, CF}, /* cmc */
		[0xf6] = BY_REG(F6),
		[0xf7] = BY_REG(F7),
		[0xf8 ... 0xf9] = {PLAIN, 0, 0, CF}, /* clc, stc */
		[0xfa ... 0xfb] = JUST(OUTSIDE), /* cli, sti */
		[0xfc ... 0xfd] = JUST(PLAIN), /* cld, std */
		[0xfe] = BY_REG(FE),
		[0xff] = BY_REG_SPLIT(FF),
	},
	[X86_MAP_0F] = {
		[0x00] = BY_REG(0F00),
		/* x86_forms_0f01 has what may run inside */
		[0x01] = JUST(MODRM | FORM_OUTSIDE | FORM_QUIRK),
		[0x02 ... 0x03] = {EG, 0, 0, ZF}, /* lar, lsl */
		[0x05] = JUST(OUTSIDE | CLASS(SYSCALL)),
		[0x06 ... 0x09] = JUST(OUTSIDE), /* clts, sysret, invd, wbinvd */
		[0x0b] = JUST(OUTSIDE), /* ud2 */
		[0x0d] = JUST(MODRM), /* prefetch */
		[0x0e] = JUST(OUTSIDE), /* femms */
		/* 3DNow!: its opcode is the immediate */
		[0x0f] = JUST(MODRM | FORM_OUTSIDE | FORM_QUIRK | IMM(8)),
		[0x10 ... 0x11] = JUST(MODRM),
		[0x12] = BY_PREFIX(0F12),
		[0x13] = JUST(MODRM | FORM_ONLY_MEMORY | NP_66),
		[0x14 ... 0x15] = JUST(MODRM | NP_66),
		[0x16] = BY_PREFIX(0F16),
		[0x17] = JUST(MODRM | FORM_ONLY_MEMORY | NP_66),
		[0x18 ... 0x19] = JUST(MODRM), /* prefetch, nop */
		[0x1a ... 0x1b] = JUST(E), /* MPX */
		[0x1c ... 0x1d] = JUST(MODRM), /* nop */
		[0x1e] = BY_PREFIX(0F1E),
		[0x1f] = JUST(MODRM),
		/* control and debug registers */
		[0x20 ... 0x23] = JUST(OUTSIDE_E | FORM_MOD_IGNORED),
		[0x28 ... 0x29] = JUST(MODRM | NP_66),
		[0x2a] = BY_PREFIX(0F2A),
		[0x2b] = JUST(MODRM | FORM_ONLY_MEMORY),
		[0x2c ... 0x2d] = BY_PREFIX(0F2C),
		[0x2e ... 0x2f] = {MODRM | NP_66, 0, 0, ALL}, /* ucomis, comis */
		[0x30] = JUST(OUTSIDE), /* wrmsr */
		[0x31] = {PLAIN, RAX | RDX, 0, 0}, /* rdtsc */
		[0x32 ... 0x33] = JUST(OUTSIDE), /* rdmsr, rdpmc */
		[0x34] = JUST(OUTSIDE | CLASS(SYSCALL)), /* sysenter */
		[0x35] = JUST(OUTSIDE), /* sysexit */
		[0x37] = JUST(OUTSIDE), /* getsec */
		CONDITIONS(0x40, EG), /* cmov */
		[0x50] = JUST(G | FORM_NO_MEMORY | NP_66),
		[0x51] = JUST(MODRM),
		[0x52 ... 0x53] = JUST(MODRM | MANDATORY(1 << PP_NONE | 1 << PP_F3)),
		[0x54 ... 0x57] = JUST(MODRM | NP_66),
		[0x58 ... 0x5a] = JUST(MODRM),
		[0x5b] = JUST(MODRM | MANDATORY(7)),
		[0x5c ... 0x5f] = JUST(MODRM),
		[0x60 ... 0x6b] = JUST(MODRM | NP_66),
		[0x6c ... 0x6d] = JUST(MODRM | ONLY_66),
		[0x6e] = BY_PREFIX(0F6E),
		[0x6f] = JUST(MODRM | MANDATORY(7)),
		[0x70] = JUST(MODRM | IMM(8)),
		[0x71] = BY_REG(0F71),
		[0x72] = BY_REG(0F72),
		[0x73] = BY_REG(0F73),
		[0x74 ... 0x76] = JUST(MODRM | NP_66),
		[0x77] = JUST(PLAIN | ONLY_NP), /* emms */
		[0x78] = BY_PREFIX(0F78),
		[0x79] = BY_PREFIX(0F79),
		[0x7c ... 0x7d] = JUST(MODRM | MANDATORY(1 << PP_66 | 1 << PP_F2)),
		[0x7e] = BY_PREFIX(0F7E),
		[0x7f] = JUST(MODRM | MANDATORY(7)),
		CONDITIONS(0x80, PLAIN | CLASS(JCC) | IMM(REL32)),
		CONDITIONS(0x90, EB), /* setcc */
		[0xa0] = {PLAIN, RSP, 0, 0}, /* push fs */
		[0xa1] = JUST(OUTSIDE), /* pop fs */
		[0xa2] = {PLAIN, RAX | RBX | RCX | RDX, 0, 0}, /* cpuid */
		[0xa3] = {EG, 0, 0, CF}, /* bt */
		[0xa4] = {EG | FORM_SHIFT | IMM(8), 0, 0, ALL}, /* shld */
		[0xa5] = {EG, RCX, 0, 0},
		[0xa6 ... 0xa7] = JUST(OUTSIDE_E | FORM_STRING | FORM_NO_MEMORY), /* VIA's */
		[0xa8] = {PLAIN, RSP, 0, 0}, /* push gs */
		[0xa9] = JUST(OUTSIDE), /* pop gs */
		[0xaa] = JUST(OUTSIDE), /* rsm */
		[0xab] = {EG, 0, 0, CF}, /* bts */
		[0xac] = {EG | FORM_SHIFT | IMM(8), 0, 0, ALL}, /* shrd */
		[0xad] = {EG, RCX, 0, 0},
		[0xae] = BY_PREFIX(0FAE),
		[0xaf] = {EG, 0, 0, CF | OF}, /* imul */
		[0xb0] = {EBGB, RAX, 0, ALL}, /* cmpxchg */
		[0xb1] = {EG, RAX, 0, ALL},
		[0xb2] = JUST(OUTSIDE_E | FORM_ONLY_MEMORY), /* lss */
		[0xb3] = {EG, 0, 0, CF}, /* btr */
		[0xb4 ... 0xb5] = JUST(OUTSIDE_E | FORM_ONLY_MEMORY), /* lfs, lgs */
		[0xb6] = JUST(EG | FORM_BYTE_RM), /* movzx */
		[0xb7] = JUST(EG),
		[0xb8] = BY_PREFIX(0FB8),
		[0xb9] = JUST(OUTSIDE_E), /* ud1 */
		[0xba] = BY_REG(0FBA),
		[0xbb] = {EG, 0, 0, CF}, /* btc */
		[0xbc ... 0xbd] = {EG, 0, 0, ZF}, /* bsf, tzcnt, bsr, lzcnt */
		[0xbe] = JUST(EG | FORM_BYTE_RM), /* movsx */
		[0xbf] = JUST(EG),
		[0xc0] = {EBGB, 0, 0, ALL}, /* xadd */
		[0xc1] = {EG, 0, 0, ALL},
		[0xc2] = JUST(MODRM | IMM(8)),
		[0xc3] = JUST(G | FORM_ONLY_MEMORY | ONLY_NP), /* movnti */
		[0xc4] = JUST(E | NP_66 | IMM(8)), /* pinsrw */
		[0xc5] = JUST(G | FORM_NO_MEMORY | NP_66 | IMM(8)),
		[0xc6] = JUST(MODRM | NP_66 | IMM(8)),
		[0xc7] = BY_PREFIX(0FC7),
		[0xc8 ... 0xcf] = JUST(PLAIN | FORM_OPCODE_REG), /* bswap */
		[0xd0] = JUST(MODRM | MANDATORY(1 << PP_66 | 1 << PP_F2)),
		[0xd1 ... 0xd5] = JUST(MODRM | NP_66),
		[0xd6] = BY_PREFIX(0FD6),
		[0xd7] = JUST(G | FORM_NO_MEMORY | NP_66),
		[0xd8 ... 0xe5] = JUST(MODRM | NP_66),
		[0xe6] = JUST(MODRM | MANDATORY(1 << PP_66 | 1 << PP_F3 | 1 << PP_F2)),
		[0xe7] = JUST(MODRM | FORM_ONLY_MEMORY | NP_66),
		[0xe8 ... 0xef] = JUST(MODRM | NP_66),
		[0xf0] = JUST(MODRM | FORM_ONLY_MEMORY | ONLY_F2),
		[0xf1 ... 0xf6] = JUST(MODRM | NP_66),
		[0xf7] = {MODRM | FORM_NO_MEMORY | NP_66, RDI, 0, 0}, /* maskmov */
		[0xf8 ... 0xfe] = JUST(MODRM | NP_66),
		[0xff] = JUST(OUTSIDE_E), /* ud0 */
	},
	[X86_MAP_0F38] = {
		[0x00 ... 0x0b] = JUST(MODRM | NP_66),
		[0x10] = JUST(MODRM | ONLY_66),
		[0x14 ... 0x15] = JUST(MODRM | ONLY_66),
		[0x17] = {MODRM | ONLY_66, 0, 0, ALL}, /* ptest */
		[0x1c ... 0x1e] = JUST(MODRM | NP_66),
		[0x20 ... 0x25] = JUST(MODRM | ONLY_66),
		[0x28 ... 0x29] = JUST(MODRM | ONLY_66),
		[0x2a] = JUST(MODRM | FORM_ONLY_MEMORY | ONLY_66),
		[0x2b] = JUST(MODRM | ONLY_66),
		[0x30 ... 0x35] = JUST(MODRM | ONLY_66),
		[0x37 ... 0x41] = JUST(MODRM | ONLY_66),
		/* invept, invvpid, invpcid */
		[0x80 ... 0x82] = JUST(MODRM | FORM_OUTSIDE | FORM_ONLY_MEMORY | ONLY_66),
		[0xc8 ... 0xcd] = JUST(MODRM | ONLY_NP), /* SHA */
		[0xcf] = JUST(MODRM | ONLY_66),
		[0xd8] = JUST(MODRM | FORM_OUTSIDE | FORM_ONLY_MEMORY | ONLY_F3), /* key locker */
		[0xdb] = JUST(MODRM | ONLY_66), /* AES */
		[0xdc ... 0xdf] = BY_PREFIX(0F38DC),
		[0xf0] = BY_PREFIX(0F38F0),
		[0xf1] = BY_PREFIX(0F38F1),
		[0xf5] = BY_PREFIX(0F38F5),
		[0xf6] = BY_PREFIX(0F38F6),
		[0xf8] = BY_PREFIX(0F38F8),
		[0xf9] = JUST(G | FORM_ONLY_MEMORY | ONLY_NP), /* movdiri */
		/* key locker */
		[0xfa ... 0xfb] = JUST(MODRM | FORM_OUTSIDE | FORM_NO_MEMORY | ONLY_F3),
	},
	[X86_MAP_0F3A] = {
		[0x08 ... 0x0e] = JUST(MODRM | ONLY_66 | IMM(8)),
		[0x0f] = JUST(MODRM | NP_66 | IMM(8)),
		[0x14 ... 0x17] = JUST(E | ONLY_66 | IMM(8)), /* pextr, extractps */
		[0x20] = JUST(E | ONLY_66 | IMM(8)), /* pinsrb */
		[0x21] = JUST(MODRM | ONLY_66 | IMM(8)),
		[0x22] = JUST(E | ONLY_66 | IMM(8)),
		[0x40 ... 0x42] = JUST(MODRM | ONLY_66 | IMM(8)),
		[0x44] = JUST(MODRM | ONLY_66 | IMM(8)),
		[0x60] = {MODRM | ONLY_66 | IMM(8), RAX | RDX, 0, ALL}, /* pcmpestrm */
		[0x61] = {MODRM | ONLY_66 | IMM(8), RAX | RDX | RCX, 0, ALL},
		[0x62] = {MODRM | ONLY_66 | IMM(8), 0, 0, ALL},
		[0x63] = {MODRM | ONLY_66 | IMM(8), RCX, 0, ALL},
		[0xcc] = JUST(MODRM | ONLY_NP | IMM(8)), /* sha1rnds4 */
		[0xce ... 0xcf] = JUST(MODRM | ONLY_66 | IMM(8)),
		[0xdf] = JUST(MODRM | ONLY_66 | IMM(8)),
		/* hreset */
		[0xf0] = JUST(MODRM | FORM_OUTSIDE | FORM_NO_MEMORY | ONLY_F3 | IMM(8)),
	},
};

const struct x86_form x86_forms_by_prefix[PREFIX_ROWS][PP_COUNT] = {
	[PREFIX_0F12] = {JUST(MODRM), JUST(MODRM | FORM_ONLY_MEMORY), JUST(MODRM), JUST(MODRM)},
	[PREFIX_0F16] = {JUST(MODRM), JUST(MODRM | FORM_ONLY_MEMORY), JUST(MODRM)},
	[PREFIX_0F1E] = {JUST(MODRM), JUST(MODRM), BY_REG_SPLIT(0F1E_F3), JUST(MODRM)},
	[PREFIX_0F2A] = {JUST(MODRM), JUST(MODRM), JUST(E), JUST(E)},
	[PREFIX_0F2C] = {JUST(MODRM), JUST(MODRM), JUST(G), JUST(G)},
	[PREFIX_0F6E] = {[PP_NONE] = JUST(E), [PP_66] = JUST(E)},
	[PREFIX_0F78] = {
		[PP_NONE] = JUST(OUTSIDE_E), /* vmread */
		[PP_66] = BY_REG(0F78_66), /* extrq */
		[PP_F2] = JUST(MODRM | FORM_NO_MEMORY | IMM(TWO_8)), /* insertq */
	},
	[PREFIX_0F79] = {
		[PP_NONE] = JUST(OUTSIDE_E), /* vmwrite */
		[PP_66] = JUST(MODRM | FORM_NO_MEMORY),
		[PP_F2] = JUST(MODRM | FORM_NO_MEMORY),
	},
	[PREFIX_0F7E] = {[PP_NONE] = JUST(E), [PP_66] = JUST(E), [PP_F3] = JUST(MODRM)},
	[PREFIX_0FAE] = {BY_REG_SPLIT(0FAE), BY_REG_SPLIT(0FAE_66), BY_REG_SPLIT(0FAE_F3),
		BY_REG_SPLIT(0FAE_F2)},
	[PREFIX_0FB8] = {[PP_F3] = {EG, 0, 0, ALL}}, /* popcnt */
	[PREFIX_0FC7] = {BY_REG_SPLIT(0FC7), BY_REG_SPLIT(0FC7), BY_REG_SPLIT(0FC7_F3),
		BY_REG_SPLIT(0FC7)},
	[PREFIX_0FD6] = {[PP_66] = JUST(MODRM), [PP_F3] = JUST(MODRM | FORM_NO_MEMORY),
		[PP_F2] = JUST(MODRM | FORM_NO_MEMORY)},
	/* AES, key locker */
	[PREFIX_0F38DC] = {[PP_66] = JUST(MODRM), [PP_F3] = JUST(MODRM | FORM_OUTSIDE)},
	/* movbe, crc32 */
	[PREFIX_0F38F0] = {JUST(G | FORM_ONLY_MEMORY), JUST(G | FORM_ONLY_MEMORY),
		[PP_F2] = JUST(EG | FORM_BYTE_RM)},
	[PREFIX_0F38F1] = {JUST(G | FORM_ONLY_MEMORY), JUST(G | FORM_ONLY_MEMORY),
		[PP_F2] = JUST(EG)},
	[PREFIX_0F38F5] = {[PP_66] = JUST(MODRM | FORM_OUTSIDE | FORM_ONLY_MEMORY)}, /* wruss */
	[PREFIX_0F38F6] = {
		[PP_NONE] = JUST(MODRM | FORM_OUTSIDE | FORM_ONLY_MEMORY), /* wrss */
		[PP_66] = {EG, 0, CF, CF}, /* adcx */
		[PP_F3] = {EG, 0, OF, OF}, /* adox */
	},
	[PREFIX_0F38F8] = {
		[PP_66] = JUST(G | FORM_ONLY_MEMORY), /* movdir64b */
		[PP_F3] = JUST(MODRM | FORM_OUTSIDE | FORM_ONLY_MEMORY),
		[PP_F2] = JUST(MODRM | FORM_OUTSIDE | FORM_ONLY_MEMORY), /* enqcmd */
	},
};
/* clang-format on */

/* The arithmetic of 80, 81 and 83. */
#define ARITHMETIC_IMMEDIATE(what)                                                           \
	{                                                                                    \
		[0 ... 1] = {what, 0, 0, ALL}, [2 ... 3] = {what, 0, CF, ALL}, [4 ... 7] = { \
			what,                                                                \
			0,                                                                   \
			0,                                                                   \
			ALL                                                                  \
		}                                                                            \
	}

/* rol, ror, rcl, rcr, shl, shr, sal, sar. */
#define SHIFTS(rotate, shift, regs, writes)                                                        \
	{                                                                                          \
		[0 ... 1] = {rotate, regs, 0, 0}, [2 ... 3] = {rotate, regs, CF, 0}, [4 ... 7] = { \
			shift,                                                                     \
			regs,                                                                      \
			0,                                                                         \
			writes                                                                     \
		}                                                                                  \
	}

#define INC_WRITES      (PF | AF | ZF | SF | OF) /* inc and dec */
#define VECTOR_SHIFT    JUST(MODRM | FORM_NO_MEMORY | NP_66 | IMM(8))
#define VECTOR_SHIFT_66 JUST(MODRM | FORM_NO_MEMORY | ONLY_66 | IMM(8))
#define XSAVE                          \
	{                              \
		MODRM, RAX | RDX, 0, 0 \
	}
#define CMPXCHG8B                                   \
	{                                           \
		MODRM, RAX | RBX | RCX | RDX, 0, ZF \
	}

/* clang-format off */
const struct x86_form x86_forms_by_reg[REG_ROWS][8] = {
	[REG_80] = ARITHMETIC_IMMEDIATE(EB | IMM(8)),
	[REG_81] = ARITHMETIC_IMMEDIATE(E | IMM(Z)),
	[REG_83] = ARITHMETIC_IMMEDIATE(E | IMM(8)),
	[REG_8C] = {[0 ... 5] = JUST(E)},
	[REG_8F] = {{E, RSP, 0, 0}}, /* pop; the others are XOP */
	[REG_C0] = SHIFTS(EB | IMM(8), EB | FORM_SHIFT | IMM(8), 0, ALL),
	[REG_C1] = SHIFTS(E | IMM(8), E | FORM_SHIFT | IMM(8), 0, ALL),
	[REG_C6] = {JUST(EB | IMM(8))}, /* mov */
	/* xabort */
	[REG_C6_SPLIT] = {JUST(EB | IMM(8)), [7] = JUST(MODRM | FORM_OUTSIDE | IMM(8))},
	[REG_C7] = {JUST(E | IMM(Z))},
	[REG_C7_SPLIT] = {JUST(E | IMM(Z)), [7] = JUST(MODRM | FORM_OUTSIDE | IMM(Z))}, /* xbegin */
	[REG_D0] = SHIFTS(EB, EB, 0, ALL), /* by 1 */
	[REG_D1] = SHIFTS(E, E, 0, ALL),
	[REG_D2] = SHIFTS(EB, EB, RCX, 0), /* by cl */
	[REG_D3] = SHIFTS(E, E, RCX, 0),
	/* x87: fcmov and fcomi know the flags, fnstsw rax */
	[REG_D9] = {JUST(MODRM), [2 ... 7] = JUST(MODRM)},
	[REG_D9_SPLIT] = {[0 ... 7] = JUST(MODRM)},
	[REG_DA] = {[0 ... 7] = JUST(MODRM)},
	[REG_DA_SPLIT] = {{MODRM, 0, CF, 0}, {MODRM, 0, ZF, 0}, {MODRM, 0, CF | ZF, 0}, {MODRM, 0,
		PF, 0}, [5] = JUST(MODRM)},
	[REG_DB] = {[0 ... 3] = JUST(MODRM), [5] = JUST(MODRM), [7] = JUST(MODRM)},
	[REG_DB_SPLIT] = {{MODRM, 0, CF, 0}, {MODRM, 0, ZF, 0}, {MODRM, 0, CF | ZF, 0}, {MODRM, 0,
		PF, 0}, JUST(MODRM),
			  {MODRM, 0, 0, ALL}, {MODRM, 0, 0, ALL}},
	[REG_DD] = {[0 ... 4] = JUST(MODRM), [6 ... 7] = JUST(MODRM)},
	[REG_DD_SPLIT] = {[0 ... 5] = JUST(MODRM)},
	[REG_DF] = {[0 ... 7] = JUST(MODRM)},
	[REG_DF_SPLIT] = {[0 ... 3] = JUST(MODRM), {MODRM, RAX, 0, 0}, {MODRM, 0, 0, ALL}, {MODRM,
		0, 0, ALL}},
	/* test, test, not, neg */
	[REG_F6] = {{EB | IMM(8), 0, 0, ALL}, {EB | IMM(8), 0, 0, ALL}, JUST(EB), {EB, 0, 0, ALL},
		/* mul, imul, div, idiv */
		    {EB, RAX, 0, CF | OF}, {EB, RAX, 0, CF | OF}, {EB, RAX, 0, 0}, {EB, RAX, 0, 0}},
	[REG_F7] = {{E | IMM(Z), 0, 0, ALL}, {E | IMM(Z), 0, 0, ALL}, JUST(E), {E, 0, 0, ALL},
		    {E, RAX | RDX, 0, CF | OF}, {E, RAX | RDX, 0, CF | OF}, {E, RAX | RDX, 0, 0},
			{E, RAX | RDX, 0, 0}},
	[REG_FE] = {{EB, 0, 0, INC_WRITES}, {EB, 0, 0, INC_WRITES}},
	[REG_FF] = {{E, 0, 0, INC_WRITES}, {E, 0, 0, INC_WRITES}, {E | CLASS(ICALL), RSP, 0, 0},
		JUST(OUTSIDE_E | CLASS(ICALL)),
		    JUST(E | CLASS(IJMP)), JUST(OUTSIDE_E | CLASS(IJMP)), {E, RSP, 0, 0}},
	[REG_FF_SPLIT] = {{E, 0, 0, INC_WRITES}, {E, 0, 0, INC_WRITES}, {E | CLASS(ICALL), RSP, 0,
		0}, {0},
			  JUST(E | CLASS(IJMP)), {0}, {E, RSP, 0, 0}},
	/* sldt str lldt ltr; verr verw */
	[REG_0F00] = {[0 ... 3] = JUST(OUTSIDE_E), {E, 0, 0, ZF}, {E, 0, 0, ZF}},
	[REG_0F1E_F3] = {[0 ... 7] = JUST(MODRM)},
	[REG_0F1E_F3_SPLIT] = {JUST(MODRM), JUST(E), [2 ... 7] = JUST(MODRM)}, /* rdssp; endbr */
	[REG_0F71] = {[2] = VECTOR_SHIFT, [4] = VECTOR_SHIFT, [6] = VECTOR_SHIFT},
	[REG_0F72] = {[2] = VECTOR_SHIFT, [4] = VECTOR_SHIFT, [6] = VECTOR_SHIFT},
	[REG_0F73] = {[2] = VECTOR_SHIFT, [3] = VECTOR_SHIFT_66, [6] = VECTOR_SHIFT,
		[7] = VECTOR_SHIFT_66},
	/* fxsave, fxrstor, ldmxcsr, stmxcsr, xsave, xrstor, xsaveopt, clflush; fences */
	[REG_0F78_66] = {JUST(MODRM | FORM_NO_MEMORY | IMM(TWO_8))},
	[REG_0FAE] = {[0 ... 3] = JUST(MODRM), XSAVE, XSAVE, XSAVE, JUST(MODRM)},
	[REG_0FAE_SPLIT] = {[5 ... 7] = JUST(MODRM)},
	[REG_0FAE_66] = {[6 ... 7] = JUST(MODRM)}, /* clwb, clflushopt */
	[REG_0FAE_66_SPLIT] = {[6] = {E, RAX | RDX, 0, ALL}}, /* tpause */
	[REG_0FAE_F3] = {[4] = JUST(E), [6] = JUST(OUTSIDE_E)}, /* ptwrite, clrssbsy */
	/* rdfsbase, rdgsbase, wrfsbase, wrgsbase, ptwrite, incssp, umonitor */
	[REG_0FAE_F3_SPLIT] = {JUST(E), JUST(OUTSIDE_E), JUST(E), JUST(OUTSIDE_E), JUST(E),
		JUST(E), JUST(E)},
	[REG_0FAE_F2_SPLIT] = {[6] = {E, RAX | RDX, 0, ALL}}, /* umwait */
	[REG_0FBA] = {[4 ... 7] = {E | IMM(8), 0, 0, CF}}, /* bt, bts, btr, btc */
	/* cmpxchg8b and 16b; xrstors, xsavec, xsaves; vmx; rdrand, rdseed; senduipi, rdpid */
	[REG_0FC7] = {[1] = CMPXCHG8B, [3] = JUST(MODRM | FORM_OUTSIDE), [4] = {MODRM | ONLY_NP,
		RAX | RDX, 0, 0},
		      [5 ... 7] = JUST(MODRM | FORM_OUTSIDE)},
	[REG_0FC7_SPLIT] = {[6 ... 7] = {E | NP_66, 0, 0, ALL}},
	[REG_0FC7_F3] = {[1] = CMPXCHG8B, [3] = JUST(MODRM | FORM_OUTSIDE), [5 ... 7] = JUST(MODRM |
		FORM_OUTSIDE)},
	[REG_0FC7_F3_SPLIT] = {[6] = JUST(OUTSIDE_E), [7] = JUST(E)},
	[REG_VEX_0F71] = {[2] = JUST(MODRM | IMM(8)), [4] = JUST(MODRM | IMM(8)), [6] = JUST(MODRM |
		IMM(8))},
	[REG_VEX_0F72] = {[0 ... 2] = JUST(MODRM | IMM(8)), [4] = JUST(MODRM | IMM(8)),
		[6] = JUST(MODRM | IMM(8))},
	[REG_VEX_0F73] = {[2 ... 3] = JUST(MODRM | IMM(8)), [6 ... 7] = JUST(MODRM | IMM(8))},
	[REG_VEX_0FAE] = {[2 ... 3] = JUST(MODRM | FORM_ONLY_MEMORY)}, /* vldmxcsr, vstmxcsr */
	[REG_VEX_0F38F3] = {[1 ... 3] = {E | FORM_VVVV, 0, 0, ALL}}, /* blsr, blsmsk, blsi */
};
/* clang-format on */

#define NP  (1 << PP_NONE)
#define ANY 15

const struct x86_form_0f01 x86_forms_0f01[] = {
	{0xd0, NP, {MODRM, RAX | RCX | RDX, 0, 0}}, /* xgetbv */
	{0xd6, NP, {MODRM, 0, 0, ALL}},             /* xtest: no transaction is open in the cache */
	{0xe8, NP, JUST(MODRM)},                    /* serialize */
	{0xee, NP, {MODRM, RAX | RCX | RDX, 0, 0}}, /* rdpkru */
	{0xf9, ANY, {MODRM, RAX | RCX | RDX, 0, 0}}, /* rdtscp */
	{0xfa, NP, {MODRM, RAX | RCX | RDX, 0, 0}},  /* monitorx */
	{0xfb, NP, {MODRM, RAX | RCX | RBX, 0, 0}},  /* mwaitx */
	{0xfc, ANY, {MODRM, RAX, 0, 0}},             /* clzero */
};
const size_t x86_forms_0f01_count = ARRAY_SIZE(x86_forms_0f01);
