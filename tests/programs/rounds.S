// SPDX-License-Identifier: MIT
/* Cycles without a conditional, one after the other: each reads bytes downwards until a fault ends it, some LEN rounds on, and its handler goes on
 * with the next. SIGALRM is caught. Its status is a sum of what the cycles have left in registers. tests/e2e/engine_compare.py, engine_history.py */
	.intel_syntax noprefix
	.set MEMORY, 0x10000000
#ifndef LEN
#define LEN 70
#endif
	.text
	.globl _start
_start:
	mov eax, 9 /* mmap */
	mov edi, MEMORY
	mov esi, 0x1000
	mov edx, 3
	mov r10d, 0x32
	mov r8, -1
	xor r9d, r9d
	syscall
	mov eax, 13 /* rt_sigaction */
	mov edi, 11
	lea rsi, [rip+action]
	xor edx, edx
	mov r10d, 8
	syscall
	mov eax, 13
	mov edi, 14
	lea rsi, [rip+alarm]
	mov r10d, 8
	syscall
	mov rsi, [MEMORY-8] /* the first fault */

handler: /* rdx: the interrupted context, in which rip is at 168, rsi at 112 */
	mov rax, next
	add qword ptr next, 8
	mov rax, [rax]
	mov [rdx+168], rax
	mov qword ptr [rdx+112], MEMORY+LEN
	xor ecx, ecx /* a conditional, now and then */
	test eax, 16
	jz 1f
	inc ecx
1:
leave:	ret
restorer:
	mov eax, 15
	syscall

plain:	dec rsi
	mov al, [rsi]
	jmp plain

middle:	jmp 2f
1:	inc rbx
	mov [rsi], bl
2:	dec rsi
	mov al, [rsi]
	jmp 1b

many:	jmp 3f
1:	dec rsi
	jmp 4f
2:	jmp many
3:	mov al, [rsi]
	jmp 1b
	nop
4:	inc ebx
	jmp 2b

stolen:	stc
1:	lea r11, [rsi-1]
	xchg rsi, r11
	mov r11b, [rsi]
	adc r12, r11
	jmp 1b

relative:
	dec rsi
	add byte ptr [rip+counter], 3
	mov rcx, [rip+counter]
	movzx r11d, byte ptr [rsi]
	xadd [rip+counter], r11
	jmp relative

repeated:
	mov ecx, 5
	lea rdi, [rip+buffer]
	rep stosb
	dec rsi
	push rsi
	cmp byte ptr [rsi], 3
	pop rbx
	jmp repeated

long:	dec rsi
	.rept 30
	lea ebx, [rbx+rsi]
	ror rbx, 3
	.endr
	mov al, [rsi]
	jmp long

called:	call 1f
	call 2f
	jmp called
1:	dec rsi
	ret
2:	mov al, [rsi]
	ret

indirect:
	lea rdx, [rip+1f]
1:	dec rsi
	mov al, [rsi]
	jmp rdx

alternate:
	lea rdx, [rip+1f]
	lea rbx, [rip+2f]
1:	dec rsi
	mov al, [rsi]
	xchg rdx, rbx
	jmp rdx
2:	mov [rsi], cl
	xchg rdx, rbx
	jmp rdx

self:	dec rsi
	.rept 20
	nop
	.endr
	cmovc rbx, [rsi] /* reads whether or not */
	jmp self

end:	lea rdi, [rbx+r12]
	add rdi, r11
	add rdi, [rip+counter]
	mov rax, 0x9e3779b97f4a7c15
	imul rdi, rax
	shr rdi, 57
	mov eax, 60
	syscall

	.data
	.balign 8
action:	.quad handler, 0x44000004, restorer, 0
alarm:	.quad leave, 0x14000000, restorer, 0
next:	.quad list
list:	.quad plain, middle, many, stolen, relative, repeated, long, called, indirect, alternate, self, plain, many, end
counter: .quad 0
buffer:	.zero 64
	.section .note.GNU-stack, "", @progbits
