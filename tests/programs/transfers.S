/* SPDX-License-Identifier: MIT */
/* Every branch that is not conditional, and what looks like one and is none. */
#include "expect.inc"

jump_short:
	jmp jump_short_to
	ud2
jump_short_to:
	expect JMP, 1, jump_short, jump_short_to
jump_near:
	jmp jump_near_to
	.skip 300, 0x0b
jump_near_to:
	expect JMP, 1, jump_near, jump_near_to

call_direct:
	call function
call_direct_next:
	expect CALL, 1, call_direct, function
	expect RET, 1, function_ret, call_direct_next

	/* As before __tls_get_addr: data16 lea; data16 data16 rex.W call. */
	.byte 0x66
	leaq pointer(%rip), %rax
	cmpq $pointer, %rax
lea_tested:
	jne near_end
lea_right:
	expect JCC, 0, lea_tested, lea_right
call_padded:
	.byte 0x66, 0x66, 0x48, 0xe8
	.long function - . - 4
call_padded_next:
	expect CALL, 1, call_padded, function
	expect RET, 1, function_ret, call_padded_next
call_padded_memory:
	.byte 0x66, 0x48 /* rex.W */
	call *pointer(%rip)
call_padded_memory_next:
	expect ICALL, 1, call_padded_memory, function
	expect RET, 1, function_ret, call_padded_memory_next

	/* Bytes taken off the stack by the return. */
	pushq $1
	pushq $2
call_pops:
	call function_pops
call_pops_next:
	expect CALL, 1, call_pops, function_pops
	expect RET, 1, function_pops_ret, call_pops_next

	movl $function, %eax
call_register:
	call *%rax
call_register_next:
	expect ICALL, 1, call_register, function
	expect RET, 1, function_ret, call_register_next
call_memory:
	call *pointer
call_memory_next:
	expect ICALL, 1, call_memory, function
	expect RET, 1, function_ret, call_memory_next
	leaq pointer(%rip), %rbx
call_indexed:
	call *8(%rbx)
call_indexed_next:
	expect ICALL, 1, call_indexed, function_two
	expect RET, 1, function_two_ret, call_indexed_next

	movl $jump_register_to, %eax
jump_register:
	jmp *%rax
	ud2
jump_register_to:
	expect IJMP, 1, jump_register, jump_register_to

	/* A jump table, walked through. */
	xorl %ecx, %ecx
switch:
	jmp *table(,%rcx,8)
case_0:
	incl %ecx
case_0_jump:
	jmp switch
case_1:
	addl $1, %ecx
case_1_jump:
	jmp switch
case_2:
	nop
	expect IJMP, 1, switch, case_0
	expect JMP, 1, case_0_jump, switch
	expect IJMP, 1, switch, case_1
	expect JMP, 1, case_1_jump, switch
	expect IJMP, 1, switch, case_2

	/* A return that is a jump. */
	pushq $ret_to
ret_jump:
	ret
	ud2
ret_to:
	expect RET, 1, ret_jump, ret_to

	/* Prefixes: repz ret, bnd, notrack. */
	pushq $repz_ret_to
repz_ret:
	.byte 0xf3
	ret
repz_ret_to:
	expect RET, 1, repz_ret, repz_ret_to
bnd_jump:
	.byte 0xf2
	jmp bnd_jump_to
bnd_jump_to:
	expect JMP, 1, bnd_jump, bnd_jump_to
	movl $function, %eax
notrack_call:
	.byte 0x3e
	call *%rax
notrack_next:
	expect ICALL, 1, notrack_call, function
	expect RET, 1, function_ret, notrack_next

	/* Recursion. */
	movl $2, %edi
call_down:
	call down
call_down_next:
	expect CALL, 1, call_down, down
	expect JCC, 0, down_test, down_deeper
	expect CALL, 1, down_call, down
	expect JCC, 0, down_test, down_deeper
	expect CALL, 1, down_call, down
	expect JCC, 1, down_test, down_end
	expect RET, 1, down_end, down_call_next
	expect RET, 1, down_end, down_call_next
	expect RET, 1, down_end, call_down_next

	/* Call, thrown away: the return goes past the caller. */
call_thrown:
	call thrown
	ud2
call_thrown_next:
	expect CALL, 1, call_thrown, thrown
	expect RET, 1, thrown_ret, call_thrown_next

	/* String instructions branch nowhere, however often they repeat. */
	movl $source, %esi
	movl $target, %edi
	movl $500, %ecx
	cld
	rep movsb
	movl $target, %edi
	movl $500, %ecx
	xorl %eax, %eax
	rep stosb
	movl $target, %edi
	movl $500, %ecx
	movb $1, %al
	repne scasb
	xorl %ecx, %ecx
	rep movsb

	/* A conditional move, set and jump over nothing. */
	xorl %eax, %eax
	cmovel %ecx, %eax
	sete %al
to_next:
	jmp to_next_to
to_next_to:
	expect JMP, 1, to_next, to_next_to
to_next_if:
	jne to_next_if_to
to_next_if_to:
	expect JCC, 0, to_next_if, to_next_if_to
	xorl %eax, %eax
to_next_taken:
	je to_next_taken_to
to_next_taken_to:
	expect JCC, 1, to_next_taken, to_next_taken_to

	movl $39, %eax		/* getpid */
system_call:
	syscall
system_call_next:
	expect SYSCALL, 1, system_call, system_call_next
	movl $99999, %eax	/* there is none of this number */
bad_system_call:
	syscall
bad_system_call_next:
	expect SYSCALL, 1, bad_system_call, bad_system_call_next
	.irp prefix, 0x66, 0x67, 0x2e, 0x64, 0x65, 0xf2, 0xf3, 0x41, 0x48
	movl $39, %eax		/* longer than two bytes */
.Lprefixed\prefix:
	.byte \prefix, 0x0f, 0x05
.Lprefixed_next\prefix:
	expect SYSCALL, 1, .Lprefixed\prefix, .Lprefixed_next\prefix
	.endr
#ifdef WITH_INT80
	movl $20, %eax		/* getpid in the 32-bit table */
old_system_call:
	int $0x80
old_system_call_next:
	expect SYSCALL, 1, old_system_call, old_system_call_next
#endif

	/* Far returns. */
	movq %cs, %rax
	pushq %rax
	pushq $far_to
far_return:
	lretq
	ud2
far_to:
	expect RET, 1, far_return, far_to
	movq %rsp, %rbx
	movq %ss, %rax
	pushq %rax
	pushq %rbx
	pushq $0x202
	movq %cs, %rax
	pushq %rax
	pushq $interrupt_to
interrupt_return:
	iretq
	ud2
interrupt_to:
	expect RET, 1, interrupt_return, interrupt_to

	/* popf and mov ss right before a branch. */
	pushq $0x246
	popfq
after_popf:
	je after_popf_to
	ud2
after_popf_to:
	expect JCC, 1, after_popf, after_popf_to
	movl %ss, %eax
	movl %eax, %ss
after_ss:
	jmp after_ss_to
	ud2
after_ss_to:
	expect JMP, 1, after_ss, after_ss_to
	xorl %ebx, %ebx
	movl %eax, %ss
after_ss_if:
	jne near_end
after_ss_if_next:
	expect JCC, 0, after_ss_if, after_ss_if_next
	movl %eax, %ss
after_ss_call:
	call function
after_ss_call_next:
	expect CALL, 1, after_ss_call, function
	expect RET, 1, function_ret, after_ss_call_next
	movl $39, %ebx
	movl %eax, %ecx
	movl %ebx, %eax
	movl %ecx, %ss
after_ss_system_call:
	syscall
after_ss_system_call_next:
	expect SYSCALL, 1, after_ss_system_call, after_ss_system_call_next
	movl $39, %eax
	movl %ss, %ecx
	movl %ecx, %ss
after_ss_prefixed:
	.byte 0x66, 0x2e, 0x0f, 0x05
after_ss_prefixed_next:
	expect SYSCALL, 1, after_ss_prefixed, after_ss_prefixed_next
	movl %ss, %eax		/* several of them, and back to one */
	movl %eax, %ss
	movl %eax, %ss
	movl %eax, %ss
	nop
	movl %eax, %ss
	movl %eax, %ss
after_many_ss:
	jmp after_many_ss_to
after_many_ss_to:
	expect JMP, 1, after_many_ss, after_many_ss_to
	movl $3, %ecx
ss_again:
	movl %eax, %ss
ss_again_from:
	loop ss_again
ss_again_next:
	.rept 2
	expect JCC, 1, ss_again_from, ss_again
	.endr
	expect JCC, 0, ss_again_from, ss_again_next

	leave_program

function:
	nop
function_ret:
	ret
function_two:
	nop
function_two_ret:
	ret
function_pops:
	nop
function_pops_ret:
	ret $16
down:
	testl %edi, %edi
down_test:
	je down_end
down_deeper:
	decl %edi
down_call:
	call down
down_call_next:
	nop
down_end:
	ret
thrown:
	movq $call_thrown_next, (%rsp)
thrown_ret:
	ret
near_end:
	ud2

	.section .rodata
	.balign 8
pointer:
	.quad function, function_two
table:
	.quad case_0, case_1, case_2
	.bss
source:
	.skip 512
target:
	.skip 512
