// SPDX-License-Identifier: MIT
/* FNSTENV and FNSAVE, which change what they save, with so many prefixes that they are as long as what the engine makes behind them. Its status is 0
 * when each has run once each time, whatever SIGALRM interrupts. tests/e2e/engine_signals.py */
	.intel_syntax noprefix
	.set CONTROL, 0x37b /* not as FNINIT sets it */
	.globl _start
	.text
_start:
	mov eax, 13 /* rt_sigaction */
	mov edi, 14
	lea rsi, [rip+alarm]
	xor edx, edx
	mov r10d, 8
	syscall
	mov ebx, 200
	xor r12d, r12d
	lea rsi, [rip+area]
again:	fninit
	fldcw [rip+control]
	.byte 0x2e, 0x2e, 0x2e, 0x2e
	fnstenv [rsi+1024]
	cmp word ptr [rsi+1024], CONTROL
	je 1f
	or r12d, 1
1:	fldcw [rip+control]
	fld1
	.byte 0x2e, 0x2e, 0x2e, 0x2e
	fnsave [rsi+1024]
	cmp word ptr [rsi+1024], CONTROL
	je 2f
	or r12d, 2
2:	cmp word ptr [rsi+1032], 0xffff /* all registers are empty */
	jne 3f
	or r12d, 4
3:	dec ebx
	jnz again
	mov edi, r12d
	mov eax, 60
	syscall
restorer:
	mov eax, 15
	syscall
leave:	ret
	.data
control: .word CONTROL
	.balign 8
alarm:	.quad leave, 0x14000000, restorer, 0
area:	.zero 2048
	.section .note.GNU-stack, "", @progbits
