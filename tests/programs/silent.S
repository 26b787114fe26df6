// SPDX-License-Identifier: MIT
/* A cycle without a conditional branch that runs BYTES times, until it reads where nothing is mapped. -DINDIRECT: by an indirect jump,
 * -DRETURN: by calls and returns, else by a direct jump. tests/e2e/engine_history.py */
	.intel_syntax noprefix
	.globl _start
	.text
_start:
	mov eax, 9 /* mmap */
	mov edi, 0
	mov esi, BYTES
	mov edx, 1 /* PROT_READ */
	mov r10d, 0x4022 /* MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE */
	mov r8, -1
	mov r9d, 0
	syscall
	lea rsi, [rax+BYTES]
	mov rbx, rax
	mov eax, 11 /* munmap of what lies below: nothing, but for sure */
	lea rdi, [rbx-4096]
	mov r12, rsi
	mov esi, 4096
	syscall
	mov rsi, r12
	cmp rsi, 0
	je out /* the last conditional */
	lea rdx, [rip+again]
again:
	dec rsi
	mov al, [rsi]
#ifdef INDIRECT
	jmp rdx
#elif defined RETURN
	call 1f
	jmp again
1:	ret
#else
	jmp again
#endif
out:
	hlt
