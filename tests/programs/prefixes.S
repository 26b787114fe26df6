/* SPDX-License-Identifier: MIT */
/* Conditional branches behind prefixes, all to where they would go on anyway: that they were taken shows in nothing but flags and rcx.
 * REL16, REL32: what 66h makes of the displacement of a near branch, which is only not taken here (it would lead to the lowest 64 KiB).
 * REPEAT_RULES: the processor takes F2 and F3 before LOOPcc for the condition; a branch elsewhere shows whether it does. */
#include "expect.inc"

	.macro flag zf
	.if \zf
	xorl %eax, %eax
	.else
	orl $1, %eax
	.endif
	.endm

	.macro conditional taken, zf, bytes:vararg
	flag \zf
.Lfrom\@:
	.byte \bytes
.Lto\@:
	expect JCC, \taken, .Lfrom\@, .Lto\@
	.endm

	.macro counted taken, count, zf, bytes:vararg
	movabsq $\count, %rcx
	conditional \taken, \zf, \bytes
	.endm

	.macro short prefixes:vararg
	conditional 1, 1, \prefixes, 0x74, 0
	conditional 0, 0, \prefixes, 0x74, 0
	conditional 0, 1, \prefixes, 0x75, 0
	conditional 1, 0, \prefixes, 0x75, 0
	.endm

	.macro near prefixes:vararg
	conditional 1, 1, \prefixes, 0x0f, 0x84, 0, 0, 0, 0
	conditional 0, 0, \prefixes, 0x0f, 0x84, 0, 0, 0, 0
	conditional 0, 1, \prefixes, 0x0f, 0x85, 0, 0, 0, 0
	conditional 1, 0, \prefixes, 0x0f, 0x85, 0, 0, 0, 0
	.endm

	/* narrow: ecx counts, not rcx */
	.macro count narrow, prefixes:vararg
	counted 1, 0, 0, \prefixes, 0xe3, 0
	counted 0, 1, 1, \prefixes, 0xe3, 0
	counted \narrow, 0x100000000, 0, \prefixes, 0xe3, 0
	counted 0, 1, 0, \prefixes, 0xe2, 0
	counted 1, 2, 1, \prefixes, 0xe2, 0
	counted 1, 0, 0, \prefixes, 0xe2, 0
	counted (1-\narrow), 0x100000001, 0, \prefixes, 0xe2, 0
	.endm

	/* loopne, loope: the ZF with which each goes on */
	.macro count_flag narrow, loopne, loope, prefixes:vararg
	.irp zf, 0, 1
	counted 0, 1, \zf, \prefixes, 0xe0, 0
	counted 0, 1, \zf, \prefixes, 0xe1, 0
	counted (\zf==\loopne)&1, 2, \zf, \prefixes, 0xe0, 0
	counted (\zf==\loope)&1, 2, \zf, \prefixes, 0xe1, 0
	counted (\zf==\loopne)&(1-\narrow), 0x100000001, \zf, \prefixes, 0xe0, 0
	counted (\zf==\loope)&(1-\narrow), 0x100000001, \zf, \prefixes, 0xe1, 0
	.endr
	.endm

	.macro all narrow, loopne, loope, prefixes:vararg
	short \prefixes
	near \prefixes
	count \narrow, \prefixes
	count_flag \narrow, \loopne, \loope, \prefixes
	.endm

	all 0, 0, 1, 0x2e
	all 0, 0, 1, 0x2e, 0x2e, 0x2e, 0x2e
	all 0, 0, 1, 0x3e, 0x2e, 0x3e, 0x36, 0x3e
	all 0, 0, 1, 0x26, 0x64, 0x65
	all 0, 0, 1, 0x48
	all 0, 0, 1, 0x2e, 0x41
	all 1, 0, 1, 0x67
	all 1, 0, 1, 0x2e, 0x67
	all 1, 0, 1, 0x67, 0x3e
	all 1, 0, 1, 0x3e, 0x67, 0x4f
	short 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e
	count 1, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x67
	near 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e, 0x3e
	near 0x2e, 0x2e, 0x2e, 0x2e

	.irp repeat, 0xf2, 0xf3
	short \repeat
	near \repeat
	count 0, \repeat
	count 1, 0x67, \repeat
	.endr

#if defined REPEAT_RULES || defined REPEAT_IGNORED
	.macro elsewhere zf, taken, prefix, opcode
	movl $2, %ecx
	flag \zf
	.if \taken
.Lfrom\@:
	.byte \prefix, \opcode, .Lto\@ - 1f
1:	ud2
.Lto\@:
	.else
.Lfrom\@:
	.byte \prefix, \opcode, bad_near - .Lto\@
.Lto\@:
	.endif
	expect JCC, \taken, .Lfrom\@, .Lto\@
	.endm
over_bad:
	jmp repeated
bad_near:
	ud2
repeated:
	expect JMP, 1, over_bad, repeated
#endif
#ifdef REPEAT_RULES
	elsewhere 1, 1, 0xf3, 0xe0
	elsewhere 0, 0, 0xf3, 0xe0
	elsewhere 0, 1, 0xf2, 0xe1
	elsewhere 1, 0, 0xf2, 0xe1
	count_flag 0, 0, 0, 0xf2
	count_flag 0, 1, 1, 0xf3
	count_flag 0, 0, 0, 0xf3, 0xf2
	count_flag 0, 1, 1, 0xf2, 0x2e, 0xf3
	count_flag 1, 1, 1, 0x67, 0xf3
	count_flag 1, 0, 0, 0xf2, 0x67, 0x48
#elif defined REPEAT_IGNORED
	elsewhere 0, 1, 0xf3, 0xe0
	elsewhere 1, 0, 0xf3, 0xe0
	elsewhere 1, 1, 0xf2, 0xe1
	elsewhere 0, 0, 0xf2, 0xe1
	count_flag 0, 0, 1, 0xf2
	count_flag 0, 0, 1, 0xf3
	count_flag 1, 0, 1, 0x67, 0xf3
#endif
#if defined REL16 || defined REL32
	xorl %ebp, %ebp
	.irp zf, 1, 0
	flag \zf
.Losize\zf:
	.byte 0x66, 0x0f, 0x84 + \zf, 0, 0
.Losize_16\zf:
	incl %ebp			/* part of a displacement of 32 bits */
.Losize_32\zf:
#ifdef REL16
	expect JCC, 0, .Losize\zf, .Losize_16\zf
#else
	expect JCC, 0, .Losize\zf, .Losize_32\zf
#endif
	.endr
#ifdef REL16
	cmpl $2, %ebp
#else
	cmpl $0, %ebp
#endif
osize_was:
	jne bad
osize_was_next:
	expect JCC, 0, osize_was, osize_was_next
#endif
	leave_program
bad:
	ud2
