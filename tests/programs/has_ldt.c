/* SPDX-License-Identifier: MIT */
/* has_ldt 64|32: makes an entry of its LDT by modify_ldt(2), of the 64-bit table or by int 0x80, or none (no), and asks lar for it. Status 77: the kernel has no such call. */
#include <asm/ldt.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SELECTOR = 7, MODIFY_LDT_32 = 123 }; /* entry 0 of the LDT, of user code; arch/x86/entry/syscalls/syscall_32.tbl */

static long by_int_80(struct user_desc *entry)
{
	long result = MODIFY_LDT_32;

	__asm__ volatile("int $0x80" : "+a"(result) : "b"(0x11l), "c"(entry), "d"(sizeof *entry) : "memory", "r8", "r9", "r10", "r11");
	return (int)result;
}

int main(int argc, char **argv)
{
	struct user_desc *entry = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	unsigned rights = SELECTOR;
	long failed = 0;

	if (argc < 2 || entry == MAP_FAILED)
		return 2;
	*entry = (struct user_desc){.limit = 0xfffff, .limit_in_pages = 1, .seg_32bit = 1, .useable = 1};
	puts("before");
	fflush(stdout);
	if (!strcmp(argv[1], "64"))
		failed = syscall(SYS_modify_ldt, 0x11, entry, sizeof *entry);
	else if (!strcmp(argv[1], "32"))
		failed = by_int_80(entry);
	if (failed)
		return failed == -ENOSYS || errno == ENOSYS ? 77 : 3;
	__asm__ volatile("lar %0, %0; jz 1f; xorl %0, %0; 1:" : "+r"(rights) : : "cc");
	printf("rights %x\n", rights);
	return 0;
}
