/* SPDX-License-Identifier: MIT */
#include "lib/insn.h"

#include <string.h>

#include <Zydis/Zydis.h>

#include "lib/error.h"

struct class_row {
	int kind;
	unsigned tick;
};

static const struct class_row classes[BT_INSN_CLASSES] = {
	[BT_INSN_PLAIN] = {-1, 0},
	[BT_INSN_JCC] = {BT_BRANCH_JCC, 1},
	[BT_INSN_JRCXZ] = {BT_BRANCH_JCC, 2},
	[BT_INSN_LOOP] = {BT_BRANCH_JCC, 4},
	[BT_INSN_JMP] = {BT_BRANCH_JMP, 0},
	[BT_INSN_CALL] = {BT_BRANCH_CALL, 0},
	[BT_INSN_RET] = {BT_BRANCH_RET, 0},
	[BT_INSN_IJMP] = {BT_BRANCH_IJMP, 0},
	[BT_INSN_ICALL] = {BT_BRANCH_ICALL, 0},
	[BT_INSN_SYSCALL] = {BT_BRANCH_SYSCALL, 0},
	[BT_INSN_IRET] = {BT_BRANCH_RET, 0},
};

int bt_insn_branch_kind(enum bt_insn_class class) { return classes[class].kind; }

unsigned bt_insn_tick_class(enum bt_insn_class class) { return classes[class].tick; }

static bool is_direct(const ZydisDecodedInstruction *z) { return z->raw.imm[0].is_relative; }

static enum bt_insn_class class_of(const ZydisDecodedInstruction *z)
{
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_JCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_JRCXZ:
		return BT_INSN_JRCXZ;
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
		return BT_INSN_LOOP;
	case ZYDIS_MNEMONIC_JMP:
		return is_direct(z) ? BT_INSN_JMP : BT_INSN_IJMP;
	case ZYDIS_MNEMONIC_CALL:
		return is_direct(z) ? BT_INSN_CALL : BT_INSN_ICALL;
	case ZYDIS_MNEMONIC_RET:
		return BT_INSN_RET;
	case ZYDIS_MNEMONIC_SYSCALL:
	case ZYDIS_MNEMONIC_SYSENTER:
		return BT_INSN_SYSCALL;
	case ZYDIS_MNEMONIC_INT:
		return z->raw.imm[0].value.u == 0x80 ? BT_INSN_SYSCALL : BT_INSN_PLAIN;
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
		return BT_INSN_IRET;
	default:
		/* Zydis counts xbegin (relative too) and xend as conditional branches. */
		return z->meta.category == ZYDIS_CATEGORY_COND_BR && is_direct(z) &&
				       z->mnemonic != ZYDIS_MNEMONIC_XBEGIN
			       ? BT_INSN_JCC
			       : BT_INSN_PLAIN;
	}
}

static unsigned traits_of(const ZydisDecodedInstruction *z)
{
	unsigned traits = 0;

	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFQ:
		traits |= BT_TRAIT_PUSHF;
		break;
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
		traits |= BT_TRAIT_POPF;
		break;
	case ZYDIS_MNEMONIC_MOV:
		/* 8E /2: mov ss, r/m16 */
		if (z->opcode == 0x8e && z->raw.modrm.reg == 2)
			traits |= BT_TRAIT_LOADS_SS;
		break;
	case ZYDIS_MNEMONIC_INT:
		traits |= z->raw.imm[0].value.u == 0x80 ? BT_TRAIT_COMPAT : BT_TRAIT_BREAKPOINT;
		break;
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INTO:
		traits |= BT_TRAIT_BREAKPOINT;
		break;
	case ZYDIS_MNEMONIC_SYSENTER:
		traits |= BT_TRAIT_COMPAT;
		break;
	case ZYDIS_MNEMONIC_SGDT:
	case ZYDIS_MNEMONIC_SIDT:
	case ZYDIS_MNEMONIC_SMSW:
	case ZYDIS_MNEMONIC_STR:
	case ZYDIS_MNEMONIC_SLDT:
	case ZYDIS_MNEMONIC_CLI:
	case ZYDIS_MNEMONIC_STI:
		traits |= BT_TRAIT_EMULATED;
		break;
	case ZYDIS_MNEMONIC_CPUID:
	case ZYDIS_MNEMONIC_LSL:
	case ZYDIS_MNEMONIC_RDPID:
	case ZYDIS_MNEMONIC_RDPMC:
	case ZYDIS_MNEMONIC_RDPRU:
	case ZYDIS_MNEMONIC_RDRAND:
	case ZYDIS_MNEMONIC_RDSEED:
	case ZYDIS_MNEMONIC_RDTSC:
	case ZYDIS_MNEMONIC_RDTSCP:
	case ZYDIS_MNEMONIC_TPAUSE:
	case ZYDIS_MNEMONIC_UMWAIT:
	case ZYDIS_MNEMONIC_XGETBV:
		traits |= BT_TRAIT_OWN_RESULT;
		break;
	case ZYDIS_MNEMONIC_FNSTENV:
	case ZYDIS_MNEMONIC_FNSAVE:
	case ZYDIS_MNEMONIC_FXSAVE:
	case ZYDIS_MNEMONIC_FXSAVE64:
		traits |= BT_TRAIT_SAVES_X87;
		break;
	case ZYDIS_MNEMONIC_XSAVE:
	case ZYDIS_MNEMONIC_XSAVE64:
	case ZYDIS_MNEMONIC_XSAVEC:
	case ZYDIS_MNEMONIC_XSAVEC64:
	case ZYDIS_MNEMONIC_XSAVEOPT:
	case ZYDIS_MNEMONIC_XSAVEOPT64:
		traits |= BT_TRAIT_SAVES_X87 | BT_TRAIT_SAVES_PARTS;
		break;
	case ZYDIS_MNEMONIC_XBEGIN:
		traits |= BT_TRAIT_BEGINS;
		break;
	default:
		break;
	}
	if (z->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		traits |= BT_TRAIT_REP;
	return traits;
}

/* The most frequent instruction for a recorder: short programs often need no other decoded, and
 * Zydis' tables are large. */
static const uint8_t syscall_bytes[] = {0x0f, 0x05};

static int decode_insn(ZydisMachineMode mode, ZydisStackWidth width, const uint8_t *bytes, size_t n,
		       struct bt_insn *insn)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction z;
	ZyanStatus status;

	*insn = (struct bt_insn){0};
	if (!n)
		return -BT_E_TRUNCATED;
	ZydisDecoderInit(&decoder, mode, width);
	status = ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, n, &z);
	if (status == ZYDIS_STATUS_NO_MORE_DATA)
		return -BT_E_TRUNCATED;
	if (ZYAN_FAILED(status))
		return -BT_E_CORRUPT;
	insn->len = z.length;
	insn->class = (uint8_t)class_of(&z);
	insn->traits = (uint16_t)traits_of(&z);
	if (z.raw.imm[0].is_relative)
		insn->displacement = z.raw.imm[0].value.s;
	return 0;
}

int bt_insn_decode(const uint8_t *bytes, size_t n, struct bt_insn *insn)
{
	if (n >= sizeof syscall_bytes && !memcmp(bytes, syscall_bytes, sizeof syscall_bytes)) {
		*insn = (struct bt_insn){.len = sizeof syscall_bytes, .class = BT_INSN_SYSCALL};
		return 0;
	}
	return decode_insn(ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64, bytes, n, insn);
}

int bt_insn_decode_32(const uint8_t *bytes, size_t n, struct bt_insn *insn)
{
	return decode_insn(ZYDIS_MACHINE_MODE_LONG_COMPAT_32, ZYDIS_STACK_WIDTH_32, bytes, n, insn);
}
