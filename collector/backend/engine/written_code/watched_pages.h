/* SPDX-License-Identifier: MIT */
/* Pages of code that the program can write: which of them are write-protected in the tracee, so
 * that their fragments need no comparison, and how often each was written lately. Knows nothing of
 * tracees: watch.c makes each change there and reports it here. Of one address space. */
#ifndef BT_WATCHED_PAGES_H
#define BT_WATCHED_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/page.h"

enum {
	WATCH_MAX = 16384, /* pages that are known; each may split a mapping in three, of which a
			      process has some 65530 */
};

enum watch_state {
	WATCH_OPEN,      /* the program can write it; fragments made from it are unlinked */
	WATCH_PROTECTED, /* writing it faults */
	WATCH_COMPARED,  /* written often: left to the program for a time; its fragments compare
			    themselves */
};

struct watched_page {
	uint64_t addr;
	const uint8_t *bytes; /* the bytes that its fragments, unlinked or not, were made from;
				 NULL: unknown. Shared by a fork's child and its parent */
	uint8_t state, prot;  /* enum watch_state; PROT_* as the program has it */
	uint8_t backoff;      /* number of recent comparisons */
	uint32_t heat;        /* number of openings, halved as time passes */
	uint64_t heat_time, since, until; /* ns; since: it is protected; until: it may be again */
};

struct watch_range {
	uint64_t start, end;
};

struct watched_pages {
	struct watched_page **pages; /* by address */
	size_t count, cap;
	size_t protected, compared;
	uint64_t sweep; /* ns: the earliest time at which a compared page is to be tried again */
	uint32_t heat;  /* of all pages together */
	uint64_t heat_time;
	unsigned suspended; /* forks under way: while there are any, no page becomes protected */
	bool refused;       /* no page becomes protected ever again */
	struct watch_range
		*spared; /* pages that are never protected: alternate signal stacks, memory
			    that a fork's child does not get, words of tasks' ids */
	size_t spared_count, spared_cap;
};

void watched_release(struct watched_pages *w);
/* For a fork: *to is overwritten. False without memory, *to is empty then. */
bool watched_copy(struct watched_pages *to, const struct watched_pages *from);

/* Sets the page's BT_PAGE bytes, as a copy. False without memory: nothing has changed. */
bool watched_set_bytes(struct watched_page *p, const uint8_t *bytes);
void watched_drop_bytes(struct watched_page *p);

/* The page that begins at addr, NULL when it is not known. */
struct watched_page *watched_find(const struct watched_pages *w, uint64_t addr);

/* The same; it is made in state OPEN if it is not known. NULL without memory, or when there are too
 * many. */
struct watched_page *watched_add(struct watched_pages *w, uint64_t addr);

/* The first protected page that ends behind start and begins before end, NULL when there is none.
 */
struct watched_page *watched_protected(const struct watched_pages *w, uint64_t start, uint64_t end);

/* The end of the run of protected pages with the same prot from p on, at most `end`. */
uint64_t watched_run(const struct watched_pages *w, const struct watched_page *p, uint64_t end);

/* A page has become protected. */
void watched_protect(struct watched_pages *w, struct watched_page *p, uint64_t now);

/* A protected page is written now (ns) and becomes OPEN. */
void watched_opened(struct watched_pages *w, struct watched_page *p, uint64_t now);

/* Whether an open page has been written so often lately that it is better compared. */
bool watched_is_hot(struct watched_pages *w, struct watched_page *p, uint64_t now);

/* An open page becomes COMPARED, for longer each time. */
void watched_compare(struct watched_pages *w, struct watched_page *p, uint64_t now);

/* The next compared page that may be tried again now, which becomes OPEN; NULL when there is none.
 * *at is 0 at first. */
struct watched_page *watched_retry(struct watched_pages *w, size_t *at, uint64_t now);

/* Notes pages that must never be watched: signal frames may be written there, say. False without
 * memory, or when there are too many. */
bool watched_spare(struct watched_pages *w, uint64_t start, uint64_t end);
bool watched_is_spared(const struct watched_pages *w, uint64_t page);

#endif
