/* SPDX-License-Identifier: MIT */
#include "collector/space/map_syscalls.h"

#include <asm/prctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "lib/array_size.h"
#include "lib/call_result.h"
#include "lib/page.h"
#include "syscalls/syscall_names.h"
#include "syscalls/syscall_ranges.h"

/* The pages that n bytes from start on touch. Lengths that reach to the end of all addresses are
 * refused by the kernel. */
static void add_touched_range(struct map_change *out, uint64_t start, uint64_t n)
{
	uint64_t end = start + n;

	start = page_down(start);
	end = page_up(end);
	if (start < end)
		out->ranges[out->count++] = (struct map_range){start, end};
}

/* A mapping over others may have taken those away and failed (before Linux 6.12). */
static void mmap_changes(struct address_space *s, const uint64_t *args, uint64_t result,
			 struct map_change *out)
{
	s->grows |= (args[3] & MAP_GROWSDOWN) != 0;
	out->all = call_has_failed(result);
	if (!out->all)
		add_touched_range(out, result, args[1]);
}

/* PROT_GROWSDOWN: from wherever the mapping begins, which may have grown by itself. A call that
 * fails may have been done in part. */
static void protect_changes(struct address_space *s, const uint64_t *args, uint64_t result,
			    struct map_change *out)
{
	(void)s;
	(void)result;
	out->all = args[2] & PROT_GROWSDOWN;
	add_touched_range(out, args[0], args[1]);
}

static void mremap_changes(struct address_space *s, const uint64_t *args, uint64_t result,
			   struct map_change *out)
{
	(void)s;
	out->all = call_has_failed(result);
	if (out->all)
		return;
	add_touched_range(out, args[0], args[1]);
	add_touched_range(out, result, args[2]);
}

/* The result of brk is where the heap ends, also when nothing was done. */
static void brk_changes(struct address_space *s, const uint64_t *args, uint64_t result,
			struct map_change *out)
{
	uint64_t before = s->heap_end;

	s->heap_end = result;
	out->all = !before && args[0];
	if (before && before != result)
		add_touched_range(out, before < result ? before : result,
				  before < result ? result - before : before - result);
}

static void prctl_changes(struct address_space *s, const uint64_t *args, uint64_t result,
			  struct map_change *out)
{
	const uint32_t option = (uint32_t)args[0]; /* an int */

	(void)result;
	if (option == PR_SET_VMA)
		add_touched_range(out, args[2], args[3]);
	if (option == PR_SET_MM) {
		out->all = true;
		s->heap_end = 0;
	}
}

static bool leaves_out(const uint64_t *args)
{
	return (int)args[2] == MADV_DONTFORK || (int)args[2] == MADV_WIPEONFORK;
}

/* A call that fails may have been done in part. */
static void advice_changes(struct address_space *s, const uint64_t *args, uint64_t result,
			   struct map_change *out)
{
	(void)result;
	(void)out;
	s->leaves_out |= leaves_out(args);
}

/* 0xffffffff asks what it is. An execve of a 64-bit program takes it back. */
static void personality_changes(struct address_space *s, const uint64_t *args, uint64_t result,
				struct map_change *out)
{
	(void)result;
	(void)out;
	s->reads_run |= (uint32_t)args[0] != UINT32_MAX && args[0] & READ_IMPLIES_EXEC;
}

/* ARCH_MAP_VDSO_64 and its kin. */
static void arch_changes(struct address_space *s, const uint64_t *args, uint64_t result,
			 struct map_change *out)
{
	(void)s;
	(void)result;
	out->all = (uint32_t)args[0] >= ARCH_MAP_VDSO_X32 && (uint32_t)args[0] <= ARCH_MAP_VDSO_64;
}

/* Calls that, by their rows, change mappings, but neither place nor protection of one that there
 * may be code in: contents or the state of pages, what later calls do, memory that is new. Those of
 * execve and its like are told as events. */
static bool leaves_all(uint64_t nr)
{
	static const uint16_t calls[] = {
		SYSCALL_NR_execve,     SYSCALL_NR_execveat,        SYSCALL_NR_exit,
		SYSCALL_NR_exit_group, SYSCALL_NR_process_madvise, SYSCALL_NR_mlock,
		SYSCALL_NR_munlock,    SYSCALL_NR_mlock2,          SYSCALL_NR_mlockall,
		SYSCALL_NR_munlockall, SYSCALL_NR_mbind,           SYSCALL_NR_mseal,
		SYSCALL_NR_io_setup,   SYSCALL_NR_io_destroy,      SYSCALL_NR_map_shadow_stack,
	};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i] == nr)
			return true;
	return false;
}

/* As the call's row says: the pages that its arguments say, or anything. One that fails may have
 * been done in part. */
static void changes_by_row(const struct tracee_syscall *call, struct map_change *out)
{
	const struct syscall_facts *facts = syscall_facts(call->nr);
	unsigned start, length;

	if (!facts || !(facts->changes & SYSCALL_CHANGES_MAPS) || leaves_all(call->nr))
		return;
	if (syscall_changed_pages(call->nr, &start, &length))
		add_touched_range(out, call->args[start], call->args[length]);
	else
		out->all = true;
}

bool map_syscall_changes_rights(const struct tracee_syscall *call)
{
	static const uint16_t calls[] = {SYS_setuid,   SYS_setgid,    SYS_setreuid,
					 SYS_setregid, SYS_setresuid, SYS_setresgid,
					 SYS_setfsuid, SYS_setfsgid,  SYS_setns};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (syscall_is(call, calls[i]))
			return true;
	return syscall_is(call, SYS_prctl) && (uint32_t)call->args[0] == PR_SET_DUMPABLE;
}

bool map_syscall_changes(struct address_space *s, const struct tracee_syscall *call,
			 uint64_t result, struct map_change *out)
{
	/* Those of which more is known than their rows say, or which leave notes. */
	static const struct change_row {
		uint16_t nr;
		void (*changes)(struct address_space *s, const uint64_t *args, uint64_t result,
				struct map_change *out);
	} rows[] = {
		{SYS_mmap, mmap_changes},
		{SYS_mprotect, protect_changes},
		{SYS_brk, brk_changes},
		{SYS_mremap, mremap_changes},
		{SYS_pkey_mprotect, protect_changes},
		{SYS_prctl, prctl_changes},
		{SYS_arch_prctl, arch_changes},
		{SYS_madvise, advice_changes},
		{SYS_personality, personality_changes},
	};

	*out = (struct map_change){
		.all = map_syscall_changes_rights(
			call)}; /* all are read, to see whether they still can be */
	if (call->compat) {     /* of another table: look each time */
		s->heap_end = 0;
		s->leaves_out = s->reads_run = true;
		out->all = true;
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].nr == call->nr) {
			rows[i].changes(s, call->args, result, out);
			return out->all || out->count;
		}
	changes_by_row(call, out);
	return out->all || out->count;
}

bool map_syscall_leaves_out(const struct tracee_syscall *call)
{
	return call->nr == SYS_madvise && !call->compat && leaves_out(call->args);
}
