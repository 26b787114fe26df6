/* SPDX-License-Identifier: MIT */
/* Pieces of a trace's copies of files: which are damage, and that one that cannot be read is none.
 */
#include "collector/replay/mapped_copies.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/content_hash.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

#define TEXT "the bytes of a library"

/* A trace with one copy. */
struct made {
	char dir[SCRATCH_PATH], path[SCRATCH_PATH + 20];
	struct trace_file file;
	struct trace t;
};

static void make(struct made *m)
{
	struct stat st;
	FILE *f;

	*m = (struct made){.file = {.kind = BT_FILE_MAPPED,
				    .number = 1,
				    .name = "mapped-1",
				    .fd = -1,
				    .size = strlen(TEXT)}};
	assert_int_equal(scratch_make(m->dir), 0);
	snprintf(m->path, sizeof m->path, "%s/mapped-1", m->dir);
	f = fopen(m->path, "w");
	assert_non_null(f);
	fputs(TEXT, f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(stat(m->path, &st), 0);
	m->file.dev = st.st_dev;
	m->file.ino = st.st_ino;
	m->t = (struct trace){.dir = open(m->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
			      .pack = -1,
			      .files = &m->file,
			      .file_count = 1};
	assert_true(m->t.dir >= 0);
}

static void release(struct made *m)
{
	close(m->t.dir);
	scratch_remove(m->dir);
}

static struct bt_record_log_piece piece_of(const char *text)
{
	return (struct bt_record_log_piece){
		.file = 1, .size = strlen(text), .hash = content_hash(text, strlen(text)).first};
}

static void assert_gives(const struct made *m, const struct bt_record_log_piece *piece,
			 enum bt_error_code code, const char *words)
{
	struct mapped_copies c = {0};
	struct bt_error err = {0};
	struct slice bytes = {0};

	assert_int_equal(mapped_copies_get(&c, &m->t, piece, &bytes, &err), -(int)code);
	assert_string_equal(err.text, words);
	mapped_copies_release(&c);
}

static void what_the_trace_does_not_have_is_damage(void **state)
{
	struct bt_record_log_piece piece = piece_of(TEXT);
	struct mapped_copies c = {0};
	struct bt_error err;
	struct slice bytes;
	struct made m;

	(void)state;
	make(&m);
	assert_int_equal(mapped_copies_get(&c, &m.t, &piece, &bytes, &err), 0);
	assert_true(slice_is(bytes, TEXT));
	mapped_copies_release(&c);
	piece.hash++;
	assert_gives(&m, &piece, BT_E_CORRUPT, "the trace's file mapped-1 has other bytes");
	piece.offset = UINT64_MAX;
	assert_gives(&m, &piece, BT_E_CORRUPT,
		     "the trace's file mapped-1 is shorter than its log says");
	piece.file = 2;
	assert_gives(&m, &piece, BT_E_CORRUPT, "the trace has no file mapped-2");
	release(&m);
}

static void what_cannot_be_read_is_none(void **state)
{
	struct bt_record_log_piece piece = piece_of(TEXT);
	struct made m;

	(void)state;
	make(&m);
	assert_int_equal(unlink(m.path), 0);
	assert_gives(&m, &piece, BT_E_IO,
		     "cannot read the trace's file mapped-1: No such file or directory");
	release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_trace_does_not_have_is_damage),
		cmocka_unit_test(what_cannot_be_read_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
