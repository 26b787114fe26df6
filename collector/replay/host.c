/* SPDX-License-Identifier: MIT */
/* The system calls that shape the host are made at the gate, a page of ours in the reserved range
 * with a syscall instruction, for the program's own code may not be there. */
#include "collector/replay/host.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

#include "collector/replay/host_filter.h"
#include "collector/space/mappings.h"
#include "collector/space/world.h"
#include "collector/tracee/tracee.h"
#include "format/log_values.h"
#include "lib/array_size.h"
#include "lib/canonical.h"
#include "lib/insn.h"
#include "lib/page.h"

#ifndef SYS_close_range
#define SYS_close_range 436 /* Linux 5.9 */
#endif

#define GATE (WORLD_RESERVED_START + WORLD_RESERVED_SIZE - BT_PAGE)

enum {
	DESCRIPTORS = 4, /* the engine has the process make a memory file, and close it */
	PROTS = PROT_READ | PROT_WRITE | PROT_EXEC
};

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

/* Signals from outside wait while the host makes calls for us (tracee_syscall()). Returns its mask,
 * for tracee_set_mask(). */
static uint64_t hold_signals(pid_t tid)
{
	uint64_t mask = 0;

	(void)!tracee_get_mask(tid, &mask);
	(void)!tracee_set_mask(tid, UINT64_MAX);
	return mask;
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

/* Where memory is short the kernel ends this process, before any other (proc(5)). Without /proc it
 * goes without. */
static void offer_to_oom_killer(pid_t tid)
{
	char path[40];
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)tid);
	file = fopen(path, "we");
	if (!file)
		return;
	fputs("1000", file);
	fclose(file);
}

/* The soft limits that the process is to have are the hard ones, too: only calls that the filter
 * kills for could raise them. */
static bool limit_host(pid_t tid, uint64_t memory)
{
	const struct {
		__rlimit_resource_t resource;
		rlim_t most;
	} limits[] = {
		{RLIMIT_AS, memory ? memory : RLIM_INFINITY},
		{RLIMIT_DATA, RLIM_INFINITY},
		{RLIMIT_NOFILE, DESCRIPTORS},
		{RLIMIT_NPROC, 0},
		{RLIMIT_FSIZE, 0},
		{RLIMIT_CORE, 0},
		{RLIMIT_MEMLOCK, 0},
		{RLIMIT_MSGQUEUE, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct rlimit now, wanted;

		if (prlimit(tid, limits[i].resource, NULL, &now))
			return false;
		wanted.rlim_max = limits[i].most < now.rlim_max ? limits[i].most : now.rlim_max;
		wanted.rlim_cur = wanted.rlim_max;
		if (prlimit(tid, limits[i].resource, &wanted, NULL))
			return false;
	}
	offer_to_oom_killer(tid);
	return true;
}

/* The filter lies in the gate for that time. */
static bool install_filter(pid_t tid)
{
	const uint64_t at = GATE + BT_PAGE / 2, no_privileges[6] = {PR_SET_NO_NEW_PRIVS, 1},
		       install[6] = {PR_SET_SECCOMP, SECCOMP_MODE_FILTER, at};
	const struct sock_fprog program = {.len = (unsigned short)host_filter_length,
					   .filter = (struct sock_filter *)(uintptr_t)(at + 64)};
	const size_t size = host_filter_length * sizeof *host_filter;

	return size <= BT_PAGE / 2 - 64 && tracee_write(tid, at, &program, sizeof program) &&
	       tracee_write(tid, at + 64, host_filter, size) &&
	       !tracee_syscall(tid, SYS_prctl, no_privileges) &&
	       !tracee_syscall(tid, SYS_prctl, install);
}

uint64_t host_usual_memory(void)
{
	struct sysinfo machine;

	return sysinfo(&machine)
		       ? 0
		       : (machine.totalram + machine.totalswap) * (uint64_t)machine.mem_unit;
}

uint64_t host_room(pid_t tid, uint64_t memory, const char **by)
{
	static const struct {
		__rlimit_resource_t resource;
		const char *option;
	} of_shell[] = {{RLIMIT_AS, " (ulimit -Hv)"}, {RLIMIT_DATA, " (ulimit -Hd)"}};
	uint64_t room = memory ? memory : UINT64_MAX;

	*by = "";
	for (size_t i = 0; i < ARRAY_SIZE(of_shell); i++) {
		struct rlimit now;

		if (prlimit(tid, of_shell[i].resource, NULL, &now) || now.rlim_max >= room)
			continue;
		room = now.rlim_max;
		*by = of_shell[i].option;
	}
	return room;
}

uint64_t host_allowed_memory(uint64_t wanted)
{
	const char *by;
	uint64_t room = host_room(0, wanted, &by);

	return room == UINT64_MAX ? wanted : room;
}

static int confine_thread(pid_t tid, uint64_t memory, struct bt_error *err)
{
	const uint64_t all[6] = {0, UINT32_MAX, 0};
	struct tracee_lent lent;
	bool emptied, limited, filtered;

	if (!map_gate(tid))
		return bt_fail(err, BT_E_IO, 0, "cannot map the replaying process's own page");
	tracee_lend_syscall(tid, GATE, &lent);
	emptied = !tracee_syscall(tid, SYS_close_range, all) && unmap_all(tid);
	limited = emptied && limit_host(tid, memory);
	filtered = limited && install_filter(tid);
	if (tracee_take_back_syscall(tid, &lent))
		return bt_fail(err, BT_E_GONE, 0, "the replaying process was killed");
	return !emptied    ? bt_fail(err, BT_E_IO, 0, "cannot empty the replaying process")
	       : !limited  ? bt_fail(err, BT_E_IO, 0, "cannot limit the replaying process")
	       : !filtered ? bt_fail(err, BT_E_UNSUPPORTED, 0,
				     "the kernel gives the replaying process no system call filter "
				     "(seccomp(2), CONFIG_SECCOMP_FILTER): the code of a trace is "
				     "not run without")
			   : 0;
}

int host_confine(pid_t tid, uint64_t memory, struct bt_error *err)
{
	int rc;

	(void)hold_signals(tid);
	rc = confine_thread(tid, memory, err);
	(void)!tracee_set_mask(tid, 0);
	return rc;
}

/* A range that the program can have: nothing of ours lies in it. */
static bool is_programs(uint64_t start, uint64_t end)
{
	return start < end && end <= BT_USER_END && !((start | end) % BT_PAGE) &&
	       (end <= WORLD_RESERVED_START || start >= WORLD_RESERVED_START + WORLD_RESERVED_SIZE);
}

static long make_call(pid_t tid, long nr, const uint64_t args[6])
{
	uint64_t mask = hold_signals(tid);
	struct tracee_lent lent;
	long rc;

	tracee_lend_syscall(tid, GATE, &lent);
	rc = tracee_syscall(tid, nr, args);
	if (tracee_take_back_syscall(tid, &lent))
		rc = -1;
	(void)!tracee_set_mask(tid, mask);
	return rc;
}

static enum host_result result_of(long result, uint64_t wanted)
{
	return result == (long)wanted ? HOST_DONE : result == -ENOMEM ? HOST_FULL : HOST_REFUSES;
}

/* The call that makes a shape. Its fifth and sixth arguments are -1 and 0. */
static bool call_of(const struct bt_record_log_shape *s, struct bt_logged_change *c)
{
	const uint64_t len = s->end - s->start, prot = s->prot & PROTS;

	switch (s->what) {
	case BT_SHAPE_MAP:
		*c = (struct bt_logged_change){.nr = SYS_mmap,
					       .args = {s->start, len, prot,
							MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED |
								MAP_NORESERVE |
								(s->grows ? MAP_GROWSDOWN : 0)},
					       .gives = s->start};
		break;
	case BT_SHAPE_UNMAP:
		*c = (struct bt_logged_change){.nr = SYS_munmap, .args = {s->start, len}};
		break;
	case BT_SHAPE_PROTECT:
		*c = (struct bt_logged_change){.nr = SYS_mprotect, .args = {s->start, len, prot}};
		break;
	default:
		return false;
	}
	return is_programs(s->start, s->end);
}

bool host_change(const struct bt_record_log_shape *s, struct bt_logged_change *change)
{
	return !s->grows && !(s->prot & PROT_EXEC) && call_of(s, change);
}

static enum host_result move_range(pid_t tid, uint64_t from, uint64_t end, uint64_t to)
{
	const uint64_t args[6] = {from, end - from, end - from, MREMAP_MAYMOVE | MREMAP_FIXED, to};

	return result_of(make_call(tid, SYS_mremap, args), to);
}

/* By a call for each mapping. */
static enum host_result move_mappings(pid_t tid, uint64_t from, uint64_t end, uint64_t to)
{
	enum host_result result = HOST_REFUSES;
	struct mapping_list all = {0};

	if (!mappings_read(tid, &all))
		return HOST_REFUSES;
	for (size_t i = mappings_behind(&all, from); i < all.count && all.maps[i].start < end;
	     i++) {
		const struct mapping *m = &all.maps[i];
		const uint64_t start = m->start > from ? m->start : from;

		result = move_range(tid, start, m->end < end ? m->end : end, to + (start - from));
		if (result != HOST_DONE)
			break;
	}
	mappings_release(&all);
	return result;
}

/* What was one mapping in the recording may be several here, of memory that was moved and then
 * grew, say. Before Linux 6.17 mremap(2) fails for these (EFAULT). */
static enum host_result move_pages(pid_t tid, const struct bt_record_log_shape *s)
{
	const uint64_t end = s->from + (s->end - s->start);
	enum host_result result;

	if (!is_programs(s->start, s->end) || !is_programs(s->from, end))
		return HOST_REFUSES;
	result = move_range(tid, s->from, end, s->start);
	return result == HOST_REFUSES ? move_mappings(tid, s->from, end, s->start) : result;
}

/* The kernel lets a mapping grow up to RLIMIT_STACK (getrlimit(2)): an access below that faults. */
bool host_limit_growth(pid_t tid, uint64_t size)
{
	struct rlimit now, wanted;

	if (prlimit(tid, RLIMIT_STACK, NULL, &now))
		return false;
	wanted = (struct rlimit){size, now.rlim_max > size ? now.rlim_max : size};
	if (!prlimit(tid, RLIMIT_STACK, &wanted, NULL))
		return true;
	wanted = (struct rlimit){now.rlim_max, now.rlim_max};
	(void)!prlimit(tid, RLIMIT_STACK, &wanted, NULL);
	return false;
}

enum host_result host_shape(pid_t tid, const struct bt_record_log_shape *s)
{
	struct bt_logged_change c;
	uint64_t args[6] = {[4] = UINT64_MAX};

	if (s->what == BT_SHAPE_MOVE)
		return move_pages(tid, s);
	if (!call_of(s, &c))
		return HOST_REFUSES;
	memcpy(args, c.args, sizeof c.args);
	return result_of(make_call(tid, (long)c.nr, args), c.gives);
}

bool host_may_write(uint64_t addr, size_t n)
{
	return addr + n <= BT_USER_END && addr + n >= addr &&
	       (addr + n <= WORLD_RESERVED_START ||
		addr >= WORLD_RESERVED_START + WORLD_RESERVED_SIZE);
}

bool host_write(pid_t tid, uint64_t addr, struct slice bytes)
{
	return host_may_write(addr, bytes.len) && tracee_write(tid, addr, bytes.at, bytes.len);
}

/* Instructions with a result of their own (Intel SDM volume 2). */
static const struct own_result_opcode {
	uint8_t length, bytes[3];
} own_result_opcodes[BT_LOGGED_FORMS] = {
	[BT_LOGGED_RDTSC] = {2, {0x0f, 0x31}},
	[BT_LOGGED_RDTSCP] = {3, {0x0f, 0x01, 0xf9}},
	[BT_LOGGED_XGETBV] = {3, {0x0f, 0x01, 0xd0}},
	[BT_LOGGED_CPUID] = {2, {0x0f, 0xa2}},
};

/* Legacy prefixes, and REX (Intel SDM volume 2, 2.1.1 and 2.2.1). */
static bool is_prefix(uint8_t byte)
{
	static const uint8_t legacy[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
					 0x66, 0x67, 0xf0, 0xf2, 0xf3};

	return byte >> 4 == 4 || memchr(legacy, byte, sizeof legacy);
}

uint64_t host_instruction_end(pid_t tid, uint64_t rip, enum bt_logged_form form)
{
	const struct own_result_opcode *opcode = &own_result_opcodes[form];
	uint8_t bytes[BT_INSN_MAX];
	size_t n = tracee_read(tid, rip, bytes, sizeof bytes);

	for (size_t i = 0; opcode->length && i + opcode->length <= n; i++)
		if (!memcmp(bytes + i, opcode->bytes, opcode->length))
			return rip + i + opcode->length;
		else if (!is_prefix(bytes[i]))
			break;
	return 0;
}

bool host_instruction_ends(pid_t tid, uint64_t rip, enum bt_logged_form form)
{
	const uint64_t start = rip - own_result_opcodes[form].length;

	return host_instruction_end(tid, start, form) == rip && start != rip;
}

bool host_repeats(pid_t tid, uint64_t rip)
{
	uint8_t bytes[BT_INSN_MAX];
	size_t n = tracee_read(tid, rip, bytes, sizeof bytes);
	struct bt_insn insn;

	return n && !bt_insn_decode(bytes, n, &insn) && insn.traits & BT_TRAIT_REP;
}
