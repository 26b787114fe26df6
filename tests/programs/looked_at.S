/* SPDX-License-Identifier: MIT */
/* Rounds of system calls and of branches, each with a signal behind it: between two looks at a task's branches lies much that the kernel
 * tells of. */
#ifndef BLOCK
#define CALLS 100
#define BRANCHES 3000
#define BLOCK 0 /* instructions before each of them */
#define ROUNDS 3
#endif
	.set SIGUSR1, 10

	.section .note.GNU-stack,"",@progbits
	.text
	.globl _start
_start:
	movl $13, %eax		/* rt_sigaction */
	movl $SIGUSR1, %edi
	movl $action, %esi
	xorl %edx, %edx
	movl $8, %r10d
	syscall
	movl $ROUNDS, %r12d
round:
	movl $CALLS, %ebx
call:
	movl $110, %eax		/* getppid */
	syscall
	decl %ebx
	jnz call
	call send
	movl $BRANCHES, %ebx
branch:
	.rept BLOCK
	nop
	.endr
	decl %ebx
	jnz branch
	call send
	decl %r12d
	jnz round
	xorl %edi, %edi
	movl $231, %eax		/* exit_group */
	syscall
	ud2

/* A signal to this process. */
send:
	movl $39, %eax		/* getpid */
	syscall
	movl %eax, %edi
	movl $SIGUSR1, %esi
	movl $62, %eax		/* kill */
	syscall
	ret

handler:
	ret
restorer:
	movl $15, %eax		/* rt_sigreturn */
	syscall

	.section .rodata
	.balign 8
	/* struct kernel_sigaction: handler, flags (SA_SIGINFO, SA_RESTORER), restorer, mask */
action:
	.quad handler, 0x04000004, restorer, 0
