/* SPDX-License-Identifier: MIT */
/* Machine code, an instruction a function. None of these changes flags unless its name says so.
 * Bytes beyond the room are counted and not written: the caller looks at `overflow` once, at the
 * end. Used by the translator and the routines. Pure: no memory but the emitter's. */
#ifndef BT_EMIT_H
#define BT_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "collector/backend/engine/cache/layout.h"
#include "collector/backend/engine/x86/x86.h"

struct emitter {
	uint8_t *bytes;
	size_t len, room;
	uint64_t base; /* address at which bytes[0] will run */
	bool near; /* the context is at the beginning of the region, and not at gs: that takes two
		      bytes and a cycle less */
	bool overflow;
};

static inline void emit_bytes(struct emitter *e, const void *bytes, size_t n)
{
	if (e->len + n > e->room) {
		e->overflow = true;
		return;
	}
	memcpy(e->bytes + e->len, bytes, n);
	e->len += n;
}

static inline void emit_u8(struct emitter *e, uint8_t b) { emit_bytes(e, &b, 1); }
static inline void emit_u32(struct emitter *e, uint32_t v) { emit_bytes(e, &v, 4); }
static inline void emit_u64(struct emitter *e, uint64_t v) { emit_bytes(e, &v, 8); }

#define EMIT(e, ...)                                            \
	do {                                                    \
		const uint8_t emit_list_[] = {__VA_ARGS__};     \
		emit_bytes((e), emit_list_, sizeof emit_list_); \
	} while (0)

/* An instruction with an operand in the context: the bytes before its other prefixes and its
 * opcode, and those from the operand on; reg is the other operand's number, and so many bytes of
 * the instruction follow. */
static inline void emit_context_prefix(struct emitter *e)
{
	if (!e->near)
		emit_u8(e, 0x65); /* gs */
}
static inline void emit_context_operand(struct emitter *e, unsigned reg, uint32_t at,
					unsigned follow)
{
	if (e->near) {
		emit_u8(e, (uint8_t)(0x05 | (reg & 7) << 3)); /* [rip+...] */
		emit_u32(e, (uint32_t)(region_address(at) - (e->base + e->len + 4 + follow)));
	} else {
		EMIT(e, (uint8_t)(0x04 | (reg & 7) << 3), 0x25);
		emit_u32(e, at);
	}
}
#define EMIT_CONTEXT(e, reg, at, follow, ...)                     \
	do {                                                      \
		emit_context_prefix(e);                           \
		EMIT(e, __VA_ARGS__);                             \
		emit_context_operand((e), (reg), (at), (follow)); \
	} while (0)

/* [at] with a 64-bit register: opcode 89 stores, 8b loads. */
static inline void emit_move(struct emitter *e, uint8_t opcode, unsigned reg, uint32_t at)
{
	EMIT_CONTEXT(e, reg, at, 0, (uint8_t)(0x48 | (reg >> 3) << 2), opcode);
}
static inline void emit_store(struct emitter *e, unsigned reg, uint32_t at)
{
	emit_move(e, 0x89, reg, at);
}
static inline void emit_load(struct emitter *e, unsigned reg, uint32_t at)
{
	emit_move(e, 0x8b, reg, at);
}
/* Bytes of one of these. */
static inline uint32_t emit_move_len(const struct emitter *e) { return e->near ? 7 : 9; }

/* From where a fragment leaves for a system call to where it goes on behind one that has been
 * noted: a jump, the call, and how it gets to the routine behind it. */
static inline uint32_t emit_syscall_len(const struct emitter *e)
{
	return 5 + 2 + 7 + emit_move_len(e) + 5;
}

static inline void emit_constant(struct emitter *e, unsigned reg, uint64_t value)
{
	if (value <= UINT32_MAX) { /* mov r32, imm32 */
		if (reg >= 8)
			emit_u8(e, 0x41);
		emit_u8(e, (uint8_t)(0xb8 | (reg & 7)));
		emit_u32(e, (uint32_t)value);
		return;
	}
	EMIT(e, (uint8_t)(0x48 | reg >> 3), (uint8_t)(0xb8 | (reg & 7)));
	emit_u64(e, value);
}

/* A bit into the history, which is the complement of a record's (BITS_EMPTY): its highest bit is 1,
 * so that a rotation brings in a 1. The rotation takes one cycle, and so does a LEA of two
 * registers; a LEA with a displacement, too, takes two or three. */
static inline void emit_bit_taken(struct emitter *e, bool rorx)
{
	if (rorx)
		EMIT(e, 0xc4, 0x43, 0xfb, 0xf0, 0xdb, 0x3f); /* rorx r11, r11, 63 */
	else
		EMIT(e, 0x4f, 0x8d, 0x5c, 0x1b, 0x01); /* lea r11, [r11+r11+1] */
}
static inline void emit_bit_not_taken(struct emitter *e)
{
	EMIT(e, 0x4f, 0x8d, 0x1c, 0x1b);
} /* lea r11, [r11+r11] */
static inline void emit_tick(struct emitter *e)
{
	EMIT(e, 0x4d, 0x8d, 0x5b, 0x01);
} /* lea r11, [r11+1] */
static inline void emit_bits_empty(struct emitter *e)
{
	EMIT(e, 0x49, 0xc7, 0xc3, 0xfe, 0xff, 0xff, 0xff);
} /* mov r11, BITS_EMPTY */

/* An int3 of an exit: behind the first one is nobody who is before what follows. */
static inline void emit_trap(struct emitter *e) { EMIT(e, 0xcc, 0xcc); }

/* To the code for where r11 says (tables.h); rcx is used. */
enum { DISPATCH_JUMP = 4, DISPATCH_BYTES = 12 }; /* offset of its jump; length of the whole */
static inline void emit_dispatch(struct emitter *e)
{
	EMIT(e, 0x41, 0x0f, 0xb7, 0xcb); /* movzx ecx, r11w */
	EMIT(e, 0x65, 0xff, 0x24, 0xcd); /* jmp gs:[rcx*8+table1] */
	emit_u32(e, TABLE1_AT);
}

/* A jump whose 32-bit displacement is filled in later: returns the place of the displacement. */
static inline size_t emit_jump(struct emitter *e)
{
	emit_u8(e, 0xe9);
	emit_u32(e, 0);
	return e->len - 4;
}

/* condition: the low four bits of the Jcc opcode. */
static inline size_t emit_jcc(struct emitter *e, uint8_t condition)
{
	EMIT(e, 0x0f, (uint8_t)(0x80 | condition));
	emit_u32(e, 0);
	return e->len - 4;
}

/* Before a jump whose displacement begins so many bytes further on, and changes while the code may
 * be running: a displacement in one aligned quadword is read as it was or as it is (AMD64 APM
 * volume 2, 7.6.1; processors of others do the same within a cache line). */
static inline void emit_align_link(struct emitter *e, size_t ahead)
{
	static const uint8_t nops[3][3] = {{0x90}, {0x66, 0x90}, {0x0f, 0x1f, 0x00}};
	size_t past = (e->base + e->len + ahead) % 8;

	if (past > 4)
		emit_bytes(e, nops[7 - past], 8 - past);
}

/* Fills in a displacement so that the jump leads to address. */
static inline void emit_patch(struct emitter *e, size_t at, uint64_t address)
{
	uint32_t d = (uint32_t)(address - (e->base + at + 4));

	if (!e->overflow)
		memcpy(e->bytes + at, &d, 4);
}

/* emit_dispatch() where only fragments that count are searched for, by the routine at this address.
 */
static inline void emit_dispatch_counting(struct emitter *e, uint64_t search)
{
	emit_patch(e, emit_jump(e), search);
}

/* The same of a jump with an 8-bit displacement, which ends at `behind`: to offset `to`. A farther
 * target overflows. */
static inline void emit_short(struct emitter *e, size_t behind, size_t to)
{
	ptrdiff_t d = (ptrdiff_t)(to - behind);

	if (d > INT8_MAX || d < INT8_MIN)
		e->overflow = true;
	else if (!e->overflow)
		e->bytes[behind - 1] = (uint8_t)d;
}

/* A memory operand [disp32]: a SIB byte with neither base nor index (Intel SDM volume 2, table
 * 2-3). */
static inline void emit_absolute_operand(struct emitter *e, uint8_t modrm, uint64_t addr)
{
	EMIT(e, (uint8_t)((modrm & 0x38) | 4), 0x25);
	emit_u32(e, (uint32_t)addr);
}

#endif
