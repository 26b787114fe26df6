// SPDX-License-Identifier: MIT
/* A loop whose body is LINE conditionals that lead forward, three of eight taken, and calls that do, too: for longer than ticks may go on
 * being counted without a look whether to stop, nothing leads back. tests/e2e/engine_compare.py */
	.intel_syntax noprefix
	.globl _start
	.set LINE, 1000
	.text
_start:
	mov ebx, 4
again:
	mov eax, 1
	lea rdx, [rip+out]
	.set i, 0
	.rept LINE
	test eax, i & 7
	.if i & 7
	jz 1f
	.else
	jnz 1f
	.endif
	inc ecx
1:
	.if i % 100 == 99
	call 2f
2:	pop rsi
	.endif
	.set i, i + 1
	.endr
	dec ebx
	jnz again
	jmp rdx
out:
	mov eax, 60 /* exit */
	xor edi, edi
	syscall
