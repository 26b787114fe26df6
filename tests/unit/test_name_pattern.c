/* SPDX-License-Identifier: MIT */
#include "lib/name_pattern.h"

#include <string.h>

#include "lib/array_size.h"
#include "tests/unit/unit.h"

static void names_are_found_as_people_write_them(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool matches;
	} cases[] = {
		{"emit", "app::Bus::emit(int)", true},
		{"Bus::emit", "app::Bus::emit(int)", true},
		{"app::Bus::emit", "app::Bus::emit(int)", true},
		{"us::emit", "app::Bus::emit(int)", false},
		{"Bus", "app::Bus::emit(int)", false},
		{"emi", "app::Bus::emit(int)", false},
		{"Bus::emit", "app::Bus<int, std::pair<int, char> >::emit(char const*) const",
		 true},
		{"Bus<int>::emit", "app::Bus<int>::emit(char)", true},
		{"Bus<int>::emit", "app::Bus<char>::emit(char)", false},
		{"emit", "void app::emit<int>(int)", true},
		{"app::emit", "std::vector<int> app::emit<int>(int)", true},
		{"vector", "std::vector<int> app::emit<int>(int)", false},
		{"emit(int)", "app::Bus::emit(int)", true},
		{"Bus::emit(int,char)", "app::Bus::emit(int, char)", true},
		{"emit(char)", "app::Bus::emit(int)", false},
		{"emit(int)", "int app::emit<int>(int)", false},
		{"::main", "main", true},
		{"::emit", "app::emit(int)", false},
		{"::app::emit", "app::emit(int)", true},
		{"Bus::*", "app::Bus::emit(int)", true},
		{"B?s::em*", "app::Bus::emit(int)", true},
		{"*", "main", true},
		{"*it", "app::Bus::emit(int)", true},
		{"*its", "app::Bus::emit(int)", false},
		{"hidden", "(anonymous namespace)::hidden(int)", true},
		{"app::hidden", "app::(anonymous namespace)::hidden(int)", true},
		{"operator<<", "app::operator<<(std::ostream&, app::Bus const&)", true},
		{"Bus::operator()", "app::Bus::operator()(int) const", true},
		{"operator<", "app::operator<<(std::ostream&, app::Bus const&)", false},
		{"Bus::operator bool", "app::Bus::operator bool() const", true},
		{"~Bus", "app::Bus::~Bus()", true},
		{"name", "app::name[abi:cxx11](int)", true},
		{"total", "<shop::Cart as shop::Priced>::total", true},
		{"Cart::total", "<shop::Cart as shop::Priced>::total", true},
		{"Cart::total", "<shop::Cart<i32>>::total", true},
		{"Priced::total", "<shop::Cart as shop::Priced>::total", false},
		{"checkout", "shop::checkout::h0123456789abcdef", true},
		{"checkout", "shop::checkout::hello", false},
		{"memcpy", "memcpy@plt", true},
		{"memcpy", "memcpy@@GLIBC_2.14", true},
		{"parse", "parse.constprop.0", true},
		{"worker", "main.worker", true},
		{"main", "main.worker", false},
		{"(*T).run", "main.(*T).run", true},
		{"main", "domain", false},
		{"domain", "main", false},
		{"", "main", false},
		{"operator", "operator", true},
		{"a", "<", false},
		{"a", "((", false},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (name_pattern_matches(cases[i].pattern, cases[i].name) != cases[i].matches)
			fail_msg("%s %s %s", cases[i].pattern,
				 cases[i].matches ? "does not find" : "finds", cases[i].name);
}

/* Globs of many stars take time in proportion to both lengths. */
static void a_long_name_and_many_stars_are_compared(void **state)
{
	static char name[3 * NAME_PATTERN_MAX], pattern[200];
	(void)state;

	memset(name, 'a', sizeof name - 1);
	for (size_t i = 0; i + 2 < sizeof pattern; i += 2)
		memcpy(pattern + i, "*a", 2);
	assert_true(name_pattern_matches(pattern, name));
	pattern[sizeof pattern - 2] = 'b';
	assert_false(name_pattern_matches(pattern, name));
}

static void a_part_that_mangled_names_have_is_found(void **state)
{
	static const struct {
		const char *pattern, *part;
	} cases[] = {{"Bus::emit", "emit"},   {"B*::em?t_all", "t_all"}, {"emit(integer)", "emit"},
		     {"Bus<integer>", "Bus"}, {"operator<<", ""},        {"*", ""},
		     {"~Bus", "Bus"}};
	char part[NAME_PATTERN_MAX];
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		name_pattern_certain_part(cases[i].pattern, part);
		assert_string_equal(part, cases[i].part);
	}
}

static void places_in_sources_are_told_from_names(void **state)
{
	size_t len;
	int line;
	(void)state;

	assert_true(source_position_parse("config.c:10", &len, &line));
	assert_int_equal(len, 8);
	assert_int_equal(line, 10);
	assert_false(source_position_parse("Bus::10", &len, &line));
	assert_false(source_position_parse("config.c:", &len, &line));
	assert_false(source_position_parse("config.c:1x", &len, &line));
	assert_false(source_position_parse("config.c:0", &len, &line));
	assert_false(source_position_parse(":1", &len, &line));
	assert_true(source_position_matches("config.c:10", "/src/config.c", 10));
	assert_true(source_position_matches("config.c:10", "config.c", 10));
	assert_true(source_position_matches("/src/config.c:10", "/src/config.c", 10));
	assert_false(source_position_matches("config.c:10", "/src/myconfig.c", 10));
	assert_false(source_position_matches("config.c:10", "/src/config.c", 11));
	assert_false(source_position_matches("/config.c:10", "/src/config.c", 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_found_as_people_write_them),
		cmocka_unit_test(a_long_name_and_many_stars_are_compared),
		cmocka_unit_test(a_part_that_mangled_names_have_is_found),
		cmocka_unit_test(places_in_sources_are_told_from_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
