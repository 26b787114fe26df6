/* SPDX-License-Identifier: MIT */
/* Memory of a process at a moment, as far as it is known: the memory that the trace kept with the
 * moment, and the parts of the program's files that cannot have changed. For values of variables.
 * It borrows. */
#ifndef BT_KNOWN_MEMORY_H
#define BT_KNOWN_MEMORY_H

#include "decoder/symbols/symbols.h"

struct known_memory {
	struct symbols *s;
	const struct model_snapshot *snap;
	uint32_t space, epoch;
};

/* Copies up to n bytes at addr. Returns how many consecutive bytes are known. */
size_t known_memory_read(const struct known_memory *k, uint64_t addr, void *out, size_t n);

/* Whether anything was mapped there at that moment. */
bool known_memory_is_mapped(const struct known_memory *k, uint64_t addr);

#endif
