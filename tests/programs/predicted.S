/* SPDX-License-Identifier: MIT */
/* An indirect branch that leads to one place again and again, with a stop between, then once to another (MISS), and then nowhere: to
 * an address that has no code (BAD), or it cannot be made: no stack, or no operand (OPERAND). Built once per case. It is guessed after
 * so many ROUNDS. */
	.set UNMAPPED, 0x10000000
#ifndef BAD
#define BAD UNMAPPED
#endif
#ifndef ROUNDS
#define ROUNDS 40
#endif
	.text
	.globl _start
_start:
	movl $ROUNDS, %ebx
	movq $slot, %r11
	movq $good, %rdx
	jmp site
good:
#ifdef ICALL
	popq %rsi
#endif
	movl $131, %eax /* sigaltstack: a call that is made at a stop */
	xorl %edi, %edi
	xorl %esi, %esi
	syscall
	movq $slot, %r11
	movq $good, %rdx
	decl %ebx
	jnz site
	movq $other, %rdx
	jmp site
other:
#ifdef ICALL
	popq %rsi
#endif
	movabsq $BAD, %rdx
#ifdef OPERAND
	movl $UNMAPPED, %r11d
	movl $UNMAPPED, %esp
	stc
	jmp from
#endif
site:
#ifdef RET_POPS
	pushq %rbx
#endif
#if defined(RET) || defined(RET_POPS)
	pushq %rdx
#endif
	movq %rdx, (%r11)
	stc
from:
#ifdef RET
	ret
#elif defined(RET_POPS)
	ret $8
#elif defined(IJMP)
	jmp *%rdx
#elif defined(IJMP_MEMORY)
	jmp *(%r11)
#elif defined(IJMP_NEAR)
	jmp *slot(%rip)
#else
	call *(%r11)
#endif

	.data
	.balign 8
slot:
	.quad 0

	.section .note.GNU-stack, "", @progbits
