// SPDX-License-Identifier: MIT
/* Programs that make other processes: tree NAME [ARGS]. What is expected of each: tests/e2e/trees.py. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static long *volatile no_long;

static int say_end(const char *who, pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return 90;
	if (WIFSIGNALED(status))
		printf("%s died by signal %d\n", who, WTERMSIG(status));
	else
		printf("%s exited with %d\n", who, WEXITSTATUS(status));
	fflush(stdout);
	return 0;
}

__attribute__((noinline)) static void child_crash(void)
{
	*no_long = 1; /* @child-crash */
}

/* A child crashes; the parent tells of it and succeeds. */
static int fork_crash(char **argv)
{
	pid_t pid = fork();

	(void)argv;
	if (pid == 0)
		child_crash();
	return say_end("child", pid);
}

/* exec ARGS: this process becomes another program. */
static int exec_it(char **argv)
{
	execv(argv[0], argv);
	return 91;
}

/* fork-exec ARGS, vfork-exec ARGS, spawn ARGS: three ways to run a program and tell how it ended. */
static int fork_exec(char **argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		execv(argv[0], argv);
		_exit(92);
	}
	return say_end("program", pid);
}

static int vfork_exec(char **argv)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execv(argv[0], argv);
		_exit(92);
	}
	return say_end("program", pid);
}

static int spawn(char **argv)
{
	pid_t pid;

	if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ))
		return 93;
	return say_end("program", pid);
}

/* failed-exec: an execve that fails leaves everything as it was. */
static int failed_exec(char **argv)
{
	char *none[] = {(char *)"none", NULL};

	(void)argv;
	execv("/does/not/exist", none);
	puts("still here");
	return 0;
}

/* who: the user ids, as a set-uid program sees them. */
static int who(char **argv)
{
	(void)argv;
	printf("uid %d euid %d\n", (int)getuid(), (int)geteuid());
	return 0;
}

/* daemon FILE: the initial process ends at once; a session of its own waits for FILE.go, then writes FILE. */
static int daemonize(char **argv)
{
	static const char words[] = "daemon was here\n";
	const struct timespec moment = {.tv_nsec = 50 * 1000 * 1000};
	pid_t pid = fork();
	char go[4096];
	int fd;

	if (pid != 0)
		return 0;
	setsid();
	close(0);
	close(1);
	close(2);
	snprintf(go, sizeof(go), "%s.go", argv[0]);
	for (int i = 0; i < 1000 && access(go, F_OK); i++)
		nanosleep(&moment, NULL);
	fd = open(argv[0], O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || write(fd, words, sizeof(words) - 1) < 0)
		return 94;
	return 5;
}

/* children: many short children, side by side. */
static int children(char **argv)
{
	pid_t pids[12];
	int sum = 0;

	(void)argv;
	for (int i = 0; i < 12; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(i);
	}
	for (int i = 0; i < 12; i++) {
		int status;

		waitpid(pids[i], &status, 0);
		sum += WEXITSTATUS(status);
	}
	printf("sum %d\n", sum);
	return 0;
}

/* stopped-child: SIGSTOP and SIGCONT work as ever, seen through waitpid. The continued child waits for the pipe to be closed:
 * an exit before waitpid looked would hide that it was continued. */
static int stopped_child(char **argv)
{
	int status, hold[2];
	char byte;
	pid_t pid;

	(void)argv;
	if (pipe(hold))
		return 91;
	pid = fork();
	if (pid == 0) {
		close(hold[1]);
		raise(SIGSTOP);
		if (read(hold[0], &byte, 1))
			_exit(92);
		_exit(6);
	}
	waitpid(pid, &status, WUNTRACED);
	printf("stopped %d by %d\n", WIFSTOPPED(status) != 0, WSTOPSIG(status));
	kill(pid, SIGCONT);
	waitpid(pid, &status, WCONTINUED);
	printf("continued %d\n", WIFCONTINUED(status) != 0);
	fflush(stdout);
	close(hold[1]);
	return say_end("child", pid);
}

/* As debuggers do: a child asks to be traced, and its parent tries to attach to it. */
static int traces(char **argv)
{
	int asked[2], refused;
	pid_t pid;

	(void)argv;
	if (pipe(asked))
		return 90;
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 3; i++)
			refused = ptrace(PTRACE_TRACEME) ? errno : 0;
		(void)!write(asked[1], &refused, sizeof refused);
		pause();
	}
	(void)!read(asked[0], &refused, sizeof refused);
	printf("TRACEME %d\n", refused);
	printf("ATTACH %d\n", ptrace(PTRACE_ATTACH, pid, 0, 0) ? errno : 0);
	fflush(stdout);
	kill(pid, SIGKILL);
	return say_end("child", pid);
}

static const struct {
	const char *name;
	int (*run)(char **argv);
} table[] = {
	{"fork-crash", fork_crash},
	{"exec", exec_it},
	{"fork-exec", fork_exec},
	{"vfork-exec", vfork_exec},
	{"spawn", spawn},
	{"failed-exec", failed_exec},
	{"who", who},
	{"daemon", daemonize},
	{"children", children},
	{"stopped-child", stopped_child},
	{"traces", traces},
};

int main(int argc, char **argv)
{
	/* A set-uid copy is run without arguments by tests that only name the file. */
	if (argc == 1)
		return who(argv);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (!strcmp(argv[1], table[i].name))
			return table[i].run(argv + 2);
	return 2;
}
