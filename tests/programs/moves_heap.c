/* SPDX-License-Identifier: MIT */
/* Has its heap go on elsewhere, behind pages of its own (prctl(2), PR_SET_MM_MAP), lets it grow and shrink there, and prints what
 * those pages hold. 77: the kernel has no such call (CONFIG_CHECKPOINT_RESTORE). */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, OWN = 16 * PAGE, FIELDS = 52 };

/* The fields of /proc/self/stat by their numbers in proc_pid_stat(5), from the third on. */
static int read_fields(uint64_t field[FIELDS])
{
	FILE *file = fopen("/proc/self/stat", "r");
	char text[2048] = "", *at;
	size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;

	if (file)
		fclose(file);
	at = n ? strrchr(text, ')') : NULL;
	at = at ? strtok(at + 1, " ") : NULL;
	for (int i = 3; i < FIELDS && at; i++, at = strtok(NULL, " "))
		field[i] = strtoull(at, NULL, 10);
	return at != NULL;
}

int main(void)
{
	uint64_t field[FIELDS] = {0}, end = (uint64_t)syscall(SYS_brk, 0);
	struct prctl_mm_map map = {.exe_fd = (uint32_t)-1};
	char *own, *grown;

	if (!read_fields(field))
		return 2;
	own = mmap((void *)((end + (16 << 20)) & ~(uint64_t)(PAGE - 1)), OWN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (own == MAP_FAILED)
		return 2;
	memset(own, 'o', OWN);
	map.start_code = field[26];
	map.end_code = field[27];
	map.start_stack = field[28];
	map.start_data = field[45];
	map.end_data = field[46];
	map.arg_start = field[48];
	map.arg_end = field[49];
	map.env_start = field[50];
	map.env_end = field[51];
	map.start_brk = (uint64_t)(uintptr_t)own;
	map.brk = (uint64_t)(uintptr_t)own + OWN;
	if (prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0))
		return 77;
	grown = (char *)syscall(SYS_brk, own + OWN + 2 * PAGE);
	if (grown != own + OWN + 2 * PAGE)
		return 3;
	memset(own + OWN, 'g', 2 * PAGE);
	if (write(1, own + OWN - 4, 8) != 8 || (char *)syscall(SYS_brk, own + OWN - PAGE) != own + OWN - PAGE)
		return 3;
	return write(1, own, 4) != 4 || write(1, own + OWN - PAGE, 1) != -1;
}
