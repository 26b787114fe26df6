/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/backend/engine/persist/untrusted_file.h"

enum {
	WORDS = 1 << 16,
	SIZE = 8 * WORDS,
};

/* A file of numbered words. */
static int file_of_words(char path[64])
{
	static uint64_t words[WORDS];
	int fd;

	strcpy(path, "/tmp/btrec-kept.XXXXXX");
	fd = mkstemp(path);
	for (size_t i = 0; i < WORDS; i++)
		words[i] = i;
	assert_int_equal(write(fd, words, sizeof words), SIZE);
	return fd;
}

static void assert_words(struct slice s, size_t at, size_t n)
{
	assert_int_equal(s.len, n);
	assert_int_equal((uintptr_t)s.at % 8, 0);
	for (size_t i = 0; i < n; i += 8)
		assert_int_equal(*(const uint64_t *)(const void *)(s.at + i), (at + i) / 8);
}

static void pieces_are_what_is_there_in_any_order(void **state)
{
	struct untrusted_window w = {0};
	struct untrusted_file f;
	size_t at = 0, random = 1;
	char path[64];
	int fd = file_of_words(path);

	(void)state;
	assert_true(untrusted_file_open(&f, AT_FDCWD, path, SIZE));
	assert_int_equal(f.size, SIZE);
	for (size_t n = 8; at + n <= SIZE; at += n, n = n % 4000 + 56) /* one behind the other */
		assert_words(untrusted_file_piece(&f, &w, at, n), at, n);
	for (int i = 0; i < 2000; i++) {
		size_t n;

		random = random * 6364136223846793005u + 1442695040888963407u;
		at = (random >> 33) % WORDS * 8;
		n = (random >> 20 & 0x1fff) * 8;
		if (n && at + n <= SIZE)
			assert_words(untrusted_file_piece(&f, &w, at, n), at, n);
		else
			assert_int_equal(untrusted_file_piece(&f, &w, at, n).len, 0);
	}
	assert_int_equal(untrusted_file_piece(&f, &w, 0, UNTRUSTED_PIECE_MAX + 8).len, 0);
	assert_int_equal(untrusted_file_piece(&f, &w, SIZE, 8).len, 0);
	assert_int_equal(untrusted_file_piece(&f, &w, SIZE_MAX - 7, 8).len, 0);
	untrusted_file_close(&f);
	assert_int_equal(untrusted_file_piece(&f, &w, 0, 8).len, 0);
	untrusted_window_release(&w);
	close(fd);
	unlink(path);
}

static void what_is_cut_off_is_not_there(void **state)
{
	struct untrusted_window w = {0};
	struct untrusted_file f;
	uint64_t word;
	char path[64];
	int fd = file_of_words(path);

	(void)state;
	assert_true(untrusted_file_open(&f, AT_FDCWD, path, SIZE));
	assert_words(untrusted_file_piece(&f, &w, 1024, 64), 1024, 64);
	assert_int_equal(ftruncate(fd, 2048), 0);
	assert_words(untrusted_file_piece(&f, &w, 2000, 48), 2000, 48);
	assert_int_equal(untrusted_file_piece(&f, &w, 2000, 56).len, 0);
	assert_true(untrusted_file_read(&f, 2040, &word, sizeof word));
	assert_false(untrusted_file_read(&f, 2048, &word, sizeof word));
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(untrusted_file_piece(&f, &w, 4096, 64).len, 0);
	untrusted_file_close(&f);
	untrusted_window_release(&w);
	close(fd);
	unlink(path);
}

static void a_piece_stays_what_it_was(void **state)
{
	struct untrusted_window w = {0};
	const uint64_t other = 77;
	struct untrusted_file f;
	struct slice piece;
	char path[64];
	int fd = file_of_words(path);

	(void)state;
	assert_true(untrusted_file_open(&f, AT_FDCWD, path, SIZE));
	piece = untrusted_file_piece(&f, &w, 800, 80);
	assert_int_equal(pwrite(fd, &other, sizeof other, 808), sizeof other);
	assert_words(piece, 800, 80);
	untrusted_file_close(&f);
	untrusted_window_release(&w);
	close(fd);
	unlink(path);
}

static void what_others_can_write_and_what_is_no_file_is_not_opened(void **state)
{
	char path[64], link[80];
	struct untrusted_file f;
	int fd = file_of_words(path);

	(void)state;
	snprintf(link, sizeof link, "%s.link", path);
	assert_int_equal(symlink(path, link), 0);
	assert_false(untrusted_file_open(&f, AT_FDCWD, link, SIZE));
	assert_false(untrusted_file_open(&f, AT_FDCWD, path, SIZE - 1));
	assert_false(untrusted_file_open(&f, AT_FDCWD, "/tmp", SIZE));
	assert_int_equal(fchmod(fd, 0620), 0);
	assert_false(untrusted_file_open(&f, AT_FDCWD, path, SIZE));
	assert_int_equal(fchmod(fd, 0602), 0);
	assert_false(untrusted_file_open(&f, AT_FDCWD, path, SIZE));
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_true(untrusted_file_open(&f, AT_FDCWD, path, SIZE));
	untrusted_file_close(&f);
	assert_int_equal(f.fd, -1);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_false(untrusted_file_open(&f, AT_FDCWD, path, SIZE));
	close(fd);
	unlink(link);
	unlink(path);
}

static void descriptors_are_left_for_the_recording(void **state)
{
	struct rlimit before, few;
	struct untrusted_file f;
	char path[64];
	int fd = file_of_words(path);

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = (rlim_t)fd + 2;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_false(untrusted_file_open(&f, AT_FDCWD, path, SIZE));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_what_is_there_in_any_order),
		cmocka_unit_test(what_is_cut_off_is_not_there),
		cmocka_unit_test(a_piece_stays_what_it_was),
		cmocka_unit_test(what_others_can_write_and_what_is_no_file_is_not_opened),
		cmocka_unit_test(descriptors_are_left_for_the_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
