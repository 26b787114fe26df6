/* SPDX-License-Identifier: MIT */
/* Code made and changed while it runs: two functions one after the other at one address, and an instruction that changes
 * the one behind it. The history must show each as it was when it ran. */
#include "expect.inc"

	.set AT, 0x20000000
	.set BEHIND, 0x20000100

	movl $9, %eax		/* mmap(AT, 4096, RWX, PRIVATE | FIXED | ANONYMOUS) */
	movl $AT, %edi
	movl $4096, %esi
	movl $7, %edx
	movl $0x32, %r10d
	movq $-1, %r8
	xorl %r9d, %r9d
map:
	syscall
map_next:
	expect SYSCALL, 1, map, map_next

	movl $AT, %ebx
	movl $0xc3c031, (%rbx)		/* xor %eax,%eax; ret */
call_first:
	call *%rbx
call_first_next:
	expect ICALL, 1, call_first, AT
	expect RET, 1, AT + 2, call_first_next

	movl $0xc30274, (%rbx)		/* je .+4; ret */
	movl $0xc3909090, 3(%rbx)	/* nop; nop; nop; ret: the jump is to the second nop */
call_second:
	call *%rbx
call_second_next:
	expect ICALL, 1, call_second, AT
	expect JCC, 1, AT, AT + 4
	expect RET, 1, AT + 6, call_second_next

	/* Code that writes a ret over a nop of its own, a few instructions ahead. */
	movl $BEHIND, %ebx
	movl $0xc30843c6, 0(%rbx)	/* movb $0xc3, 8(%rbx) */
	movl $0x90909090, 4(%rbx)	/* nop * 4 */
	movl $0x90909090, 8(%rbx)	/* nop, which becomes ret, and more */
	movl $0x0b0f9090, 12(%rbx)
call_third:
	call *%rbx
call_third_next:
	expect ICALL, 1, call_third, BEHIND
	expect RET, 1, BEHIND + 8, call_third_next

	leave_program
