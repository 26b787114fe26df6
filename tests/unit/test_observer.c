/* SPDX-License-Identifier: MIT */
/* What a space tells an observer that writes no trace: each fact once, in its order; code with the
 * number that the observer has given to the same bytes before. The process is this one. */
#include "collector/space/observer.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/space/address_space.h"
#include "tests/unit/unit.h"

enum {
	PAGE = BT_PAGE,
	MOST = 8,
};

/* What was told since forget(), but for mappings other than the one at `at`. */
struct told {
	struct observer observer;
	uint64_t at;
	uint64_t contents; /* numbers given so far */
	unsigned spaces, mapped, unmapped, codes;
	uint32_t space, parent, parent_epoch; /* of the last space */
	struct told_code {
		uint32_t space, epoch;
		uint64_t addr, known, content; /* known: the number before */
		uint8_t first;
	} code[MOST];
};

static void space_came(void *arg, const struct address_space *s, const struct address_space *parent)
{
	struct told *t = arg;

	t->spaces++;
	t->space = s->number;
	t->parent = parent ? parent->number : 0;
	t->parent_epoch = parent ? parent->epoch : 0;
}

static void mapping_came(void *arg, const struct address_space *s, const struct mapping *m)
{
	struct told *t = arg;

	(void)s;
	t->mapped += m->start <= t->at && t->at < m->end;
}

static void mapping_went(void *arg, const struct address_space *s, const struct mapping *m)
{
	struct told *t = arg;

	(void)s;
	t->unmapped += m->start <= t->at && t->at < m->end;
}

static void code_is_used(void *arg, const struct address_space *s, uint64_t addr,
			 const uint8_t *bytes, uint64_t *content)
{
	struct told *t = arg;
	uint64_t known = *content;

	if (!*content)
		*content = ++t->contents;
	assert_true(t->codes < MOST);
	t->code[t->codes++] =
		(struct told_code){s->number, s->epoch, addr, known, *content, *bytes};
}

static const struct observer_ops ops = {.space = space_came,
					.mapped = mapping_came,
					.unmapped = mapping_went,
					.code = code_is_used};

static void forget(struct told *t) { t->spaces = t->mapped = t->unmapped = t->codes = 0; }

static int set_up(void **state)
{
	static struct told told;
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	told = (struct told){.observer = {&ops, &told}, .at = (uintptr_t)at};
	*state = &told;
	return at == MAP_FAILED;
}

static int tear_down(void **state)
{
	const struct told *t = *state;

	return munmap((void *)(uintptr_t)t->at, PAGE);
}

/* Lets the space use the code at t->at. */
static void use(const struct told *t, struct address_space *s)
{
	uint8_t bytes[BT_INSN_MAX];
	struct bt_insn insn;

	assert_int_equal(address_space_fetch(s, getpid(), t->at, false, bytes, &insn), 0);
}

static void protect(const struct told *t, int prot, uint8_t first)
{
	uint8_t *at = (uint8_t *)(uintptr_t)t->at;

	assert_int_equal(mprotect(at, PAGE, PROT_READ | PROT_WRITE), 0);
	memset(at, first, PAGE);
	assert_int_equal(mprotect(at, PAGE, prot), 0);
}

static void a_space_and_its_mappings(void **state)
{
	struct told *t = *state;
	struct address_space *s = address_space_new(&t->observer, 7, 1, NULL), *child;

	assert_non_null(s);
	assert_int_equal(t->spaces, 1);
	assert_int_equal(t->space, 7);
	assert_int_equal(t->parent, 0);
	address_space_refresh(s, getpid());
	assert_int_equal(t->mapped, 1);
	forget(t);
	address_space_refresh(s, getpid());
	assert_int_equal(t->mapped + t->unmapped, 0);
	assert_int_equal(mprotect((void *)(uintptr_t)t->at, PAGE, PROT_READ), 0);
	address_space_refresh(s, getpid());
	assert_int_equal(t->unmapped, 1);
	assert_int_equal(t->mapped, 1);
	child = address_space_new(&t->observer, 8, 2, s);
	assert_non_null(child);
	assert_int_equal(t->space, 8);
	assert_int_equal(t->parent, 7);
	assert_int_equal(t->parent_epoch, s->epoch);
	address_space_put(child);
	address_space_put(s);
}

static void code_is_told_when_it_is_used_and_when_it_has_changed(void **state)
{
	struct told *t = *state;
	struct address_space *s = address_space_new(&t->observer, 1, 1, NULL);

	assert_non_null(s);
	protect(t, PROT_READ | PROT_WRITE | PROT_EXEC, 0x90);
	address_space_refresh(s, getpid());
	assert_int_equal(t->codes, 0);
	use(t, s);
	use(t, s);
	assert_int_equal(t->codes, 1);
	assert_int_equal(t->code[0].addr, t->at);
	assert_int_equal(t->code[0].known, 0);
	assert_int_equal(t->code[0].first, 0x90);
	protect(t, PROT_READ | PROT_WRITE | PROT_EXEC, 0xc3);
	use(t, s);
	assert_int_equal(t->codes, 2);
	assert_int_equal(t->code[1].known, 0);
	assert_int_equal(t->code[1].first, 0xc3);
	assert_int_equal(t->code[1].epoch, t->code[0].epoch + 1);
	address_space_put(s);
}

static void spaces_with_the_same_code_are_told_of_with_one_number(void **state)
{
	struct told *t = *state;
	struct address_space *s = address_space_new(&t->observer, 1, 1, NULL), *child;

	assert_non_null(s);
	protect(t, PROT_READ | PROT_EXEC, 0x90);
	address_space_refresh(s, getpid());
	child = address_space_new(&t->observer, 2, 2, s);
	assert_non_null(child);
	use(t, child);
	assert_int_equal(t->codes, 2);
	assert_int_equal(t->code[0].known, 0);
	assert_int_equal(t->code[1].known, t->code[0].content);
	assert_int_equal(t->code[0].space + t->code[1].space, 1 + 2);
	use(t, s);
	assert_int_equal(t->codes, 2);
	address_space_put(child);
	address_space_put(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_space_and_its_mappings, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			code_is_told_when_it_is_used_and_when_it_has_changed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			spaces_with_the_same_code_are_told_of_with_one_number, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
