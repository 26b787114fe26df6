/* SPDX-License-Identifier: MIT */
#include "lib/abort_message.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

/* This program's own libc, which has said nothing yet. */
struct libc {
	uint64_t base;
	void **variable;
};

static int find_libc(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct libc *libc = arg;

	(void)size;
	if (bt_is_libc(info->dlpi_name))
		libc->base = info->dlpi_addr;
	return 0;
}

static bool libc_of_here(struct libc *libc)
{
	*libc = (struct libc){0};
	dl_iterate_phdr(find_libc, libc);
	libc->variable = dlvsym(RTLD_DEFAULT, "__abort_msg", "GLIBC_PRIVATE");
	return libc->base && libc->variable;
}

static size_t read_here(void *arg, uint64_t addr, void *to, size_t n)
{
	(void)arg;
	memcpy(to, (const void *)(uintptr_t)addr, n);
	return n;
}

struct message {
	uint32_t total;
	char text[60];
};

static void the_text_is_found(void **state)
{
	struct message said = {sizeof said, "free(): invalid pointer\n"};
	char text[64];
	struct libc libc;

	(void)state;
	if (!libc_of_here(&libc))
		skip(); /* another libc */
	strcpy(text, "old");
	assert_int_equal(bt_abort_message(read_here, NULL, libc.base, text, sizeof text), 0);
	assert_string_equal(text, "");
	*libc.variable = &said;
	assert_int_equal(bt_abort_message(read_here, NULL, libc.base, text, sizeof text),
			 strlen("free(): invalid pointer"));
	assert_string_equal(text, "free(): invalid pointer");
	assert_int_equal(bt_abort_message(read_here, NULL, libc.base, text, 5), 4);
	assert_string_equal(text, "free");
	memset(said.text, 'x', sizeof said.text); /* no NUL: it ends with its size */
	assert_int_equal(bt_abort_message(read_here, NULL, libc.base, text, sizeof text),
			 sizeof said.text);
	said.total = sizeof said.total;
	assert_int_equal(bt_abort_message(read_here, NULL, libc.base, text, sizeof text), 0);
	*libc.variable = NULL;
}

/* Memory in which a number that is read is now and then another, and some of which is not there. */
struct spoilt {
	unsigned seed;
	struct libc libc;
	size_t reads;
};

static size_t read_spoilt(void *arg, uint64_t addr, void *to, size_t n)
{
	struct spoilt *s = arg;
	bool is_known = addr - s->libc.base < 0x100000; /* of libc's read-only beginning */

	s->reads++;
	memset(to, rand_r(&s->seed) & 0xff, n);
	if (is_known && rand_r(&s->seed) % 8)
		memcpy(to, (const void *)(uintptr_t)addr, n);
	if (!(rand_r(&s->seed) % 4) && n)
		((uint8_t *)to)[(size_t)rand_r(&s->seed) % n] ^=
			(uint8_t)(1u << rand_r(&s->seed) % 8);
	return rand_r(&s->seed) % 16 ? n : (size_t)rand_r(&s->seed) % (n + 1);
}

static void whatever_memory_holds_it_ends(void **state)
{
	char text[64];
	struct libc libc;

	(void)state;
	if (!libc_of_here(&libc))
		skip();
	for (unsigned seed = 1; seed <= 20000; seed++) {
		struct spoilt s = {.seed = seed, .libc = libc};
		size_t n = bt_abort_message(read_spoilt, &s, libc.base, text, sizeof text);

		assert_true(n < sizeof text);
		assert_int_equal(strlen(text), n);
		assert_true(s.reads < 20000);
	}
}

static void libc_is_known_by_its_name(void **state)
{
	(void)state;
	assert_true(bt_is_libc("/usr/lib/x86_64-linux-gnu/libc.so.6"));
	assert_true(bt_is_libc("/lib/libc-2.31.so"));
	assert_false(bt_is_libc("/lib/ld-musl-x86_64.so.1"));
	assert_false(bt_is_libc("/lib/libcrypto.so.3"));
	assert_false(bt_is_libc("/srv/libc.so.6/app"));
	assert_false(bt_is_libc(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_is_found),
		cmocka_unit_test(whatever_memory_holds_it_ends),
		cmocka_unit_test(libc_is_known_by_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
