/* SPDX-License-Identifier: MIT */
/* The layout of the engine's region of an address space, and the constants that the cache's code
 * agrees on.
 *
 * One region per address space, at a fixed place (world.h): data, readable and writable; then code,
 * readable and executable. While a task runs in the cache its gs base is the region's start, and
 * r11 (the stolen register: compilers use it least) holds the history bits, as the records do: the
 * complement of a sentinel 1 and one bit per conditional branch since the last record
 * (branch_log.h). One task of a unit runs at a time, so the context belongs to the one that runs,
 * and code may reach it relative to rip; or (--parallel) each has a data area of its own, in which
 * gs points.
 *
 * Used by all that emits code or reads the window; the doctor tries a region of this size. Kept
 * code has these offsets in it: persisted_stamp() tells builds of btrec apart. */
#ifndef BT_LAYOUT_H
#define BT_LAYOUT_H

#include <stdint.h>

#include "collector/space/world.h"
#include "syscalls/syscall_args.h"

enum {
	/* The context: 8 bytes each, at gs:[offset], the area's beginning. */
	CTX_SPILL = 0x00, /* a register lent to a rip-relative operand */
	CTX_RAX = 0x08,   /* the application's rax while ours is in use */
	CTX_RCX = 0x10,   /* the same of rcx */
	CTX_BITS = 0x18,  /* the history bits while r11 is the application's */
	CTX_R11 = 0x20,   /* the application's r11 otherwise */
	CTX_NEXT = 0x28,  /* place of the next record: a negative offset from the records' end */
	CTX_LIMIT = 0x30, /* history bits below this make a safe point write a record; the highest
			     number asks for a stop */
	CTX_STOP = 0x38,  /* nonzero: stop at the next safe point */
	CTX_MASK = 0x40,  /* the same as bits of r11: they are all 1 until then; no bits ask for a
			     stop. Where only ticks are counted: TICKS_MASK */
	CTX_BACK = 0x48, /* address to which the routines of a safe point and behind PAUSE return in
			    order to stop */
	CTX_FLAGS = 0x50,
	CTX_ENTRY = 0x58,
	CTX_COPY = CTX_ENTRY,    /* of a system call: the table's entry for the descriptor that it
				    returns */
	CTX_RDX = 0x60,          /* the application's before CPUID */
	CTX_SYSCALLS = 0x68,     /* enum syscall_policy: the grants to system calls in the cache
				    (syscall_policy.h) */
	CTX_SYSCALL_NEXT = 0x70, /* place of the next note: a negative offset from the notes' end */
	/* Where no history is kept (fragment_ticks.c). */
	CTX_SLOTS =
		0x78, /* r11 as it was at the transfer of this number since the last conditional */
	CTX_SLOT_COUNT = 8,
	CTX_FROM = 0xb8, /* the place in the code of the indirect branch made last */
	CTX_R10 = 0xc0,  /* the application's while an indirect branch's target is compared with its
			    prediction */
	CTX_CALLING = 0xc8, /* nonzero: the task is in a system call, or about to make it: a tracer
			       that wants a stop looks whether it waits there */
	CTX_TABLE = 0xd0,  /* address of the table of descriptors: the address space has one, in the
			      first data area */
	CTX_CPUID = 0xd8,  /* nonzero: the routine may answer CPUID by what it knows of the
			      processor */
	CTX_SAMPLE = 0xe0, /* place of the note of the next arrival by a search: a negative offset
			      from the records' end; 0: arrivals are not noted (cache_sample.c) */
	CTX_HEAP = 0xe8,   /* end of the program's heap at the last look; 0: not known */
	CTX_CODE_BYTES = 0xf0, /* bytes in use from CODE_RANGES_AT on */
	CTX_DEVICE = 0xf8,     /* of a local file system (st_dev): descriptors of its files may be
				  entered into the table; 0: none */
	/* While others wait for the turn that the task has (cache_spin.c): */
	CTX_TURN = 0x100,
	CTX_SPINS = CTX_TURN,   /* when safe points have written records at so many multiples of
				   SPIN_BYTES running, it stops */
	CTX_SPINS_FROM = 0x108, /* the first value of CTX_SPINS */
	CTX_SPIN_NEXT = 0x110,  /* CTX_NEXT at the last of them */
	CTX_PAUSES = 0x118,     /* PAUSEs after which it stops */
	CTX_WAITED = 0x120,     /* nonzero: others wait */
	CTX_LENT = 0x128, /* the application's registers that a cycle lends to its fragment (enum
			     lent) */
	CTX_LOG_NEXT = 0x140,     /* place in the log of the next bytes that a system call writes: a
				     negative offset from the log's end */
	CTX_ANSWER = 0x148,       /* the answer to the call that comes next: a negative offset from
				     the log's end; 0: there is none */
	CTX_ANSWER_TICKS = 0x150, /* its tick plus this is the tick in r11 at that call: 31 bits; */
	CTX_ANSWER_NOTED = 0x154, /* 32 bits; not 0: r11 has history bits, and the call is noted */
	CTX_STREAM = 0x158, /* during a system call that writes to the standard output or error that
			       the program was given: 1 or 2; else 0 */
	/* Of fragments that count (fragment.counting): so many conditionals, and other branches,
	   are still to be made before the task stops at the next one. */
	CTX_TICKS_LEFT = 0x160,
	CTX_TRANSFERS_LEFT = 0x168,
	CTX_STOP_BLOCK = 0x170,  /* they stop at this block of code, too, before their first branch:
				    the lower half of its address; STOP_BLOCK_NONE: at none */
	CTX_OWN_RESULTS = 0x178, /* nonzero: where a log is kept, instructions with a result of
			       their own may be noted */
	CTX_RBX = 0x180,         /* where a log is kept: the application's before CPUID */
	CTX_SIZE = 0x188,
	STOP_BYTES = 5, /* length of the jump to a stop, or of the stop, at the address in CTX_BACK;
			   behind it the task goes on */

	/* Behind the context: pairs {start, end} of memory. A system call that changes mappings is
	   made in the cache only if it leaves these alone. */
	CODE_RANGES_AT = 0x188,
	CODE_RANGES = 64,

	STATUS_AT = 0x600, /* a struct stat, for an fstat of the routines' own (in the first data
			      area) */

	/* The window (window.h), of one process: the context, notes of system calls made in the
	   cache, the records, marks of fragments that have run (cache_learn.c), the table of
	   descriptors (descriptors.h; in the first data area). */
	COPY_WORDS = 0x101,  /* CTX_COPY of a write to descriptor 2: its bytes are copied */
	COPY_OPENED = 0x102, /* CTX_COPY of a call that opens a file: its arguments are noted */
	COPY_TOLD = 0x100,   /* CTX_COPY of a call that tells the kind of a descriptor (fstat) */
	/* Bytes written to descriptor 2 in the cache (in the first data area): their number so far,
	   and the last of them, in a ring whose position is that number. */
	WORDS_TOTAL_AT = 0x700,
	WORDS_MOST_AT = 0x708, /* the number at which the tracer has to take them: a call that would
				  pass it is made at a stop */
	STACK_END = 0x1000,    /* of a stack of 8 bytes, for flags that are pushed */
	WORDS_AT = 0x1000,
	WORDS_BYTES = 0x2000,
	SYSCALL_NOTES_AT = 0x4000,
	SYSCALL_NOTES_BYTES = 0xc000,
	SYSCALL_NOTES_END = SYSCALL_NOTES_AT + SYSCALL_NOTES_BYTES,
	NOTE_NR = 0, /* offsets in a note (struct syscall_note) */
	NOTE_NEXT = 4,
	NOTE_BITS = 8,
	NOTE_RESULT = 16,
	NOTE_SIZE = 24,
	/* Before the note of a call that changes mappings there is one of its arguments, with the
	   third in pages. */
	NOTE_OF_ARGS = -1, /* in the place of the number */
	NOTE_PAGES = 4,
	NOTE_ARGS = 8,
	/* Behind the note of a call that failed there is a longer note of its arguments: all of
	   them, and the memory that two of them pointed to, one behind the other. */
	NOTE_OF_FAILURE = -2,
	FAILURE_ENDS = 4, /* ends of these two, from FAILURE_BYTES on: 16 bits; 0: none */
	FAILURE_ARGS = 8,
	FAILURE_BYTES = 56,
	FAILURE_PIECES = 2,
	FAILURE_LEAST = 72, /* whole notes */
	/* If a log is kept, such a note is behind that of each call: its arguments, and the number
	   of bytes that it has written to the memory of two of them, at most as many as it was
	   asked for. */
	NOTE_OF_LOG = -3,
	LOGGED_STREAM = 4, /* CTX_STREAM; not 0: the bytes are the program's output there */
	LOGGED_ARGS = 8,
	LOGGED_LENGTHS = 56, /* 32 bits each */
	LOGGED_DATA = 64,    /* the lower half of CTX_LOG_NEXT behind the call */
	LOGGED_BYTES = 72,
	/* If a log is kept: the note of an instruction, with edx and eax as its result: this less
	   its enum bt_logged_form. Behind those of rdtscp and CPUID there is one more, of ecx and
	   ebx. */
	NOTE_OF_INSTRUCTION = -3,
	NOTE_ECX = 0,
	NOTE_EBX = 4,
	/* Bytes that must be free before a call is made. */
	SYSCALL_NOTES_FREE = 2 * NOTE_SIZE + FAILURE_BYTES + FAILURE_PIECES * SYSCALL_POINTED_MAX,
	RECORDS_AT = 0x10000,
	RECORDS_BYTES = 0x100000,
	/* Where a log is kept, the bytes that calls have written take the place of the first
	 * records. Each piece begins at a multiple of LOG_ALIGN. */
	LOG_AT = RECORDS_AT,
	LOG_BYTES = 0x80000,
	LOG_END = LOG_AT + LOG_BYTES,
	LOG_ALIGN = 8,
	LOG_OF_CALL = 0x70000, /* a call that may write more is made at a stop */
	/* In a replay the log has the answers to the calls that come next (struct answer). */
	ANSWER_NEXT = 0, /* CTX_ANSWER behind it */
	ANSWER_NR = 8,
	ANSWER_RESULT = 16,
	ANSWER_TICK = 24, /* 32 bits each */
	ANSWER_ARG_COUNT = 28,
	ANSWER_ARGS = 32,
	ANSWER_LENGTHS = 80, /* of the pieces, the last of them output for the user; 32 bits each */
	ANSWER_FORM = 92,    /* enum bt_logged_form, 32 bits; of an instruction's answer: */
	ANSWER_ECX = ANSWER_ARGS, /* behind rdtscp and CPUID */
	ANSWER_EBX = ANSWER_ARGS + 4,
	ANSWER_ENDS = 96,    /* their ends in memory, */
	ANSWER_DATA = 120,   /* and in the log: negative offsets from its end */
	ANSWER_CHANGE = 144, /* a change of mappings, in the log likewise; 0: none: */
	ANSWER_BYTES = 152,
	CHANGE_NR = 0,
	CHANGE_ARGS = 8, /* four */
	CHANGE_GIVES = 40,
	CHANGE_SAVED = 48, /* room for registers: r10, r8, r9 and rdi */
	CHANGE_BYTES = 80,
	RECORD_BYTES = 16,
	SPIN_BYTES = 16 * RECORD_BYTES,
	RECORDS_END = RECORDS_AT + RECORDS_BYTES,
	SAMPLE_BYTES = 0x20000, /* at the end of the records, of which there are none then */
	MARKS_AT = RECORDS_END,
	MARKS = 0x40000, /* fragments that can have one; a byte each */
	/* A row of two bytes for all descriptors with the same low 16 bits; one of them at a time
	   is known: DESCRIPTOR_*, and above that the upper bits of its number. */
	DESCRIPTORS_AT = MARKS_AT + MARKS,
	DESCRIPTOR_ROWS = 0x10000,
	DESCRIPTOR_BYTES = 2,
	DESCRIPTOR_NUMBER_BITS = 16, /* low bits of a descriptor: its row */
	DESCRIPTOR_UNKNOWN = 0,
	DESCRIPTOR_AT_ONCE = 1, /* calls on it return at once */
	DESCRIPTOR_STOPS = 2,   /* calls on it are made at stops */
	DESCRIPTOR_WAITS = 3,   /* they may wait */
	/* Where a log is kept: */
	DESCRIPTOR_PAGE = 4, /* reads of a page at most return at once; all else may be broken off
			      */
	DESCRIPTOR_STREAM_1 = 5, /* calls return at once; it leads where the program's descriptor 1
				    led when it began */
	DESCRIPTOR_STREAM_2 = 6,
	DESCRIPTOR_KIND_BITS = 3,
	WINDOW_SIZE = DESCRIPTORS_AT + DESCRIPTOR_ROWS * DESCRIPTOR_BYTES,
	/* tables.h. Table 1: entries of fragments by the low 16 bits of the address jumped to;
	 * table 2: pairs {address, entry}, open addressing. */
	TABLE1_AT = WINDOW_SIZE,
	TABLE1_ENTRIES = 0x10000,
	TABLE1_BYTES = TABLE1_ENTRIES * 8,
	/* From here on the same memory in all processes that share a cache (code_cache.h), which
	   none of them can write. */
	SHARED_AT = TABLE1_AT + TABLE1_BYTES,
	TABLE2_AT = 0x200000,
	TABLE2_BITS = 17,  /* at most 2^17 pairs: it grows */
	TABLE2_SHIFT = 11, /* of the hash: leaves index * 16 */
	DATA_SIZE = 0x400000,

	CODE_AT = DATA_SIZE,
	CODE_SIZE = 64 << 20, /* once this much is used, everything is forgotten */
	/* Fragments begin at multiples of these: the cost of a loop depends on where its branches
	 * lie in a cache line in some processors, and is not to depend on what was translated
	 * before it. All of them so far apart would cost large programs room in the processor's
	 * caches. */
	CODE_ALIGN = 32,
	CODE_ALIGN_LOOP = 64,   /* of heads of loops */
	ROUTINES_SIZE = 0x3000, /* the common parts, at CODE_AT */
	REGION_SIZE = DATA_SIZE + CODE_SIZE,

	/* Where tasks run side by side: data areas for all tasks but the first, behind the region.
	 * Each has its own window. Tables and routines are the first one's, mapped again: routines
	 * read themselves. */
	AREA_SIZE = DATA_SIZE + ROUTINES_SIZE,
	AREAS = (WORLD_RESERVED_SIZE - REGION_SIZE) / AREA_SIZE + 1, /* with the first */
};

_Static_assert(SHARED_AT <= TABLE2_AT, "table 2 lies behind what is not shared");

#define AREAS_BYTES ((uint64_t)(AREAS - 1) * AREA_SIZE)

#define TABLE2_MULTIPLIER 0x9e3779b1u

/* No history bits: branch_log_written(1). */
#define BITS_EMPTY (~1ull)

/* So many bits a task may have when it passes a safe point, or one more; between two there come at
 * most BITS_DEBT. The ones above, which are lost when there are more of them: CTX_LIMIT, and
 * CTX_MASK. */
enum { BITS_CAPACITY = 46, BITS_DEBT = 15 };
#define BITS_FULL (~0ull << BITS_CAPACITY)

/* The same where only ticks are counted: conditionals below, room for transfers from bit
 * TICKS_SHIFT on, which is as far as an LEA reaches. From this number of conditionals on, or when
 * bits of the mask are 1, either is used up: so many transfers there are room for. */
enum { TICKS_SHIFT = 31 };
#define TICKS_LIMIT     (1ull << 24)
#define TICKS_TRANSFERS 0x1ffffffull
#define TICKS_MASK      0xff0000007f000000ull
#define TICKS_NONE      0x7fffffffull /* a number of conditionals that there never is */

static inline uint32_t ticks_of(uint64_t r11) { return r11 & TICKS_NONE; }

/* A record stands for fewer ticks than RECORD_TICKS. With less room than for RECORDS_LEAST a task
 * might not get on: a safe point, a prediction that missed, an indirect branch, and what stays
 * free. A task that is to stop nearer than at STOP_NEAR ticks runs in fragments that
 * count down to that (fragment.counting). Where only ticks are counted, at most TICKS_DEBT
 * conditionals come between two places that look whether to stop, and a stretch is bounded
 * TICKS_AHEAD before its stop point. */
enum {
	RECORD_TICKS = 64,
	RECORDS_LEAST = 4,
	STOP_NEAR = RECORDS_LEAST * RECORD_TICKS,
	TICKS_AHEAD = STOP_NEAR - 4,
	TICKS_DEBT = TICKS_AHEAD - 12,
	STOP_BLOCK = 32, /* bytes of code: near its stop point a task stops at the first instruction
			    that begins in one of these, which begin at multiples of it */
	STOP_BLOCK_NONE = 1,
};
_Static_assert(TICKS_DEBT <= UINT8_MAX, "struct fragment_demand");

/* Fragments that count (fragment.counting) have this bit in table 2 beside their address, which has
 * none there. They are not in table 1. */
#define TABLE2_COUNTING (1ull << 63)

static inline uint64_t region_address(uint64_t offset) { return WORLD_RESERVED_START + offset; }

/* The address of a data area in the tracee: the gs base of the task that runs with it. */
static inline uint64_t area_address(uint32_t area)
{
	return region_address(area ? REGION_SIZE + (uint64_t)(area - 1) * AREA_SIZE : 0);
}

/* The offset of its window for the tracer (window.h). */
static inline uint64_t area_window(uint32_t area) { return (uint64_t)area * AREA_SIZE; }

/* A search for pc begins in table 2 at the low bits of this. The routine computes the same. */
static inline uint32_t table2_hash(uint64_t pc)
{
	return ((uint32_t)pc * TABLE2_MULTIPLIER >> TABLE2_SHIFT) / 16;
}

#endif
