/* SPDX-License-Identifier: MIT */
/* Instructions that fault in user mode and are done by the kernel, which goes on behind them without a trap: the next one is executed by
 * the same single step. Where the processor does them itself the branches are the same.
 * VSYSCALL: calls of the vsyscall page instead, which may not be there. CLI: cli and sti, for which iopl(2) needs a privilege. */
#include "expect.inc"

	.set TIME, 0xffffffffff600400

	/* The instruction whose next one is looked at. */
	.macro odd n
#if defined VSYSCALL
	pushq $.Lbehind\@
	movq $TIME, %rax
	movl $0, %edi
.Lenter\@:
	jmp *%rax
.Lbehind\@:
	expect IJMP, 1, .Lenter\@, TIME
	expect RET, 1, TIME, .Lbehind\@
#elif defined CLI
	.if \n & 1
	sti
	.else
	cli
	.endif
#else
	.if \n == 0
	sgdt -64(%rsp)
	.elseif \n == 1
	sidt -64(%rsp)
	.elseif \n == 2
	smsw %eax
	.elseif \n == 3
	sldt %ax
	.elseif \n == 4
	str -64(%rsp)
	.else
	smsw -64(%rsp)
	.endif
#endif
	.endm

	/* Flags that the program did not set would be there. */
	.macro no_trap_flag
	testl $0x100, (%rsp)
.Lseen\@:
	jnz bad
.Lunseen\@:
	expect JCC, 0, .Lseen\@, .Lunseen\@
	popq %rax
	.endm

#ifdef CLI
	movl $172, %eax			/* iopl */
	movl $3, %edi
iopl:
	syscall
iopl_next:
	testl %eax, %eax
	expect SYSCALL, 1, iopl, iopl_next
allowed:
	jnz bad
allowed_next:
	expect JCC, 0, allowed, allowed_next
#endif

	.irp n, 0, 1, 2, 3, 4, 5
	/* a conditional, taken, not taken, and to where it would go on anyway */
	xorl %r12d, %r12d
	odd \n
.Ltaken\n:
	jz .Ltaken_to\n
	ud2
.Ltaken_to\n:
	expect JCC, 1, .Ltaken\n, .Ltaken_to\n
	orl $1, %r12d
	odd \n
.Lnot_taken\n:
	jz bad
.Lnot_taken_next\n:
	expect JCC, 0, .Lnot_taken\n, .Lnot_taken_next\n
	orl $1, %r12d
	odd \n
.Lto_next\n:
	jnz .Lto_next_to\n
.Lto_next_to\n:
	expect JCC, 1, .Lto_next\n, .Lto_next_to\n

	/* jumps, calls, returns */
	odd \n
.Ljump\n:
	jmp .Lcall\n
	ud2
.Lcall\n:
	expect JMP, 1, .Ljump\n, .Lcall\n
	call .Lfunction\n
.Lcall_next\n:
	jmp .Lover\n
.Lfunction\n:
	expect CALL, 1, .Lcall\n, .Lfunction\n
	odd \n
.Lreturn\n:
	ret
.Lover\n:
	expect RET, 1, .Lreturn\n, .Lcall_next\n
	expect JMP, 1, .Lcall_next\n, .Lover\n

	/* to itself, and to two of them in a row */
	movl $3, %ecx
	odd \n
.Lself\n:
	loop .Lself\n
.Lself_next\n:
	.rept 2
	expect JCC, 1, .Lself\n, .Lself\n
	.endr
	expect JCC, 0, .Lself\n, .Lself_next\n
	odd \n
	odd \n
.Lbehind_two\n:
	jmp .Lbehind_two_to\n
.Lbehind_two_to\n:
	expect JMP, 1, .Lbehind_two\n, .Lbehind_two_to\n
#ifndef VSYSCALL
	movl $3, %ecx
.Lagain\n:
	odd \n
.Lagain_from\n:
	loop .Lagain\n
.Lagain_next\n:
	.rept 2
	expect JCC, 1, .Lagain_from\n, .Lagain\n
	.endr
	expect JCC, 0, .Lagain_from\n, .Lagain_next\n
#endif

	/* what sees the flags: pushf, popf, syscall */
	odd \n
	pushfq
	no_trap_flag
	pushfq
	odd \n
	popfq
	pushfq
	no_trap_flag
	movl $39, %eax			/* getpid, or what the instruction has made of it: nothing that does anything */
	movl $-1, %edi
	odd \n
.Lsystem_call\n:
	syscall
.Lsystem_call_next\n:
	expect SYSCALL, 1, .Lsystem_call\n, .Lsystem_call_next\n
	pushq %r11
	no_trap_flag
	.endr
	leave_program
bad:
	ud2
