// SPDX-License-Identifier: MIT
/* signal_state SEED COUNT: so many random operations on the process's signals, one behind the other, also in handlers. After each, what it gave
 * and the Sig* lines of /proc/thread-self/status: the same in each run of a seed. signal_state show: those lines alone.
 * tests/e2e/engine_random.py */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/ucontext.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	DEEPEST = 4,
	TEXT = 512,
	STACK = 1 << 16,
	SOON_NS = 5000000, /* later than the next call, and before the end of that */
	LATER_NS = 15000000,
	FIRST_RT = 34, /* of those that C libraries leave to programs */
};

extern char **environ;

static uint64_t state;
static int depth, descriptor = -1;
static long handled;
static sigjmp_buf landing;
static volatile bool may_land;
static const char *self;

static uint32_t next(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

/* All but those that stop or cannot be caught. */
static int any_signal(void)
{
	int signo;

	do
		signo = (int)next(64) + 1;
	while (signo == SIGKILL || signo == SIGSTOP || signo == SIGTSTP || signo == SIGTTIN || signo == SIGTTOU || (signo > 31 && signo < FIRST_RT));
	return signo;
}

static sigset_t any_set(void)
{
	sigset_t set;

	if (!next(12))
		sigfillset(&set);
	else
		sigemptyset(&set);
	for (uint32_t n = next(6); n; n--)
		sigaddset(&set, any_signal());
	return set;
}

static void show(const char *name, long argument, long result)
{
	static const char *const keys[] = {"SigPnd:", "ShdPnd:", "SigBlk:", "SigIgn:", "SigCgt:"};
	int error = result < 0 ? errno : 0, fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
	char status[4096] = {0}, text[TEXT], value[32];
	size_t n = 0;

	(void)!read(fd, status, sizeof status - 1);
	close(fd);
	n += (size_t)snprintf(text, sizeof text, "%d %s %ld: %ld (%d), %ld handled;", depth, name, argument, result, error, handled);
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		const char *line = strstr(status, keys[i]);

		if (line && sscanf(line + strlen(keys[i]), "%31s", value) == 1)
			n += (size_t)snprintf(text + n, sizeof text - n, " %s", value);
	}
	text[n++] = '\n';
	(void)!write(STDOUT_FILENO, text, n);
}

static void operate(void);

static void handle(int signo, siginfo_t *info, void *context)
{
	handled++;
	depth++;
	show("handler", signo, info ? info->si_code & 0xff : 0);
	if (depth < DEEPEST && !next(3))
		operate();
	if (info && !next(6))
		(next(2) ? sigaddset : sigdelset)(&((ucontext_t *)context)->uc_sigmask, any_signal());
	depth--;
	if (may_land && !next(8)) {
		may_land = false;
		siglongjmp(landing, 1);
	}
}

static void handle_plain(int signo) { handle(signo, NULL, NULL); }

/* What is sent ends nothing. */
static void make_harmless(int signo)
{
	struct sigaction action;

	sigaction(signo, NULL, &action);
	if (action.sa_handler != SIG_DFL || signo == SIGCHLD || signo == SIGCONT || signo == SIGURG || signo == SIGWINCH)
		return;
	action = (struct sigaction){.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
	sigaction(signo, &action, NULL);
}

static void make_pending_harmless(void)
{
	sigset_t pending;

	sigpending(&pending);
	for (int signo = 1; signo <= 64; signo++)
		if (sigismember(&pending, signo) == 1)
			make_harmless(signo);
}

static void change_mask(void)
{
	sigset_t set = any_set();
	int how = (int)next(3);

	make_pending_harmless();
	show("mask", how, sigprocmask(how, &set, NULL));
}

static void change_action(void)
{
	struct sigaction action = {.sa_mask = any_set()};
	int signo = any_signal();

	action.sa_flags = (next(2) ? SA_NODEFER : 0) | (next(3) ? 0 : (int)SA_RESETHAND) | (next(2) ? SA_RESTART : 0) | (next(4) ? 0 : SA_ONSTACK);
	if (!next(5)) {
		action.sa_handler = SIG_IGN;
	} else if (next(3)) {
		action.sa_flags |= SA_SIGINFO;
		action.sa_sigaction = handle;
	} else {
		action.sa_handler = handle_plain;
	}
	show("action", signo, sigaction(signo, &action, NULL));
}

static void change_stack(void)
{
	static char bytes[STACK];
	const stack_t stack = {.ss_sp = bytes, .ss_size = sizeof bytes, .ss_flags = next(2) ? 0 : SS_DISABLE};

	show("stack", stack.ss_flags, sigaltstack(&stack, NULL));
}

static void send_process(void)
{
	int signo = any_signal();

	make_harmless(signo);
	show("kill", signo, kill(getpid(), signo));
}

static void send_thread(void)
{
	int signo = any_signal();

	make_harmless(signo);
	show("raise", signo, raise(signo));
}

static void send_value(void)
{
	int signo = any_signal();

	make_harmless(signo);
	show("queue", signo, sigqueue(getpid(), signo, (union sigval){.sival_int = 7}));
}

/* SIGTRAP and SIGSEGV with a value: nobody can tell whether they were sent to the thread (doc/LIMITS.md). */
static void send_thread_value(void)
{
	static const int codes[] = {SI_QUEUE, SI_TIMER, SI_MESGQ, SI_ASYNCIO};
	int signo = any_signal();
	siginfo_t info = {.si_signo = signo, .si_code = codes[next(sizeof codes / sizeof codes[0])]};

	if (signo == SIGTRAP || signo == SIGSEGV)
		return;
	make_harmless(signo);
	show("thread's queue", signo, syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signo, &info));
}

static void wait_for(void)
{
	const struct timespec at_once = {0};
	sigset_t set = any_set();

	show("wait", 0, sigtimedwait(&set, NULL, &at_once));
}

static void ask(void)
{
	sigset_t set;
	long signals;

	sigemptyset(&set);
	sigpending(&set);
	memcpy(&signals, &set, sizeof signals);
	show("pending", 0, signals & LONG_MAX);
}

static void read_descriptor(void)
{
	struct signalfd_siginfo info = {0};
	sigset_t set = any_set();

	if (descriptor >= 0 && next(2)) {
		long n = read(descriptor, &info, sizeof info);

		show("descriptor", (long)info.ssi_signo, n);
		return;
	}
	descriptor = signalfd(descriptor, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	show("descriptor made", 0, descriptor < 0);
}

static void poll_descriptor(void)
{
	struct pollfd polled = {.fd = descriptor, .events = POLLIN};
	const struct timespec time = {.tv_nsec = 1000};
	sigset_t set = any_set();
	int n;

	make_pending_harmless();
	n = ppoll(&polled, 1, &time, &set);
	show("ppoll", polled.revents, n);
}

static void sleep_selecting(void)
{
	const struct timespec time = {.tv_nsec = 1000};
	sigset_t set = any_set();

	make_pending_harmless();
	show("pselect", 0, pselect(0, NULL, NULL, NULL, &time, &set));
}

/* With one that is blocked, handled and sent: it returns. */
static void suspend(void)
{
	struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
	sigset_t set = any_set(), one;

	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	sigdelset(&set, SIGUSR1);
	make_pending_harmless();
	sigprocmask(SIG_BLOCK, &one, NULL);
	sigaction(SIGUSR1, &action, NULL);
	kill(getpid(), SIGUSR1);
	show("suspend", 0, sigsuspend(&set));
}

static void sleep_on(void)
{
	struct timespec left = {.tv_nsec = LATER_NS};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static void await_alarm(void)
{
	const struct itimerval soon = {.it_value.tv_usec = SOON_NS / 1000};

	make_harmless(SIGALRM);
	setitimer(ITIMER_REAL, &soon, NULL);
	sleep_on();
	show("alarm", 0, 0);
}

static void await_timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = FIRST_RT + (int)next(3)};
	const struct itimerspec soon = {.it_value.tv_nsec = SOON_NS};
	timer_t timer;

	make_harmless(event.sigev_signo);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		return;
	timer_settime(timer, 0, &soon, NULL);
	sleep_on();
	timer_delete(timer);
	show("timer", event.sigev_signo, 0);
}

static void await_child(const char *name, pid_t child)
{
	int status = 0;
	pid_t gone;

	do
		gone = waitpid(child, &status, 0);
	while (gone < 0 && errno == EINTR);
	show(name, status, gone == child ? 0 : -1);
}

static void fork_child(void)
{
	pid_t child = fork();

	if (!child)
		_exit((int)next(3));
	await_child("fork", child);
}

static void vfork_child(void)
{
	pid_t child = vfork();

	if (!child)
		_exit(1);
	await_child("vfork", child);
}

static void spawn_child(void)
{
	char *const arguments[] = {(char *)(uintptr_t)self, (char *)(uintptr_t)"show", NULL};
	posix_spawnattr_t attributes;
	sigset_t set = any_set();
	pid_t child;

	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &set);
	posix_spawnattr_setsigdefault(&attributes, &set);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (!posix_spawn(&child, self, NULL, &attributes, arguments, environ))
		await_child("spawn", child);
	posix_spawnattr_destroy(&attributes);
}

/* A handler may not return, but go on here. */
static void land(void)
{
	int signo = any_signal(), here = depth;

	if (may_land)
		return;
	may_land = true;
	if (!sigsetjmp(landing, (int)next(2))) {
		make_harmless(signo);
		raise(signo);
		may_land = false;
		show("stayed", signo, 0);
		return;
	}
	depth = here;
	show("landed", signo, 0);
}

static sigjmp_buf behind_fault;

static void leave_fault(int signo, siginfo_t *info, void *context)
{
	(void)context;
	show("fault's handler", signo, info->si_code);
	siglongjmp(behind_fault, 1);
}

static void fault(void)
{
	struct sigaction action = {.sa_sigaction = leave_fault, .sa_flags = SA_SIGINFO, .sa_mask = any_set()}, before;
	int *volatile nowhere = (int *)8;
	sigset_t blocked;

	sigprocmask(SIG_BLOCK, NULL, &blocked);
	if (sigismember(&blocked, SIGSEGV)) /* it would end the process */
		return;
	sigaction(SIGSEGV, &action, &before);
	if (!sigsetjmp(behind_fault, 1))
		*nowhere = 1;
	sigaction(SIGSEGV, &before, NULL);
	show("fault", 0, 0);
}

static void yield(void) { show("yield", 0, sched_yield()); }

static void operate(void)
{
	static void (*const rows[])(void) = {
		change_mask, change_mask,     change_action,   change_action, change_stack, send_process, send_process, send_thread,
		send_thread, send_value,      send_thread_value, wait_for,    ask,	    read_descriptor, poll_descriptor, sleep_selecting,
		suspend,     await_alarm,     await_timer,     fork_child,    vfork_child,  spawn_child,  land,		fault,
		yield,
	};

	rows[next(sizeof rows / sizeof rows[0])]();
}

int main(int argc, char **argv)
{
	self = argv[0];
	if (argc == 2) {
		show("spawned", 0, 0);
		return 0;
	}
	if (argc != 3)
		return 2;
	state = strtoull(argv[1], NULL, 0);
	for (long n = strtol(argv[2], NULL, 0); n > 0; n--)
		operate();
	show("end", 0, 0);
	return 0;
}
