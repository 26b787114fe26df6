/* SPDX-License-Identifier: MIT */
/* Signal handlers: sent, raised by an instruction, blocked and let through, nested, and one that moves on elsewhere. */
#include "expect.inc"

	.set SIGILL, 4
	.set SIGUSR1, 10
	.set SIGSEGV, 11
	.set SIGUSR2, 12
	/* Offset of rip in a handler's third argument (struct ucontext_t of asm/ucontext.h: uc_mcontext is at 40). */
	.set UC_RIP, 40 + 16 * 8

	.macro handle signo, action
	movl $13, %eax		/* rt_sigaction */
	movl $\signo, %edi
	movl $\action, %esi
	xorl %edx, %edx
	movl $8, %r10d
.Lfrom\@:
	syscall
.Lnext\@:
	expect SYSCALL, 1, .Lfrom\@, .Lnext\@
	.endm

	/* Sends a signal to this process, and gives from and next names. */
	.macro send signo, from, next
	movl $39, %eax		/* getpid */
.Lfrom\@:
	syscall
.Lnext\@:
	expect SYSCALL, 1, .Lfrom\@, .Lnext\@
	movl %eax, %edi
	movl $\signo, %esi
	movl $62, %eax		/* kill */
\from:
	syscall
\next:
	expect SYSCALL, 1, \from, \next
	.endm

	/* how: 0 SIG_BLOCK, 1 SIG_UNBLOCK */
	.macro mask how, from, next
	movl $14, %eax		/* rt_sigprocmask */
	movl $\how, %edi
	movl $usr1_mask, %esi
	xorl %edx, %edx
	movl $8, %r10d
\from:
	syscall
\next:
	expect SYSCALL, 1, \from, \next
	.endm

	handle SIGUSR1, plain_action
	handle SIGILL, skip_action
	handle SIGSEGV, skip_action
	handle SIGUSR2, outer_action

	send SIGUSR1, sent, sent_next
	expect ASYNC, 1, sent_next, plain
	expect RET, 1, plain_ret, restorer
	expect SYSCALL, 1, restorer_call, sent_next

illegal:
	ud2
illegal_next:
	expect ASYNC, 1, illegal, skip
	expect RET, 1, skip_ret, restorer
	expect SYSCALL, 1, restorer_call, illegal_next

	xorl %eax, %eax
fault:
	.byte 0x8a, 0x00	/* mov (%rax), %al */
fault_next:
	expect ASYNC, 1, fault, skip
	expect RET, 1, skip_ret, restorer
	expect SYSCALL, 1, restorer_call, fault_next

	mask 0, block, block_next
	send SIGUSR1, held, held_next
	mask 1, unblock, unblock_next
	expect ASYNC, 1, unblock_next, plain
	expect RET, 1, plain_ret, restorer
	expect SYSCALL, 1, restorer_call, unblock_next

	/* A fault inside a handler, handled. */
	send SIGUSR2, nested, nested_next
	expect ASYNC, 1, nested_next, outer
	expect ASYNC, 1, outer_illegal, skip
	expect RET, 1, skip_ret, restorer
	expect SYSCALL, 1, restorer_call, outer_illegal_next
	expect RET, 1, outer_ret, restorer
	expect SYSCALL, 1, restorer_call, nested_next

	/* The first instruction of a handler is a branch; the one it interrupts too. */
	handle SIGUSR1, jumping_action
	send SIGUSR1, at_branch, at_branch_next
	jmp at_branch_to
	ud2
at_branch_to:
	expect ASYNC, 1, at_branch_next, jumping
	expect JMP, 1, jumping, jumping_to
	expect RET, 1, jumping_to, restorer
	expect SYSCALL, 1, restorer_call, at_branch_next
	expect JMP, 1, at_branch_next, at_branch_to

	leave_program

plain:
	nop
plain_ret:
	ret
skip:
	addq $2, UC_RIP(%rdx)
skip_ret:
	ret
outer:
	nop
outer_illegal:
	ud2
outer_illegal_next:
	nop
outer_ret:
	ret
jumping:
	jmp jumping_to
	ud2
jumping_to:
	ret
restorer:
	movl $15, %eax		/* rt_sigreturn */
restorer_call:
	syscall

	.section .rodata
	.balign 8
	/* struct kernel_sigaction: handler, flags (SA_SIGINFO, SA_RESTORER), restorer, mask */
plain_action:
	.quad plain, 0x04000004, restorer, 0
skip_action:
	.quad skip, 0x04000004, restorer, 0
outer_action:
	.quad outer, 0x04000004, restorer, 0
jumping_action:
	.quad jumping, 0x04000004, restorer, 0
usr1_mask:
	.quad 1 << (SIGUSR1 - 1)
