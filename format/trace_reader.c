/* SPDX-License-Identifier: MIT */
#include "format/trace_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/array_size.h"

enum {
	WASTE_BASE = 1 << 30,
	WASTE_RATIO = 64,
	UNPACKED_BASE = 1 << 30,
	UNPACKED_RATIO = 64,      /* tight loops pack far better than anything else */
	HOLES_MAX = BT_BLOCK_MAX, /* bytes of a file's holes that are read, as zeros; the rest of
				     the file is not */
};

/* Kind and number from a file's name. False for a file that is none of a trace's. */
static bool parse_name(const char *name, enum bt_file_kind *kind, uint32_t *number)
{
	for (enum bt_file_kind k = BT_FILE_EVENTS; k <= BT_FILE_OBJECTS; k++) {
		char expect[32];
		const char *digits = name + strcspn(name, "0123456789");
		unsigned long n = strtoul(digits, NULL, 10);

		trace_file_name(expect, k, (uint32_t)n);
		if (n <= UINT32_MAX && !strcmp(expect, name)) {
			*kind = k;
			*number = (uint32_t)n;
			return true;
		}
	}
	return false;
}

static int compare_files(const void *a, const void *b)
{
	const struct trace_file *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Returns -1 with errno EINVAL for what is no regular file: opening a device may act on it. */
static int open_regular(int dir, const char *name, struct stat *st)
{
	int fd;

	if (fstatat(dir, name, st, 0))
		return -1;
	fd = S_ISREG(st->st_mode) ? openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
				  : -1;
	if (fd >= 0 && !fstat(fd, st) && S_ISREG(st->st_mode))
		return fd;
	if (fd >= 0)
		close(fd);
	if (fd >= 0 || !S_ISREG(st->st_mode))
		errno = EINVAL;
	return -1;
}

/* Where reading a file ends: before a hole with which its holes come to more than HOLES_MAX, else
 * at its end. A recorder leaves none, but a file may be made as long as one likes at no cost. */
static off_t readable_end(int fd, off_t size)
{
	off_t at = 0, holes = 0;

	while (at < size) {
		off_t data = lseek(fd, at, SEEK_DATA);

		if (data < 0 && errno != ENXIO)
			return size; /* the file system does not tell */
		holes += (data < 0 || data > size ? size : data) - at;
		if (holes > HOLES_MAX)
			return at;
		at = data < 0 ? size : lseek(fd, data, SEEK_HOLE);
		if (at < 0)
			return size;
	}
	return size;
}

static int read_file(int dir, struct trace_file *file)
{
	struct stat st;
	int fd = open_regular(dir, file->name, &st), failure = 0;
	size_t len = 0, size;
	uint8_t *bytes;
	off_t end;

	if (fd < 0)
		return errno;
	end = readable_end(fd, st.st_size);
	failure = lseek(fd, 0, SEEK_SET) ? errno : 0;
	file->unread = (uint64_t)(st.st_size - end);
	size = (size_t)end;
	bytes = malloc(size ? size : 1);
	while (bytes && !failure && len < size) {
		ssize_t n = read(fd, bytes + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			failure = errno;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	close(fd);
	if (!bytes || failure) {
		free(bytes);
		return bytes ? failure : ENOMEM;
	}
	file->bytes = slice_of(bytes, len);
	return 0;
}

/* trace_writer_open()'s lock. */
static bool is_locked(int dir)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	char name[32];
	struct stat st;
	bool locked;
	int fd;

	trace_file_name(name, BT_FILE_EVENTS, 0);
	fd = open_regular(dir, name, &st);
	locked = fd >= 0 && !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
	if (fd >= 0)
		close(fd);
	return locked;
}

static int read_header(struct trace *t, struct bt_error *err)
{
	const struct trace_file *f =
		t->file_count && t->files[0].kind == BT_FILE_EVENTS ? &t->files[0] : NULL;
	struct bt_file_header h;
	struct bt_record rec;
	struct slice s;
	uint64_t ordinal;
	int rc;

	if (!f)
		return bt_fail(err, BT_E_NOT_TRACE, 0,
			       "%s: not a btrec trace (it has no events file)", t->path);
	s = f->bytes;
	rc = bt_file_header_decode(&s, &h, err);
	if (rc == 0 && h.kind != BT_FILE_EVENTS)
		rc = bt_fail_at(err, BT_E_CORRUPT, 12, "the file is of another kind");
	if (rc == 0) {
		rc = bt_block_decode(&s, BT_FILE_HEADER_SIZE, &t->header_raw, &ordinal, err);
		if (rc == 0)
			rc = bt_fail_at(err, BT_E_TRUNCATED, BT_FILE_HEADER_SIZE,
					"the file ends before the trace's header record");
	}
	if (rc == 1) {
		struct slice records = slice_of(t->header_raw.data, t->header_raw.len);

		if (bt_record_decode(&records, &rec) != 1 || rec.kind != BT_RECORD_HEADER)
			rc = bt_fail_at(err, BT_E_CORRUPT, BT_FILE_HEADER_SIZE,
					"the trace's header record is damaged");
	}
	if (rc < 0) {
		if (err) {
			struct bt_error cause = *err;

			bt_fail_at(err, cause.code, cause.offset, "%s/%s, byte %llu: %.200s",
				   t->path, f->name, (unsigned long long)cause.offset, cause.text);
		}
		return rc;
	}
	memcpy(t->uuid, h.uuid, sizeof t->uuid);
	t->header = rec.u.header;
	return 0;
}

static struct trace *trace_new(const char *path)
{
	struct trace *t = calloc(1, sizeof *t);

	if (t)
		t->path = strdup(path);
	if (t && !t->path) {
		free(t);
		t = NULL;
	}
	return t;
}

/* Enters a file into the list. Returns 0 or ENOMEM; *out is NULL for a name that is none of a
 * trace's. */
static int add_file(struct trace *t, const char *name, struct trace_file **out)
{
	enum bt_file_kind kind;
	uint32_t number;
	struct trace_file *files;

	*out = NULL;
	if (!parse_name(name, &kind, &number))
		return 0;
	files = realloc(t->files, (t->file_count + 1) * sizeof *files);
	if (!files)
		return ENOMEM;
	t->files = files;
	*out = &files[t->file_count++];
	**out = (struct trace_file){.kind = kind, .number = number};
	memcpy((*out)->name, name, strlen(name) + 1);
	return 0;
}

static int finish_open(struct trace **out, struct trace *t, struct bt_error *err)
{
	int rc;

	if (t->file_count)
		qsort(t->files, t->file_count, sizeof *t->files, compare_files);
	rc = read_header(t, err);
	if (rc) {
		trace_close(t);
		return rc;
	}
	*out = t;
	return 0;
}

int trace_open_memory(struct trace **out, const struct trace_file *files, size_t count,
		      struct bt_error *err)
{
	struct trace *t = trace_new("memory");

	if (!t)
		return bt_no_memory(err, NULL);
	t->borrowed = true;
	for (size_t i = 0; i < count; i++) {
		struct trace_file *f;

		if (add_file(t, files[i].name, &f)) {
			trace_close(t);
			return bt_no_memory(err, NULL);
		}
		if (f)
			f->bytes = files[i].bytes;
	}
	return finish_open(out, t, err);
}

static int open_failure(struct bt_error *err, const char *path, int failure)
{
	switch (failure) {
	case ENOENT:
		return bt_fail(err, BT_E_NO_TRACE, 0, "%s: no such trace", *path ? path : "''");
	case ENOTDIR:
		return bt_fail(err, BT_E_NOT_TRACE, 0,
			       "%s: not a btrec trace (a trace is a directory)", path);
	default:
		return bt_fail(err, bt_code_of_errno(failure), failure, "cannot read %s", path);
	}
}

static const char *kind_name(mode_t mode)
{
	static const struct {
		mode_t type;
		const char *name;
	} kinds[] = {{S_IFIFO, "a FIFO"},
		     {S_IFCHR, "a device"},
		     {S_IFBLK, "a device"},
		     {S_IFDIR, "a directory"},
		     {S_IFSOCK, "a socket"}};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if ((mode & S_IFMT) == kinds[i].type)
			return kinds[i].name;
	return NULL;
}

/* Of the file that was to be read last. */
static int read_failure(struct bt_error *err, const struct trace *t, int dir, int failure)
{
	const char *name = t->file_count ? t->files[t->file_count - 1].name : "";
	struct stat st;

	if (failure == EINVAL && !fstatat(dir, name, &st, 0) && kind_name(st.st_mode))
		return bt_fail(err, BT_E_NOT_TRACE, 0, "%s/%s is %s: a trace has a file there",
			       t->path, name, kind_name(st.st_mode));
	if (failure == ENOENT) /* a link that leads nowhere: the trace is there */
		return bt_fail(err, BT_E_IO, failure, "cannot read %s/%s", t->path, name);
	return open_failure(err, t->path, failure);
}

/* Lists and reads those of a kind. Returns 0 or an errno, of the last one in the list. */
static int add_files(struct trace *t, DIR *d, enum bt_file_kind wanted)
{
	struct dirent *e;
	int failure = 0;

	rewinddir(d);
	while (!failure && (e = readdir(d))) {
		struct trace_file *f;
		enum bt_file_kind kind;
		uint32_t number;

		if (!parse_name(e->d_name, &kind, &number) || kind != wanted)
			continue;
		failure = add_file(t, e->d_name, &f);
		if (f)
			failure = read_file(dirfd(d), f);
	}
	return failure;
}

/* With files of the kinds up to `last`. */
static int open_kinds(struct trace **out, const char *path, enum bt_file_kind last,
		      struct bt_error *err)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), failure = 0, rc;
	struct trace *t;
	DIR *d;

	if (dir < 0)
		return open_failure(err, path, errno);
	d = fdopendir(dir);
	t = trace_new(path);
	if (!d || !t) {
		if (d)
			closedir(d);
		else
			close(dir);
		if (t)
			trace_close(t);
		return bt_no_memory(err, NULL);
	}
	t->being_written = is_locked(dir);
	/* What names others comes before what it names, the other way round than it is written:
	 * files may still come, and grow. */
	for (enum bt_file_kind kind = BT_FILE_EVENTS; !failure && kind <= last; kind++)
		failure = add_files(t, d, kind);
	rc = failure ? read_failure(err, t, dir, failure) : 0;
	closedir(d);
	if (rc) {
		trace_close(t);
		return rc;
	}
	return finish_open(out, t, err);
}

int trace_open(struct trace **out, const char *path, struct bt_error *err)
{
	return open_kinds(out, path, BT_FILE_OBJECTS, err);
}

int trace_open_events(struct trace **out, const char *path, struct bt_error *err)
{
	return open_kinds(out, path, BT_FILE_EVENTS, err);
}

void trace_close(struct trace *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->file_count && !t->borrowed; i++)
		free((void *)(uintptr_t)t->files[i].bytes.at);
	free(t->files);
	free(t->path);
	buf_release(&t->header_raw);
	free(t);
}

void trace_cursor_init(struct trace_cursor *c, const struct trace *t, const struct trace_file *file)
{
	*c = (struct trace_cursor){.file = file, .rest = file->bytes};
	memcpy(c->uuid, t->uuid, sizeof c->uuid);
}

void trace_cursor_release(struct trace_cursor *c) { buf_release(&c->raw); }

static int begin_file(struct trace_cursor *c, struct bt_error *err)
{
	struct bt_file_header h;
	int rc = bt_file_header_decode(&c->rest, &h, err);

	c->header_read = true;
	if (rc == 0 && (h.kind != c->file->kind || memcmp(h.uuid, c->uuid, sizeof h.uuid)))
		rc = bt_fail_at(err, BT_E_CORRUPT, 0,
				"the file belongs to another trace, or is of another kind");
	if (rc)
		c->rest.len = 0;
	return rc;
}

/* A hostile file can be a row of block headers each of which promises the rest of the file: reading
 * on behind each would read every byte once per header. Past this limit, which no real damage
 * reaches, the rest is not looked at. */
static void waste(struct trace_cursor *c, size_t bytes)
{
	c->wasted += bytes < BT_BLOCK_MAX ? bytes : BT_BLOCK_MAX;
	if (c->wasted > WASTE_BASE + WASTE_RATIO * (uint64_t)c->file->bytes.len)
		slice_take(&c->rest, c->rest.len);
}

int trace_cursor_next(struct trace_cursor *c, struct bt_record *rec, struct bt_error *err)
{
	for (;;) {
		uint64_t ordinal, offset = (uint64_t)(c->rest.at - c->file->bytes.at);
		size_t left = c->rest.len;
		int rc;

		if (!c->header_read) {
			rc = begin_file(c, err);
			if (rc)
				return rc;
			continue;
		}
		rc = bt_record_decode(&c->records, rec);
		if (rc == 1) {
			if (rec->kind == BT_RECORD_UNIT)
				c->unit = rec->u.unit.unit;
			return 1;
		}
		if (rc < 0) {
			c->records = (struct slice){0};
			return bt_fail_at(err, BT_E_CORRUPT, offset,
					  "a record in the block before is damaged");
		}
		rc = bt_block_decode(&c->rest, offset, &c->raw, &ordinal, err);
		if (rc < 0)
			waste(c, left);
		c->next_ordinal +=
			rc == -BT_E_NO_MEMORY; /* it is there: the next one is no stranger */
		if (!rc && c->file->unread && !c->hole_told) {
			c->hole_told = true;
			return bt_fail_at(err, BT_E_CORRUPT, offset,
					  "a hole in the file: its last %llu bytes are not read",
					  (unsigned long long)c->file->unread);
		}
		if (rc <= 0)
			return rc;
		c->unpacked += c->raw.len;
		if (c->unpacked > UNPACKED_BASE + UNPACKED_RATIO * (uint64_t)c->file->bytes.len) {
			slice_take(&c->rest, c->rest.len);
			return bt_fail_at(
				err, BT_E_CORRUPT, offset,
				"it unpacks to more than is believable; the rest is left out");
		}
		c->records = slice_of(c->raw.data, c->raw.len);
		c->unit = 0;
		if (ordinal != c->next_ordinal) {
			uint64_t expected = c->next_ordinal;

			c->next_ordinal = ordinal + 1;
			return bt_fail_at(err, BT_E_CORRUPT, offset,
					  "block %llu follows where block %llu belongs",
					  (unsigned long long)ordinal,
					  (unsigned long long)expected);
		}
		c->next_ordinal++;
	}
}
