/* SPDX-License-Identifier: MIT */
/* no_message: asks sockets for messages with ancillary data where there are none, or fewer than it
 * asks for. Prints how many bytes of the room for that data the kernel has written: with SO_PASSCRED
 * some, though the call fails. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ROOM = 200, MARK = 0x55, MESSAGES = 2 };

static char room[MESSAGES][ROOM];

static void clear(struct mmsghdr *m, struct iovec *v)
{
	memset(room, MARK, sizeof room);
	memset(m, 0, MESSAGES * sizeof *m);
	for (int i = 0; i < MESSAGES; i++) {
		m[i].msg_hdr.msg_iov = v;
		m[i].msg_hdr.msg_iovlen = 1;
		m[i].msg_hdr.msg_control = room[i];
		m[i].msg_hdr.msg_controllen = ROOM;
	}
}

static void tell(const char *what, long result)
{
	int error = result < 0 ? errno : 0;

	printf("%s %ld %d:", what, result, error);
	for (int i = 0; i < MESSAGES; i++) {
		int written = 0;

		for (int k = 0; k < ROOM; k++)
			written += room[i][k] != MARK;
		printf(" %d", written);
	}
	putchar('\n');
}

int main(void)
{
	static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};

	for (int i = 0; i < 3; i++) {
		int pair[2], on = 1;
		char bytes[8];
		struct iovec v = {bytes, sizeof bytes};
		struct mmsghdr m[MESSAGES];

		if (socketpair(AF_UNIX, types[i], 0, pair) ||
		    setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on))
			return 2;
		clear(m, &v);
		tell("recvmsg", recvmsg(pair[0], &m[0].msg_hdr, MSG_DONTWAIT));
		clear(m, &v);
		tell("recvmmsg", recvmmsg(pair[0], m, MESSAGES, MSG_DONTWAIT, NULL));
		clear(m, &v);
		if (write(pair[1], "once", 4) != 4)
			return 2;
		tell("recvmmsg", recvmmsg(pair[0], m, MESSAGES, MSG_DONTWAIT, NULL));
		close(pair[0]);
		close(pair[1]);
	}
	return 0;
}
