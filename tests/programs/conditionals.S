/* SPDX-License-Identifier: MIT */
/* Every conditional branch, taken and not taken, in every encoding and direction. */
#include "expect.inc"

	/* OF as given; SF, ZF, AF, PF and CF from ah. */
	.macro flags of, ah
	.if \of
	movb $0x7f, %al
	addb $1, %al
	.else
	xorl %eax, %eax
	.endif
	movb $\ah, %ah
	sahf
	.endm

	.macro taken cc, of, ah
	flags \of, \ah
.Lfrom\@:
	j\cc .Lto\@			/* 8-bit displacement */
	ud2
.Lto\@:
	expect JCC, 1, .Lfrom\@, .Lto\@
	flags \of, \ah
.Lfrom2\@:
	j\cc .Lto2\@			/* 32-bit displacement */
	.skip 200, 0x0b
.Lto2\@:
	expect JCC, 1, .Lfrom2\@, .Lto2\@
	flags \of, \ah
.Ljump\@:
	jmp .Lfrom3\@
.Lto3\@:
	nop
.Lover\@:
	jmp .Lend\@
.Lfrom3\@:
	j\cc .Lto3\@			/* backwards */
	ud2
.Lend\@:
	expect JMP, 1, .Ljump\@, .Lfrom3\@
	expect JCC, 1, .Lfrom3\@, .Lto3\@
	expect JMP, 1, .Lover\@, .Lend\@
	.endm

	.macro not_taken cc, of, ah
	flags \of, \ah
.Lfrom\@:
	j\cc .Lbad\@
.Lnext\@:
	expect JCC, 0, .Lfrom\@, .Lnext\@
	flags \of, \ah
.Lfrom2\@:
	j\cc bad
.Lnext2\@:
	expect JCC, 0, .Lfrom2\@, .Lnext2\@
.Ljump\@:
	jmp .Lend\@
.Lbad\@:
	ud2
.Lend\@:
	expect JMP, 1, .Ljump\@, .Lend\@
	.endm

	/* cc and its opposite: flags with which cc is true, flags with which it is false. */
	.macro pair cc, opposite, of1, ah1, of0, ah0
	taken \cc, \of1, \ah1
	not_taken \cc, \of0, \ah0
	taken \opposite, \of0, \ah0
	not_taken \opposite, \of1, \ah1
	.endm

	pair o, no, 1, 0x02, 0, 0x02
	pair b, ae, 0, 0x03, 0, 0x02
	pair e, ne, 0, 0x42, 0, 0x02
	pair be, a, 0, 0x42, 0, 0x02
	pair be, a, 0, 0x03, 0, 0x02
	pair s, ns, 0, 0x82, 0, 0x02
	pair p, np, 0, 0x06, 0, 0x02
	pair l, ge, 1, 0x02, 1, 0x82
	pair l, ge, 0, 0x82, 0, 0x02
	pair le, g, 0, 0x42, 0, 0x02
	pair le, g, 1, 0x02, 1, 0x82

	/* jrcxz looks at 64 bits, jecxz at 32. */
	xorl %ecx, %ecx
rcx_zero:
	jrcxz rcx_zero_to
	ud2
rcx_zero_to:
	expect JCC, 1, rcx_zero, rcx_zero_to
	movabsq $0x100000000, %rcx
rcx_high:
	jrcxz near_bad
rcx_high_next:
	expect JCC, 0, rcx_high, rcx_high_next
ecx_zero:
	jecxz ecx_zero_to
	ud2
ecx_zero_to:
	expect JCC, 1, ecx_zero, ecx_zero_to
	incl %ecx
ecx_one:
	jecxz near_bad
ecx_one_next:
	expect JCC, 0, ecx_one, ecx_one_next

	movl $5, %ecx
loop_from:
	loop loop_from
loop_next:
	.rept 4
	expect JCC, 1, loop_from, loop_from
	.endr
	expect JCC, 0, loop_from, loop_next

	/* loope goes on while rcx is left and ZF is set. */
	movl $3, %ecx
	xorl %eax, %eax
loope_from:
	loope loope_from
loope_next:
	.rept 2
	expect JCC, 1, loope_from, loope_from
	.endr
	expect JCC, 0, loope_from, loope_next
	movl $3, %ecx
	orl $1, %ecx
loope_clear:
	loope near_bad
loope_clear_next:
	expect JCC, 0, loope_clear, loope_clear_next
	movl $3, %ecx
	orl $1, %ecx
loopne_from:
	loopne loopne_from
loopne_next:
	.rept 2
	expect JCC, 1, loopne_from, loopne_from
	.endr
	expect JCC, 0, loopne_from, loopne_next
	movl $3, %ecx
	xorl %eax, %eax
loopne_set:
	loopne near_bad
loopne_set_next:
	expect JCC, 0, loopne_set, loopne_set_next

	/* A hint before it: still one branch, which begins at its prefix. */
	xorl %eax, %eax
hinted:
	.byte 0x3e
	je hinted_to
	ud2
hinted_to:
	expect JCC, 1, hinted, hinted_to

	/* Macro-fused with the compare before it where the processor does that: one tick all the same. */
	xorl %ecx, %ecx
fused_again:
	incl %ecx
	cmpl $100, %ecx
fused:
	jne fused_again
fused_next:
	.rept 99
	expect JCC, 1, fused, fused_again
	.endr
	expect JCC, 0, fused, fused_next

	leave_program

near_bad:
	ud2
	.skip 300, 0x0b
bad:
	ud2
