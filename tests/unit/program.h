/* SPDX-License-Identifier: MIT */
/* Application code for the translator that is a piece of memory. */
#ifndef BT_UNIT_PROGRAM_H
#define BT_UNIT_PROGRAM_H

#include <string.h>

#include "collector/backend/engine/translate/translator.h"

#define PROGRAM_PAGE 4096u

struct program {
	uint8_t *bytes; /* whole pages */
	size_t len;
	uint64_t at;
};

static inline size_t program_read(void *arg, uint64_t addr, uint8_t *bytes, size_t n)
{
	const struct program *p = arg;

	if (addr < p->at || addr - p->at >= p->len)
		return 0;
	n = n < p->len - (addr - p->at) ? n : p->len - (addr - p->at);
	memcpy(bytes, p->bytes + (addr - p->at), n);
	return n;
}

static inline const uint8_t *program_page(void *arg, uint64_t addr)
{
	const struct program *p = arg;

	return addr < p->at || addr - p->at >= p->len
		       ? NULL
		       : p->bytes + ((addr - p->at) & ~(uint64_t)(PROGRAM_PAGE - 1));
}

static inline bool program_is_mutable(void *arg, uint64_t addr)
{
	(void)arg;
	(void)addr;
	return false;
}

/* None of it changes. p stays the caller's, who keeps it for as long. */
static inline struct code_source program_source(struct program *p)
{
	return (struct code_source){.read = program_read,
				    .fixed_page = program_page,
				    .is_mutable = program_is_mutable,
				    .arg = p};
}

#endif
