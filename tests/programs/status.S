/* SPDX-License-Identifier: MIT */
/* Exits with its number of arguments, in six instructions. */
	.globl _start
_start:
	movl (%rsp), %edi
	decl %edi
	movl $231, %eax		/* exit_group */
	syscall
	.section .note.GNU-stack,"",@progbits
