/* SPDX-License-Identifier: MIT */
/* Processes that a fork made of one another, and code that is or is not the same in them: forks CASE [NUMBER]. Prints a number that
 * depends on what all of them computed, and nothing on when. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	VALUE = 1, /* where in the code the value is */
	KILLED = 1000,
};

static const uint8_t returns_1[] = {0xb8, 1, 0, 0, 0, 0xc3}; /* mov eax, 1; ret */

typedef int (*function)(void);

static int work(int n)
{
	char text[64];
	int sum = 0;

	for (int i = 0; i < n; i++) {
		snprintf(text, sizeof text, "%d-%x", i, (unsigned)(i * n));
		sum += (int)strlen(text) * text[0];
	}
	return sum & 63;
}

static int end_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : KILLED + WTERMSIG(status); }

static int wait_all(void)
{
	int status, sum = 0;

	while (wait(&status) > 0)
		sum += end_of(status);
	return sum;
}

static int wait_for(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid ? end_of(status) : -1;
}

static void *map(void *at, int prot, int flags)
{
	void *p = mmap(at, PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

/* A page of code that is not writable afterwards. */
static function make_code(void *at, uint8_t value)
{
	uint8_t *p = map(at, PROT_READ | PROT_WRITE, at ? MAP_FIXED : 0);

	memcpy(p, returns_1, sizeof returns_1);
	p[VALUE] = value;
	mprotect(p, PAGE, PROT_READ | PROT_EXEC);
	return (function)(void *)p;
}

static void pass(int fd) { (void)!write(fd, "x", 1); }

static void await(int fd)
{
	char c;

	(void)!read(fd, &c, 1);
}

/* Each process is made by the one before. */
static int nested(int depth)
{
	sigset_t children;
	pid_t pid;
	int sum;

	/* Where a SIGCHLD comes, before wait4() or in it, is anyone's guess. */
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, NULL);
	pid = depth ? fork() : 0;
	if (!depth)
		return work(30);
	if (!pid)
		_exit(nested(depth - 1) & 127);
	sum = work(depth % 7 + 5);
	return (sum + wait_for(pid)) & 127;
}

/* All of one, at once, each with other work. */
static int many(int n)
{
	int sum;

	for (int i = 0; i < n; i++)
		if (!fork())
			_exit(work(i * 3));
	sum = work(100);
	return sum + wait_all();
}

static int then_exec(int n)
{
	for (int i = 0; i < n; i++)
		if (!fork()) {
			execl("/proc/self/exe", "forks", "many", "3", (char *)NULL);
			_exit(1);
		}
	return wait_all();
}

static int run_self(const char *what, int n)
{
	char number[16];

	snprintf(number, sizeof number, "%d", n);
	execl("/proc/self/exe", "forks", what, number, (char *)NULL);
	_exit(1);
}

/* One process, again and again another image: its history goes back through all of them. */
static int exec_line(int n)
{
	int sum = work(n + 2);

	return n ? run_self("exec-line", n - 1) : sum;
}

static int awaiting(int fd)
{
	await(fd);
	return work(5);
}

/* As many functions that only return, run and gone again. */
static void run_functions_that_go(void)
{
	enum {
		FUNCTIONS = 8300, /* segments: from 8192 dead ones on the engine looks for them */
	};
	uint8_t *p = mmap(NULL, FUNCTIONS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(p, 0xc3, FUNCTIONS);
	mprotect(p, FUNCTIONS, PROT_READ | PROT_EXEC);
	for (int i = 0; i < FUNCTIONS; i++)
		((void (*)(void))(void *)(p + i))();
	munmap(p, FUNCTIONS);
}

/* The child becomes another program. What of its history is of the code that it had with its parent is read when much of the parent's has gone. */
static int child_execs(int n)
{
	int execed[2], gone[2];
	pid_t pid;

	if (pipe(execed) || pipe(gone))
		return -1;
	pid = fork();
	if (!pid) {
		close(execed[0]);
		fcntl(execed[1], F_SETFD, FD_CLOEXEC);
		work(n);
		run_self("awaiting", gone[0]);
	}
	close(execed[1]);
	await(execed[0]);
	for (int i = 0; i < 2; i++)
		run_functions_that_go();
	work(n);
	pass(gone[1]);
	return wait_for(pid);
}

static int call_library(void)
{
	void *library = dlopen("libm.so.6", RTLD_NOW);
	double (*cosine)(double) = library ? (double (*)(double))dlsym(library, "cos") : NULL;
	int result = cosine ? (int)(cosine(1.0) * 50) : 99;

	if (library)
		dlclose(library);
	return result;
}

/* Libraries come and go in the children, and in the parent while these live. */
static int libraries(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		if (!fork())
			_exit(call_library() + work(5));
		if (i % 2)
			sum += call_library();
		sum += work(7);
	}
	return sum + wait_all();
}

/* Code that can be written, and is, in all of them. */
static int written(int n)
{
	uint8_t *code = map(NULL, PROT_READ | PROT_WRITE | PROT_EXEC, 0);
	function call = (function)(void *)code;
	int sum = 0;

	memcpy(code, returns_1, sizeof returns_1);
	for (int i = 0; i < n; i++) {
		sum += call();
		if (!fork()) {
			sum = call();
			code[VALUE] = (uint8_t)(20 + i);
			_exit(sum + call() + work(3));
		}
		code[VALUE] = (uint8_t)(3 + i);
		sum += call();
	}
	return sum + wait_all();
}

/* At one address a child writes other code, another child maps other code, and they and the parent call it, before and after. */
static int replaced(int n)
{
	function call = make_code(NULL, 1);
	int go[2], sum = call();

	(void)n;
	if (pipe(go))
		return -1;
	if (!fork()) {
		mprotect((void *)call, PAGE, PROT_READ | PROT_WRITE);
		((uint8_t *)(void *)call)[VALUE] = 9;
		mprotect((void *)call, PAGE, PROT_READ | PROT_EXEC);
		sum = call();
		await(go[0]);
		_exit(sum + call());
	}
	if (!fork()) {
		munmap((void *)call, PAGE);
		make_code((void *)call, 5);
		sum = call();
		await(go[0]);
		_exit(sum + call());
	}
	for (int i = 0; i < 3; i++)
		sum += call();
	pass(go[1]);
	pass(go[1]);
	return sum + wait_all() + call();
}

/* The child has code where its parent and a sibling have nothing, whose call there is their end. */
static int only_there(int n)
{
	void *at = map(NULL, PROT_NONE, 0);
	int up[2], go[2], sum;
	pid_t pid;

	(void)n;
	munmap(at, PAGE);
	if (pipe(up) || pipe(go))
		return -1;
	if (!(pid = fork())) {
		function call = make_code(at, 5);

		sum = call() + call() + call();
		pass(up[1]);
		await(go[0]);
		_exit(sum);
	}
	await(up[0]);
	if (!fork())
		_exit(((function)at)());
	wait(&sum);
	sum = end_of(sum);
	pass(go[1]);
	return sum + wait_for(pid);
}

static void fork_in_handler(int signo)
{
	(void)signo;
	if (!fork())
		_exit(work(5));
}

static int in_handler(int n)
{
	int sum = 0;

	signal(SIGUSR1, fork_in_handler);
	for (int i = 0; i < n; i++) {
		raise(SIGUSR1);
		sum += work(i);
	}
	return sum + wait_all();
}

static void *fork_and_map(void *arg)
{
	intptr_t sum = 0;

	for (int i = 0; i < 4; i++) {
		pid_t pid = fork();
		void *code;

		if (!pid)
			_exit(work((int)(intptr_t)arg + i));
		code = (void *)make_code(NULL, (uint8_t)i);
		sum += ((function)code)();
		munmap(code, PAGE);
		sum += wait_for(pid);
	}
	return (void *)sum;
}

/* While other threads change what is mapped. */
static int in_threads(int n)
{
	pthread_t threads[8];
	int sum = 0;

	for (intptr_t i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, fork_and_map, (void *)(i * 10));
	for (int i = 0; i < n; i++) {
		void *result;

		pthread_join(threads[i], &result);
		sum += (int)(intptr_t)result;
	}
	return sum;
}

/* Children whose parent is gone. */
static int orphans(int n)
{
	int sum = 0, out[2];
	uint8_t c;

	if (pipe(out))
		return -1;
	for (int i = 0; i < n; i++)
		if (!fork()) {
			pid_t parent = getpid();

			if (fork())
				_exit(i);
			while (getppid() == parent)
				usleep(1000);
			c = (uint8_t)work(15 + i);
			(void)!write(out[1], &c, 1);
			_exit(0);
		}
	sum = wait_all();
	close(out[1]);
	while (read(out[0], &c, 1) == 1)
		sum += c;
	return sum;
}

/* Says "up" when all are there, and ends when its standard input does. */
static int alive(int n)
{
	int up[2], go[2];

	if (pipe(up) || pipe(go))
		return -1;
	for (int i = 0; i < n; i++)
		if (!fork()) {
			close(go[1]);
			work(50);
			pass(up[1]);
			await(go[0]);
			_exit(0);
		}
	for (int i = 0; i < n; i++)
		await(up[0]);
	puts("up");
	fflush(stdout);
	await(0);
	close(go[1]);
	return wait_all();
}

/* The same, of a process that has run many pages of code that it can write. */
static int alive_written(int n)
{
	for (int i = 0; i < 1000; i++) {
		uint8_t *code = map(NULL, PROT_READ | PROT_WRITE | PROT_EXEC, 0);

		memcpy(code, returns_1, sizeof returns_1);
		((function)(void *)code)();
	}
	return alive(n);
}

/* A recording may begin here. */
__attribute__((noinline)) void advised(void);
void advised(void) { __asm__ volatile(""); }

/* A page that has run, of which the child has nothing, or (advice MADV_WIPEONFORK) has it empty: add %al,(%rax) to its end. */
static int without(function f, int advice)
{
	int before = f(), result;

	if (madvise((void *)f, PAGE, advice))
		return -1;
	advised();
	before += f();
	for (int i = result = 0; i < 2; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(f());
		result = result * 3 + wait_for(pid);
	}
	return before + result + f();
}

static int left_out(int n)
{
	function written = make_code(NULL, (uint8_t)n);

	mprotect((void *)written, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	return without(make_code(NULL, (uint8_t)n), MADV_DONTFORK) + without(make_code(NULL, (uint8_t)n), MADV_WIPEONFORK) +
	       without(written, MADV_WIPEONFORK);
}

static void *left_out_in_thread(void *first)
{
	int result;

	pthread_join(*(pthread_t *)first, NULL);
	result = left_out(7);
	printf("left-out-in-thread: %d\n", result);
	exit(result & 127);
}

/* The first thread has ended by then: of it /proc knows no memory. */
static int without_first(int n)
{
	static pthread_t first, thread;

	(void)n;
	first = pthread_self();
	if (pthread_create(&thread, NULL, left_out_in_thread, &first))
		return 99;
	pthread_exit(NULL);
}

/* Whether a child that has its parent's descriptors has a file mapped where the engine has what is the child's alone: for that there would be a
 * descriptor for a moment. */
static int same_descriptors(int n)
{
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
	FILE *maps = pid ? NULL : fopen("/proc/self/maps", "r");
	char line[512];
	int files = 0;

	if (pid)
		return wait_for(pid) + work(n);
	while (maps && fgets(line, sizeof line, maps))
		files += !strncmp(line, "550000000000-", 13) && strchr(line, '/');
	_exit(files + work(n));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int n);
	} cases[] = {
		{"nested", nested},   {"many", many},		{"then-exec", then_exec},   {"libraries", libraries}, {"written", written}, {"replaced", replaced},
		{"only-there", only_there}, {"in-handler", in_handler}, {"in-threads", in_threads}, {"orphans", orphans},     {"alive", alive},
		{"alive-written", alive_written}, {"exec-line", exec_line}, {"awaiting", awaiting}, {"child-execs", child_execs},
		{"left-out", left_out}, {"left-out-in-thread", without_first}, {"same-descriptors", same_descriptors},
	};

	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
		if (!strcmp(cases[i].name, argv[1])) {
			int result = cases[i].run(argc > 2 ? atoi(argv[2]) : 0);

			printf("%s: %d\n", argv[1], result);
			return result & 127;
		}
	return 99;
}
