/* SPDX-License-Identifier: MIT */
/* The entries of functions at which tasks of an address space are stopped before the first
 * instruction (GLOSSARY.md). The session names the functions, by numbers of its own; it is asked
 * for their addresses (struct function_finder) when a file's code is mapped. Backends stop there.
 * Part of an address space. */
#ifndef BT_FUNCTION_STOPS_H
#define BT_FUNCTION_STOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/space/mappings.h"

struct function_stop {
	uint64_t addr;
	uint16_t function; /* the session's number */
	bool armed;        /* tasks are stopped here */
};

/* By address. */
struct function_stops {
	struct function_stop *list;
	size_t count, cap;
};

/* Finds functions in mapped files. */
struct function_finder {
	/* Adds the stops that lie in m, an executable mapping of a file in process pid. Adds none
	 * where the file cannot be read. */
	void (*find)(void *arg, struct function_stops *stops, pid_t pid, const struct mapping *m);
	void *arg;
};

/* Adds an armed stop. One that is there already stays as it is. Without memory none is added. */
void function_stops_add(struct function_stops *f, uint64_t addr, uint16_t function);

/* Takes those of [start, end) out. */
void function_stops_drop(struct function_stops *f, uint64_t start, uint64_t end);

/* The stop at addr, NULL: none. Valid until the next change. */
struct function_stop *function_stops_at(const struct function_stops *f, uint64_t addr);

/* Whether an armed one lies in [start, end). */
bool function_stops_armed(const struct function_stops *f, uint64_t start, uint64_t end);

/* Makes *to, which is empty, a copy. Without memory it stays empty. */
void function_stops_copy(struct function_stops *to, const struct function_stops *from);
void function_stops_release(struct function_stops *f);

#endif
