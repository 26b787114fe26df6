/* SPDX-License-Identifier: MIT */
/* Any bytes as a pack, as they are and with right checksums in the headers of its members, so that
 * changed headers are read, too: its members lie inside it, each trace in it can be read to its
 * end, and what is packed anew of one is a pack of the same files. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/pack.h"
#include "format/trace_cursor.h"

enum { /* of a member's header */
       TAR_RECORD = 512,
       TAR_SUM_AT = 148,
       TAR_SUM_SIZE = 8,
       TAR_MAGIC_AT = 257,
};

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

static void look_at_pack(const uint8_t *data, size_t size)
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
}

/* The sum of a header's bytes, of which those of the sum count as spaces, in octal digits
 * (POSIX.1-2017, pax, "ustar Interchange Format"). */
static void put_checksum(uint8_t header[TAR_RECORD])
{
	char digits[TAR_SUM_SIZE];
	unsigned sum = 0;

	memset(header + TAR_SUM_AT, ' ', TAR_SUM_SIZE);
	for (size_t i = 0; i < TAR_RECORD; i++)
		sum += header[i];
	snprintf(digits, sizeof digits, "%06o", sum);
	memcpy(header + TAR_SUM_AT, digits, sizeof digits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *summed = malloc(size + 1);

	MUST(summed);
	if (size)
		memcpy(summed, data, size);
	for (size_t at = 0; at + TAR_RECORD <= size; at += TAR_RECORD)
		if (!memcmp(summed + at + TAR_MAGIC_AT, "ustar", 5))
			put_checksum(summed + at);
	look_at_pack(data, size);
	look_at_pack(summed, size);
	free(summed);
	return 0;
}
