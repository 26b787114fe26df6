/* SPDX-License-Identifier: MIT */
/* The system calls that shape the host are made at the gate, a page of ours in the reserved range
 * with a syscall instruction, for the program's own code may not be there. */
#include "collector/replay/host.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "collector/space/mappings.h"
#include "collector/space/world.h"
#include "collector/tracee/tracee.h"
#include "format/log.h"
#include "lib/canonical.h"
#include "lib/page.h"

#ifndef SYS_close_range
#define SYS_close_range 436 /* Linux 5.9 */
#endif

#define GATE (WORLD_RESERVED_START + WORLD_RESERVED_SIZE - BT_PAGE)

enum { PROTS = PROT_READ | PROT_WRITE | PROT_EXEC };

static bool map_gate(pid_t tid)
{
	static const uint8_t code[] = {0x0f, 0x05, 0xcc}; /* syscall; int3 */
	const uint64_t args[6] = {GATE,
				  BT_PAGE,
				  PROT_READ | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
				  UINT64_MAX,
				  0};

	return tracee_syscall(tid, SYS_mmap, args) == (long)GATE &&
	       tracee_write(tid, GATE, code, sizeof code);
}

/* All but the gate. The kernel does not let go of [vsyscall]. */
static bool unmap_all(pid_t tid)
{
	struct mapping_list all = {0};
	bool ok = mappings_read(tid, &all);

	for (size_t i = 0; ok && i < all.count; i++) {
		const struct mapping *m = &all.maps[i];
		const uint64_t args[6] = {m->start, m->end - m->start};

		if (m->start != GATE && m->end <= BT_USER_END)
			ok = !tracee_syscall(tid, SYS_munmap, args);
	}
	mappings_release(&all);
	return ok;
}

int host_empty(pid_t tid, struct bt_error *err)
{
	const uint64_t all[6] = {0, UINT32_MAX, 0};
	struct tracee_lent lent;
	bool ok;

	if (!map_gate(tid))
		return bt_fail(err, BT_E_IO, 0, "cannot map the replaying process's own page");
	tracee_lend_syscall(tid, GATE, &lent);
	ok = !tracee_syscall(tid, SYS_close_range, all) && unmap_all(tid);
	if (tracee_take_back_syscall(tid, &lent))
		return -BT_E_GONE;
	return ok ? 0 : bt_fail(err, BT_E_IO, 0, "cannot empty the replaying process");
}

/* A range that the program can have: nothing of ours lies in it. */
static bool is_programs(uint64_t start, uint64_t end)
{
	return start < end && end <= BT_USER_END && !((start | end) % BT_PAGE) &&
	       (end <= WORLD_RESERVED_START || start >= WORLD_RESERVED_START + WORLD_RESERVED_SIZE);
}

static long make_call(pid_t tid, long nr, const uint64_t args[6])
{
	struct tracee_lent lent;
	long rc;

	tracee_lend_syscall(tid, GATE, &lent);
	rc = tracee_syscall(tid, nr, args);
	return tracee_take_back_syscall(tid, &lent) ? -1 : rc;
}

bool host_shape(pid_t tid, const struct bt_record_log_shape *s)
{
	uint64_t len = s->end - s->start, prot = s->prot & PROTS;
	const uint64_t map[6] = {s->start,
				 len,
				 prot,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE |
					 (s->grows ? MAP_GROWSDOWN : 0),
				 UINT64_MAX,
				 0};
	const uint64_t unmap[6] = {s->start, len}, protect[6] = {s->start, len, prot};
	const uint64_t move[6] = {s->from, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, s->start};

	if (!is_programs(s->start, s->end))
		return false;
	switch (s->what) {
	case BT_SHAPE_MAP:
		return make_call(tid, SYS_mmap, map) == (long)s->start;
	case BT_SHAPE_UNMAP:
		return !make_call(tid, SYS_munmap, unmap);
	case BT_SHAPE_PROTECT:
		return !make_call(tid, SYS_mprotect, protect);
	case BT_SHAPE_MOVE:
		return is_programs(s->from, s->from + len) &&
		       make_call(tid, SYS_mremap, move) == (long)s->start;
	default:
		return false;
	}
}

bool host_write(pid_t tid, uint64_t addr, struct slice bytes)
{
	return addr + bytes.len <= BT_USER_END && addr + bytes.len >= addr &&
	       (addr + bytes.len <= WORLD_RESERVED_START ||
		addr >= WORLD_RESERVED_START + WORLD_RESERVED_SIZE) &&
	       tracee_write(tid, addr, bytes.at, bytes.len);
}
