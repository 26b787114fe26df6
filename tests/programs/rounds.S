// SPDX-License-Identifier: MIT
/* Cycles without a conditional, one after the other: each reads bytes downwards until a fault ends it, some LEN rounds on, and its handler goes on
 * with the next. Built at any address. SIGALRM is caught. Its status is a sum of what the cycles have left in registers. tests/e2e/engine_compare.py, engine_history.py */
	.intel_syntax noprefix
	.set MEMORY, 0x10000000
#ifndef LEN
#define LEN 40
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
	mov rax, [rip+next]
	add qword ptr [rip+next], 8
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

deep:	call 1f
	jmp deep
1:	call 2f
	ret
2:	call 3f
	ret
3:	dec rsi
	mov al, [rsi]
	ret

fewer:	call 1f /* what is called uses all that is lent elsewhere, and flags come back with it */
	adc r12, r10
	jmp fewer
1:	lea rcx, [rcx+rsi]
	lea r10, [r10+rcx]
	lea r11, [r11+r10]
	dec rsi
	cmp cl, [rsi]
	ret

beside:	call 1f /* around an operand that no displacement may reach */
	mov rdx, [rip+counter]
	jmp beside
1:	dec rsi
	add byte ptr [rip+counter+1], 5
	mov al, [rsi]
	ret

crowded: /* no register is left */
	call 1f
	xadd [rip+counter], r15
	jmp crowded
1:	dec rsi
	lea rax, [rcx+rdx]
	lea rdx, [rbp+rdi+1]
	lea rbp, [r8+r9+2]
	lea r8, [r10+r11+3]
	lea r10, [r12+r13+4]
	lea r12, [r14+r15+5]
	lea r14, [rbx+rcx+6]
	mov cl, [rsi]
	ret

popped:	push rsi
	push rcx
	call 1f
	call 2f
	jmp popped
1:	dec rsi
	ret 16
2:	mov al, [rsi]
	ret

pushed:	lea rax, [rip+1f]
	push rax
	dec rsi
	mov al, [rsi]
	ret
1:	jmp pushed

slot:	call 1f
	call [rip+2f]
	jmp slot
1:	jmp [rip+3f]
4:	dec rsi
	mov al, [rsi]
	ret
	.balign 8
2:	.quad 4b
3:	.quad 5f
5:	ret

recursive:
	dec rsi
	mov al, [rsi]
	call recursive

threaded: /* an interpreter; its program is a loop */
	lea rbp, [rip+table]
	lea rdi, [rip+codes]
	movzx eax, byte ptr [rdi]
	jmp [rbp+rax*8]
less:	dec rsi
	movzx eax, byte ptr [rdi+1]
	jmp [rbp+rax*8]
read:	mov cl, [rsi]
	movzx eax, byte ptr [rdi+2]
	jmp [rbp+rax*8]
again:	inc rbx
	jmp threaded

central: /* the same with one jump for all */
	lea rbp, [rip+table+24]
over:	lea rdi, [rip+codes]
each:	movzx eax, byte ptr [rdi]
	inc rdi
	jmp [rbp+rax*8]
less2:	dec rsi
	jmp each
read2:	mov cl, [rsi]
	jmp each

virtual: /* each eighth call leads elsewhere */
	lea rbp, [rip+objects]
	inc edi
	and edi, 7
	mov rax, [rbp+rdi*8]
	call [rax]
	jmp virtual
one:	dec rsi
	mov cl, [rsi]
	ret
other:	inc rbx
	ret

skips: /* returns behind its call, and sixteen times in thirty-two a byte farther */
	call 1f
	nop
	inc rbx
	jmp skips
1:	dec rsi
	mov rax, rsi
	shr eax, 4
	and eax, 1
	add [rsp], rax
	mov al, [rsi]
	ret

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
list:	.rept 2 /* the second time it is known where they lead */
	.quad plain, middle, many, stolen, relative, repeated, long, called, indirect, alternate, self, deep, fewer, beside, crowded, popped, pushed, slot, recursive
	.quad threaded, central, virtual, skips
	.endr
	.quad plain, many, skips, end
table:	.quad less, read, again, less2, read2, over
codes:	.byte 0, 1, 2, 0
objects: .quad first, first, first, second, first, first, first, first
first:	.quad one
second:	.quad other
counter: .quad 0
buffer:	.zero 64
	.section .note.GNU-stack, "", @progbits
