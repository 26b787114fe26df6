/* SPDX-License-Identifier: MIT */
/* A thread as /proc has it: its files, signals, filters, state and names. */
#include "collector/tracee/tracee.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/array_size.h"

struct filtering {
	int filters; /* -1: unknown (before Linux 5.9) */
	bool strict; /* SECCOMP_MODE_STRICT */
};

static void parse_signals(const char *line, struct tracee_signals *out)
{
	static const struct {
		const char *key;
		size_t offset;
	} lines[] = {
		{"SigPnd:", offsetof(struct tracee_signals, pending)},
		{"ShdPnd:", offsetof(struct tracee_signals, shared_pending)},
		{"SigBlk:", offsetof(struct tracee_signals, blocked)},
		{"SigIgn:", offsetof(struct tracee_signals, ignored)},
		{"SigCgt:", offsetof(struct tracee_signals, caught)},
	};
	unsigned long long v;

	if (*line != 'S') /* as are most */
		return;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (!strncmp(line, lines[i].key, strlen(lines[i].key)) &&
		    sscanf(line + strlen(lines[i].key), "%llx", &v) == 1)
			*(uint64_t *)((char *)out + lines[i].offset) = v;
}

static void parse_filtering(const char *line, struct filtering *out)
{
	int n;

	if (strncmp(line, "Seccomp", sizeof "Seccomp" - 1))
		return;
	if (sscanf(line, "Seccomp: %d", &n) == 1)
		out->strict = n == SECCOMP_MODE_STRICT;
	if (sscanf(line, "Seccomp_filters: %d", &n) == 1)
		out->filters = n;
}

FILE *tracee_open_file(pid_t tid, const char *name)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)tid, name);
	return fopen(path, "re");
}

bool tracee_file_line(pid_t tid, const char *name, const char *key, char rest[TRACEE_LINE])
{
	FILE *f = tracee_open_file(tid, name);
	size_t len = strlen(key);
	bool found = false;

	while (f && !found && fgets(rest, TRACEE_LINE, f))
		found = !strncmp(rest, key, len);
	if (f)
		fclose(f);
	if (found)
		memmove(rest, rest + len, strlen(rest + len) + 1);
	else
		*rest = '\0';
	return found;
}

uint64_t tracee_heap_start(pid_t tid)
{
	enum { START_BRK = 47, STATE = 3 }; /* fields, proc_pid_stat(5) */
	FILE *f = tracee_open_file(tid, "stat");
	char line[1024], *field = NULL;

	if (f && fgets(line, sizeof line, f)) {
		field = strrchr(line, ')'); /* the name may have blanks */
		for (int i = STATE - 1; field && i < START_BRK; i++)
			field = strchr(field + 1, ' ');
	}
	if (f)
		fclose(f);
	return field ? strtoull(field, NULL, 10) : 0;
}

bool tracee_descriptor(pid_t tid, int fd, uint64_t *position, unsigned long *flags)
{
	char name[32], position_text[TRACEE_LINE], flags_text[TRACEE_LINE];

	snprintf(name, sizeof name, "fdinfo/%d", fd);
	if (!tracee_file_line(tid, name, "pos:", position_text) ||
	    !tracee_file_line(tid, name, "flags:", flags_text))
		return false;
	*position = strtoull(position_text, NULL, 10);
	*flags = strtoul(flags_text, NULL, 8);
	return true;
}

/* Reads a status file (proc_pid_status(5)), and closes it. False when it is not there. */
static bool read_status(FILE *f, struct tracee_signals *signals, struct filtering *filtering)
{
	char line[256];

	*signals = (struct tracee_signals){0};
	*filtering = (struct filtering){.filters = -1};
	if (!f)
		return false;
	while (fgets(line, sizeof line, f)) {
		parse_signals(line, signals);
		parse_filtering(line, filtering);
	}
	fclose(f);
	return true;
}

int tracee_signals(pid_t tid, struct tracee_signals *out)
{
	struct filtering filtering;

	return read_status(tracee_open_file(tid, "status"), out, &filtering) ? 0 : -BT_E_GONE;
}

static int own_filters(void)
{
	struct tracee_signals signals;
	struct filtering own;

	read_status(fopen("/proc/self/status", "re"), &signals, &own);
	return own.filters;
}

/* Our own filters are read only if the other thread has some. */
static bool is_filtered(const struct filtering *theirs)
{
	return theirs->strict || theirs->filters < 0 ||
	       (theirs->filters && theirs->filters > own_filters());
}

int tracee_signals_filtered(pid_t tid, struct tracee_signals *out, bool *filtered)
{
	struct filtering theirs;

	if (!read_status(tracee_open_file(tid, "status"), out, &theirs))
		return -BT_E_GONE;
	*filtered = is_filtered(&theirs);
	return 0;
}

int tracee_filters(pid_t tid)
{
	struct tracee_signals signals;
	struct filtering theirs;

	read_status(tracee_open_file(tid, "status"), &signals, &theirs);
	return theirs.filters < 0 ? theirs.filters : theirs.filters - own_filters();
}

bool tracee_is_filtered(pid_t tid)
{
	struct tracee_signals signals;
	struct filtering theirs;

	read_status(tracee_open_file(tid, "status"), &signals, &theirs);
	return is_filtered(&theirs);
}

/* The beginning of a file of /proc/TID, as text; empty where it is not there. */
static void read_beginning(pid_t tid, const char *name, char *text, size_t size)
{
	char path[40];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
}

char tracee_state(pid_t tid)
{
	char text[512]; /* its name has 15 bytes, 64 of a worker of the kernel's */
	const char *name_end;

	read_beginning(tid, "stat", text, sizeof text);
	name_end = strrchr(text, ')');
	return name_end && name_end[1] ? name_end[2] : '\0';
}

unsigned long tracee_personality(pid_t tid)
{
	char text[17];

	read_beginning(tid, "personality", text, sizeof text);
	return strtoul(text, NULL, 16);
}

bool tracee_is_awake(pid_t tid) { return tracee_state(tid) == 'R'; }

pid_t tracee_thread_group(pid_t tid)
{
	char line[TRACEE_LINE];
	int group = 0;

	return tracee_file_line(tid, "status", "Tgid:", line) && sscanf(line, "%d", &group) == 1
		       ? group
		       : 0;
}

bool tracee_is_init(pid_t pid)
{
	char line[TRACEE_LINE], *last;

	if (!tracee_file_line(pid, "status", "NSpid:", line))
		return false;
	last = strrchr(line, '\t'); /* one number for each namespace, ours first */
	return last && last != strchr(line, '\t') && !strcmp(last, "\t1\n");
}

void tracee_sender_name(pid_t tid, pid_t sender, char name[TRACEE_NAME])
{
	char line[TRACEE_LINE];

	*name = '\0';
	if (!tracee_file_line(tid, "status", "NSpid:", line) ||
	    strchr(line, '\t') != strrchr(line, '\t'))
		return;
	read_beginning(sender, "comm", name, TRACEE_NAME);
	name[strcspn(name, "\n")] = '\0';
}
