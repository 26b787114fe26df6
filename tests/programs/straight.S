// SPDX-License-Identifier: MIT
/* Long lines of code without a branch, ROUNDS (8) times: behind a conditional, a call, a jump, an indirect call and a system call. They use flags,
 * r11, rcx, operands beside the code, the stack, REP, instructions of one byte and of many. Ends with 42. tests/e2e/engine_stops.py */
#ifndef ROUNDS
#define ROUNDS 8
#endif
	.intel_syntax noprefix
	.macro mixed
	add r11, 3
	adc r10, rcx
	mov rdx, [rip+cell]
	add [rip+cell], r11
	xor ecx, r11d
	cmc
	lahf
	push r11
	pop r8
	sbb r9, r8
	nop
	paddd xmm0, [rip+room]
	lea r11, [r11+rcx*2+0x12345678]
	movabs rsi, 0x123456789abcdef0
	imul rdx, rsi
	rol rdx, 7
	xchg rdx, r10
	inc eax
	cld
	.endm

	.text
	.globl _start
_start:
	mov ebx, ROUNDS
	mov ecx, 0x2222
again:
	.rept 40
	mixed
	.endr
	call called
	.rept 9
	cmc
	push rax
	pop rdx
	.endr
	lea rdx, [rip+called_again]
	call rdx
	mov eax, 39 /* getpid */
	syscall
	xor eax, eax
	xor ecx, ecx
	xor r11d, r11d
	.rept 300 /* of one byte */
	cmc
	.endr
	.rept 20
	mixed
	.endr
	dec ebx
	jnz again
	mov edi, 42
	mov eax, 231 /* exit_group */
	syscall
	hlt

called:
	.rept 13
	mixed
	.endr
	jmp 1f
	.fill 17, 1, 0x90
1:	.rept 13
	mixed
	.endr
	ret

called_again:
	.rept 20
	mixed
	.endr
	push rcx
	mov ecx, 6
	lea rdi, [rip+room]
	.globl store
store:	rep stosb
	pop rcx
	.rept 20
	mixed
	.endr
	ret

	.data
	.balign 16
cell:	.quad 0, 0
room:	.fill 16
