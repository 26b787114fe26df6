/* SPDX-License-Identifier: MIT */
/* The deterministic start of the tests: differences that the kernel makes from run to run at an
 * execve are taken away, so that two backends can be compared branch by branch. (Addresses are
 * fixed by the personality, the environment by btrec run.) The supervisor calls it at each execve.
 * The reserved range is where the engine has its region. */
#ifndef BT_WORLD_H
#define BT_WORLD_H

#include <sys/types.h>

/* A fixed range of addresses that backends keep for themselves; the deterministic start maps it
 * inaccessible under every backend, so that the program's own mappings fall alike. Far from
 * mmap_base and the usual hints, below where position independent programs and their heaps lie
 * (0x555555554000 and up), and where ThreadSanitizer and MemorySanitizer let applications have
 * memory. */
#define WORLD_RESERVED_START 0x550000000000u
#define WORLD_RESERVED_SIZE  0x40000000u

/* The task is at the exit of its execve: the program will find no vdso (AT_IGNORE of getauxval(3)),
 * and make system calls instead. */
void world_hide_vdso(pid_t tid);

/* The task is at the exit of its execve: fixes AT_RANDOM, hides the vdso, maps the reserved range.
 * Returns 0 or -BT_E_GONE. */
int world_make_deterministic(pid_t tid);

#endif
