// SPDX-License-Identifier: MIT
/* A loop without end of instructions with results of their own, with flags and registers alive across them: before a conditional, between others, in a
 * cycle without one. tests/e2e/replay_alarms.py */
	.intel_syntax noprefix
	.text
	.globl _start
_start:
	mov r11d, 0x1111
	mov ecx, 0x2222
	mov r10d, 0x3333
	xor ebx, ebx
	xor esi, esi
again:
	inc ebx
	cmp bl, 2
	rdtsc
	jb 1f
	add rsi, rax
	lea rdi, [rip+2f]
	jmp rdi
1:	sub rsi, rdx
2:	add r11, 3
	rdtscp
	adc rsi, rcx
	test bl, 1
	rdtscp
	jne 3f
	lea rsi, [rsi+rax]
3:	rdtsc
	xor [rip+cell], rax
	mov r8d, ebx
	xor eax, eax
	cmp r8b, 2
	cpuid
	adc rsi, rbx
	add rdx, rcx
	mov ebx, r8d
	xor ecx, ecx
	sub rsi, rdx
	xgetbv
	sbb rsi, rax
	mov ecx, 0x2222
	test bl, 3
	jne again
	mov eax, 39 /* getpid */
	syscall
	rdtsc
	xor ebx, ebx
	jmp again

	.data
cell:	.quad 0
