/* SPDX-License-Identifier: MIT */
/* falls_back FILE: reads a file's begin by io_uring, else by io_submit(2), else by pread(2), as libraries do where the
 * kernel is built without the first two. Asks for the link of lo by a request whose number has no size, through an address in
 * its structure. Prints what it got, and by which way. */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425 /* asm/unistd_64.h since Linux 5.1 */
#endif

static void ask_link(void)
{
	struct ethtool_value *value = calloc(1, 1 << 16);
	struct ifreq request = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), result;

	value[700].cmd = ETHTOOL_GLINK;
	value[700].data = 99;
	request.ifr_data = (void *)&value[700];
	result = ioctl(fd, SIOCETHTOOL, &request);
	printf("request %d, link %u\n", result, value[700].data);
	close(fd);
	free(value);
}

int main(int argc, char **argv)
{
	static uint64_t parameters[15]; /* struct io_uring_params */
	char text[17] = "";
	aio_context_t queue = 0;
	int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	long ring, error;

	if (fd < 0)
		return 2;
	ring = syscall(SYS_io_uring_setup, 4, parameters);
	error = ring < 0 ? errno : 0;
	printf("io_uring_setup %s\n", error == ENOSYS ? "is not there" : "is there");
	if (syscall(SYS_io_setup, 4, &queue)) {
		printf("io_setup %s\n", errno == ENOSYS ? "is not there" : "fails");
		printf("pread %zd %s\n", pread(fd, text, sizeof text - 1, 0), text);
	} else {
		struct iocb cb = {.aio_fildes = (uint32_t)fd, .aio_lio_opcode = IOCB_CMD_PREAD,
				  .aio_buf = (uint64_t)(uintptr_t)text, .aio_nbytes = sizeof text - 1}, *list = &cb;
		struct io_event event = {0};

		syscall(SYS_io_submit, queue, 1, &list);
		syscall(SYS_io_getevents, queue, 1, 1, &event, NULL);
		printf("io_submit %lld %s\n", (long long)event.res, text);
	}
	ask_link();
	return 0;
}
