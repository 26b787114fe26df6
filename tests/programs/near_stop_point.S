// SPDX-License-Identifier: MIT
/* BEFORE (ten) conditionals, ROUNDS of a cycle without one (a call, a return and an indirect jump), a hundred conditionals, an hlt.
 * tests/e2e/engine_history.py */
#ifndef BEFORE
#define BEFORE 10
#endif
	.intel_syntax noprefix
	.globl _start
	.text
_start:
	mov ecx, BEFORE
1:	dec ecx
	jnz 1b
	lea rbx, [rip+out]
	mov edi, ROUNDS
again:
	call count
	lea rdx, [rip+again]
	cmovz rdx, rbx
	jmp rdx
count:
	dec rdi
	ret
out:	mov ecx, 100
1:	dec ecx
	jnz 1b
	hlt
