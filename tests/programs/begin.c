// SPDX-License-Identifier: MIT
/* begin NAME: functions at which a recording can begin. tests/e2e/begin.py */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long *volatile no_long;
static volatile long work;

__attribute__((noinline)) void begin_here(long n);
__attribute__((noinline)) void never_called(void);

void begin_here(long n)
{
	while (n--)
		work += n;
}

void never_called(void)
{
	work = 1;
}

/* Without a type, as assembly has them. */
__asm__(".text\nlabel_in_code: jmp begin_here\n.data\nlabel_in_data: .byte 0\n.text");
void label_in_code(long n);

static int crash_after_label(void)
{
	label_in_code(50);
	*no_long = 1;
	return 0;
}

static void *begin_in_thread(void *unused)
{
	(void)unused;
	begin_here(30);
	return NULL;
}

static int crash_after(void)
{
	begin_here(50);
	*no_long = 1; /* @crash-after */
	return 0;
}

static int in_child(void)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		begin_here(30);
		_exit(4);
	}
	waitpid(pid, &status, 0);
	printf("child %d\n", WEXITSTATUS(status));
	return 0;
}

static int in_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, begin_in_thread, NULL);
	pthread_join(thread, NULL);
	printf("%ld\n", work);
	return 0;
}

static int twice(void)
{
	begin_here(3);
	begin_here(4);
	printf("%ld\n", work);
	return 5;
}

static const struct {
	const char *name;
	int (*run)(void);
} table[] = {
	{"crash-after", crash_after}, {"crash-after-label", crash_after_label},
	{"in-child", in_child},
	{"in-thread", in_thread},
	{"twice", twice},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(table) / sizeof(*table); i++)
		if (!strcmp(argv[1], table[i].name))
			return table[i].run();
	if (argc > 1 && !strcmp(argv[1], "exec")) {
		execv(argv[2], argv + 2);
		return 3;
	}
	return 2;
}
