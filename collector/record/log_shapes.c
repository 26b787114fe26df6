/* SPDX-License-Identifier: MIT */
#include "collector/record/log_shapes.h"

#include <asm/prctl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "lib/array_size.h"
#include "lib/call_result.h"
#include "lib/page.h"

enum {
	PROTS = BT_PROT_READ | BT_PROT_WRITE | BT_PROT_EXEC,
	MMAP2_32 = 192, /* of 32-bit code; its offset is in pages (mmap2(2)) */
};

/* The pages of [start, start + n). */
static size_t add_shape(struct log_shape *out, enum bt_log_shape what, uint64_t start, uint64_t n,
			uint64_t prot)
{
	*out = (struct log_shape){.what = what,
				  .start = page_down(start),
				  .end = page_up(start + n),
				  .prot = prot & PROTS};
	return out->start < out->end;
}

static size_t mmap_shapes(const uint64_t *args, uint64_t result, uint64_t *heap_end,
			  struct log_shape *out)
{
	(void)heap_end;
	if (call_has_failed(result))
		return 0;
	add_shape(out, BT_SHAPE_MAP, result, args[1], args[2]);
	out->grows = args[3] & MAP_GROWSDOWN;
	/* mmap(2), Huge page mappings: it ends at the next multiple of the size. Each has a file of
	 * its own inside the kernel (hugetlb_file_setup), so that none is one with its neighbour.
	 */
	out->is_whole = args[3] & MAP_ANONYMOUS && args[3] & MAP_HUGETLB;
	out->has_content = out->of_descriptor = !(args[3] & MAP_ANONYMOUS);
	out->fd = (int)args[4];
	out->shared = args[3] & MAP_SHARED && !(args[3] & MAP_ANONYMOUS);
	out->offset = args[5];
	return 1;
}

static size_t munmap_shapes(const uint64_t *args, uint64_t result, uint64_t *heap_end,
			    struct log_shape *out)
{
	(void)heap_end;
	return call_has_failed(result) ? 0 : add_shape(out, BT_SHAPE_UNMAP, args[0], args[1], 0);
}

static size_t mprotect_shapes(const uint64_t *args, uint64_t result, uint64_t *heap_end,
			      struct log_shape *out)
{
	(void)heap_end;
	if (call_has_failed(result) || !add_shape(out, BT_SHAPE_PROTECT, args[0], args[1], args[2]))
		return 0;
	out->downward = args[2] & PROT_GROWSDOWN;
	return 1;
}

static size_t brk_shapes(const uint64_t *args, uint64_t result, uint64_t *heap_end,
			 struct log_shape *out)
{
	uint64_t before = page_up(*heap_end), now = page_up(result);

	(void)args;
	*heap_end = result;
	if (!before || before == now)
		return 0;
	return before < now ? add_shape(out, BT_SHAPE_MAP, before, now - before,
					BT_PROT_READ | BT_PROT_WRITE)
			    : add_shape(out, BT_SHAPE_UNMAP, now, before - now, 0);
}

static size_t mremap_shapes(const uint64_t *args, uint64_t result, uint64_t *heap_end,
			    struct log_shape *out)
{
	uint64_t from = args[0], before = page_up(args[1]), now = page_up(args[2]),
		 moved = before < now ? before : now;
	size_t n = 0;

	(void)heap_end;
	if (call_has_failed(result))
		return 0;
	if (result != from) {
		n += add_shape(&out[n], BT_SHAPE_MOVE, result, moved, 0);
		out[0].from = from;
	}
	/* mremap(2): the old range stays mapped, and its pages are fresh. */
	if (result != from && args[3] & MREMAP_DONTUNMAP) {
		n += add_shape(&out[n], BT_SHAPE_MAP, from, before, 0);
		out[n - 1].has_content = out[n - 1].inherits = true;
	}
	if (now < before)
		n += add_shape(&out[n], BT_SHAPE_UNMAP, from + now, before - now, 0);
	if (now > before) {
		n += add_shape(&out[n], BT_SHAPE_MAP, result + before, now - before, 0);
		out[n - 1].has_content = out[n - 1].inherits = true;
	}
	return n;
}

static size_t shmat_shapes(const uint64_t *args, uint64_t result, uint64_t *heap_end,
			   struct log_shape *out)
{
	(void)args;
	(void)heap_end;
	if (call_has_failed(result))
		return 0;
	add_shape(out, BT_SHAPE_MAP, result, 1, 0);
	out->is_whole = out->inherits = out->has_content = out->shared = true;
	return 1;
}

static const struct shape_row {
	uint16_t nr;
	size_t (*shapes)(const uint64_t *args, uint64_t result, uint64_t *heap_end,
			 struct log_shape *out);
} rows[] = {
	{SYS_mmap, mmap_shapes},         {SYS_munmap, munmap_shapes},
	{SYS_mprotect, mprotect_shapes}, {SYS_pkey_mprotect, mprotect_shapes},
	{SYS_brk, brk_shapes},           {SYS_mremap, mremap_shapes},
	{SYS_shmat, shmat_shapes},
};

/* Operations that map nothing, of calls that have others that do: programs make these when they
 * start. Sources: arch_prctl(2), prctl(2). */
static const struct {
	uint16_t nr;
	uint32_t operation;
} map_nothing[] = {
	{SYS_arch_prctl, ARCH_SET_FS},    {SYS_arch_prctl, ARCH_GET_FS},
	{SYS_arch_prctl, ARCH_SET_GS},    {SYS_arch_prctl, ARCH_GET_GS},
	{SYS_prctl, PR_SET_NAME},         {SYS_prctl, PR_GET_NAME},
	{SYS_prctl, PR_SET_PDEATHSIG},    {SYS_prctl, PR_GET_DUMPABLE},
	{SYS_prctl, PR_SET_DUMPABLE},     {SYS_prctl, PR_CAPBSET_READ},
	{SYS_prctl, PR_GET_KEEPCAPS},     {SYS_prctl, PR_GET_SECUREBITS},
	{SYS_prctl, PR_GET_NO_NEW_PRIVS},
};

static bool maps_nothing(const struct tracee_syscall *call)
{
	for (size_t i = 0; i < ARRAY_SIZE(map_nothing); i++)
		if (syscall_is(call, map_nothing[i].nr) &&
		    (uint32_t)call->args[0] == map_nothing[i].operation)
			return true;
	return false;
}

static const struct shape_row *row_of(const struct tracee_syscall *call)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (syscall_is(call, rows[i].nr))
			return &rows[i];
	return NULL;
}

bool log_shapes_knows(const struct tracee_syscall *call)
{
	return row_of(call) || maps_nothing(call);
}

size_t log_shapes_of_call(const struct tracee_syscall *call, uint64_t result, uint64_t *heap_end,
			  struct log_shape shapes[LOG_SHAPES])
{
	const struct shape_row *row = row_of(call);
	uint64_t args[6];

	if (!row)
		return 0;
	memcpy(args, call->args, sizeof args);
	if (call->compat && call->nr == MMAP2_32)
		args[5] *= BT_PAGE;
	return row->shapes(args, result, heap_end, shapes);
}
