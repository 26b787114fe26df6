/* SPDX-License-Identifier: MIT */
/* reserves_much: reserves a terabyte, frees all of it that nobody has written, as the heap of GHC's programs does,
 * uses some pages, frees one of them, and prints what is there. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_GUARD_REMOVE
#define MADV_GUARD_REMOVE 103 /* asm-generic/mman-common.h since Linux 6.13 */
#endif

#define TB (1ul << 40)
#define MB (1ul << 20)

enum { PAGE = 4096 };

int main(void)
{
	char *all = mmap(NULL, TB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *used = all + TB / 2;

	if (all == MAP_FAILED)
		return 1;
	printf("%d\n", madvise(all, TB, MADV_DONTNEED));
	if (mmap(used, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return 1;
	strcpy(used + PAGE, "kept");
	strcpy(used + 2 * PAGE, "freed");
	strcpy(used + 7 * PAGE, "kept, too");
	printf("%d\n", madvise(used + 2 * PAGE, PAGE, MADV_DONTNEED));
	mprotect(used + 7 * PAGE, PAGE, PROT_NONE);
	madvise(all, TB, MADV_GUARD_REMOVE); /* EINVAL before Linux 6.13; changes nothing here */
	mprotect(used + 7 * PAGE, PAGE, PROT_READ);
	printf("[%s] [%s] [%s]\n", used + PAGE, used + 2 * PAGE, used + 7 * PAGE);
	return 0;
}
