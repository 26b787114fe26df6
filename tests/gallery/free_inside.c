// SPDX-License-Identifier: MIT
// A pointer that has moved on is freed.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *trimmed(char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

static void greet(const char *name)
{
	char *copy = trimmed(strdup(name));

	printf("hello, %s\n", copy);
	free(copy); // HERE
}

int main(void)
{
	greet("Ada");
	greet("  Grace");
	return 0;
}
