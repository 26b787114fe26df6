// SPDX-License-Identifier: MIT
/* world NAME [ARGS]: prints one part of the world a program is started into. tests/e2e/behaviour.py compares it with
 * and without btrec. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static int arguments(char **argv)
{
	for (; *argv; argv++) {
		for (const unsigned char *c = (const unsigned char *)*argv; *c; c++)
			printf("%02x", *c);
		putchar('\n');
	}
	return 0;
}

static int environment(char **argv)
{
	(void)argv;
	for (char **e = environ; *e; e++)
		puts(*e);
	return 0;
}

static int directory(char **argv)
{
	char name[4096];

	(void)argv;
	puts(getcwd(name, sizeof(name)) ? name : "?");
	return 0;
}

static int mask(char **argv)
{
	(void)argv;
	printf("%03o\n", (unsigned)umask(0));
	return 0;
}

static int limits(char **argv)
{
	struct rlimit limit;

	(void)argv;
	for (int i = 0; i < RLIM_NLIMITS; i++)
		if (!getrlimit(i, &limit))
			printf("%d %llu %llu\n", i, (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
	return 0;
}

/* Which descriptors are open, what kind of thing each is, and its flags. */
static int descriptors(char **argv)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;

	(void)argv;
	while ((e = readdir(dir))) {
		struct stat st;
		int fd = atoi(e->d_name);

		if (e->d_name[0] == '.' || fd == dirfd(dir) || fstat(fd, &st))
			continue;
		printf("%d type %o fd flags %x file flags %x\n", fd, st.st_mode & S_IFMT, fcntl(fd, F_GETFD), fcntl(fd, F_GETFL));
	}
	return 0;
}

static void status_lines(const char *prefix)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];

	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, prefix, strlen(prefix)))
			fputs(line, stdout);
	fclose(file);
}

static int signals(char **argv)
{
	(void)argv;
	status_lines("SigP");
	status_lines("SigB");
	status_lines("SigI");
	status_lines("SigC");
	status_lines("Shd");
	return 0;
}

/* What of the process's attributes could leak from a supervisor. */
static int attributes(char **argv)
{
	(void)argv;
	status_lines("Name");
	status_lines("Umask");
	status_lines("Uid");
	status_lines("Gid");
	status_lines("Groups");
	status_lines("Threads");
	status_lines("Cap");
	status_lines("NoNewPrivs");
	status_lines("Seccomp");
	status_lines("Cpus_allowed_list");
	printf("nice %d\n", getpriority(PRIO_PROCESS, 0));
	printf("death signal %d\n", ({ int s = -1; prctl(PR_GET_PDEATHSIG, &s); s; }));
	printf("dumpable %d\n", prctl(PR_GET_DUMPABLE));
	printf("subreaper %d\n", ({ int s = -1; prctl(PR_GET_CHILD_SUBREAPER, &s); s; }));
	printf("execfn %s\n", (const char *)getauxval(AT_EXECFN));
	printf("secure %lu\n", getauxval(AT_SECURE));
	return 0;
}

/* The same process group and session as the one that started btrec: prints whether they are the parent's. */
static int group(char **argv)
{
	(void)argv;
	printf("group %d session %d\n", getpgrp() == getpgid(getppid()), getsid(0) == getsid(getppid()));
	return 0;
}

static int copy(char **argv)
{
	char bytes[4096];
	ssize_t n;

	(void)argv;
	while ((n = read(0, bytes, sizeof(bytes))) > 0)
		if (write(1, bytes, (size_t)n) != n)
			return 3;
	return 0;
}

static int status(char **argv)
{
	return atoi(argv[0]);
}

static int die(char **argv)
{
	raise(atoi(argv[0]));
	return 0;
}

/* Output on both streams, in turns, unbuffered: the order on one pipe must stay. */
static int streams(char **argv)
{
	(void)argv;
	for (int i = 0; i < 5; i++) {
		dprintf(1, "out %d\n", i);
		dprintf(2, "err %d\n", i);
	}
	return 0;
}

/* loop SECONDS: busy until then. */
static int loop(char **argv)
{
	time_t end = time(NULL) + atoi(argv[0]);

	puts("looping");
	fflush(stdout);
	while (time(NULL) < end)
		;
	return 0;
}

static volatile sig_atomic_t interrupted;

static void note_interrupt(int signo)
{
	interrupted = signo;
}

/* interrupt: waits for ^C, handles it and leaves with 9. */
static int interrupt(char **argv)
{
	sigset_t blocked, before;

	(void)argv;
	signal(SIGINT, note_interrupt);
	/* Blocked until the wait itself: a ^C right behind "waiting" must not come before it. */
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	puts("waiting");
	fflush(stdout);
	while (!interrupted)
		sigsuspend(&before);
	printf("handled %d\n", (int)interrupted);
	return 9;
}

static int terminal(char **argv)
{
	(void)argv;
	printf("tty %d%d%d foreground %d leader %d\n", isatty(0), isatty(1), isatty(2), tcgetpgrp(0) == getpgrp(),
	       getpgrp() == getpid());
	return 0;
}

/* ask: reads one line from the terminal, as an interactive program does. */
static int ask(char **argv)
{
	char line[100];

	(void)argv;
	printf("name? ");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	printf("hello %s", line);
	return 0;
}

static int crash(char **argv)
{
	(void)argv;
	__asm__ volatile("mov $0x1111, %%ebx\n\tmov $0x2222, %%r12d\n\tmov $0x3333, %%r13d\n\tmovb $1, 0x20" ::
				 : "rbx", "r12", "r13", "memory");
	return 0;
}

static const struct {
	const char *name;
	int (*run)(char **argv);
} table[] = {
	{"arguments", arguments},
	{"environment", environment},
	{"directory", directory},
	{"mask", mask},
	{"limits", limits},
	{"descriptors", descriptors},
	{"signals", signals},
	{"attributes", attributes},
	{"group", group},
	{"copy", copy},
	{"status", status},
	{"die", die},
	{"streams", streams},
	{"loop", loop},
	{"interrupt", interrupt},
	{"terminal", terminal},
	{"ask", ask},
	{"crash", crash},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(table) / sizeof(*table); i++)
		if (!strcmp(argv[1], table[i].name))
			return table[i].run(argv + 2);
	return 2;
}
