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

/* The stack of a program that has not begun, of words of 8 bytes, or of 4 where its code is 32-bit
 * (System V ABI of AMD64, 3.4.1, and of Intel386, figure 3-31). */
struct first_stack {
	pid_t tid;
	size_t word;
	uint64_t auxv; /* where the auxiliary vector is; 0: it was not found */
};

static bool read_word(const struct first_stack *s, uint64_t at, uint64_t *out)
{
	*out = 0; /* x86 is little-endian */
	return tracee_read(s->tid, at, out, s->word) == s->word;
}

/* The auxiliary vector lies behind argc, argv, NULL, envp, NULL. */
static struct first_stack find_auxv(pid_t tid)
{
	struct first_stack s = {.tid = tid};
	struct bt_regs regs;
	uint64_t word, at;
	int nulls = 0;

	if (tracee_get_regs(tid, &regs))
		return s;
	s.word = tracee_is_in_64_bit(&regs) ? 8 : 4;
	at = regs.rsp + s.word;
	for (int i = 0; i < STACK_WORDS_MAX && nulls < 2; i++, at += s.word) {
		if (!read_word(&s, at, &word))
			return s;
		nulls += word == 0;
	}
	s.auxv = at;
	return s;
}

/* Where the vector has an entry of this type, and its value. 0: it has none. */
static uint64_t find_entry(const struct first_stack *s, uint64_t type, uint64_t *value)
{
	uint64_t at = s->auxv, found = AT_IGNORE;

	for (int i = 0; at && i < AUXV_MAX && found != AT_NULL; i++, at += 2 * s->word) {
		if (!read_word(s, at, &found) || !read_word(s, at + s->word, value))
			return 0;
		if (found == type)
			return at;
	}
	return 0;
}

static void ignore_entry(const struct first_stack *s, uint64_t type)
{
	const uint64_t ignored = AT_IGNORE, none = 0;
	uint64_t value, at = find_entry(s, type, &value);

	if (at && tracee_write(s->tid, at, &ignored, s->word))
		tracee_write(s->tid, at + s->word, &none, s->word);
}

void world_hide_vdso(pid_t tid)
{
	const struct first_stack stack = find_auxv(tid);

	ignore_entry(&stack, AT_SYSINFO_EHDR);
	/* 32-bit programs make their system calls there (vdso(7), i386). */
	if (stack.word == 4)
		ignore_entry(&stack, AT_SYSINFO);
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
	const struct first_stack stack = find_auxv(tid);
	uint64_t random;

	if (find_entry(&stack, AT_RANDOM, &random))
		tracee_write(tid, random, fixed_random, sizeof fixed_random);
	world_hide_vdso(tid);
	return tracee_syscall(tid, SYS_mmap, reserve) == (long)WORLD_RESERVED_START ? 0
										    : -BT_E_GONE;
}
