/* SPDX-License-Identifier: MIT */
/* splices_out HOW: writes to its standard output by write(2) and by
 * memory: vmsplice(2), to a pipe;
 * pipe: splice(2) and tee(2), to a pipe, out of one that holds what is to be written;
 * socket: splice(2), to a pipe, out of a socket;
 * made: sendfile(2), or else read(2) and write(2), out of a file that is made when it is read, of 37 bytes, each time other ones;
 * messages: sendto(2), sendmsg(2) and sendmmsg(2), to a socket;
 * null: not at all; to its standard error, /dev/null, and to the same file, opened by itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static int by_memory(void)
{
	const struct iovec pieces[] = {{"spliced, ", 9}, {"second piece\n", 13}};

	return vmsplice(1, pieces, 2, 0) != 22;
}

/* More than a log's piece, and a rest that stays in the pipe. */
static int by_pipe(void)
{
	static char much[20000];
	int own[2];

	memset(much, 'm', sizeof much);
	if (pipe(own) || write(own[1], "one, two, three\n", 16) != 16)
		return 1;
	if (splice(own[0], NULL, 1, NULL, 5, 0) != 5 || tee(own[0], 1, 5, 0) != 5 || splice(own[0], NULL, 1, NULL, 100, 0) != 11)
		return 1;
	return write(own[1], much, sizeof much) != sizeof much || splice(own[0], NULL, 1, NULL, sizeof much, 0) != sizeof much;
}

static int by_socket(void)
{
	int own[2];

	return socketpair(AF_UNIX, SOCK_STREAM, 0, own) || write(own[1], "unseen\n", 7) != 7 || splice(own[0], NULL, 1, NULL, 100, 0) != 7;
}

static int by_made(void)
{
	int fd = open("/proc/sys/kernel/random/uuid", O_RDONLY);
	ssize_t n = sendfile(1, fd, NULL, 100);
	char bytes[100];

	if (n < 0 && errno == EINVAL)
		n = write(1, bytes, (size_t)read(fd, bytes, sizeof bytes));
	return n != 37;
}

static int by_messages(void)
{
	struct iovec pieces[] = {{"a message ", 10}, {"of two\n", 7}}, more[] = {{"second\n", 7}, {"third\n", 6}};
	struct mmsghdr many[] = {{.msg_hdr = {.msg_iov = &more[0], .msg_iovlen = 1}}, {.msg_hdr = {.msg_iov = &more[1], .msg_iovlen = 1}}};
	struct msghdr one = {.msg_iov = pieces, .msg_iovlen = 2};

	return sendto(1, "sent\n", 5, 0, NULL, 0) != 5 || sendmsg(1, &one, 0) != 17 || sendmmsg(1, many, 2, 0) != 2;
}

static int by_null(void)
{
	int own = open("/dev/null", O_WRONLY), copy = dup(2);

	for (int i = 0; i < 3; i++)
		if (write(own, "not its standard error\n", 23) != 23 || write(copy, "error\n", 6) != 6)
			return 1;
	return dup2(own, 1) != 1 || write(1, "not seen\n", 9) != 9;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*give)(void);
	} ways[] = {{"memory", by_memory}, {"pipe", by_pipe}, {"socket", by_socket}, {"made", by_made}, {"messages", by_messages}, {"null", by_null}};
	int end = 2;

	for (unsigned i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++)
		if (!strcmp(argv[1], ways[i].name))
			end = write(1, "first\n", 6) != 6 ? 1 : ways[i].give();
	return end ? end : write(1, "last\n", 5) != 5;
}
