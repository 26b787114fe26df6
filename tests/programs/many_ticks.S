// SPDX-License-Identifier: MIT
/* A loop of one conditional branch, ROUNDS times; rcx is how many are left. tests/e2e/engine_history.py */
	.intel_syntax noprefix
	.globl _start
	.text
_start:
	mov rcx, ROUNDS
again:
	dec rcx
	jnz again
	hlt
