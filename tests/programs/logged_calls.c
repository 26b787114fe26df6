/* SPDX-License-Identifier: MIT */
/* System calls that a recorder may make without a stop while it keeps a log: what they write to
 * memory is added up and printed, so that a byte that a replay lacks shows. argv[1]: a file of at
 * least 1 MB; argv[2]: what is to be done. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, BUFFER = 1 << 20 };

static uint8_t buffer[BUFFER];
static uint64_t sum;
static volatile sig_atomic_t signals;

static void add(const void *bytes, size_t n)
{
	const uint8_t *b = bytes;
	uint64_t word;

	for (; n >= sizeof word; n -= sizeof word, b += sizeof word) { /* each instruction may be a step */
		memcpy(&word, b, sizeof word);
		sum = sum * 31 + word;
	}
	while (n--)
		sum = sum * 31 + *b++;
}

static void add_result(long result) { add(&result, sizeof result); }

/* Of all sizes, so that copies begin and end anywhere. */
static void read_sizes(int fd)
{
	for (size_t n = 0; n < 200; n++) {
		add_result(pread(fd, buffer + n % 9, n, (off_t)(n * 100)));
		add(buffer, n + 9);
	}
	for (size_t n = 1; n <= BUFFER; n *= 2) {
		add_result(pread(fd, buffer + 1, n - 1, 3));
		add(buffer, n);
	}
}

/* More than any log of a stretch has room for. */
static void read_much(int fd)
{
	lseek(fd, 0, SEEK_SET);
	for (int round = 0; round < 2000; round++) {
		ssize_t n = read(fd, buffer, 3000);

		add_result(n);
		add(buffer, n > 0 ? (size_t)n / 50 : 0);
		if (n < 3000)
			lseek(fd, 0, SEEK_SET);
	}
}

/* Into memory of which a part is not there, or cannot be written. */
static void read_into_holes(int fd)
{
	uint8_t *pages = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
	struct rusage *usage = (void *)(pages + PAGE - 40);

	munmap(pages + PAGE, PAGE);
	mprotect(pages + 3 * PAGE, PAGE, PROT_READ);
	add_result(pread(fd, pages + PAGE - 100, 200, 5));
	add_result(pread(fd, pages + PAGE, 200, 5));
	add_result(pread(fd, pages + 3 * PAGE - 50, 200, 5));
	add_result(pread(fd, NULL, 200, 5));
	add_result(getrusage(RUSAGE_SELF, usage)); /* a part of it */
	add(pages, PAGE - 40);
	add_result(readlink("/proc/self/exe", (char *)pages + PAGE - 3, 100));
	add_result(clock_gettime(CLOCK_MONOTONIC, (void *)(pages + 3 * PAGE)));
	add(pages, PAGE);
	add(pages + 2 * PAGE, 2 * PAGE);
}

/* Calls with results of their own, each of a row of its own. */
static void ask(const char *path)
{
	char text[500];
	struct timespec time = {0};
	struct timeval now = {0};
	struct utsname name = {0};
	struct rusage usage = {0};
	struct statfs fs = {0};
	struct statx x = {0};
	struct stat st = {0};
	struct rlimit limit = {0};
	struct itimerval timer = {0};
	struct tms ticks = {0};
	gid_t groups[64] = {0};
	sigset_t set;
	int n;

	memset(text, 0, sizeof text);
	for (int round = 0; round < 20; round++) {
		add_result(clock_gettime(CLOCK_REALTIME, &time));
		add(&time, sizeof time);
		add_result(gettimeofday(&now, NULL));
		add(&now, sizeof now);
		add_result(uname(&name));
		add(&name, sizeof name);
		add_result(getrusage(RUSAGE_SELF, &usage));
		add(&usage, sizeof usage);
		add_result(statfs(path, &fs));
		add(&fs, sizeof fs);
		add_result(statx(AT_FDCWD, path, 0, STATX_ALL, &x));
		add(&x, sizeof x);
		add_result(stat(path, &st));
		add(&st, sizeof st);
		add_result(stat("/nowhere", &st));
		add_result(getrlimit(RLIMIT_NOFILE, &limit));
		add(&limit, sizeof limit);
		add_result(getitimer(ITIMER_REAL, &timer));
		add(&timer, sizeof timer);
		add_result(times(&ticks));
		add(&ticks, sizeof ticks);
		n = getgroups(64, groups);
		add_result(n);
		add(groups, sizeof groups);
		add_result(readlink("/proc/self/exe", text, sizeof text));
		add_result(getcwd(text + 250, 250) != NULL);
		add(text, sizeof text);
		add_result(sigprocmask(SIG_BLOCK, NULL, &set));
		add(&set, 8);
		add_result(getpid());
	}
}

static void list(void)
{
	for (int i = 0; i < 3; i++) {
		DIR *dir = opendir("/usr/bin");
		struct dirent *e;

		while (dir && (e = readdir(dir)))
			add(e->d_name, strlen(e->d_name));
		if (dir)
			closedir(dir);
	}
}

/* Descriptor 1 by other numbers and names, and other files by its number. */
static void write_around(void)
{
	int copy = dup(1), again = fcntl(1, F_DUPFD, 50), file = open("written", O_RDWR | O_CREAT, 0600);
	char text[40];

	for (int i = 0; i < 5; i++) {
		write(copy, "by a copy\n", 10);
		write(again, "by another\n", 11);
		write(1, "by itself\n", 10);
		write(file, "to a file\n", 10);
	}
	dup2(file, 1);
	for (int i = 0; i < 5; i++)
		write(1, "not seen\n", 9);
	dup2(copy, 1);
	for (int i = 0; i < 5; i++)
		write(1, "seen again\n", 11);
	close(file);
	dup2(1, file); /* the number of the file is the output's */
	for (int i = 0; i < 5; i++)
		write(file, "by the file's number\n", 21);
	file = open("written", O_RDONLY);
	add_result(read(file, text, sizeof text));
	add(text, sizeof text);
	unlink("written");
}

/* A file is changed through descriptors that were used before it was mapped. */
static void write_mapped(void)
{
	int file = open("mapped", O_RDWR | O_CREAT, 0600), reader;
	const volatile uint8_t *map;

	for (int i = 0; i < 3; i++) {
		pwrite(file, "first", 5, 0);
		pwrite(file, "second", 6, PAGE);
	}
	reader = open("mapped", O_RDONLY);
	for (int i = 0; i < 3; i++)
		add_result(pread(reader, buffer, 100, 0));
	map = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, reader, 0);
	for (int i = 0; i < 10; i++) {
		char digit = (char)('0' + i);

		pwrite(file, &digit, 1, i * 3);
		for (int j = 0; j < 40; j++)
			add_result(map[j]);
		ftruncate(file, PAGE + 100 - i * 7);
		for (int j = 0; j < 120; j++)
			add_result(map[PAGE + j]);
	}
	unlink("mapped");
}

/* Many files are opened, asked about, and read; also by a descriptor that may write, which has the
 * number of one that may not. */
static void read_files(const char *path)
{
	struct stat st;
	int last = open(path, O_RDONLY), fd;

	for (int i = 0; i < 100; i++) {
		fd = open(path, O_RDONLY);
		add_result(fstat(fd, &st));
		add_result(pread(fd, buffer, 100, i));
		add_result(read(fd, buffer + 100, 100));
		add(buffer, 200);
		add_result(write(fd, buffer, 10));
		close(fd);
	}
	close(last);
	fd = open("written", O_RDWR | O_CREAT, 0600);
	add_result(fstat(fd, &st));
	last = dup2(1, 40);
	add_result(fstat(40, &st));
	write(40, "by a copy of what was asked about\n", 34);
	pwrite(fd, buffer, 100, 0);
	add_result(pread(fd, buffer, 50, 20));
	add(buffer, 50);
	unlink("written");
}

/* Of devices that a signal may break off, where more is asked for than a page. */
static void read_devices(void)
{
	static const char *const names[] = {"/dev/zero", "/dev/full", "/dev/urandom"};
	static const size_t sizes[] = {0, 1, 100, PAGE - 1, PAGE, PAGE + 1, 10000};
	uint8_t *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);

	munmap(pages + PAGE, PAGE);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		int fd = open(names[i], O_RDWR);

		for (size_t j = 0; j < 3 * sizeof sizes / sizeof sizes[0]; j++) {
			memset(buffer, 'b', 10100);
			add_result(read(fd, buffer, sizes[j / 3]));
			add_result(write(fd, buffer, j));
			add(buffer, 10100);
		}
		memset(pages, 'p', PAGE);
		add_result(read(fd, pages + PAGE - 100, 200));
		add_result(read(fd, pages + PAGE, 200));
		add(pages, PAGE);
		close(fd);
	}
}

/* Changes of mappings, and what lies there then. */
static void change_maps(int fd)
{
	uint8_t *heap = sbrk(0);

	for (int i = 0; i < 40; i++) {
		const size_t n = (size_t)(i % 7 + 1) * PAGE;
		uint8_t *pages = mmap(NULL, n, PROT_READ | PROT_WRITE,
				      MAP_ANONYMOUS | (i % 5 ? MAP_PRIVATE : MAP_SHARED), -1, 0);

		pages[n - 1] = (uint8_t)i;
		add_result(pages[0] + pages[n - 1]);
		add_result(mprotect(pages, PAGE, PROT_READ));
		add_result(pread(fd, pages, 10, i));
		add_result(mprotect(pages, PAGE, PROT_READ | PROT_WRITE));
		add_result(pread(fd, pages, 10, i));
		add(pages, 20);
		add_result(mmap(pages, PAGE, PROT_READ | PROT_WRITE,
				MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == pages);
		add(pages, 20);
		add_result(munmap(pages, i % 2 ? n : PAGE));
		add_result(pread(fd, pages, 10, i));
		add_result(munmap(pages + 1, PAGE));
		add_result(mprotect(pages, PAGE, PROT_READ));
		add_result(brk(heap + (i * 3 % 20) * PAGE + i));
		if (i * 3 % 20) {
			add(heap + PAGE - 40, 40);
			memset(heap, i, PAGE);
		}
	}
}

static void count(int signo)
{
	(void)signo;
	signals++;
}

/* Reads that wait, and that signals interrupt: made again, or not. */
static void wait_in_reads(int flags)
{
	const struct itimerval often = {{0, 3000}, {0, 3000}}, never = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = count, .sa_flags = flags};
	int pipes[2], from;
	char byte;

	pipe(pipes);
	fcntl(pipes[0], F_SETFL, O_NONBLOCK);
	for (int i = 0; i < 10; i++)
		add_result(read(pipes[0], &byte, 1)); /* nothing is there */
	fcntl(pipes[0], F_SETFL, 0);
	from = pipes[0];
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 20; i++) {
		write(pipes[1], "xy", 2);
		add_result(read(from, buffer, 10));
		add(buffer, 3);
		if (!(flags & SA_RESTART))
			add_result(read(from, buffer, 1)); /* until a signal comes */
	}
	setitimer(ITIMER_REAL, &never, NULL);
	add_result(signals);
}

/* Signals come in the midst of what is done with the calls. */
static void read_under_alarms(int fd)
{
	const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 3000; i++) {
		add_result(pread(fd, buffer, 10000 + (size_t)i * 7, i));
		add(buffer + 5000, 20);
		add_result(signals);
	}
	setitimer(ITIMER_REAL, &never, NULL);
}

/* Until somebody kills it. */
static void read_for_ever(int fd)
{
	write(1, "reads\n", 6);
	for (off_t i = 0;; i = (i + 1) % 1000)
		add_result(pread(fd, buffer, 400000, i));
}

int main(int argc, char **argv)
{
	int fd = argc > 2 ? open(argv[1], O_RDONLY) : -1;

	if (fd < 0)
		return 2;
	if (!strcmp(argv[2], "sizes"))
		read_sizes(fd);
	if (!strcmp(argv[2], "much"))
		read_much(fd);
	if (!strcmp(argv[2], "holes"))
		read_into_holes(fd);
	if (!strcmp(argv[2], "ask"))
		ask(argv[1]);
	if (!strcmp(argv[2], "files"))
		read_files(argv[1]);
	if (!strcmp(argv[2], "devices"))
		read_devices();
	if (!strcmp(argv[2], "maps"))
		change_maps(fd);
	if (!strcmp(argv[2], "list"))
		list();
	if (!strcmp(argv[2], "outputs"))
		write_around();
	if (!strcmp(argv[2], "mapped"))
		write_mapped();
	if (!strcmp(argv[2], "restarts"))
		wait_in_reads(SA_RESTART);
	if (!strcmp(argv[2], "interrupts"))
		wait_in_reads(0);
	if (!strcmp(argv[2], "for ever"))
		read_for_ever(fd);
	if (!strcmp(argv[2], "alarms"))
		read_under_alarms(fd);
	printf("%s: %016llx\n", argv[2], (unsigned long long)sum);
	return 0;
}
