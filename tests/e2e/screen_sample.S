/* SPDX-License-Identifier: MIT */
/* What btview_tmux.sh looks at: never run, walked by make_trace.c, which decides every conditional. Linked to
 * 0x401000; leaf and handler have fixed places because make_trace.c is told them. */
	.text
	.globl _start
	.type _start, @function
_start:
	.cfi_startproc
	.cfi_undefined rip
	call setup
	mov $36, %ebp
1:	mov %ebp, %edi
	call visit
	dec %ebp
	jnz 1b
	xor %edi, %edi
	jmp finish
	.cfi_endproc
	.size _start, . - _start

	.type setup, @function
setup:
	.cfi_startproc
	mov $39, %eax
	syscall
	test %eax, %eax
	js 1f
	lea leaf(%rip), %rax
	ret
1:	ud2
	.cfi_endproc
	.size setup, . - setup

	.type visit, @function
visit:
	.cfi_startproc
	mov $3, %ecx
1:	add %edi, %edx
	dec %ecx
	jnz 1b
	call *%rax
	ret
	.cfi_endproc
	.size visit, . - visit

	.type finish, @function
finish:
	.cfi_startproc
	.cfi_undefined rip
	call lookup
	ud2
	.cfi_endproc
	.size finish, . - finish

/* The pointer is checked after its use. */
	.type lookup, @function
lookup:
	.cfi_startproc
	test %edx, %edx
	jz 1f
	mov 8(%rdi), %rsi
	test %rdi, %rdi
	jz 1f
	mov %rsi, %rax
1:	ret
	.cfi_endproc
	.size lookup, . - lookup

	.org 0x100
	.type leaf, @function
leaf:
	.cfi_startproc
	lea 1(%rdx), %edx
	ret
	.cfi_endproc
	.size leaf, . - leaf

	.org 0x140
	.type handler, @function
handler:
	.cfi_startproc
	inc %r8d
	mov $15, %eax
	syscall
	.cfi_endproc
	.size handler, . - handler
	.section .note.GNU-stack, "", @progbits
