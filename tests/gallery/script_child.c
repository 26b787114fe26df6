// SPDX-License-Identifier: MIT
// Called by a script: it cannot write where it is told to.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *output_open(const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file) {
		fprintf(stderr, "script_child: %s: %s\n", path, strerror(errno));
		exit(3); // HERE
	}
	return file;
}

int main(int argc, char **argv)
{
	FILE *file = output_open(argc > 1 ? argv[1] : "/dev/null");

	fputs("result\n", file);
	return fclose(file) != 0;
}
