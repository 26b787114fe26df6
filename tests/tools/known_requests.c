/* SPDX-License-Identifier: MIT */
/* known_requests: reads requests of ioctl from its standard input, hexadecimal, one a line, and
 * says of each, a line each, whether what the kernel writes for it is known, guessed or unknown,
 * as far as that does not depend on memory: all that it is asked for is zero. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "syscalls/syscall_names.h"
#include "syscalls/syscall_ranges.h"

static size_t read_zeros(void *arg, uint64_t at, void *bytes, size_t n)
{
	(void)arg;
	(void)at;
	memset(bytes, 0, n);
	return n;
}

int main(void)
{
	static const char *const words[] = {[SYSCALL_RANGES_UNKNOWN] = "unknown",
					    [SYSCALL_RANGES_GUESSED] = "guessed",
					    [SYSCALL_RANGES_KNOWN] = "known"};
	static struct syscall_range room[SYSCALL_RANGES_ENOUGH];
	const struct syscall_memory memory = {.read = read_zeros};
	uint64_t request;

	while (scanf("%" SCNx64, &request) == 1) {
		struct syscall_ranges found = {.room = SYSCALL_RANGES_ENOUGH, .ranges = room};

		syscall_ranges_enter(SYSCALL_NR_ioctl,
				     (const uint64_t[SYSCALL_ARGS]){3, request, 0x10000}, &memory,
				     &found);
		printf("%s\n", words[found.known]);
	}
	return 0;
}
