/* SPDX-License-Identifier: MIT */
/* What bytes are known by: every byte and the length count. */
#include "tests/unit/unit.h"

#include <stdbool.h>
#include <string.h>

#include "lib/content_hash.h"

enum { LONGEST = 200 };

static bool same(struct content_hash a, struct content_hash b)
{
	return a.first == b.first || a.second == b.second;
}

static void the_same_bytes_anywhere_have_the_same(void **state)
{
	uint8_t bytes[LONGEST + 8], moved[LONGEST + 8];

	(void)state;
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 37);
	for (size_t n = 0; n <= LONGEST; n++)
		for (size_t shift = 0; shift < 8; shift++) {
			struct content_hash a = content_hash(bytes, n), b;

			memcpy(moved + shift, bytes, n);
			b = content_hash(moved + shift, n);
			assert_true(a.first == b.first && a.second == b.second);
		}
}

static void another_byte_anywhere_is_seen(void **state)
{
	uint8_t bytes[LONGEST] = {0};

	(void)state;
	for (size_t n = 1; n <= LONGEST; n++) {
		struct content_hash plain = content_hash(bytes, n);

		assert_false(same(plain, content_hash(bytes, n - 1)));
		for (size_t at = 0; at < n; at++)
			for (unsigned bit = 0; bit < 8; bit++) {
				bytes[at] = (uint8_t)(1u << bit);
				assert_false(same(plain, content_hash(bytes, n)));
				bytes[at] = 0;
			}
	}
}

/* A table takes the low bits as they are: pages that differ little must not crowd. */
static void low_bits_differ(void **state)
{
	enum { PAGES = 4096 };
	static uint8_t page[4096];
	static unsigned at[PAGES];
	unsigned most = 0;

	(void)state;
	for (uint32_t i = 0; i < PAGES; i++) {
		memcpy(page + i % 512 * 8, &i, sizeof i);
		at[content_hash(page, sizeof page).first % PAGES]++;
	}
	for (size_t i = 0; i < PAGES; i++)
		most = at[i] > most ? at[i] : most;
	assert_in_range(most, 1, 10); /* of 4096 in as many places by chance 6 or 7 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_bytes_anywhere_have_the_same),
		cmocka_unit_test(another_byte_anywhere_is_seen),
		cmocka_unit_test(low_bits_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
