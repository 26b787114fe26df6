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
	.ifdef SIGNAL # with siginfo (4) or without; the kernel has the frame's registers from here, and gives them back
	movl $174, %eax # rt_sigaction
	movl $10, %ebx # SIGUSR1
	movl $action, %ecx
	xorl %edx, %edx
	movl $8, %esi
	int $0x80
	movl $20, %eax # getpid
	int $0x80
	movl %eax, %ebx
	movl $0x5a5a5f5a, %esi # with the bit that is the trap flag's in flags, as in the others
	movl $0xa5a5afa5, %edi
	movl $0x12345f78, %ebp
	movl $37, %eax # kill
	movl $10, %ecx
	int $0x80
	xorl $0x5a5a5f5a, %esi
	xorl $0xa5a5afa5, %edi
	xorl $0x12345f78, %ebp
	orl %edi, %esi
	orl %ebp, %esi
	movl came, %ebx
	xorl $10, %ebx
	orl %esi, %ebx
	setne %bl # 0: all of them as they were
	movzbl %bl, %ebx
	movl $1, %eax
	int $0x80
handler:
	movl %eax, came
	ret
restore: # at the frame, less what the handler's ret has taken; without siginfo there is the signal, too
	.if SIGNAL & 4
	movl $173, %eax # rt_sigreturn
	.else
	popl %eax
	movl $119, %eax # sigreturn
	.endif
	int $0x80
	.data
action:	.long handler, SIGNAL | 0x04000000, restore, 0, 0 # SA_RESTORER
came:	.long 0
	.text
	.endif
	.ifdef CRASH
	movl 0x10(%ecx), %eax
	.endif
	movl $1, %eax # exit
	movl $7, %ebx
	int $0x80
	.data
line:	.ascii "32 bits\n"
