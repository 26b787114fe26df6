/* SPDX-License-Identifier: MIT */
/* Dies in a function of which no unwind information tells who called it. What rbp points to looks like a frame, with a return address
 * that a call has made, in each case: chain: it is one; down, null, same: what it holds for the caller's rbp cannot be that. */
#include <stdint.h>
#include <string.h>

void die_without_cfi(void *rbp);
int never_called(void);
extern const char behind_a_call[];

__asm__(".text\n"
	".globl die_without_cfi\n.type die_without_cfi, @function\n"
	"die_without_cfi: push %rbp; mov %rsp, %rbp; test %rdi, %rdi; cmovnz %rdi, %rbp; ud2\n"
	".size die_without_cfi, . - die_without_cfi\n"
	".globl never_called\n.type never_called, @function\n"
	"never_called: call never_called\n"
	".globl behind_a_call\n"
	"behind_a_call: ret\n"
	".size never_called, . - never_called\n");

__attribute__((noinline)) static int call_without_cfi(void *rbp)
{
	die_without_cfi(rbp);
	return 1;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "chain";
	volatile uint64_t frame[2] = {0, (uintptr_t)behind_a_call};

	if (!strcmp(how, "down"))
		frame[0] = (uintptr_t)frame - 64;
	if (!strcmp(how, "same"))
		frame[0] = (uintptr_t)frame;
	return call_without_cfi(strcmp(how, "chain") ? (void *)(uintptr_t)frame : NULL);
}
