/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/record/memory_copy.h"
#include "lib/page.h"

enum {
	CHANGES_MOST = 8,
};

#define RESERVED (UINT64_C(1) << 40) /* far more than there is memory */

struct changes {
	uint64_t from, addr[CHANGES_MOST];
	size_t n[CHANGES_MOST], count;
};

/* Of the reserved memory alone. */
static void take_change(void *arg, uint64_t addr, const uint8_t *bytes, size_t n)
{
	struct changes *c = arg;

	(void)bytes;
	if (addr - c->from >= RESERVED)
		return;
	assert_true(c->count < CHANGES_MOST);
	c->addr[c->count] = addr - c->from;
	c->n[c->count++] = n;
}

static void no_cut(void *arg, uint64_t start, uint64_t end)
{
	(void)arg;
	fail_msg("%lx to %lx is told to be cut", (unsigned long)start, (unsigned long)end);
}

/* A child that writes when it is asked to. */
static void write_when_asked(uint8_t *memory, int asked, int answers)
{
	char byte;

	memset(memory + 5 * BT_PAGE, 1, 2 * BT_PAGE);
	if (write(answers, "w", 1) != 1 || read(asked, &byte, 1) != 1)
		_exit(1);
	memory[5 * BT_PAGE + 100] = 2;
	memory[6 * BT_PAGE + 200] = 3;
	memory[RESERVED / 2] = 4;
	memory[8 * BT_PAGE] = 0; /* a page that was not there, and holds the same */
	madvise(memory + RESERVED - BT_PAGE, BT_PAGE, MADV_DONTNEED);
	if (write(answers, "w", 1) != 1)
		_exit(1);
	pause();
}

static void changes_of_reserved_memory_are_found(void **state)
{
	uint8_t *memory = mmap(NULL, RESERVED, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct memory_copy copy = {0};
	struct changes c = {.from = (uint64_t)(uintptr_t)memory};
	int asks[2], answers[2];
	char byte;
	pid_t pid;

	(void)state;
	if (memory == MAP_FAILED)
		skip();
	madvise(memory, RESERVED, MADV_NOHUGEPAGE);
	memory[RESERVED - BT_PAGE] = 1;
	assert_int_equal(pipe(asks), 0);
	assert_int_equal(pipe(answers), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		write_when_asked(memory, asks[0], answers[1]);
	assert_int_equal(read(answers[0], &byte, 1), 1);
	assert_true(memory_copy_take(&copy, pid, MEMORY_COPY_ALL, false));
	assert_int_equal(write(asks[1], "w", 1), 1);
	assert_int_equal(read(answers[0], &byte, 1), 1);
	memory_copy_compare(&copy, pid, take_change, no_cut, &c);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(c.count, 4);
	assert_int_equal(c.addr[0], 5 * BT_PAGE + 100);
	assert_int_equal(c.n[0], 1);
	assert_int_equal(c.addr[1], 6 * BT_PAGE + 200);
	assert_int_equal(c.addr[2], RESERVED / 2);
	assert_int_equal(c.n[2], BT_PAGE);
	assert_int_equal(c.addr[3], RESERVED - BT_PAGE);
	assert_int_equal(c.n[3], 1);
	memory_copy_release(&copy);
	munmap(memory, RESERVED);
}

/* Pages behind guards are compared, also where the memory is of a file. */
static void changes_behind_guards_are_found(void **state)
{
	enum { GUARD_INSTALL = 102, PAGES = 4 }; /* MADV_GUARD_INSTALL: of files since Linux 6.15 */
	uint8_t *memory = mmap(NULL, PAGES * BT_PAGE, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct memory_copy copy = {0};
	struct changes c = {.from = (uint64_t)(uintptr_t)memory};
	pid_t pid;

	(void)state;
	assert_true(memory != MAP_FAILED);
	memset(memory, 1, PAGES * BT_PAGE);
	if (madvise(memory + BT_PAGE, BT_PAGE, GUARD_INSTALL))
		skip();
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		(void)!madvise(memory + BT_PAGE, BT_PAGE, GUARD_INSTALL);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	assert_true(memory_copy_take(&copy, pid, MEMORY_COPY_ALL, false));
	memory[100] = 2;
	memory[2 * BT_PAGE + 200] = 3;
	memory_copy_compare(&copy, pid, take_change, no_cut, &c);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(c.count, 2);
	assert_int_equal(c.addr[0], 100);
	assert_int_equal(c.addr[1], 2 * BT_PAGE + 200);
	assert_int_equal(c.n[1], 1);
	memory_copy_release(&copy);
	munmap(memory, PAGES * BT_PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_of_reserved_memory_are_found),
		cmocka_unit_test(changes_behind_guards_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
