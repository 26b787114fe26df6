/* SPDX-License-Identifier: MIT */
/* Copies of code pages: what is found, replaced and dropped in one table and in copies of it,
 * against a plain array. */
#include "tests/unit/unit.h"

#include <string.h>

#include "collector/space/code_pages.h"
#include "lib/page.h"

enum {
	PAGES = 300,
	TABLES = 4,
	STEPS = 20000,
};

#define BASE 0x7f0000000000u

/* What each table holds: the number of each page's bytes, 0 for none. */
struct model {
	struct code_pages *table;
	uint32_t pages[PAGES];
};

static uint64_t at(size_t i) { return BASE + (i + i / 7 * 5) * BT_PAGE; }

static const uint8_t *bytes_of(uint32_t number)
{
	static uint8_t bytes[BT_PAGE];

	memset(bytes, (int)(number & 0xff), sizeof bytes);
	memcpy(bytes + 100, &number, sizeof number);
	return bytes;
}

static void check(const struct model *m)
{
	for (size_t i = 0; i < PAGES; i++) {
		const uint8_t *found = code_pages_find(m->table, at(i));

		assert_int_equal(!found, !m->pages[i]);
		if (found)
			assert_memory_equal(found, bytes_of(m->pages[i]), BT_PAGE);
	}
}

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void drop(struct model *m, uint64_t start, uint64_t end)
{
	size_t expected = 0;

	for (size_t i = 0; i < PAGES; i++)
		if (m->pages[i] && at(i) < end && start < at(i) + BT_PAGE) {
			m->pages[i] = 0;
			expected++;
		}
	assert_int_equal(code_pages_touch(m->table, start, end), expected != 0);
	assert_int_equal(code_pages_drop(m->table, start, end), expected);
	assert_false(code_pages_touch(m->table, start, end));
}

/* The number that was set for these bytes, or none. */
static void check_object(const struct model *m, size_t i)
{
	uint64_t *object = code_pages_content(m->table, at(i));

	assert_true(!*object || *object == m->pages[i]);
	*object = m->pages[i];
}

/* A page of another table becomes this one's. */
static void share(struct model *m, const struct model *from, size_t i)
{
	if (m->pages[i] || !from->pages[i])
		return;
	assert_ptr_equal(code_pages_share(m->table, at(i), from->table),
			 code_pages_find(from->table, at(i)));
	m->pages[i] = from->pages[i];
}

/* Some pages that the table has not got become its, of one batch, which goes with the last of them.
 */
static void take(struct model *m, uint64_t *seed, uint32_t number)
{
	size_t count = 1 + next(seed) % 5;
	uint8_t *bytes;
	struct page_batch *b = code_pages_batch_new(count, &bytes);

	assert_non_null(b);
	for (size_t k = 0; k < count; k++) {
		size_t i = next(seed) % PAGES;

		if (m->pages[i])
			continue;
		assert_true(code_pages_take(m->table, at(i), b, k));
		memcpy(bytes + k * BT_PAGE, bytes_of(number), BT_PAGE);
		m->pages[i] = number;
	}
	code_pages_batch_put(b);
}

static void test_against_an_array(void **state)
{
	static struct model models[TABLES];
	uint64_t seed = 1;

	(void)state;
	for (int t = 0; t < TABLES; t++)
		assert_non_null(models[t].table = code_pages_new());
	for (uint32_t step = 1; step <= STEPS; step++) {
		struct model *m = &models[next(&seed) % TABLES];
		size_t i = next(&seed) % PAGES;

		switch (next(&seed) % 64) {
		case 0: { /* becomes a copy of another */
			const struct model *from = &models[next(&seed) % TABLES];
			struct code_pages *copy = code_pages_copy(from->table);

			assert_non_null(copy);
			code_pages_put(m->table);
			*m = *from;
			m->table = copy;
			break;
		}
		case 1:
			drop(m, at(i) + next(&seed) % BT_PAGE,
			     at(i) + 1 + next(&seed) % (BT_PAGE * 40));
			break;
		case 2:
			drop(m, at(i), UINT64_MAX);
			break;
		case 3:
		case 4:
		case 5:
			share(m, &models[next(&seed) % TABLES], i);
			break;
		case 6:
		case 7:
			take(m, &seed, step);
			break;
		default:
			assert_non_null(code_pages_set(m->table, at(i), bytes_of(step)));
			m->pages[i] = step;
		}
		if (m->pages[i])
			check_object(m, i);
		if (step % 500 == 0)
			for (int t = 0; t < TABLES; t++)
				check(&models[t]);
	}
	for (int t = 0; t < TABLES; t++)
		code_pages_put(models[t].table);
}

static void test_users(void **state)
{
	struct code_pages *t = code_pages_new();

	(void)state;
	assert_int_equal(code_pages_users(t), 1);
	assert_ptr_equal(code_pages_get(t), t);
	assert_int_equal(code_pages_users(t), 2);
	code_pages_put(t);
	assert_non_null(code_pages_set(t, BASE, bytes_of(7)));
	assert_memory_equal(code_pages_find(t, BASE), bytes_of(7), BT_PAGE);
	code_pages_put(t);
	code_pages_put(NULL);
}

/* Pages of which the last is the last there is. */
static void test_the_end(void **state)
{
	struct code_pages *t = code_pages_new();
	const uint64_t last = -(uint64_t)BT_PAGE;

	(void)state;
	assert_non_null(code_pages_set(t, BASE, bytes_of(7)));
	assert_false(code_pages_touch(t, last, UINT64_MAX));
	assert_int_equal(code_pages_drop(t, last - BT_PAGE, UINT64_MAX), 0);
	assert_non_null(code_pages_set(t, last, bytes_of(8)));
	assert_true(code_pages_touch(t, last + 1, UINT64_MAX));
	assert_int_equal(code_pages_drop(t, last - BT_PAGE, UINT64_MAX), 1);
	assert_non_null(code_pages_find(t, BASE));
	code_pages_put(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_an_array),
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
