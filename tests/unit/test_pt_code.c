/* SPDX-License-Identifier: MIT */
/* The code that Intel PT is decoded with, of a program that patches its own: which bytes are given,
 * and that the trace has the same. */
#include "collector/backend/pmu/pt_code.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/record/record_observer.h"
#include "collector/space/code_pages.h"
#include "lib/page.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

enum {
	ONE = 0,
	OTHER = 0x100,
	DATA = 0x200,
	ACROSS = BT_PAGE - 1,
};

static const uint8_t jump[] = {0xeb, 0, 0xc3}, call[] = {0xe8, 0, 0, 0, 0, 0xc3};

/* The process is this one. */
struct fixture {
	char dir[SCRATCH_PATH], path[SCRATCH_PATH + 8];
	struct trace_writer *writer;
	struct observer observer;
	struct process process;
	struct task task;
	struct pt_code *code;
	uint8_t *at; /* three pages */
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	const struct bt_record_header header = {.backend = bt_str("none")};
	struct bt_error err = {0};

	if (!f || scratch_make(f->dir))
		return -1;
	snprintf(f->path, sizeof f->path, "%s/trace", f->dir);
	if (trace_writer_open(&f->writer, f->path, &header, &err))
		return -1;
	f->observer = record_observer(f->writer);
	f->at = mmap(NULL, 3 * BT_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	f->process.space = address_space_new(&f->observer, 1, 1, NULL);
	f->code = calloc(1, sizeof *f->code);
	if (f->at == MAP_FAILED || !f->process.space || !f->code)
		return -1;
	address_space_refresh(f->process.space, getpid());
	f->task = (struct task){.host_tid = getpid(), .process = &f->process};
	f->code->task = &f->task;
	f->code->look = 1;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	munmap(f->at, 3 * BT_PAGE);
	address_space_put(f->process.space);
	trace_writer_close(f->writer);
	scratch_remove(f->path);
	scratch_remove(f->dir);
	free(f->code);
	free(f);
	return 0;
}

static void put(struct fixture *f, size_t at, const uint8_t *bytes, size_t n)
{
	memcpy(f->at + at, bytes, n);
}

/* The n bytes at an offset, as they are given. */
static void assert_given(struct fixture *f, size_t at, const uint8_t *bytes, size_t n)
{
	uint8_t got[BT_INSN_MAX] = {0};

	assert_int_equal(pt_code_read(f->code, (uintptr_t)f->at + at, got, sizeof got), sizeof got);
	assert_memory_equal(got, bytes, n);
}

/* The trace has the n bytes of the page at an offset. */
static void assert_told(const struct fixture *f, size_t at, const uint8_t *bytes, size_t n)
{
	uint64_t addr = (uintptr_t)f->at + at;
	const uint8_t *page = code_pages_find(f->process.space->pages, page_down(addr));

	assert_non_null(page);
	assert_memory_equal(page + addr % BT_PAGE, bytes, n);
}

static void code_patched_in_the_middle_of_a_page_begins_an_epoch(void **state)
{
	struct fixture *f = *state;
	uint32_t epoch = f->process.space->epoch;

	put(f, ONE, jump, sizeof jump);
	put(f, OTHER, jump, sizeof jump);
	assert_given(f, ONE, jump, sizeof jump);
	assert_given(f, OTHER, jump, sizeof jump);
	assert_told(f, OTHER, jump, sizeof jump);
	assert_int_equal(f->process.space->epoch, epoch);

	put(f, OTHER, call, sizeof call);
	f->code->look++;
	f->code->item = 5;
	assert_given(f, ONE, jump, sizeof jump); /* as it was: nothing new of it */
	assert_int_equal(f->process.space->epoch, epoch);
	assert_given(f, OTHER, call, sizeof call);
	assert_told(f, OTHER, call, sizeof call);
	assert_int_equal(f->process.space->epoch, epoch + 1);
}

static void data_beside_code_begin_none(void **state)
{
	struct fixture *f = *state;
	uint32_t epoch = f->process.space->epoch;

	put(f, OTHER, jump, sizeof jump);
	for (unsigned i = 0; i < 10; i++) {
		f->code->look++;
		f->at[DATA]++;
		f->at[OTHER + sizeof jump]++; /* what is read with it, too */
		assert_given(f, OTHER, jump, sizeof jump);
	}
	assert_int_equal(f->process.space->epoch, epoch);
}

static void an_instruction_across_two_pages_is_told_of_both(void **state)
{
	struct fixture *f = *state;
	uint32_t epoch = f->process.space->epoch;
	uint8_t other[] = {0xeb, 7, 0xc3};

	put(f, ACROSS, jump, sizeof jump);
	assert_given(f, ACROSS, jump, sizeof jump);
	assert_told(f, BT_PAGE, jump + 1, 2);
	put(f, ACROSS, other, sizeof other);
	f->code->look++;
	assert_given(f, ACROSS, other, sizeof other);
	assert_told(f, BT_PAGE, other + 1, 2);
	assert_int_equal(f->process.space->epoch, epoch + 1);
	/* The page behind an instruction that ends with its own is not asked about. */
	put(f, 2 * BT_PAGE - 2, jump, sizeof jump);
	f->code->look++;
	assert_given(f, 2 * BT_PAGE - 2, jump, sizeof jump);
	assert_null(code_pages_find(f->process.space->pages, (uintptr_t)f->at + 2 * BT_PAGE));
}

static void what_is_decoded_again_is_what_it_was(void **state)
{
	struct fixture *f = *state;
	uint32_t epoch;

	put(f, ONE, jump, sizeof jump);
	put(f, BT_PAGE, jump, sizeof jump);
	assert_given(f, ONE, jump, sizeof jump);
	assert_given(f, BT_PAGE, jump, sizeof jump);
	put(f, ONE, call, sizeof call);
	f->code->look++;
	f->code->item = 5;
	assert_given(f, ONE, call, sizeof call);
	put(f, ONE, jump, sizeof jump);
	f->code->look++;
	f->code->again = true;
	epoch = f->process.space->epoch;
	for (f->code->item = 0; f->code->item < 9; f->code->item++) {
		for (unsigned i = 0; i < 2; i++) {
			assert_given(f, ONE, f->code->item < 5 ? jump : call, sizeof jump);
			if (f->code->item % 3 == 2)
				assert_given(f, BT_PAGE, jump, sizeof jump);
		}
	}
	assert_int_equal(f->process.space->epoch, epoch);
	f->code->again = false;
	assert_given(f, ONE, jump, sizeof jump);
	assert_int_equal(f->process.space->epoch, epoch + 1);
	f->code->again = true;
	for (unsigned i = 0; i < 3; i++) {
		f->code->item = (const uint64_t[]){8, 9, 4}[i];
		assert_given(f, ONE, f->code->item == 8 ? call : jump, sizeof jump);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			code_patched_in_the_middle_of_a_page_begins_an_epoch, set_up, tear_down),
		cmocka_unit_test_setup_teardown(data_beside_code_begin_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_instruction_across_two_pages_is_told_of_both,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_decoded_again_is_what_it_was, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
