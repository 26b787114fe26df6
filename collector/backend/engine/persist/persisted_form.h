/* SPDX-License-Identifier: MIT */
/* The parts of a group; shared by persisted_maker.c, which writes it, and persisted_groups.c, which
 * reads it. Addresses are relative to the group's origin, an address in the file that its fragments
 * are of. Places in the code are relative to the beginning of the code, unless a struct of the
 * cache's says otherwise. The bytes come from a file: a reader checks all of them. */
#ifndef BT_PERSISTED_FORM_H
#define BT_PERSISTED_FORM_H

#include <string.h>

#include "collector/backend/engine/persist/persisted_groups.h"

/* No relative address. */
#define PERSISTED_NOWHERE (1ull << 63)

enum {
	PERSISTED_SEGMENTS = 64,    /* of a fragment */
	PERSISTED_NONE = UINT8_MAX, /* no fragment of the group */
};

/* Numbers in the code that depend on addresses. The group has a list of their offsets for each
 * kind. */
enum number_kind {
	NUMBER_ADDRESS,  /* 64 bits: of the application */
	NUMBER_NEGATIVE, /* 64 bits: the same, complemented or negated: it falls as the address
			    rises */
	NUMBER_ROUTINE,  /* 32 bits: from here to the common parts */
	NUMBER_CODE,     /* 32 bits: an address in the code area */
	NUMBER_SEGMENT,  /* 32 bits: of a segment; a list beside this one says which */
	NUMBER_KINDS,
};

/* The parts stand behind one another in the order of these counts, and then the application's
 * bytes, range by range. */
struct persisted_head {
	uint64_t check;  /* of all that follows */
	uint64_t origin; /* as an offset in the file */
	uint64_t pc;     /* the address at which the origin must lie; 0: any high one */
	uint32_t size;
	uint16_t fragments, ranges, segments, exits;
	uint16_t refs; /* segments of the fragments */
	uint16_t numbers[NUMBER_KINDS];
	uint16_t state_map, code; /* bytes */
	struct fragment_kind kind;
};

struct persisted_fragment {
	uint64_t pc;
	uint64_t returns_to, slot;                  /* PERSISTED_NOWHERE: none */
	uint16_t start, end, body, fresh, indirect; /* fresh, indirect: as start, none */
	uint16_t exits, state_map; /* number of its exits; bytes of its state map */
	uint8_t segments;
	uint8_t debt;
	bool has_fresh, has_indirect, checked, passes, x87;
};

struct persisted_range {
	uint64_t start;
	uint64_t len;
};

struct persisted_exit {
	uint64_t target;
	uint16_t trap, site; /* site 0: none */
	uint8_t linked; /* fragment of the group's to which its jump leads, PERSISTED_NONE: to its
			   own trap */
	uint8_t kind : 2, goes_on : 1, fresh : 1, conditional : 1, rcx : 1;
	struct fragment_demand demand;
};

/* A group has every member of these, but fragment.last_len and fragment.head, which only the maker
 * needs, and those of rounds and of counts: such fragments are not kept. */
_Static_assert(sizeof(struct fragment) == 88 && sizeof(struct cache_exit) == 32 &&
		       sizeof(struct segment) == 48,
	       "a group has all of a fragment");
_Static_assert((int)PERSISTED_FRAGMENTS <= (int)PERSISTED_NONE, "fragments have numbers");

static inline uint32_t persisted_get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static inline uint64_t persisted_get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

/* Whether the address is so low that code has it in other forms. Such addresses do not move. */
static inline bool persisted_is_low(uint64_t addr) { return addr <= UINT32_MAX; }

#endif
