/* SPDX-License-Identifier: MIT */
/* The start location (--from): the program runs natively until it is reached. A breakpoint
 * instruction stands there meanwhile, in the memory of each address space that has not come there.
 */
#ifndef BT_START_LOCATION_H
#define BT_START_LOCATION_H

#include "collector/space/address_space.h"

/* Whether `where` can be a start location. Text that begins with a digit or a sign must be an
 * address of 64 bits. */
bool start_location_is_valid(const char *where);

enum start_location_kind {
	START_LOCATION_NO_FILE, /* it cannot be read, or is no ELF file */
	START_LOCATION_EXACT,   /* a symbol of that name is in it */
	START_LOCATION_PATTERN, /* none is: found() was called for each function that the pattern
				(lib/name_pattern.h) names */
};

/* Looks for a start location in a file. found() is given the demangled name and the link-time
 * address, and returns whether to go on; a function may come twice. */
enum start_location_kind start_location_in_file(const char *path, const char *where,
						bool (*found)(void *arg, const char *name,
							      uint64_t value),
						void *arg);

/* Resolves where, the name of a function or of a label in code, or an address as `nm` prints it
 * (hexadecimal, beginning with a digit; the load bias is added), in the files mapped into a space:
 * the main program first. A symbol of that name in any of them counts before a function that the
 * pattern names (lib/name_pattern.h), of which the first is taken. Returns the address in memory,
 * 0 when it is in none of them. */
uint64_t start_location_resolve(const struct address_space *space, pid_t pid, const char *where);

/* Puts the breakpoint at addr. False when addr is 0 or cannot be written; nothing has changed then.
 */
bool start_location_insert(struct address_space *space, pid_t tid, uint64_t addr);

/* Puts the program's own byte back; space->from_addr is left for the caller. False when the memory
 * cannot be written. */
bool start_location_disarm(struct address_space *space, pid_t tid);

/* Puts the breakpoint back there. False likewise. */
bool start_location_arm_again(struct address_space *space, pid_t tid);

#endif
