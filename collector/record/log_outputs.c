/* SPDX-License-Identifier: MIT */
#include "collector/record/log_outputs.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/array_size.h"
#include "lib/call_result.h"

enum {
	VECTORS_MOST = 1024,  /* of writev(2), and messages of sendmmsg(2): UIO_MAXIOV */
	PEEK_MOST = 64 << 20, /* bytes of a pipe */
	NO_OFFSET = 0,        /* tee(2): pipes have none */
};

void log_outputs_begin(struct log_outputs *o, pid_t tid) { output_files_open(o->files, tid); }

void log_outputs_release(struct log_outputs *o)
{
	output_files_close(o->files);
	buf_release(&o->peeked);
}

static bool stat_descriptor(pid_t tid, int fd, struct stat *st)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)tid, fd);
	return !stat(path, st);
}

/* The stream that a descriptor leads to, 0: none. */
static int stream_of(const struct log_outputs *o, pid_t tid, int fd)
{
	struct stat st;

	return stat_descriptor(tid, fd, &st)
		       ? output_files_find(o->files, tid, fd, st.st_dev, st.st_ino)
		       : 0;
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

/* n bytes of the `count` vectors at that address. */
static void put_vectors(struct log_outputs *o, pid_t tid, int stream, uint64_t at, uint64_t count,
			uint64_t n)
{
	struct iovec v;

	for (uint64_t i = 0; n && i < count && i < VECTORS_MOST; i++) {
		uint64_t most;

		if (tracee_read(tid, at + i * sizeof v, &v, sizeof v) != sizeof v)
			return;
		most = v.iov_len < n ? v.iov_len : n;
		put_output(o, tid, stream, (uint64_t)(uintptr_t)v.iov_base, most);
		n -= most;
	}
}

/* n bytes of the message whose header (struct msghdr) is there. */
static void put_message(struct log_outputs *o, pid_t tid, int stream, uint64_t at, uint64_t n)
{
	struct msghdr m;

	if (tracee_read(tid, at, &m, sizeof m) == sizeof m)
		put_vectors(o, tid, stream, (uint64_t)(uintptr_t)m.msg_iov, m.msg_iovlen, n);
}

/* The first `count` of the messages that are there: sendmmsg(2) has written how many bytes of each
 * it sent. */
static void put_messages(struct log_outputs *o, pid_t tid, int stream, uint64_t at, uint64_t count)
{
	for (uint64_t i = 0; i < count && i < VECTORS_MOST; i++, at += sizeof(struct mmsghdr)) {
		unsigned n;

		if (tracee_read(tid, at + offsetof(struct mmsghdr, msg_len), &n, sizeof n) !=
		    sizeof n)
			return;
		put_message(o, tid, stream, at, n);
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

/* Bytes that went from a regular file to a stream, as far as that can still be read. Returns how
 * many. */
static uint64_t put_of_file(struct log_outputs *o, pid_t tid, int stream, int from,
			    uint64_t offset_at, uint64_t n)
{
	uint8_t bytes[LOG_SINK_PIECE];
	struct bt_record_log_output rec = {.stream = (uint8_t)stream};
	uint64_t end, done = 0;
	char path[64];
	int fd;

	if (!offset_behind(tid, from, offset_at, &end) || end < n)
		return 0;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)tid, from);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (; fd >= 0 && done < n; done += rec.bytes.len) {
		size_t want = n - done < sizeof bytes ? n - done : sizeof bytes;
		ssize_t got = pread(fd, bytes, want, (off_t)(end - n + done));

		if (got <= 0)
			break;
		rec.bytes = slice_of(bytes, (size_t)got);
		put_told(o, &rec);
	}
	if (fd >= 0)
		close(fd);
	return done;
}

/* Reads what is in the pipe, at most n bytes, and leaves it there, in `to`: tee(2) into a pipe of
 * our own, of the same size. */
static void peek_into_pipe(pid_t tid, int fd, uint64_t n, struct buf *to)
{
	int pipe = tracee_copy_descriptor(tid, fd), own[2] = {-1, -1};
	uint8_t bytes[LOG_SINK_PIECE];
	ssize_t got;

	buf_reset(to);
	if (pipe >= 0 && !pipe2(own, O_CLOEXEC | O_NONBLOCK)) {
		(void)fcntl(own[1], F_SETPIPE_SZ, fcntl(pipe, F_GETPIPE_SZ));
		if (tee(pipe, own[1], n < PEEK_MOST ? n : PEEK_MOST, SPLICE_F_NONBLOCK) > 0)
			while ((got = read(own[0], bytes, sizeof bytes)) > 0)
				buf_put(to, bytes, (size_t)got);
		close(own[0]);
		close(own[1]);
	}
	if (pipe >= 0)
		close(pipe);
}

static bool is_pipe(pid_t tid, int fd)
{
	struct stat st;

	return stat_descriptor(tid, fd, &st) && S_ISFIFO(st.st_mode);
}

/* Bytes that went from a pipe to a stream: those that were seen in it before the call. tee(2)
 * leaves them there, and they are looked at now. Returns how many. */
static uint64_t put_of_pipe(struct log_outputs *o, pid_t tid, int stream, int from, bool stays,
			    uint64_t n)
{
	struct bt_record_log_output rec = {.stream = (uint8_t)stream};
	size_t there;

	if (stays)
		peek_into_pipe(tid, from, n, &o->peeked);
	there = o->peeked.failed ? 0 : o->peeked.len < n ? o->peeked.len : (size_t)n;
	for (size_t done = 0; done < there; done += rec.bytes.len) {
		size_t left = there - done;

		rec.bytes = slice_of(o->peeked.data + done,
				     left < LOG_SINK_PIECE ? left : LOG_SINK_PIECE);
		put_told(o, &rec);
	}
	return there;
}

/* Calls that give a stream bytes that do not pass through memory. Numbers of arguments. */
static const struct copying_call {
	uint16_t nr;
	uint8_t to, from, offset, length;
	bool stays; /* in a pipe that it takes them from */
} copying_calls[] = {{SYS_copy_file_range, 2, 0, 1, 4, false},
		     {SYS_sendfile, 0, 1, 2, 3, false},
		     {SYS_splice, 2, 0, 1, 4, false},
		     {SYS_tee, 1, 0, NO_OFFSET, 2, true}};

static const struct copying_call *copying_call_of(const struct tracee_syscall *call)
{
	for (size_t i = 0; i < ARRAY_SIZE(copying_calls); i++)
		if (syscall_is(call, copying_calls[i].nr))
			return &copying_calls[i];
	return NULL;
}

void log_outputs_enter(struct log_outputs *o, pid_t tid, const struct tracee_syscall *call)
{
	const struct copying_call *c = copying_call_of(call);
	const uint64_t *args = call->args;

	buf_reset(&o->peeked);
	if (c && !c->stays && is_pipe(tid, (int)args[c->from]) &&
	    stream_of(o, tid, (int)args[c->to]))
		peek_into_pipe(tid, (int)args[c->from], args[c->length], &o->peeked);
}

/* Logs what a copying call has given to a stream, and how much of it nobody has seen: what came
 * into a pipe only while the call waited, or out of a socket or a terminal. */
static void put_copied(struct log_outputs *o, pid_t tid, const struct copying_call *c,
		       const uint64_t *args, uint64_t n)
{
	int from = (int)args[c->from], stream = stream_of(o, tid, (int)args[c->to]);
	struct bt_record_log_unseen unseen = {.stream = (uint8_t)stream, .count = n};
	struct stat st = {0}; /* of no file, where it is gone */

	if (!stream)
		return;
	if (stat_descriptor(tid, from, &st) && S_ISREG(st.st_mode))
		unseen.count -= put_of_file(o, tid, stream, from, args[c->offset], n);
	else if (S_ISFIFO(st.st_mode))
		unseen.count -= put_of_pipe(o, tid, stream, from, c->stays, n);
	if (unseen.count)
		o->sink.put(o->sink.arg, BT_RECORD_LOG_UNSEEN, &unseen);
}

/* Whether the descriptor is of a /proc/PID/mem, wherever that file system is mounted. Of other
 * names the file system is not asked: one in user space (FUSE) may be served by a task that we have
 * stopped. */
static bool is_memory_file(pid_t tid, int fd)
{
	char name[64], path[PATH_MAX];
	struct statfs system;
	const char *last;
	ssize_t len;

	snprintf(name, sizeof name, "/proc/%d/fd/%d", (int)tid, fd);
	len = readlink(name, path, sizeof path - 1);
	if (len < 0)
		return false;
	path[len] = '\0';
	last = strrchr(path, '/');
	return last && !strcmp(last, "/mem") && !statfs(name, &system) &&
	       system.f_type == PROC_SUPER_MAGIC;
}

/* Logs a write of the task's to a /proc/PID/mem, which may be its own memory, of any protection.
 * offset: of the write; UINT64_MAX: from where the descriptor stood. */
static void put_through_proc(struct log_outputs *o, pid_t tid, int fd, uint64_t offset, uint64_t n)
{
	if (!is_memory_file(tid, fd))
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
	const struct copying_call *copies = copying_call_of(call);
	const uint64_t *args = call->args;
	int stream;

	o->told = 0;
	if (call_has_failed(result) || !result)
		return 0;
	if (copies)
		put_copied(o, tid, copies, args, result);
	if ((syscall_is(call, SYS_sendmsg) || syscall_is(call, SYS_sendmmsg)) &&
	    (stream = stream_of(o, tid, (int)args[0])))
		(syscall_is(call, SYS_sendmsg) ? put_message : put_messages)(o, tid, stream,
									     args[1], result);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!syscall_is(call, rows[i].nr))
			continue;
		stream = stream_of(o, tid, (int)args[0]);
		if (stream && rows[i].vectors)
			put_vectors(o, tid, stream, args[1], args[2], result);
		else if (stream)
			put_output(o, tid, stream, args[1], result);
		else
			put_through_proc(o, tid, (int)args[0],
					 rows[i].has_offset ? args[3] : UINT64_MAX, result);
	}
	return o->told;
}
