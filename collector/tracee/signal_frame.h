/* SPDX-License-Identifier: MIT */
/* The frame that the kernel makes on the stack for a handler (struct rt_sigframe, sigframe_ia32,
 * rt_sigframe_ia32 in arch/x86/include/asm/sigframe.h), read from a task at the handler's first
 * instruction, where regs are its registers: all frames then begin at rsp. Handlers that 32-bit
 * code has set have frames of their own, and run as such code. Used by the stepper, native code,
 * supervisor and session. No state. The frame is the program's memory: any bytes may be read there.
 */
#ifndef BT_SIGNAL_FRAME_H
#define BT_SIGNAL_FRAME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/regs.h"

/* The address that the handler will return to; 0 when it cannot be read. */
uint64_t signal_frame_rip(pid_t tid, const struct bt_regs *regs);

/* The signal. */
uint32_t signal_frame_signo(const struct bt_regs *regs);

/* The alternative stack that the task had (ss_sp, ss_size). False where the frame does not say, or
 * it had none. */
bool signal_frame_stack(pid_t tid, const struct bt_regs *regs, uint64_t *start, uint64_t *size);

/* The stack pointer of what was interrupted; 0 when it cannot be read, and for 32-bit code. */
uint64_t signal_frame_sp(pid_t tid, const struct bt_regs *regs);

/* Takes the trap flag out of the flags in the frame. Nothing to do for 32-bit code, before whose
 * frames the kernel itself does. */
void signal_frame_clear_trap(pid_t tid, const struct bt_regs *regs);

#endif
