/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/function_name.h"

#include <stdio.h>
#include <string.h>

#include "lib/array_size.h"
#include "tests/unit/unit.h"

static void expect(const char *name, const char *plain)
{
	char out[FUNCTION_NAME_MAX];

	if (strcmp(function_name_plain(out, name), plain))
		fail_msg("%s: %s, expected %s", name, out, plain);
}

static void parameters_and_template_arguments_go(void **state)
{
	(void)state;
	expect("main", "main");
	expect("shop::total(int, char const*)", "shop::total");
	expect("int list::sum<node>(node*)", "list::sum");
	expect("unsigned long f<std::vector<int, std::allocator<int> > >(int (*)(int)) const", "f");
	expect("std::map<int, int>::at(int const&) const &", "std::map::at");
	expect("name[abi:cxx11](int)", "name");
	expect("(anonymous namespace)::f(int)", "(anonymous namespace)::f");
	expect("f(int)::local::g(char)", "f::local::g");
}

static void operators_stay(void **state)
{
	(void)state;
	expect("box::operator()(int) const", "box::operator()");
	expect("std::ostream& operator<< <char>(std::ostream&, char)", "operator<<");
	expect("box::operator->() const", "box::operator->");
	expect("bool operator< <int>(a<int>, a<int>)", "operator<");
	expect("box::operator[](unsigned long)", "box::operator[]");
	expect("box::operator bool() const", "box::operator bool");
	expect("operator new(unsigned long)", "operator new");
}

static void lambdas_have_no_number(void **state)
{
	(void)state;
	expect("f(int)::{lambda(int)#2}::operator()(int) const", "f::{lambda}::operator()");
	expect("f(int)::$_1::operator()(int) const", "f::{lambda}::operator()");
	expect("f(int)::'lambda0'(int)::operator()(int) const", "f::{lambda}::operator()");
	expect("f::<lambda(int)>::operator()", "f::{lambda}::operator()");
	expect("f::(anonymous class)::operator()", "f::{lambda}::operator()");
}

static void what_compilers_append_goes(void **state)
{
	static const char *const names[] = {
		"parse.cold",       "parse.part.0",      "parse.constprop.0.isra.1",
		"parse.lto_priv.0", "parse.llvm.123456", "parse(int) [clone .cold]",
		"parse.localalias"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		expect(names[i], "parse");
}

static void other_languages_names_stay(void **state)
{
	(void)state;
	expect("main.(*Tree).insert", "main.(*Tree).insert");
	expect("main.run.func1", "main.run.func1");
	expect("main.Map[go.shape.int]", "main.Map");
	expect("shop::total::<i32>", "shop::total");
	expect("<shop::Cart<i32> as shop::Total>::total", "<shop::Cart as shop::Total>::total");
	expect("shop::total::{{closure}}", "shop::total::{{closure}}");
}

static void any_text_can_be_given(void **state)
{
	static const char *const pieces[] = {"(",    ")",      "<",       ">",
					     "[",    "]",      "{",       "}",
					     "->",   " ",      ":",       "'",
					     ".",    "$_",     "f",       "operator",
					     "",     " const", "{lambda", "(anonymous class)",
					     ".cold"};
	char name[3 * FUNCTION_NAME_MAX], out[FUNCTION_NAME_MAX];

	(void)state;
	for (unsigned seed = 1; seed < 20000; seed++) {
		unsigned x = seed;

		*name = '\0';
		for (unsigned i = 0; i < 1 + seed % 9; i++) {
			x = x * 1103515245u + 12345u;
			strcat(name, pieces[(x >> 16) % ARRAY_SIZE(pieces)]);
		}
		assert_ptr_equal(function_name_plain(out, name), out);
		assert_true(strlen(out) < sizeof out);
		assert_true(function_name_written(name) <= strlen(name));
	}
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	assert_int_equal(strlen(function_name_plain(out, name)), sizeof out - 1);
}

static void what_is_written_keeps_its_parameters(void **state)
{
	static const struct {
		const char *name, *written;
	} rows[] = {
		{"parse.cold", "parse"},
		{"parse.part.0.cold", "parse"},
		{"parse.constprop.0.isra.1", "parse"},
		{"parse.llvm.123456", "parse"},
		{"parse(int) [clone .cold]", "parse(int)"},
		{"parse(int) [clone .isra.0] [clone .cold]", "parse(int)"},
		{"parse(int) const", "parse(int) const"},
		{"main.coldStart", "main.coldStart"},
		{"main.(*T).part", "main.(*T).part"},
		{"main.main.func1", "main.main.func1"},
		{".cold", ".cold"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (function_name_written(rows[i].name) != strlen(rows[i].written))
			fail_msg("%s: %zu characters", rows[i].name,
				 function_name_written(rows[i].name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parameters_and_template_arguments_go),
		cmocka_unit_test(operators_stay),
		cmocka_unit_test(lambdas_have_no_number),
		cmocka_unit_test(what_compilers_append_goes),
		cmocka_unit_test(other_languages_names_stay),
		cmocka_unit_test(what_is_written_keeps_its_parameters),
		cmocka_unit_test(any_text_can_be_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
