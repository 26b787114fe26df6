/* SPDX-License-Identifier: MIT */
/* The mappings of a process as the kernel has them: all, or those around a range of addresses. Read
 * from /proc, never computed. Used by address spaces, and by the engine to see whether its region
 * has room. No state. A list is sorted by address. */
#ifndef BT_MAPPINGS_H
#define BT_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>

struct mapping {
	uint64_t start, end, offset, dev, ino;
	uint8_t prot; /* PROT_* */
	bool shared;
	bool looked_at; /* for its build-id, and whether it follows its file */
	bool searched;  /* for functions (function_stops.h) */
	bool fresh;     /* new among those that are known: to be compared with the others once */
	bool follows; /* a private one of a file that is written meanwhile: its contents may change
			 as if it were shared */
	char *path;   /* owned, "" for none */
	uint8_t build_id_len, build_id[64];
};

/* Whether its contents can change without a system call that changes mappings. */
static inline bool mapping_is_mutable(const struct mapping *m)
{
	return m->prot & PROT_WRITE || m->shared || m->follows;
}

/* By address. */
struct mapping_list {
	struct mapping *maps;
	size_t count, cap;
};

void mappings_release(struct mapping_list *l);

/* Appends a copy of *m with a path of its own. False without memory. */
bool mappings_add(struct mapping_list *l, const struct mapping *m);

/* The first one that ends behind addr; l->count when there is none. */
size_t mappings_behind(const struct mapping_list *l, uint64_t addr);

/* Puts those of *with, which gives them away, in the place of [first, end). False without memory:
 * nothing has changed. */
bool mappings_replace(struct mapping_list *l, size_t first, size_t end, struct mapping_list *with);

/* All, from /proc/PID/maps. False when none can be read (errno; 0: there is none). */
bool mappings_read(pid_t pid, struct mapping_list *out);

/* A copy of the one of the page at addr; the caller frees its path. False when there is none, or
 * none can be read. */
bool mappings_at(pid_t pid, uint64_t addr, struct mapping *out);

/* Whether a fork's child does not get all of them as they are (MADV_DONTFORK, MADV_WIPEONFORK),
 * from /proc/PID/smaps; also where that cannot be read. */
bool mappings_leave_out(pid_t tid);

/* Whether the mapping that begins there grows downward (MAP_GROWSDOWN), from /proc/PID/smaps. */
bool mappings_grow_at(pid_t tid, uint64_t start);

/* Whether a file, or shared memory, is mapped shared. */
bool mappings_share_files(const struct mapping_list *all);

/* An open /proc/PID/maps, for mappings_around(); negative when there is none. */
int mappings_open(pid_t pid);

/* Appends those that touch [start, end), by PROCMAP_QUERY (Linux 6.11), without the kernel's own
 * ([vsyscall]). False where that cannot be had: the appended ones are not to be used. */
bool mappings_around(int fd, uint64_t start, uint64_t end, struct mapping_list *out);

#endif
