/* SPDX-License-Identifier: MIT */
/* The list of the dynamic linker that debuggers read: where each ELF file is mapped. The linker
 * keeps it in memory (link.h of glibc), which a trace seldom has; here it is made of the mappings
 * and of the files that the trace was recorded with. Used by the export of core files. */
#ifndef BT_LINKER_LIST_H
#define BT_LINKER_LIST_H

#include "decoder/symbols/symbols.h"
#include "lib/buf.h"
#include "lib/page.h"

/* The first page of a mapped file, which has its build-id; the kernel puts it into core files, too.
 */
struct linker_page {
	uint64_t address;
	size_t len;
	uint8_t bytes[BT_PAGE];
};

struct linker_list {
	/* The program: 0 where it is not known. */
	uint64_t program, entry, headers; /* addresses of its mapping, entry and program headers */
	uint16_t header_count;
	uint64_t interpreter; /* address of the dynamic linker's mapping, or 0 */
	uint64_t vdso;        /* or 0 */
	/* The list at an address where nothing is mapped; len 0: the program has none. */
	uint64_t address;
	struct buf bytes;
	struct linker_page *pages; /* by address */
	size_t page_count;
	uint64_t pointer; /* address of the program's word (DT_DEBUG) that points to the list */
};

/* Whether a mapping is of a file that has a name. */
bool linker_list_is_file(const struct space_map *map);

/* Makes the list of a space at an epoch. command: the name of the program's file, without folders.
 * maps: by address. Errors: BT_E_NO_MEMORY. */
int linker_list_make(struct linker_list *l, struct symbols *s, uint32_t space, uint32_t epoch,
		     const char *command, const struct space_map *const *maps, size_t count,
		     struct bt_error *err) BT_MUST_USE;
void linker_list_release(struct linker_list *l);

#endif
