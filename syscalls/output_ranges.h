/* SPDX-License-Identifier: MIT */
/* Adds to the ranges of a call what a row says. For syscall_outputs.c alone. Pure. */
#ifndef BT_OUTPUT_RANGES_H
#define BT_OUTPUT_RANGES_H

#include "syscalls/syscall_outputs.h"

enum {
	/* At most what a call moves: MAX_RW_COUNT, include/linux/fs.h. */
	OUTPUT_MOVED_MAX = 0x7ffff000,
	OUTPUT_VECTORS_MAX = 1024, /* UIO_MAXIOV */
};

/* Adds a range, unless it is empty or the program gave no address. */
void output_add(const struct syscall_evaluation *e, struct syscall_range r);

void output_add_fixed(const struct syscall_evaluation *e, uint64_t at, uint64_t n,
		      enum syscall_when when);

/* A number of n bytes that the kernel writes to say how many bytes it wrote. */
void output_add_length_word(const struct syscall_evaluation *e, uint64_t at, uint64_t n,
			    enum syscall_when when);

/* The memory that n vectors at an address say. `range` has what cuts them. */
void output_add_vectors(const struct syscall_evaluation *e, uint64_t at, uint64_t n,
			struct syscall_range range);

/* A buffer whose length stands at an address, before and after. The program gives an int. */
void output_add_length(const struct syscall_evaluation *e, uint64_t at, uint64_t length_at,
		       uint32_t unit);

/* n units, without overflow. */
uint64_t output_units(uint64_t n, uint64_t unit);

/* Reads memory of the caller. False: some of it cannot be read, or the program gave no address. */
bool output_read(const struct syscall_evaluation *e, uint64_t at, void *bytes, size_t n);

/* The ranges are not all that the call writes. */
void output_set_unknown(const struct syscall_evaluation *e);

#endif
