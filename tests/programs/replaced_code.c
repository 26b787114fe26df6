// SPDX-License-Identifier: MIT
/* replaced_code NAME: code that cannot be written, behind which the page is replaced by a call that names a part of it, or the file is made shorter.
 * Prints what the code gives, before and then; alone it prints the names. tests/e2e/engine_written.py */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	AT = 2048, /* of the function in its page */
	TIMES = 4,
	ADVICE_DONTNEED_LOCKED = 24, /* Linux 5.18 */
	DONTUNMAP = 4,		     /* of mremap(2), Linux 5.7 */
};

static int file;

/* mov eax, value; ret */
static void put(uint8_t *page, uint8_t value)
{
	memcpy(page + AT, "\xb8____\xc3", 6);
	memcpy(page + AT + 1, (const uint8_t[4]){value}, 4);
}

static int call(uint8_t *page)
{
	int (*code)(void) = (int (*)(void))(void *)(page + AT);

	return code();
}

/* A page of the file, in which the function gives another value. */
static uint8_t *page_with(uint8_t value)
{
	uint8_t *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);

	if (page == MAP_FAILED)
		exit(3);
	put(page, value);
	if (mprotect(page, PAGE, PROT_READ | PROT_EXEC))
		exit(3);
	return page;
}

static void advised(uint8_t *page) { madvise(page, 1, MADV_DONTNEED); }

static void advised_locked(uint8_t *page)
{
	if (madvise(page, 1, ADVICE_DONTNEED_LOCKED))
		madvise(page, 1, MADV_DONTNEED);
}

static void advised_by_itself(uint8_t *page)
{
	struct iovec range = {page, 1};
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (syscall(SYS_process_madvise, self, &range, 1l, (long)MADV_DONTNEED, 0l) != 1) /* of itself, since Linux 6.13 */
		madvise(page, 1, MADV_DONTNEED);
}

static void mapped(uint8_t *page) { mmap(page, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, 0); }
static void moved_there(uint8_t *page) { mremap(page_with(3), 1, 1, MREMAP_MAYMOVE | MREMAP_FIXED, page); }
static void moved_away(uint8_t *page) { mremap(page, 1, 1, MREMAP_MAYMOVE | DONTUNMAP, 0); }

static const struct {
	const char *name;
	void (*replace)(uint8_t *page);
} table[] = {
	{"advised", advised}, {"advised-locked", advised_locked}, {"advised-by-itself", advised_by_itself},
	{"mapped", mapped}, {"moved-there", moved_there}, {"moved-away", moved_away},
};

static void replaced(void (*replace)(uint8_t *page))
{
	char name[] = "replaced.XXXXXX";
	uint8_t first[PAGE] = {0}, *page;
	int before = 0;

	file = mkstemp(name);
	unlink(name);
	put(first, 2);
	if (file < 0 || write(file, first, PAGE) != PAGE)
		exit(3);
	page = page_with(1);
	for (int i = 0; i < TIMES; i++)
		before = call(page);
	replace(page);
	printf("%d, then %d\n", before, call(page));
}

static sigjmp_buf fault;

static void on_fault(int signo) { siglongjmp(fault, signo); }

/* In a memory file that cannot be written, but be made shorter. */
static void shortened(void)
{
	uint8_t first[PAGE] = {0}, *page;
	int before = 0, signo;

	file = memfd_create("shortened", MFD_ALLOW_SEALING);
	put(first, 1);
	if (file < 0 || write(file, first, PAGE) != PAGE || fcntl(file, F_ADD_SEALS, F_SEAL_WRITE))
		exit(3);
	page = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	if (page == MAP_FAILED)
		exit(3);
	for (int i = 0; i < TIMES; i++)
		before = call(page);
	signal(SIGBUS, on_fault);
	if (ftruncate(file, 0))
		exit(3);
	signo = sigsetjmp(fault, 1);
	printf("%d, then %s\n", before, signo == SIGBUS ? "SIGBUS" : call(page) == before ? "the same" : "others");
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		if (argc < 2)
			puts(table[i].name);
		else if (!strcmp(argv[1], table[i].name)) {
			replaced(table[i].replace);
			return 0;
		}
	}
	if (argc < 2)
		puts("shortened");
	else if (!strcmp(argv[1], "shortened"))
		shortened();
	else
		return 2;
	return 0;
}
