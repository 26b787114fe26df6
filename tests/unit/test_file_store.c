/* SPDX-License-Identifier: MIT */
/* Copies of files in the cache: which files have one, that it is the file as it was, and which ones
 * go. */
#include "collector/record/file_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

static void write_file(const char *path, const char *text, size_t times)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (size_t i = 0; i < times; i++)
		fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static bool name_of(const char *path, char name[FILE_STORE_NAME])
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return file_store_name(&st, name);
}

static void assert_holds(int fd, const char *text)
{
	char got[100] = "";

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, got, sizeof got - 1, 0), strlen(text));
	assert_string_equal(got, text);
	close(fd);
}

static void path_in(char path[300], const char *dir, const char *name)
{
	snprintf(path, 300, "%s/%s", dir, name);
}

static void remove_all(const char *dir)
{
	char cache[300], files[310];

	path_in(cache, dir, "cache");
	snprintf(files, sizeof files, "%s/files", cache);
	scratch_remove(files);
	scratch_remove(cache);
	scratch_remove(dir);
}

static void copies_are_of_the_file_as_it_was(void **state)
{
	char dir[SCRATCH_PATH], path[300], cache[300], first[FILE_STORE_NAME],
		second[FILE_STORE_NAME];
	struct file_store s;

	(void)state;
	assert_int_equal(scratch_make(dir), 0);
	path_in(path, dir, "file");
	path_in(cache, dir, "cache");
	s = file_store_open(cache);
	assert_true(s.dir >= 0);
	write_file(path, "first", 1);
	assert_true(name_of(path, first));
	assert_holds(file_store_get(&s, path, first), "first");
	assert_holds(file_store_get(&s, path, first), "first");
	write_file(path, "the second", 1);
	assert_true(name_of(path, second));
	assert_string_not_equal(first, second);
	/* The copy is there, or it is never made of another file. */
	assert_holds(file_store_get(&s, path, first), "first");
	assert_int_equal(unlinkat(s.dir, first, 0), 0);
	assert_int_equal(file_store_get(&s, path, first), -1);
	assert_holds(file_store_get(&s, path, second), "the second");
	assert_int_equal(unlink(path), 0);
	assert_holds(file_store_get(&s, path, second), "the second");
	file_store_close(&s);
	remove_all(dir);
}

static void some_files_have_none(void **state)
{
	char dir[SCRATCH_PATH], path[300], name[FILE_STORE_NAME];
	struct file_store none = file_store_open(NULL);

	(void)state;
	assert_int_equal(none.dir, -1);
	assert_int_equal(scratch_make(dir), 0);
	assert_false(name_of(dir, name));
	path_in(path, dir, "fifo");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_false(name_of(path, name));
	path_in(path, dir, "empty");
	write_file(path, "", 1);
	assert_false(name_of(path, name));
	assert_int_equal(truncate(path, FILE_STORE_FILE_MOST + 1), 0);
	assert_false(name_of(path, name));
	assert_int_equal(truncate(path, FILE_STORE_FILE_MOST), 0);
	assert_true(name_of(path, name));
	assert_int_equal(file_store_get(&none, path, name), -1);
	remove_all(dir);
}

static void where_others_write_there_is_none(void **state)
{
	char dir[SCRATCH_PATH], cache[300], files[310];
	struct file_store s;

	(void)state;
	assert_int_equal(scratch_make(dir), 0);
	path_in(cache, dir, "cache");
	snprintf(files, sizeof files, "%s/files", cache);
	assert_int_equal(mkdir(cache, 0700), 0);
	assert_int_equal(mkdir(files, 0700), 0);
	assert_int_equal(chmod(files, 0777), 0);
	assert_int_equal(file_store_open(cache).dir, -1);
	assert_int_equal(rmdir(files), 0);
	assert_int_equal(symlink(dir, files), 0);
	assert_int_equal(file_store_open(cache).dir, -1);
	assert_int_equal(unlink(files), 0);
	s = file_store_open(cache);
	assert_true(s.dir >= 0);
	file_store_close(&s);
	remove_all(dir);
}

static void the_oldest_go(void **state)
{
	enum { FILES = 6, LEFT = 3, BYTES = 1000 };
	char dir[SCRATCH_PATH], path[300], cache[300], names[FILES][FILE_STORE_NAME];
	struct file_store s;

	(void)state;
	assert_int_equal(scratch_make(dir), 0);
	path_in(cache, dir, "cache");
	s = file_store_open(cache);
	s.most = LEFT * BYTES + BYTES / 2;
	for (int i = 0; i < FILES; i++) {
		const struct timespec used[2] = {{.tv_sec = 1000000 + i}, {.tv_sec = 1000000 + i}};
		int fd;

		snprintf(path, sizeof path, "%s/file%d", dir, i);
		write_file(path, "0123456789", BYTES / 10);
		assert_true(name_of(path, names[i]));
		fd = file_store_get(&s, path, names[i]);
		assert_true(fd >= 0);
		if (i == 1) /* as if it had been used last */
			assert_int_equal(futimens(fd, NULL), 0);
		else
			assert_int_equal(futimens(fd, used), 0);
		close(fd);
	}
	for (int i = 0; i < FILES; i++)
		assert_int_equal(!faccessat(s.dir, names[i], F_OK, 0), i == 1 || i >= FILES - 2);
	file_store_close(&s);
	remove_all(dir);
}

/* A recorder in another container can have this number, and be in the midst of its copy. */
static void what_another_is_making_stays(void **state)
{
	char dir[SCRATCH_PATH], path[300], cache[300], name[FILE_STORE_NAME], others[40];
	struct file_store s;
	int fd;

	(void)state;
	assert_int_equal(scratch_make(dir), 0);
	path_in(path, dir, "file");
	path_in(cache, dir, "cache");
	s = file_store_open(cache);
	snprintf(others, sizeof others, "new-%d", (int)getpid());
	fd = openat(s.dir, others, O_WRONLY | O_CREAT | O_EXCL, 0400);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "half", 4), 4);
	write_file(path, "whole", 1);
	assert_true(name_of(path, name));
	assert_holds(file_store_get(&s, path, name), "whole");
	assert_holds(openat(s.dir, others, O_RDONLY), "half");
	close(fd);
	file_store_close(&s);
	remove_all(dir);
}

/* Those that a killed recorder has left go, once nobody can be in the midst of them. */
static void half_copies_go(void **state)
{
	const struct timespec old[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
	char dir[SCRATCH_PATH], path[300], cache[300], name[FILE_STORE_NAME];
	struct file_store s;
	int fd;

	(void)state;
	assert_int_equal(scratch_make(dir), 0);
	path_in(path, dir, "file");
	path_in(cache, dir, "cache");
	s = file_store_open(cache);
	fd = openat(s.dir, "new-1-1", O_WRONLY | O_CREAT | O_EXCL, 0400);
	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, old), 0);
	close(fd);
	write_file(path, "whole", 1);
	assert_true(name_of(path, name));
	assert_holds(file_store_get(&s, path, name), "whole");
	assert_int_not_equal(faccessat(s.dir, "new-1-1", F_OK, 0), 0);
	file_store_close(&s);
	remove_all(dir);
}

enum { TOGETHER = 4, ROUNDS = 200, TOGETHER_FILES = 5, TOGETHER_BYTES = 5000 };

/* In a process of its own: each copy that it gets is whole, and of the file that it asked for,
 * while others make and drop them. */
static int get_often(const char *dir, const char *cache, unsigned seed)
{
	struct file_store s = file_store_open(cache);
	char path[300], name[FILE_STORE_NAME], got[TOGETHER_BYTES + 1];

	s.most = 2 * TOGETHER_BYTES + TOGETHER_BYTES / 2;
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned file = (seed + i * (seed + 1)) % TOGETHER_FILES;
		struct stat st;
		int fd;

		snprintf(path, sizeof path, "%s/file%u", dir, file);
		if (stat(path, &st) || !file_store_name(&st, name))
			return 1;
		fd = file_store_get(&s, path, name);
		if (fd < 0) /* it was dropped as soon as it was made */
			continue;
		if (pread(fd, got, sizeof got, 0) != TOGETHER_BYTES)
			return 2;
		for (int k = 0; k < TOGETHER_BYTES; k++)
			if (got[k] != (char)('a' + file))
				return 3;
		close(fd);
	}
	file_store_close(&s);
	return 0;
}

static void many_at_once(void **state)
{
	char dir[SCRATCH_PATH], path[300], cache[300];
	pid_t pids[TOGETHER];

	(void)state;
	assert_int_equal(scratch_make(dir), 0);
	path_in(cache, dir, "cache");
	for (unsigned i = 0; i < TOGETHER_FILES; i++) {
		const char text[2] = {(char)('a' + i)};

		snprintf(path, sizeof path, "%s/file%u", dir, i);
		write_file(path, text, TOGETHER_BYTES);
	}
	for (unsigned i = 0; i < TOGETHER; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (!pids[i])
			_exit(get_often(dir, cache, i));
	}
	for (unsigned i = 0; i < TOGETHER; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	remove_all(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_are_of_the_file_as_it_was),
		cmocka_unit_test(some_files_have_none),
		cmocka_unit_test(where_others_write_there_is_none),
		cmocka_unit_test(the_oldest_go),
		cmocka_unit_test(what_another_is_making_stays),
		cmocka_unit_test(half_copies_go),
		cmocka_unit_test(many_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
