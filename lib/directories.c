/* SPDX-License-Identifier: MIT */
#include "lib/directories.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/escape.h"

static bool is_shared(const struct stat *st) { return st->st_mode & (S_IWGRP | S_IWOTH); }

/* Whether no other user can replace the user's own files in that directory. Under sudo, HOME may
 * belong to another; in /tmp, a sticky directory, each file stays its owner's. */
static bool is_base(const struct stat *st)
{
	return S_ISDIR(st->st_mode) && (st->st_uid == geteuid() || !st->st_uid) &&
	       (!is_shared(st) || st->st_mode & S_ISVTX);
}

/* Whether path is a base, or, not being there yet, will be made in one. */
static bool leads_to_base(const char *path)
{
	char at[BT_PATH_MAX];
	struct stat st;

	if (snprintf(at, sizeof at, "%s", path) >= BT_PATH_MAX)
		return false;
	for (char *end; stat(at, &st); *end = '\0') {
		end = strrchr(at, '/');
		if (errno != ENOENT || !end || end == at)
			return false;
	}
	return is_base(&st);
}

/* Opens the cache directory in its base, or returns -1. Checks the opened directory: it may be
 * reached by a link, except in a base that others can write to. */
static int open_in_base(int base, const char *name)
{
	struct stat st;
	int fd;

	if (fstat(base, &st) || !is_base(&st)) {
		errno = EPERM;
		return -1;
	}
	fd = openat(base, name,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_shared(&st) ? O_NOFOLLOW : 0));
	if (fd < 0 || (!fstat(fd, &st) && st.st_uid == geteuid() && !is_shared(&st)))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

int directory_open_cache(const char *dir, bool make)
{
	const char *name = strrchr(dir, '/');
	char base[BT_PATH_MAX];
	int base_fd, fd, cause;

	if (!name || name == dir ||
	    snprintf(base, sizeof base, "%.*s", (int)(name - dir), dir) >= BT_PATH_MAX) {
		errno = EINVAL;
		return -1;
	}
	if (make && leads_to_base(base))
		(void)!directory_prepare(dir, NULL); /* the directory is checked below */
	base_fd = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (base_fd < 0)
		return -1;
	fd = open_in_base(base_fd, name + 1);
	cause = errno;
	close(base_fd);
	errno = cause;
	return fd;
}

bool directory_cache(char dir[BT_PATH_MAX])
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"),
		   *base = cache && *cache == '/' ? cache : home;
	char *end;
	bool fits;
	int fd;

	if (!base || *base != '/' || (base == home && access(home, F_OK)) || !leads_to_base(base))
		return false;
	if (snprintf(dir, BT_PATH_MAX, base == cache ? "%s/btrec" : "%s/.cache/btrec", base) >=
	    BT_PATH_MAX)
		return false;
	end = strrchr(dir, '/');
	*end = '\0';
	fits = leads_to_base(dir);
	*end = '/';
	fd = fits ? directory_open_cache(dir, false) : -1;
	if (fd >= 0)
		close(fd);
	return fd >= 0 || (fits && errno == ENOENT); /* to be made */
}

void directory_new_number(char number[DIRECTORY_NEW_NUMBER])
{
	unsigned any = 0;

	(void)!getrandom(&any, sizeof any, GRND_NONBLOCK);
	snprintf(number, DIRECTORY_NEW_NUMBER, "%d%010u", (int)getpid(), any);
}

int directory_prepare(const char *dir, struct bt_error *err)
{
	char path[BT_PATH_MAX];

	snprintf(path, sizeof path, "%s", dir);
	for (char *at = path + 1;; at++) {
		char c = *at;

		if (c && c != '/')
			continue;
		*at = '\0';
		if (!mkdir(path, 0700))
			(void)!chmod(path, 0700); /* whatever the umask */
		else if (errno != EEXIST && errno != EISDIR)
			return bt_fail(
				err, bt_code_of_errno(errno), errno,
				"cannot make %s for traces (set BTREC_TRACE_DIR, or use -o DIR)",
				path);
		*at = c;
		if (!c)
			return 0;
	}
}

int directory_new_traces(char dir[BT_PATH_MAX], struct bt_error *err)
{
	if (trace_home(dir, NULL))
		return bt_fail(
			err, BT_E_IO, 0,
			"no place for traces: HOME is not set; set BTREC_TRACE_DIR, or use -o DIR");
	return directory_prepare(dir, err);
}

/* Makes a name that can be shown and typed. */
static void make_printable(char *name)
{
	for (size_t len = strlen(name), at = 0, used; at < len; at += used) {
		used = bt_printable((const uint8_t *)name + at, len - at);
		if (!used) {
			name[at] = '_';
			used = 1;
		}
	}
}

void directory_trace_candidate(char path[BT_PATH_MAX], const char *dir, const char *program,
			       unsigned n)
{
	const char *slash = strrchr(program, '/');
	char name[NAME_MAX - 15]; /* leaves room for the number */

	snprintf(name, sizeof name, "%s", slash ? slash + 1 : program);
	make_printable(name);
	if (name[0] == '.')
		name[0] = '_'; /* such would be hidden */
	snprintf(path, BT_PATH_MAX, "%.3000s/%s-%u", dir, name, n);
}

void directory_link_latest(const char *dir, const char *trace)
{
	char link[BT_PATH_MAX + 16], fresh[BT_PATH_MAX + 32];
	const char *name = strrchr(trace, '/');

	snprintf(link, sizeof link, "%s/latest", dir);
	snprintf(fresh, sizeof fresh, "%s/.latest-%d", dir, (int)getpid());
	/* Made aside and renamed over: a reader never finds it missing. */
	if (!symlink(name ? name + 1 : trace, fresh) && rename(fresh, link))
		unlink(fresh);
}

void directory_control_socket(char path[108], unsigned uid, int pid)
{
	struct stat st;

	snprintf(path, 108, "/run/user/%u", uid);
	if (!stat(path, &st) && st.st_uid == uid)
		snprintf(path, 108, "/run/user/%u/btrec/%d", uid, pid);
	else
		snprintf(path, 108, "/tmp/btrec-%u/%d", uid, pid);
}
