/* SPDX-License-Identifier: MIT */
/* What the files that explain a fault share: fault.c (signals), fault_access.c (memory),
 * fault_stack.c, fault_abort.c, fault_untold.c (signals whose code was not told). Nobody else
 * includes this. Each adds to the text of the context (fault_say()). */
#ifndef BT_FAULT_PRIVATE_H
#define BT_FAULT_PRIVATE_H

#include "decoder/fault.h"

struct fault_context {
	struct fault *f;
	const struct model *m;
	struct symbols *s;
	const struct model_snapshot *snap;
	const struct bt_record_signal
		*signal; /* NULL: none; of a code that was not told, as inferred */
	struct bt_record_signal inferred;
	const struct bt_record_thread *thread;
	const struct bt_regs *regs; /* of thread, or NULL */
	const struct history *h;
	size_t end;
	bool is_overflow; /* of a stack */
};

/* Numbers of the kernel's uapi (asm/signal.h). */
enum {
	SIG_QUIT = 3,
	SIG_ILL = 4,
	SIG_TRAP = 5,
	SIG_ABRT = 6,
	SIG_BUS = 7,
	SIG_FPE = 8,
	SIG_SEGV = 11,
	SIG_PIPE = 13,
	SIG_XFSZ = 25,
	SIG_SYS = 31,
	SI_KERNEL_CODE = 0x80,
	SYS_NR_MAX = 4096,
	PROT_EXECUTE = 4,
	/* Offsets from a null pointer reach this far (the kernel's default vm.mmap_min_addr is as
	   much). */
	NEAR_NULL = 0x10000,
};

void fault_say(struct fault_context *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Says " in f+0x1 (file.c:2)". */
void fault_say_place(struct fault_context *c, const char *before, uint64_t addr, bool is_return);

/* The branch that the moment came right after, when it went to pc; else NULL. */
const struct history_entry *fault_arrival(const struct fault_context *c);

const struct space_map *fault_map(const struct fault_context *c, uint64_t addr);

/* Whether addr lies in a mapping whose code may run. */
bool fault_is_executable(const struct fault_context *c, uint64_t addr);

/* The mapping that ends closest below addr, and the one that begins closest above; NULL: none. */
void fault_neighbours(const struct fault_context *c, uint64_t addr, const struct space_map **below,
		      const struct space_map **above);

/* Reads n <= 8 bytes of memory as a number. */
bool fault_read(const struct fault_context *c, uint64_t addr, unsigned n, uint64_t *value);

/* The mnemonic of the instruction begins with it. */
bool fault_insn_is(const struct fault_context *c, const char *mnemonic);

/* The register operand that an instruction names first: its number, its bytes and how far up in the
 * register it lies. */
struct register_part {
	uint8_t number, size, shift;
};
bool fault_first_register(const char *text, struct register_part *part, size_t *end);

/* The snapshot's signal, which has no code, as what the instruction raises with these registers:
 * code, addr and sync of c->inferred. False when it raises nothing. */
bool fault_infer(struct fault_context *c);

/* The instruction raises a general protection fault for sure: it is privileged, or leads to what is
 * no address, or its operand is not aligned as it must be. The second: it raises an alignment
 * check. Both with the registers at hand. */
bool fault_is_protection(const struct fault_context *c);
bool fault_is_misaligned(const struct fault_context *c);

/* The div or idiv at the moment goes well for sure with the registers that it has. */
bool fault_division_fits(const struct fault_context *c);

/* SIGSEGV, and SIGBUS for what a mapped file does not hold. */
void fault_explain_access(struct fault_context *c);

/* The program raised SIGABRT: says why, and makes the place of the program that it came from the
 * one to be looked at. */
void fault_explain_abort(struct fault_context *c);

/* Where the place to be looked at is the runtime's: the program's place that called it. */
void fault_find_caller(struct fault_context *c);

/* "write to", as the operand is accessed. */
const char *fault_access_verb(const struct disasm_memory *m);

/* Where the access of operand m to addr, which failed, lies below a stack that is used up: says so.
 */
bool fault_explain_overflow(struct fault_context *c, uint64_t addr, const struct disasm_memory *m);

#endif
