/* SPDX-License-Identifier: MIT */
/* The decoder's tables: each opcode in eight bytes. Facts from the Intel SDM, volume 2, and the AMD
 * APM, volume 3. Used by the decoder's source files alone. Constant. */
#ifndef BT_X86_FORMS_H
#define BT_X86_FORMS_H

#include "collector/backend/engine/x86/x86.h"

/* The mandatory prefix in force: of f2 and f3 the last one, else 66. Numbered as VEX.pp. */
enum form_prefix { PP_NONE, PP_66, PP_F3, PP_F2, PP_COUNT };

/* Bits of x86_form.what. Prefixes that an opcode does not know are not looked at: such bytes raise
 * #UD in the code cache as they do at their own place. */
enum form_what {
	FORM_VALID = 1 << 0,
	FORM_MODRM = 1 << 1,
	FORM_REG = 1 << 2,        /* ModRM.reg is a general register */
	FORM_RM = 1 << 3,         /* ModRM.rm is one, unless it is memory */
	FORM_BYTE_REG = 1 << 4,   /* these two: of eight bits, so that 4 to 7 are ah, ch, dh and bh
				     without REX */
	FORM_BYTE_RM = 1 << 5,    /* (of the register in the opcode, too) */
	FORM_OPCODE_REG = 1 << 6, /* the low three bits of the opcode are a general register */
	FORM_VVVV = 1 << 7,       /* VEX.vvvv is one */
	FORM_VSIB = 1 << 8,       /* the index of its memory operand is a vector */
	FORM_NO_MEMORY = 1 << 9,  /* only with ModRM.mod 3 */
	FORM_ONLY_MEMORY = 1 << 10, /* only without */
	FORM_MOD_IGNORED = 1 << 11, /* ModRM.rm is a register with any mod */
	FORM_OUTSIDE = 1 << 12,
	FORM_STRING = 1 << 13, /* f2 and f3 repeat it */
	FORM_SHIFT = 1 << 14,  /* by an immediate: writes its flags when that, masked, is not 0 */
	/* Look further; regs is the number of the row. By prefix, then by ModRM.reg, or straight by
	   ModRM.reg. */
	FORM_BY_PREFIX = 1 << 15, /* x86_forms_by_prefix[regs][enum form_prefix] */
	FORM_BY_REG = 1 << 16,    /* x86_forms_by_reg[regs][ModRM.reg] */
	FORM_SPLIT = 1 << 17,     /* and with ModRM.mod 3 x86_forms_by_reg[regs + 1] */
	FORM_QUIRK = 1 << 18,     /* an irregular opcode: a function of the decoder */
	FORM_IMM_SHIFT = 20,      /* enum form_imm */
	FORM_CLASS_SHIFT = 24,    /* enum bt_insn_class */
	FORM_MANDATORY_SHIFT =
		28, /* set of 1 << enum form_prefix, one of which must be there; 0: any */
};

/* Immediates. */
enum form_imm {
	IMM_NONE,
	IMM_8,
	IMM_16,
	IMM_Z,     /* 4 bytes, 2 with 66 */
	IMM_V,     /* as Z, 8 with REX.W */
	IMM_ENTER, /* 2 and 1 */
	IMM_TWO_8, /* 1 and 1 */
	IMM_REL8,  /* branch displacements; 66 does not shorten them */
	IMM_REL32,
	IMM_32,
	IMM_OFFSET, /* an address: 8 bytes, 4 with 67 */
};

struct x86_form {
	uint32_t what;
	uint16_t regs; /* touched besides those in the operands, X86_BIT; or the number of a row */
	uint8_t reads, writes; /* enum x86_flag */
};

/* Rows of forms_by_prefix and forms_by_reg; with FORM_SPLIT two follow each other. */
enum form_prefix_row {
	PREFIX_0F12,
	PREFIX_0F16,
	PREFIX_0F1E,
	PREFIX_0F2A,
	PREFIX_0F2C,
	PREFIX_0F6E,
	PREFIX_0F78,
	PREFIX_0F79,
	PREFIX_0F7E,
	PREFIX_0FAE,
	PREFIX_0FB8,
	PREFIX_0FC7,
	PREFIX_0FD6,
	PREFIX_0F38DC,
	PREFIX_0F38F0,
	PREFIX_0F38F1,
	PREFIX_0F38F5,
	PREFIX_0F38F6,
	PREFIX_0F38F8,
	PREFIX_ROWS
};

enum form_reg_row {
	REG_80,
	REG_81,
	REG_83,
	REG_8C,
	REG_8F,
	REG_C0,
	REG_C1,
	REG_C6,
	REG_C6_SPLIT,
	REG_C7,
	REG_C7_SPLIT,
	REG_D0,
	REG_D1,
	REG_D2,
	REG_D3,
	REG_D9,
	REG_D9_SPLIT,
	REG_DA,
	REG_DA_SPLIT,
	REG_DB,
	REG_DB_SPLIT,
	REG_DD,
	REG_DD_SPLIT,
	REG_DF,
	REG_DF_SPLIT,
	REG_F6,
	REG_F7,
	REG_FE,
	REG_FF,
	REG_FF_SPLIT,
	REG_0F00,
	REG_0F1E_F3,
	REG_0F1E_F3_SPLIT,
	REG_0F71,
	REG_0F72,
	REG_0F73,
	REG_0F78_66,
	REG_0FAE,
	REG_0FAE_SPLIT,
	REG_0FAE_66,
	REG_0FAE_66_SPLIT,
	REG_0FAE_F3,
	REG_0FAE_F3_SPLIT,
	REG_0FAE_F2,
	REG_0FAE_F2_SPLIT,
	REG_0FBA,
	REG_0FC7,
	REG_0FC7_SPLIT,
	REG_0FC7_F3,
	REG_0FC7_F3_SPLIT,
	REG_VEX_0F71,
	REG_VEX_0F72,
	REG_VEX_0F73,
	REG_VEX_0FAE,
	REG_VEX_0F38F3,
	REG_ROWS
};

extern const struct x86_form x86_forms_by_prefix[PREFIX_ROWS][PP_COUNT];
extern const struct x86_form x86_forms_by_reg[REG_ROWS][8];

/* By opcode; the maps 1, 0F, 0F38 and 0F3A. */
extern const struct x86_form x86_legacy_forms[4][256];

/* 0F 01 with ModRM.mod 3: most of it runs outside. */
struct x86_form_0f01 {
	uint8_t modrm, prefixes; /* set of 1 << enum form_prefix */
	struct x86_form form;
};
extern const struct x86_form_0f01 x86_forms_0f01[];
extern const size_t x86_forms_0f01_count;

/* VEX maps 1 to 3 and EVEX maps 1 to 3, 5 and 6, by map, pp and opcode: an index into
 * x86_vector_forms, 0 for no instruction. */
enum { VEX_MAPS = 4, EVEX_MAPS = 7 };
extern const uint8_t (*const x86_vex_maps[VEX_MAPS])[256];
extern const uint8_t (*const x86_evex_maps[EVEX_MAPS])[256];
extern const struct x86_form x86_vector_forms[];

/* Building a row. */
#define IMM(kind)      ((uint32_t)IMM_##kind << FORM_IMM_SHIFT)
#define CLASS(kind)    ((uint32_t)BT_INSN_##kind << FORM_CLASS_SHIFT)
#define MANDATORY(set) ((uint32_t)(set) << FORM_MANDATORY_SHIFT)
#define PLAIN          FORM_VALID
#define OUTSIDE        (FORM_VALID | FORM_OUTSIDE)
#define MODRM          (FORM_VALID | FORM_MODRM)
#define E              (MODRM | FORM_RM)        /* r/m */
#define EB             (E | FORM_BYTE_RM)       /* of eight bits */
#define G              (MODRM | FORM_REG)       /* reg */
#define EG             (E | G)                  /* r/m, reg */
#define EBGB           (EB | G | FORM_BYTE_REG) /* both of eight bits */
#define OUTSIDE_E      (E | FORM_OUTSIDE)
#define JUST(what)            \
	{                     \
		what, 0, 0, 0 \
	}
#define BY_REG(row)                                                    \
	{                                                              \
		FORM_VALID | FORM_MODRM | FORM_BY_REG, REG_##row, 0, 0 \
	}
#define BY_REG_SPLIT(row)                                                           \
	{                                                                           \
		FORM_VALID | FORM_MODRM | FORM_BY_REG | FORM_SPLIT, REG_##row, 0, 0 \
	}
#define BY_PREFIX(row)                                                       \
	{                                                                    \
		FORM_VALID | FORM_MODRM | FORM_BY_PREFIX, PREFIX_##row, 0, 0 \
	}

#define RAX X86_BIT(X86_RAX)
#define RCX X86_BIT(X86_RCX)
#define RDX X86_BIT(X86_RDX)
#define RBX X86_BIT(X86_RBX)
#define RSP X86_BIT(X86_RSP)
#define RBP X86_BIT(X86_RBP)
#define RSI X86_BIT(X86_RSI)
#define RDI X86_BIT(X86_RDI)

#define CF  X86_CF
#define PF  X86_PF
#define AF  X86_AF
#define ZF  X86_ZF
#define SF  X86_SF
#define OF  X86_OF
#define ALL X86_ARITHMETIC

#endif
