// SPDX-License-Identifier: MIT
// The data base is not there.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int database_connect(const char *host, unsigned short port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		return -1;
	inet_pton(AF_INET, host, &address.sin_addr);
	if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
		perror("connect");
		close(fd);
		return -1;
	}
	return fd;
}

static int query(const char *text)
{
	int fd = database_connect("127.0.0.1", 9);

	if (fd < 0)
		return 2;
	dprintf(fd, "%s\n", text);
	close(fd);
	return 0;
}

int main(void)
{
	int status = query("select 1");

	if (status != 0)
		exit(status); // HERE
	return 0;
}
