// SPDX-License-Identifier: MIT
// A generator of a build: makes a header of a list of names. A line has no value.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *value_of(char *line)
{
	char *space = strchr(line, ' ');

	*space = 0; // HERE
	return space + 1;
}

static void define(char *line)
{
	char *value = value_of(line);

	printf("#define %s %d\n", line, atoi(value));
}

int main(int argc, char **argv)
{
	FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
	char line[80];

	if (!file)
		return 1;
	while (fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = 0;
		define(line);
	}
	fclose(file);
	return 0;
}
