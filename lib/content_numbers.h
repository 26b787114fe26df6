/* SPDX-License-Identifier: MIT */
/* Numbers of contents: each distinct sequence of bytes has one, from 1 on, in the order in which
 * they came. Contents are told apart by their fingerprints (content_hash.h); the bytes themselves
 * are not kept. Used by the writer of a trace and by the log, to write equal bytes once. All zero
 * is empty, without memory. A set belongs to one thread at a time. */
#ifndef BT_CONTENT_NUMBERS_H
#define BT_CONTENT_NUMBERS_H

#include "lib/content_hash.h"
#include "lib/hash_table.h"

struct content_numbers {
	struct hash_table by_first; /* numbers by the first half of the fingerprint */
	uint64_t *second_halves;    /* number n's is at n - 1 */
	size_t count, cap;
};

void content_numbers_release(struct content_numbers *c);

/* The number of the content with this fingerprint; 0: it has none. */
uint64_t content_numbers_find(const struct content_numbers *c, const struct content_hash *hash);

/* Gives a content without a number the next one, and returns it. 0 without memory: nothing has
 * changed. */
uint64_t content_numbers_add(struct content_numbers *c, const struct content_hash *hash);

#endif
