// SPDX-License-Identifier: MIT
// A callback gets a pointer to a local variable of a function that has returned.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
	const char *path;
	void (*done)(struct request *);
	char **headers;
};

static struct request *pending;

static void print_first(struct request *request)
{
	printf("%c\n", request->headers[0][0]); // HERE
}

static void request_start(const char *path)
{
	char *headers[4] = { "Host: a", "Accept: b", NULL, NULL };
	struct request request = { path, print_first, headers };

	pending = &request;
}

static int noise(int depth)
{
	volatile unsigned long filler[64];

	for (int i = 0; i < 64; i++)
		filler[i] = 0x20 + (unsigned long)depth;
	return (int)filler[3];
}

int main(void)
{
	struct request copy;
	int sum;

	request_start("/index");
	copy = *pending;
	sum = noise(1);
	copy.done(&copy);
	return sum;
}
