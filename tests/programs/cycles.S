/* SPDX-License-Identifier: MIT */
/* Cycles without a conditional branch: of returns, of indirect jumps, of both, of a recursion that unwinds, and at last one of a direct
 * jump that is longer than a fragment, which a fault ends. Each has led there so often before that it might be predicted to go on so for ever.
 * Status 0: all was as it should be. */
	.set ROUNDS, 4
	.set LAPS, 100
	.set MEMORY, 0x10000000

	.macro fill target:vararg /* LAPS addresses of each below rsp */
	movl $LAPS, %ecx
1:	.irp t, \target
	pushq $\t
	.endr
	decl %ecx
	jnz 1b
	.endm

	.text
	.globl _start
_start:
	movl $ROUNDS, %r12d
round:
	xorl %eax, %eax
	pushq $2f
	fill slide
	ret
2:	pushq $2f
	fill left, right
	ret
2:	cmpl $LAPS, %eax
	jne bad

	pushq $2f
	fill jumps_left, jumps_right
	popq %rdx
	jmp *%rdx
2:	pushq $2f
	fill jumps_left, left, right
	ret
2:	movl $LAPS, %ecx
	call recursion
	cmpl $(3 * LAPS - 1), %eax
	jne bad

	/* The same places as branches that lead on. */
	call left
	call right
	movq $slide, %rdx
	call *%rdx
	pushq $2f
	popq %rdx
	jmp *%rdx
2:	decl %r12d
	jnz round

	movl $9, %eax /* mmap */
	movl $MEMORY, %edi
	movl $0x3000, %esi
	movl $3, %edx
	movl $0x32, %r10d
	movl $-1, %r8d
	xorl %r9d, %r9d
	syscall
	cmpq $MEMORY, %rax
	jne bad
	movl $10, %eax /* mprotect: the page in the middle */
	movl $(MEMORY + 0x1000), %edi
	movl $0x1000, %esi
	xorl %edx, %edx
	syscall
	movl $131, %eax /* sigaltstack */
	movq $alternate, %rdi
	xorl %esi, %esi
	syscall
	movl $13, %eax /* rt_sigaction */
	movl $11, %edi
	movq $action, %rsi
	xorl %edx, %edx
	movl $8, %r10d
	syscall
	movl $MEMORY, %esp
	xorl %ebx, %ebx
long:
	.rept 35
	incl %ebx
	leal 1(%rbx), %ecx
	.endr
	popq %rdx
	.rept 40
	addl $3, %ecx
	.endr
	jmp long

handler:
	cmpl $(35 * 513), %ebx
	jne bad
	xorl %edi, %edi
	jmp leave
bad:
	movl $1, %edi
leave:
	movl $60, %eax
	syscall

	.balign 64
slide:
	ret
left:
	incl %eax
right:
	ret
jumps_left:
	leaq 1(%rdx), %rdx
	popq %rdx
	jmp *%rdx
jumps_right:
	popq %rdx
	jmp *%rdx
recursion:
	decl %ecx
	jz 3f
	call recursion
	incl %eax
3:	ret

	.data
	.balign 8
action:
	.quad handler, 0x0c000004, leave, 0
alternate:
	.quad MEMORY + 0x2000, 0, 0x1000

	.section .note.GNU-stack, "", @progbits
