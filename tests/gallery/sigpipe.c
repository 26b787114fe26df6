// SPDX-License-Identifier: MIT
// The other side hangs up in the middle.
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct client {
	int fd;
	unsigned long sent;
};

static int client_send(struct client *client, const char *text)
{
	ssize_t done = write(client->fd, text, strlen(text)); // HERE

	if (done < 0)
		return -1;
	client->sent += (unsigned long)done;
	return 0;
}

static int serve(struct client *client, int peer)
{
	char head[16];

	for (int line = 0; line < 5; line++) {
		if (client_send(client, "and another line\n") != 0)
			return 1;
		if (line == 2) {
			if (read(peer, head, sizeof head) < 0)
				return 1;
			close(peer);
		}
	}
	return 0;
}

int main(void)
{
	int ends[2];
	struct client client = { 0, 0 };

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return 1;
	client.fd = ends[0];
	return serve(&client, ends[1]);
}
