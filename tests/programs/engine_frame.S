/* SPDX-License-Identifier: MIT */
/* What surrounds the random functions that tests/e2e/engine_generate.py makes (f0 and on): start, checkpoints, handlers. The
 * generator puts in front: WITH_AVX, WITH_AVX512, WITH_GS, FUNCTIONS, FUEL (calls made by each), COUNTERS; and behind: tables, mem, mem0. */
#define OUT_SIZE 0x200000
#define STACK_SIZE 0x8000
#define MEM_SIZE (4096 + 1024)
#define SYS_write 1
#define SYS_rt_sigaction 13
#define SYS_setitimer 38
#define SYS_exit_group 231
#define SYS_sigaltstack 131
#define SYS_arch_prctl 158
#define SIGINFO_ONSTACK_RESTORER 0x0c000004

	.text
	.globl _start
_start:
	movq (%rsp), %rax
	movq %rax, argc(%rip)
	movq 16(%rsp), %rax
	movq %rax, interval(%rip)
	movq 24(%rsp), %rax
	movq %rax, wanted(%rip)
	leaq stack_top(%rip), %rsp
	movl $131, %eax
	leaq alternative(%rip), %rdi
	xorl %esi, %esi
	syscall
	.irp signal, 4, 5, 7, 8, 11
	movl $\signal, %edi
	leaq fault_action(%rip), %rsi
	call set_action
	.endr
	movl $SYS_arch_prctl, %eax
	movl $0x1002, %edi
	leaq mem(%rip), %rsi
	syscall
#if WITH_GS
	movl $SYS_arch_prctl, %eax
	movl $0x1001, %edi
	leaq mem+64(%rip), %rsi
	syscall
#endif
	cmpq $3, argc(%rip)
	jb round
	call start_alarm
round:
	leaq out(%rip), %rax
	movq %rax, out_at(%rip)
	movl $0, fuel(%rip)
	fxrstor64 clean(%rip)
#if WITH_AVX
	vzeroall
#endif
#if WITH_AVX512
	.irp n, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	vpxorq %zmm\n, %zmm\n, %zmm\n
	.endr
	.irp n, 0,1,2,3,4,5,6,7
	kxorq %k\n, %k\n, %k\n
	.endr
#endif
	.irp n, 0,1,2,3,4,5,6,7
	movdqu mem+64*\n(%rip), %xmm\n
	.endr
	.irp r, rax,rcx,rdx,rbx,rbp,rsi,rdi,r8,r9,r10,r11,r12,r13,r14,r15
	leaq mem(%rip), %\r
	.endr
	movq 128(%rax), %rax
	movq 64(%rdx), %rdx
	movq 512(%r8), %r8
	movq 1024(%r11), %r11
	movq 264(%r15), %r15
	movabsq $0x8877665544332211, %rcx
	movl $77, %r9d
	pushq $0x202
	popfq
	.irp function, FUNCTIONS
	addl $FUEL, fuel(%rip)
	cmpq %rax, %r11
	call \function
	movl $0xed7, cp_mask(%rip)
	cmpq %rax, %r11
	call checkpoint
	.endr
	cmpq $3, argc(%rip)
	jae again
	leaq out(%rip), %rsi
	movq out_at(%rip), %rdx
	subq %rsi, %rdx
	call write_all
	xorl %edi, %edi
end:
	movl $SYS_exit_group, %eax
	syscall
	hlt

/* edi: signal, rsi: action */
set_action:
	movl $SYS_rt_sigaction, %eax
	xorl %edx, %edx
	movl $8, %r10d
	syscall
	ret

/* rsi, rdx: writes all of it to stdout. */
write_all:
	movl $1, %edi
1:	movl $SYS_write, %eax
	syscall
	testq %rax, %rax
	jle 2f
	addq %rax, %rsi
	subq %rax, %rdx
	ja 1b
2:	ret

/* rdi: digits; result in rax */
number:
	xorl %eax, %eax
1:	movzbl (%rdi), %ecx
	subl $'0', %ecx
	jb 2f
	imulq $10, %rax, %rax
	addq %rcx, %rax
	incq %rdi
	jmp 1b
2:	ret

start_alarm:
	movq wanted(%rip), %rdi
	call number
	movq %rax, wanted(%rip)
	movq interval(%rip), %rdi
	call number
	movq %rax, timer+8(%rip)
	movq %rax, timer+24(%rip)
	movl $14, %edi
	leaq alarm_action(%rip), %rsi
	call set_action
	movl $SYS_setitimer, %eax
	xorl %edi, %edi
	leaq timer(%rip), %rsi
	xorl %edx, %edx
	syscall
	ret

/* A round is done: the first one's output is kept, each later one must be the same. */
again:
	leaq out(%rip), %rsi
	movq out_at(%rip), %rcx
	subq %rsi, %rcx
	leaq first(%rip), %rdi
	cmpq $0, kept(%rip)
	jne 1f
	movq %rcx, kept(%rip)
	rep movsb
	jmp 2f
1:	cmpq %rcx, kept(%rip)
	jne different
	repe cmpsb
	jne different
2:	movq alarms(%rip), %rax
	cmpq wanted(%rip), %rax
	jae enough
	leaq mem0(%rip), %rsi
	leaq mem(%rip), %rdi
	movl $MEM_SIZE, %ecx
	rep movsb
	xorl %eax, %eax
	movl %eax, checkpoints(%rip)
	leaq counters(%rip), %rdi
	movl $(8 * COUNTERS), %ecx
	rep stosb
	leaq stack(%rip), %rdi
	movl $STACK_SIZE, %ecx
	rep stosb
	leaq out(%rip), %rdi
	movq kept(%rip), %rcx
	rep stosb
	jmp round

different:
	leaq first(%rip), %rsi
	movq kept(%rip), %rdx
	call write_all
	leaq out(%rip), %rsi
	movq out_at(%rip), %rdx
	subq %rsi, %rdx
	call write_all
	movl $3, %edi
	jmp end

enough:
	leaq said(%rip), %rsi
	movl $5, %edx
	call write_all
	xorl %edi, %edi
	jmp end

/* Writes all registers, flags by cp_mask, and every fourth time the vector state, and changes nothing. */
checkpoint:
	pushfq
	pushq %rax
	pushq %rcx
	movq out_at(%rip), %rax
	popq %rcx
	movq %rcx, 8(%rax)
	popq %rcx
	movq %rcx, (%rax)
	movq %rdx, 16(%rax)
	movq %rbx, 24(%rax)
	movq %rbp, 32(%rax)
	movq %rsi, 40(%rax)
	movq %rdi, 48(%rax)
	movq %r8, 56(%rax)
	movq %r9, 64(%rax)
	movq %r10, 72(%rax)
	movq %r11, 80(%rax)
	movq %r12, 88(%rax)
	movq %r13, 96(%rax)
	movq %r14, 104(%rax)
	movq %r15, 112(%rax)
	popq %rcx
	movq %rcx, flags(%rip)
	movl cp_mask(%rip), %edx
	andq %rdx, %rcx
	movq %rcx, 120(%rax)
	movq %rsp, 128(%rax)
	movq (%rsp), %rcx
	movq %rcx, 136(%rax)
	leaq 144(%rax), %rcx
	movq %rcx, out_at(%rip)
	incl checkpoints(%rip)
	testb $3, checkpoints(%rip)
	jnz 1f
	call vectors
1:	movq out_at(%rip), %rcx
	leaq out_end-0x10000(%rip), %rdx
	cmpq %rdx, %rcx
	jae too_much
	movq 16(%rax), %rdx
	pushq flags(%rip)
	movq 8(%rax), %rcx
	movq (%rax), %rax
	popfq
	movq $0, -8(%rsp)
	movq $0, -16(%rsp)
	ret

too_much:
	movl $5, %edi
	jmp end

/* rcx: where to. Keeps all but rcx and flags. */
vectors:
	leaq 63(%rcx), %rcx
	andq $-64, %rcx
	fxsave64 (%rcx)
	movw $0, 6(%rcx)
	movq $0, 8(%rcx)
	movq $0, 16(%rcx)
	leaq 512(%rcx), %rcx
#if WITH_AVX512
	.irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	vmovdqu64 %zmm\n, 64*\n(%rcx)
	.endr
	leaq 2048(%rcx), %rcx
	.irp n, 0,1,2,3,4,5,6,7
	kmovq %k\n, 8*\n(%rcx)
	.endr
	leaq 64(%rcx), %rcx
#elif WITH_AVX
	.irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	vmovdqu %ymm\n, 32*\n(%rcx)
	.endr
	leaq 512(%rcx), %rcx
#endif
	movq %rcx, out_at(%rip)
	ret

/* A fault: writes the registers at the handler's entry, what siginfo and ucontext hold, and goes on at `resume`. */
on_fault:
	pushfq
	movq out_at(%rip), %rcx
	movq %rax, (%rcx)
	movq %rbx, 8(%rcx)
	movq %rbp, 16(%rcx)
	movq %r8, 24(%rcx)
	movq %r9, 32(%rcx)
	movq %r10, 40(%rcx)
	movq %r11, 48(%rcx)
	movq %r12, 56(%rcx)
	movq %r13, 64(%rcx)
	movq %r14, 72(%rcx)
	movq %r15, 80(%rcx)
	popq %rax
	movl cp_mask(%rip), %r8d
	andq %r8, %rax
	movq %rax, 88(%rcx)
	movslq %edi, %rax
	movq %rax, 96(%rcx)
	movslq 8(%rsi), %rax
	movq %rax, 104(%rcx)
	movq 16(%rsi), %rax
	movq %rax, 112(%rcx)
	/* r8..cr2: 23 words; flags by cp_mask, cr2 only where the trap is a page fault. */
	movq %rdx, %rbx
	leaq 40(%rdx), %rsi
	leaq 120(%rcx), %rdi
	movl $23, %ecx
	rep movsq
	andq %r8, -48(%rdi)
	cmpq $14, -24(%rdi)
	je 1f
	movq $0, -8(%rdi)
1:	movq 224(%rbx), %rsi
	movl 24(%rsi), %eax
	movq %rax, (%rdi)
	addq $8, %rdi
	addq $160, %rsi
	movl $32, %ecx
	rep movsq
	movq %rdi, out_at(%rip)
	movq resume(%rip), %rax
	movq %rax, 168(%rbx)
	movq resume_rsp(%rip), %rax
	movq %rax, 160(%rbx)
	testl $1, edit(%rip)
	jz 2f
	movabsq $0x1122334455667788, %rax
	movq %rax, 64(%rbx)  /* r11 */
	notq %rax
	movq %rax, 152(%rbx) /* rcx */
	movq $-5, 144(%rbx)  /* rax */
	movq 176(%rbx), %rax
	andq $~0x8d5, %rax
	orq $0x891, %rax     /* of, sf, af, cf */
	movq %rax, 176(%rbx)
2:	ret

restorer:
	movl $15, %eax
	syscall

/* An alarm, at any instruction: the interrupted address is the program's own, or where a branch to a null pointer led and its fault is still
 * to come; everything is made dirty. */
on_alarm:
	movq 168(%rdx), %rax
	cmpq $0x2000, %rax
	jb 1f
	leaq _start(%rip), %rcx
	cmpq %rcx, %rax
	jb foreign
	leaq text_end(%rip), %rcx
	cmpq %rcx, %rax
	jae foreign
1:	incq alarms(%rip)
	fninit
	fldpi
#if WITH_AVX
	.irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	vpcmpeqd %ymm\n, %ymm\n, %ymm\n
	.endr
#endif
#if WITH_AVX512
	kxnorq %k1, %k1, %k1
	vpternlogd $0xff, %zmm17, %zmm17, %zmm17
#endif
	.irp r, rax,rcx,rdx,rbx,rbp,rsi,rdi,r8,r9,r10,r11,r12,r13,r14,r15
	movabsq $0x5a5a5a5a5a5a5a5a, %\r
	.endr
	addq %rax, %rax
	ret

foreign:
	movl $4, %edi
	jmp end

	.data
	.p2align 4
alternative:
	.quad alternative_stack, 0, 0x10000
fault_action:
	.quad on_fault, SIGINFO_ONSTACK_RESTORER, restorer, 0
alarm_action:
	.quad on_alarm, SIGINFO_ONSTACK_RESTORER, restorer, 0
timer:
	.quad 0, 0, 0, 0
	.p2align 6
clean:
	.word 0x37f
	.zero 22
	.long 0x1f80
	.zero 484
argc:	.quad 0
out_at:	.quad 0
flags:	.quad 0
resume:	.quad 0
resume_rsp: .quad 0
alarms:	.quad 0
wanted:	.quad 0
kept:	.quad 0
zero:	.quad 0
interval: .quad 0
cp_mask: .long 0
fuel:	.long 0
edit:	.long 0
checkpoints: .long 0
said:	.ascii "same\n"
counters: .zero 8 * COUNTERS

	.bss
	.p2align 6
alternative_stack: .zero 0x10000
stack:	.zero STACK_SIZE
stack_top: .zero 64
out:	.zero OUT_SIZE
out_end:
first:	.zero OUT_SIZE
