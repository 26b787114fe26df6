/* SPDX-License-Identifier: MIT */
/* The room behind a file: whatever is appended, RESERVE_LAST bytes go behind it without more disk.
 */
#include "format/reserve.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/array_size.h"
#include "tests/unit/scarce_disk.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

struct fixture {
	char path[SCRATCH_PATH];
	int dir, events;
	struct reserve r;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	if (scratch_make(f->path))
		return -1;
	f->dir = open(f->path, O_RDONLY | O_DIRECTORY);
	f->events = openat(f->dir, "events", O_WRONLY | O_CREAT | O_APPEND, 0600);
	disk = (struct disk){0};
	*state = f;
	return f->events < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	close(f->events);
	close(f->dir);
	scratch_remove(f->path);
	free(f);
	return 0;
}

static off_t size_of(const struct fixture *f) { return lseek(f->events, 0, SEEK_END); }

static off_t file_size(const struct fixture *f)
{
	struct stat st;

	return fstatat(f->dir, "reserve", &st, 0) ? -1 : st.st_size;
}

static void append(struct fixture *f, size_t len)
{
	static const uint8_t bytes[1 << 18];

	assert_true(len <= sizeof bytes);
	assert_int_equal(write(f->events, bytes, len), len);
}

static void grow(struct fixture *f, size_t len)
{
	assert_int_equal(reserve_make_room(&f->r, len), 0);
	append(f, len);
}

static bool allocates(const struct fixture *f)
{
	return !__real_fallocate(f->events, FALLOC_FL_KEEP_SIZE, 0, 1);
}

static void the_rest_of_the_last_block_does(void **state)
{
	struct fixture *f = *state;

	disk.kind = DISK_KEEPS_BLOCKS;
	reserve_init(&f->r, f->dir, f->events);
	grow(f, 300);
	grow(f, 4096 - 300 - RESERVE_LAST);
	grow(f, RESERVE_LAST + 1);
	grow(f, 100000);
	assert_int_equal(disk.asked, 0);
	reserve_close(&f->r);
	assert_int_equal(file_size(f), -1);
}

static void where_it_is_too_short_disk_is_allocated(void **state)
{
	struct fixture *f = *state;

	disk.kind = DISK_KEEPS_BLOCKS;
	reserve_init(&f->r, f->dir, f->events);
	if (!allocates(f))
		skip();
	grow(f, 4096 - RESERVE_LAST + 1);
	assert_int_equal(disk.asked, 1);
	assert_int_equal(disk.end, 65536);
	grow(f, 1);
	grow(f, 65536 - RESERVE_LAST - (size_t)size_of(f));
	assert_int_equal(disk.asked, 1);
	grow(f, 1); /* in a last block without disk behind it */
	assert_int_equal(disk.asked, 2);
	assert_int_equal(disk.end, 2 * 65536);
	grow(f, 2 * 65536 + 2000); /* past all of it, and the rest of the last block does again */
	assert_int_equal(disk.asked, 2);
	reserve_close(&f->r);
	assert_int_equal(file_size(f), -1);
}

/* At every moment RESERVE_LAST bytes behind the end are in the last block or allocated. */
static void room_is_behind_whatever_is_appended(void **state)
{
	struct fixture *f = *state;
	uint64_t seed = 3;

	if (!allocates(f))
		skip();
	for (enum disk_kind kind = DISK_KEEPS_BLOCKS; kind <= DISK_COPIES; kind++) {
		disk = (struct disk){.kind = kind};
		assert_int_equal(ftruncate(f->events, 0), 0);
		reserve_init(&f->r, f->dir, f->events);
		for (int i = 0; i < 1000; i++) {
			off_t block, last;

			grow(f, (size_t)(unit_random(&seed) % (1u << unit_random(&seed) % 14) + 1));
			last = size_of(f) + RESERVE_LAST;
			block = (size_of(f) + 4095) / 4096 * 4096;
			assert_true(last <= disk.end ||
				    (kind == DISK_KEEPS_BLOCKS && last <= block));
		}
		assert_true(disk.asked > 2 && disk.asked < 200);
		reserve_close(&f->r);
	}
}

static void with_little_disk_less_is_allocated_and_with_none_nothing_may_be_appended(void **state)
{
	struct fixture *f = *state;

	disk = (struct disk){.kind = DISK_COPIES, .failure = ENOSPC, .most = 4096};
	if (!allocates(f))
		skip();
	reserve_init(&f->r, f->dir, f->events);
	grow(f, 1000);
	assert_int_equal(disk.asked, 2);
	assert_int_equal(disk.end, 1000 + RESERVE_LAST);
	disk.most = 0;
	assert_int_equal(reserve_make_room(&f->r, 1), ENOSPC);
	disk.failure = EDQUOT;
	assert_int_equal(reserve_make_room(&f->r, 1), EDQUOT);
	assert_int_equal(file_size(f), -1);
	reserve_close(&f->r);
}

static void where_nothing_can_be_allocated_a_file_keeps_disk(void **state)
{
	static const int failures[] = {EOPNOTSUPP, ENOSYS, EINVAL};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		disk = (struct disk){.kind = i ? DISK_COPIES : DISK_KEEPS_BLOCKS,
				     .failure = failures[i]};
		reserve_init(&f->r, f->dir, f->events);
		grow(f, 4096 - (size_t)size_of(f) % 4096);
		assert_int_equal(file_size(f), 16384);
		grow(f, 100000);
		assert_int_equal(disk.asked, 1);
		if (i)
			reserve_break(&f->r);
		else
			reserve_close(&f->r);
		assert_int_equal(file_size(f), -1);
		reserve_close(&f->r);
	}
}

static void no_file_grows_past_its_limit(void **state)
{
	static const enum disk_kind kinds[] = {DISK_KEEPS_BLOCKS, DISK_COPIES};
	struct fixture *f = *state;
	struct rlimit before, small;

	signal(SIGXFSZ, SIG_DFL); /* would end the test */
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){.rlim_cur = 20000, .rlim_max = before.rlim_max};
	for (size_t i = 0; i < 2; i++) {
		disk = (struct disk){.kind = kinds[i]};
		assert_int_equal(ftruncate(f->events, 0), 0);
		reserve_init(&f->r, f->dir, f->events);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
		grow(f, 10000);
		assert_int_equal(reserve_make_room(&f->r, 10000 - RESERVE_LAST + 1), EFBIG);
		grow(f, 10000 - RESERVE_LAST);
		assert_int_equal(reserve_make_room(&f->r, 1), EFBIG);
		append(f, RESERVE_LAST); /* what it was for */
		assert_true(disk.end <= 20000);
		reserve_close(&f->r);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	}
}

static void nothing_stays_allocated(void **state)
{
	struct fixture *f = *state;
	struct stat st;

	if (!allocates(f))
		skip();
	disk.kind = DISK_COPIES;
	assert_int_equal(ftruncate(f->events, 0), 0);
	reserve_init(&f->r, f->dir, f->events);
	grow(f, 5000);
	assert_int_equal(fstat(f->events, &st), 0);
	assert_int_equal(st.st_size, 5000);
	if (st.st_blocks * 512 < 65536)
		skip(); /* a file system that promises without doing */
	reserve_close(&f->r);
	assert_int_equal(fstat(f->events, &st), 0);
	assert_int_equal(st.st_size, 5000);
	assert_true(st.st_blocks * 512 < 3 * 8192);
	reserve_close(&f->r); /* again, which does nothing */
}

static void nothing_is_kept_before_it_begins(void **state)
{
	struct reserve r = {.dir = -1, .events = -1};
	(void)state;

	assert_int_equal(reserve_make_room(&r, 100), 0);
	reserve_break(&r);
	reserve_close(&r);
	assert_int_equal(disk.asked, 0);
}

int main(void)
{
#define RESERVE_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		RESERVE_TEST(the_rest_of_the_last_block_does),
		RESERVE_TEST(where_it_is_too_short_disk_is_allocated),
		RESERVE_TEST(room_is_behind_whatever_is_appended),
		RESERVE_TEST(
			with_little_disk_less_is_allocated_and_with_none_nothing_may_be_appended),
		RESERVE_TEST(where_nothing_can_be_allocated_a_file_keeps_disk),
		RESERVE_TEST(no_file_grows_past_its_limit),
		RESERVE_TEST(nothing_stays_allocated),
		RESERVE_TEST(nothing_is_kept_before_it_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
