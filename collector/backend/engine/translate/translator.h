/* SPDX-License-Identifier: MIT */
/* From application code to the cache's code, a fragment at a time: a fragment follows fall-throughs
 * and direct jumps from its first instruction until a call, a return, an indirect jump, an
 * instruction that is not for the cache, or its size limit. Used by cache_entry.c and
 * persisted_maker.c. Application code comes from a struct code_source. At each instruction's code
 * the state map must say where the application's registers are. */
#ifndef BT_TRANSLATOR_H
#define BT_TRANSLATOR_H

#include "collector/backend/engine/cache/code_cache.h"

/* Where application code comes from: copies up to n bytes at addr, returns how many there are. */
struct code_source {
	size_t (*read)(void *arg, uint64_t addr, uint8_t *bytes, size_t n);
	/* The bytes of the page (of 4096) at addr when it cannot change but with its mapping; else,
	 * or where nothing can be read, NULL. */
	const uint8_t *(*fixed_page)(void *arg, uint64_t addr);
	/* Pages at these addresses will be asked for in a moment: reading them together costs less.
	 * NULL: it does not. */
	void (*ahead)(void *arg, const uint64_t *addrs, size_t n);
	/* Whether the code at addr can change unnoticed: then its fragments compare it with their
	 * source each time they run. */
	bool (*is_mutable)(void *arg, uint64_t addr);
	/* Whether such code may be written by others while it runs. */
	bool (*others_write)(void *arg, uint64_t addr);
	/* Whether the fragment at pc is to mark that it has run: the byte at MARKS_AT + its number
	 * of the task's window gets code_cache_mark(). NULL: none is. */
	bool (*is_marked)(void *arg, uint64_t pc);
	/* Whether a task is to be stopped before an instruction that begins in [start, end)
	 * (function_stops.h): the cache gets no code for it. NULL: before none. */
	bool (*stops_in)(void *arg, uint64_t start, uint64_t end);
	void *arg;
	const struct fragment_demand
		*demand; /* the demand to meet; NULL: that of the cache's exits */
};

/* Translates the fragment at pc and links it; indirect: it will be jumped to indirectly, so it gets
 * that entry and is published. Returns its number; FRAGMENT_NONE when the instruction at pc is not
 * for the cache (stepped instead), or there is no memory, or the cache is full. It may have been
 * cleared then. */
uint32_t translator_translate(struct code_cache *c, const struct code_source *source, uint64_t pc,
			      bool indirect);

/* Whether the indirect branch at `from`, if it were predicted to lead to `to`, would close no cycle
 * that leaves no record, or one that can be a fragment by itself; as far as is known for as long as
 * this code stays: all of it lies on pages that change only with their mappings. Fills in
 * *prediction then. */
bool translator_may_predict(struct code_cache *c, const struct code_source *source, uint64_t from,
			    uint64_t to, struct prediction *prediction);

/* Gives a fragment that has none an indirect entry, and publishes it. False when there is no room.
 */
bool translator_add_entry(struct code_cache *c, uint32_t fragment);

#endif
