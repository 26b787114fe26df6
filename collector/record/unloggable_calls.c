/* SPDX-License-Identifier: MIT */
#include "collector/record/unloggable_calls.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "collector/record/mapped_file_calls.h"
#include "collector/space/mappings.h"
#include "lib/call_result.h"
#include "lib/page.h"

/* Whether the call has set segments of the program's own: entries of its LDT, or, for 32-bit code,
 * of the GDT. A replay does not make such calls. Numbers of 32-bit calls: Linux'
 * arch/x86/entry/syscalls/syscall_32.tbl. */
static bool sets_segments(const struct tracee_syscall *call, uint64_t result)
{
	enum { MODIFY_LDT_32 = 123, SET_THREAD_AREA_32 = 243, WRITE_OLD = 1, WRITE = 0x11 };
	uint64_t function = (uint32_t)call->args[0];

	if ((uint32_t)result) /* modify_ldt's errors are of 32 bits */
		return false;
	if (call->compat && call->nr == SET_THREAD_AREA_32)
		return true;
	return call->nr == (call->compat ? MODIFY_LDT_32 : SYS_modify_ldt) &&
	       (function == WRITE_OLD || function == WRITE);
}

/* Calls of 32-bit code that have their arguments in memory, or one call's number for several
 * (arch/x86/entry/syscalls/syscall_32.tbl): what they do to mappings is not known. C libraries of
 * this century do without. */
static bool maps_unknown(const struct tracee_syscall *call)
{
	enum { OLD_MMAP = 90, IPC = 117, IPC_SHMAT = 21, IPC_SHMDT = 22 };
	const uint16_t ipc = (uint16_t)call->args[0]; /* a version is above (ipc(2)) */

	return call->compat && (call->nr == OLD_MMAP ||
				(call->nr == IPC && (ipc == IPC_SHMAT || ipc == IPC_SHMDT)));
}

/* Whether a file lies in the n bytes there, or shared memory: as far as s knows. */
static bool shows_file(const struct address_space *s, uint64_t start, uint64_t n, bool shared)
{
	const struct mapping_list *all = &s->mappings;

	for (size_t i = mappings_behind(all, start);
	     i < all->count && all->maps[i].start < start + n; i++)
		if (all->maps[i].ino && (all->maps[i].shared || !shared))
			return true;
	return false;
}

/* How many bytes from *start on may be at two addresses since the call; 0: none. Calls that cannot
 * do this in a program without shared memory give 0, so that most programs need no look at all
 * mappings. */
static uint64_t may_map_twice(const struct task *task, const struct tracee_syscall *call,
			      uint64_t result, uint64_t *start)
{
	const struct address_space *s = task->process->space;
	const uint64_t *args = call->args;

	*start = result;
	if (syscall_is(call, SYS_mprotect) || syscall_is(call, SYS_pkey_mprotect)) {
		*start = args[0]; /* one that fails may have done a part */
		return args[2] & PROT_WRITE && shows_file(s, args[0], args[1], true) ? args[1] : 0;
	}
	if (call_has_failed(result))
		return 0;
	if (syscall_is(call, SYS_mmap)) {
		bool of_shared = args[3] & MAP_SHARED || mappings_share_files(&s->mappings);

		return !(args[3] & MAP_ANONYMOUS) && of_shared ? args[1] : 0;
	}
	if (syscall_is(call, SYS_remap_file_pages)) {
		*start = page_down(args[0]);
		return args[1];
	}
	if (syscall_is(call, SYS_mremap)) {
		bool adds = args[2] > args[1] || args[3] & MREMAP_DONTUNMAP;

		return !args[1] || (adds && mappings_share_files(&s->mappings) &&
				    (shows_file(s, args[0], args[1], false) ||
				     shows_file(s, result, args[2], false)))
			       ? args[2]
			       : 0;
	}
	return syscall_is(call, SYS_shmat); /* the mapping that it begins */
}

/* Whether there is memory at address 0 since the call. Rows take an argument of 0 for none: what a
 * call writes there would be missed. */
static bool maps_null(const struct tracee_syscall *call, uint64_t result)
{
	return !result && (syscall_is(call, SYS_mmap) || syscall_is(call, SYS_mremap) ||
			   syscall_is(call, SYS_shmat));
}

const char *unloggable_call(const struct task *task, const struct tracee_syscall *call,
			    uint64_t result)
{
	uint64_t start, n;

	if (sets_segments(call, result))
		return "the program sets segments of its own (modify_ldt, set_thread_area)";
	if (maps_unknown(call))
		return "32-bit code changes mappings by old_mmap or ipc";
	if (maps_null(call, result))
		return "the program maps memory at address 0";
	n = may_map_twice(task, call, result, &start);
	return n && pages_are_mapped_twice(task->host_tid, start, start + n)
		       ? "the program maps memory at two places, to write to it"
		       : NULL;
}
