/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "collector/record/log_objects.h"
#include "collector/replay/met_objects.h"
#include "format/log_values.h"

enum {
	MANY = 20000,
	LARGE = 1 << 20,
};

static void bytes_are_found_by_what_they_are(void **state)
{
	struct log_objects o = {0};
	uint32_t number = UINT32_MAX;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(log_objects_look(&o, &i, sizeof i, &number), LOG_OBJECT_NEW);
	for (uint32_t i = MANY; i--;) {
		assert_int_equal(log_objects_look(&o, &i, sizeof i, &number), LOG_OBJECT_KNOWN);
		assert_int_equal(number, i);
	}
	log_objects_release(&o);
}

/* Who writes a log and who reads it agree on how many bytes its objects may have. */
static void a_log_has_so_many_bytes_of_objects(void **state)
{
	struct log_objects written = {0};
	struct met_objects met = {0};
	uint64_t *bytes = calloc(1, LARGE);
	struct slice found;
	uint32_t number;

	(void)state;
	assert_non_null(bytes);
	for (uint64_t i = 0; i < BT_LOG_OBJECTS / LARGE; i++) {
		bytes[0] = i;
		assert_int_equal(log_objects_look(&written, bytes, LARGE, &number), LOG_OBJECT_NEW);
		assert_int_equal(met_objects_keep(&met, slice_of(bytes, LARGE)), MET_OBJECT_KEPT);
	}
	bytes[0] = UINT64_MAX;
	assert_int_equal(log_objects_look(&written, bytes, 8, &number), LOG_OBJECT_NONE);
	assert_int_equal(met_objects_keep(&met, slice_of(bytes, 8)), MET_OBJECT_TOO_MUCH);
	bytes[0] = 3;
	assert_int_equal(log_objects_look(&written, bytes, LARGE, &number), LOG_OBJECT_KNOWN);
	assert_true(met_objects_get(&met, number, &found));
	assert_int_equal(found.len, LARGE);
	assert_memory_equal(found.at, bytes, LARGE);
	assert_false(met_objects_get(&met, BT_LOG_OBJECTS / LARGE, &found));
	log_objects_release(&written);
	met_objects_release(&met);
	free(bytes);
}

/* Without bytes they would cost nothing but what is kept of each. */
static void a_log_has_so_many_objects(void **state)
{
	struct met_objects met = {0};

	(void)state;
	for (uint32_t i = 0; i < BT_LOG_OBJECTS_MANY; i++)
		assert_int_equal(met_objects_keep(&met, slice_of(NULL, 0)), MET_OBJECT_KEPT);
	assert_int_equal(met_objects_keep(&met, slice_of(NULL, 0)), MET_OBJECT_TOO_MUCH);
	met_objects_release(&met);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_found_by_what_they_are),
		cmocka_unit_test(a_log_has_so_many_bytes_of_objects),
		cmocka_unit_test(a_log_has_so_many_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
