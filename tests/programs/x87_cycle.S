// SPDX-License-Identifier: MIT
/* A second thread goes round in a cycle of direct jumps with x87 instructions behind the first of them, until the first thread ends the
 * process with a core file. tests/e2e/engine_signals.py */
	.intel_syntax noprefix
	.globl _start
	.text
back:	fld1
	fstp st(0)
	jmp cycle
	.zero 100
cycle:	jmp back
_start:
	mov eax, 56 /* clone: CLONE_VM, CLONE_FS, CLONE_FILES, CLONE_SIGHAND, CLONE_THREAD */
	mov edi, 0x10f00
	lea rsi, [rip+stack]
	xor edx, edx
	xor r10d, r10d
	xor r8d, r8d
	syscall
	test eax, eax
	jz cycle
	mov eax, 35 /* nanosleep */
	lea rdi, [rip+some_slices]
	xor esi, esi
	syscall
	hlt
	.data
some_slices: .quad 0, 60000000
	.balign 16
	.zero 4096
stack:
	.section .note.GNU-stack, "", @progbits
