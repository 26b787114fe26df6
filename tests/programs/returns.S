/* SPDX-License-Identifier: MIT */
/* Returns that go where no call came from, calls that never return, and registers that nothing may change on the way. Status 0: all was as it should be. */
	.set DEEP, 3000
	.set ROUNDS, 200
	.set IN_RAX, 0x1111222233334444
	.set IN_RCX, 0x5555666677778888
	.set IN_R10, 0x9999aaaabbbbcccc

	/* The registers that a translated branch may borrow, and flags that stay alive across it. */
	.macro borrowed
	movabsq $IN_RAX, %rax
	movabsq $IN_RCX, %rcx
	movabsq $IN_R10, %r10
	.endm
	.macro unchanged register, value
	movabsq $\value, %rdx
	cmpq %rdx, %\register
	jne bad
	.endm
	.macro all_unchanged
	jnc bad /* stc stands before the branches */
	unchanged rax, IN_RAX
	unchanged rcx, IN_RCX
	unchanged r10, IN_R10
	.endm

	.text
	.globl _start
_start:
	movl $ROUNDS, %ebx
round:
	borrowed
	stc
	call leaf
	all_unchanged

	borrowed
	movq $leaf, %rdx
	stc
	call *%rdx
	all_unchanged

	borrowed
	pushq $0
	pushq $0
	stc
	call leaf_pops
	all_unchanged

	/* The target in a borrowed register, and behind one. */
	borrowed
	movq $leaf, %rcx
	stc
	call *%rcx
	jnc bad
	cmpq $leaf, %rcx
	jne bad
	unchanged rax, IN_RAX
	unchanged r10, IN_R10
	borrowed
	movq $leaf, %r10
	stc
	call *%r10
	jnc bad
	cmpq $leaf, %r10
	jne bad
	unchanged rax, IN_RAX
	unchanged rcx, IN_RCX
	borrowed
	movq $table, %r10
	movl $2, %ecx
	stc
	call *-16(%r10, %rcx, 8)
	jnc bad
	cmpq $table, %r10
	jne bad
	cmpq $2, %rcx
	jne bad
	borrowed
	movq $1f, %r10
	stc
	jmp *%r10
1:	jnc bad
	cmpq $1b, %r10
	jne bad
	unchanged rcx, IN_RCX

	/* A return as a jump, to one of four places by turns. */
	movl %ebx, %eax
	andl $3, %eax
	pushq table + 8(, %rax, 8)
	ret
turn_0:
	incq %rsi
turn_1:
	incq %rsi
turn_2:
	incq %rsi
turn_3:
	incq %rsi

	/* A call as a way to learn where one is. */
	call 1f
1:	popq %rax
	cmpq $1b, %rax
	jne bad

	/* A call whose return address is replaced: it never returns. */
	call 2f
1:	pause
	jmp 1b
2:	movq $3f, (%rsp)
	ret
3:
	/* A return into the middle of the caller's next instruction but one. */
	call skip_three
	.byte 0x0f, 0x0b, 0x90 /* ud2; nop */

	/* To the other stack and back. */
	call switch_stacks
	call switch_stacks

	decl %ebx
	jnz round

	/* Deeper than anybody keeps count, and back. */
	movl $DEEP, %edi
	call descend
	testl %edi, %edi
	jne bad
	/* The same, but all frames but the first are thrown away at the bottom, and the first's caller goes on. */
	movl $40, %ebp
again:
	movl $60, %edi
	call outer
	decl %ebp
	jnz again
	xorl %edi, %edi
	cmpq $0, %rsi
	jne end
	incl %edi
end:
	movl $60, %eax
	syscall
bad:
	movl $2, %edi
	jmp end

leaf:
	ret
leaf_pops:
	ret $16

skip_three:
	addq $3, (%rsp)
	ret

switch_stacks:
	xchgq %rsp, other_stack(%rip)
	ret
on_the_other:
	call leaf
	call switch_stacks
	jmp on_the_other

descend:
	decl %edi
	jz 1f
	call descend
1:	ret

outer:
	pushq %rbp
	movq %rsp, keep(%rip)
	call thrown
	ud2
thrown:
	decl %edi
	jz 1f
	call thrown
	ud2
1:	movq keep(%rip), %rsp
	movq $2f, %rax
	jmp *%rax
2:	popq %rbp
	ret

	.data
	.balign 8
table:
	.quad leaf, turn_0, turn_1, turn_2, turn_3
keep:
	.quad 0
other_stack:
	.quad stack_end - 8
	.skip 4096
	.quad on_the_other
stack_end:
	.section .note.GNU-stack, "", @progbits
