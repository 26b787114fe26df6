/* SPDX-License-Identifier: MIT */
/* Layout of the frame that the kernel pushes for a handler: struct rt_sigframe of
 * arch/x86/include/asm/sigframe.h, uapi/asm/ucontext.h and sigcontext.h for x86-64. */
#include "import/core_private.h"
#include "lib/page.h"

enum {
	RED_ZONE = 128,
	OVERFLOW_MAX = 1 << 20, /* bytes below its stack in which rsp is looked for: the kernel's
				   stack guard gap */
	/* A frame: return address, flags, link, the alternate stack (address, flags, size),
	   registers. */
	FRAME_ALIGN = 16, /* it lies 8 bytes below such an address */
	FRAME_USED = 200,
	FRAME_TO_RSP = 120, /* from behind the alternate stack's size */
	FLAGS_ALL = 7,      /* of uc_flags: UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
	FLAG_SS = 2,        /* the one that is always there */
	USER_CODE = 0x33,   /* cs of 64-bit code */
};

/* The segment that sp lies in; after an overflow, which leaves it in no writable memory, the one
 * above. */
static const struct core_segment *find_stack(const struct core *c, uint64_t sp)
{
	for (uint64_t addr = sp; addr - sp <= OVERFLOW_MAX; addr += BT_PAGE) {
		const struct core_segment *s = core_map_at(c, addr);

		if (s && s->prot & BT_PROT_WRITE)
			return s;
	}
	return NULL;
}

struct core_range core_stack_of(const struct core *c, uint64_t sp, uint64_t most)
{
	const struct core_segment *s = find_stack(c, sp);
	struct core_range r = {0, 0};

	if (!s)
		return r;
	r.start = sp <= s->start || sp - s->start < RED_ZONE ? s->start : sp - RED_ZONE;
	r.end = s->end - r.start < most ? s->end : r.start + most;
	return r;
}

/* Whether these bytes at addr are a frame on the alternate stack that sp is on, pushed by the first
 * signal there: then where that came. */
static bool is_first_frame(struct slice frame, uint64_t addr, uint64_t sp, uint64_t *interrupted_sp,
			   uint64_t *interrupted_at)
{
	uint64_t flags, link, stack, size;

	slice_take(&frame, 8);
	flags = slice_u64(&frame);
	link = slice_u64(&frame);
	if (flags & ~(uint64_t)FLAGS_ALL || !(flags & FLAG_SS) || link)
		return false;
	stack = slice_u64(&frame);
	slice_take(&frame, 8);
	size = slice_u64(&frame);
	slice_take(&frame, FRAME_TO_RSP);
	*interrupted_sp = slice_u64(&frame);
	*interrupted_at = slice_u64(&frame);
	slice_take(&frame, 8);
	return slice_u16(&frame) == USER_CODE && addr - stack < size && sp - stack < size &&
	       *interrupted_sp - stack >= size;
}

bool core_stack_interrupted(struct slice bytes, uint64_t addr, uint64_t sp,
			    uint64_t *interrupted_sp, uint64_t *interrupted_at)
{
	uint64_t skip = sp > addr ? sp - addr : 0;

	skip += (FRAME_ALIGN - 8 - (addr + skip)) % FRAME_ALIGN;
	if (skip > bytes.len)
		return false;
	slice_take(&bytes, (size_t)skip);
	for (addr += skip; bytes.len >= FRAME_USED; addr += FRAME_ALIGN) {
		if (is_first_frame(bytes, addr, sp, interrupted_sp, interrupted_at))
			return true;
		slice_take(&bytes, FRAME_ALIGN);
	}
	return false;
}
