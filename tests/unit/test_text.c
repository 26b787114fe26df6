/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/text.h"

#include "decoder/model/signals.h"
#include "lib/array_size.h"
#include "syscalls/syscall_names.h"
#include "tests/unit/unit.h"

static struct location at(const char *module, const char *function, uint64_t offset)
{
	return (struct location){.addr = 0x7f0000001234,
				 .vaddr = 0x1234,
				 .module = module,
				 .in_file = *module == '/',
				 .function = function,
				 .offset = offset,
				 .file = "",
				 .build_id = ""};
}

static void expect_place(const struct location *loc, bool brief, const char *expected)
{
	struct text t = {0};

	text_place(&t, loc, brief);
	buf_u8(&t.buf, 0);
	assert_string_equal((const char *)t.buf.data, expected);
	buf_release(&t.buf);
}

static void a_place_is_named_as_well_as_it_is_known(void **state)
{
	struct location loc;
	(void)state;

	loc = at("/usr/lib/libx.so", "main", 0);
	expect_place(&loc, false, "main");
	loc = at("/usr/lib/libx.so", "main", 0x12);
	expect_place(&loc, false, "main+0x12");
	loc = at("/usr/lib/libx.so", "", 0);
	expect_place(&loc, false, "libx.so+0x1234");
	loc = at("[heap]", "", 0);
	expect_place(&loc, false, "0x7f0000001234 [heap]");
	loc = at("", "", 0);
	expect_place(&loc, false, "0x7f0000001234");
}

static void names_from_outside_are_escaped(void **state)
{
	struct location loc = at("/x/\x1b[2J", "", 0);
	(void)state;

	expect_place(&loc, false, "\\x1b[2J+0x1234");
	loc = at("/x/y", "evil\x1b]0;title\x07", 1);
	expect_place(&loc, true, "evil\\x1b]0;title\\x07+0x1");
	loc = at("/x/y",
		 "\xc2\x9b"
		 "31m",
		 0); /* CSI as one C1 character */
	expect_place(&loc, false, "\\xc2\\x9b31m");
}

static void names_without_end_are_cut(void **state)
{
	char name[2000] = "", expected[1100];
	struct location loc = at("/x/y", name, 0x12);
	(void)state;

	memset(name, 'n', sizeof name);
	memcpy(name + 999, "\xc3\xa4", 2); /* of which no half is shown */
	name[1500] = '\0';
	snprintf(expected, sizeof expected, "%.999s...+0x12", name);
	expect_place(&loc, false, expected);
	name[998] = '\0';
	snprintf(expected, sizeof expected, "%.998s+0x12", name);
	expect_place(&loc, false, expected);
}

static void long_cxx_names_are_shortened(void **state)
{
	static const struct {
		const char *name, *brief;
	} cases[] = {
		{"short(int)", "short(int)"},
		{"shop::total(std::vector<int, std::allocator<int> > const&, long)", "shop::total"},
		{"std::vector<int, std::allocator<int> >::push_back(int const&)",
		 "std::vector<...>::push_back"},
		{"(anonymous namespace)::helper(std::map<int, int> const&, int)",
		 "(anonymous namespace)::helper"},
		{"std::ostream& operator<<(std::ostream&, some::very::long::name)",
		 "std::ostream& operator<<"},
		{"holder<int, int, int>::operator()(std::string const&, int, int)",
		 "holder<int, int, int>::operator()"},
		{"shelf<int>::operator<(shelf<int, long, char, short, unsigned> const&)",
		 "shelf<int>::operator<"},
		{"<std::collections::HashMap<K,V> as core::ops::Index<&Q>>::index",
		 "<std::collections::HashMap<...> as core::ops::Index<...>>::index"},
		{"<(usize, usize) as shop::Total<Vec<u8>>>::total::{closure#0}(x)",
		 "<(usize, usize) as shop::Total<...>>::total::{closure#0}"},
		{"unbalanced<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<",
		 "unbalanced<..."},
	};
	char out[120];
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		text_brief_name(out, sizeof out, cases[i].name);
		assert_string_equal(out, cases[i].brief);
	}
	text_brief_name(out, 8, cases[1].name);
	assert_int_equal(strlen(out), 7);
}

static void width_counts_characters(void **state)
{
	struct text t = {.utf8 = true};
	(void)state;

	text_outside(&t, "gr\xc3\xb6\xc3\x9f"
			 "e");
	assert_int_equal(text_width(&t, 0), 5);
	text_pad(&t, 0, 8);
	assert_int_equal(text_width(&t, 0), 8);
	buf_release(&t.buf);
}

static void signals_and_calls_have_names(void **state)
{
	char name[SIGNAL_NAME_MAX], call[SYSCALL_NAME_MAX], text[IN_SYSCALL_MAX];
	(void)state;

	assert_string_equal(signal_name(11, name), "SIGSEGV");
	assert_string_equal(signal_name(37, name), "SIGRTMIN+3");
	assert_string_equal(signal_name(0, name), "signal 0");
	assert_string_equal(signal_name(UINT32_MAX, name), "signal 4294967295");
	assert_string_equal(signal_code_name(11, 1, name), "SEGV_MAPERR");
	assert_string_equal(signal_code_name(11, (uint32_t)-6, name), "SI_TKILL");
	assert_string_equal(signal_code_name(7, 0x80, name), "SI_KERNEL");
	assert_string_equal(signal_code_name(11, 99, name), "99");
	assert_string_equal(syscall_name(0, call), "read");
	assert_string_equal(syscall_name(231, call), "exit_group");
	assert_string_equal(syscall_name(100000, call), "system call 100000");
	assert_string_equal(in_syscall(&(struct bt_regs){.orig_rax = 202}, text),
			    "in the system call futex");
	assert_string_equal(in_syscall(&(struct bt_regs){.orig_rax = 9999}, text),
			    "in system call 9999");
	assert_string_equal(in_syscall(&(struct bt_regs){.orig_rax = 202, .cs = 0x23}, text),
			    "in 32-bit system call 202");
	assert_string_equal(in_syscall(&(struct bt_regs){.orig_rax = UINT64_MAX}, text),
			    "in a system call");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_is_named_as_well_as_it_is_known),
		cmocka_unit_test(names_from_outside_are_escaped),
		cmocka_unit_test(names_without_end_are_cut),
		cmocka_unit_test(long_cxx_names_are_shortened),
		cmocka_unit_test(width_counts_characters),
		cmocka_unit_test(signals_and_calls_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
