// SPDX-License-Identifier: MIT
/* A cycle of one indirect jump and no conditional, where flags are free: ROUNDS transfers. tests/e2e/engine_history.py */
	.intel_syntax noprefix
	.globl _start
	.text
_start:
	lea rbx, [rip+again]
	lea rdi, [rip+out]
	mov rcx, ROUNDS
	cmp rcx, 0
	je out /* the last conditional */
again:
	sub rcx, 1
	cmovz rbx, rdi
	jmp rbx
out:
	hlt
