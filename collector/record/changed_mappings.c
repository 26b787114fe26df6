/* SPDX-License-Identifier: MIT */
/* Which calls leave something done when they fail is said by the kernel's source (mm/, ipc/shm.c,
 * Linux 6.12). mprotect, say, goes from mapping to mapping, and ends at a hole or at one that may
 * not have the rights: those before it have changed (mprotect(2), ENOMEM). */
#include "collector/record/changed_mappings.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "collector/record/guarded_pages.h"
#include "collector/space/mappings.h"
#include "collector/space/world.h"
#include "collector/tracee/tracee.h"
#include "lib/array_size.h"
#include "lib/call_result.h"
#include "lib/canonical.h"
#include "lib/page.h"

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24 /* asm-generic/mman-common.h since Linux 5.18 */
#endif
#ifndef MADV_GUARD_INSTALL /* asm-generic/mman-common.h since Linux 6.13 */
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE  103
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440 /* asm/unistd_64.h since Linux 5.10 */
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000 /* asm-generic/mman-common.h since Linux 4.17 */
#endif

enum {
	VECTORS_MAX = 1024, /* UIO_MAXIOV */
};

/* The mappings to look at. */
struct look {
	struct map_part parts[2];
	bool downward;      /* the first begins where the mapping does that holds its start */
	bool other_content; /* pages hold something else now, if they are there */
	bool guards;        /* they may be guards: each access faults, whatever the protection */
};

/* With EINVAL it has done nothing: arguments are looked at first. That is relied upon in the cache,
 * too (map_call_emit_failed()). */
static void failed_change(const uint64_t *args, uint64_t result, struct look *out)
{
	if (result != (uint64_t)-EINVAL)
		out->parts[0] = (struct map_part){args[0], args[1]};
}

static void failed_protection(const uint64_t *args, uint64_t result, struct look *out)
{
	failed_change(args, result, out);
	out->downward = args[2] & PROT_GROWSDOWN;
}

/* It takes away what was there before it asks the file, until Linux 6.12, and that may say EINVAL.
 */
static void failed_mapping(const uint64_t *args, uint64_t result, struct look *out)
{
	const bool replaces = args[3] & MAP_FIXED && !(args[3] & MAP_FIXED_NOREPLACE);

	if (replaces && (result != (uint64_t)-EINVAL || !(args[3] & MAP_ANONYMOUS)))
		out->parts[0] = (struct map_part){args[0], args[1]};
}

/* mremap(2) first unmaps the new place, and the pages behind the new size. Since Linux 6.17 it
 * moves several mappings, one after the other. */
static void failed_move(const uint64_t *args, uint64_t result, struct look *out)
{
	(void)result;
	out->parts[0] = (struct map_part){args[0], args[1]};
	out->other_content = true;
	if (args[3] & MREMAP_FIXED)
		out->parts[1] = (struct map_part){args[4], args[2]};
}

/* Over a hole it goes on, and fails behind the rest; at a mapping that it is not for it ends. */
static void advice(const uint64_t *args, uint64_t result, struct look *out)
{
	static const uint8_t emptying[] = {MADV_DONTNEED, MADV_DONTNEED_LOCKED, MADV_FREE,
					   MADV_REMOVE,   MADV_GUARD_INSTALL,   MADV_GUARD_REMOVE};
	const uint32_t behavior = (uint32_t)args[2]; /* an int */

	(void)result;
	for (size_t i = 0; i < ARRAY_SIZE(emptying); i++)
		if (behavior == emptying[i])
			out->parts[0] = (struct map_part){args[0], args[1]};
	out->other_content = true;
	out->guards = behavior == MADV_GUARD_INSTALL;
}

/* It rounds its start and its length down (Linux, mm/mmap.c). */
static void remapping(const uint64_t *args, uint64_t result, struct look *out)
{
	(void)result;
	out->parts[0] = (struct map_part){page_down(args[0]), page_down(args[1])};
	out->other_content = true;
}

/* Pages go from one node's memory to another's, and hold the same. */
static void nothing(const uint64_t *args, uint64_t result, struct look *out)
{
	(void)args;
	(void)result;
	(void)out;
}

static const struct look_row {
	uint16_t nr;
	bool always; /* also behind a call that succeeds */
	void (*look)(const uint64_t *args, uint64_t result, struct look *out);
} rows[] = {
	{SYS_mmap, false, failed_mapping},        {SYS_munmap, false, failed_change},
	{SYS_mprotect, false, failed_protection}, {SYS_pkey_mprotect, false, failed_protection},
	{SYS_mremap, false, failed_move},         {SYS_madvise, true, advice},
	{SYS_remap_file_pages, true, remapping},  {SYS_mbind, true, nothing},
};

static const struct look_row *row_of(const struct tracee_syscall *call)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (syscall_is(call, rows[i].nr))
			return &rows[i];
	return NULL;
}

bool changed_mappings_knows(const struct tracee_syscall *call)
{
	const struct look_row *row = row_of(call);

	return row && row->always;
}

struct teller {
	void (*changed)(void *arg, pid_t tid, const struct log_shape *shape);
	void *arg;
	pid_t tid;
	bool some_grow; /* mappings other than the stack may grow downward */
};

static bool grows(const struct teller *t, const struct mapping *m)
{
	return !strcmp(m->path, "[stack]") || (t->some_grow && mappings_grow_at(t->tid, m->start));
}

/* Nothing is mapped there. Our reserved addresses are left out: they are no hole of the program's.
 */
static void tell_hole(const struct teller *t, uint64_t start, uint64_t end)
{
	const uint64_t ours = WORLD_RESERVED_START, behind = ours + WORLD_RESERVED_SIZE;
	const struct {
		uint64_t start, end;
	} around[] = {{start, end < ours ? end : ours}, {start > behind ? start : behind, end}};

	for (size_t i = 0; i < ARRAY_SIZE(around); i++) {
		const struct log_shape shape = {
			.what = BT_SHAPE_UNMAP, .start = around[i].start, .end = around[i].end};

		if (shape.start < shape.end)
			t->changed(t->arg, t->tid, &shape);
	}
}

static void tell_mapping(const struct teller *t, const struct mapping *m, uint64_t start,
			 uint64_t end, const struct look *look)
{
	const bool is_kernels = !strncmp(m->path, "[v", 2), /* vvar, vvar_vclock, vsyscall */
		other_content = look->other_content;
	struct log_shape shape = {.what = other_content ? BT_SHAPE_MAP : BT_SHAPE_PROTECT,
				  .start = m->start > start ? m->start : start,
				  .end = m->end < end ? m->end : end,
				  .prot = m->prot,
				  .grows = other_content && grows(t, m),
				  .has_content = other_content,
				  .is_old = true,
				  .dev = m->dev,
				  .ino = m->ino,
				  .offset = m->offset + (m->start < start ? start - m->start : 0),
				  .path = m->path};

	/* A call that fails has made some of the mappings guards, or none. */
	if (look->guards && guarded_pages_are_at(t->tid, shape.start) &&
	    guarded_pages_are_at(t->tid, shape.end - BT_PAGE))
		shape = (struct log_shape){.what = BT_SHAPE_MAP,
					   .start = shape.start,
					   .end = shape.end,
					   .guards = true};
	if (!is_kernels && m->start - WORLD_RESERVED_START >= WORLD_RESERVED_SIZE)
		t->changed(t->arg, t->tid, &shape);
}

static void tell_range(const struct teller *t, const struct mapping_list *all, uint64_t start,
		       uint64_t end, const struct look *look)
{
	for (size_t i = mappings_behind(all, start); i < all->count && all->maps[i].start < end;
	     i++) {
		const struct mapping *m = &all->maps[i];

		tell_hole(t, start, m->start);
		tell_mapping(t, m, start, end, look);
		start = m->end;
	}
	tell_hole(t, start, end);
}

/* A start within a page, and a length that reaches beyond all addresses, the kernel refuses before
 * it does anything. */
static bool is_refused(const struct map_part *p)
{
	return !p->length || p->start % BT_PAGE || p->start >= BT_USER_END ||
	       p->length > BT_USER_END - p->start;
}

static bool look_at(const struct teller *t, struct look *look, struct mapping_list *all)
{
	for (size_t i = 0; i < ARRAY_SIZE(look->parts); i++) {
		const struct map_part *p = &look->parts[i];
		uint64_t start = p->start, end = page_up(start + p->length);
		size_t at;

		if (is_refused(p))
			continue;
		if (!all->count && !mappings_read(t->tid, all))
			return false;
		at = mappings_behind(all, start);
		if (look->downward && at < all->count && all->maps[at].start < start)
			start = all->maps[at].start;
		tell_range(t, all, start, end, look);
	}
	return true;
}

/* process_madvise(2) of the caller itself, since Linux 6.13. What pages hold behind it is compared
 * as of a call that no row knows; of guards nothing can be read. Of another process nothing is
 * guarded here. */
static bool look_at_vectors(const struct teller *t, const uint64_t *args, struct mapping_list *all)
{
	const bool guards = (int)args[3] == MADV_GUARD_INSTALL || (int)args[3] == MADV_GUARD_REMOVE;
	struct map_part part;

	for (uint64_t i = 0; guards && i < args[2] && i < VECTORS_MAX; i++) {
		struct look look = {.downward = false};

		if (tracee_read(t->tid, args[1] + i * sizeof part, &part, sizeof part) !=
		    sizeof part)
			return false;
		advice((const uint64_t[]){part.start, part.length, args[3]}, 0, &look);
		if (!look_at(t, &look, all))
			return false;
	}
	return true;
}

bool changed_mappings_look(pid_t tid, const struct tracee_syscall *call, uint64_t result,
			   bool some_grow,
			   void (*changed)(void *arg, pid_t tid, const struct log_shape *shape),
			   void *arg)
{
	const struct look_row *row = row_of(call);
	const struct teller teller = {changed, arg, tid, some_grow};
	struct look look = {.downward = false};
	struct mapping_list all = {0};
	bool ok;

	if (row && (row->always || call_has_failed(result)))
		row->look(call->args, result, &look);
	ok = syscall_is(call, SYS_process_madvise) && !call_has_failed(result)
		     ? look_at_vectors(&teller, call->args, &all)
		     : look_at(&teller, &look, &all);
	mappings_release(&all);
	return ok;
}

/* Those whose addresses tell the same beginning of the segment (ksys_shmdt(), Linux ipc/shm.c). */
struct map_part changed_mappings_detach(pid_t tid, const struct tracee_syscall *call)
{
	const uint64_t start = call->args[0];
	const struct mapping *first = NULL;
	struct map_part part = {.start = start};
	struct mapping_list all = {0};

	if (!syscall_is(call, SYS_shmdt) || !mappings_read(tid, &all))
		return part;
	for (size_t i = mappings_behind(&all, start); i < all.count; i++) {
		const struct mapping *m = &all.maps[i];

		if (!m->shared || m->start < start || m->start - start != m->offset ||
		    (first && (m->ino != first->ino || m->dev != first->dev)) ||
		    strncmp(m->path, "/SYSV", 5) != 0)
			continue;
		first = first ? first : m;
		part.length = m->end - start;
	}
	mappings_release(&all);
	return part;
}

bool changed_mappings_tell(pid_t tid, const struct map_part *part,
			   void (*changed)(void *arg, pid_t tid, const struct log_shape *shape),
			   void *arg)
{
	const struct teller teller = {.changed = changed, .arg = arg, .tid = tid};
	struct look look = {.parts = {*part}};
	struct mapping_list all = {0};
	bool ok = look_at(&teller, &look, &all);

	mappings_release(&all);
	return ok;
}
