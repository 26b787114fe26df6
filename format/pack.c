/* SPDX-License-Identifier: MIT */
#include "format/pack.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The header of a member: POSIX.1-2017, pax, "ustar Interchange Format". Numbers are octal digits;
 * a size of 8 GiB or more is written as GNU tar does: bit 7 of the first byte, then big-endian. */
enum {
	RECORD = 512,
	NAME_AT = 0,
	NAME_SIZE = 100,
	MODE_AT = 100,
	UID_AT = 108,
	GID_AT = 116,
	SIZE_AT = 124,
	SIZE_SIZE = 12,
	TIME_AT = 136,
	SUM_AT = 148,
	SUM_SIZE = 8,
	TYPE_AT = 156,
	MAGIC_AT = 257,
	FOLDER_MAX = 60, /* leaves room for names of a trace's files */
	PIECE = 1 << 20,
	STEPS_MAX = 1 << 20, /* members that are stepped over, one behind the other */
};

static unsigned sum_of(const uint8_t header[RECORD])
{
	unsigned sum = 0;

	for (size_t i = 0; i < RECORD; i++)
		sum += i >= SUM_AT && i < SUM_AT + SUM_SIZE ? ' ' : header[i];
	return sum;
}

static uint64_t read_number(const uint8_t *at, size_t size)
{
	uint64_t n = 0;

	if (*at & 0x80) {
		for (size_t i = size - sizeof n; i < size; i++)
			n = n << 8 | at[i];
		return n;
	}
	for (size_t i = 0; i < size; i++)
		if (at[i] >= '0' && at[i] <= '7')
			n = n << 3 | (uint64_t)(at[i] - '0');
		else if (at[i] != ' ')
			break;
	return n;
}

static void write_number(uint8_t *at, size_t size, uint64_t n)
{
	if (n >> 33 && size == SIZE_SIZE) {
		memset(at, 0, size);
		for (size_t i = 0; i < sizeof n; i++)
			at[size - 1 - i] = (uint8_t)(n >> 8 * i);
		*at = 0x80;
		return;
	}
	at[size - 1] = '\0';
	for (size_t i = size - 1; i-- > 0; n >>= 3)
		at[i] = (uint8_t)('0' + (n & 7));
}

static bool is_zero(const uint8_t header[RECORD])
{
	for (size_t i = 0; i < RECORD; i++)
		if (header[i])
			return false;
	return true;
}

/* Returns the number of bytes there, or -1. */
static ssize_t read_at(int fd, uint8_t *to, size_t n, uint64_t offset)
{
	ssize_t got;

	do
		got = pread(fd, to, n, (off_t)offset);
	while (got < 0 && errno == EINTR);
	return got;
}

static void take_name(struct pack_member *m, const uint8_t header[RECORD])
{
	const char *slash;

	memcpy(m->name, header + NAME_AT, NAME_SIZE);
	m->name[NAME_SIZE] = '\0';
	slash = strrchr(m->name, '/');
	if (slash)
		memmove(m->name, slash + 1, strlen(slash + 1) + 1);
}

static bool is_header(const uint8_t header[RECORD])
{
	return !memcmp(header + MAGIC_AT, "ustar", 5) &&
	       sum_of(header) == read_number(header + SUM_AT, SUM_SIZE);
}

int pack_next(int fd, uint64_t size, uint64_t *at, struct pack_member *m, struct bt_error *err)
{
	uint8_t header[RECORD];

	for (unsigned step = 0; step < STEPS_MAX; step++) {
		uint64_t offset = *at, padded;
		ssize_t got = offset < size ? read_at(fd, header, RECORD, offset) : 0;

		if (got < 0)
			return bt_fail_at(err, BT_E_IO, offset, "%s", strerror(errno));
		if (got < RECORD && !offset)
			return bt_fail_at(err, BT_E_NOT_TRACE, 0, "it is no archive");
		if (got < RECORD)
			return bt_fail_at(err, BT_E_TRUNCATED, offset,
					  "the pack is cut off: it ends before its end mark");
		if (offset && is_zero(header))
			return 0;
		if (!is_header(header))
			return bt_fail_at(err, offset ? BT_E_CORRUPT : BT_E_NOT_TRACE, offset,
					  "there is no member of a pack where one should begin");
		m->size = read_number(header + SIZE_AT, SIZE_SIZE);
		m->offset = offset + RECORD;
		if (m->size > size - m->offset)
			return bt_fail_at(err, BT_E_TRUNCATED, offset,
					  "the pack is cut off: it ends inside a file");
		padded = (m->size + RECORD - 1) / RECORD * RECORD;
		*at = m->offset + padded;
		take_name(m, header);
		if (header[TYPE_AT] == '0' || !header[TYPE_AT])
			return 1;
	}
	return bt_fail_at(err, BT_E_CORRUPT, *at, "the pack has too much that is no file");
}

static int write_all(int fd, const void *bytes, size_t n, struct bt_error *err)
{
	for (size_t done = 0; done < n;) {
		ssize_t put = write(fd, (const char *)bytes + done, n - done);

		if (put < 0 && errno != EINTR)
			return bt_fail(err, bt_code_of_errno(errno), errno,
				       "cannot write the pack");
		done += put > 0 ? (size_t)put : 0;
	}
	return 0;
}

static int write_header(int to, const struct trace_file *file, const char *folder, uint64_t time,
			struct bt_error *err)
{
	uint8_t header[RECORD] = {0};
	char name[NAME_SIZE];

	snprintf(name, sizeof name, "%.*s/%s", FOLDER_MAX, folder, file->name);
	memcpy(header + NAME_AT, name, strlen(name));
	write_number(header + MODE_AT, 8, 0600);
	write_number(header + UID_AT, 8, 0);
	write_number(header + GID_AT, 8, 0);
	write_number(header + SIZE_AT, SIZE_SIZE, file->size);
	write_number(header + TIME_AT, 12, time);
	header[TYPE_AT] = '0';
	memcpy(header + MAGIC_AT, "ustar\00000", 8);
	write_number(header + SUM_AT, SUM_SIZE - 1, sum_of(header));
	header[SUM_AT + SUM_SIZE - 1] = ' ';
	return write_all(to, header, sizeof header, err);
}

static int write_content(int to, const struct trace *t, const struct trace_file *file,
			 struct bt_error *err)
{
	static const uint8_t zeros[RECORD];
	struct file_window w;
	uint64_t at = 0;
	int rc = 0;

	trace_file_window(&w, t, file);
	while (!rc && at < file->size) {
		uint64_t left = file->size - at;
		struct slice piece =
			file_window_at(&w, at, left < PIECE ? (size_t)left : (size_t)PIECE);

		if (piece.len > left)
			piece.len = (size_t)left;
		if (!piece.len && w.failure)
			rc = file_window_error(&w, at, err);
		else if (!piece.len)
			rc = bt_fail(err, BT_E_CORRUPT, 0, "%.300s/%s has become shorter", t->path,
				     file->name);
		else
			rc = write_all(to, piece.at, piece.len, err);
		at += piece.len;
	}
	file_window_release(&w);
	if (!rc && file->size % RECORD)
		rc = write_all(to, zeros, RECORD - file->size % RECORD, err);
	return rc;
}

int pack_write(int to, const struct trace *t, const char *name, bool with_symbols,
	       struct bt_error *err)
{
	static const uint8_t end[2 * RECORD];
	uint64_t time = t->header.started / 1000000000u;
	int rc = 0;

	for (size_t i = 0; i < t->file_count && !rc; i++) {
		const struct trace_file *file = &t->files[i];

		if (file->kind == BT_FILE_SYMBOLS && !with_symbols)
			continue;
		rc = write_header(to, file, name, time, err);
		if (!rc)
			rc = write_content(to, t, file, err);
	}
	return rc ? rc : write_all(to, end, sizeof end, err);
}
