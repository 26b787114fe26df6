/* SPDX-License-Identifier: MIT */
/* Changes of mappings by a system call, computed from its arguments and its result alone. Used by
 * the replay log. Pure. */
#ifndef BT_LOG_SHAPES_H
#define BT_LOG_SHAPES_H

#include <sys/mman.h>

#include "collector/tracee/tracee.h"
#include "format/log_values.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* linux/mman.h since Linux 5.7 */
#endif

struct log_shape {
	enum bt_log_shape what;
	uint64_t start, end, from;
	uint8_t prot;
	bool grows;
	bool has_content; /* fresh pages that may not be zero */
	bool inherits; /* they have the protection of the mapping that they belong to, and its file
			*/
	bool is_old;   /* the program may have written to some of the pages */
	bool is_whole; /* it ends where the mapping at start does */
	bool guards;   /* each access faults there, whatever the protection (guarded_pages.h) */
	bool downward; /* it begins where the mapping at start does (PROT_GROWSDOWN) */
	bool of_descriptor; /* they are of the file that descriptor fd is, from offset on */
	int fd;
	bool shared;               /* shared with others: they may write there */
	uint64_t dev, ino, offset; /* of that file, or of another; ino 0: not known, or none */
	const char *path;          /* of another, in the program's own tree; NULL: not known */
};

enum { LOG_SHAPES = 3 };

/* Whether what the call does to pages is known by its arguments and its result. */
bool log_shapes_knows(const struct tracee_syscall *call);

/* Fills shapes, in the order in which they came to be, and returns their number. *heap_end: result
 * of the last brk, 0: there was none; it is kept up to date. */
size_t log_shapes_of_call(const struct tracee_syscall *call, uint64_t result, uint64_t *heap_end,
			  struct log_shape shapes[LOG_SHAPES]);

#endif
