// SPDX-License-Identifier: MIT
// A host name that is longer than the author thought.
#include <stdio.h>
#include <string.h>

struct address {
	char host[256];
	int port;
};

static int address_parse(const char *text, struct address *address)
{
	char host[16];
	const char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : strlen(text);

	for (size_t i = 0; i < length; i++)
		host[i] = text[i];
	host[length] = 0;
	strcpy(address->host, host);
	address->port = colon ? 1 : 80;
	return 0;
} // HERE

static void connect_to(const char *text)
{
	struct address address;

	if (address_parse(text, &address) == 0)
		printf("%s port %d\n", address.host, address.port);
}

int main(void)
{
	connect_to("localhost:8080");
	connect_to("a-rather-long-name.of.some.machine.example.org:8080");
	return 0;
}
