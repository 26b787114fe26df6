/* SPDX-License-Identifier: MIT */
#include "lib/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

static char scratch[SCRATCH_PATH];

static int make_scratch(void **state)
{
	(void)state;
	return scratch_make(scratch);
}

static int remove_scratch(void **state)
{
	(void)state;
	scratch_remove(scratch);
	return 0;
}

static void a_regular_file_is_opened(void **state)
{
	int dir = open(scratch, O_RDONLY | O_DIRECTORY), fd;
	struct stat st;
	char c;

	(void)state;
	fd = openat(dir, "file", O_CREAT | O_WRONLY, 0600);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	fd = regular_file_open(dir, "file", &st);
	assert_true(fd >= 0);
	assert_int_equal(st.st_size, 1);
	assert_int_equal(read(fd, &c, 1), 1);
	assert_int_equal(c, 'x');
	close(fd);
	close(dir);
}

static void a_pipe_a_device_and_a_directory_are_refused(void **state)
{
	int dir = open(scratch, O_RDONLY | O_DIRECTORY);
	struct stat st;

	(void)state;
	assert_int_equal(mkfifoat(dir, "pipe", 0600), 0);
	assert_int_equal(regular_file_open(dir, "pipe", &st), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(regular_file_open(AT_FDCWD, "/dev/null", &st), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(regular_file_open(AT_FDCWD, scratch, &st), -1);
	assert_int_equal(errno, EINVAL);
	close(dir);
}

static void a_missing_file_has_its_errno(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(regular_file_open(AT_FDCWD, "/nowhere/file", &st), -1);
	assert_int_equal(errno, ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_regular_file_is_opened),
		cmocka_unit_test(a_pipe_a_device_and_a_directory_are_refused),
		cmocka_unit_test(a_missing_file_has_its_errno),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
