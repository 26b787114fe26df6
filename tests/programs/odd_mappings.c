/* SPDX-License-Identifier: MIT */
/* odd_mappings WHAT FILE: changes mappings in a way that few programs do, and prints what is there
 * then. FILE has three pages at least. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE 103
#endif

enum { PAGE = 4096, PAGES = 4, PAGEOUT = 21 /* Linux 5.4 */, HUGE_PAGE = 2 << 20, HUGE_2MB = 21 << 26 };

static sigjmp_buf back;
static int file;

static void on_fault(int signo) { siglongjmp(back, signo); }

static char *map(int pages, int prot, int flags, int fd)
{
	char *at = mmap(NULL, (size_t)pages * PAGE, prot, flags, fd, 0);

	if (at == MAP_FAILED)
		exit(2);
	return at;
}

/* The first byte of each page, -- where it cannot be read; and whether it can be written. */
static void show(const char *what, char *at, int pages)
{
	printf("%s:", what);
	for (int i = 0; i < pages; i++) {
		volatile char *byte = at + i * PAGE;

		if (sigsetjmp(back, 1)) {
			printf(" --");
			continue;
		}
		printf(" %02x", (unsigned char)*byte);
		if (sigsetjmp(back, 1))
			continue;
		*byte = (char)(*byte + 1);
		printf("w");
	}
	putchar('\n');
}

static char *filled(void)
{
	char *at = map(PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	for (int i = 0; i < PAGES; i++)
		at[i * PAGE] = (char)('a' + i);
	return at;
}

static void keep_one(const char *what, char *from, int pages)
{
	char *to = mremap(from, (size_t)pages * PAGE, (size_t)pages * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);

	if (to == MAP_FAILED) {
		printf("%s: %d\n", what, errno);
		return;
	}
	show(what, to, pages);
	show("where it was", from, pages);
}

static void keep(void)
{
	char *of_file = map(2, PROT_READ | PROT_WRITE, MAP_PRIVATE, file);

	keep_one("memory", filled(), PAGES);
	*of_file = 'w';
	keep_one("a file", of_file, 2);
}

static void guard(void)
{
	char *at = filled();

	if (madvise(at + PAGE, 2 * PAGE, MADV_GUARD_INSTALL))
		exit(77);
	show("guarded", at, PAGES);
	printf("%d\n", madvise(at, 2 * PAGE, MADV_GUARD_REMOVE));
	show("partly", at, PAGES);
	at = filled();
	mmap(at + 2 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	mlock(at + 2 * PAGE, PAGE);
	printf("%d\n", madvise(at, PAGES * PAGE, MADV_GUARD_INSTALL));
	show("failed", at, PAGES);
}

/* What leaves guards in their place: protections, emptying, moving; what takes them away: unmapping,
 * mapping over them. */
static void guard_kept(void)
{
	char *at = filled(), *moved;

	if (madvise(at + PAGE, PAGE, MADV_GUARD_INSTALL))
		exit(77);
	mprotect(at, PAGES * PAGE, PROT_READ);
	show("protected", at, PAGES);
	mprotect(at, PAGES * PAGE, PROT_READ | PROT_WRITE);
	show("unprotected", at, PAGES);
	madvise(at, 3 * PAGE, MADV_DONTNEED);
	show("emptied", at, PAGES);
	madvise(at + PAGE, PAGE, MADV_FREE);
	show("freed", at, PAGES);
	moved = mremap(at, PAGES * PAGE, 2 * PAGES * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, map(2 * PAGES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1));
	show("moved", moved, 2 * PAGES);
	mprotect(moved, PAGES * PAGE, PROT_READ | PROT_WRITE);
	show("moved and unprotected", moved, 2 * PAGES);
	madvise(moved, 2 * PAGES * PAGE, MADV_GUARD_INSTALL);
	show("more", moved, 2 * PAGES);
	madvise(moved + 2 * PAGE, 3 * PAGE, MADV_GUARD_REMOVE);
	mprotect(moved, 2 * PAGES * PAGE, PROT_READ | PROT_WRITE);
	show("less", moved, 2 * PAGES);
	mmap(moved, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	munmap(moved + 5 * PAGE, PAGE);
	show("mapped", moved, 2 * PAGES);
	for (int i = 0; i < 3; i++)
		printf("%d", mprotect(moved, 2 * PAGES * PAGE, i == 1 ? PROT_READ : PROT_READ | PROT_WRITE));
	show(" with a hole", moved, 2 * PAGES);
}

static int of_itself(void)
{
	return (int)syscall(SYS_pidfd_open, getpid(), 0);
}

static void free_of_itself(void)
{
	char *at = filled(), *next = filled(), *of_file = map(1, PROT_READ | PROT_WRITE, MAP_PRIVATE, file);
	const struct iovec parts[] = {{at, 2 * PAGE}, {next + PAGE, PAGE}, {of_file, PAGE}, {at + 3 * PAGE, PAGE}};
	const long self = of_itself();
	register long size __asm__("r8") = 0;
	register long advice __asm__("r10") = MADV_FREE;
	long result = SYS_process_madvise, count = 2;

	__asm__ volatile("syscall" : "+a"(result), "+r"(advice), "+d"(count) : "D"(self), "S"(parts), "r"(size) : "rcx", "r11", "memory");
	if (result == -1 || result == -22 || result == -38)
		exit(77);
	printf("%ld %ld %ld\n", result, advice, count);
	madvise(at, PAGES * PAGE, PAGEOUT); /* now those that are free are lost */
	madvise(next, PAGES * PAGE, PAGEOUT);
	show("freed", at, PAGES);
	show("freed", next, PAGES);
	printf("%ld", syscall(SYS_process_madvise, of_itself(), parts, 4L, (long)MADV_FREE, 0L)); /* up to the file's */
	printf(" %ld", syscall(SYS_process_madvise, of_itself(), parts + 2, 2L, (long)MADV_FREE, 0L));
	printf(" %d\n", errno);
	madvise(at, 2 * PAGE, PAGEOUT);
	madvise(next + PAGE, PAGE, PAGEOUT);
	show("up to a file's", at, PAGES);
	show("up to a file's", next, PAGES);
}

/* The second vector cannot be read: nothing is freed. */
static void free_by_bad_vectors(void)
{
	char *at = filled(), *list = map(2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	struct iovec *parts = (struct iovec *)(list + PAGE) - 1;
	const int self = of_itself();

	munmap(list + PAGE, PAGE);
	*parts = (struct iovec){at, 2 * PAGE};
	printf("%ld", syscall(SYS_process_madvise, self, parts, 2L, (long)MADV_FREE, 0L));
	printf(" %d\n", errno);
	show("not freed", at, PAGES);
}

static void guard_of_itself(void)
{
	char *at = filled();
	const struct iovec parts[] = {{at, PAGE}, {at + 2 * PAGE, PAGE}};

	if (syscall(SYS_process_madvise, of_itself(), parts, 2L, (long)MADV_GUARD_INSTALL, 0L) < 0)
		exit(77);
	show("guarded", at, PAGES);
	syscall(SYS_process_madvise, of_itself(), parts, 1L, (long)MADV_GUARD_REMOVE, 0L);
	mprotect(at, PAGES * PAGE, PROT_READ);
	show("partly", at, PAGES);
}

/* The kernel takes an int: the upper half of the register says nothing. */
static void advice_by_half(void)
{
	const long above = 7L << 32;
	char *at = filled();

	printf("%ld\n", syscall(SYS_madvise, at, (long)PAGE, above | MADV_DONTNEED));
	show("emptied", at, PAGES);
	printf("%ld\n", syscall(SYS_madvise, at + PAGE, (long)PAGE, above | MADV_FREE));
	madvise(at, PAGES * PAGE, PAGEOUT); /* now those that are free are lost */
	show("freed", at, PAGES);
}

/* A request that no row knows writes behind guards of the same mapping: memory is compared. */
static void behind_guard(void)
{
	char *at = filled();
	struct ethtool_value link = {.cmd = ETHTOOL_GLINK, .data = 99};
	struct ifreq request = {.ifr_name = "lo"};

	if (madvise(at + PAGE, PAGE, MADV_GUARD_INSTALL))
		exit(77);
	request.ifr_data = at + 2 * PAGE;
	memcpy(request.ifr_data, &link, sizeof link);
	if (ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCETHTOOL, &request))
		exit(77);
	memcpy(&link, request.ifr_data, sizeof link);
	printf("link %u\n", link.data);
	show("behind guards", at, PAGES);
}

/* A write to a file changes its mapping behind guards, too. They stay when the file is cut, and grows again. */
static void guard_in_file(void)
{
	char *at = map(3, PROT_READ | PROT_WRITE, MAP_SHARED, file), bytes[3 * PAGE];

	memset(bytes, 'x', sizeof bytes);
	if (madvise(at + PAGE, PAGE, MADV_GUARD_INSTALL))
		exit(77);
	printf("%zd\n", pwrite(file, bytes, sizeof bytes, 0));
	show("behind guards", at, 3);
	if (ftruncate(file, 0) || ftruncate(file, 3 * PAGE))
		exit(1);
	show("cut and grown", at, 3);
	printf("%d\n", madvise(at, 3 * PAGE, MADV_GUARD_REMOVE));
	show("without guards", at, 3);
}

/* Shows the third page of the file at what was the second. */
static void within(void)
{
	char *at = map(3, PROT_READ, MAP_SHARED, file);
	long result = syscall(SYS_remap_file_pages, at + PAGE + 5, PAGE + 7, 0, 2, 0);

	printf("%ld\n", result);
	show("remapped", at, 3);
}

static void huge(void)
{
	char *at = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | HUGE_2MB, -1, 0);

	if (at == MAP_FAILED)
		exit(77);
	at[HUGE_PAGE - 1] = 'h';
	printf("%c\n", at[HUGE_PAGE - 1]);
}

static void free_part(void)
{
	char *at = filled();

	mmap(at + 2 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0);
	printf("%d", madvise(at, PAGES * PAGE, MADV_FREE));
	printf(" %d\n", errno);
	madvise(at, 2 * PAGE, PAGEOUT); /* now those that are free are lost */
	show("freed", at, PAGES);
}

/* Where there is swap, its pages are there at each change. */
static void paged_out(void)
{
	char *at = filled();

	madvise(at, PAGES * PAGE, PAGEOUT);
	ioctl(0, 0x12345678, at); /* no row knows it */
	show("asked", at, PAGES);
	madvise(at, PAGES * PAGE, PAGEOUT);
	madvise(at + PAGE, PAGE, MADV_DONTNEED);
	show("emptied", at, PAGES);
	madvise(at, PAGES * PAGE, PAGEOUT);
	munmap(at + 2 * PAGE, PAGE);
	printf("%d\n", mprotect(at, PAGES * PAGE, PROT_READ));
	show("protected", at, PAGES);
	madvise(at, 2 * PAGE, PAGEOUT);
	at = mremap(at, 2 * PAGE, 3 * PAGE, MREMAP_MAYMOVE);
	show("moved", at, 3);
}

static void twice_by_remapping(void)
{
	char *at = map(3, PROT_READ | PROT_WRITE, MAP_SHARED, file);

	syscall(SYS_remap_file_pages, at, PAGE, 0, 2, 0);
	*at = 'r';
	printf("%c\n", at[2 * PAGE]);
}

static void twice_by_protection(void)
{
	char *one = map(1, PROT_READ, MAP_SHARED, file), *other = map(1, PROT_READ, MAP_SHARED, file);

	mprotect(one, PAGE, PROT_READ | PROT_WRITE);
	*one = 'p';
	printf("%c\n", *other);
}

static void twice_by_growth(void)
{
	char *one = map(1, PROT_READ | PROT_WRITE, MAP_SHARED, file),
	     *other = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, PAGE);

	one = mremap(one, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
	one[PAGE] = 'g';
	printf("%c\n", *other);
}

/* Emptied, it still grows: by an access, and where the kernel writes. So does what a move leaves. */
static void grows_when_emptied(void)
{
	const size_t room = 256 * PAGE;
	char *at = map(256, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1), *target = at;

	munmap(at, room);
	at += room - PAGE;
	if (mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_GROWSDOWN, -1, 0) != at)
		exit(2);
	*at = 'e';
	madvise(at, PAGE, MADV_DONTNEED);
	show("by an access", at - 2 * PAGE, 3);
	madvise(at - 2 * PAGE, 3 * PAGE, MADV_DONTNEED);
	printf("%d\n", (int)pread(file, at - 4 * PAGE, PAGE, 0));
	show("by a call", at - 4 * PAGE, 5);
	if (mremap(at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP | MREMAP_FIXED, target) != target)
		exit(2);
	munmap(at - 4 * PAGE, 4 * PAGE);
	show("moved away", at - 2 * PAGE, 3);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} all[] = {
		{"keep", keep}, {"guard", guard}, {"guard-kept", guard_kept}, {"guard-of-itself", guard_of_itself}, {"behind-guard", behind_guard}, {"advice-by-half", advice_by_half}, {"guard-in-file", guard_in_file}, {"free-of-itself", free_of_itself}, {"free-by-bad-vectors", free_by_bad_vectors}, {"within", within}, {"huge", huge}, {"free", free_part}, {"paged-out", paged_out},
		{"twice-by-remapping", twice_by_remapping}, {"twice-by-protection", twice_by_protection},
		{"twice-by-growth", twice_by_growth}, {"grows-when-emptied", grows_when_emptied},
	};

	if (argc < 3 || (file = open(argv[2], O_RDWR)) < 0)
		return 2;
	signal(SIGSEGV, on_fault);
	signal(SIGBUS, on_fault);
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (!strcmp(argv[1], all[i].name))
			all[i].function();
	return 0;
}
