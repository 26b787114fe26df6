/* SPDX-License-Identifier: MIT */
/* Limits of memory, seen and set in every way: what is printed does not depend on what else is in the address space. Runs without address
 * randomization, so that even single pages agree. */
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MB (1ul << 20)
#define INF RLIM_INFINITY

enum {
	PAGE = 4096,
	NOBODY = 65534,
};

static char *self;

static const char *name_of(int resource)
{
	return resource == RLIMIT_AS ? "as" : resource == RLIMIT_DATA ? "data" : "other";
}

static void show(int resource)
{
	struct rlimit l = {1, 1};
	long rc = syscall(SYS_getrlimit, resource, &l);

	printf("%s %ld %lx %lx\n", name_of(resource), rc, l.rlim_cur, l.rlim_max);
}

static void put(int resource, rlim_t soft, rlim_t hard)
{
	struct rlimit l = {soft, hard};
	long rc = syscall(SYS_setrlimit, resource, &l);

	printf("set %lx %lx: %s; argument %lx %lx; now ", soft, hard, rc ? strerrorname_np(errno) : "ok", l.rlim_cur, l.rlim_max);
	show(resource);
}

static void become_nobody(void)
{
	if (geteuid())
		return;
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		exit(99);
}

/* How many pages can be mapped, in large pieces first; nothing of it is touched or given back. */
static unsigned long room(int prot, int flags)
{
	unsigned long pages = 0;

	for (unsigned long n = 4096; n; n /= 2)
		while (pages < 1ul << 20 && mmap(NULL, n * PAGE, prot, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED)
			pages += n;
	return pages;
}

static unsigned long break_room(void)
{
	unsigned long bytes = 0;

	for (unsigned long n = MB; n; n /= 2)
		while (bytes < 1024 * MB && sbrk((intptr_t)n) != (void *)-1)
			bytes += n;
	return bytes;
}

static void in_child(void (*what)(void))
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		what();
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (status)
		printf("child: status %x\n", (unsigned)status);
}

/* ---- How far one gets ---- */

static void fill_private(void) { printf("private %lu\n", room(PROT_READ | PROT_WRITE, MAP_PRIVATE)); }
static void fill_reserved(void) { printf("reserved %lu\n", room(PROT_NONE, MAP_PRIVATE)); }
static void fill_shared(void) { printf("shared %lu\n", room(PROT_READ | PROT_WRITE, MAP_SHARED)); }
static void fill_break(void) { printf("break %lu\n", break_room()); }

static void fill_stack(void)
{
	struct rlimit l = {257 * MB, 257 * MB};
	volatile char *low = (char *)__builtin_frame_address(0);
	unsigned long room_left;

	setrlimit(RLIMIT_STACK, &l);
	room_left = room(PROT_NONE, MAP_PRIVATE);
	printf("room but for the stack %lu\n", room_left);
	fflush(stdout);
	for (;;) /* ends by SIGSEGV, at the same place */
		*(low -= PAGE) = 1;
}

static void fill_heap(void)
{
	unsigned long n = 0;

	while (n < 1024 && malloc(MB))
		n++;
	printf("malloc %lu, %d\n", n, malloc(200 * MB) != NULL);
}

static void grow_mapping(void)
{
	char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t size = PAGE;

	for (size_t n = 4096; n; n /= 2)
		while (size < 1024 * MB) {
			char *moved = mremap(at, size, size + n * PAGE, MREMAP_MAYMOVE);

			if (moved == MAP_FAILED)
				break;
			at = moved;
			size += n * PAGE;
		}
	printf("mremap %zx\n", size);
}

static void make_writable(void)
{
	size_t size = 4097 * MB;
	char *at = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t done = 0;

	if (at == MAP_FAILED) {
		printf("no mapping\n");
		return;
	}
	for (size_t n = 4096; n; n /= 2)
		while (done < size && !mprotect(at + done, n * PAGE, PROT_READ | PROT_WRITE))
			done += n * PAGE;
	printf("mprotect %zx\n", done);
}

static void fill(void)
{
	in_child(fill_private);
	in_child(fill_reserved);
	in_child(fill_shared);
	in_child(fill_break);
	in_child(fill_heap);
	in_child(grow_mapping);
	in_child(make_writable);
}

static int fill_address_space(void)
{
	put(RLIMIT_AS, 64 * MB, 64 * MB + 123);
	fill();
	in_child(fill_stack);
	put(RLIMIT_AS, 20 * MB + 4095, 64 * MB + 123);
	fill();
	return 0;
}

static int fill_data(void)
{
	put(RLIMIT_DATA, 64 * MB, INF);
	fill();
	put(RLIMIT_DATA, 5 * MB + 17, 32 * MB);
	fill();
	put(RLIMIT_DATA, 0, 32 * MB);
	fill();
	put(RLIMIT_DATA, 0, 0);
	fill();
	return 0;
}

/* Code in writable memory, and its writer: what a recorder does to notice changes takes no page away and gives none. */
static void write_code(void)
{
	enum {
		PAGES = 16,
	};
	static const unsigned char code[] = {0xb8, 1, 0, 0, 0, 0xc3}; /* mov eax, 1; ret */
	unsigned char *at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int sum = 0;

	for (int i = 0; i < PAGES; i++)
		memcpy(at + i * PAGE, code, sizeof code);
	for (int i = 0; i < 100 * PAGES; i++)
		sum += ((int (*)(void))(void *)(at + i % PAGES * PAGE))();
	put(RLIMIT_DATA, 8 * MB, 8 * MB);
	fill_private();
	for (int i = 0; i < 100 * PAGES; i++) {
		at[i % PAGES * PAGE + 1]++;
		sum += ((int (*)(void))(void *)(at + i % PAGES * PAGE))();
	}
	printf("sum %d\n", sum);
}

static int written_code(void)
{
	in_child(write_code);
	put(RLIMIT_DATA, 9 * MB, 10 * MB);
	write_code();
	return 0;
}

static int fill_both(void)
{
	put(RLIMIT_AS, 100 * MB, 200 * MB);
	put(RLIMIT_DATA, 50 * MB, 60 * MB);
	fill();
	return 0;
}

/* What is in force where the program begins. */
static int inherited(void)
{
	show(RLIMIT_AS);
	show(RLIMIT_DATA);
	fill();
	return 0;
}

/* ---- Setting and refusing ---- */

static void rules(int resource)
{
	put(resource, 900 * MB, 1000 * MB);
	put(resource, 1000 * MB, 1000 * MB);
	put(resource, 1000 * MB + 1, 1000 * MB);
	put(resource, INF, 1000 * MB);
	put(resource, 500 * MB, 999 * MB);
	put(resource, 500 * MB, 999 * MB + 1);
	put(resource, 999 * MB, 999 * MB + 72 * MB);
	put(resource, 500 * MB, INF - 1);
	put(resource, INF - 1, INF - 2);
	put(resource, 500 * MB, INF);
	put(resource, INF, INF);
	put(resource, 998 * MB, 999 * MB);
	put(resource, 999 * MB, 999 * MB);
	put(resource, 300 * MB, 300 * MB);
	put(resource, 300 * MB, 300 * MB + 1);
	put(resource, 299 * MB, 300 * MB - 1);
}

static int rules_as_user(void)
{
	become_nobody();
	put(RLIMIT_NOFILE, 10, 20);
	rules(RLIMIT_AS);
	rules(RLIMIT_DATA);
	put(RLIMIT_NOFILE, 10, 21);
	return 0;
}

static int rules_as_root(void)
{
	rules(RLIMIT_AS);
	rules(RLIMIT_DATA);
	put(RLIMIT_AS, INF, INF);
	put(RLIMIT_DATA, INF - 1, INF);
	put(RLIMIT_DATA, INF, INF);
	return 0;
}

static int unlimited(void)
{
	show(RLIMIT_AS);
	show(RLIMIT_DATA);
	put(RLIMIT_AS, INF, INF);
	put(RLIMIT_DATA, INF, INF);
	put(RLIMIT_AS, 100 * MB, INF);
	put(RLIMIT_AS, INF, INF);
	return 0;
}

/* ---- Arguments ---- */

static const struct rlimit constant = {100 * MB, 200 * MB};

static void both(const char *what, pid_t pid, int resource, const void *new, void *old)
{
	struct rlimit was = {7, 7};
	long rc;

	errno = 0;
	rc = syscall(SYS_prlimit64, pid, resource, new, old ? old : &was);
	printf("%s: %ld %s; old %lx %lx; now ", what, rc, errno ? strerrorname_np(errno) : "ok", was.rlim_cur, was.rlim_max);
	show(resource);
}

static int arguments(void)
{
	char *page = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rlimit *unreadable = (struct rlimit *)page, *edge = (struct rlimit *)(page + 2 * PAGE - 8), l = {90 * MB, 190 * MB};
	struct rlimit *last = (struct rlimit *)(page + 2 * PAGE - sizeof l);

	*unreadable = (struct rlimit){80 * MB, 180 * MB};
	*last = (struct rlimit){70 * MB, 170 * MB};
	mprotect(page, PAGE, PROT_NONE);
	munmap(page + 2 * PAGE, PAGE);
	become_nobody();
	both("constant", 0, RLIMIT_AS, &constant, NULL);
	printf("constant is %lx %lx\n", constant.rlim_cur, constant.rlim_max);
	both("in place", 0, RLIMIT_AS, &l, &l);
	printf("in place is %lx %lx\n", l.rlim_cur, l.rlim_max);
	both("no new", 0, RLIMIT_AS, NULL, NULL);
	both("nowhere", 0, RLIMIT_AS, (void *)8, NULL);
	both("unreadable", 0, RLIMIT_AS, unreadable, NULL);
	both("over the edge", 0, RLIMIT_AS, edge, NULL);
	both("at the edge", 0, RLIMIT_AS, last, NULL);
	l = (struct rlimit){60 * MB, 160 * MB};
	both("old nowhere", 0, RLIMIT_AS, &l, (void *)8);
	l = (struct rlimit){50 * MB, 150 * MB};
	both("old unwritable", 0, RLIMIT_DATA, &l, (void *)(uintptr_t)&constant);
	l = (struct rlimit){50 * MB, 40 * MB};
	both("wrong order", 0, RLIMIT_AS, &l, NULL);
	l = (struct rlimit){50 * MB, 1000 * MB};
	both("above", 0, RLIMIT_AS, &l, NULL);
	both("own pid", getpid(), RLIMIT_DATA, &constant, NULL);
	both("no process", 1 << 30, RLIMIT_AS, &constant, NULL);
	both("no resource", 0, RLIM_NLIMITS, &constant, NULL);
	both("another's", 1, RLIMIT_AS, &constant, NULL);
	printf("getrlimit nowhere: %ld\n", syscall(SYS_getrlimit, RLIMIT_AS, (void *)8));
	printf("setrlimit nowhere: %ld\n", syscall(SYS_setrlimit, RLIMIT_AS, (void *)8));
	/* Upper halves of 32-bit arguments are nobody's. */
	printf("wide: %ld\n", syscall(SYS_prlimit64, 1ul << 32, 1ul << 32 | RLIMIT_AS, NULL, &l));
	printf("wide is %lx %lx\n", l.rlim_cur, l.rlim_max);
	return 0;
}

/* A call with its stack pointer where nothing is: registers and result are as they are. */
static int no_stack(void)
{
	static struct rlimit l = {100 * MB, 100 * MB};
	register long rdx __asm__("rdx") = (long)&l;
	register long r10 __asm__("r10") = (long)&l;
	long rc, rdi = 0, rsi = RLIMIT_AS;

	__asm__ volatile("mov %%rsp, %%rbx; mov $0x1000, %%rsp; syscall; mov %%rbx, %%rsp"
			 : "=a"(rc), "+D"(rdi), "+S"(rsi), "+r"(rdx), "+r"(r10)
			 : "a"(SYS_prlimit64)
			 : "rbx", "rcx", "r11", "memory");
	printf("no stack: %ld, %d %d %d %d; old %lx %lx\n", rc, rdi == 0, rsi == RLIMIT_AS, rdx == (long)&l, r10 == (long)&l, l.rlim_cur, l.rlim_max);
	show(RLIMIT_AS);
	return 0;
}

/* ---- Other processes and threads ---- */

static int another(void)
{
	int to[2], from[2];
	struct rlimit l = {30 * MB, 40 * MB}, old = {7, 7};
	pid_t pid;
	char byte;

	if (pipe(to) || pipe(from))
		return 99;
	put(RLIMIT_AS, 500 * MB, 600 * MB);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (read(to[0], &byte, 1) != 1)
			_exit(99);
		show(RLIMIT_AS);
		show(RLIMIT_DATA);
		fflush(stdout);
		if (write(from[1], "", 1) != 1 || read(to[0], &byte, 1) != 1)
			_exit(99);
		fill_private();
		fflush(stdout);
		_exit(0);
	}
	printf("child's: %ld", syscall(SYS_prlimit64, pid, RLIMIT_AS, &l, &old));
	printf(" %lx %lx; data %ld", old.rlim_cur, old.rlim_max, syscall(SYS_prlimit64, pid, RLIMIT_DATA, &l, &old));
	printf(" %lx %lx\n", old.rlim_cur, old.rlim_max);
	fflush(stdout);
	if (write(to[1], "", 1) != 1 || read(from[0], &byte, 1) != 1)
		return 99;
	show(RLIMIT_AS);
	show(RLIMIT_DATA);
	printf("child's: %ld", syscall(SYS_prlimit64, pid, RLIMIT_AS, NULL, &old));
	printf(" %lx %lx\n", old.rlim_cur, old.rlim_max);
	fflush(stdout);
	if (write(to[1], "", 1) != 1)
		return 99;
	waitpid(pid, NULL, 0);
	return 0;
}

static void *thread(void *arg)
{
	(void)arg;
	put(RLIMIT_AS, 200 * MB, 300 * MB);
	return NULL;
}

static int threads(void)
{
	pthread_t t;

	put(RLIMIT_AS, 500 * MB, 600 * MB);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	show(RLIMIT_AS);
	printf("private %d\n", room(PROT_READ, MAP_PRIVATE) < 200 * MB / PAGE);
	return 0;
}

/* Processes that know each other by other numbers than those outside. */
static int in_namespace(void)
{
	struct rlimit l = {30 * MB, 40 * MB}, old = {7, 7};
	int to[2];
	pid_t pid;

	if (pipe(to) || getpid() != 1)
		return 99;
	both("itself", 1, RLIMIT_AS, &constant, NULL);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		char byte;

		if (read(to[0], &byte, 1) != 1)
			_exit(99);
		both("its parent's", 1, RLIMIT_AS, NULL, NULL);
		fill_private();
		fflush(stdout);
		_exit(0);
	}
	printf("child %d: %ld", pid, syscall(SYS_prlimit64, pid, RLIMIT_AS, &l, &old));
	printf(" %lx %lx\n", old.rlim_cur, old.rlim_max);
	fflush(stdout);
	if (write(to[1], "", 1) != 1)
		return 99;
	waitpid(pid, NULL, 0);
	return 0;
}

static int namespace(void)
{
	int status = 0;
	pid_t pid;

	if (unshare(CLONE_NEWPID))
		return 77;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		status = in_namespace();
		fflush(stdout);
		_exit(status);
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

/* ---- Locked memory ---- */

static void locked(const char *what)
{
	char line[128];
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, "VmLck:", 6))
			printf("%s: %s", what, line);
	if (f)
		fclose(f);
}

static size_t resident(void *at, size_t pages)
{
	unsigned char in[pages];
	size_t n = 0;

	if (mincore(at, pages * PAGE, in)) /* nothing is mapped there */
		return 0;
	for (size_t i = 0; i < pages; i++)
		n += in[i] & 1;
	return n;
}

static void lock_everything(int flags)
{
	char *before = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *behind, *large;
	long rc;

	mprotect(before + 32 * PAGE, PAGE, PROT_NONE);
	errno = 0;
	rc = syscall(SYS_mlockall, flags);
	printf("mlockall(%d): %ld %s\n", flags, rc, errno ? strerrorname_np(errno) : "ok");
	locked("locked");
	printf("resident %zu\n", resident(before, 64));
	behind = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("later %d: resident %zu\n", behind != MAP_FAILED, behind == MAP_FAILED ? 0 : resident(behind, 64));
	large = mmap(NULL, 7 * MB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("much later %d\n", large != MAP_FAILED);
	printf("mlock %d\n", mlock(before, 8 * PAGE));
	locked("locked");
	munmap(before, 64 * PAGE);
	munmap(behind, 64 * PAGE);
	munmap(large, 7 * MB);
}

static void lock_all_ways(void)
{
	for (int flags = 0; flags < 9; flags++) {
		lock_everything(flags);
		printf("munlockall %ld\n", syscall(SYS_munlockall));
		locked("locked");
	}
	lock_everything(MCL_FUTURE);
	lock_everything(MCL_CURRENT);
	mmap(NULL, 17 * MB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	lock_everything(MCL_CURRENT);
}

static void lock_within(rlim_t bytes)
{
	struct rlimit l = {bytes, bytes};

	if (bytes && setrlimit(RLIMIT_MEMLOCK, &l))
		printf("setrlimit: %s\n", strerrorname_np(errno));
	printf("limit %lx\n", bytes);
	in_child(lock_all_ways);
}

static void lock_as_user(void)
{
	become_nobody();
	lock_within(8 * MB);
	lock_within(MB);
	lock_within(PAGE);
}

static int locks(void)
{
	in_child(lock_as_user);
	in_child(lock_all_ways);
	return 0;
}

/* ---- Over fork and execve ---- */

static void again(const char *mode)
{
	execl(self, self, mode, NULL);
	printf("execl: %s\n", strerrorname_np(errno));
}

static void exec_inherited(void)
{
	again("inherited");
	fflush(stdout);
	_exit(1);
}

static void forked_again(void)
{
	show(RLIMIT_AS);
	in_child(exec_inherited);
	fill_private();
}

static int inherit(void)
{
	pid_t pid;
	int status;

	put(RLIMIT_AS, 100 * MB, 200 * MB);
	put(RLIMIT_DATA, 50 * MB, 60 * MB);
	in_child(forked_again);
	in_child(exec_inherited);
	fflush(stdout);
	pid = vfork();
	if (!pid) {
		execl(self, self, "inherited", NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	printf("vfork: %x\n", (unsigned)status);
	execl("/does/not/exist", "x", NULL);
	show(RLIMIT_AS);
	in_child(fill_private);
	put(RLIMIT_AS, 90 * MB, 200 * MB);
	fflush(stdout);
	again("inherited");
	return 1;
}

/* A process whose user is another than the recorder's. */
static int other_user(void)
{
	put(RLIMIT_AS, 100 * MB, 200 * MB);
	put(RLIMIT_DATA, 50 * MB, 60 * MB);
	become_nobody();
	show(RLIMIT_AS);
	show(RLIMIT_DATA);
	in_child(fill_private);
	put(RLIMIT_AS, 100 * MB, 200 * MB + 1);
	put(RLIMIT_AS, 90 * MB, 190 * MB);
	in_child(exec_inherited);
	again("inherited");
	return 1;
}

/* Goes on as the program that the environment names, which may be another user's. */
static int other_program(void)
{
	put(RLIMIT_AS, 100 * MB, 200 * MB);
	put(RLIMIT_DATA, 50 * MB, 60 * MB);
	fflush(stdout);
	execl(getenv("OTHER"), "limits", "shown", NULL);
	return 99;
}

static int shown(void)
{
	printf("euid %d\n", geteuid());
	show(RLIMIT_AS);
	show(RLIMIT_DATA);
	return 0;
}

/* Many processes at the same time. */
static int crowd(void)
{
	int to[2], status, sum = 0;
	struct rlimit l;
	char byte;

	if (pipe(to))
		return 99;
	for (int i = 0; i < 40; i++)
		if (!fork()) {
			close(to[1]);
			_exit(read(to[0], &byte, 1) == 0);
		}
	close(to[1]);
	while (wait(&status) > 0)
		sum += WEXITSTATUS(status);
	getrlimit(RLIMIT_NOFILE, &l);
	printf("%d; %lu descriptors\n", sum, l.rlim_cur);
	return 0;
}

/* Leaves a process behind, and prints its number. */
static int leave(void)
{
	pid_t pid = fork();

	if (pid) {
		printf("%d\n", pid);
		return 0;
	}
	setsid();
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	for (;;)
		pause();
}

/* A limit in which the program itself does not fit: its execve fails or kills it, as it would alone. */
static void exec_within_little(void)
{
	struct rlimit l = {100 * 1024, INF};

	setrlimit(RLIMIT_AS, &l);
	exec_inherited();
}

static int too_small(void)
{
	in_child(exec_within_little);
	show(RLIMIT_AS);
	return 0;
}

static void nothing(void) { }

/* Until its standard input ends; a child has come and gone before. */
static int waits(void)
{
	char byte;

	in_child(nothing);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}

static int run_mode(const char *name)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} modes[] = {
		{"address-space", fill_address_space}, {"data", fill_data}, {"both", fill_both}, {"inherited", inherited},
		{"rules-as-user", rules_as_user}, {"rules-as-root", rules_as_root}, {"unlimited", unlimited}, {"arguments", arguments},
		{"no-stack", no_stack}, {"another", another}, {"threads", threads}, {"namespace", namespace}, {"inherit", inherit}, {"too-small", too_small},
		{"other-user", other_user}, {"other-program", other_program}, {"locks", locks}, {"written-code", written_code}, {"shown", shown}, {"leave", leave}, {"crowd", crowd},
		{"waits", waits},
	};

	for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
		if (!strcmp(name, modes[i].name))
			return modes[i].run();
	return 99;
}

/* The modes named, each in a process of its own if there are several. */
int main(int argc, char **argv)
{
	self = argv[0];
	if (argc > 1 && getuid() == geteuid() && !(personality(0xffffffff) & ADDR_NO_RANDOMIZE)) {
		personality(ADDR_NO_RANDOMIZE);
		execv(self, argv);
		return 99;
	}
	if (argc == 2)
		return run_mode(argv[1]);
	for (int i = 1; i < argc; i++) {
		int status;

		printf("%s\n", argv[i]);
		fflush(stdout);
		if (!fork()) {
			status = run_mode(argv[i]);
			fflush(stdout);
			_exit(status);
		}
		wait(&status);
		printf("ends with %d\n", WEXITSTATUS(status));
	}
	return 0;
}
