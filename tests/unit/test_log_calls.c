/* SPDX-License-Identifier: MIT */
/* Calls and instructions of a LOG_CALLS record: each comes back as it was; an instruction that
 * makes no sense is refused. */
#include "tests/unit/unit.h"

#include "format/log_calls.h"
#include "lib/error.h"

static const struct bt_logged_call calls[] = {
	{.tick = 7, .form = BT_LOGGED_RDTSC, .result = 0xfedcba9876543210},
	{.tick = 7,
	 .nr = 1,
	 .result = (uint64_t)-4,
	 .again = true,
	 .arg_count = 2,
	 .args = {3, UINT64_MAX}},
	{.tick = 7, .form = BT_LOGGED_RDTSCP, .result = 5, .ecx = UINT32_MAX},
	{.tick = 8, .form = BT_LOGGED_CPUID, .result = UINT64_MAX, .ecx = 1, .ebx = UINT32_MAX},
	{.tick = 9, .form = BT_LOGGED_XGETBV, .result = 7},
	{.tick = 9, .form = BT_LOGGED_RDTSC, .result = 6},
	{.tick = 90, .nr = 0, .arg_count = 1, .args = {1}, .told = true},
	{.tick = UINT64_MAX, .form = BT_LOGGED_RDTSCP, .result = UINT64_MAX},
	{.tick = UINT64_MAX, .form = BT_LOGGED_RDTSC},
};

static void each_comes_back(void **state)
{
	struct log_calls_codec to = {.tick = 7}, from = {.tick = 7};
	struct bt_logged_call call;
	struct buf bytes = {0};
	struct slice in;

	(void)state;
	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
		log_calls_encode(&to, &bytes, &calls[i]);
	in = slice_of(bytes.data, bytes.len);
	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
		assert_int_equal(log_calls_decode(&from, &in, &call), 1);
		assert_true(call.tick == calls[i].tick && call.form == calls[i].form &&
			    call.nr == calls[i].nr && call.result == calls[i].result);
		assert_true(call.ecx == calls[i].ecx && call.ebx == calls[i].ebx &&
			    call.again == calls[i].again && call.told == calls[i].told);
		assert_int_equal(call.arg_count, calls[i].arg_count);
		assert_memory_equal(call.args, calls[i].args, call.arg_count * sizeof call.args[0]);
	}
	assert_int_equal(log_calls_decode(&from, &in, &call), 0);
	buf_release(&bytes);
}

/* Ticks, number, result, the byte of counts, what follows. */
static void no_sense_is_refused(void **state)
{
	static const struct {
		uint8_t bytes[10];
		size_t n;
		int rc;
	} rows[] = {
		{{0, 0, 9, 0x80}, 4, 1},                /* rdtsc */
		{{0, 1, 9, 0x80, 2}, 5, 1},             /* rdtscp */
		{{0, 2, 9, 0x80}, 4, 1},                /* xgetbv */
		{{0, 3, 9, 0x80, 2, 4}, 6, 1},          /* cpuid */
		{{0, 3, 9, 0x80, 2}, 5, -BT_E_CORRUPT}, /* cut off */
		{{0, 4, 9, 0x80, 2}, 5, -BT_E_CORRUPT}, /* there is no such instruction */
		{{0, 1, 9, 0x80}, 4, -BT_E_CORRUPT},    /* cut off */
		{{0, 1, 9, 0x80, 0xff, 0xff, 0xff, 0xff, 0x0f}, 9, 1}, /* ecx has 32 bits, */
		{{0, 1, 9, 0x80, 0xff, 0xff, 0xff, 0xff, 0x1f}, 9, -BT_E_CORRUPT}, /* not 33 */
		{{0, 0, 9, 0x81}, 4, -BT_E_CORRUPT}, /* of a call and of an instruction */
		{{2, 0, 9, 0x80}, 4, -BT_E_CORRUPT}, /* the tick overflows */
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct log_calls_codec codec = {.tick = UINT64_MAX - 1};
		struct slice in = slice_of(rows[i].bytes, rows[i].n);
		struct bt_logged_call call;

		assert_int_equal(log_calls_decode(&codec, &in, &call), rows[i].rc);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_comes_back),
		cmocka_unit_test(no_sense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
