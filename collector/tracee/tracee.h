/* SPDX-License-Identifier: MIT */
/* One traced thread as ptrace(2) and /proc see it: registers, memory, signals, resuming. By thread
 * id; no state, and no policy. Used by all that touches the program. Every call needs the thread to
 * be in a ptrace stop unless it says otherwise, and gives -BT_E_GONE when the thread has been
 * killed meanwhile: a normal event, whose wait status follows; -BT_E_UNSUPPORTED when the kernel
 * refuses what is asked for: the thread stands where it was. Only the thread that attached may call
 * (ptrace(2)). */
#ifndef BT_TRACEE_H
#define BT_TRACEE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "lib/error.h"
#include "lib/regs.h"
#include "syscalls/syscall_numbers.h"

int tracee_get_regs(pid_t tid, struct bt_regs *regs);
int tracee_set_regs(pid_t tid, const struct bt_regs *regs);
/* Whether this can be set as a base of fs or gs. */
bool tracee_can_set_base(uint64_t base);
/* Sets rip alone. */
int tracee_set_rip(pid_t tid, uint64_t rip);

enum {
	TRACEE_EXTENDED = 12 << 10
}; /* bytes of extended state that are enough: with AMX there are
   11,008 */
/* The registers beside the general ones, as XSAVE stores them (NT_X86_XSTATE of ptrace(2),
 * PTRACE_GETREGSET). Returns how many bytes, 0 when the thread is gone or the processor has no
 * XSAVE. */
size_t tracee_get_extended(pid_t tid, uint8_t out[TRACEE_EXTENDED]);
int tracee_set_extended(pid_t tid, const void *bytes, size_t n);

/* Makes the address of the x87 instruction that was executed last (FIP, Intel SDM volume 1, 8.1.8)
 * 0 in its registers: of translated code it would be an address in the cache. AMD's processors save
 * it only while an exception is pending (restore_fpregs_from_fpstate() in Linux'
 * arch/x86/kernel/fpu/core.c), so after a switch to another task it is mostly 0 there. others: that
 * instruction's opcode and the address of its operand, too. The selectors are not in the form that
 * the kernel keeps (FXSAVE with REX.W). */
int tracee_clear_x87_address(pid_t tid, bool others);

/* Whether the thread's memory may be read at all (ptrace(2), PTRACE_MODE_ATTACH: it is not another
 * user's, and dumpable, or we have CAP_SYS_PTRACE). If not, errno says why. */
bool tracee_may_look(pid_t tid);

/* Reads up to n bytes at addr, also from mappings that the program itself may not read. Returns how
 * many came before the first byte that is not mapped. Works on running tasks too. */
size_t tracee_read(pid_t tid, uint64_t addr, void *out, size_t n);

enum { TRACEE_PAGES = 32 };
/* Reads the n pages (at most TRACEE_PAGES) that begin at these addresses to out, one behind the
 * other. Returns how many, up to the first that cannot be read. */
size_t tracee_read_pages(pid_t tid, const uint64_t *addrs, size_t n, uint8_t *out);

/* Writes n bytes at addr, also into read-only mappings (copy on write). True when all were written.
 */
bool tracee_write(pid_t tid, uint64_t addr, const void *bytes, size_t n);

int tracee_get_siginfo(pid_t tid, siginfo_t *info);
int tracee_set_siginfo(pid_t tid, const siginfo_t *info);

/* Whether the signal was raised by an instruction, and not sent (rr's rule, too: si_code of these
 * is positive only then). System calls that a filter turns into SIGSYS are left out. */
bool tracee_is_fault(const siginfo_t *info);

/* si_code of the stop after a handler's frame was made (ptrace_notify in the kernel). */
enum { TRAP_NOTIFY = SIGTRAP };

/* The same, with the SIGSYS of filters: signals that the kernel delivers before all others
 * (SYNCHRONOUS_MASK in kernel/signal.c). */
bool tracee_is_synchronous(const siginfo_t *info);

/* Whether it looks as one in the place of a system call that the program dispatches to itself
 * (prctl(2), PR_SET_SYSCALL_USER_DISPATCH, Linux 5.11): a program can send itself the same. */
bool tracee_may_be_dispatched(const siginfo_t *info);

/* Whether a SIGTRAP may be the end of a single step. QUIRK(step-dr6-lost): if the hypervisor has
 * lost the trap's cause, the kernel says TRAP_BRKPT. */
static inline bool tracee_may_have_stepped(const siginfo_t *info)
{
	return info->si_code == TRAP_TRACE || info->si_code == TRAP_BRKPT;
}

/* Signal masks in the kernel's own 64-bit form: bit (signo - 1). */
int tracee_get_mask(pid_t tid, uint64_t *mask);
int tracee_set_mask(pid_t tid, uint64_t mask);

/* Resumes with request PTRACE_CONT, PTRACE_SYSCALL, PTRACE_SINGLESTEP or PTRACE_LISTEN and a signal
 * or 0. */
int tracee_resume(pid_t tid, int request, int signo);

/* Resumes tid with this request and waits until it has a status, which stays to be waited for.
 * Returns the signal of the stop (0x80 added at a system call); -1 when the thread is killed or
 * dead, or the request is refused. */
int tracee_run_to_stop(pid_t tid, int request);

/* The same by PTRACE_SINGLESTEP, but a stop by PTRACE_INTERRUPT in which nothing has been executed
 * is taken, and nobody hears of it. False: it is killed or dead. */
bool tracee_step_to_stop(pid_t tid);

int tracee_event_message(pid_t tid, unsigned long *message);

/* Sets or (addr 0) clears hardware breakpoint 0 for execution at addr. */
int tracee_set_breakpoint(pid_t tid, uint64_t addr);

enum tracee_syscall_stop {
	TRACEE_SYSCALL_NONE,
	TRACEE_SYSCALL_ENTRY,
	TRACEE_SYSCALL_EXIT,
};

struct tracee_syscall {
	uint64_t nr, args[6];
	bool compat; /* of the 32-bit table (int 0x80, sysenter) */
};

/* Whether the call is the one with number nr in the table for 64-bit code (syscall_numbers.h). */
static inline bool syscall_is(const struct tracee_syscall *call, long nr)
{
	return syscall_number_is(call->nr, call->compat, nr);
}

/* Which of a system call's two stops this is (PTRACE_GET_SYSCALL_INFO, Linux 5.3). call (may be
 * NULL) is filled at an entry. */
enum tracee_syscall_stop tracee_syscall_stop(pid_t tid, struct tracee_syscall *call);

struct tracee_signals {
	uint64_t pending, shared_pending, blocked, ignored, caught; /* bit (signo - 1) */
};

/* QUIRK(blocked-first): the task has stopped with this status, which has not been served. It may be
 * for a signal that the task blocks, and that overtook a trap or fault. Then this queues the signal
 * again, behind that, resumes the task and returns true: its next stop, without an instruction in
 * between, is for the trap or fault. */
bool tracee_put_back(pid_t tid, int status);

/* Whether a signal is queued for the stopped thread alone (PTRACE_PEEKSIGINFO: Linux 3.10). True if
 * the kernel cannot say. */
bool tracee_has_own_signal(pid_t tid);

/* The signals that are queued for the stopped thread and for its process (PTRACE_PEEKSIGINFO), at
 * most max. Returns how many. One that found no room in the queue (sigqueue(3)) is not among them.
 */
size_t tracee_queued_signals(pid_t tid, siginfo_t *out, size_t max);

/* The Sig* lines of /proc/TID/status. Works on running tasks too. */
int tracee_signals(pid_t tid, struct tracee_signals *out);

/* The same with the result of tracee_is_filtered(), at the cost of one. */
int tracee_signals_filtered(pid_t tid, struct tracee_signals *out, bool *filtered);

/* Whether the thread is in a ptrace stop and has no status to be waited for: it will have none
 * before it is resumed. */
bool tracee_is_left_stopped(pid_t tid);

/* The thread's state (proc_pid_stat(5)); 0: there is no such thread. Costs a fifth of a read of
 * /proc/TID/status. */
char tracee_state(pid_t tid);
/* The thread's persona (personality(2)); 0 if it is unknown. */
unsigned long tracee_personality(pid_t tid);
/* Whether the thread runs, or waits for a processor, in user code or the kernel (state R). */
bool tracee_is_awake(pid_t tid);

/* Whether these are registers of 64-bit code: cs is the kernel's selector for that (__USER_CS; an
 * LDT has none, see fill_ldt in Linux' arch/x86/include/asm/desc.h), which is ours, too. Else the
 * code is 32-bit. */
bool tracee_is_in_64_bit(const struct bt_regs *regs);

/* Whether rip is in the vsyscall page. The kernel emulates its calls, with the return (Linux 3.1).
 */
bool tracee_is_in_vsyscall(const struct bt_regs *regs);

/* The register of argument i of a system call of 64-bit code. */
uint64_t *tracee_arg(struct bt_regs *regs, unsigned i);

/* Whether the registers stand behind a system call that the kernel will restart unless a handler is
 * entered. Programs never see the result in them. */
bool tracee_wants_restart(const struct bt_regs *regs);

/* Whether rax is what a call has that a signal or a stop has interrupted, and that is to be made
 * again (ERESTARTSYS). */
bool tracee_was_interrupted(const struct bt_regs *regs);

/* The number of the call that the kernel makes where one with these registers gave `result` and no
 * handler is entered: the same, or restart_syscall (arch_do_signal_or_restart(),
 * arch/x86/kernel/signal.c). */
uint64_t tracee_restarted_call(const struct bt_regs *regs, uint64_t result);

/* The registers stand behind a system call that gave EINTR. Changes them so that the kernel
 * restarts it unless a handler is entered. */
void tracee_restart(struct bt_regs *regs);

/* A copy of the process's descriptor, with the same open file description (pidfd_getfd(2),
 * Linux 5.6), for the caller to close. pid: of its first thread. -1: it cannot be had. */
int tracee_copy_descriptor(pid_t pid, int there);

/* Reads an option of level SOL_SOCKET (getsockopt(2)) of the process's descriptor `there`. False,
 * with *value as it was, if that is no socket or cannot be had (pidfd_getfd(2), Linux 5.6). */
bool tracee_socket_option(pid_t pid, int there, int option, void *value, size_t size);

/* Executes one system call in the task, which is stopped outside of any system call, in user mode.
 * Its registers are put back. For that time a syscall instruction replaces the code at rip. Only
 * stops for SIGSTOP and SIGCONT may come meanwhile: use it only when no other signal can (right
 * after exec, or blocked). Returns the call's result. */
long tracee_syscall(pid_t tid, long nr, const uint64_t args[6]);

/* Several such calls cost less between these two, as the task stands behind a syscall instruction.
 * It is the task's own if it has just made a call; or the one that is known to be at `elsewhere`;
 * or (elsewhere 0) it is written, once: then the program has a private copy of a file's page. */
struct tracee_lent {
	bool lent, written;
	struct bt_regs regs;
	uint8_t code[2];
};
void tracee_lend_syscall(pid_t tid, uint64_t elsewhere, struct tracee_lent *l);
/* Puts code and registers back. Returns 0 or -BT_E_GONE. */
int tracee_take_back_syscall(pid_t tid, const struct tracee_lent *l);

/* Executes one system call in the task and puts its registers back. The task is at the exit of
 * another call by the syscall instruction (regs: its registers there), with its signals blocked.
 * Returns the call's result. */
long tracee_syscall_again(pid_t tid, const struct bt_regs *regs, long nr, const uint64_t args[6]);

/* Whether the task has system call filters that we do not have (seccomp(2)), or that is unknown
 * (before Linux 5.9). Such a filter may kill it for a call that we inject. */
bool tracee_is_filtered(pid_t tid);

/* The number of filters that the task has and we do not; negative if unknown. */
int tracee_filters(pid_t tid);

enum tracee_inject {
	TRACEE_INJECT_MADE,
	TRACEE_INJECT_NOT_MADE,     /* another stop came first; it is still to be waited for */
	TRACEE_INJECT_MADE_STOPPED, /* made; another stop came right behind it and is still to be
				       waited for */
};

/* Executes one system call in the task, with the instructions syscall; int3 at `at`. The task is
 * stopped at a signal or a step, SIGTRAP must not be blocked, and the kernel must not restart such
 * a call. Afterwards the task is at a stop for a signal, with the registers regs, as before.
 * Returns an enum tracee_inject (*result is set if the call was made), or -BT_E_GONE. */
int tracee_inject(pid_t tid, const struct bt_regs *regs, uint64_t at, long nr,
		  const uint64_t args[6], long *result);

/* Makes another system call in the task, which is at the entry of one (regs: its registers there),
 * and brings it back to that entry. Returns TRACEE_INJECT_MADE; TRACEE_INJECT_NOT_MADE if there is
 * no way back to the entry (sysenter); or -BT_E_GONE. */
int tracee_inject_at_entry(pid_t tid, const struct bt_regs *regs, long nr, const uint64_t args[6],
			   long *result);

/* Has the kernel raise SIGTRAP in the task, which is at a stop for a signal or a step, by an int3
 * that is in the place of the code at `at` for that time. If the task blocks or ignores the signal
 * the kernel unblocks it and takes away its disposition (force_sig_info_to_task, Linux 6.18), as it
 * does for a trap of the program's own. Afterwards the task is at the stop for that signal, with
 * the registers regs. Where the code cannot be written nothing is done. Returns 0 or -BT_E_GONE. */
int tracee_raise_trap(pid_t tid, const struct bt_regs *regs, uint64_t at);

/* Opens the file `name` of /proc/TID for reading. NULL, with errno, when that cannot be done. Works
 * on running tasks too. */
FILE *tracee_open_file(pid_t tid, const char *name);

enum { TRACEE_LINE = 512 };
/* Reads the text behind the key in the first line of that file that begins with key; "" and false
 * when there is none. Works on running tasks too. */
bool tracee_file_line(pid_t tid, const char *name, const char *key, char rest[TRACEE_LINE]);

/* Where the heap begins, which is its end before the program's first brk(2); 0: it is not known. */
uint64_t tracee_heap_start(pid_t tid);

/* Where a descriptor stands, and how it was opened (proc(5), /proc/PID/fdinfo): O_* of open(2).
 * False when there is none. */
bool tracee_descriptor(pid_t tid, int fd, uint64_t *position, unsigned long *flags);

/* The process that a thread belongs to, 0 when it is gone. Works on running tasks too. */
pid_t tracee_thread_group(pid_t tid);

/* Whether a process is the first one of a PID namespace below ours. */
bool tracee_is_init(pid_t pid);

enum { TRACEE_NAME = 16 };
/* The name of the process `sender`, which sent the task a signal. "" if it is gone, or the task's
 * pids are those of another PID namespace. */
void tracee_sender_name(pid_t tid, pid_t sender, char name[TRACEE_NAME]);

/* Makes an rt_sigaction(signo, action) in the task, which is at the entry of another system call
 * (regs: its registers there), and brings it back to that entry. action: handler, flags, restorer,
 * mask. Returns 0 or -BT_E_GONE. */
int tracee_sigaction_at_entry(pid_t tid, const struct bt_regs *regs, int signo,
			      const uint64_t action[4]);

#endif
