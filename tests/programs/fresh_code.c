/* SPDX-License-Identifier: MIT */
/* Code of files that runs for the first time all the time: fresh_code CASE. In files, since such code stays as it is. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cases.inc"

enum { PAGE = 4096, LONG_RUN = 20 << 20, RUN = 1 << 20 };

static uint8_t *put(uint8_t *p, const char *bytes, size_t n)
{
	memcpy(p, bytes, n);
	return p + n;
}

/* What lies there, as a file's. */
static int file_of(const void *bytes, size_t n)
{
	char name[] = "fresh-XXXXXX";
	int fd = mkstemp(name);

	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		exit(3);
	close(fd);
	fd = open(name, O_RDONLY);
	unlink(name);
	return fd;
}

static long run(const void *code)
{
	long result;

	__asm__ volatile("xorl %%eax, %%eax; xorl %%ecx, %%ecx; subq $128, %%rsp; call *%1; addq $128, %%rsp"
			 : "=&a"(result)
			 : "r"(code)
			 : "rcx", "rdx", "cc", "memory");
	return result;
}

static void *mapped(int fd, size_t n)
{
	void *at = mmap(NULL, n, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	if (at == MAP_FAILED)
		exit(3);
	return at;
}

/* More than the code cache has room for, with few records. */
static long much(void)
{
	uint8_t *bytes = malloc(LONG_RUN + PAGE), *p = bytes;
	long made = 0, wrong;

	while (p < bytes + LONG_RUN) {
		for (int i = 0; i < 40; i++, made++) {
			p = put(p, "\x48\xff\xc0", 3);			     /* inc %rax */
			p = put(p, "\x48\x3b\x0d\0\0\0\0", 7); /* cmp 0(%rip), %rcx */
		}
		p = put(p, "\x74\0", 2); /* je */
	}
	*p++ = 0xc3;
	wrong = run(mapped(file_of(bytes, (size_t)(p - bytes)), LONG_RUN + PAGE)) != made;
	free(bytes);
	return wrong;
}

static struct {
	int fd, unmap;
	long wrong;
	volatile int done;
} other;

/* Another thread's executable memory comes and goes meanwhile. */
static void *map_and_run(void *arg)
{
	(void)arg;
	while (!other.done) {
		void *at = mapped(other.fd, PAGE);

		other.wrong += run(at) != 7;
		if (other.unmap)
			munmap(at, PAGE);
		else
			usleep(200);
	}
	return NULL;
}

/* Calls and conditionals without end. */
static long meanwhile(int unmap)
{
	uint8_t *bytes = malloc(RUN + PAGE), *p = bytes, seven[PAGE] = {0xb8, 7, 0, 0, 0, 0xc3};
	long made = 0;
	pthread_t thread;

	while (p < bytes + RUN) {
		for (int i = 0; i < 4; i++, made++)
			p = put(p, "\x48\xff\xc0", 3); /* inc %rax */
		p = put(p, "\xa8\1\x74\3\x48\xff\xc1", 7); /* test $1, %al; je over inc %rcx */
		p = put(p, "\xe8\1\0\0\0\xcc\x48\x83\xc4\x08", 10); /* call over a byte; add $8, %rsp */
	}
	*p++ = 0xc3;
	other.fd = file_of(seven, sizeof seven);
	other.unmap = unmap;
	pthread_create(&thread, NULL, map_and_run, NULL);
	other.wrong += run(mapped(file_of(bytes, (size_t)(p - bytes)), RUN + PAGE)) != made;
	other.done = 1;
	pthread_join(thread, NULL);
	free(bytes);
	return other.wrong;
}

static long mapped_meanwhile(void) { return meanwhile(0); }

static long unmapped_meanwhile(void) { return meanwhile(1); }

int main(int argc, char **argv)
{
	static const struct row rows[] = {{"much", much}, {"mapped-meanwhile", mapped_meanwhile}, {"unmapped-meanwhile", unmapped_meanwhile}};

	return run_case(argc, argv, rows, sizeof rows / sizeof rows[0]);
}
