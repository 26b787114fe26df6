/* SPDX-License-Identifier: MIT */
/* Of which files the pages of anonymous memory are: after each of many random changes, against an
 * array with an entry for each page. */
#include "collector/space/origins.h"

#include <stdlib.h>

#include "lib/page.h"
#include "tests/unit/unit.h"

enum {
	PAGES = 64,
	STEPS = 20000,
	FILES = 3,
};

#define BASE 0x7f0000000000u

struct model {
	struct origins origins;
	struct origin pages[PAGES]; /* ino 0: of none */
	uint64_t state;
};

static uint64_t at(size_t page) { return BASE + page * BT_PAGE; }

static size_t below(struct model *m, size_t n)
{
	m->state = m->state * 6364136223846793005u + 1442695040888963407u;
	return (size_t)((m->state >> 33) % n);
}

static void set(struct model *m)
{
	size_t first = below(m, PAGES), n = 1 + below(m, PAGES - first);
	struct origin origin = {.dev = 1, .ino = below(m, FILES + 1)};

	origin.offset = origin.ino ? below(m, 4 * PAGES) * BT_PAGE : 0;
	origins_set(&m->origins, at(first), at(first + n), &origin);
	for (size_t i = 0; i < n; i++) {
		m->pages[first + i] = origin.ino ? origin : (struct origin){0};
		origin.offset += BT_PAGE;
	}
}

static void move(struct model *m)
{
	size_t n = 1 + below(m, PAGES / 2), from = below(m, PAGES - n + 1),
	       to = below(m, PAGES - n + 1);
	struct origin moved[PAGES];

	origins_move(&m->origins, at(from), at(to), n * BT_PAGE);
	for (size_t i = 0; i < n; i++) {
		moved[i] = m->pages[from + i];
		m->pages[from + i] = (struct origin){0};
	}
	for (size_t i = 0; i < n; i++)
		m->pages[to + i] = moved[i];
}

/* The mappings of a process: anonymous ones, and one of a file in their midst. */
static void check(struct model *m)
{
	struct mapping anonymous = {.start = at(0), .end = at(PAGES / 2), .path = (char[]){""}},
		       other = {.start = at(PAGES / 2),
				.end = at(PAGES / 2 + 4),
				.dev = 7,
				.ino = 8,
				.offset = 9 * BT_PAGE,
				.path = (char[]){"/file"}};
	struct mapping_list l = {0};
	uint64_t end = at(0);

	assert_true(mappings_add(&l, &anonymous) && mappings_add(&l, &other));
	anonymous.start = other.end;
	anonymous.end = at(PAGES);
	assert_true(mappings_add(&l, &anonymous));
	origins_show(&m->origins, &l);
	for (size_t i = 0; i < l.count; i++) {
		const struct mapping *now = &l.maps[i];
		struct origin origin = {now->dev, now->ino, now->offset};

		assert_int_equal(now->start, end);
		end = now->end;
		if (*now->path) {
			assert_int_equal(now->ino, 8);
			assert_int_equal(now->offset, 9 * BT_PAGE);
			continue;
		}
		for (uint64_t page = now->start; page < now->end; page += BT_PAGE) {
			assert_memory_equal(&origin, &m->pages[(page - BASE) / BT_PAGE],
					    sizeof origin);
			origin.offset += origin.ino ? BT_PAGE : 0;
		}
	}
	assert_int_equal(end, at(PAGES));
	mappings_release(&l);
}

static void random_changes(void **state)
{
	struct model m = {.state = 1};

	(void)state;
	for (int i = 0; i < STEPS; i++) {
		(below(&m, 4) ? set : move)(&m);
		check(&m);
	}
	origins_release(&m.origins);
}

static void many_are_not_entered(void **state)
{
	const struct origin origin = {.ino = 1};
	struct origins o = {0};

	(void)state;
	for (size_t i = 0; i < 1 << 16; i++)
		origins_set(&o, at(2 * i), at(2 * i + 1), &origin);
	assert_in_range(o.count, 1, 1 << 13);
	origins_release(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_changes),
		cmocka_unit_test(many_are_not_entered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
