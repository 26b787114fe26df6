/* SPDX-License-Identifier: MIT */
/* A trace is some files, and a file is a stream here: records are encoded into its buffer, and the
 * buffer becomes one block when it is large enough or flushed. A file is made with its first block.
 * It is opened for each block, but for events, which stays open and locked.
 *
 * Events name objects and entries of branches by number. So when events are flushed, objects go
 * first, then the branches of all tasks and the logs of all units. Objects are stored once: a table
 * finds those with the same bytes by their fingerprint.
 *
 * A record that would make its block too large begins the next one. One that no block can hold is
 * left out, with a note.
 *
 * When a write fails, one more follows, but for a log, which ends or gives way: the STOPPED record,
 * into the room that is kept behind the end of events (reserve.h). From then on the writer takes
 * records and drops them. */
#include "format/trace_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/history_run.h"
#include "format/reserve.h"
#include "lib/content_numbers.h"

enum {
	BUFFER_KEPT = 1 << 16,  /* bytes of memory that a flushed stream keeps */
	BLOCK_TARGET = 1 << 20, /* a stream is flushed when this much is buffered */
	CODE_TARGET = 1 << 16,  /* for blocks that are not packed: their bytes, copied again, are
				   still in a near cache */
	/* Bytes of the first code are held back: a short run that ends well leaves none, and never
	   makes the file. */
	CODE_HELD = 1 << 20,
	OBJECT_MAX = BT_BLOCK_MAX - 64, /* with its record's head */
	CODE_PLAIN_MOST = 16 << 20,
};

/* One file of the trace. Opened only to append a block, but for events: a tree of hundreds of tasks
 * costs no descriptors. */
struct stream {
	enum bt_file_kind kind;
	uint32_t number;
	uint64_t ordinal; /* of the next block */
	bool begun;       /* the file exists and has its header */
	uint32_t unit;    /* of the newest record; 0 at the beginning of a block */
	size_t code;      /* of the records: bytes of program code */
	bool has_graphs;  /* among the records */
	struct buf records;
	struct history_run *run; /* entries that become the next record, or NULL */
};

struct stream_slot {
	struct stream *stream; /* NULL: nothing is buffered */
	uint64_t written;      /* then: blocks of it, 0: no file yet */
};

/* The streams of a kind of which there is one for each task or unit. */
struct stream_table {
	enum bt_file_kind kind;
	struct stream_slot *slots; /* indexed by its number */
	size_t count;
};

struct trace_writer {
	int dir;
	int events_fd; /* locked; -1: not made yet */
	struct reserve reserve;
	uint8_t uuid[BT_UUID_SIZE];
	struct bt_clock clock;
	uint64_t seq;
	int stopped;
	struct stream events, objects;
	struct stream_table branches; /* by task */
	struct stream_table logs;     /* by unit */
	struct content_numbers object_numbers;
	uint64_t log_bytes; /* written */
	char log_loss[160]; /* why logs have ended; "": they have not */
	bool logs_dropped;
	uint32_t mapped; /* files of the program's, from 0 */
	uint64_t code;   /* bytes of it, of programs */
	bool needs_code; /* there are snapshots, or branches */
	bool code_left_out;
	struct buf block; /* scratch */
};

/* Writes all of b, or takes back what it wrote. Returns 0 or an errno. */
static int append_to_file(int fd, const struct buf *b)
{
	off_t start = lseek(fd, 0, SEEK_END);
	size_t done = 0;

	while (done < b->len) {
		ssize_t n = write(fd, b->data + done, b->len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int failure = errno;

			/* Half a block would read as damage. If this fails, too, it is a torn tail;
			 * readers know those. */
			(void)!ftruncate(fd, start);
			return failure;
		}
		done += (size_t)n;
	}
	return 0;
}

static bool is_mostly_code(const struct stream *s) { return s->code > s->records.len / 2; }

/* Packed program code keeps more than half of its size, and a start is mostly code: packing it
 * would take a tenth of the time of recording a short program. Code beyond CODE_PLAIN_MOST is
 * mostly pages that the program writes again and again with few changes. All code of a small
 * program is packed when a moment is kept: few have one. */
static bool is_plain_code(const struct trace_writer *w, const struct stream *s)
{
	return is_mostly_code(s) && w->code <= CODE_PLAIN_MOST &&
	       !(w->needs_code && w->code <= CODE_HELD);
}

/* The trace's header is small, and people read it. A log is mostly pages of files while the program
 * waits: FULL would make a tenth less of them, and a recording of a short program take a fourth
 * more time. */
static enum bt_block_effort effort_of(const struct trace_writer *w, const struct stream *s)
{
	if ((s->kind == BT_FILE_EVENTS && !s->ordinal) || is_plain_code(w, s))
		return BT_BLOCK_PLAIN;
	if (s->has_graphs)
		return BT_BLOCK_DENSE;
	return s->kind == BT_FILE_OBJECTS || s->kind == BT_FILE_LOG ? BT_BLOCK_QUICK
								    : BT_BLOCK_FULL;
}

/* Opens its file for appending, makes it first where there is none. Returns a descriptor, or -1
 * with errno. */
static int stream_open(const struct trace_writer *w, const struct stream *s)
{
	char name[32];
	int fd, failure;

	trace_file_name(name, s->kind, s->number);
	fd = openat(w->dir, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || s->begun || !fchmod(fd, 0600)) /* whatever the umask */
		return fd;
	failure = errno;
	close(fd);
	errno = failure;
	return -1;
}

/* Appends a block to the stream's file. Returns 0 or an errno. */
static int stream_append(struct trace_writer *w, const struct stream *s, const struct buf *block)
{
	bool events = s == &w->events;
	int failure = events && !w->stopped ? reserve_make_room(&w->reserve, block->len) : 0, fd;

	if (failure)
		return failure;
	/* The descriptor of events is duplicated and closed: some file systems report a failed
	 * write only then. */
	fd = events ? fcntl(w->events_fd, F_DUPFD_CLOEXEC, 0) : stream_open(w, s);
	if (fd < 0)
		return errno;
	failure = append_to_file(fd, block);
	if (close(fd) && !failure)
		failure = errno;
	return failure;
}

static void stream_reset(struct stream *s)
{
	s->code = 0;
	s->has_graphs = false;
	s->unit = 0;
	buf_reset(&s->records);
}

/* Appends the stream's records as one block. Returns 0 or an errno. */
static int stream_write(struct trace_writer *w, struct stream *s)
{
	int failure;

	if (s->records.failed)
		return ENOMEM;
	if (!s->records.len)
		return 0;
	buf_reset(&w->block);
	if (!s->begun)
		bt_file_header_encode(&w->block, s->kind, w->uuid);
	if (bt_block_encode(&w->block, s->ordinal, slice_of(s->records.data, s->records.len),
			    effort_of(w, s)) ||
	    w->block.failed)
		return ENOMEM;
	failure = stream_append(w, s, &w->block);
	if (failure)
		return failure;
	s->begun = true;
	s->ordinal++;
	if (s->kind == BT_FILE_LOG)
		w->log_bytes += w->block.len;
	stream_reset(s);
	return 0;
}

/* NULL without memory. */
static struct stream *numbered_stream(struct stream_table *t, uint32_t number)
{
	struct stream_slot *slot;

	if (number >= t->count) {
		size_t count = (size_t)number + 16 + t->count / 2;
		struct stream_slot *at = realloc(t->slots, count * sizeof *at);

		if (!at)
			return NULL;
		memset(at + t->count, 0, (count - t->count) * sizeof *at);
		t->slots = at;
		t->count = count;
	}
	slot = &t->slots[number];
	if (!slot->stream) {
		struct stream *fresh = calloc(1, sizeof *fresh);

		if (!fresh)
			return NULL;
		*fresh = (struct stream){.kind = t->kind,
					 .number = number,
					 .ordinal = slot->written,
					 .begun = slot->written};
		slot->stream = fresh;
	}
	return slot->stream;
}

/* Writing failed: from here on nothing is written but, into the reserve, the record that says so.
 */
static void stop_writing(struct trace_writer *w, int failure)
{
	struct bt_record_stopped body = {.time = bt_clock_now(&w->clock),
					 .os_errno = (uint32_t)failure,
					 .text = bt_str(strerror(failure))};

	w->stopped = failure;
	reserve_break(&w->reserve);
	body.seq = w->seq++;
	stream_reset(&w->events); /* a buffered record may be the one that did not fit */
	bt_record_encode(&w->events.records, BT_RECORD_STOPPED, &body);
	if (stream_write(w, &w->events))
		stream_reset(&w->events);
	reserve_close(&w->reserve);
}

static void stream_put(struct stream *s, uint32_t unit, enum bt_record_kind kind, const void *body)
{
	struct bt_record_unit begins = {.unit = unit};

	if (unit != s->unit)
		bt_record_encode(&s->records, BT_RECORD_UNIT, &begins);
	s->unit = unit;
	bt_record_encode(&s->records, kind, body);
	s->has_graphs |= kind == BT_RECORD_BRANCH_GRAPH;
}

/* Ends a log, whose buffered records are lost; dropped: what it has written is, too. */
static void end_log(struct trace_writer *w, uint32_t unit, bool dropped)
{
	const struct bt_record_log_end end = {.reason = bt_str(w->log_loss)};
	char name[32];
	struct stream *s = numbered_stream(&w->logs, unit);
	int fd;

	if (!s)
		return;
	stream_reset(s);
	if (dropped) {
		trace_file_name(name, BT_FILE_LOG, unit);
		fd = openat(w->dir, name, O_WRONLY | O_TRUNC | O_CLOEXEC);
		if (fd >= 0)
			close(fd);
		s->begun = false;
		s->ordinal = 0;
	}
	stream_put(s, unit, BT_RECORD_LOG_END, &end);
	if (stream_write(w, s))
		stream_reset(s);
}

/* A log ends where it cannot be written, and the recording goes on. Where nothing else can be
 * written for want of room, logs give theirs. */
static void end_logs(struct trace_writer *w, int failure, bool dropped)
{
	snprintf(w->log_loss, sizeof w->log_loss,
		 dropped ? "it gave way to the rest of the trace: %s" : "it cannot be written: %s",
		 strerror(failure));
	w->logs_dropped = dropped;
	for (size_t i = 0; i < w->logs.count; i++)
		if (w->logs.slots[i].stream || w->logs.slots[i].written)
			end_log(w, (uint32_t)i, dropped);
}

static bool may_drop_logs(const struct trace_writer *w, int failure)
{
	return (failure == ENOSPC || failure == EDQUOT) && w->log_bytes && !w->logs_dropped;
}

static void stream_hand_over(struct trace_writer *w, struct stream *s)
{
	int failure = w->stopped ? 0 : stream_write(w, s);

	if (failure && s->kind == BT_FILE_LOG && !*w->log_loss) {
		end_logs(w, failure, false);
		return;
	}
	if (failure && s->kind != BT_FILE_LOG && may_drop_logs(w, failure)) {
		end_logs(w, failure, true);
		failure = stream_write(w, s);
	}
	if (failure)
		stop_writing(w, failure);
}

/* Gives most of its memory back: there is one stream for each of hundreds of tasks. But a log is
 * filled again and again while its program waits, and page faults would cost as much as its
 * packing. */
static void stream_shrink(struct stream *s)
{
	if (!s->records.len && s->records.cap > BUFFER_KEPT && s->kind != BT_FILE_LOG)
		buf_release(&s->records);
}

static void stream_free(struct stream *s)
{
	if (s) {
		history_run_free(s->run);
		buf_release(&s->records);
	}
	free(s);
}

static void end_run(struct trace_writer *w, struct stream *s);

/* A stream without new records since the last flush, as of a dead task, gives up its memory: there
 * may be a million. */
static void table_flush(struct trace_writer *w, struct stream_table *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct stream *s = t->slots[i].stream;

		if (s && s->run)
			end_run(w, s);
		if (s && (s->records.len || s->records.failed)) {
			stream_hand_over(w, s);
			stream_shrink(s);
		} else if (s) {
			t->slots[i] = (struct stream_slot){.written = s->ordinal};
			stream_free(s);
		}
	}
}

static void table_release(struct stream_table *t)
{
	for (size_t i = 0; i < t->count; i++)
		stream_free(t->slots[i].stream);
	free(t->slots);
}

static void stream_flush(struct trace_writer *w, struct stream *s)
{
	/* Named records go first: a trace cut off between two writes has no dangling numbers. */
	if (s->kind == BT_FILE_EVENTS) {
		stream_hand_over(w, &w->objects);
		table_flush(w, &w->branches);
		table_flush(w, &w->logs);
	}
	stream_hand_over(w, s);
}

static void stream_empty(struct trace_writer *w, struct stream *s)
{
	stream_flush(w, s);
	stream_shrink(s);
}

/* Notes a record that was left out: a reader would refuse its block. */
static void leave_out(struct trace_writer *w, enum bt_record_kind kind, size_t size)
{
	struct bt_record_note note = {.seq = w->seq++, .time = bt_clock_now(&w->clock)};
	char text[128];

	snprintf(text, sizeof text, "a record (%s) of %zu bytes was left out: %d are the most",
		 bt_record_name(kind), size, BT_BLOCK_MAX);
	note.text = bt_str(text);
	stream_put(&w->events, 0, BT_RECORD_NOTE, &note);
}

/* stream_put() into a block with room for it: the present one, or else the next. */
static void stream_fit(struct trace_writer *w, struct stream *s, uint32_t unit,
		       enum bt_record_kind kind, const void *body)
{
	size_t start = s->records.len, end;
	uint32_t unit_before = s->unit;

	stream_put(s, unit, kind, body);
	end = s->records.len;
	if (s->records.failed || end <= BT_BLOCK_MAX)
		return;
	s->records.len = start;
	s->unit = unit_before;
	if (!start) {
		leave_out(w, kind, end);
		return;
	}
	stream_flush(w, s);
	if (!w->stopped)
		stream_fit(w, s, unit, kind, body);
}

static void stream_record(struct trace_writer *w, struct stream *s, uint32_t unit,
			  enum bt_record_kind kind, const void *body)
{
	if (w->stopped)
		return;
	stream_fit(w, s, unit, kind, body);
	if (kind == BT_RECORD_END)
		return; /* it goes last, when the trace is closed: it proves that all else was
			   written */
	if (s == &w->objects && is_mostly_code(s) && s->records.len >= CODE_TARGET &&
	    w->code >= CODE_HELD)
		stream_flush(w, s);
	else if (s->records.len >= BLOCK_TARGET || s->records.failed)
		stream_empty(w, s);
}

/* Makes a record of the stream's run. */
static void end_run(struct trace_writer *w, struct stream *s)
{
	struct bt_record_branch_graph body;
	struct buf bytes = {0};
	struct history_run *run = s->run;

	s->run = NULL;
	if (!w->stopped && history_run_encode(run, &bytes, &body))
		stream_record(w, s, 0, BT_RECORD_BRANCH_GRAPH, &body);
	else if (!w->stopped)
		stop_writing(w, ENOMEM);
	buf_release(&bytes);
	history_run_free(run);
}

/* Says to readers that the trace is being written, for as long as this process or a child of its
 * holds it. Best effort: a file system may have no locks. */
static void lock_trace(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	(void)fcntl(fd, F_OFD_SETLK, &lock);
}

/* Makes events, with the header in a block of its own. Returns 0 or an errno. */
static int begin_events(struct trace_writer *w, const struct bt_record_header *h)
{
	w->events_fd = stream_open(w, &w->events);
	if (w->events_fd < 0)
		return errno;
	lock_trace(w->events_fd);
	reserve_init(&w->reserve, w->dir, w->events_fd);
	bt_record_encode(&w->events.records, BT_RECORD_HEADER, h);
	return stream_write(w, &w->events);
}

static void remove_stream(struct trace_writer *w, enum bt_file_kind kind, uint32_t number)
{
	char name[32];

	trace_file_name(name, kind, number);
	unlinkat(w->dir, name, 0);
}

int trace_writer_open(struct trace_writer **out, const char *dir, const struct bt_record_header *h,
		      struct bt_error *err)
{
	struct trace_writer *w;
	int failure;

	if (mkdir(dir, 0700)) {
		enum bt_error_code code = errno == EEXIST ? BT_E_EXISTS : bt_code_of_errno(errno);

		if (code == BT_E_EXISTS)
			return bt_fail(err, code, 0,
				       "%s exists already: give -o another name, or remove it",
				       dir);
		return bt_fail(err, code, errno, "cannot make the trace directory %s",
			       *dir ? dir : "''");
	}
	w = calloc(1, sizeof *w);
	if (!w) {
		rmdir(dir);
		return bt_no_memory(err, NULL);
	}
	(void)!chmod(dir, 0700); /* whatever the umask */
	w->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->events_fd = w->reserve.events = -1;
	w->seq = 1;
	w->events.kind = BT_FILE_EVENTS;
	w->objects.kind = BT_FILE_OBJECTS;
	w->branches.kind = BT_FILE_BRANCHES;
	w->logs.kind = BT_FILE_LOG;
	w->clock = bt_clock_start();
	failure = w->dir < 0 ? errno : 0;
	if (!failure && getrandom(w->uuid, sizeof w->uuid, 0) != sizeof w->uuid)
		failure = EIO;
	w->uuid[6] = (w->uuid[6] & 0x0f) | 0x40; /* RFC 4122, version 4 */
	w->uuid[8] = (w->uuid[8] & 0x3f) | 0x80;
	if (!failure)
		failure = begin_events(w, h);
	if (failure) {
		trace_writer_discard(w, dir);
		return bt_fail(err, bt_code_of_errno(failure), failure, "cannot write the trace %s",
			       dir);
	}
	*out = w;
	return 0;
}

uint64_t trace_writer_next_seq(struct trace_writer *w) { return w->seq++; }

const struct bt_clock *trace_writer_clock(const struct trace_writer *w) { return &w->clock; }

void trace_writer_event(struct trace_writer *w, uint32_t unit, enum bt_record_kind kind,
			const void *body)
{
	w->needs_code |= kind == BT_RECORD_SNAPSHOT;
	stream_record(w, &w->events, unit, kind, body);
}

static void numbered_record(struct trace_writer *w, struct stream_table *t, uint32_t number,
			    enum bt_record_kind kind, const void *body)
{
	struct stream *s = numbered_stream(t, number);

	if (s)
		stream_record(w, s, 0, kind, body);
	else if (!w->stopped)
		stop_writing(w, ENOMEM);
}

static void branches_record(struct trace_writer *w, uint32_t task, enum bt_record_kind kind,
			    const void *body)
{
	w->needs_code = true;
	numbered_record(w, &w->branches, task, kind, body);
}

void trace_writer_branches(struct trace_writer *w, const struct bt_record_branches *b)
{
	branches_record(w, b->task, BT_RECORD_BRANCHES, b);
}

/* The entries in a record of their own, one after the other. */
static void put_entries(struct trace_writer *w, const struct bt_record_branches *b,
			const struct bt_branch *entries)
{
	struct bt_record_branches body = *b;
	struct bt_branch_codec codec = {0};
	struct buf bytes = {0};

	for (uint64_t i = 0; i < b->count; i++)
		bt_branch_encode(&codec, &bytes, &entries[i]);
	body.entries = slice_of(bytes.data, bytes.len);
	if (!bytes.failed)
		trace_writer_branches(w, &body);
	buf_release(&bytes);
}

void trace_writer_history(struct trace_writer *w, const struct bt_record_branches *b,
			  const struct bt_branch *entries)
{
	struct stream *s = w->stopped ? NULL : numbered_stream(&w->branches, b->task);
	bool added = s && s->run && history_run_add(s->run, b, entries);

	w->needs_code = true;
	if (added)
		return;
	if (s && s->run)
		end_run(w, s);
	if (s)
		s->run = history_run_new(b, entries);
	if (!s || !s->run)
		put_entries(w, b, entries);
}

void trace_writer_branch_words(struct trace_writer *w, const struct bt_record_branch_words *words)
{
	branches_record(w, words->task, BT_RECORD_BRANCH_WORDS, words);
}

/* Makes the file of a log whose first record comes. Where nothing of the log can be written (a
 * limit of file sizes, a recorder that is killed) it stays empty, and tells that a log was to be
 * kept. */
static void begin_log(const struct trace_writer *w, uint32_t unit)
{
	const struct stream_slot *slot = unit < w->logs.count ? &w->logs.slots[unit] : NULL;
	int fd;

	if (slot && (slot->stream || slot->written))
		return;
	fd = stream_open(w, &(struct stream){.kind = BT_FILE_LOG, .number = unit});
	if (fd >= 0)
		close(fd);
}

void trace_writer_log(struct trace_writer *w, uint32_t unit, enum bt_record_kind kind,
		      const void *body)
{
	if (*w->log_loss)
		return;
	begin_log(w, unit);
	numbered_record(w, &w->logs, unit, kind, body);
}

uint64_t trace_writer_log_bytes(const struct trace_writer *w) { return w->log_bytes; }

const char *trace_writer_log_loss(const struct trace_writer *w)
{
	return *w->log_loss ? w->log_loss : NULL;
}

uint64_t trace_writer_object(struct trace_writer *w, const void *bytes, size_t len)
{
	const struct content_hash hash = content_hash(bytes, len);
	struct bt_record_object body = {.bytes = slice_of(bytes, len)};
	uint64_t known;

	if (w->stopped)
		return 0;
	if (len > OBJECT_MAX) {
		leave_out(w, BT_RECORD_OBJECT, len);
		return 0;
	}
	known = content_numbers_find(&w->object_numbers, &hash);
	if (known)
		return known;
	body.object = content_numbers_add(&w->object_numbers, &hash);
	if (body.object)
		stream_record(w, &w->objects, 0, BT_RECORD_OBJECT, &body);
	return body.object;
}

uint64_t trace_writer_code(struct trace_writer *w, const void *bytes, size_t len)
{
	uint64_t before = w->object_numbers.count, object = trace_writer_object(w, bytes, len);

	if (w->object_numbers.count == before)
		return object;
	w->code += len;
	if (w->objects.records.len) /* else it has been written */
		w->objects.code += len;
	return object;
}

void trace_writer_flush(struct trace_writer *w) { stream_empty(w, &w->events); }

int trace_writer_stopped(const struct trace_writer *w) { return w->stopped; }

bool trace_writer_leave_code_out(struct trace_writer *w)
{
	w->code_left_out = !w->needs_code && !w->stopped;
	if (w->code_left_out)
		stream_reset(&w->objects);
	return w->code_left_out;
}

void trace_writer_close(struct trace_writer *w)
{
	if (w->dir >= 0) {
		trace_writer_flush(w);
		/* END is there now, and says so. */
		if (w->code_left_out && !w->stopped)
			remove_stream(w, BT_FILE_OBJECTS, 0);
		reserve_close(&w->reserve);
		close(w->dir);
	}
	if (w->events_fd >= 0)
		close(w->events_fd);
	table_release(&w->branches);
	table_release(&w->logs);
	buf_release(&w->events.records);
	buf_release(&w->objects.records);
	buf_release(&w->block);
	content_numbers_release(&w->object_numbers);
	free(w);
}

static int link_mapped(struct trace_writer *w, int dir, const char *name, int flags,
		       uint32_t number)
{
	char mine[32];

	trace_file_name(mine, BT_FILE_MAPPED, number);
	if (w->dir < 0 || w->stopped)
		return ECANCELED;
	if (number == UINT32_MAX)
		return EOVERFLOW;
	if (linkat(dir, name, w->dir, mine, flags))
		return errno;
	w->mapped = number + 1 > w->mapped ? number + 1 : w->mapped;
	return 0;
}

int trace_writer_link(struct trace_writer *w, int dir, const char *name, uint32_t number)
{
	return link_mapped(w, dir, name, 0, number);
}

int trace_writer_link_open(struct trace_writer *w, int fd, uint32_t number)
{
	char name[40];

	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	return link_mapped(w, AT_FDCWD, name, AT_SYMLINK_FOLLOW, number);
}

static int write_from(int fd, struct file_window *from)
{
	enum { PIECE = 1 << 20 };

	for (uint64_t done = 0; done < from->size;) {
		struct slice piece = file_window_at(from, done, PIECE);
		ssize_t n = piece.len ? write(fd, piece.at, piece.len) : -1;

		if (n <= 0)
			return piece.len && errno ? errno : EIO;
		done += (size_t)n;
	}
	return 0;
}

int trace_writer_copy(struct trace_writer *w, struct file_window *from, uint32_t number)
{
	char mine[32];
	int fd, failure;

	trace_file_name(mine, BT_FILE_MAPPED, number);
	if (w->dir < 0 || w->stopped)
		return ECANCELED;
	fd = openat(w->dir, mine, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	if (fd < 0)
		return errno;
	failure = write_from(fd, from);
	if (close(fd) && !failure)
		failure = errno;
	if (failure)
		remove_stream(w, BT_FILE_MAPPED, number);
	else
		w->mapped = number + 1 > w->mapped ? number + 1 : w->mapped;
	return failure;
}

void trace_writer_discard(struct trace_writer *w, const char *dir)
{
	w->stopped = ECANCELED; /* nothing is flushed any more */
	reserve_close(&w->reserve);
	if (w->dir >= 0) {
		remove_stream(w, BT_FILE_EVENTS, 0);
		remove_stream(w, BT_FILE_OBJECTS, 0);
		for (size_t i = 0; i < w->branches.count; i++)
			remove_stream(w, BT_FILE_BRANCHES, (uint32_t)i);
		for (size_t i = 0; i < w->logs.count; i++)
			remove_stream(w, BT_FILE_LOG, (uint32_t)i);
		for (uint32_t i = 0; i < w->mapped; i++)
			remove_stream(w, BT_FILE_MAPPED, i);
	}
	rmdir(dir);
	trace_writer_close(w);
}
