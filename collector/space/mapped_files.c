/* SPDX-License-Identifier: MIT */
#include "collector/space/mapped_files.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "collector/tracee/tracee.h"
#include "lib/grow.h"

struct mapped_files mapped_files_new(void)
{
	struct mapped_files f = {0};

	clock_gettime(CLOCK_REALTIME_COARSE, &f.since); /* the clock of files' times */
	return f;
}

bool mapped_files_copy(struct mapped_files *to, const struct mapped_files *from)
{
	*to = *from;
	to->cap = from->count;
	to->list = from->count ? malloc(from->count * sizeof *to->list) : NULL;
	if (from->count && !to->list) {
		*to = (struct mapped_files){.since = from->since};
		return false;
	}
	if (from->count)
		memcpy(to->list, from->list, from->count * sizeof *to->list);
	return true;
}

void mapped_files_release(struct mapped_files *f)
{
	free(f->list);
	*f = (struct mapped_files){0};
}

static struct mapped_file *find_mapped_file(const struct mapped_files *f, const struct mapping *m)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->list[i].ino == m->ino && f->list[i].dev == m->dev)
			return &f->list[i];
	return NULL;
}

/* Whether the filesystem of a mount is served by the kernel (proc_pid_mountinfo(5): 36 35 98:0 ...
 * - type source options). */
static bool is_of_kernel(const char *mount)
{
	const char *type = strstr(mount, " - ");

	return type && strncmp(type + 3, "fuse", 4) != 0;
}

/* Whether the kernel serves all mounts of the device that the process can see. False when that
 * cannot be told now. */
static bool ask_mounts(pid_t pid, uint64_t dev, bool *answers)
{
	char *line = NULL;
	size_t room = 0;
	unsigned major_, minor_;
	bool found = false, all = true;
	FILE *f = tracee_open_file(pid, "mountinfo");

	while (f && getline(&line, &room, f) > 0)
		if (sscanf(line, "%*u %*u %u:%u", &major_, &minor_) == 2 &&
		    makedev(major_, minor_) == dev) {
			found = true;
			all &= is_of_kernel(line);
		}
	free(line);
	*answers = found && all;
	return f && !fclose(f);
}

/* proc_pid_mountinfo(5) has blanks and backslashes as \ and three octal digits. */
static void unescape_path(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		unsigned code;

		if (*from == '\\' && sscanf(from + 1, "%3o", &code) == 1) {
			*to++ = (char)code;
			from += 3;
		} else {
			*to++ = *from;
		}
	}
	*to = 0;
}

bool mapped_files_answers(pid_t pid, const char *path)
{
	char *line = NULL, at[PATH_MAX];
	size_t room = 0, longest = 0;
	bool answers = false;
	FILE *f = tracee_open_file(pid, "mountinfo");

	while (f && getline(&line, &room, f) > 0) {
		size_t n;

		if (sscanf(line, "%*u %*u %*s %*s %4095s", at) != 1)
			continue;
		unescape_path(at);
		n = strlen(at);
		if (n == 1)
			n = 0; /* the root: a prefix of every path */
		else if (strncmp(path, at, n) || (path[n] != '/' && path[n]))
			continue;
		/* Of those at one place the last lies over the others. */
		if (n < longest)
			continue;
		longest = n;
		answers = is_of_kernel(line);
	}
	free(line);
	if (f)
		fclose(f);
	return answers;
}

/* Files of the same device are asked alike. */
static bool ask_file(const struct mapped_files *f, pid_t pid, uint64_t dev, bool *answers)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->list[i].dev == dev) {
			*answers = f->list[i].answers;
			return true;
		}
	return ask_mounts(pid, dev, answers);
}

static bool is_file_of(const struct mapping *m, const char *path, struct stat *st)
{
	return !stat(path, st) && st->st_ino == m->ino && st->st_dev == m->dev;
}

/* The path is one of ours, or (another mount namespace or root) one of the process's. */
static bool stat_file_of(pid_t pid, const struct mapping *m, struct stat *st)
{
	char path[PATH_MAX];

	if (is_file_of(m, m->path, st))
		return true;
	return snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid, m->path) < PATH_MAX &&
	       is_file_of(m, path, st);
}

static bool is_other_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec || a->tv_nsec != b->tv_nsec;
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

static struct mapped_file *add_mapped_file(struct mapped_files *f, const struct mapping *m,
					   bool answering)
{
	struct mapped_file *list = array_grow(f->list, f->count, &f->cap, sizeof *list);

	if (!list)
		return NULL;
	f->list = list;
	f->list[f->count] = (struct mapped_file){.dev = m->dev,
						 .ino = m->ino,
						 .modified = f->since,
						 .changed = f->since,
						 .answers = answering};
	return &f->list[f->count++];
}

bool mapped_files_look(struct mapped_files *f, pid_t pid, const struct mapping *m)
{
	struct mapped_file *file = find_mapped_file(f, m);
	bool known = file, answering, modified, changed;
	struct stat st;

	if (!m->ino || !*m->path) /* without a path: the file is not here (origins.h) */
		return false;
	if (known)
		answering = file->answers;
	else if (!ask_file(f, pid, m->dev, &answering))
		return false;
	if (answering && !stat_file_of(pid, m, &st))
		return false;
	if ((!known && !(file = add_mapped_file(f, m, answering))) || !answering)
		return false;
	modified = known ? is_other_time(&st.st_mtim, &file->modified)
			 : is_later(&st.st_mtim, &f->since);
	/* A writer can set mtime (touch -r, cp -p), but not ctime. ctime changes for less, too:
	 * then a look costs little. */
	changed = known ? is_other_time(&st.st_ctim, &file->changed)
			: is_later(&st.st_ctim, &f->since);
	file->modified = st.st_mtim;
	file->changed = st.st_ctim;
	file->written |= modified || changed;
	f->written |= modified || changed;
	return known && modified;
}

bool mapped_files_is_written(const struct mapped_files *f, const struct mapping *m)
{
	const struct mapped_file *file = f->written ? find_mapped_file(f, m) : NULL;

	return file && file->written;
}

void mapped_files_clear(struct mapped_files *f)
{
	for (size_t i = 0; i < f->count; i++)
		f->list[i].written = false;
	f->written = false;
}
