/* SPDX-License-Identifier: MIT */
/* Exits with 1 when the flags of its first instruction show the trap flag, else with 0. */
	.globl _start
_start:
	pushfq
	popq %rdi
	shrl $8, %edi
	andl $1, %edi
	movl $231, %eax
	syscall
	.section .note.GNU-stack,"",@progbits
