/* SPDX-License-Identifier: MIT */
#include "collector/place.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/escape.h"

int place_directory(char dir[BT_PATH_MAX], struct bt_error *err)
{
	const char *own = getenv("BTREC_TRACE_DIR"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");

	if (own && *own) {
		snprintf(dir, BT_PATH_MAX, "%s", own);
		return 0;
	}
	if (data && *data == '/') { /* the specification: relative ones are ignored */
		snprintf(dir, BT_PATH_MAX, "%s/btrec", data);
		return 0;
	}
	if (!home || !*home) {
		const struct passwd *pw = getpwuid(getuid());

		home = pw ? pw->pw_dir : NULL;
	}
	if (!home)
		return bt_fail(err, BT_E_IO, 0, "no place for the trace: HOME is not set; use -o DIR");
	snprintf(dir, BT_PATH_MAX, "%s/.local/share/btrec", home);
	return 0;
}

/* Whether what is made at path is in a place of the user's own: under sudo HOME may still be another's, and nothing of root's belongs
 * there. Of a directory that is not there yet, that is where it will be made; /tmp and its kin are everybody's. */
static bool is_own_place(const char *path)
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
	return S_ISDIR(st.st_mode) && (st.st_uid == geteuid() || (strcmp(at, path) && st.st_mode & S_ISVTX));
}

bool place_cache(char dir[BT_PATH_MAX])
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"), *base = cache && *cache == '/' ? cache : home;

	if (!base || *base != '/' || (base == home && access(home, F_OK)) || !is_own_place(base))
		return false;
	return snprintf(dir, BT_PATH_MAX, base == cache ? "%s/btrec" : "%s/.cache/btrec", base) < BT_PATH_MAX;
}

int place_prepare(const char *dir, struct bt_error *err)
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
			return bt_fail(err, errno == EACCES || errno == EPERM ? BT_E_PERMISSION : BT_E_IO, errno,
				       "cannot make %s for traces (set BTREC_TRACE_DIR, or use -o DIR)", path);
		*at = c;
		if (!c)
			return 0;
	}
}

/* So that the name can be shown and typed. */
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

void place_candidate(char path[BT_PATH_MAX], const char *dir, const char *program, unsigned n)
{
	const char *slash = strrchr(program, '/');
	char name[NAME_MAX - 15]; /* leaves room for the number */

	snprintf(name, sizeof name, "%s", slash ? slash + 1 : program);
	make_printable(name);
	snprintf(path, BT_PATH_MAX, "%.3000s/%s-%u", dir, name, n);
}

void place_link_latest(const char *dir, const char *trace)
{
	char link[BT_PATH_MAX + 16], fresh[BT_PATH_MAX + 32];
	const char *name = strrchr(trace, '/');

	snprintf(link, sizeof link, "%s/latest", dir);
	snprintf(fresh, sizeof fresh, "%s/.latest-%d", dir, (int)getpid());
	/* Made aside and renamed over: a reader never finds it missing. */
	if (!symlink(name ? name + 1 : trace, fresh) && rename(fresh, link))
		unlink(fresh);
}

void place_control_socket(char path[108], unsigned uid, int pid)
{
	struct stat st;

	snprintf(path, 108, "/run/user/%u", uid);
	if (!stat(path, &st) && st.st_uid == uid)
		snprintf(path, 108, "/run/user/%u/btrec/%d", uid, pid);
	else
		snprintf(path, 108, "/tmp/btrec-%u/%d", uid, pid);
}
