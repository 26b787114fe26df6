/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <sys/mman.h>
#include <unistd.h>

#include "collector/record/present_pages.h"
#include "lib/page.h"

enum {
	PAGES = 1 << 14, /* more than are looked at at once, by either way */
	RUNS_MOST = 8,
};

static uint8_t *at_page(uint8_t *memory, size_t page) { return memory + page * BT_PAGE; }

/* The runs by number of page, joined where one is told as several. */
static size_t runs_of(uint8_t *memory, enum present_pages_by by, size_t runs[RUNS_MOST][2])
{
	uint64_t from = (uint64_t)(uintptr_t)memory, start, end;
	struct present_pages p;
	size_t n = 0;

	assert_true(present_pages_open(&p, getpid(), from, from + (uint64_t)PAGES * BT_PAGE));
	p.by = by;
	while (present_pages_next(&p, &start, &end)) {
		size_t first = (start - from) / BT_PAGE, behind = (end - from) / BT_PAGE;

		if (n && runs[n - 1][1] == first) {
			runs[n - 1][1] = behind;
			continue;
		}
		assert_true(n < RUNS_MOST);
		runs[n][0] = first;
		runs[n++][1] = behind;
	}
	present_pages_close(&p);
	return n;
}

static void pages_that_were_written_are_found(void **state)
{
	static const size_t written[][2] = {
		{0, 1}, {5, 8}, {1000, 1030}, {9000, 9001}, {PAGES - 1, PAGES}};
	uint8_t *memory = mmap(NULL, (size_t)PAGES * BT_PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t runs[RUNS_MOST][2];

	(void)state;
	assert_ptr_equal(memory == MAP_FAILED ? NULL : memory, memory);
	madvise(memory, (size_t)PAGES * BT_PAGE, MADV_NOHUGEPAGE);
	for (int by = PRESENT_PAGES_BY_SCAN; by <= PRESENT_PAGES_BY_ENTRIES; by++)
		assert_int_equal(runs_of(memory, (enum present_pages_by)by, runs), 0);
	for (size_t i = 0; i < sizeof written / sizeof *written; i++)
		for (size_t page = written[i][0]; page < written[i][1]; page++)
			*at_page(memory, page) = 1;
	mprotect(at_page(memory, 9000), BT_PAGE, PROT_NONE);
	for (int by = PRESENT_PAGES_BY_SCAN; by <= PRESENT_PAGES_BY_ENTRIES; by++) {
		assert_int_equal(runs_of(memory, (enum present_pages_by)by, runs),
				 sizeof written / sizeof *written);
		assert_memory_equal(runs, written, sizeof written);
	}
	munmap(memory, (size_t)PAGES * BT_PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(pages_that_were_written_are_found)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
