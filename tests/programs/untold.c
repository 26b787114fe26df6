/* SPDX-License-Identifier: MIT */
/* Instructions at which a signal may arrive that they have not raised. A core file is made here; the test moves its registers to one of them. */
#include <stdlib.h>

static long counter = 1;

int main(void)
{
	register long *pointer __asm__("rbx") = &counter;

	if (counter)
		abort();
	__asm__ volatile(
		"jump: jmp jump\n"
		"add_relative: incq counter(%%rip)\n"
		"add_through: incq (%0)\n"
		"div_64: divq %%rcx\n"
		"idiv_64: idivq %%rcx\n"
		"idiv_8: idivb %%cl\n"
		"masked: vmaskmovps (%%rcx), %%ymm1, %%ymm0\n"
		"masked_512: .byte 0x62, 0xf1, 0x7c, 0xa9, 0x10, 0x01\n" /* vmovups ymm0{k1}{z}, [rcx] */
		"later: vpaddd %%zmm0, %%zmm0, %%zmm0\n"
		: : "r"(pointer) : "memory", "rax", "rdx", "xmm0");
	return 0;
}
