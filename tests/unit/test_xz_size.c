/* SPDX-License-Identifier: MIT */
/* The sizes of .xz files, summed up from their chunks: those that xz makes, and damaged ones. */
#include "decoder/symbols/xz_size.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/array_size.h"
#include "tests/unit/unit.h"

/* A stream of two blocks, with a check of 4 bytes: a stored chunk of 5 bytes and a packed one of
 * 0x20000 bytes in 3; then a packed one with properties, of 0x101 bytes in 2. Block headers, sums
 * and packed bytes are not looked at. */
static const uint8_t good[] = {
	0xfd, '7',  'z',  'X', 'Z', 0,   0,   1,   9, 9, 9, 9, /* header of the stream */
	1,    9,    9,    9,   9,   9,   9,   9,               /* header of a block */
	1,    0,    4,    'h', 'e', 'l', 'l', 'o',             /* stored */
	0x81, 0xff, 0xff, 0,   2,   9,   9,   9,               /* packed */
	0,    0,    0,    0,   9,   9,   9,   9,               /* end, padding, check */
	1,    9,    9,    9,   9,   9,   9,   9,               /* header of another block */
	0xe0, 1,    0,    0,   1,   9,   9,   9,   0,          /* with properties; end */
	0,    0,    0,    9,   9,   9,   9,                    /* padding, check */
	0,                                                     /* the index */
};

enum {
	UNPACKED = 5 + 0x20000 + 0x101,
	FIRST_CONTROL = 20,
	SECOND_BLOCK = 44,
};

static bool size_of(const uint8_t *bytes, size_t n, uint64_t from, uint64_t *size)
{
	int fd = memfd_create("xz", MFD_CLOEXEC);
	bool found;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)from), 0);
	assert_int_equal(pwrite(fd, bytes, n, (off_t)from), n);
	found = xz_size(fd, from, n, size);
	close(fd);
	return found;
}

static void chunks_are_added_up(void **state)
{
	uint64_t size;

	(void)state;
	assert_true(size_of(good, sizeof good, 0, &size));
	assert_int_equal(size, UNPACKED);
	assert_true(size_of(good, sizeof good, 12345, &size));
	assert_int_equal(size, UNPACKED);
}

static void files_that_end_early_are_refused(void **state)
{
	uint64_t size;

	(void)state;
	for (size_t n = 0; n < sizeof good; n++)
		assert_false(size_of(good, n, 0, &size));
}

static void damage_is_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t byte;
	} damage[] = {
		{0, 0x5d},             /* the form before .xz, which tells no sizes */
		{FIRST_CONTROL, 3},    /* there is no such chunk */
		{FIRST_CONTROL, 0x7f}, /* the same */
		{FIRST_CONTROL, 0xff}, /* it ends in the midst of another */
		{SECOND_BLOCK, 0xff},  /* a header longer than the file */
	};
	uint8_t bad[sizeof good];
	uint64_t size;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(damage); i++) {
		memcpy(bad, good, sizeof bad);
		bad[damage[i].at] = damage[i].byte;
		assert_false(size_of(bad, sizeof bad, 0, &size));
	}
}

/* An encoder fills its chunks. */
static void endless_small_chunks_are_refused(void **state)
{
	static uint8_t many[1 << 20];
	uint64_t size;

	(void)state;
	memcpy(many, good, FIRST_CONTROL);
	for (size_t at = FIRST_CONTROL; at + 4 <= sizeof many; at += 4)
		many[at] = 1; /* stored, one byte */
	assert_false(size_of(many, sizeof many, 0, &size));
	memset(many + FIRST_CONTROL + 40000, 0, sizeof many - FIRST_CONTROL - 40000);
	assert_true(size_of(many, sizeof many, 0, &size));
	assert_int_equal(size, 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_are_added_up),
		cmocka_unit_test(files_that_end_early_are_refused),
		cmocka_unit_test(damage_is_refused),
		cmocka_unit_test(endless_small_chunks_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
