// SPDX-License-Identifier: MIT
/* A loop without end of all kinds of branches: direct ones in a row that no fragment holds, calls, returns, indirect jumps that lead to one place and
 * to two in turn, conditionals, LOOP, operands beside the code, REP, a system call; at its end a cycle of direct jumps. r11, rcx, rax, r10 and flags
 * have values of the program's own all the while. tests/e2e/replay_alarms.py */
	.intel_syntax noprefix
	.text
	.globl _start
_start:
	mov r11d, 0x1111
	mov ecx, 0x2222
	mov r10d, 0x3333
	mov eax, 0x4444
	xor ebx, ebx
	lea r8, [rip+even]
	lea r9, [rip+odd]
again:
	inc qword ptr [rip+cell]
	.rept 20
	jmp 2f
	nop
2:
	.endr
	add r11, 3
	call within
	lea rdx, [rip+within]
	call rdx
	call [rip+place]
	lea rdx, [rip+1f]
	jmp rdx
1:	xchg r8, r9
	jmp r8
even:	add r11, rcx
	jmp 3f
odd:	sub r11, 1
3:	test bl, 1
	jne 4f
	adc r10, 5
4:	jmp [rip+through]
5:	push rcx
	mov ecx, 2
6:	lea r11, [r11+rcx]
	loop 6b
	mov ecx, 5
	lea rdi, [rip+room]
	rep stosb
	pop rcx
	inc ebx
	cmp ebx, 3
	jb again
	xor ebx, ebx
	mov eax, 39 /* getpid */
	syscall
	mov r11d, 0x1111
	mov ecx, 0x2222
	stc
7:	jmp 8f
	nop
8:	inc r11
	test r11b, 3
	jne 9f
	jmp again
9:	lea rax, [rip+7b]
	jmp rax

within:	inc r10
	ret

	.data
cell:	.quad 0
place:	.quad within
through: .quad 5b
room:	.fill 16
