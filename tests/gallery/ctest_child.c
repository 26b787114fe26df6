// SPDX-License-Identifier: MIT
// A test of a parser of numbers; it ends with a failed assertion for a large one.
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static int number_parse(const char *text)
{
	int number = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		number = (int)((unsigned)number * 10u + (unsigned)(*text - '0'));
	return number;
}

static void test_parse(const char *text)
{
	int number = number_parse(text);

	assert(number >= 0); // HERE
	printf("%s is %d\n", text, number);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		test_parse(argv[i]);
	return 0;
}
