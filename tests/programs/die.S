/* SPDX-License-Identifier: MIT */
/* Sends itself the signal whose number is its number of arguments; exits with 0 when that does not end it. */
	.globl _start
_start:
	movl $39, %eax		/* getpid */
	syscall
	movl %eax, %edi
	movl (%rsp), %esi
	decl %esi
	movl $62, %eax		/* kill */
	syscall
	xorl %edi, %edi
	movl $231, %eax		/* exit_group */
	syscall
	.section .note.GNU-stack,"",@progbits
