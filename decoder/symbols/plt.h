/* SPDX-License-Identifier: MIT */
/* The targets of the stubs of a procedure linkage table, which have no symbols. Used by symbols. No
 * state. */
#ifndef BT_PLT_H
#define BT_PLT_H

#include <elfutils/libdwfl.h>
#include <stdint.h>

/* The linkage name, of any length, of the function that the stub at vaddr (as in the file) jumps
 * to, owned by elf; the start of the stub goes into *start. NULL when the address is in no such
 * stub. */
const char *plt_target(Elf *elf, uint64_t vaddr, uint64_t *start);

#endif
