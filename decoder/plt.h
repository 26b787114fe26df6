/* SPDX-License-Identifier: MIT */
/* Names for the stubs of a procedure linkage table, which have no symbols: "puts@plt". For symbols. */
#ifndef BT_PLT_H
#define BT_PLT_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes the name of the function that the stub at vaddr (as in the file) jumps to into name, and the start of the stub into
 * *start. False when the address is in no such stub. */
bool plt_name(Elf *elf, uint64_t vaddr, char *name, size_t cap, uint64_t *start);

#endif
