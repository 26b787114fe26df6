/* SPDX-License-Identifier: MIT */
/* Makes a system call that fails, or some, and ends with 1, or as the last argument says: abort, good, fault.
 * open|stat|write|chdir|rename PATH, unix PATH, connect, many N, again N, wild, checked, read PATH. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static void connect_inet(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(1)};

	inet_pton(AF_INET, "127.0.0.1", &a.sin_addr);
	if (!connect(socket(AF_INET, SOCK_STREAM, 0), (void *)&a, sizeof a))
		exit(9);
}

static void connect_unix(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	strncpy(a.sun_path, path, sizeof a.sun_path - 1);
	if (!connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&a, sizeof a))
		exit(9);
}

/* Paths that end where memory does, begin where there is none, are long, or act on a terminal. */
static void wild(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	     longer[5000];

	munmap(pages + 4096, 4096);
	memset(pages, 'x', 4096);
	printf("%d", open(pages + 4096 - 10, O_RDONLY) < 0 ? errno : 0);
	memset(longer, 'a', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	printf(" %d", open(longer, O_RDONLY) < 0 ? errno : 0);
	printf(" %d", open("/\033[31m\"q\\", O_RDONLY) < 0 ? errno : 0);
	printf(" %d\n", syscall(SYS_open, (char *)1, O_RDONLY) < 0 ? errno : 0);
	fflush(stdout);
}

/* A failing call may change rax, rcx and r11, and no flag. */
static void checked(void)
{
	static const char path[] = "/nowhere/checked/with/a/path/that/is/copied";
	register uint64_t r10 __asm__("r10"), r8 __asm__("r8"), r9 __asm__("r9");
	unsigned failed = 0;

	for (int i = 0; i < 50; i++) {
		uint64_t flags = 0, rax = SYS_access, rdi = (uintptr_t)path, rsi = 4, rdx = 0x1234567;

		r10 = 0x1111;
		r8 = 0x2222;
		r9 = 0x3333;
		__asm__ volatile("cmpq $-1, %%rdx\n\tstc\n\tsyscall\n\tpushfq\n\tpopq %0"
				 : "=&r"(flags), "+a"(rax), "+D"(rdi), "+S"(rsi), "+d"(rdx), "+r"(r10), "+r"(r8),
				   "+r"(r9)
				 :
				 : "rcx", "r11", "memory", "cc");
		if ((int64_t)rax != -ENOENT || rdi != (uintptr_t)path || rsi != 4 || rdx != 0x1234567 || r10 != 0x1111 ||
		    r8 != 0x2222 || r9 != 0x3333 || !(flags & 1) || flags & 0x40)
			exit(9);
		failed++;
	}
	printf("%u failed\n", failed);
	fflush(stdout);
}

static void many(int n)
{
	for (int i = 0; i < n; i++) {
		char path[40];

		snprintf(path, sizeof path, "/nowhere/%d", i);
		open(path, O_RDONLY);
	}
}

static void read_file(const char *path)
{
	char bytes[16];
	int fd = open(path, O_RDONLY);

	exit(read(fd, bytes, sizeof bytes) > 0 ? fd : 9);
}

int main(int argc, char **argv)
{
	const char *way = argv[1], *arg = argc > 2 ? argv[2] : "", *end = argc > 3 ? argv[3] : "";
	struct stat st;
	char other[200];

	snprintf(other, sizeof other, "%s.new", arg);
	if (!strcmp(way, "open"))
		open(arg, O_RDONLY);
	else if (!strcmp(way, "stat"))
		stat(arg, &st);
	else if (!strcmp(way, "write"))
		open(arg, O_WRONLY | O_CREAT | O_EXCL, 0640);
	else if (!strcmp(way, "rename"))
		rename(arg, other);
	else if (!strcmp(way, "chdir"))
		(void)!chdir(arg);
	else if (!strcmp(way, "connect"))
		connect_inet();
	else if (!strcmp(way, "unix"))
		connect_unix(arg);
	else if (!strcmp(way, "many"))
		many(atoi(arg));
	else if (!strcmp(way, "again"))
		for (int i = atoi(arg); i-- > 0;)
			open("/nowhere/again", O_RDONLY);
	else if (!strcmp(way, "wild"))
		wild();
	else if (!strcmp(way, "checked"))
		checked();
	else if (!strcmp(way, "read"))
		read_file(arg);
	if (!strcmp(end, "abort"))
		abort();
	if (!strcmp(end, "fault"))
		*(volatile int *)8 = 1;
	return strcmp(end, "good") != 0;
}
