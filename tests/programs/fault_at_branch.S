/* SPDX-License-Identifier: MIT */
/* Branches that lead nowhere. To an unmapped address the branch retires and its target faults; to a non-canonical one the
 * branch itself faults and is none. Built once per case, with the case's name defined. */
#include "expect.inc"

	.set UNMAPPED, 0x10000000
#if defined(JCC_UNMAPPED)
	xorl %eax, %eax
from:
	je UNMAPPED
	expect JCC, 1, from, UNMAPPED
#elif defined(JMP_UNMAPPED)
from:
	jmp UNMAPPED
	expect JMP, 1, from, UNMAPPED
#elif defined(CALL_UNMAPPED)
from:
	call UNMAPPED
	expect CALL, 1, from, UNMAPPED
#elif defined(ICALL_UNMAPPED)
	movabsq $0x123456789000, %rax
from:
	call *%rax
	expect ICALL, 1, from, 0x123456789000
#elif defined(IJMP_NULL)
	xorl %eax, %eax
from:
	jmp *%rax
	expect IJMP, 1, from, 0
#elif defined(RET_UNMAPPED)
	movabsq $0x123456789000, %rax
	pushq %rax
from:
	ret
	expect RET, 1, from, 0x123456789000
#elif defined(ICALL_NON_CANONICAL)
	movabsq $0x8000000000001234, %rax
	expect JMP, 1, before, from
before:
	jmp from
from:
	call *%rax
#elif defined(ICALL_OWN_SLOT) || defined(ICALL_OWN_SLOT_INDEXED) || defined(ICALL_OWN_SLOT_FS)
	/* It is where the call would put its return address. */
	movabsq $0x8000000000001234, %rax
	movq %rax, -8(%rsp)
#ifdef ICALL_OWN_SLOT_FS
	movl $158, %eax		/* arch_prctl */
	movl $0x1002, %edi	/* ARCH_SET_FS */
	leaq -108(%rsp), %rsi
	syscall
	expect SYSCALL, 1, set, set_behind
	.set set, . - 2
set_behind:
#endif
	leaq -1000(%rsp), %r11
	movl $123, %r12d
	expect JMP, 1, before, from
before:
	jmp from
from:
#if defined(ICALL_OWN_SLOT)
	call *-8(%rsp)
#elif defined(ICALL_OWN_SLOT_INDEXED)
	call *8(%r11,%r12,8)
#else
	call *%fs:100
#endif
#elif defined(RET_NON_CANONICAL)
	movabsq $0x8000000000001234, %rax
	pushq %rax
	expect JMP, 1, before, from
before:
	jmp from
from:
	ret
#elif defined(IJMP_NON_CANONICAL)
	movabsq $0x8000000000001234, %rax
	expect JMP, 1, before, from
before:
	jmp from
from:
	jmp *%rax
#elif defined(IJMP_LONG_WAY_NON_CANONICAL)
	/* Behind many branches of which each leads to one place only. What lies between them runs once. */
	movabsq $0x8000000000001234, %rax
	.rept 300
	leal 1(%rbx), %ebx
1:
	jmp 2f
	expect JMP, 1, 1b, 2f
	ud2
2:
	.endr
from:
	jmp *%rax
#elif defined(CALL_NO_STACK)
	/* The call itself faults: there is no room for its return address. */
	expect JMP, 1, before, from
before:
	jmp from
from:
	movl $UNMAPPED, %esp
	call _start
#elif defined(RET_NO_STACK)
	/* The return itself faults: there is nothing to be read. So does one that pops more. */
	expect JMP, 1, before, from
before:
	jmp from
from:
	movl $UNMAPPED, %esp
	ret
#elif defined(RET_POPS_NO_STACK)
	expect JMP, 1, before, from
before:
	jmp from
from:
	movl $UNMAPPED, %esp
	ret $16
#elif defined(ICALL_MEMORY_FAULT)
	expect JMP, 1, before, from
before:
	jmp from
from:
	call *UNMAPPED
#else
	/* The operand can be read or cannot, and a call has no stack: with what registers the cache's code may have lent. */
	movabsq $0x1122334455667788, %r11
	movabsq $0x99aabbccddeeff00, %r10
	movl $UNMAPPED, %ecx
	cmpq %r10, %r11
bit:
	je UNMAPPED
	expect JCC, 0, bit, bit_behind
bit_behind:
#if defined(ICALL_NO_STACK)
	movq $_start, %rax
	movl $UNMAPPED, %esp
	call *%rax
#elif defined(ICALL_RCX_NO_STACK)
	movq $_start, %rcx
	movl $UNMAPPED, %esp
	call *%rcx
#elif defined(ICALL_R11_NO_STACK)
	movq $_start, %r11
	movl $UNMAPPED, %esp
	call *%r11
#elif defined(ICALL_RIP_NO_STACK)
	movl $UNMAPPED, %esp
	call *place(%rip)
place:
	.quad _start
#elif defined(ICALL_RCX_FAULT)
	call *8(%rcx)
#elif defined(ICALL_R11_FAULT)
	call *(%r11,%rcx,8)
#elif defined(IJMP_R11_FAULT)
	movl $UNMAPPED, %r11d
	jmp *(%r11)
#elif defined(IJMP_RIP_FAULT)
	jmp *UNMAPPED(%rip)
#elif defined(IJMP_STACK_FAULT)
	movl $UNMAPPED, %esp
	jmp *16(%rsp)
#endif
#endif
	ud2
