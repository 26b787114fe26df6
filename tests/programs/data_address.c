/* SPDX-License-Identifier: MIT */
/* Dies with addresses in registers that no symbol names; says where the linker has put what they point to. */
#include <stdio.h>

extern const char __executable_start[];

int main(void)
{
	const char *literal = "constant";

	printf("%#tx\n", literal - __executable_start);
	fflush(stdout);
	__asm__ volatile("mov %%al, (%0)" : : "r"(literal), "a"(0) : "memory");
	return 0;
}
