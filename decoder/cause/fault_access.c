/* SPDX-License-Identifier: MIT */
/* Accesses to memory that failed: by the address the kernel gave, the operands of the instruction
 * and the mappings.
 *
 * fault_explain_access() sorts out the cause, and one function says it. If the program is at an
 * address without code, the branch that led there is blamed. Without an instruction only address
 * and mapping are told. The kernel gives no address for a general protection fault: the
 * instruction's operands are tried for one that is not canonical or not aligned. Else the operand
 * at the failed address is found, and its registers and its mapping say why.
 *
 * The words rest on registers, memory and mappings of the snapshot alone. Eight bytes that look
 * like text are said to be, as an overwritten pointer often holds text. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/cause/fault_private.h"
#include "decoder/model/signals.h"
#include "decoder/symbols/text.h"
#include "lib/array_size.h"
#include "lib/canonical.h"
#include "lib/page.h"

enum {
	BUS_ADRALN = 1,
	BUS_ADRERR = 2,
	ALIGNMENT_CHECK = 1 << 18, /* of eflags */
	NEIGHBOUR_MAX = 1 << 16,   /* a mapping this close is worth telling */
};

const char *fault_access_verb(const struct disasm_memory *m)
{
	switch (m->access) {
	case DISASM_WRITE:
		return "write to";
	case DISASM_READ:
		return "read from";
	default:
		return "update of";
	}
}

const char *fault_access_noun(const struct disasm_memory *m)
{
	return m->access == DISASM_WRITE ? "write" : m->access == DISASM_READ ? "read" : "update";
}

static const char *const transfer_verbs[BT_BRANCH_KINDS] = {
	[BT_BRANCH_JCC] = "jump to",   [BT_BRANCH_JMP] = "jump to",  [BT_BRANCH_CALL] = "call to",
	[BT_BRANCH_RET] = "return to", [BT_BRANCH_IJMP] = "jump to", [BT_BRANCH_ICALL] = "call to",
};

static const char *transfer_verb(int kind)
{
	return kind >= 0 && transfer_verbs[kind] ? transfer_verbs[kind] : "execution at";
}

static bool is_return_verb(const char *verb) { return *verb == 'r'; }

/* Eight bytes that could be text are more likely that than an address. */
static void say_if_text(struct fault_context *c, uint64_t value)
{
	char s[9] = {0};

	for (unsigned i = 0; i < 8; i++) {
		s[i] = (char)(value >> 8 * i);
		if (!isprint((unsigned char)s[i]))
			return;
	}
	fault_say(c, " (the text \"%s\")", s);
}

static void say_map_name(struct fault_context *c, const struct space_map *map)
{
	fault_say(c, "%.200s", *map->path ? text_basename(map->path) : "anonymous memory");
}

void fault_neighbours(const struct fault_context *c, uint64_t addr, const struct space_map **below,
		      const struct space_map **above)
{
	const struct space_map **maps = NULL;
	size_t n = trace_index_maps(c->m->index, c->f->space, c->f->epoch, &maps);

	*below = *above = NULL;
	for (size_t i = 0; i < n; i++) {
		if (maps[i]->end <= addr)
			*below = maps[i];
		else if (maps[i]->start > addr && !*above)
			*above = maps[i];
	}
	free(maps);
}

static void say_unmapped(struct fault_context *c, uint64_t addr)
{
	const struct space_map *below, *above;

	fault_neighbours(c, addr, &below, &above);
	fault_say(c, ", where nothing is mapped");
	if (below && addr - below->end < NEIGHBOUR_MAX) {
		fault_say(c, ", %" PRIu64 " bytes past the end of ", addr - below->end);
		say_map_name(c, below);
	} else if (above && above->start - addr < NEIGHBOUR_MAX) {
		fault_say(c, ", %" PRIu64 " bytes before ", above->start - addr);
		say_map_name(c, above);
	}
}

/* Explains the address by the mappings. */
static void say_why(struct fault_context *c, uint64_t addr, unsigned access)
{
	const struct space_map *map = fault_map(c, addr);

	if (!map) {
		if (addr >= NEAR_NULL)
			say_unmapped(c, addr);
		return;
	}
	if (!map->prot)
		fault_say(c, ", in memory that allows no access");
	else if (access & DISASM_WRITE && !(map->prot & BT_PROT_WRITE))
		fault_say(c, ", in read-only memory");
	else if (access & DISASM_READ && !(map->prot & BT_PROT_READ))
		fault_say(c, ", in memory that cannot be read");
	else
		fault_say(c, ": %s", signal_code_text(c->signal->signo, c->signal->code));
	fault_say(c, " (");
	say_map_name(c, map);
	fault_say(c, ")");
}

/* The same in a few words, behind "read". */
static const char *where_to(const struct fault_context *c, uint64_t addr, unsigned access)
{
	const struct space_map *map = fault_map(c, addr);

	if (addr < NEAR_NULL)
		return "close to null";
	if (!map)
		return "where nothing is mapped";
	if (map->prot && access & DISASM_WRITE && !(map->prot & BT_PROT_WRITE))
		return "in read-only memory";
	return "in memory that does not allow it";
}

/* Whether the access went through a null pointer: it is the base, or there is no other register. */
static bool is_through_null(const struct fault_context *c, const struct disasm_memory *m,
			    uint64_t addr)
{
	if (m->segment != DISASM_NO_REG || addr >= NEAR_NULL)
		return false;
	if (m->base == DISASM_NO_REG || !strcmp(bt_reg_info[m->base].name, "rip"))
		return !addr && m->index == DISASM_NO_REG;
	return !bt_regs_get(c->regs, m->base);
}

/* "null read by strlen of its argument c->name" */
static void brief_passed(struct fault_context *c, const char *noun, const char *where,
			 const struct fault_name *name)
{
	char argument[sizeof name->pointer + sizeof name->caller + 8];
	int n = *name->pointer ? snprintf(argument, sizeof argument, "%s", name->pointer)
			       : snprintf(argument, sizeof argument, "%u", name->argument);

	if (*name->caller)
		snprintf(argument + n, sizeof argument - (size_t)n, " (in %s)", name->caller);
	if (name->value)
		fault_brief(c, "%s %s by %s of its argument %s (0x%" PRIx64 ")", noun, where,
			    name->function, argument, name->value);
	else
		fault_brief(c, "null %s by %s of its argument %s", noun, name->function, argument);
}

/* name: of what was accessed, or NULL. */
static void brief_access(struct fault_context *c, const struct disasm_memory *m, uint64_t addr,
			 const struct fault_name *name)
{
	const char *noun = fault_access_noun(m), *of = name ? " of " : "",
		   *what = name ? name->accessed : "";

	if (name && name->argument)
		brief_passed(c, noun, where_to(c, addr, m->access), name);
	else if (name ? !name->value : is_through_null(c, m, addr))
		fault_brief(c, "null %s%s%s", noun, of, what);
	else
		fault_brief(c, "%s%s%s %s", noun, of, what, where_to(c, addr, m->access));
}

/* Says what of a library's function failed. */
static void say_passed(struct fault_context *c, const struct fault_name *name)
{
	fault_say(c, ": argument %u of %s", name->argument, name->function);
	if (*name->pointer)
		fault_say(c, ", %s,", name->pointer);
	if (name->value)
		fault_say(c, " was 0x%" PRIx64, name->value);
	else
		fault_say(c, " was null");
	if (*name->caller)
		fault_say(c, ", in %s", name->caller);
}

/* Says in the words of the source what was accessed. */
static void say_name(struct fault_context *c, const struct fault_name *name)
{
	size_t n = strlen(name->pointer);
	bool was_returned = n > 2 && !strcmp(name->pointer + n - 2, "()");

	if (name->argument) {
		say_passed(c, name);
		return;
	}
	fault_say(c, ": %s (", name->accessed);
	if (*name->member)
		fault_say(c, "member %s of %s, ", name->member, name->structure);
	if (name->value)
		fault_say(c, "%s = 0x%" PRIx64 ")", name->pointer, name->value);
	else
		fault_say(c, "%s %s null)", name->pointer, was_returned ? "returned" : "is");
}

static void say_index(struct fault_context *c, const struct disasm_memory *m)
{
	if (m->index != DISASM_NO_REG)
		fault_say(c, ", index %s = %" PRId64 " times %u", bt_reg_info[m->index].name,
			  (int64_t)bt_regs_get(c->regs, m->index), m->scale);
}

/* Explains the address by the registers: "through rbx, a null structure pointer, at offset 16". */
static void say_through(struct fault_context *c, const struct disasm_memory *m, uint64_t addr)
{
	uint64_t value;

	if (m->segment != DISASM_NO_REG)
		fault_say(c, " through %s = 0x%" PRIx64, bt_reg_info[m->segment].name,
			  bt_regs_get(c->regs, m->segment));
	if (m->base == DISASM_NO_REG || !strcmp(bt_reg_info[m->base].name, "rip")) {
		if (m->segment == DISASM_NO_REG && m->index == DISASM_NO_REG && addr < NEAR_NULL)
			fault_say(c, addr ? ", close to null" : ", a null pointer");
		say_index(c, m);
		return;
	}
	value = bt_regs_get(c->regs, m->base);
	fault_say(c, " through %s", bt_reg_info[m->base].name);
	if (!value && m->index != DISASM_NO_REG) {
		fault_say(c, ", a null array pointer");
	} else if (!value && !m->displacement) {
		fault_say(c, ", a null pointer");
	} else if (!value) {
		fault_say(c, ", a null structure pointer, at offset %" PRId64, m->displacement);
		return;
	} else {
		fault_say(c, " = 0x%" PRIx64, value);
		if (value < NEAR_NULL)
			fault_say(c, ", too small to be a pointer");
	}
	say_index(c, m);
	if (m->displacement)
		fault_say(c, ", at offset %" PRId64, m->displacement);
}

/* Nothing proves that it was overwritten: a function that is jumped or run into, without a call,
 * finds something else in that place. */
static void say_no_return_address(struct fault_context *c)
{
	fault_say(c, ": the stack held no return address there, as when it is overwritten");
}

static void brief_wild_pc(struct fault_context *c, const char *verb, const struct space_map *map)
{
	uint64_t pc = c->f->pc;

	fault_brief(c, "%s %s", verb,
		    !pc                 ? "null"
		    : pc < NEAR_NULL    ? "an address close to null"
		    : !is_canonical(pc) ? "a non-canonical address"
		    : map               ? "memory that is not executable"
					: "an address where nothing is mapped");
}

/* A tail call is a jump in one build and a call in another. */
static void set_branch_cause(struct fault_context *c, const char *verb, uint64_t target)
{
	fault_set_kind(c, is_return_verb(verb) ? "wrong return address"
			  : target < NEAR_NULL ? "call of a null pointer"
					       : "call of a wild pointer");
}

/* A call, jump or return to an address where no code is. */
static void explain_wild_pc(struct fault_context *c)
{
	uint64_t pc = c->f->pc;
	const struct space_map *map = fault_map(c, pc);
	const struct history_entry *last = fault_arrival(c);
	const char *verb = transfer_verb(last ? last->kind : -1);

	fault_say(c, "%s 0x%" PRIx64, verb, pc);
	brief_wild_pc(c, verb, map);
	if (!pc)
		fault_say(c, is_return_verb(verb) ? ", a null return address"
						  : ", a null function pointer");
	else if (pc < NEAR_NULL)
		fault_say(c, ", close to null");
	else if (!is_canonical(pc))
		fault_say(c, ", a non-canonical address");
	else if (map)
		fault_say(c, ", in memory that is not executable (%.200s)",
			  *map->path ? text_basename(map->path) : "anonymous memory");
	else
		fault_say(c, ", where nothing is mapped");
	if (is_return_verb(verb))
		say_no_return_address(c);
	set_branch_cause(c, verb, pc);
	say_if_text(c, pc);
	if (!last)
		return;
	fault_say_place(c, ", at ", last->from, false);
	if (c->f->has_insn)
		fault_say(c, " by \"%s\"", c->f->insn_text);
}

/* The target of a branch instruction that faulted itself. */
static bool branch_target(const struct fault_context *c, uint64_t *target)
{
	const struct disasm *d = &c->f->insn;
	struct register_part part;
	uint64_t addr;
	size_t end;

	if (d->class == BT_INSN_RET)
		return fault_read(c, c->regs->rsp, 8, target);
	if (d->class != BT_INSN_ICALL && d->class != BT_INSN_IJMP)
		return false;
	for (size_t i = 0; i < d->memory_count; i++)
		if (!d->memory[i].implicit)
			return disasm_address(d, &d->memory[i], c->regs, &addr) &&
			       fault_read(c, addr, 8, target);
	if (!fault_first_register(c->f->insn_text, &part, &end))
		return false;
	*target = bt_regs_get(c->regs, part.number);
	return true;
}

static bool explain_wild_branch(struct fault_context *c)
{
	const char *verb = transfer_verb(bt_insn_branch_kind(c->f->insn.class));
	uint64_t target;

	if (!branch_target(c, &target) || is_canonical(target))
		return false;
	fault_say(c, "%s 0x%" PRIx64 ", a non-canonical address", verb, target);
	fault_brief(c, "%s a non-canonical address", verb);
	set_branch_cause(c, verb, target);
	say_if_text(c, target);
	if (is_return_verb(verb))
		say_no_return_address(c);
	else
		fault_say(c, ", by \"%s\"", c->f->insn_text);
	return true;
}

/* The operand that the failed access was for. */
static const struct disasm_memory *operand_at(const struct fault_context *c, uint64_t addr)
{
	const struct disasm *d = &c->f->insn;
	uint64_t at;

	for (size_t i = 0; i < d->memory_count; i++)
		if (d->memory[i].access && disasm_address(d, &d->memory[i], c->regs, &at) &&
		    addr - at < (d->memory[i].size ? d->memory[i].size : 1))
			return &d->memory[i];
	return NULL;
}

static const struct disasm_memory *non_canonical_operand(const struct fault_context *c,
							 uint64_t *addr)
{
	const struct disasm *d = &c->f->insn;

	for (size_t i = 0; i < d->memory_count; i++)
		if (d->memory[i].access && disasm_address(d, &d->memory[i], c->regs, addr) &&
		    !is_canonical(*addr))
			return &d->memory[i];
	return NULL;
}

/* The alignment that an operand's address needs; 1: none. others: instructions for which it is not
 * the operand's size. */
static unsigned alignment_of(const struct fault_context *c, const struct disasm_memory *m)
{
	static const struct {
		const char *begun_with;
		unsigned alignment;
	} others[] = {{"fxsave", 16}, {"fxrstor", 16}, {"xsave", 64}, {"xrstor", 64}};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (!strncmp(c->f->insn_text, others[i].begun_with, strlen(others[i].begun_with)))
			return others[i].alignment;
	return m->size & (m->size - 1) ? 1 : m->size;
}

/* The misaligned operand among those that need an alignment of at least `least` bytes. */
static const struct disasm_memory *misaligned_operand(const struct fault_context *c, unsigned least,
						      uint64_t *addr)
{
	const struct disasm *d = &c->f->insn;

	for (size_t i = 0; i < d->memory_count; i++) {
		const struct disasm_memory *m = &d->memory[i];
		unsigned alignment = alignment_of(c, m);

		if (m->access && alignment >= least && disasm_address(d, m, c->regs, addr) &&
		    *addr % alignment)
			return m;
	}
	return NULL;
}

/* A far return through values on the stack: any program may make one, but not to every target. */
static bool explain_interrupt_return(struct fault_context *c)
{
	unsigned size = fault_insn_is(c, "iretq") ? 8 : fault_insn_is(c, "iretd") ? 4 : 2;
	uint64_t target, cs;

	if (c->f->insn.class != BT_INSN_IRET)
		return false;
	fault_say(c, "return by \"%s\"", c->f->insn_text);
	if (fault_read(c, c->regs->rsp, size, &target) &&
	    fault_read(c, c->regs->rsp + size, size, &cs))
		fault_say(c, " to 0x%" PRIx64 " with code segment 0x%" PRIx64, target, cs);
	fault_say(c, ": the frame on the stack is none that a program may return by");
	return true;
}

static bool is_privileged(const struct fault_context *c)
{
	static const char *const privileged[] = {
		"hlt",   "cli",    "sti",    "in",      "out",   "insb",   "insw",   "insd",
		"outsb", "outsw",  "outsd",  "rdmsr",   "wrmsr", "lgdt",   "lidt",   "lldt",
		"ltr",   "invd",   "wbinvd", "invlpg",  "clts",  "swapgs", "sysret", "sysexit",
		"rdpmc", "xsetbv", "lmsw",   "monitor", "mwait"};

	for (size_t i = 0; i < ARRAY_SIZE(privileged); i++)
		if (fault_insn_is(c, privileged[i]))
			return true;
	return false;
}

/* For instructions with operands of 16 bytes and more: others accept any alignment (Intel SDM vol.
 * 1, 14.9; vol. 2, 2.4). */
static bool demands_alignment(const struct fault_context *c)
{
	static const char *const no[] = {"movups", "movupd",   "movdqu",
					 "lddqu",  "pcmpestr", "pcmpistr"};
	static const char *const vex[] = {"vmovap", "vmovdqa", "vmovnt"};
	const char *text = c->f->insn_text;
	bool demands = *text != 'v';

	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		demands = demands && strncmp(text, no[i], strlen(no[i])) != 0;
	for (size_t i = 0; i < ARRAY_SIZE(vex); i++)
		demands = demands || !strncmp(text, vex[i], strlen(vex[i]));
	return demands;
}

bool fault_is_protection(const struct fault_context *c)
{
	uint64_t addr;

	return non_canonical_operand(c, &addr) ||
	       (branch_target(c, &addr) && !is_canonical(addr)) || is_privileged(c) ||
	       (demands_alignment(c) && misaligned_operand(c, 16, &addr));
}

bool fault_is_misaligned(const struct fault_context *c)
{
	uint64_t addr;

	return c->regs->eflags & ALIGNMENT_CHECK && misaligned_operand(c, 2, &addr);
}

/* The kernel names no address for a general protection or stack segment fault: it is always 0. */
static void explain_protection(struct fault_context *c)
{
	const struct disasm_memory *m;
	uint64_t addr;

	m = non_canonical_operand(c, &addr);
	if (m) {
		fault_say(c, "%s 0x%" PRIx64, fault_access_verb(m), addr);
		fault_brief(c, "%s a non-canonical address", fault_access_verb(m));
		say_if_text(c, addr);
		say_through(c, m, addr);
		fault_say(c, ", a non-canonical address");
		fault_set_kind(c, "wild pointer");
		return;
	}
	if (explain_wild_branch(c))
		return;
	m = misaligned_operand(c, 16, &addr);
	if (m) {
		fault_brief(c, "misaligned %s", fault_access_noun(m));
		fault_set_kind(c, "misaligned access");
		fault_say(c,
			  "%s 0x%" PRIx64
			  ", which is not aligned to the %u bytes that \"%s\" needs",
			  fault_access_verb(m), addr, alignment_of(c, m), c->f->insn_text);
		return;
	}
	fault_set_kind(c, is_privileged(c) ? "privileged instruction" : "protection fault");
	if (explain_interrupt_return(c))
		return;
	fault_brief(c, "%s",
		    is_privileged(c) ? "privileged instruction" : "general protection fault");
	if (is_privileged(c))
		fault_say(c, "privileged instruction \"%s\": only the kernel may run it",
			  c->f->insn_text);
	else
		fault_say(c, "general protection fault at \"%s\"", c->f->insn_text);
}

static void say_code(struct fault_context *c)
{
	fault_say(c, ", bytes");
	for (size_t i = 0; i < c->f->code_len; i++)
		fault_say(c, " %02x", c->f->code[i]);
}

/* A general protection fault of an unknown instruction; the processor raises it for one that is too
 * long. */
static void explain_unknown_protection(struct fault_context *c)
{
	fault_say(c, "general protection fault");
	fault_brief(c, "general protection fault");
	fault_set_kind(c, "protection fault");
	if (c->f->is_32_bit)
		fault_say(c, " of 32-bit code");
	else if (c->f->has_insn)
		fault_say(c, " at \"%s\"", c->f->insn_text);
	else if (!c->f->code_len)
		fault_say(c, " (the code at 0x%" PRIx64 " is not in the trace)", c->f->pc);
	else
		say_code(c);
	if (!c->f->has_insn && c->f->code_len == BT_INSN_MAX)
		fault_say(c, ": no known instruction, or one of more than %d bytes", BT_INSN_MAX);
}

/* The kernel gives no address of an access that is only not aligned. */
static void explain_misaligned(struct fault_context *c)
{
	uint64_t addr;
	const struct disasm_memory *m = misaligned_operand(c, 2, &addr);

	fault_set_kind(c, "misaligned access");
	if (m)
		fault_say(c, "%s 0x%" PRIx64 ", which is not aligned to its %u bytes",
			  fault_access_verb(m), addr, alignment_of(c, m));
	else
		fault_say(c, "access to what is not aligned, by \"%s\"", c->f->insn_text);
	if (c->regs->eflags & ALIGNMENT_CHECK)
		fault_say(c, ", and alignment is checked (the AC flag is set)");
}

static void explain_bus(struct fault_context *c, uint64_t addr, const struct disasm_memory *m)
{
	const struct space_map *map = fault_map(c, addr);

	if (c->signal->code == BUS_ADRALN)
		fault_brief(c, "misaligned access");
	if (c->signal->code == BUS_ADRALN && !addr) {
		explain_misaligned(c);
		return;
	}
	fault_say(c, "%s 0x%" PRIx64, m ? fault_access_verb(m) : "access to", addr);
	fault_set_kind(c, "%s", signal_code_text(c->signal->signo, c->signal->code));
	if (c->signal->code == BUS_ADRALN) {
		fault_set_kind(c, "misaligned access");
		fault_say(c, ", which is not aligned");
	} else if (map && *map->path == '/' && c->signal->code == BUS_ADRERR) {
		fault_say(c, ", byte %" PRIu64 " of ", addr - map->start + map->offset);
		say_map_name(c, map);
		fault_say(c, ": beyond the end of the file");
		fault_brief(c, "%s beyond the end of a mapped file",
			    m ? fault_access_noun(m) : "access");
		fault_set_kind(c, "beyond the end of a file");
	} else {
		fault_say(c, ": %s", signal_code_text(c->signal->signo, c->signal->code));
	}
}

static void explain_unknown(struct fault_context *c, uint64_t addr)
{
	bool is_in_code = c->f->code_is_cut && addr == c->f->pc + c->f->code_len;

	fault_say(c, "%s 0x%" PRIx64, is_in_code ? "execution at" : "access to", addr);
	fault_brief(c, "%s %s", is_in_code ? "execution" : "access", where_to(c, addr, 0));
	fault_set_access_kind(c, addr, 0);
	if (addr < NEAR_NULL)
		fault_say(c, ", close to null");
	say_why(c, addr, 0);
	if (c->f->is_32_bit)
		fault_say(c, ", by 32-bit code");
	else if (is_in_code)
		fault_say(c, ", within the instruction that begins at 0x%" PRIx64, c->f->pc);
	else if (!c->f->has_insn && c->f->code_len)
		say_code(c);
	else if (!c->f->has_insn)
		fault_say(c, " (the code at 0x%" PRIx64 " is not in the trace)", c->f->pc);
}

void fault_explain_access(struct fault_context *c)
{
	uint64_t addr = c->signal->addr;
	const struct disasm_memory *m;
	struct fault_name name;
	bool named;

	if (c->f->pc_is_wild) {
		explain_wild_pc(c);
		return;
	}
	/* For a general protection fault the address is 0. */
	if (!c->regs || !c->f->has_insn) {
		if (c->signal->code == SI_KERNEL_CODE)
			explain_unknown_protection(c);
		else
			explain_unknown(c, addr);
		return;
	}
	if (c->signal->code == SI_KERNEL_CODE) {
		explain_protection(c);
		return;
	}
	m = operand_at(c, addr);
	if (c->signal->signo == SIG_BUS) {
		explain_bus(c, addr, m);
	} else if (!m) {
		explain_unknown(c, addr);
	} else if (!fault_explain_overflow(c, addr, m)) {
		named = fault_name_access(c, m, &name);
		fault_say(c, "%s 0x%" PRIx64, fault_access_verb(m), addr);
		brief_access(c, m, addr, named ? &name : NULL);
		say_through(c, m, addr);
		say_why(c, addr, m->access);
		if (named)
			say_name(c, &name);
		fault_set_access_kind(c, addr, m->access);
	}
}
