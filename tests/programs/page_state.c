// SPDX-License-Identifier: MIT
/* page_state SEED COUNT [mappings]: so many random operations on a few pages, which hold small functions: mapped, mapped twice, unmapped, moved, protected,
 * written in every way, called, read, shared with children. What each gave: the same in each run of a seed. At last, on stderr, its
 * mappings. tests/e2e/engine_random.py */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	PAGES = 24,
	MOST_AT_ONCE = 4,
	FILES = 2,
	FILE_PAGES = 6,
	FUNCTIONS = 3, /* in a page, so many bytes apart */
	APART = 64,
	STACK = 1 << 16,
	RET = 0xc3,
};

static uint64_t state;
static uint8_t *pages;
static int files[FILES];
static sigjmp_buf behind;
static volatile int caught, code_caught;
static volatile long caught_at;

static uint32_t next(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

static void catch_fault(int signo, siginfo_t *info, void *context)
{
	(void)context;
	caught = signo;
	code_caught = info->si_code;
	caught_at = (long)((uint8_t *)info->si_addr - pages);
	siglongjmp(behind, 1);
}

/* For tests that send it anywhere. */
static void do_nothing(int signo) { (void)signo; }

static void say(const char *name, long a, long b, long result)
{
	printf("%s %ld %ld: %ld (%d)\n", name, a, b, result, result < 0 ? errno : 0);
}

/* What came of memory that may not be there. Where a fault was is known but for ones of calls, which are in the middle of nowhere. */
static void say_tried(const char *name, long a, long result, bool with_place)
{
	if (caught)
		printf("%s %ld: signal %d, code %d, at %ld\n", name, a, caught, code_caught, with_place ? caught_at : 0);
	else
		printf("%s %ld: %ld\n", name, a, result);
}

/* eax = value; ret: at once, by a sum, behind a loop, behind a call. At most APART bytes. */
static size_t make_function(uint8_t *at, int32_t value)
{
	static const struct {
		uint8_t bytes[20];
		size_t len, value_at;
	} forms[] = {
		{{0xb8, 0, 0, 0, 0, RET}, 6, 1},
		{{0x31, 0xc0, 0x05, 0, 0, 0, 0, RET}, 8, 3},
		{{0xb9, 5, 0, 0, 0, 0x31, 0xc0, 0x05, 0, 0, 0, 0, 0xff, 0xc9, 0x75, 0xf5, RET}, 17, 8},
		{{0xe8, 1, 0, 0, 0, RET, 0xb8, 0, 0, 0, 0, RET}, 12, 7},
	};
	uint32_t form = next(sizeof forms / sizeof forms[0]);
	uint8_t bytes[sizeof forms[0].bytes];

	memcpy(bytes, forms[form].bytes, sizeof bytes);
	memcpy(bytes + forms[form].value_at, &value, sizeof value);
	for (size_t i = 0; i < forms[form].len; i++) /* may fault in its midst */
		at[i] = bytes[i];
	return forms[form].len;
}

static int any_protection(void)
{
	static const int each[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC, PROT_EXEC};

	return next(3) ? PROT_READ | PROT_WRITE | PROT_EXEC : each[next(sizeof each / sizeof each[0])];
}

static long any_pages(size_t *n)
{
	long page = (long)next(PAGES);

	*n = 1 + next(MOST_AT_ONCE);
	if (page + (long)*n > PAGES)
		*n = (size_t)(PAGES - page);
	*n *= PAGE;
	return page;
}

static uint8_t *page_at(long page) { return pages + page * PAGE; }

/* Mostly one that there has just been something with. */
static long any_function(void)
{
	static long last;

	if (!next(3))
		last = (long)next(PAGES) * PAGE + (long)next(FUNCTIONS) * APART;
	return last;
}

static void map_memory(void)
{
	size_t n;
	long page = any_pages(&n);
	int protection = any_protection(), shared = next(3) ? MAP_PRIVATE : MAP_SHARED;

	say("memory", page, protection, mmap(page_at(page), n, protection, MAP_FIXED | MAP_ANONYMOUS | shared, -1, 0) == MAP_FAILED ? -1 : 0);
}

static void map_file(void)
{
	size_t n;
	long page = any_pages(&n), from = (long)next(FILE_PAGES);
	int protection = any_protection(), shared = next(2) ? MAP_PRIVATE : MAP_SHARED;

	say("file", page, from, mmap(page_at(page), n, protection, MAP_FIXED | shared, files[next(FILES)], from * PAGE) == MAP_FAILED ? -1 : 0);
}

static void unmap(void)
{
	size_t n;
	long page = any_pages(&n);

	say("unmap", page, (long)n, munmap(page_at(page), n));
	/* The place stays ours. */
	mmap(page_at(page), n, PROT_NONE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void protect(void)
{
	size_t n;
	long page = any_pages(&n);
	int protection = any_protection();

	say("protect", page, protection, mprotect(page_at(page), n, protection));
}

static void move(void)
{
	size_t n;
	long page = any_pages(&n), to = (long)next(PAGES - MOST_AT_ONCE + 1);
	int flags = MREMAP_MAYMOVE | MREMAP_FIXED | (next(4) ? 0 : MREMAP_DONTUNMAP);
	bool moved = mremap(page_at(page), n, n, flags, page_at(to)) != MAP_FAILED;

	say("move", page, to, moved ? 0 : -1);
	if (moved && !(flags & MREMAP_DONTUNMAP))
		mmap(page_at(page), n, PROT_NONE, MAP_FIXED_NOREPLACE | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void discard(void)
{
	size_t n;
	long page = any_pages(&n);

	say("discard", page, (long)n, madvise(page_at(page), n, next(2) ? MADV_DONTNEED : MADV_REMOVE));
}

static void write_function(void)
{
	long at = any_function();
	int32_t value = (int32_t)next(100000);

	caught = 0;
	if (!sigsetjmp(behind, 1))
		make_function(pages + at, value);
	say_tried("write", at, value, true);
}

/* With eax 0: what is full of zeros (add %al, (%rax)) is not to write to itself 2048 times. */
static int call_at(long at)
{
	int result = 0;

	caught = 0;
	if (sigsetjmp(behind, 1))
		return -1;
	__asm__ volatile("lea -128(%%rsp), %%rsp; call *%%rdx; lea 128(%%rsp), %%rsp" : "+a"(result) : "d"(pages + at) : "rcx", "cc", "memory");
	return result;
}

static void call_function(void)
{
	long at = any_function(), result = 0;

	for (uint32_t i = 1 + next(4); i; i--)
		result = call_at(at);
	say_tried("call", at, result, false);
}

/* By the kernel: to the file behind the pages, to another address space that is this one, past all protection. */
static void poke_function(void)
{
	uint8_t bytes[APART] = {0};
	long at = any_function(), in_file = any_function() % (FILE_PAGES * PAGE);
	size_t n = make_function(bytes, (int32_t)next(100000));
	const struct iovec from = {bytes, n}, to = {pages + at, n};
	int memory;

	switch (next(3)) {
	case 0:
		say("write the file", in_file, (long)n, pwrite(files[next(FILES)], bytes, n, in_file));
		return;
	case 1:
		say("process_vm_writev", at, (long)n, process_vm_writev(getpid(), &from, 1, &to, 1, 0));
		return;
	default:
		memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
		say("/proc/self/mem", at, (long)n, pwrite(memory, bytes, n, (off_t)(uintptr_t)(pages + at)));
		close(memory);
		return;
	}
}

static void in_child(void)
{
	long at = any_function();
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		say_tried("child's call", at, call_at(at), false);
		caught = 0;
		if (!sigsetjmp(behind, 1))
			make_function(pages + at, (int32_t)next(100000));
		say_tried("child's write", at, 0, true);
		say_tried("child's call", at, call_at(at), false);
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void read_page(void)
{
	long page = (long)next(PAGES);
	volatile uint32_t sum = 0;

	caught = 0;
	if (!sigsetjmp(behind, 1))
		for (long i = 0; i < FUNCTIONS * APART; i++)
			sum = sum * 31 + page_at(page)[i];
	say_tried("read", page, sum, true);
}

static void cut_file(void)
{
	long left = FILE_PAGES / 2 + (long)next(FILE_PAGES / 2 + 1);

	say("cut", left, 0, ftruncate(files[1], left * PAGE));
}

/* What caught says, the place being anywhere. */
static void try_at(uint8_t *at)
{
	int32_t value = (int32_t)next(100000);

	caught = 0;
	if (!sigsetjmp(behind, 1))
		make_function(at, value);
	say_tried("write elsewhere", 0, value, false);
	say_tried("call elsewhere", 0, call_at((long)(at - pages)), false);
}

/* Pages that lie where the kernel likes, and move. */
static void elsewhere(void)
{
	static uint8_t *at;
	static size_t n;
	size_t more = (1 + next(MOST_AT_ONCE)) * PAGE;
	int protection = any_protection();
	void *got;

	switch (at ? next(5) : 0) {
	case 0:
		if (at)
			say("unmap elsewhere", 0, (long)n, munmap(at, n));
		n = more;
		got = mmap(NULL, n, protection, MAP_PRIVATE | MAP_ANONYMOUS | (next(2) ? MAP_POPULATE : 0), -1, 0);
		at = got == MAP_FAILED ? NULL : got;
		say("map elsewhere", protection, (long)n, at ? 0 : -1);
		return;
	case 1:
		say("protect elsewhere", protection, (long)n, mprotect(at, n, protection));
		return;
	case 2:
		got = mremap(at, n, more, MREMAP_MAYMOVE);
		say("move elsewhere", (long)n, (long)more, got == MAP_FAILED ? -1 : 0);
		at = got == MAP_FAILED ? at : got;
		n = got == MAP_FAILED ? n : more;
		return;
	case 3:
		say("discard elsewhere", 0, (long)n, madvise(at, n, next(2) ? MADV_DONTNEED : MADV_RANDOM));
		return;
	default:
		try_at(at);
	}
}

/* The heap, behind what malloc has of it. */
static void heap(void)
{
	static size_t n;
	static uint8_t *start;
	size_t now = next(MOST_AT_ONCE) * PAGE;
	int protection = any_protection();

	start = start ? start : sbrk(0);
	switch (next(3)) {
	case 0:
		say("heap", (long)n, (long)now, brk(start + now));
		n = now;
		return;
	case 1:
		say("protect heap", protection, (long)n, n ? mprotect((uint8_t *)(((uintptr_t)start + PAGE - 1) / PAGE * PAGE), n - PAGE, protection) : 0);
		return;
	default:
		if (n > PAGE)
			try_at((uint8_t *)(((uintptr_t)start + PAGE - 1) / PAGE * PAGE));
	}
}

/* What the kernel says of them, but for where the stack ends, which grows as it likes. */
static void say_mappings(void)
{
	static char text[1 << 18];
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	fflush(stdout);
	while (fd >= 0 && (n = read(fd, text, sizeof text)) > 0)
		(void)!write(STDERR_FILENO, text, (size_t)n);
	_exit(0);
}

static void operate(void)
{
	static void (*const rows[])(void) = {
		map_memory,	map_memory,    map_file,      map_file,	     map_file,	    unmap,     protect,	 protect,  move,	discard, write_function,
		write_function, write_function, call_function, call_function, call_function, call_function, poke_function, in_child, read_page, cut_file,
		elsewhere, elsewhere, elsewhere, heap, heap,
	};

	rows[next(sizeof rows / sizeof rows[0])]();
}

static void prepare(void)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
	static uint8_t stack[STACK];
	const struct sigaction action = {.sa_sigaction = catch_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};

	const struct sigaction nothing = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};

	sigaltstack(&other, NULL);
	sigaction(SIGALRM, &nothing, NULL);
	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
		sigaction(signals[i], &action, NULL);
	pages = mmap(NULL, (size_t)PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < FILES; i++) {
		uint8_t page[PAGE];

		files[i] = memfd_create("pages", MFD_CLOEXEC);
		memset(page, RET, sizeof page);
		for (int k = 0; k < FILE_PAGES; k++) {
			for (int f = 0; f < FUNCTIONS; f++)
				make_function(page + f * APART, 1000 * i + 10 * k + f);
			(void)!pwrite(files[i], page, sizeof page, (off_t)k * PAGE);
		}
	}
}

int main(int argc, char **argv)
{
	static char text[1 << 16];

	if (argc < 3)
		return 2;
	state = strtoull(argv[1], NULL, 0);
	setvbuf(stdout, text, _IOFBF, sizeof text);
	prepare();
	for (long n = strtol(argv[2], NULL, 0); n > 0; n--)
		operate();
	if (argc > 3)
		say_mappings();
	return 0;
}
