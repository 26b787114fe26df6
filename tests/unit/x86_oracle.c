/* SPDX-License-Identifier: MIT */
#include "tests/unit/x86_oracle.h"

#include <Zydis/Zydis.h>

#include "lib/error.h"

struct decoded {
	ZydisDecodedInstruction z;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	const uint8_t *bytes;
	bool gs, fs;
};

static bool has(const ZydisDecodedInstruction *z, ZydisInstructionAttributes attribute)
{
	return z->attributes & attribute;
}

static bool repeated(const ZydisDecodedInstruction *z)
{
	return has(z, ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

static unsigned register_bit(ZydisRegister reg)
{
	ZydisRegister wide = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (ZydisRegisterGetClass(wide) != ZYDIS_REGCLASS_GPR64)
		return 0;
	return X86_BIT(ZydisRegisterGetId(wide));
}

/* SIB 5 with mod 0 is no base, whatever REX.B says: Zydis 4.0 takes r13 with an address-size
 * prefix. */
static unsigned base_bit(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
	if (has(z, ZYDIS_ATTRIB_HAS_SIB) && z->raw.modrm.mod == 0 && z->raw.sib.base == 5)
		return 0;
	return register_bit(o->mem.base);
}

static unsigned registers(const struct decoded *d)
{
	unsigned set = 0;

	for (unsigned i = 0; i < d->z.operand_count; i++) {
		const ZydisDecodedOperand *o = &d->operands[i];

		if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && d->z.mnemonic != ZYDIS_MNEMONIC_NOP)
			set |= register_bit(o->reg.value);
		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY)
			set |= base_bit(&d->z, o) | register_bit(o->mem.index);
	}
	if (repeated(&d->z))
		set |= X86_BIT(X86_RCX);
	if (d->z.mnemonic == ZYDIS_MNEMONIC_MWAITX) /* Zydis 4.0 forgets the timeout */
		set |= X86_BIT(X86_RBX);
	return set;
}

static unsigned flag_set(ZydisAccessedFlagsMask mask)
{
	return (mask & ZYDIS_CPUFLAG_CF ? X86_CF : 0) | (mask & ZYDIS_CPUFLAG_PF ? X86_PF : 0) |
	       (mask & ZYDIS_CPUFLAG_AF ? X86_AF : 0) | (mask & ZYDIS_CPUFLAG_ZF ? X86_ZF : 0) |
	       (mask & ZYDIS_CPUFLAG_SF ? X86_SF : 0) | (mask & ZYDIS_CPUFLAG_OF ? X86_OF : 0);
}

/* What Zydis calls undefined counts as written, except of instructions that leave it alone on one
 * processor or other: there only what all processors define does. */
static unsigned written(const ZydisDecodedInstruction *z)
{
	const ZydisAccessedFlags *f = z->cpu_flags;
	unsigned defined = flag_set(f->modified | f->set_0 | f->set_1);

	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_MUL:
	case ZYDIS_MNEMONIC_IMUL:
	case ZYDIS_MNEMONIC_DIV:
	case ZYDIS_MNEMONIC_IDIV:
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTC:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTS:
		return defined;
	case ZYDIS_MNEMONIC_BSF:
	case ZYDIS_MNEMONIC_BSR:
	case ZYDIS_MNEMONIC_LZCNT: /* a bsr or bsf to older ones */
	case ZYDIS_MNEMONIC_TZCNT:
		return defined & X86_ZF;
	case ZYDIS_MNEMONIC_VPTEST: /* Zydis 4.0 forgets the flags that they clear */
	case ZYDIS_MNEMONIC_VTESTPD:
	case ZYDIS_MNEMONIC_VTESTPS:
		return X86_ARITHMETIC;
	default:
		return defined | flag_set(f->undefined);
	}
}

/* A count of zero leaves the flags alone; which of them another count writes depends on it in
 * rotates. */
static bool writes_flags_for_sure(const struct decoded *d)
{
	const ZydisDecodedOperand *count;

	switch (d->z.mnemonic) {
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
	case ZYDIS_MNEMONIC_RCL:
	case ZYDIS_MNEMONIC_RCR:
		return false;
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
		count = &d->operands[1];
		break;
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
		count = &d->operands[2];
		break;
	default:
		return !repeated(&d->z);
	}
	return count->type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	       count->imm.value.u & (d->z.operand_width == 64 ? 63 : 31);
}

static enum bt_insn_class classify(const struct decoded *d)
{
	struct bt_insn insn;

	return bt_insn_decode(d->bytes, d->z.length, &insn) ? BT_INSN_PLAIN
							    : (enum bt_insn_class)insn.class;
}

static bool is_branch(enum bt_insn_class class)
{
	return class != BT_INSN_PLAIN && class != BT_INSN_SYSCALL && class != BT_INSN_IRET;
}

static bool outside_by_category(const ZydisDecodedInstruction *z)
{
	if (z->mnemonic == ZYDIS_MNEMONIC_XTEST)
		return false;
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_AMD3DNOW:
	case ZYDIS_CATEGORY_ENQCMD:
	case ZYDIS_CATEGORY_HRESET:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_KEYLOCKER:
	case ZYDIS_CATEGORY_KEYLOCKER_WIDE:
	case ZYDIS_CATEGORY_PADLOCK:
	case ZYDIS_CATEGORY_PCONFIG:
	case ZYDIS_CATEGORY_SEGOP:
	case ZYDIS_CATEGORY_SGX:
	case ZYDIS_CATEGORY_SMAP:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_TBM:
	case ZYDIS_CATEGORY_TSX_LDTRK:
	case ZYDIS_CATEGORY_UINTR:
	case ZYDIS_CATEGORY_VTX:
		return true;
	default:
		break;
	}
	switch (z->meta.isa_ext) {
	case ZYDIS_ISA_EXT_RTM:
	case ZYDIS_ISA_EXT_SMX:
	case ZYDIS_ISA_EXT_SNP:
	case ZYDIS_ISA_EXT_SVM:
	case ZYDIS_ISA_EXT_TDX:
	case ZYDIS_ISA_EXT_AMD_INVLPGB:
	case ZYDIS_ISA_EXT_MONITOR:
		return true;
	default:
		return z->encoding == ZYDIS_INSTRUCTION_ENCODING_XOP ||
		       z->encoding == ZYDIS_INSTRUCTION_ENCODING_3DNOW;
	}
}

static bool outside_by_mnemonic(const struct decoded *d)
{
	switch (d->z.mnemonic) {
	case ZYDIS_MNEMONIC_CLI:
	case ZYDIS_MNEMONIC_CLRSSBSY:
	case ZYDIS_MNEMONIC_FEMMS:
	case ZYDIS_MNEMONIC_LGDT:
	case ZYDIS_MNEMONIC_LIDT:
	case ZYDIS_MNEMONIC_LMSW:
	case ZYDIS_MNEMONIC_MCOMMIT:
	case ZYDIS_MNEMONIC_RDPRU:
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
	case ZYDIS_MNEMONIC_RDGSBASE:
	case ZYDIS_MNEMONIC_RDPMC:
	case ZYDIS_MNEMONIC_RSTORSSP:
	case ZYDIS_MNEMONIC_SAVEPREVSSP:
	case ZYDIS_MNEMONIC_SETSSBSY:
	case ZYDIS_MNEMONIC_SGDT:
	case ZYDIS_MNEMONIC_SIDT:
	case ZYDIS_MNEMONIC_SLDT:
	case ZYDIS_MNEMONIC_SMSW:
	case ZYDIS_MNEMONIC_STI:
	case ZYDIS_MNEMONIC_STR:
	case ZYDIS_MNEMONIC_SWAPGS:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_WRGSBASE:
	case ZYDIS_MNEMONIC_WRPKRU:
	case ZYDIS_MNEMONIC_WRSSD:
	case ZYDIS_MNEMONIC_WRSSQ:
	case ZYDIS_MNEMONIC_WRUSSD:
	case ZYDIS_MNEMONIC_WRUSSQ:
		return true;
	case ZYDIS_MNEMONIC_ENTER:
		return d->z.raw.imm[1].value.u & 31;
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_POP:
		return d->operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		       ZydisRegisterGetClass(d->operands[0].reg.value) == ZYDIS_REGCLASS_SEGMENT;
	default:
		return false;
	}
}

static bool touches_memory(const struct decoded *d)
{
	for (unsigned i = 0; i < d->z.operand_count; i++)
		if (d->operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    d->operands[i].visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN)
			return true;
	return false;
}

static bool has_vector_index(const struct decoded *d)
{
	for (unsigned i = 0; i < d->z.operand_count; i++) {
		const ZydisDecodedOperand *o = &d->operands[i];

		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.index != ZYDIS_REGISTER_NONE &&
		    ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, o->mem.index) >= 128)
			return true;
	}
	return false;
}

/* Those that programs are padded with. */
static bool is_nop(const ZydisDecodedInstruction *z)
{
	if (z->opcode_map == ZYDIS_OPCODE_MAP_0F)
		return z->mnemonic == ZYDIS_MNEMONIC_NOP && z->opcode == 0x1f;
	return z->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && z->opcode == 0x90;
}

static bool outside(const struct decoded *d, const struct x86_insn *insn)
{
	const ZydisDecodedInstruction *z = &d->z;

	if (has(z, ZYDIS_ATTRIB_IS_PRIVILEGED) || outside_by_category(z) || outside_by_mnemonic(d))
		return true;
	if (insn->class == BT_INSN_SYSCALL || insn->class == BT_INSN_IRET ||
	    z->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return true;
	if (insn->class == BT_INSN_LOOP && insn->prefix_f2_f3 && (insn->opcode & 0xfe) == 0xe0)
		return true;
	if (is_branch(insn->class) && insn->prefix_66 && !(insn->rex & 8))
		return true;
	if (d->gs && !is_nop(z) && (touches_memory(d) || !is_branch(insn->class)))
		return true;
	return insn->traits & X86_RIP_RELATIVE && insn->traits & X86_ADDRESS32;
}

/* Nothing is said of what runs outside: it may touch everything. */
static void touch_everything(struct x86_insn *insn)
{
	insn->traits |= X86_OUTSIDE;
	insn->regs = 0xffff;
	insn->flags_read = X86_ARITHMETIC;
	insn->flags_written = 0;
}

static void take_prefixes(struct decoded *d, struct x86_insn *insn)
{
	const ZydisDecodedInstruction *z = &d->z;

	for (unsigned i = 0; i < z->raw.prefix_count; i++) {
		uint8_t value = z->raw.prefixes[i].value;

		d->gs |= value == 0x65;
		d->fs |= value == 0x64;
		if (value == 0x66)
			insn->prefix_66 = 1;
		if (value == 0x67)
			insn->traits |= X86_ADDRESS32;
		if (value == 0xf2 || value == 0xf3)
			insn->prefix_f2_f3 = value;
	}
	if (d->fs)
		insn->traits |= X86_SEGMENT;
	if (has(z, ZYDIS_ATTRIB_HAS_REX))
		insn->rex = (uint8_t)(0x40 | z->raw.rex.W << 3 | z->raw.rex.R << 2 |
				      z->raw.rex.X << 1 | z->raw.rex.B);
}

static uint8_t opcode_offset(const ZydisDecodedInstruction *z)
{
	if (z->encoding == ZYDIS_INSTRUCTION_ENCODING_3DNOW)
		return (uint8_t)(z->length - 1);
	if (has(z, ZYDIS_ATTRIB_HAS_MODRM))
		return (uint8_t)(z->raw.modrm.offset - 1);
	if (z->raw.disp.size)
		return (uint8_t)(z->raw.disp.offset - 1);
	if (z->raw.imm[0].size)
		return (uint8_t)(z->raw.imm[0].offset - 1);
	return (uint8_t)(z->length - 1);
}

static uint8_t map_of(const ZydisDecodedInstruction *z)
{
	if (z->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		return X86_MAP_OTHER;
	return (uint8_t)(z->opcode_map == ZYDIS_OPCODE_MAP_0F     ? X86_MAP_0F
			 : z->opcode_map == ZYDIS_OPCODE_MAP_0F38 ? X86_MAP_0F38
			 : z->opcode_map == ZYDIS_OPCODE_MAP_0F3A ? X86_MAP_0F3A
								  : X86_MAP_1);
}

static void take_parts(const ZydisDecodedInstruction *z, struct x86_insn *insn)
{
	insn->map = map_of(z);
	insn->opcode = z->opcode;
	insn->opcode_at = opcode_offset(z);
	if (has(z, ZYDIS_ATTRIB_HAS_MODRM))
		insn->modrm_at = z->raw.modrm.offset;
	if (z->raw.disp.size) {
		insn->disp_at = z->raw.disp.offset;
		insn->disp_size = z->raw.disp.size / 8;
	}
	if (z->raw.imm[0].size) {
		insn->imm_at = z->raw.imm[0].offset;
		insn->imm_size = z->raw.imm[0].size / 8;
	}
	if (insn->modrm_at && insn->disp_size && z->raw.modrm.mod == 0 && z->raw.modrm.rm == 5) {
		insn->traits |= X86_RIP_RELATIVE;
		insn->displacement = z->raw.disp.value;
	} else if (z->raw.imm[0].is_relative &&
		   insn->class != BT_INSN_PLAIN) { /* xbegin is no branch here */
		insn->displacement = z->raw.imm[0].value.s;
	}
}

static int decode(const uint8_t *bytes, size_t n, struct decoded *d)
{
	ZydisDecoder decoder;
	ZyanStatus status;

	d->bytes = bytes;
	if (!n)
		return -BT_E_TRUNCATED;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	status = ZydisDecoderDecodeFull(&decoder, bytes, n, &d->z, d->operands);
	if (status == ZYDIS_STATUS_NO_MORE_DATA)
		return -BT_E_TRUNCATED;
	if (ZYAN_FAILED(status))
		return -BT_E_CORRUPT;
	/* no 64-bit Linux ran on Knights Corner, whose opcodes are free elsewhere */
	switch (d->z.meta.isa_ext) {
	case ZYDIS_ISA_EXT_KNC:
	case ZYDIS_ISA_EXT_KNCE:
	case ZYDIS_ISA_EXT_KNCV:
		return -BT_E_CORRUPT;
	default:
		return 0;
	}
}

int x86_oracle(const uint8_t *bytes, size_t n, struct x86_insn *insn)
{
	struct decoded d = {0};
	const ZydisAccessedFlags *flags;
	int rc = decode(bytes, n, &d);

	*insn = (struct x86_insn){0};
	if (rc)
		return rc;
	insn->len = d.z.length;
	insn->class = (uint8_t)classify(&d);
	take_prefixes(&d, insn);
	take_parts(&d.z, insn);
	if (repeated(&d.z))
		insn->traits |= X86_REPEATED;
	if (has_vector_index(&d))
		insn->traits |= X86_GATHERED;
	insn->regs = (uint16_t)registers(&d);
	flags = d.z.cpu_flags;
	if (flags) {
		/* the ZF that REPE looks at is its own */
		insn->flags_read = repeated(&d.z) ? 0 : (uint8_t)flag_set(flags->tested);
		if (writes_flags_for_sure(&d))
			insn->flags_written = (uint8_t)written(&d.z);
	}
	if (outside(&d, insn))
		touch_everything(insn);
	return 0;
}

unsigned x86_oracle_undefined(const uint8_t *bytes, size_t n)
{
	struct decoded d = {0};

	return decode(bytes, n, &d) || !d.z.cpu_flags ? 0 : flag_set(d.z.cpu_flags->undefined);
}

const char *x86_oracle_name(const uint8_t *bytes, size_t n)
{
	struct decoded d = {0};

	return decode(bytes, n, &d) ? "invalid" : ZydisMnemonicGetString(d.z.mnemonic);
}

/* MPX has instructions with a general register and nops side by side. */
static bool registers_differ(const struct x86_insn *ours, const struct x86_insn *theirs)
{
	if (ours->map == X86_MAP_0F && (ours->opcode == 0x1a || ours->opcode == 0x1b))
		return theirs->regs & ~ours->regs;
	return ours->regs != theirs->regs;
}

const char *x86_oracle_difference(const struct x86_insn *ours, const struct x86_insn *theirs)
{
#define SAME(field)                       \
	if (ours->field != theirs->field) \
		return #field;
	SAME(len)
	SAME(class)
	SAME(traits)
	SAME(flags_read)
	SAME(flags_written)
	SAME(map)
	SAME(opcode)
	SAME(rex)
	SAME(prefix_66)
	SAME(prefix_f2_f3)
	SAME(opcode_at)
	SAME(modrm_at)
	SAME(disp_at)
	SAME(disp_size)
	SAME(imm_at)
	SAME(imm_size)
	SAME(displacement)
#undef SAME
	if (registers_differ(ours, theirs))
		return "regs";
	return NULL;
}
