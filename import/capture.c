/* SPDX-License-Identifier: MIT */
#include "import/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/brstack_text.h"
#include "import/core_file.h"
#include "import/perf_data.h"

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

int capture_import(struct importer *im, struct slice bytes, struct bt_error *err)
{
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (formats[i].is(bytes)) {
			importer_header(im)->reason = bt_str(formats[i].source);
			return formats[i].import(im, bytes, err);
		}
	return bt_fail_at(err, BT_E_NOT_CAPTURE, 0,
			  "no capture that can be imported: neither perf.data, nor text of perf script with brstack, nor a core file");
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

/* path: of what is copied. */
static int copy_all(int from, int to, const char *path, struct bt_error *err)
{
	char bytes[65536];
	ssize_t n;

	while ((n = read(from, bytes, sizeof bytes)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return bt_fail(err, BT_E_IO, errno, "cannot read %s", path);
		for (ssize_t done = 0, more; done < n; done += more) {
			more = write(to, bytes + done, (size_t)(n - done));
			if (more < 0 && errno != EINTR)
				return bt_fail(err, BT_E_IO, errno, "cannot write a temporary file with what %s holds; set TMPDIR", path);
			if (more < 0)
				more = 0;
		}
	}
	return 0;
}

static int map_file(struct capture *c, const char *path, int fd, const struct stat *st, struct bt_error *err)
{
	c->modified = (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
	if (!st->st_size)
		return 0;
	c->mapping = mmap(NULL, (size_t)st->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (c->mapping == MAP_FAILED) {
		c->mapping = NULL;
		return bt_fail(err, errno == ENOMEM ? BT_E_NO_MEMORY : BT_E_IO, errno, "cannot read %s", path);
	}
	c->bytes = slice_of(c->mapping, (size_t)st->st_size);
	return 0;
}

static int spool(struct capture *c, const char *path, int fd, struct bt_error *err)
{
	int copy = temporary_file(), rc;
	struct stat st;

	if (copy < 0)
		return bt_fail(err, BT_E_IO, errno, "cannot make a temporary file for %s; set TMPDIR", path);
	rc = copy_all(fd, copy, path, err);
	if (!rc && fstat(copy, &st))
		rc = bt_fail(err, BT_E_IO, errno, "cannot read %s", path);
	if (!rc)
		rc = map_file(c, path, copy, &st, err);
	close(copy);
	return rc;
}

int capture_open(struct capture *c, const char *path, struct bt_error *err)
{
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), rc;
	struct stat st;

	*c = (struct capture){0};
	if (!*path)
		return bt_fail(err, BT_E_NO_TRACE, 0, "'': the file's name is empty");
	if (fd < 0)
		return bt_fail(err, errno == EACCES || errno == EPERM ? BT_E_PERMISSION : errno == ENOENT || errno == ENOTDIR ? BT_E_NO_TRACE : BT_E_IO,
			       errno, "cannot open %s", path);
	if (fstat(fd, &st))
		rc = bt_fail(err, BT_E_IO, errno, "cannot read %s", path);
	else if (S_ISDIR(st.st_mode))
		rc = bt_fail(err, BT_E_UNSUPPORTED, 0, "%s is a directory; of perf.data in a directory nothing can be imported", path);
	else
		rc = S_ISREG(st.st_mode) && !is_stdin ? map_file(c, path, fd, &st, err) : spool(c, path, fd, err);
	if (!is_stdin)
		close(fd);
	return rc;
}

void capture_close(struct capture *c)
{
	if (c->mapping)
		munmap(c->mapping, c->bytes.len);
	*c = (struct capture){0};
}
