/* SPDX-License-Identifier: MIT */
/* Calls that write more than their result, or the length that they are given, says: in a call that
 * fails, that breaks off before memory which it cannot write, or whose structure has a count of its
 * own. Prints what is there behind each; a call that the kernel does not have counts as one that wrote
 * nothing. With an argument the memory that cannot be written is a guard (MADV_GUARD_INSTALL, Linux
 * 6.13). */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

enum { PAGE = 4096, SOURCES = 6, NODE = 0x2 | 0x4 | 0x80 /* FUTEX2_SIZE_U32, _NUMA, _PRIVATE */ };

/* Of much memory some bytes, as each instruction may be a stop. */
static void tell(const char *what, long result, const void *bytes, size_t n)
{
	unsigned sum = 0;

	for (size_t i = 0; i < n; i += n < PAGE ? 1 : 61)
		sum = sum * 31 + ((const unsigned char *)bytes)[i];
	printf("%s: %ld, %08x\n", what, result, sum);
}

/* Linux 6.16 writes the node of a futex that has none. */
static void write_nodes(void)
{
	static const struct timespec soon = {.tv_nsec = 1000};
	_Alignas(8) uint32_t one[2], two[2];
	struct {
		uint64_t value, futex;
		uint32_t flags, reserved;
	} waited[2] = {{5, (uintptr_t)one, NODE, 0}, {5, (uintptr_t)two, NODE, 0}};
	static const struct {
		const char *name;
		long nr;
	} calls[] = {{"futex_waitv", 449}, {"futex_wake", 454}, {"futex_wait", 455}, {"futex_requeue", 456}};

	for (unsigned i = 0; i < 4; i++) {
		long result;

		memset(one, 0xff, sizeof one);
		memset(two, 0xff, sizeof two);
		one[0] = two[0] = 0;
		result = i == 0   ? syscall(449, waited, 2, 0, &soon, 1)
			 : i == 1 ? syscall(454, one, 0xffffffff, 1, NODE)
			 : i == 2 ? syscall(455, one, 1, 0xffffffff, NODE, &soon, 1)
				  : syscall(456, waited, 0, 1, 0);
		tell(calls[i].name, result, one, sizeof one);
		tell("the other", 0, two, sizeof two);
	}
}

/* It fails behind the first of its two outputs. */
static void write_policy(void)
{
	static unsigned long nodes[2 * PAGE];
	int policy = -1;
	long result = syscall(SYS_get_mempolicy, &policy, nodes, 8 * sizeof nodes, NULL, 0);

	tell("get_mempolicy", result, &policy, sizeof policy);
}

/* The structure says how many sources there is room for. */
static void write_sources(void)
{
	const struct sockaddr_in group = {AF_INET, 0, {inet_addr("232.1.1.1")}, {0}};
	struct {
		struct ip_msfilter head;
		struct in_addr more[SOURCES];
	} filter;
	struct {
		struct group_filter head;
		struct sockaddr_storage more[SOURCES];
	} wide;
	int fd = socket(AF_INET, SOCK_DGRAM, 0), result;
	socklen_t n = IP_MSFILTER_SIZE(0);

	for (unsigned i = 0; i < SOURCES; i++) {
		const struct ip_mreq_source m = {.imr_multiaddr = group.sin_addr,
						 .imr_interface = {htonl(INADDR_LOOPBACK)},
						 .imr_sourceaddr = {htonl(0x7f000101 + i)}};

		setsockopt(fd, IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP, &m, sizeof m);
	}
	memset(&filter, 0x55, sizeof filter);
	filter.head.imsf_multiaddr = group.sin_addr;
	filter.head.imsf_interface.s_addr = htonl(INADDR_LOOPBACK);
	filter.head.imsf_numsrc = SOURCES;
	result = getsockopt(fd, IPPROTO_IP, IP_MSFILTER, &filter, &n);
	tell("IP_MSFILTER", result, &filter, sizeof filter);
	memset(&wide, 0x55, sizeof wide);
	wide.head.gf_interface = 1;
	memcpy(&wide.head.gf_group, &group, sizeof group);
	wide.head.gf_numsrc = SOURCES;
	n = offsetof(struct group_filter, gf_slist);
	result = getsockopt(fd, IPPROTO_IP, MCAST_MSFILTER, &wide, &n);
	tell("MCAST_MSFILTER", result, &wide, sizeof wide);
	close(fd);
}

static int guards;

/* Three pages, of which the last cannot be written. */
static char *pages_to_fill(void)
{
	char *at = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!guards)
		mprotect(at + 2 * PAGE, PAGE, PROT_READ);
	else if (madvise(at + 2 * PAGE, PAGE, MADV_GUARD_INSTALL))
		exit(77);
	return at;
}

/* The second message breaks off. */
static void write_messages(int type, int vectors)
{
	char *at = pages_to_fill(), message[PAGE * 3 / 2];
	struct iovec v[] = {{at, PAGE}, {at + PAGE, 2 * PAGE}};
	struct mmsghdr h[] = {{.msg_hdr = {.msg_iov = &v[0], .msg_iovlen = 1}},
			      {.msg_hdr = {.msg_iov = &v[1], .msg_iovlen = 1}}};
	int ends[2];
	long result;

	memset(message, 'm', sizeof message);
	if (socketpair(AF_UNIX, type, 0, ends) || write(ends[0], message, PAGE) != PAGE ||
	    write(ends[0], message, sizeof message) != (long)sizeof message)
		return;
	result = type == SOCK_DGRAM ? recvmmsg(ends[1], h, 2, MSG_DONTWAIT, NULL)
		 : vectors          ? readv(ends[1], v, 2)
				    : read(ends[1], at, 3 * PAGE);
	tell(type == SOCK_DGRAM ? "recvmmsg" : vectors ? "readv" : "read", result, at, 2 * PAGE);
	close(ends[0]);
	close(ends[1]);
}

/* Entries of a folder, of which the last breaks off. */
static void write_entries(void)
{
	enum { ROOM = 200 };
	char *at = pages_to_fill() + 2 * PAGE - ROOM;
	int fd = open("/", O_RDONLY | O_DIRECTORY);

	for (int i = 0; i < 8; i++) {
		long result = syscall(SYS_getdents64, fd, at + i, PAGE);

		tell("getdents64", result, at, ROOM);
		memset(at, 0, ROOM);
	}
	close(fd);
}

/* Memory that the stack grows into when the kernel writes there. */
static void write_deep(void)
{
	char below[1 << 18];
	int ends[2];

	if (!pipe(ends) && write(ends[1], "deep", 4) == 4) {
		long result = read(ends[0], below, sizeof below);

		tell("read into the stack", result, below, 4);
	}
}

int main(int argc, char **argv)
{
	(void)argv;
	guards = argc > 1;
	if (!guards) {
		write_nodes();
		write_policy();
		write_sources();
	}
	write_messages(SOCK_DGRAM, 0);
	write_messages(SOCK_STREAM, 0);
	write_messages(SOCK_STREAM, 1);
	write_entries();
	write_deep();
}
