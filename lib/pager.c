/* SPDX-License-Identifier: MIT */
#include "lib/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/array_size.h"
#include "lib/output.h"

static const char usual[] = "less -FRX";

enum {
	WORDS_MAX = 16,
	EXIT_NOT_EXECUTABLE = 126, /* of sh(1), and above: not found */
	EXIT_NOT_FOUND = 127,
};

/* NULL: none. */
static const char *command_of_user(void)
{
	const char *command = getenv("BTREC_PAGER"), *term = getenv("TERM");

	if (!command)
		command = getenv("PAGER");
	if (!command)
		command = usual;
	return !*command || !strcmp(command, "cat") || !term || !*term || !strcmp(term, "dumb")
		       ? NULL
		       : command;
}

bool pager_shows_colours(void)
{
	const char *command = command_of_user(), *less = getenv("LESS");

	return !command || command == usual || strncmp(command, "less", 4) != 0 ||
	       strstr(command, " -") || !less || strpbrk(less, "rR");
}

/* ---- In the child ---- */

/* The words of a command that needs no shell. */
static bool split_command(char *command, char *words[WORDS_MAX + 1])
{
	size_t n = 0;

	if (strpbrk(command, "|&;<>()$`\\\"'\t\n*?[#~=%{}"))
		return false;
	for (char *word = strtok(command, " "); word; word = strtok(NULL, " ")) {
		if (n == WORDS_MAX)
			return false;
		words[n++] = word;
	}
	words[n] = NULL;
	return n > 0;
}

static void become_pager(const char *command, char *copy)
{
	char *words[WORDS_MAX + 1];

	/* As git does: a short text ends the pager, colours pass, the text stays on the screen. */
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	if (split_command(copy, words))
		execvp(words[0], words);
	else
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
}

/* ---- In btview ---- */

/* The terminal's signals are the pager's while it runs; a pager that stops reading is no reason to
 * die. */
static const int left_to_pager[] = {SIGINT, SIGQUIT, SIGPIPE};

struct old_actions {
	struct sigaction of[ARRAY_SIZE(left_to_pager)];
};

static void ignore_signals(struct old_actions *old)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	for (size_t i = 0; i < ARRAY_SIZE(left_to_pager); i++)
		sigaction(left_to_pager[i], &ignore, &old->of[i]);
}

static void restore_signals(const struct old_actions *old)
{
	for (size_t i = 0; i < ARRAY_SIZE(left_to_pager); i++)
		sigaction(left_to_pager[i], &old->of[i], NULL);
}

/* Writes until the pager reads no more. */
static void feed_pager(int fd, struct slice text)
{
	while (text.len) {
		ssize_t n = write(fd, text.at, text.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		slice_take(&text, (size_t)n);
	}
}

/* The pager's process, which reads from *to; -1: it could not be started. */
static pid_t start_pager(const char *command, const struct old_actions *old, int *to)
{
	char *copy = strdup(command), failed;
	int text[2] = {-1, -1}, says[2] = {-1, -1};
	pid_t pid = -1;

	if (copy && !pipe2(text, O_CLOEXEC) && !pipe2(says, O_CLOEXEC))
		pid = fork();
	if (!pid) {
		restore_signals(old);
		if (dup2(text[0], STDIN_FILENO) >= 0)
			become_pager(command, copy);
		_exit(write(says[1], "", 1) == 1 ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
	}
	free(copy);
	close(text[0]);
	close(says[1]);
	if (pid > 0 && read(says[0], &failed, 1) == 1) {
		waitpid(pid, NULL, 0);
		pid = -1;
	}
	close(says[0]);
	if (pid < 0)
		close(text[1]);
	*to = text[1];
	return pid;
}

/* Whether it ended without being the pager. */
static bool was_none(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && (WEXITSTATUS(status) == EXIT_NOT_FOUND ||
				     WEXITSTATUS(status) == EXIT_NOT_EXECUTABLE);
}

int pager_show(struct slice text, struct bt_error *err)
{
	const char *command = command_of_user();
	struct old_actions old;
	bool shown = false;
	pid_t pid;
	int to;

	if (command && !fflush(stdout)) {
		ignore_signals(&old);
		pid = start_pager(command, &old, &to);
		if (pid > 0) {
			feed_pager(to, text);
			close(to);
			shown = !was_none(pid);
		}
		restore_signals(&old);
	}
	return shown ? 0 : bt_output(stdout, text.at, text.len, err);
}
