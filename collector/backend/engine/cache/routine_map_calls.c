/* SPDX-License-Identifier: MIT */
/* System calls that change mappings, in the cache: which ones may be made there. They touch no code
 * and not the region: the table of ranges in the window holds both (cache_mappings.c). */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "collector/backend/engine/cache/routines_private.h"
#include "collector/backend/engine/cache/syscall_policy.h"
#include "lib/array_size.h"
#include "lib/page.h"

/* test rdx, mask: the protection that is asked for. Nothing executable, nothing that reaches
 * further than the range. */
static void emit_protection(struct emitter *e, struct forward *no)
{
	EMIT(e, 0x48, 0xf7, 0xc2);
	emit_u32(e, (uint32_t) ~(PROT_READ | PROT_WRITE));
	emit_jump_if(e, no, CC_NE);
}

/* test r10, mask: flags */
static void emit_test_flags(struct emitter *e, uint32_t mask)
{
	EMIT(e, 0x49, 0xf7, 0xc2);
	emit_u32(e, mask);
}

/* A mapping that exists becomes writable. */
static void emit_letting_write(struct emitter *e, struct forward *no)
{
	size_t reads;

	EMIT(e, 0xf6, 0xc2, PROT_WRITE); /* test dl, mask */
	reads = emit_jcc(e, CC_E);
	syscall_emit_test_grant(e, POLICY_PROTECTS);
	emit_jump_if(e, no, CC_E);
	emit_patch(e, reads, e->base + e->len);
}

/* The heap grows, or is asked for. */
static void emit_heap(struct emitter *e, struct syscall_ways *to)
{
	EMIT(e, 0x48, 0x85, 0xff); /* test rdi, rdi */
	emit_jump_if(e, &to->yes, CC_E);
	emit_load(e, X86_RCX, CTX_HEAP);
	EMIT(e, 0x48, 0x83, 0xe9, 1); /* sub rcx, 1 */
	emit_jump_if(e, &to->no, CC_B);
	EMIT(e, 0x48, 0x39, 0xcf); /* cmp rdi, rcx */
	emit_jump_if(e, &to->yes, CC_A);
	to->no.sites[to->no.count++] = emit_jump(e);
}

/* Memory, or a file's, which may be a slow one. Where it is to take the place of what is there,
 * that is looked at; a file's that is not known may take more (hugetlbfs). Where a log is kept it
 * has what the file holds, which is read at a stop. */
static void emit_mapping(struct emitter *e, bool logged, struct syscall_ways *to)
{
	size_t anonymous, own;
	struct forward fixed = {.count = 0};

	emit_protection(e, &to->no);
	emit_test_flags(e, (uint32_t) ~(MAP_PRIVATE | MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED |
					MAP_DENYWRITE | MAP_EXECUTABLE | MAP_NORESERVE |
					MAP_POPULATE | MAP_STACK));
	emit_jump_if(e, &to->no, CC_NE);
	emit_test_flags(e, MAP_ANONYMOUS);
	anonymous = emit_jcc(e, CC_NE);
	if (logged)
		to->no.sites[to->no.count++] = emit_jump(e);
	/* Writes through it may change code elsewhere: mov ecx, edx; shr ecx; and ecx, r10d; test
	 * cl, MAP_SHARED */
	EMIT(e, 0x89, 0xd1, 0xd1, 0xe9, 0x44, 0x21, 0xd1, 0xf6, 0xc1, MAP_SHARED);
	emit_jump_if(e, &to->no, CC_NE);
	syscall_emit_test_grant(e, POLICY_WAIT);
	emit_jump_if(e, &to->no, CC_E);
	/* It may be made writable later. */
	emit_test_flags(e, MAP_SHARED);
	own = emit_jcc(e, CC_E);
	EMIT(e, 0x65, 0x81, 0x24, 0x25); /* and dword gs:[syscalls], mask */
	emit_u32(e, CTX_SYSCALLS);
	emit_u32(e, ~(uint32_t)POLICY_PROTECTS);
	emit_patch(e, own, e->base + e->len);
	emit_test_flags(e, MAP_FIXED);
	emit_jump_if(e, &to->yes, CC_E);
	syscall_emit_test_grant(e, POLICY_TABLE);
	emit_jump_if(e, &to->no, CC_E);
	EMIT(e, 0x44, 0x89, 0xc1); /* mov ecx, r8d */
	syscall_emit_kind(e);
	syscall_emit_compare_kind(e, DESCRIPTOR_AT_ONCE);
	emit_jump_if(e, &to->no, CC_NE);
	fixed.sites[fixed.count++] = emit_jump(e);
	emit_patch(e, anonymous, e->base + e->len);
	emit_test_flags(e, MAP_FIXED);
	emit_jump_if(e, &to->yes, CC_E);
	land_all(e, &fixed);
}

/* [rdi, rdi+rsi) is nothing that a call in the cache may not touch. Ends at yes or no. */
static void emit_range(struct emitter *e, struct syscall_ways *to)
{
	size_t again;

	EMIT(e, 0x48, 0x89, 0xf9, 0x48, 0x01, 0xf1); /* mov rcx, rdi; add rcx, rsi */
	emit_jump_if(e, &to->no, CC_B);
	EMIT(e, 0x65, 0x8b, 0x04, 0x25); /* mov eax, gs:[bytes] */
	emit_u32(e, CTX_CODE_BYTES);
	again = e->len;
	EMIT(e, 0x83, 0xe8, 16); /* sub eax, 16 */
	emit_jump_if(e, &to->yes, CC_B);
	EMIT(e, 0x65, 0x48, 0x3b, 0xb8); /* cmp rdi, gs:[rax+end] */
	emit_u32(e, CODE_RANGES_AT + 8);
	emit_patch(e, emit_jcc(e, CC_AE), e->base + again);
	EMIT(e, 0x65, 0x48, 0x3b, 0x88); /* cmp rcx, gs:[rax+start] */
	emit_u32(e, CODE_RANGES_AT);
	emit_patch(e, emit_jcc(e, CC_BE), e->base + again);
	to->no.sites[to->no.count++] = emit_jump(e);
}

/* Notes its arguments. */
static void emit_args(struct emitter *e)
{
	static const uint8_t args[] = {X86_RDI, X86_RSI};

	emit_load(e, X86_RCX, CTX_SYSCALL_NEXT);
	EMIT(e, 0x65, 0xc7, 0x81); /* mov dword gs:[rcx], marker */
	emit_u32(e, SYSCALL_NOTES_END);
	emit_u32(e, (uint32_t)NOTE_OF_ARGS);
	EMIT(e, 0x48, 0x8d, 0x82); /* lea rax, [rdx+page-1] */
	emit_u32(e, BT_PAGE - 1);
	EMIT(e, 0x48, 0xc1, 0xe8, BT_PAGE_BITS); /* shr rax */
	EMIT(e, 0x65, 0x89, 0x81);               /* mov gs:[rcx+pages], eax */
	emit_u32(e, SYSCALL_NOTES_END + NOTE_PAGES);
	for (unsigned i = 0; i < ARRAY_SIZE(args); i++) {
		EMIT(e, 0x65, 0x48, 0x89,
		     (uint8_t)(0x81 | args[i] << 3)); /* mov gs:[rcx+arg], reg */
		emit_u32(e, SYSCALL_NOTES_END + NOTE_ARGS + 8 * i);
	}
	EMIT(e, 0x48, 0x8d, 0x49, NOTE_SIZE); /* lea rcx, [rcx+note] */
	emit_store(e, X86_RCX, CTX_SYSCALL_NEXT);
}

void map_call_emit(struct emitter *e, bool logged, struct syscall_ways *ways)
{
	struct syscall_ways way = {.no = ways->no}, *to = &way;
	struct forward range = {.count = 0};
	size_t other;

	other = syscall_emit_unless(e, SYS_brk);
	emit_heap(e, to);
	emit_patch(e, other, e->base + e->len);
	other = syscall_emit_unless(e, SYS_mmap);
	emit_mapping(e, logged, to);
	range.sites[range.count++] = emit_jump(e);
	emit_patch(e, other, e->base + e->len);
	other = syscall_emit_unless(e, SYS_mprotect);
	emit_protection(e, &to->no);
	emit_letting_write(e, &to->no);
	range.sites[range.count++] = emit_jump(e);
	emit_patch(e, other, e->base + e->len);
	other = syscall_emit_unless(e, SYS_madvise);
	EMIT(e, 0x83, 0xfa, MADV_DONTNEED); /* cmp edx, advice */
	emit_jump_if(e, &range, CC_E);
	EMIT(e, 0x83, 0xfa, MADV_FREE);
	emit_jump_if(e, &to->no, CC_NE);
	range.sites[range.count++] = emit_jump(e);
	emit_patch(e, other, e->base + e->len);
	other = syscall_emit_unless(e, SYS_mremap);
	emit_test_flags(e, (uint32_t)~MREMAP_MAYMOVE);
	emit_jump_if(e, &to->no, CC_NE);
	EMIT(e, 0x48, 0x85, 0xf6); /* test rsi, rsi: none of it is another of the same */
	emit_jump_if(e, &to->no, CC_E);
	EMIT(e, 0x48, 0x89, 0xd0, 0x48, 0xc1, 0xe8,
	     32 + BT_PAGE_BITS - 1); /* mov rax, rdx; shr rax: to be noted in pages */
	emit_jump_if(e, &to->no, CC_NE);
	emit_patch(e, other, e->base + e->len); /* munmap */
	land_all(e, &range);
	emit_range(e, to);
	land_all(e, &to->yes);
	emit_args(e);
	ways->no = to->no;
	ways->yes.sites[ways->yes.count++] = emit_jump(e);
}

void map_call_emit_failed(struct emitter *e)
{
	size_t other, refused;

	_Static_assert(
		SYS_mprotect == SYS_mmap + 1 && SYS_munmap == SYS_mmap + 2,
		"the calls of map_call_emit() that fail, but for those that no log lets run");
	EMIT(e, 0x83, 0xe8, SYS_mmap, 0x83, 0xf8, 2); /* sub eax, first; cmp eax, others */
	other = emit_jcc(e, CC_A);
	EMIT(e, 0x65, 0x83, 0x3c,
	     0x25); /* cmp dword gs:[result], error: these have done nothing then */
	emit_u32(e, CTX_RAX);
	emit_u8(e, (uint8_t)-EINVAL);
	refused = emit_jcc(e, CC_E);
	EMIT(e, 0x65, 0x81, 0x24, 0x25); /* and dword gs:[syscalls], mask */
	emit_u32(e, CTX_SYSCALLS);
	emit_u32(e, ~(uint32_t)POLICY_MAPS);
	emit_patch(e, refused, e->base + e->len);
	emit_patch(e, other, e->base + e->len);
}
