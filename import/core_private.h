/* SPDX-License-Identifier: MIT */
/* Shared by the files of the core file reader: the address space of a core file (core_map.c), the
 * stacks of its threads (core_stack.c), reading and writing (core_file.c). Nobody else includes
 * this. */
#ifndef BT_CORE_PRIVATE_H
#define BT_CORE_PRIVATE_H

#include "import/importer.h"

struct core_thread {
	uint32_t tid, signal;
	struct bt_regs regs;
};

struct core_segment {
	uint64_t start, end, offset_in_file; /* offset_in_file: of the mapped file */
	struct slice bytes;                  /* the dumped part */
	struct slice path, build_id;
	uint8_t prot;
	bool named_only; /* no program header has it */
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
	uint64_t whole;          /* size of the complete file */
	uint32_t space;
};

struct core_range {
	uint64_t start, end;
};

/* Up to size bytes at an offset of a file that may be cut off; bad if the file ends before. */
struct slice core_part(struct slice all, uint64_t offset, uint64_t size);

/* A string that ends with a NUL or with the slice. */
struct slice core_string(struct slice s);

/* Call it when all program headers and notes are read. Sorts the segments, adds the file mappings
 * that only NT_FILE has, and names all. Returns how many it added, or -BT_E_NO_MEMORY. */
int64_t core_map_complete(struct core *c) BT_MUST_USE;

/* The protection for p_flags of a program header, as enum bt_protection. */
uint8_t core_protection(uint32_t flags);

/* The segment at addr, or NULL. */
struct core_segment *core_map_at(const struct core *c, uint64_t addr);

/* Up to n dumped bytes at addr within one segment. */
struct slice core_map_memory(const struct core *c, uint64_t addr, uint64_t n);

/* The range to keep of the stack that sp points to, also after an overflow; at most `most` bytes,
 * empty if there is no stack. */
struct core_range core_stack_of(const struct core *c, uint64_t sp, uint64_t most);

/* Finds where a thread on an alternate signal stack was interrupted: its stack pointer and code
 * address. bytes: the stack's memory from addr on. False: it is on no such stack. */
bool core_stack_interrupted(struct slice bytes, uint64_t addr, uint64_t sp,
			    uint64_t *interrupted_sp, uint64_t *interrupted_at);

#endif
