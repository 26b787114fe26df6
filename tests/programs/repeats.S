/* SPDX-License-Identifier: MIT */
/* Stores 7 bytes by one instruction, after three conditionals. Exits with the last byte but one. */
	.globl _start, store
	.text
_start:
	mov $3, %ecx
1:	dec %ecx
	jnz 1b
	lea bytes(%rip), %rdi
	mov $7, %ecx
	mov $42, %eax
store:
	rep stosb
	movzbl -2(%rdi), %edi
	mov $60, %eax
	syscall
	.bss
bytes:
	.skip 16
