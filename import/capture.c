/* SPDX-License-Identifier: MIT */
#include "import/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/brstack_text.h"
#include "import/core_file.h"
#include "import/perf_data.h"
#include "lib/array_size.h"

struct format {
	bool (*is)(struct slice bytes);
	int (*import)(struct importer *im, struct slice bytes, struct bt_error *err);
	const char *source; /* for the trace's header */
};

static const struct format formats[] = {
	{perf_data_is, perf_data_import, "imported from perf.data"},
	{core_file_is, core_file_import, "imported from a core file"},
	{brstack_text_is, brstack_text_import, "imported from the text of perf script"},
};

static const char no_capture[] = "no capture that can be imported: neither perf.data, nor text of "
				 "perf script with brstack, nor a core file";

enum {
	LOOKED_AT = BRSTACK_TEXT_LOOKED_AT, /* bytes that show the format */
};

/* NULL: of none. */
static const struct format *format_of(struct slice bytes)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (formats[i].is(bytes))
			return &formats[i];
	return NULL;
}

/* Files of these are no captures, and may hold one. */
static const struct compression {
	const char *magic, *name, *unpack;
	size_t len;
} compressions[] = {
	{"\x1f\x8b", "gzip", "gzip -dc", 2},
	{"\x28\xb5\x2f\xfd", "zstd", "zstd -dc", 4},
	{"\xfd"
	 "7zXZ",
	 "xz", "xz -dc", 6},
	{"BZh", "bzip2", "bzip2 -dc", 3},
	{"\x04\x22\x4d\x18", "lz4", "lz4 -dc", 4},
};

/* name, colon: the file's, empty where the caller tells it. */
static int refuse_compressed(const char *name, const char *colon, struct slice bytes,
			     struct bt_error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(compressions); i++) {
		const struct compression *c = &compressions[i];

		if (bytes.len >= c->len && !memcmp(bytes.at, c->magic, c->len))
			return bt_fail_at(err, BT_E_UNSUPPORTED, 0,
					  "%s%scompressed with %s: unpack it first (%s FILE | "
					  "btrec import -)",
					  name, colon, c->name, c->unpack);
	}
	return bt_fail_at(err, BT_E_NOT_CAPTURE, 0, "%s%s%s", name, colon, no_capture);
}

int capture_import(struct importer *im, struct slice bytes, struct bt_error *err)
{
	const struct format *format = format_of(bytes);

	if (!format)
		return refuse_compressed("", "", bytes, err);
	importer_header(im)->reason = bt_str(format->source);
	return format->import(im, bytes, err);
}

/* A file without a name, where temporary files go. */
static int temporary_file(void)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];
	int fd;

	snprintf(path, sizeof path, "%.4000s/btrec-import-XXXXXX", dir && *dir ? dir : "/tmp");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

/* The input that is copied, with its name for messages. */
struct source {
	int fd;
	const char *name;
	uint64_t most;
};

/* Fills the bytes as far as there are any. Returns how many; negative, an error. */
static ssize_t read_some(const struct source *from, uint8_t *bytes, size_t size,
			 struct bt_error *err)
{
	size_t done = 0;
	ssize_t n = 1;

	while (n && done < size) {
		n = read(from->fd, bytes + done, size - done);
		if (n < 0 && errno != EINTR)
			return bt_fail(err, BT_E_IO, errno, "cannot read %s", from->name);
		done += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)done;
}

static int write_all(int to, const uint8_t *bytes, size_t size, const char *name,
		     struct bt_error *err)
{
	ssize_t n;

	for (size_t done = 0; done<size; done += n> 0 ? (size_t)n : 0) {
		n = write(to, bytes + done, size - done);
		if (n < 0 && errno != EINTR)
			return bt_fail(
				err, BT_E_IO, errno,
				"cannot write a temporary file with what %s holds; set TMPDIR",
				name);
	}
	return 0;
}

/* Refuses endless input, as of a device: mostly by its beginning. */
static int copy_by(const struct source *from, int to, uint8_t bytes[LOOKED_AT],
		   struct bt_error *err)
{
	uint64_t copied = 0;
	ssize_t n;
	int rc = 0;

	while (!rc && (n = read_some(from, bytes, LOOKED_AT, err)) != 0) {
		if (n < 0)
			return (int)n;
		if (!copied && !format_of(slice_of(bytes, (size_t)n)))
			return refuse_compressed(from->name, ": ", slice_of(bytes, (size_t)n), err);
		copied += (uint64_t)n;
		if (copied > from->most)
			return bt_fail_at(
				err, BT_E_NOT_CAPTURE, from->most,
				"%s: it begins like a capture and has no end within %" PRIu64
				" MiB; a capture that is larger can be imported from a file",
				from->name, from->most >> 20);
		rc = write_all(to, bytes, (size_t)n, from->name, err);
	}
	return rc;
}

static int copy_all(const struct source *from, int to, struct bt_error *err)
{
	uint8_t *bytes = malloc(LOOKED_AT);
	int rc = bytes ? copy_by(from, to, bytes, err) : bt_no_memory(err, from->name);

	free(bytes);
	return rc;
}

static int map_file(struct capture *c, const char *path, int fd, const struct stat *st,
		    struct bt_error *err)
{
	c->modified = (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
	if (!st->st_size)
		return 0;
	c->mapping = mmap(NULL, (size_t)st->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (c->mapping == MAP_FAILED) {
		c->mapping = NULL;
		return bt_fail(err, bt_code_of_errno(errno), errno, "cannot read %s", path);
	}
	c->bytes = slice_of(c->mapping, (size_t)st->st_size);
	return 0;
}

static int spool_to_file(struct capture *c, const struct source *from, struct bt_error *err)
{
	int copy = temporary_file(), rc;
	struct stat st;

	if (copy < 0)
		return bt_fail(err, BT_E_IO, errno,
			       "cannot make a temporary file for %s; set TMPDIR", from->name);
	rc = copy_all(from, copy, err);
	if (!rc && fstat(copy, &st))
		rc = bt_fail(err, BT_E_IO, errno, "cannot read %s", from->name);
	if (!rc)
		rc = map_file(c, from->name, copy, &st, err);
	close(copy);
	return rc;
}

int capture_open(struct capture *c, const char *path, uint64_t most, struct bt_error *err)
{
	bool is_stdin = !strcmp(path, "-");
	struct source from = {.name = is_stdin ? "standard input" : path, .most = most};
	struct stat st;
	int rc;

	*c = (struct capture){0};
	if (!*path)
		return bt_fail(err, BT_E_NO_TRACE, 0, "'': the file's name is empty");
	from.fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (from.fd < 0)
		return bt_fail(err,
			       errno == ENOENT || errno == ENOTDIR ? BT_E_NO_TRACE
								   : bt_code_of_errno(errno),
			       errno, "cannot open %s", path);
	if (fstat(from.fd, &st))
		rc = bt_fail(err, BT_E_IO, errno, "cannot read %s", from.name);
	else if (S_ISDIR(st.st_mode))
		rc = bt_fail(
			err, BT_E_UNSUPPORTED, 0,
			"%s is a directory; of perf.data in a directory nothing can be imported",
			from.name);
	else if (S_ISREG(st.st_mode) && (!is_stdin || !lseek(from.fd, 0, SEEK_CUR)))
		rc = map_file(c, from.name, from.fd, &st, err);
	else
		rc = spool_to_file(c, &from, err);
	if (!is_stdin)
		close(from.fd);
	return rc;
}

void capture_close(struct capture *c)
{
	if (c->mapping)
		munmap(c->mapping, c->bytes.len);
	*c = (struct capture){0};
}
