/* SPDX-License-Identifier: MIT */
#include "collector/space/world.h"

#include <elf.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "collector/tracee/tracee.h"

enum {
	AUXV_MAX = 64,
	STACK_WORDS_MAX = 1 << 20, /* arguments and environment before the auxiliary vector */
};

/* The auxiliary vector lies behind argc, argv, NULL, envp, NULL (System V AMD64 ABI, 3.4.1). 0 when
 * it is not found. */
static uint64_t find_auxv(pid_t tid, uint64_t sp)
{
	uint64_t word, at = sp + 8;
	int nulls = 0;

	for (int i = 0; i < STACK_WORDS_MAX && nulls < 2; i++, at += 8) {
		if (tracee_read(tid, at, &word, 8) != 8)
			return 0;
		nulls += word == 0;
	}
	return at;
}

/* Where the auxiliary vector of the task, which stands before its program's first instruction, has
 * an entry of this type, and its value. 0: it has none. */
static uint64_t find_entry(pid_t tid, uint64_t type, uint64_t *value)
{
	struct bt_regs regs;
	uint64_t at, pair[2] = {1, 0};

	if (tracee_get_regs(tid, &regs))
		return 0;
	at = find_auxv(tid, regs.rsp);
	for (int i = 0; at && i < AUXV_MAX && pair[0] != AT_NULL; i++, at += sizeof pair) {
		if (tracee_read(tid, at, pair, sizeof pair) != sizeof pair)
			return 0;
		*value = pair[1];
		if (pair[0] == type)
			return at;
	}
	return 0;
}

void world_hide_vdso(pid_t tid)
{
	const uint64_t ignored[2] = {AT_IGNORE, 0};
	uint64_t value, at = find_entry(tid, AT_SYSINFO_EHDR, &value);

	if (at)
		tracee_write(tid, at, ignored, sizeof ignored);
}

int world_make_deterministic(pid_t tid)
{
	static const uint8_t fixed_random[16] = "btrec's 16 bytes";
	const uint64_t reserve[6] = {WORLD_RESERVED_START,
				     WORLD_RESERVED_SIZE,
				     PROT_NONE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE |
					     MAP_NORESERVE,
				     UINT64_MAX,
				     0};
	uint64_t random;

	if (find_entry(tid, AT_RANDOM, &random))
		tracee_write(tid, random, fixed_random, sizeof fixed_random);
	world_hide_vdso(tid);
	return tracee_syscall(tid, SYS_mmap, reserve) == (long)WORLD_RESERVED_START ? 0
										    : -BT_E_GONE;
}
