# SPDX-License-Identifier: MIT
# A 32-bit program: prints a line and takes 53 conditional branches. With an argument it becomes the program that is named there; else it reads
# where nothing is (CRASH), or ends with 7. tests/e2e/trees.py
	.code32
	.globl _start
	.text
_start:
	movl $4, %eax # write
	movl $1, %ebx
	movl $line, %ecx
	movl $8, %edx
	int $0x80
	movl $50, %ecx
1:	decl %ecx
	jnz 1b
	call 2f
	cmpl $1, (%esp) # argc; no conditional branch, so that there are 53 in any case
	movl $end, %eax
	movl $become, %ebx
	cmovne %ebx, %eax
	jmp *%eax
2:	movl $3, %ecx
3:	loop 3b
	ret
become:
	movl $11, %eax # execve
	movl 8(%esp), %ebx
	leal 8(%esp), %ecx
	xorl %edx, %edx
	int $0x80
end:
	.ifdef CRASH
	movl 0x10(%ecx), %eax
	.endif
	movl $1, %eax # exit
	movl $7, %ebx
	int $0x80
	.data
line:	.ascii "32 bits\n"
