/* SPDX-License-Identifier: MIT */
/* What the parts of the reader of core files share: the address space that a core file tells of
 * (core_map.c), the stacks of its threads (core_stack.c), what is read and written (core_file.c).
 * Nobody else includes this. */
#ifndef BT_CORE_PRIVATE_H
#define BT_CORE_PRIVATE_H

#include "import/importer.h"

struct core_thread {
	uint32_t tid, signal;
	struct bt_regs regs;
};

struct core_segment {
	uint64_t start, end, offset_in_file; /* the last: of the mapped file */
	struct slice bytes;                  /* what of it was dumped */
	struct slice path, build_id;
	uint8_t prot;
	bool named_only; /* no program header tells of it */
};

struct core {
	struct importer *im;
	struct slice all;
	struct bt_error *err;
	struct core_segment *segments; /* by address */
	size_t segment_count, segment_cap;
	struct core_thread *threads;
	size_t thread_count, thread_cap;
	uint32_t pid;
	struct slice name, arguments, files, siginfo;
	uint64_t vdso, on_stack; /* addresses in those mappings, 0: unknown */
	uint64_t room;           /* bytes of memory that may still be kept */
	uint64_t whole;          /* bytes the file has when it is all there */
	uint32_t space;
};

struct core_range {
	uint64_t start, end;
};

/* Up to size bytes at an offset of a file that may be cut off; bad when nothing of it can be there.
 */
struct slice core_part(struct slice all, uint64_t offset, uint64_t size);

/* A string that ends with a NUL or with the slice. */
struct slice core_string(struct slice s);

/* When all program headers and notes are read: puts the segments in order, adds the mappings of
 * files that NT_FILE alone tells of, names all. Returns how many it added; negative, an error
 * (BT_E_NO_MEMORY). */
int64_t core_map_complete(struct core *c) BT_MUST_USE;

/* The segment at addr, or NULL. */
struct core_segment *core_map_at(const struct core *c, uint64_t addr);

/* Up to n dumped bytes at addr within one segment. */
struct slice core_map_memory(const struct core *c, uint64_t addr, uint64_t n);

/* What is to be kept of the stack that sp points to, also after an overflow, at most so many bytes;
 * empty where there is none. */
struct core_range core_stack_of(const struct core *c, uint64_t sp, uint64_t most);

/* Where a thread on an alternate signal stack, whose memory from addr on these bytes are, was
 * interrupted: the stack pointer, and the address of the code. False: it is on no such stack. */
bool core_stack_interrupted(struct slice bytes, uint64_t addr, uint64_t sp,
			    uint64_t *interrupted_sp, uint64_t *interrupted_at);

#endif
