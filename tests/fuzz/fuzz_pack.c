/* SPDX-License-Identifier: MIT */
/* Any bytes as a pack: its members lie inside it, each trace in it can be read to its end, and what
 * is packed anew of one is a pack of the same files. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/pack.h"
#include "format/trace_cursor.h"

static void list_members(int fd, uint64_t size)
{
	struct pack_member m;
	struct bt_error err;
	uint64_t at = 0, before = 0;

	while (pack_next(fd, size, &at, &m, &err) == 1) {
		MUST(m.offset <= size && m.size <= size - m.offset);
		MUST(at > before);
		before = at;
	}
}

static void read_files(const struct trace *t)
{
	for (size_t i = 0; i < t->file_count; i++) {
		struct trace_cursor c;
		struct bt_record rec;
		struct bt_error err;

		trace_cursor_init(&c, t, &t->files[i]);
		while (trace_cursor_next(&c, &rec, &err))
			;
		trace_cursor_release(&c);
	}
}

static struct trace *open_fd(int fd)
{
	char path[64];
	struct trace *t;
	struct bt_error err;

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return trace_open(&t, path, &err) ? NULL : t;
}

static void pack_anew(const struct trace *t)
{
	int fd = memfd_create("again", MFD_CLOEXEC);
	struct bt_error err;
	struct trace *again;

	MUST(fd >= 0 && !pack_write(fd, t, "again", true, &err));
	again = open_fd(fd);
	MUST(again && again->file_count == t->file_count);
	for (size_t i = 0; i < t->file_count; i++)
		MUST(again->files[i].size == t->files[i].size);
	trace_close(again);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("pack", MFD_CLOEXEC);
	struct trace *t;

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	list_members(fd, size);
	t = open_fd(fd);
	if (t) {
		read_files(t);
		pack_anew(t);
	}
	trace_close(t);
	close(fd);
	return 0;
}
