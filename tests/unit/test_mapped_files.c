/* SPDX-License-Identifier: MIT */
/* Whether files that code is mapped from have been written to, told from their times. */
#include "collector/space/mapped_files.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

enum { LONG_AGO = 1000, SOON = 4000000000 };

struct fixture {
	char dir[SCRATCH_PATH], path[SCRATCH_PATH + 8], other[SCRATCH_PATH + 8];
	struct mapping map;
	struct mapped_files files;
};

static void make_file(const char *path, int64_t modified)
{
	const struct timespec times[2] = {{.tv_sec = modified}, {.tv_sec = modified}};
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fclose(f);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void touch(const char *path, int64_t modified, long nanoseconds)
{
	const struct timespec times[2] = {{.tv_sec = modified},
					  {.tv_sec = modified, .tv_nsec = nanoseconds}};

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	struct stat st;

	if (!f || scratch_make(f->dir))
		return -1;
	snprintf(f->path, sizeof f->path, "%s/code", f->dir);
	snprintf(f->other, sizeof f->other, "%s/other", f->dir);
	make_file(f->path, LONG_AGO);
	if (stat(f->path, &st))
		return -1;
	f->map = (struct mapping){.start = 0x1000,
				  .end = 0x2000,
				  .dev = st.st_dev,
				  .ino = st.st_ino,
				  .path = f->path};
	f->files = mapped_files_new();
	f->files.since.tv_sec += 60; /* whatever the tests make was there before */
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	mapped_files_release(&f->files);
	scratch_remove(f->dir);
	free(f);
	return 0;
}

static bool look(struct fixture *f) { return mapped_files_look(&f->files, getpid(), &f->map); }

static bool is_written(const struct fixture *f)
{
	return mapped_files_is_written(&f->files, &f->map);
}

static void what_is_modified_between_two_looks_is_told_once(void **state)
{
	struct fixture *f = *state;

	assert_false(look(f));
	assert_false(look(f));
	assert_false(f->files.written);
	touch(f->path, LONG_AGO, 1);
	assert_true(look(f));
	assert_true(f->files.written && is_written(f));
	assert_false(look(f));
	assert_true(is_written(f)); /* until somebody has read it again */
	mapped_files_clear(&f->files);
	assert_false(f->files.written || is_written(f));
	assert_false(look(f) || is_written(f));
	touch(f->path, LONG_AGO - 1,
	      0); /* to an earlier time, as when another file is copied over it */
	assert_true(look(f));
}

static void what_was_modified_since_the_space_began_is_read_again_and_not_told(void **state)
{
	struct fixture *f = *state;

	touch(f->path, SOON, 0);
	assert_false(look(f));
	assert_true(is_written(f));
	mapped_files_clear(&f->files);
	assert_false(look(f) || is_written(f));
}

/* Whoever sets the time of modification changes that of change. */
static void what_is_set_back_is_read_again_and_not_told(void **state)
{
	struct fixture *f = *state;

	assert_false(look(f));
	assert_false(is_written(f));
	usleep(20000); /* the clock of files' times is coarse */
	touch(f->path, LONG_AGO, 0);
	assert_false(look(f));
	assert_true(is_written(f));
	mapped_files_clear(&f->files);
	assert_false(look(f) || is_written(f));
}

/* As when the first thread of the process has ended: what cannot be asked is no answer. */
static void who_cannot_be_asked_may_be_asked_later(void **state)
{
	struct fixture *f = *state;

	assert_false(mapped_files_look(&f->files, -1, &f->map));
	assert_int_equal(f->files.count, 0);
	assert_false(look(f));
	touch(f->path, LONG_AGO, 1);
	assert_true(look(f));
}

static void another_file_under_its_name_is_none_of_it(void **state)
{
	struct fixture *f = *state;

	assert_false(look(f));
	make_file(f->other, SOON);
	assert_int_equal(rename(f->other, f->path), 0);
	assert_false(look(f) || is_written(f));
	assert_int_equal(unlink(f->path), 0);
	assert_false(look(f) || is_written(f));
	make_file(f->path, SOON);
	f->map.dev = 0xabcde; /* of no mount that the process can see */
	assert_false(look(f) || is_written(f));
	f->map.ino = 0; /* no file */
	assert_false(look(f) || is_written(f));
}

static void each_file_has_its_own(void **state)
{
	struct fixture *f = *state;
	struct mapping more[20];
	char paths[20][SCRATCH_PATH + 12];
	struct stat st;

	assert_false(look(f));
	for (int i = 0; i < 20; i++) {
		snprintf(paths[i], sizeof paths[i], "%s/%d", f->dir, i);
		make_file(paths[i], LONG_AGO);
		assert_int_equal(stat(paths[i], &st), 0);
		more[i] = (struct mapping){.dev = st.st_dev, .ino = st.st_ino, .path = paths[i]};
		assert_false(mapped_files_look(&f->files, getpid(), &more[i]));
	}
	touch(paths[7], LONG_AGO, 7);
	for (int i = 0; i < 20; i++)
		assert_int_equal(mapped_files_look(&f->files, getpid(), &more[i]), i == 7);
	for (int i = 0; i < 20; i++)
		assert_int_equal(mapped_files_is_written(&f->files, &more[i]), i == 7);
	assert_false(is_written(f));
}

static void a_copy_knows_what_its_original_has_seen(void **state)
{
	struct fixture *f = *state;
	struct mapped_files copy;

	assert_false(look(f));
	assert_true(mapped_files_copy(&copy, &f->files));
	touch(f->path, LONG_AGO, 1);
	assert_true(mapped_files_look(&copy, getpid(), &f->map));
	assert_false(is_written(f));
	assert_true(look(f));
	mapped_files_release(&copy);
	assert_true(is_written(f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_modified_between_two_looks_is_told_once,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_was_modified_since_the_space_began_is_read_again_and_not_told, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(what_is_set_back_is_read_again_and_not_told, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(who_cannot_be_asked_may_be_asked_later, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(another_file_under_its_name_is_none_of_it, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(each_file_has_its_own, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_copy_knows_what_its_original_has_seen, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
