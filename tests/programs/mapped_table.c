/* SPDX-License-Identifier: MIT */
/* Maps a table of bpf(2), changes it by calls, and prints what the mapping has then. 77: it cannot have one. */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, MAPPABLE = 1 << 10 }; /* BPF_F_MMAPABLE, Linux 5.5 */

int main(void)
{
	union bpf_attr made = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = PAGE / 8, .map_flags = MAPPABLE}, set = {.map_fd = 0};
	int fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &made, sizeof made);
	volatile uint64_t *table = fd < 0 ? MAP_FAILED : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint64_t value = 0;

	if (table == MAP_FAILED)
		return 77;
	set.map_fd = (uint32_t)fd;
	set.value = (uint64_t)(uintptr_t)&value;
	for (uint32_t i = 0; i < 3; i++) {
		set.key = (uint64_t)(uintptr_t)&i;
		if (getrandom(&value, sizeof value, 0) != sizeof value || syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &set, sizeof set))
			return 1;
		printf("%d %lx\n", table[i] == value, (unsigned long)table[i]);
	}
	return 0;
}
