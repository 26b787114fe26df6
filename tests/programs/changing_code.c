// SPDX-License-Identifier: MIT
/* changing_code NAME: code that is written, moved, copied and replaced while it runs. Every case prints sums that come out wrong when
 * an old version runs once. tests/e2e/engine_signals.py */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.inc"

enum {
	PAGE = 4096,
	TIMES = 300
};

typedef long function(long);

/* lea value(%rdi), %rax; ret */
static size_t write_function(unsigned char *at, int32_t value)
{
	static const unsigned char code[] = {0x48, 0x8d, 0x87, 0, 0, 0, 0, 0xc3};

	memcpy(at, code, sizeof code);
	memcpy(at + 3, &value, sizeof value);
	return sizeof code;
}

static long call(void *at, long x)
{
	return ((function *)at)(x);
}

static void *map(int prot, int flags, int fd, void *where)
{
	void *at = mmap(where, PAGE, prot, flags | (where ? MAP_FIXED : 0), fd, 0);

	if (at == MAP_FAILED) {
		perror("mmap");
		exit(3);
	}
	return at;
}

static void *anonymous(int prot)
{
	return map(prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, NULL);
}

/* A page that is writable and executable all along. */
static long rewritten(void)
{
	unsigned char *page = anonymous(PROT_READ | PROT_WRITE | PROT_EXEC);
	long bad = 0;

	for (int i = 0; i < TIMES; i++) {
		write_function(page, i);
		for (int k = 0; k < 3; k++)
			bad += call(page, k) != i + k;
		page[3]++; /* one byte of the constant */
		bad += (unsigned char)call(page, 0) != (unsigned char)(i + 1);
	}
	return bad;
}

/* Writable or executable, never both. */
static long toggled(void)
{
	unsigned char *page = anonymous(PROT_READ | PROT_WRITE);
	long bad = 0;

	for (int i = 0; i < TIMES; i++) {
		mprotect(page, PAGE, PROT_READ | PROT_WRITE);
		write_function(page, i);
		mprotect(page, PAGE, PROT_READ | PROT_EXEC);
		bad += call(page, 5) != i + 5;
	}
	return bad;
}

/* Written through one mapping, run through another. */
static long double_mapped(void)
{
	int fd = memfd_create("code", 0);
	unsigned char *writable, *runnable;
	long bad = 0;

	if (fd < 0 || ftruncate(fd, PAGE))
		exit(3);
	writable = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd, NULL);
	runnable = map(PROT_READ | PROT_EXEC, MAP_SHARED, fd, NULL);
	for (int i = 0; i < TIMES; i++) {
		write_function(writable, i);
		bad += call(runnable, 1) != i + 1;
	}
	return bad;
}

/* Written by a system call: through the descriptor, and by read(2) into the page. */
static long file_mapped(void)
{
	int fd = memfd_create("code", 0), ends[2];
	unsigned char *runnable, *page = anonymous(PROT_READ | PROT_WRITE | PROT_EXEC), bytes[16];
	long bad = 0;

	if (fd < 0 || ftruncate(fd, PAGE) || pipe(ends))
		exit(3);
	runnable = map(PROT_READ | PROT_EXEC, MAP_SHARED, fd, NULL);
	for (int i = 0; i < TIMES; i++) {
		size_t size = write_function(bytes, i);

		bad += pwrite(fd, bytes, size, 0) != (ssize_t)size;
		bad += call(runnable, 2) != i + 2;
		write_function(bytes, i + 7);
		bad += write(ends[1], bytes, size) != (ssize_t)size || read(ends[0], page, size) != (ssize_t)size;
		bad += call(page, 2) != i + 9;
	}
	return bad;
}

/* A private mapping of a memory file has what is written to that through others, as long as its page is nobody's own; so has one that may be
 * written. */
static long privately_mapped(void)
{
	int fd = memfd_create("code", 0);
	unsigned char *writable, *runnable, *both, bytes[16];
	long bad = 0;

	if (fd < 0 || ftruncate(fd, PAGE))
		exit(3);
	writable = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd, NULL);
	runnable = map(PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, NULL);
	both = map(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, fd, NULL);
	for (int i = 0; i < TIMES; i++) {
		size_t size = write_function(bytes, i);

		bad += pwrite(fd, bytes, size, 0) != (ssize_t)size;
		bad += call(runnable, 2) != i + 2 || call(both, 2) != i + 2;
		write_function(writable, i + 5);
		bad += call(runnable, 3) != i + 8 || call(both, 3) != i + 8;
	}
	write_function(both, 100); /* its own page from here on */
	write_function(writable, 7);
	return bad + (call(both, 1) != 101) + (call(runnable, 1) != 8);
}

/* Other code at the same address. */
static long remapped(void)
{
	void *place = anonymous(PROT_READ);
	long bad = 0;

	for (int i = 0; i < TIMES; i++) {
		unsigned char *page = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, place);

		write_function(page, i);
		mprotect(page, PAGE, PROT_READ | PROT_EXEC);
		bad += call(page, 0) != i;
		if (i % 3 == 0)
			munmap(page, PAGE);
		else if (i % 3 == 1) {
			unsigned char *other = anonymous(PROT_READ | PROT_WRITE);

			write_function(other, -i);
			mprotect(other, PAGE, PROT_READ | PROT_EXEC);
			bad += mremap(other, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, page) != page;
			bad += call(page, 0) != -i;
		}
	}
	return bad;
}

/* One thread patches an aligned constant, another runs the code: it sees the old or a new one, and the last in the end. */
struct patched {
	_Atomic(int32_t) *constant;
	atomic_int done;
};

static void *patch(void *argument)
{
	struct patched *p = argument;

	for (int i = 1; i <= TIMES; i++)
		atomic_store(p->constant, i);
	atomic_store(&p->done, 1);
	return NULL;
}

static long patched_by_thread(void)
{
	unsigned char *page = anonymous(PROT_READ | PROT_WRITE | PROT_EXEC);
	struct patched p = {.constant = (void *)(page + 4)};
	pthread_t thread;
	long bad = 0, last = 0;

	write_function(page + 1, 0);
	if (pthread_create(&thread, NULL, patch, &p))
		exit(3);
	while (!atomic_load(&p.done)) {
		long now = call(page + 1, 0);

		bad += now < last || now > TIMES;
		last = now;
	}
	pthread_join(thread, NULL);
	return bad + (call(page + 1, 0) != TIMES);
}

/* A program that reads its own code sees its own code. */
static __attribute__((noinline)) long read_me(long x) { return x * 3 + 0x1234567; }

static long own_text(void)
{
	const unsigned char *bytes = (const unsigned char *)read_me;
	static const unsigned char constant[] = {0x67, 0x45, 0x23, 0x01};
	long found = 0;

	for (int round = 0; round < 3; round++) {
		if (read_me(round) != round * 3 + 0x1234567)
			return 1;
		for (int i = 0; i < 40; i++)
			found += !memcmp(bytes + i, constant, sizeof constant);
	}
	return found != 3;
}

/* A store that ends in a page of code, and one that begins there. */
static long unaligned_store(void)
{
	unsigned char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *at = pages + PAGE - 5; /* the constant lies across the boundary */
	long bad = 0;

	for (int i = 0; i < TIMES; i++) {
		int32_t value = i * 0x10101;

		write_function(at, value);
		bad += call(at, 0) != value;
		value = -value;
		memcpy(at + 3, &value, sizeof value);
		bad += call(at, 0) != value;
	}
	return bad;
}

static long many_pages(void)
{
	enum { PAGES = 200 };
	unsigned char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long bad = 0;

	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < PAGES; i++)
			write_function(pages + i * PAGE + i, i + round);
		for (int i = 0; i < PAGES; i++)
			bad += call(pages + i * PAGE + i, round) != i + 2 * round;
	}
	return bad;
}

/* Code that writes what comes next in its own line of code: movb $7, 1(rip) changes the constant of the mov behind it. */
static long copied(void)
{
	static const unsigned char code[] = {0x40, 0x88, 0x3d, 1, 0, 0, 0, /* movb %dil, 1(%rip) */ 0xb8, 0, 0, 0, 0, /* movl $0, %eax */ 0xc3};
	unsigned char *page = anonymous(PROT_READ | PROT_WRITE | PROT_EXEC);
	long bad = 0;

	memcpy(page, code, sizeof code);
	for (int i = 0; i < 250; i++)
		bad += call(page, i) != i;
	return bad;
}

/* The same code loaded twice at different addresses, both used in turn. */
static long loaded_twice(void)
{
	unsigned char *a = anonymous(PROT_READ | PROT_WRITE | PROT_EXEC), *b = anonymous(PROT_READ | PROT_WRITE | PROT_EXEC);
	long bad = 0;

	write_function(a, 1);
	write_function(b, 2);
	for (int i = 0; i < TIMES; i++) {
		bad += call(a, i) != i + 1 || call(b, i) != i + 2;
		if (i == TIMES / 2)
			munmap(a, PAGE), a = map(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, a), write_function(a, 1);
	}
	return bad;
}

extern long patched(void);

/* mov $0x5eed0000, %eax; ret: on a page of its own. */
__asm__(".pushsection .text; .balign 4096; patched: movl $0x5eed0000, %eax; ret; .balign 4096; .popsection");

static const int32_t patched_first = 0x5eed0000;
enum { FROM_PARENT = 100, TO_PARENT };

/* Told by its parent, which has written the next number into the file that this is the program of. */
static long executed_child(void)
{
	long bad = 0;
	char c;

	for (int i = 0; i < 20; i++) {
		for (int k = 0; k < 50; k++)
			bad += patched() != patched_first + i;
		bad += write(TO_PARENT, "", 1) != 1 || read(FROM_PARENT, &c, 1) != 1;
	}
	_exit(bad != 0);
}

/* Where its number is in the file. */
static off_t place_of_patched(int fd)
{
	static unsigned char all[1 << 22];
	ssize_t n = pread(fd, all, sizeof all, 0);

	for (ssize_t at = 0; at + 5 <= n; at += PAGE)
		if (all[at] == 0xb8 && !memcmp(all + at + 1, &patched_first, sizeof patched_first))
			return at + 1;
	exit(3);
}

/* A program that is a memory file, which can be written while it runs. */
static long executed(void)
{
	char *const args[] = {(char *)(uintptr_t) "changing_code", (char *)(uintptr_t) "executed", NULL}, *const environment[] = {(char *)(uintptr_t) "CHILD=1", NULL};
	int from = open("/proc/self/exe", O_RDONLY), fd = memfd_create("program", 0), to_child[2], to_parent[2], status;
	off_t at;
	long bad = 0;
	pid_t child;

	if (getenv("CHILD"))
		return executed_child();
	while (sendfile(fd, from, NULL, 1 << 20) > 0)
		;
	at = place_of_patched(fd);
	if (pipe(to_child) || pipe(to_parent))
		exit(3);
	child = fork();
	if (!child) {
		dup2(to_child[0], FROM_PARENT);
		dup2(to_parent[1], TO_PARENT);
		fexecve(fd, args, environment);
		_exit(3);
	}
	close(to_parent[1]); /* where the child dies there is nothing to wait for */
	for (int32_t i = patched_first + 1; i <= patched_first + 20; i++) {
		char c;

		bad += read(to_parent[0], &c, 1) != 1 || pwrite(fd, &i, sizeof i, at) != sizeof i || write(to_child[1], "", 1) != 1;
	}
	return bad + (waitpid(child, &status, 0) != child) + (status != 0);
}

static const struct row rows[] = {
	{"rewritten", rewritten}, {"toggled", toggled}, {"double-mapped", double_mapped}, {"file-mapped", file_mapped}, {"privately-mapped", privately_mapped},
	{"remapped", remapped}, {"patched-by-thread", patched_by_thread}, {"own-text", own_text}, {"unaligned-store", unaligned_store},
	{"many-pages", many_pages}, {"copied", copied}, {"loaded-twice", loaded_twice}, {"executed", executed},
};

int main(int argc, char **argv) { return run_case(argc, argv, rows, sizeof rows / sizeof rows[0]); }
