/* SPDX-License-Identifier: MIT */
/* Where indirect branches find their fragments: table 1, entries by the low 16 bits of the address,
 * and table 2, all of them by a hash of the address (layout.h). Table 2 lies in memory that tracer
 * and tracees share, so that changes are there at once. Table 1 is each process's own, and the
 * cache's code alone enters what its searches find in table 2: the tracer only frees it, and
 * entries that are gone. These, and where nothing is shared all changes, are collected and sent
 * with tables_sync(). Entries go, and tables grow, while the tasks of the only space that uses them
 * are stopped. They are not lib/hash_table: the cache's code searches them, and tracees have them
 * mapped. Part of the code cache, and used through it. */
#ifndef BT_TABLES_H
#define BT_TABLES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* As it lies in table 2. pc 0: free; 1: nobody's any more, searches go on behind it. */
struct table_pair {
	uint64_t pc,
		entry; /* the application's address, and that of its fragment's indirect entry */
};

struct table_change {
	uint64_t at; /* in the region */
	struct table_pair pair;
	uint32_t len;
};

struct tables {
	uint8_t *shared;          /* the tracer's mapping from SHARED_AT on; NULL: it has none */
	bool all;                 /* the tracee has nothing yet: everything is sent */
	uint64_t miss, miss_trap; /* addresses of the routines: the target of free entries of table
				     1; the trap */
	struct table_pair *pairs; /* table 2: the shared memory, or a mirror of the tracee's */
	uint32_t bits, count;     /* 2^bits pairs, so many of them not free */
	struct table_change *changes;
	uint32_t change_count, change_cap;
};

/* Empty ones. False without memory. */
bool tables_init(struct tables *t, uint64_t miss, uint64_t miss_trap);
/* A copy; nothing of it is shared. For a fork. False without memory; *to can be released then, too.
 */
bool tables_copy(struct tables *to, const struct tables *from);
void tables_release(struct tables *t);

/* The mask of hashes in the routines' search: changes when table 2 grows. */
uint32_t tables_mask(const struct tables *t);

/* They lie in new memory of the tracee's from now on; shared: zero-filled, as above, or NULL.
 * Changes that have to be sent are with the next sync. */
void tables_place(struct tables *t, uint8_t *shared);
/* The tracee that had them is gone: another will, and is to be sent everything. */
void tables_leave(struct tables *t);
/* Out of what is shared, into memory of ours. False without memory: nothing has changed. */
bool tables_move_out(struct tables *t);
/* Makes room, as far as there is some, for so many times what there is: they will not grow for a
 * while. */
void tables_reserve(struct tables *t, unsigned times);
/* Fills a table 1 of somebody's own, as the tracee's is without any change. */
void tables_fill_first(const struct tables *t, uint64_t *table1);
/* Whether the tracee is to be told something. */
bool tables_has_changes(const struct tables *t);
/* Frees all of table 1 with the next sync: everything is searched for once more. */
void tables_free_first(struct tables *t);
void tables_clear(struct tables *t);

/* False when there is no more room. fixed: others search table 2 meanwhile, it cannot grow. */
bool tables_put(struct tables *t, uint64_t pc, uint64_t entry, bool fixed);
void tables_remove(struct tables *t, uint64_t pc);

/* Does the same as tables_sync(), which must still come: a search that runs meanwhile may write to
 * table 1 what it found before. */
bool tables_push(struct tables *t, pid_t tid);

/* Brings the tracee up to date. False when it is gone. */
bool tables_sync(struct tables *t, pid_t tid);

#endif
