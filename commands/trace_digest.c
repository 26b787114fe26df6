/* SPDX-License-Identifier: MIT */
#include "commands/trace_digest.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "decoder/model/signals.h"
#include "format/trace_cursor.h"
#include "lib/hash_table.h"
#include "lib/trace_home.h"

/* A task, as it was told of. */
struct known_task {
	uint32_t pid;
	char command[sizeof((struct process_failure *)0)->command];
};

struct reading {
	struct trace_digest *d;
	struct hash_table tasks; /* struct known_task, by number */
	uint32_t first;          /* pid of the first process */
};

/* Why a trace cannot be opened; NULL: there is no trace. */
static const char *why_unreadable(enum bt_error_code code)
{
	static const char *const whys[BT_E_COUNT] = {
		[BT_E_VERSION] = "unknown version", [BT_E_TRUNCATED] = "damaged",
		[BT_E_CORRUPT] = "damaged",         [BT_E_PERMISSION] = "no permission",
		[BT_E_IO] = "not readable",         [BT_E_NO_MEMORY] = "no memory"};

	return whys[code];
}

static bool is_mapped_file(const char *name)
{
	char stem[32];

	trace_file_name(stem, BT_FILE_MAPPED, 0);
	return !strncmp(name, stem, strlen(stem) - 1);
}

uint64_t trace_digest_size(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	struct stat st;
	uint64_t size = 0;

	while (d && (e = readdir(d)))
		if (!fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode) && !(st.st_nlink > 1 && is_mapped_file(e->d_name)))
			size += (uint64_t)st.st_size;
	if (d)
		closedir(d);
	else if (!stat(path, &st)) /* a pack */
		size = (uint64_t)st.st_size;
	return size;
}

static uint64_t time_changed(const char *path)
{
	struct stat st;

	return stat(path, &st) || st.st_mtime < 0 ? 0 : (uint64_t)st.st_mtime * 1000000000u;
}

static struct known_task *known_task(const struct reading *r, uint32_t task)
{
	struct hash_slot *slot = hash_table_find(&r->tasks, task);

	return slot ? slot->pointer : NULL;
}

/* A new process runs its parent's program. Without memory the task stays unknown. */
static void take_task(struct reading *r, const struct bt_record_task *rec)
{
	const struct known_task *parent = known_task(r, rec->parent);
	struct known_task *t = known_task(r, rec->task) ? NULL : calloc(1, sizeof *t);

	if (rec->how == BT_TASK_INITIAL)
		r->first = rec->pid;
	if (!t)
		return;
	t->pid = rec->pid;
	if (parent)
		memcpy(t->command, parent->command, sizeof t->command);
	if (!hash_table_add(&r->tasks, (struct hash_slot){.key = rec->task, .pointer = t}))
		free(t);
}

static void take_exec(struct reading *r, const struct bt_record_exec *rec)
{
	struct known_task *t = known_task(r, rec->task);
	char *path = t ? slice_dup(rec->path) : NULL, *slash = path ? strrchr(path, '/') : NULL;

	if (path)
		snprintf(t->command, sizeof t->command, "%s", slash ? slash + 1 : path);
	free(path);
}

/* signal(7) */
static bool dumps_core(uint32_t signo)
{
	static const uint8_t those[] = {3, 4, 5, 6, 7, 8, 11, 24, 25, 31};

	return signo && signo < 32 && memchr(those, (int)signo, sizeof those);
}

static void take_exit(struct reading *r, const struct bt_record_exit *rec)
{
	const struct known_task *t = known_task(r, rec->task);
	struct trace_digest *d = r->d;
	bool is_crash = rec->kind == BT_EXIT_SIGNAL && dumps_core(rec->status), is_first;
	size_t at = d->failure_count;

	if (!t || !rec->last || rec->kind == BT_EXIT_UNKNOWN ||
	    (rec->kind == BT_EXIT_STATUS && !rec->status))
		return;
	is_first = t->pid == r->first;
	if (is_first && at >= FAILURES_MAX) /* it often is the last to end */
		at = FAILURES_MAX - 1;
	if (at < FAILURES_MAX) {
		struct process_failure *f = &d->failures[at];

		*f = (struct process_failure){.pid = t->pid,
					      .status = rec->status,
					      .kind = rec->kind,
					      .is_crash = is_crash,
					      .is_first = is_first};
		memcpy(f->command, t->command, sizeof f->command);
	}
	d->failure_count++;
	d->crash_count += is_crash && !is_first;
}

static void take_record(struct reading *r, const struct bt_record *rec)
{
	switch (rec->kind) {
	case BT_RECORD_TASK:
		take_task(r, &rec->u.task);
		break;
	case BT_RECORD_EXEC:
		take_exec(r, &rec->u.exec);
		break;
	case BT_RECORD_EXIT:
		take_exit(r, &rec->u.exit);
		break;
	case BT_RECORD_END:
		r->d->state = TRACE_COMPLETE;
		r->d->has_end = rec->u.end.kind != BT_EXIT_UNKNOWN;
		r->d->end = rec->u.end.kind;
		r->d->status = rec->u.end.status;
		break;
	default:
		break;
	}
}

static bool free_task(void *arg, struct hash_slot *slot)
{
	(void)arg;
	free(slot->pointer);
	return true;
}

static void read_events(struct trace_digest *d, const struct trace *t)
{
	struct reading r = {.d = d};
	struct trace_cursor c;
	struct bt_record rec;
	int rc;

	trace_cursor_init(&c, t, &t->files[0]);
	while ((rc = trace_cursor_next(&c, &rec, NULL)))
		if (rc > 0)
			take_record(&r, &rec);
	trace_cursor_release(&c);
	hash_table_sweep(&r.tasks, free_task, NULL);
	hash_table_release(&r.tasks);
}

bool trace_digest_read(struct trace_digest *d, const char *dir, const char *name)
{
	char path[BT_PATH_MAX + 300];
	struct trace *t = NULL;
	int rc;

	*d = (struct trace_digest){.state = TRACE_UNREADABLE};
	snprintf(path, sizeof path, "%s/%s", dir, name);
	snprintf(d->name, sizeof d->name, "%s", name);
	rc = trace_open_events(&t, path, NULL);
	d->why = rc ? why_unreadable((enum bt_error_code) - rc) : NULL;
	if (rc && !d->why)
		return false;
	d->started = rc ? time_changed(path) : t->header.started;
	d->size = trace_digest_size(path);
	d->packed = !rc && t->pack >= 0;
	if (rc)
		return true;
	d->state = t->being_written ? TRACE_BEING_WRITTEN : TRACE_NOT_CLOSED;
	buf_put(&d->argv, t->header.argv.at, t->header.argv.len);
	buf_put(&d->program, t->header.program.at, t->header.program.len);
	read_events(d, t);
	trace_close(t);
	return true;
}

void trace_digest_release(struct trace_digest *d)
{
	buf_release(&d->argv);
	buf_release(&d->program);
}

void exit_words(uint8_t kind, uint32_t status, char *text, size_t size)
{
	char name[SIGNAL_NAME_MAX];

	if (kind == BT_EXIT_SIGNAL)
		snprintf(text, size, "%s", signal_name(status, name));
	else if (kind == BT_EXIT_STATUS)
		snprintf(text, size, "exit %u", status);
	else
		snprintf(text, size, "unknown");
}

void trace_digest_end(const struct trace_digest *d, char *text, size_t size)
{
	static const char *const states[] = {
		[TRACE_BEING_WRITTEN] = "being written", [TRACE_NOT_CLOSED] = "not closed"};

	if (d->state == TRACE_COMPLETE)
		exit_words(d->end, d->status, text, size);
	else
		snprintf(text, size, "%s",
			 d->state == TRACE_UNREADABLE ? d->why : states[d->state]);
}
