/* SPDX-License-Identifier: MIT */
#include "tui/source_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/regular_file.h"

enum {
	SIZE_LIMIT = 64 << 20, /* no source file is larger; a name from debug information may point
				  anywhere */
};

static char *read_whole_file(int fd, size_t size, size_t *len)
{
	char *bytes = malloc(size + 1);
	ssize_t n = 0;

	*len = 0;
	while (bytes && *len < size && (n = read(fd, bytes + *len, size - *len)) > 0)
		*len += (size_t)n;
	return bytes;
}

static bool index_lines(struct source_file *f, size_t len)
{
	size_t lines = 0;

	for (size_t i = 0; i < len; i++)
		lines += f->bytes[i] == '\n';
	lines += len && f->bytes[len - 1] != '\n';
	f->starts = reallocarray(NULL, lines + 1, sizeof *f->starts);
	if (!f->starts)
		return false;
	f->starts[0] = 0;
	for (size_t i = 0; f->lines < lines; i++)
		if (i + 1 == len || f->bytes[i] == '\n')
			f->starts[++f->lines] = i + 1;
	return true;
}

bool source_file_take(struct source_file *f, const char *path, char *text, size_t len)
{
	*f = (struct source_file){.path = strdup(path), .bytes = text};
	f->readable = index_lines(f, len);
	if (f->path && f->readable)
		return true;
	source_file_release(f);
	return false;
}

bool source_file_read(struct source_file *f, const char *path)
{
	struct stat st;
	int fd = regular_file_open(AT_FDCWD, path, &st);
	size_t len = 0;
	bool ok;

	*f = (struct source_file){.path = strdup(path)};
	ok = f->path != NULL;
	if (ok && fd >= 0 && st.st_size <= SIZE_LIMIT) {
		f->bytes = read_whole_file(fd, (size_t)st.st_size, &len);
		f->readable = ok = f->bytes && index_lines(f, len);
	}
	if (fd >= 0)
		close(fd);
	if (!ok)
		source_file_release(f);
	return ok;
}

void source_file_release(struct source_file *f)
{
	free(f->path);
	free(f->bytes);
	free(f->starts);
	*f = (struct source_file){0};
}

const char *source_file_line(const struct source_file *f, size_t n, size_t *len)
{
	const char *start = f->bytes + f->starts[n];

	*len = f->starts[n + 1] - f->starts[n];
	if (*len && start[*len - 1] == '\n')
		--*len;
	if (*len && start[*len - 1] == '\r')
		--*len;
	return start;
}
