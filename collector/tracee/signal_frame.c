/* SPDX-License-Identifier: MIT */
#include "collector/tracee/signal_frame.h"

#include "collector/tracee/tracee.h"

enum {
	/* From the frame's beginning. */
	STACK_64 = 8 + 16,          /* behind the return address: uc_stack of the ucontext */
	CONTEXT_64 = STACK_64 + 24, /* uc_mcontext: 16 registers, rip, flags */
	RIP_64 = CONTEXT_64 + 16 * 8,
	SP_64 = RIP_64 - 8,
	FLAGS_64 = RIP_64 + 8,
	INFO_32 = 16, /* behind the return address, the signal and two pointers: siginfo */
	UCONTEXT_32 = INFO_32 + 128,
	STACK_32 = UCONTEXT_32 + 8,
	CONTEXT_32 = STACK_32 + 12,
	OLD_CONTEXT_32 = 8, /* without SA_SIGINFO: behind the return address and the signal */
	RIP_IN_CONTEXT_32 = 4 * 4 + 10 * 4, /* behind four selectors and ten registers */
};

/* Whether a frame of 32-bit code is one with siginfo: its address is the handler's second argument,
 * in edx. */
static bool has_info(const struct bt_regs *regs)
{
	return (uint32_t)regs->rdx == (uint32_t)regs->rsp + INFO_32;
}

uint64_t signal_frame_rip(pid_t tid, const struct bt_regs *regs)
{
	bool wide = tracee_is_in_64_bit(regs);
	uint64_t at = wide ? RIP_64
			   : (has_info(regs) ? CONTEXT_32 : OLD_CONTEXT_32) + RIP_IN_CONTEXT_32,
		 rip = 0;
	size_t size = wide ? 8 : 4;

	return tracee_read(tid, regs->rsp + at, &rip, size) == size ? rip : 0;
}

uint32_t signal_frame_signo(const struct bt_regs *regs)
{
	return (uint32_t)(tracee_is_in_64_bit(regs) ? regs->rdi : regs->rax);
}

bool signal_frame_stack(pid_t tid, const struct bt_regs *regs, uint64_t *start, uint64_t *size)
{
	uint64_t wide[3]; /* ss_sp, ss_flags, ss_size */
	uint32_t narrow[3];

	if (tracee_is_in_64_bit(regs)) {
		if (tracee_read(tid, regs->rsp + STACK_64, wide, sizeof wide) != sizeof wide)
			return false;
		*start = wide[0];
		*size = wide[2];
	} else {
		if (!has_info(regs) ||
		    tracee_read(tid, regs->rsp + STACK_32, narrow, sizeof narrow) != sizeof narrow)
			return false;
		*start = narrow[0];
		*size = narrow[2];
	}
	return *size != 0;
}

uint64_t signal_frame_sp(pid_t tid, const struct bt_regs *regs)
{
	uint64_t sp = 0;

	return tracee_is_in_64_bit(regs) &&
			       tracee_read(tid, regs->rsp + SP_64, &sp, sizeof sp) == sizeof sp
		       ? sp
		       : 0;
}

void signal_frame_clear_trap(pid_t tid, const struct bt_regs *regs)
{
	uint64_t at = regs->rsp + FLAGS_64, flags;

	if (!tracee_is_in_64_bit(regs) ||
	    tracee_read(tid, at, &flags, sizeof flags) != sizeof flags || !(flags & EFLAGS_TF))
		return;
	flags &= ~(uint64_t)EFLAGS_TF;
	tracee_write(tid, at, &flags, sizeof flags);
}
