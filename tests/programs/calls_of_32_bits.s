# SPDX-License-Identifier: MIT
# Calls of the 32-bit table (int 0x80), made by 64-bit code or, with NARROW, by a 32-bit program: maps, writes a line to what it has mapped and
# from there to standard output, takes the right to write away, unmaps, lets the heap grow and shrink. Ends with 9, and with 1 more where its
# auxiliary vector leads to a vdso (NARROW), and with 2 more where io_uring_setup is not refused; with CRASH it writes where it may not any more. With
# an argument the 64-bit one becomes the program that is named there. tests/e2e/replay.py
	.globl _start
	.text
_start:
	.ifndef NARROW
	cmpl $1, (%rsp) # argc
	je 1f
	movl $59, %eax # execve
	movq 16(%rsp), %rdi
	leaq 16(%rsp), %rsi
	xorl %edx, %edx
	syscall
1:
	.else
	movl %esp, %esi
	addl $4, %esi
1:	lodsl # argv
	testl %eax, %eax
	jnz 1b
2:	lodsl # envp
	testl %eax, %eax
	jnz 2b
3:	lodsl
	movl %eax, %edx
	lodsl
	cmpl $32, %edx # AT_SYSINFO
	je 4f
	cmpl $33, %edx # AT_SYSINFO_EHDR
	jne 5f
4:	movl $10, status
5:	testl %edx, %edx
	jnz 3b
	.endif
	movl $192, %eax # mmap2
	xorl %ebx, %ebx
	movl $8192, %ecx
	movl $3, %edx # PROT_READ | PROT_WRITE
	movl $0x22, %esi # MAP_PRIVATE | MAP_ANONYMOUS
	movl $-1, %edi
	xorl %ebp, %ebp
	int $0x80
	movl %eax, %edi
	movl $0x0a736579, (%edi) # yes
	movl $4, %eax # write
	movl $1, %ebx
	movl %edi, %ecx
	movl $4, %edx
	int $0x80
	movl $125, %eax # mprotect
	movl %edi, %ebx
	movl $4096, %ecx
	movl $1, %edx # PROT_READ
	int $0x80
	movl $91, %eax # munmap
	leal 4096(%edi), %ebx
	movl $4096, %ecx
	int $0x80
	movl $425, %eax # io_uring_setup
	xorl %ebx, %ebx
	xorl %ecx, %ecx
	int $0x80
	cmpl $-38, %eax # -ENOSYS; else -EFAULT
	je 6f
	addl $2, status
6:	movl $45, %eax # brk
	xorl %ebx, %ebx
	int $0x80
	leal 8192(%eax), %ebx
	movl $45, %eax
	int $0x80
	movl $7, -4(%eax)
	leal -4096(%eax), %ebx
	movl $45, %eax
	int $0x80
	movl $7, -4(%eax)
	.ifdef CRASH
	movl %eax, (%edi)
	.endif
	movl $1, %eax # exit
	movl status, %ebx
	int $0x80
	.data
status:	.long 9
