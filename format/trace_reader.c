/* SPDX-License-Identifier: MIT */
/* To open a trace is to list its files, in its directory or its pack, kind by kind, and to decode
 * the header record. The size of each file is noted: bytes appended later are not read. A file that
 * is not regular, or cannot be opened, makes the whole trace an error; damage inside a file does
 * not.
 *
 * Files are held open, or opened again for each piece that is read of them if descriptors are few.
 * A file that is opened again must be the one that was listed (device and inode). */
#include "format/trace_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/pack.h"
#include "lib/array_size.h"
#include "lib/regular_file.h"

enum {
	HOLES_MAX = BT_BLOCK_MAX, /* bytes of a file's holes that are read, as zeros; the rest of
				     the file is not */
	DESCRIPTORS_MAX = 4096,   /* a higher limit counts as this one */
};

/* Kind and number from a file's name. False for a name that no file of a trace has. */
static bool parse_name(const char *name, enum bt_file_kind *kind, uint32_t *number)
{
	for (enum bt_file_kind k = BT_FILE_EVENTS; k <= BT_FILE_LAST; k++) {
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

/* The end of the readable part: before the hole with which a file's holes exceed HOLES_MAX, else
 * the file's end. Recorders leave no holes, but a hostile file of any length costs nothing with
 * them. */
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

/* Whether a descriptor may stay open until the trace is closed. If it does, the file can be read
 * also after the trace was deleted. A trace of thousands of tasks must leave descriptors to
 * others. */
static bool may_hold(int fd)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > DESCRIPTORS_MAX)
		limit.rlim_cur = DESCRIPTORS_MAX;
	return (rlim_t)fd < limit.rlim_cur / 4;
}

/* Notes the part of the file that will be read. Returns 0 or an errno. */
static int take_file_size(int dir, struct trace_file *file)
{
	struct stat st;
	int fd = regular_file_open(dir, file->name, &st);

	if (fd < 0)
		return errno;
	file->size = (uint64_t)readable_end(fd, st.st_size);
	file->unread = (uint64_t)st.st_size - file->size;
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	if (may_hold(fd))
		file->fd = fd;
	else
		close(fd);
	return 0;
}

const struct trace_file *trace_branch_file(const struct trace *t, uint32_t task)
{
	const struct trace_file key = {.kind = BT_FILE_BRANCHES, .number = task};

	return bsearch(&key, t->files, t->file_count, sizeof key, compare_files);
}

void trace_file_window(struct file_window *w, const struct trace *t, const struct trace_file *file)
{
	struct disk_file disk = {.dir = t->dir,
				 .name = file->name,
				 .fd = file->fd,
				 .dev = file->dev,
				 .ino = file->ino,
				 .base = file->base};

	if (t->pack >= 0)
		disk.fd = t->pack;
	if (t->dir < 0 && t->pack < 0)
		file_window_init_memory(w, file->bytes);
	else
		file_window_init_disk(w, &disk, file->size);
}

/* Whether a writer holds its lock (trace_writer_open()). */
static bool is_locked(int dir)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	char name[32];
	struct stat st;
	bool locked;
	int fd;

	trace_file_name(name, BT_FILE_EVENTS, 0);
	fd = regular_file_open(dir, name, &st);
	locked = fd >= 0 && !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
	if (fd >= 0)
		close(fd);
	return locked;
}

/* Decodes the header record in the first block of events. */
static int decode_header(struct trace *t, struct file_window *w, struct bt_error *err)
{
	struct slice front = file_window_at(w, 0, BT_FILE_HEADER_SIZE), records;
	uint64_t at = BT_FILE_HEADER_SIZE, ordinal;
	struct bt_file_header h;
	struct bt_record rec;
	int rc = bt_file_header_decode(&front, &h, err);

	if (rc)
		return rc;
	if (h.kind != BT_FILE_EVENTS)
		return bt_fail_at(err, BT_E_CORRUPT, 12, "the file is of another kind");
	rc = bt_block_decode(w, &at, &t->header_raw, &ordinal, err);
	if (rc == 0)
		return bt_fail_at(err, BT_E_TRUNCATED, BT_FILE_HEADER_SIZE,
				  "the file ends before the trace's header record");
	if (rc < 0)
		return rc;
	records = slice_of(t->header_raw.data, t->header_raw.len);
	if (bt_record_decode(&records, &rec) != 1 || rec.kind != BT_RECORD_HEADER)
		return bt_fail_at(err, BT_E_CORRUPT, BT_FILE_HEADER_SIZE,
				  "the trace's header record is damaged");
	memcpy(t->uuid, h.uuid, sizeof t->uuid);
	t->header = rec.u.header;
	return 0;
}

static int read_header(struct trace *t, struct bt_error *err)
{
	const struct trace_file *f =
		t->file_count && t->files[0].kind == BT_FILE_EVENTS ? &t->files[0] : NULL;
	struct bt_error cause = {0};
	struct file_window w;
	int rc;

	if (!f)
		return bt_fail(err, BT_E_NOT_TRACE, 0,
			       "%s: not a btrec trace (it has no events file)", t->path);
	trace_file_window(&w, t, f);
	rc = decode_header(t, &w, &cause);
	if (rc && w.failure)
		rc = bt_fail(err, bt_code_of_errno(w.failure), w.failure, "cannot read %s/%s",
			     t->path, f->name);
	else if (rc)
		rc = bt_fail_at(err, cause.code, cause.offset, "%s/%s, byte %llu: %.200s", t->path,
				f->name, (unsigned long long)cause.offset, cause.text);
	file_window_release(&w);
	return rc;
}

static struct trace *trace_new(const char *path)
{
	struct trace *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->dir = t->pack = -1;
	t->path = strdup(path);
	if (!t->path) {
		free(t);
		t = NULL;
	}
	return t;
}

/* Adds a file to the list. Returns 0 or ENOMEM. *out is NULL for a name that no file of a trace
 * has. */
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
	**out = (struct trace_file){.kind = kind, .number = number, .fd = -1};
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
	for (size_t i = 0; i < count; i++) {
		struct trace_file *f;

		if (add_file(t, files[i].name, &f)) {
			trace_close(t);
			return bt_no_memory(err, NULL);
		}
		if (f) {
			f->bytes = files[i].bytes;
			f->size = f->bytes.len;
		}
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
			       "%s: not a btrec trace (neither its directory nor a pack)", path);
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

/* The error for the last file in the list. */
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

/* Lists the files of a kind. Returns 0, or an errno of the last one in the list. */
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
			failure = take_file_size(dirfd(d), f);
	}
	return failure;
}

/* Adds a member of a pack to the list, once. */
static int add_member(struct trace *t, const struct pack_member *m, enum bt_file_kind last,
		      uint64_t readable, struct bt_error *err)
{
	struct trace_file *file;

	if (add_file(t, m->name, &file))
		return bt_no_memory(err, NULL);
	if (!file)
		return 0;
	if (file->kind > last) {
		t->file_count--;
		return 0;
	}
	file->base = m->offset;
	file->size = m->size;
	if (m->offset + m->size > readable) {
		file->size = m->offset < readable ? readable - m->offset : 0;
		file->unread = m->size - file->size;
	}
	return 0;
}

/* Of two files of the same name one would be read, nobody knows which. */
static bool has_twins(const struct trace *t)
{
	for (size_t i = 1; i < t->file_count; i++)
		if (!compare_files(&t->files[i - 1], &t->files[i]))
			return true;
	return false;
}

static int list_members(struct trace *t, uint64_t size, enum bt_file_kind last,
			struct bt_error *err)
{
	uint64_t at = 0, readable = (uint64_t)readable_end(t->pack, (off_t)size);
	struct pack_member m;
	int rc;

	while ((rc = pack_next(t->pack, size, &at, &m, err)) == 1)
		if ((rc = add_member(t, &m, last, readable, err)))
			break;
	if (rc)
		return rc;
	if (t->file_count)
		qsort(t->files, t->file_count, sizeof *t->files, compare_files);
	return has_twins(t) ? bt_fail_at(err, BT_E_CORRUPT, 0, "the pack has a file twice") : 0;
}

static int open_pack(struct trace **out, const char *path, enum bt_file_kind last,
		     struct bt_error *err)
{
	struct bt_error cause = {0};
	struct stat st;
	int fd = regular_file_open(AT_FDCWD, path, &st), rc;
	struct trace *t;

	if (fd < 0)
		return open_failure(err, path, errno == EINVAL ? ENOTDIR : errno);
	t = trace_new(path);
	if (!t) {
		close(fd);
		return bt_no_memory(err, NULL);
	}
	t->pack = fd;
	rc = list_members(t, (uint64_t)st.st_size, last, &cause);
	if (!rc)
		return finish_open(out, t, err);
	trace_close(t);
	if (rc == -BT_E_NOT_TRACE)
		return open_failure(err, path, ENOTDIR);
	return bt_fail_at(err, cause.code, cause.offset, "%s, byte %llu: %.200s", path,
			  (unsigned long long)cause.offset, cause.text);
}

/* Opens a trace with files of the kinds up to `last`. */
static int open_kinds(struct trace **out, const char *path, enum bt_file_kind last,
		      struct bt_error *err)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), failure = 0, rc;
	struct trace *t;
	DIR *d;

	if (dir < 0 && errno == ENOTDIR)
		return open_pack(out, path, last, err);
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
	/* A recorder may be writing. It writes a record after everything that the record names, so
	 * records that name others are looked at first. */
	for (enum bt_file_kind kind = BT_FILE_EVENTS; !failure && kind <= last; kind++)
		failure = add_files(t, d, kind);
	t->dir = failure ? -1 : fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (!failure && t->dir < 0)
		rc = open_failure(err, path, errno);
	else
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
	return open_kinds(out, path, BT_FILE_LAST, err);
}

int trace_open_events(struct trace **out, const char *path, struct bt_error *err)
{
	return open_kinds(out, path, BT_FILE_EVENTS, err);
}

void trace_close(struct trace *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->file_count; i++)
		if (t->files[i].fd >= 0)
			close(t->files[i].fd);
	if (t->dir >= 0)
		close(t->dir);
	if (t->pack >= 0)
		close(t->pack);
	free(t->files);
	free(t->path);
	buf_release(&t->header_raw);
	free(t);
}
