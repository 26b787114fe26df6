/* SPDX-License-Identifier: MIT */
/* The writer of traces and its disk: with too little of it, and what it takes when the trace is
 * closed. */
#define _GNU_SOURCE 1 /* unshare */
#include "lib/array_size.h"
#include "tests/unit/scarce_disk.h"
#include "tests/unit/trace_fixture.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* What fills the disk. */
enum filling { FILL_OBJECTS, FILL_EVENTS, FILLINGS };

static void write_noise(struct trace_writer *w, enum filling what, uint64_t *seed, size_t len)
{
	static uint8_t noise[65536];
	struct bt_record_memory memory = {.bytes = slice_of(noise, len)};

	for (size_t i = 0; i < len; i++)
		noise[i] = (uint8_t)unit_random(seed);
	memory.seq = trace_writer_next_seq(w);
	if (what == FILL_EVENTS)
		trace_writer_event(w, 4, BT_RECORD_MEMORY, &memory);
	else
		assert_true(trace_writer_object(w, noise, len) > 0);
	trace_writer_flush(w);
}

/* Writes until writing stops; the trace must say so and hold everything before. */
static void fill_until_stopped(const char *path, enum filling what, uint64_t seed)
{
	struct bt_record_note note = {.text = bt_str("before")};
	struct trace_writer *w = open_writer(path);
	size_t n, written = 0,
		  len = what == FILL_OBJECTS ? 65536 : 40000 + unit_random(&seed) % 5000;
	struct event events[64];
	uint16_t kinds[64];
	struct bt_error err;
	struct trace *t;
	int stopped;

	note.seq = trace_writer_next_seq(w);
	trace_writer_event(w, 3, BT_RECORD_NOTE, &note);
	trace_writer_flush(w);
	for (; !trace_writer_stopped(w) && written < 60; written++)
		write_noise(w, what, &seed, len);
	stopped = trace_writer_stopped(w);
	assert_true(stopped == ENOSPC || stopped == EFBIG);
	trace_writer_event(w, 0, BT_RECORD_NOTE, &note); /* succeeds and does nothing */
	assert_int_equal(trace_writer_object(w, "more", 4), 0);
	trace_writer_flush(w);
	trace_writer_close(w);
	assert_int_equal(trace_open(&t, path, &err), 0);
	assert_int_equal(read_events(t, events, &n, &err), 0); /* no half block */
	assert_int_equal(n, what == FILL_OBJECTS ? 2 : 1 + written - 1 + 1);
	assert_int_equal(events[0].kind, BT_RECORD_NOTE);
	assert_int_equal(events[0].unit, 3);
	for (size_t i = 1; i + 1 < n; i++) {
		assert_int_equal(events[i].kind, BT_RECORD_MEMORY);
		assert_int_equal(events[i].unit, 4);
	}
	assert_int_equal(events[n - 1].kind, BT_RECORD_STOPPED);
	assert_int_equal(events[n - 1].unit, 0);
	if (what == FILL_OBJECTS) {
		assert_int_equal(read_kinds(t, "objects", kinds, &n, &err), 0);
		assert_true(n > 0);
	}
	trace_close(t);
}

/* With all that can be behind the end of events, on file systems of every kind. */
static void fill_in_every_way(const struct fixture *f)
{
	static const struct disk disks[] = {{.kind = DISK_AS_IS},
					    {.kind = DISK_KEEPS_BLOCKS},
					    {.kind = DISK_COPIES},
					    {.kind = DISK_COPIES, .failure = EOPNOTSUPP}};

	for (size_t i = 0; i < ARRAY_SIZE(disks); i++)
		for (enum filling what = 0; what < FILLINGS; what++)
			for (uint64_t seed = 0; seed < 20; seed++) {
				disk = disks[i];
				fill_until_stopped(f->path, what, seed);
				scratch_remove(f->path);
			}
	disk = (struct disk){0};
}

/* A real full disk where we may mount one (in a namespace of our own), otherwise the limit on a
 * file's size. */
static void a_full_disk_is_recorded(void **state)
{
	struct fixture *f = *state;

	if (geteuid() || unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", f->dir, "tmpfs", 0, "size=512k")) {
		print_message(
			"no mount here: the disk-full test runs with a file size limit only\n");
		skip();
	}
	fill_in_every_way(f);
	assert_int_equal(umount(f->dir), 0);
}

static void write_log_noise(struct trace_writer *w, uint64_t *seed, size_t len)
{
	static uint8_t noise[65536];
	struct bt_record_log_data data = {.addr = 0x1000, .bytes = slice_of(noise, len)};

	for (size_t i = 0; i < len; i++)
		noise[i] = (uint8_t)unit_random(seed);
	trace_writer_log(w, 1, BT_RECORD_LOG_DATA, &data);
	trace_writer_flush(w);
}

/* Closes the trace, whose writing has not stopped, and reads it whole. */
static void end_of_log(struct trace_writer *w, const char *path, size_t least, size_t most)
{
	uint16_t kinds[64];
	struct event events[64];
	struct bt_error err;
	struct trace *t;
	size_t n;

	assert_non_null(trace_writer_log_loss(w));
	assert_non_null(strstr(trace_writer_log_loss(w), "No space left"));
	assert_int_equal(trace_writer_stopped(w), 0);
	write_log_noise(w, &(uint64_t){1}, 60000); /* succeeds and does nothing */
	trace_writer_close(w);
	assert_int_equal(trace_open(&t, path, &err), 0);
	assert_int_equal(read_events(t, events, &n, &err), 0);
	assert_int_equal(read_kinds(t, "log-1", kinds, &n, &err), 0);
	assert_in_range(n, least, most);
	assert_int_equal(kinds[n - 1], BT_RECORD_LOG_END);
	trace_close(t);
	scratch_remove(path);
}

/* A log that fills the disk ends. Where it leaves too little for the rest, it gives way. */
static void a_log_does_not_stop_the_trace(void **state)
{
	struct fixture *f = *state;
	struct trace_writer *w;
	uint64_t seed = 5;

	if (geteuid() || unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", f->dir, "tmpfs", 0, "size=512k")) {
		print_message("no mount here: no disk can be filled\n");
		skip();
	}
	w = open_writer(f->path);
	for (int i = 0; i < 20; i++)
		write_log_noise(w, &seed, 50000);
	end_of_log(w, f->path, 3, 20);
	w = open_writer(f->path);
	for (int i = 0; i < 7; i++)
		write_log_noise(w, &seed, 60000);
	assert_null(trace_writer_log_loss(w));
	for (int i = 0; i < 6; i++)
		write_noise(w, FILL_OBJECTS, &seed, 65536);
	end_of_log(w, f->path, 1, 2); /* its unit, its end */
	assert_int_equal(umount(f->dir), 0);
}

static void a_file_size_limit_is_recorded(void **state)
{
	struct fixture *f = *state;
	struct rlimit before, small;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){.rlim_cur = 400000, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	fill_in_every_way(f);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

/* Without disk for the header there is no trace, and nothing of one. */
static void a_disk_without_room_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct trace_writer *w = NULL;
	struct bt_error err;

	disk = (struct disk){.kind = DISK_COPIES, .failure = ENOSPC};
	assert_int_equal(trace_writer_open(&w, f->path, &header, &err), -BT_E_IO);
	assert_int_equal(err.os_errno, ENOSPC);
	assert_null(w);
	assert_int_equal(access(f->path, F_OK), -1);
	disk = (struct disk){0};
}

static void a_closed_trace_has_no_disk_behind_its_events(void **state)
{
	struct fixture *f = *state;
	char file[128];
	struct stat st;

	snprintf(file, sizeof file, "%s/events", f->path);
	for (enum disk_kind kind = DISK_AS_IS; kind <= DISK_COPIES; kind++) {
		disk = (struct disk){.kind = kind};
		write_small(f->path);
		assert_int_equal(stat(file, &st), 0);
		assert_true(st.st_blocks * 512 < 3 * 8192);
		scratch_remove(f->path);
	}
	disk = (struct disk){0};
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DIR(a_disk_without_room_is_an_error),
		WITH_DIR(a_closed_trace_has_no_disk_behind_its_events),
		WITH_DIR(a_file_size_limit_is_recorded),
		WITH_DIR(a_full_disk_is_recorded),
		WITH_DIR(a_log_does_not_stop_the_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
