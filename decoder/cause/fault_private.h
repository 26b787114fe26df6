/* SPDX-License-Identifier: MIT */
/* Shared by the files that explain a fault: fault.c (signals), fault_access.c (memory),
 * fault_stack.c, fault_abort.c, fault_child.c (children that failed before), fault_hang.c,
 * fault_untold.c (signals whose code was not told). Nobody else includes this. Each adds to the
 * text of the context (fault_say()), and sets its kind (fault_kind.c). */
#ifndef BT_FAULT_PRIVATE_H
#define BT_FAULT_PRIVATE_H

#include "decoder/cause/fault.h"
#include "decoder/values/said_values.h"

struct fault_context {
	struct fault *f;
	const struct model *m;
	struct symbols *s;
	const struct model_snapshot *snap;
	const struct bt_record_signal
		*signal; /* NULL: none; with the inferred code if the source did not tell it */
	struct bt_record_signal inferred;
	const struct bt_record_thread *thread;
	const struct bt_regs *regs; /* of thread, or NULL */
	const struct history *h;
	size_t end;
	bool is_overflow; /* of a stack */
	bool is_plain;    /* its children are not looked at */
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
	/* The largest offset from a null pointer (the kernel's default vm.mmap_min_addr). */
	NEAR_NULL = 0x10000,
};

void fault_say(struct fault_context *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Gives the few words of struct fault's brief, unless it has some. */
void fault_brief(struct fault_context *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The same with what was thrown, where an exception is on its way. False: none is known to be. */
bool fault_brief_thrown(struct fault_context *c);

/* Sets the kind. It tells no address, no register and no size: they are other ones in another
 * build of the program. */
void fault_set_kind(struct fault_context *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Sets the kind of a failed access. Only the address and its mapping decide: through which
 * register it was is the compiler's choice. access: enum disasm_access, 0 unknown. */
void fault_set_access_kind(struct fault_context *c, uint64_t addr, unsigned access);

/* The kind by libc's message; by the process's last words, which name the type of an exception.
 * Each leaves the kind as it is where they tell nothing. */
void fault_set_message_kind(struct fault_context *c);
void fault_set_words_kind(struct fault_context *c);

/* Says " in f+0x1 (file.c:2)". */
void fault_say_place(struct fault_context *c, const char *before, uint64_t addr, bool is_return);

/* The last branch before the snapshot if it went to pc; else NULL. */
const struct history_entry *fault_arrival(const struct fault_context *c);

const struct space_map *fault_map(const struct fault_context *c, uint64_t addr);

/* Whether addr lies in a mapping whose code may run. */
bool fault_is_executable(const struct fault_context *c, uint64_t addr);

/* The mapping that ends closest below addr, and the one that begins closest above; NULL: none. */
void fault_neighbours(const struct fault_context *c, uint64_t addr, const struct space_map **below,
		      const struct space_map **above);

/* Reads n <= 8 bytes of memory as a number. */
bool fault_read(const struct fault_context *c, uint64_t addr, unsigned n, uint64_t *value);

/* Whether the instruction's mnemonic begins with it. */
bool fault_insn_is(const struct fault_context *c, const char *mnemonic);

/* The first register operand of an instruction: its number, its size in bytes and its shift in the
 * register. */
struct register_part {
	uint8_t number, size, shift;
};
bool fault_first_register(const char *text, struct register_part *part, size_t *end);

/* Infers code, addr and sync of the snapshot's signal from the instruction and its registers, into
 * c->inferred. False when the instruction raises nothing. */
bool fault_infer(struct fault_context *c);

/* Whether the instruction certainly raises a general protection fault (privileged, non-canonical
 * address, misaligned operand); whether it certainly raises an alignment check. Both need the
 * registers. */
bool fault_is_protection(const struct fault_context *c);
bool fault_is_misaligned(const struct fault_context *c);

/* Whether the div or idiv certainly succeeds with its registers. */
bool fault_division_fits(const struct fault_context *c);

/* Explains SIGSEGV, and SIGBUS beyond the end of a mapped file. */
void fault_explain_access(struct fault_context *c);

/* Names what operand m of the instruction refers to, where debug information proves that the
 * operand's base register has the value of a variable. False: it does not. */
bool fault_name_access(struct fault_context *c, const struct disasm_memory *m,
		       struct fault_name *name);

/* Explains a SIGABRT that the program raised, and sets `where` to the program's place that it came
 * from. raised: the text if no reason is known. */
void fault_explain_abort(struct fault_context *c, const char *raised);

/* Says which exception may not leave which function, where the unwinder has ended the program for
 * it. unwinder: the place of the stack that did so; is_landing: clang's;
 * place: the text that will follow. False, with nothing said: it is not known. */
bool fault_say_noexcept(struct fault_context *c, uint64_t unwinder, bool is_landing,
			uint64_t place);

/* Explains the moment at a function's entry, a first sign of failure, and sets `where` to the
 * program's place that it came from. */
void fault_explain_sign(struct fault_context *c);

/* Explains the moment of a process's first message, and sets `where` to the program's place that it
 * came from. */
void fault_explain_message(struct fault_context *c);

/* Adds to the explanation of an exit with failure where the first message was written, and how long
 * before, if that was kept. */
void fault_say_message_before(struct fault_context *c);

/* Says which child ended last before the failed exit of a process, if with failure, too. */
void fault_say_failed_child(struct fault_context *c);

/* Says which processes failed after the failure of this one, which they may have passed on. */
void fault_say_passed_on(struct fault_context *c);

/* fault_explain() without what is said of children. All of c but f, signal and regs is filled. */
void fault_explain_plainly(struct fault_context *c);

/* Adds to the explanation of a moment that was asked for from outside why threads can never go on,
 * if that is known. */
void fault_explain_hang(struct fault_context *c);

/* Sets `where` to the place of the user's own code from which the thread that can never go on, else
 * the moment's own, is in a system call; leaves it where there is none. */
void fault_take_waiting_place(struct fault_context *c);

/* The innermost place of the user's own code on the stack of a moment's task; else one that the
 * branches tell, by what is known of runtimes. False: none is known. */
struct own_place;
bool fault_own_place(struct fault_context *c, const struct model_snapshot *snap,
		     struct own_place *place);

/* Sets `where` to the program's own place behind the function that the thread is in, and says it.
 * False, with nothing changed, when there is none. */
bool fault_blame_own_place(struct fault_context *c);

/* If `where` lies in the runtime, finds the program's place that called it. */
void fault_find_caller(struct fault_context *c);

/* The access of the operand in words: "write to"; and as a noun: "write". */
const char *fault_access_verb(const struct disasm_memory *m);
const char *fault_access_noun(const struct disasm_memory *m);

/* Explains the failed access of operand m to addr if it lies below an exhausted stack. Returns
 * whether it does. */
bool fault_explain_overflow(struct fault_context *c, uint64_t addr, const struct disasm_memory *m);

#endif
