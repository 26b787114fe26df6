/* SPDX-License-Identifier: MIT */
#include "commands/signature_groups.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "commands/trace_digest.h"
#include "lib/directories.h"
#include "lib/say.h"

enum {
	LINE_MAX_SIZE = 6000, /* of btview --signature */
	EXIT_NO_MATCH = 1,    /* btview: nothing has failed */
};

struct group {
	char *line; /* without its end */
	size_t count;
	const struct grouped_trace *newest;
};

static int find_btview(char path[BT_PATH_MAX], struct bt_error *err)
{
	static const char name[] = "btview";
	ssize_t len = readlink("/proc/self/exe", path, BT_PATH_MAX - sizeof name);
	char *slash;

	path[len < 0 ? 0 : len] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		memcpy(slash + 1, name, sizeof name);
	if (!slash || access(path, X_OK))
		return bt_fail(err, BT_E_NOT_FOUND, 0,
			       "signatures are told by btview, which is not there: %.300s", path);
	return 0;
}

/* In the child. */
static void become_btview(const char *btview, const char *trace, int out)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	unsetenv("DEBUGINFOD_URLS"); /* a server is not to be waited for */
	if (nothing >= 0 && dup2(nothing, 0) >= 0 && dup2(nothing, 2) >= 0 && dup2(out, 1) >= 0)
		execl(btview, "btview", "--signature", "--", trace, (char *)NULL);
	_exit(127);
}

static void read_line(int from, char line[LINE_MAX_SIZE])
{
	size_t len = 0;
	ssize_t n;

	while (len < LINE_MAX_SIZE - 1 && (n = read(from, line + len, LINE_MAX_SIZE - 1 - len)) > 0)
		len += (size_t)n;
	line[len] = '\0';
	line[strcspn(line, "\n")] = '\0';
}

/* The signature of a trace; in its stead why there is none. */
static int ask_btview(const char *btview, const char *dir, const char *name,
		      char line[LINE_MAX_SIZE], struct bt_error *err)
{
	char trace[TRACE_PATH_MAX];
	int pipes[2], status = 0;
	pid_t pid;

	snprintf(trace, sizeof trace, "%s/%s", dir, name);
	if (pipe2(pipes, O_CLOEXEC))
		return bt_fail(err, BT_E_IO, errno, "cannot start btview");
	pid = fork();
	if (!pid)
		become_btview(btview, trace, pipes[1]);
	close(pipes[1]);
	if (pid > 0)
		read_line(pipes[0], line);
	close(pipes[0]);
	if (pid < 0)
		return bt_fail(err, BT_E_IO, errno, "cannot start btview");
	waitpid(pid, &status, 0);
	if (!*line)
		strcpy(line, WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_MATCH
				     ? "no failure"
				     : "not readable");
	return 0;
}

static bool join_group(struct group *groups, size_t *count, const char *line,
		       const struct grouped_trace *t)
{
	struct group *g = groups;

	while (g < groups + *count && strcmp(g->line, line))
		g++;
	if (g == groups + *count) {
		*g = (struct group){.line = strdup(line), .newest = t};
		if (!g->line)
			return false;
		++*count;
	}
	g->count++;
	if (t->started >= g->newest->started)
		g->newest = t;
	return true;
}

/* The most frequent first, then the newest. */
static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->newest->started != y->newest->started)
		return x->newest->started > y->newest->started ? -1 : 1;
	return strcmp(x->line, y->line);
}

static void print_group(const struct group *g, const char *dir, struct shown_path *shown)
{
	time_t seconds = (time_t)(g->newest->started / 1000000000u);
	char when[64] = "?";
	struct tm tm;

	if (localtime_r(&seconds, &tm))
		strftime(when, sizeof when, "%F %T", &tm);
	snprintf(shown->path, sizeof shown->path, "%s/%s", dir, g->newest->name);
	printf("%4zu  %s  %s\n      %s\n", g->count, when, g->line,
	       say_safely(shown->safe, sizeof shown->safe, shown->path));
}

static int make_groups(struct group *groups, size_t *group_count, const char *dir,
		       const struct grouped_trace *traces, size_t count, struct bt_error *err)
{
	char btview[BT_PATH_MAX], line[LINE_MAX_SIZE];
	int rc = find_btview(btview, err);

	for (size_t i = 0; i < count && !rc; i++) {
		rc = ask_btview(btview, dir, traces[i].name, line, err);
		if (!rc && !join_group(groups, group_count, line, &traces[i]))
			rc = bt_no_memory(err, NULL);
	}
	return rc;
}

int signature_groups_print(const char *dir, const struct grouped_trace *traces, size_t count,
			   struct bt_error *err)
{
	struct group *groups = calloc(count ? count : 1, sizeof *groups);
	struct shown_path *shown = malloc(sizeof *shown);
	size_t n = 0;
	int rc = groups && shown ? make_groups(groups, &n, dir, traces, count, err)
				 : bt_no_memory(err, NULL);

	if (!rc && n)
		qsort(groups, n, sizeof *groups, compare_groups);
	for (size_t i = 0; i < n; i++) {
		if (!rc)
			print_group(&groups[i], dir, shown);
		free(groups[i].line);
	}
	free(groups);
	free(shown);
	return rc;
}
