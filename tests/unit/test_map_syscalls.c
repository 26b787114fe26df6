/* SPDX-License-Identifier: MIT */
/* What is known of a process's mappings when only the places that its system calls may have changed
 * are asked for, against what reading all of them gives: after each of many random calls. Also:
 * what is asked for does not grow with the number of mappings. */
#include "collector/space/map_syscalls.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/record/record_observer.h"
#include "lib/array_size.h"
#include "lib/page.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

enum {
	PLACES = 24, /* pages that the calls of most rounds are about */
	ROUNDS = 4000,
};

#define BASE 0x310000000000u

/* A child that makes the system calls it is asked for. */
struct slave {
	pid_t pid;
	int ask, answer;
};

struct fixture {
	struct slave slave;
	struct trace_writer *writer;
	struct observer observer;
	struct address_space *all, *around;
	char dir[SCRATCH_PATH], path[SCRATCH_PATH + 8];
	uint64_t random;
	int file;
};

/* Grows the stack by so much. */
static __attribute__((noinline)) long use_stack(size_t bytes)
{
	volatile char *below = (volatile char *)__builtin_frame_address(0) - bytes;

	*below = 1;
	return *below - 1;
}

static void serve(int ask, int answer)
{
	struct tracee_syscall c;

	while (read(ask, &c, sizeof c) == sizeof c) {
		long result = c.nr == UINT64_MAX
				      ? use_stack(c.args[0])
				      : syscall((long)c.nr, c.args[0], c.args[1], c.args[2],
						c.args[3], c.args[4], c.args[5]);

		if (result == -1)
			result = -4095;
		if (write(answer, &result, sizeof result) != sizeof result)
			break;
	}
	_exit(0);
}

static void begin(struct slave *s)
{
	int ask[2], answer[2];

	assert_int_equal(pipe(ask) | pipe(answer), 0);
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (!s->pid) {
		close(ask[1]);
		serve(ask[0], answer[1]);
	}
	close(ask[0]);
	close(answer[1]);
	s->ask = ask[1];
	s->answer = answer[0];
}

static long call(struct slave *s, const struct tracee_syscall *c)
{
	long result;

	assert_int_equal(write(s->ask, c, sizeof *c), sizeof *c);
	assert_int_equal(read(s->answer, &result, sizeof result), sizeof result);
	return result;
}

static int set_up(void **state)
{
	static const struct bt_record_header header = {.page_size = BT_PAGE};
	struct fixture *f = calloc(1, sizeof *f);
	struct bt_error err = {0};
	char name[sizeof f->path + 8];

	*state = f;
	if (!f || scratch_make(f->dir))
		return -1;
	snprintf(f->path, sizeof f->path, "%s/trace", f->dir);
	if (trace_writer_open(&f->writer, f->path, &header, &err))
		return -1;
	f->observer = record_observer(f->writer);
	snprintf(name, sizeof name, "%s/file", f->dir);
	f->file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (f->file < 0 || ftruncate(f->file, PLACES * BT_PAGE))
		return -1;
	f->all = address_space_new(&f->observer, 1, 1, NULL);
	f->around = address_space_new(&f->observer, 2, 1, NULL);
	f->random = 1;
	begin(&f->slave);
	return !f->all || !f->around;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	kill(f->slave.pid, SIGKILL);
	waitpid(f->slave.pid, NULL, 0);
	close(f->slave.ask);
	close(f->slave.answer);
	close(f->file);
	address_space_put(f->all);
	address_space_put(f->around);
	trace_writer_close(f->writer);
	scratch_remove(f->path);
	scratch_remove(f->dir);
	free(f);
	return 0;
}

static uint64_t below(struct fixture *f, uint64_t n) { return unit_random(&f->random) % n; }

static uint64_t place(struct fixture *f) { return BASE + below(f, PLACES) * BT_PAGE; }

static uint64_t length(struct fixture *f)
{
	return (1 + below(f, 5)) * BT_PAGE - below(f, 2) * 100;
}

static uint64_t protection(struct fixture *f)
{
	static const int some[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE,
				   PROT_READ | PROT_EXEC};

	return (uint64_t)some[below(f, ARRAY_SIZE(some))];
}

static struct tracee_syscall random_call(struct fixture *f)
{
	struct tracee_syscall c = {0};
	bool file = below(f, 3) == 0;
	uint64_t heap = f->around->heap_end;

	switch (below(f, 9)) {
	case 0:
	case 1:
	case 2:
		return (struct tracee_syscall){
			.nr = SYS_mmap,
			.args = {place(f), length(f), protection(f),
				 (uint64_t)(MAP_FIXED | (below(f, 2) ? MAP_PRIVATE : MAP_SHARED) |
					    (file ? 0 : MAP_ANONYMOUS)),
				 file ? (uint64_t)f->file : UINT64_MAX,
				 file ? below(f, PLACES) * BT_PAGE : 0}};
	case 3:
		return (struct tracee_syscall){.nr = SYS_munmap, .args = {place(f), length(f)}};
	case 4:
		return (struct tracee_syscall){.nr = SYS_mprotect,
					       .args = {place(f), length(f), protection(f)}};
	case 5:
		return (struct tracee_syscall){
			.nr = SYS_mremap,
			.args = {place(f), length(f), length(f),
				 MREMAP_MAYMOVE | (below(f, 2) ? MREMAP_FIXED : 0), place(f)}};
	case 6:
		if (!heap)
			return (struct tracee_syscall){.nr = SYS_brk};
		return (struct tracee_syscall){
			.nr = SYS_brk,
			.args = {heap + below(f, 9) * BT_PAGE - 4 * BT_PAGE + below(f, 2)}};
	case 7:
		return (struct tracee_syscall){.nr = SYS_mmap,
					       .args = {0, length(f), protection(f),
							MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX}};
	default:
		if (below(f, 8) == 0)
			return (struct tracee_syscall){.nr = SYS_prctl,
						       .args = {PR_SET_VMA,
								0 /* PR_SET_VMA_ANON_NAME */,
								place(f), length(f)}};
		c.nr = UINT64_MAX; /* use_stack */
		c.args[0] = (1 + below(f, 64)) * BT_PAGE;
		return c;
	}
}

static void assert_same(const struct fixture *f, uint64_t round)
{
	const struct mapping_list *a = &f->all->mappings, *b = &f->around->mappings;

	if (a->count != b->count || f->all->epoch != f->around->epoch)
		fail_msg("round %d: %zu mappings, %zu of them known; epochs %u, %u", (int)round,
			 a->count, b->count, f->all->epoch, f->around->epoch);
	for (size_t i = 0; i < a->count; i++) {
		const struct mapping *m = &a->maps[i], *n = &b->maps[i];

		assert_true(m->start == n->start && m->end == n->end && m->offset == n->offset &&
			    m->dev == n->dev && m->ino == n->ino);
		assert_true(m->prot == n->prot && m->shared == n->shared &&
			    !strcmp(m->path, n->path));
		assert_int_equal(m->build_id_len, n->build_id_len);
		assert_memory_equal(m->build_id, n->build_id, m->build_id_len);
	}
}

static bool kernel_answers(pid_t pid)
{
	struct mapping_list l = {0};
	int fd = mappings_open(pid);
	bool answers = fd >= 0 && mappings_around(fd, 0, BT_PAGE, &l);

	mappings_release(&l);
	close(fd);
	return answers;
}

/* A call's stop, as the recorder sees it; of use_stack() it sees nothing, but finds the stack grown
 * behind the next one. */
static void follow(struct fixture *f, const struct tracee_syscall *c, long result)
{
	struct map_change change;
	pid_t pid = f->slave.pid;

	if (c->nr == UINT64_MAX || !map_syscall_changes(f->around, c, (uint64_t)result, &change))
		return;
	address_space_update(f->around, pid, &change);
	address_space_refresh(f->all, pid);
}

static void both_ways_agree_after_random_calls(void **state)
{
	struct fixture *f = *state;

	address_space_refresh(f->all, f->slave.pid);
	address_space_refresh(f->around, f->slave.pid);
	for (uint64_t round = 0; round < ROUNDS; round++) {
		struct tracee_syscall c = random_call(f);

		follow(f, &c, call(&f->slave, &c));
		assert_same(f, round);
	}
}

/* Of 2000 mappings that the process makes one after the other, each is asked for with its
 * neighbours and the stack: the others' records of what they are would not notice if they had
 * changed. */
static void only_what_may_have_changed_is_looked_at(void **state)
{
	enum {
		MANY = 2000,
	};
	struct fixture *f = *state;
	const struct tracee_syscall sly = {.nr = SYS_mmap,
					   .args = {BASE, BT_PAGE, PROT_READ,
						    MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS,
						    UINT64_MAX}};
	size_t known;

	if (!kernel_answers(f->slave.pid))
		skip(); /* before Linux 6.11 */
	address_space_refresh(f->around, f->slave.pid);
	call(&f->slave, &sly); /* nobody is told */
	known = f->around->mappings.count;
	for (uint64_t i = 1; i <= MANY; i++) {
		struct tracee_syscall c = sly;
		struct map_change change;

		c.args[0] += 2 * i * BT_PAGE;
		assert_true(
			map_syscall_changes(f->around, &c, (uint64_t)call(&f->slave, &c), &change));
		assert_false(change.all);
		address_space_update(f->around, f->slave.pid, &change);
		assert_int_equal(f->around->mappings.count, known + i);
	}
	assert_null(address_space_map_at(f->around, BASE));
	address_space_refresh(f->around, f->slave.pid);
	assert_non_null(address_space_map_at(f->around, BASE));
}

/* What a fork's child has not is not known until all is read. */
static void a_child_has_not_what_its_parent_keeps(void **state)
{
	struct fixture *f = *state;
	const struct tracee_syscall map = {.nr = SYS_mmap,
					   .args = {BASE, BT_PAGE, PROT_READ,
						    MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS,
						    UINT64_MAX}};
	struct address_space *child;
	const struct map_change elsewhere = {.count = 1,
					     .ranges = {{BASE + 9 * BT_PAGE, BASE + 10 * BT_PAGE}}};

	call(&f->slave, &map);
	address_space_refresh(f->around, f->slave.pid);
	assert_non_null(address_space_map_at(f->around, BASE));
	child = address_space_new(&f->observer, 3, 1, f->around);
	assert_non_null(child);
	assert_non_null(address_space_map_at(child, BASE));
	address_space_update(child, getpid(),
			     &elsewhere); /* another process, which has nothing there */
	assert_null(address_space_map_at(child, BASE));
	address_space_put(child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(both_ways_agree_after_random_calls, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(only_what_may_have_changed_is_looked_at, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_child_has_not_what_its_parent_keeps, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
