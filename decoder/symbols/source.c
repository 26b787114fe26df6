/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/source.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/regular_file.h"

static FILE *open_source(const char *path)
{
	struct stat st;
	int fd = regular_file_open(AT_FDCWD, path, &st);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;

	if (fd >= 0 && !f)
		close(fd);
	return f;
}

void source_plain_line(struct slice line, char *out, size_t cap)
{
	size_t len = 0;

	for (; len + 1 < cap && line.len; line.len--, line.at++) {
		char c = (char)(*line.at == '\t' ? ' ' : *line.at);

		if (!c || c == '\r' || c == '\n')
			break;
		if (len || c != ' ')
			out[len++] = c;
	}
	out[len] = '\0';
}

bool source_line(const char *path, int line, char *out, size_t cap)
{
	FILE *f = *path == '/' && line > 0 ? open_source(path) : NULL;
	char *text = NULL;
	size_t room = 0;
	ssize_t n = -1;

	if (!f)
		return false;
	for (int i = 0; i < line; i++)
		if ((n = getline(&text, &room, f)) < 0)
			break;
	fclose(f);
	if (n >= 0)
		source_plain_line(slice_of(text, (size_t)n), out, cap);
	free(text);
	return n >= 0;
}

bool source_is_newer(const char *path, uint64_t time)
{
	struct stat st;

	return *path == '/' && !stat(path, &st) && S_ISREG(st.st_mode) && st.st_mtim.tv_sec >= 0 &&
	       (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec > time;
}
