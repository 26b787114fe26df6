/* SPDX-License-Identifier: MIT */
/* Loops that add BY to rdx: two of these that differ in it have the same branches, and part at the first round of the second loop. With MEMORY
 * they differ in what they write only. */
	.globl _start, part
_start:	xor %edx, %edx
	mov $3000, %ecx
1:	inc %rdx
	dec %ecx
	jnz 1b
	mov $50, %ecx
part:
#ifdef MEMORY
	movb $BY, -9(%rsp)
#else
	add $BY, %rdx
#endif
	dec %ecx
	jnz part
	push %rdx
#ifdef MEMORY
	lea -1(%rsp), %rsi
#else
	mov %rsp, %rsi
#endif
	mov $1, %eax		/* write */
	mov $1, %edi
	mov $8, %edx
	syscall
	mov $60, %eax
	xor %edi, %edi
	syscall
