/* SPDX-License-Identifier: MIT */
/* A trace is removed in two steps: it is renamed to a name that begins with a dot, which no command
 * takes for a trace, and its files are unlinked. So whoever looks at the directory meanwhile finds
 * the trace whole or not at all. A removal that is cut off leaves only such a name. */
#include "commands/trace_shelf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "decoder/symbols/kept.h"
#include "format/trace_reader.h"
#include "lib/array_size.h"
#include "lib/directories.h"
#include "lib/options.h"

static int by_start(const void *a, const void *b)
{
	const struct trace_digest *x = a, *y = b;

	return x->started != y->started ? (x->started < y->started ? -1 : 1)
					: strcmp(x->name, y->name);
}

static void add_trace(struct trace_shelf *s, const char *dir, const char *name)
{
	struct trace_digest *grown = realloc(s->at, (s->count + 1) * sizeof *grown);

	if (!grown)
		return;
	s->at = grown;
	s->count += trace_digest_read(&grown[s->count], dir, name);
}

int trace_shelf_open(struct trace_shelf *s, const char *dir, struct bt_error *err)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	*s = (struct trace_shelf){0};
	if (!d && errno != ENOENT)
		return bt_fail(err, bt_code_of_errno(errno), errno, "cannot read %.300s", dir);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && strcmp(e->d_name, "latest"))
			add_trace(s, dir, e->d_name);
	if (d)
		closedir(d);
	if (s->count)
		qsort(s->at, s->count, sizeof *s->at, by_start);
	return 0;
}

void trace_shelf_close(struct trace_shelf *s)
{
	for (size_t i = 0; i < s->count; i++)
		trace_digest_release(&s->at[i]);
	free(s->at);
	*s = (struct trace_shelf){0};
}

/* Of a recorder that was killed (format/reserve.h). */
static const char reserve_file[] = "reserve";

/* The files of the open trace are all that is in its directory. */
static int check_files(const struct trace *t, struct bt_error *err)
{
	DIR *d = fdopendir(fcntl(t->dir, F_DUPFD_CLOEXEC, 0));
	struct dirent *e;
	int rc = 0;

	if (!d)
		return bt_fail(err, bt_code_of_errno(errno), errno, "cannot read %.300s", t->path);
	rewinddir(d);
	while (!rc && (e = readdir(d))) {
		bool known = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
			     !strcmp(e->d_name, reserve_file) ||
			     !strcmp(e->d_name, KEPT_UNFINISHED);

		for (size_t i = 0; i < t->file_count && !known; i++)
			known = !strcmp(t->files[i].name, e->d_name);
		if (!known)
			rc = bt_fail(err, BT_E_MISUSE, 0,
				     "%.300s is not removed: %.100s in it is not of a trace",
				     t->path, e->d_name);
	}
	closedir(d);
	return rc;
}

static int remove_files(const struct trace *t, const char *path, struct bt_error *err)
{
	char aside[PATH_MAX + 32];
	const char *name = strrchr(path, '/') + 1;

	snprintf(aside, sizeof aside, "%.*s.removed-%d-%s", (int)(name - path), path, (int)getpid(),
		 name);
	if (strlen(strrchr(aside, '/') + 1) > NAME_MAX) /* a number instead */
		snprintf(aside, sizeof aside, "%.*s.removed-%d", (int)(name - path), path,
			 (int)getpid());
	if (rename(path, aside))
		return bt_fail(err, bt_code_of_errno(errno), errno, "cannot remove %.300s", path);
	for (size_t i = 0; i < t->file_count; i++)
		if (unlinkat(t->dir, t->files[i].name, 0) && errno != ENOENT)
			return bt_fail(err, bt_code_of_errno(errno), errno,
				       "cannot remove %.300s/%s", aside, t->files[i].name);
	unlinkat(t->dir, reserve_file, 0);
	unlinkat(t->dir, KEPT_UNFINISHED, 0);
	if (rmdir(aside))
		return bt_fail(err, bt_code_of_errno(errno), errno, "cannot remove %.300s", aside);
	return 0;
}

/* The newest that can be read. */
static const struct trace_digest *newest_readable(const struct trace_shelf *s)
{
	for (size_t i = s->count; i-- > 0;)
		if (s->at[i].state != TRACE_UNREADABLE)
			return &s->at[i];
	return NULL;
}

/* Failure does not matter: then the link names nothing. */
static void link_newest(const char *dir)
{
	const struct trace_digest *last;
	char path[PATH_MAX + 16];
	struct trace_shelf s;

	if (trace_shelf_open(&s, dir, NULL))
		return;
	last = newest_readable(&s);
	if (last) {
		directory_link_latest(dir, last->name);
	} else {
		snprintf(path, sizeof path, "%s/latest", dir);
		unlink(path);
	}
	trace_shelf_close(&s);
}

static bool is_latest(const char *dir, const char *name)
{
	char path[PATH_MAX + 16], target[NAME_MAX + 2];
	ssize_t len;

	snprintf(path, sizeof path, "%s/latest", dir);
	len = readlink(path, target, sizeof target);
	return len == (ssize_t)strlen(name) && !memcmp(target, name, (size_t)len);
}

static int remove_pack(const char *path, struct bt_error *err)
{
	return unlink(path)
		       ? bt_fail(err, bt_code_of_errno(errno), errno, "cannot remove %.300s", path)
		       : 0;
}

/* path: without links. */
static int remove_open(const struct trace *t, char *path, struct bt_error *err)
{
	char *name = strrchr(path, '/') + 1;
	bool latest;
	int rc;

	if (t->being_written)
		return bt_fail(err, BT_E_MISUSE, 0, "%.300s is not removed: it is being recorded",
			       path);
	rc = t->pack >= 0 ? remove_pack(path, err) : check_files(t, err);
	if (!rc && t->pack < 0)
		rc = remove_files(t, path, err);
	if (rc)
		return rc;
	name[-1] = '\0';
	latest = is_latest(path, name);
	if (latest)
		link_newest(path);
	name[-1] = '/';
	return 0;
}

int trace_remove(const char *path, struct bt_error *err)
{
	char *real = realpath(path, NULL);
	struct trace *t;
	int rc = trace_open(&t, real ? real : path, err);

	if (!rc) {
		rc = real ? remove_open(t, real, err)
			  : bt_fail(err, BT_E_IO, errno, "cannot remove %.300s", path);
		trace_close(t);
	}
	free(real);
	return rc;
}

/* Whether the trace is to go: fewer are to be kept than there are with it, or it is too old. */
static bool exceeds_limits(const struct shelf_limits *limits, const struct trace_digest *d,
			   size_t count, uint64_t size)
{
	uint64_t now = (uint64_t)time(NULL), began = d->started / 1000000000u;

	return (limits->has_count && count > limits->count) ||
	       (limits->size && size > limits->size) ||
	       (limits->older && began < now && now - began > limits->older);
}

int trace_shelf_prune(const char *dir, const struct shelf_limits *limits, bool trial,
		      void (*removed)(void *arg, const char *path, const struct trace_digest *d),
		      void *arg, struct bt_error *err)
{
	char path[PATH_MAX + sizeof((struct trace_digest *)0)->name];
	size_t count = 0;
	uint64_t size = 0;
	struct trace_shelf s;
	int rc = trace_shelf_open(&s, dir, err);

	if (rc)
		return rc;
	/* A pack was made on purpose, and only its user removes it. */
	for (size_t i = 0; i < s.count; i++)
		if (s.at[i].state == TRACE_COMPLETE && !s.at[i].packed) {
			count++;
			size += s.at[i].size;
		}
	for (size_t i = 0; i < s.count; i++) {
		const struct trace_digest *d = &s.at[i];
		struct bt_error cause;
		int failed;

		if (d->state != TRACE_COMPLETE || d->packed ||
		    !exceeds_limits(limits, d, count, size) ||
		    (limits->spare && !strcmp(limits->spare, d->name)))
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, d->name);
		failed = trial ? 0 : trace_remove(path, &cause);
		if (failed && !rc) {
			*err = cause;
			rc = failed;
		}
		if (!failed && removed)
			removed(arg, path, d);
		count--;
		size -= d->size;
	}
	trace_shelf_close(&s);
	return rc;
}

int shelf_size(const char *option, const char *value, uint64_t *bytes, struct bt_error *err)
{
	static const struct option_unit units[] = {
		{'\0', 1},       {'K', 1u << 10},          {'M', 1u << 20},
		{'G', 1u << 30}, {'T', UINT64_C(1) << 40}, {'k', 1u << 10}};

	if (options_amount(value, units, ARRAY_SIZE(units), bytes))
		return bt_fail(err, BT_E_MISUSE, 0,
			       "%s: %s is no size: a number of bytes, or with K, M, G or T", option,
			       value);
	return 0;
}

int shelf_age(const char *option, const char *value, uint64_t *seconds, struct bt_error *err)
{
	static const struct option_unit units[] = {
		{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 24 * 3600}, {'w', 7 * 24 * 3600}};

	if (options_amount(value, units, ARRAY_SIZE(units), seconds))
		return bt_fail(err, BT_E_MISUSE, 0,
			       "%s: %s is no age: a number with s, m, h, d or w", option, value);
	return 0;
}

const char *size_words(uint64_t bytes, char text[24])
{
	static const char *const units[] = {"KB", "MB", "GB", "TB"};
	size_t unit = 0;
	double n = (double)bytes / 1024;

	for (; n >= 1024 && unit + 1 < ARRAY_SIZE(units); unit++)
		n /= 1024;
	snprintf(text, 24, n < 10 && unit ? "%.1f %s" : "%.0f %s", n + (n > 0 && n < 0.5 ? 0.5 : 0),
		 units[unit]);
	return text;
}
