/* SPDX-License-Identifier: MIT */
/* The code of an imported address space: executable file mappings whose files are still the ones
 * that were mapped (code_file.h). Gives the bytes at an address, and each page once, to be put into
 * the trace. Used by the importer, one for each process of a capture. */
#ifndef BT_CODE_MAP_H
#define BT_CODE_MAP_H

#include "import/code_file.h"

/* Files that were opened, each once, and the memory that ranges of code have taken. */
struct code_files {
	struct code_files_entry *at;
	size_t count;
	size_t spent;
	struct code_name *names; /* of mappings without code */
	size_t name_count;
};

/* A file whose code is not available. */
struct code_name {
	struct slice path; /* owned */
	bool told;         /* the user was told */
};

void code_files_release(struct code_files *f);

struct file_range {
	uint64_t start, end, offset;
	struct slice file; /* all of it; empty: its code is not available */
	uint8_t *done;     /* a bit for each page that is in the trace; owned. NULL without code */
	uint32_t name;     /* without code: its index in code_files.names + 1; 0: no name */
};

/* Mappings beyond a limit of ranges have no code. */
struct code_map {
	struct file_range *ranges;
	size_t count;
	size_t last; /* the range that was hit last */
};

/* Adds the mapping [start, end) in place of older ones there. It has code if it is executable and
 * its file is available. */
void code_map_add(struct code_map *m, struct code_files *files, uint64_t start, uint64_t end,
		  uint64_t offset, bool executable, struct slice path, struct slice build_id);
void code_map_clear(struct code_map *m);

/* Makes *to a copy of *from. */
void code_map_copy(struct code_map *to, struct code_files *files, const struct code_map *from);

/* The code from addr on, up to n bytes within its mapping; empty: no code is known. *page: the page
 * of addr if it is not in the trace yet, else empty. From now on it counts as in the trace. */
struct slice code_map_at(struct code_map *m, uint64_t addr, size_t n, struct slice *page);

/* code_map_at() without the page. */
struct slice code_map_bytes(struct code_map *m, uint64_t addr, size_t n);

/* The name of the mapping without code at addr; NULL: nothing is mapped there, or it has code. */
struct code_name *code_map_lacks(struct code_map *m, const struct code_files *files, uint64_t addr);

#endif
