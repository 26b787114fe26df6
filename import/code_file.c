/* SPDX-License-Identifier: MIT */
#include "import/code_file.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/build_id.h"
#include "lib/regular_file.h"

static int open_code_file(struct slice path, struct stat *st)
{
	char name[PATH_MAX];
	int fd;

	if (!path.len || path.len >= sizeof name || *path.at != '/')
		return -1;
	memcpy(name, path.at, path.len);
	name[path.len] = '\0';
	fd = regular_file_open(AT_FDCWD, name, st);
	if (fd >= 0 && !st->st_size) {
		close(fd);
		return -1;
	}
	return fd;
}

void code_file_open(struct code_file *f, struct slice path, struct slice build_id)
{
	uint8_t found[BT_BUILD_ID_MAX];
	struct stat st;
	int fd = build_id.len ? open_code_file(path, &st) : -1;
	size_t n;

	*f = (struct code_file){.mapping = NULL};
	if (fd < 0)
		return;
	f->mapping = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (f->mapping == MAP_FAILED) {
		f->mapping = NULL;
		return;
	}
	f->bytes = slice_of(f->mapping, (size_t)st.st_size);
	n = bt_build_id(f->mapping, f->bytes.len, found);
	/* perf may pad a short one with zeros. */
	if (!n || n > build_id.len || memcmp(found, build_id.at, n))
		code_file_close(f);
}

void code_file_close(struct code_file *f)
{
	if (f->mapping)
		munmap(f->mapping, f->bytes.len);
	*f = (struct code_file){.mapping = NULL};
}

struct slice code_file_at(const struct code_file *f, uint64_t offset, size_t n)
{
	struct slice s = f->bytes;

	if (offset >= s.len)
		return (struct slice){0};
	slice_take(&s, (size_t)offset);
	return slice_take(&s, n < s.len ? n : s.len);
}
