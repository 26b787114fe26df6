/* SPDX-License-Identifier: MIT */
/* Unwinding a recorded thread with libdwfl: registers from the snapshot, memory from the snapshot,
 * else from code.
 *
 * The image of the thread's space and epoch is attached to libdwfl with callbacks that read the
 * trace (thread_callbacks). If the thread is where no code is, it was called there: unwinding
 * begins at the return address on top of its stack.
 *
 * libdwfl is not believed everywhere. Without unwind information it follows rbp, which may hold
 * anything: such frames are marked as guesses, must lie further up the stack (may_be_next()), and
 * end where no call instruction comes before a return address (plausible_frames()). Memory that is
 * not in the trace ends the stack; the last frame then says that it was cut. */
#include <elfutils/libdwfl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/symbols/symbols_private.h"
#include "lib/array_size.h"
#include "lib/insn.h"

enum {
	TASK_ID = 1, /* libdwfl wants a process and a thread id; there is one thread at a time */
	DWARF_RBP = 6,
	DWARF_RSP = 7,
	CALL_MAX = 7, /* bytes of the longest call instruction in common use */
	SIG_TRAP = 5,
	SI_KERNEL_CODE = 0x80,
	INT3 = 0xcc,
	HANDLERS_MAX = 32, /* in one another */
};

struct unwind_context {
	struct symbols *symbols;
	const struct model_snapshot *snap;
	uint32_t space, epoch;
	struct bt_regs regs; /* of the frame to begin with */
	struct stack_frame *frames;
	struct frame_registers *registers; /* of each of them, or NULL */
	size_t count, max;
	struct {
		bool is_there, has_info; /* info: of how to unwind it */
		uint64_t rbp;
	} newest;         /* of the frames that libdwfl gave */
	uint64_t missing; /* its address, if cut */
	bool cut;         /* the trace lacks the memory that tells the newest frame's caller */
};

static bool read_word(struct unwind_context *u, uint64_t addr, uint64_t *value)
{
	uint8_t bytes[8];
	size_t got = model_memory(symbols_model(u->symbols), u->snap, addr, bytes, sizeof bytes);

	if (got < sizeof bytes)
		got = symbols_code(u->symbols, u->space, u->epoch, addr, bytes, sizeof bytes);
	if (got < sizeof bytes)
		return false;
	memcpy(value, bytes, sizeof bytes);
	return true;
}

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	bool first = !*thread_arg;

	(void)dwfl;
	*thread_arg = arg;
	return first ? TASK_ID : 0;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
	(void)dwfl;
	*thread_arg = arg;
	return tid == TASK_ID;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	struct image *im = arg;
	uint64_t value;

	(void)dwfl;
	if (!im->unwinding)
		return false;
	if (!read_word(im->unwinding, addr, &value)) {
		im->unwinding->cut = true;
		im->unwinding->missing = addr;
		return false;
	}
	*result = value;
	return true;
}

static bool set_initial_registers(Dwfl_Thread *thread, void *arg)
{
	struct image *im = arg;
	Dwarf_Word words[17] = {0};

	for (unsigned i = 0; i < BT_REG_COUNT; i++)
		if (bt_reg_info[i].dwarf >= 0)
			words[bt_reg_info[i].dwarf] = bt_regs_get(&im->unwinding->regs, i);
	return dwfl_thread_state_registers(thread, 0, 17, words);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = memory_read,
	.set_initial_registers = set_initial_registers,
};

/* Whether there is unwind information for the code at pc, where libdwfl looks for it. */
static bool has_unwind_info(Dwfl *dwfl, Dwarf_Addr pc)
{
	static Dwarf_CFI *(*const tables[])(Dwfl_Module *, Dwarf_Addr *) = {dwfl_module_eh_cfi,
									    dwfl_module_dwarf_cfi};
	Dwfl_Module *mod = dwfl_addrmodule(dwfl, pc);

	for (size_t i = 0; mod && i < ARRAY_SIZE(tables); i++) {
		Dwarf_Addr bias;
		Dwarf_CFI *cfi = tables[i](mod, &bias);
		Dwarf_Frame *frame;

		if (cfi && !dwarf_cfi_addrframe(cfi, pc - bias, &frame)) {
			free(frame);
			return true;
		}
	}
	return false;
}

/* Without unwind information libdwfl takes what rbp points to for a frame. rbp may hold anything:
 * where it leads to a frame, that one's lies further up the stack. */
static bool may_be_next(const struct unwind_context *u, Dwfl_Frame *state)
{
	Dwarf_Word rbp;

	return !u->newest.is_there || u->newest.has_info ||
	       (!dwfl_frame_reg(state, DWARF_RBP, &rbp) && rbp > u->newest.rbp);
}

static void note_newest(struct unwind_context *u, Dwfl_Frame *state, const struct stack_frame *f)
{
	Dwarf_Word rbp;

	u->newest.is_there = true;
	u->newest.has_info =
		has_unwind_info(dwfl_thread_dwfl(dwfl_frame_thread(state)), f->pc - f->is_return);
	u->newest.rbp = dwfl_frame_reg(state, DWARF_RBP, &rbp) ? UINT64_MAX : rbp;
}

static void note_registers(const struct unwind_context *u, Dwfl_Frame *state)
{
	struct frame_registers *r = u->registers ? &u->registers[u->count] : NULL;
	Dwarf_Word value;

	if (!r)
		return;
	*r = (struct frame_registers){.known = 0};
	for (unsigned i = 0; i < FRAME_REGISTERS; i++)
		if (!dwfl_frame_reg(state, i, &value)) {
			r->value[i] = value;
			r->known |= 1u << i;
		}
}

static int add_frame(Dwfl_Frame *state, void *arg)
{
	struct unwind_context *u = arg;
	Dwarf_Addr pc;
	struct stack_frame *f = &u->frames[u->count];
	Dwarf_Word sp;
	bool activation;

	u->cut = false; /* asking for a frame's pc reads its caller's */
	if (u->count == u->max || strange_time_is_over(symbols_strange_time(u->symbols)) ||
	    !dwfl_frame_pc(state, &pc, &activation))
		return DWARF_CB_ABORT;
	if (pc && !may_be_next(u, state))
		return DWARF_CB_ABORT;
	/* A frame's CFA is the stack pointer of its caller. */
	if (u->count && !u->frames[u->count - 1].cfa && !dwfl_frame_reg(state, DWARF_RSP, &sp))
		u->frames[u->count - 1].cfa = sp;
	if (!pc)
		return DWARF_CB_OK;
	*f = (struct stack_frame){.pc = pc, .is_return = !activation};
	f->is_guess = u->newest.is_there && (!u->newest.has_info || f[-1].is_guess);
	note_registers(u, state);
	u->count++;
	note_newest(u, state, f);
	return DWARF_CB_OK;
}

static bool attach_image(struct image *im)
{
	if (!im->attached)
		im->attached = dwfl_attach_state(im->dwfl, NULL, TASK_ID, &thread_callbacks, im);
	return im->attached;
}

/* Unwinds from u->regs on. Returns true when the outermost frame was reached. */
static bool unwind_from(struct unwind_context *u)
{
	struct image *im = symbols_image(u->symbols, u->space, u->epoch);
	int rc;

	if (!im || !attach_image(im))
		return false;
	im->unwinding = u;
	rc = dwfl_getthread_frames(im->dwfl, TASK_ID, add_frame, u);
	im->unwinding = NULL;
	/* libdwfl calls a stack whose return address it cannot read the end of it. */
	return !rc && !u->cut;
}

static bool is_code_address(const struct unwind_context *u, uint64_t addr)
{
	const struct space_map *map =
		trace_index_map_at(symbols_model(u->symbols)->index, u->space, u->epoch, addr);

	return map && map->prot & 4;
}

/* Whether a call instruction ends right before addr. */
static bool follows_call(const struct unwind_context *u, uint64_t addr)
{
	uint8_t bytes[CALL_MAX];
	struct bt_insn insn;

	if (!is_code_address(u, addr - 1))
		return false;
	for (unsigned n = 2; n <= CALL_MAX; n++)
		if (symbols_code(u->symbols, u->space, u->epoch, addr - n, bytes, n) == n &&
		    !bt_insn_decode(bytes, n, &insn) && insn.len == n &&
		    (insn.class == BT_INSN_CALL || insn.class == BT_INSN_ICALL))
			return true;
	return false;
}

/* `mov $15, %eax; syscall`: the kernel pushed its address as the handler's return address, no call
 * did. */
static bool is_sigreturn(const struct unwind_context *u, uint64_t addr)
{
	static const uint8_t wide[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 5},
			     narrow[] = {0xb8, 15, 0, 0, 0, 0x0f, 5};
	uint8_t bytes[sizeof wide];
	size_t n = symbols_code(u->symbols, u->space, u->epoch, addr, bytes, sizeof bytes);

	return (n == sizeof wide && !memcmp(bytes, wide, sizeof wide)) ||
	       (n >= sizeof narrow && !memcmp(bytes, narrow, sizeof narrow));
}

/* libdwfl tells a trampoline from a caller only where its CFI does, and from what was interrupted
 * never. */
static void mark_trampolines(const struct unwind_context *u)
{
	for (size_t i = 1; i < u->count; i++)
		if (is_sigreturn(u, u->frames[i].pc)) {
			u->frames[i].is_trampoline = true;
			u->frames[i].is_return = false;
		}
}

/* Whether unwind information tells that a signal interrupted what is above the frame at pc. */
static bool is_signal_frame(Dwfl *dwfl, Dwarf_Addr pc)
{
	static Dwarf_CFI *(*const tables[])(Dwfl_Module *, Dwarf_Addr *) = {dwfl_module_eh_cfi,
									    dwfl_module_dwarf_cfi};
	Dwfl_Module *mod = dwfl_addrmodule(dwfl, pc);
	bool found = false;

	for (size_t i = 0; mod && i < ARRAY_SIZE(tables) && !found; i++) {
		Dwarf_Addr bias, start, end;
		Dwarf_CFI *cfi = tables[i](mod, &bias);
		Dwarf_Frame *frame;

		if (!cfi || dwarf_cfi_addrframe(cfi, pc - bias, &frame))
			continue;
		if (dwarf_frame_info(frame, &start, &end, &found) < 0)
			found = false;
		free(frame);
	}
	return found;
}

/* The trampoline from `from` on of which unwind information does not tell what was interrupted, as
 * Go's and musl's. u->count: there is none. */
static size_t find_plain_trampoline(const struct unwind_context *u, size_t from)
{
	struct image *im = symbols_image(u->symbols, u->space, u->epoch);

	for (size_t i = from > 0 ? from : 1;
	     im && i < u->count && !strange_time_is_over(symbols_strange_time(u->symbols)); i++)
		if (u->frames[i].is_trampoline && u->frames[i - 1].cfa &&
		    !is_signal_frame(im->dwfl, u->frames[i].pc))
			return i;
	return u->count;
}

/* Takes the registers that the kernel has saved for a handler: of its ucontext, which lies above
 * the trampoline's address (the kernel's struct rt_sigframe and asm/sigcontext.h). */
static bool take_interrupted(struct unwind_context *u, uint64_t ucontext)
{
	static const size_t offsets[] = {
		offsetof(struct bt_regs, r8),  offsetof(struct bt_regs, r9),
		offsetof(struct bt_regs, r10), offsetof(struct bt_regs, r11),
		offsetof(struct bt_regs, r12), offsetof(struct bt_regs, r13),
		offsetof(struct bt_regs, r14), offsetof(struct bt_regs, r15),
		offsetof(struct bt_regs, rdi), offsetof(struct bt_regs, rsi),
		offsetof(struct bt_regs, rbp), offsetof(struct bt_regs, rbx),
		offsetof(struct bt_regs, rdx), offsetof(struct bt_regs, rax),
		offsetof(struct bt_regs, rcx), offsetof(struct bt_regs, rsp),
		offsetof(struct bt_regs, rip)};
	enum { GREGS = 40 };
	struct bt_regs regs = u->regs;

	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		uint64_t value;

		if (!read_word(u, ucontext + GREGS + 8 * i, &value))
			return false;
		memcpy((char *)&regs + offsets[i], &value, sizeof value);
	}
	if (!is_code_address(u, regs.rip))
		return false;
	u->regs = regs;
	return true;
}

/* Goes on with what plain trampolines' handlers interrupted. Returns whether the outermost frame
 * was reached in the end. */
static bool unwind_interrupted(struct unwind_context *u, bool complete)
{
	size_t at = find_plain_trampoline(u, 0);

	for (unsigned n = 0; at < u->count && n < HANDLERS_MAX;
	     n++, at = find_plain_trampoline(u, at + 1)) {
		if (!take_interrupted(u, u->frames[at - 1].cfa))
			return complete;
		u->count = at + 1;
		u->frames[at].cfa = 0;
		u->newest.is_there = false;
		complete = unwind_from(u);
		mark_trampolines(u);
	}
	return complete;
}

/* Go's handler of faults lets the program go on in runtime.sigpanic as if the instruction that
 * failed had called it. */
static bool is_made_up_call(const struct unwind_context *u, size_t i)
{
	struct location loc;

	symbols_lookup(u->symbols, u->space, u->epoch, u->frames[i - 1].pc,
		       u->frames[i - 1].is_return, &loc);
	return !strcmp(loc.function, "runtime.sigpanic") && is_code_address(u, u->frames[i].pc);
}

/* Where CFI is missing libdwfl follows rbp, which may hold anything. A frame that no call can have
 * made ends the stack. */
static size_t plausible_frames(const struct unwind_context *u)
{
	for (size_t i = 1; i < u->count; i++) {
		uint64_t pc = u->frames[i].pc;
		uint8_t byte;

		if (!u->frames[i].is_return)
			continue;
		if (is_code_address(u, pc - 1) &&
		    (!symbols_code(u->symbols, u->space, u->epoch, pc - 1, &byte, 1) ||
		     follows_call(u, pc)))
			continue;
		if (!is_made_up_call(u, i))
			return i;
		u->frames[i].is_return = false;
	}
	return u->count;
}

/* The program called an address where no code is: nothing there pushed anything, so the return
 * address is on top of the stack. */
static bool return_from_wild(struct unwind_context *u)
{
	uint64_t ret;

	if (!read_word(u, u->regs.rsp, &ret) || !follows_call(u, ret))
		return false;
	u->frames[0].cfa = u->regs.rsp + 8;
	u->regs.rsp += 8;
	u->regs.rip = ret;
	return true;
}

/* Whether that memory is of the stack: where the newest known frame, which may be the first one,
 * has its own. */
static bool is_of_stack(const struct unwind_context *u, uint64_t addr)
{
	const struct space_map *map =
		trace_index_map_at(symbols_model(u->symbols)->index, u->space, u->epoch, addr);
	uint64_t sp = u->regs.rsp;

	for (size_t i = 0; i < u->count; i++)
		if (u->frames[i].cfa)
			sp = u->frames[i].cfa;
	return map && sp >= map->start && sp <= map->end;
}

uint64_t symbols_signal_from(struct symbols *s, const struct model_snapshot *snap, uint32_t epoch,
			     uint64_t rip)
{
	const struct bt_record_signal *g = snap->signal;
	uint8_t byte;

	if (!g || g->signo != SIG_TRAP ||
	    (g->code != SI_KERNEL_CODE && g->code != BT_SIGNAL_CODE_UNTOLD))
		return rip;
	return symbols_code(s, snap->rec->space, epoch, rip - 1, &byte, 1) && byte == INT3 ? rip - 1
											   : rip;
}

static size_t unwind_in_time(struct symbols *s, const struct model_snapshot *snap,
			     const struct bt_record_thread *thread, struct stack_frame *frames,
			     struct frame_registers *registers, size_t max, bool *complete)
{
	struct unwind_context u = {
		.symbols = s,
		.snap = snap,
		.space = snap->rec->space,
		.epoch = thread->epoch,
		.regs = thread->regs,
		.frames = frames,
		.registers = registers,
		.max = max,
	};
	size_t wild, count;

	*complete = false;
	if (!max)
		return 0;
	if (thread->task == snap->rec->task)
		u.regs.rip = symbols_signal_from(s, snap, u.epoch, u.regs.rip);
	if (!is_code_address(&u, u.regs.rip)) {
		frames[u.count++] = (struct stack_frame){.pc = u.regs.rip};
		if (!return_from_wild(&u))
			return 1;
	}
	wild = u.count;
	*complete = unwind_from(&u);
	if (wild && u.count > wild)
		frames[wild].is_return = true;
	if (!u.count)
		frames[u.count++] = (struct stack_frame){.pc = u.regs.rip};
	if (frames[0].pc + 1 ==
	    thread->regs.rip) { /* behind its instruction, as a return address is */
		frames[0].pc++;
		frames[0].is_return = true;
	}
	mark_trampolines(&u);
	*complete = unwind_interrupted(&u, *complete);
	count = plausible_frames(&u);
	if (count < u.count)
		*complete = false;
	else
		frames[count - 1].is_cut = u.cut && is_of_stack(&u, u.missing);
	return count;
}

static size_t unwind_thread(struct symbols *s, const struct model_snapshot *snap,
			    const struct bt_record_thread *thread, struct stack_frame *frames,
			    struct frame_registers *registers, size_t max, bool *complete)
{
	struct strange_time *time = symbols_strange_time(s);
	size_t count;

	strange_time_begin(time);
	count = unwind_in_time(s, snap, thread, frames, registers, max, complete);
	strange_time_end(time);
	return count;
}

size_t symbols_unwind(struct symbols *s, const struct model_snapshot *snap,
		      const struct bt_record_thread *thread, struct stack_frame *frames, size_t max,
		      bool *complete)
{
	const struct kept_stack *kept = max ? symbols_kept_stack(s, snap, thread) : NULL;
	struct kept_stack stack = {.snapshot = snap->rec->snapshot, .task = thread->task};

	if (!kept) {
		stack.count = unwind_thread(s, snap, thread, frames, NULL, max, complete);
		stack.complete = *complete;
		stack.frames = frames;
		symbols_note_stack(s, &stack);
		return stack.count;
	}
	*complete = kept->complete && kept->count <= max;
	if (kept->count < max)
		max = kept->count;
	memcpy(frames, kept->frames, max * sizeof *frames);
	return max;
}

size_t symbols_unwind_registers(struct symbols *s, const struct model_snapshot *snap,
				const struct bt_record_thread *thread, struct stack_frame *frames,
				struct frame_registers *registers, size_t max)
{
	bool complete;

	memset(registers, 0, max * sizeof *registers);
	return unwind_thread(s, snap, thread, frames, registers, max, &complete);
}
