// SPDX-License-Identifier: MIT
// A field that is only set on one of two ways.
#include <stdio.h>
#include <string.h>

struct request {
	char verb[8];
	const char *path;
	const char *body;
};

static void warm_up(void)
{
	volatile char scratch[256];

	memset((void *)scratch, 0xAB, sizeof scratch);
}

static size_t body_size(const struct request *request)
{
	size_t size = 0;

	while (request->body[size]) // HERE
		size++;
	return size;
}

static size_t handle(const char *line)
{
	struct request request;

	snprintf(request.verb, sizeof request.verb, "%.4s", line);
	request.path = strchr(line, '/');
	if (strcmp(request.verb, "POST") == 0)
		request.body = strstr(line, "  ");
	return body_size(&request);
}

int main(void)
{
	size_t size;

	warm_up();
	size = handle("GET  / HTTP/1.1");
	printf("%zu\n", size);
	return 0;
}
