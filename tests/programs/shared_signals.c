// SPDX-License-Identifier: MIT
/* shared_signals NAME SIGNAL: SIGNAL (trap or segv, blocked by all) is sent to a process of which one thread computes without a system
 * call until another has seen it, which looks in the way that NAME says. Prints what it saw; alone it prints the names. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	SOON_US = 100000,
	LATE_MS = 10000, /* by then it is lost */
	LOOKS = 100,
};

static int signo;
static sigset_t set;
static volatile int seen, computing;
static volatile unsigned long sum;

static void *compute(void *unused)
{
	(void)unused;
	while (!seen) {
		unsigned long n = 1000;

		/* Nobody needs the flags where it begins again: to stop there, the engine steps what sets them. */
		__asm__ volatile("1: test %0, %0\n\tlea -1(%0), %0\n\tjne 1b" : "+r"(n) : : "cc");
		computing = 1;
	}
	return NULL;
}

/* Code that was written makes the engine protect its page, and hide a blocked SIGSEGV. */
static void run_written_code(void)
{
	static const unsigned char ret[] = {0xb8, 7, 0, 0, 0, 0xc3};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*code)(void);

	memcpy(page, ret, sizeof ret);
	memcpy(&code, &page, sizeof code);
	if (code() != 7)
		exit(3);
}

static void nap(long us)
{
	struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static pid_t send_soon(void)
{
	pid_t parent = getpid(), child = fork();

	if (child)
		return child;
	nap(SOON_US);
	_exit(kill(parent, signo) ? 4 : 0);
}

static void say_info(int result, const siginfo_t *info, pid_t sender)
{
	printf("%d code %d%s\n", result == signo, info->si_code, info->si_code == SI_QUEUE && info->si_pid != sender ? " from another" : "");
}

static void wait_ms(int ms, pid_t sender)
{
	struct timespec limit = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l};
	siginfo_t info = {0};

	say_info(sigtimedwait(&set, &info, &limit), &info, sender);
}

static void waited_for(void)
{
	pid_t child = send_soon();

	wait_ms(LATE_MS, child);
	waitpid(child, NULL, 0);
}

static void waited_for_later(void)
{
	waitpid(send_soon(), NULL, 0);
	nap(SOON_US);
	wait_ms(0, 0);
	wait_ms(0, 0);
}

static void sent_by_itself(void)
{
	kill(getpid(), signo);
	wait_ms(0, 0);
}

static void queued(void)
{
	const union sigval value = {.sival_int = 4711};
	struct timespec limit = {.tv_sec = LATE_MS / 1000};
	siginfo_t info = {0};

	sigqueue(getpid(), signo, value);
	nap(SOON_US);
	say_info(sigtimedwait(&set, &info, &limit), &info, getpid());
	printf("%d\n", info.si_value.sival_int);
}

static int descriptor(void) { return signalfd(-1, &set, 0); }

static void say_read(int fd)
{
	struct signalfd_siginfo info = {0};
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (poll(&p, 1, LATE_MS) != 1) {
		puts("nothing");
		return;
	}
	printf("%zd", read(fd, &info, sizeof info));
	printf(" %d code %d\n", (int)info.ssi_signo == signo, info.ssi_code);
}

static void read_from_descriptor(void)
{
	pid_t child = send_soon();
	struct signalfd_siginfo info = {0};

	/* Lost, it would wait for ever. */
	alarm(LATE_MS / 1000);
	printf("%zd", read(descriptor(), &info, sizeof info));
	printf(" %d code %d\n", (int)info.ssi_signo == signo, info.ssi_code);
	waitpid(child, NULL, 0);
}

static void polled(void)
{
	pid_t child = send_soon();

	say_read(descriptor());
	waitpid(child, NULL, 0);
}

static void polled_later(void)
{
	waitpid(send_soon(), NULL, 0);
	nap(SOON_US);
	say_read(descriptor());
}

static void in_epoll(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	pid_t child = send_soon();
	int fd = descriptor(), e = epoll_create1(0);

	epoll_ctl(e, EPOLL_CTL_ADD, fd, &event);
	printf("%d\n", epoll_wait(e, &event, 1, LATE_MS));
	say_read(fd);
	waitpid(child, NULL, 0);
}

/* It stays pending, however often one asks. */
static void asked_for(void)
{
	sigset_t pending;
	int yes = 0;

	kill(getpid(), signo);
	nap(SOON_US);
	for (int i = 0; i < LOOKS; i++) {
		sigpending(&pending);
		yes += sigismember(&pending, signo);
		if (i % 10 == 0)
			nap(1000);
	}
	printf("%d\n", yes);
	wait_ms(0, 0);
	sigpending(&pending);
	printf("%d\n", sigismember(&pending, signo));
}

static void in_status(void)
{
	char line[256];
	FILE *file;

	kill(getpid(), signo);
	nap(SOON_US);
	file = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof line, file))
		if (!strncmp(line, "ShdPnd", 6) || !strncmp(line, "SigPnd", 6))
			fputs(line, stdout);
	fclose(file);
}

/* Whoever unblocks it gets it. */
static void note(int number)
{
	static const char text[] = "handled\n";

	(void)!write(1, text, number == signo ? sizeof text - 1 : 0);
}

static void unblocked(void)
{
	kill(getpid(), signo);
	nap(SOON_US);
	signal(signo, note);
	fflush(stdout);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	wait_ms(0, 0);
}

static void in_sigsuspend(void)
{
	pid_t child = send_soon();
	sigset_t none;

	signal(signo, note);
	sigemptyset(&none);
	sigsuspend(&none);
	waitpid(child, NULL, 0);
}

/* A child that sends when it is told to, as often as that. */
static struct {
	volatile int wanted, sent;
} *shared;

static pid_t send_when_told(int first, int rounds)
{
	pid_t parent = getpid(), child;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	child = fork();
	if (child)
		return child;
	for (int i = 1; i <= rounds; i++) {
		while (shared->wanted != i)
			nap(50);
		if (first)
			kill(parent, first);
		kill(parent, signo);
		shared->sent = i;
	}
	_exit(0);
}

/* Computes until it has been sent. */
static void await_sent(int round)
{
	shared->wanted = round;
	while (shared->sent != round)
		sum += sum & 3 ? 1 : sum >> 3;
}

/* It comes while this thread computes, which asks for it in its next call. */
static void asked_for_at_once(void)
{
	const struct timespec now = {0};
	int pending = 0, taken = 0;
	pid_t child = send_when_told(0, LOOKS);

	for (int i = 1; i <= LOOKS; i++) {
		sigset_t there;

		await_sent(i);
		sigpending(&there);
		pending += sigismember(&there, signo);
		taken += sigtimedwait(&set, NULL, &now) == signo;
	}
	printf("%d %d\n", pending, taken);
	waitpid(child, NULL, 0);
}

static volatile int counted, strangers;
static volatile pid_t sender;

static void count(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	strangers += info->si_pid != sender;
	__atomic_fetch_add(&counted, 1, __ATOMIC_RELAXED);
}

static void count_signal(int number)
{
	struct sigaction action = {.sa_sigaction = count, .sa_flags = SA_SIGINFO | SA_RESTART};

	sigaction(number, &action, NULL);
}

/* Whichever thread it is handled in, it is some day. */
static void await_counted(int n)
{
	for (int i = 0; counted < n && i < LATE_MS * 10; i++)
		nap(100);
}

/* Behind another that is handled, by whichever thread: both come. */
static void behind_another(void)
{
	const struct timespec now = {0};
	int taken = 0;

	count_signal(SIGUSR1);
	sender = send_when_told(SIGUSR1, LOOKS);
	for (int i = 1; i <= LOOKS; i++) {
		await_sent(i);
		taken += sigtimedwait(&set, NULL, &now) == signo;
		await_counted(i);
	}
	printf("%d %d\n", counted, taken);
	waitpid(sender, NULL, 0);
}

/* Only this thread can handle that one, which comes first. */
static void behind_its_own(void)
{
	const struct timespec now = {0};
	int first = 0, taken = 0;

	count_signal(SIGUSR1);
	sender = send_when_told(SIGUSR1, LOOKS);
	for (int i = 1; i <= LOOKS; i++) {
		await_sent(i);
		taken += sigtimedwait(&set, NULL, &now) == signo;
		first += counted == i;
	}
	printf("%d %d\n", first, taken);
	waitpid(sender, NULL, 0);
}

static void *sleep_unblocked(void *unused)
{
	(void)unused;
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	while (!seen)
		nap(500);
	return NULL;
}

/* A third thread handles it, which is told who sent it. */
static void handled_elsewhere(void)
{
	pthread_t thread;

	count_signal(signo);
	sender = send_when_told(0, LOOKS / 4);
	pthread_create(&thread, NULL, sleep_unblocked, NULL);
	nap(SOON_US);
	for (int i = 1; i <= LOOKS / 4; i++) {
		await_sent(i);
		await_counted(i);
	}
	printf("%d %d\n", counted, strangers);
	seen = 1;
	pthread_join(thread, NULL);
	waitpid(sender, NULL, 0);
}

/* A thread's own, not the process's, that comes while it sleeps: it computes then while the process is stopped and continued, and asks at last. */
enum { STOPS = 10 };

static volatile int reached, asks;

static void *compute_and_ask(void *unused)
{
	struct timespec none = {0};

	(void)unused;
	for (int i = 1; i <= LOOKS / 4; i++) {
		reached = i;
		nap(SOON_US / 4);
		while (asks != i)
			sum += sum & 3 ? 1 : sum >> 3;
		counted += sigtimedwait(&set, NULL, &none) == signo;
	}
	return NULL;
}

static pid_t stop_when_told(volatile int *told)
{
	pid_t parent = getpid(), child = fork();

	if (child)
		return child;
	for (int i = 1; i <= LOOKS / 4; i++) {
		while (told[0] != i)
			nap(500);
		for (int n = 0; n < STOPS; n++) {
			kill(parent, SIGSTOP);
			nap(1000);
			kill(parent, SIGCONT);
			nap(2000 + n * 97);
		}
		told[1] = i;
	}
	_exit(0);
}

static void own_while_stopped(void)
{
	volatile int *told = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = stop_when_told(told);
	pthread_t thread;

	seen = 1;
	pthread_create(&thread, NULL, compute_and_ask, NULL);
	for (int i = 1; i <= LOOKS / 4; i++) {
		while (reached != i)
			nap(500);
		nap(SOON_US / 20);
		pthread_kill(thread, signo);
		nap(SOON_US / 4);
		told[0] = i;
		while (told[1] != i)
			nap(500);
		asks = i;
	}
	pthread_join(thread, NULL);
	printf("%d\n", counted);
	waitpid(child, NULL, 0);
}

static const struct {
	const char *name;
	void (*run)(void);
	int own; /* a signal that the thread which computes blocks, too */
} table[] = {
	{"waited-for", waited_for, 0},
	{"waited-for-later", waited_for_later, 0},
	{"sent-by-itself", sent_by_itself, 0},
	{"queued", queued, 0},
	{"read", read_from_descriptor, 0},
	{"polled", polled, 0},
	{"polled-later", polled_later, 0},
	{"epoll", in_epoll, 0},
	{"asked-for", asked_for, 0},
	{"status", in_status, 0},
	{"unblocked", unblocked, 0},
	{"sigsuspend", in_sigsuspend, 0},
	{"asked-for-at-once", asked_for_at_once, 0},
	{"behind-another", behind_another, 0},
	{"behind-its-own", behind_its_own, SIGUSR1},
	{"handled-elsewhere", handled_elsewhere, 0},
	{"own-while-stopped", own_while_stopped, 0},
};

int main(int argc, char **argv)
{
	pthread_t thread;
	sigset_t own;

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		if (argc < 3)
			puts(table[i].name);
		else if (!strcmp(argv[1], table[i].name)) {
			signo = strcmp(argv[2], "segv") ? SIGTRAP : SIGSEGV;
			sigemptyset(&set);
			sigaddset(&set, signo);
			pthread_sigmask(SIG_BLOCK, &set, NULL);
			run_written_code();
			sigemptyset(&own);
			if (table[i].own)
				sigaddset(&own, table[i].own);
			pthread_sigmask(SIG_BLOCK, &own, NULL);
			pthread_create(&thread, NULL, compute, NULL);
			pthread_sigmask(SIG_UNBLOCK, &own, NULL);
			while (!computing)
				nap(1000);
			table[i].run();
			seen = 1;
			pthread_join(thread, NULL);
			return 0;
		}
	}
	return argc < 3 ? 0 : 2;
}
