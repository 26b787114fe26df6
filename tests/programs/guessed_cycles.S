// SPDX-License-Identifier: MIT
/* Cycles without a conditional, each of ROUNDS rounds, one after the other, again and again: where one of its branches leads says a CMOV. Between two
 * of them is a system call that is made at a stop. Its status is a sum of what they have left in registers. tests/e2e/engine.py, engine_history.py */
	.intel_syntax noprefix
#ifndef ROUNDS
#define ROUNDS 20
#endif
#ifndef PASSES
#define PASSES 3
#endif
	.macro turn to /* rdx: on there, or to what comes behind the last round */
	lea rdx, [rip+\to]
	dec r13
	cmovz rdx, r14
	.endm

	.text
	.globl _start
_start:
	mov r15, rsp
	lea r14, [rip+next]
	mov ebp, PASSES
pass:	lea r12, [rip+list]
next:	mov rsp, r15
	mov eax, 131 /* sigaltstack */
	xor edi, edi
	xor esi, esi
	syscall
	mov r13, ROUNDS
	mov rax, [r12]
	add r12, 8
	jmp rax

called:	call 1f
	turn called
	jmp rdx
1:	inc rbx
	ret

deep:	call 1f
	call 1f
	turn deep
	jmp rdx
1:	call 2f
	inc rcx
	ret
2:	lea r10, [r10+rcx]
	add rbx, r10
	ret

popped:	push rbx
	push rcx
	call 1f
	adc rbx, 3
	turn popped
	jmp rdx
1:	lea r11, [r11+rbx]
	cmp r11, r10
	ret 16

pushed:	turn pushed
	push rdx
	inc rbx
	ret

through: /* a call that leads elsewhere at last */
	pop rax
	turn through1
	call rdx
through1:
	jmp through

slots:	call [rip+slot]
	turn slots
	jmp rdx
5:	jmp [rip+slot2]
	.balign 8
slot:	.quad 5b
slot2:	.quad 6f
6:	add rbx, r13
	ret

empty:	call nothing /* it returns at once, and is called from two cycles */
	turn empty
	jmp rdx
elsewhere:
	call nothing
	turn elsewhere
	jmp rdx
nothing: ret

slides:	lea rdx, [rip+slide] /* a return that leads to itself, and elsewhere at last */
	push r14
1:	push rdx
	dec r13
	jnz 1b
slide:	ret

pairs:	lea rdx, [rip+left] /* two that lead to each other */
	lea rax, [rip+right]
	push r14
1:	push rax
	push rdx
	dec r13
	jnz 1b
left:	ret
	nop
right:	ret

wide:	/* as many guesses as a fragment has room for, beside the stolen register */
	.rept 21
	lea r11, [rip+1f]
	jmp r11
1:
	.endr
	turn wide
	jmp rdx

recursive:
	turn recursive
	call rdx

threaded: /* an interpreter; its program is a loop */
	lea rsi, [rip+table]
	lea rdi, [rip+codes]
	movzx eax, byte ptr [rdi]
	jmp [rsi+rax*8]
less:	lea rbx, [rbx+rax]
	movzx eax, byte ptr [rdi+1]
	jmp [rsi+rax*8]
more:	sub rbx, r13
	movzx eax, byte ptr [rdi+2]
	jmp [rsi+rax*8]
again:	turn threaded
	jmp rdx

central: /* the same with one jump for all */
	lea rsi, [rip+table+24]
over:	lea rdi, [rip+codes]
each:	movzx eax, byte ptr [rdi]
	inc rdi
	jmp [rsi+rax*8]
less2:	inc rbx
	jmp each
more2:	turn over
	mov [rip+table+40], rdx
	jmp each

virtual: /* each eighth call leads elsewhere */
	lea rsi, [rip+objects]
	mov rdi, r13
	and edi, 7
	mov rax, [rsi+rdi*8]
	call [rax]
	turn virtual
	jmp rdx
one:	inc rbx
	ret
other:	add rbx, 5
	ret

skips:	/* returns behind its call, and in half of each four rounds a byte farther */
	call 1f
	nop
	turn skips
	jmp rdx
1:	mov rax, r13
	shr eax, 1
	and eax, 1
	add [rsp], rax
	ret

large:	call 1f /* more than a chain holds */
	.rept 50
	lea rbx, [rbx+r13]
	.endr
	turn large
	jmp rdx
1:	ret

asks:	mov eax, 102 /* getuid: a call that is made in the cache */
	syscall
	turn asks
	jmp rdx

wrapped:
	call 1f
	turn wrapped
	jmp rdx
1:	mov eax, 104 /* getgid */
	syscall
	ret

end:	dec ebp
	jnz pass
	lea rdi, [rbx+rcx]
	add rdi, r10
	add rdi, r11
	mov rax, 0x9e3779b97f4a7c15
	imul rdi, rax
	shr rdi, 57
	mov eax, 60
	syscall

	.data
	.balign 8
list:	.quad called, empty, elsewhere, deep, popped, pushed, through, slots, slides, pairs, wide, empty, recursive, threaded, central, virtual, skips, large
#if ROUNDS < 1000 /* each call is an event */
	.quad asks, wrapped
#endif
	.quad called, end
table:	.quad less, more, again, less2, more2, over
codes:	.byte 0, 1, 2, 0
objects: .quad first, first, first, second, first, first, first, first
first:	.quad one
second:	.quad other
	.section .note.GNU-stack, "", @progbits
