/* SPDX-License-Identifier: MIT */
/* A loop with much code and one branch: few bytes of Intel PT tell of many instructions. */
#ifndef ROUNDS
#define ROUNDS 3000
#define BLOCK 2000
#endif

	.section .note.GNU-stack,"",@progbits
	.text
	.globl _start
_start:
	movl $ROUNDS, %ebx
round:
	.rept BLOCK
	nop
	.endr
	decl %ebx
	jnz round
	xorl %edi, %edi
	movl $231, %eax		/* exit_group */
	syscall
	ud2
