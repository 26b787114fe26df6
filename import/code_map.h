/* SPDX-License-Identifier: MIT */
/* Where the code of an imported address space is: its executable file mappings whose files are
 * still the ones that were mapped (code_file.h). Gives the bytes at an address, and which pages of
 * them are not in the trace yet. Used by the importer, one for each process of a capture. Each page
 * is given once. */
#ifndef BT_CODE_MAP_H
#define BT_CODE_MAP_H

#include "import/code_file.h"

/* Files that were opened, each once, and what ranges of code may still take of memory. */
struct code_files {
	struct code_files_entry *at;
	size_t count;
	size_t spent;
	struct code_name *names; /* of what is mapped and has no code */
	size_t name_count;
};

/* A file whose code cannot be had. */
struct code_name {
	struct slice path; /* owned */
	bool told;         /* the user was told */
};

void code_files_release(struct code_files *f);

struct file_range {
	uint64_t start, end, offset;
	struct slice file; /* all of it; empty: its code cannot be had */
	uint8_t *done;     /* a bit a page: it is in the trace; owned. NULL without code */
	uint32_t name;     /* without code: its number in code_files.names + 1, 0: it has none */
};

/* What is beyond a limit of ranges has no code. */
struct code_map {
	struct file_range *ranges;
	size_t count;
	size_t last; /* the range that was hit last */
};

/* The mapping [start, end) comes, and goes over what was there. It has code when executable and
 * when its file can be had. */
void code_map_add(struct code_map *m, struct code_files *files, uint64_t start, uint64_t end,
		  uint64_t offset, bool executable, struct slice path, struct slice build_id);
void code_map_clear(struct code_map *m);

/* Makes to what from is. */
void code_map_copy(struct code_map *to, struct code_files *files, const struct code_map *from);

/* The code from addr on, up to n bytes within its mapping; empty: none is known. *page: the page of
 * addr, when it is not in the trace yet (it counts as there from now on), else empty. */
struct slice code_map_at(struct code_map *m, uint64_t addr, size_t n, struct slice *page);

/* The same without a word of pages. */
struct slice code_map_bytes(struct code_map *m, uint64_t addr, size_t n);

/* The name of what is mapped at addr and has no code; NULL: nothing is mapped there, or it has
 * code. */
struct code_name *code_map_lacks(struct code_map *m, const struct code_files *files, uint64_t addr);

#endif
