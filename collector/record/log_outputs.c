/* SPDX-License-Identifier: MIT */
#include "collector/record/log_outputs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/array_size.h"
#include "lib/call_result.h"

enum {
	VECTORS_MOST = 1024, /* of writev(2): UIO_MAXIOV */
};

static bool stat_descriptor(pid_t tid, int fd, struct stat *st)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)tid, fd);
	return !stat(path, st);
}

void log_outputs_begin(struct log_outputs *o, pid_t tid)
{
	for (int i = 1; i < LOG_STREAMS; i++)
		if (!stat_descriptor(tid, i, &o->streams[i]))
			o->streams[i].st_mode = 0;
}

/* The stream that a descriptor leads to, 0: none. */
static int stream_of(const struct log_outputs *o, pid_t tid, int fd)
{
	struct stat st;
	int found = 0;

	if (!stat_descriptor(tid, fd, &st))
		return 0;
	for (int i = 1; i < LOG_STREAMS; i++) {
		const struct stat *s = &o->streams[i];

		if (s->st_mode && s->st_dev == st.st_dev && s->st_ino == st.st_ino &&
		    (!found || i == fd))
			found = i;
	}
	return found;
}

static void put_told(struct log_outputs *o, const struct bt_record_log_output *rec)
{
	o->told += rec->bytes.len;
	o->sink.put(o->sink.arg, BT_RECORD_LOG_OUTPUT, rec);
}

static void put_output(struct log_outputs *o, pid_t tid, int stream, uint64_t addr, uint64_t n)
{
	uint8_t bytes[LOG_SINK_PIECE];
	struct bt_record_log_output rec = {.stream = (uint8_t)stream};

	for (uint64_t done = 0; done < n; done += rec.bytes.len) {
		size_t want = n - done < sizeof bytes ? n - done : sizeof bytes;

		rec.addr = addr + done;
		rec.bytes = slice_of(bytes, tracee_read(tid, rec.addr, bytes, want));
		if (!rec.bytes.len)
			return;
		put_told(o, &rec);
	}
}

static void put_vectors(struct log_outputs *o, pid_t tid, int stream, const uint64_t *args,
			uint64_t n)
{
	struct iovec v;

	for (uint64_t i = 0; n && i < args[2] && i < VECTORS_MOST; i++) {
		uint64_t most;

		if (tracee_read(tid, args[1] + i * sizeof v, &v, sizeof v) != sizeof v)
			return;
		most = v.iov_len < n ? v.iov_len : n;
		put_output(o, tid, stream, (uint64_t)(uintptr_t)v.iov_base, most);
		n -= most;
	}
}

/* Where in a file the kernel stands behind a call that copied from it: at the offset that the call
 * was given the address of, else at the descriptor's. */
static bool offset_behind(pid_t tid, int fd, uint64_t at, uint64_t *offset)
{
	unsigned long flags;

	return at ? tracee_read(tid, at, offset, sizeof *offset) == sizeof *offset
		  : tracee_descriptor(tid, fd, offset, &flags);
}

/* Bytes that went from a file to a stream without passing through memory. Of what was in a pipe
 * nothing is left. */
static void put_copied(struct log_outputs *o, pid_t tid, int stream, int from, uint64_t offset_at,
		       uint64_t n)
{
	uint8_t bytes[LOG_SINK_PIECE];
	struct bt_record_log_output rec = {.stream = (uint8_t)stream};
	uint64_t end;
	char path[64];
	struct stat st;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)tid, from);
	if (stat(path, &st) || !S_ISREG(st.st_mode) || !offset_behind(tid, from, offset_at, &end) ||
	    end < n)
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (uint64_t done = 0; fd >= 0 && done < n; done += rec.bytes.len) {
		size_t want = n - done < sizeof bytes ? n - done : sizeof bytes;
		ssize_t got = pread(fd, bytes, want, (off_t)(end - n + done));

		if (got <= 0)
			break;
		rec.bytes = slice_of(bytes, (size_t)got);
		put_told(o, &rec);
	}
	if (fd >= 0)
		close(fd);
}

/* Logs a write of the task's to a /proc/PID/mem, which may be its own memory, of any protection.
 * offset: of the write; UINT64_MAX: from where the descriptor stood. */
static void put_through_proc(struct log_outputs *o, pid_t tid, int fd, uint64_t offset, uint64_t n)
{
	char name[64], path[64];
	ssize_t len;

	snprintf(name, sizeof name, "/proc/%d/fd/%d", (int)tid, fd);
	len = readlink(name, path, sizeof path - 1);
	if (len < 0)
		return;
	path[len] = '\0';
	if (strncmp(path, "/proc/", 6) != 0 || !strstr(path + 6, "/mem"))
		return;
	if (offset == UINT64_MAX) {
		if (!offset_behind(tid, fd, 0, &offset) || offset < n)
			return;
		offset -= n;
	}
	log_sink_memory(&o->sink, tid, offset, n);
}

uint64_t log_outputs_put(struct log_outputs *o, pid_t tid, const struct tracee_syscall *call,
			 uint64_t result)
{
	static const struct {
		uint16_t nr;
		bool vectors, has_offset;
	} rows[] = {{SYS_write, false, false},  {SYS_pwrite64, false, true},
		    {SYS_sendto, false, false}, {SYS_writev, true, false},
		    {SYS_pwritev, true, true},  {SYS_pwritev2, true, true},
		    {SYS_vmsplice, true, false}};
	static const struct {
		uint16_t nr;
		uint8_t to, from, offset; /* numbers of arguments */
	} copies[] = {
		{SYS_copy_file_range, 2, 0, 1}, {SYS_sendfile, 0, 1, 2}, {SYS_splice, 2, 0, 1}};
	const uint64_t *args = call->args;
	int stream;

	o->told = 0;
	if (call_has_failed(result) || !result)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(copies); i++)
		if (syscall_is(call, copies[i].nr) &&
		    (stream = stream_of(o, tid, (int)args[copies[i].to])))
			put_copied(o, tid, stream, (int)args[copies[i].from],
				   args[copies[i].offset], result);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!syscall_is(call, rows[i].nr))
			continue;
		stream = stream_of(o, tid, (int)args[0]);
		if (stream && rows[i].vectors)
			put_vectors(o, tid, stream, args, result);
		else if (stream)
			put_output(o, tid, stream, args[1], result);
		else
			put_through_proc(o, tid, (int)args[0],
					 rows[i].has_offset ? args[3] : UINT64_MAX, result);
	}
	return o->told;
}
