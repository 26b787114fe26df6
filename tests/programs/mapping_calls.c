/* SPDX-License-Identifier: MIT */
/* mapping_calls huge|readable|failed|served|vdso: calls that change mappings in ways that cannot be told from their arguments alone. Prints what it
 * sees; "cannot" where the kernel refuses what it needs. tests/e2e/engine_calls.py */
#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	LARGE = 2 << 20,
	TIMES = 1000,
};

static sigjmp_buf behind;

static int cannot(const char *what)
{
	printf("cannot: %s\n", what);
	return 0;
}

/* eax = value; ret, in a file of its own. */
static int file_with_code(uint8_t value)
{
	const uint8_t code[PAGE] = {0xb8, value, 0, 0, 0, 0xc3};
	char name[] = "mapping_calls.XXXXXX";
	int fd = mkstemp(name), again;

	(void)!write(fd, code, sizeof code);
	again = open(name, O_RDONLY);
	close(fd);
	unlink(name);
	return again;
}

static int call(const void *at)
{
	int sum = 0;

	for (int i = 0; i < TIMES; i++)
		sum += ((int (*)(void))(uintptr_t)at)();
	return sum;
}

static void jump(int signo) { siglongjmp(behind, signo); }

/* A file of huge pages takes the place of more than was asked for. */
static int huge(void)
{
	uint8_t *room = mmap(NULL, 4 * LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t *at = (uint8_t *)(((uintptr_t)room + LARGE - 1) / LARGE * LARGE), *code = at + 16 * PAGE;
	int fd = memfd_create("huge", MFD_HUGETLB), signo;

	if (fd < 0 || ftruncate(fd, LARGE))
		return cannot("memfd_create");
	signal(SIGBUS, jump);
	signal(SIGSEGV, jump);
	mmap(code, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file_with_code(7), 0);
	printf("code %d\n", call(code));
	if (mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, 0) == MAP_FAILED)
		return cannot("mmap");
	signo = sigsetjmp(behind, 1);
	if (signo)
		printf("signal %d\n", signo);
	else
		printf("gone code %d\n", call(code));
	return 0;
}

/* What can be read can be executed. */
static int readable(void)
{
	int first = file_with_code(1), second = file_with_code(2);
	sigset_t none;
	void *at;

	personality(READ_IMPLIES_EXEC | (unsigned long)personality(0xffffffff));
	at = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, first, 0);
	printf("first %d\n", call(at));
	mmap(at, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, second, 0);
	sigemptyset(&none);
	sigprocmask(SIG_BLOCK, &none, NULL);
	printf("second %d\n", call(at));
	return 0;
}

/* Calls that fail, with something in their place. */
static int failed(void)
{
	uint8_t *at = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	printf("%d", mmap(at, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, 1000, 0) == MAP_FAILED);
	printf(" %d", mmap(at + 1, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED);
	printf(" %d", mremap(at, PAGE, (size_t)1 << 50, MREMAP_MAYMOVE) == MAP_FAILED);
	printf(" %d", mprotect(at + PAGE, (size_t)1 << 40, PROT_READ));
	printf(" %d\n", munmap(at, 4 * PAGE));
	return 0;
}

static void *serve(void *arg)
{
	int fd = *(int *)arg;
	struct uffd_msg message;

	while (read(fd, &message, sizeof message) == sizeof message) {
		struct uffdio_zeropage zero = {.range = {message.arg.pagefault.address & ~(uint64_t)(PAGE - 1), PAGE}};

		if (message.event == UFFD_EVENT_PAGEFAULT)
			ioctl(fd, UFFDIO_ZEROPAGE, &zero);
	}
	return NULL;
}

/* Another thread is told of each, before it returns. */
static int served(void)
{
	struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_UNMAP};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	uint8_t *at = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register all = {.range = {(uintptr_t)at, LARGE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	pthread_t thread;

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &all))
		return cannot("userfaultfd");
	pthread_create(&thread, NULL, serve, &fd);
	for (int i = 0; i < 20; i++) {
		at[0] = 1;
		printf("%d", madvise(at, 2 * PAGE, MADV_DONTNEED));
	}
	printf(" %d\n", munmap(at, LARGE));
	return 0;
}

/* Of the mappings of that name in /proc/self/maps the last one. Takes all of it away where it is to. */
static uint8_t *find(const char *name, size_t *size, bool unmap)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	uint8_t *at = NULL;
	char line[512];

	while (maps && fgets(line, sizeof line, maps))
		if (strstr(line, name) && sscanf(line, "%lx-%lx", &start, &end) == 2) {
			at = (uint8_t *)start;
			*size = end - start;
			if (unmap)
				munmap(at, *size);
		}
	if (maps)
		fclose(maps);
	return at;
}

/* The kernel's own code, mapped by a call of another kind. */
static int vdso(void)
{
	size_t size = 0;
	uint8_t *at;

	find("[vvar", &size, true);
	find("[vdso]", &size, true);
	if (syscall(SYS_arch_prctl, ARCH_MAP_VDSO_64, 0x310000000000) < 0)
		return cannot("arch_prctl");
	at = find("[vdso]", &size, false);
	at = at ? memchr(at, 0xc3, size) : NULL; /* ret */
	for (int i = 0; at && i < 10 * TIMES; i++)
		((void (*)(void))(uintptr_t)at)();
	printf("%d\n", at != NULL);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} rows[] = {{"huge", huge}, {"readable", readable}, {"failed", failed}, {"served", served}, {"vdso", vdso}};

	for (size_t i = 0; argc == 2 && i < sizeof rows / sizeof rows[0]; i++)
		if (!strcmp(argv[1], rows[i].name))
			return rows[i].run();
	return 2;
}
